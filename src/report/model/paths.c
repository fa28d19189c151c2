/* Call paths, places and records: what the page aggregates when a filter is set. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"
#include "profile/blocked.h"
#include "report/model/model_parts.h"

struct builder {
	struct sn_report *report;
	const struct sn_profile *profile;
	const struct sn_program *program;
	struct sn_map nodes;  /* (parent + 1, entity) -> node + 1 */
	struct sn_map points; /* (node, place << 5 | category << 1 | system), mixed -> point + 1 */
	uint32_t *node_of;    /* by stack */
	uint32_t *place_of;   /* by place of the program */
	uint32_t *point_of;   /* by stack * 2 + system; SN_NONE: not met */
	bool is_folded;	      /* a node was refused since this was last cleared */
};

/* ---- nodes ---- */

static uint32_t find_node(struct builder *b, uint32_t parent, bool is_loop, uint32_t index)
{
	uint64_t key = (uint64_t)(parent + 1) << 32 | (uint64_t)index << 1 | is_loop;
	bool is_new;
	uint64_t *slot;

	if (b->report->nodes.count >= SN_REPORT_NODES_MAX) {
		slot = sn_map_get(&b->nodes, key);
		b->is_folded |= !slot;
		return slot ? (uint32_t)*slot : parent; /* folded into the path above */
	}
	slot = sn_map_put(&b->nodes, key, &is_new);
	if (is_new) {
		*slot = b->report->nodes.count;
		sn_vec_push(&b->report->nodes,
			    (struct sn_report_node){ .parent = parent,
						     .function = is_loop ? SN_NONE : index,
						     .loop = is_loop ? index : SN_NONE });
	}
	return (uint32_t)*slot;
}

static uint32_t add_stack(struct builder *b, uint32_t stack, struct sn_step_vec *steps)
{
	uint32_t node = SN_NONE;

	sn_program_stack_steps(b->program, stack, steps);
	for (size_t i = 0; i < steps->count; i++) {
		bool is_loop = steps->items[i].kind == SN_STEP_LOOP;
		uint32_t index = (is_loop ? b->report->loop_of
					  : b->report->function_of)[steps->items[i].index];

		if (index != SN_NONE)
			node = find_node(b, node, is_loop, index);
	}
	return node;
}

struct heavy {
	uint64_t weight;
	uint32_t stack;
};

