/* Sums up states by function; places what the kernel knows by thread in the gaps between samples. */
#include "profile/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/wait.h"

struct builder {
	const struct sn_profile *profile;
	struct sn_thread_states *out;
	uint64_t *ns;		/* by function, one more for none; SN_STATES each */
	uint32_t *wait_owner;	/* by stack: function + 1; 0: not looked up yet */
	SN_VEC(uint64_t) gaps;	/* of the thread in work: by its samples */
	SN_VEC(uint32_t) owner; /* likewise: function */
};

static const enum sn_state_kind of_wait[SN_WAIT_KINDS] = {
	[SN_WAIT_LOCK] = SN_STATE_LOCK,	  [SN_WAIT_CONDITION] = SN_STATE_LOCK,
	[SN_WAIT_JOIN] = SN_STATE_LOCK,	  [SN_WAIT_IO] = SN_STATE_IO,
	[SN_WAIT_POLL] = SN_STATE_POLL,	  [SN_WAIT_SLEEP] = SN_STATE_SLEEP,
	[SN_WAIT_CHILD] = SN_STATE_CHILD, [SN_WAIT_OTHER] = SN_STATE_OTHER_WAIT,
};

static void add(struct builder *b, uint32_t function, enum sn_state_kind state, uint64_t ns)
{
	size_t row = function == SN_NONE ? b->profile->program->functions.count : function;

	b->ns[row * SN_STATES + state] += ns;
}

static uint32_t stack_in_range(const struct builder *b, uint32_t stack)
{
	uint32_t count = b->profile->program->stack_count;

	return stack < count ? stack : count;
}

/* The function of the program that made the call; of a path without one, what was called. */
static uint32_t wait_owner(struct builder *b, uint32_t stack)
{
	struct sn_call_site site;

	if (!b->wait_owner[stack]) {
		site = sn_call_site_of(b->profile->program, stack);
		b->wait_owner[stack] = (site.caller == SN_NONE ? site.function : site.caller) + 1;
	}
	return b->wait_owner[stack] - 1;
}

/* ---- what the kernel knows by thread ---- */

/* Wall time before a sample that neither CPU time nor a traced wait accounts for. A claim is the mean
 * of random periods, so what is less than one more claim is no gap. */
static uint64_t gap_of(const struct sn_sample *sample, int64_t before_ns, uint64_t waited_ns)
{
	int64_t wall_ns = sample->time_ns - before_ns;
	uint64_t known_ns = sample->cpu_ns + waited_ns;

	if (wall_ns <= 0 || (uint64_t)wall_ns <= known_ns + sample->cpu_ns)
		return 0;
	return (uint64_t)wall_ns - known_ns;
}

/* Traced waits of the thread that end in (from, to]. Waits lie in the order of their begins. */
static uint64_t waited_between(const struct sn_experiment *e, uint32_t thread, size_t *next,
			       int64_t to_ns)
{
	uint64_t sum = 0;

	for (; *next < e->waits.count && e->waits.items[*next].thread == thread; ++*next) {
		const struct sn_wait *wait = &e->waits.items[*next];

		if (wait->time_ns >= to_ns || wait->duration_ns > (uint64_t)(to_ns - wait->time_ns))
			break;
		sum += wait->duration_ns;
	}
	return sum;
}

/* Shares `ns` among the thread's samples by their gaps, to the last nanosecond; without gaps it cannot
 * be placed. */
static void place(struct builder *b, enum sn_state_kind state, uint64_t ns, uint64_t gaps_ns)
{
	uint64_t passed_ns = 0, given_ns = 0;

	if (!gaps_ns) {
		add(b, SN_NONE, state, ns);
		return;
	}
	for (size_t i = 0; i < b->gaps.count; i++) {
		uint64_t until_ns;

		passed_ns += b->gaps.items[i];
		until_ns = passed_ns == gaps_ns
				   ? ns
				   : (uint64_t)((double)ns * ((double)passed_ns / (double)gaps_ns));
		if (until_ns > given_ns) {
			add(b, b->owner.items[i], state, until_ns - given_ns);
			given_ns = until_ns;
		}
	}
}

