/*
 * Writes rows as JSON lines or CSV (docs/format/heartbeat-file.md), and rotates files that are
 * full.
 */
#include "runtime/heartbeat/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files of rows. Every batch is one write() to a file opened with O_APPEND: what stands in it is
 * whole lines, whenever the process is killed. */

struct file {
	int fd; /* 0: not open (descriptor 0 is never ours: see open_file) */
	bool has_header;
	uint64_t written_bytes; /* by this process, since it opened the file */
	uint64_t part;		/* how often it was rotated */
	struct beat_text batch;
};

static struct file jsonl, csv;

static void add_key(struct beat_text *text, const char *key)
{
	beat_text_string(text, ",\"");
	beat_text_string(text, key);
	beat_text_string(text, "\":");
}

static void add_string(struct beat_text *text, const char *key, const char *value)
{
	add_key(text, key);
	if (value)
		beat_text_json(text, value, strlen(value));
	else
		beat_text_string(text, "null");
}

static void add_uint(struct beat_text *text, const char *key, uint64_t value)
{
	add_key(text, key);
	beat_text_uint(text, value);
}

static void add_number_or_null(struct beat_text *text, const char *key, int64_t value)
{
	add_key(text, key);
	if (value < 0)
		beat_text_string(text, "null");
	else
		beat_text_uint(text, (uint64_t)value);
}

/* The words of the command line, as /proc tells them: program first. */
static void add_command_line(struct beat_text *text)
{
	static char words[65536];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
	char *word = words, *end = words + (length > 0 ? length : 0);
	const char *path = beat_globals.identity.path, *slash = strrchr(path, '/');
	bool is_first = true;

	if (fd >= 0)
		close(fd);
	*end = 0;
	add_string(text, "program", slash ? slash + 1 : path);
	add_string(text, "path", path);
	add_key(text, "arguments");
	beat_text_string(text, "[");
	for (word += strlen(word) + 1; word < end; word += strlen(word) + 1) {
		beat_text_string(text, is_first ? "" : ",");
		beat_text_json(text, word, strlen(word));
		is_first = false;
	}
	beat_text_string(text, "]");
}

static void add_header(struct beat_text *text, const struct file *file)
{
	const struct beat_globals *g = &beat_globals;
	const struct beat_identity *me = &g->identity;
	struct timespec real;
	uint64_t real_ns, passed_ns;

	clock_gettime(CLOCK_REALTIME, &real);
	passed_ns = beat_clock_ns() - g->process_ns;
	real_ns = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
	beat_text_string(text, "{\"schema\":\"sonde.heartbeat-header/1\"");
	add_uint(text, "start_realtime_ns", real_ns - passed_ns);
	add_uint(text, "start_monotonic_ns", g->process_ns);
	add_string(text, "host", me->host);
	add_uint(text, "pid", g->pid);
	add_number_or_null(text, "forked_from", g->forked_from ? (int64_t)g->forked_from : -1);
	add_number_or_null(text, "rank", me->rank);
	add_number_or_null(text, "ranks", me->ranks);
	add_string(text, "job_id", me->job_id[0] ? me->job_id : NULL);
	add_string(text, "launch_id", me->launch[0] ? me->launch : NULL);
	add_command_line(text);
	add_key(text, "interval_s");
	beat_text_seconds(text, g->settings.interval_ns);
	add_string(text, "clock",
		   __atomic_load_n(&g->mode, __ATOMIC_RELAXED) & BEAT_NO_TSC ? "monotonic" : "tsc");
	add_uint(text, "part", file->part);
	beat_text_string(text, "}\n");
}

static const char csv_columns[] =
	"schema,t_s,interval_s,thread,heartbeat,count,sum_ns,min_ns,max_ns,open,open_ns,work,every,"
	"misuse,dropped,histogram";

static void add_histogram(struct beat_text *text, const struct beat_row *row, const char *comma)
{
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++) {
		beat_text_string(text, i ? comma : "");
		beat_text_uint(text, row->histogram[i]);
	}
}

