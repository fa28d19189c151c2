/**
 * The data file: what one process image (exec begins a new one) recorded, as it lies on disk.
 *
 *   [header, SN_DATA_HEADER_BYTES][chunk 0][chunk 1]...      little-endian, x86-64 only
 *
 * Named HOST.PID.SEQUENCE.live in the data folder. The runtime creates it (O_EXCL, the sequence
 * counts up), maps SN_DATA_MAP_BYTES of it MAP_SHARED, closes the descriptor, and from then on only
 * stores to memory; the kernel owns the bytes, so a SIGKILL at any instruction loses nothing that
 * was committed.
 *
 * Growing: chunks below header.chunks_backed are backed by disk space. The runtime backs the first
 * SN_DATA_CHUNKS_FIRST; after that the launcher watches header.next_chunk, extends the file with
 * fallocate so that SN_DATA_CHUNKS_AHEAD more than next_chunk are backed, then stores the new
 * chunks_backed with release order. A writer that draws a number >= chunks_backed gets nothing and
 * counts SN_LOSS_NO_SPACE (it may find more later, so next_chunk is left as it is).
 *
 * Chunks: SN_DATA_CHUNK_BYTES each, first a struct sn_chunk_header, then records, each starting at
 * a multiple of 8. `committed_bytes` (release store after the record's bytes) says how far the
 * chunk can be read, chunk header included; beyond it is garbage. One thread at a time writes to a
 * chunk; a chunk that a finished thread left half full is continued by another, so the owner is
 * said by OWNER records: every chunk's first record is one. A thread's chunks are in the order of
 * their OWNER's base_ns. Within a thread samples come in the order of time; a WAIT is written when
 * it ends but carries its begin, so samples may lie before it that are later.
 *
 * Times are CLOCK_MONOTONIC of the host, in ns, unless a name says otherwise.
 */
#ifndef SN_WIRE_DATA_H
#define SN_WIRE_DATA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/build_id.h"
#include "wire/kinds.h"

#define SN_DATA_MAGIC  0x544144454e4f53ULL /* "SONEDAT" and a zero byte */
#define SN_CHUNK_MAGIC 0x4b4e4843u	   /* "CHNK" */

enum {
	SN_DATA_VERSION = 1,
	SN_DATA_HEADER_BYTES = 4096,
	SN_DATA_CHUNK_BYTES = 8192,
	SN_DATA_CHUNKS_FIRST =
		128, /* 1 MB: backed by the runtime at start; a quarter after a fork */
	SN_DATA_CHUNKS_AHEAD = 512, /* 4 MB: what the launcher keeps ahead */
	SN_DATA_HOST_MAX = 64,
	SN_DATA_STRING_MAX = 4000, /* bytes of text in one record; longer text is cut, flagged */
	SN_DATA_SEGMENT_MAX = 64,  /* frames in one STACK record */
	SN_TALLY_NAME_BYTES = 16,
	SN_DATA_LOSSES_MAX = 16, /* counters of losses in the header */
};
#define SN_DATA_MAP_BYTES                                                                          \
	(1ULL << 32) /* address space reserved for the file: the largest it can be */

/** The mechanisms that give samples; the first is the best. The header has the one in use; changes
 * are WARNINGs. */
enum sn_mechanism {
	SN_MECHANISM_OFF,
	SN_MECHANISM_PERF_SIGNAL,  /* a task-clock event per thread, with a signal */
	SN_MECHANISM_THREAD_TIMER, /* timer_create on each thread's CPU clock */
	SN_MECHANISM_ITIMER_PROF,  /* setitimer: one for the process */
	SN_MECHANISM_PERF_RING,	   /* from outside, through ring buffers */
};

enum sn_data_state {
	SN_DATA_STARTING, /* the constructor is not through: the rest of the header may be zero */
	SN_DATA_RUNNING,
	SN_DATA_EXITED, /* exit or _exit; exit_code holds */
	SN_DATA_EXECED, /* an exec took place (or was about to); the next SEQUENCE of this pid
			    follows */
	/* abort or a fatal signal that we saw coming; the launcher knows the rest */
	SN_DATA_ABORTED,
};

