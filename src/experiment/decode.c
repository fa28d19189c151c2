/*
 * Decodes the process images of a data file one after the other. Much of the work is for images
 * without a proper end: killed processes, threads that wrote no last record.
 */
#include "experiment/decode_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "wire/data.h"

/* ---- the process ---- */

/* Threads may leave perf events for timers. */
static const char *mechanism_name(const struct sn_data_header *h)
{
	static const char *const names[] = { "off", "perf-signal", "thread-timer", "itimer-prof",
					     "perf-ring" };
	uint32_t mechanism = h->mechanism;

	if (mechanism == SN_MECHANISM_PERF_SIGNAL && h->timer_signals)
		return "perf-signal+thread-timer";
	return mechanism < sizeof(names) / sizeof(*names) ? names[mechanism] : "unknown";
}

static void process_begin(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;
	const struct sn_data_header *h = image->header;
	struct sn_process process = {
		.pid = h->pid,
		.parent_pid = h->parent_pid,
		.sequence = h->sequence,
		.rank = h->rank,
		.host = sn_arena_strndup(&e->arena, h->host, strnlen(h->host, sizeof(h->host))),
		.program = sn_arena_strndup(&e->arena, h->program,
					    strnlen(h->program, sizeof(h->program))),
		.folder = "",
		.arguments = "",
		/* The kernel knows when the process began, but not when it took its later images.
		 */
		.start_ns = h->process_start_ns && !h->sequence ? h->process_start_ns : h->start_ns,
		.exit_status = -1,
		.clock_mechanism = mechanism_name(h),
		.rate_hz = h->period_ns ? 1e9 / (double)h->period_ns : 0,
		.later_hz = h->period_later_ns ? 1e9 / (double)h->period_later_ns : 0,
		.burst_s = (double)h->burst_ns / 1e9,
		.raw_clone_threads = h->raw_clone_threads,
		.handler_ns = h->handler_ns,
		.overhead_ns = h->overhead_ns,
		.overhead_doubt_ns = h->overhead_doubt_ns,
		.follows_exec = h->follows_exec == 1,
		.is_of_fork = h->origin == SN_DATA_ORIGIN_FORK,
	};

	image->offset_ns = image->decoder->has_clock_offset
				   ? image->decoder->clock_offset_ns
				   : bounded(h->start_realtime_ns) - bounded(h->start_ns);
	image->offset_ns = bounded(image->offset_ns);
	process.clock_offset_ns = image->offset_ns;
	process.start_ns = bounded(process.start_ns) + image->offset_ns;
	process.started_by_ns = bounded(h->start_ns) + image->offset_ns;
	for (int i = 0; i < SN_LOSS_KINDS; i++)
		process.losses[i] = h->lost[i];
	image->process = (uint32_t)e->processes.count;
	image->first_thread = (uint32_t)e->threads.count;
	image->last_ns = process.start_ns;
	sn_vec_push(&e->processes, process);
}

/* The kernel counts a thread through exec: what it used in earlier images belongs to these. Its elapsed
 * time counts from the header's start, so the waiting before that does not. */
static void account_since_exec(struct image *image, struct sn_thread *thread)
{
	const struct sn_data_header *h = image->header;
	struct sn_time_account *account = &thread->account;
	int64_t before_ns = bounded(h->start_user_ns) + bounded(h->start_system_ns);
	int64_t used_ns = bounded(account->user_ns + account->system_ns) - before_ns;

	if (thread->tid == h->pid && account->wait_cpu_ns > 0)
		account->wait_cpu_ns =
			account->wait_cpu_ns > bounded(h->start_wait_cpu_ns)
				? account->wait_cpu_ns - bounded(h->start_wait_cpu_ns)
				: 0;
	if (!h->sequence || thread->tid != h->pid || account->user_ns < 0 || before_ns < 0)
		return;
	if (used_ns < 0)
		used_ns = 0;
	account->system_ns = bounded(account->system_ns - bounded(h->start_system_ns));
	if (account->system_ns < 0)
		account->system_ns = 0;
	if (account->system_ns > used_ns)
		account->system_ns = used_ns;
	account->user_ns = used_ns - account->system_ns;
}

/* Ends a thread that did not write its end, because the process was killed. It was there until then
 * if it was seen not long before, and it had used what its samples say at least. */
