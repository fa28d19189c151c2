/** The machines we know: names, rules, and which table and overlays each one reads. */
#ifndef SN_MACHINE_RULES_H
#define SN_MACHINE_RULES_H

#include "machine/machine.h"

enum { SN_MACHINE_TEXTS_MAX = 4 };

struct sn_machine_definition {
	const char *name, *title;
	const char *texts[SN_MACHINE_TEXTS_MAX]; /* names of embedded tables, base first */
	struct sn_rules rules;
};

extern const struct sn_machine_definition sn_machine_definitions[];
extern const unsigned sn_machine_definition_count;

/** An embedded table by its file name without ".tsv", or NULL. Generated at build time. */
struct sn_machine_text {
	const char *name;
	const char *chars, *end;
};
const struct sn_machine_text *sn_machine_text_find(const char *name);

#endif
