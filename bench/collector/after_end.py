"""What a recording costs beside the program's own time, with an empty and a filled cache, beside perf.

    python3 bench/collector/after_end.py BUILD_FOLDER [ROUNDS] [OTHER_BUILD_FOLDER] [PROGRAM]

CPU time of all processes, of those that their parents left, too, less that of the program alone: medians of interleaved rounds, and
the least of all runs less the least of the program, which other work on the machine disturbs less. "Warm" is a cache that five
earlier runs filled. With another build, both are measured in the same rounds, without perf, and elapsed time is told, too.
perf has to be asked (perf report) before it looks at symbols; sonde's experiment holds them
already. Nothing is removed before the end: ext4 looks long for a number that was not given back just now."""
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sonde = os.path.join(os.path.abspath(sys.argv[1]), 'sonde')
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
other = os.path.join(os.path.abspath(sys.argv[3]), 'sonde') if len(sys.argv) > 3 else None
only = sys.argv[4] if len(sys.argv) > 4 else None
builds = {'': sonde, ' of the other': other} if other else {'': sonde}
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


def used_s(words, cache=None):
    """CPU time of all processes, and time until the first of them ended."""
    env = dict(os.environ, **({'XDG_CACHE_HOME': cache} if cache else {}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    first = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    os.waitpid(first.pid, 0)
    elapsed = time.monotonic() - begin
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def record_s(words, cache, build=sonde):
    global recorded
    recorded += 1
    return used_s([build, 'record', '-q', '-o', f'e{recorded}', '--'] + words,
                  os.path.join(folder, cache))


def round_of(words, number):
    got = {'alone': used_s(words)}
    for suffix, build in builds.items():
        for name in ('cold', 'second'):
            got[name + suffix] = record_s(words, f'{words[0]}-{number}{suffix}'.replace('/', '-'), build)
        got['warm' + suffix] = record_s(words, 'warm' + suffix, build)
    if other:
        return got
    got['perf record'] = used_s(['perf', 'record', '-q', '-F', '999', '-g', '-o', 'perf.data'] + words)
    report = used_s(['perf', 'report', '-i', 'perf.data', '--stdio'])
    got['perf report'] = tuple(r + a for r, a in zip(report, got['alone']))
    return got


def cell(got, column):
    """Medians and least of CPU time, and with another build the median of elapsed time, each beside the program's."""
    more = [[1000 * (g[column][k] - g['alone'][k]) for g in got] for k in (0, 1)]
    least = [1000 * min(g[c][0] for g in got) for c in (column, 'alone')]
    text = f'{statistics.median(more[0]):.0f}, {least[0] - least[1]:.0f}'
    return text + (f' ({statistics.median(more[1]):.0f} elapsed)' if other else '')


columns = [name + suffix for suffix in builds for name in ('cold', 'second', 'warm')]
columns += [] if other else ['perf record', 'perf report']
print('| program | alone, s | ' + ' | '.join(f'{c}, ms (of least)' for c in columns) + ' |')
print('|---' * (len(columns) + 2) + '|')
for name, words in programs.items():
    if only and name != only:
        continue
    if not shutil.which(words[0]):
        print(f'| {name}: not installed |')
        continue
    for suffix, build in list(builds.items()) * 5:
        record_s(words, 'warm' + suffix, build)
    got = [round_of(words, i) for i in range(rounds)]
    alone = statistics.median(g['alone'][0] for g in got)
    print(f'| {name} | {alone:.2f} | ' + ' | '.join(cell(got, c) for c in columns) + ' |', flush=True)
shutil.rmtree(folder)
