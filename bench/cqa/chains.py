#!/usr/bin/env python3
"""Dependences of instruction forms against measured chains.

    bench/cqa/chains.py measure SONDE     writes bench/cqa/chains.tsv: way, core cycles, form, bytes
    bench/cqa/chains.py check SONDE [-v]  compares 'sonde cqa --blocks' with the file; exit 1 if any differs
        [--table FILE --arch NAME]        the same of another machine

Each row is a loop of six instances of one form. Where the way says that the result hangs on an operand,
each instance takes that operand from the one before and nothing else; where it does not, a model with a
false dependence would be far too slow. What is wrong must differ by more than 0.6 cycles an instance and
by more than 20 %: that tells a dependence from none and one latency from another, not a unit from two.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, 'chains.tsv')
COPIES = 6
LOW = {'rax': 'al', 'rbx': 'bl', 'rcx': 'cl', 'rdx': 'dl'}


def general(name, bits):
    if bits == 64:
        return name
    if name[1:].isdigit():
        return name + {32: 'd', 16: 'w', 8: 'b'}[bits]
    if bits == 32:
        return 'e' + name[1:]
    if bits == 16:
        return name[1:]
    return LOW.get(name, name[1:] + 'l')


def rows():
    """(way, form, [instances]) for all ways of all forms."""
    out = []

    def add(way, form, *texts):
        texts = list(texts)
        out.append((way, form, (texts * COPIES)[:max(COPIES, len(texts))]))

    chained = 'rax'
    for bits in (64, 32, 16, 8):
        a, b = general('rax', bits), general('rbx', bits)
        r = f'r{bits}'
        for op in ('add', 'sub', 'and', 'or', 'xor'):
            add('target', f'{op} {r},{r}', f'{op} {a},{b}')
            add('target', f'{op} {r},i', f'{op} {a},3')
            add('memory', f'{op} m{bits},{r}', f'{op} [rsi],{a}')
            add('target', f'{op} {r},m{bits}', f'{op} {a},[rsi]')
        for op in ('inc', 'dec', 'neg', 'not'):
            add('target', f'{op} {r}', f'{op} {a}')
            add('memory', f'{op} m{bits}', {64: f'{op} qword ptr [rsi]', 32: f'{op} dword ptr [rsi]',
                                            16: f'{op} word ptr [rsi]', 8: f'{op} byte ptr [rsi]'}[bits])
        for op in ('adc', 'sbb'):
            add('target', f'{op} {r},{r}', f'{op} {a},{b}')
            regs = [general(n, bits) for n in ('r8', 'r9', 'r10', 'r11', 'r12', 'r13')]
            add('carry', f'{op} {r},{r}', *[f'{op} {n},{b}' for n in regs])
        for op in ('shl', 'shr', 'sar', 'rol', 'ror'):
            add('target', f'{op} {r},i', f'{op} {a},3')
            add('target', f'{op} {r},cl', f'{op} {a},cl')
        add('target', f'mov {r},{r}', f'mov {a},{b}')
        add('target', f'mov {r},i', f'mov {a},3')
        add('target', f'mov {r},m{bits}', f'mov {a},[rsi]')
        add('none', f'cmp {r},{r}', f'cmp {a},{b}')
        add('none', f'test {r},{r}', f'test {a},{b}')
        add('target', f'xchg {r},{r}', f'xchg {a},{b}')
        add('zero idiom', f'xor {r},{r}', f'xor {a},{a}')
        add('zero idiom', f'sub {r},{r}', f'sub {a},{a}')
        add('flags only', f'sbb {r},{r}', f'sbb {a},{a}')
    for cc in ('z', 'nz', 'b', 'nb', 'be', 'nbe', 's', 'l', 'nl', 'le', 'nle'):
        add('target', f'cmov{cc} r64,r64', f'cmov{cc} rax,rbx')
        add('partial', f'set{cc} r8', f'set{cc} al')
    for bits in (32, 16):
        add('target', f'cmovz r{bits},r{bits}', f'cmovz {general("rax", bits)},{general("rbx", bits)}')
    add('target', 'cmovz r64,m64', 'cmovz rax,[rsi]')
    for text, form in (('movzx eax,al', 'movzx r32,r8'), ('movzx eax,ax', 'movzx r32,r16'), ('movsx eax,al', 'movsx r32,r8'),
                       ('movsx rax,ax', 'movsx r64,r16'), ('movsxd rax,eax', 'movsxd r64,r32'), ('cdqe', 'cdqe'),
                       ('cwde', 'cwde'), ('bswap rax', 'bswap r64'), ('bswap eax', 'bswap r32'),
                       ('lea rax,[rax+8]', 'lea r64,a2'), ('lea rax,[rax+rbx]', 'lea r64,a2'),
                       ('lea rax,[rax+rbx*4]', 'lea r64,a2'), ('lea rax,[rax+rbx*4+8]', 'lea r64,a3'),
                       ('lea eax,[rax+rbx+8]', 'lea r32,a3'), ('imul rax,rbx', 'imul r64,r64'),
                       ('imul eax,ebx', 'imul r32,r32'), ('imul ax,bx', 'imul r16,r16'), ('imul rax,rax,7', 'imul r64,r64,i'),
                       ('imul eax,eax,7', 'imul r32,r32,i'), ('imul rax,[rsi]', 'imul r64,m64'),
                       ('mul rbx', 'mul r64'), ('mul ebx', 'mul r32'), ('imul rbx', 'imul r64'),
                       ('popcnt rax,rax', 'popcnt r64,r64'), ('lzcnt rax,rax', 'lzcnt r64,r64'),
                       ('tzcnt rax,rax', 'tzcnt r64,r64'), ('bsf rax,rbx', 'bsf r64,r64'), ('bsr rax,rbx', 'bsr r64,r64'),
                       ('blsr rax,rax', 'blsr r64,r64'), ('blsi rax,rax', 'blsi r64,r64'), ('blsmsk rax,rax', 'blsmsk r64,r64'),
                       ('andn rax,rax,rbx', 'andn r64,r64,r64'), ('andn rax,rbx,rax', 'andn r64,r64,r64'),
                       ('bextr rax,rax,rbx', 'bextr r64,r64,r64'), ('bzhi rax,rax,rbx', 'bzhi r64,r64,r64'),
                       ('pdep rax,rax,rbx', 'pdep r64,r64,r64'), ('pext rax,rax,rbx', 'pext r64,r64,r64'),
                       ('shlx rax,rax,rbx', 'shlx r64,r64,r64'), ('shrx rax,rbx,rax', 'shrx r64,r64,r64'),
                       ('sarx eax,eax,ebx', 'sarx r32,r32,r32'), ('rorx rax,rax,5', 'rorx r64,r64,i'),
                       ('bt rax,3', 'bt r64,i'), ('bts rax,3', 'bts r64,i'), ('btr rax,3', 'btr r64,i'), ('btc rax,rbx', 'btc r64,r64'),
                       ('shld rax,rbx,3', 'shld r64,r64,i'), ('shrd rax,rbx,3', 'shrd r64,r64,i'),
                       ('crc32 rax,rbx', 'crc32 r64,r64'), ('crc32 eax,bl', 'crc32 r32,r8'),
                       ('adcx rax,rbx', 'adcx r64,r64'), ('adox rax,rbx', 'adox r64,r64'),
                       ('mov ah,bl', 'mov r8,r8'), ('mov al,ah', 'mov r8,r8'), ('movzx eax,ah', 'movzx r32,r8'),
                       ('mov rax,[rsi+rax]', 'mov r64,m64'), ('lahf', 'lahf'), ('sahf', 'sahf'), ('cmc', 'cmc'), ('clc', 'clc')):
        if '[rsi+rax]' in text:
            continue
        add('source', form, text)
    add('source', 'xadd m64,r64', 'xadd [rsi],rax')
    add('memory', 'xchg m64,r64', 'xchg [rsi],rax')
    add('target', 'movbe r64,m64', 'movbe rax,[rsi]')
    for bits in (64, 32, 16, 8):
        a = general('rax', bits)
        add('forward', f'mov m{bits},r{bits}; mov r{bits},m{bits}', f'mov [rsi],{a}', f'mov {a},[rsi]')
    add('push pop', 'push r64; pop r64', 'push rax', 'pop rax')
    add('stack pointer', 'push r64', 'push rax', 'pop rbx')
    for name, load, store, reg in (('x', 'movups', 'movups', 'xmm0'), ('y', 'vmovups', 'vmovups', 'ymm0'), ('z', 'vmovups', 'vmovups', 'zmm0')):
        add('forward', f'{store} m,{name}; {load} {name},m', f'{store} [rsi],{reg}', f'{load} {reg},[rsi]')
    add('forward', 'movsd m64,x; movsd x,m64', 'movsd [rsi],xmm0', 'movsd xmm0,[rsi]')
    add('forward', 'movss m32,x; movss x,m32', 'movss [rsi],xmm0', 'movss xmm0,[rsi]')

    legacy = ['addss addsd addps addpd subss subsd subps subpd mulss mulsd mulps mulpd divss divsd divps divpd minss minsd '
              'maxps maxpd andps andnps orps xorps pand pandn por pxor paddb paddw paddd paddq psubb psubd paddsb paddusw '
              'pmullw pmulld pmuludq pmulhw pmulhuw pmaddwd pavgb psadbw pminub pmaxsw pminsd pcmpgtb pcmpgtd pcmpeqb pcmpeqd '
              'punpcklbw punpckhwd punpckldq punpcklqdq unpcklps unpckhpd packsswb packuswb packssdw pshufb '
              'psignw phaddd haddps psllw psrld psrlq psraw'][0].split()
    for op in legacy:
        add('target', f'{op} x,x', f'{op} xmm0,xmm1')
    three = ['addss addsd addps addpd subsd subps mulss mulsd mulps mulpd divsd divps minsd maxps andps xorpd pand pandn por paddb paddw paddd '
             'paddq psubd pmullw pmulld pmuludq pmaddwd pavgb psadbw pminub pmaxsd pcmpgtd pcmpeqb punpcklbw punpckhdq '
             'unpcklpd packuswb pshufb haddpd'][0].split()
    for op in three:
        add('source 1', f'v{op} x,x,x', f'v{op} xmm0,xmm0,xmm1')
        add('source 2', f'v{op} x,x,x', f'v{op} xmm0,xmm1,xmm0')
        add('target', f'v{op} x,x,x', f'v{op} xmm0,xmm1,xmm2')
    wide = 'addps addpd mulps mulpd paddd pmulld xorps pshufb'.split()
    for op in wide:
        for reg, kind in (('ymm', 'y'), ('zmm', 'z')):
            name = op
            if reg == 'zmm' and op in ('xorps',):
                name = 'pxord'
            if reg == 'zmm' and op == 'paddd':
                name = 'paddd'
            add('source 2', f'v{name} {kind},{kind},{kind}', f'v{name} {reg}0,{reg}1,{reg}0')
            add('target', f'v{name} {kind},{kind},{kind}', f'v{name} {reg}0,{reg}1,{reg}2')
    for op in 'addps mulpd paddd pmulld'.split():
        add('merge mask', f'v{op} z,z,z {{k}}', f'v{op} zmm0{{k1}},zmm1,zmm2')
        add('zero mask', f'v{op} z,z,z {{z}}', f'v{op} zmm0{{k1}}{{z}},zmm1,zmm2')
    add('merge mask', 'vmovaps z,z {k}', 'vmovaps zmm0{k1},zmm1')
    add('zero mask', 'vmovaps z,z {z}', 'vmovaps zmm0{k1}{z},zmm1')
    add('merge mask', 'vmovups z,m512 {k}', 'vmovups zmm0{k1},[rsi]')
    for digits in ('132', '213', '231'):
        for kind in ('sd', 'ps'):
            add('target', f'vfmadd{digits}{kind} x,x,x', f'vfmadd{digits}{kind} xmm0,xmm1,xmm2')
            add('source 1', f'vfmadd{digits}{kind} x,x,x', f'vfmadd{digits}{kind} xmm0,xmm0,xmm2')
            add('source 2', f'vfmadd{digits}{kind} x,x,x', f'vfmadd{digits}{kind} xmm0,xmm1,xmm0')
    # AMD does not wait for an upper part that it knows to be zero: something must be there
    for op in ('movss xmm0,xmm1', 'movsd xmm0,xmm1', 'movlps xmm0,[rsi]', 'movlpd xmm0,[rsi]'):
        add('merge', f'movhpd x,m64; {op.split()[0]}', 'movhpd xmm0,[rsi]', op)
    for op, form in (('movhlps xmm0,xmm1', 'movhlps x,x'),
                     ('movlhps xmm0,xmm1', 'movlhps x,x'), ('movhpd xmm0,[rsi]', 'movhpd x,m64'),
                     ('movss xmm0,[rsi]', 'movss x,m32'), ('movaps xmm0,xmm1', 'movaps x,x'), ('movdqa xmm0,xmm1', 'movdqa x,x'),
                     ('movq xmm0,xmm1', 'movq x,x'), ('movddup xmm0,xmm0', 'movddup x,x'), ('pshufd xmm0,xmm0,27', 'pshufd x,x,i'),
                     ('pshuflw xmm0,xmm0,27', 'pshuflw x,x,i'), ('shufps xmm0,xmm1,27', 'shufps x,x,i'),
                     ('shufpd xmm0,xmm1,1', 'shufpd x,x,i'), ('palignr xmm0,xmm1,3', 'palignr x,x,i'),
                     ('insertps xmm0,xmm1,16', 'insertps x,x,i'), ('blendps xmm0,xmm1,5', 'blendps x,x,i'),
                     ('blendvps xmm1,xmm2,xmm0', 'blendvps x,x'), ('pinsrw xmm0,eax,3', 'pinsrw x,r32,i'),
                     ('pinsrd xmm0,eax,1', 'pinsrd x,r32,i'), ('pinsrq xmm0,rax,1', 'pinsrq x,r64,i'),
                     ('cvtsi2sd xmm0,eax', 'cvtsi2sd x,r32'), ('cvtsi2ss xmm0,rax', 'cvtsi2ss x,r64'),
                     ('cvtsd2ss xmm0,xmm0', 'cvtsd2ss x,x'), ('cvtss2sd xmm0,xmm0', 'cvtss2sd x,x'),
                     ('cvtdq2ps xmm0,xmm0', 'cvtdq2ps x,x'), ('cvttps2dq xmm0,xmm0', 'cvttps2dq x,x'),
                     ('cvtdq2pd xmm0,xmm0', 'cvtdq2pd x,x'), ('cvtpd2ps xmm0,xmm0', 'cvtpd2ps x,x'),
                     ('sqrtsd xmm0,xmm0', 'sqrtsd x,x'), ('sqrtss xmm0,xmm0', 'sqrtss x,x'), ('sqrtpd xmm0,xmm0', 'sqrtpd x,x'),
                     ('rcpps xmm0,xmm0', 'rcpps x,x'), ('rsqrtps xmm0,xmm0', 'rsqrtps x,x'), ('roundsd xmm0,xmm0,3', 'roundsd x,x,i'),
                     ('roundps xmm0,xmm0,3', 'roundps x,x,i'), ('pabsd xmm0,xmm0', 'pabsd x,x'), ('psllw xmm0,3', 'psllw x,i'),
                     ('psrlq xmm0,3', 'psrlq x,i'), ('psrldq xmm0,3', 'psrldq x,i'), ('pmovzxbw xmm0,xmm0', 'pmovzxbw x,x'),
                     ('pmovsxwd xmm0,xmm0', 'pmovsxwd x,x'), ('pmovzxbd xmm0,xmm0', 'pmovzxbd x,x'),
                     ('ptest xmm0,xmm1', 'ptest x,x'), ('ucomisd xmm0,xmm1', 'ucomisd x,x'), ('aesenc xmm0,xmm1', 'aesenc x,x'),
                     ('aesdec xmm0,xmm1', 'aesdec x,x'), ('pclmulqdq xmm0,xmm1,0', 'pclmulqdq x,x,i'), ('phminposuw xmm0,xmm0', 'phminposuw x,x'),
                     ('dpps xmm0,xmm1,255', 'dpps x,x,i'), ('pblendw xmm0,xmm1,9', 'pblendw x,x,i'), ('cmpps xmm0,xmm1,1', 'cmpps x,x,i'),
                     ('gf2p8mulb xmm0,xmm1', 'gf2p8mulb x,x'), ('sha256msg1 xmm0,xmm1', 'sha256msg1 x,x')):
        add('legacy', form, op)
    for op, form in (('vpermilps ymm0,ymm0,27', 'vpermilps y,y,i'), ('vpermq ymm0,ymm0,27', 'vpermq y,y,i'),
                     ('vpermd ymm0,ymm1,ymm0', 'vpermd y,y,y'), ('vperm2f128 ymm0,ymm0,ymm1,1', 'vperm2f128 y,y,y,i'),
                     ('vinsertf128 ymm0,ymm0,xmm1,1', 'vinsertf128 y,y,x,i'), ('vextractf128 xmm0,ymm0,1', 'vextractf128 x,y,i'),
                     ('vbroadcastss ymm0,xmm0', 'vbroadcastss y,x'), ('vpbroadcastd xmm0,xmm0', 'vpbroadcastd x,x'),
                     ('vpblendvb xmm0,xmm1,xmm2,xmm0', 'vpblendvb x,x,x,x'), ('vblendvpd ymm0,ymm0,ymm1,ymm2', 'vblendvpd y,y,y,y'),
                     ('vpsllvd ymm0,ymm0,ymm1', 'vpsllvd y,y,y'), ('vpsrlvq ymm0,ymm1,ymm0', 'vpsrlvq y,y,y'),
                     ('vpternlogd zmm0,zmm1,zmm2,150', 'vpternlogd z,z,z,i'), ('vpermt2d zmm0,zmm1,zmm2', 'vpermt2d z,z,z'),
                     ('vpermi2d zmm0,zmm1,zmm2', 'vpermi2d z,z,z'), ('vpermw zmm0,zmm1,zmm0', 'vpermw z,z,z'),
                     ('valignd zmm0,zmm0,zmm1,3', 'valignd z,z,z,i'), ('vshuff64x2 zmm0,zmm0,zmm1,3', 'vshuff64x2 z,z,z,i'),
                     ('vpdpbusd zmm0,zmm1,zmm2', 'vpdpbusd z,z,z'), ('vplzcntd zmm0,zmm0', 'vplzcntd z,z'),
                     ('vpopcntd zmm0,zmm0', 'vpopcntd z,z'), ('vpconflictd xmm0,xmm0', 'vpconflictd x,x'),
                     ('vpmullq zmm0,zmm1,zmm0', 'vpmullq z,z,z'), ('vscalefpd xmm0,xmm0,xmm1', 'vscalefpd x,x,x'),
                     ('vgetexppd xmm0,xmm0', 'vgetexppd x,x'), ('vrndscaleps xmm0,xmm0,3', 'vrndscaleps x,x,i'),
                     ('vcompresspd zmm0{k1},zmm0', 'vcompresspd z,z {k}'), ('vexpandpd zmm0{k1},zmm0', 'vexpandpd z,z {k}'),
                     ('vsqrtsd xmm0,xmm1,xmm0', 'vsqrtsd x,x,x'), ('vsqrtsd xmm0,xmm0,xmm1', 'vsqrtsd x,x,x'),
                     ('vcvtsi2sd xmm0,xmm0,eax', 'vcvtsi2sd x,x,r32'), ('vcvtsi2sd xmm0,xmm1,eax', 'vcvtsi2sd x,x,r32'),
                     ('vmovss xmm0,xmm1,xmm0', 'vmovss x,x,x'), ('vpinsrq xmm0,xmm0,rax,1', 'vpinsrq x,x,r64,i'),
                     ('vpxor xmm0,xmm0,xmm0', 'vpxor x,x,x'), ('vpcmpeqd xmm0,xmm0,xmm0', 'vpcmpeqd x,x,x'),
                     ('kandw k1,k1,k2', 'kandw k,k,k'), ('korw k1,k2,k1', 'korw k,k,k'), ('kxorq k1,k1,k2', 'kxorq k,k,k'),
                     ('knotw k1,k1', 'knotw k,k'), ('kaddd k1,k1,k2', 'kaddd k,k,k'), ('kshiftlw k1,k1,1', 'kshiftlw k,k,i'),
                     ('kunpckbw k1,k1,k2', 'kunpckbw k,k,k'), ('kmovw k1,k1', 'kmovw k,k'), ('kortestw k1,k2', 'kortestw k,k'),
                     ('vpcmpeqd k1{k1},zmm1,zmm2', 'vpcmpeqd k,z,z {k}'), ('vpcmpeqd k1,zmm1,zmm2', 'vpcmpeqd k,z,z')):
        add('vex', form, op)
    add('round trip', 'movq x,r64; movq r64,x', 'movq xmm0,rax', 'movq rax,xmm0')
    add('round trip', 'movd x,r32; movd r32,x', 'movd xmm0,eax', 'movd eax,xmm0')
    add('round trip', 'vpmovm2d z,k; vpmovd2m k,z', 'vpmovm2d zmm0,k1', 'vpmovd2m k1,zmm0')
    add('round trip', 'kmovd k,r32; kmovd r32,k', 'kmovd k1,eax', 'kmovd eax,k1')
    add('round trip', 'cvtsi2sd x,r64; cvttsd2si r64,x', 'cvtsi2sd xmm0,rax', 'cvttsd2si rax,xmm0')
    add('round trip', 'pmovmskb r32,x; movd x,r32', 'pmovmskb eax,xmm0', 'movd xmm0,eax')
    add('flag to data', 'cmp r64,r64; setz r8', 'cmp rax,rbx', 'setz al')
    add('flag to data', 'cmp r64,r64; cmovz r64,r64', 'cmp rax,rbx', 'cmovz rax,rcx')
    add('flag to data', 'cmp r64,r64; adc r64,i', 'cmp rax,rbx', 'adc rax,0')
    add('flag to data', 'test r64,r64; sbb r64,r64', 'cmp rax,1', 'sbb rax,rax')
    add('flag to data', 'ucomisd x,x; cmova r64,r64', 'ucomisd xmm0,xmm1', 'cmova rax,rbx')
    add('flags apart', 'inc r64; adc r64,i', 'inc rbx', 'adc rax,0')
    add('flags apart', 'dec r64; setb r8', 'dec rbx', 'setb al')
    for op in ('fadd', 'fmul', 'fsub', 'fdiv'):
        add('target', f'{op} st,st', f'{op} st,st(1)')
        add('target', f'{op} st,m64', f'{op} qword ptr [rsi]')
    add('x87', 'fchs', 'fchs')
    add('x87', 'fabs', 'fabs')
    add('x87', 'fsqrt', 'fsqrt')
    add('x87 names', 'fadd st,st; fxch', 'fadd st,st(1)', 'fxch st(1)')
    add('x87 stack', 'fld st; faddp', 'fld st(0)', 'faddp st(1),st')
    add('gather index', 'vpgatherdd', 'vpcmpeqd ymm2,ymm2,ymm2', 'vpgatherdd ymm0,[rsi+ymm1*4],ymm2', 'vpand ymm1,ymm0,ymm3')
    return out


def assemble(texts):
    with tempfile.TemporaryDirectory() as folder:
        source = '.intel_syntax noprefix\nL:\n' + '\n'.join(texts) + '\ndec r15\njnz L\n'
        with open(f'{folder}/a.s', 'w') as file:
            file.write(source)
        subprocess.run(['as', f'{folder}/a.s', '-o', f'{folder}/a.o'], check=True)
        subprocess.run(['objcopy', '-O', 'binary', '-j', '.text', f'{folder}/a.o', f'{folder}/a.bin'], check=True)
        with open(f'{folder}/a.bin', 'rb') as file:
            return file.read().hex()


def jsonl(command, blocks):
    with tempfile.NamedTemporaryFile('w', suffix='.hex') as file:
        file.write('\n'.join(blocks) + '\n')
        file.flush()
        out = subprocess.run([a.replace('FILE', file.name) for a in command], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def agreed(passes):
    passes = sorted(passes)
    for i, low in enumerate(passes[:-2]):
        if passes[i + 2] <= low * 1.02:
            return statistics.median(p for p in passes[i:] if p <= low * 1.02)
    return None


def measure(sonde):
    table = [(way, form, assemble(texts)) for way, form, texts in rows()]
    results = jsonl([sonde, 'calibrate', '--blocks', 'FILE', '--passes', '11'], [r[2] for r in table])
    kept, seen = [], set()
    for (way, form, code), result in zip(table, results):
        cycles = agreed(result['passes']) if not result['error'] else None
        if result['error'] or cycles is None:
            print(f'left out: {way} {form}: {result["error"] or "not stable"}', file=sys.stderr)
        elif code not in seen:
            seen.add(code)
            kept.append(f'{way}\t{cycles:.3f}\t{form}\t{code}\n')
    with open(TABLE, 'w') as file:
        file.write('# Dependences of instruction forms: six instances a pass and their measured core cycles;\n'
                   '# made by bench/cqa/chains.py on family 26 model 2 (Zen 5). way, cycles, form, bytes\n')
        file.writelines(kept)
    print(f'{len(kept)} rows, {len({k.split(chr(9))[2] for k in kept})} forms')


def check(sonde, path, arch):
    """The forms of the dependences in a file, and those that the model is wrong about."""
    with open(path) as file:
        table = [line.rstrip('\n').split('\t') for line in file if not line.startswith('#')]
    results = jsonl([sonde, 'cqa', '--blocks', 'FILE', '--arch', arch, '--format', 'jsonl'], [r[3] for r in table])
    wrong = []
    for (way, cycles, form, _), result in zip(table, results):
        truth, told = float(cycles), result['cycles']
        apart = abs(told - truth)
        if apart > .6 * COPIES and apart > .2 * truth:
            wrong.append(f'{form} ({way}): {told:.2f} for {truth:.2f} cycles ({result["bottleneck"]})')
    return [r[2] for r in table], wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('measure', 'check'))
    parser.add_argument('sonde')
    parser.add_argument('-v', '--verbose', action='store_true')
    parser.add_argument('--table', default=TABLE)
    parser.add_argument('--arch', default='zen5')
    args = parser.parse_args()
    if args.what == 'measure':
        return measure(args.sonde)
    forms, wrong = check(args.sonde, args.table, args.arch)
    for text in wrong if args.verbose else ():
        print(f'wrong: {text}')
    print(f'{len(forms)} dependences of {len(set(forms))} forms, {len(wrong)} wrong')
    sys.exit(len(wrong) > 0)


if __name__ == '__main__':
    main()
