/* Second pass: stacks, samples, waits, tallies and registers. */
#include "experiment/decode_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* ---- frames ---- */

int sn_decode_mappings_compare(const void *a, const void *b)
{
	const struct raw_mapping *x = a, *y = b;

	if (x->load_start != y->load_start)
		return x->load_start < y->load_start ? -1 : 1;
	return (x->map_ns > y->map_ns) - (x->map_ns < y->map_ns);
}

/* Of the mappings around an address the one that was there at the time; else the latest of them. */
static const struct raw_mapping *mapping_at(const struct image *image, uint64_t load_addr,
					    int64_t time_ns)
{
	size_t low = 0, high = image->mappings.count;
	const struct raw_mapping *any = NULL;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->mappings.items[middle].load_start <= load_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i < 4096;) {
		const struct raw_mapping *m = &image->mappings.items[i];

		if (load_addr >= m->load_end)
			continue;
		if (time_ns >= m->map_ns && time_ns < m->unmap_ns)
			return m;
		if (!any)
			any = m;
	}
	return any;
}

void sn_decode_frame_push(struct image *image, uint64_t pc, bool is_leaf, int64_t time_ns)
{
	/* A return address may be the first byte after its mapping: the call is what lies in it. */
	const struct raw_mapping *m = mapping_at(image, is_leaf ? pc : pc - 1, time_ns);
	struct sn_frame frame = { 0, pc };

	if (m) {
		frame.module = m->module;
		frame.link_addr = pc - m->load_bias;
	} else {
		frame.module =
			sn_decode_module_of(image, "[unknown]", "", SN_MODULE_UNKNOWN, false);
	}
	sn_vec_push(&image->frames, frame);
}

static struct segment *segment_find(struct image *image, uint32_t id)
{
	uint64_t *place;

	/* they mostly come in the order of their ids, from 1 */
	if (id - 1 < image->segments.count && image->segments.items[id - 1].id == id)
		return &image->segments.items[id - 1];
	place = id ? sn_map_get(&image->segment_index, id) : NULL;
	return place ? &image->segments.items[*place - 1] : NULL;
}

/* The segment of a stack id of the file, with its stack in the experiment, or NULL; frames are
 * resolved as of its first use. */
static const struct segment *stack_of(struct image *image, uint32_t id, int64_t time_ns)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct segment *first = segment_find(image, id);
	uint32_t flags = 0, outermost = 0, joined = 0;
	unsigned segments = 0;

	if (!first || first->stack != SN_NONE)
		return first;
	image->frames.count = 0;
	for (const struct segment *s = first; s && segments++ < SEGMENTS_MAX;
	     s = segment_find(image, s->record->parent)) {
		outermost = s->record->header.flags;
		flags |= outermost & ~(uint32_t)SN_STACK_COMPLETE;
		for (uint32_t i = 0; i < s->record->depth && image->frames.count < FRAMES_MAX; i++)
			sn_decode_frame_push(image, s->record->pc[i], image->frames.count == 0,
					     time_ns);
		if (!joined && outermost & SN_STACK_STITCHED)
			joined = (uint32_t)image->frames.count;
	}
	flags |= outermost & SN_STACK_COMPLETE;
	first->stack = sn_experiment_add_joined_stack(e, image->process, image->frames.items,
						      (uint32_t)image->frames.count, flags, joined);
	return first;
}

uint32_t sn_decode_stack(struct image *image, uint32_t id, int64_t time_ns)
{
	const struct segment *segment = stack_of(image, id, time_ns);

	return segment ? segment->stack : SN_NONE;
}

/* ---- second pass: samples and what else has a stack ---- */

