/* What dependences allow: where messages stand, and how loops are run. */
#include "pandore/compiler/dependence.h"

#include "pandore/compiler/chains.h"
#include "pandore/compiler/nest.h"
#include "source.h"

static struct source source;
static struct sn_nest nest;

#define ROWS	"by block(4,16) map regular(0,1)"
#define COLUMNS "by block(16,4) map regular(0,1)"

/* The first loop nest of a phase on A (16 x 16) and B, both laid out as `layout`, and V. */
static void plan(const char *layout, const char *body)
{
	char text[2048];
	const struct sn_pnd_stmt *loop;

	snprintf(text, sizeof(text),
		 "#define P 4\ndist ph(double A[16][16] %s, double B[16][16] %s,\n"
		 "        double V[16] by block(4) map regular(0), int K[16], int n)\n"
		 "{ int i, j, k; double s;\n%s\n}\nint main(void) { return 0; }\n",
		 layout, layout, body);
	source_parse(&source, text);
	CHECK_STRING(source_findings(&source), "");
	REQUIRE(source.program.phases && !source.diags.errors);
	loop = source_find(source.program.phases->body, SN_S_FOR);
	REQUIRE(loop);
	memset(&nest, 0, sizeof(nest));
	sn_nest_plan(&nest, &source.program, loop, 1, false);
}

/* The reference written so, as "level", "level+span" or "local". */
static const char *placed(const char *element)
{
	static char text[64];

	for (int i = 0; i < nest.ref_count; i++) {
		struct sn_text printed = { 0 };
		bool is_it;

		sn_pnd_print_expr(&printed, nest.refs[i].expr);
		is_it = !strcmp(printed.chars, element);
		sn_text_free(&printed);
		if (!is_it)
			continue;
		if (nest.refs[i].is_local)
			return "local";
		snprintf(text, sizeof(text), "%d%s", nest.refs[i].level,
			 nest.refs[i].span_loop >= 0 ? "+span" : "");
		return text;
	}
	return "absent";
}

TEST(what_is_not_written_moves_once)
{
	plan(ROWS, "for (i = 1; i < 16; i++) for (j = 0; j < 16; j++) A[i][j] = B[i-1][j];");
	CHECK_STRING(placed("B[i - 1][j]"), "0");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
}

TEST(owned_operands_do_not_move)
{
	plan(ROWS, "for (i = 0; i < 16; i++) for (j = 1; j < 16; j++) A[i][j] = B[i][j-1] + V[i];");
	CHECK_STRING(placed("B[i][j - 1]"), "local");
	/* what is cut is cut alike, though the ranks differ */
	CHECK_STRING(placed("V[i]"), "local");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
}

TEST(old_values_move_before_the_nest)
{
	/* an anti-dependence: A[i+1] is read before it is written */
	plan(ROWS, "for (i = 0; i < 15; i++) for (j = 0; j < 16; j++) A[i][j] = A[i+1][j];");
	CHECK_STRING(placed("A[i + 1][j]"), "0");
}

TEST(new_values_move_at_each_span)
{
	plan(ROWS, "for (i = 1; i < 16; i++) A[i][0] = A[i-1][0];");
	CHECK_STRING(placed("A[i - 1][0]"), "0+span");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_SPANS);
}

TEST(figure_1_is_pipelined_by_rows)
{
	plan(ROWS,
	     "for (j = 0; j < 16; j++) for (i = 1; i < 15; i++) A[i][j] = A[i+1][j] + A[i-1][j];");
	CHECK_STRING(placed("A[i + 1][j]"), "0");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PIPE);
	plan(COLUMNS,
	     "for (j = 0; j < 16; j++) for (i = 1; i < 15; i++) A[i][j] = A[i+1][j] + A[i-1][j];");
	CHECK_STRING(placed("A[i + 1][j]"), "local");
	CHECK_STRING(placed("A[i - 1][j]"), "local");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
}

