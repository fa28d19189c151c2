/*
 * Programs before and after a change that a programmer would make by hand. -DPAIR_... chooses one, -DAFTER changes it. The kernel is
 * called until its time is used; it prints a checksum, which both must share but for rounding.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef AFTER
enum { AFTER = 0 };
#endif

#define KERNEL __attribute__((noinline)) static double

static double *numbers(size_t count)
{
	double *x = malloc(count * sizeof(*x));

	for (size_t i = 0; i < count; i++)
		x[i] = 0.5 + (double)(i * 7919 % 1000) / 1000;
	return x;
}

static unsigned *permutation(size_t count)
{
	unsigned *p = malloc(count * sizeof(*p));

	for (size_t i = 0; i < count; i++)
		p[i] = (unsigned)i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t k =
			(size_t)(((unsigned long long)rand() << 31 ^ (unsigned long long)rand()) %
				 (i + 1));
		unsigned other = p[i];

		p[i] = p[k];
		p[k] = other;
	}
	return p;
}

/* ---- arithmetic: the build makes the vectors ---- */
#if defined PAIR_axpy_l1 || defined PAIR_axpy_l2 || defined PAIR_axpy_ram
#if defined PAIR_axpy_l1
enum { COUNT = 1500, PASSES = 400000 };
#elif defined PAIR_axpy_l2
enum { COUNT = 20000, PASSES = 30000 };
#else
enum { COUNT = 12000000, PASSES = 25 };
#endif
static double *x, *y;
static void prepare(void)
{
	x = numbers(COUNT);
	y = numbers(COUNT);
}
KERNEL kernel(void)
{
	for (int i = 0; i < COUNT; i++)
		y[i] = y[i] * 0.5 + x[i];
	return y[1];
}
#elif defined PAIR_polynomial
enum { COUNT = 3000, PASSES = 60000 };
static float x[COUNT], y[COUNT];
static void prepare(void)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)i / COUNT;
}
KERNEL kernel(void)
{
	for (int i = 0; i < COUNT; i++)
		y[i] = ((((x[i] * 0.1f + 0.2f) * x[i] + 0.3f) * x[i] + 0.4f) * x[i] + 0.5f) * x[i] +
		       0.6f;
	return y[7];
}
#elif defined PAIR_bytes
enum { COUNT = 20000, PASSES = 30000 };
static unsigned char x[COUNT];
static void prepare(void)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (unsigned char)(i * 31);
}
KERNEL kernel(void)
{
	unsigned s = 0;

	for (int i = 0; i < COUNT; i++)
		s += x[i] > 100 ? x[i] : 0;
	return s;
}

/* ---- sums ---- */
#elif defined PAIR_dot_l1 || defined PAIR_dot_ram
#if defined PAIR_dot_l1
enum { COUNT = 1600, PASSES = 250000 };
#else
enum { COUNT = 12000000, PASSES = 30 };
#endif
static double *x, *y;
static void prepare(void)
{
	x = numbers(COUNT);
	y = numbers(COUNT);
}
KERNEL kernel(void)
{
	double s = 0, s1 = 0, s2 = 0, s3 = 0;

	if (AFTER) {
		for (int i = 0; i < COUNT; i += 4) {
			s += x[i] * y[i];
			s1 += x[i + 1] * y[i + 1];
			s2 += x[i + 2] * y[i + 2];
			s3 += x[i + 3] * y[i + 3];
		}
		return s + s1 + s2 + s3;
	}
	for (int i = 0; i < COUNT; i++)
		s += x[i] * y[i];
	return s;
}
#elif defined PAIR_largest
enum { COUNT = 3000, PASSES = 150000 };
static double *x;
static void prepare(void)
{
	x = numbers(COUNT);
}
KERNEL kernel(void)
{
	double a = 0, b = 0, c = 0, d = 0;

	if (AFTER) {
		for (int i = 0; i < COUNT; i += 4) {
			a = a > x[i] ? a : x[i];
			b = b > x[i + 1] ? b : x[i + 1];
			c = c > x[i + 2] ? c : x[i + 2];
			d = d > x[i + 3] ? d : x[i + 3];
		}
		return fmax(fmax(a, b), fmax(c, d));
	}
	for (int i = 0; i < COUNT; i++)
		a = a > x[i] ? a : x[i];
	return a;
}
#elif defined PAIR_memory_sum
enum { COUNT = 3000, PASSES = 60000 };
static double *x, sums[4];
static void prepare(void)
{
	x = numbers(COUNT);
}
KERNEL kernel(void)
{
	double *volatile hidden = sums;
	double *s = hidden, t = 0;

	if (AFTER) {
		for (int i = 0; i < COUNT; i++)
			t += x[i];
		*s = t;
		return *s;
	}
	*s = 0;
	for (int i = 0; i < COUNT; i++)
		*s += x[i]; /* x may be s, so it is stored each time */
	return *s;
}
#elif defined PAIR_horner
enum { COUNT = 4000, PASSES = 40000 };
static double *c;
static void prepare(void)
{
	c = numbers(COUNT);
}
KERNEL kernel(void)
{
	double volatile hidden = 0.999;
	double x = hidden, x4 = x * x * x * x, s = 0, t = 0, u = 0, v = 0;

	if (AFTER) {
		for (int i = 0; i < COUNT; i += 4) {
			s = s * x4 + c[i];
			t = t * x4 + c[i + 1];
			u = u * x4 + c[i + 2];
			v = v * x4 + c[i + 3];
		}
		return ((s * x + t) * x + u) * x + v;
	}
	for (int i = 0; i < COUNT; i++)
		s = s * x + c[i];
	return s;
}

