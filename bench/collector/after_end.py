"""What a recording costs beside the program's own time, with an empty and a filled cache, beside perf.

    python3 bench/collector/after_end.py BUILD_FOLDER [ROUNDS]

CPU time of all processes, of those that their parents left, too, less that of the program alone: medians of interleaved rounds, and
the least of all runs less the least of the program, which other work on the machine disturbs less. "Warm" is a cache that five
earlier runs filled. perf has to be asked (perf report) before it looks at symbols; sonde's experiment holds them
already. Nothing is removed before the end: ext4 looks long for a number that was not given back just now."""
import ctypes
import os
import resource
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
recorded = 0
programs = {
    'true': ['/bin/true'],
    'clang --version': ['clang', '--version'],
    'LAMMPS': ['lmp', '-in', 'lj.in', '-log', 'none'],
    'ffmpeg, x264': ['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'libx264', '-f', 'null', '-'],
}


# Open MPI starts a daemon, which nobody but a reaper of orphans waits for; sonde does.
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_s(words, cache=None):
    env = dict(os.environ, **({'XDG_CACHE_HOME': cache} if cache else {}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def record_s(words, cache):
    global recorded
    recorded += 1
    return cpu_s([sonde, 'record', '-q', '-o', f'e{recorded}', '--'] + words, os.path.join(folder, cache))


def round_of(words, number):
    got = {'alone': cpu_s(words)}
    for name in ('cold', 'second'):
        got[name] = record_s(words, f'{words[0]}-{number}'.replace('/', '-'))
    got['warm'] = record_s(words, 'warm')
    got['perf record'] = cpu_s(['perf', 'record', '-q', '-F', '999', '-g', '-o', 'perf.data'] + words)
    got['perf report'] = cpu_s(['perf', 'report', '-i', 'perf.data', '--stdio']) + got['alone']
    return got


columns = ['cold', 'second', 'warm', 'perf record', 'perf report']
print('| program | alone, s | ' + ' | '.join(f'{c}, ms (of least)' for c in columns) + ' |')
print('|---' * (len(columns) + 2) + '|')
for name, words in programs.items():
    if not shutil.which(words[0]):
        print(f'| {name}: not installed |')
        continue
    for _ in range(5):
        record_s(words, 'warm')
    got = [round_of(words, i) for i in range(rounds)]
    least = {c: min(g[c] for g in got) for c in ['alone'] + columns}
    more = [(statistics.median(1000 * (g[c] - g['alone']) for g in got), 1000 * (least[c] - least['alone']))
            for c in columns]
    alone = statistics.median(g['alone'] for g in got)
    print(f'| {name} | {alone:.2f} | ' + ' | '.join(f'{m:.0f}, {low:.0f}' for m, low in more) + ' |', flush=True)
shutil.rmtree(folder)