/** Who paused the measurement: it goes on when neither does. */
enum sn_paused {
	SN_PAUSED_BY_LAUNCHER = 1, /* --delay, --duration, --pause-signal */
	SN_PAUSED_BY_PROGRAM = 2,  /* sonde_pause */
};

/** How the process came to be. */
enum sn_data_origin {
	SN_DATA_ORIGIN_EXEC,	/* a new program */
	SN_DATA_ORIGIN_FORK,	/* a fork without exec (so far) */
	SN_DATA_ORIGIN_OUTSIDE, /* sampled from outside; no runtime in the process */
};

/** Page 0. Fields marked atomic change while others read; all others are set before RUNNING. */
struct sn_data_header {
	uint64_t magic;
	uint32_t version, header_bytes, chunk_bytes;
	_Atomic uint32_t state; /* enum sn_data_state; release */

	_Atomic uint32_t next_chunk;	/* chunks handed out, never more than chunks_backed */
	_Atomic uint32_t chunks_backed; /* written by the runtime once, then by the launcher only */
	uint32_t chunks_max;		/* the launcher never backs more */
	uint32_t origin;		/* enum sn_data_origin */

	int32_t pid, parent_pid;
	uint32_t sequence;	  /* of this image within pid, from 0 */
	uint32_t parent_sequence; /* fork: the image that forked; else 0xffffffff */
	int32_t rank;		  /* from the MPI launcher's variables; -1: none */
	int32_t rank_count;	  /* -1: unknown */
	uint32_t uid;
	uint32_t follows_exec;	  /* 1: an image before it in the same process was measured, too */
	uint64_t namespace_inode; /* of /proc/self/ns/pid: tells containers apart; 0: unknown */

	int64_t start_ns;	   /* CLOCK_MONOTONIC when the constructor ran */
	int64_t start_realtime_ns; /* CLOCK_REALTIME at the same moment */
	int64_t process_start_ns;  /* the kernel's start of the process (exec images: of this image,
				      as near as we know), CLOCK_MONOTONIC */
	_Atomic int64_t end_ns, end_realtime_ns; /* the pair at exit; 0 while running */
	_Atomic int32_t exit_code;		 /* as given to exit; -1: unknown */
	_Atomic uint32_t mechanism;		 /* enum sn_mechanism, the current one */
	uint64_t period_ns;			 /* requested; 0: no sampling */

	/* CPU time of the image, from getrusage at start and end (or the latest packet): an image
	 * that follows an exec in the same process starts above zero. */
	int64_t start_user_ns, start_system_ns;
	_Atomic int64_t end_user_ns, end_system_ns;
	_Atomic int64_t end_wait_cpu_ns; /* of all threads that we asked; -1: unknown */

	_Atomic uint64_t lost[SN_DATA_LOSSES_MAX]; /* by enum sn_loss */
	_Atomic uint64_t handler_ns;  /* time inside our handlers and hooks (sampled, scaled up) */
	_Atomic uint64_t overhead_ns; /* the same, set-up and ends of threads; the launcher adds
					 what signals and switches cost when it gathers the file */
	_Atomic uint64_t handler_count; /* signals handled */
	_Atomic uint64_t switch_count; /* context switches of threads while they carried an event */
	_Atomic uint64_t raw_clone_threads;
	_Atomic uint64_t threads_started;	/* every thread, the main one included */
	_Atomic uint64_t children_not_followed; /* setuid, 32-bit, static, by --follow */
	uint64_t reserved2[2];			/* 0; of older files, two counts that nobody read */
	_Atomic uint32_t is_paused;		/* bits of enum sn_paused; 0: measuring */
	_Atomic uint32_t children_forked;	/* each is to bring a file of its own */

	char host[SN_DATA_HOST_MAX];
	char program[1024]; /* the name executed, else /proc/self/exe; cut if longer */
	char job[256];	    /* namespace or job id and step of the MPI launcher, "" if none */

	/* what the launcher learns once a second, for the runtime's packets */
	_Atomic int64_t packet_ns;	 /* when either of them last wrote a packet */
	_Atomic int64_t wait_cpu_ns;	 /* of the threads alive; 0: not known */
	_Atomic uint64_t resident_bytes; /* 0: not known */

