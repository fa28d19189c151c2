"""What collecting costs, beside perf record -g and gprofng collect: medians of interleaved runs.

    python3 bench/collector/run.py BUILD_FOLDER [ROUNDS]

Prints the tables of bench/RESULTS.md. CPU time is the target's own, as wait4 of its process says (perf
and gprofng run the target as a child: there it is /usr/bin/time that asks)."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
here = os.path.dirname(os.path.abspath(__file__))
hostile = os.path.join(here, '../../tests/hostile')
sys.path.insert(0, os.path.join(here, '../../tests/end'))
from datafile import read_folder  # noqa: E402

library = os.path.join(build, 'src/runtime/libsonde-runtime.so')
sonde = os.path.join(build, 'sonde')
folder = tempfile.mkdtemp(prefix='bench-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
os.chdir(folder)
quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, 'stdin': subprocess.DEVNULL}


def compile_program(path, *flags):
    name = './' + os.path.splitext(os.path.basename(path))[0]
    subprocess.run(['gcc', '-O2', '-w', path, '-o', name, *flags], check=True)
    return name


def timed(words, env=None):
    """Wall and CPU seconds of words, waited for directly."""
    begin = time.monotonic()
    process = subprocess.Popen(words, env=env, **quiet)
    _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def by_runtime(words, settings='period=1000700'):
    data = os.path.join(folder, 'data')
    shutil.rmtree(data, ignore_errors=True)
    os.mkdir(data)
    return timed(words, dict(os.environ, LD_PRELOAD=library, SONDE_RUNTIME=f'{settings};dir={data}'))


def inside(prefix, words):
    """Wall of the tool, CPU of the target (by a shell's times, in ms)."""
    code = ('import os,sys,resource\n'
            'p=os.spawnvp(os.P_WAIT,sys.argv[1],sys.argv[1:])\n'
            'r=resource.getrusage(resource.RUSAGE_CHILDREN)\n'
            'open("cpu","w").write(str(r.ru_utime+r.ru_stime))')
    begin = time.monotonic()
    subprocess.run([*prefix, sys.executable, '-S', '-c', code, *words], **quiet)
    return time.monotonic() - begin, float(open('cpu').read()), 0


def perf(words):
    return inside(['perf', 'record', '-g', '-e', 'task-clock', '-c', '1000000', '-o', 'perf.data', '--'], words)


def gprofng(words):
    shutil.rmtree('g.er', ignore_errors=True)
    return inside(['gprofng', 'collect', 'app', '-p', 'hi', '-O', 'g.er'], words)


def record(words):
    for name in os.listdir('.'):
        if name.startswith('sonde.'):
            shutil.rmtree(name)
    return timed([sonde, 'record', '--', *words])


def compare(tools, words):
    """Interleaved; gives by tool the medians of wall, CPU and memory."""
    rows = {name: [] for name in tools}
    for _ in range(rounds):
        for name, tool in tools.items():
            rows[name].append(tool(words))
    return {name: [statistics.median(column) for column in zip(*runs)] for name, runs in rows.items()}


TOOLS = {'plain': timed, 'sonde': by_runtime}
if shutil.which('perf'):
    TOOLS['perf record -g'] = perf
if shutil.which('gprofng'):
    TOOLS['gprofng -p hi'] = gprofng


def table(title, words, column, unit, scale=1, tools=None):
    result = compare(tools or TOOLS, words)
    plain = result['plain'][column]
    print(f'\n{title}\n')
    print(f'| tool | {unit} | over plain |\n|---|---|---|')
    for name, row in result.items():
        print(f'| {name} | {row[column] * scale:.4g} | {(row[column] - plain) * scale:+.3g} ({row[column] / plain - 1:+.1%}) |')
    return result


split = compile_program(os.path.join(hostile, 'split.c'), '-fno-optimize-sibling-calls')
threads = compile_program(os.path.join(hostile, 'threads.c'), '-pthread')
pingpong = compile_program(os.path.join(here, 'pingpong.c'), '-pthread')

print(f'# {os.cpu_count()} CPUs, {rounds} rounds')
table('CPU time of a compute-bound program, 1 kHz, 36 frames (s)', [split, '300000'], 1, 's')
table('CPU time of 2,000 threads of 0.45 ms (s)', [threads, '2000', '0.45', '2'], 1, 's')
result = table('CPU time of 100,000 turns of ping-pong, 200,000 switches (s)', [pingpong, '100000'], 1, 's')
for name, row in result.items():
    print(f'  {name}: {(row[1] - result["plain"][1]) / 200000 * 1e6:+.2f} us a switch')
with_launcher = dict(TOOLS)
with_launcher['sonde'] = record
table('Elapsed time of /bin/true (ms)', ['/bin/true'], 0, 'ms', 1000, with_launcher)
if shutil.which('clang'):
    both = compare({'plain': timed, 'sonde': by_runtime}, ['clang', '--version'])
    print(f"\nclang --version: {(both['sonde'][0] - both['plain'][0]) * 1000:+.1f} ms, "
          f"{(both['sonde'][2] - both['plain'][2]) / 1024:+.1f} MB")
by_runtime([split, '300000'], 'period=100000')
warm = read_folder('data')[0]
by_runtime([split, '300000'])
cool = read_folder('data')[0]
records = len(cool.samples) * 16 + sum(16 + 8 * len(s[2]) for s in cool.stacks.values())
print(f'\nin the handler: {warm.handler_ns / warm.handler_count / 1000:.2f} us at 10 kHz, '
      f'{cool.handler_ns / cool.handler_count / 1000:.2f} us at 1 kHz; {records / len(cool.samples):.1f} bytes a sample with its stacks')
by_runtime([threads, '2000', '0.45', '2'])
short = read_folder('data')[0]
kernel_ns = short.end_user_ns + short.end_system_ns - short.start_user_ns - short.start_system_ns
print(f'2,000 threads of 0.45 ms: {short.cpu_ns() / kernel_ns:.1%} of the CPU time is accounted for, '
      f'{sum(1 for s in short.samples if s[3])} samples with stacks')
shutil.rmtree(folder)
