#!/usr/bin/env python3
"""Writes the rows of a machine's table that measurements contradict, as an overlay:

    tools/gen-machines/corrected.py MACHINE FORMS.tsv [MACHINE.tsv] > data/machines/MACHINE.measured.tsv

FORMS.tsv is what 'sonde calibrate --forms ""' printed on such a machine, MACHINE.tsv what 'sonde calibrate' wrote there.
The table gives the units; a measurement can say only that they are more, that an operation keeps them longer, and what a
chain of it takes. A figure that stands alone may be wrong (other work, a change of clock), so forms are judged in families:
one operation in all its widths and types. What most of a family agree on holds for all of it.
"""
import collections
import itertools
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'data', 'machines')
FIELDS = 'uops latency divider access units'
Row = collections.namedtuple('Row', FIELDS)
CLOSE = 0.06      # of a figure: two measurements agree
LATENCY = 0.3     # cycles by which a chain must differ from the table
FASTER, SLOWER = 0.78, 1.6  # of the table's throughput, from which on it is contradicted
MEMORY = re.compile(r'\bm\d+|\bb\d+|\bv[xyz]\b')
DIVISION = re.compile(r'v?(div|sqrt)[sp][sdh]|i?div|fi?divr?p?|fsqrt')
# What latency means there is told by hand-written chains (bench/cqa/chains.py), not by an instance fed to itself.
ADDITION = re.compile(r'v?(add|sub)[sp][sd]')
# An instance fed to itself is a move, a constant or no dependence, or waits for the flags of the loop's own branch.
NO_CHAIN = re.compile(r'mov|xchg|push|pop|cmov|set|r[cd]|test|cmp|v?p?cmp|v?pxor|psub|sub$|xor|nop|f|jmp|emms|k|v?u?comi|'
                      r'v?cvt.*2|sh[lr]d|i?mul|ptw|mask|cmpxchg|v?aeskey|pblendvb|v?perm[it]')
# Its implicit operands or flags chain it to itself, so its throughput is that of a chain.
IMPLICIT_CHAIN = re.compile(r'i?mulx?$|adc|sbb|ad[co]x|c[bwd]|lahf|sahf|cmc|leave|cmpxchg|x|lods|f|enter|jr?|bt|r[dc]|v?pblendvb|v?maskmov')


def read_rows(path, rows):
    for line in open(path):
        if line[0] not in '#!\n':
            form, *fields = line.rstrip('\n').split('\t')
            rows[form] = Row(*fields)


def read_measured(paths):
    """{form: [[throughput, latency or None], ...]}"""
    measured = collections.defaultdict(list)
    for path in paths:
        for line in open(path):
            fields = line.rstrip('\n').split('\t')
            if fields[0] == 'form' and len(fields) == 4:
                fields = fields[1:]
            if len(fields) == 3 and re.fullmatch(r'[\d.]+', fields[1]):
                measured[fields[0]].append((float(fields[1]), float(fields[2]) if re.fullmatch(r'[\d.]+', fields[2]) else None))
    return measured


def family(form):
    """An operation in all its widths and types; 512 bits are often another unit's."""
    name, _, operands = form.partition(' ')
    stem = name[1:] if name[0] == 'v' else name
    stem = re.sub(r'(?<=[a-z])[sp]([sdh])$', lambda m: '.h' if m[1] == 'h' else '.', stem)
    stem = re.sub(r'^(f\w+)(132|213|231)', r'\1', stem)
    widths = ''.join('w' if o in 'xyz' else o[0] for o in operands.split(' ')[0].split(',') if o)
    return stem, widths, re.search(r'\bz\b', operands) is not None


def parts_of(units):
    return [(u.split(':')[0], float(u.split(':')[1])) for u in units.split()] if units != '-' else []


def needed_cycles(row):
    """What the table says independent instances take (Hall's condition)."""
    sets = [(set(u.split('+')), n) for u, n in parts_of(row.units)]
    most = float(row.divider)
    for count in range(1, len(sets) + 1):
        for chosen in itertools.combinations(sets, count):
            union = set().union(*(u for u, _ in chosen))
            most = max(most, sum(n for u, n in sets if u <= union) / len(union))
    return most


