/*
 * Parses heartbeat files line by line, as bytes come: a piece may end within a line. What cannot
 * be read is counted, and the next line is tried.
 */
#include "heartbeat/reader.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char header_schema[] = "sonde.heartbeat-header/1", row_schema[] = "sonde.heartbeat/1";

static bool schema_is(const json_t *object, const char *schema)
{
	const char *found = json_string_value(json_object_get(object, "schema"));

	return found && !strcmp(found, schema);
}

/* A whole number that is not negative, or -1. */
static int64_t whole(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
									: -1;
}

static int64_t from_seconds(double seconds)
{
	return seconds >= 0 && seconds < 9e9 ? (int64_t)(seconds * 1e9 + 0.5) : -1;
}

static int64_t nanoseconds(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? from_seconds(json_number_value(value)) : -1;
}

static sn_status give_header(struct sn_beat_reader *reader, const json_t *object, bool *is_bad,
			     struct sn_error *err)
{
	struct sn_beat_header header = {
		.host = json_string_value(json_object_get(object, "host")),
		.program = json_string_value(json_object_get(object, "program")),
		.job_id = json_string_value(json_object_get(object, "job_id")),
		.launch_id = json_string_value(json_object_get(object, "launch_id")),
		.pid = whole(object, "pid"),
		.forked_from = whole(object, "forked_from"),
		.rank = whole(object, "rank"),
		.ranks = whole(object, "ranks"),
		.part = whole(object, "part"),
		.start_realtime_ns = whole(object, "start_realtime_ns"),
		.start_monotonic_ns = whole(object, "start_monotonic_ns"),
		.interval_ns = nanoseconds(object, "interval_s"),
	};
	const json_t *words = json_object_get(object, "arguments");
	char *arguments = json_is_array(words) ? json_dumps(words, JSON_COMPACT) : NULL;
	sn_status status = SN_OK;

	header.arguments = arguments;
	*is_bad = !header.host || !header.program || !arguments || header.pid < 0 ||
		  header.start_monotonic_ns < 0 || header.start_realtime_ns < 0;
	if (!*is_bad)
		status = reader->sink.header(reader->sink.context, &header, err);
	free(arguments);
	return status;
}

/* All or nothing: beats that were timed, in 32 buckets. */
static bool sum_histogram(struct sn_beat_row *row)
{
	row->timed = 0;
	for (size_t i = 0; i < SN_BEAT_BUCKETS; i++)
		if (row->histogram[i] < 0 ||
		    __builtin_add_overflow(row->timed, row->histogram[i], &row->timed))
			return false;
	return true;
}

static bool read_histogram(const json_t *array, struct sn_beat_row *row)
{
	if (!json_is_array(array) || json_array_size(array) != SN_BEAT_BUCKETS)
		return false;
	for (size_t i = 0; i < SN_BEAT_BUCKETS; i++) {
		const json_t *bucket = json_array_get(array, i);

		if (!json_is_integer(bucket))
			return false;
		row->histogram[i] = json_integer_value(bucket);
	}
	return sum_histogram(row);
}

static bool is_sound(const struct sn_beat_row *row)
{
	return row->heartbeat && row->t_ns >= 0 && row->interval_ns >= 0 && row->count >= 0 &&
	       row->sum_ns >= 0 && row->min_ns >= 0 && row->max_ns >= 0 && row->open >= 0 &&
	       row->open_ns >= 0 && row->work >= 0 && row->every >= 0 && row->misuse >= 0 &&
	       row->dropped >= 0 && row->timed <= row->count;
}

static sn_status give_row(struct sn_beat_reader *reader, const json_t *object, bool *is_bad,
			  struct sn_error *err)
{
	int64_t thread = whole(object, "thread");
	struct sn_beat_row row = {
		.heartbeat = json_string_value(json_object_get(object, "heartbeat")),
		.pid = whole(object, "pid"),
		.rank = whole(object, "rank"),
		.threads = whole(object, "threads"),
		.thread = thread < 0 ? 0 : thread,
		.t_ns = nanoseconds(object, "t_s"),
		.interval_ns = nanoseconds(object, "interval_s"),
		.count = whole(object, "count"),
		.sum_ns = whole(object, "sum_ns"),
		.min_ns = whole(object, "min_ns"),
		.max_ns = whole(object, "max_ns"),
		.open = whole(object, "open"),
		.open_ns = whole(object, "open_ns"),
		.work = whole(object, "work"),
		.every = whole(object, "every"),
		.misuse = whole(object, "misuse"),
		.dropped = whole(object, "dropped"),
	};

