/*
 * The launcher: prepares folders and environment, starts the target, looks after its data, signals
 * and limits while it runs, and gathers everything at the end. What fails after the start becomes
 * a warning, as the target's run is never to be spoilt.
 */
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/own_file.h"
#include "base/progress.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "record/cost.h"
#include "record/drain.h"
#include "record/feeder.h"
#include "record/kernel.h"
#include "record/launch_key.h"
#include "record/monitored.h"
#include "record/live_folder.h"
#include "record/neighbours.h"
#include "record/outside.h"
#include "record/outside_proc.h"
#include "record/plans.h"
#include "record/redact.h"
#include "record/settings.h"
#include "record/space.h"
#include "record/steer.h"
#include "record/target.h"
#include "record/told.h"
#include "wire/data.h"
#include "wire/settings.h"

enum { STRAGGLERS_WAIT_MS = 200 };

struct recording {
	const struct sn_record_options *options;
	struct sn_record_result *result;
	struct sn_target target;
	struct sn_launch launch;
	struct sn_feeder feeder;
	struct sn_drain *drain; /* NULL: nothing is traced */
	struct sn_live_folder live;
	struct sn_text library;
	char host[256];
	sigset_t caller_mask;
	struct rlimit caller_files, caller_file_size;
	pid_t pid;
	int signal_fd;
	uint64_t started_ns;
	struct sn_machine_time machine_before;
	bool has_begun; /* --delay is over */
	bool is_over;	/* --duration is over */
	bool is_paused;
	uint64_t
		later_ns; /* between samples after a thread's beginning (--clock auto); 0: the same */
	bool is_outside; /* no runtime in the target: sampled by us */
	bool is_stopped; /* a signal ended the sampling of a process that runs on */
	struct sn_outside *outside;
	struct sn_kernel *kernel;	  /* in place of it: --kernel */
	int counter_fds[SN_COUNTERS_MAX]; /* events that count beside options->counters */
	sn_strings words;		  /* of a process that runs already */
	bool has_title;			  /* which is the only word: it is no shell's */
};

static void warn(struct recording *r, const char *sentence)
{
	sn_vec_push(&r->launch.warnings, sn_arena_strdup(&r->launch.arena, sentence));
}

/* ---- facts ---- */

static char *const *target_words(const struct recording *r)
{
	return r->options->pid ? r->words.items : r->options->arguments;
}

static void facts_take(struct recording *r)
{
	struct sn_launch *l = &r->launch;
	struct utsname kernel;
	char folder[4096];

	uname(&kernel);
	l->version = SN_VERSION;
	l->program = target_words(r)[0];
	l->arguments = sn_redact_command_line(&l->arena, target_words(r), r->has_title);
	l->label = r->options->label;
	l->host = r->host;
	l->cpu_model = sn_machine_cpu_model(&l->arena);
	l->kernel = sn_arena_strdup(&l->arena, kernel.release);
	l->boot = sn_boot_id(&l->arena);
	l->memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	l->folder = sn_arena_strdup(&l->arena, getcwd(folder, sizeof(folder)) ? folder : "");
	l->clock = r->options->clock;
	l->rate_hz = r->options->rate_hz;
	l->pid = getpid();
	l->rank = r->result->rank;
	/* a running process that --pid names was not there to be measured before anyway */
	l->is_windowed = r->options->is_monitored || r->options->delay_s > 0 ||
			 r->options->starts_paused ||
			 (r->options->duration_s > 0 && !r->options->pid);
	if (r->options->without_counters)
		warn(r,
		     "the events of -e could not be had: CPU time alone was sampled (--fallback clock)");
	l->target_pid = l->exit_status = -1;
	l->elapsed_ns = l->tree_user_ns = l->tree_system_ns = l->own_cpu_ns = -1;
	l->others_share = -1;
	l->started_monotonic_ns = sn_clock_ns(CLOCK_MONOTONIC);
	l->started_realtime_ns = sn_clock_ns(CLOCK_REALTIME);
	sn_redact_environment(l);
}

/* ---- where things lie ---- */

