/** What the campaign that an experiment is a run of says of a loop: how it scales, and what became of it since the
 * reference. Evidence on the page of one loop. */
#ifndef SN_VIEWS_LOOP_CAMPAIGN_H
#define SN_VIEWS_LOOP_CAMPAIGN_H

#include "base/intern.h"
#include "base/json.h"
#include "campaign/scaling/read.h"
#include "compare/ranges.h"
#include "compare/sets.h"

/** A source loop in the campaign. */
struct sn_loop_course {
	size_t first, end;		  /* its rows of the campaign's scaling; none: equal */
	const struct sn_set_row *changed; /* its row of the comparison; NULL: none */
};

/** All runs of the campaign, read once. */
struct sn_loop_campaign {
	struct sn_scaling_campaign runs;
	struct sn_interner keys; /* of source loops, by number: */
	struct sn_ranges ranges; /* builds give one loop other lines */
	SN_VEC(struct sn_loop_course) courses;
	uint32_t configuration; /* the experiment's */
	SN_VEC(struct sn_compare_set) sets;
	size_t set; /* the experiment's */
	struct sn_set_comparison
		*comparison; /* with the first configuration; NULL: there is one only */
	char *path;	     /* of the campaign; NULL: the experiment is of none */
};

/** Opens the campaign in whose folder the experiment lies and reads all its runs, which lasts. A campaign that is
 * not there, or cannot be read, is none. Free with sn_loop_campaign_close. */
void sn_loop_campaign_open(const struct sn_experiment *experiment, struct sn_loop_campaign *out);
void sn_loop_campaign_close(struct sn_loop_campaign *campaign);

/** The loop in the campaign; NULL: it is not in it, or has next to no time there. */
const struct sn_loop_course *sn_loop_campaign_find(const struct sn_loop_campaign *campaign,
						   const struct sn_program *program, uint32_t loop);

/** The next row of the loop in the experiment's series, by workers; NULL: no more. Begin with `*at` 0. `course` may be
 * NULL. */
const struct sn_scaling_row *sn_loop_scaling_next(const struct sn_loop_campaign *campaign,
						  const struct sn_loop_course *course, size_t *at);
/** The loop at each number of workers of the experiment's series, and the law. False: it has fewer than two. */
bool sn_loop_scaling_add(const struct sn_loop_campaign *campaign,
			 const struct sn_loop_course *course, struct sn_text *out);
/** Its members, in an open object. */
void sn_loop_scaling_write(const struct sn_loop_campaign *campaign,
			   const struct sn_loop_course *course, struct sn_json *json);

/** The loop in the experiment's configuration against the reference. False: it is the reference's, or was not
 * met in both. */
bool sn_loop_change_add(const struct sn_loop_campaign *campaign,
			const struct sn_loop_course *course, struct sn_text *out);
void sn_loop_change_write(const struct sn_loop_campaign *campaign,
			  const struct sn_loop_course *course, struct sn_json *json);

#endif
