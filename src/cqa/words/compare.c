/* Loops of two builds are paired by their names, else by their order in a function. */
#include "cqa/words/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "code/options.h"

#define SAME_SPEED 1.02 /* (chosen) as print_verdicts() says */

enum {
	C_FUNCTION,
	C_LABEL,
	C_AFTER_LABEL,
	C_BEFORE,
	C_AFTER,
	C_BEFORE_BOTTLENECK,
	C_AFTER_BOTTLENECK,
	C_BEFORE_UNROLL,
	C_AFTER_UNROLL,
	C_BEFORE_CALLS,
	C_AFTER_CALLS,
	C_SPEEDUP,
	C_BY,
	C_COUNT
};

static const struct sn_column columns[C_COUNT] = {
	{ "function", "function", SN_CELL_TEXT, 0 },
	{ "label", "loop", SN_CELL_TEXT, 0 },
	{ "after_label", NULL, SN_CELL_TEXT, 0 },
	{ "before_cycles", "before", SN_CELL_REAL, 2 },
	{ "after_cycles", "after", SN_CELL_REAL, 2 },
	{ "before_bottleneck", "bottleneck before", SN_CELL_TEXT, 0 },
	{ "after_bottleneck", "after", SN_CELL_TEXT, 0 },
	{ "before_unroll", "unroll before", SN_CELL_INT, 0 },
	{ "after_unroll", "after", SN_CELL_INT, 0 },
	{ "before_has_calls", "calls before", SN_CELL_BOOL, 0 },
	{ "after_has_calls", "after", SN_CELL_BOOL, 0 },
	{ "speedup", "speed-up", SN_CELL_REAL, 2 },
	{ "speedup_by", "by", SN_CELL_TEXT, 0 },
};

/* Without optimization a pass is an iteration of the source. */
static unsigned unroll_of(const struct sn_cqa_loop *result)
{
	bool is_plain = result->options && sn_optimization_of(result->options) == SN_O_0;

	return result->loop->unroll ? result->loop->unroll : is_plain;
}

static uint64_t mixed(uint64_t code, uint64_t value)
{
	return sn_hash_u64(code ^ value);
}

/* Of the instructions, wherever they lie: what is addressed from the instruction is left out. */
static uint64_t code_of(const struct sn_cqa_loop *result)
{
	uint64_t code = mixed(result->path_count, result->is_union);

	for (uint32_t p = 0; p < result->path_count; p++) {
		const struct sn_cqa_block *block = &result->paths[p].block;

		for (size_t i = 0; i < block->count; i++) {
			const struct sn_insn *insn = &block->insns[i];
			const struct sn_memory_operand *memory = &insn->memory[0];

			code = mixed(code, insn->form);
			code = mixed(code, insn->offset - block->insns[0].offset);
			for (unsigned k = 0; k < SN_FORM_OPERANDS_MAX; k++)
				code = mixed(code, insn->operands[k]);
			code = mixed(code, insn->is_branch ? 0 : (uint64_t)insn->immediate);
			code = mixed(code, (uint64_t)memory->base << 16 | memory->index << 8 |
						   memory->scale);
			code = mixed(code, memory->is_rip ? 0 : (uint64_t)memory->displacement);
		}
	}
	return code;
}

static void add_side(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		     struct sn_cqa_loop *result)
{
	const struct sn_loop *loop = result->loop;
	struct sn_cqa_sides *sides = visit->context;
	struct sn_cqa_side side = { 0 };

	(void)unit;
	if (result->not_analysed || loop->role != SN_LOOP_MAIN)
		return;
	side.function = sn_arena_strdup(&sides->arena, loop->function->name);
	side.label = sn_arena_strdup(&sides->arena, loop->label);
	side.cycles = result->cycles;
	side.flops = result->path_count == 1 ? result->paths[0].metrics.flops : 0;
	side.has_calls = result->has_calls;
	side.bottleneck = result->bottleneck;
	side.unroll = unroll_of(result);
	side.code = code_of(result);
	sn_vec_push(&sides->items, side);
}

static void pair(struct sn_cqa_side *before, struct sn_cqa_side *after)
{
	before->other = after;
	after->other = before;
}

