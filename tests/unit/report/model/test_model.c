/* One report of a program whose truth is known: what is shown in two places is one number. */
#include "report/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "harness/tap.h"
#include "profile/fixture.h"
#include "report/html/html_parts.h"
#include "report/json/json.h"
#include "report/text/text.h"

struct made {
	struct fixture fixture;
	struct sn_analysis analysis;
	struct sn_report *report;
};

/* 600 ms in a loop of kernel, 300 ms in leaf's (100 of it in its tail), 100 ms in fib. The modules
 * are no files: there is no code to look at, but there are structures. The kernel has a tenth. */
static void make(struct made *m, bool has_tables, bool has_details)
{
	struct sn_report_options options = { has_tables, has_details };
	struct fixture *f = &m->fixture;
	struct sn_error err;

	memset(m, 0, sizeof(*m));
	fixture_begin(f);
	f->experiment->cpu_model = "Z80";
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, KERNEL_LOOP, APP, MAIN), 600, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN), 200, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, LEAF_TAIL_LOOP, APP, MAIN), 100, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, FIB, APP, MAIN), 100, 1000);
	for (size_t i = 0; i < f->experiment->samples.count; i += 10)
		f->experiment->samples.items[i].flags |= SN_SAMPLE_SYSTEM;
	fixture_profile(f, NULL);
	m->analysis = (struct sn_analysis){ .experiment = f->experiment,
					    .structures = sn_structures_new(f->experiment),
					    .resolver = f->resolver,
					    .program = f->program,
					    .profile = f->profile };
	setenv("SONDE_NATIVE_ARCH", "zen3", 1);
	REQUIRE(sn_report_new(&m->analysis, &options, &m->report, &err) == SN_OK);
}

static void unmake(struct made *m)
{
	sn_report_free(m->report);
	sn_structures_free(m->analysis.structures);
	free(m->analysis.machine);
	fixture_end(&m->fixture);
}

static const struct sn_report_table *table_of(const struct sn_report *report, const char *name)
{
	for (size_t i = 0; i < report->tables.count; i++)
		if (!strcmp(report->tables.items[i].view->name, name))
			return &report->tables.items[i];
	REQUIRE(false);
	return NULL;
}

/** The cell of `key` in the row whose column `by` is `name`. */
static const struct sn_cell *cell_of(const struct sn_table *table, const char *by, const char *name,
				     const char *key)
{
	size_t x = table->column_count, y = x;

	for (size_t c = 0; c < table->column_count; c++) {
		x = strcmp(table->columns[c].key, by) ? x : c;
		y = strcmp(table->columns[c].key, key) ? y : c;
	}
	REQUIRE(x < table->column_count && y < table->column_count);
	for (size_t i = 0; i < table->row_count; i++) {
		const struct sn_cell *cells = &table->cells.items[i * table->column_count];

		if (cells[x].is_known && !strcmp(cells[x].text, name))
			return &cells[y];
	}
	REQUIRE(false);
	return NULL;
}

static char *written(const struct sn_report *report,
		     sn_status (*write)(const struct sn_report *, FILE *, struct sn_error *))
{
	char *chars = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&chars, &length);
	struct sn_error err;

	REQUIRE(out && write(report, out, &err) == SN_OK);
	fclose(out);
	return chars;
}

TEST(a_loop_has_one_figure_in_rows_tables_and_summary)
{
	struct made m;
	const struct sn_summary *summary;
	const struct sn_table *experts;

	make(&m, true, true);
	summary = m.report->summary;
	experts = &m.report->whatif->experts;
	REQUIRE(m.report->loops.count >= 3);
	for (size_t i = 0; i < m.report->loops.count; i++) {
		const struct sn_report_loop *loop = &m.report->loops.items[i];
		const struct sn_table *table = &table_of(m.report, "loops")->table;
		double share = sn_share(loop->exclusive_ns, m.report->sampled_ns);

		CHECK_REAL(cell_of(table, "loop", loop->code->id, "exclusive_cpu_s")->real,
			   sn_seconds((int64_t)loop->exclusive_ns), 1e-9);
		CHECK_REAL(cell_of(table, "loop", loop->code->id, "exclusive_share")->real, share,
			   1e-9);
		CHECK_REAL(cell_of(table, "loop", loop->code->id, "exclusive_share_low")->real,
			   loop->share_low, 1e-9);
		CHECK_REAL(cell_of(experts, "loop", loop->code->id, "coverage_share")->real, share,
			   1e-9);
		CHECK_REAL(cell_of(experts, "loop", loop->code->id, "coverage_share_low")->real,
			   loop->share_low, 1e-9);
		CHECK_REAL(cell_of(experts, "loop", loop->code->id, "user_share")->real,
			   0.9 * share, 1e-9);
	}
	REQUIRE(summary->loop_count == 2); /* leaf's main loop and tail are one source loop */
	CHECK_INT(summary->loops[0].exclusive.cpu_ns, m.report->loops.items[0].exclusive_ns);
	CHECK_INT(summary->loops[1].exclusive.cpu_ns,
		  m.report->loops.items[1].exclusive_ns + m.report->loops.items[2].exclusive_ns);
	unmake(&m);
}

