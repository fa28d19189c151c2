/* A progress point that the program may have: which heartbeats there are, where it has not. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "causal/beats.h"
#include "cli/causal.h"

/* A heartbeat may come a little later than others. */
static const int64_t watched_ns = 1000000000;

static const char *wanted(const struct sn_cli_causal *c)
{
	return sn_args_value(c->args, sn_cli_causal_point_option(c) + 2);
}

static int64_t now_ns(void)
{
	return sn_clock_ns(CLOCK_MONOTONIC);
}

void sn_cli_causal_watch_beats(struct sn_steer *steer)
{
	const struct sn_cli_causal *c = steer->context;
	const struct timespec nap = { 0, 20000000 };
	struct sn_text beats = { 0 };

	for (int64_t others_ns = 0; !atomic_load(&steer->is_over); nanosleep(&nap, NULL)) {
		sn_text_clear(&beats);
		if (sn_causal_beat_is_there(steer->shared, wanted(c)))
			break;
		if (!sn_causal_beats_list(steer->shared, wanted(c), &beats))
			continue;
		if (!others_ns)
			others_ns = now_ns();
		if (now_ns() - others_ns < watched_ns)
			continue;
		sn_cli_causal_say(
			c,
			"%s: the program has no heartbeat '%s' so far, but %s; Ctrl-C ends it, if "
			"the name is wrong",
			sn_cli_causal_point_option(c), wanted(c), beats.chars);
		break;
	}
	sn_text_free(&beats);
}

void sn_cli_causal_add_beats(const struct sn_cli_causal *c, const char *name, struct sn_error *err)
{
	struct sn_text beats = { 0 }, sentence = { 0 };

	if (sn_causal_beats_list(c->first_page, name, &beats)) {
		sn_text_addf(&sentence, "%s; its heartbeats are %s", err->sentence, beats.chars);
		sn_error_set(err, SN_ERR_NOT_FOUND, "%s", sentence.chars);
	}
	sn_text_free(&beats);
	sn_text_free(&sentence);
}

sn_status sn_cli_causal_no_beat(struct sn_cli_causal *c, struct sn_error *err)
{
	return sn_error_set(
		err, SN_ERR_NOT_FOUND,
		"%s: the program has no heartbeat '%s', but %s; no experiments were made",
		sn_cli_causal_point_option(c), c->log->name, c->session.beats.chars);
}