/* The runtime's library: beside the built command, or where it was installed. */
static sn_status library_find(struct recording *r, struct sn_error *err)
{
	const char *name = r->options->heap ? "libsonde-runtime-heap.so"
			   : r->options->has_sync || r->options->has_io || r->options->has_openmp
				   ? "libsonde-runtime-trace.so"
			   : r->options->steer ? "libsonde-runtime-causal.so"
					       : "libsonde-runtime.so";
	char *path = sn_own_runtime(name);

	if (!path)
		return sn_error_set(err, SN_ERR_NOT_FOUND,
				    "%s is neither beside this command nor where it would be "
				    "installed; build or install sonde again",
				    name);
	sn_text_add(&r->library, path);
	free(path);
	/* LD_PRELOAD has no way to quote these. */
	if (strpbrk(r->library.chars, " :$;")) {
		struct sn_text link = { 0 };

		sn_text_addf(&link, "%s/%s", r->live.path.chars, name);
		if (symlink(r->library.chars, link.chars)) {
			sn_text_free(&link);
			return sn_error_errno(err, "cannot link the runtime into '%s'",
					      r->live.path.chars);
		}
		sn_text_free(&r->library);
		r->library = link;
	}
	return SN_OK;
}

/* ---- the target ---- */

/* What --clock auto asks for: samples that cost half a per cent of the CPU time. The other half of what
 * a run of 10 s may cost is for its beginning and end. */
static uint64_t later_period_ns(struct recording *r)
{
	enum {
		PART = 200,
		HANDLER_NS = 3000, /* docs/method/sampling.md: a handler with its walk */
		LEAST_NS = 1000700,
		MOST_NS = 10007000,
		UNKNOWN_NS = 4002800, /* where no signal's cost could be measured */
	};
	uint64_t signal_ns = r->feeder.cost.signal_ns = sn_cost_of_signal();
	uint64_t period_ns = signal_ns ? (signal_ns + HANDLER_NS) * PART : UNKNOWN_NS;

	return period_ns < LEAST_NS ? 0 : period_ns < MOST_NS ? period_ns : MOST_NS;
}

/* To what the caller had: the target's own, and those that a next run begins with. */
static void limits_give_back(const struct recording *r)
{
	setrlimit(RLIMIT_NOFILE, &r->caller_files);
	setrlimit(RLIMIT_FSIZE, &r->caller_file_size);
}

/* The target's environment: ours, with LD_PRELOAD changed in place or added, settings last. */
static char **environment_make(struct recording *r)
{
	sn_strings words = { 0 };
	struct sn_text preload = { 0 }, settings = { 0 };
	bool had_preload = false;

	for (char **e = environ; *e; e++) {
		if (sn_starts_with(*e, "LD_PRELOAD=") && !had_preload) {
			had_preload = true;
			sn_text_addf(&preload, "LD_PRELOAD=%s:%s", r->library.chars, *e + 11);
			sn_vec_push(&words, preload.chars);
		} else if (!sn_starts_with(*e, SN_SETTINGS_VARIABLE "=")) {
			sn_vec_push(&words, *e);
		}
	}
	if (!had_preload) {
		sn_text_addf(&preload, "LD_PRELOAD=%s", r->library.chars);
		sn_vec_push(&words, preload.chars);
	}
	sn_settings_text(r->options, r->live.path.chars, r->later_ns, &settings);
	sn_vec_push(&words, settings.chars);
	sn_vec_push(&words, NULL);
	return words.items;
}

__attribute__((noreturn)) static void target_become(struct recording *r, char **environment,
						    int report_fd, int go_fd)
{
	int fault;
	char go;

	if (go_fd >= 0 && read(go_fd, &go, 1) != 1)
		_exit(SN_EXIT_NOT_MEASURED);

	for (int s = 0; r->options->standard_fds && s < 2; s++)
		if (r->options->standard_fds[s] >= 0)
			dup2(r->options->standard_fds[s], s ? STDERR_FILENO : STDOUT_FILENO);
	limits_give_back(r);
	sn_file_limit_leave();
	sigprocmask(SIG_SETMASK, &r->caller_mask, NULL);
	execve(r->target.path, r->options->arguments, environment);
	if (errno == ENOEXEC) { /* as execvp: a script without #! is for the shell */
		sn_strings words = { 0 };

		sn_vec_push(&words, (char *)"/bin/sh");
		sn_vec_push(&words, r->target.path);
		for (char *const *w = r->options->arguments + 1; *w; w++)
			sn_vec_push(&words, *w);
		sn_vec_push(&words, NULL);
		execve("/bin/sh", words.items, environment);
	}
	fault = errno;
	if (write(report_fd, &fault, sizeof(fault)) < 0)
		_exit(SN_EXIT_NOT_EXECUTABLE);
	_exit(SN_EXIT_NOT_EXECUTABLE);
}

