/*
 * Reductions as bytes. One function tells how each thing is stored, and does both, writing and reading, so that
 * they cannot disagree. Numbers are LEB128, signed ones in zigzag; doubles are their eight bytes.
 */
#include "experiment/reduction.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/file.h"
#include "experiment/decode_parts.h"

static const char MAGIC[8] = "SNREDUC1";

enum { HEAD_BYTES = 24, FRAMES_MOST = 1 << 16 }; /* magic, length and hash of what follows */

struct codec {
	bool writes;
	struct sn_text out;
	struct sn_cursor in;
	struct sn_arena *arena; /* of what is read */
};

static void code_u64(struct codec *c, uint64_t *value)
{
	if (!c->writes) {
		*value = sn_cursor_uleb128(&c->in);
		return;
	}
	for (uint64_t rest = *value;; rest >>= 7) {
		sn_text_add_char(&c->out, (char)((rest & 127) | (rest > 127 ? 128 : 0)));
		if (rest < 128)
			return;
	}
}

static void code_s64(struct codec *c, int64_t *value)
{
	uint64_t zigzag = (uint64_t)*value << 1 ^ (uint64_t)(*value >> 63);

	code_u64(c, &zigzag);
	*value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
}

static void code_u32(struct codec *c, uint32_t *value)
{
	uint64_t wide = *value;

	code_u64(c, &wide);
	if (wide > UINT32_MAX)
		sn_cursor_fail(&c->in);
	*value = (uint32_t)wide;
}

static void code_s32(struct codec *c, int32_t *value)
{
	int64_t wide = *value;

	code_s64(c, &wide);
	if (wide < INT32_MIN || wide > INT32_MAX)
		sn_cursor_fail(&c->in);
	*value = (int32_t)wide;
}

static void code_bool(struct codec *c, bool *value)
{
	uint64_t wide = *value;

	code_u64(c, &wide);
	*value = wide != 0;
}

static void code_double(struct codec *c, double *value)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof(bits));
	if (c->writes)
		sn_text_add_bytes(&c->out, (const char *)&bits, sizeof(bits));
	else
		bits = sn_cursor_u64(&c->in);
	memcpy(value, &bits, sizeof(bits));
}

/* NULL stays NULL. */
static void code_string(struct codec *c, const char **value)
{
	uint64_t length = c->writes && *value ? strlen(*value) + 1 : 0;
	const uint8_t *bytes;

	code_u64(c, &length);
	if (c->writes) {
		if (length)
			sn_text_add_bytes(&c->out, *value, length - 1);
		return;
	}
	bytes = length ? sn_cursor_bytes(&c->in, length - 1) : NULL;
	*value = bytes ? sn_arena_strndup(c->arena, (const char *)bytes, length - 1) : NULL;
}

/* How many things follow; each has a byte at least. */
static uint64_t code_count(struct codec *c, uint64_t count)
{
	code_u64(c, &count);
	if (!c->writes && count > sn_cursor_left(&c->in)) {
		sn_cursor_fail(&c->in);
		return 0;
	}
	return count;
}

static bool is_sound(const struct codec *c)
{
	return c->in.status == SN_OK;
}

/* ---- what an experiment consists of ---- */

static void code_account(struct codec *c, struct sn_time_account *account)
{
	code_s64(c, &account->elapsed_ns);
	code_s64(c, &account->user_ns);
	code_s64(c, &account->system_ns);
	code_s64(c, &account->wait_cpu_ns);
	code_s64(c, &account->blocked_ns);
}

static void code_process(struct codec *c, struct sn_process *p)
{
	code_s32(c, &p->pid);
	code_s32(c, &p->parent_pid);
	code_u32(c, &p->sequence);
	code_s32(c, &p->rank);
	code_string(c, &p->host);
	code_string(c, &p->program);
	code_string(c, &p->arguments);
	code_string(c, &p->folder);
	code_s64(c, &p->start_ns);
	code_s64(c, &p->end_ns);
	code_s64(c, &p->clock_offset_ns);
	code_s32(c, &p->exit_status);
	code_s32(c, &p->exit_signal);
	code_account(c, &p->account);
	code_string(c, &p->clock_mechanism);
	code_double(c, &p->rate_hz);
	code_double(c, &p->later_hz);
	code_double(c, &p->burst_s);
	for (int i = 0; i < SN_LOSS_KINDS; i++)
		code_u64(c, &p->losses[i]);
	code_u64(c, &p->raw_clone_threads);
	code_u64(c, &p->handler_ns);
	code_u64(c, &p->overhead_ns);
	code_u64(c, &p->overhead_doubt_ns);
	code_bool(c, &p->has_ended_cleanly);
	code_bool(c, &p->is_of_fork);
	code_bool(c, &p->follows_exec);
}

