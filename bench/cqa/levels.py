#!/usr/bin/env python3
"""Predicted against measured for loops over memory by strides, at random and along lists, with data in
each level: bench/cqa/levels.py SONDE [--arch A]. Run 'sonde calibrate' before."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEVELS = {'L1': 'l1_cycles', 'L2': 'l2_cycles', 'L3': 'l3_cycles', 'RAM': 'ram_cycles'}


def main():
    sonde = sys.argv[1]
    arch = sys.argv[3] if len(sys.argv) > 3 else 'native'
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/levels'
        subprocess.run(['gcc', '-O2', '-g', '-march=native', '-fno-tree-vectorize', f'{HERE}/levels.c', '-o', program],
                       check=True)
        runs = {}
        for _ in range(3):
            for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
                kernel, level, cycles = line.split('\t')
                runs.setdefault((kernel, level), []).append(float(cycles))
        rows = json.loads(subprocess.run([sonde, 'cqa', program, '--arch', arch, '--format', 'json'],
                                         capture_output=True, text=True, check=True).stdout)['rows']
    # the last loop of a kernel is the one that is timed (the hash looks for its mask first)
    predicted = {row['function']: row for row in sorted(rows, key=lambda row: row['line_first'])
                 if row['function'] in {kernel for kernel, _ in runs}}
    errors = {level: [] for level in LEVELS}
    print('kernel      ' + ''.join(f'{level:>18}' for level in LEVELS) + '   predicted (measured)')
    for kernel in dict.fromkeys(kernel for kernel, _ in runs):
        cells = ''
        for level, key in LEVELS.items():
            truth, told = sorted(runs[(kernel, level)])[1], predicted[kernel][key]
            errors[level].append(abs(told - truth) / truth)
            cells += f'{told:9.2f} ({truth:6.2f})' + ('*' if errors[level][-1] > .25 else ' ')
        print(f'{kernel:12}{cells}')
    for level, found in errors.items():
        print(f'{level}: n {len(found)} MAPE {100 * sum(found) / len(found):.1f} % median '
              f'{100 * sorted(found)[len(found) // 2]:.1f} %, above 25 %: {sum(e > .25 for e in found)}')


if __name__ == '__main__':
    main()
