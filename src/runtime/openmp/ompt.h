/**
 * The part of OpenMP 5.0's tools interface (OMPT, section 4 of the specification) that is used
 * here.
 */
#ifndef SN_RUNTIME_OPENMP_OMPT_H
#define SN_RUNTIME_OPENMP_OMPT_H

#include "runtime/core/runtime.h"

struct sn_region;

union sn_ompt_data { /* ompt_data_t */
	uint64_t value;
	void *pointer;
};

void sn_ompt_parallel_begin(union sn_ompt_data *task, const void *frame,
			    union sn_ompt_data *parallel, unsigned threads, int flags,
			    const void *return_address);
void sn_ompt_parallel_end(union sn_ompt_data *parallel, union sn_ompt_data *task, int flags,
			  const void *return_address);
void sn_ompt_implicit_task(int endpoint, union sn_ompt_data *parallel, union sn_ompt_data *task,
			   unsigned threads, unsigned index, int flags);
/** libomp's text: it has us as its tool. */
void sn_ompt_set_library(uint64_t start, uint64_t end);
bool sn_ompt_has_library(void);
bool sn_ompt_is_in_library(uint64_t pc);
/** Takes the library's own frames out of a stack, of which ours are gone already; see the function.
 *  `region`: that the thread works for, or NULL. */
uint32_t sn_ompt_drop_frames(const struct sn_region *region, uint64_t *pcs, uint32_t count,
			     bool *is_cut);

#endif
