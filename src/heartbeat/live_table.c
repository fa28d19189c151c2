/*
 * Sums up what live.c keeps: a row for each heartbeat, rank or thread, with its rate and mean over
 * the window and its course in small cells.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "heartbeat/live_parts.h"

struct sn_live_facts sn_live_facts(const struct sn_live *live)
{
	struct sn_live_facts facts = { .file_count = live->files.count };

	for (size_t i = 0; i < live->files.count; i++)
		facts.bad_line_count += live->files.items[i]->reader.bad_line_count;
	for (size_t i = 0; i < live->processes.count; i++) {
		const struct sn_live_process *p = &live->processes.items[i];
		bool is_first_of_host = true;

		if (!p->is_shown)
			continue;
		for (size_t k = 0; k < i; k++)
			is_first_of_host &= !live->processes.items[k].is_shown ||
					    live->processes.items[k].host != p->host;
		facts.process_count++;
		facts.host_count += is_first_of_host;
		facts.running_count += p->is_running;
		if (!facts.first_start_ns || p->start_ns < facts.first_start_ns)
			facts.first_start_ns = p->start_ns;
		if (p->last_ns > facts.last_row_ns)
			facts.last_row_ns = p->last_ns;
	}
	return facts;
}

void sn_live_add_title(const struct sn_live *live, struct sn_text *text)
{
	const struct sn_live_process *first = NULL;

	for (size_t i = 0; i < live->processes.count; i++) {
		const struct sn_live_process *p = &live->processes.items[i];

		if (p->is_shown && (!first || p->start_ns < first->start_ns))
			first = p;
	}
	if (!first)
		return;
	sn_text_add_printable(text, first->program, strlen(first->program));
	if (strcmp(first->arguments, "[]")) {
		sn_text_add_char(text, ' ');
		sn_text_add_printable(text, first->arguments, strlen(first->arguments));
	}
	if (first->job_id) {
		sn_text_add(text, ", job ");
		sn_text_add_printable(text, first->job_id, strlen(first->job_id));
	}
}

/* The mean duration of one process within a group, for the slowest rank. */
struct part {
	uint32_t process;
	int64_t timed, sum_ns;
};

struct group {
	const struct sn_live_series *first;
	int64_t process_count, thread_count;
	int64_t total, timed, sum_ns, max_ns, open;
	double count, open_ns, work; /* of a row that began before the window: its share */
	double cells[SN_LIVE_CELLS]; /* beats, newest last */
	double covered_s;	     /* of the window, by the process that began first */
	SN_VEC(struct part) parts;
};

enum column {
	PROGRAM,
	HEARTBEAT,
	RANK,
	PID,
	THREAD,
	PROCESSES,
	THREADS,
	TOTAL,
	RATE,
	MEAN,
	MAX,
	SLOWEST,
	IMBALANCE,
	OPEN,
	OPEN_TIME,
	WORK,
	CELLS,
};

const struct sn_column sn_live_columns[] = {
	[PROGRAM] = { "program", NULL, SN_CELL_TEXT, 0 },
	[HEARTBEAT] = { "heartbeat", "Heartbeat", SN_CELL_TEXT, 0 },
	[RANK] = { "rank", "Rank", SN_CELL_INT, 0 },
	[PID] = { "pid", NULL, SN_CELL_INT, 0 },
	[THREAD] = { "thread", "Thread", SN_CELL_INT, 0 },
	[PROCESSES] = { "processes", "Procs", SN_CELL_INT, 0 },
	[THREADS] = { "threads", "Threads", SN_CELL_INT, 0 },
	[TOTAL] = { "total", "Beats", SN_CELL_INT, 0 },
	[RATE] = { "rate_hz", "Per second", SN_CELL_REAL, 1 },
	[MEAN] = { "mean_s", "Mean", SN_CELL_DURATION, 0 },
	[MAX] = { "max_s", "Longest", SN_CELL_DURATION, 0 },
	[SLOWEST] = { "slowest_rank", "Slowest", SN_CELL_INT, 0 },
	[IMBALANCE] = { "slowest_ratio", "by", SN_CELL_REAL, 2 },
	[OPEN] = { "open", "Open", SN_CELL_INT, 0 },
	[OPEN_TIME] = { "open_s", NULL, SN_CELL_DURATION, 0 },
	[WORK] = { "work_hz", "Work/s", SN_CELL_REAL, 1 },
	[CELLS] = { "recent", "Lately", SN_CELL_TEXT, 0 },
};
const size_t sn_live_column_count = sizeof(sn_live_columns) / sizeof(*sn_live_columns);

