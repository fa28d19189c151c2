#!/usr/bin/env python3
"""Prints the rows of data/machines/zen5.overlay.tsv that follow from patterns rather than from one form:

    tools/gen-machines/zen5_corrections.py data/machines/zen5.tsv >> data/machines/zen5.overlay.tsv

The automatic measurement (measured.py) chains a form to itself. That gives no latency where source and
target are of different classes (mask, general and vector registers), a false one where two equal registers
make a zero idiom, and false units where the chain, not the units, limited the throughput. These rows come
from chains of two forms (bench/cqa/chains.py has them), and from throughput of independent instances.
"""
import re
import sys

ALU = 'alu0+alu1+alu2+alu3+alu4+alu5'
FP = 'fp0+fp1+fp2+fp3'
COMPARE_CYCLES = {'x': 3, 'y': 4, 'z': 5}


def width_of(operands):
    return next((w for w in 'zyx' if w in operands), None)


def load_cycles(form):
    return 7 if re.search(r'\bm\d|b\d', form) else 0


def corrected(form, uops, latency, divider, access, units):
    name, _, rest = form.partition(' ')
    rest, _, mask = rest.partition(' ')
    operands = rest.split(',')
    load = load_cycles(form)
    # a register with itself is zero: measured as no dependence
    if (operands in (['x', 'x'], ['mm', 'mm']) and latency == '1' and access == '-' and
            re.fullmatch(r'p?(xor|andn)(ps|pd)?|psub[bwdq]|pcmp(eq|gt)[bwdq]', name)):
        return uops, '2', divider, access, units if '0.34' not in units else f'{FP}:1'
    if operands[0] == 'k' and width_of(operands[1:]) and re.match(r'v?p?(cmp|test|fpclass)', name):
        return uops, str(COMPARE_CYCLES[width_of(operands[1:])] + load), divider, access, units.replace(f' {FP}:2.7', '')
    if re.fullmatch(r'vpmov[bwdq]2m', name):
        return uops, str(COMPARE_CYCLES[operands[1]]), divider, access, 'fp1+fp2:1'
    if re.fullmatch(r'vpmovm2[bwdq]', name):
        return uops, '3' if operands[0] == 'z' else '2', divider, access, f'{FP}:1'
    if re.fullmatch('kmov[bwdq]', name) and operands in (['k', 'r32'], ['k', 'r64']):
        return '2', '4', divider, access, 'fp1+fp2:2'
    if re.fullmatch('kmov[bwdq]', name) and operands in (['r32', 'k'], ['r64', 'k']):
        return uops, '4', divider, access, units
    if re.fullmatch('k(or)?test[bwdq]', name):
        return uops, '6', divider, access, 'fp2+fp3:1'
    if re.fullmatch('v?mov[dq]', name) and operands[0] in ('r32', 'r64') and operands[1] in ('x', 'mm'):
        return uops, '5', divider, access, 'fp1+fp2:1'
    if re.fullmatch('v?mov[dq]', name) and operands[1] in ('r32', 'r64') and operands[0] == 'mm':
        return '1', '4', divider, access, 'fp1+fp2:2'
    if re.fullmatch('v?(pextr[bwdq]|extractps)', name) and operands[0] in ('r32', 'r64'):
        return uops, '7', divider, access, 'fp1+fp2:1'
    if re.fullmatch('v?p?movmsk(ps|pd|b)|v?pmovmskb', name):
        return uops, '5', divider, access, units
    if re.fullmatch('v?(pinsr[bwdq])', name):
        if load:
            return uops, '9', divider, access, f'vload0+vload1:1 fp1+fp2:1'
        return uops, '4', divider, access, 'fp1+fp2:2'
    if re.fullmatch('v?u?comis[sd]', name):
        return uops, str(6 + load), divider, access, units
    if re.fullmatch('v?cvtsi2s[sd]', name):
        return uops, str(8 + load), divider, access, units.replace('fp2+fp3:2', 'fp2+fp3:1') if load else units
    if re.fullmatch('v?cvtt?s[sd]2si', name) and operands[1] == 'x':
        return uops, '8', divider, access, 'fp2+fp3:1'
    if name in ('vmovaps', 'vmovups', 'vmovapd', 'vmovupd', 'vmovdqa32', 'vmovdqa64', 'vmovdqu8', 'vmovdqu16', 'vmovdqu32',
                'vmovdqu64') and operands in (['x', 'x'], ['y', 'y'], ['z', 'z']) and not mask:
        return None  # its masked forms follow
    if re.fullmatch(r'adc|sbb|adcx|adox', name) and re.search(r'alu5:(5\.[5-9]|6)', units):
        return uops, latency, divider, access, f'{ALU}:1 load0+load1+load2+load3:1'
    if re.fullmatch(r'cdqe|cwde|cbw', name):
        return uops, latency, divider, access, f'{ALU}:1'
    if re.fullmatch(r'f(ild|com|comp)', name):
        return uops, latency, divider, access, units.replace(f' {FP}:3.9', f' fp2+fp3:1' if name == 'fild' else '')
    if re.fullmatch(r'fst|fstp|fist|fistp|fisttp', name) and access == 'S':
        if operands[0] == 'm80':
            return '7', '1', divider, access, f'store0+store1:2 {FP}:30'
        return uops, latency, divider, access, 'store0+store1:1 fp1:1'
    if name == 'vextractf128' and operands[0] == 'x':
        return uops, '3', divider, access, units
    return False


def main():
    print('# Patterns of forms, by tools/gen-machines/zen5_corrections.py.')
    for line in open(sys.argv[1]):
        if line[0] in '#!\n':
            continue
        form, *fields = line.rstrip('\n').split('\t')
        got = corrected(form, *fields)
        if got and list(got) != fields:
            print('\t'.join((form, *got)))
    for name in ('aps', 'ups', 'apd', 'upd', 'dqa32', 'dqa64', 'dqu8', 'dqu16', 'dqu32', 'dqu64'):
        for width in 'xyz':
            for mask in ('{k}', '{z}'):
                print(f'vmov{name} {width},{width} {mask}\t1\t2\t0\t-\t{FP}:1')


if __name__ == '__main__':
    main()