static void add_jsonl_row(struct beat_text *text, const struct beat_row *row, uint64_t t_ns,
			  uint64_t interval_ns)
{
	beat_text_string(text, "{\"schema\":\"sonde.heartbeat/1\",\"t_s\":");
	beat_text_seconds(text, t_ns);
	add_key(text, "interval_s");
	beat_text_seconds(text, interval_ns);
	add_key(text, "thread");
	if (row->thread)
		beat_text_uint(text, row->thread);
	else
		beat_text_string(text, "null");
	if (beat_globals.settings.is_jobwide) {
		add_uint(text, "pid", beat_globals.pid);
		add_number_or_null(text, "rank", beat_globals.identity.rank);
		add_uint(text, "threads", row->threads);
	}
	add_key(text, "heartbeat");
	beat_text_json(text, row->beat->name, row->beat->name_length);
	add_uint(text, "count", row->count);
	add_uint(text, "sum_ns", row->sum_ns);
	add_uint(text, "min_ns", row->min_ns);
	add_uint(text, "max_ns", row->max_ns);
	add_uint(text, "open", row->open);
	add_uint(text, "open_ns", row->open_ns);
	add_uint(text, "work", row->work);
	add_uint(text, "every", row->beat->every);
	add_uint(text, "misuse", row->misuse);
	add_uint(text, "dropped", row->dropped);
	beat_text_string(text, ",\"histogram\":[");
	add_histogram(text, row, ",");
	beat_text_string(text, "]}\n");
}

static void add_csv_row(struct beat_text *text, const struct beat_row *row, uint64_t t_ns,
			uint64_t interval_ns)
{
	const uint64_t numbers[] = { row->count,  row->sum_ns,	row->min_ns, row->max_ns,
				     row->open,	  row->open_ns, row->work,   row->beat->every,
				     row->misuse, row->dropped };

	beat_text_string(text, "sonde.heartbeat/1,");
	beat_text_seconds(text, t_ns);
	beat_text_string(text, ",");
	beat_text_seconds(text, interval_ns);
	beat_text_string(text, ",");
	if (row->thread)
		beat_text_uint(text, row->thread);
	beat_text_string(text, ",");
	beat_text_csv(text, row->beat->name, row->beat->name_length);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		beat_text_string(text, ",");
		beat_text_uint(text, numbers[i]);
	}
	beat_text_string(text, ",");
	add_histogram(text, row, ";");
	if (beat_globals.settings.is_jobwide) {
		beat_text_string(text, ",");
		beat_text_uint(text, beat_globals.pid);
		beat_text_string(text, ",");
		if (beat_globals.identity.rank >= 0)
			beat_text_uint(text, (uint64_t)beat_globals.identity.rank);
		beat_text_string(text, ",");
		beat_text_uint(text, row->threads);
	}
	beat_text_string(text, "\n");
}

void beat_files_add(const struct beat_row *row, uint64_t stamp_ns, uint64_t interval_ns)
{
	uint64_t t_ns = stamp_ns - beat_globals.process_ns;

	if (beat_globals.settings.writes_jsonl)
		add_jsonl_row(&jsonl.batch, row, t_ns, interval_ns);
	if (beat_globals.settings.writes_csv)
		add_csv_row(&csv.batch, row, t_ns, interval_ns);
}

static void path_of(const char *kind, const char *suffix, struct beat_text *out)
{
	const struct beat_identity *me = &beat_globals.identity;

	beat_text_string(out, beat_globals.settings.folder);
	beat_text_string(out, "/heartbeat.");
	beat_text_string(out, me->host);
	beat_text_string(out, ".");
	if (!beat_globals.settings.is_jobwide)
		beat_text_uint(out, beat_globals.pid);
	else
		for (const char *c = me->job_id[0] ? me->job_id : "job"; *c; c++)
			beat_text_add(out, *c == '/' ? "_" : c, 1);
	beat_text_string(out, suffix);
	beat_text_string(out, ".");
	beat_text_string(out, kind);
	beat_text_add(out, "", 1);
}

static void make_folders(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
	mkdir(path, 0777);
}

static bool open_file(struct file *file, const char *kind)
{
	struct beat_text path = { 0 };
	int fd;

	if (file->fd)
		return true;
	make_folders(beat_globals.settings.folder);
	path_of(kind, "", &path);
	fd = path.is_short ? -1 : open(path.chars, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	free(path.chars);
	if (fd >= 0 &&
	    fd < 3) { /* the application closed a standard stream: keep its number free */
		int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);

		close(fd);
		fd = higher;
	}
	file->fd = fd > 0 ? fd : 0;
	file->has_header = false;
	file->written_bytes = 0;
	return file->fd > 0;
}

