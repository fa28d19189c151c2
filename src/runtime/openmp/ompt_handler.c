/*
 * LLVM's libomp (and what descends from it) tells tools where regions begin and which threads work
 * for them. The creator's registers are kept where it left its own code; workers walk from there.
 */
#include "runtime/openmp/ompt.h"

#include "runtime/openmp/regions.h"

static uint64_t library_start, library_end; /* libomp's text; survives fork, as the library does */

void sn_ompt_set_library(uint64_t start, uint64_t end)
{
	library_start = start;
	library_end = end;
}

bool sn_ompt_has_library(void)
{
	return library_end != 0;
}

bool sn_ompt_is_in_library(uint64_t pc)
{
	return pc - library_start < library_end - library_start;
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
		if (!sn_is_own_code(pc) && !sn_ompt_is_in_library(pc)) {
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

	(void)task, (void)frame, (void)threads, (void)flags;
	parallel->pointer = NULL;
	if (!sn_enter(self))
		return;
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	struct sn_openmp *openmp = sn_openmp_of(self);
	struct sn_region *regions = sn_thread_scratch(self, &sn_openmp_collector);
	struct sn_region *region = openmp->depth < SN_REGIONS_MAX ? &regions[openmp->depth] : NULL;
	openmp->depth++;
	atomic_store_explicit(&self->is_walking, 1, memory_order_seq_cst);
	if (region && here >= self->stack_start && here < self->stack_end &&
	    !atomic_load_explicit(&sn_state->is_closing, memory_order_seq_cst)) {
		region->stack_end = self->stack_end;
		region->outer = openmp->region;
		region->is_exact = false;
		atomic_store_explicit(&region->stack, 0, memory_order_relaxed);
		region->team = NULL;
		if (find_creator(self, region))
			parallel->pointer = region;
		else
			region->stack_end = 0;
	} else {
		region = NULL;
	}
	atomic_store_explicit(&self->is_walking, 0, memory_order_release);
	sn_leave(self);
	if (sn_openmp_tracer && region) {
		sn_openmp_tracer->open(region, (uint64_t)(uintptr_t)return_address, 0);
		if (region->team)
			parallel->pointer = region;
	}
}

void sn_ompt_parallel_end(union sn_ompt_data *parallel, union sn_ompt_data *task, int flags,
			  const void *return_address)
{
	struct sn_region *region = parallel ? parallel->pointer : NULL;

	(void)task, (void)flags, (void)return_address;
	if (sn_openmp_tracer && region && region->team)
		sn_openmp_tracer->close(region);
	if (sn_self && sn_openmp_of(sn_self)->depth > 0)
		sn_openmp_of(sn_self)->depth--;
}

void sn_ompt_implicit_task(int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
			   unsigned threads, unsigned index, int flags)
{
	enum { BEGIN = 1, END = 2, INITIAL = 1 };
	struct sn_thread *self = sn_self;

	(void)task, (void)threads;
	if (sn_openmp_tracer && self && !(flags & INITIAL))
		sn_openmp_tracer->implicit_task(endpoint == BEGIN && parallel ? parallel->pointer
									      : NULL,
						endpoint == BEGIN, index);
	if (!self || (flags & INITIAL) || index == 0)
		return;
	if (endpoint == BEGIN)
		sn_openmp_of(self)->region = parallel ? parallel->pointer : NULL;
	else if (endpoint == END)
		sn_openmp_of(self)->region = NULL;
}

/* Frames of the library between two of the program say nothing: they go, so that a creator's own
 * share of the region looks as its workers' do. In a worker everything from the library's outermost
 * frames on is replaced by the creator's stack: is_cut. */
uint32_t sn_ompt_drop_frames(const struct sn_region *region, uint64_t *pcs, uint32_t count,
			     bool *is_cut)
{
	uint32_t kept = 0, end = count;
	bool has_left = false;

	if (!library_end)
		return count;
	if (region) {
		/* from the root: what started the thread, then the library, then the program */
		while (end > 0 && !sn_ompt_is_in_library(pcs[end - 1]))
			end--;
		while (end > 0 && sn_ompt_is_in_library(pcs[end - 1]))
			end--;
		if (end == 0)
			return count; /* waits in the library */
		*is_cut = true;
	}
	for (uint32_t i = 0; i < end; i++) {
		bool is_library = sn_ompt_is_in_library(pcs[i]);
		has_left |= !is_library;
		if (!is_library || !has_left)
			pcs[kept++] = pcs[i];
	}
	return kept;
}
