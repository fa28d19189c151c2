"""What the profiler costs: bench/pandore/overhead.py build/sonde [PAIRS].

Figure 1 on two nodes, plain and profiled, both on one CPU, where a node that waits gives way at once, so that what
is left is work. Two measures:

Instructions, counted by callgrind in the node that does most: those of twice as many passes less those of once as
many, so that the start does not count. The count is the same from run to run within some hundredths of a percent.

CPU time of all processes, in interleaved pairs whose order alternates: the median of the ratios of the pairs, with the
interval that holds the median of such pairs with 95 % confidence, whatever their distribution (order statistics), and
what the same program gives against itself.
"""
import glob
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sonde, pairs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 101
here = os.path.dirname(os.path.abspath(__file__))
source = open(os.path.join(here, 'fig1.pnd')).read()
LAYOUTS = {'rows': 'block(N/P,N) map regular(0,1)', 'columns': 'block(N,N/P) map regular(0,1)'}
REPEATS = {'naive': 10, 'opt': 400}  # some hundredths of a second each
COUNTED = {'naive': 2, 'opt': 20}


def compiled(layout, scheme, repeats, *options):
    name = '_'.join([layout, scheme, str(repeats), *options]).replace('-', '')
    with open(name + '.pnd', 'w') as out:
        out.write(source.replace('LAYOUT', LAYOUTS[layout]))
    subprocess.run([sonde, 'pandore', 'compile', name + '.pnd', '-o', name, '--scheme', scheme,
                    '-D', f'REPEATS={repeats}', *options], check=True)
    return './' + name


def instructions(program):
    for name in glob.glob('calls.*'):
        os.unlink(name)
    subprocess.run(['valgrind', '-q', '--tool=callgrind', '--callgrind-out-file=calls.%p', program], check=True,
                   stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, ONE_CPU))
    return max(int(line.split()[1]) for name in glob.glob('calls.*') for line in open(name)
               if line.startswith(('totals:', 'summary:')))


def counted(layout, scheme, *options):
    once, twice = (instructions(compiled(layout, scheme, n * COUNTED[scheme], *options)) for n in (1, 2))
    return twice - once


def cpu_s(program):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program], check=True, stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: os.sched_setaffinity(0, ONE_CPU))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(one, other):
    ratios = []
    for pair in range(pairs):
        times = {}
        for which in ((0, 1) if pair % 2 else (1, 0)):
            times[which] = cpu_s((one, other)[which])
        ratios.append(times[1] / times[0])
    ratios.sort()
    reach = max(0, math.floor(pairs / 2 - 0.98 * math.sqrt(pairs)))  # binomial, normal approximation
    low, high = ratios[reach], ratios[-1 - reach]
    return f'{100 * (statistics.median(ratios) - 1):+.2f} % ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f})'


ONE_CPU = {max(os.sched_getaffinity(0))}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for scheme in ('naive', 'opt'):
        for layout in LAYOUTS:
            if shutil.which('valgrind'):
                plain, profiled = counted(layout, scheme), counted(layout, scheme, '--profile')
                print(f'{layout:8} {scheme:6} instructions {100 * (profiled / plain - 1):+.2f} % of {plain}', flush=True)
            plain, profiled = (compiled(layout, scheme, REPEATS[scheme], *o) for o in ((), ('--profile',)))
            again = compiled(layout, scheme, REPEATS[scheme], '--strip', '32')  # the same program once more
            print(f'{layout:8} {scheme:6} CPU time     {compare(plain, profiled)}; itself {compare(plain, again)}; '
                  f'{pairs} pairs', flush=True)
    os.chdir('/')
