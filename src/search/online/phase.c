/* Places by name, function or line, in the program's own file, else in a library of it. */
#include "search/online/phase.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/spelling.h"
#include "base/text.h"
#include "code/image.h"
#include "record/target.h"
#include "search/online/libraries.h"
#include "search/online/places.h"

/* "solve.c:41": how long the file's name is, and the line; false: it is no such thing. */
static bool is_place(const char *wanted, size_t *file_length, uint32_t *line)
{
	const char *colon = strrchr(wanted, ':');
	char *end;
	unsigned long number =
		colon && colon > wanted && colon[-1] != ':' ? strtoul(colon + 1, &end, 10) : 0;

	if (!number || *end || number > UINT32_MAX)
		return false;
	*file_length = (size_t)(colon - wanted);
	*line = (uint32_t)number;
	return true;
}

/* ---- heartbeats ---- */

/* Whether what is loaded has these bytes, behind a zero. Names of symbols are no texts: `or_symbol`, they count. */
static bool is_loaded(const struct sn_image *image, const char *text, bool or_symbol)
{
	const size_t length = strlen(text) + 1;
	const struct sn_segment *segments;
	size_t count;

	segments = sn_image_segments(image, &count);
	for (size_t i = 0; i < count; i++) {
		size_t left;
		const uint8_t *bytes = sn_image_bytes(image, segments[i].link_addr, &left);

		for (const uint8_t *at = bytes; at; at++) {
			const struct sn_section *section;

			at = memmem(at, left - (size_t)(at - bytes), text, length);
			if (!at)
				break;
			section = sn_image_section_at(image, segments[i].link_addr +
								     (uint64_t)(at - bytes));
			if (at > bytes && !at[-1] &&
			    (or_symbol || !section || !section->name ||
			     strcmp(section->name, ".dynstr") != 0))
				return true;
		}
	}
	return false;
}

static bool knows_heartbeats(const struct sn_image *image)
{
	static const char marker[] = "sonde_heartbeat_register";

	return is_loaded(image, marker, true) || sn_image_symbol_named(image, marker);
}

/* The program has the text by itself, and knows the heartbeat library. */
static bool is_heartbeat(const char *path, const char *wanted)
{
	const struct sn_image_options options = { .only_this_file = true, .on_demand = true };
	struct sn_image *image = NULL;
	bool is_one = false;

	if (sn_image_open(path, &options, &image, NULL) == SN_OK)
		is_one = knows_heartbeats(image) && is_loaded(image, wanted, false);
	sn_image_free(image);
	return is_one;
}

/* ---- what was meant ---- */

/* What is wanted, as it was typed. */
struct wanted {
	const char *words;
	size_t file_length; /* of FILE:LINE */
	uint32_t line;	    /* 0: another thing */
};

struct near {
	const char *wanted;
	size_t distance; /* of `name` */
	struct sn_text name;
};

static void near_take(struct near *near, const char *compared, const char *name, size_t length)
{
	size_t distance = sn_spelling_distance(near->wanted, compared);

	/* what compilers and C libraries add to a program is no phase that anybody means */
	if (!sn_spelling_is_near(near->wanted, compared) ||
	    (compared[0] == '_' && near->wanted[0] != '_') ||
	    (near->name.length && distance >= near->distance))
		return;
	near->distance = distance;
	sn_text_clear(&near->name);
	sn_text_add_bytes(&near->name, name, length);
}

/* "ns::f(int)": `ns::f` and `f` are compared, without what a compiler made of it. */
static void near_function(const char *name, void *context)
{
	enum { LONGEST = 256 };
	char stem[LONGEST];
	size_t length = sn_name_stem_length(name);
	const char *scope = NULL;

	length = strcspn(name, ".") < length ? strcspn(name, ".") : length;
	if (!length || length >= sizeof(stem))
		return;
	memcpy(stem, name, length);
	stem[length] = '\0';
	near_take(context, stem, stem, length);
	for (const char *at = stem; (at = strstr(at, "::")) != NULL; at += 2)
		scope = at + 2;
	if (scope && *scope)
		near_take(context, scope, stem, length);
}

