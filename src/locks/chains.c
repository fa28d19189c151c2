/*
 * Each moment of a wait belongs to one chain: the thread that ended the wait (or, of a wait that never ended, held the
 * object) may wait itself at that moment, for a third one, and so on to one that waits for nobody.
 */
#include "locks/chains.h"

#include <string.h>

#include "base/map.h"
#include "experiment/moments.h"

enum { LINKS_MOST = 8 };

struct finder {
	const struct sn_locks *locks;
	const struct sn_program *program;
	struct sn_lock_chains *out;
	struct sn_map index; /* of a chain -> its number + 1 */
	size_t wait;	     /* the first of the chain */
	struct sn_lock_link links[LINKS_MOST];
	uint32_t objects[LINKS_MOST];	  /* of links */
	uint32_t threads[LINKS_MOST + 1]; /* that wait there */
	bool are_open[LINKS_MOST + 1];	  /* by thread: its wait never ended */
	uint32_t link_of[LINKS_MOST + 1]; /* by thread */
	uint32_t link_count, thread_count;
};

/* Where a chain ends. */
struct end {
	struct sn_site site;
	uint32_t closes;
	uint8_t kind; /* of a call that blocks, + 1 */
	bool is_unknown;
};

static uint64_t site_hash(uint64_t hash, struct sn_site site)
{
	return sn_hash_u64(hash ^ ((uint64_t)site.function << 32 | site.line));
}

static uint64_t chain_hash(const struct finder *finder, const struct end *end)
{
	uint64_t hash = site_hash(finder->link_count, end->site);

	hash = sn_hash_u64(
		hash ^ ((uint64_t)end->closes << 9 | (uint64_t)end->is_unknown << 8 | end->kind));
	for (uint32_t i = 0; i < finder->link_count; i++) {
		const struct sn_lock_link *link = &finder->links[i];

		hash = site_hash(hash, link->site);
		hash = sn_hash_u64(hash ^ ((uint64_t)link->object << 8 | link->kind));
	}
	return hash;
}

static void chain_add(struct finder *finder, const struct end *end, int64_t ns)
{
	struct sn_lock_chains *out = finder->out;
	struct sn_lock_chain *chain;
	uint64_t *place;

	if (ns <= 0 || finder->link_count < 2)
		return;
	place = sn_map_put(&finder->index, chain_hash(finder, end), NULL);
	if (!*place) {
		sn_vec_push(&out->items,
			    (struct sn_lock_chain){ .first_link = (uint32_t)out->links.count,
						    .link_count = finder->link_count,
						    .last = end->site,
						    .closes = end->closes,
						    .last_kind = end->kind,
						    .is_last_unknown = end->is_unknown });
		for (uint32_t i = 0; i < finder->link_count; i++)
			sn_vec_push(&out->links, finder->links[i]);
		*place = out->items.count;
	}
	chain = &out->items.items[*place - 1];
	chain->waits += chain->latest != finder->wait + 1;
	chain->latest = finder->wait + 1;
	chain->wait_ns += (uint64_t)ns;
	out->chained_ns += (uint64_t)ns;
}

