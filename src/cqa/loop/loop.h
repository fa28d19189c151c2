/**
 * The static quality of a loop of a binary. For each path through it: cycles of a pass, what limits
 * them, what they would be if the code were cleaned or vectorized, and its metrics.
 *
 * Cycles are core cycles for one pass over the machine code's body (which may be several source
 * iterations: see sn_loop.unroll). Speed-ups are ratios of time for the same source work.
 */
#ifndef SN_CQA_LOOP_H
#define SN_CQA_LOOP_H

#include "code/structure.h"
#include "cqa/core/cqa.h"
#include "cqa/block/metrics.h"
#include "machine/bandwidth.h"

enum { SN_CQA_PATHS_MAX = 8, SN_CQA_PATHS_COUNTED = 1000000000 };

enum sn_variant {
	SN_VARIANT_CLEAN,	  /* only FP arithmetic, FP memory and moves, and loop control */
	SN_VARIANT_FP_VECTOR,	  /* FP arithmetic at full width, memory still scalar */
	SN_VARIANT_FULL_VECTOR,	  /* memory too, where the stride allows */
	SN_VARIANT_NO_DEPENDENCE, /* without the loop-carried dependence */
	SN_VARIANT_NEXT,	  /* without the first bottleneck */
	SN_VARIANT_COUNT
};

/** "clean", "fp_vector", "full_vector", "no_dependence", "next_bottleneck". */
extern const char *const sn_variant_names[SN_VARIANT_COUNT];

struct sn_cqa_variant {
	bool is_applicable; /* false: nothing to change, or not an FP loop */
	double cycles;	    /* for the work of one pass of the original */
	double speedup;	    /* original / variant, at least 1 */
	double ram_speedup; /* of the loop, where data come from RAM and its bandwidth stays */
};

/** A loop of integers on vectors. How wide its elements have to be is not seen in its code: as wide as the registers
 * that hold them, or at best as wide as they lie in memory. */
struct sn_integer_vectors {
	struct sn_cqa_variant as_computed, as_stored; /* applicable: both */
	const char *reason; /* why not (static); NULL: they are, or there is no question of it */
};

enum sn_level { SN_LEVEL_L1, SN_LEVEL_L2, SN_LEVEL_L3, SN_LEVEL_RAM, SN_LEVEL_COUNT };

struct sn_cqa_path {
	struct sn_cqa_block block; /* in the result's arena */
	struct sn_cqa_estimate estimate;
	struct sn_cqa_metrics metrics;
	struct sn_cqa_variant variants[SN_VARIANT_COUNT];
	struct sn_cqa_variant without_conversions; /* between floating-point types */
	struct sn_integer_vectors integer_vectors;
	double contiguous_ram_cycles; /* a pass from RAM, if accesses with a stride went to neighbours */
	double level_cycles[SN_LEVEL_COUNT];
	double moved_cycles[SN_LEVEL_COUNT]; /* that the level alone asks for: bandwidth, and
						latency on the loop-carried dependence */
	/* of a pass from RAM, as few passes fit into the core while their loads are on their way */
	double window_ram_cycles;
	/* of a pass, that wait for those of the pass before: a list that is followed */
	unsigned loads_on_chain;
	bool is_expectation; /* of a union: each instruction counts by the passes that run it */
	double taken_jumps;  /* a pass, of an expectation */
	unsigned widening;   /* passes that one of the vector variants covers; 0: none */
	unsigned widening_of_machine; /* and would, if the loop did not end before */
	bool sets_errno;	      /* only calls sqrt where another path has the instruction */
	double weight; /* passes that take it, of all passes; a guess until weighed */
	double weight_low, weight_high; /* what samples leave of it; weighed loops only */
	struct sn_chain chain;	 /* with members; of latencies that matter (above 1.5 cycles) */
	bool chain_is_reduction; /* an FP sum, product, minimum or maximum in a register */
	bool chain_is_leftover;	 /* the old target of a gather: no dependence of the source */
	bool chain_is_reset;	 /* a sum that another path begins anew: a recurrence */
	/* another dependence through a register that no reordering breaks */
	bool chain_is_recurrence;
	/* [block.count] those on recurrences through general registers; NULL: there is none */
	bool *on_integer_recurrence;
	double recurrence_cycles; /* the longest recurrence beside a longer chain that is none */
	double register_chain_cycles; /* what its arithmetic alone takes a pass */
	bool chain_is_through_memory; /* a recurrence: its values are stored or go through memory */
};

