"""Ordinary numerical programs are divided, and send what is needed: counted, never timed.

Each program is written twice: in Pandore C, and as the events of its loops: who computes, what is read, what is
written, every condition taken for true. From the events follows what each node must get: each value of an element
once, if another node owns it.

1. Each node runs about its share of the basic blocks that one node alone runs (gcc's -fsanitize-coverage=trace-pc).
2. The optimised scheme moves no more bytes than the naive one, and at most twice what is needed.

pandore_need.py SONDE
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sonde = os.path.abspath(sys.argv[1])
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pandore')
number = 0
N, P = 32, 4


def check(holds, name, *notes):
    global number
    number += 1
    for note in [] if holds else notes:
        print('#', str(note).replace('\n', '\n# '))
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)


# ---- layouts: the text, and the owner of an element ----
LAYOUTS = {'rows': ('block(N/P,N) map regular(0,1)', lambda i, j: i // (N // P)),
           'columns': ('block(N,N/P) map regular(0,1)', lambda i, j: j // (N // P)),
           'dealt': ('block(1,N) map wrapped(0,1)', lambda i, j: i % P),
           'blocks': ('block(N/P) map regular(0)', lambda i: i // (N // P)),
           'dealt1': ('block(1) map wrapped(0)', lambda i: i % P)}


class Program:
    def __init__(self, name, arrays, body, events, chains=0):
        self.name, self.arrays, self.body, self.events, self.chains = name, arrays, body, events, chains

    def source(self):
        dims = {name: '[N][N]' if layout in ('rows', 'columns', 'dealt') else '[N]' for name, layout in self.arrays.items()}
        types = {name: 'int' if name == 'K' else 'double' for name in dims}
        text = f'#define N {N}\n#define P {P}\n#include <stdio.h>\n'
        text += ''.join(f'{types[n]} {n}{d};\n' for n, d in dims.items())
        params = ', '.join(f'{types[n]} {n}{d} by {LAYOUTS[self.arrays[n]][0]}' for n, d in dims.items())
        text += f'dist ph({params})\n{{ int i, j, k, t; double d, f; {self.body} }}\nint main(void)\n{{ int i, j;\n'
        for n, d in dims.items():
            value = 'i * 5 % N' if n == 'K' else '1 + (i * 7 + j * 5) % 11'
            text += f'\tfor (i = 0; i < N; i++) for (j = 0; j < N; j++) {n}[i]{"[j]" if d == "[N][N]" else ""} = {value};\n'
        text += f'\tph({", ".join(dims)});\n'
        text += ''.join(f'\tfor (i = 0; i < N; i++) printf("%g ", 1.0 * {n}[i]{"[i / 2]" if d == "[N][N]" else ""});\n'
                        for n, d in dims.items())
        return text + '\treturn 0; }\n'

    def owner(self, element):
        return LAYOUTS[self.arrays[element[0]]][1](*element[1:])

    def need(self):
        """Bytes: each value of an element once a node that does not own it. A computation belongs to the owner of `who`.
        A sum in its order passes from node to node and then to all, `chains` times."""
        versions, seen, total = {}, set(), self.chains * 2 * (P - 1) * 8
        for who, reads, writes in self.events():
            node = self.owner(who)
            for e in reads:
                key = (e, versions.get(e, 0), node)
                if self.owner(e) != node and key not in seen:
                    seen.add(key)
                    total += 4 if e[0] == 'K' else 8
            for e in writes:
                versions[e] = versions.get(e, 0) + 1
        return total


def jacobi():
    for a, b in (('A', 'B'), ('B', 'A')) * 3:
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                yield (b, i, j), [(a, i - 1, j), (a, i + 1, j), (a, i, j - 1), (a, i, j + 1)], [(b, i, j)]


def gauss():
    for k in range(N - 1):
        for i in range(k + 1, N):
            yield ('A', i, k), [('A', i, k), ('A', k, k)], []
            for j in range(k + 1, N):
                yield ('A', i, j), [('A', i, j), ('A', k, j)], [('A', i, j)]
            yield ('V', i), [('V', i), ('V', k)], [('V', i)]


def floyd():
    for k in range(N):
        for i in range(N):
            for j in range(N):
                # a row and a column of zeros on the diagonal: step k changes neither row k nor column k
                writes = [] if i == k or j == k else [('A', i, j)]
                yield ('A', i, j), [('A', i, k), ('A', k, j), ('A', i, j)], writes


def product():
    for i in range(N):
        for k in range(N):
            for j in range(N):
                yield ('C', i, j), [('A', i, k), ('B', k, j)], [('C', i, j)]


def transposition():
    for i in range(N):
        for j in range(N):
            yield ('B', i, j), [('A', j, i)], [('B', i, j)]


def redblack():
    for _ in range(3):
        for colour in (0, 1):
            for i in range(1, N - 1):
                for j in range(1 + (i + 1 + colour) % 2, N - 1, 2):
                    yield ('A', i, j), [('A', i - 1, j), ('A', i + 1, j), ('A', i, j - 1), ('A', i, j + 1)], [('A', i, j)]


def diagonal():
    for i in range(N):
        yield ('V', i), [('A', i, i), ('A', i, N - 1 - i)], [('V', i)]


def factors():
    for i in range(N):
        for j in range(N):
            yield ('A', i, j), [('A', i, j), ('A', N - 1 - i, i)], [('A', i, j)]


def aligned():
    for i in range(N):
        for j in range(N):
            yield ('A', i, j), [('B', i, j)], [('A', i, j)]


def ranks():
    for i in range(N):
        for j in range(N):
            yield ('A', i, j), [('A', i, j), ('W', i)], [('A', i, j)]
        yield ('V', i), [('W', i)], [('V', i)]


def relaxation():
    for _ in range(3):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                yield ('B', i, j), [('A', i - 1, j), ('A', i + 1, j), ('A', i, j - 1), ('A', i, j + 1)], [('B', i, j)]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                yield ('A', i, j), [('A', i, j), ('B', i, j)], [('A', i, j)]


def scaled():
    for i in range(N):
        yield ('V', i), [('W', i)], [('V', i)]


def picked():
    for k in range(N):
        for j in range(N):
            yield ('A', k, j), [('A', k, j), ('A', (k * 7 + 3) % N, j)], [('A', k, j)]


PROGRAMS = [
    Program('jacobi', {'A': 'rows', 'B': 'rows'}, '''for (t = 0; t < 3; t++) {
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) B[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) A[i][j] = 0.25 * (B[i-1][j] + B[i+1][j] + B[i][j-1] + B[i][j+1]); }''',
            jacobi),
    Program('gauss with a right-hand side', {'A': 'dealt', 'V': 'dealt1'}, '''for (k = 0; k < N - 1; k++)
  for (i = k + 1; i < N; i++) { f = A[i][k] / A[k][k]; for (j = k + 1; j < N; j++) A[i][j] -= f * A[k][j]; V[i] -= f * V[k]; }''',
            gauss),
    Program('floyd', {'A': 'rows'}, '''for (k = 0; k < N; k++) for (i = 0; i < N; i++) for (j = 0; j < N; j++)
  if (A[i][k] + A[k][j] < A[i][j]) A[i][j] = A[i][k] + A[k][j];''', floyd),
    Program('floyd in columns', {'A': 'columns'}, '''for (k = 0; k < N; k++) for (i = 0; i < N; i++) for (j = 0; j < N; j++)
  if (A[i][k] + A[k][j] < A[i][j]) A[i][j] = A[i][k] + A[k][j];''', floyd),
    Program('a row that is picked in each step', {'A': 'rows'},
            'for (k = 0; k < N; k++) { i = (k * 7 + 3) % N; for (j = 0; j < N; j++) A[k][j] = A[k][j] * 0.5 + A[i][j]; }', picked),
    Program('product', {'A': 'rows', 'B': 'rows', 'C': 'rows'}, '''for (i = 0; i < N; i++) for (k = 0; k < N; k++)
  for (j = 0; j < N; j++) C[i][j] += A[i][k] * B[k][j];''', product),
    Program('transposition', {'A': 'rows', 'B': 'rows'},
            'for (i = 0; i < N; i++) for (j = 0; j < N; j++) B[i][j] = A[j][i];', transposition),
    Program('red and black', {'A': 'rows'}, '''for (t = 0; t < 3; t++) {
  for (i = 1; i < N - 1; i += 2) for (j = 1; j < N - 1; j += 2) A[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
  for (i = 2; i < N - 1; i += 2) for (j = 2; j < N - 1; j += 2) A[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
  for (i = 1; i < N - 1; i += 2) for (j = 2; j < N - 1; j += 2) A[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
  for (i = 2; i < N - 1; i += 2) for (j = 1; j < N - 1; j += 2) A[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]); }''',
            redblack),
    Program('two diagonals', {'A': 'columns', 'V': 'dealt1'}, 'for (i = 0; i < N; i++) V[i] = A[i][i] + A[i][N - 1 - i];', diagonal),
    Program('a diagonal of what is written', {'A': 'rows'},
            'for (i = 0; i < N; i++) for (j = 0; j < N; j++) A[i][j] = A[i][j] * 0.5 + A[N - 1 - i][i];', factors),
    Program('an aligned if', {'A': 'rows', 'B': 'rows'},
            'for (i = 0; i < N; i++) for (j = 0; j < N; j++) if (B[i][j] > 5) A[i][j] = B[i][j];', aligned),
    Program('two ranks', {'A': 'rows', 'V': 'blocks', 'W': 'dealt1'},
            'for (i = 0; i < N; i++) { for (j = 0; j < N; j++) A[i][j] -= W[i]; V[i] = W[i] * 2; }', ranks),
    Program('how much changed, and the copy, in one nest', {'A': 'rows', 'B': 'rows'}, '''for (t = 0; t < 3; t++) { d = 0;
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) B[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) {
    f = B[i][j] - A[i][j]; if (f < 0) f = -f; if (f > d) d = f; A[i][j] = B[i][j]; } }
  A[0][0] = d;''', relaxation, chains=3),
    Program('what is computed is compared with what was there', {'A': 'rows', 'B': 'rows'}, '''for (t = 0; t < 3; t++) { d = 0;
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) {
    f = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]); B[i][j] = f; d = d * 0.5 + (f - A[i][j]); }
  for (i = 1; i < N - 1; i++) for (j = 1; j < N - 1; j++) A[i][j] = B[i][j]; }
  A[0][0] = d;''', relaxation, chains=3),
    Program('a norm beside new values', {'V': 'blocks', 'W': 'blocks'},
            'd = 0; for (i = 0; i < N; i++) { V[i] = W[i] * 0.5; d += V[i] * V[i]; } V[0] = d;', scaled, chains=1),
]


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=100, **more)


def built(program, name, *options):
    with open('a.pnd', 'w') as out:
        out.write(program.source())
    made = run([sonde, 'pandore', 'compile', 'a.pnd', '-o', name, *options])
    assert made.returncode == 0, made.stderr
    return name


def traffic(program, scheme):
    ran = run(['./' + built(program, scheme, '--scheme', scheme, '--profile')])
    profile = json.load(open(scheme + '.profile.json'))
    shares = [sum(r['count'] for r in profile['assignments'] if r['node'] == node) for node in range(P)]
    return ran.stdout, sum(r['bytes'] for r in profile['traffic']), shares


def walked(program, p, scheme='opt'):
    options = ['-D', f'P={p}', '--scheme', scheme, '--cc', 'gcc', '--', '-fsanitize-coverage=trace-pc', os.path.join(here, 'walked.c')]
    run(['./' + built(program, f'walked{p}', *options)], env=dict(os.environ, WALKED='counts'), check=True)
    return list(struct.unpack('64Q', open('counts', 'rb').read())[1:p + 1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for program in PROGRAMS:
            naive_said, naive, _ = traffic(program, 'naive')
            said, sent, shares = traffic(program, 'opt')
            need = program.need()
            check(said == naive_said and said, f'{program.name}: both schemes agree')
            check(sent <= naive and sent <= 2 * need, f'{program.name}: {sent} bytes of {need} needed, naive {naive}')
            alone, nodes = walked(program, 1)[0], walked(program, P)
            # twice the share, and what every node runs of the outer loops: messages and spans
            limits = [2 * alone * share / sum(shares) + alone / 10 + 60 * N for share in shares]
            check(all(n <= limit for n, limit in zip(nodes, limits)),
                  f'{program.name}: each node walks its share', alone, nodes, limits, shares)
        nodes = walked(PROGRAMS[1], P, 'naive')
        alone = walked(PROGRAMS[1], 1, 'naive')[0]
        check(min(nodes) > 0.7 * alone, 'what is not divided is seen: naive, every node walks all', alone, nodes)
        os.chdir('/')
    print(f'1..{number}')


main()
