/* The communication graphs' part of the page. */
#include "base/alloc.h"
#include "base/json.h"
#include "pandore/page/page.h"

sn_status sn_page_comm_body(const struct sn_pandore_page *page, FILE *out, struct sn_error *err)
{
	struct sn_comm_graph *graphs = sn_alloc_zeroed(page->profile_count, sizeof(*graphs));
	sn_status status = SN_OK;
	size_t made = 0;

	while (made < page->profile_count && status == SN_OK) {
		status = sn_comm_graph_make(page->profiles[made], page->choice, &graphs[made], err);
		made += status == SN_OK;
	}
	if (status == SN_OK) {
		fputs("<section class=\"panel drawn only-static\">\n", out);
		sn_comm_write_svg(graphs, made, out);
		fputs("</section>\n", out);
	}
	for (size_t i = 0; i < made; i++)
		sn_comm_graph_free(&graphs[i]);
	sn_vec_release(graphs);
	return status;
}

static void write_traffic(struct sn_json *json, const struct sn_comm_profile *p)
{
	sn_json_key(json, "traffic");
	sn_json_array(json);
	for (size_t i = 0; i < p->traffic.count; i++) {
		const struct sn_comm_traffic *t = &p->traffic.items[i];

		sn_json_object(json);
		sn_json_member_int(json, "line", t->line);
		sn_json_member_int(json, "phase", t->phase);
		sn_json_member_int(json, "zone", t->zone);
		sn_json_member_bool(json, "broadcast", t->is_broadcast);
		sn_json_member_string(json, "source", t->source);
		sn_json_member_string(json, "target", t->target);
		sn_json_member_int(json, "from", t->from);
		sn_json_member_int(json, "to", t->to);
		sn_json_member_uint(json, "messages", t->messages);
		sn_json_member_uint(json, "bytes", t->bytes);
		sn_json_member_double(json, "wait_s", t->wait_s);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_assignments(struct sn_json *json, const struct sn_comm_profile *p)
{
	sn_json_key(json, "assignments");
	sn_json_array(json);
	for (size_t i = 0; i < p->assignments.count; i++) {
		const struct sn_comm_assignments *a = &p->assignments.items[i];

		sn_json_object(json);
		sn_json_member_int(json, "phase", a->phase);
		sn_json_member_int(json, "zone", a->zone);
		sn_json_member_int(json, "node", a->node);
		sn_json_member_uint(json, "count", a->count);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_times(struct sn_json *json, const struct sn_comm_profile *p)
{
	sn_json_key(json, "phase_times");
	sn_json_array(json);
	for (size_t i = 0; i < p->phase_times.count; i++) {
		const struct sn_comm_phase_time *t = &p->phase_times.items[i];

		sn_json_object(json);
		sn_json_member_int(json, "phase", t->phase);
		sn_json_member_int(json, "node", t->node);
		sn_json_member_uint(json, "calls", t->calls);
		sn_json_member_double(json, "trigger_wait_s", t->trigger_wait_s);
		sn_json_member_double(json, "distribution_s", t->distribution_s);
		sn_json_member_double(json, "run_s", t->run_s);
		sn_json_member_double(json, "other_wait_s", t->other_wait_s);
		sn_json_member_double(json, "collection_s", t->collection_s);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_key(json, "zone_times");
	sn_json_array(json);
	for (size_t i = 0; i < p->zone_times.count; i++) {
		const struct sn_comm_zone_time *t = &p->zone_times.items[i];

		sn_json_object(json);
		sn_json_member_int(json, "zone", t->zone);
		sn_json_member_int(json, "node", t->node);
		sn_json_member_uint(json, "executions", t->executions);
		sn_json_member_double(json, "time_s", t->time_s);
		sn_json_close(json);
	}
	sn_json_close(json);
}

static void write_profile(struct sn_json *json, const struct sn_comm_profile *p, const char *name)
{
	sn_json_object(json);
	sn_json_member_string(json, "name", name);
	sn_json_member_string(json, "source", p->source);
	sn_json_member_string(json, "scheme", p->scheme);
	sn_json_member_string(json, "backend", p->backend);
	sn_json_member_int(json, "nodes", p->nodes);
	sn_json_key(json, "phases");
	sn_json_array(json);
	for (size_t i = 0; i < p->phases.count; i++)
		sn_json_string(json, p->phases.items[i]);
	sn_json_close(json);
	sn_json_key(json, "zones");
	sn_json_array(json);
	for (size_t i = 0; i < p->zones.count; i++) {
		sn_json_object(json);
		sn_json_member_string(json, "zone", p->zones.items[i].name);
		sn_json_member_int(json, "phase", p->zones.items[i].phase);
		sn_json_close(json);
	}
	sn_json_close(json);
	write_traffic(json, p);
	write_assignments(json, p);
	write_times(json, p);
	sn_json_close(json);
}

void sn_page_comm_data(const struct sn_pandore_page *page, FILE *out)
{
	static const char *const groups[] = { "partition", "node", "variable" };
	static const char *const values[] = { "messages", "bytes", "wait_s" };
	struct sn_json json = { .out = out };

	fputs("<script type=\"application/json\" id=\"comm\">", out);
	sn_json_object(&json);
	sn_json_key(&json, "view");
	sn_json_object(&json);
	sn_json_member_string(&json, "phase", page->choice->phase);
	sn_json_member_string(&json, "zone", page->choice->zone);
	sn_json_member_string(&json, "nodes", page->choice->nodes);
	sn_json_member_string(&json, "variables", page->choice->variables);
	sn_json_member_string(&json, "by", groups[page->choice->group]);
	sn_json_member_string(&json, "value", values[page->value]);
	sn_json_close(&json);
	sn_json_key(&json, "profiles");
	sn_json_array(&json);
	for (size_t i = 0; i < page->profile_count; i++)
		write_profile(&json, page->profiles[i], page->profile_names[i]);
	sn_json_close(&json);
	sn_json_close(&json);
	fputs("</script>\n", out);
}
