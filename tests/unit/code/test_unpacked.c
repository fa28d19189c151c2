/* Lines are the same from packed debug sections, from those unpacked, and from those kept. */
#include "code/unpacked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/image_parts.h"
#include "code/info_prefix.h"
#include "code/structure.h"
#include "harness/tap.h"

__attribute__((noinline, used)) static int looked_at(int x)
{
	return x * 3 + 1;
}
enum { LINE = 15 };

static char folder[] = "/tmp/sonde-test-unpacked-XXXXXX";
static char program[128];

/* This program with packed sections; false: nothing here packs them. */
static bool pack(void)
{
	char command[512];

	REQUIRE(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/packed", folder);
	snprintf(command, sizeof(command),
		 "objcopy --compress-debug-sections=zlib /proc/%d/exe %s 2>/dev/null",
		 (int)getpid(), program);
	return system(command) == 0;
}

static void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	REQUIRE(system(command) == 0);
}

/* The line of looked_at, found with debug sections kept in `kept`. */
static uint32_t line_found_with(const char *kept, bool keeps_nothing)
{
	struct sn_image_options options = { .unpacked_folder = kept,
					    .keeps_nothing = keeps_nothing };
	struct sn_structure *structure;
	struct sn_image *image;
	uint32_t line = 0;

	REQUIRE(sn_image_open(program, &options, &image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(image, &structure, NULL) == SN_OK);
	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *function = sn_structure_function(structure, i);

		if (strcmp(function->name, "looked_at") != 0)
			continue;
		sn_function_prepare(structure, function, SN_PREPARE_LINES);
		line = function->line;
	}
	sn_structure_free(structure);
	sn_image_free(image);
	return line;
}

static uint32_t line_found(const char *kept)
{
	return line_found_with(kept, false);
}

/* The one file of a kind in a folder. */
static void path_of_kept(const char *kept, const char *ending, char *path, size_t room)
{
	char command[256];
	FILE *names;

	snprintf(command, sizeof(command), "echo %s/*.%s", kept, ending);
	names = popen(command, "r");
	REQUIRE(names && fgets(path, (int)room, names));
	path[strcspn(path, "\n")] = 0;
	pclose(names);
}

static void flip_byte(const char *path, long at)
{
	FILE *file = fopen(path, "r+");
	int byte;

	REQUIRE(file && !fseek(file, at, SEEK_SET) && (byte = fgetc(file)) != EOF);
	REQUIRE(!fseek(file, at, SEEK_SET) && fputc(byte ^ 1, file) != EOF && !fclose(file));
}

/* All ways in which a kept file may be wrong, and what is made of it then: the same. */
static void check_damage(const char *kept, const char *path)
{
	struct stat first, again;

	REQUIRE(!stat(path, &first));
	CHECK_INT(line_found(kept), LINE);
	REQUIRE(!stat(path, &again));
	CHECK(first.st_ino == again.st_ino); /* read, not made again */
	for (int part = 0; part < 8; part++) {
		flip_byte(path, (long)(first.st_size - 1) * part / 7);
		CHECK_INT(line_found(kept), LINE);
	}
	REQUIRE(!truncate(path, first.st_size / 2));
	CHECK_INT(line_found(kept), LINE);
	REQUIRE(!truncate(path, 0));
	CHECK_INT(line_found(kept), LINE);
	REQUIRE(!stat(path, &again));
	CHECK_INT(again.st_size, first.st_size);
}

TEST(kept_sections_give_the_same_lines_and_damage_is_seen)
{
	char kept[128], path[256];

	if (!pack()) {
		clean();
		SKIP("there is no objcopy to pack sections with");
	}
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	CHECK_INT(line_found(NULL), LINE);
	CHECK_INT(line_found_with(kept, true), LINE);
	CHECK(access(kept, F_OK) != 0);
	CHECK_INT(line_found(kept), LINE);
	path_of_kept(kept, "debug", path, sizeof(path));
	check_damage(kept, path);
	CHECK_INT(line_found("/proc/nowhere"), LINE);
	clean();
}

/* Of this program's own debug information, which nothing packs. */
TEST(kept_units_give_the_same_lines_and_damage_is_seen)
{
	char kept[128], path[256];

	REQUIRE(mkdtemp(folder));
	snprintf(program, sizeof(program), "/proc/self/exe");
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	CHECK_INT(line_found(NULL), LINE);
	CHECK_INT(line_found_with(kept, true), LINE);
	CHECK(access(kept, F_OK) != 0);
	CHECK_INT(line_found(kept), LINE);
	path_of_kept(kept, "units", path, sizeof(path));
	check_damage(kept, path);
	CHECK_INT(line_found("/proc/nowhere"), LINE);
	clean();
}

