/* Reads the entries of input and output, and sums them by file and operation. */
#include "io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "profile/trace_sites.h"
#include "trace/entries.h"

enum { SMALL_CLASS = 12 /* of calls that move fewer than 4,096 bytes, at most */ };

static const struct {
	const char *name;
	enum sn_io_direction direction;
} operations[] = {
#define OPERATION(word, name, direction) { name, SN_IO_##direction },
	SN_IO_OPERATIONS(OPERATION)
#undef OPERATION
};

const char *sn_io_operation_name(uint8_t operation)
{
	return operation < SN_IO_OPERATION_COUNT ? operations[operation].name : "unknown";
}

/* ---- reading ---- */

/* The latest of a process. */
struct account {
	uint64_t read, written;
	bool is_last; /* of the process's end */
};

/* Sums of a use by site, and by error. */
struct part {
	uint32_t use;
	struct sn_site site;
	uint64_t calls, moving, bytes, time_ns;
};
struct failure {
	uint32_t use, error;
	uint64_t calls;
};

struct reader {
	const struct sn_program *program;
	const struct sn_spans *windows; /* in which pieces begin whose calls count */
	struct sn_io *io;
	struct sn_trace_pieces pieces;
	struct sn_trace_sites sites;
	struct sn_map names;	  /* process and number of a file -> index in name_list + 1 */
	struct sn_map name_index; /* hash of a name -> likewise */
	SN_VEC(const char *) name_list;
	struct sn_map use_index, part_index, failure_index, path_index;
	SN_VEC(struct part) parts;
	SN_VEC(struct failure) failures;
	struct account *accounts; /* by process */
};

/* How many entries the text of a name takes; 0: damaged. */
static size_t name_entries(const struct sn_io_entry *entry, size_t behind)
{
	uint64_t bytes = entry->calls;

	if (!bytes || bytes > SN_TRACE_SLOT_BYTES)
		return 0;
	size_t entries = (size_t)((bytes + sizeof(*entry) - 1) / sizeof(*entry));
	return entries <= behind ? entries : 0;
}

static uint32_t name_add(struct reader *reader, const char *bytes, size_t length)
{
	uint64_t *place = sn_map_put(&reader->name_index, sn_hash_bytes(bytes, length), NULL);

	if (!*place) {
		sn_vec_push(&reader->name_list,
			    sn_arena_printf(&reader->io->arena, "%.*s", (int)length, bytes));
		*place = reader->name_list.count;
	}
	return (uint32_t)*place;
}

typedef void (*entry_take)(struct reader *, const struct sn_trace_item *,
			   const struct sn_io_entry *, size_t behind);

/* Each entry of each piece, with how many are behind it; the text of names is left out. */
static void entries_read(struct reader *reader, entry_take take)
{
	for (size_t p = 0; p < reader->pieces.items.count; p++) {
		const struct sn_trace_item *item = &reader->pieces.items.items[p];
		const struct sn_io_entry *entries = (const void *)(item->piece + 1);
		size_t count = (item->bytes - sizeof(*item->piece)) / sizeof(*entries);

		for (size_t i = 0; i < count; i++) {
			take(reader, item, &entries[i], count - i - 1);
			if (entries[i].type == SN_IO_NAME)
				i += name_entries(&entries[i], count - i - 1);
		}
	}
}

static void name_take(struct reader *reader, const struct sn_trace_item *item,
		      const struct sn_io_entry *entry, size_t behind)
{
	if (entry->type != SN_IO_NAME)
		return;
	if (!name_entries(entry, behind)) {
		reader->io->damaged++;
		return;
	}
	*sn_map_put(&reader->names, (uint64_t)item->process << 32 | entry->file, NULL) =
		name_add(reader, (const char *)(entry + 1), entry->calls);
}

static uint32_t use_of(struct reader *reader, uint32_t process, const struct sn_io_entry *entry)
{
	const uint64_t *name = sn_map_get(&reader->names, (uint64_t)process << 32 | entry->file);
	uint64_t file = name ? *name : 0;
	uint64_t *place = sn_map_put(&reader->use_index, file << 8 | entry->operation, NULL);

	if (!*place) {
		sn_vec_push(&reader->io->uses,
			    (struct sn_io_use){ .file = file ? reader->name_list.items[file - 1]
							     : "[unknown]",
						.operation = entry->operation,
						.site = { SN_NONE, SN_NONE } });
		*place = reader->io->uses.count;
	}
	return (uint32_t)*place - 1;
}

