#include "views/view.h"
#include "wire/accesses.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "caches/config.h"
#include "harness/tap.h"
#include "profile/fixture.h"
#include "views/explain.h"
#include "views/find.h"
#include "views/parts.h"
#include "views/summary/summary.h"

/* ---- golden files: SONDE_REBASE=1 writes them anew; look at the difference before committing ----
 */

static void golden_check(const char *name, const char *got)
{
	char path[512];
	struct sn_file_view view;
	struct sn_error err;

	snprintf(path, sizeof(path), SN_SOURCE_ROOT "/tests/golden/views/%s", name);
	if (getenv("SONDE_REBASE")) {
		FILE *out = fopen(path, "w");

		REQUIRE(out != NULL);
		fputs(got, out);
		fclose(out);
	}
	if (sn_file_map(path, &view, &err) != SN_OK) {
		tap_check(false, __FILE__, __LINE__, err.sentence);
		printf("# SONDE_REBASE=1 writes it: read it before you commit it\n");
		return;
	}
	char *want = strndup((const char *)view.bytes, view.length);

	CHECK_STRING(got, want);
	free(want);
	sn_file_unmap(&view);
}

/* A run of two threads with loops, an inlined callee, recursion, spinning, a library and waits. */
static void fill(struct fixture *f)
{
	uint32_t wait;

	fixture_begin(f);
	fixture_add_thread(f, 0, 101, "worker");
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_KERNEL_LOOP), 3000, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, LIBM, SIN, APP, MAIN_INNER), 700, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN), 1500, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 2, APP, LEAF_TAIL_LOOP, APP, MAIN), 30, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 2, LIBGOMP, BARRIER_SPIN, APP, LEAF), 400, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 4, APP, FIB, APP, FIB, APP, FIB, APP, MAIN), 15,
			1000);
	wait = fixture_stack(f, 0, 2, LIBC, WRITE, APP, MAIN_OUTER);
	fixture_wait(f, 1, wait, 100000, 900000, SN_WAIT_IO);
	fixture_wait(f, 1, wait, 1100000, 500000, SN_WAIT_IO);
	for (int t = 0; t < 2; t++) {
		struct sn_time_account *a = &f->experiment->threads.items[t].account;

		a->elapsed_ns = 5000000000;
		a->system_ns = 100000000;
		a->wait_cpu_ns = 20000000;
		a->blocked_ns = a->elapsed_ns - a->user_ns - a->system_ns - a->wait_cpu_ns;
	}
	f->experiment->elapsed_ns = 5000000000;
	f->experiment->processes.items[0].account =
		(struct sn_time_account){ 5000000000, 5645000000, 200000000, 40000000, 0 };
	f->experiment->processes.items[0].overhead_ns = 23000000;
	static const struct sn_access_record records[] = {
		{ 0x1234, 0x7f0000001000, 8, 100, 8, SN_ACCESS_READ, 2 },
		{ 0x1238, 0x7f0000002000, 0, 100, 4, SN_ACCESS_BOTH, 0 },
		{ 0x1240, 0x7f0000003008, 0, 1, 8, SN_ACCESS_WRITE, 1 },
	};
	struct sn_access_window window = { .thread = 1,
					   .stack = f->experiment->samples.items[0].stack,
					   .number = 12,
					   .begin_ns = 100000000,
					   .end_ns = 100002000,
					   .accesses = 201,
					   .is_cut = true,
					   .records = records,
					   .record_count = 3 };
	sn_vec_push(&f->experiment->windows, window);
	sn_vec_push(&f->experiment->warnings,
		    "perf events are refused here (perf_event_paranoid 3): the clock is a POSIX "
		    "timer bound to the kernel's tick of 250 Hz");
}

static char *rendered(const struct fixture *f, const struct sn_view *view, const char *columns,
		      enum sn_format format, enum sn_time_kind time)
{
	/* golden files are the same on every machine */
	static const struct sn_sim_config caches = { .levels = { { 64, 8 }, { 512, 8 } },
						     .level_count = 2,
						     .line_bytes = 64,
						     .tlb = { 16, 4 },
						     .page_bytes = 4096 };
	struct sn_view_input input = {
		.profile = f->profile, .time = time, .all_paths = true, .caches = &caches
	};
	struct sn_table_view how = { .format = format,
				     .schema = view->schema,
				     .experiment = "sonde.app.1",
				     .columns = columns,
				     .sort = view->sort,
				     .share_column = view->share_column,
				     .top = strcmp(view->name, "samples") ? 0 : 3,
				     .width = 120 };
	struct sn_table table;
	struct sn_error err;
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	sn_table_init(&table, view->columns, view->column_count);
	if (view->fill(&input, &table, &err) != SN_OK ||
	    sn_table_write(&table, &how, out, NULL, NULL, &err) != SN_OK)
		fprintf(out, "error: %s\n", err.sentence);
	sn_table_free(&table);
	fclose(out);
	return chars;
}

