/** The state of an evaluation. Private to src/search/properties. */
#ifndef SN_SEARCH_PROPERTIES_EVALUATE_PARTS_H
#define SN_SEARCH_PROPERTIES_EVALUATE_PARTS_H

#include "search/properties/evaluate.h"

/* Pairs of members as first << 32 | second. */
struct pairs {
	SN_VEC(uint64_t) items;
};

struct sn_evaluator {
	struct sn_tables *tables;
	enum sn_severity severity; /* that was asked for */
	struct sn_map exists;	   /* hash of a metric's name -> whether it has any value */
	/* (region, data) that have a value, and (parent, region), each sorted */
	struct pairs touched, children;
	bool has_pairs;
	/* of the context in work */
	const struct sn_property *property;
	const uint32_t *keys;
	struct sn_prop_value slots[SN_PROP_NAMES_MAX];
	bool is_set[SN_PROP_NAMES_MAX];
	uint8_t missing[SN_NEEDS_MAX]; /* by request */
	uint8_t ranged[SN_NEEDS_MAX];  /* by request: asked for, and known as a range */
	bool at_most;		       /* a range counts as its upper end */
	struct sn_prop_value *evidence;
	size_t evidence_room;
	const uint32_t *request_columns; /* of the property */
	struct sn_map columns_of;	 /* property -> index in column_lists */
	SN_VEC(uint32_t *) column_lists;
};

static const struct sn_prop_value unknown = { .is_known = false };

#endif
