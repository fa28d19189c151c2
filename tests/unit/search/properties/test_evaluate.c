/* A verdict and what it says in words. What values come out is compared by tests/end/properties_random.py. */
#include "search/properties/evaluate.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

static const char tables_text[] =
	"{\"schema\":\"sonde.tables/1\",\"phase_s\":2,\"processes\":[{\"process\":0,\"threads\":[1,2]}],"
	"\"regions\":[{\"region\":\"a\",\"name\":\"solve\"}],\"metrics\":["
	"{\"metric\":\"own\",\"region\":\"a\",\"thread\":1,\"value\":0.5},"
	"{\"metric\":\"own\",\"region\":\"a\",\"thread\":2,\"value\":1.5}]}";

static const char property_text[] =
	"property A(r: region) {\n"
	"  let most = max(own(r, t) over t in threads);\n"
	"  let who = argmax(own(r, t) over t in threads);\n"
	"  condition small: most < 1 s or large: most > 1 s;\n"
	"  confidence 1; severity max(small -> 0, large -> own(r, who) / (time(phase) * lanes));\n"
	"  evidence share = most / own(r); evidence lost = misses(L2, r);\n"
	"  explain \"{r}: thread {who} has {share:.0%}, {most:.2f} s, {lost} misses\";\n}";

static const char rate_text[] =
	"property B(r: region) {\n"
	"  let most = max(own(r, t) over t in threads);\n"
	"  condition most > 0 s; confidence 1; severity most / (time(phase) * lanes) / 1000;\n"
	"  rate own(r) / most + 5; explain \"{most:time}\"; }\n"
	"property C(r: region) { condition true: own(r) > 0 s or no: own(r) > 9 s; confidence 1;\n"
	"  severity 0.5; rate max(true -> 3, no -> 7); explain \"{r}\"; }\n"
	"property D(r: region) { condition own(r) > 0 s; confidence 1; severity 0.5; }\n"
	"property E(r: region) { condition own(r) > 0 s; confidence 1; severity 0.5; rate 1 / 0; }";

static void check_rate(struct sn_tables *tables, const struct sn_library *library, const char *name,
		       enum sn_severity asked, const char *state, double severity, double rate)
{
	struct sn_evaluator *evaluator = sn_evaluator_new(tables, asked);
	uint32_t keys[SN_KEYS] = { 0, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };
	struct sn_verdict verdict;

	sn_property_evaluate(evaluator, sn_library_find(library, name), keys, &verdict);
	CHECK_STRING(sn_state_name(verdict.state), state);
	if (verdict.state == SN_PROVEN) {
		CHECK_REAL(verdict.severity, severity, 1e-12);
		CHECK(isnan(rate) ? isnan(verdict.rate) : fabs(verdict.rate - rate) < 1e-12);
	}
	sn_evaluator_free(evaluator);
}

TEST(a_rate_is_the_severity_where_it_is_asked_for_and_stated)
{
	struct sn_library *library = sn_library_new();
	struct sn_tables *tables = NULL;

	sn_library_add_memory(library, "f", rate_text, strlen(rate_text));
	sn_library_settle(library);
	REQUIRE(sn_library_find(library, "B"));
	REQUIRE(sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) ==
		SN_OK);
	check_rate(tables, library, "B", SN_SEVERITY_LOST, "proven", 1.5 / 4 / 1000, 2 / 1.5 + 5);
	check_rate(tables, library, "B", SN_SEVERITY_RATE, "proven", 2 / 1.5 + 5, 2 / 1.5 + 5);
	check_rate(tables, library, "C", SN_SEVERITY_RATE, "proven", 3, 3);
	check_rate(tables, library, "D", SN_SEVERITY_RATE, "proven", 0.5, NAN);
	check_rate(tables, library, "E", SN_SEVERITY_LOST, "proven", 0.5, NAN);
	check_rate(tables, library, "E", SN_SEVERITY_RATE, "not_measurable", 0, 0);
	sn_tables_free(tables);
	sn_library_free(library);
}

