/* Loop-carried dependences. Within one pass the data flow has no cycle, so for each value carried
 * into the pass the longest path to each value carried out of it is found in program order. These
 * path lengths form a matrix over (max, +); the bound is its largest mean cycle weight (Karp 1978).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "cqa/block/address.h"
#include "cqa/core/bounds.h"
#include "cqa/core/flow.h"

static const double never = -INFINITY;

enum {
	LANES = 8, /* (room) carried values that one pass follows */
};

/* A value that an instruction made in a traced pass, and the one that it waited for. */
struct made {
	int32_t insn, from; /* from: number of a value, -1: what came into the pass at time 0 */
	double when;
};

/* When a value is there, by lane: after the carried value that started at time 0 in that lane;
 * -INFINITY: it does not depend on it. */
struct arrival {
	double when[LANES];
	int32_t maker; /* in a traced pass, of the first lane: number of `made`; -1: it came into
			  the pass */
};

/* Passes through the block, one after the other. */
struct walk {
	const struct sn_data_flow *flow;
	unsigned *carried; /* numbers of the values that matter: resources, then cells */
	unsigned carried_count;
	struct arrival *now;	/* [SN_RES_COUNT + flow->cell_count] */
	struct arrival *stored; /* [access] */
	bool trace;		/* for members: how each value came about */
	SN_VEC(struct made) made;
};

static struct arrival never_arrives(void)
{
	struct arrival arrival = { .maker = -1 };

	for (unsigned i = 0; i < LANES; i++)
		arrival.when[i] = never;
	return arrival;
}

static void later(struct arrival *restrict arrival, const double *restrict when, double cycles,
		  int32_t maker)
{
	if (when[0] + cycles > arrival->when[0])
		arrival->maker = maker;
	for (unsigned i = 0; i < LANES; i++) {
		double sum = when[i] + cycles;

		arrival->when[i] = sum > arrival->when[i] ? sum : arrival->when[i];
	}
}

/* The number under which a traced pass remembers a value; -1: it hangs on nothing carried. */
static int32_t remember(struct walk *walk, size_t insn, int32_t from, double when)
{
	if (!walk->trace || when <= never)
		return -1;
	sn_vec_push(&walk->made, (struct made){ (int32_t)insn, from, when });
	return (int32_t)walk->made.count - 1;
}

/* A value that is there `cycles` after `from`. */
static void make(struct walk *walk, struct arrival *value, const struct arrival *from,
		 double cycles, size_t insn)
{
	for (unsigned i = 0; i < LANES; i++)
		value->when[i] = from->when[i] + cycles;
	value->maker = remember(walk, insn, from->maker, value->when[0]);
}

/* The stored value that a load takes; NULL: it depends on nothing that is carried. */
static const struct arrival *forwarded(const struct walk *walk, size_t access_number)
{
	const struct sn_access *access = &walk->flow->block->accesses->items[access_number];
	int32_t cell = walk->flow->cell_of[access_number];

	if (access->source < 0)
		return NULL;
	if (!access->source_distance)
		return &walk->stored[access->source];
	return cell < 0 ? NULL : &walk->now[SN_RES_COUNT + cell];
}

/* Operands of an instruction, each there when the last of its kind is. */
struct operands {
	struct arrival data, address, late;
	struct arrival memory; /* taken from a store; of several the last */
	struct arrival all;    /* what the operation begins with */
	bool is_rmw;
};

static void read_role(const struct walk *walk, const struct sn_flow_insn *insn, enum sn_role role,
		      struct arrival *last)
{
	for (unsigned k = insn->read_begin[role]; k < insn->read_begin[role + 1]; k++) {
		const struct arrival *value = &walk->now[insn->reads[k].resource];

		later(last, value->when, insn->reads[k].cycles, value->maker);
	}
}

