/* New images and processes: exec, spawn, fork and their kin, and how our variables reach them. */
#include "runtime/core/collector.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/core/parse.h"
#include "runtime/core/packets.h"
#include "runtime/core/real.h"
#include "runtime/core/signals.h"

/*
 * A new program gets our two variables back. These wrappers also run in the children of fork and
 * vfork, on small stacks, so nothing is allocated: everything lies in the caller's frame.
 */

enum { EXTRA_BYTES = SN_SETTINGS_PATH_MAX + 512 + SN_COUNTER_TEXT_BYTES + 128, PRELOAD_MAX = 4096 };

struct passed {
	char settings[EXTRA_BYTES];
	char preload[SN_SETTINGS_PATH_MAX + PRELOAD_MAX];
};

static size_t count_entries(char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=';
}

static char *write_number(char *at, const char *key, uint64_t value)
{
	at = sn_format_number(sn_copy_text(at, key), value);
	return sn_copy_text(at, ";");
}

/* The settings as the launcher gave them, behind what the next image must know from us. */
static void write_settings(struct passed *passed, bool is_same_process)
{
	const char *rest = sn_config.settings_text;
	char *at = sn_copy_text(passed->settings, SN_SETTINGS_VARIABLE "=again=1;");
	struct rusage usage = { 0 };

	if (is_same_process && !sn_state->is_sealed) {
		SYS(getrusage, RUSAGE_SELF, &usage);
		at = write_number(at, "user=",
				  (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
					  (uint64_t)usage.ru_utime.tv_usec * 1000);
		at = write_number(at, "system=",
				  (uint64_t)usage.ru_stime.tv_sec * 1000000000 +
					  (uint64_t)usage.ru_stime.tv_usec * 1000);
	}
	/* what we put there ourselves last time goes */
	while (sn_settings_key_is(rest, "again") || sn_settings_key_is(rest, "user") ||
	       sn_settings_key_is(rest, "system"))
		rest = strchr(rest, ';') + 1;
	sn_copy_text(at, rest);
}

static bool holds_library(const char *preload)
{
	size_t length = strlen(sn_config.library);

	return !strncmp(preload, sn_config.library, length) &&
	       (preload[length] == ':' || preload[length] == '\0');
}

/* Copies envp into out (room for two more) with our variables in it. */
static void pass_on(char **out, char *const *envp, struct passed *passed, bool is_same_process)
{
	size_t count = 0;
	bool has_preload = false;

	write_settings(passed, is_same_process);
	for (; envp && *envp; envp++) {
		if (is_variable(*envp, SN_SETTINGS_VARIABLE))
			continue;
		out[count++] = *envp;
		if (has_preload || !is_variable(*envp, "LD_PRELOAD"))
			continue;
		const char *theirs = *envp + strlen("LD_PRELOAD=");
		has_preload = true;
		if (holds_library(theirs) || strlen(theirs) >= PRELOAD_MAX - 16)
			continue;
		char *at = sn_copy_text(passed->preload, "LD_PRELOAD=");
		at = sn_copy_text(at, sn_config.library);
		sn_copy_text(sn_copy_text(at, ":"), theirs);
		out[count - 1] = passed->preload;
	}
	if (!has_preload) {
		sn_copy_text(sn_copy_text(passed->preload, "LD_PRELOAD="), sn_config.library);
		out[count++] = passed->preload;
	}
	out[count++] = passed->settings;
	out[count] = NULL;
}

/* Whether new programs get the variables at all. */
static bool is_passing(void)
{
	/* what a new image would have to do at its start, a filter may forbid */
	return sn_config.is_set_up && !sn_config.is_sealed &&
	       (sn_config.settings.follow == SN_FOLLOW_ALL ||
		sn_config.settings.follow == SN_FOLLOW_EXEC ||
		sn_config.settings.follow == SN_FOLLOW_REGEX);
}

#define PASSED_ENVIRONMENT(envp)                                                                   \
	({                                                                                         \
		char **passed_out = (char **)(envp);                                               \
		if (is_passing()) {                                                                \
			struct passed *passed_text = alloca(sizeof(struct passed));                \
			passed_out = alloca((count_entries(envp) + 3) * sizeof(char *));           \
			pass_on(passed_out, (envp), passed_text, is_same);                         \
		}                                                                                  \
		passed_out;                                                                        \
	})

/* ---- what is said about it ---- */

/* Why the program at `path` will run unmeasured: set-uid, static, not for this machine. */
static uint8_t why_unmeasured(int folder_fd, const char *path)
{
	struct stat status;
	Elf64_Ehdr ehdr;
	uint8_t flags = is_passing() ? 0 : SN_RECORD_EXEC_NOT_FOLLOWED;

	if (sn_state->is_sealed || !path)
		return flags;
	if (SYS(newfstatat, folder_fd, path, &status, 0) != 0)
		return flags;
	if ((status.st_mode & S_ISUID && status.st_uid != (uid_t)SYS(getuid)) ||
	    (status.st_mode & S_ISGID && status.st_gid != (gid_t)SYS(getgid)))
		flags |= SN_RECORD_EXEC_SETUID;
	long fd = SYS(openat, folder_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return flags;
	if (SYS(pread64, fd, &ehdr, sizeof ehdr, 0) == sizeof ehdr &&
	    !memcmp(ehdr.e_ident, ELFMAG, 4)) {
		bool has_interpreter = false;
		if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_machine != EM_X86_64) {
			flags |= SN_RECORD_EXEC_FOREIGN;
			has_interpreter = true;
		}
		for (int i = 0; i < ehdr.e_phnum && i < 64 && !has_interpreter; i++) {
			Elf64_Phdr phdr;
			uint64_t at = ehdr.e_phoff + (uint64_t)i * sizeof phdr;
			if (SYS(pread64, fd, &phdr, sizeof phdr, at) != sizeof phdr)
				break;
			has_interpreter = phdr.p_type == PT_INTERP;
		}
		if (!has_interpreter)
			flags |= SN_RECORD_EXEC_STATIC;
	}
	SYS(close, fd);
	return flags;
}

static void write_exec(struct sn_thread *self, const char *path, int32_t child, uint8_t flags)
{
	size_t length = path ? strlen(path) : 0;
	int64_t now_ns = sn_now_ns();

	if (length > SN_DATA_STRING_MAX)
		length = SN_DATA_STRING_MAX;
	uint32_t bytes =
		(uint32_t)((offsetof(struct sn_record_exec, path) + length + 1 + 7) & ~7UL);
	struct sn_record_exec *record = sn_writer_reserve(&self->writer, bytes, now_ns);
	if (!record) {
		sn_lose(SN_LOSS_NO_SPACE);
		return;
	}
	record->header = (struct sn_record_header){ .type = SN_RECORD_EXEC,
						    .flags = flags,
						    .size_bytes = (uint16_t)bytes };
	record->child_pid = child;
	record->time_ns = now_ns;
	record->path_bytes = (uint32_t)length;
	memcpy(record->path, path ? path : "", length);
	record->path[length] = '\0';
	sn_writer_commit(&self->writer, bytes);
}

enum {
	UNMEASURED = SN_RECORD_EXEC_NOT_FOLLOWED | SN_RECORD_EXEC_SETUID | SN_RECORD_EXEC_STATIC |
		     SN_RECORD_EXEC_FOREIGN
};

/* In a vfork child memory is the parent's: the record goes to its file, with the child's pid. */
static bool is_own_process(void)
{
	return sn_state->is_sealed || SYS(getpid) == sn_state->pid;
}

static void note_exec(int folder_fd, const char *path, int32_t child, uint8_t flags)
{
	struct sn_thread *self = sn_self;

	flags |= why_unmeasured(folder_fd, path);
	if (!sn_enter(self))
		return;
	if (flags & UNMEASURED)
		atomic_fetch_add(&sn_header()->children_not_followed, 1);
	write_exec(self, path, child, flags);
	sn_leave(self);
}

static void before_exec(int folder_fd, const char *path)
{
	if (!sn_is_active() || !sn_self_in_call())
		return;
	if (!is_own_process()) {
		note_exec(folder_fd, path, (int32_t)SYS(getpid), SN_RECORD_EXEC_SPAWNED);
		return;
	}
	note_exec(folder_fd, path, 0, 0);
	sn_finish(SN_DATA_EXECED, -1);
	if (!sn_state->is_sealed) {
		struct sn_held held = sn_hold(sn_self);
		sn_collect_pause(sn_self); /* writes what no signal has told of */
		sn_let_go(sn_self, &held);
		sn_signals_before_exec(sn_self);
	}
}

static void after_failed_exec(const char *path)
{
	int saved_errno = errno;

	if (sn_is_active() && sn_self && is_own_process()) {
		if (!sn_state->is_sealed) {
			sn_signals_after_exec(sn_self);
			sn_collect_resume(sn_self);
		}
		atomic_store(&sn_header()->state, SN_DATA_RUNNING);
		atomic_store(&sn_header()->end_ns, 0);
		atomic_store(&sn_state->has_finished, 0);
		uint32_t count = atomic_load(&sn_state->next_block);
		for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
			uint32_t accounted = 2;
			if (sn_state->blocks[i])
				atomic_compare_exchange_strong(&sn_state->blocks[i]->is_live,
							       &accounted, 1);
		}
		if (sn_enter(sn_self)) {
			write_exec(sn_self, path, 0, SN_RECORD_EXEC_FAILED);
			sn_leave(sn_self);
		}
	}
	errno = saved_errno;
}

