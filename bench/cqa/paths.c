/* Loops with several paths whose shares are unequal and hang on data: paths KERNEL KIND SECONDS.
 * KIND: every8 (seven of eight passes alike, in a fixed order), random90, random50 (of a hundred
 * passes 90 and 50 go one way, in no order). Prints core cycles a pass. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define KERNEL __attribute__((noinline, noclone)) void
#define APART  __asm__ volatile("" ::: "memory")
typedef double T;
enum { MASK = 511, PATTERN = 1 << 22, PIECE = 20000 };

/* `way` says by bits where each pass goes. */
KERNEL q_div(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = b[k] * c[k] + 1;
		} else {
			APART;
			a[k] = b[k] / c[k];
		}
	}
}
KERNEL q_chain(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	T s = 0;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			s += b[k];
		} else {
			APART;
			s = s * .5 + c[k] * .25 + b[k];
		}
	}
	a[0] = s;
}
KERNEL q_skip(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (!(way[i] & 1)) {
			APART;
			a[k] = sqrt(b[k]) + c[k];
		}
	}
}
KERNEL q_poly(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		T x = b[k];
		if (way[i] & 1) {
			APART;
			x += c[k];
		} else {
			APART;
			x = ((((((x * .1 + .2) * x + .3) * x + .4) * x + .5) * x + .6) * x + .7) *
				    x +
			    .8;
		}
		a[k] = x;
	}
}
KERNEL q_int(T *restrict a_, const T *restrict b_, const T *restrict c_, const uint8_t *way, long n)
{
	long *restrict a = (long *)a_;
	const long *restrict b = (const long *)b_, *restrict c = (const long *)c_;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = (b[k] ^ c[k]) + (b[k] >> 3);
		} else {
			APART;
			a[k] = b[k] * 77 * c[k] + (b[k] * c[k] ^ (b[k] + 12) * 5) * (c[k] ^ 5);
		}
	}
}
KERNEL q_three(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = b[k] + c[k];
		} else if (way[i] & 2) {
			APART;
			a[k] = b[k] * c[k] * b[k] * c[k];
		} else {
			APART;
			a[k] = sqrt(b[k]) / c[k];
		}
	}
}
KERNEL q_four(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		T x = b[k];
		if (way[i] & 1) {
			APART;
			x = x * x + c[k];
		} else {
			APART;
			x = x / c[k];
		}
		if (way[i] & 2) {
			APART;
			x = x * 3 + 1;
		} else {
			APART;
			x = sqrt(x);
		}
		a[k] = x;
	}
}
/* a sum that is sometimes begun anew */
KERNEL q_reset(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	T s = 0;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			s += b[k] * c[k];
		} else {
			APART;
			a[k] = s;
			s = c[k];
		}
	}
	a[0] = s;
}

KERNEL q_sums(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	T s = 0, t = 0;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			s += b[k];
		} else {
			APART;
			t += b[k] * c[k] + a[k] * 3;
		}
	}
	a[0] = s + t;
}
KERNEL q_root(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		T x = b[k] * c[k];
		if (way[i] & 1) {
			APART;
			a[k] = x;
		} else {
			APART;
			a[k] = sqrt(x) + 1;
		}
	}
}
KERNEL q_hash(T *restrict a_, const T *restrict b_, const T *restrict c_, const uint8_t *way,
	      long n)
{
	const long *b = (const long *)b_;
	long h = 1;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			h += b[k];
		} else {
			APART;
			h = (h ^ b[k]) * 0x9e3779b97f4a7c15 + (h >> 7);
		}
	}
	((long *)a_)[0] = h;
}
KERNEL q_idiv(T *restrict a_, const T *restrict b_, const T *restrict c_, const uint8_t *way,
	      long n)
{
	unsigned *a = (unsigned *)a_;
	const unsigned *b = (const unsigned *)b_, *c = (const unsigned *)c_;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = b[k] + c[k];
		} else {
			APART;
			a[k] = b[k] / (c[k] | 7);
		}
	}
}
KERNEL q_copy(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = b[k];
		} else {
			APART;
			a[k] = c[k];
			a[k ^ 1] = b[k] + c[k];
		}
	}
}
KERNEL q_count(T *restrict a_, const T *restrict b_, const T *restrict c_, const uint8_t *way,
	       long n)
{
	long *a = (long *)a_;
	long s = 0;
	for (long i = 0; i < n; i++) {
		if (way[i] & 1) {
			APART;
			s++;
		} else {
			APART;
			s ^= 3;
			a[s & 7] += 1;
		}
	}
	a[0] = s;
}
KERNEL q_seldom(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	T s = 1;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		T x = b[k] * 2 + c[k];
		if (!(way[i] & 1)) {
			APART;
			s = s * .9 + x;
		}
		a[k] = x;
	}
	a[0] = s;
}
KERNEL q_sum_or_divide(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way,
		       long n)
{
	T s = 0;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		T x = b[k];
		if (way[i] & 1) {
			APART;
			x += 1;
		} else {
			APART;
			x = x * x * c[k];
		}
		if (way[i] & 2) {
			APART;
			s += x;
		} else {
			APART;
			s = s / x + 2;
		}
	}
	a[0] = s;
}
KERNEL q_conv(T *restrict a, const T *restrict b, const T *restrict c, const uint8_t *way, long n)
{
	const long *bl = (const long *)b;
	for (long i = 0; i < n; i++) {
		long k = i & MASK;
		if (way[i] & 1) {
			APART;
			a[k] = (T)(bl[k] >> 40);
		} else {
			APART;
			a[k] = (T)(bl[k] >> 40) * c[k] / 3.7 + (T)k;
		}
	}
}

