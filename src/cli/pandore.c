/*
 * sonde pandore compile: from a Pandore source to a program, by way of C and the C compiler of the
 * machine.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/own_file.h"
#include "base/vec.h"
#include "cli/command.h"
#include "pandore/compiler/compile.h"
#include "pandore/compiler/host_errors.h"

struct words {
	SN_VEC(const char *) items;
};

static void add_word(struct words *words, const char *word)
{
	sn_vec_push(&words->items, word);
}

/* "gcc -m64" is two words. */
static void add_words(struct words *words, struct sn_arena *arena, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (length)
			add_word(words, sn_arena_strndup(arena, text, length));
		text += length + (text[length] == ' ');
	}
}

/* Where libpandore lies. */
static const char *runtime_folder(struct sn_arena *arena)
{
	char *path = sn_own_file("src/pandore/runtime/libpandore.a", "pandore/libpandore.a");
	const char *folder =
		path ? sn_arena_strndup(arena, path, (size_t)(strrchr(path, '/') - path)) : NULL;

	free(path);
	return folder;
}

static sn_status read_defines(const struct sn_args *args, struct sn_arena *arena,
			      struct sn_pnd_define *defines, size_t *define_count,
			      const char **folders, size_t *folder_count, struct sn_error *err)
{
	for (size_t i = 0; i < args->given_count; i++) {
		const char *option = args->command->options[args->given[i].option].name;
		const char *value = args->given[i].value, *equals = strchr(value, '=');
		size_t length = equals ? (size_t)(equals - value) : strlen(value);

		if (!strcmp(option, "include")) {
			folders[(*folder_count)++] = value;
		} else if (!strcmp(option, "define")) {
			if (!length ||
			    strspn(value,
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") <
				    length)
				return sn_error_set(err, SN_ERR_USAGE,
						    "--define takes NAME=VALUE, not '%s'", value);
			defines[*define_count].name = sn_arena_strndup(arena, value, length);
			defines[(*define_count)++].value = equals ? equals + 1 : "1";
		}
	}
	return SN_OK;
}

/* Is `name` a word of a directive of this file, such as "#define P 4" or "#ifdef P"? */
static bool has_directive(const struct sn_pnd_file *file, const char *name)
{
	const char *at = file->chars, *end = at + file->length;
	size_t length = strlen(name);

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		bool is_directive = false;

		line_end = line_end ? line_end : end;
		while (at < line_end && (*at == ' ' || *at == '\t'))
			at++;
		for (; at < line_end && *at == '#'; at++)
			is_directive = true;
		for (; is_directive && at < line_end;) {
			size_t word = 0;

			while (at + word < line_end &&
			       (isalnum((unsigned char)at[word]) || at[word] == '_'))
				word++;
			if (word && word == length && !memcmp(at, name, word))
				return true;
			at += word ? word : 1;
		}
		at = line_end + (line_end < end);
	}
	return false;
}

static void warn_of_defines(const struct sn_pnd_diags *diags, const struct sn_pnd_define *defines,
			    size_t count)
{
	for (size_t d = 0; d < count; d++) {
		bool found = false;

		for (size_t i = 0; i < diags->files.count && !found; i++)
			found = has_directive(&diags->files.items[i], defines[d].name);
		if (!found)
			fprintf(stderr, "warning: -D %s overrides no #define\n", defines[d].name);
	}
}

