#include "base/cursor.h"
#include "harness/tap.h"

TEST(integers_are_little_endian)
{
	struct sn_cursor cur = sn_cursor_over("\x01\x02\x03\x04\x05\x06\x07", 7);

	CHECK_INT(sn_cursor_u8(&cur), 1);
	CHECK_INT(sn_cursor_u16(&cur), 0x0302);
	CHECK_INT(sn_cursor_u32(&cur), 0x07060504);
	CHECK_INT(cur.status, SN_OK);
}

TEST(the_first_failure_sticks)
{
	struct sn_cursor cur = sn_cursor_over("\x01\x02\x03", 3);

	CHECK_INT(sn_cursor_u32(&cur), 0);
	CHECK_INT(cur.status, SN_ERR_FORMAT);
	CHECK_INT(sn_cursor_u8(&cur), 0);
	CHECK(sn_cursor_bytes(&cur, 0) == NULL);
}

TEST(leb128_reads_the_examples_of_the_dwarf_standard)
{
	/* DWARF 5, appendix C, tables C.3 and C.4 */
	struct sn_cursor cur =
		sn_cursor_over("\x02\x7f\x80\x01\x81\x01\x02\x7e\xff\x00\x81\x7f", 12);

	CHECK_INT(sn_cursor_uleb128(&cur), 2);
	CHECK_INT(sn_cursor_uleb128(&cur), 127);
	CHECK_INT(sn_cursor_uleb128(&cur), 128);
	CHECK_INT(sn_cursor_uleb128(&cur), 129);
	CHECK_INT(sn_cursor_sleb128(&cur), 2);
	CHECK_INT(sn_cursor_sleb128(&cur), -2);
	CHECK_INT(sn_cursor_sleb128(&cur), 127);
	CHECK_INT(sn_cursor_sleb128(&cur), -127);
	CHECK_INT(cur.status, SN_OK);
}

TEST(leb128_past_64_bits_is_a_range_error)
{
	struct sn_cursor cur = sn_cursor_over("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x05", 11);

	CHECK_INT(sn_cursor_uleb128(&cur), 0);
	CHECK_INT(cur.status, SN_ERR_RANGE);
}

TEST(a_string_needs_its_zero)
{
	struct sn_cursor cur = sn_cursor_over("ab\0cd", 5);

	CHECK_STRING(sn_cursor_string(&cur), "ab");
	CHECK_STRING(sn_cursor_string(&cur), "");
	CHECK_INT(cur.status, SN_ERR_FORMAT);
}
