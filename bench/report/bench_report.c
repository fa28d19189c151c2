/**
 * Many samples to a page: bench_report [SAMPLES-IN-MILLIONS [THREADS [FILE]]].
 *
 * An experiment in memory with stacks of 16 frames over 5,000 functions, resolved by a table: what
 * is timed is the profile and the page, not symbols (warm symbols cost a look-up). The last line
 * says the largest memory the whole took, the experiment itself included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/stats.h"
#include "profile/profile.h"
#include "report/model/model.h"
#include "report/html/html.h"

enum { FUNCTIONS = 5000, STACKS = 20000, DEPTH = 16 };

static char names[FUNCTIONS][32], ids[FUNCTIONS][32], labels[FUNCTIONS][32];
static struct sn_function codes[FUNCTIONS];
static struct sn_loop loops[FUNCTIONS];

/** A function every 4 kB; its second half is a loop. */
static bool resolve(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
		    struct sn_resolved *out)
{
	(void)process;
	uint32_t number = (uint32_t)(link_addr / 4096) % FUNCTIONS;

	(void)context;
	(void)module;
	memset(out, 0, sizeof(*out));
	out->function_link_addr = link_addr & ~4095ull;
	out->scope_count = 1;
	out->scopes[0] = (struct sn_resolved_scope){ .name = names[number],
						     .decl_file = "/src/app.c",
						     .decl_line = number + 1,
						     .file = "/src/app.c",
						     .line = number + (uint32_t)(link_addr & 63) };
	if (link_addr & 2048) {
		out->loop_count = 1;
		out->loops[0] = (struct sn_resolved_loop){ .code = &loops[number] };
	}
	return true;
}

static void make_loop(uint32_t number)
{
	snprintf(ids[number], sizeof(ids[number]), "b:%x:800", number * 4096);
	snprintf(labels[number], sizeof(labels[number]), "app.c:%u-%u", number, number + 9);
	codes[number] = (struct sn_function){ .link_addr = number * 4096,
					      .loops = &loops[number],
					      .loop_count = 1 };
	loops[number] = (struct sn_loop){ .function = &codes[number],
					  .parent = -1,
					  .id = ids[number],
					  .label = labels[number],
					  .file = "/src/app.c",
					  .line_first = number,
					  .line_last = number + 9,
					  .header_link_addr = number * 4096 + 2048,
					  .depth = 1,
					  .is_innermost = true };
}

static struct sn_experiment *make_experiment(size_t samples, uint32_t threads)
{
	struct sn_experiment *e = sn_experiment_new("sonde.bench.1");
	struct sn_random random;
	size_t each = samples / threads;

	sn_random_seed(&random, 1);
	sn_vec_push(&e->modules,
		    (struct sn_module){
			    .path = "/bin/app", .name = "app", .build_id = "b", .is_main = true });
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 1,
							.rank = -1,
							.host = "h",
							.program = "/bin/app",
							.arguments = "app",
							.folder = "/",
							.clock_mechanism = "perf-signal",
							.rate_hz = 1000 });
	for (int s = 0; s < STACKS; s++) {
		struct sn_frame frames[DEPTH];

		for (int d = 0; d < DEPTH; d++) { /* callers are few, leaves are many */
			uint64_t function = DEPTH - d < 8 ? (uint64_t)(DEPTH - d) * 17 +
								    sn_random_below(&random, 3)
							  : sn_random_below(&random, FUNCTIONS);

			frames[d] =
				(struct sn_frame){ 0, function * 4096 +
							      sn_random_below(&random, 4095) + 1 };
		}
		sn_experiment_add_stack(e, 0, frames, DEPTH, SN_STACK_COMPLETE);
	}
	sn_vec_reserve(&e->samples, each * threads);
	for (uint32_t t = 0; t < threads; t++) {
		uint32_t stack = 0;

		sn_vec_push(&e->threads, (struct sn_thread){ .tid = (int32_t)t + 1,
							     .name = "worker",
							     .end_ns = (int64_t)each * 1000000,
							     .account = { -1, -1, -1, -1, -1 } });
		for (size_t i = 0; i < each; i++) {
			if (sn_random_below(&random, 4) == 0) { /* stays a while; some are hot */
				double u = sn_random_unit(&random);

				stack = (uint32_t)(u * u * u * STACKS);
			}
			sn_vec_push(&e->samples,
				    (struct sn_sample){ .time_ns = (int64_t)(i + 1) * 1000000,
							.cpu_ns = 990000 +
								  sn_random_below(&random, 20000),
							.thread = t,
							.stack = stack });
		}
	}
	e->elapsed_ns = (int64_t)each * 1000000;
	e->processes.items[0].end_ns = e->elapsed_ns;
	return e;
}

static double seconds_since(uint64_t start_ns)
{
	return (double)(sn_now_ns() - start_ns) * 1e-9;
}

int main(int argc, char **argv)
{
	size_t samples = (size_t)(1e6 * (argc > 1 ? atof(argv[1]) : 10));
	uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 64;
	const char *path = argc > 3 ? argv[3] : "bench_report.html";
	struct sn_analysis analysis = { .resolver = { .resolve = resolve } };
	struct sn_report_options what = { .has_details = true };
	struct sn_experiment *e;
	struct sn_report *report;
	struct rusage usage;
	struct stat file;
	struct sn_error err;
	uint64_t start;

	for (int i = 0; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "ns::kernel_%d(double*)", i);
		make_loop((uint32_t)i);
	}
	e = make_experiment(samples, threads);
	getrusage(RUSAGE_SELF, &usage);
	printf("%zu samples, %u threads: %ld MB before the analysis\n", e->samples.count, threads,
	       usage.ru_maxrss >> 10);
	start = sn_now_ns();
	analysis.experiment = e;
	analysis.program = sn_program_new(e, &analysis.resolver);
	if (sn_profile_new(analysis.program, NULL, &analysis.profile, &err) != SN_OK)
		return 1;
	printf("profile  %6.2f s\n", seconds_since(start));
	start = sn_now_ns();
	if (sn_report_new(&analysis, &what, &report, &err) != SN_OK)
		return 1;
	printf("model    %6.2f s: %zu nodes, %zu points, %zu records\n", seconds_since(start),
	       report->nodes.count, report->points.count, report->records.count);
	start = sn_now_ns();
	if (sn_report_write_html(report, path, false, &err) != SN_OK || stat(path, &file))
		return 1;
	getrusage(RUSAGE_SELF, &usage);
	printf("page     %6.2f s: %.1f MB\nmemory   %ld MB at most\n", seconds_since(start),
	       (double)file.st_size / 1e6, usage.ru_maxrss >> 10);
	sn_report_free(report);
	sn_profile_free(analysis.profile);
	sn_program_free(analysis.program);
	sn_experiment_free(e);
	return 0;
}