TEST(every_view_as_text_csv_and_json)
{
	struct fixture f;

	fill(&f);
	fixture_profile(&f, NULL);
	for (const struct sn_view *const *view = sn_views; *view; view++) {
		char name[64];

		if (!(*view)->fill)
			continue;
		char *text =
			rendered(&f, *view, (*view)->text_columns, SN_FORMAT_TEXT, SN_TIME_CPU);
		char *csv = rendered(&f, *view, (*view)->data_columns, SN_FORMAT_CSV, SN_TIME_CPU);
		char *json =
			rendered(&f, *view, (*view)->data_columns, SN_FORMAT_JSON, SN_TIME_CPU);

		snprintf(name, sizeof(name), "%s.txt", (*view)->name);
		golden_check(name, text);
		snprintf(name, sizeof(name), "%s.csv", (*view)->name);
		golden_check(name, csv);
		snprintf(name, sizeof(name), "%s.json", (*view)->name);
		golden_check(name, json);
		free(text);
		free(csv);
		free(json);
	}
	fixture_end(&f);
}

TEST(wall_time_views)
{
	struct fixture f;

	fill(&f);
	fixture_profile(&f, NULL);
	for (const struct sn_view *const *view = sn_views; *view; view++) {
		char name[64];
		char *text;

		if (!(*view)->wall_columns)
			continue;
		text = rendered(&f, *view, (*view)->wall_columns, SN_FORMAT_TEXT, SN_TIME_WALL);
		snprintf(name, sizeof(name), "%s-wall.txt", (*view)->name);
		golden_check(name, text);
		free(text);
	}
	fixture_end(&f);
}

static double least_overhead(const struct fixture *f)
{
	struct sn_summary *summary = sn_summary_new(f->profile, NULL, NULL);
	double low = summary->overhead_share_low;

	CHECK(summary->overhead_share > 0 &&
	      summary->overhead_share_high >= summary->overhead_share);
	sn_summary_free(summary);
	return low;
}

/* A rank that polls while another one works may have polled for that time without us. */
TEST(what_ranks_that_poll_lost_may_be_no_overhead)
{
	struct fixture f;
	struct sn_process *process;

	fill(&f);
	fixture_profile(&f, NULL);
	process = &f.experiment->processes.items[0];
	CHECK(least_overhead(&f) > 0); /* threads at a barrier hold up the others */
	for (uint32_t stack = 0; stack < f.program->stack_count; stack++)
		if (f.program->classes[stack].is_spin)
			f.program->classes[stack].user = SN_CATEGORY_MPI;
	CHECK(least_overhead(&f) == 0);
	process->overhead_ns = 900000000; /* 0.4 s of it while it polled */
	CHECK(least_overhead(&f) > 0.05 && least_overhead(&f) < 0.15);
	fixture_end(&f);
}

static char *summary_text(const struct fixture *f, bool is_utf8, unsigned width)
{
	struct sn_summary *summary = sn_summary_new(f->profile, NULL, NULL);
	char *chars = NULL;
	size_t length;
	FILE *out = open_memstream(&chars, &length);

	if (width)
		sn_summary_print(summary, out, is_utf8, width);
	else
		sn_summary_write(summary, out);
	fclose(out);
	sn_summary_free(summary);
	return chars;
}

TEST(summary_pages)
{
	struct fixture f;
	char *text;

	fill(&f);
	fixture_profile(&f, NULL);
	text = summary_text(&f, true, 100);
	golden_check("summary-utf8-100.txt", text);
	free(text);
	text = summary_text(&f, false, 80);
	golden_check("summary-ascii-80.txt", text);
	free(text);
	text = summary_text(&f, false, 0);
	golden_check("summary.json", text);
	free(text);
	fixture_end(&f);
}

