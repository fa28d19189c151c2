/**
 * The MPI calls of an experiment, from its traces (wire/mpi.h): who called what, which message was received by
 * which call, who met in which collective operation, and who waited for whom. docs/method/mpi.md has the
 * definitions.
 *
 * Ranks are those of MPI_COMM_WORLD. Times are ns of the experiment, aligned between hosts by messages.
 */
#ifndef SN_MPI_MPI_H
#define SN_MPI_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "experiment/experiment.h"
#include "wire/mpi.h"

enum sn_mpi_wait {
	SN_MPI_WAIT_NONE,
	SN_MPI_LATE_SENDER,
	SN_MPI_LATE_RECEIVER,
	SN_MPI_WRONG_ORDER,
	SN_MPI_WAIT_AT_BARRIER,
	SN_MPI_WAIT_AT_NXN,
	SN_MPI_EARLY_REDUCE,
	SN_MPI_LATE_BROADCAST,
	SN_MPI_WAITS,
};

/** A call that has returned, or that its process died in. */
struct sn_mpi_event {
	int64_t t0_ns, t1_ns;
	uint32_t process;
	uint32_t thread; /* of the process, in the order of start */
	uint32_t stack;	 /* leaf: the call; SN_NONE: none was taken */
	uint16_t function;
	uint8_t wait;	 /* enum sn_mpi_wait: why it waited longest */
	bool is_open;	 /* it never returned; t1_ns is the process's end */
	int32_t error;	 /* 0: it succeeded */
	int64_t wait_ns; /* of its time, waiting for another rank */
	/* whom it waited for: the event whose begin ended the waiting; SN_NONE: nobody. */
	uint32_t waited_for;
	uint64_t bytes_out, bytes_in, messages;
};

enum sn_mpi_message_state {
	SN_MPI_RECEIVED,
	SN_MPI_UNRECEIVED, /* nobody is known to have received it */
	SN_MPI_UNSENT,	   /* it was received, and its sender is not known: dead, not traced */
	SN_MPI_CANCELLED,
};

/** A message between two ranks. */
struct sn_mpi_message {
	int32_t from, to; /* -1: not known */
	int32_t tag;
	uint32_t comm; /* index */
	uint8_t state; /* enum sn_mpi_message_state */
	bool is_partitioned;
	bool is_any_source, is_any_tag; /* the receive asked for any */
	uint64_t bytes;
	/* events, SN_NONE where there is none: the call that sent it and the one in which the sending completed;
	 * the call that asked for it and the one in which it came */
	uint32_t sent, sent_done, posted, received;
};

/** What one rank did in a collective operation. */
struct sn_mpi_part {
	uint32_t operation;
	int32_t rank;
	uint32_t entered, done; /* events; done: where it completed, SN_NONE: never */
	uint64_t bytes_out, bytes_in;
};

/** Whose part of a collective operation needs whose. */
enum sn_mpi_pattern {
	SN_MPI_NO_PATTERN, /* none that is known */
	SN_MPI_ALL_TO_ALL,
	SN_MPI_ALL_TO_ROOT,
	SN_MPI_ROOT_TO_ALL,
	SN_MPI_BEFORE_TO_AFTER, /* of the ranks before it in the communicator */
};

struct sn_mpi_operation {
	uint32_t comm;
	uint8_t meaning;     /* enum sn_mpi_meaning */
	int32_t root;	     /* -1: none */
	uint32_t first_part; /* of parts */
	uint32_t part_count;
	bool is_whole; /* all ranks of the communicator are there, and all did the same */
};

struct sn_mpi_comm_of {
	const int32_t *ranks; /* world ranks, -1: of another world */
	uint32_t size;
	bool is_inter; /* ranks: of one side */
};

/** A blocking probe, and the call that sent what it found. */
struct sn_mpi_probe {
	uint32_t event, sent;
};

/** A rank's MPI_Finalize, where those of its world met: nobody left it before the last one had come. */
struct sn_mpi_ending {
	uint32_t world, event;
};

/** Calls that leave no event, by rank and function. */
struct sn_mpi_count {
	uint32_t process;
	uint16_t function;
	uint64_t calls;
	int64_t time_ns;
};

struct sn_mpi {
	bool is_traced; /* else all is empty: nobody asked for it */
	struct sn_arena arena;
	SN_VEC(struct sn_mpi_event) events;	    /* by process, thread, begin */
	SN_VEC(struct sn_mpi_message) messages;	    /* by the begin of the sending call */
	SN_VEC(struct sn_mpi_operation) operations; /* by communicator, then order */
	SN_VEC(struct sn_mpi_part) parts;
	SN_VEC(struct sn_mpi_probe) probes;
	SN_VEC(struct sn_mpi_ending) endings; /* by world */
	SN_VEC(struct sn_mpi_comm_of) comms;  /* 0: MPI_COMM_WORLD */
	SN_VEC(struct sn_mpi_count) counts;
	int32_t *ranks;	    /* by process; -1: it did not come past MPI_Init */
	uint32_t *worlds;   /* by process: programs of one experiment have worlds of their own */
	int32_t rank_count; /* greatest rank + 1 */
	int64_t *shifts_ns; /* by process: what the alignment added to its events' times */
	int64_t clock_error_ns; /* of the alignment of hosts; 0: one host */
	bool is_aligned;	/* false: hosts exchanged no messages in both directions */
	uint32_t host_count;
	uint64_t lost, damaged;
	int64_t overhead_ns;
};

/** Reads the traces. Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_mpi_read(const struct sn_experiment *experiment, struct sn_mpi **out,
		      struct sn_error *err);
void sn_mpi_free(struct sn_mpi *mpi);

enum sn_mpi_pattern sn_mpi_pattern_of(const struct sn_mpi *mpi,
				      const struct sn_mpi_operation *operation);

/** "MPI_Send". */
const char *sn_mpi_function_name(uint32_t function);
enum sn_mpi_meaning sn_mpi_function_meaning(uint32_t function);
/** "late_sender". */
const char *sn_mpi_wait_name(enum sn_mpi_wait wait);
const char *sn_mpi_message_state_name(enum sn_mpi_message_state state);

#endif
