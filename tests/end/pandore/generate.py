"""Random Pandore programs and the sequential C they must agree with, bit for bit.

A program is one body under several distributions (one phase each), on two matrices, two vectors and
a vector of integers. Subscripts stay in bounds by construction; values stay finite.
"""
import random

PREAMBLE = '''
#include <stdio.h>
#include <string.h>
#define N %(n)d
#define M %(m)d
#define P %(p)d
'''

SUPPORT = '''
%(ta)s A[N][M];
double B[N][M];
%(tv)s V[N];
double W[M];
int K[N];
'''

FUNCTIONS = '''
double mix(double a, double b)
{
	double c;
	c = a * 0.5 + b * 0.25;
	if (c > 100.0)
		c = c * 0.01;
	return c;
}
int turn(int a, int b)
{
	return (a * 3 + b) % 5;
}
'''

MAIN = '''
static unsigned long hash(const void *bytes, unsigned long count)
{
	const unsigned char *c = bytes;
	unsigned long h = 1469598103934665603ul;
	while (count--)
		h = (h ^ *c++) * 1099511628211ul;
	return h;
}

static void fill(void)
{
	int i, j;
	for (i = 0; i < N; i++) {
		V[i] = (i * 37 %% 11) * 3 / 4.0;
		K[i] = i * 5 %% N;
		for (j = 0; j < M; j++) {
			A[i][j] = (i * 7 + j * 13) %% 17 / 3.0;
			B[i][j] = (i * 3 + j * 5) %% 19 / 7.0 - 1;
		}
	}
	for (j = 0; j < M; j++)
		W[j] = (j * 11 %% 7) / 5.0;
}

int main(void)
{
%(calls)s	return 0;
}
'''

CALL = '''	fill();
	%s(A, B, V, W, K, 3, 0.75);
	printf("%s %%lx %%lx %%lx %%lx %%lx\\n", hash(A, sizeof(A)), hash(B, sizeof(B)), hash(V, sizeof(V)),
	       hash(W, sizeof(W)), hash(K, sizeof(K)));
'''

DIMS = {'A': ('N', 'M'), 'B': ('N', 'M'), 'V': ('N',), 'W': ('M',), 'K': ('N',)}


