/* A loop by who comes to it: the functions above it on the stacks, with the time of each path. */
#include "views/loop_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct caller_time {
	struct sn_step_vec path; /* functions above the loop, nearest first */
	uint64_t cpu_ns;
};

struct callers {
	SN_VEC(struct caller_time) items;
};

static bool paths_equal(const struct sn_step_vec *a, const struct sn_step_vec *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].index != b->items[i].index)
			return false;
	return true;
}

/* The functions around the loop on this stack, nearest first; false if it is not on it. */
static bool path_above(const struct sn_loop_page *page, const struct sn_step_vec *steps,
		       struct sn_step_vec *path)
{
	size_t at = steps->count;

	path->count = 0;
	while (at > 0 && !(steps->items[at - 1].kind == SN_STEP_LOOP &&
			   steps->items[at - 1].index == page->number))
		at--;
	if (!at)
		return false;
	for (at--; at-- > 0 && path->count < 12;)
		if (steps->items[at].kind == SN_STEP_FUNCTION)
			sn_vec_push(path, steps->items[at]);
	return true;
}

static int callers_compare(const void *left, const void *right)
{
	const struct caller_time *x = left, *y = right;

	return (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns);
}

static void callers_find(const struct sn_loop_page *page, struct callers *callers)
{
	struct sn_step_vec steps = { 0 }, path = { 0 };

	for (uint32_t s = 0; s < page->program->stack_count; s++) {
		uint64_t ns = page->profile->stacks[s].cpu_ns;
		size_t i = 0;

		if (!ns)
			continue;
		sn_program_stack_steps(page->program, s, &steps);
		if (!path_above(page, &steps, &path))
			continue;
		while (i < callers->items.count &&
		       !paths_equal(&callers->items.items[i].path, &path))
			i++;
		if (i == callers->items.count) {
			struct caller_time fresh = { path, 0 };

			sn_vec_push(&callers->items, fresh);
			memset(&path, 0, sizeof(path));
		}
		callers->items.items[i].cpu_ns += ns;
	}
	if (callers->items.count)
		qsort(callers->items.items, callers->items.count, sizeof(*callers->items.items),
		      callers_compare);
	sn_vec_free(&steps);
	sn_vec_free(&path);
}

static void callers_free(struct callers *callers)
{
	for (size_t i = 0; i < callers->items.count; i++)
		sn_vec_free(&callers->items.items[i].path);
	sn_vec_free(&callers->items);
}

static void put_callers(const struct sn_loop_page *page, FILE *out)
{
	struct callers callers = { 0 };

	callers_find(page, &callers);
	fputs("\nreached through (share of all CPU time):\n", out);
	for (size_t i = 0; i < callers.items.count && i < 5; i++) {
		const struct caller_time *c = &callers.items.items[i];

		fprintf(out, "  %5.1f %%  ",
			100 * sn_share(c->cpu_ns, page->profile->total.cpu_ns));
		for (size_t k = 0; k < c->path.count && k < 6; k++)
			sn_loop_put_name(
				out, k ? " < " : "",
				page->program->functions.items[c->path.items[k].index].name);
		fputs(c->path.count > 6 ? " < ...\n" : "\n", out);
	}
	if (callers.items.count > 5)
		fprintf(out, "  and %zu other paths\n", callers.items.count - 5);
	callers_free(&callers);
}

static void write_callers(const struct sn_loop_page *page, struct sn_json *json)
{
	struct callers callers = { 0 };

	callers_find(page, &callers);
	sn_json_key(json, "paths");
	sn_json_array(json);
	for (size_t i = 0; i < callers.items.count; i++) {
		const struct caller_time *c = &callers.items.items[i];

		sn_json_object(json);
		sn_json_member_double(json, "inclusive_cpu_s", (double)c->cpu_ns / 1e9);
		sn_json_key(json, "functions");
		sn_json_array(json);
		for (size_t k = 0; k < c->path.count; k++)
			sn_json_string(json,
				       page->program->functions.items[c->path.items[k].index].name);
		sn_json_close(json);
		sn_json_close(json);
	}
	sn_json_close(json);
	callers_free(&callers);
}

const struct sn_loop_part sn_loop_callers = { .put = put_callers, .write = write_callers };