/* ---- divisions ---- */
#elif defined PAIR_divide_l1 || defined PAIR_divide_ram
#if defined PAIR_divide_l1
enum { COUNT = 2000, PASSES = 120000 };
#else
enum { COUNT = 12000000, PASSES = 16 };
#endif
static double *x, *y;
static void prepare(void)
{
	x = numbers(COUNT);
	y = numbers(COUNT);
}
KERNEL kernel(void)
{
	double volatile hidden = 1.7;
	double d = hidden, r = 1 / d;

	if (AFTER)
		for (int i = 0; i < COUNT; i++)
			y[i] = x[i] * r;
	else
		for (int i = 0; i < COUNT; i++)
			y[i] = x[i] / d;
	return y[3];
}
#elif defined PAIR_root
enum { COUNT = 2000, PASSES = 60000 };
static double *x, *z, weights[4] = { 1.3 };
static void prepare(void)
{
	x = numbers(COUNT);
	z = numbers(COUNT);
}
KERNEL kernel(void)
{
	double *volatile hidden = weights;
	double *w = hidden, r = 1 / sqrt(*w);

	if (AFTER)
		for (int i = 0; i < COUNT; i++)
			z[i] = x[i] * r;
	else
		for (int i = 0; i < COUNT; i++)
			z[i] = x[i] / sqrt(*w); /* z may hold w */
	return z[3];
}

