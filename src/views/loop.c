/* sonde show loop: everything about one loop on a page. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cqa/words/view.h"
#include "views/find.h"
#include "views/view.h"
#include "whatif/whatif.h"

struct page {
	const struct sn_view_input *input;
	const struct sn_profile *profile;
	const struct sn_program *program;
	const struct sn_program_loop *loop;
	const struct sn_metrics *metrics;
	const struct sn_loop *code; /* NULL: its module is not at hand */
	struct sn_structure *structure;
	const struct sn_machine *machine; /* NULL: no model of this processor */
	double user_share;		  /* of all CPU time: exclusive, without the kernel's */
	uint32_t index;
};

/* ---- who comes here: functions that the loop's function is called by, and threads ---- */

struct thread_time {
	uint32_t thread;
	uint64_t cpu_ns;
};

static int thread_times_compare(const void *left, const void *right)
{
	const struct thread_time *x = left, *y = right;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Exclusive time in the loop by thread, most first. */
static struct thread_time *thread_times(const struct page *page, size_t *count)
{
	const struct sn_experiment *e = page->profile->experiment;
	struct thread_time *times = sn_alloc_zeroed(e->threads.count + 1, sizeof(*times));

	for (uint32_t t = 0; t < e->threads.count; t++)
		times[t].thread = t;
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sn_profile_has_sample(page->profile, sample) &&
		    sample->stack < page->program->stack_count &&
		    sn_program_leaf(page->program, sample->stack)->loop == page->index)
			times[sample->thread].cpu_ns += sample->cpu_ns;
	}
	qsort(times, e->threads.count, sizeof(*times), thread_times_compare);
	*count = 0;
	while (*count < e->threads.count && times[*count].cpu_ns)
		++*count;
	return times;
}

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
static bool path_above(const struct page *page, const struct sn_step_vec *steps,
		       struct sn_step_vec *path)
{
	size_t at = steps->count;

