#include "profile/structures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/image.h"
#include "harness/tap.h"
#include "profile/profile.h"

/* something to find in this very program */
__attribute__((noinline, used)) static int rounds(int count)
{
	volatile int sum = 0;

	for (int i = 0; i < count; i++)
		sum += i;
	return sum;
}

/* The entry of the function of this name in this very program. */
static uint64_t own_function(const char *name)
{
	struct sn_structure *structure;
	struct sn_image *image;
	uint64_t found = 0;

	REQUIRE(sn_image_open("/proc/self/exe", NULL, &image, NULL) == SN_OK);
	REQUIRE(sn_structure_open(image, &structure, NULL) == SN_OK);
	for (size_t i = 0; i < sn_structure_function_count(structure); i++)
		if (!strcmp(sn_structure_function(structure, i)->name, name))
			found = sn_structure_function(structure, i)->link_addr;
	sn_structure_free(structure);
	sn_image_free(image);
	REQUIRE(found != 0);
	return found;
}

/* The first loop of the function there. */
static const struct sn_loop *first_loop(struct sn_structures *structures, uint64_t link_addr)
{
	struct sn_structure *structure = sn_structures_of(structures, 0);
	const struct sn_function *function =
		structure ? sn_structure_function_at(structure, link_addr) : NULL;

	REQUIRE(function != NULL);
	sn_function_prepare(structure, function, SN_PREPARE_ALL);
	REQUIRE(function->loop_count > 0);
	return &function->loops[0];
}

/* An experiment of one process with one sample in each of two modules: this test's own program, and
 * generated code that a list in the experiment's folder names. */
static struct sn_experiment *experiment_make(const char *folder, const char *own_path,
					     const char *build_id, uint64_t own_link_addr)
{
	struct sn_experiment *e = sn_experiment_new(folder);
	struct sn_module own = { .path = own_path,
				 .name = "own",
				 .build_id = build_id,
				 .kind = SN_MODULE_FILE,
				 .is_main = true };
	struct sn_module jit = {
		.path = "[jit]", .name = "[jit]", .build_id = "", .kind = SN_MODULE_JIT
	};
	struct sn_process process = { .pid = 4242, .rank = -1, .clock_mechanism = "perf-signal" };
	struct sn_thread thread = { .tid = 4242, .name = "own" };
	struct sn_frame frames[] = { { 0, own_link_addr },
				     { 1, 0x7f0000001010 },
				     { 1, 0x7f0000009010 } };

	sn_vec_push(&e->modules, own);
	sn_vec_push(&e->modules, jit);
	sn_vec_push(&e->processes, process);
	sn_vec_push(&e->threads, thread);
	for (int i = 0; i < 3; i++) {
		struct sn_sample sample = {
			.time_ns = i,
			.cpu_ns = 1000000,
			.stack = sn_experiment_add_stack(e, 0, &frames[i], 1, SN_STACK_COMPLETE),
		};

		sn_vec_push(&e->samples, sample);
	}
	return e;
}

static const char *leaf_name(const struct sn_program *program, uint32_t stack)
{
	return program->functions.items[sn_program_leaf(program, stack)->function].name;
}