static void thread_end_guess(struct image *image, struct sn_thread *thread,
			     const struct thread_facts *facts)
{
	const int64_t look_ns = 1500000000; /* the launcher looks once a second */
	int64_t end_ns = bounded(image->header->end_ns) + image->offset_ns;
	int64_t user_ns = bounded((int64_t)(facts->sampled_user_ns & INT64_MAX));
	int64_t system_ns = bounded((int64_t)(facts->sampled_system_ns & INT64_MAX));
	struct sn_time_account *account = &thread->account;

	if (facts->has_end || facts->seen_ns == INT64_MIN)
		return;
	if (image->header->end_ns && end_ns > thread->end_ns && end_ns - facts->seen_ns < look_ns)
		thread->end_ns = end_ns;
	if (bounded(user_ns + system_ns) > bounded(account->user_ns + account->system_ns)) {
		account->user_ns = user_ns;
		account->system_ns = system_ns;
	}
}

/* Waits that were going on when their threads ended. */
static void open_waits_end(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;

	for (size_t i = 0; i < image->open_waits.count; i++) {
		struct sn_wait *wait = &e->waits.items[image->open_waits.items[i]];
		int64_t end_ns = e->threads.items[wait->thread].end_ns;

		wait->duration_ns = end_ns > wait->time_ns ? (uint64_t)(end_ns - wait->time_ns) : 0;
	}
}

static void threads_end(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct sn_process *process = process_of(image);

	for (size_t i = image->first_thread; i < e->threads.count; i++) {
		struct sn_thread *thread = &e->threads.items[i];
		struct sn_time_account *account = &thread->account;
		int64_t known_ns;

		account_since_exec(image, thread);
		thread_end_guess(image, thread,
				 sn_decode_facts_of(image, (uint32_t)(i - image->first_thread)));
		if (thread->start_ns == INT64_MAX)
			thread->start_ns = process->start_ns;
		if (thread->end_ns < thread->start_ns)
			thread->end_ns = thread->start_ns;
		account->elapsed_ns = bounded(thread->end_ns - thread->start_ns);
		if (account->user_ns < 0)
			continue;
		known_ns = bounded(account->user_ns + account->system_ns) +
			   (account->wait_cpu_ns > 0 ? account->wait_cpu_ns : 0);
		/* The first thread spends CPU time on loading, before it writes that it started. */
		if (account->elapsed_ns < known_ns)
			account->elapsed_ns = bounded(known_ns);
		/* A killed thread did not say how long it waited for a CPU: nobody can tell that
		 * from blocked. */
		account->blocked_ns =
			account->wait_cpu_ns < 0 ? -1 : account->elapsed_ns - known_ns;
	}
}

/* CPU time of the image: its own pair if it ended cleanly; else the latest packet, or its threads'.
 */
static void account_end(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct sn_process *process = process_of(image);
	const struct sn_data_header *h = image->header;
	struct sn_time_account *account = &process->account;
	int64_t wait_ns = 0, user_ns = 0, system_ns = 0;

	for (size_t i = image->first_thread; i < e->threads.count; i++) {
		const struct sn_time_account *a = &e->threads.items[i].account;

		wait_ns = bounded(wait_ns + (a->wait_cpu_ns > 0 ? a->wait_cpu_ns : 0));
		user_ns = bounded(user_ns + (a->user_ns > 0 ? a->user_ns : 0));
		system_ns = bounded(system_ns + (a->system_ns > 0 ? a->system_ns : 0));
	}
	account->elapsed_ns = bounded(process->end_ns - process->start_ns);
	if (h->end_user_ns || h->end_system_ns) {
		user_ns = bounded(h->end_user_ns) - bounded(h->start_user_ns);
		system_ns = bounded(h->end_system_ns) - bounded(h->start_system_ns);
	}
	account->user_ns = user_ns;
	account->system_ns = system_ns;
	account->wait_cpu_ns = h->end_wait_cpu_ns > wait_ns ? h->end_wait_cpu_ns : wait_ns;
	account->blocked_ns = -1; /* a sum over threads says more than a process can */
}

/* The first says most: it is where something is missing. */
static void note_damage(struct sn_experiment *e, const char *sentence)
{
	if (!e->damage)
		e->damage = sentence;
}

static void warn_damage(struct sn_experiment *e, char *sentence)
{
	sn_vec_push(&e->warnings, sentence);
	note_damage(e, sentence);
}