static void code_thread(struct codec *c, struct sn_thread *t)
{
	code_u32(c, &t->process);
	code_s32(c, &t->tid);
	code_u32(c, &t->creator);
	code_string(c, &t->name);
	code_s64(c, &t->start_ns);
	code_s64(c, &t->end_ns);
	code_account(c, &t->account);
	code_u64(c, &t->context_switches);
}

static void code_module(struct codec *c, struct sn_module *m)
{
	uint32_t kind = m->kind;

	code_string(c, &m->path);
	code_string(c, &m->build_id);
	code_u32(c, &kind);
	code_bool(c, &m->is_main);
	m->kind = (enum sn_module_kind)kind;
}

/* A sum, of the thread that the group is of. */
static void code_sum(struct codec *c, struct sn_sample *s)
{
	uint32_t stack = s->stack + 1, flags = s->flags & (SN_SAMPLE_SYSTEM | SN_SAMPLE_REMAINDER);
	uint32_t cpu = s->cpu;

	code_u32(c, &stack);
	code_u32(c, &flags);
	code_u64(c, &s->cpu_ns);
	code_u32(c, &s->more);
	code_u32(c, &cpu);
	s->stack = stack - 1;
	s->flags = (uint16_t)(flags | SN_SAMPLE_IS_SUM);
	s->cpu = (uint16_t)cpu;
}

static void code_wait(struct codec *c, struct sn_wait *w)
{
	uint32_t stack = w->stack + 1, kind = w->kind;

	code_u32(c, &stack);
	code_u32(c, &kind);
	code_u64(c, &w->duration_ns);
	code_u32(c, &w->more);
	w->stack = stack - 1;
	w->kind = kind < SN_WAIT_KINDS ? (uint8_t)kind : SN_WAIT_OTHER;
	w->is_sum = true;
}

static void code_sequence(struct codec *c, struct sn_sequence *s)
{
	code_u32(c, &s->process);
	code_u64(c, &s->pairs);
	code_u64(c, &s->observed_ns);
	code_double(c, &s->sum_of_squares);
	code_u64(c, &s->late);
	for (int k = 0; k < 3; k++) {
		code_double(c, &s->displaced_squares[k]);
		code_double(c, &s->displaced_sums[k]);
	}
}

static void code_transition(struct codec *c, struct sn_transition *t)
{
	uint32_t from = t->from + 1, to = t->to + 1;

	code_u32(c, &from);
	code_u32(c, &to);
	code_bool(c, &t->from_is_system);
	code_bool(c, &t->to_is_system);
	code_u64(c, &t->count);
	t->from = from - 1;
	t->to = to - 1;
}

static void code_cpu(struct codec *c, struct sn_cpu_sum *s)
{
	code_u32(c, &s->cpu);
	code_u64(c, &s->cpu_ns);
	code_u64(c, &s->system_ns);
	code_u64(c, &s->samples);
}

/* ---- which data it was made of ---- */

/* True: as the node has them. */
static bool code_data(struct codec *c, const struct sn_node *node)
{
	uint64_t count = code_count(c, node->data.count);
	bool is_same = count == node->data.count;

	for (uint64_t i = 0; i < count && is_sound(c); i++) {
		struct sn_reduced_data own =
			i < node->data.count ? node->data.items[i] : (struct sn_reduced_data){ 0 };
		struct sn_reduced_data data = own;

		code_s32(c, &data.pid);
		code_u64(c, &data.bytes);
		is_same &= data.pid == own.pid && data.bytes == own.bytes;
	}
	return is_same;
}

/* ---- writing ---- */

