/* Counts over a block: vectorization, strides, what counts as work. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cqa/block/hex.h"
#include "cqa/core/cqa.h"
#include "cqa/block/metrics.h"
#include "harness/tap.h"

static struct sn_cqa_metrics metrics_of(const char *hex)
{
	static struct sn_arena arena;
	const struct sn_machine *machine;
	struct sn_cqa_block block;
	struct sn_cqa_metrics out = { 0 };
	struct sn_streams streams;
	struct sn_error err = { 0 };
	uint8_t bytes[256];
	size_t count = sizeof(bytes);

	REQUIRE(sn_machine_find("cascadelake", &machine, &err) == SN_OK);
	REQUIRE(sn_hex_parse(hex, strlen(hex), bytes, &count, &err) == SN_OK);
	REQUIRE(sn_cqa_block_decode(machine, &arena, bytes, count, &block, &err) == SN_OK);
	streams = sn_streams_of(&block, &arena);
	sn_cqa_metrics_of(machine, &block, &streams, &arena, &out);
	return out;
}

static double vectorized(const char *hex)
{
	return metrics_of(hex).vectorization[SN_DATA_BOTH][SN_CLASS_ALL].ratio;
}

TEST(a_register_that_is_cleared_is_no_vector_work)
{
	/* pxor, xorps, vpxor, vxorpd ymm, vpxord zmm of a register with itself; addsd xmm1,[rdi];
	 * dec r15; jnz */
	static const char *const cleared[] = { "660fefc0", "0f57c0", "c5f9efc0", "c5fd57c0",
					       "62f17d48efc0" };
	char hex[80];

	for (unsigned i = 0; i < sizeof(cleared) / sizeof(*cleared); i++) {
		struct sn_cqa_metrics m;

		snprintf(hex, sizeof(hex), "%s f20f580f 49ffcf 75ef", cleared[i]);
		m = metrics_of(hex);
		CHECK_REAL(m.vectorization[SN_DATA_BOTH][SN_CLASS_ALL].ratio, 0, 1e-9);
		CHECK(isnan(m.vectorization[SN_DATA_INTEGER][SN_CLASS_ALL].ratio));
		CHECK_INT(m.elements, SN_ELEMENT_F64);
	}
	/* all ones: pcmpeqd xmm0,xmm0 */
	CHECK_REAL(vectorized("660f76c0 f20f580f 49ffcf 75ef"), 0, 1e-9);
	/* pxor xmm0,xmm2 is work */
	CHECK_REAL(vectorized("660fefc2 f20f580f 49ffcf 75ef"), 0.5, 1e-9);
}

TEST(an_unrolled_stream_is_unit_stride)
{
	/* movsd xmm0,[rdi]; movsd xmm1,[rdi+8]; movsd xmm2,[rdi+16]; movsd xmm3,[rdi+24]; add
	 * rdi,32; dec r15; jnz */
	struct sn_cqa_metrics m =
		metrics_of("f20f1007 f20f104f08 f20f105710 f20f105f18 4883c720 49ffcf 75e3");

	CHECK_INT(m.strides[SN_STRIDE_UNIT], 4);
	CHECK_INT(m.strides[SN_STRIDE_N], 0);
	CHECK_REAL(m.bytes_from_memory, 32, 1e-9);
	/* two of the four: fields of a structure */
	m = metrics_of("f20f1007 f20f105710 4883c720 49ffcf 75ed");
	CHECK_INT(m.strides[SN_STRIDE_UNIT], 0);
	CHECK_INT(m.strides[SN_STRIDE_N], 2);
}

TEST(unrolled_streams_of_two_arrays_are_told_apart)
{
	/* movupd xmm0,[rdi]; movupd xmm1,[rdi+16]; movupd [rsi],xmm0; movupd [rsi+16],xmm1; both
	 * add 32; dec r15; jnz */
	struct sn_cqa_metrics m =
		metrics_of("660f1007 660f104f10 660f1106 660f114e10 4883c720 4883c620 49ffcf 75df");

	CHECK_INT(m.strides[SN_STRIDE_UNIT], 4);
	CHECK_REAL(m.bytes_from_memory, 64, 1e-9);
	CHECK_REAL(m.bytes_to_memory, 32, 1e-9);
	/* backwards: sub rdi,32 */
	m = metrics_of("f20f1007 f20f104f08 f20f105710 f20f105f18 4883ef20 49ffcf 75e3");
	CHECK_INT(m.strides[SN_STRIDE_UNIT], 4);
}

TEST(strides_have_their_kinds)
{
	/* movsd xmm0,[rdi] that stays; [rsi] by 64; [rdx+rcx] with rdx += rbx; [r8] loaded */
	struct sn_cqa_metrics m =
		metrics_of("f20f1007 f20f100e 4883c640 f20f10140a 4801da 49ffcf 75e9");

	CHECK_INT(m.strides[SN_STRIDE_ZERO], 1);
	CHECK_INT(m.strides[SN_STRIDE_N], 1);
	CHECK_INT(m.strides[SN_STRIDE_UNKNOWN], 1);
	/* mov rax,[rdi]; movsd xmm0,[rsi+rax*8]; add rdi,8 */
	m = metrics_of("488b07 f20f1004c6 4883c708 49ffcf 75ef");
	CHECK_INT(m.strides[SN_STRIDE_UNIT], 1);
	CHECK_INT(m.strides[SN_STRIDE_INDIRECT], 1);
}

TEST(a_call_restores_the_stack_pointer)
{
	/* call; movsd xmm0,[rsp+8]; movsd [rsp+16],xmm0; dec r15; jnz: both stay where they are */
	struct sn_cqa_metrics m = metrics_of("e800000000 f20f10442408 f20f11442410 49ffcf 75ea");

	CHECK_INT(m.strides[SN_STRIDE_ZERO], m.loads + m.stores);
	CHECK(m.loads + m.stores >= 2);
	CHECK_INT(m.strides[SN_STRIDE_N] + m.strides[SN_STRIDE_UNKNOWN], 0);
	/* push moves it: push rbx; movsd xmm0,[rsp+8] */
	m = metrics_of("53 f20f10442408 49ffcf 75f4");
	CHECK(m.strides[SN_STRIDE_N] + m.strides[SN_STRIDE_UNIT] >= 1);
	CHECK_INT(m.strides[SN_STRIDE_ZERO], 0);
}