struct sn_cqa_loop {
	const struct sn_loop *loop; /* borrowed, like the machine */
	const struct sn_machine *machine;
	struct sn_arena arena;	  /* owns the paths */
	const char *not_analysed; /* why, or NULL; then there are no paths */
	const char *options;  /* what tells how it was compiled (sn_function_options); or NULL */
	bool takes_c_options; /* of its compiler: advice names them */
	uint32_t path_count;  /* analysed; 1 for a union */
	uint64_t path_total;  /* through the body, at most SN_CQA_PATHS_COUNTED; 0: not a natural
				 innermost loop */
	bool is_union;	      /* too many paths: one estimate over all blocks */
	bool is_pruned;	      /* too many paths: those through cold blocks are left out */
	bool has_calls;
	bool calls_many;    /* more than one function */
	bool has_root;	    /* a square root is among its instructions */
	const char *callee; /* the one function that is called ("sqrt@plt"), of the structure; NULL:
			       none, several, or not known */
	struct sn_cqa_path *paths;
	/* all paths as one body, as vectors would run it; NULL: one path, or no FP work */
	struct sn_cqa_path *merged;
	bool is_weighed;      /* by samples (sn_cqa_loop_weigh) */
	double missed_cycles; /* that mispredicted branches add to a pass, by the samples; 0: not
				 known or none */
	uint32_t main_path;   /* that most time goes to, by the weights */
	/* over the paths, by their weights */
	double cycles, cycles_min, cycles_max;
	double level_cycles[SN_LEVEL_COUNT];
	/* that RAM alone asks for, and waiting for loads that no variant is known to shorten */
	double ram_kept_cycles;
	/* range over the paths */
	double level_least[SN_LEVEL_COUNT], level_most[SN_LEVEL_COUNT];
	double bound_least[SN_BOUND_COUNT], bound_most[SN_BOUND_COUNT];
	struct sn_cqa_variant variants[SN_VARIANT_COUNT];
	enum sn_bound bottleneck; /* of the main path */
	size_t estimated_instructions, undecoded_bytes;
	unsigned lacked_extensions; /* bits of cqa/block/extensions.h: it needs them, the machine
				       lacks them */
};

/** Bandwidth and latency that a core gets from each level of memory (of L1 only the latency is
 * used). They are what 'sonde calibrate' wrote for this kind of machine, else usual values. */
struct sn_bandwidths {
	double bytes_per_cycle[SN_LEVEL_COUNT]; /* of lines that are only read */
	/* of lines that are fetched, then written */
	double written_bytes_per_cycle[SN_LEVEL_COUNT];
	/* an independent access of a line of its own: at the strides that are measured
	   (sn_memory_strides_bytes), and in random order */
	double stride_cycles[SN_LEVEL_COUNT][SN_MEMORY_STRIDES];
	double random_cycles[SN_LEVEL_COUNT];
	double latency_cycles[SN_LEVEL_COUNT];
	/* of non-temporal stores, which go to memory, to lines that are in the level (L1 too) */
	double past_caches_bytes_per_cycle[SN_LEVEL_COUNT];
};
struct sn_bandwidths sn_bandwidths_of(const struct sn_machine *machine);

/** Time observed at an instruction. */
struct sn_heat {
	uint64_t link_addr;
	double weight;
};
/**
 * Analyses one loop, whose function must be prepared (SN_PREPARE_CODE). Blocks of nested loops are
 * left out. Never fails: what cannot be analysed says why. Free with sn_cqa_loop_free.
 *
 * An innermost loop may have too many paths. Then only those are looked at that go through blocks
 * in which time was observed (`heat`, may be NULL), if that makes them few enough. Else all blocks
 * are taken together, each weighted by the share of passes that run it if branches go either way
 * alike.
 */
void sn_cqa_loop_analyse(const struct sn_machine *machine, const struct sn_structure *structure,
			 const struct sn_loop *loop, const struct sn_bandwidths *bandwidths,
			 const struct sn_heat *heat, size_t heat_count, struct sn_cqa_loop *out);
void sn_cqa_loop_free(struct sn_cqa_loop *result);

/** Useful options it was compiled without, as bits (code/options.h). */
unsigned sn_cqa_missing_options(const struct sn_cqa_loop *result);

/** The option that puts an instruction in the place of what the loop calls ("-fno-math-errno" of
 * sqrt), a static string. NULL: there is none, or the code was compiled with it. */
const char *sn_cqa_option_for_call(const struct sn_cqa_loop *result);

/** Whether a function of this name ("sqrtf@plt") is a square root. */
bool sn_cqa_is_root(const char *function);

/** Weighs the paths by where time was observed (in any order; what lies on no path is ignored). The
 * result is the most likely shares of the paths and of mispredicted branches, given where a simple
 * core shows the time of each (docs/method/whatif.md, Paths). A union has no paths to weigh. Loops
 * with very many branches are not weighed. */
void sn_cqa_loop_weigh(struct sn_cqa_loop *result, const struct sn_heat *heat, size_t count);

/** The number of places in a prepared function (SN_PREPARE_CODE) where code goes on into bytes that
 * the decoder does not know (APX, say). What follows, loops through it included, is not seen. */
size_t sn_cqa_undecoded_places(const struct sn_structure *structure,
			       const struct sn_function *function);

/** Frees the instructions' memory. Of `paths` only the main one stays, without its block;
 * path_count is left as it was. Texts of advice that were made before are freed, too. */
void sn_cqa_loop_shrink(struct sn_cqa_loop *result);

