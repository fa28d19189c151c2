/* Frames one behind the other, synced before anybody is told. */
#include "search/link/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"

static uint64_t key_of(uint32_t agent, uint32_t epoch)
{
	return (uint64_t)agent << 32 | epoch;
}

static struct sn_journal_stream *stream_of(struct sn_journal *j, uint32_t agent, uint32_t epoch)
{
	bool is_new;
	uint64_t *place = sn_map_put(&j->stream_of, key_of(agent, epoch), &is_new);

	if (is_new) {
		*place = j->streams.count;
		sn_vec_push(&j->streams,
			    (struct sn_journal_stream){ .agent = agent, .epoch = epoch });
	}
	return &j->streams.items[*place];
}

/* Whether a number is new; it is there then. */
static bool stream_add(struct sn_journal_stream *s, uint64_t number)
{
	bool is_new;

	if (number <= s->through)
		return false;
	sn_map_put(&s->beyond, number, &is_new);
	if (number > s->highest)
		s->highest = number;
	while (s->beyond.count && sn_map_get(&s->beyond, s->through + 1))
		s->through++;
	if (s->through == s->highest)
		sn_map_free(&s->beyond);
	return is_new;
}

/* ---- reading ---- */

struct reading {
	struct sn_journal *journal;
	void (*see)(const struct sn_link_frame *frame, void *context);
	void *context;
};

/* Returns the bytes up to the last whole frame. */
static size_t frames_read(const struct reading *r, const struct sn_file_view *view)
{
	struct sn_cursor cur = sn_cursor_over(view->bytes, view->length);
	size_t end = 0;
	struct sn_link_frame frame;

	for (;;) {
		const uint8_t *begin = cur.next;

		if (sn_link_frame_read(&cur, &frame) != SN_OK) {
			if (!sn_link_frame_seek(&cur))
				return end;
			continue;
		}
		r->journal->damaged_bytes += (size_t)(begin - view->bytes) - end;
		end = (size_t)(cur.next - view->bytes);
		if (frame.type == SN_LINK_RESULT && !frame.number)
			continue;
		if (frame.type == SN_LINK_RESULT &&
		    !stream_add(stream_of(r->journal, frame.agent, frame.epoch), frame.number))
			continue;
		r->journal->received += frame.type == SN_LINK_RESULT;
		if (r->see)
			r->see(&frame, r->context);
	}
}

sn_status sn_journal_open(const char *path, struct sn_journal *out,
			  void (*see)(const struct sn_link_frame *frame, void *context),
			  void *context, struct sn_error *err)
{
	struct reading r = { out, see, context };
	struct sn_file_view view;
	sn_status status = SN_OK;
	size_t end;

	*out = (struct sn_journal){ 0 };
	out->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out->fd < 0)
		return sn_error_errno(err, "search: cannot open the journal '%s'", path);
	if (flock(out->fd, LOCK_EX | LOCK_NB)) {
		sn_journal_close(out);
		return sn_error_set(err, SN_ERR_USAGE, "search: another command is at work on '%s'",
				    path);
	}
	status = sn_file_map(path, &view, err);
	if (status == SN_OK) {
		end = frames_read(&r, &view);
		if (end < view.length && ftruncate(out->fd, (off_t)end))
			status = sn_error_errno(err, "search: cannot cut the journal '%s'", path);
		sn_file_unmap(&view);
	}
	if (status != SN_OK)
		sn_journal_close(out);
	return status;
}

/* ---- writing ---- */

bool sn_journal_take(struct sn_journal *j, const struct sn_link_frame *frame)
{
	if (!frame->number ||
	    !stream_add(stream_of(j, frame->agent, frame->epoch), frame->number)) {
		j->repeated++;
		return false;
	}
	j->received++;
	sn_link_frame_add(&j->waiting, frame);
	return true;
}

void sn_journal_note(struct sn_journal *j, const struct sn_link_frame *frame)
{
	sn_link_frame_add(&j->waiting, frame);
}

sn_status sn_journal_sync(struct sn_journal *j, struct sn_error *err)
{
	off_t end = lseek(j->fd, 0, SEEK_END);

	for (size_t at = 0; at < j->waiting.length;) {
		ssize_t bytes = write(j->fd, j->waiting.chars + at, j->waiting.length - at);

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes <= 0) {
			sn_error_errno(err, "search: the journal cannot be written");
			if (end < 0 || ftruncate(j->fd, end)) /* its reader cuts it, too */
				return SN_ERR_IO;
			return SN_ERR_IO;
		}
		at += (size_t)bytes;
	}
	if (j->waiting.length && fdatasync(j->fd))
		return sn_error_errno(err, "search: the journal cannot be written");
	sn_text_clear(&j->waiting);
	return SN_OK;
}

/* ---- what is there ---- */

uint64_t sn_journal_through(const struct sn_journal *j, uint32_t agent, uint32_t epoch)
{
	const uint64_t *place = sn_map_get(&j->stream_of, key_of(agent, epoch));

	return place ? j->streams.items[*place].through : 0;
}

void sn_journal_expect(struct sn_journal *j, uint32_t agent, uint32_t epoch, uint64_t count)
{
	struct sn_journal_stream *s = stream_of(j, agent, epoch);

	if (count > s->highest)
		s->highest = count;
}

uint64_t sn_journal_gaps(const struct sn_journal *j)
{
	uint64_t gaps = 0;

	for (size_t i = 0; i < j->streams.count; i++) {
		const struct sn_journal_stream *s = &j->streams.items[i];
		uint64_t beyond = 0;

		for (size_t k = 0; k < s->beyond.capacity; k++)
			beyond += s->beyond.slots[k].used && s->beyond.slots[k].key > s->through;
		gaps += s->highest - s->through - beyond;
	}
	return gaps;
}

void sn_journal_close(struct sn_journal *j)
{
	for (size_t i = 0; i < j->streams.count; i++)
		sn_map_free(&j->streams.items[i].beyond);
	sn_vec_free(&j->streams);
	sn_map_free(&j->stream_of);
	sn_text_free(&j->waiting);
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}
