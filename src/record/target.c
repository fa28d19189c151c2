/*
 * Finds the file that the kernel will load in the end, through PATH and interpreters of scripts,
 * and whether our library can be loaded into it.
 */
#include "record/target.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { SCRIPT_DEPTH_MAX = 4 }; /* the kernel's own limit, BINPRM_MAX_RECURSION */

static bool is_regular_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* The first executable of that name on PATH. A file that is there but not executable is remembered,
 * since "permission denied" says more than "not found". */
static bool path_search(const char *word, char *out, size_t size, bool *is_denied)
{
	const char *path = getenv("PATH");

	if (!path)
		path = "/bin:/usr/bin";
	for (const char *at = path;; at++) {
		size_t length = strcspn(at, ":");
		int written =
			snprintf(out, size, "%.*s%s%s", (int)length, at, length ? "/" : "./", word);

		if (written > 0 && (size_t)written < size && is_regular_file(out)) {
			if (!access(out, X_OK))
				return true;
			*is_denied = true;
		}
		at += length;
		if (!*at)
			return false;
	}
}

static void take_loader(const struct sn_file_view *view, const Elf64_Phdr *segment, char *out,
			size_t size)
{
	if (segment->p_filesz && segment->p_filesz < size && segment->p_offset < view->length &&
	    segment->p_filesz <= view->length - segment->p_offset)
		memcpy(out, view->bytes + segment->p_offset, segment->p_filesz);
}

/* The first program header of a type, of a file that is at least as long as its header; false: there is none within it. */
static bool segment_find(const struct sn_file_view *view, uint32_t type, Elf64_Phdr *out)
{
	const Elf64_Ehdr *header = (const void *)view->bytes;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		uint64_t at = header->e_phoff + (uint64_t)i * header->e_phentsize;

		if (at > view->length || view->length - at < sizeof(*out))
			break;
		memcpy(out, view->bytes + at, sizeof(*out));
		if (out->p_type == type)
			return true;
	}
	return false;
}

/* Whether an ELF file asks for a dynamic loader, whose path goes to `loader`. */
static enum sn_target_kind elf_kind(const struct sn_file_view *view, char *loader, size_t size)
{
	const Elf64_Ehdr *header = (const void *)view->bytes;
	Elf64_Phdr segment;

	if (view->length < sizeof(*header) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_machine != EM_X86_64)
		return SN_TARGET_FOREIGN;
	if (!segment_find(view, PT_INTERP, &segment))
		return SN_TARGET_STATIC;
	take_loader(view, &segment, loader, size);
	return SN_TARGET_DYNAMIC;
}