static void near_file(const char *file, void *context)
{
	near_take(context, sn_base_name(file), sn_base_name(file), strlen(sn_base_name(file)));
}

/* Any text of the program's data can be a heartbeat's name. */
static void near_texts(const struct sn_image *image, struct near *near)
{
	size_t count;
	const struct sn_segment *segments = sn_image_segments(image, &count);

	for (size_t i = 0; i < count; i++) {
		size_t left;
		const char *at = (const char *)sn_image_bytes(image, segments[i].link_addr, &left);

		for (const char *end = at ? at + left : NULL; at && at < end;) {
			size_t length = strnlen(at, (size_t)(end - at));
			uint64_t link_addr = segments[i].link_addr + left - (uint64_t)(end - at);
			const struct sn_section *section;

			if (length > 1 && length < SN_MONITOR_TEXT_MAX && at + length < end &&
			    sn_spelling_is_near(near->wanted, at)) {
				section = sn_image_section_at(image, link_addr);
				if (section && section->name &&
				    (sn_starts_with(section->name, ".rodata") ||
				     sn_starts_with(section->name, ".data")))
					near_take(near, at, at, length);
			}
			at += length + 1;
		}
	}
}

/* A name at fault is not looked for in libraries. */
static void near_find(const struct sn_structure *structure, const struct wanted *w,
		      const char *path, struct sn_text *out)
{
	char *file = w->line ? sn_strndup(w->words, w->file_length) : NULL;
	struct near near = { .wanted = file ? sn_base_name(file) : w->words };
	const struct sn_image_options options = { .only_this_file = true, .on_demand = true };
	struct sn_image *image = NULL;

	if (file) {
		sn_places_files_see(structure, near_file, &near);
	} else {
		if (sn_image_open(path, &options, &image, NULL) == SN_OK && knows_heartbeats(image))
			near_texts(image, &near);
		sn_places_names_see(structure, near_function, &near);
		sn_image_free(image);
	}
	if (near.name.length)
		sn_text_add(out, near.name.chars);
	if (near.name.length && w->line)
		sn_text_addf(out, ":%u", w->line);
	sn_text_free(&near.name);
	free(file);
}

/* ---- all ---- */

enum { SHOWN = 6 };

static void places_add(const struct sn_places *places, struct sn_text *out)
{
	const bool are_several = sn_places_are_several(places);

	for (size_t i = 0; i < places->items.count && i < SHOWN; i++) {
		const struct sn_place *place = &places->items.items[i];

		sn_text_add(out, i ? ", " : "");
		sn_place_add_label(place, out);
		if (are_several && place->file && place->line)
			sn_text_addf(out, " of %s:%u", place->file, place->line);
	}
	sn_text_add(out, places->items.count > SHOWN ? ", ..." : "");
}

/* ", the nearest line that can be one is solve.c:41 (in main)". */
static void nearest_add(const struct sn_structure *structure, const struct wanted *w,
			struct sn_text *out)
{
	struct sn_place nearest;

	if (w->line && sn_places_nearest(structure, w->words, w->file_length, w->line, &nearest))
		sn_text_addf(out, "; the nearest line that can be a phase is %.*s:%u (in %s)",
			     (int)w->file_length, w->words, nearest.line, nearest.function->name);
}

static sn_status line_is_mixed_set(const struct wanted *w, const char *path,
				   const struct sn_text *nearest, struct sn_error *err)
{
	return sn_error_set(
		err, SN_ERR_USAGE,
		"--phase '%s': no instruction of '%s' is passed once in each execution of that line, as the "
		"compiler joined branches of it with others%s",
		w->words, path, nearest->length ? nearest->chars : "");
}