#define ENTRY(f)                                                                                   \
	{                                                                                          \
#f, f                                                                              \
	}
static const struct {
	const char *name;
	void (*run)(T *restrict, const T *restrict, const T *restrict, const uint8_t *, long);
} kernels[] = { ENTRY(q_div),  ENTRY(q_chain), ENTRY(q_skip),	ENTRY(q_poly),
		ENTRY(q_int),  ENTRY(q_three), ENTRY(q_four),	ENTRY(q_reset),
		ENTRY(q_sums), ENTRY(q_root),  ENTRY(q_hash),	ENTRY(q_idiv),
		ENTRY(q_copy), ENTRY(q_count), ENTRY(q_seldom), ENTRY(q_sum_or_divide),
		ENTRY(q_conv) };

static double cycles_per_tick(void)
{
	double best = 1e9;
	for (int r = 0; r < 3; r++) {
		unsigned long v = 1;
		_mm_lfence();
		uint64_t s = __rdtsc();
		for (int i = 0; i < 100; i++)
			__asm__ volatile(".rept 64\n\tadd %0,%0\n\t.endr" : "+r"(v));
		_mm_lfence();
		double t = (double)(__rdtsc() - s) / (100 * 64.0);
		best = t < best ? t : best;
	}
	return 1 / best;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static uint64_t state = 88172645463325252u;
static unsigned next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 20) % 100;
}

/* Bit 0 is set in the passes that go the usual way, bit 1 likewise, independently. */
static void fill(uint8_t *way, const char *kind)
{
	for (long i = 0; i < PATTERN; i++) {
		if (strcmp(kind, "every8") == 0) {
			way[i] = (uint8_t)((i % 8 != 3) | (i % 8 != 5) << 1);
		} else {
			unsigned share = (unsigned)atoi(kind + strlen("random"));

			way[i] = (uint8_t)(next_random() < share);
			way[i] |= (uint8_t)((next_random() < share) << 1);
		}
	}
}

int main(int count, char **words)
{
	static double cycles[100000];
	double per_tick = 1, seconds = count > 3 ? atof(words[3]) : 1;
	size_t number = 0;
	unsigned k = 0;
	T *a, *b, *c;
	uint8_t *way = malloc(PATTERN);
	time_t end;

	while (k < sizeof(kernels) / sizeof(*kernels) && count > 2 &&
	       strcmp(kernels[k].name, words[1]))
		k++;
	if (count < 3 || k == sizeof(kernels) / sizeof(*kernels))
		return 2;
	a = malloc((MASK + 1) * sizeof(T));
	b = malloc((MASK + 1) * sizeof(T));
	c = malloc((MASK + 1) * sizeof(T));
	for (long i = 0; i <= MASK; i++) {
		a[i] = 1;
		b[i] = 1.5;
		c[i] = 1.25;
	}
	fill(way, words[2]);
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (time_t)((double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6 + seconds * 1000);
	for (long at = 0;; at = at + 2 * PIECE <= PATTERN ? at + PIECE : 0) {
		if (number % 50 == 0) {
			per_tick = cycles_per_tick();
			clock_gettime(CLOCK_MONOTONIC, &now);
			if ((double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6 > (double)end ||
			    number >= 100000 - 50)
				break;
		}
		uint64_t start = __rdtsc();
		kernels[k].run(a, b, c, way + at, PIECE);
		_mm_lfence();
		cycles[number++] = (double)(__rdtsc() - start) * per_tick / PIECE;
	}
	qsort(cycles, number, sizeof(*cycles), by_value);
	printf("%.3f\n", cycles[number / 5]);
	return 0;
}
