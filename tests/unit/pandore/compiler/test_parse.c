/* The language: types of expressions, operators, distributions, and the liberties of its syntax. */
#include "source.h"

#define PHASE(body)                                                                                \
	"#define N 8\n#define P 3\ndist ph(float A[N], int k)\n{\n\tchar c; int i; unsigned u; "   \
	"long l; "                                                                                 \
	"float f; double d;\n\t" body "\n}\nint main(void) { return 0; }\n"

static const struct sn_pnd_expr *right_side(struct source *s, const char *source)
{
	const struct sn_pnd_stmt *assign;

	source_parse(s, source);
	CHECK_STRING(source_findings(s), "");
	REQUIRE(s->diags.errors == 0 && s->program.phases);
	assign = source_find(s->program.phases->body, SN_S_ASSIGN);
	REQUIRE(assign);
	return assign->rhs;
}

static void check_type(const char *source, enum sn_pnd_type want)
{
	struct source s;

	CHECK_STRING(sn_pnd_type_name(right_side(&s, source)->type), sn_pnd_type_name(want));
	source_free(&s);
}

TEST(types_follow_the_usual_conversions)
{
	check_type(PHASE("d = c + c;"), SN_T_INT);
	check_type(PHASE("d = i + c;"), SN_T_INT);
	check_type(PHASE("d = i + u;"), SN_T_UNSIGNED);
	check_type(PHASE("d = u + l;"), SN_T_LONG);
	check_type(PHASE("d = l * f;"), SN_T_FLOAT);
	check_type(PHASE("d = f / d;"), SN_T_DOUBLE);
	check_type(PHASE("d = f + 1.0;"), SN_T_DOUBLE);
	check_type(PHASE("d = f + 1.0f;"), SN_T_FLOAT);
	check_type(PHASE("d = f < d;"), SN_T_INT);
	check_type(PHASE("d = !f;"), SN_T_INT);
	check_type(PHASE("d = -c;"), SN_T_INT);
	check_type(PHASE("d = ~u;"), SN_T_UNSIGNED);
	check_type(PHASE("d = c << l;"), SN_T_INT);
	check_type(PHASE("d = i ? f : u;"), SN_T_FLOAT);
	check_type(PHASE("d = (char)l;"), SN_T_CHAR);
	check_type(PHASE("d = 2147483647;"), SN_T_INT);
	check_type(PHASE("d = 2147483648;"), SN_T_LONG);
	check_type(PHASE("d = 0xffffffff;"), SN_T_UNSIGNED);
	check_type(PHASE("d = 1u;"), SN_T_UNSIGNED);
	check_type(PHASE("d = 1l;"), SN_T_LONG);
	check_type(PHASE("d = 'a';"), SN_T_INT);
	check_type(PHASE("d = sqrt(f);"), SN_T_DOUBLE);
}

static void check_printed(const char *source, const char *want)
{
	struct sn_text text = { 0 };
	struct source s;

	sn_pnd_print_expr(&text, right_side(&s, source));
	CHECK_STRING(text.chars, want);
	sn_text_free(&text);
	source_free(&s);
}

TEST(operators_bind_as_in_c)
{
	check_printed(PHASE("d = i + i * i;"), "i + i * i");
	check_printed(PHASE("d = (i + i) * i;"), "(i + i) * i");
	check_printed(PHASE("d = i - i - i;"), "i - i - i");
	check_printed(PHASE("d = i - (i - i);"), "i - (i - i)");
	check_printed(PHASE("d = (i * i) / i;"), "i * i / i");
	check_printed(PHASE("d = i || i && i | i ^ i & i;"), "i || i && i | i ^ i & i");
	check_printed(PHASE("d = ((i || i) && i);"), "(i || i) && i");
	check_printed(PHASE("d = i << 1 < i == i;"), "i << 1 < i == i");
	check_printed(PHASE("d = i ? i : i ? i : i;"), "i ? i : i ? i : i");
	check_printed(PHASE("d = (i ? i : i) ? i : i;"), "(i ? i : i) ? i : i");
}

static int64_t value(const char *expression)
{
	char source[512];
	struct source s;
	int64_t number = -999;

	snprintf(source, sizeof(source), PHASE("d = %s;"), expression);
	CHECK(sn_pnd_evaluate(right_side(&s, source), &number));
	source_free(&s);
	return number;
}

TEST(constants_are_evaluated_as_in_c)
{
	CHECK_INT(value("7 / 2 * 2 + 7 % 2"), 7);
	CHECK_INT(value("-7 / 2"), -3);
	CHECK_INT(value("-7 % 2"), -1);
	CHECK_INT(value("1 << 4 | 3"), 19);
	CHECK_INT(value("0x10 + 010 + '\\n'"), 34);
	CHECK_INT(value("2 > 1 && 1 >= 1 && !(1 != 1)"), 1);
	CHECK_INT(value("0 ? 1 : 2"), 2);
	CHECK_INT(value("~0"), -1);
	CHECK_INT(value("N * 2"), 16);
}

