/*
 * The constructor's part: for each module that has a plan, its copies are mapped near it and the
 * jumps are written. All of a module's patches are checked before the first is written; what cannot
 * be had is said, and the program runs as it is.
 */
#include "runtime/patch/patch.h"
#include "runtime/patch/place.h"

#include "runtime/core/breakpoints.h"
#include "runtime/core/signals.h"

#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SHADOW_STACK_STATUS = 0x5005 /* ARCH_SHSTK_STATUS, Linux 6.6 */ };

/* ---- variants ---- */

/* The state components that a variant may change: x87, vectors, masks. Not tiles, which take 8 kB and no
 * loop that has variants uses, nor keys. */
#define SAVED_STATE 0xe7ULL

static bool find_state(void)
{
	unsigned a, b, c, d;
	uint32_t low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return false;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	sn_patches.save_mask = ((uint64_t)high << 32 | low) & SAVED_STATE;
	sn_patches.save_bytes = 576;
	for (unsigned i = 2; i < 8; i++)
		if (sn_patches.save_mask & 1u << i && __get_cpuid_count(13, i, &a, &b, &c, &d) &&
		    b + a > sn_patches.save_bytes)
			sn_patches.save_bytes = b + a;
	return sn_patches.save_bytes <= SN_PLAN_VALUES - SN_VARIANT_SAVE_AT;
}

/* What a variant takes that has nothing to do. */
static bool measure_variants(void)
{
	size_t bytes = SN_PLAN_CONTEXT_END;
	struct sn_variant_context *context;
	uint64_t least = UINT64_MAX;
	long at =
		SYS(mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at < 0 && at > -PAGE)
		return false;
	context = (void *)at;
	sn_variant_context_begin(context, 1);
	for (int i = 0; i < 64; i++) {
		uint64_t cycles = sn_variant_run_null(context);

		least = cycles < least ? cycles : least;
	}
	sn_patches.null_cycles = least;
	SYS(munmap, at, bytes);
	return true;
}

