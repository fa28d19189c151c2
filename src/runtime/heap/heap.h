/**
 * The collector of the heap: every allocation with its call path, every release, as events of a trace
 * (wire/heap.h). It is in a build of the runtime of its own, which only --heap loads: interposing
 * malloc would cost every other recorded program a jump at each call.
 */
#ifndef SN_RUNTIME_HEAP_HEAP_H
#define SN_RUNTIME_HEAP_HEAP_H

#include "runtime/core/collector.h"
#include "runtime/core/paths.h"
#include "runtime/core/trace.h"
#include "wire/heap.h"

enum {
	SN_HEAP_NOTED = 4,
};

/** One writer's place in its stream of events. */
struct sn_heap_stream {
	struct sn_trace_writer writer;
	uint64_t last_tsc, last_address, time_tsc; /* time_tsc: of the last TIME, or the base */
	uint64_t time_gap;			   /* ticks until the next TIME */
	uint32_t unmeasured;			   /* events until one is measured */
	uint32_t last_path;
	uint64_t holder; /* frame of the function that writes at the moment; 0: none */
};

/** Calls of an allocator's functions from within each other, of this thread, whether or not it is one
 * of ours. */
struct sn_heap_nest {
	const uint64_t *outer_frame; /* of the wrapper that the program called; NULL: none */
	uint64_t outer_bytes, inside_start, inside_end; /* the allocator's code */
	uint8_t outer_kind;
	const void *skipped_free;	  /* its release is written already */
	const void *noted[SN_HEAP_NOTED]; /* the latest allocations */
	uint32_t noted_count;
};
extern __thread struct sn_heap_nest sn_heap_nest __attribute__((tls_model("initial-exec")));

/** What the collector knows of a thread; in scratch. */
struct sn_heap_thread {
	/* the second is for a signal handler that interrupts the first */
	struct sn_heap_stream streams[2];
	/* aggregate mode */
	const void *latest;	   /* allocation */
	int64_t pending_bytes;	   /* allocated less released, not yet in the process's sum */
	uint32_t unmeasured_frees; /* releases until one is measured */

	struct sn_path_cache paths;
};
extern struct sn_collector sn_heap_collector;

struct sn_heap_sums;   /* heap/sums_handler.c */
struct sn_heap_sample; /* heap/sample_handler.c */

/** Of the process image; wiped on fork. */
struct sn_heap_state {
	_Atomic uint32_t is_on;
	/* for threads that are none of ours */
	_Atomic uint32_t stray_lock;
	struct sn_heap_stream stray;
	uint32_t mode;		   /* enum sn_heap_mode */
	uint64_t interval_bytes;   /* SN_HEAP_SAMPLE */
	struct sn_heap_head *head; /* with SN_HEAP_AGGREGATE and SN_HEAP_SAMPLE */
	struct sn_heap_sums *sums;
	struct sn_heap_sample *sample;
};
extern struct sn_heap_state *sn_heap_state; /* never NULL */

static inline bool sn_heap_is_on(void)
{
	return atomic_load_explicit(&sn_heap_state->is_on, memory_order_relaxed) && sn_is_active();
}

/** What is to be known of a block before the allocator may give its address to somebody else. */
struct sn_heap_release {
	uint64_t tsc;
	uint64_t block; /* aggregate: what was known of it; sample: whether it was met */
};

/** An allocation by the function with this frame has returned. */
void sn_heap_note_allocation(const uint64_t *frame, const void *block, uint64_t bytes,
			     enum sn_heap_event kind);
/** A block is about to be released. */
void sn_heap_note_release(const uint64_t *frame, const void *block);
/** The same in two steps, of what may fail: before the call, and after it. */
void sn_heap_release_begin(const void *block, struct sn_heap_release *release);
void sn_heap_release_end(const uint64_t *frame, const void *block,
			 const struct sn_heap_release *release, bool is_released);

/* ---- heap/events_handler.c, for the other modes ---- */
static inline struct sn_heap_thread *sn_heap_thread_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_heap_collector);
}

/** The stream to write to, held from here on: the second one if a signal interrupted the first. NULL: the
 *  event is lost, counted. */
struct sn_heap_stream *sn_heap_hold(struct sn_thread *self, struct sn_heap_thread *heap,
				    const uint64_t *frame);
static inline void sn_heap_let_go(struct sn_heap_stream *stream)
{
	atomic_signal_fence(memory_order_seq_cst);
	stream->holder = 0;
}

/* ---- heap/sums_handler.c: aggregate, and the head of both new modes ---- */

/** Set-up: the first piece of sums, the tables of the mode. False: there is no room. */
bool sn_heap_sums_open(enum sn_heap_mode mode, uint64_t interval_bytes);
void sn_heap_sums_allocation(const uint64_t *frame, const void *block, uint64_t bytes,
			     enum sn_heap_event kind);
/** Takes a block out of the table. Gives what sn_heap_sums_release needs; 0: it is not known. */
uint64_t sn_heap_sums_take_out(const void *block);
void sn_heap_sums_put_back(const void *block, uint64_t known);
void sn_heap_sums_release(const void *block, uint64_t known);

/* ---- heap/sample_handler.c ---- */

bool sn_heap_sample_open(void);
/** Whether this allocation is met by the sample. */
bool sn_heap_sample_meets(uint64_t bytes);
/** Remembers a block that was met. False: there is no room, and it is to be left out. */
bool sn_heap_sample_keep(const void *block);
bool sn_heap_sample_knows(const void *block);
/** False: another one has taken it out meanwhile. */
bool sn_heap_sample_take_out(const void *block);

/* heap/setup_heap.c: the functions of the next library in line that has them */
#define SN_HEAP_REAL(X)                                                                            \
	X(void *, c_alloc, (size_t))                                                               \
	X(void, c_release, (void *))                                                               \
	X(void *, c_zeroed, (size_t, size_t))                                                      \
	X(void *, c_resize, (void *, size_t))                                                      \
	X(void *, c_resize_array, (void *, size_t, size_t))                                        \
	X(void *, c_memalign, (size_t, size_t))                                                    \
	X(void *, c_aligned, (size_t, size_t))                                                     \
	X(int, c_posix, (void **, size_t, size_t))                                                 \
	X(void *, c_valloc, (size_t))                                                              \
	X(void *, c_pvalloc, (size_t))
#define SN_HEAP_MEMBER(type, name, parameters) type(*name) parameters;

enum { SN_HEAP_NEWS = 8, SN_HEAP_DELETES = 12 };

struct sn_heap_real {
	SN_HEAP_REAL(SN_HEAP_MEMBER)
	void *(*news[SN_HEAP_NEWS])(size_t, size_t, size_t);
	void (*deletes[SN_HEAP_DELETES])(void *, size_t, size_t);
	uint64_t c_start, c_end, new_start, new_end; /* the libraries of malloc and operator new */
};
extern struct sn_heap_real sn_heap_real;
void sn_heap_resolve(void);
void sn_heap_load(void);
bool sn_heap_install(enum sn_data_origin origin);
/* heap/setup_deep.c: libraries that would call an allocator past us */
/** Those that are there as the program begins are none. */
void sn_heap_know_libraries(void);
/** operator new or delete of a library that came later; from where it is called. */
void *sn_heap_find_later(const char *name, uint64_t caller);

#endif
