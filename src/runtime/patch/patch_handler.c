/* Threads and children of a program with patched loops, and samples that fall into copies. */
#include "runtime/patch/patch.h"

#include <string.h>
#include <ucontext.h>

#include "runtime/core/pages.h"

struct sn_patches sn_patches;

/* Of a thread's block; the next thread that has the block uses it again. */
struct scratch {
	struct sn_plan_slot *table;
	uint64_t *places;
	struct sn_variant_context *context;
	struct sn_trace_context *traces;
	struct sn_caller_context *callers;
};

static void clear_table(const struct scratch *scratch)
{
	struct sn_plan_slot *table = scratch->table;

	for (uint32_t i = 0; i < sn_patches.loop_count; i++) {
		if (!table[i].record)
			continue;
		table[i].record = 0;
		scratch->places[i] = 0;
		for (uint32_t b = 0; b < SN_PLAN_BUCKETS; b++)
			table[i].buckets[b] = 0;
		table[i].caller = table[i].caller_entries = 0;
		table[i].caller_wait = 0;
		table[i].inner_stack_pointer = 0;
	}
}

static size_t context_bytes(void)
{
	return SN_PLAN_CONTEXT_END + sn_patches.capacity * sizeof(struct sn_variant_loop);
}

void sn_variant_context_begin(struct sn_variant_context *context, uint32_t random)
{
	uint64_t *values = (void *)((uint8_t *)context + SN_PLAN_VALUES);

	context->save_mask = sn_patches.save_mask;
	context->random = random * 0x9e3779b9u + 1;
	for (unsigned i = 0; i < (SN_PLAN_ZEROS - SN_PLAN_VALUES) / sizeof(*values); i++)
		values[i] = SN_PLAN_VALUE;
}

/* Of a thread that has used this memory before. */
static void clear_context(struct sn_variant_context *context)
{
	memset(context, 0, sizeof(*context));
	memset(sn_variant_loops(context), 0,
	       sn_patches.loop_count * sizeof(struct sn_variant_loop));
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct scratch *scratch = sn_thread_scratch(thread, &sn_patch_collector);

	(void)origin;
	if (!sn_patches.capacity || sn_state->is_sealed)
		return;
	if (scratch->table)
		clear_table(scratch);
	if (scratch->context)
		clear_context(scratch->context);
	if (scratch->traces)
		memset(scratch->traces, 0, offsetof(struct sn_trace_context, words));
	if (scratch->callers) {
		scratch->callers->holder = scratch->callers->spent_cycles = 0;
		scratch->callers->paths.generation = scratch->callers->paths.frame_count = 0;
		for (uint32_t i = 0; i < SN_CALLER_SLOTS; i++)
			if (scratch->callers->slots[i].key)
				scratch->callers->slots[i].key = 0;
	}
}

static bool resume(struct sn_thread *thread)
{
	struct scratch *scratch = sn_thread_scratch(thread, &sn_patch_collector);

	if (!sn_patches.capacity || thread != sn_self)
		return true;
	if (!scratch->table && !sn_state->is_sealed) {
		scratch->places =
			sn_pages_wiped_in_children(sn_patches.capacity * sizeof(*scratch->places));
		if (scratch->places)
			scratch->table = sn_pages_wiped_in_children(sn_patches.capacity *
								    sizeof(struct sn_plan_slot));
	}
	if (sn_patches.has_variants && !scratch->context && !sn_state->is_sealed)
		scratch->context = sn_pages_wiped_in_children(context_bytes());
	if (scratch->context && !scratch->context->save_mask)
		sn_variant_context_begin(scratch->context, thread->index + 1);
	if (sn_patches.has_recorders && !scratch->traces && !sn_state->is_sealed)
		scratch->traces = sn_pages_wiped_in_children(sizeof(struct sn_trace_context));
	if (scratch->traces && !scratch->traces->last_tsc)
		scratch->traces->last_tsc = __builtin_ia32_rdtsc();
	if (sn_patches.has_callers && !scratch->callers && !sn_state->is_sealed)
		scratch->callers = sn_pages_wiped_in_children(sizeof(struct sn_caller_context));
	if (scratch->callers)
		scratch->callers->save_mask = sn_patches.save_mask;
	sn_patch_words.callers = scratch->callers;
	sn_patch_words.context = scratch->context;
	sn_patch_words.traces = scratch->traces;
	sn_patch_words.none.turn = 0;
	if (scratch->table)
		sn_patch_words.places = scratch->places;
	sn_patch_words.table = scratch->table;
	return true;
}

