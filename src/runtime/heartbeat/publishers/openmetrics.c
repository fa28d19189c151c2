/*
 * Writes the sums of all heartbeats as one exposition in OpenMetrics or its older dialect, to a
 * file for a collector and to memory for the server.
 */
#include "runtime/heartbeat/publishers/openmetrics.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/heartbeat/publishers/sums.h"

/* Sums over threads: a label for each thread would make a time series for each, for good. */

static struct {
	pthread_mutex_t lock; /* the server's thread reads what the drain's thread writes */
	struct beat_sums sums;
	struct sonde_heartbeat_process process;
	char *path, *temporary; /* of the text file; NULL: none */
	bool is_kept;		/* the text file at the end */
} me = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A label's value: backslash, quote and newline are escaped (OpenMetrics 1.0, section 4.1.3.5).
 * Bytes that are no UTF-8 would make the whole exposition unreadable. So every byte above 0x7f of a
 * name that is no UTF-8 becomes a question mark. */
static bool is_utf8(const char *chars, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)chars[i];
		unsigned more = c < 0x80   ? 0
				: c < 0xc2 ? 9
				: c < 0xe0 ? 1
				: c < 0xf0 ? 2
				: c < 0xf5 ? 3
					   : 9;

		if (more == 9 || length - i <= more)
			return false;
		if ((c == 0xe0 && (unsigned char)chars[i + 1] < 0xa0) ||
		    (c == 0xed && (unsigned char)chars[i + 1] > 0x9f) ||
		    (c == 0xf0 && (unsigned char)chars[i + 1] < 0x90) ||
		    (c == 0xf4 && (unsigned char)chars[i + 1] > 0x8f))
			return false;
		for (; more; more--)
			if (((unsigned char)chars[++i] & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static void write_label(FILE *out, const char *label, const char *chars, size_t length)
{
	bool is_valid = is_utf8(chars, length);

	fprintf(out, "%s=\"", label);
	for (size_t i = 0; i < length; i++) {
		if (chars[i] == '\n')
			fputs("\\n", out);
		else if (chars[i] == '"' || chars[i] == '\\')
			fprintf(out, "\\%c", chars[i]);
		else if (!is_valid && (chars[i] & 0x80))
			fputc('?', out);
		else
			fputc(chars[i], out);
	}
	fputc('"', out);
}

static void write_labels(FILE *out, const struct beat_sum *sum)
{
	fputc('{', out);
	write_label(out, "heartbeat", sum->name, sum->name_length);
	write_label(out, ",program", me.process.program, strlen(me.process.program));
	if (me.process.job_id)
		write_label(out, ",job_id", me.process.job_id, strlen(me.process.job_id));
	if (me.process.rank >= 0)
		fprintf(out, ",rank=\"%lld\"", (long long)me.process.rank);
	fprintf(out, ",pid=\"%llu\"", (unsigned long long)me.process.pid);
}

static void write_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%llu.%09llu\n", (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

enum kind { COUNT, LEVEL, LEVEL_SECONDS };

struct family {
	const char *name, *help;
	enum kind kind;
	size_t offset; /* in struct sonde_heartbeat_row */
};

#define FIELD(name) offsetof(struct sonde_heartbeat_row, name)
static const struct family families[] = {
	{ "beats", "Beats that ended", COUNT, FIELD(count) },
	{ "open", "Beats open at the end of the last interval", LEVEL, FIELD(open) },
	{ "open_seconds", "Time that open beats had within the last interval", LEVEL_SECONDS,
	  FIELD(open_ns) },
	{ "work", "Units of work that the program told", COUNT, FIELD(work) },
	{ "misuse", "Ends without a begin and the like", COUNT, FIELD(misuse) },
	{ "dropped", "Beats lost for want of memory", COUNT, FIELD(dropped) },
};

/* In the older format a counter's family has the name of its samples. */
static void write_head(FILE *out, enum beat_dialect dialect, const char *name, const char *help,
		       const char *type)
{
	const char *suffix = dialect == BEAT_TEXT_004 && !strcmp(type, "counter") ? "_total" : "";
	bool has_unit = strlen(name) > 8 && !strcmp(name + strlen(name) - 8, "_seconds");

	fprintf(out, "# TYPE sonde_heartbeat_%s%s %s\n", name, suffix, type);
	if (has_unit && dialect == BEAT_OPENMETRICS_10)
		fprintf(out, "# UNIT sonde_heartbeat_%s seconds\n", name);
	fprintf(out, "# HELP sonde_heartbeat_%s%s %s.\n", name, suffix, help);
}

static void write_family(FILE *out, enum beat_dialect dialect, const struct family *family)
{
	write_head(out, dialect, family->name, family->help,
		   family->kind == COUNT ? "counter" : "gauge");
	for (uint32_t i = 0; i < me.sums.count; i++) {
		const struct beat_sum *sum = &me.sums.items[i];
		uint64_t value;

		if (!sum->name)
			continue;
		memcpy(&value, (const char *)&sum->total + family->offset, sizeof(value));
		fprintf(out, "sonde_heartbeat_%s%s", family->name,
			family->kind == COUNT ? "_total" : "");
		write_labels(out, sum);
		fputs("} ", out);
		if (family->kind == LEVEL_SECONDS)
			write_seconds(out, value);
		else
			fprintf(out, "%llu\n", (unsigned long long)value);
	}
}

/* Bounds are powers of four from 16 ns to 1 s: half of what the rows have, a third of a decade
 * each.
 */
static void write_buckets(FILE *out, const struct beat_sum *sum)
{
	uint64_t below = 0;

	for (unsigned i = 0; i < 32; i++) {
		below += sum->total.histogram[i];
		if (i < 3 || i > 29 || i % 2 == 0)
			continue;
		fputs("sonde_heartbeat_duration_seconds_bucket", out);
		write_labels(out, sum);
		fprintf(out, ",le=\"%.9f\"} %llu\n", (double)(UINT64_C(2) << i) * 1e-9,
			(unsigned long long)below);
	}
	fputs("sonde_heartbeat_duration_seconds_bucket", out);
	write_labels(out, sum);
	fprintf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)below);
}

