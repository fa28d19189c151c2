#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"
#include "machine/bandwidth.h"
#include "machine/core_profile.h"
#include "machine/machine.h"

static sn_form form_of(const char *text)
{
	sn_form form = 0;

	CHECK(sn_form_parse(text, strlen(text), &form));
	return form;
}

TEST(form_text_reads_back)
{
	static const char *const texts[] = { "add r64,r64",	  "vaddpd z,z,m512 {z}",
					     "lock add m64,r64",  "lea r64,a3",
					     "vgatherdpd y,vx,y", "rep movsb",
					     "fld m80",		  "vpermd y,y,y {k}" };
	char buffer[SN_FORM_TEXT_MAX];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK_STRING(sn_form_print(form_of(texts[i]), buffer), texts[i]);
}

TEST(form_text_that_is_none_is_refused)
{
	sn_form form;

	CHECK(!sn_form_parse("no_such_thing r64", 17, &form));
	CHECK(!sn_form_parse("add r65,r64", 11, &form));
	CHECK(!sn_form_parse("", 0, &form));
	CHECK(!sn_form_parse("add i,i,i,i,i,i", 15, &form));
}

TEST(every_machine_loads_and_knows_its_roles)
{
	static const char *const names[] = { "haswell",	    "skylake",	      "skylake-avx512",
					     "cascadelake", "icelake-server", "sapphirerapids",
					     "zen1",	    "zen2",	      "zen3",
					     "zen4" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct sn_machine *machine;
		struct sn_error err = { 0 };

		REQUIRE(sn_machine_find(names[i], &machine, &err) == SN_OK);
		CHECK(machine->rows.count > 4000);
		CHECK(machine->alu_units && machine->load_units);
		CHECK(machine->branch_units && machine->taken_branch_units);
		CHECK(machine->rules.issue_width >= 4);
	}
}

TEST(unknown_machine_is_a_usage_error)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };

	CHECK_INT(sn_machine_find("pentium", &machine, &err), SN_ERR_USAGE);
	CHECK(strstr(err.sentence, "cascadelake") != NULL);
}

TEST(a_mask_or_broadcast_needs_no_estimate)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	bool is_estimated;

	REQUIRE(sn_machine_find("cascadelake", &machine, &err) == SN_OK);
	CHECK(sn_machine_row(machine, form_of("vaddpd z,z,b64 {z}"), &is_estimated)->loads);
	CHECK(!is_estimated);
	sn_machine_row(machine, form_of("vaddpd y,y,y"), &is_estimated);
	CHECK(!is_estimated);
	sn_machine_row(machine, form_of("add r64,st"), &is_estimated);
	CHECK(is_estimated);
}

/* LLVM has no divider for these: tools/gen-machines/dividers.py. The unit takes one operation. */
TEST(divisions_hold_the_divider_and_not_a_unit)
{
	static const struct {
		const char *machine, *form;
		double divider;
	} rows[] = {
		{ "sapphirerapids", "divsd x,x", 4 },
		{ "sapphirerapids", "vdivpd y,y,y", 8 },
		{ "sapphirerapids", "vsqrtps y,y", 6 },
		{ "sapphirerapids", "vsqrtpd y,y", 9 }, /* as measured */
		{ "sapphirerapids", "vdivpd y,y,m256", 8 },
		{ "sapphirerapids", "div m32", 6 },
		{ "sapphirerapids", "idiv r64", 10 },
		{ "sapphirerapids", "vdivph y,y,y", 10 },
		{ "icelake-server", "vdivpd y,y,y", 8 },
		{ "zen1", "divsd x,x", 6 },
		{ "zen1", "vdivpd y,y,y", 12 },
		{ "zen2", "divsd x,x", 6 },
		{ "zen2", "sqrtsd x,x", 10 },
		{ "zen2", "idiv r64", 41 },
		{ "zen3", "vdivpd y,y,m256", 5 },
		{ "zen3", "sqrtsd x,x", 9 },
		{ "zen3", "idiv r64", 17 },
		{ "zen4", "divss x,x", 3 },
		{ "zen4", "vdivpd z,z,z", 10 },
		{ "zen4", "vdivpd z,z,m512 {k}", 10 },
		{ "zen4", "fdiv st,st", 3 },
	};
	const struct sn_machine *machine;
	bool is_estimated;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sn_row *row;

		REQUIRE(sn_machine_find(rows[i].machine, &machine, NULL) == SN_OK);
		row = sn_machine_row(machine, form_of(rows[i].form), &is_estimated);
		CHECK_REAL((double)row->divider_cycles, rows[i].divider, 1e-6);
		for (unsigned k = 0; k < row->set_count; k++)
			CHECK((double)row->sets[k].count < rows[i].divider);
	}
	REQUIRE(sn_machine_find("sapphirerapids", &machine, NULL) == SN_OK);
	CHECK_REAL((double)sn_machine_row(machine, form_of("vsqrtpd z,z"), &is_estimated)
			   ->divider_cycles,
		   18, 1e-6);
}

