/**
 * Makes report pages whose truth is known, for tests of the page itself.
 *
 *	make_page small|empty|hostile|big|many FILE
 *
 * `small` looks like a real run of an OpenMP solver; `hostile` has names that try to break out of
 * markup, turn text round or fill the screen; `big` has 100,000 functions and a million samples;
 * `many` has 5,000 threads.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/text.h"
#include "report/html/html.h"

static struct sn_random dice;
static struct sn_report *report;

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	char words[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	return sn_arena_strdup(&report->arena, words);
}

/** A table of `sonde show` as the page has it: one row with this name, and with figures. */
static void add_table(const char *name)
{
	struct sn_report_table made = { .view = sn_view_find("system") };

	sn_table_init(&made.table, made.view->columns, made.view->column_count);
	sn_table_add_row(&made.table);
	for (size_t c = 0; c < made.view->column_count; c++)
		if (!strcmp(made.view->columns[c].key, "call"))
			sn_table_set_text(&made.table, c, name);
		else if (!strcmp(made.view->columns[c].key, "share"))
			sn_table_set_real(&made.table, c, 0.25);
		else if (!strcmp(made.view->columns[c].key, "samples"))
			sn_table_set_int(&made.table, c, 1234);
	made.foot = "one row in all\nand <b>a second line</b>\n";
	sn_vec_push(&report->tables, made);
}

static void begin(const char *name, int64_t elapsed_ns)
{
	static const char *const categories[] = { "program", "mpi",	"openmp", "memory", "io",
						  "maths",   "strings", "os",	  "other" };

	report = calloc(1, sizeof(*report));
	sn_random_seed(&dice, 42);
	report->experiment = text("sonde.%s.1", name);
	report->program = text("./%s", name);
	report->arguments = text("./%s -n 2000 --grid 512x512", name);
	report->version = "0.1.0";
	report->host = "node17";
	report->cpu_model = "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz";
	report->kernel = "Linux 6.1.0-18-amd64";
	report->started_realtime_ns = 1760000000000000000;
	report->elapsed_ns = elapsed_ns;
	report->clock_mechanism = "perf-signal";
	report->rate_hz = report->asked_hz = 1000;
	report->user_ns = report->system_ns = report->cpu_ns = 0;
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		sn_vec_push(&report->categories, (struct sn_report_category){ categories[i], 0 });
	add_table("<img src=x onerror=\"document.title='pwned'\">");
}

static uint32_t add_module(const char *name, const char *missing)
{
	struct sn_report_module module = { .name = name,
					   .path = text("/usr/lib/x86_64-linux-gnu/%s", name),
					   .build_id = "9f2c7a51c0ffee00d15ea5e0b0badf00d1234567",
					   .missing = missing };

	if (missing)
		module.producer = "GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -fopenmp";
	sn_vec_push(&report->modules, module);
	return (uint32_t)report->modules.count - 1;
}

static uint32_t add_file(const char *path, const char *source)
{
	sn_vec_push(&report->files, (struct sn_report_file){ .path = path,
							     .text = source,
							     .length = source ? strlen(source) : 0,
							     .line_first = 1 });
	return (uint32_t)report->files.count - 1;
}

static uint32_t add_function(const char *name, uint32_t module, uint32_t file, uint32_t line)
{
	sn_vec_push(&report->functions, (struct sn_report_function){ .name = name,
								     .module = module,
								     .file = file,
								     .line = line,
								     .share_high = 1 });
	return (uint32_t)report->functions.count - 1;
}

static uint32_t add_loop(uint32_t function, uint32_t file, uint32_t first, uint32_t last,
			 uint32_t parent, bool innermost)
{
	const char *path = report->files.items[file].path;
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct sn_loop *code = sn_arena_array(&report->arena, struct sn_loop, 1);

	code->id = text("9f2c7a51:%x:%x", 0x1000 + 0x100 * function, first * 16);
	code->label = text("%s:%u-%u", base, first, last);
	code->line_first = first;
	code->line_last = last;
	code->depth = 1;
	if (parent != SN_NONE)
		code->depth = (uint16_t)(report->loops.items[parent].code->depth + 1);
	code->is_innermost = innermost;
	sn_vec_push(&report->loops, (struct sn_report_loop){ .code = code,
							     .function = function,
							     .file = file,
							     .parent = parent,
							     .share_high = 1 });
	return (uint32_t)report->loops.count - 1;
}