def distributions(rng, rank, n, m, p):
    """Six ways to lay out an array; the sixth is replicated."""
    up = lambda x: max(1, -(-x // p))
    if rank == 2:
        return [f'by block({up(n)}, {m}) map regular(0,1)',
                f'by block({n}, {up(m)}) map regular(0,1)',
                f'by block({rng.randint(1, 3)}, {m}) map wrapped(0,1)',
                f'by block({rng.randint(1, 4)}, {rng.randint(1, 4)}) map wrapped(1,0)',
                f'by block({-(-n // 2)}, {-(-m // 2)}) map regular({rng.choice(["0,1", "1,0"])})', '']
    return [f'by block({up(n)}) map regular(0)', f'by block({n}) map regular(0)',
            f'by block({rng.randint(1, 3)}) map wrapped(0)', f'by block({rng.randint(1, 4)}) map wrapped(0)',
            f'by block({-(-n // 2)}) map regular(0)', '']


class Body:
    """One random phase body. Loop variables and their ranges are known while it is written."""

    def __init__(self, rng, n, m):
        self.rng, self.size = rng, {'N': n, 'M': m}
        self.loops = []  # (variable, low, high): inclusive bounds of its value
        self.depth = 0

    def subscript(self, extent):
        rng, limit = self.rng, self.size[extent]
        fits = []
        for var, low, high in self.loops:
            for c in (-2, -1, 0, 0, 0, 1, 2):
                if low + c >= 0 and high + c < limit:
                    fits.append(f'{var}{c:+d}' if c else var)
            if 2 * high + 1 < limit and low >= 0:
                fits += [f'2*{var}', f'2*{var}+1']
            if high < self.size['N'] and low >= 0 and rng.random() < 0.3:
                fits.append(f'idx[{var}] % {extent}')
            if rng.random() < 0.15 and high < self.size['N'] and low >= 0:
                fits.append(f'K[{var}] % {extent}')
        if not fits or rng.random() < 0.08:
            return str(rng.randrange(limit))
        return rng.choice(fits)

    def element(self, names='ABVW'):
        name = self.rng.choice(names)
        return name + ''.join(f'[{self.subscript(d)}]' for d in DIMS[name])

    def expr(self, depth=0):
        rng, roll = self.rng, self.rng.random()
        if depth > 2 or roll < 0.45:
            return rng.choice([self.element, self.element, self.element, self.atom])()
        if roll < 0.7:
            return f'{self.expr(depth + 1)} * 0.5 + {self.expr(depth + 1)} * 0.25'
        if roll < 0.8:
            return f'mix({self.expr(depth + 1)}, {self.expr(depth + 1)})'
        if roll < 0.88:
            return f'({self.condition()} ? {self.expr(depth + 1)} : {self.expr(depth + 1)})'
        if roll < 0.94:
            return f'0.5 * ({self.expr(depth + 1)} - {self.expr(depth + 1)})'
        return f'fabs({self.expr(depth + 1)})'

    def atom(self):
        choices = ['1.5', '0.125', 's', 'x', 'k', '2']
        return self.rng.choice(choices + [v for v, _, _ in self.loops])

    def condition(self):
        rng = self.rng
        simple = [f'{v} % 3 {rng.choice(["==", "!="])} 1' for v, _, _ in self.loops] + ['k > 2', 's < 4.0']
        simple.append(f'{self.element()} {rng.choice("<>")} 0.5')
        one = rng.choice(simple)
        return f'{one} {rng.choice(["&&", "||"])} {rng.choice(simple)}' if rng.random() < 0.25 else one

    def assign(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.12:
            return f's = s * 0.5 + {self.expr(1)};'
        if roll < 0.16:
            return f't[{self.subscript("N")}] = {self.expr(1)};'
        if roll < 0.2:
            return f's += {self.element()} * 0.125;'
        if roll < 0.24:
            return f'K[{self.subscript("N")}] = turn({rng.choice([v for v, _, _ in self.loops] + ["k"])}, k);'
        target = self.element()
        if roll < 0.32:
            return f'{target} {rng.choice(["+=", "-="])} {self.expr(1)} * 0.125;'
        return f'{target} = {self.expr()};'

    def loop(self, indent):
        rng = self.rng
        var = 'ijl'[len(self.loops)]
        low, high = rng.choice([(0, 0), (1, 1), (2, 2), (0, 2)])
        extent = rng.choice('NM')
        limit = min(self.size['N'], self.size['M']) if rng.random() < 0.4 else self.size[extent]
        low, high = low, limit - 1 - high
        roll = rng.random()
        if roll < 0.1:
            head = f'for ({var} = {high}; {var} >= {low}; {var}--)'
        elif roll < 0.2:
            head = f'for ({var} = {low}; {var} <= {high}; {var} += 2)'
        elif roll < 0.3 and self.loops:
            outer, olow, ohigh = rng.choice(self.loops)
            head = f'for ({var} = {outer}; {var} <= {high}; {var}++)'
            low = olow
            high = max(high, low)
        else:
            head = f'for ({var} = {low}; {var} < {high + 1}; {var}++)'
        self.loops.append((var, low, high))
        text = indent + head + '\n' + self.block(indent)
        self.loops.pop()
        return text

    def stencil(self, indent):
        """Two loops over one or two arrays with constant distances: what pipelines are made of."""
        rng = self.rng
        order = rng.choice([('i', 'N', 'j', 'M'), ('j', 'M', 'i', 'N')])
        target, heads = rng.choice('AB'), []
        for var, extent in (order[:2], order[2:]):
            limit = self.size[extent]
            if rng.random() < 0.25:
                heads.append(f'for ({var} = {limit - 2}; {var} > 0; {var}--)')
            else:
                heads.append(f'for ({var} = 1; {var} < {limit - 1}; {var}{rng.choice(["++", "++", " += 2"])})')

        def near():
            name = rng.choice([target, target, 'A', 'B'])
            return name + ''.join(f'[{v}{c:+d}]' if c else f'[{v}]' for v, c in
                                  (('i', rng.choice([-1, 0, 1])), ('j', rng.choice([-1, 0, 1]))))

        terms = ' + '.join(f'{rng.choice(["0.25", "0.125"])} * {near()}' for _ in range(rng.randint(1, 4)))
        body = f'{target}[i][j] = {terms};'
        if rng.random() < 0.3:
            body = f'{{ {body} {"AB".replace(target, "")}[i][j] = 0.5 * {near()}; }}'
        time = f'{indent}for (l = 0; l < 3; l++)\n' if rng.random() < 0.3 else ''
        return f'{time}{indent}{heads[0]}\n{indent}\t{heads[1]}\n{indent}\t\t{body}\n'

    def statement(self, indent):
        if not self.loops and self.depth == 0 and self.rng.random() < 0.4:
            return self.stencil(indent)
        rng, roll = self.rng, self.rng.random()
        if len(self.loops) < 3 and self.depth < 4 and roll < (0.75 if not self.loops else 0.35):
            return self.loop(indent)
        if roll > 0.93 and self.depth < 3:
            text = f'{indent}if ({self.condition()})\n{self.block(indent)}'
            return text + (f'{indent}else\n{self.block(indent)}' if rng.random() < 0.4 else '')
        if roll > 0.91 and self.depth < 2 and len(self.loops) < 2:
            return (f'{indent}w = 0;\n{indent}while (w < 2 && {self.element()} > -50.0) {{\n'
                    f'{indent}\t{self.assign()}\n{indent}\tw++;\n{indent}}}\n')
        return indent + self.assign() + '\n'

    def block(self, indent):
        self.depth += 1
        inner = indent + '\t'
        count = self.rng.choice([1, 1, 1, 2, 2, 3])
        text = ''.join(self.statement(inner) for _ in range(count))
        self.depth -= 1
        return f'{indent}{{\n{text}{indent}}}\n'

    def text(self):
        body = ''.join(self.statement('\t') for _ in range(self.rng.randint(2, 4)))
        return ('{\n\tint i, j, l, w;\n\tdouble s = 1.0;\n\tdouble t[N];\n\tint idx[N];\n'
                '\ti = j = l = 0;\n'.replace('i = j = l = 0;', 'i = 0; j = 0; l = 0; w = 0;') +
                '\tfor (i = 0; i < N; i++) {\n\t\tt[i] = i * 0.5;\n\t\tidx[i] = i * 3 % N;\n\t}\n' + body +
                '\tV[0] = V[0] * 0.5 + s * 0.125 + t[1] + i + j * 0.25 + l * 0.125;\n}\n')


def program(seed):
    """(name, parts) of program number `seed`; the text for P nodes comes from pandore()."""
    rng = random.Random(seed)
    n, m = rng.randint(5, 11), rng.randint(5, 11)
    types = {'A': rng.choice(['float', 'double', 'float']), 'V': rng.choice(['double', 'float', 'int'])}
    body = Body(rng, n, m).text()
    return {'seed': seed, 'n': n, 'm': m, 'types': types, 'body': body}


def params(prog, choice, p, rng):
    types = dict(prog['types'], B='double', W='double', K='int')
    texts = []
    for name, dims in DIMS.items():
        size = (prog['n'], prog['m']) if name != 'W' else (prog['m'], 0)
        layouts = distributions(rng, len(dims), size[0], size[1], p)
        layout = layouts[(choice + (0 if name == 'A' else rng.randrange(6) if choice else 0)) % 6]
        texts.append(f'{types[name]} {name}' + ''.join(f'[{d}]' for d in dims) + f' {layout} mode INOUT')
    return ',\n\t'.join(texts + ['int k', 'double x'])


def pandore(prog, p):
    """The Pandore source: one phase a distribution."""
    rng = random.Random(prog['seed'] * 1000 + p)
    text = PREAMBLE % dict(n=prog['n'], m=prog['m'], p=p) + FUNCTIONS
    text += SUPPORT % dict(ta=prog['types']['A'], tv=prog['types']['V'])
    for d in range(6):
        text += f'\ndist ph{d}({params(prog, d, p, rng)})\n{prog["body"]}'
    return text + MAIN % dict(calls=''.join(CALL % (f'ph{d}', f'ph{d}') for d in range(6)))


def sequential(prog):
    types = dict(prog['types'], B='double', W='double', K='int')
    text = '#include <math.h>\n' + PREAMBLE % dict(n=prog['n'], m=prog['m'], p=1) + FUNCTIONS
    text += SUPPORT % dict(ta=types['A'], tv=types['V'])
    head = ', '.join(f'{types[n]} {n}' + ''.join(f'[{d}]' for d in dims) for n, dims in DIMS.items())
    text += f'\nstatic void body({head}, int k, double x)\n{prog["body"]}'
    calls = ''.join(CALL % ('body', f'ph{d}') for d in range(6))
    return text + MAIN % dict(calls=calls)
