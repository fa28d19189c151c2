/*
 * Values and their lookup. A lookup with some keys left out goes to a projection: the column's
 * values grouped by the other keys, made at its first use by one walk over the column.
 */
#include "search/database/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { LASTS = 8 };

/* One column's values grouped by some keys. */
struct sn_projection {
	SN_VEC(struct sn_sum) sums;
	size_t last[LASTS];   /* sums that were found last, by their region */
	struct sn_map sum_of; /* hash of keys -> index of the sum */
};

/* As many columns as a name has on the first screen, and then some: rows have lines of their own. */
enum { NAME_COLUMNS = 60 };

const char *sn_member_whole_name(const struct sn_member *member)
{
	return member->name ? member->name : member->id ? member->id : "?";
}

void sn_member_add_shown(const struct sn_member *member, struct sn_text *out)
{
	const char *name = sn_member_whole_name(member);
	struct sn_text shown = { 0 };

	sn_text_add_printable(&shown, name, strlen(name));
	if (!member->is_phrase)
		sn_text_elide(&shown, NAME_COLUMNS);
	sn_text_add(out, shown.chars ? shown.chars : "");
	sn_text_free(&shown);
}

const char *sn_key_name(enum sn_key key)
{
	static const char *const names[] = { "region", "data", "process", "thread",
					     "lock",   "file", "peer" };

	return names[key];
}

static void lookups_forget(struct sn_tables *tables)
{
	for (size_t c = 0; tables->has_projections && c < tables->columns.count; c++)
		for (size_t mask = 0; mask < 1 << SN_KEYS; mask++) {
			struct sn_projection **p = &tables->columns.items[c].projections[mask];

			if (!*p)
				continue;
			sn_vec_free(&(*p)->sums);
			sn_map_free(&(*p)->sum_of);
			free(*p);
			*p = NULL;
		}
	tables->has_projections = false;
}

struct sn_tables *sn_tables_new(void)
{
	struct sn_tables *tables = sn_alloc_zeroed(1, sizeof(*tables));

	tables->phase_s = NAN;
	return tables;
}

void sn_tables_free(struct sn_tables *tables)
{
	if (!tables)
		return;
	lookups_forget(tables);
	for (size_t k = 0; k < SN_KEYS; k++) {
		sn_vec_free(&tables->members[k]);
		sn_map_free(&tables->member_of[k]);
	}
	sn_map_free(&tables->exact);
	sn_map_free(&tables->complete);
	sn_vec_free(&tables->values);
	for (size_t c = 0; c < tables->columns.count; c++)
		sn_vec_free(&tables->columns.items[c].values);
	sn_vec_free(&tables->columns);
	sn_interner_free(&tables->names);
	sn_arena_free(&tables->arena);
	free(tables);
}

/* ---- members ---- */

static const char *copied(struct sn_tables *tables, const char *chars)
{
	return chars ? sn_arena_strdup(&tables->arena, chars) : NULL;
}

static uint64_t member_hash(enum sn_key kind, uint32_t process, const char *id)
{
	return sn_hash_u64(sn_hash_bytes(id, strlen(id)) ^ ((uint64_t)process << 8 | kind));
}

static bool is_member(const struct sn_member *member, enum sn_key kind, uint32_t process,
		      const char *id)
{
	return member->id && !strcmp(member->id, id) &&
	       (kind != SN_KEY_THREAD || member->parent == process);
}

/* The first with an id is found by it. */
static void member_index(struct sn_tables *tables, enum sn_key kind, const struct sn_member *member,
			 uint32_t index)
{
	uint32_t process = kind == SN_KEY_THREAD ? member->parent : SN_ALL;
	uint64_t *place;
	bool is_new;

	for (uint64_t hash = member_hash(kind, process, member->id);; hash = sn_hash_u64(hash)) {
		place = sn_map_put(&tables->member_of[kind], hash, &is_new);
		if (is_new) {
			*place = index;
			return;
		}
		if (is_member(&tables->members[kind].items[*place], kind, process, member->id))
			return;
	}
}

