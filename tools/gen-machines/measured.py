#!/usr/bin/env python3
"""Writes data/machines/zen5.tsv: LLVM 19 has no model of Zen 5, so its forms are measured.

    sonde calibrate --forms "" > measured.tsv          (on a Zen 5 machine)
    tools/gen-machines/measured.py SONDE forms.txt data/machines/zen4.tsv measured.tsv OUT.tsv

Throughput and latency come from the measurement; which of the four vector pipes a form may use from
how it shares them with vaddpd (pipes 2, 3), vmulpd (0, 1) and vpermd (1, 2), measured here; forms that
cannot be measured keep what LLVM says of Zen 4, with the units renamed.
"""
import json
import re
import subprocess
import sys
import tempfile

UNITS = ('alu0 alu1 alu2 alu3 alu4 alu5 fp0 fp1 fp2 fp3 load0 load1 load2 load3 vload0 vload1 '
         'store0 store1')
ANY_ALU = 'alu0+alu1+alu2+alu3+alu4+alu5'
# Six units, but the scheduler keeps little more than five busy with independent additions.
ALU_SCALE = 1.15
BLOCKERS = {  # ymmN <- ymm15, ymm14 with N = 4..11, after the form's own instance
    '23': lambda n: [0xc4, 0x41 if n > 7 else 0xc1, 0x05, 0x58, 0xc6 | (n & 7) << 3],
    '01': lambda n: [0xc4, 0x41 if n > 7 else 0xc1, 0x05, 0x59, 0xc6 | (n & 7) << 3],
    '12': lambda n: [0xc4, 0x42 if n > 7 else 0xc2, 0x05, 0x36, 0xc6 | (n & 7) << 3],
}


def loop(body):
    body += bytes.fromhex('49ffcf')
    return body + b'\x0f\x85' + (-(len(body) + 6)).to_bytes(4, 'little', signed=True)


def pipes(sonde, instances, measured):
    """form -> pipes, for vector forms of which two run in a cycle and that do not read their target."""
    chosen = [f for f, (t, _) in measured.items()
              if .4 < t < .6 and f.startswith('v') and f in instances and
              not re.search(r'm\d|\{|,k|vx|vy|vz| k|r32|r64|b32', f) and
              not re.match('vfm|vfn|vpdp|vpmadd52|vpermi|vpermt|vpternlog', f)]
    blocks = [loop(b''.join(instances[f] + bytes(blocker(n)) for n in range(4, 12)))
              for f in chosen for blocker in BLOCKERS.values()]
    with tempfile.NamedTemporaryFile('w', suffix='.hex') as file:
        file.write('\n'.join(b.hex() for b in blocks) + '\n')
        file.flush()
        out = subprocess.run([sonde, 'calibrate', '--blocks', file.name, '--passes', '3'],
                             capture_output=True, text=True, check=True).stdout.splitlines()
    cycles = [json.loads(l)['cycles'] for l in out]
    result = {}
    for i, form in enumerate(chosen):
        with_23, with_01, with_12 = cycles[3 * i:3 * i + 3]
        if None in (with_23, with_01, with_12):
            continue
        # 16 operations on the same two pipes take 8 cycles, on disjoint pairs 4, with one in common 5.4
        if with_23 > 7 and with_23 < 9 and with_01 < 6.2:
            result[form] = 'fp2+fp3'
        elif with_01 > 7 and with_01 < 9 and with_23 < 6.2:
            result[form] = 'fp0+fp1'
        elif with_12 > 7 and with_12 < 9:
            result[form] = 'fp1+fp2'
        elif with_12 < 4.6:
            result[form] = 'fp0+fp3'
    return result


def alu_units(form, throughput):
    name = form.split(' ')[0]
    if throughput <= .27:
        return ANY_ALU, ALU_SCALE
    if name.startswith(('imul', 'mul', 'pdep', 'pext', 'crc32')):
        return 'alu0+alu1+alu2', 3 * throughput
    if throughput < .4:
        return 'alu2+alu3+alu4', 1
    if name.startswith('j'):
        return 'alu3+alu4+alu5', 1
    return ANY_ALU, throughput * 6


def rounded(value):
    near = round(value * 2) / 2
    return near if abs(value - near) < .12 * max(1, near / 8) else round(value, 2)


def translate(sets):
    """Zen 4's units under our names; address units are no bound of their own here."""
    out = []
    for item in sets.split():
        units, count = item.split(':')
        if units.startswith(('agu', 'fpld', 'fpst', 'load', 'store')):
            continue
        if units == 'alu0+alu1+alu2+alu3':
            units = ANY_ALU
        out.append((units, float(count)))
    return out


