/* A perf.data file becomes an experiment: processes, threads, mappings, stacks, samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/perf_data.h"
#include "exchange/perf_file.h"
#include "experiment/experiment.h"
#include "harness/tap.h"

static char folder[] = "/tmp/test_perf_import_XXXXXX";

static void begin(struct perf_file *f)
{
	REQUIRE(mkdtemp(folder) && !chdir(folder));
	perf_begin(f);
	perf_comm(f, 100, "app", 1000000);
	perf_map(f, 0x400000, 0x2000, 0, "/nowhere/app", 1000000);
}

static struct sn_perf_import_result import(struct perf_file *f, struct sn_experiment **out)
{
	struct sn_perf_import how = { .output = "imported" };
	struct sn_perf_import_result result = { 0 };
	struct sn_error err = { 0 };
	FILE *file = fopen("perf.data", "w");

	REQUIRE(file && fwrite(f->bytes.chars, 1, f->bytes.length, file) == f->bytes.length);
	fclose(file);
	sn_text_free(&f->bytes);
	CHECK_INT(sn_perf_import("perf.data", &how, &result, &err), SN_OK);
	REQUIRE(sn_experiment_open("imported", out, &err) == SN_OK);
	return result;
}

static void end(struct sn_perf_import_result *result, struct sn_experiment *e)
{
	sn_experiment_free(e);
	sn_text_free(&result->path);
	sn_vec_free_owned(&result->warnings);
	CHECK_INT(system("rm -r imported perf.data"), 0);
	CHECK(!chdir("/") && !rmdir(folder));
}

static bool warns(const struct sn_perf_import_result *result, const char *says)
{
	for (size_t i = 0; i < result->warnings.count; i++)
		if (strstr(result->warnings.items[i], says))
			return true;
	return false;
}

TEST(samples_keep_their_thread_time_and_stack)
{
	static const uint64_t chain[] = { 0x400110, 0x400210, 0x400310 };
	struct sn_perf_import_result result;
	struct sn_experiment *e;
	const struct sn_stack *stack;
	struct perf_file f;

	begin(&f);
	perf_life(&f, PERF_FORK, 101, 1500000);
	perf_sample(&f, 100, 2000000, 1000000, chain, 3);
	perf_sample(&f, 100, 3000000, 1000000, chain, 3);
	perf_sample(&f, 101, 2500000, 500000, chain + 2, 1);
	perf_life(&f, PERF_EXIT, 101, 4000000);
	result = import(&f, &e);
	CHECK_INT(result.samples, 3);
	REQUIRE(e->processes.count == 1 && e->threads.count == 2 && e->samples.count == 3);
	CHECK_INT(e->processes.items[0].pid, 100);
	CHECK_STRING(e->threads.items[0].name, "app");
	CHECK_INT(e->threads.items[0].tid, 100);
	CHECK_INT(e->threads.items[1].tid, 101);
	CHECK_INT(e->samples.items[0].cpu_ns, 1000000);
	CHECK_INT(e->samples.items[1].time_ns - e->samples.items[0].time_ns, 1000000);
	CHECK_INT(e->samples.items[2].thread, 1);
	CHECK_INT(e->samples.items[2].cpu_ns, 500000);
	CHECK_INT(e->samples.items[0].stack, e->samples.items[1].stack);
	stack = &e->stacks.items[e->samples.items[0].stack];
	REQUIRE(stack->depth == 3);
	CHECK_STRING(e->modules.items[stack->frames[0].module].path, "/nowhere/app");
	CHECK_INT(stack->frames[0].link_addr, 0x110); /* the file lies at 0 */
	CHECK_INT(stack->frames[2].module, stack->frames[0].module);
	end(&result, e);
}

TEST(what_perf_lost_and_what_is_not_here_is_said)
{
	static const uint64_t pc = 0x400110;
	struct sn_perf_import_result result;
	struct sn_experiment *e;
	struct perf_file f;

	begin(&f);
	perf_sample(&f, 100, 2000000, 1000000, &pc, 1);
	perf_lost(&f, 7, 3000000);
	result = import(&f, &e);
	CHECK(warns(&result, "7 samples were lost"));
	CHECK(warns(&result, "1 mapped files are not on this machine"));
	end(&result, e);
}

TEST(a_file_without_samples_is_refused)
{
	struct sn_perf_import how = { .output = "imported" };
	struct sn_perf_import_result result = { 0 };
	struct sn_error err = { 0 };
	struct perf_file f;
	FILE *file;

	begin(&f);
	file = fopen("perf.data", "w");
	REQUIRE(file && fwrite(f.bytes.chars, 1, f.bytes.length, file) == f.bytes.length);
	fclose(file);
	CHECK_INT(sn_perf_import("perf.data", &how, &result, &err), SN_ERR_NO_DATA);
	CHECK(access("imported", F_OK) != 0);
	sn_text_free(&f.bytes);
	CHECK(!unlink("perf.data") && !chdir("/") && !rmdir(folder));
}
