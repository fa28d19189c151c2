/* Stacks: walked, trimmed and interned. */
#include "runtime/core/collector.h"

#include "unwind/stack_flags.h"

enum { SN_INTERN_PROBES = 32, SN_INTERN_FULL = SN_INTERN_SLOTS / 4 * 3, SN_WINDOWS_MAX = 4 };

/* Code that stands for other code, as collectors say; and another library, whose function knows it. */
static struct {
	uint64_t start, end;
	void (*translate)(uint64_t *pc, uint64_t *stack_pointer);
} copies;

void sn_stack_add_copies(uint64_t start, uint64_t bytes)
{
	if (!copies.end || start < copies.start)
		copies.start = start;
	if (start + bytes > copies.end)
		copies.end = start + bytes;
}

/* Called by libsonde-insert, perhaps before we are set up. */
SN_EXPORT void sonde_stack_copies(uint64_t start, uint64_t bytes,
				  void (*function)(uint64_t *pc, uint64_t *stack_pointer));

void sonde_stack_copies(uint64_t start, uint64_t bytes,
			void (*function)(uint64_t *pc, uint64_t *stack_pointer))
{
	copies.translate = function;
	sn_stack_add_copies(start, bytes);
}

static void translate(struct sn_unwind_regs *regs)
{
	sn_collect_translate(regs);
	if (copies.translate)
		copies.translate(&regs->value[SN_UNWIND_RIP], &regs->value[SN_UNWIND_RSP]);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash ^= word;
	hash *= 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static uint64_t hash_segment(const uint64_t *pcs, uint32_t count, uint32_t flags, uint32_t parent)
{
	uint64_t hash = mix(0x6a09e667f3bcc909ULL ^ (uint64_t)flags << 32, parent);

	for (uint32_t i = 0; i < count; i++)
		hash = mix(hash, pcs[i]);
	hash = mix(hash, count);
	return hash ? hash : 1;
}

/* The id of an equal segment, or of a fresh slot (is_new). 0: the table is full. */
static uint32_t find_slot(uint64_t hash, bool *is_new)
{
	uint32_t slot = (uint32_t)(hash & (SN_INTERN_SLOTS - 1));

	*is_new = false;
	for (int probe = 0; probe < SN_INTERN_PROBES; probe++) {
		uint64_t there =
			atomic_load_explicit(&sn_state->intern[slot], memory_order_relaxed);
		if (there == 0 && atomic_load_explicit(&sn_state->interned, memory_order_relaxed) >=
					  SN_INTERN_FULL)
			return 0;
		if (there == 0 &&
		    atomic_compare_exchange_strong(&sn_state->intern[slot], &there, hash)) {
			atomic_fetch_add_explicit(&sn_state->interned, 1, memory_order_relaxed);
			*is_new = true;
			return slot + 1;
		}
		if (there == hash)
			return slot + 1;
		slot = (slot + 1) & (SN_INTERN_SLOTS - 1);
	}
	return 0;
}

static void forget_slot(uint32_t id)
{
	atomic_store_explicit(&sn_state->intern[id - 1], 0, memory_order_relaxed);
	atomic_fetch_sub_explicit(&sn_state->interned, 1, memory_order_relaxed);
}

static uint32_t intern_segment(struct sn_writer *writer, const uint64_t *pcs, uint32_t count,
			       uint32_t flags, uint32_t parent, int64_t now_ns)
{
	bool is_new;
	uint32_t bytes = (uint32_t)(sizeof(struct sn_record_stack) + count * sizeof *pcs);
	uint32_t id = find_slot(hash_segment(pcs, count, flags, parent), &is_new);

	if (id && !is_new)
		return id;
	struct sn_record_stack *record = sn_writer_reserve(writer, bytes, now_ns);
	if (!record) {
		if (id)
			forget_slot(id);
		sn_lose(SN_LOSS_STACK_TABLE);
		return 0;
	}
	if (!id) {
		sn_warn("there are more distinct stacks than the table holds: further ones are written whole");
		id = SN_RECORD_STACK_RAW + atomic_fetch_add(&sn_state->next_raw_stack, 1);
	}
	record->header = (struct sn_record_header){ .type = SN_RECORD_STACK,
						    .flags = (uint8_t)flags,
						    .size_bytes = (uint16_t)bytes };
	record->id = id;
	record->parent = parent;
	record->depth = count;
	for (uint32_t i = 0; i < count; i++)
		record->pc[i] = pcs[i];
	sn_writer_commit(writer, bytes);
	return id;
}

uint32_t sn_stack_intern(struct sn_writer *writer, const uint64_t *pcs, uint32_t count,
			 uint32_t flags, uint32_t parent, int64_t now_ns)
{
	if (count == 0)
		return parent;
	/* from the outermost inwards, so that deep stacks share their roots */
	while (count > 0) {
		uint32_t first = count > SN_DATA_SEGMENT_MAX ? count - SN_DATA_SEGMENT_MAX : 0;
		parent = intern_segment(writer, pcs + first, count - first, flags, parent, now_ns);
		if (parent == 0)
			return 0;
		flags = 0;
		count = first;
	}
	return parent;
}

/* Whether a page can be read, by a call that reads it and does nothing else: EFAULT or EINVAL. */
static bool is_readable(uint64_t address)
{
	return SYS(rt_sigprocmask, 99, address, NULL, 8) == -22;
}

/* sp is on none of the thread's stacks: a coroutine's. See how far it can be read. */
static struct sn_unwind_window foreign_stack(uint64_t sp)
{
	uint64_t page = sp & ~4095UL, end = page;

	if (sn_state->is_sealed)
		return sn_unwind_window_here(sp, sp);
	while (end < page + (64 << 10) && is_readable(end))
		end += 4096;
	return sn_unwind_window_here(sp & ~7UL, end > sp ? end : sp & ~7UL);
}

static uint32_t find_windows(const struct sn_thread *self, uint64_t sp,
			     struct sn_unwind_window *windows)
{
	/* the red zone lies below sp */
	uint64_t low = (sp - 128) & ~7UL;

	if (sp >= self->stack_start && sp < self->stack_end) {
		windows[0] = sn_unwind_window_here(low, self->stack_end);
		return 1;
	}
	if (self->has_altstack && sp >= self->altstack_start && sp < self->altstack_end) {
		windows[0] = sn_unwind_window_here(low < self->altstack_start ? self->altstack_start
									      : low,
						   self->altstack_end);
		/* what the handler interrupted: from there on the thread's own stack is in use */
		if (self->is_altstack_swapped && self->interrupted_sp >= self->stack_start &&
		    self->interrupted_sp < self->stack_end) {
			windows[1] = sn_unwind_window_here((self->interrupted_sp - 128) & ~7UL,
							   self->stack_end);
			return 2;
		}
	} else {
		windows[0] = foreign_stack(sp);
	}
	/* a handler's or coroutine's caller may be on the thread's own stack, but how far down that
	 * one is in use is not known here: leave it out rather than read what is not mapped */
	return 1;
}

uint32_t sn_stack_drop_own(uint64_t *pcs, uint32_t count, bool is_signal)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!sn_is_own_code(pcs[i]) || (i == 0 && is_signal))
			pcs[kept++] = pcs[i];
	return kept;
}

