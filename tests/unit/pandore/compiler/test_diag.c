/* Every diagnostic of docs/manual/pandore.md: where it is put, and that one cause is told once. */
#include "source.h"

#define HEAD "#define N 8\n#define P 2\nfloat A[N], B[N];\n"
#define TAIL "\nint main(void) { ph(A, B); return 0; }\n"
#define A4   "float A[N] by block(4) map regular(0)"
/* The statement stands in line 6, column 2. */
#define BODY(text) HEAD "dist ph(" A4 ", float B[N])\n{\n\t" text "\n}" TAIL
/* ... with a mode for A; with something in line 4, so that the statement is in line 7. */
#define BODY_MODE(mode, text)                                                                      \
	HEAD "dist ph(" A4 " mode " mode ", float B[N])\n{\n\t" text "\n}" TAIL
#define BODY_WITH(before, text) HEAD before "\ndist ph(" A4 ", float B[N])\n{\n\t" text "\n}" TAIL
#define PARAMS(text)		HEAD "dist ph(" text ") { }" TAIL
#define CALL(text)		HEAD "dist ph(" A4 ", float B[N]) { }\nint main(void)\n{\n\t" text "\n}\n"
#define SQUARE(distribution)                                                                       \
	"#define P 2\nfloat A[4][4];\ndist ph(float A[4][4] by " distribution                      \
	") { }\nint main(void) { ph(A); return 0; }\n"

struct expectation {
	const char *source, *findings;
};

static void check_all(const struct expectation *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct source s;

		source_parse(&s, expected[i].source);
		CHECK_STRING(source_findings(&s), expected[i].findings);
		source_free(&s);
	}
}

#define CHECK_ALL(table) check_all(table, sizeof(table) / sizeof(*(table)))

TEST(a_right_program_has_no_findings)
{
	static const struct expectation table[] = {
		{ BODY("int i;\n\tfor (i = 0; i < N; i++)\n\t\tB[i] = A[i];"), "" },
	};

	CHECK_ALL(table);
}

TEST(p01_block_sizes_are_integer_constants)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(N*0.5) map regular(0), float B[N]"), "4:29 P01" },
		{ PARAMS("float A[N] by block(n) map regular(0), float B[N]"), "4:29 P01" },
		{ PARAMS("float A[N] by block(8/0) map regular(0), float B[N]"), "4:29 P01" },
		{ SQUARE("block(2,x) map regular(0,1)"), "3:34 P01" },
	};

	CHECK_ALL(table);
}

TEST(p02_block_sizes_are_at_least_one)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(0) map regular(0), float B[N]"), "4:29 P02" },
		{ PARAMS("float A[N] by block(-N) map regular(0), float B[N]"), "4:29 P02" },
		{ SQUARE("block(2,N-N) map regular(0,1)"), "3:34 P01" }, /* no N there */
	};

	CHECK_ALL(table);
}

TEST(p03_a_block_size_for_each_dimension)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(4,2) map regular(0), float B[N]"), "4:28 P03" },
		{ SQUARE("block(2) map regular(0,1)"), "3:31 P03" },
		{ HEAD "dist ph(int k by block(1) map regular(0), float B[N]) { }" TAIL,
		  "4:13 P03" },
	};

	CHECK_ALL(table);
}

TEST(p04_a_mapping_lists_every_dimension_once)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(4) map regular(1), float B[N]"), "4:44 P04" },
		{ SQUARE("block(2,4) map wrapped(0,0)"), "3:51 P04" },
		{ SQUARE("block(2,4) map wrapped(0)"), "3:41 P04" },
		{ SQUARE("block(2,4) map wrapped(0,1,0)"), "3:53 P04" },
		{ SQUARE("block(2,4) map wrapped(0,x)"), "3:51 P04" },
	};

	CHECK_ALL(table);
}

