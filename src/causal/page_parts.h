/** What the files share that fill a control page: code as ranges of addresses, and modules by build-id. */
#ifndef SN_CAUSAL_PAGE_PARTS_H
#define SN_CAUSAL_PAGE_PARTS_H

#include "base/vec.h"
#include "code/structure.h"
#include "wire/causal.h"

/** Half-open ranges of one module. The owner frees `ranges`. */
struct sn_causal_code {
	uint32_t module; /* of the experiment */
	SN_VEC(struct sn_range) ranges;
};

/** The blocks of a loop without those of loops within: its exclusive code. */
void sn_causal_code_of_loop(const struct sn_loop *loop, struct sn_causal_code *code);
void sn_causal_code_of_function(const struct sn_function *function, struct sn_causal_code *code);

/** Of a build-id in hex. False: it is none ('h...': a hash of the file, which processes do not know). */
bool sn_causal_module_of(const char *build_id, struct sn_causal_module *out);
bool sn_causal_modules_are_equal(const struct sn_causal_module *a,
				 const struct sn_causal_module *b);

#endif