static void sample_decode(struct image *image, const struct owner *owner,
			  const struct sn_record_sample *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	int64_t time_ns = bounded(owner->base_ns) + record->time_ns;
	const struct segment *segment = stack_of(image, record->stack, time_ns);
	struct sn_sample sample = { .time_ns = time_ns + image->offset_ns,
				    .cpu_ns = owner->extra_cpu_ns + record->cpu_ns,
				    .thread = image->first_thread + owner->thread_index,
				    .stack = segment ? segment->stack : SN_NONE,
				    .cpu = record->cpu,
				    .flags = record->flags };
	struct sn_thread *thread = sn_decode_thread_of(image, owner->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	if (thread->tid < 0)
		thread->tid = owner->tid;
	if (sample.time_ns > image->last_ns)
		image->last_ns = sample.time_ns;
	if (sample.time_ns > thread->end_ns)
		thread->end_ns = sample.time_ns;
	struct thread_facts *facts = sn_decode_facts_of(image, owner->thread_index);
	if (sample.flags & SN_SAMPLE_SYSTEM)
		facts->sampled_system_ns += sample.cpu_ns;
	else
		facts->sampled_user_ns += sample.cpu_ns;
	sn_vec_push(&e->samples, sample);
}

static void wait_decode(struct image *image, const struct owner *owner,
			const struct sn_record_wait *record)
{
	uint8_t kind = record->header.flags;
	const struct segment *segment = stack_of(image, record->stack, record->time_ns);
	struct sn_wait wait = { .time_ns = bounded(record->time_ns) + image->offset_ns,
				.duration_ns = record->duration_ns,
				.thread = image->first_thread + owner->thread_index,
				.stack = segment ? segment->stack : SN_NONE,
				.kind = kind < SN_WAIT_KINDS ? kind : SN_WAIT_OTHER };

	if (kind & SN_RECORD_WAIT_VOID)
		return;
	if (!sn_decode_thread_of(image, owner->thread_index)) {
		image->damaged++;
		return;
	}
	if (wait.duration_ns == SN_RECORD_WAIT_OPEN)
		sn_vec_push(&image->open_waits, image->decoder->experiment->waits.count);
	sn_vec_push(&image->decoder->experiment->waits, wait);
}

static void tally_decode(struct image *image, const struct owner *owner,
			 const struct sn_record_tally *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	const struct segment *segment = stack_of(image, record->stack, bounded(owner->base_ns));
	struct sn_tally tally = { .name = sn_arena_strndup(
					  &e->arena, record->name,
					  strnlen(record->name, sizeof(record->name))),
				  .thread = image->first_thread + owner->thread_index,
				  .stack = segment ? segment->stack : SN_NONE,
				  .count = record->count,
				  .value = record->value };

	if (sn_decode_thread_of(image, owner->thread_index))
		sn_vec_push(&e->tallies, tally);
	else
		image->damaged++;
}

static void registers_decode(struct image *image, const struct owner *owner,
			     const struct sn_record_registers *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	int64_t time_ns = bounded(record->time_ns);
	const struct segment *segment = stack_of(image, record->stack, time_ns);
	struct sn_registers registers = { .time_ns = time_ns + image->offset_ns,
					  .thread = image->first_thread + owner->thread_index };

	if (!sn_decode_thread_of(image, owner->thread_index)) {
		image->damaged++;
		return;
	}
	if (!segment)
		return;
	registers.stack = segment->stack;
	memcpy(registers.values, record->values, sizeof(registers.values));
	sn_vec_push(&e->registers, registers);
}

void sn_decode_samples(struct image *image, const struct owner *owner, const void *record)
{
	uint8_t type = ((const struct sn_record_header *)record)->type;

	if (type != SN_RECORD_SAMPLE && type != SN_RECORD_WAIT && type != SN_RECORD_TALLY &&
	    type != SN_RECORD_REGISTERS && type != SN_RECORD_INSTANCES &&
	    type != SN_RECORD_BUCKET && type != SN_RECORD_VARIANT && type != SN_RECORD_COUNT &&
	    type != SN_RECORD_ACCESSES && type != SN_RECORD_CALLER && type != SN_RECORD_BLOCKS &&
	    type != SN_RECORD_THREAD_POINTER)
		return;
	if (!owner->is_known)
		image->damaged++;
	else if (type == SN_RECORD_SAMPLE)
		sample_decode(image, owner, record);
	else if (type == SN_RECORD_WAIT)
		wait_decode(image, owner, record);
	else if (type == SN_RECORD_TALLY)
		tally_decode(image, owner, record);
	else if (type == SN_RECORD_INSTANCES)
		sn_decode_instances(image, owner, record);
	else if (type == SN_RECORD_THREAD_POINTER)
		sn_decode_thread_pointer(image, owner, record);
	else if (type == SN_RECORD_BLOCKS)
		sn_decode_blocks(image, owner, record);
	else if (type == SN_RECORD_CALLER)
		sn_decode_caller(image, owner, record);
	else if (type == SN_RECORD_BUCKET)
		sn_decode_bucket(image, owner, record);
	else if (type == SN_RECORD_COUNT)
		sn_decode_count(image, owner, record);
	else if (type == SN_RECORD_ACCESSES)
		sn_decode_accesses(image, owner, record);
	else if (type == SN_RECORD_VARIANT)
		sn_decode_variant(image, owner, record);
	else
		registers_decode(image, owner, record);
}