static int compare_heavy(const void *left, const void *right)
{
	const struct heavy *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/** Heavy stacks first, so that what is folded for want of room weighs least. */
static void add_stacks(struct builder *b)
{
	uint32_t count = b->program->stack_count + 1;
	struct heavy *order = sn_alloc((size_t)count * sizeof(*order));
	struct sn_step_vec steps = { 0 };
	size_t used = 0;
	double folded = 0, whole = 0;

	b->node_of = sn_alloc((size_t)count * sizeof(uint32_t));
	memset(b->node_of, 0xff, (size_t)count * sizeof(uint32_t));
	for (uint32_t s = 0; s < count; s++) {
		const struct sn_weight *w = &b->profile->stacks[s];

		if (w->cpu_ns || w->wait_ns || w->samples || w->waits)
			order[used++] = (struct heavy){ w->cpu_ns + w->wait_ns, s };
	}
	qsort(order, used, sizeof(*order), compare_heavy);
	for (size_t i = 0; i < used; i++) {
		b->is_folded = false;
		b->node_of[order[i].stack] = add_stack(b, order[i].stack, &steps);
		folded += b->is_folded ? (double)order[i].weight : 0;
		whole += (double)order[i].weight;
	}
	b->report->folded_share = whole > 0 ? folded / whole : 0;
	sn_vec_free(&steps);
	free(order);
}

/** Numbers nodes so that the descendants of each follow it, and all that refers to them. */
static void order_nodes(struct builder *b)
{
	struct sn_report *report = b->report;
	size_t count = report->nodes.count, open_count = 0, next = 0;
	uint32_t *first_child = sn_alloc((count + 1) * sizeof(uint32_t));
	uint32_t *sibling = sn_alloc((count + 1) * sizeof(uint32_t));
	uint32_t *open = sn_alloc((count + 1) * sizeof(uint32_t));
	uint32_t *number = sn_alloc((count + 1) * sizeof(uint32_t));
	struct sn_report_node *ordered = sn_alloc((count + 1) * sizeof(*ordered));
	uint32_t roots = SN_NONE;

	memset(first_child, 0xff, (count + 1) * sizeof(uint32_t));
	for (size_t i = count; i-- > 0;) {
		uint32_t parent = report->nodes.items[i].parent;
		uint32_t *head = parent == SN_NONE ? &roots : &first_child[parent];

		sibling[i] = *head;
		*head = (uint32_t)i;
	}
	/* The stack holds a node and, below it, its next sibling: never more than there are nodes.
	 */
	if (roots != SN_NONE)
		open[open_count++] = roots;
	while (open_count) {
		uint32_t node = open[--open_count];

		number[node] = (uint32_t)next;
		ordered[next] = report->nodes.items[node];
		if (ordered[next].parent != SN_NONE)
			ordered[next].parent = number[ordered[next].parent];
		next++;
		if (sibling[node] != SN_NONE)
			open[open_count++] = sibling[node];
		if (first_child[node] != SN_NONE)
			open[open_count++] = first_child[node];
	}
	if (count)
		memcpy(report->nodes.items, ordered, count * sizeof(*ordered));
	for (uint32_t s = 0; s <= b->program->stack_count; s++)
		if (b->node_of[s] != SN_NONE)
			b->node_of[s] = number[b->node_of[s]];
	free(first_child);
	free(sibling);
	free(open);
	free(number);
	free(ordered);
}

/* ---- places and points ---- */

static uint32_t add_place(struct builder *b, uint32_t place)
{
	const struct sn_program_place *from = &b->program->places.items[place];
	const struct sn_program_line *line =
		from->line == SN_NONE ? NULL : &b->program->lines.items[from->line];

	if (b->place_of[place] != SN_NONE)
		return b->place_of[place];
	b->place_of[place] = (uint32_t)b->report->places.count;
	sn_vec_push(
		&b->report->places,
		(struct sn_report_place){
			.module = from->module,
			.link_addr = from->link_addr,
			.function = b->report->function_of[from->function],
			.loop = from->loop == SN_NONE ? SN_NONE : b->report->loop_of[from->loop],
			.file = line ? sn_report_file(b->report, line->file) : SN_NONE,
			.line = line ? line->line : 0 });
	return b->place_of[place];
}

static uint32_t find_point(struct builder *b, uint32_t stack, bool is_system)
{
	const struct sn_class *class = &b->program->classes[stack];
	uint8_t category = is_system ? class->system : class->user;
	uint32_t leaf = b->program->frame_places[b->program->first_frame[stack]];
	uint32_t place = add_place(b, leaf), node = b->node_of[stack];
	/* Places number under 2^26 by far (each stands for a sampled address). */
	uint64_t key =
		(uint64_t)node << 32 | (uint64_t)place << 5 | (uint64_t)category << 1 | is_system;
	bool is_new;
	uint64_t *slot = sn_map_put(&b->points, key, &is_new);

	if (is_new) {
		*slot = b->report->points.count;
		sn_vec_push(&b->report->points, (struct sn_report_point){ .node = node,
									  .place = place,
									  .category = category,
									  .is_system = is_system });
	}
	return (uint32_t)*slot;
}

static uint32_t point_of(struct builder *b, uint32_t stack, bool is_system)
{
	uint32_t *point = &b->point_of[(size_t)stack * 2 + is_system];

	if (*point == SN_NONE)
		*point = find_point(b, stack, is_system);
	return *point;
}

static uint32_t point_of_sample(struct builder *b, const struct sn_sample *sample)
{
	uint32_t none = b->program->stack_count;

	return point_of(b, sample->stack < none ? sample->stack : none,
			sample->flags & SN_SAMPLE_SYSTEM);
}

/* ---- records ---- */

static struct sn_report_record record_of(struct builder *b, const struct sn_sample *sample)
{
	struct sn_report_record record = {
		.time_ns = sample->time_ns,
		.thread = sample->thread,
		.cpu_ns = sample->cpu_ns,
		.samples = sample->flags & SN_SAMPLE_REMAINDER ? 0 : 1,
	};
	const struct sn_report_record *before =
		b->report->records.count ? &sn_vec_last(&b->report->records) : NULL;

	/* At most a period for each thread: it goes where the thread was last. */
	if (sn_program_is_rest(b->program, sample) && before && before->thread == sample->thread &&
	    before->samples)
		record.point = before->point;
	else
		record.point = point_of_sample(b, sample);
	return record;
}

/** Sums by point are those of the profile; true if every sample fits as a record. */
static bool add_totals(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	size_t count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t point;

		if (!sn_profile_has_sample(b->profile, sample))
			continue;
		count++;
		if (sn_program_is_rest(b->program, sample))
			continue;
		point = point_of_sample(b, sample);
		b->report->points.items[point].samples +=
			sample->flags & SN_SAMPLE_REMAINDER ? 0 : 1;
	}
	for (uint32_t s = 0; s <= b->program->stack_count; s++) {
		const struct sn_weight *w = &b->profile->stacks[s];
		uint32_t point;

		if (w->cpu_ns > w->system_ns) {
			point = point_of(b, s, false);
			b->report->points.items[point].cpu_ns += w->cpu_ns - w->system_ns;
		}
		if (w->system_ns) {
			point = point_of(b, s, true);
			b->report->points.items[point].cpu_ns += w->system_ns;
		}
	}
	return count <= SN_REPORT_RECORDS_MAX;
}