	_Atomic uint64_t switch_after_count; /* context switches of threads after their events */
	_Atomic uint64_t timed_calls;	     /* that may block: two readings of the counter each */
	_Atomic uint64_t timer_signals;	     /* of handler_count: samples by CPU timers */

	/* what the launcher learns with resident_bytes: rchar and wchar of /proc/PID/io, and how
	 * long some task of the host waited for each resource since it was booted; -1: not known */
	_Atomic int64_t io_read_bytes, io_write_bytes;
	_Atomic int64_t pressure_cpu_ns, pressure_io_ns, pressure_memory_ns;
	int64_t start_wait_cpu_ns; /* what the first thread had waited for a CPU until start_ns: for
				    * its exec and the loader */
	uint64_t period_later_ns,
		burst_ns;		 /* requested, by record --clock auto; 0: period_ns stays */
	_Atomic uint64_t own_read_bytes; /* of rchar: what packets of the runtime read from /proc */

	/* perf events that expired in the kernel: an interrupt each, and no signal */
	_Atomic uint64_t kernel_interrupts;
	_Atomic uint64_t
		lock_samples_ns;      /* of overhead_ns: what samples found in wrappers of locks */
	_Atomic uint64_t trace_ticks; /* what tracing cost, by the time-stamp counter */
	uint64_t overhead_doubt_ns;   /* by the launcher: overhead_ns may be more or less by this */

	/* copies of loops (wire/plan.h): how many were put in place */
	_Atomic uint32_t copied_loops;
	/* by the launcher, 1: what is left of the space is for all but accesses to memory */
	_Atomic uint32_t is_space_scarce;
	_Atomic uint32_t has_accesses_ended; /* 1: for that reason none were recorded any more */
};

/** The OWNER of chunks that the launcher writes: no thread of the process. */
#define SN_DATA_LAUNCHER 0xffffffffu

struct sn_chunk_header {
	uint32_t magic;
	uint32_t index;			  /* its own number */
	_Atomic uint32_t committed_bytes; /* from the chunk's start; 0: nothing yet */
	uint32_t free_next;		  /* the writers' own: list of half-full chunks */
	uint64_t reserved[2];
};

enum sn_record_type {
	SN_RECORD_NONE,
	SN_RECORD_SAMPLE = 1, /* the only one without a size: 16 bytes */
	SN_RECORD_OWNER,
	SN_RECORD_TIME,
	SN_RECORD_CPU,
	SN_RECORD_STACK,
	SN_RECORD_MAP,
	SN_RECORD_UNMAP,
	SN_RECORD_THREAD_START,
	SN_RECORD_THREAD_ACCOUNT,
	SN_RECORD_THREAD_END,
	SN_RECORD_WAIT,
	SN_RECORD_PACKET,
	SN_RECORD_TEXT,
	SN_RECORD_EXEC,
	SN_RECORD_FORK,
	SN_RECORD_TASK, /* a struct sn_record_thread_account by the launcher: thread_index is the
			   tid */
	SN_RECORD_TALLY,
	SN_RECORD_CHILD_KILLED,
	SN_RECORD_REGISTERS,
	SN_RECORD_INSTANCES, /* changes while the process runs, as the next one */
	SN_RECORD_BUCKET,
	SN_RECORD_PATH,
	SN_RECORD_VARIANT, /* changes likewise */
	SN_RECORD_COUNTER,
	SN_RECORD_COUNT,
	SN_RECORD_ACCESS_TABLE,
	SN_RECORD_ACCESSES,
	SN_RECORD_CALLER, /* changes likewise */
	SN_RECORD_THREAD_POINTER,
	SN_RECORD_BLOCKS, /* changes likewise */
	SN_RECORD_KINDS,
};

/** One observation. stack 0: none (counted among the losses, or a remainder). */
struct sn_record_sample {
	uint8_t type, flags; /* SN_RECORD_SAMPLE, enum sn_sample_flags */
	uint16_t cpu;
	uint32_t stack;
	uint32_t time_ns; /* since the owner's base time in this chunk */
	uint32_t cpu_ns;  /* CPU time since the owner's previous sample, see SN_RECORD_CPU */
};