static void outside_feed(void *context)
{
	sn_feeder_feed(context);
}

static sn_status kernel_open(struct recording *r, struct sn_error *err)
{
	struct sn_kernel_options options = {
		.with_user = r->options->kernel_with_user,
		.starts_paused = r->options->delay_s > 0 || r->options->starts_paused,
		.rate_hz = r->later_ns ? 1000700000.0 / (double)r->later_ns : r->options->rate_hz,
		.folder = r->live.path.chars,
		.experiment = r->result->experiment_path.chars,
		.host = r->host,
		.rank = r->result->rank,
		.feed = outside_feed,
		.feed_context = &r->feeder
	};

	return sn_kernel_open(&options, &r->kernel, err);
}

/* Events on all threads of `pid`; a child of ours still stands before its exec. */
static sn_status outside_open(struct recording *r, pid_t pid, bool is_before_exec,
			      struct sn_error *err)
{
	struct sn_outside_options options = {
		.pid = pid,
		.is_before_exec = is_before_exec,
		.starts_paused = r->options->delay_s > 0 || r->options->starts_paused,
		.rate_hz = r->later_ns ? 1000700000.0 / (double)r->later_ns : r->options->rate_hz,
		.folder = r->live.path.chars,
		.host = r->host,
		.rank = r->result->rank,
		.counters = r->options->counters.specs,
		.counter_count = r->options->counters.count,
		.feed = outside_feed,
		.feed_context = &r->feeder
	};

	return r->options->kernel ? kernel_open(r, err)
				  : sn_outside_open(&options, &r->outside, err);
}

/* Forks and execs; a failed exec comes back through a pipe that a successful one closes. */
static sn_status target_start(struct recording *r, struct sn_error *err)
{
	char **environment = r->is_outside ? environ : environment_make(r);
	bool waits =
		r->is_outside || r->options->counters.count; /* events are opened before its exec */
	int report[2], go[2] = { -1, -1 }, fault = 0;
	sn_status status;
	ssize_t got;

	if (pipe2(report, O_CLOEXEC) || (waits && pipe2(go, O_CLOEXEC)))
		return sn_error_errno(err, "cannot start '%s'", r->target.path);
	r->machine_before = sn_machine_time_now();
	r->is_paused = r->options->starts_paused;
	r->started_ns = (uint64_t)sn_clock_ns(CLOCK_MONOTONIC);
	r->pid = fork();
	if (!r->pid) {
		close(go[1]);
		target_become(r, environment, report[1], go[0]);
	}
	close(report[1]);
	if (waits) {
		status = r->pid > 0 && r->is_outside ? outside_open(r, r->pid, true, err) : SN_OK;
		if (r->pid > 0)
			sn_counters_count_begin(&r->options->counters, r->pid, r->counter_fds);
		if (status == SN_OK && write(go[1], "", 1) != 1)
			status = sn_error_errno(err, "cannot start '%s'", r->target.path);
		close(go[0]);
		close(go[1]);
		if (status != SN_OK) {
			close(report[0]);
			waitpid(r->pid, NULL, 0);
			return status;
		}
	}
	if (r->pid < 0) {
		close(report[0]);
		return sn_error_errno(err, "cannot start '%s'", r->target.path);
	}
	do
		got = read(report[0], &fault, sizeof(fault));
	while (got < 0 && errno == EINTR);
	close(report[0]);
	if (got == sizeof(fault)) {
		waitpid(r->pid, NULL, 0);
		errno = fault;
		r->result->exit_code = SN_EXIT_NOT_EXECUTABLE;
		return sn_error_errno(err, "cannot run '%s'", r->target.path);
	}
	return r->outside ? sn_outside_begin(r->outside, err) : SN_OK;
}