static void write_durations(FILE *out, enum beat_dialect dialect)
{
	write_head(out, dialect, "duration_seconds", "Duration of the beats that were timed",
		   "histogram");
	for (uint32_t i = 0; i < me.sums.count; i++) {
		const struct beat_sum *sum = &me.sums.items[i];

		if (!sum->name)
			continue;
		write_buckets(out, sum);
		fputs("sonde_heartbeat_duration_seconds_sum", out);
		write_labels(out, sum);
		fputs("} ", out);
		write_seconds(out, sum->total.sum_ns);
		fputs("sonde_heartbeat_duration_seconds_count", out);
		write_labels(out, sum);
		fprintf(out, "} %llu\n", (unsigned long long)sum->total.timed);
	}
}

char *beat_exposition(enum beat_dialect dialect, size_t *length)
{
	char *chars = NULL;
	FILE *out = open_memstream(&chars, length);

	if (!out)
		return NULL;
	pthread_mutex_lock(&me.lock);
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		write_family(out, dialect, &families[i]);
	write_durations(out, dialect);
	pthread_mutex_unlock(&me.lock);
	if (dialect == BEAT_OPENMETRICS_10)
		fputs("# EOF\n", out);
	if (fclose(out) != 0) {
		free(chars);
		return NULL;
	}
	return chars;
}

/* The collector must never see half a file: written beside it, then renamed. The other name does
 * not end in .prom, which is what the collector looks for. */
static void write_textfile(void)
{
	size_t length = 0, done = 0;
	char *chars = beat_exposition(BEAT_TEXT_004, &length);
	int fd = chars ? open(me.temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			      0644)
		       : -1;

	while (fd >= 0 && done < length) {
		ssize_t n = write(fd, chars + done, length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd >= 0 && (close(fd) != 0 || done < length || rename(me.temporary, me.path) != 0))
		unlink(me.temporary);
	free(chars);
}

static void forget_paths(void)
{
	free(me.path);
	free(me.temporary);
	me.path = me.temporary = NULL;
}

static const char *start_textfile(const char *folder)
{
	static char why[512];

	if (access(folder, W_OK | X_OK) != 0) {
		snprintf(why, sizeof(why), "cannot write in '%s': %s", folder, strerror(errno));
		return why;
	}
	if (asprintf(&me.path, "%s/sonde_heartbeat.%llu.prom", folder,
		     (unsigned long long)me.process.pid) < 0)
		me.path = NULL;
	if (asprintf(&me.temporary, "%s/.sonde_heartbeat.%llu.tmp", folder,
		     (unsigned long long)me.process.pid) < 0)
		me.temporary = NULL;
	if (me.path && me.temporary)
		return NULL;
	forget_paths();
	return "no memory";
}

static const char *start(const struct sonde_heartbeat_process *process)
{
	const char *folder = secure_getenv("SONDE_HEARTBEAT_OPENMETRICS_DIR");
	const char *address = secure_getenv("SONDE_HEARTBEAT_OPENMETRICS_LISTEN");
	const char *keep = secure_getenv("SONDE_HEARTBEAT_OPENMETRICS_KEEP");
	const char *why = NULL;

	me.process = *process;
	me.is_kept = keep && !strcmp(keep, "1");
	if (!(folder && *folder) && !(address && *address))
		return "set SONDE_HEARTBEAT_OPENMETRICS_DIR to the textfile collector's folder, or "
		       "SONDE_HEARTBEAT_OPENMETRICS_LISTEN";
	if (folder && *folder)
		why = start_textfile(folder);
	if (!why && address && *address)
		why = beat_server_start(address, (long)process->pid, (long)process->rank);
	if (why)
		forget_paths();
	return why;
}

static void add_row(const struct sonde_heartbeat_row *row)
{
	pthread_mutex_lock(&me.lock);
	beat_sums_add(&me.sums, row);
	pthread_mutex_unlock(&me.lock);
}

static void end_interval(uint64_t end_realtime_ns, uint64_t length_ns)
{
	(void)end_realtime_ns, (void)length_ns;
	pthread_mutex_lock(&me.lock);
	beat_sums_settle(&me.sums);
	pthread_mutex_unlock(&me.lock);
	if (me.path)
		write_textfile();
}

/* Figures of a process that is gone would be scraped for ever. */
static void stop(void)
{
	beat_server_stop();
	if (me.path && !me.is_kept)
		unlink(me.path);
	forget_paths();
	beat_sums_free(&me.sums);
}

/* The lock may have been held by the server's thread: a new one. */
static void forked(void)
{
	pthread_mutex_init(&me.lock, NULL);
	beat_server_forget();
	forget_paths();
	beat_sums_free(&me.sums);
}

__attribute__((visibility("default")))
const struct sonde_heartbeat_publisher sonde_heartbeat_publisher = {
	.version = SONDE_HEARTBEAT_PUBLISHER_VERSION,
	.start = start,
	.row = add_row,
	.interval = end_interval,
	.stop = stop,
	.forked = forked,
};
