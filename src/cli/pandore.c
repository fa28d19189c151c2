/*
 * sonde pandore compile: from a Pandore source to a program, by way of C and the C compiler of the
 * machine. sonde pandore predict: the messages of its phases, counted by a build of it that sends none.
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

enum { COUNT_SECONDS = 10 };

struct words {
	SN_VEC(const char *) items;
};

/* A value of an option that only one of the two commands has. */
static const char *value_of(const struct sn_args *args, const char *name)
{
	for (const struct sn_option *o = args->command->options; o->name; o++)
		if (!strcmp(o->name, name))
			return sn_args_value(args, name);
	return NULL;
}

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

/* --with NAME=VALUE: what calls pass. */
static sn_status read_given(const struct sn_args *args, struct sn_arena *arena,
			    struct sn_pnd_given *given, size_t *count, struct sn_error *err)
{
	for (size_t i = 0; i < args->given_count; i++) {
		const char *value = args->given[i].value, *equals;
		char *end;

		if (strcmp(args->command->options[args->given[i].option].name, "with"))
			continue;
		equals = strchr(value, '=');
		errno = 0;
		given[*count].value = equals ? strtoll(equals + 1, &end, 10) : 0;
		if (!equals || equals == value || end == equals + 1 || *end || errno)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--with takes NAME=INTEGER, not '%s'", value);
		given[(*count)++].name = sn_arena_strndup(arena, value, (size_t)(equals - value));
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

/* Runs a command and keeps what it says to `fd`; `*exit_status` is as of wait(). `what` it is, for
 * people. */
static sn_status run_and_hear(struct words *words, int fd, const char *what, struct sn_text *said,
			      int *exit_status, struct sn_error *err)
{
	posix_spawn_file_actions_t actions;
	char bytes[4096];
	int failed, ends[2];
	ssize_t count;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return sn_error_errno(err, "cannot make a pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], fd);
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
		return sn_error_errno(err, "cannot start %s '%s'", what, words->items.items[0]);
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

/* The command of the C compiler. The counting build (`is_counting`) is for this machine alone, and calls
 * nothing of the host. */
static sn_status compiler_words(const struct sn_args *args, struct sn_arena *arena,
				const char *source, const char *generated, const char *output,
				bool is_counting, struct words *words, struct sn_error *err)
{
	const char *backend = value_of(args, "backend"), *folder = runtime_folder(arena);
	bool is_mpi = backend && !strcmp(backend, "mpi");
	const char *cc = sn_args_value(args, "cc"), *slash = strrchr(source, '/');

	if (!folder)
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"libpandore.a is neither beside this sonde nor where it would be "
			"installed; build or install sonde whole");
	if (!cc)
		cc = getenv(is_mpi ? "MPICC" : "CC");
	add_words(words, arena, cc && *cc ? cc : is_mpi ? "mpicc" : "cc");
	if (!words->items.count)
		add_word(words, "cc");
	add_words(words, arena,
		  "-std=gnu11 -g -O2 -falign-functions=64 -ffp-contract=off -Ulinux -Uunix");
	add_word(words, sn_arena_printf(arena, "-I%s", folder));
	add_word(words,
		 slash ? sn_arena_printf(arena, "-I%.*s", (int)(slash - source), source) : "-I.");
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "include"))
			add_word(words, sn_arena_printf(arena, "-I%s", args->given[i].value));
	add_word(words, "-o");
	add_word(words, output);
	add_word(words, generated);
	for (size_t i = 1; i < args->operand_count; i++)
		add_word(words, args->operands[i]);
	if (is_counting)
		add_words(words, arena, "-w -no-pie -Wl,--unresolved-symbols=ignore-all");
	else if (is_mpi)
		add_word(words, sn_arena_printf(arena, "%s/mpi.c", folder));
	add_word(words, sn_arena_printf(arena, "%s/libpandore.a", folder));
	add_word(words, "-lm");
	return SN_OK;
}

static sn_status build(const struct sn_args *args, struct sn_arena *arena,
		       struct sn_pnd_diags *diags, const struct sn_pnd_result *result,
		       const char *generated, const char *output, struct sn_error *err)
{
	struct words words = { 0 };
	struct sn_text said = { 0 };
	int exit_status = 0;
	sn_status status = compiler_words(args, arena, diags->files.items[0].name, generated,
					  output, false, &words, err);

	if (status == SN_OK)
		status = run_and_hear(&words, STDERR_FILENO, "the C compiler", &said, &exit_status,
				      err);
	if (status == SN_OK)
		status = judge_compiler(words.items.count ? words.items.items[0] : "cc",
					exit_status, &said, diags, result, err);
	sn_vec_free(&words.items);
	sn_text_free(&said);
	return status;
}

/* ---- counting ---- */

struct counting {
	const struct sn_args *args;
	struct sn_arena *arena;
	const char *source;
	long long seconds; /* of CPU time, a phase; 0: no limit */
	bool has_failed;   /* there is no counting build */
};

/* Why nothing was counted, where the messages would stand. */
static void excuse(struct sn_text *said, const char *why)
{
	said->length = 0;
	sn_text_add(said, why);
}

/* A folder for the counting build. */
static bool make_folder(char *path, struct sn_text *said)
{
	if (mkdtemp(path))
		return true;
	excuse(said, "no folder can be made in /tmp for the program that counts them");
	return false;
}

static void build_and_run(struct counting *c, const char *generated, const char *program, int nodes,
			  struct sn_text *said)
{
	struct words compiler = { 0 }, run = { 0 };
	struct sn_text complaints = { 0 };
	struct sn_error err;
	int exit_status = 0;
	sn_status status = compiler_words(c->args, c->arena, c->source, generated, program, true,
					  &compiler, &err);

