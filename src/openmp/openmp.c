/* Reads the entries of OpenMP, and sums them by region, construct and thread. */
#include "openmp/openmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "profile/category.h"
#include "profile/trace_sites.h"
#include "trace/entries.h"

static const struct {
	const char *name;
	enum sn_openmp_class class;
} constructs[] = {
#define CONSTRUCT(word, name, class) { name, SN_OPENMP_##class },
	SN_OPENMP_CONSTRUCTS(CONSTRUCT)
#undef CONSTRUCT
};

const char *sn_openmp_construct_name(uint8_t construct)
{
	return construct < SN_OPENMP_CONSTRUCT_COUNT ? constructs[construct].name : "unknown";
}

enum sn_openmp_class sn_openmp_construct_class(uint8_t construct)
{
	return construct < SN_OPENMP_CONSTRUCT_COUNT ? constructs[construct].class
						     : SN_OPENMP_FOR_NOTHING;
}

/* Of two numbers in this order. */
static uint64_t key_of(uint64_t first, uint64_t second)
{
	return sn_hash_u64(sn_hash_u64(first + 1) + second);
}

/* A larger team is damage. */
enum { TEAM_MOST = 1 << 20 };

struct reader {
	const struct sn_program *program;
	struct sn_openmp *openmp;
	struct sn_trace_pieces pieces;
	struct sn_trace_sites sites;
	struct sn_map region_index; /* place in the source -> index + 1 */
	struct sn_map region_of;    /* process and path -> likewise */
	struct sn_map place_index, member_index;
	struct sn_map place_threads;	/* place and thread: was counted */
	struct sn_map tids;		/* process and index of a thread -> tid */
	uint8_t *has_region;		/* by process */
	const struct sn_spans *windows; /* in which pieces begin that count */
};

/* Years of it are damage. */
static double ns_of(const struct reader *reader, uint32_t process, uint64_t ticks)
{
	double ns = (double)ticks * reader->pieces.clocks[process].ns_per_tick;

	return ns >= 0 && ns < 1e17 ? ns : 0;
}

static const char *function_of(struct reader *reader, struct sn_site site, const char *around)
{
	if (site.function == SN_NONE)
		return NULL;
	return sn_openmp_function_name(&reader->openmp->arena,
				       reader->program->functions.items[site.function].name,
				       around);
}

/* Equal for what is one place of the source: function and line, or the address where there is no line. */
static uint64_t source_key(struct reader *reader, uint32_t process, uint32_t path,
			   struct sn_site site)
{
	uint32_t stack;

	if (site.function == SN_NONE)
		return 0;
	if (site.line == SN_NONE && sn_trace_stack_of(reader->program, process, path, &stack) &&
	    reader->program->first_frame[stack] < reader->program->first_frame[stack + 1])
		return 1ULL << 63 |
		       reader->program->frame_places[reader->program->first_frame[stack]];
	return (uint64_t)site.function << 32 | site.line;
}

/* The function that opened a region, which is around its body. NULL: not known. */
static const char *caller_name(struct reader *reader, uint32_t process, uint32_t path)
{
	const struct sn_program *program = reader->program;
	uint32_t stack;

	if (!sn_trace_stack_of(program, process, path, &stack))
		return NULL;
	for (size_t f = program->first_frame[stack] + 1; f < program->first_frame[stack + 1]; f++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[f]];
		uint32_t function = place->function;

		if (function == SN_NONE)
			return NULL;
		if (place->module != SN_NONE &&
		    program->module_classes[place->module] == SN_MODULE_CLASS_OPENMP)
			continue;
		if (!sn_openmp_is_nameless(program->functions.items[function].name))
			return sn_openmp_function_name(&reader->openmp->arena,
						       program->functions.items[function].name,
						       NULL);
	}
	return NULL;
}

