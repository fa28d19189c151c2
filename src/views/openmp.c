/* The views of OpenMP: parallel regions, constructs in them, and what each thread of a team did. */
#include "openmp/openmp.h"

#include "base/text.h"
#include "views/parts.h"

/* What was read before for the same input, or now. */
static sn_status openmp_get(const struct sn_view_input *input, struct sn_openmp **out,
			    struct sn_error *err)
{
	if (!*input->openmp) {
		sn_status status = sn_openmp_read(input->profile->program, input->openmp, err);

		if (status != SN_OK)
			return status;
	}
	*out = *input->openmp;
	return SN_OK;
}

/* Fills by what was read; frees it if it is nobody's. */
static sn_status openmp_fill(const struct sn_view_input *input, struct sn_table *table,
			     void (*rows_add)(struct sn_table *, const struct sn_program *,
					      const struct sn_openmp *),
			     struct sn_error *err)
{
	struct sn_view_input ours = *input;
	struct sn_openmp *openmp, *own = NULL;
	sn_status status;

	if (!ours.openmp)
		ours.openmp = &own;
	status = openmp_get(&ours, &openmp, err);
	if (status == SN_OK)
		rows_add(table, input->profile->program, openmp);
	sn_openmp_free(own);
	return status;
}

static void why_no_openmp(const struct sn_view_input *input, struct sn_text *out)
{
	struct sn_openmp *openmp;
	struct sn_error err;

	if (input->openmp && openmp_get(input, &openmp, &err) == SN_OK && openmp->is_traced)
		sn_text_add(out, "OpenMP was traced, and no parallel region was seen");
	else
		sn_text_add(out,
			    "OpenMP was not traced; 'sonde record --openmp PROGRAM' does that");
}

static double serial_ns(const struct sn_openmp *openmp)
{
	return openmp->elapsed_ns > openmp->parallel_ns ? openmp->elapsed_ns - openmp->parallel_ns
							: 0;
}

static void members_write(const struct sn_view_input *input, struct sn_json *json)
{
	struct sn_openmp *openmp;
	struct sn_error err;

	if (openmp_get(input, &openmp, &err) != SN_OK)
		return;
	sn_json_member_double(json, "elapsed_s", openmp->elapsed_ns / 1e9);
	sn_json_member_double(json, "parallel_s", openmp->parallel_ns / 1e9);
	sn_json_member_double(json, "serial_s", serial_ns(openmp) / 1e9);
	sn_json_key(json, "lost");
	sn_json_object(json);
	sn_json_member_uint(json, "openmp", openmp->lost);
	sn_json_close(json);
	sn_json_key(json, "overhead_s");
	sn_json_object(json);
	sn_json_member_double(json, "openmp", (double)openmp->overhead_ns / 1e9);
	sn_json_close(json);
}

static void foot_put(const struct sn_view_input *input, FILE *out)
{
	struct sn_openmp *openmp;
	struct sn_error err;

	if (openmp_get(input, &openmp, &err) != SN_OK || !openmp->is_traced)
		return;
	fprintf(out, "of %.3g s elapsed, %.3g s in parallel regions and %.3g s outside (serial)",
		openmp->elapsed_ns / 1e9, openmp->parallel_ns / 1e9, serial_ns(openmp) / 1e9);
	if (openmp->lost)
		fprintf(out, "; %llu entries were lost", (unsigned long long)openmp->lost);
	if (openmp->damaged)
		fprintf(out, "; %llu %s", (unsigned long long)openmp->damaged,
			sn_view_pieces_are_damaged(openmp->damaged));
	fputc('\n', out);
}

/* The site by the function that the code was written in. */
static void site_set(struct sn_table *table, const struct sn_site_columns *columns,
		     const struct sn_program *program, struct sn_site site, const char *function)
{
	struct sn_text text = { 0 };

	sn_view_set_site(table, columns, program, site);
	if (!function)
		return;
	sn_openmp_add_name(program, site, function, &text);
	sn_table_set_text(table, columns->site, text.chars);
	sn_table_set_text(table, columns->function, function);
	sn_text_free(&text);
}

