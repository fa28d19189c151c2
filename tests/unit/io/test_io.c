#include "io/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

static char path[] = "/tmp/sonde-unit-io.XXXXXX";

/* A piece of one thread; a tick is a nanosecond. */
struct made {
	struct sn_trace_piece piece;
	struct sn_io_entry entries[16];
	size_t count;
};

static void made_begin(struct made *made)
{
	struct sn_entry_time time = {
		.type = SN_ENTRY_TIME, .tsc = 1000000, .ns = 1000000, .tid = 7
	};

	memset(made, 0, sizeof(*made));
	made->piece = (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
					       .pid = 7,
					       .kind = SN_TRACE_IO };
	memcpy(&made->entries[0], &time, sizeof(time));
	made->count = 1;
}

static void made_add(struct made *made, struct sn_io_entry entry)
{
	made->entries[made->count++] = entry;
	made->piece.committed_bytes =
		(uint32_t)(sizeof(made->piece) + made->count * sizeof(*made->entries));
}

static void made_name(struct made *made, uint32_t number, const char *name)
{
	made_add(made,
		 (struct sn_io_entry){ .type = SN_IO_NAME, .file = number, .calls = strlen(name) });
	made_add(made, (struct sn_io_entry){ 0 });
	memcpy(&made->entries[made->count - 1], name, strlen(name));
}

static struct sn_io_entry call(enum sn_io_operation operation, uint32_t file, uint64_t calls,
			       uint64_t bytes, uint32_t error)
{
	return (struct sn_io_entry){ .type = SN_IO_COUNT,
				     .operation = (uint8_t)operation,
				     .size_class = sn_io_size_class(calls ? bytes / calls : 0),
				     .file = file,
				     .calls = calls,
				     .bytes = bytes,
				     .ticks = calls * 10,
				     .error = error };
}

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

/* All of it is main, and each address a line. */
static bool resolve_lines(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			  struct sn_resolved *out)
{
	(void)context, (void)process, (void)module;
	out->function_link_addr = 0;
	out->scope_count = 1;
	out->loop_count = 0;
	out->scopes[0] = (struct sn_resolved_scope){ .name = "main",
						     .file = "a.c",
						     .line = (uint32_t)link_addr };
	return true;
}

enum { PATHS = 4 };

/* Path n is the one frame at n. */
static void paths_add(struct sn_experiment *e)
{
	sn_vec_push(&e->modules, (struct sn_module){ .path = "m" });
	for (uint32_t i = 1; i <= PATHS; i++) {
		struct sn_frame frame = { 0, i };

		sn_vec_push(&e->trace_paths,
			    (struct sn_trace_path){ 0, i,
						    sn_experiment_add_stack(e, 0, &frame, 1, 0) });
	}
}

static struct sn_io *io_by(const struct made *made, bool has_paths)
{
	const struct sn_resolver resolver = { NULL, NULL,
					      has_paths ? resolve_lines : resolve_nothing };
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fdopen(mkstemp(path), "w");
	struct sn_program *program;
	struct sn_io *io = NULL;
	struct sn_error err;

	fwrite(&made->piece, 1, sizeof(made->piece), out);
	fwrite(made->entries, sizeof(*made->entries), made->count, out);
	fclose(out);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 900000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	if (has_paths)
		paths_add(e);
	program = sn_program_new(e, &resolver);
	tap_check(sn_io_read(program, &io, &err) == SN_OK, __FILE__, __LINE__, "reading");
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	sn_program_free(program);
	sn_experiment_free(e);
	return io;
}

static struct sn_io *io_of(const struct made *made)
{
	return io_by(made, false);
}

