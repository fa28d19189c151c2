/*
 * The truth by construction: a child calls libc while every instruction is single-stepped, and the
 * callers are known because each call and each return was seen. At every instruction (in prologues,
 * epilogues, PLT stubs, the lazy resolver and the vdso too) the walk must give exactly those.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <langinfo.h>
#include <libgen.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "harness/tap.h"
#include "unit/unwind/here.h"
#include "unwind/cfi.h"

#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* ---- what the child calls ---- */

static const char *t = "the quick brown fox jumps over the lazy dog";
static const wchar_t *w = L"the quick brown fox jumps over the lazy dog";
static char b[4096];
static wchar_t wb[1024];
static char *rest;
static int n = 7, number, negative;
static size_t forty = 40;
static double real;
static unsigned seed;
static unsigned short seed48_state[3];
static void *kept;
static struct timespec now;
static struct timeval tv;
static time_t seconds = 1700000000;
static struct tm parts;
static struct tms ticks;
static struct utsname names;
static struct rusage usage;
static struct rlimit limit;
static cpu_set_t cpus;
static struct stat status;
static struct sigaction action;
static sigset_t set;
static stack_t alternate;
static ucontext_t context, other_context;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void nothing(void)
{
}

static int by_int(const void *x, const void *y)
{
	return *(const int *)x - *(const int *)y;
}

static int *ints(void)
{
	static int numbers[40];

	for (int i = 0; i < 40; i++)
		numbers[i] = i * 17 % 40;
	return numbers;
}

static void malloc_and_free(size_t bytes)
{
	free(malloc(bytes));
}

static void calloc_and_free(size_t bytes)
{
	free(calloc(bytes, 2));
}

static void realloc_twice(void)
{
	free(realloc(realloc(NULL, 100), 5000));
}

static void aligned_alloc_and_free(void)
{
	free(aligned_alloc(256, 1024));
}

static void posix_memalign_and_free(void)
{
	void *block;

	if (posix_memalign(&block, 64, 100) == 0)
		free(block);
}

static void setjmp_and_longjmp(void)
{
	static jmp_buf back;

	if (_setjmp(back) == 0)
		longjmp(back, 1);
}

static void pthread_mutex_pair(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void regex_pair(void)
{
	regex_t regex;

	if (regcomp(&regex, "l.zy *(d|c)og?", REG_EXTENDED) == 0) {
		regexec(&regex, t, 0, NULL, 0);
		regfree(&regex);
	}
}

static void strsep_once(void)
{
	char *at = strcpy(b, t);

	strsep(&at, " ");
}

__attribute__((format(printf, 2, 3))) static void vsnprintf_once(char *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(to, 100, format, args);
	va_end(args);
}

static void free_formatted(void)
{
	char *text = NULL;

	if (asprintf(&text, "%s %d", t, n) > 0)
		free(text);
}

static void memory_stream(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	fprintf(out, "%d", n);
	fputs(t, out);
	fputc('x', out);
	fwrite(t, 1, 10, out);
	fclose(out);
	free(text);
}

static void read_stream(void)
{
	FILE *in = fopen("/proc/self/stat", "r");
	char *line = NULL;
	size_t room = 0;

	if (!in)
		return;
	fgetc(in);
	ungetc('x', in);
	fgets(b, 100, in);
	fread(b, 1, 10, in);
	fscanf(in, "%d", &number);
	fseek(in, 0, SEEK_SET);
	getline(&line, &room, in);
	fclose(in);
	free(line);
}

static void perror_to_nowhere(void)
{
	fflush(stderr);
	ferror(stdin);
	feof(stdin);
	fileno(stdin);
}

static void puts_to_null(void)
{
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		return;
	setvbuf(out, NULL, _IOLBF, 0);
	fputs("line\n", out);
	fprintf(out, "%s\n", t);
	fclose(out);
}

static void newlocale_once(void)
{
	locale_t made = newlocale(LC_ALL_MASK, "C", NULL);

	if (made)
		freelocale(made);
}

static void open_and_close(void)
{
	int fd = open("/dev/null", O_RDWR);

	write(fd, t, 5);
	lseek(fd, 0, SEEK_SET);
	dup2(fd, fd);
	fcntl(fd, F_GETFL);
	close(fd);
}

static void pipe_round(void)
{
	int ends[2];

	if (pipe(ends))
		return;
	write(ends[1], t, 5);
	read(ends[0], b, 5);
	close(ends[0]);
	close(ends[1]);
}

static void directory_round(void)
{
	DIR *folder = opendir("/");

	if (!folder)
		return;
	readdir(folder);
	rewinddir(folder);
	closedir(folder);
}

static void glob_root(void)
{
	glob_t found;

	if (glob("/us?", 0, NULL, &found) == 0)
		globfree(&found);
}

static void wordless_getopt(void)
{
	char *args[] = { b, NULL };

	getopt(1, args, "ab:");
}

static void mmap_round(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	madvise(page, 4096, MADV_DONTNEED);
	munmap(page, 4096);
}

static void sigset_round(void)
{
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigismember(&set, SIGUSR2);
	sigdelset(&set, SIGUSR2);
}

static void swapcontext_round(void)
{
	static volatile int visits;

	visits = 0;
	getcontext(&other_context);
	if (visits++ == 0)
		setcontext(&other_context);
}

static void pthread_key_round(void)
{
	pthread_key_t key;

	pthread_key_create(&key, NULL);
	pthread_setspecific(key, b);
	pthread_getspecific(key);
	pthread_key_delete(key);
}

static void pthread_attr_round(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_attr_destroy(&attr);
}

static void pthread_rwlock_round(void)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	pthread_rwlock_rdlock(&lock);
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
}

