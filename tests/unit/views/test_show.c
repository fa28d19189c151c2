#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"
#include "views/view.h"

/* Two threads, of which one hardly works, and a blocking call. */
static void run_fill(struct fixture *f)
{
	fixture_begin(f);
	fixture_add_thread(f, 0, 101, "helper");
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_KERNEL_LOOP), 3000, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN), 1500, 1000);
	fixture_samples(f, 1, fixture_stack(f, 0, 1, APP, FIB), 1, 1000);
	fixture_wait(f, 0, fixture_stack(f, 0, 2, LIBC, WRITE, APP, MAIN), 100000, 900000,
		     SN_WAIT_IO);
	f->experiment->elapsed_ns = 5000000000;
}

static void run_begin(struct fixture *f, const struct sn_filter *filter)
{
	run_fill(f);
	fixture_profile(f, filter);
}

static sn_status shown(const struct fixture *f, const char *view, const char *subject,
		       struct sn_table_view how, enum sn_time_kind time, char **out)
{
	static const struct sn_machine_choice no_machine = { .absence = { SN_ERR_UNSUPPORTED,
									  "no model" } };
	struct sn_structures *structures = sn_structures_new(f->experiment);
	const struct sn_view_input input = { .profile = f->profile,
					     .time = time,
					     .structures = structures,
					     .machine = &no_machine,
					     .subject = subject,
					     .all_paths = true };
	struct sn_error err;
	size_t length;
	FILE *stream = open_memstream(out, &length);
	sn_status status;

	how.width = 200;
	status = sn_view_show(sn_view_find(view), &input, &how, stream, &err);
	if (status != SN_OK)
		fputs(err.sentence, stream);
	fclose(stream);
	sn_structures_free(structures);
	return status;
}

static bool begins_with_line(const char *text, const char *line)
{
	return !strncmp(text, line, strlen(line)) && text[strlen(line)] == '\n';
}

TEST(a_format_has_its_columns_unless_others_are_asked_for)
{
	struct sn_table_view csv = { .format = SN_FORMAT_CSV };
	struct fixture f;
	char *text;

	run_begin(&f, NULL);
	CHECK_INT(shown(&f, "cpus", NULL, csv, SN_TIME_CPU, &text), SN_OK);
	CHECK(begins_with_line(text, "cpu,cpu_s,share,system_s,samples"));
	free(text);
	csv.columns = "function,thr dev";
	CHECK_INT(shown(&f, "functions", NULL, csv, SN_TIME_CPU, &text), SN_OK);
	CHECK(begins_with_line(text, "function,thread_deviation"));
	free(text);
	csv.columns = "all";
	CHECK_INT(shown(&f, "functions", NULL, csv, SN_TIME_CPU, &text), SN_OK);
	CHECK(strstr(text, "linkage_name\n") != NULL);
	free(text);
	csv.columns = NULL;
	CHECK_INT(shown(&f, "functions", NULL, csv, SN_TIME_WALL, &text), SN_OK);
	CHECK(strstr(text, "exclusive_wall_share") < strchr(text, '\n'));
	free(text);
	fixture_end(&f);
}

/* By wall time the call that blocked comes before the loop that computed a little. */
TEST(the_order_follows_the_time_that_is_counted)
{
	struct sn_table_view how = { .format = SN_FORMAT_CSV, .columns = "function" };
	struct fixture f;
	char *text;

	run_begin(&f, NULL);
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_CPU, &text), SN_OK);
	CHECK(begins_with_line(text, "function\nkernel"));
	free(text);
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_WALL, &text), SN_OK);
	CHECK(strstr(text, "\nwrite\n") != NULL);
	free(text);
	how.sort = "function";
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_CPU, &text), SN_OK);
	CHECK(!begins_with_line(text, "function\nkernel"));
	free(text);
	fixture_end(&f);
}