/* Two generations share the limit: the older one is replaced. Not jobwide, where others write. */
static void rotate_if_full(struct file *file, const char *kind)
{
	uint64_t limit = beat_globals.settings.size_bytes / 2;
	struct beat_text from = { 0 }, to = { 0 };

	if (!limit || beat_globals.settings.is_jobwide || !file->fd ||
	    file->written_bytes + file->batch.length <= limit || !file->written_bytes)
		return;
	path_of(kind, "", &from);
	path_of(kind, ".old", &to);
	if (!from.is_short && !to.is_short)
		rename(from.chars, to.chars);
	free(from.chars);
	free(to.chars);
	close(file->fd);
	file->fd = 0;
	file->part++;
}

/* All of it or nothing: a part of a batch (a full disk) is cut off again. */
static bool write_whole(int fd, const struct beat_text *text)
{
	size_t done = 0;
	struct stat before;
	bool is_locked = beat_globals.settings.is_jobwide && flock(fd, LOCK_EX) == 0;
	bool is_known = fstat(fd, &before) == 0;

	while (done < text->length) {
		ssize_t n = write(fd, text->chars + done, text->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done && done < text->length && is_known && ftruncate(fd, before.st_size) != 0)
		(void)!write(fd, "\n", 1);
	if (is_locked)
		flock(fd, LOCK_UN);
	return done == text->length;
}

/* Once per process and its forked children. */
static void complain_of_folder(void)
{
	static bool is_told;

	if (!is_told)
		beat_complain("the folder", beat_globals.settings.folder,
			      " cannot be written to; no rows are kept until it can "
			      "(SONDE_HEARTBEAT_DIR names another)");
	is_told = true;
}

/* Whether a folder, or the nearest one above it that is there, can be written to. `path` is cut. */
static bool can_write_below(char *path)
{
	struct beat_text inside = { 0 };
	char *slash;
	int error;

	for (;;) {
		inside.length = 0;
		beat_text_string(&inside, path);
		beat_text_string(&inside, "/.");
		beat_text_add(&inside, "", 1);
		error = inside.is_short || access(inside.chars, W_OK | X_OK) == 0 ? 0 : errno;
		slash = strrchr(path, '/');
		if (error != ENOENT || !slash)
			break;
		*slash = 0;
	}
	free(inside.chars);
	return !error || (error == ENOENT && access(".", W_OK | X_OK) == 0);
}

void beat_files_check(void)
{
	struct beat_text path = { 0 };
	int saved_errno = errno;

	if (!beat_globals.settings.writes_jsonl && !beat_globals.settings.writes_csv)
		return;
	beat_text_string(&path, beat_globals.settings.folder);
	beat_text_add(&path, "", 1);
	if (!path.is_short && !can_write_below(path.chars))
		complain_of_folder();
	free(path.chars);
	errno = saved_errno;
}

static bool write_file(struct file *file, const char *kind)
{
	struct beat_text out = { 0 };
	bool is_written;

	if (!file->batch.length)
		return true;
	rotate_if_full(file, kind);
	if (!open_file(file, kind)) {
		complain_of_folder();
		file->batch.length = 0;
		return false;
	}
	if (!file->has_header && file == &csv)
		beat_text_string(&out, "# ");
	if (!file->has_header)
		add_header(&out, file);
	if (!file->has_header && file == &csv) {
		beat_text_string(&out, csv_columns);
		beat_text_string(&out,
				 beat_globals.settings.is_jobwide ? ",pid,rank,threads\n" : "\n");
	}
	beat_text_add(&out, file->batch.chars, file->batch.length);
	is_written = !out.is_short && !file->batch.is_short && write_whole(file->fd, &out);
	if (is_written) {
		file->has_header = true;
		file->written_bytes += out.length;
	}
	free(out.chars);
	file->batch.length = 0;
	file->batch.is_short = false;
	return is_written;
}

bool beat_files_write(void)
{
	int saved_errno = errno;
	bool has_jsonl = write_file(&jsonl, "jsonl");
	bool has_csv = write_file(&csv, "csv");

	errno = saved_errno;
	return has_jsonl && has_csv;
}

static void forget(struct file *file)
{
	if (file->fd)
		close(file->fd);
	file->fd = 0;
	file->has_header = false;
	file->part = file->written_bytes = 0;
	file->batch.length = 0;
}

void beat_files_forget(void)
{
	forget(&jsonl);
	forget(&csv);
}
