"""sonde cqa and sonde calibrate on real programs: contract of --blocks, files of all kinds, what-if."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from sonde_test import Test

t = Test()
SOURCE = """
double dot(const double *a, const double *b, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}
void triad(double *restrict a, const double *restrict b, const double *restrict c, double q, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + q * c[i];
}
void branchy(double *a, long n)
{
	for (long i = 1; i < n; i++)
		if (a[i] > 0)
			a[i] += a[i - 1];
		else
			a[i] = 0;
}
"""
open('k.c', 'w').write(SOURCE)


def sonde(*words, **more):
    return subprocess.run([t.sonde, *words], capture_output=True, text=True, timeout=120, **more)


def blocks(text, *more, arch='cascadelake'):
    open('blocks.hex', 'w').write(text)
    run = sonde('cqa', '--blocks', 'blocks.hex', '--arch', arch, '--format', 'jsonl', *more)
    return run, [json.loads(line) for line in run.stdout.splitlines()]


# --blocks, as docs/manual/cqa.md has it
run, rows = blocks('# comment\n\n4801C0 49ffcf 75f8\nzz\n06\n f20f58c149ffcf75f7\n')
t.equal(run.returncode, 0, 'bad blocks do not end the run')
t.equal([r['block'] for r in rows], [0, 1, 2, 3], 'blocks are numbered, blank and comment lines are not')
t.equal(list(rows[0]), ['schema', 'block', 'cycles', 'bottleneck', 'bounds', 'instructions',
                        'estimated_instructions', 'error'], 'keys stand in their order')
t.equal(list(rows[0]['bounds']), ['ports', 'divider', 'issue', 'front_end', 'latency'],
        'bounds stand in their order')
t.check(all(r['cycles'] is None and r['bounds'] is None and r['bottleneck'] is None and r['error']
            for r in rows[1:3]), 'an error leaves the figures null', rows)
t.equal((rows[0]['cycles'], rows[0]['instructions'], rows[0]['error']), (1, 3, None), 'a dependent add')
t.equal((rows[3]['cycles'], rows[3]['bottleneck']), (4, 'latency'), 'a chain of addsd has 4 cycles')
t.equal(blocks('4801c0\n', '--unrolled')[1][0]['cycles'], 1, 'unrolled: no branch')
DIVISIONS = 'c5f55ec2 49ffcf 75f7\nc5fd51c1 49ffcf 75f7\n'  # vdivpd, vsqrtpd of ymm registers
for arch, cycles in (('icelake-server', [8, 12]), ('sapphirerapids', [8, 9]), ('zen1', [12, 20]), ('zen2', [6, 10]),
                     ('zen3', [5, 9]), ('zen4', [5, 9])):
    rows_of_arch = blocks(DIVISIONS, arch=arch)[1]
    t.equal([r['bottleneck'] for r in rows_of_arch], ['divider'] * 2, f'{arch}: a division is bound by the divider')
    t.equal([r['cycles'] for r in rows_of_arch], cycles, f'{arch}: and takes what it holds it for')
again, _ = blocks('# comment\n\n4801C0 49ffcf 75f8\nzz\n06\n f20f58c149ffcf75f7\n')
t.equal(again.stdout, run.stdout, 'the same input gives the same bytes')
for arch in ('haswell skylake skylake-avx512 cascadelake icelake-server sapphirerapids zen1 zen2 zen3 '
             'zen4 zen5').split():
    _, rows = blocks('c5fd580e4883c6204839d675f3\n', arch=arch)
    t.check(rows and .5 <= rows[0]['cycles'] <= 3 and rows[0]['estimated_instructions'] == 0,
            f'{arch} knows a vector loop', rows)
_, rows = blocks('48\n4801c048\n06\n')
t.equal([r['error'] for r in rows], ['the instruction at offset 0 is cut short: the block ends in it',
                                     'the instruction at offset 3 is cut short: the block ends in it',
                                     'the bytes at offset 0 are no instruction that this decoder knows'],
        'a cut instruction is told from an unknown one')
for names in ('zen4 Zen4 ZNVER4', 'icelake-server Icelake-Server', 'sapphirerapids SapphireRapids', 'zen1 znver1', 'zen2 znver2', 'zen3 znver3',
              'zen5 znver5 Zen5', 'haswell core-avx2'):
    t.equal(len({blocks('c5fd580e4883c6204839d675f3\n', arch=name)[0].stdout or name for name in names.split()}), 1,
            f'names of one machine: {names}')
run, _ = blocks('90\n', arch='z80')
t.check(run.returncode == 2 and 'cascadelake' in run.stderr, 'an unknown machine is a usage error', run.stderr)
long = '4883c001' * 10000 + '49ffcf0f85' + (-(40000 + 9)).to_bytes(4, 'little', signed=True).hex()
_, rows = blocks(long + '\n')
t.equal((rows[0]['instructions'], rows[0]['cycles']), (10002, 10000), 'a loop of 10,000 instructions')

# binaries
for name, words in {'k.o': ['-c'], 'k.so': ['-shared', '-fPIC']}.items():
    subprocess.run(['gcc', '-g', '-O2', '-fno-tree-vectorize', *words, 'k.c', '-o', name], check=True)
    run = sonde('cqa', name, '--arch', 'cascadelake', '--format', 'json')
    table = json.loads(run.stdout)
    found = {r['function']: r for r in table['rows']}
    t.equal(table['schema'], 'sonde.cqa/1', f'{name}: schema')
    t.check({'branchy', 'dot', 'triad'} <= set(found), f'{name}: loops of all functions', sorted(found))
    t.equal((found['dot']['l1_cycles'], found['dot']['bottleneck'], found['dot']['flop']), (4, 'latency', 2),
            f'{name}: a scalar dot product waits for its addition')
    t.equal(found['branchy']['path_count'], 2, f'{name}: two paths')
    t.check(found['triad']['full_vector_speedup'] > 3 and found['dot']['vector_share'] == 0,
            f'{name}: what vectors would bring', found)
    t.equal(found['dot']['file'].split('/')[-1] if found['dot']['file'] else None, 'k.c',
            f'{name}: source file')
    t.equal(found['dot']['stride_1_accesses'], 2, f'{name}: strides')
subprocess.run(['ar', 'rcs', 'k.a', 'k.o'], check=True)
rows = json.loads(sonde('cqa', 'k.a', '--format', 'json', '--arch', 'zen4').stdout)['rows']
t.equal({r['member'] for r in rows}, {'k.o'}, 'archives are read member by member')
with open(t.sonde, 'rb') as whole, open('cut', 'wb') as out:
    out.write(whole.read(400000))
cut = t.run('cqa', 'cut', '-f', 'csv')
t.check('damaged' in cut.stderr and cut.stderr.count('\n') == 1, 'a file that is cut short is told', cut.returncode, cut.stderr)
with open('k.so', 'rb') as whole, open('cut', 'wb') as out:
    out.write(whole.read(3000))
run = sonde('cqa', 'cut')
t.check(run.returncode == 5 and "'cut' is cut short" in run.stderr and run.stderr.count('\n') == 1,
        'one that ends before its code, too', run.returncode, run.stderr)
page = sonde('cqa', 'k.so', '--loop', 'k.c:6', '--arch', 'cascadelake')
t.check(page.returncode == 0 and 'limited by latency' in page.stdout and 'Advice' in page.stdout and
        'addsd' in page.stdout, 'the page of a loop by file and line', page.stdout, page.stderr)
identity = found['dot']['loop']
details = json.loads(sonde('cqa', 'k.so', '--loop', identity, '--arch', 'cascadelake', '--format', 'json').stdout)
chain = [i['text'] for i in details['details'][0]['paths'][0]['instructions'] if i['on_chain']]
t.check(len(chain) == 1 and chain[0].startswith('addsd'), 'the chain is the addition', chain)
whole = details['details'][0]['paths'][0]
t.check(all(abs(sum(i['bounds'][b] for i in whole['instructions']) - whole['bounds'][b]) < .005 for b in whole['bounds']),
        'what the instructions add to each bound sums to it', whole)
t.equal((whole['chain_passes'], whole['front_end_part'], whole['busiest_units'] != ''), (1, 'taken branch', True),
        'a path says what its bounds are about')
marked = [line for line in page.stdout.splitlines() if line.startswith('  * ')]
t.check(len(marked) == 1 and 'addsd' in marked[0] and '4.00' in marked[0] and '-----' in page.stdout,
        'the page marks the instruction that the latency comes from, with its cycles', page.stdout)
t.check(any(a['subject'] == 'vectorize' and a['speedup'] > 1 for a in details['details'][0]['advice']),
        'advice has evidence and gain', details['details'][0]['advice'])
subprocess.run(['gcc', '-g', '-O3', '-mavx2', '-mfma', '-ffast-math', '-shared', '-fPIC', 'k.c', '-o', 'fast.so'],
               check=True)
rows = json.loads(sonde('cqa', 'k.so', 'fast.so', '--arch', 'cascadelake', '--format', 'json').stdout)['rows']
triad = [r for r in rows if r['function'] == 'triad'][0]
t.check(triad['speedup'] and triad['speedup'] > 2, 'two builds are compared for the same source work', triad)

subprocess.run(['gcc', '-g', '-O0', '-c', 'k.c', '-o', 'plain.o'], check=True)
run = sonde('cqa', 'plain.o', 'fast.so', '--arch', 'cascadelake')
t.check(re.search(r'triad +k.c:\d+-\d+ .* iterations', run.stdout) and '0 slower' in run.stdout,
        'a build without optimization is compared, too', run.stdout)
open('moved.c', 'w').write('\n\n' + SOURCE)
subprocess.run(['gcc', '-O2', '-fno-tree-vectorize', '-c', 'moved.c', '-o', 'moved.o'], check=True)
rows = json.loads(sonde('cqa', 'k.so', 'moved.o', '--arch', 'cascadelake', '--format', 'json').stdout)['rows']
t.check(len(rows) == 3 and all(r['speedup'] == 1 and r['after_label'] != r['label'] for r in rows if r['function'] != 'branchy'),
        'loops whose lines moved are paired in order', rows)
for words in (['gcc', '-g'], ['clang', '-g', '-frecord-command-line']):
    subprocess.run([*words, '-O2', '-c', 'k.c', '-o', 'options.o'], check=True)
    rows = json.loads(sonde('cqa', 'options.o', '--arch', 'zen4', '--format', 'json').stdout)['rows']
    t.check(rows and all(r['missing_options'] == '-O3, -march=native' for r in rows),
            f'{words[0]}: the options it was compiled without', rows)

# code that is not as compilers write it
def assemble(name, text, *words):
    open(f'{name}.s', 'w').write(f'.globl {name}\n.type {name},@function\n{name}:\n{text}\n.size {name},.-{name}\n'
                                 '.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(['gcc', '-c', f'{name}.s', '-o', f'{name}.o'], check=True)
    run = sonde('cqa', f'{name}.o', '--arch', 'cascadelake', '--format', 'json', *words)
    return run, json.loads(run.stdout)['rows'] if run.returncode == 0 else []


run, rows = assemble('big', ' xor %eax,%eax\n1:\n' + ' addsd %xmm0,%xmm1\n mulsd %xmm2,%xmm3\n' * 5000 +
                     ' inc %eax\n cmp $100,%eax\n jl 1b\n ret')
t.equal([(r['instructions'], r['l1_cycles']) for r in rows], [(10003, 20000)], 'a loop of 10,000 instructions in a file')
run, rows = assemble('many', ' xor %ecx,%ecx\n0:\n' + ' test $1,%dil\n je 2f\n inc %eax\n2:\n' * 150000 +
                     ' inc %ecx\n cmp %esi,%ecx\n jl 0b\n ret')
t.check(len(rows) == 1 and 'blocks' in rows[0]['not_analysed'], 'a loop of 300,000 blocks says why it has no figures',
        rows, run.stderr)
run, rows = assemble('nest', ''.join(f'L{i}:\n inc %eax\n' for i in range(2000)) +
                     ''.join(f' test ${i},%edi\n jne L{i}\n' for i in reversed(range(2000))) + ' ret')
t.check(run.returncode in (0, 3) and not run.stderr.count('\n') > 1, 'loops 2,000 deep', run.returncode, run.stderr)
t.check([(r['not_analysed'] or '')[:15] for r in rows] == ['nested 128 deep'] and
        '1 loop has no figures: nested 128 deep' in sonde('cqa', 'nest.o', '--arch', 'zen4').stdout,
        'of those 128 deep and deeper is said that they are one, in the list too', rows)
run, rows = assemble('long', '1:\n.rept 200000\n addq $1,8(%rsi)\n.endr\n dec %ecx\n jnz 1b\n ret')
t.equal([(r['l1_cycles'], r['instructions'], r['not_analysed']) for r in rows], [(None, None, 'more than 20000 instructions')],
        'a loop of 200,000 instructions has no figures of a tenth of it')
for words in ((), ('--loop', 'long+0x0')):
    text = sonde('cqa', 'long.o', '--arch', 'zen4', *words).stdout
    t.check('more than 20000 instructions' in text and '20000.00' not in text, f'and text says so: {words}', text)
run, rows = assemble('long', '1:\n.rept 19998\n addq $1,8(%rsi)\n.endr\n dec %ecx\n jnz 1b\n ret')
t.equal([(r['instructions'], r['not_analysed']) for r in rows], [(20000, None)], 'one of 20,000 has them')
for target, is_union in ((2, 0), (3, 1)):  # into the middle of an instruction; into the loop from behind
    run, rows = assemble('over', ' xor %ecx,%ecx\n1: .byte 0xeb,0x01\n .byte 0xb8\n inc %eax\n nop\n nop\n nop\n'
                         ' inc %ecx\n cmp $9,%ecx\n jl 1b\n test %eax,%eax\n jz 1b+' + str(target) +
                         '\n jmp 3f\n .byte 0xff,0xff,0x06,0x07,0x0e\n .string "data in the text section"\n3: ret')
    t.check(len(rows) == 1 and rows[0]['l1_cycles'] > 0 and rows[0]['is_union'] == is_union,
            f'overlapping instructions and data in the text, {target}: one loop', rows, run.stderr)
run, rows = assemble('new', ' xor %ecx,%ecx\n1: .byte 0x62,0xf5,0x7c,0x48,0x58,0xc1\n .byte 0x0f,0x3a,0xf0,0xc0,0x01\n'
                     ' inc %ecx\n cmp $9,%ecx\n jl 1b\n ret', '--cols', 'all')
t.check(run.returncode in (0, 3) and (not rows or rows[0]['undecoded_bytes'] > 0 or rows[0]['not_analysed'] or
                                      rows[0]['estimated_instructions'] > 0),
        'instructions that the decoder or the table does not know are counted', rows, run.stderr)
LOST = '1: movq (%rsi),%rax\n .byte 0xd5,0x18,0x01,0xc0\n add $8,%rsi\n dec %rdi\n jnz 1b\n'
KEPT = '2: addsd (%rdx),%xmm0\n add $8,%rdx\n dec %rcx\n jnz 2b\n ret'
run, _ = assemble('lost', LOST + ' ret')
t.check(run.returncode and 'at 1 place code' in run.stderr, 'a loop with unknown bytes does not vanish unsaid', run.stderr)
run, rows = assemble('part', KEPT + '\n' + LOST + KEPT.replace('2', '3'))
t.check(rows and json.loads(run.stdout)['undecoded_places'] == 0, 'code that nothing leads to is not counted',
        run.stdout)
run, rows = assemble('part', ' test %rdi,%rdi\n jz 2f\n' + LOST + KEPT)
t.check(len(rows) == 1 and json.loads(run.stdout)['undecoded_places'] == 1, 'unknown bytes are counted beside other loops',
        run.stdout)
text = sonde('cqa', 'part.o', '--arch', 'cascadelake').stdout
t.check('at 1 place code goes on in bytes that do not decode' in text, 'and the listing says so', text)
for first in ('.byte 0x06', '.byte 0xd5,0x18,0x01,0xc0'):
    run, rows = assemble('begin', f'2: {first}\n addsd (%rdx),%xmm0\n add $8,%rdx\n dec %rcx\n jnz 2b\n ret')
    t.check(run.returncode and 'at 1 place code' in run.stderr, f'unknown bytes at the begin of a function, too: {first}',
            run.stdout, run.stderr)
small = bytearray(open('k.o', 'rb').read())
small[4] = 1  # ELFCLASS32
open('small.o', 'wb').write(small)
run = sonde('cqa', 'small.o')
t.check(run.returncode == 4 and '32-bit' in run.stderr, '32-bit code is refused', run.stderr)

# code of an extension that the machine lacks
run, rows = assemble('zmm', '1: vmovupd (%rsi,%rax),%zmm0\n vfmadd213pd (%rdx,%rax),%zmm1,%zmm0\n vmovupd %zmm0,(%rdx,%rax)\n'
                     ' add $64,%rax\n cmp %rcx,%rax\n jne 1b\n ret')
t.equal([r.get('lacked_extensions') for r in rows], [None], 'Cascade Lake has AVX-512')
for arch in 'haswell skylake zen1 zen2 zen3'.split():
    page = sonde('cqa', 'zmm.o', '--arch', arch, '--loop', 'zmm+0x0').stdout
    t.check('this code needs AVX-512, which ' in page and 'no FP arithmetic' not in page and
            'not applicable: the machine lacks its instructions' in page, f'{arch} lacks AVX-512, and the page says so', page)
    text = sonde('cqa', 'zmm.o', '--arch', arch).stdout
    t.check('1 loop needs AVX-512, which ' in text, f'{arch}: the list, too', text)
    table = json.loads(sonde('cqa', 'zmm.o', '--arch', arch, '--loop', 'zmm+0x0', '--format', 'json').stdout)
    t.equal(tuple(table[part][0].get('lacked_extensions') for part in ('rows', 'details')), ('AVX-512', 'AVX-512'), f'{arch}: JSON, too')
run, rows = assemble('half', '1: vaddph (%rsi),%zmm0,%zmm1\n vpdpbusd (%rsi),%zmm2,%zmm3\n vaddpd %zmm4,%zmm4,%zmm5\n'
                     ' vgf2p8mulb %xmm6,%xmm6,%xmm7\n gf2p8mulb %xmm6,%xmm6\n dec %ecx\n jnz 1b\n ret')
t.equal([r.get('lacked_extensions') for r in rows], ['AVX512-FP16, GFNI'], 'parts of AVX-512 are told apart, none is named twice')
text = sonde('cqa', 'k.o', '--arch', 'haswell').stdout + sonde('cqa', 'k.o', '--arch', 'haswell', '--loop', 'k.c:6').stdout
t.check(text and 'lacks: figures' not in text, 'plain code lacks nothing', text)

# bad input
open('text', 'w').write('no ELF\n')
run = sonde('cqa', 'text')
t.check(run.returncode == 5 and run.stderr.count('\n') == 1, 'no ELF file: one sentence', run.stderr)
other = bytearray(open('k.so', 'rb').read())
other[18] = 183  # e_machine: AArch64
open('arm.so', 'wb').write(other)
run = sonde('cqa', 'arm.so')
t.check(run.returncode == 4 and 'x86-64' in run.stderr, 'another machine is refused', run.returncode, run.stderr)
whole = open('k.so', 'rb').read()
ends = []
for cut in range(0, len(whole), len(whole) // 40):
    open('cut.so', 'wb').write(whole[:cut])
    ends.append(sonde('cqa', 'cut.so', '--arch', 'zen3').returncode)
t.check(all(0 <= e <= 5 for e in ends), 'truncated files end in a sentence', ends)
t.equal(sonde('cqa', 'k.so', '--loop', 'k.c:9999').returncode, 5, 'a loop that is not there')

run = sonde('explain', 'ram_max_cycles', 'path_count', '--format', 'json')
t.equal([r['text'][:40] for r in json.loads(run.stdout)['rows']],
        ['Core cycles of the costliest path, if da', 'Ways from the head of the loop back to i'], 'figures are explained')


for word in 'ports divider issue front_end latency'.split():
    run = sonde('explain', word)
    t.check(run.returncode == 0 and f'{word}_cycles' in run.stdout, f'explain {word}', run.stdout, run.stderr)
by_key, by_heading = (sonde('cqa', 'k.so', '--arch', 'zen4', '--format', 'csv', '--sort', s, '--cols', c).stdout for s, c in
                      (('l1_cycles', 'label,ram_cycles'), ('Cycles', 'label,RAM cycles')))
t.check(by_key and by_key == by_heading, 'a column is found by its heading', by_key, by_heading)
text = sonde('cqa', 'k.so', '--arch', 'zen4', '--cols', 'label,next_bottleneck_speedup').stdout
t.check(re.match(r'loop +next bottleneck speedup\n', text), 'a heading is in words', text)


def refused(code, words, *command, **more):
    run = sonde(*command, **more)
    t.check(run.returncode == code and words in run.stderr and run.stderr.count('\n') == 1 and not run.stdout,
            f"{' '.join(command)}: refused with {code}, '{words}'", run.returncode, run.stdout, run.stderr)
    return run.stderr


# which loop is meant
for option in ('--loop', '--function'):
    refused(2, f'{option} takes a name', 'cqa', 'k.so', option, '')
refused(2, '--function takes a name', 'cqa', 'k.so', 'k.so', '--function', '')
subprocess.run('printf "static double sum(double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n'
               'int main(int n, char **words) { return (int)sum((double *)words, n); }" > bare.c && '
               'gcc -O1 -fno-inline bare.c -o bare && strip bare', shell=True, check=True)
row = json.loads(sonde('cqa', 'bare', '--arch', 'zen4', '--format', 'json', '--cols',
                       'loop,label,function,header_link_addr,l1_cycles').stdout)['rows'][-1]
text = sonde('cqa', 'bare', '--arch', 'zen4').stdout
t.check(row['label'].startswith('<function at 0x') and row['label'] in text and '..' not in text,
        'labels that are addresses are printed whole', text)
for name in (row['label'], hex(row['header_link_addr']), f"0X{row['header_link_addr'] + 1:X}"):
    run = sonde('cqa', 'bare', '--arch', 'zen4', '--loop', name)
    t.check(run.returncode == 0 and run.stdout.startswith(f"Loop {row['label']} in {row['function']}"),
            f'--loop {name} finds the loop', run.stdout, run.stderr)
    table = json.loads(sonde('cqa', 'bare', '--arch', 'zen4', '--loop', name, '--format', 'json').stdout)
    t.equal(len(table['rows']), 1, f'and one only: {name}')
start = row['function'].split()[-1].rstrip('>')
for name in (start, hex(int(start, 16) + 3)):
    rows = json.loads(sonde('cqa', 'bare', '--arch', 'zen4', '--function', name, '--format', 'json').stdout)['rows']
    t.check(rows and {r['function'] for r in rows} == {row['function']}, f'--function {name} finds the function', rows)
refused(5, 'no loop is around address 0x1 ', 'cqa', 'bare', '--loop', '0x1')
refused(5, 'no function with a loop is around address 0x1 ', 'cqa', 'bare', '--function', '0x1')
every = json.loads(sonde('cqa', 'k.so', '--arch', 'zen4', '--format', 'json').stdout)['rows']
build = every[0]['loop'].split(':')[0]
said = refused(2, f'{len(every)} loops are meant by', 'cqa', 'k.so', '--loop', build[:10], '--arch', 'zen4')
t.check(all(r['loop'] in said for r in every), 'an ambiguous id names the loops that it begins', said)
refused(2, 'loops are meant by', 'cqa', 'k.so', '--loop', build[:10], '--format', 'json')
for whole in (every[0]['loop'], every[0]['loop'].rsplit(':', 1)[0]):
    one = sonde('cqa', 'k.so', '--loop', whole, '--arch', 'zen4')
    t.check(one.returncode == 0 and one.stdout.startswith(f"Loop {every[0]['label']} in {every[0]['function']}"),
            f'{whole} means one', one.stdout, one.stderr)
subprocess.run(['clang', '-g', '-O2', '-c', 'k.c', '-o', 'clang.o'], check=True)
text = sonde('cqa', 'clang.o', '--loop', 'k.c:6', '--arch', 'zen4').stdout
t.check(re.match(r'\d loops of the code come from k.c:6', text) and text.count('\nLoop ') == int(text[0]),
        'a line that several loops come from shows all and says how many', text[:300])
refused(2, 'loop of one binary', 'cqa', 'k.so', 'fast.so', '--loop', build[:10])
refused(2, '--unrolled', 'cqa', 'k.so', '--unrolled')
refused(2, '--loop is for', 'cqa', '--blocks', 'blocks.hex', '--loop', 'x')
run = sonde('cqa', '--blocks', '-', '--arch', 'zen4', input='4801c049ffcf75f8\n')
t.check(run.returncode == 0 and json.loads(run.stdout)['cycles'] == 1, 'blocks from standard input', run.stdout, run.stderr)

# what is no binary
os.mkfifo('pipe')
refused(5, 'no regular file', 'cqa', 'pipe')
big = bytearray(open('k.o', 'rb').read())
big[5], big[18:20] = 2, b'\x00\x15'
open('big-endian.o', 'wb').write(big)
refused(4, 'big-endian code (ELF machine 21)', 'cqa', 'big-endian.o')
os.makedirs('parts/deep', exist_ok=True)
shutil.copy('k.o', 'parts/deep/a.o')
shutil.copy('clang.o', 'parts/b-with-a-name-of-more-than-sixteen.o')
subprocess.run('cd parts && rm -f thin.a && ar rcsT thin.a deep/a.o b-with-a-name-of-more-than-sixteen.o', shell=True, check=True)
rows = json.loads(sonde('cqa', 'parts/thin.a', '--format', 'json', '--arch', 'zen4').stdout)['rows']
t.equal({r['member'] for r in rows}, {'deep/a.o', 'b-with-a-name-of-more-than-sixteen.o'},
        'a thin archive is followed to its members')
os.unlink('parts/deep/a.o')
run = sonde('cqa', 'parts/thin.a', '--format', 'json', '--arch', 'zen4')
t.check(run.returncode == 0 and json.loads(run.stdout)['rows'] and "first is 'parts/deep/a.o'" in run.stderr,
        'members that are gone are told', run.stderr)
os.unlink('parts/b-with-a-name-of-more-than-sixteen.o')
refused(5, 'only names its members', 'cqa', 'parts/thin.a')

# more paths than are told apart: expected work, and a jump taken for each choice
open('paths.c', 'w').write("""
#define APART __asm__ volatile("")
void many(double *a, const double *b, const double *c, long n)
{
	for (long i = 0; i < n; i++) {
		double x = b[i];
		if (i & 1) { APART; x = x * x + c[i]; } else { APART; x = x + 3; }
		if (i & 2) { APART; x = x * 2 - c[i]; } else { APART; x = x * 3 + 1; }
		if (i & 4) { APART; x = x + c[i]; }
		if (i & 8) { APART; x = x + b[i] * c[i]; }
		a[i] = x;
	}
}
""")
subprocess.run(['gcc', '-O2', '-g', '-fno-tree-vectorize', '-c', 'paths.c'], check=True)
rows = json.loads(sonde('cqa', 'paths.o', '--arch', 'zen5', '--format', 'json').stdout)['rows']
t.check(len(rows) == 1 and rows[0]['is_union'] and 2 < rows[0]['l1_cycles'] < 5.6,
        'sixteen paths: flagged, and the jumps of a pass count', rows)
t.equal((rows[0]['path_count'], rows[0]['analysed_paths']), (16, 1), 'their number is told, and that they are one estimate')
text = sonde('cqa', 'paths.o', '--arch', 'zen5').stdout
t.check(re.search(r'paths.c:5-11 +many +main +\S+ +16 ', text) and '1 loop has more than 8 paths: the estimate takes all' in text,
        'the table says so, too', text)
text = sonde('cqa', 'paths.o', '--arch', 'zen5', '--loop', 'paths.c:6').stdout
t.check('16 paths, more than 8: one estimate of all blocks' in text, 'and the page', text)

refused(2, "no column 'cycels' here; near it are: l1_cycles (", 'cqa', 'k.so', '--sort', 'cycels')
refused(2, "headed 'after': after_cycles, after_bottleneck", 'cqa', 'k.so', 'fast.so', '--sort', 'after')
open('uncounted.c', 'w').write('void many(int *a, long n)\n{\n\tfor (long i = 0; i < n; i++) {\n' +
                               ''.join(f'\t\tif (a[i] & {1 << b}) __asm__ volatile("nop");\n' for b in range(31)) +
                               '\t}\n}\nvoid one(int *a, long n) { for (long i = 0; i < n; i++) a[i]++; }\n')
subprocess.run(['gcc', '-O2', '-g', '-fno-tree-vectorize', '-c', 'uncounted.c'], check=True)
for words, is_told in (((), True), (('--top', '1', '--sort', 'path_count'), True), (('--top', '1', '--sort', '-path_count'), False),
                       (('--cols', 'label'), False)):
    text = sonde('cqa', 'uncounted.o', '--arch', 'zen4', *words).stdout
    t.check(text and ('1000000000 paths stand for' in text) == is_told == ('1000000000 ' in text),
            f'what 1000000000 paths mean is told where they are shown: {words}', text)

# calls: their time is in no figure, and every table says so
open('calls.c', 'w').write("""
#include <math.h>
void plain(double *a, long n) { for (long i = 0; i < n; i++) a[i] += 1; }
void calling(double *a, const double *b, long n) { for (long i = 0; i < n; i++) a[i] = exp(b[i]); }
""")
subprocess.run(['gcc', '-O2', '-g', '-fno-tree-vectorize', '-c', 'calls.c'], check=True)
subprocess.run(['gcc', '-O1', '-g', '-fno-tree-vectorize', '-c', 'calls.c', '-o', 'calls1.o'], check=True)
one, two = sonde('cqa', 'calls.o', '--arch', 'zen5').stdout, sonde('cqa', 'calls.o', 'calls1.o', '--arch', 'zen5').stdout
t.check(re.search(r'cycles +calls', one) and re.search(r'calling .*\d\.\d\d +yes', one) and re.search(r'plain .*\d\.\d\d +no', one) and
        '1 loop calls functions: their time is in none of the figures' in one, 'the table marks a loop that calls', one)
t.check(re.search(r'calling .* yes +yes', two) and '1 loop calls functions' in two, 'that of two builds, too', two)
text = sonde('cqa', 'calls.o', '--arch', 'zen5', '--loop', 'calls.c:4').stdout
t.check('it calls functions, whose time is in none' in text, 'and the page', text)
for names in (('k.o',), ('k.o', 'k.so')):
    text = sonde('cqa', *names, '--arch', 'zen5').stdout
    t.check(text and 'calls' not in text, f'without calls nothing is said of them: {names}', text)

# two loops on a line are two, with their remainders, and are paired with themselves in another build
open('line.c', 'w').write("""
#ifndef OF
#define OF 2 /
#endif
void two(double *a, double *b, long n) { for (long i = 0; i < n; i++) a[i] += 1; for (long i = 0; i < n; i++) b[i] = OF b[i]; }
""")
for compiler, words in (('gcc', '-O2 -fno-tree-vectorize'), ('clang', '-O2 -fno-vectorize -DOF=2*'), ('gcc', '-O3 -mavx2'),
                        ('gcc', '-O2 -funroll-loops -fno-tree-vectorize')):
    subprocess.run([compiler, '-g', *words.split(), '-c', 'line.c'], check=True)
    rows = json.loads(sonde('cqa', 'line.o', '--arch', 'zen4', '--format', 'json', '--cols', 'role,loop,source_loop').stdout)['rows']
    mains = [r['loop'] for r in rows if r['role'] == 'main']
    t.check(len(mains) == 2 and {r['source_loop'] for r in rows} == set(mains) and
            all(r['source_loop'] == r['loop'] for r in rows if r['role'] == 'main'),
            f'{compiler} {words}: two loops on one line are two', rows)
subprocess.run(['gcc', '-g', '-O2', '-fno-tree-vectorize', '-c', 'line.c', '-o', 'line1.o'], check=True)
subprocess.run(['gcc', '-g', '-O3', '-mavx2', '-c', 'line.c', '-o', 'line2.o'], check=True)
rows = json.loads(sonde('cqa', 'line1.o', 'line2.o', '--arch', 'zen4', '--format', 'json').stdout)['rows']
t.equal([(r['before_cycles'] > 3, r['after_cycles'] > 3) for r in rows], [(False, False), (True, True)],
        'and are paired with themselves')

# source iterations of a pass: true ones, or none where fields of a structure cannot be told from copies
open('passes.c', 'w').write("""
typedef struct { double x, y, z; } point;
void convert(double *restrict d, const float *restrict f, long n) { for (long i = 0; i < n; i++) d[i] = f[i]; }
void field(point *restrict p, double q, long n) { for (long i = 0; i < n; i++) p[i].x *= q; }
void fields(point *restrict p, double a, double b, double c, long n) {
	for (long i = 0; i < n; i++) { p[i].x += a; p[i].y += b; p[i].z += c; } }
