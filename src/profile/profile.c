#include "profile/profile.h"

#include <assert.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/blocked.h"
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

/* ---- the work in progress ---- */

/* Entities that divide the time among them, so that a sample has exactly one (or none). */
enum partition { BY_FUNCTION, BY_LOOP, BY_LINE, BY_MODULE, BY_CATEGORY, PARTITIONS };

/* What the leaf of a stack belongs to. */
struct leaf {
	uint32_t of[PARTITIONS]; /* SN_NONE: none */
	uint32_t system_category;
};

/* Time of one thread in one stack. */
struct cell {
	uint32_t thread, stack;
	uint64_t cpu_ns;
};

struct builder {
	struct sn_profile *profile;
	const struct sn_program *program;
	const struct sn_experiment *experiment;
	uint8_t *stack_passes, *thread_passes;
	struct leaf *leaves;
	uint32_t partition_size[PARTITIONS];
	uint32_t *transitions[PARTITIONS];
	uint64_t pairs;
	double sum_of_squares;
	uint64_t observed_ns; /* of observations, without remainders */
	SN_VEC(struct cell) cells;
	uint64_t *thread_stack_ns;    /* by stack, of the thread in work */
	uint64_t *thread_observed_ns; /* the same of observations alone */
	uint8_t *thread_stack_seen;
	/* by stack: of threads that were never seen, known to lie below its leaf and no closer */
	uint64_t *unplaced_ns;
	uint64_t all_unplaced_ns;
	SN_VEC(uint32_t) touched;
	uint64_t remainder_ns; /* user time of the thread in work that no observation stands for */
	uint64_t filtered_ns;  /* of that thread, in stacks that do not pass the filter */
	uint16_t remainder_cpu;
	struct sn_weight *system_stacks; /* by stack: the part spent in the kernel */
};

/* ---- filters ---- */

static sn_status expression_compile(regex_t *regex, const char *what, const char *text,
				    struct sn_error *err)
{
	if (regcomp(regex, text, REG_EXTENDED | REG_NOSUB))
		return sn_error_set(err, SN_ERR_USAGE,
				    "--%s '%s' is no regular expression that parses", what, text);
	return SN_OK;
}

/* A whole name wins over a regular expression, so that `operator()` or `f(int)` can be asked for.
 */
static sn_status functions_match(const struct sn_program *program, const char *wanted,
				 uint8_t *matches, struct sn_error *err)
{
	size_t found = 0;
	regex_t regex;
	sn_status status;

	for (size_t f = 0; f < program->functions.count; f++) {
		matches[f] = !strcmp(program->functions.items[f].name, wanted) ||
			     !strcmp(program->functions.items[f].linkage_name, wanted);
		found += matches[f];
	}
	if (found)
		return SN_OK;
	status = expression_compile(&regex, "function", wanted, err);
	if (status != SN_OK)
		return status;
	for (size_t f = 0; f < program->functions.count; f++) {
		matches[f] = !regexec(&regex, program->functions.items[f].name, 0, NULL, 0);
		found += matches[f];
	}
	regfree(&regex);
	if (!found)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "no function of the experiment matches '%s' "
				    "(sonde show functions --all lists them)",
				    wanted);
	return SN_OK;
}

static sn_status modules_match(const struct sn_program *program, const char *wanted,
			       uint8_t *matches, struct sn_error *err)
{
	const struct sn_experiment *e = program->experiment;
	size_t found = 0;
	regex_t regex;
	sn_status status;

	for (uint32_t m = 0; m < e->modules.count; m++) {
		matches[m] =
			!strcmp(sn_program_module_name(program, m), wanted) ||
			(e->modules.items[m].path && !strcmp(e->modules.items[m].path, wanted));
		found += matches[m];
	}
	if (found)
		return SN_OK;
	status = expression_compile(&regex, "module", wanted, err);
	if (status != SN_OK)
		return status;
	for (uint32_t m = 0; m < e->modules.count; m++) {
		matches[m] = !regexec(&regex, sn_program_module_name(program, m), 0, NULL, 0);
		found += matches[m];
	}
	regfree(&regex);
	if (!found)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "no module of the experiment matches '%s' "
				    "(sonde show modules --all lists them)",
				    wanted);
	return SN_OK;
}