static void region_name_set(struct sn_table *table, size_t column, const struct sn_program *program,
			    const struct sn_openmp *openmp, uint32_t region)
{
	const struct sn_openmp_region *r;
	struct sn_text text = { 0 };

	if (region == SN_NONE) {
		sn_table_set_text(table, column, "[outside]");
		return;
	}
	r = &openmp->regions.items[region];
	sn_openmp_add_name(program, r->site, r->function, &text);
	sn_table_set_text(table, column, text.chars);
	sn_text_free(&text);
}

static const struct sn_explanation openmp_words[] = {
	{ "region", "text", "The parallel construct: its function and line.", "executions" },
	{ "executions", "count", "How often a team has run it; exact.", "threads" },
	{ "barrier_s", "time",
	  "Waiting at barriers, at the region's end included: until the last thread came.",
	  "wait_s" },
	{ "critical_s", "time",
	  "Waiting to enter critical sections, ordered blocks and atomic updates by lock, and for "
	  "locks of OpenMP.",
	  "wait_s" },
	{ "task_wait_s", "time",
	  "Waiting for tasks to end. Tasks that the thread ran meanwhile are work.", "wait_s" },
	{ "fork_join_s", "time",
	  "Time of the team's threads that is neither work nor waiting: they were woken, or let go.",
	  "time_s" },
	{ "imbalance", "share",
	  "1 - mean / largest of the threads' work, each execution by itself: 0 is balanced.",
	  "gain_s" },
	{ "gain_s", "time",
	  "Elapsed time that perfect balance would save at most: waiting at barriers, by thread.",
	  "imbalance" },
	{ "nested", "text", "Whether it ran within another region.", NULL },
	{ "construct", "text",
	  "What it is. libgomp does not tell an explicit barrier from that of a for with a static "
	  "schedule: its line does.",
	  NULL },
	{ "longest_s", "time", "The longest wait there.", "wait_s" },
	{ "inside_s", "time", "Time with the lock, in the critical section, or in tasks.",
	  "wait_s" },
	{ "bodies", "count", "How often the thread was in the team.", "work_s" },
	{ 0 },
};

/* ---- openmp ---- */

enum {
	R_REGION,
	R_FUNCTION,
	R_FILE,
	R_LINE,
	R_MODULE,
	R_EXECUTIONS,
	R_THREADS,
	R_TIME,
	R_WORK,
	R_WAIT,
	R_IMBALANCE,
	R_GAIN,
	R_BARRIER,
	R_CRITICAL,
	R_TASK_WAIT,
	R_FORK_JOIN,
	R_NESTED,
};

static const struct sn_column region_columns[] = {
	{ "region", "region", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "executions", "times", SN_CELL_INT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "time_s", "time s", SN_CELL_SECONDS, 0 },
	{ "work_s", "work s", SN_CELL_SECONDS, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "imbalance", "imbalance", SN_CELL_SHARE, 0 },
	{ "gain_s", "gain s", SN_CELL_SECONDS, 0 },
	{ "barrier_s", "barrier s", SN_CELL_SECONDS, 0 },
	{ "critical_s", "critical s", SN_CELL_SECONDS, 0 },
	{ "task_wait_s", "for tasks s", SN_CELL_SECONDS, 0 },
	{ "fork_join_s", "fork, join s", SN_CELL_SECONDS, 0 },
	{ "nested", "nested", SN_CELL_BOOL, 0 },
};

