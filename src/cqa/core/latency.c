/* Loop-carried dependences. Within one pass the data flow has no cycle, so for each value carried
 * into the pass the longest path to each value carried out of it is found in program order. These
 * path lengths form a matrix over (max, +); the bound is its largest mean cycle weight (Karp 1978).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cqa/block/address.h"
#include "cqa/core/bounds.h"
#include "cqa/core/flow.h"

static const double never = -INFINITY;

static unsigned cell_number(struct sn_data_flow *flow, int32_t access, unsigned distance)
{
	for (unsigned i = 0; i < flow->cell_count; i++)
		if (flow->cells[i].access == access && flow->cells[i].distance == distance)
			return i;
	if (flow->cell_count == SN_CARRIED_MAX - SN_RES_COUNT)
		return UINT32_MAX;
	flow->cells[flow->cell_count] = (struct sn_carried_cell){ access, (uint8_t)distance };
	return flow->cell_count++;
}

static void allot_cells(struct sn_data_flow *flow, struct sn_arena *arena)
{
	size_t count = 0;

	for (size_t i = 0; i < flow->block->accesses->count; i++)
		count += flow->block->accesses->items[i].source_distance;
	flow->cells = sn_arena_array(arena, struct sn_carried_cell,
				     count < SN_CARRIED_MAX ? count : SN_CARRIED_MAX);
	for (size_t i = 0; i < flow->block->accesses->count; i++) {
		const struct sn_access *load = &flow->block->accesses->items[i];
		unsigned number = 0;

		flow->cell_of[i] = -1;
		if (!load->is_load || load->source < 0 || !load->source_distance)
			continue;
		for (unsigned d = 1; d <= load->source_distance; d++)
			number = cell_number(flow, load->source, d);
		flow->cell_of[i] = number == UINT32_MAX ? -1 : (int32_t)number;
	}
}

static bool is_plain_general_load(const struct sn_insn *insn)
{
	return insn->memory_count == 1 && insn->memory[0].is_load && !insn->memory[0].is_store &&
	       insn->latency == 0 && !insn->is_vector;
}

/* Base from a load, small displacement, no index: the faster way through the cache. */
static void find_pointer_chases(struct sn_data_flow *flow)
{
	const struct sn_cqa_block *block = flow->block;
	int32_t writer[16];

	for (unsigned pass = 0; pass < 2; pass++) {
		if (!pass)
			memset(writer, 0xff, sizeof(writer));
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			const struct sn_memory_operand *memory = &insn->memory[0];

			flow->load_latency[i] = insn->load_latency;
			if (insn->memory_count && memory->is_load && memory->index < 16 &&
			    memory->scale > 1)
				flow->load_latency[i] += flow->machine->rules.scaled_index_latency;
			if (insn->memory_count && memory->is_load && memory->base < 16 &&
			    memory->index == SN_RES_NONE && memory->displacement >= 0 &&
			    memory->displacement < 2048 && writer[memory->base] >= 0 &&
			    is_plain_general_load(&block->insns[writer[memory->base]]) &&
			    !insn->is_vector)
				flow->load_latency[i] = flow->machine->rules.load_latency_simple;
			for (unsigned k = 0; k < insn->write_count; k++)
				if (insn->writes[k] < 16)
					writer[insn->writes[k]] = (int32_t)i;
		}
	}
}

static bool is_fp_addition(const struct sn_insn *insn)
{
	switch (sn_form_mnemonic(insn->form)) {
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDPS:
	case ZYDIS_MNEMONIC_ADDPD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBPS:
	case ZYDIS_MNEMONIC_SUBPD:
	case ZYDIS_MNEMONIC_VADDSS:
	case ZYDIS_MNEMONIC_VADDSD:
	case ZYDIS_MNEMONIC_VADDPS:
	case ZYDIS_MNEMONIC_VADDPD:
	case ZYDIS_MNEMONIC_VSUBSS:
	case ZYDIS_MNEMONIC_VSUBSD:
	case ZYDIS_MNEMONIC_VSUBPS:
	case ZYDIS_MNEMONIC_VSUBPD:
		return true;
	default:
		return false;
	}
}

