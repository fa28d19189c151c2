/* Which loops become two, in which order, and what stands in each. */
#include "pandore/compiler/fission.h"

#include "source.h"

static struct source source;

static void print(struct sn_text *out, const struct sn_pnd_stmt *s);

static void print_assign(struct sn_text *out, const struct sn_pnd_stmt *s)
{
	sn_pnd_print_expr(out, s->lhs);
	sn_text_addf(out, " %c%s", (int)(s->punct & 255), s->punct >> 8 ? "=" : "");
	if (s->rhs) {
		sn_text_add(out, " ");
		sn_pnd_print_expr(out, s->rhs);
	}
	sn_text_add(out, "; ");
}

/* Loops without their heads. */
static void print(struct sn_text *out, const struct sn_pnd_stmt *s)
{
	if (s->kind == SN_S_ASSIGN)
		print_assign(out, s);
	if (s->kind == SN_S_IF) {
		sn_text_add(out, "if (");
		sn_pnd_print_expr(out, s->cond);
		sn_text_add(out, ") ");
	}
	if (s->kind == SN_S_FOR)
		sn_text_addf(out, "%s: ", s->init->lhs->var->spelled);
	if (s->is_split)
		sn_text_add(out, "{ ");
	for (const struct sn_pnd_stmt *c = s->first; c; c = c->next)
		print(out, c);
	if (s->is_split)
		sn_text_add(out, "} ");
	if (s->body)
		print(out, s->body);
	if (s->otherwise) {
		sn_text_add(out, "else ");
		print(out, s->otherwise);
	}
}

/* The phase's statements after fission. */
static const char *split(const char *body)
{
	static struct sn_text out;
	char text[2048];
	unsigned mark = 0;

	snprintf(
		text, sizeof(text),
		"#define P 4\n#define N 16\ndist ph(double A[N][N] by block(4,16) map regular(0,1),\n"
		" double B[N][N] by block(4,16) map regular(0,1), double V[N] by block(4) map regular(0),\n"
		" float F[N] by block(4) map regular(0), double R[N])\n"
		"{ int i, j, k; double d, e;\n%s\n}\nint main(void) { return 0; }\n",
		body);
	source_parse(&source, text);
	CHECK_STRING(source_findings(&source), "");
	REQUIRE(source.program.phases && !source.diags.errors);
	sn_pnd_split_loops(&source.program, false, &mark);
	sn_text_clear(&out);
	print(&out, source.program.phases->body);
	return out.chars;
}

/* Ids ascend in the order of the text, each once. */
static int last_id(const struct sn_pnd_stmt *s, int last)
{
	for (; s; s = s->next) {
		last = last_id(s->init, last);
		last = last_id(s->step, last);
		if (s->kind == SN_S_ASSIGN) {
			CHECK(s->id > last);
			last = s->id;
		}
		last = last_id(s->first, last);
		last = last_id(s->body, last);
		last = last_id(s->otherwise, last);
	}
	return last;
}

TEST(what_is_read_before_it_is_overwritten_comes_first)
{
	CHECK_STRING(split("for (i = 0; i < N; i++) for (j = 0; j < N; j++) {"
			   " e = B[i][j] - A[i][j]; d = d * 0.5 + e; A[i][j] = B[i][j]; }"),
		     "{ i: j: e = B[i][j] - A[i][j]; d = d * 0.5 + e; i: j: A[i][j] = B[i][j]; } ");
	CHECK_INT(last_id(source.program.phases->body, -1) + 1, source.program.assign_count);
	/* nodes look for the largest value at the same time, while they assign what they own */
	CHECK_STRING(split("for (i = 0; i < N; i++) for (j = 0; j < N; j++) {"
			   " e = B[i][j] - A[i][j]; if (e > d) d = e; A[i][j] = B[i][j]; }"),
		     "i: j: e = B[i][j] - A[i][j]; if (e > d) d = e; A[i][j] = B[i][j]; ");
}

TEST(what_is_read_after_it_is_written_comes_last)
{
	CHECK_STRING(split("for (i = 0; i < N; i++) { V[i] = V[i] * 2; d = d * 0.5 + V[i]; }"),
		     "{ i: V[i] = V[i] * 2; i: d = d * 0.5 + V[i]; } ");
	CHECK_STRING(split("for (i = 1; i < N; i++) { d = d * 0.5 + V[i - 1]; V[i] = i; }"),
		     "{ i: V[i] = i; i: d = d * 0.5 + V[i - 1]; } ");
	CHECK_STRING(split("for (i = 0; i < N - 1; i++) { V[i] = i; d = d * 0.5 + V[i + 1]; }"),
		     "{ i: d = d * 0.5 + V[i + 1]; i: V[i] = i; } ");
}

