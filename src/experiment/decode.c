#include "experiment/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "wire/data.h"

/* The wire's numbers and the model's are the same, so that flags need no translation. */
_Static_assert((int)SN_DATA_LOSS_KINDS == (int)SN_LOSS_KINDS, "losses");
_Static_assert((int)SN_RECORD_SAMPLE_LATE == (int)SN_SAMPLE_LATE, "sample flags");

enum { FRAMES_MAX = 1 << 16, SEGMENTS_MAX = 1 << 12 };

/* One stack segment of the file, and what became of it. */
struct segment {
	const struct sn_record_stack *record; /* NULL: no such id */
	uint32_t stack;			      /* index in the experiment, SN_NONE: not yet */
};

struct raw_mapping {
	uint64_t load_start, load_end, load_bias;
	int64_t map_ns, unmap_ns; /* CLOCK_MONOTONIC */
	uint32_t module;
};

/* What is known of a thread while its image is being decoded. */
struct thread_facts {
	bool has_end;
	int64_t seen_ns; /* latest look at it by the launcher; INT64_MIN: none */
	uint64_t sampled_user_ns, sampled_system_ns;
};

/* One process image being decoded. */
struct image {
	struct sn_decoder *decoder;
	const struct sn_data_header *header;
	const uint8_t *bytes;
	uint32_t chunk_count;
	uint32_t process; /* index */
	uint32_t first_thread;
	int64_t offset_ns;	     /* to be added to its times */
	struct sn_map segment_index; /* id -> index in segments + 1 */
	SN_VEC(struct segment) segments;
	SN_VEC(struct raw_mapping) mappings; /* by load_start, then map_ns */
	SN_VEC(const char *) arguments;
	SN_VEC(struct sn_frame) frames;			       /* scratch */
	SN_VEC(struct thread_facts) facts;		       /* by thread index */
	SN_VEC(const struct sn_record_thread_account *) tasks; /* the launcher's, by tid */
	SN_VEC(size_t) open_waits;			       /* in the experiment's waits */
	uint64_t damaged;
	int64_t last_ns; /* latest time seen, for files that did not end */
};

/* A time of a damaged file may be any number; within these bounds sums of three do not overflow. */
static int64_t bounded(int64_t ns)
{
	const int64_t most_ns = (int64_t)1 << 61; /* 73 years: CLOCK_REALTIME fits */

	return ns > most_ns ? most_ns : ns < -most_ns ? -most_ns : ns;
}

static struct sn_process *process_of(struct image *image)
{
	return &image->decoder->experiment->processes.items[image->process];
}

/* ---- walking records ---- */

struct owner {
	uint32_t thread_index;
	int32_t tid;
	int64_t base_ns;
	uint64_t extra_cpu_ns;
	bool is_known;
};

typedef void (*record_fn)(struct image *image, const struct owner *owner, const void *record);

static const struct sn_chunk_header *chunk_of(const struct image *image, uint32_t index)
{
	return (const void *)(image->bytes + sn_data_chunk_offset(index));
}

static uint32_t chunk_committed(const struct image *image, uint32_t index)
{
	const struct sn_chunk_header *chunk = chunk_of(image, index);
	uint32_t committed = atomic_load_explicit(&chunk->committed_bytes, memory_order_acquire);

	if (chunk->magic != SN_CHUNK_MAGIC || committed < sizeof(*chunk) ||
	    committed > SN_DATA_CHUNK_BYTES)
		return 0;
	return committed;
}

static size_t record_minimum(uint8_t type)
{
	static const size_t least[SN_RECORD_KINDS] = {
		[SN_RECORD_SAMPLE] = sizeof(struct sn_record_sample),
		[SN_RECORD_OWNER] = sizeof(struct sn_record_owner),
		[SN_RECORD_TIME] = sizeof(struct sn_record_time),
		[SN_RECORD_CPU] = sizeof(struct sn_record_cpu),
		[SN_RECORD_STACK] = sizeof(struct sn_record_stack),
		[SN_RECORD_MAP] = sizeof(struct sn_record_map),
		[SN_RECORD_UNMAP] = sizeof(struct sn_record_unmap),
		[SN_RECORD_THREAD_START] = sizeof(struct sn_record_thread_start),
		[SN_RECORD_THREAD_ACCOUNT] = sizeof(struct sn_record_thread_account),
		[SN_RECORD_THREAD_END] = sizeof(struct sn_record_thread_account),
		[SN_RECORD_WAIT] = sizeof(struct sn_record_wait),
		[SN_RECORD_PACKET] = sizeof(struct sn_record_packet),
		[SN_RECORD_TEXT] = sizeof(struct sn_record_text),
		[SN_RECORD_EXEC] = sizeof(struct sn_record_exec),
		[SN_RECORD_FORK] = sizeof(struct sn_record_fork),
		[SN_RECORD_TASK] = sizeof(struct sn_record_thread_account),
	};

	return type < SN_RECORD_KINDS ? least[type] : 0;
}

