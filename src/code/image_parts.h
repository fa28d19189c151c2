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

/** The sorted table of .eh_frame_hdr: pairs of code and record, both relative to the section. */
struct fde_table {
	const uint8_t *pairs; /* NULL: none that can be used */
	size_t count;
	uint64_t link_addr; /* of the section */
};

/** One symbol table of the file or of a companion. */
struct symbol_table {
	const uint8_t *bytes, *strings;
	size_t count, strings_length;
};

/** A name of code or data by its address: its place in a table, without a look at its characters. */
struct name_entry {
	uint64_t link_addr;
	uint64_t reach;	      /* of code: where all names so far end */
	uint32_t table;	      /* of the image; SN_NAME_OF_PLT: of `plt` */
	uint32_t number;      /* in that table */
	uint32_t file_number; /* of the STT_FILE before a local symbol in its table, 0: none */
	uint32_t unused;
};
enum { SN_NAME_OF_PLT = 255 };

/** By address; at one address in the order of the tables. */
struct name_entries {
	const struct name_entry *items;
	size_t count;
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
	SN_VEC(struct sn_symbol) plt; /* names of its stubs */
	SN_VEC(struct symbol_table) tables;
	struct name_entries code_entries, data_entries; /* on demand: instead of names and data */
	struct sn_file_view entries_file;		/* which they are part of */
	struct name_entry *merged_entries;		/* those of code with the PLT's, or NULL */
	bool has_names, has_data;			/* on demand: they were read all the same */
	SN_VEC(struct sn_fde) fdes;
	struct fde_table fde_table;	       /* on demand only */
	bool has_plt, has_relocations;	       /* they were read */
	bool has_cold_names;		       /* ".cold" stands somewhere in the tables */
	SN_VEC(struct relocation) relocations; /* without a symbol, by place */
	SN_VEC(struct relocation) bindings;    /* with one, by place */
	uint64_t rela_link_addr,
		relative_count;	    /* relocations begin with so many without a symbol */
	uint32_t flow_instructions; /* decoded to find ends (flow_end.h) */
	const char *command_line;
	struct sn_image_facts facts;
	Elf *dwarf_elf, *alt_elf;
	Dwarf *dwarf, *alt_dwarf;
	void *dwarf_copy, *alt_copy; /* bytes of elves that could not be used in place */
	const char *unpacked_folder;
	bool keeps_nothing;
	bool has_dwarf_part;	      /* `unpacked` has not all units */
	struct sn_file_view unpacked; /* what libdw reads instead of packed sections */
	bool is_dwarf_tried;
};

/** Adds what tells a file from others at the same path: size and time of change. */
struct sn_text;
void sn_image_add_file_state(struct sn_text *out, const char *path);

/** As sn_image_dwarf: of an image that keeps nothing it may hold only the first units, with those of these addresses
 * (sorted) as far as that can be told; `has_dwarf_part` says so. */
struct Dwarf *sn_image_dwarf_around(struct sn_image *image, const uint64_t *link_addrs,
				    size_t count);
/** With all units. Whatever an earlier handle gave is gone if `has_dwarf_part` was set. */
struct Dwarf *sn_image_dwarf_whole(struct sn_image *image);

/** A hash of that of the file whose debug information is in use, which there must be. */
uint64_t sn_image_debug_state(const struct sn_image *image);

/** companion.c: finds and opens the companions that the options allow. Never fails. */
void sn_image_find_companions(struct sn_image *image, const struct sn_image_options *options);
/** Only the one with debug information. */
void sn_image_find_debug(struct sn_image *image, const struct sn_image_options *options);
void sn_companion_close(struct companion *companion);

/** fdes.c: fills `fdes` from .eh_frame. */
void sn_image_read_fdes(struct sn_image *image);
/** Finds the index of FDEs in the file; false if it cannot be used. */
bool sn_image_find_fde_table(struct sn_image *image);
/** The number of FDEs in it that begin below `link_addr`, and where one of them begins. */
size_t sn_fde_table_below(const struct fde_table *table, uint64_t link_addr);
uint64_t sn_fde_table_start(const struct fde_table *table, size_t number);
/** One of its FDEs; false: damaged. */
bool sn_fde_table_get(const struct sn_image *image, size_t number, struct sn_fde *fde);