/** The first 4 bytes of every other record. size_bytes includes them and is a multiple of 8. */
struct sn_record_header {
	uint8_t type, flags;
	uint16_t size_bytes;
};

/** Records that follow in this chunk belong to this thread, and their times are relative to
 * base_ns. */
struct sn_record_owner {
	struct sn_record_header header;
	uint32_t thread_index; /* from 0, in order of start; never reused */
	int32_t tid;
	uint32_t reserved;
	int64_t base_ns;
};

/** Samples that follow in this chunk are relative to base_ns. */
struct sn_record_time {
	struct sn_record_header header;
	uint32_t reserved;
	int64_t base_ns;
};

/** Add cpu_ns to that of the next sample: its 32 bits were too few. */
struct sn_record_cpu {
	struct sn_record_header header;
	uint32_t reserved;
	uint64_t cpu_ns;
};

/**
 * Frames, leaf first: the pc, then return addresses, of the process. After the last comes the stack
 * `parent` (0: nothing more). A long stack is a chain of such segments; so is a worker's stack that
 * was stitched to its region's creator. header.flags: enum sn_stack_flags, set on
 * the outermost segment (COMPLETE and what cut it) and, for STITCHED, on the segment that was
 * joined; a reader ors them along the chain (COMPLETE of the outermost counts). An id may be used
 * by samples of other threads before this record is met: read all stacks first. Ids are unique in
 * the file; ids >= SN_RECORD_STACK_RAW were not interned (the table was full).
 */
#define SN_RECORD_STACK_RAW 0x80000000u
struct sn_record_stack {
	struct sn_record_header header;
	uint32_t id, parent;
	uint32_t depth; /* <= SN_DATA_SEGMENT_MAX */
	uint64_t pc[];
};

/** A call path of a trace (wire/trace.h): the frame at `pc`, a return address, called by the path
 *  `parent` (0: by nobody we know). Ids count from 1 in the file, with holes, apart from those of
 *  stacks. SN_RECORD_PATH_SITE says, in a second record, that events refer to it. */
enum { SN_RECORD_PATH_SITE = 1 };
struct sn_record_path {
	struct sn_record_header header;
	uint32_t id, parent, reserved;
	uint64_t pc;
};

enum sn_record_map_flags {
	SN_RECORD_MAP_MAIN = 1, /* the executable itself */
	SN_RECORD_MAP_VDSO = 2,
	SN_RECORD_MAP_ANONYMOUS = 4, /* executable memory without a file: JIT */
	SN_RECORD_MAP_DELETED = 8,   /* the file was gone already */
	SN_RECORD_MAP_KERNEL = 16,   /* the kernel's: "[kernel]", "[ext4]"; addresses are its own */
};

/** An executable range of a module, mapped from time_ns on. */
struct sn_record_map {
	struct sn_record_header header;
	uint32_t path_bytes; /* without a final zero, which is there */
	int64_t time_ns;
	uint64_t load_start, load_end;
	uint64_t load_bias;   /* link_addr = load_addr - load_bias */
	uint64_t file_offset; /* of load_start */
	uint8_t build_id_bytes;
	uint8_t build_id[SN_BUILD_ID_MAX];
	char path[7]; /* and on, to the end of the record */
};

struct sn_record_unmap {
	struct sn_record_header header;
	uint32_t reserved;
	int64_t time_ns;
	uint64_t load_start, load_end; /* every mapping inside has ended */
};

struct sn_record_thread_start {
	struct sn_record_header header;
	uint32_t thread_index;
	int32_t tid;
	uint32_t creator_index; /* 0xffffffff: the main thread, or unknown */
	int64_t time_ns;
	uint64_t start_routine; /* load address, 0 for the main thread */
	uint32_t create_stack;	/* stack of pthread_create in the creator, 0: unknown */
	uint32_t
		since_made_ns; /* from the call of pthread_create to time_ns; 0: not known, or longer */
};