static void pthread_cond_round(void)
{
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	pthread_cond_signal(&cond);
	pthread_cond_broadcast(&cond);
}

static void sem_round(void)
{
	static sem_t semaphore;

	sem_init(&semaphore, 0, 1);
	sem_wait(&semaphore);
	sem_trywait(&semaphore);
	sem_post(&semaphore);
}

static void hash_table_round(void)
{
	ENTRY entry = { (char *)t, NULL };

	hcreate(10);
	hsearch(entry, ENTER);
	hdestroy();
}

static void tree_round(void)
{
	static void *root;

	for (int i = 0; i < 8; i++)
		tsearch(&ints()[i], &root, by_int);
	tfind(&n, &root, by_int);
	for (int i = 0; i < 8; i++)
		tdelete(&ints()[i], &root, by_int);
}

static void insque_round(void)
{
	struct element {
		struct element *next, *previous;
	} first = { NULL, NULL }, second;

	insque(&second, &first);
	remque(&second);
}

static void mergesort_large(void)
{
	static int many[600];

	for (int i = 0; i < 600; i++)
		many[i] = i * 7919 % 601;
	qsort(many, 100, sizeof(int), by_int);
}

static void inet_ntoa_once(void)
{
	struct in_addr addr = { 0x0100007f };

	inet_ntoa(addr);
}

#define CALL(...) #__VA_ARGS__,
static const char *const call_text[] = {
#include "unit/unwind/libc_calls.def"
};
#undef CALL
#define CALL_COUNT ((int)(sizeof(call_text) / sizeof(call_text[0])))

enum { FIRST_CASE = __COUNTER__ + 1 };
#define CALL(...)                                                                                  \
	case __COUNTER__ - FIRST_CASE:                                                             \
		__VA_ARGS__;                                                                       \
		break;

static __attribute__((noinline)) void make_call(int which)
{
	switch (which) {
#include "unit/unwind/libc_calls.def"
	default:
		break;
	}
}

/* ---- kernels that nothing describes: a BLAS library, if there is one ---- */

static double matrix[3][64 * 64];
static float small[3][64 * 64];
static void *blas;

typedef void (*gemm_fn)(int, int, int, int, int, int, double, const double *, int, const double *,
			int, double, double *, int);
typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *,
			 int, float, float *, int);
typedef void (*gemv_fn)(int, int, int, int, double, const double *, int, const double *, int,
			double, double *, int);
typedef double (*dot_fn)(int, const double *, int, const double *, int);
typedef void (*axpy_fn)(int, double, const double *, int, double *, int);
typedef void (*scal_fn)(int, double, double *, int);
typedef void (*copy_fn)(int, const double *, int, double *, int);
typedef void (*trsm_fn)(int, int, int, int, int, int, int, double, const double *, int, double *,
			int);

static const char *const kernel_text[] = { "cblas_dgemm",  "cblas_sgemm", "cblas_dgemv",
					   "cblas_ddot",   "cblas_daxpy", "cblas_dscal",
					   "cblas_dcopy",  "cblas_dtrsm", "cblas_dasum",
					   "cblas_idamax", "cblas_dswap" };
enum { KERNEL_COUNT = sizeof(kernel_text) / sizeof(kernel_text[0]) };

