/**
 * The loops of a binary that a user named, one after the other.
 */
#ifndef SN_CQA_LOOP_VISIT_H
#define SN_CQA_LOOP_VISIT_H

#include "cqa/loop/module.h"
#include "cqa/loop/summary.h"

/** The loops that the user asked for: --function, --loop. Texts are borrowed. */
struct sn_loop_choice {
	const char *function;
	const char *loop;
	const char *file; /* of "file:line", else NULL */
	size_t file_length;
	unsigned line;
	bool is_whole; /* `loop` is an id or label, not the beginning of an id */
	/* "0x1a0" in the place of a name: link addresses in code that is meant */
	bool has_function_addr, has_loop_addr;
	uint64_t function_link_addr, loop_link_addr;
};

/** `function` and `loop` as the user wrote them; NULL: not given. SN_ERR_USAGE for a name that is
 * empty. */
sn_status sn_loop_choice_read(const char *function, const char *loop, struct sn_loop_choice *out,
			      struct sn_error *err);

struct sn_loop_visit {
	const struct sn_machine *machine;
	struct sn_bandwidths bandwidths;
	const struct sn_loop_choice *choice;
	/* the result is freed after it */
	void (*each)(struct sn_loop_visit *visit, const struct sn_cqa_unit *unit,
		     struct sn_cqa_loop *result);
	void *context;
	struct sn_cqa_summary summary;
};

/** Analyses the chosen loops of a module; without a choice all innermost ones. */
void sn_loop_visit_module(struct sn_loop_visit *visit, struct sn_cqa_module *module);

/** Says on standard error what of the module could not be read. */
void sn_loop_visit_warn(const struct sn_cqa_module *module);

/** Finds what --loop means: an id of one loop, whole or in part, or a line, which may be several
 * loops of the code. SN_ERR_USAGE names the loops if the id begins several. `count` receives how
 * many loops will be visited; without --loop 0. */
sn_status sn_loop_choice_settle(struct sn_loop_choice *choice, struct sn_cqa_module *module,
				size_t *count, struct sn_error *err);

#endif