static uint64_t site_key(struct sn_site site, uint64_t other)
{
	return sn_hash_pair((uint64_t)site.function << 32 | site.line, other);
}

static void part_add(struct reader *reader, uint32_t use, struct sn_site site,
		     const struct sn_io_entry *entry, uint64_t time_ns)
{
	uint64_t *place = sn_map_put(&reader->part_index, site_key(site, use), NULL);
	struct part *part;

	if (!*place) {
		sn_vec_push(&reader->parts, (struct part){ .use = use, .site = site });
		*place = reader->parts.count;
	}
	part = &reader->parts.items[*place - 1];
	part->calls += entry->calls;
	part->moving += entry->size_class ? entry->calls : 0;
	part->bytes += entry->bytes;
	part->time_ns += time_ns;
}

static void failure_add(struct reader *reader, uint32_t use, const struct sn_io_entry *entry)
{
	uint64_t *place =
		sn_map_put(&reader->failure_index, (uint64_t)use << 32 | entry->error, NULL);

	if (!*place) {
		sn_vec_push(&reader->failures, (struct failure){ use, entry->error, 0 });
		*place = reader->failures.count;
	}
	reader->failures.items[*place - 1].calls += entry->calls;
}

enum sn_io_kind sn_io_kind_of(const char *file)
{
	/* memory that is shared has names as files have, and is written as they are */
	if (!strncmp(file, "/dev/", 5) && strncmp(file, "/dev/shm/", 9) != 0)
		return SN_IO_A_DEVICE;
	return *file == '/'		      ? SN_IO_A_FILE
	       : !strncmp(file, "socket:", 7) ? SN_IO_A_SOCKET
	       : !strncmp(file, "pipe:", 5)   ? SN_IO_A_PIPE
					      : SN_IO_ANOTHER;
}

static bool is_file(const char *name)
{
	return sn_io_kind_of(name) == SN_IO_A_FILE;
}

/* Of one call in 2^period that is met, at a random place: at most that of as many independent draws. */
static double calls_variance(const struct sn_io_entry *entry)
{
	return (double)entry->calls * (double)((1ull << entry->period) - 1);
}

/* (derived) Sizes of a class differ by a factor of two at most: their mean square is at most 9/8 of the square of their mean. */
static const double size_class_squares = 1.125;

static double bytes_variance(const struct sn_io_entry *entry)
{
	double mean = entry->calls ? (double)entry->bytes / (double)entry->calls : 0;

	return calls_variance(entry) * mean * mean * size_class_squares;
}

void sn_io_interval(uint64_t calls, double variance, uint64_t *low, uint64_t *high)
{
	double half = 1.96 * sqrt(fmax(0, variance));

	*low = (double)calls > half ? calls - (uint64_t)half : 0;
	*high = calls + (uint64_t)half;
}

static void path_add(struct reader *reader, uint32_t process, const struct sn_io_entry *entry,
		     const char *file, uint64_t time_ns)
{
	struct sn_io_path path = { .process = process,
				   .operation = entry->operation,
				   .is_file = is_file(file) };
	struct sn_io_path *sum;
	uint64_t *place;

	if (!sn_trace_stack_of(reader->program, process, entry->path, &path.stack))
		return;
	place = sn_map_put(&reader->path_index,
			   (uint64_t)path.stack << 9 | (uint64_t)path.operation << 1 | path.is_file,
			   NULL);
	if (!*place) {
		sn_vec_push(&reader->io->paths, path);
		*place = reader->io->paths.count;
	}
	sum = &reader->io->paths.items[*place - 1];
	sum->calls += entry->calls;
	sum->bytes += entry->bytes;
	sum->time_ns += time_ns;
	sum->calls_variance += calls_variance(entry);
	sum->bytes_variance += bytes_variance(entry);
}

static bool is_within(const struct reader *reader, const struct sn_trace_item *item)
{
	return sn_spans_have(reader->windows,
			     (int64_t)sn_trace_time_ns(&reader->pieces.clocks[item->process],
						       item->piece->base_tsc));
}