static bool stack_has_function(const struct sn_program *program, uint32_t stack,
			       const uint8_t *matches)
{
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];

		for (uint32_t s = 0; s < place->step_count; s++) {
			const struct sn_step *step = &program->steps.items[place->first_step + s];

			if (step->kind == SN_STEP_FUNCTION && matches[step->index])
				return true;
		}
	}
	return false;
}

static sn_status stacks_filter(struct builder *b, struct sn_error *err)
{
	const struct sn_program *program = b->program;
	const struct sn_filter *filter = &b->profile->filter;
	uint8_t *functions = NULL, *modules = NULL;
	sn_status status = SN_OK;

	memset(b->stack_passes, 1, program->stack_count + 1);
	if (filter->function) {
		functions = sn_alloc_zeroed(program->functions.count, 1);
		status = functions_match(program, filter->function, functions, err);
	}
	if (status == SN_OK && filter->module) {
		modules = sn_alloc_zeroed(b->experiment->modules.count + 1, 1);
		status = modules_match(program, filter->module, modules, err);
	}
	for (uint32_t s = 0; status == SN_OK && s <= program->stack_count; s++) {
		uint32_t module = sn_program_leaf(program, s)->module;

		if (modules && (module == SN_NONE || !modules[module]))
			b->stack_passes[s] = 0;
		if (functions && b->stack_passes[s])
			b->stack_passes[s] = stack_has_function(program, s, functions);
	}
	free(functions);
	free(modules);
	return status;
}

static sn_status processes_filter(struct builder *b, uint8_t *passes, struct sn_error *err)
{
	const struct sn_filter *filter = &b->profile->filter;

	memset(passes, !filter->process_count, b->experiment->processes.count + 1);
	for (size_t i = 0; i < filter->process_count; i++) {
		if (filter->processes[i] >= b->experiment->processes.count)
			return sn_error_set(err, SN_ERR_NOT_FOUND,
					    "there is no process %u: the experiment has %zu, "
					    "counted from 0 (sonde show processes)",
					    filter->processes[i], b->experiment->processes.count);
		passes[filter->processes[i]] = 1;
	}
	return SN_OK;
}

static sn_status threads_filter(struct builder *b, struct sn_error *err)
{
	const struct sn_experiment *e = b->experiment;
	const struct sn_filter *filter = &b->profile->filter;
	uint8_t *processes = sn_alloc_zeroed(e->processes.count + 1, 1);
	sn_status status = processes_filter(b, processes, err);

	for (size_t i = 0; status == SN_OK && i < filter->tid_count; i++) {
		bool found = false;

		for (size_t t = 0; t < e->threads.count && !found; t++)
			found = e->threads.items[t].tid == filter->tids[i];
		if (!found)
			status = sn_error_set(err, SN_ERR_NOT_FOUND,
					      "there is no thread %d in the experiment "
					      "(sonde show threads --all lists them)",
					      filter->tids[i]);
	}
	for (size_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];
		bool passes = !filter->tid_count;

		for (size_t i = 0; i < filter->tid_count; i++)
			passes |= filter->tids[i] == thread->tid;
		b->thread_passes[t] = passes && (thread->process >= e->processes.count
							 ? !filter->process_count
							 : processes[thread->process]);
	}
	free(processes);
	return status;
}

static bool sample_is_in_range(const struct sn_profile *profile, const struct sn_sample *sample)
{
	return sample->thread < profile->experiment->threads.count &&
	       profile->thread_passes[sample->thread] && sample->time_ns >= profile->from_ns &&
	       sample->time_ns < profile->to_ns;
}

bool sn_profile_has_sample(const struct sn_profile *profile, const struct sn_sample *sample)
{
	uint32_t stack = sample->stack < profile->program->stack_count
				 ? sample->stack
				 : profile->program->stack_count;

	return sample_is_in_range(profile, sample) && profile->stack_passes[stack];
}

