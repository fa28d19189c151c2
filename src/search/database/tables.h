/**
 * The performance database: values of metrics by region, data, process and thread, in one phase.
 *
 * A value has a key of up to seven members. A key that is absent (SN_ALL) means all of its kind
 * together: a value of a region without a thread is that of all its threads. Members are added
 * first, then values, then values are looked up; a lookup may leave keys out.
 *
 * All texts are copied into the tables' arena and live as long as they do.
 */
#ifndef SN_SEARCH_DATABASE_TABLES_H
#define SN_SEARCH_DATABASE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

enum sn_key {
	SN_KEY_REGION,
	SN_KEY_DATA,
	SN_KEY_PROCESS,
	SN_KEY_THREAD,
	SN_KEY_LOCK,
	SN_KEY_FILE,
	SN_KEY_PEER, /* a process, as the other end of a message */
	SN_KEYS
};
enum { SN_ALL = 0xffffffffu };

/** "region", "data", ... */
const char *sn_key_name(enum sn_key key);

/** A region, data structure, process, thread, lock or file. What is not known is NULL, 0, SN_ALL or
 *  NaN. */
struct sn_member {
	const char *id, *name;
	const char *kind;     /* of a region: "function", "loop", ... */
	const char *function; /* of a region: the name of its function */
	const char *file;
	bool is_phrase; /* the name is several names with words between: people see it whole */
	uint32_t line_first, line_last;
	uint32_t parent;		     /* region: the enclosing one; thread: its process */
	uint32_t first_thread, thread_count; /* of a process */
	uint32_t
		lanes; /* of a process: threads that were there at one time, at most; 0: all of its threads */
	uint32_t
		place; /* of a thread: 1 for its process's first one, 2 .. for the others, by which another run knows
			   it; 0: its order */
	double bytes; /* of data */
};

typedef SN_VEC(struct sn_member) sn_member_vec;

/** Its name, else its id; "?" if it has neither. */
const char *sn_member_whole_name(const struct sn_member *member);
/** The same for people: what cannot be printed is escaped, and a long name that is no phrase shortened
 *  (sn_text_elide). */
void sn_member_add_shown(const struct sn_member *member, struct sn_text *out);

/** One value of one metric. */
struct sn_value {
	uint32_t column; /* which metric, at which level */
	uint32_t keys[SN_KEYS];
	double value;	 /* in the metric's unit, of the whole phase */
	double samples;	 /* observations behind it; NaN: counted, not sampled */
	double error;	 /* half width of its 95 % interval, in the same unit; NaN: unknown */
	uint32_t source; /* a string of `names` */
	double open;	 /* it may be larger by so much, and not smaller: a range; 0: it is none */
};

/** What a lookup finds: the values that fit, summed. */
struct sn_sum {
	uint32_t keys[SN_KEYS];
	uint32_t pattern; /* keys that were left out and that these values have */
	uint32_t values;  /* how many there are */
	double value;
	double samples, error_squares; /* sums over the values that have them */
	double open;
	bool has_unsampled; /* a value with neither samples nor an error is in it */
};

struct sn_projection;

/** A metric at a level. */
struct sn_metric_column {
	SN_VEC(uint32_t) values; /* indices */
	struct sn_projection
		*projections[1 << SN_KEYS]; /* by the keys that are not left out; NULL: not made */
};

struct sn_tables {
	struct sn_arena arena;
	double phase_s;			/* wall time of the phase; NaN: unknown */
	sn_member_vec members[SN_KEYS]; /* SN_KEY_PEER stays empty: peers are processes */
	struct sn_map member_of[SN_KEYS];
	struct sn_interner names; /* of columns and sources */
	SN_VEC(struct sn_value) values;
	SN_VEC(struct sn_metric_column) columns; /* by their number */
	struct sn_map exact;			 /* hash of column and keys -> value */
	struct sn_map complete;			 /* columns of which an absent value is 0 */
	bool has_projections;
};

struct sn_tables *sn_tables_new(void);
void sn_tables_free(struct sn_tables *tables);

/** A new member of a kind, of which `id` and all else is copied; its index. Threads are added right
 *  behind their process (`parent`). */
uint32_t sn_tables_add_member(struct sn_tables *tables, enum sn_key kind,
			      const struct sn_member *member);
/** The member with this id; SN_ALL: none. Of threads the one of this process. */
uint32_t sn_tables_member(const struct sn_tables *tables, enum sn_key kind, uint32_t process,
			  const char *id);

/** Lanes of a process, in which time can be lost: its threads at work, of those that follow each other one. At least 1. */
uint32_t sn_tables_lanes(const struct sn_tables *tables, uint32_t process);

/** The column of a metric, "misses" at level "L2" or at none (NULL); made if new. */
uint32_t sn_tables_column(struct sn_tables *tables, const char *metric, const char *level);
/** The same; SN_ALL: no value has it. */
uint32_t sn_tables_find_column(const struct sn_tables *tables, const char *metric,
			       const char *level);

/** Whether a column has a value; none is named by SN_ALL. */
bool sn_tables_has_column(const struct sn_tables *tables, uint32_t column);
/** Whether a metric has a value, at whatever level. */
bool sn_tables_has_metric(const struct sn_tables *tables, const char *metric);

/**
 * Adds a value. Of two with equal keys and different sources the one with the smaller error stays;
 * values of one source are summed. What lookups have kept in mind is forgotten.
 */
void sn_tables_add(struct sn_tables *tables, const struct sn_value *value);
/** Drops the values of a column that a source gave. What lookups have kept in mind is forgotten. */
void sn_tables_drop(struct sn_tables *tables, uint32_t column, uint32_t source);
/** Says that a source accounts for all of a column: what has no value there is 0, not unknown. */
void sn_tables_complete(struct sn_tables *tables, uint32_t column);
uint32_t sn_tables_source(struct sn_tables *tables, const char *name);
/** Whether a value is of this source. */
bool sn_tables_has_source(const struct sn_tables *tables, const char *name);

/**
 * The value of a column at these keys; NULL: there is none, and the column is not complete.
 *
 * Keys that are SN_ALL and in `left_out` (bits 1 << key) are summed over: where a value without
 * them is there, it is that, else the sum of those with them. A value without a process holds in
 * each process; a value without any other key holds for each member only if the metric does not
 * add up. Of several the one that lacks fewest keys counts; of those the one that lacks the last of
 * region, data, process, thread.
 */
const struct sn_sum *sn_tables_find(struct sn_tables *tables, uint32_t column,
				    const uint32_t keys[SN_KEYS], bool adds);

/** Half width of the 95 % interval over the value, at least 0; 0 for what is counted, NaN for a
 *  value of 0 with an error. */
double sn_sum_relative_error(const struct sn_sum *sum);

/** Tables from a file of schema sonde.tables/1 (docs/format/tables.md). SN_ERR_FORMAT names the
 *  place of what is wrong. */
sn_status sn_tables_read(const char *path, struct sn_tables **out, struct sn_error *err);
/** The same from memory; `name` is for messages. */
sn_status sn_tables_read_memory(const char *name, const char *bytes, size_t length,
				struct sn_tables **out, struct sn_error *err);

#endif
