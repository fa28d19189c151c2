/* A verdict and what it says in words. What values come out is compared by tests/end/properties_random.py. */
#include "search/properties/evaluate.h"

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
	evaluator = sn_evaluator_new(tables);
	sn_property_evaluate(evaluator, sn_library_find(library, "A"), keys, &verdict);
	CHECK_STRING(sn_state_name(verdict.state), "proven");
	CHECK_STRING(verdict.condition, "large");
	CHECK_REAL(verdict.severity, 1.5 / 4, 1e-12);
	CHECK(!verdict.evidence[1].is_known);
	sn_prop_text_print(evaluator, verdict.property->explain, &text);
	CHECK_STRING(text.chars, "solve: thread 2 has 75 %, 1.50 s, ? misses");
	sn_text_free(&text);
	sn_evaluator_free(evaluator);
	sn_tables_free(tables);
	sn_library_free(library);
}
