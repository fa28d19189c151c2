/**
 * The collector of input and output: every call that the program makes, by file, call path, size and
 * outcome, as entries of a trace that are counted up where they lie (wire/io.h). It is in builds of the
 * runtime that only tracing loads.
 *
 * Descriptors are known by number: what the kernel calls a file is asked when a descriptor is first used,
 * and again after it was closed.
 */
#ifndef SN_RUNTIME_IO_IO_H
#define SN_RUNTIME_IO_IO_H

#include <stdarg.h>
#include <stdio.h>

#include "runtime/calls/calls.h"
#include "runtime/core/collector.h"
#include "runtime/core/entries.h"
#include "wire/io.h"

enum {
	SN_IO_DESCRIPTORS = 65536,
	SN_IO_FILES = 1 << 18, /* names, three quarters used; a power of two */
	SN_IO_NAME_BYTES = 4096,
};

/** What is known of a descriptor. */
struct sn_io_descriptor {
	_Atomic uint32_t file;	    /* number; 0: to be asked for */
	_Atomic uint32_t has_moved; /* by lseek, since the last read or write */
	_Atomic uint64_t end;	    /* of the last pread or pwrite */
};

/** Which calls of a thread are met: of each period one, at a place of it that is drawn by chance. A handler of a signal that
 *  interrupts a draw loses or gains calls of one period. */
struct sn_io_draw {
	uint64_t random;  /* 0: none was drawn yet */
	int64_t begin_ns; /* of the calls that were met since, in CPU time */
	uint32_t met;	  /* since the period was last looked at */
	uint32_t skips;	  /* calls until the next that is met */
	uint32_t rest;	  /* of its period, behind it */
	uint8_t period;	  /* logarithm to base 2 */
};

/** What the collector knows of a thread; in scratch. */
struct sn_io_thread {
	char names[2][SN_IO_NAME_BYTES]; /* of its streams */
	struct sn_io_draw draw;
	struct sn_entries entries;
};
extern struct sn_collector sn_io_collector;

static inline struct sn_io_thread *sn_io_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_io_collector);
}

/** Of the process image; wiped on fork. */
struct sn_io_state {
	_Atomic uint32_t is_on;
	_Atomic uint32_t next_file;
	_Atomic uint64_t next_account_tsc;
	uint64_t start_read, start_written; /* of the process, when the image began */
	_Atomic uint64_t own_read;	    /* by us */
	struct sn_io_descriptor descriptors[SN_IO_DESCRIPTORS];
	_Atomic uint64_t files[SN_IO_FILES]; /* hash of the name | number */
};
extern struct sn_io_state *sn_io_state; /* NULL: nobody asked */

static inline bool sn_io_is_on(void)
{
	return sn_io_state && atomic_load_explicit(&sn_io_state->is_on, memory_order_relaxed) &&
	       sn_is_active();
}

/** A call that is over. */
struct sn_io_call {
	const uint64_t *frame; /* of the wrapper */
	uint64_t ticks;
	uint64_t bytes;
	int64_t offset;	   /* of pread and pwrite; else -1 */
	const char *path;  /* where there is no descriptor: the name as the program gave it */
	int fd;		   /* -1: none */
	int error;	   /* errno; 0: success */
	uint32_t file;	   /* known already; 0: found by fd or path */
	uint8_t operation; /* enum sn_io_operation */
};

/** Counts it. errno is kept. */
void sn_io_note(struct sn_io_call *call);
/** The file behind a descriptor that is about to be closed, or 0; the descriptor is another's from then
 *  on. `frame` NULL: nobody asks for the file. */
uint32_t sn_io_forget(const uint64_t *frame, int fd);
void sn_io_forget_all(unsigned first, unsigned last);
void sn_io_note_move(int fd);

void sn_io_after_call(struct sn_thread *self, const struct sn_call *call);
void sn_io_end_thread(struct sn_thread *self, int64_t now_ns);
void sn_io_account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		   bool is_ending);
/** rchar and wchar of the process; false: they are not to be had. */
bool sn_io_kernel_account(uint64_t *read, uint64_t *written);

/* io/setup_io.c: libc's functions */
#define SN_IO_REAL(X)                                                                              \
	X(int, r_open, (const char *, int, unsigned), "open")                                      \
	X(int, r_openat, (int, const char *, int, unsigned), "openat")                             \
	X(int, r_close, (int), "close")                                                            \
	X(int, r_close_range, (unsigned, unsigned, int), "close_range")                            \
	X(void, r_closefrom, (int), "closefrom")                                                   \
	X(int, r_dup, (int), "dup")                                                                \
	X(int, r_dup2, (int, int), "dup2")                                                         \
	X(int, r_dup3, (int, int, int), "dup3")                                                    \
	X(off64_t, r_lseek, (int, off64_t, int), "lseek64")                                        \
	X(ssize_t, r_preadv, (int, const struct iovec *, int, off64_t), "preadv64")                \
	X(ssize_t, r_pwritev, (int, const struct iovec *, int, off64_t), "pwritev64")              \
	X(ssize_t, r_sendfile, (int, int, off64_t *, size_t), "sendfile64")                        \
	X(ssize_t, r_copy, (int, off64_t *, int, off64_t *, size_t, unsigned), "copy_file_range")  \
	X(FILE *, r_fopen, (const char *, const char *), "fopen64")                                \
	X(FILE *, r_freopen, (const char *, const char *, FILE *), "freopen64")                    \
	X(int, r_fclose, (FILE *), "fclose")                                                       \
	X(int, r_fflush, (FILE *), "fflush")                                                       \
	X(int, r_fseek, (FILE *, off64_t, int), "fseeko64")                                        \
	X(void, r_rewind, (FILE *), "rewind")                                                      \
	X(size_t, r_fread, (void *, size_t, size_t, FILE *), "fread")                              \
	X(size_t, r_fread_chk, (void *, size_t, size_t, size_t, FILE *), "__fread_chk")            \
	X(size_t, r_fwrite, (const void *, size_t, size_t, FILE *), "fwrite")                      \
	X(size_t, r_fread_unlocked, (void *, size_t, size_t, FILE *), "fread_unlocked")            \
	X(size_t, r_fwrite_unlocked, (const void *, size_t, size_t, FILE *), "fwrite_unlocked")    \
	X(char *, r_fgets, (char *, int, FILE *), "fgets")                                         \
	X(char *, r_fgets_chk, (char *, size_t, int, FILE *), "__fgets_chk")                       \
	X(int, r_fputs, (const char *, FILE *), "fputs")                                           \
	X(int, r_fgetc, (FILE *), "fgetc")                                                         \
	X(int, r_fputc, (int, FILE *), "fputc")                                                    \
	X(int, r_puts, (const char *), "puts")                                                     \
	X(ssize_t, r_getdelim, (char **, size_t *, int, FILE *), "getdelim")                       \
	X(int, r_vfprintf, (FILE *, const char *, va_list), "vfprintf")                            \
	X(int, r_vfprintf_chk, (FILE *, int, const char *, va_list), "__vfprintf_chk")             \
	X(int, r_vdprintf, (int, const char *, va_list), "vdprintf")
#define SN_IO_MEMBER(type, name, parameters, symbol) type(*name) parameters;
struct sn_io_real {
	SN_IO_REAL(SN_IO_MEMBER)
};
extern struct sn_io_real sn_io_real;
void sn_io_resolve(void);

#endif