static sn_status attach(struct recording *r, struct sn_error *err)
{
	r->is_paused = r->options->starts_paused;
	r->started_ns = (uint64_t)sn_clock_ns(CLOCK_MONOTONIC);
	return outside_open(r, r->options->pid, false, err);
}

/* ---- while it runs ---- */

static void pause_all(struct recording *r, bool is_paused)
{
	sn_feeder_pause(&r->feeder, is_paused);
	if (r->outside)
		sn_outside_pause(r->outside, is_paused);
	if (r->kernel)
		sn_kernel_pause(r->kernel, is_paused);
}

/* They stay blocked when the recording is over: an interrupt that ended the target is not to end what is
 * made of the data. With two recordings each target gets the mask that the command was started with. */
static void signals_take(struct recording *r)
{
	static sigset_t at_first;
	static bool has_recorded;
	static const int taken[] = { SIGCHLD, SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1,
				     SIGUSR2, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&set, taken[i]);
	if (r->options->pause_signal)
		sigaddset(&set, r->options->pause_signal);
	if (r->options->packet_signal)
		sigaddset(&set, r->options->packet_signal);
	sigprocmask(SIG_BLOCK, &set, &r->caller_mask);
	if (!has_recorded)
		at_first = r->caller_mask;
	has_recorded = true;
	r->caller_mask = at_first;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The terminal's signals reach the target by themselves; one sent to this command is passed on. */
static void signal_pass_on(struct recording *r, const struct signalfd_siginfo *info)
{
	if ((int)info->ssi_signo == r->options->pause_signal) {
		r->is_paused = !r->is_paused;
		r->launch.is_windowed = true;
		if (r->is_over)
			return;
		if (!r->is_paused)
			pause_all(r, false);
		sn_feeder_packet(&r->feeder, r->is_paused ? SN_PACKET_PAUSE : SN_PACKET_RESUME);
		if (r->is_paused)
			pause_all(r, true);
		return;
	}
	if ((int)info->ssi_signo == r->options->packet_signal) {
		sn_feeder_packet(&r->feeder, SN_PACKET_SIGNAL);
		return;
	}
	r->result->was_told_to_end |= sn_is_ender((int)info->ssi_signo);
	switch (info->ssi_signo) {
	case SIGCHLD:
	case SIGCONT:
	case SIGWINCH:
		break;
	case SIGTSTP:
		raise(SIGSTOP);
		break;
	default:
		if (r->options->pid)
			r->is_stopped = true; /* the process is not ours: only we end */
		else if (info->ssi_code != SI_KERNEL)
			kill(r->pid, (int)info->ssi_signo);
	}
}

static double seconds_since_start(const struct recording *r)
{
	return (double)(sn_clock_ns(CLOCK_MONOTONIC) - (int64_t)r->started_ns) * 1e-9;
}

static void limits_look(struct recording *r)
{
	const struct sn_record_options *o = r->options;

	if (!r->has_begun && seconds_since_start(r) >= o->delay_s) {
		r->has_begun = true;
		if (o->delay_s > 0 && !r->is_paused)
			pause_all(r, false);
	}
	if (!r->is_over && o->duration_s > 0 &&
	    seconds_since_start(r) >= o->delay_s + o->duration_s) {
		r->is_over = true;
		pause_all(r, true);
	}
}

static int status_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* One round of looking after everything; sleeps until something is due. False: no thread of a
 * target sampled from outside is left. */
static bool round_go(struct recording *r)
{
	struct pollfd fds[3] = { { r->signal_fd, POLLIN, 0 },
				 { r->feeder.notify_fd, POLLIN, 0 },
				 { r->outside ? sn_outside_fd(r->outside) : -1, POLLIN, 0 } };
	struct signalfd_siginfo info;
	bool is_alive = true;

	poll(fds, 3, r->feeder.wait_ms);
	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		signal_pass_on(r, &info);
	if (r->outside)
		is_alive = sn_outside_drain(r->outside);
	if (r->kernel)
		sn_kernel_drain(r->kernel);
	sn_feeder_feed(&r->feeder);
	sn_steer_tick(r->options->steer);
	if (r->options->round)
		r->options->round(r->options->context);
	limits_look(r);
	return is_alive;
}

/* The target's own account is none of the kernel's profile. */
static void kernel_end(struct recording *r)
{
	if (!r->kernel)
		return;
	sn_kernel_close(r->kernel);
	r->kernel = NULL;
	r->launch.tree_user_ns = r->launch.tree_system_ns = -1;
	r->launch.others_share = -1;
}

static void target_wait(struct recording *r)
{
	siginfo_t ending;
	struct rusage usage;
	int status;
	pid_t ended;

	do {
		round_go(r);
		ending.si_pid = 0;
		if (!waitid(P_PID, (id_t)r->pid, &ending, WEXITED | WNOHANG | WNOWAIT) &&
		    ending.si_pid == r->pid)
			sn_feeder_end(&r->feeder, r->pid);
		ended = wait4(r->pid, &status, WNOHANG, &usage);
	} while (ended != r->pid || !(WIFEXITED(status) || WIFSIGNALED(status)));
	r->launch.elapsed_ns = sn_clock_ns(CLOCK_MONOTONIC) - (int64_t)r->started_ns;
	r->launch.tree_user_ns = (int64_t)usage.ru_utime.tv_sec * 1000000000 +
				 (int64_t)usage.ru_utime.tv_usec * 1000;
	r->launch.tree_system_ns = (int64_t)usage.ru_stime.tv_sec * 1000000000 +
				   (int64_t)usage.ru_stime.tv_usec * 1000;
	r->launch.others_share =
		sn_machine_others_share(r->machine_before, sn_machine_time_now(),
					r->launch.tree_user_ns + r->launch.tree_system_ns);
	r->result->exit_code = r->launch.exit_status = status_code(status);
	r->result->was_told_to_end |= sn_is_told_to_end();
	r->launch.target_pid = r->pid;
	r->result->exit_signal = r->launch.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (r->outside)
		sn_outside_close(r->outside, status, &usage);
	r->outside = NULL;
	kernel_end(r);
}

/* A process that is not ours: until it ends, or we are told to. */
static void attached_wait(struct recording *r)
{
	while (round_go(r) && !r->is_over && !r->is_stopped)
		;
	r->launch.elapsed_ns = sn_clock_ns(CLOCK_MONOTONIC) - (int64_t)r->started_ns;
	r->result->exit_code = SN_EXIT_OK;
	if (r->outside)
		sn_outside_close(r->outside, 0, NULL);
	r->outside = NULL;
	kernel_end(r);
}

/* Children in the background may be just about to end; nobody waits longer than a moment. */
static void stragglers_wait(struct recording *r)
{
	size_t running = 0;

	for (int waited_ms = 0; waited_ms < STRAGGLERS_WAIT_MS; waited_ms += 2) {
		running = sn_feeder_running_count(&r->feeder);
		if (!running)
			return;
		sn_feeder_feed(&r->feeder);
		poll(NULL, 0, 2);
	}
	warn(r, sn_arena_printf(
			&r->launch.arena,
			"%zu process%s of the target still ran when it ended: what %s did later "
			"was not measured",
			running, running == 1 ? "" : "es", running == 1 ? "it" : "they"));
}

/* ---- all of it ---- */

static void live_files_remove(struct recording *r)
{
	sn_plans_remove(r->options, r->live.path.chars);
	sn_steer_close(r->options->steer);
	sn_monitored_remove(r->options, r->live.path.chars);
	sn_live_folder_remove(&r->live);
}

static sn_status gather(struct recording *r, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/%s.%d.data", r->result->experiment_path.chars, r->host, getpid());
	status = sn_feeder_gather(&r->feeder, path.chars, &r->result->data_bytes, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	if (r->library.chars && sn_starts_with(r->library.chars, r->live.path.chars))
		unlink(r->library.chars);
	live_files_remove(r);
	r->launch.live_folder = NULL;
	return SN_OK;
}

static sn_status refuse_if_not_measurable(struct recording *r, struct sn_error *err)
{
	r->result->exit_code = SN_EXIT_NOT_MEASURED;
	switch (r->target.kind) {
	case SN_TARGET_FOREIGN:
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"cannot measure '%s': it is not x86-64 code (32-bit or of another "
			"machine); run it without sonde, or build it for x86-64",
			r->target.path);
	case SN_TARGET_SETUID:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "cannot measure '%s': it is setuid or setgid, so the loader "
				    "ignores the collector; run it as its owner, or a copy without "
				    "that bit",
				    r->target.path);
	case SN_TARGET_STATIC:
		if (r->options->steer)
			return sn_error_set(err, SN_ERR_UNSUPPORTED,
					    "cannot hold up the threads of '%s': it is linked "
					    "statically, so that nothing of sonde can be in it",
					    r->target.path);
		if (r->options->is_monitored)
			return sn_monitored_refuse(r->target.path, err);
		r->is_outside = true;
		break;
	case SN_TARGET_DYNAMIC:
		break;
	}
	return SN_OK;
}

