/* What is read of a loop nest: counters and bounds, affine subscripts, owners, and why a nest stays
 * naive. */
#include "pandore/compiler/nest.h"

#include "source.h"

static struct source source;
static struct sn_nest nest;

/* Plans the first loop of a phase with this body. */
static bool plan(const char *body)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "#define P 4\ndist ph(double A[16][16] by block(4,16) map regular(0,1),\n"
		 "        double V[16] by block(4) map regular(0), double W[16] by block(1) map "
		 "wrapped(0), int K[16], int n)\n"
		 "{ int i, j, k; unsigned u; double s;\n%s\n}\nint main(void) { return 0; }\n",
		 body);
	source_parse(&source, text);
	REQUIRE(source.program.phases && !source.diags.errors);
	memset(&nest, 0, sizeof(nest));
	return sn_nest_plan(&nest, &source.program,
			    source_find(source.program.phases->body, SN_S_FOR), 1, false);
}

static const char *refusal(const char *body)
{
	return plan(body) ? "none" : nest.refusal;
}

TEST(counters_have_bounds_and_steps)
{
	CHECK(plan(
		"for (i = 3; i < n; i++) for (j = i + 1; j <= 14; j += 2) for (k = 9; k > 2; k--) V[i] = 1;"));
	REQUIRE(nest.loop_count == 3);
	CHECK_INT(nest.loops[0].step, 1);
	CHECK_INT(nest.loops[0].low.constant, 3);
	CHECK_INT(nest.loops[0].high.constant, -1); /* n - 1 */
	CHECK_INT(nest.loops[0].high.symbol_count, 1);
	CHECK_INT(nest.loops[1].step, 2);
	CHECK_INT(nest.loops[1].low.coef[0], 1);
	CHECK_INT(nest.loops[1].high.constant, 14);
	CHECK_INT(nest.loops[1].bounds_depth, 1);
	CHECK_INT(nest.loops[2].step, -1);
	CHECK_INT(nest.loops[2].low.constant, 3);
	CHECK_INT(nest.loops[2].high.constant, 9);
	CHECK_INT(sn_nest_ancestor(&nest, 2, 1), 0);
}

TEST(conditions_are_solved_for_their_counter)
{
	CHECK(plan("for (i = 0; i + 1 < n; i++) for (j = 0; n - 2 >= j; j++)"
		   " for (k = 9; 2 * k - 1 > 4; k--) V[i] = 1;"));
	REQUIRE(nest.loop_count == 3);
	CHECK_INT(nest.loops[0].high.constant, -2); /* n - 2 */
	CHECK_INT(nest.loops[0].high.symbols[0].coef, 1);
	CHECK_INT(nest.loops[1].high.constant, -2);
	CHECK_INT(nest.loops[1].high.symbols[0].coef, 1);
	CHECK_INT(nest.loops[2].low.constant, 3); /* 2 * 2 - 1 is 3 */
	CHECK(plan("for (i = 0; i < 8; i++) for (j = 0; i + j < n; j++) V[i] = 1;"));
	CHECK(nest.loops[1].high.ok);
	CHECK_INT(nest.loops[1].high.coef[0], -1);
	CHECK_INT(nest.loops[1].bounds_depth, 1);
	CHECK(plan("for (i = 0; 3 * i + 2 < n; i++) V[i] = 1;"));
	CHECK(!nest.loops[0].high.ok);
	CHECK_STRING(refusal("for (i = 0; i * i < n; i++) V[i] = 1;"),
		     "the loop's condition is no comparison (<, <=, >, >=) of sums of signed "
		     "integers, such as i + 1 < n");
	CHECK_STRING(refusal("for (i = 0; i + 1u < n; i++) V[i] = 1;"),
		     "the loop's condition is no comparison (<, <=, >, >=) of sums of signed "
		     "integers, such as i + 1 < n");
	CHECK_STRING(refusal("for (i = 0; n - i < 9; i++) V[i] = 1;"),
		     "the loop's condition does not fit its step");
}

