/** What the files of the simulation share: lines, copies of cores, and how they come and go. */
#ifndef SN_CACHES_SIMULATE_PARTS_H
#define SN_CACHES_SIMULATE_PARTS_H

#include "base/map.h"
#include "caches/reuse.h"
#include "caches/sets.h"
#include "caches/simulate.h"

#define SN_SIM_NONE UINT32_MAX

enum sn_sim_state { SN_SIM_INVALID, SN_SIM_SHARED, SN_SIM_EXCLUSIVE, SN_SIM_MODIFIED };

/* What was used of a line since a level took it in, and the cell that it came for. */
struct sn_sim_use {
	uint64_t bytes;
	uint32_t cell;
};

/* A line as one core has it. `levels` are bits. */
struct sn_sim_copy {
	uint64_t foreign; /* not valid: bytes that others wrote since; awaited: that make it true */
	uint32_t line;	  /* number */
	uint32_t next_copy;
	uint16_t next_core;   /* SN_SIM_NO_CORE */
	uint8_t state;	      /* enum sn_sim_state */
	uint8_t levels;	      /* that have it */
	uint8_t lost;	      /* that had it when another core wrote it */
	bool was_invalidated; /* when it last left all of them */
	bool is_awaited;      /* it was transferred, and no byte of others' was used yet */
	uint32_t shared;      /* number of the struct sn_sim_shared that its transfer counts for */
	/* by level, where that has it */
	uint32_t slots[SN_SIM_LEVELS_MAX], cells[SN_SIM_LEVELS_MAX];
	uint64_t bytes[SN_SIM_LEVELS_MAX];
};

enum { SN_SIM_NO_CORE = UINT16_MAX };

struct sn_sim_line {
	uint64_t address;      /* by line_bytes */
	uint64_t written;      /* bytes that were written by anybody */
	uint32_t slot;	       /* in the shared level; SN_SIM_NONE */
	struct sn_sim_use use; /* of the shared level */
	uint32_t writer_site;  /* last; SN_SIM_NONE */
	uint32_t first_copy;
	uint16_t first_core; /* SN_SIM_NO_CORE */
	uint16_t owner;	     /* the core whose copy is exclusive or modified; SN_SIM_NO_CORE */
	uint16_t writer;     /* the last; SN_SIM_NO_CORE */
	bool has_many;	     /* copies of more than one core */
	bool is_modified;    /* the owner's copy is */
};

/* Neighbouring lines: their numbers, so that an address is looked for once in so many lines. */
enum { SN_SIM_BLOCK_SHIFT = 5, SN_SIM_BLOCK_LINES = 1 << SN_SIM_BLOCK_SHIFT };

struct sn_sim_block {
	uint32_t numbers[SN_SIM_BLOCK_LINES]; /* of copies, or of lines; SN_SIM_NONE */
};

/* Numbers by line. */
struct sn_sim_blocks {
	struct sn_map number_of; /* of blocks, by address */
	SN_VEC(struct sn_sim_block) items;
};

struct sn_sim_page {
	uint32_t slot; /* SN_SIM_NONE: not in the TLB */
};

/* An instruction of a core. */
struct sn_sim_site {
	uint64_t object_first, object_last; /* of `cell`, inclusive; cell SN_SIM_NONE: none */
	uint32_t cell;
	uint64_t line_address; /* of `copy` */
	uint32_t copy;	       /* SN_SIM_NONE: none */
	uint64_t block_address;
	uint32_t block; /* of the core's copies; SN_SIM_NONE: none */
	uint64_t page_address;
	uint32_t page; /* SN_SIM_NONE: none */
	bool has_address;
	uint64_t address;
	int64_t stride;
	unsigned steady;	      /* accesses in a row with this stride */
	unsigned bucket, page_bucket; /* of the last access's distances; SN_SIM_NO_BUCKET: new */
};