TEST(overlay_replaces_fields_and_names_a_bad_line)
{
	const struct sn_machine *machine;
	struct sn_machine copy;
	struct sn_error err = { 0 };
	static const char good[] = "# a comment\nadd r64,r64\t=\t7\t=\t=\t=\n";
	static const char bad[] = "add r64,r64\tx\t7\t=\t=\t=\n";
	bool is_estimated;

	REQUIRE(sn_machine_find("haswell", &machine, &err) == SN_OK);
	copy = *machine;
	CHECK_INT(sn_machine_overlay(&copy, good, sizeof(good) - 1, "good", &err), SN_OK);
	CHECK_REAL((double)sn_machine_row(&copy, form_of("add r64,r64"), &is_estimated)->latency, 7,
		   0);
	CHECK_INT(sn_machine_overlay(&copy, bad, sizeof(bad) - 1, "bad", &err), SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "line 1") != NULL);
}

static struct sn_core_profile profile_of(const char *text)
{
	struct sn_core_profile profile;
	char path[] = "core_profile_XXXXXX";
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	REQUIRE(sn_core_profile_read(path, &profile));
	unlink(path);
	return profile;
}

TEST(core_profile_corrects_rows_that_are_far_off)
{
	const struct sn_machine *machine;
	struct sn_error err = { 0 };
	bool is_estimated;
	struct sn_core_profile profile = profile_of("machine\thaswell\n"
						    "loop_buffer\toff\n"
						    "form\tmulsd x,x\t0.5\t8\n"
						    "form\taddsd x,x\t0.5\t3.2\n"
						    "form\tdivsd x,x\t40\t99\n"
						    "form\tmulpd x,x\tx\t8\n"
						    "form\tno_such x\t1\t8\n"
						    "form\tmulps x,x\t-4\t8\n"
						    "form\tsqrtsd");

	REQUIRE(sn_machine_find("haswell", &machine, &err) == SN_OK);
	CHECK_INT((int)profile.forms.count, 3);
	CHECK(machine->rules.loop_buffer_uops > 0);
	/* each test has a process of its own: the shared machine may be changed */
	CHECK_INT((int)sn_core_profile_apply(&profile, (struct sn_machine *)(uintptr_t)machine), 2);
	CHECK_INT((int)machine->rules.loop_buffer_uops, 0);
	CHECK_REAL((double)sn_machine_row(machine, form_of("mulsd x,x"), &is_estimated)->latency, 8,
		   1e-6);
	CHECK_REAL((double)sn_machine_row(machine, form_of("addsd x,x"), &is_estimated)->latency, 3,
		   1e-6);
	CHECK_REAL((double)sn_machine_row(machine, form_of("divsd x,m64"), &is_estimated)
			   ->divider_cycles,
		   40, 1e-6);
	sn_core_profile_free(&profile);
}

TEST(core_profile_reads_what_it_prints)
{
	struct sn_core_profile profile = profile_of("loop_buffer\ton\n"
						    "form\tdivsd x,x\t4.000\t-\n"
						    "form\timul r64,r64\t1.000\t3.000\n");
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	REQUIRE(out != NULL);
	sn_core_profile_print(&profile, out);
	fclose(out);
	CHECK(isnan(profile.forms.items[0].latency_cycles));
	CHECK_STRING(text, "loop_buffer\ton\nform\tdivsd x,x\t4.000\t-\n"
			   "form\timul r64,r64\t1.000\t3.000\n");
	free(text);
	sn_core_profile_free(&profile);
}

static struct sn_memory_profile memory_profile(double times)
{
	struct sn_memory_profile out = { .machine = "haswell" };
	static const char *const names[] = { "L1", "L2", "L3", "RAM" };

	for (unsigned i = 0; i < SN_MEMORY_LEVELS; i++) {
		struct sn_memory_level *level = &out.levels[i];

		level->name = names[i];
		level->working_set_bytes = 4096;
		level->unit_bytes_per_cycle = 64 / times;
		level->line_bytes_per_cycle = 63 / times;
		level->copy_bytes_per_cycle = 62 / times;
		level->latency_cycles = 4 * times;
		for (unsigned k = 0; k < SN_MEMORY_STRIDES; k++)
			level->stride_cycles[k] = (k + 1) * times;
		level->random_cycles = 9 * times;
		level->past_caches_bytes_per_cycle = 8 / times;
		level->store_bytes_per_cycle = 16 / times;
	}
	return out;
}

