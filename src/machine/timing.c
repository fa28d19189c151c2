/*
 * The child's code is emitted here: clock, registers, the block a number of times, clock. Two
 * lengths of the same code are timed beside two lengths of a chain of additions; the ratio of the
 * differences is core cycles, whatever the clock was.
 */
#include "machine/timing.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/progress.h"
#include "base/stats.h"
#include "machine/settle.h"

/* Everything the emitted code addresses lies in the low 2 GB, so that it needs no register for it.
 */
enum {
	CELLS_ADDRESS = 0x50000000,
	CODE_ADDRESS = 0x50002000,
	CODE_BYTES = 96 * 1024,
	CELL_RSP = CELLS_ADDRESS,
	CELL_START = CELLS_ADDRESS + 8,
	CELL_END = CELLS_ADDRESS + 16,
	PAGE = 4096,
	SHARED_PAGES = 6, /* where sharing costs nothing: less than any first-level cache */
	OWN_PAGES = 256,
	PAGES_USUAL = 16, /* more than a block needs whose addresses are its registers' */
	MAPPED_PAGES_MAX = 2048,
	REPETITIONS_MAX = 400,
	TIME_OUT_MS = 3000,
	ADD_CHAIN = 512,
	ADD_TRIPS = 16, /* and three times that */
	CELL_ROUNDS = CELLS_ADDRESS + 24,
};

enum outcome {
	OUT_RUNNING,
	OUT_DONE,
	OUT_FAULT,
	OUT_ILLEGAL,
	OUT_ARITHMETIC,
	OUT_PAGES,
	OUT_SETUP
};

enum series { SHORT_ADDS, LONG_ADDS, SHORT_RUN, LONG_RUN, SERIES_COUNT };

/* Shared with the child. */
struct report {
	volatile int outcome;
	volatile uint64_t address;
	volatile unsigned repetitions;
	volatile unsigned pages; /* mapped by the run */
	double work;		 /* iterations by which the long run is longer */
	double ticks[SERIES_COUNT][REPETITIONS_MAX];
};

static struct report *report;

/* What the block finds in memory. */
enum content {
	NUMBERS,  /* varied; ordinary numbers as integers of any width, float, double, extended */
	POINTERS, /* every eight bytes an address that can be mapped, all the same */
	CONTENT_COUNT
};

/* The memory of one content: OWN_PAGES, the first `dirty_pages` of which a run may have written. */
struct pool {
	int fd;
	uint8_t *bytes;
	unsigned dirty_pages;
};

static struct pool pools[CONTENT_COUNT] = { { .fd = -1 }, { .fd = -1 } };
static int memory_fd = -1; /* of the pool in use */
static unsigned mapped_pages;

