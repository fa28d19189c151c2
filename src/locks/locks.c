/* Reads the entries of locks, and sums them by object and site. */
#include "locks/locks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "locks/parts.h"
#include "trace/entries.h"

const char *sn_lock_kind_name(enum sn_sync_kind kind)
{
	static const char *const names[SN_SYNC_KINDS] = {
		"mutex",     "rwlock_read", "rwlock_write", "spin", "semaphore",
		"condition", "barrier",	    "join",	    "once", "futex",
	};

	return kind < SN_SYNC_KINDS ? names[kind] : "unknown";
}

/* ---- entries ---- */

static bool is_sound(const struct sn_sync_entry *entry)
{
	return entry->type < SN_SYNC_TYPES && entry->kind < SN_SYNC_KINDS;
}

static void entry_take(struct sn_lock_reader *reader, const struct sn_trace_item *item, int32_t tid,
		       const struct sn_sync_entry *entry)
{
	const struct sn_trace_clock *clock = &reader->pieces.clocks[item->process];
	struct sn_lock_event event = { .entry = entry,
				       .process = item->process,
				       .tid = tid,
				       .thread_index = item->piece->thread_index };

	if (!is_sound(entry)) {
		reader->locks->damaged++;
		return;
	}
	if (entry->type == SN_SYNC_NONE || entry->type == SN_SYNC_TIME)
		return;
	event.site = sn_trace_site_of(&reader->sites, reader->program, item->process, entry->path);
	event.begin_ns = sn_trace_time_ns(clock, entry->begin_tsc);
	event.end_ns = sn_trace_time_ns(clock, entry->begin_tsc + entry->ticks);
	event.is_open = entry->type == SN_SYNC_WAIT && entry->ticks == SN_SYNC_OPEN;
	switch ((int)entry->type) { /* clang switches over no atomic type */
	case SN_SYNC_COUNT:
		sn_vec_push(&reader->counts, event);
		break;
	case SN_SYNC_WAIT:
		sn_vec_push(&reader->waits, event);
		break;
	case SN_SYNC_RELEASE:
		sn_vec_push(&reader->releases, event);
		break;
	default:
		sn_vec_push(&reader->orders, event);
		break;
	}
}

static void piece_read(struct sn_lock_reader *reader, const struct sn_trace_item *item)
{
	const struct sn_sync_entry *entries = (const void *)(item->piece + 1);
	size_t count = (item->bytes - sizeof(*item->piece)) / sizeof(*entries);
	const struct sn_entry_time *time = sn_entries_time(item);
	int32_t tid = time ? (int32_t)time->tid : 0;

	if (tid)
		*sn_map_put(&reader->creators,
			    (uint64_t)item->process << 32 | item->piece->thread_index, NULL) =
			time->creator;
	for (size_t i = 0; i < count; i++)
		entry_take(reader, item, tid, &entries[i]);
}

/* ---- objects ---- */

/* Those of one name are one, also of several processes: so are copies of a fork. */
static void objects_name(struct sn_lock_reader *reader)
{
	struct sn_lock_names *names = sn_lock_names_new(reader->program->experiment);
	struct sn_map by_address = { 0 }, by_name = { 0 };
	struct sn_lock_event *lists[] = { reader->counts.items, reader->waits.items,
					  reader->releases.items, reader->orders.items };
	size_t counts[] = { reader->counts.count, reader->waits.count, reader->releases.count,
			    reader->orders.count };

	for (size_t l = 0; l < 4; l++) {
		for (size_t i = 0; i < counts[l]; i++) {
			struct sn_lock_event *event = &lists[l][i];
			uint64_t *place = sn_map_put(&by_address,
						     sn_hash_u64(event->entry->object) ^
							     event->process * 0x9e37ULL,
						     NULL);
			struct sn_text text = { 0 };
			uint64_t *named;

			if (*place) {
				event->object = (uint32_t)*place - 1;
				continue;
			}
			if (!sn_lock_names_find(names, event->process, event->entry->object, &text))
				sn_text_addf(&text, "0x%llx",
					     (unsigned long long)event->entry->object);
			named = sn_map_put(&by_name, sn_hash_bytes(text.chars, text.length), NULL);
			if (!*named) {
				sn_vec_push(
					&reader->locks->objects,
					(struct sn_lock_object){
						sn_arena_strdup(&reader->locks->arena, text.chars),
						event->entry->object });
				*named = reader->locks->objects.count;
			}
			*place = *named;
			event->object = (uint32_t)*named - 1;
			sn_text_free(&text);
		}
	}
	sn_map_free(&by_address);
	sn_map_free(&by_name);
	sn_lock_names_free(names);
}

/* ---- waits ---- */

