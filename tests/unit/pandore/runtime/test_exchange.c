/* Sections between nodes: what each needs arrives, and nothing else does. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nodes.h"

enum { LONG = 1 << 16, HALF = LONG / 2, WAITS_US = 1000, WAITS_MAX = 60000 };

static void move_elements(const struct case_of *c, double (*source)[COLUMNS])
{
	const struct pd_moves moves = { .source = &c->source,
					.target = &c->target,
					.loop_count = 2,
					.source_coef = { { 1, 0 }, { 0, 1 } },
					.target_coef = { { 1, 0 }, { 0, 1 } } };
	const struct pd_range loops[] = { { c->low, c->high - 1, 1 }, { c->low, c->high - 1, 1 } };
	const long zero[] = { 0, 0 };

	pd_exchange(&moves, source, zero, c->away, loops);
	pd_exchange(&moves, source, zero, c->away, loops); /* asked twice, sent once */
	pd_move();
}

TEST(each_node_gets_its_sections_and_no_more)
{
	run_cases();
}

static atomic_int *has_come;
static const struct pd_array whole = { .name = "A",
				       .element_bytes = sizeof(double),
				       .rank = 1,
				       .extent = { LONG },
				       .is_distributed = 1,
				       .mode = PD_INOUT,
				       .block = { HALF },
				       .grid = { 2 },
				       .block_count = 2,
				       .per_node = 1 };

/* Node 1 needs node 0's half, and node 0 does nothing for it after pd_move(). */
static void hand_over(void *const *storage, const union pd_scalar *scalars)
{
	const struct pd_moves moves = { .source = &whole,
					.target = &whole,
					.loop_count = 1,
					.source_coef = { { 1 } },
					.target_coef = { { 1 } } };
	const struct pd_range loop = { HALF, LONG - 1, 1 };
	const long zero[] = { 0 }, away[] = { -HALF };
	double *a = storage[0];

	(void)scalars;
	pd_exchange(&moves, a, zero, away, &loop);
	pd_move();
	if (pd_node() == 1)
		atomic_store(has_come, 1);
	for (int i = 0; pd_node() == 0 && !atomic_load(has_come) && i < WAITS_MAX; i++)
		usleep(WAITS_US);
	a[pd_node() * HALF] = atomic_load(has_come) ? a[0] + 1 : -1;
}

static int host_of_two(int argc, char **argv)
{
	static double a[LONG];
	void *arrays[] = { a, NULL };
	const size_t rows[] = { sizeof(*a), 0 };
	const union pd_scalar scalars[] = { { 0 }, { 0 } };

	(void)argc;
	(void)argv;
	a[0] = 7;
	pd_call(0, arrays, scalars, rows);
	CHECK_INT((int)a[0], 8);
	CHECK_INT((int)a[HALF], 8);
	return 0;
}

TEST(what_has_moved_is_there_whatever_its_sender_does_next)
{
	static const struct pd_array *const arrays[] = { &whole, NULL };
	static const struct pd_phase phases[] = { { "p", 1, arrays, hand_over, NULL, NULL } };
	static const struct pd_site sites[1];
	static const struct pd_program program = { .name = "t",
						   .source = "t.pnd",
						   .scheme = "opt",
						   .nodes = 2,
						   .phase_count = 1,
						   .site_count = 1,
						   .phases = phases,
						   .sites = sites };

	has_come = mmap(NULL, sizeof(*has_come), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	CHECK(has_come != MAP_FAILED);
	CHECK_INT(pd_main(&program, 0, NULL, host_of_two), 0);
	munmap(has_come, sizeof(*has_come));
}
