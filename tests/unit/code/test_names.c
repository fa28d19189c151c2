/* What a user may call a function. */
#include "code/names.h"

#include <stddef.h>

#include "harness/tap.h"

TEST(a_name_is_the_whole_one_or_the_linkage_name)
{
	CHECK_INT(sn_name_match_of("ns::f(int)", "_ZN2ns1fEi", "ns::f"), SN_NAME_WHOLE);
	CHECK_INT(sn_name_match_of("ns::f(int)", "_ZN2ns1fEi", "ns::f(int)"), SN_NAME_WHOLE);
	CHECK_INT(sn_name_match_of("ns::f(int)", "_ZN2ns1fEi", "_ZN2ns1fEi"), SN_NAME_WHOLE);
	CHECK_INT(sn_name_match_of("ns::f(int)", "_ZN2ns1fEi", "f"), SN_NAME_NONE);
	CHECK_INT(sn_name_match_of("ns::f(int)", "_ZN2ns1fEi", "ns"), SN_NAME_NONE);
	CHECK_INT(sn_name_match_of("f.constprop.0", "f.constprop.0", "f"), SN_NAME_CLONE);
	CHECK_INT(sn_name_match_of("f.cold", "f.cold", "f"), SN_NAME_NONE);
	CHECK_INT(sn_name_match_of("f", NULL, ""), SN_NAME_NONE);
}

TEST(a_fortran_procedure_has_its_plain_name_in_any_case)
{
	static const char *const linkages[] = { "__solver_mod_MOD_step", "_QMsolver_modPstep",
						"solver_mod_mp_step_",
						"__solver_mod_MOD_step.constprop.0" };

	for (size_t i = 0; i < sizeof(linkages) / sizeof(*linkages); i++) {
		CHECK_INT(sn_name_match_of(NULL, linkages[i], "step"), SN_NAME_PLAIN);
		CHECK_INT(sn_name_match_of(NULL, linkages[i], "STEP"), SN_NAME_PLAIN);
		CHECK_INT(sn_name_match_of(NULL, linkages[i], "Solver_Mod::Step"), SN_NAME_PLAIN);
		CHECK_INT(sn_name_match_of(NULL, linkages[i], "other::step"), SN_NAME_NONE);
		CHECK_INT(sn_name_match_of(NULL, linkages[i], "tep"), SN_NAME_NONE);
	}
	CHECK_INT(sn_name_match_of("step_", "step_", "step"), SN_NAME_PLAIN);
	CHECK_INT(sn_name_match_of("step_", "step_", "STEP"), SN_NAME_PLAIN);
	CHECK_INT(sn_name_match_of(NULL, "_QPstep", "step"), SN_NAME_PLAIN);
	CHECK_INT(sn_name_match_of("step", "step", "STEP"), SN_NAME_NONE); /* C knows case */
}
