/*
 * From events in any order to the tables of the lattice: check, link dependencies, compute clocks
 * in Kahn's order, then project away what is not observed. What is wrong becomes a fault with its
 * place; the events that do not depend on it stay.
 */
#include "pandore/lattice/execution.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const uint64_t TABLES_MAX_BYTES = 8000000000;
static const uint32_t NO_NAME = UINT32_MAX;

struct sn_execution_record {
	uint32_t process, index, where, line;
	uint32_t label, file; /* numbers in `names`, or NO_NAME */
	uint32_t work_label, work_file, work_line;
	bool is_observed;
	double duration_s, start_s;
	size_t deps_first, deps_count;
	size_t clock_first, clock_count; /* count 0: no clock */
};

void sn_execution_builder_fault(struct sn_execution_builder *builder, uint32_t where,
				const char *format, ...)
{
	char sentence[sizeof(builder->fault.sentence) - 32];
	va_list args;

	if (builder->fault_count++ && where >= builder->fault_where)
		return;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	builder->fault_where = where;
	if (where)
		sn_error_set(&builder->fault, SN_ERR_FORMAT, "line %u: %s", where, sentence);
	else
		sn_error_set(&builder->fault, SN_ERR_FORMAT, "%s", sentence);
}

static uint32_t name_number(struct sn_execution_builder *builder, const char *name)
{
	return name ? sn_intern_string(&builder->names, name) : NO_NAME;
}

/* What can be said of an event without knowing the others. */
static bool is_sane(struct sn_execution_builder *builder, const struct sn_lattice_event *event)
{
	uint32_t limit = builder->process_count ? builder->process_count : SN_LATTICE_PROCESSES_MAX;

	if (event->process >= limit || event->index >= UINT32_MAX / 2) {
		if (builder->process_count && event->process >= limit)
			sn_execution_builder_fault(
				builder, event->where,
				"process %u is unknown: the trace has %u, numbered from 0",
				event->process, limit);
		else
			sn_execution_builder_fault(
				builder, event->where,
				"event %u of process %u is beyond what is supported "
				"(%d processes)",
				event->index, event->process, SN_LATTICE_PROCESSES_MAX);
		return false;
	}
	for (size_t i = 0; i < event->after_count; i++)
		if (event->after[i].process >= limit) {
			sn_execution_builder_fault(
				builder, event->where,
				"event %u of process %u depends on the unknown process %u",
				event->index, event->process, event->after[i].process);
			return false;
		}
	if (event->clock && (event->process >= event->clock_count ||
			     event->clock[event->process] != event->index + 1)) {
		sn_execution_builder_fault(
			builder, event->where,
			"the clock of event %u of process %u must have %u as its own "
			"component",
			event->index, event->process, event->index + 1);
		return false;
	}
	if (event->duration_s < 0 || isinf(event->duration_s) || isinf(event->start_s)) {
		sn_execution_builder_fault(
			builder, event->where,
			"event %u of process %u has a duration or a start that is no "
			"length of time",
			event->index, event->process);
		return false;
	}
	return true;
}

void sn_execution_builder_add(struct sn_execution_builder *builder,
			      const struct sn_lattice_event *event)
{
	struct sn_execution_record record;

	if (!is_sane(builder, event))
		return;
	record = (struct sn_execution_record){
		.process = event->process,
		.index = event->index,
		.where = event->where,
		.line = event->line,
		.label = name_number(builder, event->label),
		.file = name_number(builder, event->file),
		.work_label = name_number(builder, event->work_label),
		.work_file = name_number(builder, event->work_file),
		.work_line = event->work_line,
		.is_observed = event->is_observed,
		.duration_s = event->duration_s,
		.start_s = event->start_s,
		.deps_first = builder->deps.count,
		.deps_count = event->after_count,
		.clock_first = builder->clocks.count,
		.clock_count = event->clock ? event->clock_count : 0,
	};
	for (size_t i = 0; i < event->after_count; i++)
		sn_vec_push(&builder->deps, event->after[i]);
	for (size_t i = 0; i < record.clock_count; i++)
		sn_vec_push(&builder->clocks, event->clock[i]);
	sn_vec_push(&builder->records, record);
}

void sn_execution_builder_free(struct sn_execution_builder *builder)
{
	sn_interner_free(&builder->names);
	sn_vec_free(&builder->records);
	sn_vec_free(&builder->deps);
	sn_vec_free(&builder->clocks);
	*builder = (struct sn_execution_builder){ 0 };
}

/* ---- Building ------------------------------------------------------------------------------- */

