/*
 * Reads what is new in the files of running processes, also across their rotation, and keeps the
 * rows of the last seconds.
 */
#include "heartbeat/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "heartbeat/live_parts.h"

struct sn_live *sn_live_new(const char *folder, int64_t window_ns)
{
	struct sn_live *live = sn_alloc_zeroed(1, sizeof(*live));

	live->folder = sn_strdup(folder);
	live->window_ns = window_ns;
	return live;
}

static void free_file(struct sn_live_file *file)
{
	sn_beat_reader_free(&file->reader);
	sn_map_free(&file->by_pid);
	free(file->name);
	free(file);
}

void sn_live_free(struct sn_live *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->files.count; i++)
		free_file(live->files.items[i]);
	for (size_t i = 0; i < live->series.count; i++)
		sn_vec_free(&live->series.items[i].recent);
	sn_vec_free(&live->files);
	sn_vec_free(&live->processes);
	sn_vec_free(&live->series);
	sn_interner_free(&live->strings);
	sn_interner_free(&live->keys);
	free(live->folder);
	free(live);
}

static const char *keep(struct sn_live *live, const char *chars)
{
	return chars ? sn_interned_chars(&live->strings, sn_intern_string(&live->strings, chars))
		     : NULL;
}

/* A file that was rotated has the header again: the same process. */
static uint32_t find_process(const struct sn_live *live, const struct sn_beat_header *header)
{
	for (uint32_t i = 0; i < live->processes.count; i++) {
		const struct sn_live_process *p = &live->processes.items[i];

		if (p->pid == header->pid && p->start_monotonic_ns == header->start_monotonic_ns &&
		    !strcmp(p->host, header->host))
			return i + 1;
	}
	return 0;
}

static sn_status add_header(void *context, const struct sn_beat_header *header,
			    struct sn_error *err)
{
	struct sn_live_file *file = context;
	struct sn_live *live = file->live;
	struct sn_live_process process = {
		.host = keep(live, header->host),
		.program = keep(live, header->program),
		.arguments = keep(live, header->arguments),
		.job_id = keep(live, header->job_id),
		.pid = header->pid,
		.rank = header->rank,
		.ranks = header->ranks,
		.start_ns = header->start_realtime_ns,
		.start_monotonic_ns = header->start_monotonic_ns,
		.interval_ns = header->interval_ns > 0 ? header->interval_ns : 1000000000,
		.known_ns = header->start_realtime_ns,
		.last_ns = header->start_realtime_ns,
	};

	(void)err;
	file->process = find_process(live, header);
	if (!file->process) {
		sn_vec_push(&live->processes, process);
		file->process = (uint32_t)live->processes.count;
		file->next_part = 0;
	}
	if (header->part > file->next_part) /* rows were lost to rotation */
		live->processes.items[file->process - 1].known_ns = INT64_MAX;
	file->next_part = header->part + 1;
	*sn_map_put(&file->by_pid, (uint64_t)header->pid, NULL) = file->process;
	return SN_OK;
}

static struct sn_live_series *find_series(struct sn_live *live, uint32_t process,
					  const struct sn_beat_row *row)
{
	struct {
		uint32_t process, heartbeat;
		int64_t thread;
	} key = { process, sn_intern_string(&live->strings, row->heartbeat), row->thread };
	uint32_t number = sn_intern(&live->keys, (const char *)&key, sizeof(key));

	if (number == live->series.count)
		sn_vec_push(&live->series, (struct sn_live_series){ .process = process,
								    .heartbeat = key.heartbeat,
								    .thread = row->thread });
	return &live->series.items[number];
}

