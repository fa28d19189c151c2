/*
 * The tables of 'sonde comm': arcs, phases, zones, nodes and lines of one program, or of several
 * below one header.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/profiler/comm.h"

struct extra {
	const struct sn_comm_profile *profile;
	double assignment_balance, busy_balance;
};

static void write_extra(struct sn_json *json, void *context)
{
	const struct extra *e = context;

	sn_json_member_string(json, "program", e->profile->program);
	sn_json_member_string(json, "source", e->profile->source);
	sn_json_member_int(json, "nodes", e->profile->nodes);
	sn_json_member_string(json, "scheme", e->profile->scheme);
	sn_json_member_string(json, "backend", e->profile->backend);
	sn_json_member_double(json, "assignment_balance", e->assignment_balance);
	sn_json_member_double(json, "busy_balance", e->busy_balance);
}

static const struct sn_column arc_columns[] = {
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "source", "from", SN_CELL_TEXT, 0 },
	{ "target", "to", SN_CELL_TEXT, 0 },
	{ "messages", "messages", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_INT, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
	{ "broadcasts", "broadcasts", SN_CELL_INT, 0 },
};

static sn_status fill_arcs(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
			   struct sn_table *table, struct sn_error *err)
{
	struct sn_comm_graph graph;
	sn_status status = sn_comm_graph_make(p, choice, &graph, err);

	if (status != SN_OK)
		return status;
	sn_table_init(table, arc_columns, sizeof(arc_columns) / sizeof(*arc_columns));
	for (size_t i = 0; i < graph.arcs.count; i++) {
		const struct sn_comm_arc *arc = &graph.arcs.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, 0, arc->is_broadcast ? "broadcast" : "arc");
		sn_table_set_text(table, 1, arc->source);
		sn_table_set_text(table, 2, arc->target);
		sn_table_set_int(table, 3, (int64_t)arc->messages);
		sn_table_set_int(table, 4, (int64_t)arc->bytes);
		sn_table_set_real(table, 5, arc->wait_s);
		if (arc->is_broadcast && p->nodes > 1 && !choice->nodes)
			sn_table_set_int(table, 6, (int64_t)arc->messages / (p->nodes - 1));
	}
	sn_comm_graph_free(&graph);
	return SN_OK;
}

static const struct sn_column phase_columns[] = {
	{ "phase", "phase", SN_CELL_TEXT, 0 },
	{ "node", "node", SN_CELL_INT, 0 },
	{ "calls", "calls", SN_CELL_INT, 0 },
	{ "assignments", "assignments", SN_CELL_INT, 0 },
	{ "trigger_wait_s", "trigger", SN_CELL_DURATION, 0 },
	{ "distribution_s", "distribution", SN_CELL_DURATION, 0 },
	{ "run_s", "run", SN_CELL_DURATION, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
	{ "collection_s", "collection", SN_CELL_DURATION, 0 },
};

static void fill_phases(const struct sn_comm_profile *p, struct sn_table *table)
{
	sn_table_init(table, phase_columns, sizeof(phase_columns) / sizeof(*phase_columns));
	for (size_t i = 0; i < p->phase_times.count; i++) {
		const struct sn_comm_phase_time *t = &p->phase_times.items[i];
		double wait_s = 0, assignments = 0;

		for (size_t k = 0; k < p->traffic.count; k++)
			if (p->traffic.items[k].phase == t->phase &&
			    p->traffic.items[k].to == t->node)
				wait_s += p->traffic.items[k].wait_s;
		for (size_t k = 0; k < p->assignments.count; k++)
			if (p->assignments.items[k].phase == t->phase &&
			    p->assignments.items[k].node == t->node)
				assignments += (double)p->assignments.items[k].count;
		sn_table_add_row(table);
		sn_table_set_text(table, 0, p->phases.items[t->phase]);
		sn_table_set_int(table, 1, t->node);
		sn_table_set_int(table, 2, (int64_t)t->calls);
		sn_table_set_int(table, 3, (int64_t)assignments);
		sn_table_set_real(table, 4, t->trigger_wait_s);
		sn_table_set_real(table, 5, t->distribution_s);
		sn_table_set_real(table, 6, t->run_s);
		sn_table_set_real(table, 7, wait_s);
		sn_table_set_real(table, 8, t->collection_s);
	}
}

static const struct sn_column zone_columns[] = {
	{ "phase", "phase", SN_CELL_TEXT, 0 },
	{ "zone", "zone", SN_CELL_TEXT, 0 },
	{ "node", "node", SN_CELL_INT, 0 },
	{ "executions", "executions", SN_CELL_INT, 0 },
	{ "time_s", "time", SN_CELL_DURATION, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
	{ "assignments", "assignments", SN_CELL_INT, 0 },
	{ "messages_received", "received", SN_CELL_INT, 0 },
	{ "bytes_received", "bytes", SN_CELL_INT, 0 },
};

static void fill_zones(const struct sn_comm_profile *p, struct sn_table *table)
{
	sn_table_init(table, zone_columns, sizeof(zone_columns) / sizeof(*zone_columns));
	for (size_t i = 0; i < p->zone_times.count; i++) {
		const struct sn_comm_zone_time *z = &p->zone_times.items[i];
		double wait_s = 0;
		uint64_t messages = 0, bytes = 0, assignments = 0;

		for (size_t k = 0; k < p->traffic.count; k++) {
			const struct sn_comm_traffic *t = &p->traffic.items[k];

			if (t->zone != z->zone || t->to != z->node)
				continue;
			wait_s += t->wait_s;
			messages += t->messages;
			bytes += t->bytes;
		}
		for (size_t k = 0; k < p->assignments.count; k++)
			if (p->assignments.items[k].zone == z->zone &&
			    p->assignments.items[k].node == z->node)
				assignments += p->assignments.items[k].count;
		sn_table_add_row(table);
		sn_table_set_text(table, 0, p->phases.items[p->zones.items[z->zone].phase]);
		sn_table_set_text(table, 1, p->zones.items[z->zone].name);
		sn_table_set_int(table, 2, z->node);
		sn_table_set_int(table, 3, (int64_t)z->executions);
		sn_table_set_real(table, 4, z->time_s);
		sn_table_set_real(table, 5, wait_s);
		sn_table_set_int(table, 6, (int64_t)assignments);
		sn_table_set_int(table, 7, (int64_t)messages);
		sn_table_set_int(table, 8, (int64_t)bytes);
	}
}

static const struct sn_column node_columns[] = {
	{ "node", "node", SN_CELL_INT, 0 },
	{ "assignments", "assignments", SN_CELL_INT, 0 },
	{ "busy_s", "busy", SN_CELL_DURATION, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
	{ "messages_sent", "sent", SN_CELL_INT, 0 },
	{ "messages_received", "received", SN_CELL_INT, 0 },
};

static void fill_nodes(const struct sn_comm_profile *p, const double *assignments,
		       const double *busy_s, struct sn_table *table)
{
	sn_table_init(table, node_columns, sizeof(node_columns) / sizeof(*node_columns));
	for (int n = 0; n < p->nodes; n++) {
		uint64_t sent = 0, received = 0;

		for (size_t k = 0; k < p->traffic.count; k++) {
			const struct sn_comm_traffic *t = &p->traffic.items[k];

			sent += t->from == n ? t->messages : 0;
			received += t->to == n ? t->messages : 0;
		}
		sn_table_add_row(table);
		sn_table_set_int(table, 0, n);
		sn_table_set_int(table, 1, (int64_t)assignments[n]);
		sn_table_set_real(table, 2, busy_s[n]);
		sn_table_set_real(table, 3, sn_comm_node_wait_s(p, n));
		sn_table_set_int(table, 4, (int64_t)sent);
		sn_table_set_int(table, 5, (int64_t)received);
	}
}

static const struct sn_column line_columns[] = {
	{ "line", "line", SN_CELL_INT, 0 },	      { "phase", "phase", SN_CELL_TEXT, 0 },
	{ "zone", "zone", SN_CELL_TEXT, 0 },	      { "kind", "kind", SN_CELL_TEXT, 0 },
	{ "source", "from", SN_CELL_TEXT, 0 },	      { "target", "to", SN_CELL_TEXT, 0 },
	{ "messages", "messages", SN_CELL_INT, 0 },   { "bytes", "bytes", SN_CELL_INT, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
};

/* Rows of one reference stand together in the file. */
static void fill_lines(const struct sn_comm_profile *p, struct sn_table *table)
{
	const struct sn_comm_traffic *t = p->traffic.items, *end = t + p->traffic.count;

	sn_table_init(table, line_columns, sizeof(line_columns) / sizeof(*line_columns));
	while (t < end) {
		const struct sn_comm_traffic *first = t;
		uint64_t messages = 0, bytes = 0;
		double wait_s = 0;

		for (; t < end && t->line == first->line && t->phase == first->phase &&
		       t->is_broadcast == first->is_broadcast && t->zone == first->zone &&
		       !strcmp(t->source, first->source) && !strcmp(t->target, first->target);
		     t++) {
			messages += t->messages;
			bytes += t->bytes;
			wait_s += t->wait_s;
		}
		sn_table_add_row(table);
		sn_table_set_int(table, 0, first->line);
		sn_table_set_text(table, 1, p->phases.items[first->phase]);
		sn_table_set_text(table, 2,
				  first->zone < 0 ? NULL : p->zones.items[first->zone].name);
		sn_table_set_text(table, 3, first->is_broadcast ? "broadcast" : "arc");
		sn_table_set_text(table, 4, first->source);
		sn_table_set_text(table, 5, first->target);
		sn_table_set_int(table, 6, (int64_t)messages);
		sn_table_set_int(table, 7, (int64_t)bytes);
		sn_table_set_real(table, 8, wait_s);
	}
}

