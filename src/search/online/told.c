/* What agents of a program's hosts tell, as bytes and back. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/online/nodes.h"

enum { THREADS_MOST = 1 << 16 };

void sn_told_window(uint32_t step, const struct sn_mri_window *w, struct sn_text *out)
{
	sn_text_add_char(out, SN_TOLD_WINDOW);
	sn_body_u32(out, step);
	sn_body_string(out, w->host);
	sn_body_u64(out, (uint64_t)w->from_ns);
	sn_body_u64(out, (uint64_t)w->to_ns);
	sn_body_u32(out, w->executions);
	sn_body_u32(out, w->processes);
	/* more than a body can hold are left out: their times without a CPU are unknown then */
	const size_t threads = w->threads.count < 16384 ? w->threads.count : 16384;

	sn_body_u32(out, (uint32_t)threads);
	for (size_t i = 0; i < threads; i++) {
		const struct sn_mri_thread *t = &w->threads.items[i];

		sn_body_u32(out, (uint32_t)t->pid);
		sn_body_u32(out, (uint32_t)t->tid);
		sn_body_u64(out, (uint64_t)t->elapsed_ns);
		sn_body_u64(out, (uint64_t)t->cpu_ns);
		sn_body_u64(out, (uint64_t)t->wait_cpu_ns);
	}
	sn_body_u32(out, (uint32_t)w->faults.count + 2);
	/* process 0 is none: the first has what was traced, the last what measuring took; an older front passes over both, or
	 * over all but the last */
	sn_body_u32(out, 0);
	sn_body_u64(out, w->traces);
	sn_body_u64(out, 0);
	sn_body_u32(out, 0);
	sn_body_u64(out, w->overhead_ns);
	sn_body_u64(out, w->traced_ns);
	for (size_t i = 0; i < w->faults.count; i++) {
		sn_body_u32(out, (uint32_t)w->faults.items[i].pid);
		sn_body_u64(out, w->faults.items[i].minor);
		sn_body_u64(out, w->faults.items[i].major);
	}
}

void sn_told_none(uint32_t step, struct sn_text *out)
{
	sn_text_add_char(out, SN_TOLD_NONE);
	sn_body_u32(out, step);
}

void sn_told_end(const struct sn_told *end, const struct sn_outbox *o, struct sn_text *out)
{
	sn_text_add_char(out, SN_TOLD_END);
	sn_body_u32(out, end->is_found);
	sn_body_u32(out, end->refused);
	sn_body_u32(out, end->executions);
	sn_body_double(out, end->mean_s);
	sn_body_u32(out, (uint32_t)o->epochs.count);
	for (size_t i = 0; i < o->epochs.count; i++) {
		sn_body_u32(out, o->epochs.items[i].epoch);
		sn_body_u64(out, o->epochs.items[i].count + (i + 1 == o->epochs.count));
	}
	sn_body_u32(out, end->is_deaf); /* an older front does not look for it */
}

/* ---- reading ---- */

static uint32_t count_read(struct sn_cursor *cur, uint32_t most, size_t bytes_each)
{
	uint32_t count = sn_cursor_u32(cur);

	if (count > most || (size_t)count * bytes_each > sn_cursor_left(cur))
		sn_cursor_fail(cur);
	return cur->status == SN_OK ? count : 0;
}

static void window_read(struct sn_cursor *cur, struct sn_mri_window *w)
{
	const char *host = sn_body_read_string(cur);
	bool has_cost = false;
	uint32_t count;

	w->host = host && *host ? sn_strdup(host) : NULL;
	w->from_ns = (int64_t)sn_cursor_u64(cur);
	w->to_ns = (int64_t)sn_cursor_u64(cur);
	w->executions = sn_cursor_u32(cur);
	w->processes = sn_cursor_u32(cur);
	count = count_read(cur, THREADS_MOST, 32);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_mri_thread t = { .pid = (int)sn_cursor_u32(cur) };

		t.tid = (int)sn_cursor_u32(cur);
		t.elapsed_ns = (int64_t)sn_cursor_u64(cur);
		t.cpu_ns = (int64_t)sn_cursor_u64(cur);
		t.wait_cpu_ns = (int64_t)sn_cursor_u64(cur);
		sn_vec_push(&w->threads, t);
	}
	count = count_read(cur, THREADS_MOST, 20);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_mri_faults f = { .pid = (int)sn_cursor_u32(cur) };

		f.minor = sn_cursor_u64(cur);
		f.major = sn_cursor_u64(cur);
		if (f.pid) {
			sn_vec_push(&w->faults, f);
			continue;
		}
		if (has_cost) /* that was what was traced */
			w->traces = (uint32_t)w->overhead_ns;
		has_cost = true;
		w->overhead_ns = f.minor;
		w->traced_ns = f.major;
	}
	if (w->from_ns <= 0 || w->to_ns <= w->from_ns || !w->executions || !w->processes)
		sn_cursor_fail(cur);
}

static void end_read(struct sn_cursor *cur, struct sn_told *out)
{
	uint32_t count;

	out->is_found = sn_cursor_u32(cur) != 0;
	out->refused = sn_cursor_u32(cur);
	out->executions = sn_cursor_u32(cur);
	out->mean_s = sn_body_read_double(cur);
	if (!(out->mean_s >= 0 && out->mean_s < 1e9))
		out->mean_s = 0;
	count = count_read(cur, SN_OUTBOX_EPOCHS_MOST, 12);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_outbox_epoch epoch = { .epoch = sn_cursor_u32(cur) };

		epoch.count = sn_cursor_u64(cur);
		sn_vec_push(&out->epochs, epoch);
	}
	out->is_deaf = sn_cursor_left(cur) && sn_cursor_u32(cur) != 0;
}

bool sn_told_read(const uint8_t *body, size_t length, struct sn_told *out)
{
	struct sn_cursor cur = sn_cursor_over(body, length);
	uint8_t kind = sn_cursor_u8(&cur);

	*out = (struct sn_told){ .kind = (enum sn_told_kind)kind };
	if (kind == SN_TOLD_WINDOW || kind == SN_TOLD_NONE)
		out->step = sn_cursor_u32(&cur);
	if (kind == SN_TOLD_WINDOW)
		window_read(&cur, &out->window);
	else if (kind == SN_TOLD_END)
		end_read(&cur, out);
	return cur.status == SN_OK && kind >= SN_TOLD_WINDOW && kind <= SN_TOLD_END;
}

void sn_told_free(struct sn_told *told)
{
	sn_mri_window_free(&told->window);
	sn_vec_free(&told->epochs);
}
