/* The spool is lines of words. A window counts from its last line on, so a cut one never does. */
#include "search/online/spool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { LINE_MOST = 256, THREADS_MOST = 1 << 20 };

static void path_of(const char *experiment_path, struct sn_text *path)
{
	sn_text_addf(path, "%s/search.spool", experiment_path);
}

static sn_status append(const char *experiment_path, const struct sn_text *text, bool is_vital,
			struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;
	int fd;

	path_of(experiment_path, &path);
	fd = open(path.chars, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text->chars, text->length) != (ssize_t)text->length ||
	    (is_vital && fsync(fd)))
		status = sn_error_errno(err, "search: cannot write '%s'", path.chars);
	if (fd >= 0)
		close(fd);
	sn_text_free(&path);
	return status;
}

sn_status sn_spool_agent(const char *experiment_path, int pid, bool is_again, struct sn_error *err)
{
	struct sn_text text = { 0 };
	sn_status status;

	sn_text_addf(&text, "agent %d %d\n", pid, is_again);
	status = append(experiment_path, &text, true, err);
	sn_text_free(&text);
	return status;
}

sn_status sn_spool_window(const char *experiment_path, const struct sn_mri_window *window,
			  struct sn_error *err)
{
	struct sn_text text = { 0 };
	sn_status status;

	/* behind a line that a full disk has cut */
	sn_text_addf(&text, "\nwindow %" PRId64 " %" PRId64 " %u %u %u %" PRIu64 " %" PRIu64 "\n",
		     window->from_ns, window->to_ns, window->executions, window->processes,
		     window->traces, window->overhead_ns, window->traced_ns);
	for (size_t i = 0; i < window->threads.count; i++) {
		const struct sn_mri_thread *t = &window->threads.items[i];

		sn_text_addf(&text, "thread %d %d %" PRId64 " %" PRId64 " %" PRId64 "\n", t->pid,
			     t->tid, t->elapsed_ns, t->cpu_ns, t->wait_cpu_ns);
	}
	for (size_t i = 0; i < window->faults.count; i++)
		sn_text_addf(&text, "faults %d %" PRIu64 " %" PRIu64 "\n",
			     window->faults.items[i].pid, window->faults.items[i].minor,
			     window->faults.items[i].major);
	sn_text_add(&text, "measured\n");
	status = append(experiment_path, &text, true, err);
	sn_text_free(&text);
	return status;
}

sn_status sn_spool_end(const char *experiment_path, const struct sn_spool_end *end,
		       struct sn_error *err)
{
	struct sn_text text = { 0 };
	sn_status status;

	sn_text_addf(&text, "\nend %d %u %u %.9f %d %d\n", end->is_found, end->refused,
		     end->executions, end->mean_s, end->is_reached, end->is_deaf);
	status = append(experiment_path, &text, true, err);
	sn_text_free(&text);
	return status;
}

sn_status sn_spool_found(const char *experiment_path, const char *sentence, struct sn_error *err)
{
	struct sn_text text = { 0 };
	sn_status status;

	sn_text_addf(&text, "found %s\n", sentence);
	status = append(experiment_path, &text, false, err);
	sn_text_free(&text);
	return status;
}

/* ---- reading ---- */

uint64_t sn_spool_watch(const char *experiment_path, uint64_t from, void (*say)(const char *))
{
	struct sn_text path = { 0 };
	char line[LINE_MOST];
	FILE *in;

	path_of(experiment_path, &path);
	in = fopen(path.chars, "re");
	sn_text_free(&path);
	if (!in)
		return from;
	if (!fseeko(in, (off_t)from, SEEK_SET))
		while (fgets(line, sizeof(line), in)) {
			size_t length = strlen(line);

			if (line[length - 1] != '\n' && length + 1 < sizeof(line))
				break; /* not whole yet */
			from += length;
			line[strcspn(line, "\n")] = '\0';
			if (sn_starts_with(line, "found "))
				say(line + strlen("found "));
		}
	fclose(in);
	return from;
}

struct reader {
	struct sn_spool *out;
	struct sn_mri_window window; /* that is being read */
	bool is_open;
};

static void window_drop(struct reader *r)
{
	sn_mri_window_free(&r->window);
	r->window = (struct sn_mri_window){ 0 };
	r->is_open = false;
}

