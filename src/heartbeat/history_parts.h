/** Shared by the files of this folder: the open database. */
#ifndef SN_HEARTBEAT_HISTORY_PARTS_H
#define SN_HEARTBEAT_HISTORY_PARTS_H

#include <sqlite3.h>

#include "heartbeat/history.h"

struct sn_history {
	sqlite3 *db;
	char *path;
};

/** The sentence for what SQLite just refused. */
sn_status sn_history_fail(struct sn_history *history, struct sn_error *err);
sn_status sn_history_prepare(struct sn_history *history, const char *sql, sqlite3_stmt **out,
			     struct sn_error *err);
sn_status sn_history_execute(struct sn_history *history, const char *sql, struct sn_error *err);
/** Gives every process that has none its run. */
sn_status sn_history_place(struct sn_history *history, struct sn_error *err);

#endif