static uint32_t add_node(uint32_t parent, uint32_t function, uint32_t loop)
{
	sn_vec_push(&report->nodes, (struct sn_report_node){ parent, function, loop });
	return (uint32_t)report->nodes.count - 1;
}

static uint32_t add_point(uint32_t node, uint32_t function, uint32_t loop, uint32_t file,
			  uint32_t line, uint64_t link_addr, uint8_t category)
{
	sn_vec_push(&report->places,
		    (struct sn_report_place){ .module = report->functions.items[function].module,
					      .function = function,
					      .loop = loop,
					      .file = file,
					      .line = line,
					      .link_addr = link_addr });
	sn_vec_push(&report->points,
		    (struct sn_report_point){ .node = node,
					      .place = (uint32_t)report->places.count - 1,
					      .category = category,
					      .is_system = category == 7 });
	return (uint32_t)report->points.count - 1;
}

static void add_thread(const char *name, int32_t tid)
{
	struct sn_report_thread thread = { .tid = tid, .name = name, .end_ns = report->elapsed_ns };

	thread.account = (struct sn_time_account){ .elapsed_ns = report->elapsed_ns };
	sn_vec_push(&report->threads, thread);
}

static void add_process(void)
{
	sn_vec_push(&report->processes,
		    (struct sn_report_process){ .pid = 4711,
						.rank = -1,
						.host = report->host,
						.program = report->program,
						.arguments = report->arguments,
						.clock_mechanism = "perf-signal",
						.end_ns = report->elapsed_ns,
						.asked_hz = 1000 });
}

static void add_sample(uint32_t thread, uint32_t point, int64_t time_ns, uint64_t cpu_ns)
{
	sn_vec_push(&report->records,
		    (struct sn_report_record){ time_ns, thread, point, cpu_ns, 1 });
}

static void add_to_function(uint32_t function, uint64_t ns)
{
	report->functions.items[function].inclusive_ns += ns;
}

/** Inclusive times: each function and loop on the path counts once. */
static void add_inclusive(const struct sn_report_point *point)
{
	uint32_t seen[64], count = 0;

	for (uint32_t n = point->node; n != SN_NONE; n = report->nodes.items[n].parent) {
		const struct sn_report_node *node = &report->nodes.items[n];
		uint32_t entity = node->loop != SN_NONE ? node->loop | 0x80000000u : node->function;
		bool known = false;

		for (uint32_t i = 0; i < count; i++)
			known |= seen[i] == entity;
		if (known || count == 64)
			continue;
		seen[count++] = entity;
		if (node->loop != SN_NONE)
			report->loops.items[node->loop].inclusive_ns += point->cpu_ns;
		else
			add_to_function(node->function, point->cpu_ns);
	}
}