static bool is_sane(const struct sn_mri_window *w)
{
	return w->from_ns > 0 && w->to_ns > w->from_ns && w->executions && w->processes;
}

/* Nothing, if it is no line of an end. Older ones have four words. */
static void end_read(struct sn_spool *out, const char *line)
{
	int is_found, is_reached = 0, is_deaf = 0;
	struct sn_spool_end end = { 0 };

	if (sscanf(line, "end %d %u %u %lf %d %d", &is_found, &end.refused, &end.executions,
		   &end.mean_s, &is_reached, &is_deaf) < 4)
		return;
	end.is_found = is_found != 0;
	end.is_reached = is_reached != 0;
	end.is_deaf = is_deaf != 0;
	if (!(end.mean_s >= 0 && end.mean_s < 1e9))
		end.mean_s = 0;
	out->has_ended = true;
	out->end = end;
}

static void line_read(struct reader *r, const char *line)
{
	struct sn_mri_window *w = &r->window;
	struct sn_mri_thread t;
	struct sn_mri_faults f;
	int pid, is_again;

	if (sscanf(line, "agent %d %d", &pid, &is_again) == 2) {
		sn_vec_push(&r->out->agents, pid);
		r->out->restarted += is_again != 0;
	} else if (sn_starts_with(line, "window ")) {
		window_drop(r);
		r->is_open =
			sscanf(line, "window %" SCNd64 " %" SCNd64 " %u %u %u %" SCNu64 " %" SCNu64,
			       &w->from_ns, &w->to_ns, &w->executions, &w->processes, &w->traces,
			       &w->overhead_ns, &w->traced_ns) >= 4 && /* older ones have no more */
			is_sane(w);
	} else if (r->is_open && w->threads.count < THREADS_MOST &&
		   sscanf(line, "thread %d %d %" SCNd64 " %" SCNd64 " %" SCNd64, &t.pid, &t.tid,
			  &t.elapsed_ns, &t.cpu_ns, &t.wait_cpu_ns) == 5) {
		sn_vec_push(&w->threads, t);
	} else if (r->is_open && w->faults.count < THREADS_MOST &&
		   sscanf(line, "faults %d %" SCNu64 " %" SCNu64, &f.pid, &f.minor, &f.major) ==
			   3) {
		sn_vec_push(&w->faults, f);
	} else if (r->is_open && !strcmp(line, "measured")) {
		sn_vec_push(&r->out->windows, *w);
		r->window = (struct sn_mri_window){ 0 };
		r->is_open = false;
	} else {
		end_read(r->out, line);
	}
}

void sn_spool_read_memory(const char *chars, size_t length, struct sn_spool *out)
{
	struct reader r = { .out = out };
	char line[LINE_MOST];

	*out = (struct sn_spool){ 0 };
	for (size_t at = 0; at < length;) {
		const char *end = memchr(chars + at, '\n', length - at);
		size_t bytes = end ? (size_t)(end - chars) - at : 0;

		if (!end)
			break; /* it was cut off */
		if (bytes < sizeof(line)) {
			memcpy(line, chars + at, bytes);
			line[bytes] = '\0';
			line_read(&r, line);
		}
		at += bytes + 1;
	}
	window_drop(&r);
}

bool sn_spool_exists(const char *experiment_path)
{
	struct sn_text path = { 0 };
	bool exists;

	path_of(experiment_path, &path);
	exists = access(path.chars, F_OK) == 0;
	sn_text_free(&path);
	return exists;
}

void sn_spool_read(const char *experiment_path, struct sn_spool *out)
{
	struct sn_text path = { 0 };
	struct sn_file_view view;

	*out = (struct sn_spool){ 0 };
	path_of(experiment_path, &path);
	if (sn_file_map(path.chars, &view, NULL) == SN_OK) {
		sn_spool_read_memory((const char *)view.bytes, view.length, out);
		sn_file_unmap(&view);
	}
	sn_text_free(&path);
}

void sn_spool_free(struct sn_spool *spool)
{
	for (size_t i = 0; i < spool->windows.count; i++)
		sn_mri_window_free(&spool->windows.items[i]);
	sn_vec_free(&spool->windows);
	sn_vec_free(&spool->agents);
}
