"""Advice of sonde cqa: each subject with a compiled loop that calls for it and one that does not."""
import json
import subprocess

from sonde_test import Test

t = Test()
BASE = ['-g', '-O2', '-fno-tree-vectorize', '-fno-math-errno', '-mavx2', '-mfma', '-ffp-contract=off']
PLAIN = 'void f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = b[i] * 2; }'


def advice(body, flags, arch='cascadelake', how='-c', compiler='gcc'):
    """Subject -> piece of advice, of all innermost loops of the function f."""
    open('f.c', 'w').write(body)
    subprocess.run([compiler, *flags, how, 'f.c', '-o', 'f.o'], check=True)
    done = subprocess.run([t.sonde, 'cqa', 'f.o', '--arch', arch, '--function', 'f', '--format', 'json', '--cols',
                           'loop,label'], capture_output=True, text=True, timeout=60)
    found = {}
    for row in json.loads(done.stdout)['rows']:
        page = subprocess.run([t.sonde, 'cqa', 'f.o', '--arch', arch, '--loop', row['loop'], '--format', 'json'],
                              capture_output=True, text=True, timeout=60)
        for piece in json.loads(page.stdout)['details'][0]['advice']:
            found.setdefault(piece['subject'], piece)
    return found


# subject: (loop that calls for it, flags, confidence, loop that does not, flags)
fast = ['-g', '-O3', '-march=skylake-avx512', '-mprefer-vector-width=512', '-ffast-math']
CASES = {
    'vectorize': (PLAIN, BASE, 'gain', PLAIN, fast),
    'wider vectors': (PLAIN, ['-g', '-O3'], 'potential', PLAIN, fast),
    'vectorize integers':
        ('void f(int *restrict a, const int *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = b[i] * 5 + 3; }',
         BASE, 'potential',
         'void f(int *restrict a, const int *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = b[i] * 5 + 3; }',
         fast),
    'clean':
        ('void f(double *a, unsigned *restrict h, long n) { for (long i = 0; i < n; i++) { unsigned y = h[i]; '
         'y ^= y >> 7; y += y << 3; y ^= y >> 11; y = y * 3 ^ y >> 5; y += y << 9; y ^= y >> 2; h[i] = y; '
         'a[i] += 1.0; } }', BASE, 'gain',
         # the numbers are needed, and each needs the one before
         'double f(unsigned long x, long n) { double s = 0; for (long i = 0; i < n; i++) { x ^= x << 13; x ^= x >> 7; '
         'x ^= x << 17; s += (double)(long)(x >> 12); } return s; }', BASE),
    'partial sums':
        ('double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }',
         BASE, 'gain', PLAIN, BASE),
    'partial unroll':
        ('double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }',
         BASE + ['-funroll-loops'], 'hint', PLAIN, BASE + ['-funroll-loops']),
    'dependence':
        ('void f(double *a, const double *b, long n) { for (long i = 1; i < n; i++) a[i] = a[i - 1] * 0.5 + b[i]; }',
         BASE, 'potential', PLAIN, BASE),
    'division':
        ('void f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = 1 / b[i]; }',
         BASE, 'potential', PLAIN, BASE),
    'array of structures':
        ('struct p { double x, y, z; }; double f(const struct p *p, long n) { double s = 0; '
         'for (long i = 0; i < n; i++) s += p[i].x * p[i].x; return s; }',
         BASE, 'hint',
         'double f(const double *x, const double *y, const double *z, long n) { double s = 0; '
         'for (long i = 0; i < n; i++) s += x[i] * x[i] + y[i] * y[i] + z[i] * z[i]; return s; }', BASE),
    'strides':
        ('double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i * 64]; return s; }',
         BASE, 'hint',
         'double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }', BASE),
    'indirect access':
        ('void f(double *restrict a, const int *x, const double *restrict b, long n) '
         '{ for (long i = 0; i < n; i++) a[i] += b[x[i]]; }', BASE, 'hint', PLAIN, BASE),
    'spills':
        ('void f(double *a, long n) { double r[24]; for (int k = 0; k < 24; k++) r[k] = a[k]; '
         'for (long i = 0; i < n; i++) { double t = a[i]; ' +
         ' '.join(f'r[{k}] = r[{k}] * t + r[{(k + 7) % 24}];' for k in range(24)) +
         '} for (int k = 0; k < 24; k++) a[k] = r[k]; }', BASE, 'hint', PLAIN, BASE),
    'bandwidth': (PLAIN, fast, 'expert',
                  'void f(double *a, long n) { for (long i = 0; i < n; i++) { double x = a[i]; '
                  'for (int k = 0; k < 1; k++) x = 1 / (x + 1 / (x + 1 / (x + 3))); a[i] = x; } }', BASE),
    'conversions':
        ('void f(float *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = b[i]; }',
         BASE, 'hint', PLAIN, BASE),
    'fma':
        ('void f(double *restrict a, const double *restrict b, const double *restrict c, long n) '
         '{ for (long i = 0; i < n; i++) a[i] = b[i] * c[i] + 1.5; }', ['-g', '-O2', '-fno-tree-vectorize'], 'hint',
         'void f(double *restrict a, const double *restrict b, const double *restrict c, long n) '
         '{ for (long i = 0; i < n; i++) a[i] = b[i] * c[i] + 1.5; }',
         ['-g', '-O2', '-fno-tree-vectorize', '-mfma', '-ffp-contract=fast']),
    'fma order':
        ('void f(double *restrict a, const double *restrict b, const double *restrict c, long n) '
         '{ for (long i = 0; i < n; i++) a[i] = (b[i] + c[i]) * (b[i] * 1.5 + 0.3); }',
         ['-g', '-O2', '-fno-tree-vectorize', '-mfma'], 'expert',
         'void f(double *restrict a, const double *restrict b, const double *restrict c, long n) '
         '{ for (long i = 0; i < n; i++) a[i] = b[i] * 1.5 + c[i]; }',
         ['-g', '-O2', '-fno-tree-vectorize', '-mfma']),
    'x87':
        ('long double f(const long double *a, long n) { long double s = 0; for (long i = 0; i < n; i++) s += a[i]; '
         'return s; }', BASE, 'hint', PLAIN, BASE),
    'slow instructions':
        ('void f(int *a, long n) { for (long i = 0; i < n; i++) __atomic_fetch_add(&a[i], 1, __ATOMIC_SEQ_CST); }',
         BASE, 'hint', PLAIN, BASE),
    'gathers':
        ('void f(double *restrict a, const int *x, const double *restrict b, long n) '
         '{ for (long i = 0; i < n; i++) a[i] += b[x[i]]; }', fast,
         'expert', PLAIN, fast),
    'many paths':
        ('extern int u[8]; void f(const int *a, long n) { for (long i = 0; i < n; i++) { '
         'if (a[i] & 1) u[0] = i; else if (a[i] & 2) u[1] += 3; else if (a[i] & 4) u[2] ^= 1; '
         'else if (a[i] & 8) u[3] = 9; else u[5] = -i; } }', BASE, 'hint', PLAIN, BASE),
    'too many paths':
        ('extern int u[8]; void f(const int *a, long n) { for (long i = 0; i < n; i++) { '
         'if (a[i] & 1) u[0] = i; if (a[i] & 2) u[1] += 3; if (a[i] & 4) u[2] ^= 1; '
         'if (a[i] & 8) u[3] = 9; if (a[i] & 16) u[4]--; } }', BASE, 'hint', PLAIN, BASE),
    'calls':
        ('double g(double); void f(double *a, long n) { for (long i = 0; i < n; i++) a[i] = g(a[i]); }', BASE, 'hint',
         PLAIN, BASE),
    'unroll':
        ('void f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = b[i]; }',
         ['-g', '-O2', '-fno-tree-vectorize', '-fno-tree-loop-distribute-patterns'], 'expert',
         'double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }', BASE),
    'short trip':
        ('void f(double *restrict a, const double *restrict b) { for (long i = 0; i < 12; i++) a[i] = b[i] * b[i + 1]; }',
         ['-g', '-O1', '-fno-tree-vectorize', '-fno-tree-loop-optimize'], None, PLAIN, BASE),
    'debug lines': (PLAIN, ['-O2', '-fno-tree-vectorize'], 'hint', PLAIN, BASE),
    'optimization': (PLAIN, ['-g', '-O1'], 'potential', PLAIN, BASE),
    'target': (PLAIN, ['-g', '-O2', '-fno-tree-vectorize'], 'potential', PLAIN, BASE),
}

