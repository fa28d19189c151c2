/* Where loops get their data from: irregular accesses, streams, and cycles for each level. */
#include <math.h>
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/loop/levels.h"
#include "harness/tap.h"

/* Round figures: 64, 32 and 8 bytes a cycle from L2, L3 and RAM. */
static const struct sn_bandwidths bandwidths = {
	.bytes_per_cycle = { INFINITY, 64, 32, 8 },
	.written_bytes_per_cycle = { INFINITY, 32, 16, 4 },
	.stride_cycles = { { 0 }, { 1, 2, 3, 6 }, { 2, 4, 5, 10 }, { 12, 16, 18, 48 } },
	.random_cycles = { 0, 2, 4, 20 },
	.latency_cycles = { 4, 16, 50, 700 },
	.past_caches_bytes_per_cycle = { 16, 8, 8, 8 },
};

/* mov rax,[rax]; test rax,rax; jne */
#define LIST "488b004885c075f8"
/* the same through a variable on the stack */
#define LIST_ON_STACK "488b442408488b0048894424084885c075ee"
/* mov eax,[rsi]; add rsi,4; addsd xmm0,[rdi+rax*8]; cmp; jne */
#define INDEXED "8b064883c604f20f5804c74839d675f0"
/* mov eax,[rsi]; add rsi,4; mov eax,[rdi+rax*4]; addsd xmm0,[rcx+rax*8]; cmp; jne */
#define TWICE "8b064883c6048b0487f20f5804c14839d675ed"
/* movzx eax,byte [rsi]; inc rsi; add ecx,[rdi+rax*4]; cmp; jne */
#define BYTE_TABLE "0fb60648ffc6030c874839d675f2"
/* imul rax,rbx; add rax,rcx; mov rdx,rax; shr rdx,33; addsd xmm0,[rdi+rdx*8]; dec r8; jne */
#define HASH "480fafc34801c84889c248c1ea21f20f5804d749ffc875e8"
/* movsxd rcx,eax; addsd xmm0,[rdi+rcx*8]; inc eax; cmp; jne */
#define INT_INDEX "4863c8f20f5804cfffc039d075f2"
/* mov rax,[rsp+8]; addsd xmm0,[rax+rcx*8]; inc rcx; cmp; jne */
#define SPILLED "488b442408f20f5804c848ffc14839d175ee"
/* mov rdi,rax; sub rdi,r8; movapd xmm0,[rdi+rsi]; movapd [rax],xmm0; add rax,16; cmp; jne */
#define DIFFERENCE "4889c74c29c7660f280437660f29004883c0104839d075e8"
/* add rdi,rbx; addsd xmm0,[rdi]; dec r8; jne */
#define ROWS "4801dff20f580749ffc875f4"
/* movntpd [rdi],xmm0; add rdi,16; cmp; jne */
#define PAST_CACHES "660f2b074883c7104839d775f3"
/* prefetcht0 [rdi+1024]; addsd xmm0,[rdi]; add rdi,8; cmp; jne */
#define AHEAD "0f188f00040000f20f58074883c7084839d775ec"
/* mov eax,[rsi+64]; prefetcht0 [rdi+rax*8]; mov eax,[rsi]; add rsi,4; addsd xmm0,[rdi+rax*8] */
#define INDEXED_AHEAD "8b46400f180cc78b064883c604f20f5804c74839d675e9"
/* vmovdqu ymm1,[rsi]; kxnorw k1,k1,k1; vgatherdpd zmm0{k1},[rdi+ymm1*8]; add rsi,32; cmp; jne */
#define GATHER "c5fe6f0ec5f446c962f2fd499204cf4883c6204839d675e8"

static struct sn_arena arena;

static const struct sn_machine *zen5(void)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };

	REQUIRE(sn_machine_find("zen5", &machine, &err) == SN_OK);
	return machine;
}

static struct sn_cqa_path path_of(const char *hex)
{
	struct sn_cqa_path path = { 0 };
	struct sn_streams streams;
	struct sn_error err = { 0 };
	uint8_t bytes[256];
	size_t count = sizeof(bytes);

	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	REQUIRE(sn_cqa_block_decode(zen5(), &arena, bytes, count, &path.block, &err) == SN_OK);
	sn_cqa_estimate(zen5(), &path.block, false, &arena, &path.estimate);
	streams = sn_streams_of(&path.block, &arena);
	sn_cqa_metrics_of(zen5(), &path.block, &streams, &arena, &path.metrics);
	sn_cqa_add_past_caches(zen5(), &bandwidths, &path);
	sn_cqa_levels_estimate(zen5(), &bandwidths, &streams, &path, &arena);
	return path;
}

/* The last access of the block that is a load (or prefetch, if there is one). */
static struct sn_access last_load(const char *hex)
{
	struct sn_cqa_path path = path_of(hex);
	const struct sn_accesses *accesses = sn_accesses_find_irregular(&path.block, &arena);

	for (size_t i = accesses->count; i-- > 0;)
		if (accesses->items[i].is_load)
			return accesses->items[i];
	REQUIRE(false);
	return (struct sn_access){ 0 };
}

static double level(const char *hex, enum sn_level which)
{
	return path_of(hex).level_cycles[which];
}

