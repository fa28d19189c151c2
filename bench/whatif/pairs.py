#!/usr/bin/env python3
"""Do the gains that `sonde run --level 3` foretells come true when the change is made by hand?

    python3 bench/whatif/pairs.py build [--runs 5] [--only NAME,..] [--verbose]

Each pair is a program before and after a change (pairs.c; builds differ where the compiler makes it). The one before is run at level 3,
and its loop page read: does it name the cause, and how much is the program to gain by the advice on it? The programs' times are
lowest of interleaved runs: CPU time, or elapsed time where threads are balanced. An answer holds the truth if what the change
brought lies in the advice's interval for the program, as wide as the runs' own scatter.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = ['-O2', '-fno-tree-vectorize', '-fno-math-errno']
VECTORS = ['-O3', '-march=native', '-mprefer-vector-width=512', '-ffast-math']
WIDE = {'vectorize', 'vectorize integers', 'wider vectors', 'target'}
CHAIN = {'partial sums', 'dependence'}
NEAR = {'locality'}
FETCH = {'prefetch'}
# name: subjects of advice that are this change, flags before, flags after
PAIRS = {
    'axpy_l1': (WIDE, PLAIN, VECTORS), 'axpy_l2': (WIDE, PLAIN, VECTORS), 'axpy_ram': (WIDE, PLAIN, VECTORS),
    'polynomial': (WIDE, PLAIN, VECTORS), 'bytes': (WIDE, PLAIN, VECTORS), 'unrolled': (WIDE | {'unroll'}, PLAIN, VECTORS),
    'conversions': ({'conversions'}, PLAIN, ['-DAFTER=1'] + PLAIN),
    'dot_l1': (CHAIN, PLAIN, ['-DAFTER=1'] + PLAIN), 'dot_ram': (CHAIN, PLAIN, ['-DAFTER=1'] + PLAIN),
    'largest': (CHAIN, PLAIN, ['-DAFTER=1'] + PLAIN), 'memory_sum': (CHAIN, PLAIN, ['-DAFTER=1'] + PLAIN),
    'horner': (CHAIN, PLAIN, ['-DAFTER=1'] + PLAIN),
    'divide_l1': ({'division'}, PLAIN, ['-DAFTER=1'] + PLAIN), 'divide_ram': ({'division'}, PLAIN, ['-DAFTER=1'] + PLAIN),
    'root': ({'division'}, PLAIN, ['-DAFTER=1'] + PLAIN), 'remainder': ({'division', 'slow instructions'}, PLAIN, ['-DAFTER=1'] + PLAIN),
    'transpose': (NEAR, PLAIN, ['-DAFTER=1'] + PLAIN), 'product': (NEAR | {'strides'}, PLAIN, ['-DAFTER=1'] + PLAIN),
    'columns': (NEAR, PLAIN, ['-DAFTER=1'] + PLAIN), 'blocked_sweeps': (NEAR, PLAIN, ['-DAFTER=1'] + PLAIN),
    'structures': (NEAR, PLAIN, ['-DAFTER=1'] + PLAIN), 'list': (NEAR, PLAIN, ['-DAFTER=1'] + PLAIN),
    'smaller_types': (NEAR, PLAIN, ['-DSMALL'] + PLAIN), 'fused': ('dl1', PLAIN, ['-DAFTER=1'] + PLAIN),
    'gather': (FETCH, PLAIN, ['-DAFTER=1'] + PLAIN), 'gather_l2': (FETCH, PLAIN, ['-DAFTER=1'] + PLAIN),
    'hash': (FETCH, PLAIN, ['-DAFTER=1'] + PLAIN),
    'balance': ('balance', PLAIN + ['-fopenmp'], ['-DDYNAMIC', '-fopenmp'] + PLAIN),
    'critical': ('parallel', PLAIN + ['-fopenmp'], ['-DDYNAMIC', '-fopenmp'] + PLAIN),
}
SECONDS = 1.2


def once(program, times):
    """-> (CPU seconds, elapsed seconds)"""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([program, str(times)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begin


def foretold(sonde, program, times, subjects, verbose):
    """-> (verdict, confidence, subject, low, best, high) of the advice that is this change; None without a number."""
    subprocess.run([sonde, 'run', '--level', '3', '-q', '-o', 'e', program, str(times)], capture_output=True, text=True)
    if isinstance(subjects, str):
        rows = json.loads(subprocess.run([sonde, 'show', 'global', '--format', 'json', 'e'], capture_output=True, text=True).stdout)['rows']
        row = next(r for r in rows if r['metric'] in (f'speedup_perfect_{subjects}', f'speedup_{subjects}'))
        return 'global', '-', row['metric'], row['low'], row['value'], row['high']
    d = json.loads(subprocess.run([sonde, 'show', 'loop', '#1', '--format', 'json', 'e'], capture_output=True, text=True).stdout)
    if verbose:
        print(f'  {d["label"] if "label" in d else ""} {d["verdict"]} ({d["confidence"]})')
        for a in d['advice']:
            print('   ', a['grade'], a['subject'], a['program_speedup_low'], a['program_speedup'], a['program_speedup_high'], '|', a['for'], '|', a['against'])
    mine = [a for a in d['advice'] if a['subject'] in subjects]
    numbers = [a for a in mine if a['program_speedup'] is not None]
    if not mine:
        return d['verdict'], d['confidence'], None, None, None, None
    best = max(numbers, key=lambda a: a['program_speedup_high']) if numbers else mine[0]
    return (d['verdict'], d['confidence'], best['subject'], best['program_speedup_low'], best['program_speedup'],
            best['program_speedup_high'])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--only', default='')
    parser.add_argument('--verbose', action='store_true')
    args = parser.parse_args()
    sonde = os.path.abspath(f'{args.build}/sonde')
    os.chdir(tempfile.mkdtemp(prefix='sonde-pairs-'))
    print('| change | brought | scatter | advice | foretold | 95 % | holds it | within 20 % | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |')
    held, near, named, of = [], [], [], 0
    for name, (subjects, before, after) in PAIRS.items():
        if args.only and name not in args.only.split(','):
            continue
        for kind, flags in (('before', before), ('after', after)):
            subprocess.run(['gcc', '-g', *flags, f'-DPAIR_{name}', f'{HERE}/pairs.c', '-o', kind, '-lm'], check=True)
        times = max(1, round(SECONDS / max(once('./before', 1)[0], 0.01)))
        pick = 1 if '-fopenmp' in before else 0
        runs = [(once('./before', times)[pick], once('./after', times)[pick]) for _ in range(args.runs)]
        ratios = sorted(b / a for b, a in runs)
        brought = min(b for b, _ in runs) / min(a for _, a in runs)
        scatter = max((ratios[-1] - ratios[0]) / 2, 0.02)
        subprocess.run(['rm', '-rf', 'e'])
        verdict, confidence, subject, low, best, high = foretold(sonde, './before', times, subjects, args.verbose)
        of += 1
        nothing = brought < 1.05
        if subject is not None or nothing:
            named.append(name)
        is_held = low is not None and low - scatter <= brought <= high + scatter or low is None and nothing
        if is_held:
            held.append(name)
        is_near = best is not None and abs(best / brought - 1) <= 0.2 or best is None and nothing
        if is_near:
            near.append(name)
        told = f'{best:.2f} | {low:.2f} to {high:.2f}' if best is not None and low is not None else '- | -'
        print(f'| {name} | {brought:.2f} | {scatter:.2f} | {subject or "-"} | {told} | {"yes" if is_held else "no"} | '
              f'{"yes" if is_near else "no"} | {re.sub("[|].*", "", verdict or "-")[:70]} ({confidence}) |', flush=True)
    print(f'\nOf {of}: held {len(held)}, within 20 % {len(near)}, cause named {len(named)}.')


main()
