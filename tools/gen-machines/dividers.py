#!/usr/bin/env python3
"""Writes the dividers that LLVM's scheduling models leave out, as overlays:

    tools/gen-machines/dividers.py data/machines

sapphirerapids: the model has no divider; a division there is one pipelined operation. Golden Cove's FP divider
is that of Ice Lake (uops.info and Agner Fog give the same cycles for single and double precision), so its rows
take the divider cycles of icelake-server.tsv; integer divisions those of icelake.overlay.tsv, of which 8 and 16
bits are as long as 32. Half precision, which Ice Lake lacks, takes what as many elements of single precision do.

zen2, zen3, zen4: the model holds the unit (fp1:5) in place of a divider. The unit takes the operation in one cycle
and the divider is held: the same cycles, but said of the divider, and the unit is free for other work.
"""
import re
import sys

DIVISION = re.compile(r'v?(div|sqrt)[sp][sdh]|i?div|fi?divr?p?|fsqrt')
INTEGER = re.compile(r'i?div')
HEAD = '# form\tmicro-operations\tlatency\tdivider cycles\tloads/stores\tunits that share:count\n'
WIDER = {'x': 'y', 'y': 'z', 'z': 'z'}


def rows_of(*paths):
    """{form: [uops, latency, divider, access, units]} of the divisions; later files replace."""
    rows = {}
    for path in paths:
        for line in open(path):
            form, *fields = line.rstrip('\n').split('\t')
            if DIVISION.fullmatch(form.split(' ')[0]):
                rows[form] = fields
    return rows


def unmasked(form):
    return re.sub(r' \{[kz]\}$', '', form)


def single_precision(form):
    """The form of single precision with as many elements, and how often it runs."""
    name, operands = unmasked(form).split(' ')
    if name.endswith('sh'):
        return f'{name[:-2]}ss x,x,x', 1
    widths = [operand for operand in operands.split(',') if operand in WIDER]
    return f'{name[:-2]}ps ' + ','.join([WIDER[widths[0]]] * (3 if 'div' in name else 2)), 1 + (widths[0] == 'z')


def golden_cove_cycles(form, icelake):
    name, operands = form.split(' ')[0], form.split(' ')[-1]
    if INTEGER.fullmatch(name):
        return icelake[re.sub(r'(8|16)$', '32', form)][2]
    if name.endswith('h'):
        same, times = single_precision(form)
        return f'{float(icelake[same][2]) * times:g}'
    return icelake.get(form, icelake.get(unmasked(form)))[2]


def write_sapphirerapids(folder):
    icelake = rows_of(f'{folder}/icelake-server.tsv', f'{folder}/icelake.overlay.tsv')
    with open(f'{folder}/sapphirerapids.overlay.tsv', 'w') as out:
        out.write('# The divider of Sapphire Rapids, by tools/gen-machines/dividers.py: LLVM\'s model has none. Golden Cove\n'
                  '# divides as Ice Lake does: cycles of icelake-server.tsv and icelake.overlay.tsv; half precision as\n'
                  '# many elements of single precision (not measured by anyone we know).\n' + HEAD)
        for form, fields in rows_of(f'{folder}/sapphirerapids.tsv').items():
            fields[2] = golden_cove_cycles(form, icelake)
            if fields[2] != '0':
                out.write('\t'.join((form, *fields)) + '\n')


def cycles_of(part):
    return float(part.split(':')[1]) / len(part.split('+'))


def write_zen(name, folder):
    with open(f'{folder}/{name}.overlay.tsv', 'w') as out:
        out.write(f'# The divider of {name}, by tools/gen-machines/dividers.py: what LLVM\'s model says of the unit that a\n'
                  f'# division holds ({name}.tsv) is said of the divider, and the unit takes one operation.\n' + HEAD)
        for form, fields in rows_of(f'{folder}/{name}.tsv').items():
            parts = fields[4].split(' ')
            longest = max(parts, key=cycles_of)
            if fields[2] != '0' or cycles_of(longest) <= 1:
                continue
            fields[2] = f'{cycles_of(longest):g}'
            fields[4] = ' '.join(p.split(':')[0] + ':1' if p is longest else p for p in parts)
            out.write('\t'.join((form, *fields)) + '\n')


def main():
    write_sapphirerapids(sys.argv[1])
    for name in ('zen2', 'zen3', 'zen4'):
        write_zen(name, sys.argv[1])


if __name__ == '__main__':
    main()
