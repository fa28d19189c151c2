/*
 * One pass over each thread's samples and waits. What a profile asks of their order is taken along: which stack followed
 * which, how many there were, and how unevenly they claim their time (docs/method/uncertainty.md).
 */
#include "profile/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "profile/blocked.h"
#include "profile/displaced.h"

/* Sums of one thread are apart by these flags. */
enum { APART = SN_SAMPLE_SYSTEM | SN_SAMPLE_REMAINDER, WAYS = 4 };

struct reducer {
	const struct sn_experiment *e;
	struct sn_experiment *out;
	uint32_t *stack_of; /* of each of e's stacks, + 1; 0: not met yet */
	uint32_t *place;    /* of (stack of out, flags): the thread's sum + 1, in out->samples */
	struct sn_map wait_place; /* (stack, kind) -> the thread's sum + 1 */
	struct sn_map transition_of;
	struct sn_displaced displaced;
	struct sn_cpu_sum cpus[1024];
};

static bool is_anyones(const struct sn_experiment *e, const struct sn_stack *stack)
{
	for (uint32_t f = 0; f < stack->depth; f++) {
		enum sn_module_kind kind = e->modules.items[stack->frames[f].module].kind;

		if (kind == SN_MODULE_JIT || kind == SN_MODULE_UNKNOWN)
			return false;
	}
	return true;
}

static uint32_t stack_take(struct reducer *r, uint32_t number)
{
	const struct sn_stack *stack;

	if (number >= r->e->stacks.count)
		return SN_NONE;
	stack = &r->e->stacks.items[number];
	if (!r->stack_of[number])
		r->stack_of[number] =
			sn_experiment_add_stack(r->out,
						is_anyones(r->e, stack) ? SN_NONE : stack->process,
						stack->frames, stack->depth, stack->flags) +
			1;
	return r->stack_of[number] - 1;
}

/* In the order that they have in e, whichever is met first: a reduced experiment names them by the same rule. */
static void stacks_take(struct reducer *r)
{
	const struct sn_experiment *e = r->e;
	bool *is_used = sn_alloc_zeroed(e->stacks.count + 1, sizeof(*is_used));

	for (size_t i = 0; i < e->samples.count; i++)
		if (e->samples.items[i].stack < e->stacks.count)
			is_used[e->samples.items[i].stack] = true;
	for (size_t i = 0; i < e->waits.count; i++)
		if (e->waits.items[i].stack < e->stacks.count)
			is_used[e->waits.items[i].stack] = true;
	for (uint32_t s = 0; s < e->stacks.count; s++)
		if (is_used[s])
			stack_take(r, s);
	free(is_used);
}

/* ---- samples ---- */

static size_t place_of(const struct sn_sample *sample, uint32_t stack)
{
	return ((size_t)stack + 1) % ((size_t)SN_NONE + 1) * WAYS + (sample->flags & APART);
}

static void sum_add(struct reducer *r, const struct sn_sample *sample, uint32_t stack)
{
	size_t at = place_of(sample, stack);
	struct sn_sample *sum;

	if (!r->place[at]) {
		struct sn_sample first = *sample;

		first.stack = stack;
		first.time_ns = r->e->threads.items[sample->thread].start_ns;
		first.flags = (uint16_t)((sample->flags & APART) | SN_SAMPLE_IS_SUM);
		sn_vec_push(&r->out->samples, first);
		r->place[at] = (uint32_t)r->out->samples.count;
		return;
	}
	sum = &r->out->samples.items[r->place[at] - 1];
	sum->cpu_ns += sample->cpu_ns;
	sum->more += 1 + sample->more;
	sum->cpu = sample->cpu;
}

static void cpu_add(struct reducer *r, const struct sn_sample *sample)
{
	struct sn_cpu_sum *sum = &r->cpus[sample->cpu < 1023 ? sample->cpu : 1023];

	sum->cpu_ns += sample->cpu_ns;
	sum->system_ns += sample->flags & SN_SAMPLE_SYSTEM ? sample->cpu_ns : 0;
	sum->samples += !(sample->flags & SN_SAMPLE_REMAINDER);
}

static void transition_add(struct reducer *r, const struct sn_sample *from, uint32_t from_stack,
			   const struct sn_sample *to, uint32_t to_stack)
{
	bool from_is_system = from->flags & SN_SAMPLE_SYSTEM;
	bool to_is_system = to->flags & SN_SAMPLE_SYSTEM;
	uint64_t key = sn_hash_u64((uint64_t)from_stack << 32 | to_stack) * 4 +
		       (from_is_system ? 2 : 0) + to_is_system;
	uint64_t *place = sn_map_put(&r->transition_of, key, NULL);

	if (!*place) {
		struct sn_transition transition = { from_stack, to_stack, from_is_system,
						    to_is_system, 0 };

		sn_vec_push(&r->out->transitions, transition);
		*place = r->out->transitions.count;
	}
	r->out->transitions.items[*place - 1].count++;
}

static bool claims_periods(const struct sn_process *process)
{
	return process->clock_mechanism && !strcmp(process->clock_mechanism, "perf-signal");
}