/* The text of a record whose fixed part is `fixed` bytes, cut to what the record holds. */
static char *record_text(struct image *image, const void *record, const char *text, uint32_t bytes)
{
	const struct sn_record_header *header = record;
	size_t before = (size_t)(text - (const char *)record);
	size_t room = header->size_bytes > before ? header->size_bytes - before : 0;

	if (bytes > room) {
		image->damaged++;
		bytes = (uint32_t)room;
	}
	return sn_arena_strndup(&image->decoder->experiment->arena, text, bytes);
}

static void owner_update(struct owner *owner, const void *record)
{
	const struct sn_record_header *header = record;

	if (header->type == SN_RECORD_OWNER) {
		const struct sn_record_owner *o = record;

		*owner = (struct owner){ o->thread_index, o->tid, o->base_ns, 0, true };
	} else if (header->type == SN_RECORD_TIME) {
		owner->base_ns = ((const struct sn_record_time *)record)->base_ns;
	} else if (header->type == SN_RECORD_CPU) {
		owner->extra_cpu_ns += ((const struct sn_record_cpu *)record)->cpu_ns;
	}
}

static void chunk_walk(struct image *image, uint32_t index, record_fn visit)
{
	const uint8_t *bytes = (const uint8_t *)chunk_of(image, index);
	uint32_t committed = chunk_committed(image, index), at = sizeof(struct sn_chunk_header);
	struct owner owner = { 0 };

	while (at < committed) {
		const struct sn_record_header *header = (const void *)(bytes + at);
		uint32_t size = sn_record_bytes(header, committed - at);

		if (!size || size < record_minimum(header->type)) {
			image->damaged++;
			return;
		}
		owner_update(&owner, header);
		visit(image, &owner, header);
		if (header->type == SN_RECORD_SAMPLE)
			owner.extra_cpu_ns = 0;
		at += size;
	}
}

/* When the first owner of a chunk began to write to it; 0 if that cannot be read. */
static int64_t chunk_base_ns(const struct image *image, uint32_t index)
{
	const struct sn_record_owner *owner = (const void *)(chunk_of(image, index) + 1);

	if (chunk_committed(image, index) < sizeof(struct sn_chunk_header) + sizeof(*owner) ||
	    owner->header.type != SN_RECORD_OWNER)
		return 0;
	return owner->base_ns;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct image *image = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t tx = chunk_base_ns(image, x), ty = chunk_base_ns(image, y);

	return tx != ty ? (tx > ty) - (tx < ty) : (x > y) - (x < y);
}

static void chunks_walk(struct image *image, record_fn visit)
{
	uint32_t *order = sn_alloc_zeroed(image->chunk_count, sizeof(*order));
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->chunk_count; i++) {
		if (chunk_committed(image, i))
			order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), by_time, image);
	for (uint32_t i = 0; i < count; i++)
		chunk_walk(image, order[i], visit);
	free(order);
}

/* ---- first pass: what others refer to ---- */

static uint32_t module_of(struct image *image, const char *path, const char *build_id,
			  enum sn_module_kind kind, bool is_main)
{
	struct sn_experiment *e = image->decoder->experiment;
	uint64_t hash = sn_hash_bytes(path, strlen(path)) ^
			sn_hash_u64(sn_hash_bytes(build_id, strlen(build_id)));
	bool is_new;
	uint64_t *place = sn_map_put(&image->decoder->modules, hash, &is_new);

	if (is_new) {
		const char *slash = strrchr(path, '/');
		struct sn_module module = { .path = sn_arena_strdup(&e->arena, path),
					    .build_id = sn_arena_strdup(&e->arena, build_id),
					    .kind = kind };

		module.name = slash && slash[1] ? module.path + (slash + 1 - path) : module.path;
		sn_vec_push(&e->modules, module);
		*place = e->modules.count;
	}
	e->modules.items[*place - 1].is_main |= is_main;
	return (uint32_t)*place - 1;
}

