/* pprof's profile.proto as gzipped protocol buffer. Field numbers are those of the published schema
 * (github.com/google/pprof, proto/profile.proto); the wire format is that of protocol buffers:
 * varints, and length-delimited bytes. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/intern.h"
#include "base/text.h"
#include "exchange/frames.h"

enum { VARINT = 0, BYTES = 2 }; /* wire types */

struct message {
	struct sn_text bytes;
};

struct builder {
	const struct sn_profile *profile;
	const struct sn_program *program;
	struct message file;
	struct sn_interner strings; /* number 0 is "" by the format's rule */
	uint8_t *has_place, *has_function, *has_module;
};

static void put_varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sn_text_add_char(&m->bytes, (char)(value | 0x80));
	sn_text_add_char(&m->bytes, (char)value);
}

/** A number; zero is the default and left out. */
static void put_number(struct message *m, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_varint(m, field << 3 | VARINT);
	put_varint(m, value);
}

/** Empties `part` into a field of `m`. */
static void put_message(struct message *m, uint32_t field, struct message *part)
{
	put_varint(m, field << 3 | BYTES);
	put_varint(m, part->bytes.length);
	sn_text_add_bytes(&m->bytes, part->bytes.chars ? part->bytes.chars : "",
			  part->bytes.length);
	sn_text_clear(&part->bytes);
}

/** Protocol buffer strings are UTF-8: other bytes become U+FFFD. */
static uint64_t string_number(struct builder *b, const char *chars)
{
	struct sn_text valid = { 0 };
	size_t length = chars ? strlen(chars) : 0;
	uint32_t number;

	for (size_t i = 0; i < length;) {
		size_t width = sn_utf8_length(chars + i, length - i);

		if (width)
			sn_text_add_bytes(&valid, chars + i, width);
		else
			sn_text_add(&valid, "\xef\xbf\xbd");
		i += width ? width : 1;
	}
	number = sn_intern(&b->strings, valid.chars ? valid.chars : "", valid.length);
	sn_text_free(&valid);
	return number;
}

static void put_value_type(struct builder *b, uint32_t field, const char *type, const char *unit)
{
	struct message part = { 0 };

	put_number(&part, 1, string_number(b, type));
	put_number(&part, 2, string_number(b, unit));
	put_message(&b->file, field, &part);
	sn_text_free(&part.bytes);
}

static void put_samples(struct builder *b, bool with_blocked)
{
	struct message sample = { 0 }, packed = { 0 };

	for (uint32_t s = 0; s <= b->program->stack_count; s++) {
		const struct sn_weight *w = &b->profile->stacks[s];

		if (!w->samples && !w->cpu_ns && !(with_blocked && w->wait_ns))
			continue;
		for (size_t f = b->program->first_frame[s]; f < b->program->first_frame[s + 1];
		     f++) {
			uint32_t place = b->program->frame_places[f];

			b->has_place[place] = 1;
			put_varint(&packed, place + 1);
		}
		put_message(&sample, 1, &packed);
		put_varint(&packed, w->samples);
		put_varint(&packed, w->cpu_ns);
		if (with_blocked)
			put_varint(&packed, w->wait_ns);
		put_message(&sample, 2, &packed);
		put_message(&b->file, 2, &sample);
	}
	sn_text_free(&sample.bytes);
	sn_text_free(&packed.bytes);
}

/** The functions at a place, innermost first, as pprof wants its inlined lines. */
static void put_lines(struct builder *b, struct message *location,
		      const struct sn_program_place *place)
{
	struct message line = { 0 };

	for (uint32_t i = place->step_count; i-- > 0;) {
		const struct sn_step *step = &b->program->steps.items[place->first_step + i];

		if (step->kind != SN_STEP_FUNCTION)
			continue;
		b->has_function[step->index] = 1;
		put_number(&line, 1, step->index + 1ull);
		if (step->line != SN_NONE)
			put_number(&line, 2, b->program->lines.items[step->line].line);
		put_message(location, 4, &line);
	}
	sn_text_free(&line.bytes);
}

/** Addresses are link addresses, so mappings are said to lie at 0 with their whole range. */
static void put_locations(struct builder *b)
{
	struct message location = { 0 };

	for (size_t i = 0; i < b->program->places.count; i++) {
		const struct sn_program_place *place = &b->program->places.items[i];

		if (!b->has_place[i])
			continue;
		put_number(&location, 1, i + 1);
		if (place->module != SN_NONE) {
			b->has_module[place->module] = 1;
			put_number(&location, 2, place->module + 1ull);
		}
		put_number(&location, 3, place->link_addr);
		put_lines(b, &location, place);
		put_message(&b->file, 4, &location);
	}
	sn_text_free(&location.bytes);
}

