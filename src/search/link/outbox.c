/* A spool is read once, kept in memory, and appended to. */
#include "search/link/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* ---- the state ---- */

static void state_add(const struct sn_outbox *o, struct sn_text *out)
{
	struct sn_text body = { 0 };
	struct sn_link_frame frame = { .type = SN_LINK_STATE,
				       .agent = o->agent,
				       .epoch = o->epoch };

	sn_body_u64(&body, (uint64_t)o->began_ns);
	sn_body_u32(&body, o->phase);
	sn_body_u32(&body, o->has_ended);
	sn_body_u32(&body, (uint32_t)o->epochs.count);
	for (size_t i = 0; i < o->epochs.count; i++) {
		sn_body_u32(&body, o->epochs.items[i].epoch);
		sn_body_u64(&body, o->epochs.items[i].count);
	}
	frame.body = (const uint8_t *)body.chars;
	frame.length = (uint32_t)body.length;
	sn_link_frame_add(out, &frame);
	sn_text_free(&body);
}

static bool state_read(struct sn_outbox *o, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	int64_t began_ns = (int64_t)sn_cursor_u64(&cur);
	uint32_t phase = sn_cursor_u32(&cur), has_ended = sn_cursor_u32(&cur);
	uint32_t count = sn_cursor_u32(&cur);

	if (cur.status != SN_OK || count > SN_OUTBOX_EPOCHS_MOST || began_ns < 0)
		return false;
	o->epochs.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sn_outbox_epoch epoch = { .epoch = sn_cursor_u32(&cur) };

		epoch.count = sn_cursor_u64(&cur);
		sn_vec_push(&o->epochs, epoch);
	}
	o->began_ns = began_ns;
	o->phase = phase;
	o->has_ended = has_ended != 0;
	return cur.status == SN_OK;
}

/* ---- reading ---- */

static void frame_keep(struct sn_outbox *o, const struct sn_link_frame *frame)
{
	struct sn_outbox_frame kept = { .epoch = frame->epoch,
					.number = frame->number,
					.at = o->bytes.length };

	sn_link_frame_add(&o->bytes, frame);
	kept.length = (uint32_t)(o->bytes.length - kept.at);
	sn_vec_push(&o->frames, kept);
	o->unacked++;
}

/* Results count from the state behind them on; returns where the last one ends. */
static size_t read_whole(const void *bytes, size_t length, struct sn_outbox *o)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	struct sn_link_frame frame;
	size_t settled = 0, settled_bytes = 0, end = 0;

	while (sn_link_frame_read(&cur, &frame) == SN_OK) {
		if (frame.type == SN_LINK_RESULT && frame.number)
			frame_keep(o, &frame);
		if (frame.type != SN_LINK_STATE || !state_read(o, &frame))
			continue;
		settled = o->frames.count;
		settled_bytes = o->bytes.length;
		end = (size_t)(cur.next - (const uint8_t *)bytes);
	}
	o->frames.count = o->unacked = settled;
	o->bytes.length = settled_bytes;
	return end;
}

void sn_outbox_read_memory(const void *bytes, size_t length, struct sn_outbox *o)
{
	read_whole(bytes, length, o);
}

/* ---- writing ---- */

/* All or nothing: what a full disk has cut would hide what comes behind it. */
static sn_status written(const struct sn_outbox *o, int fd, const struct sn_text *bytes,
			 struct sn_error *err)
{
	sn_status status = SN_OK;
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	for (size_t at = 0; fd >= 0 && at < bytes->length && status == SN_OK;) {
		ssize_t done = write(fd, bytes->chars + at, bytes->length - at);

		if (done > 0)
			at += (size_t)done;
		else if (done < 0 && errno != EINTR)
			status =
				sn_error_errno(err, "search: cannot write the spool '%s'", o->path);
	}
	if (status != SN_OK && (end < 0 || ftruncate(fd, end)))
		end = -1; /* its reader stops there, and what it has not is made again */
	if (fd < 0)
		status = sn_error_errno(err, "search: cannot open the spool '%s'", o->path);
	else if (close(fd) && status == SN_OK)
		status = sn_error_errno(err, "search: cannot write the spool '%s'", o->path);
	return status;
}

