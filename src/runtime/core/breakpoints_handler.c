/*
 * Breakpoints as perf events that send SIGTRAP, each kept alive by the mapping of its page, as the
 * clock's are. The kernel runs a thread's handler before the instruction, and resumes past the trap.
 */
#include "runtime/core/breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/core/signals.h"

enum { SECOND_NS = 1000000000, INT3 = 0xcc };

static const char REFUSED[] =
	"no hardware breakpoint could be had (a debugger has them, or perf_event_open is refused): a "
	"place in the program is not watched";
static const char TOO_OFTEN[] =
	"a watched place is reached over 400 times a second, too often for a breakpoint: it is "
	"watched no more";
static const char CODE_TOO_OFTEN[] =
	"a watched place is reached over 50 million times a second in a thread, too often to be counted: it is "
	"watched no more";

/* Of the process, and of its children by fork. `generation` changes with each. */
static struct {
	_Atomic uint64_t load_addr; /* 0: none */
	_Atomic(sn_breakpoint_reached) reached;
	_Atomic uint32_t generation;
	_Atomic uint32_t is_deaf;  /* some thread came too often */
	_Atomic uint32_t is_coded; /* code tells, and not the processor */
} points[SN_BREAKPOINTS_MAX];
/* Where code stands that tells of arrivals. */
static uint64_t coded[SN_BREAKPOINTS_MAX];
static _Atomic uint32_t generation_of_all;

static void close_one(struct sn_thread_breakpoint *own)
{
	void *page = own->page;

	own->page = NULL;
	if (page)
		SYS(munmap, page, 4096);
}

