#!/usr/bin/env python3
"""Collects the corpus of loop bodies: bench/cqa/collect.py SONDE OUT.tsv [--per-source N]

Straight-line inner loops of Debian's libraries and of our own kernels (gcc, clang, gfortran at several
options), as bytes. A loop whose trip count the harness can set keeps its own closing branch; of the
others the compare and branch are replaced by a decrement of a register that the loop does not use.
Which loops are taken is decided by a hash of their bytes, and nothing is predicted here.
Then each is measured fifteen times on this machine. It is kept if the two lowest of the first five agree
within 5 %. Its time is the lowest that four of the fifteen agree on within 2 %, since others that use the
core slow down some, and now and then a difference of two times comes out too low; without such it is the
second lowest.
Columns: split, class, cycles, source, bytes.
"""
import glob
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

LIB = '/usr/lib/x86_64-linux-gnu/'
SOURCES = {
    'libm': LIB + 'libm.so.6', 'openblas': LIB + 'openblas-pthread/libopenblas.so.0',
    'fftw': LIB + 'libfftw3.so.3', 'fftwf': LIB + 'libfftw3f.so.3',
    'ffmpeg': LIB + 'libavcodec.so.59', 'swscale': LIB + 'libswscale.so.6',
    'x264': LIB + 'libx264.so.164', 'zlib': LIB + 'libz.so.1', 'zstd': LIB + 'libzstd.so.1',
    'gsl': LIB + 'libgsl.so.27', 'sqlite': LIB + 'libsqlite3.so.0', 'jpeg': LIB + 'libjpeg.so.62',
    'gmp': LIB + 'libgmp.so.10', 'gzip': '/bin/gzip', 'lapack': LIB + 'openblas-pthread/liblapack.so.3',
}
PASSES = 15
LINE = re.compile(r'^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t?(.*)$')
JUMP = re.compile(r'^(?:bnd )?(j\w+)\s+([0-9a-f]+)')
STOPS = re.compile(r'^(?:bnd |notrack )?(call|ret|jmp|loop|hlt|int|ud|sys|data16|\(bad\)|lock|rep|xbegin|leave)')


def loops_of(path):
    """(bytes, texts) of each straight-line loop of an object."""
    run = subprocess.Popen(['objdump', '-d', '-w', '-M', 'intel', path],
                           stdout=subprocess.PIPE, text=True, errors='replace')
    window, start_of = [], {}
    for line in run.stdout:
        match = LINE.match(line)
        if not match:
            window = []
            continue
        address, code, text = int(match[1], 16), bytes.fromhex(match[2]), match[3].split('#')[0].strip()
        jump = JUMP.match(text)
        window.append((address, code, text))
        if STOPS.match(text):
            window = []
        elif jump:
            target = int(jump[2], 16)
            body = [w for w in window if w[0] >= target]
            if target <= address and body and body[0][0] == target and len(body) > 1:
                size = address + len(code) - target
                if size <= 1024:
                    yield b''.join(w[1] for w in body), [w[2] for w in body], [len(w[1]) for w in body]
            window = []
    run.wait()


def own_kernels(folder):
    """Objects of our kernels, compiled many ways."""
    here = os.path.dirname(os.path.abspath(__file__))
    marches = ['x86-64', 'haswell', 'skylake-avx512']
    for march in marches:
        for level in ('-O1', '-O2', '-O3', '-O3 -ffast-math', '-O2 -funroll-loops'):
            for compiler, source in (('gcc', 'kernels.c'), ('clang', 'kernels.c'),
                                     ('gfortran', 'kernels.f90')):
                name = f'{compiler}{level}-{march}'.replace(' ', '')
                out = f'{folder}/{name}.o'
                wide = ['-mprefer-vector-width=512'] if march.endswith('512') and level == '-O3' else []
                done = subprocess.run([compiler, *level.split(), f'-march={march}', *wide, '-c',
                                       f'{here}/{source}', '-o', out], capture_output=True)
                if done.returncode == 0:
                    yield name, out


REGISTERS = {
    'r15': ('r15', '49ffcf'), 'r14': ('r14', '49ffce'), 'r13': ('r13', '49ffcd'),
    'r12': ('r12', '49ffcc'), 'r11': ('r11', '49ffcb'), 'r10': ('r10', '49ffca'),
    'r9': ('r9', '49ffc9'), 'r8': ('r8', '49ffc8'), 'rbx': ('bx|bl|bh', '48ffcb'),
    'rbp': ('bp', '48ffcd'), 'rdi': ('di', '48ffcf'), 'rsi': ('si', '48ffce'),
}


