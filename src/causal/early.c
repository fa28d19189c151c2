/*
 * The program's own loader is asked which libraries it would load (ld.so --list): it knows of run paths,
 * caches and variables of the environment, and runs nothing of the program.
 */
#include "causal/early.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/spelling.h"
#include "base/vec.h"
#include "causal/names.h"
#include "code/demangle.h"
#include "experiment/experiment.h"
#include "profile/category.h"

/* A file of machine code, opened when it is first needed. */
struct file {
	char *path;
	struct sn_image *image; /* NULL: not opened yet, or it cannot be */
	struct sn_structure *structure;
	bool is_tried;
	bool is_chosen; /* no runtime's, nor the system's */
	bool loads;	/* it may load other code on behalf of the program */
};

struct files {
	SN_VEC(struct file) all; /* the program first */
	const struct sn_image_options *options;
};

/* ---- which files ---- */

static void add_file(struct files *files, const char *path, bool is_main)
{
	struct sn_module module = {
		.path = path, .name = sn_base_name(path), .kind = SN_MODULE_FILE, .is_main = is_main
	};
	enum sn_module_class class = sn_module_class_of(&module);
	struct file file = { .path = sn_strdup(path),
			     .is_chosen = sn_module_class_is_chosen(class) };

	/* the heartbeats' library has every name of theirs, and no code of the program */
	if (!is_main && sn_starts_with(module.name, "libsonde-heartbeat.so"))
		file.is_chosen = false;
	file.loads = file.is_chosen || class == SN_MODULE_CLASS_MPI;
	sn_vec_push(&files->all, file);
}

/* Loaders that can list; of another one its words are not known. */
static bool can_list(const char *loader)
{
	return sn_starts_with(sn_base_name(loader), "ld-linux") ||
	       sn_starts_with(sn_base_name(loader), "ld-musl");
}

/* "name => /path (0x...)"; the loader itself stands there without an arrow. */
static void add_listed(struct files *files, char *line)
{
	char *path = strstr(line, "=> /"), *end;

	if (!path)
		return;
	path += strlen("=> ");
	end = strstr(path, " (0x");
	if (end)
		*end = '\0';
	add_file(files, path, false);
}

static void list_files(struct files *files, const struct sn_target *target)
{
	struct sn_text command = { 0 };
	char *line = NULL;
	size_t capacity = 0;
	FILE *list;

	add_file(files, target->path, true);
	if (!can_list(target->loader))
		return;
	sn_text_add_shell_word(&command, target->loader);
	sn_text_add(&command, " --list ");
	sn_text_add_shell_word(&command, target->path);
	sn_text_add(&command, " 2>/dev/null");
	list = popen(command.chars, "re");
	while (list && getline(&line, &capacity, list) > 0)
		add_listed(files, line);
	if (list)
		pclose(list);
	free(line);
	sn_text_free(&command);
}

static void free_files(struct files *files)
{
	for (size_t i = 0; i < files->all.count; i++) {
		sn_structure_free(files->all.items[i].structure);
		sn_image_free(files->all.items[i].image);
		free(files->all.items[i].path);
	}
	sn_vec_free(&files->all);
}

static bool open_file(struct files *files, size_t i)
{
	struct file *file = &files->all.items[i];

	if (!file->is_tried &&
	    sn_image_open(file->path, files->options, &file->image, NULL) == SN_OK)
		sn_structure_open(file->image, &file->structure, NULL);
	file->is_tried = true;
	return file->structure != NULL;
}

/* ---- bytes of files ---- */

static bool has_bytes(const char *path, const void *bytes, size_t length)
{
	struct sn_file_view view;
	bool has = false;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return false;
	has = memmem(view.bytes, view.length, bytes, length) != NULL;
	sn_file_unmap(&view);
	return has;
}

/* Whether any file but the system's refers to one of these functions. */
static bool refers_to(const struct files *files, const char *const *names)
{
	struct sn_text word = { 0 };
	bool refers = false;

	for (; *names && !refers; names++) {
		sn_text_clear(&word);
		sn_text_add_char(&word, '\0');
		sn_text_add(&word, *names);
		for (size_t i = 0; i < files->all.count && !refers; i++)
			refers = files->all.items[i].loads &&
				 has_bytes(files->all.items[i].path, word.chars, word.length + 1);
	}
	sn_text_free(&word);
	return refers;
}

static bool runs_other_code(const struct files *files)
{
	static const char *const names[] = { "dlopen", "dlmopen", "execv",	 "execve",
					     "execvp", "execvpe", "execl",	 "execle",
					     "execlp", "fexecve", "posix_spawn", "posix_spawnp",
					     "system", "popen",	  NULL };

	return refers_to(files, names);
}

