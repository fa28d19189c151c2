/* Reads files of properties and joins those without errors to what is in force. */
#include "search/properties/library.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/spelling.h"
#include "base/text.h"
#include "search/properties/check.h"
#include "search/properties/shipped.h"

struct sn_library *sn_library_new(void)
{
	struct sn_library *library = sn_alloc_zeroed(1, sizeof(*library));

	for (const struct sn_shipped_file *f = sn_shipped_files; f->name; f++) {
		sn_library_add_memory(library, f->name, f->chars, f->length);
		sn_vec_last(&library->files)->is_shipped = true;
	}
	library->shipped_files = library->files.count;
	return library;
}

void sn_library_free(struct sn_library *library)
{
	if (!library)
		return;
	for (size_t i = 0; i < library->files.count; i++)
		sn_prop_file_free(library->files.items[i]);
	sn_vec_free(&library->files);
	sn_vec_free(&library->properties);
	free(library);
}

/* ---- adding ---- */

void sn_library_add_memory(struct sn_library *library, const char *name, const char *chars,
			   size_t length)
{
	sn_vec_push(&library->files, sn_prop_parse(name, chars, length));
}

static sn_status file_add(struct sn_library *library, const char *path, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status = sn_file_map(path, &view, err);

	if (status != SN_OK)
		return status;
	sn_library_add_memory(library, path, (const char *)view.bytes, view.length);
	sn_file_unmap(&view);
	return SN_OK;
}

static int is_property_file(const struct dirent *entry)
{
	return sn_ends_with(entry->d_name, ".prop");
}

static sn_status folder_add(struct sn_library *library, const char *path, struct sn_error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_property_file, alphasort);
	sn_status status = SN_OK;

	if (count < 0)
		return sn_error_errno(err, "properties: cannot read folder '%s'", path);
	if (!count)
		status = sn_error_set(err, SN_ERR_NOT_FOUND,
				      "properties: folder '%s' has no file *.prop", path);
	for (int i = 0; i < count; i++) {
		struct sn_text name = { 0 };

		sn_text_addf(&name, "%s/%s", path, entries[i]->d_name);
		if (status == SN_OK)
			status = file_add(library, name.chars, err);
		sn_text_free(&name);
		free(entries[i]);
	}
	free(entries);
	return status;
}

sn_status sn_library_add(struct sn_library *library, const char *path, struct sn_error *err)
{
	struct stat facts;

	if (!stat(path, &facts) && S_ISDIR(facts.st_mode))
		return folder_add(library, path, err);
	return file_add(library, path, err);
}

/* ---- settling ---- */

static const struct sn_property *property_in(const struct sn_library *library, const char *name,
					     const struct sn_prop_file *file)
{
	for (size_t i = 0; i < file->properties.count; i++)
		if (!strcmp(file->properties.items[i]->name, name))
			return file->properties.items[i];
	return sn_library_find(library, name);
}

/* Whether any file, in force or not, declares the property. */
static bool is_declared(const struct sn_library *library, const char *name)
{
	for (size_t f = 0; f < library->files.count; f++)
		for (size_t i = 0; i < library->files.items[f]->properties.count; i++)
			if (!strcmp(library->files.items[f]->properties.items[i]->name, name))
				return true;
	return false;
}

static void names_check(const struct sn_library *library, struct sn_prop_file *file,
			const sn_prop_word_vec *words)
{
	for (size_t i = 0; i < words->count; i++) {
		const struct sn_prop_word *word = &words->items[i];
		const char *near = NULL;

		if (is_declared(library, word->name))
			continue;
		for (size_t f = 0; f < library->files.count; f++)
			for (size_t p = 0; p < library->files.items[f]->properties.count; p++) {
				const char *name =
					library->files.items[f]->properties.items[p]->name;

				near = sn_spelling_is_nearer(word->name, name, near) ? name : near;
			}
		sn_prop_report(&file->diags, word->pos,
			       near ? "there is no property '%s'; did you mean '%s'?"
				    : "there is no property '%s'%.0s",
			       word->name, near ? near : "");
	}
}

/* The search for circles: properties by address, 1 while what they refine is looked at, then 2. */
struct circle_search {
	const struct sn_library *library;
	struct sn_prop_file *file;
	struct sn_map state;
};

static void circle_report(struct circle_search *s, const struct sn_property *property, size_t word)
{
	if (property->file == s->file)
		sn_prop_report(&s->file->diags, property->refines.items[word].pos,
			       "property '%s' refines itself, by way of '%s'", property->name,
			       property->refines.items[word].name);
}

static void circles_find(struct circle_search *s, const struct sn_property *property)
{
	uint64_t key = (uint64_t)(uintptr_t)property;

	*sn_map_put(&s->state, key, NULL) = 1;
	for (size_t i = 0; i < property->refines.count; i++) {
		const struct sn_property *parent =
			property_in(s->library, property->refines.items[i].name, s->file);
		const uint64_t *state =
			parent ? sn_map_get(&s->state, (uint64_t)(uintptr_t)parent) : NULL;

		if (state && *state == 1)
			circle_report(s, property, i);
		else if (parent && !state)
			circles_find(s, parent);
	}
	*sn_map_put(&s->state, key, NULL) = 2;
}

