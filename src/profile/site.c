/* Sites: the innermost lines of call paths that were written for the program. */
#include "profile/site.h"

#include <string.h>

#include "base/text.h"
#include "profile/category.h"

static bool is_of_language(const struct sn_program *program, uint32_t function)
{
	const struct sn_program_function *f = &program->functions.items[function];

	/* also /usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h */
	return (f->file && strstr(f->file, "/include/") && strstr(f->file, "/c++/")) ||
	       sn_starts_with(f->name, "std::") || sn_starts_with(f->name, "__gnu_cxx::");
}

static bool is_of_library(const struct sn_program *program, uint32_t module)
{
	switch (module == SN_NONE ? SN_MODULE_CLASS_OTHER : program->module_classes[module]) {
	case SN_MODULE_CLASS_LIBC:
	case SN_MODULE_CLASS_LOADER:
	case SN_MODULE_CLASS_ALLOCATOR:
	case SN_MODULE_CLASS_SONDE:
		return true;
	default:
		return false;
	}
}

/* The functions of one frame, the innermost first; those before the site are left out. */
static void frame_add(const struct sn_program *program, const struct sn_program_place *place,
		      struct sn_site_path *path)
{
	bool is_library = is_of_library(program, place->module);

	for (uint32_t s = place->step_count; s-- > 0;) {
		const struct sn_step *step = &program->steps.items[place->first_step + s];

		if (step->kind != SN_STEP_FUNCTION)
			continue;
		if (!path->items.count && (is_library || is_of_language(program, step->index)))
			continue;
		sn_vec_push(&path->items, (struct sn_site){ step->index, step->line });
	}
}

void sn_site_path_read(const struct sn_program *program, uint32_t stack, bool is_site_only,
		       struct sn_site_path *path)
{
	const struct sn_program_place *leaf;

	path->items.count = 0;
	if (stack == SN_NONE || program->first_frame[stack] == program->first_frame[stack + 1]) {
		sn_vec_push(&path->items, (struct sn_site){ SN_NONE, SN_NONE });
		return;
	}
	for (size_t f = program->first_frame[stack]; f < program->first_frame[stack + 1]; f++) {
		frame_add(program, &program->places.items[program->frame_places[f]], path);
		if (is_site_only && path->items.count)
			return;
	}
	if (path->items.count)
		return;
	leaf = sn_program_leaf(program, stack);
	sn_vec_push(&path->items, (struct sn_site){ leaf->function, leaf->line });
}

size_t sn_site_frame(const struct sn_program *program, uint32_t stack)
{
	struct sn_site_path path = { 0 };
	size_t first = program->first_frame[stack], found = first;

	for (size_t f = first; f < program->first_frame[stack + 1] && !path.items.count; f++) {
		frame_add(program, &program->places.items[program->frame_places[f]], &path);
		if (path.items.count)
			found = f;
	}
	sn_vec_free(&path.items);
	return found;
}

struct sn_site sn_site_of(const struct sn_program *program, uint32_t stack)
{
	struct sn_site_path path = { 0 };
	struct sn_site site;

	sn_site_path_read(program, stack, true, &path);
	site = path.items.items[0];
	sn_vec_free(&path.items);
	return site;
}

void sn_site_add_name(const struct sn_program *program, struct sn_site site, struct sn_text *text)
{
	const struct sn_program_function *function;
	const struct sn_program_line *line = NULL;

	if (site.function == SN_NONE) {
		sn_text_add(text, "[no call path]");
		return;
	}
	function = &program->functions.items[site.function];
	if (site.line != SN_NONE && site.line < program->lines.count)
		line = &program->lines.items[site.line];
	sn_text_add(text, function->name);
	if (line && line->file)
		sn_text_addf(text, " (%s:%u)", sn_base_name(line->file), line->line);
	else if (!function->is_named || function->name[0] == '<')
		sn_text_addf(text, " in %s", sn_program_module_name(program, function->module));
}
