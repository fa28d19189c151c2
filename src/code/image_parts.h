/**
 * An image from the inside: what image.c, symbols.c, plt.c, fdes.c and companion.c share.
 */
#ifndef SN_CODE_IMAGE_PARTS_H
#define SN_CODE_IMAGE_PARTS_H

#include <elfutils/libdw.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/vec.h"
#include "code/elf_view.h"
#include "code/image.h"

/** Another file that tells about this one: a separate debug file, a .gnu_debugdata, a dwz file. */
struct companion {
	struct sn_file_view file; /* or heap bytes (is_mapped false) */
	struct sn_elf_view elf;
	char *path;
	bool is_open;
};

/** A RELATIVE or named relocation, by place. */
struct relocation {
	uint64_t link_addr;
	uint64_t value;	  /* RELATIVE and IRELATIVE: addend */
	const char *name; /* named ones: the symbol, borrowed from .dynstr; else NULL */
};

struct sn_image {
	struct sn_arena arena;
	struct sn_file_view file; /* mapped by open; empty for open_memory */
	struct sn_elf_view elf;
	struct companion debug, mini; /* by build-id or debug link; .gnu_debugdata */
	struct companion alt;	      /* the dwz file that the DWARF refers to */
	const char *path, *id;
	bool has_build_id;
	uint64_t link_base;
	SN_VEC(struct sn_segment) segments;
	SN_VEC(struct sn_section) sections;
	SN_VEC(struct sn_symbol) symbols; /* final */
	SN_VEC(struct sn_symbol) names;	  /* every code name in the tables, by address and rank */
	SN_VEC(struct sn_symbol) data;
	SN_VEC(struct sn_fde) fdes;
	SN_VEC(struct relocation) relocations; /* without a symbol, by place */
	SN_VEC(struct relocation) bindings;    /* with one, by place */
	uint32_t flow_instructions;	       /* decoded to find ends (flow_end.h) */
	const char *command_line;
	struct sn_image_facts facts;
	Elf *dwarf_elf, *alt_elf;
	Dwarf *dwarf, *alt_dwarf;
	void *dwarf_copy, *alt_copy; /* bytes of elves that could not be used in place */
	bool is_dwarf_tried;
};

/** companion.c: finds and opens the companions that the options allow. Never fails. */
void sn_image_find_companions(struct sn_image *image, const struct sn_image_options *options);
/** Only the one with debug information. */
void sn_image_find_debug(struct sn_image *image, const struct sn_image_options *options);
void sn_companion_close(struct companion *companion);

/** fdes.c: fills `fdes` from .eh_frame. */
void sn_image_read_fdes(struct sn_image *image);

/** plt.c: fills `relocations` and `bindings`, and adds a name for each PLT stub to `names`. */
void sn_image_read_relocations(struct sn_image *image);
/** The relocation at an address, or NULL. */
const struct relocation *sn_image_relocation_at(const struct sn_image *image, uint64_t link_addr);
void sn_image_read_plt(struct sn_image *image);

/** symbols.c: fills `names`, `data` and at last `symbols`. */
void sn_image_read_symbols(struct sn_image *image);

#endif