static void stacks_write(struct codec *c, const struct sn_experiment *e)
{
	code_count(c, e->stacks.count);
	for (size_t i = 0; i < e->stacks.count; i++) {
		struct sn_stack stack = e->stacks.items[i];

		stack.process++; /* SN_NONE, anyone's, is 0 */
		code_u32(c, &stack.process);
		code_u32(c, &stack.flags);
		code_u32(c, &stack.depth);
		for (uint32_t f = 0; f < stack.depth; f++) {
			struct sn_frame frame = stack.frames[f];

			code_u32(c, &frame.module);
			code_u64(c, &frame.link_addr);
		}
	}
}

static uint64_t same_thread_samples(const struct sn_experiment *e, size_t at)
{
	size_t end = at;

	while (end < e->samples.count &&
	       e->samples.items[end].thread == e->samples.items[at].thread)
		end++;
	return end - at;
}

static uint64_t same_thread_waits(const struct sn_experiment *e, size_t at)
{
	size_t end = at;

	while (end < e->waits.count && e->waits.items[end].thread == e->waits.items[at].thread)
		end++;
	return end - at;
}

/* Thread by thread, those that have none left out; UINT32_MAX ends them. */
static void sums_write(struct codec *c, const struct sn_experiment *e)
{
	uint32_t end = UINT32_MAX;

	for (size_t i = 0; i < e->samples.count;) {
		uint64_t count = same_thread_samples(e, i);
		uint32_t thread = e->samples.items[i].thread;

		code_u32(c, &thread);
		code_count(c, count);
		for (; count; count--, i++) {
			struct sn_sample sum = e->samples.items[i];

			code_sum(c, &sum);
		}
	}
	code_u32(c, &end);
	for (size_t i = 0; i < e->waits.count;) {
		uint64_t count = same_thread_waits(e, i);
		uint32_t thread = e->waits.items[i].thread;

		code_u32(c, &thread);
		code_count(c, count);
		for (; count; count--, i++) {
			struct sn_wait sum = e->waits.items[i];

			code_wait(c, &sum);
		}
	}
	code_u32(c, &end);
}

/* Of each vector its items, by a copy that may be changed. */
#define WRITE_ALL(codec, vec, type, code)                                                          \
	do {                                                                                       \
		code_count(codec, (vec).count);                                                    \
		for (size_t i = 0; i < (vec).count; i++) {                                         \
			type item = (vec).items[i];                                                \
			code(codec, &item);                                                        \
		}                                                                                  \
	} while (0)

static void code_warning(struct codec *c, struct sn_process_warning *w)
{
	code_string(c, &w->sentence);
	code_s32(c, &w->first_pid);
	code_u32(c, &w->process_count);
}

static void code_sentence(struct codec *c, const char **sentence)
{
	code_string(c, sentence);
}

static void payload_write(struct codec *c, const struct sn_node *node,
			  const struct sn_experiment *e)
{
	int64_t started_ns = e->started_realtime_ns;
	bool is_salvaged = node->experiment->is_salvaged;

	code_data(c, node);
	code_s64(c, &started_ns);
	code_bool(c, &is_salvaged);
	WRITE_ALL(c, node->experiment->warnings, const char *, code_sentence);
	WRITE_ALL(c, node->warnings, struct sn_process_warning, code_warning);
	WRITE_ALL(c, e->modules, struct sn_module, code_module);
	WRITE_ALL(c, e->processes, struct sn_process, code_process);
	WRITE_ALL(c, e->threads, struct sn_thread, code_thread);
	stacks_write(c, e);
	sums_write(c, e);
	WRITE_ALL(c, e->sequences, struct sn_sequence, code_sequence);
	WRITE_ALL(c, e->transitions, struct sn_transition, code_transition);
	WRITE_ALL(c, e->cpu_sums, struct sn_cpu_sum, code_cpu);
}

sn_status sn_reduction_write(const char *path, const struct sn_node *node,
			     const struct sn_experiment *sums, struct sn_error *err)
{
	struct codec c = { .writes = true };
	struct sn_file_writer writer;
	struct sn_text name = { 0 };
	uint64_t head[2];
	sn_status status;

	payload_write(&c, node, sums);
	head[0] = c.out.length;
	head[1] = sn_hash_bytes(c.out.chars, c.out.length);
	sn_text_addf(&name, "%s/%s.reduced", path, node->host);
	status = sn_file_writer_open(&writer, name.chars, err);
	if (status == SN_OK) {
		fwrite(MAGIC, 1, sizeof(MAGIC), writer.out);
		fwrite(head, 1, sizeof(head), writer.out);
		fwrite(c.out.chars, 1, c.out.length, writer.out);
		status = sn_file_writer_commit(&writer, err);
	}
	sn_text_free(&name);
	sn_text_free(&c.out);
	return status;
}