/* One that began in a piece that was given back meanwhile was written again when it ended. */
static void waits_join(struct sn_lock_reader *reader)
{
	struct sn_map ended = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < reader->waits.count; i++) {
		const struct sn_lock_event *wait = &reader->waits.items[i];

		if (!wait->is_open)
			*sn_map_put(&ended,
				    sn_hash_u64(wait->entry->begin_tsc) ^
					    sn_hash_u64((uint64_t)wait->process << 32 |
							(uint32_t)wait->tid),
				    NULL) = 1;
	}
	for (size_t i = 0; i < reader->waits.count; i++) {
		const struct sn_lock_event *wait = &reader->waits.items[i];

		if (!wait->is_open ||
		    !sn_map_get(&ended, sn_hash_u64(wait->entry->begin_tsc) ^
						sn_hash_u64((uint64_t)wait->process << 32 |
							    (uint32_t)wait->tid)))
			reader->waits.items[kept++] = *wait;
	}
	reader->waits.count = kept;
	sn_map_free(&ended);
}

/* One that never ended lasts as long as its thread. */
static void waits_close(struct sn_lock_reader *reader)
{
	const struct sn_experiment *e = reader->program->experiment;
	struct sn_map ends = { 0 };

	for (size_t t = 0; t < e->threads.count; t++)
		*sn_map_put(&ends,
			    (uint64_t)e->threads.items[t].process << 32 |
				    (uint32_t)e->threads.items[t].tid,
			    NULL) = (uint64_t)e->threads.items[t].end_ns;
	for (size_t i = 0; i < reader->waits.count; i++) {
		struct sn_lock_event *wait = &reader->waits.items[i];
		const uint64_t *end =
			sn_map_get(&ends, (uint64_t)wait->process << 32 | (uint32_t)wait->tid);

		if (wait->is_open)
			wait->end_ns = (double)(end ? (int64_t)*end
						    : e->processes.items[wait->process].end_ns);
		wait->end_ns = fmax(wait->end_ns, wait->begin_ns);
	}
	sn_map_free(&ends);
}

static void waits_keep_within(struct sn_lock_reader *reader, const struct sn_spans *windows)
{
	size_t kept = 0;

	for (size_t i = 0; i < reader->waits.count; i++) {
		const struct sn_lock_event *wait = &reader->waits.items[i];

		if (!windows->count || sn_spans_overlap_ns(windows, (int64_t)wait->begin_ns,
							   (int64_t)wait->end_ns) > 0)
			reader->waits.items[kept++] = *wait;
	}
	reader->waits.count = kept;
}

/* ---- releases ---- */

static uint64_t taking_key(const struct sn_lock_event *event)
{
	return sn_hash_u64((uint64_t)event->process << 32 | (uint32_t)event->tid) ^
	       sn_hash_u64(event->entry->object) * 3 ^ sn_hash_u64(event->entry->pc) * 5;
}

/* A function that releases an object at its very end may leave that to a jump, and its caller seems to do it. Who
 * took the object cannot have done so. */
static void releases_place(struct sn_lock_reader *reader)
{
	struct sn_map takings = { 0 };
	struct sn_lock_event *lists[] = { reader->counts.items, reader->waits.items };
	size_t counts[] = { reader->counts.count, reader->waits.count };

	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < counts[l]; i++)
			*sn_map_put(&takings, taking_key(&lists[l][i]), NULL) =
				(uint64_t)lists[l][i].site.function << 32 | lists[l][i].site.line;
	for (size_t i = 0; i < reader->releases.count; i++) {
		struct sn_lock_event *release = &reader->releases.items[i];
		const uint64_t *site =
			release->entry->pc ? sn_map_get(&takings, taking_key(release)) : NULL;

		if (site && *site >> 32 != SN_NONE && *site >> 32 != release->site.function)
			release->site =
				(struct sn_site){ (uint32_t)(*site >> 32), (uint32_t)*site };
	}
	sn_map_free(&takings);
}

/* ---- sums ---- */

static struct sn_lock_use *use_of(struct sn_lock_reader *reader, struct sn_map *index,
				  const struct sn_lock_event *event)
{
	uint64_t key = sn_hash_pair((uint64_t)event->site.function << 32 | event->site.line,
				    (uint64_t)event->object << 8 | event->entry->kind);
	uint64_t *place = sn_map_put(index, key, NULL);

	if (!*place) {
		sn_vec_push(&reader->locks->uses, (struct sn_lock_use){ .object = event->object,
									.kind = event->entry->kind,
									.site = event->site });
		*place = reader->locks->uses.count;
	}
	return &reader->locks->uses.items[*place - 1];
}

