#include "unwind/cfi.h"

#include <stdlib.h>

#include "base/file.h"
#include "harness/tap.h"
#include "unit/unwind/made.h"
#include "unwind/module.h"

static struct made made;

static void make_usual(void)
{
	made_image(&made, false, made_usual, sizeof(made_usual),
		   (const uint8_t[]){ 0x41, 0x0e, 16 }, 3);
}

TEST(a_function_is_found_from_its_first_to_its_last_byte)
{
	struct sn_unwind_fde fde;

	make_usual();
	CHECK(sn_unwind_header_is_usable(&made.module));
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START - 1, &fde), SN_UNWIND_NOT_FOUND);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START, &fde), SN_UNWIND_FOUND);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_END - 1, &fde), SN_UNWIND_FOUND);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_END, &fde), SN_UNWIND_NOT_FOUND);
	CHECK_INT(fde.start_load_addr, MADE_START);
	CHECK_INT(fde.end_load_addr, MADE_END);
	CHECK_INT(fde.code_align, 1);
	CHECK_INT(fde.data_align, -8);
	CHECK(!fde.is_signal_frame);
}

TEST(an_index_of_our_own_finds_the_same)
{
	struct sn_unwind_index_entry entry;
	struct sn_unwind_fde fde;

	make_usual();
	made.module.eh_frame_hdr.end = made.module.eh_frame_hdr.start;
	CHECK(!sn_unwind_header_is_usable(&made.module));
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START, &fde), SN_UNWIND_NOT_FOUND);
	CHECK_INT(sn_unwind_index_size(&made.module), 1);
	CHECK_INT(sn_unwind_index_build(&made.module, &entry, 1), 1);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START - 1, &fde), SN_UNWIND_NOT_FOUND);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START, &fde), SN_UNWIND_FOUND);
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_END, &fde), SN_UNWIND_NOT_FOUND);
}

TEST(tables_of_other_encodings_are_searched)
{
	/* Eight-byte absolute addresses, and two-byte ones from the header's start. */
	uint64_t wide[] = { MADE_START, MADE_FRAMES + 28 };
	struct sn_unwind_fde fde;

	make_usual();
	memcpy(made.header, "\x01\x1b\x03\x04", 4);
	memcpy(made.header + 12, wide, sizeof(wide));
	made.module.eh_frame_hdr.end = MADE_HEADER + 28;
	CHECK_INT(sn_unwind_fde_find(&made.module, MADE_START + 3, &fde), SN_UNWIND_FOUND);
	CHECK_INT(fde.fde_load_addr, MADE_FRAMES + 28);
	/* Encodings that cannot be searched are refused, not guessed. */
	memcpy(made.header, "\x01\x1b\x03\x01", 4);
	CHECK(!sn_unwind_header_is_usable(&made.module));
	memcpy(made.header, "\x01\x1b\xff\xff", 4);
	CHECK(!sn_unwind_header_is_usable(&made.module));
	memcpy(made.header, "\x02\x1b\x03\x3b", 4);
	CHECK(!sn_unwind_header_is_usable(&made.module));
}

TEST(a_table_that_claims_more_than_there_is_is_refused)
{
	make_usual();
	made.header[8] = 2;
	CHECK(!sn_unwind_header_is_usable(&made.module));
	made.header[8] = 0;
	CHECK(!sn_unwind_header_is_usable(&made.module));
}

/** Opens a one-function image whose CIE carries this augmentation, and gives what is found. */
static enum sn_unwind_found find_with(const char *letters, const void *data, size_t data_count,
				      const void *fde_data, size_t fde_data_count,
				      struct sn_unwind_fde *fde)
{
	size_t start;

	memset(&made, 0, sizeof(made));
	made_put(&made, 0, 8);
	made_put(&made, 1, 1);
	made_bytes(&made, letters, strlen(letters) + 1);
	made_bytes(&made, "\x01\x78\x10", 3);
	made_bytes(&made, data, data_count);
	made_bytes(&made, made_usual, sizeof(made_usual));
	made_close(&made, 0);
	start = made.length;
	made_put(&made, 0, 4);
	made_put(&made, made.length, 4);
	made_bytes(&made, fde_data, fde_data_count);
	made_close(&made, start);
	made_finish(&made, start);
	return sn_unwind_fde_find(&made.module, MADE_START, fde);
}