/* Row-major 101, not transposed 111, transposed 112, upper 121, unit diagonal 132, left 141. */
static __attribute__((noinline)) void make_kernel_call(int which)
{
	void *function = dlsym(blas, kernel_text[which]);
	double *a = matrix[0], *c = matrix[1], *d = matrix[2];

	if (!function)
		return;
	switch (which) {
	case 0:
		((gemm_fn)function)(101, 111, 112, 37, 29, 23, 1.5, a, 64, c, 64, .5, d, 64);
		break;
	case 1:
		((sgemm_fn)function)(101, 112, 111, 33, 31, 17, 1, small[0], 64, small[1], 64, 0,
				     small[2], 64);
		break;
	case 2:
		((gemv_fn)function)(101, 111, 61, 59, 1, a, 64, c, 1, 1, d, 1);
		break;
	case 3:
	case 8:
	case 9:
		((dot_fn)function)(1003, a, 1, c, 1);
		break;
	case 4:
		((axpy_fn)function)(1003, 2, a, 1, c, 1);
		break;
	case 5:
		((scal_fn)function)(1003, 2, a, 1);
		break;
	case 6:
	case 10:
		((copy_fn)function)(1003, a, 1, c, 1);
		break;
	default:
		((trsm_fn)function)(101, 141, 121, 111, 132, 21, 19, 1, a, 64, c, 64);
	}
}

static __attribute__((noreturn)) void be_the_child(void (*call)(int), int count)
{
	kept = malloc(10);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (int which = 0; which < count; which++) {
		__asm__ volatile("int3" : : "D"(which));
		call(which);
		__asm__ volatile("int3" : : "D"(-1));
	}
	_exit(0);
}

/* ---- the tracer ---- */

extern void *__libc_stack_end;

#define DEPTH_MAX  256
#define STEPS_MAX  300000 /* in one call: more means a loop of the test's own making */
#define STARTS_MAX 16384

struct known_frame {
	uint64_t return_addr, slot;
};

struct tracer {
	pid_t child;
	const char *const *texts;
	bool is_for_undescribed; /* only what nothing describes counts */
	struct here here, blind; /* blind: no image describes its functions */
	struct sn_unwind_cache *cache, *blind_cache;
	uint64_t scanned_count, unscanned_count, misread_count, misread_registers;
	struct user_regs_struct regs;
	struct known_frame known[DEPTH_MAX];
	unsigned depth;
	uint64_t stack[8192];
	uint64_t step_count, wrong_count, excused_count, guessed_count;
	uint64_t starts[STARTS_MAX]; /* functions seen, by hash */
	unsigned function_count;
};

/** Whether the instruction here is a call: e8, or ff /2 behind prefixes. */
static bool is_call(uint64_t pc)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)pc;

	while (*at == 0xf2 || *at == 0x3e || (*at & 0xf0) == 0x40)
		at++;
	return *at == 0xe8 || (*at == 0xff && (at[1] & 0x38) == 0x10);
}

/** Brings the known callers up to date after the instruction at `old_pc`. */
static void follow(struct tracer *tracer, uint64_t old_pc, uint64_t old_rsp)
{
	uint64_t rsp = tracer->regs.rsp;

	while (tracer->depth && tracer->known[tracer->depth - 1].slot < rsp)
		tracer->depth--;
	if (rsp == old_rsp - 8 && is_call(old_pc) && tracer->depth < DEPTH_MAX) {
		struct known_frame *frame = &tracer->known[tracer->depth++];

		frame->slot = rsp;
		frame->return_addr =
			(uint64_t)ptrace(PTRACE_PEEKDATA, tracer->child, (void *)rsp, NULL);
	}
}

static void note_function(struct tracer *tracer, uint64_t start)
{
	uint64_t at = start * UINT64_C(0x9e3779b97f4a7c15) >> 50;

	while (tracer->starts[at] && tracer->starts[at] != start)
		at = (at + 1) % STARTS_MAX;
	if (!tracer->starts[at]) {
		tracer->starts[at] = start;
		tracer->function_count++;
	}
}

/** While longjmp and setcontext load the registers they are in two functions at once: their rules
 *  describe where they go to, the calls seen where they came from. */
static bool is_excused(const struct tracer *tracer, int which)
{
	return strstr(tracer->texts[which], "longjmp") ||
	       strstr(tracer->texts[which], "swapcontext");
}

/** The innermost frame left by what its code does alone, beside how it is left by its description.
 */
