#include <string.h>

#include "executions.h"
#include "harness/tap.h"
#include "pandore/lattice/property.h"

static bool is_in(const struct sn_execution *e, const uint32_t *cut, uint32_t process,
		  const char *label)
{
	return cut[process] &&
	       !strcmp(sn_execution_observed(e, process, cut[process])->label, label);
}

static bool one(const struct sn_execution *e, const uint32_t *cut)
{
	return is_in(e, cut, 0, "x");
}
static bool both(const struct sn_execution *e, const uint32_t *cut)
{
	return is_in(e, cut, 0, "x") && is_in(e, cut, 1, "y");
}
static bool either(const struct sn_execution *e, const uint32_t *cut)
{
	return is_in(e, cut, 0, "x") || is_in(e, cut, 1, "y");
}
static bool not_and(const struct sn_execution *e, const uint32_t *cut)
{
	return !is_in(e, cut, 0, "x") && is_in(e, cut, 1, "x");
}
static bool nested(const struct sn_execution *e, const uint32_t *cut)
{
	return !(is_in(e, cut, 0, "x") || is_in(e, cut, 1, "x")) || is_in(e, cut, 0, "y");
}
static bool crossed(const struct sn_execution *e, const uint32_t *cut)
{
	return (is_in(e, cut, 0, "x") && is_in(e, cut, 1, "y")) ||
	       (is_in(e, cut, 0, "y") && is_in(e, cut, 1, "x"));
}

static const struct {
	const char *text;
	bool (*holds)(const struct sn_execution *e, const uint32_t *cut);
} conditions[] = {
	{ "in(p0, \"x\")", one },
	{ "in(p0, \"x\") and in(p1, \"y\")", both },
	{ "in(0,\"x\") || in(1,\"y\")", either },
	{ "not in(p0, \"x\") && in(p1, \"x\")", not_and },
	{ "!(in(p0, \"x\") or in(p1, \"x\")) or in(p0,\"y\")", nested },
	{ "in(p0,\"x\") and in(p1,\"y\") or in(p0,\"y\") and in(p1,\"x\")", crossed },
};

enum { CUTS_MOST = 1 << 16 };

/* Every cut, from the definition: reached at all, and reached without the condition having held. */
struct walk {
	const struct sn_execution *e;
	bool (*holds)(const struct sn_execution *e, const uint32_t *cut);
	bool is_possible, is_avoided;
	uint8_t seen[CUTS_MOST][2];
};

static void walk_from(struct walk *w, uint32_t *cut, bool has_held)
{
	const struct sn_lattice_order *order = &w->e->observed;
	size_t key = 0;
	bool is_full = true;

	has_held |= w->holds(w->e, cut);
	w->is_possible |= w->holds(w->e, cut);
	for (uint32_t p = 0; p < order->process_count; p++) {
		key = key * (order->counts[p] + 1) + cut[p];
		is_full &= cut[p] == order->counts[p];
	}
	w->is_avoided |= is_full && !has_held;
	if (w->seen[key][has_held]++)
		return;
	for (uint32_t p = 0; p < order->process_count; p++) {
		bool can = cut[p] < order->counts[p];

		for (uint32_t q = 0; can && q < order->process_count; q++)
			can = q == p || sn_lattice_past(order, p, cut[p] + 1)[q] <= cut[q];
		if (!can)
			continue;
		cut[p]++;
		walk_from(w, cut, has_held);
		cut[p]--;
	}
}

TEST(conditions_equal_the_definition)
{
	static struct walk walk;
	struct sn_random random;
	struct sn_error err;

	sn_random_seed(&random, 15);
	for (int i = 0; i < 1200; i++) {
		uint32_t processes = 2 + (uint32_t)sn_random_below(&random, 3), cut[8] = { 0 };
		struct made made = made_random(&random, processes, 12, 0.4, 0);
		struct sn_execution *e = made_execution(&made);
		struct sn_property *property = NULL;
		struct sn_property_answer answer;
		size_t c = (size_t)i % (sizeof(conditions) / sizeof(conditions[0]));
		static const char *const labels[] = { "x", "y", "z" };

		for (uint32_t k = 0; k < e->event_count; k++)
			e->events[k].label = labels[sn_random_below(&random, 3)];
		walk = (struct walk){ .e = e, .holds = conditions[c].holds };
		walk_from(&walk, cut, false);
		REQUIRE(sn_property_parse(conditions[c].text, &property, &err) == SN_OK);
		if (e->process_count < 2) {
			CHECK(c == 0 || sn_property_judge(property, e, 1000000, &answer, &err) ==
						SN_ERR_USAGE);
		} else {
			REQUIRE(sn_property_judge(property, e, 1000000, &answer, &err) == SN_OK);
			CHECK(answer.possibly == (walk.is_possible ? SN_TRUTH_YES : SN_TRUTH_NO));
			CHECK(answer.definitely == (walk.is_avoided ? SN_TRUTH_NO : SN_TRUTH_YES));
			CHECK(!answer.witness == !walk.is_possible);
			CHECK(!answer.witness || conditions[c].holds(e, answer.witness));
			sn_property_answer_free(&answer);
		}
		sn_property_free(property);
		sn_execution_free(e);
		made_free(&made);
	}
}

TEST(a_walk_that_is_too_long_is_not_known)
{
	struct sn_random random;
	struct made made;
	struct sn_execution *e;
	struct sn_property *property = NULL;
	struct sn_property_answer answer;
	struct sn_error err;

	sn_random_seed(&random, 3);
	made = made_random(&random, 3, 30, 0, 0);
	e = made_execution(&made);
	for (uint32_t k = 0; k < e->event_count; k++)
		e->events[k].label = k % 2 ? "x" : "y";
	REQUIRE(sn_property_parse(conditions[5].text, &property, &err) == SN_OK);
	REQUIRE(sn_property_judge(property, e, 5, &answer, &err) == SN_OK);
	CHECK(answer.possibly == SN_TRUTH_YES && answer.definitely == SN_TRUTH_UNKNOWN);
	sn_property_answer_free(&answer);
	sn_property_free(property);
	sn_execution_free(e);
	made_free(&made);
}

TEST(what_is_wrong_in_a_condition_is_said)
{
	static const char *const wrong[] = { "",
					     "in(",
					     "in(p0)",
					     "in(p0 \"x\")",
					     "in(p0, \"x\"",
					     "in(p0, \"x)",
					     "in(p0, \"x\") in(p1, \"x\")",
					     "in(p0, \"x\") and",
					     "(in(p0, \"x\")",
					     "inn(p0, \"x\")" };
	struct sn_property *property = NULL;
	struct sn_error err;
	char deep[400];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(sn_property_parse(wrong[i], &property, &err) == SN_ERR_USAGE &&
		      strstr(err.sentence, "at character"));
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	CHECK(sn_property_parse(deep, &property, &err) == SN_ERR_USAGE);
	CHECK(!property);
}
