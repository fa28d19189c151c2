/* Rounds of measurements of all instruction forms, each of those that are not stable yet. */
#include "cqa/calibrate/measure_core.h"

#include <math.h>
#include <time.h>

#include "base/progress.h"
#include "cqa/calibrate/measure.h"

enum {
	BUFFER_TRIES = 3,	/* (chosen) */
	PROBE_REPETITIONS = 20, /* (chosen) */
};

static const uint64_t BUDGET_NS = 60000000000; /* no round begins after that */
static const uint64_t ROUND_NS = 1000000000;   /* so long at least, as neighbours come and go */

struct candidate {
	const struct sn_row *row;
	bool is_chain, is_stable;
	struct sn_settling settling;
	struct sn_form_timing timing;
};

struct core_work {
	const struct sn_machine *machine;
	SN_VEC(struct candidate) candidates;
	SN_VEC(double) probes;
	double best_probe_cycles; /* so far; NaN: unknown */
	struct sn_progress progress;
	uint64_t done;
};

/* Eight independent increments, which any core takes several at a time: slower where its other
 * thread is busy. */
static double probe_cycles(void)
{
	static const uint8_t increments[] = { 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc3, 0x48, 0xff,
					      0xc6, 0x48, 0xff, 0xc7, 0x49, 0xff, 0xc0, 0x49,
					      0xff, 0xc1, 0x49, 0xff, 0xc2, 0x49, 0xff, 0xc3 };
	struct sn_timing_request request;
	struct sn_error unable = { 0 };
	double cycles;

	sn_timing_request_init(&request, increments, sizeof(increments));
	request.repetitions = PROBE_REPETITIONS;
	return sn_timing_run(&request, &cycles, &unable) ? INFINITY : cycles;
}

/* False if the form cannot be measured here: this processor lacks it, or none can be encoded. */
static bool candidate_measure(struct core_work *work, struct candidate *c)
{
	struct sn_error unable = { 0 };
	struct sn_measured measured;
	double probe = probe_cycles();

	if (sn_measure_form(work->machine, c->row->form, 1, &measured, &unable))
		return false;
	c->is_chain = measured.is_chain;
	sn_vec_push(&work->probes, probe);
	sn_settling_add(&c->settling, measured.throughput_cycles,
			measured.is_chain ? measured.latency_cycles : NAN, probe);
	sn_progress_update(&work->progress, ++work->done);
	return true;
}

static void first_round(struct core_work *work)
{
	for (size_t i = 0; i < work->machine->rows.count; i++) {
		struct candidate c = { .row = &work->machine->rows.items[i] };

		if (sn_core_profile_wants(c.row) && candidate_measure(work, &c) &&
		    (c.is_chain || c.row->divider_cycles > 0))
			sn_vec_push(&work->candidates, c);
	}
}

/* Those that are not stable, by what the probe takes on a free core, as far as that is known now.
 */
static size_t unstable_count(struct core_work *work, const struct sn_core_profile *older)
{
	size_t count = 0;

	work->best_probe_cycles = sn_best_probe_cycles(work->probes.items, work->probes.count);
	if (older->probe_cycles > 0)
		work->best_probe_cycles = fmin(work->best_probe_cycles, older->probe_cycles);
	for (size_t i = 0; i < work->candidates.count; i++) {
		struct candidate *c = &work->candidates.items[i];

		c->is_stable =
			sn_settling_is_stable(&c->settling, work->best_probe_cycles, &c->timing);
		c->timing.form = c->row->form;
		count += !c->is_stable;
	}
	return count;
}

static void next_round(struct core_work *work)
{
	uint64_t begin_ns = sn_now_ns(), took_ns;

	for (size_t i = 0; i < work->candidates.count; i++)
		if (!work->candidates.items[i].is_stable)
			candidate_measure(work, &work->candidates.items[i]);
	took_ns = sn_now_ns() - begin_ns;
	if (took_ns < ROUND_NS)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(ROUND_NS - took_ns) }, NULL);
}

static struct sn_settled result_take(struct core_work *work, const struct sn_core_profile *older,
				     struct sn_core_profile *out)
{
	SN_VEC(sn_form) unstable = { 0 };
	struct sn_settled settled;

	for (size_t i = 0; i < work->candidates.count; i++) {
		if (work->candidates.items[i].is_stable)
			sn_vec_push(&out->forms, work->candidates.items[i].timing);
		else
			sn_vec_push(&unstable, work->candidates.items[i].row->form);
	}
	out->probe_cycles = isnan(work->best_probe_cycles) ? 0 : work->best_probe_cycles;
	settled = sn_core_profile_keep(unstable.items, unstable.count, older, out);
	sn_vec_free(&unstable);
	return settled;
}

/* A buffer that is on may look as if it were off while somebody else is on the core, never the
 * other way round. The probe asks about length-changing prefixes, which delay only decoders of
 * Intel. */
static sn_status loop_buffer_find(const struct sn_machine *machine, struct sn_core_profile *out,
				  struct sn_error *err)
{
	bool is_on = false;

	for (unsigned i = 0; i < BUFFER_TRIES && !is_on && machine->rules.loop_buffer_uops; i++) {
		sn_status status = sn_measure_loop_buffer(machine, &is_on, err);

		if (status)
			return status;
	}
	out->loop_buffer = is_on ? SN_LOOP_BUFFER_ON : SN_LOOP_BUFFER_OFF;
	return SN_OK;
}

sn_status sn_calibrate_core(const struct sn_machine *machine, const struct sn_core_profile *older,
			    struct sn_core_profile *out, struct sn_settled *settled,
			    struct sn_error *err)
{
	struct core_work work = { .machine = machine };
	uint64_t begin_ns = sn_now_ns();
	sn_status status = loop_buffer_find(machine, out, err);

	if (status)
		return status;
	sn_progress_begin(&work.progress, "measuring instruction forms", 0);
	first_round(&work);
	for (unsigned round = 1; round < SN_SETTLE_ROUNDS_MAX && unstable_count(&work, older);
	     round++) {
		if (sn_now_ns() - begin_ns > BUDGET_NS)
			break;
		next_round(&work);
	}
	unstable_count(&work, older);
	sn_progress_end(&work.progress);
	*settled = result_take(&work, older, out);
	sn_vec_free(&work.candidates);
	sn_vec_free(&work.probes);
	return SN_OK;
}
