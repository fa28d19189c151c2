/* Known loops: what each bound says on Cascade Lake, worked out by hand. */
#include <string.h>

#include "base/text.h"
#include "cqa/block/hex.h"
#include "cqa/core/cqa.h"
#include "harness/tap.h"

static struct sn_cqa_estimate estimate(const char *arch, const char *hex, bool is_unrolled)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	struct sn_cqa_estimate out = { 0 };
	uint8_t bytes[512];
	size_t count = sizeof(bytes);

	REQUIRE(sn_machine_find(arch, &machine, &err) == SN_OK);
	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	REQUIRE(sn_cqa_bytes(machine, bytes, count, is_unrolled, &out, &err) == SN_OK);
	return out;
}

static double bound(const char *hex, enum sn_bound which)
{
	return estimate("cascadelake", hex, false).bounds[which];
}

TEST(dependent_add_has_one_cycle)
{
	/* add rax,rax; dec r15; jnz */
	CHECK_REAL(bound("4801c0 49ffcf 75f8", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(estimate("cascadelake", "4801c0", true).cycles, 1, 1e-9);
}

TEST(zero_idiom_breaks_the_chain)
{
	/* imul rax,rax; xor eax,eax: the chain ends in the idiom; dec r15; jnz */
	CHECK_REAL(bound("480fafc0 31c0 49ffcf 75f5", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(bound("480fafc0 49ffcf 75f7", SN_BOUND_LATENCY), 3, 1e-9);
}

TEST(pointer_chase_takes_the_fast_way)
{
	/* mov rax,[rax] against mov rax,[rax+4096] */
	CHECK_REAL(bound("488b00 49ffcf 75f8", SN_BOUND_LATENCY), 4, 1e-9);
	CHECK_REAL(bound("488b8000100000 49ffcf 75f4", SN_BOUND_LATENCY), 5, 1e-9);
}

TEST(push_and_pop_do_not_chain_on_the_stack_pointer)
{
	/* push rbx; push rbx: one store each, no dependence */
	CHECK_REAL(bound("53 53 49ffcf 75f9", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(bound("53 53 49ffcf 75f9", SN_BOUND_PORTS), 2, 1e-9);
}

TEST(cmov_reads_its_destination)
{
	/* cmovz rax,rcx; dec r15; jnz: the chain through rax has 1 cycle; imul makes it visible */
	CHECK_REAL(bound("480f44c1 480fafc0 49ffcf 75f3", SN_BOUND_LATENCY), 4, 1e-9);
}

TEST(narrow_writes_merge_and_wide_ones_do_not)
{
	/* imul eax,ecx; mov al,cl (merges): chain of imul + mov */
	CHECK_REAL(bound("0fafc1 88c8 49ffcf 75f6", SN_BOUND_LATENCY), 4, 1e-9);
	/* imul eax,ecx; mov eax,ecx: no chain */
	CHECK_REAL(bound("0fafc1 89c8 49ffcf 75f6", SN_BOUND_LATENCY), 1, 1e-9);
}

TEST(flags_are_apart)
{
	/* adc rax,rcx; inc does not write CF: dec r15 leaves the carry chain alone */
	CHECK_REAL(bound("4811c8 49ffcf 75f8", SN_BOUND_LATENCY), 1, 1e-9);
}

TEST(store_forwards_to_the_next_pass)
{
	/* add [rcx],rax: a chain through memory */
	double forward = bound("480101 49ffcf 75f8", SN_BOUND_LATENCY);

	CHECK(forward >= 4 && forward <= 6);
	/* mov [rcx],rax; mov rax,[rcx+8]: other address */
	CHECK_REAL(bound("488901 488b4108 49ffcf 75f4", SN_BOUND_LATENCY), 1, 1e-9);
	/* mov rax,[rcx]; inc rax; mov [rcx+8],rax; add rcx,8: last pass's store */
	CHECK(bound("488b01 48ffc0 48894108 4883c108 49ffcf 75ed", SN_BOUND_LATENCY) >= 5);
}

/* Each of these was measured on such a machine (docs/method/cores.md). */
TEST(sapphire_rapids_is_as_measured)
{
	static const struct {
		const char *hex;
		double cycles;
	} loops[] = {
		/* seven and eight no-operations; dec r15, jnz: 8 operations a cycle of the op
		 * cache, in whole cycles */
		{ "90909090909090 49ffcf 75f4", 8 / 6. },
		{ "9090909090909090 49ffcf 75f3", 2 },
		/* stores to two streams; to one line */
		{ "488907 488906 4883c708 4883c608 49ffcf 75ed", 2 },
		{ "8907 894704 4883c708 49ffcf 75f2", 1 },
		/* add rax,3; lea rax,[rax+8]; inc rax: against 32 bits */
		{ "4883c003 488d4008 48ffc0 49ffcf 75f0", 1 },
		{ "83c003 ffc0 49ffcf 75f6", 2 },
		/* lea rax,[rax+rbx*4] against lea rax,[rax+rbx] */
		{ "488d0498 49ffcf 75f7", 2 },
		{ "488d0418 49ffcf 75f7", 1 },
		/* [rsp+8] counted up; a value handed on through [rdi+8] and, in the next pass,
		 * [rdi] */
		{ "488b442408 48ffc0 4889442408 49ffcf 75ee", 1 },
		{ "488b07 48ffc0 48894708 4883c708 49ffcf 75ed", 5 },
		/* lists, of pointers and of signed offsets */
		{ "488b00 49ffcf 75f8", 5 },
		{ "486300 49ffcf 75f8", 6 },
		/* add [rdi],rax; inc qword [rdi] */
		{ "480107 49ffcf 75f8", 7 },
		{ "48ff07 49ffcf 75f8", 1 },
		/* cmp rdi,rax; cmova rdi,rax against cmovb */
		{ "4839c7 480f47f8 49ffcf 75f4", 3 },
		{ "4839c7 480f42f8 49ffcf 75f4", 2 },
		/* movsxd rcx,eax; add eax,2; add rdx,4; mov [rsi+rcx*4],edi; cmp r8d,eax; jnz: an
		 * index of int that is extended and compared; without the extension */
		{ "4863c8 83c002 4883c204 893c8e 4139c0 75ee", 1.67 },
		{ "89c1 83c002 4883c204 893c8e 4139c0 75ef", 1 },
		/* addss xmm0,xmm1; maxss xmm2,xmm0; movss xmm0,[rdx]; add rdx,4: the largest sum;
		 * the largest number */
		{ "f30f1002 4883c204 f30f58c1 f30f5fd0 49ffcf 75eb", 5 },
		{ "f30f1002 4883c204 f30f5fd0 49ffcf 75ef", 4 },
		/* ten vfmadd231ps of zmm registers on two ports */
		{ "62f27548b8c2 62f27548b8da 62f27548b8e2 62f27548b8ea 62f27548b8f2 62f27548b8fa "
		  "62727548b8c2 62727548b8ca 62727548b8d2 62727548b8da 49ffcf 75bf",
		  5 },
	};

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		CHECK_REAL(estimate("sapphirerapids", loops[i].hex, false).cycles, loops[i].cycles,
			   1e-3);
}

TEST(locked_updates_cost_an_exchange)
{
	static const char *const archs[] = { "haswell", "cascadelake", "sapphirerapids",
					     "zen2",	"zen4",	       "zen5" };
	/* lock inc [rdi]; lock xadd [rdi],rax; lock cmpxchg [rdi],rcx */
	static const char *const locked[] = { "f048ff07 49ffcf 75f7", "f0480fc107 49ffcf 75f6",
					      "f0480fb10f 49ffcf 75f6" };

	for (unsigned i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		double exchange = estimate(archs[i], "488707 49ffcf 75f8", false).cycles;

		for (unsigned k = 0; k < 3; k++)
			CHECK(estimate(archs[i], locked[k], false).cycles >= exchange - 3);
	}
	for (unsigned k = 0; k < 3; k++)
		CHECK_REAL(estimate("zen5", locked[k], false).cycles, 20, 1);
	CHECK(estimate("zen5", "48ff07 49ffcf 75f8", false).cycles < 2);
}

TEST(x87_stack_turns_with_pushes)
{
	/* fld st0; fmul st0,st1; faddp st1,st0: the accumulator chain is one fadd */
	CHECK_REAL(bound("d9c0 d8c9 dec2 49ffcf 75f5", SN_BOUND_LATENCY), 3, 1e-9);
}

TEST(merge_masking_reads_the_destination)
{
	/* vaddpd zmm1{k1},zmm2,zmm2 merges; with {z} it does not */
	CHECK_REAL(bound("62f1ed4958ca 49ffcf 75f5", SN_BOUND_LATENCY), 4, 1e-9);
	CHECK_REAL(bound("62f1edc958ca 49ffcf 75f5", SN_BOUND_LATENCY), 1, 1e-9);
}

TEST(port_bound_takes_unions)
{
	/* 3 mulpd on p01: 1.5 cycles; a shuffle on p5 does not help */
	CHECK_REAL(bound("c5e959cb c5e959e3 c5e959eb 49ffcf 75ef", SN_BOUND_PORTS), 1.5, 1e-9);
}

TEST(bad_bytes_are_named_by_offset)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	struct sn_cqa_estimate out;

	REQUIRE(sn_machine_find("cascadelake", &machine, &err) == SN_OK);
	CHECK_INT(sn_cqa_bytes(machine, (const uint8_t *)"\x90\x06", 2, false, &out, &err),
		  SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "offset 1") != NULL);
	CHECK_INT(sn_cqa_bytes(machine, (const uint8_t *)"", 0, false, &out, &err), SN_ERR_FORMAT);
}

TEST(ties_go_to_the_first_bound)
{
	/* dec r15; jnz: ports, front end and latency are all 1 */
	CHECK_INT(estimate("cascadelake", "49ffcf 75fb", false).bottleneck, SN_BOUND_PORTS);
}

TEST(hex_takes_case_and_blanks)
{
	uint8_t bytes[4];
	size_t count = 4;
	struct sn_error err = { 0 };

	CHECK_INT(sn_hex_parse("48 fF\tc0", 8, bytes, &count, &err), SN_OK);
	CHECK_INT(count, 3);
	CHECK_INT(bytes[1], 0xff);
	count = 4;
	CHECK_INT(sn_hex_parse("4", 1, bytes, &count, &err), SN_ERR_FORMAT);
	count = 1;
	CHECK_INT(sn_hex_parse("4801", 4, bytes, &count, &err), SN_ERR_RANGE);
}

/* What was measured on Zen 5 (bench/cqa/chains.tsv and docs/method/cores.md). */
static double zen5(const char *hex, enum sn_bound which)
{
	return estimate("zen5", hex, false).bounds[which];
}

TEST(a_load_with_an_evex_prefix_is_no_eliminated_move)
{
	/* four vmovupd zmm,[rsi+64k]; dec r15; jnz: two vector loads a cycle */
	CHECK(bound("62f1fd48100e62f1fd4810560162f1fd48105e0262f1fd4810660349ffcf75e0",
		    SN_BOUND_PORTS) >= 2);
	CHECK(zen5("62f1fd48100e62f1fd4810560162f1fd48105e0262f1fd4810660349ffcf75e0",
		   SN_BOUND_PORTS) >= 2);
}

TEST(a_condition_of_two_flags_takes_longer)
{
	/* cmp eax,ebx; cmova eax,ebx against cmovb */
	CHECK_REAL(zen5("39d80f47c349ffcf75f6", SN_BOUND_LATENCY), 3, 1e-9);
	CHECK_REAL(zen5("39d80f42c349ffcf75f6", SN_BOUND_LATENCY), 2, 1e-9);
}

TEST(an_upper_part_counts_only_where_something_fills_it)
{
	/* movhpd xmm0,[rsi]; movsd xmm0,xmm1 against the movsd alone */
	CHECK_REAL(zen5("660f1606f20f10c149ffcf75f3", SN_BOUND_LATENCY), 4, 1e-9);
	CHECK_REAL(zen5("f20f10c149ffcf75f7", SN_BOUND_LATENCY), 1, 1e-9);
}

TEST(forwarding_hangs_on_the_width)
{
	/* mov [rsi],rax; mov rax,[rsi] is renamed, 64 bytes are slow */
	CHECK_REAL(zen5("488906488b0649ffcf75f5", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(zen5("62f17c48110662f17c48100649ffcf75ef", SN_BOUND_LATENCY), 16, 1e-9);
}

/* Lines of so many no-operations, then five, dec r15 and the jump; cycles measured: 7, 8, 11, 4. */
TEST(what_lines_of_code_have_beyond_two_entries_gathers)
{
	static const struct {
		const unsigned counts[4];
		double cycles;
	} loops[] = { { { 16, 16 }, 7 },
		      { { 16, 16, 16 }, 8 },
		      { { 16, 15, 16, 15 }, 11 },
		      { { 12, 13 }, 4 } };

	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		struct sn_text hex = { 0 };
		unsigned bytes;

		for (unsigned line = 0; line < 4 && loops[i].counts[line]; line++)
			for (unsigned k = 0, at = 0; k < loops[i].counts[line]; k++) {
				unsigned next = (k + 1) * 64 / loops[i].counts[line];

				sn_text_add(&hex, next - at == 4   ? "0f1f4000"
						  : next - at == 5 ? "0f1f440000"
								   : "660f1f440000");
				at = next;
			}
		sn_text_add(&hex, "0f1f40000f1f40000f1f40000f1f40000f1f400049ffcf0f85");
		bytes = (unsigned)hex.length / 2 + 4;
		sn_text_addf(&hex, "%08x", __builtin_bswap32(0 - bytes));
		CHECK_REAL(zen5(hex.chars, SN_BOUND_FRONT_END), loops[i].cycles, 1e-6);
		sn_text_free(&hex);
	}
}

TEST(accesses_that_cannot_both_be_aligned_split_lines)
{
	/* [rdx+rax] and [rdx+rax+8] of 64 bytes: three lines; with +64 two */
	CHECK_REAL(zen5("62f1fd4810040262f1fd48588402080000004883c04049ffcf75e5", SN_BOUND_PORTS),
		   1.5, 1e-6);
	CHECK_REAL(zen5("62f1fd4810040262f1fd485844020148058000000049ffcf75e6", SN_BOUND_PORTS), 1,
		   0.11);
}

TEST(address_units_come_in_turns)
{
	/* two vector loads, two loads: three of the four meet in the first pair; in turns none do,
	 * but four a cycle fill their scheduler (measured: 1.16 to 1.23) */
	CHECK_REAL(zen5("f20f1002f20f104a088b068b5e0849ffcf75ed", SN_BOUND_PORTS), 1.5, 1e-6);
	CHECK_REAL(zen5("f20f10028b06f20f104a088b5e0849ffcf75ed", SN_BOUND_PORTS), 1.016, 1e-3);
	/* scalar y = a x + y: two vector loads and a store in five operations */
	CHECK_REAL(zen5("c5fb1004c2c4e2f1a804c1c5fb1104c148ffc04839c675e8", SN_BOUND_PORTS), 1.055,
		   0.01);
	/* eight operations, two vector loads first, the store sixth */
	CHECK_REAL(zen5("f20f104208f20f100a4883c210660f57c2660f14c80f11094883c11049ffcf75df",
			SN_BOUND_PORTS),
		   1.57, 0.02);
}

/* Measured: 2.00, 1.375 and 1.33 cycles. */
TEST(six_vector_operations_a_cycle_reach_their_side)
{
	/* seven register copies in a row, two no-operations, dec r15; jnz */
	CHECK_REAL(zen5("410f28c6410f28cf410f28d6410f28df410f28e6410f28ef410f28f6909049ffcf75dd",
			SN_BOUND_ISSUE),
		   2, 1e-9);
	/* the same with a third, spread so that no nine in a row hold seven copies */
	CHECK_REAL(zen5("410f28c690410f28d690410f28e690410f28ef410f28f6410f28ce410f28de49ffcf75dc",
			SN_BOUND_ISSUE),
		   1.375, 1e-9);
	/* eight copies and the jump: six of them a cycle */
	CHECK_REAL(zen5("410f28c6410f28cf410f28d6410f28df410f28e6410f28ef410f28f6410f28fe49ffcf"
			"75db",
			SN_BOUND_ISSUE),
		   8.0 / 6, 1e-3);
}

/* A load and seven no-operations, measured 1.145; two and seven, 1.289; a load, a store and six,
 * 1.167. */
TEST(no_access_takes_the_last_place_of_a_group)
{
	CHECK_REAL(zen5("488b029090909090909049ffcf75f1", SN_BOUND_ISSUE), 8.0 / 7, 1e-3);
	CHECK_REAL(zen5("488b02488b42089090909090909049ffcf75ed", SN_BOUND_ISSUE), 9.0 / 7, 1e-3);
	CHECK_REAL(zen5("488b02909090909048891f9049ffcf75ef", SN_BOUND_ISSUE), 7.0 / 6, 1e-3);
}

/* imul eax,[rsi],77 and two more, two additions, a store: measured 2.28, by their units alone 1.5.
 */
TEST(multiplications_take_the_place_of_other_operations)
{
	CHECK_REAL(zen5("6b064d6b4e044d6b56084d01c801d04883c60c89074883c70449ffcf75e2",
			SN_BOUND_PORTS),
		   2.28, 0.15);
}

/* All measured, in cycles: 1, 7, 4, 3, 4, 3. */
TEST(halves_of_a_register_and_of_a_product_go_their_own_ways)
{
	/* movlps, movhps, mulps; with a no-operation between the first two */
	CHECK_REAL(zen5("0f12020f1642080f59c149ffcf75f1", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(zen5("0f1202900f1642080f59c149ffcf75f0", SN_BOUND_LATENCY), 7, 1e-9);
	/* mov rax,rdx; mul rbx: the high half; mul rbx: the low half; mulx likewise */
	CHECK_REAL(zen5("4889d048f7e349ffcf75f5", SN_BOUND_LATENCY), 4, 1e-9);
	CHECK_REAL(zen5("48f7e349ffcf75f8", SN_BOUND_LATENCY), 3, 1e-9);
	CHECK_REAL(zen5("c4e2fbf6d349ffcf75f6", SN_BOUND_LATENCY), 4, 1e-9);
	CHECK_REAL(zen5("c4e2ebf6c349ffcf75f6", SN_BOUND_LATENCY), 3, 1e-9);
}

TEST(rows_are_stored_one_a_cycle)
{
	/* vmovdqa [rdi],ymm0; vmovdqa [rdi+rsi],ymm0; lea rdi,[rdi+rsi*2]; dec r15; jnz */
	CHECK_REAL(zen5("c5fd7f07c5fd7f0437488d3c7749ffcf75ee", SN_BOUND_PORTS), 2, 1e-9);
	/* the same with add rdi,64: two a cycle */
	CHECK(zen5("c5fd7f07c5fd7f47204883c74049ffcf75ee", SN_BOUND_PORTS) < 1.5);
}

/* Measured: 2.37, 2.58, 2.75, 2.00, 3.50 */
TEST(what_runs_beside_a_chain_delays_it)
{
	/* mul r9 beside two additions to rbx */
	CHECK_REAL(zen5("4c89d049f7e14c01db4c01c349ffcf75ef", SN_BOUND_LATENCY), 2.35, 1e-6);
	/* vaddsd xmm0,xmm0,xmm1 beside vmovd xmm8,r9d; beside vcvtsi2sd xmm8,xmm2,r9d; beside two
	 * products */
	CHECK_REAL(zen5("c5fb58c1c441796ec149ffcf75f2", SN_BOUND_LATENCY), 2.5, 1e-6);
	CHECK_REAL(zen5("c5fb58c1c4416b2ac149ffcf75f2", SN_BOUND_LATENCY), 2.7, 1e-6);
	CHECK_REAL(zen5("c5fb58c1c56b59c3c56b59cb49ffcf75ef", SN_BOUND_LATENCY), 2, 1e-6);
	/* vmulsd xmm0,xmm0,xmm1 beside two additions */
	CHECK_REAL(zen5("c5fb59c1c56b58c3c56b58cb49ffcf75ef", SN_BOUND_LATENCY), 3.5, 1e-6);
}

TEST(long_chains_within_a_pass_fill_the_schedulers)
{
	/* mov rax,rbx; 63 times add rax,rcx; dec r15; jnz: measured 23.2 cycles, units alone 11 */
	char hex[6 + 63 * 6 + 18 + 1] = "4889d8";

	for (unsigned i = 0; i < 63; i++)
		memcpy(hex + 6 + i * 6, "4801c8", 6);
	memcpy(hex + 6 + 63 * 6, "49ffcf0f8537ffffff", 19);
	CHECK_REAL(estimate("zen5", hex, false).cycles, 23.2, 2.5);
	CHECK_REAL(estimate("zen5", hex, false).chain_cycles, 1, 1e-9);
	/* three of them do not */
	CHECK_REAL(estimate("zen5", "4889d84801c84801c84801c849ffcf75ef", false).cycles, 1, 0.11);
}

TEST(zen_1_does_256_bits_in_two)
{
	/* vaddpd of three independent ymm registers, on two pipes */
	static const char *const adds = "c5fd58c8 c5fd58d0 c5fd58d8 49ffcf 75ef";

	CHECK_REAL(estimate("zen1", adds, false).bounds[SN_BOUND_PORTS], 3, 1e-9);
	CHECK_REAL(estimate("zen2", adds, false).bounds[SN_BOUND_PORTS], 1.5, 1e-9);
}

TEST(lea_needs_its_index_later)
{
	CHECK_REAL(zen5("488d5c59d049ffcf75f6", SN_BOUND_LATENCY), 1, 1e-9);
	CHECK_REAL(zen5("488d5c4bd049ffcf75f6", SN_BOUND_LATENCY), 2, 1e-9);
}

TEST(division_by_memory_takes_as_long_as_by_a_register)
{
	/* movsd xmm0,[rsi]; divsd xmm0,[rdx-8]; mulsd xmm0,xmm5; movsd [rdx],xmm0; add rdx,8:
	   forwarding, division and product; measured 25.0 */
	CHECK_REAL(zen5("f20f1006f20f5e42f8f20f59c5f20f11024883c20849ffcf75e6", SN_BOUND_LATENCY),
		   25, 0.5);
}
