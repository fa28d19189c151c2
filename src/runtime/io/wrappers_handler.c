/*
 * Calls of input and output that no other part interposes: descriptors that come and go, and streams.
 * What a stream reads and writes beneath is libc's own, and does not pass here: the operation is what
 * the program called. Names of streams' functions are poisoned in handlers, so that wrappers and
 * members have names of their own.
 */
#include "runtime/io/io.h"

#include <errno.h>

#define FRAME()	   ((const uint64_t *)__builtin_frame_address(0))
#define NAME(name) __asm__(name)
#define REAL_IO(name)                                                                              \
	(__builtin_expect(!sn_io_real.name, 0) ? sn_io_resolve() : (void)0, sn_io_real.name)

/* 0: nobody wants to know. */
static inline uint64_t begin_call(void)
{
	return sn_io_is_on() ? __builtin_ia32_rdtsc() : 0;
}

static __attribute__((noinline)) void note(struct sn_io_call *call, uint64_t begin)
{
	int error = errno;

	call->ticks = __builtin_ia32_rdtsc() - begin;
	if (sn_io_is_on())
		sn_io_note(call);
	errno = error;
}

static inline int fd_of(const FILE *stream)
{
	return stream ? stream->_fileno : -1;
}

#define BEGIN()                                                                                    \
	const uint64_t *frame = FRAME();                                                           \
	uint64_t begin = begin_call()
/* Notes the call if somebody wants to know. */
#define NOTE(op, fd_, bytes_, failed)                                                              \
	do {                                                                                       \
		if (__builtin_expect(begin != 0, 0)) {                                             \
			struct sn_io_call call = { .frame = frame,                                 \
						   .operation = SN_IO_##op,                        \
						   .fd = (fd_),                                    \
						   .offset = -1,                                   \
						   .bytes = (uint64_t)(bytes_),                    \
						   .error = (failed) ? errno : 0 };                \
			note(&call, begin);                                                        \
		}                                                                                  \
	} while (0)

/* ---- descriptors ---- */

/* A file that was opened has a descriptor; one that was not, a name. */
static __attribute__((noinline)) void note_open(const uint64_t *frame, uint64_t begin,
						enum sn_io_operation operation, const char *path,
						int fd)
{
	int error = errno;
	struct sn_io_call call = { .frame = frame,
				   .operation = (uint8_t)operation,
				   .fd = fd,
				   .offset = -1,
				   .path = fd < 0 && error != EFAULT ? path : NULL,
				   .error = fd < 0 ? error : 0 };

	if (fd >= 0)
		sn_io_forget(NULL, fd);
	errno = error;
	note(&call, begin);
}

#define OPEN(name, symbol, call, ...)                                                              \
	int name(__VA_ARGS__) NAME(symbol);                                                        \
	SN_EXPORT int name(__VA_ARGS__)                                                            \
	{                                                                                          \
		BEGIN();                                                                           \
		int fd = call;                                                                     \
		if (begin)                                                                         \
			note_open(frame, begin, SN_IO_OPEN, path, fd);                             \
		return fd;                                                                         \
	}
enum { CREATES = 01101 /* O_CREAT | O_WRONLY | O_TRUNC */ };

/* The mode is an argument that may not be there: then libc does not look at it either. */
OPEN(plain_open, "open", REAL_IO(r_open)(path, flags, mode), const char *path, int flags,
     unsigned mode)
OPEN(plain_open64, "open64", REAL_IO(r_open)(path, flags, mode), const char *path, int flags,
     unsigned mode)
OPEN(plain_openat, "openat", REAL_IO(r_openat)(at, path, flags, mode), int at, const char *path,
     int flags, unsigned mode)
OPEN(plain_openat64, "openat64", REAL_IO(r_openat)(at, path, flags, mode), int at, const char *path,
     int flags, unsigned mode)
OPEN(plain_creat, "creat", REAL_IO(r_open)(path, CREATES, mode), const char *path, unsigned mode)
OPEN(plain_creat64, "creat64", REAL_IO(r_open)(path, CREATES, mode), const char *path,
     unsigned mode)
OPEN(plain___open_2, "__open_2", REAL_IO(r_open)(path, flags, 0), const char *path, int flags)
OPEN(plain___open64_2, "__open64_2", REAL_IO(r_open)(path, flags, 0), const char *path, int flags)
OPEN(plain___openat_2, "__openat_2", REAL_IO(r_openat)(at, path, flags, 0), int at,
     const char *path, int flags)