static void refinements_check(const struct sn_library *library, struct sn_prop_file *file)
{
	struct circle_search search = { .library = library, .file = file };

	for (size_t i = 0; i < file->properties.count; i++) {
		struct sn_property *property = file->properties.items[i];

		names_check(library, file, &property->refines);
		names_check(library, file, &property->next);
		if (!sn_map_get(&search.state, (uint64_t)(uintptr_t)property))
			circles_find(&search, property);
	}
	sn_map_free(&search.state);
}

static void put_in_force(struct sn_library *library, struct sn_prop_file *file)
{
	for (size_t i = 0; i < file->properties.count; i++) {
		struct sn_property *property = file->properties.items[i];
		size_t at = 0;

		while (at < library->properties.count &&
		       strcmp(library->properties.items[at]->name, property->name) != 0)
			at++;
		if (at < library->properties.count)
			library->properties.items[at] = property;
		else
			sn_vec_push(&library->properties, property);
	}
}

void sn_library_settle(struct sn_library *library)
{
	const struct sn_prop_scope shipped = {
		(const struct sn_prop_file *const *)library->files.items, library->shipped_files
	};

	for (size_t f = 0; f < library->files.count; f++) {
		sn_prop_check(library->files.items[f], &shipped);
		if (!library->files.items[f]->diags.errors)
			put_in_force(library, library->files.items[f]);
	}
	for (size_t f = 0; f < library->files.count; f++)
		refinements_check(library, library->files.items[f]);
	library->properties.count = 0;
	for (size_t f = 0; f < library->files.count; f++)
		if (!library->files.items[f]->diags.errors)
			put_in_force(library, library->files.items[f]);
}

static size_t diags_print(struct sn_library *library, bool with_warnings, FILE *out)
{
	size_t errors = 0;

	for (size_t f = 0; f < library->files.count; f++) {
		struct sn_prop_file *file = library->files.items[f];

		if (!file->diags.errors && !with_warnings)
			continue;
		sn_prop_diags_print(&file->diags, file->name, file->chars, file->length,
				    with_warnings, out);
		errors += file->diags.errors;
	}
	return errors;
}

size_t sn_library_print_errors(struct sn_library *library, FILE *out)
{
	return diags_print(library, false, out);
}

size_t sn_library_print_all(struct sn_library *library, FILE *out)
{
	return diags_print(library, true, out);
}

const struct sn_metric *sn_library_metric(const struct sn_library *library, const char *name)
{
	const struct sn_metric *found = NULL;

	for (size_t f = 0; f < library->files.count; f++) {
		const struct sn_prop_file *file = library->files.items[f];

		for (size_t i = 0; !file->diags.errors && i < file->metrics.count; i++)
			if (!strcmp(file->metrics.items[i]->name, name))
				found = file->metrics.items[i];
	}
	return found;
}

const char *sn_library_metric_near(const struct sn_library *library, const char *name)
{
	const char *near = NULL;

	for (size_t f = 0; f < library->files.count; f++) {
		const struct sn_prop_file *file = library->files.items[f];

		for (size_t i = 0; !file->diags.errors && i < file->metrics.count; i++)
			if (sn_spelling_is_nearer(name, file->metrics.items[i]->name, near))
				near = file->metrics.items[i]->name;
	}
	return near;
}

/* False: some file in force declares it. */
static bool unknown_print(const struct sn_library *library, const char *metric, const char *name,
			  FILE *out)
{
	const char *near;

	if (sn_library_metric(library, metric))
		return false;
	near = sn_library_metric_near(library, metric);
	fprintf(out,
		"sonde: properties: '%s': there is no metric '%s', so its values are "
		"left out%s%s%s\n",
		name, metric, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return true;
}

size_t sn_library_print_unknown(const struct sn_library *library, const struct sn_tables *tables,
				const char *name, FILE *out)
{
	struct sn_interner seen = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < tables->values.count; i++) {
		const char *column =
			sn_interned_chars(&tables->names, tables->values.items[i].column);
		size_t length = strcspn(column, "("); /* a level stands behind */
		uint32_t known = (uint32_t)seen.strings.count;
		char *metric;

		if (sn_intern(&seen, column, length) < known)
			continue;
		metric = sn_strndup(column, length);
		count += unknown_print(library, metric, name, out);
		free(metric);
	}
	sn_interner_free(&seen);
	return count;
}

const struct sn_property *sn_library_find(const struct sn_library *library, const char *name)
{
	for (size_t i = 0; i < library->properties.count; i++)
		if (!strcmp(library->properties.items[i]->name, name))
			return library->properties.items[i];
	return NULL;
}

static bool has_word(const sn_prop_word_vec *words, const char *name)
{
	for (size_t i = 0; i < words->count; i++)
		if (!strcmp(words->items[i].name, name))
			return true;
	return false;
}

bool sn_property_refines(const struct sn_property *property, const struct sn_property *parent)
{
	return has_word(&property->refines, parent->name) ||
	       has_word(&parent->next, property->name);
}

const struct sn_prop_context *sn_property_parameter(const struct sn_property *property,
						    enum sn_key kind)
{
	for (size_t i = 0; i < property->contexts.count; i++)
		if (property->contexts.items[i].kind == kind)
			return &property->contexts.items[i];
	return NULL;
}
