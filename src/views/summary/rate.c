/*
 * The clock of a run in words: the mechanisms of all its processes, the rate that there was, and why
 * it was not the one that was asked for.
 */
#include "views/summary/rate.h"

#include <math.h>
#include <string.h>

/* A rate this near is the one that was asked for: the first periods are random. */
static const double NEAR = 0.15;
/* Shorter runs have too few samples to tell a rate. */
static const double LEAST_S = 0.1;
/* A part of the CPU time that says why. */
static const double MUCH = 0.25;

static bool has_token(const struct sn_text *list, const char *token, size_t length)
{
	for (const char *at = list->chars; at && *at; at += strcspn(at, "+"), at += *at == '+')
		if (strcspn(at, "+") == length && !strncmp(at, token, length))
			return true;
	return false;
}

/* Each mechanism once, in the order of use: those of the process with most samples first. */
static void tokens_add(struct sn_text *list, const char *mechanism)
{
	for (const char *at = mechanism; at && *at;) {
		size_t length = strcspn(at, "+");

		if (!has_token(list, at, length)) {
			if (list->length)
				sn_text_add_char(list, '+');
			sn_text_add_bytes(list, at, length);
		}
		at += length + (at[length] == '+');
	}
}

static void mechanisms_find(struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;
	struct sn_text list = { 0 };
	size_t most = 0;

	if (!e->processes.count)
		return;
	for (size_t i = 1; i < e->processes.count; i++)
		if (p->processes[i].samples > p->processes[most].samples)
			most = i;
	tokens_add(&list, e->processes.items[most].clock_mechanism);
	for (size_t i = 0; i < e->processes.count; i++)
		if (p->processes[i].samples)
			tokens_add(&list, e->processes.items[i].clock_mechanism);
	s->clock_mechanism = sn_arena_strdup(&s->arena, list.chars ? list.chars : "");
	s->asked_hz = e->processes.items[most].rate_hz;
	s->later_hz = e->processes.items[most].later_hz;
	s->burst_s = e->processes.items[most].burst_s;
	sn_text_free(&list);
}

static bool is_near(const struct sn_summary *s)
{
	double least_hz = s->later_hz > 0 ? s->later_hz : s->asked_hz;

	return isnan(s->rate_hz) || s->asked_hz <= 0 || s->sampled_cpu_s < LEAST_S ||
	       (s->rate_hz >= (1 - NEAR) * least_hz && s->rate_hz <= (1 + NEAR) * s->asked_hz);
}

/* --clock auto chose the rate: half a per cent of the CPU time for samples (record/record.c). */
static const char *choice_of(struct sn_summary *s)
{
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_addf(
		&text,
		"a sample costs %.0f us here: %.0f a CPU second for the first %g s of each thread, "
		"then %.0f, so that samples take 0.5 %% of the CPU time",
		0.005e6 / s->later_hz, s->asked_hz, s->burst_s, s->later_hz);
	kept = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

static const char *reason_of(struct sn_summary *s)
{
	const struct sn_weight *all = &s->profile->total;
	double system = all->cpu_ns ? (double)all->system_ns / (double)all->cpu_ns : 0;

	if (is_near(s))
		return s->later_hz > 0 ? choice_of(s) : NULL;
	if (s->rate_hz > s->asked_hz)
		return "many threads or processes are short: each has a sample early in its life";
	if (strstr(s->clock_mechanism, "thread-timer"))
		return "CPU timers sampled some threads, at most once per kernel tick";
	if (system > MUCH && strstr(s->clock_mechanism, "perf-signal"))
		return "time in the kernel is sampled once per kernel tick";
	return "samples were lost, came late, or threads were too short for one";
}

bool sn_summary_rate_is_chosen(const struct sn_summary *s)
{
	return s->later_hz > 0 && is_near(s);
}

void sn_summary_rate(struct sn_summary *s)
{
	uint64_t cpu_ns = s->profile->total.cpu_ns;

	mechanisms_find(s);
	s->rate_hz = cpu_ns ? 1e9 * (double)s->samples / (double)cpu_ns : NAN;
	s->rate_reason = s->clock_mechanism ? reason_of(s) : NULL;
}

/* In words, for people. */
static void words_add(struct sn_text *out, const char *mechanism)
{
	static const char timer[] = "+thread-timer";
	const char *at = strstr(mechanism, timer);

	if (!at) {
		sn_text_add(out, mechanism);
		return;
	}
	sn_text_add_bytes(out, mechanism, (size_t)(at - mechanism));
	sn_text_add(out, ", then timers");
	sn_text_add(out, at + sizeof(timer) - 1);
}

void sn_summary_rate_text(const struct sn_summary *s, struct sn_text *out)
{
	if (!s->clock_mechanism)
		return;
	words_add(out, s->clock_mechanism);
	if (is_near(s) && s->later_hz > 0 && !isnan(s->rate_hz))
		sn_text_addf(out, " at %.0f Hz (auto)", s->rate_hz);
	else if (is_near(s))
		sn_text_addf(out, " at %g Hz", s->asked_hz);
	else
		sn_text_addf(out, ": %.0f of %g Hz", s->rate_hz, s->asked_hz);
}