OPEN(plain___openat64_2, "__openat64_2", REAL_IO(r_openat)(at, path, flags, 0), int at,
     const char *path, int flags)

/* The number may be another thread's as soon as it is closed: so its file is asked for before. */
static inline void note_close(const uint64_t *frame, uint64_t begin, enum sn_io_operation operation,
			      uint32_t file, bool has_failed)
{
	struct sn_io_call call = { .frame = frame,
				   .operation = (uint8_t)operation,
				   .fd = -1,
				   .offset = -1,
				   .file = file,
				   .error = has_failed ? errno : 0 };

	if (begin)
		note(&call, begin);
}

SN_EXPORT int close(int fd)
{
	const uint64_t *frame = FRAME();
	uint32_t file = sn_io_is_on() ? sn_io_forget(frame, fd) : 0;
	uint64_t begin = begin_call();
	int result = REAL_IO(r_close)(fd);

	note_close(frame, begin, SN_IO_CLOSE, file, result < 0);
	return result;
}

SN_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	int result = REAL_IO(r_close_range)(first, last, flags);

	if (sn_io_is_on())
		sn_io_forget_all(first, last);
	return result;
}

SN_EXPORT void closefrom(int first)
{
	REAL_IO(r_closefrom)(first);
	if (sn_io_is_on())
		sn_io_forget_all(first < 0 ? 0 : (unsigned)first, UINT32_MAX);
}

static int duplicated(int fd)
{
	if (fd >= 0 && sn_io_is_on())
		sn_io_forget(NULL, fd);
	return fd;
}

SN_EXPORT int dup(int fd)
{
	return duplicated(REAL_IO(r_dup)(fd));
}

SN_EXPORT int dup2(int fd, int to)
{
	int result = REAL_IO(r_dup2)(fd, to);

	return fd == to ? result : duplicated(result);
}

SN_EXPORT int dup3(int fd, int to, int flags)
{
	return duplicated(REAL_IO(r_dup3)(fd, to, flags));
}

static inline off64_t seek(const uint64_t *frame, int fd, off64_t offset, int whence)
{
	uint64_t begin = begin_call();
	off64_t result = REAL_IO(r_lseek)(fd, offset, whence);

	if (begin && (whence != SEEK_CUR || offset != 0))
		sn_io_note_move(fd);
	NOTE(LSEEK, fd, 0, result < 0);
	return result;
}

off64_t plain_lseek(int fd, off64_t offset, int whence) NAME("lseek");
off64_t plain_lseek64(int fd, off64_t offset, int whence) NAME("lseek64");

SN_EXPORT off64_t plain_lseek(int fd, off64_t offset, int whence)
{
	return seek(FRAME(), fd, offset, whence);
}

SN_EXPORT off64_t plain_lseek64(int fd, off64_t offset, int whence)
{
	return seek(FRAME(), fd, offset, whence);
}

#define MOVE(name, symbol, op, fd, call, ...)                                                      \
	ssize_t name(__VA_ARGS__) NAME(symbol);                                                    \
	SN_EXPORT ssize_t name(__VA_ARGS__)                                                        \
	{                                                                                          \
		BEGIN();                                                                           \
		ssize_t result = call;                                                             \
		NOTE(op, fd, result > 0 ? result : 0, result < 0);                                 \
		return result;                                                                     \
	}
MOVE(plain_preadv, "preadv", PREADV, fd, REAL_IO(r_preadv)(fd, parts, count, offset), int fd,
     const struct iovec *parts, int count, off64_t offset)
MOVE(plain_preadv64, "preadv64", PREADV, fd, REAL_IO(r_preadv)(fd, parts, count, offset), int fd,
     const struct iovec *parts, int count, off64_t offset)
MOVE(plain_pwritev, "pwritev", PWRITEV, fd, REAL_IO(r_pwritev)(fd, parts, count, offset), int fd,
     const struct iovec *parts, int count, off64_t offset)
MOVE(plain_pwritev64, "pwritev64", PWRITEV, fd, REAL_IO(r_pwritev)(fd, parts, count, offset),
     int fd, const struct iovec *parts, int count, off64_t offset)