/** Merges samples of one thread, slice and point. Stops, and answers false, beyond the limit. */
static bool merge_records(struct builder *b, int64_t slice_ns)
{
	const struct sn_experiment *e = b->profile->experiment;
	size_t points = b->report->points.count;
	uint32_t *last = sn_alloc_zeroed(points + 1, sizeof(uint32_t)); /* record + 1 of a point */
	size_t group_start = 0; /* the first record of this thread and slice */
	uint32_t thread = SN_NONE;
	int64_t slice = -1;
	bool fits = true;

	b->report->records.count = 0;
	for (size_t i = 0; i < e->samples.count && fits; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		struct sn_report_record record;
		int64_t at = sample->time_ns / slice_ns;

		if (!sn_profile_has_sample(b->profile, sample))
			continue;
		record = record_of(b, sample);
		if (sample->thread != thread || at != slice) {
			thread = sample->thread;
			slice = at;
			group_start = b->report->records.count;
		}
		if (last[record.point] > group_start) {
			struct sn_report_record *into =
				&b->report->records.items[last[record.point] - 1];

			into->cpu_ns += record.cpu_ns;
			into->samples += record.samples;
			continue;
		}
		fits = b->report->records.count < SN_REPORT_RECORDS_MAX;
		record.time_ns = at * slice_ns;
		sn_vec_push(&b->report->records, record);
		last[record.point] = (uint32_t)b->report->records.count;
	}
	free(last);
	return fits;
}

/** So many different paths that merging does not help: of every few successive samples of a thread
 * one, picked at random, stands for all. It carries their time, and counts as one observation. */
static void thin_records(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	uint32_t stride = (uint32_t)(e->samples.count / SN_REPORT_RECORDS_MAX) + 1;
	uint32_t thread = SN_NONE, seen = 0;
	struct sn_random dice;

	sn_random_seed(&dice, 1); /* the same experiment gives the same page */
	b->report->stride = stride;
	b->report->records.count = 0;
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		struct sn_report_record record, *last;

		if (!sn_profile_has_sample(b->profile, sample))
			continue;
		record = record_of(b, sample);
		if (sample->thread != thread || seen == stride) {
			thread = sample->thread;
			seen = 1;
			sn_vec_push(&b->report->records, record);
			continue;
		}
		seen++;
		last = &sn_vec_last(&b->report->records);
		last->cpu_ns += record.cpu_ns;
		if (record.samples && sn_random_below(&dice, seen) == 0) /* each with 1 / seen */
			last->point = record.point;
		last->samples |= record.samples;
		last->time_ns = record.time_ns;
	}
}

static void add_records(struct builder *b, bool every_sample_fits)
{
	const struct sn_experiment *e = b->profile->experiment;
	int64_t span = b->report->elapsed_ns > 0 ? b->report->elapsed_ns : 1;

	if (every_sample_fits) {
		for (size_t i = 0; i < e->samples.count; i++)
			if (sn_profile_has_sample(b->profile, &e->samples.items[i]))
				sn_vec_push(&b->report->records,
					    record_of(b, &e->samples.items[i]));
		return;
	}
	for (int64_t slices = SN_REPORT_TIMELINE_SLICES; slices >= SN_REPORT_SLICES_MIN;
	     slices /= 2) {
		int64_t slice_ns = (span + slices - 1) / slices;

		slice_ns = (slice_ns + 999) / 1000 * 1000; /* whole microseconds */
		b->report->slice_ns = slice_ns;
		if (merge_records(b, slice_ns))
			return;
	}
	b->report->slice_ns = 0;
	thin_records(b);
}