	if (status == SN_OK)
		status = run_and_hear(&compiler, STDERR_FILENO, "the C compiler", &complaints,
				      &exit_status, &err);
	if (status == SN_OK && exit_status)
		print_said(complaints.chars ? complaints.chars : "");
	add_word(&run, program);
	add_word(&run, sn_arena_printf(c->arena, "%lld", c->seconds));
	add_word(&run, sn_arena_printf(c->arena, "%d", nodes));
	if (status == SN_OK && !exit_status)
		status = run_and_hear(&run, STDOUT_FILENO, "the program that counts them", said,
				      &exit_status, &err);
	else if (status == SN_OK)
		excuse(said, "the C compiler refuses the program; its messages name the lines");
	if (status != SN_OK)
		excuse(said, err.sentence);
	c->has_failed = status != SN_OK || exit_status;
	sn_vec_free(&compiler.items);
	sn_vec_free(&run.items);
	sn_text_free(&complaints);
}

static void count_messages(void *context, const struct sn_text *code, int nodes,
			   struct sn_text *said)
{
	struct counting *c = context;
	char folder[] = "/tmp/sonde-pandore-XXXXXX";
	const char *generated, *program;
	struct sn_error err;

	if (!make_folder(folder, said))
		return;
	generated = sn_arena_printf(c->arena, "%s/count.c", folder);
	program = sn_arena_printf(c->arena, "%s/count", folder);
	if (write_code(generated, code, &err) == SN_OK)
		build_and_run(c, generated, program, nodes, said);
	else
		excuse(said, err.sentence);
	unlink(generated);
	unlink(program);
	rmdir(folder);
}

static void default_output(struct sn_arena *arena, const char *source, const char **output)
{
	const char *name = sn_base_name(source);
	const char *dot = strrchr(name, '.');

	if (!*output)
		*output = dot && dot > name ? sn_arena_strndup(arena, name, (size_t)(dot - name))
					    : sn_arena_printf(arena, "%s.out", name);
}

static bool is_prediction(const struct sn_args *args);

static sn_status options_of(const struct sn_args *args, struct sn_pnd_options *options,
			    struct sn_error *err)
{
	static const char *const of_explain[] = { "format", "with", "nodes", "max-seconds" };
	const char *scheme = sn_args_value(args, "scheme");
	long long strip, nodes = 0;
	sn_status status = sn_args_integer(args, "strip", 0, &strip, err);

	if (status == SN_OK)
		status = sn_args_integer(args, "nodes", 0, &nodes, err);
	if (status == SN_OK && (sn_args_value(args, "nodes") && (nodes < 1 || nodes > 1024)))
		status = sn_error_set(err, SN_ERR_USAGE, "--nodes is 1 to 1024");
	options->nodes = (int)nodes;