static void map_decode(struct image *image, const struct sn_record_map *map)
{
	char *path = record_text(image, map, map->path, map->path_bytes);
	struct raw_mapping mapping = { map->load_start, map->load_end, map->load_bias,
				       map->time_ns,	INT64_MAX,     0 };
	enum sn_module_kind kind = SN_MODULE_FILE;
	char build_id[65] = "";

	for (int i = 0; i < map->build_id_bytes && i < 32; i++)
		snprintf(build_id + 2 * i, 3, "%02x", map->build_id[i]);
	if (map->header.flags & SN_RECORD_MAP_VDSO) {
		kind = SN_MODULE_VDSO;
		path = (char *)"[vdso]";
	} else if (map->header.flags & SN_RECORD_MAP_ANONYMOUS) {
		kind = SN_MODULE_JIT;
		path = (char *)"[jit]";
		mapping.load_bias = 0; /* generated code has no other address than its own */
	}
	mapping.module =
		module_of(image, path, build_id, kind, map->header.flags & SN_RECORD_MAP_MAIN);
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

static void text_decode(struct image *image, const struct sn_record_text *text)
{
	struct sn_experiment *e = image->decoder->experiment;
	char *chars = record_text(image, text, text->text, text->text_bytes);

	switch (text->header.flags & ~SN_TEXT_CUT) {
	case SN_TEXT_ARGUMENT:
		sn_vec_push(&image->arguments, chars);
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
	case SN_TEXT_LABEL:
		if (e->packets.count && sn_vec_last(&e->packets).process == image->process)
			sn_vec_last(&e->packets).label = chars;
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
	sn_vec_push(&image->segments, (struct segment){ stack, SN_NONE });
	*sn_map_put(&image->segment_index, stack->id, NULL) = image->segments.count;
}

/* The thread's place, made (with those before it) if new. */
static struct sn_thread *thread_of(struct image *image, uint32_t thread_index)
{
	struct sn_experiment *e = image->decoder->experiment;
	uint64_t wanted = (uint64_t)image->first_thread + thread_index;
	const struct sn_time_account unknown = { -1, -1, -1, -1, -1 };

	if (thread_index > 1u << 24)
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

static struct thread_facts *facts_of(struct image *image, uint32_t thread_index)
{
	while (image->facts.count <= thread_index)
		sn_vec_push(&image->facts, (struct thread_facts){ .seen_ns = INT64_MIN });
	return &image->facts.items[thread_index];
}

static void thread_start_decode(struct image *image, const struct sn_record_thread_start *start)
{
	struct sn_thread *thread = thread_of(image, start->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	thread->tid = start->tid;
	thread->start_ns = bounded(start->time_ns) + image->offset_ns;
}

static void account_take(struct image *image, struct sn_thread *thread,
			 const struct sn_record_thread_account *a)
{
	int64_t known;

	thread->end_ns = bounded(a->time_ns) + image->offset_ns;
	thread->account.user_ns = bounded(a->user_ns);
	thread->account.system_ns = bounded(a->system_ns);
	if (a->wait_cpu_ns >= 0)
		thread->account.wait_cpu_ns = bounded(a->wait_cpu_ns);
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
	struct sn_thread *thread = thread_of(image, a->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	if (a->header.type == SN_RECORD_THREAD_END)
		facts_of(image, a->thread_index)->has_end = true;
	account_take(image, thread, a);
}

/* The launcher's accounts know the tid only: of the threads that had it, the latest that had begun.
 * They count where the thread itself has written nothing later. */
static void tasks_take(struct image *image)
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
			facts_of(image, (uint32_t)(found - image->first_thread));

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
				    .user_ns = p->user_ns,
				    .system_ns = p->system_ns,
				    .wait_cpu_ns = p->wait_cpu_ns,
				    .minor_faults = p->minor_faults,
				    .major_faults = p->major_faults,
				    .voluntary_switches = p->voluntary_switches,
				    .involuntary_switches = p->involuntary_switches,
				    .resident_bytes = p->resident_bytes };

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
		    sn_arena_printf(&e->arena, "not measured: %s, because %s",
				    record_text(image, exec, exec->path, exec->path_bytes), why));
}

static void visit_first(struct image *image, const struct owner *owner, const void *record)
{
	(void)owner;
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
	case SN_RECORD_EXEC:
		exec_decode(image, record);
		break;
	default:
		break;
	}
}

/* ---- frames ---- */

static int mappings_compare(const void *a, const void *b)
{
	const struct raw_mapping *x = a, *y = b;

	if (x->load_start != y->load_start)
		return x->load_start < y->load_start ? -1 : 1;
	return (x->map_ns > y->map_ns) - (x->map_ns < y->map_ns);
}

/* Of the mappings around an address the one that was there at the time; else the latest of them. */
static const struct raw_mapping *mapping_at(const struct image *image, uint64_t load_addr,
					    int64_t time_ns)
{
	size_t low = 0, high = image->mappings.count;
	const struct raw_mapping *any = NULL;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->mappings.items[middle].load_start <= load_addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i < 4096;) {
		const struct raw_mapping *m = &image->mappings.items[i];

		if (load_addr >= m->load_end)
			continue;
		if (time_ns >= m->map_ns && time_ns < m->unmap_ns)
			return m;
		if (!any)
			any = m;
	}
	return any;
}

