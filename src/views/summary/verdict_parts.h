/**
 * What the files of the verdict share: the causes of time (docs/words.md) that
 * evidence can tell, and how each is told.
 */
#ifndef SN_VIEWS_VERDICT_PARTS_H
#define SN_VIEWS_VERDICT_PARTS_H

#include "base/text.h"
#include "views/summary/verdict.h"

enum sn_cause_id {
	SN_CAUSE_LOOPS,
	SN_CAUSE_FLAT,
	SN_CAUSE_DATA,
	SN_CAUSE_LOADING,
	SN_CAUSE_MEMORY,
	SN_CAUSE_UNKNOWN,
	SN_CAUSE_OVERSUBSCRIBED,
	SN_CAUSE_SPIN,
	SN_CAUSE_MPI,
	SN_CAUSE_MPI_START,
	SN_CAUSE_OTHERS,
	SN_CAUSE_JOBS,
	SN_CAUSE_QUEUE,
	SN_CAUSE_DEADLOCK,
	SN_CAUSE_LOCK,
	SN_CAUSE_LOCK_CALLS,
	SN_CAUSE_BARRIER,
	SN_CAUSE_SIGNAL,
	SN_CAUSE_IO,
	SN_CAUSE_SLEEP,
	SN_CAUSE_CHILD,
	SN_CAUSE_WORKING_CHILD,
	SN_CAUSE_UNTRACED,
	SN_CAUSE_UNTRACED_ALONE,
	SN_CAUSE_OPENMP,
	SN_CAUSE_SHORT,
	SN_CAUSES
};

/** A cause with the seconds that it is about. */
struct sn_cause {
	enum sn_cause_id id;
	double seconds;
	double rank_s; /* where it stands among others: mostly its seconds */
	enum sn_trust confidence;
	const struct sn_evidence_place *place; /* the one with most of it, or NULL */
};

typedef void sn_cause_fn(const struct sn_evidence *e, const struct sn_cause *cause,
			 struct sn_text *out);

struct sn_cause_words {
	enum sn_verdict_kind kind;
	/* What does not compete is told, but the verdict is another: waiting for a child that works
	 * says nothing that the child's own time does not. */
	bool competes;
	bool is_of_samples; /* as sure as the samples behind it are many */
	sn_cause_fn *headline, *sentence, *remedy;
	const char *words; /* what the writers of several causes differ in */
};
extern const struct sn_cause_words sn_causes[SN_CAUSES];

/** Less than this share of the threads' time is no cause. */
#define SN_FINDING_LEAST 0.02

static inline double sn_known(double seconds)
{
	return seconds > 0 ? seconds : 0;
}

/** Whether of most of the hot places it is not known if they compute or wait for data. */
bool sn_verdict_is_unsettled(const struct sn_evidence *evidence);
/** The same of a tenth of it or more. */
bool sn_verdict_is_partly_unsettled(const struct sn_evidence *evidence);

/* For verdict_words_compute.c, _data.c and _spin.c. */
/** " in GOMP_barrier, called by main (a.c:12)"; nothing without a place. */
void sn_verdict_add_in(struct sn_text *out, const struct sn_evidence_place *place);
/** A name of at most 60 columns; "weather.c:28-32 in diffuse", and the hottest of them with shares. */
void sn_verdict_add_name(struct sn_text *out, const char *name);
void sn_verdict_add_hot(struct sn_text *out, const struct sn_evidence_place *place);
void sn_verdict_add_list(const struct sn_evidence *evidence, const struct sn_evidence_hot *hot,
			 size_t limit, struct sn_text *out);
void sn_verdict_add_worker(const struct sn_evidence *evidence, struct sn_text *out);
sn_cause_fn sn_verdict_loops_headline, sn_verdict_loops_sentence, sn_verdict_loops_remedy,
	sn_verdict_flat_headline, sn_verdict_flat_sentence, sn_verdict_flat_remedy;
sn_cause_fn sn_verdict_data_headline, sn_verdict_data_sentence, sn_verdict_data_remedy,
	sn_verdict_unsettled_remedy, sn_verdict_spin_headline, sn_verdict_spin_remedy;
#define SN_VERDICT_UNSETTLED "; whether it computes or waits for memory, samples cannot tell"

/** Whether most of the computing is in loops that are hot. */
bool sn_verdict_is_near(const struct sn_evidence *e, double near_s);
bool sn_verdict_is_in_loops(const struct sn_evidence *evidence);
/** Waiting actively, but for MPI. */
double sn_verdict_spin_s(const struct sn_evidence *evidence);

/** Blocked at barriers, and in OpenMP runtimes. */
double sn_verdict_barriers_s(const struct sn_evidence *evidence);

#endif