void triad(double *a, const double *b, const double *c, double q, long n) {
	for (long i = 0; i < n; i++) a[i] = b[i] + q * c[i]; }
double stride(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i * 2]; return s; }
double in_order(const float *a, long n) { float s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }
""")
WIDE = '-O3 -march=skylake-avx512 -ffast-math -mprefer-vector-width=512'
for compiler, words, true in (('gcc', WIDE, {'convert': 16, 'field': 8, 'fields': 8, 'triad': 8, 'stride': 8}),
                              ('gcc', '-O2', dict.fromkeys(('convert', 'field', 'fields', 'triad', 'stride'), 1)),
                              ('gcc', '-O3', {'convert': 4, 'field': 2, 'fields': 2, 'triad': 2, 'in_order': 4}),
                              ('gcc', '-O2 -funroll-loops -fno-tree-vectorize',
                               {'convert': 8, 'field': 8, 'fields': 4, 'triad': 8, 'stride': 8}),
                              ('clang', WIDE, {'convert': 64, 'field': 32, 'fields': 16, 'triad': 64, 'stride': 32})):
    if not t.has(compiler):
        continue
    subprocess.run([compiler, '-g', *words.split(), '-c', 'passes.c', '-o', 'passes.o'], check=True)
    rows = json.loads(sonde('cqa', 'passes.o', '--arch', 'zen4', '--format', 'json', '--cols', 'function,role,unroll').stdout)['rows']
    said = {r['function']: r['unroll'] for r in rows if r['role'] == 'main'}
    t.check(all(said[f] in (n, None) for f, n in true.items()) and said['triad'] and said['stride'], f'{compiler} {words}: iterations of a pass', said)

# names that only debug information has: Fortran's main program
open('prog.f90', 'w').write("""program mill
  real(8) :: a(1000), s
  integer :: i
  a = 2
  s = 0
  do i = 1, 1000
    s = s + a(i)
  end do
  print *, s
