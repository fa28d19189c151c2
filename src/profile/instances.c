/* Joins what threads counted in their copies of loops, and sums up what was timed. */
#include "profile/instances.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/companions.h"

/* The run that counted, and what its loops are called in the program that is asked about. */
struct counted {
	const struct sn_profile *profile;
	uint32_t *number_of;
};

static uint32_t loop_of(const struct counted *counted, uint32_t thread, uint32_t stack)
{
	uint32_t loop;

	if (stack == SN_NONE || !counted->profile->thread_passes[thread])
		return SN_NONE;
	loop = sn_program_leaf(counted->profile->program, stack)->loop;
	return loop == SN_NONE ? SN_NONE : counted->number_of[loop];
}

static int by_pace(const void *a, const void *b)
{
	const struct sn_instance *x = a, *y = b;

	if (x->cycles_per_iteration != y->cycles_per_iteration)
		return x->cycles_per_iteration < y->cycles_per_iteration ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->timing.number < y->timing.number ? -1 : x->timing.number > y->timing.number;
}

static int by_iterations(const void *a, const void *b)
{
	uint64_t x = ((const struct sn_instance *)a)->timing.iterations;
	uint64_t y = ((const struct sn_instance *)b)->timing.iterations;

	return x < y ? -1 : x > y;
}

/* The one in the middle, of sorted ones. */
static const struct sn_instance *median_of(const struct sn_instance_bucket *bucket)
{
	double half = 0, sum = 0;
	size_t i = 0;

	for (size_t k = 0; k < bucket->kept_count; k++)
		half += bucket->kept[k].weight / 2;
	for (; i + 1 < bucket->kept_count; i++) {
		sum += bucket->kept[i].weight;
		if (sum >= half)
			break;
	}
	return &bucket->kept[i];
}

static double deviation_of(const struct sn_instance_bucket *bucket)
{
	double weights = 0, sum = 0, squares = 0;

	for (size_t i = 0; i < bucket->kept_count; i++) {
		weights += bucket->kept[i].weight;
		sum += bucket->kept[i].weight * bucket->kept[i].cycles_per_iteration;
	}
	for (size_t i = 0; i < bucket->kept_count; i++)
		squares += bucket->kept[i].weight *
			   pow(bucket->kept[i].cycles_per_iteration - sum / weights, 2);
	return weights > 1 ? sqrt(squares / (weights - 1)) : NAN;
}

static void sum_up(struct sn_instance_bucket *bucket)
{
	size_t count = bucket->kept_count;

	bucket->cycles_min = bucket->cycles_median = bucket->cycles_max = NAN;
	bucket->cycles_mean = bucket->cycles_deviation = bucket->stability = NAN;
	if (!count || !bucket->timed_iterations)
		return;
	qsort(bucket->kept, count, sizeof(*bucket->kept), by_iterations);
	if (!bucket->iterations_min || bucket->kept[0].timing.iterations < bucket->iterations_min)
		bucket->iterations_min = bucket->kept[0].timing.iterations;
	bucket->iterations_median = median_of(bucket)->timing.iterations;
	if (bucket->kept[count - 1].timing.iterations > bucket->iterations_max)
		bucket->iterations_max = bucket->kept[count - 1].timing.iterations;
	qsort(bucket->kept, count, sizeof(*bucket->kept), by_pace);
	bucket->cycles_min = bucket->kept[0].cycles_per_iteration;
	bucket->cycles_median = median_of(bucket)->cycles_per_iteration;
	bucket->cycles_max = bucket->kept[count - 1].cycles_per_iteration;
	/* what is left of them once reading the counter is taken off is nothing */
	bucket->is_too_short = !(bucket->cycles_median > 0);
	if (bucket->is_too_short)
		bucket->cycles_median = NAN;
	if (!(bucket->cycles_min > 0))
		bucket->cycles_min = NAN;
	bucket->cycles_mean = (double)bucket->timed_cycles / (double)bucket->timed_iterations;
	bucket->cycles_deviation = deviation_of(bucket);
	if (bucket->cycles_min > 0)
		bucket->stability =
			(bucket->cycles_median - bucket->cycles_min) / bucket->cycles_min;
}