static void load(const struct walk *walk, size_t i, struct operands *in)
{
	const struct sn_flow_insn *insn = &walk->flow->insns[i];

	in->all = in->data;
	later(&in->all, in->address.when, insn->load_latency, in->address.maker);
	for (unsigned k = 0; k < walk->flow->block->insns[i].memory_count; k++) {
		size_t number = insn->first_access + k;
		const struct sn_access *access = &walk->flow->block->accesses->items[number];
		const struct arrival *value = access->is_load ? forwarded(walk, number) : NULL;

		in->is_rmw |= access->is_load && access->is_store;
		if (!access->is_load)
			continue;
		in->memory = value ? *value : never_arrives();
		if (value)
			later(&in->all, value->when, walk->flow->forward_cycles[number],
			      value->maker);
	}
}

/* A value that is read from memory and stored again may take a shorter way. */
static struct arrival modified(const struct sn_flow_insn *insn, const struct operands *in)
{
	struct arrival plain = in->all, value = never_arrives();

	later(&value, in->data.when, insn->latency, in->data.maker);
	later(&value, in->memory.when, insn->update_cycles, in->memory.maker);
	for (unsigned n = 0; n < LANES; n++)
		if (in->memory.when[n] <= never)
			value.when[n] = plain.when[n] + insn->latency;
	if (in->memory.when[0] <= never)
		value.maker = plain.maker;
	return value;
}

static void run_insn(struct walk *walk, size_t i)
{
	const struct sn_flow_insn *insn = &walk->flow->insns[i];
	struct arrival none = never_arrives();
	struct operands in = { none, none, none, none, none, false };

	read_role(walk, insn, SN_ROLE_DATA, &in.data);
	read_role(walk, insn, SN_ROLE_ADDRESS, &in.address);
	read_role(walk, insn, SN_ROLE_LATE, &in.late);
	load(walk, i, &in);
	for (unsigned k = 0; k < walk->flow->block->insns[i].memory_count; k++) {
		size_t number = insn->first_access + k;
		struct arrival value = in.is_rmw ? modified(insn, &in) : in.all;

		if (walk->flow->block->accesses->items[number].is_store)
			make(walk, &walk->stored[number], &value, 0, i);
	}
	for (unsigned k = 0; k < insn->write_count; k++) {
		const struct sn_flow_write *write = &insn->writes[k];
		struct arrival from = in.all;

		if (write->is_flag)
			later(&from, in.late.when, 0, in.late.maker);
		make(walk, &walk->now[write->resource], &from, insn->latency + write->is_late, i);
	}
}

/* One pass: what starts at `sources` at time 0, each in a lane, arrives at the carried values when?
 */
static void run_pass(struct walk *walk, const unsigned *sources, unsigned count)
{
	const struct sn_data_flow *flow = walk->flow;

	for (unsigned i = 0; i < SN_RES_COUNT + flow->cell_count; i++)
		walk->now[i] = never_arrives();
	for (unsigned i = 0; i < count; i++)
		walk->now[sources[i]].when[i] = 0;
	for (size_t i = 0; i < flow->block->accesses->count; i++)
		walk->stored[i] = never_arrives();
	for (size_t i = 0; i < flow->block->count; i++)
		run_insn(walk, i);
	/* a cell takes the value of the younger one, which comes before it, before that changes */
	for (unsigned i = flow->cell_count; i-- > 0;) {
		const struct sn_flow_cell *cell = &flow->cells[i];

		walk->now[SN_RES_COUNT + i] = cell->younger < 0
						      ? walk->stored[cell->access]
						      : walk->now[SN_RES_COUNT + cell->younger];
	}
	sn_flow_turn_x87(flow, &walk->now[SN_RES_X87], sizeof(*walk->now));
}

/* Values that are both taken from the previous pass and made anew. */
static void find_carried(struct walk *walk)
{
	bool is_read[SN_RES_COUNT] = { false }, is_written[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < walk->flow->block->count; i++) {
		const struct sn_insn *insn = &walk->flow->block->insns[i];

		for (unsigned k = 0; k < insn->read_count; k++)
			if (!is_written[insn->reads[k].resource])
				is_read[insn->reads[k].resource] = true;
		for (unsigned k = 0; k < insn->write_count; k++)
			is_written[insn->writes[k]] = true;
	}
	for (unsigned i = 0; i < SN_RES_COUNT; i++) {
		bool turns = i >= SN_RES_X87 && i < SN_RES_FLAG;

		if (is_read[i] && (is_written[i] || turns))
			walk->carried[walk->carried_count++] = i;
	}
	for (unsigned i = 0; i < walk->flow->cell_count; i++)
		walk->carried[walk->carried_count++] = SN_RES_COUNT + i;
}