for subject, (with_it, flags, confidence, without, other_flags) in CASES.items():
    got = advice(with_it, flags)
    piece = got.get(subject)
    t.check(piece and (not confidence or piece['confidence'] == confidence) and piece['evidence'] and
            piece['sentence'].endswith('.'), f'{subject}: said where it holds', got)
    got = advice(without, other_flags)
    t.check(subject not in got, f'{subject}: not said where it does not', got)

# ---- gains that are named as far as something honest can be said ----
def gains(body, subject, flags=BASE):
    """(in RAM, in L1, at most) and the evidence."""
    piece = advice(body, flags)[subject]
    return [piece[k] for k in ('sure_speedup', 'speedup', 'most_speedup')], piece['evidence']


got, why = gains('void f(float *restrict y, const float *restrict x, long n) '
                 '{ for (long i = 0; i < n; i++) y[i] = (float)((double)x[i] * 0.3 + 1.1); }', 'conversions')
t.check(1 <= got[0] <= got[1] == got[2] and 1.3 < got[1] < 2 and 'floating-point types' in why, 'two conversions of four operations cost a third', got, why)
got, why = gains('void f(double *restrict y, const int *restrict x, long n) { for (long i = 0; i < n; i++) y[i] = x[i] * 0.3; }', 'conversions')
t.check(got == [None] * 3 and 'integers' in why and 'not seen' in why, 'what takes the place of integers is not known', got, why)
got, why = gains(CASES['vectorize integers'][0], 'vectorize integers')
t.check(1 <= got[0] < got[1] == got[2] and 8 < got[1] < 32, 'sixteen integers at a time', got, why)
got, why = gains('unsigned f(const unsigned char *x, long n) { unsigned s = 0; for (long i = 0; i < n; i++) s += x[i] > 100 ? x[i] : 0; return s; }',
                 'vectorize integers')
