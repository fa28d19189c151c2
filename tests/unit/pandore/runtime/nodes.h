/* A program of the library's without a compiler: phases that move elements of A as `move_elements` says,
 * and check that each node then has what it needs of others, and nothing else. */
#ifndef PANDORE_TEST_NODES_H
#define PANDORE_TEST_NODES_H

#include <string.h>

#include "harness/tap.h"
#include "layouts.h"

enum { ROWS = 10, COLUMNS = 8, NODES = 4, PHASES = 60 };

struct case_of {
	struct pd_array source, target, wrong; /* wrong: one number a node */
	const struct pd_array *arrays[5];
	long low, high, away[2]; /* iterations low..high-1 of both loops; the distance read */
	char is_needed[ROWS][COLUMNS];
};

static struct case_of cases[PHASES];

/** Asks for what the case's iterations need, and moves it. */
static void move_elements(const struct case_of *c, double (*source)[COLUMNS]);

/* What iteration (i, j) reads; 0 if it is out of bounds. */
static int read_by(const struct case_of *c, long i, long j, long *at)
{
	at[0] = i + c->away[0];
	at[1] = j + c->away[1];
	return at[0] >= 0 && at[0] < ROWS && at[1] >= 0 && at[1] < COLUMNS;
}

static double value_at(long i, long j)
{
	return (double)(1 + i * COLUMNS + j);
}

static void run_case(void *const *storage, const union pd_scalar *scalars)
{
	struct case_of *c = &cases[scalars[3].integer];
	double(*source)[COLUMNS] = storage[0], *wrong = storage[2];
	int me = pd_node(), count = 0;
	long at[2];

	for (long i = 0; i < ROWS; i++)
		for (long j = 0; j < COLUMNS; j++)
			if (layout_owner(&c->source, i, j, NODES) != me)
				source[i][j] = 0; /* of an earlier case */
	move_elements(c, source);
	memset(c->is_needed, 0, sizeof(c->is_needed));
	for (long i = c->low; i < c->high; i++)
		for (long j = c->low; j < c->high; j++)
			if (read_by(c, i, j, at) && layout_owner(&c->target, i, j, NODES) == me)
				c->is_needed[at[0]][at[1]] = 1;
	for (long i = 0; i < ROWS; i++)
		for (long j = 0; j < COLUMNS; j++) {
			int is_own = layout_owner(&c->source, i, j, NODES) == me;

			/* address space of our own: what never came is 0 */
			if (is_own || c->is_needed[i][j])
				count += source[i][j] != value_at(i, j);
			else
				count += source[i][j] != 0;
		}
	wrong[me] = count + 1;
}

static int host(int argc, char **argv)
{
	static double source[ROWS][COLUMNS], target[ROWS][COLUMNS], wrong[NODES];

	(void)argc;
	(void)argv;
	for (long k = 0; k < PHASES; k++) {
		void *arrays[] = { source, target, wrong, NULL };
		const size_t rows[4] = { sizeof(*source), sizeof(*target), sizeof(*wrong), 0 };
		union pd_scalar scalars[4] = { { 0 }, { 0 }, { 0 }, { .integer = k } };

		for (long i = 0; i < ROWS; i++)
			for (long j = 0; j < COLUMNS; j++)
				source[i][j] = value_at(i, j);
		memset(wrong, 0, sizeof(wrong));
		pd_call((int)k, arrays, scalars, rows);
		for (int node = 0; node < NODES; node++)
			CHECK_INT((int)wrong[node], 1);
	}
	return 0;
}

static void draw_case(struct case_of *c, unsigned *seed)
{
	c->source = layout_draw(seed, "A", ROWS, COLUMNS, NODES);
	c->target = layout_draw(seed, "B", ROWS, COLUMNS, NODES);
	c->wrong = (struct pd_array){ .name = "W",
				      .element_bytes = sizeof(double),
				      .rank = 1,
				      .extent = { NODES },
				      .is_distributed = 1,
				      .mode = PD_INOUT,
				      .block = { 1 },
				      .grid = { NODES },
				      .block_count = NODES,
				      .per_node = 1 };
	c->arrays[0] = &c->source;
	c->arrays[1] = &c->target;
	c->arrays[2] = &c->wrong;
	c->low = layout_random(seed) % 3;
	c->high = COLUMNS - layout_random(seed) % 3;
	for (int d = 0; d < 2; d++)
		c->away[d] = layout_random(seed) % 5 - 2;
}

static void run_cases(void)
{
	static struct pd_phase phases[PHASES];
	static const struct pd_site sites[1];
	static const struct pd_program program = { .name = "t",
						   .source = "t.pnd",
						   .scheme = "opt",
						   .nodes = NODES,
						   .phase_count = PHASES,
						   .site_count = 1,
						   .phases = phases,
						   .sites = sites };
	unsigned seed = 11;

	for (int k = 0; k < PHASES; k++) {
		draw_case(&cases[k], &seed);
		phases[k] = (struct pd_phase){ "p", 4, cases[k].arrays, run_case, NULL, NULL };
	}
	CHECK_INT(pd_main(&program, 0, NULL, host), 0);
}

#endif
