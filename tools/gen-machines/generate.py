#!/usr/bin/env python3
"""Writes data/machines/*.tsv from llvm-mca's scheduling models. A development tool.

    cc -O2 -Isrc tools/gen-machines/enumerate.c src/machine/form.c src/base/map.c src/base/alloc.c \\
       -lZydis -o /tmp/enumerate
    /tmp/enumerate > /tmp/forms.txt
    tools/gen-machines/generate.py /tmp/forms.txt data/machines [NAME...]

Without names all of CPUS are written. Needs llvm-mc and llvm-mca of the version that LLVM below names
(Debian package llvm-19). Each form's instance is disassembled by llvm-mc, then asked of llvm-mca in
instruction-tables mode, where the use of a group of units appears evenly spread over its members; the
groups are recovered here by exact decomposition.
"""
import functools
import json
import os
import re
import subprocess
import sys

LLVM = os.environ.get('LLVM', '19')  # its version: LLVM=14 tools/gen-machines/generate.py ...
CPUS = {  # our name: LLVM's name
    'haswell': 'haswell', 'skylake': 'skylake', 'skylake-avx512': 'skylake-avx512',
    'cascadelake': 'cascadelake', 'icelake-server': 'icelake-server',
    'sapphirerapids': 'sapphirerapids', 'zen1': 'znver1', 'zen2': 'znver2', 'zen3': 'znver3', 'zen4': 'znver4',
}
WITHOUT_AVX512 = ('haswell', 'skylake', 'zen1', 'zen2', 'zen3')
CHUNK = 500
AVX512 = re.compile(r'[ ,](z|k|b16|b32|b64|vz)\b|\{[kz]\}')
TRIPLE = '-triple=x86_64'
# Units that stand for a buffer or a repetition of another unit: no bound of their own.
IGNORED = re.compile(r'Retire|BRU|Divider|FPDivider|LSU|Invalid')


def disassemble(forms):
    """AT&T text of each form, None where LLVM knows no such bytes. ud2 stands between the forms, as
    llvm-mc prints a prefix as a line of its own and nothing for what it does not know; a batch in
    which a bad form swallowed its separator is halved."""
    source = ''.join(' '.join('0x' + code[i:i + 2] for i in range(0, len(code), 2)) +
                     '\n0x0f 0x0b\n' for _, code in forms)
    result = subprocess.run(
        [f'llvm-mc-{LLVM}', '--disassemble', TRIPLE, '-mattr=+avx512f'], input=source,
        capture_output=True, text=True, check=False)
    texts, parts = [], []
    for line in result.stdout.splitlines():
        line = line.split('#')[0].strip()
        if line == 'ud2':
            texts.append(' '.join(parts) or None)
            parts = []
        elif line and not line.startswith('.'):
            parts.append(line.replace('\t', ' '))
    if len(texts) == len(forms):
        return texts
    if len(forms) == 1:
        return [None]
    half = len(forms) // 2
    return disassemble(forms[:half]) + disassemble(forms[half:])


@functools.cache
def skipping():
    """The option that leaves out what a core lacks; before LLVM 19 there is none."""
    option = '-skip-unsupported-instructions'
    text = subprocess.run([f'llvm-mca-{LLVM}', '--help'], capture_output=True, text=True, check=False).stdout
    return [option + '=any'] if option in text else []


def ask_all(cpu, batch):
    """Rows of a batch and the names of units. One in which llvm-mca finds an instruction that the core lacks
    gives nothing at all and is halved."""
    rows, units = ask(cpu, batch)
    if rows is not None or len(batch) == 1:
        return rows or {}, units
    half = len(batch) // 2
    first, first_units = ask_all(cpu, batch[:half])
    second, second_units = ask_all(cpu, batch[half:])
    return {**first, **second}, first_units or second_units


