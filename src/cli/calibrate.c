/* sonde calibrate: what was measured of this machine or of blocks, as text and as tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/command.h"
#include "cqa/calibrate/calibration.h"
#include "cqa/calibrate/measure.h"
#include "cqa/calibrate/timed_block.h"
#include "machine/roofs.h"

static void block_print(const struct sn_timed_block *block, size_t number)
{
	struct sn_json json = { .out = stdout };
	bool failed = block->err.status != SN_OK;

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.calibrate-block/1");
	sn_json_member_uint(&json, "block", number);
	if (failed) {
		sn_json_member_null(&json, "cycles");
		sn_json_member_null(&json, "stable");
	} else {
		sn_json_member_double(&json, "cycles", block->result.cycles);
		sn_json_member_bool(&json, "stable", block->result.is_stable);
	}
	sn_json_key(&json, "passes");
	sn_json_array(&json);
	for (unsigned i = 0; i < block->result.pass_count && !failed; i++)
		sn_json_double(&json, block->result.passes[i]);
	sn_json_close(&json);
	sn_json_member_string(&json, "error", failed ? block->err.sentence : NULL);
	sn_json_close(&json);
	sn_json_finish(&json);
}

static const struct sn_column block_columns[] = {
	{ "block", "block", SN_CELL_INT, 0 },	 { "cycles", "cycles", SN_CELL_REAL, 3 },
	{ "stable", "stable", SN_CELL_BOOL, 0 }, { "passes", "passes", SN_CELL_TEXT, 0 },
	{ "error", "error", SN_CELL_TEXT, 0 },
};

static void block_add_row(const struct sn_timed_block *block, size_t number, struct sn_table *table)
{
	struct sn_text passes = { 0 };

	sn_table_add_row(table);
	sn_table_set_int(table, 0, (int64_t)number);
	if (block->err.status) {
		sn_table_set_text(table, 4, block->err.sentence);
		return;
	}
	sn_table_set_real(table, 1, block->result.cycles);
	sn_table_set_int(table, 2, block->result.is_stable);
	for (unsigned i = 0; i < block->result.pass_count; i++)
		sn_text_addf(&passes, "%s%.3f", i ? ";" : "", block->result.passes[i]);
	sn_table_set_text(table, 3, passes.chars);
	sn_text_free(&passes);
}

static sn_status blocks_write(const struct sn_timed_block *blocks, size_t count,
			      enum sn_format format, struct sn_error *err)
{
	struct sn_table_view view = { .format = format, .schema = "sonde.calibrate-blocks/1" };
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, block_columns, sizeof(block_columns) / sizeof(*block_columns));
	for (size_t i = 0; i < count; i++)
		block_add_row(&blocks[i], i, &table);
	status = sn_table_write(&table, &view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

static const struct sn_machine *any_machine(struct sn_error *err)
{
	const char *native = sn_machine_processor_name();
	const struct sn_machine *machine = NULL;

	/* only operands and jumps are looked at here: any model serves */
	sn_machine_find(native ? native : "cascadelake", &machine, err);
	return machine;
}

static int run_file(const char *path, const struct sn_machine *machine, bool is_unrolled,
		    unsigned passes, enum sn_format format)
{
	struct sn_file_view view = { 0 };
	struct sn_error err = { 0 };
	sn_timed_blocks blocks = { 0 };
	sn_status status = SN_OK;

	if (sn_file_map(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &view, &err))
		return sn_error_print(&err);
	sn_timed_blocks_read(machine, (const char *)view.bytes, view.length, is_unrolled, &blocks);
	sn_timed_blocks_run(&blocks, passes);
	if (format != SN_FORMAT_JSONL)
		status = blocks_write(blocks.items, blocks.count, format, &err);
	for (size_t i = 0; i < blocks.count && format == SN_FORMAT_JSONL; i++)
		block_print(&blocks.items[i], i);
	sn_timed_blocks_free(&blocks);
	sn_file_unmap(&view);
	return status ? sn_error_print(&err) : SN_EXIT_OK;
}

