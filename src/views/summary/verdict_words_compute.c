/* How it is told that a run computes: in which loops or functions, and what to do about them. */
#include <math.h>
#include <string.h>

#include "views/summary/verdict_parts.h"

static const double hot_least = 0.5;	   /* of compute time in hot places: it is not flat */
static const double unsettled_least = 0.5; /* of the time in hot places */
static const double partly_unsettled_least = 0.1;
static const double kernel_least = 0.1;
static const double uneven_least = 1.25;

static double percent(double part, double whole)
{
	return whole > 0 ? fmin(100, 100 * part / whole) : 0;
}

/* Also where hot loops and functions hold it together, and the hottest of all is a loop. */
bool sn_verdict_is_in_loops(const struct sn_evidence *e)
{
	double most = e->rests.top_count ? e->rests.top[0].seconds : 0;

	return e->loops.count &&
	       (e->loops.seconds >= hot_least * e->compute_s ||
		(e->loops.seconds + e->rests.seconds >= hot_least * e->compute_s &&
		 e->loops.top[0].seconds >= most));
}

static bool is_in_functions(const struct sn_evidence *e)
{
	return e->functions.count && e->functions.seconds >= hot_least * e->compute_s;
}

static double unsettled_share(const struct sn_evidence *e)
{
	double hot_s = sn_verdict_is_in_loops(e) ? e->loops.seconds
		       : is_in_functions(e)	 ? e->functions.seconds
						 : 0;

	return hot_s > 0 ? e->unsettled_s / hot_s : 0;
}

bool sn_verdict_is_unsettled(const struct sn_evidence *e)
{
	return unsettled_share(e) >= unsettled_least;
}

bool sn_verdict_is_partly_unsettled(const struct sn_evidence *e)
{
	return unsettled_share(e) >= partly_unsettled_least;
}

/* Most of the hot loops' time is of loops that were measured to take what their loads and stores take. */
bool sn_verdict_is_near(const struct sn_evidence *e, double near_s)
{
	return sn_verdict_is_in_loops(e) && near_s > 0.5 * e->loops.seconds;
}

static const char *bound_word(const struct sn_evidence *e)
{
	if (sn_verdict_is_near(e, e->near_latency_s))
		return "Bound by the latency of loads";
	if (sn_verdict_is_near(e, e->near_s))
		return "Bound by loads and stores";
	return sn_verdict_is_partly_unsettled(e) ? "CPU-bound" : "Compute-bound";
}

static void add_doubt(const struct sn_evidence *e, struct sn_text *out)
{
	const char *near =
		sn_verdict_is_near(e, e->near_latency_s) ? "; each load waits for the one before"
		: sn_verdict_is_near(e, e->near_s) ? "; loads and stores take as long as it does"
						   : NULL;

	if (near)
		sn_text_addf(out, "%s, and nearer data gain little (measured)", near);
	if (sn_verdict_is_unsettled(e))
		sn_text_add(out, SN_VERDICT_UNSETTLED);
	else if (sn_verdict_is_partly_unsettled(e))
		sn_text_addf(
			out,
			"; of %.0f %% of their time samples cannot tell whether it computes or "
			"waits for memory",
			100 * unsettled_share(e));
}

void sn_verdict_loops_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			       struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "%s in %zu loop%s", bound_word(e), e->loops.count,
		     e->loops.count > 1 ? "s" : "");
	sn_verdict_add_worker(e, out);
	sn_text_add(out, ": ");
	sn_verdict_add_hot(out, &e->loops.top[0]);
	sn_text_addf(out, " takes %.1f %% of CPU time", percent(e->loops.top[0].seconds, e->cpu_s));
	add_doubt(e, out);
}

static void add_rest(const struct sn_evidence *e, struct sn_text *out)
{
	if (e->system_s >= kernel_least * e->cpu_s)
		sn_text_addf(out, "; %.1f %% of CPU time is in the kernel",
			     percent(e->system_s, e->cpu_s));
	if (e->busiest_ratio > uneven_least)
		sn_text_addf(out, "; the busiest thread works %.1f times their mean",
			     e->busiest_ratio);
}

void sn_verdict_add_list(const struct sn_evidence *e, const struct sn_evidence_hot *hot,
			 size_t limit, struct sn_text *out)
{
	for (size_t i = 0; i < hot->top_count && i < limit; i++) {
		sn_text_add(out, i ? ", " : "");
		sn_verdict_add_hot(out, &hot->top[i]);
		sn_text_addf(out, " %.1f %%", percent(hot->top[i].seconds, e->cpu_s));
	}
}

