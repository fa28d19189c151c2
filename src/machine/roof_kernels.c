/*
 * In assembly, since a compiler would find that nothing is done. Sums go on from pass to pass in 12
 * or 14 registers: more than latency times units, on the cores that there are. Registers begin with
 * 0 and meet ones, so that no value is denormal.
 */
#include "machine/roof_kernels.h"

#include <stdbool.h>
#include <string.h>

#define CLOBBERED                                                                                  \
	"cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",      \
		"xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

/* clang-format breaks lines of these macros anew each time */
/* clang-format off */
/* one instruction on register k: of SSE, of AVX, and a product added */
#define S(op, r, k) op " %%" r "15,%%" r #k "\n"
#define V(op, r, k) op " %%" r "15,%%" r #k ",%%" r #k "\n"
#define F(op, r, k) op " %%" r "15,%%" r "15,%%" r #k "\n"

#define ALIKE(I, op, r)                                                                            \
	I(op, r, 0)                                                                                \
	I(op, r, 1)                                                                                \
	I(op, r, 2)                                                                                \
	I(op, r, 3) I(op, r, 4) I(op, r, 5) I(op, r, 6) I(op, r, 7) I(op, r, 8) I(op, r, 9)        \
		I(op, r, 10) I(op, r, 11)
#define IN_TURN(I, one, J, other, r)                                                               \
	I(one, r, 0)                                                                               \
	J(other, r, 1)                                                                             \
	I(one, r, 2)                                                                               \
	J(other, r, 3) I(one, r, 4) J(other, r, 5) I(one, r, 6) J(other, r, 7) I(one, r, 8)        \
		J(other, r, 9) I(one, r, 10) J(other, r, 11) I(one, r, 12) J(other, r, 13)

#define ZERO_SSE(k)    "xorps %%xmm" #k ",%%xmm" #k "\n"
#define ZERO_VECTOR(k) "vxorps %%xmm" #k ",%%xmm" #k ",%%xmm" #k "\n"
#define ZEROS(Z)       Z(0) Z(1) Z(2) Z(3) Z(4) Z(5) Z(6) Z(7) Z(8) Z(9) Z(10) Z(11) Z(12) Z(13) Z(14)

#define ARITHMETIC(name, begin, load, body, end)                                                   \
	static void name(uint64_t count, const void *ones)                                         \
	{                                                                                          \
		__asm__ volatile(begin load ".p2align 6\n1:\n" body "dec %0\njnz 1b\n" end         \
				 : "+r"(count)                                                     \
				 : "r"(ones)                                                       \
				 : CLOBBERED);                                                     \
	}

#define SSE(name, body) ARITHMETIC(name, ZEROS(ZERO_SSE), "movups (%1),%%xmm15\n", body, "")
#define VECTOR(name, r, body)                                                                      \
	ARITHMETIC(name, ZEROS(ZERO_VECTOR), "vmovups (%1),%%" r "15\n", body, "vzeroupper\n")