static sn_status prepare(struct recording *r, struct sn_error *err)
{
	struct sn_text key = { 0 };
	sn_status status;

	gethostname(r->host, sizeof(r->host) - 1);
	r->result->exit_code = SN_EXIT_NOT_MEASURED;
	sn_launch_key(r->host, &key, &r->result->rank);
	status = sn_store_create(r->options->output,
				 r->options->named_after ? r->options->named_after
							 : target_words(r)[0],
				 r->options->key ? r->options->key : key.chars,
				 &r->result->experiment_path, &r->result->is_joined, err);
	sn_text_free(&key);
	if (status != SN_OK)
		return status;
	facts_take(r);
	status = sn_live_folder_make(r->result->experiment_path.chars, r->host,
				     r->options->has_accesses || r->options->is_scratch, &r->live,
				     err);
	if (status != SN_OK)
		return status;
	r->launch.live_folder = r->live.path.chars;
	status = sn_plans_write(r->options, r->live.path.chars, err);
	if (status == SN_OK && r->options->steer)
		status = sn_steer_open(r->options->steer, r->live.path.chars, err);
	if (status == SN_OK && !r->is_outside)
		status = library_find(r, err);
	if (status == SN_OK)
		status = sn_feeder_open(&r->feeder, r->live.path.chars, r->options->max_bytes,
					(int64_t)(r->options->packets_s * 1e9), err);
	if (status == SN_OK && r->options->is_rate_auto)
		r->later_ns = later_period_ns(r);
	return status;
}

