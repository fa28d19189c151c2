/**
 * The collector of loop instances, and the state of its patches: set by the constructor, the same in
 * every child of a fork.
 */
#ifndef SN_RUNTIME_PATCH_PATCH_H
#define SN_RUNTIME_PATCH_PATCH_H

#include "runtime/core/collector.h"
#include "wire/instances.h"
#include "wire/plan.h"

enum { SN_PATCH_MODULES_MAX = 64 };

/** A module whose loops run as copies. */
struct sn_patched_module {
	struct sn_plan plan;
	uint64_t load_bias;
	uint64_t code; /* where the copies are */
	uint32_t first_loop;
};

struct sn_patched_loop {
	uint64_t header_load_addr;
	int64_t step;	/* 0: iterations are counted one by one */
	uint32_t stack; /* of the header, in this image's file */
};

struct sn_patches {
	struct sn_patched_module modules[SN_PATCH_MODULES_MAX];
	struct sn_patched_loop loops[SN_PLAN_LOOPS_MAX];
	uint32_t module_count, loop_count;
	uint32_t every;		/* one in so many instances is timed; 0: found while running */
	uint64_t timing_cycles; /* between the two readings of the counter, without a loop */
};

extern struct sn_patches sn_patches;
extern struct sn_collector sn_patch_collector;

/** This thread's slots, by the loop's index; NULL: nothing is measured. The copies read it. */
extern __thread struct sn_plan_slot *sn_patch_table __attribute__((tls_model("initial-exec")));

/** setup_patch.c: after the main thread has begun. */
void sn_patch_setup(void);

/* counts_handler.c: called by the copies */
uint64_t sn_patch_first(uint64_t loop);
void sn_patch_begin(struct sn_record_instances *record, uint64_t stack_pointer);
void sn_patch_end(struct sn_record_instances *record, uint64_t stack_pointer);

#endif
