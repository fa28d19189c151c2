/* Sums that may be kept in parts, and recurrences that may not. */
#include <string.h>

#include "cqa/loop.h"
#include "harness/tap.h"

static struct sn_arena arena;
static const struct sn_machine *machine;

static struct sn_cqa_block block_of(const char *hex)
{
	struct sn_cqa_block block;
	struct sn_error err = { 0 };
	uint8_t bytes[256];
	size_t count = sizeof(bytes);

	REQUIRE(sn_machine_find("cascadelake", &machine, &err) == SN_OK);
	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	REQUIRE(sn_cqa_block_decode(machine, &arena, bytes, count, &block, &err) == SN_OK);
	return block;
}

static bool is_sum(const char *hex)
{
	struct sn_cqa_block block = block_of(hex);
	struct sn_chain chain = sn_chain_of(machine, &block, &arena);

	return sn_cqa_chain_is_reduction(&block, &chain);
}

TEST(a_step_may_be_left_out_by_a_blend)
{
	/* vaddsd xmm2,xmm0,xmm1; vblendvpd xmm0,xmm0,xmm2,xmm3 */
	CHECK(is_sum("c5fb58d1 c4e3794bc230 49ffcf75f1"));
	/* the same with a product */
	CHECK(is_sum("c5fb59d1 c4e3794bc230 49ffcf75f1"));
	/* movapd xmm2,xmm3; addsd xmm2,xmm1; blendvpd xmm3,xmm2 (by xmm0) */
	CHECK(is_sum("660f28d3 f20f58d1 660f3815da 49ffcf75ee"));
	/* vaddpd zmm2,zmm0,zmm1; vblendmpd zmm0{k1},zmm0,zmm2; vmovapd zmm0{k1},zmm2 */
	CHECK(is_sum("62f1fd4858d1 62f2fd4965c2 49ffcf75ef"));
	CHECK(is_sum("62f1fd4858d1 62f1fd4928c2 49ffcf75ef"));
	/* vaddpd zmm0{k1},zmm0,zmm1 */
	CHECK(is_sum("62f1fd4958c1 49ffcf75f5"));
}

TEST(a_step_may_be_left_out_by_logic)
{
	/* movapd xmm2,xmm0; addsd xmm2,xmm1; movapd xmm3,[rsi]; andpd xmm2,xmm3; andnpd xmm3,xmm0;
	 * orpd xmm2,xmm3; movapd xmm0,xmm2 */
	CHECK(is_sum("660f28d0 f20f58d1 660f281e 660f54d3 660f55d8 660f56d3 660f28c2 49ffcf75df"));
	/* vandpd ymm3,ymm2,ymm1; vaddpd ymm0,ymm0,ymm3: what is added is masked */
	CHECK(is_sum("c5ed54d9 c5fd58c3 49ffcf75f3"));
}

TEST(a_value_that_begins_anew_is_no_sum)
{
	/* vaddsd xmm2,xmm0,xmm1; vblendvpd xmm0,xmm4,xmm2,xmm3: else xmm4 */
	CHECK(!is_sum("c5fb58d1 c4e3594bc230 49ffcf75f1"));
	/* vblendvpd xmm0,xmm3,xmm2,xmm0: the sum chooses */
	CHECK(!is_sum("c5fb58d1 c4e3614bc200 49ffcf75f1"));
	/* vaddpd zmm0{k1}{z},zmm0,zmm1 */
	CHECK(!is_sum("62f1fdc958c1 49ffcf75f5"));
	/* movapd xmm2,xmm0; addsd xmm2,xmm1; andpd xmm2,xmm3; movapd xmm0,xmm2 */
	CHECK(!is_sum("660f28d0 f20f58d1 660f54d3 660f28c2 49ffcf75eb"));
}

TEST(other_work_on_the_way_is_no_sum)
{
	/* addsd xmm0,xmm1, then andpd (absolute value) or orpd (sign) xmm0,xmm3 */
	CHECK(!is_sum("f20f58c1 660f54c3 49ffcf75f3"));
	CHECK(!is_sum("f20f58c1 660f56c3 49ffcf75f3"));
	/* vaddsd; vmulsd; vblendvpd */
	CHECK(!is_sum("c5fb58d1 c5eb59d4 c4e3794bc230 49ffcf75ed"));
	/* fadd st0,st0 doubles; fadd qword [rsi] adds */
	CHECK(!is_sum("d8c0 49ffcf75f9"));
	CHECK(is_sum("dc06 49ffcf75f9"));
}

TEST(a_recurrence_beside_a_slower_sum_is_found)
{
	/* addsd xmm0,xmm1; addsd xmm0,xmm2 (8 cycles, a sum); mulsd xmm4,xmm5; addsd xmm4,xmm6 in
	 * one: 8 as well; mulsd alone: 4, a product; subsd xmm7,xmm8 with x - s: 4, a recurrence */
	struct sn_cqa_block sums = block_of("f20f58c1 f20f58c2 f20f59e5 49ffcf75ef");
	struct sn_cqa_block both =
		block_of("f20f58c1 f20f58c2 f20f58c3 f20f59e5 f20f58e6 49ffcf75e7");

	struct sn_chain longest_of_sums = sn_chain_of(machine, &sums, &arena);
	struct sn_chain longest_of_both = sn_chain_of(machine, &both, &arena);

	CHECK_REAL(sn_cqa_recurrence_cycles(machine, &sums, &longest_of_sums, &arena), 0, 1e-9);
	CHECK_REAL(sn_cqa_recurrence_cycles(machine, &both, &longest_of_both, &arena), 8, 1e-9);
}

TEST(a_sum_goes_on_through_other_paths_or_begins_anew)
{
	/* addsd xmm0,xmm1 against: nothing on it; mulsd on it; movapd xmm0,xmm1 */
	struct sn_cqa_block block = block_of("f20f58c1 49ffcf75f7");
	struct sn_cqa_block others[] = { block_of("f20f59d1 49ffcf75f7"),
					 block_of("f20f58c2 49ffcf75f7"),
					 block_of("660f28c1 49ffcf75f7") };
	struct sn_chain chain = sn_chain_of(machine, &block, &arena);

	CHECK(sn_cqa_chain_survives(&block, &chain, &others[0]));
	CHECK(sn_cqa_chain_survives(&block, &chain, &others[1]));
	CHECK(!sn_cqa_chain_survives(&block, &chain, &others[2]));
}
