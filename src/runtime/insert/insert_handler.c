/*
 * What the inserted code calls. Most beats take the short way: general registers only, no call but the library's
 * beat itself. All others (the first of a thread, a deeper one than before, one after a beat that was left, the
 * first after a fork) run the library, and libc, with the vector registers and errno kept, and without signals.
 */
#include "runtime/insert/insert.h"

#include <errno.h>
#include <linux/mman.h>

#include "runtime/core/sys.h"
#include "runtime/heartbeat/parts.h"

#define PROT_READ_WRITE 3

enum {
	PAGE = 4096,
	SAVE_BYTES = 2752, /* x87, vectors and masks: to the end of the last as AVX-512 has them */
	SAVE_HEADER = 64,  /* words: where XSAVE's header is */
	FXSAVE_BYTES = 512,
	MXCSR_FIRST = 0x1f80,
};

struct insert_globals insert_globals;

static __thread struct insert_state *states __attribute__((tls_model("initial-exec")));
/* The thread is in the library or in libc for us: their functions may have heartbeats, too. */
static __thread uint32_t outside __attribute__((tls_model("initial-exec")));

#define FRAME ((uint64_t)__builtin_frame_address(0))

/* ---- with all registers saved ---- */

static void save(uint64_t *area)
{
	uint32_t low = (uint32_t)insert_globals.save_mask,
		 high = (uint32_t)(insert_globals.save_mask >> 32);
	const uint32_t mxcsr = MXCSR_FIRST;

	for (unsigned i = 0; i < 8; i++)
		((volatile uint64_t *)area)[SAVE_HEADER + i] = 0;
	if (insert_globals.save_mask)
		__asm__ volatile("xsave64 (%0)" ::"r"(area), "a"(low), "d"(high) : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" ::"r"(area) : "memory");
	__asm__ volatile("fninit\n\tldmxcsr %0" ::"m"(mxcsr) : "memory");
}

static void restore(const uint64_t *area)
{
	uint32_t low = (uint32_t)insert_globals.save_mask,
		 high = (uint32_t)(insert_globals.save_mask >> 32);

	if (insert_globals.save_mask)
		__asm__ volatile("xrstor64 (%0)" ::"r"(area), "a"(low), "d"(high) : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" ::"r"(area) : "memory");
}

__attribute__((used)) static void keep_errno(uint64_t index, uint64_t stack_pointer,
					     void (*function)(uint64_t, uint64_t))
{
	int kept = errno, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	function(index, stack_pointer);
	pthread_setcancelstate(cancel, NULL);
	errno = kept;
}

__attribute__((noinline)) INSERT_KEEPS static void
run_outside(void (*function)(uint64_t, uint64_t), uint64_t index, uint64_t stack_pointer)
{
	uint64_t room[(SAVE_BYTES + 64) / 8];
	uint64_t *area = (uint64_t *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
	uint64_t all = ~0ULL,
		 before = 0; /* a handler that does not return would leave locks behind */

	SYS(rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	outside = 1;
	save(area);
	/* the inserted code has the stack pointer wherever the program had it */
	__asm__ volatile("mov %%rsp, %%rbx\n\tlea -128(%%rsp), %%rsp\n\tand $-16, %%rsp\n\t"
			 "call *%3\n\tmov %%rbx, %%rsp"
			 : "+D"(index), "+S"(stack_pointer), "+d"(function)
			 : "r"(keep_errno)
			 : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
	restore(area);
	outside = 0;
	SYS(rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
}

/* ---- there ---- */

static void *map(uint64_t bytes)
{
	long at = SYS(mmap, 0, bytes, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -PAGE ? NULL : (void *)at;
}

static uint64_t states_bytes(void)
{
	uint64_t bytes = insert_globals.capacity * sizeof(struct insert_state);

	return (bytes + PAGE - 1) & ~(PAGE - 1UL);
}

void insert_thread_exit(void *memory)
{
	struct insert_state *gone = memory;

	states = NULL;
	for (uint32_t i = 0; i < insert_globals.capacity; i++)
		if (gone[i].stack_pointers && gone[i].stack_pointers != gone[i].shallow)
			SYS(munmap, gone[i].stack_pointers,
			    gone[i].capacity * sizeof(*gone[i].stack_pointers));
	SYS(munmap, gone, states_bytes());
}

static sonde_heartbeat *heartbeat_of(struct insert_beat *beat)
{
	sonde_heartbeat *heartbeat = __atomic_load_n(&beat->heartbeat, __ATOMIC_ACQUIRE);

	if (heartbeat)
		return heartbeat;
	heartbeat = sonde_heartbeat_register(beat->name, 0);
	if (heartbeat && beat->every > 1)
		sonde_heartbeat_every(heartbeat, beat->every);
	__atomic_store_n(&beat->heartbeat, heartbeat, __ATOMIC_RELEASE);
	return heartbeat;
}

/* NULL: there is no memory, and nothing beats. */
static struct insert_state *state_of(uint64_t index)
{
	struct insert_state *state;

	if (!states) {
		states = map(states_bytes());
		if (!states)
			return NULL;
		pthread_setspecific(insert_globals.key, states);
	}
	state = &states[index];
	if (!state->heartbeat) {
		state->stack_pointers = state->shallow;
		state->capacity = INSERT_SHALLOW;
		state->heartbeat = heartbeat_of(&insert_globals.beats[index]);
	}
	return state->heartbeat ? state : NULL;
}

static int grow(struct insert_state *state)
{
	uint32_t capacity = state->capacity == INSERT_SHALLOW ? PAGE / 8 : 2 * state->capacity;
	uint64_t *larger = map(capacity * sizeof(*larger));

	if (!larger)
		return 0;
	for (uint32_t i = 0; i < state->depth; i++)
		larger[i] = state->stack_pointers[i];
	if (state->stack_pointers != state->shallow)
		SYS(munmap, state->stack_pointers,
		    state->capacity * sizeof(*state->stack_pointers));
	state->stack_pointers = larger;
	state->capacity = capacity;
	return 1;
}

/* Beats below `stack_pointer` will see no end. */
static void close_left(struct insert_state *state, uint64_t stack_pointer)
{
	while (state->depth && state->stack_pointers[state->depth - 1] < stack_pointer) {
		state->depth--;
		sonde_heartbeat_left(state->heartbeat);
	}
}

static void begin_outside(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = state_of(index);

	if (!state)
		return;
	close_left(state, stack_pointer + 1); /* that one, too: the same frame begins anew */
	if (state->depth == state->capacity && !grow(state))
		return;
	state->stack_pointers[state->depth++] = stack_pointer;
	if (state->depth > state->deepest)
		state->deepest = state->depth;
	sonde_heartbeat_begin(state->heartbeat);
}

static void end_outside(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = &states[index];

	close_left(state, stack_pointer);
	if (!state->depth || state->stack_pointers[state->depth - 1] != stack_pointer)
		return;
	state->depth--;
	sonde_heartbeat_end(state->heartbeat);
}

static void left_outside(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = &states[index];

	(void)stack_pointer;
	state->depth--;
	sonde_heartbeat_end(state->heartbeat);
}

static void caught_outside(uint64_t index, uint64_t stack_pointer)
{
	(void)index;
	for (uint32_t i = 0; i < insert_globals.count; i++)
		while (states[i].depth && !states[i].busy &&
		       states[i].stack_pointers[states[i].depth - 1] < stack_pointer)
			left_outside(i, 0);
}

static void next_outside(uint64_t index, uint64_t stack_pointer)
{
	if (states && states[index].depth)
		end_outside(index, stack_pointer);
	begin_outside(index, stack_pointer);
}

/* ---- the short way ---- */

/* The library has what it needs for the next beat, and times it by the counter. */
static inline int is_short(const struct insert_state *state, uint32_t depth)
{
	return depth < state->deepest && sonde_heartbeat_here &&
	       !(__atomic_load_n(&state->heartbeat->mode, __ATOMIC_RELAXED) &
		 ~(uint32_t)(BEAT_OFF | BEAT_SAMPLED));
}

static inline void busy(struct insert_state *state, uint64_t frame)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&state->busy, frame, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* As in the source where the library's mode is 0; what cannot be done so is the library's, which
 * keeps the registers of other functions only. */
__attribute__((noinline)) INSERT_KEEPS static void begin_slow(sonde_heartbeat *heartbeat)
{
	sonde_heartbeat_begin_slow(heartbeat);
}

__attribute__((noinline)) INSERT_KEEPS static void end_slow(sonde_heartbeat *heartbeat)
{
	sonde_heartbeat_end_slow(heartbeat);
}

/* NULL: the thread has none yet. */
static inline struct beat_cell *find_cell(const sonde_heartbeat *heartbeat)
{
	const struct sonde_heartbeat_thread *here = sonde_heartbeat_here;

	return heartbeat->index < here->cell_count
		       ? (struct beat_cell *)here->cells[heartbeat->index]
		       : NULL;
}

static inline void begin(sonde_heartbeat *heartbeat)
{
	struct beat_cell *cell = find_cell(heartbeat);
	uint32_t mode = __atomic_load_n(&heartbeat->mode, __ATOMIC_RELAXED);
	uint32_t depth = cell ? cell->fast.depth : SONDE_HEARTBEAT_SHALLOW;
	uint64_t mark;

	if (depth >= SONDE_HEARTBEAT_SHALLOW || mode & ~(uint32_t)BEAT_SAMPLED) {
		begin_slow(heartbeat);
		return;
	}
	mark = mode ? beat_sampled_mark(cell, __atomic_load_n(&cell->beat->every, __ATOMIC_RELAXED),
					sonde_heartbeat_ticks)
		    : sonde_heartbeat_ticks();
	__atomic_store_n(&cell->fast.begun[depth], mark, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->fast.depth, depth + 1, __ATOMIC_RELEASE);
}

static inline void end(sonde_heartbeat *heartbeat)
{
	struct beat_cell *cell = find_cell(heartbeat);
	uint32_t depth = cell ? cell->fast.depth - 1 : SONDE_HEARTBEAT_SHALLOW;
	uint64_t mark = depth < SONDE_HEARTBEAT_SHALLOW ? cell->fast.begun[depth] : BEAT_IGNORED;

	if (mark > BEAT_IGNORED)
		sonde_heartbeat_close(&cell->fast, mark);
	else if (mark == BEAT_UNTIMED)
		beat_close_untimed(cell);
	else
		end_slow(heartbeat);
}

/* What was at work here was interrupted by a handler that went elsewhere (siglongjmp). */
__attribute__((noinline)) INSERT_KEEPS static void take_over(struct insert_state *state)
{
	struct beat_cell *cell = sonde_heartbeat_here ? find_cell(state->heartbeat) : NULL;

	if (cell && cell->fast.version & 1)
		__atomic_store_n(&cell->fast.version, cell->fast.version + 1, __ATOMIC_RELEASE);
	busy(state, 0);
}

/* This is a handler, or a function of the library or libc, within a beat: frames further in lie lower. */
static inline int is_within(struct insert_state *state, uint64_t frame)
{
	if (outside || (state && state->busy > frame))
		return 1;
	if (state && state->busy)
		take_over(state);
	return 0;
}

INSERT_KEEPS void insert_begin(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = states ? &states[index] : NULL;
	uint32_t depth = state ? state->depth : 0;

	if (is_within(state, FRAME))
		return;
	if (!state || !is_short(state, depth) ||
	    (depth && state->stack_pointers[depth - 1] <= stack_pointer)) {
		run_outside(begin_outside, index, stack_pointer);
		return;
	}
	busy(state, FRAME);
	state->stack_pointers[depth] = stack_pointer;
	state->depth = depth + 1;
	begin(state->heartbeat);
	busy(state, 0);
}

/* No beat of this frame is open: it began in the parent of a fork, or where nothing could be inserted yet. */
static inline int is_unknown(const struct insert_state *state, uint64_t stack_pointer)
{
	return !state || !state->depth || state->stack_pointers[state->depth - 1] > stack_pointer;
}

INSERT_KEEPS void insert_end(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = states ? &states[index] : NULL;

	if (is_within(state, FRAME) || is_unknown(state, stack_pointer))
		return;
	if (state->stack_pointers[state->depth - 1] != stack_pointer ||
	    !is_short(state, state->depth - 1)) {
		run_outside(end_outside, index, stack_pointer);
		return;
	}
	busy(state, FRAME);
	state->depth--;
	end(state->heartbeat);
	busy(state, 0);
}

INSERT_KEEPS void insert_next(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = states ? &states[index] : NULL;

	if (is_within(state, FRAME))
		return;
	if (is_unknown(state, stack_pointer) ||
	    state->stack_pointers[state->depth - 1] != stack_pointer ||
	    !is_short(state, state->depth - 1)) {
		run_outside(next_outside, index, stack_pointer);
		return;
	}
	busy(state, FRAME);
	end(state->heartbeat);
	begin(state->heartbeat);
	busy(state, 0);
}

/* Exceptions take microseconds. */
INSERT_KEEPS void insert_left(uint64_t index, uint64_t stack_pointer)
{
	struct insert_state *state = states ? &states[index] : NULL;

	if (!is_within(state, FRAME) && state && state->depth)
		run_outside(left_outside, index, stack_pointer);
}

INSERT_KEEPS void insert_caught(uint64_t index, uint64_t stack_pointer)
{
	if (!is_within(NULL, FRAME) && states)
		run_outside(caught_outside, index, stack_pointer);
}

/* ---- stacks ---- */

void insert_translate(uint64_t *pc, uint64_t *stack_pointer)
{
	uint32_t count = __atomic_load_n(&insert_globals.module_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		const struct insert_module *module = &insert_globals.modules[i];

		if (*pc - module->code >= module->plan.header->code_bytes)
			continue;
		sn_plan_translate(&module->plan, module->code, module->load_bias, pc,
				  stack_pointer);
		return;
	}
}
