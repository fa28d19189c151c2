/* Sums that may be kept in parts, and recurrences that may not. */
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/loop/loop.h"
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

	CHECK_REAL(sn_cqa_recurrence_cycles(machine, &sums, &longest_of_sums, &arena, NULL), 0,
		   1e-9);
	CHECK_REAL(sn_cqa_recurrence_cycles(machine, &both, &longest_of_both, &arena, NULL), 8,
		   1e-9);
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

static bool is_integer_recurrence(const char *hex)
{
	struct sn_cqa_block block = block_of(hex);
	struct sn_chain chain = sn_chain_of(machine, &block, &arena);

	REQUIRE(chain.cycles > 0);
	return sn_cqa_chain_is_integer_recurrence(&block, &chain);
}

TEST(random_numbers_are_recurrences)
{
	/* imul rax,r8; add rax,rsi */
	CHECK(is_integer_recurrence("490fafc04801f0 49ffcf75f4"));
	/* mov rdx,rax; shl rdx,13; xor rax,rdx; mov rdx,rax; shr rdx,7; xor rax,rdx */
	CHECK(is_integer_recurrence("4889c248c1e20d4831d04889c248c1ea074831d0 49ffcf75e7"));
	/* xor eax,[rsi]; imul eax,edx: a hash */
	CHECK(is_integer_recurrence("33060fafc2 49ffcf75f6"));
	/* inc rax; cmp rax,rdx; cmovge rax,rcx: a ring */
	CHECK(is_integer_recurrence("48ffc04839d0480f4dc1 49ffcf75f1"));
	/* mov rcx,[rsi+r15*8]; sub rcx,rax; mov rax,[rdi+r15*8]; sub rax,rcx; mov
	 * rcx,[r8+r15*8]; sub rcx,rax; mov rax,rcx: the sign turns in every pass */
	CHECK(is_integer_recurrence("4a8b0cfe4829c14a8b04ff4829c84b8b0cf84829c14889c8 49ffcf75e3"));
}

TEST(inductions_are_no_recurrences)
{
	/* add rax,rdx; add rax,16 */
	CHECK(!is_integer_recurrence("4801d04883c010 49ffcf75f4"));
	/* add rax,[rsp+8]; add rax,rdx; movsd xmm0,[rdi+rax*8] */
	CHECK(!is_integer_recurrence("48034424084801d0f20f1004c7 49ffcf75ee"));
	/* inc eax; cdqe; add eax,2 */
	CHECK(!is_integer_recurrence("ffc0489883c002 49ffcf75f4"));
	/* mov al,[rsi]; setne al: only the register's other bytes are waited for */
	CHECK(!is_integer_recurrence("8a060f95c0 49ffcf75f6"));
}

TEST(sums_of_integers_are_no_recurrences_unless_read)
{
	/* add eax,[rsi+r15*4]; add eax,[rdi+r15*4]; the same with sub */
	CHECK(!is_integer_recurrence("420304be420304bf 49ffcf75f3"));
	CHECK(!is_integer_recurrence("422b04be422b04bf 49ffcf75f3"));
	/* ...; mov edx,eax; shr edx,3 */
	CHECK(is_integer_recurrence("420304be420304bf89c2c1ea03 49ffcf75ee"));
	/* lea rcx,[rax+1]; cmp [rsi],rdx; cmovl rax,rcx: counts some */
	CHECK(!is_integer_recurrence("488d4801483916480f4cc1 49ffcf75f0"));
	/* mov ecx,[rsi]; cmp eax,ecx; cmovl eax,ecx: a maximum */
	CHECK(!is_integer_recurrence("8b0e39c80f4cc1 49ffcf75f4"));
}

TEST(a_generator_beside_a_sum_is_marked)
{
	/* imul rax,r8; add rax,rsi; mov rcx,rax; shr rcx,12; cvtsi2sd xmm0,rcx; addsd xmm1,xmm0 */
	static const bool expected[] = { true, true, false, false, false, false, false, false };
	struct sn_cqa_block block =
		block_of("490fafc04801f04889c148c1e90cf2480f2ac1f20f58c8 49ffcf75e4");
	struct sn_chain longest = sn_chain_of(machine, &block, &arena);
	bool marked[8] = { false };

	REQUIRE(block.count == 8);
	CHECK_REAL(sn_cqa_recurrence_cycles(machine, &block, &longest, &arena, marked), 4, 1e-9);
	for (size_t i = 0; i < block.count; i++)
		CHECK(marked[i] == expected[i]);
}

TEST(addresses_that_come_from_memory_are_needed)
{
	/* movsxd rax,[rsi+r15*4]; lea rcx,[r15+r15*2]; addsd xmm0,[rdi+rax*8]; addsd
	 * xmm1,[rdi+rcx*8] */
	static const bool expected[] = { true, false, false, false, false, false };
	struct sn_cqa_block block = block_of("4a6304be4b8d0c7ff20f5804c7f20f580ccf49ffcf75e9");
	bool needed[6] = { false };

	REQUIRE(block.count == 6);
	sn_cqa_find_needed(&block, NULL, needed, &arena);
	for (size_t i = 0; i < block.count; i++)
		CHECK(needed[i] == expected[i]);
}