/* No page is longer than a screen or wider than asked for. */
TEST(summary_fits_the_page)
{
	for (unsigned width = 60; width <= 140; width += 10) {
		struct fixture f;
		char *text, *line, *rest;
		int lines = 0;

		fill(&f);
		fixture_profile(&f, NULL);
		text = rest = summary_text(&f, false, width);
		while ((line = strsep(&rest, "\n"))) {
			/* a narrower terminal wraps lines: cut, they would lose numbers */
			CHECK(strlen(line) <= (width < 80 ? 80 : width));
			lines++;
		}
		CHECK(lines <= 50);
		free(text);
		fixture_end(&f);
	}
}

TEST(summary_of_a_blocked_program_says_where_it_waits)
{
	struct sn_time_account *a;
	struct fixture f;
	char *text;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, MAIN), 5, 1000);
	fixture_wait(&f, 0, fixture_stack(&f, 0, 2, LIBC, WRITE, APP, MAIN_OUTER), 5000, 9900000,
		     SN_WAIT_IO);
	a = &f.experiment->threads.items[0].account;
	*a = (struct sn_time_account){ 10000000000, 5000000, 0, 0, 9995000000 };
	fixture_profile(&f, NULL);
	text = summary_text(&f, false, 100);
	CHECK(strstr(text, "write < main  app.c:11") != NULL);
	CHECK(strstr(text, "Next: sonde show waits") != NULL);
	free(text);
	fixture_end(&f);
}

TEST(summary_without_samples_is_sane)
{
	struct fixture f;
	char *text;

	fixture_begin(&f);
	fixture_profile(&f, NULL);
	text = summary_text(&f, false, 100);
	CHECK(strstr(text, "No sample was taken") != NULL);
	free(text);
	text = summary_text(&f, false, 0);
	CHECK(strstr(text, "\"loops_share\":null") != NULL);
	CHECK(strstr(text, "\"cpu_s\":null") != NULL);
	CHECK(strstr(text, "\"samples\":0") != NULL);
	free(text);
	fixture_end(&f);
}

TEST(summary_of_a_salvaged_run_with_losses)
{
	struct fixture f;
	char *text;

	fixture_begin(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, 99, 0x1234), 1, 1000);
	f.experiment->is_salvaged = true;
	f.experiment->exit_status = -1;
	f.experiment->processes.items[0].losses[SN_LOSS_NO_SPACE] = 12;
	fixture_profile(&f, NULL);
	text = summary_text(&f, false, 100);
	CHECK(strstr(text, "did not end cleanly") != NULL);
	CHECK(strstr(text, "12 samples lost: no space left") != NULL);
	free(text);
	fixture_end(&f);
}

/* ---- explanations ---- */

/* What a column's cells are is what its explanation says they are. */
TEST(cells_are_of_the_kind_that_is_explained)
{
	for (const struct sn_view *const *view = sn_views; *view; view++)
		for (size_t c = 0; c < (*view)->column_count; c++) {
			const struct sn_column *column = &(*view)->columns[c];
			const struct sn_explanation *e = sn_explanation_find(column->key);
			bool is_seconds =
				column->kind == SN_CELL_SECONDS || column->kind == SN_CELL_DURATION;
			bool may_be_seconds = is_seconds || column->kind == SN_CELL_REAL;
			bool is_time = e && !strcmp(e->kind, "time");

			tap_check(e && (is_time ? may_be_seconds : !is_seconds), __FILE__, __LINE__,
				  column->key);
			tap_check(e && (column->kind == SN_CELL_SHARE) == !strcmp(e->kind, "share"),
				  __FILE__, __LINE__, column->key);
		}
}

TEST(every_column_is_explained)
{
	for (const struct sn_view *const *view = sn_views; *view; view++)
		for (size_t c = 0; c < (*view)->column_count; c++) {
			const struct sn_column *column = &(*view)->columns[c];

			tap_check(sn_explanation_find(column->key) != NULL, __FILE__, __LINE__,
				  column->key);
			if (column->title && column->title[0])
				tap_check(sn_explanation_find(column->title) != NULL, __FILE__,
					  __LINE__, column->title);
		}
	for (int c = 0; c < SN_CATEGORIES; c++) {
		const char *name = sn_category_name((enum sn_category)c);

		CHECK(sn_explanation_find(name) != NULL);
		CHECK(strlen(name) <= 8);
	}
}