/* ---- samples to stacks ---- */

static void leaves_find(struct builder *b)
{
	const struct sn_program *program = b->program;

	b->leaves = sn_alloc_zeroed(program->stack_count + 1, sizeof(*b->leaves));
	b->partition_size[BY_FUNCTION] = (uint32_t)program->functions.count;
	b->partition_size[BY_LOOP] = (uint32_t)program->loops.count;
	b->partition_size[BY_LINE] = (uint32_t)program->lines.count;
	b->partition_size[BY_MODULE] = (uint32_t)b->experiment->modules.count + 1;
	b->partition_size[BY_CATEGORY] = SN_CATEGORIES;
	for (int p = 0; p < PARTITIONS; p++)
		b->transitions[p] = sn_alloc_zeroed(b->partition_size[p] + 1, sizeof(uint32_t));
	for (uint32_t s = 0; s <= program->stack_count; s++) {
		const struct sn_program_place *place = sn_program_leaf(program, s);
		struct leaf *leaf = &b->leaves[s];

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

static void transition_count(struct builder *b, const struct sn_sample *from,
			     const struct sn_sample *to, uint32_t from_stack, uint32_t to_stack)
{
	const struct leaf *a = &b->leaves[from_stack], *z = &b->leaves[to_stack];
	uint32_t ca = from->flags & SN_SAMPLE_SYSTEM ? a->system_category : a->of[BY_CATEGORY];
	uint32_t cz = to->flags & SN_SAMPLE_SYSTEM ? z->system_category : z->of[BY_CATEGORY];

	for (int p = 0; p < BY_CATEGORY; p++) {
		if (a->of[p] == z->of[p])
			continue;
		if (a->of[p] != SN_NONE)
			b->transitions[p][a->of[p]]++;
		if (z->of[p] != SN_NONE)
			b->transitions[p][z->of[p]]++;
	}
	if (ca != cz) {
		b->transitions[BY_CATEGORY][ca]++;
		b->transitions[BY_CATEGORY][cz]++;
	}
}

static void stack_touch(struct builder *b, uint32_t stack)
{
	if (!b->thread_stack_seen[stack]) {
		b->thread_stack_seen[stack] = 1;
		sn_vec_push(&b->touched, stack);
	}
}

static void sample_add(struct builder *b, const struct sn_sample *sample, uint32_t stack)
{
	struct sn_profile *profile = b->profile;
	struct sn_weight *weight = &profile->stacks[stack];
	bool is_system = sample->flags & SN_SAMPLE_SYSTEM;
	bool is_observation = !(sample->flags & SN_SAMPLE_REMAINDER);
	struct sn_weight *cpu = &profile->cpus[sample->cpu < 1023 ? sample->cpu : 1023];

	weight->cpu_ns += sample->cpu_ns;
	weight->samples += is_observation;
	cpu->cpu_ns += sample->cpu_ns;
	cpu->samples += is_observation;
	if (is_system) {
		weight->system_ns += sample->cpu_ns;
		cpu->system_ns += sample->cpu_ns;
		b->system_stacks[stack].cpu_ns += sample->cpu_ns;
		b->system_stacks[stack].samples += is_observation;
	}
	if (sample->cpu >= profile->cpu_count)
		profile->cpu_count = sample->cpu < 1023 ? sample->cpu + 1u : 1024;
	if (is_observation) {
		b->sum_of_squares += (double)sample->cpu_ns * (double)sample->cpu_ns;
		b->observed_ns += sample->cpu_ns;
		b->thread_observed_ns[stack] += sample->cpu_ns;
		profile->late_samples += (sample->flags & SN_SAMPLE_LATE) != 0;
	}
	stack_touch(b, stack);
	b->thread_stack_ns[stack] += sample->cpu_ns;
}

/* The user time after a thread's last sample is spread over where the thread was seen, in
 * proportion: with a random first period that is where it is expected. A thread that was never seen
 * keeps it as time without a stack. */
static void remainder_spread(struct builder *b, uint32_t thread)
{
	uint64_t sum = 0, before = 0, given = 0, rest = b->remainder_ns;
	uint32_t none = b->program->stack_count;

	for (size_t i = 0; i < b->touched.count; i++)
		if (b->touched.items[i] != none)
			sum += b->thread_observed_ns[b->touched.items[i]];
	if (b->filtered_ns)
		rest = (uint64_t)((unsigned __int128)rest * sum / (sum + b->filtered_ns));
	else if (!sum && !b->stack_passes[none])
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
static bool is_never_seen(const struct builder *b, uint32_t thread)
{
	const struct sn_thread *t = &b->experiment->threads.items[thread];

	return t->tid != b->experiment->processes.items[t->process].pid &&
	       !b->profile->threads[thread].samples;
}

static void unplaced_add(struct builder *b)
{
	for (size_t i = 0; i < b->touched.count; i++) {
		uint32_t stack = b->touched.items[i];

		if (stack == b->program->stack_count)
			continue;
		b->unplaced_ns[stack] += b->thread_stack_ns[stack];
		b->all_unplaced_ns += b->thread_stack_ns[stack];
	}
}

static void thread_flush(struct builder *b, uint32_t thread)
{
	if (thread != SN_NONE)
		remainder_spread(b, thread);
	if (thread != SN_NONE && is_never_seen(b, thread))
		unplaced_add(b);
	for (size_t i = 0; i < b->touched.count; i++) {
		uint32_t stack = b->touched.items[i];
		struct cell cell = { thread, stack, b->thread_stack_ns[stack] };

		sn_vec_push(&b->cells, cell);
		b->thread_stack_ns[stack] = b->thread_observed_ns[stack] = 0;
		b->thread_stack_seen[stack] = 0;
	}
	b->touched.count = 0;
}

static bool sample_is_rest(const struct sn_sample *sample, bool has_stack)
{
	return (sample->flags & (SN_SAMPLE_REMAINDER | SN_SAMPLE_SYSTEM)) == SN_SAMPLE_REMAINDER &&
	       !has_stack;
}

static void thread_begin(struct builder *b, uint32_t *thread, uint32_t next)
{
	thread_flush(b, *thread);
	*thread = next;
}

static void thread_add(struct sn_weight *sum, const struct sn_sample *sample)
{
	sum->cpu_ns += sample->cpu_ns;
	if (sample->flags & SN_SAMPLE_SYSTEM)
		sum->system_ns += sample->cpu_ns;
	sum->samples += !(sample->flags & SN_SAMPLE_REMAINDER);
}

/* Samples come sorted by thread, then time. */
static void samples_sum(struct builder *b)
{
	struct sn_profile *profile = b->profile;
	const struct sn_experiment *e = b->experiment;
	const struct sn_sample *previous = NULL;
	uint32_t previous_stack = 0, thread = SN_NONE, stacks = b->program->stack_count;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t stack = sample->stack < stacks ? sample->stack : stacks;

		if (!sample_is_in_range(profile, sample))
			continue;
		if (sample->thread != thread) {
			thread_begin(b, &thread, sample->thread);
			previous = NULL;
		}
		if (sample_is_rest(sample, stack < stacks)) {
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
		if (sample->flags & SN_SAMPLE_REMAINDER)
			continue;
		if (previous) {
			b->pairs++;
			if (stack != previous_stack ||
			    ((sample->flags ^ previous->flags) & SN_SAMPLE_SYSTEM))
				transition_count(b, previous, sample, previous_stack, stack);
		}
		previous = sample;
		previous_stack = stack;
	}
	thread_flush(b, thread);
}

static void waits_sum(struct builder *b)
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
		profile->stacks[stack].waits++;
		profile->threads[wait->thread].wait_ns += ns;
		profile->threads[wait->thread].waits++;
	}
}

uint64_t sn_profile_wait_ns(const struct sn_profile *profile, const struct sn_wait *wait)
{
	uint32_t stack = wait->stack < profile->program->stack_count
				 ? wait->stack
				 : profile->program->stack_count;
	int64_t from = wait->time_ns, to;

	if (wait->thread >= profile->experiment->threads.count ||
	    !profile->thread_passes[wait->thread] || !profile->stack_passes[stack] ||
	    (profile->filter.without_idle && !profile->is_at_work[wait->thread]))
		return 0;
	if (__builtin_add_overflow(from, (int64_t)wait->duration_ns, &to) || to < from)
		to = profile->to_ns;
	from = from > profile->from_ns ? from : profile->from_ns;
	to = to < profile->to_ns ? to : profile->to_ns;
	return to > from ? sn_blocked_part(profile, wait, (uint64_t)(to - from)) : 0;
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

static void stack_add_inclusive(struct builder *b, struct seen *seen, uint32_t stack,
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

static void stack_add_categories(struct builder *b, uint32_t stack, const struct sn_weight *weight)
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
	if (class->is_spin)
		profile->spin_ns[class->user] += weight->cpu_ns;
}

static bool stack_is_runtime(const struct builder *b, uint32_t stack)
{
	uint8_t category = b->program->classes[stack].user;

	return category == SN_CATEGORY_OPENMP || category == SN_CATEGORY_MPI;
}

static void stack_add_exclusive(struct builder *b, uint32_t stack, const struct sn_weight *weight)
{
	struct sn_profile *profile = b->profile;
	const struct leaf *leaf = &b->leaves[stack];
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
		if (b->program->loops.items[loop].is_innermost)
			profile->innermost_loops_ns += weight->cpu_ns;
	}
	flags = stack < b->program->stack_count ? b->experiment->stacks.items[stack].flags
						: SN_STACK_ABSENT;
	if (stack == b->program->stack_count || flags & SN_STACK_ABSENT)
		profile->no_stack_samples += weight->samples;
	else if (!(flags & SN_STACK_COMPLETE))
		profile->truncated_samples += weight->samples;
	if (!b->program->functions.items[leaf->of[BY_FUNCTION]].is_named)
		profile->unnamed_ns += weight->cpu_ns;
}

/* A loop of an MPI or OpenMP runtime waits or hands out work: nothing to optimise in it. */
static void runtime_loops_find(struct builder *b)
{
	for (uint32_t s = 0; s <= b->program->stack_count; s++) {
		uint32_t loop = b->leaves[s].of[BY_LOOP], module = b->leaves[s].of[BY_MODULE];
		enum sn_module_class class = b->program->module_classes[module];
		const struct sn_program_function *function =
			&b->program->functions.items[b->leaves[s].of[BY_FUNCTION]];

		if (class == SN_MODULE_CLASS_BINARY && function->is_named)
			class = sn_class_of_static_function(function->linkage_name);

		if (loop != SN_NONE && stack_is_runtime(b, s) &&
		    (class == SN_MODULE_CLASS_OPENMP || class == SN_MODULE_CLASS_MPI))
			b->profile->is_runtime_loop[loop] = 1;
	}
}

static void stacks_sum(struct builder *b)
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

/* ---- spread over threads ---- */

static struct sn_metrics *metrics_of(struct sn_profile *profile, enum partition p)
{
	switch (p) {
	case BY_FUNCTION:
		return profile->functions;
	case BY_LOOP:
		return profile->loops;
	case BY_LINE:
		return profile->lines;
	case BY_MODULE:
		return profile->modules;
	case BY_CATEGORY:
	case PARTITIONS:
		break;
	}
	return profile->categories;
}

struct spread_sums {
	uint64_t *of_thread; /* by entity, of the thread in work */
	double *squares;
	SN_VEC(uint32_t) touched;
};

static void spread_flush(struct sn_metrics *metrics, struct spread_sums *sums, uint32_t thread)
{
	for (size_t i = 0; i < sums->touched.count; i++) {
		uint32_t entity = sums->touched.items[i];
		struct sn_spread *spread = &metrics[entity].spread;
		uint64_t ns = sums->of_thread[entity];

		spread->threads++;
		sums->squares[entity] += (double)ns * (double)ns;
		if (ns > spread->max_ns || spread->max_thread == SN_NONE) {
			spread->max_ns = ns;
			spread->max_thread = thread;
		}
		sums->of_thread[entity] = 0;
	}
	sums->touched.count = 0;
}

/* Deviation over mean from the sums of one entity over all `threads`, absent ones counting 0. */
static double spread_deviation(double sum, double squares, double threads)
{
	double mean = sum / threads, variance;

	if (threads < 2 || !(sum > 0))
		return NAN;
	variance = (squares - threads * mean * mean) / (threads - 1);
	return sqrt(fmax(variance, 0)) / mean;
}

static void spread_sum(struct builder *b, enum partition p, uint32_t threads)
{
	struct sn_metrics *metrics = metrics_of(b->profile, p);
	uint32_t size = b->partition_size[p], thread = SN_NONE;
	struct spread_sums sums = { sn_alloc_zeroed(size + 1, sizeof(uint64_t)),
				    sn_alloc_zeroed(size + 1, sizeof(double)),
				    { 0 } };

	for (uint32_t i = 0; i < size; i++)
		metrics[i].spread.max_thread = SN_NONE;
	for (size_t i = 0; i < b->cells.count; i++) {
		const struct cell *cell = &b->cells.items[i];
		uint32_t entity = b->leaves[cell->stack].of[p];

		if (cell->thread != thread) {
			spread_flush(metrics, &sums, thread);
			thread = cell->thread;
		}
		if (entity == SN_NONE || !cell->cpu_ns)
			continue;
		if (!sums.of_thread[entity])
			sn_vec_push(&sums.touched, entity);
		sums.of_thread[entity] += cell->cpu_ns;
	}
	spread_flush(metrics, &sums, thread);
	for (uint32_t i = 0; i < size; i++)
		metrics[i].spread.deviation = spread_deviation((double)metrics[i].exclusive.cpu_ns,
							       sums.squares[i], threads);
	free(sums.of_thread);
	free(sums.squares);
	sn_vec_free(&sums.touched);
}

/* ---- intervals ---- */

/* Time of threads that were never seen may lie in whatever their start routine calls: their entity
 * may have as much less, any other as much more. */
static void intervals_widen(struct builder *b, enum partition p)
{
	struct sn_metrics *metrics = metrics_of(b->profile, p);
	double total = (double)b->profile->total.cpu_ns;
	uint64_t *own_ns;

	if (!b->all_unplaced_ns || !(total > 0))
		return;
	own_ns = sn_alloc_zeroed(b->partition_size[p] + 1, sizeof(*own_ns));
	for (uint32_t s = 0; s < b->program->stack_count; s++)
		if (b->unplaced_ns[s] && b->leaves[s].of[p] != SN_NONE)
			own_ns[b->leaves[s].of[p]] += b->unplaced_ns[s];
	for (uint32_t i = 0; i < b->partition_size[p]; i++) {
		struct sn_interval *share = &metrics[i].exclusive_share;

		share->low = fmax(0, share->low - (double)own_ns[i] / total);
		share->high =
			fmin(1, share->high + (double)(b->all_unplaced_ns - own_ns[i]) / total);
	}
	free(own_ns);
}

static void intervals_find(struct builder *b, enum partition p)
{
	struct sn_profile *profile = b->profile;
	struct sn_metrics *metrics = metrics_of(profile, p);
	double total = (double)profile->total.cpu_ns, pairs = (double)b->pairs;

	for (uint32_t i = 0; i < b->partition_size[p]; i++) {
		double exclusive = (double)metrics[i].exclusive.cpu_ns / total;
		double inclusive = (double)metrics[i].inclusive.cpu_ns / total;

		metrics[i].exclusive_share = metrics[i].inclusive_share =
			(struct sn_interval){ 0, total > 0 ? 1 : NAN };
		if (!(total > 0))
			continue;
		metrics[i].exclusive_share = sn_share_interval(
			exclusive, profile->effective_samples,
			sn_sampling_factor(exclusive, b->transitions[p][i], pairs));
		metrics[i].inclusive_share =
			sn_share_interval(inclusive, profile->effective_samples, 1);
	}
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
	profile->places = arena_weights(profile, program->places.count);
	profile->place_inclusive = arena_weights(profile, program->places.count);
	profile->stacks = arena_weights(profile, program->stack_count + 1);
	profile->threads = arena_weights(profile, e->threads.count);
	profile->processes = arena_weights(profile, e->processes.count);
	profile->blocked_ns = sn_arena_array(&profile->arena, uint64_t, e->waits.count + 1);
	profile->is_runtime_loop = sn_arena_alloc(&profile->arena, program->loops.count + 1, 1);
	profile->is_at_work = sn_arena_alloc(&profile->arena, e->threads.count + 1, 1);
	profile->thread_passes = sn_arena_alloc(&profile->arena, e->threads.count + 1, 1);
	profile->stack_passes = sn_arena_alloc(&profile->arena, program->stack_count + 1, 1);
}

static void profile_set_filter(struct sn_profile *profile, const struct sn_filter *filter)
{
	profile->from_ns = INT64_MIN;
	profile->to_ns = INT64_MAX;
	if (!filter)
		return;
	profile->filter = *filter;
	if (filter->from_ns)
		profile->from_ns = filter->from_ns;
	if (filter->to_ns)
		profile->to_ns = filter->to_ns;
	profile->is_filtered = filter->from_ns || filter->to_ns || filter->process_count ||
			       filter->tid_count || filter->module || filter->function;
}

/* Threads that count in comparisons between threads: helpers of runtimes, with less than a
 * hundredth of the busiest thread's time, say nothing about balance. */
static uint32_t threads_at_work(struct sn_profile *profile)
{
	uint64_t most = 0;
	uint32_t threads = 0;

	for (size_t t = 0; t < profile->experiment->threads.count; t++)
		if (profile->threads[t].cpu_ns > most)
			most = profile->threads[t].cpu_ns;
	for (size_t t = 0; t < profile->experiment->threads.count; t++) {
		const struct sn_thread *thread = &profile->experiment->threads.items[t];
		bool is_first =
			thread->process < profile->experiment->processes.count &&
			thread->tid == profile->experiment->processes.items[thread->process].pid;

		threads += profile->threads[t].cpu_ns > most / 100;
		profile->is_at_work[t] =
			profile->thread_passes[t] &&
			(is_first || (most && profile->threads[t].cpu_ns > most / 100));
	}
	return threads;
}

static void profile_compute(struct builder *b)
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
			spread_sum(b, (enum partition)p, threads);
		intervals_find(b, (enum partition)p);
		intervals_widen(b, (enum partition)p);
		free(b->transitions[p]);
	}
	free(b->leaves);
	free(b->thread_stack_ns);
	free(b->thread_observed_ns);
	free(b->thread_stack_seen);
	free(b->unplaced_ns);
	free(b->system_stacks);
	sn_vec_free(&b->touched);
	sn_vec_free(&b->cells);
}

sn_status sn_profile_new(const struct sn_program *program, const struct sn_filter *filter,
			 struct sn_profile **out, struct sn_error *err)
{
	struct sn_profile *profile = sn_alloc_zeroed(1, sizeof(*profile));
	struct builder b = { .profile = profile,
			     .program = program,
			     .experiment = program->experiment };
	sn_status status;

	profile->program = program;
	profile->experiment = program->experiment;
	profile_set_filter(profile, filter);
	profile_allocate(profile);
	b.stack_passes = profile->stack_passes;
	b.thread_passes = profile->thread_passes;
	status = stacks_filter(&b, err);
	if (status == SN_OK)
		status = threads_filter(&b, err);
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
	sn_arena_free(&profile->arena);
	free(profile);
}
