/**
 * A loop from the inside: its blocks and the paths through them. loop_paths.c finds them, loop.c
 * estimates them.
 */
#ifndef SN_CQA_LOOP_PARTS_H
#define SN_CQA_LOOP_PARTS_H

#include "base/vec.h"
#include "cqa/loop/loop.h"

enum { LOOP_BLOCKS_MAX = 4096 };

/* The blocks of a loop, those of loops in it left out. Blocks go by their numbers in the function.
 */
struct loop_body {
	const struct sn_loop *loop;
	uint32_t header;		  /* UINT32_MAX: it was not decoded */
	uint32_t block_count;		  /* above LOOP_BLOCKS_MAX: more than `blocks` holds */
	uint32_t blocks[LOOP_BLOCKS_MAX]; /* ascending */
};

/* Ways from the header back to it. */
struct loop_paths {
	SN_VEC(uint32_t) blocks; /* of all paths, one behind the other */
	uint32_t ends[SN_CQA_PATHS_MAX];
	uint32_t count;
	bool overflows; /* too many, or too many steps to find them: those above are of no use */
	bool has_any;	/* some way leads round; of a loop that is innermost and natural only */
	bool is_pruned; /* those through cold blocks are left out */
	uint64_t total; /* with those left out, as sn_cqa_loop.path_total */
};

/** Fills a body. A body with more than LOOP_BLOCKS_MAX blocks cannot be used further. */
void sn_loop_body_find(const struct sn_loop *loop, struct loop_body *out);

/** The index in `blocks` of a block of the function; UINT32_MAX: it is not in the body. */
uint32_t sn_loop_body_place(const struct loop_body *body, uint32_t block);

/** How often each block runs in a pass (`frequency`: [block_count], cleared before) if every branch
 * that stays in the loop goes either way alike and exits are rare. Returns the number of jumps that
 * are taken in a pass. */
double sn_loop_body_frequencies(const struct loop_body *body, double *frequency);

/** The paths of an innermost, natural loop; none of any other. Where they are too many, only those
 * through blocks in which time was observed (`heat`, may be NULL), if that makes them few enough.
 * The caller frees `out->blocks`. */
void sn_loop_paths_find(const struct loop_body *body, const struct sn_heat *heat, size_t heat_count,
			struct loop_paths *out);

#endif
