/* The errors of the static model, from data/machines/errors.tsv. */
#include "machine/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "machine/cores/cores.h"

static const char *row_of(const char *machine)
{
	const struct sn_core_text *text = sn_core_text_find("errors");
	size_t length = strlen(machine);

	for (const char *line = text->chars; line && line < text->end;) {
		if (!strncmp(line, machine, length) && line[length] == '\t')
			return line + length + 1;
		line = memchr(line, '\n', (size_t)(text->end - line));
		line += line ? 1 : 0;
	}
	return NULL;
}

double sn_machine_ratio_error(const char *machine)
{
	const char *row = row_of(machine);

	return strtod(row ? row : row_of("*"), NULL);
}

struct sn_interval sn_machine_speedup_interval(const char *machine, double low, double high)
{
	double error = sn_machine_ratio_error(machine);

	return (struct sn_interval){ low > 1 ? fmax(1, low / error) : low,
				     high > 1 ? high * error : high };
}
