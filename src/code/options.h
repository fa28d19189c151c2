/**
 * What the options in a producer (DW_AT_producer) or a command line say about how code was
 * compiled.
 */
#ifndef SN_CODE_OPTIONS_H
#define SN_CODE_OPTIONS_H

#include <stdbool.h>

enum sn_optimization { SN_O_UNKNOWN, SN_O_0, SN_O_1, SN_O_SIZE, SN_O_2, SN_O_3, SN_O_FAST };
/** "-O0" ...; "" if unknown. */
const char *sn_optimization_name(enum sn_optimization level);

/** The optimization level that the options name. `text` is a producer or a command line. The
 * absence of -O means -O0 in a gcc producer only. */
enum sn_optimization sn_optimization_of(const char *text);
/** Whether code was generated for more than plain x86-64. False with `*is_known` false if the text
 *  has no options. */
bool sn_has_target_option(const char *text, bool *is_known);
/** Useful options that code was compiled without, as bits by number. */
enum sn_missing_option {
	SN_MISSING_LINES, /* -g: told by the code's line table, not by the options */
	SN_MISSING_LEVEL, /* -O0, -O1 or -Os */
	SN_MISSING_O3,	  /* -O2 */
	SN_MISSING_TARGET,
	SN_MISSING_COUNT
};
/** "-g", "-O2 or -O3", "-O3", "-march=native". */
extern const char *const sn_missing_option_words[SN_MISSING_COUNT];
/** The useful options that are missing. 0 where options are not known (or `text` is NULL), as
 * nothing is claimed then. */
unsigned sn_missing_options(const char *text);

/** Whether the text has this word. False for NULL. */
bool sn_has_option(const char *text, const char *word);
/** Whether FP sums may be reordered (-ffast-math and its like). False for NULL. */
bool sn_may_reorder(const char *text);
/** Whether products and sums of several statements may become FMAs where the target has them: gcc
 *  does so unless it is told otherwise. False for NULL. */
bool sn_may_contract(const char *text);

/** Whether the compiler of a producer takes the options that advice names: gcc, clang and their kin
 * for C, C++ and Fortran. False for Go, Rust and compilers that are not known. True for NULL, as
 * code without debug information is mostly C. */
bool sn_takes_c_options(const char *producer);

/** Whether the text has options at all: clang's producer has none. */
bool sn_has_options(const char *text);

#endif