static void compare_scan(struct tracer *tracer, int which, const struct sn_unwind_window *stack,
			 const struct sn_unwind_regs *regs)
{
	static const uint8_t surviving[] = { SN_UNWIND_RBX, SN_UNWIND_RBP, SN_UNWIND_R12,
					     SN_UNWIND_R13, SN_UNWIND_R14, SN_UNWIND_R15 };
	const struct known_frame *truth = &tracer->known[tracer->depth - 1];
	struct sn_unwind_frame scanned = { *regs, true, 0 }, described = scanned;
	struct sn_unwind_target target = tracer->blind.target;
	enum sn_unwind_end end;

	target.stacks = stack;
	end = sn_unwind_step(&target, tracer->blind_cache, &scanned);
	if (end != SN_UNWIND_GOES_ON || !(scanned.flags & SN_UNWIND_BY_SCAN)) {
		tracer->unscanned_count++;
		return;
	}
	tracer->scanned_count++;
	if (scanned.regs.value[SN_UNWIND_RIP] != truth->return_addr ||
	    scanned.regs.value[SN_UNWIND_RSP] != truth->slot + 8) {
		if (tracer->misread_count++ < 20)
			printf("# %s: pc %#lx of the image at %#lx: not read from the code, rsp "
			       "%+ld\n",
			       tracer->texts[which], (unsigned long)regs->value[SN_UNWIND_RIP],
			       (unsigned long)sn_unwind_find_module(&target,
								    regs->value[SN_UNWIND_RIP])
				       ->load_start,
			       (long)(scanned.regs.value[SN_UNWIND_RSP] - truth->slot - 8));
		return;
	}
	target = tracer->here.target;
	target.stacks = stack;
	if (sn_unwind_step(&target, tracer->cache, &described) != SN_UNWIND_GOES_ON)
		return;
	for (unsigned i = 0; i < sizeof surviving; i++)
		if ((scanned.regs.valid & described.regs.valid & 1u << surviving[i]) &&
		    scanned.regs.value[surviving[i]] != described.regs.value[surviving[i]]) {
			if (tracer->misread_registers++ < 20)
				printf("# %s: pc %#lx: register %u\n", tracer->texts[which],
				       (unsigned long)regs->value[SN_UNWIND_RIP], surviving[i]);
			return;
		}
}

static void compare(struct tracer *tracer, int which)
{
	uint64_t start = tracer->regs.rsp, end = (uintptr_t)__libc_stack_end + 16, pcs[DEPTH_MAX];
	struct iovec local = { tracer->stack, end - start },
		     remote = { (void *)start, end - start };
	struct sn_unwind_target target = tracer->here.target;
	struct sn_unwind_window stack = { start, end, (const uint8_t *)tracer->stack };
	const struct user_regs_struct *u = &tracer->regs;
	struct sn_unwind_regs regs = { { u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp,
					 u->rsp, u->r8, u->r9, u->r10, u->r11, u->r12, u->r13,
					 u->r14, u->r15, u->rip },
				       SN_UNWIND_ALL_VALID };
	const struct sn_unwind_module *module = sn_unwind_find_module(&target, u->rip);
	struct sn_unwind_walk_result result;
	struct sn_unwind_fde fde = { .start_load_addr = 0 };
	bool is_right, is_described = module &&
				      sn_unwind_fde_find(module, u->rip, &fde) == SN_UNWIND_FOUND;

	if (start >= end || end - start > sizeof(tracer->stack) ||
	    process_vm_readv(tracer->child, &local, 1, &remote, 1, 0) < 0) {
		tracer->wrong_count++;
		return;
	}
	target.stacks = &stack;
	if (tracer->is_for_undescribed && is_described)
		return;
	if (!is_excused(tracer, which))
		compare_scan(tracer, which, &stack, &regs);
	sn_unwind_walk(&target, &regs, tracer->cache, pcs, DEPTH_MAX, &result);
	is_right = result.count > tracer->depth && result.end == SN_UNWIND_COMPLETE;
	tracer->guessed_count += result.flags != 0;
	for (unsigned i = 0; is_right && i < tracer->depth; i++)
		is_right = pcs[i + 1] == tracer->known[tracer->depth - 1 - i].return_addr;
	tracer->step_count++;
	if (is_described)
		note_function(tracer, fde.start_load_addr);
	if (is_right)
		return;
	if (is_excused(tracer, which)) {
		tracer->excused_count++;
	} else if (tracer->wrong_count++ < 20) {
		printf("# %s: pc %#llx (function at %#lx + %#lx of the image at %#lx): depth %u, "
		       "walked %u, end %u, flags %u\n",
		       tracer->texts[which], u->rip, (unsigned long)fde.start_load_addr,
		       (unsigned long)(u->rip - fde.start_load_addr),
		       module ? (unsigned long)module->load_start : 0, tracer->depth, result.count,
		       result.end, result.flags);
	}
}