/* ---- exec ---- */

SN_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	bool is_same = !sn_is_active() || is_own_process();
	char **passed = PASSED_ENVIRONMENT(envp);

	before_exec(AT_FDCWD, path);
	int result = REAL(execve)(path, argv, passed);
	after_failed_exec(path);
	return result;
}

SN_EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

SN_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	bool is_same = !sn_is_active() || is_own_process();
	char **passed = PASSED_ENVIRONMENT(envp);

	before_exec(AT_FDCWD, file);
	int result = REAL(execvpe)(file, argv, passed);
	after_failed_exec(file);
	return result;
}

SN_EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

SN_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	bool is_same = !sn_is_active() || is_own_process();
	char **passed = PASSED_ENVIRONMENT(envp);
	char path[48];

	sn_format_number(sn_copy_text(path, "/proc/self/fd/"), (uint64_t)(fd < 0 ? 0 : fd));
	before_exec(AT_FDCWD, path);
	int result = REAL(fexecve)(fd, argv, passed);
	after_failed_exec(path);
	return result;
}

SN_EXPORT int execveat(int folder_fd, const char *path, char *const argv[], char *const envp[],
		       int flags)
{
	bool is_same = !sn_is_active() || is_own_process();
	char **passed = PASSED_ENVIRONMENT(envp);

	before_exec(folder_fd, path);
	int result = REAL(execveat)(folder_fd, path, argv, passed, flags);
	after_failed_exec(path);
	return result;
}

