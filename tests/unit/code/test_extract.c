#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "code/extract.h"
#include "code/extract_format.h"
#include "code/image.h"
#include "code/loop_columns.h"
#include "code/structure.h"
#include "harness/tap.h"

/* something to find in this very program: a loop nest on known lines */
__attribute__((noinline, used)) static int nest(int rows, int columns)
{
	int sum = 0;

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			sum += i ^ k;
	return sum;
}
enum { NEST_LINE = 18 };

static struct sn_image *image;
static struct sn_structure *live;
static char path[64];

static const struct sn_function *function_named(struct sn_structure *structure, const char *name)
{
	for (size_t i = 0; i < sn_structure_function_count(structure); i++)
		if (!strcmp(sn_structure_function(structure, i)->name, name))
			return sn_structure_function(structure, i);
	return NULL;
}

static void open_self(void)
{
	REQUIRE(sn_image_open("/proc/self/exe", NULL, &image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(image, &live, NULL) == SN_OK);
	snprintf(path, sizeof(path), "/tmp/sonde-test-extract.%d", (int)getpid());
}

static struct sn_structure *through_file(const uint64_t *addrs, size_t count, bool with_source)
{
	struct sn_extract_options options = { .with_source = with_source };
	struct sn_structure *back = NULL;
	struct sn_error err = { 0 };

	REQUIRE(sn_extract_write(live, addrs, count, &options, path, &err) == SN_OK);
	REQUIRE(sn_extract_read(path, &back, &err) == SN_OK);
	return back;
}

static bool same_string(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

/* All attributes that tables of loops have, as JSON: also those that an extract does not store. The
 * caller frees it. */
static char *loop_columns(const struct sn_loop *loop)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	struct sn_json json = { .out = out };

	REQUIRE(out);
	sn_json_object(&json);
	sn_loop_columns_write(loop, loop->function->name, &json);
	sn_json_close(&json);
	sn_json_finish(&json);
	fclose(out);
	return text;
}

static bool same_ranges(const struct sn_loop *a, const struct sn_loop *b)
{
	return a->range_count == b->range_count &&
	       !memcmp(a->ranges, b->ranges, a->range_count * sizeof(*a->ranges));
}

#define SAME_INDEX(member)   (a->member == b->member)
#define SAME_UINT(member)    (a->member == b->member)
#define SAME_ADDRESS(member) (a->member == b->member)
#define SAME_STRING(member)  same_string(a->member, b->member)
#define SAME_RANGES(member)  same_ranges(a, b)
#define SAME_FLAGS(member)                                                                         \
	(a->is_innermost == b->is_innermost && a->is_irreducible == b->is_irreducible)

/* By the lists that an attribute joins: nothing to add here for a new one. */
static int loop_differences(const struct sn_loop *a, const struct sn_loop *b)
{
	char *of_a = loop_columns(a), *of_b = loop_columns(b);
	int bad = strcmp(of_a, of_b) != 0;

#define DIFFERS(how, member, bound) bad += !SAME_##how(member);
	SN_EXTRACT_LOOP(DIFFERS)
#undef DIFFERS
	if (bad)
		printf("# %s\n# %s\n", of_a, of_b);
	free(of_a);
	free(of_b);
	return bad;
}

static int function_differences(const struct sn_function *a, const struct sn_function *b)
{
	int bad = 0;

	bad += !same_string(a->name, b->name) || !same_string(a->linkage_name, b->linkage_name);
	bad += a->kind != b->kind || a->link_addr != b->link_addr || a->size_bytes != b->size_bytes;
	bad += !same_string(a->file, b->file) || a->line != b->line;
	bad += a->range_count != b->range_count || a->line_count != b->line_count ||
	       a->inline_count != b->inline_count || a->block_count != b->block_count ||
	       a->successor_count != b->successor_count || a->loop_count != b->loop_count ||
	       a->never_returns != b->never_returns || !a->unit != !b->unit;
	if (bad)
		return bad;
	bad += memcmp(a->ranges, b->ranges, a->range_count * sizeof(*a->ranges)) != 0;
	bad += memcmp(a->blocks, b->blocks, a->block_count * sizeof(*a->blocks)) != 0;
	bad += memcmp(a->successors, b->successors, a->successor_count * sizeof(uint32_t)) != 0;
	for (uint32_t i = 0; i < a->line_count; i++)
		bad += a->lines[i].link_addr != b->lines[i].link_addr ||
		       a->lines[i].line != b->lines[i].line ||
		       a->lines[i].column != b->lines[i].column ||
		       a->lines[i].inline_index != b->lines[i].inline_index ||
		       !same_string(a->lines[i].file, b->lines[i].file);
	for (uint32_t i = 0; i < a->inline_count; i++)
		bad += !same_string(a->inlines[i].name, b->inlines[i].name) ||
		       a->inlines[i].parent != b->inlines[i].parent ||
		       a->inlines[i].call_line != b->inlines[i].call_line ||
		       !same_string(a->inlines[i].call_file, b->inlines[i].call_file);
	for (uint32_t i = 0; i < a->loop_count; i++)
		bad += loop_differences(&a->loops[i], &b->loops[i]);
	return bad;
}

/* What this program itself looks like: only if it is optimised is there something inlined, and calls of
 * the C library that go to stubs. */
#ifdef __OPTIMIZE__
enum { IS_OPTIMIZED = true };
#else
enum { IS_OPTIMIZED = false };
#endif

TEST(every_function_of_this_program_comes_back_the_same)
{
	size_t count;
	uint64_t *addrs;
	struct sn_structure *back;
	int bad = 0, loops = 0, inlined = 0;

	open_self();
	count = sn_structure_function_count(live);
	addrs = calloc(count, sizeof(*addrs));
	for (size_t i = 0; i < count; i++)
		addrs[i] = sn_structure_function(live, i)->link_addr;
	back = through_file(addrs, count, false);
	CHECK_INT(sn_structure_function_count(back), count);
	for (size_t i = 0; i < count; i++) {
		const struct sn_function *a = sn_structure_function(live, i);
		const struct sn_function *b = sn_structure_function_at(back, a->link_addr);
		size_t a_left, b_left;

		bad += !b || function_differences(a, b);
		loops += (int)a->loop_count;
		inlined += (int)a->inline_count;
		bad += memcmp(sn_structure_bytes(live, a->link_addr, &a_left),
			      sn_structure_bytes(back, a->link_addr, &b_left),
			      b->ranges[0].end_link_addr - b->link_addr) != 0;
	}
	CHECK_INT(bad, 0);
	CHECK(loops > 100);
	CHECK(inlined > 10 || !IS_OPTIMIZED);
	CHECK_STRING(sn_structure_id(back), sn_structure_id(live));
	unlink(path);
	free(addrs);
}

TEST(a_live_structure_and_its_extract_locate_alike)
{
	const struct sn_function *function;
	static struct sn_location a, b;
	struct sn_structure *back;
	int in_loops = 0;

	open_self();
	function = function_named(live, "nest");
	REQUIRE(function);
	back = through_file(&function->link_addr, 1, true);
	CHECK_INT(sn_structure_function_count(back), 1);
	for (uint64_t at = function->link_addr; at < function->link_addr + function->size_bytes;
	     at++) {
		REQUIRE(sn_structure_locate(live, at, &a) && sn_structure_locate(back, at, &b));
		CHECK_INT(a.frame_count, b.frame_count);
		CHECK_STRING(a.frames[0].name, b.frames[0].name);
		CHECK_INT(a.frames[0].line, b.frames[0].line);
		CHECK(!a.loop == !b.loop);
		if (a.loop)
			CHECK_STRING(a.loop->id, b.loop->id);
		in_loops += a.loop != NULL;
	}
	CHECK(in_loops > 5);
	CHECK(!sn_structure_locate(back, function->link_addr + function->size_bytes + 4096, &b));
	unlink(path);
}

TEST(source_travels_with_it)
{
	const struct sn_function *function;
	struct sn_structure *back;
	const char *text;
	size_t length;

	open_self();
	function = function_named(live, "nest");
	REQUIRE(function);
	sn_function_prepare(live, function, SN_PREPARE_ALL);
	if (!function->file || access(function->file, R_OK))
		SKIP("the program has no debug information, or its source is not there");
	CHECK(function->line == NEST_LINE);
	back = through_file(&function->link_addr, 1, true);
	text = sn_structure_source(back, function->file, &length);
	REQUIRE(text);
	CHECK(strstr(text, "a loop nest on known lines") != NULL);
	CHECK_INT(strlen(text), length);
	CHECK(sn_structure_source(back, "/no/such/file.c", &length) == NULL);
	unlink(path);
}

TEST(damage_is_an_error_never_a_crash)
{
	const struct sn_function *function;
	struct sn_file_view file;
	struct sn_structure *back;
	uint8_t *copy;
	int accepted = 0;

	open_self();
	function = function_named(live, "nest");
	REQUIRE(function);
	REQUIRE(sn_extract_write(live, &function->link_addr, 1, NULL, path, NULL) == SN_OK);
	REQUIRE(sn_file_map(path, &file, NULL) == SN_OK);
	for (size_t length = 0; length < file.length; length++)
		accepted += sn_extract_read_memory(file.bytes, length, "cut", &back, NULL) == SN_OK;
	copy = malloc(file.length);
	memcpy(copy, file.bytes, file.length);
	for (size_t bit = 0; bit < file.length * 8; bit++) {
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		accepted += sn_extract_read_memory(copy, file.length, "flip", &back, NULL) == SN_OK;
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CHECK_INT(accepted, 0);
	free(copy);
	sn_file_unmap(&file);
	unlink(path);
}

/* ---- versions ---- */

/* An extract of one function at 0x40 with one loop, byte by byte as docs/format/extract.md has it.
 * `length` is that of the loop's record, -1: none (version 1); `extra` bytes follow its members. */
struct made_extract {
	uint8_t payload[128], file[512];
	size_t payload_bytes, file_bytes;
};

static void made_add(struct made_extract *to, const void *bytes, size_t count)
{
	REQUIRE(to->payload_bytes + count <= sizeof(to->payload));
	memcpy(to->payload + to->payload_bytes, bytes, count);
	to->payload_bytes += count;
}

static void extract_make(struct made_extract *to, uint64_t version, int length, int extra)
{
	static const uint8_t head[] = { 4,    2,   'i', 'd', 4,	  '/', 'b', '/', 'p',
					1,    'f', 6,	'a', '.', 'c', ':', '4', '1', /* strings */
					1,    2,   0,	0,   0, /* identity, path, three without */
					0x40, 1 };		/* link base; one function */
	static const uint8_t function[] = { 0, 3, 3,  3, 0,	/* its names; at the link base */
					    1, 0, 32,		/* 32 bytes from there */
					    0, 0, 0,  0,	/* no file, no lines, no unit */
					    0, 0, 0,  1 };	/* one loop */
	static const uint8_t loop[18 + 2] = {
		0,  1, 1,	  /* outermost, depth 1, innermost */
		16, 1, 16, 12,	  /* header at 0x48, 12 bytes from there */
		2,  7, 1,  1,	  /* blocks, instructions, ... */
		0,  0, 0,  0,  4, /* no file, line, inlining; label */
		0,  0, 8,  32
	}; /* main, itself, 8 times, 32 bytes */
	static const uint8_t more[] = { 9, 0x81, 1, 3 };
	static const uint8_t tail[] = { 0, 0, 0, 0 }; /* no code, units, sources, misses */
	uint64_t fields[5] = { 0, version };
	size_t packed;

	to->payload_bytes = 0;
	made_add(to, head, sizeof(head));
	made_add(to, function, sizeof(function));
	if (length >= 0)
		made_add(to, &(uint8_t){ (uint8_t)length }, 1);
	made_add(to, loop, sizeof(loop));
	made_add(to, more, (size_t)extra);
	made_add(to, tail, sizeof(tail));
	packed = ZSTD_compress(to->file + sizeof(fields), sizeof(to->file) - sizeof(fields),
			       to->payload, to->payload_bytes, 1);
	REQUIRE(!ZSTD_isError(packed));
	memcpy(fields, SN_EXTRACT_MAGIC, 8);
	fields[2] = to->payload_bytes;
	fields[3] = packed;
	fields[4] = sn_extract_hash(version, to->payload_bytes, packed, to->file + sizeof(fields));
	memcpy(to->file, fields, sizeof(fields));
	to->file_bytes = sizeof(fields) + packed;
}

static sn_status made_read(uint64_t version, int length, int extra, struct sn_structure **out,
			   struct sn_error *err)
{
	static struct made_extract made;

	extract_make(&made, version, length, extra);
	return sn_extract_read_memory(made.file, made.file_bytes, "made", out, err);
}

enum { LOOP_BYTES = 20 };

static void check_made(struct sn_structure *structure)
{
	const struct sn_function *function = sn_structure_function_at(structure, 0x40);

	REQUIRE(function && function->loop_count == 1);
	CHECK_STRING(function->name, "f");
	CHECK_STRING(function->loops[0].label, "a.c:41");
	CHECK_INT(function->loops[0].header_link_addr, 0x48);
	CHECK_INT(function->loops[0].parent, -1);
	CHECK_INT(function->loops[0].instruction_count, 7);
	CHECK_INT(function->loops[0].unroll, 8);
	CHECK_INT(function->loops[0].vector_bytes, 32);
	sn_structure_free(structure);
}

TEST(an_extract_of_version_1_is_read)
{
	struct sn_structure *structure;

	REQUIRE(made_read(1, -1, 0, &structure, NULL) == SN_OK);
	check_made(structure);
}

TEST(attributes_of_loops_that_are_not_known_are_skipped)
{
	struct sn_structure *structure;

	for (int extra = 0; extra <= 4; extra++) {
		REQUIRE(made_read(2, LOOP_BYTES + extra, extra, &structure, NULL) == SN_OK);
		check_made(structure);
	}
}

TEST(a_loop_without_the_members_that_all_have_is_damage)
{
	struct sn_structure *structure;
	struct sn_error err;

	for (int length = 0; length < LOOP_BYTES; length++)
		CHECK_INT(made_read(2, length, 0, &structure, &err), SN_ERR_FORMAT);
	CHECK_INT(made_read(2, 127, 0, &structure, &err), SN_ERR_FORMAT);
}

TEST(a_newer_version_is_refused_with_a_word)
{
	struct sn_structure *structure;
	struct sn_error err;

	CHECK_INT(made_read(SN_EXTRACT_VERSION + 1, LOOP_BYTES, 0, &structure, &err),
		  SN_ERR_UNSUPPORTED);
	CHECK(strstr(err.sentence, "newer than this sonde reads") != NULL);
	CHECK_INT(made_read(0, LOOP_BYTES, 0, &structure, &err), SN_ERR_FORMAT);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t own_functions(const struct sn_structure *structure)
{
	size_t count = 0;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++)
		count += sn_structure_function(structure, i)->kind != SN_FUNCTION_PLT;
	return count;
}

TEST(the_cache_answers_as_the_module_does_and_survives_damage)
{
	char folder[64] = "/tmp/sonde-test-cache.XXXXXX", file[256];
	const struct sn_function *function;
	struct sn_structure *cached = NULL;
	uint64_t addrs[2];
	FILE *out;

	open_self();
	REQUIRE(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	function = function_named(live, "nest");
	REQUIRE(function);
	sn_function_prepare(live, function, SN_PREPARE_ALL);
	addrs[0] = function->link_addr + 3;
	addrs[1] = 1; /* in no function */
	for (int round = 0; round < 4; round++) {
		double begun = seconds();
		const struct sn_function *found;

		REQUIRE(sn_structure_open_cached("/proc/self/exe", NULL, addrs, 2, &cached, NULL) ==
			SN_OK);
		printf("# round %d: %.1f ms\n", round, (seconds() - begun) * 1e3);
		found = sn_structure_function_at(cached, addrs[0]);
		REQUIRE(found);
		CHECK_INT(function_differences(function, found), 0);
		CHECK_INT(own_functions(cached), round == 3 ? 2 : 1);
		/* what main calls of the C library comes with it, as "name@plt" */
		CHECK(sn_structure_function_count(cached) > (round == 3 ? 2u : 0u) ||
		      !IS_OPTIMIZED);
		sn_structure_free(cached);
		snprintf(file, sizeof(file), "%s/sonde/extracts/%s.extract", folder,
			 sn_structure_id(live));
		CHECK(access(file, R_OK) == 0);
		if (round == 1) { /* damage */
			out = fopen(file, "r+");
			REQUIRE(out);
			fseek(out, 50, SEEK_SET);
			fputc(0x55, out);
			fputc(0xaa, out);
			fclose(out);
		}
		if (round == 2) /* a function that it does not have */
			addrs[1] = function_named(live, "main")->link_addr;
	}
	/* a place that cannot be written: the answer is there all the same */
	setenv("XDG_CACHE_HOME", "/proc/no-such-place", 1);
	REQUIRE(sn_structure_open_cached("/proc/self/exe", NULL, addrs, 1, &cached, NULL) == SN_OK);
	CHECK(sn_structure_function_at(cached, addrs[0]) != NULL);
	sn_structure_free(cached);
	unlink(file);
	snprintf(file, sizeof(file), "%s/sonde/extracts", folder);
	rmdir(file);
	snprintf(file, sizeof(file), "%s/sonde", folder);
	rmdir(file);
	rmdir(folder);
}

static char *bytes_of(const char *file, size_t *length)
{
	struct sn_file_view view;
	char *copy;

	REQUIRE(sn_file_map(file, &view, NULL) == SN_OK);
	*length = view.length;
	copy = malloc(view.length + 1);
	REQUIRE(copy);
	memcpy(copy, view.bytes, view.length);
	sn_file_unmap(&view);
	return copy;
}

static void folder_remove(const char *folder)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	REQUIRE(system(command) == 0);
}

/* Nothing in the cache, some of it, all of it, more than is wanted: the extract is the same. */
TEST(what_comes_through_the_cache_is_what_the_module_gives)
{
	static const char *const names[] = { "nest", "tap_check_string", "sn_structure_find",
					     "main" };
	char folder[64] = "/tmp/sonde-test-cache.XXXXXX", through[128];
	struct sn_extract_options options = { .with_source = true };
	uint64_t addrs[4];

	open_self();
	REQUIRE(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	snprintf(through, sizeof(through), "%s/through", folder);
	for (int i = 0; i < 4; i++) {
		REQUIRE(function_named(live, names[i]));
		addrs[i] = function_named(live, names[i])->link_addr + 1;
	}
	for (int round = 0; round < 6; round++) {
		static const size_t first[] = { 0, 0, 2, 0, 0, 3 }, counts[] = { 1, 2, 1, 4, 4, 1 };
		struct sn_module_code *code;
		size_t length, want_length;
		char *got, *want;

		REQUIRE(sn_extract_write(live, addrs + first[round], counts[round], &options, path,
					 NULL) == SN_OK);
		/* as opened: the path stands in the extract */
		REQUIRE(sn_module_code_open("/proc/self/exe", NULL, addrs + first[round],
					    counts[round], &code, NULL) == SN_OK);
		CHECK_STRING(sn_module_code_id(code), sn_structure_id(live));
		REQUIRE(sn_module_code_write(code, &options, through, NULL) == SN_OK);
		sn_module_code_free(code);
		want = bytes_of(path, &want_length);
		got = bytes_of(through, &length);
		CHECK(length == want_length && !memcmp(got, want, length));
		free(got);
		free(want);
	}
	unlink(path);
	folder_remove(folder);
}

/* Writes an extract through the cache and compares it with that of the module. */
static void check_through(const uint64_t *addrs, size_t count, const char *through)
{
	struct sn_module_code *code;
	size_t length, want_length;
	char *got, *want;

	REQUIRE(sn_extract_write(live, addrs, count, NULL, path, NULL) == SN_OK);
	REQUIRE(sn_module_code_open("/proc/self/exe", NULL, addrs, count, &code, NULL) == SN_OK);
	REQUIRE(sn_module_code_write(code, NULL, through, NULL) == SN_OK);
	sn_module_code_free(code);
	want = bytes_of(path, &want_length);
	got = bytes_of(through, &length);
	CHECK(length == want_length && !memcmp(got, want, length));
	free(got);
	free(want);
}

/* What is new is appended, up to a number of times; an end that is cut short is put right. */
TEST(the_cache_file_grows_and_a_cut_end_is_replaced)
{
	char folder[64] = "/tmp/sonde-test-cache.XXXXXX", through[128], file[256];
	struct stat first, grown, again;
	uint64_t addrs[40];
	size_t count = 0;

	open_self();
	REQUIRE(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	snprintf(through, sizeof(through), "%s/through", folder);
	snprintf(file, sizeof(file), "%s/sonde/extracts/%s.extract", folder, sn_structure_id(live));
	for (size_t i = 0; i < sn_structure_function_count(live) && count < 40; i++)
		if (sn_structure_function(live, i)->kind == SN_FUNCTION_SYMBOL)
			addrs[count++] = sn_structure_function(live, i)->link_addr;
	REQUIRE(count == 40);
	check_through(addrs, 1, through);
	REQUIRE(!stat(file, &first));
	check_through(addrs + 1, 1, through);
	REQUIRE(!stat(file, &grown));
	CHECK(grown.st_ino == first.st_ino && grown.st_size > first.st_size);
	check_through(addrs, 2, through);
	REQUIRE(!stat(file, &again));
	CHECK(again.st_size == grown.st_size);
	REQUIRE(!truncate(file, grown.st_size - 1));
	check_through(addrs, 3, through);
	REQUIRE(!stat(file, &again));
	CHECK(again.st_ino != first.st_ino);
	for (size_t i = 3; i < count; i++)
		check_through(addrs, i + 1, through);
	check_through(addrs, count, through);
	unlink(path);
	folder_remove(folder);
}
