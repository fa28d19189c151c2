/* First pass: what samples and stacks refer to. */
#include "experiment/decode_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

uint32_t sn_decoder_module(struct sn_decoder *decoder, const char *path, const char *build_id,
			   enum sn_module_kind kind, bool is_main)
{
	struct sn_experiment *e = decoder->experiment;
	uint64_t hash = sn_hash_bytes(path, strlen(path)) ^
			sn_hash_u64(sn_hash_bytes(build_id, strlen(build_id)));
	bool is_new;
	uint64_t *place = sn_map_put(&decoder->modules, hash, &is_new);

	if (is_new) {
		struct sn_module module = { .path = sn_arena_strdup(&e->arena, path),
					    .build_id = sn_arena_strdup(&e->arena, build_id),
					    .kind = kind };

		module.name = sn_base_name(module.path);
		sn_vec_push(&e->modules, module);
		*place = e->modules.count;
	}
	e->modules.items[*place - 1].is_main |= is_main;
	return (uint32_t)*place - 1;
}

uint32_t sn_decode_module_of(struct image *image, const char *path, const char *build_id,
			     enum sn_module_kind kind, bool is_main)
{
	return sn_decoder_module(image->decoder, path, build_id, kind, is_main);
}

static void map_decode(struct image *image, const struct sn_record_map *map)
{
	char *path = sn_decode_record_text(image, map, map->path, map->path_bytes);
	struct raw_mapping mapping = { map->load_start, map->load_end, map->load_bias,
				       map->time_ns,	INT64_MAX,     0 };
	enum sn_module_kind kind = SN_MODULE_FILE;
	char build_id[2 * SN_BUILD_ID_MAX + 1] = "";

	for (int i = 0; i < map->build_id_bytes && i < SN_BUILD_ID_MAX; i++)
		snprintf(build_id + 2 * i, 3, "%02x", map->build_id[i]);
	if (map->header.flags & SN_RECORD_MAP_VDSO) {
		kind = SN_MODULE_VDSO;
		path = (char *)"[vdso]";
	} else if (map->header.flags & SN_RECORD_MAP_ANONYMOUS) {
		kind = SN_MODULE_JIT;
		path = (char *)"[jit]";
		mapping.load_bias = 0; /* generated code has no other address than its own */
	}
	if (map->header.flags & SN_RECORD_MAP_KERNEL)
		kind = SN_MODULE_KERNEL;
	if (kind == SN_MODULE_FILE && (sn_ends_with(path, "/libsonde-runtime.so") ||
				       sn_ends_with(path, "/libsonde-runtime-trace.so") ||
				       sn_ends_with(path, "/libsonde-runtime-heap.so") ||
				       sn_ends_with(path, "/libsonde-runtime-causal.so"))) {
		kind = SN_MODULE_SONDE;
		path = (char *)"[sonde]";
	}
	mapping.module = sn_decode_module_of(image, path, build_id, kind,
					     map->header.flags & SN_RECORD_MAP_MAIN);
	sn_vec_push(&image->mappings, mapping);
}

static void unmap_decode(struct image *image, const struct sn_record_unmap *unmap)
{
	for (size_t i = 0; i < image->mappings.count; i++) {
		struct raw_mapping *m = &image->mappings.items[i];

		if (m->unmap_ns == INT64_MAX && m->map_ns <= unmap->time_ns &&
		    m->load_start >= unmap->load_start && m->load_end <= unmap->load_end)
			m->unmap_ns = unmap->time_ns;
	}
}

static void warning_take(struct image *image, const char *sentence)
{
	struct sn_decoder *decoder = image->decoder;
	struct sn_process_warning *known = decoder->warnings.items;

	for (size_t i = 0; i < decoder->warnings.count; i++, known++) {
		if (strcmp(known->sentence, sentence) != 0)
			continue;
		known->process_count += known->last_process != image->process;
		known->last_process = image->process;
		return;
	}
	sn_vec_push(
		&decoder->warnings,
		(struct sn_process_warning){ sentence, process_of(image)->pid, 1, image->process });
}

void sn_decoder_warning(struct sn_decoder *decoder, const struct sn_process_warning *warning)
{
	struct sn_process_warning *known = decoder->warnings.items;

	for (size_t i = 0; i < decoder->warnings.count; i++, known++)
		if (!strcmp(known->sentence, warning->sentence)) {
			known->process_count += warning->process_count;
			return;
		}
	sn_vec_push(&decoder->warnings, *warning);
	sn_vec_last(&decoder->warnings).last_process = SN_NONE;
}

static void text_decode(struct image *image, const struct sn_record_text *text)
{
	char *chars = sn_decode_record_text(image, text, text->text, text->text_bytes);

	switch (text->header.flags & ~SN_TEXT_CUT) {
	case SN_TEXT_ARGUMENT:
		sn_vec_push(&image->arguments, chars);
		break;
	case SN_TEXT_TITLE: /* the last one stays */
		process_of(image)->arguments = chars;
		image->has_title = true;
		break;
	case SN_TEXT_FOLDER:
		process_of(image)->folder = chars;
		break;
	case SN_TEXT_PROGRAM:
		process_of(image)->program = chars;
		break;
	case SN_TEXT_WARNING:
		warning_take(image, chars);
		break;
	default:
		break;
	}
}