t.check(got[0] <= got[1] < got[2] < 64 and 'narrow' in why, 'bytes may stay bytes, but not their sum', got, why)
for body, reason in (('long f(const int *a, int k, long n) { for (long i = 0; i < n; i++) if (a[i] == k) return i; return -1; }', 'leaves early'),
                     ('void f(unsigned *restrict a, const unsigned *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = __builtin_bswap32(b[i]); }',
                      'no vector form')):
    got, why = gains(body, 'vectorize integers', BASE + ['-mno-movbe'])
    t.check(got == [None] * 3 and 'the gain is not known' in why and reason in why, f'integers: {reason}', got, why)
for subject in ('strides', 'array of structures'):
    got, why = gains(CASES[subject][0], subject)
    t.check(got[:2] == [1, 1] and got[2] > 1.2, f'{subject}: nothing in L1, but more with data from afar', got)
for body, flags, name in (
        ('struct p { double x, y, z; }; double f(const struct p *p, long n) { double s = 0; '
         'for (long i = 0; i < n; i++) s += p[i].x * p[i].y * p[i].z; return s; }', BASE, 'all fields'),
        ('double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }',
         BASE + ['-funroll-loops'], 'unrolled'),
        (PLAIN, fast + ['-funroll-loops'], 'unrolled 64-byte vectors'),
        ('double f(const double *p, const double *q, long n) { double a = 0, b = 0, c = 0, d = 0; '
         'for (long i = 0; i < n; i += 4) { a += p[i] * q[i]; b += p[i + 1] * q[i + 1]; c += p[i + 2] * q[i + 2]; '
         'd += p[i + 3] * q[i + 3]; } return a + b + c + d; }', BASE, 'four by hand'),
        ('long double f(const long double *a, long n) { long double s = 0; '
         'for (long i = 0; i < n; i++) s += a[i]; return s; }', BASE, 'extended numbers'),
        ('double g(double, double); double f(double x, long n) { volatile double k[8]; double s = 0; '
         'for (long i = 0; i < n; i++) { k[1] = x; k[3] += s; s = g(s, k[5]); } return s; }', BASE, 'stack and a call')):
    got = advice(body, flags)
    t.check('array of structures' not in got and 'strides' not in got, f'contiguous, {name}: no other layout is advised',
            got)
