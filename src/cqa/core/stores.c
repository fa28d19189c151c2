/* How fast stores leave for the cache: cores write two in a cycle only under conditions. */
#include <string.h>

#include "cqa/block/metrics.h"
#include "cqa/core/bounds.h"

/* Whether each pass writes another line. A vector register that is stored at an address stepped by
 * an unknown register is a row of a picture or of a matrix, and the next row is not in the same
 * line. */
static bool leaps(const struct sn_rules *rules, const struct sn_access *access)
{
	if (!access->has_stride)
		return !access->is_indirect && access->address.bytes >= rules->leaping_bytes;
	return access->stride_bytes >= SN_LINE_BYTES || access->stride_bytes <= -SN_LINE_BYTES;
}

static bool same_roots(const struct sn_access *a, const struct sn_access *b)
{
	return a->address.base_root == b->address.base_root &&
	       a->address.index_root == b->address.index_root &&
	       a->address.scale == b->address.scale;
}

/* Two stores leave in a cycle if they go to lines that few others write in between: a small number
 * of streams is gathered line by line, many lines, or a new line with every store, are not. */
static double gathered_cycles(const struct sn_rules *rules, const struct sn_accesses *accesses)
{
	size_t lines = 0, leaping = 0;

	for (size_t i = 0; i < accesses->count; i++) {
		const struct sn_access *access = &accesses->items[i];
		bool is_known = false;

		if (!access->is_store)
			continue;
		for (size_t k = 0; k < i && !is_known; k++)
			is_known =
				accesses->items[k].is_store &&
				accesses->items[k].address.base_root == access->address.base_root &&
				accesses->items[k].address.index_root ==
					access->address.index_root &&
				accesses->items[k].address.constant / SN_LINE_BYTES ==
					access->address.constant / SN_LINE_BYTES;
		if (is_known)
			continue;
		lines++;
		if (leaps(rules, access))
			leaping++;
	}
	return (double)(lines > rules->gathered_lines ? lines : leaping);
}

/* A store that left alone: the next one may still leave with it. */
struct leaving {
	const struct sn_access *store; /* NULL: the last cycle is full */
	int64_t line;
	unsigned pass, cycles;
};

/* Rounds down, also below zero. */
static int64_t line_of(int64_t address)
{
	return address >= 0 ? address / SN_LINE_BYTES : -1 - (-1 - address) / SN_LINE_BYTES;
}

static void leave(struct leaving *state, const struct sn_access *store, unsigned pass)
{
	int64_t start = store->address.constant +
			(store->has_stride ? store->stride_bytes * (int64_t)pass : 0);
	int64_t line = line_of(start);
	int64_t last = line_of(start + (int64_t)store->address.bytes - 1);
	bool is_comparable = state->store && same_roots(state->store, store) &&
			     (state->pass == pass || store->has_stride);

	if (is_comparable && state->line == line && last == line) {
		state->store = NULL;
		return;
	}
	state->cycles += last == line ? 1 : 2;
	state->store = last == line ? store : NULL;
	state->line = line;
	state->pass = pass;
}

/* After how many passes, an even number, stores have the same places in their lines again. */
static unsigned passes_of(const struct sn_accesses *accesses)
{
	uint64_t strides = SN_LINE_BYTES / 2;

	for (size_t i = 0; i < accesses->count; i++)
		if (accesses->items[i].is_store && accesses->items[i].has_stride)
			strides |= (uint64_t)accesses->items[i].stride_bytes;
	return (unsigned)(SN_LINE_BYTES / (strides & -strides));
}

/* Two stores leave in a cycle if they are neighbours in the program and in one line; one that lies
 * in two lines takes two cycles. Registers are taken to point to the beginning of a line when the
 * loop begins. */
static double paired_cycles(const struct sn_accesses *accesses)
{
	struct leaving state = { .store = NULL };
	unsigned passes = passes_of(accesses);

	for (unsigned pass = 0; pass < 2 * passes; pass++) {
		if (pass == passes)
			state.cycles = 0;
		for (size_t i = 0; i < accesses->count; i++)
			if (accesses->items[i].is_store)
				leave(&state, &accesses->items[i], pass);
	}
	return state.cycles / (double)passes;
}

double sn_bound_stores(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	if (machine->rules.commits_neighbours)
		return paired_cycles(block->accesses);
	if (!machine->rules.gathered_lines)
		return 0;
	return gathered_cycles(&machine->rules, block->accesses);
}

double sn_bound_past_caches(const struct sn_machine *machine, const struct sn_cqa_block *block)
{
	double bytes = 0;

	if (machine->rules.past_caches_bytes_per_cycle <= 0)
		return 0;
	for (size_t i = 0; i < block->accesses->count; i++) {
		const struct sn_access *access = &block->accesses->items[i];

		if (access->is_store && sn_insn_is_past_caches(&block->insns[access->insn]))
			bytes += access->address.bytes;
	}
	return bytes / (double)machine->rules.past_caches_bytes_per_cycle;
}
