/* The Callgrind profile format (Valgrind's manual, "Callgrind Format Specification"): costs of
 * source lines, and inclusive costs of calls from lines. Sampling does not count calls: `calls=`
 * has the observations that came through the call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "exchange/frames.h"

/* Inclusive time of the calls from one line of one function to another function. */
struct call {
	uint32_t caller, line, callee; /* line: index into the program's lines */
	uint64_t cpu_ns, samples;
	uint32_t stack; /* the last one counted: a call that a path makes twice counts once */
};

struct builder {
	const struct sn_profile *profile;
	const struct sn_program *program;
	struct sn_map index;
	SN_VEC(struct call) calls;
	FILE *out;
	struct sn_text line;
	uint8_t *named_function; /* names are written once, then numbers stand for them */
};

static void add_call(struct builder *b, uint32_t caller, uint32_t line, uint32_t callee,
		     uint32_t stack)
{
	const struct sn_weight *w = &b->profile->stacks[stack];
	uint64_t key = sn_hash_u64((uint64_t)caller << 32 | callee) ^ sn_hash_u64(~(uint64_t)line);
	bool is_new;
	uint64_t *slot = sn_map_put(&b->index, key, &is_new);
	struct call *call;

	if (is_new) {
		*slot = b->calls.count;
		sn_vec_push(&b->calls, (struct call){ caller, line, callee, 0, 0, SN_NONE });
	}
	call = &b->calls.items[*slot];
	if (call->stack == stack)
		return;
	call->stack = stack;
	call->cpu_ns += w->cpu_ns;
	call->samples += w->samples;
}

static void find_calls(struct builder *b)
{
	struct sn_step_vec steps = { 0 };

	for (uint32_t s = 0; s <= b->program->stack_count; s++) {
		uint32_t caller = SN_NONE, line = SN_NONE;

		if (!b->profile->stacks[s].cpu_ns && !b->profile->stacks[s].samples)
			continue;
		sn_program_stack_steps(b->program, s, &steps);
		for (size_t i = 0; i < steps.count; i++) {
			const struct sn_step *step = &steps.items[i];

			if (step->kind == SN_STEP_FUNCTION) {
				if (caller != SN_NONE && caller != step->index)
					add_call(b, caller, line, step->index, s);
				caller = step->index;
			}
			line = step->line;
		}
	}
	sn_vec_free(&steps);
}

static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left, *b = right;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static void put_name(struct builder *b, const char *key, uint32_t number, const char *name,
		     uint8_t *is_named)
{
	fprintf(b->out, "%s=(%" PRIu32 ")", key, number + 1);
	if (!*is_named) {
		sn_text_clear(&b->line);
		sn_text_add_printable(&b->line, name, strlen(name));
		fprintf(b->out, " %s", b->line.chars ? b->line.chars : "");
		*is_named = 1;
	}
	putc('\n', b->out);
}

/** Files have no numbers in the program; paths are written out. */
static void put_file(struct builder *b, const char *key, const char *path)
{
	sn_text_clear(&b->line);
	path = path ? path : "???";
	sn_text_add_printable(&b->line, path, strlen(path));
	fprintf(b->out, "%s=%s\n", key, b->line.chars ? b->line.chars : "");
}

static const char *module_path(const struct builder *b, uint32_t function)
{
	uint32_t module = b->program->functions.items[function].module;

	return module == SN_NONE ? "???" : b->profile->experiment->modules.items[module].path;
}

static uint32_t line_number(const struct builder *b, uint32_t line)
{
	return line == SN_NONE ? 0 : b->program->lines.items[line].line;
}

static uint64_t microseconds(uint64_t ns)
{
	return (ns + 500) / 1000;
}

/** Lines are grouped by function in no particular order: chains of lines by function. */
static uint32_t *chain_lines(const struct builder *b, uint32_t **next)
{
	size_t functions = b->program->functions.count, lines = b->program->lines.count;
	uint32_t *head = malloc((functions + 1) * sizeof(*head));

	*next = malloc((lines + 1) * sizeof(**next));
	memset(head, 0xff, (functions + 1) * sizeof(*head));
	for (size_t i = lines; i-- > 0;) {
		uint32_t f = b->program->lines.items[i].function;

		(*next)[i] = head[f];
		head[f] = (uint32_t)i;
	}
	return head;
}

static void put_function(struct builder *b, uint32_t f, uint32_t first_line, const uint32_t *next,
			 size_t *call)
{
	const struct sn_program_function *function = &b->program->functions.items[f];

	put_file(b, "ob", module_path(b, f));
	put_file(b, "fl", function->file);
	put_name(b, "fn", f, function->name, &b->named_function[f]);
	for (uint32_t l = first_line; l != SN_NONE; l = next[l]) {
		const struct sn_weight *w = &b->profile->lines[l].exclusive;
		const char *file = b->program->lines.items[l].file;

		if (!w->cpu_ns && !w->samples)
			continue;
		if (file && (!function->file || strcmp(file, function->file)))
			put_file(b, "fi", file); /* lines of an included file */
		else
			put_file(b, "fe", function->file);
		fprintf(b->out, "%" PRIu32 " %" PRIu64 " %" PRIu64 "\n", line_number(b, l),
			microseconds(w->cpu_ns), w->samples);
	}
	put_file(b, "fe", function->file);
	for (; *call < b->calls.count && b->calls.items[*call].caller == f; (*call)++) {
		const struct call *c = &b->calls.items[*call];
		const struct sn_program_function *callee = &b->program->functions.items[c->callee];

		put_file(b, "cob", module_path(b, c->callee));
		put_file(b, "cfi", callee->file);
		put_name(b, "cfn", c->callee, callee->name, &b->named_function[c->callee]);
		fprintf(b->out,
			"calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 " %" PRIu64 "\n",
			c->samples ? c->samples : 1, callee->line, line_number(b, c->line),
			microseconds(c->cpu_ns), c->samples);
	}
	putc('\n', b->out);
}

sn_status sn_export_callgrind(const struct sn_profile *profile,
			      const struct sn_export_options *options, FILE *out,
			      struct sn_error *err)
{
	struct builder b = { .profile = profile, .program = profile->program, .out = out };
	const char *command = profile->experiment->arguments;
	uint32_t *head, *next;
	size_t call = 0;

	(void)options;
	(void)err;
	find_calls(&b);
	qsort(b.calls.items, b.calls.count, sizeof(*b.calls.items), compare_calls);
	b.named_function = calloc(b.program->functions.count + 1, 1);
	sn_text_add_printable(&b.line, command ? command : "", command ? strlen(command) : 0);
	fprintf(out,
		"# callgrind format\nversion: 1\ncreator: sonde\ncmd: %s\npositions: line\n"
		"event: Cpu_us : CPU time in microseconds\nevent: Samples : observations\n"
		"events: Cpu_us Samples\n\n",
		b.line.chars ? b.line.chars : "");
	head = chain_lines(&b, &next);
	for (uint32_t f = 0; f < b.program->functions.count; f++)
		put_function(&b, f, head[f], next, &call);
	fprintf(out, "totals: %" PRIu64 " %" PRIu64 "\n", microseconds(profile->total.cpu_ns),
		profile->total.samples);
	free(head);
	free(next);
	free(b.named_function);
	sn_map_free(&b.index);
	sn_vec_free(&b.calls);
	sn_text_free(&b.line);
	return SN_OK;
}