	*is_bad = !read_histogram(json_object_get(object, "histogram"), &row) || !is_sound(&row);
	return *is_bad ? SN_OK : reader->sink.row(reader->sink.context, &row, err);
}

static sn_status read_json(struct sn_beat_reader *reader, const char *chars, size_t length,
			   bool *is_bad, struct sn_error *err)
{
	json_t *value = json_loadb(chars, length, JSON_ALLOW_NUL, NULL);
	sn_status status = SN_OK;

	if (schema_is(value, header_schema))
		status = give_header(reader, value, is_bad, err);
	else if (schema_is(value, row_schema))
		status = give_row(reader, value, is_bad, err);
	else
		*is_bad = true;
	json_decref(value);
	return status;
}

/* RECORD_MAX: what may follow an open quote before it is taken for damage. */
enum { CSV_FIELDS = 16, CSV_JOBWIDE_FIELDS = 19, RECORD_MAX = 65536 };

/* One field, unquoted into the arena; `*next` is behind its comma. */
static const char *csv_field(struct sn_arena *arena, const char **next, const char *end)
{
	const char *c = *next;
	bool is_quoted = c < end && *c == '"';
	char *out = sn_arena_alloc(arena, (size_t)(end - c) + 1, 1), *o = out;

	for (c += is_quoted; c < end; c++) {
		if (is_quoted && *c == '"' && (c + 1 == end || c[1] != '"')) {
			c++;
			break;
		}
		if (!is_quoted && *c == ',')
			break;
		if (is_quoted && *c == '"')
			c++;
		*o++ = *c;
	}
	if (c < end && *c != ',')
		return NULL;
	*next = c < end ? c + 1 : NULL;
	return out;
}

/* Digits only; -1 for anything else. */
static int64_t csv_whole(const char *digits)
{
	char *end;
	long long value = *digits >= '0' && *digits <= '9' ? strtoll(digits, &end, 10) : -1;

	return value < 0 || *end || value == INT64_MAX ? -1 : value;
}

/* "12.000345678", exactly. */
static int64_t csv_nanoseconds(const char *text)
{
	const char *point = strchr(text, '.');
	int64_t seconds = 0, ns = 0, unit = 1000000000;

	if (!point || point == text || point - text > 9)
		return -1;
	for (; text < point; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		seconds = seconds * 10 + (*text - '0');
	}
	for (text++; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		ns += (*text - '0') * (unit /= 10);
	}
	return seconds * 1000000000 + ns;
}

static bool csv_histogram(const char *text, struct sn_beat_row *row)
{
	for (size_t i = 0; i < SN_BEAT_BUCKETS; i++) {
		char *end;

		row->histogram[i] = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
		if (row->histogram[i] < 0 || *end != (i + 1 < SN_BEAT_BUCKETS ? ';' : 0))
			return false;
		text = end + 1;
	}
	return sum_histogram(row);
}

/* The writer puts an apostrophe before what a spreadsheet would take for a formula. */
static const char *csv_name(const char *field)
{
	return field[0] == '\'' && field[1] && strchr("=+-@\t\r'", field[1]) ? field + 1 : field;
}

static bool read_csv_row(struct sn_arena *arena, const char *chars, size_t length,
			 struct sn_beat_row *row)
{
	const char *fields[CSV_JOBWIDE_FIELDS] = { NULL }, *next = chars;
	size_t count = 0;

