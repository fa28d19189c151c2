/* The tree of agents: every agent comes to the front, and nobody has more children than the fan-out says. */
#include "search/simulate/places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "harness/tap.h"

static void tree_check(const char *path, uint32_t nodes, uint32_t fanout)
{
	struct sn_places *p = NULL;
	struct sn_error err;
	uint32_t *children;

	unlink(path);
	REQUIRE(sn_places_open(path, nodes, fanout, &p, &err) == SN_OK);
	children = sn_alloc_zeroed(p->inners + 1, sizeof(*children));
	for (uint32_t i = 1; i < sn_places_count(p); i++) {
		uint32_t agent = sn_places_agent(p, i), parent = sn_places_parent(p, agent), up = 0;

		CHECK(sn_place_of(p, agent) == &p->places[i]);
		CHECK(++children[parent == SN_LINK_FRONT ? p->inners : parent - SN_LINK_INNER] <=
		      fanout);
		for (; agent != SN_LINK_FRONT && up < 64; up++)
			agent = sn_places_parent(p, agent);
		CHECK(agent == SN_LINK_FRONT);
	}
	CHECK(!sn_place_of(p, nodes) && !sn_place_of(p, SN_LINK_INNER + p->inners));
	free(children);
	sn_places_close(p);
}

TEST(trees_are_as_wide_as_the_fan_out)
{
	char path[] = "/tmp/sonde-places.XXXXXX";
	struct sn_places *p = NULL;
	struct sn_error err;
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
	CHECK_INT(sn_places_inners(1, 32), 1);
	CHECK_INT(sn_places_inners(1024, 32), 32);
	CHECK_INT(sn_places_inners(1025, 32), 33 + 2);
	tree_check(path, 1, 2);
	tree_check(path, 64, 2);
	tree_check(path, 100, 3);
	tree_check(path, 1025, 32);
	CHECK(sn_places_open(path, 0, 0, &p, &err) == SN_OK && p->nodes == 1025);
	sn_places_close(p);
	CHECK(!truncate(path, 100) && sn_places_open(path, 0, 0, &p, &err) == SN_ERR_FORMAT);
	unlink(path);
}

TEST(addresses_are_read_whole)
{
	struct sn_place place = { 0 };
	char address[SN_LINK_ADDRESS] = "tcp://127.0.0.1:5000", out[SN_LINK_ADDRESS];

	CHECK(!sn_place_address(&place, out));
	sn_place_address_set(&place, address);
	CHECK(sn_place_address(&place, out));
	CHECK_STRING(out, address);
	atomic_fetch_add(&place.version, 1); /* whoever writes was killed at it */
	CHECK(!sn_place_address(&place, out));
	sn_place_address_set(&place, address);
	CHECK(sn_place_address(&place, out));
}
