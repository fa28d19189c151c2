/*
 * Values of one run beside those of another run of the same program: regions are told by their ids,
 * processes by rank or order, threads by their order in the process.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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

/* The same of a column, which may have a level: "misses(L1)". */
static bool is_column_among(const char *column, const char *const *names)
{
	size_t length = strcspn(column, "(");

	while (names && *names && (strlen(*names) != length || strncmp(*names, column, length)))
		names++;
	return names && *names;
}

/* What was made counts of one part of the run, as counts of another one. */
static double part_over_part(const struct sn_recorded *to, const struct sn_recorded *from)
{
	return to->part && to->part->share_of_run > 0 && from->share_of_run > 0
		       ? to->part->share_of_run / from->share_of_run
		       : 1;
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

/* ---- how sure a value of another start is ---- */

/* Samples of each region with what it calls; NULL: there is no recorded run behind the tables. */
static double *samples_of(const struct sn_recorded *r)
{
	double *samples;

	if (!r->region_ns)
		return NULL;
	samples = sn_alloc_zeroed(r->tables->members[SN_KEY_REGION].count + 1, sizeof(*samples));
	for (size_t i = 0; i < r->cells.count; i++) {
		const struct sn_stack_facts *facts = &r->stacks[r->cells.items[i].stack];

		for (uint32_t k = 0; k < facts->count; k++)
			samples[r->stack_regions.items[facts->first + k]] +=
				(double)r->cells.items[i].samples;
	}
	return samples;
}

struct starts {
	const struct sn_recorded *to, *from;
	double *to_samples, *from_samples;
	double longer;
};

static uint32_t region_or_program(uint32_t region)
{
	return region == SN_ALL ? SN_REGION_PROGRAM : region;
}

/* Half the width of an interval over the value: the two starts' times in the region, each over its phase, differ by so much, or by
 * what their samples leave open if that is more. NaN: not known. */
static double doubt_of(const struct starts *s, const uint32_t from_keys[SN_KEYS],
		       const uint32_t to_keys[SN_KEYS])
{
	uint32_t from = region_or_program(from_keys[SN_KEY_REGION]);
	uint32_t to = region_or_program(to_keys[SN_KEY_REGION]);
	double other, own, observed;

	if (!s->to_samples || !s->from_samples)
		return NAN;
	other = (double)s->from->region_ns[from] * s->longer;
	own = (double)s->to->region_ns[to];
	observed = s->to_samples[to] > 0 && s->from_samples[from] > 0
			   ? 1.96 * sqrt(1 / s->to_samples[to] + 1 / s->from_samples[from])
			   : 0;
	return fmin(1, own > 0 ? fmax(fabs(other - own) / own, observed) : 1);
}

/* A start that took several times as long, or a part of the time, was another run: its times are no surer than they were
 * stretched. */
static double stretch_doubt(const struct starts *s, const struct sn_value *value, bool is_time)
{
	return is_time && value->value > 0 ? fmin(1, fabs(log(s->longer))) : 0;
}

/* The doubt is of all threads alike: their errors, which are added up as if they were each by chance, come to it. */
static void doubt_add(const struct starts *s, const uint32_t from_keys[SN_KEYS],
		      struct sn_value *value, bool is_time)
{
	double doubt = doubt_of(s, from_keys, value->keys), own = value->error;
	const struct sn_member *process = value->keys[SN_KEY_PROCESS] == SN_ALL
						  ? NULL
						  : &s->to->tables->members[SN_KEY_PROCESS]
							     .items[value->keys[SN_KEY_PROCESS]];

	if (isnan(doubt))
		return;
	doubt = fmax(doubt, stretch_doubt(s, value, is_time));
	if (isnan(own))
		own = value->samples > 0 ? 1.96 * fabs(value->value) / sqrt(value->samples) : 0;
	if (value->keys[SN_KEY_THREAD] != SN_ALL && process)
		doubt *= sqrt((double)process->thread_count);
	value->error = hypot(own, doubt * fabs(value->value));
}

static void scale_note(struct sn_recorded *to, const struct sn_source *source, double scale)
{
	for (size_t i = 0; i < SN_SOURCES_MOST && sn_sources[i]; i++)
		if (sn_sources[i] == source && source->times)
			to->start_scales[i] = scale;
}

void sn_recorded_join(struct sn_recorded *to, const struct sn_recorded *from,
		      const struct sn_source *source)
{
	const struct sn_tables *other = from->tables;
	uint32_t of_source = sn_tables_source(from->tables, source->name);
	double longer = to->tables->phase_s / other->phase_s, part = part_over_part(to, from);

	struct starts starts = { to, from, samples_of(to), samples_of(from),
				 longer > 0 && isfinite(longer) ? longer : 1 };

	scale_note(to, source, starts.longer);
	complete_columns_join(to->tables, other, source->gives);
	for (const char *const *name = source->settles; name && *name; name++)
		if (sn_tables_has_column(other, sn_tables_find_column(other, *name, NULL)))
			sn_tables_drop(to->tables, sn_tables_column(to->tables, *name, NULL),
				       sn_tables_source(to->tables, "samples"));
	for (size_t i = 0; i < other->values.count; i++) {
		struct sn_value value = other->values.items[i];
		const char *column = sn_interned_chars(&other->names, value.column);

		if (value.source != of_source)
			continue;
		value.column = sn_tables_column(to->tables, column, NULL);
		value.source = sn_tables_source(to->tables, source->name);
		if (longer > 0 && isfinite(longer) && is_among(column, source->times))
			value.value *= longer;
		if (is_column_among(column, source->counts)) {
			value.value *= part;
			value.error *= part;
		}
		if (!keys_translate(to->tables, other, other->values.items[i].keys, value.keys))
			continue;
		doubt_add(&starts, other->values.items[i].keys, &value,
			  is_among(column, source->times));
		sn_tables_add(to->tables, &value);
	}
	free(starts.to_samples);
	free(starts.from_samples);
}
