/*
 * Sites of a heartbeat plan, looked up in the files that will run: by address where the file is the one that the plan
 * was made of, else by function and lines.
 */
#include "cli/heartbeat_insert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/spelling.h"
#include "code/names.h"
#include "code/image.h"
#include "code/structure.h"
#include "record/target.h"
#include "rewrite/rewrite.h"

enum { WHY_ROOM = 256 };

/* A file with the sites that are in it. */
struct target {
	const char *path;
	struct sn_image *image;
	struct sn_structure *structure;
	bool is_other_build;
};

struct maker {
	const struct sn_heartbeat_plan *plan;
	const char *program;
	struct sn_inserts *out;
	SN_VEC(struct sn_inserted_beat) beats; /* of the file in hand */
	SN_VEC(size_t) site_of;		       /* likewise: of the plan */
};

static void leave_out(const struct sn_heartbeat_site *site, const char *why)
{
	sn_warn("heartbeat '%s' is left out, because %s", site->name, why);
}

/* ---- the file ---- */

/* The program that runs, where the plan's has its name or is the same; else the plan's. */
static const char *path_of(const struct maker *maker, const struct sn_heartbeat_site *site)
{
	struct sn_text id = { 0 }, state = { 0 };
	bool is_program =
		!site->module || !strcmp(sn_base_name(site->module), sn_base_name(maker->program));

	if (!is_program && site->build_id &&
	    sn_image_identify(maker->program, NULL, &id, &state, NULL) == SN_OK)
		is_program = !strcmp(id.chars, site->build_id);
	sn_text_free(&id);
	sn_text_free(&state);
	return is_program ? maker->program : site->module;
}

/* Why nothing can be inserted, as what follows "because"; NULL: it is open. */
static const char *target_open(struct target *target)
{
	if (sn_image_open(target->path, NULL, &target->image, NULL) != SN_OK ||
	    sn_structure_open(target->image, &target->structure, NULL) != SN_OK)
		return "its module's file cannot be read as a program or library";
	if (!sn_image_has_build_id(target->image))
		return "its module has no build-id (link it with -Wl,--build-id)";
	return NULL;
}

static void target_close(struct target *target)
{
	sn_structure_free(target->structure);
	sn_image_free(target->image);
}

static void add_beat(struct maker *maker, size_t at, const struct sn_function *function,
		     const struct sn_loop *loop)
{
	const struct sn_heartbeat_site *site = &maker->plan->sites.items[at];
	struct sn_inserted_beat beat = { function, loop, site->name, site->every };

	sn_vec_push(&maker->beats, beat);
	sn_vec_push(&maker->site_of, at);
}

/* ---- the function ---- */

static bool has_name(const struct sn_function *function, const struct sn_heartbeat_site *site)
{
	const char *name = site->linkage_name ? site->linkage_name : site->function;

	return !strcmp(function->linkage_name, name) || !strcmp(function->name, name);
}

/* "f.constprop.0" and "f.isra.0" are f for some of its callers; "f.0" is one within a function. */
static bool is_clone(const struct sn_function *function, const struct sn_heartbeat_site *site)
{
	const char *name = site->linkage_name ? site->linkage_name : site->function;
	size_t length = strlen(name);
	const char *behind = function->linkage_name + length;
	size_t digits;

	if (strncmp(function->linkage_name, name, length) != 0)
		return false;
	digits = *behind == '.' ? strspn(behind + 1, "0123456789") : 0;
	if (digits)
		behind += digits + 1;
	return (digits && !*behind) ||
	       ((sn_starts_with(behind, ".constprop.") || sn_starts_with(behind, ".isra.")) &&
		!strstr(behind, ".part."));
}

/* Its clones come with it: they are the function for some of its callers. */
static void add_clones(struct maker *maker, const struct target *target, size_t at,
		       const struct sn_function *function)
{
	const struct sn_heartbeat_site *site = &maker->plan->sites.items[at];

	for (size_t f = 0; f < sn_structure_function_count(target->structure); f++) {
		const struct sn_function *clone = sn_structure_function(target->structure, f);

		if (clone == function || !is_clone(clone, site))
			continue;
		sn_function_prepare(target->structure, clone, SN_PREPARE_ALL);
		add_beat(maker, at, clone, NULL);
	}
}

/* A Fortran procedure by its plain name. */
static const struct sn_function *find_procedure(const struct sn_structure *structure,
						const char *name, unsigned *count)
{
	const struct sn_function *found = NULL;

	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		if (sn_name_match_of(function->name, function->linkage_name, name) ==
		    SN_NAME_PLAIN) {
			found = function;
			++*count;
		}
	}
	return found;
}

