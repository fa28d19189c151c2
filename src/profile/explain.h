/**
 * What every column, metric and category means, in words: `sonde explain`, help texts of reports.
 * A test holds that every column of every view is explained here.
 */
#ifndef SN_PROFILE_EXPLAIN_H
#define SN_PROFILE_EXPLAIN_H

struct sn_explanation {
	const char *key;  /* column key, category or idea */
	const char *kind; /* "time", "share", "count", "text", "category", "idea" */
	const char *text; /* one paragraph */
	const char *see;  /* keys or commands that go on from here, or NULL */
};

/** Ended by a NULL key. */
extern const struct sn_explanation sn_explanations[];
/** By key, or by what tables call it: the heading of a column of any view, with its unit or
 * without, or a word of the summary. NULL if there is none. */
const struct sn_explanation *sn_explanation_find(const char *word);

#endif
