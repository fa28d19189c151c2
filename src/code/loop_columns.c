/* Sets the cells of a loop by the keys of their columns. */
#include "code/loop_columns.h"

#include <string.h>

struct sn_loop_columns sn_loop_columns_find(const struct sn_column *columns, size_t count)
{
#define KEY(key, title, cell, how, value, ...) key,
	static const char *const keys[] = { SN_LOOP_NAMES(KEY) SN_LOOP_SHAPE(KEY) };
#undef KEY
	struct sn_loop_columns found;

	for (size_t k = 0; k < SN_LOOP_COLUMNS; k++) {
		found.at[k] = SIZE_MAX;
		for (size_t c = 0; c < count; c++)
			if (!strcmp(columns[c].key, keys[k]))
				found.at[k] = c;
	}
	return found;
}

static void set_text(struct sn_table *table, size_t column, const char *value)
{
	sn_table_set_text(table, column, value);
}

static void set_int(struct sn_table *table, size_t column, int64_t value)
{
	sn_table_set_int(table, column, value);
}

static void set_count(struct sn_table *table, size_t column, int64_t value)
{
	if (value)
		sn_table_set_int(table, column, value);
}

void sn_loop_columns_set(const struct sn_loop_columns *where, struct sn_table *table,
			 const struct sn_loop *loop)
{
	const size_t *at = where->at;

#define SET(key, title, cell, how, value, ...)                                                     \
	if (*at != SIZE_MAX)                                                                       \
		set_##how(table, *at, value);                                                      \
	at++;
	SN_LOOP_NAMES(SET) SN_LOOP_SHAPE(SET)
#undef SET
}

static void write_text(struct sn_json *json, const char *key, const char *value)
{
	sn_json_member_string(json, key, value);
}

static void write_int(struct sn_json *json, const char *key, enum sn_cell_kind kind, int64_t value)
{
	if (kind == SN_CELL_BOOL)
		sn_json_member_bool(json, key, value != 0);
	else
		sn_json_member_int(json, key, value);
}

static void write_count(struct sn_json *json, const char *key, int64_t value)
{
	if (value)
		sn_json_member_int(json, key, value);
	else
		sn_json_member_null(json, key);
}

void sn_loop_columns_write(const struct sn_loop *loop, const char *function, struct sn_json *json)
{
#define WRITE_text(key, cell, value)                                                               \
	write_text(json, key, strcmp(key, "function") ? value : function);
#define WRITE_int(key, cell, value)		 write_int(json, key, SN_CELL_##cell, value);
#define WRITE_count(key, cell, value)		 write_count(json, key, value);
#define WRITE(key, title, cell, how, value, ...) WRITE_##how(key, cell, value)
	SN_LOOP_NAMES(WRITE) SN_LOOP_SHAPE(WRITE)
#undef WRITE
}
