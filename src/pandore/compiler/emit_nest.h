/**
 * Writing an optimised nest: emit_nest.c its loops, emit_moves.c its messages.
 */
#ifndef SN_PANDORE_COMPILER_EMIT_NEST_H
#define SN_PANDORE_COMPILER_EMIT_NEST_H

#include "pandore/compiler/emit.h"
#include "pandore/compiler/nest.h"

struct sn_nest_emitter {
	struct sn_pnd_emitter *em;
	struct sn_nest *nest;
	int number;	 /* of the nest in the program */
	bool is_guarded; /* only the owner of what is assigned comes here */
};

/* Ranges of counters that are not loops' own: of a span or a strip, as texts. */
struct sn_fixed_range {
	int loop;
	const char *low, *high;
};

const char *sn_nest_base_text(struct sn_nest_emitter *ne, const struct sn_affine *a, int depth);
/** The owner of an assignment's target, decided by counters of loops down to `depth`. */
const char *sn_nest_owner_text(struct sn_nest_emitter *ne, const struct sn_nest_assign *a,
			       int depth);
const char *sn_nest_start_text(struct sn_nest_emitter *ne, const struct sn_nest_loop *l);
const char *sn_nest_last_text(struct sn_nest_emitter *ne, const struct sn_nest_loop *l);
void sn_emit_messages_before(struct sn_nest_emitter *ne, const struct sn_pnd_stmt *s);
void sn_emit_messages_of_span(struct sn_nest_emitter *ne, int loop,
			      const struct sn_fixed_range *fixed, int fixed_count);

#endif
