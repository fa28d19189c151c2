/**
 * What the options in a producer (DW_AT_producer) or a command line say of how code was compiled.
 */
#ifndef SN_CODE_OPTIONS_H
#define SN_CODE_OPTIONS_H

#include <stdbool.h>

enum sn_optimization { SN_O_UNKNOWN, SN_O_0, SN_O_1, SN_O_SIZE, SN_O_2, SN_O_3, SN_O_FAST };
/** "-O0" ...; "" if unknown. */
const char *sn_optimization_name(enum sn_optimization level);

/** What options say. `text` is a producer or a command line; only a gcc producer says by the
 * absence of -O that it was -O0. */
enum sn_optimization sn_optimization_of(const char *text);
/** Whether code was generated for more than plain x86-64. False with `*is_known` false if the text
 *  has no options. */
bool sn_has_target_option(const char *text, bool *is_known);
/** Whether the text has options at all: clang's producer has none. */
bool sn_has_options(const char *text);

#endif