TEST(what_comes_from_data_is_irregular)
{
	CHECK(last_load(LIST).is_irregular && last_load(LIST).is_indirect);
	CHECK(last_load(LIST_ON_STACK).is_irregular);
	CHECK(last_load(INDEXED).is_irregular && last_load(INDEXED).is_indirect);
	CHECK_INT(last_load(INDEXED).irregular_depth, 1);
	CHECK_INT(last_load(TWICE).irregular_depth, 2);
	/* no data, but no stride either */
	CHECK(last_load(HASH).is_irregular && !last_load(HASH).is_indirect);
	/* a byte selects from a table that is small */
	CHECK(!last_load(BYTE_TABLE).is_irregular && last_load(BYTE_TABLE).is_indirect);
}

TEST(what_is_made_anew_from_steps_has_a_stride)
{
	CHECK(last_load(INT_INDEX).has_stride);
	CHECK_INT(last_load(INT_INDEX).stride_bytes, 8);
	/* a pointer that stays on the stack is a constant */
	CHECK(last_load(SPILLED).has_stride && !last_load(SPILLED).is_indirect);
	CHECK_INT(last_load(SPILLED).stride_bytes, 8);
	CHECK_INT(last_load(DIFFERENCE).stride_bytes, 16);
	CHECK_INT((int)path_of(DIFFERENCE).metrics.strides[SN_STRIDE_UNIT], 2);
	/* a step in a register is none that is known, nor irregular */
	CHECK(!last_load(ROWS).has_stride && !last_load(ROWS).is_irregular);
	CHECK_INT((int)path_of(ROWS).metrics.strides[SN_STRIDE_UNKNOWN], 1);
}

TEST(lists_wait_for_the_level)
{
	CHECK_REAL(level(LIST, SN_LEVEL_L1), 4, 1e-6);
	CHECK_REAL(level(LIST, SN_LEVEL_L2), 16, 1e-6);
	CHECK_REAL(level(LIST, SN_LEVEL_L3), 50, 1e-6);
	CHECK_REAL(level(LIST, SN_LEVEL_RAM), 700, 1e-6);
	CHECK(level(LIST_ON_STACK, SN_LEVEL_RAM) >= 700);
}

TEST(indirect_accesses_go_at_the_rate_of_misses)
{
	/* the indices are a stream of 4 bytes a pass */
	CHECK_REAL(level(INDEXED, SN_LEVEL_RAM), 20 + 4.0 / 8, 1e-6);
	CHECK_REAL(level(TWICE, SN_LEVEL_RAM), 2 * 20 + 4.0 / 8, 1e-6);
	CHECK_REAL(level(HASH, SN_LEVEL_RAM), 20, 1e-6);
	/* each element of a gather is an access */
	CHECK_REAL(level(GATHER, SN_LEVEL_RAM), 8 * 20 + 32.0 / 8, 1e-6);
	CHECK(level(BYTE_TABLE, SN_LEVEL_RAM) < 2);
}

TEST(work_that_waits_fills_the_schedulers)
{
	/* INDEXED with forty dependent multiplications of what it loads: a pass holds forty of the
	   172 places for vector operations while it waits, so four are on their way at once */
	char hex[512] = "8b064883c604f20f1004c7";

	for (unsigned i = 0; i < 40; i++)
		strcat(hex, "f20f59c0");
	strcat(hex, "4839d60f8550ffffff");
	CHECK(level(hex, SN_LEVEL_RAM) > 700 / (172.0 / 40) - 1);
	CHECK(level(hex, SN_LEVEL_RAM) < 700 / (172.0 / 44));
}

TEST(strides_beyond_a_line_cost_accesses)
{
	CHECK_REAL(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, 64), 8, 1e-9);
	CHECK_REAL(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, -128), 12, 1e-9);
	CHECK_REAL(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, 576), 16, 1e-9);
	CHECK(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, 320) > 12 &&
	      sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, 320) < 16);
	CHECK_REAL(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, 100000), 18, 1e-9);
	CHECK_REAL(sn_level_access_cycles(&bandwidths, SN_LEVEL_RAM, -8192), 48, 1e-9);
	CHECK_REAL(level(ROWS, SN_LEVEL_RAM), 18, 1e-6);
}

TEST(stores_past_the_caches_bound_the_first_level)
{
	struct sn_cqa_path path = path_of(PAST_CACHES);

	CHECK_REAL(path.metrics.bytes_past_caches, 16, 1e-9);
	CHECK_REAL(path.estimate.bounds[SN_BOUND_PORTS], 16.0 / 11, 1e-3);
	CHECK_REAL(path.metrics.bytes_from_memory, 0, 1e-9);
	CHECK(path.level_cycles[SN_LEVEL_L1] >= 1);
	CHECK_REAL(path.level_cycles[SN_LEVEL_L2], 2, 1e-9);
	CHECK_REAL(path.level_cycles[SN_LEVEL_RAM], 2, 1e-9);
}

TEST(prefetches_bring_what_loads_would)
{
	struct sn_cqa_path path = path_of(AHEAD);

	CHECK_REAL(path.metrics.bytes_from_memory, 8, 1e-9);
	CHECK_INT((int)path.metrics.loads, 1);
	/* of prefetch and load one misses */
	CHECK_REAL(level(INDEXED_AHEAD, SN_LEVEL_RAM), 20 + 4.0 / 8, 1e-6);
}