TEST(p05_mappings_and_modes)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(4) map cyclic(0), float B[N]"), "4:36 P05" },
		{ PARAMS(A4 " mode BOTH, float B[N]"), "4:52 P05" },
		{ PARAMS("float A[N] by rows(4) map regular(0), float B[N]"), "4:23 P05" },
		{ HEAD "dist ph(" A4 ", float B[N], int k mode OUT) { }" TAIL, "4:71 P05" },
	};

	CHECK_ALL(table);
}

TEST(p06_in_parameters_are_not_assigned)
{
	static const struct expectation table[] = {
		{ BODY_MODE("IN", "A[1] = 2;"), "6:2 P06" },
		{ BODY_MODE("IN", "A[1]++;"), "6:2 P06" },
		{ BODY_MODE("IN", "B[1] = 1; A[1] -= 2;"), "6:12 P06" },
		{ PARAMS("const " A4 ", const float B[N]"), "" },
		{ BODY("const int k = 2; k = 3;"), "6:19 P06" },
		{ BODY("const double x = 2; double y; y = x; x += y;"), "6:39 P06" },
		{ "#define P 1\ndist ph(const float A[4]) { A[0] = 1; }\nint main(void) { return 0; }\n",
		  "2:29 P06" },
	};

	CHECK_ALL(table);
}

#define SIZED(call)                                                                                \
	"#define P 2\ndist ph(int n, int m, double A[n][m] by block((n+1)/2,m) map regular(0,1)) " \
	"{ A[0][0] = 1; }\n"                                                                       \
	"static double A[4][6];\nint main(int n, char **v)\n{\n\t" call "\n\treturn 0;\n}\n"

TEST(p07_arguments_are_whole_and_distinct)
{
	static const struct expectation table[] = {
		{ CALL("ph(A, A);"), "7:8 P07" },
		{ CALL("ph(A);"), "7:2 P07" },
		{ CALL("ph(A, B, 1);"), "7:2 P07" },
		{ CALL("ph(A, B + 1);"), "7:8 P07" },
		{ CALL("double C[N];\n\tph(A, C);"), "8:8 P07" },
		{ CALL("float C[4];\n\tph(A, C);"), "8:8 P07" },
		{ CALL("void (*f)() = ph;\n\tph(A, B);"), "7:16 P07" },
		{ CALL("struct { int ph; } s = { 1 };\n\tph(A, B);\n\ts.ph = 1;"), "" },
		{ CALL("ph(A, B);\n\t{ int ph = 1; exit(ph); }"), "" },
		{ SIZED("ph(4, 6, A);"), "" },
		{ SIZED("ph(3, 6, A);"), "" },
		{ SIZED("ph(n, n, A);"), "" },
		{ SIZED("ph(5, 6, A);"), "6:11 P07" },
		{ SIZED("ph(4, 5, A);"), "6:11 P07" },
	};

	CHECK_ALL(table);
}

TEST(p08_what_pandore_c_leaves_out)
{
	static const struct expectation table[] = {
		{ BODY("B[0] = *A;"), "6:9 P08" },
		{ BODY("B[1] = &B;"), "6:9 P08" },
		{ BODY("float *q;"), "6:8 P08" },
		{ BODY("goto end;"), "6:2 P08" },
		{ BODY("switch (1) { case 1: B[0] = 1; default: ; }"), "6:2 P08" },
		{ BODY("struct s x;"), "6:2 P08" },
		{ BODY("union u x;"), "6:2 P08" },
		{ BODY("break;"), "6:2 P00" },
		{ BODY("B[0] = sizeof(B);"), "6:9 P08" },
		{ BODY("B[0] = sizeof B[0];"), "6:9 P08" },
		{ BODY("B[0] = sizeof(float) + sizeof (unsigned long);"), "" },
		{ BODY("return 1;"), "6:2 P08" },
		{ BODY("sqrt(2.0);"), "6:2 P08" },
		{ PARAMS(A4 ", float *B"), "4:54 P08" },
		{ "#define P 1\ndist int ph(float A[4]) { A[0] = 1; }\nint main(void) { return 0; }\n",
		  "2:6 P08" },
	};

	CHECK_ALL(table);
}