/* The events while their clocks are computed. `first` is by contiguous events only. */
struct building {
	struct sn_execution_builder *builder;
	struct sn_execution_record *records; /* sorted; those of the contiguous prefixes only */
	uint32_t *first, process_count, event_count;
	uint32_t *waiting;	       /* dependencies not yet done; UINT32_MAX: never to be done */
	uint32_t *users_first, *users; /* who depends on an event, of other processes */
	uint32_t *done;		       /* events done of each process */
	struct sn_lattice_order order;
};

static int by_place(const void *left, const void *right)
{
	const struct sn_execution_record *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->where < b->where ? -1 : a->where > b->where;
}

static bool are_in_place(const struct sn_execution_record *records, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (by_place(&records[i - 1], &records[i]) > 0)
			return false;
	return true;
}

static uint32_t count_processes(const struct sn_execution_builder *builder)
{
	uint32_t count = builder->process_count;

	for (size_t i = 0; i < builder->records.count && !builder->process_count; i++) {
		const struct sn_execution_record *record = &builder->records.items[i];

		if (record->process >= count)
			count = record->process + 1;
	}
	return count;
}

/* Sorts; drops events given twice and those behind a gap, with a fault for each cause. */
static void keep_contiguous(struct building *b)
{
	struct sn_execution_builder *builder = b->builder;
	struct sn_execution_record *all = builder->records.items;
	size_t kept = 0, i = 0;

	if (!are_in_place(all, builder->records.count))
		qsort(all, builder->records.count, sizeof(*all), by_place);
	for (uint32_t p = 0; p < b->process_count; p++) {
		uint32_t next = 0;

		b->first[p] = (uint32_t)kept;
		for (; i < builder->records.count && all[i].process == p; i++) {
			if (next && all[i].index == next - 1) {
				sn_execution_builder_fault(
					builder, all[i].where,
					"event %u of process %u was given before, on line %u",
					all[i].index, p, all[kept - 1].where);
			} else if (all[i].index == next) {
				all[kept++] = all[i];
				next++;
			} else {
				sn_execution_builder_fault(
					builder, all[i].where,
					"event %u of process %u is there but event %u is "
					"missing",
					all[i].index, p, next);
				break;
			}
		}
		while (i < builder->records.count && all[i].process == p)
			i++;
	}
	b->first[b->process_count] = b->event_count = (uint32_t)kept;
	b->records = all;
}

/* The event number of a dependency, or UINT32_MAX with a fault. */
static uint32_t find_dependency(struct building *b, const struct sn_execution_record *record,
				uint32_t process, uint32_t index)
{
	if (process >= b->process_count)
		sn_execution_builder_fault(
			b->builder, record->where,
			"event %u of process %u depends on the unknown process %u", record->index,
			record->process, process);
	else if (process == record->process && index >= record->index)
		sn_execution_builder_fault(
			b->builder, record->where,
			"event %u of process %u depends on event %u of its own process, "
			"which comes no earlier",
			record->index, record->process, index);
	else if (index >= b->first[process + 1] - b->first[process])
		sn_execution_builder_fault(
			b->builder, record->where,
			"event %u of process %u depends on event %u of process %u, which "
			"is not in the trace",
			record->index, record->process, index, process);
	else
		return b->first[process] + index;
	return UINT32_MAX;
}

/* Calls `visit` for every dependency of a record on another process; false if one cannot be met. */
static bool each_dependency(struct building *b, const struct sn_execution_record *record,
			    void (*visit)(struct building *, uint32_t event, uint32_t user))
{
	uint32_t user = (uint32_t)(record - b->records);
	bool all_there = true;

	for (size_t i = 0; i < record->deps_count + record->clock_count; i++) {
		struct sn_lattice_ref ref;
		uint32_t event;

		if (i < record->deps_count) {
			ref = b->builder->deps.items[record->deps_first + i];
		} else {
			ref.process = (uint32_t)(i - record->deps_count);
			ref.index = b->builder->clocks.items[record->clock_first + ref.process] - 1;
			if (ref.index == UINT32_MAX || ref.process == record->process)
				/* nothing of that process is known; or the event itself */
				continue;
		}
		event = find_dependency(b, record, ref.process, ref.index);
		if (event == UINT32_MAX)
			all_there = false;
		else if (ref.process != record->process)
			visit(b, event, user);
	}
	return all_there;
}

static void count_user(struct building *b, uint32_t event, uint32_t user)
{
	b->users_first[event + 1]++;
	b->waiting[user]++;
}

static void note_user(struct building *b, uint32_t event, uint32_t user)
{
	b->users[b->users_first[event]++] = user;
}