/* ---- reading ---- */

struct reader {
	struct codec c;
	struct sn_decoder *decoder;
	struct sn_experiment *e;
	int64_t started_ns;
	uint32_t first_process, first_thread;
	uint32_t process_count, thread_count;
	SN_VEC(uint32_t) modules, stacks; /* numbers in the experiment, by those in the file */
	size_t first_sample, first_wait, first_warning;
};

static void modules_read(struct reader *r)
{
	uint64_t count = code_count(&r->c, 0);

	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_module module = { 0 };

		code_module(&r->c, &module);
		if (!is_sound(&r->c) || module.kind > SN_MODULE_SONDE)
			sn_cursor_fail(&r->c.in);
		else
			sn_vec_push(&r->modules,
				    sn_decoder_module(r->decoder, module.path ? module.path : "",
						      module.build_id ? module.build_id : "",
						      module.kind, module.is_main));
	}
}

static void processes_read(struct reader *r)
{
	uint64_t count = code_count(&r->c, 0);

	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_process p = { 0 };

		code_process(&r->c, &p);
		p.start_ns = bounded(p.start_ns) + bounded(r->started_ns);
		p.end_ns = bounded(p.end_ns) + bounded(r->started_ns);
		p.clock_offset_ns = bounded(p.clock_offset_ns) + bounded(r->started_ns);
		p.host = p.host ? p.host : "";
		sn_vec_push(&r->e->processes, p);
	}
	r->process_count = (uint32_t)r->e->processes.count - r->first_process;
	count = code_count(&r->c, 0);
	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_thread t = { 0 };

		code_thread(&r->c, &t);
		if (t.process >= r->process_count) {
			sn_cursor_fail(&r->c.in);
			break;
		}
		t.process += r->first_process;
		t.creator += t.creator ? r->first_thread : 0;
		t.start_ns = bounded(t.start_ns) + bounded(r->started_ns);
		t.end_ns = bounded(t.end_ns) + bounded(r->started_ns);
		sn_vec_push(&r->e->threads, t);
	}
	r->thread_count = (uint32_t)r->e->threads.count - r->first_thread;
}

static void stacks_read(struct reader *r)
{
	uint64_t count = code_count(&r->c, 0);
	SN_VEC(struct sn_frame) frames = { 0 };

	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_stack stack = { 0 };

		code_u32(&r->c, &stack.process);
		code_u32(&r->c, &stack.flags);
		code_u32(&r->c, &stack.depth);
		if (stack.process > r->process_count || stack.depth > FRAMES_MOST)
			sn_cursor_fail(&r->c.in);
		frames.count = 0;
		for (uint32_t f = 0; f < stack.depth && is_sound(&r->c); f++) {
			struct sn_frame frame = { 0 };

			code_u32(&r->c, &frame.module);
			code_u64(&r->c, &frame.link_addr);
			if (frame.module >= r->modules.count)
				sn_cursor_fail(&r->c.in);
			else
				frame.module = r->modules.items[frame.module];
			sn_vec_push(&frames, frame);
		}
		if (!is_sound(&r->c))
			break;
		/* anyone's: of code that is the same in all processes */
		sn_vec_push(&r->stacks,
			    sn_experiment_add_stack(
				    r->e, stack.process ? stack.process - 1 + r->first_process : 0,
				    frames.items, stack.depth, stack.flags));
	}
	sn_vec_free(&frames);
}

/* SN_NONE stays so. */
static uint32_t stack_of(struct reader *r, uint32_t stack)
{
	if (stack == SN_NONE)
		return SN_NONE;
	if (stack < r->stacks.count)
		return r->stacks.items[stack];
	sn_cursor_fail(&r->c.in);
	return SN_NONE;
}

