/* Lines are the same from packed debug sections, from those unpacked, and from those kept. */
#include "code/unpacked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/image.h"
#include "code/structure.h"
#include "harness/tap.h"

__attribute__((noinline, used)) static int looked_at(int x)
{
	return x * 3 + 1;
}
enum { LINE = 14 };

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
	CHECK(sn_unpacked_open(&elf, 1, folder, "x", true, &views[0]) && !views[0].is_mapped);
	sn_file_unmap(&views[0]);
	CHECK(sn_unpacked_open(&elf, 1, folder, "x", true, &views[0]) && views[0].is_mapped);
	CHECK(sn_unpacked_open(&elf, 2, folder, "x", true, &views[1]) && !views[1].is_mapped);
	sn_file_unmap(&views[0]);
	sn_file_unmap(&views[1]);
	sn_elf_view_close(&elf);
	sn_file_unmap(&file);
	clean();
}
