#include "profile/fixture.h"

#include <stdarg.h>
#include <string.h>

#include "harness/tap.h"

enum { IN_MAIN = 1, IN_KERNEL = 2 };

struct stretch {
	uint32_t module;
	uint64_t first, end, function;
	const char *name, *file; /* the concrete function; where its line is */
	uint32_t decl_line, line;
	const char *inlined; /* NULL: none */
	uint32_t inlined_line;
	int loops[3]; /* indices into loops[], outermost first, -1 ends */
};

static const struct sn_function main_code, kernel_code, leaf_code, barrier_code;

#define LOOP_OF(holder, number, of, header)                                                        \
	.function = &(holder), .index = (number), .group = (of), .header_link_addr = (header),     \
	.inline_index = -1
#define LINES(path, first, last) .file = (path), .line_first = (first), .line_last = (last)

static const struct sn_loop main_loops[] = {
	{ LOOP_OF(main_code, 0, 0, 0x1010), .parent = -1, .depth = 1, LINES("/src/app.c", 10, 20),
	  .id = "aa:1000:10", .label = "app.c:10-20" },
	{ LOOP_OF(main_code, 1, 1, 0x1040), .parent = 0, .depth = 2, LINES("/src/app.c", 12, 15),
	  .id = "aa:1000:40", .label = "app.c:12-15" },
	{ LOOP_OF(main_code, 2, 2, 0x1060), .parent = 1, .depth = 3, .is_innermost = true,
	  LINES("/src/kernel.h", 3, 5), .id = "aa:1000:60", .label = "kernel.h:3-5" },
};
static const struct sn_loop kernel_loops[] = {
	{ LOOP_OF(kernel_code, 0, 0, 0x1820), .parent = -1, .depth = 1, .is_innermost = true,
	  LINES("/src/kernel.h", 3, 5), .id = "aa:1800:20", .label = "kernel.h:3-5" },
};
static const struct sn_loop leaf_loops[] = {
	{ LOOP_OF(leaf_code, 0, 0, 0x3020), .parent = -1, .depth = 1, .is_innermost = true,
	  LINES("/src/leaf.c", 5, 9), .id = "aa:3000:20", .label = "leaf.c:5-9" },
	{ LOOP_OF(leaf_code, 1, 0, 0x3040), .parent = -1, .depth = 1, .is_innermost = true,
	  LINES("/src/leaf.c", 6, 8), .id = "aa:3000:40", .label = "leaf.c:6-8",
	  .role = SN_LOOP_TAIL },
};
static const struct sn_loop barrier_loops[] = {
	{ LOOP_OF(barrier_code, 0, 0, 0x1010), .parent = -1, .depth = 1, .is_innermost = true,
	  .id = "dd:1000:10", .label = "GOMP_barrier+0x10" },
};

static const struct sn_function main_code = { .link_addr = 0x1000,
					      .loops = main_loops,
					      .loop_count = 3 };
static const struct sn_function kernel_code = { .link_addr = 0x1800,
						.loops = kernel_loops,
						.loop_count = 1 };
static const struct sn_function leaf_code = { .link_addr = 0x3000,
					      .loops = leaf_loops,
					      .loop_count = 2 };
static const struct sn_function barrier_code = { .link_addr = 0x1000,
						 .loops = barrier_loops,
						 .loop_count = 1 };

static const struct sn_resolved_loop loops[] = {
	{ .code = &main_loops[0] },
	{ .code = &main_loops[1] },
	{ .code = &main_loops[2], .scope = 1 },
	{ .code = &kernel_loops[0] },
	{ .code = &leaf_loops[0] },
	{ .code = &leaf_loops[1] },
	{ .code = &barrier_loops[0] },
};