/* ---- where the data are ---- */
#elif defined PAIR_transpose
enum { N = 4096, PASSES = 6, BLOCK = 16 };
static double *a, *b;
static void prepare(void)
{
	a = numbers((size_t)N * N);
	b = numbers((size_t)N * N);
}
KERNEL kernel(void)
{
	if (AFTER) {
		for (int ii = 0; ii < N; ii += BLOCK)
			for (int jj = 0; jj < N; jj += BLOCK)
				for (int i = ii; i < ii + BLOCK; i++)
					for (int j = jj; j < jj + BLOCK; j++)
						b[(size_t)i * N + j] = a[(size_t)j * N + i];
		return b[5];
	}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			b[(size_t)i * N + j] = a[(size_t)j * N + i];
	return b[5];
}
#elif defined PAIR_product
enum { N = 700, PASSES = 2 };
static double *a, *b, *c;
static void prepare(void)
{
	a = numbers(N * N);
	b = numbers(N * N);
	c = numbers(N * N);
}
KERNEL kernel(void)
{
	memset(c, 0, sizeof(double) * N * N);
	if (AFTER) {
		for (int i = 0; i < N; i++)
			for (int k = 0; k < N; k++)
				for (int j = 0; j < N; j++)
					c[i * N + j] += a[i * N + k] * b[k * N + j];
		return c[9];
	}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double s = 0;

			for (int k = 0; k < N; k++)
				s += a[i * N + k] * b[k * N + j];
			c[i * N + j] = s;
		}
	return c[9];
}
#elif defined PAIR_columns
enum { N = 4000, PASSES = 8 };
static double *a;
static void prepare(void)
{
	a = numbers((size_t)N * N);
}
KERNEL kernel(void)
{
	double s = 0;

	if (AFTER) {
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				s += a[(size_t)i * N + j];
		return s;
	}
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++)
			s += a[(size_t)i * N + j];
	return s;
}
#elif defined PAIR_blocked_sweeps
enum { COUNT = 8000000, SWEEPS = 6, PASSES = 4, BLOCK = 2000 };
static double *x;
static void prepare(void)
{
	x = numbers(COUNT);
}
__attribute__((noinline)) static void sweep(double *p, int count)
{
	for (int i = 0; i < count; i++)
		p[i] = p[i] * 0.75 + 0.1;
}
KERNEL kernel(void)
{
	if (AFTER) {
		for (int b = 0; b < COUNT; b += BLOCK)
			for (int s = 0; s < SWEEPS; s++)
				sweep(x + b, BLOCK);
		return x[4];
	}
	for (int s = 0; s < SWEEPS; s++)
		sweep(x, COUNT);
	return x[4];
}
#elif defined PAIR_structures
enum { COUNT = 1500000, PASSES = 60 };
struct particle {
	double x, y, z, vx, vy, vz, mass, charge;
};
static struct particle *p;
static double *mass;
static void prepare(void)
{
	p = calloc(COUNT, sizeof(*p));
	mass = malloc(COUNT * sizeof(*mass));
	for (int i = 0; i < COUNT; i++)
		p[i].mass = mass[i] = i % 10;
}
KERNEL kernel(void)
{
	double s = 0, t = 0;

	if (AFTER)
		for (int i = 0; i < COUNT; i += 2) {
			s += mass[i];
			t += mass[i + 1];
		}
	else
		for (int i = 0; i < COUNT; i += 2) {
			s += p[i].mass;
			t += p[i + 1].mass;
		}
	return s + t;
}
#elif defined PAIR_list
enum { COUNT = 400000, PASSES = 25 };
struct node {
	struct node *next;
	double value, more[6];
};
static struct node *nodes, *first;
static double *values;
static void prepare(void)
{
	unsigned *order = permutation(COUNT);

	nodes = calloc(COUNT, sizeof(*nodes));
	values = numbers(COUNT);
	for (int i = 0; i < COUNT; i++) {
		nodes[order[i]].value = values[i];
		nodes[order[i]].next = i + 1 < COUNT ? &nodes[order[i + 1]] : NULL;
	}
	first = &nodes[order[0]];
}
KERNEL kernel(void)
{
	double s = 0;

	if (AFTER)
		for (int i = 0; i < COUNT; i++)
			s += values[i];
	else
		for (const struct node *n = first; n; n = n->next)
			s += n->value;
	return s;
}
#elif defined PAIR_smaller_types
enum { COUNT = 12000000, PASSES = 20 };
#ifdef SMALL
typedef float real;
#else
typedef double real;
#endif
static real *x, *y;
static void prepare(void)
{
	x = malloc(COUNT * sizeof(*x));
	y = malloc(COUNT * sizeof(*y));
	for (int i = 0; i < COUNT; i++)
		x[i] = y[i] = (real)(i % 16);
}
KERNEL kernel(void)
{
	for (int i = 0; i < COUNT; i++)
		y[i] = y[i] * (real)0.5 + x[i];
	return (double)y[3];
}
#elif defined PAIR_fused
enum { COUNT = 6000000, PASSES = 12 };
static double *x, *y, *z;
static void prepare(void)
{
	x = numbers(COUNT);
	y = numbers(COUNT);
	z = numbers(COUNT);
}
KERNEL kernel(void)
{
	if (AFTER) {
		for (int i = 0; i < COUNT; i++) {
			double v = x[i] * 0.5 + y[i];

			v = v * v + y[i];
			z[i] = v - x[i];
		}
		return z[8];
	}
	for (int i = 0; i < COUNT; i++)
		z[i] = x[i] * 0.5 + y[i];
	for (int i = 0; i < COUNT; i++)
		z[i] = z[i] * z[i] + y[i];
	for (int i = 0; i < COUNT; i++)
		z[i] = z[i] - x[i];
	return z[8];
}

