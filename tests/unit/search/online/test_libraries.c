/* Libraries that a program is started with, as its loader lists them. */
#include "search/online/libraries.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"

TEST(what_the_loader_prints_is_read)
{
	sn_strings all = { 0 };

	sn_libraries_read("\tlinux-vdso.so.1 (0x00007ffc)\n"
			  "\tliba.so => not found\n"
			  "\tlibm.so.6 => /lib/a b/libm.so.6 (0x00007f01)\n"
			  "\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n"
			  "\t./libown.so (0x00007f03)\n"
			  "\tcut.so => /lib/cut",
			  &all);
	REQUIRE(all.count == 3);
	CHECK_STRING(all.items[0], "/lib/a b/libm.so.6");
	CHECK_STRING(all.items[1], "/lib64/ld-linux-x86-64.so.2");
	CHECK_STRING(all.items[2], "./libown.so");
	sn_vec_free_owned(&all);
}

TEST(a_program_has_a_c_library)
{
	sn_strings all = { 0 };
	bool has_libc = false;
	char *own = realpath("/proc/self/exe", NULL);

	REQUIRE(own);
	sn_libraries_list(own, &all);
	free(own);
	for (size_t i = 0; i < all.count; i++)
		has_libc |= strstr(all.items[i], "/libc.so") != NULL;
	CHECK(has_libc);
	sn_vec_free_owned(&all);
	sn_libraries_list("/etc/passwd", &all);
	sn_libraries_list("/nowhere", &all);
	CHECK_INT(all.count, 0);
}