static bool has_heartbeats(const struct files *files)
{
	static const char *const names[] = { "sonde_heartbeat_register", "sonde_heartbeat_by_id",
					     NULL };

	return refers_to(files, names);
}

/* A heartbeat's name is a text of the program, or was made of several: then nothing is found. */
static bool has_text(const struct files *files, const char *name)
{
	for (size_t i = 0; i < files->all.count; i++)
		if (files->all.items[i].is_chosen &&
		    has_bytes(files->all.items[i].path, name, strlen(name) + 1))
			return true;
	return false;
}

/* ---- names ---- */

/* What is perhaps meant by a name that is not there. */
struct near {
	char *name;	/* owned */
	bool is_scoped; /* it is the name with its scopes: nothing is nearer */
	struct sn_causal_line_search lines;
};

static void see_name(struct near *near, const char *wanted, const char *name)
{
	if (!name || near->is_scoped || !sn_spelling_is_nearer(wanted, name, near->name))
		return;
	free(near->name);
	near->name = sn_strdup(name);
}

/* "sum", where there is "work::Grid<double>::sum(long)". */
static void see_unscoped(struct near *near, const char *wanted, const char *name)
{
	size_t length;
	const char *last = sn_causal_unscoped(name, &length);

	if (near->is_scoped || last == name || strlen(wanted) != length ||
	    strncmp(last, wanted, length) != 0)
		return;
	free(near->name);
	near->name = strndup(name, (size_t)(last - name) + length);
	near->is_scoped = near->name != NULL;
}

/* A loop's id begins with its file's. */
static bool is_loop_id(const char *name)
{
	size_t length = strspn(name, "h0123456789abcdef");

	return length >= 16 && name[length] == ':' && strchr(name + length + 1, ':');
}

static bool is_function(const struct sn_function *function, const char *name)
{
	const char *linkage = function->linkage_name ? function->linkage_name : function->name;
	const char *offset = strstr(name, "+0x"); /* a loop's label without lines */
	size_t length = offset ? (size_t)(offset - name) : strlen(name);

	/* debug information calls a function of Fortran by less than its symbol */
	return sn_causal_function_match(function->name, function->linkage_name, name) ||
	       (!strncmp(linkage, name, length) &&
		(!linkage[length] || !strcmp(linkage + length, "_"))) ||
	       (strstr(linkage, "_MOD_") && !strcmp(strstr(linkage, "_MOD_") + 5, name));
}

static bool is_in_structure(struct file *file, const char *name, struct near *near)
{
	struct sn_structure *structure = file->structure;

	if (is_loop_id(name))
		return !strncmp(name, sn_structure_id(structure), strcspn(name, ":"));
	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		if (is_function(function, name))
			return true;
		if (file->is_chosen) {
			see_name(near, name, function->name);
			see_unscoped(near, name, function->name);
		}
	}
	if (sn_causal_looks_like_line(name))
		sn_causal_line_find(structure, name, &near->lines);
	return near->lines.lowest_link_addr != 0;
}

/* `is_place`: progress points are looked for in the program and the libraries that it chose alone. */
static bool has_code(struct files *files, const char *name, bool is_place, struct near *near)
{
	if (sn_causal_is_rank(name))
		return true; /* the profile says */
	for (size_t i = 0; i < files->all.count; i++)
		if ((!is_place || files->all.items[i].is_chosen) && open_file(files, i) &&
		    is_in_structure(&files->all.items[i], name, near))
			return true;
	return false;
}

static bool has_variable(struct files *files, const char *name, struct near *near)
{
	for (size_t i = 0; i < files->all.count; i++) {
		const struct sn_symbol *symbols;
		size_t count = 0;

		if (!open_file(files, i))
			continue;
		symbols = sn_image_data_symbols(files->all.items[i].image, &count);
		for (size_t s = 0; s < count; s++) {
			if (sn_causal_is_variable(&symbols[s], name))
				return true;
			if (files->all.items[i].is_chosen)
				see_name(near, name, symbols[s].name);
		}
	}
	return false;
}

/* ---- what is said ---- */

static void add_hint(struct sn_text *text, struct files *files, const char *what, const char *name,
		     const struct near *near)
{
	if (near->lines.nearest_line)
		sn_text_addf(text, "; the nearest line with code is %.*s:%u",
			     (int)(strrchr(name, ':') - name), name, near->lines.nearest_line);
	else if (near->lines.nearest_file)
		sn_text_addf(text, "; did you mean %s:%s?", near->lines.nearest_file,
			     strrchr(name, ':') + 1);
	else if (near->name)
		sn_text_addf(text, "; did you mean '%s'?", near->name);
	else if (!strstr(what, "function"))
		return;
	else if (files->all.items[0].image && !sn_image_facts(files->all.items[0].image).has_symtab)
		sn_text_add(text, "; the program has no symbol table, so names of its functions "
				  "are not known");
	else
		sn_text_add(text,
			    " (a function that was inlined everywhere has no code of its own, "
			    "but lines)");
}

