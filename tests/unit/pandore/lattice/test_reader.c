#include <math.h>
#include <string.h>

#include "harness/tap.h"
#include "pandore/lattice/lattice.h"

static struct sn_error err;

static sn_status read_text(const char *text, struct sn_execution **out)
{
	return sn_execution_read_memory(text, strlen(text), "t", out, &err);
}

/* The sentence of a trace that must be refused, and how many events hold together in it. */
static const char *fault_of(const char *text, uint32_t *events)
{
	struct sn_execution *execution;

	err.sentence[0] = '\0';
	CHECK_INT(read_text(text, &execution), SN_ERR_FORMAT);
	*events = execution ? execution->event_count : 0;
	sn_execution_free(execution);
	return err.sentence;
}

#define FAULT(text, kept, sentence)                                                                \
	do {                                                                                       \
		uint32_t events_;                                                                  \
                                                                                                   \
		CHECK_STRING(fault_of((text), &events_), "lattice: 't': " sentence);               \
		CHECK_INT(events_, (kept));                                                        \
	} while (0)

TEST(events_come_in_any_order)
{
	struct sn_execution *execution;

	REQUIRE(read_text("{\"process\":1,\"index\":1}\n"
			  "{\"process\":1,\"index\":0,\"after\":[[0,0]]}\n\n"
			  "{\"process\":0,\"index\":0,\"label\":\"send\",\"file\":\"x.c\",\"line\":"
			  "7}",
			  &execution) == SN_OK);
	CHECK_INT(execution->process_count, 2);
	CHECK_INT(execution->event_count, 3);
	CHECK_INT(sn_lattice_past(&execution->observed, 1, 1)[0], 1);
	CHECK_INT(sn_lattice_past(&execution->observed, 1, 2)[0], 1);
	CHECK_INT(sn_lattice_future(&execution->observed, 0, 0)[1], 0);
	CHECK_STRING(sn_execution_observed(execution, 0, 1)->label, "send");
	CHECK_INT(sn_execution_observed(execution, 0, 1)->line, 7);
	CHECK(isnan(execution->events[0].duration_s));
	sn_execution_free(execution);
}

TEST(a_clock_says_the_same_as_dependencies)
{
	struct sn_execution *execution;

	REQUIRE(read_text("{\"processes\":3}\n{\"process\":0,\"index\":0,\"clock\":[1,0,0]}\n"
			  "{\"process\":1,\"index\":0,\"clock\":[1,1,0]}\n"
			  "{\"process\":2,\"index\":0,\"clock\":[1,1,1]}\n",
			  &execution) == SN_OK);
	CHECK_INT(sn_lattice_past(&execution->observed, 2, 1)[0], 1);
	CHECK_INT(sn_lattice_future(&execution->observed, 0, 0)[2], 0);
	sn_execution_free(execution);
}

TEST(projection_keeps_what_the_hidden_events_ordered)
{
	struct sn_execution *execution;

	/* 0:1 is hidden and orders 0:0 before 1:1; 1:0 is hidden too. */
	REQUIRE(read_text("{\"process\":0,\"index\":0}\n"
			  "{\"process\":0,\"index\":1,\"observed\":false}\n"
			  "{\"process\":1,\"index\":0,\"observed\":false,\"after\":[[0,1]]}\n"
			  "{\"process\":1,\"index\":1}\n",
			  &execution) == SN_OK);
	CHECK_INT(execution->observed.event_count, 2);
	CHECK_INT(sn_lattice_past(&execution->observed, 1, 1)[0], 1);
	CHECK_INT(sn_execution_observed(execution, 1, 1)->index, 1);
	sn_execution_free(execution);
}

