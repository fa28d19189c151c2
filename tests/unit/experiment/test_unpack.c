/* Archives by hand: what is read, what is refused with which words, and that nothing outside is touched. */
#include "experiment/unpack.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "experiment/scratch.h"
#include "experiment/tar.h"
#include "harness/tap.h"

static char place[64]; /* holds "in" and "beside" */

static void enter_new_folder(void)
{
	if (place[0])
		sn_scratch_remove(place);
	snprintf(place, sizeof(place), "/tmp/sonde-test-XXXXXX");
	REQUIRE(mkdtemp(place) && !chdir(place) && !mkdir("in", 0700));
	REQUIRE(close(creat("beside", 0600)) == 0);
}

static size_t entries(const char *folder)
{
	DIR *stream = opendir(folder);
	size_t count = 0;

	REQUIRE(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	return count - 2;
}

static void file_add(struct sn_text *tar, const char *path, const char *text)
{
	size_t length = strlen(text);

	sn_tar_add_header(tar, path, length, false);
	sn_text_add_bytes(tar, text, length);
	for (size_t i = sn_tar_padding(length); i; i--)
		sn_text_add_char(tar, '\0');
}

static void end_add(struct sn_text *tar)
{
	for (int i = 0; i < 2 * SN_TAR_BLOCK; i++)
		sn_text_add_char(tar, '\0');
}

static struct sn_text packed(const struct sn_text *tar)
{
	struct sn_text out = { 0 };
	size_t bound = ZSTD_compressBound(tar->length), length;
	char *bytes = malloc(bound);

	length = ZSTD_compress(bytes, bound, tar->chars, tar->length, 1);
	REQUIRE(!ZSTD_isError(length));
	sn_text_add_bytes(&out, bytes, length);
	free(bytes);
	return out;
}

/* The sentence, or the top folder. The archive lies behind a path that must stay as it was. */
static char *unpacked(struct sn_text tar)
{
	struct sn_text bytes = packed(&tar);
	struct sn_error err = { 0 };
	char *top = NULL;

	if (sn_unpack((const uint8_t *)bytes.chars, bytes.length, "a.sonde", "in", &top, &err) !=
	    SN_OK) {
		CHECK(top == NULL);
		top = strdup(err.sentence);
	}
	CHECK_INT(entries("."), 2);
	CHECK_INT(entries("in") <= 1, 1);
	sn_text_free(&tar);
	sn_text_free(&bytes);
	return top;
}

/* A header whose type is another, its sum made anew. */
static struct sn_text of_type(const char *path, char type)
{
	struct sn_text tar = { 0 };
	unsigned sum = 0;

	sn_tar_add_header(&tar, path, 0, false);
	tar.chars[156] = type;
	memset(tar.chars + 148, ' ', 8);
	for (int i = 0; i < SN_TAR_BLOCK; i++)
		sum += (uint8_t)tar.chars[i];
	snprintf(tar.chars + 148, 8, "%06o", sum);
	end_add(&tar);
	return tar;
}

static struct sn_text one_file(const char *path)
{
	struct sn_text tar = { 0 };

	file_add(&tar, path, "text");
	end_add(&tar);
	return tar;
}

TEST(files_and_folders_come_as_they_were_packed)
{
	struct sn_text tar = { 0 }, name = { 0 };
	struct sn_file_view view;
	struct stat st;

	enter_new_folder();
	sn_text_add(&name, "top/");
	for (int i = 0; i < 60; i++)
		sn_text_add(&name, "long");
	sn_tar_add_header(&tar, "top", 0, true);
	file_add(&tar, name.chars, "first");
	file_add(&tar, "top/a/b/c", "");
	end_add(&tar);
	CHECK_STRING(unpacked(tar), "top");
	REQUIRE(!chdir("in"));
	REQUIRE(sn_file_map(name.chars, &view, NULL) == SN_OK);
	CHECK(view.length == 5 && !memcmp(view.bytes, "first", 5));
	sn_file_unmap(&view);
	REQUIRE(!stat("top/a/b/c", &st));
	CHECK(st.st_size == 0 && (st.st_mode & 07777) == 0600);
}

TEST(equal_members_have_equal_bytes)
{
	struct sn_text a = one_file("top/a"), b = one_file("top/a");

	CHECK(a.length == b.length && !memcmp(a.chars, b.chars, a.length));
	CHECK_INT(a.length, 4 * SN_TAR_BLOCK);
}

TEST(hostile_paths_are_refused)
{
	enter_new_folder();
	CHECK_STRING(unpacked(one_file("/tmp/x")),
		     "the archive 'a.sonde' cannot be read: '/tmp/x' in it is an absolute path");
	CHECK_STRING(
		unpacked(one_file("../beside")),
		"the archive 'a.sonde' cannot be read: '../beside' in it is no path within one "
		"folder");
	CHECK_STRING(
		unpacked(one_file("top/../../beside")),
		"the archive 'a.sonde' cannot be read: 'top/../../beside' in it is no path within "
		"one folder");
	CHECK_STRING(
		unpacked(one_file("top//x")),
		"the archive 'a.sonde' cannot be read: 'top//x' in it is no path within one folder");
	CHECK_STRING(unpacked(of_type("top/link", '2')),
		     "the archive 'a.sonde' cannot be read: 'top/link' in it is a link");
	CHECK_STRING(unpacked(of_type("top/link", '1')),
		     "the archive 'a.sonde' cannot be read: 'top/link' in it is a link");
	CHECK_STRING(unpacked(of_type("top/null", '3')),
		     "the archive 'a.sonde' cannot be read: 'top/null' in it is a device or pipe");
	CHECK_STRING(
		unpacked(of_type("top/sparse", 'S')),
		"the archive 'a.sonde' cannot be read: 'top/sparse' in it is neither a file nor a "
		"folder");
}

TEST(names_are_there_once)
{
	struct sn_text twice = { 0 }, both = { 0 }, two = { 0 };

	enter_new_folder();
	file_add(&twice, "top/a", "1");
	file_add(&twice, "top/a", "2");
	CHECK_STRING(unpacked(twice),
		     "the archive 'a.sonde' cannot be read: 'top/a' is in it twice");
	enter_new_folder();
	file_add(&both, "top/a", "1");
	file_add(&both, "top/a/b", "2");
	CHECK_STRING(unpacked(both),
		     "the archive 'a.sonde' cannot be read: 'top/a/b' is in it twice");
	enter_new_folder();
	file_add(&two, "top/a", "1");
	file_add(&two, "other/a", "2");
	CHECK_STRING(unpacked(two),
		     "the archive 'a.sonde' cannot be read: it holds more than one folder "
		     "('top' and 'other/a')");
}

TEST(sizes_that_cannot_be_are_refused)
{
	struct sn_text tar = { 0 }, zeros = { 0 };
	char *said;

	enter_new_folder();
	sn_tar_add_header(&tar, "top/huge", UINT64_C(1) << 60, false);
	end_add(&tar);
	said = unpacked(tar);
	CHECK(strstr(said, "'top/huge' in it has 1152921504606846976 bytes, and ") != NULL);
	/* a frame of nothing but zeros is an end of tar and padding, as long as anybody can wait */
	enter_new_folder();
	for (int i = 0; i < 80 << 20; i++)
		sn_text_add_char(&zeros, '\0');
	CHECK_STRING(
		unpacked(zeros),
		"the archive 'a.sonde' cannot be read: it unpacks to more than 4096 times its size");
}

TEST(an_archive_cut_anywhere_is_refused)
{
	struct sn_text tar = one_file("top/a"), bytes = packed(&tar);
	struct sn_error err;
	char *top = NULL;

	for (size_t length = 0; length < bytes.length; length++) {
		enter_new_folder();
		CHECK_INT(sn_unpack((const uint8_t *)bytes.chars, length, "a.sonde", "in", &top,
				    &err),
			  SN_ERR_FORMAT);
		CHECK(strstr(err.sentence, "cut short") != NULL);
	}
	enter_new_folder();
	CHECK_STRING(unpacked((struct sn_text){ 0 }),
		     "the archive 'a.sonde' cannot be read: it is cut short; copy it again");
}

TEST(flipped_bits_are_found)
{
	struct sn_text tar = one_file("top/a"), bytes = packed(&tar);
	struct sn_error err;

	for (size_t i = 0; i < bytes.length * 8; i++) {
		char *top = NULL;

		enter_new_folder();
		bytes.chars[i / 8] = (char)(bytes.chars[i / 8] ^ 1 << i % 8);
		err.sentence[0] = '\0';
		if (sn_unpack((const uint8_t *)bytes.chars, bytes.length, "a.sonde", "in", &top,
			      &err) != SN_OK)
			CHECK(err.sentence[0] && !top);
		CHECK_INT(entries("."), 2);
		bytes.chars[i / 8] = (char)(bytes.chars[i / 8] ^ 1 << i % 8);
		free(top);
	}
}

static void archive_write(const char *path, struct sn_text tar)
{
	struct sn_text bytes = packed(&tar);
	FILE *out = fopen(path, "w");

	REQUIRE(out && fwrite(bytes.chars, 1, bytes.length, out) == bytes.length && !fclose(out));
}

TEST(an_archive_is_opened_once_and_its_folder_goes)
{
	const char *folder, *again;
	struct sn_text page = { 0 };
	struct sn_error err;

	enter_new_folder();
	setenv("TMPDIR", place, 1);
	archive_write("x.sonde", one_file("sonde.app.1/launch-key"));
	archive_write("y.sonde", one_file("sonde.app.1/other"));
	CHECK(sn_is_archive("x.sonde") && !sn_is_archive("beside") && !sn_is_archive("in"));
	REQUIRE(sn_archive_open("x.sonde", &folder, &err) == SN_OK);
	CHECK_STRING(sn_base_name(folder), "sonde.app.1");
	REQUIRE(sn_archive_open("./x.sonde", &again, &err) == SN_OK);
	CHECK(folder == again);
	CHECK_STRING(sn_archive_of(folder), "x.sonde");
	CHECK(!sn_archive_of("in"));
	CHECK_INT(sn_archive_refuse(folder, &err), SN_ERR_USAGE);
	CHECK_INT(sn_archive_refuse("in", &err), SN_OK);
	sn_archive_page_path(folder, "report.html", &page);
	CHECK_STRING(page.chars, "x.report.html");
	CHECK_INT(sn_archive_open("y.sonde", &again, &err), SN_ERR_FORMAT);
	CHECK_STRING(err.sentence,
		     "the archive 'y.sonde' holds neither an experiment nor a campaign; sonde "
		     "archive makes one");
	/* in, beside, two archives, the scratch folder with one archive in it */
	CHECK_INT(entries("."), 5);
}