uint32_t sn_tables_add_member(struct sn_tables *tables, enum sn_key kind,
			      const struct sn_member *member)
{
	struct sn_member own = *member;
	uint32_t index = (uint32_t)tables->members[kind].count;

	own.id = copied(tables, member->id);
	own.name = copied(tables, member->name);
	own.kind = copied(tables, member->kind);
	own.function = copied(tables, member->function);
	own.file = copied(tables, member->file);
	if (kind == SN_KEY_PROCESS) {
		own.first_thread = (uint32_t)tables->members[SN_KEY_THREAD].count;
		own.thread_count = 0;
	}
	if (kind == SN_KEY_THREAD)
		tables->members[SN_KEY_PROCESS].items[own.parent].thread_count++;
	sn_vec_push(&tables->members[kind], own);
	if (own.id)
		member_index(tables, kind, &own, index);
	return index;
}

uint32_t sn_tables_member(const struct sn_tables *tables, enum sn_key kind, uint32_t process,
			  const char *id)
{
	uint32_t scope = kind == SN_KEY_THREAD ? process : SN_ALL;
	const sn_member_vec *members;

	kind = kind == SN_KEY_PEER ? SN_KEY_PROCESS : kind;
	members = &tables->members[kind];
	for (uint64_t hash = member_hash(kind, scope, id);; hash = sn_hash_u64(hash)) {
		const uint64_t *place = sn_map_get(&tables->member_of[kind], hash);

		if (!place)
			return SN_ALL;
		if (is_member(&members->items[*place], kind, scope, id))
			return (uint32_t)*place;
	}
}

uint32_t sn_tables_lanes(const struct sn_tables *tables, uint32_t process)
{
	const struct sn_member *p = &tables->members[SN_KEY_PROCESS].items[process];
	uint32_t lanes = p->lanes ? p->lanes : p->thread_count;

	return lanes ? lanes : 1;
}

/* ---- columns ---- */

enum { COLUMN_NAME = 256 };

static size_t column_name(char name[COLUMN_NAME], const char *metric, const char *level)
{
	int length = level ? snprintf(name, COLUMN_NAME, "%s(%s)", metric, level)
			   : snprintf(name, COLUMN_NAME, "%s", metric);

	return length < COLUMN_NAME ? (size_t)length : COLUMN_NAME - 1;
}

uint32_t sn_tables_column(struct sn_tables *tables, const char *metric, const char *level)
{
	char name[COLUMN_NAME];

	return sn_intern(&tables->names, name, column_name(name, metric, level));
}

uint32_t sn_tables_find_column(const struct sn_tables *tables, const char *metric,
			       const char *level)
{
	char name[COLUMN_NAME];

	return sn_intern_find(&tables->names, name, column_name(name, metric, level));
}

bool sn_tables_has_column(const struct sn_tables *tables, uint32_t column)
{
	return column < tables->columns.count && tables->columns.items[column].values.count;
}

bool sn_tables_has_metric(const struct sn_tables *tables, const char *metric)
{
	size_t length = strlen(metric);

	for (uint32_t c = 0; c < tables->columns.count; c++) {
		const char *name = sn_interned_chars(&tables->names, c);

		if (sn_tables_has_column(tables, c) && !strncmp(name, metric, length) &&
		    (!name[length] || name[length] == '('))
			return true;
	}
	return false;
}

void sn_tables_complete(struct sn_tables *tables, uint32_t column)
{
	sn_map_put(&tables->complete, column, NULL);
}

uint32_t sn_tables_source(struct sn_tables *tables, const char *name)
{
	return sn_intern_string(&tables->names, name);
}

bool sn_tables_has_source(const struct sn_tables *tables, const char *name)
{
	uint32_t number = sn_intern_find(&tables->names, name, strlen(name));

	for (size_t i = 0; i < tables->values.count; i++)
		if (tables->values.items[i].source == number)
			return true;
	return false;
}

/* ---- values ---- */

