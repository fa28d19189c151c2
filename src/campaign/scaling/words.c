/* Scalability in words. */
#include "campaign/scaling/words.h"

#include <math.h>
#include <string.h>

/* Efficiency or a factor of it from here on loses nothing worth a word. */
static const double GOOD = 0.9;
/* Of the workers' time: what waited more than that for a CPU was measured on a busy machine; less than
 * the second is no matter. */
static const double BUSY = 0.2, HARDLY_BUSY = 0.05;
/* Half widths of the efficiency's interval, against the efficiency. */
static const double WIDE = 0.5, NARROW = 0.1;
/* Of the CPU time: laws of less are not told to people (chosen). */
static const double LAW_SHARE = 0.01;

/* Chosen: threads that spin for so much of their CPU time lose as much of what they would bring. */
static const double MANY_TURNS = 0.1;

/* ---- reasons ---- */

struct cause {
	double factor;
	enum { UNEVEN, APART, MORE_WORK } what;
};

static void uneven_add(const struct sn_scaling_row *row, struct sn_text *out)
{
	double idle = round(row->idle_workers);

	if (idle >= 1)
		sn_text_addf(out, "%.0f of %.0f workers had next to no work", idle, row->workers);
	else
		sn_text_add(out, "load balance: workers are uneven");
}

static void cause_add(const struct sn_scaling_row *row, const struct cause *cause,
		      struct sn_text *out)
{
	sn_text_add(out, out->length ? "; " : "");
	if (cause->what == UNEVEN)
		uneven_add(row, out);
	else if (cause->what == MORE_WORK)
		sn_text_add(out, "more CPU time: contention or more work");
	else if (isnan(row->waiting_part))
		sn_text_add(out, "waiting");
	else
		sn_text_add(out, row->waiting_part >= 0.5
					 ? "waiting for CPUs"
					 : "waiting for others, or input and output");
}

/* Factors whose product is the efficiency, from the least on. */
static void application_reason(const struct sn_scaling_row *row, struct sn_text *out)
{
	struct cause causes[] = { { row->load_balance, UNEVEN },
				  { row->communication, APART },
				  { row->computation, MORE_WORK } };
	struct sn_text text = { 0 };

	for (int done = 0; done < 3; done++) {
		struct cause *least = &causes[0];

		for (int i = 1; i < 3; i++)
			if (causes[i].factor < least->factor)
				least = &causes[i];
		if (!(least->factor < GOOD))
			break;
		cause_add(row, least, &text);
		least->factor = INFINITY;
	}
	/* three small losses */
	sn_text_add(out, text.length ? text.chars : "a little of each factor");
	if (row->turns && row->turns_share >= MANY_TURNS)
		sn_text_addf(out, "; %.0f %% of CPU time spins for the %s", 100 * row->turns_share,
			     row->turns);
	sn_text_free(&text);
}

void sn_scaling_add_reason(const struct sn_scaling_row *row, struct sn_text *out)
{
	if (row->configuration == row->reference || !(row->efficiency < GOOD))
		return;
	if (row->kind == SN_SCALING_APPLICATION)
		application_reason(row, out);
	else if (!(row->balance < row->work))
		sn_text_add(out, "more CPU time: contention or more work");
	else
		sn_text_add(out, row->balance * row->workers < 1.2 ? "one worker does nearly all"
								   : "workers are uneven");
}

/* ---- how sure ---- */

const char *sn_scaling_confidence(const struct sn_scaling_row *row)
{
	bool is_elapsed = row->kind == SN_SCALING_APPLICATION;
	double half = (row->interval.high - row->interval.low) / 2 / row->efficiency;

	/* CPU time is the program's own on a busy machine, too, but for shared caches and clocks */
	if (row->reference_wait_share > BUSY && is_elapsed)
		return "low";
	if (isnan(row->efficiency) || !(half <= WIDE))
		return "low";
	if (row->reference_wait_share > (is_elapsed ? HARDLY_BUSY : BUSY) || half > NARROW)
		return "medium";
	return "high";
}

/* ---- sentences ---- */