static void regions_add(struct sn_table *table, const struct sn_program *program,
			const struct sn_openmp *openmp)
{
	static const struct sn_site_columns columns = { R_REGION, R_FUNCTION, R_FILE, R_LINE,
							R_MODULE };

	for (size_t i = 0; i < openmp->regions.count; i++) {
		const struct sn_openmp_region *region = &openmp->regions.items[i];
		double wait = sn_openmp_wait_ns(region);

		sn_table_add_row(table);
		site_set(table, &columns, program, region->site, region->function);
		sn_table_set_int(table, R_EXECUTIONS, (int64_t)region->executions);
		sn_table_set_int(table, R_THREADS, region->threads);
		sn_table_set_real(table, R_TIME, region->time_ns / 1e9);
		sn_table_set_real(table, R_WORK, region->work_ns / 1e9);
		sn_table_set_real(table, R_WAIT, wait / 1e9);
		sn_table_set_real(table, R_IMBALANCE, sn_openmp_imbalance(region));
		sn_table_set_real(table, R_GAIN, region->gain_ns / 1e9);
		sn_table_set_real(table, R_BARRIER, region->barrier_ns / 1e9);
		sn_table_set_real(table, R_CRITICAL, region->critical_ns / 1e9);
		sn_table_set_real(table, R_TASK_WAIT, region->task_wait_ns / 1e9);
		sn_table_set_real(table, R_FORK_JOIN, sn_openmp_fork_join_ns(region) / 1e9);
		sn_table_set_int(table, R_NESTED, region->is_nested);
	}
}

static sn_status regions_fill(const struct sn_view_input *input, struct sn_table *table,
			      struct sn_error *err)
{
	return openmp_fill(input, table, regions_add, err);
}