/** As the profile counts waits: by stack, thread and time. */
static bool passes_filter(const struct sn_profile *profile, const struct sn_wait *wait,
			  uint32_t stack)
{
	int64_t end_ns = wait->time_ns + (int64_t)wait->duration_ns;

	return profile->stacks[stack].waits && profile->threads[wait->thread].waits &&
	       end_ns > profile->from_ns &&
	       (!profile->is_filtered || wait->time_ns < profile->to_ns);
}

/** Waits are few; where they are not, those of one thread, slice, path and kind are merged. */
static void add_waits(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	int64_t slice_ns = 1;
	size_t limit = SN_REPORT_WAITS_MAX;
	struct sn_map seen = { 0 };

	if (e->waits.count > limit)
		slice_ns = (b->report->elapsed_ns + 1023) / 1024 + 1;
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *from = &e->waits.items[i];
		uint32_t stack = from->stack < b->program->stack_count ? from->stack
								       : b->program->stack_count;
		struct sn_report_wait wait = { .time_ns = from->time_ns,
					       .duration_ns = sn_blocked_part(b->profile, from,
									      from->duration_ns),
					       .thread = from->thread,
					       .node = b->node_of[stack],
					       .count = 1,
					       .kind = from->kind };
		uint64_t key = sn_hash_pair((uint64_t)wait.thread << 32 | wait.node,
					    (uint64_t)(from->time_ns / slice_ns) << 4 | wait.kind);
		uint64_t *slot = NULL;
		bool is_new = true;

		if (!passes_filter(b->profile, from, stack) || !wait.duration_ns)
			continue;
		if (slice_ns > 1)
			slot = sn_map_put(&seen, key, &is_new);
		if (is_new && b->report->waits.count < limit) {
			if (slot)
				*slot = b->report->waits.count;
			sn_vec_push(&b->report->waits, wait);
		} else if (slot && !is_new) {
			b->report->waits.items[*slot].duration_ns += wait.duration_ns;
			b->report->waits.items[*slot].count++;
		}
	}
	sn_map_free(&seen);
}

static int compare_points(const void *left, const void *right)
{
	const struct sn_report_point *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->category != b->category)
		return a->category < b->category ? -1 : 1;
	return a->is_system - b->is_system;
}

/** Points in the order of their nodes: like ones stand together, which compresses. */
static void order_points(struct builder *b)
{
	struct sn_report *report = b->report;
	size_t count = report->points.count;
	struct sn_report_point *sorted = sn_alloc((count + 1) * sizeof(*sorted));
	uint32_t *number = sn_alloc((count + 1) * sizeof(*number));

	if (count)
		memcpy(sorted, report->points.items, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_points);
	for (size_t i = 0; i < count; i++) {
		uint64_t key = (uint64_t)sorted[i].node << 32 | (uint64_t)sorted[i].place << 5 |
			       (uint64_t)sorted[i].category << 1 | sorted[i].is_system;

		number[*sn_map_get(&b->points, key)] = (uint32_t)i;
	}
	for (size_t i = 0; i < report->records.count; i++)
		report->records.items[i].point = number[report->records.items[i].point];
	if (count)
		memcpy(report->points.items, sorted, count * sizeof(*sorted));
	free(sorted);
	free(number);
}

void sn_report_add_paths(struct sn_report *report)
{
	const struct sn_profile *profile = report->profile;
	struct builder b = { .report = report, .profile = profile, .program = profile->program };
	size_t stacks = (size_t)profile->program->stack_count + 1;

	b.place_of = sn_alloc((profile->program->places.count + 1) * sizeof(uint32_t));
	memset(b.place_of, 0xff, (profile->program->places.count + 1) * sizeof(uint32_t));
	b.point_of = sn_alloc(stacks * 2 * sizeof(uint32_t));
	memset(b.point_of, 0xff, stacks * 2 * sizeof(uint32_t));
	add_stacks(&b);
	order_nodes(&b);
	add_records(&b, add_totals(&b));
	order_points(&b);
	add_waits(&b);
	sn_map_free(&b.nodes);
	sn_map_free(&b.points);
	free(b.node_of);
	free(b.place_of);
	free(b.point_of);
}
