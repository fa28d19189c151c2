/* Front end: where instructions come from and how fast. The predecode formula is from the published analysis of Facile
 * (Abel, Sharma and Reineke, IISWC 2023), the jump erratum from Intel's white paper on the JCC
 * erratum (2019). */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cqa/core/bounds.h"

enum { PLACES_MOST = 16 };

/* An explicit use of rsp after push, pop, call or ret needs one uop that brings the renamed offset
 * back into the register. `is_at` (may be NULL) tells which instructions need one. */
static unsigned stack_synchronisations(const struct sn_cqa_block *block, bool *is_at)
{
	unsigned count = 0;
	bool is_dirty = false;

	/* Two passes: the first finds the state with which an iteration begins. */
	for (unsigned pass = 0; pass < 2; pass++) {
		count = 0;
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			bool uses = false;

			if (insn->is_stack_engine) {
				is_dirty = true;
				continue;
			}
			for (unsigned k = 0; k < insn->read_count; k++)
				uses |= insn->reads[k].resource == SN_RES_RSP;
			if (is_at)
				is_at[i] = uses && is_dirty;
			if (uses && is_dirty) {
				count++;
				is_dirty = false;
			}
			for (unsigned k = 0; k < insn->write_count; k++)
				if (insn->writes[k] == SN_RES_RSP)
					is_dirty = false;
		}
	}
	return count;
}

/* Uops that the renamer handles in one pass, stack-pointer synchronisations included. */
static double renamed_uops(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double total = 0;

	for (size_t i = 0; i < block->count; i++)
		total += (double)block->insns[i].issued_uops;
	if (machine->rules.synchronises_stack_pointer)
		total += stack_synchronisations(block, NULL);
	return total;
}

/* Most of `row` operations in a row of a loop of `count`. */
static unsigned most_in_a_row(const bool is_vector[PLACES_MOST], unsigned count, unsigned row)
{
	unsigned most = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned vectors = 0;

		for (unsigned k = 0; k < row; k++)
			vectors += is_vector[(i + k) % count];
		most = most > vectors ? most : vectors;
	}
	return most;
}

/* Issued operations as a whole number, halves rounded down. */
static unsigned whole_uops(const struct sn_insn *insn)
{
	return insn->issued_uops > 0.5F ? (unsigned)ceilf(insn->issued_uops - 0.5F) : 0;
}

/* What the renamer of a core takes in that hands at most `vector_issue_width` of its operations a
 * cycle to the vector side. With few other operations beside them that is the limit; with more,
 * short loops in which they stand close together take longer (`crowded_vectors`). */
static double vector_issue_cycles(const struct sn_machine *machine,
				  const struct sn_cqa_block *block)
{
	const struct sn_crowded_vectors *crowded = machine->rules.crowded_vectors;
	unsigned width = machine->rules.vector_issue_width, count = 0;
	bool is_vector[PLACES_MOST] = { false };
	double total = 0, all = 0;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];

		all += (double)insn->issued_uops;
		total += insn->is_vector ? (double)insn->issued_uops : 0;
		for (unsigned k = whole_uops(insn); k > 0; k--, count++)
			if (count < PLACES_MOST)
				is_vector[count] = insn->is_vector;
	}
	if (total <= width)
		return 0;
	if (crowded && count >= crowded->shortest && count <= crowded->longest &&
	    most_in_a_row(is_vector, count, crowded->row) > width &&
	    (all - total) * crowded->vectors_to_other > total)
		return crowded->cycles;
	/* groups that are filled from several lines are less full */
	if (sn_cqa_block_span_bytes(block) > machine->rules.op_cache_line_bytes)
		return total / (double)machine->rules.vector_issue_several_lines;
	return total / width;
}

/* Operations are dispatched in groups, in order; each instruction takes the next places of the
 * group that is being filled. The last place may take neither load nor store, and a group no more
 * vector operations than its vector side: then the next group begins with that operation. With
 * which place a pass begins repeats after a few passes. */
struct dispatch {
	unsigned width, vector_width, place, vectors;
	bool spares_last; /* the last place takes no access */
	double groups;	  /* begun before this one */
};

static void next_group(struct dispatch *state)
{
	state->groups++;
	state->place = state->vectors = 0;
}

