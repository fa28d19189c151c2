#include "record/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/tap.h"

static struct sn_target target;
static struct sn_error err;

static void write_file(const char *path, const char *bytes, size_t length, mode_t mode)
{
	FILE *out = fopen(path, "w");

	REQUIRE(out && fwrite(bytes, 1, length, out) == length && !fclose(out));
	REQUIRE(!chmod(path, mode));
}

static void enter_new_folder(void)
{
	char folder[] = "/tmp/sonde-test-XXXXXX";

	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

TEST(programs_are_found_as_exec_finds_them)
{
	CHECK_INT(sn_target_find("sh", &target, &err), SN_OK);
	CHECK(strstr(target.path, "/sh") != NULL);
	CHECK_INT(target.kind, SN_TARGET_DYNAMIC);
	CHECK(strstr(target.loader, "/ld") != NULL);
	CHECK_INT(sn_target_find("no-such-program", &target, &err), SN_ERR_NOT_FOUND);
	CHECK_INT(target.exit_code, 127);
	CHECK_INT(sn_target_find("./absent", &target, &err), SN_ERR_NOT_FOUND);
	CHECK_INT(target.exit_code, 127);
	CHECK_INT(sn_target_find("/", &target, &err), SN_ERR_IO);
	CHECK_INT(target.exit_code, 126);
}

TEST(what_is_not_executable_says_so)
{
	enter_new_folder();
	write_file("plain", "x", 1, 0644);
	CHECK_INT(sn_target_find("./plain", &target, &err), SN_ERR_IO);
	CHECK_INT(target.exit_code, 126);
	setenv("PATH", ":/usr/bin", 1);
	CHECK_INT(sn_target_find("plain", &target, &err), SN_ERR_IO);
	CHECK_INT(target.exit_code, 126);
}

TEST(scripts_are_seen_through_to_their_interpreter)
{
	enter_new_folder();
	write_file("good", "#! /bin/sh -e\n", 14, 0755);
	CHECK_INT(sn_target_find("./good", &target, &err), SN_OK);
	CHECK_INT(target.kind, SN_TARGET_DYNAMIC);
	write_file("bad", "#!/no/such\n", 11, 0755);
	CHECK_INT(sn_target_find("./bad", &target, &err), SN_ERR_FORMAT);
	CHECK_INT(target.exit_code, 126);
	write_file("loop", "#!./loop\n", 9, 0755);
	CHECK_INT(sn_target_find("./loop", &target, &err), SN_ERR_FORMAT);
	write_file("bare", "echo hi\n", 8, 0755);
	CHECK_INT(sn_target_find("./bare", &target, &err), SN_OK);
}

TEST(foreign_and_static_programs_are_known)
{
	char elf[64] = "\x7f"
		       "ELF\x01\x01\x01";

	enter_new_folder();
	write_file("elf32", elf, sizeof(elf), 0755);
	CHECK_INT(sn_target_find("./elf32", &target, &err), SN_OK);
	CHECK_INT(target.kind, SN_TARGET_FOREIGN);
	elf[4] = 2;
	elf[18] = 62;
	write_file("elf64", elf, sizeof(elf), 0755);
	CHECK_INT(sn_target_find("./elf64", &target, &err), SN_OK);
	CHECK_INT(target.kind, SN_TARGET_STATIC);
}