static sn_status add_row(void *context, const struct sn_beat_row *row, struct sn_error *err)
{
	struct sn_live_file *file = context;
	uint64_t *of_pid = row->pid >= 0 ? sn_map_get(&file->by_pid, (uint64_t)row->pid) : NULL;
	uint32_t number = row->pid < 0 ? file->process : of_pid ? (uint32_t)*of_pid : 0;
	struct sn_live_process *process;
	struct sn_live_series *series;
	struct sn_live_moment moment = { .interval_ns = row->interval_ns,
					 .count = row->count,
					 .timed = row->timed,
					 .sum_ns = row->sum_ns,
					 .max_ns = row->max_ns,
					 .open = row->open,
					 .open_ns = row->open_ns,
					 .work = row->work };

	(void)err;
	if (!number) /* its header was lost */
		return SN_OK;
	process = &file->live->processes.items[number - 1];
	moment.end_ns = process->start_ns + row->t_ns;
	if (moment.end_ns > process->last_ns)
		process->last_ns = moment.end_ns;
	if (process->known_ns == INT64_MAX)
		process->known_ns = moment.end_ns - row->interval_ns;
	series = find_series(file->live, number - 1, row);
	series->total += row->count;
	series->threads = row->threads > 0 ? row->threads : 1;
	sn_vec_push(&series->recent, moment);
	return SN_OK;
}

static struct sn_live_file *find_file(struct sn_live *live, const char *name, bool is_csv)
{
	struct sn_live_file *file;

	for (size_t i = 0; i < live->files.count; i++)
		if (!strcmp(live->files.items[i]->name, name))
			return live->files.items[i];
	file = sn_alloc_zeroed(1, sizeof(*file));
	file->name = sn_strdup(name);
	file->live = live;
	file->reader.is_csv = is_csv;
	file->reader.sink = (struct sn_beat_sink){ file, add_header, add_row };
	sn_vec_push(&live->files, file);
	return file;
}

/* What a piece of the file says. The piece grows while not even one line fits. */
static sn_status read_pieces(struct sn_live_file *file, int fd, struct sn_error *err)
{
	size_t capacity = 1 << 18, used = 0;
	char *piece = sn_alloc(capacity);
	sn_status status = SN_OK;
	ssize_t length;

	while (status == SN_OK && (length = pread(fd, piece, capacity, (off_t)file->done)) > 0) {
		bool is_full = (size_t)length == capacity;

		status = sn_beat_reader_add(&file->reader, piece, (size_t)length,
					    is_full && capacity >= 1 << 24, &used, err);
		file->done += used;
		if (!is_full)
			break;
		if (used == 0) {
			capacity *= 2;
			piece = sn_realloc_array(piece, capacity, 1);
		}
	}
	free(piece);
	return status;
}

/* -1: removed meanwhile. `generation`: "" or "old." */
static int open_generation(const struct sn_live_file *file, const char *generation,
			   struct stat *now)
{
	int stem = (int)strlen(file->name) - (file->reader.is_csv ? 3 : 5);
	struct sn_text path = { 0 };
	int fd;