static void link_events(struct building *b)
{
	uint32_t fault_count;

	b->waiting = sn_alloc_zeroed(b->event_count, sizeof(uint32_t));
	b->users_first = sn_alloc_zeroed((size_t)b->event_count + 2, sizeof(uint32_t));
	for (uint32_t e = 0; e < b->event_count; e++) {
		struct sn_execution_record *record = &b->records[e];

		if (!each_dependency(b, record, count_user))
			b->waiting[e] = UINT32_MAX;
		else if (record->index > 0)
			b->waiting[e]++;
	}
	for (uint32_t e = 0; e < b->event_count; e++)
		b->users_first[e + 1] += b->users_first[e];
	b->users = sn_alloc(((size_t)b->users_first[b->event_count] + 1) * sizeof(uint32_t));
	fault_count = b->builder->fault_count;
	for (uint32_t e = 0; e < b->event_count; e++)
		each_dependency(b, &b->records[e], note_user);
	b->builder->fault_count = fault_count; /* each was counted in the first pass */
	memmove(b->users_first + 1, b->users_first, b->event_count * sizeof(uint32_t));
	b->users_first[0] = 0;
}

static uint32_t *row_of(struct building *b, uint32_t process, uint32_t done)
{
	return b->order.past + (size_t)(b->order.base[process] + done) * b->order.stride;
}

static void raise_row(uint32_t *row, const uint32_t *by, uint32_t stride)
{
	for (uint32_t q = 0; q < stride; q++)
		row[q] = row[q] > by[q] ? row[q] : by[q];
}

/* The clock as given must be the one that its own dependencies have. */
static bool clock_agrees(struct building *b, const struct sn_execution_record *record,
			 const uint32_t *row)
{
	const uint32_t *clocks = b->builder->clocks.items;

	for (uint32_t q = 0; q < b->process_count && record->clock_count; q++) {
		uint32_t given = q < record->clock_count ? clocks[record->clock_first + q] : 0;

		if (row[q] == given)
			continue;
		sn_execution_builder_fault(
			b->builder, record->where,
			"the clock of event %u of process %u says %u for process %u, but "
			"the events it follows already know %u",
			record->index, record->process, given, q, row[q]);
		return false;
	}
	return true;
}

/* The clock of an event whose dependencies are done: the maximum of theirs. */
static bool compute_clock(struct building *b, uint32_t event)
{
	const struct sn_execution_record *record = &b->records[event];
	uint32_t *row = row_of(b, record->process, record->index + 1);

	raise_row(row, row_of(b, record->process, record->index), b->order.stride);
	for (size_t i = 0; i < record->deps_count; i++) {
		const struct sn_lattice_ref *ref = &b->builder->deps.items[record->deps_first + i];

		raise_row(row, row_of(b, ref->process, ref->index + 1), b->order.stride);
	}
	for (uint32_t q = 0; q < record->clock_count; q++) {
		uint32_t known = b->builder->clocks.items[record->clock_first + q];

		if (q != record->process && known > 0)
			raise_row(row, row_of(b, q, known), b->order.stride);
	}
	row[record->process] = record->index + 1;
	return clock_agrees(b, record, row);
}

static void release(struct building *b, uint32_t event, uint32_t *queue, uint32_t *queued)
{
	if (b->waiting[event] != UINT32_MAX && --b->waiting[event] == 0)
		queue[(*queued)++] = event;
}

/* Kahn's order: an event is taken when all it needs is done. */
static void compute_clocks(struct building *b)
{
	uint32_t *queue = sn_alloc(((size_t)b->event_count + 1) * sizeof(uint32_t)), queued = 0;

	for (uint32_t e = 0; e < b->event_count; e++)
		if (b->waiting[e] == 0)
			queue[queued++] = e;
	for (uint32_t i = 0; i < queued; i++) {
		uint32_t e = queue[i], p = b->records[e].process;

		if (!compute_clock(b, e))
			continue;
		b->done[p]++;
		for (uint32_t u = b->users_first[e]; u < b->users_first[e + 1]; u++)
			release(b, b->users[u], queue, &queued);
		if (e + 1 < b->first[p + 1])
			release(b, e + 1, queue, &queued);
	}
	free(queue);
}

/* Something that `event` waits for and that is not done. The event itself is not done. */
static uint32_t undone_cause(struct building *b, uint32_t event)
{
	const struct sn_execution_record *record = &b->records[event];

	if (record->index > b->done[record->process])
		return event - 1;
	for (size_t i = 0; i < record->deps_count; i++) {
		const struct sn_lattice_ref *ref = &b->builder->deps.items[record->deps_first + i];

		if (ref->index >= b->done[ref->process])
			return b->first[ref->process] + ref->index;
	}
	for (uint32_t q = 0; q < record->clock_count; q++) {
		uint32_t known = b->builder->clocks.items[record->clock_first + q];

		if (q != record->process && known > b->done[q])
			return b->first[q] + known - 1;
	}
	return UINT32_MAX;
}

