/**
 * A line of a source text with a caret below the column that a message is about.
 */
#ifndef SN_BASE_EXCERPT_H
#define SN_BASE_EXCERPT_H

#include <stddef.h>
#include <stdio.h>

/** The text of a line (from 1) without its end, borrowed; NULL if there is no such line. */
const char *sn_excerpt_line(const char *chars, size_t length, int line, size_t *line_length);

/** Prints the line and the caret's, four blanks in. The column counts bytes from 1. Nothing for a
 *  line of more than 400 bytes, or one that is not there. */
void sn_excerpt_print(const char *chars, size_t length, int line, int column, FILE *out);

#endif