static int by_function(const void *left, const void *right)
{
	const struct sn_cqa_side *x = *(struct sn_cqa_side *const *)left,
				 *y = *(struct sn_cqa_side *const *)right;
	int order = strcmp(x->function, y->function);

	return order ? order : (x > y) - (x < y);
}

static int by_label(const void *left, const void *right)
{
	const struct sn_cqa_side *x = *(struct sn_cqa_side *const *)left,
				 *y = *(struct sn_cqa_side *const *)right;
	int order = strcmp(x->function, y->function);

	order = order ? order : strcmp(x->label, y->label);
	return order ? order : (x > y) - (x < y);
}

/* Loops without a counterpart, in an order. */
static struct sn_cqa_side **sort_left(struct sn_cqa_sides *sides,
				      int (*compare)(const void *, const void *), size_t *count)
{
	struct sn_cqa_side **out = sn_alloc_zeroed(sides->items.count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; i < sides->items.count; i++)
		if (!sides->items.items[i].other)
			out[(*count)++] = &sides->items.items[i];
	qsort(out, *count, sizeof(*out), compare);
	return out;
}

static void pair_equal_labels(struct sn_cqa_sides *before, struct sn_cqa_sides *after)
{
	size_t n, m, i = 0, k = 0;
	struct sn_cqa_side **b = sort_left(before, by_label, &n),
			   **a = sort_left(after, by_label, &m);

	while (i < n && k < m) {
		int order = strcmp(b[i]->function, a[k]->function);

		order = order ? order : strcmp(b[i]->label, a[k]->label);
		if (!order)
			pair(b[i], a[k]);
		i += order <= 0;
		k += order >= 0;
	}
	free(b);
	free(a);
}

static size_t length_of_function(struct sn_cqa_side *const *sides, size_t count)
{
	size_t length = 0;

	while (length < count && strcmp(sides[length]->function, sides[0]->function) == 0)
		length++;
	return length;
}

/* Lines move when the source is changed, and one build may have none: where a function has as many
 * loops left on either side, they are taken in order. */
static void pair_in_order(struct sn_cqa_sides *before, struct sn_cqa_sides *after)
{
	size_t n, m, i = 0, k = 0;
	struct sn_cqa_side **b = sort_left(before, by_function, &n),
			   **a = sort_left(after, by_function, &m);

	while (i < n && k < m) {
		int order = strcmp(b[i]->function, a[k]->function);
		size_t b_length = length_of_function(b + i, n - i);
		size_t a_length = length_of_function(a + k, m - k);

		for (size_t l = 0; !order && b_length == a_length && l < b_length; l++)
			pair(b[i + l], a[k + l]);
		i += order <= 0 ? b_length : 0;
		k += order >= 0 ? a_length : 0;
	}
	free(b);
	free(a);
}

/* Time for the same source work: that of a pass where the code is the same, else by the iterations
 * that a pass covers, else by its FLOP. */
double sn_cqa_sides_speedup(const struct sn_cqa_side *before, const struct sn_cqa_side *after,
			    const char **by)
{
	if (before->code == after->code) {
		*by = "same code";
		return before->cycles / after->cycles;
	}
	if (before->unroll && after->unroll) {
		*by = "iterations";
		return before->cycles / before->unroll / (after->cycles / after->unroll);
	}
	if (before->flops > 0 && after->flops > 0) {
		*by = "FLOP";
		return before->cycles / before->flops / (after->cycles / after->flops);
	}
	return NAN;
}

struct verdicts {
	size_t faster, slower, same, unknown, before_only, after_only;
	size_t calling; /* on either side */
};

