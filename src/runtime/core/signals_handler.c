/* Our two signals, which the target must not see: wrappers of sigaction, masks and alternate stacks. */
#include "runtime/core/signals.h"

#include <errno.h>
#include <string.h>

#include "runtime/core/real.h"

/* What the target believes; of the process, and kept by its children. */
static struct sigaction target_actions[2]; /* of SN_SIGNAL and SN_SIGNAL_TRAP */
static sn_sigset ours_in_mask[65];	   /* by signal: which of ours its sa_mask held */
static sn_sigset wants_altstack;	   /* signals installed with SA_ONSTACK */
static bool uses_altstacks;		   /* the target installed one somewhere, once */
static bool is_adopted;
static sn_signal_handler our_handler; /* NULL: none was installed */

/* A frame of the kernel's with AVX-512 and without tiles takes 3.7 kB. */
enum { SIGNAL_LEAST_BYTES = 4096 };

static const char SMALL_ALTSTACK[] =
	"some threads use an alternate signal stack that is too small for another signal: they are not "
	"sampled, their time is counted";

static sn_sigset bit_of(int signal)
{
	return 1ULL << (signal - 1);
}

static bool is_signal(int signal)
{
	return signal >= 1 && signal <= 64;
}

/* Only its first 64 bits are the kernel's. */
static sn_sigset bits_of(const sigset_t *set)
{
	sn_sigset bits;

	memcpy(&bits, set, sizeof bits);
	return bits;
}

static void set_bits(sigset_t *set, sn_sigset bits)
{
	memcpy(set, &bits, sizeof bits);
}

static sigset_t without_ours(const sigset_t *set)
{
	sigset_t copy = *set;

	set_bits(&copy, bits_of(&copy) & ~SN_SIGNAL_BITS);
	return copy;
}

static bool is_ours(int signal)
{
	return signal == SN_SIGNAL || signal == SN_SIGNAL_TRAP;
}

static struct sigaction *target_action(int signal)
{
	return &target_actions[signal == SN_SIGNAL_TRAP];
}

void sn_signals_unblock(struct sn_thread *self)
{
	sn_sigset ours = SN_SIGNAL_BITS, old = 0;

	SYS(rt_sigprocmask, SIG_UNBLOCK, &ours, &old, 8);
	self->blocked = old & SN_SIGNAL_BITS;
}

void sn_signals_adopt(void)
{
	if (is_adopted)
		return;
	is_adopted = true;
	sn_libc_sigaction(SN_SIGNAL, NULL, target_action(SN_SIGNAL));
	sn_libc_sigaction(SN_SIGNAL_TRAP, NULL, target_action(SN_SIGNAL_TRAP));
}

bool sn_signals_install(sn_signal_handler handler)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	our_handler = handler;
	sigfillset(&action.sa_mask);
	if (sn_libc_sigaction(SN_SIGNAL, &action, NULL) != 0 ||
	    sn_libc_sigaction(SN_SIGNAL_TRAP, &action, NULL) != 0)
		return false;
	sn_signals_unblock(sn_self);
	return true;
}

static void do_default(int signal)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sn_sigset bit = bit_of(signal);

	sn_finish(SN_DATA_ABORTED, 128 + signal);
	REAL(sigaction)(signal, &action, NULL);
	SYS(tgkill, SYS(getpid), SYS(gettid), signal);
	SYS(rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
}

void sn_signals_forward(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *action = target_action(signal);
	/* a breakpoint cannot wait: the kernel kills who blocks or ignores it */
	bool is_forced = info->si_code > 0;

	if (sn_self && (sn_self->blocked & bit_of(signal)) && !is_forced) {
		sn_self->pending |= bit_of(signal);
		return;
	}
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(signal, info, context);
	else if (action->sa_handler == SIG_DFL || (action->sa_handler == SIG_IGN && is_forced))
		do_default(signal);
	else if (action->sa_handler != SIG_IGN)
		action->sa_handler(signal);
}