got = advice(CASES['array of structures'][0].replace('p[i].x * p[i].x', 'p[i].x * p[i].z'), BASE)
t.check('array of structures' in got, 'two of three fields are an array of structures', got)
got = advice('void f(int *restrict a, const int *restrict b, int c, long n) { for (long i = 0; i < n; i++) a[i] = b[i] / c; }',
             BASE)
t.check('conversions' not in got and '1 integer division holds' in got.get('division', {}).get('evidence', '1 integer division holds'),
        'the sign extension of a division is no conversion', got)
t.check('remainder' in got['division']['sentence'], 'integers are divided otherwise than numbers', got['division'])
got = advice('long double f(long double x, long double y, long n) { for (long i = 0; i < n; i++) '
             '__asm__ volatile("fprem" : "+t"(x) : "u"(y)); return x; }', ['-g', '-O2'], 'zen5')
t.check('fprem' in got.get('slow instructions', {}).get('sentence', '') and 'unroll' not in got and 'target' not in got,
        'an instruction from microcode is named, no other way out is promised', got)
got = advice(CASES['fma'][0], BASE + ['-mno-fma4'])
t.check('-mfma' not in got['fma']['sentence'] and '1 product feeds' in got['fma']['evidence'],
        'what was compiled with -mfma is not told to', got)
got = advice(PLAIN, ['-g', '-O0'])
t.equal(list(got), ['optimization'], 'without optimization nothing else is worth saying')

# a sum may be reordered, a recurrence never: body, its type and what begins it
PASS = 'for (long i = 0; i < n; i++) '
RECURRENCES = {
    'newton': 's = .5 * (s + x / s);', 'quotient': 's = p[i] / s;', 'fibonacci': '{ double t = x + s; x = s; s = t; }',
    'self': 's += p[i] * s;', 'horner': 's = s * x + p[i];', 'coupled': '{ s += p[i] * x; x += p[i] * s; }',
    'logistic': 's = x * s * (1 - s);', 'alternating': 's = p[i] - s;', 'list': '{ s += *l; l = *(double **)(l + 1); }',
}
SUMS = {
    'sum': 's += p[i];', 'difference': 's -= p[i];', 'dot': 's += p[i] * q[i];', 'minus dot': 's -= p[i] * q[i];',
    'product': 's *= p[i];', 'minimum': 's = p[i] < s ? p[i] : s;', 'maximum': 's = p[i] > s ? p[i] : s;',
    'two sums': '{ s += p[i]; x += p[i] * p[i]; }', 'single': 's += f[i];',
}
source = ''.join(f"double {name.replace(' ', '_')}(const double *p, const double *q, const float *f, double *l, double s, "
                 f'double x, long n) {{ {PASS}{body} return s + x; }}\n' for name, body in {**RECURRENCES, **SUMS}.items())
source += ('double four(const double *p, const double *q, long n) { double a = 0, b = 0, c = 0, d = 0; '
           'for (long i = 0; i < n; i += 4) { a += p[i] * q[i]; b += p[i + 1] * q[i + 1]; c += p[i + 2] * q[i + 2]; '
           'd += p[i + 3] * q[i + 3]; } return a + b + c + d; }\n'
           'long double x87(const long double *p, long n) { long double s = 0; ' + PASS + 's += p[i]; return s; }\n')
