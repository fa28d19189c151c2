/* Names of functions. Fortran knows no case; its symbols are MODULE's procedures, or procedures with an underscore. */
#include "code/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static bool is_clone_suffix(const char *suffix)
{
	static const char *const clones[] = { ".constprop.",   ".isra.",
					      ".lto_priv.",    " [clone .constprop",
					      " [clone .isra", " [clone .lto_priv" };

	for (size_t i = 0; i < sizeof(clones) / sizeof(*clones); i++)
		if (sn_starts_with(suffix, clones[i]))
			return !sn_ends_with(suffix, ".cold");
	return false;
}

/* A part of a symbol. */
struct part {
	const char *begin;
	size_t length;
};

/* "__solver_mod_MOD_step" (GNU), "_QMsolver_modPstep" and "_QPstep" (LLVM), "solver_mod_mp_step_" (Intel), "step_". */
static bool fortran_parts(const char *linkage, struct part *module, struct part *procedure)
{
	const char *middle;

	*module = (struct part){ linkage, 0 };
	if (sn_starts_with(linkage, "__") && (middle = strstr(linkage, "_MOD_"))) {
		*module = (struct part){ linkage + 2, (size_t)(middle - linkage - 2) };
		middle += strlen("_MOD_");
	} else if (sn_starts_with(linkage, "_QM") && (middle = strchr(linkage, 'P'))) {
		*module = (struct part){ linkage + 3, (size_t)(middle - linkage - 3) };
		middle++;
	} else if (sn_starts_with(linkage, "_QP")) {
		middle = linkage + 3;
	} else if ((middle = strstr(linkage, "_mp_")) && sn_ends_with(linkage, "_")) {
		*module = (struct part){ linkage, (size_t)(middle - linkage) };
		middle += strlen("_mp_");
	} else if (sn_ends_with(linkage, "_") && linkage[0] != '_') {
		middle = linkage;
	} else {
		return false;
	}
	*procedure = (struct part){ middle, strcspn(middle, ".") };
	while (procedure->length && middle[procedure->length - 1] == '_' &&
	       !sn_starts_with(linkage, "__"))
		procedure->length--;
	return procedure->length;
}

static bool is_part(const char *text, size_t length, const struct part *part)
{
	return length == part->length && !strncasecmp(text, part->begin, length);
}

static bool is_procedure(const char *linkage, const char *wanted)
{
	struct part module, procedure;
	const char *scope = strstr(wanted, "::");

	if (!fortran_parts(linkage, &module, &procedure))
		return false;
	if (!scope)
		return is_part(wanted, strlen(wanted), &procedure);
	return is_part(wanted, (size_t)(scope - wanted), &module) &&
	       is_part(scope + 2, strlen(scope + 2), &procedure);
}

enum sn_name_match sn_name_match_of(const char *name, const char *linkage_name, const char *wanted)
{
	const size_t length = strlen(wanted);

	if (!length)
		return SN_NAME_NONE;
	if (linkage_name && !strcmp(linkage_name, wanted))
		return SN_NAME_WHOLE;
	if (name && !strncmp(name, wanted, length)) {
		if (!name[length] || name[length] == '(')
			return SN_NAME_WHOLE;
		if (is_clone_suffix(name + length))
			return SN_NAME_CLONE;
	}
	return linkage_name && is_procedure(linkage_name, wanted) ? SN_NAME_PLAIN : SN_NAME_NONE;
}