	while (next && count < CSV_JOBWIDE_FIELDS)
		if (!(fields[count++] = csv_field(arena, &next, chars + length)))
			return false;
	if (next || (count != CSV_FIELDS && count != CSV_JOBWIDE_FIELDS) ||
	    strcmp(fields[0], row_schema))
		return false;
	*row = (struct sn_beat_row){
		.t_ns = csv_nanoseconds(fields[1]),
		.interval_ns = csv_nanoseconds(fields[2]),
		.thread = *fields[3] ? csv_whole(fields[3]) : 0,
		.heartbeat = csv_name(fields[4]),
		.count = csv_whole(fields[5]),
		.sum_ns = csv_whole(fields[6]),
		.min_ns = csv_whole(fields[7]),
		.max_ns = csv_whole(fields[8]),
		.open = csv_whole(fields[9]),
		.open_ns = csv_whole(fields[10]),
		.work = csv_whole(fields[11]),
		.every = csv_whole(fields[12]),
		.misuse = csv_whole(fields[13]),
		.dropped = csv_whole(fields[14]),
		.pid = count > CSV_FIELDS ? csv_whole(fields[16]) : -1,
		.rank = count > CSV_FIELDS ? csv_whole(fields[17]) : -1,
		.threads = count > CSV_FIELDS ? csv_whole(fields[18]) : -1,
	};
	return row->thread >= 0 && csv_histogram(fields[15], row) && is_sound(row);
}

static sn_status read_csv(struct sn_beat_reader *reader, const char *chars, size_t length,
			  bool *is_bad, struct sn_error *err)
{
	struct sn_beat_row row;

	if (length > 2 && !memcmp(chars, "# ", 2))
		return read_json(reader, chars + 2, length - 2, is_bad, err);
	if (length > 7 && !memcmp(chars, "schema,", 7))
		return SN_OK;
	*is_bad = !read_csv_row(&reader->line, chars, length, &row);
	return *is_bad ? SN_OK : reader->sink.row(reader->sink.context, &row, err);
}

/* Where the record ends: at a newline, which in CSV must stand outside quotes. NULL: not here. */
static const char *record_end(const char *next, const char *end, bool is_csv)
{
	bool is_quoted = false;

	if (!is_csv || (next < end && *next == '#'))
		return memchr(next, '\n', (size_t)(end - next));
	for (; next < end; next++) {
		is_quoted ^= *next == '"';
		if (*next == '\n' && !is_quoted)
			return next;
	}
	return NULL;
}

static sn_status read_record(struct sn_beat_reader *reader, const char *chars, size_t length,
			     bool *is_bad, struct sn_error *err)
{
	sn_status status = reader->is_csv ? read_csv(reader, chars, length, is_bad, err)
					  : read_json(reader, chars, length, is_bad, err);

	sn_arena_free(&reader->line);
	return status;
}

static void note_bad(struct sn_beat_reader *reader)
{
	if (!reader->bad_line_count++)
		reader->first_bad_line = reader->line_count;
}

sn_status sn_beat_reader_add(struct sn_beat_reader *reader, const char *bytes, size_t length,
			     bool is_last, size_t *used, struct sn_error *err)
{
	const char *next = bytes, *end = bytes + length;
	sn_status status = SN_OK;

	while (next < end && status == SN_OK) {
		const char *newline = memchr(next, '\n', (size_t)(end - next));
		const char *stop = record_end(next, end, reader->is_csv);
		bool is_bad = false;

		if (!stop && !is_last && (!newline || end - next < RECORD_MAX))
			break;
		reader->line_count++;
		stop = stop ? stop : end;
		/* a record over several lines is one only if it can be read; an odd quote
		 * somewhere must cost its own line, not all that follow */
		if (newline && stop != newline) {
			status = read_record(reader, next, (size_t)(stop - next), &is_bad, err);
			if (!is_bad) {
				next = stop < end ? stop + 1 : end;
				continue;
			}
		}
		stop = newline ? newline : end;
		is_bad = false;
		if (stop > next)
			status = read_record(reader, next, (size_t)(stop - next), &is_bad, err);
		if (is_bad)
			note_bad(reader);
		next = newline ? stop + 1 : end;
	}
	*used = (size_t)(next - bytes);
	return status;
}

void sn_beat_reader_free(struct sn_beat_reader *reader)
{
	sn_arena_free(&reader->line);
}

bool sn_beat_is_file_name(const char *name, bool *is_csv)
{
	*is_csv = sn_ends_with(name, ".csv");
	return sn_starts_with(name, "heartbeat.") && (*is_csv || sn_ends_with(name, ".jsonl"));
}