def ask(cpu, batch):
    source = ''.join(f'# LLVM-MCA-BEGIN {i}\n{text}\n# LLVM-MCA-END {i}\n' for i, text in batch)
    result = subprocess.run(
        [f'llvm-mca-{LLVM}', '-mtriple=x86_64', f'-mcpu={cpu}', '-json', '-instruction-info',
         '-resource-pressure', '-instruction-tables', *skipping()],
        input=source, capture_output=True, text=True, check=False)
    start = result.stdout.find('{')
    if start < 0:
        return None, None
    document = json.loads(result.stdout[start:], strict=False)
    rows = {}
    for region in document['CodeRegions']:
        infos = region['InstructionInfoView']['InstructionList']
        if len(infos) != 1:
            continue
        use = {r['ResourceIndex']: r['ResourceUsage']
               for r in region['ResourcePressureView']['ResourcePressureInfo']
               if r['InstructionIndex'] == 0}
        rows[int(region['Name'])] = (infos[0], use)
    # A repeated unit is named with its number as one raw byte: 'Zn4Load.\\1'.
    units = [re.sub(r'\.(.)$', lambda m: str(ord(m[1])), u, flags=re.S)
             for u in document['TargetInfo']['Resources']]
    return rows, [u.replace('FP45', 'FPLD') for u in units]


def decompose(use, groups):
    """Splits per-unit use into {group: count}; groups are tuples of units, wide ones first."""
    left = dict(use)
    out = {}
    eps = 1e-6

    def search(left, start, budget):
        live = {u: v for u, v in left.items() if v > 1e-4}
        if not live:
            return []
        if budget == 0:
            return None
        unit = min(live)
        for group in groups:
            if unit not in group:
                continue
            share = 1.0 / len(group)
            if all(live.get(u, 0) >= share - 1e-4 for u in group):
                rest = dict(live)
                for u in group:
                    rest[u] -= share
                found = search(rest, 0, budget - 1)
                if found is not None:
                    return [group] + found
        return None

    total = sum(left.values())
    if total <= 12 + eps and abs(total - round(total)) < 1e-3:
        found = search(left, 0, int(round(total)))
        if found is not None:
            for group in found:
                out[group] = out.get(group, 0) + 1
            return out
    # Levels: the units with the same use form one group.
    for value in sorted(set(round(v, 4) for v in left.values())):
        members = tuple(sorted(u for u, v in left.items() if round(v, 4) == value))
        if value > 1e-4:
            out[members] = out.get(members, 0) + round(value * len(members), 4)
    return out


def family(name):
    """Units that can stand in for each other share the name up to the trailing number."""
    return re.sub(r'[\d.]+$', '', name)


def short_unit(name):
    name = re.sub(r'^(HW|SKL|SKX|ICX|SPR|Zn\d?)', '', name)
    return re.sub(r'port0?(?=\d)', 'p', name.lower())


# Groups that never occur alone in an instruction: address and data of stores.
STORE_GROUPS = {'HW': ['237', '4'], 'SKL': ['237', '4'], 'SKX': ['237', '4'], 'ICX': ['78', '49']}


def candidate_groups(samples, resources, keep):
    """Groups that occur alone in some instruction: n units with equal use 1/n each."""
    groups = set()
    prefix = re.match(r'(HW|SKL|SKX|ICX|SPR|)', resources[0])[1]
    for digits in STORE_GROUPS.get(prefix, []):
        groups.add(tuple(sorted(keep.index(resources.index(f'{prefix}Port{d}')) for d in digits)))
    if prefix == 'SPR':
        for pair in (('07', '08'), ('04', '09')):
            groups.add(tuple(sorted(keep.index(resources.index(f'SPRPort{d}')) for d in pair)))
    for use in samples:
        values = [v for v in use.values() if v > 1e-4]
        if values and max(values) - min(values) < 1e-4 and abs(sum(values) - 1) < 1e-3:
            groups.add(tuple(sorted(u for u, v in use.items() if v > 1e-4)))
        for u in use:
            groups.add((u,))
    return sorted(groups, key=lambda g: (-len(g), g))