static void dispatch_one(struct dispatch *state, const struct sn_insn *insn)
{
	for (unsigned k = 0, uops = whole_uops(insn); k < uops; k++) {
		bool is_access = insn->memory_count && k == 0;

		if (state->place == state->width ||
		    (is_access && state->spares_last && state->place + 1 == state->width) ||
		    (insn->is_vector && state->vectors == state->vector_width))
			next_group(state);
		state->place++;
		state->vectors += insn->is_vector;
	}
}

static double dispatch_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	struct dispatch state = { .width = machine->rules.issue_width,
				  .vector_width = machine->rules.vector_issue_width,
				  .spares_last = machine->rules.spares_last_place };
	double began[PLACES_MOST + 1];
	unsigned passes[PLACES_MOST + 1], pass = 0;

	for (unsigned i = 0; i <= PLACES_MOST; i++)
		began[i] = -1;
	while (began[state.place] < 0) {
		began[state.place] = state.groups;
		passes[state.place] = pass++;
		for (size_t i = 0; i < block->count; i++)
			dispatch_one(&state, &block->insns[i]);
	}
	return (state.groups - began[state.place]) / (pass - passes[state.place]);
}

static double mmx_issue_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double total = 0;

	for (size_t i = 0; i < block->count; i++)
		total += block->insns[i].is_mmx ? (double)block->insns[i].issued_uops : 0;
	return total / (double)machine->rules.mmx_issue_width;
}

double sn_bound_issue(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double cycles = renamed_uops(machine, block) / machine->rules.issue_width;

	if (machine->rules.spares_last_place)
		cycles = fmax(cycles, dispatch_cycles(machine, block));
	if (machine->rules.vector_issue_width)
		cycles = fmax(cycles, vector_issue_cycles(machine, block));
	if (machine->rules.mmx_issue_width > 0)
		cycles = fmax(cycles, mmx_issue_cycles(machine, block));
	return cycles;
}

/* Places that are lost are everyone's. */
void sn_parts_issue(const struct sn_machine *machine, const struct sn_cqa_block *block,
		    double *cycles)
{
	bool *is_at = sn_alloc_zeroed(block->count + 1, sizeof(bool));
	double uops = renamed_uops(machine, block);
	double share = uops > 0 ? sn_bound_issue(machine, block) / uops : 0;

	if (machine->rules.synchronises_stack_pointer)
		stack_synchronisations(block, is_at);
	for (size_t i = 0; i < block->count; i++)
		cycles[i] = ((double)block->insns[i].issued_uops + is_at[i]) * share;
	free(is_at);
}

static double fused_uops(const struct sn_cqa_block *block)
{
	double total = 0;

	for (size_t i = 0; i < block->count; i++)
		total += (double)block->insns[i].fused_uops;
	return total;
}

/* The opcode's first byte comes after legacy and REX prefixes; a block boundary behind it makes the
 * instruction count in both 16-byte blocks. We take the instruction's start for it. */
static double predecode_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block,
			       bool is_unrolled)
{
	unsigned window = machine->rules.predecode_bytes;
	size_t copies = 1, bytes = block->bytes, blocks;
	double total = 0, previous = 0;
	SN_VEC(unsigned) ends = { 0 }, prefixes = { 0 };

	if (!window)
		return 0;
	if (is_unrolled) {
		while (copies < window && (bytes * copies) % window)
			copies++;
	}
	blocks = (bytes * copies + window - 1) / window;
	sn_vec_reserve(&ends, blocks + 1);
	sn_vec_reserve(&prefixes, blocks + 1);
	for (size_t i = 0; i <= blocks; i++)
		ends.items[i] = prefixes.items[i] = 0;
	for (size_t copy = 0; copy < copies; copy++)
		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			size_t first = (copy * bytes + insn->offset) / window;
			size_t last = (copy * bytes + insn->offset + insn->length - 1u) / window;

			ends.items[last]++;
			if (first != last)
				ends.items[first]++;
			prefixes.items[first] += insn->has_length_prefix;
		}
	for (size_t i = 0; i < blocks; i++) {
		double cycles = ceil((double)ends.items[i] / machine->rules.predecode_width);
		double penalty = (double)machine->rules.length_prefix_cycles * prefixes.items[i] -
				 (previous > 1 ? previous - 1 : 0);

		if (prefixes.items[i] && penalty > 0)
			cycles += penalty;
		total += cycles;
		previous = cycles;
	}
	sn_vec_free(&ends);
	sn_vec_free(&prefixes);
	return total / (double)copies;
}