def with_counter(code, texts, lengths):
    """The loop with its compare and branch replaced by dec, jnz of a free register; or None."""
    end = len(texts) - 1
    size = len(code) - lengths[end]
    if end and re.match(r'(cmp|test)\s', texts[end - 1]):
        end -= 1
        size -= lengths[end]
    if end == 0:
        return None
    body, text = code[:size], ' '.join(texts[:end])
    for pattern, decrement in REGISTERS.values():
        if re.search(pattern, text):
            continue
        body += bytes.fromhex(decrement)
        back = -(len(body) + 2)
        if back >= -128:
            return body + bytes([0x75, back & 0xff])
        return body + b'\x0f\x85' + (-(len(body) + 6)).to_bytes(4, 'little', signed=True)
    return None


def measure(sonde, blocks, passes):
    with tempfile.NamedTemporaryFile('w', suffix='.hex') as file:
        file.write('\n'.join(b.hex() for b in blocks) + '\n')
        file.flush()
        out = subprocess.run([sonde, 'calibrate', '--blocks', file.name, '--passes', str(passes)],
                             capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def agreed(passes):
    """None if the two lowest of the first five differ by more than 5 %; else the median of the lowest group of
    four or more of all that lie within 2 %, or the second lowest of all if there is none."""
    low, second = sorted(passes[:5])[:2]
    if second > low * 1.05:
        return None
    passes = sorted(passes)
    for i, low in enumerate(passes[:-3]):
        if passes[i + 3] <= low * 1.02:
            return statistics.median(p for p in passes[i:] if p <= low * 1.02)
    return passes[1]


def class_of(texts):
    return 'vector' if re.search(r'\b[xyz]mm\d|\bst\(|\bfld|\bfst|\bfmul|\bmm\d', ' '.join(texts)) else 'scalar'


def main():
    sonde, out = sys.argv[1:3]
    per_source = int(sys.argv[4]) if len(sys.argv) > 4 else 220
    chosen, seen = [], set()
    with tempfile.TemporaryDirectory() as folder:
        sources = [(name, path, per_source) for name, path in SOURCES.items() if os.path.exists(path)]
        sources += [(name, path, 40) for name, path in own_kernels(folder)]
        for name, path, limit in sources:
            found = {}
            for code, texts, lengths in loops_of(path):
                found.setdefault(code, (texts, lengths))
            ordered = sorted(found, key=lambda c: hashlib.sha256(c).hexdigest())
            taken = 0
            for code in ordered:
                if taken == limit:
                    break
                if code in seen:
                    continue
                seen.add(code)
                chosen.append((name, code, *found[code]))
                taken += 1
            print(f'{name}: {taken} of {len(found)} loops', file=sys.stderr)
    # Does the loop run as it is? One quick try decides between it and its counted form.
    tries = measure(sonde, [c[1] for c in chosen], 2)
    blocks = []
    for (name, code, texts, lengths), tried in zip(chosen, tries):
        if tried['error'] and 'trip count' in tried['error']:
            code = with_counter(code, texts, lengths)
        if code:
            blocks.append((name, code, class_of(texts)))
    results = measure(sonde, [b[1] for b in blocks], PASSES)
    rows, failed, unstable = [], {}, 0
    for (name, code, kind), result in zip(blocks, results):
        if result['error']:
            reason = re.sub(r'0x\w+|\d+', 'N', result['error'])
            failed[reason] = failed.get(reason, 0) + 1
            continue
        cycles = agreed(result['passes'])
        if not cycles:
            unstable += 1
        else:
            digest = hashlib.sha256(code).digest()
            split = 'test' if digest[0] & 1 else 'tune'
            rows.append(f'{split}\t{kind}\t{cycles:.3f}\t{name}\t{code.hex()}\n')
    model = [l for l in open('/proc/cpuinfo') if l.startswith(('model name', 'cpu family', 'model\t', 'stepping'))][:4]
    with open(out, 'w') as file:
        file.write('# Loop bodies and their measured core cycles per iteration; made by bench/cqa/collect.py.\n')
        file.write('# Measured on: ' + '; '.join(re.sub(r'\s+', ' ', m).strip() for m in model) + '\n')
        file.write(f'# {len(chosen)} loops chosen, {len(blocks)} runnable, {sum(failed.values())} failed, '
                   f'{unstable} not stable, {len(rows)} kept\n')
        for reason, count in sorted(failed.items()):
            file.write(f'# failed {count}: {reason}\n')
        file.write('# split\tclass\tcycles\tsource\tbytes\n')
        file.writelines(sorted(set(rows)))
    print(f'{len(rows)} kept, {unstable} unstable, {sum(failed.values())} failed', file=sys.stderr)


if __name__ == '__main__':
    main()