static void segment_decode(struct image *image, const struct sn_record_stack *stack)
{
	uint32_t room = (stack->header.size_bytes - (uint32_t)sizeof(*stack)) / 8;

	if (stack->depth > room) {
		image->damaged++;
		return;
	}
	sn_vec_push(&image->segments, (struct segment){ stack, stack->id, SN_NONE });
	*sn_map_put(&image->segment_index, stack->id, NULL) = image->segments.count;
}

/* The thread's place, made (with those before it) if new. */
/* A thread begins with a record, unless there was no room for it: a larger number is damage, and must not
 * cost the memory of as many threads. */
static uint64_t threads_possible(const struct image *image)
{
	const uint64_t without_room = 1u << 14;

	return without_room + (uint64_t)image->chunk_count *
				      (SN_DATA_CHUNK_BYTES / sizeof(struct sn_record_thread_start));
}

struct sn_thread *sn_decode_thread_of(struct image *image, uint32_t thread_index)
{
	struct sn_experiment *e = image->decoder->experiment;
	uint64_t wanted = (uint64_t)image->first_thread + thread_index;
	const struct sn_time_account unknown = { -1, -1, -1, -1, -1 };

	if (thread_index >= threads_possible(image))
		return NULL;
	while (e->threads.count <= wanted)
		sn_vec_push(&e->threads, (struct sn_thread){ .process = image->process,
							     .tid = -1,
							     .name = "",
							     .start_ns = INT64_MAX,
							     .end_ns = INT64_MIN,
							     .account = unknown });
	return &e->threads.items[wanted];
}

struct thread_facts *sn_decode_facts_of(struct image *image, uint32_t thread_index)
{
	while (image->facts.count <= thread_index)
		sn_vec_push(&image->facts, (struct thread_facts){ .seen_ns = INT64_MIN });
	return &image->facts.items[thread_index];
}

