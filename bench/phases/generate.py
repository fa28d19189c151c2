"""C programs that go through phases we know.

    program = Program(seed)             # or Program(seed, phases=3, kinds=['compute', 'io', 'wait'])
    program.source                      # C, one file, no dependencies
    program.sites                       # by phase: {'function', 'first', 'last'}: where its own loop is

The program writes 'PHASE BEGIN END' (CLOCK_MONOTONIC, ns) for each segment of its schedule into the file that its
argument names. Kinds of phases:

compute    a function with a loop of its own
shared     the same, with up to six tenths of the work in functions that other phases call too
loop       one of several loops of one function, which tells them apart by an argument
recursion  a recursive walk
inlined    a function that the compiler puts into main
io         writes and reads of a file
wait       sleeps with a little work between
cycle      parts of 4 to 40 ms each, again and again: shorter than an interval, one phase together
chain      a function that calls the function with the loop
"""
import random

KINDS = ['compute', 'shared', 'loop', 'recursion', 'inlined', 'io', 'wait', 'cycle', 'chain']

HEAD = '''\
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
enum { N = 2048 };
static double a[N], b[N], c[N];
static unsigned words[N];
volatile double sink;
static int file;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* what all phases may call */
NOINLINE void common_scale(double x)
{
	for (int i = 0; i < N; i++)
		a[i] = a[i] * 0.5 + x;
}
NOINLINE void common_chain(double x)
{
	for (int i = 1; i < N; i++)
		b[i] = b[i - 1] * 0.25 + x;
}
NOINLINE unsigned common_hash(unsigned h)
{
	for (int i = 0; i < N; i++)
		h = (h ^ words[i]) * 16777619u;
	return h;
}
'''

# Bodies of work; each takes some microseconds. %d is a number that makes every copy another one.
WORK = [
    'for (int i = 0; i < N; i++) a[i] = a[i] * 0.%d1 + b[i];',
    'for (int i = 1; i < N; i++) b[i] = b[i - 1] * 0.%d1 + c[i];',
    'for (int i = 0; i < N; i++) c[i] = sqrt(c[i] * c[i] + %d.5);',
    'for (int i = 0; i < N; i++) words[i] = words[i] * 1664525u + %du;',
    'for (int i = 0; i < N; i++) a[i] += b[(i * %d7) & (N - 1)] / (1.0 + c[i] * c[i]);',
    'for (int i = 2; i < N; i++) c[i] = c[i - 1] * 0.%d2 + c[i - 2] * 0.1 + 1.0;',
]
COMMON = ['common_scale(%d.0);', 'common_chain(%d.0);', 'words[0] = common_hash(%du);']


