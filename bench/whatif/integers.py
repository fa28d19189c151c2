#!/usr/bin/env python3
"""What vectors bring to loops of integers with data in L1, beside the range that `sonde cqa` tells for 'vectorize integers'.

    python3 bench/whatif/integers.py build [--runs 3]
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile

# name: type of the elements, body of the loop
LOOPS = {
    'product': ('int', 'a[i] = b[i] * 5 + 3;'), 'shift': ('unsigned', 'a[i] = b[i] ^ (b[i] >> 3);'), 'short': ('short', 'a[i] = b[i] + 7;'),
    'bytes': ('unsigned char', 'a[i] = b[i] > 100 ? b[i] : 0;'), 'long': ('long', 'a[i] = b[i] + 7;'), 'sum': ('int', 's += b[i];'),
    'sum of shorts': ('short', 's += b[i];'), 'largest': ('int', 's = b[i] > s ? b[i] : s;'),
    'differences of bytes': ('unsigned char', 's += b[i] > a[i] ? b[i] - a[i] : a[i] - b[i];'),
}
PROGRAM = '''#include <stdio.h>
#include <stdlib.h>
enum { N = 3200 };
static %(type)s a[N] __attribute__((aligned(64))), b[N] __attribute__((aligned(64)));
__attribute__((noipa)) int f(%(type)s *restrict a, const %(type)s *restrict b, long n)
{ int s = 0; for (long i = 0; i < n; i++) { %(body)s } return s; }
int main(int argc, char **argv)
{ int t = 0; for (int i = 0; i < N; i++) b[i] = i * 37; for (long k = atol(argv[1]); k; k--) t += f(a, b, N); printf("%%d\\n", t + a[7]); }
'''
BUILDS = {'scalar': ('-O2', '-fno-tree-vectorize'), 'vector': ('-O3', '-march=native', '-mprefer-vector-width=512')}
TIMES = {'scalar': 60000, 'vector': 600000}


def seconds(kind):
    """CPU seconds of a call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([f'./{kind}', str(TIMES[kind])], stdout=subprocess.DEVNULL, check=True)
    return (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / TIMES[kind]


def told(sonde):
    """The advice, or None."""
    def cqa(*words):
        return json.loads(subprocess.run([sonde, 'cqa', 'scalar', *words, '--format', 'json'], capture_output=True, text=True, check=True).stdout)
    for row in cqa('--function', 'f', '--cols', 'loop')['rows']:
        for piece in cqa('--loop', row['loop'])['details'][0]['advice']:
            if piece['subject'] == 'vectorize integers':
                return piece
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--runs', type=int, default=3)
    args = parser.parse_args()
    sonde = os.path.abspath(f'{args.build}/sonde')
    os.chdir(tempfile.mkdtemp(prefix='sonde-integers-'))
    print('| loop | brought | told | at most |\n| --- | --- | --- | --- |')
    for name, (kind, body) in LOOPS.items():
        with open('loop.c', 'w') as out:
            out.write(PROGRAM % {'type': kind, 'body': body})
        for build, flags in BUILDS.items():
            subprocess.run(['gcc', '-g', *flags, 'loop.c', '-o', build], check=True)
        brought = min(seconds('scalar') for _ in range(args.runs)) / min(seconds('vector') for _ in range(args.runs))
        piece = told(sonde)
        print(f'| {name} | {brought:.1f} | ' + (f'{piece["speedup"]:.1f} | {piece["most_speedup"]:.1f} |' if piece else '- | - |'), flush=True)


main()
