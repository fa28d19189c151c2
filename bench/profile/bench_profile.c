/* Ten million synthetic samples to a functions table: bench_profile [SAMPLES [STACKS [THREADS]]].
 * Call paths are random walks over 5,000 functions of four modules, a third of the addresses in
 * loops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/stats.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "views/summary/summary.h"
#include "views/view.h"

enum { FUNCTIONS = 5000, MODULES = 4, FUNCTION_BYTES = 1024 };

static char names[FUNCTIONS][32], loop_ids[FUNCTIONS][32];
static struct sn_function codes[MODULES][FUNCTIONS];
static struct sn_loop loops[MODULES][FUNCTIONS];

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool resolve(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
		    struct sn_resolved *out)
{
	(void)process;
	uint64_t f = link_addr / FUNCTION_BYTES % FUNCTIONS;

	(void)context;
	out->function_link_addr = f * FUNCTION_BYTES;
	out->scope_count = 1;
	out->loop_count = link_addr % FUNCTION_BYTES < FUNCTION_BYTES / 3;
	out->scopes[0] =
		(struct sn_resolved_scope){ names[f],	   NULL,
					    "/src/file.c", (uint32_t)f,
					    "/src/file.c", (uint32_t)(link_addr / 16 % 100000) };
	if (out->loop_count)
		out->loops[0] = (struct sn_resolved_loop){ .code = &loops[module][f] };
	return true;
}

static void loop_make(uint32_t module, uint32_t f)
{
	codes[module][f] = (struct sn_function){ .link_addr = f * FUNCTION_BYTES,
						 .loops = &loops[module][f],
						 .loop_count = 1 };
	loops[module][f] = (struct sn_loop){ .function = &codes[module][f],
					     .parent = -1,
					     .id = loop_ids[f],
					     .label = names[f],
					     .file = "/src/file.c",
					     .line_first = f,
					     .line_last = f + 3,
					     .depth = 1,
					     .is_innermost = true };
}

/* Paths share their upper frames, as real ones do. */
static void stacks_make(struct sn_experiment *e, size_t count, struct sn_random *random)
{
	struct sn_frame frames[32];

	for (size_t s = 0; s < count; s++) {
		uint32_t depth = 8 + (uint32_t)sn_random_below(random, 24);

		for (uint32_t i = 0; i < depth; i++) {
			uint64_t spread = i < 4 ? FUNCTIONS : i < 12 ? 500 : 20;

			frames[i].module = (uint32_t)sn_random_below(random, MODULES);
			frames[i].link_addr = sn_random_below(random, spread) * FUNCTION_BYTES +
					      16 * sn_random_below(random, i ? 8 : 60);
		}
		sn_experiment_add_stack(e, 0, frames, depth, SN_STACK_COMPLETE);
	}
}

static void samples_make(struct sn_experiment *e, size_t count, uint32_t threads,
			 struct sn_random *random)
{
	size_t each = count / threads;

	sn_vec_reserve(&e->samples, count);
	for (uint32_t t = 0; t < threads; t++) {
		uint32_t stack = 0;

		for (size_t i = 0; i < each; i++) {
			struct sn_sample sample = { .time_ns = (int64_t)i * 1000000,
						    .cpu_ns = 1000000,
						    .thread = t,
						    .cpu = (uint16_t)(t % 64) };

			if (!sn_random_below(random, 3)) {
				double u = sn_random_unit(random);

				stack = (uint32_t)(u * u * u * (double)e->stacks.count);
			}
			sample.stack = stack;
			sn_vec_push(&e->samples, sample);
		}
	}
}

static struct sn_experiment *experiment_make(size_t samples, size_t stacks, uint32_t threads)
{
	struct sn_experiment *e = sn_experiment_new("bench");
	struct sn_process process = { .pid = 1, .rank = -1, .clock_mechanism = "perf-signal" };
	struct sn_random random;

	sn_random_seed(&random, 1);
	for (int m = 0; m < MODULES; m++) {
		struct sn_module module = {
			.path = "/bench/module", .name = "module", .build_id = "aa", .is_main = !m
		};

		sn_vec_push(&e->modules, module);
	}
	sn_vec_push(&e->processes, process);
	for (uint32_t t = 0; t < threads; t++) {
		struct sn_thread thread = { .tid = (int32_t)t, .name = "worker" };

		sn_vec_push(&e->threads, thread);
	}
	for (int f = 0; f < FUNCTIONS; f++) {
		snprintf(names[f], sizeof(names[f]), "function_%d", f);
		snprintf(loop_ids[f], sizeof(loop_ids[f]), "aa:%x:10", f * FUNCTION_BYTES);
		for (uint32_t m = 0; m < MODULES; m++)
			loop_make(m, (uint32_t)f);
	}
	stacks_make(e, stacks, &random);
	samples_make(e, samples, threads, &random);
	return e;
}

static void functions_print(const struct sn_profile *profile)
{
	const struct sn_view *view = sn_view_find("functions");
	struct sn_view_input input = { .profile = profile };
	struct sn_table_view how = { .schema = view->schema,
				     .columns = view->text_columns,
				     .sort = view->sort,
				     .top = 5,
				     .width = 100,
				     .share_column = view->share_column };
	struct sn_table table;
	struct sn_error err;

	sn_table_init(&table, view->columns, view->column_count);
	if (view->fill(&input, &table, &err) == SN_OK)
		sn_table_write(&table, &how, stdout, NULL, NULL, &err);
	sn_table_free(&table);
}

static double step(const char *name, double *at, double *cpu)
{
	double wall = now_s() - *at, used = cpu_s() - *cpu;

	printf("%-34s %7.3f s wall %7.3f s CPU\n", name, wall, used);
	*at = now_s();
	*cpu = cpu_s();
	return used;
}

int main(int argc, char **argv)
{
	size_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	size_t stacks = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	uint32_t threads = argc > 3 ? (uint32_t)atoi(argv[3]) : 64;
	struct sn_experiment *e = experiment_make(samples, stacks, threads);
	struct sn_resolver resolver = { .resolve = resolve };
	double at = now_s(), cpu = cpu_s(), sum = 0;
	struct sn_tree_options options = { .kind = SN_TREE_CALLEES };
	struct sn_program *program;
	struct sn_profile *profile;
	struct rusage usage;
	struct sn_tree *tree;
	struct sn_error err;

	printf("%zu samples, %zu stacks, %u threads\n", e->samples.count, e->stacks.count, threads);
	program = sn_program_new(e, &resolver);
	sum += step("resolve every address once", &at, &cpu);
	if (sn_profile_new(program, NULL, &profile, &err) != SN_OK)
		return sn_error_print(&err);
	sum += step("metrics of everything", &at, &cpu);
	functions_print(profile);
	sum += step("functions table", &at, &cpu);
	printf("%-34s %25.3f s CPU\n", "samples to functions table", sum);
	tree = sn_tree_new(profile, &options);
	printf("(%zu nodes)\n", tree->nodes.count);
	step("call tree", &at, &cpu);
	getrusage(RUSAGE_SELF, &usage);
	printf("largest resident set: %.0f MB (%.0f MB of them the samples)\n",
	       (double)usage.ru_maxrss / 1024, (double)(samples * sizeof(struct sn_sample)) / 1e6);
	sn_tree_free(tree);
	sn_profile_free(profile);
	sn_program_free(program);
	sn_experiment_free(e);
	return 0;
}
