/**
 * The rules of a core: what no table of instruction forms holds. Each is a fact that the model asks
 * for by name. The core's file (machine/cores/) says where it was found.
 *
 * Latencies are in cycles, widths in micro-operations a cycle. 0, false and NULL mean that the core
 * does not do it, or that nothing is known of it.
 */
#ifndef SN_MACHINE_RULES_H
#define SN_MACHINE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/bandwidth.h"

/** Extensions of the instruction set that some cores lack. What all cores have (up to AVX2, FMA and
 * BMI2) is not here. Names of instructions' sets may begin alike: the first that fits counts
 * (cqa/block/extensions.c). */
enum sn_extension {
	SN_EXTENSION_AVX512_FP16,
	SN_EXTENSION_AVX512_BF16,
	SN_EXTENSION_AVX512_VP2INTERSECT,
	SN_EXTENSION_AVX512_VNNI,
	SN_EXTENSION_AVX512_VBMI,
	SN_EXTENSION_AVX512_IFMA,
	SN_EXTENSION_AVX512_BITALG,
	SN_EXTENSION_AVX512_VPOPCNTDQ,
	SN_EXTENSION_AVX512_GFNI,
	SN_EXTENSION_AVX512_VAES,
	SN_EXTENSION_AVX512_VPCLMULQDQ,
	SN_EXTENSION_AVX512ER,
	SN_EXTENSION_AVX512PF,
	SN_EXTENSION_AVX512_4,
	SN_EXTENSION_AVX512,
	SN_EXTENSION_AVX_VNNI,
	SN_EXTENSION_AVX_GFNI,
	SN_EXTENSION_GFNI,
	SN_EXTENSION_VAES,
	SN_EXTENSION_VPCLMULQDQ,
	SN_EXTENSION_SHA,
	SN_EXTENSION_ADOX_ADCX,
	SN_EXTENSION_RDSEED,
	SN_EXTENSION_AMX,
	SN_EXTENSION_FMA4,
	SN_EXTENSION_XOP,
	SN_EXTENSION_TBM,
	SN_EXTENSION_SSE4A,
	SN_EXTENSION_AMD3DNOW,
	SN_EXTENSIONS
};

/** The operations that a conditional branch may fuse with. */
enum sn_fusion {
	SN_FUSION_BY_CONDITION, /* cmp test add sub and inc dec, by what the branch asks for */
	SN_FUSION_CMP_TEST,
	SN_FUSION_ALU, /* cmp test add sub and or xor inc dec */
};

/** Kinds of a chain's steps, and kinds of operations that run beside it (cqa/core/chain_delay.c). */
enum sn_chain_step {
	SN_STEP_INTEGER, /* of one cycle */
	SN_STEP_ADD,	 /* of FP */
	SN_STEP_SELECT,	 /* minimum, maximum, comparison, shift */
	SN_STEP_PRODUCT, /* three cycles */
	SN_STEP_FMA,
	SN_STEP_SHORT, /* vector operations of one cycle */
	SN_STEPS
};
enum sn_chain_beside {
	SN_BESIDE_WIDE_PRODUCT, /* of two general registers */
	SN_BESIDE_TRANSFER,	/* from a general to a vector register */
	SN_BESIDE_CONVERSION,
	SN_BESIDE_ADD,
	SN_BESIDE_SELECT,
	SN_BESIDE_READER, /* of an integer chain of one step: operations but one that wait for it */
	SN_BESIDE_CHAIN,  /* such chains but one, if an operation waits for one of them */
	SN_BESIDES
};

/** The cycles by which operations of a kind delay a step of a chain that does not use them: each of
 * them, and all of them at most. */
struct sn_chain_delays {
	struct {
		float each, most;
	} of[SN_STEPS][SN_BESIDES];
};

/** A loop of so many operations, among them loads into vector registers (L) and stores (S). */
struct sn_slow_order {
	const char *order; /* with the branch; NULL ends the list */
	bool is_turned;	   /* each rotation of it too */
	double cycles;
};

/** Short loops whose vector operations stand too close together. They have `shortest` to `longest`
 * operations; among `row` successive ones there are more vector operations than the vector side
 * takes in a cycle; and there are more other operations than one to `vectors_to_other` of these. */
struct sn_crowded_vectors {
	unsigned shortest, longest, row, vectors_to_other;
	double cycles;
};

/** The cycles that a loop loses which stores, and loads 64 bytes twice or more: with more than two
 * such loads, with two in a loop of at most `few_operations`, and with two in a longer one. */
struct sn_wide_loads {
	double several_cycles, short_cycles, long_cycles;
	unsigned few_operations;
};

/** Where samples of a loop with several paths fall, and how they tell the paths' shares
 *  (cqa/loop/retire.c, weights.c). Divergences are as Kullback and Leibler define them (1951). */