open('sums.c', 'w').write(source)
for words in (['gcc', '-O2', '-fno-tree-vectorize'], ['gcc', '-O2', '-fno-tree-vectorize', '-mfma'],
              ['gcc', '-O2', '-fno-tree-vectorize', '-march=skylake-avx512', '-funroll-loops'],
              ['clang', '-O2', '-fno-vectorize', '-fno-slp-vectorize'],
              ['clang', '-O2', '-fno-vectorize', '-fno-slp-vectorize', '-march=haswell', '-ffp-contract=fast']):
    subprocess.run([*words, '-g', '-c', 'sums.c', '-o', 'sums.o'], check=True)
    for arch in ('cascadelake', 'zen5'):
        done = subprocess.run([t.sonde, 'cqa', 'sums.o', '--arch', arch, '--format', 'json', '--cols',
                               'function,bottleneck,full_vector_speedup,fp_vector_speedup,advice_subjects'],
                              capture_output=True, text=True, timeout=60)
        wrong = []
        for row in json.loads(done.stdout)['rows']:
            name, said = row['function'].replace('_', ' '), row['advice_subjects'] or ''
            if name in RECURRENCES and (row['full_vector_speedup'] > 1.01 or row['fp_vector_speedup'] > 1.01 or
                                        'vectorize' in said or 'partial' in said):
                wrong.append(row)
            if name in SUMS and (row['full_vector_speedup'] < 2 or 'vectorize' not in said or
                                 (row['bottleneck'] == 'latency' and 'partial sums' not in said)):
                wrong.append(row)
            if name in ('four', 'x87') and row['bottleneck'] == 'latency' and 'partial sums' not in said:
                wrong.append(row)
        t.check(not wrong and done.stdout.count('bottleneck') >= 19, f"{' '.join(words)}, {arch}: sums and recurrences", wrong)

# sums with steps left out, a sum that begins anew, and a recurrence beside a slower sum
open('steps.c', 'w').write(''.join(
    f'double {name}(const double *p, const double *q, double s, double x, long n) {{ {PASS}{body} return s + x; }}\n'
    for name, body in {'masked': 's += q[i] > 0 ? p[i] : 0;', 'chosen': 's = q[i] > 0 ? s + p[i] : s;',
                       'anew': 's = q[i] > 0 ? s + p[i] : p[i];',
                       'beside': '{ s = s + p[i] + q[i] + p[i] * q[i]; x = .5 - x; }'}.items()))
for words in (['gcc', '-O2', '-fno-tree-vectorize'], ['gcc', '-O3', '-march=skylake-avx512', '-fno-tree-vectorize'],
              ['clang', '-O2', '-fno-vectorize', '-fno-slp-vectorize', '-fno-unroll-loops', '-march=haswell'],
              ['gcc', '-O3', '-march=skylake-avx512', '-ffast-math']):
    subprocess.run([*words, '-g', '-c', 'steps.c', '-o', 'steps.o'], check=True)
    done = subprocess.run([t.sonde, 'cqa', 'steps.o', '--arch', 'cascadelake', '--format', 'json', '--filter', 'role=main',
                           '--cols', 'function,l1_cycles,full_vector_speedup,advice_subjects,role'],
                          capture_output=True, text=True, timeout=60)
    rows = {r['function']: r for r in json.loads(done.stdout)['rows']}
    t.check(all('partial sums' in rows[f]['advice_subjects'] and rows[f]['full_vector_speedup'] >= 2
                for f in ('masked', 'chosen')), f"{' '.join(words)}: a step that is left out makes no recurrence of a sum", rows)
    t.check('partial sums' not in rows['anew']['advice_subjects'] and rows['anew']['full_vector_speedup'] < 2,
            'a sum that begins anew is one', rows['anew'])
    t.check(rows['beside']['full_vector_speedup'] < 3.05 and 'vectorize' in rows['beside']['advice_subjects'],
            'a recurrence beside a slower sum stays', rows['beside'])