/* The weights of the edges between the values that are carried, and those of them that lie on a
 * cycle. */
struct graph {
	double *weights;
	unsigned n, *kept, count;
};

/* weights[from * n + to]; drops values on no cycle by peeling those without way in or out. */
static unsigned peel(double *weights, unsigned n, unsigned *kept)
{
	bool *gone = sn_alloc_zeroed(n, sizeof(bool));
	bool changed = true;
	unsigned count = 0;

	while (changed) {
		changed = false;
		for (unsigned v = 0; v < n; v++) {
			bool in = false, out = false;

			if (gone[v])
				continue;
			for (unsigned u = 0; u < n; u++) {
				in |= !gone[u] && weights[u * n + v] > never;
				out |= !gone[u] && weights[v * n + u] > never;
			}
			if (!in || !out)
				gone[v] = changed = true;
		}
	}
	for (unsigned v = 0; v < n; v++)
		if (!gone[v])
			kept[count++] = v;
	free(gone);
	return count;
}

/* Between the values that are kept. */
static double edge(const struct graph *graph, unsigned from, unsigned to)
{
	return graph->weights[graph->kept[from] * graph->n + graph->kept[to]];
}

/* Karp's theorem with a source before all: longest walks of k edges that end at v. */
static double largest_mean(const struct graph *graph)
{
	unsigned count = graph->count;
	double *walks = sn_alloc_zeroed((size_t)(count + 1) * count, sizeof(double));
	double best = 0;

	for (unsigned k = 1; k <= count; k++)
		for (unsigned v = 0; v < count; v++) {
			double most = never;

			for (unsigned u = 0; u < count; u++) {
				double w = edge(graph, u, v);
				double old = walks[(size_t)(k - 1) * count + u];

				if (w > never && old > never && old + w > most)
					most = old + w;
			}
			walks[(size_t)k * count + v] = most;
		}
	for (unsigned v = 0; v < count; v++) {
		double least = INFINITY, last = walks[(size_t)count * count + v];

		if (last <= never)
			continue;
		for (unsigned k = 0; k < count; k++) {
			double old = walks[(size_t)k * count + v];

			if (old > never && (last - old) / (count - k) < least)
				least = (last - old) / (count - k);
		}
		if (least < INFINITY && least > best)
			best = least;
	}
	free(walks);
	return best;
}

/* A cycle of the largest mean: longest walks with the mean taken off each edge stop growing; tight
 * edges lead backwards along it. Returns its length; nodes[] are indexes into kept. */
static unsigned critical_cycle(const struct graph *graph, double mean, unsigned *nodes)
{
	unsigned count = graph->count;
	double *potential = sn_alloc_zeroed(count, sizeof(double));
	unsigned *from = sn_alloc_zeroed(count, sizeof(unsigned));
	bool *seen = sn_alloc_zeroed(count, sizeof(bool));
	unsigned length = 0, at = UINT32_MAX;

	for (unsigned v = 0; v < count; v++)
		from[v] = UINT32_MAX;
	/* slightly less than the mean: its cycles alone keep growing */
	for (unsigned round = 0; round < 2 * count + 2; round++)
		for (unsigned v = 0; v < count; v++)
			for (unsigned u = 0; u < count; u++) {
				double w = edge(graph, u, v);

				if (w > never &&
				    potential[u] + w - mean * (1 - 1e-6) > potential[v] + 1e-12) {
					potential[v] = potential[u] + w - mean * (1 - 1e-6);
					from[v] = u;
					at = v;
				}
			}
	for (unsigned step = 0; at != UINT32_MAX && step < count; step++)
		at = from[at];
	while (at != UINT32_MAX && !seen[at] && length < count) {
		seen[at] = true;
		nodes[length++] = at;
		at = from[at];
	}
	free(potential);
	free(from);
	free(seen);
	return at == UINT32_MAX ? 0 : length;
}