MOVE(plain_sendfile, "sendfile", SENDFILE, to, REAL_IO(r_sendfile)(to, from, offset, count), int to,
     int from, off64_t *offset, size_t count)
MOVE(plain_sendfile64, "sendfile64", SENDFILE, to, REAL_IO(r_sendfile)(to, from, offset, count),
     int to, int from, off64_t *offset, size_t count)
MOVE(plain_copy_file_range, "copy_file_range", COPY_FILE_RANGE, to,
     REAL_IO(r_copy)(from, from_offset, to, to_offset, count, flags), int from,
     off64_t *from_offset, int to, off64_t *to_offset, size_t count, unsigned flags)

/* ---- streams ---- */

static inline FILE *open_stream(const uint64_t *frame, const char *path, const char *mode)
{
	uint64_t begin = begin_call();
	FILE *stream = REAL_IO(r_fopen)(path, mode);

	if (begin)
		note_open(frame, begin, SN_IO_FOPEN, path, fd_of(stream));
	return stream;
}

static inline FILE *reopen_stream(const uint64_t *frame, const char *path, const char *mode,
				  FILE *old)
{
	uint64_t begin = begin_call();
	if (begin && fd_of(old) >= 0)
		sn_io_forget(NULL, fd_of(old));
	FILE *stream = REAL_IO(r_freopen)(path, mode, old);

	if (begin)
		note_open(frame, begin, SN_IO_FOPEN, path, fd_of(stream));
	return stream;
}

FILE *plain_fopen(const char *path, const char *mode) NAME("fopen");
FILE *plain_fopen64(const char *path, const char *mode) NAME("fopen64");
FILE *plain_freopen(const char *path, const char *mode, FILE *old) NAME("freopen");
FILE *plain_freopen64(const char *path, const char *mode, FILE *old) NAME("freopen64");

SN_EXPORT FILE *plain_fopen(const char *path, const char *mode)
{
	return open_stream(FRAME(), path, mode);
}

SN_EXPORT FILE *plain_fopen64(const char *path, const char *mode)
{
	return open_stream(FRAME(), path, mode);
}

SN_EXPORT FILE *plain_freopen(const char *path, const char *mode, FILE *old)
{
	return reopen_stream(FRAME(), path, mode, old);
}

SN_EXPORT FILE *plain_freopen64(const char *path, const char *mode, FILE *old)
{
	return reopen_stream(FRAME(), path, mode, old);
}

int plain_fclose(FILE *stream) NAME("fclose");
SN_EXPORT int plain_fclose(FILE *stream)
{
	const uint64_t *frame = FRAME();
	uint32_t file = sn_io_is_on() ? sn_io_forget(frame, fd_of(stream)) : 0;
	uint64_t begin = begin_call();
	int result = REAL_IO(r_fclose)(stream);

	note_close(frame, begin, SN_IO_FCLOSE, file, result != 0);
	return result;
}

int plain_fflush(FILE *stream) NAME("fflush");
SN_EXPORT int plain_fflush(FILE *stream)
{
	BEGIN();
	int result = REAL_IO(r_fflush)(stream);

	NOTE(FFLUSH, fd_of(stream), 0, result != 0);
	return result;
}

static inline int seek_stream(const uint64_t *frame, FILE *stream, off64_t offset, int whence)
{
	uint64_t begin = begin_call();
	int result = REAL_IO(r_fseek)(stream, offset, whence);

	if (begin)
		sn_io_note_move(fd_of(stream));
	NOTE(FSEEK, fd_of(stream), 0, result != 0);
	return result;
}

int plain_fseek(FILE *stream, long offset, int whence) NAME("fseek");
int plain_fseeko(FILE *stream, off64_t offset, int whence) NAME("fseeko");
int plain_fseeko64(FILE *stream, off64_t offset, int whence) NAME("fseeko64");
void plain_rewind(FILE *stream) NAME("rewind");

SN_EXPORT int plain_fseek(FILE *stream, long offset, int whence)
{
	return seek_stream(FRAME(), stream, offset, whence);
}

SN_EXPORT int plain_fseeko(FILE *stream, off64_t offset, int whence)
{
	return seek_stream(FRAME(), stream, offset, whence);
}

SN_EXPORT int plain_fseeko64(FILE *stream, off64_t offset, int whence)
{
	return seek_stream(FRAME(), stream, offset, whence);
}