/* Additions fed by additions, also those of the previous pass. */
static void find_early_reads(struct sn_data_flow *flow)
{
	const struct sn_cqa_block *block = flow->block;
	bool by_addition[SN_RES_COUNT] = { false };

	if (!flow->machine->rules.forwards_additions)
		return;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			bool adds = is_fp_addition(insn);

			flow->early_reads[i] = 0;
			for (unsigned k = 0; k < insn->read_count && adds; k++)
				if (by_addition[insn->reads[k].resource] &&
				    !(sn_form_mask_mode(insn->form) == SN_MASK_MERGE &&
				      insn->reads[k].resource == insn->writes[0]))
					flow->early_reads[i] |= 1u << k;
			/* an eliminated move hands on what it was given */
			adds = adds || (insn->is_move_eliminated && insn->read_count == 1 &&
					by_addition[insn->reads[0].resource]);
			for (unsigned k = 0; k < insn->write_count; k++)
				by_addition[insn->writes[k]] = adds;
		}
}

static struct sn_arrival never_arrives(void)
{
	struct sn_arrival arrival = { .maker = -1 };

	for (unsigned i = 0; i < SN_LANES; i++)
		arrival.when[i] = never;
	return arrival;
}

static void later(struct sn_arrival *restrict arrival, const double *restrict when, double cycles,
		  int32_t maker)
{
	if (when[0] + cycles > arrival->when[0])
		arrival->maker = maker;
	for (unsigned i = 0; i < SN_LANES; i++) {
		double sum = when[i] + cycles;

		arrival->when[i] = sum > arrival->when[i] ? sum : arrival->when[i];
	}
}

/* The number under which a traced pass remembers a value; -1: it hangs on nothing carried. */
static int32_t remember(struct sn_data_flow *flow, size_t insn, int32_t from, double when)
{
	if (!flow->trace || when <= never)
		return -1;
	sn_vec_push(&flow->made, (struct sn_made){ (int32_t)insn, from, when });
	return (int32_t)flow->made.count - 1;
}

/* A value that is there `cycles` after `from`. */
static void make(struct sn_data_flow *flow, struct sn_arrival *value, const struct sn_arrival *from,
		 double cycles, size_t insn)
{
	for (unsigned i = 0; i < SN_LANES; i++)
		value->when[i] = from->when[i] + cycles;
	value->maker = remember(flow, insn, from->maker, value->when[0]);
}

/* The stored value that a load takes; NULL: it depends on nothing that is carried. */
static const struct sn_arrival *forwarded(const struct sn_data_flow *flow, size_t access_number)
{
	const struct sn_access *access = &flow->block->accesses->items[access_number];
	int32_t cell = flow->cell_of[access_number];

	if (access->source < 0)
		return NULL;
	if (!access->source_distance)
		return &flow->stored[access->source];
	return cell < 0 ? NULL : &flow->now[SN_RES_COUNT + cell];
}

/* The load's address is spelt as the store's. */
static bool same_spelling(const struct sn_memory_operand *a, const struct sn_memory_operand *b)
{
	return a->base == b->base && a->index == b->index && a->scale == b->scale &&
	       a->displacement == b->displacement;
}

static bool is_renamed(const struct sn_rules *rules, const struct sn_insn *insn,
		       const struct sn_access *access, const struct sn_insn *store,
		       unsigned store_operand)
{
	enum { NARROWEST_BYTES = 4 };

	return rules->renames_same_address && !insn->is_vector && !store->is_vector &&
	       access->address.bytes >= NARROWEST_BYTES &&
	       same_spelling(&insn->memory[access->operand], &store->memory[store_operand]);
}

