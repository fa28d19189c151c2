/* The collector of parallel regions: a worker's stack is cut where its creator's goes on. */
#include "runtime/openmp/regions.h"

#include "runtime/openmp/ompt.h"
#include "unwind/stack_flags.h"

const struct sn_openmp_tracer *sn_openmp_tracer;

/* Walks the creator's stack from its wrapper outwards, and interns it: the first who asks does. Its
 * frames cannot change while a body runs. 0: none. */
static uint32_t region_stack(struct sn_thread *self, struct sn_region *region, int64_t now_ns)
{
	uint32_t known = atomic_load_explicit(&region->stack, memory_order_acquire);

	if (known)
		return known == UINT32_MAX ? 0 : known;
	struct sn_unwind_regs regs = region->regs;
	uint64_t sp = regs.value[SN_UNWIND_RSP];
	if (sp >= region->stack_end)
		return 0;
	struct sn_unwind_window window = sn_unwind_window_here(sp, region->stack_end);
	struct sn_module_table *table = atomic_load(&sn_state->table);
	struct sn_unwind_target target = { .modules = table->modules,
					   .module_count = table->count,
					   .generation = table->generation,
					   .stacks = &window,
					   .stack_count = 1 };
	struct sn_unwind_walk_result result = { 0 };
	/* a walk takes its first pc for an exact one; behind a call it is one byte further */
	if (!region->is_exact)
		regs.value[SN_UNWIND_RIP]--;
	/* behind the frames that the caller has there */
	uint64_t *pcs = self->pcs + SN_FRAMES_MAX;
	uint32_t count =
		sn_unwind_walk(&target, &regs, self->cache, pcs, SN_FRAMES_MAX / 2, &result);
	uint32_t kept = 0, parent = 0;
	bool is_cut = false;
	if (!region->is_exact && count > 0)
		pcs[0]++;
	for (uint32_t i = 0; i < count; i++) {
		if (!sn_is_own_code(pcs[i])) {
			pcs[kept++] = pcs[i];
		} else if (region->outer && sn_region_is_trampoline(pcs[i])) {
			parent = region_stack(self, region->outer, now_ns);
			break;
		}
	}
	if (!parent)
		kept = sn_ompt_drop_frames(region->outer, pcs, kept, &is_cut);
	if (is_cut)
		parent = region_stack(self, region->outer, now_ns);
	/* two who walk it at once write the same */
	uint32_t room = kept < SN_REGION_PCS_MAX ? kept : SN_REGION_PCS_MAX;
	for (uint32_t i = 0; i < room; i++)
		region->pcs[i] = pcs[i];
	region->pcs_count = room;
	uint32_t flags = result.end == SN_UNWIND_COMPLETE ? SN_STACK_COMPLETE
			 : parent			  ? SN_STACK_STITCHED
							  : SN_STACK_UNREADABLE;
	uint32_t id = sn_stack_intern(&self->writer, pcs, kept, flags, parent, now_ns);
	atomic_store_explicit(&region->stack, id ? id : UINT32_MAX, memory_order_release);
	return id;
}

/* At a region's trampoline the worker's stack ends. */
static void trim(struct sn_thread *self, struct sn_frames *frames)
{
	const struct sn_region *region = sn_openmp_of(self)->region;
	bool is_cut = false;

	if (!region && !sn_ompt_has_library())
		return;
	for (uint32_t i = frames->is_signal; region && i < frames->count && !is_cut; i++)
		if (sn_region_is_trampoline(frames->pcs[i])) {
			frames->count = i;
			is_cut = true;
		}
	frames->count = sn_stack_drop_own(frames->pcs, frames->count, frames->is_signal);
	if (!is_cut)
		frames->count = sn_ompt_drop_frames(region, frames->pcs, frames->count, &is_cut);
	if (is_cut)
		frames->cut_by = &sn_openmp_collector;
}

static uint32_t rest(struct sn_thread *self, int64_t now_ns)
{
	return region_stack(self, sn_openmp_of(self)->region, now_ns);
}

struct sn_collector sn_openmp_collector = {
	.name = "openmp",
	.thread_bytes = sizeof(struct sn_openmp),
	.scratch_bytes = SN_REGIONS_MAX * sizeof(struct sn_region),
	.trim = trim,
	.rest = rest,
};
