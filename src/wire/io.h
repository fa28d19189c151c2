/**
 * Entries of input and output in a piece of a trace (wire/trace.h, SN_TRACE_IO; wire/entries.h).
 *
 *   COUNT    calls of one operation on one file, by one call path, of one size class, with one outcome. Of a sample one of
 *            2^period calls was met, at a place of its period drawn by chance: all its numbers are multiplied by that
 *   NAME     the file's name by its number; its text follows in as many entries as it needs
 *   ACCOUNT  what the kernel has counted of the process (rchar and wchar of /proc/PID/io); only the one of the image's end
 *            has all: a process that is killed has none such
 *
 * Numbers of files are those of the process image.
 */
#ifndef SN_WIRE_IO_H
#define SN_WIRE_IO_H

#include "wire/entries.h"

enum sn_io_type { SN_IO_COUNT = 2, SN_IO_NAME, SN_IO_ACCOUNT, SN_IO_TYPES };

/** What the bytes of an operation are. Those that are received and sent, the kernel has in no account. */
enum sn_io_direction { SN_IO_NEITHER, SN_IO_READS, SN_IO_WRITES, SN_IO_RECEIVES, SN_IO_SENDS };
/* What the program called. Stored: append only. The first 14 move bytes. */
/* clang-format off */
#define SN_IO_OPERATIONS(X) \
	X(READ, "read", READS) X(WRITE, "write", WRITES) X(READV, "readv", READS) X(WRITEV, "writev", WRITES) \
	X(PREAD, "pread", READS) X(PWRITE, "pwrite", WRITES) X(PREADV, "preadv", READS) X(PWRITEV, "pwritev", WRITES) \
	X(RECV, "recv", RECEIVES) X(RECVFROM, "recvfrom", RECEIVES) X(RECVMSG, "recvmsg", RECEIVES) \
	X(SEND, "send", SENDS) X(SENDTO, "sendto", SENDS) X(SENDMSG, "sendmsg", SENDS) \
	X(ACCEPT, "accept", NEITHER) X(ACCEPT4, "accept4", NEITHER) X(CONNECT, "connect", NEITHER) \
	X(FSYNC, "fsync", NEITHER) X(FDATASYNC, "fdatasync", NEITHER) X(FLOCK, "flock", NEITHER) \
	X(OPEN, "open", NEITHER) X(CLOSE, "close", NEITHER) X(LSEEK, "lseek", NEITHER) \
	X(FOPEN, "fopen", NEITHER) X(FCLOSE, "fclose", NEITHER) X(FFLUSH, "fflush", NEITHER) X(FSEEK, "fseek", NEITHER) \
	X(FREAD, "fread", READS) X(FWRITE, "fwrite", WRITES) X(FGETS, "fgets", READS) X(FPUTS, "fputs", WRITES) \
	X(FGETC, "fgetc", READS) X(FPUTC, "fputc", WRITES) X(PUTS, "puts", WRITES) X(GETLINE, "getline", READS) \
	X(FPRINTF, "fprintf", WRITES) X(SENDFILE, "sendfile", NEITHER) X(COPY_FILE_RANGE, "copy_file_range", NEITHER)
/* clang-format on */
#define SN_IO_OPERATION(word, name, direction) SN_IO_##word,
enum sn_io_operation { SN_IO_OPERATIONS(SN_IO_OPERATION) SN_IO_OPERATION_COUNT };
#undef SN_IO_OPERATION

enum { SN_IO_PERIOD_MOST = 16 };

/** 0: no byte; else 1 + the number of the highest bit of the bytes. */
static inline uint8_t sn_io_size_class(uint64_t bytes)
{
	return bytes ? (uint8_t)(64 - __builtin_clzll(bytes)) : 0;
}

struct sn_io_entry {
	uint8_t type; /* enum sn_io_type */
	uint8_t operation;
	uint8_t size_class; /* of COUNT: sn_io_size_class */
	uint8_t period; /* of COUNT: logarithm to base 2, at most SN_IO_PERIOD_MOST; 0: every call was met */
	uint32_t path;	     /* call path; 0: none */
	uint32_t file;	     /* its number; 0: unknown */
	uint32_t error;	     /* errno; 0: success */
	uint64_t calls;	     /* NAME: bytes of the text; ACCOUNT: 1 at the image's end, else 0 */
	uint64_t bytes;	     /* ACCOUNT: that the kernel counted as read ... */
	uint64_t ticks;	     /* ACCOUNT: ... and as written */
	uint64_t sequential; /* calls that began where the one before on the descriptor had ended */
	uint64_t words[2];
};
_Static_assert(sizeof(struct sn_io_entry) == SN_ENTRY_BYTES, "an entry is a line of the cache");

#endif
