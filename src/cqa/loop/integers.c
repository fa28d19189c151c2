/*
 * A loop of integers on vectors. What becomes of loaded elements takes one vector operation for as many
 * elements as fit, of the width that the registers of the code have; at best the elements stay as
 * narrow as they lie in memory. All else (addresses, counters) is done once for each vector.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cqa/loop/variant_parts.h"

struct widening {
	const struct sn_machine *machine;
	const struct sn_row *add, *multiply;
	uint32_t shuffles;
	unsigned passes; /* of the original in one of the variant */
	bool is_narrow;	 /* elements are as wide as in memory */
};

enum work { WORK_NONE, WORK_MOVE, WORK_EXTEND, WORK_SIMPLE, WORK_ADDRESS, WORK_MULTIPLY };

/* What there is a vector operation for. */
static enum work work_of(const struct sn_insn *insn)
{
	static const struct {
		const char *name;
		enum work work;
	} known[] = {
		{ "mov", WORK_MOVE },	   { "movzx", WORK_EXTEND }, { "movsx", WORK_EXTEND },
		{ "movsxd", WORK_EXTEND }, { "cdqe", WORK_EXTEND },  { "add", WORK_SIMPLE },
		{ "sub", WORK_SIMPLE },	   { "and", WORK_SIMPLE },   { "or", WORK_SIMPLE },
		{ "xor", WORK_SIMPLE },	   { "not", WORK_SIMPLE },   { "neg", WORK_SIMPLE },
		{ "inc", WORK_SIMPLE },	   { "dec", WORK_SIMPLE },   { "cmp", WORK_SIMPLE },
		{ "test", WORK_SIMPLE },   { "shl", WORK_SIMPLE },   { "shr", WORK_SIMPLE },
		{ "sar", WORK_SIMPLE },	   { "lea", WORK_ADDRESS },  { "imul", WORK_MULTIPLY },
	};
	const char *name = ZydisMnemonicGetString(sn_form_mnemonic(insn->form));

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].work;
	return !strncmp(name, "cmov", 4) || !strncmp(name, "set", 3) ? WORK_SIMPLE : WORK_NONE;
}

static const struct sn_row *row_of(const struct sn_machine *machine, const char *name)
{
	char text[SN_FORM_TEXT_MAX];
	unsigned bytes = machine->rules.vector_bytes;
	const char *kind = bytes == 64 ? "z" : bytes == 32 ? "y" : "x";
	sn_form form;

	snprintf(text, sizeof(text), "v%s %s,%s,%s", name, kind, kind, kind);
	return sn_form_parse(text, strlen(text), &form) ? sn_machine_row_exact(machine, form)
							: NULL;
}

/* ---- which instructions work on elements ---- */

static bool reads_any(const struct sn_insn *insn, const bool *is_data)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		if (is_data[insn->reads[k].resource] && insn->reads[k].role != SN_ROLE_ADDRESS &&
		    insn->reads[k].role != SN_ROLE_STORE_ADDRESS)
			return true;
	return false;
}

static bool loads_element(const struct sn_accesses *accesses, const struct sn_insn *insn, size_t i)
{
	const struct sn_access *access =
		insn->memory_count ? sn_variant_access_of(accesses, i) : NULL;

	return access && access->is_load && sn_stride_kind_of(access) != SN_STRIDE_ZERO;
}

/* What the instructions of a block do; [block->count]. */
struct parts {
	bool *is_work; /* computes from loaded elements, of this pass or the one before */
	bool *is_sum;  /* adds to what the pass before left: of the register's width in any case */
};

/* Whether the instruction changes a value of the pass before. */
static bool is_carried(const struct sn_insn *insn, const bool *is_new)
{
	for (unsigned k = 0; k < insn->read_count; k++)
		for (unsigned w = 0; w < insn->write_count; w++)
			if (insn->reads[k].resource == insn->writes[w] &&
			    insn->writes[w] < SN_RES_FLAG && !is_new[insn->writes[w]])
				return true;
	return false;
}

static void find_work(const struct sn_cqa_block *block, struct parts *parts)
{
	bool is_data[SN_RES_COUNT] = { false };

	for (unsigned round = 0; round < 2; round++) {
		bool is_new[SN_RES_COUNT] = { false };

		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];

			parts->is_work[i] = loads_element(block->accesses, insn, i) ||
					    (!insn->is_branch && reads_any(insn, is_data));
			parts->is_sum[i] = parts->is_work[i] && is_carried(insn, is_new);
			for (unsigned k = 0; k < insn->write_count; k++) {
				is_data[insn->writes[k]] = parts->is_work[i];
				is_new[insn->writes[k]] = true;
			}
		}
	}
}

/* Why there are no figures; NULL: nothing is in the way. */
static const char *obstacle(const struct sn_cqa_block *block, const bool *is_work)
{
	bool has_work = false;

	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		const struct sn_access *access = sn_variant_access_of(block->accesses, i);

		if (insn->memory_count && access && sn_stride_kind_of(access) != SN_STRIDE_ZERO &&
		    !sn_variant_is_contiguous(block->accesses, access))
			return "not all of its accesses go to neighbours";
		if (insn->is_vector)
			return "a part of it is on vectors already";
		if (is_work[i] && work_of(insn) == WORK_NONE)
			return "the model knows no vector form of all its instructions";
		has_work |= is_work[i];
	}
	return has_work ? NULL : "it computes nothing from what it loads";
}