/* ---- prefetches ---- */
#elif defined PAIR_gather || defined PAIR_gather_l2
#if defined PAIR_gather
enum { COUNT = 8000000, PASSES = 5, AHEAD = 32 };
#else
enum { COUNT = 30000, PASSES = 4000, AHEAD = 32 };
#endif
static double *x;
static unsigned *order;
static void prepare(void)
{
	x = numbers(COUNT);
	order = permutation(COUNT + AHEAD);
	for (int i = 0; i < COUNT + AHEAD; i++)
		order[i] %= COUNT;
}
KERNEL kernel(void)
{
	double s = 0;

	for (int i = 0; i < COUNT; i++) {
		if (AFTER)
			__builtin_prefetch(&x[order[i + AHEAD]]);
		s += x[order[i]];
	}
	return s;
}
#elif defined PAIR_hash
enum { SLOTS = 1 << 23, COUNT = 4000000, PASSES = 6, AHEAD = 24 };
static unsigned *slots, *keys;
static void prepare(void)
{
	slots = calloc(SLOTS, sizeof(*slots));
	keys = malloc((COUNT + AHEAD) * sizeof(*keys));
	for (int i = 0; i < COUNT + AHEAD; i++)
		keys[i] = (unsigned)rand();
	for (int i = 0; i < COUNT; i++)
		slots[keys[i] * 2654435761u >> 9] = keys[i];
}
KERNEL kernel(void)
{
	long found = 0;

	for (int i = 0; i < COUNT; i++) {
		if (AFTER)
			__builtin_prefetch(&slots[keys[i + AHEAD] * 2654435761u >> 9]);
		if (slots[keys[i] * 2654435761u >> 9] == keys[i])
			found += keys[i] & 3;
	}
	return (double)found;
}

/* ---- less work around the arithmetic ---- */
#elif defined PAIR_conversions
enum { COUNT = 4000, PASSES = 60000 };
static float x[COUNT], y[COUNT];
static void prepare(void)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)i / COUNT;
}
KERNEL kernel(void)
{
	if (AFTER)
		for (int i = 0; i < COUNT; i++)
			y[i] = x[i] * 0.3f + 1.1f;
	else
		for (int i = 0; i < COUNT; i++)
			y[i] = (float)((double)x[i] * 0.3 + 1.1);
	return y[7];
}
#elif defined PAIR_remainder
enum { COUNT = 4000, PASSES = 25000 };
static unsigned x[COUNT], y[COUNT];
static void prepare(void)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (unsigned)i * 2654435761u;
}
KERNEL kernel(void)
{
	unsigned volatile hidden = 1024;
	unsigned d = hidden;

	if (AFTER)
		for (int i = 0; i < COUNT; i++)
			y[i] = x[i] & (d - 1);
	else
		for (int i = 0; i < COUNT; i++)
			y[i] = x[i] % d;
	return y[17];
}
#elif defined PAIR_unrolled
enum { COUNT = 6000, PASSES = 60000 };
static double *x, *y;
static void prepare(void)
{
	x = numbers(COUNT);
	y = numbers(COUNT);
}
KERNEL kernel(void)
{
	for (int i = 0; i < COUNT; i++)
		y[i] = x[i];
	return y[2];
}

/* ---- threads ---- */
#elif defined PAIR_balance
enum { N = 3000, PASSES = 12 };
static double *a;
static void prepare(void)
{
	a = numbers((size_t)N * N);
}
KERNEL kernel(void)
{
	double s = 0;

#ifdef DYNAMIC
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : s) num_threads(2)
#else
#pragma omp parallel for schedule(static) reduction(+ : s) num_threads(2)
#endif
	for (int i = 0; i < N; i++)
		for (int j = 0; j < i; j++)
			s += sqrt(a[(size_t)i * N + j]);
	return s;
}
#elif defined PAIR_critical
enum { N = 40000, PASSES = 20 };
static double *a;
static void prepare(void)
{
	a = numbers(N);
}
KERNEL kernel(void)
{
	double s = 0;

#ifdef DYNAMIC
#pragma omp parallel for reduction(+ : s) num_threads(2)
	for (int i = 0; i < N; i++) {
		double v = a[i];

		for (int k = 0; k < 60; k++)
			v = v * 0.5 + 1;
		s += v;
	}
#else
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < N; i++) {
		double v = a[i];

#pragma omp critical
		{
			for (int k = 0; k < 60; k++)
				v = v * 0.5 + 1;
			s += v;
		}
	}
#endif
	return s;
}
#endif

int main(int argc, char **argv)
{
	double s = 0;
	int times = argc > 1 ? atoi(argv[1]) : 1;

	prepare();
	for (int p = 0; p < PASSES * times; p++) {
		s += kernel();
		__asm__ volatile("" ::: "memory");
	}
	printf("%.6g\n", s);
	return 0;
}
