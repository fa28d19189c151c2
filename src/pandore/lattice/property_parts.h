/** What property_parse.c and property.c share. */
#ifndef SN_LATTICE_PROPERTY_PARTS_H
#define SN_LATTICE_PROPERTY_PARTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "pandore/lattice/property.h"

enum sn_property_kind { SN_PROPERTY_IN, SN_PROPERTY_NOT, SN_PROPERTY_AND, SN_PROPERTY_OR };

struct sn_property_node {
	enum sn_property_kind kind;
	uint32_t left, right; /* nodes; NOT has the left one */
	uint32_t process;     /* IN */
	const char *label;    /* IN; else NULL */
};

struct sn_property {
	struct sn_arena arena;
	SN_VEC(struct sn_property_node) nodes;
	uint32_t root;
};

#endif
