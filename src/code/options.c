/*
 * Searches the text of compiler options for those that matter to analysis: the level of
 * optimization, whether floating-point sums may be reordered, and which options that would help
 * are missing.
 */
#include "code/options.h"

#include <string.h>

#include "base/text.h"

const char *sn_optimization_name(enum sn_optimization level)
{
	static const char *const names[] = { "", "-O0", "-O1", "-Os", "-O2", "-O3", "-Ofast" };

	return names[level];
}

static enum sn_optimization level_of_word(const char *word, size_t length)
{
	static const struct {
		const char *word;
		enum sn_optimization level;
	} words[] = { { "-O", SN_O_1 },	      { "-O0", SN_O_0 },    { "-Og", SN_O_1 },
		      { "-O1", SN_O_1 },      { "-O2", SN_O_2 },    { "-O3", SN_O_3 },
		      { "-O4", SN_O_3 },      { "-Os", SN_O_SIZE }, { "-Oz", SN_O_SIZE },
		      { "-Ofast", SN_O_FAST } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].word) == length && !strncmp(words[i].word, word, length))
			return words[i].level;
	return SN_O_UNKNOWN;
}

static bool is_blank(char c)
{
	return !c || c == ' ' || c == '\n';
}

/* "-mfma" is no part of "-mfma4". */
bool sn_has_option(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text ? strstr(text, word) : NULL; at; at = strstr(at + length, word))
		if ((at == text || is_blank(at[-1])) && is_blank(at[length]))
			return true;
	return false;
}

bool sn_may_reorder(const char *text)
{
	if (!text || sn_has_option(text, "-fno-associative-math") ||
	    sn_has_option(text, "-fno-fast-math") ||
	    sn_has_option(text, "-fno-unsafe-math-optimizations"))
		return false;
	return sn_optimization_of(text) == SN_O_FAST || sn_has_option(text, "-ffast-math") ||
	       sn_has_option(text, "-funsafe-math-optimizations") ||
	       sn_has_option(text, "-fassociative-math");
}

bool sn_may_contract(const char *text)
{
	if (!text || sn_has_option(text, "-ffp-contract=off") ||
	    sn_has_option(text, "-ffp-contract=on"))
		return false;
	if (sn_has_option(text, "-ffp-contract=fast") || sn_has_option(text, "-ffast-math"))
		return true;
	/* -std=c17 and the like turn it off */
	return sn_starts_with(text, "GNU ") && sn_has_options(text) && !strstr(text, " -std=c");
}

bool sn_takes_c_options(const char *producer)
{
	static const char *const makers[] = { "GNU ",	"clang", "flang",    "Intel",
					      "NVIDIA", "PGI",	 "nvc",	     "nvfortran",
					      "Cray",	"AOCC",	 "pathscale" };

	if (!producer)
		return true;
	if (strstr(producer, "rustc")) /* "clang LLVM (rustc version 1.63.0)" */
		return false;
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		if (strstr(producer, makers[i]))
			return true;
	return false;
}

bool sn_has_options(const char *text)
{
	return strstr(text, " -m") || strstr(text, " -g") || strstr(text, " -O") ||
	       strstr(text, " -f");
}

enum sn_optimization sn_optimization_of(const char *text)
{
	enum sn_optimization found = SN_O_UNKNOWN;
	bool is_gcc = sn_starts_with(text, "GNU ") && !sn_starts_with(text, "GNU AS");

	for (const char *at = text; *at;) {
		size_t length = strcspn(at, " \n");
		enum sn_optimization level = level_of_word(at, length);

		if (level != SN_O_UNKNOWN)
			found = level; /* the last one counts */
		at += length + (at[length] != 0);
	}
	return found == SN_O_UNKNOWN && is_gcc && sn_has_options(text) ? SN_O_0 : found;
}

bool sn_has_target_option(const char *text, bool *is_known)
{
	*is_known = sn_has_options(text);
	for (const char *at = strstr(text, "-m"); at; at = strstr(at + 2, "-m")) {
		if (at > text && at[-1] != ' ' && at[-1] != '\n')
			continue;
		if (sn_starts_with(at, "-march=") &&
		    !(sn_starts_with(at, "-march=x86-64") &&
		      (at[13] == ' ' || !at[13] || at[13] == '\n')))
			return true;
		if (sn_starts_with(at, "-mavx") || sn_starts_with(at, "-msse4") ||
		    sn_starts_with(at, "-mfma"))
			return true;
	}
	return false;
}

const char *const sn_missing_option_words[SN_MISSING_COUNT] = { "-g", "-O2 or -O3", "-O3",
								"-march=native" };

unsigned sn_missing_options(const char *text)
{
	bool is_known = false, has_target;
	unsigned missing = 0;

	if (!text)
		return 0;
	has_target = sn_has_target_option(text, &is_known);
	if (!is_known)
		return 0;
	switch (sn_optimization_of(text)) {
	case SN_O_0:
	case SN_O_1:
	case SN_O_SIZE:
		missing |= 1U << SN_MISSING_LEVEL;
		break;
	case SN_O_2:
		missing |= 1U << SN_MISSING_O3;
		break;
	default:
		break;
	}
	return has_target ? missing : missing | 1U << SN_MISSING_TARGET;
}
