#include <stdlib.h>
#include <string.h>

#include "code/demangle.h"
#include "harness/tap.h"

static void check(const char *mangled, const char *want)
{
	struct sn_text text = { 0 };
	bool is_mangled = sn_demangle(mangled, &text);

	CHECK_INT(is_mangled, want != NULL);
	if (want)
		CHECK_STRING(text.chars ? text.chars : "", want);
	else
		CHECK_INT(text.length, 0);
	sn_text_free(&text);
}

TEST(cpp_names)
{
	check("_ZN2ns1fEi", "ns::f(int)");
	check("_ZN2ns1fEi.cold", "ns::f(int) [clone .cold]");
	check("_ZNKSt6vectorIdSaIdEE4sizeEv",
	      "std::vector<double, std::allocator<double> >::size() const");
	check("_ZSt4cout@GLIBCXX_3.4", "std::cout");
}

TEST(rust_names)
{
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
}

TEST(fortran_names)
{
	check("__grid_MOD_step", "grid::step");
	check("__grid_MOD_step.constprop.0", "grid::step [clone .constprop.0]");
	check("grid_mp_step_", "grid::step");
}

TEST(plain_names_are_left)
{
	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("__libc_start_main", NULL);
	check("_Zfoo!", NULL);
	check("step_", NULL);
}

TEST(hostile_names_end)
{
	char *deep = malloc(20000);
	struct sn_text text = { 0 };

	memset(deep, 'P', 20000);
	memcpy(deep, "_Z1f", 4);
	deep[19999] = 0;
	sn_demangle(deep, &text); /* too long: left as it is */
	CHECK_INT(text.length, 0);
	deep[8000] = 0;
	sn_demangle(deep, &text); /* too deep for the demangler's own limit, or not: it ends */
	CHECK(text.length <= 64 * 1024);
	sn_text_free(&text);
	free(deep);
}