struct sn_sampled {
	unsigned retire_width; /* at which retirement shows; not the width of the hardware */
	/* From when a mispredicted branch is done to the first operation of the right way. */
	unsigned redirect_cycles;
	unsigned first_insns;	/* of a piece of code that is entered at its begin: seen apart */
	double stray_share;	/* of the samples: they may lie anywhere */
	double fair_divergence; /* needs no further explanation */
	/* Mispredictions are believed if with them the divergence is below the first, and smaller by
	   the second as a factor. */
	double poor_divergence, explained_factor;
	double useless_divergence; /* from it on the core explains nothing: shares stay open */
	/* The predictor guesses a way of share p as often as p^this is of the sum for both ways. */
	double predictor_lean;
	double slow_penalty; /* of a guess, in divergence, for e times the cycles */
};

/** Usual values of the memory levels, for where nothing was measured. */
struct sn_usual_memory {
	double latency_cycles[SN_MEMORY_LEVELS];
	double bytes_per_cycle[SN_MEMORY_LEVELS]; /* of lines that are only read */
	/* of lines that are fetched, then written */
	double written_bytes_per_cycle[SN_MEMORY_LEVELS];
	double misses_in_flight;
};

struct sn_rules {
	/* ---- the instruction set ---- */

	unsigned vector_bytes; /* widest register */
	uint32_t lacks;	       /* extensions, a bit each */

	/* ---- what an instruction is ---- */

	enum sn_fusion fusion;
	/* Uops of a load and its operation, and of a store's address and data, travel as one until
	   the renamer; false: an operation is what the row says. */
	bool micro_fuses;
	bool unlaminates; /* indexed memory operands of three-operand forms split at issue */
	/* an update of memory with an index is split before the op cache */
	bool caches_updates_split;
	bool fuses_moves;    /* a register copy and the operation on the copy that follows it */
	bool caches_doubles; /* an instruction of two operations takes one place of the op cache */
	bool eliminates_gpr_moves, eliminates_vector_moves;
	bool eliminates_byte_extensions;   /* movzx of a low byte, with eliminates_gpr_moves */
	bool adds_constants_at_rename;	   /* lea of a 64-bit register plus displacement needs no
						unit */
	bool has_mask_idioms;		   /* kxor and kxnor of one register wait for nothing */
	bool has_borrow_idiom;		   /* sbb of one register reads the carry alone */
	bool compares_quadwords_with_unit; /* pcmpgtq of one register: all others need none */
	bool rows_move_stack_pointer;	   /* rows of push and pop count an operation that the
						stack engine saves */
	bool synchronises_stack_pointer;   /* an explicit use of rsp after push or pop costs one
						operation */
	bool slow_lea;			   /* three-term lea has latency 3 */
	bool fast_carry_rotates;	   /* rcl and rcr by one are one operation of a cycle */
	bool popcnt_reads_destination;
	bool compress_reads_destination; /* compressions and expansions, zero masks included */
	bool knows_zero_upper_parts;	 /* what keeps an upper part waits for it only if something
					    was put there */
	/* A load that keeps a part of its register: from there, general and vector registers. */
	float load_merge_latency, load_merge_latency_vector;
	float conversion_merge_latency; /* of conversions, from the part of a vector register that
					   they keep */
	bool joins_halves; /* movlps, movhps right behind: the register's old value is not read */
	bool high_half_is_late;	  /* of a product: a cycle after the low half */
	bool early_lea_index;	  /* of three terms: the index is needed a cycle after the base */
	float scaled_lea_latency; /* of lea with a scaled index; 0: as its row says */
	int8_t two_flag_move_cycles; /* cmov whose condition looks at several flags: added */
	int8_t carry_move_cycles;    /* cmov that looks at the carry and another flag: added */
	int8_t wide_mask_cycles;     /* from a mask to a 512-bit operation: added */
	float insert_merge_latency;  /* pinsr: from the vector; 0: as its row says */
	float gather_merge_latency; /* gathers: from the target's old value; 0: as their rows say */

	/* ---- front end ---- */

	unsigned predecode_bytes, predecode_width; /* 0: instructions are delimited without limit */
	float length_prefix_cycles; /* that a length-changing prefix holds predecoding up */
	unsigned decode_width;
	unsigned complex_decoder_uops; /* more come from microcode; 0: decoders are all alike */
	unsigned op_cache_width;
	bool op_cache_whole_cycles; /* it delivers nothing of a pass with the end of the last */
	/* What it holds for so many bytes of code; more is decoded each time. A loop within one such
	   window is delivered in whole cycles. 0: no such limit. */
	unsigned op_cache_window_bytes, op_cache_window_uops;
	unsigned op_cache_line_bytes; /* code covered by one look-up; 0: no such bound */
	unsigned op_cache_entry_ops;  /* operations an entry holds */
	/* Entries that a look-up delivers, and cycles in which it delivers more of the same line. */
	unsigned op_cache_entries, op_cache_more_cycles;
	unsigned loop_buffer_uops;   /* 0: none or switched off */
	unsigned loop_buffer_copies; /* of a loop, at most, if it is small */
	bool jcc_erratum;	   /* a jump that touches a 32-byte boundary leaves the op cache */
	float taken_branch_cycles; /* least cycles of a loop's iteration */

