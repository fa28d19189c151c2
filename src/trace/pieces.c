/* The pieces of all traces, from files on disk and from live ones, and the clocks of their processes. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"

struct finder {
	struct sn_trace_pieces *pieces;
	enum sn_trace_kind kind;
	struct sn_map processes; /* host, pid and sequence -> process + 1 */
	struct sn_map seen;	 /* process and number of a piece -> 0 */
	const char *host;	 /* of the trace that is being read */
};

static uint64_t image_key(const char *host, int32_t pid, uint32_t sequence)
{
	return sn_hash_bytes(host, strlen(host)) ^
	       sn_hash_u64((uint64_t)(uint32_t)pid << 32 | sequence);
}

/* The process of an image, + 1; NULL: the experiment has none such. */
static const uint64_t *process_of(const struct finder *finder, int32_t pid, uint32_t sequence)
{
	return sn_map_get(&finder->processes, image_key(finder->host, pid, sequence));
}

/* Whether the process traced this kind. Those of before there were several traced the heap. */
static bool account_has(const struct sn_trace_account *account, enum sn_trace_kind kind)
{
	uint32_t kinds = account->piece.thread_index;

	return kinds == SN_TRACE_NO_THREAD || kinds == 0 ? kind == SN_TRACE_HEAP
							 : kinds >> kind & 1;
}

/* Room for an account, kept for the case that the disk is full (record/drain.c). */
static bool is_room(const struct sn_trace_piece *piece)
{
	return piece->kind == SN_TRACE_ACCOUNT && piece->pid == 0;
}

static void account_take(struct finder *finder, uint32_t process,
			 const struct sn_trace_account *account)
{
	finder->pieces->lost += account->lost[finder->kind];
	finder->pieces->is_traced |=
		account->lost[finder->kind] != 0 || account_has(account, finder->kind);
	finder->pieces->ticks[process] += account->ticks[finder->kind];
}

/* `bytes` are there, and the piece says that it has as many. */
static void piece_take(struct finder *finder, const struct sn_trace_piece *piece, uint32_t bytes)
{
	const uint64_t *process = process_of(finder, piece->pid, piece->sequence);
	bool is_new;

	if (is_room(piece))
		return;
	if (!process) {
		finder->pieces->damaged++;
		return;
	}
	if (piece->kind == SN_TRACE_ACCOUNT) {
		if (bytes >= sizeof(struct sn_trace_account))
			account_take(finder, (uint32_t)*process - 1, (const void *)piece);
		return;
	}
	if (piece->kind != finder->kind)
		return;
	/* one that the launcher had copied when it was killed lies live as well */
	sn_map_put(&finder->seen, *process << 40 ^ piece->number, &is_new);
	finder->pieces->is_traced = true;
	if (is_new)
		sn_vec_push(&finder->pieces->items,
			    (struct sn_trace_item){ piece, bytes, (uint32_t)*process - 1 });
}

/* The piece at `at`, of which there are whole `bytes`; NULL: none, or damage. */
static const struct sn_trace_piece *disk_piece(const struct sn_file_view *view, size_t at,
					       uint32_t *bytes)
{
	const struct sn_trace_piece *piece = (const void *)(view->bytes + at);

	if (view->length - at < sizeof(*piece))
		return NULL;
	*bytes = piece->committed_bytes;
	return piece->magic != SN_TRACE_PIECE_MAGIC || *bytes < sizeof(*piece) ||
			       *bytes > SN_TRACE_SLOT_BYTES || *bytes > view->length - at
		       ? NULL
		       : piece;
}

static size_t disk_next(const struct sn_file_view *view, size_t at, uint32_t bytes)
{
	bytes = sn_trace_disk_bytes(bytes);
	return bytes < view->length - at ? at + bytes : view->length;
}

static void disk_read(struct finder *finder, const struct sn_file_view *view)
{
	const struct sn_trace_piece *piece;
	uint32_t bytes;
	size_t at = 0;

	for (; (piece = disk_piece(view, at, &bytes)) != NULL; at = disk_next(view, at, bytes))
		piece_take(finder, piece, bytes);
	finder->pieces->damaged += at < view->length;
}

