"""Random Pandore programs and the sequential C they must agree with, bit for bit.

A program is two bodies, one after the other on the same data: the first under several distributions (one
phase each), the second under one. Arrays have one to three dimensions and any type of C, written in any
order of its words; so have counters and scalars. Subscripts stay in bounds by construction, real values stay
finite. Of every third program the run decides sizes and number of nodes. Nothing is left to the C compiler: integers of int and wider that are signed do not overflow, and
a real value becomes an integer only where that type holds it.
"""
import random
import re

INTEGERS = ['char', 'signed char', 'unsigned char', 'short', 'unsigned short', 'int', 'unsigned', 'long',
            'unsigned long', 'long long', 'unsigned long long', '_Bool']
WIDE = ['int', 'long', 'long long']  # their sums must not overflow; real values of this size fit
REALS = ['float', 'double']
ARRAYS = 'ABCVWK'
ZONE_Z = 8589934593  # as a long; an int that is set to it becomes 1

PREAMBLE = '''
#include <stdio.h>
#include <string.h>
#define N %(n)d
#define M %(m)d
#define Q %(q)d
#define P %(p)d
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
char unsigned narrow(unsigned char a, int short signed b)
{
	unsigned char c;
	c = a;
	c -= b;
	return c;
}
'''

MAIN = '''
typedef unsigned char byte;
static byte copy[1 << 16], *volatile start = copy;

/* a copy is hashed, so that the arrays may stay on the nodes between two phases */
static unsigned long hash(unsigned long count)
{
	const byte *c = start;
	unsigned long h = 1469598103934665603ul;
	while (count--)
		h = (h ^ *c++) * 1099511628211ul;
	return h;
}

static void fill(void)
{
	int i, j, l;
	for (i = 0; i < N; i++) {
		V[i] = %(v)s;
		K[i] = i * 5 %% N;
		for (j = 0; j < M; j++) {
			A[i][j] = %(a)s;
			B[i][j] = (i * 3 + j * 5) %% 19 / 7.0 - 1;
			for (l = 0; l < Q; l++)
				C[i][j][l] = %(c)s;
		}
	}
	for (j = 0; j < M; j++)
		W[j] = %(w)s;
}

int main(void)
{
	int step;
%(calls)s	return 0;
}
'''

HASH = '	memcpy(copy, %s, sizeof(%s));\n	printf("%%lx ", hash(sizeof(%s)));\n'

FILLS = {'V': ('i * 37 % 11 * 50 - 150', '(i * 37 % 11) * 3 / 4.0'),
         'A': ('i * 70 + j * 13 - 150', '(i * 7 + j * 13) % 17 / 3.0'),
         'C': ('(i * 5 + j * 3 + l) % 13 * 40 - 200', '(i * 5 + j * 3 + l * 2) % 13 / 3.0 - 1'),
         'W': ('j * 90 - 300', '(j * 11 % 7) / 5.0')}

# phases one after the other on the same data, which may stay on the nodes
CALL = '''	fill();
	for (step = 0; step < %d; step++) {
		%s(N, M, Q, A, B, C, V, W, K, 3, 0.75, %d, 2);
		%s(N, M, Q, A, B, C, V, W, K, 3, 0.75, %d, 2);
	}
%s	puts("");
'''

HASHES = ''.join(HASH % (name, name, name) for name in ARRAYS)
DIMS = {'A': ('N', 'M'), 'B': ('N', 'M'), 'C': ('N', 'M', 'Q'), 'V': ('N',), 'W': ('M',), 'K': ('N',)}


def spelled(rng, name):
    """A type's words in another order, with those that may be left out or added."""
    words = name.split()
    if name in ('short', 'int', 'long', 'long long') and rng.random() < 0.3:
        words.append('signed')
    if not {'char', 'int', 'float', 'double', '_Bool'} & set(words) and rng.random() < 0.3:
        words.append('int')
    rng.shuffle(words)
    return ' '.join(words)


def respelled(rng, head, type_):
    """The loop with another condition that means the same."""
    found = re.search(r'; (\w) (<|<=|>|>=) (\w+);', head)
    if not found or rng.random() < 0.5:
        return head
    var, op, end = found.groups()
    if end.endswith('u') or type_.startswith('unsigned'):
        return head
    forms = ['{end} {flip} {var}', '{var} + 1 {op} {end} + 1', '2 * {var} {op} {end} * 2', '{var} - {end} {op} 0',
             '-{end} {op} -{var}', '{end} - {var} - 3 {flip} -3', 'k + {var} {op} {end} + k']
    forms += ['3 * {var} + 2 < 3 * {end}'] if op == '<' else []
    text = rng.choice(forms).format(var=var, op=op, end=end, flip=op.translate(str.maketrans('<>', '><')))
    return head.replace(found.group(0), f'; {text};')