static const struct stretch stretches[] = {
	{ APP, 0x1000, 0x1010, 0x1000, "main", "/src/app.c", 8, 9, NULL, 0, { -1 } },
	{ APP, 0x1010, 0x1040, 0x1000, "main", "/src/app.c", 8, 11, NULL, 0, { 0, -1 } },
	{ APP, 0x1040, 0x1050, 0x1000, "main", "/src/app.c", 8, 12, NULL, 0, { 0, 1, -1 } },
	{ APP, 0x1050, 0x1060, 0x1000, "main", "/src/app.c", 8, 13, "kernel", 2, { 0, 1, -1 } },
	{ APP, 0x1060, 0x1070, 0x1000, "main", "/src/app.c", 8, 13, "kernel", 4, { 0, 1, 2 } },
	{ APP, 0x1070, 0x1080, 0x1000, "main", "/src/app.c", 8, 14, NULL, 0, { 0, 1, -1 } },
	{ APP, 0x1080, 0x10f0, 0x1000, "main", "/src/app.c", 8, 18, NULL, 0, { 0, -1 } },
	{ APP, 0x10f0, 0x1100, 0x1000, "main", "/src/app.c", 8, 22, NULL, 0, { -1 } },
	{ APP, 0x1800, 0x1820, 0x1800, "kernel", "/src/kernel.h", 1, 2, NULL, 0, { -1 } },
	{ APP, 0x1820, 0x1830, 0x1800, "kernel", "/src/kernel.h", 1, 4, NULL, 0, { 3, -1 } },
	{ APP, 0x2000, 0x2100, 0x2000, "fib", "/src/fib.c", 1, 3, NULL, 0, { -1 } },
	{ APP, 0x2800, 0x2900, 0x2800, "work._omp_fn.0", "/src/work.c", 1, 3, NULL, 0, { -1 } },
	{ APP, 0x3000, 0x3020, 0x3000, "leaf", "/src/leaf.c", 3, 4, NULL, 0, { -1 } },
	{ APP, 0x3020, 0x3030, 0x3000, "leaf", "/src/leaf.c", 3, 7, NULL, 0, { 4, -1 } },
	{ APP, 0x3040, 0x3050, 0x3000, "leaf", "/src/leaf.c", 3, 7, NULL, 0, { 5, -1 } },
	{ LIBM, 0x1000, 0x2000, 0x1000, "sin", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBC, 0x1000, 0x1100, 0x1000, "malloc", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBC, 0x2000, 0x2100, 0x2000, "write", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBGOMP, 0x1000, 0x1010, 0x1000, "GOMP_barrier", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBGOMP, 0x1010, 0x1020, 0x1000, "GOMP_barrier", NULL, 0, 0, NULL, 0, { 6, -1 } },
	{ LIBMPI, 0x1000, 0x1100, 0x1000, "PMPI_Init", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBMPI, 0x2000, 0x2100, 0x2000, "PMPI_Sendrecv", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBMPI, 0x3000, 0x3100, 0x3000, "PMPI_Recv", NULL, 0, 0, NULL, 0, { -1 } },
	{ LIBMPI, 0x4000, 0x4100, 0x4000, "ompi_mpi_finalize", NULL, 0, 0, NULL, 0, { -1 } },
};

static void resolved_fill(const struct stretch *s, struct sn_resolved *out)
{
	out->function_link_addr = s->function;
	out->scope_count = 1;
	out->loop_count = 0;
	out->scopes[0] = (struct sn_resolved_scope){ s->name,	   NULL,    s->file,
						     s->decl_line, s->file, s->line };
	if (s->inlined)
		out->scopes[out->scope_count++] = (struct sn_resolved_scope){
			s->inlined, NULL, "/src/kernel.h", 1, "/src/kernel.h", s->inlined_line
		};
	for (int i = 0; i < 3 && s->loops[i] >= 0; i++)
		out->loops[out->loop_count++] = loops[s->loops[i]];
}

static bool resolve(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
		    struct sn_resolved *out)
{
	(void)context;
	(void)process;
	for (size_t i = 0; i < sizeof(stretches) / sizeof(*stretches); i++) {
		const struct stretch *s = &stretches[i];

		if (s->module == module && link_addr >= s->first && link_addr < s->end) {
			resolved_fill(s, out);
			return true;
		}
	}
	return false;
}

void fixture_begin(struct fixture *f)
{
	static const char *const paths[] = { "/home/u/app", "/usr/lib/libm.so.6",
					     "/usr/lib/libc.so.6", "/usr/lib/libgomp.so.1" };
	static const char *const names[] = { "app", "libm.so.6", "libc.so.6", "libgomp.so.1" };
	static const char *const ids[] = { "aa", "bb", "cc", "dd" };

	memset(f, 0, sizeof(*f));
	f->experiment = sn_experiment_new("sonde.app.1");
	f->resolver.resolve = resolve;
	for (int m = 0; m < FIXTURE_MODULES; m++) {
		struct sn_module module = { .path = paths[m],
					    .name = names[m],
					    .build_id = ids[m],
					    .kind = SN_MODULE_FILE,
					    .is_main = m == APP };

		sn_vec_push(&f->experiment->modules, module);
	}
	fixture_add_thread(f, fixture_add_process(f, 100), 100, "app");
}

void fixture_add_mpi(struct fixture *f)
{
	struct sn_module module = { .path = "/usr/lib/libmpi.so.40",
				    .name = "libmpi.so.40",
				    .build_id = "ee",
				    .kind = SN_MODULE_FILE };

	sn_vec_push(&f->experiment->modules, module);
}