struct sn_lock_part *sn_lock_part_of(struct sn_lock_reader *reader, uint32_t process, int32_t tid,
				     uint32_t object, uint8_t kind)
{
	uint64_t key = sn_hash_u64((uint64_t)process << 32 | (uint32_t)tid) ^
		       sn_hash_u64((uint64_t)object << 8 | kind) * 3;
	uint64_t *place = sn_map_put(&reader->part_index, key, NULL);

	if (!*place) {
		sn_vec_push(&reader->locks->parts, (struct sn_lock_part){ .process = process,
									  .tid = tid,
									  .object = object,
									  .kind = kind });
		*place = reader->locks->parts.count;
	}
	return &reader->locks->parts.items[*place - 1];
}

static struct sn_lock_part *part_of(struct sn_lock_reader *reader,
				    const struct sn_lock_event *event)
{
	return sn_lock_part_of(reader, event->process, event->tid, event->object,
			       event->entry->kind);
}

static void uses_sum(struct sn_lock_reader *reader)
{
	struct sn_locks *locks = reader->locks;
	struct sn_map index = { 0 };

	for (size_t i = 0; i < reader->counts.count; i++) {
		const struct sn_lock_event *count = &reader->counts.items[i];

		use_of(reader, &index, count)->acquisitions += count->entry->count;
		part_of(reader, count)->acquisitions += count->entry->count;
	}
	for (size_t i = 0; i < reader->waits.count; i++) {
		const struct sn_lock_event *wait = &reader->waits.items[i];
		struct sn_lock_use *use = use_of(reader, &index, wait);
		struct sn_lock_part *part = part_of(reader, wait);
		uint64_t ns = (uint64_t)(wait->end_ns - wait->begin_ns);

		use->acquisitions += wait->entry->flags & SN_SYNC_ACQUIRED;
		part->acquisitions += wait->entry->flags & SN_SYNC_ACQUIRED;
		if (wait->entry->flags & SN_SYNC_BRIEF)
			continue;
		use->contended++;
		use->wait_ns += ns;
		part->contended++;
		part->wait_ns += ns;
	}
	for (size_t i = 0; i < locks->uses.count; i++) {
		locks->acquisitions += locks->uses.items[i].acquisitions;
		locks->contended += locks->uses.items[i].contended;
		locks->wait_ns += locks->uses.items[i].wait_ns;
	}
	sn_map_free(&index);
}

sn_status sn_locks_read(const struct sn_program *program, struct sn_locks **out,
			struct sn_error *err)
{
	const struct sn_spans all = { 0 };

	return sn_locks_read_within(program, &all, out, err);
}

sn_status sn_locks_read_within(const struct sn_program *program, const struct sn_spans *windows,
			       struct sn_locks **out, struct sn_error *err)
{
	struct sn_lock_reader reader = { .program = program,
					 .locks = sn_alloc_zeroed(1, sizeof(*reader.locks)) };
	sn_status status = sn_trace_pieces_open(&reader.pieces, program->experiment, SN_TRACE_SYNC,
						sn_entries_last_instant, err);

	if (status != SN_OK) {
		sn_locks_free(reader.locks);
		return status;
	}
	reader.locks->is_traced = reader.pieces.is_traced;
	for (size_t i = 0; i < reader.pieces.items.count; i++)
		piece_read(&reader, &reader.pieces.items.items[i]);
	waits_join(&reader);
	releases_place(&reader);
	waits_close(&reader);
	waits_keep_within(&reader, windows);
	objects_name(&reader);
	uses_sum(&reader);
	sn_locks_blame(&reader);
	sn_locks_find_ends(&reader);
	sn_locks_find_cycles(&reader); /* needs who joined whom */
	reader.locks->lost = reader.pieces.lost;
	reader.locks->damaged += reader.pieces.damaged;
	for (uint32_t p = 0; p < program->experiment->processes.count; p++) {
		int64_t ns = sn_trace_overhead_ns(&reader.pieces, p);

		reader.locks->overhead_ns += ns > 0 ? ns : 0;
		reader.locks->damaged += ns < 0;
	}
	sn_trace_sites_free(&reader.sites);
	sn_map_free(&reader.creators);
	sn_map_free(&reader.part_index);
	sn_vec_free(&reader.counts);
	sn_vec_free(&reader.waits);
	sn_vec_free(&reader.releases);
	sn_vec_free(&reader.orders);
	sn_trace_pieces_close(&reader.pieces);
	*out = reader.locks;
	return SN_OK;
}

void sn_locks_free(struct sn_locks *locks)
{
	if (!locks)
		return;
	sn_vec_free(&locks->objects);
	sn_vec_free(&locks->uses);
	sn_vec_free(&locks->blames);
	sn_vec_free(&locks->parts);
	sn_vec_free(&locks->cycles);
	sn_vec_free(&locks->waits);
	sn_arena_free(&locks->arena);
	free(locks);
}
