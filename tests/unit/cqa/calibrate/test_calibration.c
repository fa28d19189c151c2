/* Which figures of an earlier run are kept. */
#include "cqa/calibrate/calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

/* Any figures that a profile may hold; the reader refuses those that are not positive. */
static void fill(struct sn_memory_profile *memory, const char *machine)
{
	snprintf(memory->machine, sizeof(memory->machine), "%s", machine);
	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		static const char *const names[SN_MEMORY_LEVELS] = { "L1", "L2", "L3", "RAM" };
		struct sn_memory_level *level = &memory->levels[i];

		level->name = names[i];
		level->working_set_bytes = level->unit_bytes_per_cycle = 1 + i;
		level->line_bytes_per_cycle = level->copy_bytes_per_cycle = 1 + i;
		level->latency_cycles = 1 + i;
	}
}

/* Whether a profile that was written on `writer` is kept by a calibration on `reader`. */
static bool is_kept(const char *writer, const char *reader)
{
	struct sn_calibration c = { 0 };
	struct sn_memory_profile memory = { 0 };
	struct sn_error err = { 0 };
	char path[] = "/tmp/sonde-test-calibration-XXXXXX";
	int file = mkstemp(path);
	bool kept;

	REQUIRE(file >= 0);
	close(file);
	fill(&memory, writer);
	REQUIRE(sn_memory_profile_write(&memory, &c.core, path, &err) == SN_OK);
	sn_calibration_read_older(&c, path, reader);
	kept = c.has_older;
	sn_calibration_free(&c);
	unlink(path);
	return kept;
}

TEST(figures_of_another_processor_are_not_kept)
{
	CHECK(!is_kept("zen4", "zen3"));
	CHECK(!is_kept("zen4", NULL));
}

TEST(figures_of_this_processor_are_kept)
{
	CHECK(is_kept("zen3", "zen3"));
}

TEST(a_file_that_is_not_there_has_no_figures)
{
	struct sn_calibration c = { 0 };

	sn_calibration_read_older(&c, "/nonexistent/machine.tsv", "zen3");
	CHECK(!c.has_older);
	sn_calibration_free(&c);
}
