/**
 * The page of one loop, in parts: each shows one kind of evidence on it.
 *
 * Evidence on loops is an array by their number in the program (struct sn_program), made by the
 * code that gathers it. Evidence from another run finds the number by the loop's id
 * (sn_program_loop_with_id). A new kind is a file that fills such an array and a file here that
 * shows it, with a line in loop.c.
 */
#ifndef SN_VIEWS_LOOP_PARTS_H
#define SN_VIEWS_LOOP_PARTS_H

#include "views/view.h"

struct sn_loop_page {
	const struct sn_view_input *input;
	const struct sn_profile *profile;
	const struct sn_program *program;
	uint32_t number; /* the loop's, in the program */
	const struct sn_program_loop *loop;
	const struct sn_metrics *metrics;
	struct sn_structure *structure; /* of its module; NULL: not at hand */
	const char *experiment;		/* what commands call it */
};

struct sn_loop_part {
	void (*put)(const struct sn_loop_page *page, FILE *out); /* NULL: for tools only */
	/* members of the page's object; NULL: for people only */
	void (*write)(const struct sn_loop_page *page, struct sn_json *json);
};

extern const struct sn_loop_part sn_loop_threads, sn_loop_callers, sn_loop_instances,
	sn_loop_causal, sn_loop_static, sn_loop_variants, sn_loop_evidence_part;

/** A name of the program in print, with what stands before it. */
void sn_loop_put_name(FILE *out, const char *before, const char *name);

#endif
