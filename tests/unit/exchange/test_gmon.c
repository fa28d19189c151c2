/* gmon.out files: whole ones, and what is said of damaged ones. */
#include "exchange/gmon.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/gmon_file.h"
#include "harness/tap.h"

static struct sn_text whole(void)
{
	static const uint16_t bins[] = { 0, 7, 65535 };
	struct sn_text file = { 0 };

	gmon_begin(&file);
	gmon_histogram(&file, 0x1000, 0x100c, bins, 3);
	gmon_arc(&file, 0x1004, 0x1008, 42);
	gmon_add(&file, 2, 1); /* counts of basic blocks: passed over */
	gmon_add(&file, 1, 4);
	gmon_add(&file, 0x1000, 8);
	gmon_add(&file, 9, 8);
	gmon_arc(&file, 0x1006, 0x1000, 1);
	return file;
}

TEST(all_records_are_read)
{
	struct sn_text file = whole();
	struct sn_gmon gmon;
	struct sn_error err = { 0 };

	REQUIRE(sn_gmon_read(file.chars, file.length, "gmon.out", &gmon, &err) == SN_OK);
	REQUIRE(gmon.histograms.count == 1 && gmon.arcs.count == 2);
	CHECK_INT(gmon.histograms.items[0].low_link_addr, 0x1000);
	CHECK_INT(gmon.histograms.items[0].high_link_addr, 0x100c);
	CHECK_INT(gmon.histograms.items[0].rate_hz, 100);
	REQUIRE(gmon.histograms.items[0].bin_count == 3);
	CHECK_INT(gmon.histograms.items[0].bins[1], 7);
	CHECK_INT(gmon.histograms.items[0].bins[2], 65535);
	CHECK_INT(gmon.arcs.items[0].from_link_addr, 0x1004);
	CHECK_INT(gmon.arcs.items[0].self_link_addr, 0x1008);
	CHECK_INT(gmon.arcs.items[0].count, 42);
	CHECK_INT(gmon.arcs.items[1].count, 1);
	sn_gmon_free(&gmon);
	sn_text_free(&file);
}

static void check_fault(const char *bytes, size_t length, const char *says)
{
	struct sn_gmon gmon;
	struct sn_error err = { 0 };

	CHECK_INT(sn_gmon_read(bytes, length, "gmon.7", &gmon, &err), SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "'gmon.7'") != NULL);
	if (!strstr(err.sentence, says))
		CHECK_STRING(err.sentence, says);
}

TEST(what_is_no_gmon_file_is_said)
{
	check_fault("", 0, "no gmon.out file");
	check_fault("\177ELF\1\1\1", 7, "no gmon.out file");
	check_fault("gmon\2\0\0\0", 8, "an unknown version at byte 4");
	check_fault("gmon\1\0\0\0", 8, "the header is cut short");
}

/* Cut within a record, the file is refused at that record's byte; at its end, it is a shorter file. */
TEST(a_file_cut_anywhere_is_refused_or_shorter)
{
	struct sn_text file = whole();
	size_t whole_cuts = 0;

	for (size_t length = 20; length <= file.length; length++) {
		char *exact = malloc(length);
		struct sn_gmon gmon;
		struct sn_error err = { 0 };
		sn_status status;

		memcpy(exact, file.chars, length);
		status = sn_gmon_read(exact, length, "gmon.out", &gmon, &err);
		CHECK(status == SN_OK || status == SN_ERR_FORMAT);
		whole_cuts += status == SN_OK;
		if (status == SN_OK)
			sn_gmon_free(&gmon);
		free(exact);
	}
	CHECK_INT(whole_cuts, 5); /* the header alone, and after each record */
	sn_text_free(&file);
}

TEST(a_histogram_that_ends_before_it_begins_is_refused)
{
	static const uint16_t bin = 1;
	struct sn_text file = { 0 };

	gmon_begin(&file);
	gmon_histogram(&file, 0x2000, 0x1000, &bin, 1);
	check_fault(file.chars, file.length, "at byte 20");
	sn_text_free(&file);
}