TEST(entries_add_up_by_file_and_operation)
{
	struct made made;
	struct sn_io *io;

	made_begin(&made);
	made_add(&made, call(SN_IO_WRITE, 1, 10, 100, 0)); /* its name comes later */
	made_add(&made, call(SN_IO_WRITE, 1, 2, 10000, 0));
	made_add(&made, call(SN_IO_WRITE, 1, 3, 0, ENOSPC));
	made_add(&made, call(SN_IO_FREAD, 2, 1, 7, 0));
	made_name(&made, 1, "/a");
	made_name(&made, 2, "/a"); /* one name is one file */
	made_add(&made, call(SN_IO_SEND, 9, 1, 50, 0));
	made_add(&made, (struct sn_io_entry){
				.type = SN_IO_ACCOUNT, .calls = 1, .bytes = 4096, .ticks = 10150 });
	made_add(&made, (struct sn_io_entry){ .type = 99 });
	io = io_of(&made);
	CHECK(io->is_traced);
	CHECK_INT(io->uses.count, 3);
	CHECK_STRING(io->uses.items[0].file, "/a");
	CHECK_INT(io->uses.items[0].calls, 15);
	CHECK_INT(io->uses.items[0].bytes, 10100);
	CHECK_INT(io->uses.items[0].errors, 3);
	CHECK_STRING(io->uses.items[0].error_words, "ENOSPC 3");
	CHECK_INT(io->uses.items[0].moving, 12);
	CHECK_INT(io->uses.items[0].small, 10);
	CHECK_INT(io->uses.items[0].below_bytes, 8192);
	CHECK_STRING(io->uses.items[1].file, "/a");
	CHECK_STRING(io->uses.items[2].file, "[unknown]");
	CHECK_INT(io->read_bytes, 7);
	CHECK_INT(io->written_bytes,
		  10150); /* all rows; the kernel has no account of what is sent */
	CHECK_INT(io->countable_written_bytes, 10100);
	CHECK_INT(io->kernel_read_bytes, 4096);
	CHECK_INT(io->kernel_written_bytes, 10150);
	CHECK_INT(io->damaged, 1);
	sn_io_free(io);
}

/* What it did since the account was read is in none. */
TEST(the_account_of_a_process_that_was_killed_is_not_known)
{
	struct made made;
	struct sn_io *io;

	made_begin(&made);
	made_add(&made, call(SN_IO_WRITE, 1, 10, 100, 0));
	made_add(&made, (struct sn_io_entry){ .type = SN_IO_ACCOUNT, .bytes = 0, .ticks = 90 });
	io = io_of(&made);
	CHECK_INT(io->written_bytes, 100);
	CHECK_INT(io->kernel_read_bytes, -1);
	CHECK_INT(io->kernel_written_bytes, -1);
	sn_io_free(io);
}

TEST(calls_by_one_site_add_up_over_files_of_a_kind)
{
	struct made made;
	struct sn_io *io;

	made_begin(&made);
	made_name(&made, 1, "socket:[1]");
	made_name(&made, 2, "socket:[2]");
	made_name(&made, 3, "/a");
	made_add(&made, call(SN_IO_WRITE, 1, 10, 100, 0));
	made_add(&made, call(SN_IO_WRITE, 2, 20, 400, 0));
	made_add(&made, call(SN_IO_WRITE, 2, 1, 0, EPIPE));
	made_add(&made, call(SN_IO_WRITE, 3, 1, 1, 0));
	io = io_of(&made);
	CHECK_INT(io->uses.count, 3);
	CHECK_INT(io->places.count, 2);
	CHECK_INT(io->places.items[0].kind, SN_IO_A_SOCKET);
	CHECK_INT(io->places.items[0].files, 2);
	CHECK_STRING(io->places.items[0].file, "socket:[2]");
	CHECK_INT(io->places.items[0].calls, 31);
	CHECK_INT(io->places.items[0].moving, 30);
	CHECK_INT(io->places.items[0].bytes, 500);
	CHECK_INT(io->places.items[0].time_ns, 310);
	CHECK_INT(io->places.items[1].kind, SN_IO_A_FILE);
	CHECK_INT(io->places.items[1].files, 1);
	sn_io_free(io);
}