static void put_mappings(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	struct message mapping = { 0 };

	for (size_t m = 0; m < e->modules.count; m++) {
		if (!b->has_module[m])
			continue;
		put_number(&mapping, 1, m + 1);
		put_number(&mapping, 5, string_number(b, e->modules.items[m].path));
		put_number(&mapping, 6, string_number(b, e->modules.items[m].build_id));
		for (uint32_t has = 7; has <= 10; has++) /* functions, files, lines, inlined */
			put_number(&mapping, has, 1);
		put_message(&b->file, 3, &mapping);
	}
	sn_text_free(&mapping.bytes);
}

static void put_functions(struct builder *b)
{
	struct message function = { 0 };

	for (size_t f = 0; f < b->program->functions.count; f++) {
		const struct sn_program_function *from = &b->program->functions.items[f];

		if (!b->has_function[f])
			continue;
		put_number(&function, 1, f + 1);
		put_number(&function, 2, string_number(b, from->name));
		put_number(&function, 3, string_number(b, from->linkage_name));
		put_number(&function, 4, string_number(b, from->file));
		put_number(&function, 5, from->line);
		put_message(&b->file, 5, &function);
	}
	sn_text_free(&function.bytes);
}

static void put_strings(struct builder *b)
{
	for (size_t i = 0; i < b->strings.strings.count; i++) {
		const struct sn_interned *s = &b->strings.strings.items[i];

		put_varint(&b->file, 6 << 3 | BYTES);
		put_varint(&b->file, s->length);
		sn_text_add_bytes(&b->file.bytes, s->chars, s->length);
	}
}

static sn_status write_gzip(const struct sn_text *bytes, FILE *out, struct sn_error *err)
{
	z_stream stream = { 0 };
	unsigned char room[65536];
	int result;

	if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return sn_error_set(err, SN_ERR_NOMEM, "export: zlib could not start");
	stream.next_in = (Bytef *)bytes->chars;
	stream.avail_in = (uInt)bytes->length;
	do {
		stream.next_out = room;
		stream.avail_out = sizeof(room);
		result = deflate(&stream, Z_FINISH);
		fwrite(room, 1, sizeof(room) - stream.avail_out, out);
	} while (result == Z_OK);
	deflateEnd(&stream);
	return SN_OK;
}

sn_status sn_export_pprof(const struct sn_profile *profile, const struct sn_export_options *options,
			  FILE *out, struct sn_error *err)
{
	struct builder b = { .profile = profile, .program = profile->program };
	const struct sn_experiment *e = profile->experiment;
	double rate_hz = e->processes.count ? e->processes.items[0].rate_hz : 0;
	sn_status status;

	b.has_place = calloc(b.program->places.count + 1, 1);
	b.has_function = calloc(b.program->functions.count + 1, 1);
	b.has_module = calloc(e->modules.count + 1, 1);
	string_number(&b, "");
	put_value_type(&b, 1, "samples", "count");
	put_value_type(&b, 1, "cpu", "nanoseconds");
	if (options->with_blocked)
		put_value_type(&b, 1, "blocked", "nanoseconds");
	put_samples(&b, options->with_blocked);
	put_locations(&b);
	put_mappings(&b);
	put_functions(&b);
	put_number(&b.file, 9, (uint64_t)e->started_realtime_ns);
	put_number(&b.file, 10, (uint64_t)e->elapsed_ns);
	put_value_type(&b, 11, "cpu", "nanoseconds");
	put_number(&b.file, 12, rate_hz > 0 ? (uint64_t)(1e9 / rate_hz) : 0);
	put_number(&b.file, 14, string_number(&b, "cpu"));
	put_strings(&b); /* last: all of the above name strings by number */
	status = b.file.bytes.length > UINT32_MAX
			 ? sn_error_set(err, SN_ERR_RANGE,
					"export: the profile is too large for pprof (over 4 GB)")
			 : write_gzip(&b.file.bytes, out, err);
	sn_text_free(&b.file.bytes);
	sn_interner_free(&b.strings);
	free(b.has_place);
	free(b.has_function);
	free(b.has_module);
	return status;
}
