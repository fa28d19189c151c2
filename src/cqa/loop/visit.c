/* Which loops of a binary a user means, and a walk through them. */
#include "cqa/loop/visit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"
#include "code/names.h"
#include "code/image.h"

static bool read_address(const char *text, uint64_t *out)
{
	char *end;

	if (!text || text[0] != '0' || (text[1] != 'x' && text[1] != 'X') ||
	    !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*out = strtoull(text + 2, &end, 16);
	return !*end && !errno;
}

sn_status sn_loop_choice_read(const char *function, const char *loop, struct sn_loop_choice *out,
			      struct sn_error *err)
{
	const char *colon;

	memset(out, 0, sizeof(*out));
	out->function = function;
	out->loop = loop;
	if ((out->function && !*out->function) || (out->loop && !*out->loop))
		return sn_error_set(err, SN_ERR_USAGE,
				    "cqa: --%s takes a name, and an empty one is none",
				    out->loop && !*out->loop ? "loop" : "function");
	out->has_function_addr = read_address(out->function, &out->function_link_addr);
	out->has_loop_addr = read_address(out->loop, &out->loop_link_addr);
	colon = out->loop ? strrchr(out->loop, ':') : NULL;
	/* "file:line"; a loop id has two colons and hexadecimal parts */
	if (colon && strchr(out->loop, ':') == colon && colon[1] &&
	    strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		out->file = out->loop;
		out->file_length = (size_t)(colon - out->loop);
		out->line = (unsigned)strtoul(colon + 1, NULL, 10);
	}
	return SN_OK;
}

static bool file_matches(const char *path, const char *asked, size_t length)
{
	size_t whole = path ? strlen(path) : 0;

	return whole >= length && memcmp(path + whole - length, asked, length) == 0 &&
	       (whole == length || path[whole - length - 1] == '/');
}

static enum sn_name_match match_of(const struct sn_function *function, const char *asked)
{
	return sn_name_match_of(function->name, function->linkage_name, asked);
}

static bool loop_matches(const struct sn_loop *loop, const struct sn_loop_choice *choice)
{
	if (!choice->loop)
		return loop->is_innermost;
	if (choice->has_loop_addr)
		return sn_function_loop_at(loop->function, choice->loop_link_addr) == loop;
	if (choice->file)
		return loop->is_innermost && choice->line >= loop->line_first &&
		       choice->line <= loop->line_last &&
		       file_matches(loop->file, choice->file, choice->file_length);
	return strcmp(loop->id, choice->loop) == 0 || strcmp(loop->label, choice->loop) == 0 ||
	       (!choice->is_whole && sn_starts_with(loop->id, choice->loop));
}

static void visit_function(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
			   const struct sn_function *function)
{
	visit->summary.undecoded_places += sn_cqa_undecoded_places(unit->structure, function);
	for (uint32_t i = 0; i < function->loop_count; i++) {
		struct sn_cqa_loop result;

		if (!loop_matches(&function->loops[i], visit->choice))
			continue;
		sn_cqa_loop_analyse(visit->machine, unit->structure, &function->loops[i],
				    &visit->bandwidths, NULL, 0, &result);
		sn_cqa_summary_add(&visit->summary, &result);
		visit->each(visit, unit, &result);
		sn_cqa_loop_free(&result);
	}
}

static bool is_chosen(const struct sn_loop_choice *choice, const struct sn_cqa_unit *unit,
		      enum sn_name_match best, const struct sn_function *function)
{
	if (choice->has_loop_addr &&
	    sn_structure_function_at(unit->structure, choice->loop_link_addr) != function)
		return false;
	if (choice->has_function_addr)
		return sn_structure_function_at(unit->structure, choice->function_link_addr) ==
		       function;
	return !choice->function || (best && match_of(function, choice->function) == best);
}

/* How well those fit that fit best. */
static enum sn_name_match best_match(const struct sn_cqa_unit *unit, const char *asked)
{
	const size_t count = sn_structure_function_count(unit->structure);
	enum sn_name_match best = SN_NAME_NONE;

	for (size_t i = 0; i < count; i++) {
		enum sn_name_match match =
			match_of(sn_structure_function(unit->structure, i), asked);

		best = match > best ? match : best;
	}
	return best;
}

/* Functions that the choice allows, prepared, in order. */
static void each_function(const struct sn_loop_choice *choice, const struct sn_cqa_unit *unit,
			  void (*each)(void *context, const struct sn_cqa_unit *unit,
				       const struct sn_function *function),
			  void *context)
{
	size_t count = sn_structure_function_count(unit->structure);
	struct sn_progress progress;
	enum sn_name_match best = SN_NAME_NONE;

	if (!choice->function && !choice->has_loop_addr)
		sn_structure_prepare_all(unit->structure, SN_PREPARE_ALL);
	else if (choice->function && !choice->has_function_addr &&
		 !best_match(unit, choice->function))
		/* names that only the debug information has, as of Fortran's programs */
		sn_structure_prepare_all(unit->structure, SN_PREPARE_LINES);
	if (choice->function && !choice->has_function_addr)
		best = best_match(unit, choice->function);
	sn_progress_begin(&progress, "analysing functions", count);
	for (size_t i = 0; i < count; i++) {
		const struct sn_function *function = sn_structure_function(unit->structure, i);

		sn_progress_update(&progress, i);
		if (!is_chosen(choice, unit, best, function))
			continue;
		sn_function_prepare(unit->structure, function, SN_PREPARE_ALL);
		each(context, unit, function);
	}
	sn_progress_end(&progress);
}

static void visit_one(void *context, const struct sn_cqa_unit *unit,
		      const struct sn_function *function)
{
	visit_function(context, unit, function);
}

void sn_loop_visit_module(struct sn_loop_visit *visit, struct sn_cqa_module *module)
{
	for (size_t u = 0; u < module->units.count; u++)
		each_function(visit->choice, &module->units.items[u], visit_one, visit);
}

void sn_loop_visit_warn(const struct sn_cqa_module *module)
{
	for (size_t u = 0; u < module->units.count; u++) {
		const struct sn_cqa_unit *unit = &module->units.items[u];

		if (unit->image && sn_image_facts(unit->image).is_damaged)
			sn_warn("'%s': %s", sn_structure_path(unit->structure),
				sn_structure_warning(unit->structure));
	}
	if (module->lost_members)
		sn_warn("%zu members of the thin archive are not there; the first is '%s'",
			module->lost_members, module->first_lost);
	if (module->skipped_members)
		sn_warn("%zu members of the archive hold no x86-64 code and were left out",
			module->skipped_members);
}

/* ---- which loop is meant ---- */

struct matches {
	const struct sn_loop_choice *choice;
	SN_VEC(const struct sn_loop *) items;
};

static void match_one(void *context, const struct sn_cqa_unit *unit,
		      const struct sn_function *function)
{
	struct matches *matches = context;

	(void)unit;
	for (uint32_t i = 0; i < function->loop_count; i++)
		if (loop_matches(&function->loops[i], matches->choice))
			sn_vec_push(&matches->items, &function->loops[i]);
}

static void find_matches(struct matches *matches, const struct sn_cqa_module *module)
{
	matches->items.count = 0;
	for (size_t u = 0; u < module->units.count; u++)
		each_function(matches->choice, &module->units.items[u], match_one, matches);
}

enum { MATCHES_NAMED = 4 }; /* (room) */

static void name_matches(const struct matches *matches, struct sn_text *out)
{
	for (size_t i = 0; i < matches->items.count && i < MATCHES_NAMED; i++) {
		const struct sn_loop *loop = matches->items.items[i];

		sn_text_addf(out, "%s%.80s of %.80s (%s)", i ? ", " : "", loop->label,
			     loop->function->name, loop->id);
	}
	if (matches->items.count > MATCHES_NAMED)
		sn_text_add(out, ", ...");
}

sn_status sn_loop_choice_settle(struct sn_loop_choice *choice, struct sn_cqa_module *module,
				size_t *count, struct sn_error *err)
{
	struct matches matches = { .choice = choice };
	struct sn_text names = { 0 };
	sn_status status = SN_OK;

	*count = 0;
	if (!choice->loop)
		return SN_OK;
	find_matches(&matches, module);
	if (choice->file && !matches.items.count) {
		/* "ID:40" may be the beginning of an id */
		choice->file = NULL;
		find_matches(&matches, module);
	}
	for (size_t i = 0; i < matches.items.count && !choice->file; i++)
		choice->is_whole |= strcmp(matches.items.items[i]->id, choice->loop) == 0;
	*count = choice->is_whole ? 1 : matches.items.count;
	if (!choice->file && *count > 1) {
		name_matches(&matches, &names);
		status = sn_error_set(err, SN_ERR_USAGE,
				      "cqa: %zu loops are meant by '%s': %s; give the id of one",
				      matches.items.count, choice->loop, names.chars);
	}
	sn_text_free(&names);
	sn_vec_free(&matches.items);
	return status;
}
