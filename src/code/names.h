/**
 * What a function is called when a user names it: as tables print it, as its symbol is, or a Fortran procedure by its plain name.
 */
#ifndef SN_CODE_NAMES_H
#define SN_CODE_NAMES_H

/** How well it fits; the best of a file's functions is meant. */
enum sn_name_match {
	SN_NAME_NONE,
	SN_NAME_PLAIN, /* "step" or "STEP" of a Fortran procedure: solver_mod::step, step_ */
	SN_NAME_CLONE, /* what compilers made of it: "f.constprop.0", "f [clone .isra.0]" */
	SN_NAME_WHOLE, /* its name, with or without parameters, or its linkage name */
};

/** `name` as it is printed, `linkage_name` the symbol's; either may be NULL. "f" is not "ns::f". */
enum sn_name_match sn_name_match_of(const char *name, const char *linkage_name, const char *wanted);

#endif
