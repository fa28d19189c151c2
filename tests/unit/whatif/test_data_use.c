/* Loops written in assembler, with registers of samples whose truth is known: where their data lie
 * and how long a pass takes. */
#include "whatif/data_use.h"

#include <math.h>

#include "code/assembled.h"

/* 24 bytes of data a pass, at rsi, rdx and rdi; rcx counts down */
ASSEMBLED("data_triad", "xor %eax, %eax\n"
			"1: movsd (%rsi,%rax), %xmm0\n"
			"addsd (%rdx,%rax), %xmm0\n"
			"movsd %xmm0, (%rdi,%rax)\n"
			"add $8, %rax\n"
			"sub $1, %rcx\n"
			"jne 1b\n"
			"ret");
ASSEMBLED("data_chase", "1: mov (%rdi), %rdi\n"
			"dec %rsi\n"
			"jne 1b\n"
			"ret");
ASSEMBLED("data_none", "1: imul %rax, %rax\n"
		       "add $3, %rax\n"
		       "dec %rcx\n"
		       "jne 1b\n"
		       "ret");

enum { RAX, RCX, RDX, RSP = 4, RSI = 6, RDI };

struct scene {
	struct sn_experiment *experiment;
	struct sn_structures *structures;
	struct sn_resolver resolver;
	struct sn_program *program;
	struct sn_profile *profile;
	uint32_t stack, loop, function;
};

/* An experiment whose only stack lies at the head of the loop of a function. */
static struct scene scene_begin(const char *name)
{
	struct scene s = { .experiment = sn_experiment_new("none") };
	struct assembled a = assembled_open(name);
	struct sn_module own = { .path = "/proc/self/exe",
				 .name = "own",
				 .build_id = "",
				 .kind = SN_MODULE_FILE,
				 .is_main = true };
	struct sn_process process = { .pid = 42, .rank = -1, .clock_mechanism = "perf-signal" };
	struct sn_thread thread = { .tid = 42, .name = "own" };
	struct sn_frame frame = { 0, 0 };

	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	REQUIRE(a.function->loop_count == 1);
	frame.link_addr = a.function->loops[0].header_link_addr;
	assembled_close(&a);
	sn_vec_push(&s.experiment->modules, own);
	sn_vec_push(&s.experiment->processes, process);
	sn_vec_push(&s.experiment->threads, thread);
	s.stack = sn_experiment_add_stack(s.experiment, 0, &frame, 1, SN_STACK_COMPLETE);
	return s;
}

/* A sample with these registers. */
static void scene_registers(struct scene *s, int64_t time_ns, const uint64_t values[16])
{
	struct sn_sample sample = { .time_ns = time_ns, .cpu_ns = 1000000, .stack = s->stack };
	struct sn_registers registers = { .time_ns = time_ns, .stack = s->stack };

	for (int i = 0; i < 16; i++)
		registers.values[i] = values[i];
	sn_vec_push(&s->experiment->samples, sample);
	sn_vec_push(&s->experiment->registers, registers);
}

static void scene_analyse(struct scene *s)
{
	const struct sn_program_place *place;
	struct sn_error err;

	sn_experiment_sort(s->experiment);
	s->structures = sn_structures_new(s->experiment);
	s->resolver = sn_structures_resolver(s->structures);
	s->program = sn_program_new(s->experiment, &s->resolver);
	REQUIRE(sn_profile_new(s->program, NULL, &s->profile, &err) == SN_OK);
	place = sn_program_leaf(s->program, s->stack);
	s->loop = place->loop;
	s->function = place->function;
	REQUIRE(s->loop != SN_NONE);
}

static void scene_end(struct scene *s)
{
	sn_profile_free(s->profile);
	sn_program_free(s->program);
	sn_structures_free(s->structures);
	sn_experiment_free(s->experiment);
}

static struct sn_data_use use_of_loop(struct scene *s, const char *arch)
{
	const struct sn_machine *machine = NULL;
	struct sn_data_use use;
	struct sn_error err;

	if (arch)
		REQUIRE(sn_machine_find(arch, &machine, &err) == SN_OK);
	sn_data_use_of_loop(machine, s->profile, s->structures, s->loop, &use);
	return use;
}

/* `count` samples, 1 ms apart, `passes` passes of 8 bytes each between them: three arrays that begin
 * at multiples of 1 GB. */
static struct scene triad(int count, uint64_t passes)
{
	struct scene s = scene_begin("data_triad");

	for (int i = 0; i < count; i++) {
		const uint64_t values[16] = {
			[RAX] = 8 * passes * (uint64_t)i, [RCX] = UINT64_C(1) << 40,
			[RDX] = UINT64_C(1) << 30,	  [RSP] = UINT64_C(1) << 46,
			[RSI] = UINT64_C(2) << 30,	  [RDI] = UINT64_C(3) << 30
		};
		uint64_t now[16];

		for (int r = 0; r < 16; r++)
			now[r] = values[r];
		now[RCX] -= passes * (uint64_t)i;
		scene_registers(&s, 1000000 * (int64_t)i, now);
	}
	scene_analyse(&s);
	return s;
}

