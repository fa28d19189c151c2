/* Places by name, function or line, in the program's own file, else in a library of it. */
#include "search/online/phase.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "code/image.h"
#include "code/structure.h"
#include "record/target.h"
#include "search/online/libraries.h"

enum { SHOWN = 4 };

struct finding {
	struct sn_structure *structure;
	const char *wanted;
	size_t matches;
	uint64_t link_addr;
	const char *file;
	uint32_t line;
	struct sn_text names; /* of the first few */
};

static void match_add(struct finding *f, uint64_t link_addr, const char *name, const char *file,
		      uint32_t line)
{
	if (f->matches && f->link_addr == link_addr)
		return;
	if (f->matches < SHOWN)
		sn_text_addf(&f->names, "%s%s", f->matches ? ", " : "", name);
	if (!f->matches) {
		f->link_addr = link_addr;
		f->file = file;
		f->line = line;
	}
	f->matches++;
}

/* "f" means "ns::f(int)" only by its whole name, with or without parameters. */
static bool is_named(const struct sn_function *function, const char *wanted)
{
	size_t length = strlen(wanted);

	return (function->linkage_name && !strcmp(function->linkage_name, wanted)) ||
	       (!strncmp(function->name, wanted, length) &&
		(!function->name[length] || function->name[length] == '('));
}

static void functions_find(struct finding *f)
{
	for (size_t i = 0; i < sn_structure_function_count(f->structure); i++) {
		const struct sn_function *function = sn_structure_function(f->structure, i);

		if (function->kind != SN_FUNCTION_SYMBOL || !is_named(function, f->wanted))
			continue;
		sn_function_prepare(f->structure, function, SN_PREPARE_LINES);
		match_add(f, function->link_addr, function->name, function->file, function->line);
	}
}

/* FUNCTION+0xOFFSET, as a loop without lines is called. */
static void labels_find(struct finding *f)
{
	const char *plus = strrchr(f->wanted, '+');
	size_t length = plus && !strncmp(plus, "+0x", 3) ? (size_t)(plus - f->wanted) : 0;

	for (size_t i = 0; length && i < sn_structure_function_count(f->structure); i++) {
		const struct sn_function *function = sn_structure_function(f->structure, i);

		if (strncmp(function->name, f->wanted, length) != 0)
			continue;
		sn_function_prepare(f->structure, function, SN_PREPARE_ALL);
		for (uint32_t l = 0; l < function->loop_count; l++)
			if (!strcmp(function->loops[l].label, f->wanted))
				match_add(f, function->loops[l].header_link_addr, function->name,
					  NULL, 0);
	}
}

/* ---- FILE:LINE ---- */

static bool is_file(const char *file, const char *wanted, size_t length)
{
	size_t own = file ? strlen(file) : 0;

	return own >= length && !strncmp(file + own - length, wanted, length) &&
	       (own == length || file[own - length - 1] == '/');
}

static void loops_find(struct finding *f, size_t file_length, uint32_t line)
{
	for (size_t i = 0; i < sn_structure_function_count(f->structure); i++) {
		const struct sn_function *function = sn_structure_function(f->structure, i);

		for (uint32_t l = 0; l < function->loop_count; l++) {
			const struct sn_loop *loop = &function->loops[l];

			if (sn_loop_main(loop) == loop && loop->line_first == line &&
			    is_file(loop->file, f->wanted, file_length))
				match_add(f, loop->header_link_addr, function->name, loop->file,
					  line);
		}
	}
}

static void lines_find(struct finding *f, size_t file_length, uint32_t line)
{
	for (size_t i = 0; i < sn_structure_function_count(f->structure); i++) {
		const struct sn_function *function = sn_structure_function(f->structure, i);

		for (uint32_t l = 0; l < function->line_count; l++)
			if (function->lines[l].line == line &&
			    is_file(function->lines[l].file, f->wanted, file_length)) {
				match_add(f, function->lines[l].link_addr, function->name,
					  function->lines[l].file, line);
				break; /* its first instruction in this function */
			}
	}
}

static void line_find(struct finding *f, size_t file_length, uint32_t line)
{
	sn_structure_prepare_all(f->structure, SN_PREPARE_ALL);
	loops_find(f, file_length, line);
	if (!f->matches)
		lines_find(f, file_length, line);
}

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

/* The program has the text by itself, and knows the heartbeat library. */
static bool is_heartbeat(const char *path, const char *wanted)
{
	static const char marker[] = "sonde_heartbeat_register";
	const struct sn_image_options options = { .only_this_file = true, .on_demand = true };
	struct sn_image *image = NULL;
	bool is_one = false;

	if (sn_image_open(path, &options, &image, NULL) == SN_OK)
		is_one = (is_loaded(image, marker, true) || sn_image_symbol_named(image, marker)) &&
			 is_loaded(image, wanted, false);
	sn_image_free(image);
	return is_one;
}

/* ---- all ---- */

static sn_status matches_check(const struct finding *f, const char *path, struct sn_error *err)
{
	if (!f->matches)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--phase '%s': '%s' has no heartbeat, function or line of that "
			"name, nor have its libraries ('sonde structure -l functions' lists "
			"a file's functions)",
			f->wanted, path);
	if (f->matches > 1)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--phase '%s' means %zu places in '%s' (%s%s): name one of "
				    "them, as FILE:LINE or by its whole name",
				    f->wanted, f->matches, path, f->names.chars,
				    f->matches > SHOWN ? ", ..." : "");
	return SN_OK;
}

/* Places of a file; nothing is found in one that cannot be read. */
static sn_status places_find(const char *path, const char *wanted, struct sn_phase *out,
			     size_t *matches, struct sn_error *err)
{
	struct finding f = { .wanted = wanted };
	struct sn_image *image = NULL;
	size_t file_length;
	uint32_t line;
	sn_status status = sn_image_open(path, NULL, &image, err);

	if (status == SN_OK)
		status = sn_structure_open(image, &f.structure, err);
	if (status == SN_OK) {
		if (is_place(wanted, &file_length, &line))
			line_find(&f, file_length, line);
		else
			functions_find(&f);
		if (!f.matches)
			labels_find(&f);
		status = matches_check(&f, path, err);
	}
	if (status == SN_OK) {
		out->boundary.kind = SN_MONITOR_BOUNDARY_ADDRESS;
		out->boundary.link_addr = f.link_addr;
		sn_text_clear(&out->file);
		sn_text_add(&out->file, f.file ? f.file : "");
		out->line = f.line;
	}
	*matches = f.matches;
	sn_text_free(&f.names);
	sn_structure_free(f.structure);
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
static sn_status library_find(const char *program, const char *wanted, struct sn_phase *out,
			      struct sn_error *err)
{
	sn_strings all = { 0 };
	size_t file_length, matches = 0;
	uint32_t line;
	const bool is_line = is_place(wanted, &file_length, &line);
	sn_status status = SN_ERR_NOT_FOUND;

	sn_libraries_list(program, &all);
	for (size_t i = 0; i < all.count && !matches; i++) {
		if (!is_line && !may_have(all.items[i], wanted))
			continue;
		status = places_find(all.items[i], wanted, out, &matches, err);
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
	struct sn_error late = { 0 };
	size_t matches;
	sn_status status = places_find(path, wanted, out, &matches, err), other;

	if (status == SN_OK || matches)
		return status;
	other = library_find(path, wanted, out, &late);
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
	out->boundary.link_addr = link_addr;
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
}
