/* The views of data addresses (record -e +EVENT): by object, and by page of memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "heap/blocks.h"
#include "profile/data_blocks.h"
#include "views/parts.h"
#include "wire/counters.h"
#include "wire/data.h"

enum { PAGE_BYTES = 4096, LINE_BYTES = 64 };

/* What is summed by: an object, or a page (a cache line) of a process. */
struct group {
	uint32_t event, process;
	uint64_t page, address;
	int64_t time_ns;
	struct sn_data_object object;
	double count;
	uint64_t samples, weighed, weight;
	/* the call path with most of the events, and the one that is being summed */
	uint32_t best_stack, run_stack;
	double best_count, run_count;
	uint64_t data_source;
};

struct groups {
	SN_VEC(struct group) items;
	double *event_count; /* by event: all with an address */
	struct sn_data_objects *objects;
	struct sn_arena names;
	struct sn_map block_names; /* a call path and whether it is new -> its name, in `names` */
};

static bool is_same(const struct group *a, const struct group *b, bool is_by_page)
{
	if (a->event != b->event)
		return false;
	if (is_by_page)
		return a->process == b->process && a->page == b->page;
	return a->object.kind == b->object.kind && !strcmp(a->object.name, b->object.name) &&
	       (a->object.module ? b->object.module && !strcmp(a->object.module, b->object.module)
				 : !b->object.module);
}

static int by_page(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return (x->run_stack > y->run_stack) - (x->run_stack < y->run_stack);
}

static int by_object(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int order;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->object.kind != y->object.kind)
		return x->object.kind < y->object.kind ? -1 : 1;
	order = strcmp(x->object.module ? x->object.module : "",
		       y->object.module ? y->object.module : "");
	if (!order)
		order = strcmp(x->object.name, y->object.name);
	return order ? order : (x->run_stack > y->run_stack) - (x->run_stack < y->run_stack);
}

/* Neighbours that are the same become one. */
static void groups_merge(struct groups *groups, bool is_by_page)
{
	size_t kept = 0;

	if (!groups->items.count)
		return;
	qsort(groups->items.items, groups->items.count, sizeof(*groups->items.items),
	      is_by_page ? by_page : by_object);
	for (size_t i = 0; i < groups->items.count; i++) {
		const struct group *next = &groups->items.items[i];
		struct group *last = kept ? &groups->items.items[kept - 1] : NULL;

		if (!last || !is_same(last, next, is_by_page)) {
			groups->items.items[kept++] = *next;
			continue;
		}
		last->count += next->count;
		last->samples++;
		last->weighed += next->weighed;
		last->weight += next->weight;
		last->run_count = last->run_stack == next->run_stack ? last->run_count + next->count
								     : next->count;
		last->run_stack = next->run_stack;
		if (last->run_count > last->best_count) {
			last->best_count = last->run_count;
			last->best_stack = last->run_stack;
			last->data_source = next->data_source;
		}
	}
	groups->items.count = kept;
}

/* Memory of no file is told by the line of the program that met it. */
static const char *memory_name(struct groups *groups, const struct sn_program *program,
			       uint32_t stack)
{
	struct sn_text text = { 0 };
	const char *name;

	sn_text_add(&text, "memory of ");
	sn_site_add_name(program, sn_site_of(program, stack), &text);
	name = sn_arena_strdup(&groups->names, text.chars);
	sn_text_free(&text);
	return name;
}

/* ---- blocks of the heap, where it was traced, too ---- */

/* Clocks of processors, and of traces and events, may differ by a little. */
static const int64_t clocks_differ_ns = 1000000;

static bool is_same_site(const struct sn_program *program, uint32_t a, uint32_t b)
{
	struct sn_site x = sn_site_of(program, a), y = sn_site_of(program, b);

	return x.function == y.function && x.line == y.line;
}

/* The block that an event happened at. The call that allocates a block may clear or fill it before anybody knows of the
 * block: such an event is at the call's site, and the block is the next one there. */