uint32_t fixture_add_process(struct fixture *f, int32_t pid)
{
	struct sn_experiment *e = f->experiment;
	struct sn_process process = {
		.index = (uint32_t)e->processes.count,
		.pid = pid,
		.rank = -1,
		.host = "host",
		.program = "/home/u/app",
		.arguments = "app -n 5",
		.folder = "/home/u",
		.end_ns = 10000000000,
		.exit_status = 0,
		.account = { 10000000000, -1, -1, -1, -1 },
		.clock_mechanism = "perf-signal",
		.rate_hz = 1000,
		.has_ended_cleanly = true,
	};

	sn_vec_push(&e->processes, process);
	e->program = "/home/u/app";
	e->arguments = "app -n 5";
	e->elapsed_ns = 10000000000;
	e->exit_status = 0;
	return process.index;
}

uint32_t fixture_add_thread(struct fixture *f, uint32_t process, int32_t tid, const char *name)
{
	struct sn_thread thread = { .process = process,
				    .tid = tid,
				    .name = name,
				    .end_ns = 10000000000,
				    .account = { 10000000000, -1, -1, -1, -1 } };

	sn_vec_push(&f->experiment->threads, thread);
	return (uint32_t)f->experiment->threads.count - 1;
}

uint32_t fixture_stack(struct fixture *f, uint32_t process, uint32_t depth, ...)
{
	struct sn_frame frames[32];
	va_list args;

	va_start(args, depth);
	for (uint32_t i = 0; i < depth; i++) {
		frames[i].module = (uint32_t)va_arg(args, int);
		frames[i].link_addr = (uint64_t)va_arg(args, int) + (i > 0);
	}
	va_end(args);
	return sn_experiment_add_stack(f->experiment, process, frames, depth, SN_STACK_COMPLETE);
}

void fixture_samples(struct fixture *f, uint32_t thread, uint32_t stack, unsigned count,
		     unsigned cpu_us)
{
	struct sn_experiment *e = f->experiment;
	int64_t last = 0;

	for (size_t i = 0; i < e->samples.count; i++)
		if (e->samples.items[i].thread == thread && e->samples.items[i].time_ns > last)
			last = e->samples.items[i].time_ns;
	for (unsigned i = 0; i < count; i++) {
		struct sn_sample sample = { .time_ns = last + (int64_t)(i + 1) * cpu_us * 1000,
					    .cpu_ns = cpu_us * 1000ull,
					    .thread = thread,
					    .stack = stack,
					    .cpu = (uint16_t)(thread % 2) };

		sn_vec_push(&e->samples, sample);
	}
	if (count && e->threads.items[thread].account.user_ns < 0)
		e->threads.items[thread].account.user_ns = 0;
	if (count && e->threads.items[thread].account.system_ns < 0)
		e->threads.items[thread].account.system_ns = 0;
	e->threads.items[thread].account.user_ns += (int64_t)count * cpu_us * 1000;
}

void fixture_wait(struct fixture *f, uint32_t thread, uint32_t stack, int64_t time_us,
		  uint64_t duration_us, enum sn_wait_kind kind)
{
	struct sn_wait wait = { .time_ns = time_us * 1000,
				.duration_ns = duration_us * 1000,
				.thread = thread,
				.stack = stack,
				.kind = (uint8_t)kind };

	sn_vec_push(&f->experiment->waits, wait);
}

void fixture_profile(struct fixture *f, const struct sn_filter *filter)
{
	struct sn_error err;

	if (!f->program) {
		sn_experiment_sort(f->experiment);
		f->program = sn_program_new(f->experiment, &f->resolver);
	}
	sn_profile_free(f->profile);
	f->profile = NULL;
	REQUIRE(sn_profile_new(f->program, filter, &f->profile, &err) == SN_OK);
}

uint32_t fixture_function(const struct fixture *f, const char *name)
{
	for (uint32_t i = 0; i < f->program->functions.count; i++)
		if (!strcmp(f->program->functions.items[i].name, name))
			return i;
	tap_check(false, __FILE__, __LINE__, name);
	tap_end_test();
}

uint32_t fixture_loop(const struct fixture *f, const char *label)
{
	for (uint32_t i = 0; i < f->program->loops.count; i++)
		if (!strcmp(f->program->loops.items[i].code->label, label))
			return i;
	tap_check(false, __FILE__, __LINE__, label);
	tap_end_test();
}

void fixture_end(struct fixture *f)
{
	sn_profile_free(f->profile);
	sn_program_free(f->program);
	sn_experiment_free(f->experiment);
}
