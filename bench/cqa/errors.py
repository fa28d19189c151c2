#!/usr/bin/env python3
"""How far the model's ratio of two loops' times is off: bench/cqa/errors.py SONDE CORPUS.tsv [--arch A] [--split test|tune|all]

Prints the factor that holds in 50, 80, 90 and 95 of 100 pairs of loops of the corpus; the last is the row of
data/machines/errors.tsv."""
import bisect
import math

import score


def log_errors(rows, predictions):
    """ln(estimate / measured) of each loop that has both."""
    return sorted(math.log(p / float(r[2])) for r, p in zip(rows, predictions) if p and float(r[2]) > 0)


def share_within(errors, factor):
    """Of all pairs of loops (by their sorted errors): those whose ratio is off by no more than the factor."""
    reach = math.log(factor)
    pairs = sum(bisect.bisect_right(errors, e + reach) - i - 1 for i, e in enumerate(errors))
    return pairs / (len(errors) * (len(errors) - 1) / 2)


def factor_of(errors, share):
    low, high = 1, 1e6
    while high / low > 1.00001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if share_within(errors, middle) >= share else (middle, high)
    return high


def main():
    args = score.options_of_all().parse_args()
    rows = score.rows_of(args.corpus, args.split)
    errors = log_errors(rows, [r['cycles'] for r in score.sonde(args.sonde, [r[4] for r in rows], args.arch)])
    print(f'{args.arch} {args.split}: n {len(errors)}, ' + ', '.join(f'{100 * s:.0f} %: {factor_of(errors, s):.3f}' for s in (.5, .8, .9, .95)))


if __name__ == '__main__':
    main()