void sn_signals_before_exec(struct sn_thread *self)
{
	sn_sigset ours = SN_SIGNAL_BITS, unblocked = SN_SIGNAL_BITS & ~self->blocked;
	struct timespec none = { 0 };

	SYS(rt_sigprocmask, SIG_BLOCK, &ours, NULL, 8);
	while (SYS(rt_sigtimedwait, &ours, NULL, &none, 8) > 0)
		;
	/* what the target has ignored or blocked stays so in the new program */
	for (int i = 0; i < 2; i++)
		if (target_actions[i].sa_handler == SIG_IGN &&
		    !(target_actions[i].sa_flags & SA_SIGINFO))
			REAL(sigaction)(i ? SN_SIGNAL_TRAP : SN_SIGNAL, &target_actions[i], NULL);
	sn_faults_before_exec();
	SYS(rt_sigprocmask, SIG_UNBLOCK, &unblocked, NULL, 8);
}

void sn_signals_after_exec(struct sn_thread *self)
{
	sn_sigset blocked = self->blocked;

	if (our_handler)
		sn_signals_install(our_handler);
	self->blocked = blocked;
}

/* ---- sigaction and its kin ---- */

static void describe_old(int signal, struct sigaction *old, sn_sigset had_mask,
			 sn_sigset had_altstack)
{
	set_bits(&old->sa_mask, (bits_of(&old->sa_mask) & ~SN_SIGNAL_BITS) | had_mask);
	if (had_altstack & bit_of(signal))
		old->sa_flags |= SA_ONSTACK;
	sn_on_stack_describe(signal, old);
	sn_faults_describe(signal, old);
}

static sn_sigset with_bit(sn_sigset set, int signal, bool is_set)
{
	return is_set ? set | bit_of(signal) : set & ~bit_of(signal);
}

SN_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction ours;

	if (!sn_is_active() || !is_signal(signal)) {
		int result = REAL(sigaction)(signal, action, old);
		if (result == 0 && old && is_signal(signal)) {
			sn_on_stack_describe(signal, old);
			sn_faults_describe(signal, old);
		}
		return result;
	}
	sn_sigset had_mask = ours_in_mask[signal], had_altstack = wants_altstack;
	if (is_ours(signal)) {
		struct sigaction before = *target_action(signal);
		if (action)
			*target_action(signal) = *action;
		if (old)
			*old = before;
		return 0;
	}
	if (action) {
		bool is_on_stack = (action->sa_flags & SA_ONSTACK) != 0;
		ours = *action;
		/* while the target's handler is on its alternate stack, another frame of ours must
		 * not be pushed on it: there may be no room */
		set_bits(&ours.sa_mask, is_on_stack ? bits_of(&ours.sa_mask) | SN_SIGNAL_BITS
						    : bits_of(&ours.sa_mask) & ~SN_SIGNAL_BITS);
		ours_in_mask[signal] = bits_of(&action->sa_mask) & SN_SIGNAL_BITS;
		wants_altstack = with_bit(had_altstack, signal, is_on_stack);
		sn_on_stack_wrap(signal, &ours);
		sn_faults_wrap(signal, &ours);
	}
	/* our alternate stack must not serve for the target's handlers */
	if (action && !uses_altstacks)
		ours.sa_flags &= ~SA_ONSTACK;
	int result = REAL(sigaction)(signal, action ? &ours : NULL, old);
	if (result != 0) {
		ours_in_mask[signal] = had_mask;
		wants_altstack = had_altstack;
	} else if (old) {
		describe_old(signal, old, had_mask, had_altstack);
	}
	return result;
}

/* The kernel's struct sigaction of x86-64 (arch/x86/include/uapi/asm/signal.h). */
struct kernel_sigaction {
	sighandler_t handler;
	unsigned long flags;
	void (*restorer)(void);
	sn_sigset mask;
};