static int run_block(const char *hex, const struct sn_machine *machine, bool is_unrolled,
		     unsigned passes, enum sn_format format)
{
	struct sn_timed_block block = { 0 };
	struct sn_error err;
	int code = SN_EXIT_OK;

	sn_timed_block_read(machine, hex, strlen(hex), is_unrolled, &block);
	for (unsigned pass = 0; pass < passes; pass++)
		sn_timed_block_run(&block);
	if (format != SN_FORMAT_TEXT) {
		if (format != SN_FORMAT_CSV)
			block_print(&block, 0);
		else if (blocks_write(&block, 1, format, &err))
			return sn_error_print(&err);
		code = block.err.status ? (int)sn_status_exit_code(block.err.status) : SN_EXIT_OK;
	} else if (block.err.status) {
		code = sn_error_print(&block.err);
	} else {
		printf("%.3f core cycles per %s, the lowest of %u passes%s\n", block.result.cycles,
		       is_unrolled ? "copy" : "iteration", block.result.pass_count,
		       block.result.is_stable
			       ? ""
			       : "; not stable: neither the two lowest nor most of them agree within 5 %");
	}
	sn_timed_block_free(&block);
	return code;
}

static const struct sn_column form_columns[] = {
	{ "form", "form", SN_CELL_TEXT, 0 },
	{ "throughput_cycles", "throughput", SN_CELL_REAL, 3 },
	{ "latency_cycles", "latency", SN_CELL_REAL, 3 },
};

static void print_form(const char *text, const struct sn_measured *measured)
{
	printf("%s\t%.3f\t", text, measured->throughput_cycles);
	if (isnan(measured->latency_cycles))
		puts("");
	else
		printf("%.3f\n", measured->latency_cycles);
}

static void add_form(const char *text, const struct sn_measured *measured, struct sn_table *table)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, text);
	sn_table_set_real(table, 1, measured->throughput_cycles);
	sn_table_set_real(table, 2, measured->latency_cycles);
}

static sn_status no_forms(const char *prefix, const struct sn_machine *machine, size_t asked,
			  struct sn_error *err)
{
	if (!asked)
		return sn_error_set(
			err, SN_ERR_NOT_FOUND,
			"calibrate: no instruction form of %s begins with '%s'; they are "
			"written like \"addpd x,x\", \"vaddpd y,y,m256\", \"imul r64,r64\"",
			machine->title, prefix);
	return sn_error_set(
		err, SN_ERR_UNSUPPORTED,
		"calibrate: none of the %zu instruction forms that begin with '%s' can be "
		"run here",
		asked, prefix);
}

/* Measures every form of the model that can be encoded and run here: form, throughput, latency.
 * With `view` NULL, prints lines with tabs as they come; else a table. */
static int run_forms(const char *prefix, const struct sn_machine *machine, unsigned passes,
		     const struct sn_table_view *view)
{
	size_t asked = 0, done = 0;
	struct sn_table table;
	struct sn_error err = { 0 };
	sn_status status = SN_OK;

	sn_table_init(&table, form_columns, sizeof(form_columns) / sizeof(*form_columns));
	for (size_t i = 0; i < machine->rows.count; i++) {
		struct sn_measured measured;
		struct sn_error unable = { 0 };
		char text[SN_FORM_TEXT_MAX];
		sn_form form = machine->rows.items[i].form;

		sn_form_print(form, text);
		if (*prefix && strncmp(text, prefix, strlen(prefix)) != 0)
			continue;
		asked++;
		if (sn_measure_form(machine, form, passes, &measured, &unable))
			continue;
		if (!done++ && !view)
			puts("form\tthroughput_cycles\tlatency_cycles");
		if (view)
			add_form(text, &measured, &table);
		else
			print_form(text, &measured);
	}
	if (!done)
		status = no_forms(prefix, machine, asked, &err);
	else if (view)
		status = sn_table_write(&table, view, stdout, NULL, NULL, &err);
	sn_table_free(&table);
	return status ? sn_error_print(&err) : SN_EXIT_OK;
}

static const struct sn_column memory_columns[] = {
	{ "level", "level", SN_CELL_TEXT, 0 },
	{ "working_set_bytes", "working set", SN_CELL_INT, 0 },
	{ "unit_bytes_per_cycle", "bytes/cycle, stride 1", SN_CELL_REAL, 2 },
	{ "line_bytes_per_cycle", "one load a line", SN_CELL_REAL, 2 },
	{ "copy_bytes_per_cycle", "copy", SN_CELL_REAL, 2 },
	{ "latency_cycles", "latency in cycles", SN_CELL_REAL, 1 },
	{ "stride_128_cycles", "cycles an access, stride 128", SN_CELL_REAL, 1 },
	{ "stride_576_cycles", "576", SN_CELL_REAL, 1 },
	{ "stride_2112_cycles", "2112", SN_CELL_REAL, 1 },
	{ "stride_4096_cycles", "4096", SN_CELL_REAL, 1 },
	{ "random_cycles", "random", SN_CELL_REAL, 1 },
	{ "store_bytes_per_cycle", "stores, bytes/cycle", SN_CELL_REAL, 2 },
	{ "past_caches_bytes_per_cycle", "non-temporal bytes/cycle", SN_CELL_REAL, 2 },
};