/* Headings and names of the summary, and columns without their units. */
TEST(words_of_the_summary_are_explained)
{
	static const struct {
		const char *word, *key;
	} words[] = {
		{ "user code", "user_s" },
		{ "system", "system_s" },
		{ "binary", "program" },
		{ "OS/libc", "os" },
		{ "waiting for CPU", "wait_cpu_s" },
		{ "blocked", "blocked_s" },
		{ "not running", "not_running" },
		{ "idle", "idle" },
		{ "overhead", "overhead_share" },
		{ "elapsed", "elapsed_s" },
		{ "lost", "lost" },
		{ "CPU", "CPU" },
		{ "95 %", "interval" },
		{ "seconds", "exclusive_cpu_s" },
		{ "hottest source loops", "loop" },
		{ "thr dev", "thread_deviation" },
		{ "in function", "function" },
		{ "parts", "role" },
		{ "hottest functions", "function" },
		{ "with callees", "inclusive_share" },
		{ "waiting", "waiting" },
		{ "late", "late" },
		{ "cut off", "cut off" },
		{ "in loops", "in loops" },
		{ "[unknown]", "[unknown]" },
		{ "[no stack]", "[no stack]" },
		{ "perf-signal", "perf-signal" },
		{ "perf-ring", "perf-ring" },
		{ "thread-timer", "thread-timer" },
		{ "oversubscribed", "oversubscribed" },
		{ "confidence", "confidence" },
		{ "module", "module" },
		{ "blocked s", "blocked_s" },
		{ "waits", "waits" },
		{ "kind", "kind" },
		{ "what waits, and who called it", "caller" },
		{ "spin", "spin" },
		{ "exit status", "exit_status" },
		{ "no CPU", "wait_cpu_s" },
		{ "user", "user_s" },
		{ "attr", "attributed_share" },
		{ "excl", "exclusive_share" },
		{ "Incl", "inclusive_share" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const struct sn_explanation *e = sn_explanation_find(words[i].word);

		tap_check(e && !strcmp(e->key, words[i].key), __FILE__, __LINE__, words[i].word);
	}
	CHECK(sn_explanation_find("") == NULL);
	CHECK(sn_explanation_find("nothing-like-it") == NULL);
}

TEST(columns_are_asked_for_by_key_or_heading)
{
	char *columns =
		sn_view_columns_of(sn_view_find("loops"), "thr dev,Excl,-samples,#,nothing");

	CHECK_STRING(columns, "thread_deviation,exclusive_share,-samples,rank,nothing");
	free(columns);
	columns = sn_view_columns_of(sn_view_find("loops"), "loop");
	CHECK_STRING(columns, "loop"); /* a key wins over the heading of another column */
	free(columns);
}

TEST(explanations_are_unique)
{
	const struct sn_explanation *e;

	for (size_t i = 0; (e = sn_explanation_at(i)) != NULL; i++) {
		if (sn_explanation_find(e->key) != e)
			printf("# explained twice, or the heading of something else: %s\n", e->key);
		CHECK(sn_explanation_find(e->key) == e);
	}
}

TEST(default_columns_exist)
{
	for (const struct sn_view *const *view = sn_views; *view; view++) {
		const char *lists[] = { (*view)->text_columns, (*view)->data_columns,
					(*view)->wall_columns };

		for (int i = 0; i < 3; i++) {
			for (const char *at = lists[i]; at && *at;) {
				size_t length = strcspn(at, ","), found = 0;

				for (size_t c = 0; c < (*view)->column_count; c++)
					found += strlen((*view)->columns[c].key) == length &&
						 !strncmp((*view)->columns[c].key, at, length);
				tap_check(found == 1, __FILE__, __LINE__, at);
				at += length + (at[length] == ',');
			}
		}
	}
}

static bool list_has(const char *list, const char *key)
{
	char *comma, *copy = strdup(list);
	bool found = false;

	for (char *at = copy; at && !found; at = comma ? comma + 1 : NULL) {
		comma = strchr(at, ',');
		if (comma)
			*comma = 0;
		found = !strcmp(at, key);
	}
	free(copy);
	return found;
}

/* What people see, scripts get: of a column made of others its parts are there. */
TEST(data_has_every_column_of_text)
{
	for (const struct sn_view *const *view = sn_views; *view; view++) {
		char *cpu = sn_view_data_columns(*view, SN_TIME_CPU);
		char *wall = sn_view_data_columns(*view, SN_TIME_WALL);

		for (size_t c = 0; cpu && c < (*view)->column_count; c++) {
			const char *key = (*view)->columns[c].key;

			if (sn_view_is_composed(*view, key)) {
				if (!strcmp(key, "interval") && (*view)->text_columns &&
				    list_has((*view)->text_columns, key))
					CHECK(list_has(cpu, "exclusive_share_low") &&
					      list_has(cpu, "exclusive_share_high"));
				continue;
			}
			if ((*view)->text_columns && list_has((*view)->text_columns, key))
				tap_check(list_has(cpu, key), __FILE__, __LINE__, key);
			if ((*view)->wall_columns && list_has((*view)->wall_columns, key))
				tap_check(list_has(wall, key), __FILE__, __LINE__, key);
			tap_check(strspn(key, "abcdefghijklmnopqrstuvwxyz_") == strlen(key),
				  __FILE__, __LINE__, key);
			tap_check((*view)->columns[c].kind != SN_CELL_SECONDS ||
					  !strcmp(key + strlen(key) - 2, "_s"),
				  __FILE__, __LINE__, key);
		}
		free(cpu);
		free(wall);
	}
}

/* ---- names ---- */

TEST(loops_are_found_by_id_prefix_line_and_rank)
{
	struct sn_error err;
	struct fixture f;
	uint32_t loop;

	fill(&f);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_find_loop(f.profile, "aa:1000:60", false, &loop, &err), SN_OK);
	CHECK_INT(loop, fixture_loop(&f, "kernel.h:3-5"));
	CHECK_INT(sn_find_loop(f.profile, "aa:3000:4", false, &loop, &err), SN_OK);
	CHECK_INT(loop, fixture_loop(&f, "leaf.c:6-8"));
	CHECK_INT(sn_find_loop(f.profile, "aa:", false, &loop, &err), SN_ERR_USAGE);
	CHECK_INT(sn_find_loop(f.profile, "app.c:13", false, &loop, &err), SN_OK);
	CHECK_INT(loop, fixture_loop(&f, "app.c:12-15")); /* the innermost around the line */
	CHECK_INT(sn_find_loop(f.profile, "/src/app.c:19", false, &loop, &err), SN_OK);
	CHECK_INT(loop, fixture_loop(&f, "app.c:10-20"));
	CHECK_INT(sn_find_loop(f.profile, "#1", false, &loop, &err), SN_OK);
	CHECK_INT(loop, fixture_loop(&f, "kernel.h:3-5"));
	CHECK_INT(sn_find_loop(f.profile, "#99", false, &loop, &err), SN_ERR_NOT_FOUND);
	CHECK_INT(sn_find_loop(f.profile, "nothing.c:1", false, &loop, &err), SN_ERR_NOT_FOUND);
	fixture_end(&f);
}

