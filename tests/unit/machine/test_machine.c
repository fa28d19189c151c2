#include <string.h>

#include "harness/tap.h"
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
					     "zen2",	    "zen3",	      "zen4" };

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