/** Fills every total from the records. */
static void finish(void)
{
	for (size_t i = 0; i < report->records.count; i++) {
		const struct sn_report_record *r = &report->records.items[i];
		struct sn_report_point *point = &report->points.items[r->point];

		point->cpu_ns += r->cpu_ns;
		point->samples += r->samples;
		report->threads.items[r->thread].cpu_ns += r->cpu_ns;
		report->threads.items[r->thread].samples += r->samples;
		report->sampled_ns += r->cpu_ns;
		report->sample_count += r->samples;
	}
	report->loops_share = 0;
	for (size_t i = 0; i < report->points.count; i++) {
		const struct sn_report_point *point = &report->points.items[i];
		const struct sn_report_place *place = &report->places.items[point->place];
		struct sn_report_function *f = &report->functions.items[place->function];

		f->exclusive_ns += point->cpu_ns;
		f->samples += point->samples;
		report->modules.items[f->module].cpu_ns += point->cpu_ns;
		report->categories.items[point->category].cpu_ns += point->cpu_ns;
		if (place->loop != SN_NONE) {
			report->loops.items[place->loop].exclusive_ns += point->cpu_ns;
			report->loops.items[place->loop].samples += point->samples;
			report->loops_share += (double)point->cpu_ns / (double)report->sampled_ns;
			if (report->loops.items[place->loop].code->is_innermost)
				report->innermost_share +=
					(double)point->cpu_ns / (double)report->sampled_ns;
		}
		add_inclusive(point);
	}
	for (size_t i = 0; i < report->threads.count; i++) {
		struct sn_time_account *account = &report->threads.items[i].account;

		account->user_ns = (int64_t)(report->threads.items[i].cpu_ns * 97 / 100);
		account->system_ns = (int64_t)report->threads.items[i].cpu_ns - account->user_ns;
		account->wait_cpu_ns = account->elapsed_ns / 50;
		account->blocked_ns = account->elapsed_ns - account->user_ns - account->system_ns -
				      account->wait_cpu_ns;
		if (account->blocked_ns < 0)
			account->blocked_ns = 0;
		report->user_ns += account->user_ns;
		report->system_ns += account->system_ns;
		report->thread_elapsed_ns += account->elapsed_ns;
		report->wait_cpu_ns += account->wait_cpu_ns;
		report->blocked_ns += account->blocked_ns;
	}
	report->cpu_ns = report->user_ns + report->system_ns;
	report->overhead_share = 0.004;
	for (size_t i = 0; i < report->functions.count; i++) {
		struct sn_report_function *f = &report->functions.items[i];
		struct sn_interval w =
			sn_wilson_interval((double)f->samples, (double)report->sample_count);

		f->share_low = w.low;
		f->share_high = w.high;
	}
}

/* ---- a run as one meets them ---- */

static char *make_source(void)
{
	struct sn_text source = { 0 };

	sn_text_add(&source, "/* A five-point stencil on a square grid. */\n#include <math.h>\n"
			     "#include \"grid.h\"\n\n");
	for (int line = 5; line < 41; line++)
		sn_text_addf(&source, "/* line %d: set-up of the grid <&> */\n", line);
	sn_text_add(&source, "\t#pragma omp parallel for schedule(static)\n"
			     "\tfor (int i = 1; i < n - 1; i++) {\n"
			     "\t\tfor (int j = 1; j < n - 1; j++) {\n"
			     "\t\t\tdouble sum = a[i-1][j] + a[i+1][j]\n"
			     "\t\t\t\t   + a[i][j-1] + a[i][j+1];\n"
			     "\t\t\tb[i][j] = 0.25 * (sum - h2 * f[i][j]);\n"
			     "\t\t\tdelta = fmax(delta, fabs(b[i][j] - a[i][j]));\n"
			     "\t\t}\n\t}\n");
	for (int line = 50; line < 120; line++)
		sn_text_addf(&source, "/* line %d */\n", line);
	{
		char *copy = sn_arena_strdup(&report->arena, source.chars);

		sn_text_free(&source);
		return copy;
	}
}

static void add_listing(uint32_t function, uint32_t loop, uint32_t file)
{
	static const char *const words[] = {
		"vmovupd ymm0, ymmword ptr [rsi+rax*8-0x8]",
		"vaddpd ymm0, ymm0, ymmword ptr [rsi+rax*8+0x8]",
		"vaddpd ymm0, ymm0, ymmword ptr [rdx+rax*8]",
		"vaddpd ymm0, ymm0, ymmword ptr [rcx+rax*8]",
		"vmulpd ymm1, ymm5, ymmword ptr [r9+rax*8]",
		"vsubpd ymm0, ymm0, ymm1",
		"vmulpd ymm0, ymm0, ymm4",
		"vmovupd ymmword ptr [rdi+rax*8], ymm0",
		"vsubpd ymm1, ymm0, ymmword ptr [rsi+rax*8]",
		"vandpd ymm1, ymm1, ymm6",
		"vmaxpd ymm3, ymm3, ymm1",
		"add rax, 0x4",
		"cmp rax, r8",
		"jl jacobi_sweep._omp_fn.0+0x60",
	};

	for (uint32_t i = 0; i < 60; i++)
		sn_vec_push(&report->instructions,
			    (struct sn_report_instruction){
				    .link_addr = 0x1140 + i * 5,
				    .function = function,
				    .loop = i >= 24 && i < 38 ? loop : SN_NONE,
				    .file = file,
				    .line = i >= 24 && i < 38 ? 43 + (i - 24) / 2 % 5 : 41,
				    .words = words[i % 14] });
}