uint64_t sn_timing_register(unsigned number)
{
	/* rdx lowest, so that a division by another register does not overflow */
	static const uint8_t order[16] = { 1, 2, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	return 0x20000000 + order[number & 15] * (uint64_t)0x01010240;
}

void sn_timing_request_init(struct sn_timing_request *request, const uint8_t *code, size_t length)
{
	memset(request, 0, sizeof(*request));
	request->code = code;
	request->length = length;
	for (unsigned i = 0; i < 16; i++)
		request->registers_short[i] = request->registers_long[i] = sn_timing_register(i);
	request->trips_long = 2000;
	while (request->trips_long > 20 && request->trips_long * length > 16000)
		request->trips_long /= 2;
	request->trips_short = request->trips_long / 2;
}

bool sn_timing_shares_pages(void)
{
	return !__builtin_cpu_is("amd");
}

/* ---- emitted code ---- */

struct emitter {
	uint8_t *next, *end;
};

static void emit(struct emitter *out, const void *bytes, size_t length)
{
	if ((size_t)(out->end - out->next) < length)
		return;
	memcpy(out->next, bytes, length);
	out->next += length;
}

static void emit_u32(struct emitter *out, uint32_t value)
{
	emit(out, &value, 4);
}

#define EMIT(out, ...)                                                                             \
	emit(out, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* lfence; rdtsc; shl rdx,32; or rax,rdx; mov [cell],rax; lfence */
static void emit_clock(struct emitter *out, uint32_t cell)
{
	EMIT(out, 0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0x48,
	     0x89, 0x04, 0x25);
	emit_u32(out, cell);
	EMIT(out, 0x0f, 0xae, 0xe8);
}

static void emit_prologue(struct emitter *out, unsigned rounds)
{
	EMIT(out, 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x89, 0x24,
	     0x25);
	emit_u32(out, CELL_RSP);
	EMIT(out, 0xc7, 0x04, 0x25); /* mov dword [rounds], imm32 */
	emit_u32(out, CELL_ROUNDS);
	emit_u32(out, rounds);
	emit_clock(out, CELL_START);
}

static void emit_registers(struct emitter *out, const uint64_t registers[16])
{
	EMIT(out, 0x0f, 0xae, 0xe8); /* rounds must not overlap */
	for (unsigned i = 0; i < 16; i++) {
		EMIT(out, (uint8_t)(i >= 8 ? 0x49 : 0x48), (uint8_t)(0xb8 + (i & 7)));
		emit(out, &registers[i], 8);
	}
}

static void emit_epilogue(struct emitter *out, const uint8_t *again)
{
	EMIT(out, 0xff, 0x0c, 0x25); /* dec dword [rounds]; jnz again */
	emit_u32(out, CELL_ROUNDS);
	EMIT(out, 0x0f, 0x85);
	emit_u32(out, (uint32_t)(again - (out->next + 4)));
	EMIT(out, 0x48, 0x8b, 0x24, 0x25);
	emit_u32(out, CELL_RSP);
	emit_clock(out, CELL_END);
	EMIT(out, 0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3);
}

static void emit_alignment(struct emitter *out, unsigned alignment)
{
	while ((uintptr_t)out->next % alignment && out->next < out->end)
		*out->next++ = 0x90;
}

typedef void (*emitted_code)(void);

/* The registers are loaded and the code is run, `rounds` times over. */
static emitted_code emit_function(struct emitter *out, const struct sn_timing_request *request,
				  const uint64_t registers[16], unsigned copies, unsigned rounds)
{
	uint8_t *entry, *again;

	emit_alignment(out, 64);
	entry = out->next;
	emit_prologue(out, rounds);
	again = out->next;
	emit_registers(out, registers);
	emit_alignment(out, 64);
	for (unsigned i = 0; i < copies; i++)
		emit(out, request->code, request->length);
	emit_epilogue(out, again);
	return (emitted_code)(uintptr_t)entry;
}

/* Enough rounds that the clock's coarse steps are small beside the difference. */
static unsigned rounds_of(const struct sn_timing_request *request)
{
	unsigned trips = request->trips_long - request->trips_short;

	if (!request->is_loop || trips >= 8000)
		return 1;
	return trips ? (8000 + trips - 1) / trips : 1;
}

/* A loop of ADD_CHAIN dependent additions: mov ecx,trips; L: add rax,rax ...; dec rcx; jnz L */
static emitted_code emit_adds(struct emitter *out, unsigned trips)
{
	struct sn_timing_request request;
	uint8_t loop[ADD_CHAIN * 3 + 16];
	size_t length = 0;
	int32_t back;

	for (unsigned i = 0; i < ADD_CHAIN; i++, length += 3)
		memcpy(loop + length, "\x48\x01\xc0", 3);
	memcpy(loop + length, "\x48\xff\xc9\x0f\x85", 5);
	length += 5;
	back = -(int32_t)(length + 4);
	memcpy(loop + length, &back, 4);
	length += 4;
	sn_timing_request_init(&request, loop, length);
	request.registers_long[1] = trips;
	return emit_function(out, &request, request.registers_long, 1, 1);
}

/* ---- the child ---- */

static void leave(int outcome, uint64_t address)
{
	report->outcome = outcome;
	report->address = address;
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	uint64_t page = (uint64_t)(uintptr_t)info->si_addr & ~(uint64_t)(PAGE - 1);
	unsigned own = mapped_pages % (sn_timing_shares_pages() ? SHARED_PAGES : OWN_PAGES);
	void *made;

	(void)context;
	if (number == SIGILL)
		leave(OUT_ILLEGAL, (uint64_t)(uintptr_t)info->si_addr);
	if (number == SIGFPE || number == SIGTRAP)
		leave(OUT_ARITHMETIC, (uint64_t)(uintptr_t)info->si_addr);
	if (number != SIGSEGV || info->si_code != SEGV_MAPERR || page < 0x10000)
		leave(OUT_FAULT, (uint64_t)(uintptr_t)info->si_addr);
	if (++mapped_pages > MAPPED_PAGES_MAX)
		leave(OUT_PAGES, page);
	report->pages = mapped_pages;
	made = (void *)syscall(SYS_mmap, page, PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_FIXED_NOREPLACE, memory_fd, (off_t)own * PAGE);
	if (made == MAP_FAILED || (uint64_t)(uintptr_t)made != page)
		leave(OUT_FAULT, (uint64_t)(uintptr_t)info->si_addr);
}

/* The block may do nothing but ask for pages (through the handler above) and leave. */
static bool confine(void)
{
	static const struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]),
				      (struct sock_filter *)rules };
	struct rlimit space = { 1u << 30, 1u << 30 }, cpu = { 4, 5 }, none = { 0, 0 };

	return !setrlimit(RLIMIT_CORE, &none) && !setrlimit(RLIMIT_CPU, &cpu) &&
	       !setrlimit(RLIMIT_AS, &space) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool catch_faults(void)
{
	static char stack[65536];
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (sigaltstack(&alternate, NULL))
		return false;
	sigfillset(&action.sa_mask);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], &action, NULL))
			return false;
	return true;
}

