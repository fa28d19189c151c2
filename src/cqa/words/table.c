/* Fills rows of tables from columns.c: one row a loop, any of its columns. */
#include "cqa/words/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/options.h"
#include "cqa/words/columns.h"
#include "cqa/block/extensions.h"

#define ENUM_OF(name, key, title, kind, decimals, group) COL_##name,
enum column { SN_CQA_COLUMNS(ENUM_OF) COL_COUNT };

#define GROUP_OF(name, text) GROUP_##name,
enum group { SN_CQA_GROUPS(GROUP_OF) GROUP_COUNT };

#define COLUMN_OF(name, key, title, kind, decimals, group)                                         \
	[COL_##name] = { key, title, SN_CELL_##kind, decimals },
const struct sn_column sn_cqa_columns[] = { SN_CQA_COLUMNS(COLUMN_OF) };
const size_t sn_cqa_column_count = COL_COUNT;

#define GROUP_NUMBER(name, key, title, kind, decimals, group) [COL_##name] = GROUP_##group,
static const uint8_t group_of[] = { SN_CQA_COLUMNS(GROUP_NUMBER) };

#define GROUP_TEXT(name, text) [GROUP_##name] = text,
static const char *const group_names[] = { SN_CQA_GROUPS(GROUP_TEXT) };

const char sn_cqa_default_columns[] =
	"loop,label,function,member,file,line_first,line_last,role,unroll,path_count,"
	"analysed_paths,is_union,has_calls,instructions,l1_cycles,min_cycles,max_cycles,bottleneck,"
	"ports_cycles,divider_cycles,issue_cycles,front_end_cycles,latency_cycles,l2_cycles,"
	"l3_cycles,ram_cycles,clean_speedup,fp_vector_speedup,full_vector_speedup,"
	"no_dependence_speedup,next_bottleneck_speedup,ipc,flop,flop_per_cycle,vector_share,"
	"vector_efficiency_share,vector_load_share,vector_store_share,vector_add_sub_share,"
	"vector_mul_share,loaded_bytes,stored_bytes,flop_per_byte,stride_0_accesses,"
	"stride_1_accesses,stride_n_accesses,stride_unknown_accesses,indirect_accesses,stack_bytes,"
	"conversions,divisions,gathers,estimated_instructions,missing_options,lacked_extensions,"
	"not_analysed";

const char *sn_cqa_column_group(size_t column)
{
	return column < COL_COUNT ? group_names[group_of[column]] : NULL;
}

static void add_key(struct sn_text *out, const char *key, size_t length)
{
	if (out->length)
		sn_text_add_char(out, ',');
	sn_text_add_bytes(out, key, length);
}

void sn_cqa_columns_expand(const char *asked, struct sn_text *out)
{
	for (const char *at = asked; *at;) {
		size_t length = strcspn(at, ",");
		bool is_all = length == 3 && memcmp(at, "all", 3) == 0;
		bool is_group = is_all;

		for (unsigned g = 0; g < GROUP_COUNT; g++)
			is_group |= strlen(group_names[g]) == length &&
				    memcmp(at, group_names[g], length) == 0;
		for (unsigned c = 0; c < COL_COUNT && is_group; c++) {
			const char *name = group_names[group_of[c]];

			if (is_all || (strlen(name) == length && memcmp(at, name, length) == 0))
				add_key(out, sn_cqa_columns[c].key, strlen(sn_cqa_columns[c].key));
		}
		if (!is_group)
			add_key(out, at, length);
		at += length + (at[length] == ',');
	}
}

void sn_cqa_table_init(struct sn_table *table)
{
	sn_table_init(table, sn_cqa_columns, COL_COUNT);
}

/* Share of memory accesses at a regular stride: zero and one element count 1, another constant
 * one half, unknown or indirect 0 (ONE View, section 6.1, gives no formula). NaN without any. */
static double access_efficiency(const struct sn_cqa_metrics *m)
{
	double all = 0, regular = m->strides[SN_STRIDE_ZERO] + m->strides[SN_STRIDE_UNIT] +
				  0.5 * m->strides[SN_STRIDE_N];

	for (unsigned i = 0; i < SN_STRIDE_COUNT; i++)
		all += m->strides[i];
	return all > 0 ? regular / all : NAN;
}

/* ---- setting cells ---- */

struct row {
	struct sn_table *table;
	size_t first;
	const struct sn_machine *machine;
	struct sn_cqa_loop *result;
	const struct sn_cqa_path *path; /* the main one */
	const struct sn_cqa_metrics *metrics;
};

static void set_text(const struct row *row, unsigned column, const char *text)
{
	sn_table_set_text(row->table, row->first + column, text);
}

static void set_int(const struct row *row, unsigned column, int64_t value)
{
	sn_table_set_int(row->table, row->first + column, value);
}

static void set_real(const struct row *row, unsigned column, double value)
{
	sn_table_set_real(row->table, row->first + column, value);
}

static void set_names(const struct row *row, unsigned column, unsigned bits, const char *between,
		      const char *const *names, unsigned count)
{
	struct sn_text text = { 0 };

	for (unsigned i = 0; i < count; i++)
		if (bits & 1U << i)
			sn_text_addf(&text, "%s%s", text.length ? between : "", names[i]);
	if (text.length)
		set_text(row, column, text.chars);
	sn_text_free(&text);
}

static void set_identity(const struct row *row, const char *member)
{
	const struct sn_loop *loop = row->result->loop;

	set_text(row, COL_LOOP, loop->id);
	set_text(row, COL_LABEL, loop->label);
	set_text(row, COL_FUNCTION, loop->function->name);
	set_text(row, COL_MEMBER, member);
	set_text(row, COL_FILE, loop->file);
	if (loop->line_first) {
		set_int(row, COL_LINE_FIRST, loop->line_first);
		set_int(row, COL_LINE_LAST, loop->line_last);
	}
	set_int(row, COL_ADDRESS, (int64_t)loop->header_link_addr);
	set_int(row, COL_INNERMOST, loop->is_innermost);
	set_int(row, COL_DEPTH, loop->depth);
	set_text(row, COL_ROLE, sn_loop_role_name((enum sn_loop_role)loop->role));
	if (loop->unroll)
		set_int(row, COL_UNROLL, loop->unroll);
	if (loop->group < loop->function->loop_count)
		set_text(row, COL_GROUP, loop->function->loops[loop->group].id);
	set_int(row, COL_IRREDUCIBLE, loop->is_irreducible);
	set_int(row, COL_EXITS, loop->exit_count);
	set_int(row, COL_BLOCKS, loop->block_count);
	set_names(row, COL_MISSING, sn_cqa_missing_options(row->result), ", ",
		  sn_missing_option_words, SN_MISSING_COUNT);
	set_text(row, COL_WHY_NOT, row->result->not_analysed);
}

static void set_lacked(const struct row *row)
{
	struct sn_text names = { 0 };

	sn_cqa_lacked_names(row->result->lacked_extensions, &names);
	if (names.length)
		set_text(row, COL_LACKED, names.chars);
	sn_text_free(&names);
}

static void set_flow_and_size(const struct row *row)
{
	const struct sn_cqa_loop *result = row->result;
	const struct sn_cqa_metrics *m = row->metrics;

	if (result->path_total)
		set_int(row, COL_PATHS, (int64_t)result->path_total);
	set_int(row, COL_ANALYSED, result->path_count);
	set_int(row, COL_UNION, result->is_union);
	set_int(row, COL_CALLS, result->has_calls);
	if (m->trips)
		set_int(row, COL_TRIPS, m->trips);
	set_int(row, COL_INSTRUCTIONS, m->instructions);
	set_int(row, COL_UOPS, m->uops);
	set_int(row, COL_BYTES, (int64_t)m->code_bytes);
	set_int(row, COL_MASKED, m->masked);
	set_int(row, COL_SPECIAL, m->specials);
	set_int(row, COL_ESTIMATED, (int64_t)result->estimated_instructions);
	set_int(row, COL_UNDECODED, (int64_t)result->undecoded_bytes);
	set_lacked(row);
	if (result->is_weighed)
		set_real(row, COL_MISSED, result->missed_cycles);
	set_int(row, COL_WEIGHED, result->is_weighed);
}

static void set_cycles(const struct row *row)
{
	const struct sn_cqa_loop *result = row->result;

	set_real(row, COL_CYCLES, result->cycles);
	set_real(row, COL_CYCLES_MIN, result->cycles_min);
	set_real(row, COL_CYCLES_MAX, result->cycles_max);
	set_text(row, COL_BOTTLENECK, sn_bound_names[result->bottleneck]);
	for (unsigned i = 0; i < SN_BOUND_COUNT; i++)
		set_real(row, COL_PORTS + i, row->path->estimate.bounds[i]);
	for (unsigned i = SN_LEVEL_L2; i < SN_LEVEL_COUNT; i++) {
		set_real(row, COL_L2 + i - SN_LEVEL_L2, result->level_cycles[i]);
		set_real(row, COL_L2_MIN + 2 * (i - SN_LEVEL_L2), result->level_least[i]);
		set_real(row, COL_L2_MAX + 2 * (i - SN_LEVEL_L2), result->level_most[i]);
	}
	set_real(row, COL_LATENCY_MIN, result->bound_least[SN_BOUND_LATENCY]);
	set_real(row, COL_LATENCY_MAX, result->bound_most[SN_BOUND_LATENCY]);
	set_real(row, COL_DIVIDER_MIN, result->bound_least[SN_BOUND_DIVIDER]);
	set_real(row, COL_DIVIDER_MAX, result->bound_most[SN_BOUND_DIVIDER]);
}

static void set_variants(const struct row *row)
{
	for (unsigned i = 0; i < SN_VARIANT_COUNT; i++) {
		const struct sn_cqa_variant *variant = &row->result->variants[i];

		set_real(row, COL_CLEAN + i, variant->speedup);
		set_real(row, COL_CLEAN_RAM + i, variant->ram_speedup);
		if (variant->is_applicable)
			set_real(row, COL_CLEAN_CYCLES + i, variant->cycles);
	}
	if (row->path->widening)
		set_int(row, COL_WIDENING, row->path->widening);
}

/* The most FLOP that the machine does in a cycle with elements of this size. */
static double peak_flop(const struct sn_machine *machine, unsigned element_bytes)
{
	const char *text = machine->rules.vector_bytes == 64   ? "vfmadd231pd z,z,z"
			   : machine->rules.vector_bytes == 32 ? "vfmadd231pd y,y,y"
							       : "mulpd x,x";
	const struct sn_row *row;
	sn_form form;

	if (!element_bytes || element_bytes > 8 || !sn_form_parse(text, strlen(text), &form))
		return NAN;
	row = sn_machine_row_exact(machine, form);
	if (!row || !row->set_count)
		return NAN;
	return 2.0 * machine->rules.vector_bytes / element_bytes *
	       __builtin_popcount(row->sets[0].units) / (double)row->sets[0].count;
}

static void set_rates(const struct row *row)
{
	const struct sn_cqa_metrics *m = row->metrics;
	const struct sn_rules *rules = &row->machine->rules;

	for (unsigned level = 0; level < SN_LEVEL_COUNT; level++) {
		double cycles = row->path->level_cycles[level];

		set_real(row, COL_IPC + level, m->instructions / cycles);
		set_real(row, COL_FLOP_RATE + level, m->flops / cycles);
		set_real(row, COL_LOAD_RATE + level, m->bytes_loaded / cycles);
		set_real(row, COL_STORE_RATE + level, m->bytes_stored / cycles);
	}
	set_real(row, COL_PEAK_ISSUE, m->uops / row->path->estimate.cycles / rules->issue_width);
	if (m->flops > 0)
		set_real(row, COL_PEAK_FLOP,
			 m->flops / row->path->estimate.cycles /
				 peak_flop(row->machine, m->element_bytes));
	if (m->loads)
		set_real(row, COL_PEAK_LOAD,
			 m->bytes_loaded / row->path->estimate.cycles /
				 (rules->loads_per_cycle * rules->vector_bytes));
	if (m->stores)
		set_real(row, COL_PEAK_STORE,
			 m->bytes_stored / row->path->estimate.cycles /
				 (rules->stores_per_cycle * rules->vector_bytes));
}

/* The level of the x86-64 psABI that a processor must have to run it. */
static int x86_64_level(unsigned isas)
{
	return isas & SN_ISA_AVX512							   ? 4
	       : isas & (SN_ISA_AVX | SN_ISA_AVX2 | SN_ISA_FMA | SN_ISA_F16C | SN_ISA_BMI) ? 3
											   : 1;
}

static void set_mix(const struct row *row)
{
	const struct sn_cqa_metrics *m = row->metrics;
	const double parts[] = { m->flops_add_sub, m->flops_mul, m->flops_fma, m->flops_div,
				 m->flops_sqrt };

	set_real(row, COL_FLOP, m->flops);
	for (unsigned i = 0; i < 5; i++)
		set_real(row, COL_FLOP_ADD_SUB + i, parts[i]);
	if (m->flops_mul > 0)
		set_real(row, COL_ADD_PER_MUL, m->flops_add_sub / m->flops_mul);
	set_int(row, COL_RCP, (int64_t)m->rcps);
	set_int(row, COL_RSQRT, (int64_t)m->rsqrts);
	set_int(row, COL_FMA_PAIRS, m->add_then_mul);
	set_int(row, COL_SUM_TIMES, m->sum_times);
	set_int(row, COL_FP_SCALAR, m->fp_scalar);
	set_int(row, COL_FP_PACKED, m->fp_packed);
	set_int(row, COL_X87, m->x87);
	set_int(row, COL_CONVERSIONS, m->conversions);
	set_int(row, COL_DIVISIONS, m->divisions);
	set_names(row, COL_ELEMENTS, m->elements, " ", sn_element_names, SN_ELEMENT_BITS);
	set_names(row, COL_ISA, m->isas, " ", sn_isa_names, SN_ISA_BITS);
	set_int(row, COL_LEVEL, x86_64_level(m->isas));
}

static void set_vectorization(const struct row *row)
{
	/* columns stand by kind of data: ratios of all classes, then efficiencies of all */
	for (unsigned kind = 0; kind < SN_DATA_COUNT; kind++)
		for (unsigned class = 0; class < SN_CLASS_COUNT; class ++) {
			const struct sn_vectorization *v =
				&row->metrics->vectorization[kind][class];
			unsigned column = COL_VALL + kind * 2 * SN_CLASS_COUNT + class;

			set_real(row, column, v->ratio);
			set_real(row, column + SN_CLASS_COUNT, v->efficiency);
		}
	if (row->metrics->width_bytes)
		set_int(row, COL_WIDTH, row->metrics->width_bytes);
}

static void set_memory(const struct row *row)
{
	const struct sn_cqa_metrics *m = row->metrics;

	set_int(row, COL_LOADS, m->loads);
	set_int(row, COL_STORES, m->stores);
	set_int(row, COL_BYTES_LOADED, (int64_t)m->bytes_loaded);
	set_int(row, COL_BYTES_STORED, (int64_t)m->bytes_stored);
	set_int(row, COL_PREFETCHED, (int64_t)m->bytes_prefetched);
	set_int(row, COL_FROM_MEMORY, (int64_t)m->bytes_from_memory);
	set_real(row, COL_INTENSITY, m->arithmetic_intensity);
	for (unsigned i = 0; i < SN_STRIDE_COUNT; i++)
		set_int(row, COL_STRIDE_0 + i, m->strides[i]);
	set_int(row, COL_FIELDS, m->fields);
	set_int(row, COL_STACK_REFS, m->stack_references);
	set_int(row, COL_STACK, (int64_t)m->stack_bytes);
	set_int(row, COL_GATHERS, m->gathers + m->scatters);
	set_real(row, COL_EFFICIENCY, access_efficiency(m));
}

static void set_advice(const struct row *row, const sn_advice_list *list)
{
	struct sn_text subjects = { 0 };

	for (size_t i = 0; i < list->count; i++)
		sn_text_addf(&subjects, "%s%s", i ? ", " : "", list->items[i].subject);
	if (list->count) {
		set_text(row, COL_ADVICE, list->items[0].sentence);
		set_text(row, COL_ADVICE_LEVEL, sn_confidence_name(list->items[0].confidence));
		set_text(row, COL_ADVICE_ALL, subjects.chars);
	}
	sn_text_free(&subjects);
}

static void ask_advice(const struct row *row)
{
	sn_advice_list list = { 0 };

	sn_cqa_advise(row->machine, row->result, &list);
	set_advice(row, &list);
	sn_vec_free(&list);
}

void sn_cqa_units_text(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_text *out)
{
	struct sn_arena scratch = { 0 };
	struct sn_cqa_block charged = sn_cqa_charged(machine, block, &scratch);
	double busy[SN_UNITS_MAX];

	sn_ports_distribute(machine, &charged, busy);
	for (unsigned i = 0; i < machine->unit_count; i++)
		if (busy[i] >= 0.005)
			sn_text_addf(out, "%s %.2f\n", machine->unit_names[i], busy[i]);
	sn_arena_free(&scratch);
}

static void set_units(const struct row *row)
{
	struct sn_text text = { 0 };

	if (row->path->block.count)
		sn_cqa_units_text(row->machine, &row->path->block, &text);
	for (size_t i = 0; i < text.length; i++)
		if (text.chars[i] == '\n')
			text.chars[i] = i + 1 < text.length ? ',' : 0;
	if (text.length)
		set_text(row, COL_UNITS, text.chars);
	sn_text_free(&text);
}

/* Whether a list of keys has one that needs this group's work. */
static bool wants(const char *columns, const char *prefix)
{
	return !columns || strstr(columns, prefix);
}

void sn_cqa_row_set(struct sn_table *table, size_t first, const struct sn_machine *machine,
		    struct sn_cqa_loop *result, const char *member, const sn_advice_list *advice,
		    const char *columns)
{
	struct row row = { table, first, machine, result, NULL, NULL };

	if (result->loop)
		set_identity(&row, member);
	else
		set_text(&row, COL_WHY_NOT, result->not_analysed);
	if (result->not_analysed)
		return;
	row.path = &result->paths[result->main_path];
	row.metrics = &row.path->metrics;
	set_flow_and_size(&row);
	set_cycles(&row);
	set_variants(&row);
	set_rates(&row);
	set_mix(&row);
	set_vectorization(&row);
	set_memory(&row);
	if (advice)
		set_advice(&row, advice);
	else if (wants(columns, "advice"))
		ask_advice(&row);
	if (wants(columns, "units_cycles"))
		set_units(&row);
}

void sn_cqa_table_add(struct sn_table *table, const struct sn_machine *machine,
		      struct sn_cqa_loop *result, const char *member, const char *columns)
{
	sn_table_add_row(table);
	sn_cqa_row_set(table, 0, machine, result, member, NULL, columns);
}
