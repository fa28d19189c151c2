/*
 * Sums samples by thread and stack, then walks each stack once to give its time to functions,
 * loops, lines and all other entities.
 */
#include "profile/profile_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/blocked.h"
#include "profile/launchers.h"
#include "profile/uncertainty.h"

void sn_weight_add(struct sn_weight *to, const struct sn_weight *other)
{
	to->cpu_ns += other->cpu_ns;
	to->system_ns += other->system_ns;
	to->wait_ns += other->wait_ns;
	to->samples += other->samples;
	to->waits += other->waits;
}

uint64_t sn_weight_time(const struct sn_weight *weight, enum sn_time_kind kind)
{
	return weight->cpu_ns + (kind == SN_TIME_WALL ? weight->wait_ns : 0);
}

enum sn_quality sn_quality_of(uint64_t samples)
{
	return samples >= 100 ? SN_QUALITY_GOOD : samples >= 20 ? SN_QUALITY_FAIR : SN_QUALITY_POOR;
}

const char *sn_quality_mark(enum sn_quality quality, bool is_utf8)
{
	static const char *const utf8[] = { "●", "◐", "○" }, *const ascii[] = { "+", "~", "?" };

	return (is_utf8 ? utf8 : ascii)[quality];
}

/* ---- samples to stacks ---- */

static void leaves_find(struct sn_builder *b)
{
	const struct sn_program *program = b->program;

	b->leaves = sn_alloc_zeroed(program->stack_count + 1, sizeof(*b->leaves));
	b->partition_size[BY_FUNCTION] = (uint32_t)program->functions.count;
	b->partition_size[BY_LOOP] = (uint32_t)program->loops.count;
	b->partition_size[BY_LINE] = (uint32_t)program->lines.count;
	b->partition_size[BY_MODULE] = (uint32_t)b->experiment->modules.count + 1;
	b->partition_size[BY_CATEGORY] = SN_CATEGORIES;
	for (int p = 0; p < PARTITIONS; p++)
		b->transitions[p] = sn_alloc_zeroed(b->partition_size[p] + 1, sizeof(uint64_t));
	for (uint32_t s = 0; s <= program->stack_count; s++) {
		const struct sn_program_place *place = sn_program_leaf(program, s);
		struct sn_leaf *leaf = &b->leaves[s];

		leaf->of[BY_FUNCTION] = place->function;
		leaf->of[BY_LOOP] = place->loop;
		leaf->of[BY_LINE] = place->line;
		leaf->of[BY_MODULE] = place->module == SN_NONE
					      ? (uint32_t)b->experiment->modules.count
					      : place->module;
		leaf->of[BY_CATEGORY] = program->classes[s].user;
		leaf->system_category = program->classes[s].system;
	}
}

static void transition_count(struct sn_builder *b, bool from_is_system, bool to_is_system,
			     uint32_t from_stack, uint32_t to_stack, uint64_t count)
{
	const struct sn_leaf *a = &b->leaves[from_stack], *z = &b->leaves[to_stack];
	uint32_t ca = from_is_system ? a->system_category : a->of[BY_CATEGORY];
	uint32_t cz = to_is_system ? z->system_category : z->of[BY_CATEGORY];

	for (int p = 0; p < BY_CATEGORY; p++) {
		if (a->of[p] == z->of[p])
			continue;
		if (a->of[p] != SN_NONE)
			b->transitions[p][a->of[p]] += count;
		if (z->of[p] != SN_NONE)
			b->transitions[p][z->of[p]] += count;
	}
	if (ca != cz) {
		b->transitions[BY_CATEGORY][ca] += count;
		b->transitions[BY_CATEGORY][cz] += count;
	}
}

static void stack_touch(struct sn_builder *b, uint32_t stack)
{
	if (!b->thread_stack_seen[stack]) {
		b->thread_stack_seen[stack] = 1;
		sn_vec_push(&b->touched, stack);
	}
}

