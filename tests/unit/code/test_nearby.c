/* An image that is read on demand has the symbols and functions of one that is read whole. */
#include "code/image_parts.h"

#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "code/extract.h"
#include "code/kept_file.h"
#include "code/structure.h"
#include "harness/tap.h"

/* So many names that an index of them is kept. */
__asm__(".text\n.altmacro\n.macro many number\n"
	".type many_\\number, @function\nmany_\\number: ret\n.size many_\\number, .-many_\\number\n"
	".endm\n.set many_next, 0\n.rept 5000\nmany %many_next\n.set many_next, many_next + 1\n.endr\n"
	".noaltmacro\n");

/* Functions that nothing names, in more than two parts of sn_image_gap_cut. */
enum { UNNAMED = 40000 };
extern const uint8_t unnamed_first[], unnamed_end[];
__asm__(".text\n.type unnamed_first, @function\n.globl unnamed_first, unnamed_end\n"
	"unnamed_first: ret\n.size unnamed_first, .-unnamed_first\n.p2align 4, 0xcc\n"
	".rept 40000\npush %rbp\nmov %rsp, %rbp\ntest %edi, %edi\nje 1f\nadd $77, %rax\n"
	"1: pop %rbp\nret\nint3\nint3\nint3\n.p2align 4, 0xcc\n.endr\n"
	".type unnamed_end, @function\nunnamed_end: ret\n.size unnamed_end, .-unnamed_end\n");

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_symbol(const struct sn_symbol *a, const struct sn_symbol *b)
{
	if (!a || !b)
		return a == b;
	return a->link_addr == b->link_addr && a->size_bytes == b->size_bytes &&
	       a->kind == b->kind && same_text(a->name, b->name) && same_text(a->after, b->after) &&
	       same_text(a->file, b->file) && a->is_size_inferred == b->is_size_inferred;
}

static bool same_function(const struct sn_function *a, const struct sn_function *b)
{
	if (!a || !b)
		return a == b;
	if (a->link_addr != b->link_addr || a->size_bytes != b->size_bytes || a->kind != b->kind ||
	    a->range_count != b->range_count || !same_text(a->name, b->name))
		return false;
	for (uint32_t i = 0; i < a->range_count; i++)
		if (a->ranges[i].first_link_addr != b->ranges[i].first_link_addr ||
		    a->ranges[i].end_link_addr != b->ranges[i].end_link_addr)
			return false;
	return true;
}

static uint64_t state;

static uint64_t any(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return below ? (state >> 33) % below : 0;
}

/* An address at, before, in or behind a random symbol. */
static uint64_t any_place(const struct sn_image *whole)
{
	size_t count;
	const struct sn_symbol *symbols = sn_image_symbols(whole, &count),
			       *s = &symbols[any(count)];

	switch (any(4)) {
	case 0:
		return s->link_addr;
	case 1:
		return s->link_addr + s->size_bytes + any(32);
	case 2:
		return s->link_addr - any(32);
	default:
		return s->link_addr + any(s->size_bytes);
	}
}

struct pair {
	struct sn_image *images[2];
	struct sn_structure *structures[2];
};

static bool pair_open(const char *path, struct pair *p)
{
	static const struct sn_image_options whole, on_demand = { .on_demand = true };
	struct sn_error err;

	if (sn_image_open(path, &whole, &p->images[0], &err) != SN_OK)
		return false;
	REQUIRE(sn_image_open(path, &on_demand, &p->images[1], &err) == SN_OK);
	for (int i = 0; i < 2; i++)
		REQUIRE(sn_structure_open(p->images[i], &p->structures[i], &err) == SN_OK);
	return true;
}

static void pair_free(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		sn_structure_free(p->structures[i]);
		sn_image_free(p->images[i]);
	}
}

static void compare(const char *path, unsigned places)
{
	struct pair p = { 0 };
	unsigned wrong = 0;

	if (!pair_open(path, &p))
		return;
	for (unsigned i = 0; i < places; i++) {
		uint64_t at = any_place(p.images[0]);
		bool is_same = same_symbol(sn_image_symbol_at(p.images[0], at),
					   sn_image_symbol_at(p.images[1], at)) &&
			       same_function(sn_structure_function_at(p.structures[0], at),
					     sn_structure_function_at(p.structures[1], at));

		if (!is_same && !wrong++)
			printf("# %s at %#llx\n", path, (unsigned long long)at);
	}
	CHECK_INT(wrong, 0);
	pair_free(&p);
}

static bool same_data(const struct pair *p, uint64_t link_addr)
{
	struct sn_symbol found[2] = { 0 };
	bool is_found = sn_image_data_symbol_before(p->images[0], link_addr, &found[0]);

	return sn_image_data_symbol_before(p->images[1], link_addr, &found[1]) == is_found &&
	       (!is_found || same_symbol(&found[0], &found[1]));
}

