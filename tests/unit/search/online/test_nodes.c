/* Hosts meet in a folder: the first recording of a host is told so, and each host has one number. */
#include "search/online/nodes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/tap.h"
#include "wire/link.h"

static char *folder(void)
{
	static char path[] = "/tmp/sonde-nodes.XXXXXX";
	char *nodes;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	if (!mkdtemp(path))
		return NULL;
	nodes = sn_nodes_file(path, "search.nodes");
	mkdir(nodes, 0700);
	free(nodes);
	return path;
}

static void count(void *context, const char *live)
{
	*(int *)context += !strcmp(live, "/live/a");
}

TEST(the_first_of_a_host_is_told_so)
{
	char *path = folder(), name[SN_NODE_NAME];
	bool is_first;
	uint32_t number;
	int folders = 0;
	struct sn_error err;

	REQUIRE(path);
	CHECK(sn_node_enter(path, "alpha", "/live/a", &is_first, &err) == SN_OK && is_first);
	CHECK(sn_node_enter(path, "beta", "/live/b", &is_first, &err) == SN_OK && is_first);
	/* the same process again has its live folder there already */
	CHECK(sn_node_enter(path, "beta", "/live/b", &is_first, &err) != SN_OK && !is_first);
	CHECK(sn_node_number(path, "beta", &number) && number == 1);
	CHECK(!sn_node_number(path, "gamma", &number));
	CHECK(sn_node_of_number(path, 0, name) && !strcmp(name, "alpha"));
	sn_node_live_folders(path, "alpha", count, &folders);
	CHECK_INT(folders, 1);
	sn_nodes_remove(path);
	CHECK_INT(rmdir(path), 0);
}

TEST(a_name_is_one_of_a_folder)
{
	char name[SN_NODE_NAME];

	setenv("SONDE_NODE", "../a b", 1);
	sn_node_name(name);
	CHECK_STRING(name, "_._a_b");
	unsetenv("SONDE_NODE");
	sn_node_name(name);
	CHECK(*name);
}

TEST(addresses_take_turns)
{
	char *path = folder(), first[SN_LINK_ADDRESS], second[SN_LINK_ADDRESS];
	struct sn_error err;

	REQUIRE(path);
	CHECK(!sn_agent_address_read(path, SN_LINK_FRONT, 0, first));
	CHECK_INT(sn_agent_address_write(path, SN_LINK_FRONT, "tcp://127.0.0.1:4711", true, &err),
		  SN_OK);
	CHECK(sn_agent_address_read(path, SN_LINK_FRONT, 0, first) &&
	      sn_agent_address_read(path, SN_LINK_FRONT, 1, second));
	CHECK_STRING(first, "tcp://127.0.0.1:4711");
	CHECK_STRING(second, first);
	CHECK(!sn_agent_address_read(path, SN_LINK_INNER + 3, 0, first));
	CHECK_INT(sn_agent_address_write(path, SN_LINK_INNER + 3, "tcp://0.0.0.0:4712", true, &err),
		  SN_OK);
	CHECK(sn_agent_address_read(path, SN_LINK_INNER + 3, 0, second));
	CHECK_STRING(second, "tcp://127.0.0.1:4712");
	sn_nodes_remove(path);
	rmdir(path);
}