/* Samples of perf events claim their mean period; those of timers what was used since the last. */
static bool claims_periods(const struct sn_builder *b, uint32_t thread)
{
	uint32_t process = b->experiment->threads.items[thread].process;
	const char *mechanism = process < b->experiment->processes.count
					? b->experiment->processes.items[process].clock_mechanism
					: NULL;

	return mechanism && !strcmp(mechanism, "perf-signal");
}

static void cpu_add(struct sn_profile *profile, uint32_t number, uint64_t cpu_ns,
		    uint64_t system_ns, uint64_t samples)
{
	struct sn_weight *cpu = &profile->cpus[number < 1023 ? number : 1023];

	cpu->cpu_ns += cpu_ns;
	cpu->system_ns += system_ns;
	cpu->samples += samples;
	if (number >= profile->cpu_count)
		profile->cpu_count = number < 1023 ? number + 1u : 1024;
}

static void sample_add(struct sn_builder *b, const struct sn_sample *sample, uint32_t stack)
{
	struct sn_profile *profile = b->profile;
	struct sn_weight *weight = &profile->stacks[stack];
	bool is_system = sample->flags & SN_SAMPLE_SYSTEM;
	bool is_observation = !(sample->flags & SN_SAMPLE_REMAINDER);
	bool is_sum = sample->flags & SN_SAMPLE_IS_SUM;
	uint64_t observations = is_observation ? 1 + (uint64_t)sample->more : 0;

	weight->cpu_ns += sample->cpu_ns;
	weight->samples += observations;
	if (is_system) {
		weight->system_ns += sample->cpu_ns;
		b->system_stacks[stack].cpu_ns += sample->cpu_ns;
		b->system_stacks[stack].samples += observations;
	}
	if (!is_sum)
		cpu_add(profile, sample->cpu, sample->cpu_ns, is_system ? sample->cpu_ns : 0,
			observations);
	if (is_observation)
		b->thread_observed_ns[stack] += sample->cpu_ns;
	if (is_observation && !is_sum) {
		b->sum_of_squares += (double)sample->cpu_ns * (double)sample->cpu_ns;
		b->observed_ns += sample->cpu_ns;
		if (!is_system && claims_periods(b, sample->thread))
			sn_displaced_add(&b->displaced, (double)sample->cpu_ns);
		profile->late_samples += (sample->flags & SN_SAMPLE_LATE) != 0;
	}
	stack_touch(b, stack);
	b->thread_stack_ns[stack] += sample->cpu_ns;
}

/* The user time after a thread's last sample is spread over where the thread was seen, in
 * proportion: with a random first period that is where it is expected. A thread that was never seen
 * keeps it as time without a stack. */
static void remainder_spread(struct sn_builder *b, uint32_t thread)
{
	uint64_t sum = 0, before = 0, given = 0, rest = b->remainder_ns;
	uint32_t none = b->program->stack_count;

	for (size_t i = 0; i < b->touched.count; i++)
		if (b->touched.items[i] != none)
			sum += b->thread_observed_ns[b->touched.items[i]];
	if (b->filtered_ns)
		rest = (uint64_t)((unsigned __int128)rest * sum / (sum + b->filtered_ns));
	else if (!sum && !b->profile->stack_passes[none])
		rest = 0;
	b->remainder_ns = b->filtered_ns = 0;
	if (!rest)
		return;
	b->profile->threads[thread].cpu_ns += rest;
	b->profile->cpus[b->remainder_cpu < 1023 ? b->remainder_cpu : 1023].cpu_ns += rest;
	if (!sum) {
		stack_touch(b, none);
		b->thread_stack_ns[none] += rest;
		b->profile->stacks[none].cpu_ns += rest;
		return;
	}
	for (size_t i = 0; i < b->touched.count; i++) {
		uint32_t stack = b->touched.items[i];
		uint64_t upto;

		if (stack == none)
			continue;
		before += b->thread_observed_ns[stack];
		upto = (uint64_t)((unsigned __int128)rest * before / sum);
		b->thread_stack_ns[stack] += upto - given;
		b->profile->stacks[stack].cpu_ns += upto - given;
		given = upto;
	}
}