/* The first wait of the thread that ends behind this moment. */
static size_t first_wait(const struct sn_locks *locks, uint32_t thread, int64_t ns)
{
	size_t low = 0, high = locks->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sn_lock_wait *wait = &locks->waits.items[middle];

		if (wait->thread < thread || (wait->thread == thread && wait->t0_ns < ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && locks->waits.items[low - 1].thread == thread &&
	    locks->waits.items[low - 1].released_ns > ns)
		low--;
	return low;
}

static uint32_t waited_for(const struct sn_lock_wait *wait)
{
	return wait->by != SN_NONE ? wait->by : wait->holder;
}

static bool is_in_chain(const struct finder *finder, uint32_t thread)
{
	for (uint32_t i = 0; i < finder->thread_count; i++)
		if (finder->threads[i] == thread)
			return true;
	return false;
}

/* The link at which the chain meets itself, if none of the waits from there on ended; SN_NONE: it does not. */
static uint32_t closing_link(const struct finder *finder, uint32_t by)
{
	for (uint32_t i = finder->thread_count; by != SN_NONE && i-- > 0 && finder->are_open[i];)
		if (finder->threads[i] == by)
			return finder->link_of[i];
	return SN_NONE;
}

/* Waits for locks are links. */
static bool is_no_link(const struct sn_wait *call)
{
	return call->kind != SN_WAIT_LOCK && call->kind != SN_WAIT_CONDITION &&
	       call->kind != SN_WAIT_JOIN;
}

/* The last part of a chain: the thread waits for no lock. Where it is not known how it ended the wait, the calls
 * that it was blocked in tell what it did. */
static void rest_add(struct finder *finder, const struct sn_lock_wait *wait, uint32_t by,
		     int64_t from, int64_t to)
{
	const struct sn_experiment *e = finder->program ? finder->program->experiment : NULL;
	struct end end = { .site = wait->by_site,
			   .closes = closing_link(finder, by),
			   .is_unknown = by == SN_NONE };

	if (finder->link_count < 2)
		return;
	if (end.closes != SN_NONE)
		end.site = finder->links[end.closes].site;
	for (size_t i = e && by != SN_NONE && end.site.function == SN_NONE
				? sn_waits_ending_from(e, by, from)
				: SIZE_MAX;
	     e && i < e->waits.count && e->waits.items[i].thread == by; i++) {
		const struct sn_wait *call = &e->waits.items[i];
		int64_t begin = call->time_ns > from ? call->time_ns : from;
		int64_t stop = sn_wait_end_ns(call);

		if (begin >= to)
			break;
		stop = stop < to ? stop : to;
		if (stop <= begin || !is_no_link(call))
			continue;
		chain_add(finder, &end, begin - from);
		chain_add(finder,
			  &(struct end){ sn_site_of(finder->program, call->stack), SN_NONE,
					 (uint8_t)(call->kind + 1), false },
			  stop - begin);
		from = stop;
	}
	chain_add(finder, &end, to - from);
}

/* Threads have addresses, as has what lies on heap and stack: each run has others, and each thread of a pool. */
static bool has_name(const struct sn_locks *locks, const struct sn_lock_wait *wait)
{
	return wait->kind != SN_SYNC_JOIN &&
	       (wait->object >= locks->objects.count ||
		strncmp(locks->objects.items[wait->object].name, "0x", 2) != 0);
}

/* Who waits for the same object is in the same queue: no further link. */
static bool link_push(struct finder *finder, const struct sn_lock_wait *wait)
{
	bool is_queued =
		finder->link_count && finder->objects[finder->link_count - 1] == wait->object;

	finder->are_open[finder->thread_count] = wait->is_open;
	finder->link_of[finder->thread_count] = finder->link_count - is_queued;
	finder->threads[finder->thread_count++] = wait->thread;
	if (is_queued)
		return false;
	finder->links[finder->link_count++] = (struct sn_lock_link){
		wait->site, has_name(finder->locks, wait) ? wait->object : SN_NONE, wait->kind
	};
	finder->objects[finder->link_count - 1] = wait->object;
	return true;
}

/* Adds the chains that begin with what was found so far and go on with this wait, in [from, to) of it. */
static void wait_follow(struct finder *finder, const struct sn_lock_wait *wait, int64_t from,
			int64_t to)
{
	const struct sn_locks *locks = finder->locks;
	uint32_t by = waited_for(wait);
	bool is_link = link_push(finder, wait);
	bool goes_on = by != SN_NONE && !is_in_chain(finder, by) &&
		       finder->link_count < LINKS_MOST && finder->thread_count <= LINKS_MOST;

	for (size_t i = goes_on ? first_wait(locks, by, from) : locks->waits.count;
	     i < locks->waits.count && locks->waits.items[i].thread == by && from < to; i++) {
		const struct sn_lock_wait *next = &locks->waits.items[i];
		int64_t begin = next->t0_ns > from ? next->t0_ns : from;
		int64_t end = next->released_ns < to ? next->released_ns : to;

		if (begin >= to)
			break;
		if (end <= begin)
			continue;
		rest_add(finder, wait, by, from, begin);
		wait_follow(finder, next, begin, end);
		from = end;
	}
	rest_add(finder, wait, by, from, to);
	finder->link_count -= is_link;
	finder->thread_count--;
}

void sn_lock_chains_find(const struct sn_locks *locks, const struct sn_program *program,
			 struct sn_lock_chains *out)
{
	struct finder finder = { .locks = locks, .program = program, .out = out };

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < locks->waits.count; i++) {
		const struct sn_lock_wait *wait = &locks->waits.items[i];

		finder.wait = i;
		if (wait->thread != SN_NONE)
			wait_follow(&finder, wait, wait->t0_ns, wait->released_ns);
	}
	sn_map_free(&finder.index);
}

void sn_lock_chains_free(struct sn_lock_chains *chains)
{
	sn_vec_free(&chains->links);
	sn_vec_free(&chains->items);
}
