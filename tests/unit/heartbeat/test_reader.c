#include "heartbeat/reader.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

struct seen {
	int headers, rows;
	char host[32], name[64];
	struct sn_beat_row last;
};

static sn_status on_header(void *context, const struct sn_beat_header *header, struct sn_error *err)
{
	struct seen *seen = context;

	(void)err;
	seen->headers++;
	strncpy(seen->host, header->host, sizeof(seen->host) - 1);
	return SN_OK;
}

static sn_status on_row(void *context, const struct sn_beat_row *row, struct sn_error *err)
{
	struct seen *seen = context;

	(void)err;
	seen->rows++;
	strncpy(seen->name, row->heartbeat, sizeof(seen->name) - 1);
	seen->last = *row;
	return SN_OK;
}

#define HEADER                                                                                     \
	"{\"schema\":\"sonde.heartbeat-header/"                                                    \
	"1\",\"start_realtime_ns\":5,\"start_monotonic_ns\":6,"                                    \
	"\"host\":\"n\",\"pid\":7,\"rank\":null,\"program\":\"app\",\"arguments\":[]}\n"
#define ZEROS ",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
#define SEMIS ";0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0"

static const char json[] = HEADER
	"{\"schema\":\"sonde.heartbeat/1\",\"t_s\":1.000000001,\"interval_s\":0.5,\"thread\":9,"
	"\"heartbeat\":\"a\\nb\",\"count\":3,\"sum_ns\":30,\"min_ns\":5,\"max_ns\":15,\"open\":1,"
	"\"open_ns\":2,\"work\":4,\"every\":1,\"misuse\":0,\"dropped\":0,\"histogram\":[1,2" ZEROS
	"]}\n";
static const char csv[] =
	"# " HEADER "schema,t_s,...\n"
	"sonde.heartbeat/1,1.000000001,0.500000000,9,\"a\nb\",3,30,5,15,1,2,4,1,0,0,1;2" SEMIS "\n";

static struct seen read_bytes(const char *bytes, size_t length, bool is_csv, uint64_t *bad)
{
	struct seen seen = { 0 };
	struct sn_beat_reader reader = { .sink = { &seen, on_header, on_row }, .is_csv = is_csv };
	size_t used;

	CHECK_INT(sn_beat_reader_add(&reader, bytes, length, true, &used, NULL), SN_OK);
	CHECK_INT(used, length);
	*bad = reader.bad_line_count;
	sn_beat_reader_free(&reader);
	return seen;
}

TEST(both_formats_say_the_same)
{
	for (int is_csv = 0; is_csv < 2; is_csv++) {
		uint64_t bad;
		struct seen seen =
			read_bytes(is_csv ? csv : json, is_csv ? sizeof(csv) - 1 : sizeof(json) - 1,
				   is_csv, &bad);

		CHECK_INT(bad, 0);
		CHECK_INT(seen.headers, 1);
		CHECK_INT(seen.rows, 1);
		CHECK_STRING(seen.name, "a\nb");
		CHECK_INT(seen.last.t_ns, 1000000001);
		CHECK_INT(seen.last.interval_ns, 500000000);
		CHECK_INT(seen.last.thread, 9);
		CHECK_INT(seen.last.count, 3);
		CHECK_INT(seen.last.timed, 3);
		CHECK_INT(seen.last.histogram[1], 2);
		CHECK_INT(seen.last.pid, -1);
		CHECK_INT(seen.last.work, 4);
	}
}

/* Cut at any byte: what stands before the cut is read, and at most the last line is bad. */
TEST(files_cut_at_any_byte)
{
	for (int is_csv = 0; is_csv < 2; is_csv++) {
		const char *bytes = is_csv ? csv : json;
		size_t length = is_csv ? sizeof(csv) - 1 : sizeof(json) - 1;
		size_t header_length = strlen(HEADER) + (is_csv ? 2 : 0);

		for (size_t cut = 0; cut <= length; cut++) {
			char *exact = malloc(cut + 1);
			struct seen seen;
			uint64_t bad;

			memcpy(exact, bytes, cut);
			seen = read_bytes(exact, cut, is_csv, &bad);
			CHECK_INT(seen.headers, cut + 1 >= header_length);
			CHECK_INT(seen.rows, cut + 1 >= length);
			CHECK(bad <= 2);
			free(exact);
		}
	}
}