const struct sn_view sn_view_openmp = {
	.name = "openmp",
	.title = "parallel regions of OpenMP: work, waiting, imbalance, what balance would gain",
	.needs = SN_VIEW_NEEDS_OPENMP,
	.schema = "sonde.openmp/1",
	.columns = region_columns,
	.column_count = sizeof(region_columns) / sizeof(*region_columns),
	.words = openmp_words,
	.text_columns =
		"time_s,work_s,barrier_s,critical_s,task_wait_s,fork_join_s,imbalance,gain_s,"
		"executions,threads,region",
	.sort = "time_s",
	.page_title = "OpenMP",
	.is_in_report = true,
	.fill = regions_fill,
	.why_empty = why_no_openmp,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* ---- constructs ---- */

enum {
	C_CONSTRUCT,
	C_REGION,
	C_SITE,
	C_FUNCTION,
	C_FILE,
	C_LINE,
	C_MODULE,
	C_COUNT,
	C_THREADS,
	C_WAIT,
	C_LONGEST,
	C_INSIDE,
};

static const struct sn_column construct_columns[] = {
	{ "construct", "construct", SN_CELL_TEXT, 0 },
	{ "region", "region", SN_CELL_TEXT, 0 },
	{ "site", "site", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", "module", SN_CELL_TEXT, 0 },
	{ "count", "times", SN_CELL_INT, 0 },
	{ "threads", "threads", SN_CELL_INT, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "longest_s", "longest s", SN_CELL_SECONDS, 0 },
	{ "inside_s", "inside s", SN_CELL_SECONDS, 0 },
};

static void places_add(struct sn_table *table, const struct sn_program *program,
		       const struct sn_openmp *openmp)
{
	static const struct sn_site_columns columns = { C_SITE, C_FUNCTION, C_FILE, C_LINE,
							C_MODULE };

	for (size_t i = 0; i < openmp->places.count; i++) {
		const struct sn_openmp_place *place = &openmp->places.items[i];

		sn_table_add_row(table);
		site_set(table, &columns, program, place->site, place->function);
		region_name_set(table, C_REGION, program, openmp, place->region);
		sn_table_set_text(table, C_CONSTRUCT, sn_openmp_construct_name(place->construct));
		sn_table_set_int(table, C_COUNT, (int64_t)place->count);
		sn_table_set_int(table, C_THREADS, place->threads);
		sn_table_set_real(table, C_WAIT, place->wait_ns / 1e9);
		sn_table_set_real(table, C_LONGEST, place->longest_ns / 1e9);
		sn_table_set_real(table, C_INSIDE, place->inside_ns / 1e9);
	}
}

static sn_status places_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	return openmp_fill(input, table, places_add, err);
}

const struct sn_view sn_view_constructs = {
	.name = "constructs",
	.title = "constructs of OpenMP: barriers, critical sections, locks, tasks, by site",
	.needs = SN_VIEW_NEEDS_OPENMP,
	.schema = "sonde.constructs/1",
	.columns = construct_columns,
	.column_count = sizeof(construct_columns) / sizeof(*construct_columns),
	.words = openmp_words,
	.text_columns = "wait_s,longest_s,inside_s,count,threads,construct,site,region",
	.sort = "wait_s",
	.page_title = "OpenMP constructs",
	.is_in_report = true,
	.fill = places_fill,
	.why_empty = why_no_openmp,
	.write_members = members_write,
	.put_foot = foot_put,
};

/* ---- teams ---- */

enum {
	T_REGION,
	T_PROCESS,
	T_THREAD,
	T_BODIES,
	T_WORK,
	T_WAIT,
	T_BARRIER,
	T_CRITICAL,
	T_TASK_WAIT
};

static const struct sn_column team_columns[] = {
	{ "region", "region", SN_CELL_TEXT, 0 },
	{ "process", "process", SN_CELL_INT, 0 },
	{ "thread", "thread", SN_CELL_INT, 0 },
	{ "bodies", "times", SN_CELL_INT, 0 },
	{ "work_s", "work s", SN_CELL_SECONDS, 0 },
	{ "wait_s", "wait s", SN_CELL_SECONDS, 0 },
	{ "barrier_s", "barrier s", SN_CELL_SECONDS, 0 },
	{ "critical_s", "critical s", SN_CELL_SECONDS, 0 },
	{ "task_wait_s", "for tasks s", SN_CELL_SECONDS, 0 },
};

static void teams_add(struct sn_table *table, const struct sn_program *program,
		      const struct sn_openmp *openmp)
{
	for (size_t i = 0; i < openmp->members.count; i++) {
		const struct sn_openmp_member *member = &openmp->members.items[i];

		sn_table_add_row(table);
		region_name_set(table, T_REGION, program, openmp, member->region);
		sn_table_set_int(table, T_PROCESS, member->process);
		if (member->tid)
			sn_table_set_int(table, T_THREAD, member->tid);
		sn_table_set_int(table, T_BODIES, (int64_t)member->bodies);
		sn_table_set_real(table, T_WORK, member->work_ns / 1e9);
		sn_table_set_real(
			table, T_WAIT,
			(member->barrier_ns + member->critical_ns + member->task_wait_ns) / 1e9);
		sn_table_set_real(table, T_BARRIER, member->barrier_ns / 1e9);
		sn_table_set_real(table, T_CRITICAL, member->critical_ns / 1e9);
		sn_table_set_real(table, T_TASK_WAIT, member->task_wait_ns / 1e9);
	}
}

static sn_status teams_fill(const struct sn_view_input *input, struct sn_table *table,
			    struct sn_error *err)
{
	return openmp_fill(input, table, teams_add, err);
}

const struct sn_view sn_view_teams = {
	.name = "teams",
	.title = "threads in parallel regions of OpenMP: who works, who waits",
	.needs = SN_VIEW_NEEDS_OPENMP,
	.schema = "sonde.teams/1",
	.columns = team_columns,
	.column_count = sizeof(team_columns) / sizeof(*team_columns),
	.words = openmp_words,
	.text_columns = "work_s,barrier_s,critical_s,task_wait_s,bodies,process,thread,region",
	.sort = "work_s",
	.page_title = "OpenMP teams",
	.is_in_report = true,
	.fill = teams_fill,
	.why_empty = why_no_openmp,
	.write_members = members_write,
	.put_foot = foot_put,
};