static void count_take(struct reader *reader, const struct sn_trace_item *item,
		       const struct sn_io_entry *entry)
{
	double ns = (double)entry->ticks * reader->pieces.clocks[item->process].ns_per_tick;
	uint64_t time_ns = ns >= 0 && ns < 1e18 ? (uint64_t)ns : 0;
	uint32_t number = use_of(reader, item->process, entry);
	struct sn_io_use *use = &reader->io->uses.items[number];

	use->calls += entry->calls;
	use->met += entry->calls >> entry->period;
	use->calls_variance += calls_variance(entry);
	use->bytes += entry->bytes;
	use->time_ns += time_ns;
	use->sequential += entry->sequential;
	if (entry->size_class) {
		use->moving += entry->calls;
		if (entry->size_class <= SMALL_CLASS)
			use->small += entry->calls;
		if (entry->size_class < 64 && 1ULL << entry->size_class > use->below_bytes)
			use->below_bytes = 1ULL << entry->size_class;
	}
	if (entry->error) {
		use->errors += entry->calls;
		failure_add(reader, number, entry);
	}
	path_add(reader, item->process, entry, use->file, time_ns);
	part_add(reader, number,
		 sn_trace_site_of(&reader->sites, reader->program, item->process, entry->path),
		 entry, time_ns);
}

static void other_take(struct reader *reader, const struct sn_trace_item *item,
		       const struct sn_io_entry *entry, size_t behind)
{
	struct account *account = &reader->accounts[item->process];

	(void)behind;
	switch (entry->type) {
	case SN_ENTRY_NONE:
	case SN_ENTRY_TIME:
	case SN_IO_NAME:
		break;
	case SN_IO_COUNT:
		if (entry->operation >= SN_IO_OPERATION_COUNT || entry->size_class > 64 ||
		    entry->period > SN_IO_PERIOD_MOST)
			reader->io->damaged++;
		else if (is_within(reader, item))
			count_take(reader, item, entry);
		break;
	case SN_IO_ACCOUNT: /* they only grow */
		account->is_last |= entry->calls != 0;
		account->read = entry->bytes > account->read ? entry->bytes : account->read;
		account->written =
			entry->ticks > account->written ? entry->ticks : account->written;
		break;
	default:
		reader->io->damaged++;
	}
}

/* ---- sums ---- */

static void place_add(struct reader *reader, struct sn_map *index, const struct part *part)
{
	struct sn_io *io = reader->io;
	const struct sn_io_use *use = &io->uses.items[part->use];
	uint8_t kind = (uint8_t)sn_io_kind_of(use->file);
	uint64_t *number =
		sn_map_put(index, site_key(part->site, (uint64_t)use->operation << 8 | kind), NULL);
	struct sn_io_place *place;

	if (!*number) {
		sn_vec_push(&io->places, (struct sn_io_place){ .site = part->site,
							       .operation = use->operation,
							       .kind = kind,
							       .file = use->file });
		*number = io->places.count;
	}
	place = &io->places.items[*number - 1];
	place->files++;
	place->calls += part->calls;
	place->moving += part->moving;
	place->bytes += part->bytes;
	place->time_ns += part->time_ns;
	if (part->time_ns > place->file_ns) {
		place->file_ns = part->time_ns;
		place->file = use->file;
	}
}

static void places_find(struct reader *reader)
{
	struct sn_map index = { 0 };

	for (size_t i = 0; i < reader->parts.count; i++)
		place_add(reader, &index, &reader->parts.items[i]);
	sn_map_free(&index);
}

static void bytes_sum(struct sn_io *io, const struct sn_io_use *use)
{
	enum sn_io_direction direction = operations[use->operation].direction;
	bool is_both = use->operation == SN_IO_SENDFILE || use->operation == SN_IO_COPY_FILE_RANGE;

	if (direction == SN_IO_READS || is_both)
		io->countable_read_bytes += use->bytes;
	if (direction == SN_IO_WRITES || is_both)
		io->countable_written_bytes += use->bytes;
	if (direction == SN_IO_READS || direction == SN_IO_RECEIVES || is_both)
		io->read_bytes += use->bytes;
	if (direction == SN_IO_WRITES || direction == SN_IO_SENDS || is_both)
		io->written_bytes += use->bytes;
}

