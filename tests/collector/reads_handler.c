/*
 * A whole collector, as an example and as a test of what core and calls/ promise: how often each call
 * path calls read, how many bytes it asks for, and how many it gets. Sums are kept in the target, and
 * written when a thread ends or the process does.
 */
#include "runtime/calls/calls.h"
#include "runtime/calls/real.h"

enum { SITES_MAX = 64 };

struct site {
	uint32_t stack;
	uint64_t count, asked_bytes, got_bytes;
};

/* Of a thread; its sites are in scratch. */
struct reads {
	uint32_t site_count;
};

extern struct sn_collector example_reads_collector;

static struct site *find_site(struct sn_thread *self, uint32_t stack)
{
	struct reads *reads = sn_thread_part(self, &example_reads_collector);
	struct site *sites = sn_thread_scratch(self, &example_reads_collector);

	for (uint32_t i = 0; i < reads->site_count; i++)
		if (sites[i].stack == stack)
			return &sites[i];
	if (reads->site_count == SITES_MAX)
		return NULL;
	sites[reads->site_count] = (struct site){ .stack = stack };
	return &sites[reads->site_count++];
}

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	(void)origin;
	sn_calls_ask(thread, &example_reads_collector, 1u << SN_WAIT_IO, true);
}

static void after_call(struct sn_thread *self, const struct sn_call *call)
{
	struct sn_unwind_regs regs;

	if (call->function != (const void *)sn_calls_real.real_read || call->result < 0 ||
	    !sn_enter(self))
		return;
	sn_unwind_regs_here(&regs);
	uint32_t stack = sn_stack_capture(self, &regs, (uint64_t)(uintptr_t)call->function, false,
					  sn_now_ns());
	struct site *site = find_site(self, stack);
	if (site) {
		site->count++;
		site->asked_bytes += (uint64_t)call->words[2];
		site->got_bytes += (uint64_t)call->result;
	}
	sn_leave(self);
}

static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	struct reads *reads = sn_thread_part(thread, &example_reads_collector);
	struct site *sites = sn_thread_scratch(thread, &example_reads_collector);

	(void)is_ending;
	for (uint32_t i = 0; i < reads->site_count; i++) {
		sn_writer_tally(writer, now_ns, "read asked", sites[i].stack, sites[i].count,
				sites[i].asked_bytes);
		sn_writer_tally(writer, now_ns, "read got", sites[i].stack, sites[i].count,
				sites[i].got_bytes);
	}
	reads->site_count = 0; /* they are written: an exec that fails goes on */
}

struct sn_collector example_reads_collector = {
	.name = "reads",
	.thread_bytes = sizeof(struct reads),
	.scratch_bytes = SITES_MAX * sizeof(struct site),
	.thread_begin = begin_thread,
	.account = account,
	.after_call = after_call,
};