/* Runs the C compiler and keeps what it says; `*exit_status` is as of wait(). */
static sn_status run_compiler(struct words *words, struct sn_text *said, int *exit_status,
			      struct sn_error *err)
{
	posix_spawn_file_actions_t actions;
	char bytes[4096];
	int failed, ends[2];
	ssize_t count;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return sn_error_errno(err, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	setenv("LC_ALL", "C", 1); /* host_errors.c reads English */
	add_word(words, NULL);
	failed = posix_spawnp(&child, words->items.items[0], &actions, NULL,
			      (char *const *)(uintptr_t)words->items.items, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!failed &&
	       ((count = read(ends[0], bytes, sizeof(bytes))) > 0 || (count < 0 && errno == EINTR)))
		sn_text_add_bytes(said, bytes, count > 0 ? (size_t)count : 0);
	close(ends[0]);
	if (failed) {
		errno = failed;
		return sn_error_errno(err, "cannot start the C compiler '%s'",
				      words->items.items[0]);
	}
	while (waitpid(child, exit_status, 0) < 0 && errno == EINTR)
		;
	return SN_OK;
}

/* The host's main() has a name of ours in the generated C. */
static void print_said(const char *said)
{
	static const char ours[] = "pd_host_main";

	for (const char *at; (at = strstr(said, ours)); said = at + strlen(ours))
		fprintf(stderr, "%.*smain", (int)(at - said), said);
	fputs(said, stderr);
}

/* Success, findings of ours instead of the C compiler's messages, or these and a sentence. */
static sn_status judge_compiler(const char *compiler, int exit_status, const struct sn_text *said,
				struct sn_pnd_diags *diags, const struct sn_pnd_result *result,
				struct sn_error *err)
{
	const char *chars = said->chars ? said->chars : "";
	bool is_explained;

	if (!exit_status) {
		print_said(chars);
		return SN_OK;
	}
	sn_pnd_diags_clear(diags);
	is_explained = sn_pnd_explain_host_errors(diags, chars, result->phases.items,
						  result->phases.count);
	sn_pnd_diags_print(diags, stderr, false);
	if (!is_explained)
		print_said(chars);
	return sn_error_set(err, SN_ERR_FORMAT,
			    is_explained ? "the host's part of '%s' calls what is nowhere"
					 : "the host's part of '%s' is C that '%s' refuses; its "
					   "messages above name the lines",
			    diags->files.items[0].name, compiler);
}

static sn_status write_code(const char *path, const struct sn_text *code, struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	fwrite(code->chars, 1, code->length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

/* The linker would say it at length, after the compilation. */
static sn_status check_output(const char *output, struct sn_arena *arena, struct sn_error *err)
{
	const char *slash = strrchr(output, '/');
	const char *folder =
		slash ? sn_arena_strndup(arena, output, (size_t)(slash - output) + 1) : ".";
	struct stat st;

	if (access(folder, W_OK | X_OK) || (!access(output, F_OK) && access(output, W_OK)))
		return sn_error_errno(err, "cannot write the program '%s'", output);
	if (!stat(output, &st) && S_ISDIR(st.st_mode))
		return sn_error_set(err, SN_ERR_USAGE,
				    "'%s' is a folder; name the program with -o FILE", output);
	return SN_OK;
}

static sn_status build(const struct sn_args *args, struct sn_arena *arena,
		       struct sn_pnd_diags *diags, const struct sn_pnd_result *result,
		       const char *generated, const char *output, struct sn_error *err)
{
	const char *source = diags->files.items[0].name;
	const char *backend = sn_args_value(args, "backend"), *folder = runtime_folder(arena);
	bool is_mpi = backend && !strcmp(backend, "mpi");
	const char *cc = sn_args_value(args, "cc"), *slash = strrchr(source, '/');
	struct words words = { 0 };
	struct sn_text said = { 0 };
	sn_status status;
	int exit_status = 0;

	if (!folder)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"libpandore.a is neither beside this sonde nor where it would be "
			"installed; build or install sonde whole");
	if (!cc)
		cc = getenv(is_mpi ? "MPICC" : "CC");
	add_words(&words, arena, cc && *cc ? cc : is_mpi ? "mpicc" : "cc");
	if (!words.items.count)
		add_word(&words, "cc");
	add_words(&words, arena,
		  "-std=gnu11 -g -O2 -falign-functions=64 -ffp-contract=off -Ulinux -Uunix");
	add_word(&words, sn_arena_printf(arena, "-I%s", folder));
	add_word(&words,
		 slash ? sn_arena_printf(arena, "-I%.*s", (int)(slash - source), source) : "-I.");
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "include"))
			add_word(&words, sn_arena_printf(arena, "-I%s", args->given[i].value));
	add_word(&words, "-o");
	add_word(&words, output);
	add_word(&words, generated);
	for (size_t i = 1; i < args->operand_count; i++)
		add_word(&words, args->operands[i]);
	if (is_mpi)
		add_word(&words, sn_arena_printf(arena, "%s/mpi.c", folder));
	add_word(&words, sn_arena_printf(arena, "%s/libpandore.a", folder));
	add_word(&words, "-lm");
	status = run_compiler(&words, &said, &exit_status, err);
	if (status == SN_OK)
		status = judge_compiler(words.items.items[0], exit_status, &said, diags, result,
					err);
	sn_vec_free(&words.items);
	sn_text_free(&said);
	return status;
}

