/* Splits a line into words by the quoting rules of sh (POSIX.1-2017, XCU 2.2), and expands nothing. */
#include "base/words.h"

#include <string.h>

#include "base/text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Adds what stands between quotes; `at` is behind the first. NULL: there is no second. */
static const char *quoted_add(const char *at, char quote, struct sn_text *word)
{
	for (; *at && *at != quote; at++) {
		if (quote == '"' && *at == '\\' && at[1] && strchr("\"\\$`", at[1]))
			at++;
		sn_text_add_char(word, *at);
	}
	return *at ? at + 1 : NULL;
}

static void word_end(struct sn_text *word, bool *is_begun, struct sn_arena *arena,
		     struct sn_words *out)
{
	if (*is_begun)
		sn_vec_push(&out->items,
			    sn_arena_strndup(arena, word->chars ? word->chars : "", word->length));
	sn_text_clear(word);
	*is_begun = false;
}

sn_status sn_words_split(const char *text, const char *separators, struct sn_arena *arena,
			 struct sn_words *out, struct sn_error *err)
{
	struct sn_text word = { 0 };
	bool is_begun = false;

	for (const char *at = text; *at;) {
		if (is_blank(*at) || strchr(separators, *at)) {
			word_end(&word, &is_begun, arena, out);
			at++;
			continue;
		}
		is_begun = true;
		if (*at == '\'' || *at == '"') {
			const char quote = *at;

			at = quoted_add(at + 1, quote, &word);
			if (!at) {
				sn_text_free(&word);
				return sn_error_set(err, SN_ERR_USAGE, "a quote (%c) does not end",
						    quote);
			}
			continue;
		}
		at += *at == '\\' && at[1];
		sn_text_add_char(&word, *at++);
	}
	word_end(&word, &is_begun, arena, out);
	sn_text_free(&word);
	return SN_OK;
}
