/*
 * Who held what others waited for. While a thread waits, holders come and go: each left its call path
 * when it released the object, as it was wanted. The wait is shared out among them by time; what is left
 * after the last release (until the waiter runs again) is the last one's.
 */
#include <stdlib.h>

#include "locks/parts.h"

static bool is_owned(const struct sn_lock_event *event)
{
	return event->entry->kind <= SN_SYNC_SPIN;
}

static int releases_compare(const void *a, const void *b)
{
	const struct sn_lock_event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static uint64_t site_hash(struct sn_site site)
{
	return sn_hash_u64((uint64_t)site.function << 32 | site.line);
}

/* The row of a holder and a waiter. */
static struct sn_lock_blame *blame_of(struct sn_lock_reader *reader, struct sn_map *index,
				      const struct sn_lock_event *wait, struct sn_site holder)
{
	uint64_t key = sn_hash_u64(site_hash(holder) + wait->object) ^ site_hash(wait->site);
	uint64_t *place = sn_map_put(index, key, NULL);

	if (!*place) {
		sn_vec_push(&reader->locks->blames, (struct sn_lock_blame){ .object = wait->object,
									    .holder = holder,
									    .waiter = wait->site });
		*place = reader->locks->blames.count;
	}
	return &reader->locks->blames.items[*place - 1];
}

/* `release`: by the holder; NULL: it is only known who held the object as the wait began. */
static void blame_add(struct sn_lock_reader *reader, struct sn_map *index,
		      const struct sn_lock_event *wait, struct sn_site holder,
		      const struct sn_lock_event *release, double ns)
{
	int32_t tid = release ? release->tid : (int32_t)wait->entry->holder;
	struct sn_lock_blame *blame = blame_of(reader, index, wait, holder);

	size_t number = (size_t)(wait - reader->waits.items) + 1;

	blame->waits += blame->latest != number;
	blame->latest = number;
	blame->wait_ns += (uint64_t)(ns > 0 ? ns : 0);
	if (tid)
		sn_lock_part_of(reader, wait->process, tid, wait->object,
				(release ? release : wait)->entry->kind)
			->held_up_ns += (uint64_t)(ns > 0 ? ns : 0);
}

/* Where threads took what they hold, for holders that never released it. */
static uint64_t taking_key(uint32_t process, int32_t tid, uint32_t object)
{
	return sn_hash_u64((uint64_t)(uint32_t)tid << 32 | object) ^ process;
}

static void takings_note(struct sn_map *takings, const struct sn_lock_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_owned(&events[i]))
			*sn_map_put(takings,
				    taking_key(events[i].process, events[i].tid, events[i].object),
				    NULL) =
				(uint64_t)events[i].site.function << 32 | events[i].site.line;
}

static struct sn_site holder_by_tid(const struct sn_map *takings, const struct sn_lock_event *wait)
{
	const uint64_t *found =
		wait->entry->holder ? sn_map_get(takings, taking_key(wait->process,
								     (int32_t)wait->entry->holder,
								     wait->object))
				    : NULL;

	if (!found)
		return (struct sn_site){ SN_NONE, SN_NONE };
	return (struct sn_site){ (uint32_t)(*found >> 32), (uint32_t)*found };
}

/* The first release of the object after the wait began. */
static size_t first_release(const struct sn_lock_reader *reader, const struct sn_lock_event *wait)
{
	size_t low = 0, high = reader->releases.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (releases_compare(&reader->releases.items[middle], wait) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void wait_share(struct sn_lock_reader *reader, struct sn_map *index,
		       const struct sn_map *takings, const struct sn_lock_event *wait)
{
	const struct sn_lock_event *last = NULL;
	double since_ns = wait->begin_ns;

	for (size_t i = first_release(reader, wait); i < reader->releases.count; i++) {
		const struct sn_lock_event *release = &reader->releases.items[i];

		if (release->process != wait->process || release->object != wait->object ||
		    release->begin_ns > wait->end_ns)
			break;
		if (release->tid == wait->tid)
			continue;
		if (last)
			blame_add(reader, index, wait, last->site, last, last->begin_ns - since_ns);
		since_ns = last ? last->begin_ns : since_ns;
		last = release;
	}
	blame_add(reader, index, wait, last ? last->site : holder_by_tid(takings, wait), last,
		  wait->end_ns - since_ns);
}

void sn_locks_blame(struct sn_lock_reader *reader)
{
	struct sn_map index = { 0 }, takings = { 0 };

	if (reader->releases.count)
		qsort(reader->releases.items, reader->releases.count,
		      sizeof(*reader->releases.items), releases_compare);
	takings_note(&takings, reader->counts.items, reader->counts.count);
	takings_note(&takings, reader->waits.items, reader->waits.count);
	for (size_t i = 0; i < reader->waits.count; i++)
		if (is_owned(&reader->waits.items[i]))
			wait_share(reader, &index, &takings, &reader->waits.items[i]);
	sn_map_free(&index);
	sn_map_free(&takings);
}