/* Bytes of the widest operand that works on elements, and of the narrowest element in memory. */
static void find_widths(const struct sn_cqa_block *block, const bool *is_work, unsigned *widest,
			unsigned *narrowest)
{
	*widest = *narrowest = 0;
	for (size_t i = 0; i < block->count; i++) {
		const struct sn_insn *insn = &block->insns[i];
		unsigned bytes = insn->memory_count ? insn->memory[0].bytes : 0;

		if (!is_work[i])
			continue;
		/* an address is as wide as all addresses are, whatever is computed with it */
		if (work_of(insn) != WORK_ADDRESS && insn->operand_bytes > *widest)
			*widest = insn->operand_bytes;
		if (bytes && (!*narrowest || bytes < *narrowest))
			*narrowest = bytes;
	}
	if (*widest < *narrowest)
		*widest = *narrowest;
}

/* ---- what they take ---- */

static unsigned registers_of(const struct widening *w, unsigned bytes)
{
	unsigned all = bytes * w->passes, one = w->machine->rules.vector_bytes;

	return all > one ? (all + one - 1) / one : 1;
}

static void add_row(struct sn_insn *insn, const struct sn_row *row, float times)
{
	for (unsigned i = 0; i < row->set_count; i++)
		sn_variant_add_set(insn, row->sets[i].units, row->sets[i].count * times);
}

static void widen_memory(const struct widening *w, struct sn_insn *insn)
{
	unsigned all = insn->memory[0].bytes * w->passes, one = w->machine->rules.vector_bytes;
	float times = (float)registers_of(w, insn->memory[0].bytes);

	if (insn->memory[0].is_load)
		sn_variant_add_move(w->machine, insn, all < one ? all : one, false, times);
	if (insn->memory[0].is_store)
		sn_variant_add_move(w->machine, insn, all < one ? all : one, true, times);
}

static void widen(const struct widening *w, struct sn_insn *insn, bool is_sum)
{
	bool is_wide = is_sum || !w->is_narrow;
	float times = is_wide ? (float)registers_of(w, insn->operand_bytes) : 1;
	enum work work = work_of(insn);

	insn->set_count = 0;
	insn->fused_uops = insn->issued_uops = 0;
	insn->fuses_with_next = insn->is_fused_into_previous = false;
	if (work == WORK_SIMPLE)
		add_row(insn, w->add, times);
	else if (work == WORK_ADDRESS) /* shift and add */
		add_row(insn, w->add, 2 * times);
	else if (work == WORK_MULTIPLY)
		add_row(insn, w->multiply, times);
	else if (work == WORK_EXTEND && is_wide)
		sn_variant_add_set(insn, w->shuffles, times);
	if (is_sum && w->is_narrow && times > 1) /* its elements are extended first */
		sn_variant_add_set(insn, w->shuffles, times);
	if (insn->memory_count)
		widen_memory(w, insn);
}

static double cycles_of(const struct widening *w, const struct sn_cqa_path *path,
			const struct parts *parts, struct sn_arena *arena)
{
	struct sn_cqa_block block = sn_variant_block(&path->block, arena);
	double no_chain = 0; /* sums of integers may be kept in parts */

	for (size_t i = 0; i < path->block.count; i++) {
		block.insns[i] = path->block.insns[i];
		if (parts->is_work[i])
			widen(w, &block.insns[i], parts->is_sum[i]);
	}
	block.count = path->block.count;
	return sn_cqa_variant_cycles(w->machine, &block, &no_chain,
				     path->estimate.cycles * w->passes, arena) /
	       w->passes;
}

static void set(struct sn_cqa_variant *out, struct widening *w, const struct sn_cqa_path *path,
		const struct parts *parts, unsigned element_bytes, struct sn_arena *arena)
{
	unsigned trips = path->metrics.trips;

	w->passes = w->machine->rules.vector_bytes / element_bytes;
	if (trips && trips < w->passes)
		w->passes = trips;
	sn_variant_set(out, path->estimate.cycles, cycles_of(w, path, parts, arena));
}

void sn_cqa_variant_integers(const struct sn_machine *machine, struct sn_cqa_path *path,
			     struct sn_arena *arena)
{
	struct widening w = { .machine = machine,
			      .add = row_of(machine, "paddd"),
			      .multiply = row_of(machine, "pmulld"),
			      .shuffles = sn_variant_shuffle_units(machine) };
	struct sn_integer_vectors *out = &path->integer_vectors;
	struct parts parts;
	unsigned widest, narrowest;

	memset(out, 0, sizeof(*out));
	if (path->metrics.fp_scalar + path->metrics.fp_packed ||
	    !path->metrics.strides[SN_STRIDE_UNIT])
		return;
	if (!w.add || !w.multiply) {
		out->reason = "the processor has no such vectors of integers";
		return;
	}
	parts.is_work = sn_arena_array(arena, bool, path->block.count + 1);
	parts.is_sum = sn_arena_array(arena, bool, path->block.count + 1);
	find_work(&path->block, &parts);
	out->reason = obstacle(&path->block, parts.is_work);
	if (out->reason)
		return;
	find_widths(&path->block, parts.is_work, &widest, &narrowest);
	if (!narrowest) {
		out->reason = "how wide its elements are is not seen";
		return;
	}
	set(&out->as_computed, &w, path, &parts, widest, arena);
	w.is_narrow = true;
	set(&out->as_stored, &w, path, &parts, narrowest, arena);
}
