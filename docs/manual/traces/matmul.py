"""Writes the trace of C = A B, distributed over four processes, as a naive compiler would run it.

    python3 matmul.py ORDER C A B > trace.jsonl      e.g. ijk rows rows rows

ORDER is that of the loops. C, A, B: rows, cols, blocks, or all (replicated). An operand that is not at
home with the element assigned is sent; the assignments are observed, sends and receives are not.
"""
import json
import sys
from itertools import product

N = P = 4
OWNERS = {'rows': lambda i, j: i, 'cols': lambda i, j: j, 'blocks': lambda i, j: i // 2 * 2 + j // 2,
          'all': lambda i, j: None}


def main(order, where_c, where_a, where_b):
    count = [0] * P
    print(json.dumps({'processes': P}))

    def event(process, label, observed, after):
        print(json.dumps({'process': process, 'index': count[process], 'label': label,
                          'observed': observed, 'after': after, 'file': 'matmul.pnd', 'line': 9}))
        count[process] += 1
        return [process, count[process] - 1]

    for place in product(range(N), repeat=3):
        at = dict(zip(order, place))
        i, j, k = at['i'], at['j'], at['k']
        home = OWNERS[where_c](i, j)
        for name, a, b, where in (('A', i, k, where_a), ('B', k, j, where_b)):
            owner = OWNERS[where](a, b)
            if owner is not None and owner != home:
                sent = event(owner, f'send {name}[{a}][{b}]', False, [])
                event(home, f'receive {name}[{a}][{b}]', False, [sent])
        event(home, f'C[{i}][{j}] += A[{i}][{k}]*B[{k}][{j}]', True, [])


main(*sys.argv[1:])
