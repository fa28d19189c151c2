/**
 * The numbers that a data file and the experiment made of it share: flags of stacks and samples,
 * kinds of wait, causes of loss. This is their one definition. The runtime and the recorder write
 * them, the decoder hands them on as they are, so none may ever be renumbered.
 */
#ifndef SN_WIRE_KINDS_H
#define SN_WIRE_KINDS_H

/** How complete a stack is at its outer end, and how its frames were found; bits. */
enum sn_stack_flags {
	SN_STACK_COMPLETE = 1, /* reaches _start or the thread's start */
	SN_STACK_TOO_DEEP = 2,
	SN_STACK_NO_CFI = 4, /* a frame without unwind information; frame pointer was tried */
	SN_STACK_BAD_CFI = 8,
	SN_STACK_UNREADABLE = 16,
	SN_STACK_STITCHED = 32, /* worker frames joined to those of the region's creator */
	SN_STACK_ABSENT = 64,	/* the table was full */
	SN_STACK_SCANNED = 128, /* a caller was found by following code without unwind information
				   to its return */
};

/** Bits. */
enum sn_sample_flags {
	SN_SAMPLE_SYSTEM = 1,	 /* cpu_ns was spent in the kernel; the leaf made the system call */
	SN_SAMPLE_REMAINDER = 2, /* left over at thread exit: time, but not an observation */
	SN_SAMPLE_LATE = 4,	 /* the signal was blocked: stands for over two periods */
};

enum sn_wait_kind {
	SN_WAIT_LOCK,	   /* mutex, rwlock, spin turned sleep */
	SN_WAIT_CONDITION, /* condition variable, semaphore, barrier */
	SN_WAIT_IO,	   /* read, write, fsync, send, recv ... */
	SN_WAIT_POLL,	   /* poll, select, epoll_wait */
	SN_WAIT_SLEEP,
	SN_WAIT_CHILD, /* wait4, waitpid */
	SN_WAIT_OTHER, /* futex and other system calls made directly */
	SN_WAIT_JOIN,  /* the end of a thread */
	SN_WAIT_KINDS,
};

/** Why samples or other records are missing, in counts. */
enum sn_loss {
	SN_LOSS_NO_SPACE,     /* no chunk left: full disk, --max-size, launcher gone */
	SN_LOSS_THREAD_TABLE, /* more threads than the table holds */
	SN_LOSS_STACK_TABLE,  /* stack could not be interned: the sample stands without one */
	SN_LOSS_SMALL_STACK,  /* signal stack too small to run the handler */
	SN_LOSS_REENTRY,      /* a signal inside our own code */
	SN_LOSS_SECCOMP,      /* the target forbade our system calls */
	SN_LOSS_RING,	      /* perf ring overran (outside mode) */
	SN_LOSS_DAMAGED,      /* bytes that the reader could not decode (damaged file) */
	SN_LOSS_KINDS,
};

/** Why a packet was written. */
enum sn_packet_kind {
	SN_PACKET_PERIODIC,
	SN_PACKET_START,  /* the image began to be measured */
	SN_PACKET_END,	  /* the image ended */
	SN_PACKET_LABEL,  /* sonde_sample (sonde/control.h) */
	SN_PACKET_SIGNAL, /* record --packet-signal */
	SN_PACKET_PAUSE, /* measuring stopped for a while; what follows until RESUME was not measured */
	SN_PACKET_RESUME,
	SN_PACKET_FORK, /* before a fork */
	SN_PACKET_KINDS,
};

#endif