static bool is_pie(const struct sn_file_view *view, const Elf64_Phdr *dynamic)
{
	Elf64_Dyn entry;

	if (dynamic->p_offset > view->length ||
	    dynamic->p_filesz > view->length - dynamic->p_offset)
		return false;
	for (uint64_t at = 0; dynamic->p_filesz - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, view->bytes + dynamic->p_offset + at, sizeof(entry));
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

/* Else it is a library or an object file. */
static bool is_program(const struct sn_file_view *view)
{
	const Elf64_Ehdr *header = (const void *)view->bytes;
	Elf64_Phdr segment;

	if (view->length < sizeof(*header))
		return false;
	if (header->e_type != ET_DYN)
		return header->e_type == ET_EXEC;
	return segment_find(view, PT_DYNAMIC, &segment) && is_pie(view, &segment);
}

/* Whether a file is a program, and (if asked) one of this kind. */
static bool is_program_of(const char *path, const enum sn_target_kind *kind)
{
	struct sn_file_view view;
	char loader[256];
	enum sn_target_kind found;
	bool is_it;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return false;
	is_it = view.length >= SELFMAG && !memcmp(view.bytes, ELFMAG, SELFMAG);
	found = is_it ? elf_kind(&view, loader, sizeof(loader)) : SN_TARGET_FOREIGN;
	is_it = found != SN_TARGET_FOREIGN && (!kind || found == *kind) && is_program(&view);
	sn_file_unmap(&view);
	return is_it;
}

bool sn_target_is_program(const char *path)
{
	return is_program_of(path, NULL);
}

bool sn_target_is_static_program(const char *path)
{
	static const enum sn_target_kind is_static = SN_TARGET_STATIC;

	return is_program_of(path, &is_static);
}

static bool script_interpreter(const struct sn_file_view *view, char *out, size_t size)
{
	const char *at = (const char *)view->bytes + 2;
	const char *end = (const char *)view->bytes + (view->length < 255 ? view->length : 255);
	size_t length = 0;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (at + length < end && !strchr(" \t\n", at[length]))
		length++;
	if (!length || length >= size)
		return false;
	memcpy(out, at, length);
	out[length] = '\0';
	return true;
}

static bool ignores_preload(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	       ((st.st_mode & S_ISGID) && st.st_gid != getegid());
}

/* What the kernel will load for this path in the end, through scripts. */
static sn_status kind_find(const char *path, struct sn_target *target, unsigned depth,
			   struct sn_error *err)
{
	struct sn_file_view view;

	target->kind = SN_TARGET_DYNAMIC;
	if (ignores_preload(path)) {
		target->kind = SN_TARGET_SETUID;
		return SN_OK;
	}
	/* A program may be executable and yet not readable: it is run, and measured if it can be.
	 */
	if (sn_file_map(path, &view, NULL) != SN_OK)
		return SN_OK;
	if (view.length >= 2 && !memcmp(view.bytes, "#!", 2)) {
		char interpreter[4096] = "";
		bool is_named = script_interpreter(&view, interpreter, sizeof(interpreter));

		sn_file_unmap(&view);
		if (is_named && depth < SCRIPT_DEPTH_MAX && !access(interpreter, X_OK))
			return kind_find(interpreter, target, depth + 1, err);
		target->exit_code = SN_EXIT_NOT_EXECUTABLE;
		return sn_error_set(err, SN_ERR_FORMAT,
				    "cannot run '%s': its interpreter '%s' is not there or not "
				    "executable",
				    target->path, interpreter);
	}
	/* Else a script without #!, which execvp gives to sh. */
	if (view.length >= SELFMAG && !memcmp(view.bytes, ELFMAG, SELFMAG))
		target->kind = elf_kind(&view, target->loader, depth ? 0 : sizeof(target->loader));
	sn_file_unmap(&view);
	return SN_OK;
}

sn_status sn_target_find(const char *word, struct sn_target *out, struct sn_error *err)
{
	bool is_denied = false, is_found, is_path = strchr(word, '/') != NULL;

	*out = (struct sn_target){ 0 };
	if (is_path) {
		is_found = strlen(word) < sizeof(out->path) && !access(word, F_OK);
		is_denied = is_found && (access(word, X_OK) || !is_regular_file(word));
		if (is_found)
			strcpy(out->path, word);
	} else {
		is_found = path_search(word, out->path, sizeof(out->path), &is_denied);
		is_denied = is_denied && !is_found;
	}
	if (is_denied) {
		out->exit_code = SN_EXIT_NOT_EXECUTABLE;
		return sn_error_set(
			err, SN_ERR_IO,
			!is_path || is_regular_file(word)
				? "cannot run '%s': it is not an executable file (chmod "
				  "+x it)"
				: "cannot run '%s': it is no file, but a folder or the "
				  "like; name the program inside",
			word);
	}
	if (!is_found) {
		out->exit_code = SN_EXIT_COMMAND_NOT_FOUND;
		return sn_error_set(
			err, SN_ERR_NOT_FOUND,
			"cannot run '%s': there is no such program%s; 'sonde help' lists "
			"sonde's own commands",
			word, is_path ? "" : " on PATH");
	}
	return kind_find(out->path, out, 0, err);
}

sn_status sn_target_check_insertable(const struct sn_target *target, struct sn_error *err)
{
	switch (target->kind) {
	case SN_TARGET_STATIC:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "'%s' is linked statically: nothing can be inserted into it",
				    target->path);
	case SN_TARGET_SETUID:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "'%s' runs with other rights than yours, so the loader lets "
				    "nothing be inserted into it",
				    target->path);
	case SN_TARGET_FOREIGN:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "'%s' is no program of x86-64: nothing can be inserted into it",
				    target->path);
	default:
		return SN_OK;
	}
}
