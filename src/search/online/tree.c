/* An inner agent's number is its index in its level, behind those that the levels before it may have. */
#include "search/online/tree.h"

#include "search/online/nodes.h"
#include "wire/link.h"

static uint32_t inner_of(uint32_t level, uint32_t index)
{
	return SN_LINK_INNER + level * SN_NODES_MOST + index;
}

uint32_t sn_tree_parent(uint32_t fanout, uint32_t agent)
{
	uint32_t level = 0, index = agent;

	if (agent >= SN_LINK_INNER) {
		level = 1 + (agent - SN_LINK_INNER) / SN_NODES_MOST;
		index = (agent - SN_LINK_INNER) % SN_NODES_MOST;
	}
	return index < fanout ? SN_LINK_FRONT : inner_of(level, index / fanout - 1);
}

size_t sn_tree_inners(uint32_t fanout, uint32_t number, uint32_t out[SN_TREE_LEVELS])
{
	uint32_t index = number, level = 0;

	while (level < SN_TREE_LEVELS && index >= fanout && index % fanout == 0) {
		index = index / fanout - 1;
		out[level] = inner_of(level, index);
		level++;
	}
	return level;
}