end program
""")
subprocess.run(['gfortran', '-g', '-O1', 'prog.f90', '-o', 'mill'], check=True)
lists = [sonde('cqa', 'mill', '--function', name, '--arch', 'zen5') for name in ('mill', 'MAIN__')]
t.check(lists[0].returncode == 0 and lists[0].stdout == lists[1].stdout and re.search(r'prog.f90:6\S* +mill ', lists[0].stdout),
        'a function is found by its printed name and by its symbol', lists[0].stdout, lists[0].stderr)

# calibrate; a chain, as branches come every second cycle while the other thread of a core is busy.
for block, least, most, name in (('480fafc0480fafc0480fafc0480fafc049ffcf75eb', 10, 18, 'four products that wait for each other take three or four cycles each'),
                                 ('480fafc0', 2.4, 4.5, 'a dependent multiplication three or four')):
    run = sonde('calibrate', '--block', block, *(['--unrolled'] if len(block) < 10 else []), '--format', 'json')
    measured = json.loads(run.stdout)
    t.check(measured['cycles'] and least < measured['cycles'] < most, name, run.stdout)
for code, what in {'0f0549ffcf75f9': 'system call', 'cd8049ffcf75f9': 'interrupt', 'f449ffcf75fa': 'privileged',
                   'e80000000049ffcf75f6': 'call'}.items():
    run = sonde('calibrate', '--block', code)
    t.check(run.returncode == 4 and what in run.stderr, f'{what} is refused', run.stderr)
run = sonde('calibrate', '--block', 'ebfe', '--unrolled')
t.check(run.returncode == 4, 'an endless jump is refused', run.stderr)
run = sonde('calibrate', '--block', 'a100000000000000ff49ffcf75f2')
t.check(run.returncode == 4 and 'fault' in run.stderr, 'an address outside of user space is a fault', run.stderr)
refused(2, 'takes no operand', 'calibrate', 'extra')
refused(5, "begins with 'zzz'", 'calibrate', '--forms', 'zzz')
refused(2, 'do not go together', 'calibrate', '--block', '90', '--forms', 'imul')
refused(2, '--unrolled', 'calibrate', '--unrolled')
run = sonde('calibrate', '--block', '4801c049ffcf75f8', '--format', 'csv')
lines = run.stdout.splitlines()
t.check(run.returncode == 0 and lines[0] == 'block,cycles,stable,passes,error' and len(lines) == 2 and
        float(lines[1].split(',')[1]) > 0, 'a block as CSV', run.stdout)
run = sonde('calibrate', '--blocks', '-', '--format', 'csv', input='4801c049ffcf75f8\nzz\n')
t.check(run.returncode == 0 and len(run.stdout.splitlines()) == 3 and 'no hexadecimal' in run.stdout, 'blocks as CSV', run.stdout)
run = sonde('calibrate', '--forms', 'imul r64,r64', '--format', 'json')
t.check(run.returncode == 0 and json.loads(run.stdout)['rows'][0]['form'] == 'imul r64,r64', 'forms as JSON', run.stdout)
if sys.argv[1:] == ['long']:  # half a minute, and more where forms are not stable
    run = subprocess.run([t.sonde, 'calibrate', '--format', 'json'], capture_output=True, text=True, timeout=400,
                         env={**os.environ, 'XDG_CONFIG_HOME': os.path.abspath('config')})
    settled = json.loads(run.stdout) if run.returncode == 0 else {}
    lines = open('config/sonde/machine.tsv').read().splitlines() if run.returncode == 0 else []
    native = next((l.split('\t')[1] for l in lines if l.startswith('machine\t') and 'unknown' not in l), '')
    t.check(run.returncode == 0 and sum(l.startswith(('L1\t', 'L2\t', 'L3\t', 'RAM\t')) for l in lines) == 4,
            'calibrate writes the levels of memory', run.stdout + run.stderr)
    run = subprocess.run([t.sonde, 'cqa', 'k.so', '--arch', 'zen4'], capture_output=True, text=True,
                         env={**os.environ, 'XDG_CONFIG_HOME': os.path.abspath('config')})
    t.check(run.returncode == 0 and 'no machine profile' not in run.stderr, 'what calibrate writes can be read', run.stderr)
    told = [l for l in lines if l.startswith('loop_buffer\t')]
    # without a model of the processor nobody knows whether there is one
    buffer = ['unknown'] if not native else ['off'] if native.startswith('zen') else ['on', 'off']
    t.check(len(told) == 1 and told[0].split('\t')[1] in buffer,
            'a core without a loop buffer is told so', told)
    product = [l.split('\t') for l in lines if l.startswith('form\timul r64,r64\t')]
    t.check(not native or (settled['forms_unstable'] and not product) or 2.5 < float(product[0][3]) < 4.6,
            'a product of integers takes three or four cycles, or was not stable', product, settled)
    t.equal(settled.get('forms'), sum(l.startswith('form\t') for l in lines), 'forms are counted')
    t.check(settled.get('forms_kept') == settled.get('memory_kept') == 0, 'without an older profile no figure is kept', settled)

# which figures of the memory levels were taken is told
def with_profile(text, *words):
    os.makedirs('told/sonde', exist_ok=True)
    if text is not None:
        open('told/sonde/machine.tsv', 'w').write(text)
    return sonde('cqa', 'k.so', '--arch', 'zen4', *words, env={**os.environ, 'XDG_CONFIG_HOME': os.path.abspath('told')})


def memory(run):
    table = json.loads(run.stdout)
    return table['memory_profile'], [r['ram_cycles'] for r in table['rows'] if r['function'] == 'triad']


LEVELS = ''.join(f'{level}\t9999\t{64 >> 2 * i}\t{64 >> 2 * i}\t{64 >> 2 * i}\t{4 * 5 ** i}\n'
                 for i, level in enumerate(('L1', 'L2', 'L3', 'RAM')))
PROFILE = 'machine\tzen4\ndate\t2024-05-31\n' + LEVELS
none, here, other, bad = (with_profile(p, '--format', 'json') for p in (None, PROFILE, PROFILE.replace('zen4', 'zen3'), 'rubbish\n'))
t.check(memory(none)[0] is None and memory(other) == memory(none) == memory(bad) and not none.stderr + here.stderr + other.stderr,
        'no profile, or of another machine: usual values', none.stderr, other.stderr)
t.check(memory(here)[0]['date'] == '2024-05-31' and memory(here)[0]['machine'] == 'zen4' and memory(here)[1] != memory(none)[1],
        'a profile of this machine is taken and named', here.stdout[:300])
t.check(bad.returncode == 0 and bad.stderr.count('\n') == 1 and 'told/sonde/machine.tsv' in bad.stderr and
        'lacks L1, L2, L3, RAM, its machine; line 1' in bad.stderr, 'a damaged profile is told: what and where', bad.stderr)
for words in ((), ('--loop', 'k.c:6')):
    t.check('memory levels: usual values' in with_profile('rubbish\n', *words).stdout, f'usual values are told {words}')
    t.check("memory levels: measured by 'sonde calibrate' on 2024-05-31" in with_profile(PROFILE, *words).stdout,
            f'measured ones with their date {words}')
open('nofolder', 'w').write('')
begin = time.monotonic()
run = sonde('calibrate', env={**os.environ, 'XDG_CONFIG_HOME': os.path.abspath('nofolder')})
t.check(run.returncode and run.stderr.count('\n') == 1 and 'nofolder' in run.stderr and not run.stdout and
        time.monotonic() - begin < 5, 'calibrate that cannot write its profile says so at the start', run.stderr)

# dependences of instruction forms against recorded chains
here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
run = subprocess.run(['python3', f'{here}/bench/cqa/chains.py', 'check', t.sonde, '-v'],
                     capture_output=True, text=True, timeout=120)
words = run.stdout.splitlines()[-1].split()
t.check(int(words[3]) >= 300, 'at least 300 forms have measured chains', run.stdout)
# x87 accumulations of six in a row are slower than their latency, of three or twelve not: not modelled
t.check(all('fadd' in line or 'fmul' in line or 'fsub' in line for line in run.stdout.splitlines()[:-1]) and
        int(words[-2]) <= 4, 'the dependences are as measured', run.stdout)

# a path through code that the compiler put away hardly counts, one that calls counts half
open('cold.c', 'w').write("""
#include <stdio.h>
__attribute__((cold, noinline)) void note(long i) { fprintf(stderr, "%ld\\n", i); }
void guarded(double *a, long n)
{
	for (long i = 0; i < n; i++) {
		if (a[i] < 0)
			note(i);
		a[i] *= 2;
	}
}
void called(double *a, long n, double (*f)(double))
{
	for (long i = 0; i < n; i++)
		if (a[i] < 0)
			a[i] = f(a[i]);
		else
			a[i] = a[i] * 2 + 1;
}
""")
subprocess.run(['gcc', '-O2', '-g', '-fno-tree-vectorize', '-c', 'cold.c', '-o', 'cold.o'], check=True)
found = {r['function']: r for r in json.loads(sonde('cqa', 'cold.o', '--arch', 'zen5', '--format', 'json').stdout)['rows']}
row = found['guarded']
t.check(row['path_count'] == 2 and row['max_cycles'] > 2 * row['min_cycles'] and
        row['l1_cycles'] < 1.1 * row['min_cycles'], 'an error path in .cold does not count', row)
t.check('.cold' in subprocess.run(['nm', 'cold.o'], capture_output=True, text=True).stdout, 'the compiler has split it off')
t.check('taken to be rarer' in sonde('cqa', 'cold.o', '--arch', 'zen5', '--loop', found['called']['loop']).stdout,
        'and the page says so', found['called'])
# vectors of what a compiler that sets errno makes of a root, of neighbours, and of few passes
open('roots.c', 'w').write("""
#include <math.h>
void root(float *restrict a, const float *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = sqrtf(b[i]) * 0.5f + 1; }
void root_of_sum(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = sqrt(b[i] * b[i] + 2); }
double other(double);
void either(double *a, long n) { for (long i = 0; i < n; i++) if (a[i] < 0) a[i] = other(a[i]); else a[i] = sqrt(a[i]); }
void three(double *restrict a, const double *restrict b, const double *restrict c)
{
	for (long i = 0; i < 3; i++)
		a[i] = b[i] * c[i] + a[i];
}
void stencil(double *restrict y, const double *restrict x, long n) { for (long i = 1; i < n; i++) y[i] = (x[i - 1] + x[i] + x[i + 1]) * .3; }
void copy(double *restrict y, const double *restrict x, long n) { for (long i = 1; i < n; i++) y[i] = (x[i] + 2) * .3; }
""")


def roots_of(*words, compiler='gcc', link=()):
    subprocess.run([compiler, '-g', '-O2', '-fno-unroll-loops', '-fno-tree-vectorize', *words, 'roots.c', *(link or ('-c',)), '-o', 'roots.o'],
                   check=True)
    columns = 'function,path_count,trips_from_zero,l1_cycles,fp_vector_speedup,full_vector_speedup,full_vector_cycles,vector_passes,loop'
    return {r['function']: r for r in json.loads(sonde('cqa', 'roots.o', '--arch', 'zen5', '--format', 'json', '--cols', columns).stdout)['rows']}


bare = roots_of('-fno-math-errno')
for compiler, words, link in [('gcc', (), ()), ('gcc', ('-mavx',), ()), ('gcc', ('-fno-plt', '-fPIC'), ()),
                              ('gcc', ('-fPIC',), ('-shared', '-lm'))] + [('clang', (), ())] * t.has('clang'):
    errno = roots_of(*words, compiler=compiler, link=link)
    for function in ('root', 'root_of_sum'):
        row = errno[function]
        t.equal(row['path_count'], 2, f'{compiler} {words} {function}: a call beside the instruction')
        t.within(row['l1_cycles'], bare[function]['l1_cycles'], .1, f'{compiler} {words} {function}: and hardly any pass calls')
        t.within(row['full_vector_cycles'], bare[function]['full_vector_cycles'], .1, f'{compiler} {words} {function}: no vector does')
        t.check(row['full_vector_speedup'] >= row['fp_vector_speedup'], f'{compiler} {words} {function}: full is more', row)
bare = roots_of('-fno-math-errno', '-fPIC', '-shared')
page = json.loads(sonde('cqa', 'roots.o', '--arch', 'zen5', '--loop', bare['either']['loop'], '--format', 'json').stdout)
t.equal(sorted(round(p['passes_share'], 2) for p in page['details'][0]['paths']), [.33, .67], 'another function is no rare call')
# a line for each of three neighbours: five for three loads, 2.75 cycles as the real code
t.within(bare['stencil']['full_vector_cycles'], 2.75 / 8, .02, 'neighbours cannot all be aligned')
t.check(bare['copy']['full_vector_cycles'] < .15, 'one array can, wherever it begins', bare['copy'])
for arch in ('zen5', 'cascadelake'):
    row = [r for r in json.loads(sonde('cqa', 'roots.o', '--arch', arch, '--format', 'json', '--cols', 'all').stdout)['rows']
           if r['function'] == 'three'][0]
    t.check(row['trips_from_zero'] == 3 and row['vector_passes'] == 3 and row['full_vector_speedup'] <= 3 and
            row['fp_vector_speedup'] <= 3, f'{arch}: three passes are no more than three times as fast',
            row['trips_from_zero'], row['full_vector_speedup'])
t.check('vectors of 3 elements only' in sonde('cqa', 'roots.o', '--arch', arch, '--loop', bare['three']['loop']).stdout,
        'and the page says why')

# the same code does the same work, whatever a pass of it is
subprocess.run(['gcc', '-O2', '-c', 'cold.c', '-o', 'cold1.o'], check=True)
shutil.copy('cold1.o', 'cold2.o')
done = sonde('cqa', 'cold1.o', 'cold2.o', '--arch', 'zen5')
t.check('unknown' not in done.stdout and ' 0 faster, 0 slower' in done.stdout, 'a copy is as fast', done.stdout)
rows = json.loads(sonde('cqa', 'cold1.o', 'cold2.o', '--arch', 'zen5', '--format', 'json').stdout)['rows']
t.check(rows and all(r['speedup'] == 1 and r['speedup_by'] == 'same code' for r in rows), 'loop by loop', rows)
t.done()