TEST(p09_functions_with_effects)
{
	static const struct expectation table[] = {
		{ BODY("B[0] = rand();"), "6:9 P09" },
		{ BODY_WITH("int g; float f(float x) { g = 1; return x; }", "B[0] = f(1);"),
		  "7:9 P09" },
		{ BODY_WITH("float f(float *x) { return *x; }", "B[0] = f(1);"), "7:9 P09" },
		{ BODY_WITH("float f(float x, ...) { return x; }", "B[0] = f(1);"), "7:9 P09" },
		{ BODY_WITH("float f(float x) { puts(\"x\"); return x; }", "B[0] = f(1);"),
		  "7:9 P09" },
		{ BODY_WITH("float f(float x);", "B[0] = f(1);"), "7:9 P09" },
	};

	CHECK_ALL(table);
}

TEST(p10_only_the_host_calls_phases)
{
	static const struct expectation table[] = {
		{ BODY_WITH("dist q(float x) { }", "B[0] = q(1);"), "7:9 P10" },
		{ BODY_WITH("dist q(float x) { }", "q(1);"), "7:2 P10" },
		{ HEAD "dist ph(" A4 ", float B[N]) { }\nvoid h(void) { ph(A, B); }\n"
		       "int main(void) { h(); return 0; }\n",
		  "" },
	};

	CHECK_ALL(table);
}

TEST(p11_counters_written_in_their_loop)
{
	static const struct expectation table[] = {
		{ BODY("int i;\n\tfor (i = 0; i < 4; i++)\n\t\ti = i + 1;"), "8:3 P11w" },
	};

	CHECK_ALL(table);
}

TEST(p12_names_ranks_and_types)
{
	static const struct expectation table[] = {
		{ BODY("B[0] = y;"), "6:9 P12" },
		{ BODY("B[0] = y; B[1] = y;"), "6:9 P12" },
		{ BODY("int i, i;\n\tB[0] = 1;"), "6:9 P12" },
		{ BODY("B[0][1] = 2;"), "6:2 P12" },
		{ BODY("int i;\n\ti[0] = 2;"), "7:2 P12" },
		{ BODY("B[1.5] = 2;"), "6:4 P12" },
		{ BODY("B[0] = sqrt(1, 2);"), "6:9 P12" },
		{ "#define P 2\nfloat A[4][4];\ndist ph(float A[4][4] by block(2,4) map "
		  "regular(0,1))\n{\n\tA[1] = 2;\n}\nint main(void) { ph(A); return 0; }\n",
		  "5:2 P12" },
	};

	CHECK_ALL(table);
}

TEST(p13_distributed_arrays_are_not_passed_whole)
{
	static const struct expectation table[] = {
		{ BODY_WITH("float f(float x) { return x; }", "B[0] = f(A);"), "7:11 P13" },
	};

	CHECK_ALL(table);
}

TEST(p14_out_parameters_read_first)
{
	static const struct expectation table[] = {
		{ BODY_MODE("OUT", "B[0] = A[1];"), "6:9 P14w" },
		{ BODY_MODE("OUT", "A[0] += 1;"), "6:2 P14w" },
		{ BODY_MODE("OUT", "A[0] = 1; B[0] = A[0];"), "" },
	};

	CHECK_ALL(table);
}

TEST(p15_nodes)
{
	static const struct expectation table[] = {
		{ PARAMS("float A[N] by block(8) map regular(0), float B[N]"), "4:15 P15w" },
		{ "float A[8];\ndist ph(float A[8] by block(4) map regular(0)) { }\n"
		  "int main(void) { ph(A); return 0; }\n",
		  "" },
		{ "dist ph(int n, double A[n][n] by block((n + nodes - 1) / nodes, n) map regular(0,1)) "
		  "{ }\nint main(void) { double *A; ph(4, A); return 0; }\n",
		  "" },
	};

	CHECK_ALL(table);
}

