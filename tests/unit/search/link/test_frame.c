/* Frames: what is written is read, what is damaged is not, versions next to ours are understood. */
#include "search/link/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/tap.h"

static const char body[] = "a body";

static struct sn_text message(uint16_t version)
{
	const struct sn_link_frame frame = { .version = version,
					     .type = SN_LINK_RESULT,
					     .agent = 7,
					     .epoch = 2,
					     .number = 1ULL << 40,
					     .ack = 3,
					     .body = (const uint8_t *)body,
					     .length = sizeof(body) };
	struct sn_text out = { 0 };

	sn_link_frame_add(&out, &frame);
	return out;
}

/* RFC 3720, B.4. */
TEST(crc_is_castagnolis)
{
	uint8_t bytes[32] = { 0 };

	CHECK_INT(sn_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	CHECK_INT(sn_crc32c(0, bytes, 32), 0x62a8ab43);
	CHECK_INT(sn_crc32c(0, "123456789", 9), 0xe3069283);
	CHECK_INT(sn_crc32c(sn_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

TEST(what_is_written_is_read)
{
	struct sn_text text = message(0);
	struct sn_cursor cur = sn_cursor_over(text.chars, text.length);
	struct sn_link_frame f;

	CHECK_INT(text.length, SN_LINK_HEAD + sizeof(body));
	REQUIRE(sn_link_frame_read(&cur, &f) == SN_OK);
	CHECK_INT(f.version, SN_LINK_VERSION);
	CHECK_INT(f.type, SN_LINK_RESULT);
	CHECK_INT(f.agent, 7);
	CHECK_INT(f.epoch, 2);
	CHECK_INT((int64_t)f.number, 1LL << 40);
	CHECK_INT((int64_t)f.ack, 3);
	CHECK(f.length == sizeof(body) && !memcmp(f.body, body, sizeof(body)));
	CHECK_INT((int64_t)sn_cursor_left(&cur), 0);
	sn_text_free(&text);
}

TEST(every_cut_and_every_flipped_bit_is_seen)
{
	struct sn_text text = message(0);
	struct sn_link_frame f;

	for (size_t length = 0; length < text.length; length++) {
		uint8_t *copy = sn_alloc(length + 1);
		struct sn_cursor cur = sn_cursor_over(copy, length);

		memcpy(copy, text.chars, length);
		CHECK(sn_link_frame_read(&cur, &f) == SN_ERR_FORMAT);
		CHECK(cur.next == copy);
		free(copy);
	}
	for (size_t bit = 0; bit < text.length * 8; bit++) {
		struct sn_cursor cur = sn_cursor_over(text.chars, text.length);

		text.chars[bit / 8] = (char)(text.chars[bit / 8] ^ 1 << bit % 8);
		CHECK(sn_link_frame_read(&cur, &f) == SN_ERR_FORMAT);
		text.chars[bit / 8] = (char)(text.chars[bit / 8] ^ 1 << bit % 8);
	}
	sn_text_free(&text);
}

TEST(neighbouring_versions_are_understood)
{
	const uint16_t next = SN_LINK_VERSION + 1, far = SN_LINK_VERSION + 2;
	struct sn_text text = message(next), other = message(far);
	struct sn_cursor cur = sn_cursor_over(text.chars, text.length);
	struct sn_link_frame f;

	CHECK(sn_link_frame_read(&cur, &f) == SN_OK);
	cur = sn_cursor_over(other.chars, other.length);
	CHECK(sn_link_frame_read(&cur, &f) == SN_ERR_FORMAT);
	CHECK_INT(sn_link_version(2, 3, 3, 4), 3);
	CHECK_INT(sn_link_version(2, 3, 1, 2), 2);
	CHECK_INT(sn_link_version(2, 3, 4, 5), 0);
	CHECK_INT(sn_link_version(4, 5, 2, 3), 0);
	sn_text_free(&text);
	sn_text_free(&other);
}

/* A reader of a later version finds less than it knows, one of an earlier version more. */
TEST(bodies_may_end_earlier_and_later)
{
	struct sn_text text = { 0 };
	struct sn_cursor cur;

	sn_body_u16(&text, 0x1234);
	sn_body_string(&text, "words");
	sn_body_string(&text, NULL);
	sn_body_double(&text, 0.1);
	cur = sn_cursor_over(text.chars, text.length);
	CHECK_INT(sn_cursor_u16(&cur), 0x1234);
	CHECK_STRING(sn_body_read_string(&cur), "words");
	CHECK(!sn_body_read_string(&cur));
	CHECK_REAL(sn_body_read_double(&cur), 0.1, 0);
	CHECK(cur.status == SN_OK);
	CHECK_INT((int64_t)sn_cursor_u64(&cur), 0);
	sn_text_free(&text);
}

TEST(the_next_frame_is_found_behind_damage)
{
	struct sn_text text = { 0 }, frame = message(0);
	struct sn_cursor cur;
	struct sn_link_frame f;

	sn_text_add(&text, "SAC2 is not all");
	sn_text_add_bytes(&text, frame.chars, frame.length);
	cur = sn_cursor_over(text.chars, text.length);
	CHECK(sn_link_frame_read(&cur, &f) != SN_OK);
	CHECK(sn_link_frame_seek(&cur));
	CHECK(sn_link_frame_read(&cur, &f) == SN_OK);
	CHECK(!sn_link_frame_seek(&cur));
	sn_text_free(&text);
	sn_text_free(&frame);
}
