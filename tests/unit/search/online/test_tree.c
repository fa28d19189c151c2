/* The growing tree: whoever has a parent finds it on a host that is there, nobody has too many children. */
#include "search/online/tree.h"

#include "base/map.h"
#include "harness/tap.h"
#include "search/online/nodes.h"
#include "wire/link.h"

/* All that a tree has when so many hosts have come. */
static void tree_check(uint32_t fanout, uint32_t hosts)
{
	struct sn_map there = { 0 }, children = { 0 };
	uint32_t inners[SN_TREE_LEVELS], levels = 0;
	uint64_t *at_front;

	for (uint32_t number = 0; number < hosts; number++) {
		size_t count = sn_tree_inners(fanout, number, inners);

		*sn_map_put(&there, number, NULL) = 1;
		levels = count > levels ? (uint32_t)count : levels;
		for (size_t i = 0; i < count; i++) {
			bool is_new;

			sn_map_put(&there, inners[i], &is_new);
			CHECK(is_new && inners[i] >= SN_LINK_INNER && inners[i] < SN_LINK_FRONT);
		}
	}
	for (size_t i = 0; i < there.capacity; i++) {
		uint32_t agent = (uint32_t)there.slots[i].key,
			 parent = sn_tree_parent(fanout, agent);

		if (!there.slots[i].used)
			continue;
		CHECK(parent == SN_LINK_FRONT || sn_map_get(&there, parent));
		CHECK(++*sn_map_put(&children, parent, NULL) <= fanout || parent == SN_LINK_FRONT);
	}
	at_front = sn_map_get(&children, SN_LINK_FRONT);
	CHECK(at_front && *at_front <= (uint64_t)fanout * (levels + 1));
	sn_map_free(&there);
	sn_map_free(&children);
}

TEST(every_parent_is_on_a_host_that_has_come)
{
	for (uint32_t hosts = 1; hosts < 70; hosts++) {
		tree_check(2, hosts);
		tree_check(3, hosts);
		tree_check(32, hosts);
	}
	tree_check(2, SN_NODES_MOST);
	tree_check(32, SN_NODES_MOST);
	tree_check(1024, SN_NODES_MOST);
}

TEST(a_place_is_that_of_the_rule)
{
	uint32_t inners[SN_TREE_LEVELS];

	CHECK_INT(sn_tree_parent(2, 1), SN_LINK_FRONT);
	CHECK_INT(sn_tree_parent(2, 2), SN_LINK_INNER);
	CHECK_INT(sn_tree_parent(2, 3), SN_LINK_INNER);
	CHECK_INT(sn_tree_parent(2, 4), SN_LINK_INNER + 1);
	CHECK_INT(sn_tree_parent(2, SN_LINK_INNER + 1), SN_LINK_FRONT);
	CHECK_INT(sn_tree_parent(2, SN_LINK_INNER + 2), SN_LINK_INNER + SN_NODES_MOST);
	CHECK_INT(sn_tree_inners(2, 5, inners), 0);
	CHECK_INT(sn_tree_inners(2, 6, inners), 2);
	CHECK(inners[0] == SN_LINK_INNER + 2 && inners[1] == SN_LINK_INNER + SN_NODES_MOST);
}
