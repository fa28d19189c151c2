/* Whole loops where they stand: each kernel over distinct arrays of a size for L1, L2, L3 and RAM,
 * timed by the time-stamp counter against dependent additions. Prints: kernel, level, core cycles
 * of a call, of one of half the length (L1; else 0), elements in which the two differ. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

#define KERNEL __attribute__((noinline, noclone)) void
typedef double T;
typedef float F;
KERNEL k_copy(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] = b[i] * 1.0000001;
}
KERNEL k_scale(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] = 3.0 * b[i] + 1.0;
}
KERNEL k_add(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + c[i];
}
KERNEL k_triad(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + 3.0 * c[i];
}
KERNEL k_daxpy(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] += 3.0 * b[i];
}
KERNEL k_poly3(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] = ((b[i] * 0.5 + 0.25) * b[i] + 0.125) * b[i] + 1.0;
}
KERNEL k_poly6(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++) {
		T x = b[i];
		a[i] = (((((x * .1 + .2) * x + .3) * x + .4) * x + .5) * x + .6) * x + .7;
	}
}
KERNEL k_div(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] / c[i];
}
KERNEL k_sqrt(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] = sqrt(b[i]);
}
KERNEL k_hypot(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] * b[i] + c[i] * c[i];
}
KERNEL k_stencil(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 1; i < n - 1; i++)
		a[i] = 0.25 * b[i - 1] + 0.5 * b[i] + 0.25 * b[i + 1];
}
KERNEL k_sum(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	T s = 0;
	(void)c;
	for (long i = 0; i < n; i++)
		s += b[i];
	a[0] = s;
}
KERNEL k_dot(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	T s = 0;
	for (long i = 0; i < n; i++)
		s += b[i] * c[i];
	a[0] = s;
}
KERNEL k_norm(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	T s = 0;
	(void)c;
	for (long i = 0; i < n; i++)
		s += b[i] * b[i];
	a[0] = s;
}
KERNEL k_max(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	T s = b[0];
	(void)c;
	for (long i = 0; i < n; i++)
		s = b[i] > s ? b[i] : s;
	a[0] = s;
}
KERNEL k_abs(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 0; i < n; i++)
		a[i] = fabs(b[i]) + 1;
}
KERNEL k_sel(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] > c[i] ? b[i] : c[i] * 2;
}
KERNEL k_fadd(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	F *restrict a = (F *)a_;
	const F *restrict b = (const F *)b_, *restrict c = (const F *)c_;
	for (long i = 0; i < n; i++)
		a[i] = b[i] + c[i];
}
KERNEL k_fpoly(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	F *restrict a = (F *)a_;
	const F *restrict b = (const F *)b_;
	(void)c_;
	for (long i = 0; i < n; i++)
		a[i] = (b[i] * .5f + .25f) * b[i] + 1.f;
}
KERNEL k_fdot(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	F s = 0;
	const F *restrict b = (const F *)b_, *restrict c = (const F *)c_;
	for (long i = 0; i < n; i++)
		s += b[i] * c[i];
	a_[0] = s;
}
KERNEL k_fdiv(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	F *restrict a = (F *)a_;
	const F *restrict b = (const F *)b_, *restrict c = (const F *)c_;
	for (long i = 0; i < n; i++)
		a[i] = b[i] / c[i];
}
KERNEL k_fsqrt(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	F *restrict a = (F *)a_;
	const F *restrict b = (const F *)b_;
	(void)c_;
	for (long i = 0; i < n; i++)
		a[i] = sqrtf(b[i]);
}
KERNEL k_rec(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	(void)c;
	for (long i = 1; i < n; i++)
		a[i] = b[i] + 0.5 * a[i - 1];
}
KERNEL k_branch(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		if (b[i] > -1)
			a[i] = b[i] * c[i] + 1;
		else
			a[i] = sqrt(c[i]) / b[i];
}

/* Several paths, taken in turn so that each is predicted and has the same share. What stands in the
 * assembly keeps the compiler from computing both sides. */
