/**
 * What every column, metric and category means, in words, for `sonde explain` and the help texts of
 * reports. Columns that one view alone has are explained in that view's file (struct sn_view,
 * `words`), all others in explain.c. A test holds that every column of every view is explained.
 */
#ifndef SN_VIEWS_EXPLAIN_H
#define SN_VIEWS_EXPLAIN_H

#include <stddef.h>

struct sn_explanation {
	const char *key;  /* column key, category or idea */
	const char *kind; /* "time", "share", "count", "text", "category", "idea" */
	const char *text; /* one paragraph */
	const char *see;  /* keys or commands that go on from here, or NULL */
};

/** Shared columns, categories and ideas, then words that tables and sentences print and that are no
 * column, then those of each view; NULL behind the last. */
const struct sn_explanation *sn_explanation_at(size_t index);
/** Finds an explanation by key, or by the name in tables: the heading of a column of any view, with
 * its unit or without, or a word of the summary. NULL if there is none. */
const struct sn_explanation *sn_explanation_find(const char *word);

/** The words that are no column (explain_words.c). */
extern const struct sn_explanation sn_explained_words[];
extern const size_t sn_explained_word_count;
/** Values of columns, and modules that are no files (explain_values.c). */
extern const struct sn_explanation sn_explained_values[];
extern const size_t sn_explained_value_count;

#endif