static void default_output(struct sn_arena *arena, const char *source, const char **output)
{
	const char *name = sn_base_name(source);
	const char *dot = strrchr(name, '.');

	if (!*output)
		*output = dot && dot > name ? sn_arena_strndup(arena, name, (size_t)(dot - name))
					    : sn_arena_printf(arena, "%s.out", name);
}

static sn_status options_of(const struct sn_args *args, struct sn_pnd_options *options,
			    struct sn_error *err)
{
	const char *scheme = sn_args_value(args, "scheme");
	long long strip;
	sn_status status = sn_args_integer(args, "strip", 0, &strip, err);

	if (status == SN_OK && ((sn_args_value(args, "strip") && strip < 1) || strip > 1000000))
		status = sn_error_set(err, SN_ERR_USAGE, "--strip is 1 to 1000000");
	options->strip = (int)strip;
	options->scheme = scheme && !strcmp(scheme, "naive") ? SN_PND_NAIVE : SN_PND_OPT;
	options->host_inside = sn_args_flag(args, "host-inside");
	options->profile = sn_args_flag(args, "profile");
	options->trace = sn_args_flag(args, "trace");
	options->reassoc = sn_args_flag(args, "reassoc");
	options->check = sn_args_flag(args, "check");
	options->explain = sn_args_flag(args, "explain");
	options->lex.may_read_files = true;
	if (status == SN_OK && sn_args_value(args, "format") && !options->explain)
		status = sn_error_set(err, SN_ERR_USAGE, "--format is of --explain");
	return status;
}

static bool is_json(const struct sn_args *args)
{
	const char *format = sn_args_value(args, "format");

	return format && !strcmp(format, "json");
}

static sn_status finish(const struct sn_args *args, struct sn_arena *arena,
			struct sn_pnd_diags *diags, const struct sn_pnd_result *result,
			const char *output, struct sn_error *err)
{
	const char *kept = sn_args_value(args, "emit-c");
	char temporary[] = "/tmp/sonde-pandore-XXXXXX.c";
	sn_status status;
	int fd;

	if (sn_args_flag(args, "explain") && is_json(args))
		sn_pnd_write_explanation(
			result, diags->files.items[0].name,
			sn_args_value(args, "scheme") ? sn_args_value(args, "scheme") : "opt",
			stdout);
	else if (sn_args_flag(args, "explain"))
		fputs(result->explain.chars ? result->explain.chars : "", stdout);
	if (kept)
		return write_code(kept, &result->code, err);
	if (sn_args_flag(args, "explain") && !sn_args_value(args, "output"))
		return SN_OK;
	status = check_output(output, arena, err);
	if (status != SN_OK)
		return status;
	fd = mkstemps(temporary, 2);
	if (fd < 0)
		return sn_error_errno(err, "cannot make a file in /tmp");
	close(fd);
	status = write_code(temporary, &result->code, err);
	if (status == SN_OK)
		status = build(args, arena, diags, result, temporary, output, err);
	unlink(temporary);
	return status;
}

