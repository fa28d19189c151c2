/*
 * Handlers of the target that run on an alternate stack of its own. There may be no room on it for
 * another frame, so our signals are blocked when they begin (core/signals_handler.c). For the time
 * of the handler the kernel is given our stack instead, so that it can be sampled. The return from
 * the handler brings the target's back, since the kernel keeps it in the signal's frame.
 *
 * Handlers of faults are left as they are: they look at stacks, print them, and leave by longjmp.
 */
#include "runtime/core/signals.h"

#include <errno.h>
#include <ucontext.h>

#include "runtime/core/real.h"

__asm__(".pushsection .text\n"
	".globl sn_call_on_stack\n"
	".hidden sn_call_on_stack\n"
	".type sn_call_on_stack, @function\n"
	"sn_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	mov %rcx, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	call *%rax\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size sn_call_on_stack, . - sn_call_on_stack\n"
	".popsection\n");

struct target_handler {
	sn_signal_handler _Atomic function;
	_Atomic bool has_info; /* SA_SIGINFO */
};

static struct target_handler handlers[65];

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGABRT || signal == SIGSYS;
}

static bool is_within(uint64_t address, uint64_t start, uint64_t end)
{
	return address - start < end - start;
}

bool sn_altstack_is_in_use(const struct sn_thread *self)
{
	return self->has_altstack && is_within((uint64_t)(uintptr_t)__builtin_frame_address(0),
					       self->altstack_start, self->altstack_end);
}

stack_t sn_altstack_of_target(const struct sn_thread *self)
{
	return (stack_t){ .ss_sp = (void *)(uintptr_t)self->altstack_start,
			  .ss_size = self->altstack_end - self->altstack_start,
			  .ss_flags = self->altstack_flags };
}

struct swap {
	stack_t to;
	long result;
};

static void swap_stack(void *first, void *unused)
{
	struct swap *swap = first;

	(void)unused;
	swap->result = SYS(sigaltstack, &swap->to, NULL);
}

/* The kernel refuses while sp is on the one that it has: so from `top`, which is elsewhere, and
 * with no signal meanwhile. */
static bool set_altstack(stack_t to, uint8_t *top)
{
	struct swap swap = { .to = to, .result = -1 };
	sn_sigset all = ~0ULL, before = 0;

	if (SYS(rt_sigprocmask, SIG_SETMASK, &all, &before, 8) != 0)
		return false;
	sn_call_on_stack(swap_stack, &swap, NULL, top);
	SYS(rt_sigprocmask, SIG_SETMASK, &before, NULL, 8);
	return swap.result == 0;
}

/* What lies between a thread's parts and its handler stack, half a page, serves as a stack for one
 * call. */
void sn_altstack_repair(struct sn_thread *self, void *interrupted)
{
	ucontext_t *context = interrupted;
	uint64_t sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	stack_t theirs = sn_altstack_of_target(self);

	if (!self->is_altstack_swapped || sn_state->is_sealed ||
	    !is_within(sp, self->stack_start, self->stack_end) ||
	    !set_altstack(theirs, (uint8_t *)self + 4096 - 64))
		return;
	self->is_altstack_swapped = 0;
	context->uc_stack = theirs; /* else the return would bring ours back */
}

/* Ours, for the time of the handler. */
static bool take_altstack(struct sn_thread *self, const ucontext_t *context)
{
	stack_t ours = { .ss_sp = self->handler_stack_top - SN_STACK_BYTES,
			 .ss_size = SN_STACK_BYTES };

	if (!set_altstack(ours, self->handler_stack_top - 64))
		return false;
	self->is_altstack_swapped = 1;
	self->interrupted_sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	return true;
}

/* Whether a frame of ours has a place now. */
static bool make_room(struct sn_thread *self, const ucontext_t *context)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t top = (uint64_t)(uintptr_t)self->handler_stack_top;

	if (!self->has_altstack)
		return !is_within(here, top - SN_STACK_BYTES, top);
	/* with flags it is disarmed now, by the target's wish */
	return !self->is_muted && !self->altstack_flags && !self->is_altstack_swapped &&
	       sn_altstack_is_in_use(self) && take_altstack(self, context);
}

static void call_target(int signal, siginfo_t *info, void *context)
{
	sn_signal_handler function = atomic_load(&handlers[signal].function);
	struct sn_thread *self = sn_self;
	sn_sigset ours = SN_SIGNAL_BITS;
	bool has_room = false;

	if (self && sn_is_active() && !sn_state->is_sealed) {
		/* this one runs on ours, if the one before was left by longjmp a moment ago */
		sn_altstack_repair(self, context);
		has_room = make_room(self, context);
		if (has_room)
			SYS(rt_sigprocmask, SIG_UNBLOCK, &ours, NULL, 8);
	}
	function(signal, info, context);
	/* the handler may have closed the sandbox */
	if (has_room && sn_is_active() && !sn_state->is_sealed) {
		SYS(rt_sigprocmask, SIG_BLOCK, &ours, NULL, 8);
		self->is_altstack_swapped = 0;
	}
}

void sn_on_stack_wrap(int signal, struct sigaction *action)
{
	if (!(action->sa_flags & SA_ONSTACK) || is_fault(signal) || action->sa_handler == SIG_DFL ||
	    action->sa_handler == SIG_IGN)
		return;
	if (action->sa_sigaction != call_target) {
		atomic_store(&handlers[signal].has_info, (action->sa_flags & SA_SIGINFO) != 0);
		atomic_store(&handlers[signal].function, action->sa_sigaction);
	}
	action->sa_sigaction = call_target;
	action->sa_flags |= SA_SIGINFO;
}

void sn_on_stack_describe(int signal, struct sigaction *action)
{
	if (action->sa_sigaction != call_target || !(action->sa_flags & SA_SIGINFO))
		return;
	action->sa_sigaction = atomic_load(&handlers[signal].function);
	if (!atomic_load(&handlers[signal].has_info))
		action->sa_flags &= ~SA_SIGINFO;
}

sighandler_t sn_on_stack_handler_of(int signal, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_SIGINFO };

	sn_on_stack_describe(signal, &action);
	return action.sa_handler;
}