long sn_signals_raw_action(int signal, const void *action, void *old)
{
	const struct kernel_sigaction *wanted = action;
	struct kernel_sigaction *before = old, copy;

	if (!is_ours(signal)) {
		if (wanted) { /* a mask with ours in it would kill: a trap of an event cannot wait */
			copy = *wanted;
			copy.mask &= ~SN_SIGNAL_BITS;
		}
		long result = SYS(rt_sigaction, signal, wanted ? &copy : NULL, old, 8);
		if (result < 0)
			errno = (int)-result;
		return result < 0 ? -1 : 0;
	}
	struct sigaction *kept = target_action(signal), was = *kept;
	if (wanted) {
		memset(kept, 0, sizeof *kept);
		kept->sa_handler = wanted->handler;
		kept->sa_flags = (int)wanted->flags;
		set_bits(&kept->sa_mask, wanted->mask);
	}
	if (before)
		*before = (struct kernel_sigaction){ was.sa_handler,
						     (unsigned long)(unsigned)was.sa_flags, NULL,
						     bits_of(&was.sa_mask) };
	return 0;
}

SN_EXPORT sighandler_t signal(int signal_number, sighandler_t handler)
{
	if (!sn_is_active() || !is_signal(signal_number))
		return REAL(signal)(signal_number, handler);
	if (is_ours(signal_number)) {
		sighandler_t before = target_action(signal_number)->sa_handler;
		*target_action(signal_number) =
			(struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART };
		return before;
	}
	if (sn_faults_are_wrapped(signal_number)) {
		struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
		return sigaction(signal_number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
	}
	sighandler_t before = REAL(signal)(signal_number, handler);
	if (before != SIG_ERR) {
		ours_in_mask[signal_number] = 0;
		wants_altstack = with_bit(wants_altstack, signal_number, false);
		before = sn_on_stack_handler_of(signal_number, before);
	}
	return before;
}

/* System V's signal(), which programs of strict standards get by that name. */
SN_EXPORT sighandler_t __sysv_signal(int signal_number, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESETHAND | SA_NODEFER };
	struct sigaction old;

	return sigaction(signal_number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

static void install_wanted_altstacks(void)
{
	struct sigaction action;

	for (int signal = 1; signal <= 64; signal++) {
		if (!(wants_altstack & bit_of(signal)) ||
		    REAL(sigaction)(signal, NULL, &action) != 0)
			continue;
		action.sa_flags |= SA_ONSTACK;
		set_bits(&action.sa_mask, bits_of(&action.sa_mask) | SN_SIGNAL_BITS);
		REAL(sigaction)(signal, &action, NULL);
	}
}

void sn_altstacks_are_used(void)
{
	if (uses_altstacks)
		return;
	uses_altstacks = true;
	install_wanted_altstacks();
}

/* ---- alternate stacks: ours is in the kernel until the target brings its own ---- */

static void mute(struct sn_thread *self, bool is_muted)
{
	sn_sigset ours = SN_SIGNAL_BITS;

	if (self->is_muted == is_muted)
		return;
	self->is_muted = is_muted;
	SYS(rt_sigprocmask, is_muted ? SIG_BLOCK : SIG_UNBLOCK, &ours, NULL, 8);
	if (is_muted) {
		sn_lose(SN_LOSS_SMALL_STACK);
		sn_warn(SMALL_ALTSTACK);
	}
}

static int install_ours(struct sn_thread *self)
{
	stack_t ours = { .ss_sp = self->handler_stack_top - SN_STACK_BYTES,
			 .ss_size = SN_STACK_BYTES };
	int result = REAL(sigaltstack)(&ours, NULL);

	if (result == 0) {
		self->has_altstack = self->has_small_altstack = 0;
		mute(self, false);
	}
	return result;
}

/* A stack with room for the target's own signal and none for ours beside it gives its place to
 * ours, which is larger. (Rust's is as large as the largest frame of the kernel's, 12 kB where
 * tiles are saved.) The target's handler cannot tell. A stack that disarms itself could. On one
 * that has no room for any signal the target must fail as it does alone. Threads with either are
 * not sampled. */
static int install_theirs(struct sn_thread *self, const stack_t *stack)
{
	bool is_small = stack->ss_size < sn_config.signal_frame_bytes + 1024;
	int result = REAL(sigaltstack)(stack, NULL); /* the kernel judges it in any case */

	if (result != 0)
		return result;
	self->altstack_start = (uint64_t)(uintptr_t)stack->ss_sp;
	self->altstack_end = self->altstack_start + stack->ss_size;
	self->altstack_flags = stack->ss_flags & ~SS_ONSTACK;
	self->has_altstack = 1;
	sn_altstacks_are_used();
	if (is_small && stack->ss_size >= SIGNAL_LEAST_BYTES && !self->altstack_flags &&
	    install_ours(self) == 0)
		self->has_small_altstack = 1;
	else
		mute(self, is_small);
	return 0;
}

SN_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	struct sn_thread *self = sn_self_in_call();

	if (!sn_is_active() || !self)
		return REAL(sigaltstack)(stack, old);
	stack_t before = { .ss_flags = SS_DISABLE };
	bool is_in_use = sn_altstack_is_in_use(self) && !self->altstack_flags;
	if (self->has_altstack || self->has_small_altstack)
		before = sn_altstack_of_target(self);
	if (is_in_use)
		before.ss_flags |= SS_ONSTACK;
	int result = 0;
	if (stack && is_in_use) {
		errno = EPERM;
		result = -1;
	} else if (stack && (stack->ss_flags & SS_DISABLE)) {
		result = install_ours(self);
	} else if (stack) {
		result = install_theirs(self, stack);
	}
	if (result == 0 && old)
		*old = before;
	return result;
}

/* ---- masks ---- */

/* The target's view of a mask that the kernel gave. */
static void describe_mask(sigset_t *set, sn_sigset ours)
{
	set_bits(set, (bits_of(set) & ~SN_SIGNAL_BITS) | ours);
}

static void note_mask(struct sn_thread *self, int how, const sigset_t *set)
{
	sn_sigset given = bits_of(set) & SN_SIGNAL_BITS;

	if (how == SIG_SETMASK)
		self->blocked = given;
	else if (how == SIG_BLOCK)
		self->blocked |= given;
	else
		self->blocked &= ~given;
	for (int i = 0; i < 2; i++) {
		int signal = i ? SN_SIGNAL_TRAP : SN_SIGNAL;
		if (!(self->pending & bit_of(signal)) || (self->blocked & bit_of(signal)))
			continue;
		self->pending &= ~bit_of(signal);
		SYS(tgkill, SYS(getpid), self->tid, signal);
	}
}

/* A muted thread (its alternate stack is too small) keeps our signals blocked. */
static sigset_t kernel_mask(const struct sn_thread *self, int how, const sigset_t *set)
{
	sigset_t copy = without_ours(set);

	if (self->is_muted && how != SIG_UNBLOCK)
		set_bits(&copy, bits_of(&copy) | SN_SIGNAL_BITS);
	return copy;
}

static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		       sigset_t *old)
{
	struct sn_thread *self = sn_self_in_call();
	sigset_t ours;

	if (!sn_is_active() || !self)
		return real(how, set, old);
	sn_sigset was_blocked = self->blocked;
	sigset_t given; /* `set` and `old` may be the same memory */
	if (set) {
		given = *set;
		ours = kernel_mask(self, how, set);
	}
	int result = real(how, set ? &ours : NULL, old);
	if (result == 0 && old)
		describe_mask(old, was_blocked);
	if (result == 0 && set)
		note_mask(self, how, &given);
	return result;
}