/* The region of a path, made if it is new. SN_NONE: none. */
static uint32_t region_get(struct reader *reader, uint32_t process, uint32_t path)
{
	uint64_t *known, *place;
	struct sn_site site;

	known = sn_map_put(&reader->region_of, (uint64_t)process << 32 | path, NULL);
	if (*known)
		return (uint32_t)*known - 1;
	site = sn_trace_site_of(&reader->sites, reader->program, process, path);
	place = sn_map_put(&reader->region_index, source_key(reader, process, path, site), NULL);
	if (!*place) {
		sn_vec_push(&reader->openmp->regions,
			    (struct sn_openmp_region){
				    .site = site,
				    .function = function_of(reader, site,
							    caller_name(reader, process, path)) });
		*place = reader->openmp->regions.count;
	}
	*known = *place;
	return (uint32_t)*place - 1;
}

static struct sn_openmp_member *member_get(struct reader *reader, uint32_t region, uint32_t process,
					   uint32_t thread)
{
	uint64_t *place = sn_map_put(&reader->member_index,
				     key_of((uint64_t)process << 32 | thread, region), NULL);

	if (!*place) {
		const uint64_t *tid = sn_map_get(&reader->tids, (uint64_t)process << 32 | thread);
		sn_vec_push(&reader->openmp->members,
			    (struct sn_openmp_member){ .region = region,
						       .process = process,
						       .tid = tid ? (uint32_t)*tid : 0 });
		*place = reader->openmp->members.count;
	}
	return &reader->openmp->members.items[*place - 1];
}

static struct sn_openmp_place *place_get(struct reader *reader, uint32_t region, uint32_t process,
					 const struct sn_openmp_entry *entry)
{
	struct sn_site site =
		sn_trace_site_of(&reader->sites, reader->program, process, entry->path);
	uint64_t key = key_of(source_key(reader, process, entry->path, site),
			      (uint64_t)entry->construct << 32 | region);
	uint64_t *place = sn_map_put(&reader->place_index, key, NULL);

	if (!*place) {
		const char *around =
			region == SN_NONE ? NULL : reader->openmp->regions.items[region].function;
		sn_vec_push(
			&reader->openmp->places,
			(struct sn_openmp_place){ .region = region,
						  .construct = entry->construct,
						  .site = site,
						  .function = function_of(reader, site, around) });
		*place = reader->openmp->places.count;
	}
	return &reader->openmp->places.items[*place - 1];
}

static void region_take(struct reader *reader, uint32_t process,
			const struct sn_openmp_entry *entry)
{
	struct sn_openmp_region *region;
	uint32_t threads = entry->path, index;

	if (threads < 1 || threads > TEAM_MOST) { /* nobody came to its end */
		reader->openmp->damaged += threads > TEAM_MOST;
		return;
	}
	index = region_get(reader, process, entry->region);
	region = &reader->openmp->regions.items[index];
	region->executions += entry->count;
	region->is_nested |= entry->is_nested;
	region->threads = threads > region->threads ? threads : region->threads;
	region->time_ns += ns_of(reader, process, entry->ticks);
	region->team_ns += ns_of(reader, process, entry->ticks) * threads;
	region->barrier_ns += ns_of(reader, process, entry->wait);
	region->largest_ns += ns_of(reader, process, entry->largest);
	region->mean_ns += ns_of(reader, process, entry->work) / threads;
	region->gain_ns += ns_of(reader, process, entry->wait) / threads;
	reader->has_region[process] = 1;
}

static void body_take(struct reader *reader, uint32_t process, uint32_t thread,
		      const struct sn_openmp_entry *entry)
{
	uint32_t region = region_get(reader, process, entry->region);
	struct sn_openmp_member *member =
		member_get(reader, region, process, entry->thread ? entry->thread - 1 : thread);

	member->bodies += entry->count;
	member->work_ns += ns_of(reader, process, entry->work);
	member->barrier_ns += ns_of(reader, process, entry->wait);
	reader->openmp->regions.items[region].work_ns += ns_of(reader, process, entry->work);
}

static void wait_add(struct sn_openmp *openmp, uint32_t region, struct sn_openmp_member *member,
		     uint8_t construct, double ns)
{
	struct sn_openmp_region *r = &openmp->regions.items[region];

	switch (sn_openmp_construct_class(construct)) {
	case SN_OPENMP_AT_BARRIER:
		r->barrier_ns += ns;
		member->barrier_ns += ns;
		break;
	case SN_OPENMP_FOR_OTHERS:
		r->critical_ns += ns;
		member->critical_ns += ns;
		break;
	case SN_OPENMP_FOR_TASKS:
		r->task_wait_ns += ns;
		member->task_wait_ns += ns;
		break;
	case SN_OPENMP_FOR_NOTHING:
		break;
	}
}