TEST(standard_headers_bring_their_constants_and_types)
{
	struct source s;

	check_type("#include <math.h>\n" PHASE("d = M_PI;"), SN_T_DOUBLE);
	check_type("#include <math.h>\n" PHASE("d = INFINITY;"), SN_T_FLOAT);
	check_type("#include <float.h>\n" PHASE("d = FLT_MAX;"), SN_T_FLOAT);
	check_type("#include <limits.h>\n" PHASE("l = LONG_MIN;"), SN_T_LONG);
	check_type("#include <stdint.h>\n" PHASE("{ uint16_t h; i = h + (int64_t)1; }"), SN_T_LONG);
	check_type(PHASE("i = sizeof(double);"), SN_T_ULONG);
	source_parse(&s, PHASE("d = M_PI;"));
	CHECK_STRING(source_findings(&s), "6:6 P12");
	source_free(&s);
	/* the program's own comes first, whatever the order */
	CHECK_STRING(right_side(&s, "#define M_PI 3\n#include <math.h>\n" PHASE("d = M_PI;"))->text,
		     "3");
	source_free(&s);
	CHECK_STRING(right_side(&s, "#include <math.h>\n#define M_PI 3\n" PHASE("d = M_PI;"))->text,
		     "3");
	source_free(&s);
}

TEST(constants_without_a_value)
{
	static const char *const none[] = { "1 / 0", "1 % 0", "9223372036854775807l + 1", "1 << 64",
					    "1.5" };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		char source[512];
		struct source s;
		const struct sn_pnd_stmt *assign;
		int64_t number;

		snprintf(source, sizeof(source), PHASE("d = %s;"), none[i]);
		source_parse(&s, source);
		assign = s.program.phases ? source_find(s.program.phases->body, SN_S_ASSIGN) : NULL;
		CHECK(!assign || !assign->rhs || !sn_pnd_evaluate(assign->rhs, &number));
		source_free(&s);
	}
}

TEST(blocks_are_laid_out_as_the_manual_says)
{
	struct source s;
	const struct sn_pnd_var *a, *b;

	source_parse(&s, "#define P 3\n"
			 "dist ph(float A[10][7] by block(4,3) map regular(1,0) mode OUT,\n"
			 "        double B[5] by block(2) map wrapped(0)) { }\n"
			 "int main(void) { return 0; }\n");
	CHECK_STRING(source_findings(&s), "");
	REQUIRE(s.program.phases && s.program.phases->param_count == 2);
	a = s.program.phases->params;
	b = a->next;
	CHECK_INT(s.program.nodes, 3);
	CHECK_INT(a->grid[0], 3);
	CHECK_INT(a->grid[1], 3);
	CHECK_INT(a->block_count, 9);
	CHECK_INT(a->blocks_per_node, 3);
	CHECK_INT(a->order[0], 1);
	CHECK(!a->is_wrapped && a->mode == SN_MODE_OUT);
	CHECK_INT(b->block_count, 3);
	CHECK(b->is_wrapped && b->mode == SN_MODE_INOUT);
	source_free(&s);
}

static void check_accepted(const char *source)
{
	struct source s;

	source_parse(&s, source);
	CHECK_STRING(source_findings(&s), "");
	source_free(&s);
}

TEST(liberties_of_the_syntax)
{
	/* as the paper prints it: a repeated type after a comma, main without a type */
	check_accepted("#define P 2\nfloat A[4], float V[4];\n"
		       "dist ph(float A[4], float V[4]) { }\nmain()\n{ ph(A,V); }\n");
	/* the words of distributions are names elsewhere */
	check_accepted(
		"#define P 2\ndist ph(float by[4] by block(2) map regular(0), int map, int mode)\n"
		"{ int block, regular, wrapped; block = map + mode; regular = block; "
		"wrapped = regular; by[0] = wrapped; }\nint main(void) { return 0; }\n");
	/* the host is any C */
	check_accepted("#define P 1\n#include <stdio.h>\n"
		       "static int h(int *p) { switch (*p) { default: return *&*p; } }\n"
		       "dist ph(float x) { }\n"
		       "int main(void) { struct s { int a; } v = { 1 }; goto out; out: "
		       "ph(h(&v.a)); return 0; }\n");
	/* comments and pragmas of others mean nothing */
	check_accepted("#define P 1\n#pragma omp parallel\ndist ph(float A[2])\n"
		       "{ /* Instrumentation zone 1 */ A[0] = 1; // done\n}\nint main(void) { "
		       "return 0; }\n");
}

TEST(zones_and_observation_points)
{
	struct source s;
	const struct sn_pnd_stmt *zone, *observe;

	source_parse(&s, PHASE("\n#pragma pandore zone first\n\tfor (i = 0; i < N; i++)\n"
			       "\t\tA[i] = 1;\n#pragma pandore observe \"here\"\n"));
	CHECK_STRING(source_findings(&s), "");
	REQUIRE(s.program.phases && s.program.zones.count == 1);
	CHECK_STRING(s.program.zones.items[0].name, "first");
	zone = source_find(s.program.phases->body, SN_S_ZONE);
	observe = source_find(s.program.phases->body, SN_S_OBSERVE);
	REQUIRE(zone && observe);
	CHECK_INT(source_find(zone->body, SN_S_ASSIGN)->zone, 0);
	CHECK_STRING(observe->name, "here");
	CHECK(s.program.has_observe);
	source_free(&s);
}
