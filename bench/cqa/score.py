#!/usr/bin/env python3
"""Scores predictions of a corpus: bench/cqa/score.py SONDE CORPUS.tsv [--arch A] [--split test|tune|all]
[--mca CPU] [--worst N]

Prints n, failures, instructions estimated, MAPE, median error and Kendall's tau-b for each class.
"""
import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile


def tau_b(x, y):
    n, concordant, discordant, tie_x, tie_y = len(x), 0, 0, 0, 0
    for i in range(n):
        xi, yi = x[i], y[i]
        for j in range(i):
            a, b = xi - x[j], yi - y[j]
            product = a * b
            if product > 0:
                concordant += 1
            elif product < 0:
                discordant += 1
            elif a == 0 and b != 0:
                tie_x += 1
            elif b == 0 and a != 0:
                tie_y += 1
    total = concordant + discordant
    return (concordant - discordant) / ((total + tie_x) * (total + tie_y)) ** .5 if total else 0


def sonde(program, blocks, arch):
    with tempfile.NamedTemporaryFile('w', suffix='.hex') as file:
        file.write('\n'.join(blocks) + '\n')
        file.flush()
        out = subprocess.run([program, 'cqa', '--blocks', file.name, '--arch', arch, '--format', 'jsonl'],
                             capture_output=True, text=True, check=True).stdout
    return [json.loads(l) for l in out.splitlines()]


def mca(blocks, cpu):
    """Total cycles of 100 iterations by llvm-mca-19, one region a block."""
    predictions = []
    for at in range(0, len(blocks), 100):
        source = ''
        for i, block in enumerate(blocks[at:at + 100]):
            code = ' '.join('0x' + block[k:k + 2] for k in range(0, len(block), 2))
            text = subprocess.run(['llvm-mc-19', '--disassemble', '-triple=x86_64', '-mattr=+avx512f'],
                                  input=code, capture_output=True, text=True).stdout
            lines = [l for l in text.splitlines() if l.startswith('\t') and not l.strip().startswith('.')]
            source += f'# LLVM-MCA-BEGIN {i}\n' + '\n'.join(lines) + f'\n# LLVM-MCA-END {i}\n'
        run = subprocess.run(['llvm-mca-19', '-mtriple=x86_64', f'-mcpu={cpu}', '-json', '-iterations=100',
                              '-skip-unsupported-instructions=any'], input=source,
                             capture_output=True, text=True)
        got = {}
        start = run.stdout.find('{')
        if start >= 0:
            for region in json.loads(run.stdout[start:], strict=False)['CodeRegions']:
                got[int(region['Name'])] = region['SummaryView']['TotalCycles'] / 100
        predictions += [got.get(i) for i in range(len(blocks[at:at + 100]))]
    return predictions


Scores = collections.namedtuple('Scores', 'count failed mape median tau')


def rows_of(corpus, split):
    """[split, class, cycles, source, bytes] of a corpus' half, or of all of it."""
    rows = [l.rstrip('\n').split('\t') for l in open(corpus) if not l.startswith(('#', 'split\t'))]
    return [r for r in rows if split in ('all', r[0])]


def scores(rows, predictions):
    """Errors as parts of one; None if no row has a figure."""
    pairs = [(p, float(r[2])) for r, p in zip(rows, predictions) if p is not None]
    if not pairs:
        return None
    errors = sorted(abs(p - m) / m for p, m in pairs)
    return Scores(len(pairs), len(rows) - len(pairs), sum(errors) / len(errors), errors[len(errors) // 2],
                  tau_b(*zip(*pairs)))


def report(name, rows, predictions, estimated):
    for kind in ('all', 'scalar', 'vector'):
        chosen = [i for i, r in enumerate(rows) if kind in ('all', r[1])]
        told = scores([rows[i] for i in chosen], [predictions[i] for i in chosen])
        if told:
            print(f'{name:28} {kind:7} n {told.count:5} failed {told.failed:3} '
                  f'estimated {sum(estimated[i] for i in chosen if predictions[i] is not None):4}  '
                  f'MAPE {100 * told.mape:6.2f} % median {100 * told.median:6.2f} %  tau {told.tau:.3f}')


def options_of_all():
    """What every program over a corpus is told: which sonde, which corpus, which core and which half."""
    parser = argparse.ArgumentParser()
    parser.add_argument('sonde')
    parser.add_argument('corpus')
    parser.add_argument('--arch', default='native')
    parser.add_argument('--split', default='test')
    return parser


def main():
    parser = options_of_all()
    parser.add_argument('--mca')
    parser.add_argument('--worst', type=int, default=0)
    args = parser.parse_args()
    rows = rows_of(args.corpus, args.split)
    results = sonde(args.sonde, [r[4] for r in rows], args.arch)
    predictions = [r['cycles'] for r in results]
    report(f'sonde {args.arch}', rows, predictions, [r['estimated_instructions'] or 0 for r in results])
    if args.mca:
        report(f'llvm-mca-19 {args.mca}', rows, mca([r[4] for r in rows], args.mca), [0] * len(rows))
    order = sorted((i for i in range(len(rows)) if predictions[i] is not None),
                   key=lambda i: -abs(predictions[i] - float(rows[i][2])) / float(rows[i][2]))
    for i in order[:args.worst]:
        print(rows[i][2], predictions[i], results[i]['bottleneck'], results[i]['bounds'], rows[i][3], rows[i][4])


if __name__ == '__main__':
    main()
