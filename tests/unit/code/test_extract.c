#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "code/extract.h"
#include "code/image.h"
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
enum { NEST_LINE = 14 };

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
	for (uint32_t i = 0; i < a->loop_count; i++) {
		const struct sn_loop *x = &a->loops[i], *y = &b->loops[i];

		bad += !same_string(x->id, y->id) || !same_string(x->label, y->label) ||
		       x->parent != y->parent || x->depth != y->depth || x->role != y->role ||
		       x->group != y->group || x->unroll != y->unroll ||
		       x->range_count != y->range_count || x->line_first != y->line_first ||
		       x->header_link_addr != y->header_link_addr ||
		       x->exit_count != y->exit_count || x->latch_count != y->latch_count ||
		       memcmp(x->ranges, y->ranges, x->range_count * sizeof(*x->ranges)) != 0;
	}
	return bad;
}

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
	CHECK(inlined > 10);
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
		CHECK(sn_structure_function_count(cached) > (round == 3 ? 2u : 0u));
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
