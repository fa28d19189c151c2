/**
 * The terminal on standard output: how wide it is, and whether it takes colours.
 */
#ifndef SN_BASE_TERMINAL_H
#define SN_BASE_TERMINAL_H

#include <stdio.h>

/** Columns of the terminal on standard output, else of COLUMNS, else 100. */
unsigned sn_terminal_width(void);

/** The escape sequences before and after words that set them off. */
struct sn_style {
	const char *strong, *bar, *good, *fair, *poor, *off;
};

/** The style for `out`. Its words are empty where `out` is no terminal, TERM is "dumb" or not set,
 * or NO_COLOR is set to anything (no-color.org). SONDE_COLOR=always wins over all of it, for pagers
 * that show colours. */
const struct sn_style *sn_terminal_style(FILE *out);

#endif