static const struct sn_function *find_by_name(struct sn_structure *structure,
					      const struct sn_heartbeat_site *site, char *why)
{
	const char *wanted = site->linkage_name ? site->linkage_name : site->function;
	const char *near = NULL;
	const struct sn_function *found = NULL;
	const struct sn_function *clone = NULL; /* if nothing has the very name */
	unsigned count = 0, clones = 0;

	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		if (has_name(function, site)) {
			found = function;
			count++;
		} else if (is_clone(function, site)) {
			clone = function;
			clones++;
		} else if (sn_spelling_is_nearer(wanted, function->linkage_name, near)) {
			near = function->linkage_name;
		} else if (site->function &&
			   sn_spelling_is_nearer(site->function, function->name, near)) {
			near = function->name;
		}
	}
	if (count == 1 || (!count && clones))
		return count ? found : clone;
	if (!count && site->function)
		found = find_procedure(structure, site->function, &count);
	if (count == 1)
		return found;
	if (count)
		snprintf(why, WHY_ROOM, "%u functions are called '%.100s'", count, wanted);
	else
		snprintf(why, WHY_ROOM, "'%.80s' has no function '%.80s'%s%.60s%s",
			 sn_base_name(sn_structure_path(structure)), wanted,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return NULL;
}

/* Names of parts and of what nothing names are no sign of another function. */
static bool may_be_called(const struct sn_function *function, const struct sn_heartbeat_site *site)
{
	const char *name = site->linkage_name ? site->linkage_name : site->function;

	return function->kind != SN_FUNCTION_SYMBOL || has_name(function, site) ||
	       sn_starts_with(function->linkage_name, name) ||
	       (site->function && !strcmp(function->name, site->function));
}

static const struct sn_function *find_function(const struct target *target,
					       const struct sn_heartbeat_site *site, char *why)
{
	const struct sn_function *function = NULL;

	if (!target->is_other_build && site->function_link_addr)
		function = sn_structure_function_at(target->structure, site->function_link_addr);
	if (function && function->link_addr == site->function_link_addr &&
	    (site->is_loop || may_be_called(function, site)))
		return function;
	if (!target->is_other_build && site->function_link_addr)
		sn_warn("heartbeat '%s': '%s' does not begin at 0x%" PRIx64
			": its function is found by its name",
			site->name, site->linkage_name ? site->linkage_name : site->function,
			site->function_link_addr);
	return find_by_name(target->structure, site, why);
}

/* ---- the loop ---- */

static const struct sn_loop *loop_at_header(const struct target *target, uint64_t link_addr)
{
	const struct sn_function *function = sn_structure_function_at(target->structure, link_addr);

	if (!function)
		return NULL;
	sn_function_prepare(target->structure, function, SN_PREPARE_ALL);
	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].header_link_addr == link_addr)
			return &function->loops[l];
	return NULL;
}

/* How much of the lines of either both have, from 0 to 1. */
static double common_lines(const struct sn_loop *loop, const struct sn_heartbeat_site *site)
{
	uint32_t end = site->loop_line_last >= site->loop_line_first ? site->loop_line_last
								     : loop->line_last;
	uint32_t first = site->loop_line_first;
	double both = fmin(end, loop->line_last) - fmax(first, loop->line_first) + 1;
	double all = fmax(end, loop->line_last) - fmin(first, loop->line_first) + 1;

	return both > 0 ? both / all : 0;
}

/* The loop of these lines, or nearly these: where a loop begins and ends depends on how it was compiled. */
static const struct sn_loop *loop_at_lines(const struct sn_function *function,
					   const struct sn_heartbeat_site *site)
{
	const struct sn_loop *found = NULL;
	double best = 0.5;

	for (uint32_t l = 0; l < function->loop_count; l++) {
		const struct sn_loop *loop = &function->loops[l];
		double common = loop->line_first ? common_lines(loop, site) : 0;

		if (site->loop_file && loop->file &&
		    strcmp(sn_base_name(loop->file), sn_base_name(site->loop_file)))
			continue;
		/* of those that are alike the outermost */
		if (common > best) {
			best = common;
			found = loop;
		}
	}
	return found;
}

static const struct sn_loop *find_loop(const struct target *target,
				       const struct sn_heartbeat_site *site,
				       const struct sn_function *function, char *why)
{
	const struct sn_loop *loop = NULL;

	if (!target->is_other_build && site->loop_header_link_addr)
		loop = loop_at_header(target, site->loop_header_link_addr);
	if (!loop && site->loop_line_first)
		loop = loop_at_lines(function, site);
	if (!loop)
		snprintf(why, WHY_ROOM, "'%.80s' has no loop at lines %u-%u%s", function->name,
			 site->loop_line_first,
			 site->loop_line_last ? site->loop_line_last : site->loop_line_first,
			 target->is_other_build ? " in this build" : "");
	return loop ? sn_loop_main(loop) : NULL;
}

/* ---- all of a file ---- */

