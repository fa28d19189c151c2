/**
 * Counts over a decoded block: instruction mix, vectorization, memory and strides.
 */
#ifndef SN_CQA_METRICS_H
#define SN_CQA_METRICS_H

#include "cqa/address.h"

enum sn_insn_class {
	SN_CLASS_ALL,
	SN_CLASS_LOAD,
	SN_CLASS_STORE,
	SN_CLASS_ADD_SUB,
	SN_CLASS_MUL,
	SN_CLASS_OTHER,
	SN_CLASS_COUNT
};

enum sn_stride_kind {
	SN_STRIDE_ZERO,	    /* the same address in every pass */
	SN_STRIDE_UNIT,	    /* as many bytes as the access */
	SN_STRIDE_N,	    /* another constant */
	SN_STRIDE_UNKNOWN,  /* moves by a register that the loop does not change */
	SN_STRIDE_INDIRECT, /* the address comes from memory */
	SN_STRIDE_COUNT
};

struct sn_cqa_metrics {
	unsigned instructions, uops;
	double code_bytes;
	/* floating-point operations of one pass; FMA counts two */
	double flops, flops_add_sub, flops_mul, flops_fma, flops_div, flops_sqrt;
	unsigned fp_scalar, fp_packed; /* FP arithmetic instructions */
	unsigned conversions, masked, gathers, scatters, x87;
	unsigned divisions;    /* integer and FP, square roots */
	unsigned add_then_mul; /* pairs that one FMA could do */
	uint8_t element_bytes; /* of the widest use; 0: no vector operation */
	uint8_t width_bytes;   /* widest register of FP arithmetic */
	/* per class: packed / vectorizable, and used bytes / widest register; NaN: empty */
	double vector_ratio[SN_CLASS_COUNT], vector_efficiency[SN_CLASS_COUNT];
	unsigned loads, stores, stack_references;
	double bytes_loaded, bytes_stored, bytes_prefetched, stack_bytes;
	unsigned strides[SN_STRIDE_COUNT];
	/* memory that one pass brings in: new bytes of each stream, whole lines for wide strides */
	double bytes_from_memory;
	double bytes_to_memory;	     /* of these, what is written and so goes back */
	double arithmetic_intensity; /* FLOP per byte loaded or stored; NaN without memory */
};

void sn_cqa_metrics_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       struct sn_arena *arena, struct sn_cqa_metrics *out);

/** FP arithmetic: how many elements of how many bytes an instruction computes. False if it does
 *  not (moves, shuffles, logic, conversions, integers). */
struct sn_fp_operation {
	unsigned lanes, element_bytes;
	double flops;
	enum { SN_FP_ADD, SN_FP_MUL, SN_FP_FMA, SN_FP_DIV, SN_FP_SQRT, SN_FP_OTHER } kind;
};
bool sn_fp_operation_of(const struct sn_insn *insn, struct sn_fp_operation *out);

/** A move of FP or vector data between registers and memory, or between registers. */
bool sn_is_vector_move(const struct sn_insn *insn);

enum sn_stride_kind sn_stride_kind_of(const struct sn_access *access);

#endif