static sn_status none_set(const struct sn_structure *structure, const struct wanted *w,
			  const struct sn_places *places, const char *path, struct sn_error *err)
{
	struct sn_text nearest = { 0 }, near = { 0 };
	sn_status status;

	nearest_add(structure, w, &nearest);
	near_find(structure, w, path, &near);
	if (places->unwatchable && w->line)
		status = line_is_mixed_set(w, path, &nearest, err);
	else if (places->unwatchable)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': '%s' has it inlined %zu %s only, and no copy has an instruction "
			"that each execution passes once: give the loop or the call as FILE:LINE",
			w->words, path, places->unwatchable,
			places->unwatchable == 1 ? "time" : "times");
	else if (nearest.length)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': no instruction of '%s' is that line's alone, as it has no "
			"code, or the compiler made it one with others%s",
			w->words, path, nearest.chars);
	else if (near.length)
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': '%s' has no heartbeat, function or line of that name; did you "
			"mean '%s'?",
			w->words, path, near.chars);
	else
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': '%s' has no heartbeat, function or line of that "
			"name, nor have its libraries ('sonde structure -l functions' lists "
			"a file's functions)",
			w->words, path);
	sn_text_free(&nearest);
	sn_text_free(&near);
	return status;
}

static sn_status places_check(const struct sn_structure *structure, const struct wanted *w,
			      const struct sn_places *places, const char *path,
			      struct sn_error *err)
{
	const size_t count = places->items.count;
	const bool are_several = sn_places_are_several(places);
	struct sn_text names = { 0 }, nearest = { 0 };

	if (!count)
		return none_set(structure, w, places, path, err);
	if (places->unwatchable && !are_several && w->line) {
		nearest_add(structure, w, &nearest);
		line_is_mixed_set(w, path, &nearest, err);
		sn_text_free(&nearest);
		return SN_ERR_USAGE;
	}
	if (places->unwatchable && !are_several)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': '%s' has it inlined, and %zu %s no instruction that each execution "
			"passes once, so a part of the executions would not be seen: give the call as FILE:LINE",
			w->words, path, places->unwatchable,
			places->unwatchable == 1 ? "of its copies has" : "of its copies have");
	if (count <= SN_MONITOR_PLACES_MAX && !are_several)
		return SN_OK;
	places_add(places, &names);
	if (!are_several)
		nearest_add(structure, w, &nearest);
	if (are_several)
		sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s' means %zu places in '%s' (%s): name one of them, as FILE:LINE with "
			"more of the path, by its whole name, or as FUNCTION+0xOFFSET",
			w->words, count, path, names.chars);
	else
		sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': the compiler made %zu copies or beginnings of it in '%s' (%s), and %d "
			"can be watched: name one of them so%s",
			w->words, count, path, names.chars, SN_MONITOR_PLACES_MAX,
			nearest.length ? nearest.chars : "");
	sn_text_free(&names);
	sn_text_free(&nearest);
	return SN_ERR_USAGE;
}

static void places_take(const struct sn_places *places, struct sn_phase *out)
{
	const struct sn_place *first = places->items.items;

	out->boundary.kind = SN_MONITOR_BOUNDARY_ADDRESS;
	for (size_t i = 0; i < places->items.count && i < SN_MONITOR_PLACES_MAX; i++)
		out->boundary.link_addrs[i] = places->items.items[i].link_addr;
	sn_text_clear(&out->file);
	sn_text_add(&out->file, first->file ? first->file : "");
	out->line = first->line;
}

/* Places of a file; nothing is found in one that cannot be read. */
static sn_status places_find(const char *path, const struct wanted *w, struct sn_phase *out,
			     size_t *matches, struct sn_error *err)
{
	struct sn_places places = { 0 };
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;
	sn_status status = sn_image_open(path, NULL, &image, err);

	if (status == SN_OK)
		status = sn_structure_open(image, &structure, err);
	if (status == SN_OK) {
		if (w->line) {
			sn_structure_prepare_all(structure, SN_PREPARE_ALL);
			sn_places_of_line(structure, w->words, w->file_length, w->line, &places);
		} else {
			sn_places_of_function(structure, w->words, &places);
		}
		if (!places.items.count && !places.unwatchable)
			sn_places_of_label(structure, w->words, &places);
		status = places_check(structure, w, &places, path, err);
	}
	if (status == SN_OK)
		places_take(&places, out);
	*matches = places.items.count + places.unwatchable;
	sn_vec_free(&places.items);
	sn_structure_free(structure);
	sn_image_free(image);
	return status;
}