# numbers that are each computed from the one before: no vectors, no sum that may be reordered
for name, step in {'lcg': 'x = x * 6364136223846793005ul + 1442695040888963407ul;',
                   'xorshift': 'x ^= x << 13; x ^= x >> 7; x ^= x << 17;'}.items():
    for flags in (['-O2'], ['-O3', '-march=skylake-avx512'], ['-Ofast', '-march=haswell']):
        said = advice(f'double f(unsigned long x, long n) {{ double s = 0; for (long i = 0; i < n; i++) {{ {step} '
                      's += (double)(long)(x >> 12) * .5; } return s; }', ['-g', '-fno-tree-vectorize', *flags])
        t.check(not {'vectorize', 'clean', 'wider vectors', 'partial sums'} & set(said),
                f"{name}, {' '.join(flags)}: a recurrence of integers is neither vectorized nor removed", said)

# what the code was compiled with already is no advice, and the rest of a vectorized loop is told from one that is not
IF = 'double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) { if (a[i] > .5) s += a[i]; else s -= 2 * a[i]; } return s; }'
said = advice(IF, ['-g', '-Ofast', '-fno-if-conversion'])
t.check('branches' in said['vectorize']['sentence'] and '-ffast-math' not in str(said), '-Ofast: no -ffast-math', said)
said = advice(IF, ['-g', '-O2', '-fno-if-conversion'])
t.check('-ffast-math' in said['vectorize']['sentence'], '-O2: -ffast-math', said)
said = advice(PLAIN.replace('restrict', ''), ['-g', '-Ofast', '-march=skylake-avx512', '-fno-tree-vectorize'])
t.check('leave out -fno-tree-vectorize' in said['vectorize']['sentence'] and '-march' not in str(said) and '-O3' not in str(said),
        '-fno-tree-vectorize is named, -march is not', said)
said = advice(PLAIN.replace('restrict', ''), ['-g', '-Ofast', '-march=skylake-avx512', '-mprefer-vector-width=512'])
t.check('fallback' in said and not {'vectorize', 'wider vectors'} & set(said), 'the version for pointers that overlap is one', said)
said = advice('double f(const double *a, double x, long n) { double s = 0; for (long i = 0; i < n; i++) { if (a[i] == x) break; '
              's += a[i] * a[i]; } return s; }', ['-g', '-O3', '-march=skylake-avx512'])
t.check('leaves early' in said['vectorize']['sentence'] and said['vectorize']['confidence'] == 'potential', 'a search leaves early', said)
said = advice('long f(const int *a, int x, long n) { long i; for (i = 0; i < n; i++) if (a[i] == x) break; return i; }',
              ['-g', '-O3', '-march=skylake-avx512'])
t.check('leaves early' in said['vectorize integers']['sentence'], 'a search for an integer leaves early', said)

# functions that are called for want of an option
ROOT = '#include <math.h>\nvoid f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = sqrt(b[i]); }'
BITS = 'int f(const unsigned long *a, long n) { int c = 0; for (long i = 0; i < n; i++) c += __builtin_popcountll(a[i]); return c; }'
SINE = '#include <math.h>\nvoid f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] = sin(b[i]); }'
for how in ('-c', '-shared'):
    said = advice(ROOT, ['-g', '-O2', '-fPIC'], 'zen5', how)
    t.check('-fno-math-errno' in said['calls']['sentence'] and '-fno-math-errno' in str(said.get('vectorize')), f'{how}: sqrt sets errno', said)
    said = advice(ROOT, ['-g', '-O2', '-fPIC', '-fno-math-errno'], how=how)
    t.check('calls' not in said, f'{how}: sqrt is an instruction', said)