/* Asked for one by one, and as lists. */
static void compare_data(const char *path)
{
	const struct sn_symbol *symbols, *others;
	size_t count, other_count;
	struct pair p = { 0 };
	unsigned wrong = 0;

	if (!pair_open(path, &p))
		return;
	symbols = sn_image_data_symbols(p.images[0], &count);
	for (size_t i = 0; i < count; i++)
		wrong += !same_data(&p, symbols[i].link_addr) +
			 !same_data(&p, symbols[i].link_addr + 1 + any(64)) +
			 !same_data(&p, symbols[i].link_addr - 1);
	others = sn_image_data_symbols(p.images[1], &other_count);
	CHECK_INT(other_count, count);
	for (size_t i = 0; i < count && i < other_count; i++)
		wrong += !same_symbol(&symbols[i], &others[i]);
	CHECK_INT(wrong, 0);
	pair_free(&p);
}

static int compare_module(struct dl_phdr_info *info, size_t size, void *context)
{
	unsigned *count = context;

	(void)size;
	compare(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", 300);
	compare_data(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
	++*count;
	return 0;
}

TEST(symbols_and_functions_are_those_of_the_whole_file)
{
	unsigned count = 0;

	state = 1;
	dl_iterate_phdr(compare_module, &count);
	CHECK(count > 3);
	for (const char *const *more = (const char *const[]){ "/bin/sh", "/usr/bin/python3", NULL };
	     *more; more++)
		compare(*more, 300);
}

TEST(code_that_nothing_names_is_read_in_parts)
{
	struct pair p = { 0 };
	const struct sn_symbol *first;
	uint64_t begin = 0, end;
	unsigned wrong = 0, in_whole = 0;
	size_t count, made;

	state = 3;
	REQUIRE(pair_open("/proc/self/exe", &p));
	first = sn_image_symbol_named(p.images[0], "unnamed_first");
	REQUIRE(first);
	begin = first->link_addr;
	end = begin + (uint64_t)(unnamed_end - unnamed_first);
	sn_image_symbols(p.images[1], &made);
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t at = begin + any(end - begin);

		wrong += !same_symbol(sn_image_symbol_at(p.images[0], at),
				      sn_image_symbol_at(p.images[1], at));
		if (!i) { /* one address has its part read, not all */
			sn_image_symbols(p.images[1], &count);
			CHECK(count > made && count - made < UNNAMED / 2);
		}
	}
	CHECK_INT(wrong, 0);
	for (uint64_t at = begin; at < end; at++) {
		const struct sn_symbol *symbol = sn_image_symbol_at(p.images[0], at);

		in_whole += symbol && symbol->link_addr == at && symbol->kind == SN_SYMBOL_GAP;
	}
	CHECK_INT(in_whole, UNNAMED);
	pair_free(&p);
}

/* As sn_image_gap_cut is defined: the first place of each part that int3 fills up to, if it is in between. */
static uint64_t cut_slowly(const struct sn_image *image, uint64_t after_addr, uint64_t end)
{
	for (uint64_t part = after_addr / SN_GAP_PART_BYTES * SN_GAP_PART_BYTES; part < end;
	     part += SN_GAP_PART_BYTES) {
		size_t available, at = 16;
		const uint8_t *bytes = sn_image_bytes(image, part, &available);

		while (bytes && at < SN_GAP_PART_BYTES && at < available &&
		       (bytes[at] == 0xcc || memcmp(bytes + at - 3, "\xcc\xcc\xcc", 3) != 0))
			at += 16;
		if (bytes && at < SN_GAP_PART_BYTES && at < available && part + at > after_addr &&
		    part + at < end)
			return part + at;
	}
	return end;
}

TEST(cuts_of_a_gap_are_the_first_places_of_their_parts)
{
	struct pair p = { 0 };
	const struct sn_symbol *first;
	unsigned wrong = 0, cuts = 0;
	uint64_t length;

	state = 5;
	REQUIRE(pair_open("/proc/self/exe", &p));
	first = sn_image_symbol_named(p.images[0], "unnamed_first");
	REQUIRE(first);
	length = (uint64_t)(unnamed_end - unnamed_first);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t after = first->link_addr + any(length);
		uint64_t end = after + any(i % 2 ? 200 : 3 * SN_GAP_PART_BYTES);
		uint64_t cut = sn_image_gap_cut(p.images[0], after, end);

		wrong += cut != cut_slowly(p.images[0], after, end);
		cuts += cut != end;
	}
	CHECK_INT(wrong, 0);
	CHECK(cuts > 20);
	pair_free(&p);
}

static void *bytes_of(const char *path, size_t *length)
{
	FILE *in = fopen(path, "r");
	char *bytes = malloc(64 << 20);

	REQUIRE(in && bytes);
	*length = fread(bytes, 1, 64 << 20, in);
	fclose(in);
	unlink(path);
	return bytes;
}

TEST(extracts_are_the_same_to_the_byte)
{
	uint64_t addrs[200];
	size_t lengths[2];
	void *bytes[2];
	struct pair p = { 0 };
	Dl_info libm = { 0 };
	struct sn_error err;

	state = 7;
	REQUIRE(dladdr((void *)(uintptr_t)cos, &libm) && pair_open(libm.dli_fname, &p));
	for (size_t i = 0; i < 200; i++)
		addrs[i] = any_place(p.images[0]);
	for (int i = 0; i < 2; i++) {
		REQUIRE(sn_extract_write(p.structures[i], addrs, 200, NULL, "nearby.extract",
					 &err) == SN_OK);
		bytes[i] = bytes_of("nearby.extract", &lengths[i]);
	}
	CHECK_INT(lengths[0], lengths[1]);
	CHECK(lengths[0] == lengths[1] && !memcmp(bytes[0], bytes[1], lengths[0]));
	free(bytes[0]);
	free(bytes[1]);
	pair_free(&p);
}