/* Refuses, or doubts where code that comes later may have it. */
static sn_status not_there(struct files *files, const char *option, const char *what,
			   const char *name, const struct near *near, bool may_come,
			   struct sn_text *doubt, struct sn_error *err)
{
	struct sn_text text = { 0 };
	sn_status status = SN_OK;

	sn_text_addf(&text, "%s: '%s' and its libraries have no %s '%s'", option,
		     files->all.items[0].path, what, name);
	add_hint(&text, files, what, name, near);
	if (may_come || runs_other_code(files))
		sn_text_addf(doubt, "%s%s%s A run may find it, as %s", doubt->length ? "; " : "",
			     text.chars, text.chars[text.length - 1] == '?' ? "" : ".",
			     may_come ? "heartbeats may be named while it runs"
				      : "the program loads code or starts programs");
	else
		status = sn_error_set(err, SN_ERR_NOT_FOUND, "%s", text.chars);
	sn_text_free(&text);
	return status;
}

/* "loop:3" */
static void see_list(struct near *near, const char *word, const char *list)
{
	char *head = strndup(word, strcspn(word, ":"));

	if (head && sn_spelling_is_near(head, list))
		see_name(near, head, list);
	free(head);
}

static sn_status check_choice(struct files *files, const char *word, struct sn_text *doubt,
			      struct sn_error *err)
{
	static const char *const lists[] = { "loops", "functions", "lines", "regions" };
	struct sn_causal_choice choice;
	struct near near = { 0 };
	sn_status status = sn_causal_choice_parse(word, &choice, err);
	bool is_lock = choice.kind == SN_CAUSAL_CHOICE_LOCK;

	if (status != SN_OK || (choice.kind != SN_CAUSAL_CHOICE_NAME && !is_lock) ||
	    !open_file(files, 0))
		return status;
	for (size_t i = 0; !is_lock && i < sizeof(lists) / sizeof(*lists); i++)
		see_list(&near, word, lists[i]);
	if (!(is_lock ? has_variable(files, choice.name, &near)
		      : has_code(files, word, false, &near)))
		status = not_there(files, "--target",
				   is_lock ? "global or static variable" : "function, line or loop",
				   choice.name, &near, false, doubt, err);
	free(near.name);
	return status;
}

static sn_status check_targets(struct files *files, const char *targets, struct sn_text *doubt,
			       struct sn_error *err)
{
	char *words = sn_strdup(targets), *next = words;
	size_t count = 0;
	sn_status status = SN_OK;

	while (next && status == SN_OK) {
		const char *word = sn_causal_next_word(&next);

		count += *word != '\0';
		if (*word)
			status = check_choice(files, word, doubt, err);
	}
	free(words);
	return status != SN_OK || count
		       ? status
		       : sn_error_set(err, SN_ERR_USAGE,
				      "--target names no code: loops, functions, lines, "
				      "regions, or code by its name");
}

static sn_status check_place(struct files *files, const struct sn_causal_wanted *wanted,
			     const char *name, struct sn_text *doubt, struct sn_error *err)
{
	struct near near = { 0 };
	bool may_beat = (wanted->may_be_heartbeat || wanted->is_heartbeat) && has_heartbeats(files);
	bool is_there = (may_beat && has_text(files, name)) ||
			(!wanted->is_heartbeat && has_code(files, name, true, &near));
	sn_status status = SN_OK;

	if (!is_there)
		status = not_there(files, wanted->option,
				   wanted->is_heartbeat	      ? "heartbeat"
				   : wanted->may_be_heartbeat ? "heartbeat, function, line or loop"
							      : "function, line or loop",
				   name, &near, may_beat, doubt, err);
	if (!is_there && may_beat && status == SN_OK && wanted->is_doubted)
		*wanted->is_doubted = true;
	free(near.name);
	return status;
}

sn_status sn_causal_names_check(const struct sn_target *target,
				const struct sn_image_options *options,
				const struct sn_causal_wanted *wanted, struct sn_text *doubt,
				struct sn_error *err)
{
	struct files files = { .options = options };
	sn_status status = SN_OK;

	list_files(&files, target);
	if (wanted->targets)
		status = check_targets(&files, wanted->targets, doubt, err);
	if (status == SN_OK && wanted->begin && open_file(&files, 0))
		status = check_place(&files, wanted, wanted->begin, doubt, err);
	if (status == SN_OK && wanted->point && strcmp(wanted->point, "end") != 0 &&
	    open_file(&files, 0))
		status = check_place(&files, wanted, wanted->point, doubt, err);
	free_files(&files);
	return status;
}