TEST(p16_constant_subscripts_out_of_bounds)
{
	static const struct expectation table[] = {
		{ BODY("B[0] = A[8];"), "6:11 P16" },
		{ BODY("B[-1] = 0;"), "6:4 P16" },
		{ BODY("B[N] = 0;"), "6:4 P16" },
		{ BODY("B[N - 1] = 0;"), "" },
	};

	CHECK_ALL(table);
}

TEST(p00_syntax)
{
	static const struct expectation table[] = {
		{ BODY("B[0] = 1"), "7:1 P00" },
		{ BODY("B[0] = 1 +;"), "6:12 P00" },
		{ BODY("B[0] = (1;"), "6:11 P00" },
		{ BODY("for (;;"), "7:1 P00" },
		{ BODY("while (1) {"), "5:1 P00" },
		{ BODY("B[0] = 1; }"), "7:1 P00" },
		{ BODY("{ break; }"), "6:4 P00" },
		{ BODY("for (int i; i < 2; i++) ;"), "6:11 P00" },
		{ "", "1:1 P00" },
	};

	CHECK_ALL(table);
}

TEST(all_findings_of_a_file_in_one_go)
{
	static const struct expectation table[] = {
		{ BODY("A[9] = 1;\n\tB[0] = z;\n\tB[1] = &B;\n\tgoto end;\n\tB[0] = 1 +;"),
		  "6:4 P16, 7:9 P12, 8:9 P08, 9:2 P08, 10:12 P00" },
		/* A phase with a faulty parameter: its body and later phases are still read. */
		{ HEAD
		  "dist ph(float A[N] by block(0) map regular(0), float B[N])\n{\n\tB[9] = 1;\n}\n"
		  "dist q(float B[N] mode IN)\n{\n\tB[1] = 2;\n}" TAIL,
		  "4:29 P02, 6:4 P16, 10:2 P06" },
	};

	CHECK_ALL(table);
}

static const char *printed(const char *source)
{
	struct source s;
	char *chars = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&chars, &length);

	REQUIRE(out);
	source_parse(&s, source);
	sn_pnd_diags_print(&s.diags, out, false);
	fclose(out);
	source_free(&s);
	return chars; /* the test's process ends soon */
}

TEST(the_caret_stands_under_its_column)
{
	CHECK_STRING(printed(BODY("B[0] = y;")),
		     "t.pnd:6:9: error: P12: 'y' is not declared; declare it at the start of the "
		     "phase, or make it a parameter\n    \tB[0] = y;\n    \t       ^\n");
	/* columns are bytes; the caret counts what a terminal shows */
	CHECK_STRING(printed(BODY("B[0] = /* \303\251\t */ y;")),
		     "t.pnd:6:19: error: P12: 'y' is not declared; declare it at the start of the "
		     "phase, or make it a parameter\n"
		     "    \tB[0] = /* \303\251\t */ y;\n    \t           \t    ^\n");
	CHECK_STRING(printed(BODY("B[0] = /* \033[2J */ y;\r")),
		     "t.pnd:6:20: error: P12: 'y' is not declared; declare it at the start of the "
		     "phase, or make it a parameter\n"
		     "    \tB[0] = /* \\x1b[2J */ y;\n    \t                     ^\n");
}

TEST(what_c_has_and_phases_have_not_is_told_with_what_to_write)
{
	CHECK(strstr(printed(BODY("B[0] = A[1] * (B[0] = 2);")),
		     "found '='; an assignment has no value here and is a statement of its own"));
	CHECK(strstr(printed(BODY("B[0] = ++B[1];")),
		     "found '++'; ++ and -- are statements of their own"));
	CHECK(strstr(printed(BODY("B[0] = DBL_MAX;")),
		     "'DBL_MAX' is of <float.h>, which is not included"));
}