static bool has_avx(void)
{
	return __builtin_cpu_supports("avx");
}

/* Every run begins with the same vector, mask and x87 state. */
static void reset_registers(void)
{
	static const uint32_t mxcsr = 0x9fc0; /* no exceptions, denormals are zero */

	__asm__ volatile("fninit; fld1; fld1; fld1; fld1; ldmxcsr %0" ::"m"(mxcsr));
	if (has_avx())
		__asm__ volatile(".byte 0xc5, 0xfc, 0x77"); /* vzeroall */
	if (__builtin_cpu_supports("avx512bw"))		    /* kxnorq k1..k7 */
		__asm__ volatile(".byte 0xc4,0xe1,0xf4,0x46,0xc9, 0xc4,0xe1,0xec,0x46,0xd2,"
				 "0xc4,0xe1,0xe4,0x46,0xdb, 0xc4,0xe1,0xdc,0x46,0xe4,"
				 "0xc4,0xe1,0xd4,0x46,0xed, 0xc4,0xe1,0xcc,0x46,0xf6,"
				 "0xc4,0xe1,0xc4,0x46,0xff");
}

static double ticks_of(emitted_code code)
{
	const volatile uint64_t *cells = (const volatile uint64_t *)(uintptr_t)CELLS_ADDRESS;

	reset_registers();
	code();
	return (double)(cells[2] - cells[1]);
}