/* The three loops of a type (sd ss pd ps) and width: additions, products, both in turn. */
#define THREE_SSE(name, type)                                                                      \
	SSE(name##_add, ALIKE(S, "add" type, "xmm"))                                               \
	SSE(name##_mul, ALIKE(S, "mul" type, "xmm"))                                               \
	SSE(name##_both, IN_TURN(S, "mul" type, S, "add" type, "xmm"))
#define THREE_VECTOR(name, type, r)                                                                \
	VECTOR(name##_add, r, ALIKE(V, "vadd" type, r))                                            \
	VECTOR(name##_mul, r, ALIKE(V, "vmul" type, r))                                            \
	VECTOR(name##_both, r, IN_TURN(V, "vmul" type, V, "vadd" type, r))
#define TWO_FMA(name, type, r)                                                                     \
	VECTOR(name##_fma, r, ALIKE(F, "vfmadd231" type, r))                                       \
	VECTOR(name##_fma_add, r, IN_TURN(F, "vfmadd231" type, V, "vadd" type, r))

THREE_SSE(sd, "sd")
THREE_SSE(ss, "ss")
THREE_SSE(sse_pd, "pd")
THREE_SSE(sse_ps, "ps")
THREE_VECTOR(avx_pd, "pd", "ymm")
THREE_VECTOR(avx_ps, "ps", "ymm")
THREE_VECTOR(avx512_pd, "pd", "zmm")
THREE_VECTOR(avx512_ps, "ps", "zmm")
TWO_FMA(avx_pd, "pd", "ymm")
TWO_FMA(avx_ps, "ps", "ymm")
TWO_FMA(avx512_pd, "pd", "zmm")
TWO_FMA(avx512_ps, "ps", "zmm")
/* clang-format on */

enum { ALIKE_COUNT = 12, IN_TURN_COUNT = 14 };

static bool has_fma(void)
{
	return __builtin_cpu_supports("avx") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

static void three(struct sn_roof_loop *out, sn_roof_arithmetic add, sn_roof_arithmetic mul,
		  sn_roof_arithmetic both, unsigned lanes)
{
	out[0] = (struct sn_roof_loop){ add, ALIKE_COUNT * lanes };
	out[1] = (struct sn_roof_loop){ mul, ALIKE_COUNT * lanes };
	out[2] = (struct sn_roof_loop){ both, IN_TURN_COUNT * lanes };
}

static void fmas(struct sn_roof_loop *out, sn_roof_arithmetic fma, sn_roof_arithmetic fma_add,
		 unsigned lanes)
{
	out[0] = (struct sn_roof_loop){ fma, 2.0 * ALIKE_COUNT * lanes };
	out[1] = (struct sn_roof_loop){ fma_add, 1.5 * IN_TURN_COUNT * lanes };
}

static void vectors(struct sn_roof_loop *out, bool is_double)
{
	if (has_avx512() && is_double)
		three(out, avx512_pd_add, avx512_pd_mul, avx512_pd_both, 8);
	else if (has_avx512())
		three(out, avx512_ps_add, avx512_ps_mul, avx512_ps_both, 16);
	else if (__builtin_cpu_supports("avx") && is_double)
		three(out, avx_pd_add, avx_pd_mul, avx_pd_both, 4);
	else if (__builtin_cpu_supports("avx"))
		three(out, avx_ps_add, avx_ps_mul, avx_ps_both, 8);
	else if (is_double)
		three(out, sse_pd_add, sse_pd_mul, sse_pd_both, 2);
	else
		three(out, sse_ps_add, sse_ps_mul, sse_ps_both, 4);
}

void sn_roof_loops_of(enum sn_roof_kind kind, struct sn_roof_loop out[SN_ROOF_VARIANTS])
{
	memset(out, 0, SN_ROOF_VARIANTS * sizeof(*out));
	if (kind == SN_ROOF_SCALAR_DOUBLE)
		three(out, sd_add, sd_mul, sd_both, 1);
	else if (kind == SN_ROOF_SCALAR_SINGLE)
		three(out, ss_add, ss_mul, ss_both, 1);
	else if (kind == SN_ROOF_VECTOR_DOUBLE || kind == SN_ROOF_VECTOR_SINGLE)
		vectors(out, kind == SN_ROOF_VECTOR_DOUBLE);
	else if (kind == SN_ROOF_FMA_DOUBLE && has_avx512())
		fmas(out, avx512_pd_fma, avx512_pd_fma_add, 8);
	else if (kind == SN_ROOF_FMA_SINGLE && has_avx512())
		fmas(out, avx512_ps_fma, avx512_ps_fma_add, 16);
	else if (kind == SN_ROOF_FMA_DOUBLE && has_fma())
		fmas(out, avx_pd_fma, avx_pd_fma_add, 4);
	else if (kind == SN_ROOF_FMA_SINGLE && has_fma())
		fmas(out, avx_ps_fma, avx_ps_fma_add, 8);
}

/* ---- memory ---- */

/* clang-format off */
#define LOADS(move, r, w)                                                                          \
	move " (%0),%%" r "0\n" move " 1*" w "(%0),%%" r "1\n" move " 2*" w "(%0),%%" r "2\n" move \
	     " 3*" w "(%0),%%" r "3\n" move " 4*" w "(%0),%%" r "4\n" move " 5*" w "(%0),%%" r     \
	     "5\n" move " 6*" w "(%0),%%" r "6\n" move " 7*" w "(%0),%%" r "7\n"

#define READ(move, r, w, end)                                                                      \
	__asm__ volatile(".p2align 6\n1:\n" LOADS(move, r, w) "add $8*" w                          \
							      ",%0\ncmp %1,%0\njb 1b\n" end        \
			 : "+r"(memory)                                                            \
			 : "r"(memory + bytes)                                                     \
			 : CLOBBERED, "memory")

void sn_roof_read(const char *memory, size_t bytes)
{
	if (has_avx512())
		READ("vmovups", "zmm", "64", "vzeroupper\n");
	else if (__builtin_cpu_supports("avx"))
		READ("vmovups", "ymm", "32", "vzeroupper\n");
	else
		READ("movups", "xmm", "16", "");
}

#define STEP_VECTOR(r, w, k)                                                                       \
	"vmulpd " #k "*" w "(%2),%%" r "15,%%" r #k "\n"                                           \
	"vaddpd " #k "*" w "(%1),%%" r #k ",%%" r #k "\n"                                          \
	"vmovups %%" r #k "," #k "*" w "(%0)\n"
#define STEP_SSE(r, w, k)                                                                          \
	"movups " #k "*" w "(%2),%%" r #k "\n"                                                     \
	"mulpd %%xmm15,%%" r #k "\n"                                                               \
	"addpd " #k "*" w "(%1),%%" r #k "\n"                                                      \
	"movups %%" r #k "," #k "*" w "(%0)\n"

#define TRIAD(STEP, load, r, w, end)                                                               \
	__asm__ volatile(load " (%4),%%" r "15\n.p2align 6\n1:\n" STEP(r, w, 0) STEP(r, w, 1)      \
				 STEP(r, w, 2) STEP(r, w, 3) "add $4*" w ",%0\nadd $4*" w          \
							     ",%1\nadd $4*" w                      \
							     ",%2\ncmp %3,%0\njb 1b\n" end         \
			 : "+r"(a), "+r"(b), "+r"(c)                                               \
			 : "r"(a + bytes), "r"(twos)                                               \
			 : CLOBBERED, "memory")
/* clang-format on */

void sn_roof_triad(char *a, const char *b, const char *c, size_t bytes)
{
	static const double twos[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };

	if (has_avx512())
		TRIAD(STEP_VECTOR, "vmovups", "zmm", "64", "vzeroupper\n");
	else if (__builtin_cpu_supports("avx"))
		TRIAD(STEP_VECTOR, "vmovups", "ymm", "32", "vzeroupper\n");
	else
		TRIAD(STEP_SSE, "movups", "xmm", "16", "");
}