	if (status == SN_OK && ((sn_args_value(args, "strip") && strip < 1) || strip > 1000000))
		status = sn_error_set(err, SN_ERR_USAGE, "--strip is 1 to 1000000");
	options->strip = (int)strip;
	options->scheme = scheme && !strcmp(scheme, "naive") ? SN_PND_NAIVE : SN_PND_OPT;
	options->host_inside = value_of(args, "host-inside") != NULL;
	options->profile = value_of(args, "profile") != NULL;
	options->trace = value_of(args, "trace") != NULL;
	options->reassoc = sn_args_flag(args, "reassoc");
	options->check = value_of(args, "check") != NULL;
	options->explain = is_prediction(args) || sn_args_flag(args, "explain");
	options->lex.may_read_files = true;
	if (status == SN_OK && !options->explain)
		for (size_t i = 0; i < sizeof(of_explain) / sizeof(*of_explain); i++)
			if (sn_args_value(args, of_explain[i]))
				status = sn_error_set(err, SN_ERR_USAGE, "--%s is of --explain",
						      of_explain[i]);
	return status;
}

static bool is_json(const struct sn_args *args)
{
	const char *format = sn_args_value(args, "format");

	return format && !strcmp(format, "json");
}

/* ---- what predict prints ---- */

enum { LINE, FROM, TO, SOURCE, TARGET, BROADCAST, MESSAGES, BYTES, PHASE, COLUMN_COUNT };

static const struct sn_column predict_columns[COLUMN_COUNT] = {
	[PHASE] = { "phase", "phase", SN_CELL_TEXT, 0 },
	[LINE] = { "line", "line", SN_CELL_INT, 0 },
	[SOURCE] = { "source", "array", SN_CELL_TEXT, 0 },
	[TARGET] = { "target", "for", SN_CELL_TEXT, 0 },
	[BROADCAST] = { "broadcast", NULL, SN_CELL_BOOL, 0 },
	[FROM] = { "from", "from node", SN_CELL_INT, 0 },
	[TO] = { "to", "to node", SN_CELL_INT, 0 },
	[MESSAGES] = { "messages", "messages", SN_CELL_INT, 0 },
	[BYTES] = { "bytes", "bytes", SN_CELL_INT, 0 },
};

static void write_reasons(struct sn_json *json, const char *key,
			  const struct sn_pnd_foretold *phases, size_t count)
{
	sn_json_key(json, key);
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct sn_pnd_foretold *f = &phases[i];

		if (!f->why)
			continue;
		sn_json_object(json);
		sn_json_member_string(json, "phase", f->phase);
		sn_json_key(json, "line");
		f->line ? sn_json_int(json, f->line) : sn_json_null(json);
		sn_json_member_string(json, "reason", f->why);
		sn_json_close(json);
	}
	sn_json_close(json);
}

/* Phases whose messages are not known, and those whose subscripts are not, and why. */
static void write_unknown(struct sn_json *json, void *context)
{
	const struct sn_pnd_result *result = context;

	write_reasons(json, "unknown", result->foretold.items, result->foretold.count);
	write_reasons(json, "unchecked", result->unchecked.items, result->unchecked.count);
}

static sn_status print_prediction(const struct sn_args *args, const struct sn_pnd_result *result,
				  struct sn_error *err)
{
	struct sn_table_view view = { .schema = "sonde.pandore-predict/1" };
	struct sn_table table;
	sn_status status = sn_args_table_view(args, &view, err);

	if (status != SN_OK)
		return status;
	if (view.format == SN_FORMAT_TEXT) {
		fputs(result->messages.chars ? result->messages.chars : "", stdout);
		return SN_OK;
	}
	sn_table_init(&table, predict_columns, COLUMN_COUNT);
	for (size_t i = 0; i < result->expected.count; i++) {
		const struct sn_pnd_expected *e = &result->expected.items[i];

		sn_table_add_row(&table);
		sn_table_set_text(&table, PHASE, e->phase);
		sn_table_set_int(&table, LINE, e->line);
		sn_table_set_text(&table, SOURCE, e->source);
		sn_table_set_text(&table, TARGET, e->target);
		sn_table_set_int(&table, BROADCAST, e->is_broadcast);
		sn_table_set_int(&table, FROM, e->from);
		sn_table_set_int(&table, TO, e->to);
		sn_table_set_int(&table, MESSAGES, e->messages);
		sn_table_set_int(&table, BYTES, e->bytes);
	}
	status = sn_table_write(&table, &view, stdout, write_unknown, (void *)(uintptr_t)result,
				err);
	sn_table_free(&table);
	return status;
}