	path->count = 0;
	while (at > 0 && !(steps->items[at - 1].kind == SN_STEP_LOOP &&
			   steps->items[at - 1].index == page->index))
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

static void callers_find(const struct page *page, struct callers *callers)
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

/* ---- text ---- */

static void put_name(FILE *out, const char *before, const char *name)
{
	struct sn_text text = { 0 };

	sn_text_add_printable(&text, name, strlen(name));
	fprintf(out, "%s%s", before, text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void put_facts(const struct page *page, FILE *out)
{
	const struct sn_program_loop *loop = page->loop;
	const struct sn_metrics *m = page->metrics;
	uint64_t total = page->profile->total.cpu_ns;

	put_name(out, "loop ", loop->code->label);
	put_name(out, " in ", page->program->functions.items[loop->function].name);
	put_name(out, ", ", sn_program_module_name(page->program, loop->module));
	put_name(out, "\nid   ", loop->code->id);
	fprintf(out, "\n%s %.1f %% of CPU time exclusive (95 %%: %.1f-%.1f), %.3f s, %llu samples",
		sn_quality_mark(sn_quality_of(m->exclusive.samples), page->input->is_utf8),
		100 * sn_share(m->exclusive.cpu_ns, total), 100 * m->exclusive_share.low,
		100 * m->exclusive_share.high, (double)m->exclusive.cpu_ns / 1e9,
		(unsigned long long)m->exclusive.samples);
	fprintf(out, "\n  %.1f %% inclusive, %.3f s\n", 100 * sn_share(m->inclusive.cpu_ns, total),
		(double)m->inclusive.cpu_ns / 1e9);
	fprintf(out, "depth %u, %s, %s%s", loop->code->depth,
		loop->code->is_innermost ? "innermost" : "has nested loops",
		sn_loop_role_name(loop->code->role),
		loop->code->role == SN_LOOP_MAIN ? " loop" : " loop of its source loop");
	if (loop->code->is_irreducible)
		fputs(", irreducible (entered elsewhere than at its header)", out);
	if (page->code) {
		const struct sn_loop *c = page->code;

		fprintf(out, "\n%u instructions in %u blocks, %u exits", c->instruction_count,
			c->block_count, c->exit_count);
		if (c->vector_bytes)
			fprintf(out, ", vectors of %u bytes", c->vector_bytes);
		else
			fputs(", no vector instructions", out);
		if (c->unroll > 1)
			fprintf(out, ", %u source iterations a pass", c->unroll);
	}
	if (loop->parent != SN_NONE)
		put_name(out, "\ninside ", page->program->loops.items[loop->parent].code->label);
	fputc('\n', out);
}

static void put_parts(const struct page *page, FILE *out)
{
	bool is_first = true;

	for (uint32_t l = 0; l < page->program->loops.count; l++) {
		const struct sn_program_loop *other = &page->program->loops.items[l];
		const struct sn_metrics *m = &page->profile->loops[l];

		if (l == page->index || other->source_loop != page->loop->source_loop ||
		    !m->exclusive.cpu_ns)
			continue;
		if (is_first)
			fputs("other parts of the same source loop:\n", out);
		is_first = false;
		fprintf(out, "  %5.1f %%  %-8s",
			100 * sn_share(m->exclusive.cpu_ns, page->profile->total.cpu_ns),
			sn_loop_role_name(other->code->role));
		put_name(out, "", other->code->id);
		put_name(out, "  ", page->program->functions.items[other->function].name);
		fputc('\n', out);
	}
}

static void put_threads(const struct page *page, FILE *out)
{
	const struct sn_spread *spread = &page->metrics->spread;
	struct thread_time *times;
	size_t count;

	if (isnan(spread->deviation))
		return;
	times = thread_times(page, &count);
	fprintf(out, "\nthreads: %zu spend time in it, deviation %.2f of the mean\n", count,
		spread->deviation);
	for (size_t i = 0; i < count && i < 5; i++) {
		const struct sn_thread *t =
			&page->profile->experiment->threads.items[times[i].thread];

		fprintf(out, "  %10.3f s  process %u thread %d", (double)times[i].cpu_ns / 1e9,
			t->process, t->tid);
		put_name(out, "  ", t->name ? t->name : "");
		fputc('\n', out);
	}
	if (count > 5)
		fprintf(out, "  ... least %.3f s\n", (double)times[count - 1].cpu_ns / 1e9);
	free(times);
}

static void put_callers(const struct page *page, FILE *out)
{
	struct callers callers = { 0 };

	callers_find(page, &callers);
	fputs("\nreached through (share of all CPU time):\n", out);
	for (size_t i = 0; i < callers.items.count && i < 5; i++) {
		const struct caller_time *c = &callers.items.items[i];

		fprintf(out, "  %5.1f %%  ",
			100 * sn_share(c->cpu_ns, page->profile->total.cpu_ns));
		for (size_t k = 0; k < c->path.count && k < 6; k++)
			put_name(out, k ? " < " : "",
				 page->program->functions.items[c->path.items[k].index].name);
		fputs(c->path.count > 6 ? " < ...\n" : "\n", out);
	}
	if (callers.items.count > 5)
		fprintf(out, "  and %zu other paths\n", callers.items.count - 5);
	callers_free(&callers);
}

static void put_listing(const struct page *page, const char *view_name, const char *heading,
			FILE *out)
{
	const struct sn_view *view = sn_view_find(view_name);
	struct sn_view_input input = *page->input;
	struct sn_table_view how = { .schema = view->schema, .columns = view->text_columns };
	struct sn_table table;
	struct sn_error err;

	input.subject = page->loop->code->id;
	sn_table_init(&table, view->columns, view->column_count);
	if (view->fill(&input, &table, &err) == SN_OK) {
		fprintf(out, "\n%s\n", heading);
		if (sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
			fprintf(out, "%s\n", err.sentence);
	} else {
		put_name(out, "\n", err.sentence);
		fputc('\n', out);
	}
	sn_table_free(&table);
}

static const char no_model[] = "there is no model of this processor; --arch names another";

static void put_quality(const struct page *page, FILE *out)
{
	struct sn_cqa_page how = { .without_head = true, .share = page->user_share };
	struct sn_cqa_loop quality = { .not_analysed = no_model };
	sn_advice_list advice = { 0 };
	struct sn_error err;

	if (!page->machine) {
		fprintf(out, "\nstatic model: %s\n", no_model);
		return;
	}
	if (sn_whatif_quality(page->machine, page->profile, page->input->structures, page->index,
			      &quality, &err) != SN_OK) {
		put_name(out, "\nstatic model: ", err.sentence);
		fputc('\n', out);
		return;
	}
	fprintf(out, "\nstatic model of %s, data in L1%s:\n", page->machine->title,
		quality.is_weighed ? ", paths weighed by the samples" : "");
	sn_whatif_advise(page->machine, page->profile, page->index, &quality, &advice);
	how.advice = &advice;
	sn_cqa_page_text(page->machine, page->structure, &quality, &how, out);
	sn_vec_free(&advice);
	sn_cqa_loop_free(&quality);
}

/* ---- JSON ---- */

static void write_rows(struct sn_json *json, const struct page *page, const char *view_name)
{
	const struct sn_view *view = sn_view_find(view_name);
	struct sn_view_input input = *page->input;
	struct sn_table table;
	struct sn_error err;

	input.subject = page->loop->code->id;
	sn_table_init(&table, view->columns, view->column_count);
	sn_json_key(json, view_name);
	sn_json_array(json);
	if (view->fill(&input, &table, &err) == SN_OK)
		sn_table_write_rows(&table, view->data_columns, json);
	sn_json_close(json);
	sn_table_free(&table);
}

static void write_code(struct sn_json *json, const struct page *page)
{
	const struct sn_loop *c = page->code;

	if (!c)
		return;
	sn_json_member_uint(json, "instructions", c->instruction_count);
	sn_json_member_uint(json, "blocks", c->block_count);
	sn_json_member_uint(json, "exits", c->exit_count);
	sn_json_member_uint(json, "vector_bytes", c->vector_bytes);
	sn_json_key(json, "unroll");
	if (c->unroll)
		sn_json_uint(json, c->unroll);
	else
		sn_json_null(json);
}

static void write_callers(struct sn_json *json, const struct page *page)
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

static void write_threads(struct sn_json *json, const struct page *page)
{
	size_t count;
	struct thread_time *times = thread_times(page, &count);

	sn_json_member_double(json, "thread_deviation", page->metrics->spread.deviation);
	sn_json_key(json, "threads");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct sn_thread *t =
			&page->profile->experiment->threads.items[times[i].thread];

		sn_json_object(json);
		sn_json_member_uint(json, "process", t->process);
		sn_json_member_int(json, "thread", t->tid);
		sn_json_member_double(json, "exclusive_cpu_s", (double)times[i].cpu_ns / 1e9);
		sn_json_close(json);
	}
	sn_json_close(json);
	free(times);
}

static void write_quality(struct sn_json *json, const struct page *page)
{
	struct sn_cqa_page how = { .share = page->user_share };
	struct sn_cqa_loop quality = { .not_analysed = no_model };
	sn_advice_list advice = { 0 };
	struct sn_error err = { .sentence = "" };

	sn_json_key(json, "quality");
	if (!page->machine ||
	    sn_whatif_quality(page->machine, page->profile, page->input->structures, page->index,
			      &quality, &err) != SN_OK) {
		sn_json_null(json);
		return;
	}
	sn_whatif_advise(page->machine, page->profile, page->index, &quality, &advice);
	how.advice = &advice;
	sn_json_object(json);
	sn_json_member_string(json, "arch", page->machine->name);
	sn_cqa_json_memory_profile(page->machine, json);
	sn_cqa_page_json(page->machine, page->structure, &quality, &how, json);
	sn_vec_free(&advice);
	sn_json_close(json);
	sn_cqa_loop_free(&quality);
}

static void write_facts(struct sn_json *json, const struct page *page)
{
	const struct sn_program_loop *loop = page->loop;
	const struct sn_metrics *m = page->metrics;
	uint64_t total = page->profile->total.cpu_ns;

	sn_json_member_string(json, "loop", loop->code->id);
	sn_json_member_string(json, "label", loop->code->label);
	sn_json_member_string(json, "function",
			      page->program->functions.items[loop->function].name);
	sn_json_member_string(json, "module", sn_program_module_name(page->program, loop->module));
	sn_json_member_string(json, "file", loop->code->file);
	sn_json_key(json, "line_first");
	loop->code->line_first ? sn_json_uint(json, loop->code->line_first) : sn_json_null(json);
	sn_json_key(json, "line_last");
	loop->code->line_last ? sn_json_uint(json, loop->code->line_last) : sn_json_null(json);
	sn_json_member_uint(json, "depth", loop->code->depth);
	sn_json_member_bool(json, "innermost", loop->code->is_innermost);
	sn_json_member_string(json, "role", sn_loop_role_name(loop->code->role));
	sn_json_member_bool(json, "irreducible", loop->code->is_irreducible);
	sn_json_member_double(json, "exclusive_cpu_s", (double)m->exclusive.cpu_ns / 1e9);
	sn_json_member_double(json, "inclusive_cpu_s", (double)m->inclusive.cpu_ns / 1e9);
	sn_json_member_double(json, "exclusive_share", sn_share(m->exclusive.cpu_ns, total));
	sn_json_member_double(json, "inclusive_share", sn_share(m->inclusive.cpu_ns, total));
	sn_json_member_double(json, "exclusive_share_low", m->exclusive_share.low);
	sn_json_member_double(json, "exclusive_share_high", m->exclusive_share.high);
	sn_json_member_uint(json, "samples", m->exclusive.samples);
}

static void loop_write(const struct page *page, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.loop/1");
	sn_json_member_string(&json, "experiment", page->profile->experiment->name);
	write_facts(&json, page);
	write_code(&json, page);
	write_threads(&json, page);
	write_callers(&json, page);
	write_quality(&json, page);
	write_rows(&json, page, "source");
	write_rows(&json, page, "asm");
	sn_json_close(&json);
	sn_json_finish(&json);
}

static sn_status loop_show(const struct sn_view_input *input, struct sn_table_view *how, FILE *out,
			   struct sn_error *err)
{
	struct page page = { .input = input,
			     .machine = input->machine->machine,
			     .profile = input->profile,
			     .program = input->profile->program };
	sn_status status = sn_find_loop(input->profile, input->subject, input->with_runtime_loops,
					&page.index, err);

	if (status != SN_OK)
		return status;
	if (how->format == SN_FORMAT_CSV)
		return sn_error_set(err, SN_ERR_USAGE,
				    "a loop's page is one object: --format text or json");
	page.loop = &page.program->loops.items[page.index];
	page.metrics = &page.profile->loops[page.index];
	page.user_share =
		sn_share(page.metrics->exclusive.cpu_ns - page.metrics->exclusive.system_ns,
			 page.profile->total.cpu_ns);
	page.structure = sn_structures_of(input->structures, page.loop->module);
	if (page.structure)
		page.code = page.loop->code;
	if (how->format != SN_FORMAT_TEXT) {
		loop_write(&page, out);
		return SN_OK;
	}
	put_facts(&page, out);
	put_parts(&page, out);
	put_threads(&page, out);
	put_callers(&page, out);
	put_quality(&page, out);
	put_listing(&page, "source", "source:", out);
	put_listing(&page, "asm", "machine code:", out);
	return SN_OK;
}

const struct sn_view sn_view_loop = {
	.name = "loop",
	.title = "one loop on a page: facts, static model, callers, threads, source and code",
	.subject = "LOOP",
	.subject_missing = "a loop: an id, FILE:LINE or #RANK from 'sonde show loops'",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.has_idle = true,
	.schema = "sonde.loop/1",
	.show = loop_show,
};