static const struct sn_heap_lived *block_of(const struct sn_program *program,
					    const struct sn_heap_blocks *blocks,
					    const struct group *group)
{
	uint64_t first, last;
	const struct sn_heap_lived *block =
		sn_heap_block_at(blocks, group->process, group->address, group->time_ns,
				 group->time_ns + clocks_differ_ns, &first, &last);

	if (block)
		return block;
	block = sn_heap_block_at(blocks, group->process, group->address, group->time_ns, INT64_MAX,
				 &first, &last);
	return block && is_same_site(program, block->stack, group->run_stack) ? block : NULL;
}

static const char *block_name(struct groups *groups, const struct sn_program *program,
			      uint32_t stack)
{
	bool is_first;
	uint64_t *there = sn_map_put(&groups->block_names, stack, &is_first);

	if (is_first)
		*there = (uint64_t)(uintptr_t)sn_data_block_name(groups->objects, program, stack,
								 &groups->names);
	return (const char *)(uintptr_t)*there;
}

static sn_status blocks_find(const struct sn_program *program, struct groups *groups,
			     struct sn_error *err)
{
	struct sn_heap_blocks *blocks = NULL;
	sn_heap_ranges asked = { 0 };
	sn_status status;

	for (size_t i = 0; i < groups->items.count; i++) {
		const struct group *g = &groups->items.items[i];

		if (g->object.kind == SN_DATA_MEMORY)
			sn_vec_push(&asked,
				    ((struct sn_heap_range){ g->process, g->address, g->address }));
	}
	status = sn_heap_blocks_read(program->experiment, &asked, &blocks, err);
	for (size_t i = 0; blocks && i < groups->items.count; i++) {
		struct group *g = &groups->items.items[i];
		const struct sn_heap_lived *block = NULL;

		if (g->object.kind == SN_DATA_MEMORY)
			block = block_of(program, blocks, g);
		if (!block)
			continue;
		g->object.kind = SN_DATA_HEAP;
		g->object.name = block_name(groups, program, block->stack);
	}
	sn_heap_blocks_free(blocks);
	sn_vec_free(&asked);
	return status;
}

/* By pieces of memory of so many bytes; 0: by object. */
static sn_status groups_find(const struct sn_view_input *input, uint64_t piece_bytes,
			     struct groups *groups, struct sn_error *err)
{
	bool is_by_page = piece_bytes != 0;
	const struct sn_profile *p = input->profile;
	const struct sn_experiment *e = p->experiment;
	sn_status status;

	*groups = (struct groups){ .event_count =
					   sn_alloc_zeroed(e->events.count + 1, sizeof(double)),
				   .objects = sn_data_objects_new(e) };
	for (size_t i = 0; i < e->event_counts.count; i++) {
		const struct sn_event_count *count = &e->event_counts.items[i];
		struct sn_sample sample = { .time_ns = count->time_ns,
					    .thread = count->thread,
					    .stack = count->stack,
					    .cpu = count->cpu };
		struct group group = { .event = count->event,
				       .process = e->threads.items[count->thread].process,
				       .page = is_by_page
						       ? count->address / piece_bytes * piece_bytes
						       : 0,
				       .address = count->address,
				       .time_ns = count->time_ns,
				       .count = count->count,
				       .samples = 1,
				       .weighed = count->weight != 0,
				       .weight = count->weight,
				       .best_stack = count->stack,
				       .best_count = count->count,
				       .run_stack = count->stack,
				       .run_count = count->count,
				       .data_source = count->data_source };

		if (!(count->flags & SN_COUNT_ADDRESS) || !count->address ||
		    !sn_profile_has_sample(p, &sample))
			continue;
		group.object = sn_data_object_at(groups->objects, group.process, count->address,
						 count->time_ns);
		groups->event_count[group.event] += group.count;
		sn_vec_push(&groups->items, group);
	}
	status = blocks_find(p->program, groups, err);
	for (size_t i = 0; i < groups->items.count && !is_by_page; i++) {
		struct group *g = &groups->items.items[i];

		if (g->object.kind == SN_DATA_MEMORY)
			g->object.name = memory_name(groups, p->program, g->best_stack);
	}
	groups_merge(groups, is_by_page);
	return status;
}

