/* The generated C: who runs what, where messages stand, and the host's text as it was. */
#include "pandore/compiler/emit.h"

#include "source.h"

static struct sn_arena arena;
static struct sn_pnd_result result;

/* Compiles a program with this phase body and host text, on four nodes. */
static const char *compiled(const char *body, const char *host, struct sn_pnd_options options)
{
	static char text[2048];
	struct sn_pnd_diags diags = { .arena = &arena };
	struct sn_pnd_file file = { "t.pnd", text, 0 };

	snprintf(text, sizeof(text),
		 "#define P 4\ndouble A[16], B[16];\n"
		 "dist ph(double A[16] by block(4) map regular(0), double B[16] by block(4) map "
		 "regular(0) mode OUT)\n{ int i, j; double s;\n%s\n}\n%s\n",
		 body, host);
	file.length = strlen(text);
	memset(&result, 0, sizeof(result));
	sn_vec_push(&diags.files, file);
	CHECK(sn_pnd_compile(&diags, &options, &result));
	sn_pnd_diags_free(&diags);
	return result.code.chars ? result.code.chars : "";
}

static int count(const char *text, const char *part)
{
	int found = 0;

	while ((text = strstr(text, part))) {
		found++;
		text += strlen(part);
	}
	return found;
}

static const struct sn_pnd_options naive = { .scheme = SN_PND_NAIVE };
static const struct sn_pnd_options opt = { .scheme = SN_PND_OPT };
static const char host[] = "int main(void)\n{\n\tph(A, B);\n\treturn 0;\n}";

TEST(naive_statements_refresh_their_operands)
{
	const char *code =
		compiled("for (i = 1; i < 16; i++) B[i] = A[i - 1] + A[i];", host, naive);

	CHECK_INT(count(code, "PD_REFRESH("), 2);
	CHECK_INT(count(code, "pd_move();"), 0);
	CHECK(strstr(code, "pd_own_ph_B(") != NULL);
	sn_pnd_result_free(&result);
}

TEST(optimised_loops_run_what_is_owned_after_one_message)
{
	const char *code = compiled("for (i = 1; i < 16; i++) B[i] = A[i - 1] + A[i];", host, opt);
	const char *move = strstr(code, "pd_move();"), *loop = strstr(code, "pd_span_next(");

	CHECK_INT(count(code, "PD_REFRESH("), 0);
	CHECK_INT(count(code, "pd_exchange("), 1); /* A[i] is local */
	CHECK_INT(count(code, "pd_move();"), 1);
	CHECK(move && loop && move < loop);
	CHECK_INT(count(code, "== pd_me"), 0);
	sn_pnd_result_free(&result);
}

TEST(references_of_one_place_move_together)
{
	const char *code = compiled(
		"for (i = 2; i < 14; i++) B[i] = A[i - 2] + A[i - 1] + A[i + 1];", host, opt);

	CHECK_INT(count(code, "pd_exchange("), 3);
	CHECK_INT(count(code, "pd_move();"), 1);
	sn_pnd_result_free(&result);
}

TEST(counters_are_left_as_the_program_leaves_them)
{
	const char *code = compiled("for (i = 0; i < 16; i++) B[i] = 1; B[0] = i;", host, opt);

	CHECK(strstr(code, "i = 0;") != NULL);
	CHECK(strstr(code, "i += 1;") != NULL);
	sn_pnd_result_free(&result);
}

TEST(check_tests_every_subscript)
{
	const char *code = compiled("for (i = 0; i < 16; i++) B[i] = A[15 - i];", host,
				    (struct sn_pnd_options){ .scheme = SN_PND_OPT, .check = true });

	CHECK(count(code, "pd_check(") >= 2);
	CHECK_INT(count(code, "pd_move();"), 0); /* the naive scheme */
	sn_pnd_result_free(&result);
}

TEST(arrays_written_whole_are_not_brought)
{
	CHECK_INT(count(compiled("for (i = 0; i < 16; i++) B[i] = 1;", host, opt),
			".is_overwritten = 1"),
		  1);
	sn_pnd_result_free(&result);
	CHECK_INT(count(compiled("for (i = 1; i < 16; i++) B[i] = 1;", host, opt),
			".is_overwritten = 1"),
		  0);
	sn_pnd_result_free(&result);
}