static const struct sn_column program_columns[] = {
	{ "program", "program", SN_CELL_TEXT, 0 },
	{ "scheme", "scheme", SN_CELL_TEXT, 0 },
	{ "nodes", "nodes", SN_CELL_INT, 0 },
	{ "messages", "messages", SN_CELL_INT, 0 },
	{ "bytes", "bytes", SN_CELL_INT, 0 },
	{ "wait_s", "waiting", SN_CELL_DURATION, 0 },
	{ "work_s", "work", SN_CELL_DURATION, 0 },
	{ "longest_node_s", "longest node", SN_CELL_DURATION, 0 },
	{ "run_s", "run", SN_CELL_DURATION, 0 },
	{ "busy_nodes", "busy nodes", SN_CELL_REAL, 2 },
};

static sn_status write_programs_table(struct sn_comm_profile *const *profiles,
				      const char *const *names, size_t count,
				      const struct sn_table_view *view, FILE *out,
				      struct sn_error *err)
{
	struct sn_table table;
	sn_status status;

	sn_table_init(&table, program_columns, sizeof(program_columns) / sizeof(*program_columns));
	for (size_t i = 0; i < count; i++) {
		struct sn_comm_totals t = sn_comm_total(profiles[i]);

		sn_table_add_row(&table);
		sn_table_set_text(&table, 0, names[i]);
		sn_table_set_text(&table, 1, profiles[i]->scheme);
		sn_table_set_int(&table, 2, profiles[i]->nodes);
		sn_table_set_int(&table, 3, (int64_t)t.messages);
		sn_table_set_int(&table, 4, (int64_t)t.bytes);
		sn_table_set_real(&table, 5, t.wait_s);
		sn_table_set_real(&table, 6, t.work_s);
		sn_table_set_real(&table, 7, t.longest_s);
		sn_table_set_real(&table, 8, t.run_s);
		sn_table_set_real(&table, 9, t.work_s / t.run_s);
	}
	status = sn_table_write(&table, view, out, NULL, NULL, err);
	sn_table_free(&table);
	return status;
}

