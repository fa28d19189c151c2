/* Loops that call functions: on paths that never run, that run rarely, in each iteration. What is called counts itself, so that a
 * call more or less changes what is printed. */
#include <cstdio>
#include <cstdlib>
#define KEPT extern "C" __attribute__((noinline, noclone, noipa))

static long told;

KEPT void tell(long i, double x)
{
	told = told * 31 + i + (x > 3);
}

KEPT double never(const double *a, double *b, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		double x = a[i] * 1.5 + 0.25;
		if (x > most)
			tell(i, x);
		b[i] = x;
		s += x;
	}
	return s;
}

KEPT double rarely(const double *a, double *b, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		double x = a[i] * 1.25 + 0.5;
		if (x > most) {
			tell(i, x);
			b[i] += told & 7;
		}
		b[i] = b[i] / 2 + x;
		s += x;
	}
	return s;
}

/* it is left before the step of the iteration that began last */
KEPT double until(const double *a, long n, double most, double last)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most)
			tell(i, s);
		s += a[i] * 1.125;
		if (a[i] > last)
			break;
	}
	return s;
}

KEPT double each_time(const double *a, double *b, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		double x = a[i] * 1.5 + 0.25;
		tell(i, x);
		b[i] = x;
		s += x;
	}
	return s;
}

/* nothing tells from the code that every instance calls */
KEPT double each_instance(const double *a, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most)
			tell(i, s);
		s += a[i];
	}
	return s;
}

/* as it is called first, each instance calls; later none does */
KEPT double first_only(const double *a, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most)
			tell(i, s);
		s += a[i] * 0.75;
	}
	return s;
}

KEPT double nest(const double *a, double *b, long n, long m, double most)
{
	double s = 0;
	for (long j = 0; j < m; j++) {
		double t = (double)j + 0.5;
		for (long i = 0; i < n; i++) {
			double x = a[i] * t;
			if (x > most)
				tell(i * j, x);
			b[i] = x;
			s += x;
		}
	}
	return s;
}

KEPT void tell_all(long a, long b, long c, long d, long e, long f, long g, long h, double x)
{
	told = told * 31 + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (x > 3);
}

/* the arguments are laid on the stack */
KEPT double pushed(const double *a, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most)
			tell_all(i, n, i, n, i, n, i + 1, n + 1, s);
		s += a[i] * 0.5;
	}
	return s;
}

KEPT double by_pointer(const double *a, long n, double most, void (*tells)(long, double))
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most)
			tells(i, s);
		s += a[i] * 0.125;
	}
	return s;
}

KEPT double itself(const double *a, long n, double most, int depth)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		if (a[i] > most && depth < 3)
			s += itself(a, n / 2, most, depth + 1);
		s += a[i] * 0.375;
	}
	return s;
}

KEPT void may_throw(long i)
{
	told += i;
	if (i % 3 == 0)
		throw i;
}

KEPT double throws(const double *a, double *b, long n, double most)
{
	double s = 0;
	for (long i = 0; i < n; i++) {
		double x = a[i] * 1.75;
		if (x > most)
			may_throw(i);
		b[i] = x;
		s += x;
	}
	return s;
}

static double a[4096], b[4096];

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 300;
	double s = 0, none = 1e9;

	for (int i = 0; i < 4096; i++)
		a[i] = i % 1000;
	for (long r = 0; r < rounds; r++) {
		const double *from = a + r * 37 % 3000;

		s += never(a, b, 2000, none);
		s += rarely(from, b, 200, 1.25 * 999);
		s += until(from, 400, 999 - 0.5, 300 + r % 500);
		s += each_time(a, b, 200);
		s += each_instance(a, 200, 150);
		s += first_only(a, 400, r < rounds / 5 ? 390 : none);
		s += nest(from, b, 100, 4, r % 10 ? none : 2000);
		s += pushed(from, 200, 999 - 0.5);
		s += by_pointer(from, 200, 999 - 0.5, tell);
		s += itself(from, 200, 999 - 0.5, 0);
		try {
			s += throws(from, b, 200, 1.75 * 999 - 0.5);
		} catch (long i) {
			s += (double)i;
		}
	}
	double sum = 0;
	for (int i = 0; i < 4096; i++)
		sum = sum * 0.75 + b[i];
	printf("%.17g %ld %.17g\n", s, told, sum);
	return (int)(told & 63);
}
