/*
 * Evidence from counts of input and output: calls of the system that read or write files, and their bytes. They
 * count where the program called, and at the C library's function, whose time samples tell.
 */
#include "io/io.h"

#include <math.h>
#include <string.h>

#include "search/evidence/sources.h"

enum { CALLS, BYTES, COLUMNS };
static const char *const given[] = { [CALLS] = "io_calls", [BYTES] = "io_bytes", NULL };

/* Streams gather what they write: their calls are not the system's. */
static bool is_of_system(uint8_t operation)
{
	return operation <= SN_IO_SENDMSG;
}

/* "__libc_pwrite64" is "pwrite". */
static bool is_named(const char *name, const char *operation)
{
	size_t length = strlen(operation);

	while (*name == '_')
		name++;
	if (!strncmp(name, "libc_", 5))
		name += 5;
	return !strncmp(name, operation, length) && (!name[length] || !strcmp(name + length, "64"));
}

/* The C library's function of an operation; SN_ALL: no sample met it. */
static uint32_t function_region(const struct sn_recorded *r, uint8_t operation)
{
	const struct sn_program *program = r->profile->program;
	size_t regions = r->tables->members[SN_KEY_REGION].count;

	for (uint32_t g = 0; g < regions; g++) {
		const struct sn_program_function *f =
			r->region_functions[g] == SN_NONE
				? NULL
				: &program->functions.items[r->region_functions[g]];

		if (f && r->region_loops[g] == SN_NONE && f->module != SN_NONE &&
		    program->module_classes[f->module] == SN_MODULE_CLASS_LIBC &&
		    is_named(f->linkage_name, sn_io_operation_name(operation)))
			return g;
	}
	return SN_ALL;
}

/* NAN: exact */
static double error_of(double variance)
{
	return variance > 0 ? 1.96 * sqrt(variance) : NAN;
}

static void value_add(struct sn_recorded *r, struct sn_value *value, const uint32_t *columns,
		      const struct sn_io_path *path)
{
	value->column = columns[CALLS];
	value->value = (double)path->calls;
	value->error = error_of(path->calls_variance);
	sn_tables_add(r->tables, value);
	value->column = columns[BYTES];
	value->value = (double)path->bytes;
	value->error = error_of(path->bytes_variance);
	sn_tables_add(r->tables, value);
}

static void path_tell(struct sn_recorded *r, uint32_t source, const uint32_t *columns,
		      const uint32_t *functions, const struct sn_io_path *path)
{
	const struct sn_stack_facts *facts = &r->stacks[path->stack];
	struct sn_value value = { .source = source, .samples = NAN, .error = NAN };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_PROCESS] = r->process_members[path->process];
	value_add(r, &value, columns, path);
	for (uint32_t i = 0; i < facts->count; i++) {
		value.keys[SN_KEY_REGION] = r->stack_regions.items[facts->first + i];
		if (value.keys[SN_KEY_REGION] != functions[path->operation])
			value_add(r, &value, columns, path);
	}
	value.keys[SN_KEY_REGION] = functions[path->operation];
	if (value.keys[SN_KEY_REGION] != SN_ALL)
		value_add(r, &value, columns, path);
}

static void io_collect(struct sn_recorded *r)
{
	uint32_t columns[COLUMNS], functions[SN_IO_OPERATION_COUNT], source;
	struct sn_io *io = NULL;

	if ((!r->part && (r->profile->filter.from_ns || r->profile->filter.to_ns)) ||
	    sn_io_read_within(r->profile->program, &r->profile->filter.spans, &io, NULL) != SN_OK)
		return;
	source = sn_tables_source(r->tables, "io");
	for (int c = 0; io->is_traced && c < COLUMNS; c++) {
		columns[c] = sn_tables_column(r->tables, given[c], NULL);
		sn_tables_complete(r->tables, columns[c]);
	}
	for (unsigned o = 0; o < SN_IO_OPERATION_COUNT; o++)
		functions[o] = function_region(r, (uint8_t)o);
	for (size_t i = 0; io->is_traced && i < io->paths.count; i++) {
		const struct sn_io_path *path = &io->paths.items[i];

		if (path->is_file && is_of_system(path->operation) &&
		    r->process_members[path->process] != SN_ALL &&
		    path->stack < r->profile->program->stack_count)
			path_tell(r, source, columns, functions, path);
	}
	sn_io_free(io);
}

const struct sn_source sn_source_io = {
	.name = "io",
	.measures = "calls of the system that read or write files, and their bytes, exactly; where "
		    "they take much time by a sample, with an error",
	.needs = "a run that was recorded with --io",
	.is_cut_by_time = true,
	.trace = SN_TRACE_IO,
	.monitored = SN_MONITOR_IO,
	.costs = "a tenth of a microsecond for each call; of a sample some 5 ns",
	.option = "io",
	.has_counts = true,
	.gives = given,
	.collect = io_collect,
};