void sn_verdict_loops_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			       struct sn_text *out)
{
	(void)cause;
	sn_text_addf(out, "%.1f %% of CPU time is in ", percent(e->loops.seconds, e->cpu_s));
	if (e->loops.count == 1) {
		sn_text_add(out, "one loop, ");
		sn_verdict_add_hot(out, &e->loops.top[0]);
	} else {
		sn_text_addf(out, "%zu loops: ", e->loops.count);
		sn_verdict_add_list(e, &e->loops, e->loops.count, out);
	}
	if (e->rests.count) {
		sn_text_add(out, "; outside of them most in ");
		sn_verdict_add_list(e, &e->rests, e->rests.count, out);
	}
	add_rest(e, out);
	add_doubt(e, out);
}

void sn_verdict_loops_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			     struct sn_text *out)
{
	const char *hint = e->hint_is_of_data ? NULL : e->hint;
	bool is_unsettled = sn_verdict_is_partly_unsettled(e);

	if (!hint || !e->hint_is_of_first)
		sn_text_addf(
			out,
			"See what the hottest does and what bounds it: sonde show loop '#%zu'%s",
			e->loop_rank ? e->loop_rank : 1, is_unsettled || hint ? ". " : "");
	if (hint)
		sn_text_addf(out, "%s%s%s",
			     e->hint_is_of_first ? "" : "More is promised of another: ", hint,
			     is_unsettled ? " " : "");
	if (is_unsettled)
		sn_verdict_unsettled_remedy(e, cause, out);
}

/* Where the functions' loops are not hot, or not known at all. */
static void add_their_loops(const struct sn_evidence *e, struct sn_text *out)
{
	if (e->functions.top[0].has_no_code)
		sn_text_add(out, ", whose machine code is not at hand: their loops are not known");
	else if (!e->loops.count)
		sn_text_add(out, ", not in hot loops");
}

void sn_verdict_flat_headline(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)cause;
	if (is_in_functions(e)) {
		sn_text_addf(out, "%s in %zu function%s", bound_word(e), e->functions.count,
			     e->functions.count > 1 ? "s" : "");
		if (!e->functions.top[0].has_no_code)
			add_their_loops(e, out);
	} else {
		sn_text_add(out, "Compute-bound and flat");
		if (e->module.what && e->module.seconds >= hot_least * e->compute_s &&
		    !(e->worker && !strcmp(e->module.what, e->worker))) { /* told behind it */
			sn_text_add(out, ", most of it in ");
			sn_verdict_add_name(out, e->module.what);
		}
	}
	sn_verdict_add_worker(e, out);
	if (!e->functions.top_count)
		return;
	sn_text_add(out, is_in_functions(e)	   ? ": "
			 : e->functions_before > 0 ? ": of functions that compute, "
						   : ": the hottest function, ");
	sn_verdict_add_hot(out, &e->functions.top[0]);
	sn_text_addf(out, "%s takes %s%.1f %% of CPU time",
		     is_in_functions(e) || e->functions_before > 0 ? "" : ",",
		     !is_in_functions(e) && e->functions_before > 0 ? "most, " : "",
		     percent(e->functions.top[0].seconds, e->cpu_s));
}

void sn_verdict_flat_sentence(const struct sn_evidence *e, const struct sn_cause *cause,
			      struct sn_text *out)
{
	(void)cause;
	if (is_in_functions(e)) {
		sn_text_addf(out, "%.1f %% of CPU time is in %zu function%s: ",
			     percent(e->functions.seconds, e->cpu_s), e->functions.count,
			     e->functions.count > 1 ? "s" : "");
		sn_verdict_add_list(e, &e->functions, e->functions.count, out);
		if (e->functions.top[0].has_no_code)
			add_their_loops(e, out);
	} else {
		sn_text_addf(out,
			     "%.1f %% of CPU time is the program's work, spread over many places",
			     percent(e->compute_s, e->cpu_s));
		if (e->module.what) {
			sn_text_add(out, "; by module most in ");
			sn_verdict_add_name(out, e->module.what);
			sn_text_addf(out, " %.1f %%", percent(e->module.seconds, e->cpu_s));
		}
		if (e->functions.top_count)
			sn_text_add(out, e->module.what ? ", by function in " : "; most in ");
		sn_verdict_add_list(e, &e->functions, SN_EVIDENCE_TOP, out);
	}
	add_rest(e, out);
}

void sn_verdict_flat_remedy(const struct sn_evidence *e, const struct sn_cause *cause,
			    struct sn_text *out)
{
	(void)cause;
	if (!is_in_functions(e))
		sn_text_add(out, "No single place gains much: look for work to avoid by callers "
				 "(sonde show tree), and at compiler options");
	else if (e->functions.top[0].has_no_code)
		sn_text_add(out, "Look at their source for loops and what these do; sonde show "
				 "calls FUNCTION has who calls them");
	else if (e->loops.count)
		sn_text_add(out,
			    "See what they do in their loops (sonde show loops), and who calls "
			    "them (sonde show calls FUNCTION)");
	else
		sn_text_add(out, "See who calls them and how often (sonde show calls FUNCTION): "
				 "fewer calls gain more than faster ones");
}
