/** What the files that read MPI share. */
#ifndef SN_MPI_PARTS_H
#define SN_MPI_PARTS_H

#include "base/map.h"
#include "mpi/mpi.h"
#include "trace/trace.h"

/* ---- events.c ---- */

enum { SN_MPI_VALUES = 8 };

/** An event as it is stored. */
struct sn_mpi_record {
	uint8_t kind; /* enum sn_mpi_record_kind; SN_MPI_NONE: the piece is over */
	uint8_t flags;
	bool has_handle;
	uint64_t values[SN_MPI_VALUES];
	uint64_t handle;
	/* CALL */
	uint32_t function, path, error;
	uint64_t begin_tsc, end_tsc;
	/* COMM: the bytes of its runs */
	const uint8_t *runs, *runs_end;
	uint64_t run_count;
};

struct sn_mpi_reader {
	const uint8_t *next, *end;
	uint64_t tsc, handle;
	uint32_t path;
	bool is_damaged;
};

void sn_mpi_reader_open(struct sn_mpi_reader *reader, const struct sn_trace_item *item);
/** Reads the next event. False: there is none, or it is damaged. */
bool sn_mpi_reader_next(struct sn_mpi_reader *reader, struct sn_mpi_record *out);
/** sn_trace_last */
struct sn_trace_instant sn_mpi_last_instant(const struct sn_trace_item *item);

/* ---- what is gathered from all pieces ---- */

/** An event of a call: what it did. */
struct sn_mpi_deed {
	uint32_t event; /* index in sn_mpi.events */
	uint8_t kind, flags;
	bool has_handle;
	uint64_t values[4];
	uint64_t handle;
};

/** One end of a message. */
struct sn_mpi_end {
	uint32_t world;
	int32_t from, to, tag;
	uint32_t comm, local_comm;		     /* local_comm: id in its process */
	bool is_partitioned, is_cancelled, is_known; /* is_known: a receive whose partner is */
	bool is_any_source, is_any_tag;
	uint64_t bytes;
	int64_t order_ns;     /* when it was begun: messages of one kind keep their order */
	uint32_t event, done; /* begun, completed; SN_NONE: not */
	uint32_t sequence;    /* breaks ties of order_ns */
};

/** A part in a collective operation, before it is known with whom. */
struct sn_mpi_meeting {
	uint32_t comm;
	uint64_t nth; /* operation of the communicator, as this rank counts */
	int32_t root;
	uint32_t part;
};

struct sn_mpi_local_comm {
	uint32_t process, id;
	uint32_t parent; /* + 1; 0: none */
	int32_t own_rank;
	bool is_inter, is_of_world;
	SN_VEC(int32_t) ranks;
	SN_VEC(int32_t) remote;
	uint32_t comm; /* index in sn_mpi.comms, once known; SN_NONE */
};

struct sn_mpi_build {
	const struct sn_experiment *experiment;
	struct sn_mpi *mpi;
	SN_VEC(struct sn_mpi_deed) deeds; /* by event */
	SN_VEC(struct sn_mpi_local_comm) comms;
	struct sn_map comm_index; /* process and id -> index + 1 */
	SN_VEC(struct sn_mpi_end) sends;
	SN_VEC(struct sn_mpi_end) receives;
	SN_VEC(struct sn_mpi_end)
	probes; /* blocking ones: a receive of what they found, that took nothing */
	SN_VEC(struct sn_mpi_meeting) meetings;
	int64_t *world_ns; /* by process: when MPI_Init had returned; 0: never */
	uint32_t *domains; /* by process: clocks that are one */
	uint32_t domain_count;
};

/** comms.c: the same communicators of all ranks become one. */
void sn_mpi_comms_join(struct sn_mpi_build *build);
/** The communicator of a process; NULL: never told. */
const struct sn_mpi_local_comm *sn_mpi_local_comm(const struct sn_mpi_build *build,
						  uint32_t process, uint64_t id);
/** The world rank of a communicator's rank (of the remote side of an intercommunicator); -1: unknown. */
int32_t sn_mpi_world_rank(const struct sn_mpi_local_comm *comm, int64_t rank);

/** requests.c: what each request and call sent, received, took part in. Fills sends, receives, parts. */
void sn_mpi_requests_follow(struct sn_mpi_build *build);

/** match.c: sends and receives become messages, parts operations. */
void sn_mpi_match(struct sn_mpi_build *build);

/** align.c: clocks of hosts, by messages. */
void sn_mpi_align(struct sn_mpi_build *build);

/** waits.c: who waited for whom. */
void sn_mpi_waits_find(struct sn_mpi *mpi);

static inline int64_t sn_mpi_signed(uint64_t value)
{
	return sn_trace_unzigzag(value);
}

#endif