__attribute__((noreturn)) static void child_run(const struct sn_timing_request *request)
{
	struct emitter out;
	emitted_code run_short, run_long, adds_short, adds_long;
	unsigned repetitions = request->repetitions ? request->repetitions : 80;
	unsigned trips = request->trips_long - request->trips_short;
	unsigned rounds = rounds_of(request);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mmap((void *)(uintptr_t)CELLS_ADDRESS, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ||
	    mmap((void *)(uintptr_t)CODE_ADDRESS, CODE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		leave(OUT_SETUP, 0);
	out.next = (uint8_t *)(uintptr_t)CODE_ADDRESS;
	out.end = out.next + CODE_BYTES;
	adds_short = emit_adds(&out, ADD_TRIPS);
	adds_long = emit_adds(&out, 3 * ADD_TRIPS);
	run_short = emit_function(&out, request, request->registers_short,
				  request->is_loop ? 1 : request->trips_short, rounds);
	run_long = emit_function(&out, request, request->registers_long,
				 request->is_loop ? 1 : request->trips_long, rounds);
	if (mprotect((void *)(uintptr_t)CODE_ADDRESS, CODE_BYTES, PROT_READ | PROT_EXEC) ||
	    !catch_faults() || !confine())
		leave(OUT_SETUP, 0);
	for (unsigned i = 0; i < 3; i++) {
		ticks_of(run_short);
		ticks_of(run_long);
		ticks_of(adds_short);
		ticks_of(adds_long);
	}
	if (repetitions > REPETITIONS_MAX)
		repetitions = REPETITIONS_MAX;
	for (unsigned i = 0; i < repetitions; i++) {
		report->ticks[SHORT_ADDS][i] = ticks_of(adds_short);
		report->ticks[LONG_ADDS][i] = ticks_of(adds_long);
		report->ticks[SHORT_RUN][i] = ticks_of(run_short);
		report->ticks[LONG_RUN][i] = ticks_of(run_long);
	}
	report->repetitions = repetitions;
	report->work = (double)trips * rounds;
	leave(OUT_DONE, 0);
	__builtin_unreachable();
}

/* ---- the parent ---- */

static uint8_t content_at(enum content content, size_t at)
{
	static const uint8_t pointer[] = { 0, 0, 0x40, 0x22, 0, 0, 0, 0 };
	uint64_t mixed = (at / 8 + 1) * 0x9e3779b97f4a7c15;
	uint8_t any;

	if (content == POINTERS)
		return pointer[at % 8];
	mixed ^= mixed >> 29;
	any = (uint8_t)(mixed * 0xbf58476d1ce4e5b9 >> (8 * (at % 8)));
	switch (at % 8) {
	case 2: /* a float from 1 to 2 in the lower half, */
		return any | 0x80;
	case 3:
		return 0x3f;
	case 6: /* one from -2 to -1 in the upper, and a double of that size in both */
		return any | 0xf0;
	case 7:
		return 0xbf;
	default:
		return any;
	}
}

static bool open_pool(struct pool *pool)
{
	pool->fd = memfd_create("sonde-block", MFD_CLOEXEC);
	pool->bytes = MAP_FAILED;
	if (pool->fd >= 0 && !ftruncate(pool->fd, OWN_PAGES * PAGE))
		pool->bytes = mmap(NULL, OWN_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				   pool->fd, 0);
	if (pool->bytes != MAP_FAILED) {
		pool->dirty_pages = OWN_PAGES;
		return true;
	}
	if (pool->fd >= 0)
		close(pool->fd);
	pool->fd = -1;
	return false;
}

/* Every run finds the same memory: what the one before wrote is put right. */
static bool prepare(enum content content, struct sn_error *err)
{
	struct pool *pool = &pools[content];

	if (!report) {
		report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (report == MAP_FAILED)
			report = NULL;
	}
	if (!report || (pool->fd < 0 && !open_pool(pool))) {
		sn_error_errno(err, "calibrate: cannot set up the memory of a measurement");
		return false;
	}
	for (size_t at = 0; at < (size_t)pool->dirty_pages * PAGE; at++)
		pool->bytes[at] = content_at(content, at);
	memory_fd = pool->fd;
	return true;
}

/* True if the child ended by itself within the time. */
static bool wait_for(pid_t child, int *status)
{
	uint64_t deadline = sn_now_ns() + (uint64_t)TIME_OUT_MS * 1000000;
	struct timespec nap = { 0, 100000 };

	while (waitpid(child, status, WNOHANG) == 0) {
		if (sn_now_ns() > deadline) {
			kill(child, SIGKILL);
			waitpid(child, status, 0);
			return false;
		}
		nanosleep(&nap, NULL);
	}
	return true;
}

/* Disturbances only ever add time, so a low quantile of each series is taken before the
 * differences. It is not the minimum, as the clock advances in coarse steps. All series share the
 * same millisecond and so the same core clock. */
static double cycles_of(struct report *from)
{
	double low[SERIES_COUNT];

	for (unsigned i = 0; i < SERIES_COUNT; i++)
		low[i] = sn_quantile(from->ticks[i], from->repetitions, 0.2);
	return (low[LONG_RUN] - low[SHORT_RUN]) / from->work * (2.0 * ADD_TRIPS * ADD_CHAIN) /
	       (low[LONG_ADDS] - low[SHORT_ADDS]);
}

static sn_status explain(int status, struct sn_error *err)
{
	switch (report->outcome) {
	case OUT_FAULT:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the block faulted at address 0x%llx, which cannot be mapped",
				    (unsigned long long)report->address);
	case OUT_PAGES:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the block touches more than %d pages of memory",
				    MAPPED_PAGES_MAX);
	case OUT_ILLEGAL:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "this processor does not know an instruction of the block");
	case OUT_ARITHMETIC:
		return sn_error_set(
			err, SN_ERR_UNSUPPORTED,
			"the block raised an arithmetic exception (a division overflowed)");
	case OUT_SETUP:
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "calibrate: cannot confine the measured code here (seccomp or "
				    "memory limits refused)");
	default:
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
			return sn_error_set(err, SN_ERR_UNSUPPORTED,
					    "the block made a system call and was stopped");
		return sn_error_set(err, SN_ERR_UNSUPPORTED, "the block ended in signal %d",
				    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
}

