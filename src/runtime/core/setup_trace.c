/* The trace file of an image: made, backed with its first disk space, mapped. As core/setup_file.c,
 * this runs in the child of a fork, too. */
#include "runtime/core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

enum { FILE_BYTES = SN_TRACE_HEADER_BYTES + SN_TRACE_SLOTS * SN_TRACE_SLOT_BYTES };

/* Slots that there is room for; a hole would be a SIGBUS later. */
static uint32_t back_slots(long fd, uint32_t slots)
{
	uint64_t allowed = sn_file_bytes_allowed();

	for (; slots >= 1; slots /= 2)
		if (sn_trace_slot_offset(slots) <= allowed &&
		    SYS(fallocate, fd, 0, 0, sn_trace_slot_offset(slots)) == 0)
			return slots;
	return 0;
}

static void describe(struct sn_trace_header *header, uint32_t backed)
{
	header->version = SN_TRACE_VERSION;
	header->header_bytes = SN_TRACE_HEADER_BYTES;
	header->slot_bytes = SN_TRACE_SLOT_BYTES;
	header->slots_max = SN_TRACE_SLOTS;
	header->pid = sn_header()->pid;
	header->sequence = sn_header()->sequence;
	header->namespace_inode = sn_header()->namespace_inode;
	atomic_store_explicit(&header->slots_backed, backed, memory_order_release);
	/* the launcher takes a header with the magic for a whole one */
	atomic_thread_fence(memory_order_release);
	header->magic = SN_TRACE_MAGIC;
}

static bool make_file(enum sn_data_origin origin)
{
	char path[SN_SETTINGS_PATH_MAX + SN_DATA_HOST_MAX + 64];

	snprintf(path, sizeof path, "%s/%s.%d.%u.trace", sn_config.settings.dir, sn_config.host,
		 sn_header()->pid, sn_header()->sequence);
	long fd = SYS(openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	uint32_t backed = back_slots(fd, origin == SN_DATA_ORIGIN_FORK ? SN_TRACE_SLOTS_FORK
								       : SN_TRACE_SLOTS_FIRST);
	long base = backed ? SYS(mmap, NULL, FILE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_NORESERVE, fd, 0)
			   : -ENOSPC;
	SYS(close, fd);
	if (base < 0 && base > -4096) {
		SYS(unlink, path);
		return false;
	}
	SYS(madvise, base, FILE_BYTES, MADV_DONTFORK);
	sn_state->trace = (struct sn_trace_header *)base;
	describe(sn_state->trace, backed);
	return true;
}

bool sn_trace_open(enum sn_data_origin origin, enum sn_trace_kind kind)
{
	if (!sn_state->trace && !make_file(origin))
		return false;
	atomic_fetch_or_explicit(&sn_state->trace->kinds, 1u << kind, memory_order_relaxed);
	return true;
}
