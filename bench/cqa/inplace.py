#!/usr/bin/env python3
"""Predicted against measured for whole loops in place, and for what vectorization brings:
bench/cqa/inplace.py SONDE [--arch A]

Compiles bench/cqa/inplace.c scalar and for vectors, runs both, and asks sonde cqa of the same files.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ['-O3', '-g', '-march=native', '-ffast-math', '-mprefer-vector-width=512']
# What limits each kernel in the first level, by what it computes: a sum or recurrence waits for itself,
# divisions and roots for their unit, all others move or compute as much as the units take.
CLASSES = {'latency': 'k_sum k_dot k_norm k_max k_fdot k_rec'.split(), 'divider': 'k_div k_sqrt k_fdiv k_fsqrt'.split()}
LEVELS = {'L1': 'l1_cycles', 'L2': 'l2_cycles', 'L3': 'l3_cycles', 'RAM': 'ram_cycles'}


def main():
    sonde = sys.argv[1]
    arch = sys.argv[3] if len(sys.argv) > 3 else 'native'
    measured, predicted, runs, paths, unions = {}, {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, extra in (('scalar', ['-fno-tree-vectorize', '-fno-math-errno']), ('vector', ['-fno-math-errno'])):
            program = f'{folder}/{name}'
            subprocess.run(['gcc', *FLAGS, *extra, f'{HERE}/inplace.c', '-o', program, '-lm'], check=True)
            for _ in range(5):
                for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
                    kernel, level, full, half, elements = line.split('\t')
                    runs.setdefault((name, kernel, level), []).append((float(full), float(half), int(elements)))
            rows = json.loads(subprocess.run([sonde, 'cqa', program, '--arch', arch, '--format', 'json'],
                                             capture_output=True, text=True, check=True).stdout)['rows']
            for row in rows:
                if row['function'].startswith('p_') and row['path_count'] > 1 and name == 'scalar':
                    paths.setdefault(row['function'], row)
                if row['function'].startswith('m_') and row['is_union'] and name == 'scalar':
                    unions.setdefault(row['function'], row)
                if row['function'].startswith('k_') and row['role'] == 'main' and row['unroll'] and \
                        (name, row['function']) not in predicted:
                    predicted[(name, row['function'])] = row
    for key, found in runs.items():
        # disturbances only add time: the lowest of each length, then the difference
        measured[key] = (min(f for f, _, _ in found) - min(h for _, h, _ in found)) / found[0][2]
    for name in ('scalar', 'vector'):
        for level, key in LEVELS.items():
            errors, worst = [], []
            for (kind, kernel), row in sorted(predicted.items()):
                if kind != name:
                    continue
                per_element = row[key] / row['unroll']
                truth = measured[(name, kernel, level)]
                assert truth > 0, (name, kernel, level, truth)
                errors.append(abs(per_element - truth) / truth)
                worst.append((errors[-1], kernel, per_element, truth))
            worst.sort(reverse=True)
            print(f'{name} {level}: n {len(errors)} MAPE {100 * sum(errors) / len(errors):.1f} % median '
                  f'{100 * sorted(errors)[len(errors) // 2]:.1f} %; worst '
                  + ', '.join(f'{k} {p:.2f} for {m:.2f}' for _, k, p, m in worst[:3]))
    right, wrong = 0, []
    for (kind, kernel), row in sorted(predicted.items()):
        truth = next((name for name, members in CLASSES.items() if kernel in members), 'throughput')
        told = row['bottleneck'] if row['bottleneck'] in CLASSES else 'throughput'
        right += told == truth
        if told != truth:
            wrong.append(f'{kind} {kernel}: {told}')
    print(f'bottleneck class in L1: {right} of {len(predicted)}; wrong: {", ".join(wrong)}')
    errors = []
    for kernel, row in sorted(paths.items()):
        truth, told = measured[('scalar', kernel, 'L1')], row['l1_cycles'] / (row['unroll'] or 1)
        errors.append(abs(told - truth) / truth)
        print(f'  {row["path_count"]} paths {kernel:8} predicted {told:.2f} measured {truth:.2f}')
    print(f'several paths, L1: n {len(errors)} MAPE {100 * sum(errors) / max(len(errors), 1):.1f} %')
    for kernel, row in sorted(unions.items()):
        print(f'  too many paths {kernel:8} predicted {row["l1_cycles"] / (row["unroll"] or 1):.2f} '
              f'measured {measured[("scalar", kernel, "L1")]:.2f}')
    within, total = 0, 0
    for (kind, kernel), row in sorted(predicted.items()):
        if kind != 'scalar' or ('vector', kernel) not in predicted or row['full_vector_speedup'] is None:
            continue
        truth = measured[('scalar', kernel, 'L1')] / measured[('vector', kernel, 'L1')]
        total += 1
        good = abs(row['full_vector_speedup'] - truth) / truth <= .2
        within += good
        print(f'  what if vectorized {kernel:10} predicted {row["full_vector_speedup"]:.2f} measured {truth:.2f}'
              f'{"" if good else "  *"}')
    print(f'what-if within 20 %: {within} of {total}')


if __name__ == '__main__':
    main()
