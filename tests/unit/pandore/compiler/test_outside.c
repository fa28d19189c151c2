/* The checking build: which subscripts it checks and under what, and what its findings become. */
#include "pandore/compiler/outside.h"

#include "source.h"

static struct sn_arena arena;

struct checked {
	int calls;
	char code[65536];
	const char *says; /* of the checking build */
};

static void count(void *context, const struct sn_text *code, int nodes, struct sn_text *said)
{
	struct checked *c = context;

	CHECK_INT(nodes, 4);
	if (++c->calls == 2) {
		const char *phase = strstr(code->chars, "pd_body_ph(");

		snprintf(c->code, sizeof(c->code), "%s", phase ? phase : "");
		c->code[strcspn(c->code, "#")] = 0; /* its body */
	}
	sn_text_add(said, c->calls == 2 ? c->says : "p 0\n");
}

/* Checks a phase with this body; the findings are in `diags`. */
static bool check(const char *body, const char *says, struct checked *out,
		  struct sn_pnd_diags *diags)
{
	static char text[2048];
	struct sn_pnd_options options = { .scheme = SN_PND_OPT, .explain = true, .count = count };
	struct sn_pnd_result result = { 0 };
	struct sn_pnd_file file = { "t.pnd", text, 0 };
	bool ok;

	snprintf(text, sizeof(text),
		 "#define P 4\ndouble A[16], B[16];\n"
		 "dist ph(double A[16] by block(4) map regular(0), double B[16] by block(4) map "
		 "regular(0))\n{ int i, j, L[4];\n%s\n}\nint main(void) { ph(A, B); return 0; }\n",
		 body);
	file.length = strlen(text);
	*out = (struct checked){ .says = says };
	options.context = out;
	*diags = (struct sn_pnd_diags){ .arena = &arena };
	sn_vec_push(&diags->files, file);
	ok = sn_pnd_compile(diags, &options, &result);
	CHECK_INT(out->calls, 2);
	sn_pnd_result_free(&result);
	return ok;
}

static int times(const char *text, const char *part)
{
	int found = 0;

	while ((text = strstr(text, part))) {
		found++;
		text += strlen(part);
	}
	return found;
}

TEST(subscripts_that_data_decide_are_left_out)
{
	static struct checked c;
	struct sn_pnd_diags diags;

	CHECK(check("for (i = 0; i < 16; i++) { j = A[i]; B[j] = 1; if (A[i] > 0) B[i + 1] = 2; }",
		    "p 0\n", &c, &diags));
	CHECK_INT(times(c.code, "pd_within("), 2); /* A[i], twice */
	CHECK_INT(times(c.code, "PD_DOUBT"), 0);
	sn_pnd_diags_free(&diags);
}

TEST(conditions_stand_before_the_subscripts_under_them)
{
	static struct checked c;
	struct sn_pnd_diags diags;

	CHECK(check("for (i = 0; i < 16; i++) B[i] = i > 0 ? A[i - 1] : A[0];", "p 0\n", &c,
		    &diags));
	CHECK_INT(times(c.code, "pd_within("), 3);
	CHECK_INT(times(c.code, " ? pd_within("), 2);
	sn_pnd_diags_free(&diags);
}

TEST(jumps_that_data_decide_end_the_checks)
{
	static struct checked c;
	struct sn_pnd_diags diags;

	CHECK(check("for (i = 0; i < 16; i++) { if (A[i] > 0) break; B[i] = 1; }", "p 0\n", &c,
		    &diags));
	CHECK_INT(times(c.code, "PD_DOUBT"), 1);
	sn_pnd_diags_free(&diags);
}

TEST(findings_stand_at_the_subscript)
{
	static struct checked c;
	struct sn_pnd_diags diags;

	CHECK(!check("for (i = 0; i < 16; i++)\n A[L[0]] = B[i + 1];",
		     "p 0\nx 2 16 16\nx 99 1 1\nx no\n", &c, &diags));
	CHECK_INT(diags.errors, 1);
	CHECK_INT(diags.items.items[0].code, 16);
	CHECK_INT(diags.items.items[0].pos.line, 6);
	CHECK_STRING(diags.items.items[0].text, "subscript 16 of 'B' is out of bounds: 0 to 15");
	sn_pnd_diags_free(&diags);
}
