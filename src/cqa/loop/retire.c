/*
 * Predicts where samples fall in a loop with several paths, by running passes through a simple core
 * that retires in order. Comparing this with real samples shows how often each path ran
 * (weights.c).
 */
#include "cqa/loop/retire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "cqa/core/flow.h"

enum {
	PASSES = 256, /* (chosen), as shares of paths repeat by then */
	WARM_UP = 32, /* (chosen) */
	REORDER_MOST = 512,
	NO_ARRIVAL = UINT16_MAX,
};

struct mark {
	uint64_t offset;
	uint32_t paths; /* bits */
	bool begins; /* control comes here from elsewhere, or a conditional branch stands before */
	bool is_behind_branch;
};

static int by_offset(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool is_behind_branch(const struct sn_cqa_block *block, size_t i)
{
	return i && block->insns[i - 1].is_branch && block->insns[i - 1].is_conditional;
}

/* What a path does to an instruction: the pass before decides how its first one is reached. */
static struct mark mark_of(const struct sn_cqa_block *block, size_t i, unsigned path)
{
	const struct sn_insn *insn = &block->insns[i];
	const struct sn_insn *before = &block->insns[i ? i - 1 : block->count - 1];
	bool is_behind = is_behind_branch(block, i);

	return (struct mark){ insn->offset, 1U << path,
			      !i || is_behind || before->offset + before->length != insn->offset,
			      is_behind };
}

static struct mark *find_marks(const struct sn_cqa_loop *loop, size_t *count)
{
	size_t room = 0, kept = 0, total = 0;
	struct mark *marks;

	for (uint32_t p = 0; p < loop->path_count; p++)
		room += loop->paths[p].block.count;
	marks = sn_alloc_zeroed(room + 1, sizeof(*marks));
	for (uint32_t p = 0; p < loop->path_count; p++)
		for (size_t i = 0; i < loop->paths[p].block.count; i++)
			marks[total++] = mark_of(&loop->paths[p].block, i, p);
	qsort(marks, total, sizeof(*marks), by_offset);
	for (size_t i = 0; i < total; i++) {
		if (kept && marks[kept - 1].offset == marks[i].offset) {
			marks[kept - 1].paths |= marks[i].paths;
			marks[kept - 1].begins |= marks[i].begins;
			marks[kept - 1].is_behind_branch |= marks[i].is_behind_branch;
		} else {
			marks[kept++] = marks[i];
		}
	}
	*count = kept;
	return marks;
}

/* False: too many. */
static bool cut(const struct mark *marks, size_t count, unsigned first_insns, struct sn_places *out)
{
	unsigned in_run = 0;
	bool is_behind = false;

	for (size_t i = 0; i < count; i++, in_run++) {
		if (!i || marks[i].begins || marks[i].paths != marks[i - 1].paths) {
			in_run = 0;
			is_behind = marks[i].is_behind_branch;
		}
		if (in_run == 0 || in_run == first_insns) {
			if (out->count == SN_PLACES_MAX)
				return false;
			out->is_head[out->count] = is_behind && in_run == 0;
			out->first_offset[out->count++] = marks[i].offset;
		}
		out->end_offset[out->count - 1] = marks[i].offset + 1;
	}
	return true;
}

unsigned sn_places_at(const struct sn_places *places, uint64_t offset)
{
	for (unsigned i = 0; i < places->count; i++)
		if (offset >= places->first_offset[i] && offset < places->end_offset[i])
			return i;
	return UINT16_MAX;
}

bool sn_places_of(const struct sn_cqa_loop *loop, struct sn_arena *arena, struct sn_places *out)
{
	size_t count;
	struct mark *marks = find_marks(loop, &count);
	bool fits;

	memset(out, 0, sizeof(*out));
	fits = cut(marks, count, loop->machine->rules.sampled->first_insns, out);
	free(marks);
	for (uint32_t p = 0; p < loop->path_count && fits; p++) {
		const struct sn_cqa_block *block = &loop->paths[p].block;

		out->of[p] = sn_arena_array(arena, uint16_t, block->count + 1);
		for (size_t i = 0; i < block->count; i++)
			out->of[p][i] = (uint16_t)sn_places_at(out, block->insns[i].offset);
	}
	return fits;
}

/* ---- the core ---- */

/* What the core asks of an instruction, close together: passes go through them a thousand times. */
struct operation {
	double uops, latency, load_latency, divider_cycles;
	struct sn_flow_read reads[SN_INSN_READS_MAX]; /* of data, then of addresses */
	uint8_t data_end, read_end, write_count, places;
	uint8_t writes[SN_INSN_WRITES_MAX];
	uint16_t place, arrival; /* by which it may be late; NO_ARRIVAL: by none */
	bool loads;
};

struct core {
	double now[SN_RES_COUNT];
	double leaves[REORDER_MOST]; /* when the operation retired that had this place before */
	unsigned places, next;	     /* of them: how many, and the next operation's */
	double retire_width;
	double dispatch, retired, divider;
	double done; /* when the instruction before was */
};

static void add_reads(struct operation *to, const struct sn_flow_insn *flow, enum sn_role role)
{
	for (unsigned k = flow->read_begin[role]; k < flow->read_begin[role + 1]; k++)
		to->reads[to->read_end++] = flow->reads[k];
}

/* Each instruction is taken by itself: what additions hand over early made shares worse (decision
 * 0043). */
static struct operation operation_of(const struct sn_rules *rules, const struct sn_insn *insn)
{
	struct sn_flow_insn flow = sn_flow_insn_of(rules, insn);
	struct operation op = {
		.uops = (double)insn->issued_uops,
		.latency = insn->is_branch ? 1 : flow.latency,
		.load_latency = flow.load_latency,
		.divider_cycles = (double)insn->divider_cycles,
		.loads = insn->memory_count && insn->memory[0].is_load,
		.write_count = flow.write_count,
		.places = (uint8_t)ceil((double)insn->issued_uops),
	};

	add_reads(&op, &flow, SN_ROLE_DATA);
	add_reads(&op, &flow, SN_ROLE_LATE);
	op.data_end = op.read_end;
	if (op.loads)
		add_reads(&op, &flow, SN_ROLE_ADDRESS);
	for (unsigned k = 0; k < flow.write_count; k++)
		op.writes[k] = flow.writes[k].resource;
	return op;
}

static inline double operand_ready(const struct core *core, const struct operation *op)
{
	double data = core->dispatch, address = core->dispatch;

	for (unsigned k = 0; k < op->data_end; k++)
		data = sn_later(data, core->now[op->reads[k].resource] + op->reads[k].cycles);
	if (!op->loads)
		return data;
	for (unsigned k = op->data_end; k < op->read_end; k++)
		address = sn_later(address, core->now[op->reads[k].resource] + op->reads[k].cycles);
	return sn_later(data, address + op->load_latency);
}

/* Dispatches and retires an instruction whose operations come `step_cycles` apart at least; returns
 * the cycles between its retirement and the one before. */
static inline double run(struct core *core, const struct operation *op, double step_cycles)
{
	double before = core->retired, ready;

	core->dispatch =
		sn_later(core->dispatch + step_cycles * op->uops, core->leaves[core->next]);
	ready = operand_ready(core, op);
	if (op->divider_cycles > 0) {
		ready = sn_later(ready, core->divider);
		core->divider = ready + op->divider_cycles;
	}
	ready += op->latency;
	core->done = ready;
	core->retired = sn_later(core->retired + op->uops / core->retire_width, ready);
	for (unsigned k = 0; k < op->write_count; k++)
		core->now[op->writes[k]] = ready;
	for (unsigned k = 0; k < op->places; k++) {
		core->leaves[core->next] = core->retired;
		core->next = core->next + 1 < core->places ? core->next + 1 : 0;
	}
	return core->retired - before;
}

/* How far apart a path's operations are dispatched at least: the core's width, or what keeps it
 * from more. */
static double step_of(const struct sn_cqa_path *path, const struct sn_rules *rules)
{
	double uops = 0, cycles = fmax(path->estimate.bounds[SN_BOUND_FRONT_END],
				       path->estimate.bounds[SN_BOUND_PORTS]);

	for (size_t i = 0; i < path->block.count; i++)
		uops += (double)path->block.insns[i].issued_uops;
	return fmax(1.0 / rules->issue_width, uops > 0 ? cycles / uops : 0);
}

struct runner {
	const struct sn_cqa_loop *loop;
	const struct sn_places *places;
	struct core core;
	double redirect_cycles;
	double owed[SN_ARRIVALS_MAX];	/* mispredictions that are due */
	double chance[SN_ARRIVALS_MAX]; /* of one when the head is reached so */
	double counts[SN_CQA_PATHS_MAX], steps[SN_CQA_PATHS_MAX];
	struct operation *operations[SN_CQA_PATHS_MAX];
	double pending;	      /* time that shows in the next instruction */
	bool pending_is_miss; /* as it follows a misprediction */
	struct sn_retirement *out;
};

static void show(struct runner *r, unsigned path, unsigned place, bool counts)
{
	if (counts && r->pending_is_miss)
		r->out->missed_cycles[place] += r->pending;
	else if (counts)
		r->out->path_cycles[path][place] += r->pending;
	r->pending = 0;
	r->pending_is_miss = false;
}

static void run_pass(struct runner *r, unsigned path, bool counts)
{
	size_t count = r->loop->paths[path].block.count;

	r->counts[path] += counts;
	for (size_t i = 0; i < count; i++) {
		const struct operation *op = &r->operations[path][i];
		bool is_late = false;

		if (op->arrival != NO_ARRIVAL) {
			r->owed[op->arrival] += r->chance[op->arrival];
			is_late = r->owed[op->arrival] >= 1;
		}
		if (is_late) {
			r->owed[op->arrival] -= 1;
			r->core.dispatch =
				sn_later(r->core.dispatch, r->core.done + r->redirect_cycles);
		}
		show(r, path, op->place, counts);
		r->pending += run(&r->core, op, r->steps[path]);
		r->pending_is_miss |= is_late;
	}
}

/* The arrival by which a path reaches an instruction; NO_ARRIVAL: it is reached by no conditional branch, or is no head. */
static uint16_t arrival_of(const struct sn_arrivals *arrivals, const struct sn_places *places,
			   const struct sn_cqa_block *block, unsigned path, size_t i)
{
	unsigned place = places->of[path][i];

	if (!i || !is_behind_branch(block, i) || !places->is_head[place])
		return NO_ARRIVAL;
	for (unsigned k = 0; k < arrivals->count; k++)
		if (arrivals->items[k].place == place &&
		    arrivals->items[k].branch_offset == block->insns[i - 1].offset)
			return (uint16_t)k;
	return NO_ARRIVAL;
}

static void operations_find(struct runner *r, const struct sn_arrivals *arrivals, unsigned path)
{
	const struct sn_cqa_block *block = &r->loop->paths[path].block;
	const uint16_t *places = r->places->of[path];
	struct operation *operations = sn_alloc((block->count + 1) * sizeof(*operations));

	for (size_t i = 0; i < block->count; i++) {
		operations[i] = operation_of(&r->loop->machine->rules, &block->insns[i]);
		operations[i].place = places[i];
		operations[i].arrival = arrival_of(arrivals, r->places, block, path, i);
	}
	r->operations[path] = operations;
	r->steps[path] = step_of(&r->loop->paths[path], &r->loop->machine->rules);
}

void sn_places_arrivals(const struct sn_cqa_loop *loop, const struct sn_places *places,
			const double shares[SN_CQA_PATHS_MAX], struct sn_arrivals *out)
{
	out->count = 0;
	for (uint32_t p = 0; p < loop->path_count; p++) {
		const struct sn_cqa_block *block = &loop->paths[p].block;

		for (size_t i = 1; i < block->count; i++) {
			unsigned place = places->of[p][i];
			uint16_t k = arrival_of(out, places, block, p, i);

			if (!places->is_head[place] || !is_behind_branch(block, i))
				continue;
			if (k != NO_ARRIVAL) {
				out->items[k].often += shares[p];
			} else if (out->count < SN_ARRIVALS_MAX) {
				out->items[out->count].place = place;
				out->items[out->count].branch_offset = block->insns[i - 1].offset;
				out->items[out->count++].often = shares[p];
			}
		}
	}
}

static unsigned draw(struct sn_random *random, const double shares[SN_CQA_PATHS_MAX],
		     uint32_t count)
{
	double at = (double)sn_random_below(random, 1 << 20) / (1 << 20);

	for (uint32_t p = 0; p + 1 < count; p++) {
		if (at < shares[p])
			return p;
		at -= shares[p];
	}
	return count - 1;
}

void sn_retire(const struct sn_cqa_loop *loop, const struct sn_places *places,
	       const double shares[SN_CQA_PATHS_MAX], const double missed[SN_ARRIVALS_MAX],
	       struct sn_retirement *out)
{
	struct runner *r = sn_alloc_zeroed(1, sizeof(*r));
	struct sn_arrivals arrivals;
	struct sn_random random;
	unsigned reorder = loop->machine->rules.reorder_uops;
	double start = 0;

	memset(out, 0, sizeof(*out));
	r->loop = loop;
	r->places = places;
	r->out = out;
	r->core.retire_width = loop->machine->rules.sampled->retire_width;
	r->redirect_cycles = loop->machine->rules.sampled->redirect_cycles;
	r->core.places = reorder > 0 && reorder < REORDER_MOST ? reorder : REORDER_MOST;
	sn_places_arrivals(loop, places, shares, &arrivals);
	for (uint32_t p = 0; p < loop->path_count; p++)
		operations_find(r, &arrivals, p);
	for (unsigned k = 0; k < arrivals.count; k++) {
		double often = arrivals.items[k].often;

		r->chance[k] = often > 0 ? fmin(1, missed[k] / often) : 0;
		r->owed[k] = 0.5;
	}
	sn_random_seed(&random, 1);
	for (unsigned i = 0; i < PASSES + WARM_UP; i++) {
		if (i == WARM_UP)
			start = r->core.retired;
		run_pass(r, draw(&random, shares, loop->path_count), i >= WARM_UP);
	}
	out->cycles = (r->core.retired - start) / PASSES;
	/* paths too rare to have been drawn show what they do now and then */
	for (uint32_t p = 0; p < loop->path_count; p++)
		for (unsigned k = 0; r->counts[p] <= 0 && k < 2; k++)
			run_pass(r, p, true);
	for (uint32_t p = 0; p < loop->path_count; p++)
		for (unsigned k = 0; k < places->count; k++)
			out->path_cycles[p][k] /= r->counts[p];
	for (unsigned k = 0; k < places->count; k++)
		out->missed_cycles[k] /= PASSES;
	for (uint32_t p = 0; p < loop->path_count; p++)
		free(r->operations[p]);
	free(r);
}
