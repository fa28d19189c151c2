#!/usr/bin/env python3
"""Misses that `sonde trace` and `show caches` give, beside cachegrind's, with the same caches.

    bench/rewrite/cachegrind.py SONDE [FOLDER]

Each kernel is a program of one loop nest that is long enough for its first misses not to count. Both run it; of both the misses in
the kernel's function are taken. Needs gcc, valgrind and cg_annotate.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

L1, LL = (32768, 8), (1 << 20, 16)
KERNELS = {
    'sum': 'double s = 0; for (int r = 0; r < 4; r++) for (long i = 0; i < N; i++) s += a[i]; b[0] = s;',
    'copy': 'for (int r = 0; r < 4; r++) for (long i = 0; i < N; i++) b[i] = a[i];',
    'triad': 'for (int r = 0; r < 4; r++) for (long i = 0; i < N; i++) c[i] = a[i] + 2 * b[i];',
    'stride': 'double s = 0; for (int r = 0; r < 32; r++) for (long i = 0; i < N; i += 9) s += a[i]; b[0] = s;',
    'in_l1': 'double s = 0; for (int r = 0; r < 200; r++) for (long i = 0; i < 2000; i++) s += a[i] * b[i]; c[0] = s;',
    'transpose': 'for (long i = 0; i < 400; i++) for (long j = 0; j < 400; j++) b[j * 400 + i] = a[i * 400 + j];',
    'power_of_two': 'double s = 0; for (int r = 0; r < 200; r++) for (long i = 0; i < 128; i++) s += a[i * 512]; b[0] = s;',
    'stencil': 'for (int r = 0; r < 3; r++) for (long i = 1; i < 399; i++) for (long j = 1; j < 399; j++) b[i * 400 + j] = a[i * 400 + j - 1] + a[i * 400 + j + 1] '
               '+ a[(i - 1) * 400 + j] + a[(i + 1) * 400 + j];',
    'gather': 'double s = 0; for (int r = 0; r < 4; r++) for (long i = 0; i < N; i++) s += a[k[i]]; b[0] = s;',
    'matrix': 'for (long i = 0; i < 90; i++) for (long j = 0; j < 90; j++) { double s = 0; for (long l = 0; l < 90; l++) s += a[i * 90 + l] * b[l * 90 + j]; c[i * 90 + j] = s; }',
}
SOURCE = '''
#define N 160000
double a[N] __attribute__((aligned(4096))), b[N] __attribute__((aligned(4096))), c[N] __attribute__((aligned(4096)));
int k[N];
__attribute__((noinline, noclone, noipa)) void kernel(void) { %s }
int main(void) { unsigned x = 1; for (long i = 0; i < N; i++) { x = x * 1664525u + 1013904223u; k[i] = (x >> 8) %% N; a[i] = i; } kernel(); return 0; }
'''


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def by_cachegrind(program):
    out = program + '.cachegrind'
    run('valgrind', '--tool=cachegrind', '--cache-sim=yes', f'--D1={L1[0]},{L1[1]},64', f'--LL={LL[0]},{LL[1]},64', f'--cachegrind-out-file={out}', program)
    events, function, sums = None, None, {}
    for line in open(out):
        if line.startswith('events:'):
            events = line.split()[1:]
        elif line.startswith('fn='):
            function = line[3:].strip()
        elif re.match(r'\d', line) and function == 'kernel':
            for event, value in zip(events, line.split()[1:]):
                sums[event] = sums.get(event, 0) + int(value)
    return sums['Dr'] + sums['Dw'], sums['D1mr'] + sums['D1mw'], sums['DLmr'] + sums['DLmw']


def by_sonde(sonde, program, folder):
    first, traced = os.path.join(folder, 'first'), os.path.join(folder, 'traced')
    run('rm', '-rf', first, traced)
    run(sonde, 'record', '-q', '-o', first, '--clock', '20000', program)
    run(sonde, 'trace', '-q', '--from', first, '--loops', 'all', '--every', '1', '-o', traced, '--', program)
    rows = json.loads(run(sonde, 'show', 'caches', traced, '--by', 'loop', '--all', '--format', 'json', '--caches',
                          f'L1={L1[0] >> 10}k/{L1[1]},L2={LL[0] >> 10}k/{LL[1]},line=64'))['rows']
    mine = [r for r in rows if r['function'] == 'kernel']
    total = {level: (sum(r['accesses'] for r in mine if r['level'] == level), sum(r['misses'] for r in mine if r['level'] == level)) for level in ('L1', 'L2')}
    return total['L1'][0], total['L1'][1], total['L2'][1]


def main():
    sonde = os.path.abspath(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    print(f'| kernel | accesses: cachegrind | sonde | L1 misses: cachegrind | sonde | ratio | L2 misses: cachegrind | sonde | ratio |\n{"| --- " * 9}|')
    for name, body in KERNELS.items():
        program = os.path.join(folder, name)
        with open(program + '.c', 'w') as out:
            out.write(SOURCE % body)
        run('gcc', '-O1', '-g', '-o', program, program + '.c')
        theirs, ours = by_cachegrind(program), by_sonde(sonde, program, folder)
        ratio = [f'{o / t:.4f}' if t else ('1' if not o else 'inf') for o, t in zip(ours, theirs)]
        print(f'| {name} | {theirs[0]} | {ours[0]} | {theirs[1]} | {ours[1]} | {ratio[1]} | {theirs[2]} | {ours[2]} | {ratio[2]} |', flush=True)


main()