static struct part *part_of(struct group *group, uint32_t process)
{
	for (size_t i = group->parts.count; i-- > 0;)
		if (group->parts.items[i].process == process)
			return &group->parts.items[i];
	sn_vec_push(&group->parts, (struct part){ .process = process });
	group->process_count++;
	return &group->parts.items[group->parts.count - 1];
}

/* Beats are shared among the cells that their interval lies in: intervals of different threads and
 * processes do not begin together. */
static void add_to_cells(struct group *group, const struct sn_live_moment *m, int64_t age_ns,
			 int64_t cell_ns)
{
	int64_t first_ns = age_ns, last_ns = age_ns + (m->interval_ns > 0 ? m->interval_ns : 1);

	for (int64_t cell = first_ns / cell_ns; cell < SN_LIVE_CELLS; cell++) {
		int64_t begin_ns = cell * cell_ns, end_ns = begin_ns + cell_ns;

		if (begin_ns >= last_ns)
			break;
		begin_ns = begin_ns > first_ns ? begin_ns : first_ns;
		end_ns = end_ns < last_ns ? end_ns : last_ns;
		group->cells[SN_LIVE_CELLS - 1 - cell] += (double)m->count *
							  (double)(end_ns - begin_ns) /
							  (double)(last_ns - first_ns);
	}
}

static void add_moment(const struct sn_live *live, struct group *group, struct part *part,
		       const struct sn_live_moment *m, int64_t cell_ns)
{
	int64_t age_ns = live->newest_ns - m->end_ns, seen_ns = live->window_ns - age_ns;
	double share = seen_ns < m->interval_ns ? (double)seen_ns / (double)m->interval_ns : 1;

	add_to_cells(group, m, age_ns > 0 ? age_ns : 0, cell_ns);
	if (age_ns >= live->window_ns)
		return;
	group->count += share * (double)m->count;
	group->timed += m->timed;
	group->sum_ns += m->sum_ns;
	group->open_ns += share * (double)m->open_ns;
	group->work += share * (double)m->work;
	if (m->max_ns > group->max_ns)
		group->max_ns = m->max_ns;
	part->timed += m->timed;
	part->sum_ns += m->sum_ns;
}

static void add_series(const struct sn_live *live, struct group *group,
		       const struct sn_live_series *s)
{
	const struct sn_live_process *process = &live->processes.items[s->process];
	struct part *part = part_of(group, s->process);
	double covered_s = (double)(live->newest_ns - process->known_ns) * 1e-9;
	const struct sn_live_moment *last =
		s->recent.count ? &s->recent.items[s->recent.count - 1] : NULL;

	if (!group->first)
		group->first = s;
	group->thread_count += s->threads;
	group->total += s->total;
	if (covered_s > (double)live->window_ns * 1e-9)
		covered_s = (double)live->window_ns * 1e-9;
	if (covered_s > group->covered_s)
		group->covered_s = covered_s;
	for (size_t i = 0; i < s->recent.count; i++)
		add_moment(live, group, part, &s->recent.items[i], process->interval_ns);
	/* open at the end of the process's last interval, not of an earlier one */
	if (last && last->end_ns == process->last_ns)
		group->open += last->open;
}

static void set_slowest(const struct sn_live *live, const struct group *group,
			struct sn_table *table)
{
	double sum = 0, most = 0;
	size_t count = 0, slowest = 0;

