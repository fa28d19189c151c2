/**
 * From experiments to answers: what a progress step would take if a piece of code were faster, with
 * intervals, and a verdict. docs/method/causal.md has the method.
 */
#ifndef SN_CAUSAL_ESTIMATE_H
#define SN_CAUSAL_ESTIMATE_H

#include "causal/log.h"

enum sn_causal_verdict {
	SN_CAUSAL_UNKNOWN,   /* too few experiments, or too much noise */
	SN_CAUSAL_HELPS,     /* faster code, faster steps */
	SN_CAUSAL_NOTHING,   /* faster code, the same steps */
	SN_CAUSAL_CONTENDED, /* faster code, slower steps */
	SN_CAUSAL_VERDICTS,
};
extern const char *const sn_causal_verdict_names[SN_CAUSAL_VERDICTS];

enum {
	SN_CAUSAL_SPEEDUPS_MAX = 16,
	SN_CAUSAL_BLOCKS_LEAST = 4, /* for a verdict */
};

/** One speed-up of the curve. `effect` is the relative change of a step's time: 0.11 is 11 % less. */
struct sn_causal_point {
	/* 95 %: noise of all of the code's experiments, and the method's own error; NaN: too few */
	double speedup, effect, low, high;
	uint32_t experiments;
};

struct sn_causal_answer {
	uint32_t candidate;
	enum sn_causal_verdict verdict;
	double slope, slope_low, slope_high; /* effect by speed-up; NaN: unknown */
	double up_to; /* the speed-up from which on more brings no more; NaN: not known, or none */
	struct sn_causal_point points[SN_CAUSAL_SPEEDUPS_MAX];
	size_t point_count;
	const char *
		reason; /* of `unknown`, "no-experiments", "cpu-waits" ...; borrows the log; NULL: known */
};

/** Why no effect is told, of no candidate. */
enum sn_causal_refusal {
	SN_CAUSAL_NOT_REFUSED,
	SN_CAUSAL_REFUSED_QUEUES, /* threads waited for CPUs too much */
	SN_CAUSAL_REFUSED_DELAYS, /* pauses took too long */
	SN_CAUSAL_REFUSED_SEALED, /* a process forbade the system calls that pauses need */
};

struct sn_causal_answers {
	/* rows then have neither a slope nor points, and the verdict `unknown` */
	enum sn_causal_refusal refusal;
	SN_VEC(struct sn_causal_answer) rows; /* most helpful first */
	double rate_per_s;		      /* of progress, in baselines */
	/* of baselines held against baselines as if they were experiments, the share whose 95 %
	 * interval leaves zero out; NaN: too few */
	double false_alarm_rate;
	double delay_error_share; /* of the pauses: what they took too long and nothing set off */
	/* experiments that settled for less do not count; what is carried over all the same (carry.h) */
	int64_t settle_ns;
	double carried_share;
	size_t cut_trials; /* do not count, as their run was cut off (sn_causal_trial_is_cut) */
};

/** From these shares on effects are too wrong to be told (docs/decisions/0122). */
#define SN_CAUSAL_QUEUED_REFUSED 0.25
#define SN_CAUSAL_DELAYS_REFUSED 0.10
/** From this delay_error_share on threads waited for CPUs, so that effects are off as well. */
#define SN_CAUSAL_DELAYS_OFF_MOST 0.02

void sn_causal_answers_find(const struct sn_causal_log *log, struct sn_causal_answers *out);
void sn_causal_answers_free(struct sn_causal_answers *answers);

/** Half the width of a candidate's interval of its slope; INFINITY where there is none yet. `blocks`
 *  gets how many blocks it rests on. For who decides what to measure next. */
double sn_causal_slope_width(const struct sn_causal_log *log, int32_t candidate, uint32_t *blocks);

/** Whether a slope that is known to `slope_width` (half of its interval, by noise alone) gets no more
 *  experiments: `blocks` of them, over so many speed-ups. */
bool sn_causal_is_narrow(double slope_width, size_t blocks, size_t speedups);

/** What the program would gain at most from more of this code (the largest effect's point; NULL:
 *  none). */
const struct sn_causal_point *sn_causal_best_point(const struct sn_causal_answer *answer);

/** The same, as it is told: where the slope's interval at that speed-up lies in the point's, the slope's, as it rests on the
 *  experiments of all speed-ups. Not where the curve bends before (`up_to`), as a line through the origin says nothing of it
 *  there. Without points all of it is 0, and the interval NaN. */
struct sn_causal_point sn_causal_told_point(const struct sn_causal_answer *answer);

#endif
