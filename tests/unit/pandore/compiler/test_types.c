/* Types and constants: the words in every order, and what the compiler of this test says of the
 * same text. */
#include "source.h"

#define WORDS_MAX 5

/* Hands every order of the words to `check`. */
static void permute(char **words, int count, int fixed, const char *want,
		    void (*check)(char **words, int count, const char *want))
{
	if (fixed == count)
		check(words, count, want);
	for (int i = fixed; i < count; i++) {
		char *kept = words[i];

		words[i] = words[fixed];
		words[fixed] = kept;
		permute(words, count, fixed + 1, want, check);
		words[fixed] = words[i];
		words[i] = kept;
	}
}

static void check_words(char **words, int count, const char *want)
{
	struct sn_pnd_type_words read = { 0 };
	enum sn_pnd_type type;

	for (int i = 0; i < count; i++)
		CHECK(sn_pnd_type_add_word(&read, words[i]));
	type = sn_pnd_type_of_words(&read);
	CHECK_STRING(type == SN_T_NONE ? "none" : sn_pnd_type_name(type), want);
	CHECK(read.count == (size_t)count);
}

static void check_all_orders(const char *spelling, const char *want)
{
	char text[80], *words[WORDS_MAX], *rest = text, *word;
	int count = 0;

	snprintf(text, sizeof(text), "%s", spelling);
	while ((word = strsep(&rest, " ")))
		words[count++] = word;
	permute(words, count, 0, want, check_words);
}

TEST(words_of_a_type_stand_in_any_order)
{
	static const char *const sets[][2] = {
		{ "char", "char" },
		{ "signed char", "signed char" },
		{ "unsigned char", "unsigned char" },
		{ "short", "short" },
		{ "signed short int", "short" },
		{ "short int", "short" },
		{ "unsigned short", "unsigned short" },
		{ "unsigned short int", "unsigned short" },
		{ "int", "int" },
		{ "signed", "int" },
		{ "signed int", "int" },
		{ "unsigned", "unsigned" },
		{ "unsigned int", "unsigned" },
		{ "long", "long" },
		{ "long int", "long" },
		{ "signed long int", "long" },
		{ "unsigned long", "unsigned long" },
		{ "unsigned long int", "unsigned long" },
		{ "long long", "long long" },
		{ "signed long long int", "long long" },
		{ "unsigned long long", "unsigned long long" },
		{ "unsigned long long int", "unsigned long long" },
		{ "_Bool", "_Bool" },
		{ "float", "float" },
		{ "double", "double" },
		{ "void", "void" },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		check_all_orders(sets[i][0], sets[i][1]);
}

TEST(other_words_are_no_type_of_ours)
{
	static const char *const sets[] = {
		"long double",	      "signed unsigned", "int int",	   "short long",
		"unsigned float",     "char char",	 "long long long", "_Bool int",
		"short char",	      "_Complex double", "__int128",	   "unsigned void",
		"long float",	      "signed _Bool",	 "long char",	   "int double",
		"signed signed char",
	};
	struct sn_pnd_type_words read = { 0 };

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		check_all_orders(sets[i], "none");
	CHECK(!sn_pnd_type_add_word(&read, "integer") && read.count == 0);
}

#define OF(type) sn_pnd_type_name(type)
#define TYPE_OF(e)                                                                                 \
	_Generic((e), int                                                                          \
		 : SN_T_INT, unsigned                                                              \
		 : SN_T_UNSIGNED, long                                                             \
		 : SN_T_LONG, unsigned long                                                        \
		 : SN_T_ULONG, long long                                                           \
		 : SN_T_LLONG, unsigned long long                                                  \
		 : SN_T_ULLONG, char                                                               \
		 : SN_T_CHAR, signed char                                                          \
		 : SN_T_SCHAR, unsigned char                                                       \
		 : SN_T_UCHAR, short                                                               \
		 : SN_T_SHORT, unsigned short                                                      \
		 : SN_T_USHORT, _Bool                                                              \
		 : SN_T_BOOL)
#define CASE(e)                                                                                    \
	{                                                                                          \
#e, TYPE_OF(e), (uint64_t)(e)                                                      \
	}

/* The first expression of a phase: "w = EXPRESSION;" */
static const struct sn_pnd_expr *parse(struct source *s, const char *expression)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "#define P 1\ndist ph(int A[4])\n{ double w;\nw = %s;\n}\nint main(void) { return "
		 "0; }\n",
		 expression);
	source_parse(s, text);
	REQUIRE(s->diags.errors == 0);
	return source_find(s->program.phases->body, SN_S_ASSIGN)->rhs;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wlong-long"
