/**
 * Which unit of the DWARF has the code at an address. Of this folder only.
 */
#ifndef SN_CODE_UNITS_H
#define SN_CODE_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "code/image.h"

struct sn_unit;

struct unit {
	Dwarf_Off offset;      /* of its DIE */
	struct sn_unit *about; /* NULL until a function of it was met */
	bool is_skeleton;
};

struct unit_range {
	uint64_t first_link_addr, end_link_addr, unit;
};

struct units {
	SN_VEC(struct unit) all;
	SN_VEC(struct unit_range) ranges; /* by address */
};

/** The units of sn_image_dwarf, without those of types. Of a file with many they come from the cache, if the
 * image has one (options' unpacked_folder), and are left there unless it keeps nothing. */
void sn_units_read(struct sn_image *image, struct units *out);
void sn_units_free(struct units *units);
/** The unit around an address, or -1. */
int64_t sn_unit_at(const struct units *units, uint64_t link_addr);

#endif