double sn_forward_cycles(const struct sn_data_flow *flow, const struct sn_insn *insn,
			 const struct sn_access *access)
{
	const struct sn_rules *rules = &flow->machine->rules;

	const struct sn_access *store = &flow->block->accesses->items[access->source];
	bool from_vector = flow->block->insns[store->insn].is_vector;

	if (access->is_partial)
		return (double)rules->forward_stall;
	if (is_renamed(rules, insn, access, &flow->block->insns[store->insn], store->operand))
		return 0;
	if (insn->is_vector && !from_vector && rules->forward_latency_to_vector > 0)
		return (double)rules->forward_latency_to_vector;
	if (insn->is_vector && access->address.bytes == 64 && rules->forward_latency_512 > 0)
		return (double)rules->forward_latency_512;
	if (insn->is_vector || (from_vector && rules->renames_memory))
		return (double)rules->forward_latency_vector;
	if (rules->renames_memory && access->address.bytes < 4)
		return insn->latency > 0 ? 1 : (double)rules->forward_latency_narrow;
	return (double)rules->forward_latency;
}

/* Operands of an instruction, each there when the last of its kind is. */
struct operands {
	struct sn_arrival data, address, late;
	struct sn_arrival memory; /* taken from a store; of several the last */
	struct sn_arrival all;	  /* what the operation begins with */
	bool is_rmw;
};

static void read_registers(const struct sn_data_flow *flow, size_t i, struct operands *in)
{
	const struct sn_insn *insn = &flow->block->insns[i];

	for (unsigned k = 0; k < insn->read_count; k++) {
		const struct sn_read *read = &insn->reads[k];
		const struct sn_arrival *value = &flow->now[read->resource];
		struct sn_arrival *into = read->role == SN_ROLE_DATA	  ? &in->data
					  : read->role == SN_ROLE_ADDRESS ? &in->address
					  : read->role == SN_ROLE_LATE	  ? &in->late
									  : NULL;

		if (insn->is_stack_engine && read->resource == SN_RES_RSP)
			continue;
		if (into)
			later(into, value->when,
			      read->delay_cycles - (int)(flow->early_reads[i] >> k & 1),
			      value->maker);
	}
}

static void load(const struct sn_data_flow *flow, size_t i, struct operands *in)
{
	const struct sn_insn *insn = &flow->block->insns[i];

	in->all = in->data;
	later(&in->all, in->address.when, (double)flow->load_latency[i], in->address.maker);
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		const struct sn_access *access = &flow->block->accesses->items[number];
		const struct sn_arrival *value = access->is_load ? forwarded(flow, number) : NULL;

		in->is_rmw |= access->is_load && access->is_store;
		if (!access->is_load)
			continue;
		in->memory = value ? *value : never_arrives();
		if (value)
			later(&in->all, value->when, sn_forward_cycles(flow, insn, access),
			      value->maker);
	}
}

double sn_rmw_cycles(const struct sn_rules *rules, const struct sn_insn *insn)
{
	bool adds_register = false;

	for (unsigned k = 0; k < insn->read_count; k++)
		adds_register |= insn->reads[k].role == SN_ROLE_DATA &&
				 insn->reads[k].resource < SN_RES_VECTOR;
	return (double)(adds_register && rules->rmw_register_latency > 0
				? rules->rmw_register_latency
				: rules->rmw_forward_latency);
}

/* A value that is read from memory and stored again may take a shorter way. */
static struct sn_arrival modified(const struct sn_data_flow *flow, const struct sn_insn *insn,
				  const struct operands *in)
{
	double latency = (double)insn->latency;
	struct sn_arrival plain = in->all, value = never_arrives();

	later(&value, in->data.when, latency, in->data.maker);
	later(&value, in->memory.when,
	      sn_rmw_cycles(&flow->machine->rules, insn) + (latency > 1 ? latency - 1 : 0),
	      in->memory.maker);
	for (unsigned n = 0; n < SN_LANES; n++)
		if (in->memory.when[n] <= never)
			value.when[n] = plain.when[n] + latency;
	if (in->memory.when[0] <= never)
		value.maker = plain.maker;
	return value;
}

