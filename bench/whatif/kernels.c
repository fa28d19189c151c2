/* Small loops of many kinds, data in the first-level cache: reductions, streams, divisions,
 * strides, branches, gathers, structures. */
#include <stdio.h>
#include <stdlib.h>

#define K __attribute__((noinline, noclone))
typedef double T;
K T dot(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	T s = 0;
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}
K T sum(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	T s = 0;
	for (int i = 0; i < n; i++)
		s += a[i];
	return s;
}
K T triad(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] = b[i] * 1.0001 + c[i];
	return 0;
}
K T axpy(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] += 0.5 * b[i];
	return 0;
}
K T divi(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] = b[i] / c[i];
	return 0;
}
K T sq(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] = __builtin_sqrt(b[i]);
	return 0;
}
K T poly(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++) {
		T x = b[i];
		a[i] = ((((x * 1.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5) * x + 0.6;
	}
	return 0;
}
K T sten(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 1; i < n - 1; i++)
		a[i] = 0.25 * b[i - 1] + 0.5 * b[i] + 0.25 * b[i + 1];
	return 0;
}
K T mx(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	T s = 0;
	for (int i = 0; i < n; i++)
		s = a[i] > s ? a[i] : s;
	return s;
}
K T branch(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++) {
		if (c[i] > 0.45)
			a[i] = b[i] * c[i];
		else
			a[i] = b[i] + c[i];
	}
	return 0;
}
K T gat(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] += b[ix[i]];
	return 0;
}
K T str2(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n / 2; i++)
		a[i] = b[2 * i] * 2.0;
	return 0;
}
K T cplx(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n / 2; i++) {
		a[2 * i] = b[2 * i] * c[2 * i] - b[2 * i + 1] * c[2 * i + 1];
		a[2 * i + 1] = b[2 * i] * c[2 * i + 1] + b[2 * i + 1] * c[2 * i];
	}
	return 0;
}
K T norm(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		d[i] = __builtin_sqrt(a[i] * a[i] + b[i] * b[i] + c[i] * c[i]);
	return 0;
}
K T dist(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	T s = 0;
	for (int i = 0; i < n; i++) {
		T x = a[i] - 0.1, y = b[i] - 0.2, z = c[i] - 0.3;
		s += 1.0 / (x * x + y * y + z * z + 1);
	}
	return s;
}
K T copy4(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++) {
		a[i] = b[i];
		c[i] = d[i] * 3.0;
	}
	return 0;
}
K T fms(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		d[i] = a[i] * b[i] + b[i] * c[i] + c[i] * a[i];
	return 0;
}
K T flt(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	float *x = (float *)a, *y = (float *)b;
	for (int i = 0; i < n; i++)
		x[i] = y[i] * 1.5f + 2.0f;
	return 0;
}
K T fltdot(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	float *x = (float *)a, *y = (float *)b;
	float s = 0;
	for (int i = 0; i < n; i++)
		s += x[i] * y[i];
	return s;
}
K T conv(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 0; i < n; i++)
		a[i] = ix[i] * 0.5;
	return 0;
}
K T rec(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	for (int i = 1; i < n; i++)
		a[i] = a[i - 1] * 0.5 + b[i];
	return 0;
}
K T rsum2(T *restrict a, T *restrict b, T *restrict c, T *restrict d, int *restrict ix, int n)
{
	T s = 0, t = 0;
	for (int i = 0; i < n; i++) {
		s += a[i] * a[i];
		t += b[i];
	}
	return s + t;
}

enum { N = 1280 };
static T a[N + 64], b[N + 64], c[N + 64], d[N + 64];
static int ix[N];
typedef T kernel(T *restrict, T *restrict, T *restrict, T *restrict, int *restrict, int);

int main(int argc, char **argv)
{
	static kernel *const kernels[] = { dot, sum,	triad,	axpy, divi, sq,	  poly, sten,
					   mx,	branch, gat,	str2, cplx, norm, dist, copy4,
					   fms, flt,	fltdot, conv, rec,  rsum2 };
	long rounds = argc > 1 ? atol(argv[1]) : 60000;
	volatile T s = 0;

	for (unsigned k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		for (int i = 0; i < N; i++) {
			a[i] = 1 + i * 0.001;
			b[i] = 1.0 / (i + 1);
			c[i] = i * 7919 % 1000 / 1000.0;
			d[i] = i;
			ix[i] = i * 31 % (N / 2);
		}
		for (long r = 0; r < rounds; r++)
			s += kernels[k](a, b, c, d, ix, N);
	}
	printf("%g\n", s);
}