/* Its time stands at its start routine. The main thread's is the loader's, which is known. */
static bool is_never_seen(const struct sn_builder *b, uint32_t thread)
{
	const struct sn_thread *t = &b->experiment->threads.items[thread];

	return t->tid != b->experiment->processes.items[t->process].pid &&
	       !b->profile->threads[thread].samples;
}

static void unplaced_add(struct sn_builder *b)
{
	for (size_t i = 0; i < b->touched.count; i++) {
		uint32_t stack = b->touched.items[i];

		if (stack == b->program->stack_count)
			continue;
		b->unplaced_ns[stack] += b->thread_stack_ns[stack];
		b->all_unplaced_ns += b->thread_stack_ns[stack];
	}
}

static void thread_flush(struct sn_builder *b, uint32_t thread)
{
	if (thread != SN_NONE)
		remainder_spread(b, thread);
	if (thread != SN_NONE && is_never_seen(b, thread))
		unplaced_add(b);
	for (size_t i = 0; i < b->touched.count; i++) {
		uint32_t stack = b->touched.items[i];
		struct sn_thread_time time = { thread, stack, b->thread_stack_ns[stack] };

		sn_vec_push(&b->profile->thread_times, time);
		b->thread_stack_ns[stack] = b->thread_observed_ns[stack] = 0;
		b->thread_stack_seen[stack] = 0;
	}
	b->touched.count = 0;
}

static void thread_begin(struct sn_builder *b, uint32_t *thread, uint32_t next)
{
	sn_displaced_end_thread(&b->displaced);
	thread_flush(b, *thread);
	*thread = next;
}

static void thread_add(struct sn_weight *sum, const struct sn_sample *sample)
{
	sum->cpu_ns += sample->cpu_ns;
	if (sample->flags & SN_SAMPLE_SYSTEM)
		sum->system_ns += sample->cpu_ns;
	sum->samples += sample->flags & SN_SAMPLE_REMAINDER ? 0 : 1 + (uint64_t)sample->more;
}

/* What the order of samples told before they were summed up (experiment/reduction.h). */
static void order_take(struct sn_builder *b)
{
	const struct sn_experiment *e = b->experiment;
	uint32_t none = b->program->stack_count;

	for (size_t i = 0; i < e->sequences.count; i++) {
		const struct sn_sequence *s = &e->sequences.items[i];

		b->pairs += s->pairs;
		b->observed_ns += s->observed_ns;
		b->sum_of_squares += s->sum_of_squares;
		b->profile->late_samples += s->late;
		for (int k = 0; k < SN_DISPLACED_BATCHES; k++) {
			b->displaced.squares[k] += s->displaced_squares[k];
			b->displaced.sums[k] += s->displaced_sums[k];
		}
	}
	for (size_t i = 0; i < e->transitions.count; i++) {
		const struct sn_transition *t = &e->transitions.items[i];

		transition_count(b, t->from_is_system, t->to_is_system,
				 t->from < none ? t->from : none, t->to < none ? t->to : none,
				 t->count);
	}
	for (size_t i = 0; i < e->cpu_sums.count; i++) {
		const struct sn_cpu_sum *c = &e->cpu_sums.items[i];

		cpu_add(b->profile, c->cpu, c->cpu_ns, c->system_ns, c->samples);
	}
}

