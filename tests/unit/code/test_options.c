/* What options say of how code was compiled, and what was missing. */
#include "code/options.h"
#include "harness/tap.h"

static unsigned bits(int level, bool target)
{
	return (level ? 1U << level : 0) | (target ? 1U << SN_MISSING_TARGET : 0);
}

TEST(missing_options_follow_the_level)
{
	CHECK_INT(sn_missing_options("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g"),
		  bits(SN_MISSING_LEVEL, true));
	CHECK_INT(sn_missing_options("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -Os"),
		  bits(SN_MISSING_LEVEL, true));
	CHECK_INT(sn_missing_options("GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2"),
		  bits(SN_MISSING_O3, true));
	CHECK_INT(sn_missing_options("GNU C17 12.2.0 -march=znver4 -g -O2 -O3"), 0);
	CHECK_INT(sn_missing_options("/usr/bin/clang -O3 -mavx2 -c k.c"), 0);
}

TEST(nothing_is_claimed_of_what_is_not_recorded)
{
	CHECK_INT(sn_missing_options(0), 0);
	CHECK_INT(sn_missing_options("Debian clang version 14.0.6"), 0);
	CHECK_INT(sn_missing_options(""), 0);
}

TEST(compilers_of_other_languages_take_other_options)
{
	CHECK(sn_takes_c_options("GNU C17 12.2.0 -mtune=generic"));
	CHECK(sn_takes_c_options("Debian clang version 14.0.6"));
	CHECK(sn_takes_c_options("Intel(R) oneAPI DPC++/C++ Compiler 2023.0.0"));
	CHECK(sn_takes_c_options(0));
	CHECK(!sn_takes_c_options("clang LLVM (rustc version 1.63.0)"));
	CHECK(!sn_takes_c_options("Go cmd/compile go1.19.8; regabi"));
	CHECK(!sn_takes_c_options("Free Pascal 3.2.2"));
}

TEST(words_are_whole)
{
	CHECK(sn_has_option("GNU C17 -mfma -O2", "-mfma"));
	CHECK(sn_has_option("-O2\n-mfma", "-mfma"));
	CHECK(!sn_has_option("GNU C17 -mfma4 -O2", "-mfma"));
	CHECK(!sn_has_option(0, "-mfma"));
}

TEST(what_may_be_reordered_and_fused)
{
	CHECK(sn_may_reorder("GNU C17 12.2.0 -g -Ofast"));
	CHECK(sn_may_reorder("GNU C17 12.2.0 -g -O2 -ffast-math"));
	CHECK(!sn_may_reorder("GNU C17 12.2.0 -g -Ofast -fno-associative-math"));
	CHECK(!sn_may_reorder("GNU C17 12.2.0 -g -O3"));
	CHECK(!sn_may_reorder(0));
	CHECK(sn_may_contract("GNU C17 12.2.0 -g -O3"));
	CHECK(!sn_may_contract("GNU C17 12.2.0 -g -O3 -ffp-contract=off"));
	CHECK(!sn_may_contract("GNU C17 12.2.0 -g -O3 -std=c17"));
	CHECK(sn_may_contract("GNU C17 12.2.0 -g -O3 -std=gnu17"));
	CHECK(!sn_may_contract("clang version 14.0.6"));
}
