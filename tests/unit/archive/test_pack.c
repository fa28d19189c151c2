/* What is packed comes out again, and the same members make the same file. */
#include "archive/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "experiment/scratch.h"
#include "experiment/unpack.h"
#include "harness/tap.h"

static void pack(const char *path, const char *big, size_t big_length)
{
	struct sn_error err;
	struct sn_pack *made;
	uint64_t bytes;
	size_t files;

	REQUIRE(sn_pack_open(path, &made, &err) == SN_OK);
	sn_pack_folder(made, "top");
	sn_pack_file(made, "top/a", "first", 5);
	sn_pack_file(made, "top/empty", NULL, 0);
	sn_pack_file(made, "top/big", big, big_length);
	sn_pack_count(made, &files, &bytes);
	CHECK_INT(files, 3);
	CHECK_INT(bytes, 5 + big_length);
	REQUIRE(sn_pack_commit(made, &err) == SN_OK);
}

static bool is_same(const char *path, const char *bytes, size_t length)
{
	struct sn_file_view view;
	bool is_same;

	if (sn_file_map(path, &view, NULL) != SN_OK)
		return false;
	is_same = view.length == length && !memcmp(view.bytes, bytes, length);
	sn_file_unmap(&view);
	return is_same;
}

TEST(what_is_packed_comes_out)
{
	char folder[] = "/tmp/sonde-test-XXXXXX", *top = NULL;
	static char big[700001];
	struct sn_file_view view;
	struct sn_error err;

	REQUIRE(mkdtemp(folder) && !chdir(folder) && !mkdir("in", 0700));
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * i >> 7);
	pack("a.sonde", big, sizeof(big));
	pack("b.sonde", big, sizeof(big));
	REQUIRE(sn_file_map("a.sonde", &view, &err) == SN_OK);
	CHECK(is_same("b.sonde", (const char *)view.bytes, view.length));
	CHECK_INT(sn_unpack(view.bytes, view.length, "a.sonde", "in", &top, &err), SN_OK);
	CHECK_STRING(top, "top");
	CHECK(is_same("in/top/a", "first", 5));
	CHECK(is_same("in/top/empty", "", 0));
	CHECK(is_same("in/top/big", big, sizeof(big)));
	sn_file_unmap(&view);
	sn_scratch_remove(folder);
}

TEST(an_abandoned_file_is_not_there)
{
	char folder[] = "/tmp/sonde-test-XXXXXX";
	struct sn_error err;
	struct sn_pack *made;

	REQUIRE(mkdtemp(folder) && !chdir(folder));
	REQUIRE(sn_pack_open("a.sonde", &made, &err) == SN_OK);
	sn_pack_file(made, "top/a", "first", 5);
	sn_pack_abandon(made);
	CHECK(access("a.sonde", F_OK) != 0);
	CHECK_INT(sn_pack_open("none/a.sonde", &made, &err), SN_ERR_NOT_FOUND);
	sn_scratch_remove(folder);
}
