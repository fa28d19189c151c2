#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/file.h"
#include "code/image.h"
#include "code/structure.h"
#include "harness/tap.h"

static struct sn_image *open_self(void)
{
	struct sn_image *image = NULL;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &image, NULL) == SN_OK);
	return image;
}

TEST(symbols_are_sorted_and_do_not_overlap)
{
	static const char *const paths[] = { "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
					     "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" };

	for (size_t p = 0; p < sizeof(paths) / sizeof(*paths); p++) {
		struct sn_image *image = NULL;
		const struct sn_symbol *symbols;
		size_t count;
		int bad = 0;

		if (access(paths[p], R_OK))
			continue;
		REQUIRE(sn_image_open(paths[p], NULL, &image, NULL) == SN_OK);
		symbols = sn_image_symbols(image, &count);
		CHECK(count > 50);
		for (size_t i = 0; i < count; i++) {
			bool has_name = symbols[i].kind != SN_SYMBOL_FDE &&
					symbols[i].kind != SN_SYMBOL_GAP;

			bad += !symbols[i].size_bytes || !symbols[i].name == has_name;
			if (i)
				bad += symbols[i].link_addr <
				       symbols[i - 1].link_addr + symbols[i - 1].size_bytes;
			bad += sn_image_symbol_at(image, symbols[i].link_addr) != &symbols[i];
			bad += sn_image_symbol_at(image, symbols[i].link_addr +
								 symbols[i].size_bytes - 1) !=
			       &symbols[i];
		}
		CHECK_INT(bad, 0);
		sn_image_free(image);
	}
}

/* The address of a function of this program, by its file offset and by its name. */
TEST(file_offsets_become_link_addresses)
{
	struct sn_image *image = open_self();
	const struct sn_symbol *symbol = sn_image_symbol_named(image, "main");
	const struct sn_segment *segments;
	size_t count, available;

	REQUIRE(symbol);
	segments = sn_image_segments(image, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t offset = symbol->link_addr - segments[i].link_addr;

		if (!segments[i].is_executable || offset >= segments[i].file_bytes)
			continue;
		CHECK_INT(sn_image_link_addr(image, segments[i].file_offset + offset),
			  symbol->link_addr);
	}
	CHECK(sn_image_bytes(image, symbol->link_addr, &available) &&
	      available >= symbol->size_bytes);
	CHECK(sn_image_link_addr(image, UINT64_MAX - 5) == UINT64_MAX);
	CHECK(!sn_image_bytes(image, UINT64_MAX - 5, &available) && !available);
	CHECK(!sn_image_symbol_at(image, UINT64_MAX));
	sn_image_free(image);
}

int first_alias(void);
int __second_alias(void);
__attribute__((used, noinline)) int first_alias(void)
{
	return 17;
}
int __second_alias(void) __attribute__((alias("first_alias")));

TEST(of_aliases_the_plain_name_is_chosen)
{
	struct sn_image *image = open_self();
	const struct sn_symbol *symbol = sn_image_symbol_named(image, "__second_alias");

	REQUIRE(symbol);
	CHECK_STRING(symbol->name, "first_alias");
	sn_image_free(image);
}

/* A pointer that the dynamic loader sets: what the image says must be what is in memory, but for
 * the bias. */
static int (*const volatile pointer)(void) = first_alias;

TEST(relocated_pointers)
{
	struct sn_image *image = open_self();
	const struct sn_symbol *symbol = sn_image_symbol_named(image, "first_alias");
	uint64_t bias = (uint64_t)(uintptr_t)first_alias - symbol->link_addr, value = 0;

	CHECK(sn_image_pointer(image, (uint64_t)(uintptr_t)&pointer - bias, &value));
	CHECK_INT(value, symbol->link_addr);
	CHECK(!sn_image_pointer(image, 3, &value) || value != symbol->link_addr);
	sn_image_free(image);
}

TEST(the_vdso_is_an_image_in_memory)
{
	const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct sn_structure *structure = NULL;
	struct sn_image *image = NULL;
	const struct sn_symbol *symbol;
	Elf64_Ehdr header;
	size_t length;

	if (!bytes)
		SKIP("there is no vdso");
	memcpy(&header, bytes, sizeof(header));
	length = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	REQUIRE(sn_image_open_memory(bytes, length, "[vdso]", NULL, &image, NULL) == SN_OK);
	CHECK(sn_image_has_build_id(image));
	symbol = sn_image_symbol_named(image, "__vdso_clock_gettime");
	REQUIRE(symbol);
	CHECK_STRING(symbol->name, "clock_gettime"); /* its weak alias has no underscores, */
	REQUIRE(sn_structure_open(image, &structure, NULL) == SN_OK);
	sn_structure_prepare_all(structure, SN_PREPARE_ALL);
	CHECK(sn_structure_function_at(structure, symbol->link_addr)->block_count > 3);
	sn_structure_free(structure);
	sn_image_free(image);
}

TEST(identity_is_of_the_code)
{
	struct sn_image *image = open_self(), *twin = NULL;
	struct sn_file_view file;

	REQUIRE(sn_file_map("/proc/self/exe", &file, NULL) == SN_OK);
	REQUIRE(sn_image_open_memory(file.bytes, file.length, "twin", NULL, &twin, NULL) == SN_OK);
	CHECK_STRING(sn_image_id(twin), sn_image_id(image));
	sn_image_free(twin);
	sn_image_free(image);
	sn_file_unmap(&file);
}
