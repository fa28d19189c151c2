/* Names of functions and loops across runs and builds. */
#include "compare/entry.h"

#include <string.h>

#include "compare/names.h"

static const char *copied(struct sn_arena *arena, const char *text)
{
	return text ? sn_arena_strdup(arena, text) : NULL;
}

static const char *module_key(const struct sn_program *program, uint32_t module)
{
	return module < program->experiment->modules.count &&
			       program->experiment->modules.items[module].is_main
		       ? ""
		       : sn_program_module_name(program, module);
}

static bool is_outlined(const struct sn_program_function *function)
{
	return sn_starts_with(function->name, ".omp_outlined.");
}

/* clang before 16 names OpenMP regions after nothing (.omp_outlined._debug__.1). Older experiments have these names
 * (code/bodies.h gives others). A region belongs to the function of its file that begins last before it. */
static const struct sn_program_function *owner_of(const struct sn_program *program,
						  const struct sn_program_function *function)
{
	const struct sn_program_function *owner = NULL;

	if (!is_outlined(function) || !function->file || !function->line)
		return function;
	for (size_t f = 0; f < program->functions.count; f++) {
		const struct sn_program_function *other = &program->functions.items[f];

		if (other->module == function->module && other->file &&
		    !strcmp(other->file, function->file) && other->line &&
		    other->line <= function->line && !is_outlined(other) &&
		    (!owner || other->line > owner->line))
			owner = other;
	}
	return owner ? owner : function;
}

struct sn_compare_entry sn_compare_function(const struct sn_program *program, uint32_t number,
					    struct sn_arena *arena)
{
	const struct sn_program_function *function =
		owner_of(program, &program->functions.items[number]);

	return (struct sn_compare_entry){
		.kind = SN_COMPARE_FUNCTION,
		.module = copied(arena, module_key(program, function->module)),
		.function = sn_compare_own_name(arena, function->linkage_name),
		.name = sn_compare_own_name(arena, function->name),
		.function_name = sn_compare_own_name(arena, function->name),
		.file = copied(arena, sn_base_name(function->file)),
		.line_first = function->line,
	};
}

struct sn_compare_entry sn_compare_loop(const struct sn_program *program, uint32_t number,
					struct sn_arena *arena)
{
	const struct sn_program_loop *loop = &program->loops.items[number];
	const struct sn_program_function *function =
		owner_of(program, &program->functions.items[loop->function]);

	return (struct sn_compare_entry){
		.kind = SN_COMPARE_LOOP,
		.module = copied(arena, module_key(program, loop->module)),
		.function = sn_compare_own_name(arena, function->linkage_name),
		.name = copied(arena, loop->code->label),
		.function_name = sn_compare_own_name(arena, function->name),
		.file = copied(arena, sn_base_name(loop->code->file)),
		.line_first = loop->code->line_first,
		.line_last = loop->code->line_last,
		.depth = loop->code->depth,
	};
}

void sn_compare_key_add(const struct sn_compare_entry *entry, struct sn_text *key)
{
	sn_text_addf(key, "%d\n%s\n%s\n", (int)entry->kind, entry->module, entry->function);
	if (entry->kind == SN_COMPARE_LOOP && entry->line_first)
		sn_text_addf(key, "%u\n%u\n%u", entry->line_first, entry->line_last, entry->depth);
	else if (entry->kind == SN_COMPARE_LOOP)
		sn_text_addf(key, "%s\n%u", entry->name, entry->depth);
}
