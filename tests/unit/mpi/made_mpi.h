/** Traces of MPI made event by event, as the runtime would write them. One tick is one nanosecond. */
#ifndef MADE_MPI_H
#define MADE_MPI_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/experiment.h"
#include "wire/mpi.h"

enum { MADE_RANKS = 4, MADE_START = 1000000 };

struct made_rank {
	union {
		struct sn_trace_piece piece;
		uint8_t bytes[SN_TRACE_SLOT_BYTES];
	};
	uint8_t *end;
	uint64_t tsc, handle;
};

struct made_run {
	struct made_rank ranks[MADE_RANKS];
	uint32_t count;
};

#define MADE_NUMBER(number, name, ...) made_##name = number,
enum { SN_MPI_FUNCTIONS(MADE_NUMBER) };

static inline uint64_t made_signed(int64_t value)
{
	return sn_trace_zigzag(value);
}

/* An event of `count` numbers. */
static inline void made_put(struct made_rank *made, int tag, int count, ...)
{
	va_list values;

	*made->end++ = (uint8_t)tag;
	va_start(values, count);
	for (int i = 0; i < count; i++)
		made->end = sn_trace_put(made->end, va_arg(values, uint64_t));
	va_end(values);
	made->piece.committed_bytes = (uint32_t)(made->end - made->bytes);
}

/* The same with a handle behind it. */
#define made_put_handle(made, tag, handle_is, count, ...)                                          \
	do {                                                                                       \
		int64_t made_difference = (int64_t)((uint64_t)(handle_is) - (made)->handle);       \
		(made)->handle = (uint64_t)(handle_is);                                            \
		made_put(made, (tag) | SN_MPI_HAS_HANDLE, (count) + 1, ##__VA_ARGS__,              \
			 made_signed(made_difference));                                            \
	} while (0)

static inline void made_call(struct made_rank *made, int function, uint64_t t0, uint64_t t1)
{
	made_put(made, SN_MPI_CALL | SN_MPI_SAME_PATH, 3, (uint64_t)function,
		 made_signed((int64_t)(MADE_START + t0 - made->tsc)), t1 - t0);
	made->tsc = MADE_START + t1;
}

/* Every rank has called MPI_Init and knows MPI_COMM_WORLD as 0. */
static inline void made_begin(struct made_run *run, uint32_t count)
{
	memset(run, 0, sizeof(*run));
	run->count = count;
	for (uint32_t r = 0; r < count; r++) {
		struct made_rank *made = &run->ranks[r];

		made->piece = (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
						       .number = 0,
						       .pid = (int32_t)(100 + r),
						       .kind = SN_TRACE_MPI,
						       .base_ns = MADE_START,
						       .base_tsc = MADE_START };
		made->end = made->bytes + sizeof(made->piece);
		made->tsc = MADE_START;
		made_call(made, made_MPI_Init, 0, 10);
		made_put(made, SN_MPI_COMM, 9, 0UL, 0UL, made_signed(r), (uint64_t)count, 0UL, 1UL,
			 made_signed(0), made_signed(1), (uint64_t)count);
		made_put(made, SN_MPI_WORLD, 4, (uint64_t)r, (uint64_t)count, 1UL, 0UL);
	}
}

static inline void made_send(struct made_rank *made, uint64_t t0, uint64_t t1, int to, int tag,
			     uint64_t bytes)
{
	made_call(made, made_MPI_Send, t0, t1);
	made_put(made, SN_MPI_SEND, 4, made_signed(to), made_signed(tag), 0UL, bytes);
}

static inline void made_receive(struct made_rank *made, uint64_t t0, uint64_t t1, int from, int tag,
				int came_from, int came_tag, uint64_t bytes)
{
	made_call(made, made_MPI_Recv, t0, t1);
	made_put(made, SN_MPI_RECV, 4, made_signed(from), made_signed(tag), 0UL, 1000UL);
	made_put(made, SN_MPI_DONE, 3, made_signed(came_from), made_signed(came_tag), bytes);
}

static inline void made_collective(struct made_rank *made, int function, uint64_t t0, uint64_t t1,
				   int root, uint64_t bytes)
{
	made_call(made, function, t0, t1);
	made_put(made, SN_MPI_COLLECTIVE, 4, 0UL, (uint64_t)(root + 1), bytes, bytes);
}

/* The experiment with these ranks' traces. A time that lies 1 ms later makes ticks nanoseconds. */
static inline struct sn_experiment *made_experiment(struct made_run *run, const char *path)
{
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fopen(path, "w");

	for (uint32_t r = 0; r < run->count; r++) {
		struct made_rank *made = &run->ranks[r];

		made_put(made, SN_MPI_TIME, 2, MADE_START + 1000000 - made->tsc, 1000000UL);
		fwrite(made->bytes, 1, sn_trace_disk_bytes(made->piece.committed_bytes), out);
		sn_vec_push(&e->processes, (struct sn_process){ .pid = (int32_t)(100 + r),
								.host = "h",
								.clock_offset_ns = -MADE_START,
								.end_ns = 2000000 });
	}
	fclose(out);
	e->elapsed_ns = 2000000;
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	return e;
}

#endif
