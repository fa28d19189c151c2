/* Names that are nearly alike. */
#include "base/spelling.h"

#include <string.h>

#include "harness/tap.h"

TEST(each_kind_of_fault_counts_one)
{
	CHECK_INT(sn_spelling_distance("dist", "dist"), 0);
	CHECK_INT(sn_spelling_distance("dsit", "dist"), 1);
	CHECK_INT(sn_spelling_distance("dit", "dist"), 1);
	CHECK_INT(sn_spelling_distance("disst", "dist"), 1);
	CHECK_INT(sn_spelling_distance("dust", "dist"), 1);
	CHECK_INT(sn_spelling_distance("", "dist"), 4);
	CHECK_INT(sn_spelling_distance("myphaze", "myphase"), 1);
	CHECK_INT(sn_spelling_distance("myfaze", "myphase"), 3);
}

TEST(an_exchange_next_to_a_fault_counts_both)
{
	CHECK_INT(sn_spelling_distance("ca", "abc"), 3); /* as alignment, not as edits of edits */
	CHECK_INT(sn_spelling_distance("exhcnage", "exchange"), 2);
}

TEST(near_is_one_fault_or_two_in_long_names)
{
	CHECK(sn_spelling_is_near("dsit", "dist"));
	CHECK(sn_spelling_is_near("DIST", "dist"));
	CHECK(sn_spelling_is_near("myphaes1", "myphase"));
	CHECK(!sn_spelling_is_near("dist", "dist"));
	CHECK(!sn_spelling_is_near("duet", "dist"));
	CHECK(!sn_spelling_is_near("i", "j"));
	CHECK(!sn_spelling_is_near("p", "pa"));
}

TEST(the_nearest_of_many_is_found)
{
	CHECK(sn_spelling_is_nearer("stepp", "step", NULL));
	CHECK(!sn_spelling_is_nearer("stepp", "other", NULL));
	CHECK(sn_spelling_is_nearer("first_stepp", "first_step", "first_stop"));
	CHECK(!sn_spelling_is_nearer("first_stepp", "first_stop", "first_step"));
}

TEST(names_too_long_are_near_nothing)
{
	char a[200], b[200];

	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[199] = b[198] = 0;
	CHECK_INT(sn_spelling_distance(a, b), 199);
	CHECK_INT(sn_spelling_distance(a, a), 0);
	CHECK(!sn_spelling_is_near(a, b));
}
