/**
 * What the files of the verdict share: the stories (causes of time, see docs/words.md) that
 * evidence can tell, and how each is told.
 */
#ifndef SN_VIEWS_VERDICT_PARTS_H
#define SN_VIEWS_VERDICT_PARTS_H

#include "base/text.h"
#include "views/summary/verdict.h"

enum sn_story_id {
	SN_STORY_LOOPS,
	SN_STORY_FLAT,
	SN_STORY_DATA,
	SN_STORY_LOADING,
	SN_STORY_MEMORY,
	SN_STORY_UNKNOWN,
	SN_STORY_OVERSUBSCRIBED,
	SN_STORY_SPIN,
	SN_STORY_MPI,
	SN_STORY_OTHERS,
	SN_STORY_JOBS,
	SN_STORY_QUEUE,
	SN_STORY_LOCK,
	SN_STORY_LOCK_CALLS,
	SN_STORY_BARRIER,
	SN_STORY_SIGNAL,
	SN_STORY_IO,
	SN_STORY_SLEEP,
	SN_STORY_CHILD,
	SN_STORY_WORKING_CHILD,
	SN_STORY_UNTRACED,
	SN_STORY_UNTRACED_ALONE,
	SN_STORY_SHORT,
	SN_STORIES
};

/** A story with the seconds that it is about. */
struct sn_story {
	enum sn_story_id id;
	double seconds;
	enum sn_trust confidence;
	const struct sn_evidence_place *place; /* the one with most of it, or NULL */
};

typedef void sn_story_fn(const struct sn_evidence *e, const struct sn_story *story,
			 struct sn_text *out);

struct sn_story_words {
	enum sn_verdict_kind kind;
	/* What does not compete is told, but the verdict is another: waiting for a child that works
	 * says nothing that the child's own time does not. */
	bool competes;
	bool is_of_samples; /* as sure as the samples behind it are many */
	sn_story_fn *headline, *sentence, *remedy;
	const char *words; /* what the writers of several stories differ in */
};
extern const struct sn_story_words sn_stories[SN_STORIES];

/** Less than this share of the threads' time is no story. */
#define SN_FINDING_LEAST 0.02

static inline double sn_known(double seconds)
{
	return seconds > 0 ? seconds : 0;
}

/** Whether of most of the hot places it is not known if they compute or wait for data. */
bool sn_verdict_is_unsettled(const struct sn_evidence *evidence);

/** For verdict_words_data.c: "weather.c:28-32 in diffuse", and the hottest of them with shares. */
void sn_verdict_add_hot(struct sn_text *out, const struct sn_evidence_place *place);
void sn_verdict_add_list(const struct sn_evidence *evidence, const struct sn_evidence_hot *hot,
			 size_t limit, struct sn_text *out);
void sn_verdict_add_worker(const struct sn_evidence *evidence, struct sn_text *out);
sn_story_fn sn_verdict_data_headline, sn_verdict_data_sentence, sn_verdict_data_remedy,
	sn_verdict_unsettled_remedy;
#define SN_VERDICT_UNSETTLED "; whether it computes or waits for memory, samples cannot tell"

/** Whether most of the computing is in loops that are hot. */
bool sn_verdict_is_in_loops(const struct sn_evidence *evidence);
/** Waiting actively, but for MPI. */
double sn_verdict_spin_s(const struct sn_evidence *evidence);

/** Blocked at barriers, and in OpenMP runtimes. */
double sn_verdict_barriers_s(const struct sn_evidence *evidence);

#endif