/* A compilation is over in milliseconds: memory that is given back and taken again costs a tenth of
 * them. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 1 << 20);
}

static int compile_run(const struct sn_args *args)
{
	struct sn_arena arena = { 0 };
	struct sn_pnd_diags diags = { .arena = &arena };
	struct sn_pnd_options options = { 0 };
	struct sn_pnd_result result = { 0 };
	struct sn_pnd_define defines[SN_OPTIONS_MAX * 4];
	const char *folders[SN_OPTIONS_MAX * 4], *source, *output = sn_args_value(args, "output");
	struct sn_file_view view = { 0 };
	struct sn_pnd_file file;
	struct sn_error err;
	sn_status status;
	int code = SN_EXIT_OK;

	keep_memory();
	if (args->operand_count < 1 || args->given_count > SN_OPTIONS_MAX * 4) {
		sn_error_set(&err, SN_ERR_USAGE,
			     "name one Pandore source: sonde pandore compile "
			     "PROG.pnd -o PROG");
		return sn_error_print(&err);
	}
	source = args->operands[0];
	status = options_of(args, &options, &err);
	if (status == SN_OK)
		status = read_defines(args, &arena, defines, &options.lex.define_count, folders,
				      &options.lex.include_folder_count, &err);
	options.lex.defines = defines;
	options.lex.include_folders = folders;
	default_output(&arena, source, &output);
	options.program_name = output;
	if (status == SN_OK)
		status = sn_file_map(source, &view, &err);
	if (status == SN_OK) {
		file = (struct sn_pnd_file){ source, (const char *)view.bytes, view.length };
		sn_vec_push(&diags.files, file);
		if (!sn_pnd_compile(&diags, &options, &result))
			code = SN_EXIT_BAD_INPUT;
		sn_pnd_diags_print(&diags, stderr, sn_args_flag(args, "explain") && !is_json(args));
		warn_of_defines(&diags, defines, options.lex.define_count);
		if (code == SN_EXIT_OK)
			status = finish(args, &arena, &diags, &result, output, &err);
	}
	if (status != SN_OK)
		code = sn_error_print(&err);
	sn_pnd_result_free(&result);
	sn_pnd_diags_free(&diags);
	sn_file_unmap(&view);
	sn_arena_free(&arena);
	return code;
}

static const struct sn_option compile_options[] = {
	{ "output", 'o', "FILE", "name of the program; default: the source's without its ending",
	  NULL },
	{ "backend", 'b', "BACKEND", "local starts the nodes itself, mpi is started by mpirun",
	  "local|mpi" },
	{ "scheme", 's', "SCHEME",
	  "opt (default) or naive: refresh, execute, free for each statement", "naive|opt" },
	{ "define", 'D', "NAME=VALUE", "override a #define, such as P, the number of nodes", NULL },
	{ "include", 'I', "FOLDER", "look here for #include \"...\"", NULL },
	{ "profile", 'p', NULL,
	  "count messages, bytes and waiting; the run writes PROG.profile.json", NULL },
	{ "trace", 't', NULL, "record events; the run writes PROG.trace.jsonl for sonde lattice",
	  NULL },
	{ "check", 0, NULL, "check every subscript while running", NULL },
	{ "reassoc", 0, NULL, "allow sums in another order: results may differ in the last bits",
	  NULL },
	{ "strip", 0, "N", "iterations in a strip of a pipelined loop (default 32)", NULL },
	{ "host-inside", 0, NULL, "the host is node 0 and no process of its own", NULL },
	{ "explain", 'e', NULL,
	  "print how each statement is translated, its messages, and remarks on loop nests", NULL },
	{ "format", 'f', "FORMAT", "how --explain prints", "text|json" },
	{ "emit-c", 0, "FILE", "write the generated C here and do not compile it", NULL },
	{ "cc", 0, "COMMAND", "the C compiler; default: $CC or cc, with mpi $MPICC or mpicc",
	  NULL },
	{ 0 }
};

static const char *const compile_examples[] = {
	"sonde pandore compile fig1.pnd -o fig1 && ./fig1",
	"compiles for the P of the source and runs it on this machine",
	"sonde pandore compile fig1.pnd -D P=7 --profile -o fig1 && ./fig1 && sonde comm "
	"fig1.profile.json",
	"seven nodes, and who sent what to whom", NULL
};

const struct sn_command sn_command_pandore_compile = {
	.name = "pandore compile",
	.operands = "PROG.pnd [FILE.c...]",
	.summary = "Compiles a sequential C program with distributed phases",
	.description = "Translates the phases of a Pandore program to communicating processes and "
		       "compiles the result with the C compiler. Results are bit-identical to the "
		       "sequential program for every distribution and number of nodes.\n\n"
		       "Further operands, such as objects and options of the C compiler after --, "
		       "are passed on to it. Errors are printed as FILE:LINE:COLUMN: error: Pnn: "
		       "TEXT, all of a file in one go.",
	.options = compile_options,
	.examples = compile_examples,
	.run = compile_run,
};