static sn_status finish(const struct sn_args *args, struct sn_arena *arena,
			struct sn_pnd_diags *diags, const struct sn_pnd_result *result,
			const char *output, struct sn_error *err)
{
	const char *kept = value_of(args, "emit-c");
	char temporary[] = "/tmp/sonde-pandore-XXXXXX.c";
	sn_status status;
	int fd;

	if (is_prediction(args))
		return print_prediction(args, result, err);
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
	struct sn_pnd_given given[SN_OPTIONS_MAX * 4];
	struct counting counting = { args, &arena, NULL, COUNT_SECONDS, false };
	const char *folders[SN_OPTIONS_MAX * 4], *source, *output = value_of(args, "output");
	struct sn_file_view view = { 0 };
	struct sn_pnd_file file;
	struct sn_error err;
	sn_status status;
	int code = SN_EXIT_OK;

	keep_memory();
	if (args->operand_count < 1 || args->given_count > SN_OPTIONS_MAX * 4) {
		sn_error_set(&err, SN_ERR_USAGE,
			     is_prediction(args) ? "name one Pandore source: sonde pandore "
						   "predict PROG.pnd"
						 : "name one Pandore source: sonde pandore compile "
						   "PROG.pnd -o PROG");
		return sn_error_print(&err);
	}
	source = args->operands[0];
	status = options_of(args, &options, &err);
	if (status == SN_OK)
		status = read_defines(args, &arena, defines, &options.lex.define_count, folders,
				      &options.lex.include_folder_count, &err);
	if (status == SN_OK)
		status = read_given(args, &arena, given, &options.given_count, &err);
	if (status == SN_OK)
		status = sn_args_integer(args, "max-seconds", COUNT_SECONDS, &counting.seconds,
					 &err);
	if (status == SN_OK && (counting.seconds < 0 || counting.seconds > 1000000))
		status = sn_error_set(&err, SN_ERR_USAGE, "--max-seconds is 0 to 1000000");
	counting.source = source;
	options.given = given;
	options.count = count_messages;
	options.context = &counting;
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
		sn_pnd_diags_print(&diags, stderr,
				   options.explain && !is_prediction(args) && !is_json(args));
		warn_of_defines(&diags, defines, options.lex.define_count);
		if (code == SN_EXIT_OK && result.unknown_given) {
			status = sn_error_set(&err, SN_ERR_USAGE,
					      "no phase has an integer parameter '%s' for --with",
					      result.unknown_given);
			code = SN_EXIT_USAGE;
		}
		if (code == SN_EXIT_OK && is_prediction(args) && counting.has_failed)
			code = SN_EXIT_BAD_INPUT;
		else if (code == SN_EXIT_OK)
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

/* For what the run decides. */
#define COUNT_OPTIONS                                                                              \
	{ "with", 'w', "NAME=INTEGER", "count the messages for this value of a phase's parameter", \
	  NULL },                                                                                  \
		{ "nodes", 'n', "P", "count for so many nodes, if the source leaves it open",      \
		  NULL },                                                                          \
	{                                                                                          \
		"max-seconds", 0, "N",                                                             \
			"CPU time to count the messages of a phase (default 10; 0: no limit)",     \
			NULL                                                                       \
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
	COUNT_OPTIONS,
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

static const struct sn_option predict_options[] = {
	{ "scheme", 0, "SCHEME",
	  "opt (default) or naive: refresh, execute, free for each statement", "naive|opt" },
	{ "define", 'D', "NAME=VALUE", "override a #define, such as P, the number of nodes", NULL },
	{ "include", 'I', "FOLDER", "look here for #include \"...\"", NULL },
	{ "reassoc", 0, NULL, "as compiled with --reassoc", NULL },
	{ "strip", 0, "N", "iterations in a strip of a pipelined loop (default 32)", NULL },
	{ "cc", 0, "COMMAND", "the C compiler; default: $CC or cc", NULL },
	COUNT_OPTIONS,
	SN_TABLE_OPTIONS,
	{ 0 }
};

static const char *const predict_examples[] = {
	"sonde pandore predict fig1.pnd -D P=7",
	"who will send what to whom in a call of each phase, on seven nodes",
	"sonde pandore predict heat.pnd --nodes 4 --with n=1000 --format csv",
	"sizes and number of nodes that a run would decide", NULL
};

const struct sn_command sn_command_pandore_predict = {
	.name = "pandore predict",
	.operands = "PROG.pnd [FILE.c...]",
	.summary = "Counts the messages that phases will send, before any run",
	.description =
		"Builds the program so that its phases count in the place of sending, and runs "
		"them without data, once for each node. The code that counts is the code that "
		"sends. The host's part is not run.\n\n"
		"Messages and bytes are those of one call of each phase. Where they depend on "
		"data, it says so, with the line. What calls pass is known where it is a "
		"constant, or from --with.\n\n"
		"--format json prints sonde.pandore-predict/1: a row for each line, array, "
		"target and pair of nodes; `unknown` has the other phases and why.",
	.options = predict_options,
	.examples = predict_examples,
	.run = compile_run,
};

static bool is_prediction(const struct sn_args *args)
{
	return args->command == &sn_command_pandore_predict;
}
