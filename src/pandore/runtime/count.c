/*
 * The counting build's main(). Each phase runs in a process of its own, once for every node: with the
 * scalars that are known, and on arrays that nobody may touch. What its sends would have carried is
 * printed:
 *
 *	p PHASE                          one phase begins
 *	m SITE FROM TO MESSAGES BYTES    in one call
 *	n SITE BYTES                     of a reference: bytes that nodes need; -1: not counted
 *	d LINE WHY                       messages depend on data: none of the above follows
 *	x NUMBER SUBSCRIPT EXTENT        a checked subscript is out of bounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pandore/runtime/runtime.h"

enum { NEED_STEPS_MAX = 10000000 };

struct element {
	const void *storage; /* NULL: free */
	long offset;
	int node;
};

static struct element *needed; /* since the last move; a power of two of places */
static size_t needed_count, needed_places;
static long *need_bytes, need_steps; /* bytes by site; -1: not counted */

static size_t place_of(const struct element *e)
{
	uint64_t h = (uint64_t)(uintptr_t)e->storage + (uint64_t)e->offset * 0x9e3779b97f4a7c15u +
		     (uint64_t)e->node * 0xc2b2ae3d27d4eb4fu;
	size_t i;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	for (i = (size_t)(h ^ h >> 32) & (needed_places - 1);; i = (i + 1) & (needed_places - 1))
		if (!needed[i].storage ||
		    (needed[i].storage == e->storage && needed[i].offset == e->offset &&
		     needed[i].node == e->node))
			return i;
}

static void grow(void)
{
	struct element *old = needed;
	size_t places = needed_places;

	needed_places = places ? places * 2 : 1024;
	needed = pd_alloc_zeroed(needed_places, sizeof(*needed));
	for (size_t i = 0; i < places; i++)
		if (old[i].storage)
			needed[place_of(&old[i])] = old[i];
	free(old);
}

static int is_new(const struct element *e)
{
	size_t i;

	if (needed_count * 2 >= needed_places)
		grow();
	i = place_of(e);
	if (needed[i].storage)
		return 0;
	needed[i] = *e;
	needed_count++;
	return 1;
}

void pd_need(int site, const struct pd_array *a, const void *storage, const long *subscripts,
	     int to)
{
	struct element e = { .storage = storage };
	int nodes = pd_state.program->nodes, from;
	long block = 0;

	for (int k = 0; k < a->rank; k++)
		block = block * a->grid[a->order[k]] +
			subscripts[a->order[k]] / a->block[a->order[k]];
	from = (int)(a->is_wrapped ? block % nodes : block / a->per_node);
	for (int d = 0; d < a->rank; d++)
		e.offset = e.offset * a->extent[d] + subscripts[d];
	for (e.node = 0; e.node < nodes; e.node++)
		if (e.node != from && (to < 0 || e.node == to) && is_new(&e))
			need_bytes[site] += (long)a->element_bytes;
}

int pd_need_more(int site)
{
	if (need_steps++ < NEED_STEPS_MAX)
		return 1;
	need_bytes[site] = -1;
	return 0;
}

void pd_count_moved(void)
{
	if (needed_count)
		memset(needed, 0, needed_places * sizeof(*needed));
	needed_count = 0;
}

long pd_outside(int number, long subscript, long extent)
{
	static int *numbers, count;

	for (int i = 0; i < count; i++)
		if (numbers[i] == number)
			return 0;
	if ((count & (count + 1)) == 0) {
		int *more = pd_alloc_zeroed((size_t)count * 2 + 2, sizeof(*more));

		for (int i = 0; i < count; i++)
			more[i] = numbers[i];
		free(numbers);
		numbers = more;
	}
	numbers[count++] = number;
	printf("x %d %ld %ld\n", number, subscript, extent);
	fflush(stdout); /* the phase may run out of time */
	return 0;
}

__attribute__((noreturn)) static void end_phase(void)
{
	fflush(stdout);
	_exit(0);
}

void pd_doubt(int line, const char *what)
{
	printf("d %d %s\n", line, what);
	end_phase();
}

/* Address space in which nothing may be read or written. */
static void *nowhere(const struct pd_array *array)
{
	size_t bytes = array->element_bytes;
	void *memory;

	for (int d = 0; d < array->rank; d++)
		if (__builtin_mul_overflow(bytes, (size_t)array->extent[d], &bytes))
			pd_doubt(0, "an array is larger than the address space");
	memory = mmap(NULL, bytes ? bytes : 1, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		pd_doubt(0, "an array is larger than the address space");
	return memory;
}

static void print_counts(int from)
{
	const struct pd_program *p = pd_state.program;

	for (int site = 0; site < p->site_count; site++)
		for (int to = 0; to < p->nodes; to++) {
			const struct pd_counter *c = &pd_counters[site * p->nodes + to];

			if (c->messages || c->bytes)
				printf("m %d %d %d %llu %llu\n", site, from, to,
				       (unsigned long long)c->messages,
				       (unsigned long long)c->bytes);
		}
	memset(pd_counters, 0, (size_t)p->site_count * (size_t)p->nodes * sizeof(*pd_counters));
}

__attribute__((noreturn)) static void count_phase(int phase)
{
	const struct pd_program *p = pd_state.program;
	const struct pd_phase *ph = &p->phases[phase];
	void *storage[PD_PARAMS_MAX + 1];

	if (ph->lay_out)
		ph->lay_out(ph->given);
	for (int i = 0; i < ph->param_count; i++)
		storage[i] = ph->arrays[i] ? nowhere(ph->arrays[i]) : NULL;
	for (pd_state.me = 0; pd_state.me < (p->is_checking ? 1 : p->nodes); pd_state.me++) {
		ph->run(storage, ph->given);
		print_counts(pd_state.me);
	}
	for (int site = 0; site < p->site_count; site++)
		if (need_bytes[site])
			printf("n %d %ld\n", site, need_bytes[site]);
	end_phase();
}

static void count_in_child(int phase, rlim_t seconds)
{
	struct rlimit limit = { seconds, seconds + 1 }, no_core = { 0, 0 };
	int status = 0;
	pid_t child;

	printf("p %d\n", phase);
	fflush(stdout);
	child = fork();
	if (!child) {
		if (seconds)
			setrlimit(RLIMIT_CPU, &limit);
		setrlimit(RLIMIT_CORE, &no_core);
		count_phase(phase);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		printf("d 0 no process could be made to count them\n");
	else if (WIFSIGNALED(status) &&
		 (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		printf("d 0 counting them takes more than %llu s of CPU time\n",
		       (unsigned long long)seconds);
	else if (WIFSIGNALED(status))
		printf("d 0 the phase ended with signal %d while they were counted\n",
		       WTERMSIG(status));
	else if (status)
		printf("d 0 the phase ended while they were counted\n");
}

/* The words: CPU seconds for each phase (0: no limit), and the number of nodes. */
int pd_count(const struct pd_program *program, int argc, char **argv)
{
	static struct pd_program of_run;
	long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	of_run = *program;
	pd_state.program = &of_run;
	of_run.nodes = pd_nodes = program->nodes ? program->nodes
				  : argc > 2	 ? (int)strtol(argv[2], NULL, 10)
						 : 1;
	pd_state.process_count = of_run.nodes + 1;
	pd_state.host_process = of_run.nodes;
	pd_measure_start();
	need_bytes = pd_alloc_zeroed((size_t)of_run.site_count + 1, sizeof(*need_bytes));
	for (int phase = 0; phase < of_run.phase_count; phase++)
		count_in_child(phase, (rlim_t)seconds);
	return 0;
}