static sn_status fill(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
		      const char *what, const double *assignments, const double *busy_s,
		      struct sn_table *table, struct sn_error *err)
{
	if (!strcmp(what, "arcs"))
		return fill_arcs(p, choice, table, err);
	if (!strcmp(what, "phases"))
		fill_phases(p, table);
	else if (!strcmp(what, "zones"))
		fill_zones(p, table);
	else if (!strcmp(what, "lines"))
		fill_lines(p, table);
	else
		fill_nodes(p, assignments, busy_s, table);
	return SN_OK;
}

struct filled {
	struct sn_table table;
	struct extra extra;
};

static sn_status fill_one(const struct sn_comm_profile *p, const struct sn_comm_choice *choice,
			  const char *what, struct filled *out, struct sn_error *err)
{
	double *assignments = sn_alloc_zeroed((size_t)p->nodes, sizeof(double));
	double *busy_s = sn_alloc_zeroed((size_t)p->nodes, sizeof(double));
	sn_status status;

	sn_comm_node_sums(p, assignments, busy_s);
	out->extra = (struct extra){ .profile = p,
				     .assignment_balance = sn_comm_balance(assignments, p->nodes),
				     .busy_balance = sn_comm_balance(busy_s, p->nodes) };
	status = fill(p, choice, what, assignments, busy_s, &out->table, err);
	sn_vec_release(assignments);
	sn_vec_release(busy_s);
	return status;
}

