/** What the files that fill views share. Private to src/views. */
#ifndef SN_VIEWS_PARTS_H
#define SN_VIEWS_PARTS_H

#include "profile/site.h"
#include "views/view.h"

/* The columns of an entity's metrics, the same in every table that has them. */
enum metric_column {
	M_EXCLUSIVE_CPU,
	M_INCLUSIVE_CPU,
	M_EXCLUSIVE_SHARE,
	M_INCLUSIVE_SHARE,
	M_EXCLUSIVE_LOW,
	M_EXCLUSIVE_HIGH,
	M_SAMPLES,
	M_INCLUSIVE_LOW,
	M_INCLUSIVE_HIGH,
	M_SYSTEM,
	M_THREADS,
	M_DEVIATION,
	M_MAX_THREAD,
	M_EXCLUSIVE_WALL,
	M_INCLUSIVE_WALL,
	M_EXCLUSIVE_WALL_SHARE,
	M_INCLUSIVE_WALL_SHARE,
	M_QUALITY,
	M_MARK,
	M_INTERVAL,
	M_EXCLUSIVE,
	M_INCLUSIVE,
	M_COUNT,
};

#define METRIC_COLUMNS                                                                             \
	{ "exclusive_cpu_s", "excl s", SN_CELL_SECONDS, 0 },                                       \
		{ "inclusive_cpu_s", "incl s", SN_CELL_SECONDS, 0 },                               \
		{ "exclusive_share", "excl", SN_CELL_SHARE, 0 },                                   \
		{ "inclusive_share", "incl", SN_CELL_SHARE, 0 },                                   \
		{ "exclusive_share_low", "low", SN_CELL_SHARE, 0 },                                \
		{ "exclusive_share_high", "high", SN_CELL_SHARE, 0 },                              \
		{ "samples", "samples", SN_CELL_INT, 0 },                                          \
		{ "inclusive_share_low", "incl low", SN_CELL_SHARE, 0 },                           \
		{ "inclusive_share_high", "incl high", SN_CELL_SHARE, 0 },                         \
		{ "exclusive_system_s", "system s", SN_CELL_SECONDS, 0 },                          \
		{ "threads", "threads", SN_CELL_INT, 0 },                                          \
		{ "thread_deviation", "thr dev", SN_CELL_REAL, 2 },                                \
		{ "thread_max_s", "max thr s", SN_CELL_SECONDS, 0 },                               \
		{ "exclusive_wall_s", "excl wall s", SN_CELL_SECONDS, 0 },                         \
		{ "inclusive_wall_s", "incl wall s", SN_CELL_SECONDS, 0 },                         \
		{ "exclusive_wall_share", "excl wall", SN_CELL_SHARE, 0 },                         \
		{ "inclusive_wall_share", "incl wall", SN_CELL_SHARE, 0 },                         \
		{ "quality", "quality", SN_CELL_TEXT, 0 }, { "mark", "", SN_CELL_TEXT, 0 },        \
		{ "interval", "95 % interval", SN_CELL_TEXT, 0 },                                  \
		{ "exclusive", "excl events", SN_CELL_INT, 0 },                                    \
	{                                                                                          \
		"inclusive", "incl events", SN_CELL_INT, 0                                         \
	}

/** Sets M_COUNT cells of the last row from column `first` on. */
void sn_view_set_metrics(const struct sn_view_input *input, struct sn_table *table, size_t first,
			 const struct sn_metrics *metrics);
/** "file.c:41", "file.c" or unknown. */
void sn_view_set_source(struct sn_table *table, size_t column, const char *file, uint32_t line);
/** A number, or unknown for 0. */
void sn_view_set_line(struct sn_table *table, size_t column, uint32_t line);
/** Where a view has the columns of a site. */
struct sn_site_columns {
	size_t site, function, file, line, module;
};
void sn_view_set_site(struct sn_table *table, const struct sn_site_columns *columns,
		      const struct sn_program *program, struct sn_site site);
/** What follows the number of damaged pieces. */
static inline const char *sn_view_pieces_are_damaged(uint64_t count)
{
	return count == 1 ? "piece of the trace is damaged" : "pieces of the trace are damaged";
}
/** Whether "a,b,c" has the key. NULL has none. */
bool sn_view_list_has(const char *list, const char *key);
bool sn_weight_is_empty(const struct sn_weight *weight);
/** Whether a row would show nothing: no CPU time and no observation, or with wall time no wait
 * either. */
bool sn_view_is_empty(const struct sn_view_input *input, const struct sn_weight *weight);

#endif