SN_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(REAL(sigprocmask), how, set, old);
}

SN_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(REAL(pthread_sigmask), how, set, old);
}

long sn_signals_raw_mask(int how, const void *set, void *old)
{
	sigset_t wide_set, wide_old;

	sigemptyset(&wide_set);
	if (set)
		memcpy(&wide_set, set, 8);
	int result = sigprocmask(how, set ? &wide_set : NULL, old ? &wide_old : NULL);
	if (result == 0 && old)
		memcpy(old, &wide_old, 8);
	return result;
}

SN_EXPORT int sigpending(sigset_t *set)
{
	int result = REAL(sigpending)(set);

	if (result == 0 && sn_is_active() && sn_self)
		describe_mask(set, sn_self->pending);
	return result;
}

/* Calls that take a mask for their duration: ours is added to it, so that our signal cannot end
 * them. It comes when they return. */
SN_EXPORT int sigsuspend(const sigset_t *set)
{
	if (!sn_is_active() || !sn_self)
		return REAL(sigsuspend)(set);
	sigset_t copy = *set;
	set_bits(&copy, bits_of(&copy) | SN_SIGNAL_BITS);
	return REAL(sigsuspend)(&copy);
}

SN_EXPORT int sigwait(const sigset_t *set, int *signal_number)
{
	if (!sn_is_active())
		return REAL(sigwait)(set, signal_number);
	sigset_t copy = without_ours(set);
	return REAL(sigwait)(&copy, signal_number);
}

