/* The options of a recording, as the runtime is told them. */
#include "record/settings.h"

#include "wire/kinds.h"
#include "wire/plan.h"
#include "wire/settings.h"

/* A run of 10 s may cost 1 %: 0.25 s at 1 kHz is a twentieth of that, and short programs have as many
 * samples as ever. */
enum { BURST_NS = 250000000 };

/* How many loops the runtime must have room for, whichever library comes later. */
static void plans_add(const struct sn_record_options *o, struct sn_text *text)
{
	unsigned kinds = 0;
	uint64_t loops = 0;

	for (size_t i = 0; i < o->plan_count; i++) {
		struct sn_plan plan;

		if (!sn_plan_read(o->plans[i].bytes, o->plans[i].length, &plan))
			continue;
		loops += plan.header->loop_count;
		if (!plan.header->loop_count)
			kinds |= SN_PLAN_HAS_POINT;
		for (uint32_t l = 0; l < plan.header->loop_count; l++) {
			if (plan.loops[l].code[SN_VARIANT_ORIG])
				kinds |= SN_PLAN_HAS_VARIANTS;
			if (plan.loops[l].recorder)
				kinds |= SN_PLAN_HAS_RECORDERS;
		}
	}
	sn_text_addf(text, "plans=%llu;plankinds=%u;every=%u;budget=%u;threads=%u;",
		     (unsigned long long)loops, kinds, o->every, o->budget_percent,
		     o->variant_threads);
}

void sn_settings_text(const struct sn_record_options *o, const char *folder, uint64_t later_ns,
		      struct sn_text *text)
{
	sn_text_addf(text, "%s=", SN_SETTINGS_VARIABLE);
	/* 1.0007 ms for 1 kHz: no program's own rhythm is likely to be in step with it. */
	sn_text_addf(text, "period=%llu;",
		     o->rate_hz > 0 ? (unsigned long long)(1000700000.0 / o->rate_hz) : 0ULL);
	if (later_ns)
		sn_text_addf(text, "later=%llu;burst=%d;", (unsigned long long)later_ns, BURST_NS);
	sn_text_addf(text, "packets=%lld;", (long long)(o->packets_s * 1e9));
	if (o->delay_s > 0 || o->starts_paused || o->is_monitored)
		sn_text_add(text, "paused=1;");
	if (o->is_monitored)
		sn_text_add(text, "monitor=1;");
	if (o->heap)
		sn_text_addf(text, "heap=%u;", o->heap);
	if (o->heap == SN_HEAP_SAMPLE)
		sn_text_addf(text, "heapint=%llu;", (unsigned long long)o->heap_interval_bytes);
	if (o->mpi)
		sn_text_add(text, "mpi=1;");
	if (o->has_sync)
		sn_text_addf(text, "sync=%d;",
			     o->sync_is_calibrated ? SN_SYNC_CALIBRATED : SN_SYNC_TRACE);
	if (o->has_sync && o->sync_min_us > 0)
		sn_text_addf(text, "syncmin=%llu;", (unsigned long long)(o->sync_min_us * 1e3));
	if (o->has_io)
		sn_text_addf(text, "io=%d;", o->io_is_sampled ? SN_IO_SAMPLE : SN_IO_TRACE);
	if (o->has_openmp)
		sn_text_add(text, "omp=1;");
	if (o->counters.count) {
		sn_text_add(text, "counters=");
		sn_counters_add_text(&o->counters, text);
		sn_text_add(text, ";");
	}
	if (o->follow[0] == '=')
		sn_text_addf(text, "follow=regex;regex=%s;", o->follow + 1);
	else
		sn_text_addf(text, "follow=%s;", o->follow);
	if (o->plan_count)
		plans_add(o, text);
	if (o->steer)
		sn_text_add(text, "causal=1;");
	sn_text_addf(text, "dir=%s", folder);
}