/** One stop of the child; its signal, or 0 if it is gone. */
static int wait_for_stop(struct tracer *tracer)
{
	int state;

	if (waitpid(tracer->child, &state, 0) != tracer->child || !WIFSTOPPED(state))
		return 0;
	ptrace(PTRACE_GETREGS, tracer->child, NULL, &tracer->regs);
	return WSTOPSIG(state);
}

/** Steps through one call of the child, from its first breakpoint to its second. */
static bool trace_call(struct tracer *tracer, int which)
{
	tracer->depth = 0;
	for (unsigned step = 0; step < STEPS_MAX; step++) {
		uint64_t old_pc = tracer->regs.rip, old_rsp = tracer->regs.rsp;

		if (*(const uint8_t *)(uintptr_t)old_pc == 0xcc)
			return true;
		ptrace(PTRACE_SINGLESTEP, tracer->child, NULL, NULL);
		if (wait_for_stop(tracer) != SIGTRAP) {
			printf("# %s: the child stopped or ended unexpectedly\n",
			       tracer->texts[which]);
			return false;
		}
		follow(tracer, old_pc, old_rsp);
		if (tracer->depth)
			compare(tracer, which);
	}
	printf("# %s: too many instructions\n", tracer->texts[which]);
	return false;
}

static bool is_for_undescribed; /* of the trace that begins */

static void trace_calls(void (*call)(int), const char *const *texts, int count,
			unsigned functions_wanted)
{
	static uint8_t memory[1 << 20] __attribute__((aligned(64))),
		more[1 << 20] __attribute__((aligned(64)));
	static struct tracer tracer;
	int called = 0;

	setenv("TZ", "UTC", 1);
	tracer.texts = texts;
	tracer.is_for_undescribed = is_for_undescribed;
	tracer.cache = sn_unwind_cache_place(memory, sizeof(memory));
	tracer.blind_cache = sn_unwind_cache_place(more, sizeof(more));
	here_fill(&tracer.here);
	here_fill(&tracer.blind);
	for (uint32_t i = 0; i < tracer.blind.target.module_count; i++) {
		tracer.blind.modules[i].eh_frame = tracer.blind.modules[i].eh_frame_hdr =
			(struct sn_unwind_window){ 0 };
		tracer.blind.modules[i].index_count = 0;
	}
	fflush(stdout);
	tracer.child = fork();
	if (tracer.child == 0)
		be_the_child(call, count);
	while (wait_for_stop(&tracer) == SIGTRAP) {
		int which = (int)tracer.regs.rdi;

		if (which >= 0 && !trace_call(&tracer, which))
			break;
		called += which >= 0;
		/* Over the second breakpoint, which stepping has only reached. */
		tracer.regs.rip++;
		ptrace(PTRACE_SETREGS, tracer.child, NULL, &tracer.regs);
		ptrace(PTRACE_CONT, tracer.child, NULL, NULL);
	}
	kill(tracer.child, SIGKILL);
	waitpid(tracer.child, NULL, 0);
	printf("# %lu instructions in %u functions during %d calls; %lu wrong, %lu excused, %lu "
	       "guessed\n",
	       tracer.step_count, tracer.function_count, called, tracer.wrong_count,
	       tracer.excused_count, tracer.guessed_count);
	printf("# by code alone: %lu, not read %lu, misread %lu, registers %lu\n",
	       tracer.scanned_count, tracer.unscanned_count, tracer.misread_count,
	       tracer.misread_registers);
	CHECK_INT(called, count);
	CHECK_INT(tracer.wrong_count, 0);
	CHECK_INT(tracer.misread_count, 0);
	CHECK_INT(tracer.misread_registers, 0);
	CHECK(tracer.scanned_count * 4 >= tracer.step_count * 3);
	CHECK(tracer.excused_count <= 30);
	CHECK(tracer.function_count >= functions_wanted);
}

TEST(sample)
{
	trace_calls(make_call, call_text, 20, 60);
}

TEST(all)
{
	trace_calls(make_call, call_text, CALL_COUNT, 200);
}

TEST(kernels)
{
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("OPENBLAS_CORETYPE", "Nehalem", 0); /* kernels that any processor runs */
	blas = dlopen("libopenblas.so.0", RTLD_NOW);
	if (!blas) {
		printf("# skipped: libopenblas.so.0 is not installed\n");
		return;
	}
	for (int i = 0; i < 64 * 64; i++) {
		matrix[0][i] = matrix[1][i] = 1 + i % 7;
		small[0][i] = small[1][i] = (float)(1 + i % 5);
	}
	is_for_undescribed = true;
	trace_calls(make_kernel_call, kernel_text, KERNEL_COUNT, 0);
}
