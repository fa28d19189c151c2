/* How it is told that loops wait for their data, or that this cannot be told. */
#include <math.h>

#include "views/summary/verdict_parts.h"

static double percent(double part, double whole)
{
	return whole > 0 ? fmin(100, 100 * part / whole) : 0;
}

void sn_verdict_data_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "Memory-bound in %zu loop%s", e->data.count,
		     e->data.count > 1 ? "s" : "");
	sn_verdict_add_worker(e, out);
	sn_text_add(out, ": ");
	sn_verdict_add_hot(out, &e->data.top[0]);
	sn_text_addf(out, " takes %.1f %% of CPU time, most of it waiting for data",
		     percent(e->data.top[0].seconds, e->cpu_s));
}

void sn_verdict_data_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "%.1f %% of CPU time waits for data in ",
		     percent(e->data.seconds, e->cpu_s));
	sn_verdict_add_list(e, &e->data, e->data.count, out);
	if (e->data_dl1.times > 0) {
		sn_text_addf(
			out,
			": with data in first-level cache the first would be %.2f times as fast "
			"(95 %%: %.2f-%.2f, measured)",
			e->data_dl1.times, e->data_dl1.range.low, e->data_dl1.range.high);
		return;
	}
	if (e->data_list_cycles > 0) {
		sn_text_addf(
			out,
			": the first follows a list, one load after the other; an iteration takes "
			"%.0f cycles (measured), with data in first-level cache %.1f by the model",
			e->data_list_cycles, e->data_near_cycles);
		return;
	}
	sn_text_addf(
		out,
		": a pass of the first takes %.3g ns, with data in L1 %.3g cycles by the model; "
		"its data lie in %.3g MB or more",
		e->data_pass_ns, e->data_near_cycles, e->data_spread_bytes / 1e6);
}

void sn_verdict_data_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	(void)cause;
	if (e->hint && e->hint_is_of_data) {
		sn_text_add(out, e->hint);
		return;
	}
	sn_text_add(out, "Fewer or nearer data: smaller types, blocks that fit a cache, another "
			 "order of loops or elements; of chains of pointers, several at a time");
}

void sn_verdict_unsettled_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
				 struct sn_text *out)
{
	(void)e;
	(void)cause;
	sn_text_add(out, "To settle it, run it on data that fit the cache: if the work for each "
			 "element gets cheaper, it waited for memory (or count cache misses by "
			 "perf, where the machine has counters)");
}