static void say_cycle(struct building *b, uint32_t entry)
{
	char path[512];
	size_t length = 0;
	uint32_t e = entry, where = b->records[entry].where;

	for (int hop = 0; hop < 8; hop++) {
		length += (size_t)snprintf(path + length, sizeof(path) - length, "(%u,%u) needs ",
					   b->records[e].process, b->records[e].index);
		e = undone_cause(b, e);
		if (e == entry)
			break;
	}
	snprintf(path + length, sizeof(path) - length, e == entry ? "(%u,%u)" : "(%u,%u) and so on",
		 b->records[e].process, b->records[e].index);
	sn_execution_builder_fault(
		b->builder, where,
		"the dependencies of event %u of process %u run in a cycle: %s, where "
		"(p,i) is event i of process p",
		b->records[entry].index, b->records[entry].process, path);
}

/* Without another fault, what is not done runs in a cycle: going from cause to cause meets it. */
static void find_cycle(struct building *b)
{
	uint32_t e = UINT32_MAX;

	if (b->builder->fault_count)
		return;
	for (uint32_t p = 0; p < b->process_count && e == UINT32_MAX; p++)
		if (b->first[p] + b->done[p] < b->first[p + 1])
			e = b->first[p] + b->done[p];
	if (e == UINT32_MAX)
		return;
	for (uint32_t hop = 0; hop < b->event_count; hop++)
		e = undone_cause(b, e);
	say_cycle(b, e);
}

static const char *name_chars(const struct sn_execution *execution, uint32_t number)
{
	return number == NO_NAME ? NULL : sn_interned_chars(&execution->names, number);
}

static void copy_events(struct sn_execution *execution, const struct building *b)
{
	uint32_t n = 0;

	execution->first = sn_alloc_zeroed(b->process_count + 1, sizeof(uint32_t));
	execution->events = sn_alloc_zeroed(b->event_count + 1, sizeof(*execution->events));
	for (uint32_t p = 0; p < b->process_count; p++) {
		execution->first[p] = n;
		for (uint32_t i = 0; i < b->done[p]; i++) {
			const struct sn_execution_record *record = &b->records[b->first[p] + i];

			execution->events[n++] = (struct sn_execution_event){
				.process = p,
				.index = i,
				.label = name_chars(execution, record->label),
				.file = name_chars(execution, record->file),
				.line = record->line,
				.work_label = name_chars(execution, record->work_label),
				.work_file = name_chars(execution, record->work_file),
				.work_line = record->work_line,
				.is_observed = record->is_observed,
				.duration_s = record->duration_s,
				.start_s = record->start_s,
			};
			if (!isnan(record->duration_s))
				execution->has_durations = true;
		}
	}
	execution->first[b->process_count] = n;
	execution->event_count = n;
	execution->process_count = b->process_count;
}

/* The tables of the events that are done, which may be fewer than those that were given. */
static void copy_order(struct sn_execution *execution, struct building *b)
{
	if (execution->event_count == b->order.event_count) {
		execution->all = b->order;
		b->order = (struct sn_lattice_order){ 0 };
	} else {
		sn_lattice_order_init(&execution->all, b->process_count, b->done);
		for (uint32_t p = 0; p < b->process_count; p++)
			memcpy(execution->all.past +
				       (size_t)execution->all.base[p] * b->order.stride,
			       row_of(b, p, 0),
			       ((size_t)b->done[p] + 1) * b->order.stride * sizeof(uint32_t));
	}
	sn_lattice_order_complete(&execution->all);
}

/* Renumbers: seen[row] = observed events among the first c of p. */
static uint32_t *count_observed(const struct sn_execution *execution, uint32_t *counts)
{
	const struct sn_lattice_order *all = &execution->all;
	uint32_t *seen = sn_alloc_zeroed(all->base[all->process_count] + 1, sizeof(uint32_t));

	for (uint32_t p = 0; p < all->process_count; p++) {
		uint32_t *of_process = seen + all->base[p];

		for (uint32_t c = 0; c < all->counts[p]; c++)
			of_process[c + 1] = of_process[c] +
					    execution->events[execution->first[p] + c].is_observed;
		counts[p] = of_process[all->counts[p]];
	}
	return seen;
}