static void add_row(struct sn_table *table, const struct sn_cqa_side *before,
		    const struct sn_cqa_side *after, struct verdicts *verdicts)
{
	const struct sn_cqa_side *known = before ? before : after;
	const char *by = NULL;
	double speedup = before && after ? sn_cqa_sides_speedup(before, after, &by) : NAN;

	sn_table_add_row(table);
	sn_table_set_text(table, C_FUNCTION, known->function);
	sn_table_set_text(table, C_LABEL, known->label);
	if (before) {
		sn_table_set_real(table, C_BEFORE, before->cycles);
		sn_table_set_int(table, C_BEFORE_CALLS, before->has_calls);
		sn_table_set_text(table, C_BEFORE_BOTTLENECK, sn_bound_names[before->bottleneck]);
		if (before->unroll)
			sn_table_set_int(table, C_BEFORE_UNROLL, before->unroll);
	}
	if (after) {
		sn_table_set_text(table, C_AFTER_LABEL, after->label);
		sn_table_set_real(table, C_AFTER, after->cycles);
		sn_table_set_int(table, C_AFTER_CALLS, after->has_calls);
		sn_table_set_text(table, C_AFTER_BOTTLENECK, sn_bound_names[after->bottleneck]);
		if (after->unroll)
			sn_table_set_int(table, C_AFTER_UNROLL, after->unroll);
	}
	sn_table_set_real(table, C_SPEEDUP, speedup);
	sn_table_set_text(table, C_BY, by);
	verdicts->calling += (before && before->has_calls) || (after && after->has_calls);
	*(!after		     ? &verdicts->before_only
	  : !before		     ? &verdicts->after_only
	  : isnan(speedup)	     ? &verdicts->unknown
	  : speedup > SAME_SPEED     ? &verdicts->faster
	  : speedup < 1 / SAME_SPEED ? &verdicts->slower
				     : &verdicts->same) += 1;
}

static void print_verdicts(const struct verdicts *v, const struct sn_machine *machine, FILE *out)
{
	fprintf(out, "main loops for %s: %zu faster, %zu slower, %zu the same within 2 %%",
		machine->title, v->faster, v->slower, v->same);
	if (v->unknown)
		fprintf(out,
			", %zu unknown (nothing tells how many iterations of the source a pass is)",
			v->unknown);
	if (v->before_only || v->after_only)
		fprintf(out, "; without a counterpart: %zu before, %zu after", v->before_only,
			v->after_only);
	fputs("\ncycles are of one pass over the body; the speed-up is for the same source work\n",
	      out);
	if (v->calling)
		fprintf(out,
			"%zu loop%s functions, whose time is in none of the figures: the speed-up "
			"is without it\n",
			v->calling, v->calling == 1 ? " calls" : "s call");
}

void sn_cqa_sides_read(struct sn_cqa_sides *out, struct sn_cqa_module *module,
		       const struct sn_machine *machine, const struct sn_loop_choice *choice)
{
	struct sn_loop_visit visit = { .machine = machine,
				       .bandwidths = sn_bandwidths_of(machine),
				       .choice = choice,
				       .each = add_side,
				       .context = out };

	sn_loop_visit_module(&visit, module);
}

void sn_cqa_sides_pair(struct sn_cqa_sides *before, struct sn_cqa_sides *after)
{
	pair_equal_labels(before, after);
	pair_in_order(before, after);
}

void sn_cqa_sides_free(struct sn_cqa_sides *sides)
{
	sn_vec_free(&sides->items);
	sn_arena_free(&sides->arena);
}

/* Whether loops call is worth columns only where one does. */
static const char text_without_calls[] = "function,label,before_cycles,after_cycles,"
					 "before_bottleneck,after_bottleneck,before_unroll,"
					 "after_unroll,speedup,speedup_by";

sn_status sn_cqa_compare_write(const struct sn_cqa_sides *before, const struct sn_cqa_sides *after,
			       struct sn_table_view *view, const struct sn_machine *machine,
			       FILE *out, struct sn_error *err)
{
	struct verdicts verdicts = { 0 };
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, columns, C_COUNT);
	for (size_t i = 0; i < before->items.count; i++)
		add_row(&table, &before->items.items[i], before->items.items[i].other, &verdicts);
	for (size_t i = 0; i < after->items.count; i++)
		if (!after->items.items[i].other)
			add_row(&table, NULL, &after->items.items[i], &verdicts);
	if (view->format == SN_FORMAT_TEXT && !view->columns && !verdicts.calling)
		view->columns = text_without_calls;
	status = sn_table_write(&table, view, out, NULL, NULL, err);
	if (!status && view->format == SN_FORMAT_TEXT)
		print_verdicts(&verdicts, machine, out);
	sn_table_free(&table);
	return status;
}