/* A trace whose launcher was killed, or which is still being written. */
static void live_read(struct finder *finder, const struct sn_file_view *view)
{
	const struct sn_trace_header *header = (const void *)view->bytes;
	const uint64_t *process;

	if (view->length < SN_TRACE_HEADER_BYTES || header->magic != SN_TRACE_MAGIC ||
	    header->version != SN_TRACE_VERSION)
		return;
	for (uint32_t i = 0; i < header->slots_backed && i < SN_TRACE_SLOTS; i++) {
		const struct sn_trace_piece *piece =
			(const void *)(view->bytes + sn_trace_slot_offset(i));
		uint32_t bytes;

		if (sn_trace_slot_offset(i + 1) > view->length)
			break;
		if (header->states[i] == SN_TRACE_FREE || piece->magic != SN_TRACE_PIECE_MAGIC)
			continue;
		bytes = atomic_load_explicit(&piece->committed_bytes, memory_order_acquire);
		if (bytes >= sizeof(*piece) && bytes <= SN_TRACE_SLOT_BYTES)
			piece_take(finder, piece, bytes);
	}
	process = process_of(finder, header->pid, header->sequence);
	finder->pieces->lost += header->lost[finder->kind];
	finder->pieces->is_traced |=
		header->lost[finder->kind] != 0 || header->kinds >> finder->kind & 1;
	if (process)
		finder->pieces->ticks[*process - 1] += header->ticks[finder->kind];
}

/* ---- clocks ---- */

/* From its first pair to its last. A run that has but one is too short to tell: about 2 GHz. */
static void clocks_set(struct sn_trace_pieces *pieces, sn_trace_last last_of)
{
	size_t count = pieces->experiment->processes.count;
	const struct sn_trace_item **last = sn_alloc_zeroed(count, sizeof(*last));

	for (size_t i = 0; i < pieces->items.count; i++) {
		const struct sn_trace_item *item = &pieces->items.items[i];
		struct sn_trace_clock *clock = &pieces->clocks[item->process];

		if (!last[item->process] || item->piece->base_tsc < clock->base_tsc) {
			clock->base_tsc = item->piece->base_tsc;
			clock->base_ns = item->piece->base_ns;
		}
		if (!last[item->process] ||
		    item->piece->base_tsc > last[item->process]->piece->base_tsc)
			last[item->process] = item;
	}
	for (size_t p = 0; p < count; p++) {
		struct sn_trace_clock *clock = &pieces->clocks[p];
		struct sn_trace_instant end;

		clock->ns_per_tick = 0.5;
		if (!last[p])
			continue;
		end = last_of(last[p]);
		if (end.tsc > clock->base_tsc && end.ns > clock->base_ns)
			clock->ns_per_tick =
				(double)(int64_t)((uint64_t)end.ns - (uint64_t)clock->base_ns) /
				(double)(end.tsc - clock->base_tsc);
		clock->base_ns += pieces->experiment->processes.items[p].clock_offset_ns;
	}
	free(last);
}

static int pieces_compare(const void *a, const void *b, void *context)
{
	const struct sn_trace_item *x = a, *y = b;
	const struct sn_trace_clock *clocks = context;
	double tx = sn_trace_time_ns(&clocks[x->process], x->piece->base_tsc);
	double ty = sn_trace_time_ns(&clocks[y->process], y->piece->base_tsc);

	if (tx != ty)
		return tx < ty ? -1 : 1;
	return (x->piece->number > y->piece->number) - (x->piece->number < y->piece->number);
}

sn_status sn_trace_pieces_open(struct sn_trace_pieces *pieces, const struct sn_experiment *e,
			       enum sn_trace_kind kind, sn_trace_last last, struct sn_error *err)
{
	struct finder finder = { .pieces = pieces, .kind = kind };
	sn_status status = SN_OK;

	*pieces = (struct sn_trace_pieces){ .experiment = e };
	pieces->clocks = sn_alloc_zeroed(e->processes.count + 1, sizeof(*pieces->clocks));
	pieces->ticks = sn_alloc_zeroed(e->processes.count + 1, sizeof(*pieces->ticks));
	for (size_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];