static void thread_start_decode(struct image *image, const struct sn_record_thread_start *start)
{
	struct sn_thread *thread = sn_decode_thread_of(image, start->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	thread->tid = start->tid;
	thread->start_ns = bounded(start->time_ns) + image->offset_ns;
	thread->since_made_ns = start->since_made_ns;
	/* it was there before what it made */
	if (start->creator_index < start->thread_index)
		thread->creator = image->first_thread + start->creator_index + 1;
}

/* The latest counts, wherever it stands: a thread goes on in chunks that ended ones have left, which may have
 * begun before its own. */
static void account_take(struct image *image, struct sn_thread *thread,
			 const struct sn_record_thread_account *a)
{
	int64_t end_ns = bounded(a->time_ns) + image->offset_ns, known;
	bool is_older = end_ns < thread->end_ns;

	if (a->wait_cpu_ns >= 0 && (!is_older || thread->account.wait_cpu_ns < 0))
		thread->account.wait_cpu_ns = bounded(a->wait_cpu_ns);
	if (is_older)
		return;
	thread->end_ns = end_ns;
	thread->allowed_cpus = a->header.flags ? a->header.flags : thread->allowed_cpus;
	thread->account.user_ns = bounded(a->user_ns);
	thread->account.system_ns = bounded(a->system_ns);
	if (a->voluntary_switches + a->involuntary_switches)
		thread->context_switches = a->voluntary_switches + a->involuntary_switches;
	if (a->name[0])
		thread->name = sn_arena_strndup(&image->decoder->experiment->arena, a->name,
						strnlen(a->name, sizeof(a->name)));
	/* The exact total is the thread's clock; rusage only splits it. */
	known = thread->account.user_ns + thread->account.system_ns;
	if (bounded(a->cpu_ns) > known)
		thread->account.user_ns =
			bounded(thread->account.user_ns + bounded(a->cpu_ns) - known);
}

static void thread_account_decode(struct image *image, const struct sn_record_thread_account *a)
{
	struct sn_thread *thread = sn_decode_thread_of(image, a->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	if (a->header.type == SN_RECORD_THREAD_END)
		sn_decode_facts_of(image, a->thread_index)->has_end = true;
	account_take(image, thread, a);
}

/* The launcher's accounts know the tid only: of the threads that had it, the latest that had begun.
 * They count where the thread itself has written nothing later. */
void sn_decode_tasks_take(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;

	for (size_t i = 0; i < image->tasks.count; i++) {
		const struct sn_record_thread_account *task = image->tasks.items[i];
		int64_t time_ns = bounded(task->time_ns) + image->offset_ns;
		size_t found = SIZE_MAX;

		for (size_t t = image->first_thread; t < e->threads.count; t++) {
			const struct sn_thread *thread = &e->threads.items[t];

			if (thread->tid == (int32_t)task->thread_index &&
			    thread->start_ns <= time_ns &&
			    (found == SIZE_MAX ||
			     thread->start_ns > e->threads.items[found].start_ns))
				found = t;
		}
		if (found == SIZE_MAX || e->threads.items[found].end_ns > time_ns)
			continue;
		struct thread_facts *facts =
			sn_decode_facts_of(image, (uint32_t)(found - image->first_thread));

		if (!facts->has_end) {
			facts->seen_ns = time_ns;
			account_take(image, &e->threads.items[found], task);
		}
	}
}

static void packet_decode(struct image *image, const struct sn_record_packet *p)
{
	struct sn_packet packet = { .time_ns = bounded(p->time_ns) + image->offset_ns,
				    .process = image->process,
				    .kind = p->header.flags < SN_PACKET_KINDS
						    ? (enum sn_packet_kind)p->header.flags
						    : SN_PACKET_PERIODIC,
				    .user_ns = p->user_ns,
				    .system_ns = p->system_ns,
				    .wait_cpu_ns = p->wait_cpu_ns,
				    .minor_faults = p->minor_faults,
				    .major_faults = p->major_faults,
				    .voluntary_switches = p->voluntary_switches,
				    .involuntary_switches = p->involuntary_switches,
				    .resident_bytes = p->resident_bytes,
				    .io_read_bytes = -1,
				    .io_write_bytes = -1,
				    .pressure_cpu_ns = -1,
				    .pressure_io_ns = -1,
				    .pressure_memory_ns = -1 };

	if (p->header.size_bytes >= sizeof(*p)) {
		packet.io_read_bytes = p->io_read_bytes;
		packet.io_write_bytes = p->io_write_bytes;
		packet.pressure_cpu_ns = p->pressure_cpu_ns;
		packet.pressure_io_ns = p->pressure_io_ns;
		packet.pressure_memory_ns = p->pressure_memory_ns;
		if (packet.kind == SN_PACKET_LABEL)
			packet.label = sn_decode_record_text(image, p, p->label, p->label_bytes);
	}
	if (packet.kind == SN_PACKET_PAUSE)
		image->decoder->experiment->is_windowed = true;
	sn_vec_push(&image->decoder->experiment->packets, packet);
}

static void exec_decode(struct image *image, const struct sn_record_exec *exec)
{
	struct sn_experiment *e = image->decoder->experiment;
	const char *why = exec->header.flags & SN_RECORD_EXEC_SETUID	? "it is setuid"
			  : exec->header.flags & SN_RECORD_EXEC_STATIC	? "it is static"
			  : exec->header.flags & SN_RECORD_EXEC_FOREIGN ? "it is not x86-64 code"
			  : exec->header.flags & SN_RECORD_EXEC_NOT_FOLLOWED
				  ? "--follow leaves it out"
				  : NULL;

	if (!why || (exec->header.flags & SN_RECORD_EXEC_FAILED))
		return;
	e->processes_not_measured++;
	sn_vec_push(&e->warnings,
		    sn_arena_printf(
			    &e->arena, "not measured: %s, because %s",
			    sn_decode_record_text(image, exec, exec->path, exec->path_bytes), why));
}

static void killed_decode(struct image *image, const struct sn_record_child_killed *record)
{
	const struct sn_process *waiter = process_of(image);
	struct sn_process_killed killed = { record->child_pid, waiter->pid, record->signal,
					    bounded(record->time_ns) + image->offset_ns,
					    waiter->host };

	if (record->signal > 0 && record->signal <= SN_SIGNAL_MOST)
		sn_vec_push(&image->decoder->killed, killed);
}

void sn_decode_facts(struct image *image, const struct owner *owner, const void *record)
{
	switch (((const struct sn_record_header *)record)->type) {
	case SN_RECORD_STACK:
		segment_decode(image, record);
		break;
	case SN_RECORD_MAP:
		map_decode(image, record);
		break;
	case SN_RECORD_UNMAP:
		unmap_decode(image, record);
		break;
	case SN_RECORD_TEXT:
		text_decode(image, record);
		break;
	case SN_RECORD_THREAD_START:
		thread_start_decode(image, record);
		break;
	case SN_RECORD_THREAD_ACCOUNT:
	case SN_RECORD_THREAD_END:
		thread_account_decode(image, record);
		break;
	case SN_RECORD_TASK:
		sn_vec_push(&image->tasks, record);
		break;
	case SN_RECORD_PACKET:
		packet_decode(image, record);
		break;
	case SN_RECORD_PATH:
		sn_decode_path(image, owner, record);
		break;
	case SN_RECORD_ACCESS_TABLE:
		sn_decode_access_table(image, record);
		break;
	case SN_RECORD_COUNTER:
		sn_decode_counter(image, record);
		break;
	case SN_RECORD_EXEC:
		exec_decode(image, record);
		break;
	case SN_RECORD_CHILD_KILLED:
		killed_decode(image, record);
		break;
	default:
		break;
	}
}
