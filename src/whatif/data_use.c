/* Registers of samples against the static model: does a loop compute, or wait for its data? */
#include "whatif/data_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "code/touched.h"
#include "whatif/whatif.h"

/* Thresholds; docs/method/memory.md has the reasons. */
static const double near_most_bytes = 256 << 10; /* every x86-64 core has so much of its own */
static const double unseen_most = 0.1;		 /* part of the addresses in blocks not seen yet */
static const double slow_least_ns = 1;		 /* a cycle of the model's: slower than at 1 GHz */
static const double fast_most_ns = 0.5;		 /* faster than at 2 GHz */
static const double missed_cycles = 20;		 /* of a mispredicted jump */
static const double far_least = 2;    /* the model's pass from RAM over its pass from L1 */
static const double alike_most = 1.5; /* the same, where RAM is no bound */
static const double sure_least = 3;   /* times `slow_least_ns` */
static const double forward_least = 0.75;
static const int64_t gap_most_ns = 12000000;
static const char *const typical_machine = "skylake";
enum { RECORDS_LEAST = 10, PAIRS_LEAST = 8, TOUCHED_ROOM = 256, BLOCK_BITS = 16 };

/* ---- which records, and what they touch ---- */

struct piece {
	const struct sn_function *function;
	const struct sn_loop *loop;
	struct sn_touching *code;
	uint32_t operands, *met, *known; /* by operand: records that met it, and that know it */
};

struct block {
	uint64_t number;
	uint32_t record;
};

struct use {
	const struct sn_profile *profile;
	struct sn_structures *structures;
	SN_VEC(struct piece) pieces;
	SN_VEC(uint32_t) records; /* index in the experiment's registers */
	SN_VEC(struct block) blocks;
	uint32_t hidden;
};

static struct piece *piece_of(struct use *use, const struct sn_program_place *place)
{
	struct sn_structure *structure = sn_structures_of(use->structures, place->module);
	const struct sn_function *function =
		structure ? sn_structure_function_at(structure, place->link_addr) : NULL;
	const struct sn_loop *loop;
	struct piece piece;
	uint32_t hidden;

	if (!function)
		return NULL;
	sn_function_prepare(structure, function, SN_PREPARE_CODE);
	loop = sn_function_loop_at(function, place->link_addr);
	for (size_t i = 0; i < use->pieces.count; i++)
		if (use->pieces.items[i].function == function && use->pieces.items[i].loop == loop)
			return &use->pieces.items[i];
	piece = (struct piece){ .function = function,
				.loop = loop,
				.code = sn_touching_new(structure, function, loop) };
	piece.operands = sn_touching_operands(piece.code, &hidden);
	piece.met = sn_alloc_zeroed(piece.operands + 1, sizeof(*piece.met));
	piece.known = sn_alloc_zeroed(piece.operands + 1, sizeof(*piece.known));
	use->hidden += hidden;
	sn_vec_push(&use->pieces, piece);
	return &sn_vec_last(&use->pieces);
}

/* Each operand counts once a record, and so does each block of memory. */
static void take_record(struct use *use, uint32_t index, const struct sn_program_place *place)
{
	const struct sn_registers *r = &use->profile->experiment->registers.items[index];
	struct sn_touched touched[TOUCHED_ROOM];
	struct piece *piece = piece_of(use, place);
	uint32_t *met;
	size_t count;

	if (!piece)
		return;
	sn_vec_push(&use->records, index);
	met = sn_alloc_zeroed(piece->operands + 1, sizeof(*met));
	count = sn_touched_find(piece->code, place->link_addr, r->values, touched, TOUCHED_ROOM,
				met);
	for (uint32_t i = 0; i < piece->operands; i++)
		piece->met[i] += met[i] > 0;
	memset(met, 0, piece->operands * sizeof(*met));
	for (size_t i = 0; i < count; i++) {
		if (met[touched[i].operand]++)
			continue;
		piece->known[touched[i].operand]++;
		sn_vec_push(&use->blocks,
			    (struct block){ touched[i].address >> BLOCK_BITS, index });
	}
	free(met);
}

static void use_take(struct use *use, uint32_t loop, uint32_t function)
{
	const struct sn_program *program = use->profile->program;
	const struct sn_experiment *e = use->profile->experiment;

	for (uint32_t i = 0; i < e->registers.count; i++) {
		const struct sn_program_place *place =
			sn_program_leaf(program, e->registers.items[i].stack);

		if (loop != SN_NONE ? place->loop == loop : place->function == function)
			take_record(use, i, place);
	}
}

