/**
 * Roofs of this machine (Williams, Waterman and Patterson, "Roofline", CACM 52, 2009): how much
 * floating-point arithmetic of each kind it does at most, and how many bytes come from each level
 * of memory, for one thread and for one on every CPU, in real time.
 */
#ifndef SN_MACHINE_ROOFS_H
#define SN_MACHINE_ROOFS_H

#include "base/error.h"
#include "base/vec.h"
#include "machine/bandwidth.h"

enum sn_roof_kind {
	SN_ROOF_READ,  /* loads only */
	SN_ROOF_TRIAD, /* a = b + 2 c: two loads and a store; beyond L1 its line is fetched, too */
	SN_ROOF_SCALAR_DOUBLE,
	SN_ROOF_SCALAR_SINGLE,
	SN_ROOF_VECTOR_DOUBLE, /* sums and products of the widest vectors */
	SN_ROOF_VECTOR_SINGLE,
	SN_ROOF_FMA_DOUBLE, /* and with products that are added in one instruction */
	SN_ROOF_FMA_SINGLE,
	SN_ROOF_KINDS
};
/** "read", "triad", "scalar_double" ... */
extern const char *const sn_roof_kind_names[SN_ROOF_KINDS];

enum sn_roof_state {
	SN_ROOF_MEASURED,  /* windows of different rounds agree */
	SN_ROOF_UNCERTAIN, /* none do, or the level could not be reached; nothing better is known */
	SN_ROOF_KEPT,	   /* none do; it is the figure of an earlier calibration */
	SN_ROOF_STATES
};
extern const char *const sn_roof_state_names[SN_ROOF_STATES];

enum { SN_ROOF_NO_LEVEL = SN_MEMORY_LEVELS }; /* of arithmetic */

struct sn_roof {
	enum sn_roof_kind kind;
	unsigned level;		 /* of SN_MEMORY_LEVELS, or SN_ROOF_NO_LEVEL */
	unsigned threads;	 /* at once, each on a CPU of its own */
	double value, low, high; /* bytes or FLOP a second; of the windows of some
				    milliseconds a tenth is below
				    `low`, none above `high` */
	enum sn_roof_state state;
};

struct sn_roofs {
	char host[256]; /* what /proc/cpuinfo calls the processor */
	char date[16];	/* "2026-05-31"; "": not known */
	SN_VEC(struct sn_roof) items;
	bool was_busy; /* other programs had the CPUs for most of the time; not stored */
};

/** "L1" ...; NULL for arithmetic. */
const char *sn_roof_level_name(const struct sn_roof *roof);
/** NULL: it is not among them. */
const struct sn_roof *sn_roofs_find(const struct sn_roofs *roofs, enum sn_roof_kind kind,
				    unsigned level, unsigned threads);
/** The largest number of threads that there are figures of; 0 without any. */
unsigned sn_roofs_threads(const struct sn_roofs *roofs);

/** Takes some five seconds, on a busy machine up to thirty, and memory: the larger of a gigabyte and
 * twice the L3, at most half of what is free. `older` (of this machine; may be NULL) stands in for
 * what does not become stable. Free with sn_roofs_free, also after a failure. */
sn_status sn_roofs_measure(struct sn_roofs *out, const struct sn_roofs *older,
			   struct sn_error *err);
void sn_roofs_free(struct sn_roofs *roofs);

/** Windows of one roof to what is believed: the best rate on which three windows of two rounds or
 * more agree within a twentieth; a part of sn_roofs_measure. `rates` are those of all windows, round
 * after round, `counts` how many each round has. Without any that agree, `older` (may be NULL)
 * stands, else the best rate; without any window `value` is not known (NaN). */
void sn_roof_settle(struct sn_roof *roof, const double *rates, const size_t *counts, size_t rounds,
		    const struct sn_roof *older);

/** Arithmetic of one thread alone is what each of many does at least. Where it was measured lower, that stands, and is
 * uncertain; a part of sn_roofs_measure. */
void sn_roofs_reconcile(struct sn_roofs *roofs);

/** Others had the CPUs for most of the time, and so perhaps the memory, too, in the windows that counted: older figures
 * (NULL: none) stand, and where there are none, what was measured is uncertain; a part of sn_roofs_measure. */
void sn_roofs_of_busy_machine(struct sn_roofs *roofs, const struct sn_roofs *older);

/** roofs.tsv beside the machine profile; the caller frees. */
char *sn_roofs_path(void);
sn_status sn_roofs_write(const struct sn_roofs *roofs, const char *path, struct sn_error *err);
/** SN_ERR_NOT_FOUND if there is no file, SN_ERR_FORMAT if it is none that `sonde calibrate` wrote.
 * Free with sn_roofs_free whatever comes back. */
sn_status sn_roofs_read(const char *path, struct sn_roofs *out, struct sn_error *err);
/** The same of a file's bytes; `name` is for messages. */
sn_status sn_roofs_read_memory(const void *bytes, size_t length, const char *name,
			       struct sn_roofs *out, struct sn_error *err);

#endif
