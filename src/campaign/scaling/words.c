/* Scalability in words. */
#include "campaign/scaling/words.h"

#include <math.h>

static const double GOOD = 0.9, BUSY = 0.2;

/* The smaller of work and balance says where the loss is. */
const char *sn_scaling_reason(const struct sn_scaling_row *row)
{
	if (row->configuration == row->reference || !(row->efficiency < GOOD))
		return NULL;
	if (row->wait_cpu_share > BUSY)
		return "waiting for CPUs";
	if (!isnan(row->load_balance)) {
		if (row->load_balance <= row->communication &&
		    row->load_balance <= row->computation)
			return "load balance";
		return row->communication <= row->computation
			       ? "waiting and communication"
			       : "more CPU time: contention or more work";
	}
	if (row->balance < row->work)
		return row->balance * row->workers < 1.2 ? "one worker does nearly all"
							 : "workers are uneven";
	return "more CPU time: contention or more work";
}

void sn_scaling_add_law(const struct sn_fit *f, struct sn_text *out)
{
	if (!f->model) {
		sn_text_add(out, f->reason);
		return;
	}
	sn_text_addf(out, "%s; efficiency below 0.8 ", f->model);
	if (isnan(f->workers_80))
		sn_text_add(out, "nowhere up to 10^6");
	else
		sn_text_addf(out, "from %.0f", f->workers_80);
	if (!isnan(f->workers_50))
		sn_text_addf(out, ", below 0.5 from %.0f", f->workers_50);
	sn_text_addf(out, "; n %.0f: %.3g s (%.3g-%.3g), n %.0f: %.3g s (%.3g-%.3g)",
		     f->predicted[0].workers, f->predicted[0].time_s, f->predicted[0].low_s,
		     f->predicted[0].high_s, f->predicted[1].workers, f->predicted[1].time_s,
		     f->predicted[1].low_s, f->predicted[1].high_s);
}
