/**
 * The tree of a search's agents, which grows with the hosts that come: nobody knows how many there will be.
 *
 * Hosts are numbered as they come. The first `fanout` of them talk to the front; each further `fanout` have an inner
 * agent, which runs on the first host of theirs. Inner agents are arranged by the same rule, level by level, so a place
 * never changes. The front has fewer than twice `fanout` below it for each level, an inner agent `fanout` at most.
 */
#ifndef SN_SEARCH_ONLINE_TREE_H
#define SN_SEARCH_ONLINE_TREE_H

#include <stddef.h>
#include <stdint.h>

enum { SN_TREE_LEVELS = 20 };

/** The agent above a host's agent (its number) or an inner agent; SN_LINK_FRONT at last. `fanout` is 2 at least. */
uint32_t sn_tree_parent(uint32_t fanout, uint32_t agent);
/** The inner agents that a host runs, one a level; returns how many. */
size_t sn_tree_inners(uint32_t fanout, uint32_t number, uint32_t out[SN_TREE_LEVELS]);

#endif
