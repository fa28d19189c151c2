#!/usr/bin/env python3
"""Writes the overlay of Zen 1: tools/gen-machines/zen1.py data/machines

LLVM's model of Zen 1 puts FP additions on one pipe and gives divisions and 256-bit operations one operation of
one cycle. AMD's Software Optimization Guide for family 17h has both cores, Zen 1 and Zen 2: the pipes are the
same, but those of Zen 1 are 128 bits wide, so that 256-bit operations, loads and stores are two, and there are
two address units in place of three. So units and dividers are those of Zen 2's tables, twice for 256 bits.
Latencies stay those of Zen 1's model.
"""
import re
import sys

HEAD = '# form\tmicro-operations\tlatency\tdivider cycles\tloads/stores\tunits that share:count\n'
WIDE = re.compile(r'[ ,](y|m256)\b')


def rows_of(*paths):
    """{form: [uops, latency, divider, access, units]}; later files replace."""
    rows = {}
    for path in paths:
        for line in open(path):
            form, *fields = line.rstrip('\n').split('\t')
            if len(fields) == 5 and not form.startswith('#'):
                rows[form] = [new if new != '=' else old for new, old in zip(fields, rows.get(form, fields))]
    return rows


def on_zen1(form, zen2):
    uops, _, divider, _, units = zen2
    times = 2 if WIDE.search(form) else 1
    parts = []
    for part in units.replace('agu0+agu1+agu2', 'agu0+agu1').split(' ') if units != '-' else []:
        group, count = part.split(':')
        parts.append(f'{group}:{float(count) * times:g}')
    return f'{float(uops) * times:g}', f'{float(divider) * times:g}', ' '.join(parts) or '-'


def main(folder):
    zen1, zen2 = rows_of(f'{folder}/zen1.tsv'), rows_of(f'{folder}/zen2.tsv', f'{folder}/zen2.overlay.tsv')
    with open(f'{folder}/zen1.overlay.tsv', 'w') as out:
        out.write('# Units and dividers of zen1, by tools/gen-machines/zen1.py: those of zen2.tsv and zen2.overlay.tsv,\n'
                  '# twice for 256 bits, with two address units. Latencies are those of zen1.tsv.\n' + HEAD)
        for form, (uops, latency, divider, access, units) in zen1.items():
            if form not in zen2 or zen2[form][3] != access:
                continue
            row = on_zen1(form, zen2[form])
            if row != (uops, divider, units):
                out.write(f'{form}\t{row[0]}\t{latency}\t{row[1]}\t{access}\t{row[2]}\n')


if __name__ == '__main__':
    main(sys.argv[1])