struct decoders {
	unsigned width, complex_uops;
	unsigned next; /* free decoder of this cycle, 0 is the complex one */
	double cycles;
};

static void decode_one(struct decoders *decoders, const struct sn_insn *insn)
{
	bool complex = insn->needs_complex_decoder;

	if (insn->is_fused_into_previous)
		return;
	if (decoders->next >= decoders->width || (complex && decoders->next > 0)) {
		decoders->cycles++;
		decoders->next = 0;
	}
	/* A fusible instruction is not given to the last decoder: its branch might follow. */
	if (insn->fuses_with_next && decoders->next == decoders->width - 1) {
		decoders->cycles++;
		decoders->next = 0;
	}
	if (complex && insn->fused_uops > (float)decoders->complex_uops) {
		decoders->cycles += ceil((double)insn->fused_uops / decoders->complex_uops);
		decoders->next = 0;
		return;
	}
	decoders->next++;
	if (complex && insn->fused_uops > 2)
		decoders->next += (unsigned)insn->fused_uops - 2;
}

static double decode_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block,
			    bool is_unrolled)
{
	struct decoders decoders = { .width = machine->rules.decode_width,
				     .complex_uops = machine->rules.complex_decoder_uops };
	unsigned passes = is_unrolled ? 32 : 1;
	double before = 0;

	for (unsigned pass = 0; pass < passes; pass++) {
		if (pass == 8)
			before = decoders.cycles + (double)decoders.next / decoders.width;
		for (size_t i = 0; i < block->count; i++)
			decode_one(&decoders, &block->insns[i]);
	}
	if (!is_unrolled)
		return decoders.cycles + (decoders.next > 0);
	return (decoders.cycles + (double)decoders.next / decoders.width - before) / (passes - 8);
}

/* The jump, with what fused into it, crosses or ends on a 32-byte boundary. */
static bool touches_boundary(const struct sn_cqa_block *block, size_t index)
{
	const struct sn_insn *insn = &block->insns[index];
	uint32_t first =
		insn->is_fused_into_previous ? block->insns[index - 1].offset : insn->offset;
	uint32_t end = insn->offset + insn->length;

	return first / 32 != (end - 1) / 32 || end % 32 == 0;
}

/* More than the op cache holds for a window of code. */
static bool overflows_op_cache(const struct sn_rules *rules, const struct sn_cqa_block *block)
{
	double in_window = 0;
	uint32_t window = 0;

	if (!rules->op_cache_window_bytes)
		return false;
	for (size_t i = 0; i < block->count; i++) {
		if (block->insns[i].offset / rules->op_cache_window_bytes != window) {
			window = block->insns[i].offset / rules->op_cache_window_bytes;
			in_window = 0;
		}
		in_window += (double)block->insns[i].fused_uops;
		if (in_window > rules->op_cache_window_uops)
			return true;
	}
	return false;
}

static double legacy_pipeline(const struct sn_machine *machine, const struct sn_cqa_block *block,
			      bool is_unrolled, enum sn_front_end *part)
{
	double predecode = predecode_cycles(machine, block, is_unrolled);
	double decode = decode_cycles(machine, block, is_unrolled);

	*part = predecode > decode ? SN_FRONT_PREDECODE : SN_FRONT_DECODE;
	return predecode > decode ? predecode : decode;
}

/* The buffer holds the loop several times if it is small, so that few slots are lost at its end. */
static double loop_buffer_cycles(const struct sn_machine *machine, double uops)
{
	double copies = floor(machine->rules.loop_buffer_uops / (uops > 0 ? uops : 1));
	double whole = uops > 0 ? uops : 1;

	if (copies > machine->rules.loop_buffer_copies)
		copies = machine->rules.loop_buffer_copies;
	if (copies < 1)
		copies = 1;
	return ceil(whole * copies / machine->rules.issue_width) / copies;
}

