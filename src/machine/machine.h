/**
 * What a microarchitecture does with an instruction: micro-operations, units, latency, and the
 * rules that no table holds (widths, fusion, idioms, stack engine, memory latencies).
 *
 * The tables are data/machines/NAME.tsv, derived from LLVM's scheduling models, then an overlay of
 * measured or published corrections (NAME.overlay.tsv, or that of the family). They are embedded in
 * the program and parsed on first use; a machine lives until the program ends. Not thread-safe on
 * first use.
 */
#ifndef SN_MACHINE_MACHINE_H
#define SN_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "machine/form.h"

enum { SN_ROW_SETS_MAX = 8, SN_UNITS_MAX = 32 };

/** `count` micro-operations, each executed by any one of `units` (a bit mask). */
struct sn_unit_set {
	uint32_t units;
	float count;
};

struct sn_row {
	sn_form form;
	float uops;	      /* before micro-fusion, as the table says */
	float latency;	      /* from the last operand to the result, memory form: load included */
	float divider_cycles; /* that the unpipelined divider is held */
	bool loads, stores;
	uint8_t set_count;
	struct sn_unit_set sets[SN_ROW_SETS_MAX];
};

enum sn_vendor { SN_VENDOR_INTEL, SN_VENDOR_AMD };

/** What the closing or inner branch may fuse with. */
enum sn_fusion {
	SN_FUSION_INTEL,    /* cmp test add sub and inc dec, by condition */
	SN_FUSION_CMP_TEST, /* Zen 2: cmp and test */
	SN_FUSION_ALU,	    /* Zen 3 on: also add sub and or xor inc dec */
};

/** What a chain's step is, and what runs beside it (cqa/core/chain_delay.c). */
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

/** By how many cycles operations of a kind delay a step of a chain that has nothing to do with
 *  them: each, and at most. */
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

/** Rules of a core. Latencies in cycles; widths in micro-operations a cycle. */
struct sn_rules {
	enum sn_vendor vendor;
	enum sn_fusion fusion;
	unsigned issue_width;
	unsigned vector_issue_width;	  /* of which on vector registers; 0: no such limit */
	float vector_issue_several_lines; /* the same on average, in loops of more than a line */
	float mmx_issue_width;		  /* of which on MMX registers; 0: no such limit */
	bool spares_last_place;	    /* of those issued together the last is no load or store */
	unsigned op_cache_width;    /* DSB on Intel */
	bool op_cache_whole_cycles; /* it delivers nothing of a pass with the end of the last */
	/* what it holds for so many bytes of code; more is decoded each time (Intel) */
	unsigned op_cache_window_bytes, op_cache_window_uops;
	unsigned decode_width;
	unsigned op_cache_line_bytes; /* code covered by one look-up of the op cache; 0: no such
					 bound */
	unsigned op_cache_entry_ops;  /* macro-operations an entry holds; two entries a cycle */
	unsigned predecode_bytes, predecode_width; /* 0: instructions are delimited without limit */
	unsigned loop_buffer_uops;		   /* LSD; 0: none or switched off */
	bool jcc_erratum; /* a jump that touches a 32-byte boundary leaves the op cache */
	bool slow_lea;	  /* three-term lea has latency 3 */
	bool unlaminates; /* indexed memory operands of three-operand forms split at issue */
	bool caches_updates_split; /* an update of memory with an index is split before the op cache
				    */
	bool eliminates_gpr_moves, eliminates_vector_moves;
	bool popcnt_reads_destination;
	bool compress_reads_destination; /* compressions and expansions, zero masks included */
	const struct sn_chain_delays *chain_delays; /* NULL: not known */
	bool fast_carry_rotates;	/* rcl and rcr by one are one operation of a cycle */
	bool simple_store_address_unit; /* one store-address unit takes no index (port 7) */
	float load_latency;		/* general register, general address */
	float load_latency_simple;	/* base produced by a load, 0 <= displacement < 2048 */
	float vector_load_latency[3];	/* 16, 32, 64 bytes */
	float forward_latency;		/* store to load, general registers */
	float forward_latency_narrow;	/* of less than four bytes, on cores that rename memory */
	float forward_latency_vector;
	float forward_latency_512;	 /* of 64 bytes; 0: as other vectors */
	float forward_latency_to_vector; /* general register stored, vector loaded; 0: as vectors */
	float forward_stall;		 /* the load spans more than the store */
	float rmw_forward_latency;	 /* memory to itself through read-modify-write */
	float scaled_index_latency;	 /* added to a load whose index is scaled */
	bool forwards_additions;     /* an FP addition hands its result to another a cycle early */
	int8_t two_flag_move_cycles; /* cmov whose condition looks at several flags: added */
	int8_t carry_move_cycles;    /* cmov that looks at the carry and another flag: added */
	int8_t wide_mask_cycles;     /* from a mask to a 512-bit operation: added */
	bool early_lea_index; /* of three terms: the index is needed a cycle after the base */
	bool joins_halves; /* movlps, movhps right behind: the register's old value is not read */
	bool high_half_is_late; /* of a product: a cycle after the low half */
	bool fuses_moves;	/* a register copy and the operation on the copy that follows it */
	bool caches_doubles; /* an instruction of two operations takes one place of the op cache */
	bool renames_same_address;  /* the same only if both name the same registers and
				       displacement,  four bytes or more; it is there at once */
	float insert_merge_latency; /* pinsr: from the vector; 0: as its row says */
	float gather_merge_latency; /* gathers: from the target's old value; 0: as their rows say */
	float rmw_register_latency; /* as rmw_forward_latency, if a register is added to it; 0: the
				       same */
	bool renames_memory;	 /* a load at the same registers and displacement takes the store's
				    register */
	bool commits_by_line;	 /* two stores a cycle only if they go to one 64-byte line */
	bool commits_neighbours; /* the same, and only if one follows the other in the program */
	bool adds_constants_at_rename; /* lea of a 64-bit register plus displacement needs no unit
					*/
	float scaled_lea_latency;      /* of lea with a scaled index; 0: as its row says */
	unsigned loads_per_cycle, stores_per_cycle;
	float past_caches_bytes_per_cycle;	 /* of non-temporal stores; 0: not known */
	const struct sn_slow_order *slow_orders; /* NULL: none is known */
	bool wide_vectors_close_port_1; /* while 512-bit operations are in flight, to vectors */
	bool alternates_address_units;	/* two pairs in turn for loads and stores, vector loads
					   only in the first; false: only their own units limit them
					 */
	float taken_branch_cycles;	/* least cycles of a loop's iteration */
	float taken_branch_alu_uops; /* work of the integer units that is lost with a taken branch
				      */
	/* What of an integer unit's cycle an operation costs that any of them can execute (0: 1,
	   and nothing of what follows), the same in loops of
	   more than a line of code, what one of `alu_long_cycles` or more costs besides its own
	   units, and what loads and stores of general registers cost. */
	float alu_share, alu_share_several_lines, alu_share_long, alu_share_load, alu_share_store,
		alu_long_cycles;
	float vector_share; /* what of a vector unit's cycle an operation costs where others may go
			       to some of its units only; 0: 1 */
	/* Of two such bounds the longer is taken times (1 + (shorter/longer)^this)^(1/this); 0:
	   as it is. */
	float meeting_exponent;
	unsigned vector_bytes;		       /* widest register */
	unsigned scheduler_uops, reorder_uops; /* out-of-order window */
	/* Places in the schedulers of integer operations, of loads and stores, and of vector
	   operations, which wait for one in a queue of their own; 0: not known. */
	unsigned general_scheduler_uops, address_scheduler_uops, vector_scheduler_uops,
		vector_queue_uops;
	/* that an operation keeps its place besides waiting */
	unsigned general_hold_cycles, load_hold_cycles, store_hold_cycles, vector_hold_cycles;
};