static void use_free(struct use *use)
{
	for (size_t i = 0; i < use->pieces.count; i++) {
		sn_touching_free(use->pieces.items[i].code);
		free(use->pieces.items[i].met);
		free(use->pieces.items[i].known);
	}
	sn_vec_free(&use->pieces);
	sn_vec_free(&use->records);
	sn_vec_free(&use->blocks);
}

/* ---- how far its data are spread ---- */

static int blocks_compare(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

/* Bytes of the blocks that addresses lie in. `unseen` is the chance that the next address lies in
 * another (Good 1953): blocks that one record alone met, of all that records met. */
static double spread_of(struct use *use, double *unseen)
{
	size_t blocks = 0, alone = 0, all = 0;

	*unseen = 0;
	if (!use->blocks.count)
		return 0;
	qsort(use->blocks.items, use->blocks.count, sizeof(*use->blocks.items), blocks_compare);
	for (size_t i = 0, next; i < use->blocks.count; i = next) {
		size_t records = 1;

		for (next = i + 1; next < use->blocks.count &&
				   use->blocks.items[next].number == use->blocks.items[i].number;
		     next++)
			records += use->blocks.items[next].record !=
				   use->blocks.items[next - 1].record;
		blocks++;
		alone += records == 1;
		all += records;
	}
	*unseen = (double)alone / (double)all;
	return (double)blocks * (1 << BLOCK_BITS);
}

/* An operand that many records met and none knew: an address that was loaded just before. */
static bool has_unknown(const struct use *use)
{
	for (size_t p = 0; p < use->pieces.count; p++)
		for (uint32_t i = 0; i < use->pieces.items[p].operands; i++)
			if (use->pieces.items[p].met[i] * 4 > use->records.count &&
			    !use->pieces.items[p].known[i])
				return true;
	return use->hidden > 0;
}

static bool is_near(struct use *use, struct sn_data_use *out)
{
	double unseen;

	out->records = use->records.count;
	out->spread_bytes = spread_of(use, &unseen);
	return out->records >= RECORDS_LEAST && !has_unknown(use) &&
	       out->spread_bytes <= near_most_bytes && unseen <= unseen_most;
}

/* Its code says so: no operand but constants and the stack. */
static bool has_no_data(const struct use *use, uint32_t number)
{
	const struct sn_program_loop *loop = &use->profile->program->loops.items[number];
	struct sn_structure *structure = sn_structures_of(use->structures, loop->module);
	struct sn_touching *code;
	uint32_t operands, hidden;
	bool calls;

	if (!structure)
		return false;
	sn_function_prepare(structure, loop->code->function, SN_PREPARE_CODE);
	code = sn_touching_new(structure, loop->code->function, loop->code);
	operands = sn_touching_operands(code, &hidden);
	calls = sn_touching_calls(code);
	sn_touching_free(code);
	return !operands && !hidden && !calls;
}

/* ---- how long a pass takes ---- */

struct pair {
	double passes, ns;
};
typedef SN_VEC(struct pair) pair_vec;

static pair_vec pairs_of(const struct use *use, struct sn_counter counter)
{
	const struct sn_registers *all = use->profile->experiment->registers.items;
	pair_vec pairs = { 0 };

	for (size_t i = 1; i < use->records.count; i++) {
		const struct sn_registers *a = &all[use->records.items[i - 1]],
					  *b = &all[use->records.items[i]];
		int64_t ns = b->time_ns - a->time_ns;

		if (a + 1 != b || a->thread != b->thread || ns <= 0 || ns > gap_most_ns)
			continue;
		sn_vec_push(&pairs, (struct pair){ (double)(int64_t)(b->values[counter.number] -
								     a->values[counter.number]) /
							   (double)counter.step,
						   (double)ns });
	}
	return pairs;
}

/* Of the pairs closer than `within_ns`: nearly all go forward, at much the same pace; else the loop
 * began anew between them. The lower quartile, as a pair may hold time on no CPU. NaN: not so. */
static double pace_of(const pair_vec *pairs, double within_ns, struct sn_pass_time *time)
{
	double *ns = sn_alloc_zeroed(pairs->count + 1, sizeof(*ns)), pace = NAN;
	size_t close = 0, forward = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		if (pair->ns > within_ns)
			continue;
		close++;
		if (pair->passes >= 1)
			ns[forward++] = pair->ns / pair->passes;
	}
	if (close >= PAIRS_LEAST && (double)forward >= forward_least * (double)close) {
		double low = sn_quantile(ns, forward, 0.25), high = sn_quantile(ns, forward, 0.6);

		pace = high <= 2 * low ? low : (double)NAN;
		*time = (struct sn_pass_time){ sn_quantile(ns, forward, 0.5),
					       sn_quantile(ns, forward, 0.1),
					       sn_quantile(ns, forward, 0.75) };
	}
	free(ns);
	return pace;
}