/** The kernel's account of a thread, at its end (THREAD_END) or the latest so far (ACCOUNT). */
struct sn_record_thread_account {
	struct sn_record_header
		header; /* flags: CPUs that it may run on, 255 or more; 0: not known */
	uint32_t thread_index;
	int64_t time_ns;
	int64_t user_ns,
		system_ns;   /* rusage: the sum is exact, the split as fine as the kernel's */
	int64_t cpu_ns;	     /* CLOCK_THREAD_CPUTIME_ID, since the thread's start */
	int64_t wait_cpu_ns; /* schedstat; -1: not known */
	uint64_t voluntary_switches, involuntary_switches;
	uint64_t minor_faults, major_faults;
	char name[16]; /* comm, zero-filled */
};

/** A call that blocked. Where a wait is likely to be long, the record is written when the wait
 * begins, and SN_RECORD_WAIT_OPEN is replaced by the duration when it ends. If it turns out too
 * short, SN_RECORD_WAIT_VOID is set. */
struct sn_record_wait {
	struct sn_record_header header; /* flags: enum sn_wait_kind, maybe VOID */
	uint32_t stack;
	int64_t time_ns; /* when it began */
	uint64_t duration_ns;
};
enum { SN_RECORD_WAIT_VOID = 0x80 };
#define SN_RECORD_WAIT_OPEN UINT64_MAX

/** A sum that a collector kept by call path in the target, of the owner's thread: so many events, and
 *  what their values add up to (bytes, ns, or whatever the collector says). There may be several of
 *  one name and stack: a reader adds them. */
struct sn_record_tally {
	struct sn_record_header header;
	uint32_t stack;
	uint64_t count, value;
	char name[SN_TALLY_NAME_BYTES]; /* of what; zero-filled */
};

/** The general registers of some samples of user time, as they were before the instruction at the
 *  stack's first pc: with the code around it they tell which addresses it uses, and how far loops
 *  came between two samples. In the numbering of instructions: rax rcx rdx rbx rsp rbp rsi rdi r8 ...
 *  r15. Written behind its sample. */
struct sn_record_registers {
	struct sn_record_header header;
	uint32_t stack;
	int64_t time_ns;
	uint64_t values[16];
};

/** A counter that overflows (wire/counters.h), once in a file, before its counts. */
struct sn_record_counter {
	struct sn_record_header header;
	uint32_t index;
	uint64_t period; /* events from one overflow to the next */
	uint64_t hz;	 /* the counts are of a clock of this rate; 0: no clock */
	uint32_t flags;	 /* enum sn_counter_flags */
	uint32_t reserved;
	char name[64]; /* zero-filled */
};

enum sn_count_flags {
	SN_COUNT_ADDRESS = 1, /* `address`, and what the processor says of the access */
	SN_COUNT_EXACT =
		2, /* `pc` is the instruction's own; the stack's first may be a later one */
	SN_COUNT_IN_KERNEL =
		4, /* the event happened in the kernel, which the stack's first called */
};

/** An overflow of a counter of the owner's, or several at once. Without SN_COUNT_ADDRESS and
 *  SN_COUNT_EXACT the record ends before pc. */
struct sn_record_count {
	struct sn_record_header header; /* flags: enum sn_count_flags */
	uint32_t stack;
	int64_t time_ns;
	uint64_t count;	  /* of events that it stands for: periods, and overflows that were lost */
	uint16_t counter; /* index */
	uint16_t cpu;
	uint16_t
		counted_share; /* of the time so far in which it was counted, 65535: all; less where
				   the processor counts more events in turn than it can at once */
	uint16_t reserved;
	uint64_t pc, address;
	uint64_t data_source; /* as in perf's PERF_SAMPLE_DATA_SRC; 0: unknown */
	uint64_t weight;      /* of the access, mostly cycles; 0: unknown */
};
enum { SN_COUNT_BYTES_LEAST = offsetof(struct sn_record_count, pc) };

/** The global data of a process, since it began: each second while it runs (record --packets), and
 * at events. Records of older versions end before io_read_bytes; their label_bytes is 0. */
