/**
 * The arithmetic types of Pandore C: the integer types of C11 6.2.5 and float and double, with the
 * sizes of x86-64 (char 1, short 2, int 4, long and long long 8).
 *
 * Integer values are kept as 64 bits: the value modulo 2^64. A signed type has its sign extended,
 * so two types that both hold a value have the same bits for it.
 */
#ifndef SN_PANDORE_COMPILER_TYPES_H
#define SN_PANDORE_COMPILER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Integer types by conversion rank (C11 6.3.1.1), the unsigned one after its signed one. */
enum sn_pnd_type {
	SN_T_VOID,
	SN_T_BOOL,
	SN_T_CHAR, /* signed here, and a type of its own */
	SN_T_SCHAR,
	SN_T_UCHAR,
	SN_T_SHORT,
	SN_T_USHORT,
	SN_T_INT,
	SN_T_UNSIGNED,
	SN_T_LONG,
	SN_T_ULONG,
	SN_T_LLONG,
	SN_T_ULLONG,
	SN_T_FLOAT,
	SN_T_DOUBLE,
	SN_T_NONE, /* words of types that together make none of these, such as long double */
};

/** The shortest spelling in C. */
const char *sn_pnd_type_name(enum sn_pnd_type type);
int64_t sn_pnd_type_bytes(enum sn_pnd_type type);
bool sn_pnd_type_is_integer(enum sn_pnd_type type);
bool sn_pnd_type_is_unsigned(enum sn_pnd_type type);
/** The usual arithmetic conversions (C11 6.3.1.8). With int: the integer promotions. */
enum sn_pnd_type sn_pnd_type_common(enum sn_pnd_type a, enum sn_pnd_type b);
/** Whether every value of `from` keeps its value in `to`. Both are integer types. */
bool sn_pnd_type_holds(enum sn_pnd_type to, enum sn_pnd_type from);

/** The bits of an integer value after its conversion to another integer type, as gcc does it:
 * modulo 2^width (C11 6.3.1.3). */
uint64_t sn_pnd_convert_bits(enum sn_pnd_type type, uint64_t bits);
/** Bits of this integer type as a number; false if it is above INT64_MAX. */
bool sn_pnd_bits_to_number(enum sn_pnd_type type, uint64_t bits, int64_t *out);

/** Words of a type, in whatever order: starts as { 0 }. */
struct sn_pnd_type_words {
	uint32_t counts;
	size_t count;
};

/** False if the word belongs to no type. */
bool sn_pnd_type_add_word(struct sn_pnd_type_words *words, const char *word);
/** The type that the words mean (C11 6.7.2); SN_T_NONE if they are no type of ours. */
enum sn_pnd_type sn_pnd_type_of_words(const struct sn_pnd_type_words *words);

#endif
