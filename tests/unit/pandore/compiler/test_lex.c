/* The preprocessor: macros, conditionals, positions, integers. */
#include "source.h"

static const char *text_of(struct source *s, const char *source,
			   const struct sn_pnd_define *defines, size_t count)
{
	struct sn_pnd_lex_options options = { .defines = defines, .define_count = count };
	struct sn_pnd_file file = { "t.pnd", source, strlen(source) };
	struct sn_text text = { 0 };
	const char *copy;

	memset(s, 0, sizeof(*s));
	s->diags.arena = &s->arena;
	sn_vec_push(&s->diags.files, file);
	sn_pnd_lex(&s->diags, &options, &s->program.tokens);
	for (size_t i = 0; i + 1 < s->program.tokens.items.count; i++)
		sn_text_addf(&text, "%s%s", i ? " " : "", s->program.tokens.items.items[i].text);
	copy = sn_arena_strdup(&s->arena, text.chars ? text.chars : "");
	sn_text_free(&text);
	return copy;
}

static void check_tokens(const char *source, const char *want)
{
	struct source s;

	CHECK_STRING(text_of(&s, source, NULL, 0), want);
	CHECK_STRING(source_findings(&s), "");
	source_free(&s);
}

TEST(macros)
{
	check_tokens("#define N 4\nN N1 \"N\"\n", "4 N1 \"N\"");
	check_tokens("#define A B\n#define B A\nA B\n", "A B"); /* no macro within itself */
	check_tokens("#define F(x, y) x + (y)\nF(1, 2) F (3, G(4, 5)) F\n",
		     "1 + ( 2 ) 3 + ( G ( 4 , 5 ) ) F");
	check_tokens("#define F(x) x\n#define N 7\nF(N) F((1, 2))\n", "7 ( 1 , 2 )");
	check_tokens("#define N 1\n#undef N\nN\n", "N");
	check_tokens("#define LONG 1 + \\\n 2\nLONG\n", "1 + 2");
	check_tokens("a /* N\n */ b // c\nd\n", "a b d");
}

TEST(stringified_and_pasted)
{
	check_tokens("#define S(x) #x\nS(a +  b[1] \"q\\n\")\n", "\"a + b[1] \\\"q\\\\n\\\"\"");
	check_tokens("#define C(a, b) a##b\n#define x no\nC(x, 1) C(1, 2) C(, y) C(y,) C(<, <=)\n",
		     "x1 12 y y <<=");
	check_tokens("#define C(a, b) q a ## b ## _ ## a r\nC(1 x, y z)\n", "q 1 xy z_1 x r");
	/* what was pasted is looked at again, and beside # and ## arguments stay as written */
	check_tokens("#define xy 7\n#define C(a, b) a##b\n#define D(a) C(a, y) a\n#define x w\n"
		     "C(x, y) D(x)\n",
		     "7 wy w");
}

TEST(conditionals)
{
	check_tokens("#define N 4\n#if N > 3 && defined(N) && !defined M\nyes\n#else\nno\n#endif\n",
		     "yes");
	check_tokens("#if 0\nno\n#elif 1\nyes\n#elif 1\nno\n#else\nno\n#endif\n", "yes");
	check_tokens("#ifdef N\nno\n#if 1\nno\n#endif\n#else\nyes\n#endif\n", "yes");
	check_tokens("#ifndef N\nyes\n#endif\n", "yes");
}

TEST(a_define_of_the_command_line_wins)
{
	static const struct sn_pnd_define defines[] = { { "P", "7" } };
	struct source s;

	CHECK_STRING(text_of(&s, "#define P 4\nP\n", defines, 1), "7");
	source_free(&s);
}

TEST(places)
{
	struct source s;
	const struct sn_pnd_token *t;

	text_of(&s, "#define N 44\n\n  a + N\n# 20 \"other.c\"\nb\n", NULL, 0);
	REQUIRE(s.program.tokens.items.count == 5);
	t = s.program.tokens.items.items;
	CHECK_INT(t[0].pos.line, 3);
	CHECK_INT(t[0].pos.column, 3);
	CHECK_INT(t[2].pos.line, 3); /* a macro's tokens stand where it is used */
	CHECK_INT(t[2].pos.column, 7);
	CHECK(t[2].from_macro);
	CHECK_INT(t[3].pos.column, 1);
	source_free(&s);
}

TEST(faults)
{
	static const char *const faulty[] = {
		"#if 1\na\n",
		"#endif\n",
		"#else\n",
		"#define\n",
		"#define F(x\nF\n",
		"#define C(a, b) a##b\nC(+, x)\n",
		"#error no\n",
		"#include \"x.h\"\n",
		"#define F(x) x\nF(1\n",
		"\"open\n",
		"/* open",
	};

	for (size_t i = 0; i < sizeof(faulty) / sizeof(*faulty); i++) {
		struct source s;

		text_of(&s, faulty[i], NULL, 0);
		tap_check(s.diags.errors == 1, __FILE__, __LINE__, faulty[i]);
		source_free(&s);
	}
}

static bool integer(const char *chars, int64_t *out)
{
	struct source s;
	bool ok;

	text_of(&s, chars, NULL, 0);
	ok = sn_pnd_integer_value(&s.program.tokens.items.items[0], out);
	source_free(&s);
	return ok;
}

TEST(integers)
{
	int64_t value;

	CHECK(integer("0x7fffffffffffffff", &value) && value == INT64_MAX);
	CHECK(integer("0777", &value) && value == 511);
	CHECK(integer("42uL", &value) && value == 42);
	CHECK(integer("'\\x41'", &value) && value == 65);
	CHECK(!integer("99999999999999999999999", &value));
}
