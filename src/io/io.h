/**
 * Input and output of an experiment, from its traces (wire/io.h): calls, bytes, time and errors by file
 * and operation, and what the kernel has counted beside. docs/method/io.md has the definitions.
 */
#ifndef SN_IO_IO_H
#define SN_IO_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "base/vec.h"
#include "profile/program.h"
#include "profile/site.h"
#include "wire/io.h"

/** One operation on one file, of all processes. */
struct sn_io_use {
	const char *file; /* as the kernel calls it; what could not be opened, as the program did */
	uint8_t operation;     /* enum sn_io_operation */
	uint64_t calls;	       /* exact but for what `lost` says; of a sample an estimate ... */
	uint64_t met;	       /* ... from so many ... */
	double calls_variance; /* ... with the variance of its error; 0: exact */
	uint64_t bytes, time_ns, errors;
	uint64_t sequential;  /* calls that began where the one before had ended */
	uint64_t moving;      /* calls that moved a byte ... */
	uint64_t small;	      /* ... and fewer than 4,096 */
	uint64_t below_bytes; /* no call moved so many: a power of two; 0: none moved any */
	struct sn_site site;  /* where most of its time was spent */
	uint64_t site_ns;
	const char *error_words; /* "ENOENT 3, EACCES 1"; NULL: no error */
};

/** Calls of one operation by one call path. */
struct sn_io_path {
	uint32_t process, stack; /* stack: its leaf is the caller */
	uint8_t operation;
	bool is_file; /* on files, and not on sockets, pipes and terminals, which give what others do */
	uint64_t calls, bytes, time_ns;
	double calls_variance, bytes_variance; /* of the errors of a sample; 0: exact */
};

/** What a file is, by its name. */
enum sn_io_kind {
	SN_IO_A_FILE,
	SN_IO_A_SOCKET,
	SN_IO_A_PIPE,
	SN_IO_A_DEVICE, /* terminals among them */
	SN_IO_ANOTHER,	/* eventfd and the like, and what is not known */
	SN_IO_KINDS,
};

/** One operation by one site on files of one kind: what a server does on thousands of sockets is one of these. */
struct sn_io_place {
	struct sn_site site;
	uint8_t operation, kind; /* enum sn_io_kind */
	uint64_t files;		 /* how many */
	const char *file;	 /* the one with most time */
	uint64_t file_ns;
	uint64_t calls, bytes, time_ns;
	uint64_t moving; /* calls that moved a byte */
};

struct sn_io {
	struct sn_arena arena;
	bool is_traced; /* else all is empty: nobody asked for it */
	SN_VEC(struct sn_io_use) uses;
	SN_VEC(struct sn_io_place) places;
	SN_VEC(struct sn_io_path) paths; /* of calls whose path is known */
	uint64_t calls, time_ns;
	uint64_t met; /* fewer than `calls`: it is a sample (record --io=sample) */
	double calls_variance;
	uint64_t read_bytes,
		written_bytes; /* of all calls, those that receive and send among them ... */
	/* ... and of those whose bytes the kernel counts as well */
	uint64_t countable_read_bytes, countable_written_bytes;
	/* rchar and wchar of all processes; -1: of some process they are not known to its end */
	int64_t kernel_read_bytes, kernel_written_bytes;
	uint64_t lost;	     /* calls that were counted and not kept */
	int64_t overhead_ns; /* what tracing took in the target */
	uint64_t damaged;    /* pieces or entries that make no sense */
};

/** Reads the traces. Damage is counted, no error; SN_ERR_IO: a file cannot be read. The caller frees. */
sn_status sn_io_read(const struct sn_program *program, struct sn_io **out, struct sn_error *err);
/** The same of what an agent has measured: windows of executions of a phase (wire/monitor.h), which entries do not cross. The
 *  kernel's account and `overhead_ns` stay those of all. */
sn_status sn_io_read_within(const struct sn_program *program, const struct sn_spans *windows,
			    struct sn_io **out, struct sn_error *err);
void sn_io_free(struct sn_io *io);

/** The 95 % interval of an estimated number of calls with this variance. */
void sn_io_interval(uint64_t calls, double variance, uint64_t *low, uint64_t *high);

/** By the name that the kernel has for it. */
enum sn_io_kind sn_io_kind_of(const char *file);

/** "read", "fwrite" ... */
const char *sn_io_operation_name(uint8_t operation);

#endif
