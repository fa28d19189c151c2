/* From a perf.data file to an experiment: the same records that the sampler from outside writes
 * (wire/data.h), so that everything that reads experiments reads imports. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "code/image.h"
#include "exchange/perf_data.h"
#include "experiment/experiment.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "unwind/module.h"
#include "unwind/stack_flags.h"
#include "wire/writer.h"

enum {
	DEPTH_MAX = 512,
	CHUNKS_PER_PROCESS = 1 << 20, /* 8 GB of address space, used as it fills */
	PROCESSES_MAX = 10000,
	MARKER_COUNT = 4095, /* the highest addresses stand for contexts in callchains */
};
/* linux/perf_event.h: enum perf_callchain_context */
static const uint64_t CONTEXT_KERNEL = (uint64_t)-128, CONTEXT_USER = (uint64_t)-512;

/* A file that some process had mapped. */
struct file {
	const char *path;
	struct sn_image *image;	   /* NULL: not here any more */
	struct sn_file_view bytes; /* for unwinding */
	const uint8_t *build_id;   /* as recorded; NULL: not */
	uint8_t build_id_bytes;
};

struct mapping {
	uint64_t load_start, load_end, load_bias, file_offset;
	uint32_t file;
};

struct thread {
	struct sn_writer writer;
	int32_t tid;
	int64_t first_ns, last_ns;
	uint64_t user_ns, system_ns;
	char name[16];
};

struct process {
	int32_t pid, parent_pid;
	struct sn_writer_file file;
	int64_t first_ns, last_ns;
	SN_VEC(struct thread *) threads; /* their writers must not move */
	SN_VEC(struct mapping) mappings;
	SN_VEC(struct sn_unwind_module)
	modules; /* of the mappings, sorted; rebuilt when they change */
	bool modules_are_current, program_is_due;
	uint32_t generation;
	struct sn_map stacks; /* hash of pcs and flags -> id */
	uint32_t stack_count;
	char name[16]; /* threads begin with their creator's */
};

struct importer {
	struct sn_perf_data data;
	struct sn_perf_import_result *result;
	struct sn_arena arena;
	SN_VEC(struct file) files;
	struct sn_map file_of; /* hash of the path -> file + 1 */
	SN_VEC(struct process *) processes;
	struct sn_map process_of; /* pid -> process + 1 */
	struct sn_map thread_of;  /* pid, tid -> thread + 1 within its process */
	uint64_t lost, missing_files, changed_files;
	double ns_per_period;
	int64_t start_ns;
	uint64_t pcs[DEPTH_MAX];
};

