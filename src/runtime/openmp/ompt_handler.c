#include "runtime/openmp/ompt.h"

#include "runtime/openmp/regions.h"

/*
 * LLVM's libomp (and what descends from it) tells tools where regions begin and which threads work
 * for them. The creator's registers are kept where it left its own code; workers walk from there.
 */

static bool is_in_runtime_library(uint64_t pc)
{
	return pc - sn_config.openmp_start < sn_config.openmp_end - sn_config.openmp_start;
}

/* From this callback out through the library to the code that has the region in it. */
static bool find_creator(struct sn_thread *self, struct sn_region *region)
{
	struct sn_module_table *table = atomic_load(&sn_state->table);
	struct sn_unwind_frame frame = { .is_exact = true };
	sn_unwind_regs_here(&frame.regs);
	struct sn_unwind_window stack =
		sn_unwind_window_here(frame.regs.value[SN_UNWIND_RSP], region->stack_end);
	struct sn_unwind_target target = { .modules = table->modules,
					   .module_count = table->count,
					   .generation = table->generation,
					   .stacks = &stack,
					   .stack_count = 1 };

	for (int step = 0; step < 16; step++) {
		uint64_t pc = frame.regs.value[SN_UNWIND_RIP];
		bool is_ours = pc - sn_config.library_start <
			       sn_config.library_end - sn_config.library_start;
		if (!is_ours && !is_in_runtime_library(pc)) {
			region->regs = frame.regs;
			return true;
		}
		if (sn_unwind_step(&target, self->cache, &frame) != SN_UNWIND_GOES_ON)
			return false;
	}
	return false;
}

void sn_ompt_parallel_begin(union sn_ompt_data *task, const void *frame,
			    union sn_ompt_data *parallel, unsigned threads, int flags,
			    const void *return_address)
{
	struct sn_thread *self = sn_self;

	(void)task, (void)frame, (void)threads, (void)flags, (void)return_address;
	parallel->pointer = NULL;
	if (!sn_enter(self))
		return;
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	struct sn_region *region =
		self->region_depth < SN_REGIONS_MAX ? &self->regions[self->region_depth] : NULL;
	self->region_depth++;
	atomic_store_explicit(&self->is_walking, 1, memory_order_seq_cst);
	if (region && here >= self->stack_start && here < self->stack_end &&
	    !atomic_load_explicit(&sn_state->is_closing, memory_order_seq_cst)) {
		region->stack_end = self->stack_end;
		region->outer = self->region;
		region->is_exact = false;
		atomic_store_explicit(&region->stack, 0, memory_order_relaxed);
		if (find_creator(self, region))
			parallel->pointer = region;
	}
	atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	sn_leave(self);
}

void sn_ompt_parallel_end(union sn_ompt_data *parallel, union sn_ompt_data *task, int flags,
			  const void *return_address)
{
	(void)parallel, (void)task, (void)flags, (void)return_address;
	if (sn_self && sn_self->region_depth > 0)
		sn_self->region_depth--;
}

void sn_ompt_implicit_task(int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
			   unsigned threads, unsigned index, int flags)
{
	enum { BEGIN = 1, END = 2, INITIAL = 1 };
	struct sn_thread *self = sn_self;

	(void)task, (void)threads;
	if (!self || (flags & INITIAL) || index == 0)
		return;
	if (endpoint == BEGIN)
		self->region = parallel ? parallel->pointer : NULL;
	else if (endpoint == END)
		self->region = NULL;
}

/* Frames of the library between two of the program say nothing: they go, so that a creator's own
 * share of the region looks as its workers' do. In a worker everything from the library's outermost
 * frames on is replaced by the creator's stack: is_cut. */
uint32_t sn_ompt_drop_frames(const struct sn_thread *self, uint64_t *pcs, uint32_t count,
			     bool *is_cut)
{
	uint32_t kept = 0, end = count;
	bool has_left = false;

	if (!sn_config.openmp_end)
		return count;
	if (self->region) {
		/* from the root: what started the thread, then the library, then the program */
		while (end > 0 && !is_in_runtime_library(pcs[end - 1]))
			end--;
		while (end > 0 && is_in_runtime_library(pcs[end - 1]))
			end--;
		if (end == 0)
			return count; /* waits in the library */
		*is_cut = true;
	}
	for (uint32_t i = 0; i < end; i++) {
		bool is_library = is_in_runtime_library(pcs[i]);
		has_left |= !is_library;
		if (!is_library || !has_left)
			pcs[kept++] = pcs[i];
	}
	return kept;
}