static bool was_only_ours(struct sn_thread *self, int result)
{
	if (result != -1 || errno != EINTR || !self || !self->own_eintr)
		return false;
	self->own_eintr = 0;
	return true;
}

SN_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	struct sn_thread *self = sn_self;
	int result;

	if (!sn_is_active())
		return REAL(sigwaitinfo)(set, info);
	sigset_t copy = without_ours(set);
	if (self)
		self->own_eintr = 0;
	do
		result = REAL(sigwaitinfo)(&copy, info);
	while (was_only_ours(self, result));
	return result;
}

SN_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	if (!sn_is_active())
		return REAL(sigtimedwait)(set, info, timeout);
	sigset_t copy = without_ours(set);
	if (!sn_self || !timeout)
		return REAL(sigtimedwait)(&copy, info, timeout);
	int64_t end_ns = sn_now_ns() + timeout->tv_sec * 1000000000 + timeout->tv_nsec;
	struct timespec left = *timeout;
	int result;
	sn_self->own_eintr = 0;
	while (result = REAL(sigtimedwait)(&copy, info, &left), was_only_ours(sn_self, result)) {
		int64_t left_ns = end_ns - sn_now_ns();
		if (left_ns < 0)
			left_ns = 0;
		left = (struct timespec){ left_ns / 1000000000, left_ns % 1000000000 };
	}
	return result;
}

SN_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	if (!sn_is_active())
		return REAL(signalfd)(fd, set, flags);
	sigset_t copy = without_ours(set);
	return REAL(signalfd)(fd, &copy, flags);
}

/* BSD's masks of 32 bits: bit n-1 is signal n. */
static int change_bsd_mask(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	set_bits(&set, (uint32_t)mask);
	if (sigprocmask(how, &set, &old) != 0)
		return -1;
	return (int)(uint32_t)bits_of(&old);
}

SN_EXPORT int sigblock(int mask)
{
	return change_bsd_mask(SIG_BLOCK, mask);
}

SN_EXPORT int sigsetmask(int mask)
{
	return change_bsd_mask(SIG_SETMASK, mask);
}

/* The kernel leaves rcx at the return address of a system call; a call that will be restarted has
 * its pc at the instruction itself. */
bool sn_signals_met_call(const ucontext_t *context)
{
	const greg_t *gregs = context->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)gregs[REG_RIP], rcx = (uint64_t)gregs[REG_RCX];
	const uint8_t *at = (const uint8_t *)(rcx - 2);

	if ((rcx != pc && rcx != pc + 2) || !sn_module_of(rcx - 2))
		return false;
	return at[0] == 0x0f && at[1] == 0x05;
}

void sn_signals_note_call(struct sn_thread *self, const ucontext_t *context)
{
	if (context->uc_mcontext.gregs[REG_RAX] == -EINTR && sn_signals_met_call(context))
		self->own_eintr = 1;
}

void sn_signals_run(struct sn_thread *self, void (*function)(void *, void *), void *a,
		    void *context)
{
	uint8_t *here = __builtin_frame_address(0);

	sn_altstack_repair(self, context);
	if (here <= self->handler_stack_top && here > self->handler_stack_top - SN_STACK_BYTES)
		function(a, context);
	else
		sn_call_on_stack(function, a, context, self->handler_stack_top - 64);
}
