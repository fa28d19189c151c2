/**
 * Counts over a decoded block: instruction mix, vectorization, memory and strides.
 */
#ifndef SN_CQA_METRICS_H
#define SN_CQA_METRICS_H

#include "cqa/block/address.h"

enum sn_insn_class {
	SN_CLASS_ALL,
	SN_CLASS_LOAD,
	SN_CLASS_STORE,
	SN_CLASS_ADD_SUB,
	SN_CLASS_MUL,
	SN_CLASS_OTHER,
	SN_CLASS_COUNT
};

enum sn_data_kind { SN_DATA_BOTH, SN_DATA_INTEGER, SN_DATA_FP, SN_DATA_COUNT };

/** Vectorization of the instructions of a class that could be vectorized; NaN: there are none. */
struct sn_vectorization {
	double ratio;	   /* packed, of all */
	double efficiency; /* mean used part of the widest register */
};

/** Instruction sets and types of elements that a block uses, as bits. */
enum sn_isa_bit {
	SN_ISA_X87 = 1,
	SN_ISA_MMX = 2,
	SN_ISA_SSE = 4,
	SN_ISA_AVX = 8,
	SN_ISA_AVX2 = 16,
	SN_ISA_FMA = 32,
	SN_ISA_F16C = 64,
	SN_ISA_BMI = 128,
	SN_ISA_CRYPTO = 256,
	SN_ISA_AVX512 = 512,
	SN_ISA_BITS = 10
};
enum sn_element_bit {
	SN_ELEMENT_F16 = 1,
	SN_ELEMENT_F32 = 2,
	SN_ELEMENT_F64 = 4,
	SN_ELEMENT_F80 = 8,
	SN_ELEMENT_I8 = 16,
	SN_ELEMENT_I16 = 32,
	SN_ELEMENT_I32 = 64,
	SN_ELEMENT_I64 = 128,
	SN_ELEMENT_BITS = 8
};
/** "x87", "SSE", ...; "f32", "i64", ...; by number of the bit. */
extern const char *const sn_isa_names[SN_ISA_BITS], *const sn_element_names[SN_ELEMENT_BITS];

enum sn_stride_kind {
	SN_STRIDE_ZERO,	    /* the same address in every pass */
	SN_STRIDE_UNIT,	    /* as many bytes as the access, or as those of a pass side by side */
	SN_STRIDE_N,	    /* another constant */
	SN_STRIDE_UNKNOWN,  /* moves by a register that the loop does not change, or irregularly */
	SN_STRIDE_INDIRECT, /* the address comes from memory */
	SN_STRIDE_COUNT
};

struct sn_cqa_metrics {
	unsigned instructions, uops;
	double code_bytes;
	/* floating-point operations of one pass; FMA counts two */
	double flops, flops_add_sub, flops_mul, flops_fma, flops_div, flops_sqrt;
	double rcps, rsqrts;	       /* elements of approximate reciprocals; no FLOP */
	unsigned isas, elements;       /* bits */
	unsigned prefetches, specials; /* specials: string, atomic, system and the like */
	unsigned fp_scalar, fp_packed; /* FP arithmetic instructions */
	unsigned conversions, masked, gathers, scatters, x87;
	unsigned divisions; /* integer and FP, square roots */
	unsigned integer_divisions;
	/* the instruction of most operations, and how many these are */
	const char *longest_name;
	unsigned longest_uops;
	unsigned sum_times;    /* products of a sum: (a + b) * c, which no FMA does */
	unsigned fields;       /* accesses to other fields of a structure that is stepped over */
	unsigned lone_fields;  /* of these, those that may as well be a column of a small matrix */
	unsigned trips;	       /* passes, if the counter begins at 0; 0: not a constant */
	unsigned add_then_mul; /* pairs that one FMA could do */
	uint8_t element_bytes; /* of the widest use; 0: no vector operation */
	uint8_t width_bytes;   /* widest register of FP arithmetic */
	struct sn_vectorization vectorization[SN_DATA_COUNT][SN_CLASS_COUNT];
	unsigned loads, stores, stack_references;
	double bytes_loaded, bytes_stored, bytes_prefetched, stack_bytes;
	unsigned strides[SN_STRIDE_COUNT];
	unsigned register_steps; /* of the unknown, those that move by the same step in each pass */
	unsigned conflicts; /* of the indirect, updates of elements that other passes may update */
	/* memory that one pass brings in: new bytes of each stream, whole lines for wide strides */
	double bytes_from_memory;
	double bytes_to_memory;	     /* of these, what is written and so goes back */
	double bytes_past_caches;    /* by non-temporal stores; not among these */
	double arithmetic_intensity; /* FLOP per byte loaded or stored; NaN without memory */
};

/** Accesses of one array that share cache lines. */
struct sn_stream {
	const struct sn_access *first;
	enum sn_stride_kind kind;
	/* new lines of a pass that each cost an access, as no two passes (elements) share one; 0:
	 * it is counted in bytes */
	double lines;
	double new_bytes; /* whole lines for the above */
	bool is_read, is_written, is_prefetched;
	bool is_past_caches; /* written by non-temporal stores */
};

struct sn_streams {
	const struct sn_accesses *accesses; /* with irregular ones found */
	struct sn_stream *items;
	size_t count;
};

/** A non-temporal store, which goes to memory past the caches. */
bool sn_insn_is_past_caches(const struct sn_insn *insn);

/** The streams of a block. As many irregular loads as there are prefetches at irregular addresses
 * count once, with their prefetch. */
struct sn_streams sn_streams_of(const struct sn_cqa_block *block, struct sn_arena *arena);

void sn_cqa_metrics_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
		       const struct sn_streams *streams, struct sn_arena *arena,
		       struct sn_cqa_metrics *out);

/** FP arithmetic: how many elements of how many bytes an instruction computes. False if it does
 *  not (moves, shuffles, logic, conversions, integers). */
struct sn_fp_operation {
	unsigned lanes, element_bytes;
	double flops;
	enum {
		SN_FP_ADD,
		SN_FP_MUL,
		SN_FP_FMA,
		SN_FP_DIV,
		SN_FP_SQRT,
		SN_FP_RCP,
		SN_FP_RSQRT,
		SN_FP_OTHER
	} kind;
};
bool sn_fp_operation_of(const struct sn_insn *insn, struct sn_fp_operation *out);

/** Whether the last letters of a mnemonic say packed ("movaps"). */
bool sn_name_is_packed(const char *name);

/** Fills `vectorization`; a part of sn_cqa_metrics_of. */
void sn_vectorization_of(const struct sn_machine *machine, const struct sn_cqa_block *block,
			 struct sn_arena *arena, struct sn_cqa_metrics *out);

enum sn_stride_kind sn_stride_kind_of(const struct sn_access *access);

#endif