/* A file that grows: whatever pieces it comes in, each line is read once. */
TEST(pieces_of_any_length)
{
	for (int is_csv = 0; is_csv < 2; is_csv++)
		for (size_t piece = 1; piece < 700; piece += 7) {
			const char *bytes = is_csv ? csv : json;
			size_t length = is_csv ? sizeof(csv) - 1 : sizeof(json) - 1;
			struct seen seen = { 0 };
			struct sn_beat_reader reader = { .sink = { &seen, on_header, on_row },
							 .is_csv = is_csv };
			size_t done = 0, end = 0;

			while (end < length) {
				size_t used;

				end = end + piece < length ? end + piece : length;
				sn_beat_reader_add(&reader, bytes + done, end - done, false, &used,
						   NULL);
				done += used;
			}
			CHECK_INT(done, length);
			CHECK_INT(seen.headers + seen.rows, 2);
			CHECK_INT(reader.bad_line_count, 0);
			sn_beat_reader_free(&reader);
		}
}

TEST(an_odd_quote_costs_its_own_line)
{
	static const char damaged[] =
		"# " HEADER "sonde.heartbeat/1,\"1.0\n"
		"sonde.heartbeat/1,1.000000001,0.500000000,9,\"a\nb\",3,30,5,15,1,2,4,1,0,0,"
		"1;2" SEMIS "\n"
		"sonde.heartbeat/1,2.000000001,0.500000000,9,x,3,30,5,15,1,2,4,1,0,0,1;2" SEMIS
		"\n";
	uint64_t bad;
	struct seen seen = read_bytes(damaged, sizeof(damaged) - 1, true, &bad);

	CHECK_INT(seen.rows, 2);
	CHECK_INT(bad, 1);
	CHECK_STRING(seen.name, "x");
}

TEST(what_cannot_be_is_a_bad_line)
{
	static const char *const lines[] = {
		"{\"schema\":\"sonde.heartbeat/1\"}",
		"null",
		"[]",
		"1",
		"\"\"",
		"{}",
		"{",
		/* more timed than counted, a negative count, a histogram of 33 */
		"{\"schema\":\"sonde.heartbeat/1\",\"t_s\":1,\"interval_s\":1,\"thread\":1,"
		"\"heartbeat\":\"x\",\"count\":1,\"sum_ns\":1,\"min_ns\":1,\"max_ns\":1,\"open\":0,"
		"\"open_ns\":0,\"work\":0,\"every\":1,\"misuse\":0,\"dropped\":0,\"histogram\":[1,"
		"1" ZEROS "]}",
		"{\"schema\":\"sonde.heartbeat/1\",\"t_s\":1,\"interval_s\":1,\"thread\":1,"
		"\"heartbeat\":\"x\",\"count\":-1,\"sum_ns\":1,\"min_ns\":1,\"max_ns\":1,\"open\":"
		"0,"
		"\"open_ns\":0,\"work\":0,\"every\":1,\"misuse\":0,\"dropped\":0,\"histogram\":[0,"
		"0" ZEROS "]}",
		"{\"schema\":\"sonde.heartbeat/1\",\"t_s\":1,\"interval_s\":1,\"thread\":1,"
		"\"heartbeat\":\"x\",\"count\":9,\"sum_ns\":1,\"min_ns\":1,\"max_ns\":1,\"open\":0,"
		"\"open_ns\":0,\"work\":0,\"every\":1,\"misuse\":0,\"dropped\":0,\"histogram\":[1,"
		"1,0" ZEROS "]}",
		"{\"schema\":\"sonde.heartbeat-header/1\",\"host\":5}",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		uint64_t bad;
		struct seen seen = read_bytes(lines[i], strlen(lines[i]), false, &bad);

		CHECK_INT(seen.rows + seen.headers, 0);
		CHECK_INT(bad, 1);
	}
}
