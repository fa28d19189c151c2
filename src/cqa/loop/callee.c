/* Functions that are called only because a compiler option is missing. With it, an instruction
 * takes the place of the call. */
#include <string.h>

#include "code/options.h"
#include "cqa/loop/loop.h"

static const struct {
	const char *name; /* without the f of float */
	const char *option;
} replaced[] = {
	{ "sqrt", "-fno-math-errno" },
	{ "lrint", "-fno-math-errno" },
	{ "llrint", "-fno-math-errno" },
	{ "floor", "-msse4.1" },
	{ "ceil", "-msse4.1" },
	{ "trunc", "-msse4.1" },
	{ "rint", "-msse4.1" },
	{ "nearbyint", "-msse4.1" },
	{ "fma", "-mfma" },
	{ "fmin", "-ffast-math" },
	{ "fmax", "-ffast-math" },
	{ "__popcountdi2", "-mpopcnt" },
	{ "__popcountsi2", "-mpopcnt" },
	{ "__muldc3", "-fcx-limited-range" },
	{ "__mulsc3", "-fcx-limited-range" },
};

/* "sqrtf@plt" is sqrt. */
static bool is_named(const char *function, const char *name)
{
	size_t length = strlen(name), whole = strcspn(function, "@");

	if (strncmp(function, name, length) != 0)
		return false;
	return whole == length || (whole == length + 1 && function[length] == 'f');
}

static bool is_given(const char *options, const char *option)
{
	bool is_known;

	if (sn_has_option(options, option))
		return true;
	if (strcmp(option, "-fno-math-errno") == 0 || strcmp(option, "-fcx-limited-range") == 0)
		return sn_may_reorder(options); /* -ffast-math has them all */
	return option[1] == 'm' && options && sn_has_target_option(options, &is_known) &&
	       strstr(options, "-march=");
}

bool sn_cqa_is_root(const char *function)
{
	return is_named(function + strspn(function, "_"), "sqrt");
}

const char *sn_cqa_option_for_call(const struct sn_cqa_loop *result)
{
	const char *option = NULL;

	if (!result->has_calls)
		return NULL;
	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced) && result->callee; i++)
		if (is_named(result->callee, replaced[i].name))
			option = replaced[i].option;
	/* what gcc makes of sqrt where errno must be set: the instruction, a call for the negative
	 */
	if (!result->callee && !result->calls_many && result->has_root)
		option = "-fno-math-errno";
	return option && !is_given(result->options, option) ? option : NULL;
}
