/* The list of sources: a source is a file and a line here. */
#include <string.h>

#include "search/evidence/sources.h"

extern const struct sn_source sn_source_samples, sn_source_waits, sn_source_kernel,
	sn_source_static, sn_source_heap, sn_source_mpi, sn_source_io, sn_source_caches,
	sn_source_openmp, sn_source_locks, sn_source_counters, sn_source_variants,
	sn_source_instances;

const struct sn_source *const sn_sources[] = { &sn_source_samples,   &sn_source_waits,
					       &sn_source_kernel,    &sn_source_static,
					       &sn_source_heap,	     &sn_source_mpi,
					       &sn_source_io,	     &sn_source_caches,
					       &sn_source_openmp,    &sn_source_locks,
					       &sn_source_counters,  &sn_source_variants,
					       &sn_source_instances, NULL };

/* NULL: this metric takes what others do. */
static const char *needs_of(const struct sn_source *source, const char *metric)
{
	for (const char *const *pair = source->needs_of; pair && *pair; pair += 2)
		if (!strcmp(pair[0], metric))
			return pair[1];
	return NULL;
}

static bool has_name(const char *const *names, const char *name)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

static bool gives(const struct sn_source *source, const char *metric)
{
	return !source->gives || has_name(source->gives, metric);
}

uint32_t sn_source_bit(const char *name, const char *metric)
{
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (!strcmp(sn_sources[i]->name, name))
			return gives(sn_sources[i], metric) ? 1u << i : 0;
	return 0;
}

uint32_t sn_source_own_bit(const struct sn_source *source)
{
	uint32_t i = 0;

	while (sn_sources[i] && sn_sources[i] != source)
		i++;
	return sn_sources[i] ? 1u << i : 0;
}

static bool is_above_one(const struct sn_tables *tables, const char *metric)
{
	uint32_t column = sn_tables_find_column(tables, metric, NULL);

	if (!sn_tables_has_column(tables, column))
		return false;
	for (size_t i = 0; i < tables->columns.items[column].values.count; i++)
		if (tables->values.items[tables->columns.items[column].values.items[i]].value > 1)
			return true;
	return false;
}

uint32_t sn_sources_wanted(const struct sn_tables *tables)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sn_sources[i]->is_wanted && (!sn_sources[i]->wanted_with ||
						 is_above_one(tables, sn_sources[i]->wanted_with)))
			bits |= 1u << i;
	return bits;
}

/* (chosen) A program that is slowed to half may do something else, and so count something else. */
static const double counts_times = 10;

double sn_source_cost_most(const struct sn_source *source, double budget)
{
	return source->has_counts ? budget * counts_times : budget;
}

/* What a source that a metric names does not tell, and what does: "which ...". */
static const struct {
	const char *metric, *words;
} untold[] = {
	{ "atomics",
	  "cannot count them: an atomic update is an instruction of the program's own, and calls no runtime ('sonde "
	  "show source' has the CPU time at its line)" },
	{ "atomic_time",
	  "cannot time them: an atomic update is an instruction of the program's own, and calls no runtime "
	  "('sonde show source' has the CPU time at its line)" },
	{ "task_overhead",
	  "does not time how a task is made and begun ('sonde show openmp' has how many there are and how "
	  "long one runs: below some microseconds they are too fine)" },
	{ "network_peak",
	  "would have to know the bandwidth of the network between hosts, which nothing on this machine can "
	  "measure (a file of --properties can state it, and 'sonde show messages' has what messages "
	  "reached)" },
	{ "large_message_time", "has it by message alone ('sonde show messages')" },
	{ "large_message_bytes", "has them by message alone ('sonde show messages')" },
	{ "eager_messages",
	  "would have to know the eager limit of the MPI library, which each of its transports has for "
	  "itself ('ompi_info --all' tells it, and 'sonde show messages' has the sizes)" },
	{ "remote_misses",
	  "would have to know the memory node of each page when it was accessed, which no trace has "
	  "('numastat -p' tells where a process's pages lie)" },
	{ "remote_penalty", "would take a machine with several memory nodes" },
};

static const char *words_untold(const char *metric)
{
	for (size_t i = 0; i < sizeof(untold) / sizeof(*untold); i++)
		if (!strcmp(untold[i].metric, metric))
			return untold[i].words;
	return "does not tell it";
}

const char *sn_source_none(const char *name, const char *metric)
{
	uint32_t bit = sn_source_bit(name, metric);
	const struct sn_source *source = bit ? sn_sources[__builtin_ctz(bit)] : NULL;

	return source && (!source->none_of || has_name(source->none_of, metric)) ? source->none
										 : NULL;
}

/* NULL: nothing keeps it from the metric for that. */
static const char *why_cut(const struct sn_source *source, const char *metric,
			   const struct sn_evidence_case *in)
{
	if (in->of == SN_OF_PHASE && has_name(source->of_whole_runs, metric))
		return "tells this of whole runs, and not of executions of a phase";
	if (in->is_cut_by_time && source->is_cut_by_time)
		return "tells nothing of a run that is filtered by time";
	if (in->is_cut_by_code && source->is_cut_by_code)
		return "tells nothing of a run that is filtered by code";
	if (in->tables && in->tables->phase_s < SN_GROWTH_LEAST_S &&
	    has_name(source->of_long_runs, metric))
		return "needs a run of 2 s at least";
	return NULL;
}

/* Of what a search could measure while the program ran, or in further starts; NULL: it could not. */
static const char *why_unmeasured(const struct sn_source *source, uint32_t bit, const char *metric,
				  const struct sn_evidence_case *in)
{
	if (in->of == SN_OF_RECORD || !source->option)
		return NULL;
	if (source->of_starts && !has_name(source->of_starts, metric))
		return NULL;
	if (in->of == SN_OF_PHASE && source->monitored)
		return "found no further execution to be traced in";
	if (in->offered & bit)
		return "got no start of its own (--restarts and --max-time bound them)";
	if (in->of == SN_OF_PHASE)
		return in->has_agents ? "is not measured with --agents"
				      : "needs a start of its own (--restarts 1)";
	return "is not measured where other hosts run the program";
}

void sn_source_requirement_add(struct sn_text *out, const char *name, const char *metric,
			       const struct sn_evidence_case *in)
{
	uint32_t bit = sn_source_bit(name, metric);
	const struct sn_source *source = bit ? sn_sources[__builtin_ctz(bit)] : NULL;
	const char *why = source ? why_cut(source, metric, in) : words_untold(metric);
	const char *needs = source ? needs_of(source, metric) : NULL;

	if (!why && !needs && source->option && in->tables &&
	    sn_tables_has_source(in->tables, name))
		why = "was recorded, and has no value of this";
	if (!why && in->of == SN_OF_PHASE && source->needs_of_phase)
		needs = source->needs_of_phase;
	else if (!why)
		why = why_unmeasured(source, bit, metric, in);
	if (why)
		sn_text_add(out, why);
	else
		sn_text_addf(out, "needs %s", needs ? needs : source->needs);
}
