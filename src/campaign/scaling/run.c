/* Sums the thread times of a profile by worker: for each function, source loop and category. */
#include "campaign/scaling/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/map.h"
#include "campaign/facts.h"
#include "compare/entry.h"
#include "compare/ranges.h"
#include "profile/turns.h"
#include "profile/workers.h"

const char *sn_scaling_kind_name(enum sn_scaling_kind kind)
{
	static const char *const names[] = { "application", "function", "loop", "category" };

	return names[kind];
}

/* ---- parts ---- */

struct builder {
	struct sn_scaling_run *run;
	const struct sn_profile *profile;
	struct sn_interner keys;	 /* of parts, by number */
	uint32_t *of_function, *of_loop; /* part + 1 */
	struct sn_ranges ranges;	 /* loops of one range of lines are one part */
	uint32_t of_category[SN_CATEGORIES];
	uint32_t worker_count;
	double *cpu_s;	     /* by worker */
	double period_s;     /* CPU time of a sample */
	struct sn_map times; /* part and worker -> ns */
};

static uint32_t part_of(struct builder *b, enum sn_scaling_kind kind,
			const struct sn_compare_entry *entry, const char *loop)
{
	struct sn_text key = { 0 };
	uint32_t number;

	sn_text_addf(&key, "%d\n", (int)kind);
	if (kind == SN_SCALING_CATEGORY)
		sn_text_add(&key, entry->name);
	else
		sn_compare_key_add(entry, &key);
	number = sn_intern(&b->keys, key.chars, key.length);
	if (number == b->run->parts.count) {
		struct sn_scaling_part part = { .kind = kind,
						.key = sn_arena_strdup(&b->run->arena, key.chars),
						.entry = *entry,
						.loop = loop };

		sn_vec_push(&b->run->parts, part);
	}
	sn_text_free(&key);
	return number;
}

static uint32_t function_part(struct builder *b, uint32_t function)
{
	if (!b->of_function[function]) {
		struct sn_compare_entry entry =
			sn_compare_function(b->profile->program, function, &b->run->arena);

		b->of_function[function] = part_of(b, SN_SCALING_FUNCTION, &entry, NULL) + 1;
	}
	return b->of_function[function] - 1;
}

static void ranges_fill(struct builder *b)
{
	const struct sn_program *program = b->profile->program;
	uint8_t *is_added = sn_alloc_zeroed(program->loops.count + 1, sizeof(*is_added));

	for (size_t i = 0; i < b->profile->thread_times.count; i++) {
		uint32_t loop =
			sn_program_leaf(program, b->profile->thread_times.items[i].stack)->loop;
		struct sn_compare_entry entry;

		if (loop == SN_NONE || is_added[loop] || b->profile->is_runtime_loop[loop])
			continue;
		is_added[loop] = 1;
		entry = sn_compare_loop(program, loop, &b->run->arena);
		sn_ranges_add_entry(&b->ranges, &entry);
	}
	sn_ranges_join(&b->ranges);
	free(is_added);
}

/* Loops whose first line is the same are one source loop; the hottest gives the id. */
static uint32_t loop_part(struct builder *b, uint32_t loop)
{
	if (!b->of_loop[loop]) {
		struct sn_compare_entry entry =
			sn_compare_loop(b->profile->program, loop, &b->run->arena);
		const struct sn_loop *code = b->profile->program->loops.items[loop].code;

		entry = sn_ranges_entry(&b->ranges, &entry);
		b->of_loop[loop] =
			part_of(b, SN_SCALING_LOOP, &entry,
				code->id ? sn_arena_strdup(&b->run->arena, code->id) : NULL) +
			1;
	}
	return b->of_loop[loop] - 1;
}

static uint32_t category_part(struct builder *b, uint8_t category)
{
	if (!b->of_category[category]) {
		struct sn_compare_entry entry = { .module = "",
						  .function = "",
						  .name = sn_category_name(category) };

		b->of_category[category] = part_of(b, SN_SCALING_CATEGORY, &entry, NULL) + 1;
	}
	return b->of_category[category] - 1;
}

