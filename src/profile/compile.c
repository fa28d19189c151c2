#include "profile/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

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
		    sn_has_options(function->unit->producer))
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