/* Whether a file may have the place: the last word of a function's name stands in its symbol. */
static bool may_have(const char *path, const char *wanted)
{
	const char *colon = strrchr(wanted, ':'), *word = colon ? colon + 1 : wanted;
	size_t length = strcspn(word, "(<+");
	struct sn_file_view view;
	bool is_there;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return false;
	is_there = memmem(view.bytes, view.length, word, length) != NULL;
	sn_file_unmap(&view);
	return is_there;
}

/* In the first library that has it, as the loader looks for it. SN_ERR_NOT_FOUND: none has, or the program is no
 * file with a loader. */
static sn_status library_find(const char *program, const struct wanted *w, struct sn_phase *out,
			      struct sn_error *err)
{
	sn_strings all = { 0 };
	size_t matches = 0;
	sn_status status = SN_ERR_NOT_FOUND;

	sn_libraries_list(program, &all);
	for (size_t i = 0; i < all.count && !matches; i++) {
		if (!w->line && !may_have(all.items[i], w->words))
			continue;
		status = places_find(all.items[i], w, out, &matches, err);
		if (status == SN_OK) {
			char *path = realpath(all.items[i], NULL);

			sn_text_clear(&out->module);
			sn_text_add(&out->module, path ? path : all.items[i]);
			free(path);
		}
	}
	sn_vec_free_owned(&all);
	return matches ? status : SN_ERR_NOT_FOUND;
}

/* A name that the program's own file has several times is not looked for elsewhere. */
static sn_status address_find(const char *path, const char *wanted, struct sn_phase *out,
			      struct sn_error *err)
{
	struct wanted w = { .words = wanted };
	struct sn_error late = { 0 };
	size_t matches;
	sn_status status, other;

	if (!is_place(wanted, &w.file_length, &w.line))
		w.line = 0;
	status = places_find(path, &w, out, &matches, err);
	if (status == SN_OK || matches)
		return status;
	other = library_find(path, &w, out, &late);
	if (other == SN_ERR_NOT_FOUND)
		return status;
	*err = late;
	return other;
}

static sn_status texts_check(const struct sn_phase *phase, struct sn_error *err)
{
	if (phase->name.length < SN_MONITOR_TEXT_MAX &&
	    phase->module.length < 4 * SN_MONITOR_TEXT_MAX)
		return SN_OK;
	return sn_error_set(err, SN_ERR_USAGE, "--phase '%s': the name is too long",
			    phase->name.chars);
}

sn_status sn_phase_at(const char *name, const char *module, uint64_t link_addr,
		      struct sn_phase *out, struct sn_error *err)
{
	*out = (struct sn_phase){ .exit_code = SN_EXIT_USAGE };
	sn_text_add(&out->name, name);
	sn_text_add(&out->module, module);
	out->boundary.kind = SN_MONITOR_BOUNDARY_ADDRESS;
	out->boundary.link_addrs[0] = link_addr;
	out->boundary.module = out->module.chars;
	return texts_check(out, err);
}

sn_status sn_phase_find(const char *program, const char *wanted, struct sn_phase *out,
			struct sn_error *err)
{
	struct sn_target target = { 0 };
	sn_status status = sn_target_find(program, &target, err);
	char *path;

	*out = (struct sn_phase){ .exit_code = status == SN_OK ? SN_EXIT_USAGE : target.exit_code };
	if (status != SN_OK)
		return status;
	path = realpath(target.path, NULL);
	sn_text_add(&out->name, wanted);
	sn_text_add(&out->module, path ? path : target.path);
	free(path);
	status = texts_check(out, err);
	if (status != SN_OK)
		return status;
	if (is_heartbeat(out->module.chars, wanted)) {
		out->boundary.kind = SN_MONITOR_BOUNDARY_BEAT;
		out->boundary.beat = out->name.chars;
	} else {
		status = address_find(out->module.chars, wanted, out, err);
	}
	out->boundary.module = out->module.chars;
	return status;
}

void sn_phase_free(struct sn_phase *phase)
{
	sn_text_free(&phase->name);
	sn_text_free(&phase->module);
	sn_text_free(&phase->file);
	sn_text_free(&phase->plan_id);
	sn_text_free(&phase->plan_bytes);
}