struct sn_record_packet {
	struct sn_record_header header; /* flags: enum sn_packet_kind */
	uint32_t label_bytes;		/* without a final zero, which is there if it is not 0 */
	int64_t time_ns;
	int64_t user_ns, system_ns, wait_cpu_ns; /* of the process so far; -1: unknown */
	uint64_t minor_faults, major_faults;
	uint64_t voluntary_switches, involuntary_switches; /* UINT64_MAX: unknown */
	uint64_t resident_bytes;			   /* 0: unknown */
	/* rchar and wchar of /proc/PID/io; and of the host, since it was booted, the time in which
	 * some task waited for the resource (the first line of /proc/pressure); -1: unknown */
	int64_t io_read_bytes, io_write_bytes;
	int64_t pressure_cpu_ns, pressure_io_ns, pressure_memory_ns;
	char label[];
};
enum { SN_PACKET_BYTES_LEAST = offsetof(struct sn_record_packet, io_read_bytes) };

enum sn_text_kind {
	SN_TEXT_ARGUMENT,    /* one per word, in order */
	SN_TEXT_ENVIRONMENT, /* NAME=value; values of redacted names are "***" */
	SN_TEXT_FOLDER,
	SN_TEXT_WARNING, /* a sentence for people */
	SN_TEXT_RESERVED,
	SN_TEXT_JIT,	 /* path of a jitdump or perf map file that the process wrote */
	SN_TEXT_PROGRAM, /* path of the executable, as /proc/self/exe says */
	SN_TEXT_TITLE,	 /* what the process wrote over its command line (setproctitle) */
};
enum { SN_TEXT_CUT = 0x80 }; /* or'ed into flags: the text was longer */

struct sn_record_text {
	struct sn_record_header header; /* flags: enum sn_text_kind, maybe SN_TEXT_CUT */
	uint32_t text_bytes;		/* without a final zero, which is there */
	char text[];
};

/** A child that this process waited for was ended by a signal. */
struct sn_record_child_killed {
	struct sn_record_header header;
	int32_t child_pid;
	int64_t time_ns;
	int32_t signal, reserved;
};

enum sn_record_exec_flags {
	SN_RECORD_EXEC_FAILED = 1,  /* the exec came back */
	SN_RECORD_EXEC_SPAWNED = 2, /* by posix_spawn, system, popen, vfork: in child_pid */
	/* why the new program is not measured; the launcher says it */
	SN_RECORD_EXEC_NOT_FOLLOWED = 4, /* by --follow */
	SN_RECORD_EXEC_SETUID = 8,
	SN_RECORD_EXEC_STATIC = 16,
	SN_RECORD_EXEC_FOREIGN = 32, /* 32-bit or another machine */
};

struct sn_record_exec {
	struct sn_record_header header;
	int32_t child_pid; /* 0: this process */
	int64_t time_ns;
	uint32_t path_bytes;
	char path[4]; /* and on, to the end of the record */
};

struct sn_record_fork {
	struct sn_record_header header;
	int32_t child_pid;
	int64_t time_ns;
};

_Static_assert((int)SN_LOSS_KINDS <= (int)SN_DATA_LOSSES_MAX, "each cause has its counter");
_Static_assert((int)SN_WAIT_KINDS <= (int)SN_RECORD_WAIT_VOID, "a kind and VOID share a byte");
_Static_assert(sizeof(struct sn_data_header) <= SN_DATA_HEADER_BYTES, "the header fits its page");
_Static_assert(sizeof(struct sn_record_sample) == 16, "16 bytes a sample");
_Static_assert(sizeof(struct sn_chunk_header) == 32, "chunk header");

/** The offset of chunk `index` in the file and in its mapping. */
static inline uint64_t sn_data_chunk_offset(uint32_t index)
{
	return SN_DATA_HEADER_BYTES + (uint64_t)index * SN_DATA_CHUNK_BYTES;
}

static inline uint64_t sn_data_file_bytes(uint32_t chunks)
{
	return sn_data_chunk_offset(chunks);
}

/** Size of the record at `record`, of which `left` bytes can be read; 0: damaged. */
static inline uint32_t sn_record_bytes(const void *record, uint32_t left)
{
	const struct sn_record_header *header = record;
	if (left < sizeof(*header))
		return 0;
	uint32_t size = header->type == SN_RECORD_SAMPLE ? 16 : header->size_bytes;
	return header->type == SN_RECORD_NONE || size < 8 || size % 8 != 0 || size > left ? 0
											  : size;
}

#endif