static void pause_thread(struct sn_thread *thread)
{
	if (thread == sn_self) {
		sn_patch_words.table = NULL;
		sn_patch_words.places = sn_patch_no_places;
	}
}

/* In each image's file the headers' stacks have ids of their own. */
void sn_patch_intern(uint32_t first)
{
	for (uint32_t i = first; i < sn_patches.loop_count; i++)
		sn_patches.loops[i].stack =
			sn_stack_intern(&sn_self->writer, &sn_patches.loops[i].header_load_addr, 1,
					SN_STACK_UNREADABLE, 0, sn_now_ns());
}

static bool install(enum sn_data_origin origin)
{
	if (origin == SN_DATA_ORIGIN_EXEC &&
	    (sn_config.settings.planned_loops || sn_config.settings.plan_kinds & SN_PLAN_HAS_POINT))
		sn_patch_setup();
	if (origin == SN_DATA_ORIGIN_FORK && sn_patches.capacity) {
		struct scratch *scratch = sn_thread_scratch(sn_self, &sn_patch_collector);

		scratch->table = NULL; /* the parent's, or none */
		scratch->places = NULL;
		scratch->context = NULL;
		scratch->traces = NULL;
		scratch->callers = NULL;
		if (sn_patches.has_callers)
			sn_patches.has_callers = sn_paths_open();
		for (uint32_t i = 0; i < sn_patches.loop_count; i++) {
			sn_patches.loops[i].is_table_written = 0;
			sn_patches.loops[i].owner = 0;
			for (int w = 0; w < SN_VARIANT_WAITS; w++)
				sn_patches.loops[i].waits[w] = 0;
		}
	}
	sn_patch_intern(0);
	return true;
}

static const struct sn_patched_module *module_at(uint64_t pc)
{
	uint32_t count = atomic_load_explicit(&sn_patches.module_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pc - sn_patches.modules[i].code < sn_patches.modules[i].plan.header->code_bytes)
			return &sn_patches.modules[i];
	return NULL;
}

static void translate(struct sn_unwind_regs *regs)
{
	uint64_t *value = regs->value;
	const struct sn_patched_module *module = module_at(value[SN_UNWIND_RIP]);

	if (module)
		sn_plan_translate(&module->plan, module->code, module->load_bias,
				  &value[SN_UNWIND_RIP], &value[SN_UNWIND_RSP]);
}

static bool is_in_variant(uint64_t pc)
{
	const struct sn_patched_module *module = module_at(pc);
	const struct sn_plan_map *entry =
		module ? sn_plan_find(&module->plan, (uint32_t)(pc - module->code)) : NULL;

	return entry && entry->flags & SN_PLAN_MAP_VARIANT;
}

/* A signal, or a fault, while a variant is at work or about to be. It is ended where it stands: elsewhere its
 * end is near. Signals come by CPU time, so that they tell how much of that it took. */
static bool interrupted(struct sn_thread *self, bool is_fault, void *ucontext)
{
	struct scratch *scratch = sn_thread_scratch(self, &sn_patch_collector);
	struct sn_variant_context *context = scratch->context;
	greg_t *pc = &((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];

	/* our own time, which is left out of samples */
	if (!is_fault && scratch->callers && scratch->callers->holder)
		return true;
	if (!context || !context->is_running)
		return false;
	if (!is_in_variant((uint64_t)*pc))
		return !is_fault;
	context->ticks++;
	if (!is_fault && context->ticks * sn_config.settings.period_ns < context->limit_ns)
		return true;
	context->is_faulted = is_fault;
	context->is_runaway = !is_fault;
	*pc = (greg_t)(uintptr_t)sn_variant_abort;
	return true;
}

static int64_t left_out_ns(const struct sn_thread *thread)
{
	const struct scratch *scratch = sn_thread_scratch(thread, &sn_patch_collector);

	uint64_t cycles = (scratch->context ? scratch->context->spent_cycles : 0) +
			  (scratch->callers ? scratch->callers->spent_cycles : 0);

	return sn_patches.cycles_a_second
		       ? (int64_t)((double)cycles * 1e9 / (double)sn_patches.cycles_a_second)
		       : 0;
}

struct sn_collector sn_patch_collector = {
	.name = "patch",
	.scratch_bytes = sizeof(struct scratch),
	.install = install,
	.thread_begin = begin_thread,
	.resume = resume,
	.pause = pause_thread,
	.translate = translate,
	.interrupted = interrupted,
	.left_out_ns = left_out_ns,
};