TEST(a_function_has_one_figure_in_rows_and_tables)
{
	struct made m;
	uint64_t sum_ns = 0;

	make(&m, true, false);
	for (size_t i = 0; i < m.report->functions.count; i++) {
		const struct sn_report_function *f = &m.report->functions.items[i];
		const struct sn_table *table = &table_of(m.report, "functions")->table;

		sum_ns += f->exclusive_ns;
		CHECK_REAL(cell_of(table, "function", f->name, "exclusive_cpu_s")->real,
			   sn_seconds((int64_t)f->exclusive_ns), 1e-9);
		CHECK_REAL(cell_of(table, "function", f->name, "inclusive_cpu_s")->real,
			   sn_seconds((int64_t)f->inclusive_ns), 1e-9);
	}
	CHECK_INT(sum_ns, m.report->sampled_ns);
	unmake(&m);
}

TEST(the_run_has_the_figures_of_the_summary)
{
	struct made m;

	make(&m, false, false);
	CHECK_INT(m.report->sampled_ns, 1000000000);
	CHECK_INT(m.report->sample_count, m.report->summary->samples);
	CHECK_INT(m.report->process_count, m.report->summary->processes);
	CHECK_INT(m.report->thread_count, m.report->summary->threads);
	CHECK_REAL(m.report->loops_share, 0.9, 1e-9);
	CHECK_REAL(m.report->loops_share, m.report->summary->loops_share, 1e-12);
	CHECK_STRING(m.report->verdict.sentence, m.report->summary->verdict.sentence);
	CHECK_INT(m.report->cpu_ns, -1); /* the fixture has no account of the kernel */
	unmake(&m);
}

TEST(what_was_not_asked_for_is_not_made)
{
	struct made m;

	make(&m, false, false);
	CHECK_INT(m.report->tables.count, 0);
	CHECK_INT(m.report->records.count, 0);
	CHECK(!m.report->phases);
	unmake(&m);
	make(&m, false, true);
	CHECK_INT(m.report->records.count, 1000);
	for (size_t i = 0; i < m.report->tables.count; i++)
		CHECK(m.report->tables.items[i].view->page_title != NULL);
	unmake(&m);
}

TEST(a_table_of_the_page_alone_is_not_in_the_json)
{
	struct made m;
	char *json;

	make(&m, true, true);
	json = written(m.report, sn_report_write_json);
	CHECK_STRING(table_of(m.report, "system")->view->page_title, "Kernel");
	CHECK(strstr(json, "\"loops\":{\"schema\"") && !strstr(json, "\"system\":{"));
	free(json);
	unmake(&m);
}

TEST(rows_of_the_page_have_the_columns_of_their_view)
{
	const struct sn_report_table *loops = NULL;
	struct made m;

	make(&m, false, true);
	for (size_t i = 0; i < m.report->row_tables.count; i++) {
		const struct sn_report_table *table = &m.report->row_tables.items[i];

		if (!strcmp(table->view->page_rows, "loops"))
			loops = table;
		/* views without a column for the page have no table */
		CHECK(strcmp(table->view->page_rows, "functions") != 0);
	}
	REQUIRE(loops != NULL);
	CHECK_INT(loops->table.row_count, m.report->loops.count);
	for (size_t i = 0; i < loops->table.row_count; i++)
		CHECK_STRING(loops->table.cells.items[i * loops->table.column_count].text,
			     m.report->loops.items[i].code->id);
	unmake(&m);
}

TEST(a_run_on_another_machine_is_said_in_every_format)
{
	static const char words[] = "the run was on 'Z80'";
	struct made m;
	struct sn_text page = { 0 };
	char *text, *json;

	make(&m, true, true);
	text = written(m.report, sn_report_write_text);
	json = written(m.report, sn_report_write_json);
	sn_report_add_static_html(m.report, &page);
	CHECK_STRING(m.report->machine->name, "zen3");
	CHECK(strstr(text, words) != NULL);
	CHECK(strstr(json, "\"machine\":\"zen3\",\"machine_warning\":\"the run was on 'Z80'"));
	CHECK(strstr(page.chars, "the run was on &#39;Z80&#39;") || strstr(page.chars, words));
	REQUIRE(m.report->warnings.count > 0); /* the page with JavaScript */
	CHECK(strstr(sn_vec_last(&m.report->warnings), words) != NULL);
	free(text);
	free(json);
	sn_text_free(&page);
	unmake(&m);
}

TEST(without_a_model_of_the_processor_the_rest_is_there)
{
	struct sn_report_options options = { .has_tables = true };
	struct sn_report *report;
	struct sn_error err;
	struct made m;
	char *text, *json;

	make(&m, true, false);
	free(m.analysis.machine);
	m.analysis.machine = NULL;
	setenv("SONDE_NATIVE_ARCH", "none", 1);
	REQUIRE(sn_report_new(&m.analysis, &options, &report, &err) == SN_OK);
	text = written(report, sn_report_write_text);
	json = written(report, sn_report_write_json);
	CHECK(!report->machine && !report->whatif && !report->machine_warning);
	CHECK(strstr(text, "what if: ") && strstr(text, "--arch"));
	CHECK(strstr(json, "\"machine\":null,\"machine_warning\":null"));
	CHECK(strstr(json, "\"whatif\":null"));
	free(text);
	free(json);
	sn_report_free(report);
	unmake(&m);
}
