"""sonde structure against truth known by construction, objdump and addr2line.

    structure.py          a sample that every change must pass
    structure.py --long   more binaries and addresses
"""
import bisect
import json
import os
import random
import re
import sys

from sonde_test import PROGRAMS, Test

t = Test()
LONG = '--long' in sys.argv


def structure(binary, *words, **more):
    run = t.run('structure', binary, '--format', 'jsonl', *words, timeout=600, **more)
    if run.returncode:
        raise RuntimeError(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


# ---- loops of compiled kernels ----

def marked_loops(source):
    """(function, first line, last line, depth, innermost) of each marked loop, nesting by a stack."""
    loops, opened = [], []
    with open(os.path.join(PROGRAMS, source)) as lines:
        for number, line in enumerate(lines, 1):
            mark = re.search(r'(?:/\*|!) loop (\w+) (\d)( innermost)?', line)
            if mark:
                opened.append((mark[1], number, int(mark[2]), bool(mark[3])))
            if re.search(r'(?:/\*|!) end', line):
                for _ in range(line.count(' end') if '!' in line else 1):
                    name, first, depth, innermost = opened.pop()
                    loops.append((name, first, number, depth, innermost))
    assert not opened
    return loops


def loop_faults(found, wanted, exact, slack=1, is_first_exact=True):
    """What differs. `exact`: depths and last lines too. `slack`: lines that may follow the last one (a brace, end do).
    Not `is_first_exact`: the compiler keeps no line of the loop's head, so that any line inside will do."""
    faults = []
    by_place = {}
    for row in found:
        name = row['function'].split('::')[-1]
        by_place.setdefault((name, row['line_first']), []).append(row)
    for name, first, last, depth, innermost in wanted:
        places = [(name, first)] if is_first_exact else [p for p in by_place if p[0] == name and first - 1 <= p[1] <= last]
        rows = [r for p in places for r in by_place.pop(p, []) if is_first_exact or r['innermost'] == innermost or
                by_place.setdefault(p, []).append(r)]
        mains = [r for r in rows if r['role'] == 'main']
        if len(mains) != 1:
            faults.append(f'{name}:{first}: {len(mains)} main loops of {[(r["role"], r["label"]) for r in rows]}')
            continue
        main = mains[0]
        if main['innermost'] != innermost:
            faults.append(f'{name}:{first}: innermost is {main["innermost"]}')
        if main['irreducible']:
            faults.append(f'{name}:{first}: irreducible')
        if exact and main['depth'] != depth:
            faults.append(f'{name}:{first}: depth {main["depth"]}, not {depth}')
        if not first <= main['line_last'] <= last + slack or (exact and main['line_last'] < last - 2):
            faults.append(f'{name}:{first}: to {main["line_last"]}, not {last}')
        if any(r['group'] != main['loop'] for r in rows):
            faults.append(f'{name}:{first}: parts in other groups')
    for (name, first), rows in by_place.items():
        if rows and any(name == w[0] for w in wanted):
            faults.append(f'{name}:{first}: a loop that is not in the source: {rows[0]["label"]}')
    return faults


def check_kernels():
    wanted_c, wanted_f = marked_loops('loops.c'), marked_loops('loops.f90')
    for compiler in ('gcc', 'clang', 'gfortran'):
        if not t.has(compiler):
            t.skip(f'loops as {compiler} compiles them', f'no {compiler}')
            continue
        source, wanted = ('loops.f90', wanted_f) if compiler == 'gfortran' else ('loops.c', wanted_c)
        options = ['-O0', '-O1', '-O2', '-O3', '-O3 -mavx2 -mfma', '-O2 -funroll-loops', '-Os']
        for option in options:
            app = t.compile(source, '-g', *option.split(), compiler=compiler)
            is_fortran = compiler == 'gfortran'
            faults = loop_faults(structure(app), wanted, option in ('-O0', '-O1'), 2 if is_fortran else 1,
                                 not (is_fortran and '-O3' in option))
            t.check(not faults, f'{compiler} {option}: every loop is found once, on its lines', *faults)


def check_parts():
    """Vectorized and unrolled loops are one source loop with parts whose work is known."""
    app = t.compile('loops.c', '-g', '-O3', '-mavx2', '-mfma', compiler='clang', output='./parts')
    rows = [r for r in structure(app) if r['function'] == 'axpy']
    main = [r for r in rows if r['role'] == 'main']
    tails = [r for r in rows if r['role'] == 'tail']
    t.check(len(main) == 1 and main[0]['vector_bytes'] == 32 and main[0]['unroll_count'] == 16,
            'clang: four vectors of four doubles a pass', rows)
    t.check(len(tails) == 1 and tails[0]['vector_bytes'] == 0 and tails[0]['unroll_count'] == 1,
            'clang: a scalar tail', rows)
    app = t.compile('loops.c', '-g', '-O3', '-mavx2', '-mfma', output='./parts')
    rows = [r for r in structure(app) if r['function'] == 'may_alias']
    main = [r for r in rows if r['role'] == 'main']
    t.check(len(main) == 1 and main[0]['vector_bytes'] == 32 and main[0]['unroll_count'] == 8,
            'gcc: one vector of eight floats a pass', rows)
    t.check(all(r['role'] in ('main', 'tail', 'version') for r in rows) and len(rows) >= 2,
            'gcc: and a scalar loop for overlapping arrays', rows)


def check_profile_split():
    app = t.compile('loops.c', '-g', '-O2', '-fprofile-generate', output='./split')
    t.command(app, 'x', 'y')
    app = t.compile('loops.c', '-g', '-O2', '-fprofile-use', '-Wno-missing-profile', output='./split')
    functions = {r['function']: r for r in structure(app, '-l', 'functions')}
    split = [n for n, r in functions.items() if r['range_count'] > 1]
    cold = [n for n in functions if '.cold' in n]
    t.check(not cold, 'parts split off by the profile are joined to their functions', cold)
    faults = loop_faults(structure(app), [w for w in marked_loops('loops.c')], False)
    # what never ran may be optimized away or folded; what is there must be right
    faults = [f for f in faults if '0 main loops' not in f]
    t.check(not faults, f'profile-guided: loops on their lines ({len(split)} functions in parts)', *faults)


# ---- control flow by hand ----

def check_assembly():
    app = t.compile('loops.s', '-nostartfiles', '-no-pie', '-Wl,-e,main', '-g0', output='./asm')
    loops = {}
    for row in structure(app):
        loops.setdefault(row['function'], []).append(row)
    blocks = {}
    for row in structure(app, '-l', 'blocks'):
        blocks.setdefault(row['function'], []).append(row)
    count = {n: len(r) for n, r in loops.items()}
    t.equal(count, {'self_loop': 1, 'nested': 3, 'two_latches': 1, 'irreducible': 1, 'overlapping': 1,
                    'table_in_text': 1, 'scattered': 1, 'unbounded': 1}, 'each function has its loops and no other')
    t.equal([r['depth'] for r in loops['nested']], [1, 2, 3], 'depths of a nest')
    t.equal([r['instruction_count'] for r in loops['nested']], [11, 7, 3], 'bodies hold what is nested')
    t.equal([n for n, r in loops.items() if r[0]['irreducible']], ['irreducible', 'unbounded'],
            'only what is entered in several places is irreducible')
    t.equal(loops['overlapping'][0]['instruction_count'], 6, 'both decodings of overlapping bytes are in the loop')
    t.equal(loops['table_in_text'][0]['block_count'], 5, 'a loop through every case of a table in the code')
    t.check(not any(r['speculative'] for r in blocks['table_in_text']), 'the table is not taken for code',
            blocks['table_in_text'])
    t.equal([r['ends'] for r in blocks['stops']].count('stop'), 1, 'a call of a function that ends in ud2 does not return')
    t.equal(loops['scattered'][0]['range_count'], 2, 'a body in two sections')
    t.equal(blocks['unbounded'][0]['ends'], 'jump table', 'a table without a bound')
    t.check(all(r['loop'].startswith('h') for rows in loops.values() for r in rows) or
            all(re.fullmatch('[0-9a-f]+:[0-9a-f]+:-?[0-9a-f]+', r['loop']) for rows in loops.values() for r in rows),
            'loop ids')


def check_size():
    """Functions of very many blocks and nests of very many loops take no time to speak of."""
    text = ['.text', '.globl main', 'million:'] + ['dec %eax', 'jnz 1f', 'nop', '1:'] * 100000 + ['jmp million', 'deep:']
    text += [f'.L{i}: inc %eax' for i in range(10000)] + [f'dec %ecx\njnz .L{i}' for i in reversed(range(10000))] + ['ret']
    text += ['irreducible: dec %eax', 'jz 2f'] + ['dec %eax', '1: jz irreducible', 'dec %ecx', 'js 2f'] * 50000
    text += ['2: dec %edx', 'jnz 1b', 'dec %ebx', 'jnz irreducible', 'main: ret', '.section .note.GNU-stack, "", @progbits']
    with open('size.s', 'w') as out:
        out.write('\n'.join(text) + '\n')
    app = t.compile('./size.s', '-nostartfiles', '-Wl,-e,main', output='./size')
    cpu = os.times().children_user
    rows = structure(app, '-c', 'function,depth,block_count,innermost')
    cpu = os.times().children_user - cpu
    t.check(cpu < 10, f'a function of 200,000 blocks, a nest of 10,000 loops, 50,000 entries: {cpu:.2f} s', cpu)
    deepest = max(r['depth'] for r in rows if r['function'] == 'deep')
    t.equal(deepest, 128, 'deeper nests are folded')
    t.check([r['block_count'] for r in rows if r['function'] == 'million'] == [200001], 'every block is there', rows[:3])


# ---- against objdump ----

def objdump(binary):
    run = t.command('objdump', '-d', '--no-show-raw-insn', binary, timeout=600)
    return {int(m[1], 16): m[2] for m in re.finditer(r'^ *([0-9a-f]+):\t(.*)$', run.stdout, re.M)}


def check_objdump(binary, share):
    """Each block begins and ends where objdump's instructions do and has as many; overlapping code is the
    exception, which objdump cannot show: it is counted and must be rare."""
    text = objdump(binary)
    starts = sorted(text)
    blocks = structure(binary, '-l', 'blocks')
    bad, overlapping, instructions, guesses = [], 0, 0, 0
    known = set(starts)
    begins = {b['link_addr'] for b in blocks}
    for b in blocks:
        first, end = b['link_addr'], b['link_addr'] + b['size_bytes']
        shown = bisect.bisect_left(starts, end) - bisect.bisect_left(starts, first)
        instructions += b['instruction_count']
        if first in known and shown == b['instruction_count']:
            continue
        before = starts[bisect.bisect_left(starts, first) - 1]
        if first not in known and text[before].startswith('lock') and first == before + 1:
            overlapping += 1
        elif b['speculative']:
            guesses += 1  # bytes that nothing leads to: data in the text, mostly
        else:
            bad.append(f'{first:#x}: {b["instruction_count"]} instructions, objdump {shown}')
    name = os.path.basename(os.path.realpath(binary))
    t.check(len(bad) <= 1e-5 * instructions, f'{name}: {instructions} instructions as objdump has them', *bad[:20])
    t.check(instructions >= share * len(starts), f'{name}: {instructions / max(len(starts), 1):.1%} of its '
            'instructions are in blocks (the rest is padding)')
    t.check(overlapping <= 200 and guesses <= 1e-2 * len(blocks), f'{name}: {overlapping} blocks in overlapping code, '
            f'{guesses} in data that look like code')
    return instructions


# ---- against addr2line ----

def check_lines(binary, debug, count):
    random.seed(7)
    blocks = structure(binary, '-l', 'blocks')
    addrs = sorted({b['link_addr'] + random.randrange(b['size_bytes']) for b in random.sample(blocks, min(count, len(blocks)))})
    text = ''.join(f'{a:x}\n' for a in addrs)
    ours = {}
    for row in structure(binary, '--addresses', '-', stdin=None, input=text):
        ours.setdefault(row['link_addr'], []).append(row)
    out = t.command('addr2line', '-a', '-i', '-f', '-e', debug, stdin=None, input=text, timeout=300).stdout.splitlines()
    theirs, at = {}, 0
    while at < len(out):
        if out[at].startswith('0x'):
            rows = theirs.setdefault(int(out[at], 16), [])
            at += 1
            continue
        place = re.sub(r' \(discriminator \d+\)', '', out[at + 1])
        rows.append(place.rpartition(':')[2].replace('?', '0'))
        at += 2
    bad, compared, inlined, names = [], 0, 0, 0
    for addr in addrs:
        mine = [str(r.get('line') or 0) for r in ours[addr]]
        if theirs[addr] == ['0']:
            continue
        compared += 1
        inlined += len(mine) > 1
        if mine != theirs[addr]:
            bad.append(f'{addr:#x}: {ours[addr]} / {theirs[addr]}')
    name = os.path.basename(os.path.realpath(binary))
    t.check(not bad and compared > count // 3, f'{name}: lines and calls of {compared} addresses ({inlined} in inlined '
            'code) as addr2line -i has them', *bad[:10])


def debug_file(binary):
    notes = t.command('readelf', '-n', binary).stdout
    match = re.search(r'Build ID: ([0-9a-f]+)', notes)
    path = match and f'/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug'
    return path if path and os.path.exists(path) else None


# ---- files of every kind ----

def functions_of(binary, *words):
    return {r['function']: r for r in structure(binary, '-l', 'functions', *words)}


def check_debug_files():
    """Symbols and lines come back from wherever they were put."""
    whole = t.compile('loops.c', '-g', '-O2', '-Wl,--build-id', output='./whole')
    want = functions_of(whole)['axpy']
    build_id = re.search('Build ID: ([0-9a-f]+)', t.command('readelf', '-n', whole).stdout)[1]

    def same(row):
        return row and (row['link_addr'], row['file'], row['line']) == (want['link_addr'], want['file'], want['line'])

    t.command('objcopy', '--only-keep-debug', whole, 'whole.debug')
    t.command('strip', whole, '-o', './bare')
    bare = functions_of('./bare')
    t.check('axpy' not in bare and any(r['link_addr'] == want['link_addr'] and r['function'] ==
            f'<function at {want["link_addr"]:#x}>' and r['size_bytes'] == want['size_bytes'] for r in bare.values()),
            'stripped: functions by address, from .eh_frame')
    loops = [r for r in structure('./bare') if r['function'] == f'<function at {want["link_addr"]:#x}>']
    t.check(len(loops) == 1 and loops[0]['label'].startswith('<function at'), 'stripped: loops by address', loops)
    os.makedirs(f'folder/.build-id/{build_id[:2]}')
    os.rename('whole.debug', f'folder/.build-id/{build_id[:2]}/{build_id[2:]}.debug')
    t.check(same(functions_of('./bare', '--debug-folders', '/nonexistent:folder').get('axpy')),
            'a debug file by build-id')
    t.check('axpy' not in functions_of('./bare', '--debug-folders', 'folder', '--only-this-file'),
            '--only-this-file')
    os.makedirs('.debug')
    os.rename(f'folder/.build-id/{build_id[:2]}/{build_id[2:]}.debug', '.debug/bare.debug')
    t.command('objcopy', '--add-gnu-debuglink=.debug/bare.debug', './bare', './linked')
    t.check(same(functions_of('./linked').get('axpy')), 'a debug file by .gnu_debuglink')
    # another program's debug file under that name must not be taken
    t.compile('loops.c', '-g', '-O1', '-Wl,--build-id', output='./other')
    t.command('objcopy', '--only-keep-debug', './other', '.debug/bare.debug')
    t.check('axpy' not in functions_of('./linked'), 'a debug file of another build is refused')
    t.command('objcopy', '--strip-debug', whole, 'mini')
    t.command('xz', '-f', 'mini')
    t.command('objcopy', '--add-section', '.gnu_debugdata=mini.xz', './bare', './mini-bare')
    row = functions_of('./mini-bare').get('axpy')
    t.check(row and row['link_addr'] == want['link_addr'], 'symbols in .gnu_debugdata')


def check_shared_debug():
    """Debug information that dwz moved to a file shared by several programs."""
    if not t.has('dwz'):
        t.skip('a shared debug file', 'no dwz')
        return
    for name in ('shared1', 'shared2'):
        t.compile('loops.c', '-g', '-O2', output='./' + name)
    before = structure('./shared1')
    t.command('dwz', '-m', 'common.debug', 'shared1', 'shared2')
    t.check(os.path.exists('common.debug') and structure('./shared1') == before, 'a shared debug file (dwz)')
    os.remove('common.debug')
    t.check(len(structure('./shared1')) == len(before), 'a shared debug file that is gone costs names, not loops')


def check_kinds():
    for flags, what in ((['-static'], 'static'), (['-static-pie'], 'static-pie'), (['-no-pie'], 'no PIE'),
                        (['-fno-asynchronous-unwind-tables', '-Wl,--build-id=none'], 'without .eh_frame of its own'),
                        (['-gdwarf-4', '-gz'], 'DWARF 4, compressed'), (['-gsplit-dwarf'], 'split DWARF')):
        app = t.compile('loops.c', '-g', '-O2', *flags, output='./kind')
        rows = [r for r in structure(app) if r['function'] == 'matrix']
        t.equal(sorted(r['line_first'] for r in rows), sorted(w[1] for w in marked_loops('loops.c') if w[0] == 'matrix'),
                f'{what}: the three loops of a nest, each where it begins')
    with open('./kind', 'rb') as file:
        elf = bytearray(file.read())
    for offset, value, word in ((4, 1, '32-bit'), (18, 183, 'another machine'), (16, 1, 'link it first')):
        changed = bytearray(elf)
        changed[offset] = value
        with open('odd', 'wb') as out:
            out.write(changed)
        run = t.run('structure', './odd')
        t.check(run.returncode == 4 and word in run.stderr, f'refused with a sentence: {word}', run.returncode, run.stderr)
    with open('headless', 'wb') as out:  # without section headers
        out.write(elf[:40] + bytes(8) + elf[48:60] + bytes(4) + elf[64:])
    t.check(t.run('structure', './headless').returncode == 0, 'a file without section headers is read')
    for cut in (10, 63, 64, 200, 1000, len(elf) // 2):
        with open('cut', 'wb') as out:
            out.write(elf[:cut])
        run = t.run('structure', './cut')
        t.check(run.returncode in (0, 3, 5) and 'ELF' in run.stderr + 'ELF', f'cut at {cut} bytes: exit status {run.returncode}',
                run.stderr)


def check_names():
    app = t.compile('names.cc', '-g', '-O2', compiler='g++', output='./names')
    names = functions_of(app)
    # gcc clones the function for its constant argument and says so in the name
    fill = 'shapes::Box<double>::fill(double)'
    t.check(any(n.startswith(fill) for n in names), 'C++ names with their parameters', list(names)[:30])
    loops = structure(app)
    inlined = [r for r in loops if r['function'].startswith(fill)]
    t.check(len(inlined) == 1 and inlined[0]['inlined_from'] and 'each' in inlined[0]['inlined_from'],
            'a loop of an inlined lambda walk names where it was written', inlined)
    aliases = [n for n in names if n in ('visible', '__hidden_name', 'weak_name')]
    t.equal(aliases, ['visible'], 'of several names for one address the global, plain one')


LIBC = '/lib/x86_64-linux-gnu/libc.so.6'
SONDE = t.sonde

check_kernels()
check_parts()
check_profile_split()
check_assembly()
check_size()
check_debug_files()
check_shared_debug()
check_kinds()
check_names()
total = check_objdump(LIBC, 0.9)
check_lines(SONDE, SONDE, 20000 if LONG else 4000)
if debug_file(LIBC):
    check_lines(LIBC, debug_file(LIBC), 20000 if LONG else 3000)
else:
    t.skip('lines of libc', 'libc6-dbg is not installed')
if LONG:
    for path in ('/usr/bin/python3.11', '/usr/bin/gdb', '/usr/bin/node', '/usr/bin/sqlite3', '/usr/bin/gcc',
                 '/usr/lib/x86_64-linux-gnu/libstdc++.so.6', '/usr/lib/x86_64-linux-gnu/libcrypto.so.3'):
        if os.path.exists(path):
            total += check_objdump(path, 0.85)
    t.check(total >= 1000000, f'{total} instructions compared')

run = t.run('structure', os.path.join(PROGRAMS, 'loops.c'))
t.check(run.returncode == 5 and 'is no ELF file' in run.stderr, 'a text file is refused with a sentence', run.stderr)
run = t.run('structure', '/no/such/file')
t.check(run.returncode == 5, 'a missing file is bad input', run.returncode, run.stderr)
t.done()