SN_EXPORT void plain_rewind(FILE *stream)
{
	BEGIN();
	REAL_IO(r_rewind)(stream);
	if (begin)
		sn_io_note_move(fd_of(stream));
	NOTE(FSEEK, fd_of(stream), 0, false);
}

/* An error of a stream, not its end. */
static inline bool has_failed(const FILE *stream)
{
	return stream->_flags & 0x20; /* glibc's _IO_ERR_SEEN */
}

#define TRANSFER(name, symbol, op, call, ...)                                                      \
	size_t name(__VA_ARGS__) NAME(symbol);                                                     \
	SN_EXPORT size_t name(__VA_ARGS__)                                                         \
	{                                                                                          \
		BEGIN();                                                                           \
		size_t result = call;                                                              \
		NOTE(op, fd_of(stream), result *size, result < count && has_failed(stream));       \
		return result;                                                                     \
	}
TRANSFER(plain_fread, "fread", FREAD, REAL_IO(r_fread)(bytes, size, count, stream), void *bytes,
	 size_t size, size_t count, FILE *stream)
TRANSFER(plain___fread_chk, "__fread_chk", FREAD,
	 REAL_IO(r_fread_chk)(bytes, room, size, count, stream), void *bytes, size_t room,
	 size_t size, size_t count, FILE *stream)
TRANSFER(plain_fread_unlocked, "fread_unlocked", FREAD,
	 REAL_IO(r_fread_unlocked)(bytes, size, count, stream), void *bytes, size_t size,
	 size_t count, FILE *stream)
TRANSFER(plain_fwrite, "fwrite", FWRITE, REAL_IO(r_fwrite)(bytes, size, count, stream),
	 const void *bytes, size_t size, size_t count, FILE *stream)
TRANSFER(plain_fwrite_unlocked, "fwrite_unlocked", FWRITE,
	 REAL_IO(r_fwrite_unlocked)(bytes, size, count, stream), const void *bytes, size_t size,
	 size_t count, FILE *stream)

char *plain_fgets(char *text, int room, FILE *stream) NAME("fgets");
char *plain___fgets_chk(char *text, size_t size, int room, FILE *stream) NAME("__fgets_chk");
int plain_fputs(const char *text, FILE *stream) NAME("fputs");
int plain_puts(const char *text) NAME("puts");

SN_EXPORT char *plain_fgets(char *text, int room, FILE *stream)
{
	BEGIN();
	char *result = REAL_IO(r_fgets)(text, room, stream);

	NOTE(FGETS, fd_of(stream), result ? strlen(result) : 0, !result && has_failed(stream));
	return result;
}

SN_EXPORT char *plain___fgets_chk(char *text, size_t size, int room, FILE *stream)
{
	BEGIN();
	char *result = REAL_IO(r_fgets_chk)(text, size, room, stream);

	NOTE(FGETS, fd_of(stream), result ? strlen(result) : 0, !result && has_failed(stream));
	return result;
}

SN_EXPORT int plain_fputs(const char *text, FILE *stream)
{
	BEGIN();
	int result = REAL_IO(r_fputs)(text, stream);

	NOTE(FPUTS, fd_of(stream), result >= 0 ? strlen(text) : 0, result < 0);
	return result;
}

SN_EXPORT int plain_puts(const char *text)
{
	BEGIN();
	int result = REAL_IO(r_puts)(text);

	NOTE(PUTS, fd_of(stdout), result >= 0 ? strlen(text) + 1 : 0, result < 0);
	return result;
}

#define GET(name, symbol, stream, ...)                                                             \
	int name(__VA_ARGS__) NAME(symbol);                                                        \
	SN_EXPORT int name(__VA_ARGS__)                                                            \
	{                                                                                          \
		BEGIN();                                                                           \
		int result = REAL_IO(r_fgetc)(stream);                                             \
		NOTE(FGETC, fd_of(stream), result >= 0, result < 0 && has_failed(stream));         \
		return result;                                                                     \
	}
GET(plain_fgetc, "fgetc", from, FILE *from)
GET(plain_getc, "getc", from, FILE *from)
GET(plain_getchar, "getchar", stdin, void)