TEST(the_host_is_the_users_text)
{
	const char *code = compiled("B[0] = 1;",
				    "static int  odd ( int *p ) { return * p ; } /* kept */\n"
				    "int main(void) { double *q = A; ph(A, B); return (int)q[0]; }",
				    opt);

	CHECK(strstr(code, "static int  odd ( int *p ) { return * p ; }") != NULL);
	CHECK(strstr(code, "static int pd_host_main") != NULL);
	CHECK_INT(count(code, "pd_stay(A)"), 0); /* its address is kept */
	CHECK_INT(count(code, "pd_stay(B)"), 1);
	CHECK(strstr(code, "#line 8 \"t.pnd\"") != NULL);
	sn_pnd_result_free(&result);
}

/* ---- the counting build ---- */

static struct sn_text counting_code;
static const char *printed;

static void count_messages(void *context, const struct sn_text *code, int nodes,
			   struct sn_text *said)
{
	CHECK(context == &counting_code);
	CHECK_INT(nodes, 4);
	if (strstr(code->chars, ".is_checking = 1"))
		return; /* test_outside.c */
	counting_code.length = 0;
	sn_text_add(&counting_code, code->chars);
	if (printed)
		sn_text_add(said, printed);
}

/* Explains a program whose counting build prints `says`. */
static const char *explained(const char *body, const char *says)
{
	printed = says;
	compiled(body, host,
		 (struct sn_pnd_options){ .scheme = SN_PND_OPT,
					  .explain = true,
					  .count = count_messages,
					  .context = &counting_code });
	return result.messages.chars;
}

TEST(the_counting_build_computes_what_no_data_decides)
{
	explained("s = A[0]; j = 3; for (i = 0; i < 16; i++) B[i] = A[15 - i] + j;", "p 0\n");
	CHECK(strstr(counting_code.chars, "#define PD_COUNT\n") != NULL);
	CHECK(strstr(counting_code.chars, "PD_COMPUTE s = ") != NULL);
	CHECK(strstr(counting_code.chars, "PD_COMPUTE B[i] = ") != NULL);
	CHECK(strstr(counting_code.chars, "PD_COMPUTE j") == NULL);
	CHECK(strstr(counting_code.chars, "PD_DOUBT") == NULL);
	CHECK(strstr(result.code.chars, "PD_COUNT\n") == NULL);
	sn_pnd_result_free(&result);
}

TEST(the_counting_build_doubts_where_data_decide_messages)
{
	explained(
		"s = A[0]; if (s > 1) j = 2; else j = 1; for (i = 0; i < j; i++) B[i] = A[15 - i];",
		"p 0\nd 5 a condition\n");
	CHECK(strstr(counting_code.chars, "PD_DOUBT(5, \"a condition\")") != NULL);
	CHECK(strstr(counting_code.chars, "PD_DOUBT(5, \"a loop's bound\")") != NULL);
	CHECK(strstr(result.messages.chars, "they depend on data: a condition at line 5") != NULL);
	sn_pnd_result_free(&result);
}

TEST(a_condition_on_data_without_messages_is_no_doubt)
{
	explained("for (i = 0; i < 16; i++) if (A[i] > 0) B[i] = A[i];", "p 0\n");
	CHECK(strstr(counting_code.chars, "PD_HOLDS(A[i] > 0") != NULL);
	CHECK(strstr(counting_code.chars, "PD_DOUBT") == NULL);
	CHECK(strstr(result.messages.chars, "in all 0 messages") != NULL);
	sn_pnd_result_free(&result);
}

TEST(counts_of_one_line_are_added_up)
{
	const char *text = explained("for (i = 0; i < 16; i++) B[i] = A[15 - i] + A[(i + 4) % 16];",
				     "p 0\nm 0 1 2 1 8\nm 1 1 2 0 16\nm 0 0 3 2 24\n");

	CHECK(strstr(text, "node 0 -> node 3: 2 messages, 24 bytes") != NULL);
	CHECK(strstr(text, "node 1 -> node 2: 1 message, 24 bytes") != NULL);
	CHECK(strstr(text, "in all 3 messages with 48 bytes") != NULL);
	sn_pnd_result_free(&result);
}

TEST(what_a_counting_build_should_not_print_is_no_number)
{
	static const char *const bad[] = {
		"hello",	 "p 0\nm 1\n", "p 0\nm 99 0 1 1 8\n",	"p 0\nm -1 0 1 1 8\n",
		"p 0\nn 77 5\n", "p 0\nxyz\n", "p 0\nm 0 0 1 1 eight\n"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(strstr(explained("B[0] = A[15];", bad[i]), "not known: ") != NULL);
		sn_pnd_result_free(&result);
	}
	CHECK(strstr(explained("B[0] = A[15];", NULL), "not known: they were not counted") != NULL);
	sn_pnd_result_free(&result);
}