/* The state, and what the journal may not have, under a name of its own and renamed. */
static sn_status rewrite(const struct sn_outbox *o, struct sn_error *err)
{
	struct sn_text path = { 0 }, bytes = { 0 };
	sn_status status;

	if (!o->path)
		return SN_OK;
	sn_text_addf(&path, "%s.new", o->path);
	for (size_t i = 0; i < o->frames.count; i++)
		if (!o->frames.items[i].is_acked)
			sn_text_add_bytes(&bytes, o->bytes.chars + o->frames.items[i].at,
					  o->frames.items[i].length);
	state_add(o, &bytes);
	status = written(
		o, open(path.chars, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600),
		&bytes, err);
	if (status == SN_OK && rename(path.chars, o->path))
		status = sn_error_errno(err, "search: cannot write the spool '%s'", o->path);
	if (status != SN_OK)
		unlink(path.chars);
	sn_text_free(&path);
	sn_text_free(&bytes);
	return status;
}

sn_status sn_outbox_open(const char *path, uint32_t agent, uint32_t epoch, struct sn_outbox *out,
			 struct sn_error *err)
{
	struct sn_file_view view;
	size_t end = 0;
	bool is_there = false;
	sn_status status;

	*out = (struct sn_outbox){ .path = sn_strdup(path), .agent = agent, .epoch = epoch };
	if (sn_file_map(path, &view, NULL) == SN_OK) {
		is_there = true;
		end = read_whole(view.bytes, view.length, out);
		sn_file_unmap(&view);
	}
	sn_vec_push(&out->epochs, (struct sn_outbox_epoch){ .epoch = epoch });
	status = rewrite(out, err);
	/* on a full disk the old one goes on, behind what is whole of it */
	if (status != SN_OK && is_there && !truncate(path, (off_t)end))
		return SN_OK;
	return status;
}

sn_status sn_outbox_add(struct sn_outbox *o, const struct sn_text *bodies, size_t count,
			struct sn_error *err)
{
	size_t first_bytes = o->bytes.length, first_frame = o->frames.count;
	struct sn_text bytes = { 0 };
	sn_status status;

	for (size_t i = 0; i < count; i++) {
		const struct sn_link_frame frame = { .type = SN_LINK_RESULT,
						     .agent = o->agent,
						     .epoch = o->epoch,
						     .number = ++sn_vec_last(&o->epochs).count,
						     .body = (const uint8_t *)bodies[i].chars,
						     .length = (uint32_t)bodies[i].length };

		frame_keep(o, &frame);
	}
	sn_text_add_bytes(&bytes, o->bytes.chars + first_bytes, o->bytes.length - first_bytes);
	state_add(o, &bytes);
	status = written(o, open(o->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW), &bytes,
			 err);
	if (status != SN_OK) { /* what is not in the spool was never there */
		sn_vec_last(&o->epochs).count -= count;
		o->frames.count = first_frame;
		o->unacked -= count;
		o->bytes.length = first_bytes;
	}
	sn_text_free(&bytes);
	return status;
}

void sn_outbox_ack(struct sn_outbox *o, uint32_t epoch, uint64_t number)
{
	struct sn_error err;

	for (size_t i = 0; i < o->frames.count && o->unacked; i++) {
		struct sn_outbox_frame *f = &o->frames.items[i];

		if (f->is_acked || f->epoch != epoch || f->number > number)
			continue;
		f->is_acked = true;
		o->unacked--;
	}
	if (o->unacked || !o->frames.count)
		return;
	o->frames.count = 0;
	o->bytes.length = 0;
	rewrite(o, &err); /* a spool that stays longer is sent again, and that is all */
}

void sn_outbox_close(struct sn_outbox *o)
{
	sn_vec_free(&o->epochs);
	sn_vec_free(&o->frames);
	sn_text_free(&o->bytes);
	free(o->path);
	*o = (struct sn_outbox){ 0 };
}
