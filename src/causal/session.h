/**
 * A session of causal experiments: which come next, over as many runs as there are, and how one is
 * made while the program runs. docs/method/causal.md has the design.
 */
#ifndef SN_CAUSAL_SESSION_H
#define SN_CAUSAL_SESSION_H

#include "base/stats.h"
#include "causal/estimate.h"
#include "causal/log.h"
#include "record/steer.h"

enum sn_causal_end {
	SN_CAUSAL_GOES_ON,
	SN_CAUSAL_OUT_OF_TIME,
	SN_CAUSAL_SURE_ENOUGH, /* every interval is narrow */
	SN_CAUSAL_TOO_OFTEN,   /* the progress point is reached too often for a breakpoint */
	SN_CAUSAL_NO_BEAT,     /* the program has other heartbeats than the progress point */
	SN_CAUSAL_REFUSED,     /* no effect can be told here (sn_causal_session_refusal) */
};

/** What is to be tried next. */
struct sn_causal_trial_plan {
	int32_t candidate;
	double speedup;
	uint32_t block;
};

struct sn_causal_session {
	struct sn_causal_log *log;		 /* results go there */
	const struct sn_causal_control *page;	 /* as each run begins */
	double speedups[SN_CAUSAL_SPEEDUPS_MAX]; /* above 0 */
	size_t speedup_count;
	uint32_t point, begin_point; /* the progress point; with latency, where it begins */
	bool is_latency;
	bool is_doubted; /* the progress point is a heartbeat's name that was seen nowhere yet */
	const char *experiment_path; /* each trial is kept there at once; NULL: nowhere */
	double left_s;		     /* of the time for experiments */
	bool is_forced;		     /* goes on where no effect can be told */
	/* experiments are over, and the target runs on; called in the steering thread, while the log
	 * has a run for what was counted until now. NULL: nobody is told */
	void (*tell_over)(void *context);
	void *context;
	enum sn_causal_end end;
	/* the rest is the session's own */
	bool is_kept;			   /* the log is in its file, but for what is appended */
	uint64_t visits;		   /* in all runs */
	size_t runs_before, trials_before; /* in the log, when the session began */
	uint32_t block;			   /* the next */
	int64_t settle_ns; /* that experiments go on before they count, in this block */
	struct sn_random random;
	struct sn_text beats; /* at the end SN_CAUSAL_NO_BEAT: those that there are */
	SN_VEC(struct sn_causal_trial_plan) plans; /* of the block that is on */
	size_t next;
};

void sn_causal_session_begin(struct sn_causal_session *session);
void sn_causal_session_free(struct sn_causal_session *session);

/** The next trial; false: nothing is left to try. It stays the next until sn_causal_session_advance. */
bool sn_causal_session_next(struct sn_causal_session *session, struct sn_causal_trial_plan *out);
void sn_causal_session_advance(struct sn_causal_session *session);

/** Why no effect can be told from what this session's runs have counted, `page` (NULL: none) of one that
 *  is on; not before there is enough of it. */
enum sn_causal_refusal sn_causal_session_refusal(const struct sn_causal_session *session,
						 const struct sn_causal_control *page);

/** For struct sn_steer, whose context is the session: experiments until the target or the time ends. */
void sn_causal_session_steer(struct sn_steer *steer);

/** Keeps what a run's processes counted, when it is over; `elapsed_ns` is the run's. */
void sn_causal_session_note_run(struct sn_causal_session *session,
				const struct sn_causal_control *last, int64_t elapsed_ns);

#endif