static void frame_push(struct image *image, uint64_t pc, bool is_leaf, int64_t time_ns)
{
	/* A return address may be the first byte after its mapping: the call is what lies in it. */
	const struct raw_mapping *m = mapping_at(image, is_leaf ? pc : pc - 1, time_ns);
	struct sn_frame frame = { 0, pc };

	if (m) {
		frame.module = m->module;
		frame.link_addr = pc - m->load_bias;
	} else {
		frame.module = module_of(image, "[unknown]", "", SN_MODULE_UNKNOWN, false);
	}
	sn_vec_push(&image->frames, frame);
}

static struct segment *segment_find(struct image *image, uint32_t id)
{
	uint64_t *place = id ? sn_map_get(&image->segment_index, id) : NULL;

	return place ? &image->segments.items[*place - 1] : NULL;
}

/* The experiment's stack for a stack id of the file; frames are resolved as of its first use. */
static uint32_t stack_of(struct image *image, uint32_t id, int64_t time_ns)
{
	struct segment *first = segment_find(image, id);
	uint32_t flags = 0, outermost = 0;
	unsigned segments = 0;

	if (!first)
		return SN_NONE;
	if (first->stack != SN_NONE)
		return first->stack;
	image->frames.count = 0;
	for (const struct segment *s = first; s && segments++ < SEGMENTS_MAX;
	     s = segment_find(image, s->record->parent)) {
		outermost = s->record->header.flags;
		flags |= outermost & ~(uint32_t)SN_STACK_COMPLETE;
		for (uint32_t i = 0; i < s->record->depth && image->frames.count < FRAMES_MAX; i++)
			frame_push(image, s->record->pc[i], image->frames.count == 0, time_ns);
	}
	flags |= outermost & SN_STACK_COMPLETE;
	first->stack =
		sn_experiment_add_stack(image->decoder->experiment, image->process,
					image->frames.items, (uint32_t)image->frames.count, flags);
	return first->stack;
}

/* ---- second pass: samples and waits ---- */

static void sample_decode(struct image *image, const struct owner *owner,
			  const struct sn_record_sample *record)
{
	int64_t time_ns = bounded(owner->base_ns) + record->time_ns;
	struct sn_sample sample = { .time_ns = time_ns + image->offset_ns,
				    .cpu_ns = owner->extra_cpu_ns + record->cpu_ns,
				    .thread = image->first_thread + owner->thread_index,
				    .stack = stack_of(image, record->stack, time_ns),
				    .cpu = record->cpu,
				    .flags = record->flags };
	struct sn_thread *thread = thread_of(image, owner->thread_index);

	if (!thread) {
		image->damaged++;
		return;
	}
	if (thread->tid < 0)
		thread->tid = owner->tid;
	if (sample.time_ns > image->last_ns)
		image->last_ns = sample.time_ns;
	if (sample.time_ns > thread->end_ns)
		thread->end_ns = sample.time_ns;
	struct thread_facts *facts = facts_of(image, owner->thread_index);
	if (sample.flags & SN_SAMPLE_SYSTEM)
		facts->sampled_system_ns += sample.cpu_ns;
	else
		facts->sampled_user_ns += sample.cpu_ns;
	sn_vec_push(&image->decoder->experiment->samples, sample);
}

static void wait_decode(struct image *image, const struct owner *owner,
			const struct sn_record_wait *record)
{
	uint8_t kind = record->header.flags;
	struct sn_wait wait = { .time_ns = bounded(record->time_ns) + image->offset_ns,
				.duration_ns = record->duration_ns,
				.thread = image->first_thread + owner->thread_index,
				.stack = stack_of(image, record->stack, record->time_ns),
				.kind = kind < SN_WAIT_KINDS ? kind : SN_WAIT_OTHER };

	if (kind & SN_RECORD_WAIT_VOID)
		return;
	if (!thread_of(image, owner->thread_index)) {
		image->damaged++;
		return;
	}
	if (wait.duration_ns == SN_RECORD_WAIT_OPEN)
		sn_vec_push(&image->open_waits, image->decoder->experiment->waits.count);
	sn_vec_push(&image->decoder->experiment->waits, wait);
}

