/*
 * Adds traffic up into arcs between partitions, nodes or variables, after choosing phases, zones,
 * nodes and variables.
 */
#include "pandore/profiler/comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Is `name` one of "a,b,c"? */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == length && !strncmp(list, name, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static bool node_is_listed(const char *list, int node)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", node);
	return is_listed(list, name);
}

static bool is_chosen(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
		      const struct sn_comm_traffic *t)
{
	if (choice->phase && strcmp(p->phases.items[t->phase], choice->phase))
		return false;
	if (choice->zone && (t->zone < 0 || strcmp(p->zones.items[t->zone].name, choice->zone)))
		return false;
	if (choice->nodes &&
	    !(node_is_listed(choice->nodes, t->from) && node_is_listed(choice->nodes, t->to)))
		return false;
	return !choice->variables || (is_listed(choice->variables, t->source) &&
				      (t->is_broadcast || is_listed(choice->variables, t->target)));
}

static sn_status check_choice(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
			      struct sn_error *err)
{
	bool phase = !choice->phase, zone = !choice->zone;

	for (size_t i = 0; i < p->phases.count && !phase; i++)
		phase = !strcmp(p->phases.items[i], choice->phase);
	for (size_t i = 0; i < p->zones.count && !zone; i++)
		zone = !strcmp(p->zones.items[i].name, choice->zone);
	if (!phase || !zone)
		return sn_error_set(err, SN_ERR_USAGE, "comm: '%s' has no %s '%s'", p->program,
				    phase ? "zone" : "phase", phase ? choice->zone : choice->phase);
	for (const char *at = choice->nodes; at && *at; at += strspn(at, ",")) {
		char *end;
		long node = strtol(at, &end, 10);

		if (end == at || node < 0 || node >= p->nodes || (*end && *end != ','))
			return sn_error_set(err, SN_ERR_USAGE,
					    "comm: '%s' is not a list of nodes 0 to %d",
					    choice->nodes, p->nodes - 1);
		at = end;
	}
	return SN_OK;
}

static bool has_variable(const struct sn_comm_profile *p, const char *name, size_t length)
{
	for (size_t i = 0; i < p->traffic.count; i++) {
		const struct sn_comm_traffic *t = &p->traffic.items[i];

		if ((strlen(t->source) == length && !strncmp(t->source, name, length)) ||
		    (strlen(t->target) == length && !strncmp(t->target, name, length)))
			return true;
	}
	return false;
}

/* A distribution may leave a variable without messages, so one profile that has it is enough. */
sn_status sn_comm_check_variables(struct sn_comm_profile *const *profiles, size_t count,
				  const char *list, struct sn_error *err)
{
	for (const char *at = list; at && *at;) {
		size_t length = strcspn(at, ",");
		bool found = !length;

		for (size_t i = 0; i < count && !found; i++)
			found = has_variable(profiles[i], at, length);
		if (!found)
			return sn_error_set(err, SN_ERR_USAGE,
					    "comm: '%s'%s has no messages from or to a variable "
					    "'%.*s'",
					    profiles[0]->program,
					    count > 1 ? ", like the others," : "", (int)length, at);
		at += length + (at[length] == ',');
	}
	return SN_OK;
}

/* "A1": the part of A on node 1; "exchange@1": the function on rank 1 */
static const char *partition_name(struct sn_arena *arena, const char *name, int node,
				  bool is_of_ranks)
{
	return is_of_ranks ? sn_arena_printf(arena, "%s@%d", name, node)
			   : sn_arena_printf(arena, "%s%d", name, node);
}

static struct sn_comm_arc arc_of(struct sn_comm_graph *g, const struct sn_comm_traffic *t,
				 enum sn_comm_group group, bool is_of_ranks)
{
	struct sn_comm_arc arc = { .is_broadcast = t->is_broadcast,
				   .source_variable = t->source,
				   .target_variable = t->target,
				   .from = t->from,
				   .to = t->to };

	switch (group) {
	case SN_COMM_PARTITIONS:
		arc.source = partition_name(&g->arena, t->source, t->from, is_of_ranks);
		if (t->is_broadcast) {
			arc.target = sn_arena_strdup(&g->arena, t->target);
			arc.to = -1;
		} else {
			arc.target = partition_name(&g->arena, t->target, t->to, is_of_ranks);
		}
		break;
	case SN_COMM_NODES:
		arc.source =
			sn_arena_printf(&g->arena, is_of_ranks ? "rank %d" : "node %d", t->from);
		arc.target = sn_arena_printf(&g->arena, is_of_ranks ? "rank %d" : "node %d", t->to);
		arc.source_variable = arc.target_variable = "";
		arc.is_broadcast = false;
		break;
	case SN_COMM_VARIABLES:
		arc.source = sn_arena_strdup(&g->arena, t->source);
		arc.target = sn_arena_strdup(&g->arena, t->target);
		arc.from = arc.to = -1;
		break;
	}
	return arc;
}