#define APART __asm__ volatile("" ::: "memory")
KERNEL p_two(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		if (i & 1) {
			APART;
			a[i] = b[i] * c[i] + 1;
		} else {
			APART;
			a[i] = b[i] / c[i];
		}
}
KERNEL p_chain(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	T s = 0;
	for (long i = 0; i < n; i++)
		if (i & 1) {
			APART;
			s += b[i];
		} else {
			APART;
			s = s * .5 + c[i] * .25 + b[i];
		}
	a[0] = s;
}
KERNEL p_skip(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		if (i & 1) {
			APART;
			a[i] = sqrt(b[i]) + c[i];
		}
}
KERNEL p_four(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++) {
		T x = b[i];
		if (i & 1) {
			APART;
			x = x * x + c[i];
		} else {
			APART;
			x = x / c[i];
		}
		if (i & 2) {
			APART;
			x = sqrt(x);
		} else {
			APART;
			x = x * 3 + 1;
		}
		a[i] = x;
	}
}
/* sixteen paths */
KERNEL m_four(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++) {
		T x = b[i];
		if (i & 1) {
			APART;
			x = x * x + c[i];
		} else {
			APART;
			x = x + 3;
		}
		if (i & 2) {
			APART;
			x = x * 2 - c[i];
		} else {
			APART;
			x = x * 3 + 1;
		}
		if (i & 4) {
			APART;
			x = x / c[i];
		}
		if (i & 8) {
			APART;
			x = x + b[i] * c[i];
		}
		a[i] = x;
	}
}
/* thirty-two paths of whole numbers */
KERNEL m_five(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	const long *from = (const long *)b;
	long *to = (long *)a;
	(void)c;
	for (long i = 0; i < n; i++) {
		long x = from[i];
		if (i & 1) {
			APART;
			x = x * 5 + 1;
		} else {
			APART;
			x ^= 77;
		}
		if (i & 2) {
			APART;
			x += x >> 3;
		} else {
			APART;
			x -= 9;
		}
		if (i & 4) {
			APART;
			x *= 12345;
		}
		if (i & 8) {
			APART;
			x = (x << 7) | (x & 127);
		}
		if (i & 16) {
			APART;
			x = -x;
		}
		to[i] = x;
	}
}
KERNEL p_poly(T *restrict a, const T *restrict b, const T *restrict c, long n)
{
	for (long i = 0; i < n; i++) {
		T x = b[i];
		if (i & 1) {
			APART;
			x = ((((x * .1 + .2) * x + .3) * x + .4) * x + .5) * x + .6;
		} else {
			APART;
			x += c[i];
		}
		a[i] = x;
	}
}
KERNEL p_int(T *restrict a_, const T *restrict b_, const T *restrict c_, long n)
{
	long *restrict a = (long *)a_;
	const long *restrict b = (const long *)b_, *restrict c = (const long *)c_;
	for (long i = 0; i < n; i++)
		if (i & 1) {
			APART;
			a[i] = (b[i] ^ c[i]) + (b[i] >> 3);
		} else {
			APART;
			a[i] = b[i] * 77 * c[i];
		}
}

#define ENTRY(f)                                                                                   \
	{                                                                                          \
#f, f                                                                              \
	}
static const struct {
	const char *name;
	void (*run)(T *restrict, const T *restrict, const T *restrict, long);
} kernels[] = { ENTRY(k_copy),	  ENTRY(k_scale), ENTRY(k_add),	 ENTRY(k_triad),  ENTRY(k_daxpy),
		ENTRY(k_poly3),	  ENTRY(k_poly6), ENTRY(k_div),	 ENTRY(k_sqrt),	  ENTRY(k_hypot),
		ENTRY(k_stencil), ENTRY(k_sum),	  ENTRY(k_dot),	 ENTRY(k_norm),	  ENTRY(k_max),
		ENTRY(k_abs),	  ENTRY(k_sel),	  ENTRY(k_fadd), ENTRY(k_fpoly),  ENTRY(k_fdot),
		ENTRY(k_fdiv),	  ENTRY(k_fsqrt), ENTRY(k_rec),	 ENTRY(k_branch), ENTRY(p_two),
		ENTRY(p_chain),	  ENTRY(p_skip),  ENTRY(p_four), ENTRY(p_poly),	  ENTRY(p_int),
		ENTRY(m_four),	  ENTRY(m_five) };

