/* pprof's protocol buffer, unpacked and read back by its published field numbers. */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "exchange/exported.h"

enum { ITEMS_MAX = 64 };

/* A part of the message, read from its beginning. */
struct part {
	const uint8_t *next, *end;
};

struct field {
	uint64_t number, value; /* value: of a varint */
	struct part bytes;	/* of a length-delimited field */
};

struct file {
	struct part strings[ITEMS_MAX], functions[ITEMS_MAX], locations[ITEMS_MAX];
	size_t string_count;
};

static uint64_t varint(struct part *part)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && part->next < part->end; shift += 7) {
		uint8_t byte = *part->next++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static bool next_field(struct part *part, struct field *out)
{
	uint64_t tag;

	if (part->next >= part->end)
		return false;
	tag = varint(part);
	*out = (struct field){ .number = tag >> 3, .value = varint(part) };
	if ((tag & 7) == 2) {
		REQUIRE(out->value <= (uint64_t)(part->end - part->next));
		out->bytes = (struct part){ part->next, part->next + out->value };
		part->next += out->value;
	}
	return true;
}

/* The number in a message's field; 0, the default, if it is not there. */
static uint64_t number_of(struct part message, uint64_t number)
{
	struct field field;

	while (next_field(&message, &field))
		if (field.number == number)
			return field.value;
	return 0;
}

static uint8_t *unpacked(const char *packed, size_t length, size_t *out_length)
{
	z_stream stream = { .next_in = (uint8_t *)(uintptr_t)packed, .avail_in = (uInt)length };
	uint8_t *out = malloc(1 << 16);

	stream.next_out = out;
	stream.avail_out = 1 << 16;
	REQUIRE(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK); /* with a gzip header */
	CHECK_INT(inflate(&stream, Z_FINISH), Z_STREAM_END);
	*out_length = stream.total_out;
	inflateEnd(&stream);
	return out;
}

static void read_file(struct part all, struct file *file)
{
	struct field field;

	memset(file, 0, sizeof(*file));
	while (next_field(&all, &field)) {
		uint64_t id =
			field.number == 4 || field.number == 5 ? number_of(field.bytes, 1) : 0;

		REQUIRE(id < ITEMS_MAX && file->string_count < ITEMS_MAX);
		if (field.number == 4)
			file->locations[id] = field.bytes;
		else if (field.number == 5)
			file->functions[id] = field.bytes;
		else if (field.number == 6)
			file->strings[file->string_count++] = field.bytes;
	}
}

static void add_string(struct sn_text *text, const struct file *file, uint64_t number)
{
	REQUIRE(number < file->string_count);
	sn_text_add_bytes(text, (const char *)file->strings[number].next,
			  (size_t)(file->strings[number].end - file->strings[number].next));
}

/* "kernel:4 main:13", as the location's lines stand: innermost first. */
static void add_location(struct sn_text *text, const struct file *file, uint64_t id)
{
	struct part location;
	struct field field;

	REQUIRE(id < ITEMS_MAX);
	location = file->locations[id];
	while (next_field(&location, &field))
		if (field.number == 4) {
			add_string(text, file,
				   number_of(file->functions[number_of(field.bytes, 1)], 2));
			sn_text_addf(text, ":%" PRIu64 " ", number_of(field.bytes, 2));
		}
}

static void add_sample(struct sn_text *text, const struct file *file, struct part sample)
{
	struct field field;

	while (next_field(&sample, &field))
		while (field.bytes.next < field.bytes.end)
			if (field.number == 1)
				add_location(text, file, varint(&field.bytes));
			else
				sn_text_addf(text, "%" PRIu64 " ", varint(&field.bytes));
	sn_text_add(text, "\n");
}

/* Kinds of values, then a line for each sample: its functions and lines, then its values. */
static char *shown(const struct sn_export_options *options)
{
	struct fixture f;
	struct sn_text text = { 0 };
	struct field field;
	struct file file;
	struct part all;
	size_t length;
	uint8_t *bytes;
	char *packed;

	exported_begin(&f);
	packed = exported(&f, "pprof", options, &length);
	bytes = unpacked(packed, length, &length);
	all = (struct part){ bytes, bytes + length };
	read_file(all, &file);
	CHECK(file.string_count && file.strings[0].next == file.strings[0].end); /* "" is first */
	while (next_field(&all, &field))
		if (field.number == 1) {
			add_string(&text, &file, number_of(field.bytes, 1));
			sn_text_add(&text, "/");
			add_string(&text, &file, number_of(field.bytes, 2));
			sn_text_add(&text, "\n");
		} else if (field.number == 2) {
			add_sample(&text, &file, field.bytes);
		}
	free(packed);
	free(bytes);
	fixture_end(&f);
	return sn_text_take(&text);
}

TEST(pprof_has_inlined_functions_innermost_first)
{
	char *got = shown(&(struct sn_export_options){ 0 });

	CHECK_STRING(got, "samples/count\n"
			  "cpu/nanoseconds\n"
			  "kernel:4 main:13 2 2000000 \n"
			  "leaf:7 main:11 1 1000000 \n"
			  "malloc:0 leaf:4 main:11 3 6000000 \n");
	free(got);
}

TEST(pprof_has_blocked_time_as_a_third_value)
{
	char *got = shown(&(struct sn_export_options){ .with_blocked = true });

	CHECK_STRING(got, "samples/count\n"
			  "cpu/nanoseconds\n"
			  "blocked/nanoseconds\n"
			  "kernel:4 main:13 2 2000000 0 \n"
			  "leaf:7 main:11 1 1000000 0 \n"
			  "malloc:0 leaf:4 main:11 3 6000000 0 \n"
			  "write:0 main:9 0 0 5000000 \n");
	free(got);
}