static bool is_same_arc(const struct sn_comm_arc *a, const struct sn_comm_arc *b)
{
	return a->is_broadcast == b->is_broadcast && a->from == b->from && a->to == b->to &&
	       !strcmp(a->source, b->source) && !strcmp(a->target, b->target);
}

static int compare_arcs(const void *left, const void *right)
{
	const struct sn_comm_arc *a = left, *b = right;
	int order = a->is_broadcast - b->is_broadcast;

	if (!order)
		order = strcmp(a->source_variable, b->source_variable);
	if (!order)
		order = a->from - b->from;
	if (!order)
		order = strcmp(a->target_variable, b->target_variable);
	return order ? order : a->to - b->to;
}

sn_status sn_comm_graph_make(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
			     struct sn_comm_graph *out, struct sn_error *err)
{
	struct sn_comm_graph g = { 0 };
	sn_status status = check_choice(p, choice, err);
	size_t kept = 0;

	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < p->traffic.count; i++) {
		const struct sn_comm_traffic *t = &p->traffic.items[i];
		struct sn_comm_arc arc;

		if (!is_chosen(p, choice, t))
			continue;
		arc = arc_of(&g, t, choice->group, p->is_of_ranks);
		arc.messages = t->messages;
		arc.bytes = t->bytes;
		arc.wait_s = t->wait_s;
		sn_vec_push(&g.arcs, arc);
	}
	if (g.arcs.count)
		qsort(g.arcs.items, g.arcs.count, sizeof(*g.arcs.items), compare_arcs);
	for (size_t i = 0; i < g.arcs.count; i++) {
		struct sn_comm_arc *last = kept ? &g.arcs.items[kept - 1] : NULL;
		const struct sn_comm_arc arc = g.arcs.items[i];

		if (last && is_same_arc(last, &arc)) {
			last->messages += arc.messages;
			last->bytes += arc.bytes;
			last->wait_s += arc.wait_s;
		} else {
			g.arcs.items[kept++] = arc;
		}
	}
	g.arcs.count = kept;
	g.title = sn_arena_printf(&g.arena,
				  p->is_of_ranks ? "%s (%d ranks, %s)" : "%s (%d nodes, %s)",
				  p->program, p->nodes, p->scheme);
	*out = g;
	return SN_OK;
}

void sn_comm_graph_free(struct sn_comm_graph *g)
{
	sn_vec_free(&g->arcs);
	sn_arena_free(&g->arena);
}

double sn_comm_arc_value(const struct sn_comm_arc *arc, enum sn_comm_value value)
{
	return value == SN_COMM_MESSAGES ? (double)arc->messages
	       : value == SN_COMM_BYTES	 ? (double)arc->bytes
					 : arc->wait_s;
}

double sn_comm_balance(const double *by_node, int nodes)
{
	double sum = 0, largest = 0;

	for (int n = 0; n < nodes; n++) {
		sum += by_node[n];
		largest = fmax(largest, by_node[n]);
	}
	return sum > 0 ? largest * nodes / sum : NAN;
}

double sn_comm_node_wait_s(const struct sn_comm_profile *p, int node)
{
	double wait_s = 0;

	for (size_t i = 0; i < p->traffic.count; i++)
		wait_s += p->traffic.items[i].to == node ? p->traffic.items[i].wait_s : 0;
	for (size_t i = 0; i < p->phase_times.count; i++)
		if (p->phase_times.items[i].node == node)
			wait_s += p->phase_times.items[i].other_wait_s;
	return wait_s;
}

void sn_comm_node_sums(const struct sn_comm_profile *p, double *assignments, double *busy_s)
{
	for (int n = 0; n < p->nodes; n++)
		assignments[n] = busy_s[n] = 0;
	for (size_t i = 0; i < p->assignments.count; i++)
		assignments[p->assignments.items[i].node] += (double)p->assignments.items[i].count;
	for (size_t i = 0; i < p->phase_times.count; i++)
		busy_s[p->phase_times.items[i].node] += p->phase_times.items[i].run_s;
	for (int n = 0; n < p->nodes; n++)
		busy_s[n] -= sn_comm_node_wait_s(p, n);
}

struct sn_comm_totals sn_comm_total(const struct sn_comm_profile *p)
{
	struct sn_comm_totals t = { 0 };

	for (size_t i = 0; i < p->traffic.count; i++) {
		t.messages += p->traffic.items[i].messages;
		t.bytes += p->traffic.items[i].bytes;
		t.wait_s += p->traffic.items[i].wait_s;
	}
	for (int n = 0; n < p->nodes; n++) {
		double run_s = 0, wait_s = sn_comm_node_wait_s(p, n);

		for (size_t i = 0; i < p->phase_times.count; i++)
			run_s += p->phase_times.items[i].node == n ? p->phase_times.items[i].run_s
								   : 0;
		t.work_s += run_s - wait_s;
		t.longest_s = fmax(t.longest_s, run_s - wait_s);
		t.run_s = fmax(t.run_s, run_s);
	}
	return t;
}