/* Leaves out what the program did not call: frames of its runtime libraries, as collectors know, and
 * of our own (wrappers, trampolines). But a leaf that was interrupted there stays: that time is ours,
 * not its caller's. */
static void trim(struct sn_thread *self, struct sn_frames *frames)
{
	sn_collect_trim(self, frames);
	frames->count = sn_stack_drop_own(frames->pcs, frames->count, frames->is_signal);
}

/* A pc outside all known modules may be in one that was loaded since: learn of it and walk again.
 * Or in code that the program mapped itself. */
static bool learn_modules(struct sn_thread *self, const uint64_t *pcs, uint32_t count,
			  int64_t now_ns)
{
	if (count == 0)
		return false;
	uint32_t generation = atomic_load(&sn_state->table)->generation;
	if (!sn_module_of(pcs[count - 1]))
		sn_maps_meet(self, pcs[count - 1], now_ns);
	if (!sn_module_of(pcs[0]))
		sn_maps_meet(self, pcs[0], now_ns);
	return atomic_load(&sn_state->table)->generation != generation;
}

/* While a module is being unloaded, `is_closing`, only those that were there at the start may be
 * read: the loader never unloads them. */
static uint32_t walk(struct sn_thread *self, const struct sn_unwind_regs *from, bool is_closing,
		     int64_t now_ns, struct sn_unwind_walk_result *result)
{
	struct sn_unwind_window windows[SN_WINDOWS_MAX];
	uint32_t max = sn_config.settings.stack_max_frames;
	uint32_t count = 0;

	if (max > SN_FRAMES_MAX)
		max = SN_FRAMES_MAX;
	for (int attempt = 0; attempt < 4; attempt++) {
		struct sn_unwind_regs regs = *from;
		struct sn_module_table *table =
			is_closing ? sn_state->tables[0] : atomic_load(&sn_state->table);
		struct sn_unwind_target target = {
			.modules = table->modules,
			.module_count = table->count,
			.generation = table->generation,
			.stacks = windows,
			.stack_count = find_windows(self, regs.value[SN_UNWIND_RSP], windows),
			.copies_start = copies.start,
			.copies_end = copies.end,
			.translate = copies.end ? translate : NULL,
		};
		count = sn_unwind_walk(&target, &regs, self->cache, self->pcs, max, result);
		if (result->end == SN_UNWIND_COMPLETE && !result->flags)
			break;
		if (is_closing || !learn_modules(self, self->pcs, count, now_ns))
			break;
	}
	return count;
}

