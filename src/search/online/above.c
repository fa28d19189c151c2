/* Parents by the tree's rule, addresses by the folder. */
#include "search/online/above.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "search/link/inner.h"
#include "search/online/nodes.h"
#include "search/online/tree.h"

static uint32_t parent_of(void *context, uint32_t agent)
{
	const struct sn_above *a = context;

	return sn_tree_parent(a->fanout, agent);
}

static bool address_of(void *context, uint32_t agent, char out[SN_LINK_ADDRESS])
{
	struct sn_above *a = context;
	uint64_t *turn = sn_map_put(&a->turns, agent, NULL);

	return sn_agent_address_read(a->folder, agent, (uint32_t)(*turn)++, out);
}

static bool is_over(void *context)
{
	const struct sn_above *a = context;
	char *nodes = sn_nodes_file(a->folder, "search.nodes");
	const bool has_gone = access(nodes, F_OK) && errno == ENOENT;

	free(nodes);
	return has_gone;
}

sn_status sn_above_open(const char *folder, uint32_t fanout, struct sn_above *out,
			struct sn_error *err)
{
	char *secret = sn_nodes_file(folder, "search.secret");
	sn_status status;

	*out = (struct sn_above){ .folder = folder, .fanout = fanout };
	status = sn_link_secret_read(secret, out->secret, err);
	free(secret);
	return status;
}

struct sn_uplink_above sn_above_uplink(struct sn_above *above)
{
	return (struct sn_uplink_above){
		.parent = parent_of, .address = address_of, .is_over = is_over, .context = above
	};
}

void sn_above_close(struct sn_above *above)
{
	sn_map_free(&above->turns);
	explicit_bzero(above->secret, sizeof(above->secret));
}

/* ---- an inner agent ---- */

struct inner {
	struct sn_above above;
	bool is_local;
};

static sn_status listens(void *context, uint32_t agent, const char address[SN_LINK_ADDRESS],
			 struct sn_error *err)
{
	const struct inner *n = context;

	return sn_agent_address_write(n->above.folder, agent, address, n->is_local, err);
}

int sn_above_inner_run(const char *folder, uint32_t fanout, bool is_local, uint32_t agent,
		       uint32_t epoch)
{
	struct inner n = { .is_local = is_local };
	struct sn_error err;
	struct sn_uplink_above above;
	int code = 1;

	if (sn_above_open(folder, fanout, &n.above, &err) == SN_OK) {
		above = sn_above_uplink(&n.above);
		code = sn_inner_run(&(const struct sn_inner_options){
			.above = &above,
			.secret = n.above.secret,
			.agent = agent,
			.epoch = epoch,
			.address = is_local ? "tcp://127.0.0.1:*" : "tcp://0.0.0.0:*",
			.listens = listens,
			.context = &n,
			.idle_ns = SN_NODE_IDLE_NS,
		});
	}
	sn_above_close(&n.above);
	return code;
}