static double pass_ns(const struct use *use, struct sn_pass_time *time)
{
	struct sn_counter counters[16];
	size_t count = use->pieces.count == 1
			       ? sn_touching_counters(use->pieces.items[0].code, counters)
			       : 0;
	double pace = NAN;

	for (size_t c = 0; c < count && isnan(pace); c++) {
		pair_vec pairs = pairs_of(use, counters[c]);

		for (double within_ns = (double)gap_most_ns; within_ns > 50e3 && isnan(pace);
		     within_ns /= 2)
			pace = pace_of(&pairs, within_ns, time);
		sn_vec_free(&pairs);
	}
	return pace;
}

/* ---- against the model ---- */

static void judge(const struct use *use, const struct sn_machine *machine, uint32_t loop,
		  struct sn_data_use *out)
{
	const struct sn_touching *code = use->pieces.items[0].code;
	const struct sn_machine *model = machine;
	struct sn_cqa_loop quality;
	struct sn_error err;
	double slow_ns;

	if ((!model && sn_machine_find(typical_machine, &model, &err) != SN_OK) ||
	    sn_whatif_quality(model, use->profile, use->structures, loop, &quality, &err) != SN_OK)
		return;
	if (quality.not_analysed || quality.has_calls) {
		sn_cqa_loop_free(&quality);
		return;
	}
	out->near_cycles = quality.cycles;
	slow_ns = (quality.cycles + missed_cycles * sn_touching_jumps(code)) * slow_least_ns;
	if (out->spread_bytes > near_most_bytes && out->pass_ns >= slow_ns &&
	    quality.level_cycles[SN_LEVEL_RAM] >= far_least * quality.cycles)
		out->reach = SN_DATA_SLOW;
	else if (out->pass_ns <= quality.cycles * fast_most_ns &&
		 quality.level_cycles[SN_LEVEL_RAM] <= alike_most * quality.cycles)
		out->reach = SN_DATA_FAST;
	out->is_sure = out->reach == SN_DATA_SLOW && out->pass_ns >= sure_least * slow_ns;
	out->is_sure |= machine != NULL;
	sn_cqa_loop_free(&quality);
}

static const struct sn_data_use nothing_known = { .pass_ns = NAN, .near_cycles = NAN };

void sn_data_use_of_loop(const struct sn_machine *machine, const struct sn_profile *profile,
			 struct sn_structures *structures, uint32_t loop, struct sn_data_use *out)
{
	struct use use = { .profile = profile, .structures = structures };
	struct sn_pass_time time;

	*out = nothing_known;
	use_take(&use, loop, SN_NONE);
	if (is_near(&use, out) || has_no_data(&use, loop)) {
		out->reach = SN_DATA_NEAR;
	} else if (use.pieces.count) {
		out->pass_ns = pass_ns(&use, &time);
		if (!isnan(out->pass_ns))
			judge(&use, machine, loop, out);
	}
	use_free(&use);
}

bool sn_data_use_pass_time(const struct sn_profile *profile, struct sn_structures *structures,
			   uint32_t loop, struct sn_pass_time *out)
{
	struct use use = { .profile = profile, .structures = structures };
	double ns;

	use_take(&use, loop, SN_NONE);
	ns = pass_ns(&use, out);
	use_free(&use);
	return !isnan(ns);
}

void sn_data_use_of_function(const struct sn_profile *profile, struct sn_structures *structures,
			     uint32_t function, struct sn_data_use *out)
{
	struct use use = { .profile = profile, .structures = structures };

	*out = nothing_known;
	use_take(&use, SN_NONE, function);
	if (is_near(&use, out))
		out->reach = SN_DATA_NEAR;
	use_free(&use);
}