static void time_add(struct builder *b, uint32_t part, uint32_t worker, uint64_t ns)
{
	if (ns)
		*sn_map_put(&b->times, (uint64_t)part << 32 | worker, NULL) += ns;
}

/* The part of a stack's time that the kernel had goes to the category of the call. */
static void categories_add(struct builder *b, const struct sn_thread_time *time, uint32_t worker)
{
	const struct sn_weight *stack = &b->profile->stacks[time->stack];
	const struct sn_class *class = &b->profile->program->classes[time->stack];
	uint64_t system = stack->cpu_ns
				  ? (uint64_t)((double)time->cpu_ns * (double)stack->system_ns /
					       (double)stack->cpu_ns)
				  : 0;

	time_add(b, category_part(b, class->user), worker, time->cpu_ns - system);
	time_add(b, category_part(b, class->system), worker, system);
}

static void times_add(struct builder *b, const uint32_t *worker_of, double *useful_s)
{
	const struct sn_program *program = b->profile->program;

	for (size_t i = 0; i < b->profile->thread_times.count; i++) {
		const struct sn_thread_time *time = &b->profile->thread_times.items[i];
		const struct sn_program_place *leaf = sn_program_leaf(program, time->stack);
		const struct sn_class *class = &program->classes[time->stack];
		uint32_t worker = worker_of[time->thread];
		double seconds = (double)time->cpu_ns / 1e9;

		time_add(b, function_part(b, leaf->function), worker, time->cpu_ns);
		if (leaf->loop != SN_NONE && !b->profile->is_runtime_loop[leaf->loop])
			time_add(b, loop_part(b, leaf->loop), worker, time->cpu_ns);
		categories_add(b, time, worker);
		b->run->cpu_s += seconds;
		b->cpu_s[worker] += seconds;
		if (class->is_spin)
			b->run->spin_s += seconds;
		else if (class->user != SN_CATEGORY_MPI && class->user != SN_CATEGORY_OPENMP)
			useful_s[worker] += seconds;
	}
}

/* What a part of one worker's time may be off by, squared: its clock tells the whole, samples which part of
 * it is where. Of n samples the number in a part of the share p has the variance n p (1 - p). */
static double variance_of(const struct builder *b, double part_s, uint32_t worker)
{
	return part_s * fmax(1 - part_s / b->cpu_s[worker], 0) * b->period_s;
}

/* Of one part the time of each worker, the busiest `count` of them; errors are the mean over workers. */
static void part_finish(struct sn_scaling_part *part, double *values, size_t met, size_t count,
			double variance)
{
	while (met < count)
		values[met++] = 0;
	part->busiest_s =
		met > 1 ? sn_largest_of(values, met, variance / (double)met) : part->cpu_s;
}

static int times_compare(const void *left, const void *right)
{
	const struct sn_map_slot *x = left, *y = right;

	return (x->key > y->key) - (x->key < y->key);
}

static void parts_finish(struct builder *b)
{
	struct sn_map_slot *slots = sn_alloc_zeroed(b->times.count + 1, sizeof(*slots));
	double *values =
		sn_alloc_zeroed(b->worker_count + (size_t)b->run->workers + 1, sizeof(*values));
	size_t count = 0;

	for (size_t i = 0; i < b->times.capacity; i++)
		if (b->times.slots[i].used)
			slots[count++] = b->times.slots[i];
	qsort(slots, count, sizeof(*slots), times_compare);
	for (size_t first = 0, end; first < count; first = end) {
		struct sn_scaling_part *part = &b->run->parts.items[slots[first].key >> 32];
		double variance = 0;
		size_t met = 0;

		for (end = first; end < count && slots[end].key >> 32 == slots[first].key >> 32;
		     end++) {
			values[met] = (double)slots[end].value / 1e9;
			variance += variance_of(b, values[met], slots[end].key & 0xffffffff);
			part->cpu_s += values[met++];
		}
		part_finish(part, values, met, (size_t)b->run->workers, variance);
	}
	free(slots);
	free(values);
}

