/* From data addresses to objects: variables, blocks of the heap by where they were allocated, else regions. */
#include "caches/replay_places.h"

#include "base/text.h"
#include "code/variables.h"
#include "profile/data_blocks.h"
#include "profile/site.h"

enum { PAGE_SHIFT = 12 };

/* x86-64 Linux puts the first thread's stack here, and nothing else that a program asks for. */
static const uint64_t stack_lowest = 0x7ffc00000000;
/* Position-independent programs and their heaps lie below, mappings above. */
static const uint64_t heap_end = 0x600000000000;

static uint32_t object_add(struct sn_replay_places *places, const struct sn_replay_object *object)
{
	struct sn_text key = { 0 };
	uint64_t *number;
	bool is_new;

	sn_text_addf(&key, "%s|%s|%s|%llx", object->kind, object->module ? object->module : "",
		     object->name, (unsigned long long)object->address);
	number = sn_map_put(&places->object_of, sn_hash_bytes(key.chars, key.length), &is_new);
	sn_text_free(&key);
	if (is_new) {
		*number = places->replay->objects.count;
		sn_vec_push(&places->replay->objects, *object);
	}
	return (uint32_t)*number;
}

static uint32_t memory_object(struct sn_replay_places *places, uint64_t address)
{
	struct sn_replay_object object = { .name = "[mapped]", .kind = "mapped" };
	const char *replaced = sn_data_program_replaced(places->replay->data, places->process);

	if (address >= stack_lowest)
		object = (struct sn_replay_object){ .name = "[stack]", .kind = "stack" };
	else if (address < heap_end && replaced)
		object = (struct sn_replay_object){ .name = "[data or heap]",
						    .kind = "unknown",
						    .module = replaced };
	else if (address < heap_end)
		object = (struct sn_replay_object){ .name = "[heap]", .kind = "heap" };
	return object_add(places, &object);
}

static const char *block_name(struct sn_replay_places *places, uint32_t stack)
{
	bool is_new;
	uint64_t *known = sn_map_put(&places->name_of, stack, &is_new);

	if (is_new)
		*known = (uint64_t)(uintptr_t)sn_data_block_name(places->replay->data,
								 places->profile->program, stack,
								 &places->replay->arena);
	return (const char *)(uintptr_t)*known;
}

/* A block by where it was allocated. Where several blocks are of one site, nobody can tell offsets. */
static uint32_t block_object(struct sn_replay_places *places, const struct sn_heap_lived *block)
{
	const struct sn_program *program = places->profile->program;
	struct sn_site site = { SN_NONE, SN_NONE };
	struct sn_replay_object object = { .kind = "heap", .name = "[heap]" }, *there;
	uint32_t number;

	if (block->stack != SN_NONE)
		site = sn_site_of(program, block->stack);
	if (site.function != SN_NONE)
		object.name = block_name(places, block->stack);
	if (site.line != SN_NONE) {
		object.file = program->lines.items[site.line].file;
		object.line = program->lines.items[site.line].line;
	}
	number = object_add(places, &object);
	there = &places->replay->objects.items[number];
	if (!there->address) {
		there->address = block->address;
		there->has_address = true;
	} else if (there->address != block->address) {
		there->has_address = false;
	}
	return number;
}

/* Memory of no module, on a page that has one object unless blocks of the heap are known. */
static uint32_t memory_at(struct sn_replay_places *places, uint64_t address, uint32_t of_page,
			  uint64_t *first, uint64_t *last)
{
	uint64_t from = address >> PAGE_SHIFT << PAGE_SHIFT, to = from + (1 << PAGE_SHIFT) - 1;
	const struct sn_heap_lived *block = NULL;

	*first = from;
	*last = to;
	if (places->replay->blocks)
		block = sn_heap_block_at(places->replay->blocks, places->process, address,
					 places->now_ns, places->until_ns, first, last);
	if (block)
		return block_object(places, block);
	if (*first < from)
		*first = from;
	if (*last > to)
		*last = to;
	return of_page;
}