#define COLLECT_WORDS(first, argv, arguments)                                                      \
	size_t count = 1;                                                                          \
	va_list arguments, again;                                                                  \
	va_start(arguments, first);                                                                \
	va_copy(again, arguments);                                                                 \
	while (va_arg(again, char *))                                                              \
		count++;                                                                           \
	va_end(again);                                                                             \
	char **argv = alloca((count + 1) * sizeof *argv);                                          \
	argv[0] = (char *)first;                                                                   \
	for (size_t i = 1; i <= count; i++)                                                        \
		argv[i] = va_arg(arguments, char *);

SN_EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT_WORDS(first, argv, arguments)
	va_end(arguments);
	return execve(path, argv, environ);
}

SN_EXPORT int execlp(const char *file, const char *first, ...)
{
	COLLECT_WORDS(first, argv, arguments)
	va_end(arguments);
	return execvpe(file, argv, environ);
}

SN_EXPORT int execle(const char *path, const char *first, ...)
{
	COLLECT_WORDS(first, argv, arguments)
	char *const *envp = va_arg(arguments, char *const *);
	va_end(arguments);
	return execve(path, argv, envp);
}

/* ---- spawn ---- */

static int spawn(__typeof__(posix_spawn) *real, pid_t *child, const char *path,
		 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		 char *const argv[], char *const envp[])
{
	bool is_same = false;
	char **passed = PASSED_ENVIRONMENT(envp);
	pid_t made = 0;
	int result = real(&made, path, actions, attributes, argv, passed);

	if (result == 0 && child)
		*child = made;
	if (result == 0 && sn_is_active() && sn_self && is_own_process())
		note_exec(AT_FDCWD, path, made, SN_RECORD_EXEC_SPAWNED);
	return result;
}

