/* The machine of an analysis: named, or the one we stand on; and the warning of another. */
#include "machine/choice.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

TEST(a_named_machine_is_taken_without_a_warning)
{
	struct sn_machine_choice choice;
	struct sn_error err;

	REQUIRE(sn_machine_choose("zen4", "Z80", &choice, &err) == SN_OK);
	CHECK_STRING(choice.machine->name, "zen4");
	CHECK_STRING(choice.warning, "");
}

TEST(a_name_that_nobody_knows_is_an_error)
{
	struct sn_machine_choice choice;
	struct sn_error err;

	CHECK(sn_machine_choose("z80", NULL, &choice, &err) == SN_ERR_USAGE);
	CHECK(strstr(err.sentence, "z80") != NULL);
}

TEST(a_run_on_another_processor_is_warned_of)
{
	struct sn_machine_choice choice;
	struct sn_error err;
	char here[256];

	setenv("SONDE_NATIVE_ARCH", "zen3", 1);
	sn_machine_host_model(here, sizeof(here));
	REQUIRE(sn_machine_choose(NULL, "Z80", &choice, &err) == SN_OK);
	CHECK_STRING(choice.machine->name, "zen3");
	CHECK((strstr(choice.warning, "was on 'Z80'") != NULL) == (here[0] != 0));
	REQUIRE(sn_machine_choose(NULL, here, &choice, &err) == SN_OK);
	CHECK_STRING(choice.warning, "");
	REQUIRE(sn_machine_choose(NULL, NULL, &choice, &err) == SN_OK);
	CHECK_STRING(choice.warning, "");
}

TEST(a_processor_without_a_model_is_a_choice_too)
{
	struct sn_machine_choice choice;
	struct sn_error err;

	setenv("SONDE_NATIVE_ARCH", "none", 1);
	REQUIRE(sn_machine_choose(NULL, "Z80", &choice, &err) == SN_OK);
	CHECK(choice.machine == NULL);
	CHECK_INT(choice.absence.status, SN_ERR_UNSUPPORTED);
	CHECK(choice.absence.sentence[0] != 0);
	CHECK_STRING(choice.warning, "");
	CHECK(sn_machine_choose("native", "Z80", &choice, &err) == SN_ERR_UNSUPPORTED);
}