struct sn_machine {
	const char *name; /* as in --arch */
	const char *title;
	struct sn_rules rules;
	const char *unit_names[SN_UNITS_MAX];
	unsigned unit_count;
	uint32_t load_units, vector_load_units, store_address_units, store_data_units, alu_units,
		vector_units, branch_units, taken_branch_units;
	SN_VEC(struct sn_row) rows;
	struct sn_map by_form;	   /* form -> index + 1 */
	struct sn_map by_mnemonic; /* mnemonic -> index + 1 of its first row */
};

/** `name` as in --arch, in either case, or as compilers' -march has it (znver4); "native" asks
 * CPUID, and takes what 'sonde calibrate' wrote into account. SN_ERR_USAGE for an unknown name,
 * SN_ERR_UNSUPPORTED if the machine we stand on has no model (the sentence names it). */
sn_status sn_machine_find(const char *name, const struct sn_machine **out, struct sn_error *err);

/** "haswell, skylake, ..." */
const char *sn_machine_names(void);

/** The model that fits the processor we run on by CPUID, or NULL. */
const char *sn_machine_processor_name(void);
/** What --arch native means: the processor's, unless SONDE_NATIVE_ARCH in the environment stands in
 * for it: a name as in --arch where the program will run on other machines than this one, or "none"
 * for a processor without a model. The name may be unknown: sn_machine_find says so. */
const char *sn_machine_native_name(void);
/** What /proc/cpuinfo calls the first processor; "" if it does not say. */
void sn_machine_host_model(char *out, size_t room);

/** The row of a form. A form that the table lacks gets the nearest one (other mask, broadcast,
 *  width; then any of the mnemonic; then a plain one-cycle operation) and `*is_estimated`. */
const struct sn_row *sn_machine_row(const struct sn_machine *machine, sn_form form,
				    bool *is_estimated);

/** The exact row or NULL. */
const struct sn_row *sn_machine_row_exact(const struct sn_machine *machine, sn_form form);

/** Adds or replaces rows from overlay text (same format as the tables; "=" keeps a field). */
sn_status sn_machine_overlay(struct sn_machine *machine, const char *text, size_t length,
			     const char *source, struct sn_error *err);

/** "0+1+5" style text of a unit mask, by the machine's names; `buffer` of at least 256. */
const char *sn_units_print(const struct sn_machine *machine, uint32_t units, char *buffer);
/** The same with rows of three and more as one: "alu0-5+store0+store1". */
const char *sn_units_print_short(const struct sn_machine *machine, uint32_t units, char *buffer);

#endif