static double cycles_per_tick(void)
{
	double best = 1e9;
	for (int r = 0; r < 9; r++) {
		unsigned long v = 1;
		_mm_lfence();
		uint64_t s = __rdtsc();
		for (int i = 0; i < 300; i++)
			__asm__ volatile(".rept 64\n\tadd %0,%0\n\t.endr" : "+r"(v));
		_mm_lfence();
		double t = (double)(__rdtsc() - s) / (300 * 64.0);
		best = t < best ? t : best;
	}
	return 1 / best;
}

enum { ROUNDS = 400 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Others have the processor in between and share its core and memory: of many short pieces the
 * tenth is taken that is shortest. Each is timed against the clock of its moment. */
static double cycles_of(unsigned k, T *a, T *b, T *c, long n, long total, long times,
			unsigned rounds)
{
	static double cycles[ROUNDS];
	double per_tick = 1;
	long at = 0;

	for (long i = 0; total > n && i < total; i += n)
		kernels[k].run(a + i, b + i, c + i, i + n <= total ? n : total - i);
	for (unsigned r = 0; r < rounds; r++) {
		if (r % 20 == 0)
			per_tick = cycles_per_tick();
		if (total == n)
			kernels[k].run(a, b, c, n);
		uint64_t s = __rdtsc();
		for (long i = 0; i < times; i++) {
			kernels[k].run(a + at, b + at, c + at, n);
			_mm_lfence(); /* a sum must not overlap the next */
		}
		cycles[r] = (double)(__rdtsc() - s) * per_tick / (double)times;
		at = at + 2 * n <= total ? at + n : 0;
	}
	qsort(cycles, rounds, sizeof(*cycles), by_value);
	return cycles[rounds / 10];
}

int main(void)
{
	/* Total elements of each array, and how many a piece has. 640 and 320 are 80 and 40 passes
	   of 64 bytes: few enough that the end of both is predicted. */
	static const struct {
		const char *name;
		long total, piece, times;
		unsigned rounds;
	} levels[] = { { "L1", 640, 640, 30, ROUNDS },
		       { "L2", 20000, 20000, 2, ROUNDS / 2 },
		       { "L3", 250000, 31250, 1, ROUNDS / 2 },
		       { "RAM", 8000000, 31250, 1, ROUNDS } };
	long most = 8000000;
	/* apart within a page too, so that a store does not look like the loads of another array */
	size_t room = (size_t)most * 8 + 8192;
	T *a = aligned_alloc(4096, room), *b = (T *)((char *)aligned_alloc(4096, room) + 1088),
	  *c = (T *)((char *)aligned_alloc(4096, room) + 2176);

	for (long i = 0; i < most; i++) {
		a[i] = 1;
		b[i] = 1.5;
		c[i] = 1.25;
	}
	for (unsigned k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		bool is_float = kernels[k].name[2] == 'f';

		for (long i = 0; i < 2 * most && is_float; i++) {
			((F *)b)[i] = 1.5f;
			((F *)c)[i] = 1.25f;
		}
		for (unsigned l = 0; l < 4; l++) {
			long n = levels[l].piece;
			double full = cycles_of(k, a, b, c, n, levels[l].total, levels[l].times,
						levels[l].rounds);
			/* what a call costs goes out with half the length, where it matters */
			double half = l ? 0
					: cycles_of(k, a, b, c, n / 2, n / 2, levels[l].times,
						    levels[l].rounds);

			printf("%s\t%s\t%.2f\t%.2f\t%ld\n", kernels[k].name, levels[l].name, full,
			       half, l ? n : n / 2);
		}
		for (long i = 0; i < most && is_float; i++) {
			a[i] = 1;
			b[i] = 1.5;
			c[i] = 1.25;
		}
	}
	return 0;
}
