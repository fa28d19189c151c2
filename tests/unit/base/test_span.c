#include "base/span.h"
#include "harness/tap.h"

TEST(spans_that_meet_are_joined_in_the_order_of_time)
{
	struct sn_span items[] = { { 30, 40 }, { 10, 20 }, { 15, 25 }, { 40, 50 }, { 32, 35 } };

	CHECK_INT(sn_spans_settle(items, 5), 2);
	CHECK_INT(items[0].from_ns, 10);
	CHECK_INT(items[0].to_ns, 25);
	CHECK_INT(items[1].from_ns, 30);
	CHECK_INT(items[1].to_ns, 50);
	CHECK_INT(sn_spans_settle(items, 0), 0);
}

TEST(a_moment_is_in_them_from_their_begin_to_before_their_end)
{
	const struct sn_span items[] = { { 10, 20 }, { 30, 40 } };
	const struct sn_spans spans = { items, 2 }, none = { 0 };

	CHECK(sn_spans_have(&spans, 10) && sn_spans_have(&spans, 19) && sn_spans_have(&spans, 30));
	CHECK(!sn_spans_have(&spans, 9) && !sn_spans_have(&spans, 20) &&
	      !sn_spans_have(&spans, 25) && !sn_spans_have(&spans, 40));
	CHECK(sn_spans_have(&none, 25));
}

TEST(a_stretch_counts_as_far_as_it_lies_in_them)
{
	const struct sn_span items[] = { { 10, 20 }, { 30, 40 } };
	const struct sn_spans spans = { items, 2 }, none = { 0 };

	CHECK_INT(sn_spans_overlap_ns(&spans, 0, 100), 20);
	CHECK_INT(sn_spans_overlap_ns(&spans, 15, 32), 7);
	CHECK_INT(sn_spans_overlap_ns(&spans, 20, 30), 0);
	CHECK_INT(sn_spans_overlap_ns(&spans, 35, 15), 0);
	CHECK_INT(sn_spans_overlap_ns(&none, 15, 32), 17);
	CHECK_INT(sn_spans_overlap_ns(&none, 32, 15), 0);
}
