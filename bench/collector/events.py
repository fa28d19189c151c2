"""What tracing costs an event, in turns: a program as it is, recorded, and recorded with the collector of its events.

    python3 bench/collector/events.py SONDE [ROUNDS [SUITE...]]

SUITE is openmp (libgomp, libomp), locks (gprofng beside), io or mpi (Open MPI, MPICH). Prints ns an event: medians over the
rounds, and the median of the differences to plain within a round. The clock is off, so that samples are in no figure."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sonde = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(prefix='events-')
RECORD = [sonde, 'record', '-q', '--clock', 'off', '-o', '{out}']
PEER = ['gprofng', 'collect', 'app', '-p', 'off', '-o', '{out}.er']
# by suite: source, compilers with what they need, kinds of events, ways to run it
SUITES = {
    'openmp': ('openmp.c', [['gcc', '-fopenmp'], ['clang', '-fopenmp']],
               ['region1', 'region2', 'critical', 'lock', 'barrier', 'task'],
               {'plain': [], 'recorded': RECORD, '--openmp': RECORD + ['--openmp']}),
    'locks': ('costs.c', [['gcc', '-w', '-pthread']], ['lock', 'shared', 'timed', 'wanted'],
              {'plain': [], 'recorded': RECORD, '--sync': RECORD + ['--sync'], '--sync=all': RECORD + ['--sync=all'],
               'gprofng': PEER + ['-s', 'all']}),
    'io': ('costs.c', [['gcc', '-w', '-pthread']], ['read'],
           {'plain': [], 'recorded': RECORD, '--io': RECORD + ['--io'], 'gprofng': PEER + ['-i', 'on']}),
    'mpi': ('mpi.c', [['mpicc.openmpi'], ['mpicc.mpich']], ['rank', 'probe', 'self', 'reduce'],
            {'plain': [], 'recorded': RECORD, '--mpi': RECORD + ['--mpi']}),
}


def cost(way, program, kind, out):
    """ns an event; the program's figure is the last word that is a number, as a peer may write before and after it."""
    words = [word.format(out=out) for word in way]
    done = subprocess.run([*words, program, kind], capture_output=True, text=True, cwd=folder)
    figures = [line for line in done.stdout.splitlines() if line.replace('.', '', 1).isdigit()]
    for left in (out, out + '.er'):
        shutil.rmtree(left, ignore_errors=True)
    return float(figures[-1]) if done.returncode == 0 and figures else None


def measure(program, kind, ways):
    took = {how: [] for how in ways}
    for turn in range(rounds):
        for how in list(ways) if turn % 2 else reversed(ways):
            took[how].append(cost(ways[how], program, kind, os.path.join(folder, 'e')))
    return took


for suite in sys.argv[3:] or SUITES:
    source, compilers, kinds, ways = SUITES[suite]
    ways = {how: way for how, way in ways.items() if not way or shutil.which(way[0])}
    print(f"{'ns an event':28}" + ''.join(f' {how:>10}' for how in ways) + ''.join(f" {'+ ' + how:>12}" for how in list(ways)[1:]))
    for compiler in compilers:
        program = os.path.join(folder, compiler[0])
        if subprocess.run([*compiler, '-O2', os.path.join(here, source), '-o', program], capture_output=True).returncode:
            print(f"{' '.join(compiler)}: cannot build {source}")
            continue
        for kind in kinds:
            took = measure(program, kind, ways)
            row = f'{compiler[0]} {kind}'
            print(f'{row:28}' + ''.join(f' {statistics.median(x for x in took[how] if x is not None):10.1f}' if any(took[how]) else
                                        f" {'-':>10}" for how in ways), end='')
            for how in list(ways)[1:]:
                pairs = [x - p for x, p in zip(took[how], took['plain']) if None not in (x, p)]
                print(f' {statistics.median(pairs):12.1f}' if pairs else f" {'-':>12}", end='')
            print(flush=True)
shutil.rmtree(folder)