/* A variable of which each thread has its own is one object, whosever it is. */
static uint32_t thread_local_object(struct sn_replay_places *places,
				    const struct sn_data_object *found)
{
	struct sn_replay_object object = {
		.name = found->name,
		.kind = found->kind == SN_DATA_VARIABLE ? "variable" : "section",
		.module = found->module,
		.file = found->variable ? found->variable->file : NULL,
		.line = found->variable ? found->variable->line : 0,
	};

	return object_add(places, &object);
}

uint32_t sn_replay_object_at(void *context, uint64_t address, uint64_t *first, uint64_t *last)
{
	struct sn_replay_places *places = context;
	uint64_t *page = sn_map_get(&places->memory_of, address >> PAGE_SHIFT);
	struct sn_replay_object object = { 0 };
	struct sn_data_object found;
	uint32_t number;

	if (!page) {
		found = sn_data_object_at(places->replay->data, places->process, address,
					  places->now_ns);
		if (found.kind == SN_DATA_MEMORY) {
			page = sn_map_put(&places->memory_of, address >> PAGE_SHIFT, NULL);
			*page = memory_object(places, address);
		}
	}
	if (page) {
		uint64_t after, before;

		if (sn_data_thread_local_at(places->replay->data, places->process, address, &found,
					    &after, &before)) {
			*first = found.first_address;
			*last = found.last_address;
			return thread_local_object(places, &found);
		}
		number = memory_at(places, address, (uint32_t)*page, first, last);
		*first = after > *first ? after : *first;
		*last = before < *last ? before : *last;
		return number;
	}
	object.name = found.name;
	object.kind = found.kind == SN_DATA_VARIABLE ? "variable" : "section";
	object.module = found.module;
	if (found.kind == SN_DATA_VARIABLE) {
		object.has_address = true;
		object.address = found.address;
	}
	if (found.variable) {
		object.file = found.variable->file;
		object.line = found.variable->line;
	}
	*first = found.first_address;
	*last = found.last_address;
	return object_add(places, &object);
}

/* ---- which blocks of the heap are met ---- */

static void ranges_add(sn_heap_ranges *ranges, uint32_t process,
		       const struct sn_access_window *window)
{
	for (uint32_t r = 0; r < window->record_count; r++) {
		const struct sn_access_record *record = &window->records[r];
		uint64_t end =
			record->address + (uint64_t)record->stride_bytes * (record->count - 1);
		struct sn_heap_range range = { process,
					       record->address < end ? record->address : end,
					       record->address < end ? end : record->address };
		struct sn_heap_range *before = ranges->count ? &sn_vec_last(ranges) : NULL;

		range.last += record->size_bytes - 1;
		/* whole pages: accesses that come one by one lie near each other */
		range.first = range.first >> PAGE_SHIFT << PAGE_SHIFT;
		range.last |= (1 << PAGE_SHIFT) - 1;
		if (before && before->process == process && before->first <= range.first &&
		    before->last >= range.last)
			continue;
		sn_vec_push(ranges, range);
	}
}

void sn_replay_blocks_find(struct sn_replay *replay, const struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;
	sn_heap_ranges ranges = { 0 };
	struct sn_error err;

	for (size_t w = 0; w < e->windows.count; w++)
		if (replay->plays[w])
			ranges_add(&ranges, e->threads.items[e->windows.items[w].thread].process,
				   replay->plays[w]);
	/* without them its blocks have no names */
	(void)sn_heap_blocks_read(e, &ranges, &replay->blocks, &err);
	sn_vec_free(&ranges);
}

void sn_replay_places_free(struct sn_replay_places *places)
{
	sn_map_free(&places->object_of);
	sn_map_free(&places->memory_of);
	sn_map_free(&places->name_of);
}