static void print_core(const struct sn_core_profile *core)
{
	struct sn_machine *machine = NULL;
	const struct sn_machine *known = NULL;
	struct sn_error err = { 0 };
	const char *native = sn_machine_processor_name();
	size_t changed = 0;

	/* a copy of its own: the rows are not kept */
	if (native && !sn_machine_find(native, &known, &err)) {
		machine = sn_alloc_zeroed(1, sizeof(*machine));
		*machine = *known;
		machine->rows.items = sn_alloc(known->rows.count * sizeof(*known->rows.items));
		memcpy(machine->rows.items, known->rows.items,
		       known->rows.count * sizeof(*known->rows.items));
		changed = sn_core_profile_apply(core, machine);
		free(machine->rows.items);
		free(machine);
	}
	printf("loop buffer: %s; %zu instruction forms measured, %zu of them other than the model "
	       "has it\n",
	       core->loop_buffer == SN_LOOP_BUFFER_ON ? "on" : "none or off", core->forms.count,
	       changed);
}

static void print_settled(const struct sn_calibration *c)
{
	const struct sn_settled *core = &c->core_settled, *memory = &c->memory_settled;

	if (core->unstable)
		printf("%zu forms were not stable: %zu keep the figure of the profile before, %zu "
		       "that of the model\n",
		       core->unstable, core->kept, core->unstable - core->kept);
	if (memory->unstable)
		printf("%zu figures of memory were not stable: %zu keep that of the profile "
		       "before, %zu are the middle of %zu measurements\n",
		       memory->unstable, memory->kept, memory->unstable - memory->kept,
		       c->measured_count);
	if (core->unstable || memory->unstable)
		puts("the machine was busy; 'sonde calibrate' on a quiet one measures them");
}

static void settled_write(struct sn_json *json, void *context)
{
	const struct sn_calibration *c = context;

	sn_json_member_uint(json, "forms", c->core.forms.count);
	sn_json_member_uint(json, "forms_unstable", c->core_settled.unstable);
	sn_json_member_uint(json, "forms_kept", c->core_settled.kept);
	sn_json_member_uint(json, "memory_unstable", c->memory_settled.unstable);
	sn_json_member_uint(json, "memory_kept", c->memory_settled.kept);
}

static void add_level(struct sn_table *table, const struct sn_memory_level *level)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, level->name);
	sn_table_set_int(table, 1, (int64_t)level->working_set_bytes);
	sn_table_set_real(table, 2, level->unit_bytes_per_cycle);
	sn_table_set_real(table, 3, level->line_bytes_per_cycle);
	sn_table_set_real(table, 4, level->copy_bytes_per_cycle);
	sn_table_set_real(table, 5, level->latency_cycles);
	for (unsigned k = 0; k < SN_MEMORY_STRIDES; k++)
		sn_table_set_real(table, 6 + k, level->stride_cycles[k]);
	sn_table_set_real(table, 6 + SN_MEMORY_STRIDES, level->random_cycles);
	sn_table_set_real(table, 7 + SN_MEMORY_STRIDES, level->store_bytes_per_cycle);
	sn_table_set_real(table, 8 + SN_MEMORY_STRIDES, level->past_caches_bytes_per_cycle);
}

static sn_status calibration_print(const struct sn_calibration *c, struct sn_table_view *view,
				   const char *path, struct sn_error *err)
{
	struct sn_calibration *context = (struct sn_calibration *)(uintptr_t)c;
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, memory_columns, sizeof(memory_columns) / sizeof(*memory_columns));
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++)
		add_level(&table, &c->memory.levels[i]);
	status = sn_table_write(&table, view, stdout, settled_write, context, err);
	sn_table_free(&table);
	if (view->format == SN_FORMAT_TEXT) {
		print_core(&c->core);
		print_settled(c);
		printf("written to %s\n", path);
	}
	return status;
}

/* ---- roofs ---- */

