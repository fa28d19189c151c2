/* The options that the code was compiled with, and the advice that follows from them. */
#include "cqa/words/advice_parts.h"

#include <math.h>
#include <string.h>

#include "code/options.h"

static bool knows_options(const struct adviser *a)
{
	return a->result->options && sn_has_options(a->result->options);
}

/* Where the first option or word of C stands; NULL: nowhere. */
static const char *first_option(const char *sentence)
{
	static const char *const words[] = { "'restrict'", "'#pragma", "'inline'", "(-", " -" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strstr(sentence, words[i]);

		while (at && words[i][0] != '\'' && !strchr("fgmO", at[2]))
			at = strstr(at + 1, words[i]); /* "->", "- " */
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

/* Where the last of these stands before `end`; NULL: nowhere. */
static const char *last_before(const char *sentence, const char *end, const char *wanted)
{
	const char *last = NULL;

	for (const char *at = strstr(sentence, wanted); at && at < end; at = strstr(at + 1, wanted))
		last = at;
	return last;
}

const char *sn_advice_without_options(struct sn_arena *arena, const char *sentence)
{
	static const char *const cuts[] = { ": ", "; ", " (", "(" };
	const char *option = first_option(sentence), *cut;

	if (!option)
		return sentence;
	cut = last_before(sentence, option, ", or ");
	for (size_t i = 0; !cut && i < sizeof(cuts) / sizeof(*cuts); i++)
		cut = last_before(sentence, option + 1, cuts[i]);
	return cut ? sn_arena_printf(arena, "%.*s.", (int)(cut - sentence), sentence) : NULL;
}

const char *sn_advice_unless_so(const struct adviser *a)
{
	return knows_options(a) ? "" : " (if it is not compiled so already)";
}

/* The widest vectors of the function. */
static unsigned vector_bytes(const struct adviser *a)
{
	const struct sn_function *function = a->result->loop->function;
	unsigned widest = 0;

	for (uint32_t i = 0; i < function->loop_count; i++)
		if (function->loops[i].vector_bytes > widest)
			widest = function->loops[i].vector_bytes;
	return widest;
}

bool sn_advice_has_target(const struct adviser *a, unsigned bytes)
{
	unsigned proof =
		bytes > 32 ? SN_ISA_AVX512 : SN_ISA_AVX | SN_ISA_AVX2 | SN_ISA_FMA | SN_ISA_AVX512;
	bool is_known;

	if (a->path->metrics.isas & proof || vector_bytes(a) >= bytes)
		return true;
	return knows_options(a) && sn_has_target_option(a->result->options, &is_known);
}

static const char *told_not_to_vectorize(const char *options)
{
	static const char *const words[] = { "-fno-tree-vectorize", "-fno-tree-loop-vectorize",
					     "-fno-vectorize" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (sn_has_option(options, words[i]))
			return words[i];
	return NULL;
}

const char *sn_advice_what_to_tell(const struct adviser *a)
{
	const char *told = told_not_to_vectorize(a->result->options);
	bool lacks_level =
		!knows_options(a) || sn_cqa_missing_options(a->result) & 1U << SN_MISSING_O3;
	bool lacks_target = !sn_advice_has_target(a, 32);
	const char *compile = lacks_level && lacks_target
				      ? "compile with -O3 for this processor (-march=native)"
			      : lacks_level  ? "compile with -O3"
			      : lacks_target ? "compile for this processor (-march=native)"
					     : "";

	if (told)
		return TEXT("the compiler was told not to: leave out %s", told);
	return TEXT("%s%s%sadd 'restrict' to pointers that do not overlap, or '#pragma omp simd'",
		    compile, *compile ? sn_advice_unless_so(a) : "", *compile ? ", " : "");
}

/* Options of processors that have no FMA. */
static bool is_without_fma(const char *march)
{
	static const char *const names[] = { "x86-64",	   "x86-64-v2",	 "nocona",	"core2",
					     "nehalem",	   "westmere",	 "sandybridge", "ivybridge",
					     "corei7",	   "corei7-avx", "core-avx-i",	"k8",
					     "silvermont", "bonnell",	 "athlon64",	"btver2" };
	size_t length = strcspn(march, " \t");

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && memcmp(names[i], march, length) == 0)
			return true;
	return false;
}

bool sn_advice_may_fuse(const struct adviser *a)
{
	const char *text = a->result->options;
	const char *march = text ? strstr(text, "-march=") : NULL;

	if (a->path->metrics.isas & (SN_ISA_FMA | SN_ISA_AVX512) || vector_bytes(a) == 64)
		return true;
	if (!text || sn_has_option(text, "-mno-fma"))
		return false;
	return sn_has_option(text, "-mfma") || (march && !is_without_fma(march + 7));
}

bool sn_advise_options(struct adviser *a)
{
	const struct sn_cqa_metrics *m = &a->path->metrics;
	unsigned missing = sn_cqa_missing_options(a->result);
	bool computes = m->isas & SN_ISA_SSE;

	if (missing & 1U << SN_MISSING_LEVEL) {
		enum sn_optimization level = sn_optimization_of(a->result->options);

		sn_advise(a, SN_ADVICE_POTENTIAL, "optimization", NAN,
			  TEXT("Compile with -O2 or -O3: this code was compiled with %s.",
			       sn_optimization_name(level)),
			  TEXT("%.200s", a->result->options));
		return level == SN_O_0;
	}
	if (missing & 1U << SN_MISSING_TARGET && computes && a->machine->rules.vector_bytes > 16 &&
	    !sn_advice_has_target(a, 32))
		sn_advise(
			a, SN_ADVICE_POTENTIAL, "target", NAN,
			TEXT("Compile for this processor (-march=native): the code uses what every "
			     "x86-64 has."),
			TEXT("registers of 16 bytes where there are %u; no -march or -mavx among "
			     "the options",
			     a->machine->rules.vector_bytes));
	return false;
}