static void make_small(void)
{
	uint32_t app, libm, gomp, libc, file, grid, main_f, sweep, residual, sine, barrier, copy,
		write_f, outer, inner, sum_loop, points[9], top;

	begin("jacobi", 14200000000);
	app = add_module("jacobi", "-O3 (100 %), -march=native (100 %)");
	libm = add_module("libm.so.6", NULL);
	gomp = add_module("libgomp.so.1", NULL);
	libc = add_module("libc.so.6", NULL);
	file = add_file("/home/ann/jacobi/src/jacobi.c", make_source());
	grid = add_file("/home/ann/jacobi/src/residual.c", NULL);
	sweep = add_function("jacobi_sweep._omp_fn.0", app, file, 38);
	residual = add_function("residual(Grid<double, 2> const&, std::vector<double>&)", app, grid,
				9);
	sine = add_function("__sin_fma", libm, SN_NONE, 0);
	barrier = add_function("gomp_team_barrier_wait_end", gomp, SN_NONE, 0);
	copy = add_function("__memmove_avx_unaligned_erms", libc, SN_NONE, 0);
	write_f = add_function("write", libc, SN_NONE, 0);
	main_f = add_function("main", app, file, 60);
	outer = add_loop(sweep, file, 42, 49, SN_NONE, false);
	inner = add_loop(sweep, file, 43, 48, outer, true);
	sum_loop = add_loop(residual, grid, 12, 19, SN_NONE, true);
	top = add_node(SN_NONE, main_f, SN_NONE);
	{
		uint32_t in_sweep = add_node(top, sweep, SN_NONE);
		uint32_t in_outer = add_node(in_sweep, SN_NONE, outer);
		uint32_t in_inner = add_node(in_outer, SN_NONE, inner);
		uint32_t in_barrier = add_node(in_sweep, barrier, SN_NONE);
		uint32_t in_residual = add_node(top, residual, SN_NONE);
		uint32_t in_sum = add_node(in_residual, SN_NONE, sum_loop);
		uint32_t in_sine = add_node(in_sum, sine, SN_NONE);
		uint32_t in_copy = add_node(top, copy, SN_NONE);
		uint32_t in_write = add_node(top, write_f, SN_NONE);

		points[0] = add_point(in_inner, sweep, inner, file, 44, 0x1140 + 25 * 5, 0);
		points[1] = add_point(in_inner, sweep, inner, file, 46, 0x1140 + 30 * 5, 0);
		points[2] = add_point(in_inner, sweep, inner, file, 47, 0x1140 + 33 * 5, 0);
		points[3] = add_point(in_barrier, barrier, SN_NONE, SN_NONE, 0, 0x2200, 2);
		points[4] = add_point(in_sum, residual, sum_loop, grid, 14, 0x3300, 0);
		points[5] = add_point(in_sine, sine, SN_NONE, SN_NONE, 0, 0x6cb51, 5);
		points[6] = add_point(in_copy, copy, SN_NONE, SN_NONE, 0, 0x9cb51, 3);
		points[7] = add_point(in_write, write_f, SN_NONE, SN_NONE, 0, 0x100, 7);
	}
	add_listing(sweep, inner, file);
	add_process();
	for (int t = 0; t < 8; t++)
		add_thread(t ? "jacobi" : "jacobi", 4711 + t);
	for (uint32_t t = 0; t < 8; t++) {
		int64_t now = 200000000 + 20000000 * (int64_t)t;

		while (now < report->elapsed_ns) {
			uint64_t cpu_ns = 1000000 + sn_random_below(&dice, 40000) - 20000;
			double phase = fmod((double)now / 1e9, 3.5), at = sn_random_unit(&dice);
			uint32_t point = phase > 2.9	       ? (at < 0.3   ? 4
								  : at < 0.8 ? 5
									     : 3)
					 : at < 0.35	       ? 0
					 : at < 0.6	       ? 1
					 : at < 0.8	       ? 2
					 : at < 0.8 + 0.02 * t ? 3
							       : 0;

			now += (int64_t)cpu_ns;
			if (t && phase > 3.3) { /* the others wait while thread 0 writes */
				if (phase > 3.3 && phase < 3.3011)
					sn_vec_push(&report->waits, (struct sn_report_wait){
									    now, 190000000, t, 3, 1,
									    SN_WAIT_CONDITION });
				continue;
			}
			if (!t && phase > 3.3)
				point = at < 0.5 ? 6 : 7;
			add_sample(t, points[point], now, cpu_ns);
		}
	}
	add_thread("watchdog", 4720);
	report->threads.items[8].is_helper = true;
	sn_vec_push(&report->waits,
		    (struct sn_report_wait){ 100000000, 14000000000, 8, 0, 1, SN_WAIT_SLEEP });
	report->verdict = (struct sn_answer){
		.kind = SN_VERDICT_COMPUTE_LOOPS,
		.sentence =
			"Compute-bound in 2 loops: jacobi.c:43-48 in jacobi_sweep._omp_fn.0 takes "
			"66.9 % of CPU time",
		.count = 2,
		.findings = { { SN_VERDICT_COMPUTE_LOOPS, SN_TRUST_HIGH, 31.2, 0.65,
				"73.2 % of CPU time is in 2 loops: jacobi.c:43-48 in "
				"jacobi_sweep._omp_fn.0 66.9 %, jacobi.c:61-63 in norm 6.3 %",
				"Use wider vectors: compile for this processor (-march=native)" },
			      { SN_VERDICT_LOCK_WAIT, SN_TRUST_MEDIUM, 9.4, 0.2,
				"Threads wait for each other at barriers: 19.6 % of the threads' "
				"time "
				"in the OpenMP runtime",
				"Spread the work evenly" } },
	};
	sn_vec_push(
		&report->warnings,
		"no hardware counters: cycles, caches and branches were not measured (no PMU in "
		"this virtual machine)");
	sn_vec_push(&report->environment,
		    (struct sn_environment_variable){ "OMP_NUM_THREADS", "8" });
	sn_vec_push(&report->environment, (struct sn_environment_variable){ "HOME", "/home/ann" });
	finish();
}