TEST(constants_have_the_value_and_type_that_c_gives_them)
{
	static const struct {
		const char *text;
		enum sn_pnd_type type;
		uint64_t bits;
	} cases[] = {
		CASE(1),
		CASE(2147483648),
		CASE(0x7fffffff),
		CASE(0x80000000),
		CASE(4294967296),
		CASE(0xffffffffffffffff),
		CASE(18446744073709551615u),
		CASE(1u),
		CASE(1lu),
		CASE(1ll),
		CASE(1LLU),
		CASE(4294967296u),
		CASE(-1 < 1u),
		CASE(-1 < 1l),
		CASE(-1l < 1u),
		CASE(-1l < 1ul),
		CASE(-1 > 1ull),
		CASE(4294967295u + 1),
		CASE(4294967295u + 1l),
		CASE(0u - 1),
		CASE(-1u),
		CASE(~0u),
		CASE(~0ul >> 1),
		CASE(1ul << 63),
		CASE(1u << 31),
		CASE(-7 / 2),
		CASE(-7 % 3),
		CASE(-7 / 2u),
		CASE(18446744073709551615u / 3),
		CASE(18446744073709551615u % 10),
		CASE(65536u * 65536u),
		CASE(4294967296ul * 4294967296ul),
		CASE((unsigned char)300),
		CASE((char)200),
		CASE((signed char)128),
		CASE((short)40000),
		CASE((unsigned short)-1),
		CASE((_Bool)256),
		CASE((unsigned)-1),
		CASE((int)4294967297l),
		CASE((long)-1),
		CASE((unsigned long)-1),
		CASE((unsigned char)255 + 1),
		CASE(-(unsigned char)1),
		CASE((short)-1 < (unsigned short)1),
		CASE((short)-1 < 1u),
		CASE(1 ? -1 : 1u),
		CASE(1 ? -1 : 1ul),
		CASE(1l + 1ul),
		CASE(1ll + 1ul),
		CASE(0 && 1 / 1),
		CASE(2 || 0),
		CASE(!0ul),
		CASE(-1 >> 1),
		CASE(0xf0 & 0x3cu),
		CASE(0xf0 | -1),
		CASE(6l ^ 3),
		CASE(1 == 1u),
		CASE(-1 != 4294967295u),
		CASE('a'),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct source s;
		const struct sn_pnd_expr *e = parse(&s, cases[i].text);
		uint64_t bits = 0;

		if (!sn_pnd_evaluate_bits(e, &bits) || bits != cases[i].bits ||
		    e->type != cases[i].type)
			printf("# %s\n", cases[i].text);
		CHECK(bits == cases[i].bits);
		CHECK_STRING(OF(e->type), OF(cases[i].type));
		source_free(&s);
	}
}
#pragma GCC diagnostic pop

TEST(what_overflows_has_no_value)
{
	static const char *const texts[] = {
		"2147483647 + 1",
		"-2147483647 - 2",
		"65536 * 65536",
		"9223372036854775807 + 1",
		"(-2147483647 - 1) / -1",
		"1 << 31",
		"1 << 32",
		"1u << 32",
		"1 << -1",
		"1 / 0",
		"1u % 0",
		"-(-2147483647 - 1)",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct source s;
		uint64_t bits;
		bool has_value = sn_pnd_evaluate_bits(parse(&s, texts[i]), &bits);

		if (has_value)
			printf("# %s\n", texts[i]);
		CHECK(!has_value);
		source_free(&s);
	}
}

