/* One row of figures for each execution: sizes, widths, bottlenecks, times. */
#include "pandore/lattice/compare.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "pandore/lattice/integer.h"

enum column {
	TRACE,
	PROCESSES,
	EVENTS,
	STEPS,
	LEVELS,
	CUTS,
	ARCS,
	MEAN,
	WIDE,
	NARROW,
	DEPTH,
	SYNCHRONISATIONS,
	WORK,
	CRITICAL,
	POTENTIAL,
	REALISED,
	WAIT,
	LOST,
	COLUMN_COUNT
};

static const struct sn_column COLUMNS[COLUMN_COUNT] = {
	[TRACE] = { "trace", "Trace", SN_CELL_TEXT, 0 },
	[PROCESSES] = { "processes", "Proc", SN_CELL_INT, 0 },
	[EVENTS] = { "events", "Events", SN_CELL_INT, 0 },
	[CUTS] = { "cuts", "Cuts", SN_CELL_TEXT, 0 },
	[ARCS] = { "arcs", "Arcs", SN_CELL_TEXT, 0 },
	[LEVELS] = { "mean_level_out_degree", "By level", SN_CELL_REAL, 2 },
	[MEAN] = { "mean_out_degree", "Mean out", SN_CELL_REAL, 3 },
	[WIDE] = { "wide_share", "Wide", SN_CELL_SHARE, 1 },
	[NARROW] = { "narrow_share", "Narrow", SN_CELL_SHARE, 1 },
	[DEPTH] = { "depth", "Chain", SN_CELL_INT, 0 },
	[STEPS] = { "events_per_step", "Ev/step", SN_CELL_REAL, 2 },
	[SYNCHRONISATIONS] = { "synchronisations", "Sync", SN_CELL_INT, 0 },
	[WORK] = { "work_s", "Work", SN_CELL_DURATION, 0 },
	[CRITICAL] = { "critical_path_s", "Critical", SN_CELL_DURATION, 0 },
	[POTENTIAL] = { "potential_parallelism", "Possible", SN_CELL_REAL, 2 },
	[REALISED] = { "realised_parallelism", "Realised", SN_CELL_REAL, 2 },
	[WAIT] = { "modelled_wait_s", "Waiting", SN_CELL_DURATION, 0 },
	[LOST] = { "bottleneck_lost_s", NULL, SN_CELL_DURATION, 0 },
};

static void set_number(struct sn_table *table, size_t column, const uint64_t *number,
		       unsigned limbs)
{
	struct sn_text text = { 0 };

	sn_limbs_add_decimal(&text, number, limbs);
	sn_table_set_text(table, column, text.chars);
	sn_text_free(&text);
}

/* The share of cuts in which all active processes but one at most can act. */
static double wide_share(const struct sn_interval_counts *counts, uint32_t active)
{
	double share = 0;

	for (uint32_t d = active > 1 ? active - 1 : 1; d < counts->degree_count; d++)
		share += sn_limbs_ratio(counts->degrees + (size_t)d * counts->limbs, counts->cuts,
					counts->limbs);
	return share;
}

/* The share of the levels that lie in a bottleneck by cuts. */
static double narrow_share(const struct sn_lattice_profile *profile)
{
	uint32_t narrow = 0;

	for (uint32_t k = 0; k < profile->event_count; k++)
		narrow += profile->level_mean[k] < 0.5 * profile->active_count ||
			  profile->level_mean[k] <= 1 + 1e-9;
	return profile->event_count ? (double)narrow / profile->event_count : NAN;
}

/* The file's name; the whole path if another trace has the same. */
static const char *short_name(const struct sn_lattice_answer *answers, size_t count, size_t which)
{
	const char *name = sn_base_name(answers[which].name);

	for (size_t i = 0; i < count && name; i++)
		if (i != which && answers[i].name && !strcmp(sn_base_name(answers[i].name), name))
			return answers[which].name;
	return name;
}

static void set_exact(struct sn_table *table, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	const struct sn_lattice_window *all = &profile->windows.items[0];

	set_number(table, CUTS, all->counts.cuts, all->counts.limbs);
	set_number(table, ARCS, all->counts.arcs, all->counts.limbs);
	sn_table_set_real(table, MEAN, sn_lattice_window_mean(all));
	sn_table_set_real(table, WIDE, wide_share(&all->counts, profile->active_count));
	sn_table_set_real(table, NARROW, narrow_share(profile));
}

static void set_time(struct sn_table *table, const struct sn_lattice_answer *answer)
{
	const struct sn_schedule *schedule = &answer->schedule;
	double lost_s = 0;

	sn_table_set_real(table, WORK, schedule->work_s);
	sn_table_set_real(table, CRITICAL, schedule->critical_s);
	sn_table_set_real(table, POTENTIAL, schedule->work_s / schedule->critical_s);
	sn_table_set_real(table, REALISED, schedule->work_s / schedule->elapsed_s);
	for (size_t s = 0; s < answer->segments.items.count; s++)
		if (answer->segments.items.items[s].is_by_time)
			lost_s += answer->segments.items.items[s].time_lost_s;
	sn_table_set_real(table, WAIT, schedule->wait_s);
	sn_table_set_real(table, LOST, lost_s);
}

void sn_lattice_compare(const struct sn_lattice_answer *answers, size_t count,
			struct sn_table *table)
{
	sn_table_init(table, COLUMNS, COLUMN_COUNT);
	for (size_t i = 0; i < count; i++) {
		const struct sn_lattice_profile *profile = &answers[i].profile;

		sn_table_add_row(table);
		sn_table_set_text(table, TRACE, short_name(answers, count, i));
		sn_table_set_int(table, PROCESSES, profile->process_count);
		sn_table_set_int(table, EVENTS, profile->event_count);
		sn_table_set_int(table, DEPTH, answers[i].depth);
		sn_table_set_real(table, STEPS, sn_lattice_answer_per_step(&answers[i]));
		sn_table_set_real(table, LEVELS, sn_lattice_mean_of_levels(profile));
		sn_table_set_int(table, SYNCHRONISATIONS, profile->synchronisation_count);
		if (sn_lattice_answer_is_exact(&answers[i]))
			set_exact(table, &answers[i]);
		if (answers[i].schedule.critical_s > 0)
			set_time(table, &answers[i]);
	}
}