TEST(another_state_is_made_anew)
{
	struct sn_file_view file, views[2];
	struct sn_elf_view elf;

	if (!pack()) {
		clean();
		SKIP("there is no objcopy to pack sections with");
	}
	REQUIRE(sn_file_map(program, &file, NULL) == SN_OK);
	REQUIRE(sn_elf_view_open(file.bytes, file.length, program, &elf, NULL) == SN_OK);
	CHECK(sn_unpacked_open(&elf, 1, folder, "x", NULL, &views[0]) && !views[0].is_mapped);
	sn_file_unmap(&views[0]);
	CHECK(sn_unpacked_open(&elf, 1, folder, "x", NULL, &views[0]) && views[0].is_mapped);
	CHECK(sn_unpacked_open(&elf, 2, folder, "x", NULL, &views[1]) && !views[1].is_mapped);
	sn_file_unmap(&views[0]);
	sn_file_unmap(&views[1]);
	sn_elf_view_close(&elf);
	sn_file_unmap(&file);
	clean();
}

/* A structure of the packed program from which nothing is kept, and one of all of it. */
struct two {
	struct sn_image *images[2];
	struct sn_structure *structures[2];
};

static void two_open(struct two *two)
{
	static const struct sn_image_options options[2] = {
		{ .unpacked_folder = "/proc/nowhere", .keeps_nothing = true }, { 0 }
	};

	for (int i = 0; i < 2; i++) {
		REQUIRE(sn_image_open(program, &options[i], &two->images[i], NULL) == SN_OK);
		REQUIRE(sn_structure_open(two->images[i], &two->structures[i], NULL) == SN_OK);
	}
}

static void two_close(struct two *two)
{
	for (int i = 0; i < 2; i++) {
		sn_structure_free(two->structures[i]);
		sn_image_free(two->images[i]);
	}
}

static bool two_agree(struct two *two, size_t number)
{
	const struct sn_function *functions[2];
	bool agree;

	for (int i = 0; i < 2; i++) {
		functions[i] = sn_structure_function(two->structures[i], number);
		sn_function_prepare(two->structures[i], functions[i], SN_PREPARE_LINES);
	}
	agree = functions[0]->line == functions[1]->line &&
		!functions[0]->file == !functions[1]->file &&
		!functions[0]->unit == !functions[1]->unit &&
		functions[0]->line_count == functions[1]->line_count &&
		functions[0]->inline_count == functions[1]->inline_count;
	for (uint32_t i = 0; agree && i < functions[0]->line_count; i++)
		agree = functions[0]->lines[i].line == functions[1]->lines[i].line &&
			functions[0]->lines[i].link_addr == functions[1]->lines[i].link_addr;
	return agree;
}

/* One function needs a part of the units; then others need more. Each is what it is with all of them. */
TEST(lines_from_a_part_of_the_units_are_those_from_all)
{
	unsigned wrong = 0, parts = 0;
	size_t count;
	struct two two;

	if (!pack()) {
		clean();
		SKIP("there is no objcopy to pack sections with");
	}
	two_open(&two);
	count = sn_structure_function_count(two.structures[1]);
	two_close(&two);
	for (size_t first = 0; first < count; first += count / 20) {
		two_open(&two);
		wrong += !two_agree(&two, first);
		parts += two.images[0]->has_dwarf_part;
		for (size_t i = 0; i < count; i += count / 40)
			wrong += !two_agree(&two, i);
		two_close(&two);
	}
	CHECK_INT(wrong, 0);
	CHECK(parts > 0);
	clean();
}

/* Sets of two units: [0x1000, 0x1100) at 0, and [0x2000, 0x2080) and [0x3000, 0x3001) at 0x50. */
TEST(the_units_of_addresses_end_where_the_next_begins)
{
	static const uint64_t first[] = { 0x1000, 0x10ff }, second[] = { 0x1000, 0x3000 },
			      none[] = { 0x1000, 0x1100 };
	uint8_t sets[48 + 64] = { 44, 0, 0, 0, 2, 0, 0, 0, 0, 0, 8, 0 };

	memcpy(sets + 16, (uint64_t[]){ 0x1000, 0x100 }, 16);
	memcpy(sets + 48, (uint8_t[]){ 60, 0, 0, 0, 2, 0, 0x50, 0, 0, 0, 8, 0 }, 12);
	memcpy(sets + 64, (uint64_t[]){ 0x2000, 0x80, 0x3000, 1 }, 32);
	CHECK_INT(sn_info_prefix(sets, sizeof(sets), first, 2), 0x50);
	CHECK_INT(sn_info_prefix(sets, sizeof(sets), second, 2), 0); /* the last */
	CHECK_INT(sn_info_prefix(sets, sizeof(sets), none, 2), 0);
	CHECK_INT(sn_info_prefix(sets, sizeof(sets), first, 0), 0);
	for (size_t cut = 1; cut < sizeof(sets); cut++)
		CHECK(cut == 48 || !sn_info_prefix(sets, cut, first, 2));
	sets[4] = 3; /* another version */
	CHECK_INT(sn_info_prefix(sets, sizeof(sets), first, 2), 0);
}