static bool is_application(const struct sn_scaling *scaling, size_t i)
{
	return i < scaling->rows.count && scaling->rows.items[i].kind == SN_SCALING_APPLICATION;
}

bool sn_scaling_is_flat(const struct sn_scaling *scaling)
{
	const struct sn_scaling_row *rows = scaling->rows.items;

	for (size_t i = 0; is_application(scaling, i); i++)
		for (size_t k = 0; is_application(scaling, k); k++)
			if (rows[k].configuration == rows[i].reference &&
			    rows[k].workers != rows[i].workers)
				return false;
	return true;
}

const char *sn_scaling_law_series(const struct sn_scaling *scaling,
				  const struct sn_scaling_fit *fit)
{
	for (size_t i = 0; fit->series && i < scaling->fits.count; i++)
		if (scaling->fits.items[i].series &&
		    strcmp(scaling->fits.items[i].series, fit->series) != 0)
			return fit->series;
	return NULL;
}

static bool have_as_many_workers(const struct sn_scaling *scaling)
{
	for (size_t i = 1; is_application(scaling, i); i++)
		if (scaling->rows.items[i].workers != scaling->rows.items[0].workers)
			return false;
	return true;
}

static void flat_add(const struct sn_scaling *scaling, size_t *at, struct sn_text *out)
{
	double workers = scaling->rows.items[0].workers;

	while (is_application(scaling, *at))
		++*at;
	if (have_as_many_workers(scaling))
		sn_text_addf(out, "Only runs of %.0f worker%s are done: how it scales is not known",
			     workers, workers == 1 ? "" : "s");
	else
		sn_text_add(out, "No two configurations differ in the number of workers alone: how "
				 "it scales is not known");
	if (*at > 1)
		sn_text_addf(out, "; 'sonde diff CAMPAIGN' compares the %zu configurations", *at);
	sn_text_add(out, ".");
}

static bool has_many_series(const struct sn_scaling *scaling,
			    const struct sn_scaling_configuration *configurations)
{
	for (size_t i = 1; is_application(scaling, i); i++)
		if (strcmp(configurations[scaling->rows.items[i].configuration].series,
			   configurations[scaling->rows.items[0].configuration].series) != 0)
			return true;
	return false;
}

static void interval_add(const struct sn_scaling_row *row, struct sn_text *out)
{
	if (isnan(row->interval.low))
		sn_text_add(out, " (single runs: no interval)");
	else
		sn_text_addf(out, " (95 %%: %.2f to %.2f)", row->interval.low, row->interval.high);
}

static void growth_add(const struct sn_scaling *scaling, const struct sn_scaling_row *reference,
		       const struct sn_scaling_row *most, struct sn_text *out)
{
	sn_text_addf(out, "From %.0f to %.0f workers ", reference->workers, most->workers);
	if (scaling->is_weak)
		sn_text_addf(out, "the same work for each takes %.2f times as long, ",
			     1 / most->speedup);
	else if (most->speedup >= 1)
		sn_text_addf(out,
			     "the application gets %.2f times faster, of %.3g that are ideal, ",
			     most->speedup, most->ideal_speedup);
	else
		sn_text_addf(out, "the application gets %.2f times slower, ", 1 / most->speedup);
	sn_text_addf(out, "an efficiency of %.2f", most->efficiency);
	interval_add(most, out);
}

static void why_add(const struct sn_scaling_row *most, struct sn_text *out)
{
	struct sn_text why = { 0 };

	sn_scaling_add_reason(most, &why);
	if (why.length)
		sn_text_addf(out, ": %s", why.chars);
	sn_text_addf(out, "; confidence: %s", sn_scaling_confidence(most));
	sn_text_free(&why);
}

/* A reference with the most workers, as a row against the one with the fewest. What part of the time lost
 * was waiting for CPUs is not known this way round. */
