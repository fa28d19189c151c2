/*
 * The records of an experiment that is made from a perf.data file: processes, threads, mappings and
 * stacks, as the sampler from outside writes them (wire/data.h).
 */
#include "exchange/perf_parts.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

enum { PROCESSES_MAX = 10000 };

/** Room in the process's file; there is always some, as address space was set aside. */
static void *reserve(struct sn_writer *writer, size_t bytes, int64_t now_ns)
{
	return sn_writer_reserve(writer, (uint32_t)bytes, now_ns);
}

void sn_import_write_mapping(struct sn_importer *im, struct sn_import_process *p,
			     const struct sn_import_mapping *m, int64_t time_ns)
{
	const struct sn_import_file *file = &im->files.items[m->file];
	size_t path_bytes = strnlen(file->path, SN_DATA_STRING_MAX);
	size_t bytes = (sizeof(struct sn_record_map) + path_bytes + 1 + 7) & ~(size_t)7;
	struct sn_writer *writer = &sn_import_main_thread(p)->writer;
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

void sn_import_write_unmap(struct sn_import_process *p, uint64_t start, uint64_t end,
			   int64_t time_ns)
{
	struct sn_writer *writer = &sn_import_main_thread(p)->writer;
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
static void write_stack(struct sn_import_process *p, uint32_t id, const uint64_t *pcs,
			uint32_t depth, uint8_t flags, int64_t now_ns)
{
	struct sn_writer *writer = &sn_import_main_thread(p)->writer;
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

uint32_t sn_import_stack_id(struct sn_import_process *p, const uint64_t *pcs, uint32_t depth,
			    uint8_t flags, int64_t now_ns)
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

struct sn_import_thread *sn_import_thread_of(struct sn_importer *im, struct sn_import_process *p,
					     int32_t tid, int64_t now_ns)
{
	uint64_t key = (uint64_t)(uint32_t)p->pid << 32 | (uint32_t)tid;
	uint64_t *slot = sn_map_put(&im->thread_of, key, NULL);
	struct sn_record_thread_start *start;
	struct sn_import_thread *thread;

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

static void begin_header(struct sn_importer *im, struct sn_import_process *p, int64_t now_ns)
{
	struct sn_data_header *header = sn_writer_header(&p->file);

	header->magic = SN_DATA_MAGIC;
	header->version = SN_DATA_VERSION;
	header->header_bytes = SN_DATA_HEADER_BYTES;
	header->chunk_bytes = SN_DATA_CHUNK_BYTES;
	header->state = SN_DATA_EXECED; /* the whole of it is here, but its status is not known */
	header->chunks_backed = header->chunks_max = SN_IMPORT_CHUNKS;
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

struct sn_import_process *sn_import_process_of(struct sn_importer *im, int32_t pid, int64_t now_ns)
{
	uint64_t *slot;
	struct sn_import_process *p;
	void *base;

	if (pid < 0 || im->processes.count >= PROCESSES_MAX)
		return NULL;
	slot = sn_map_put(&im->process_of, (uint64_t)pid, NULL);
	if (*slot)
		return im->processes.items[*slot - 1];
	base = mmap(NULL, sn_data_file_bytes(SN_IMPORT_CHUNKS), PROT_READ | PROT_WRITE,
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
	sn_import_thread_of(im, p, pid, now_ns);
	return p;
}
