/* The arithmetic types of Pandore C: their words, sizes and conversions. */
#include "pandore/compiler/types.h"

#include <string.h>

static const struct {
	const char *name;
	int bytes;
	bool is_unsigned;
} types[] = {
	[SN_T_VOID] = { "void", 0, false },
	[SN_T_BOOL] = { "_Bool", 1, true },
	[SN_T_CHAR] = { "char", 1, false },
	[SN_T_SCHAR] = { "signed char", 1, false },
	[SN_T_UCHAR] = { "unsigned char", 1, true },
	[SN_T_SHORT] = { "short", 2, false },
	[SN_T_USHORT] = { "unsigned short", 2, true },
	[SN_T_INT] = { "int", 4, false },
	[SN_T_UNSIGNED] = { "unsigned", 4, true },
	[SN_T_LONG] = { "long", 8, false },
	[SN_T_ULONG] = { "unsigned long", 8, true },
	[SN_T_LLONG] = { "long long", 8, false },
	[SN_T_ULLONG] = { "unsigned long long", 8, true },
	[SN_T_FLOAT] = { "float", 4, false },
	[SN_T_DOUBLE] = { "double", 8, false },
};

const char *sn_pnd_type_name(enum sn_pnd_type type)
{
	return types[type].name;
}

int64_t sn_pnd_type_bytes(enum sn_pnd_type type)
{
	return types[type].bytes;
}

bool sn_pnd_type_is_integer(enum sn_pnd_type type)
{
	return type > SN_T_VOID && type < SN_T_FLOAT;
}

bool sn_pnd_type_is_unsigned(enum sn_pnd_type type)
{
	return types[type].is_unsigned;
}

enum sn_pnd_type sn_pnd_type_common(enum sn_pnd_type a, enum sn_pnd_type b)
{
	enum sn_pnd_type high = a > b ? a : b, low = a > b ? b : a;

	/* the one case in which neither type holds the other's values */
	if (high == SN_T_LLONG && low == SN_T_ULONG)
		return SN_T_ULLONG;
	return high < SN_T_INT ? SN_T_INT : high;
}

bool sn_pnd_type_holds(enum sn_pnd_type to, enum sn_pnd_type from)
{
	if (to == SN_T_BOOL || from == SN_T_BOOL)
		return to == from || from == SN_T_BOOL;
	if (types[to].is_unsigned == types[from].is_unsigned)
		return types[to].bytes >= types[from].bytes;
	return !types[to].is_unsigned && types[to].bytes > types[from].bytes;
}

uint64_t sn_pnd_convert_bits(enum sn_pnd_type type, uint64_t bits)
{
	int unused = 64 - 8 * types[type].bytes;

	if (type == SN_T_BOOL)
		return bits != 0;
	if (types[type].is_unsigned)
		return bits << unused >> unused;
	return (uint64_t)((int64_t)(bits << unused) >> unused);
}

bool sn_pnd_bits_to_number(enum sn_pnd_type type, uint64_t bits, int64_t *out)
{
	if (types[type].is_unsigned && bits > INT64_MAX)
		return false;
	*out = (int64_t)bits;
	return true;
}

/* ---- words ---- */

/* Two bits of `counts` for each word: how often it stands there, at most 3. */
static const char *const words_of_types[] = { "void",	"_Bool",    "char",	"short",
					      "int",	"long",	    "float",	"double",
					      "signed", "unsigned", "_Complex", "__int128" };
enum {
	W_VOID = 1 << 0,
	W_BOOL = 1 << 2,
	W_CHAR = 1 << 4,
	W_SHORT = 1 << 6,
	W_INT = 1 << 8,
	W_LONG = 1 << 10,
	W_FLOAT = 1 << 12,
	W_DOUBLE = 1 << 14,
	W_SIGNED = 1 << 16,
	W_UNSIGNED = 1 << 18,
};

bool sn_pnd_type_add_word(struct sn_pnd_type_words *words, const char *word)
{
	for (size_t i = 0; i < sizeof(words_of_types) / sizeof(*words_of_types); i++)
		if (!strcmp(word, words_of_types[i])) {
			uint32_t one = 1u << 2 * i;

			if ((words->counts & 3 * one) != 3 * one)
				words->counts += one;
			words->count++;
			return true;
		}
	return false;
}

/* "short": also signed, also with int. */
#define SIZED(word, type, unsigned_type)                                                           \
	{ word, type }, { word + W_INT, type }, { word + W_SIGNED, type },                         \
		{ word + W_SIGNED + W_INT, type }, { word + W_UNSIGNED, unsigned_type },           \
	{                                                                                          \
		word + W_UNSIGNED + W_INT, unsigned_type                                           \
	}

enum sn_pnd_type sn_pnd_type_of_words(const struct sn_pnd_type_words *words)
{
	static const struct {
		uint32_t counts;
		enum sn_pnd_type type;
	} rows[] = {
		{ W_VOID, SN_T_VOID },
		{ W_BOOL, SN_T_BOOL },
		{ W_CHAR, SN_T_CHAR },
		{ W_SIGNED + W_CHAR, SN_T_SCHAR },
		{ W_UNSIGNED + W_CHAR, SN_T_UCHAR },
		{ W_INT, SN_T_INT },
		{ W_SIGNED, SN_T_INT },
		{ W_SIGNED + W_INT, SN_T_INT },
		{ W_UNSIGNED, SN_T_UNSIGNED },
		{ W_UNSIGNED + W_INT, SN_T_UNSIGNED },
		SIZED(W_SHORT, SN_T_SHORT, SN_T_USHORT),
		SIZED(W_LONG, SN_T_LONG, SN_T_ULONG),
		SIZED(W_LONG + W_LONG, SN_T_LLONG, SN_T_ULLONG),
		{ W_FLOAT, SN_T_FLOAT },
		{ W_DOUBLE, SN_T_DOUBLE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].counts == words->counts)
			return rows[i].type;
	return SN_T_NONE;
}
