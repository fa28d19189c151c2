/* sonde show loop: everything about one loop on a page. */
#include <string.h>

#include "base/text.h"
#include "code/loop_columns.h"
#include "views/find.h"
#include "views/loop_parts.h"

void sn_loop_put_name(FILE *out, const char *before, const char *name)
{
	struct sn_text text = { 0 };

	sn_text_add_printable(&text, name, strlen(name));
	fprintf(out, "%s%s", before, text.chars ? text.chars : "");
	sn_text_free(&text);
}

/* ---- text ---- */

static void put_facts(const struct sn_loop_page *page, FILE *out)
{
	const struct sn_program_loop *loop = page->loop;
	const struct sn_loop *code = loop->code;
	const struct sn_metrics *m = page->metrics;
	uint64_t total = page->profile->total.cpu_ns;

	sn_loop_put_name(out, "loop ", code->label);
	sn_loop_put_name(out, " in ", page->program->functions.items[loop->function].name);
	sn_loop_put_name(out, ", ", sn_program_module_name(page->program, loop->module));
	sn_loop_put_name(out, "\nid   ", code->id);
	fprintf(out, "\n%s %.1f %% of CPU time exclusive (95 %%: %.1f-%.1f), %.3f s, %llu samples",
		sn_quality_mark(sn_quality_of(m->exclusive.samples), page->input->is_utf8),
		100 * sn_share(m->exclusive.cpu_ns, total), 100 * m->exclusive_share.low,
		100 * m->exclusive_share.high, (double)m->exclusive.cpu_ns / 1e9,
		(unsigned long long)m->exclusive.samples);
	fprintf(out, "\n  %.1f %% inclusive, %.3f s\n", 100 * sn_share(m->inclusive.cpu_ns, total),
		(double)m->inclusive.cpu_ns / 1e9);
	fprintf(out, "depth %u, %s, %s%s", code->depth,
		code->is_innermost ? "innermost" : "has nested loops",
		sn_loop_role_name(code->role),
		code->role == SN_LOOP_MAIN ? " loop" : " loop of its source loop");
	if (code->is_irreducible)
		fputs(", irreducible (entered elsewhere than at its header)", out);
	fprintf(out, "\n%u instructions in %u blocks, %u exits", code->instruction_count,
		code->block_count, code->exit_count);
	if (code->vector_bytes)
		fprintf(out, ", vectors of %u bytes", code->vector_bytes);
	else
		fputs(", no vector instructions", out);
	if (code->unroll > 1)
		fprintf(out, ", %u source iterations a pass", code->unroll);
	if (loop->parent != SN_NONE)
		sn_loop_put_name(out, "\ninside ",
				 page->program->loops.items[loop->parent].code->label);
	fputc('\n', out);
}

static void put_kin(const struct sn_loop_page *page, FILE *out)
{
	bool is_first = true;

	for (uint32_t l = 0; l < page->program->loops.count; l++) {
		const struct sn_program_loop *other = &page->program->loops.items[l];
		const struct sn_metrics *m = &page->profile->loops[l];

		if (l == page->number || other->source_loop != page->loop->source_loop ||
		    !m->exclusive.cpu_ns)
			continue;
		if (is_first)
			fputs("other parts of the same source loop:\n", out);
		is_first = false;
		fprintf(out, "  %5.1f %%  %-8s",
			100 * sn_share(m->exclusive.cpu_ns, page->profile->total.cpu_ns),
			sn_loop_role_name(other->code->role));
		sn_loop_put_name(out, "", other->code->id);
		sn_loop_put_name(out, "  ", page->program->functions.items[other->function].name);
		fputc('\n', out);
	}
}

static void put_listing(const struct sn_loop_page *page, const char *view_name, const char *heading,
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
		sn_loop_put_name(out, "\n", err.sentence);
		fputc('\n', out);
	}
	sn_table_free(&table);
}

/* ---- JSON ---- */