/** plt.c: fills `bindings` or `relocations`, and adds a name for each PLT stub to `plt`. */
void sn_image_read_bindings(struct sn_image *image);
void sn_image_read_relocations(struct sn_image *image);
/** The relocation at an address, or NULL. */
const struct relocation *sn_image_relocation_at(const struct sn_image *image, uint64_t link_addr);
void sn_image_read_plt(struct sn_image *image);

/** symbols.c: fills `tables`, `names`, `data` and at last `symbols`. */
void sn_image_read_symbols(struct sn_image *image);
/** Only `tables`. */
void sn_image_find_tables(struct sn_image *image);
/** A record of a table, and its name ("" for none). */
const char *sn_symbol_table_get(const struct symbol_table *table, size_t number, Elf64_Sym *symbol);
enum symbol_class { SYMBOL_OTHER, SYMBOL_CODE, SYMBOL_DATA };
enum symbol_class sn_symbol_class(const struct sn_image *image, const Elf64_Sym *symbol,
				  const char *name);
/** The symbol of a record that is code or data. `file`: the STT_FILE before it, or NULL. */
struct sn_symbol sn_symbol_of(struct sn_image *image, const Elf64_Sym *symbol, const char *name,
			      const char *file);
/** By address; of aliases the name that a person would choose is first. */
int sn_symbol_order(const struct sn_symbol *x, const struct sn_symbol *y);
/** By that order; those that are equal stay as they are. */
void sn_symbols_sort(struct sn_symbol *items, size_t count);

/** name_index.c: the entries of an image that is read on demand, with `tables`, from the cache if they
 * are there. False: there are too many tables; read the file whole. */
bool sn_image_read_name_index(struct sn_image *image);
/** What the cache has of a kind (kept_file.h) that was made of these names; false: nothing, or they are so few
 * that it is to have nothing. And the same into it, if it is to have it. */
struct sn_kept_kind;
bool sn_image_read_kept(const struct sn_image *image, const struct sn_kept_kind *of,
			struct sn_file_view *out);
void sn_image_keep(const struct sn_image *image, const struct sn_kept_kind *of, const void *bytes,
		   size_t length);
/** Adds those of `plt` to the entries of code. */
void sn_name_index_add_plt(struct sn_image *image);
/** How many entries begin below. */
size_t sn_name_entries_below(const struct name_entries *entries, uint64_t link_addr);
/** Adds the symbols of entries [first, end) to `out`, by address and rank. */
struct sn_symbols {
	struct sn_symbol *items;
	size_t count, capacity;
};
void sn_name_entries_read(struct sn_image *image, const struct name_entries *entries, size_t first,
			  size_t end, struct sn_symbols *out);

/** A stretch of code whose symbols depend on nothing outside of it. */
struct symbol_window {
	const struct sn_symbol
		*names; /* by address and rank; those that begin where it ends, too */
	size_t name_count;
	const struct sn_fde *fdes; /* the same */
	size_t fde_count;
	const struct sn_section *sections; /* the parts of sections that belong to it */
	size_t section_count;
	uint64_t end; /* of its last section */
	bool is_part; /* of a large stretch that nothing names: sn_image_gap_cut */
	SN_VEC(struct sn_symbol) symbols; /* the result */
};
void sn_image_make_symbols(struct sn_image *image, struct symbol_window *window);

/** Large stretches of code that nothing names are taken apart in parts of about this size. */
enum { SN_GAP_PART_BYTES = 1 << 18 };
/** The first place above `after_addr` where such a part begins: within each multiple of that size
 * the first address at a multiple of 16 that int3 fills up to, as compilers and linkers do between
 * functions. `end`: there is none below it. */
uint64_t sn_image_gap_cut(const struct sn_image *image, uint64_t after_addr, uint64_t end);

/** The index of the first item of a sorted array whose address is above. */
size_t sn_symbol_above(const struct sn_symbol *items, size_t count, uint64_t link_addr);

/** nearby.c: the symbol around an address of an image that is read on demand, or NULL. It is valid
 * until the next is asked for. */
const struct sn_symbol *sn_image_symbol_near(struct sn_image *image, uint64_t link_addr);

#endif
