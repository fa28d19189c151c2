/* Names: of functions as they are shown, of phases, and of heartbeats. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "phases/phases.h"

enum { NAME_LONGEST = 32 }; /* of a heartbeat, without what tells it from others */

/* ---- functions ---- */

/* What compilers add to the name of a copy or of a piece of a function. */
static const char *const clone_marks[] = { " [clone ",	  "._omp_fn.", ".omp_outlined",
					   ".constprop.", ".isra.",    ".part.",
					   ".lto_priv.",  ".cold",     "._omp_cpyfn." };

static size_t own_length(const char *name, bool *is_region)
{
	size_t length = strlen(name);

	*is_region = strstr(name, "._omp_fn.") || strstr(name, ".omp_outlined");
	for (size_t i = 0; i < sizeof(clone_marks) / sizeof(*clone_marks); i++) {
		const char *mark = strstr(name, clone_marks[i]);

		if (mark && mark > name && (size_t)(mark - name) < length)
			length = (size_t)(mark - name);
	}
	return length;
}

static void function_describe(struct sn_phases *p, const struct sn_program_function *function,
			      struct sn_phase_function *out)
{
	const struct sn_program *program = p->paths->program;
	size_t length = own_length(function->name, &out->is_region);
	const char *path = function->module == SN_NONE
				   ? NULL
				   : program->experiment->modules.items[function->module].path;

	out->name = function->name;
	out->file = function->file;
	out->line = function->line;
	if (function->name[length])
		out->name = sn_arena_printf(&p->arena, "%.*s", (int)length, function->name);
	else if (path && sn_name_is_address(function->name))
		out->name =
			sn_arena_printf(&p->arena, "%s (%s)", function->name, sn_base_name(path));
}

/* Debug information has no line of a region: the first of those seen. */
static void regions_find_lines(struct sn_phases *p)
{
	const struct sn_program *program = p->paths->program;

	for (size_t i = 0; i < program->lines.count; i++) {
		const struct sn_program_line *line = &program->lines.items[i];
		struct sn_phase_function *f = line->function < p->paths->function_count
						      ? &p->functions[line->function]
						      : NULL;

		if (f && f->is_region && line->line && (!f->line || line->line < f->line)) {
			f->line = line->line;
			f->file = line->file;
		}
	}
}

void sn_phases_name_functions(struct sn_phases *p)
{
	uint32_t count = p->paths->function_count;

	p->functions = sn_alloc_zeroed((size_t)count + 1, sizeof(*p->functions));
	for (uint32_t f = 0; f < count; f++)
		function_describe(p, &p->paths->program->functions.items[f], &p->functions[f]);
	regions_find_lines(p);
}

/* ---- phases ---- */

/* The loop that tells the phase from others. */
static uint32_t mark_loop(const struct sn_phases *p, const struct sn_phase_site *site)
{
	return sn_entity_is_loop(p->paths, site->mark)
		       ? p->paths->loop_of[site->mark - p->paths->function_count]
		       : SN_NONE;
}

static uint32_t mark_function(const struct sn_phases *p, const struct sn_phase_site *site)
{
	return sn_entity_function(p->paths, site->mark);
}

static const char *region_name(struct sn_phases *p, uint32_t function)
{
	const struct sn_phase_function *f = &p->functions[function];

	return f->is_region && f->line ? sn_arena_printf(&p->arena, "%s:%u", f->name, f->line)
				       : f->name;
}

static const char *label_of(struct sn_phases *p, const struct sn_phase *phase)
{
	const struct sn_program *program = p->paths->program;
	const struct sn_phase_site *site = phase->sites.count ? &phase->sites.items[0] : NULL;

	if (!site)
		return phase->profile.count ? p->functions[phase->profile.items[0].function].name
					    : "unknown";
	if (mark_loop(p, site) == SN_NONE)
		return region_name(p, mark_function(p, site));
	return sn_arena_printf(&p->arena, "%s %s", p->functions[mark_function(p, site)].name,
			       program->loops.items[mark_loop(p, site)].code->label);
}

static bool function_is_alone(const struct sn_phases *p, const struct sn_phase *phase)
{
	if (!phase->sites.count)
		return false;
	for (size_t j = 0; j < p->phases.count; j++)
		if (&p->phases.items[j] != phase && p->phases.items[j].sites.count &&
		    !strcmp(p->functions[mark_function(p, &p->phases.items[j].sites.items[0])].name,
			    p->functions[mark_function(p, &phase->sites.items[0])].name))
			return false;
	return true;
}

/* Without the line numbers if the function alone tells the phase: those change with every edit. */
static void phases_name(struct sn_phases *p)
{
	for (size_t i = 0; i < p->phases.count; i++) {
		struct sn_phase *phase = &p->phases.items[i];

		phase->name = function_is_alone(p, phase)
				      ? p->functions[mark_function(p, &phase->sites.items[0])].name
				      : label_of(p, phase);
	}
	for (size_t i = 0; i < p->phases.count; i++) {
		unsigned same = 1;

		for (size_t j = 0; j < i; j++)
			same += !strcmp(p->phases.items[j].name, p->phases.items[i].name);
		if (same > 1)
			p->phases.items[i].name =
				sn_arena_printf(&p->arena, "%s #%u", p->phases.items[i].name, same);
	}
}

/* ---- heartbeats ---- */

struct sites {
	SN_VEC(struct sn_phase_site *) items;
};