def distributions(rng, sizes, p):
    """Six ways to lay out an array; the sixth is replicated."""
    up = lambda x: max(1, -(-x // p))
    half = lambda x: -(-x // 2)
    if len(sizes) == 1:
        n = sizes[0]
        large = rng.choice([n, 2**63 - 1, '0xfffffffffffffffful'])
        return [f'by block({up(n)}) map regular(0)', f'by block({large}) map regular(0)',
                f'by block({rng.randint(1, 3)}) map wrapped(0)', f'by block({rng.randint(1, 4)}) map wrapped(0)',
                f'by block({half(n)}) map regular(0)', '']
    whole, orders = [str(x) for x in sizes], [list('012'[:len(sizes)]) for _ in range(3)]
    for order in orders[1:]:
        rng.shuffle(order)
    texts = [','.join(order) for order in orders]
    cut = lambda d, size: '(' + ', '.join(str(size) if k == d else x for k, x in enumerate(whole)) + ')'
    some = '(' + ', '.join(str(rng.randint(1, 4)) for _ in sizes) + ')'
    halves = '(' + ', '.join([str(half(x)) for x in sizes[:2]] + whole[2:]) + ')'
    return [f'by block{cut(0, up(sizes[0]))} map regular({texts[0]})',
            f'by block{cut(1, up(sizes[1]))} map regular({texts[0]})',
            f'by block{cut(rng.randrange(len(sizes)), rng.randint(1, 3))} map wrapped({texts[1]})',
            f'by block{some} map wrapped({texts[2]})', f'by block{halves} map regular({texts[1]})', '']


class Body:
    """One random phase body. Loop variables and their ranges are known while it is written."""

    def __init__(self, rng, sizes, types):
        self.rng, self.size, self.types = rng, sizes, types
        self.loops = []  # (variable, low, high): inclusive bounds of its value
        self.depth = 0
        self.locals = []  # declared somewhere in the blocks around
        others = ['long', 'long long', 'short', 'unsigned', 'unsigned char', 'unsigned long']
        self.counters = {name: rng.choice(['int'] * 5 + others) for name in 'ijl'}
        self.counters['c'] = rng.choice(INTEGERS)
        self.counters['idx'] = rng.choice(['int', 'int', 'unsigned char', 'long', 'unsigned short'])

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

    def coupled(self, name):
        """One counter in two subscripts: A[i][i], A[i][M - 1 - i]; None where none fits."""
        rng, sizes = self.rng, [self.size[d] for d in DIMS[name]]
        fits = [v for v, low, high in self.loops if low >= 0 and high < min(sizes[:2])]
        if len(sizes) < 2 or not fits:
            return None
        var = rng.choice(fits)
        second = rng.choice([var, f'{DIMS[name][1]} - 1 - {var}'])
        return f'{name}[{var}][{second}]' + ''.join(f'[{self.subscript(d)}]' for d in DIMS[name][2:])

    def element(self, names=ARRAYS):
        name = self.rng.choice(names)
        if self.rng.random() < 0.12:
            coupled = self.coupled(name)
            if coupled:
                return coupled
        return name + ''.join(f'[{self.subscript(d)}]' for d in DIMS[name])

    def type_of(self, element):
        return self.types[element[0]]

    def value(self):
        """An element as a real value, a small one if it is an integer."""
        element = self.element()
        return element if self.type_of(element) in REALS else f'{element} % 1000 * 1.0'

    def integer(self, depth=0):
        """Elements of different types with all the conversions of C; none of the sums overflows."""
        rng, roll = self.rng, self.rng.random()
        names = [name for name in ARRAYS if self.types[name] not in REALS]
        if roll < 0.35 or depth > 1:
            return f'{self.element(names)} % 1000'
        if roll < 0.5:
            atoms = ['c % 1000', 'k', '(k > 2 ? -7 : 3u)', '200u', "'a'", '0x7l', 'q']
            return rng.choice(atoms + [v for v, _, _ in self.loops])
        if roll < 0.58:
            return f'({rng.choice(INTEGERS)})({self.integer(depth + 1)}) % 1000'
        if roll < 0.66:
            return f'narrow({self.integer(depth + 1)}, {self.integer(depth + 1)})'
        if roll < 0.72:
            return f'({self.integer(depth + 1)} {rng.choice(["<", ">", "!=", "==", "<="])} {self.integer(depth + 1)})'
        if roll < 0.78:
            return f'({self.integer(depth + 1)} {rng.choice("&|^")} {self.integer(depth + 1)}) % 1000'
        return f'({self.integer(depth + 1)} {rng.choice("+-")} {self.integer(depth + 1)}) % 1000'

    def expr(self, depth=0):
        rng, roll = self.rng, self.rng.random()
        if depth > 2 or roll < 0.45:
            return rng.choice([self.value, self.value, self.value, self.atom])()
        if roll < 0.7:
            return f'{self.expr(depth + 1)} * 0.5 + {self.expr(depth + 1)} * 0.25'
        if roll < 0.8:
            return f'mix({self.expr(depth + 1)}, {self.expr(depth + 1)})'
        if roll < 0.86:
            return f'({self.condition()} ? {self.expr(depth + 1)} : {self.expr(depth + 1)})'
        if roll < 0.9:
            return f'0.5 * ({self.expr(depth + 1)} - {self.expr(depth + 1)})'
        if roll < 0.94:
            return f'(double)({self.integer(depth)} % 1000) * 0.25'
        return f'fabs({self.expr(depth + 1)})'

    def atom(self):
        choices = ['1.5', '0.125', 's', 'x', 'k', '2', '(float)x'] + self.locals + ['u'] * (self.rng.random() < 0.1)
        return self.rng.choice(choices + [f'{v} * 1.0' for v, _, _ in self.loops])

    def condition(self):
        rng = self.rng
        simple = [f'{v} % 3 {rng.choice(["==", "!="])} 1' for v, _, _ in self.loops] + ['k > 2', 's < 4.0', 's != x']
        simple.append(f'{self.value()} {rng.choice(["<", ">", "!="])} 0.5')
        simple.append(f'{self.integer(1)} {rng.choice(["<", ">", "!=", "=="])} {self.integer(1)}')
        one = rng.choice(simple)
        return f'{one} {rng.choice(["&&", "||"])} {rng.choice(simple)}' if rng.random() < 0.25 else one

    def compound(self, target):
        """`target OP= value` with a value that the target's type can take."""
        rng, type_ = self.rng, self.type_of(target)
        op = rng.choice(['+=', '-=', '*=', '/='])
        if type_ not in REALS and rng.random() < 0.4:
            op = rng.choice(['%=', '&=', '|=', '^=', '>>='] + ['<<='] * type_.startswith('unsigned'))
            value = {'%=': '(1 + q)', '>>=': 'q', '<<=': '(k > 2)'}.get(op, f'{self.integer(1)} % 1000')
        elif type_ in REALS:
            value = {'*=': '(k > 2 ? 0.5 : -0.75)',
                     '/=': f'(1.5 + fabs({self.value()}))'}.get(op, f'{self.expr(1)} * 0.125')
        elif op in ('*=', '/='):
            op = op if type_ not in WIDE else '/='
            value = rng.choice(['3', '2u', 'q', '(1 + (k > 2))'])
        else:
            value = f'{self.integer(1)} % 1000'
            if type_ in WIDE and rng.random() < 0.5:
                value = f'fmod({self.expr(1)}, 100.0)'
        return f'{target} {op} {value};'

    def assign(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.12:
            return f's = s * 0.5 + {self.expr(1)};'
        if roll < 0.16:
            return f't[{self.subscript("N")}] = {self.expr(1)};'
        if roll < 0.2:
            return f's += ({self.value()}) * 0.125;'
        if roll < 0.24:
            return f'K[{self.subscript("N")}] = turn({rng.choice([v for v, _, _ in self.loops] + ["k"])}, k);'
        if roll < 0.28:
            return f'c {rng.choice(["=", "+=", "-="])} {self.integer()} % 1000;'
        target = self.element('ABCVW')
        if roll < 0.4:
            return self.compound(target)
        if self.type_of(target) not in REALS and rng.random() < 0.5:
            return f'{target} = {self.integer()};'
        return f'{target} = {self.stored(target[0], self.expr())};'

    def stored(self, name, value):
        """A real value as this array can take it."""
        if self.types[name] in REALS:
            return value
        return f'{"" if self.types[name] in WIDE + ["_Bool"] else "(long)"}fmod({value}, 1000.0)'

    def loop(self, indent):
        rng = self.rng
        var = 'ijl'[len(self.loops)]
        type_ = self.counters[var]
        low, high = rng.choice([(0, 0), (1, 1), (2, 2), (0, 2)])
        extent = rng.choice('NMNMQ')
        limit = min(self.size['N'], self.size['M']) if extent != 'Q' and rng.random() < 0.4 else self.size[extent]
        low, high = (0, limit - 1) if extent == 'Q' else (low, limit - 1 - high)
        roll, first, last = rng.random(), str(low), f'{var} < {high + 1}'
        if roll < 0.1 and (low > 0 or not type_.startswith('unsigned')):
            head = f'for ({var} = {high}; {var} >= {low}; {var}--)'
        elif roll < 0.2:
            head = f'for ({var} = {low}; {var} <= {high}; {var} += 2)'
        elif roll < 0.3 and self.loops:
            outer, olow, ohigh = rng.choice(self.loops)
            head = f'for ({var} = {outer}; {var} <= {high}; {var}++)'
            low = olow
            high = max(high, low)
        else:
            if low == 1 and 'long' not in type_ and rng.random() < 0.5:
                first = 'z'  # what does not fit an int becomes 1 in it
            elif low == 2 and rng.random() < 0.5:
                first = rng.choice(['q', '6 & 10'] + ([] if 'long' in type_ else ['(k > 2 ? 2 : 1)', '4294967298u']))
            if rng.random() < 0.3:
                last = var + rng.choice([f' <= (k > 2 ? {high} : 0)', f' <= ({high} & 15)',
                                         f' < (unsigned char){high + 257}', f' < {high + 1}u'])
            head = f'for ({var} = {first}; {last}; {var}{rng.choice(["++", "++", " += 1u", " += (char)257"])})'
        head = respelled(rng, head, type_)
        if rng.random() < 0.25:  # a counter of the loop's own
            head = head.replace(f'for ({var} ', f'for ({spelled(rng, type_)} {var} ', 1)
        self.loops.append((var, low, high))
        text = indent + head + '\n' + self.block(indent)
        self.loops.pop()
        return text

    def stencil(self, indent):
        """Two loops over one or two arrays with constant distances: what pipelines are made of."""
        rng = self.rng
        order = rng.choice([('i', 'N', 'j', 'M'), ('j', 'M', 'i', 'N')])
        target, heads = rng.choice('AB'), []
        time = f'{indent}for (l = 0; l < 3; l++)\n' if rng.random() < 0.4 else ''
        for var, extent in (order[:2], order[2:]):
            limit = self.size[extent]
            if rng.random() < 0.25:  # down to 1: any type can
                heads.append(f'for ({var} = {limit - 2}; {var} > 0; {var}--)')
            else:
                heads.append(f'for ({var} = 1; {var} < {limit - 1}; {var}{rng.choice(["++", "++", " += 2"])})')

        def near():
            name = rng.choice([target, target, 'A', 'B'])
            small = '' if self.types[name] in REALS else ' % 1000'
            if rng.random() < 0.15:  # a row or a column that all others need
                return name + rng.choice(['[i][l]', '[l][j]'] if time else ['[2][j]', '[i][2]']) + small
            return name + ''.join(f'[{v}{c:+d}]' if c else f'[{v}]' for v, c in
                                  (('i', rng.choice([-1, 0, 1])), ('j', rng.choice([-1, 0, 1])))) + small

        terms = ' + '.join(f'{rng.choice(["0.25", "0.125"])} * ({near()})' for _ in range(rng.randint(1, 4)))
        body = f'{target}[i][j] = {self.stored(target, terms)};'
        if rng.random() < 0.3:
            other = 'AB'.replace(target, '')
            body = f'{{ {body} {other}[i][j] = {self.stored(other, f"0.5 * ({near()})")}; }}'
        elif rng.random() < 0.3:
            body = f'if ({near()} < {near()} * 0.5 + 1.0) {body}'
        heads = [respelled(rng, head, self.counters[var]) for head, var in zip(heads, order[::2])]
        return f'{time}{indent}{heads[0]}\n{indent}\t{heads[1]}\n{indent}\t\t{body}\n'

    def converge(self, indent):
        """The end of a step of a relaxation, in one nest: new values, how much they changed, copies."""
        rng, inner, heads = self.rng, indent + '\t', ''
        target, other = rng.choice(['AB', 'BA'])
        for var, extent in rng.choice([('iN', 'jM'), ('jM', 'iN')]):
            down = rng.random() < 0.2
            heads += indent + (f'for ({var} = {self.size[extent] - 2}; {var} > 0; {var}--)\n' if down else
                               f'for ({var} = 1; {var} < {self.size[extent] - 1}; {var}++)\n')

        def near(name, reach):
            return name + ''.join(f'[{v}{c:+d}]' if c else f'[{v}]' for v, c in zip('ij', rng.choices([-1, 0, 0, 1], k=2))
                                  ) if reach else f'{name}[i][j]'

        def value(name, reach=True):
            return near(name, reach) + ('' if self.types[name] in REALS else ' % 1000')

        lines = [f'u = {rng.choice([f"0.25 * ({value(target)} + {value(target)})", value(other, False), value(target)])} * 0.5;',
                 f'{near(other, rng.random() < 0.1)} = {self.stored(other, rng.choice(["u", "u", f"{value(target)} * 0.25"]))};',
                 rng.choice([f'if ({rng.choice(["u", value(other, False)])} - {value(target, False)} > s) s = u;',
                             f's = s * 0.5 + (u - {value(target, rng.random() < 0.3)}) * 0.25;',
                             'c = (c + (u > 1.5)) % 100;', f'if (u > s) {{ s = u; c = (i * 7 + j) % 100; }}',
                             f'u = u - {value(target)} * 0.5; if (u < s) s = u;']),
                 f'{near(target, rng.random() < 0.1)} = {self.stored(target, rng.choice([value(other, False), "u * 0.5", "u"]))};']
        if rng.random() < 0.2:
            rng.shuffle(lines)
        if rng.random() < 0.5:
            del lines[rng.choice([1, 3])]
        if rng.random() < 0.15:
            lines[-1] = f'if ({value(other)} > 0.5) {lines[-1]}'
        return f'{heads}{indent}{{\n' + ''.join(f'{inner}{line}\n' for line in lines) + f'{indent}}}\n'

    def pivot(self, indent):
        """A row that is searched for in each iteration, and what is done with it."""
        rng, inner = self.rng, indent + '\t'
        rows = min(self.size['N'], self.size['M'])
        a, b = rng.choice(['AA', 'BB', 'AB', 'BA'])
        small = lambda e: e if self.types[e[0]] in REALS else f'{e} % 1000'
        search = rng.choice([f'{inner}c = (i * 3 + 1) % {rows};\n',
                             f'{inner}c = i;\n{inner}u = -500.0;\n{inner}for (l = i; l < {rows}; l++)\n'
                             f'{inner}\tif ({small(f"{a}[l][i]")} > u) {{ u = {small(f"{a}[l][i]")}; c = l; }}\n'])
        lines = [f'u = {small(f"{a}[i][j]")}; {a}[i][j] = {a}[c][j]; {a}[c][j] = {self.stored(a, "u")};',
                 f'{b}[i][j] = {self.stored(b, small(f"{b}[i][j]") + " * 0.5 + " + small(f"{a}[c][j]") + " * 0.25")};',
                 f'{b}[c][j] = {self.stored(b, small(f"{a}[i][j]") + " * 0.5")};']
        loops = ''.join(f'{inner}for (j = {rng.choice(["0", "0", "i"])}; j < M; j++) {{ {line} }}\n'
                        for line in rng.sample(lines, rng.choice([1, 1, 2])))
        guard = rng.random() < 0.4
        last = f'{inner}V[i] = {self.stored("V", small("V[i]") + " * 0.5 + " + small("V[c]") + " * 0.25")};\n' if rng.random() < 0.4 else ''
        return (f'{indent}for (i = 0; i < {rows - 1}; i++) {{\n{search}' + (f'{inner}if (c != i) {{\n' if guard else '') +
                loops + (f'{inner}}}\n' if guard else '') + last + f'{indent}}}\n')

    def private(self, indent):
        """A scalar that lives for one iteration, if nothing else reads it, and who uses it."""
        rng, inner = self.rng, indent + '\t'
        text = f'{inner}u = {self.expr(1)};\n'
        if rng.random() < 0.3:
            text += f'{inner}if ({rng.choice(["u < 0.5", self.condition()])})\n{inner}\tu = {self.expr(2)};\n'
        if rng.random() < 0.3 and len(self.loops) < 3:
            var, extent = 'ijl'[len(self.loops)], rng.choice('MNQ')
            self.loops.append((var, 0, self.size[extent] - 1))
            text += f'{inner}for ({var} = 0; {var} < {extent}; {var}++)\n{inner}\tu = u * 0.5 + {self.value()} * 0.125;\n'
            self.loops.pop()
        for _ in range(rng.choice([1, 1, 2])):
            target = self.element('ABCVW')
            line = f'{target} = {self.stored(target[0], f"u * 0.5 + {self.expr(2)} * 0.25")};'
            text += inner + (f'if (u {rng.choice("<>")} {self.value()}) ' if rng.random() < 0.25 else '') + line + '\n'
        return f'{indent}{{\n{text}{indent}}}\n'

    def conditional(self, indent):
        """Conditions on the data that the branches assign, of one or of several ranks."""
        rng, inner = self.rng, indent + '\t'
        targets = [self.element('ABCVW') for _ in range(rng.choice([1, 1, 2]))]
        real = lambda e: e if self.type_of(e) in REALS else f'{e} % 1000'
        cond = f'{real(targets[0])} {rng.choice("<>")} {rng.choice([self.value(), "0.5", real(targets[-1])])}'
        if rng.random() < 0.2:
            cond += f' {rng.choice(["&&", "||"])} {self.condition()}'

        def branch():
            text = ''.join(f'{inner}{t} = {self.stored(t[0], f"{real(t)} * 0.5 + {self.expr(2)} * 0.25")};\n'
                           for t in targets if rng.random() < 0.8)
            if rng.random() < 0.1 and self.depth < 3:
                text += self.statement(inner)
            return f'{indent}{{\n{text}{indent}}}\n'

        return f'{indent}if ({cond})\n{branch()}' + (f'{indent}else\n{branch()}' if rng.random() < 0.3 else '')

    def sums(self, indent):
        """Scalars that run through a loop: sums in their order, counts, largest values. The owner of what is read
        first goes on with what the owner before has."""
        rng, inner, heads, first = self.rng, indent + '\t', '', len(self.loops)
        element = self.element('ABCV')
        name = element[0]
        for depth in range(rng.choice([1, 1, 2]) if first < 2 else 1):
            var = 'ijl'[len(self.loops)]
            limit = self.size[DIMS[name][depth % len(DIMS[name])]]
            low = rng.choice([0, 0, 1])
            down = low and rng.random() < 0.3
            heads += indent + (f'for ({var} = {limit - 1}; {var} > {low - 1}; {var}--)\n' if down else
                               f'for ({var} = {low}; {var} < {limit}; {var}{rng.choice(["++", "++", " += 2"])})\n')
            self.loops.append((var, low, limit - 1))
        own = name + ''.join(f'[{self.loops[first + d][0]}]' if first + d < len(self.loops) and
                             self.loops[first + d][2] < self.size[extent] else f'[{self.subscript(extent)}]'
                             for d, extent in enumerate(DIMS[name]))
        read = own if self.types[name] in REALS else f'{own} % 1000 * 1.0'
        lines = [f's += {read} * 0.125;', f's = s * 0.5 + ({read}) * ({self.value()}) * 0.001;', f's += {self.value()} * 0.125;',
                 f'if ({read} > s) s = {read};', f'c = (c + ({read} > 0.5)) % 100;', f'u = u * 0.5 + {read};',
                 f'if ({self.condition()}) s -= {read} * 0.25;']
        text = ''.join(f'{inner}{line}\n' for line in rng.sample(lines, rng.choice([1, 1, 2, 3])))
        del self.loops[first:]
        return f'{heads}{indent}{{\n{text}{indent}}}\n'

    def ranks(self, indent):
        """Targets of one and of two dimensions in one loop, as in Gauss's elimination with a right-hand side."""
        rng, inner = self.rng, indent + '\t'
        real = lambda e: e if self.type_of(e) in REALS else f'{e} % 1000'
        self.loops.append(('i', 0, min(self.size['N'], self.size['M']) - 1))
        head = f'{indent}for (i = 0; i < N && i < M; i++)\n' if rng.random() < 0.2 else \
            f'{indent}for (i = 0; i < {min(self.size["N"], self.size["M"])}; i++)\n'
        lines = [f'{rng.choice(["V[i]", "V[i]", "W[i]", "K[i]"])} = ']
        lines[0] += 'turn(i, k);' if lines[0][0] == 'K' else f'{self.stored(lines[0][0], f"{real(lines[0][:4])} * 0.5 + {self.expr(2)} * 0.25")};'
        target = rng.choice(['A', 'B'])
        self.loops.append(('j', 0, self.size['M'] - 1))
        value = self.stored(target, f'{real(target + "[i][j]")} * 0.5 + {rng.choice(["u", self.expr(2)])} * 0.25')
        lines.append(f'for (j = 0; j < M; j++)\n{inner}\t{target}[i][j] = {value};')
        self.loops.pop()
        rng.shuffle(lines)
        if rng.random() < 0.6:
            lines.insert(0, f'u = {self.expr(2)};')
        self.loops.pop()
        return head + indent + '{\n' + ''.join(f'{inner}{line}\n' for line in lines) + indent + '}\n'

    def statement(self, indent):
        if not self.loops and self.rng.random() < 0.12:
            return self.ranks(indent)
        if not self.loops and self.rng.random() < 0.15:
            return self.converge(indent)
        if not self.loops and self.depth == 0 and self.rng.random() < 0.15:
            return self.pivot(indent)
        if len(self.loops) < 2 and self.depth < 3 and self.rng.random() < 0.15:
            return self.sums(indent)
        if self.loops and self.rng.random() < 0.2:
            return self.rng.choice([self.private, self.conditional])(indent)
        if not self.loops and self.depth == 0 and self.rng.random() < 0.4:
            return self.stencil(indent)
        if self.loops and self.rng.random() < 0.03:
            return f'{indent}if ({self.condition()})\n{indent}\t{self.rng.choice(["break", "continue"])};\n'
        if not self.loops and self.depth == 0 and self.rng.random() < 0.05:
            return f'{indent}if ({self.condition()})\n{indent}\treturn;\n'
        rng, roll = self.rng, self.rng.random()
        if len(self.loops) < 3 and self.depth < 4 and roll < (0.75 if not self.loops else 0.35):
            return self.loop(indent)
        if roll > 0.93 and self.depth < 3:
            text = f'{indent}if ({self.condition()})\n{self.block(indent)}'
            return text + (f'{indent}else\n{self.block(indent)}' if rng.random() < 0.4 else '')
        if roll > 0.91 and self.depth < 2 and len(self.loops) < 2:
            return (f'{indent}w = 0;\n{indent}while (w < 2 && {self.value()} > -50.0) {{\n'
                    f'{indent}\t{self.assign()}\n{indent}\tw++;\n{indent}}}\n')
        return indent + self.assign() + '\n'

    def block(self, indent):
        self.depth += 1
        inner = indent + '\t'
        count = self.rng.choice([1, 1, 1, 2, 2, 3])
        text, known = '', len(self.locals)
        for _ in range(count):
            text += self.statement(inner)
            if self.rng.random() < 0.08:  # not at the block's beginning
                text += f'{inner}{self.rng.choice(["", "const "])}double d{self.depth}_{len(text)} = {self.expr(1)};\n'
                self.locals.append(f'd{self.depth}_{text.rsplit(f"d{self.depth}_", 1)[1].split(" ")[0]}')
        del self.locals[known:]
        self.depth -= 1
        return f'{indent}{{\n{text}{indent}}}\n'

    def text(self, count):
        rng, types = self.rng, self.counters
        body = ''.join(self.statement('\t') for _ in range(count))
        left = '' if self.types['V'] in REALS else ' % 1000'
        ends = f'V[0]{left} * 0.5 + s * 0.125 + t[1] + i % 100 + j % 100 * 0.25 + l % 100 * 0.125 + c % 100'
        return ('{\n' + ''.join(f'\t{spelled(rng, types[v])} {v};\n' for v in 'ijlc') +
                '\tint w;\n\tdouble u = 0.5;\n\tdouble s = 1.0;\n\tdouble t[N];\n' + f'\t{spelled(rng, types["idx"])} idx[N];\n' +
                '\ti = 0; j = 0; l = 0; w = 0; c = 1;\n' +
                '\tfor (i = 0; i < N; i++) {\n\t\tt[i] = i * 0.5;\n\t\tidx[i] = i * 3 % N;\n\t}\n' + body +
                f'\tV[0] = {self.stored("V", ends)};\n}}\n')


def program(seed):
    """Program number `seed`; the text for P nodes comes from pandore()."""
    rng = random.Random(seed)
    sizes = {'N': rng.randint(5, 11), 'M': rng.randint(5, 11), 'Q': rng.randint(2, 4)}
    any_type = lambda: rng.choice(REALS * 3 + INTEGERS)
    types = {'A': any_type(), 'B': 'double', 'C': any_type(), 'V': any_type(), 'W': any_type(),
             'K': rng.choice(['int'] * 4 + INTEGERS)}
    spellings = {name: spelled(rng, type_) for name, type_ in types.items()}
    bodies = [Body(rng, sizes, types).text(rng.randint(2, 4)), Body(rng, sizes, types).text(rng.randint(1, 2))]
    return {'seed': seed, 'sizes': sizes, 'types': types, 'late': seed % 3 == 0, 'spellings': spellings, 'bodies': bodies}


SIZES = ['int n', 'int m', 'int o']


def late(text):
    """With the parameters that are the sizes, in place of the macros."""
    return re.sub(r'\b[NMQ]\b', lambda name: {'N': 'n', 'M': 'm', 'Q': 'o'}[name[0]], text)


def late_layout(rng, layout, dims):
    """Block sizes of constants, or the same as the run has them."""
    sizes = re.search(r'block\((.*)\) map', layout)
    if not sizes:
        return layout
    words = []
    for word, dim in zip(sizes[1].split(','), dims):
        share = rng.choice([f'({dim} + nodes - 1) / nodes', f'({dim} + 1) / 2', f'1 + {dim} / nodes'])
        words.append(rng.choice([word.strip(), share, dim]))
    return layout.replace(sizes[1], ', '.join(words))


SCALARS = ['int k', 'double x', 'long z', 'char unsigned q']


def params(prog, choice, p, rng):
    texts = []
    for name, dims in DIMS.items():
        layouts = distributions(rng, [prog['sizes'][d] for d in dims], p)
        layout = layouts[(choice + (0 if name == 'A' else rng.randrange(6) if choice else 0)) % 6]
        if prog['late']:
            dims = [late(d) for d in dims]
            layout = late_layout(rng, layout, dims)
        texts.append(f'{spelled(rng, prog["types"][name])} {name}' + ''.join(f'[{d}]' for d in dims) +
                     f' {layout} mode INOUT')
    return ',\n\t'.join(SIZES + texts + SCALARS)


def preamble(prog, p):
    sizes, names = prog['sizes'], prog['spellings']
    return PREAMBLE % dict(n=sizes['N'], m=sizes['M'], q=sizes['Q'], p=p) + FUNCTIONS + '\n' + ''.join(
        f'{names[name]} {name}' + ''.join(f'[{d}]' for d in dims) + ';\n' for name, dims in DIMS.items())


def host(prog, calls):
    fills = {name.lower(): texts[prog['types'][name] in REALS] for name, texts in FILLS.items()}
    return MAIN % dict(fills, calls=calls)


def steps(prog, d):
    """How often the two phases are called: mostly once, some twice or three times."""
    return (1, 1, 2, 1, 3, 1)[(prog['seed'] + d) % 6]


def pandore(prog, p):
    """The Pandore source: one phase a distribution, and one for the second body."""
    rng = random.Random(prog['seed'] * 1000 + p)
    text = preamble(prog, p)
    bodies = prog['bodies']
    if prog['late']:
        text = text.replace(f'#define P {p}\n', '')
        bodies = [late(body) for body in bodies]
    for d in range(6):
        text += f'\ndist ph{d}({params(prog, d, p, rng)})\n{bodies[0]}'
    text += f'\ndist after({params(prog, rng.randrange(1, 6), p, rng)})\n{bodies[1]}'
    return text + host(prog, ''.join(CALL % (steps(prog, d), f'ph{d}', ZONE_Z, 'after', ZONE_Z, HASHES) for d in range(6)))


def sequential(prog):
    text = '#include <math.h>\n' + preamble(prog, 1)
    head = ', '.join(f'{prog["types"][n]} {n}' + ''.join(f'[{d}]' for d in dims) for n, dims in DIMS.items())
    for name, body in zip(('body', 'after'), prog['bodies']):
        text += f'\nstatic void {name}({", ".join(SIZES)}, {head}, {", ".join(SCALARS)})\n{body}'
    return text + host(prog, ''.join(CALL % (steps(prog, d), 'body', ZONE_Z, 'after', ZONE_Z, HASHES) for d in range(6)))
