"""Mutated Pandore sources: the compiler never crashes, and the C that it writes compiles; only the host's
own text, which is any C, may be refused by the C compiler, at the user's line.

pandore_mutants.py SONDE COUNT [FIRST]
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pandore'))
import generate

sonde, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fuzz', 'corpus', 'pandore')
sources = [open(os.path.join(corpus, name)).read() for name in sorted(os.listdir(corpus))]
sources += [generate.pandore(generate.program(seed), 2) for seed in (11, 12)]
POOL = ['i', 'j', 'A', 'V', '0', '1', '-1', '99', '2.5', '+', '-', '*', '/', '%', '[', ']', '(', ')', '{', '}', ';',
        ',', '=', '+=', '++', '<', '&&', '?', ':', '&', '!', '~', 'int', 'float', 'double', 'char', 'unsigned', 'long', 'short', '_Bool', 'if',
        'for', 'while', 'else', 'return', 'by', 'block', 'map', 'mode', 'IN', 'OUT', 'regular', 'dist', '<<', '|',
        '(int)', '0x1f', "'a'", '1e400', '4294967296', '2147483648', '07', '""', 'N', 'P', 'sqrt', 'void', '/* */']


def mutant(seed):
    rng = random.Random(seed)
    source = rng.choice(sources)
    end = source.index('main') if rng.random() < 0.8 else len(source)
    tokens = re.findall(r'\s+|\w+|"[^"\n]*"|.', source[:end], re.S)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, kind = rng.randrange(len(tokens)), rng.randrange(7)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens[at] = rng.choice(POOL)
        elif kind == 2:
            tokens.insert(at, rng.choice(POOL))
        elif kind > 3:  # gentle: another word where a word was
            words = [k for k, token in enumerate(tokens) if re.match(r'\w', token)]
            tokens[rng.choice(words)] = tokens[rng.choice(words)]
        else:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return ''.join(tokens) + source[end:]


def host_lines(source):
    """First line of main, or of a function that a host alone may call."""
    found = re.search(r'^.*\bmain\b', source, re.M)
    return source[:found.start()].count('\n') + 1 if found else 1 << 30


def judge(seed, folder):
    source = mutant(seed)
    path = os.path.join(folder, f'm{seed}.pnd')
    open(path, 'w').write(source)
    scheme = ['naive', 'opt'][seed % 2]
    made = subprocess.run([sonde, 'pandore', 'compile', path, '--scheme', scheme, '--emit-c', path + '.c'],
                          capture_output=True, timeout=60)
    if made.returncode == 5 and re.search(rb'error: P\d\d: ', made.stderr):
        return 'refused', None
    if made.returncode != 0:
        return 'bad', f'seed {seed}: status {made.returncode}: {made.stderr[-500:]!r}'
    runtime = os.path.join(os.path.dirname(sonde), 'src/pandore/runtime')
    built = subprocess.run(['gcc', '-std=gnu11', '-w', '-Ulinux', '-Uunix', '-fsyntax-only', '-I', runtime, path + '.c'],
                           capture_output=True, text=True, timeout=120)
    # of a word that the macro of a phase takes in, the C compiler tells the user's line in a note
    error = (re.search(r'^\(generated\).* error: .*\n(?:.*\n)*?(.*?):(\d+):\d+: note: in expansion of macro', built.stderr, re.M) or
             re.search(r'^(.*?):(\d+):\d+: (?:fatal )?error: (.*)', built.stderr, re.M))
    if built.returncode and not (error and error[1] == path and is_host_text(source, path, int(error[2]))):
        return 'bad', f'seed {seed}: the C does not compile: {built.stderr[:600]}'
    return 'accepted', None


def is_host_text(source, path, line):
    """A line in main() or in a function whose body is no Pandore C, passed on as it is."""
    if line >= host_lines(source) or source.split('\n')[line - 1].lstrip().startswith('#'):
        return True
    code = open(path + '.c').read().split('/* ---- the host ---- */')[1]
    return f'#line' in code and any(int(n) <= line for n in re.findall(r'#line (\d+) ', code))


def main():
    tally = {'refused': 0, 'accepted': 0, 'bad': 0}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for verdict, note in pool.map(lambda seed: judge(seed, folder), range(first, first + count)):
            tally[verdict] += 1
            if note:
                print('#', note.replace('\n', '\n# '))
    print(f'# {tally}')
    print(f"{'ok' if not tally['bad'] else 'not ok'} 1 - {count} mutants: no crash, no C that does not compile")
    print(f"{'ok' if tally['refused'] and tally['accepted'] else 'not ok'} 2 - mutants of both kinds were seen")
    print('1..2')


main()