SN_EXPORT int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[],
			  char *const envp[])
{
	return spawn(REAL(posix_spawn), child, path, actions, attributes, argv, envp);
}

SN_EXPORT int posix_spawnp(pid_t *child, const char *file,
			   const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[],
			   char *const envp[])
{
	return spawn(REAL(posix_spawnp), child, file, actions, attributes, argv, envp);
}

/* libc's system() spawns past us with the plain environment, and may take long, so the environment
 * cannot be changed meanwhile: POSIX says what it does, done here. */
static int run_shell(const char *command)
{
	const char *const words[] = { "sh", "-c", "--", command, NULL };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, interrupt, quit;
	sigset_t child_signal, mask, defaults;
	posix_spawnattr_t attributes;
	int status = -1;
	pid_t child;

	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, &mask);
	sigemptyset(&defaults);
	if (interrupt.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGINT);
	if (quit.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	int error =
		posix_spawn(&child, "/bin/sh", NULL, &attributes, (char *const *)words, environ);
	posix_spawnattr_destroy(&attributes);
	if (error != 0)
		status = W_EXITCODE(127, 0);
	else
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR) {
				status = -1;
				break;
			}
	int saved_errno = errno;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	errno = saved_errno;
	return status;
}

SN_EXPORT int system(const char *command)
{
	if (!command)
		return run_shell("exit 0") == 0;
	return run_shell(command);
}

/* popen and wordexp return soon, but cannot be rebuilt here: they see our variables in the
 * environment while they run. One at a time. */
static _Atomic uint32_t environment_lock;

#define WITH_ENVIRONMENT(call)                                                                     \
	({                                                                                         \
		__typeof__(call) with_result;                                                      \
		bool is_same = false;                                                              \
		char **theirs = environ, **ours;                                                   \
		while (atomic_exchange(&environment_lock, 1))                                      \
			SYS(sched_yield);                                                          \
		theirs = environ;                                                                  \
		ours = PASSED_ENVIRONMENT(theirs);                                                 \
		environ = ours;                                                                    \
		with_result = call;                                                                \
		if (environ == ours)                                                               \
			environ = theirs;                                                          \
		atomic_store(&environment_lock, 0);                                                \
		with_result;                                                                       \
	})

SN_EXPORT FILE *popen(const char *command, const char *mode)
{
	return WITH_ENVIRONMENT(REAL(popen)(command, mode));
}

SN_EXPORT int wordexp(const char *words, wordexp_t *expansion, int flags)
{
	return WITH_ENVIRONMENT(REAL(wordexp)(words, expansion, flags));
}

/* ---- fork and the end ---- */

/* The child of our own wrapper starts its clock at the wrapper's end, not in libc's fork. */
static __thread bool is_in_wrapper __attribute__((tls_model("initial-exec")));