TEST(floyd_warshall_in_columns_is_a_pipeline)
{
	plan(COLUMNS, "for (k = 0; k < 16; k++) for (i = 0; i < 16; i++) for (j = 0; j < 16; j++)"
		      " if (A[i][k] + A[k][j] < A[i][j]) A[i][j] = A[i][k] + A[k][j];");
	CHECK_INT(nest.loops[1].mode, SN_LOOP_PIPE);
	CHECK_STRING(placed("A[i][k]"), "1+span");
	CHECK_STRING(placed("A[k][j]"), "local");
	/* in rows a section for each node's turn is enough */
	plan(ROWS, "for (k = 0; k < 16; k++) for (i = 0; i < 16; i++) for (j = 0; j < 16; j++)"
		   " if (A[i][k] + A[k][j] < A[i][j]) A[i][j] = A[i][k] + A[k][j];");
	CHECK_INT(nest.loops[1].mode, SN_LOOP_SPANS);
	CHECK_STRING(placed("A[k][j]"), "1+span");
	/* a stencil with a condition moves on from node to node */
	plan(ROWS, "for (i = 1; i < 16; i++) for (j = 0; j < 16; j++)"
		   " if (A[i-1][j] > 3) A[i][j] = A[i-1][j] * 0.5;");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PIPE);
	/* later in i and earlier in j: the loops keep their order */
	plan(COLUMNS, "for (i = 1; i < 16; i++) for (j = 0; j < 15; j++)"
		      " if (A[i-1][j+1] < 3) A[i][j] = A[i-1][j+1];");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
	CHECK_STRING(placed("A[i - 1][j + 1]"), "1");
}

TEST(a_row_that_is_searched_for_is_known_in_loops_of_its_own)
{
	/* each part is planned by itself */
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { k = K[i]; for (j = 0; j < 16; j++) A[i][j] += A[k][j]; }");
	CHECK(nest.is_open && !nest.refusal);
	/* a message that can move before all loops stays there */
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { k = K[i]; for (j = 0; j < 16; j++) A[k][j] += B[j][i]; }");
	CHECK(!nest.is_open);
	/* k changes in the inner loop, too */
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { k = K[i]; for (j = 0; j < 16; j++) { A[k][j] += 1; k = K[j]; } }");
	CHECK(!nest.is_open);
}

TEST(the_gcd_test_tells_odd_from_even)
{
	plan(ROWS, "for (i = 1; i < 7; i++) A[2*i][0] = A[2*i-1][0];");
	CHECK_STRING(placed("A[2 * i - 1][0]"), "0");
	plan(ROWS, "for (i = 1; i < 7; i++) A[2*i][0] = A[2*i-2][0];");
	CHECK_STRING(placed("A[2 * i - 2][0]"), "0+span");
}

TEST(bounds_tell_ranges_apart)
{
	plan(ROWS, "for (i = 0; i < 8; i++) A[i][0] = A[i+8][0];");
	CHECK_STRING(placed("A[i + 8][0]"), "0");
	/* triangular: j < i always, what is read was written in an earlier i */
	plan(COLUMNS, "for (i = 1; i < 16; i++) for (j = 0; j < i; j++) A[0][i] = A[0][j];");
	CHECK(strcmp(placed("A[0][j]"), "0") != 0);
	/* ... and never, if i is below j */
	plan(COLUMNS, "for (i = 0; i < 15; i++) for (j = i + 1; j < 16; j++) A[0][i] = A[0][j];");
	CHECK_STRING(placed("A[0][j]"), "0");
}

TEST(an_outer_loop_keeps_the_messages_inside)
{
	plan(ROWS, "for (k = 0; k < 3; k++) for (i = 1; i < 15; i++) for (j = 0; j < 16; j++)\n"
		   "B[i][j] = A[i-1][j];");
	CHECK_STRING(placed("A[i - 1][j]"), "0"); /* nobody writes A */
	plan(ROWS, "for (k = 0; k < 3; k++) {\n"
		   "for (i = 1; i < 15; i++) for (j = 0; j < 16; j++) B[i][j] = A[i-1][j];\n"
		   "for (i = 1; i < 15; i++) for (j = 0; j < 16; j++) A[i][j] = B[i][j]; }");
	CHECK_STRING(placed("A[i - 1][j]"), "1");
}

