/* What the verdict knows of locks and of input and output, where these were traced: what most of the time went
 * to, whom waiters wait for, and what to do about it. */
#include "io/io.h"
#include "locks/locks.h"
#include "trace/trace.h"
#include "views/summary/evidence_parts.h"

#include "base/text.h"

static const double small_most_bytes =
	4096; /* of a call, on average: a page, what stdio collects */
static const uint64_t small_least_calls = 1000;

/* ---- locks ---- */

static bool is_held(uint8_t kind)
{
	return kind == SN_SYNC_MUTEX || kind == SN_SYNC_RWLOCK_READ || kind == SN_SYNC_RWLOCK_WRITE;
}

/* Conditions, barriers and the like are no locks: nobody holds them. */
static bool is_lock(const struct sn_locks *locks, uint32_t object)
{
	for (size_t i = 0; i < locks->uses.count; i++)
		if (locks->uses.items[i].object == object)
			return is_held(locks->uses.items[i].kind);
	return false;
}

static const struct sn_lock_blame *most_blamed(const struct sn_locks *locks, uint64_t *total_ns)
{
	const struct sn_lock_blame *best = NULL;

	*total_ns = 0;
	for (size_t i = 0; i < locks->blames.count; i++) {
		const struct sn_lock_blame *blame = &locks->blames.items[i];

		if (!is_lock(locks, blame->object))
			continue;
		*total_ns += blame->wait_ns;
		if (!best || blame->wait_ns > best->wait_ns)
			best = blame;
	}
	return best;
}

static void blame_tell(struct sn_summary *s, const struct sn_locks *locks, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;
	struct sn_text text = { 0 };
	uint64_t total_ns;
	const struct sn_lock_blame *most = most_blamed(locks, &total_ns);
	const char *object;

	if (!most || !most->wait_ns)
		return;
	object = locks->objects.items[most->object].name;
	sn_text_addf(&text,
		     "%.0f %% of it for %s: ", 100 * (double)most->wait_ns / (double)total_ns,
		     object);
	sn_site_add_name(program, most->waiter, &text);
	sn_text_add(&text, " waits");
	if (most->holder.function != SN_NONE) {
		sn_text_add(&text, " while ");
		sn_site_add_name(program, most->holder, &text);
		sn_text_add(&text, " has it");
	}
	out->lock_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_clear(&text);
	sn_text_addf(&text, "Hold %s for less", object);
	if (most->holder.function != SN_NONE) {
		sn_text_add(&text, " in ");
		sn_site_add_name(program, most->holder, &text);
	}
	sn_text_add(&text, ", split it, or give each thread data of its own (sonde show blame)");
	out->lock_remedy = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
}

/* "f (a.c:3) takes x, g (a.c:9) takes y" */
static void add_cycle(const struct sn_program *program, const struct sn_locks *locks,
		      uint32_t cycle, struct sn_text *text)
{
	bool is_first = true;

	for (size_t i = 0; i < locks->cycles.count; i++) {
		const struct sn_lock_cycle_part *part = &locks->cycles.items[i];

		if (part->cycle != cycle)
			continue;
		sn_text_add(text, is_first ? "" : ", ");
		sn_site_add_name(program, part->site, text);
		sn_text_addf(text, " wants %s", locks->objects.items[part->object].name);
		is_first = false;
	}
}

/* For all locks of a circle. */
static double waited_s(const struct sn_locks *locks, uint32_t cycle)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < locks->cycles.count; i++)
		for (size_t k = 0; locks->cycles.items[i].cycle == cycle && k < locks->uses.count;
		     k++)
			if (locks->uses.items[k].object == locks->cycles.items[i].object)
				ns += locks->uses.items[k].wait_ns;
	return (double)ns / 1e9;
}

/* A circle that closed is why the threads waited; one that may close is a warning. */
static void cycles_tell(struct sn_summary *s, const struct sn_locks *locks, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;
	struct sn_text text = { 0 };
	uint32_t cycle;

	if (!locks->cycles.count)
		return;
	cycle = locks->cycles.items[0].cycle; /* hung ones come first */
	if (locks->cycles.items[0].is_hung) {
		out->deadlock_s = waited_s(locks, cycle);
		sn_text_add(&text, "Deadlock: threads wait for each other in a circle: ");
		add_cycle(program, locks, cycle, &text);
		out->deadlock_words = sn_arena_strdup(&s->arena, text.chars);
	} else {
		sn_text_add(&text, "locks are taken in opposite orders, so threads may come to "
				   "wait for each other for ever: ");
		add_cycle(program, locks, cycle, &text);
		sn_text_add(&text, " while they hold the other's (sonde show deadlocks)");
		sn_summary_warn(s, text.chars);
	}
	sn_text_free(&text);
}

