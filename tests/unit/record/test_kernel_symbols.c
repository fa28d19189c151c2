/* The kernel's list of its functions: what is one, in which order, how long, and of which module. */
#include "record/kernel_symbols.h"

#include <string.h>

#include "harness/tap.h"

static sn_status read_text(const char *text, struct sn_kernel_symbols *out)
{
	return sn_kernel_symbols_read_memory(text, strlen(text), out, NULL);
}

TEST(functions_in_order_with_their_sizes)
{
	struct sn_kernel_symbols symbols;
	const struct sn_kernel_symbol *found;

	CHECK_INT(read_text("ffffffff81000100 t second\n"
			    "ffffffff81000000 T first\n"
			    "ffffffff81000010 d data\n"
			    "ffffffff81000100 T also_second\n"
			    "ffffffffc0201000 t of_module\t[ext4]\n"
			    "ffffffffc0202000 t of_kernel\t[__builtin__ftrace]\n"
			    "nonsense\n\n"
			    "ffffffffc0203000 W last",
			    &symbols),
		  SN_OK);
	CHECK_INT(symbols.items.count, 5);
	found = sn_kernel_symbol_at(&symbols, 0xffffffff810000ff);
	CHECK_STRING(found->name, "first");
	CHECK_INT(found->size_bytes, 0x100);
	CHECK(!found->module);
	found = sn_kernel_symbol_at(&symbols, 0xffffffff81000100);
	CHECK_STRING(found->name, "also_second");
	CHECK_STRING(sn_kernel_symbol_at(&symbols, 0xffffffffc0201fff)->module, "ext4");
	CHECK(!sn_kernel_symbol_at(&symbols, 0xffffffffc0202000)->module);
	CHECK_STRING(sn_kernel_symbol_at(&symbols, 0xffffffffc0203004)->name, "last");
	CHECK(!sn_kernel_symbol_at(&symbols, 0xffffffff80ffffff));
	CHECK(!sn_kernel_symbol_at(&symbols, 0xffffffff91000000)); /* in no function's reach */
	sn_kernel_symbols_free(&symbols);
}

TEST(hidden_addresses_are_refused)
{
	struct sn_kernel_symbols symbols;

	CHECK_INT(read_text("0000000000000000 T first\n0000000000000000 T second\n", &symbols),
		  SN_ERR_UNSUPPORTED);
	CHECK_INT(read_text("", &symbols), SN_ERR_UNSUPPORTED);
}