static void mark_members(struct walk *walk, const unsigned *kept, const unsigned *nodes,
			 unsigned length, struct sn_chain *chain)
{
	walk->trace = true;
	chain->passes = length;
	for (unsigned i = 0; i < length; i++) {
		/* nodes go backwards: nodes[i] was reached from nodes[i + 1] */
		unsigned to = walk->carried[kept[nodes[i]]];
		unsigned source = walk->carried[kept[nodes[(i + 1) % length]]];

		walk->made.count = 0;
		run_pass(walk, &source, 1);
		chain->through_memory |= to >= SN_RES_COUNT;
		for (int32_t at = walk->now[to].maker; at >= 0; at = walk->made.items[at].from) {
			const struct made *made = &walk->made.items[at];

			chain->is_member[made->insn] = true;
			chain->step_cycles[made->insn] +=
				made->when -
				(made->from >= 0 ? walk->made.items[made->from].when : 0);
		}
	}
	walk->trace = false;
}

static void graph_init(struct graph *graph, struct walk *walk)
{
	unsigned n = walk->carried_count;

	graph->n = n;
	graph->weights = sn_alloc_zeroed((size_t)n * n + 1, sizeof(double));
	graph->kept = sn_alloc_zeroed(n + 1, sizeof(unsigned));
	for (unsigned first = 0; first < n; first += LANES) {
		unsigned count = n - first < LANES ? n - first : LANES;

		run_pass(walk, &walk->carried[first], count);
		for (unsigned to = 0; to < n; to++)
			for (unsigned k = 0; k < count; k++)
				graph->weights[(first + k) * n + to] =
					walk->now[walk->carried[to]].when[k];
	}
	graph->count = peel(graph->weights, n, graph->kept);
}

static void graph_free(struct graph *graph)
{
	free(graph->weights);
	free(graph->kept);
}

static struct walk new_walk(const struct sn_data_flow *flow, struct sn_arena *arena)
{
	unsigned values = SN_RES_COUNT + flow->cell_count;
	struct walk walk = { .flow = flow };

	walk.carried = sn_arena_array(arena, unsigned, values);
	walk.now = sn_arena_array(arena, struct arrival, values);
	walk.stored = sn_arena_array(arena, struct arrival, flow->block->accesses->count + 1);
	find_carried(&walk);
	return walk;
}

static struct sn_chain new_chain(const struct sn_data_flow *flow, struct sn_arena *arena)
{
	size_t count = flow->block->count + 1;

	return (struct sn_chain){ .is_member = sn_arena_array(arena, bool, count),
				  .step_cycles = sn_arena_array(arena, double, count) };
}

static void find_members(struct walk *walk, const struct graph *graph, struct sn_chain *chain)
{
	unsigned *nodes = sn_alloc_zeroed(graph->count, sizeof(unsigned));

	mark_members(walk, graph->kept, nodes, critical_cycle(graph, chain->cycles, nodes), chain);
	free(nodes);
	sn_vec_free(&walk->made);
}

double sn_bound_latency(const struct sn_data_flow *flow, struct sn_arena *arena)
{
	struct walk walk = new_walk(flow, arena);
	struct graph graph;
	double cycles;

	graph_init(&graph, &walk);
	cycles = largest_mean(&graph);
	if (cycles > 0 && sn_chain_may_be_delayed(flow->machine, flow->block)) {
		struct sn_chain chain = new_chain(flow, arena);

		chain.cycles = cycles;
		find_members(&walk, &graph, &chain);
		cycles += sn_chain_delay(flow->machine, flow->block, &chain);
	}
	graph_free(&graph);
	return cycles;
}

struct sn_chain sn_chain_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
			    struct sn_arena *arena)
{
	const struct sn_data_flow *flow = sn_data_flow_new(machine, block, arena);
	struct walk walk = new_walk(flow, arena);
	struct sn_chain chain = new_chain(flow, arena);
	struct graph graph;

	graph_init(&graph, &walk);
	chain.cycles = largest_mean(&graph);
	if (chain.cycles > 0) {
		find_members(&walk, &graph, &chain);
		chain.cycles += sn_chain_delay(machine, block, &chain);
	}
	graph_free(&graph);
	return chain;
}