static sn_status run_with(const struct sn_timing_request *request, enum content content,
			  double *cycles, struct sn_error *err)
{
	pid_t child;
	int status = 0;
	bool ended;

	if (!prepare(content, err))
		return err ? err->status : SN_ERR_IO;
	memset(report, 0, sizeof(*report));
	child = fork();
	if (child < 0)
		return sn_error_errno(err, "calibrate: cannot start a child");
	if (!child)
		child_run(request);
	ended = wait_for(child, &status);
	pools[content].dirty_pages = report->pages < OWN_PAGES ? report->pages : OWN_PAGES;
	if (!ended)
		return sn_error_set(err, SN_ERR_UNSUPPORTED, "the block did not end within %d ms",
				    TIME_OUT_MS);
	if (report->outcome != OUT_DONE || !report->repetitions)
		return explain(status, err);
	*cycles = cycles_of(report);
	if (!isfinite(*cycles) || *cycles < 0)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the clock did not advance steadily while the block ran");
	return SN_OK;
}

/* Memory holds numbers at first. A block that takes a loaded value for an address faults then, or
 * goes to pages far apart. It is run again with addresses in memory. */
sn_status sn_timing_run(const struct sn_timing_request *request, double *cycles,
			struct sn_error *err)
{
	struct sn_error first = { 0 }, second = { 0 };
	double other = 0;
	unsigned pages;
	sn_status status;

	if (!request->length || request->length > SN_TIMING_CODE_MAX)
		return sn_error_set(err, SN_ERR_RANGE,
				    "a block of %zu bytes cannot be timed; 1 to %d can",
				    request->length, SN_TIMING_CODE_MAX);
	status = run_with(request, NUMBERS, cycles, &first);
	if (!report || (!status && report->pages <= PAGES_USUAL) ||
	    (status && report->outcome != OUT_FAULT && report->outcome != OUT_PAGES &&
	     report->outcome != OUT_ARITHMETIC)) {
		if (status && err)
			*err = first;
		return status;
	}
	pages = report->pages;
	if (!run_with(request, POINTERS, &other, &second) && (status || report->pages < pages)) {
		*cycles = other;
		return SN_OK;
	}
	if (status && err)
		*err = second.status ? second : first;
	return status;
}

static const double PASS_TOLERANCE = 0.05;

/* Disturbance makes passes longer, but where the clock changes within one it may also seem short: a lone lowest pass
 * does not stand against most of the others. */
void sn_timing_result_add(struct sn_timing_result *result, double cycles)
{
	double sorted[SN_TIMING_PASSES_MAX], agreed;
	size_t count;

	if (result->pass_count < SN_TIMING_PASSES_MAX)
		result->passes[result->pass_count++] = cycles;
	count = result->pass_count;
	memcpy(sorted, result->passes, count * sizeof(*sorted));
	agreed = sn_lowest_agreed(sorted, count, count / 2 + 1, PASS_TOLERANCE);
	result->cycles = sorted[0];
	result->is_stable =
		sorted[0] > 0 && count > 1 && sorted[1] <= sorted[0] * (1 + PASS_TOLERANCE);
	if (!result->is_stable && count > 2 && agreed > 0) {
		result->cycles = agreed;
		result->is_stable = true;
	}
}

__attribute__((noinline)) static uint64_t add_chain_ticks(unsigned trips)
{
	uint64_t start, end, value = 1;

	_mm_lfence();
	start = __rdtsc();
	_mm_lfence();
	for (unsigned i = 0; i < trips; i++)
		__asm__ volatile(".rept 64\n\tadd %0, %0\n\t.endr" : "+r"(value));
	_mm_lfence();
	end = __rdtsc();
	return end - start;
}

double sn_timing_cycles_per_tick(void)
{
	double ratios[101];
	unsigned count = 0;

	for (unsigned i = 0; i < 101; i++) {
		uint64_t brief = add_chain_ticks(100), longer = add_chain_ticks(300);

		if (longer > brief)
			ratios[count++] = 200.0 * 64 / (double)(longer - brief);
	}
	return sn_median(ratios, count);
}