static uint64_t keys_hash(uint32_t column, const uint32_t keys[SN_KEYS])
{
	uint64_t hash = column;

	for (size_t k = 0; k < SN_KEYS; k++)
		hash = sn_hash_u64(hash) ^ keys[k];
	return hash;
}

static bool is_same(const struct sn_value *a, const struct sn_value *b)
{
	return a->column == b->column && !memcmp(a->keys, b->keys, sizeof(a->keys));
}

/* Adds a number that may be unknown to one that may be. */
static double sum_known(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static void value_join(struct sn_value *old, const struct sn_value *value)
{
	if (old->source != value->source) {
		if (value->error < old->error || (isnan(old->error) && !isnan(value->error)))
			*old = *value;
		return;
	}
	old->value += value->value;
	old->open += value->open;
	old->samples = sum_known(old->samples, value->samples);
	if (!isnan(old->error) || !isnan(value->error))
		old->error = hypot(isnan(old->error) ? 0 : old->error,
				   isnan(value->error) ? 0 : value->error);
}

/* The place of a value's index; new: of none yet. */
static uint64_t *value_place(struct sn_tables *tables, const struct sn_value *value, bool *is_new)
{
	uint64_t hash = keys_hash(value->column, value->keys), *place;

	for (;; hash = sn_hash_u64(hash)) {
		place = sn_map_put(&tables->exact, hash, is_new);
		if (*is_new || is_same(&tables->values.items[*place], value))
			return place;
	}
}

/* Behind all others. */
static void value_index(struct sn_tables *tables, const struct sn_value *value, uint64_t *place)
{
	*place = tables->values.count;
	while (tables->columns.count <= value->column)
		sn_vec_push(&tables->columns, (struct sn_metric_column){ 0 });
	sn_vec_push(&tables->columns.items[value->column].values, (uint32_t)tables->values.count);
	sn_vec_push(&tables->values, *value);
}

void sn_tables_add(struct sn_tables *tables, const struct sn_value *value)
{
	bool is_new;
	uint64_t *place = value_place(tables, value, &is_new);

	lookups_forget(tables);
	if (is_new)
		value_index(tables, value, place);
	else
		value_join(&tables->values.items[*place], value);
}

void sn_tables_drop(struct sn_tables *tables, uint32_t column, uint32_t source)
{
	size_t count = tables->values.count;
	bool is_new;

	lookups_forget(tables);
	sn_map_free(&tables->exact);
	for (size_t c = 0; c < tables->columns.count; c++)
		tables->columns.items[c].values.count = 0;
	tables->values.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct sn_value value = tables->values.items[i];

		if (value.column != column || value.source != source)
			value_index(tables, &value, value_place(tables, &value, &is_new));
	}
}

/* ---- lookup ---- */

static bool is_of(const struct sn_sum *sum, const uint32_t keys[SN_KEYS])
{
	return !memcmp(sum->keys, keys, sizeof(sum->keys));
}

/* Lookups walk over members in the order in which values were added, as a rule: the sum behind the last one is tried
 * first. They may do so for a region and what it lies in, by turns. */
static struct sn_sum *sum_at(struct sn_projection *p, const uint32_t keys[SN_KEYS], bool may_add)
{
	uint64_t hash, *place;
	bool is_new = false;
	size_t *last = &p->last[keys[SN_KEY_REGION] % LASTS];

	for (size_t i = *last; i < p->sums.count && i <= *last + 1; i++)
		if (is_of(&p->sums.items[i], keys))
			return &p->sums.items[*last = i];
	for (hash = keys_hash(0, keys);; hash = sn_hash_u64(hash)) {
		place = may_add ? sn_map_put(&p->sum_of, hash, &is_new)
				: sn_map_get(&p->sum_of, hash);
		if (!place)
			return NULL;
		if (is_new)
			break;
		if (is_of(&p->sums.items[*place], keys))
			return &p->sums.items[*last = *place];
	}
	*place = *last = p->sums.count;
	sn_vec_push(&p->sums, (struct sn_sum){ .pattern = UINT32_MAX });
	memcpy(sn_vec_last(&p->sums).keys, keys, sizeof(sn_vec_last(&p->sums).keys));
	return &sn_vec_last(&p->sums);
}