static void run_insn(struct sn_data_flow *flow, size_t i)
{
	const struct sn_insn *insn = &flow->block->insns[i];
	struct sn_arrival none = never_arrives();
	struct operands in = { none, none, none, none, none, false };

	read_registers(flow, i, &in);
	load(flow, i, &in);
	for (unsigned k = 0; k < insn->memory_count; k++) {
		size_t number = flow->first_access[i] + k;
		struct sn_arrival value = in.is_rmw ? modified(flow, insn, &in) : in.all;

		if (flow->block->accesses->items[number].is_store)
			make(flow, &flow->stored[number], &value, 0, i);
	}
	for (unsigned k = 0; k < insn->write_count; k++) {
		struct sn_arrival from = in.all;

		if (insn->is_stack_engine && insn->writes[k] == SN_RES_RSP)
			continue;
		if (insn->writes[k] >= SN_RES_FLAG)
			later(&from, in.late.when, 0, in.late.maker);
		make(flow, &flow->now[insn->writes[k]], &from,
		     (double)insn->latency + (insn->writes[k] == insn->late_write), i);
	}
}

/* ST(i) of the next pass is what the stack's turning made of it. */
static void turn_x87(struct sn_data_flow *flow)
{
	struct sn_arrival turned[8];

	for (unsigned i = 0; i < 8; i++)
		turned[i] = flow->now[SN_RES_X87 + flow->block->x87_end.at[i]];
	memcpy(&flow->now[SN_RES_X87], turned, sizeof(turned));
}

/* One pass: what starts at `sources` at time 0, each in a lane, arrives at the carried values when?
 */
static void run_pass(struct sn_data_flow *flow, const unsigned *sources, unsigned count)
{
	for (unsigned i = 0; i < SN_RES_COUNT + flow->cell_count; i++)
		flow->now[i] = never_arrives();
	for (unsigned i = 0; i < count; i++)
		flow->now[sources[i]].when[i] = 0;
	for (size_t i = 0; i < flow->block->accesses->count; i++)
		flow->stored[i] = never_arrives();
	for (size_t i = 0; i < flow->block->count; i++)
		run_insn(flow, i);
	/* younger values of a store come before its older ones */
	for (unsigned i = flow->cell_count; i-- > 0;) {
		const struct sn_carried_cell *cell = &flow->cells[i];
		struct sn_arrival *value = &flow->now[SN_RES_COUNT + i];

		if (cell->distance == 1)
			*value = flow->stored[cell->access];
		else
			*value = flow->now[SN_RES_COUNT +
					   cell_number(flow, cell->access, cell->distance - 1u)];
	}
	turn_x87(flow);
}