__attribute__((format(printf, 2, 3))) static void warn(struct importer *im, const char *format, ...)
{
	struct sn_text text = { 0 };
	char words[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	sn_text_add(&text, words);
	sn_vec_push(&im->result->warnings, sn_text_take(&text));
}

/* ---- files and mappings ---- */

/** Whether what lies at the path now is what was mapped then; an unknown identity is taken for it.
 */
static bool is_same_file(const struct file *file)
{
	const char *now = sn_image_id(file->image);
	char then[41] = "";

	if (!file->build_id || !file->build_id_bytes || !sn_image_has_build_id(file->image))
		return true;
	for (unsigned i = 0; i < file->build_id_bytes; i++)
		snprintf(then + 2 * i, 3, "%02x", file->build_id[i]);
	return !strncmp(now, then, strlen(then));
}

static void open_file(struct importer *im, struct file *file)
{
	struct sn_image_options options = { .only_this_file = true };

	if (file->path[0] != '/')
		return;
	if (sn_image_open(file->path, &options, &file->image, NULL) != SN_OK) {
		im->missing_files++;
		return;
	}
	if (!is_same_file(file)) {
		im->changed_files++;
		sn_image_free(file->image);
		file->image = NULL;
		return;
	}
	if (im->data.has_stacks && sn_file_map(file->path, &file->bytes, NULL) != SN_OK)
		memset(&file->bytes, 0, sizeof(file->bytes));
}

static uint32_t find_file(struct importer *im, const struct sn_perf_event *e)
{
	uint64_t *slot = sn_map_put(&im->file_of, sn_hash_bytes(e->name, strlen(e->name)), NULL);
	struct file file = { .path = sn_arena_strdup(&im->arena, e->name),
			     .build_id = e->build_id,
			     .build_id_bytes = e->build_id_bytes };

	if (*slot)
		return (uint32_t)*slot - 1;
	for (size_t i = 0; i < im->data.build_ids.count && !file.build_id; i++)
		if (!strcmp(im->data.build_ids.items[i].path, file.path)) {
			file.build_id = im->data.build_ids.items[i].bytes;
			file.build_id_bytes = im->data.build_ids.items[i].length;
		}
	open_file(im, &file);
	*slot = im->files.count + 1;
	sn_vec_push(&im->files, file);
	return (uint32_t)*slot - 1;
}

/** Without the file a link address is taken to be its place in the file, as most linkers lay it out
 *  for code of shared objects. */
static uint64_t bias_of(const struct file *file, const struct sn_perf_event *e)
{
	uint64_t link_addr =
		file->image ? sn_image_link_addr(file->image, e->file_offset) : UINT64_MAX;

	return e->load_addr - (link_addr == UINT64_MAX ? e->file_offset : link_addr);
}

/* ---- records ---- */

/** Room in the process's file; there is always some, as address space was set aside. */
static void *reserve(struct sn_writer *writer, size_t bytes, int64_t now_ns)
{
	return sn_writer_reserve(writer, (uint32_t)bytes, now_ns);
}

static struct thread *main_thread(struct process *p)
{
	return p->threads.items[0];
}

static void write_mapping(struct importer *im, struct process *p, const struct mapping *m,
			  int64_t time_ns)
{
	const struct file *file = &im->files.items[m->file];
	size_t path_bytes = strnlen(file->path, SN_DATA_STRING_MAX);
	size_t bytes = (sizeof(struct sn_record_map) + path_bytes + 1 + 7) & ~(size_t)7;
	struct sn_writer *writer = &main_thread(p)->writer;
	struct sn_record_map *map = reserve(writer, bytes, time_ns);

	if (!map)
		return;
	memset(map, 0, bytes);
	map->header.type = SN_RECORD_MAP;
	map->header.size_bytes = (uint16_t)bytes;
	if (!strcmp(file->path, "[vdso]"))
		map->header.flags = SN_RECORD_MAP_VDSO;
	else if (file->path[0] != '/' || !strncmp(file->path, "//anon", 6))
		map->header.flags = SN_RECORD_MAP_ANONYMOUS;
	if (p->program_is_due && file->path[0] == '/' && file->image &&
	    sn_image_facts(file->image).is_executable) {
		struct sn_data_header *header = sn_writer_header(&p->file);

		map->header.flags |= SN_RECORD_MAP_MAIN;
		p->program_is_due = false;
		snprintf(header->program, sizeof(header->program), "%s", file->path);
	}
	map->path_bytes = (uint32_t)path_bytes;
	map->time_ns = time_ns;
	map->load_start = m->load_start;
	map->load_end = m->load_end;
	map->load_bias = m->load_bias;
	map->file_offset = m->file_offset;
	if (file->build_id && file->build_id_bytes <= sizeof(map->build_id)) {
		map->build_id_bytes = file->build_id_bytes;
		memcpy(map->build_id, file->build_id, file->build_id_bytes);
	}
	memcpy(map->path, file->path, path_bytes);
	sn_writer_commit(writer, (uint32_t)bytes);
}

static void write_unmap(struct process *p, uint64_t start, uint64_t end, int64_t time_ns)
{
	struct sn_writer *writer = &main_thread(p)->writer;
	struct sn_record_unmap *unmap = reserve(writer, sizeof(*unmap), time_ns);

	if (!unmap)
		return;
	*unmap = (struct sn_record_unmap){ .header = { .type = SN_RECORD_UNMAP,
						       .size_bytes = sizeof(*unmap) },
					   .time_ns = time_ns,
					   .load_start = start,
					   .load_end = end };
	sn_writer_commit(writer, sizeof(*unmap));
}

/** Segments of at most SN_DATA_SEGMENT_MAX frames; the outermost is written first. */
static void write_stack(struct process *p, uint32_t id, const uint64_t *pcs, uint32_t depth,
			uint8_t flags, int64_t now_ns)
{
	struct sn_writer *writer = &main_thread(p)->writer;
	uint32_t parent = 0, segments = (depth + SN_DATA_SEGMENT_MAX - 1) / SN_DATA_SEGMENT_MAX;

	for (uint32_t s = segments; s-- > 0;) {
		uint32_t first = s * SN_DATA_SEGMENT_MAX;
		uint32_t count =
			depth - first < SN_DATA_SEGMENT_MAX ? depth - first : SN_DATA_SEGMENT_MAX;
		size_t bytes = sizeof(struct sn_record_stack) + count * sizeof(uint64_t);
		struct sn_record_stack *stack = reserve(writer, bytes, now_ns);

		if (!stack)
			return;
		*stack = (struct sn_record_stack){ .header = { .type = SN_RECORD_STACK,
							       .flags = s + 1 == segments ? flags
											  : 0,
							       .size_bytes = (uint16_t)bytes },
						   .id = s ? ++p->stack_count : id,
						   .parent = parent,
						   .depth = count };
		memcpy(stack->pc, pcs + first, count * sizeof(uint64_t));
		parent = stack->id;
		sn_writer_commit(writer, (uint32_t)bytes);
	}
}

/** The id of a stack; 0 for none. */
static uint32_t stack_id(struct process *p, const uint64_t *pcs, uint32_t depth, uint8_t flags,
			 int64_t now_ns)
{
	bool is_new;
	uint64_t *slot;
	uint64_t hash = sn_hash_bytes(pcs, depth * sizeof(*pcs)) ^ sn_hash_u64(flags + 1);

	if (!depth)
		return 0;
	slot = sn_map_put(&p->stacks, hash, &is_new);
	if (is_new) {
		uint32_t id = ++p->stack_count;

		*slot = id;
		write_stack(p, id, pcs, depth, flags, now_ns);
		return id;
	}
	return (uint32_t)*slot;
}

/* ---- processes and threads ---- */

static struct thread *add_thread(struct importer *im, struct process *p, int32_t tid,
				 int64_t now_ns)
{
	uint64_t key = (uint64_t)(uint32_t)p->pid << 32 | (uint32_t)tid;
	uint64_t *slot = sn_map_put(&im->thread_of, key, NULL);
	struct sn_record_thread_start *start;
	struct thread *thread;

	if (*slot)
		return p->threads.items[*slot - 1];
	thread = sn_alloc_zeroed(1, sizeof(*thread));
	thread->tid = tid;
	thread->first_ns = thread->last_ns = now_ns;
	memcpy(thread->name, p->name, sizeof(thread->name));
	thread->writer = (struct sn_writer){ .file = &p->file,
					     .thread_index = (uint32_t)p->threads.count,
					     .tid = tid };
	sn_vec_push(&p->threads, thread);
	*slot = p->threads.count;
	start = reserve(&thread->writer, sizeof(*start), now_ns);
	if (!start)
		return thread;
	*start = (struct sn_record_thread_start){ .header = { .type = SN_RECORD_THREAD_START,
							      .size_bytes = sizeof(*start) },
						  .thread_index = thread->writer.thread_index,
						  .tid = tid,
						  .creator_index = 0xffffffff,
						  .time_ns = now_ns };
	sn_writer_commit(&thread->writer, sizeof(*start));
	return thread;
}

static void begin_header(struct importer *im, struct process *p, int64_t now_ns)
{
	struct sn_data_header *header = sn_writer_header(&p->file);

	header->magic = SN_DATA_MAGIC;
	header->version = SN_DATA_VERSION;
	header->header_bytes = SN_DATA_HEADER_BYTES;
	header->chunk_bytes = SN_DATA_CHUNK_BYTES;
	header->state = SN_DATA_EXECED; /* the whole of it is here, but its status is not known */
	header->chunks_backed = header->chunks_max = CHUNKS_PER_PROCESS;
	header->origin = SN_DATA_ORIGIN_OUTSIDE;
	header->pid = p->pid;
	header->parent_pid = p->parent_pid;
	header->parent_sequence = 0xffffffff;
	header->rank = header->rank_count = -1;
	header->start_ns = header->process_start_ns = now_ns;
	header->exit_code = -1;
	header->mechanism = SN_MECHANISM_PERF_RING;
	header->end_wait_cpu_ns = -1;
	if (im->data.frequency_hz > 0)
		header->period_ns = (uint64_t)(1e9 / im->data.frequency_hz);
	else if (im->data.event_is_time)
		header->period_ns = im->data.sample_period;
	snprintf(header->host, sizeof(header->host), "%s",
		 im->data.hostname ? im->data.hostname : "unknown");
}

static struct process *find_process(struct importer *im, int32_t pid, int64_t now_ns)
{
	uint64_t *slot;
	struct process *p;
	void *base;

	if (pid < 0 || im->processes.count >= PROCESSES_MAX)
		return NULL;
	slot = sn_map_put(&im->process_of, (uint64_t)pid, NULL);
	if (*slot)
		return im->processes.items[*slot - 1];
	base = mmap(NULL, sn_data_file_bytes(CHUNKS_PER_PROCESS), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	p = sn_alloc_zeroed(1, sizeof(*p));
	p->pid = pid;
	p->file.base = base;
	p->file.half_full = SN_CHUNK_NONE;
	p->first_ns = p->last_ns = now_ns;
	p->program_is_due = true;
	begin_header(im, p, now_ns);
	sn_vec_push(&im->processes, p);
	*slot = im->processes.count;
	add_thread(im, p, pid, now_ns);
	return p;
}

/* ---- events ---- */

static void drop_mappings(struct process *p, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->mappings.count; i++)
		if (p->mappings.items[i].load_end <= start ||
		    p->mappings.items[i].load_start >= end)
			p->mappings.items[kept++] = p->mappings.items[i];
	p->mappings.count = kept;
	p->modules_are_current = false;
}

static void take_map(struct importer *im, const struct sn_perf_event *e)
{
	struct process *p =
		e->pid >= 0 && e->is_executable ? find_process(im, e->pid, e->time_ns) : NULL;
	struct mapping m = { .load_start = e->load_addr, .file_offset = e->file_offset };

	if (!p || __builtin_add_overflow(e->load_addr, e->length, &m.load_end) || !e->name[0])
		return;
	m.file = find_file(im, e);
	m.load_bias = bias_of(&im->files.items[m.file], e);
	drop_mappings(p, m.load_start, m.load_end);
	write_unmap(p, m.load_start, m.load_end, e->time_ns);
	write_mapping(im, p, &m, e->time_ns);
	sn_vec_push(&p->mappings, m);
	p->modules_are_current = false;
}

static void take_comm(struct importer *im, const struct sn_perf_event *e)
{
	struct process *p = find_process(im, e->pid, e->time_ns);
	struct thread *thread;

	if (!p)
		return;
	if (e->is_exec) {
		drop_mappings(p, 0, UINT64_MAX);
		write_unmap(p, 0, UINT64_MAX, e->time_ns);
		p->program_is_due = true;
	}
	thread = add_thread(im, p, e->tid, e->time_ns);
	snprintf(thread->name, sizeof(thread->name), "%.15s", e->name);
	if (e->tid == e->pid)
		memcpy(p->name, thread->name, sizeof(p->name));
}

/** A child begins with its parent's mappings. */
static void take_fork(struct importer *im, const struct sn_perf_event *e)
{
	bool is_new = !sn_map_get(&im->process_of, (uint64_t)(uint32_t)e->pid);
	struct process *p = find_process(im, e->pid, e->time_ns), *parent;

	if (!p)
		return;
	add_thread(im, p, e->tid, e->time_ns);
	if (e->pid == e->parent_pid || !is_new || e->parent_pid < 0)
		return;
	parent = find_process(im, e->parent_pid, e->time_ns);
	if (!parent || parent == p)
		return;
	p->parent_pid = sn_writer_header(&p->file)->parent_pid = e->parent_pid;
	memcpy(p->name, parent->name, sizeof(p->name));
	memcpy(main_thread(p)->name, parent->name, sizeof(p->name));
	for (size_t i = 0; i < parent->mappings.count; i++) {
		write_mapping(im, p, &parent->mappings.items[i], e->time_ns);
		sn_vec_push(&p->mappings, parent->mappings.items[i]);
	}
}

static int compare_modules(const void *left, const void *right)
{
	const struct sn_unwind_module *a = left, *b = right;

	return a->load_start < b->load_start ? -1 : a->load_start > b->load_start;
}

static void refresh_modules(struct importer *im, struct process *p)
{
	p->modules.count = 0;
	for (size_t i = 0; i < p->mappings.count; i++) {
		const struct mapping *m = &p->mappings.items[i];
		const struct file *file = &im->files.items[m->file];
		struct sn_unwind_module module;
		bool is_known = false;

		for (size_t k = 0; k < p->modules.count; k++)
			is_known |= p->modules.items[k].load_bias == m->load_bias;
		if (is_known || !file->bytes.length ||
		    !sn_unwind_module_of_file(&module, file->bytes.bytes, file->bytes.length,
					      m->load_bias))
			continue;
		sn_vec_push(&p->modules, module);
	}
	if (p->modules.count)
		qsort(p->modules.items, p->modules.count, sizeof(*p->modules.items),
		      compare_modules);
	p->generation++;
	p->modules_are_current = true;
}

/** asm/perf_regs.h numbers registers in its own way; these are DWARF's, for its 0 to 8, 16 to 23.
 */
static void set_registers(const struct sn_perf_event *e, struct sn_unwind_regs *regs)
{
	static const uint8_t number[] = { SN_UNWIND_RAX, SN_UNWIND_RBX, SN_UNWIND_RCX,
					  SN_UNWIND_RDX, SN_UNWIND_RSI, SN_UNWIND_RDI,
					  SN_UNWIND_RBP, SN_UNWIND_RSP, SN_UNWIND_RIP };

	for (unsigned i = 0; i < 9; i++)
		regs->value[number[i]] = e->regs[i];
	for (unsigned i = 16; i < SN_PERF_REGS_MAX; i++)
		regs->value[SN_UNWIND_R8 + i - 16] = e->regs[i];
	regs->valid = SN_UNWIND_ALL_VALID;
}

static uint32_t unwind(struct importer *im, struct process *p, const struct sn_perf_event *e,
		       uint8_t *flags)
{
	struct sn_unwind_walk_result walk;
	struct sn_unwind_regs regs;
	struct sn_unwind_window stack;
	struct sn_unwind_target target = { .stacks = &stack, .stack_count = 1 };
	uint32_t count;

	if (!p->modules_are_current)
		refresh_modules(im, p);
	set_registers(e, &regs);
	stack = (struct sn_unwind_window){ regs.value[SN_UNWIND_RSP],
					   regs.value[SN_UNWIND_RSP] + e->stack_bytes, e->stack };
	target.modules = p->modules.items;
	target.module_count = (uint32_t)p->modules.count;
	/* Rows of one process must not be taken for another's. */
	target.generation = p->generation << 14 ^ (uint32_t)p->pid;
	count = sn_unwind_walk(&target, &regs, NULL, im->pcs, DEPTH_MAX, &walk);
	*flags = sn_unwind_end_flag(walk.end);
	if (walk.flags & SN_UNWIND_BY_SCAN)
		*flags |= SN_STACK_SCANNED;
	return count;
}

/** The user part of a callchain: the kernel's, marked by contexts, is left out. */
static uint32_t take_chain(struct importer *im, const struct sn_perf_event *e, uint8_t *flags)
{
	bool is_user = !e->is_kernel;
	uint32_t depth = 0;

	for (uint64_t i = 0; i < e->chain_count && depth < DEPTH_MAX; i++) {
		uint64_t pc;

		memcpy(&pc, e->chain + 8 * i, sizeof(pc));
		if (pc >= (uint64_t)-MARKER_COUNT)
			is_user = pc == CONTEXT_USER || (pc != CONTEXT_KERNEL && is_user);
		else if (is_user && pc >= 4096 && pc < (uint64_t)1 << 47)
			im->pcs[depth++] = pc;
	}
	/* A chain by frame pointers says nothing about its own end; perf cuts it at 127. */
	*flags = depth >= 127 ? SN_STACK_TOO_DEEP : SN_STACK_COMPLETE;
	if (!e->chain_count && !e->is_kernel) {
		im->pcs[depth++] = e->ip;
		*flags = SN_STACK_UNREADABLE; /* recorded without -g */
	}
	return depth;
}

static void take_sample(struct importer *im, const struct sn_perf_event *e)
{
	struct process *p = find_process(im, e->pid, e->time_ns);
	struct thread *thread;
	uint64_t cpu_ns = (uint64_t)((double)e->period * im->ns_per_period + 0.5);
	uint8_t flags = 0;
	uint32_t depth, id;

	if (!p) {
		im->lost++;
		return;
	}
	thread = add_thread(im, p, e->tid, e->time_ns);
	depth = e->has_regs && e->stack_bytes ? unwind(im, p, e, &flags)
					      : take_chain(im, e, &flags);
	id = stack_id(p, im->pcs, depth, flags, e->time_ns);
	im->result->without_stack += !id;
	im->result->samples++;
	*(e->is_kernel ? &thread->system_ns : &thread->user_ns) += cpu_ns;
	thread->last_ns = p->last_ns = e->time_ns;
	if (!sn_writer_sample(&thread->writer, e->time_ns, cpu_ns, id, e->cpu,
			      e->is_kernel ? SN_SAMPLE_SYSTEM : 0))
		im->lost++;
}

static void take_event(struct importer *im, struct sn_perf_event *e)
{
	if (e->time_ns < im->start_ns)
		e->time_ns = im->start_ns; /* what perf found when it began */
	switch (e->kind) {
	case SN_PERF_MAP:
		take_map(im, e);
		break;
	case SN_PERF_COMM:
		take_comm(im, e);
		break;
	case SN_PERF_FORK:
		take_fork(im, e);
		break;
	case SN_PERF_EXIT: {
		uint64_t *known = sn_map_get(&im->process_of, (uint64_t)(uint32_t)e->pid);

		if (known && e->time_ns > im->processes.items[*known - 1]->last_ns)
			im->processes.items[*known - 1]->last_ns = e->time_ns;
		break;
	}
	case SN_PERF_SAMPLE:
		take_sample(im, e);
		break;
	case SN_PERF_LOST:
		im->lost += e->lost;
		break;
	}
}

/* ---- what a sample is worth ---- */

/** Software clocks count nanoseconds. Of other events the periods are scaled so that a sample is,
 *  on average, worth the period of the frequency asked for: shares are the event's, seconds a
 * guess. */
static void find_scale(struct importer *im)
{
	double sum = 0;
	uint64_t count = 0;

	im->ns_per_period = 1;
	im->start_ns = INT64_MAX;
	for (size_t i = 0; i < im->data.place_count; i++) {
		struct sn_perf_event e;

		if (!sn_perf_data_event(&im->data, i, &e))
			continue;
		if (e.time_ns && e.time_ns < im->start_ns)
			im->start_ns = e.time_ns;
		if (e.kind != SN_PERF_SAMPLE)
			continue;
		sum += (double)e.period;
		count++;
	}
	if (im->start_ns == INT64_MAX)
		im->start_ns = 1;
	if (im->data.event_is_time || !count || !(sum > 0))
		return;
	im->ns_per_period = 1e9 / (im->data.frequency_hz > 0 ? im->data.frequency_hz : 1000) *
			    (double)count / sum;
	warn(im,
	     "the file counts %s, not time: shares are of that event, and seconds are guessed "
	     "from the number of samples",
	     im->data.event);
}

/* ---- the experiment ---- */

static void end_process(struct process *p, int64_t realtime_offset_ns)
{
	struct sn_data_header *header = sn_writer_header(&p->file);

	for (size_t i = 0; i < p->threads.count; i++) {
		struct thread *t = p->threads.items[i];
		struct sn_record_thread_account *account =
			reserve(&t->writer, sizeof(*account), t->last_ns);

		header->end_user_ns += (int64_t)t->user_ns;
		header->end_system_ns += (int64_t)t->system_ns;
		if (!account)
			continue;
		/* The kernel's account is not in the file: -1, in a form that the reader keeps. */
		*account = (struct sn_record_thread_account){
			.header = { .type = SN_RECORD_THREAD_END, .size_bytes = sizeof(*account) },
			.thread_index = t->writer.thread_index,
			.time_ns = t->last_ns,
			.user_ns = -1,
			.system_ns = -1,
			.cpu_ns = -2,
			.wait_cpu_ns = -1
		};
		memcpy(account->name, t->name, sizeof(account->name));
		sn_writer_commit(&t->writer, sizeof(*account));
	}
	header->start_realtime_ns = header->start_ns + realtime_offset_ns;
	header->end_ns = p->last_ns;
	header->end_realtime_ns = p->last_ns + realtime_offset_ns;
	header->chunks_backed = header->next_chunk;
}

static void warn_of_gaps(struct importer *im)
{
	warn(im,
	     "imported from perf.data: CPU time is what its samples account for, not the kernel's "
	     "account; blocked time is not in the file");
	if (im->data.other_events)
		warn(im, "the file has %" PRIu32 " more events; only %s was imported",
		     im->data.other_events, im->data.event);
	if (im->missing_files)
		warn(im,
		     "%" PRIu64 " mapped files are not on this machine: their code has no names",
		     im->missing_files);
	if (im->changed_files)
		warn(im, "%" PRIu64 " mapped files have changed since: their code has no names",
		     im->changed_files);
	if (im->lost)
		warn(im, "%" PRIu64 " samples were lost when the file was recorded", im->lost);
	if (im->data.damaged)
		warn(im, "%" PRIu64 " records of the file are damaged and were left out",
		     im->data.damaged);
}

static int64_t end_of(const struct importer *im)
{
	int64_t end_ns = im->start_ns;

	for (size_t i = 0; i < im->processes.count; i++)
		if (im->processes.items[i]->last_ns > end_ns)
			end_ns = im->processes.items[i]->last_ns;
	return end_ns;
}

/** The process with most CPU time gives the experiment its name. */
static const char *program_of(struct importer *im)
{
	const char *program = "perf";
	uint64_t most = 0;

	for (size_t i = 0; i < im->processes.count; i++) {
		const struct sn_data_header *header =
			sn_writer_header(&im->processes.items[i]->file);
		uint64_t ns = (uint64_t)(header->end_user_ns + header->end_system_ns);

		if (ns > most && header->program[0]) {
			most = ns;
			program = header->program;
		}
	}
	return program;
}

static sn_status write_data(struct importer *im, const char *folder, const char *host,
			    struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_writer writer;
	sn_status status;

	sn_text_addf(&path, "%s/%s.%d.data", folder, host, getpid());
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	for (size_t i = 0; i < im->processes.count; i++) {
		const struct process *p = im->processes.items[i];
		const struct sn_data_header *header = sn_writer_header(&p->file);

		/* Processes that only took part in a fork would be noise. */
		if (header->end_user_ns || header->end_system_ns)
			fwrite(p->file.base, 1, sn_data_file_bytes(header->next_chunk), writer.out);
	}
	return sn_file_writer_commit(&writer, err);
}

static sn_status write_launch(struct importer *im, const struct sn_perf_import *how,
			      const char *folder, const char *host, int64_t realtime_ns,
			      struct sn_error *err)
{
	struct sn_launch launch = { .version = "import",
				    .program = program_of(im),
				    .arguments = im->data.arguments ? im->data.arguments : "",
				    .label = how->label,
				    .host = host,
				    .cpu_model = im->data.cpu_model ? im->data.cpu_model : "",
				    .kernel = im->data.kernel ? im->data.kernel : "",
				    .folder = "",
				    .clock = im->data.event,
				    .rate_hz = im->data.frequency_hz,
				    .pid = getpid(),
				    .rank = -1,
				    .exit_status = -1,
				    .has_ended = true,
				    .started_realtime_ns = realtime_ns,
				    .tree_user_ns = -1,
				    .tree_system_ns = -1,
				    .others_share = -1 };
	sn_status status;

	launch.elapsed_ns = end_of(im) - im->start_ns;
	for (size_t i = 0; i < im->result->warnings.count; i++)
		sn_vec_push(&launch.warnings, im->result->warnings.items[i]);
	status = sn_launch_write(&launch, folder, err);
	sn_vec_free(&launch.warnings);
	return status;
}

/** Host names become file names. */
static const char *safe_host(struct importer *im)
{
	char *host = sn_arena_strdup(&im->arena, im->data.hostname ? im->data.hostname : "unknown");

	for (char *c = host; *c; c++)
		if (*c == '/' || *c < ' ')
			*c = '_';
	return *host && *host != '.' ? host : "unknown";
}

static sn_status write_experiment(struct importer *im, const char *path,
				  const struct sn_perf_import *how, struct sn_error *err)
{
	const char *host = safe_host(im), *program, *base;
	int64_t end_ns = end_of(im), end_realtime_ns = 0;
	struct stat file;
	bool is_joined;
	char key[64];
	sn_status status;

	if (stat(path, &file) == 0) /* perf stops writing when the run ends */
		end_realtime_ns = file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
	for (size_t i = 0; i < im->processes.count; i++)
		end_process(im->processes.items[i], end_realtime_ns - end_ns);
	warn_of_gaps(im);
	program = program_of(im);
	base = sn_base_name(program);
	snprintf(key, sizeof(key), "import-%d-%" PRId64, getpid(), end_realtime_ns);
	status = sn_store_create(how->output, base, key, &im->result->path, &is_joined, err);
	if (status == SN_OK)
		status = write_data(im, im->result->path.chars, host, err);
	if (status == SN_OK)
		status = write_launch(im, how, im->result->path.chars, host,
				      end_realtime_ns - end_ns + im->start_ns, err);
	return status;
}

static void free_importer(struct importer *im)
{
	for (size_t i = 0; i < im->processes.count; i++) {
		struct process *p = im->processes.items[i];

		for (size_t t = 0; t < p->threads.count; t++)
			free(p->threads.items[t]);
		sn_vec_free(&p->threads);
		sn_vec_free(&p->mappings);
		sn_vec_free(&p->modules);
		sn_map_free(&p->stacks);
		munmap(p->file.base, sn_data_file_bytes(CHUNKS_PER_PROCESS));
		free(p);
	}
	for (size_t i = 0; i < im->files.count; i++) {
		sn_image_free(im->files.items[i].image);
		sn_file_unmap(&im->files.items[i].bytes);
	}
	sn_vec_free(&im->files);
	sn_vec_free(&im->processes);
	sn_map_free(&im->file_of);
	sn_map_free(&im->process_of);
	sn_map_free(&im->thread_of);
	sn_arena_free(&im->arena);
	sn_perf_data_free(&im->data);
}

sn_status sn_perf_import(const char *path, const struct sn_perf_import *how,
			 struct sn_perf_import_result *result, struct sn_error *err)
{
	struct importer im = { .result = result };
	struct sn_perf_event event;
	sn_status status;

	memset(result, 0, sizeof(*result));
	status = sn_perf_data_open(path, &im.data, err);
	if (status != SN_OK)
		return status;
	find_scale(&im);
	for (size_t i = 0; i < im.data.place_count; i++)
		if (sn_perf_data_event(&im.data, i, &event))
			take_event(&im, &event);
	im.data.damaged /= 2; /* every event was read twice */
	if (!result->samples)
		status = sn_error_set(err, SN_ERR_NO_DATA, "import: '%s' has no samples", path);
	else
		status = write_experiment(&im, path, how, err);
	free_importer(&im);
	return status;
}