/* Samples come sorted by thread, then time. */
static void samples_sum(struct sn_builder *b)
{
	struct sn_profile *profile = b->profile;
	const struct sn_experiment *e = b->experiment;
	const struct sn_sample *previous = NULL;
	uint32_t previous_stack = 0, thread = SN_NONE, stacks = b->program->stack_count;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t stack = sample->stack < stacks ? sample->stack : stacks;

		if (!sn_profile_is_in_range(profile, sample))
			continue;
		if (sample->thread != thread) {
			thread_begin(b, &thread, sample->thread);
			previous = NULL;
		}
		if (sn_program_is_rest(b->program, sample)) {
			b->remainder_ns += sample->cpu_ns;
			b->remainder_cpu = sample->cpu;
			continue;
		}
		if (!profile->stack_passes[stack]) {
			b->filtered_ns += stack < stacks ? sample->cpu_ns : 0;
			continue;
		}
		sample_add(b, sample, stack);
		thread_add(&profile->threads[thread], sample);
		if (sample->flags & (SN_SAMPLE_REMAINDER | SN_SAMPLE_IS_SUM))
			continue;
		if (previous) {
			b->pairs++;
			if (stack != previous_stack ||
			    ((sample->flags ^ previous->flags) & SN_SAMPLE_SYSTEM))
				transition_count(b, previous->flags & SN_SAMPLE_SYSTEM,
						 sample->flags & SN_SAMPLE_SYSTEM, previous_stack,
						 stack, 1);
		}
		previous = sample;
		previous_stack = stack;
	}
	sn_displaced_end_thread(&b->displaced);
	thread_flush(b, thread);
	order_take(b);
}

static void waits_sum(struct sn_builder *b)
{
	struct sn_profile *profile = b->profile;
	const struct sn_experiment *e = b->experiment;

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint32_t stack = wait->stack < b->program->stack_count ? wait->stack
								       : b->program->stack_count;
		uint64_t ns = sn_profile_wait_ns(profile, wait);

		if (!ns)
			continue;
		profile->stacks[stack].wait_ns += ns;
		profile->stacks[stack].waits += 1 + (uint64_t)wait->more;
		profile->threads[wait->thread].wait_ns += ns;
		profile->threads[wait->thread].waits += 1 + (uint64_t)wait->more;
	}
}

uint64_t sn_profile_wait_elapsed_ns(const struct sn_profile *profile, const struct sn_wait *wait)
{
	uint32_t stack = wait->stack < profile->program->stack_count
				 ? wait->stack
				 : profile->program->stack_count;
	int64_t from = wait->time_ns, to;

	if (wait->thread >= profile->experiment->threads.count ||
	    !profile->thread_passes[wait->thread] || !profile->stack_passes[stack] ||
	    (profile->filter.without_idle && !profile->is_at_work[wait->thread]))
		return 0;
	if (wait->is_sum) /* of no one time: it is read where none was asked for */
		return wait->duration_ns;
	if (__builtin_add_overflow(from, (int64_t)wait->duration_ns, &to) || to < from)
		to = profile->to_ns;
	from = from > profile->from_ns ? from : profile->from_ns;
	to = to < profile->to_ns ? to : profile->to_ns;
	return (uint64_t)sn_spans_overlap_ns(&profile->filter.spans, from, to);
}

uint64_t sn_profile_wait_ns(const struct sn_profile *profile, const struct sn_wait *wait)
{
	uint64_t elapsed_ns = sn_profile_wait_elapsed_ns(profile, wait);

	return elapsed_ns ? sn_blocked_part(profile, wait, elapsed_ns) : 0;
}

/* ---- stacks to entities ---- */

struct seen {
	uint32_t *functions, *loops, *lines, *modules, *places; /* stack number + 1 */
};

static void inclusive_add(struct sn_weight *to, uint32_t *seen, uint32_t mark,
			  const struct sn_weight *weight)
{
	if (*seen != mark) {
		*seen = mark;
		sn_weight_add(to, weight);
	}
}