/* Values that are both taken from the previous pass and made anew. */
static void find_carried(struct sn_data_flow *flow)
{
	bool is_read[SN_RES_COUNT] = { false }, is_written[SN_RES_COUNT] = { false };

	for (size_t i = 0; i < flow->block->count; i++) {
		const struct sn_insn *insn = &flow->block->insns[i];

		for (unsigned k = 0; k < insn->read_count; k++)
			if (!is_written[insn->reads[k].resource])
				is_read[insn->reads[k].resource] = true;
		for (unsigned k = 0; k < insn->write_count; k++)
			is_written[insn->writes[k]] = true;
	}
	for (unsigned i = 0; i < SN_RES_COUNT; i++) {
		bool turns = i >= SN_RES_X87 && i < SN_RES_FLAG;

		if (is_read[i] && (is_written[i] || turns))
			flow->carried[flow->carried_count++] = i;
	}
	for (unsigned i = 0; i < flow->cell_count; i++)
		flow->carried[flow->carried_count++] = SN_RES_COUNT + i;
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

static void mark_members(struct sn_data_flow *flow, const unsigned *kept, const unsigned *nodes,
			 unsigned length, struct sn_chain *chain)
{
	flow->trace = true;
	chain->passes = length;
	for (unsigned i = 0; i < length; i++) {
		/* nodes go backwards: nodes[i] was reached from nodes[i + 1] */
		unsigned to = flow->carried[kept[nodes[i]]];
		unsigned source = flow->carried[kept[nodes[(i + 1) % length]]];

		flow->made.count = 0;
		run_pass(flow, &source, 1);
		chain->through_memory |= to >= SN_RES_COUNT;
		for (int32_t at = flow->now[to].maker; at >= 0; at = flow->made.items[at].from) {
			const struct sn_made *made = &flow->made.items[at];

			chain->is_member[made->insn] = true;
			chain->step_cycles[made->insn] +=
				made->when -
				(made->from >= 0 ? flow->made.items[made->from].when : 0);
		}
	}
	flow->trace = false;
}

struct sn_data_flow *sn_data_flow_new(const struct sn_machine *machine,
				      const struct sn_cqa_block *block, struct sn_arena *arena)
{
	struct sn_data_flow *flow = sn_arena_new(arena, struct sn_data_flow);
	uint32_t next = 0;

	flow->machine = machine;
	flow->block = block;
	flow->load_latency = sn_arena_array(arena, float, block->count + 1);
	flow->first_access = sn_arena_array(arena, uint32_t, block->count + 1);
	flow->early_reads = sn_arena_array(arena, uint32_t, block->count + 1);
	flow->cell_of = sn_arena_array(arena, int32_t, flow->block->accesses->count + 1);
	flow->stored = sn_arena_array(arena, struct sn_arrival, flow->block->accesses->count + 1);
	for (size_t i = 0; i < block->count; i++) {
		flow->first_access[i] = next;
		next += block->insns[i].memory_count;
	}
	allot_cells(flow, arena);
	flow->carried = sn_arena_array(arena, unsigned, SN_RES_COUNT + flow->cell_count);
	flow->now = sn_arena_array(arena, struct sn_arrival, SN_RES_COUNT + flow->cell_count);
	find_pointer_chases(flow);
	find_early_reads(flow);
	find_carried(flow);
	return flow;
}

static void graph_init(struct graph *graph, struct sn_data_flow *flow)
{
	unsigned n = flow->carried_count;

	graph->n = n;
	graph->weights = sn_alloc_zeroed((size_t)n * n + 1, sizeof(double));
	graph->kept = sn_alloc_zeroed(n + 1, sizeof(unsigned));
	for (unsigned first = 0; first < n; first += SN_LANES) {
		unsigned count = n - first < SN_LANES ? n - first : SN_LANES;

		run_pass(flow, &flow->carried[first], count);
		for (unsigned to = 0; to < n; to++)
			for (unsigned k = 0; k < count; k++)
				graph->weights[(first + k) * n + to] =
					flow->now[flow->carried[to]].when[k];
	}
	graph->count = peel(graph->weights, n, graph->kept);
}

static void graph_free(struct graph *graph)
{
	free(graph->weights);
	free(graph->kept);
}

static struct sn_chain new_chain(const struct sn_data_flow *flow, struct sn_arena *arena)
{
	size_t count = flow->block->count + 1;

	return (struct sn_chain){ .is_member = sn_arena_array(arena, bool, count),
				  .step_cycles = sn_arena_array(arena, double, count) };
}

static void find_members(struct sn_data_flow *flow, const struct graph *graph,
			 struct sn_chain *chain)
{
	unsigned *nodes = sn_alloc_zeroed(graph->count, sizeof(unsigned));

	mark_members(flow, graph->kept, nodes, critical_cycle(graph, chain->cycles, nodes), chain);
	free(nodes);
	sn_vec_free(&flow->made);
}

double sn_bound_latency(struct sn_data_flow *flow)
{
	struct graph graph;
	double cycles;

	graph_init(&graph, flow);
	cycles = largest_mean(&graph);
	if (cycles > 0 && sn_chain_may_be_delayed(flow->machine, flow->block)) {
		struct sn_arena arena = { 0 };
		struct sn_chain chain = new_chain(flow, &arena);

		chain.cycles = cycles;
		find_members(flow, &graph, &chain);
		cycles += sn_chain_delay(flow->machine, flow->block, &chain);
		sn_arena_free(&arena);
	}
	graph_free(&graph);
	return cycles;
}

struct sn_chain sn_chain_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
			    struct sn_arena *arena)
{
	struct sn_data_flow *flow = sn_data_flow_new(machine, block, arena);
	struct sn_chain chain = new_chain(flow, arena);
	struct graph graph;

	graph_init(&graph, flow);
	chain.cycles = largest_mean(&graph);
	if (chain.cycles > 0) {
		find_members(flow, &graph, &chain);
		chain.cycles += sn_chain_delay(machine, block, &chain);
	}
	graph_free(&graph);
	return chain;
}
