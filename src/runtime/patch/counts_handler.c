/*
 * What the copies of loops call. The vector registers are the loop's, so this file is compiled for
 * general registers only and calls no function that is not. It takes no time of the clock's: what a
 * sample meets here is dropped.
 */
#include "runtime/patch/patch.h"

#include "runtime/core/breakpoints.h"

enum {
	COST_CYCLES = 400, /* of a timed instance */
	COUNT_CYCLES = 8,  /* of one that is counted, as all are */
	/* Percent of CPU time that timing may take, of which a loop has a fifth: loops nest. Looking for call paths has
	 * as much. */
	BUDGET_PERCENT = 5,
	BUDGET_LOOPS = 5,
	/* Where counting takes it all, timing and looking have such a part of it. (Chosen: a second of a loop has
	 * some thousand timings of short instances all the same.) */
	BUDGET_LEAST_PARTS = 10,
	LOOKS_ENOUGH =
		1000, /* for counts by call path within some percent; more come as cheap as that */
	EVERY_MAX = 1 << 16,
	LEFT_MAX = 1 << 30, /* entries until one is timed */
	LONG_LOOKS = 16,    /* as long as so many usual ones */
	LOOK_CYCLES = 1000, /* for a call path, until it is known better */
};

uint64_t sn_patch_no_places[SN_PLAN_LOOPS_MAX];
__thread struct sn_patch_words sn_patch_words __attribute__((tls_model("initial-exec"))) = {
	.places = sn_patch_no_places,
};

