/*
 * Width and colours of the terminal, from the kernel, COLUMNS and TERM. NO_COLOR and SONDE_COLOR
 * are obeyed.
 */
#include "base/terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned sn_terminal_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? (unsigned)atoi(columns) : 100;
}

static bool has_colours(FILE *out)
{
	const char *wish = getenv("SONDE_COLOR"), *none = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (wish && !strcmp(wish, "always"))
		return true;
	return !(none && none[0]) && term && term[0] && strcmp(term, "dumb") != 0 &&
	       isatty(fileno(out));
}

const struct sn_style *sn_terminal_style(FILE *out)
{
	static const struct sn_style plain = { "", "", "", "", "", "" };
	/* the sixteen colours, which the terminal's own palette makes legible on its ground */
	static const struct sn_style coloured = { "\033[1m",  "\033[36m", "\033[32m",
						  "\033[33m", "\033[31m", "\033[0m" };

	return has_colours(out) ? &coloured : &plain;
}
