/**
 * The critical path over ranks: from the end of the run back to its begin, through the ranks that others
 * waited for. Nothing that lies beside it makes the run shorter.
 */
#ifndef SN_MPI_CRITICAL_H
#define SN_MPI_CRITICAL_H

#include "mpi/mpi.h"

enum sn_critical_kind {
	SN_CRITICAL_COMPUTE, /* outside of MPI */
	SN_CRITICAL_MPI,     /* in a call of MPI, and waiting for no rank that is known */
	SN_CRITICAL_START,   /* before the rank's process began */
	SN_CRITICAL_END,     /* after the last rank ended */
};

/** A piece lies in one thread, and in one call of MPI or between two. */
struct sn_critical_piece {
	int64_t t0_ns, t1_ns;
	enum sn_critical_kind kind;
	uint32_t process;
	uint32_t thread; /* of the process, in the order of start */
	uint32_t event;	 /* of MPI; of computing: the call that ends it; SN_NONE: none */
};

struct sn_critical {
	SN_VEC(struct sn_critical_piece)
	pieces; /* from the end to the begin; they touch each other */
};

/** Pieces reach from 0 to the experiment's end; none if MPI was not traced. The caller frees `pieces`. */
struct sn_critical sn_critical_of(const struct sn_experiment *experiment, const struct sn_mpi *mpi);
const char *sn_critical_kind_name(enum sn_critical_kind kind);

#endif
