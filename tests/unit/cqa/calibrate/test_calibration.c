/* Which figures of an earlier run are kept. */
#include "cqa/calibrate/calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

/* A profile as if it had been written on that machine, to be read on this one. */
static bool is_taken(const char *machine)
{
	struct sn_calibration c = { 0 };
	struct sn_memory_profile memory = { 0 };
	struct sn_error err = { 0 };
	char path[] = "/tmp/sonde-test-calibration-XXXXXX";
	int file = mkstemp(path);
	bool taken;

	REQUIRE(file >= 0);
	close(file);
	snprintf(memory.machine, sizeof(memory.machine), "%s", machine);
	REQUIRE(sn_memory_profile_write(&memory, &c.core, path, &err) == SN_OK);
	sn_calibration_read_older(&c, path);
	taken = c.has_older;
	sn_calibration_free(&c);
	unlink(path);
	return taken;
}

TEST(figures_of_another_processor_are_not_kept)
{
	CHECK(!is_taken("no-such-machine"));
}

TEST(figures_of_this_processor_are_kept)
{
	const char *native = sn_machine_processor_name();

	CHECK_INT(native && is_taken(native), native != NULL);
}

TEST(a_file_that_is_not_there_has_no_figures)
{
	struct sn_calibration c = { 0 };

	sn_calibration_read_older(&c, "/nonexistent/machine.tsv");
	CHECK(!c.has_older);
	sn_calibration_free(&c);
}