/** All paths as one body, as vectors would run it (merge.c); false if there is none. */
bool sn_cqa_merge(const struct sn_cqa_loop *result, struct sn_arena *arena,
		  struct sn_cqa_block *out);

/** Whether a loop-carried dependence (with members, through registers) is a reduction, which may be
 * kept in parts: a sum, a product, a minimum or a maximum that only its own next step reads. */
bool sn_cqa_chain_is_reduction(const struct sn_cqa_block *block, const struct sn_chain *chain);
/** Whether the dependence exists in the core only: nothing goes from pass to pass but what gathers
 * merge into, that is the old value of the register that they fill. The source does not know of it. */
bool sn_cqa_chain_is_leftover(const struct sn_cqa_block *block, const struct sn_chain *chain);
/** Whether the dependence is a recurrence: the loop follows a list, or the dependence goes through
 * registers and its order cannot change. */
bool sn_cqa_chain_is_recurrence(const struct sn_cqa_block *block, const struct sn_chain *chain);
/** Whether the dependence (with members) is a recurrence of integers: it goes through general
 * registers alone, and is neither an induction (the register plus what does not change) nor a
 * reduction of integers. Reductions are sums, products, minima, maxima, unions and differences of
 * bits that take something in each step and that nothing else reads. */
bool sn_cqa_chain_is_integer_recurrence(const struct sn_cqa_block *block,
					const struct sn_chain *chain);

/** Whether a value of the chain is stored in every pass. Then it is a recurrence, not a sum that is
 * wanted at the end. */
bool sn_cqa_chain_is_stored(const struct sn_cqa_block *block, const struct sn_chain *chain);
/** Whether the sum survives another path of the loop: that path continues it, or leaves it alone. */
bool sn_cqa_chain_survives(const struct sn_cqa_block *block, const struct sn_chain *chain,
			   const struct sn_cqa_block *other);
/** Cycles that a pass of the longest recurrence takes; 0: there is none that is noticed. `longest`
 * is the longest chain; longer chains that are no recurrence are left out. Marks the instructions
 * on recurrences of integers in `on_integers` ([block->count], may be NULL). */
#define SN_CHAIN_NOTICED 1.5 /* cycles (chosen): more than a counter */
double sn_cqa_recurrence_cycles(const struct sn_machine *machine, const struct sn_cqa_block *block,
				const struct sn_chain *longest, struct sn_arena *arena,
				bool *on_integers);

/** Finds the paths that call sqrt for numbers without a root, so that errno is set. Hardly any pass
 * runs them, and vectors leave them out. They are put behind the others. */
void sn_cqa_find_errno_paths(struct sn_cqa_loop *result);
/** The number of first paths that were taken. These are all paths, but the ones for errno are left
 * out if no time was seen in code that they alone run. */
uint32_t sn_cqa_taken_paths(const struct sn_cqa_loop *result, const struct sn_heat *heat,
			    size_t count);

/** Guesses the shares of paths that no run has weighed: all alike. Paths with calls have half of
 * the others' share. Paths through code that was split off as cold, and those for errno, have
 * hardly any. */
void sn_cqa_guess_weights(struct sn_cqa_loop *result);
bool sn_cqa_weights_are_alike(const struct sn_cqa_loop *result);

/** The time of passes that alternate by the paths' weights, over the mean of what each path takes
 * when it alone is repeated. 1 with one path. */
double sn_cqa_mix_factor(const struct sn_cqa_loop *loop);

/** The speed-up that is left of a change if all data come from RAM. `speedup` is that with data in
 * L1. What RAM alone asks for stays: bandwidth, and the latency of loads on the loop-carried
 * dependence (docs/method/whatif.md). From 1 to `speedup`; NaN for NaN. */
double sn_cqa_sure_speedup(const struct sn_cqa_loop *loop, double speedup);

/** "1.40x", or "1.01 to 1.40x" where the two differ in print. */
enum { SN_SPEEDUP_TEXT = 64 }; /* (room) */
const char *sn_speedup_print(double low, double high, char text[SN_SPEEDUP_TEXT]);

/** Sums over the paths by their weights; for loop.c and weights.c. */
void sn_cqa_loop_sum(struct sn_cqa_loop *result);

/** Marks in `is_needed` ([block->count], cleared before) the integer work that FP work cannot do
 * without. That is gathers, addresses that come from memory or from a recurrence (`on_recurrence`,
 * may be NULL), integers that are converted, and what these are computed from. */
void sn_cqa_find_needed(const struct sn_cqa_block *block, const bool *on_recurrence,
			bool *is_needed, struct sn_arena *arena);

/** Cycles of a pass of the main path as DECAN's FP has it: loads and stores gone, but for those that decide where
 * the loop goes on, and operands in memory replaced by registers. NaN: not analysed. */
double sn_cqa_arithmetic_cycles(const struct sn_cqa_loop *result);

/** Estimates the variants of a path; see docs/method/cqa.md. */
void sn_cqa_variants(const struct sn_machine *machine, struct sn_cqa_path *path,
		     struct sn_arena *arena);

#endif
