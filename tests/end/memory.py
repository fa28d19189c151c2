"""Loops that wait for their data are not called compute-bound, and loops that compute are not called memory-bound.

Golden programs, one of each kind; each does nothing else for a second of CPU time.
"""
import os

from sonde_test import Test

PROGRAM = r'''
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile uint64_t sink;
static volatile double real_sink;

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *memory(size_t bytes)
{
	void *at = malloc(bytes);

	memset(at, 1, bytes);
	return at;
}

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

__attribute__((noinline)) static void **walk(void **at, long steps)
{
	while (steps--)
		at = *at;
	return at;
}

/* A ring through all lines, in random order (Sattolo). */
static void **ring(size_t bytes)
{
	size_t count = bytes / 64;
	uint32_t *order = malloc(count * sizeof(*order));
	char *at = memory(bytes);

	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count - 1; i; i--) {
		size_t j = draw() % i;
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < count; i++)
		*(void **)(at + 64 * (size_t)order[i]) = at + 64 * (size_t)order[(i + 1) % count];
	free(order);
	return (void **)at;
}

__attribute__((noinline)) static void triad(double *a, const double *b, const double *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + 3 * c[i];
}

__attribute__((noinline)) static uint64_t gather(const uint64_t *table, uint64_t mask, long n)
{
	uint64_t sum = 0, x = 1;

	for (long i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		sum += table[x >> 33 & mask];
	}
	return sum;
}

__attribute__((noinline)) static double polynomials(long n, double x)
{
	double a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

	for (long i = 0; i < n; i++) {
		a = a * x + .1; b = b * x + .1; c = c * x + .1; d = d * x + .1;
		e = e * x + .1; f = f * x + .1; g = g * x + .1; h = h * x + .1;
	}
	return a + b + c + d + e + f + g + h;
}

__attribute__((noinline)) static uint64_t hash(const uint8_t *bytes, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 1099511628211u;
	return h;
}

__attribute__((noinline)) static uint64_t divide(uint64_t x, long n)
{
	uint64_t y = x;

	for (long i = 0; i < n; i++)
		y = 0xfffffffffffffff / (y | 3) + x;
	return y;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[1] : "";
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) << 10 : 0;
	double *a = memory(bytes + 64), *b = memory(bytes + 64), *c = memory(bytes + 64);
	void **at = *kind == 'c' ? ring(bytes) : NULL;

	for (double end = used() + 1; used() < end;) {
		if (*kind == 'c')
			at = walk(at, 100000);
		else if (*kind == 't')
			for (int i = 0; i < (int)((4 << 20) / bytes) + 1; i++)
				triad(a, b, c, bytes / 8);
		else if (*kind == 'g')
			sink += gather((uint64_t *)a, bytes / 8 - 1, 1000000);
		else if (*kind == 'p')
			real_sink += polynomials(1000000, .999);
		else if (*kind == 'h')
			sink += hash((uint8_t *)a, bytes);
		else
			sink += divide(7, 1000000);
	}
	return at == NULL && *kind == 'c';
}
'''

t = Test()
program = t.compile(PROGRAM, '-O1', '-g', output='./program')


def findings_of(kind, kilobytes, arch):
    """The finding on the hot loop, by the model of `arch`: of its kind, or of waiting for data."""
    name = f'{kind}.{kilobytes}'
    if not os.path.exists(os.path.join(t.folder, name)):
        t.command(t.sonde, 'record', '-o', name, '--', program, kind, str(kilobytes))
    os.environ['SONDE_NATIVE_ARCH'] = arch
    summary = t.show('summary', experiment=name)
    # what others had of the CPUs is no part of the program's own time
    own_s = sum(f['seconds'] for f in summary['findings'] if f['kind'] != 'waiting_for_cpu')
    waiting = [f for f in summary['findings'] if f['kind'] == 'memory' and 'waits for data' in f['sentence']]
    busy = [f for f in summary['findings'] if f['kind'] in ('compute_loops', 'compute_flat') and f['seconds'] > 0.05 * own_s]
    return summary, waiting, busy, own_s


# data in L1 or none at all: it computes, whatever the machine
for kind, kilobytes in (('polynomials', 1), ('hash', 16), ('divide', 1), ('chase', 16), ('triad', 4), ('gather', 16)):
    for arch in ('none', 'zen2'):
        summary, waiting, busy, own_s = findings_of(kind, kilobytes, arch)
        t.check(busy and not waiting and busy[0]['kind'] == 'compute_loops' and busy[0]['confidence'] != 'low',
                f'{kind} of {kilobytes} kB, machine {arch}: it computes', summary['verdict'], summary['findings'])

# data far beyond any cache of a core: it waits for them, or it is said that this cannot be told
for kind, kilobytes in (('chase', 128 << 10), ('triad', 64 << 10), ('gather', 128 << 10)):
    for arch in ('none', 'zen2'):
        summary, waiting, busy, own_s = findings_of(kind, kilobytes, arch)
        t.check(waiting or busy and busy[0]['confidence'] == 'low' and 'cannot tell' in busy[0]['sentence'] + summary['verdict']['sentence'],
                f'{kind} of {kilobytes >> 10} MB, machine {arch}: it waits for data, or nobody can tell', summary['verdict'], summary['findings'])
        if kind == 'chase' and summary['clock_mechanism'] == 'perf-signal' and summary['samples'] >= 500:
            t.check(waiting and waiting[0]['seconds'] > 0.05 * own_s, f'{kind} of {kilobytes >> 10} MB, machine {arch}: samples tell it',
                    summary['verdict'], summary['findings'])
t.done()