static struct sn_scaling_row turned(const struct sn_scaling_row *least,
				    const struct sn_scaling_row *reference)
{
	struct sn_scaling_row row = *reference;

	row.reference = least->configuration;
	row.speedup = 1 / least->speedup;
	row.ideal_speedup = 1 / least->ideal_speedup;
	row.efficiency = 1 / least->efficiency;
	row.interval = (struct sn_interval){ 1 / least->interval.high, 1 / least->interval.low };
	row.load_balance = 1 / least->load_balance;
	row.communication = 1 / least->communication;
	row.computation = 1 / least->computation;
	row.waiting_part = NAN;
	row.reference_wait_share = least->wait_cpu_share;
	return row;
}

/* The rows of a series stand together, by workers. */
bool sn_scaling_add_answer(const struct sn_scaling *scaling,
			   const struct sn_scaling_configuration *configurations, size_t *at,
			   struct sn_text *out)
{
	const struct sn_scaling_row *rows = scaling->rows.items, *most, *fastest, *reference = NULL;
	struct sn_scaling_row other;
	const char *series;
	size_t first = *at, end;

	if (!is_application(scaling, first))
		return false;
	if (sn_scaling_is_flat(scaling)) {
		flat_add(scaling, at, out);
		return true;
	}
	series = configurations[rows[first].configuration].series;
	most = fastest = &rows[first];
	for (end = first; is_application(scaling, end) &&
			  !strcmp(configurations[rows[end].configuration].series, series);
	     end++) {
		if (rows[end].configuration == rows[end].reference)
			reference = &rows[end];
		if (rows[end].workers > most->workers)
			most = &rows[end];
		if (rows[end].time_s < fastest->time_s)
			fastest = &rows[end];
	}
	*at = end;
	if (has_many_series(scaling, configurations))
		sn_text_addf(out, "%s: ", series);
	if (!reference || most->workers <= rows[first].workers) {
		sn_text_addf(out, "Only runs of %.0f worker%s are done: how it scales is not known",
			     rows[first].workers, rows[first].workers == 1 ? "" : "s");
	} else {
		if (most->workers <= reference->workers) {
			other = turned(&rows[first], reference);
			most = &other;
			reference = &rows[first];
		}
		growth_add(scaling, reference, most, out);
		why_add(most, out);
		if (fastest->configuration != most->configuration && !scaling->is_weak)
			sn_text_addf(out, ". Fastest: '%s'",
				     configurations[fastest->configuration].name);
	}
	sn_text_add(out, ".");
	return true;
}

static bool is_busy_reference(const struct sn_scaling_row *row)
{
	return row->configuration == row->reference && row->wait_cpu_share > BUSY;
}

/* "'a' (56 %), 'b' (62 %) and 3 more" */
static void references_add(const struct sn_scaling *scaling,
			   const struct sn_scaling_configuration *configurations, size_t count,
			   struct sn_text *out)
{
	enum { NAMED_MOST = 4 };
	size_t named = 0;

	for (size_t i = 0; is_application(scaling, i) && named < NAMED_MOST; i++) {
		const struct sn_scaling_row *row = &scaling->rows.items[i];

		if (!is_busy_reference(row))
			continue;
		named++;
		sn_text_addf(out, "%s'%s' (%.0f %%)",
			     named == 1	      ? ""
			     : named == count ? " and "
					      : ", ",
			     configurations[row->configuration].name, 100 * row->wait_cpu_share);
	}
	if (count > named)
		sn_text_addf(out, " and %zu more", count - named);
}

bool sn_scaling_add_warning(const struct sn_scaling *scaling,
			    const struct sn_scaling_configuration *configurations, size_t *at,
			    struct sn_text *out)
{
	const struct sn_scaling_row *first = NULL;
	size_t count = 0;

