/*
 * Which variant runs in which instance, and what it took. The variants of a loop take turns in shuffled
 * order over its instances, and take no more time than their budget. Compiled for general
 * registers only, like counts_handler.c: the vector registers are the loop's.
 */
#include "runtime/patch/patch.h"

#include <errno.h>
#include <sys/resource.h>

enum {
	SAMPLE_CYCLES = 5000, /* that a sample takes beside the variant: registers, system calls */
	RUNAWAY_TIMES = 64,   /* what the loop takes, and not before RUNAWAY_NS */
	RUNAWAY_NS = 20000000,
	PERCENT = 100,
	OUTLIER_TIMES =
		4, /* the loop's time: a variant that was interrupted took no longer (chosen) */
	SWITCH_NS = 5000, /* another thread came between: with what it drove from the caches */
	FAULT_NS = 1000,  /* (chosen, as are the ones above and below) */
	/* disturbances may be such a part of an instance whose CPU time is taken instead */
	NOISE_PARTS = 100,
	OTHERS_EVERY =
		256, /* instances, after which a thread asks again whether the loop is its own */
	/* a variant that came to a call in so many instances, and in so many times those in which it did not, stays away; after
	 * so many one after the other all do so for as many instances, then for twice as many, and so on (chosen) */
	CALLED_LEAST = 16,
	CALLED_TIMES = 4,
	CALLED_DOUBLINGS = 16,
	CLOCK_PARTS = 5,   /* a chain that is longer by such a part was interrupted (chosen) */
	CLOCK_LEARNT = 64, /* parts by which the shortest one grows, until it is met again */
	CLOCK_TIMES = 4,   /* no core's clock is so much faster or slower (chosen) */
	LONG_NS = 1000000, /* an instance whose CPU time is known well enough */
	/* Variants of loops with instances of this length share them until each has as many timings as trust
	 * takes (src/whatif/variants.c). (Chosen: shorter ones come often, and find the caches
	 * as they are by themselves.) */
	SHARE_NS = 1000000,
	SHARE_ENOUGH = 8,
	DISTURBED_MOST = 2, /* (chosen) */
};

static bool is_in_place(unsigned variant)
{
	return variant != SN_VARIANT_ORIG && variant < SN_VARIANT_PF;
}

static uint64_t ns_of(uint64_t cycles)
{
	return cycles * 1000 / (sn_patches.cycles_a_second / 1000000 + 1);
}

static uint64_t cycles_of(uint64_t ns)
{
	return ns * (sn_patches.cycles_a_second / 1000000 + 1) / 1000;
}

