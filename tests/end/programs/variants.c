/* Loops whose bounds are known by construction, and loops that would break if a variant changed anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone))

/* each addition waits for the one before: FP takes as long */
KEPT double chain(const double *a, long n)
{
	double s = 1;
	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}
KEPT void divide(double *restrict a, const double *restrict b, const double *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] / c[i];
}
KEPT void triad(double *restrict a, const double *restrict b, const double *restrict c, double k,
		long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + k * c[i];
}
/* each load waits for the one before: LS takes as long */
KEPT long list(const long *next, long p, long n)
{
	while (n--)
		p = next[p];
	return p;
}
KEPT double gather(const double *a, const int *at, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[at[i]];
	return s;
}
KEPT void histogram(int *h, const unsigned char *k, long n)
{
	for (long i = 0; i < n; i++)
		h[k[i]]++;
}
/* a chain through memory */
KEPT void prefix(double *a, const double *b, long n)
{
	for (long i = 1; i < n; i++)
		a[i] = a[i - 1] * 0.999 + b[i];
}
KEPT unsigned hash(const unsigned *a, long n)
{
	unsigned h = 1;
	for (long i = 0; i < n; i++)
		h = (h ^ a[i]) * 16777619u;
	return h;
}
/* stores of all widths, and into themselves */
KEPT void widths(char *c, short *s, int *i, long *l, float *f, long n)
{
	for (long k = 0; k < n; k++) {
		c[k] ^= 5;
		s[k] += 3;
		i[k] -= 7;
		l[k] |= k;
		f[k] = f[k] * 0.5f + 1;
	}
}
/* data decide where it goes on, and it stores */
KEPT long compress(const int *a, int *b, long n)
{
	long m = 0;
	for (long i = 0; i < n; i++)
		if (a[i] & 4)
			b[m++] = a[i];
	return m;
}
/* several exits */
KEPT long find(const int *a, long n, int x)
{
	for (long i = 0; i < n; i++) {
		if (a[i] == x)
			return i;
		if (a[i] < 0)
			return -i;
	}
	return n;
}
/* a nest */
KEPT double matrix(const double *restrict a, const double *restrict b, double *restrict c, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double s = 0;
			for (int k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
	return c[n];
}
/* what it stores decides where it goes on: q is p + 1 */
KEPT long walk(long *p, long *q, long n)
{
	long i = 1, c = 0, s = 0;
	while (i) {
		q[c] = c + 2 < n ? c + 2 : 0;
		s += i;
		c++;
		i = p[i];
	}
	return s;
}
/* the same, and without its own stores it would not end */
KEPT long round_and_round(long *p, long *q, long n)
{
	long i = 1, c = 0;
	while (i) {
		q[c] = c + 2 < n ? c + 2 : 0;
		c++;
		i = p[i];
	}
	return c;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000, times = argc > 2 ? atol(argv[2]) : 2000;
	double *a = malloc(n * 8), *b = malloc(n * 8), *c = malloc(n * 8), s = 0,
	       m[3][256] = { { 0 } };
	long *next = malloc(n * 8), *w = malloc(n * 8), *l = calloc(n, 8), p = 0;
	int *at = malloc(n * 4), *h = calloc(256, 4), *in = malloc(n * 4), *out = malloc(n * 4),
	    *i4 = calloc(n, 4);
	unsigned char *k = malloc(n);
	unsigned *u = malloc(n * 4), x = 0;
	char *i1 = calloc(n, 1);
	short *i2 = calloc(n, 2);
	float *f = calloc(n, 4);

	for (long i = 0; i < n; i++) {
		a[i] = i % 7;
		b[i] = i % 11 + 1;
		c[i] = i % 13 + 1;
		at[i] = (int)(i * 7919 % n);
		k[i] = (unsigned char)(i * 31);
		u[i] = i * 2654435761u;
		in[i] = (int)(i * 48271 % 1009);
		next[i] = (i + 127) % n;
	}
	for (int i = 0; i < 256; i++)
		m[0][i] = i % 5, m[1][i] = i % 3;
	for (long t = 0; t < times; t++) {
		s += chain(b, n);
		divide(a, b, c, n);
		triad(a, b, c, 2, n);
		p = list(next, p, n);
		s += gather(b, at, n);
		histogram(h, k, n);
		prefix(a, b, n);
		x ^= hash(u, n);
		widths(i1, i2, i4, l, f, n);
		s += compress(in, out, n) + find(in, n, 1008) + out[0];
		s += matrix(m[0], m[1], m[2], 16);
		for (long i = 0; i < n; i++)
			w[i] = 1L << 40;
		s += walk(w, w + 1, n - 1);
		for (long i = 0; i < n; i++)
			w[i] = 1;
		s += round_and_round(w, w + 1, n - 1);
	}
	for (long i = 0; i < n; i++) {
		s += a[i] + i1[i] + i2[i] + i4[i] + f[i];
		p ^= l[i];
	}
	for (int i = 0; i < 256; i++)
		p = p * 31 + h[i];
	printf("%.17g %ld %u\n", s, p, x);
	return 3;
}
