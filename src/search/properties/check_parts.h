/** What the files of the check share. Private to src/search/properties. */
#ifndef SN_SEARCH_PROPERTIES_CHECK_PARTS_H
#define SN_SEARCH_PROPERTIES_CHECK_PARTS_H

#include "search/properties/check.h"

struct sn_prop_symbol {
	const char *name; /* NULL: a variable whose aggregate has ended */
	struct sn_prop_type type;
	uint32_t slot;
};

struct sn_prop_checker {
	struct sn_prop_file *file;
	const struct sn_prop_scope *scope;
	struct sn_property *property;
	struct sn_prop_symbol symbols[SN_PROP_NAMES_MAX];
	uint32_t symbol_count;
	unsigned aggregates; /* around the expression */
	SN_VEC(const struct sn_metric *)
	confidences; /* that the property asks for the confidence of */
};

/** The file's own metric of this name, else a visible one; NULL: none. */
const struct sn_metric *sn_prop_metric(const struct sn_prop_checker *c, const char *name);
const struct sn_prop_symbol *sn_prop_symbol(const struct sn_prop_checker *c, const char *name);
const struct sn_param *sn_prop_param(const struct sn_prop_checker *c, const char *name);

/** A new name with a value of its own in the property; reports a name that is there already. */
uint32_t sn_prop_symbol_add(struct sn_prop_checker *c, const char *name, struct sn_prop_pos pos,
			    struct sn_prop_type type);

/** Metrics of which a property asks for the confidence and for no value: it is that of their value without a level. */
void sn_prop_confidences_request(struct sn_prop_checker *c);

/** Finds which lets and evidence are sums. After the check of their expressions. */
void sn_prop_sums_find(struct sn_property *property);

/** Reports a confidence that is always the same, or no share, and a severity that never is one. After the check of
 *  their expressions. */
void sn_prop_constants_check(struct sn_property *property, struct sn_prop_diags *diags);

/** Resolves names and finds the type of an expression; SN_TYPE_WRONG after an error. */
struct sn_prop_type sn_prop_check_expr(struct sn_prop_checker *c, struct sn_expr *e);

/** "'x'; did you mean 'y'?" or "'x'" for an unknown name, in `text`. */
enum { SN_PROP_NEAR_TEXT = 200 };
const char *sn_prop_near(const struct sn_prop_checker *c, const char *name,
			 char text[SN_PROP_NEAR_TEXT]);

bool sn_prop_same_unit(struct sn_prop_unit a, struct sn_prop_unit b);
/** "s", "a truth value", "a thread" in `text`. */
const char *sn_prop_type_print(struct sn_prop_type type, char text[SN_PROP_UNIT_TEXT]);

#endif
