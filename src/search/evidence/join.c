/*
 * Values of one run beside those of another run of the same program: regions are told by their ids,
 * processes by rank or order, threads by their order in the process.
 */
#include <math.h>
#include <string.h>

#include "search/evidence/sources.h"

/* The thread at the same place in its process; SN_ALL: there is none. */
static uint32_t thread_in(const struct sn_tables *to, const struct sn_tables *from, uint32_t thread,
			  uint32_t process)
{
	const struct sn_member *old = &from->members[SN_KEY_THREAD].items[thread];
	uint32_t place = thread - from->members[SN_KEY_PROCESS].items[old->parent].first_thread;
	const struct sn_member *owner = &to->members[SN_KEY_PROCESS].items[process];

	if (!old->place)
		return place < owner->thread_count ? owner->first_thread + place : SN_ALL;
	for (uint32_t i = 0; i < owner->thread_count; i++)
		if (to->members[SN_KEY_THREAD].items[owner->first_thread + i].place == old->place)
			return owner->first_thread + i;
	return SN_ALL;
}

/* False: the other run does not know what the value is of. */
static bool keys_translate(struct sn_tables *to, const struct sn_tables *from,
			   const uint32_t keys[SN_KEYS], uint32_t out[SN_KEYS])
{
	for (int k = 0; k < SN_KEYS; k++) {
		enum sn_key kind = k == SN_KEY_PEER ? SN_KEY_PROCESS : (enum sn_key)k;

		out[k] = SN_ALL;
		if (keys[k] == SN_ALL || k == SN_KEY_THREAD)
			continue;
		out[k] = sn_tables_member(to, kind, SN_ALL, from->members[kind].items[keys[k]].id);
		/* no sample tells of data, or of locks */
		if (out[k] == SN_ALL && (k == SN_KEY_DATA || k == SN_KEY_LOCK))
			out[k] =
				sn_tables_add_member(to, kind, &from->members[kind].items[keys[k]]);
		if (out[k] == SN_ALL)
			return false;
	}
	if (keys[SN_KEY_THREAD] == SN_ALL)
		return true;
	if (out[SN_KEY_PROCESS] == SN_ALL)
		return false;
	out[SN_KEY_THREAD] = thread_in(to, from, keys[SN_KEY_THREAD], out[SN_KEY_PROCESS]);
	return out[SN_KEY_THREAD] != SN_ALL;
}

static bool is_among(const char *name, const char *const *names)
{
	while (names && *names && strcmp(*names, name) != 0)
		names++;
	return names && *names;
}

/* What it accounts for is 0 where it has no value, also where it has none at all. */
static void complete_columns_join(struct sn_tables *to, const struct sn_tables *from,
				  const char *const *names)
{
	for (; names && *names; names++) {
		uint32_t column = sn_tables_find_column(from, *names, NULL);

		if (column != SN_ALL && sn_map_get(&from->complete, column))
			sn_tables_complete(to, sn_tables_column(to, *names, NULL));
	}
}

void sn_recorded_join(struct sn_recorded *to, const struct sn_recorded *from,
		      const struct sn_source *source)
{
	const struct sn_tables *other = from->tables;
	uint32_t of_source = sn_tables_source(from->tables, source->name);
	double longer = to->tables->phase_s / other->phase_s;

	complete_columns_join(to->tables, other, source->gives);
	for (size_t i = 0; i < other->values.count; i++) {
		struct sn_value value = other->values.items[i];
		const char *column = sn_interned_chars(&other->names, value.column);

		if (value.source != of_source)
			continue;
		value.column = sn_tables_column(to->tables, column, NULL);
		value.source = sn_tables_source(to->tables, source->name);
		if (longer > 0 && isfinite(longer) && is_among(column, source->times))
			value.value *= longer;
		if (keys_translate(to->tables, other, other->values.items[i].keys, value.keys))
			sn_tables_add(to->tables, &value);
	}
}
