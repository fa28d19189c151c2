/* Adds up, over the functions with time, which options their code was compiled without. */
#include "profile/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { WORTH_SAYING_PERCENT = 5 };

static void facts_add_missing(struct sn_compile_facts *facts, unsigned missing, uint64_t ns)
{
	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (missing & 1U << i)
			facts->missing_ns[i] += ns;
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
		if (function && function->unit && function->unit->producer && ns > hottest) {
			hottest = ns;
			compiler_set(&facts, function->unit->producer);
		}
		if (function && function->unit && !sn_takes_c_options(function->unit->producer))
			continue;
		if (!program->lines.items[place->line].line)
			facts.missing_ns[SN_MISSING_LINES] += ns;
		if (structure) {
			const char *options = sn_function_options(structure, function);

			facts.known_ns += options && sn_has_options(options) ? ns : 0;
			facts_add_missing(&facts, sn_missing_options(options), ns);
		}
	}
	return facts;
}

void sn_compile_missing(const struct sn_compile_facts *facts, struct sn_text *out)
{
	for (unsigned i = 0; i < SN_MISSING_COUNT; i++)
		if (facts->missing_ns[i] * 100 >= facts->cpu_ns * WORTH_SAYING_PERCENT &&
		    facts->missing_ns[i])
			sn_text_addf(out, "%s%s (%.0f %%)", out->length ? ", " : "",
				     sn_missing_option_words[i],
				     100 * (double)facts->missing_ns[i] / (double)facts->cpu_ns);
}