static void stack_add_inclusive(struct sn_builder *b, struct seen *seen, uint32_t stack,
				const struct sn_weight *weight)
{
	const struct sn_program *program = b->program;
	struct sn_profile *profile = b->profile;
	uint32_t mark = stack + 1;

	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		uint32_t p = program->frame_places[i];
		const struct sn_program_place *place = &program->places.items[p];
		uint32_t module = place->module == SN_NONE ? (uint32_t)b->experiment->modules.count
							   : place->module;

		if (seen->places[p] == mark)
			continue;
		seen->places[p] = mark;
		sn_weight_add(&profile->place_inclusive[p], weight);
		inclusive_add(&profile->modules[module].inclusive, &seen->modules[module], mark,
			      weight);
		for (uint32_t s = 0; s < place->step_count; s++) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];

			if (step->kind == SN_STEP_LOOP) {
				inclusive_add(&profile->loops[step->index].inclusive,
					      &seen->loops[step->index], mark, weight);
				continue;
			}
			inclusive_add(&profile->functions[step->index].inclusive,
				      &seen->functions[step->index], mark, weight);
			inclusive_add(&profile->lines[step->line].inclusive,
				      &seen->lines[step->line], mark, weight);
		}
	}
}

static void stack_add_categories(struct sn_builder *b, uint32_t stack,
				 const struct sn_weight *weight)
{
	struct sn_profile *profile = b->profile;
	const struct sn_class *class = &b->program->classes[stack];
	struct sn_weight user = *weight, kernel = { 0 };

	kernel.cpu_ns = kernel.system_ns = b->system_stacks[stack].cpu_ns;
	kernel.samples = b->system_stacks[stack].samples;
	user.cpu_ns -= kernel.cpu_ns;
	user.system_ns = 0;
	user.samples -= kernel.samples;
	sn_weight_add(&profile->categories[class->user].exclusive, &user);
	sn_weight_add(&profile->categories[class->system].exclusive, &kernel);
	if (class->user == SN_CATEGORY_PROGRAM)
		profile->program_ns[b->leaves[stack].of[BY_MODULE]] += user.cpu_ns;
	if (class->is_spin) {
		profile->spin_ns[class->user] += weight->cpu_ns;
		profile->function_spin_ns[b->leaves[stack].of[BY_FUNCTION]] += weight->cpu_ns;
	}
}

static bool stack_is_runtime(const struct sn_builder *b, uint32_t stack)
{
	uint8_t category = b->program->classes[stack].user;

	return category == SN_CATEGORY_OPENMP || category == SN_CATEGORY_MPI;
}

static void stack_add_exclusive(struct sn_builder *b, uint32_t stack,
				const struct sn_weight *weight)
{
	struct sn_profile *profile = b->profile;
	const struct sn_leaf *leaf = &b->leaves[stack];
	uint32_t loop = leaf->of[BY_LOOP], flags;

	sn_weight_add(&profile->functions[leaf->of[BY_FUNCTION]].exclusive, weight);
	sn_weight_add(&profile->lines[leaf->of[BY_LINE]].exclusive, weight);
	sn_weight_add(&profile->modules[leaf->of[BY_MODULE]].exclusive, weight);
	sn_weight_add(&profile->places[b->program->frame_places[b->program->first_frame[stack]]],
		      weight);
	if (loop != SN_NONE)
		sn_weight_add(&profile->loops[loop].exclusive, weight);
	if (loop != SN_NONE && !profile->is_runtime_loop[loop]) {
		profile->loops_ns += weight->cpu_ns;
		if (b->program->loops.items[loop].code->is_innermost)
			profile->innermost_loops_ns += weight->cpu_ns;
	}
	flags = stack < b->program->stack_count ? b->experiment->stacks.items[stack].flags
						: SN_STACK_ABSENT;
	if (stack == b->program->stack_count || flags & SN_STACK_ABSENT)
		profile->no_stack_samples += weight->samples;
	else if (!sn_program_stack_is_whole(b->program, stack))
		profile->truncated_samples += weight->samples;
	if (!b->program->functions.items[leaf->of[BY_FUNCTION]].is_named)
		profile->unnamed_ns += weight->cpu_ns;
}

