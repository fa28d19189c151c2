#include "hand.h"
#define N      1024
#define LEVELS 3
#define CYCLES 5

/* One grid: its own rows are 1 to `rows`, those of the neighbours before and after them. */
struct grid {
	double *u, *f, *r;
	int n, rows;
};

static double *row(double *a, const struct grid *g, int i)
{
	return a + (size_t)i * (size_t)g->n;
}

static void border(const struct grid *g, double *a)
{
	int up = rank ? rank - 1 : MPI_PROC_NULL,
	    down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;

	MPI_Sendrecv(row(a, g, 1), g->n, MPI_DOUBLE, up, 0, row(a, g, g->rows + 1), g->n,
		     MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(row(a, g, g->rows), g->n, MPI_DOUBLE, down, 0, row(a, g, 0), g->n, MPI_DOUBLE,
		     up, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The own rows that are not at the rim of the whole grid. */
static int first(void)
{
	return rank ? 1 : 2;
}

static int last(const struct grid *g)
{
	return rank < ranks - 1 ? g->rows : g->rows - 1;
}

static void residual(const struct grid *g)
{
	border(g, g->u);
	for (int i = first(); i <= last(g); i++) {
		const double *u = row(g->u, g, i), *over = u - g->n, *under = u + g->n,
			     *f = row(g->f, g, i);
		double *restrict r = row(g->r, g, i);

		for (int j = 1; j < g->n - 1; j++)
			r[j] = f[j] - (4 * u[j] - over[j] - under[j] - u[j - 1] - u[j + 1]);
	}
}

static void smooth(const struct grid *g)
{
	residual(g);
	for (int i = first(); i <= last(g); i++) {
		double *restrict u = row(g->u, g, i);
		const double *r = row(g->r, g, i);

		for (int j = 1; j < g->n - 1; j++)
			u[j] += 0.2 * r[j];
	}
}

static void coarsen(const struct grid *fine, const struct grid *g)
{
	border(fine, fine->r);
	for (int i = first(); i <= last(g); i++) {
		/* row i of the block begins at row 2 (i - 1) + 1 of the finer one */
		const double *r = row(fine->r, fine, 2 * i - 1), *over = r - fine->n,
			     *under = r + fine->n;
		double *restrict f = row(g->f, g, i), *restrict u = row(g->u, g, i);

		for (int j = 1; j < g->n - 1; j++) {
			f[j] = 0.25 *
			       (4 * r[2 * j] +
				2 * (over[2 * j] + under[2 * j] + r[2 * j - 1] + r[2 * j + 1]) +
				(over[2 * j - 1] + over[2 * j + 1] + under[2 * j - 1] +
				 under[2 * j + 1]));
			u[j] = 0;
		}
	}
}

static void correct(const struct grid *fine, const struct grid *g)
{
	border(g, g->u);
	for (int i = first(); i <= last(g); i++) {
		const double *c = row(g->u, g, i), *under = c + g->n;
		double *restrict u = row(fine->u, fine, 2 * i - 1), *restrict v = u + fine->n;

		for (int j = 1; j < g->n - 1; j++) {
			u[2 * j] += c[j];
			u[2 * j + 1] += 0.5 * (c[j] + c[j + 1]);
			v[2 * j] += 0.5 * (c[j] + under[j]);
			v[2 * j + 1] += 0.25 * (c[j] + c[j + 1] + under[j] + under[j + 1]);
		}
	}
}

static void cycle(const struct grid *g, int level)
{
	if (level == LEVELS - 1) {
		for (int s = 0; s < 10; s++)
			smooth(g);
		return;
	}
	smooth(g);
	smooth(g);
	residual(g);
	coarsen(g, g + 1);
	cycle(g + 1, level + 1);
	correct(g, g + 1);
	smooth(g);
}

int main(int argc, char **argv)
{
	double *U = NULL, *F = NULL, start;
	struct grid grids[LEVELS];

	begin(&argc, &argv);
	if (!rank) {
		U = memory(sizeof(*U) * N * N);
		F = memory(sizeof(*F) * N * N);
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				F[i * N + j] = (i * 31 + j * 17) % 13 - 6;
	}
	for (int k = 0; k < LEVELS; k++) {
		struct grid *g = &grids[k];
		size_t bytes;

		g->n = N >> k;
		g->rows = g->n / ranks;
		bytes = sizeof(double) * (size_t)g->n * (size_t)(g->rows + 2);
		g->u = memory(bytes);
		g->f = memory(bytes);
		g->r = memory(bytes);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	start = now();
	MPI_Scatter(U, grids->rows * N, MPI_DOUBLE, row(grids->u, grids, 1), grids->rows * N,
		    MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Scatter(F, grids->rows * N, MPI_DOUBLE, row(grids->f, grids, 1), grids->rows * N,
		    MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int t = 0; t < CYCLES; t++)
		cycle(grids, 0);
	MPI_Gather(row(grids->u, grids, 1), grids->rows * N, MPI_DOUBLE, U, grids->rows * N,
		   MPI_DOUBLE, 0, MPI_COMM_WORLD);
	start = now() - start;
	if (!rank)
		printf("%lx %.9f\n", sum_of(U, sizeof(*U) * N * N), start);
	MPI_Finalize();
	return 0;
}
