/** libc's functions that read streams or wait for a child themselves, as the next library in line defines them. */
#ifndef SN_RUNTIME_CAUSAL_STREAMS_H
#define SN_RUNTIME_CAUSAL_STREAMS_H

#include <stdarg.h>
#include <stdio.h>

/* clang-format off */
/* X(result's type, member, parameters, libc's name) */
#define SN_CAUSAL_STREAMS(X) \
	X(size_t, r_fread, (void *, size_t, size_t, FILE *), "fread") \
	X(size_t, r_fread_unlocked, (void *, size_t, size_t, FILE *), "fread_unlocked") \
	X(size_t, r_fread_chk, (void *, size_t, size_t, size_t, FILE *), "__fread_chk") \
	X(size_t, r_fread_unlocked_chk, (void *, size_t, size_t, size_t, FILE *), "__fread_unlocked_chk") \
	X(char *, r_fgets, (char *, int, FILE *), "fgets") \
	X(char *, r_fgets_unlocked, (char *, int, FILE *), "fgets_unlocked") \
	X(char *, r_fgets_chk, (char *, size_t, int, FILE *), "__fgets_chk") \
	X(char *, r_fgets_unlocked_chk, (char *, size_t, int, FILE *), "__fgets_unlocked_chk") \
	X(ssize_t, r_getdelim, (char **, size_t *, int, FILE *), "getdelim") \
	X(int, r_fgetc, (FILE *), "fgetc") \
	X(int, r_fgetc_unlocked, (FILE *), "fgetc_unlocked") \
	X(int, r_uflow, (FILE *), "__uflow") \
	X(int, r_underflow, (FILE *), "__underflow") \
	X(int, r_vfscanf, (FILE *, const char *, va_list), "vfscanf") \
	X(int, r_c99_vfscanf, (FILE *, const char *, va_list), "__isoc99_vfscanf") \
	X(int, r_c23_vfscanf, (FILE *, const char *, va_list), "__isoc23_vfscanf") \
	X(int, r_pclose, (FILE *), "pclose")
/* clang-format on */

#define SN_CAUSAL_STREAM_MEMBER(type, name, parameters, symbol) type(*name) parameters;
struct sn_causal_streams {
	SN_CAUSAL_STREAMS(SN_CAUSAL_STREAM_MEMBER)
};
extern struct sn_causal_streams sn_causal_streams;

#endif
