/**
 * The cores that are known: names, the tables that each reads, and its rules, a file for each. A
 * file says where its numbers come from; docs/method/add-a-machine.md says how to write one.
 */
#ifndef SN_MACHINE_CORES_CORES_H
#define SN_MACHINE_CORES_CORES_H

#include "machine/rules.h"

enum { SN_CORE_TEXTS_MAX = 4 };

struct sn_core {
	const char *name;  /* as in --arch */
	const char *alias; /* what compilers call it by -march besides, or NULL */
	const char *title;
	const char *texts[SN_CORE_TEXTS_MAX]; /* names of embedded tables, base first */
	struct sn_rules rules;
};

/** All, in the order in which they are named to users; ends with NULL. */
extern const struct sn_core *const sn_cores[];

/** An embedded table by its file name without ".tsv", or NULL. Generated at build time. */
struct sn_core_text {
	const char *name;
	const char *chars, *end;
};
const struct sn_core_text *sn_core_text_find(const char *name);

/* ---- for the files of this folder ---- */

#define SN_CORE_NO_LIMIT 1e9F

#define SN_LACKS(extension) (1U << SN_EXTENSION_##extension)

/** Extensions that none of our cores has, and those that came with Ice Lake or with Zen 4 and Zen
 *  5. (LLVM, X86.td.) */
#define SN_LACKED_BY_ALL                                                                           \
	(SN_LACKS(AVX512ER) | SN_LACKS(AVX512PF) | SN_LACKS(AVX512_4) | SN_LACKS(FMA4) |           \
	 SN_LACKS(XOP) | SN_LACKS(TBM) | SN_LACKS(AMD3DNOW))
#define SN_LACKED_BEFORE_SAPPHIRE_RAPIDS                                                           \
	(SN_LACKED_BY_ALL | SN_LACKS(AVX512_FP16) | SN_LACKS(AVX512_VP2INTERSECT) |                \
	 SN_LACKS(AVX_VNNI) | SN_LACKS(AMX))
#define SN_LACKED_BEFORE_ICE_LAKE                                                                  \
	(SN_LACKED_BEFORE_SAPPHIRE_RAPIDS | SN_LACKS(AVX512_BF16) | SN_LACKS(AVX512_VBMI) |        \
	 SN_LACKS(AVX512_IFMA) | SN_LACKS(AVX512_BITALG) | SN_LACKS(AVX512_VPOPCNTDQ) |            \
	 SN_LACKS(AVX512_GFNI) | SN_LACKS(AVX512_VAES) | SN_LACKS(AVX512_VPCLMULQDQ) |             \
	 SN_LACKS(AVX_GFNI) | SN_LACKS(GFNI) | SN_LACKS(VAES) | SN_LACKS(VPCLMULQDQ) |             \
	 SN_LACKS(SHA) | SN_LACKS(SSE4A))
#define SN_LACKED_BEFORE_ZEN_5 SN_LACKED_BEFORE_SAPPHIRE_RAPIDS
#define SN_LACKED_BEFORE_ZEN_4                                                                     \
	(SN_LACKED_BEFORE_ZEN_5 | SN_LACKS(AVX512_BF16) | SN_LACKS(AVX512_VNNI) |                  \
	 SN_LACKS(AVX512_VBMI) | SN_LACKS(AVX512_IFMA) | SN_LACKS(AVX512_BITALG) |                 \
	 SN_LACKS(AVX512_VPOPCNTDQ) | SN_LACKS(AVX512_GFNI) | SN_LACKS(AVX512_VAES) |              \
	 SN_LACKS(AVX512_VPCLMULQDQ) | SN_LACKS(AVX512) | SN_LACKS(AVX_GFNI) | SN_LACKS(GFNI))

extern const struct sn_usual_memory sn_usual_memory_intel, sn_usual_memory_amd;
extern const struct sn_sampled sn_sampled_alike;

/** What Intel's cores have in common: Intel 64 and IA-32 Architectures Optimization Reference Manual
 *  (idioms: 3.5.1.7; micro-fusion and its end: 2.3.2.4; front end: 2.4 and 2.5; loads
 *  through a base that was loaded: 2.3.5.2), and measurements published for Haswell and later. */
#define SN_CORE_INTEL                                                                              \
	.fusion = SN_FUSION_BY_CONDITION, .micro_fuses = true, .unlaminates = true,                \
	.eliminates_byte_extensions = true, .compares_quadwords_with_unit = true,                  \
	.rows_move_stack_pointer = true, .synchronises_stack_pointer = true,                       \
	.length_prefix_cycles = 3, .complex_decoder_uops = 4, .taken_branch_unit = "p6",           \
	.load_latency = 5, .simple_displacement_bytes = 2048, .load_merge_latency = 1,             \
	.load_merge_latency_vector = 2, .taken_branch_cycles = 1,                                  \
	.usual_memory = &sn_usual_memory_intel, .sampled = &sn_sampled_alike

/** What AMD's Zen cores have in common: Software Optimization Guides for families 17h, 19h (idioms:
 *  2.9; "XMM register merge") and 1Ah. Latencies of merging are of measured chains on Zen 5
 *  (bench/cqa/chains.tsv). */
#define SN_CORE_ZEN                                                                                \
	.knows_zero_upper_parts = true, .has_mask_idioms = true, .has_borrow_idiom = true,         \
	.load_latency = 4, .eliminates_gpr_moves = true, .eliminates_vector_moves = true,          \
	.taken_branch_cycles = 1, .insert_merge_latency = 2, .load_merge_latency = 1,              \
	.load_merge_latency_vector = 2, .conversion_merge_latency = 3,                             \
	.usual_memory = &sn_usual_memory_amd, .sampled = &sn_sampled_alike

#endif