/* A loop of an MPI or OpenMP runtime waits or hands out work. A loop of a spin lock waits, and so
 * does one that looks at a flag. There is nothing to optimise in them. */
static void runtime_loops_find(struct sn_builder *b)
{
	for (uint32_t s = 0; s <= b->program->stack_count; s++) {
		uint32_t loop = b->leaves[s].of[BY_LOOP], module = b->leaves[s].of[BY_MODULE];
		enum sn_module_class class = b->program->module_classes[module];
		const struct sn_program_function *function =
			&b->program->functions.items[b->leaves[s].of[BY_FUNCTION]];

		if (class == SN_MODULE_CLASS_BINARY && function->is_named)
			class = sn_class_of_static_function(function->linkage_name);

		if (loop != SN_NONE &&
		    ((stack_is_runtime(b, s) &&
		      (class == SN_MODULE_CLASS_OPENMP || class == SN_MODULE_CLASS_MPI)) ||
		     (b->program->classes[s].is_spin && class == SN_MODULE_CLASS_LIBC) ||
		     b->program->loops.items[loop].busy_waits))
			b->profile->is_runtime_loop[loop] = 1;
	}
}

static void stacks_sum(struct sn_builder *b)
{
	struct sn_profile *profile = b->profile;
	const struct sn_program *program = b->program;
	struct seen seen = {
		sn_alloc_zeroed(program->functions.count + 1, sizeof(uint32_t)),
		sn_alloc_zeroed(program->loops.count + 1, sizeof(uint32_t)),
		sn_alloc_zeroed(program->lines.count + 1, sizeof(uint32_t)),
		sn_alloc_zeroed(b->experiment->modules.count + 1, sizeof(uint32_t)),
		sn_alloc_zeroed(program->places.count + 1, sizeof(uint32_t)),
	};

	for (uint32_t s = 0; s <= program->stack_count; s++) {
		const struct sn_weight *weight = &profile->stacks[s];

		if (!weight->cpu_ns && !weight->samples && !weight->waits)
			continue;
		sn_weight_add(&profile->total, weight);
		stack_add_exclusive(b, s, weight);
		stack_add_categories(b, s, weight);
		stack_add_inclusive(b, &seen, s, weight);
	}
	for (size_t t = 0; t < b->experiment->threads.count; t++)
		if (b->experiment->threads.items[t].process < b->experiment->processes.count)
			sn_weight_add(&profile->processes[b->experiment->threads.items[t].process],
				      &profile->threads[t]);
	free(seen.functions);
	free(seen.loops);
	free(seen.lines);
	free(seen.modules);
	free(seen.places);
}

bool sn_function_spins(const struct sn_profile *p, uint32_t function)
{
	return p->function_spin_ns[function] * 2 > p->functions[function].exclusive.cpu_ns;
}

size_t sn_program_modules(const struct sn_profile *p, uint32_t *modules, size_t limit)
{
	size_t count = 0;

	for (uint32_t m = 0; m <= p->experiment->modules.count; m++) {
		size_t at = count;

		if (!p->program_ns[m])
			continue;
		while (at && p->program_ns[modules[at - 1]] < p->program_ns[m])
			at--;
		if (at == limit)
			continue;
		count += count < limit;
		memmove(&modules[at + 1], &modules[at], (count - 1 - at) * sizeof(*modules));
		modules[at] = m;
	}
	return count;
}

/* ---- all together ---- */

static void *arena_metrics(struct sn_profile *profile, size_t count)
{
	return sn_arena_array(&profile->arena, struct sn_metrics, count + 1);
}

static void *arena_weights(struct sn_profile *profile, size_t count)
{
	return sn_arena_array(&profile->arena, struct sn_weight, count + 1);
}

