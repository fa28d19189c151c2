/** The collector of MPI calls: every call with its call path, what it sent and received, as events of a
 * trace (wire/mpi.h). */
#ifndef SN_RUNTIME_MPI_MPI_H
#define SN_RUNTIME_MPI_MPI_H

#include "runtime/core/collector.h"
#include "runtime/core/paths.h"
#include "runtime/core/trace.h"
#include "wire/mpi.h"

/* ---- the MPI library in this process ---- */

#define SN_MPI_NUMBER(number, name, ...) SN_##name = number,
enum { SN_MPI_FUNCTIONS(SN_MPI_NUMBER) };

/** What differs between libraries. */
struct sn_mpi_library {
	uint8_t kind;				 /* enum sn_mpi_library_kind; 0: not known yet */
	uint8_t handle_bytes;			 /* of MPI_Comm, MPI_Request, ... */
	uint8_t status_bytes, source_at, tag_at; /* of MPI_Status */
	int32_t any_source, nobody, root;
	int32_t cartesian, graph, distributed_graph; /* topologies */
	uint64_t world, self, comm_null, request_null, message_none;
	uint64_t status_ignore, in_place;
};
extern struct sn_mpi_library sn_mpi_library;

/** As the next library in line defines it: [2 * number] MPI_, [2 * number + 1] PMPI_. NULL: not looked up, or
 * there is none. */
extern void *sn_mpi_real[2 * SN_MPI_FUNCTION_COUNT];
/** Not 0: calls go through sn_mpi_enter. */
extern _Atomic uint32_t sn_mpi_is_on;

/** Looks a function up. NULL: this process has no MPI. */
void *sn_mpi_resolve(uint32_t index);
/** Learns which library this is. False: none that we know. Before and after MPI_Init. */
bool sn_mpi_find_library(void);
bool sn_mpi_install(enum sn_data_origin origin);
/** What stands for a function in a process without MPI, which found our names and asks whether it is begun: it
 * is not, and all else fails. */
void *sn_mpi_absent(uint32_t index);

