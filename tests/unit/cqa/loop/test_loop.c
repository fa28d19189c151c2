/* Loops of an image: how many paths they have, and where their code cannot be followed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "code/image.h"
#include "cqa/loop/loop.h"
#include "cqa/made_executable.h"
#include "harness/tap.h"

static struct sn_structure *structure;

static const struct sn_function *function_of(const uint8_t *code, size_t length)
{
	const struct sn_function *function;
	struct sn_image *image;
	struct sn_error err = { 0 };
	size_t file_length;
	const uint8_t *file = made_executable(code, length, &file_length);

	REQUIRE(sn_image_open_memory(file, file_length, "made", NULL, &image, &err) == SN_OK);
	REQUIRE(sn_structure_open(image, &structure, &err) == SN_OK);
	function = sn_structure_function_at(structure, MADE_CODE_LINK_ADDR);
	REQUIRE(function != NULL);
	sn_function_prepare(structure, function, SN_PREPARE_ALL);
	return function;
}

/* xor ecx,ecx; then `count` times: test dil,1; je +2; inc eax; then inc ecx; cmp ecx,esi; jl; ret
 */
static struct sn_cqa_loop loop_of_choices(unsigned count)
{
	static const uint8_t choice[] = { 0x40, 0xf6, 0xc7, 0x01, 0x74, 0x02, 0xff, 0xc0 };
	uint8_t code[4096] = { 0x31, 0xc9 };
	size_t at = 2;
	const struct sn_machine *machine;
	const struct sn_function *function;
	struct sn_bandwidths bandwidths;
	struct sn_cqa_loop out;
	int32_t back;

	for (unsigned i = 0; i < count; i++, at += sizeof(choice))
		memcpy(code + at, choice, sizeof(choice));
	memcpy(code + at, "\xff\xc1\x39\xf1\x0f\x8c", 6);
	back = 2 - (int32_t)(at + 10);
	memcpy(code + at + 6, &back, 4);
	code[at + 10] = 0xc3;
	function = function_of(code, at + 11);
	REQUIRE(function->loop_count == 1);
	REQUIRE(sn_machine_find("cascadelake", &machine, NULL) == SN_OK);
	bandwidths = sn_bandwidths_of(machine);
	sn_cqa_loop_analyse(machine, structure, &function->loops[0], &bandwidths, NULL, 0, &out);
	REQUIRE(!out.not_analysed);
	return out;
}

TEST(paths_are_counted_also_where_they_are_not_told_apart)
{
	static const struct {
		unsigned choices;
		uint64_t paths;
	} cases[] = { { 0, 1 },
		      { 2, 4 },
		      { 3, 8 },
		      { 4, 16 },
		      { 7, 128 },
		      { 29, 536870912 },
		      { 30, SN_CQA_PATHS_COUNTED },
		      { 200, SN_CQA_PATHS_COUNTED } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sn_cqa_loop loop = loop_of_choices(cases[i].choices);

		CHECK_INT(loop.path_total, cases[i].paths);
		CHECK_INT(loop.is_union, cases[i].paths > SN_CQA_PATHS_MAX);
		CHECK_INT(loop.path_count, loop.is_union ? 1 : cases[i].paths);
	}
}

/* More paths than are looked at, and samples in a block whose only way back to the header leads through one without
 * a sample: that one ran, too. Three more blocks without samples are left out. */
TEST(a_block_with_samples_came_round)
{
	static const uint8_t test[] = { 0x40, 0xf6, 0xc7, 0x01 }; /* test dil,1 */
	enum { WORK = 16, SAMPLED = 8 };
	uint8_t code[256] = { 0x31, 0xc9 }; /* xor ecx,ecx */
	size_t at = 2;
	const struct sn_machine *machine;
	const struct sn_function *function;
	struct sn_bandwidths bandwidths;
	struct sn_heat heat[] = { { MADE_CODE_LINK_ADDR + 2, 50 },
				  { MADE_CODE_LINK_ADDR + SAMPLED, 50 } };
	struct sn_cqa_loop out;
	int32_t ahead, back;
	size_t exit_at = 0;

	for (int i = 0; i < 5; i++) {
		bool leaves = i == 1;

		/* the first skips two blocks, the second leaves the loop: it lies behind the sampled one */
		memcpy(code + at, test, sizeof(test));
		at += sizeof(test);
		if (leaves) {
			memcpy(code + at, "\x0f\x84", 2);
			exit_at = at + 2;
			at += 6;
		} else {
			code[at++] = 0x74;
			code[at++] = i ? WORK : 2 * WORK + sizeof(test) + 6;
		}
		for (int k = 0; k < WORK; k += 2, at += 2)
			memcpy(code + at, "\xff\xc0", 2); /* inc eax */
	}
	memcpy(code + at, "\xff\xc1\x39\xf1\x0f\x8c", 6); /* inc ecx; cmp ecx,esi; jl */
	back = 2 - (int32_t)(at + 10);
	memcpy(code + at + 6, &back, 4);
	ahead = (int32_t)(at + 10) - (int32_t)(exit_at + 4);
	memcpy(code + exit_at, &ahead, 4);
	code[at + 10] = 0xc3;
	function = function_of(code, at + 11);
	REQUIRE(function->loop_count == 1);
	REQUIRE(sn_machine_find("cascadelake", &machine, NULL) == SN_OK);
	bandwidths = sn_bandwidths_of(machine);
	sn_cqa_loop_analyse(machine, structure, &function->loops[0], &bandwidths, heat, 2, &out);
	REQUIRE(!out.not_analysed);
	CHECK(out.is_pruned);
	CHECK_INT(out.path_total, 16);
	REQUIRE(out.path_count == 2);
	/* both blocks lie on one of the two */
	CHECK_INT(llabs((long long)out.paths[0].block.count - (long long)out.paths[1].block.count),
		  WORK + 2);
	sn_cqa_loop_free(&out);
}