enum { SN_SIM_NO_BUCKET = SN_SIM_REUSE_BUCKETS, SN_SIM_STEADY = 2 };

struct sn_sim_core {
	bool is_used;
	struct sn_sets levels[SN_SIM_LEVELS_MAX], tlb;
	struct sn_sim_blocks copy_of;
	struct sn_map page_of; /* by address */
	SN_VEC(struct sn_sim_copy) copies;
	SN_VEC(struct sn_sim_page) pages;
	struct sn_reuse reuse, page_reuse; /* of copies, of pages */
	struct sn_sim_site *sites;
};

struct sn_sim {
	struct sn_sim_config config;
	unsigned core_count, private_count;
	unsigned line_shift, page_shift, byte_shift; /* byte_shift: of bytes to a bit of a mask */
	uint64_t line_counts[SN_SIM_STAGES];	     /* lines, entries that a level can hold */
	uint32_t site_count;
	sn_sim_object_at object_at;
	void *context;
	struct sn_sim_core *cores;
	struct sn_sets shared; /* the last level, if it is shared */
	struct sn_sim_blocks
		line_of; /* where there are several cores; a line's number is else its copy's */
	SN_VEC(struct sn_sim_line) lines;
	struct sn_reuse reuse; /* of lines; only where there are several cores */
	bool is_at_start;      /* since it has forgotten */
	struct sn_map cell_of;
	SN_VEC(struct sn_sim_cell) cells;
	struct sn_map shared_of;
	SN_VEC(struct sn_sim_shared) shared_lines;
};

/* What an access is, for the functions below. */
struct sn_sim_now {
	struct sn_sim *sim;
	struct sn_sim_core *core;
	unsigned c;
	uint32_t site_number, cell;
	uint64_t address, line_address;
	uint32_t size_bytes; /* within the line */
	uint64_t bytes;	     /* as a mask */
	bool is_write;
	uint32_t distance, line_distance; /* in the core's accesses, in all */
};

/* ---- lines.c ---- */

void sn_sim_blocks_clear(struct sn_sim_blocks *blocks);
void sn_sim_blocks_free(struct sn_sim_blocks *blocks);
/** A line that the core has met already, or meets now: the number of its copy. `site` may be NULL. Others move. */
uint32_t sn_sim_copy_find(struct sn_sim *sim, unsigned core, uint64_t line_address,
			  struct sn_sim_site *site);
/** A line comes to a level; another may leave it. */
void sn_sim_shared_fill(struct sn_sim *sim, uint32_t number, uint32_t cell, uint64_t bytes);
void sn_sim_private_fill(struct sn_sim *sim, unsigned core, unsigned level, uint32_t copy_number,
			 const struct sn_sim_use *use);
/** What was used of it is counted. */
void sn_sim_shared_leave(struct sn_sim *sim, const struct sn_sim_line *line);
/** The same of all levels of a core, which are left empty. */
void sn_sim_copy_leave(struct sn_sim *sim, struct sn_sim_core *core, struct sn_sim_copy *copy);

/** A core fetches a line that it had lost, or that another has modified. */
void sn_sim_transfer_begin(const struct sn_sim_now *now, const struct sn_sim_line *line,
			   struct sn_sim_copy *copy);
/** A valid copy's bytes are used. */
void sn_sim_transfer_use(struct sn_sim *sim, struct sn_sim_copy *copy, uint64_t bytes);
/** Another core has the line modified: its data go to the level that all share. */
void sn_sim_owner_write_back(struct sn_sim *sim, uint32_t number);
/** The core writes: no other keeps a copy, and each that had one knows what it does not know. */
void sn_sim_others_lose(struct sn_sim *sim, unsigned core, struct sn_sim_line *line,
			uint64_t bytes);
/** The core reads what it does not have; true: another has it, too. */
bool sn_sim_others_share(struct sn_sim *sim, unsigned core, struct sn_sim_line *line);

#endif