/** Calls the library itself, past the program's own tools. */
#define SN_MPI_REAL(name, type)                                                                    \
	((type)(__builtin_expect(sn_mpi_real[2 * SN_##name + 1] != NULL, 1)                        \
			? sn_mpi_real[2 * SN_##name + 1]                                           \
			: sn_mpi_resolve(2 * SN_##name + 1)))

/* ---- a thread ---- */

enum { SN_MPI_TYPES = 16, SN_MPI_COMMS = 4096 };

struct sn_mpi_stream {
	struct sn_trace_writer writer;
	uint64_t last_tsc, time_tsc, time_gap, last_handle;
	uint32_t last_path, unmeasured;
	/* the call whose events are being written, for a piece that goes on with it */
	uint64_t begin_tsc, end_tsc;
	uint32_t function, path, error;
	bool is_in_call;
};

struct sn_mpi_type {
	uint64_t handle, bytes;
	uint32_t generation; /* 0: empty */
};

/** A communicator that is known; in the process's table. */
struct sn_mpi_comm {
	_Atomic uint64_t handle; /* + 1; 0: empty, UINT64_MAX: was freed */
	uint32_t id;
	int32_t rank, size, peers;     /* peers: of the remote group, or size */
	int32_t sources, destinations; /* neighbours; -1: not asked yet */
	bool is_inter;
};

struct sn_mpi_thread {
	struct sn_mpi_stream stream;
	struct sn_trace_writer counts_writer;
	struct sn_mpi_counts *counts; /* NULL: none yet, or none to be had */
	const uint64_t *outer;	      /* frame of the call that the thread is in; NULL: none */
	uint64_t before_ticks;	      /* what we took before that call */
	bool is_writing;
	struct sn_mpi_type types[SN_MPI_TYPES];
	struct sn_mpi_comm *last_comm;
	uint8_t *memory; /* handles and statuses of calls on many requests */
	uint64_t memory_bytes;
	struct sn_path_cache paths;
};
extern struct sn_collector sn_mpi_collector;

static inline struct sn_mpi_thread *sn_mpi_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_mpi_collector);
}

/** Of the process image; wiped on fork. */
struct sn_mpi_state {
	_Atomic uint32_t next_comm, comms_lock, type_generation;
	_Atomic uint32_t is_ready; /* MPI_Init has returned */
	struct sn_mpi_comm comms[SN_MPI_COMMS];
};
extern struct sn_mpi_state *sn_mpi_state;

/* ---- a call ---- */

/** On the stack of the call; stubs_handler.c lays it out. The first members are the function's arguments as they
 * are passed on: the handler may change them. */
struct sn_mpi_call {
	uint64_t stack[8]; /* the 7th argument and those behind it */
	uint64_t registers[6];
	const uint64_t *frame; /* rbp of the frame that calls on behalf of the program */
	uint64_t result;
	struct sn_thread *self;
	uint64_t begin_tsc;
	uint32_t function, path;
	uint32_t count;	 /* of requests that were read before the call */
	bool has_memory; /* its handles lie in the thread's memory, else in `handle` */
	bool is_local;
	uint64_t handle;   /* a request or message, before the call */
	uint8_t *statuses; /* where they come to be */
	uint8_t status[32];
};

struct sn_mpi_entry {
	void *real;
	uint64_t is_seen; /* sn_mpi_leave is to be called */
};

static inline uint64_t *sn_mpi_argument(struct sn_mpi_call *call, unsigned index)
{
	return index < 6 ? &call->registers[index] : &call->stack[index - 6];
}

struct sn_mpi_function {
	uint8_t arguments, meaning, form, is_large;
	int8_t comm_at, new_comm_at;
};
extern const struct sn_mpi_function sn_mpi_functions[SN_MPI_FUNCTION_COUNT];

/* ---- parts_handler.c ---- */

/** Before the call: notes what will be gone after it, and sees to it that there are statuses. */
void sn_mpi_prepare(struct sn_mpi_call *call, struct sn_mpi_thread *mpi);
/** After a call that succeeded: its events. `end_tsc` is when it returned. */
void sn_mpi_note(struct sn_mpi_call *call, struct sn_mpi_thread *mpi, uint64_t end_tsc);

/* ---- comms_handler.c ---- */

/** The communicator; it is told of if it is new. NULL: it is none, or there is no room. */
struct sn_mpi_comm *sn_mpi_comm_of(struct sn_thread *self, struct sn_mpi_thread *mpi,
				   uint64_t handle);
/** It was made from `parent` (NULL: not known). */
void sn_mpi_comm_made(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t handle,
		      const struct sn_mpi_comm *parent);
void sn_mpi_comm_freed(struct sn_thread *self, struct sn_mpi_thread *mpi, uint64_t handle);
void sn_mpi_world_begins(struct sn_thread *self, struct sn_mpi_thread *mpi);
/** Neighbours in the communicator's topology. */
void sn_mpi_neighbours(struct sn_mpi_comm *comm, uint64_t handle);
/** 0: not known. */
uint64_t sn_mpi_type_bytes(struct sn_mpi_thread *mpi, uint64_t handle);

static inline uint64_t sn_mpi_handle(uint64_t word)
{
	return sn_mpi_library.handle_bytes == 4 ? (uint32_t)word : word;
}

static inline uint64_t sn_mpi_handle_at(const void *array, uint64_t index)
{
	if (sn_mpi_library.handle_bytes == 4)
		return ((const uint32_t *)array)[index];
	return ((const uint64_t *)array)[index];
}

/* ---- stream_handler.c ---- */

/** Begins a call's events. False: there is no room, the call is lost and counted. */
bool sn_mpi_put_call(struct sn_thread *self, struct sn_mpi_thread *mpi,
		     const struct sn_mpi_call *call, uint64_t end_tsc);
void sn_mpi_end_call(struct sn_mpi_thread *mpi);
/** An event of numbers after its tag, and a handle behind them (NULL: none). */
void sn_mpi_put(struct sn_thread *self, struct sn_mpi_thread *mpi, uint8_t tag,
		const uint64_t *values, uint32_t count, const uint64_t *handle);
/** At least so much memory of the thread's; what it held stays if it is enough already. NULL: none to be had. */
uint8_t *sn_mpi_memory(struct sn_mpi_thread *mpi, uint64_t bytes);
/** The thread's counts; NULL: there is no slot for them. */
struct sn_mpi_counts *sn_mpi_counts_of(struct sn_thread *self, struct sn_mpi_thread *mpi);

#endif
