/* Instances of loops that ran as copies: what each thread counted, and what was timed. */
#include "experiment/decode_parts.h"

/* The entries that have no exit hide the register that was taken from the sum at the last of them: if
 * it is one only, it is known. */
static bool iterations_of(const struct sn_record_instances *record, uint64_t *iterations)
{
	uint64_t sum = record->sum;
	uint64_t entries = sn_instances_entries(record), exits = sn_instances_exits(record);

	if (record->step && !record->is_apart && entries == exits + 1)
		sum += record->last_entry;
	else if (record->step && !record->is_apart && entries != exits)
		return false;
	/* the least number by -1: of a damaged file only */
	if (record->step == -1)
		*iterations = 0 - sum;
	else
		*iterations = record->step ? (uint64_t)((int64_t)sum / record->step) : sum;
	return true;
}

void sn_decode_instances(struct image *image, const struct owner *owner,
			 const struct sn_record_instances *record)
{
	uint64_t entries = sn_instances_entries(record), exits = sn_instances_exits(record);
	struct sn_loop_instances instances = {
		.thread = image->first_thread + owner->thread_index,
		.stack = sn_decode_stack(image, record->stack, bounded(owner->base_ns)),
		.instances = entries,
		.open = entries > exits ? entries - exits : 0,
		.timed = record->timed,
		.left = record->left,
		.every = record->every,
	};

	instances.has_iterations = iterations_of(record, &instances.iterations);
	instances.lacks_open =
		instances.has_iterations && (record->step || record->is_apart) && entries > exits;
	if (sn_decode_thread_of(image, owner->thread_index))
		sn_vec_push(&image->decoder->experiment->instances, instances);
	else
		image->damaged++;
}

void sn_decode_blocks(struct image *image, const struct owner *owner,
		      const struct sn_record_blocks *record)
{
	struct sn_experiment *e = image->decoder->experiment;
	size_t room = (record->header.size_bytes - sizeof(*record)) / sizeof(*record->blocks);
	struct sn_block_executions out = {
		.thread = image->first_thread + owner->thread_index,
		.stack = sn_decode_stack(image, record->stack, bounded(owner->base_ns)),
	};

	if (!sn_decode_thread_of(image, owner->thread_index) || record->count > room) {
		image->damaged++;
		return;
	}
	for (uint32_t i = 0; i < record->count; i++) {
		out.offset = record->blocks[i].offset;
		out.instructions = record->blocks[i].instructions;
		out.executions = record->blocks[i].executions;
		sn_vec_push(&e->block_counts, out);
	}
}

void sn_decode_caller(struct image *image, const struct owner *owner,
		      const struct sn_record_caller *record)
{
	struct sn_loop_caller caller = {
		.thread = image->first_thread + owner->thread_index,
		.stack = sn_decode_stack(image, record->stack, bounded(owner->base_ns)),
		.path = sn_decode_path_stack(image, record->path),
		.instances = record->instances,
		.looked_at = record->looked_at,
		.timed = record->timed,
		.iterations = record->iterations,
		.cycles = record->cycles,
	};

	if (sn_decode_thread_of(image, owner->thread_index))
		sn_vec_push(&image->decoder->experiment->loop_callers, caller);
	else
		image->damaged++;
}

/* False: it is damaged. */
static bool bucket_read(struct image *image, const struct owner *owner,
			const struct sn_record_bucket *record, struct sn_loop_bucket *out)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct sn_loop_timing *timings;

	*out = (struct sn_loop_bucket){
		.thread = image->first_thread + owner->thread_index,
		.stack = sn_decode_stack(image, record->stack, bounded(owner->base_ns)),
		.exponent = (int)(record->exponent & 63),
		.timed = record->timed,
		.iterations = record->iterations,
		.cycles = record->cycles,
		.timing_count = record->sample_count,
	};
	if (out->timing_count > SN_BUCKET_SAMPLES ||
	    !sn_decode_thread_of(image, owner->thread_index)) {
		image->damaged++;
		return false;
	}
	timings = sn_arena_array(&e->arena, struct sn_loop_timing, out->timing_count + 1u);
	for (uint32_t i = 0; i < out->timing_count; i++)
		timings[i] = (struct sn_loop_timing){
			record->samples[i].number,
			record->samples[i].iterations & ~SN_SAMPLE_HOLDS_OTHERS,
			record->samples[i].cycles,
			(record->samples[i].iterations & SN_SAMPLE_HOLDS_OTHERS) != 0,
		};
	out->timings = timings;
	return true;
}

void sn_decode_bucket(struct image *image, const struct owner *owner,
		      const struct sn_record_bucket *record)
{
	struct sn_loop_bucket bucket;

	if (!bucket_read(image, owner, record, &bucket))
		return;
	if (record->header.size_bytes >= sizeof(struct sn_record_timed)) {
		const struct sn_record_timed *timed = (const void *)record;

		bucket.iterations_min = timed->iterations_min;
		bucket.iterations_max = timed->iterations_max & ~SN_SAMPLE_HOLDS_OTHERS;
		bucket.holds_others = timed->iterations_max & SN_SAMPLE_HOLDS_OTHERS;
	}
	bucket.exponent -= SN_BUCKET_EXPONENT_ONE;
	sn_vec_push(&image->decoder->experiment->buckets, bucket);
}

void sn_decode_variant(struct image *image, const struct owner *owner,
		       const struct sn_record_variant *record)
{
	const bool has_clock = record->timings.header.size_bytes >= SN_VARIANT_BYTES_CLOCK;
	const bool has_called = record->timings.header.size_bytes >= sizeof(*record);
	struct sn_loop_variant variant = {
		.variant = record->variant & ~SN_VARIANT_WARM,
		.is_warm = record->variant & SN_VARIANT_WARM,
		.disturbed = record->disturbed,
		.faulted = record->faulted,
		.runaway = record->runaway,
		.clock_cycles = has_clock ? record->clock_cycles : 0,
		.clock_count = has_clock ? record->clock_count : 0,
		.called = has_called ? record->called : 0,
	};

	if (variant.variant >= SN_VARIANT_CODES) {
		image->damaged++;
		return;
	}
	if (bucket_read(image, owner, &record->timings, &variant.timings))
		sn_vec_push(&image->decoder->experiment->variants, variant);
}