TEST(a_sum_is_a_chain_of_owners)
{
	plan(ROWS, "for (i = 0; i < 16; i++) s = s + V[i];");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_CHAIN);
	CHECK_STRING(placed("V[i]"), "local");
	/* what changes in a loop around would be sent anew for each sum */
	plan(ROWS, "for (k = 0; k < 3; k++) { for (i = 0; i < 16; i++) s += V[i] * B[i][0];\n"
		   "for (i = 0; i < 16; i++) V[i] = s; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
	CHECK_INT(nest.loops[1].mode, SN_LOOP_CHAIN);
	CHECK_INT(nest.loops[2].mode, SN_LOOP_OWN);
	CHECK_STRING(placed("B[i][0]"), "local");
	/* conditions are the owner's, and so are counts of them */
	plan(ROWS, "for (i = 0; i < 16; i++) if (B[i][0] > 1) k += 1; else s = V[i];");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_CHAIN);
	CHECK_INT(nest.ifs[0].owner_count, 1);
}

/* Is this loop on V a chain that the nodes run in turns, one that they run at the same time, or none? */
static const char *turns(const char *loop)
{
	plan(ROWS, loop);
	if (nest.loops[0].mode != SN_LOOP_CHAIN)
		return "none";
	return sn_nest_is_in_turns(&nest, 0) ? "in turns" : "at once";
}

TEST(largest_and_smallest_values_need_no_order)
{
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] > s) s = V[i];"), "at once");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (s > V[i]) { k = i; s = V[i]; }"),
		     "at once");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) { j = V[i]; if (j > k) k = j; }"), "at once");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (B[i][0] > 3) if (V[i] > s) s = V[i];"),
		     "at once");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) s += V[i];"), "in turns");
	/* of equal ones the last */
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] >= s) { k = i; s = V[i]; }"),
		     "in turns");
	/* another value, another type, a use of what was found so far, a count */
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] > s) s = V[i] * 2;"), "in turns");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] > k) k = V[i];"), "in turns");
	CHECK_STRING(
		turns("for (i = 0; i < 16; i++) { if (V[i] > s) s = V[i]; if (s > 3) k = i; }"),
		"in turns");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] > s) { s = V[i]; k++; }"),
		     "in turns");
	CHECK_STRING(turns("for (i = 0; i < 16; i++) if (V[i] > s) s = V[i]; else k = i;"),
		     "in turns");
}

