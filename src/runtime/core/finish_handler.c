/* The end of an image: accounts of all threads, the last packet, end times. */
#include "runtime/core/collector.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/core/packets.h"

enum { OTHERS_MAX = 512 }; /* live threads whose accounts are asked for one by one at exit */

static int64_t time_ns(struct timeval time)
{
	return time.tv_sec * 1000000000 + time.tv_usec * 1000;
}

static void write_end_times(void)
{
	struct sn_data_header *header = sn_header();
	struct rusage usage;

	header->end_ns = sn_now_ns();
	header->end_realtime_ns = sn_clock_ns(CLOCK_REALTIME);
	if (!sn_state->is_sealed && SYS(getrusage, RUSAGE_SELF, &usage) == 0) {
		header->end_user_ns = time_ns(usage.ru_utime);
		header->end_system_ns = time_ns(usage.ru_stime);
	}
}

/* Threads that are still alive when the process ends: what they used until now. */
static void account_for(struct sn_thread *thread, struct sn_thread *self, int64_t now_ns)
{
	struct sn_writer of_another = { .file = &sn_state->file,
					.thread_index = thread->index,
					.tid = thread->tid };
	struct sn_writer *writer = thread == self ? &self->writer : &of_another;
	uint32_t live = 1;

	if (!atomic_compare_exchange_strong(&thread->is_live, &live, 2))
		return;
	sn_collect_account(thread, writer, now_ns, false);
	sn_thread_write_account(thread, writer, SN_RECORD_THREAD_END, now_ns);
	if (thread != self)
		sn_writer_release(writer);
}

/* Threads that have told us their end, but are not gone yet: on a busy machine many, and a main
 * thread that ended by pthread_exit until the process ends. */
static uint64_t count_ending(void)
{
	uint32_t next = atomic_load(&sn_state->ended_next);
	uint64_t count = 0;

	for (uint32_t i = 0; i < next && i < SN_ENDED_MAX; i++) {
		int32_t tid = atomic_load_explicit(&sn_state->ended_tids[i], memory_order_relaxed);
		if (tid && SYS(tgkill, sn_state->pid, tid, 0) == 0)
			count++;
	}
	return count;
}

/* Threads that the kernel knows and we do not: the folder of tasks has one link for each, and two
 * of its own. Threads that come or go at the moment may look like that, so the least of a few looks
 * counts. */
void sn_count_raw_threads(void)
{
	uint64_t least = UINT64_MAX;

	for (int look = 0; look < 3; look++) {
		struct stat status;
		uint64_t ours = atomic_load(&sn_state->live_threads);
		if (SYS(newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) != 0)
			return;
		uint64_t all = status.st_nlink > 2 ? status.st_nlink - 2 : 0;
		uint64_t raw = all > ours ? all - ours : 0;
		uint64_t ending = raw ? count_ending() : 0;
		raw = raw > ending ? raw - ending : 0;
		if (raw == 0)
			return;
		least = raw < least ? raw : least;
		SYS(sched_yield);
	}
	if (least > atomic_load(&sn_header()->raw_clone_threads))
		atomic_store(&sn_header()->raw_clone_threads, least);
}

void sn_finish(enum sn_data_state state, int code)
{
	struct sn_thread *self = sn_self;
	uint32_t asked = 0;

	if (!sn_is_active() || (!sn_state->is_sealed && SYS(getpid) != sn_state->pid))
		return;
	if (code != -1 || sn_header()->exit_code == -1)
		sn_header()->exit_code = code;
	if (atomic_exchange(&sn_state->has_finished, 1)) {
		write_end_times();
		atomic_store_explicit(&sn_header()->state, state, memory_order_release);
		return;
	}
	struct sn_held held = sn_hold(self);
	if (!sn_state->is_sealed)
		sn_count_raw_threads();
	int64_t now_ns = sn_now_ns();
	sn_maps_finish(self, now_ns);
	if (!sn_state->is_sealed)
		sn_collect_image_end(self, now_ns);
	uint32_t count = atomic_load(&sn_state->next_block);
	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];
		if (thread && atomic_load(&thread->is_live) == 1 && asked++ < OTHERS_MAX)
			account_for(thread, self, now_ns);
	}
	if (self)
		sn_packet_write(self, SN_PACKET_END, NULL, sn_now_ns());
	write_end_times();
	sn_count_overhead(now_ns);
	atomic_store_explicit(&sn_header()->state, state, memory_order_release);
	sn_let_go(self, &held);
}

void sn_finish_early(const char *why)
{
	if (!sn_is_active() || (!sn_state->is_sealed && SYS(getpid) != sn_state->pid))
		return;
	sn_warn(why);
	sn_finish(SN_DATA_RUNNING, -1);
	/* when the process ends, the launcher sees */
	sn_header()->end_ns = sn_header()->end_realtime_ns = 0;
	sn_config.is_sealed = true;
	atomic_store_explicit(&sn_state->active, 0, memory_order_release);
	if (!sn_state->is_sealed)
		sn_collect_pause_all();
}