static void make_hostile(void)
{
	char *huge;
	const char *names[] = {
		"</script><script>document.title='pwned'</script>",
		"<img src=x onerror=\"document.title='pwned'\">",
		"<!--",
		"]]>",
		"\"quoted\" & 'single' `tick` ${1+1}",
		"\xe2\x80\xae"
		"evil\xe2\x80\xac"
		"gnp.exe",
		"line\nbreak\ttab\x01\x1b[31mred",
		"\xff\xfe broken utf-8 \xc3",
		"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd8\xb3\xd9\x84\xd8\xa7\xd9\x85",
		"=cmd|' /C calc'!A0",
		"",
		"__proto__",
		"constructor",
		NULL,
	};
	size_t count = sizeof(names) / sizeof(names[0]);
	uint32_t module, file, parent = SN_NONE;

	begin("</title><script>document.title='pwned'</script>", 1000000000);
	huge = sn_arena_alloc(&report->arena, 60001, 1);
	memset(huge, 'x', 60000);
	names[count - 1] = huge;
	module = add_module("</script>\"'<lib>.so", "</td><script>document.title='pwned'</script>");
	file = add_file(
		"/tmp/</script><svg onload=document.title='pwned'>.c",
		"int x; // </script><script>document.title='pwned'</script>\n\x01\n\x01\nint y;\n");
	add_process();
	add_thread("</option><script>", 7);
	add_thread("\xe2\x80\xae"
		   "daerht",
		   8);
	for (size_t i = 0; i < count; i++) {
		uint32_t f = add_function(names[i], module, file, 1);
		uint32_t loop = add_loop(f, file, 1, 2, SN_NONE, true);
		struct sn_loop *code = (struct sn_loop *)report->loops.items[loop].code;
		uint32_t point;

		code->label = names[i];
		code->id = text("h:%zu:%s", i, i < 10 ? names[i] : "");
		parent = add_node(parent, f, SN_NONE);
		point = add_point(parent, f, loop, file, 1, 0x1000 + i, (uint8_t)(i % 9));
		for (int s = 0; s < 10; s++)
			add_sample((uint32_t)(i & 1), point,
				   (int64_t)(i * 10 + (size_t)s) * 5000000, 5000000);
		sn_vec_push(&report->instructions,
			    (struct sn_report_instruction){ .link_addr = 0x1000 + i,
							    .function = f,
							    .loop = loop,
							    .file = file,
							    .line = 1,
							    .words = names[i] });
	}
	report->verdict.sentence = names[0];
	for (size_t i = 0; i < count && i < SN_FINDINGS_MAX; i++)
		report->verdict.findings[report->verdict.count++] =
			(struct sn_finding){ .kind = SN_VERDICT_COMPUTE_LOOPS,
					     .sentence = names[i],
					     .remedy = names[count - 1 - i] };
	for (size_t i = 0; i < count - 1; i++)
		sn_vec_push(&report->warnings, names[i]);
	sn_vec_push(&report->environment,
		    (struct sn_environment_variable){ "__proto__", "</script>" });
	finish();
}

