/* Threads and children of a program with patched loops, and samples that fall into copies. */
#include "runtime/patch/patch.h"

struct sn_patches sn_patches;

/* Of a thread's block; the next thread that has the block uses it again. */
struct scratch {
	struct sn_plan_slot *table;
};

static struct sn_plan_slot *new_table(void)
{
	size_t bytes = (sn_patches.loop_count * sizeof(struct sn_plan_slot) + 4095) & ~4095UL;
	long at = SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at < 0 && at > -4096)
		return NULL;
	/* the child of a raw fork measures nothing: its records are not even mapped */
	if (SYS(madvise, at, bytes, MADV_WIPEONFORK)) {
		SYS(munmap, at, bytes);
		return NULL;
	}
	return (void *)at;
}

static void clear_table(struct sn_plan_slot *table)
{
	for (uint32_t i = 0; i < sn_patches.loop_count; i++) {
		if (!table[i].record)
			continue;
		table[i].record = 0;
		for (uint32_t b = 0; b < SN_PLAN_BUCKETS; b++)
			table[i].buckets[b] = 0;
	}
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct scratch *scratch = sn_thread_scratch(thread, &sn_patch_collector);

	(void)origin;
	if (!sn_patches.loop_count || sn_state->is_sealed)
		return;
	if (scratch->table)
		clear_table(scratch->table);
}

static bool resume(struct sn_thread *thread)
{
	struct scratch *scratch = sn_thread_scratch(thread, &sn_patch_collector);

	if (!sn_patches.loop_count || thread != sn_self)
		return true;
	if (!scratch->table && !sn_state->is_sealed)
		scratch->table = new_table();
	sn_patch_table = scratch->table;
	return true;
}

static void pause_thread(struct sn_thread *thread)
{
	if (thread == sn_self)
		sn_patch_table = NULL;
}

/* In each image's file the headers' stacks have ids of their own. */
static void intern_headers(void)
{
	for (uint32_t i = 0; i < sn_patches.loop_count; i++)
		sn_patches.loops[i].stack =
			sn_stack_intern(&sn_self->writer, &sn_patches.loops[i].header_load_addr, 1,
					SN_STACK_UNREADABLE, 0, sn_now_ns());
}

static bool install(enum sn_data_origin origin)
{
	if (origin == SN_DATA_ORIGIN_EXEC && sn_config.settings.has_plans)
		sn_patch_setup();
	if (origin == SN_DATA_ORIGIN_FORK && sn_patches.loop_count) {
		struct scratch *scratch = sn_thread_scratch(sn_self, &sn_patch_collector);

		scratch->table = NULL; /* the parent's, or none */
	}
	intern_headers();
	return true;
}

static const struct sn_patched_module *module_at(uint64_t pc)
{
	for (uint32_t i = 0; i < sn_patches.module_count; i++)
		if (pc - sn_patches.modules[i].code < sn_patches.modules[i].plan.header->code_bytes)
			return &sn_patches.modules[i];
	return NULL;
}

/* The loop's registers are untouched in its stubs, but for the stack pointer and those that a call may
 * change; so the frame is the original's. */
static void translate(struct sn_unwind_regs *regs)
{
	uint64_t *value = regs->value;

	for (int step = 0; step < 2; step++) {
		const struct sn_patched_module *module = module_at(value[SN_UNWIND_RIP]);
		const struct sn_plan_map *entry;
		uint64_t above;

		if (!module)
			return;
		entry = sn_plan_find(&module->plan,
				     (uint32_t)(value[SN_UNWIND_RIP] - module->code));
		if (!entry || !entry->link_addr)
			return;
		above = value[SN_UNWIND_RSP] + entry->below;
		if (entry->flags & SN_PLAN_MAP_THUNK) {
			value[SN_UNWIND_RIP] = *(const uint64_t *)above;
			value[SN_UNWIND_RSP] = above + 8;
			continue;
		}
		value[SN_UNWIND_RIP] = module->load_bias + entry->link_addr;
		value[SN_UNWIND_RSP] = above;
		return;
	}
}

struct sn_collector sn_patch_collector = {
	.name = "patch",
	.scratch_bytes = sizeof(struct scratch),
	.install = install,
	.thread_begin = begin_thread,
	.resume = resume,
	.pause = pause_thread,
	.translate = translate,
};
