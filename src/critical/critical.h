/**
 * The critical path: from the end of the run back to its begin, through the threads and ranks that others
 * waited for. Nothing that lies beside it makes the run shorter. docs/method/critical.md has the definitions.
 *
 * It runs over lanes. Where locks were traced (record --sync), each thread is a lane: the path follows locks,
 * conditions, barriers, joins and the making of threads and processes, and MPI between ranks. Else each rank is
 * a lane.
 */
#ifndef SN_CRITICAL_CRITICAL_H
#define SN_CRITICAL_CRITICAL_H

#include "locks/locks.h"
#include "mpi/mpi.h"
#include "profile/program.h"
#include "profile/site.h"

enum sn_critical_kind {
	SN_CRITICAL_COMPUTE, /* outside of such calls */
	SN_CRITICAL_MPI,     /* in a call of MPI, and waiting for no rank that is known */
	SN_CRITICAL_SYNC, /* in a call that waited: nobody is known for whom, or he came and it did not run yet */
	/* in a call that blocked for no thread that is known of */
	SN_CRITICAL_IO,
	SN_CRITICAL_POLL,
	SN_CRITICAL_SLEEP,
	SN_CRITICAL_OTHER,
	/* of pieces between calls, by who takes their samples together: it could run, and had no CPU; it was
	 * blocked in no call that is known of */
	SN_CRITICAL_NO_CPU,
	SN_CRITICAL_UNTRACED,
	SN_CRITICAL_START, /* before the process began */
	SN_CRITICAL_END,   /* after the last one ended */
	SN_CRITICAL_KINDS,
};

/** A piece lies in one thread, and in one call or between two. */
struct sn_critical_piece {
	int64_t t0_ns, t1_ns;
	enum sn_critical_kind kind;
	uint32_t process;
	uint32_t thread; /* of the experiment; SN_NONE: not known */
	uint32_t call;	 /* of `calls`; of computing: the call that ends it; SN_NONE: none */
};

struct sn_critical_call {
	int64_t t0_ns, t1_ns;
	struct sn_site site;
	uint32_t lane, thread;
	uint8_t kind; /* enum sn_critical_kind: MPI or SYNC */
	bool never_ended;
};

struct sn_critical_graph; /* private: who waited for whom */

struct sn_critical {
	SN_VEC(struct sn_critical_piece)
	pieces; /* from the end to the begin; they touch each other */
	SN_VEC(struct sn_critical_call)
	calls;		      /* none lies in another one of its lane; by lane, then time */
	bool is_over_threads; /* else over ranks */
	struct sn_critical_graph *graph;
};

/** Pieces reach from 0 to the experiment's end; none if neither MPI nor locks were traced. What is not traced may
 *  be NULL. The caller frees it, before what it was made of. */
struct sn_critical *sn_critical_of(const struct sn_program *program, const struct sn_mpi *mpi,
				   const struct sn_locks *locks);
void sn_critical_free(struct sn_critical *critical);

/** Where the program was by a stack: its innermost function that is not of libc or MPI; the innermost one if all are. */
struct sn_site sn_critical_site(const struct sn_critical *critical, uint32_t stack);

/**
 * The elapsed time that the run would have had, had all that a function (of the program) does of this kind
 * taken half its time, in all threads: each thread begins and waits as it did, and who is waited for comes
 * sooner. Who then ends up waiting for another one is known from barriers and operations of MPI, not from locks
 * that were free. -1: the kind has no such sense.
 */
int64_t sn_critical_halved_ns(const struct sn_critical *critical, enum sn_critical_kind kind,
			      uint32_t function);

const char *sn_critical_kind_name(enum sn_critical_kind kind);
/** What a blocking call is on the path, where it is no call of `calls`: locks and their kin are SYNC. */
enum sn_critical_kind sn_critical_kind_of(enum sn_wait_kind kind);

#endif