static uint64_t cpu_now_ns(void)
{
	struct timespec now = { 0 };

	SYS(clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Switches and page faults of the thread so far. */
static void count_usage(uint64_t *switches, uint64_t *faults)
{
	struct rusage usage;

	*switches = *faults = 0;
	if (SYS(getrusage, RUSAGE_THREAD, &usage) != 0)
		return;
	*switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
	*faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* What was timed, if nothing came between. Something always does in a long instance: of one the CPU time
 * is taken, if what came between is a small part of it. */
static void take_time(struct sn_variant_loop *state, uint64_t cycles, bool is_same_cpu)
{
	uint64_t switches, faults, disturbed_ns, cpu_ns;

	state->cycles = cycles > sn_patches.null_cycles ? cycles - sn_patches.null_cycles : 0;
	count_usage(&switches, &faults);
	switches -= state->switches;
	faults -= state->faults;
	state->is_disturbed = switches || faults || !is_same_cpu;
	if (!state->is_disturbed || !state->cpu_ns || ns_of(cycles) < LONG_NS)
		return;
	cpu_ns = cpu_now_ns() - state->cpu_ns;
	disturbed_ns = (switches + !is_same_cpu) * SWITCH_NS + faults * FAULT_NS;
	if (cpu_ns < LONG_NS || disturbed_ns > cpu_ns / NOISE_PARTS)
		return;
	state->cycles = cycles_of(cpu_ns);
	state->is_disturbed = 0;
}

/* ---- the core's clock ---- */

static inline uint64_t tsc_in_order(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

#define CHAIN "\t.rept 100\n\timul %0, %0\n\t.endr\n"
_Static_assert(SN_CLOCK_CHAIN == 100, "as assembled");

/* What a chain of known length takes: that of twice the length without that of one, so that reading the counter
 * is in neither. 0: it was interrupted, as it took longer than the shortest one by more than clocks change in
 * a moment; a clock that stays slower is learnt. */
static uint64_t clock_cycles(struct sn_variant_context *context)
{
	uint64_t value = 3, begin, middle, end, least = context->clock_least;

	begin = tsc_in_order();
	__asm__ volatile(CHAIN : "+r"(value)::"cc");
	middle = tsc_in_order();
	__asm__ volatile(CHAIN CHAIN : "+r"(value)::"cc");
	end = tsc_in_order();
	end = (end - middle) - (middle - begin);
	if (end < SN_CLOCK_CORE_CYCLES / CLOCK_TIMES || end > SN_CLOCK_CORE_CYCLES * CLOCK_TIMES)
		return 0;
	if (!least || end < least)
		least = end;
	context->clock_least = end > least ? least + least / CLOCK_LEARNT + 1 : least;
	return end <= least + least / CLOCK_PARTS ? end : 0;
}

bool sn_variant_is_off(const struct sn_record_instances *record)
{
	struct sn_variant_context *context = sn_patch_words.context;

	return !sn_patches.loops[record->loop].variants[SN_VARIANT_ORIG] ||
	       (context &&
		sn_variant_loops(context)[record->loop].away_until > sn_instances_entries(record));
}

static uint64_t mean_of(const struct sn_variant_loop *state)
{
	return state->orig_count ? state->orig_cycles / state->orig_count + 1 : 1;
}

/* ---- whose turn it is ---- */

static uint32_t draw(struct sn_variant_context *context, uint32_t below)
{
	uint32_t x = context->random ? context->random : 0x9e3779b9;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	context->random = x;
	return (uint32_t)((uint64_t)x * below >> 32);
}

/* The variants that the loop has. */
static void list(const struct sn_patched_loop *loop, struct sn_variant_loop *state,
		 uint16_t disabled)
{
	bool may_guard = sn_patches.fault_handler && sn_config.settings.period_ns;

	state->order_count = state->order_at = 0;
	for (unsigned v = 0; v < SN_VARIANT_CODES; v++)
		if (loop->variants[v] && !(disabled & 1u << v) &&
		    (may_guard || !(loop->guarded & 1u << v)))
			state->order[state->order_count++] = (uint8_t)v;
}

static void shuffle(struct sn_variant_context *context, const struct sn_patched_loop *loop,
		    struct sn_variant_loop *state)
{
	list(loop, state, state->is_disabled);
	for (unsigned i = state->order_count; i > 1; i--) {
		uint32_t other = draw(context, i);
		uint8_t kept = state->order[i - 1];

		state->order[i - 1] = state->order[other];
		state->order[other] = kept;
	}
}

/* May something of so many cycles run in this thread now, which has had so much CPU time? */
static bool is_in_budget(const struct sn_variant_context *context, uint64_t cycles, uint64_t cpu_ns)
{
	uint64_t all = cycles_of(cpu_ns), spent = context->spent_cycles;

	return !sn_patches.budget_percent || (spent + cycles) / sn_patches.budget_percent <=
						     (all > spent ? all - spent : 0) / PERCENT;
}

/* The variant of a turn that is the same in all threads: of each round of turns one each, in an order
 * that depends on the round. SN_VARIANT_CODES: this thread cannot have it. */
static uint8_t variant_of_turn(const struct sn_record_instances *record, uint32_t turn)
{
	const struct sn_patched_loop *loop = &sn_patches.loops[record->loop];
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_variant_loop *state = &sn_variant_loops(context)[record->loop];
	uint32_t kept = context->random, at;
	uint8_t variant;

	if (!turn)
		return SN_VARIANT_ORIG;
	list(loop, state, 0);
	at = (turn - 1) % state->order_count;
	context->random = (record->loop + 1) * 0x9e3779b9u ^
			  ((turn - 1) / state->order_count + 1) * 0x85ebca6bu;
	for (unsigned i = state->order_count; i > 1; i--) {
		uint32_t other = draw(context, i);

		variant = state->order[i - 1];
		state->order[i - 1] = state->order[other];
		state->order[other] = variant;
	}
	context->random = kept;
	variant = state->order[at];
	state->order_at = state->order_count; /* not to be used up by turns of its own */
	return state->is_disabled & 1u << variant ? SN_VARIANT_CODES : variant;
}

/* The first thread that comes to a turn says for all when the next one is. */
static uint32_t wait_of_all(const struct sn_record_instances *record, uint32_t own)
{
	struct sn_variant_loop *state = &sn_variant_loops(sn_patch_words.context)[record->loop];
	uint32_t turn = ++state->turn;
	_Atomic uint64_t *place = &sn_patches.loops[record->loop].waits[turn % SN_VARIANT_WAITS];
	uint64_t found = atomic_load_explicit(place, memory_order_relaxed);

	while ((uint32_t)(found >> 32) < turn)
		if (atomic_compare_exchange_weak_explicit(place, &found, (uint64_t)turn << 32 | own,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return own;
	/* far behind the others it is on its own */
	return (uint32_t)(found >> 32) == turn ? (uint32_t)found : own;
}

static uint32_t own_wait(const struct sn_record_instances *record)
{
	struct sn_variant_context *context = sn_patch_words.context;
	const struct sn_variant_loop *state;
	uint64_t mean, due, done, wait;

	if (record->every || !context || !sn_patches.budget_percent)
		return record->every ? record->every : 1;
	state = &sn_variant_loops(context)[record->loop];
	mean = mean_of(state);
	/* until the loop has worked so much that what was spent is in its budget */
	due = (state->spent_cycles + mean + SAMPLE_CYCLES) / sn_patches.budget_percent * PERCENT;
	done = sn_instances_entries(record) * mean;
	if (!state->orig_count || done >= due)
		return 1;
	wait = (due - done) / mean + 1;
	return wait > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)wait;
}

/* Whether this thread's instances of the loop have variants. */
static bool is_ours(struct sn_patched_loop *loop)
{
	uint32_t owner = atomic_load_explicit(&loop->owner, memory_order_relaxed);
	uint32_t tid = (uint32_t)sn_self->tid;

	if (sn_config.settings.threads != SN_VARIANT_THREADS_ONE || owner == tid)
		return true;
	/* nobody's yet, or one's that has ended */
	return (!owner || SYS(tgkill, SYS(getpid), owner, 0) == -ESRCH) &&
	       atomic_compare_exchange_strong_explicit(&loop->owner, &owner, tid,
						       memory_order_relaxed, memory_order_relaxed);
}

uint32_t sn_variant_countdown(const struct sn_record_instances *record)
{
	uint32_t own = own_wait(record);

	if (!sn_patch_words.context || !sn_self)
		return own;
	if (!is_ours(&sn_patches.loops[record->loop]))
		return OTHERS_EVERY;
	return sn_config.settings.threads == SN_VARIANT_THREADS_ALL ? wait_of_all(record, own)
								    : own;
}

/* ---- sharing an instance ---- */

/* In the order in which they run on one instance: LS is the one that the caches tell apart most. */
static const uint8_t sharing_order[] = { SN_VARIANT_LS, SN_VARIANT_FP, SN_VARIANT_ARITH,
					 SN_VARIANT_DL1, SN_VARIANT_FES };

/* The next that lacks timings, behind those that this instance has had. SN_VARIANT_CODES: none. */
static uint8_t next_to_share(const struct sn_patched_loop *loop,
			     const struct sn_variant_loop *state, uint8_t behind)
{
	bool may_guard = sn_patches.fault_handler && sn_config.settings.period_ns;
	bool is_behind = behind >= SN_VARIANT_CODES;

	for (unsigned i = 0; i < sizeof(sharing_order); i++) {
		uint8_t v = sharing_order[i];

		if (is_behind && loop->variants[v] && !(state->is_disabled & 1u << v) &&
		    (may_guard || !(loop->guarded & 1u << v)) && state->timed[v] < SHARE_ENOUGH)
			return v;
		is_behind |= v == behind;
	}
	return SN_VARIANT_CODES;
}

/* Whether instances are so long that few come, and variants still lack them. */
static bool may_share(const struct sn_patched_loop *loop, const struct sn_variant_loop *state)
{
	return state->orig_count && ns_of(mean_of(state)) >= SHARE_NS &&
	       next_to_share(loop, state, SN_VARIANT_CODES) < SN_VARIANT_CODES;
}

/* Every second instance is shared by those that run in its place; of the others every second one is ORIG, so that it always
 * meets the caches as the program left them, and one has PF at its first distance. */
static uint8_t variant_of_few(const struct sn_patched_loop *loop, struct sn_variant_loop *state)
{
	const uint32_t *timed = state->timed;

	/* disturbed ones, as the first often is, have to be made up for; but not for ever */
	state->is_sharing =
		state->shared_instances < timed[SN_VARIANT_ORIG] + timed[SN_VARIANT_PF] ||
		state->shared_instances + DISTURBED_MOST < state->own_instances;
	if (state->is_sharing)
		return next_to_share(loop, state, SN_VARIANT_CODES);
	return loop->variants[SN_VARIANT_PF] && timed[SN_VARIANT_PF] < timed[SN_VARIANT_ORIG]
		       ? SN_VARIANT_PF
		       : SN_VARIANT_ORIG;
}

/* ---- begin ---- */

#define FAULTS                                                                                     \
	(1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) | 1ULL << (SIGFPE - 1) |                     \
	 1ULL << (SIGILL - 1) | 1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1))

static void fill_cells(struct sn_variant_context *context)
{
	volatile uint64_t *words = (uint64_t *)(void *)((uint8_t *)context + SN_PLAN_CELLS);

	for (unsigned i = 0; i < (SN_PLAN_CONTEXT_END - SN_PLAN_CELLS) / sizeof(*words); i++)
		words[i] = SN_PLAN_VALUE;
}

/* No handler of the program's, but for ours. False: a fault could not be caught. */
static bool block_signals(struct sn_variant_context *context)
{
	sn_sigset mask = ~(FAULTS | SN_SIGNAL_BITS);

	if (SYS(rt_sigprocmask, SIG_BLOCK, &mask, &context->old_mask, 8) != 0)
		return false;
	if (!(context->old_mask & FAULTS & ~SN_SIGNAL_BITS))
		return true;
	SYS(rt_sigprocmask, SIG_SETMASK, &context->old_mask, NULL, 8);
	return false;
}

/* A program that makes system calls itself may have taken our handler away. */
static bool is_guarded(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct {
			void *handler;
			uint64_t flags;
			void *restorer;
			uint64_t mask;
		} action; /* the kernel's */

		if (SYS(rt_sigaction, faults[i], NULL, &action, 8) != 0 ||
		    action.handler != sn_patches.fault_handler)
			return false;
	}
	return true;
}

static uint64_t start(struct sn_variant_context *context, struct sn_variant_loop *state,
		      const struct sn_patched_loop *loop, uint8_t variant)
{
	uint64_t most = RUNAWAY_TIMES * ns_of(mean_of(state));

	state->variant = variant;
	state->is_clean = 0;
	if (variant == SN_VARIANT_DL1)
		fill_cells(context);
	context->ticks = 0;
	context->limit_ns = most > RUNAWAY_NS ? most : RUNAWAY_NS;
	context->is_faulted = context->is_runaway = 0;
	context->is_called = 0;
	context->begin_tsc = __builtin_ia32_rdtsc();
	atomic_signal_fence(memory_order_seq_cst);
	context->is_running = 1;
	atomic_signal_fence(memory_order_seq_cst);
	return loop->variants[variant];
}

static uint64_t begin_in_place(struct sn_variant_context *context, struct sn_variant_loop *state,
			       const struct sn_patched_loop *loop, uint8_t variant)
{
	if ((loop->guarded & 1u << variant && !is_guarded()) || !sn_enter(sn_self))
		return 0;
	if (!block_signals(context)) {
		sn_leave(sn_self);
		return 0;
	}
	/* a handler may have run the loop until now */
	state->shared_count = 0;
	state->is_warm = 0;
	return start(context, state, loop, variant);
}

/* Whose turn it is in this thread. */
static uint8_t variant_of_thread(struct sn_variant_context *context,
				 const struct sn_patched_loop *loop, struct sn_variant_loop *state)
{
	if (may_share(loop, state))
		return variant_of_few(loop, state);
	if (state->order_at >= state->order_count)
		shuffle(context, loop, state);
	return state->orig_count ? state->order[state->order_at] : SN_VARIANT_ORIG;
}

static void note_turn(struct sn_variant_loop *state, uint8_t variant)
{
	if (is_in_place(variant))
		state->shared_instances++;
	else
		state->own_instances++;
	if (state->orig_count && state->order_at < state->order_count)
		state->order_at++;
}

uint64_t sn_variant_begin(struct sn_record_instances *record, uint64_t stack_pointer)
{
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_patched_loop *loop = &sn_patches.loops[record->loop];
	bool is_of_all = sn_config.settings.threads == SN_VARIANT_THREADS_ALL;
	struct sn_variant_loop *state;
	uint64_t expected, code = 0;
	uint8_t variant;

	if (!context || !loop->variants[SN_VARIANT_ORIG])
		return 0;
	state = &sn_variant_loops(context)[record->loop];
	state->variant = SN_VARIANT_CODES;
	state->is_clean = state->is_called = state->is_sharing = state->shared_count = 0;
	if (sn_variant_is_off(record))
		return 0;
	if (!sn_self || sn_state->is_sealed || !sn_is_active() || sn_is_paused())
		return 0;
	/* it may be the only one, in which the loops within have all their instances */
	if ((loop->holds_others && sn_instances_entries(record) == 1) || !is_ours(loop))
		return 0;
	/* a handler that came while a loop is timed in a copy that counts nothing else */
	if (context->open && sn_instances_is_open(context->open) &&
	    stack_pointer < context->open_stack_pointer)
		return 0;
	context->open = NULL;
	variant = is_of_all ? variant_of_turn(record, state->turn - 1)
			    : variant_of_thread(context, loop, state);
	if (variant >= SN_VARIANT_CODES)
		return 0;
	expected = is_in_place(variant) ? mean_of(state) + SAMPLE_CYCLES : SAMPLE_CYCLES;
	/* where neither the budget nor a long instance needs it, the system call is spared */
	state->cpu_ns = sn_patches.budget_percent || !state->orig_count ||
					ns_of(mean_of(state)) > LONG_NS / 4
				? cpu_now_ns()
				: 0;
	/* all threads go together: the loop's own budget is kept by their waits */
	if (!is_of_all && !is_in_budget(context, expected, state->cpu_ns))
		return 0;
	state->variant = variant;
	state->clock_cycles = clock_cycles(context);
	count_usage(&state->switches, &state->faults);
	if (is_in_place(variant)) {
		code = begin_in_place(context, state, loop, variant);
		if (!code)
			state->variant = SN_VARIANT_CODES;
	} else {
		state->variant = variant;
		state->is_clean = 1;
		state->is_warm = 0;
		context->open = record;
		context->open_stack_pointer = stack_pointer;
	}
	note_turn(state, variant);
	context->pending = record;
	return code;
}

/* ---- after it ---- */

static struct sn_record_variant *record_of(struct sn_variant_loop *state,
					   const struct sn_record_instances *record,
					   uint64_t iterations, unsigned variant, bool is_warm)
{
	uint32_t exponent = 63 - (uint32_t)__builtin_clzll(iterations | 1);
	uint64_t *place;
	struct sn_record_variant *out;

	if (exponent >= SN_VARIANT_BUCKETS)
		exponent = SN_VARIANT_BUCKETS - 1;
	place = &(is_warm ? state->warm_records : state->records)[variant][exponent];
	if (*place)
		return (void *)*place;
	out = sn_patch_new_record(sn_self, SN_RECORD_VARIANT, sizeof(*out), record->stack);
	if (out) {
		out->timings.exponent = exponent;
		out->timings.sample_every = 1;
		out->variant = variant | (is_warm ? SN_VARIANT_WARM : 0);
		*place = (uint64_t)out;
	}
	return out;
}

/* The loop calls in instance after instance, as some phases of programs do. */
static void stay_away(struct sn_variant_loop *state, uint64_t entries)
{
	unsigned doublings = state->called_in_a_row - CALLED_LEAST;

	if (doublings > CALLED_DOUBLINGS)
		doublings = CALLED_DOUBLINGS;
	state->away_until = entries + ((uint64_t)CALLED_LEAST << doublings);
}

/* The variant of this instance has come to a call. The thread is busy for us. */
static void note_call(struct sn_variant_loop *state, const struct sn_record_instances *record)
{
	unsigned variant = state->variant;
	struct sn_record_variant *out = record_of(state, record, 0, variant, false);

	state->is_called = 1;
	state->called[variant]++;
	if (++state->called_in_a_row >= CALLED_LEAST)
		stay_away(state, sn_instances_entries(record));
	if (is_in_place(variant) && state->called[variant] >= CALLED_LEAST &&
	    state->called[variant] / CALLED_TIMES > state->ended[variant])
		state->is_disabled |= (uint16_t)(1u << variant);
	if (out)
		out->called++;
}

/* The thread stays busy, and the program's signals wait. */
static void stop(struct sn_variant_context *context, struct sn_variant_loop *state,
		 const struct sn_record_instances *record)
{
	uint64_t cycles = context->end_tsc - context->begin_tsc, took;

	context->is_running = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (context->is_called)
		note_call(state, record);
	state->is_faulted = context->is_faulted != 0;
	state->is_runaway = context->is_runaway != 0;
	if (state->is_faulted || state->is_runaway)
		state->is_disabled |= (uint16_t)(1u << state->variant);
	take_time(state, cycles, context->begin_cpu == context->end_cpu);
	took = __builtin_ia32_rdtsc() - context->begin_tsc;
	/* without the time in which another thread had the CPU */
	if (state->is_disturbed && took > OUTLIER_TIMES * mean_of(state))
		took = OUTLIER_TIMES * mean_of(state);
	else if (!state->is_disturbed && state->cycles < took / 2)
		took = state->cycles;
	took += SAMPLE_CYCLES / 2;
	context->spent_cycles += took;
	state->spent_cycles += took;
	atomic_fetch_add_explicit(&sn_header()->overhead_ns, ns_of(took), memory_order_relaxed);
}

static void end_in_place(struct sn_variant_context *context, struct sn_variant_loop *state,
			 const struct sn_record_instances *record)
{
	stop(context, state, record);
	sn_leave(sn_self);
	SYS(rt_sigprocmask, SIG_SETMASK, &context->old_mask, NULL, 8);
}

static struct sn_variant_timing timing_of(const struct sn_variant_loop *state)
{
	return (struct sn_variant_timing){
		.cycles = state->cycles,
		.clock_cycles = state->clock_cycles,
		.variant = state->variant,
		.is_disturbed = state->is_disturbed,
		.is_faulted = state->is_faulted,
		.is_runaway = state->is_runaway,
		.is_warm = state->is_warm,
	};
}

uint64_t sn_variant_again(void)
{
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_record_instances *record = context->pending;
	const struct sn_patched_loop *loop;
	struct sn_variant_loop *state;
	uint8_t variant;

	if (!record || !context->is_running || context->is_called || context->is_faulted ||
	    context->is_runaway)
		return 0;
	loop = &sn_patches.loops[record->loop];
	state = &sn_variant_loops(context)[record->loop];
	variant = next_to_share(loop, state, state->variant);
	if (!state->is_sharing || state->shared_count >= SN_VARIANT_SHARING ||
	    variant >= SN_VARIANT_CODES || (loop->guarded & 1u << variant && !is_guarded()) ||
	    !is_in_budget(context, 2 * (mean_of(state) + SAMPLE_CYCLES), cpu_now_ns()))
		return 0;
	stop(context, state, record);
	state->shared[state->shared_count++] = timing_of(state);
	state->is_warm = 1;
	state->cpu_ns = cpu_now_ns();
	state->clock_cycles = clock_cycles(context);
	count_usage(&state->switches, &state->faults);
	return start(context, state, loop, variant);
}

uint64_t sn_variant_next(struct sn_record_instances *record)
{
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_variant_loop *state;

	if (!context || context->pending != record)
		return 0;
	context->pending = NULL;
	state = &sn_variant_loops(context)[record->loop];
	if (context->is_running)
		end_in_place(context, state, record);
	/* only what is the execution itself goes on as the loop */
	if (!state->is_clean || state->variant >= SN_VARIANT_CODES || is_in_place(state->variant))
		return 0;
	state->arrivals = sn_patch_words.arrivals;
	state->spent_cycles += SAMPLE_CYCLES;
	context->spent_cycles += SAMPLE_CYCLES;
	record->open_tsc = sn_patch_tsc_after_all(&state->cpu);
	return sn_patches.loops[record->loop].variants[state->variant];
}

/* The loop that is timed as itself is about to call a function. From here on it is counted as if it were not timed; what
 * is called may have loops with variants. */
uint64_t sn_variant_untime(struct sn_record_instances *record)
{
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_variant_loop *state;

	if (!context)
		return 0;
	state = &sn_variant_loops(context)[record->loop];
	if (!state->is_clean)
		return 0;
	record->sum += sn_variant_arrivals(record);
	state->is_clean = 0;
	context->open = NULL;
	state->is_called = 1;
	if (sn_self && sn_enter(sn_self)) {
		note_call(state, record);
		sn_leave(sn_self);
	}
	return 0;
}

/* ---- the end of the instance ---- */

static void keep_timing(struct sn_variant_loop *state, const struct sn_record_instances *record,
			uint64_t iterations, const struct sn_variant_timing *timing)
{
	struct sn_record_variant *out =
		record_of(state, record, iterations, timing->variant, timing->is_warm);

	if (!out)
		return;
	state->ended[timing->variant]++;
	state->called_in_a_row = 0;
	if (timing->is_faulted || timing->is_runaway) {
		out->faulted += timing->is_faulted;
		out->runaway += timing->is_runaway;
	} else if (timing->is_disturbed) {
		out->disturbed++;
	} else {
		sn_patch_keep(&out->timings, record->open_number, iterations, timing->cycles);
		out->clock_cycles += timing->clock_cycles;
		out->clock_count += timing->clock_cycles != 0;
		state->timed[timing->variant]++;
	}
}

static void keep_timings(struct sn_variant_loop *state, const struct sn_record_instances *record,
			 uint64_t iterations)
{
	struct sn_variant_timing last = timing_of(state);

	for (unsigned i = 0; i < state->shared_count; i++)
		keep_timing(state, record, iterations, &state->shared[i]);
	state->shared_count = 0;
	if (!state->is_called)
		keep_timing(state, record, iterations, &last);
}

bool sn_variant_end(struct sn_record_instances *record, const struct sn_patch_times *times)
{
	struct sn_variant_context *context = sn_patch_words.context;
	struct sn_variant_loop *state;

	if (!context || !sn_patches.loops[record->loop].variants[SN_VARIANT_ORIG])
		return true;
	state = &sn_variant_loops(context)[record->loop];
	if (state->variant >= SN_VARIANT_CODES)
		return sn_variant_is_off(record);
	if (state->is_clean || (state->is_called && !is_in_place(state->variant))) {
		take_time(state, times->cycles, state->cpu == times->cpu);
		state->is_faulted = state->is_runaway = 0;
	}
	if (state->is_clean) {
		state->is_clean = 0;
		context->open = NULL;
	}
	if (state->variant == SN_VARIANT_ORIG && !state->is_disturbed && !state->is_called) {
		state->orig_cycles += state->cycles;
		state->orig_count++;
	}
	if (times->iterations && !(times->iterations >> 56) && sn_enter(sn_self)) {
		keep_timings(state, record, times->iterations);
		sn_leave(sn_self);
	}
	return state->variant == SN_VARIANT_ORIG && !state->is_disturbed;
}

/* Iterations that a copy has counted beside the record. */
uint64_t sn_variant_arrivals(const struct sn_record_instances *record)
{
	struct sn_variant_context *context = sn_patch_words.context;
	int64_t step = sn_patches.loops[record->loop].clean_step;
	const struct sn_variant_loop *state;

	if (!context || record->step)
		return 0;
	state = &sn_variant_loops(context)[record->loop];
	if (!state->is_clean)
		return 0;
	if (!step)
		return sn_patch_words.arrivals - state->arrivals;
	return (uint64_t)((int64_t)(sn_patch_words.left - sn_patch_words.entered) / step) +
	       sn_patch_words.ahead;
}