static bool thread_next(struct reader *r, uint32_t *thread, uint64_t *count)
{
	code_u32(&r->c, thread);
	if (!is_sound(&r->c) || *thread == UINT32_MAX)
		return false;
	*count = code_count(&r->c, 0);
	if (*thread >= r->thread_count)
		sn_cursor_fail(&r->c.in);
	*thread += r->first_thread;
	return is_sound(&r->c);
}

static void sums_read(struct reader *r)
{
	uint32_t thread = 0;
	uint64_t count;

	while (thread_next(r, &thread, &count))
		for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
			struct sn_sample sum = { .thread = thread };

			code_sum(&r->c, &sum);
			sum.stack = stack_of(r, sum.stack);
			sum.time_ns = r->e->threads.items[thread].start_ns;
			sn_vec_push(&r->e->samples, sum);
		}
	while (thread_next(r, &thread, &count))
		for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
			struct sn_wait sum = { .thread = thread };

			code_wait(&r->c, &sum);
			sum.stack = stack_of(r, sum.stack);
			sum.time_ns = r->e->threads.items[thread].start_ns;
			sn_vec_push(&r->e->waits, sum);
		}
}

static void order_read(struct reader *r)
{
	uint64_t count = code_count(&r->c, 0);

	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_sequence s = { 0 };

		code_sequence(&r->c, &s);
		if (s.process >= r->process_count) {
			sn_cursor_fail(&r->c.in);
			break;
		}
		s.process += r->first_process;
		sn_vec_push(&r->e->sequences, s);
	}
	count = code_count(&r->c, 0);
	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_transition t = { 0 };

		code_transition(&r->c, &t);
		t.from = stack_of(r, t.from);
		t.to = stack_of(r, t.to);
		sn_vec_push(&r->e->transitions, t);
	}
	count = code_count(&r->c, 0);
	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_cpu_sum s = { 0 };

		code_cpu(&r->c, &s);
		sn_vec_push(&r->e->cpu_sums, s);
	}
}

static void warnings_read(struct reader *r)
{
	uint64_t count = code_count(&r->c, 0);

	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		const char *sentence = NULL;

		code_sentence(&r->c, &sentence);
		sn_vec_push(&r->e->warnings, sentence ? sentence : "");
	}
	count = code_count(&r->c, 0);
	for (uint64_t i = 0; i < count && is_sound(&r->c); i++) {
		struct sn_process_warning w = { 0 };

		code_warning(&r->c, &w);
		w.sentence = w.sentence ? w.sentence : "";
		sn_decoder_warning(r->decoder, &w);
	}
}

bool sn_reduction_read(const uint8_t *bytes, size_t length, const struct sn_node *node,
		       struct sn_decoder *decoder)
{
	struct sn_experiment *e = decoder->experiment;
	struct reader r = { .decoder = decoder,
			    .e = e,
			    .first_process = (uint32_t)e->processes.count,
			    .first_thread = (uint32_t)e->threads.count };
	uint64_t head[2];
	bool is_salvaged = false;

	if (length < HEAD_BYTES || memcmp(bytes, MAGIC, sizeof(MAGIC)) != 0)
		return false;
	memcpy(head, bytes + sizeof(MAGIC), sizeof(head));
	if (head[0] != length - HEAD_BYTES ||
	    head[1] != sn_hash_bytes(bytes + HEAD_BYTES, length - HEAD_BYTES))
		return false;
	r.c.in = sn_cursor_over(bytes + HEAD_BYTES, length - HEAD_BYTES);
	r.c.arena = &e->arena;
	if (!code_data(&r.c, node) || !is_sound(&r.c))
		return false;
	code_s64(&r.c, &r.started_ns);
	code_bool(&r.c, &is_salvaged);
	warnings_read(&r);
	modules_read(&r);
	processes_read(&r);
	if (is_sound(&r.c))
		stacks_read(&r);
	if (is_sound(&r.c))
		sums_read(&r);
	order_read(&r);
	sn_vec_free(&r.modules);
	sn_vec_free(&r.stacks);
	e->is_salvaged |= is_salvaged;
	if (!is_sound(&r.c)) {
		e->is_salvaged = true;
		sn_vec_push(&e->warnings,
			    sn_arena_printf(&e->arena,
					    "'%s.reduced' does not hold what its beginning says; "
					    "remove it, and the data are read",
					    node->host));
	}
	return true;
}
