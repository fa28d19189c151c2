#include "runtime/core/runtime.h"

static const char *const sentences[] = {
	[SN_WARN_NO_PERF] =
		"perf_event_open is refused here: samples come from CPU timers of the threads, at "
		"most one per kernel tick",
	[SN_WARN_NO_PERF_THREAD] =
		"some threads got no perf event (locked-memory or descriptor limit): their samples "
		"come from CPU timers, at most one per kernel tick",
	[SN_WARN_NO_TIMER] =
		"some threads got no timer: time that they spend in the kernel is counted, but not "
		"seen where",
	[SN_WARN_SECCOMP] =
		"the program installed a seccomp filter: from then on sonde makes no system call; "
		"new threads are not sampled",
	[SN_WARN_SWITCHES] =
		"some threads switch more than 3000 times per CPU second: their samples come from "
		"CPU timers, which cost nothing per switch but come once per kernel tick",
	[SN_WARN_FLOOD] =
		"some threads were interrupted at over 3 times the rate that was asked for: from "
		"then on their samples come from CPU timers, at most one per kernel tick",
	[SN_WARN_SHORT_THREADS] =
		"the program makes many threads that live for less than two periods: they are "
		"sampled by "
		"CPU timers, which cost less to start but come at most once per kernel tick",
	[SN_WARN_SMALL_ALTSTACK] =
		"some threads use an alternate signal stack that is too small for another signal: "
		"they are not sampled, their time is counted",
	[SN_WARN_INTERN_FULL] =
		"there are more distinct stacks than the table holds: further ones are written "
		"whole",
	[SN_WARN_THREAD_TABLE] =
		"more threads at one time than sonde can hold: some are not measured",
	[SN_WARN_MODULES_FULL] =
		"more modules at one time than sonde can hold: stacks in some are cut",
	[SN_WARN_NO_COUNTER] =
		"the program gave up the time-stamp counter (PR_SET_TSC, or strict seccomp), "
		"without "
		"which there are no clocks: from then on the process and its children are not "
		"measured",
};

void sn_warn(enum sn_warning warning)
{
	uint32_t bit = 1u << warning, before = atomic_fetch_or(&sn_state->warned, bit);
	struct sn_writer writer = { .file = &sn_state->file };
	size_t length = 0;

	if (before & bit)
		return;
	while (sentences[warning][length])
		length++;
	/* its own writer: the caller's may be at work */
	if (sn_self) {
		writer.thread_index = sn_self->index;
		writer.tid = sn_self->tid;
	}
	sn_writer_text(&writer, sn_now_ns(), SN_TEXT_WARNING, sentences[warning], length);
	sn_writer_release(&writer);
}