/* The first line of the first function calls on the first file, the second on the second: each has its site. */
TEST(sites_are_told_apart_whatever_their_numbers_are)
{
	struct made made;
	struct sn_io *io;

	made_begin(&made);
	for (uint32_t i = 1; i <= PATHS; i++) {
		struct sn_io_entry entry = call(SN_IO_WRITE, i, 1, 10, 0);
		char name[] = { '/', (char)('a' + i), '\0' };

		made_name(&made, i, name);
		entry.path = i;
		made_add(&made, entry);
	}
	io = io_by(&made, true);
	CHECK_INT(io->uses.count, PATHS);
	for (uint32_t i = 0; i < io->uses.count; i++) {
		CHECK_INT(io->uses.items[i].site.function, 0);
		CHECK_INT(io->uses.items[i].site.line, i);
	}
	CHECK_INT(io->places.count, PATHS);
	sn_io_free(io);
}

TEST(kinds_of_files_are_known_by_their_names)
{
	CHECK_INT(sn_io_kind_of("/home/a"), SN_IO_A_FILE);
	CHECK_INT(sn_io_kind_of("/dev/shm/a"), SN_IO_A_FILE);
	CHECK_INT(sn_io_kind_of("/dev/pts/0"), SN_IO_A_DEVICE);
	CHECK_INT(sn_io_kind_of("socket:[7]"), SN_IO_A_SOCKET);
	CHECK_INT(sn_io_kind_of("pipe:[7]"), SN_IO_A_PIPE);
	CHECK_INT(sn_io_kind_of("anon_inode:[eventfd]"), SN_IO_ANOTHER);
}

TEST(a_name_that_is_cut_short_is_damage)
{
	struct made made;
	struct sn_io *io;

	made_begin(&made);
	made_add(&made, call(SN_IO_READ, 1, 1, 1, 0));
	made_add(&made, (struct sn_io_entry){ .type = SN_IO_NAME, .file = 1, .calls = 65 });
	made_add(&made, (struct sn_io_entry){ 0 });
	io = io_of(&made);
	CHECK_INT(io->damaged, 1);
	CHECK_STRING(io->uses.items[0].file, "[unknown]");
	CHECK_INT(io->kernel_read_bytes, -1);
	sn_io_free(io);
}

TEST(calls_that_a_sample_met_stand_for_others_with_an_error)
{
	struct made made;
	struct sn_io_entry met = call(SN_IO_WRITE, 1, 64 * 50, 64 * 50 * 8, 0);
	uint64_t low, high;
	struct sn_io *io;

	met.period = 6;
	made_begin(&made);
	made_add(&made, call(SN_IO_WRITE, 1, 10, 80, 0)); /* before they came fast */
	made_add(&made, met);
	met.period = SN_IO_PERIOD_MOST + 1;
	made_add(&made, met);
	made_name(&made, 1, "/dev/shm/a");
	io = io_of(&made);
	CHECK_INT(io->damaged, 1);
	CHECK_INT(io->uses.items[0].calls, 3210);
	CHECK_INT(io->uses.items[0].met, 60);
	CHECK_INT(io->met, 60);
	CHECK(io->uses.items[0].calls_variance == 3200.0 * 63);
	sn_io_interval(io->calls, io->calls_variance, &low, &high);
	CHECK_INT(low, 3210 - 880);
	CHECK_INT(high, 3210 + 880);
	sn_io_interval(3, io->calls_variance, &low, &high);
	CHECK_INT(low, 0);
	sn_io_free(io);
}

TEST(sizes_have_classes)
{
	CHECK_INT(sn_io_size_class(0), 0);
	CHECK_INT(sn_io_size_class(1), 1);
	CHECK_INT(sn_io_size_class(4095), 12);
	CHECK_INT(sn_io_size_class(4096), 13);
	CHECK_INT(sn_io_size_class(UINT64_MAX), 64);
}
