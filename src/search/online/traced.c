/* Traces in a search with a phase: all of them from the program's start, as none can begin in the middle of messages. */
#include "search/online/traced.h"

#include <math.h>

#include "base/text.h"
#include "profile/category.h"
#include "record/target.h"
#include "search/online/libraries.h"
#include "trace/trace.h"
#include "wire/settings.h"

void sn_traced_add(const char *program, struct sn_record_options *record)
{
	struct sn_target target = { 0 };
	sn_strings libraries = { 0 };
	struct sn_error err;

	if (sn_target_find(program, &target, &err) != SN_OK)
		return; /* which starting it will tell */
	sn_libraries_list(target.path, &libraries);
	for (size_t i = 0; i < libraries.count; i++) {
		const struct sn_module module = { .kind = SN_MODULE_FILE,
						  .name = sn_base_name(libraries.items[i]),
						  .path = libraries.items[i] };
		enum sn_module_class class = sn_module_class_of(&module);

		record->has_openmp |= class == SN_MODULE_CLASS_OPENMP;
		record->mpi |= class == SN_MODULE_CLASS_MPI;
	}
	sn_vec_free_owned(&libraries);
}

/* To trace a call takes 4 times as long as the call, at least (15 to 25 ns against 100): docs/method/heap.md. */
static const double trace_times = 4;
/* (chosen) What is below is no churn that matters. */
static const double churn_least = 0.05;
/* (chosen) 100 MB a second are some 1,500 blocks that are met, of 1 us each. */
static const uint64_t sample_interval_bytes = 1 << 16;

void sn_traced_heap_bound(struct sn_record_options *record, double heap_share, double budget)
{
	if (heap_share * trace_times <= budget)
		return;
	record->heap = SN_HEAP_SAMPLE;
	record->heap_interval_bytes = sample_interval_bytes;
}

/* To trace a call takes a fifth of the cheapest call of the system: 28 ns of 140 (write to /dev/null, AMD Zen 5). */
static const double io_trace_times = 0.2;

void sn_traced_io_bound(struct sn_record_options *record, double io_share, double budget)
{
	record->io_is_sampled = io_share * io_trace_times > budget;
}

double sn_traced_cpu_share(struct sn_tables *tables, const char *metric)
{
	uint32_t column = sn_tables_find_column(tables, metric, NULL);
	uint32_t cpu = sn_tables_find_column(tables, "cpu", NULL);
	double metric_s = 0, cpu_s = 0;

	for (size_t i = 0; i < tables->values.count; i++) {
		const struct sn_value *v = &tables->values.items[i];

		if (v->keys[SN_KEY_REGION] != SN_ALL)
			continue;
		metric_s += v->column == column ? v->value : 0;
		cpu_s += v->column == cpu ? v->value : 0;
	}
	return cpu_s > 0 ? metric_s / cpu_s : 0;
}

void sn_traced_add_switched(struct sn_record_options *record, double budget)
{
	record->has_io = true;
	sn_traced_io_bound(record, 1, budget); /* all of its time may go there */
	record->has_sync = true;
	record->heap = SN_HEAP_TRACE;
	sn_traced_heap_bound(record, churn_least, budget);
}

/* What no other source has: the software's events are others' values, too. */
sn_status sn_traced_counters_add(struct sn_record_options *record, struct sn_error *err)
{
	return sn_counters_read("cycles,stalled-cycles-backend", &record->counters, err);
}

uint32_t sn_traced_switched(void)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sn_sources[i]->monitored)
			bits |= 1u << i;
	return bits;
}

uint32_t sn_traced_requests(uint32_t sources)
{
	uint32_t requests = 0;

	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sources & 1u << i && sn_sources[i]->monitored)
			requests |= 1u << sn_sources[i]->monitored;
	return requests;
}

static struct sn_trace_instant begin_of(const struct sn_trace_item *item)
{
	return (struct sn_trace_instant){ item->piece->base_tsc, item->piece->base_ns };
}

static double overhead_ns(const struct sn_experiment *e, unsigned kind)
{
	struct sn_trace_pieces pieces;
	double sum = 0;

	if (sn_trace_pieces_open(&pieces, e, (enum sn_trace_kind)kind, begin_of, NULL) != SN_OK)
		return 0;
	for (uint32_t p = 0; p < e->processes.count; p++)
		sum += fmax(0, (double)sn_trace_overhead_ns(&pieces, p));
	sn_trace_pieces_close(&pieces);
	return sum;
}

/* In windows, which are all that is sampled; of MPI in the whole run. */
static double cpu_ns(const struct sn_experiment *e, unsigned kind)
{
	double sum = 0, whole = 0;

	for (size_t i = 0; i < e->samples.count; i++)
		sum += (double)e->samples.items[i].cpu_ns;
	for (size_t t = 0; kind == SN_TRACE_MPI && t < e->threads.count; t++) {
		const struct sn_time_account *a = &e->threads.items[t].account;

		whole += a->user_ns >= 0 && a->system_ns >= 0 ? (double)(a->user_ns + a->system_ns)
							      : 0;
	}
	return fmax(sum, whole);
}

double sn_traced_share(const struct sn_experiment *e, const struct sn_source *source)
{
	double cpu = source->trace == SN_TRACE_ACCOUNT ? 0 : cpu_ns(e, source->trace);

	return cpu > 0 ? fmin(1, overhead_ns(e, source->trace) / cpu) : 0;
}
