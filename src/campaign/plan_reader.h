/**
 * What the readers of plans share: sections (plan.c), and the values of [campaign] (plan_values.c). For these
 * files only.
 */
#ifndef SN_CAMPAIGN_PLAN_READER_H
#define SN_CAMPAIGN_PLAN_READER_H

#include "campaign/plan.h"

/** Keys of [campaign]. */
enum {
	C_NAME,
	C_LEVEL,
	C_REPEAT,
	C_ORDER,
	C_LAUNCHER,
	C_TIMEOUT,
	C_BUDGET,
	C_RETRY,
	C_SCALING,
	C_JOBS,
	C_PARALLEL,
	C_STEP,
	C_TEMPLATE,
	C_LOOPS,
	C_EXCLUDE,
	C_HELPERS,
	C_KEYS,
};

extern const char *const sn_plan_campaign_names[C_KEYS];

struct sn_plan_setting {
	const char *name; /* of a variable of the environment; NULL: one of the keys */
	int key;
	const char *value;
	int line;
};

/* What one section says, in its order. */
struct sn_plan_section {
	const char *name; /* of a configuration */
	int line;
	SN_VEC(struct sn_plan_setting) settings;
};

struct sn_plan_reader {
	const char *file, *folder;
	struct sn_campaign_plan *plan;
	struct sn_plan_section in_default, sweep;
	SN_VEC(struct sn_plan_section) configurations;
	const char *campaign[C_KEYS];
	int campaign_lines[C_KEYS];
	int line;
	struct sn_error *err;
};

/** SN_ERR_FORMAT with the plan's name and the line (0: none); of a plan of options SN_ERR_USAGE with the option. */
__attribute__((format(printf, 3, 4))) sn_status sn_plan_fault(struct sn_plan_reader *r, int line,
							      const char *format, ...);
/** A whole number of these bounds. */
sn_status sn_plan_whole(struct sn_plan_reader *r, int line, const char *name, const char *text,
			long least, long most, uint32_t *out);
/** A path, below the folder if it is relative. */
const char *sn_plan_below(struct sn_plan_reader *r, const char *folder, const char *path);
/** Sets what [campaign] says. */
sn_status sn_plan_campaign_values(struct sn_plan_reader *r);

#endif