	sn_text_addf(&path, "%s/%.*s%s%s", file->live->folder, stem, file->name, generation,
		     file->name + stem);
	fd = open(path.chars, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	sn_text_free(&path);
	if (fd >= 0 && (fstat(fd, now) != 0 || !S_ISREG(now->st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static sn_status read_generation(struct sn_live_file *file, int fd, const struct stat *now,
				 struct sn_error *err)
{
	if (now->st_ino != file->inode || (size_t)now->st_size < file->done)
		file->done = 0;
	file->inode = now->st_ino;
	return (size_t)now->st_size > file->done ? read_pieces(file, fd, err) : SN_OK;
}

/* What was not read before the file was rotated now stands in its older generation. The newer one
 * is opened first: a rotation between the two leaves nothing out. */
static sn_status read_file(struct sn_live *live, const char *name, bool is_csv,
			   struct sn_error *err)
{
	struct sn_live_file *file = find_file(live, name, is_csv);
	struct stat now = { 0 }, before = { 0 };
	int newer = open_generation(file, "", &now), older = -1;
	sn_status status = SN_OK;

	if (newer < 0 || now.st_ino != file->inode)
		older = open_generation(file, "old.", &before);
	if (older >= 0 && before.st_ino != now.st_ino)
		status = read_generation(file, older, &before, err);
	if (newer >= 0 && status == SN_OK)
		status = read_generation(file, newer, &now, err);
	if (older >= 0)
		close(older);
	if (newer >= 0)
		close(newer);
	return status;
}

/* Cuts "old." out: both generations are one file, which is read once though it is met twice. */
static void name_newer(char *name, bool is_csv)
{
	const char *ending = is_csv ? "csv" : "jsonl";
	size_t stem = strlen(name) - strlen(ending);

	if (stem >= 5 && !memcmp(name + stem - 5, ".old.", 5))
		strcpy(name + stem - 4, ending);
}

/* CSV beside JSON lines says nothing new. */
static bool is_second(struct dirent *const *entries, int count, const char *name, bool is_csv)
{
	size_t stem = strlen(name) - (is_csv ? 3 : 5);

	for (int i = 0; is_csv && i < count; i++)
		if (!strncmp(entries[i]->d_name, name, stem) &&
		    !strcmp(entries[i]->d_name + stem, "jsonl"))
			return true;
	return false;
}

static sn_status read_folder(struct sn_live *live, struct sn_error *err)
{
	struct dirent **entries;
	int count = scandir(live->folder, &entries, NULL, alphasort);
	sn_status status = SN_OK;

	if (count < 0)
		return sn_error_errno(err, "heartbeat top: cannot read the folder '%s'",
				      live->folder);
	for (int i = 0; i < count; i++) {
		char *name = entries[i]->d_name;
		bool is_csv;

		if (status != SN_OK || !sn_beat_is_file_name(name, &is_csv))
			continue;
		name_newer(name, is_csv);
		if (!is_second(entries, count, name, is_csv))
			status = read_file(live, name, is_csv, err);
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return status;
}

/* A process of this host is asked for; those of others run if their rows are fresh. */
static void find_running(struct sn_live *live, int64_t now_ns)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	for (size_t i = 0; i < live->processes.count; i++) {
		struct sn_live_process *p = &live->processes.items[i];
		bool is_fresh = now_ns - p->last_ns < 3 * p->interval_ns + 2000000000;

		p->is_running =
			strcmp(p->host, host)
				? is_fresh
				: p->pid > 0 && (kill((pid_t)p->pid, 0) == 0 || errno == EPERM);
	}
}

static void choose_shown(struct sn_live *live, int64_t now_ns)
{
	bool has_running = false;

	live->newest_ns = 0;
	for (size_t i = 0; i < live->processes.count; i++) {
		const struct sn_live_process *p = &live->processes.items[i];

		has_running |= p->is_running;
		live->newest_ns = p->last_ns > live->newest_ns ? p->last_ns : live->newest_ns;
	}
	for (size_t i = 0; i < live->processes.count; i++) {
		struct sn_live_process *p = &live->processes.items[i];

		p->is_shown = has_running ? p->is_running
					  : p->last_ns >= live->newest_ns - live->window_ns;
		/* silence of a running process is shown as such: the window goes on */
		if (has_running && p->is_running && now_ns - 2 * p->interval_ns > live->newest_ns)
			live->newest_ns = now_ns - 2 * p->interval_ns;
	}
}

static void forget_old(struct sn_live *live)
{
	for (size_t i = 0; i < live->series.count; i++) {
		struct sn_live_series *s = &live->series.items[i];
		int64_t cells_ns = SN_LIVE_CELLS * live->processes.items[s->process].interval_ns;
		int64_t kept_ns = (cells_ns > live->window_ns ? cells_ns : live->window_ns);
		size_t kept = 0;

		for (size_t k = 0; k < s->recent.count; k++)
			if (s->recent.items[k].end_ns > live->newest_ns - kept_ns)
				s->recent.items[kept++] = s->recent.items[k];
		s->recent.count = kept;
	}
}

sn_status sn_live_poll(struct sn_live *live, int64_t now_ns, struct sn_error *err)
{
	sn_status status = read_folder(live, err);

	if (status != SN_OK)
		return status;
	find_running(live, now_ns);
	choose_shown(live, now_ns);
	forget_old(live);
	return SN_OK;
}