/* Whether a child that this thread forks is to be measured. */
static bool child_is_followed(const struct sn_thread *parent)
{
	uint32_t follow = sn_config.settings.follow;

	return parent && sn_config.is_followed && !sn_config.is_sealed &&
	       follow != SN_FOLLOW_EXEC && follow != SN_FOLLOW_NONE;
}

/* Runs before every fork. The launcher waits a moment for a child that has not made its file yet.
 */
static void announce_child(void)
{
	if (sn_is_active() && child_is_followed(sn_self))
		atomic_fetch_add(&sn_header()->children_forked, 1);
}

/* Runs in every child of fork(), daemon(), forkpty(): the state is wiped, the block is a copy. */
static void begin_child(void)
{
	struct sn_thread *parent = sn_self;

	sn_self = NULL;
	if (!child_is_followed(parent))
		return;
	int64_t begin_ns = sn_now_ns();
	if (!parent->has_altstack) {
		stack_t off = { .ss_flags = SS_DISABLE };
		SYS(sigaltstack, &off, NULL);
	}
	if (!sn_start_image(SN_DATA_ORIGIN_FORK, sn_config.sequence_of_parent)) {
		sn_start_failed();
		return;
	}
	sn_self->blocked = parent->blocked;
	if (parent->has_altstack || parent->has_small_altstack) {
		sn_self->has_altstack = parent->has_altstack;
		sn_self->has_small_altstack = parent->has_small_altstack;
		sn_self->altstack_start = parent->altstack_start;
		sn_self->altstack_end = parent->altstack_end;
		sn_self->altstack_flags = parent->altstack_flags;
		sn_self->is_altstack_swapped = parent->is_altstack_swapped;
		sn_self->interrupted_sp = parent->interrupted_sp;
	}
	sn_count_overhead(begin_ns);
	if (!is_in_wrapper)
		sn_collect_resume(sn_self);
}

void sn_fork_start(void)
{
	pthread_atfork(announce_child, NULL, begin_child);
}

void sn_start_failed(void)
{
	/* active stays 0: every wrapper passes through */
	sn_self = NULL;
}

SN_EXPORT pid_t fork(void)
{
	struct sn_thread *self = sn_self_in_call();

	if (sn_enter(self)) {
		sn_packet_write(self, SN_PACKET_FORK, NULL, sn_now_ns());
		sn_leave(self);
	}
	is_in_wrapper = true;
	pid_t child = REAL(fork)();
	is_in_wrapper = false;
	if (child == 0 && sn_is_active() && sn_self) {
		sn_collect_fork(sn_self, (const void *)sn_real.real_fork);
		sn_collect_resume(sn_self);
	}

	if (child < 0 && sn_is_active() && child_is_followed(self))
		atomic_fetch_sub(&sn_header()->children_forked, 1);
	if (child > 0 && sn_enter(self)) {
		int64_t now_ns = sn_now_ns();
		struct sn_record_fork *record =
			sn_writer_reserve(&self->writer, sizeof *record, now_ns);
		if (record) {
			*record =
				(struct sn_record_fork){ .header = { .type = SN_RECORD_FORK,
								     .size_bytes = sizeof *record },
							 .child_pid = child,
							 .time_ns = now_ns };
			sn_writer_commit(&self->writer, sizeof *record);
		} else {
			sn_lose(SN_LOSS_NO_SPACE);
		}
		if (sn_config.settings.follow == SN_FOLLOW_EXEC ||
		    sn_config.settings.follow == SN_FOLLOW_NONE)
			atomic_fetch_add(&sn_header()->children_not_followed, 1);
		sn_leave(self);
	}
	return child;
}

SN_EXPORT void _exit(int status)
{
	if (sn_is_active())
		sn_finish(SN_DATA_EXITED, status & 0xff);
	REAL(_exit)(status);
	__builtin_unreachable();
}

SN_EXPORT void _Exit(int status)
{
	if (sn_is_active())
		sn_finish(SN_DATA_EXITED, status & 0xff);
	REAL(_exit)(status);
	__builtin_unreachable();
}