TEST(augmentations_are_read_or_refused)
{
	struct {
		uint64_t start, length;
		uint8_t rest[8];
	} absolute = { MADE_START, 16, { 4, 0x44, 0x33, 0x22, 0x11 } };
	struct sn_unwind_fde fde;

	/* No augmentation: absolute addresses, and the program at once. */
	CHECK_INT(find_with("", "", 0, &absolute, 16, &fde), SN_UNWIND_FOUND);
	CHECK_INT(fde.end_load_addr, MADE_START + 16);
	CHECK_INT(fde.lsda_load_addr, 0);
	/* Personality (stepped over), exception tables and addresses, each with its encoding. */
	CHECK_INT(find_with("zPLR", "\x07\x9b\x01\x02\x03\x04\x03\x00", 8, &absolute, 21, &fde),
		  SN_UNWIND_FOUND);
	CHECK_INT(fde.lsda_load_addr, 0x11223344);
	CHECK_INT(find_with("zRS", "\x01\x00", 2, &absolute, 21, &fde), SN_UNWIND_FOUND);
	CHECK(fde.is_signal_frame);
	CHECK_INT(find_with("zRB", "\x01\x00", 2, &absolute, 21, &fde), SN_UNWIND_FOUND);
	CHECK_INT(find_with("zQR", "\x02\x00\x00", 3, &absolute, 21, &fde), SN_UNWIND_CORRUPT);
	CHECK_INT(find_with("eh", "", 0, &absolute, 16, &fde), SN_UNWIND_CORRUPT);
	CHECK_INT(find_with("zR", "\x01\x20", 2, &absolute, 21, &fde), SN_UNWIND_CORRUPT);
	CHECK_INT(find_with("zR", "\x7f\x00", 2, &absolute, 21, &fde), SN_UNWIND_CORRUPT);
}

TEST(damaged_records_never_leave_the_window)
{
	struct sn_unwind_fde fde;
	size_t length;

	make_usual();
	length = made.length;
	for (size_t cut = 0; cut < length; cut++) {
		uint8_t *exact = malloc(cut + 1);
		struct sn_unwind_fde_iterator iterator = { .module = &made.module };
		unsigned count = 0;

		memcpy(exact, made.frames, cut);
		made.module.eh_frame =
			(struct sn_unwind_window){ MADE_FRAMES, MADE_FRAMES + cut, exact };
		while (sn_unwind_fde_next(&iterator, &fde))
			count++;
		CHECK_INT(count, 0);
		CHECK(sn_unwind_fde_find(&made.module, MADE_START, &fde) != SN_UNWIND_FOUND);
		free(exact);
	}
}

TEST(a_bad_record_does_not_hide_the_next)
{
	struct sn_unwind_fde_iterator iterator = { .module = &made.module };
	struct sn_unwind_fde fde;
	size_t second;

	make_usual();
	second = made.length;
	made_function(&made, made_usual, 5);
	/* Its CIE is now wanted at offset 0 of the record's id field minus this distance: */
	made_finish(&made, second);
	made.frames[28 + 4] = 0xff; /* the first function's way to its CIE */
	CHECK(sn_unwind_fde_next(&iterator, &fde));
	CHECK_INT(fde.fde_load_addr, MADE_FRAMES + second);
	CHECK(!sn_unwind_fde_next(&iterator, &fde));
	CHECK_INT(iterator.corrupt_count, 1);
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/** Every function of a file by iteration, by the header's table, and by an index of our own. */
static void check_file(const char *path)
{
	struct sn_unwind_fde_iterator iterator;
	struct sn_unwind_module module;
	struct sn_unwind_index_entry *entries;
	struct sn_unwind_fde fde, found;
	struct sn_file_view view;
	uint64_t *starts;
	uint32_t size, count = 0;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		SKIP("a library that should be here is not");
	REQUIRE(sn_unwind_module_of_file(&module, view.bytes, view.length, 0x7f0000000000));
	size = sn_unwind_index_size(&module);
	CHECK(size > 100);
	starts = calloc(size, sizeof(*starts));
	iterator = (struct sn_unwind_fde_iterator){ .module = &module };
	while (count < size && sn_unwind_fde_next(&iterator, &fde)) {
		starts[count++] = fde.start_load_addr;
		REQUIRE(sn_unwind_fde_find(&module, fde.start_load_addr, &found) ==
			SN_UNWIND_FOUND);
	}
	CHECK_INT(iterator.corrupt_count, 0);
	qsort(starts, count, sizeof(*starts), by_start);
	entries = calloc(size, sizeof(*entries));
	CHECK_INT(sn_unwind_index_build(&module, entries, size), count);
	for (uint32_t i = 0; i < count; i++) {
		REQUIRE(entries[i].start_offset + module.load_start == starts[i]);
		REQUIRE(sn_unwind_fde_find(&module, starts[i], &found) == SN_UNWIND_FOUND);
	}
	free(entries);
	free(starts);
	sn_file_unmap(&view);
}

TEST(all_functions_of_libc_are_found_three_ways)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
}

TEST(all_functions_of_libstdcxx_are_found_three_ways)
{
	check_file("/lib/x86_64-linux-gnu/libstdc++.so.6");
}