static void visit_second(struct image *image, const struct owner *owner, const void *record)
{
	uint8_t type = ((const struct sn_record_header *)record)->type;

	if (type != SN_RECORD_SAMPLE && type != SN_RECORD_WAIT)
		return;
	if (!owner->is_known)
		image->damaged++;
	else if (type == SN_RECORD_SAMPLE)
		sample_decode(image, owner, record);
	else
		wait_decode(image, owner, record);
}

/* ---- the process ---- */

static const char *mechanism_name(uint32_t mechanism)
{
	static const char *const names[] = { "off", "perf-signal", "thread-timer", "itimer-prof",
					     "perf-ring" };

	return mechanism < sizeof(names) / sizeof(*names) ? names[mechanism] : "unknown";
}

static void process_begin(struct image *image)
{
	struct sn_experiment *e = image->decoder->experiment;
	const struct sn_data_header *h = image->header;
	struct sn_process process = {
		.pid = h->pid,
		.parent_pid = h->parent_pid,
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
		.clock_mechanism = mechanism_name(h->mechanism),
		.rate_hz = h->period_ns ? 1e9 / (double)h->period_ns : 0,
		.raw_clone_threads = h->raw_clone_threads,
		.handler_ns = h->handler_ns,
		.overhead_ns = h->overhead_ns,
		.follows_exec = h->follows_exec == 1,
	};

	image->offset_ns = image->decoder->has_clock_offset
				   ? image->decoder->clock_offset_ns
				   : bounded(h->start_realtime_ns) - bounded(h->start_ns);
	image->offset_ns = bounded(image->offset_ns);
	process.start_ns = bounded(process.start_ns) + image->offset_ns;
	for (int i = 0; i < SN_LOSS_KINDS; i++)
		process.losses[i] = h->lost[i];
	image->process = (uint32_t)e->processes.count;
	image->first_thread = (uint32_t)e->threads.count;
	image->last_ns = process.start_ns;
	sn_vec_push(&e->processes, process);
}

/* The kernel counts a thread through exec: what it used in earlier images belongs to these. */
static void account_since_exec(struct image *image, struct sn_thread *thread)
{
	const struct sn_data_header *h = image->header;
	struct sn_time_account *account = &thread->account;
	int64_t before_ns = bounded(h->start_user_ns) + bounded(h->start_system_ns);
	int64_t used_ns = bounded(account->user_ns + account->system_ns) - before_ns;

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

/* A thread that did not write its end, because the process was killed: it was there until then if
 * it was seen not long before, and had used what its samples say at least. */
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
				 facts_of(image, (uint32_t)(i - image->first_thread)));
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
	if (line.chars)
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
		e->is_salvaged = true;
		sn_vec_push(&e->warnings,
			    sn_arena_printf(&e->arena,
					    "process %d: %llu damaged records were left out; the "
					    "file was changed after it was written",
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
	chunks_walk(&image, visit_first);
	tasks_take(&image);
	if (image.mappings.count)
		qsort(image.mappings.items, image.mappings.count, sizeof(*image.mappings.items),
		      mappings_compare);
	/* Both passes count damage; the first has seen it all. */
	uint64_t damaged = image.damaged;

	chunks_walk(&image, visit_second);
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

void sn_decode_data(struct sn_decoder *decoder, const uint8_t *bytes, size_t length,
		    const char *name)
{
	struct sn_experiment *e = decoder->experiment;
	size_t at = 0;

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
			e->is_salvaged = true;
			sn_vec_push(
				&e->warnings,
				sn_arena_printf(&e->arena,
						"'%s': no data begin at byte %zu; %zu bytes were "
						"passed over",
						name, at, passed));
			at = next;
			continue;
		}
		if (chunks < header->next_chunk && chunks < header->chunks_backed) {
			e->is_salvaged = true;
			sn_vec_push(
				&e->warnings,
				sn_arena_printf(&e->arena,
						"'%s' is cut short: %u of %u pieces of process %d "
						"are there; the recording was probably killed",
						name, chunks, header->next_chunk, header->pid));
		}
		image_decode(decoder, bytes + at, chunks);
		at += sn_data_file_bytes(chunks);
	}
}

void sn_decoder_finish(struct sn_decoder *decoder)
{
	struct sn_experiment *e = decoder->experiment;

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