static void observation_take(struct reducer *r, struct sn_sequence *sequence,
			     const struct sn_sample *sample, uint32_t stack,
			     const struct sn_sample *previous, uint32_t previous_stack)
{
	const struct sn_process *process =
		&r->e->processes.items[r->e->threads.items[sample->thread].process];
	bool is_system = sample->flags & SN_SAMPLE_SYSTEM;

	sequence->observed_ns += sample->cpu_ns;
	sequence->sum_of_squares += (double)sample->cpu_ns * (double)sample->cpu_ns;
	sequence->late += (sample->flags & SN_SAMPLE_LATE) != 0;
	if (!is_system && claims_periods(process))
		sn_displaced_add(&r->displaced, (double)sample->cpu_ns);
	if (!previous)
		return;
	sequence->pairs++;
	if (stack != previous_stack || ((sample->flags ^ previous->flags) & SN_SAMPLE_SYSTEM))
		transition_add(r, previous, previous_stack, sample, stack);
}

static void places_clear(struct reducer *r, size_t first)
{
	for (size_t i = first; i < r->out->samples.count; i++)
		r->place[place_of(&r->out->samples.items[i], r->out->samples.items[i].stack)] = 0;
}

/* The samples [at, end) are one thread's. */
static void thread_reduce(struct reducer *r, struct sn_sequence *sequence, size_t at, size_t end)
{
	const struct sn_sample *previous = NULL;
	uint32_t previous_stack = SN_NONE;
	size_t first = r->out->samples.count;

	for (; at < end; at++) {
		const struct sn_sample *sample = &r->e->samples.items[at];
		uint32_t stack = stack_take(r, sample->stack);

		sum_add(r, sample, stack);
		/* time left over, of no stack, is spread by who reads it, with its CPU */
		if ((sample->flags & APART) == SN_SAMPLE_REMAINDER && stack == SN_NONE)
			continue;
		cpu_add(r, sample);
		if (sample->flags & SN_SAMPLE_REMAINDER)
			continue;
		observation_take(r, sequence, sample, stack, previous, previous_stack);
		previous = sample;
		previous_stack = stack;
	}
	places_clear(r, first);
	sn_displaced_end_thread(&r->displaced);
	for (int k = 0; k < SN_DISPLACED_BATCHES; k++) {
		sequence->displaced_squares[k] += r->displaced.squares[k];
		sequence->displaced_sums[k] += r->displaced.sums[k];
		r->displaced.squares[k] = r->displaced.sums[k] = 0;
	}
}

static void samples_reduce(struct reducer *r)
{
	const struct sn_experiment *e = r->e;
	struct sn_sequence *sequences = sn_alloc_zeroed(e->processes.count + 1, sizeof(*sequences));

	for (size_t at = 0, end; at < e->samples.count; at = end) {
		uint32_t thread = e->samples.items[at].thread;

		for (end = at; end < e->samples.count && e->samples.items[end].thread == thread;)
			end++;
		thread_reduce(r, &sequences[e->threads.items[thread].process], at, end);
	}
	for (uint32_t p = 0; p < e->processes.count; p++) {
		sequences[p].process = p;
		sn_vec_push(&r->out->sequences, sequences[p]);
	}
	free(sequences);
	for (uint32_t c = 0; c < 1024; c++) {
		r->cpus[c].cpu = c;
		if (r->cpus[c].cpu_ns || r->cpus[c].samples)
			sn_vec_push(&r->out->cpu_sums, r->cpus[c]);
	}
}

/* ---- waits ---- */

static void waits_reduce(struct reducer *r)
{
	const struct sn_experiment *e = r->e;
	uint64_t *blocked_ns = sn_alloc_zeroed(e->waits.count + 1, sizeof(*blocked_ns));

	sn_blocked_find(e, blocked_ns);
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint32_t stack = stack_take(r, wait->stack);
		uint64_t *place;

		if (i && e->waits.items[i - 1].thread != wait->thread)
			sn_map_free(&r->wait_place);
		if (!blocked_ns[i])
			continue;
		place = sn_map_put(&r->wait_place, (uint64_t)stack << 8 | wait->kind, NULL);
		if (!*place) {
			struct sn_wait sum = *wait;

			sum.time_ns = e->threads.items[wait->thread].start_ns;
			sum.stack = stack;
			sum.duration_ns = blocked_ns[i];
			sum.is_sum = true;
			sn_vec_push(&r->out->waits, sum);
			*place = r->out->waits.count;
			continue;
		}
		r->out->waits.items[*place - 1].duration_ns += blocked_ns[i];
		r->out->waits.items[*place - 1].more++;
	}
	free(blocked_ns);
}

struct sn_experiment *sn_reduce(const struct sn_experiment *e)
{
	struct reducer r = { .e = e, .out = sn_experiment_new(e->path) };

	r.stack_of = sn_alloc_zeroed(e->stacks.count + 1, sizeof(*r.stack_of));
	r.out->started_realtime_ns = e->started_realtime_ns;
	for (size_t i = 0; i < e->modules.count; i++)
		sn_vec_push(&r.out->modules, e->modules.items[i]);
	for (size_t i = 0; i < e->processes.count; i++)
		sn_vec_push(&r.out->processes, e->processes.items[i]);
	for (size_t i = 0; i < e->threads.count; i++)
		sn_vec_push(&r.out->threads, e->threads.items[i]);
	stacks_take(&r);
	r.place = sn_alloc_zeroed(((size_t)r.out->stacks.count + 2) * WAYS, sizeof(*r.place));
	samples_reduce(&r);
	waits_reduce(&r);
	sn_map_free(&r.wait_place);
	sn_map_free(&r.transition_of);
	sn_displaced_free(&r.displaced);
	free(r.stack_of);
	free(r.place);
	return r.out;
}
