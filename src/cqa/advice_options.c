/* What the code was compiled with, and what follows from it. */
#include "cqa/advice_parts.h"

#include <math.h>
#include <string.h>

#include "code/options.h"

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
	const char *options = a->result->options, *told = told_not_to_vectorize(options);
	unsigned missing = sn_cqa_missing_options(a->result);
	bool known = options && sn_has_options(options);
	bool lacks_level = !known || missing & 1U << SN_MISSING_O3;
	bool lacks_target = !known || missing & 1U << SN_MISSING_TARGET;
	const char *compile = lacks_level && lacks_target
				      ? "compile with -O3 for this processor (-march=native), "
			      : lacks_level  ? "compile with -O3, "
			      : lacks_target ? "compile for this processor (-march=native), "
					     : "";

	if (told)
		return TEXT("the compiler was told not to: leave out %s", told);
	return TEXT("%sadd 'restrict' to pointers that do not overlap, or '#pragma omp simd'",
		    compile);
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

	if (a->path->metrics.isas & (SN_ISA_FMA | SN_ISA_AVX512))
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
	    !(m->isas & (SN_ISA_AVX | SN_ISA_AVX2 | SN_ISA_AVX512)))
		sn_advise(
			a, SN_ADVICE_POTENTIAL, "target", NAN,
			TEXT("Compile for this processor (-march=native): the code uses what every "
			     "x86-64 has."),
			TEXT("registers of 16 bytes where there are %u; no -march or -mavx among "
			     "the options",
			     a->machine->rules.vector_bytes));
	return false;
}
