"""What the profiler costs: bench/pandore/overhead.py build/sonde [PAIRS].

Figure 1 on two nodes, plain and profiled, in interleaved pairs whose order alternates; CPU time of all
processes of a run. Once on all CPUs, where the nodes also spend CPU time on looking for messages, and
once on one CPU, where a node that waits gives way at once, so that what is left is work. Prints the
median of the ratios of the pairs with their quartiles, and what the same program gives against itself:
what this machine calls no difference.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

sonde, pairs = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 25
here = os.path.dirname(os.path.abspath(__file__))
source = open(os.path.join(here, 'fig1.pnd')).read()
LAYOUTS = {'rows': 'block(N/P,N) map regular(0,1)', 'columns': 'block(N,N/P) map regular(0,1)'}
REPEATS = {'naive': 50, 'opt': 2000}  # some tenths of a second each


def compiled(layout, scheme, *options):
    name = '_'.join([layout, scheme, *options]).replace('-', '')
    with open(name + '.pnd', 'w') as out:
        out.write(source.replace('LAYOUT', LAYOUTS[layout]))
    subprocess.run([sonde, 'pandore', 'compile', name + '.pnd', '-o', name, '--scheme', scheme,
                    '-D', f'REPEATS={REPEATS[scheme]}', *options], check=True)
    return './' + name


def cpu_s(program, cpus):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program], check=True, stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(one, other, cpus):
    ratios, base = [], []
    for pair in range(pairs):
        times = {}
        for which in ((0, 1) if pair % 2 else (1, 0)):
            times[which] = cpu_s((one, other)[which], cpus)
        ratios.append(times[1] / times[0])
        base.append(times[0])
    low, middle, high = statistics.quantiles(ratios, n=4)
    worse = sum(r > 1 for r in ratios)
    return (f'{100 * (middle - 1):+6.1f} %  ({100 * (low - 1):+.1f} to {100 * (high - 1):+.1f}; '
            f'{worse} of {pairs} pairs above; {statistics.median(base):.2f} s)')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    every = os.sched_getaffinity(0)
    for scheme in ('naive', 'opt'):
        for layout in LAYOUTS:
            plain, profiled = compiled(layout, scheme), compiled(layout, scheme, '--profile')
            again = compiled(layout, scheme, '--strip', '32')  # the same program once more
            for what, cpus in (('one CPU', {min(every)}), ('all CPUs', every)):
                print(f'{layout:8} {scheme:6} {what:9} profiled {compare(plain, profiled, cpus)}', flush=True)
                print(f'{layout:8} {scheme:6} {what:9} itself   {compare(plain, again, cpus)}', flush=True)
    os.chdir('/')
