/* Which instructions are responsible for a bound: the parts sum to it. */
#include <math.h>
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/loop/parts.h"
#include "harness/tap.h"

static struct sn_arena arena;
static struct sn_cqa_path path;

static struct sn_cqa_parts parts_of(const char *arch, const char *hex)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	uint8_t bytes[512];
	size_t count = sizeof(bytes);

	REQUIRE(sn_machine_find(arch, &machine, &err) == SN_OK);
	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	memset(&path, 0, sizeof(path));
	REQUIRE(sn_cqa_block_decode(machine, &arena, bytes, count, &path.block, &err) == SN_OK);
	sn_cqa_estimate(machine, &path.block, false, &arena, &path.estimate);
	return sn_cqa_parts_of(machine, &path, &arena);
}

static const char *const archs[] = { "haswell",	       "skylake", "cascadelake", "icelake-server",
				     "sapphirerapids", "zen2",	  "zen4",	 "zen5" };

/* dot product; quotients; list; x = (x + y) * z with a swap; store to load; push and use of rsp;
 * stores to nine lines; 512-bit sums; a length-changing prefix; 20 one-byte operations; a store past
 * the caches beside another */
static const char *const blocks[] = {
	"f20f1004c7 f20f5904c6 4883c001 f20f58c8 4839c2 75ea",
	"660f28c1 f20f5e04c6 f20f1104c7 4883c001 4839c2 75e9",
	"488b00 49ffcf 75f8",
	"660f28d1 f20f58c8 f20f59d3 660f28c2 49ffcf 75eb",
	"f20f1007 4883c708 f20f59c1 f20f114708 4839c7 75ea",
	"53 5b 4883c408 4883ec08 49ffcf 75f1",
	("488903 48894340 48898380000000 488983c0000000 48898300010000 48898340010000 "
	 "48898380010000 488983c0010000 48898300020000 49ffcf 75c4"),
	"62f1fd485807 62f1f5485806 49ffcf 75ef",
	"66b83412 49ffcf 75f7",
	"9090909090909090909090909090909090909090 49ffcf 75e7",
	"0f2b07 488906 4883c710 49ffcf 75f1",
};

TEST(parts_sum_to_their_bounds)
{
	for (unsigned a = 0; a < sizeof(archs) / sizeof(*archs); a++)
		for (unsigned b = 0; b < sizeof(blocks) / sizeof(*blocks); b++) {
			struct sn_cqa_parts parts = parts_of(archs[a], blocks[b]);

			CHECK_REAL(parts.sums[SN_BOUND_LATENCY], path.estimate.chain_cycles, 1e-6);
			CHECK_REAL(parts.sums[SN_BOUND_DIVIDER],
				   path.estimate.bounds[SN_BOUND_DIVIDER], 1e-3);
			CHECK_REAL(parts.sums[SN_BOUND_ISSUE], path.estimate.bounds[SN_BOUND_ISSUE],
				   1e-3);
			CHECK_REAL(parts.sums[SN_BOUND_FRONT_END],
				   path.estimate.bounds[SN_BOUND_FRONT_END], 1e-3);
			/* the window has no part in loops as short as these */
			CHECK_REAL(parts.sums[SN_BOUND_PORTS], path.estimate.bounds[SN_BOUND_PORTS],
				   1e-3);
		}
}

TEST(a_chain_names_what_each_step_adds)
{
	/* add [rcx],rax: what forwarding takes counts, though no register is on the way */
	struct sn_cqa_parts parts = parts_of("cascadelake", "480101 49ffcf 75f8");

	CHECK(parts.is_on_chain[0]);
	CHECK(!parts.is_on_chain[1]);
	CHECK_INT(parts.chain_passes, 1);
	CHECK_REAL(parts.chain_cycles[0], path.estimate.chain_cycles, 1e-6);
	CHECK(parts.chain_cycles[0] >= 4);
	/* Zen 5 hands a sum to the next sum in two cycles, though its latency is three */
	parts = parts_of("zen5", "f20f58c8 49ffcf 75f7");
	CHECK_REAL(parts.chain_cycles[0], 2, 1e-6);
	CHECK_REAL((double)path.block.insns[0].latency, 3, 1e-6);
}

TEST(a_chain_may_take_two_passes_to_come_round)
{
	/* movapd xmm2,xmm1; addsd xmm1,xmm0; mulsd xmm2,xmm3; movapd xmm0,xmm2: t = x + s; x = s *
	 * k */
	struct sn_cqa_parts parts =
		parts_of("zen5", "660f28d1 f20f58c8 f20f59d3 660f28c2 49ffcf 75eb");

	CHECK_INT(parts.chain_passes, 2);
	CHECK_REAL(parts.chain_cycles[1] + parts.chain_cycles[2], 6, 1e-6);
	CHECK_REAL(parts.cycles[SN_BOUND_LATENCY][1], 1.5, 1e-6);
	CHECK_REAL(path.estimate.bounds[SN_BOUND_LATENCY], 3, 1e-6);
}

TEST(only_what_needs_the_busiest_units_has_a_part_in_ports)
{
	/* three mulpd on p01, a shuffle on p5 */
	struct sn_cqa_parts parts =
		parts_of("cascadelake", "c5e959cb c5e959e3 c5e959eb c5e914f3 49ffcf 75eb");

	CHECK_REAL(parts.cycles[SN_BOUND_PORTS][0], 0.5, 1e-6);
	CHECK_REAL(parts.cycles[SN_BOUND_PORTS][3], 0, 1e-6);
	CHECK_REAL(parts.cycles[SN_BOUND_PORTS][4], 0, 1e-6);
}

TEST(the_divider_is_held_by_divisions_alone)
{
	struct sn_cqa_parts parts =
		parts_of("cascadelake", "660f28c1 f20f5e04c6 f20f1104c7 4883c001 4839c2 75e9");

	for (size_t i = 0; i < parts.count; i++)
		CHECK((parts.cycles[SN_BOUND_DIVIDER][i] > 0) == (i == 1));
}

TEST(the_front_end_names_where_a_line_begins)
{
	/* Zen 5: the 13th operation of a line costs two cycles more */
	struct sn_cqa_parts parts = parts_of("zen5", "909090909090909090909090 49ffcf 75ef");
	double most = 0;

	CHECK_REAL(path.estimate.bounds[SN_BOUND_FRONT_END], 3, 1e-6);
	for (size_t i = 1; i < parts.count; i++)
		most = fmax(most, parts.cycles[SN_BOUND_FRONT_END][i]);
	CHECK_REAL(most, 2, 1e-6);
	CHECK_STRING(sn_front_end_name(path.estimate.front_end), "op cache");
}