static void construct_take(struct reader *reader, uint32_t process, uint32_t thread,
			   const struct sn_openmp_entry *entry)
{
	uint32_t region = entry->region ? region_get(reader, process, entry->region) : SN_NONE;
	double wait = ns_of(reader, process, entry->wait);
	struct sn_openmp_place *place;
	bool is_new;

	if (entry->construct >= SN_OPENMP_CONSTRUCT_COUNT) {
		reader->openmp->damaged++;
		return;
	}
	place = place_get(reader, region, process, entry);
	place->count += entry->count;
	place->wait_ns += wait;
	place->inside_ns += ns_of(reader, process, entry->ticks);
	place->longest_ns = fmax(place->longest_ns, ns_of(reader, process, entry->largest));
	sn_map_put(&reader->place_threads,
		   key_of((uint64_t)process << 32 | thread,
			  (uint64_t)(place - reader->openmp->places.items)),
		   &is_new);
	place->threads += is_new;
	if (region != SN_NONE)
		wait_add(reader->openmp, region, member_get(reader, region, process, thread),
			 entry->construct, wait);
}

static uint32_t stack_of(const struct reader *reader, uint32_t process, uint32_t path)
{
	uint32_t stack;

	return path && sn_trace_stack_of(reader->program, process, path, &stack) ? stack : SN_NONE;
}

/* What makes no sense was counted as damage, and is left out. */
static void share_add(struct reader *reader, uint32_t process, uint32_t thread,
		      const struct sn_openmp_entry *entry)
{
	bool is_region = entry->type == SN_OPENMP_REGION;
	bool is_construct = entry->type == SN_OPENMP_CONSTRUCT;
	const uint64_t *tid =
		sn_map_get(&reader->tids,
			   (uint64_t)process << 32 | (entry->type == SN_OPENMP_BODY && entry->thread
							      ? entry->thread - 1
							      : thread));
	struct sn_openmp_share share = {
		.type = entry->type,
		.construct = entry->construct,
		.process = process,
		.tid = tid ? (uint32_t)*tid : 0,
		.region_stack = stack_of(reader, process, entry->region),
		.stack = is_construct ? stack_of(reader, process, entry->path) : SN_NONE,
		.threads = is_region ? entry->path : 0,
		.count = entry->count,
		.ns = ns_of(reader, process, entry->ticks),
		.work_ns = ns_of(reader, process, entry->work),
		.wait_ns = ns_of(reader, process, entry->wait),
		.largest_ns = ns_of(reader, process, entry->largest),
	};

	if ((is_region && (entry->path < 1 || entry->path > TEAM_MOST)) ||
	    (is_construct && entry->construct >= SN_OPENMP_CONSTRUCT_COUNT))
		return;
	sn_vec_push(&reader->openmp->shares, share);
}

static void entry_take(struct reader *reader, const struct sn_trace_item *item,
		       const struct sn_openmp_entry *entry)
{
	uint32_t process = item->process, thread = item->piece->thread_index;

	switch (entry->type) {
	case SN_ENTRY_NONE:
	case SN_ENTRY_TIME:
		break;
	case SN_OPENMP_REGION:
		region_take(reader, process, entry);
		share_add(reader, process, thread, entry);
		break;
	case SN_OPENMP_BODY:
		body_take(reader, process, thread, entry);
		share_add(reader, process, thread, entry);
		break;
	case SN_OPENMP_CONSTRUCT:
		construct_take(reader, process, thread, entry);
		share_add(reader, process, thread, entry);
		break;
	case SN_OPENMP_SPAN:
		reader->openmp->parallel_ns += ns_of(reader, process, entry->ticks);
		break;
	default:
		reader->openmp->damaged++;
	}
}