static void profile_allocate(struct sn_profile *profile)
{
	const struct sn_program *program = profile->program;
	const struct sn_experiment *e = profile->experiment;

	profile->functions = arena_metrics(profile, program->functions.count);
	profile->loops = arena_metrics(profile, program->loops.count);
	profile->lines = arena_metrics(profile, program->lines.count);
	profile->modules = arena_metrics(profile, e->modules.count + 1);
	profile->function_spin_ns =
		sn_arena_array(&profile->arena, uint64_t, program->functions.count + 1);
	profile->program_ns = sn_arena_array(&profile->arena, uint64_t, e->modules.count + 2);
	profile->places = arena_weights(profile, program->places.count);
	profile->place_inclusive = arena_weights(profile, program->places.count);
	profile->stacks = arena_weights(profile, program->stack_count + 1);
	profile->threads = arena_weights(profile, e->threads.count);
	profile->processes = arena_weights(profile, e->processes.count);
	profile->blocked_ns = sn_arena_array(&profile->arena, uint64_t, e->waits.count + 1);
	profile->is_runtime_loop = sn_arena_alloc(&profile->arena, program->loops.count + 1, 1);
	profile->is_at_work = sn_arena_alloc(&profile->arena, e->threads.count + 1, 1);
	profile->launching = sn_arena_alloc(&profile->arena, e->processes.count + 1, 1);
	profile->thread_passes = sn_arena_alloc(&profile->arena, e->threads.count + 1, 1);
	profile->stack_passes = sn_arena_alloc(&profile->arena, program->stack_count + 1, 1);
}

/* The first label packet of this text that is later than `after_ns`. */
static sn_status label_time(const struct sn_experiment *e, const char *label, int64_t after_ns,
			    int64_t *out, struct sn_error *err)
{
	int64_t first_ns = INT64_MAX;

	for (size_t i = 0; i < e->packets.count; i++) {
		const struct sn_packet *packet = &e->packets.items[i];

		if (packet->label && !strcmp(packet->label, label) && packet->time_ns > after_ns &&
		    packet->time_ns < first_ns)
			first_ns = packet->time_ns;
	}
	if (first_ns == INT64_MAX)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "there is no sample packet with the label '%s'%s "
				    "(sonde show packets lists them)",
				    label, after_ns >= 0 ? " after the range's begin" : "");
	*out = first_ns;
	return SN_OK;
}

static sn_status profile_set_filter(struct sn_profile *profile, const struct sn_filter *filter,
				    struct sn_error *err)
{
	sn_status status = SN_OK;

	profile->from_ns = INT64_MIN;
	profile->to_ns = INT64_MAX;
	if (!filter)
		return SN_OK;
	profile->filter = *filter;
	if (filter->from_ns)
		profile->from_ns = filter->from_ns;
	if (filter->to_ns)
		profile->to_ns = filter->to_ns;
	if (filter->from_label)
		status = label_time(profile->experiment, filter->from_label, -1, &profile->from_ns,
				    err);
	if (status == SN_OK && filter->to_label)
		status = label_time(profile->experiment, filter->to_label,
				    filter->from_label || filter->from_ns ? profile->from_ns : -1,
				    &profile->to_ns, err);
	profile->is_filtered = filter->from_ns || filter->to_ns || filter->spans.count ||
			       filter->from_label || filter->to_label || filter->process_count ||
			       filter->tid_count || filter->module || filter->function;
	return status;
}

static void launchers_find(struct sn_profile *profile)
{
	const struct sn_experiment *e = profile->experiment;
	uint64_t *cpu_ns = sn_alloc_zeroed(e->processes.count + 1, sizeof(*cpu_ns));

	for (size_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process < e->processes.count)
			cpu_ns[e->threads.items[t].process] += profile->threads[t].cpu_ns;
	sn_launchers_find(e, cpu_ns, profile->launching);
	free(cpu_ns);
}

static bool is_of_launcher(const struct sn_profile *profile, size_t thread)
{
	uint32_t process = profile->experiment->threads.items[thread].process;

	return process < profile->experiment->processes.count &&
	       profile->launching[process] == SN_LAUNCHES_RANKS;
}

