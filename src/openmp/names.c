/* The names that compilers give to bodies of regions and tasks. */
#include "openmp/openmp.h"

#include <string.h>

#include "base/text.h"

static const char *const marks[] = { " [clone ._omp_", "._omp_fn.", "._omp_cpyfn.", ".omp_outlined",
				     "omp_task_entry" };

static const char *mark_of(const char *name)
{
	const char *mark = NULL;

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks) && !mark; i++)
		mark = strstr(name, marks[i]);
	return mark;
}

bool sn_openmp_is_nameless(const char *name)
{
	const char *mark = mark_of(name);

	return mark && (mark == name || (mark == name + 1 && *name == '.'));
}

const char *sn_openmp_function_name(struct sn_arena *arena, const char *name, const char *around)
{
	const char *mark = mark_of(name);

	if (!mark)
		return name;
	if (sn_openmp_is_nameless(name))
		return around ? around : name;
	return sn_arena_printf(arena, "%.*s", (int)(mark - name), name);
}

void sn_openmp_add_name(const struct sn_program *program, struct sn_site site, const char *function,
			struct sn_text *text)
{
	const struct sn_program_line *line = NULL;

	if (!function) {
		sn_site_add_name(program, site, text);
		return;
	}
	if (site.line != SN_NONE && site.line < program->lines.count)
		line = &program->lines.items[site.line];
	sn_text_add(text, function);
	if (line && line->file)
		sn_text_addf(text, " (%s:%u)", sn_base_name(line->file), line->line);
}