TEST(data_in_few_blocks_are_near)
{
	struct scene s = triad(12, 100); /* 8,800 bytes of each array */
	struct sn_data_use use = use_of_loop(&s, NULL), whole;

	CHECK_INT(use.reach, SN_DATA_NEAR);
	CHECK_INT(use.records, 12);
	CHECK_REAL(use.spread_bytes, 3 * 65536, 0);
	sn_data_use_of_function(s.profile, s.structures, s.function, &whole);
	CHECK_INT(whole.reach, SN_DATA_NEAR);
	CHECK_INT(whole.records, 12);
	scene_end(&s);
}

TEST(few_records_settle_nothing)
{
	struct scene s = triad(9, 100);
	struct sn_data_use use = use_of_loop(&s, "skylake");

	CHECK_INT(use.reach, SN_DATA_UNSETTLED);
	CHECK_INT(use.records, 9);
	scene_end(&s);
}

/* A pass from L1 takes a few cycles: 100 ns are slow on any machine. */
TEST(slow_passes_over_data_all_over_memory_wait_for_them)
{
	struct scene s = triad(40, 10000); /* 80,000 bytes of each array between two samples */
	struct sn_data_use use = use_of_loop(&s, "skylake"), whole;

	CHECK_REAL(use.pass_ns, 100, 1e-6);
	CHECK(use.near_cycles > 0.5 && use.near_cycles < 20);
	CHECK(use.spread_bytes > 100 * 65536);
	CHECK_INT(use.reach, SN_DATA_SLOW);
	CHECK(use.is_sure);
	/* without a model of this machine only a wide margin is sure: this is one */
	use = use_of_loop(&s, NULL);
	CHECK_INT(use.reach, SN_DATA_SLOW);
	CHECK(use.is_sure);
	sn_data_use_of_function(s.profile, s.structures, s.function, &whole);
	CHECK_INT(whole.reach, SN_DATA_UNSETTLED);
	CHECK(isnan(whole.pass_ns));
	scene_end(&s);
}

/* As fast as from L1, though the data lie all over memory and RAM could bound it: a prefetcher may
 * hide that, and nothing is said. */
TEST(fast_passes_that_memory_could_bound_settle_nothing)
{
	struct scene s = triad(40, 10000000);
	struct sn_data_use use = use_of_loop(&s, "skylake");

	CHECK_REAL(use.pass_ns, 0.1, 1e-9);
	CHECK_INT(use.reach, SN_DATA_UNSETTLED);
	scene_end(&s);
}

TEST(a_chase_through_memory_waits)
{
	struct scene s = scene_begin("data_chase");
	struct sn_data_use use;
	uint64_t values[16] = { [RSP] = UINT64_C(1) << 46 };

	for (int i = 0; i < 40; i++) {
		values[RSI] = 1000000000 - 12500 * (uint64_t)i; /* 80 ns a pass */
		values[RDI] = (UINT64_C(1) << 32) + UINT64_C(0x9e3779b1) * (uint64_t)i * 64;
		scene_registers(&s, 1000000 * (int64_t)i, values);
	}
	scene_analyse(&s);
	use = use_of_loop(&s, "skylake");
	CHECK_REAL(use.pass_ns, 80, 1e-6);
	CHECK_INT(use.reach, SN_DATA_SLOW);
	CHECK(use.is_sure);
	scene_end(&s);
}

/* Between two samples the loop may have begun anew: half of the pairs go back. */
TEST(a_counter_that_jumps_gives_no_pace)
{
	struct scene s = scene_begin("data_chase");
	struct sn_data_use use;
	uint64_t values[16] = { [RSP] = UINT64_C(1) << 46 };

	for (int i = 0; i < 40; i++) {
		values[RSI] = 1000000 + (i % 2 ? 500000 : 0);
		values[RDI] = (UINT64_C(1) << 32) + UINT64_C(0x9e3779b1) * (uint64_t)i * 64;
		scene_registers(&s, 1000000 * (int64_t)i, values);
	}
	scene_analyse(&s);
	use = use_of_loop(&s, "skylake");
	CHECK(isnan(use.pass_ns));
	CHECK_INT(use.reach, SN_DATA_UNSETTLED);
	scene_end(&s);
}

/* The code says so: no sample with registers is needed. */
TEST(a_loop_without_data_is_near)
{
	struct scene s = scene_begin("data_none");
	struct sn_data_use use;

	scene_analyse(&s);
	use = use_of_loop(&s, NULL);
	CHECK_INT(use.reach, SN_DATA_NEAR);
	CHECK_INT(use.records, 0);
	CHECK_REAL(use.spread_bytes, 0, 0);
	scene_end(&s);
}