static const struct sn_column roof_columns[] = {
	{ "kind", "roof", SN_CELL_TEXT, 0 },	  { "level", "level", SN_CELL_TEXT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 }, { "value", "a second", SN_CELL_RATE, 0 },
	{ "low", "low", SN_CELL_RATE, 0 },	  { "high", "high", SN_CELL_RATE, 0 },
	{ "unit", "unit", SN_CELL_TEXT, 0 },	  { "state", "state", SN_CELL_TEXT, 0 },
};

static void add_roof(struct sn_table *table, const struct sn_roof *roof)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, sn_roof_kind_names[roof->kind]);
	if (sn_roof_level_name(roof))
		sn_table_set_text(table, 1, sn_roof_level_name(roof));
	sn_table_set_int(table, 2, roof->threads);
	sn_table_set_real(table, 3, roof->value);
	sn_table_set_real(table, 4, roof->low);
	sn_table_set_real(table, 5, roof->high);
	sn_table_set_text(table, 6, sn_roof_level_name(roof) ? "B/s" : "FLOP/s");
	sn_table_set_text(table, 7, sn_roof_state_names[roof->state]);
}

static sn_status roofs_print(const struct sn_roofs *roofs, enum sn_format format,
			     struct sn_error *err)
{
	struct sn_table_view view = { .format = format, .schema = "sonde.calibrate-roofs/1" };
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, roof_columns, sizeof(roof_columns) / sizeof(*roof_columns));
	for (size_t i = 0; i < roofs->items.count; i++)
		add_roof(&table, &roofs->items.items[i]);
	status = sn_table_write(&table, &view, stdout, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

/* Measures and writes them; the caller frees. A file that is damaged is written anew. */
static sn_status roofs_measure(struct sn_roofs *roofs, char **path, struct sn_error *err)
{
	struct sn_roofs older;
	struct sn_error none;
	sn_status status;

	*path = sn_roofs_path();
	memset(roofs, 0, sizeof(*roofs));
	status = sn_memory_profile_check_writable(*path, err);
	if (!status) {
		bool has_older = !sn_roofs_read(*path, &older, &none);

		status = sn_roofs_measure(roofs, has_older ? &older : NULL, err);
		sn_roofs_free(&older);
	}
	return status ? status : sn_roofs_write(roofs, *path, err);
}

static int run_roofs(enum sn_format format)
{
	struct sn_roofs roofs;
	struct sn_error err = { 0 };
	char *path;
	sn_status status = roofs_measure(&roofs, &path, &err);

	if (!status)
		status = roofs_print(&roofs, format, &err);
	if (!status && format == SN_FORMAT_TEXT) {
		if (roofs.was_busy)
			puts("the machine was busy: for most of the time others had its CPUs");
		printf("written to %s\n", path);
	}
	free(path);
	sn_roofs_free(&roofs);
	return status ? sn_error_print(&err) : SN_EXIT_OK;
}

/* The whole machine: memory and core, written as the profile that the model reads. */
static int run_machine(const struct sn_args *args, const struct sn_machine *machine)
{
	struct sn_calibration *c = sn_alloc_zeroed(1, sizeof(*c));
	struct sn_table_view view = { .schema = "sonde.calibrate/2" };
	struct sn_error err = { 0 };
	char *path = sn_memory_profile_path(), *roofs_path = NULL;
	struct sn_roofs roofs = { 0 };
	sn_status status = sn_format_parse(sn_args_value(args, "format"), &view.format, &err);

	/* half a minute of measurements is not to be lost */
	if (!status)
		status = sn_memory_profile_check_writable(path, &err);
	if (!status)
		status = sn_calibration_measure(c, machine, path, &err);
	if (!status)
		status = sn_memory_profile_write(&c->memory, &c->core, path, &err);
	if (!status)
		status = roofs_measure(&roofs, &roofs_path, &err);
	if (!status)
		status = calibration_print(c, &view, path, &err);
	if (!status && view.format == SN_FORMAT_TEXT) {
		puts("");
		status = roofs_print(&roofs, view.format, &err);
		printf("written to %s\n", roofs_path);
	}
	free(path);
	free(roofs_path);
	sn_roofs_free(&roofs);
	sn_calibration_free(c);
	free(c);
	return status ? sn_error_print(&err) : SN_EXIT_OK;
}

static sn_status check_choice(const struct sn_args *args, struct sn_error *err)
{
	static const char *const ways[] = { "block", "blocks", "forms" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (!sn_args_value(args, ways[i]))
			continue;
		if (first)
			return sn_error_set(err, SN_ERR_USAGE,
					    "calibrate: --%s and --%s do not go together", first,
					    ways[i]);
		first = ways[i];
	}
	if (sn_args_flag(args, "roofs") && first)
		return sn_error_set(err, SN_ERR_USAGE,
				    "calibrate: --roofs and --%s do not go together", first);
	if (sn_args_flag(args, "unrolled") && (!first || strcmp(first, "forms") == 0))
		return sn_error_set(err, SN_ERR_USAGE,
				    "calibrate: --unrolled says how --block or --blocks is meant");
	return SN_OK;
}

static int calibrate_run(const struct sn_args *args)
{
	const char *hex = sn_args_value(args, "block"), *file = sn_args_value(args, "blocks");
	const char *format_name = sn_args_value(args, "format");
	bool is_unrolled = sn_args_flag(args, "unrolled");
	const struct sn_machine *machine;
	struct sn_table_view view = { .schema = "sonde.calibrate-forms/1" };
	struct sn_error err = { 0 };
	enum sn_format format;
	long long passes;

	if (check_choice(args, &err) || sn_format_parse(format_name, &format, &err) ||
	    sn_args_integer(args, "passes", 5, &passes, &err))
		return sn_error_print(&err);
	if (passes < 2 || passes > SN_TIMING_PASSES_MAX) {
		sn_error_set(&err, SN_ERR_USAGE, "calibrate: --passes takes 2 to %d",
			     SN_TIMING_PASSES_MAX);
		return sn_error_print(&err);
	}
	machine = any_machine(&err);
	if (!machine)
		return sn_error_print(&err);
	view.format = format;
	if (hex)
		return run_block(hex, machine, is_unrolled, (unsigned)passes, format);
	if (sn_args_value(args, "forms"))
		return run_forms(sn_args_value(args, "forms"), machine, (unsigned)passes,
				 format_name ? &view : NULL);
	if (sn_args_flag(args, "roofs"))
		return run_roofs(format);
	if (file)
		return run_file(file, machine, is_unrolled, (unsigned)passes,
				format_name ? format : SN_FORMAT_JSONL);
	return run_machine(args, machine);
}

static const struct sn_option calibrate_options[] = {
	{ "block", 'b', "HEX", "time one block given as hex bytes", NULL },
	{ "blocks", 'B', "FILE",
	  "time each block of a file (-: standard input), one a line; prints jsonl "
	  "unless --format says",
	  NULL },
	{ "forms", 'F', "PREFIX",
	  "measure throughput and latency of the instruction forms that begin so (all: \"\")",
	  NULL },
	{ "roofs", 'R', NULL,
	  "measure the roofs alone: peaks of arithmetic and bandwidths, a second", NULL },
	{ "unrolled", 'u', NULL, "blocks are repeated end to end, without a branch", NULL },
	{ "passes", 'p', "N", "measure N times and keep the lowest; 5 unless said", NULL },
	{ "format", 'f', "FORMAT", "how to print: text, csv, json or jsonl",
	  "text|csv|json|jsonl" },
	{ 0 },
};

static const char *const calibrate_examples[] = {
	"sonde calibrate",
	"measures the memory of this machine for the estimates of sonde cqa",
	"sonde calibrate --block 4801c049ffcf75f8",
	"measures the cycles of one iteration of a loop body on this machine",
	NULL,
};

const struct sn_command sn_command_calibrate = {
	.name = "calibrate",
	.operands = "",
	.summary = "Measures this machine: code given as bytes, latencies, bandwidths",
	.description =
		"Measures this machine in core cycles, without hardware counters. Without options: "
		"bandwidth and latency of each cache level and of RAM, times of some hundred "
		"instruction forms, and whether loops are replayed from a buffer, written to "
		"~/.config/sonde/machine.tsv, where 'sonde cqa' finds them. Figures that do not "
		"become stable keep those of the profile before, or of the model; how many is "
		"said. Then the roofs, which 'sonde show roofline' needs: peaks of floating-point "
		"arithmetic and bandwidths a second, of one thread and of one on every CPU, "
		"written to roofs.tsv beside it.\n\n"
		"A block is a loop body that ends in its conditional branch back to byte 0, or "
		"with --unrolled code that is repeated end to end. It runs in a child that may do "
		"nothing but compute: system calls, interrupts and privileged instructions are "
		"refused, memory that it touches is given to it, and it is stopped if it does not "
		"end. The result is stable if the two lowest passes, or more than half, agree within 5 %.",
	.options = calibrate_options,
	.examples = calibrate_examples,
	.run = calibrate_run,
};