/* ---- the index of names in the cache ---- */

static char kept_folder[] = "/tmp/sonde-test-names.XXXXXX";

static struct sn_image *open_with_index(void)
{
	struct sn_image_options options = { .on_demand = true, .unpacked_folder = kept_folder };
	struct sn_image *image;

	REQUIRE(sn_image_open("/proc/self/exe", &options, &image, NULL) == SN_OK);
	return image;
}

static void check_with_index(void)
{
	struct sn_image *whole, *image = open_with_index();
	unsigned wrong = 0;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &whole, NULL) == SN_OK);
	for (int i = 0; i < 200; i++) {
		uint64_t at = any_place(whole);

		wrong += !same_symbol(sn_image_symbol_at(whole, at), sn_image_symbol_at(image, at));
	}
	CHECK_INT(wrong, 0);
	sn_image_free(image);
	sn_image_free(whole);
}

static void index_path(char *path, size_t room)
{
	struct sn_image *image = open_with_index();

	snprintf(path, room, "%s/%s.names", kept_folder, sn_image_id(image));
	sn_image_free(image);
}

static void change_byte(const char *path, long at)
{
	FILE *file = fopen(path, "r+");
	int byte;

	REQUIRE(file && !fseek(file, at, SEEK_SET) && (byte = fgetc(file)) != EOF);
	REQUIRE(!fseek(file, at, SEEK_SET) && fputc(byte ^ 1, file) != EOF && !fclose(file));
}

/* A whole file whose entries lead anywhere: into other tables, beyond their ends, to other symbols. */
TEST(entries_of_another_file_are_left_out)
{
	enum { HEADER = 24, ENTRY = 32, TABLE = 16 };
	static const struct sn_kept_kind kind = { "names", "snnames1" };
	static const uint32_t places[] = { 0, 1, 200, 255, UINT32_MAX };
	struct sn_file_view view;
	struct sn_image *image;
	uint64_t kept_state;
	size_t length, count;
	uint8_t *bytes;
	char path[256];

	state = 11;
	snprintf(kept_folder, sizeof(kept_folder), "/tmp/sonde-test-names.XXXXXX");
	REQUIRE(mkdtemp(kept_folder));
	index_path(path, sizeof(path));
	REQUIRE(sn_file_map(path, &view, NULL) == SN_OK);
	length = sn_kept_length(&view);
	memcpy(&kept_state, view.bytes + length + 8, sizeof(kept_state));
	bytes = malloc(length);
	REQUIRE(bytes);
	memcpy(bytes, view.bytes, length);
	sn_file_unmap(&view);
	for (size_t at = HEADER; at + ENTRY <= length; at += ENTRY)
		for (size_t field = 0; field < 3; field++)
			memcpy(bytes + at + TABLE + 4 * field, &places[any(5)], sizeof(uint32_t));
	sn_kept_write(kept_folder, path, &kind, kept_state, bytes, length);
	image = open_with_index();
	for (size_t at = HEADER; at + ENTRY <= length; at += 7 * ENTRY) {
		const struct sn_symbol *symbol;
		uint64_t link_addr;

		memcpy(&link_addr, bytes + at, sizeof(link_addr));
		symbol = sn_image_symbol_at(image, link_addr);
		CHECK(!symbol || link_addr - symbol->link_addr < symbol->size_bytes);
	}
	sn_image_names(image, &count);
	CHECK(count < 1000); /* most were left out: the file was read */
	sn_image_free(image);
	free(bytes);
	REQUIRE(!unlink(path) && !rmdir(kept_folder));
}

TEST(an_index_that_is_kept_gives_the_same_and_damage_is_seen)
{
	struct stat first, again;
	char path[256];

	state = 3;
	snprintf(kept_folder, sizeof(kept_folder), "/tmp/sonde-test-names.XXXXXX");
	REQUIRE(mkdtemp(kept_folder));
	index_path(path, sizeof(path));
	REQUIRE(!stat(path, &first));
	check_with_index();
	REQUIRE(!stat(path, &again));
	CHECK(first.st_ino == again.st_ino); /* read, not made again */
	for (int part = 0; part < 8; part++) {
		change_byte(path, (long)(first.st_size - 1) * part / 7);
		check_with_index();
	}
	REQUIRE(!truncate(path, first.st_size / 2));
	check_with_index();
	REQUIRE(!stat(path, &again));
	CHECK_INT(again.st_size, first.st_size);
	REQUIRE(!chmod(path, 0) && !unlink(path) && !rmdir(kept_folder));
	snprintf(kept_folder, sizeof(kept_folder), "/proc/nowhere");
	check_with_index();
}