/* A source loop may be several of the code: its first iterations, the others, versions of it. */
static void add_loops(struct maker *maker, size_t at, const struct sn_loop *loop)
{
	const struct sn_function *function = loop->function;

	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].group == loop->index && function->loops[l].unroll > 1) {
			char why[WHY_ROOM];

			snprintf(why, sizeof(why),
				 "a pass of its machine code does %u iterations of the source",
				 function->loops[l].unroll);
			leave_out(&maker->plan->sites.items[at], why);
			return;
		}
	for (uint32_t l = 0; l < function->loop_count; l++)
		if (function->loops[l].group == loop->index)
			add_beat(maker, at, function, &function->loops[l]);
}

static void find_site(struct maker *maker, struct target *target, size_t at)
{
	const struct sn_heartbeat_site *site = &maker->plan->sites.items[at];
	char why[WHY_ROOM];
	const struct sn_function *function;
	const struct sn_loop *loop;

	target->is_other_build =
		!site->build_id || strcmp(site->build_id, sn_image_id(target->image)) != 0;
	function = find_function(target, site, why);
	if (!function) {
		leave_out(site, why);
		return;
	}
	sn_function_prepare(target->structure, function, SN_PREPARE_ALL);
	if (!site->is_loop) {
		add_beat(maker, at, function, NULL);
		/* a recorded run has names for each of them */
		if (target->is_other_build || !site->function_link_addr)
			add_clones(maker, target, at, function);
		return;
	}
	loop = find_loop(target, site, function, why);
	if (loop)
		add_loops(maker, at, loop);
	else
		leave_out(site, why);
}

static void make_code(struct maker *maker, struct target *target)
{
	struct sn_rewriter *rewriter = sn_rewriter_new(target->image, target->structure);
	const char **refusals = sn_alloc_zeroed(maker->beats.count + 1, sizeof(*refusals));
	struct sn_insert_module module = { sn_strdup(sn_image_id(target->image)), { 0 } };
	size_t told = SIZE_MAX;

	maker->out->beats += (uint32_t)sn_rewriter_beats(
		rewriter, maker->beats.items, maker->beats.count, refusals, &module.code);
	for (size_t i = 0; i < maker->beats.count; i++) {
		size_t at = maker->site_of.items[i];

		if (refusals[i])
			leave_out(&maker->plan->sites.items[at], refusals[i]);
		else if (at != told)
			maker->out->sites++, told = at;
	}
	if (module.code.length) {
		sn_vec_push(&maker->out->modules, module);
	} else {
		free(module.build_id);
		sn_text_free(&module.code);
	}
	free(refusals);
	sn_rewriter_free(rewriter);
}

static void make_target(struct maker *maker, const char *path, const char *const *paths)
{
	struct target target = { .path = path };
	const char *why = target_open(&target);
	bool is_said = false;

	maker->beats.count = maker->site_of.count = 0;
	for (size_t i = 0; i < maker->plan->sites.count; i++) {
		if (!paths[i] || strcmp(paths[i], path))
			continue;
		if (why) {
			leave_out(&maker->plan->sites.items[i], why);
			continue;
		}
		find_site(maker, &target, i);
		if (target.is_other_build && maker->plan->sites.items[i].build_id && !is_said)
			sn_warn("'%s' is another build than the plan was made of: its places are "
				"found by function and line",
				path);
		is_said |= target.is_other_build;
	}
	if (!why && maker->beats.count)
		make_code(maker, &target);
	target_close(&target);
}

/* Nothing beats then, unless the program starts another one. */
static void say_if_of_others(const struct maker *maker, const char *const *paths)
{
	bool is_of_others = sn_target_is_program(maker->program);

	for (size_t i = 0; i < maker->plan->sites.count; i++)
		is_of_others &=
			strcmp(paths[i], maker->program) != 0 && sn_target_is_program(paths[i]);
	if (is_of_others && maker->out->sites)
		sn_warn("the plan's heartbeats are of other programs ('%s'), and none of '%s': they beat "
			"where it starts these",
			sn_base_name(paths[0]), maker->program);
}

void sn_cli_inserts_make(const struct sn_heartbeat_plan *plan, const char *program,
			 struct sn_inserts *out)
{
	struct maker maker = { .plan = plan, .program = program, .out = out };
	const char **paths = sn_alloc_zeroed(plan->sites.count + 1, sizeof(*paths));

	*out = (struct sn_inserts){ 0 };
	for (size_t i = 0; i < plan->sites.count; i++)
		paths[i] = path_of(&maker, &plan->sites.items[i]);
	for (size_t i = 0; i < plan->sites.count; i++) {
		bool is_new = true;

		for (size_t j = 0; j < i; j++)
			is_new &= strcmp(paths[j], paths[i]) != 0;
		if (is_new)
			make_target(&maker, paths[i], paths);
	}
	say_if_of_others(&maker, paths);
	sn_vec_free(&maker.beats);
	sn_vec_free(&maker.site_of);
	free(paths);
}

void sn_cli_inserts_free(struct sn_inserts *inserts)
{
	for (size_t i = 0; i < inserts->modules.count; i++) {
		free(inserts->modules.items[i].build_id);
		sn_text_free(&inserts->modules.items[i].code);
	}
	sn_vec_free(&inserts->modules);
}
