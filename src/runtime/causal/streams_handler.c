/*
 * Waits within libc: what reads a stream waits for its bytes in a read of libc's own, which does not pass calls/, and
 * pclose waits for a child. Who read another process's bytes so was taken for one that worked, and paid all
 * that it need not (decision 0174). Where the stream has in its buffer what is asked for, nothing is done. Names of
 * streams' functions are poisoned in handlers, so that wrappers and members have names of their own.
 */
#include "runtime/causal/streams.h"

#include <string.h>

#include "runtime/causal/causal.h"

enum { WORD_MOST = 256 }; /* (chosen) of one call of scanf: longer ones may wait unseen */

#define NAME(name) __asm__(name)
#define REAL_STREAM(name)                                                                          \
	(__builtin_expect(!sn_causal_streams.name, 0) ? sn_causal_find_real() : (void)0,           \
	 sn_causal_streams.name)

static inline size_t left_in(const FILE *stream)
{
	return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}

/* Also where the stream is none: then libc has to say so. */
static inline bool has_bytes(const FILE *stream, size_t size, size_t count)
{
	return !stream || !size || count <= left_in(stream) / size;
}

static inline bool has_line(const FILE *stream, int end, size_t most)
{
	size_t left = stream ? left_in(stream) : 0;

	return !stream || most <= left || (left && memchr(stream->_IO_read_ptr, end, left));
}

static inline int fd_of(const FILE *stream)
{
	return stream ? stream->_fileno : -1;
}

#define WAIT_IF(waits, type, call, fd)                                                             \
	if (!(waits) || !sn_causal_control)                                                        \
		return call;                                                                       \
	int fd_read = fd;                                                                          \
	sn_causal_wait_begins();                                                                   \
	type result = call;                                                                        \
	sn_causal_read_is_over(fd_read);                                                           \
	return result;

#define TRANSFER(name, symbol, call, ...)                                                          \
	size_t name(__VA_ARGS__) NAME(symbol);                                                     \
	SN_EXPORT size_t name(__VA_ARGS__)                                                         \
	{                                                                                          \
		WAIT_IF(!has_bytes(stream, size, count), size_t, call, fd_of(stream))              \
	}
TRANSFER(plain_fread, "fread", REAL_STREAM(r_fread)(bytes, size, count, stream), void *bytes,
	 size_t size, size_t count, FILE *stream)
TRANSFER(plain_fread_unlocked, "fread_unlocked",
	 REAL_STREAM(r_fread_unlocked)(bytes, size, count, stream), void *bytes, size_t size,
	 size_t count, FILE *stream)
TRANSFER(plain___fread_chk, "__fread_chk",
	 REAL_STREAM(r_fread_chk)(bytes, room, size, count, stream), void *bytes, size_t room,
	 size_t size, size_t count, FILE *stream)
TRANSFER(plain___fread_unlocked_chk, "__fread_unlocked_chk",
	 REAL_STREAM(r_fread_unlocked_chk)(bytes, room, size, count, stream), void *bytes,
	 size_t room, size_t size, size_t count, FILE *stream)

#define LINE(name, symbol, type, end, most, call, ...)                                             \
	type name(__VA_ARGS__) NAME(symbol);                                                       \
	SN_EXPORT type name(__VA_ARGS__)                                                           \
	{                                                                                          \
		WAIT_IF(!has_line(stream, end, most), type, call, fd_of(stream))                   \
	}
#define ROOM (room < 2 ? 0 : (size_t)room - 1)
typedef char *string;
LINE(plain_fgets, "fgets", string, '\n', ROOM, REAL_STREAM(r_fgets)(text, room, stream), char *text,
     int room, FILE *stream)
LINE(plain_fgets_unlocked, "fgets_unlocked", string, '\n', ROOM,
     REAL_STREAM(r_fgets_unlocked)(text, room, stream), char *text, int room, FILE *stream)
LINE(plain___fgets_chk, "__fgets_chk", string, '\n', ROOM,
     REAL_STREAM(r_fgets_chk)(text, size, room, stream), char *text, size_t size, int room,
     FILE *stream)
LINE(plain___fgets_unlocked_chk, "__fgets_unlocked_chk", string, '\n', ROOM,
     REAL_STREAM(r_fgets_unlocked_chk)(text, size, room, stream), char *text, size_t size, int room,
     FILE *stream)
LINE(plain_getline, "getline", ssize_t, '\n', SIZE_MAX,
     REAL_STREAM(r_getdelim)(line, room, '\n', stream), char **line, size_t *room, FILE *stream)
LINE(plain_getdelim, "getdelim", ssize_t, last, SIZE_MAX,
     REAL_STREAM(r_getdelim)(line, room, last, stream), char **line, size_t *room, int last,
     FILE *stream)