def write(name, cpu, forms, texts, folder):
    rows, resources = {}, None
    todo = [(i, t) for i, t in enumerate(texts)
            if t and not (name in WITHOUT_AVX512 and AVX512.search(forms[i][0]))]
    for at in range(0, len(todo), CHUNK):
        got, units = ask_all(cpu, todo[at:at + CHUNK])
        rows.update(got)
        resources = units or resources
    if not resources:
        sys.exit(f'{name}: llvm-mca-{LLVM} answers nothing for {cpu}')
    names = [short_unit(r) for r in resources]
    keep = [i for i, r in enumerate(resources) if not IGNORED.search(r)]
    dividers = {i for i, r in enumerate(resources) if 'ivider' in r}
    position = {unit: n for n, unit in enumerate(keep)}
    by_family = {}
    for unit in keep:
        by_family.setdefault(family(resources[unit]), []).append(unit)
    parted = []
    for info, use in rows.values():
        for members in by_family.values():
            part = {position[u]: use[u] for u in members if use.get(u, 0) > 1e-4}
            if part:
                parted.append(part)
    groups = candidate_groups(parted, resources, keep)
    version = subprocess.run([f'llvm-mca-{LLVM}', '--version'], capture_output=True, text=True,
                             check=False).stdout
    version = re.search(r'LLVM version (\S+)', version).group(1)
    lines, unmasked = [], {}
    for i, (info, use) in sorted(rows.items(), key=lambda kv: forms[kv[0]][0]):
        sets = {}
        for members in by_family.values():
            part = {position[u]: use[u] for u in members if use.get(u, 0) > 1e-4}
            for group, n in decompose(part, groups).items():
                sets[group] = sets.get(group, 0) + n
        divider = max([use[u] for u in dividers if u in use], default=0)
        ports = ' '.join(f'{"+".join(names[keep[u]] for u in group)}:{n:g}'
                         for group, n in sorted(sets.items()))
        flags = ('L' if info['mayLoad'] else '') + ('S' if info['mayStore'] else '')
        row = (f'{info["NumMicroOpcodes"]}\t{info["Latency"]}\t{divider:g}\t{flags or "-"}\t'
               f'{ports or "-"}\n')
        # A masked form stands in the file only where it differs from the unmasked one.
        plain = re.sub(r' \{[kz]\}$', '', forms[i][0])
        if plain == forms[i][0]:
            unmasked[plain] = row
        elif unmasked.get(plain) == row:
            continue
        lines.append(f'{forms[i][0]}\t{row}')
    with open(f'{folder}/{name}.tsv', 'w') as out:
        out.write(f'# Instruction data of {name}, derived from the scheduling model "{cpu}" of LLVM '
                  f'{version}\n# (licence of LLVM: Apache-2.0 WITH LLVM-exception) by '
                  'tools/gen-machines/generate.py:\n'
                  f'# llvm-mca-{LLVM} -mtriple=x86_64 -mcpu={cpu} -json -instruction-info '
                  '-resource-pressure\n#   ' + ' '.join(['-instruction-tables', *skipping()]) + '\n'
                  '# form\tmicro-operations before fusion\tlatency with load\tdivider cycles\t'
                  'loads/stores\tunits that share:count\n')
        out.write('!units\t' + ' '.join(names[u] for u in keep) + '\n')
        out.writelines(lines)
    print(f'{name}: {len(lines)} of {len(forms)} forms')


def main():
    forms = [tuple(line.rstrip('\n').split('\t')) for line in open(sys.argv[1])]
    texts = disassemble(forms)
    for name, cpu in CPUS.items():
        if len(sys.argv) > 3 and name not in sys.argv[3:]:
            continue
        write(name, cpu, forms, texts, sys.argv[2])


if __name__ == '__main__':
    main()