static void project_rows(struct sn_execution *execution, const uint32_t *seen)
{
	const struct sn_lattice_order *all = &execution->all;
	struct sn_lattice_order *to = &execution->observed;

	for (uint32_t p = 0; p < all->process_count; p++)
		for (uint32_t c = 1; c <= all->counts[p]; c++) {
			uint32_t number = execution->first[p] + c - 1;
			uint32_t row = to->base[p] + seen[all->base[p] + c];

			if (!execution->events[number].is_observed)
				continue;
			execution->event_of[row] = number;
			for (uint32_t q = 0; q < all->process_count; q++)
				to->past[(size_t)row * to->stride + q] =
					seen[all->base[q] + sn_lattice_past(all, p, c)[q]];
		}
}

static void project(struct sn_execution *execution)
{
	uint32_t *counts = sn_alloc_zeroed(execution->process_count, sizeof(uint32_t));
	uint32_t *seen = count_observed(execution, counts), observed = 0;

	for (uint32_t p = 0; p < execution->process_count; p++)
		observed += counts[p];
	execution->event_of =
		sn_alloc_zeroed((size_t)observed + execution->process_count + 1, sizeof(uint32_t));
	if (observed == execution->event_count) {
		execution->observed = execution->all;
		for (uint32_t e = 0; e < execution->event_count; e++)
			execution->event_of[e + execution->events[e].process + 1] = e;
	} else {
		sn_lattice_order_init(&execution->observed, execution->process_count, counts);
		project_rows(execution, seen);
		sn_lattice_order_complete(&execution->observed);
	}
	free(counts);
	free(seen);
}

static sn_status check_size(const struct building *b, struct sn_error *err)
{
	uint64_t rows = (uint64_t)b->event_count + b->process_count;
	uint64_t bytes = rows * (b->process_count + 4ull) * 2 * sizeof(uint32_t);

	if (bytes <= TABLES_MAX_BYTES)
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_RANGE,
		"%u events of %u processes need %.1f GB of clocks, more than the %.0f GB "
		"allowed; observe fewer events or split the trace",
		b->event_count, b->process_count, (double)bytes / 1e9,
		(double)TABLES_MAX_BYTES / 1e9);
}

static void compute_order(struct building *b)
{
	uint32_t *counts = sn_alloc_zeroed(b->process_count, sizeof(uint32_t));

	for (uint32_t p = 0; p < b->process_count; p++)
		counts[p] = b->first[p + 1] - b->first[p];
	sn_lattice_order_init(&b->order, b->process_count, counts);
	free(counts);
	b->done = sn_alloc_zeroed(b->process_count, sizeof(uint32_t));
	link_events(b);
	compute_clocks(b);
	find_cycle(b);
}

static sn_status status_of_faults(const struct sn_execution_builder *builder, struct sn_error *err)
{
	uint32_t others = builder->fault_count - 1;

	if (!builder->fault_count)
		return SN_OK;
	if (!others)
		return sn_error_set(err, SN_ERR_FORMAT, "%s", builder->fault.sentence);
	return sn_error_set(err, SN_ERR_FORMAT, "%s (and %u fault%s more)", builder->fault.sentence,
			    others, others == 1 ? "" : "s");
}

sn_status sn_execution_build(struct sn_execution_builder *builder, struct sn_execution **out,
			     struct sn_error *err)
{
	struct building b = { .builder = builder, .process_count = count_processes(builder) };
	struct sn_execution *execution = NULL;
	sn_status status;

	*out = NULL;
	b.first = sn_alloc_zeroed((size_t)b.process_count + 1, sizeof(uint32_t));
	keep_contiguous(&b);
	status = check_size(&b, err);
	if (status == SN_OK) {
		compute_order(&b);
		execution = sn_alloc_zeroed(1, sizeof(*execution));
		execution->names = builder->names;
		execution->cpu_count = builder->cpu_count;
		builder->names = (struct sn_interner){ 0 };
		copy_events(execution, &b);
		copy_order(execution, &b);
		project(execution);
		status = status_of_faults(builder, err);
		if (status != SN_OK && execution->event_count == 0) {
			sn_execution_free(execution);
			execution = NULL;
		}
		*out = execution;
	}
	free(b.first);
	free(b.waiting);
	free(b.users_first);
	free(b.users);
	free(b.done);
	sn_lattice_order_free(&b.order);
	sn_execution_builder_free(builder);
	return status;
}

void sn_execution_free(struct sn_execution *execution)
{
	if (!execution)
		return;
	if (execution->observed.past != execution->all.past)
		sn_lattice_order_free(&execution->observed);
	sn_lattice_order_free(&execution->all);
	sn_interner_free(&execution->names);
	free(execution->events);
	free(execution->first);
	free(execution->event_of);
	free(execution);
}