static void write_facts(const struct sn_loop_page *page, struct sn_json *json)
{
	const struct sn_program_loop *loop = page->loop;
	const struct sn_metrics *m = page->metrics;
	uint64_t total = page->profile->total.cpu_ns;

	sn_loop_columns_write(loop->code, page->program->functions.items[loop->function].name,
			      json);
	sn_json_member_string(json, "module", sn_program_module_name(page->program, loop->module));
	sn_json_member_double(json, "exclusive_cpu_s", (double)m->exclusive.cpu_ns / 1e9);
	sn_json_member_double(json, "inclusive_cpu_s", (double)m->inclusive.cpu_ns / 1e9);
	sn_json_member_double(json, "exclusive_share", sn_share(m->exclusive.cpu_ns, total));
	sn_json_member_double(json, "inclusive_share", sn_share(m->inclusive.cpu_ns, total));
	sn_json_member_double(json, "exclusive_share_low", m->exclusive_share.low);
	sn_json_member_double(json, "exclusive_share_high", m->exclusive_share.high);
	sn_json_member_uint(json, "samples", m->exclusive.samples);
}

static void write_rows(const struct sn_loop_page *page, const char *view_name, struct sn_json *json)
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

/* ---- the page ---- */

static void put_source(const struct sn_loop_page *page, FILE *out)
{
	put_listing(page, "source", "source:", out);
}

static void write_source(const struct sn_loop_page *page, struct sn_json *json)
{
	write_rows(page, "source", json);
}

static void put_asm(const struct sn_loop_page *page, FILE *out)
{
	put_listing(page, "asm", "machine code:", out);
}

static void write_asm(const struct sn_loop_page *page, struct sn_json *json)
{
	write_rows(page, "asm", json);
}

static const struct sn_loop_part facts = { put_facts, write_facts }, kin = { put_kin, NULL },
				 source = { put_source, write_source },
				 machine_code = { put_asm, write_asm };

/* Keep in the order in which the page shows them. */
static const struct sn_loop_part *const parts[] = {
	&facts,
	&kin,
	&sn_loop_evidence_part,
	&sn_loop_threads,
	&sn_loop_callers,
	&sn_loop_instances,
	&sn_loop_causal,
	&sn_loop_variants,
	&sn_loop_static,
	&source,
	&machine_code,
};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

static void page_put(const struct sn_loop_page *page, FILE *out)
{
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i]->put)
			parts[i]->put(page, out);
}

#define LOOP_SCHEMA "sonde.loop/2"

static void page_write(const struct sn_loop_page *page, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", LOOP_SCHEMA);
	sn_json_member_string(&json, "experiment", page->profile->experiment->name);
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i]->write)
			parts[i]->write(page, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
}

static sn_status loop_show(const struct sn_view_input *input, struct sn_table_view *how, FILE *out,
			   struct sn_error *err)
{
	struct sn_loop_page page = { .input = input,
				     .profile = input->profile,
				     .program = input->profile->program };
	sn_status status = sn_find_loop(input->profile, input->subject, input->with_runtime_loops,
					&page.number, err);

	if (status != SN_OK)
		return status;
	if (how->format == SN_FORMAT_CSV)
		return sn_error_set(err, SN_ERR_USAGE,
				    "a loop's page is one object: --format text or json");
	page.loop = &page.program->loops.items[page.number];
	page.metrics = &page.profile->loops[page.number];
	page.experiment = sn_experiment_given_path(input->profile->experiment);
	if (input->structures)
		page.structure = sn_structures_of(input->structures, page.loop->module);
	if (how->format == SN_FORMAT_TEXT)
		page_put(&page, out);
	else
		page_write(&page, out);
	return SN_OK;
}

const struct sn_view sn_view_loop = {
	.name = "loop",
	.title = "one loop on a page: facts, static model, callers, threads, source and code",
	.subject = "LOOP",
	.subject_missing = "a loop: an id, FILE:LINE or #RANK from 'sonde show loops'",
	.needs = SN_VIEW_NEEDS_TIME | SN_VIEW_NEEDS_MACHINE,
	.has_idle = true,
	.schema = LOOP_SCHEMA,
	.show = loop_show,
};
