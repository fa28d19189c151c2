/*
 * Creates a data file as the runtime would, and interns stacks in it. What differs is only who
 * writes: the launcher.
 */
#include "record/outside_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "experiment/experiment.h"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void header_fill(struct sn_data_header *h, const struct sn_outside_file_facts *facts)
{
	char path[64];
	struct stat st;
	ssize_t length;

	h->version = SN_DATA_VERSION;
	h->header_bytes = SN_DATA_HEADER_BYTES;
	h->chunk_bytes = SN_DATA_CHUNK_BYTES;
	h->chunks_backed = SN_DATA_CHUNKS_FIRST;
	h->chunks_max =
		(uint32_t)((SN_DATA_MAP_BYTES - SN_DATA_HEADER_BYTES) / SN_DATA_CHUNK_BYTES);
	h->origin = SN_DATA_ORIGIN_OUTSIDE;
	h->pid = facts->pid;
	h->sequence = facts->sequence;
	h->parent_sequence = UINT32_MAX;
	h->rank = facts->rank;
	h->rank_count = -1;
	h->exit_code = -1;
	h->mechanism = facts->period_ns ? SN_MECHANISM_PERF_RING : SN_MECHANISM_OFF;
	h->period_ns = facts->period_ns;
	h->end_wait_cpu_ns = -1;
	h->start_ns = clock_ns(CLOCK_MONOTONIC);
	h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	h->process_start_ns = h->start_ns;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)facts->pid);
	h->namespace_inode = stat(path, &st) ? 0 : st.st_ino;
	snprintf(path, sizeof(path), "/proc/%d", (int)facts->pid);
	h->uid = stat(path, &st) ? 0 : st.st_uid;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)facts->pid);
	length = readlink(path, h->program, sizeof(h->program) - 1);
	h->program[length > 0 ? length : 0] = '\0';
	strncpy(h->host, facts->host, sizeof(h->host) - 1);
}

sn_status sn_outside_file_create(struct sn_outside_file *file,
				 const struct sn_outside_file_facts *facts, struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_data_header *header;
	sn_status status = SN_OK;
	void *memory = MAP_FAILED;
	int fd, fault;

	*file = (struct sn_outside_file){ .shared = { .half_full = SN_CHUNK_NONE } };
	sn_text_addf(&path, "%s/%s.%d.%u.live", facts->folder, facts->host, (int)facts->pid,
		     facts->sequence);
	fd = open(path.chars, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	fault = fd < 0 ? errno
		       : posix_fallocate(fd, 0, (off_t)sn_data_file_bytes(SN_DATA_CHUNKS_FIRST));
	if (!fault) {
		memory = mmap(NULL, SN_DATA_MAP_BYTES, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, fd, 0);
		fault = memory == MAP_FAILED ? errno : 0;
	}
	if (fd >= 0)
		close(fd);
	if (fault) {
		errno = fault;
		status = sn_error_errno(err, "cannot make the data file '%s'", path.chars);
		if (fd >= 0)
			unlink(path.chars);
	} else {
		file->shared.base = memory;
		header = memory;
		header_fill(header, facts);
		atomic_store_explicit(&header->state, SN_DATA_RUNNING, memory_order_release);
		header->magic = SN_DATA_MAGIC;
	}
	sn_text_free(&path);
	return status;
}

static void chunk_scale(struct sn_chunk_header *chunk, double part)
{
	uint32_t committed = atomic_load_explicit(&chunk->committed_bytes, memory_order_acquire);
	uint32_t at = sizeof(*chunk), bytes;

	for (; at < committed; at += bytes) {
		uint8_t *record = (uint8_t *)chunk + at;

		bytes = sn_record_bytes(record, committed - at);
		if (!bytes)
			return;
		if (*record == SN_RECORD_SAMPLE) {
			struct sn_record_sample *sample = (void *)record;

			sample->cpu_ns = (uint32_t)((double)sample->cpu_ns * part);
		} else if (*record == SN_RECORD_CPU) {
			struct sn_record_cpu *cpu = (void *)record;

			cpu->cpu_ns = (uint64_t)((double)cpu->cpu_ns * part);
		}
	}
}

void sn_outside_file_scale(struct sn_outside_file *file, double part)
{
	uint32_t count = atomic_load(&sn_writer_header(&file->shared)->next_chunk);

	for (uint32_t i = 0; i < count; i++)
		chunk_scale(sn_writer_chunk(&file->shared, i), part);
}

void sn_outside_file_close(struct sn_outside_file *file)
{
	if (!file->shared.base)
		return;
	munmap(file->shared.base, SN_DATA_MAP_BYTES);
	sn_map_free(&file->stacks);
	*file = (struct sn_outside_file){ 0 };
}

/* One segment: its id, written if it is new; 0: no room. */
static uint32_t segment_intern(struct sn_outside_file *file, struct sn_writer *writer,
			       int64_t now_ns, const uint64_t *pcs, uint32_t count, uint32_t parent,
			       uint8_t flags)
{
	uint64_t hash = sn_hash_bytes(pcs, count * sizeof(*pcs)) ^
			sn_hash_u64((uint64_t)parent << 8 | flags);
	uint64_t *known = sn_map_get(&file->stacks, hash);
	uint32_t bytes = (uint32_t)sizeof(struct sn_record_stack) + 8 * count;
	struct sn_record_stack *record;

	if (known)
		return (uint32_t)*known;
	record = sn_writer_reserve(writer, bytes, now_ns);
	if (!record)
		return 0;
	record->header = (struct sn_record_header){ .type = SN_RECORD_STACK,
						    .flags = flags,
						    .size_bytes = (uint16_t)bytes };
	record->id = ++file->last_stack;
	record->parent = parent;
	record->depth = count;
	memcpy(record->pc, pcs, count * sizeof(*pcs));
	sn_writer_commit(writer, bytes);
	*sn_map_put(&file->stacks, hash, NULL) = file->last_stack;
	return file->last_stack;
}

uint32_t sn_outside_file_stack(struct sn_outside_file *file, struct sn_writer *writer,
			       int64_t now_ns, const uint64_t *pcs, uint32_t count, uint8_t flags)
{
	uint32_t parent = 0;

	/* From the outermost segment, which alone carries the flags, to the leaf's. */
	while (count) {
		uint32_t piece = count % SN_DATA_SEGMENT_MAX ? count % SN_DATA_SEGMENT_MAX
							     : SN_DATA_SEGMENT_MAX;

		parent = segment_intern(file, writer, now_ns, pcs + count - piece, piece, parent,
					flags);
		if (!parent) {
			sn_writer_count_loss(&file->shared, SN_LOSS_STACK_TABLE, 1);
			return 0;
		}
		count -= piece;
		flags = 0;
	}
	return parent;
}