def main():
    sonde, forms, base, tsv, out = sys.argv[1:6]
    instances = {f: bytes.fromhex(h) for f, h in (l.rstrip('\n').split('\t') for l in open(forms))}
    measured = {}
    for line in list(open(tsv))[1:]:
        form, throughput, latency = line.rstrip('\n').split('\t')
        measured[form] = (float(throughput), float(latency) if latency else None)
    found = pipes(sonde, instances, measured)
    base_rows = {}
    for line in open(base):
        if line[0] not in '#!':
            fields = line.rstrip('\n').split('\t')
            base_rows[fields[0]] = fields[1:]
    own = {}  # sets of forms without memory

    def compute(form):
        uops, latency, divider, flags, sets = base_rows[form]
        parts = translate('' if sets == '-' else sets)
        latency, divider, uops = float(latency), float(divider), int(uops)
        throughput, measured_latency = measured.get(form, (None, None))
        if uops > 1 and re.search(r'[ ,]z\b', form):  # Zen 4 halves these, Zen 5 does not
            narrow = base_rows.get(re.sub(r'\bz\b', 'y', form).replace('m512', 'm256').split(' {')[0])
            uops = min(uops, int(narrow[0])) if narrow else uops
        if latency >= 100 and throughput is not None:  # LLVM's word for not known
            latency, uops = rounded(throughput), min(uops, max(1, round(throughput * 4)))
            measured_latency = None
            parts = []
        if measured_latency is not None and measured_latency > .8:
            latency = rounded(measured_latency)
            # two cycles to another addition, three to all else: a rule of the model
            if re.match(r'v?(add|sub)(ss|sd|ps|pd)$', form.split(' ')[0]):
                latency = 3
        if throughput is not None:
            name = form.split(' ')[0]
            is_alu = parts and parts[0][0].startswith('alu')
            if re.search('div|sqrt', name) and throughput > 1.5:
                divider, parts = rounded(throughput), []
            elif is_alu and all(p[0].startswith('alu') for p in parts):
                units, count = alu_units(form, throughput)
                # a chain through flags or an implicit register is no work for a unit
                if measured_latency is not None and throughput > .9 * measured_latency and uops == 1:
                    count = min(count, 1.15 if units == ANY_ALU else 1)
                parts = [(units, round(count, 3))]
            elif parts and all(p[0].startswith('fp') for p in parts) or form in found:
                units = found.get(form) or max(parts, key=lambda p: p[1])[0]
                if form not in found and throughput < .3:
                    units = 'fp0+fp1+fp2+fp3'
                elif form not in found and .4 < throughput < .6 and units == 'fp0+fp1+fp2+fp3':
                    units = 'fp1+fp2'
                count = round(throughput * (units.count('+') + 1), 2)
                if re.search(r'\bst\b', form):  # the x87 stack's top chains
                    count = 1
                if abs(count - round(count)) < .15 and count > .5:
                    count = round(count)
                parts = [(units, count)]
        return uops, latency, divider, flags, parts

    for form in base_rows:
        if not re.search(r'[ ,](m|m8|m16|m32|m64|m80|m128|m256|m512|v[xyz])\b', form):
            own[form] = compute(form)
    register_of = {'m8': ['r8'], 'm16': ['r16', 'x', 'k'], 'm32': ['r32', 'x', 'st'],
                   'm64': ['r64', 'x', 'st'], 'm128': ['x'], 'm256': ['y'], 'm512': ['z']}

    def twin(form):
        match = re.search(r'([ ,])(m\d+)\b', form)
        if not match:
            return None
        for kind in register_of.get(match[2], []):
            other = form[:match.start(2)] + kind + form[match.end(2):]
            if other in own:
                return own[other]
        return None

    lines = []
    for form in base_rows:
        if form in own:
            uops, latency, divider, flags, parts = own[form]
        else:
            uops, latency, divider, flags, parts = compute(form)
            is_vector = re.search(r'[ ,](x|y|z|mm|k|st)\b|^f|m128|m256|m512', form)
            loads = 'L' in flags
            stores = 'S' in flags
            plain = re.match(r'v?(mov|lddqu|broadcast|fld |fst|pbroadcast)', form)
            same = twin(form)
            if same and not (plain and (loads != stores)):
                parts, divider = list(same[4]), same[2]
                uops = same[0]
            elif plain and not loads == stores:
                parts = [] if loads else [p for p in parts if not p[0].startswith('alu')]
                uops = 1
            if loads:
                parts = parts + [('vload0+vload1' if is_vector else 'load0+load1+load2+load3', 1)]
            if stores:
                parts = parts + [('store0+store1', 2 if re.search('m512|,z', form) else 1)]
            throughput = measured.get(form, (0,))[0]
            implied = max([c / (u.count('+') + 1) for u, c in parts], default=0)
            if loads and not stores and throughput < 30 and \
                    throughput > 1.3 * max(implied, divider) and throughput > .6:
                count = round(throughput * (4 if is_vector else 6), 1)
                parts = parts + [('fp0+fp1+fp2+fp3' if is_vector else ANY_ALU, count)]
        sets = ' '.join(f'{u}:{c:g}' for u, c in parts)
        lines.append(f'{form}\t{uops}\t{latency:g}\t{divider:g}\t{flags}\t{sets or "-"}\n')
    with open(out, 'w') as file:
        file.write('# Instruction data of Zen 5 (family 1Ah): throughput, latency and pipes measured with\n'
                   '# sonde calibrate by tools/gen-machines/measured.py; what could not be measured is taken\n'
                   '# from zen4.tsv (scheduling model "znver4" of LLVM 19.1.7, licence Apache-2.0 WITH\n'
                   '# LLVM-exception).\n'
                   '# form\tmacro-operations\tlatency\tdivider cycles\tloads/stores\tunits that share:count\n')
        file.write('!units\t' + UNITS + '\n')
        file.writelines(lines)
    print(f'{len(lines)} forms, {len(measured)} measured, pipes of {len(found)} found')


if __name__ == '__main__':
    main()
