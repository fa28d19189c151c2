/* perf.data files: events in the order of time, and what is said of damaged ones. */
#include "exchange/perf_data.h"

#include <stdlib.h>

#include "exchange/perf_file.h"
#include "harness/tap.h"

static const uint64_t chain[] = { 0x401010, 0x401100, 0x401200 };

static void build(struct perf_file *f)
{
	perf_begin(f);
	perf_sample(f, 101, 3000, 1000000, chain, 3); /* written before what happened before it */
	perf_comm(f, 100, "app", 1000);
	perf_map(f, 0x400000, 0x2000, 0x1000, "/home/u/app", 1500);
	perf_life(f, PERF_FORK, 101, 2000);
	perf_lost(f, 7, 4000);
	perf_life(f, PERF_EXIT, 101, 5000);
}

TEST(events_come_in_the_order_of_time)
{
	static const enum sn_perf_kind kinds[] = { SN_PERF_COMM,   SN_PERF_MAP,	 SN_PERF_FORK,
						   SN_PERF_SAMPLE, SN_PERF_LOST, SN_PERF_EXIT };
	struct perf_file f;
	struct sn_perf_data data;
	struct sn_error err = { 0 };

	build(&f);
	REQUIRE(sn_perf_data_open_memory(f.bytes.chars, f.bytes.length, &data, &err) == SN_OK);
	CHECK_STRING(data.event, "cpu-clock");
	CHECK(data.event_is_time && !data.has_stacks && !data.damaged);
	CHECK_REAL(data.frequency_hz, 1000, 0);
	REQUIRE(data.place_count == 6);
	for (size_t i = 0; i < 6; i++) {
		struct sn_perf_event event;

		REQUIRE(sn_perf_data_event(&data, i, &event));
		CHECK_INT(event.kind, kinds[i]);
	}
	sn_perf_data_free(&data);
	sn_text_free(&f.bytes);
}

TEST(an_event_says_what_its_record_says)
{
	struct perf_file f;
	struct sn_perf_data data;
	struct sn_perf_event event;
	struct sn_error err = { 0 };

	build(&f);
	REQUIRE(sn_perf_data_open_memory(f.bytes.chars, f.bytes.length, &data, &err) == SN_OK);
	REQUIRE(sn_perf_data_event(&data, 0, &event));
	CHECK_STRING(event.name, "app");
	CHECK(event.is_exec && event.time_ns == 1000);
	REQUIRE(sn_perf_data_event(&data, 1, &event));
	CHECK_STRING(event.name, "/home/u/app");
	CHECK(event.is_executable && event.load_addr == 0x400000 && event.length == 0x2000 &&
	      event.file_offset == 0x1000);
	REQUIRE(sn_perf_data_event(&data, 3, &event));
	CHECK(event.pid == 100 && event.tid == 101 && event.time_ns == 3000 && event.cpu == 3);
	CHECK(event.ip == 0x401010 && event.period == 1000000 && !event.is_kernel);
	REQUIRE(event.chain_count == 4); /* the mark of user mode is one of them */
	CHECK(!memcmp(event.chain + 8, chain, sizeof(chain)));
	REQUIRE(sn_perf_data_event(&data, 4, &event));
	CHECK_INT(event.lost, 7);
	sn_perf_data_free(&data);
	sn_text_free(&f.bytes);
}

static void check_refused(struct perf_file *f, sn_status want, const char *says)
{
	struct sn_perf_data data;
	struct sn_error err = { 0 };

	CHECK_INT(sn_perf_data_open_memory(f->bytes.chars, f->bytes.length, &data, &err), want);
	if (!strstr(err.sentence, says))
		CHECK_STRING(err.sentence, says);
	sn_text_free(&f->bytes);
}

TEST(what_cannot_be_read_is_refused_with_its_reason)
{
	struct perf_file f;

	build(&f);
	memcpy(f.bytes.chars, "2ELIFREP", 8);
	check_refused(&f, SN_ERR_UNSUPPORTED, "the other byte order");
	build(&f);
	f.bytes.chars[0] = 'p';
	check_refused(&f, SN_ERR_FORMAT, "no perf.data file");
	build(&f);
	perf_set(&f, 8, 16, 8);
	check_refused(&f, SN_ERR_UNSUPPORTED, "written to a pipe");
	build(&f);
	perf_set(&f, PERF_HEADER_BYTES + 24, PERF_SAMPLE_TYPE & ~4, 8);
	check_refused(&f, SN_ERR_UNSUPPORTED, "perf record -T");
	build(&f);
	f.bytes.length = 90;
	check_refused(&f, SN_ERR_FORMAT, "ends within its header");
}

/* Killed, perf leaves no length of the data; cut short, the file has fewer events. */
TEST(a_file_that_was_not_finished_is_read_to_its_end)
{
	struct perf_file f;
	size_t events_at_most = 6;

	build(&f);
	perf_set(&f, 48, 0, 8);
	for (size_t cut = 0; cut < 600 && f.bytes.length - cut > 232; cut++) {
		size_t length = f.bytes.length - cut;
		char *exact = malloc(length);
		struct sn_perf_data data;
		struct sn_error err = { 0 };

		memcpy(exact, f.bytes.chars, length);
		REQUIRE(sn_perf_data_open_memory(exact, length, &data, &err) == SN_OK);
		CHECK(data.place_count <= events_at_most);
		events_at_most = data.place_count;
		for (size_t i = 0; i < data.place_count; i++) {
			struct sn_perf_event event;

			CHECK(sn_perf_data_event(&data, i, &event));
		}
		sn_perf_data_free(&data);
		free(exact);
	}
	CHECK_INT(events_at_most, 0);
	sn_text_free(&f.bytes);
}
