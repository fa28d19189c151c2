/**
 * What all evidence on a loop says together: what bounds it, and what to do first (docs/method/evidence.md).
 *
 * The static model assumes where data come from; variants measure it. Where both speak, the measurement
 * decides: it gives the verdict, it narrows what advice may bring, and it is named for or against it.
 */
#ifndef SN_WHATIF_EVIDENCE_H
#define SN_WHATIF_EVIDENCE_H

#include "base/arena.h"
#include "base/stats.h"
#include "cqa/words/advice.h"
#include "profile/instances.h"
#include "whatif/variants.h"

/** What there is on one loop; NULL: nothing of the kind. */
struct sn_loop_known {
	const struct sn_cqa_loop *quality;    /* analysed */
	const sn_advice_list *advice;	      /* of the static model */
	const struct sn_variants *variants;   /* the loop as a whole */
	const struct sn_instances *instances; /* likewise */
	double exclusive_share; /* of CPU time, what code of its own could save; of the static model */
	double inclusive_share; /* of CPU time: what its variants save */
};

enum sn_evidence_trust { SN_EVIDENCE_HIGH, SN_EVIDENCE_MEDIUM, SN_EVIDENCE_LOW, SN_EVIDENCE_NONE };
/** "high" (measured), "medium" (measured, but few or short timings, or DL1 alone), "low" (the static model
 * alone), "none". */
const char *sn_evidence_trust_name(enum sn_evidence_trust trust);

/** Something to do. Speed-ups are of the loop, of the program if this is all that is done; NaN: not known. */
struct sn_loop_advice {
	const char *grade; /* "measured", or the static model's: "gain", "potential" ... */
	const char *subject, *sentence;
	double speedup, program_speedup;
	struct sn_interval range, program_range;
	const char *for_it, *against; /* NULL: nothing */
};

struct sn_loop_evidence {
	struct sn_arena arena;
	/* what bounds it: "memory_bound" (data beyond first-level cache), "l1_bound" (loads and stores),
	 * "compute_bound", "balanced", "chained" (neither alone), "front_end_bound", "not_memory_bound" (and no
	 * more is known), "estimated" (the static model alone), "unknown" */
	const char *kind;
	const char *verdict; /* as a sentence without its full stop */
	enum sn_evidence_trust trust;
	/* why the static model and the measurement differ, and that the latter decides; NULL: they do not */
	const char *disagreement;
	SN_VEC(struct sn_loop_advice) advice; /* what the program gains for sure first */
};

/** What is left of a speed-up of the static model, which is for data in first-level cache, where DL1 has measured that
 * the loop waits for farther ones: better code leaves that waiting. Else the speed-up. */
double sn_variants_beside_waiting(const struct sn_variants *variants, double speedup);

/** Free with sn_loop_evidence_free. Texts of the advice are borrowed from `known`. */
void sn_loop_evidence_judge(const struct sn_loop_known *known, struct sn_loop_evidence *out);
void sn_loop_evidence_free(struct sn_loop_evidence *evidence);

#endif