#define PUT(name, symbol, stream, ...)                                                             \
	int name(__VA_ARGS__) NAME(symbol);                                                        \
	SN_EXPORT int name(__VA_ARGS__)                                                            \
	{                                                                                          \
		BEGIN();                                                                           \
		int result = REAL_IO(r_fputc)(c, stream);                                          \
		NOTE(FPUTC, fd_of(stream), result >= 0, result < 0);                               \
		return result;                                                                     \
	}
PUT(plain_fputc, "fputc", to, int c, FILE *to)
PUT(plain_putc, "putc", to, int c, FILE *to)
PUT(plain_putchar, "putchar", stdout, int c)

#define LINE(name, symbol, end, ...)                                                               \
	ssize_t name(__VA_ARGS__) NAME(symbol);                                                    \
	SN_EXPORT ssize_t name(__VA_ARGS__)                                                        \
	{                                                                                          \
		BEGIN();                                                                           \
		ssize_t result = REAL_IO(r_getdelim)(line, room, end, stream);                     \
		NOTE(GETLINE, fd_of(stream), result > 0 ? result : 0,                              \
		     result < 0 && has_failed(stream));                                            \
		return result;                                                                     \
	}
LINE(plain_getline, "getline", '\n', char **line, size_t *room, FILE *stream)
LINE(plain_getdelim, "getdelim", last, char **line, size_t *room, int last, FILE *stream)
LINE(plain___getdelim, "__getdelim", last, char **line, size_t *room, int last, FILE *stream)

/* ---- formatted ---- */

#define PRINT(name, symbol, fd, call, ...)                                                         \
	int name(__VA_ARGS__) NAME(symbol);                                                        \
	SN_EXPORT int name(__VA_ARGS__)                                                            \
	{                                                                                          \
		BEGIN();                                                                           \
		int result = call;                                                                 \
		NOTE(FPRINTF, fd, result > 0 ? result : 0, result < 0);                            \
		return result;                                                                     \
	}
/* With arguments of its own. */
#define PRINT_LIST(name, symbol, fd, call, ...)                                                    \
	int name(__VA_ARGS__, ...) NAME(symbol);                                                   \
	SN_EXPORT int name(__VA_ARGS__, ...)                                                       \
	{                                                                                          \
		va_list list;                                                                      \
		va_start(list, format);                                                            \
		BEGIN();                                                                           \
		int result = call;                                                                 \
		NOTE(FPRINTF, fd, result > 0 ? result : 0, result < 0);                            \
		va_end(list);                                                                      \
		return result;                                                                     \
	}
PRINT_LIST(plain_printf, "printf", fd_of(stdout), REAL_IO(r_vfprintf)(stdout, format, list),
	   const char *format)
PRINT_LIST(plain_fprintf, "fprintf", fd_of(stream), REAL_IO(r_vfprintf)(stream, format, list),
	   FILE *stream, const char *format)
PRINT_LIST(plain___printf_chk, "__printf_chk", fd_of(stdout),
	   REAL_IO(r_vfprintf_chk)(stdout, flag, format, list), int flag, const char *format)
PRINT_LIST(plain___fprintf_chk, "__fprintf_chk", fd_of(stream),
	   REAL_IO(r_vfprintf_chk)(stream, flag, format, list), FILE *stream, int flag,
	   const char *format)
PRINT_LIST(plain_dprintf, "dprintf", fd, REAL_IO(r_vdprintf)(fd, format, list), int fd,
	   const char *format)
PRINT(plain_vprintf, "vprintf", fd_of(stdout), REAL_IO(r_vfprintf)(stdout, format, list),
      const char *format, va_list list)
PRINT(plain_vfprintf, "vfprintf", fd_of(stream), REAL_IO(r_vfprintf)(stream, format, list),
      FILE *stream, const char *format, va_list list)
PRINT(plain___vprintf_chk, "__vprintf_chk", fd_of(stdout),
      REAL_IO(r_vfprintf_chk)(stdout, flag, format, list), int flag, const char *format,
      va_list list)
PRINT(plain___vfprintf_chk, "__vfprintf_chk", fd_of(stream),
      REAL_IO(r_vfprintf_chk)(stream, flag, format, list), FILE *stream, int flag,
      const char *format, va_list list)
PRINT(plain_vdprintf, "vdprintf", fd, REAL_IO(r_vdprintf)(fd, format, list), int fd,
      const char *format, va_list list)
