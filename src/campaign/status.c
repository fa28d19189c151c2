/* The runs of a campaign as a table: attempts in the order of their begin, then what is still to come. */
#include "campaign/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "campaign/jobs.h"
#include "campaign/queue.h"
#include "campaign/schedule.h"

static const struct sn_column status_columns[] = {
	{ "configuration", "configuration", SN_CELL_TEXT, 0 },
	{ "repeat", "repeat", SN_CELL_INT, 0 },
	{ "attempt", "attempt", SN_CELL_INT, 0 },
	{ "block", "block", SN_CELL_INT, 0 },
	{ "position", "position", SN_CELL_INT, 0 },
	{ "state", "state", SN_CELL_TEXT, 0 },
	{ "exit_status", "exit", SN_CELL_INT, 0 },
	{ "experiment", "experiment", SN_CELL_TEXT, 0 },
	{ "job", "job", SN_CELL_TEXT, 0 },
	{ "elapsed_s", "elapsed s", SN_CELL_SECONDS, 0 },
	{ "level", "level", SN_CELL_INT, 0 },
	{ "reason", "reason", SN_CELL_TEXT, 0 },
};

struct queue {
	bool is_asked, has_answer;
	struct sn_queue_rows rows;
	struct sn_text words;
};

static void attempt_row(const struct sn_campaign *c, const struct sn_campaign_attempt *a,
			enum sn_run_state state, struct sn_table *table)
{
	sn_table_add_row(table);
	sn_table_set_text(table, 0, sn_campaign_configuration_name(c, a->configuration));
	sn_table_set_int(table, 1, (int64_t)a->block + 1);
	sn_table_set_int(table, 2, a->attempt);
	sn_table_set_int(table, 3, (int64_t)a->block + 1);
	sn_table_set_int(table, 4, (int64_t)a->position + 1);
	sn_table_set_text(table, 5, sn_run_state_name(state));
	if (a->exit_status >= 0)
		sn_table_set_int(table, 6, a->exit_status);
	sn_table_set_text(table, 7, a->experiment);
	sn_table_set_text(table, 8, a->job);
	sn_table_set_real(table, 9, a->facts.elapsed_s);
	if (a->level)
		sn_table_set_int(table, SN_STATUS_LEVEL, a->level);
	sn_table_set_text(table, SN_STATUS_REASON,
			  a->level_submission
				  ? sn_arena_printf(&c->state->arena, "job %s adds level %u",
						    a->level_job ? a->level_job : "?",
						    c->plan->level)
			  : a->reason || !a->level_reason
				  ? a->reason
				  : sn_arena_printf(&c->state->arena, "level %u is missing: %s",
						    c->plan->level, a->level_reason));
}

/* What became of a run in a job, by what lies in the folder and what the queue says now. */
static void job_look(const struct sn_campaign *c, bool is_held, struct sn_campaign_attempt *a,
		     struct queue *queue)
{
	const char *path = sn_arena_printf(&c->state->arena, "%s/%s", c->path, a->experiment);
	struct sn_job_report report = sn_job_look(path);
	const struct sn_queue_row *row = NULL;
	char *script = NULL;

	a->state = report.is_taken ? SN_RUN_RUNNING : SN_RUN_QUEUED;
	if (report.has_ended) {
		a->reason = is_held ? NULL : "it has ended; 'sonde campaign resume' takes it in";
		return;
	}
	if (!queue->is_asked)
		queue->has_answer = sn_queue_ask(&c->state->arena, &queue->rows, &queue->words);
	queue->is_asked = true;
	script = realpath(
		sn_arena_printf(&c->state->arena, "%s/jobs/%u/script", c->path, a->submission),
		NULL);
	if (script)
		row = sn_queue_find(&queue->rows, script);
	free(script);
	if (row && row->state == SN_QUEUE_WAITS)
		a->reason =
			sn_arena_printf(&c->state->arena, "waits in the queue: %s", row->reason);
	else if (!queue->has_answer)
		a->reason = "the batch system gives no answer";
	else if (!is_held && !(row && row->state == SN_QUEUE_RUNS))
		a->reason = "its job is over; 'sonde campaign resume' says how and goes on";
}

/* Of a campaign that nobody runs nothing is running, but in jobs. */
static void attempts_fill(const struct sn_campaign *c, bool is_held, struct sn_table *table)
{
	struct queue queue = { 0 };

	for (size_t i = 0; i < c->state->attempts.count; i++) {
		struct sn_campaign_attempt a = c->state->attempts.items[i];
		bool is_left = a.state == SN_RUN_RUNNING && !is_held;

		if (a.submission && a.state == SN_RUN_QUEUED && a.experiment)
			job_look(c, is_held, &a, &queue);
		else if (is_left)
			a.reason = "the campaign was killed while it ran";
		else if (a.state == SN_RUN_DONE && !sn_campaign_has_experiment(c, &a))
			a.reason = "its experiment is not there any more";
		attempt_row(c, &a, is_left ? SN_RUN_CANCELLED : a.state, table);
	}
	sn_vec_free(&queue.rows.items);
	sn_text_free(&queue.words);
}

/* The runs that would come next, in their order; of a failed build, with its words. */
static void queued_fill(struct sn_campaign *c, struct sn_table *table)
{
	uint32_t count = (uint32_t)c->plan->configurations.count;
	uint32_t *builds = sn_alloc_zeroed(count + 1, sizeof(*builds));
	struct sn_campaign_cursor cursor = { .is_dry = true };
	struct sn_campaign_next next;

	sn_campaign_builds(c->plan, builds);
	while (sn_campaign_next(&cursor, c->plan, c->state, NULL, &next)) {
		struct sn_campaign_attempt a = { .configuration = next.configuration,
						 .block = next.block,
						 .attempt = next.attempt,
						 .position = next.position,
						 .exit_status = -1,
						 .facts.elapsed_s = NAN };
		const struct sn_campaign_built *built =
			builds[next.configuration] == SN_NO_BUILD
				? NULL
				: sn_campaign_built_find(c->state, builds[next.configuration]);
		enum sn_run_state state = built && !built->is_good ? SN_RUN_FAILED
					  : c->state->is_cancelled ? SN_RUN_CANCELLED
								   : SN_RUN_QUEUED;

		a.reason = built && !built->is_good ? built->reason : NULL;
		attempt_row(c, &a, state, table);
		cursor.position++; /* as if it had begun */
	}
	sn_campaign_cursor_free(&cursor);
	free(builds);
}

void sn_campaign_status(struct sn_campaign *campaign, bool is_held, struct sn_table *out)
{
	sn_table_init(out, status_columns, SN_STATUS_COLUMNS);
	attempts_fill(campaign, is_held, out);
	queued_fill(campaign, out);
}

void sn_campaign_status_count(const struct sn_table *status, size_t *counts)
{
	for (int s = 0; s <= SN_RUN_CANCELLED; s++)
		counts[s] = 0;
	for (size_t r = 0; r < status->row_count; r++)
		for (int s = 0; s <= SN_RUN_CANCELLED; s++)
			counts[s] += !strcmp(
				status->cells.items[r * status->column_count + SN_STATUS_STATE]
					.text,
				sn_run_state_name((enum sn_run_state)s));
}