int64_t sn_patch_now_ns(void)
{
	struct timespec now = { 0 };

	if (!sn_state->is_sealed)
		SYS(clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* No memset: it may use vector registers. */
static void clear(void *memory, size_t bytes)
{
	volatile uint64_t *words = memory;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		words[i] = 0;
}

/* Room in the thread's file for a record that goes on changing; zero. NULL: there is none. */
void *sn_patch_new_record(struct sn_thread *self, uint8_t type, uint32_t bytes, uint32_t stack)
{
	struct sn_record_header *header;

	header = sn_writer_reserve(&self->writer, bytes, sn_patch_now_ns());
	if (!header) {
		sn_lose(SN_LOSS_NO_SPACE);
		return NULL;
	}
	clear(header, bytes);
	header->type = type;
	header->size_bytes = (uint16_t)bytes;
	((uint32_t *)(void *)header)[1] = stack;
	sn_writer_commit(&self->writer, bytes);
	return header;
}

/* Of the blocks of a function. */
static struct sn_record_blocks *new_blocks(struct sn_thread *self,
					   const struct sn_patched_loop *loop, uint32_t index)
{
	const struct sn_plan_block *from = (const void *)loop->table;
	uint32_t count = loop->table_bytes / (uint32_t)sizeof(*from);
	struct sn_record_blocks *record = sn_patch_new_record(
		self, SN_RECORD_BLOCKS,
		(uint32_t)(sizeof(*record) + count * sizeof(*record->blocks)), loop->stack);

	for (uint32_t i = 0; record && i < count; i++) {
		record->blocks[i].offset = from[i].offset;
		record->blocks[i].instructions = from[i].instructions;
	}
	if (record) {
		record->loop = index;
		record->count = count;
	}
	return record;
}

static struct sn_record_instances *new_instances(struct sn_thread *self,
						 const struct sn_patched_loop *loop, uint32_t index)
{
	struct sn_record_instances *record =
		sn_patch_new_record(self, SN_RECORD_INSTANCES, sizeof(*record), loop->stack);

	if (record) {
		record->step = loop->step;
		record->is_apart = loop->is_apart;
		record->loop = index;
		record->every = sn_patches.every;
		record->turn = sn_instances_turn(0, 1);
	}
	return record;
}

uint64_t sn_patch_first(uint64_t loop)
{
	struct sn_thread *self = sn_self;
	void *record;

	if (!self || !sn_patch_words.table || !sn_is_active() || sn_state->is_sealed) {
		sn_patch_words.none.turn = INT32_MAX; /* it is not asked for each instance */
		return 0;
	}
	if (!sn_enter(self)) {
		if (!sn_patches.loops[loop]
			     .has_blocks) /* of functions our own calls do not count */
			sn_lose(SN_LOSS_REENTRY);
		return 0;
	}
	if (sn_patches.loops[loop].has_blocks)
		record = new_blocks(self, &sn_patches.loops[loop], (uint32_t)loop);
	else
		record = new_instances(self, &sn_patches.loops[loop], (uint32_t)loop);
	if (record) {
		sn_patch_words.places[loop] = (uint64_t)record - (uint64_t)&sn_patch_words.none;
		sn_patch_words.table[loop].record = (uint64_t)record;
	}
	sn_leave(self);
	return (uint64_t)record;
}

uint64_t sn_patch_reached(uint64_t point)
{
	sn_breakpoint_by_code((uint32_t)point);
	return 0;
}

/* From 1 to twice the mean, so that instances that take turns in whatever way are met alike. */
static uint32_t spread(struct sn_plan_slot *slot, uint64_t mean)
{
	if (mean <= 1)
		return 1;
	slot->random = slot->random * 1664525 + 1013904223;
	return 1 + (uint32_t)(((uint64_t)slot->random * (2 * mean - 1)) >> 32);
}

/* ---- what may be spent ---- */

/* Thousandths of a cycle, for each instance. */
static uint64_t share_of(const struct sn_record_instances *record)
{
	uint64_t percent = sn_patches.has_variants || !sn_patches.budget_percent
				   ? BUDGET_PERCENT
				   : sn_patches.budget_percent;
	uint64_t mean = record->timed_cycles / record->timed + 1;

	return mean * percent * 1000 / (100 * BUDGET_LOOPS);
}

/* What counting leaves of it. */
static uint64_t left_of(const struct sn_record_instances *record)
{
	uint64_t share = share_of(record), least = share / BUDGET_LEAST_PARTS + 1;

	return share > COUNT_CYCLES * 1000 + least ? share - COUNT_CYCLES * 1000 : least;
}

/* Into how many parts the loop's instances go, of which one is timed. */
static uint64_t parts_of(const struct sn_record_instances *record)
{
	uint64_t every;

	if (record->every)
		return record->every;
	if (!record->timed)
		return 1;
	every = 1 + COST_CYCLES * 1000 / left_of(record);
	return every > EVERY_MAX ? EVERY_MAX : every;
}

static uint32_t next_countdown(const struct sn_record_instances *record)
{
	struct sn_plan_slot *table = sn_patch_words.table;
	uint64_t mean = parts_of(record);

	return table ? spread(&table[record->loop], mean) : (uint32_t)mean;
}

/* More entries until the next is timed: in one step, as of a handler's instance that comes in between none may be lost. */
static void set_turn(struct sn_record_instances *record, uint32_t left)
{
	uint64_t entries = sn_instances_entries(record), old = record->turn, turn;

	do
		turn = sn_instances_turn((old >> 32) - (uint32_t)old,
					 (int32_t)(left < LEFT_MAX ? left : LEFT_MAX));
	while (!__atomic_compare_exchange_n(&record->turn, &old, turn, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	record->entries_near = entries;
}

static void set_open(struct sn_record_instances *record, bool is_open)
{
	if (is_open)
		__asm__ volatile("btsq $63, %0" : "+m"(record->exits) : : "cc", "memory");
	else
		__asm__ volatile("btrq $63, %0" : "+m"(record->exits) : : "cc", "memory");
}

/* ---- call paths ---- */

static struct sn_record_caller *caller_of(struct sn_caller_context *context,
					  const struct sn_record_instances *record, uint32_t path)
{
	uint64_t key = (uint64_t)record->loop << 32 | path | 1ULL << 63;
	uint64_t hash = key * 0x9e3779b97f4a7c15ULL >> 40;

	for (uint64_t i = 0; i < SN_CALLER_PROBES; i++) {
		struct sn_caller_slot *slot = &context->slots[(hash + i) % SN_CALLER_SLOTS];
		struct sn_record_caller *caller;

		if (slot->key == key)
			return (void *)slot->record;
		if (slot->key)
			continue;
		caller = sn_patch_new_record(sn_self, SN_RECORD_CALLER, sizeof(*caller),
					     record->stack);
		if (!caller)
			return NULL;
		caller->path = path;
		slot->record = (uint64_t)caller;
		slot->key = key;
		return caller;
	}
	return NULL;
}

/* The usual cost of a look, in spite of those that fault or are interrupted. */
static uint64_t smoothed(uint64_t usual, uint64_t cycles)
{
	if (!usual)
		return LOOK_CYCLES;
	if (cycles > 2 * usual)
		cycles = 2 * usual;
	return usual - usual / 8 + cycles / 8;
}

static struct sn_record_caller *look(struct sn_caller_context *context,
				     const struct sn_record_instances *record,
				     uint64_t stack_pointer, const uint64_t *kept)
{
	struct sn_caller_registers at = { sn_patches.loops[record->loop].header_load_addr,
					  stack_pointer, kept };
	struct sn_record_caller *caller = NULL;
	uint64_t begin = __builtin_ia32_rdtsc(), cycles;
	uint32_t path;

	if (!sn_enter(sn_self))
		return NULL;
	/* nobody looks while the thread is busy: whoever did was left by longjmp */
	if (context->holder)
		context->paths.frame_count = 0;
	context->holder = stack_pointer;
	path = sn_path_known_at(
		sn_self, &context->paths,
		&(struct sn_path_frame){ .pc = at.pc + 1, .rsp = stack_pointer, .rbp = kept[1] });
	if (!path)
		path = sn_caller_path(context, &at);
	caller = caller_of(context, record, path);
	context->holder = 0;
	cycles = __builtin_ia32_rdtsc() - begin;
	context->cost_cycles = smoothed(context->cost_cycles, cycles);
	/* time off the CPU is none that was spent */
	context->spent_cycles +=
		cycles < LONG_LOOKS * context->cost_cycles ? cycles : context->cost_cycles;
	sn_leave(sn_self);
	return caller;
}

/* Timed instances until the next look: with --every 1 at each, else looks take no more than their budget. */
static uint32_t next_look(const struct sn_caller_context *context,
			  const struct sn_record_instances *record, struct sn_plan_slot *slot)
{
	uint64_t each;

	if (record->every == 1 || !record->timed)
		return 1;
	each = slot->looks < LOOKS_ENOUGH ? share_of(record) : left_of(record);
	return spread(slot, context->cost_cycles * 1000 / (each * parts_of(record) + 1) + 1);
}

/* By which call path the instance begins that is to be timed; NULL: it was not looked for. */
static struct sn_record_caller *note_caller(struct sn_record_instances *record,
					    uint64_t stack_pointer, const uint64_t *kept)
{
	struct sn_caller_context *context = sn_patch_words.callers;
	struct sn_plan_slot *slot = &sn_patch_words.table[record->loop];
	struct sn_record_caller *caller;
	uint64_t entries = sn_instances_entries(record);

	if (!context || !sn_patch_words.table || !sn_self || sn_state->is_sealed ||
	    !sn_is_active() || sn_is_paused() ||
	    sn_patches.loops[record->loop].variants[SN_VARIANT_ORIG])
		return NULL;
	if (slot->caller_wait > 1) {
		slot->caller_wait--;
		return NULL;
	}
	caller = look(context, record, stack_pointer, kept);
	if (!caller)
		return NULL;
	caller->looked_at++;
	slot->looks++;
	/* those that were to be looked at and could not be are nobody's */
	caller->instances += record->every == 1 ? 1 : entries - slot->caller_entries;
	slot->caller_entries = entries;
	slot->caller_wait = next_look(context, record, slot);
	return caller;
}

/* Further in than the instance that is timed, by recursion or in a handler: that one goes on, without these iterations. What
 * began within this one, or was left by longjmp, is none of its own. */
static void inner_begin(const struct sn_record_instances *record, uint64_t stack_pointer,
			struct sn_record_caller *caller, uint64_t entry)
{
	struct sn_plan_slot *slot =
		sn_patch_words.table ? &sn_patch_words.table[record->loop] : NULL;

	if (!slot || (slot->inner_stack_pointer && stack_pointer < slot->inner_stack_pointer))
		return;
	slot->inner_sum = record->step ? record->sum + entry : record->sum;
	slot->inner_caller = (uint64_t)caller;
	slot->inner_stack_pointer = stack_pointer;
}

static void inner_end(struct sn_record_instances *record, uint64_t stack_pointer)
{
	struct sn_plan_slot *slot =
		sn_patch_words.table ? &sn_patch_words.table[record->loop] : NULL;
	struct sn_record_caller *caller;
	uint64_t sum;

	if (!slot || !slot->inner_stack_pointer || slot->inner_stack_pointer != stack_pointer)
		return;
	sum = record->sum - slot->inner_sum;
	slot->inner_stack_pointer = 0;
	record->open_sum += sum;
	caller = (void *)slot->inner_caller;
	if (caller)
		caller->iterations += record->step ? (uint64_t)((int64_t)sum / record->step) : sum;
}

uint64_t sn_patch_begin(struct sn_record_instances *record, uint64_t stack_pointer, uint64_t entry)
{
	return sn_patch_begin_from(record, stack_pointer, NULL, entry);
}

uint64_t sn_patch_begin_from(struct sn_record_instances *record, uint64_t stack_pointer,
			     const uint64_t *kept, uint64_t entry)
{
	struct sn_record_caller *caller = NULL;
	uint64_t code = 0;

	if (kept)
		caller = note_caller(record, stack_pointer, kept);
	/* a loop without variants of its own is timed as if there were none */
	set_turn(record, sn_patches.loops[record->loop].recorder ? sn_trace_countdown(record)
			 : sn_patches.has_variants && !sn_variant_is_off(record)
				 ? sn_variant_countdown(record)
				 : next_countdown(record));
	if (sn_instances_is_open(record)) {
		if (stack_pointer < record->open_stack_pointer) {
			inner_begin(record, stack_pointer, caller, entry);
			return 0;
		}
		record->left++;
		record->sum += sn_variant_arrivals(record) + sn_trace_arrivals(record);
	}
	if (sn_patch_words.table)
		sn_patch_words.table[record->loop].inner_stack_pointer = 0;
	record->open_stack_pointer = stack_pointer;
	/* from here on a handler's instance of this loop is counted and no more */
	set_open(record, true);
	atomic_signal_fence(memory_order_seq_cst);
	record->open_number = sn_instances_entries(record) - 1;
	record->open_sum = record->step ? record->sum + entry : record->sum;
	if (kept && sn_patch_words.table)
		sn_patch_words.table[record->loop].caller = (uint64_t)caller;
	if (sn_patches.has_variants)
		code = sn_variant_begin(record, stack_pointer);
	if (sn_patches.has_recorders)
		sn_trace_begin(record, stack_pointer);
	record->open_tsc = __builtin_ia32_rdtsc();
	return code;
}

uint64_t sn_patch_next(struct sn_record_instances *record)
{
	return sn_patches.has_recorders ? sn_trace_next(record) : sn_variant_next(record);
}

/* Every second of the kept ones goes, and from here on half as many are kept. */
static void thin_out(struct sn_record_bucket *bucket)
{
	uint32_t kept = (SN_BUCKET_SAMPLES + 1) / 2;

	for (uint32_t i = 1; i < kept; i++) {
		bucket->samples[i].number = bucket->samples[2 * i].number;
		bucket->samples[i].cycles = bucket->samples[2 * i].cycles;
		bucket->samples[i].iterations = bucket->samples[2 * i].iterations;
	}
	bucket->sample_count = kept;
	bucket->sample_every *= 2;
}

void sn_patch_keep(struct sn_record_bucket *bucket, uint64_t number, uint64_t iterations,
		   uint64_t cycles)
{
	uint64_t at = bucket->timed;

	bucket->timed = at + 1;
	bucket->iterations += iterations & ~SN_SAMPLE_HOLDS_OTHERS;
	bucket->cycles += cycles;
	if (at % bucket->sample_every)
		return;
	if (bucket->sample_count == SN_BUCKET_SAMPLES) {
		thin_out(bucket);
		if (at % bucket->sample_every)
			return;
	}
	bucket->samples[bucket->sample_count].number = number;
	bucket->samples[bucket->sample_count].cycles = cycles;
	bucket->samples[bucket->sample_count].iterations = iterations;
	bucket->sample_count++;
}

static struct sn_record_timed *
bucket_of(struct sn_thread *self, const struct sn_record_instances *record, uint32_t exponent)
{
	uint64_t *place = &sn_patch_words.table[record->loop].buckets[exponent];
	struct sn_record_timed *timed = (void *)*place;

	if (timed)
		return timed;
	timed = sn_patch_new_record(self, SN_RECORD_BUCKET, sizeof(*timed), record->stack);
	if (timed) {
		timed->bucket.exponent = exponent;
		timed->bucket.sample_every = 1;
		*place = (uint64_t)timed;
	}
	return timed;
}

static void note_range(struct sn_record_timed *timed, uint64_t iterations, bool holds_others)
{
	uint64_t others = timed->iterations_max & SN_SAMPLE_HOLDS_OTHERS;
	uint64_t most = timed->iterations_max & ~SN_SAMPLE_HOLDS_OTHERS;

	if (holds_others)
		others = SN_SAMPLE_HOLDS_OTHERS;
	if (!timed->iterations_min || iterations < timed->iterations_min)
		timed->iterations_min = iterations;
	timed->iterations_max = (iterations > most ? iterations : most) | others;
}

static void end_instance(struct sn_record_instances *record, uint64_t tsc, uint64_t cpu)
{
	uint64_t parts, cycles, iterations;
	struct sn_thread *self = sn_self;
	struct sn_record_timed *bucket;
	struct sn_record_caller *caller;
	bool holds_others;
	uint32_t exponent;

	record->sum += sn_variant_arrivals(record) + sn_trace_arrivals(record);
	if (sn_patches.has_recorders && sn_trace_end(record))
		return;
	cycles = tsc - record->open_tsc;
	cycles -= cycles < sn_patches.timing_cycles ? cycles : sn_patches.timing_cycles;
	iterations = record->sum - record->open_sum;
	if (record->step)
		iterations = (uint64_t)((int64_t)iterations / record->step);
	if (!iterations || iterations >> 56 || cycles >> 56 || !self || !sn_patch_words.table ||
	    !sn_is_active())
		return;
	if (sn_patches.has_variants &&
	    !sn_variant_end(record,
			    &(struct sn_patch_times){ tsc - record->open_tsc, iterations, cpu }))
		return;
	record->timed++;
	record->timed_cycles += cycles;
	parts = (cycles << SN_BUCKET_EXPONENT_ONE) / iterations;
	exponent = parts ? 63 - (uint32_t)__builtin_clzll(parts) : 0;
	if (exponent >= SN_PLAN_BUCKETS)
		exponent = SN_PLAN_BUCKETS - 1;
	if (!sn_enter(self))
		return;
	caller = (void *)sn_patch_words.table[record->loop].caller;
	if (caller) {
		caller->timed++;
		caller->iterations += iterations;
		caller->cycles += cycles;
	}
	holds_others = sn_instances_entries(record) - 1 != record->open_number;
	bucket = bucket_of(self, record, exponent);
	if (bucket) {
		sn_patch_keep(&bucket->bucket, record->open_number,
			      holds_others ? iterations | SN_SAMPLE_HOLDS_OTHERS : iterations,
			      cycles);
		note_range(bucket, iterations, holds_others);
	}
	sn_leave(self);
}

void sn_patch_end(struct sn_record_instances *record, uint64_t stack_pointer)
{
	uint64_t cpu = 0;
	uint64_t tsc =
		sn_patches.has_variants ? sn_patch_tsc_after_all(&cpu) : __builtin_ia32_rdtsc();

	if (stack_pointer != record->open_stack_pointer) {
		inner_end(record, stack_pointer);
		return;
	}
	end_instance(record, tsc, cpu);
	/* not before: a handler's instance of this loop would begin anew what is read here */
	atomic_signal_fence(memory_order_seq_cst);
	set_open(record, false);
}
