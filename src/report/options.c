#include "report/options.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/** Whether a word of `words` begins with `prefix`; `*word` is the last one that does. */
static bool find_word(const char *words, const char *prefix, const char **word)
{
	bool found = false;

	for (const char *at = words; at && (at = strstr(at, prefix)); at += strlen(prefix)) {
		if (at != words && at[-1] != ' ' && at[-1] != '\n')
			continue;
		*word = at;
		found = true;
	}
	return found;
}

/** True for -O, -O1, -O2, -O3, -Ofast; false for -O0, -Og, -Os and without any. */
static int optimisation_level(const char *words)
{
	const char *word = NULL;

	if (!find_word(words, "-O", &word))
		return 0;
	if (word[2] == 'f')
		return 3;
	if (word[2] == '\0' || word[2] == ' ' || word[2] == '\n')
		return 1;
	return word[2] >= '0' && word[2] <= '9' ? word[2] - '0' : 0;
}

static void add_missing(struct sn_text *out, const char *what)
{
	if (out->length)
		sn_text_add(out, ", ");
	sn_text_add(out, what);
}

const char *sn_options_missing(struct sn_arena *arena, const char *producer,
			       const char *command_line)
{
	struct sn_text words = { 0 }, missing = { 0 };
	const char *word = NULL, *result = NULL;
	int level;

	sn_text_addf(&words, "%s\n%s", producer ? producer : "", command_line ? command_line : "");
	if (!find_word(words.chars, "-m", &word) && !find_word(words.chars, "-O", &word) &&
	    !find_word(words.chars, "-f", &word))
		goto out; /* no options recorded at all: nothing can be said */
	level = optimisation_level(words.chars);
	if (level < 2)
		add_missing(&missing, level ? "-O2 or -O3 (has -O1)" : "-O2 or -O3");
	else if (level < 3)
		add_missing(&missing, "-O3");
	if (!find_word(words.chars, "-march=", &word) || sn_starts_with(word, "-march=x86-64 ") ||
	    !strcmp(word, "-march=x86-64"))
		add_missing(&missing, "-march=native (or the target's)");
	if (missing.length)
		result = sn_arena_strdup(arena, missing.chars);
out:
	sn_text_free(&words);
	sn_text_free(&missing);
	return result;
}