/* Threads of launchers count where a filter leaves no others. */
static bool only_launchers_pass(const struct sn_profile *profile)
{
	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		if (profile->thread_passes[t] && !is_of_launcher(profile, t))
			return false;
	return true;
}

/* Threads that count in comparisons between threads: helpers of runtimes, with less than a
 * hundredth of the busiest thread's time, say nothing about balance. */
static uint32_t threads_at_work(struct sn_profile *profile)
{
	uint64_t most = 0;
	uint32_t threads = 0;
	bool with_launchers;

	launchers_find(profile);
	with_launchers = only_launchers_pass(profile);
	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		if (profile->threads[t].cpu_ns > most)
			most = profile->threads[t].cpu_ns;
	for (size_t t = 0; t < profile->experiment->threads.count; t++) {
		const struct sn_thread *thread = &profile->experiment->threads.items[t];
		bool is_first =
			thread->process < profile->experiment->processes.count &&
			thread->tid == profile->experiment->processes.items[thread->process].pid;

		if (is_of_launcher(profile, t) && !with_launchers)
			continue;
		threads += profile->threads[t].cpu_ns > most / 100;
		profile->is_at_work[t] =
			profile->thread_passes[t] &&
			(is_first || (most && profile->threads[t].cpu_ns > most / 100));
	}
	return threads;
}

static void profile_compute(struct sn_builder *b)
{
	struct sn_profile *profile = b->profile;
	uint32_t stacks = b->program->stack_count + 1, threads;

	leaves_find(b);
	b->thread_stack_ns = sn_alloc_zeroed(stacks, sizeof(uint64_t));
	b->thread_observed_ns = sn_alloc_zeroed(stacks, sizeof(uint64_t));
	b->thread_stack_seen = sn_alloc_zeroed(stacks, 1);
	b->unplaced_ns = sn_alloc_zeroed(stacks, sizeof(uint64_t));
	b->system_stacks = sn_alloc_zeroed(stacks, sizeof(*b->system_stacks));
	samples_sum(b);
	sn_blocked_find(profile->experiment, profile->blocked_ns);
	threads = threads_at_work(profile);
	waits_sum(b);
	runtime_loops_find(b);
	stacks_sum(b);
	profile->effective_samples =
		sn_effective_samples((double)b->observed_ns, b->sum_of_squares);
	for (int p = 0; p < PARTITIONS; p++) {
		if (p != BY_CATEGORY)
			sn_profile_spread(b, (enum sn_partition)p, threads);
		sn_profile_intervals(b, (enum sn_partition)p);
		free(b->transitions[p]);
	}
	sn_displaced_free(&b->displaced);
	free(b->leaves);
	free(b->thread_stack_ns);
	free(b->thread_observed_ns);
	free(b->thread_stack_seen);
	free(b->unplaced_ns);
	free(b->system_stacks);
	sn_vec_free(&b->touched);
}

sn_status sn_profile_new(const struct sn_program *program, const struct sn_filter *filter,
			 struct sn_profile **out, struct sn_error *err)
{
	struct sn_profile *profile = sn_alloc_zeroed(1, sizeof(*profile));
	struct sn_builder b = { .profile = profile,
				.program = program,
				.experiment = program->experiment };
	sn_status status;

	profile->program = program;
	profile->experiment = program->experiment;
	profile_allocate(profile);
	status = profile_set_filter(profile, filter, err);
	if (status == SN_OK)
		status = sn_profile_filter(profile, err);
	if (status != SN_OK) {
		sn_profile_free(profile);
		return status;
	}
	profile_compute(&b);
	*out = profile;
	return SN_OK;
}

void sn_profile_free(struct sn_profile *profile)
{
	if (!profile)
		return;
	sn_vec_free(&profile->thread_times);
	sn_arena_free(&profile->arena);
	free(profile);
}