	for (size_t i = 0; i < group->parts.count; i++) {
		const struct part *part = &group->parts.items[i];
		double mean = part->timed ? (double)part->sum_ns / (double)part->timed : 0;

		if (!part->timed)
			continue;
		count++;
		sum += mean;
		if (mean > most) {
			most = mean;
			slowest = i;
		}
	}
	if (count < 2 || !(most > 0))
		return;
	if (live->processes.items[group->parts.items[slowest].process].rank >= 0)
		sn_table_set_int(table, SLOWEST,
				 live->processes.items[group->parts.items[slowest].process].rank);
	sn_table_set_real(table, IMBALANCE, most / (sum / (double)count));
}

static void set_cells(const struct group *group, struct sn_table *table)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	char text[SN_LIVE_CELLS * 3 + 1] = "";
	double most = 0;

	for (size_t i = 0; i < SN_LIVE_CELLS; i++)
		most = group->cells[i] > most ? group->cells[i] : most;
	for (size_t i = 0; i < SN_LIVE_CELLS; i++) {
		int64_t height = most > 0 ? (int64_t)ceil((double)group->cells[i] * 8 / most) : 0;

		strcat(text, bars[height]);
	}
	sn_table_set_text(table, CELLS, text);
}

static void set_row(const struct sn_live *live, const struct group *group, enum sn_live_by by,
		    struct sn_table *table)
{
	const struct sn_live_process *process = &live->processes.items[group->first->process];
	double rate = group->covered_s > 0 ? 1 / group->covered_s : NAN;

	sn_table_add_row(table);
	sn_table_set_text(table, PROGRAM, process->program);
	sn_table_set_text(table, HEARTBEAT,
			  sn_interned_chars(&live->strings, group->first->heartbeat));
	if (by != SN_LIVE_BY_HEARTBEAT) {
		if (process->rank >= 0)
			sn_table_set_int(table, RANK, process->rank);
		sn_table_set_int(table, PID, process->pid);
	}
	if (by == SN_LIVE_BY_THREAD && group->first->thread)
		sn_table_set_int(table, THREAD, group->first->thread);
	sn_table_set_int(table, PROCESSES, group->process_count);
	sn_table_set_int(table, THREADS, group->thread_count);
	sn_table_set_int(table, TOTAL, group->total);
	sn_table_set_real(table, RATE, group->count * rate);
	if (group->timed) {
		sn_table_set_real(table, MEAN, (double)group->sum_ns * 1e-9 / (double)group->timed);
		sn_table_set_real(table, MAX, (double)group->max_ns * 1e-9);
	}
	set_slowest(live, group, table);
	sn_table_set_int(table, OPEN, group->open);
	sn_table_set_real(table, OPEN_TIME, group->open_ns * 1e-9);
	if (group->work > 0)
		sn_table_set_real(table, WORK, group->work * rate);
	set_cells(group, table);
}

/* Groups in order of their first row; a number for each by what they have in common. */
static uint32_t group_of(const struct sn_live *live, const struct sn_live_series *s,
			 enum sn_live_by by, struct sn_interner *keys)
{
	struct {
		const char *program;
		uint64_t heartbeat, process;
		int64_t thread;
	} key = { live->processes.items[s->process].program, s->heartbeat,
		  by == SN_LIVE_BY_HEARTBEAT ? 0 : s->process + 1,
		  by == SN_LIVE_BY_THREAD ? s->thread : 0 };

	return sn_intern(keys, (const char *)&key, sizeof(key));
}

void sn_live_fill(const struct sn_live *live, enum sn_live_by by, struct sn_table *table)
{
	SN_VEC(struct group) groups = { 0 };
	struct sn_interner keys = { 0 };

	for (size_t i = 0; i < live->series.count; i++) {
		const struct sn_live_series *s = &live->series.items[i];
		uint32_t number;

		if (!live->processes.items[s->process].is_shown)
			continue;
		number = group_of(live, s, by, &keys);
		if (number == groups.count)
			sn_vec_push(&groups, (struct group){ 0 });
		assert(groups.items); /* numbers begin at 0, which was pushed */
		add_series(live, &groups.items[number], s);
	}
	for (size_t i = 0; i < groups.count; i++) {
		set_row(live, &groups.items[i], by, table);
		sn_vec_free(&groups.items[i].parts);
	}
	sn_vec_free(&groups);
	sn_interner_free(&keys);
}
