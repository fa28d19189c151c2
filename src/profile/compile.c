#include "profile/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *sn_optimization_name(enum sn_optimization level)
{
	static const char *const names[] = { "", "-O0", "-O1", "-Os", "-O2", "-O3", "-Ofast" };

	return names[level];
}

static enum sn_optimization level_of_word(const char *word, size_t length)
{
	static const struct {
		const char *word;
		enum sn_optimization level;
	} words[] = { { "-O", SN_O_1 },	      { "-O0", SN_O_0 },    { "-Og", SN_O_1 },
		      { "-O1", SN_O_1 },      { "-O2", SN_O_2 },    { "-O3", SN_O_3 },
		      { "-O4", SN_O_3 },      { "-Os", SN_O_SIZE }, { "-Oz", SN_O_SIZE },
		      { "-Ofast", SN_O_FAST } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].word) == length && !strncmp(words[i].word, word, length))
			return words[i].level;
	return SN_O_UNKNOWN;
}

static bool has_options(const char *text)
{
	return strstr(text, " -m") || strstr(text, " -g") || strstr(text, " -O") ||
	       strstr(text, " -f");
}

enum sn_optimization sn_optimization_of(const char *text)
{
	enum sn_optimization found = SN_O_UNKNOWN;
	bool is_gcc = sn_starts_with(text, "GNU ") && !sn_starts_with(text, "GNU AS");

	for (const char *at = text; *at;) {
		size_t length = strcspn(at, " \n");
		enum sn_optimization level = level_of_word(at, length);

		if (level != SN_O_UNKNOWN)
			found = level; /* the last one counts */
		at += length + (at[length] != 0);
	}
	return found == SN_O_UNKNOWN && is_gcc && has_options(text) ? SN_O_0 : found;
}

bool sn_has_target_option(const char *text, bool *is_known)
{
	*is_known = has_options(text);
	for (const char *at = strstr(text, "-m"); at; at = strstr(at + 2, "-m")) {
		if (at > text && at[-1] != ' ' && at[-1] != '\n')
			continue;
		if (sn_starts_with(at, "-march=") &&
		    !(sn_starts_with(at, "-march=x86-64") &&
		      (at[13] == ' ' || !at[13] || at[13] == '\n')))
			return true;
		if (sn_starts_with(at, "-mavx") || sn_starts_with(at, "-msse4") ||
		    sn_starts_with(at, "-mfma"))
			return true;
	}
	return false;
}

static void facts_add_options(struct sn_compile_facts *facts, const char *text, uint64_t ns)
{
	enum sn_optimization level = sn_optimization_of(text);
	bool is_known, has_target = sn_has_target_option(text, &is_known);

	facts->of_level_ns[level] += ns;
	if (!is_known)
		return;
	facts->known_ns += ns;
	if (!has_target)
		facts->no_target_ns += ns;
}

/* "GNU C17 12.2.0 -mtune=..." without the options. */
static void compiler_set(struct sn_compile_facts *facts, const char *producer)
{
	const char *end = strstr(producer, " -");
	size_t length = end ? (size_t)(end - producer) : strlen(producer);

	snprintf(facts->compiler, sizeof(facts->compiler), "%.*s", (int)length, producer);
}

struct sn_compile_facts sn_compile_facts_find(const struct sn_profile *profile,
					      struct sn_structures *structures, uint32_t module)
{
	struct sn_compile_facts facts = { .module = module };
	struct sn_structure *structure = structures ? sn_structures_of(structures, module) : NULL;
	const struct sn_program *program = profile->program;
	const char *command_line = structure ? sn_structure_command_line(structure) : NULL;
	uint64_t hottest = 0;

	for (size_t i = 0; i < program->places.count; i++) {
		const struct sn_program_place *place = &program->places.items[i];
		uint64_t ns = profile->places[i].cpu_ns;
		const struct sn_function *function;

		if (place->module != module || !ns)
			continue;
		facts.cpu_ns += ns;
		function = structure ? sn_structure_function_at(structure, place->link_addr) : NULL;
		if (!program->functions.items[place->function].is_named)
			facts.unnamed_ns += ns;
		if (!program->lines.items[place->line].line)
			facts.no_lines_ns += ns;
		if (function && function->unit && function->unit->producer &&
		    has_options(function->unit->producer))
			facts_add_options(&facts, function->unit->producer, ns);
		else if (command_line)
			facts_add_options(&facts, command_line, ns);
		if (function && function->unit && function->unit->producer && ns > hottest) {
			hottest = ns;
			compiler_set(&facts, function->unit->producer);
		}
	}
	return facts;
}