static void groups_free(struct groups *groups)
{
	sn_vec_free(&groups->items);
	sn_data_objects_free(groups->objects);
	free(groups->event_count);
	sn_arena_free(&groups->names);
	sn_map_free(&groups->block_names);
}

static void why_empty(const struct sn_view_input *input, struct sn_text *out)
{
	(void)input;
	sn_text_add(
		out,
		"no data addresses were taken; 'sonde record -e +page-faults:1 PROGRAM' takes those of "
		"page faults, '+' before a precise event of the processor those of accesses");
}

static const char *kind_name(const struct sn_data_object *object)
{
	static const char *const names[] = { [SN_DATA_VARIABLE] = "variable",
					     [SN_DATA_SECTION] = "section",
					     [SN_DATA_MEMORY] = "memory",
					     [SN_DATA_HEAP] = "heap" };

	return names[object->kind];
}

/* ---- by object ---- */

enum {
	D_OBJECT,
	D_KIND,
	D_EVENT,
	D_COUNT,
	D_SHARE,
	D_SAMPLES,
	D_LATENCY,
	D_TYPE,
	D_MODULE,
	D_SITE,
	D_FUNCTION,
	D_FILE,
	D_LINE,
	D_SITE_MODULE,
};

static const struct sn_column dataspace_columns[] = {
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "event", "event", SN_CELL_TEXT, 0 },
	{ "count", "events", SN_CELL_INT, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "latency_cycles", "latency", SN_CELL_REAL, 0 },
	{ "type", "type", SN_CELL_TEXT, 0 },
	{ "object_module", "module", SN_CELL_TEXT, 0 },
	{ "site", "mostly from", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
};

static sn_status dataspace_fill(const struct sn_view_input *input, struct sn_table *table,
				struct sn_error *err)
{
	static const struct sn_site_columns site = { D_SITE, D_FUNCTION, D_FILE, D_LINE,
						     D_SITE_MODULE };
	const struct sn_experiment *e = input->profile->experiment;
	struct groups groups;
	sn_status status;

	status = groups_find(input, 0, &groups, err);
	for (size_t i = 0; status == SN_OK && i < groups.items.count; i++) {
		const struct group *g = &groups.items.items[i];

		sn_table_add_row(table);
		sn_table_set_text(table, D_OBJECT, g->object.name);
		sn_table_set_text(table, D_KIND, kind_name(&g->object));
		sn_table_set_text(table, D_EVENT, e->events.items[g->event].name);
		sn_table_set_int(table, D_COUNT, (int64_t)g->count);
		sn_table_set_real(table, D_SHARE, g->count / groups.event_count[g->event]);
		sn_table_set_int(table, D_SAMPLES, (int64_t)g->samples);
		if (g->weighed)
			sn_table_set_real(table, D_LATENCY, (double)g->weight / (double)g->weighed);
		sn_table_set_text(table, D_TYPE, g->object.type);
		sn_table_set_text(table, D_MODULE, g->object.module);
		sn_view_set_site(table, &site, input->profile->program,
				 sn_site_of(input->profile->program, g->best_stack));
	}
	groups_free(&groups);
	return status;
}

static const struct sn_explanation dataspace_words[] = {
	{ "latency_cycles", "count",
	  "What an access took on average, in cycles, as the processor says of precise events; unknown of others.",
	  "event" },
	{ "object_module", "text", "The program or library that the object is in.", "object" },
	{ 0 },
};

const struct sn_view sn_view_dataspace = {
	.name = "dataspace",
	.title = "data that events happened at (record -e +EVENT), by variable",
	.needs = SN_VIEW_NEEDS_EVENTS,
	.schema = "sonde.dataspace/1",
	.columns = dataspace_columns,
	.column_count = sizeof(dataspace_columns) / sizeof(*dataspace_columns),
	.words = dataspace_words,
	.text_columns = "event,share,count,latency_cycles,kind,object,type,object_module,site",
	.sort = "count",
	.fill = dataspace_fill,
	.why_empty = why_empty,
};

/* ---- by page ---- */

enum {
	P_PAGE,
	P_PROCESS,
	P_EVENT,
	P_COUNT,
	P_SHARE,
	P_SAMPLES,
	P_LATENCY,
	P_LEVEL,
	P_OBJECT,
	P_KIND,
	P_SITE,
	P_FUNCTION,
	P_FILE,
	P_LINE,
	P_MODULE,
};

