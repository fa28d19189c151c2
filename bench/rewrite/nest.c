#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline, noclone, noipa))
/* short inner loops: a search that ends by data, and a sum with a counter */
KEPT unsigned find(const unsigned char *s, unsigned n, unsigned q)
{
	unsigned h = 0;
	for (unsigned i = 0; i + 8 < n; i++) {
		unsigned j = 0;
		while (s[i + j] != q && s[i + j] > 3)
			j++;
		h = h * 31 + j;
	}
	return h;
}
KEPT long rows(const int *first, const int *column, const long *value, int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		for (int k = first[i]; k < first[i + 1]; k++)
			s += value[k] ^ column[k];
	return s;
}
int main(int argc, char **argv)
{
	enum { N = 20000 };
	static unsigned char s[N];
	static int first[N + 1], column[8 * N];
	static long value[8 * N];
	unsigned x = 1, h = 0;
	long sum = 0;
	int at = 0, turns = argc > 1 ? atoi(argv[1]) : 2000;
	for (int i = 0; i < N; i++) {
		x = x * 1664525 + 1013904223;
		s[i] = x >> 28;
		first[i] = at;
		for (unsigned k = 0; k < 3 + (x >> 30); k++, at++)
			column[at] = x >> 20, value[at] = x;
	}
	first[N] = at;
	for (int r = 0; r < turns; r++) {
		h += find(s, N, r & 15);
		sum += rows(first, column, value, N);
	}
	printf("%u %ld\n", h, sum);
}
