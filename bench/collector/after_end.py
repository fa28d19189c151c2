"""What a recording costs beside the program's own time, with an empty and a filled cache, beside perf.

    python3 bench/collector/after_end.py BUILD_FOLDER [ROUNDS]

CPU seconds of all processes (wait4 with children) less those of the program alone: medians of interleaved
rounds. perf has to be asked (perf report) before it looks at symbols; sonde's experiment holds them already."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sonde = os.path.join(os.path.abspath(sys.argv[1]), 'sonde')
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
folder = tempfile.mkdtemp(prefix='bench-')
os.chdir(folder)

with open('lj.in', 'w') as out:
    out.write('units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 12 0 12 0 12\n'
              'create_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nvelocity all create 1.44 87287\n'
              'pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nfix 1 all nve\nrun 100\n')
source = 'testsrc=duration=2:size=640x480:rate=25'
programs = {
    'true': ['/bin/true'],
    'clang --version': ['clang', '--version'],
    'LAMMPS': ['lmp', '-in', 'lj.in', '-log', 'none'],
    'ffmpeg, x264': ['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'libx264', '-f', 'null', '-'],
}


def cpu_s(words, cache=None):
    env = dict(os.environ, **({'XDG_CACHE_HOME': cache} if cache else {}))
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    usage = os.wait4(process.pid, 0)[2]
    return usage.ru_utime + usage.ru_stime


def round_of(words):
    cache = os.path.join(folder, 'cache')
    shutil.rmtree(cache, ignore_errors=True)
    record = [sonde, 'record', '-q', '-o', 'e', '--']
    got = {'alone': cpu_s(words)}
    for name in ('cold', 'second', 'warm'):
        shutil.rmtree('e', ignore_errors=True)
        got[name] = cpu_s(record + words, cache)
    got['perf record'] = cpu_s(['perf', 'record', '-q', '-F', '999', '-g', '-o', 'perf.data'] + words)
    got['perf report'] = cpu_s(['perf', 'report', '-i', 'perf.data', '--stdio']) + got['alone']
    return got


columns = ['cold', 'second', 'warm', 'perf record', 'perf report']
print('| program | alone, s | ' + ' | '.join(f'{c}, ms' for c in columns) + ' |')
print('|---' * (len(columns) + 2) + '|')
for name, words in programs.items():
    if not shutil.which(words[0]):
        print(f'| {name}: not installed |')
        continue
    got = [round_of(words) for _ in range(rounds)]
    more = [statistics.median(1000 * (g[c] - g['alone']) for g in got) for c in columns]
    alone = statistics.median(g['alone'] for g in got)
    print(f'| {name} | {alone:.2f} | ' + ' | '.join(f'{m:.0f}' for m in more) + ' |')
shutil.rmtree(folder)
