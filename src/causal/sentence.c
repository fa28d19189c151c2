/* An answer for people. */
#include "causal/sentence.h"

#include <math.h>
#include <string.h>

static const char *reason_words(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} all[] = {
		{ "one-thread",
		  "one thread is at work, so that this share is what it would bring" },
		{ "waits-below",
		  "not known: threads wait actively below it, which would count as working" },
		{ "slowed-code", "not known: the progress point's breakpoint would slow hot code" },
		{ "too-short", "not known: the program had too little CPU time" },
		{ "no-experiments", "not known: no experiment was made" },
		{ "cpu-waits", "not known: threads waited for CPUs too much" },
		{ "cut-off",
		  "not known: the run was cut off before it told how long its threads waited for "
		  "CPUs; later runs tell it (sonde causal --from EXPERIMENT)" },
		{ "late-pauses", "not known: pauses took too long" },
		{ "too-often",
		  "not known: the progress point is reached too often for a breakpoint" },
		{ "sealed", "not known: a process forbade system calls (seccomp), so its threads "
			    "were not held up" },
		{ "carried-over",
		  "not settled: buffers between threads carry over from one experiment to the "
		  "next; whole runs settle it (--progress end)" },
		{ "method",
		  "not settled, and as narrow as it gets: what the method may miss is more "
		  "than the noise; other programs widen it, more experiments do not "
		  "narrow it" },
		{ "few-experiments", "not settled: few experiments were made, more narrow it "
				     "(--max-time)" },
	};

	for (size_t i = 0; reason && i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].reason, reason))
			return all[i].words;
	return "not settled; more experiments narrow it (--max-time)";
}

bool sn_causal_may_bring_its_share(const struct sn_causal_log *log,
				   const struct sn_causal_answer *answer)
{
	return answer->slope_high >= log->candidates.items[answer->candidate].cpu_share;
}

void sn_causal_sentence(const struct sn_causal_log *log, const struct sn_causal_answers *answers,
			const struct sn_causal_answer *answer, struct sn_text *out)
{
	const struct sn_causal_candidate *c = &log->candidates.items[answer->candidate];
	const char *step = !strcmp(log->kind, "end")	   ? "the run"
			   : !strcmp(log->kind, "latency") ? "the time from begin to end"
							   : "a step";
	struct sn_causal_point told;
	const struct sn_causal_answer *first = answers->rows.count ? &answers->rows.items[0] : NULL;

	if (isnan(c->cpu_share))
		sn_text_addf(out, "what runs under %s: ", c->name);
	else
		sn_text_addf(out, "%s (%.0f %% of CPU time): ", c->name, 100 * c->cpu_share);
	switch (answer->verdict) {
	case SN_CAUSAL_HELPS:
		told = sn_causal_told_point(answer);
		sn_text_addf(out, "%.0f %% less time in it, %.0f %% less for %s",
			     100 * told.speedup, 100 * told.effect, step);
		if (!isnan(told.low))
			sn_text_addf(out, told.low < 0 ? " [%.0f to %.0f]" : " [%.0f-%.0f]",
				     100 * told.low, 100 * told.high);
		if (answer->up_to < told.speedup)
			sn_text_addf(out, "; more than %.0f %% brings nothing",
				     100 * answer->up_to);
		break;
	case SN_CAUSAL_NOTHING:
		if (sn_causal_may_bring_its_share(log, answer)) {
			sn_text_addf(out, "however fast it gets, %.0f %% less for %s at most",
				     ceil(100 * answer->slope_high), step);
			break;
		}
		sn_text_addf(out, "no faster code there makes %s faster", step);
		if (first && first->verdict == SN_CAUSAL_HELPS)
			sn_text_addf(out, ": it is not what others wait for, %s is",
				     log->candidates.items[first->candidate].name);
		break;
	case SN_CAUSAL_CONTENDED:
		sn_text_addf(out,
			     "faster code there makes %s slower: it gets into the way of others",
			     step);
		break;
	default:
		sn_text_add(out, reason_words(answer->reason));
		break;
	}
}