/* Ticks of the counter in a second. */
static void measure_counter(void)
{
	struct timespec begin, now;
	uint64_t begin_tsc;
	int64_t ns;

	SYS(clock_gettime, CLOCK_MONOTONIC, &begin);
	begin_tsc = __builtin_ia32_rdtsc();
	do {
		SYS(clock_gettime, CLOCK_MONOTONIC, &now);
		ns = (now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec;
	} while (ns < 1000000);
	sn_patches.cycles_a_second =
		(uint64_t)((double)(__builtin_ia32_rdtsc() - begin_tsc) * 1e9 / (double)ns);
}

/* Whether this processor can keep and time all that variants use. */
static bool can_have_variants(void)
{
	static bool is_known, can;

	if (!is_known)
		can = find_state() && measure_variants();
	if (!is_known && !can)
		sn_warn("this processor cannot keep or time what variants of loops use: none run");
	is_known = true;
	return can;
}

/* ---- all of it ---- */

static void note_module(const struct sn_place *module)
{
	uint32_t number = sn_patches.module_count;
	struct sn_patched_module *out = &sn_patches.modules[number];

	*out = (struct sn_patched_module){ .plan = module->plan,
					   .load_bias = module->info->dlpi_addr,
					   .code = module->code,
					   .first_loop = sn_patches.loop_count };
	sn_stack_add_copies(module->code, module->plan.header->code_bytes);
	for (uint32_t i = 0; i < module->plan.header->loop_count; i++) {
		const struct sn_plan_loop *from = &module->plan.loops[i];
		struct sn_patched_loop *loop = &sn_patches.loops[sn_patches.loop_count++];

		*loop = (struct sn_patched_loop){
			.header_load_addr = module->info->dlpi_addr + from->header_link_addr,
			.step = from->counting == SN_PLAN_COUNT_INDUCTION ? from->step : 0,
			.guarded = from->guarded,
			.clean_step = from->clean_step,
			.is_apart = from->is_apart != 0,
			.holds_others = from->holds_others != 0,
			.has_blocks = from->counting == SN_PLAN_COUNT_BLOCKS,
			.recorder = from->recorder ? module->code + from->recorder : 0,
			.unit_words = from->unit_words ? from->unit_words : 1,
			.table = module->plan.tables + from->table,
			.table_bytes = from->table_bytes,
		};
		for (int v = 0; v < SN_VARIANT_CODES; v++)
			if (from->code[v] && sn_patches.has_variants)
				loop->variants[v] = module->code + from->code[v];
	}
	atomic_store_explicit(&sn_patches.module_count, number + 1, memory_order_release);
}

/* A call that was moved does not return to where the processor noted. */
static bool has_shadow_stack(void)
{
	uint64_t features = 0;

	return SYS(arch_prctl, SHADOW_STACK_STATUS, &features) == 0 && features & 1;
}

/* A plan of points that tell of arrivals, instead of counting them. */
static bool is_telling(const struct sn_plan *plan)
{
	return !plan->header->loop_count && plan->header->table_bytes;
}

static void note_points(const struct sn_place *module)
{
	for (uint32_t i = 0; i < module->plan.header->patch_count; i++)
		sn_breakpoint_has_code(module->info->dlpi_addr + module->plan.patches[i].link_addr,
				       i);
}

static void patch_module(struct sn_place *module, bool is_program)
{
	struct sn_place_calls calls = {
		{ (void *)sn_patch_first,
		  sn_patches.has_callers ? (void *)sn_patch_begin_by_path : (void *)sn_patch_begin,
		  (void *)sn_patch_end, (void *)sn_patch_next, (void *)sn_trace_full,
		  (void *)sn_variant_untime, (void *)sn_variant_run, (void *)sn_variant_exit,
		  (void *)sn_variant_at_call },
		(int64_t)((uintptr_t)&sn_patch_words - (uintptr_t)__builtin_thread_pointer())
	};

	if (is_telling(&module->plan))
		calls.call[SN_PLAN_CALL_FULL] = (void *)sn_patch_reached;
	if (sn_patches.module_count == SN_PATCH_MODULES_MAX ||
	    module->plan.header->loop_count > sn_patches.capacity - sn_patches.loop_count) {
		sn_warn("the plans have more loops than can be counted: some are not");
		return;
	}
	if (!module->plan.header->loop_count && has_shadow_stack()) {
		sn_warn("the program has a shadow stack: no code is put at its places");
		return;
	}
	if (!sn_place_is_as_expected(module)) {
		sn_warn("the code of a module is not what its plan was made for: its loops are not counted");
		return;
	}
	if (!sn_place_code(module, is_program, &calls, sn_patches.loop_count)) {
		sn_warn("there is no room for executable memory near a module: its loops are not counted");
		return;
	}
	if (!sn_place_write(module)) {
		SYS(munmap, module->code, module->plan.header->code_bytes);
		sn_warn("the code of a module cannot be written to: its loops are not counted");
		return;
	}
	note_module(module);
	if (is_telling(&module->plan))
		note_points(module);
}

/* A library that was closed and is there again: at the place where it was its copies fit. True: it needs no
 * copies. */
static bool is_known(struct sn_place *module)
{
	for (uint32_t i = 0; i < sn_patches.module_count; i++) {
		const struct sn_patched_module *known = &sn_patches.modules[i];

		if (known->plan.header->hash != module->plan.header->hash)
			continue;
		module->code = known->code;
		if (known->load_bias != module->info->dlpi_addr)
			sn_warn("a library was loaded again at another place: its loops are counted in the "
				"first one only");
		else if (sn_place_is_as_expected(module) && !sn_place_write(module))
			sn_warn("the code of a module cannot be written to: its loops are not counted");
		return true;
	}
	return false;
}

static void visit(const struct dl_phdr_info *info, bool is_program)
{
	struct sn_place module;
	bool is_damaged;

	if (!sn_place_find(info, sn_config.settings.dir, &module, &is_damaged)) {
		if (is_damaged)
			sn_warn("a plan of copies is damaged: the loops of its module are not counted");
		return;
	}
	if (is_known(&module))
		SYS(munmap, module.plan.header, module.plan.header->file_bytes);
	else
		patch_module(&module, is_program);
}

/* Those that have come since it was called last. The loader's lock is held. */
static void patch_modules(void)
{
	static struct sn_place_look look;
	uint32_t first = sn_patches.loop_count;

	sn_place_look(&look, visit);
	if (first == sn_patches.loop_count)
		return;
	atomic_store_explicit(&sn_header()->copied_loops, sn_patches.loop_count,
			      memory_order_relaxed);
	if (sn_enter(sn_self)) {
		sn_patch_intern(first);
		sn_leave(sn_self);
	}
}

/* What timing adds to an instance: the least of some. */
static void measure_timing(void)
{
	struct sn_record_instances record = { .turn = sn_instances_turn(1, 0) };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 64; i++) {
		uint64_t cycles;

		sn_patch_begin(&record, 1, 0);
		cycles = __builtin_ia32_rdtsc() - record.open_tsc;
		least = cycles < least ? cycles : least;
	}
	sn_patches.timing_cycles = least;
}

static void loader_changed(void)
{
	if (sn_self && !sn_state->is_sealed)
		patch_modules();
}

static void watch_loader(void)
{
	if (!sn_place_watch_loader(loader_changed))
		sn_warn("the loader cannot be watched: loops of libraries that are loaded later are "
			"not counted");
}

void sn_patch_setup(void)
{
	unsigned kinds = sn_config.settings.plan_kinds, loops = sn_config.settings.planned_loops;

	if (!sn_place_is_alone()) {
		sn_warn("threads run before the program begins: no loops are counted");
		return;
	}
	sn_patches.capacity = loops < SN_PLAN_LOOPS_MAX ? loops : SN_PLAN_LOOPS_MAX;
	sn_patches.every = sn_config.settings.every;
	measure_timing();
	sn_patches.budget_percent = sn_config.settings.budget;
	sn_patches.has_recorders = kinds & SN_PLAN_HAS_RECORDERS;
	sn_patches.has_variants = kinds & SN_PLAN_HAS_VARIANTS && can_have_variants();
	sn_patches.has_callers = loops && !sn_patches.has_recorders && find_state() &&
				 sn_patches.save_bytes <= SN_CALLER_SAVED_BYTES && sn_paths_open();
	if (sn_patches.has_variants || sn_patches.has_recorders || sn_patches.has_callers)
		measure_counter();
	patch_modules();
	if (sn_patches.loop_count < loops || !sn_patches.module_count)
		watch_loader();
	if (sn_patches.has_variants)
		sn_patches.fault_handler = sn_faults_guard();
}