TEST(subscripts_are_affine_forms)
{
	const struct sn_affine *a;

	CHECK(plan(
		"for (i = 0; i < 4; i++) for (j = 0; j < 4; j++) A[2 * i - (j - 3)][K[i]] = 1;"));
	REQUIRE(nest.assign_count == 1 && nest.assigns[0].subs);
	a = nest.assigns[0].subs;
	CHECK(a[0].ok && !a[1].ok);
	CHECK_INT(a[0].constant, 3);
	CHECK_INT(a[0].coef[0], 2);
	CHECK_INT(a[0].coef[1], -1);
}

TEST(a_scalar_of_one_iteration_has_an_owner)
{
	CHECK(plan("for (i = 0; i < 16; i++) { s = V[i] * 2; A[i][0] = s; }"));
	REQUIRE(nest.assign_count == 2);
	CHECK(nest.assigns[0].is_private);
	CHECK(nest.assigns[0].target->var->is_distributed);
	/* read after the loop: every node keeps it */
	CHECK(plan("for (i = 0; i < 16; i++) { s = V[i] * 2; A[i][0] = s; } V[0] = s;"));
	CHECK(!nest.assigns[0].is_private);
}

TEST(a_condition_is_decided_by_the_owners_of_its_branches)
{
	CHECK(plan("for (i = 0; i < 16; i++) if (V[i] < 1) A[i][2] = 3;"));
	REQUIRE(nest.if_count == 1);
	CHECK_INT(nest.ifs[0].owner_count, 1);
	CHECK(nest.refs[0].is_local);
	CHECK(plan("for (j = 0; j < 2; j++) for (i = 0; i < 16; i++) if (V[i] < 1) s = i;"));
	CHECK_INT(nest.ifs[0].owner_count, 0);
	CHECK_INT(nest.refs[0].assign, -1);
}

TEST(what_is_fetched_already_is_not_fetched_again)
{
	CHECK(plan("for (i = 0; i < 16; i++) V[i] = W[i] * W[i] + W[15 - i];"));
	REQUIRE(nest.ref_count == 3);
	CHECK(!sn_nest_is_repeated(&nest, 0));
	CHECK(sn_nest_is_repeated(&nest, 1));
	CHECK(!sn_nest_is_repeated(&nest, 2));
	CHECK(sn_nest_stands_at(&nest, 0, nest.loops[0].stmt, -1));
	CHECK(!sn_nest_stands_at(&nest, 1, nest.loops[0].stmt, -1));
}

TEST(a_nest_that_stays_naive_has_a_reason)
{
	CHECK_STRING(refusal("for (i = 0; i < 9; i++) { j = 0; while (j < 2) { V[i] = j; j++; } }"),
		     "a while or do loop stands inside");
	CHECK_STRING(refusal("for (u = 0; u < 9; u++) V[3] = u;"),
		     "the loop's counter is not an int, long or long long");
	CHECK_STRING(refusal("for (i = 0; i < 9; i += K[0]) V[i] = 1;"),
		     "the loop's step is not a constant");
	CHECK_STRING(refusal("for (i = 0; i > 9; i++) V[i] = 1;"),
		     "the loop's condition does not fit its step");
	CHECK_STRING(refusal("for (i = 0; i < 9; i++) { for (i = 0; i < 3; i++) V[i] = 1; }"),
		     "two loops around each other have one counter");
	CHECK_STRING(refusal("for (i = 0; i < 9; i++) { i = i + 1; V[i] = 1; }"),
		     "a loop counter is written inside its loop");
	CHECK_STRING(refusal("for (i = 0; i < V[2]; i++) W[i] = 1;"),
		     "the loop's bound is not a signed integer");
	CHECK_STRING(refusal("for (i = 0; i < K[i]; i++) K[i + 1] = 1;"),
		     "the loop's bounds change inside the nest or are distributed");
	CHECK_STRING(refusal("for (i = 0; i < 9; i++) V[i] = 1;"), "none");
}