static void threads_learn(struct reader *reader)
{
	for (size_t i = 0; i < reader->pieces.items.count; i++) {
		const struct sn_trace_item *item = &reader->pieces.items.items[i];
		const struct sn_entry_time *time = sn_entries_time(item);

		if (time && time->tid)
			*sn_map_put(&reader->tids,
				    (uint64_t)item->process << 32 | item->piece->thread_index,
				    NULL) = time->tid;
	}
}

static void entries_read(struct reader *reader)
{
	for (size_t p = 0; p < reader->pieces.items.count; p++) {
		const struct sn_trace_item *item = &reader->pieces.items.items[p];
		const struct sn_openmp_entry *entries = (const void *)(item->piece + 1);
		size_t count = (item->bytes - sizeof(*item->piece)) / sizeof(*entries);
		double begin_ns = sn_trace_time_ns(&reader->pieces.clocks[item->process],
						   item->piece->base_tsc);

		if (!sn_spans_have(reader->windows, (int64_t)begin_ns))
			continue;
		for (size_t i = 0; i < count; i++)
			entry_take(reader, item, &entries[i]);
	}
}

/* ---- sums ---- */

/* A barrier in a region: its threads wait for the slowest, as at the end. */
static void gains_add(struct sn_openmp *openmp)
{
	for (size_t i = 0; i < openmp->places.count; i++) {
		const struct sn_openmp_place *place = &openmp->places.items[i];

		if (place->region == SN_NONE || !openmp->regions.items[place->region].threads ||
		    sn_openmp_construct_class(place->construct) != SN_OPENMP_AT_BARRIER)
			continue;
		struct sn_openmp_region *region = &openmp->regions.items[place->region];
		region->gain_ns += place->wait_ns / region->threads;
	}
}

static void processes_sum(struct reader *reader)
{
	const struct sn_experiment *e = reader->program->experiment;

	for (uint32_t p = 0; p < e->processes.count; p++) {
		const struct sn_process *process = &e->processes.items[p];
		int64_t ns = sn_trace_overhead_ns(&reader->pieces, p);

		reader->openmp->overhead_ns += ns > 0 ? ns : 0;
		reader->openmp->damaged += ns < 0;
		if (reader->has_region[p] && process->end_ns > process->start_ns)
			reader->openmp->elapsed_ns +=
				(double)process->end_ns - (double)process->start_ns;
	}
}

sn_status sn_openmp_read(const struct sn_program *program, struct sn_openmp **out,
			 struct sn_error *err)
{
	const struct sn_spans all = { 0 };

	return sn_openmp_read_within(program, &all, out, err);
}

sn_status sn_openmp_read_within(const struct sn_program *program, const struct sn_spans *windows,
				struct sn_openmp **out, struct sn_error *err)
{
	struct reader reader = { .program = program,
				 .windows = windows,
				 .openmp = sn_alloc_zeroed(1, sizeof(*reader.openmp)) };
	sn_status status = sn_trace_pieces_open(&reader.pieces, program->experiment,
						SN_TRACE_OPENMP, sn_entries_last_instant, err);

	if (status != SN_OK) {
		sn_openmp_free(reader.openmp);
		return status;
	}
	reader.openmp->is_traced = reader.pieces.is_traced;
	reader.has_region = sn_alloc_zeroed(program->experiment->processes.count + 1, 1);
	threads_learn(&reader);
	entries_read(&reader);
	gains_add(reader.openmp);
	processes_sum(&reader);
	reader.openmp->lost = reader.pieces.lost;
	reader.openmp->damaged += reader.pieces.damaged;
	sn_trace_sites_free(&reader.sites);
	sn_map_free(&reader.region_index);
	sn_map_free(&reader.region_of);
	sn_map_free(&reader.place_index);
	sn_map_free(&reader.member_index);
	sn_map_free(&reader.place_threads);
	sn_map_free(&reader.tids);
	free(reader.has_region);
	sn_trace_pieces_close(&reader.pieces);
	*out = reader.openmp;
	return SN_OK;
}

void sn_openmp_free(struct sn_openmp *openmp)
{
	if (!openmp)
		return;
	sn_vec_free(&openmp->regions);
	sn_vec_free(&openmp->places);
	sn_vec_free(&openmp->members);
	sn_vec_free(&openmp->shares);
	sn_arena_free(&openmp->arena);
	free(openmp);
}
