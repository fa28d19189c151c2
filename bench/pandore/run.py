"""Figures of the Pandore compiler: bench/pandore/run.py build/sonde [ROUNDS]. Rounds are interleaved."""
import os
import statistics
import subprocess
import sys
import tempfile

sonde, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
here = os.path.dirname(os.path.abspath(__file__))
LAYOUTS = {'rows': 'block(N/P,N) map regular(0,1)', 'columns': 'block(N,N/P) map regular(0,1)'}
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                  OMPI_MCA_rmaps_base_oversubscribe='1')
source = open(os.path.join(here, 'fig1.pnd')).read()


def compiled(name, layout, *options):
    with open(name + '.pnd', 'w') as out:
        out.write(source.replace('LAYOUT', LAYOUTS[layout]))
    subprocess.run([sonde, 'pandore', 'compile', name + '.pnd', '-o', name, *options], check=True)
    return './' + name


def figures():
    programs = {}
    for layout in LAYOUTS:
        for scheme in ('naive', 'opt'):
            programs[layout, scheme] = [compiled(f'{layout}_{scheme}', layout, '--scheme', scheme)]
            programs[layout, scheme + ', profiled'] = [compiled(f'{layout}_{scheme}_p', layout, '--scheme', scheme,
                                                                '--profile')]
        programs[layout, 'opt, Open MPI'] = ['mpirun.openmpi', '-np', '2', compiled(
            f'{layout}_mpi', layout, '--backend', 'mpi', '--cc', 'mpicc.openmpi', '--host-inside')]
        programs[layout, 'by hand, Open MPI'] = ['mpirun.openmpi', '-np', '2', './byhand', layout]
    subprocess.run(['mpicc.openmpi', '-O2', '-ffp-contract=off', os.path.join(here, 'fig1_mpi.c'), '-o', 'byhand'],
                   check=True)
    times = {key: [] for key in programs}
    for _ in range(rounds):
        for key, words in programs.items():
            times[key].append(float(subprocess.run(words, capture_output=True, text=True, check=True).stdout))
    for (layout, what), values in times.items():
        print(f'{layout:8} {what:20} median {statistics.median(values):9.1f} us   least {min(values):9.1f} us')
    for layout in LAYOUTS:
        least = {what: min(v) for (l, what), v in times.items() if l == layout}
        print(f"{layout}: naive/opt {least['naive'] / least['opt']:.1f}, opt with MPI/by hand "
              f"{least['opt, Open MPI'] / least['by hand, Open MPI']:.2f}, profiler: naive "
              f"{100 * (least['naive, profiled'] / least['naive'] - 1):+.1f} %, opt "
              f"{100 * (least['opt, profiled'] / least['opt'] - 1):+.1f} %")


def compiler():
    body = source[source.index('\tfor (r = 0'):source.index('int main')]
    head = source[:source.index('\tfor (r = 0')].replace('LAYOUT', LAYOUTS['rows'])
    text = head + body.rstrip()[:-1] * 110 + '}\n' + source[source.index('int main'):]
    with open('long.pnd', 'w') as out:
        out.write(text)
    with open('short.pnd', 'w') as out:
        out.write('#define P 2\nint main(void) { return 0; }\n')
    lines, took = text.count('\n'), {'start': [], 'naive': [], 'opt': []}
    for _ in range(41):  # interleaved
        for scheme, found in took.items():
            name, given = ('short.pnd', 'opt') if scheme == 'start' else ('long.pnd', scheme)
            found.append(cpu_seconds(sonde, 'pandore', 'compile', name, '--scheme', given, '--emit-c', 'long.c'))
    start = statistics.median(took.pop('start'))
    for scheme, found in took.items():
        low, middle, high = (1e6 * (s - start) / lines for s in statistics.quantiles(found, n=4))
        print(f'compiler, {scheme}: {middle:.2f} ms of CPU time for 1,000 lines ({low:.2f} to {high:.2f}; {lines} lines), '
              f'after a start of {1e3 * start:.2f} ms')


def cpu_seconds(*words):
    """User and system time of a process, as the kernel adds them up."""
    child = os.posix_spawnp(words[0], words, os.environ,
                            file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, usage = os.wait4(child, 0)
    assert status == 0, words
    return usage.ru_utime + usage.ru_stime


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    compiler()
    figures()
    os.chdir('/')
