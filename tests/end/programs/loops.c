/* Loops whose place in the source is known: the test reads it from the marks. NAME is the function
 * that a loop is found in, after inlining; depth is that in the source. A loop's lines are those
 * with code: from its keyword (do: the first statement) to its last statement.
 */
#include <stddef.h>
#include <stdlib.h>

volatile int sink;

#ifdef __clang__
#define KERNEL __attribute__((noinline))
#else
#define KERNEL __attribute__((noinline, noclone))
#endif

KERNEL void axpy(double *restrict y, const double *restrict x, double a, int n)
{
	for (int i = 0; i < n; i++) /* loop axpy 1 innermost */
		y[i] += a * x[i];   /* end */
}

KERNEL void may_alias(float *y, const float *x, int n)
{
	for (int i = 0; i < n; i++) /* loop may_alias 1 innermost */
		y[i] = x[i] * 2.0f; /* end */
}

KERNEL void matrix(int n, const double *a, const double *b, double *c)
{
	for (int i = 0; i < n; i++) {	      /* loop matrix 1 */
		for (int j = 0; j < n; j++) { /* loop matrix 2 */
			double s = sink;
			for (int k = 0; k < n; k++)		  /* loop matrix 3 innermost */
				s += a[i * n + k] * b[k * n + j]; /* end */
			c[i * n + j] = s;			  /* end */
		}
		sink = i; /* end */
	}
}

KERNEL int search(const int *p, int n, int wanted)
{
	int i = 0;

	while (i < n) { /* loop search 1 innermost */
		if (p[i] == wanted)
			break;
		if (p[i] < 0)
			return -1;
		i++; /* end */
	}
	return i;
}

KERNEL unsigned long collatz(unsigned long x)
{
	unsigned long steps = 0;

	do {
		if (x & 1) /* loop collatz 1 innermost */
			x = 3 * x + 1;
		else
			x /= 2;
		steps++;
	} while (x != 1); /* end */
	return steps;
}

KERNEL int interpret(const unsigned char *code, int n)
{
	int acc = 0;

	for (int i = 0; i < n; i++) { /* loop interpret 1 innermost */
		switch (code[i]) {
		case 0:
			acc += sink;
			break;
		case 1:
			acc -= sink;
			break;
		case 2:
			acc *= 3;
			sink = acc;
			break;
		case 3:
			acc ^= sink;
			break;
		case 4:
			return acc;
		case 5:
			sink = 7;
			break;
		case 6:
			acc = -acc;
			break;
		case 7:
			acc += 17;
			sink = acc;
		} /* end */
	}
	return acc;
}

KERNEL void two_in_a_row(int *p, int n)
{
	for (int i = 0; i < n; i++) /* loop two_in_a_row 1 innermost */
		p[i] += sink;	    /* end */
	for (int i = 0; i < n; i++) /* loop two_in_a_row 1 innermost */
		p[i] ^= sink;	    /* end */
}

KERNEL void unlikely(int *p, int n)
{
	for (int i = 0; i < n; i++) { /* loop unlikely 1 innermost */
		if (__builtin_expect(p[i] < 0, 0)) {
			sink = i;
			p[i] = sink * 3;
		}
		p[i] += sink; /* end */
	}
}

static inline __attribute__((always_inline)) int row_sum(const int *p, int n)
{
	int s = 0;

	for (int i = 0; i < n; i++) /* loop rows 2 innermost */
		s += p[i] ^ sink;   /* end */
	return s;
}

KERNEL void rows(const int *p, int *out, int n)
{
	for (int i = 0; i < n; i++) { /* loop rows 1 */
		out[i] = row_sum(p + i * n, n);
		sink = out[i]; /* end */
	}
}

KERNEL void compact(int *p, int n)
{
	for (int i = 0; i < n; i++) /* loop compact 1 innermost */
		p[i] += sink;
} /* end */

int main(int argc, char **argv)
{
	static double x[64], y[64], z[64];
	static int p[64], q[64];

	axpy(y, x, 2, argc);
	may_alias((float *)x, (float *)y, argc);
	matrix(argc, x, y, z);
	sink = search(p, argc, 5) + (int)collatz((unsigned long)argc + 1);
	sink += interpret((unsigned char *)argv[0], argc);
	two_in_a_row(p, argc);
	unlikely(p, argc);
	rows(p, q, argc);
	compact(p, argc);
	return 0;
}
