/**
 * The records of .eh_frame: finding the one of a pc, iterating over all, and an index of our own.
 *
 * Shared by the walk (inside the target) and by whoever wants the functions of a stripped image.
 * Bytes are untrusted: nothing outside the module's windows is read, and every loop is bounded by
 * the bytes that it consumes.
 */
#ifndef SN_UNWIND_CFI_H
#define SN_UNWIND_CFI_H

#include "unwind/unwind.h"

/** One function's description (FDE) with what it takes from its common part (CIE). */
struct sn_unwind_fde {
	uint64_t start_load_addr, end_load_addr; /* the code described */
	uint64_t fde_load_addr;			 /* of the record itself */
	uint64_t lsda_load_addr; /* exception tables; 0: none or not directly encoded */
	uint64_t code_align;
	int64_t data_align;
	struct sn_unwind_bytes initial; /* the CIE's program */
	struct sn_unwind_bytes program; /* the FDE's own */
	uint8_t pointer_encoding;	/* DW_EH_PE_* of this FDE's addresses */
	bool is_signal_frame;
};

/**
 * An address in one of the DW_EH_PE encodings, in .eh_frame. Fails the cursor on those that need a
 * base which no toolchain uses here (text, function, aligned) or a second read (indirect).
 */
uint64_t sn_unwind_address_read(const struct sn_unwind_module *module, struct sn_unwind_bytes *cur,
				uint8_t encoding);

enum sn_unwind_found {
	SN_UNWIND_FOUND,
	SN_UNWIND_NOT_FOUND, /* no record describes this address */
	SN_UNWIND_CORRUPT,   /* the record or the table cannot be believed */
};

/** The description of the function that holds `load_addr`. Logarithmic. Safe in handlers. */
enum sn_unwind_found sn_unwind_fde_find(const struct sn_unwind_module *module, uint64_t load_addr,
					struct sn_unwind_fde *fde);

/** Whether lookups can use the module's own .eh_frame_hdr; if not, build an index. */
bool sn_unwind_header_is_usable(const struct sn_unwind_module *module);

/** A position in .eh_frame. Start with { .module = ... }. */
struct sn_unwind_fde_iterator {
	const struct sn_unwind_module *module;
	uint64_t next_offset;	/* from eh_frame.start */
	uint64_t corrupt_count; /* records that were stepped over because they are not believable */
};

/**
 * The next function description in file order; false at the end. Records that are corrupt but whose
 * length can be believed are counted and stepped over. Each call advances by at least four bytes.
 */
bool sn_unwind_fde_next(struct sn_unwind_fde_iterator *iterator, struct sn_unwind_fde *fde);

/** The number of entries that an index of this module takes. Linear in .eh_frame; not for handlers.
 */
uint32_t sn_unwind_index_size(const struct sn_unwind_module *module);

/**
 * Fills `entries` with at most `capacity` of the module's functions, sorted by address, and makes
 * the module use them. The memory stays the caller's. Returns how many were stored. Not for
 * handlers: n log n, no memory besides `entries`.
 */
uint32_t sn_unwind_index_build(struct sn_unwind_module *module,
			       struct sn_unwind_index_entry *entries, uint32_t capacity);

#endif