static void forget(struct recording *r)
{
	if (r->live.path.chars)
		live_files_remove(r);
	if (r->result->experiment_path.chars && !r->result->is_joined)
		sn_store_remove(r->result->experiment_path.chars, NULL);
}

static void recording_free(struct recording *r)
{
	sn_vec_free_owned(&r->words);
	if (r->outside)
		sn_outside_close(r->outside, 0, NULL);
	kernel_end(r);
	if (r->feeder.folder)
		sn_feeder_close(&r->feeder);
	if (r->signal_fd > 0)
		close(r->signal_fd);
	sn_live_folder_free(&r->live);
	sn_text_free(&r->library);
	sn_launch_free(&r->launch);
}

static void limit_raise(int which, struct rlimit *caller)
{
	struct rlimit more;

	getrlimit(which, caller);
	more = *caller;
	more.rlim_cur = more.rlim_max;
	setrlimit(which, &more);
}

/* The target creates its data file under its own limit. */
static sn_status limits_raise(struct recording *r, struct sn_error *err)
{
	uint64_t least = sn_data_file_bytes(1);

	limit_raise(RLIMIT_NOFILE, &r->caller_files);
	limit_raise(RLIMIT_FSIZE, &r->caller_file_size);
	if (r->is_outside || r->caller_file_size.rlim_cur >= least)
		return SN_OK;
	r->result->exit_code = SN_EXIT_NOT_MEASURED;
	return sn_error_set(err, SN_ERR_IO,
			    "cannot measure '%s': the limit on file sizes is %llu kB, which leaves "
			    "no room for data; raise it to 100 MB (ulimit -f 100000) or lift it",
			    target_words(r)[0],
			    (unsigned long long)r->caller_file_size.rlim_cur / 1024);
}