TEST(every_fault_is_a_sentence_with_its_line)
{
	FAULT("{\"process\":0,\"index\":0,\"after\":[[1,0]]}\n{\"process\":1,\"index\":0,"
	      "\"after\":[[0,0]]}\n",
	      0,
	      "line 1: the dependencies of event 0 of process 0 run in a cycle: (0,0) needs (1,0) "
	      "needs (0,0), where (p,i) is event i of process p");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":0,\"index\":2}\n", 1,
	      "line 2: event 2 of process 0 is there but event 1 is missing");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":1,\"index\":0,\"after\":[[0,4]]}\n", 1,
	      "line 2: event 0 of process 1 depends on event 4 of process 0, which is not in the "
	      "trace");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":0,\"index\":0}\n", 1,
	      "line 2: event 0 of process 0 was given before, on line 1");
	FAULT("{\"processes\":2}\n{\"process\":0,\"index\":0}\n{\"process\":2,\"index\":0}\n", 1,
	      "line 3: process 2 is unknown: the trace has 2, numbered from 0");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":0,\"index\":1,\"after\":[[7,0]]}\n", 1,
	      "line 2: event 1 of process 0 depends on the unknown process 7");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":0,\"ind", 1,
	      "line 2: the last line is cut short, so the trace was probably truncated");
	FAULT("{\"process\":0,\"index\":0,\"clock\":[2]}\n", 0,
	      "line 1: the clock of event 0 of process 0 must have 1 as its own component");
	FAULT("{\"process\":0,\"index\":0,\"after\":[[0,1]]}\n{\"process\":0,\"index\":1}\n", 0,
	      "line 1: event 0 of process 0 depends on event 1 of its own process, which comes no "
	      "earlier");
	FAULT("{\"process\":0,\"index\":0}\n{\"process\":0,\"index\":-1}\n", 1,
	      "line 2: \"index\" must be a whole number from 0 to 2147483647");
	FAULT("[1]\n", 0, "line 1: an event is a JSON object, {\"process\":0,\"index\":0}");
}

TEST(a_clock_that_forgets_is_contradictory)
{
	/* 1:1 knows less of process 0 than 1:0 did. */
	FAULT("{\"process\":0,\"index\":0,\"clock\":[1,0]}\n{\"process\":1,\"index\":0,\"clock\":["
	      "1,1]}\n"
	      "{\"process\":1,\"index\":1,\"clock\":[0,2]}\n",
	      2,
	      "line 3: the clock of event 1 of process 1 says 0 for process 0, but the events it "
	      "follows already know 1");
}

TEST(the_first_fault_is_told_and_the_others_counted)
{
	FAULT("{\"process\":0,\"index\":0}\nx\n{\"process\":0,\"index\":0}\n", 1,
	      "line 2: this is no JSON: '[' or '{' expected near 'x' (column 1) (and 1 fault "
	      "more)");
}

TEST(an_empty_trace_has_no_answer)
{
	struct sn_execution *execution;

	CHECK_INT(read_text("\n \n", &execution), SN_ERR_NO_DATA);
	CHECK(execution == NULL);
}

/* The quick way for plain lines gives what the JSON reader gives: an unknown key makes a line not plain. */
TEST(plain_lines_are_read_like_others)
{
	static const char *const VALUES[] = {
		"0.1", "3.000000001",	    "12345.678901234",	"7", "0.3e-6", "1e22", "2.5",
		"0",   "12345678901234567", "0.000000000000001"
	};
	for (size_t i = 0; i < sizeof(VALUES) / sizeof(*VALUES); i++) {
		struct sn_execution *plain = NULL, *other = NULL;
		char line[256];

		snprintf(line, sizeof(line),
			 "{\"process\":0,\"index\":0,\"duration_s\":%s,\"line\":3}", VALUES[i]);
		CHECK(sn_execution_read_memory(line, strlen(line), "plain", &plain, &err) == SN_OK);
		snprintf(line, sizeof(line),
			 "{\"process\":0,\"index\":0,\"duration_s\":%s,\"line\":3,\"more\":1}",
			 VALUES[i]);
		CHECK(sn_execution_read_memory(line, strlen(line), "other", &other, &err) == SN_OK);
		REQUIRE(plain && other);
		CHECK(memcmp(&plain->events[0].duration_s, &other->events[0].duration_s,
			     sizeof(double)) == 0);
		CHECK(plain->events[0].line == 3 && other->events[0].line == 3);
		sn_execution_free(plain);
		sn_execution_free(other);
	}
}

TEST(what_is_not_plain_json_is_still_refused)
{
	static const char *const LINES[] = { "{\"process\":0,\"index\":00}",
					     "{\"process\":0,\"index\":0}}",
					     "{\"process\":0,\"index\":0,}",
					     "{\"process\":0,\"index\":0,\"index\":0}",
					     "{\"process\":0,\"index\":0.0}",
					     "{\"process\":0,\"index\":0,\"after\":[1,2]}",
					     "{\"process\":0,\"index\":0,\"duration_s\":.5}",
					     "{\"process\":0}",
					     "{\"process\":0,\"index\":0,\"observed\":truely}" };
	for (size_t i = 0; i < sizeof(LINES) / sizeof(*LINES); i++) {
		struct sn_execution *execution = NULL;

		CHECK(sn_execution_read_memory(LINES[i], strlen(LINES[i]), "bad", &execution,
					       &err) != SN_OK);
		sn_execution_free(execution);
	}
}