class Program:
    def __init__(self, seed, phases=None, kinds=None, seconds=4.0):
        self.random = random.Random(seed)
        self.lines = HEAD.splitlines()
        self.count = phases or len(kinds or []) or self.random.randint(1, 6)
        self.kinds = kinds or self.choose_kinds()
        self.sites, self.calls = [None] * self.count, [None] * self.count
        self.number = 0
        for phase, kind in enumerate(self.kinds):
            if kind != 'loop':
                getattr(self, 'make_' + kind)(phase)
        self.make_loops()
        self.schedule = self.make_schedule(seconds)
        self.make_main()
        self.source = '\n'.join(self.lines) + '\n'

    def choose_kinds(self):
        kinds = [self.random.choice(KINDS) for _ in range(self.count)]
        for once in ('io', 'wait'):         # two of them would be one phase to any observer
            for i in [i for i, k in enumerate(kinds) if k == once][1:]:
                kinds[i] = 'compute'
        return kinds

    def add(self, text):
        self.lines += text.split('\n')

    def work(self):
        self.number += 1
        return self.random.choice(WORK) % (self.number % 9 + 1)

    def while_loop(self, body, indent='\t'):
        """The loop that is the site; returns its lines once it is added."""
        self.add(f'{indent}while (now() < end) {{')
        first = len(self.lines)
        for line in body:
            self.add(f'{indent}\t{line}')
        self.add(f'{indent}}}')
        return first, len(self.lines)

    def function(self, phase, name, body, kind='NOINLINE'):
        self.add(f'\n{kind} void {name}(double end)\n{{')
        first, last = self.while_loop(body)
        self.add('}')
        self.sites[phase] = {'function': name, 'first': first, 'last': last}
        self.calls[phase] = f'{name}(end);'

    def repeat(self, low=2, high=12):
        return [f'for (int r = 0; r < {self.random.randint(low, high)}; r++)', '\t' + self.work()]

    def make_compute(self, phase):
        body = self.repeat()
        if self.random.random() < 0.4:
            body += self.repeat()
        self.function(phase, f'compute{phase}', body)

    def make_shared(self, phase):
        own = self.random.randint(4, 8)
        body = [f'for (int r = 0; r < {own}; r++)', '\t' + self.work()]
        for call in self.random.sample(COMMON, self.random.randint(1, 3)):
            body += [f'for (int r = 0; r < {self.random.randint(1, 2)}; r++)', '\t' + call % phase]
        self.function(phase, f'mixed{phase}', body)

    def make_recursion(self, phase):
        self.add(f'''
NOINLINE double walk{phase}(int depth, double x)
{{
	if (!depth)
		return x * 1.0001 + words[{phase}];
	return walk{phase}(depth - 1, x + 1) + walk{phase}(depth - 1, x * 0.5);
}}''')
        self.function(phase, f'recurse{phase}', [f'sink = walk{phase}({self.random.randint(8, 12)}, 1.0);'])

    def make_inlined(self, phase):
        self.function(phase, f'inlined{phase}', self.repeat(), 'INLINE')

    def make_io(self, phase):
        self.function(phase, f'store{phase}', [
            'if (pwrite(file, a, sizeof(a), 0) < 0)', '\tabort();',
            'if (pread(file, b, sizeof(b), 0) < 0)', '\tabort();',
            *(['fdatasync(file);'] if self.random.random() < 0.5 else []), *self.repeat(1, 2)])

    def make_wait(self, phase):
        self.function(phase, f'pause{phase}', [f'usleep({self.random.choice([1000, 3000, 10000, 200000])});', self.work()])

    def make_cycle(self, phase):
        parts = self.random.randint(2, 3)
        for part in range(parts):
            self.add(f'\nNOINLINE void step{phase}_{part}(double end)\n{{')
            self.while_loop(self.repeat(1, 3))
            self.add('}')
        self.function(phase, f'cycle{phase}', [
            f'step{phase}_{part}(now() + {self.random.randint(4, 40)}e-3);' for part in range(parts)])

    def make_chain(self, phase):
        self.function(phase, f'kernel{phase}', self.repeat())
        self.add(f'\nNOINLINE void driver{phase}(double end)\n{{\n\tkernel{phase}(end);\n\tsink = a[{phase}];\n}}')
        self.calls[phase] = f'driver{phase}(end);'

    def make_loops(self):
        mine = [p for p, k in enumerate(self.kinds) if k == 'loop']
        if not mine:
            return
        shared = self.random.choice(COMMON) % 3
        self.add('\nNOINLINE void several(int which, double end)\n{\n\tswitch (which) {')
        for phase in mine:
            self.add(f'\tcase {phase}:')
            body = self.repeat()
            if self.random.random() < 0.5:
                body.append(shared)
            first, last = self.while_loop(body, '\t\t')
            self.add('\t\tbreak;')
            self.sites[phase] = {'function': 'several', 'first': first, 'last': last}
            self.calls[phase] = f'several({phase}, end);'
        self.add('\t}\n}')

    def make_schedule(self, seconds):
        """(phase, seconds): every phase at least once for half a second, no two equal neighbours."""
        order = list(range(self.count))
        self.random.shuffle(order)
        left = seconds - 0.55 * len(order)
        schedule = [[p, self.random.uniform(0.45, 0.65)] for p in order]
        while left > 0.25 and self.count > 1:
            phase = self.random.choice([p for p in range(self.count) if p != schedule[-1][0]])
            length = min(left, self.random.uniform(0.25, 0.9))
            schedule.append([phase, length])
            left -= length
        if self.count == 1:
            schedule[0][1] = seconds
        return schedule

    def make_main(self):
        rows = ', '.join(f'{{ {p}, {s:.4f} }}' for p, s in self.schedule)
        self.add(f'''
static const struct {{ int phase; double seconds; }} schedule[] = {{ {rows} }};
enum {{ SEGMENTS = sizeof(schedule) / sizeof(*schedule) }};
static double begins[SEGMENTS], ends[SEGMENTS];

int main(int argc, char **argv)
{{
	char name[] = "phases-XXXXXX";
	FILE *out;

	file = mkstemp(name);
	unlink(name);
	for (int i = 0; i < N; i++) {{
		a[i] = i * 0.25;
		b[i] = 1;
		c[i] = i & 7;
		words[i] = (unsigned)i;
	}}
	for (int s = 0; s < SEGMENTS; s++) {{
		double end = now() + schedule[s].seconds;

		begins[s] = now();
		switch (schedule[s].phase) {{''')
        for phase, call in enumerate(self.calls):
            self.add(f'\t\tcase {phase}:\n\t\t\t{call}\n\t\t\tbreak;')
        self.add('''\t\t}
		ends[s] = now();
	}
	out = argc > 1 ? fopen(argv[1], "w") : stdout;
	for (int s = 0; out && s < SEGMENTS; s++)
		fprintf(out, "%d %.0f %.0f\\n", schedule[s].phase, begins[s] * 1e9, ends[s] * 1e9);
	sink = a[1] + b[2] + c[3] + words[4];
	return 0;
}''')


if __name__ == '__main__':
    import sys
    print(Program(int(sys.argv[1]) if len(sys.argv) > 1 else 1).source, end='')