static sn_status target_find(struct recording *r, struct sn_error *err)
{
	sn_status status;

	r->target.exit_code = SN_EXIT_NOT_MEASURED;
	if (r->options->kernel && r->options->pid) {
		r->is_outside = true;
		sn_vec_push(&r->words, sn_strdup("kernel"));
		sn_vec_push(&r->words, NULL);
		return SN_OK;
	}
	if (r->options->pid) {
		r->is_outside = true;
		for (size_t i = 0; i < SN_COUNTERS_MAX; i++)
			r->counter_fds[i] = -1; /* only its threads' own events count */
		return sn_proc_words(r->options->pid, &r->words, &r->has_title, err);
	}
	status = sn_target_find(r->options->arguments[0], &r->target, err);
	if (status == SN_OK && r->options->kernel) {
		r->is_outside = true; /* nothing is loaded into it, whatever it is */
		return SN_OK;
	}
	return status != SN_OK ? status : refuse_if_not_measurable(r, err);
}

sn_status sn_record_run(const struct sn_record_options *options, struct sn_record_result *result,
			struct sn_error *err)
{
	struct recording r = { .options = options, .result = result };
	struct sn_error late;
	sn_status status;

	*result = (struct sn_record_result){ .rank = -1 };
	status = target_find(&r, err);
	if (status != SN_OK) {
		if (!result->exit_code)
			result->exit_code = r.target.exit_code;
		recording_free(&r);
		return status;
	}
	status = limits_raise(&r, err);
	if (status == SN_OK)
		status = prepare(&r, err);
	if (status == SN_OK)
		status = sn_launch_write(&r.launch, result->experiment_path.chars, err);
	if (status == SN_OK) {
		if (options->prepared)
			options->prepared(options->context, r.live.path.chars,
					  result->experiment_path.chars);
		signals_take(&r);
		status = options->pid ? attach(&r, err) : target_start(&r, err);
		if (status != SN_OK)
			sigprocmask(SIG_SETMASK, &r.caller_mask, NULL);
	}
	if (status != SN_OK) {
		forget(&r);
		recording_free(&r);
		return status;
	}
	if (options->pid) {
		attached_wait(&r);
	} else {
		if (options->heap || options->mpi || options->has_sync || options->has_io ||
		    options->has_openmp) /* after the fork, as it has a thread of its own */
			r.drain = sn_drain_begin(&r.launch, result->experiment_path.chars,
						 options->max_bytes, r.is_outside);
		if (options->steer)
			sn_steer_begin(options->steer);
		target_wait(&r);
		result->elapsed_ns = r.launch.elapsed_ns;
		if (options->steer)
			sn_steer_end(options->steer);
		if (!options->kernel)
			stragglers_wait(&r);
		sn_counters_count_end(&options->counters, r.counter_fds, &r.launch);
	}
	result->data_bytes = sn_drain_end(r.drain, &r.launch);
	if (gather(&r, &late) != SN_OK) {
		sn_warn("%s; the data stay in '%s', where 'sonde show' finds them", late.sentence,
			r.live.path.chars);
		warn(&r, late.sentence);
	}
	sn_space_warn(&r.launch, &r.feeder, options->has_accesses, r.live.path.chars,
		      r.caller_file_size.rlim_cur);
	result->copied_loops = r.feeder.copied_loops;
	result->have_accesses_ended = r.feeder.have_accesses_ended;
	r.launch.has_ended = true;
	r.launch.own_cpu_ns = sn_cost_of_us_ns(false);
	if (sn_launch_write(&r.launch, result->experiment_path.chars, &late) != SN_OK)
		sn_error_print(&late);
	if (options->is_first_of_several)
		limits_give_back(&r);
	recording_free(&r);
	return SN_OK;
}
