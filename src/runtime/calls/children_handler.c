/*
 * Waiting for children. Who reaps a child is the only one to learn that a signal ended it: that is
 * written for the summary. The kernel is asked for the status even where the program did not.
 */
#include "runtime/calls/calls.h"
#include "runtime/calls/real.h"

static void note_killed(pid_t child, int signal)
{
	struct sn_thread *self = sn_self_in_call();
	int64_t now_ns;

	if (!self || !sn_is_active() || !sn_enter(self))
		return;
	now_ns = sn_now_ns();
	struct sn_record_child_killed *record =
		sn_writer_reserve(&self->writer, sizeof *record, now_ns);
	if (record) {
		*record = (struct sn_record_child_killed){
			.header = { .type = SN_RECORD_CHILD_KILLED, .size_bytes = sizeof *record },
			.child_pid = child,
			.time_ns = now_ns,
			.signal = signal,
		};
		sn_writer_commit(&self->writer, sizeof *record);
	}
	sn_leave(self);
}

static void note_status(pid_t child, int status)
{
	if (child > 0 && WIFSIGNALED(status))
		note_killed(child, WTERMSIG(status));
}

/* `status` is the program's own, or NULL. */
#define WAIT(name, ...)                                                                            \
	int own = 0;                                                                               \
	struct sn_call call;                                                                       \
	if (!status)                                                                               \
		status = &own;                                                                     \
	SN_CALL_BEGIN(call, SN_WAIT_CHILD, name, __VA_ARGS__);                                     \
	pid_t reaped = REAL_CALL(name)(__VA_ARGS__);                                               \
	sn_call_end(&call, reaped);                                                                \
	note_status(reaped, *status);                                                              \
	return reaped

SN_EXPORT pid_t wait(int *status)
{
	WAIT(wait, status);
}

SN_EXPORT pid_t waitpid(pid_t child, int *status, int options)
{
	WAIT(waitpid, child, status, options);
}

SN_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	WAIT(wait3, status, options, usage);
}

SN_EXPORT pid_t wait4(pid_t child, int *status, int options, struct rusage *usage)
{
	WAIT(wait4, child, status, options, usage);
}

SN_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	struct sn_call call;

	if (!info)
		info = &own;
	SN_CALL_BEGIN(call, SN_WAIT_CHILD, waitid, kind, id, info, options);
	int result = REAL_CALL(waitid)(kind, id, info, options);
	sn_call_end(&call, result);
	if (!result && info->si_pid > 0 &&
	    (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED))
		note_killed(info->si_pid, info->si_status);
	return result;
}
