/* A trace that is being written: waiting for its bytes, and a line of counts now and then. */
#include "pandore/lattice/follow_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "pandore/lattice/follow.h"
#include "pandore/lattice/reader.h"

enum { GRAPH_CUTS_MAX = 1000000, LOOK_STATES_MAX = 1000000, PAUSE_MS = 50, PIECE_BYTES = 1 << 16 };

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

struct following {
	const char *path;
	const struct sn_follow_options *options;
	struct sn_trace_reading *reading;
	struct sn_follow *follow;
	int fd;
	bool is_file, has_data, has_changed;
	off_t offset;
	double start_s, news_s, look_s; /* when it began, last bytes came, it was last looked at */
};

static void see(const struct sn_lattice_event *event, void *context)
{
	struct following *f = context;

	sn_follow_expect(f->follow, sn_trace_reading_processes(f->reading));
	sn_follow_add(f->follow, event);
}

static void print_view(struct following *f)
{
	struct sn_lattice_budget budget = { .states = LOOK_STATES_MAX,
					    .seconds = f->options->every_s / 2 };
	struct sn_follow_view view;
	FILE *out = f->options->out;

	sn_follow_look(f->follow, &budget, &view);
	fprintf(out, "%8.1f s  processes %u  events %u", sn_now_s() - f->start_s, view.processes,
		view.observed);
	if (view.pending)
		fprintf(out, " (%u wait for others)", view.pending);
	if (!view.processes)
		fprintf(out, "  nothing yet");
	else if (view.has_given_up)
		fprintf(out, "  too much to follow: counted at the end only");
	else if (!view.is_exact)
		fprintf(out, "  cuts: too many to count in %.3g s", f->options->every_s / 2);
	else
		fprintf(out, "  cuts %s  arcs %s", view.cuts.chars, view.arcs.chars);
	if (!isnan(view.mean_out_degree))
		fprintf(out, "  mean out-degree %.3f", view.mean_out_degree);
	fputc('\n', out);
	fflush(out);
	sn_follow_view_free(&view);
	f->has_changed = false;
	f->look_s = sn_now_s();
}

static bool is_idle(const struct following *f)
{
	return f->options->idle_s > 0 && sn_now_s() - f->news_s >= f->options->idle_s;
}

/* A file may be named before the program that writes it has begun. */
static sn_status open_trace(struct following *f, struct sn_error *err)
{
	struct stat st;

	f->fd = strcmp(f->path, "-") ? -1 : dup(STDIN_FILENO);
	while (f->fd < 0) {
		f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (f->fd < 0 && (errno != ENOENT || is_interrupted || is_idle(f)))
			return sn_error_errno(err, "lattice: cannot read '%s'", f->path);
		if (f->fd < 0)
			poll(NULL, 0, PAUSE_MS);
	}
	f->is_file = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
	return SN_OK;
}

/* Reads what is there. False at the end of a pipe, or with `err` set. */
static bool read_piece(struct following *f, sn_status *status, struct sn_error *err)
{
	static char piece[PIECE_BYTES];
	struct pollfd waiting = { .fd = f->fd, .events = POLLIN };
	struct stat st;
	ssize_t got;

	if (!f->is_file && poll(&waiting, 1, PAUSE_MS) == 0)
		return true;
	got = read(f->fd, piece, sizeof(piece));
	if (got > 0) {
		sn_trace_reading_add(f->reading, piece, (size_t)got);
		f->offset += got;
		f->has_data = f->has_changed = true;
		f->news_s = sn_now_s();
		return true;
	}
	if (got < 0 && errno != EAGAIN && errno != EINTR) {
		*status = sn_error_errno(err, "lattice: cannot read '%s'", f->path);
		return false;
	}
	if (got == 0 && !f->is_file && f->has_data)
		return false;
	if (f->is_file && fstat(f->fd, &st) == 0 && st.st_size < f->offset) {
		*status = sn_error_set(err, SN_ERR_IO,
				       "lattice: '%s' became shorter while it was followed; "
				       "another run writes it now, follow that one",
				       f->path);
		return false;
	}
	poll(NULL, 0, PAUSE_MS);
	return true;
}

static sn_status follow_to_the_end(struct following *f, struct sn_error *err)
{
	sn_status status = open_trace(f, err);

	while (status == SN_OK && !is_interrupted && !is_idle(f) &&
	       !sn_trace_reading_has_ended(f->reading) && read_piece(f, &status, err))
		if (f->has_changed && sn_now_s() - f->look_s >= f->options->every_s)
			print_view(f);
	if (status == SN_OK)
		print_view(f);
	if (f->fd >= 0)
		close(f->fd);
	return status;
}

sn_status sn_follow_trace(const char *path, const struct sn_follow_options *options,
			  struct sn_execution **out, struct sn_error *err)
{
	struct following f = { .path = path,
			       .options = options,
			       .follow = sn_follow_new(GRAPH_CUTS_MAX),
			       .start_s = sn_now_s() };
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND },
			 before;
	struct sn_error reading_err;
	sn_status status, read_status;

	f.news_s = f.look_s = f.start_s;
	f.reading = sn_trace_reading_new(see, &f);
	sigaction(SIGINT, &action, &before);
	status = follow_to_the_end(&f, err);
	sigaction(SIGINT, &before, NULL);
	read_status = sn_trace_reading_finish(f.reading, path, out, &reading_err);
	sn_follow_free(f.follow);
	if (status == SN_OK && read_status != SN_OK)
		*err = reading_err;
	return status == SN_OK ? read_status : status;
}