TEST(a_union_expects_half_of_each_choice)
{
	/* 4 x (test, je) and half of 4 inc, inc, cmp, jl: each choice jumps in half of the passes
	 */
	struct sn_cqa_loop loop = loop_of_choices(4);
	const struct sn_cqa_path *path = &loop.paths[0];

	CHECK(path->is_expectation);
	CHECK_REAL(path->taken_jumps, 3, 1e-6);
	CHECK_REAL((double)path->block.insns[2].issued_uops, 0.5, 1e-6);
}

TEST(places_where_code_goes_on_in_unknown_bytes_are_counted)
{
	/* mov rax,[rsi]; d5 18 01 c0 (APX); ret */
	static const uint8_t unknown[] = { 0x48, 0x8b, 0x06, 0xd5, 0x18, 0x01, 0xc0, 0xc3 };
	/* test edi,edi; je +4 over them: one way ends there, the other goes on; ret */
	static const uint8_t branch[] = { 0x85, 0xff, 0x74, 0x04, 0xd5, 0x18, 0x01, 0xc0, 0xc3 };
	/* ret; then bytes that nothing leads to */
	static const uint8_t behind[] = { 0xc3, 0xd5, 0x18, 0x01, 0xc0 };
	/* jmp +4; the same */
	static const uint8_t jump[] = { 0xeb, 0x04, 0xd5, 0x18, 0x01, 0xc0, 0xc3 };
	const struct sn_function *function = function_of(unknown, sizeof(unknown));

	CHECK_INT(sn_cqa_undecoded_places(structure, function), 1);
	function = function_of(branch, sizeof(branch));
	CHECK_INT(sn_cqa_undecoded_places(structure, function), 1);
	function = function_of(behind, sizeof(behind));
	CHECK_INT(sn_cqa_undecoded_places(structure, function), 0);
	function = function_of(jump, sizeof(jump));
	CHECK_INT(sn_cqa_undecoded_places(structure, function), 0);
}

/* xor ecx,ecx; then mov eax,[rsi]; add rsi,4; movsd xmm0,[rdi+rax*8]; `count` times mulsd xmm0,xmm0; cmp; jne; ret */
static struct sn_cqa_loop loop_of_misses(unsigned count)
{
	static const uint8_t head[] = { 0x31, 0xc9, 0x8b, 0x06, 0x48, 0x83, 0xc6,
					0x04, 0xf2, 0x0f, 0x10, 0x04, 0xc7 };
	uint8_t code[1024];
	size_t at = sizeof(head);
	const struct sn_machine *machine;
	const struct sn_function *function;
	struct sn_bandwidths bandwidths;
	struct sn_cqa_loop out;
	int32_t back;

	memcpy(code, head, sizeof(head));
	for (unsigned i = 0; i < count; i++, at += 4)
		memcpy(code + at, "\xf2\x0f\x59\xc0", 4);
	memcpy(code + at, "\x48\x39\xd6\x0f\x85", 5);
	back = 2 - (int32_t)(at + 9);
	memcpy(code + at + 5, &back, 4);
	code[at + 9] = 0xc3;
	function = function_of(code, at + 10);
	REQUIRE(function->loop_count == 1);
	REQUIRE(sn_machine_find("zen5", &machine, NULL) == SN_OK);
	bandwidths = sn_bandwidths_of(machine);
	sn_cqa_loop_analyse(machine, structure, &function->loops[0], &bandwidths, NULL, 0, &out);
	REQUIRE(!out.not_analysed);
	return out;
}

/* From RAM a pass waits for misses, of which the core holds few at once. A variant that computes faster
 * is not known to hold more. So it gains no more there than in L1: an interval from one to the other is
 * never the wrong way round. */
TEST(no_variant_gains_more_from_ram_than_in_l1)
{
	for (unsigned count = 1; count <= 64; count *= 2) {
		struct sn_cqa_loop loop = loop_of_misses(count);

		for (unsigned v = 0; v < SN_VARIANT_COUNT; v++)
			if (loop.variants[v].is_applicable)
				CHECK(loop.variants[v].ram_speedup <=
				      fmax(1, loop.variants[v].speedup));
	}
}

TEST(what_misses_make_a_pass_wait_for_stays_with_every_variant)
{
	struct sn_cqa_loop loop = loop_of_misses(40);
	const struct sn_cqa_variant *vector = &loop.variants[SN_VARIANT_FP_VECTOR];

	CHECK(loop.level_cycles[SN_LEVEL_RAM] > 2 * loop.cycles);
	REQUIRE(vector->is_applicable);
	CHECK(vector->speedup > 2);
	CHECK_REAL(vector->ram_speedup, 1, 1e-9);
	CHECK_REAL(sn_cqa_sure_speedup(&loop, vector->speedup), 1, 1e-9);
}