static bool open_one(struct sn_thread_breakpoint *own, unsigned which, uint32_t every)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof attr,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = atomic_load(&points[which].load_addr),
		.bp_len = sizeof(long),
		.sample_period = every,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sigtrap = 1,
		.remove_on_exec = 1,
		.sig_data = SN_BREAKPOINT_COOKIE | which,
	};
	long fd = SYS(perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	long page = SYS(mmap, NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (!(page < 0 && page > -4096)) {
		own->page = (void *)page;
		own->every = every;
		own->arrivals = 0;
		own->window_ns = sn_now_ns();
		SYS(ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	SYS(close, fd);
	return own->page != NULL;
}

void sn_breakpoint_has_code(uint64_t load_addr, uint32_t number)
{
	if (number < SN_BREAKPOINTS_MAX)
		coded[number] = load_addr;
}

/* The code may stand behind an endbr64 at the address. */
static uint32_t code_at(uint64_t load_addr)
{
	enum { ENDBR_BYTES = 4 };

	for (uint32_t i = 0; i < SN_BREAKPOINTS_MAX; i++)
		if (coded[i] && (coded[i] == load_addr || coded[i] == load_addr + ENDBR_BYTES))
			return i + 1;
	return 0;
}

int sn_breakpoint_set(uint64_t load_addr, sn_breakpoint_reached reached)
{
	uint32_t code = code_at(load_addr);

	if (sn_config.is_traced && !code)
		return -1;
	for (int i = 0; i < SN_BREAKPOINTS_MAX; i++) {
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&points[i].load_addr, &none, load_addr))
			continue;
		atomic_store(&points[i].reached, reached);
		atomic_store(&points[i].is_coded, code != 0);
		if (code)
			atomic_store(&sn_breakpoint_of_code[code - 1], (uint32_t)i + 1);
		atomic_store(&points[i].generation, atomic_fetch_add(&generation_of_all, 1) + 1);
		return i;
	}
	return -1;
}

bool sn_breakpoint_is_deaf(unsigned which)
{
	return atomic_load_explicit(&points[which].is_deaf, memory_order_relaxed) != 0;
}

bool sn_breakpoints_follow(struct sn_thread *self)
{
	uint32_t now = atomic_load_explicit(&generation_of_all, memory_order_acquire);
	bool are_open = true;

	if (self->breakpoints_seen == now || sn_state->is_sealed || self != sn_self)
		return true;
	self->breakpoints_seen = now;
	for (unsigned i = 0; i < SN_BREAKPOINTS_MAX; i++) {
		struct sn_thread_breakpoint *own = &self->breakpoints[i];
		uint32_t generation = atomic_load(&points[i].generation);

		if (own->generation == generation)
			continue;
		own->generation = generation;
		close_one(own);
		if (atomic_load(&points[i].load_addr) && !atomic_load(&points[i].is_coded) &&
		    !open_one(own, i, 1))
			are_open = false;
	}
	if (!are_open)
		sn_warn(REFUSED);
	return are_open;
}

void sn_breakpoints_stop(struct sn_thread *thread)
{
	for (unsigned i = 0; i < SN_BREAKPOINTS_MAX; i++) {
		close_one(&thread->breakpoints[i]);
		thread->breakpoints[i].generation = 0;
	}
	thread->breakpoints_seen = 0;
}

/* A thread that comes too often hears of it less often, and in the end no more. */
static void slow_down(struct sn_thread_breakpoint *own, unsigned which)
{
	int64_t now_ns = sn_now_ns();
	uint32_t every = own->every * 2;

	if (now_ns - own->window_ns > SECOND_NS) {
		own->window_ns = now_ns;
		own->arrivals = 0;
	}
	if (++own->arrivals <= SN_BREAKPOINT_RATE || sn_state->is_sealed)
		return;
	close_one(own);
	if (every > SN_BREAKPOINT_EVERY_MAX || !open_one(own, which, every)) {
		atomic_store(&points[which].is_deaf, 1);
		sn_warn(TOO_OFTEN);
	}
}

static void reach(struct sn_thread *self, unsigned which)
{
	struct sn_thread_breakpoint *own = &self->breakpoints[which];
	sn_breakpoint_reached reached = atomic_load(&points[which].reached);
	uint32_t every = own->every;

	if (!own->page || !sn_enter(self))
		return;
	slow_down(own, which);
	if (reached)
		reached(self, which, every);
	sn_leave(self);
}

/* ---- by code (coded_handler.c) ---- */

/* The code tells of half as many arrivals, in the end of none, and goes on without a signal. */
static void code_slow_down(unsigned which)
{
	for (unsigned i = 0; i < SN_BREAKPOINTS_MAX; i++) {
		uint32_t every = atomic_load(&sn_breakpoint_code_every[i]);

		if (atomic_load(&sn_breakpoint_of_code[i]) != which + 1)
			continue;
		if (every < SN_BREAKPOINT_CODE_EVERY_MAX) {
			atomic_store(&sn_breakpoint_code_every[i], every > 1 ? 2 * every : 2);
			continue;
		}
		atomic_store(&sn_breakpoint_of_code[i], 0);
		atomic_store(&points[which].is_deaf, 1);
		sn_warn(CODE_TOO_OFTEN);
	}
}

uint32_t sn_breakpoint_every(unsigned which)
{
	for (unsigned i = 0; i < SN_BREAKPOINTS_MAX; i++)
		if (atomic_load(&sn_breakpoint_of_code[i]) == which + 1)
			return atomic_load_explicit(&sn_breakpoint_code_every[i],
						    memory_order_relaxed);
	return 1;
}

static void reach_by_code(struct sn_thread *self, unsigned which)
{
	struct sn_thread_breakpoint *own = &self->breakpoints[which];
	sn_breakpoint_reached reached = atomic_load(&points[which].reached);
	int64_t now_ns = sn_now_ns();
	uint32_t passed = own->passed;

	if (!sn_enter(self))
		return;
	own->passed = 0;
	if (now_ns - own->window_ns > SECOND_NS) {
		own->window_ns = now_ns;
		own->arrivals = 0;
	}
	if (++own->arrivals > SN_BREAKPOINT_CODE_RATE) {
		code_slow_down(which);
		own->arrivals = 0;
		own->window_ns = now_ns;
	}
	if (reached)
		reached(self, which, passed ? passed : 1);
	sn_leave(self);
}

static bool is_by_code(const siginfo_t *info)
{
	uint64_t value = (uint64_t)(uintptr_t)info->si_value.sival_ptr;

	return info->si_code == SI_QUEUE && info->si_pid == (pid_t)SYS(getpid) &&
	       (value & ~(uint64_t)(SN_BREAKPOINTS_MAX - 1)) == SN_BREAKPOINT_COOKIE;
}

/* The processor's trap may reach the program beside the event's signal: as TRAP_HWBKPT, or as
 * TRAP_BRKPT where no int3 is. */
static bool is_stray(const siginfo_t *info, const void *context)
{
	uint64_t pc = (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if (info->si_code != TRAP_HWBKPT && info->si_code != TRAP_BRKPT)
		return false;
	for (unsigned i = 0; i < SN_BREAKPOINTS_MAX; i++)
		if (pc && atomic_load(&points[i].load_addr) == pc &&
		    ((const uint8_t *)pc)[0] != INT3 && ((const uint8_t *)pc)[-1] != INT3)
			return true;
	return false;
}

bool sn_breakpoint_take(const siginfo_t *info, const void *context)
{
	uint64_t data = sn_trap_data(info);
	struct sn_thread *self = sn_self;

	if (is_by_code(info)) {
		if (self && sn_is_active())
			reach_by_code(self, (uint64_t)(uintptr_t)info->si_value.sival_ptr &
						    (SN_BREAKPOINTS_MAX - 1));
		return true;
	}
	if ((data & ~(uint64_t)(SN_BREAKPOINTS_MAX - 1)) != SN_BREAKPOINT_COOKIE)
		return is_stray(info, context);
	if (self && sn_is_active())
		reach(self, (unsigned)(data & (SN_BREAKPOINTS_MAX - 1)));
	return true;
}
