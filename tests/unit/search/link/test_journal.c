/* The journal: nothing twice, nothing that was synced lost, whatever is cut or damaged. */
#include "search/link/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "harness/tap.h"

enum { RESULTS = 6 };

static char *path_new(void)
{
	static char path[] = "/tmp/sonde-journal.XXXXXX";
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? path : NULL;
}

static bool take(struct sn_journal *j, uint32_t agent, uint32_t epoch, uint64_t number)
{
	const struct sn_link_frame frame = { .type = SN_LINK_RESULT,
					     .agent = agent,
					     .epoch = epoch,
					     .number = number,
					     .body = (const uint8_t *)"result",
					     .length = 6 };

	return sn_journal_take(j, &frame);
}

static void count(const struct sn_link_frame *frame, void *context)
{
	*(int *)context += frame->type == SN_LINK_RESULT && frame->length == 6;
}

/* Some bytes in place of the journal: a sync is dear. */
static void bytes_write(const char *path, const struct sn_file_view *view, size_t length)
{
	FILE *file = fopen(path, "w");

	REQUIRE(file && fwrite(view->bytes, 1, length, file) == length);
	fclose(file);
}

/* A journal of RESULTS results, copied. */
static void whole_make(const char *path, struct sn_file_view *out)
{
	struct sn_file_view view;
	struct sn_error err;
	struct sn_text copy = { 0 };

	REQUIRE(sn_file_map(path, &view, &err) == SN_OK);
	sn_text_add_bytes(&copy, (const char *)view.bytes, view.length);
	*out = (struct sn_file_view){ .bytes = (const uint8_t *)copy.chars, .length = copy.length };
	sn_file_unmap(&view);
}

static void whole_write(const char *path)
{
	struct sn_journal j;
	struct sn_error err;

	REQUIRE(sn_journal_open(path, &j, NULL, NULL, &err) == SN_OK);
	for (uint64_t i = 1; i <= RESULTS; i++)
		CHECK(take(&j, 3, 1, i));
	CHECK(sn_journal_sync(&j, &err) == SN_OK);
	sn_journal_close(&j);
}

TEST(a_result_counts_once)
{
	const char *path = path_new();
	struct sn_journal j;
	struct sn_error err;
	int seen = 0;

	REQUIRE(path && sn_journal_open(path, &j, NULL, NULL, &err) == SN_OK);
	CHECK(take(&j, 1, 1, 2));
	CHECK(!take(&j, 1, 1, 2));
	CHECK_INT((int64_t)sn_journal_through(&j, 1, 1), 0);
	CHECK_INT((int64_t)sn_journal_gaps(&j), 1);
	CHECK(take(&j, 1, 1, 1));
	CHECK_INT((int64_t)sn_journal_through(&j, 1, 1), 2);
	CHECK(take(&j, 1, 2, 1)); /* another life of the agent */
	CHECK(take(&j, 2, 1, 1));
	CHECK(!take(&j, 2, 1, 0)); /* no result has this number */
	CHECK_INT((int64_t)j.received, 4);
	CHECK_INT((int64_t)j.repeated, 2);
	CHECK(sn_journal_sync(&j, &err) == SN_OK);
	sn_journal_close(&j);
	REQUIRE(sn_journal_open(path, &j, count, &seen, &err) == SN_OK);
	CHECK_INT(seen, 4);
	CHECK_INT((int64_t)j.received, 4);
	CHECK(!take(&j, 1, 1, 1));
	CHECK(take(&j, 1, 1, 3));
	sn_journal_close(&j);
	unlink(path);
}

TEST(gaps_are_what_was_made_and_did_not_come)
{
	const char *path = path_new();
	struct sn_journal j;
	struct sn_error err;

	REQUIRE(path && sn_journal_open(path, &j, NULL, NULL, &err) == SN_OK);
	take(&j, 1, 1, 1);
	take(&j, 1, 1, 4);
	CHECK_INT((int64_t)sn_journal_gaps(&j), 2);
	sn_journal_expect(&j, 1, 1, 6);
	CHECK_INT((int64_t)sn_journal_gaps(&j), 4);
	sn_journal_expect(&j, 9, 1, 2); /* of which nothing came */
	CHECK_INT((int64_t)sn_journal_gaps(&j), 6);
	sn_journal_expect(&j, 1, 1, 3); /* says less than is known */
	CHECK_INT((int64_t)sn_journal_gaps(&j), 6);
	sn_journal_close(&j);
	unlink(path);
}

TEST(a_second_front_is_refused)
{
	const char *path = path_new();
	struct sn_journal j, other;
	struct sn_error err;

	REQUIRE(path && sn_journal_open(path, &j, NULL, NULL, &err) == SN_OK);
	CHECK(sn_journal_open(path, &other, NULL, NULL, &err) == SN_ERR_USAGE);
	sn_journal_close(&j);
	REQUIRE(sn_journal_open(path, &j, NULL, NULL, &err) == SN_OK);
	sn_journal_close(&j);
	unlink(path);
}

/* Cut at every byte: what is whole before it is there, and what is appended then is read. */
TEST(a_journal_that_is_cut_goes_on)
{
	const char *path = path_new();
	struct sn_journal j;
	struct sn_error err;
	struct sn_file_view whole;
	const long frame = SN_LINK_HEAD + 6;

	REQUIRE(path);
	whole_write(path);
	whole_make(path, &whole);
	for (long length = 0; length < RESULTS * frame; length += length % frame < 3 ? 1 : 7) {
		int seen = 0;

		bytes_write(path, &whole, (size_t)length);
		REQUIRE(sn_journal_open(path, &j, count, &seen, &err) == SN_OK);
		CHECK_INT(seen, length / frame);
		CHECK_INT((int64_t)j.damaged_bytes, 0);
		CHECK(take(&j, 3, 1, RESULTS));
		CHECK(sn_journal_sync(&j, &err) == SN_OK);
		sn_journal_close(&j);
		seen = 0;
		REQUIRE(sn_journal_open(path, &j, count, &seen, &err) == SN_OK);
		CHECK_INT(seen, length / frame + 1);
		CHECK_INT((int64_t)sn_journal_gaps(&j), RESULTS - 1 - length / frame);
		sn_journal_close(&j);
	}
	sn_file_unmap(&whole);
	unlink(path);
}

/* A byte that was changed costs the frame that it is in, and no other. */
TEST(damage_costs_one_frame)
{
	const char *path = path_new();
	const long frame = SN_LINK_HEAD + 6;
	struct sn_file_view whole;
	struct sn_journal j;
	struct sn_error err;

	REQUIRE(path);
	whole_write(path);
	whole_make(path, &whole);
	for (long at = 0; at < RESULTS * frame; at++) {
		uint8_t *byte = (uint8_t *)(uintptr_t)whole.bytes + at;
		int seen = 0;

		*byte ^= 0x55;
		bytes_write(path, &whole, whole.length);
		*byte ^= 0x55;
		REQUIRE(sn_journal_open(path, &j, count, &seen, &err) == SN_OK);
		CHECK_INT(seen, RESULTS - 1);
		CHECK_INT((int64_t)j.received, RESULTS - 1);
		/* at the end it looks like a write that was cut off */
		CHECK_INT((int64_t)j.damaged_bytes, at / frame == RESULTS - 1 ? 0 : frame);
		CHECK(take(&j, 3, 1, (uint64_t)(at / frame) + 1));
		CHECK_INT((int64_t)sn_journal_gaps(&j), 0);
		sn_journal_close(&j);
	}
	sn_file_unmap(&whole);
	unlink(path);
}