TEST(rows_piece_by_piece_are_all_rows)
{
	struct sn_table_view how = { .format = SN_FORMAT_CSV };
	struct fixture f;
	char *text;
	size_t lines = 0;

	run_fill(&f);
	fixture_samples(&f, 0, fixture_stack(&f, 0, 1, APP, FIB), 230000, 10);
	fixture_profile(&f, NULL);
	CHECK_INT(shown(&f, "samples", NULL, how, SN_TIME_CPU, &text), SN_OK);
	for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++)
		lines++;
	CHECK_INT(lines, 1 + f.experiment->samples.count);
	free(text);
	fixture_end(&f);
}

TEST(idle_threads_that_were_left_out_are_told)
{
	static const struct sn_filter busy = { .without_idle = true };
	struct sn_table_view how = { .format = SN_FORMAT_TEXT };
	struct fixture f;
	char *text;

	run_begin(&f, &busy);
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_WALL, &text), SN_OK);
	CHECK(strstr(text, "1 idle thread is left out") != NULL);
	free(text);
	how.format = SN_FORMAT_JSON;
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_WALL, &text), SN_OK);
	CHECK(strstr(text, "\"threads_idle\":1") != NULL);
	free(text);
	fixture_end(&f);
}

TEST(filters_travel_with_the_rows)
{
	static const uint32_t processes[] = { 0 };
	static const struct sn_filter filter = {
		.processes = processes, .process_count = 1, .module = "app", .from_ns = 1000
	};
	struct sn_table_view how = { .format = SN_FORMAT_JSON };
	struct fixture f;
	char *text;

	run_begin(&f, &filter);
	CHECK_INT(shown(&f, "functions", NULL, how, SN_TIME_CPU, &text), SN_OK);
	CHECK(strstr(text, "\"processes\":[0]") != NULL);
	CHECK(strstr(text, "\"module\":\"app\"") != NULL);
	CHECK(strstr(text, "\"t1_s\":null") != NULL);
	free(text);
	fixture_end(&f);
}

TEST(a_loop_has_a_page_without_a_model_of_the_processor)
{
	struct sn_table_view how = { .format = SN_FORMAT_TEXT };
	struct fixture f;
	char *text;

	run_begin(&f, NULL);
	CHECK_INT(shown(&f, "loop", "#1", how, SN_TIME_CPU, &text), SN_OK);
	CHECK(strstr(text, "66.7 % of CPU time exclusive") != NULL);
	CHECK(strstr(text, "static model: there is no model of this processor") != NULL);
	free(text);
	how.format = SN_FORMAT_JSON;
	CHECK_INT(shown(&f, "loop", "#1", how, SN_TIME_CPU, &text), SN_OK);
	CHECK(strstr(text, "\"schema\":\"sonde.loop/2\"") != NULL);
	CHECK(strstr(text, "\"quality\":null") != NULL);
	CHECK(strstr(text, "\"exclusive_cpu_s\":3,") != NULL);
	free(text);
	CHECK_INT(shown(&f, "loop", "#99", how, SN_TIME_CPU, &text), SN_ERR_NOT_FOUND);
	free(text);
	fixture_end(&f);
}

TEST(pages_are_no_csv_and_a_what_if_needs_a_model)
{
	struct sn_table_view how = { .format = SN_FORMAT_CSV };
	struct fixture f;
	char *text;

	run_begin(&f, NULL);
	CHECK_INT(shown(&f, "summary", NULL, how, SN_TIME_CPU, &text), SN_ERR_USAGE);
	free(text);
	CHECK_INT(shown(&f, "loop", "#1", how, SN_TIME_CPU, &text), SN_ERR_USAGE);
	free(text);
	CHECK_INT(shown(&f, "whatif", NULL, how, SN_TIME_CPU, &text), SN_ERR_UNSUPPORTED);
	CHECK_STRING(text, "no model");
	free(text);
	fixture_end(&f);
}

/* A row is a table, a page, or another command's. */
TEST(every_view_is_of_one_kind)
{
	for (const struct sn_view *const *at = sn_views; *at; at++) {
		const struct sn_view *view = *at;

		CHECK_INT((view->fill != NULL) + (view->show != NULL) + (view->command != NULL), 1);
		CHECK(view->title && view->title[0]);
		CHECK(sn_view_find(view->name) == view);
		CHECK(!view->fill || (view->schema && view->column_count));
		CHECK(!view->subject_missing || view->subject);
	}
}
