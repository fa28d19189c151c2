/**
 * Events of MPI in a piece of a trace (wire/trace.h, SN_TRACE_MPI).
 *
 * An event is a tag (its kind and flags) and numbers; signed ones are in zigzag. A CALL is written when the
 * function has returned. What the call did follows it as events without a time of their own: messages
 * that it sent, posted, completed. Handles of requests and messages are those of the MPI library, as the
 * difference from the handle before in the piece; who reads knows by them what a Wait completes. The
 * library gives a handle to another request once it has completed.
 *
 *   TIME        ticks since the event before; CLOCK_MONOTONIC in ns less the piece's base_ns
 *   CALL        function, ticks from the end of the call before (or the base) to its begin, ticks it took,
 *               path unless SAME_PATH, error code if FAILED. GOES_ON: a call whose events did not fit
 *               into the piece before, again
 *   SEND        to, tag, communicator, bytes, [request]     IS_INIT: begins with START
 *   RECV        from, tag, communicator, bytes at most, [request]; posted
 *   MATCHED     bytes at most, 1 if there is a request, the request itself, message: the receive of a message
 *               that was probed
 *   DONE        from, tag, bytes, [request]: it has completed; without request it is this call's RECV
 *   START, FREE, CANCEL  request
 *   PROBE       from, tag, communicator, bytes, [message]     IS_ANY, IS_ANY_TAG: what it asked for
 *   COLLECTIVE  communicator, root + 1, bytes out, bytes in, [request]
 *   TRANSFER    rank or -1, bytes: one-sided or of a file, OUT or IN
 *
 * Events of their own:
 *
 *   COMM        id, parent + 1, own rank, size, index of the first rank that is told, number of runs, and of
 *               each run: first world rank, stride, how many. IS_REMOTE: the remote group of an
 *               intercommunicator
 *   COMM_FREE   id
 *   WORLD       rank, size, library (enum sn_mpi_library_kind), level of threads
 *
 * Ranks are those of the communicator, the remote group's for an intercommunicator; -1 is any, -2 none;
 * tag -1 is any.
 */
#ifndef SN_WIRE_MPI_H
#define SN_WIRE_MPI_H

#include "wire/mpi_functions.h"
#include "wire/trace.h"

enum sn_mpi_record_kind {
	SN_MPI_NONE,
	SN_MPI_TIME,
	SN_MPI_CALL,
	SN_MPI_SEND,
	SN_MPI_RECV,
	SN_MPI_MATCHED,
	SN_MPI_DONE,
	SN_MPI_START,
	SN_MPI_FREE,
	SN_MPI_CANCEL,
	SN_MPI_PROBE,
	SN_MPI_COLLECTIVE,
	SN_MPI_TRANSFER,
	SN_MPI_COMM,
	SN_MPI_COMM_FREE,
	SN_MPI_WORLD,
	SN_MPI_EVENTS,
};

enum {
	SN_MPI_KIND_MASK = 31,
	/* CALL */
	SN_MPI_SAME_PATH = 32,
	SN_MPI_GOES_ON = 64,
	SN_MPI_FAILED = 128,
	/* the others */
	SN_MPI_HAS_HANDLE = 32,
	SN_MPI_IS_INIT = 64,	     /* SEND, RECV, COLLECTIVE */
	SN_MPI_IS_PARTITIONED = 128, /* SEND, RECV */
	SN_MPI_IS_CANCELLED = 64,    /* DONE */
	SN_MPI_IS_IN = 64,	     /* TRANSFER */
	SN_MPI_IS_ANY = 64,	     /* PROBE: asked for any source, */
	SN_MPI_IS_ANY_TAG = 128,     /* for any tag */
	SN_MPI_IS_INTER = 32,	     /* COMM */
	SN_MPI_IS_REMOTE = 64,	     /* COMM */
	SN_MPI_EVENT_MAX = 64,	     /* bytes, but for COMM */
	SN_MPI_ANY = -1,
	SN_MPI_NOBODY = -2,
};

enum sn_mpi_library_kind { SN_MPI_OPENMPI = 1, SN_MPI_MPICH = 2 };