static void process_end(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;
	struct sn_process *process = process_of(image);
	const struct sn_data_header *h = image->header;
	struct sn_text line = { 0 };

	for (size_t i = 0; i < image->arguments.count; i++) {
		if (i)
			sn_text_add(&line, " ");
		sn_text_add_shell_word(&line, image->arguments.items[i]);
	}
	if (line.chars && !image->has_title)
		process->arguments = sn_arena_strdup(&e->arena, line.chars);
	sn_text_free(&line);
	process->has_ended_cleanly = h->state == SN_DATA_EXITED || h->state == SN_DATA_EXECED;
	if (h->state == SN_DATA_EXITED && h->exit_code >= 0)
		process->exit_status = h->exit_code & 0xff;
	threads_end(image);
	open_waits_end(image);
	process->end_ns = h->end_ns ? bounded(h->end_ns) + image->offset_ns : image->last_ns;
	for (size_t i = image->first_thread; i < e->threads.count; i++)
		if (e->threads.items[i].end_ns > process->end_ns)
			process->end_ns = e->threads.items[i].end_ns;
	account_end(image);
	if (image->damaged) {
		process->losses[SN_LOSS_DAMAGED] += image->damaged;
		image->decoder->is_damaged = true;
		e->is_salvaged = true;
		warn_damage(e, sn_arena_printf(&e->arena,
					       "process %d: %llu damaged records were left out; "
					       "the file was changed after it was written",
					       process->pid, (unsigned long long)image->damaged));
	}
	for (size_t i = 0; i < image->mappings.count; i++) {
		const struct raw_mapping *m = &image->mappings.items[i];
		struct sn_mapping mapping = { .process = image->process,
					      .module = m->module,
					      .load_start = m->load_start,
					      .load_end = m->load_end,
					      .load_bias = m->load_bias,
					      .map_ns = bounded(m->map_ns) + image->offset_ns,
					      .unmap_ns = m->unmap_ns == INT64_MAX
								  ? INT64_MAX
								  : bounded(m->unmap_ns) +
									    image->offset_ns };

		sn_vec_push(&e->mappings, mapping);
	}
}

static void image_decode(struct sn_decoder *decoder, const uint8_t *bytes, uint32_t chunk_count)
{
	struct image image = { .decoder = decoder,
			       .header = (const void *)bytes,
			       .bytes = bytes,
			       .chunk_count = chunk_count };

	process_begin(&image);
	sn_decode_walk(&image, sn_decode_facts);
	sn_decode_tasks_take(&image);
	if (image.mappings.count)
		qsort(image.mappings.items, image.mappings.count, sizeof(*image.mappings.items),
		      sn_decode_mappings_compare);
	sn_decode_paths_take(&image);
	/* Both passes count damage; the first has seen it all. */
	uint64_t damaged = image.damaged;

	sn_decode_walk(&image, sn_decode_samples);
	sn_decode_accesses_end(&image);
	image.damaged = damaged;
	process_end(&image);
	sn_map_free(&image.segment_index);
	sn_vec_free(&image.segments);
	sn_vec_free(&image.mappings);
	sn_vec_free(&image.arguments);
	sn_vec_free(&image.frames);
	sn_vec_free(&image.facts);
	sn_vec_free(&image.tasks);
	sn_vec_free(&image.open_waits);
	sn_vec_free(&image.paths);
}

/* ---- files ---- */

/* Chunks of the data file at `bytes`, as far as they are there; UINT32_MAX if none begins here. */
static uint32_t chunks_present(const uint8_t *bytes, size_t length)
{
	const struct sn_data_header *header = (const void *)bytes;
	uint64_t present, wanted;

	if (length < SN_DATA_HEADER_BYTES || header->magic != SN_DATA_MAGIC ||
	    header->version != SN_DATA_VERSION || header->header_bytes != SN_DATA_HEADER_BYTES ||
	    header->chunk_bytes != SN_DATA_CHUNK_BYTES)
		return UINT32_MAX;
	present = (length - SN_DATA_HEADER_BYTES) / SN_DATA_CHUNK_BYTES;
	wanted = header->next_chunk;
	if (header->chunks_backed < wanted)
		wanted = header->chunks_backed;
	return (uint32_t)(present < wanted ? present : wanted);
}

size_t sn_data_used_bytes(const uint8_t *bytes, size_t length)
{
	uint32_t chunks = chunks_present(bytes, length);

	return chunks == UINT32_MAX ? 0 : sn_data_file_bytes(chunks);
}