LINE(plain___getdelim, "__getdelim", ssize_t, last, SIZE_MAX,
     REAL_STREAM(r_getdelim)(line, room, last, stream), char **line, size_t *room, int last,
     FILE *stream)

/* What the inline functions of getc_unlocked leave to libc has an empty buffer. */
#define GET(name, symbol, stream, call, ...)                                                       \
	int name(__VA_ARGS__) NAME(symbol);                                                        \
	SN_EXPORT int name(__VA_ARGS__)                                                            \
	{                                                                                          \
		WAIT_IF(!has_bytes(stream, 1, 1), int, call, fd_of(stream))                        \
	}
GET(plain_fgetc, "fgetc", from, REAL_STREAM(r_fgetc)(from), FILE *from)
GET(plain_getc, "getc", from, REAL_STREAM(r_fgetc)(from), FILE *from)
GET(plain__IO_getc, "_IO_getc", from, REAL_STREAM(r_fgetc)(from), FILE *from)
GET(plain_getchar, "getchar", stdin, REAL_STREAM(r_fgetc)(stdin), void)
GET(plain_fgetc_unlocked, "fgetc_unlocked", from, REAL_STREAM(r_fgetc_unlocked)(from), FILE *from)
GET(plain_getc_unlocked, "getc_unlocked", from, REAL_STREAM(r_fgetc_unlocked)(from), FILE *from)
GET(plain_getchar_unlocked, "getchar_unlocked", stdin, REAL_STREAM(r_fgetc_unlocked)(stdin), void)
GET(plain___uflow, "__uflow", from, REAL_STREAM(r_uflow)(from), FILE *from)
GET(plain___underflow, "__underflow", from, REAL_STREAM(r_underflow)(from), FILE *from)

static int scan(int (*real)(FILE *, const char *, va_list), FILE *stream, const char *format,
		va_list list)
{
	WAIT_IF(!has_bytes(stream, 1, WORD_MOST), int, real(stream, format, list), fd_of(stream))
}

#define SCAN(name, symbol, real, stream, ...)                                                      \
	int name(__VA_ARGS__, va_list list) NAME(symbol);                                          \
	SN_EXPORT int name(__VA_ARGS__, va_list list)                                              \
	{                                                                                          \
		return scan(REAL_STREAM(real), stream, format, list);                              \
	}
/* With arguments of its own. */
#define SCAN_LIST(name, symbol, real, stream, ...)                                                 \
	int name(__VA_ARGS__, ...) NAME(symbol);                                                   \
	SN_EXPORT int name(__VA_ARGS__, ...)                                                       \
	{                                                                                          \
		va_list list;                                                                      \
		va_start(list, format);                                                            \
		int result = scan(REAL_STREAM(real), stream, format, list);                        \
		va_end(list);                                                                      \
		return result;                                                                     \
	}
SCAN(plain_vfscanf, "vfscanf", r_vfscanf, from, FILE *from, const char *format)
SCAN(plain___isoc99_vfscanf, "__isoc99_vfscanf", r_c99_vfscanf, from, FILE *from,
     const char *format)
SCAN(plain___isoc23_vfscanf, "__isoc23_vfscanf", r_c23_vfscanf, from, FILE *from,
     const char *format)
SCAN(plain_vscanf, "vscanf", r_vfscanf, stdin, const char *format)
SCAN(plain___isoc99_vscanf, "__isoc99_vscanf", r_c99_vfscanf, stdin, const char *format)
SCAN(plain___isoc23_vscanf, "__isoc23_vscanf", r_c23_vfscanf, stdin, const char *format)
SCAN_LIST(plain_fscanf, "fscanf", r_vfscanf, from, FILE *from, const char *format)
SCAN_LIST(plain___isoc99_fscanf, "__isoc99_fscanf", r_c99_vfscanf, from, FILE *from,
	  const char *format)
SCAN_LIST(plain___isoc23_fscanf, "__isoc23_fscanf", r_c23_vfscanf, from, FILE *from,
	  const char *format)
SCAN_LIST(plain_scanf, "scanf", r_vfscanf, stdin, const char *format)
SCAN_LIST(plain___isoc99_scanf, "__isoc99_scanf", r_c99_vfscanf, stdin, const char *format)
SCAN_LIST(plain___isoc23_scanf, "__isoc23_scanf", r_c23_vfscanf, stdin, const char *format)

/* It waits for a child. */
SN_EXPORT int pclose(FILE *stream)
{
	sn_causal_wait_begins();
	int result = REAL_STREAM(r_pclose)(stream);
	sn_causal_wait_is_over();
	return result;
}