said = advice(BITS, ['-g', '-O2', '-fPIC'], how='-shared')
t.check('-mpopcnt' in said['calls']['sentence'] and 'vectorize integers' not in said, 'bits are counted by a function', said)
said = advice(SINE, ['-g', '-O2', '-fPIC'], how='-shared')
t.check('inline' in said['calls']['sentence'] and 'errno' not in str(said), 'a sine is no instruction', said)

# one place of each row in a nest is a column, and so are rows that an unrolled loop goes through
NEST = ('void f(double c[N][N], const double a[N][N], const double b[N][N]) { for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) '
        '{ double s = 0; for (int k = 0; k < N; k++) s += a[i][k] * b[k][j]; c[i][j] = s; } }')
for n in (8, 100):
    said = advice(NEST, ['-g', '-O2', f'-DN={n}'])
    t.check('interchange' in said['strides']['sentence'] and 'array of structures' not in said, f'a column of {n} rows is one', said)
said = advice('double f(const double *b, long n) { double s = 0; for (long k = 0; k < n; k += 2) s += b[k * 100] + b[k * 100 + 100]; '
              'return s; }', ['-g', '-O2'])
t.check('strides' in said and 'array of structures' not in said, 'an unrolled column is one', said)

# which elements are taken is decided by data: that is no work to remove
TAKE = 'double f(const double *a, const int *x, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[x[i]]; return s; }'
CHASE = ('struct n { double v; struct n **to; long k; }; double f(const struct n *p, long n) { double s = 0; '
         'for (long i = 0; i < n; i++) { s += p->v; p = p->to[p->k & 7]; } return s; }')
for body, flags in ((TAKE, ['-O2']), (TAKE, ['-Ofast', '-march=skylake-avx512', '-mprefer-vector-width=512']),
                    (TAKE, ['-Ofast', '-march=haswell']), (CHASE, ['-O2']), (TAKE, ['-O2', '-funroll-loops'])):
    for arch in ('cascadelake', 'zen5'):
        said = advice(body, ['-g', *flags], arch)
        t.check('clean' not in said, f"{arch}, {' '.join(flags)}: addresses that come from memory are not removed", said)

# x87 neither fuses nor has vectors
said = advice('long double f(const long double *a, const long double *b, long n) { long double s = 0; '
              'for (long i = 0; i < n; i++) s += a[i] * b[i]; return s; }', ['-g', '-O2'])
t.check('fma' not in said and 'x87' in said, 'x87 does not fuse', said)
page = subprocess.run([t.sonde, 'cqa', 'f.o', '--arch', 'zen5', '--loop', 'f.c:1'], capture_output=True, text=True, timeout=60).stdout
t.check('Metrics' in page and 'vector efficiency' not in page, 'x87 is not counted as vectors', page)

# options that the compiler does not record are not missing where the code shows them
PAIR = ('void f(double *a, const double *b, const double *c, long n) { for (long i = 0; i < n; i++) '
        '{ double x = b[i] * c[i]; a[i] = x * c[i] + x; } }')
SO = '(if it is not compiled so already)'
said = advice(PAIR, ['-g', '-O3', '-march=skylake-avx512', '-fno-vectorize'], compiler='clang')
t.check('-march' not in str(said) and f'-O3 {SO}' in said['vectorize']['sentence'], 'clang: -march is seen in the code', said)
said = advice(PAIR, ['-g', '-O3', '-march=skylake-avx512', '-fno-vectorize', '-ffp-contract=off'], compiler='clang')
t.check('if it is not compiled so already' in said['fma']['sentence'], 'clang: -ffp-contract may have been given', said)
said = advice(PAIR, ['-g', '-O2', '-fno-vectorize'], compiler='clang')
t.check(f'(-march=native) {SO}' in said['vectorize']['sentence'], 'clang: plain code may want -march', said)
said = advice('double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }',
              ['-g', '-O3', '-fno-unroll-loops'], compiler='clang')
t.check(f'-ffast-math {SO}' in said['partial sums']['sentence'] and f'-fassociative-math {SO}' in said['vectorize']['sentence'],
        'clang: -ffast-math may have been given', said)