/* The next place at or after `at` where a data file may begin: they are all aligned alike. */
static size_t next_header(const uint8_t *bytes, size_t length, size_t at)
{
	at = (at + 4095) & ~(size_t)4095;
	while (at < length && chunks_present(bytes + at, length - at) == UINT32_MAX)
		at += 4096;
	return at;
}

/* Space that was backed and not used. */
static bool is_zero(const uint8_t *bytes, size_t length)
{
	return !length || (!bytes[0] && !memcmp(bytes, bytes + 1, length - 1));
}

bool sn_data_next(const uint8_t *bytes, size_t length, size_t *at, size_t *image_bytes)
{
	while (*at < length) {
		uint32_t chunks = chunks_present(bytes + *at, length - *at);

		if (chunks != UINT32_MAX) {
			*image_bytes = sn_data_file_bytes(chunks);
			return true;
		}
		*at = next_header(bytes, length, *at + 1);
	}
	return false;
}

void sn_decode_data(struct sn_decoder *decoder, const uint8_t *bytes, size_t length,
		    const char *name)
{
	struct sn_experiment *e = decoder->experiment;
	size_t at = 0;

	decoder->is_damaged = !length;
	if (!length)
		note_damage(e, sn_arena_printf(&e->arena, "'%s' is empty", name));
	while (at < length) {
		uint32_t chunks = chunks_present(bytes + at, length - at);
		const struct sn_data_header *header = (const void *)(bytes + at);

		if (chunks == UINT32_MAX) {
			size_t next = next_header(bytes, length, at + 1);
			size_t passed = (next < length ? next : length) - at;

			if (is_zero(bytes + at, passed)) {
				at = next;
				continue;
			}
			decoder->is_damaged = true;
			e->is_salvaged = true;
			warn_damage(e, sn_arena_printf(&e->arena,
						       "'%s': no data begin at byte %zu; %zu bytes "
						       "were passed over",
						       name, at, passed));
			at = next;
			continue;
		}
		if (chunks < header->next_chunk && chunks < header->chunks_backed) {
			decoder->is_damaged = true;
			e->is_salvaged = true;
			warn_damage(e, sn_arena_printf(
					       &e->arena,
					       "'%s' is cut short: %u of %u pieces of process %d "
					       "are there; the recording was probably killed",
					       name, chunks, header->next_chunk, header->pid));
		}
		image_decode(decoder, bytes + at, chunks);
		at += sn_data_file_bytes(chunks);
	}
	if (decoder->is_damaged && !e->damaged_data)
		e->damaged_data = sn_arena_strdup(&e->arena, name);
}

/* The last image of the process that had begun by then. */
static struct sn_process *killed_process(struct sn_experiment *e,
					 const struct sn_process_killed *killed)
{
	struct sn_process *found = NULL;

	for (size_t i = 0; i < e->processes.count; i++) {
		struct sn_process *p = &e->processes.items[i];

		if (p->pid == killed->pid && p->start_ns <= killed->time_ns &&
		    (killed->waiter_pid < 0 || killed->waiter_pid == p->parent_pid) &&
		    !strncmp(p->host, killed->host, SN_DATA_HOST_MAX - 1) &&
		    (!found || found->start_ns <= p->start_ns))
			found = p;
	}
	return found;
}

static void killed_take(struct sn_decoder *decoder)
{
	for (size_t i = 0; i < decoder->killed.count; i++) {
		const struct sn_process_killed *killed = &decoder->killed.items[i];
		struct sn_process *process = killed_process(decoder->experiment, killed);

		if (!process)
			continue;
		process->exit_signal = killed->signal;
		process->exit_status = 128 + killed->signal;
	}
	sn_vec_free(&decoder->killed);
}

void sn_decoder_finish(struct sn_decoder *decoder)
{
	struct sn_experiment *e = decoder->experiment;

	killed_take(decoder);

	for (size_t i = 0; i < decoder->warnings.count; i++) {
		const struct sn_process_warning *w = &decoder->warnings.items[i];

		if (e->processes.count == 1)
			sn_vec_push(&e->warnings, w->sentence);
		else if (w->process_count == 1)
			sn_vec_push(&e->warnings, sn_arena_printf(&e->arena, "process %d: %s",
								  w->first_pid, w->sentence));
		else
			sn_vec_push(&e->warnings, sn_arena_printf(&e->arena, "%u processes: %s",
								  w->process_count, w->sentence));
	}
	sn_vec_free(&decoder->warnings);
	sn_map_free(&decoder->modules);
}