static void accounts_add(struct sn_scaling_run *run, const struct sn_profile *profile,
			 const uint32_t *worker_of, double *wait_s)
{
	const struct sn_experiment *e = profile->experiment;

	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_time_account *account = &e->threads.items[t].account;

		if (!profile->is_at_work[t])
			continue;
		wait_s[worker_of[t]] +=
			account->wait_cpu_ns < 0 ? NAN : sn_seconds(account->wait_cpu_ns);
		run->wait_cpu_s +=
			account->wait_cpu_ns < 0 ? NAN : sn_seconds(account->wait_cpu_ns);
		run->system_s += account->system_ns < 0 ? NAN : sn_seconds(account->system_ns);
	}
}

enum { IDLE_PART = 10 };

/* What tells the busiest worker and those without work. */
static void workers_finish(struct builder *b, const double *useful_s, const double *wait_s)
{
	struct sn_scaling_run *run = b->run;
	double at_work = 0;

	for (uint32_t w = 0; w < b->worker_count; w++) {
		run->useful_s += useful_s[w];
		if (w && useful_s[w] <= run->useful_busiest_s)
			continue;
		run->useful_busiest_s = useful_s[w];
		run->busiest_wait_s = wait_s[w];
	}
	for (uint32_t w = 0; w < b->worker_count; w++)
		at_work += useful_s[w] > 0 && useful_s[w] >= run->useful_busiest_s / IDLE_PART;
	run->idle_workers = fmax(run->workers - at_work, 0);
}

static void turns_fill(struct sn_scaling_run *run, const struct sn_profile *profile,
		       struct sn_structures *structures)
{
	struct sn_text text = { 0 };
	struct sn_turns turns;

	sn_turns_find(profile, structures, &turns);
	if (!turns.called)
		return;
	sn_text_addf(&text, "%s in ", sn_turns_kind(&turns));
	sn_turns_add_place(profile->program, &turns, &text);
	run->turns_s = turns.seconds;
	run->turns = sn_arena_strdup(&run->arena, text.chars);
	sn_text_free(&text);
}

void sn_scaling_run_fill(struct sn_scaling_run *run, const struct sn_profile *profile,
			 struct sn_structures *structures, uint32_t ranks, uint32_t threads)
{
	const struct sn_experiment *e = profile->experiment;
	struct builder b = { .run = run, .profile = profile };
	uint32_t *worker_of = sn_alloc_zeroed(e->threads.count + 1, sizeof(*worker_of));
	double *useful_s, *wait_s;

	memset(run, 0, sizeof(*run));
	ranks = ranks ? ranks : 1;
	threads = threads ? threads : 1;
	run->program = sn_arena_strdup(&run->arena, sn_run_program(e));
	run->workers = (double)ranks * threads;
	run->elapsed_s = sn_seconds(e->elapsed_ns);
	b.of_function = sn_alloc_zeroed(profile->program->functions.count + 1, sizeof(uint32_t));
	b.of_loop = sn_alloc_zeroed(profile->program->loops.count + 1, sizeof(uint32_t));
	b.worker_count = sn_workers_assign(e, worker_of);
	b.worker_count = sn_workers_take_turns(e, b.worker_count, threads, worker_of);
	useful_s = sn_alloc_zeroed(b.worker_count + 1, sizeof(*useful_s));
	wait_s = sn_alloc_zeroed(b.worker_count + 1, sizeof(*wait_s));
	b.cpu_s = sn_alloc_zeroed(b.worker_count + 1, sizeof(*b.cpu_s));
	turns_fill(run, profile, structures);
	ranges_fill(&b);
	times_add(&b, worker_of, useful_s);
	accounts_add(run, profile, worker_of, wait_s);
	workers_finish(&b, useful_s, wait_s);
	b.period_s = profile->total.samples ? run->cpu_s / (double)profile->total.samples : 0;
	parts_finish(&b);
	sn_ranges_free(&b.ranges);
	sn_interner_free(&b.keys);
	sn_map_free(&b.times);
	free(b.of_function);
	free(b.of_loop);
	free(worker_of);
	free(useful_s);
	free(wait_s);
	free(b.cpu_s);
}

void sn_scaling_run_free(struct sn_scaling_run *run)
{
	sn_vec_free(&run->parts);
	sn_arena_free(&run->arena);
}