/* A look-up covers one line of code and delivers a few entries in a cycle. Entries of a line beyond
 * these are owed. Whenever nothing is left of an earlier delivery, a further look-up delivers one
 * entry or a few, in more cycles. The first time costs a cycle less if the loop's first line has
 * nothing to spare. An instruction across a boundary counts in its first line, but the second line
 * is looked up all the same. */
struct line_look_up {
	double cycles, more; /* operations that were not delivered yet; below 0: delivered before */
	bool is_begun, begins_short;
};

static void look_up_line(struct line_look_up *state, const struct sn_machine *machine, double ops)
{
	double entry = machine->rules.op_cache_entry_ops, entries = machine->rules.op_cache_entries;
	double delivered = entries * entry, more_cycles = machine->rules.op_cache_more_cycles;
	bool is_first_time = state->begins_short;

	state->cycles += 1;
	if (!state->is_begun)
		state->begins_short = ops <= delivered;
	state->is_begun = true;
	if (ops <= delivered)
		return;
	for (state->more += ops - delivered; state->more > 0; is_first_time = false) {
		state->cycles += is_first_time ? more_cycles - 1 : more_cycles;
		state->begins_short = false;
		state->more -= fmin(entries, ceil(state->more / entry)) * entry;
	}
}

static double op_cache_line_cycles(const struct sn_machine *machine,
				   const struct sn_cqa_block *block)
{
	unsigned line_bytes = machine->rules.op_cache_line_bytes;
	struct line_look_up state = { 0 };
	size_t lowest = sn_cqa_block_lowest(block);
	uint32_t start_offset = block->insns[lowest].offset;
	double ops = 0;
	/* a loop shorter than a line is looked up as one, wherever it begins */
	uint32_t start = block->bytes - start_offset <= line_bytes ? start_offset : 0;
	uint32_t line = (start_offset - start) / line_bytes, last = line;

	/* a loop that is entered in the middle has its jump in the middle of the path */
	for (size_t k = 0; k < block->count; k++) {
		const struct sn_insn *insn = &block->insns[(lowest + k) % block->count];

		if ((insn->offset - start) / line_bytes != line) {
			look_up_line(&state, machine, ops);
			ops = 0;
		}
		line = (insn->offset - start) / line_bytes;
		last = (insn->offset + insn->length - 1u - start) / line_bytes;
		ops += (double)insn->fused_uops;
	}
	look_up_line(&state, machine, ops);
	if (last != line)
		look_up_line(&state, machine, 0);
	return state.cycles;
}

static double op_cache_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double cycles = fused_uops(block) / machine->rules.op_cache_width;

	if (machine->rules.op_cache_whole_cycles ||
	    block->bytes <= machine->rules.op_cache_window_bytes)
		cycles = ceil(cycles);
	if (machine->rules.op_cache_line_bytes) {
		double lines = op_cache_line_cycles(machine, block);

		cycles = lines > cycles ? lines : cycles;
	}
	return cycles;
}

double sn_bound_front_end(const struct sn_machine *machine, const struct sn_cqa_block *block,
			  bool is_unrolled, enum sn_front_end *part)
{
	double cycles;

	if (!block->count)
		return 0;
	if (is_unrolled) {
		if (machine->rules.predecode_bytes)
			return legacy_pipeline(machine, block, true, part);
		/* long straight code is fed by the decoders */
		*part = SN_FRONT_DECODE;
		return fused_uops(block) / machine->rules.decode_width;
	}
	if (machine->rules.loop_buffer_uops &&
	    renamed_uops(machine, block) <= machine->rules.loop_buffer_uops) {
		*part = SN_FRONT_LOOP_BUFFER;
		cycles = loop_buffer_cycles(machine, renamed_uops(machine, block));
	} else if ((machine->rules.jcc_erratum && touches_boundary(block, block->count - 1) &&
		    block->insns[block->count - 1].is_branch) ||
		   overflows_op_cache(&machine->rules, block)) {
		cycles = legacy_pipeline(machine, block, false, part);
	} else {
		*part = SN_FRONT_OP_CACHE;
		cycles = op_cache_cycles(machine, block);
	}
	if (cycles < (double)machine->rules.taken_branch_cycles) {
		cycles = (double)machine->rules.taken_branch_cycles;
		*part = SN_FRONT_TAKEN_BRANCH;
	}
	return cycles;
}