static void locks_warn(struct sn_summary *s, uint64_t lost)
{
	struct sn_text text = { 0 };

	if (!lost)
		return;
	sn_text_addf(&text,
		     "%llu entries of the trace of locks were lost, as the disk did not keep up or "
		     "was full: its counts are too low",
		     (unsigned long long)lost);
	sn_summary_warn(s, text.chars);
	sn_text_free(&text);
}

void sn_evidence_find_locks(struct sn_summary *s, struct sn_evidence *out)
{
	struct sn_locks *locks;
	struct sn_error err;

	if (!sn_trace_has(s->profile->experiment, SN_TRACE_SYNC))
		return;
	if (sn_locks_read(s->profile->program, &locks, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	blame_tell(s, locks, out);
	cycles_tell(s, locks, out);
	locks_warn(s, locks->lost);
	sn_locks_free(locks);
}

/* ---- input and output ---- */

static const struct sn_io_place *most_used(const struct sn_io *io)
{
	const struct sn_io_place *best = NULL;

	for (size_t i = 0; i < io->places.count; i++)
		if (!best || io->places.items[i].time_ns > best->time_ns)
			best = &io->places.items[i];
	return best;
}

/* "out.dat", "3 sockets". A socket's number tells a reader nothing. */
static void add_files(const struct sn_io_place *most, struct sn_text *text)
{
	static const char *const kinds[SN_IO_KINDS] = {
		[SN_IO_A_FILE] = "file",	[SN_IO_A_SOCKET] = "socket",
		[SN_IO_A_PIPE] = "pipe",	[SN_IO_A_DEVICE] = "device",
		[SN_IO_ANOTHER] = "descriptor",
	};

	if (most->files > 1)
		sn_text_add_counted(text, most->files, kinds[most->kind]);
	else if (most->kind == SN_IO_A_SOCKET || most->kind == SN_IO_A_PIPE)
		sn_text_addf(text, "a %s", kinds[most->kind]);
	else
		sn_text_add(text, sn_base_name(most->file));
}

static void remedy_tell(struct sn_summary *s, const struct sn_io_place *most,
			struct sn_evidence *out)
{
	struct sn_text text = { 0 };

	sn_text_addf(&text, "Move more by a call of %s", sn_io_operation_name(most->operation));
	if (most->site.function != SN_NONE) {
		sn_text_add(&text, " in ");
		sn_site_add_name(s->profile->program, most->site, &text);
	}
	sn_text_addf(&text, ": collect it in a buffer%s (sonde show io)",
		     most->kind == SN_IO_A_FILE ? ", or map the file" : "");
	out->io_remedy = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
}

static void place_tell(struct sn_summary *s, const struct sn_io *io, const struct sn_io_place *most,
		       struct sn_evidence *out)
{
	double mean = most->moving ? (double)most->bytes / (double)most->moving : 0;
	struct sn_text text = { 0 };

	sn_text_addf(&text, "%.0f %% %s in ", 100 * (double)most->time_ns / (double)io->time_ns,
		     most->calls == 1 ? "is" : "are");
	sn_text_add_counted(&text, most->calls, "call");
	sn_text_addf(&text, " of %s", sn_io_operation_name(most->operation));
	if (most->moving) {
		sn_text_add(&text, " of ");
		sn_text_add_number(&text, mean);
		sn_text_add(&text, most->moving > 1 ? " bytes each" : " bytes");
	}
	sn_text_add(&text, " on ");
	add_files(most, &text);
	if (most->site.function != SN_NONE) {
		sn_text_add(&text, ", by ");
		sn_site_add_name(s->profile->program, most->site, &text);
	}
	out->io_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	if (most->calls >= small_least_calls && most->moving && mean < small_most_bytes)
		remedy_tell(s, most, out);
}

static void io_warn(struct sn_summary *s, uint64_t lost)
{
	struct sn_text text = { 0 };

	if (!lost)
		return;
	sn_text_addf(&text,
		     "%llu calls of input and output were lost, as the disk did not keep up or was "
		     "full: counts by file are too low",
		     (unsigned long long)lost);
	sn_summary_warn(s, text.chars);
	sn_text_free(&text);
}

void sn_evidence_find_io(struct sn_summary *s, struct sn_evidence *out)
{
	const struct sn_io_place *most;
	struct sn_io *io;
	struct sn_error err;

	if (!sn_trace_has(s->profile->experiment, SN_TRACE_IO))
		return;
	if (sn_io_read(s->profile->program, &io, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	most = most_used(io);
	out->io_traced_s = (double)io->time_ns / 1e9;
	if (most && io->time_ns)
		place_tell(s, io, most, out);
	io_warn(s, io->lost);
	sn_io_free(io);
}