static void sites_collect(struct sn_phases *p, struct sites *out)
{
	for (size_t i = 0; i < p->phases.count; i++)
		for (size_t s = 0; s < p->phases.items[i].sites.count; s++)
			sn_vec_push(&out->items, &p->phases.items[i].sites.items[s]);
	for (size_t i = 0; i < p->cycles.count; i++)
		if (p->cycles.items[i].site.heartbeat)
			sn_vec_push(&out->items, &p->cycles.items[i].site);
}

static void heartbeats_number(struct sites *sites)
{
	uint32_t next = 1;

	for (size_t i = 0; i < sites->items.count; i++) {
		struct sn_phase_site *site = sites->items.items[i];

		site->heartbeat = 0;
		for (size_t j = 0; j < i && !site->heartbeat; j++)
			if (sites->items.items[j]->entity == site->entity &&
			    sites->items.items[j]->type == site->type)
				site->heartbeat = sites->items.items[j]->heartbeat;
		if (!site->heartbeat)
			site->heartbeat = next++;
	}
}

/* Whether a character belongs to the name of an operator. */
static bool follows_operator(const char *name, const char *c)
{
	if (*c == '<' && c > name && c[-1] == '<')
		c--;
	return c - name >= 8 && !strncmp(c - 8, "operator", 8);
}

void sn_function_name_strip(const char *name, struct sn_text *out)
{
	static const char unnamed[] = "(anonymous namespace)::";
	int depth = 0;

	if (*name == '<') /* "<function at 0x3b00> (libx.so)" */
		return;
	for (const char *c = name; *c; c++) {
		bool is_operator = follows_operator(name, c);

		if (!strncmp(c, unnamed, sizeof(unnamed) - 1))
			c += sizeof(unnamed) - 2;
		else if (*c == '<' && !is_operator)
			depth++;
		else if (*c == '>' && depth)
			depth--;
		else if (*c == '(' && !depth && !is_operator)
			return;
		else if (*c == ' ' && !depth && !is_operator && c[1] != '<')
			sn_text_clear(out); /* what stands before it is the return type */
		else if (!depth && (*c != ' ' || is_operator))
			sn_text_add_char(out, *c);
	}
}

const char *sn_phase_function_shown(const struct sn_phases *p, uint32_t function,
				    struct sn_arena *arena)
{
	const struct sn_phase_function *f = &p->functions[function];
	struct sn_text text = { 0 };
	const char *shown;

	sn_function_name_strip(f->name, &text);
	if (!text.length)
		sn_text_add(&text, f->name);
	if (f->is_region && f->line)
		sn_text_addf(&text, ":%u", f->line);
	shown = sn_arena_strdup(arena, text.chars);
	sn_text_free(&text);
	return shown;
}

/* The last `components` components of a name of C++ (1: "compute", 2: "PairLJCut::compute"). */
static const char *components_last(const char *name, unsigned components)
{
	const char *at = name + strlen(name);

	while (at > name) {
		if (at - name > 2 && at[-1] == ':' && at[-2] == ':' && !--components)
			return at;
		at -= at - name > 2 && at[-1] == ':' && at[-2] == ':' ? 2 : 1;
	}
	return at;
}

/* Longer and longer until no other heartbeat has it: the function, its class, its line, a number.
 */
static const char *heartbeat_name(struct sn_phases *p, const struct sn_phase_site *site,
				  unsigned form)
{
	const struct sn_program *program = p->paths->program;
	const struct sn_program_loop *loop =
		site->loop == SN_NONE ? NULL : &program->loops.items[site->loop];
	uint32_t line = loop ? loop->code->line_first : p->functions[site->function].line;
	struct sn_text text = { 0 };
	const char *last, *name;
	int length;

	sn_function_name_strip(p->functions[site->function].name, &text);
	last = text.length ? components_last(text.chars, form ? 2 : 1)
			   : p->functions[site->function].name;
	length = (int)strnlen(last, NAME_LONGEST);
	if (form < 2 || (form == 2 && !line))
		name = sn_arena_printf(&p->arena, "%.*s", length, last);
	else if (form == 2)
		name = sn_arena_printf(&p->arena, "%.*s:%u", length, last, line);
	else
		name = sn_arena_printf(&p->arena, "%.*s#%u", length, last, site->heartbeat);
	sn_text_free(&text);
	return name;
}

static bool name_is_taken(const struct sites *sites, const struct sn_phase_site *site)
{
	for (size_t i = 0; i < sites->items.count; i++)
		if (sites->items.items[i]->heartbeat != site->heartbeat &&
		    !strcmp(sites->items.items[i]->name, site->name))
			return true;
	return false;
}

/* All that share a name get longer ones together: none depends on which came first. */
static void heartbeats_name(struct sn_phases *p, struct sites *sites)
{
	size_t count = sites->items.count;
	uint8_t *is_taken = sn_alloc_zeroed(count + 1, 1);

	for (size_t i = 0; i < count; i++)
		sites->items.items[i]->name = heartbeat_name(p, sites->items.items[i], 0);
	for (unsigned form = 1; form <= 3; form++) {
		for (size_t i = 0; i < count; i++)
			is_taken[i] = name_is_taken(sites, sites->items.items[i]);
		for (size_t i = 0; i < count; i++)
			if (is_taken[i])
				sites->items.items[i]->name =
					heartbeat_name(p, sites->items.items[i], form);
	}
	free(is_taken);
}

void sn_phases_name_sites(struct sn_phases *p)
{
	struct sites sites = { 0 };

	phases_name(p);
	sites_collect(p, &sites);
	heartbeats_number(&sites);
	heartbeats_name(p, &sites);
	sn_vec_free(&sites.items);
}