TEST(a_stored_scalar_is_read_from_its_element)
{
	CHECK_STRING(split("for (i = 1; i < N; i++) for (j = 0; j < N; j++) {"
			   " e = A[i - 1][j]; B[i][j] = e; d = d * 0.5 + e; }"),
		     "{ i: j: e = A[i - 1][j]; B[i][j] = e; "
		     "i: j: e = B[i][j]; d = d * 0.5 + e; } ");
	CHECK_STRING(split("for (i = 0; i < N; i++) { e = 0; for (j = 0; j < N; j++) e += A[i][j];"
			   " V[i] = e; d = d * 0.5 + e; }"),
		     "{ i: e = 0; j: e += A[i][j]; V[i] = e; i: e = V[i]; d = d * 0.5 + e; } ");
	/* what is stored is not what was needed before */
	CHECK_STRING(
		split("for (i = 0; i < N; i++) { e = V[i]; d = d * 0.5 + e; e = e * 2; V[i] = e; }"),
		"{ i: e = V[i]; d = d * 0.5 + e; e = e * 2; i: e = V[i]; e = e * 2; V[i] = e; } ");
	/* an element of another type holds another value */
	CHECK_STRING(split("for (i = 0; i < N; i++) { e = V[i] / 3; F[i] = e; d = d * 0.5 + e; }"),
		     "{ i: e = V[i] / 3; F[i] = e; i: e = V[i] / 3; d = d * 0.5 + e; } ");
	/* the next iteration overwrites it */
	CHECK_STRING(split("for (i = 0; i < N; i++) for (j = 0; j < N; j++) {"
			   " e = B[i][j] / 3; A[i][0] = e; d = d * 0.5 + e; }"),
		     "{ i: j: e = B[i][j] / 3; A[i][0] = e; "
		     "i: j: e = B[i][j] / 3; d = d * 0.5 + e; } ");
}

TEST(conditions_go_with_what_they_decide)
{
	CHECK_STRING(
		split("for (i = 0; i < N; i++) if (V[i] > 3) { V[i] = 1; } else d = d + V[i];"),
		"i: if (V[i] > 3) V[i] = 1; else d = d + V[i]; ");
	CHECK_STRING(split("for (i = 0; i < N; i++) { if (V[i] > 3) d = d + V[i]; A[i][0] = 2; }"),
		     "{ i: A[i][0] = 2; i: if (V[i] > 3) d = d + V[i]; } ");
}

TEST(what_depends_on_the_scalar_stays)
{
	CHECK_STRING(split("for (i = 0; i < N; i++) { d = d * 0.5 + V[i]; A[i][0] = d; }"),
		     "i: d = d * 0.5 + V[i]; A[i][0] = d; ");
	CHECK_STRING(split("for (i = 1; i < N - 1; i++) {"
			   " e = V[i - 1] + V[i + 1]; d = d * 0.5 + (e - V[i]); V[i] = e; }"),
		     "i: e = V[i - 1] + V[i + 1]; d = d * 0.5 + (e - V[i]); V[i] = e; ");
	CHECK_STRING(split("for (i = 0; i < N; i++) { R[i] = V[i]; V[i] = R[0]; }"),
		     "i: R[i] = V[i]; V[i] = R[0]; ");
}

TEST(a_counter_that_is_read_later_keeps_its_loop)
{
	CHECK_STRING(
		split("for (i = 0; i < N; i++) { for (j = 0; j < N; j++) d = d * 0.5 + A[i][j];"
		      " V[i] = j; }"),
		"i: j: d = d * 0.5 + A[i][j]; V[i] = j; ");
}

TEST(what_is_divided_already_stays)
{
	CHECK_STRING(split("for (i = 0; i < N; i++) { for (j = 0; j < N; j++) A[i][j] = 1;"
			   " k = k + 1; }"),
		     "i: j: A[i][j] = 1; k = k + 1; ");
	CHECK_STRING(
		split("for (k = 0; k < 3; k++) { for (i = 0; i < N; i++) { d = d + V[i]; V[i] = k; } }"),
		"k: { i: d = d + V[i]; i: V[i] = k; } ");
}
