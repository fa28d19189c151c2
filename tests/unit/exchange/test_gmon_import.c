/* Snapshots of gmon.out become an experiment: what one has more than the one before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/image.h"
#include "exchange/gmon.h"
#include "exchange/gmon_file.h"
#include "experiment/experiment.h"
#include "harness/tap.h"

enum { BINS = 4 };

static char folder[] = "/tmp/test_gmon_import_XXXXXX";
static char program[4096];

/* The program that the snapshots are of is this one; its ticks lie in `work`. */
__attribute__((noinline, used)) static unsigned work(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		n ^= i * 3;
	return n;
}

static uint64_t address_of_work(void)
{
	struct sn_image_options options = { .only_this_file = true };
	const struct sn_symbol *symbol;
	struct sn_image *image;
	uint64_t addr;

	REQUIRE(sn_image_open(program, &options, &image, NULL) == SN_OK);
	symbol = sn_image_symbol_named(image, "work");
	REQUIRE(symbol && symbol->size_bytes >= BINS * 4);
	addr = symbol->link_addr;
	sn_image_free(image);
	return addr;
}

static void begin(void)
{
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	REQUIRE(work(3) != 12345 && length > 0);
	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

static void write_ticks(const char *path, uint64_t addr, const uint16_t bins[BINS], uint32_t calls)
{
	struct sn_text file = { 0 };
	FILE *out = fopen(path, "w");

	gmon_begin(&file);
	gmon_histogram(&file, addr, addr + BINS * 4, bins, BINS);
	if (calls)
		gmon_arc(&file, addr, addr, calls);
	REQUIRE(out && fwrite(file.chars, 1, file.length, out) == file.length);
	fclose(out);
	sn_text_free(&file);
}

static void write_snapshot(const char *path, const uint16_t bins[BINS], uint32_t calls)
{
	write_ticks(path, address_of_work(), bins, calls);
}

static sn_status import(size_t count, int64_t interval_s, uint64_t *samples, struct sn_error *err)
{
	static const char *const paths[] = { "gmon.1", "gmon.2" };
	struct sn_gmon_import how = { .program = program,
				      .paths = paths,
				      .path_count = count,
				      .interval_ns = interval_s * 1000000000,
				      .output = "imported" };
	struct sn_text path = { 0 };
	sn_status status = sn_gmon_import(&how, &path, samples, err);

	if (status == SN_OK)
		CHECK_STRING(path.chars, "imported");
	sn_text_free(&path);
	return status;
}

static void end(void)
{
	CHECK_INT(system("rm -r imported gmon.1 gmon.2 2>/dev/null; true"), 0);
	CHECK(!chdir("/") && !rmdir(folder));
}

TEST(ticks_become_samples_of_the_interval_in_which_they_came)
{
	struct sn_experiment *e = NULL;
	struct sn_error err = { 0 };
	uint64_t samples = 0, second = 0;

	begin();
	write_snapshot("gmon.1", (uint16_t[BINS]){ 1, 2, 0, 0 }, 5);
	write_snapshot("gmon.2", (uint16_t[BINS]){ 1, 3, 0, 4 }, 9);
	REQUIRE(import(2, 1, &samples, &err) == SN_OK);
	CHECK_INT(samples, 8);
	REQUIRE(sn_experiment_open("imported", &e, &err) == SN_OK);
	REQUIRE(e->samples.count == 8);
	for (size_t i = 0; i < 8; i++) {
		const struct sn_sample *s = &e->samples.items[i];

		CHECK_INT(s->cpu_ns, 10000000); /* a tick at 100 Hz */
		second += s->time_ns >= 1000000000;
		REQUIRE(s->stack < e->stacks.count);
		CHECK_INT(e->stacks.items[s->stack].depth, 1);
	}
	CHECK_INT(second, 5);
	sn_experiment_free(e);
	end();
}

/* Counters have 16 bits: 65,530 and then 4 are ten ticks more. */
TEST(a_counter_may_wrap)
{
	struct sn_error err = { 0 };
	uint64_t samples = 0;

	begin();
	write_snapshot("gmon.1", (uint16_t[BINS]){ 65530, 0, 0, 0 }, 1);
	write_snapshot("gmon.2", (uint16_t[BINS]){ 4, 0, 0, 0 }, 1);
	REQUIRE(import(2, 1000, &samples, &err) == SN_OK);
	CHECK_INT(samples, 65540);
	end();
}

TEST(snapshots_in_the_wrong_order_are_refused)
{
	struct sn_error err = { 0 };
	uint64_t samples = 0;

	begin();
	write_snapshot("gmon.1", (uint16_t[BINS]){ 1, 3, 0, 4 }, 9);
	write_snapshot("gmon.2", (uint16_t[BINS]){ 1, 3, 0, 4 }, 5); /* calls went back */
	CHECK_INT(import(2, 1, &samples, &err), SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "'gmon.2' does not continue the snapshot before it") != NULL);
	end();
}

TEST(snapshots_without_ticks_say_what_to_do)
{
	struct sn_error err = { 0 };
	uint64_t samples = 0;

	begin();
	write_snapshot("gmon.1", (uint16_t[BINS]){ 0 }, 9);
	CHECK_INT(import(1, 1, &samples, &err), SN_ERR_NO_DATA);
	CHECK(strstr(err.sentence, "not compiled with -pg") != NULL);
	end();
}

TEST(another_program_is_refused)
{
	struct sn_error err = { 0 };
	uint64_t samples = 0;

	begin();
	write_ticks("gmon.1", 0x10, (uint16_t[BINS]){ 5, 5, 5, 5 }, 0); /* no function is there */
	CHECK_INT(import(1, 1, &samples, &err), SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "is not the program that wrote the snapshots") != NULL);
	end();
}