/* Own time of `a` is 2 s and may be `open_s` more. */
static struct sn_verdict verdict_of_range(const struct sn_library *library, const char *name,
					  double open_s)
{
	uint32_t keys[SN_KEYS] = { 0, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };
	struct sn_tables *tables = NULL;
	struct sn_evaluator *evaluator;
	struct sn_verdict verdict = { 0 };

	if (sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) != SN_OK)
		return verdict;
	tables->values.items[0].open = open_s / 4;
	tables->values.items[1].open = open_s * 3 / 4;
	evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST);
	sn_property_evaluate(evaluator, sn_library_find(library, name), keys, &verdict);
	sn_evaluator_free(evaluator);
	sn_tables_free(tables);
	return verdict;
}

TEST(what_a_range_leaves_open_is_neither_proven_nor_false)
{
	static const char *const properties =
		"property P(r: region) { let lost = own(r); condition lost > 3 s; confidence 1; severity lost / 10 s; }\n"
		"property Q(r: region) { condition own(r) > 1 s; confidence 1; severity own(r) / 10 s; }\n"
		"property W(r: region) { when own(r) > 9 s; condition own(r) > 3 s; confidence 1; severity 0.5; }";
	struct sn_library *library = sn_library_new();
	struct sn_verdict verdict;

	sn_library_add_memory(library, "f", properties, strlen(properties));
	sn_library_settle(library);
	REQUIRE(sn_library_find(library, "P") && sn_library_find(library, "W"));
	verdict = verdict_of_range(library, "P", 0.8);
	CHECK(verdict.state == SN_NOT_PROVEN && !verdict.is_range);
	verdict = verdict_of_range(library, "P", 2);
	CHECK(verdict.state == SN_NOT_MEASURABLE && verdict.is_range && verdict.need_count == 1);
	CHECK_REAL(verdict.severity_at_most, 0.4, 1e-12);
	verdict = verdict_of_range(library, "Q", 2);
	CHECK(verdict.state == SN_PROVEN && verdict.is_range);
	CHECK_REAL(verdict.severity, 0.2, 1e-12);
	CHECK_REAL(verdict.severity_at_most, 0.4, 1e-12);
	verdict = verdict_of_range(library, "W", 2); /* it is not asked at all */
	CHECK(verdict.state == SN_NOT_PROVEN && !verdict.is_range);
	sn_library_free(library);
}

static void explain(struct sn_evaluator *evaluator, const struct sn_verdict *verdict,
		    struct sn_text *out)
{
	struct sn_text open = { 0 };

	sn_prop_text_open(evaluator, verdict->property->explain, &open);
	sn_prop_text_close(NULL, verdict->property, verdict->evidence, open.chars, out);
	sn_text_free(&open);
}

TEST(sums_are_what_several_processes_have_together)
{
	static const char *const property =
		"property S(r: region) { let lost = own(r) / 2; let twice = least(lost, 9 s) * 2; condition lost > 0 s;\n"
		" confidence 1; severity 0;\n"
		" evidence a = if lost > 1 s then lost else 0 s; evidence b = lost / time(phase); evidence c = twice;\n"
		" evidence d = max(own(r, t) over t in threads) - lost; evidence e = count(own(r, t) > 0 s over t in threads);\n"
		" evidence f = lost / twice; evidence g = mean(own(r, t) over t in threads); evidence h = time(phase);\n"
		" evidence i = argmax(own(r, t) over t in threads); evidence j = lanes; }";
	static const bool adds[] = {
		true, true, true, true, true, false, false, false, false, false
	};
	struct sn_library *library = sn_library_new();
	const struct sn_property *p;

	sn_library_add_memory(library, "f", property, strlen(property));
	sn_library_settle(library);
	p = sn_library_find(library, "S");
	REQUIRE(p && p->evidence.count == sizeof(adds) / sizeof(*adds));
	for (size_t i = 0; i < p->evidence.count; i++)
		CHECK_INT(p->evidence.items[i].adds, adds[i]);
	sn_library_free(library);
}