TEST(memory_profile_reads_what_it_writes)
{
	struct sn_memory_profile written = memory_profile(2), read;
	struct sn_error err = { 0 };

	REQUIRE(sn_memory_profile_write(&written, NULL, "memory/profile.tsv", &err) == SN_OK);
	REQUIRE(sn_memory_profile_read("memory/profile.tsv", &read, &err) == SN_OK);
	CHECK(strlen(read.date) == 10 && strncmp(read.date, "20", 2) == 0);
	CHECK_STRING(read.machine, "haswell");
	CHECK_REAL(read.levels[3].stride_cycles[2], 6, 1e-3);
	CHECK_REAL(read.levels[2].random_cycles, 18, 1e-3);
	CHECK_REAL(read.levels[1].past_caches_bytes_per_cycle, 4, 1e-3);
	CHECK_REAL(read.levels[0].store_bytes_per_cycle, 8, 1e-3);
	unlink("memory/profile.tsv");
	rmdir("memory");
}

TEST(memory_profile_of_before_has_no_single_accesses)
{
	struct sn_memory_profile read;
	struct sn_error err;
	FILE *out = fopen("old.tsv", "w");

	REQUIRE(out != NULL);
	fputs("machine\tzen5\nL1\t1\t2\t3\t4\t5\nL2\t1\t2\t3\t4\t5\nL3\t1\t2\t3\t4\t5\n"
	      "RAM\t1\t2\t3\t4\t5\naccess\tRAM\t1\t2\t3\t4\t5\t-"
	      "6\t7\naccess\tL9\t1\t2\t3\t4\t5\t6\t7\n",
	      out);
	fclose(out);
	CHECK(sn_memory_profile_read("old.tsv", &read, &err) == SN_OK);
	CHECK_STRING(read.date, "");
	CHECK_REAL(read.levels[3].latency_cycles, 5, 1e-9);
	CHECK_REAL(read.levels[3].random_cycles, 0, 1e-9);
	unlink("old.tsv");
}

TEST(a_damaged_memory_profile_says_what_it_lacks_and_where)
{
	struct sn_memory_profile read;
	struct sn_error err;
	FILE *out = fopen("bad.tsv", "w");

	REQUIRE(out != NULL);
	fputs("# x\nmachine\tzen5\nL1\t1\t2\t3\t4\t5\nL2\t1\tmany\nRAM\t1\t2\t3\t4\t5\n", out);
	fclose(out);
	CHECK(sn_memory_profile_read("bad.tsv", &read, &err) == SN_ERR_FORMAT);
	CHECK(strstr(err.sentence, "'bad.tsv'") && strstr(err.sentence, "lacks L2, L3;") &&
	      strstr(err.sentence, "line 4 "));
	unlink("bad.tsv");
	CHECK(sn_memory_profile_read("bad.tsv", &read, &err) == SN_ERR_NOT_FOUND);
}

TEST(rows_of_units_are_written_short)
{
	const struct sn_machine *machine;
	char text[256];

	REQUIRE(sn_machine_find("zen5", &machine, NULL) == SN_OK);
	CHECK_STRING(sn_units_print_short(machine, 0x3f, text), "alu0-5");
	CHECK_STRING(sn_units_print_short(machine, 0x1c, text), "alu2-4");
	CHECK_STRING(sn_units_print_short(machine, 0x03, text), "alu0+alu1");
	CHECK_STRING(sn_units_print_short(machine, 0x0d, text), "alu0+alu2+alu3");
	CHECK_STRING(sn_units_print_short(machine, 0x3ff, text), "alu0-5+fp0-3");
	CHECK_STRING(sn_units_print_short(machine, 0, text), "");
}

TEST(the_environment_may_stand_in_for_the_processor)
{
	const struct sn_machine *machine = NULL;
	struct sn_error err;

	setenv("SONDE_NATIVE_ARCH", "znver4", 1);
	REQUIRE(sn_machine_find("native", &machine, &err) == SN_OK);
	CHECK_STRING(machine->name, "zen4");
	setenv("SONDE_NATIVE_ARCH", "none", 1);
	CHECK(sn_machine_find("native", &machine, &err) == SN_ERR_UNSUPPORTED);
	setenv("SONDE_NATIVE_ARCH", "z80", 1);
	CHECK(sn_machine_find("native", &machine, &err) == SN_ERR_USAGE &&
	      strstr(err.sentence, "'z80'"));
	unsetenv("SONDE_NATIVE_ARCH");
}