/** What a function means: the column of SN_MPI_FUNCTIONS. */
enum sn_mpi_meaning {
	SN_MPI_MEANS_LOCAL,	 /* counted, no event */
	SN_MPI_MEANS_CONVERSION, /* likewise, unless as PMPI_: by Fortran's functions in the library */
	SN_MPI_MEANS_TYPE_FREE, /* counted, no event */
	SN_MPI_MEANS_CALL,	/* nothing that we know of */
	SN_MPI_MEANS_INIT,
	SN_MPI_MEANS_FINALIZE,
	SN_MPI_MEANS_PCONTROL,
	SN_MPI_MEANS_SEND,
	SN_MPI_MEANS_ISEND,
	SN_MPI_MEANS_SEND_INIT,
	SN_MPI_MEANS_RECV,
	SN_MPI_MEANS_IRECV,
	SN_MPI_MEANS_RECV_INIT,
	SN_MPI_MEANS_SENDRECV,
	SN_MPI_MEANS_SENDRECV_REPLACE,
	SN_MPI_MEANS_ISENDRECV,
	SN_MPI_MEANS_ISENDRECV_REPLACE,
	SN_MPI_MEANS_PSEND_INIT,
	SN_MPI_MEANS_PRECV_INIT,
	SN_MPI_MEANS_START,
	SN_MPI_MEANS_STARTALL,
	SN_MPI_MEANS_WAIT,
	SN_MPI_MEANS_WAITALL,
	SN_MPI_MEANS_WAITANY,
	SN_MPI_MEANS_WAITSOME,
	SN_MPI_MEANS_TEST,
	SN_MPI_MEANS_TESTALL,
	SN_MPI_MEANS_TESTANY,
	SN_MPI_MEANS_TESTSOME,
	SN_MPI_MEANS_REQUEST_FREE,
	SN_MPI_MEANS_CANCEL,
	SN_MPI_MEANS_PROBE,
	SN_MPI_MEANS_IPROBE,
	SN_MPI_MEANS_MPROBE,
	SN_MPI_MEANS_IMPROBE,
	SN_MPI_MEANS_MRECV,
	SN_MPI_MEANS_IMRECV,
	SN_MPI_MEANS_BARRIER,
	SN_MPI_MEANS_BCAST,
	SN_MPI_MEANS_GATHER,
	SN_MPI_MEANS_GATHERV,
	SN_MPI_MEANS_SCATTER,
	SN_MPI_MEANS_SCATTERV,
	SN_MPI_MEANS_ALLGATHER,
	SN_MPI_MEANS_ALLGATHERV,
	SN_MPI_MEANS_ALLTOALL,
	SN_MPI_MEANS_ALLTOALLV,
	SN_MPI_MEANS_ALLTOALLW,
	SN_MPI_MEANS_REDUCE,
	SN_MPI_MEANS_ALLREDUCE,
	SN_MPI_MEANS_SCAN,
	SN_MPI_MEANS_REDUCE_SCATTER,
	SN_MPI_MEANS_REDUCE_SCATTER_BLOCK,
	SN_MPI_MEANS_NEIGHBOR_ALLGATHER,
	SN_MPI_MEANS_NEIGHBOR_ALLGATHERV,
	SN_MPI_MEANS_NEIGHBOR_ALLTOALL,
	SN_MPI_MEANS_NEIGHBOR_ALLTOALLV,
	SN_MPI_MEANS_NEIGHBOR_ALLTOALLW,
	SN_MPI_MEANS_NEW_COMM,
	SN_MPI_MEANS_COMM_FREE,
	SN_MPI_MEANS_PUT,
	SN_MPI_MEANS_GET,
	SN_MPI_MEANS_GET_ACCUMULATE,
	SN_MPI_MEANS_FETCH_AND_OP,
	SN_MPI_MEANS_COMPARE_AND_SWAP,
	SN_MPI_MEANS_WIN_FENCE,
	SN_MPI_MEANS_FILE_READ,
	SN_MPI_MEANS_FILE_READ_AT,
	SN_MPI_MEANS_FILE_WRITE,
	SN_MPI_MEANS_FILE_WRITE_AT,
};

/** How an operation that has several forms goes on. */
enum sn_mpi_form { SN_MPI_FORM_BLOCKING, SN_MPI_FORM_REQUEST, SN_MPI_FORM_INIT };

#define SN_MPI_FUNCTION_ONE(...) +1
enum { SN_MPI_FUNCTION_COUNT = 0 SN_MPI_FUNCTIONS(SN_MPI_FUNCTION_ONE) };

/**
 * A piece of SN_TRACE_MPI_COUNTS is one of these, which its thread changes in place: calls that leave
 * no event, and the call that it is in.
 */
struct sn_mpi_counts {
	_Atomic uint32_t open; /* function + 1; 0: in none */
	uint32_t path;	       /* of the open call */
	int32_t peer, tag;     /* of its arguments, if it has such; SN_MPI_NOBODY */
	uint64_t begin_tsc;
	uint32_t comm;		 /* + 1; 0: not known */
	uint32_t function_count; /* of those that follow */
	struct {
		uint64_t calls, ticks;
	} functions[SN_MPI_FUNCTION_COUNT];
};

_Static_assert(sizeof(struct sn_mpi_counts) + sizeof(struct sn_trace_piece) <= SN_TRACE_SLOT_BYTES,
	       "counts fit into one piece");

#endif