def majority(values):
    """What most agree on, and how many do."""
    best = max(values, key=lambda v: sum(abs(v - w) <= CLOSE * v for w in values))
    near = sorted(w for w in values if abs(best - w) <= CLOSE * best)
    return near[len(near) // 2], len(near)


def whole(value):
    return round(value) if abs(value - round(value)) <= min(CLOSE * value, LATENCY) else round(value, 1)


def latencies(rows, measured):
    """{family: cycles}, of families whose chains agree with each other and not with the table."""
    values = collections.defaultdict(list)
    for form, figures in measured.items():
        name = form.split(' ')[0]
        if form in rows and not MEMORY.search(form) and not NO_CHAIN.match(name) and not DIVISION.match(name):
            values[family(form)] += [l for _, l in figures if l is not None and l > 0.9]
    agreed = {}
    for key, found in values.items():
        if found:
            cycles, count = majority(found)
            if count >= 2 and count * 2 > len(found):
                agreed[key] = whole(cycles)
    return agreed


def scaled(units, factor):
    return ' '.join(f'{u}:{whole(n * factor):g}' for u, n in parts_of(units))


def faster_units(row, cycles):
    """Fewer operations, or as many on one unit more: of 512 bits that is port 5."""
    (units, count), = parts_of(row.units)
    if units == 'p0':
        return row._replace(units=f'p0+p5:{count:g}')
    fewer = max(1, round(cycles * (units.count('+') + 1)))
    return row._replace(units=f'{units}:{fewer}', uops=f'{fewer}')


def throughputs(rows, measured):
    """{form: row} with other units."""
    changed = {}
    for form, figures in measured.items():
        if form not in rows or MEMORY.search(form) or 'mm' in form.split(' ')[-1]:
            continue
        row, name = rows[form], form.split(' ')[0]
        cycles, table = min(t for t, _ in figures), needed_cycles(row)
        if not table or DIVISION.fullmatch(name):  # what a division takes depends on its numbers
            continue
        if cycles < FASTER * table and len(parts_of(row.units)) == 1:
            changed[form] = faster_units(row, cycles)
        elif cycles > SLOWER * table + 0.1 and cycles < 30 and not IMPLICIT_CHAIN.match(name):
            factor = cycles / table
            changed[form] = row._replace(units=scaled(row.units, factor), uops=f'{max(int(row.uops), round(float(row.uops) * factor))}')
    return changed


def twin(form, rows):
    """The form with a register in place of memory, and without mask."""
    plain = re.sub(r' \{[kz]\}$', '', form)
    width = next((w for w in 'zyx' if re.search(rf'\b{w}\b', plain)), None)
    own = {'m128': 'x', 'm256': 'y', 'm512': 'z', 'm8': 'r8', 'm16': 'r16', 'm32': 'r32', 'm64': 'r64'}
    for kind in (lambda m: width or own.get(m[0], ''), lambda m: own.get(m[0], ''), lambda m: 'x'):
        other = re.sub(r'\bm\d+|\bb\d+', kind, plain)
        if other != form and other in rows:
            return other
    return None


def relatives(rows, changed):
    """Forms with memory or a mask do what their twin does, and load or store."""
    more = {}
    for form, row in rows.items():
        other = None if form in changed else twin(form, rows)
        if other not in changed or DIVISION.match(form.split(' ')[0]):
            continue
        before, after = rows[other].units, changed[other].units
        if before in row.units and before != '-':
            extra = int(changed[other].uops) - int(rows[other].uops)
            more[form] = row._replace(units=row.units.replace(before, after), uops=f'{max(1, int(row.uops) + extra)}')
    return more


def wide_loads(rows, changed):
    """Golden Cove loads three times 32 bytes or twice 64 in a cycle (as published); LLVM's model has three of any width."""
    for form, row in rows.items():
        row = changed.get(form, row)
        if 'm512' in form and 'L' in row.access and 'p2+p3+p11:1' in row.units.split():
            changed[form] = row._replace(units=row.units.replace('p2+p3+p11:1', 'p2+p3:1'))


def main():
    machine, paths = sys.argv[1], sys.argv[2:]
    rows = {}
    for path in (f'{machine}.tsv', f'{machine}.overlay.tsv'):
        if os.path.exists(os.path.join(FOLDER, path)):
            read_rows(os.path.join(FOLDER, path), rows)
    measured = read_measured(paths)
    changed = throughputs(rows, measured)
    changed.update(relatives(rows, changed))
    agreed = latencies(rows, measured)
    told = collections.defaultdict(set)
    for form, row in rows.items():
        told[family(form)].add(row.latency)
    for form, row in rows.items():
        cycles = agreed.get(family(form))
        name = form.split(' ')[0]
        if cycles is None or MEMORY.search(form) or ADDITION.fullmatch(name) or DIVISION.match(name) or NO_CHAIN.match(name):
            continue
        if (form in measured or len(told[family(form)]) == 1) and abs(cycles - float(row.latency)) > LATENCY:
            changed[form] = changed.get(form, row)._replace(latency=f'{cycles:g}')
    wide_loads(rows, changed)
    print(f'# Rows of {machine} that measurements on such a machine contradict, by tools/gen-machines/corrected.py.\n'
          '# form\tmicro-operations\tlatency\tdivider cycles\tloads/stores\tunits that share:count')
    for form in sorted(changed):
        if changed[form] != rows[form]:
            print('\t'.join((form, *changed[form])))


if __name__ == '__main__':
    main()