	if (++*at == 1) {
		if (scaling->mixed) {
			sn_text_add(out, scaling->mixed);
			return true;
		}
		++*at;
	}
	/* where nothing is set against a reference, none is to be trusted */
	if (*at != 2 || sn_scaling_is_flat(scaling))
		return false;
	for (size_t i = 0; is_application(scaling, i); i++) {
		if (!is_busy_reference(&scaling->rows.items[i]))
			continue;
		first = first ? first : &scaling->rows.items[i];
		count++;
	}
	if (!count)
		return false;
	if (count == 1) {
		sn_text_addf(out,
			     "The reference '%s' itself waited for a CPU for %.0f %% of its "
			     "workers' time.",
			     configurations[first->configuration].name,
			     100 * first->wait_cpu_share);
	} else {
		sn_text_add(out, "The references ");
		references_add(scaling, configurations, count, out);
		sn_text_add(out,
			    " waited for a CPU themselves, for this part of their workers' time.");
	}
	sn_text_addf(out,
		     " What is set against %s elapsed time says more of the machine than of the "
		     "program: run %s again while less else runs, or look at loops and functions, "
		     "which go by CPU time.",
		     count == 1 ? "its" : "their", count == 1 ? "it" : "them");
	return true;
}

static void prediction_add(const struct sn_fit_prediction *p, const char *before,
			   struct sn_text *out)
{
	sn_text_addf(out, "%sn %.0f: ", before, p->workers);
	sn_text_add_duration(out, p->time_s);
	sn_text_add(out, " (95 %: ");
	sn_text_add_duration(out, p->low_s);
	sn_text_add(out, " to ");
	sn_text_add_duration(out, p->high_s);
	sn_text_add(out, ")");
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
	for (size_t i = 0; i < SN_FIT_PREDICTIONS; i++)
		prediction_add(&f->predicted[i], i ? ", " : "; ", out);
}

/* Whether the list has another application's, without a law for the same reason. */
static bool is_told(const struct sn_scaling_laws *laws, const struct sn_scaling_fit *fit)
{
	for (size_t i = 0; i < laws->count; i++)
		if (!laws->items[i]->fit.model &&
		    !strcmp(laws->items[i]->fit.reason, fit->fit.reason))
			return true;
	return false;
}

void sn_scaling_choose_laws(const struct sn_scaling *scaling, struct sn_scaling_laws *out)
{
	*out = (struct sn_scaling_laws){ 0 };
	for (size_t i = 0; i < scaling->fits.count; i++) {
		const struct sn_scaling_fit *fit = &scaling->fits.items[i];
		bool is_loop = fit->kind == SN_SCALING_LOOP && fit->fit.model;

		if (!is_loop && fit->kind != SN_SCALING_APPLICATION)
			continue;
		if (!fit->fit.model && is_told(out, fit))
			out->alike++;
		else if (is_loop && fit->share < LAW_SHARE)
			out->small++;
		else if (out->count < SN_LAWS_SHOWN)
			out->items[out->count++] = fit;
		else
			out->more++;
	}
}

void sn_scaling_add_left_out(const struct sn_scaling_laws *laws, struct sn_text *out)
{
	if (laws->alike)
		sn_text_addf(out, "and %zu more, without a law for the same reason", laws->alike);
	if (laws->more)
		sn_text_addf(out, "%sand %zu more", laws->alike ? "; " : "", laws->more);
	if (laws->small)
		sn_text_addf(out, "%s%zu loop%s of less than %.0f %% of the CPU time %s left out",
			     laws->more || laws->alike ? "; " : "", laws->small,
			     laws->small == 1 ? "" : "s", 100 * LAW_SHARE,
			     laws->small == 1 ? "is" : "are");
}

static void prediction_write(struct sn_json *json, const struct sn_fit_prediction *p)
{
	sn_json_object(json);
	sn_json_member_double(json, "workers", p->workers);
	sn_json_member_double(json, "time_s", p->time_s);
	sn_json_member_double(json, "low_s", p->low_s);
	sn_json_member_double(json, "high_s", p->high_s);
	sn_json_close(json);
}

void sn_scaling_write_law(const struct sn_fit *fit, struct sn_json *json)
{
	sn_json_member_string(json, "model", fit->model);
	sn_json_member_double(json, "workers_80", fit->workers_80);
	sn_json_member_double(json, "workers_50", fit->workers_50);
	sn_json_key(json, "predicted");
	sn_json_array(json);
	for (int i = 0; fit->model && i < SN_FIT_PREDICTIONS; i++)
		prediction_write(json, &fit->predicted[i]);
	sn_json_close(json);
	sn_json_member_string(json, "reason", fit->reason[0] ? fit->reason : NULL);
}