static struct sn_instance_bucket *bucket_with(struct sn_instances *instances, int exponent,
					      struct sn_arena *arena)
{
	enum { BUCKETS_MAX = 64 };
	size_t at = 0;

	if (!instances->buckets)
		instances->buckets = sn_arena_array(arena, struct sn_instance_bucket, BUCKETS_MAX);
	while (at < instances->bucket_count && instances->buckets[at].exponent < exponent)
		at++;
	if (at < instances->bucket_count && instances->buckets[at].exponent == exponent)
		return &instances->buckets[at];
	memmove(&instances->buckets[at + 1], &instances->buckets[at],
		(instances->bucket_count - at) * sizeof(*instances->buckets));
	instances->bucket_count++;
	instances->buckets[at] = (struct sn_instance_bucket){ .exponent = exponent };
	return &instances->buckets[at];
}

/* Of all that were timed, where the record has it. */
static void add_range(struct sn_instance_bucket *to, const struct sn_loop_bucket *from)
{
	if (from->iterations_min &&
	    (!to->iterations_min || from->iterations_min < to->iterations_min))
		to->iterations_min = from->iterations_min;
	if (from->iterations_max > to->iterations_max)
		to->iterations_max = from->iterations_max;
}

static void add_timings(struct sn_instance_bucket *to, const struct sn_loop_bucket *from,
			struct sn_arena *arena)
{
	struct sn_instance *kept =
		sn_arena_array(arena, struct sn_instance, to->kept_count + from->timing_count);

	if (to->kept_count)
		memcpy(kept, to->kept, to->kept_count * sizeof(*kept));
	to->kept = kept;
	to->timed += from->timed;
	to->timed_cycles += from->cycles;
	to->timed_iterations += from->iterations;
	to->holds_others |= from->holds_others;
	add_range(to, from);
	for (uint32_t i = 0; i < from->timing_count; i++) {
		const struct sn_loop_timing *timing = &from->timings[i];

		to->holds_others |= timing->holds_others;
		if (timing->iterations)
			to->kept[to->kept_count++] =
				(struct sn_instance){ from->thread, *timing,
						      (double)timing->cycles /
							      (double)timing->iterations,
						      (double)from->timed / from->timing_count };
	}
}

/* Instances that stand apart from a loop's others by so much were interrupted, or met what those do not meet: the kernel, a
 * cold start. Time off the CPU is in their cycles, and nobody knows how much. (Chosen.) */
#define APART_TIMES  64.0
#define APART_CYCLES 50000.0 /* of an instance: no switch of threads is shorter */
#define APART_PART   0.01    /* of all that were timed */

static bool is_apart(const struct sn_instance_bucket *all, const struct sn_instance_bucket *bucket)
{
	double usual = all->is_too_short ? 1 : all->cycles_median;

	return bucket->timed && (double)bucket->timed <= APART_PART * (double)all->timed &&
	       bucket->cycles_mean > APART_TIMES * usual &&
	       (double)bucket->timed_cycles / (double)bucket->timed >= APART_CYCLES;
}

static void set_apart(struct sn_instances *instances)
{
	for (size_t b = 0; b < instances->bucket_count; b++) {
		struct sn_instance_bucket *bucket = &instances->buckets[b];

		bucket->is_apart = is_apart(&instances->all, bucket);
		bucket->share_cycles = bucket->is_apart ? 0 : bucket->timed_cycles;
		instances->all.share_cycles += bucket->share_cycles;
	}
}

/* Rows by loop, or by loop and thread. */
struct finder {
	struct counted counted;
	struct sn_map place; /* of a row, by its key */
	bool is_by_thread;
	struct sn_instances_list *out;
};

static uint64_t key_of(const struct finder *finder, uint32_t loop, uint32_t thread)
{
	return (uint64_t)loop << 32 | (finder->is_by_thread ? thread : 0);
}

