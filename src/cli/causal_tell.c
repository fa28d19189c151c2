/* What `sonde causal` says at its end. */
#include "base/text.h"
#include "causal/carry.h"
#include "causal/sentence.h"
#include "cli/causal.h"

/* A sentence for each piece of code: who ran the command wants the answer, and not another command. */
static void say_answers(const struct sn_cli_causal *c)
{
	struct sn_causal_answers answers;

	sn_causal_answers_find(c->log, &answers);
	for (size_t i = 0; !answers.refusal && c->log->trials.count && i < answers.rows.count;
	     i++) {
		struct sn_text sentence = { 0 }, printable = { 0 };

		sn_causal_sentence(c->log, &answers, &answers.rows.items[i], &sentence);
		sn_text_add_printable(&printable, sentence.chars, sentence.length);
		sn_cli_causal_say(c, " %s", printable.chars);
		sn_text_free(&sentence);
		sn_text_free(&printable);
	}
	sn_causal_answers_free(&answers);
}

void sn_cli_causal_tell(const struct sn_cli_causal *c)
{
	if (c->is_interrupted && !c->log->trials.count)
		sn_cli_causal_say(
			c,
			"interrupted before the first experiment was made: sonde causal --from %s -- ... "
			"makes them",
			c->experiment.chars);
	else if (c->is_interrupted)
		sn_cli_causal_say(
			c,
			"interrupted: the answers rest on %zu experiment%s; sonde causal --from %s -- ... "
			"adds more",
			c->log->trials.count, c->log->trials.count == 1 ? "" : "s",
			c->experiment.chars);
	if (c->log->threads <= 1 && !*c->log->refused)
		sn_cli_causal_say(
			c, "one thread is at work: its profile says it all, by Amdahl's law; the "
			   "experiments only repeat it");
	if (c->session.end == SN_CAUSAL_REFUSED)
		sn_cli_causal_say(
			c,
			"experiments ended before their time, as they cannot answer; --force makes "
			"them all the same");
	if (sn_causal_queued_share(c->log) > SN_CAUSAL_QUEUED_MOST)
		sn_cli_causal_say(
			c,
			"threads waited for CPUs %.0f %% of the time in which they wanted one: %s; run fewer "
			"threads than CPUs, other programs later, or 'chrt -r 1 sonde causal ...'",
			100 * sn_causal_queued_share(c->log),
			sn_causal_queued_share(c->log) > SN_CAUSAL_QUEUED_REFUSED
				? "no effect is told"
				: "effects come out too small");
	say_answers(c);
	sn_cli_causal_say(c, "%s; sonde show causal %s", c->experiment.chars, c->experiment.chars);
}