		*sn_map_put(&finder.processes,
			    image_key(process->host, process->pid, process->sequence), NULL) =
			p + 1;
	}
	for (size_t i = 0; i < e->traces.count && status == SN_OK; i++) {
		struct sn_file_view view;

		finder.host = e->traces.items[i].host;
		status = sn_file_map(e->traces.items[i].path, &view, err);
		if (status != SN_OK)
			break;
		sn_vec_push(&pieces->views, view);
		if (view.length >= sizeof(uint64_t) &&
		    *(const uint64_t *)(const void *)view.bytes == SN_TRACE_MAGIC)
			live_read(&finder, &view);
		else
			disk_read(&finder, &view);
	}
	clocks_set(pieces, last);
	if (pieces->items.count)
		qsort_r(pieces->items.items, pieces->items.count, sizeof(*pieces->items.items),
			pieces_compare, pieces->clocks);
	sn_map_free(&finder.processes);
	sn_map_free(&finder.seen);
	if (status != SN_OK)
		sn_trace_pieces_close(pieces);
	return status;
}

void sn_trace_pieces_close(struct sn_trace_pieces *pieces)
{
	for (size_t i = 0; i < pieces->views.count; i++)
		sn_file_unmap(&pieces->views.items[i]);
	sn_vec_free(&pieces->views);
	sn_vec_free(&pieces->items);
	free(pieces->clocks);
	free(pieces->ticks);
}

/* Eleven days: tracing never takes so long, damaged ticks do. */
static const double overhead_most_ns = 1e15;

int64_t sn_trace_overhead_ns(const struct sn_trace_pieces *pieces, uint32_t process)
{
	double ns = (double)pieces->ticks[process] * pieces->clocks[process].ns_per_tick;

	return ns >= 0 && ns < overhead_most_ns ? (int64_t)ns : -1;
}

/* ---- whether there is any ---- */

static bool disk_has(const struct sn_file_view *view, enum sn_trace_kind kind)
{
	size_t at = 0;

	while (view->length - at >= sizeof(struct sn_trace_piece)) {
		const struct sn_trace_piece *piece = (const void *)(view->bytes + at);
		uint32_t bytes = sn_trace_disk_bytes(piece->committed_bytes);

		if (piece->magic != SN_TRACE_PIECE_MAGIC || bytes < sizeof(*piece))
			break;
		if (piece->kind == (uint32_t)kind)
			return true;
		if (piece->kind == SN_TRACE_ACCOUNT && !is_room(piece) &&
		    view->length - at >= sizeof(struct sn_trace_account) &&
		    account_has((const void *)piece, kind))
			return true;
		at = bytes < view->length - at ? at + bytes : view->length;
	}
	return false;
}

static bool live_has(const struct sn_file_view *view, enum sn_trace_kind kind)
{
	const struct sn_trace_header *header = (const void *)view->bytes;

	return view->length >= SN_TRACE_HEADER_BYTES && header->kinds >> kind & 1;
}

bool sn_trace_has(const struct sn_experiment *e, enum sn_trace_kind kind)
{
	bool has = false;

	for (size_t i = 0; i < e->traces.count && !has; i++) {
		struct sn_file_view view;
		struct sn_error err;

		if (sn_file_map(e->traces.items[i].path, &view, &err) != SN_OK)
			continue;
		if (view.length >= sizeof(uint64_t) &&
		    *(const uint64_t *)(const void *)view.bytes == SN_TRACE_MAGIC)
			has = live_has(&view, kind);
		else
			has = disk_has(&view, kind);
		sn_file_unmap(&view);
	}
	return has;
}

static bool disk_is_damaged(const struct sn_file_view *view)
{
	uint32_t bytes;
	size_t at = 0;

	while (disk_piece(view, at, &bytes))
		at = disk_next(view, at, bytes);
	return at < view->length;
}

const char *sn_trace_damaged(const struct sn_experiment *e)
{
	const char *path = NULL;

	for (size_t i = 0; i < e->traces.count && !path; i++) {
		struct sn_file_view view;
		struct sn_error err;

		if (sn_file_map(e->traces.items[i].path, &view, &err) != SN_OK)
			continue;
		if ((view.length < sizeof(uint64_t) ||
		     *(const uint64_t *)(const void *)view.bytes != SN_TRACE_MAGIC) &&
		    disk_is_damaged(&view))
			path = e->traces.items[i].path;
		sn_file_unmap(&view);
	}
	return path;
}