static void uses_finish(struct reader *reader)
{
	struct sn_io *io = reader->io;

	for (size_t i = 0; i < reader->parts.count; i++) {
		const struct part *part = &reader->parts.items[i];
		struct sn_io_use *use = &io->uses.items[part->use];

		if (use->site.function == SN_NONE || part->time_ns > use->site_ns) {
			use->site = part->site;
			use->site_ns = part->time_ns;
		}
	}
	for (size_t i = 0; i < reader->failures.count; i++) {
		const struct failure *failure = &reader->failures.items[i];
		struct sn_io_use *use = &io->uses.items[failure->use];
		const char *word = strerrorname_np((int)failure->error);

		use->error_words = sn_arena_printf(
			&io->arena, "%s%s%s %llu", use->error_words ? use->error_words : "",
			use->error_words ? ", " : "", word ? word : "unknown",
			(unsigned long long)failure->calls);
	}
	for (size_t i = 0; i < io->uses.count; i++) {
		const struct sn_io_use *use = &io->uses.items[i];

		io->calls += use->calls;
		io->met += use->met;
		io->calls_variance += use->calls_variance;
		io->time_ns += use->time_ns;
		bytes_sum(io, use);
	}
}

static void accounts_sum(struct reader *reader)
{
	struct sn_io *io = reader->io;
	size_t count = reader->program->experiment->processes.count;
	uint8_t *has_pieces = sn_alloc_zeroed(count + 1, 1);
	uint64_t read = 0, written = 0;
	bool is_known = reader->pieces.items.count > 0;

	for (size_t i = 0; i < reader->pieces.items.count; i++)
		has_pieces[reader->pieces.items.items[i].process] = 1;
	for (uint32_t p = 0; p < count; p++) {
		int64_t ns = sn_trace_overhead_ns(&reader->pieces, p);

		io->overhead_ns += ns > 0 ? ns : 0;
		io->damaged += ns < 0;
		is_known &= reader->accounts[p].is_last || !has_pieces[p];
		read += reader->accounts[p].read;
		written += reader->accounts[p].written;
	}
	is_known &= read < INT64_MAX && written < INT64_MAX;
	io->kernel_read_bytes = is_known ? (int64_t)read : -1;
	io->kernel_written_bytes = is_known ? (int64_t)written : -1;
	free(has_pieces);
}

sn_status sn_io_read(const struct sn_program *program, struct sn_io **out, struct sn_error *err)
{
	const struct sn_spans all = { 0 };

	return sn_io_read_within(program, &all, out, err);
}

sn_status sn_io_read_within(const struct sn_program *program, const struct sn_spans *windows,
			    struct sn_io **out, struct sn_error *err)
{
	struct reader reader = { .program = program,
				 .windows = windows,
				 .io = sn_alloc_zeroed(1, sizeof(*reader.io)) };
	sn_status status = sn_trace_pieces_open(&reader.pieces, program->experiment, SN_TRACE_IO,
						sn_entries_last_instant, err);

	if (status != SN_OK) {
		sn_io_free(reader.io);
		return status;
	}
	reader.io->is_traced = reader.pieces.is_traced;
	reader.accounts =
		sn_alloc_zeroed(program->experiment->processes.count + 1, sizeof(*reader.accounts));
	entries_read(&reader, name_take);
	entries_read(&reader, other_take);
	uses_finish(&reader);
	places_find(&reader);
	accounts_sum(&reader);
	reader.io->lost = reader.pieces.lost;
	reader.io->damaged += reader.pieces.damaged;
	sn_trace_sites_free(&reader.sites);
	sn_map_free(&reader.names);
	sn_map_free(&reader.name_index);
	sn_map_free(&reader.use_index);
	sn_map_free(&reader.part_index);
	sn_map_free(&reader.failure_index);
	sn_map_free(&reader.path_index);
	sn_vec_free(&reader.name_list);
	sn_vec_free(&reader.parts);
	sn_vec_free(&reader.failures);
	free(reader.accounts);
	sn_trace_pieces_close(&reader.pieces);
	*out = reader.io;
	return SN_OK;
}

void sn_io_free(struct sn_io *io)
{
	if (!io)
		return;
	sn_vec_free(&io->uses);
	sn_vec_free(&io->places);
	sn_vec_free(&io->paths);
	sn_arena_free(&io->arena);
	free(io);
}
