#!/usr/bin/env python3
"""Loops with several paths of unequal shares, weighed by the samples of a recording, against the measured
cycles of a pass: bench/cqa/paths.py SONDE [--seconds S]. The static estimate weighs all paths alike."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = ('q_div q_chain q_skip q_poly q_int q_three q_four q_reset '
           'q_sums q_root q_hash q_idiv q_copy q_count q_seldom q_sum_or_divide q_conv').split()
KINDS = 'every8 random99 random90 random70 random50'.split()


def usual_path(kernel, paths):
    """Of two paths the one that the usual way takes: it has less to do, but for q_reset, whose sum is the longer chain."""
    if kernel == 'q_reset':
        return max(paths, key=lambda p: p['l1_cycles'])
    return min(paths, key=lambda p: (len(p['instructions']), p['l1_cycles']))


def rows_of(*words):
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)['rows']


def main():
    sonde = sys.argv[1]
    seconds = sys.argv[3] if len(sys.argv) > 3 else '1'
    errors, ranges = {}, []
    with tempfile.TemporaryDirectory() as folder:
        program = f'{folder}/paths'
        subprocess.run(['gcc', '-O2', '-g', '-march=native', '-fno-tree-vectorize', '-fno-math-errno', '-ffast-math',
                        f'{HERE}/paths.c', '-o', program, '-lm'], check=True)
        static = {row['function']: row for row in rows_of(sonde, 'cqa', program, '--format', 'json')}
        print('kernel          kind      measured  weighed   alike  with mispredictions')
        for kind in KINDS:
            for kernel in KERNELS:
                times = [float(subprocess.run([program, kernel, kind, '0.3'], capture_output=True, text=True,
                                              check=True).stdout) for _ in range(3)]
                truth = sorted(times)[1]
                where = f'{folder}/{kernel}.{kind}'
                subprocess.run([sonde, 'record', '-o', where, program, kernel, kind, seconds], capture_output=True,
                               check=True)
                row = next(row for row in rows_of(sonde, 'show', 'whatif', where, '--cols', 'all', '--format', 'json')
                           if row['function'] == kernel)
                told, alike = row['l1_cycles'], static[kernel]['l1_cycles']
                whole = told + (row['mispredicted_cycles'] or 0)
                errors.setdefault((kind, 'weighed'), []).append(abs(told - truth) / truth)
                errors.setdefault((kind, 'alike'), []).append(abs(alike - truth) / truth)
                errors.setdefault((kind, 'with mispredictions'), []).append(abs(whole - truth) / truth)
                print(f'{kernel:15} {kind:9} {truth:8.2f} {told:8.2f} {alike:7.2f} {whole:8.2f}'
                      f'{"" if row["is_weighed"] else "  not weighed"}', flush=True)
                page = subprocess.run([sonde, 'show', 'loop', where, row['loop'], '--format', 'json'], capture_output=True,
                                      text=True, check=True)
                paths = json.loads(page.stdout)['quality']['paths']
                if len(paths) == 2:
                    usual = usual_path(kernel, paths)
                    share = 7 / 8 if kind == 'every8' else int(kind[len('random'):]) / 100
                    ranges.append((usual['passes_share_low'] - .005 <= share <= usual['passes_share_high'] + .005,
                                   usual['passes_share_high'] - usual['passes_share_low'], abs(usual['passes_share'] - share)))
    for (kind, how), found in errors.items():
        print(f'{kind} {how}: n {len(found)} MAPE {100 * sum(found) / len(found):.1f} %')
    held, width, off = (sum(column) / len(ranges) for column in zip(*ranges))
    print(f'two paths: n {len(ranges)}, share in its range {100 * held:.0f} %, width {width:.2f}, best guess {off:.2f} off')


if __name__ == '__main__':
    main()
