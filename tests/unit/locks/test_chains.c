/* Chains of waits of threads made by hand. */
#include "locks/chains.h"

#include "harness/tap.h"

static void made_wait(struct sn_locks *locks, uint32_t thread, int64_t t0, int64_t t1, uint32_t by,
		      uint32_t object)
{
	sn_vec_push(&locks->waits,
		    (struct sn_lock_wait){
			    .t0_ns = t0,
			    .asked_ns = t0,
			    .released_ns = t1,
			    .t1_ns = t1 + 1,
			    .thread = thread,
			    .by = by,
			    .holder = SN_NONE,
			    .object = object,
			    .site = { thread, SN_NONE },
			    .by_site = { by == SN_NONE ? SN_NONE : 100 + by, SN_NONE } });
}

static const struct sn_lock_chain *chain_of(const struct sn_lock_chains *chains, uint32_t waiter,
					    uint32_t links, uint32_t last)
{
	for (size_t i = 0; i < chains->items.count; i++) {
		const struct sn_lock_chain *chain = &chains->items.items[i];

		if (chains->links.items[chain->first_link].site.function == waiter &&
		    chain->link_count == links && chain->last.function == last)
			return chain;
	}
	tap_check(false, __FILE__, __LINE__, "there is such a chain");
	return &chains->items.items[0];
}

/* 0 waits from 10 to 100 for 1; 1 waits from 30 to 60 for 2, which waits from 40 to 50 for 3. */
TEST(each_moment_is_in_one_chain)
{
	struct sn_locks locks = { 0 };
	struct sn_lock_chains chains;

	made_wait(&locks, 0, 10, 100, 1, 1);
	made_wait(&locks, 1, 5, 8, 3, 2); /* before */
	made_wait(&locks, 1, 30, 60, 2, 2);
	made_wait(&locks, 2, 40, 50, 3, 3);
	sn_lock_chains_find(&locks, NULL, &chains);
	CHECK_INT(chains.items.count, 3);
	CHECK_INT(chain_of(&chains, 0, 2, 102)->wait_ns, 20);
	CHECK_INT(chain_of(&chains, 0, 2, 102)->waits, 1);
	CHECK_INT(chain_of(&chains, 0, 3, 103)->wait_ns, 10);
	CHECK_INT(chain_of(&chains, 1, 2, 103)->wait_ns, 10);
	CHECK_INT(chains.chained_ns, 40);
	CHECK_INT(chains.links.items[chain_of(&chains, 0, 3, 103)->first_link + 2].object, 3);
	sn_lock_chains_free(&chains);
	sn_vec_free(&locks.waits);
}

/* Those who queue for one lock are no chain; what its holder waits for is. */
TEST(a_queue_is_one_link)
{
	struct sn_locks locks = { 0 };
	struct sn_lock_chains chains;

	made_wait(&locks, 0, 0, 30, 1, 1);
	made_wait(&locks, 1, 0, 20, 2, 1);
	made_wait(&locks, 2, 5, 15, 3, 2);
	sn_lock_chains_find(&locks, NULL, &chains);
	CHECK_INT(chains.items.count, 2);
	CHECK_INT(chain_of(&chains, 0, 2, 103)->wait_ns, 10);
	CHECK_INT(chain_of(&chains, 1, 2, 103)->wait_ns, 10);
	sn_lock_chains_free(&chains);
	sn_vec_free(&locks.waits);
}

/* A circle, as of a deadlock, ends where it closes. */
TEST(a_circle_ends)
{
	struct sn_locks locks = { 0 };
	struct sn_lock_chains chains;

	for (uint32_t t = 0; t < 3; t++) {
		made_wait(&locks, t, 10, 50, SN_NONE, t);
		locks.waits.items[t].holder = (t + 1) % 3;
	}
	sn_lock_chains_find(&locks, NULL, &chains);
	CHECK_INT(chains.items.count, 3);
	CHECK_INT(chain_of(&chains, 1, 3, SN_NONE)->wait_ns, 40);
	CHECK_INT(chain_of(&chains, 1, 3, SN_NONE)->closes, SN_NONE);
	sn_lock_chains_free(&chains);
	/* none of these waits ended; a fourth thread waits for the circle, and is not in it */
	for (size_t t = 0; t < 3; t++)
		locks.waits.items[t].is_open = true;
	made_wait(&locks, 3, 10, 50, 1, 7);
	sn_lock_chains_find(&locks, NULL, &chains);
	CHECK_INT(chains.items.count, 4);
	CHECK_INT(chain_of(&chains, 1, 3, 1)->closes, 0);
	CHECK_INT(chain_of(&chains, 3, 4, 1)->closes, 1);
	sn_lock_chains_free(&chains);
	sn_vec_free(&locks.waits);
}

/* Longer ones than are kept, and threads that are not known. */
TEST(long_chains_and_unknown_threads)
{
	struct sn_locks locks = { 0 };
	struct sn_lock_chains chains;
	uint64_t sum = 0;

	for (uint32_t t = 0; t < 20; t++)
		made_wait(&locks, t, 10, 50, t + 1, t);
	made_wait(&locks, 40, 0, 50, SN_NONE, 3);
	made_wait(&locks, SN_NONE, 0, 50, 2, 3);
	sn_lock_chains_find(&locks, NULL, &chains);
	for (size_t i = 0; i < chains.items.count; i++)
		sum += chains.items.items[i].wait_ns;
	CHECK_INT(sum, 19 * 40);
	CHECK_INT(chains.chained_ns, 19 * 40);
	sn_lock_chains_free(&chains);
	sn_vec_free(&locks.waits);
}