static void thread_place(struct builder *b, uint32_t t, size_t first, size_t end, size_t first_wait)
{
	const struct sn_experiment *e = b->profile->experiment;
	const struct sn_thread *thread = &e->threads.items[t];
	const struct sn_time_account *account = &thread->account;
	int64_t before_ns = thread->start_ns;
	uint64_t gaps_ns = 0, traced_ns = 0;
	size_t next = first_wait;

	if (account->wait_cpu_ns < 0 || account->blocked_ns < 0) {
		b->out->threads_unknown++;
		return;
	}
	b->gaps.count = b->owner.count = 0;
	for (size_t i = first; i < end; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint64_t gap =
			gap_of(sample, before_ns, waited_between(e, t, &next, sample->time_ns));

		before_ns = sample->time_ns;
		gaps_ns += gap;
		sn_vec_push(&b->gaps, gap);
		sn_vec_push(&b->owner,
			    sn_program_leaf(b->profile->program, stack_in_range(b, sample->stack))
				    ->function);
	}
	for (size_t i = first_wait; i < e->waits.count && e->waits.items[i].thread == t; i++)
		traced_ns += b->profile->blocked_ns[i];
	place(b, SN_STATE_WAIT_CPU, (uint64_t)account->wait_cpu_ns, gaps_ns);
	if ((uint64_t)account->blocked_ns > traced_ns)
		place(b, SN_STATE_OTHER_WAIT, (uint64_t)account->blocked_ns - traced_ns, gaps_ns);
}

/* Accounts are those of whole threads: with a filter by time or code nobody knows what part is meant. */
static void threads_place(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	const struct sn_filter *filter = &b->profile->filter;
	size_t sample = 0, wait = 0;

	for (uint32_t t = 0; t < e->threads.count; t++) {
		size_t first = sample, first_wait = wait;

		while (sample < e->samples.count && e->samples.items[sample].thread == t)
			sample++;
		while (wait < e->waits.count && e->waits.items[wait].thread == t)
			wait++;
		if (!b->profile->thread_passes[t])
			continue;
		if (b->profile->from_ns != INT64_MIN || b->profile->to_ns != INT64_MAX ||
		    filter->module || filter->function)
			b->out->threads_unknown++;
		else
			thread_place(b, t, first, sample, first_wait);
	}
}

/* ---- sums ---- */

static int by_total(const void *left, const void *right)
{
	const struct sn_function_states *x = left, *y = right;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static void rows_make(struct builder *b)
{
	size_t count = b->profile->program->functions.count;

	for (size_t row = 0; row <= count; row++) {
		struct sn_function_states states = { .function = row == count ? SN_NONE
									      : (uint32_t)row };

		memcpy(states.ns, b->ns + row * SN_STATES, sizeof(states.ns));
		for (int s = 0; s < SN_STATES; s++) {
			states.total_ns += states.ns[s];
			b->out->ns[s] += states.ns[s];
		}
		if (states.total_ns)
			sn_vec_push(&b->out->items, states);
	}
	if (b->out->items.count)
		qsort(b->out->items.items, b->out->items.count, sizeof(*b->out->items.items),
		      by_total);
}

void sn_thread_states_find(const struct sn_profile *profile, struct sn_thread_states *out)
{
	const struct sn_program *program = profile->program;
	const struct sn_experiment *e = profile->experiment;
	struct builder b = { .profile = profile, .out = out };

	memset(out, 0, sizeof(*out));
	b.ns = sn_alloc_zeroed((program->functions.count + 1) * SN_STATES, sizeof(*b.ns));
	b.wait_owner = sn_alloc_zeroed(program->stack_count + 1, sizeof(*b.wait_owner));
	for (uint32_t s = 0; s <= program->stack_count; s++) {
		const struct sn_weight *weight = &profile->stacks[s];
		uint32_t leaf = sn_program_leaf(program, s)->function;

		add(&b, leaf, SN_STATE_USER, weight->cpu_ns - weight->system_ns);
		add(&b, leaf, SN_STATE_SYSTEM, weight->system_ns);
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint64_t ns = sn_profile_wait_ns(profile, wait);

		if (ns)
			add(&b, wait_owner(&b, stack_in_range(&b, wait->stack)),
			    wait->kind < SN_WAIT_KINDS ? of_wait[wait->kind] : SN_STATE_OTHER_WAIT,
			    ns);
	}
	threads_place(&b);
	rows_make(&b);
	sn_vec_free(&b.gaps);
	sn_vec_free(&b.owner);
	free(b.ns);
	free(b.wait_owner);
}

void sn_thread_states_free(struct sn_thread_states *states)
{
	sn_vec_free(&states->items);
	*states = (struct sn_thread_states){ 0 };
}
