/** What the files that read locks share. */
#ifndef SN_LOCKS_PARTS_H
#define SN_LOCKS_PARTS_H

#include "base/map.h"
#include "locks/locks.h"
#include "profile/trace_sites.h"
#include "trace/trace.h"

/** An entry with what its piece says of it. */
struct sn_lock_event {
	const struct sn_sync_entry *entry;
	uint32_t process;
	int32_t tid; /* 0: none of the threads that were measured */
	uint32_t thread_index;
	uint32_t object;
	struct sn_site site;
	double begin_ns; /* of the experiment */
	double end_ns;	 /* of a WAIT; of an ORDER: when it last happened */
	bool is_open;	 /* it never ended */
};

struct sn_lock_reader {
	const struct sn_program *program;
	struct sn_locks *locks;
	struct sn_trace_pieces pieces;
	SN_VEC(struct sn_lock_event) counts, waits, releases, orders;
	struct sn_trace_sites sites;
	struct sn_map part_index; /* of a thread and an object -> index of its part + 1 */
	struct sn_map creators;	  /* process and index of a thread -> index of its creator */
};

/* names.c */
/** The name of what lies at an address of a process; false, with nothing added: no variable does. */
struct sn_lock_names;
struct sn_lock_names *sn_lock_names_new(const struct sn_experiment *experiment);
bool sn_lock_names_find(struct sn_lock_names *names, uint32_t process, uint64_t address,
			struct sn_text *out);
void sn_lock_names_free(struct sn_lock_names *names);

/** locks.c: the part that a thread has in an object, made if new. */
struct sn_lock_part *sn_lock_part_of(struct sn_lock_reader *reader, uint32_t process, int32_t tid,
				     uint32_t object, uint8_t kind);

/* blame.c, cycles.c, ends.c: from the events to the rows */
void sn_locks_blame(struct sn_lock_reader *reader);
void sn_locks_find_cycles(struct sn_lock_reader *reader);
void sn_locks_find_ends(struct sn_lock_reader *reader);

#endif