uint32_t sn_stack_capture(struct sn_thread *self, struct sn_unwind_regs *regs, uint64_t leaf,
			  bool is_signal, int64_t now_ns)
{
	struct sn_unwind_walk_result result = { 0 };
	uint64_t *pcs = self->pcs, pc;
	uint32_t parent = 0, flags, count;
	bool is_closing;

	translate(regs);
	atomic_store_explicit(&self->is_walking, 1, memory_order_seq_cst);
	is_closing = atomic_load_explicit(&sn_state->is_closing, memory_order_seq_cst);
	if (is_closing)
		atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	pc = regs->value[SN_UNWIND_RIP];
	if (leaf)
		self->pcs++; /* room before the first frame */
	count = walk(self, regs, is_closing, now_ns, &result);
	if (leaf)
		self->pcs--;
	if (is_closing && (result.end != SN_UNWIND_COMPLETE || result.flags)) {
		pcs[0] = leaf ? leaf : pc;
		return sn_stack_intern(&self->writer, pcs, 1, SN_STACK_UNREADABLE, 0, now_ns);
	}
	flags = sn_unwind_stack_flags(&result);
	struct sn_frames frames = { .pcs = pcs + (leaf != 0),
				    .count = count,
				    .is_signal = is_signal && !leaf };
	trim(self, &frames);
	count = frames.count;
	if (leaf) {
		pcs[0] = leaf;
		count++;
	}
	self->pcs_count = count;
	if (frames.cut_by) {
		parent = frames.cut_by->rest(self, now_ns);
		flags = SN_STACK_STITCHED | (parent ? 0 : SN_STACK_UNREADABLE);
	}
	atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	return sn_stack_intern(&self->writer, pcs, count, flags, parent, now_ns);
}

uint32_t sn_stack_walk(struct sn_thread *self, const struct sn_unwind_regs *regs, int64_t now_ns)
{
	struct sn_unwind_walk_result result = { 0 };
	bool is_closing;
	uint32_t count;

	atomic_store_explicit(&self->is_walking, 1, memory_order_seq_cst);
	is_closing = atomic_load_explicit(&sn_state->is_closing, memory_order_seq_cst);
	if (is_closing)
		atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	count = walk(self, regs, is_closing, now_ns, &result);
	atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	return sn_stack_drop_own(self->pcs, count, false);
}

void sn_take_late(struct sn_thread *self)
{
	struct sn_unwind_regs regs;
	int64_t now_ns = sn_now_ns();

	sn_unwind_regs_here(&regs);
	sn_collect_late(self, sn_stack_capture(self, &regs, self->late_pc, false, now_ns), now_ns);
}