TEST(every_type_of_c_is_declared_as_it_stands)
{
	static const char *const types[] = {
		"char",		  "signed char", "unsigned char",      "short",
		"unsigned short", "int",	 "unsigned",	       "long",
		"unsigned long",  "long long",	 "unsigned long long", "float",
		"double",	  "_Bool",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		char text[400];
		struct source s;

		snprintf(text, sizeof(text),
			 "#define P 1\n%s g, %s h[3];\n%s f(%s x) { return x; }\n"
			 "dist ph(%s A[4], %s k)\n{ %s w;\nw = (%s)f(k);\n}\nint main(void) { "
			 "return 0; }\n",
			 types[i], types[i], types[i], types[i], types[i], types[i], types[i],
			 types[i]);
		source_parse(&s, text);
		CHECK_STRING(source_findings(&s), "");
		REQUIRE(s.program.phases && s.program.globals && s.program.functions);
		CHECK_STRING(OF(s.program.globals->type), types[i]);
		CHECK_STRING(OF(s.program.globals->next->type), types[i]);
		CHECK_STRING(OF(s.program.functions->type), types[i]);
		CHECK_STRING(OF(s.program.functions->params->type), types[i]);
		CHECK_STRING(OF(s.program.phases->params->type), types[i]);
		CHECK_STRING(OF(s.program.phases->body->locals->type), types[i]);
		CHECK_STRING(OF(source_find(s.program.phases->body, SN_S_ASSIGN)->rhs->type),
			     types[i]);
		source_free(&s);
	}
}

TEST(a_type_follows_a_comma_as_in_figure_1)
{
	struct source s;

	source_parse(&s, "#define P 1\nfloat A[4], unsigned char V[4], W[4];\n"
			 "int main(void) { return 0; }\n");
	CHECK_STRING(source_findings(&s), "");
	CHECK_STRING(OF(s.program.globals->type), "float");
	CHECK_STRING(OF(s.program.globals->next->type), "unsigned char");
	CHECK_STRING(OF(s.program.globals->next->next->type), "unsigned char");
	source_free(&s);
}

static void check_findings(const char *text, const char *want)
{
	struct source s;

	source_parse(&s, text);
	CHECK_STRING(source_findings(&s), want);
	source_free(&s);
}

TEST(types_that_are_not_ours_are_refused_by_name)
{
	check_findings("#define P 1\nlong double g;\nint main(void) { return 0; }\n",
		       ""); /* the host's */
	check_findings("#define P 1\nunsigned float g;\nint main(void) { return 0; }\n", "2:1 P08");
	check_findings(
		"#define P 1\ndist ph(double long A[4])\n{ }\nint main(void) { return 0; }\n",
		"2:9 P08");
	check_findings("#define P 1\ndist ph(int A[4])\n{\nlong double w;\n}\nint main(void) { "
		       "return 0; }\n",
		       "4:1 P08");
	check_findings("#define P 1\ndist ph(int A[4])\n{\nA[0] = (long double)1;\n}\n"
		       "int main(void) { return 0; }\n",
		       "4:9 P08");
	check_findings("#define P 1\ndist ph(int A[4])\n{\nuint8_t w;\nsize_t n;\n}\nint "
		       "main(void) { return 0; }\n",
		       "4:1 P08, 5:1 P08");
	check_findings("#define P 1\nsize_t g;\ndist ph(uint32_t A[4])\n{ }\nint main(void) { "
		       "return 0; }\n",
		       "3:9 P08");
	check_findings("#define P 1\nlong double f(long double x) { return x; }\nint main(void) { "
		       "return 0; }\n",
		       "");
}
