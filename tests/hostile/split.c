#include <stdio.h>
#include <time.h>
#include <stdlib.h>
volatile double sink;
__attribute__((noinline)) double leaf_a(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += i * 0.5;
	return s;
}
__attribute__((noinline)) double leaf_b(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += i * 0.25;
	return s;
}
__attribute__((noinline)) double rec(int d)
{
	if (d == 0) {
		double r = leaf_a(2000) + leaf_b(1000);
		return r;
	}
	double r = rec(d - 1);
	sink = r;
	return r + 1;
}
int main(int c, char **v)
{
	int n = c > 1 ? atoi(v[1]) : 100000;
	for (int i = 0; i < n; i++)
		sink += rec(30);
	printf("done %d\n", n);
	return 7;
}