TEST(generated_code_has_the_names_of_its_list)
{
	char folder[] = "/tmp/sonde-structures-XXXXXX", path[64];
	struct sn_structures *structures;
	struct sn_resolver resolver;
	struct sn_program *program;
	struct sn_experiment *e;
	FILE *out;

	REQUIRE(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/perf-4242.map", folder);
	out = fopen(path, "w");
	REQUIRE(out != NULL);
	fputs("7f0000001000 40 LazyCompile:*hot main.js:3\n", out);
	fclose(out);
	e = experiment_make(folder, "/nowhere/own", "aa", 0x1000);
	structures = sn_structures_new(e);
	resolver = sn_structures_resolver(structures);
	program = sn_program_new(e, &resolver);
	CHECK_STRING(leaf_name(program, 1), "LazyCompile:*hot main.js:3");
	CHECK_STRING(leaf_name(program, 2), "[jit]"); /* outside of what the list names */
	CHECK_STRING(leaf_name(program, 0), "[own]"); /* the file is gone */
	CHECK(sn_structures_warning(structures, 0) != NULL);
	sn_program_free(program);
	sn_structures_free(structures);
	sn_experiment_free(e);
	unlink(path);
	rmdir(folder);
}

TEST(a_file_that_is_another_one_by_now_names_nothing)
{
	struct sn_structures *structures;
	struct sn_resolver resolver;
	struct sn_program *program;
	struct sn_experiment *e = experiment_make("none", "/proc/self/exe", "0123456789", 0x1000);

	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	structures = sn_structures_new(e);
	resolver = sn_structures_resolver(structures);
	program = sn_program_new(e, &resolver);
	CHECK_STRING(leaf_name(program, 0), "[own]");
	REQUIRE(sn_structures_warning(structures, 0) != NULL);
	CHECK(strstr(sn_structures_warning(structures, 0), "not the file of the run") != NULL);
	CHECK(strstr(sn_structures_warning(structures, 1), "generated ") != NULL);
	sn_program_free(program);
	sn_structures_free(structures);
	sn_experiment_free(e);
}

TEST(a_loop_of_the_program_is_the_one_of_the_structure)
{
	uint64_t entry = own_function("rounds");
	struct sn_experiment *e = experiment_make("none", "/proc/self/exe", "", entry);
	struct sn_frame frame = { 0, 0 };
	struct sn_structures *structures;
	struct sn_resolver resolver;
	struct sn_program *program;
	const struct sn_loop *code;

	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	CHECK_INT(rounds(3), 3);
	structures = sn_structures_new(e);
	resolver = sn_structures_resolver(structures);
	resolver.prepare(resolver.context, 0, &entry, 1);
	code = first_loop(structures, entry);
	frame.link_addr = code->header_link_addr;
	sn_experiment_add_stack(e, 0, &frame, 1, SN_STACK_COMPLETE);
	program = sn_program_new(e, &resolver);
	CHECK_INT(program->loops.count, 1);
	CHECK(program->loops.items[0].code == code);
	CHECK(!program->loops.items[0].busy_waits);
	CHECK_INT(sn_program_leaf(program, 3)->loop, 0);
	CHECK_STRING(leaf_name(program, 3), "rounds");
	sn_program_free(program);
	sn_structures_free(structures);
	sn_experiment_free(e);
}

/* The warning names the extract, what is wrong with it and what to do; the file of the run stands in
 * where it is still there. */
TEST(an_extract_that_cannot_be_read_is_said)
{
	char path[] = "/tmp/sonde-extract-XXXXXX";
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && write(fd, "SNDXTRCT, and then nothing", 26) == 26 && !close(fd));
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	for (int has_file = 0; has_file < 2; has_file++) {
		uint64_t entry = own_function("rounds");
		struct sn_experiment *e = experiment_make(
			"none", has_file ? "/proc/self/exe" : "/nowhere/own", "", entry);
		struct sn_structures *structures;
		struct sn_resolver resolver;
		struct sn_program *program;
		const char *damage;

		e->modules.items[0].extract_path = path;
		structures = sn_structures_new(e);
		resolver = sn_structures_resolver(structures);
		program = sn_program_new(e, &resolver);
		CHECK_STRING(leaf_name(program, 0), has_file ? "rounds" : "[own]");
		damage = sn_structures_damage(structures, 0);
		REQUIRE(damage != NULL);
		CHECK(strstr(damage, path) != NULL);
		CHECK(strstr(damage, "record the program again") != NULL);
		CHECK(strstr(damage, has_file ? "/proc/self/exe" : "no names here") != NULL);
		CHECK_STRING(sn_structures_warning(structures, 0), damage);
		CHECK(sn_structures_damage(structures, 1) == NULL);
		sn_program_free(program);
		sn_structures_free(structures);
		sn_experiment_free(e);
	}
	unlink(path);
}