TEST(a_text_stays_open_for_sums)
{
	static const char *const property =
		"property F(r: region) { condition own(r) > 0 s; confidence 1; severity 0;\n"
		" evidence seconds = own(r); evidence share = own(r) / own(r);\n"
		" explain \"{seconds:.1f} s, {share:.0%}\"; }";
	struct sn_library *library = sn_library_new();
	struct sn_tables *tables = NULL;
	struct sn_evaluator *evaluator;
	uint32_t keys[SN_KEYS] = { 0, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };
	const struct sn_prop_value both[] = { { .is_known = true, .number = 7 },
					      { .is_known = false } };
	struct sn_verdict verdict;
	struct sn_text open = { 0 }, text = { 0 };

	sn_library_add_memory(library, "f", property, strlen(property));
	sn_library_settle(library);
	REQUIRE(sn_library_find(library, "F"));
	REQUIRE(sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) ==
		SN_OK);
	evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST);
	sn_property_evaluate(evaluator, sn_library_find(library, "F"), keys, &verdict);
	sn_prop_text_open(evaluator, verdict.property->explain, &open);
	sn_prop_text_close(tables, verdict.property, both, open.chars, &text);
	CHECK_STRING(text.chars, "7.0 s, 100 %");
	/* what comes from elsewhere may be anything */
	sn_text_clear(&text);
	sn_prop_text_close(tables, verdict.property, both, "a\001b\002c\001share\002\001seconds",
			   &text);
	CHECK_STRING(text.chars, "ac\001seconds");
	sn_text_free(&open);
	sn_text_free(&text);
	sn_evaluator_free(evaluator);
	sn_tables_free(tables);
	sn_library_free(library);
}

/* What a text says of 0.0015 s. */
TEST(a_duration_has_the_unit_that_fits)
{
	static const char *const property =
		"property F(r: region) { let lost = own(r) / 1000; let none = misses(L2, r) * 1 s; condition lost > 0 s;\n"
		" confidence 1; severity 0; explain \"{lost:time}, {lost:.2f} s, {none:time}\"; }";
	struct sn_library *library = sn_library_new();
	struct sn_tables *tables = NULL;
	struct sn_evaluator *evaluator;
	uint32_t keys[SN_KEYS] = { 0, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };
	struct sn_verdict verdict;
	struct sn_text text = { 0 };

	sn_library_add_memory(library, "f", property, strlen(property));
	sn_library_settle(library);
	REQUIRE(sn_library_find(library, "F"));
	REQUIRE(sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) ==
		SN_OK);
	evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST);
	sn_property_evaluate(evaluator, sn_library_find(library, "F"), keys, &verdict);
	explain(evaluator, &verdict, &text);
	CHECK_STRING(text.chars, "2.00 ms, 0.00 s, ?");
	sn_text_free(&text);
	sn_evaluator_free(evaluator);
	sn_tables_free(tables);
	sn_library_free(library);
}

TEST(a_verdict_in_words)
{
	struct sn_library *library = sn_library_new();
	struct sn_tables *tables = NULL;
	struct sn_evaluator *evaluator;
	uint32_t keys[SN_KEYS] = { 0, SN_ALL, 0, SN_ALL, SN_ALL, SN_ALL, SN_ALL };
	struct sn_verdict verdict;
	struct sn_text text = { 0 };

	sn_library_add_memory(library, "f", property_text, strlen(property_text));
	sn_library_settle(library);
	REQUIRE(sn_library_find(library, "A"));
	REQUIRE(sn_tables_read_memory("t", tables_text, strlen(tables_text), &tables, NULL) ==
		SN_OK);
	evaluator = sn_evaluator_new(tables, SN_SEVERITY_LOST);
	sn_property_evaluate(evaluator, sn_library_find(library, "A"), keys, &verdict);
	CHECK_STRING(sn_state_name(verdict.state), "proven");
	CHECK_STRING(verdict.condition, "large");
	CHECK_REAL(verdict.severity, 1.5 / 4, 1e-12);
	CHECK(!verdict.evidence[1].is_known);
	explain(evaluator, &verdict, &text);
	CHECK_STRING(text.chars, "solve: thread 2 has 75 %, 1.50 s, ? misses");
	sn_text_free(&text);
	sn_evaluator_free(evaluator);
	sn_tables_free(tables);
	sn_library_free(library);
}