static sn_status write_one(struct filled *filled, const struct sn_table_view *view, FILE *out,
			   struct sn_error *err)
{
	const struct sn_comm_profile *p = filled->extra.profile;

	if (view->format == SN_FORMAT_TEXT && p->is_of_ranks)
		fprintf(out, "%s: %d ranks; time (largest/mean) %.2f\n\n", p->program, p->nodes,
			filled->extra.busy_balance);
	else if (view->format == SN_FORMAT_TEXT)
		fprintf(out,
			"%s: %d nodes, %s scheme, %s; load balance (largest/mean): "
			"assignments %.2f, time %.2f\n\n",
			p->program, p->nodes, p->scheme, p->backend,
			filled->extra.assignment_balance, filled->extra.busy_balance);
	return sn_table_write(&filled->table, view, out, write_extra, &filled->extra, err);
}

static sn_status write_texts(struct filled *filled, size_t count, const struct sn_table_view *view,
			     FILE *out, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t i = 0; i < count && status == SN_OK; i++) {
		if (i)
			fputc('\n', out);
		status = write_one(&filled[i], view, out, err);
	}
	return status;
}

/* One object; written whole or not at all. */
static sn_status write_programs(struct filled *filled, size_t count,
				const struct sn_table_view *view, FILE *out, struct sn_error *err)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&bytes, &length);
	struct sn_json json = { .out = memory };
	sn_status status = SN_OK;

	if (!memory)
		return sn_error_errno(err, "cannot hold the answer in memory");
	sn_json_object(&json);
	sn_json_member_string(&json, "schema", view->schema);
	sn_json_key(&json, "programs");
	sn_json_array(&json);
	for (size_t i = 0; i < count && status == SN_OK; i++) {
		sn_json_object(&json);
		write_extra(&json, &filled[i].extra);
		status = sn_table_write_member(&filled[i].table, view, &json, err);
		if (status == SN_OK)
			sn_json_close(&json);
	}
	if (status == SN_OK) {
		sn_json_close(&json);
		sn_json_close(&json);
		sn_json_finish(&json);
	}
	fclose(memory);
	if (status == SN_OK)
		fwrite(bytes, 1, length, out);
	free(bytes);
	return status;
}

/* All rows below one header, the program in front. */
static sn_status write_joined(const struct filled *filled, const char *const *names, size_t count,
			      const struct sn_table_view *view, FILE *out, struct sn_error *err)
{
	size_t width = filled[0].table.column_count;
	struct sn_column *columns = sn_alloc_zeroed(width + 1, sizeof(*columns));
	struct sn_table joined;
	sn_status status;

	columns[0] = (struct sn_column){ "program", "program", SN_CELL_TEXT, 0 };
	memcpy(columns + 1, filled[0].table.columns, width * sizeof(*columns));
	sn_table_init(&joined, columns, width + 1);
	for (size_t i = 0; i < count; i++) {
		for (size_t row = 0; row < filled[i].table.row_count; row++) {
			sn_table_add_row(&joined);
			sn_table_set_text(&joined, 0, names[i]);
			memcpy(&joined.cells.items[joined.cells.count - width],
			       &filled[i].table.cells.items[row * width],
			       width * sizeof(struct sn_cell));
		}
	}
	status = sn_table_write(&joined, view, out, NULL, NULL, err);
	sn_table_free(&joined);
	free(columns);
	return status;
}

sn_status sn_comm_write_tables(struct sn_comm_profile *const *profiles, const char *const *names,
			       size_t count, const struct sn_comm_choice *choice, const char *what,
			       const struct sn_table_view *view, FILE *out, struct sn_error *err)
{
	struct filled *filled;
	sn_status status = SN_OK;
	size_t made = 0;

	if (!strcmp(what, "programs"))
		return write_programs_table(profiles, names, count, view, out, err);
	filled = sn_alloc_zeroed(count, sizeof(*filled));
	while (made < count && status == SN_OK) {
		status = fill_one(profiles[made], choice, what, &filled[made], err);
		made += status == SN_OK;
	}
	if (status == SN_OK && (count == 1 || view->format == SN_FORMAT_TEXT))
		status = write_texts(filled, count, view, out, err);
	else if (status == SN_OK && view->format == SN_FORMAT_JSON)
		status = write_programs(filled, count, view, out, err);
	else if (status == SN_OK)
		status = write_joined(filled, names, count, view, out, err);
	while (made)
		sn_table_free(&filled[--made].table);
	free(filled);
	return status;
}
