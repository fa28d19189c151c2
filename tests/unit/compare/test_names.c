/* Names of copies and parts of functions, as compilers and demanglers write them. */
#include "compare/names.h"

#include <string.h>

#include "harness/tap.h"

static void check(const char *name, const char *want)
{
	struct sn_arena arena = { 0 };

	CHECK_STRING(sn_compare_own_name(&arena, name), want);
	CHECK_INT(sn_compare_own_length(name), strlen(want));
	sn_arena_free(&arena);
}

TEST(copies_and_parts_belong_to_their_function)
{
	check("f.constprop.0", "f");
	check("f.isra.0", "f");
	check("f.part.0", "f");
	check("f.cold", "f");
	check("f.lto_priv.0", "f");
	check("main._omp_fn.1", "main");
	check("f.isra.0.constprop.1.cold", "f");
	check("_ZN2ns1fEi.part.0", "_ZN2ns1fEi");
	check("ns::f(int) [clone .part.0]", "ns::f(int)");
	check("ns::f(int) [clone .isra.0] [clone .cold]", "ns::f(int)");
	check("f.llvm.1234", "f");
	check("f.omp_outlined", "f");
	check("f.omp_outlined_debug__.1", "f");
}

TEST(other_names_are_their_own)
{
	check("f", "f");
	check("", "");
	check("f.coldest", "f.coldest");
	check("f.1", "f.1");
	check(".cold", ".cold");
	check(".omp_outlined.", ".omp_outlined.");
	check("main.init.0", "main.init.0");
	check("runtime.partial", "runtime.partial");
	check("operator[]", "operator[]");
}