static void add_counts(struct sn_instances *to, const struct sn_loop_instances *from)
{
	to->instances += from->instances;
	to->open += from->open;
	to->iterations += from->iterations;
	to->has_iterations &= from->has_iterations;
	to->uncounted += from->lacks_open ? from->open : 0;
	to->aborted += from->left;
	/* of what is open, one may be at work and all others were left, if all were to be timed */
	to->has_aborted &= !from->open || from->timed + from->left + 1 >= from->instances;
}

static void list_loops(struct finder *finder)
{
	const struct sn_experiment *e = finder->counted.profile->experiment;
	struct sn_instances_list *out = finder->out;

	out->items = sn_arena_array(&out->arena, struct sn_instances, e->instances.count + 1);
	for (size_t i = 0; i < e->instances.count; i++) {
		const struct sn_loop_instances *from = &e->instances.items[i];
		uint32_t loop = loop_of(&finder->counted, from->thread, from->stack);
		uint64_t *place;
		bool is_new;

		if (loop == SN_NONE)
			continue;
		place = sn_map_put(&finder->place, key_of(finder, loop, from->thread), &is_new);
		if (is_new) {
			*place = out->count;
			out->items[out->count++] =
				(struct sn_instances){ .loop = loop,
						       .thread = finder->is_by_thread ? from->thread
										      : SN_NONE,
						       .has_iterations = true,
						       .has_aborted = true };
		}
		add_counts(&out->items[*place], from);
	}
}

static void add_buckets(struct finder *finder)
{
	const struct sn_experiment *e = finder->counted.profile->experiment;
	struct sn_instances_list *out = finder->out;

	for (size_t i = 0; i < e->buckets.count; i++) {
		const struct sn_loop_bucket *from = &e->buckets.items[i];
		uint32_t loop = loop_of(&finder->counted, from->thread, from->stack);
		const uint64_t *place;
		struct sn_instances *to;

		if (loop == SN_NONE)
			continue;
		place = sn_map_get(&finder->place, key_of(finder, loop, from->thread));
		if (!place)
			continue;
		to = &out->items[*place];
		add_timings(&to->all, from, &out->arena);
		add_timings(bucket_with(to, from->exponent, &out->arena), from, &out->arena);
	}
	for (size_t i = 0; i < out->count; i++) {
		/* nothing else is known of them */
		if (out->items[i].uncounted && !out->items[i].iterations)
			out->items[i].has_iterations = false;
		sum_up(&out->items[i].all);
		for (size_t b = 0; b < out->items[i].bucket_count; b++)
			sum_up(&out->items[i].buckets[b]);
		set_apart(&out->items[i]);
	}
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct sn_instances *x = a, *y = b;
	const struct sn_profile *profile = context;
	uint64_t tx = profile->loops[x->loop].inclusive.cpu_ns;
	uint64_t ty = profile->loops[y->loop].inclusive.cpu_ns;

	if (tx != ty)
		return tx > ty ? -1 : 1;
	if (x->loop != y->loop)
		return x->loop < y->loop ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void find(const struct sn_profile *profile, bool is_by_thread, struct sn_instances_list *out)
{
	struct finder finder = { .counted = { .profile = sn_profile_with_instances(profile) },
				 .is_by_thread = is_by_thread,
				 .out = out };

	*out = (struct sn_instances_list){ .counted = finder.counted.profile };
	finder.counted.number_of = sn_loops_map(finder.counted.profile->program, profile->program);
	list_loops(&finder);
	add_buckets(&finder);
	qsort_r(out->items, out->count, sizeof(*out->items), by_time, (void *)profile);
	free(finder.counted.number_of);
	sn_map_free(&finder.place);
}

void sn_instance_bucket_name(int exponent, struct sn_text *out)
{
	sn_text_addf(out, "%.*f-%.*f", exponent < 0 ? -exponent : 0, ldexp(1, exponent),
		     exponent < -1 ? -exponent - 1 : 0, ldexp(1, exponent + 1));
}

void sn_instances_find(const struct sn_profile *profile, struct sn_instances_list *out)
{
	find(profile, false, out);
}

void sn_instances_find_by_thread(const struct sn_profile *profile, struct sn_instances_list *out)
{
	find(profile, true, out);
}

void sn_instances_free(struct sn_instances_list *list)
{
	sn_arena_free(&list->arena);
}