TEST(a_sum_that_is_no_chain_is_a_broadcast_before_the_loops)
{
	/* once for all three sums */
	plan(ROWS, "for (k = 0; k < 3; k++) for (i = 0; i < 16; i++) s = s + V[i];");
	CHECK_INT(nest.loops[1].mode, SN_LOOP_PLAIN);
	CHECK_STRING(placed("V[i]"), "0");
	REQUIRE(nest.ref_count == 1);
	CHECK_INT(nest.refs[0].assign, -1);
	/* the sum decides an element */
	plan(ROWS, "for (i = 0; i < 16; i++) s = s + V[(int)s];");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
	/* an array is assigned, too */
	plan(ROWS, "for (i = 0; i < 16; i++) { s = s + V[i]; V[15 - i] = s; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
}

TEST(subscripts_through_an_array_are_inspected)
{
	plan(ROWS, "for (i = 0; i < 16; i++) V[i] = A[K[i]][0];");
	REQUIRE(nest.ref_count == 1);
	CHECK(nest.refs[0].is_inspected);
	CHECK_STRING(placed("A[K[i]][0]"), "0");
	/* not if the nest changes the index */
	plan(ROWS, "for (i = 0; i < 16; i++) { K[i] = i; V[i] = A[K[i]][0]; }");
	REQUIRE(nest.ref_count == 1);
	CHECK(!nest.refs[0].is_inspected);
}

static const char *refusal(const char *body)
{
	plan(ROWS, body);
	return nest.refusal ? "refused" : "planned";
}

TEST(what_stays_naive)
{
	CHECK_STRING(refusal("for (i = 0; i < 16; i++) V[i] = 1;"), "planned");
	CHECK_STRING(refusal("for (i = 0; i < 16; i++) { k = 0; while (k < 2) k++; V[i] = k; }"),
		     "refused");
	CHECK_STRING(refusal("for (i = 0; i < 16; i++) V[(int)V[i]] = 1;"), "planned");
	CHECK_STRING(refusal("for (i = 0; i < V[2]; i++) V[i] = 1;"), "refused");
	CHECK_STRING(refusal("for (i = 0; i < 16; i++) {\n#pragma pandore zone z\nV[i] = 1; }"),
		     "refused");
}

/* ---- who executes what ---- */

static const struct sn_nest_assign *assign_to(const char *name)
{
	for (int i = 0; i < nest.assign_count; i++)
		if (!strcmp(nest.assigns[i].stmt->lhs->var->name, name))
			return &nest.assigns[i];
	return NULL;
}

TEST(targets_of_different_rank_have_one_owner)
{
	plan(ROWS, "for (i = 0; i < 16; i++) { for (j = 0; j < 16; j++) A[i][j] = 1; V[i] = 2; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
	/* the row of A is not the column's V */
	plan(ROWS, "for (i = 0; i < 16; i++) { for (j = 0; j < 16; j++) A[j][i] = 1; V[i] = 2; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
}

TEST(elements_that_no_block_parts_have_one_owner)
{
	plan(ROWS, "for (i = 0; i < 8; i++) { V[2 * i] = 1; V[2 * i + 1] = 2; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
	plan(ROWS, "for (i = 0; i < 8; i++) V[2 * i] = B[2 * i + 1][i];");
	CHECK_STRING(placed("B[2 * i + 1][i]"), "local");
	/* the block ends between them */
	plan(ROWS, "for (i = 1; i < 8; i++) { V[2 * i] = 1; V[2 * i - 1] = 2; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
	plan("by block(3,16) map wrapped(0,1)",
	     "for (i = 0; i < 8; i++) { A[2 * i][0] = 1; A[2 * i + 1][0] = 2; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_PLAIN);
}

TEST(a_scalar_of_one_iteration_is_its_users)
{
	plan(ROWS, "for (i = 0; i < 16; i++) { s = B[i][0] * 2; V[i] = s; }");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
	CHECK(assign_to("s")->is_private);
	CHECK_STRING(placed("B[i][0]"), "local");
	/* a sum within the iteration */
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { s = 0; for (j = 0; j < 16; j++) s += B[i][j]; V[i] = s; }");
	CHECK(assign_to("s")->is_private);
}

TEST(a_scalar_that_lives_on_is_everybodys)
{
	/* into the next iteration */
	plan(ROWS, "for (i = 0; i < 16; i++) { V[i] = s; s = B[i][0]; }");
	CHECK(!assign_to("s")->is_private);
	/* set on one path only */
	plan(ROWS, "for (i = 0; i < 16; i++) { if (i > n) s = B[i][0]; V[i] = s; }");
	CHECK(!assign_to("s")->is_private);
	/* after the loops */
	plan(ROWS, "for (i = 0; i < 16; i++) { s = B[i][0]; V[i] = s; } V[0] = s;");
	CHECK(!assign_to("s")->is_private);
	/* from one turn of a loop around to the next */
	plan(ROWS, "s = 0; for (k = 0; k < 2; k++) { V[0] = s;\n"
		   "for (i = 0; i < 16; i++) { s = B[i][0]; V[i] = s; } }");
	CHECK(!assign_to("s")->is_private);
	/* it decides an element */
	plan(ROWS, "for (i = 0; i < 16; i++) { k = i + 1; V[i] = A[k % 16][0]; }");
	CHECK(!assign_to("k")->is_private);
}

TEST(a_condition_is_its_targets_owners)
{
	plan(ROWS, "for (i = 0; i < 16; i++) if (B[i][0] > 1) V[i] = 2;");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
	CHECK_STRING(placed("B[i][0]"), "local");
	/* two owners: both need it, and no node is left out */
	plan(ROWS, "for (i = 0; i < 8; i++) if (B[i][0] > 1) { V[i] = 2; V[2 * i] = 3; }");
	REQUIRE(nest.if_count == 1);
	CHECK_INT(nest.ifs[0].owner_count, 2);
	/* a replicated target is everybody's, and so is the condition */
	plan(ROWS, "for (k = 0; k < 2; k++) for (i = 0; i < 16; i++) if (B[i][0] > 1) s = 2;");
	CHECK_INT(nest.ifs[0].owner_count, 0);
	/* a counter that is read later must have its value on all nodes */
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { if (B[i][0] > 1) for (j = 0; j < 4; j++) V[i] = j; V[i] = j; }");
	CHECK_INT(nest.ifs[0].owner_count, 0);
	plan(ROWS,
	     "for (i = 0; i < 16; i++) { if (B[i][0] > 1) for (j = 0; j < 4; j++) V[i] = j; V[i] = 3; }");
	CHECK_INT(nest.ifs[0].owner_count, 1);
}

TEST(a_message_within_an_owned_if_stands_before_it)
{
	plan(COLUMNS,
	     "for (k = 0; k < 2; k++) { if (A[0][3] > 1) A[0][3] = B[0][9]; B[0][9] = A[0][3]; }");
	REQUIRE(nest.if_count == 1);
	CHECK_INT(nest.ifs[0].owner_count, 1);
	for (int i = 0; i < nest.ref_count; i++)
		if (!nest.refs[i].is_local && nest.refs[i].in_if == 0)
			CHECK(sn_nest_anchor(&nest, &nest.refs[i]) == nest.ifs[0].stmt);
	/* what the branch itself changes cannot be sent before it */
	plan(COLUMNS,
	     "for (k = 0; k < 2; k++) if (A[0][3] > 1) { B[0][9] = 2; A[0][3] = B[0][9]; }");
	CHECK_INT(nest.ifs[0].owner_count, 0);
}

TEST(elements_are_listed_where_a_box_would_be_large)
{
	plan(ROWS, "for (i = 0; i < 16; i++) V[15 - i] = A[i][i];");
	REQUIRE(nest.ref_count == 1);
	CHECK(nest.refs[0].is_inspected);
	plan(ROWS, "for (i = 0; i < 16; i++) for (j = 0; j < 16; j++) B[i][j] = A[j][i];");
	CHECK(!nest.refs[0].is_inspected);
	plan(ROWS, "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) B[i][j] = A[i + j][i];");
	CHECK(!nest.refs[0].is_inspected);
}

TEST(steps_of_two_tell_red_from_black)
{
	plan(ROWS,
	     "for (i = 1; i < 15; i += 2) for (j = 1; j < 15; j += 2) A[i][j] = A[i-1][j] + A[i][j+1];");
	CHECK_STRING(placed("A[i - 1][j]"), "0");
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
	/* two rows back is the same colour */
	plan(ROWS, "for (i = 3; i < 15; i += 2) for (j = 1; j < 15; j += 2) A[i][j] = A[i-2][j];");
	CHECK(strcmp(placed("A[i - 2][j]"), "0") != 0);
}

TEST(a_private_index_of_a_dimension_that_is_not_cut)
{
	plan(ROWS,
	     "for (i = 0; i < 16; i++) for (j = 0; j < 8; j++) { k = 15 - j / 2; A[i][k] = B[i][k]; }");
	CHECK(assign_to("k")->is_private);
	CHECK_INT(nest.loops[0].mode, SN_LOOP_OWN);
}