/** As many rows and records as a page may have; the worst case for size, as data are random. */
static void make_big(uint32_t functions, uint32_t threads, uint32_t samples)
{
	uint32_t module, file, root;
	uint64_t *hits = calloc(functions, sizeof(*hits));
	uint32_t *choice = calloc(samples, sizeof(*choice));

	begin("big", 60000000000);
	module = add_module("big", NULL);
	file = add_file("/src/big.cc", NULL);
	add_process();
	for (uint32_t t = 0; t < threads; t++)
		add_thread("worker", (int32_t)(1000 + t));
	for (uint32_t i = 0; i < functions; i++)
		add_function(text("ns%u::Klass%u::method_%x(int, std::string const&)", i % 97,
				  i % 1013, i),
			     module, file, i + 1);
	add_function("main", module, file, 1);
	root = add_node(SN_NONE, functions, SN_NONE);
	for (uint32_t i = 0; i < functions; i++)
		add_point(add_node(root, i, SN_NONE), i, SN_NONE, file, i + 1, 0x1000 + i * 16, 0);
	for (uint32_t i = 0; i < samples; i++) { /* hot ones among the first: a long tail */
		double u = sn_random_unit(&dice);

		choice[i] = i < functions ? i : (uint32_t)(u * u * u * functions) % functions;
		hits[choice[i]]++;
	}
	for (uint32_t i = 0; i < samples; i++)
		add_sample(i / (samples / threads + 1), choice[(i * 7919ull) % samples],
			   (int64_t)(i % (samples / threads + 1)) *
				   (report->elapsed_ns / (samples / threads + 1)),
			   900000 + sn_random_below(&dice, 200000));
	finish();
	free(hits);
	free(choice);
}

int main(int argc, char **argv)
{
	struct sn_error err = { 0 };
	const char *kind = argc > 2 ? argv[1] : "";

	if (!strcmp(kind, "small")) {
		make_small();
	} else if (!strcmp(kind, "empty")) {
		begin("empty", 0);
	} else if (!strcmp(kind, "hostile")) {
		make_hostile();
	} else if (!strcmp(kind, "big")) {
		make_big(100000, 8, 1000000);
	} else if (!strcmp(kind, "many")) {
		make_big(500, 5000, 50000);
	} else {
		fprintf(stderr, "usage: make_page small|empty|hostile|big|many FILE\n");
		return 2;
	}
	if (sn_report_write_html(report, argv[2], false, &err) != SN_OK) {
		fprintf(stderr, "%s\n", err.sentence);
		return 1;
	}
	sn_report_free(report);
	return 0;
}