TEST(functions_are_found_by_name_or_part)
{
	struct sn_error err;
	struct fixture f;
	uint32_t function;

	fill(&f);
	fixture_profile(&f, NULL);
	CHECK_INT(sn_find_function(f.profile, "leaf", &function, &err), SN_OK);
	CHECK_INT(function, fixture_function(&f, "leaf"));
	CHECK_INT(sn_find_function(f.profile, "ern", &function, &err), SN_OK);
	CHECK_INT(function, fixture_function(&f, "kernel"));
	CHECK_INT(sn_find_function(f.profile, "nowhere", &function, &err), SN_ERR_NOT_FOUND);
	fixture_end(&f);
}

/* ---- compile options ---- */

TEST(optimization_from_options)
{
	bool is_known;

	CHECK_INT(sn_optimization_of("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2"), SN_O_2);
	CHECK_INT(sn_optimization_of("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g"), SN_O_0);
	CHECK_INT(sn_optimization_of("GNU C17 12.2.0 -O0 -O3"), SN_O_3);
	CHECK_INT(sn_optimization_of("Debian clang version 14.0.6"), SN_O_UNKNOWN);
	CHECK_INT(sn_optimization_of("/usr/bin/clang -Ofast -march=native x.c"), SN_O_FAST);
	CHECK(!sn_has_target_option("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g", &is_known));
	CHECK(is_known);
	CHECK(sn_has_target_option("GNU C17 12.2.0 -march=x86-64-v3 -g", &is_known));
	CHECK(sn_has_target_option("clang -O2 -march=native", &is_known));
	CHECK(!sn_has_target_option("Debian clang version 14.0.6", &is_known));
	CHECK(!is_known);
}
