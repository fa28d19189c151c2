/**
 * The memory of this host as a core sees it: bytes per core cycle and latency, from each level of
 * cache and from RAM. It is measured with loads (and loads with stores) over working sets that fit
 * the level.
 */
#ifndef SN_MACHINE_BANDWIDTH_H
#define SN_MACHINE_BANDWIDTH_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

struct sn_core_profile;

enum { SN_MEMORY_LEVELS = 4 }; /* L1, L2, L3, RAM */

/** Strides in bytes at which accesses of a line each are timed: two lines, nine, 33 (no powers
 *  of two, whose lines meet in few sets of the caches), and a page, where they do meet. */
enum { SN_MEMORY_STRIDES = 4, SN_MEMORY_STRIDE_PAGE = 3 };
extern const unsigned sn_memory_strides_bytes[SN_MEMORY_STRIDES];

struct sn_memory_level {
	const char *name;
	double working_set_bytes;
	double unit_bytes_per_cycle; /* loads one after the other, all bytes used */
	double line_bytes_per_cycle; /* one load of 8 bytes a line; whole lines counted */
	double copy_bytes_per_cycle; /* bytes read and written of a copy; whole lines counted */
	double latency_cycles;	     /* a chain of loads in random order */
	/* cycles an access of independent loads, one a line; 0: not known (an older profile) */
	double stride_cycles[SN_MEMORY_STRIDES];
	double random_cycles;		    /* in random order */
	double past_caches_bytes_per_cycle; /* non-temporal stores of whole lines */
	double store_bytes_per_cycle;	    /* one store of 8 bytes a line; whole lines counted */
};

struct sn_memory_profile {
	char machine[32]; /* the model's name; "" if there is none */
	char date[16];	  /* "2026-05-31", when it was written; "" in an older profile */
	struct sn_memory_level levels[SN_MEMORY_LEVELS];
};

/** Takes about a second and some 256 MB. */
sn_status sn_memory_measure(struct sn_memory_profile *out, struct sn_error *err);

/** $XDG_CONFIG_HOME/sonde/machine.tsv, else ~/.config/sonde/machine.tsv; the caller frees. */
char *sn_memory_profile_path(void);
/** `core` may be NULL. */
sn_status sn_memory_profile_write(const struct sn_memory_profile *profile,
				  const struct sn_core_profile *core, const char *path,
				  struct sn_error *err);
/** Whether a profile could be written at `path`. Makes its folder. */
sn_status sn_memory_profile_check_writable(const char *path, struct sn_error *err);
/** SN_ERR_NOT_FOUND if there is no file; else what keeps it from being a profile, and where. */
sn_status sn_memory_profile_read(const char *path, struct sn_memory_profile *out,
				 struct sn_error *err);

/** This host's profile, if it is of the machine with this name. A file that is there but holds no
 *  profile is told on standard error, once. */
bool sn_memory_profile_of(const char *machine, struct sn_memory_profile *out);
/** Adds where the figures of the memory levels come from: "usual values; 'sonde calibrate' measures
 * this machine's", "measured by 'sonde calibrate' on 2026-05-31 (PATH)". */
void sn_memory_profile_describe(const char *machine, struct sn_text *out);

#endif