	/* ---- issue ---- */

	unsigned issue_width;
	unsigned vector_issue_width;	  /* of which on vector registers; 0: no such limit */
	float vector_issue_several_lines; /* the same on average, in loops of more than a line */
	float mmx_issue_width;		  /* of which on MMX registers; 0: no such limit */
	bool spares_last_place; /* of those issued together the last is no load or store */
	const struct sn_crowded_vectors *crowded_vectors;

	/* ---- latency of memory ---- */

	float load_latency; /* general register, general address */
	/* Base produced by a load, displacement from 0 to below this many bytes. */
	float load_latency_simple;
	int32_t simple_displacement_bytes;
	float scaled_index_latency;   /* added to a load whose index is scaled */
	float vector_load_latency[3]; /* 16, 32, 64 bytes */
	float forward_latency;	      /* store to load, general registers */
	float forward_latency_narrow; /* of less than `renamed_bytes_least`, if memory is renamed */
	float forward_latency_vector;
	float forward_latency_512;	 /* of 64 bytes; 0: as other vectors */
	float forward_latency_to_vector; /* general register stored, vector loaded; 0: as vectors */
	float forward_stall;		 /* the load spans more than the store */
	float rmw_forward_latency;	 /* memory to itself through read-modify-write */
	float rmw_register_latency;	 /* the same, if a register is added to it; 0: the same */
	bool renames_memory;		 /* a load at the same registers and displacement takes the
				       store's register */
	bool renames_same_address;	 /* the same only if both name the same registers and
				       displacement; it is there at once */
	unsigned renamed_bytes_least;	 /* of either */

	/* ---- latency between operations ---- */

	bool forwards_additions; /* an FP addition hands its result to another a cycle early */
	const struct sn_chain_delays *chain_delays;

	/* ---- units ---- */

	const char *taken_branch_unit; /* the only one for taken branches; NULL: all for branches */
	/* work of the integer units that is lost with a taken branch */
	float taken_branch_alu_uops;
	/* Units, by their numbers in the table, that take no vector operation while 512-bit ones are
	   in flight. */
	uint32_t closed_by_wide_vectors;
	/* The cost of an integer operation that any integer unit can execute, in cycles of a unit
	 * (0: 1, and none of the next five counts). Then: the same in loops of more than a line of
	 * code; what an operation of `alu_long_cycles` or more costs besides its own units; what a
	 * load and a store of a general register cost. */
	float alu_share, alu_share_several_lines, alu_share_long, alu_share_load, alu_share_store,
		alu_long_cycles;
	float vector_share; /* what of a vector unit's cycle an operation costs where others may go
			       to some of its units only; 0: 1 */
	/* Of two such bounds the longer is taken times (1 + (shorter/longer)^this)^(1/this); 0:
	   as it is. */
	float meeting_exponent;
	double meeting_noticed; /* times all bounds, from which on that counts */

	/* ---- loads and stores ---- */

	unsigned loads_per_cycle, stores_per_cycle;
	bool simple_store_address_unit; /* one store-address unit takes no index */
	bool alternates_address_units;	/* two pairs in turn for loads and stores, vector loads
					   only in the first; false: only their own units limit them
					 */
	const struct sn_slow_order *slow_orders;
	const struct sn_wide_loads *wide_loads;
	/* Two stores leave in a cycle only if they go to one 64-byte line, and no more than this
	   many lines are gathered at a time; 0: no such limit. */
	unsigned gathered_lines;
	/* So wide a store at an unknown stride goes to another line each pass. */
	unsigned leaping_bytes;
	bool commits_neighbours; /* two stores leave in a cycle only if they go to one line and one
				    follows the other in the program */
	float past_caches_bytes_per_cycle; /* of non-temporal stores */
	const struct sn_usual_memory *usual_memory;

	/* ---- out of order ---- */

	unsigned scheduler_uops, reorder_uops;
	/* Places in the schedulers of integer operations, of loads and stores, and of vector
	   operations, which wait for one in a queue of their own; 0: not known. */
	unsigned general_scheduler_uops, address_scheduler_uops, vector_scheduler_uops,
		vector_queue_uops;
	unsigned
		microcode_portion_uops; /* of one instruction, so many wait in a scheduler at a time */
	/* that an operation keeps its place besides waiting */
	unsigned general_hold_cycles, load_hold_cycles, store_hold_cycles, vector_hold_cycles;

	/* For the window (cqa/core/window.c). First: by how many cycles a latency that was measured
	 * in whole cycles may be too long. Then: how full a buffer must get for passes to be put
	 * through it. Last: the result counts from so many times all bounds on. */
	double latency_excess_cycles, window_filled_share, window_noticed;

	/* ---- where samples fall ---- */

	const struct sn_sampled *sampled;
};

#endif