static const struct sn_column memory_columns[] = {
	{ "page", "page", SN_CELL_TEXT, 0 },
	{ "process", "process", SN_CELL_INT, 0 },
	{ "event", "event", SN_CELL_TEXT, 0 },
	{ "count", "events", SN_CELL_INT, 0 },
	{ "share", "share", SN_CELL_SHARE, 0 },
	{ "samples", "samples", SN_CELL_INT, 0 },
	{ "latency_cycles", "latency", SN_CELL_REAL, 0 },
	{ "data_level", "from", SN_CELL_TEXT, 0 },
	{ "object", "object", SN_CELL_TEXT, 0 },
	{ "kind", "kind", SN_CELL_TEXT, 0 },
	{ "site", "mostly from", SN_CELL_TEXT, 0 },
	{ "function", NULL, SN_CELL_TEXT, 0 },
	{ "file", NULL, SN_CELL_TEXT, 0 },
	{ "line", NULL, SN_CELL_INT, 0 },
	{ "module", NULL, SN_CELL_TEXT, 0 },
};

static sn_status memory_fill(const struct sn_view_input *input, struct sn_table *table,
			     struct sn_error *err)
{
	static const struct sn_site_columns site = { P_SITE, P_FUNCTION, P_FILE, P_LINE, P_MODULE };
	const struct sn_experiment *e = input->profile->experiment;
	struct groups groups;
	sn_status status;

	if (input->by && strcmp(input->by, "page") != 0 && strcmp(input->by, "line") != 0)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--by takes page or line (of the caches, 64 bytes), not '%s'",
				    input->by);
	status = groups_find(input, input->by && input->by[0] == 'l' ? LINE_BYTES : PAGE_BYTES,
			     &groups, err);
	for (size_t i = 0; status == SN_OK && i < groups.items.count; i++) {
		const struct group *g = &groups.items.items[i];
		const char *level = sn_counter_level(g->data_source);
		char page[32];

		snprintf(page, sizeof(page), "%#llx", (unsigned long long)g->page);
		sn_table_add_row(table);
		sn_table_set_text(table, P_PAGE, page);
		sn_table_set_int(table, P_PROCESS, g->process);
		sn_table_set_text(table, P_EVENT, e->events.items[g->event].name);
		sn_table_set_int(table, P_COUNT, (int64_t)g->count);
		sn_table_set_real(table, P_SHARE, g->count / groups.event_count[g->event]);
		sn_table_set_int(table, P_SAMPLES, (int64_t)g->samples);
		if (g->weighed)
			sn_table_set_real(table, P_LATENCY, (double)g->weight / (double)g->weighed);
		if (level[0])
			sn_table_set_text(table, P_LEVEL, level);
		sn_table_set_text(table, P_OBJECT, g->object.name);
		sn_table_set_text(table, P_KIND, kind_name(&g->object));
		sn_view_set_site(table, &site, input->profile->program,
				 sn_site_of(input->profile->program, g->best_stack));
	}
	groups_free(&groups);
	return status;
}

static const struct sn_explanation memory_words[] = {
	{ "page", "text",
	  "The address of a page of 4,096 bytes, in the process; with --by line, of a cache line of 64 bytes.",
	  "event" },
	{ "data_level", "text",
	  "Where the memory system found what the heaviest sample asked for, as the processor says: L1, L2, L3, RAM "
	  "...; unknown of software events.",
	  "event" },
	{ 0 },
};

const struct sn_view sn_view_memory = {
	.name = "memory",
	.title =
		"data that events happened at (record -e +EVENT), by page; --by line: by cache line",
	.takes_by = true,
	.needs = SN_VIEW_NEEDS_EVENTS,
	.schema = "sonde.memory/1",
	.columns = memory_columns,
	.column_count = sizeof(memory_columns) / sizeof(*memory_columns),
	.words = memory_words,
	.text_columns = "event,share,count,latency_cycles,data_level,page,process,object,site",
	.sort = "count",
	.fill = memory_fill,
	.why_empty = why_empty,
};