# what no vector can do, and what is no gain of this loop
for body in ('long f(const long *a, long m, long n) { long s = 0; for (long i = 0; i < n; i++) s += a[i] % m; return s; }',
             'void f(double *a, const unsigned *b, unsigned m, long n) { for (long i = 0; i < n; i++) a[i] += b[i] / m; }'):
    said = advice(body, ['-g', '-O3', '-fno-tree-vectorize'])
    t.check('division' in said and 'Vectorize' not in str(said), 'no vector divides integers', said)
for table in ('int *h, const int *b, long n) { for (long i = 0; i < n; i++) h[b[i]]++; }',
              'double *h, const int *b, const double *w, long n) { for (long i = 0; i < n; i++) h[b[i]] += w[i]; }'):
    said = advice(f'void f({table}', ['-g', '-O2'])
    t.check('private tables' in said['conflicts']['sentence'] and said['conflicts']['confidence'] == 'hint' and
            'Vectorize' not in str(said) and 'indirect access' not in said, 'a histogram: its conflicts are what keeps it', said)
for body in ('struct s { double v, w; }; void f(struct s **h, long n) { for (long i = 0; i < n; i++) h[i]->v += h[i]->w; }',
             'void f(double *a, const int *p, long n) { for (long i = 0; i < n; i++) { double x = a[i]; a[i] = a[p[i]]; a[p[i]] = x; } }',
             'struct s { struct s *to; double v; }; void f(struct s *h) { for (; h; h = h->to) h->v += 1; }',
             'void f(double *restrict a, const int *x, const double *restrict b, long n) { for (long i = 0; i < n; i++) a[i] += b[x[i]]; }'):
    said = advice(body, ['-g', '-O2'])
    t.check('conflicts' not in said and 'indirect access' in said, 'pointers, swaps and gathers are no tables that conflict', said)
said = advice('int f(const int *a, int n) { int at = 0; for (int i = 1; i < n; i++) if (a[i] > a[at]) at = i; return at; }', ['-g', '-O2'])
t.check('dependence' in said and 'indirect access' not in said and 'strides' not in said, 'a counter that is selected is no address from memory', said)
SHORT = 'void f(double *restrict a, const double *restrict b) { for (long i = 0; i < PASSES; i++) a[i] = b[i] * 2; }'
KEPT = ['-g', '-O2', '-fno-tree-vectorize', '-fno-tree-loop-optimize']
for passes, most, words in ((3, 3, '3 passes'), (12, 6, '12 passes'), (1000, 8, '')):
    said = advice(SHORT, [*KEPT, f'-DPASSES={passes}'], 'zen5')['vectorize']
    t.check(most - .01 <= said['speedup'] <= most + .01 and (words or 'vectors') in said['evidence'] and
            ('begins at 0' in said['evidence']) == bool(words), f'{passes} passes: no more than fits', said)
said = advice('void f(double *restrict a, const double *restrict b, long n) { for (long i = 0; i < n; i++) '
              'for (long j = 0; j < n; j++) a[i * n + j] = b[j * n + i]; }', ['-g', '-O2'])
t.check('interchange' in said['strides']['sentence'] and 'blocks' in said['strides']['sentence'] and
        said['strides']['confidence'] == 'hint', 'a transposition strides by a register', said)
for kind, flags in (('double', ['-march=haswell']), ('float', ['-march=skylake-avx512'])):
    said = advice(TAKE.replace('double', kind), ['-g', '-Ofast', *flags])
    t.check('gathers' in said and 'dependence' not in said and 'wider vectors' not in said,
            f'{kind}: what a gather merges into is no dependence', said)
said = advice(SINE.replace(');', ') * 2;', 1), ['-g', '-O2', '-fPIC'], how='-shared')
t.check(said['vectorize']['confidence'] == 'hint' and said['vectorize']['speedup'] is None and
        'without the function' in said['vectorize']['evidence'], 'what a loop with a call gains is not known', said)
t.done()