/* Fewer keys that were left out are nearer to what is asked for. */
static bool is_nearer(uint32_t pattern, uint32_t than)
{
	int a = __builtin_popcount(pattern), b = __builtin_popcount(than);

	return a != b ? a < b : pattern < than;
}

static void sum_add(struct sn_sum *sum, const struct sn_value *value, uint32_t pattern)
{
	if (is_nearer(pattern, sum->pattern)) {
		struct sn_sum empty = { .pattern = pattern };

		memcpy(empty.keys, sum->keys, sizeof(empty.keys));
		*sum = empty;
	}
	if (sum->pattern != pattern)
		return;
	sum->values++;
	sum->value += value->value;
	sum->open += value->open;
	if (!isnan(value->samples))
		sum->samples += value->samples;
	if (!isnan(value->error))
		sum->error_squares += value->error * value->error;
	sum->has_unsampled |= isnan(value->samples) && isnan(value->error);
}

static struct sn_projection *projection_make(const struct sn_tables *tables,
					     const struct sn_metric_column *column, uint32_t mask)
{
	struct sn_projection *p = sn_alloc_zeroed(1, sizeof(*p));

	for (size_t i = 0; i < column->values.count; i++) {
		const struct sn_value *value = &tables->values.items[column->values.items[i]];
		uint32_t keys[SN_KEYS], pattern = 0;

		for (size_t k = 0; k < SN_KEYS; k++) {
			keys[k] = mask & 1u << k ? value->keys[k] : SN_ALL;
			if (!(mask & 1u << k) && value->keys[k] != SN_ALL)
				pattern |= 1u << k;
		}
		sum_add(sum_at(p, keys, true), value, pattern);
	}
	return p;
}

static struct sn_projection *projection_of(struct sn_tables *tables,
					   struct sn_metric_column *column, uint32_t mask)
{
	if (!column->projections[mask]) {
		column->projections[mask] = projection_make(tables, column, mask);
		tables->has_projections = true;
	}
	return column->projections[mask];
}

/* The sum at these keys but without some of them. */
static const struct sn_sum *sum_without(struct sn_projection *p, const uint32_t keys[SN_KEYS],
					uint32_t lacks)
{
	uint32_t left[SN_KEYS];

	for (size_t k = 0; k < SN_KEYS; k++)
		left[k] = lacks & 1u << k ? SN_ALL : keys[k];
	return sum_at(p, left, false);
}

static const struct sn_sum *absent(const struct sn_tables *tables, uint32_t column)
{
	static const struct sn_sum nothing = { .values = 1 };

	return sn_map_get(&tables->complete, column) ? &nothing : NULL;
}

const struct sn_sum *sn_tables_find(struct sn_tables *tables, uint32_t column,
				    const uint32_t keys[SN_KEYS], bool adds)
{
	uint32_t mask = 0, may_lack;
	struct sn_projection *p;

	if (!sn_tables_has_column(tables, column))
		return absent(tables, column);
	for (size_t k = 0; k < SN_KEYS; k++)
		if (keys[k] != SN_ALL)
			mask |= 1u << k;
	p = projection_of(tables, &tables->columns.items[column], mask);
	may_lack = adds ? mask & 1u << SN_KEY_PROCESS : mask;
	for (int lacking = 0; lacking <= __builtin_popcount(may_lack); lacking++)
		for (uint32_t lacks = may_lack;; lacks = (lacks - 1) & may_lack) {
			const struct sn_sum *sum = __builtin_popcount(lacks) == lacking
							   ? sum_without(p, keys, lacks)
							   : NULL;

			if (sum)
				return sum;
			if (!lacks)
				break;
		}
	return absent(tables, column);
}

double sn_sum_relative_error(const struct sn_sum *sum)
{
	double half_width = sqrt(sum->error_squares);

	if (half_width > 0)
		return half_width / fabs(sum->value);
	/* observations alone: as if each were a coin toss */
	return sum->samples > 0 ? 1.96 / sqrt(sum->samples) : 0;
}
