#include "experiment/decode.h"
#include "wire/instances.h"
#include "wire/variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/tap.h"
#include "wire/writer.h"

enum { CHUNKS = 24, T0 = 1000000 };

struct written {
	struct sn_writer_file file;
	size_t length;
};

static struct written file_begin(int32_t pid)
{
	size_t bytes = sn_data_file_bytes(CHUNKS);
	struct written w = { .file = { .base = aligned_alloc(4096, bytes) }, .length = bytes };
	struct sn_data_header *h = (void *)w.file.base;

	memset(w.file.base, 0, bytes);
	atomic_store(&w.file.half_full, SN_CHUNK_NONE);
	h->magic = SN_DATA_MAGIC;
	h->version = SN_DATA_VERSION;
	h->header_bytes = SN_DATA_HEADER_BYTES;
	h->chunk_bytes = SN_DATA_CHUNK_BYTES;
	h->chunks_backed = h->chunks_max = CHUNKS;
	h->pid = pid;
	h->rank = -1;
	h->start_ns = h->process_start_ns = T0;
	h->start_realtime_ns = T0 + 5000;
	h->period_ns = 1000000;
	h->mechanism = SN_MECHANISM_PERF_SIGNAL;
	strcpy(h->host, "h");
	strcpy(h->program, "/bin/app");
	return w;
}

static struct sn_writer thread_begin(struct written *w, uint32_t index)
{
	struct sn_writer writer = { .file = &w->file,
				    .thread_index = index,
				    .tid = 100 + (int32_t)index };
	struct sn_record_thread_start *start =
		sn_writer_reserve(&writer, sizeof(*start), T0 + index);

	start->header = (struct sn_record_header){ SN_RECORD_THREAD_START, 0, sizeof(*start) };
	start->thread_index = index;
	start->tid = writer.tid;
	start->time_ns = T0 + index;
	sn_writer_commit(&writer, sizeof(*start));
	return writer;
}

static void write_map(struct sn_writer *writer, uint64_t start, const char *path, int64_t at_ns)
{
	uint32_t size = (uint32_t)((sizeof(struct sn_record_map) + strlen(path) + 1 + 7) & ~7u);
	struct sn_record_map *map = sn_writer_reserve(writer, size, at_ns);

	memset(map, 0, size);
	map->header = (struct sn_record_header){ SN_RECORD_MAP, 0, (uint16_t)size };
	map->path_bytes = (uint32_t)strlen(path);
	map->time_ns = at_ns;
	map->load_start = start;
	map->load_end = start + 0x1000;
	map->load_bias = start - 0x400;
	map->build_id_bytes = 2;
	map->build_id[0] = 0xab;
	map->build_id[1] = 0x01;
	strcpy(map->path, path);
	sn_writer_commit(writer, size);
}

static void write_stack(struct sn_writer *writer, uint32_t id, uint32_t parent, uint8_t flags,
			const uint64_t *pcs, uint32_t depth)
{
	uint32_t size = (uint32_t)(sizeof(struct sn_record_stack) + 8 * depth);
	struct sn_record_stack *stack = sn_writer_reserve(writer, size, T0);

	stack->header = (struct sn_record_header){ SN_RECORD_STACK, flags, (uint16_t)size };
	stack->id = id;
	stack->parent = parent;
	stack->depth = depth;
	memcpy(stack->pc, pcs, 8 * depth);
	sn_writer_commit(writer, size);
}

/* Two threads, one module, a stack of two segments, 3000 samples, a wait. */
static void write_registers(struct sn_writer *writer, uint32_t stack, int64_t at_ns)
{
	struct sn_record_registers *record = sn_writer_reserve(writer, sizeof(*record), at_ns);

	*record = (struct sn_record_registers){ .header = { .type = SN_RECORD_REGISTERS,
							    .size_bytes = sizeof(*record) },
						.stack = stack,
						.time_ns = at_ns,
						.values = { [15] = 42 } };
	sn_writer_commit(writer, sizeof(*record));
}

static void write_instances(struct sn_writer *writer, int64_t step, uint64_t exits, uint64_t sum)
{
	struct sn_record_instances *record = sn_writer_reserve(writer, sizeof(*record), T0 + 70);

	*record =
		(struct sn_record_instances){ .header = { SN_RECORD_INSTANCES, 0, sizeof(*record) },
					      .stack = 2,
					      .entries_near = 5,
					      .turn = sn_instances_turn(10, 7),
					      .exits = exits,
					      .step = step,
					      .sum = sum,
					      .last_entry = 800 };
	sn_writer_commit(writer, sizeof(*record));
}

static void write_instances_apart(struct sn_writer *writer, int64_t step, uint64_t exits,
				  uint64_t sum)
{
	struct sn_record_instances *record = sn_writer_reserve(writer, sizeof(*record), T0 + 70);

	*record = (struct sn_record_instances){
		.header = { SN_RECORD_INSTANCES, 0, sizeof(*record) },
		.stack = 2,
		.entries_near = 10,
		.turn = sn_instances_turn(10, -1),
		.exits = exits,
		.step = step,
		.sum = sum,
		.is_apart = 1,
	};
	sn_writer_commit(writer, sizeof(*record));
}

TEST(entries_are_told_by_their_lower_bits_and_a_number_near)
{
	const uint64_t entries[] = { 0, 1, 0xffffffff, 0x100000000, 0x17fffffff, 0x123456789abc };

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		for (int32_t left = -3; left < 100000; left += left < 3 ? 1 : 7777) {
			struct sn_record_instances record = {
				.entries_near = entries[i] > 5000 ? entries[i] - 5000 : 0,
				.turn = sn_instances_turn(entries[i], left),
			};

			CHECK(sn_instances_entries(&record) == entries[i]);
		}
}

static void write_bucket(struct sn_writer *writer, uint32_t samples)
{
	struct sn_record_bucket *record = sn_writer_reserve(writer, sizeof(*record), T0 + 71);

	*record = (struct sn_record_bucket){ .header = { SN_RECORD_BUCKET, 0, sizeof(*record) },
					     .stack = 2,
					     .exponent = 7,
					     .timed = 40,
					     .iterations = 400,
					     .cycles = 2000,
					     .sample_count = samples,
					     .samples = { { 3, 50, 10 } } };
	sn_writer_commit(writer, sizeof(*record));
}

static struct written file_of(int samples)
{
	struct written w = file_begin(7);
	struct sn_data_header *h = (void *)w.file.base;
	struct sn_writer a = thread_begin(&w, 0), b = thread_begin(&w, 1);
	const uint64_t inner[] = { 0x10020, 0x10040 }, outer[] = { 0x10100 };
	struct sn_record_wait *wait;

	sn_writer_text(&a, T0, SN_TEXT_ARGUMENT, "app", 3);
	sn_writer_text(&a, T0, SN_TEXT_ARGUMENT, "a b", 3);
	write_map(&a, 0x10000, "/lib/m.so", T0);
	write_stack(&a, 1, 2, 0, inner, 2);
	write_stack(&a, 2, 0, SN_STACK_COMPLETE, outer, 1);
	for (int i = 1; i <= samples; i++) {
		sn_writer_sample(&a, T0 + i * 1000, 1000, 1, 3, 0);
		sn_writer_sample(&b, T0 + i * 1000 + 1, 2000, 2, 0, SN_SAMPLE_SYSTEM);
	}
	sn_writer_sample(&b, T0 + 2000000, 6000000000u, 0, 0, SN_SAMPLE_REMAINDER);
	wait = sn_writer_reserve(&b, sizeof(*wait), T0 + 1);
	*wait = (struct sn_record_wait){
		{ SN_RECORD_WAIT, SN_WAIT_IO, sizeof(*wait) }, 1, T0 + 50, 777
	};
	sn_writer_commit(&b, sizeof(*wait));
	sn_writer_tally(&b, T0 + 2, "what is counted", 2, 5, 4000);
	write_registers(&b, 2, T0 + 60);
	write_registers(&b, 77, T0 + 61); /* no such stack */
	h->state = SN_DATA_EXITED;
	h->exit_code = 3;
	h->end_ns = T0 + 3000000;
	return w;
}

static struct written file_whole(void)
{
	return file_of(1500);
}

static struct sn_experiment *decoded(const uint8_t *bytes, size_t length)
{
	struct sn_decoder decoder = { .experiment = sn_experiment_new("x") };

	sn_decode_data(&decoder, bytes, length, "data");
	sn_decoder_finish(&decoder);
	sn_experiment_sort(decoder.experiment);
	return decoder.experiment;
}

static void write_killed(struct sn_writer *writer, int32_t pid, int32_t signal, int64_t at_ns)
{
	struct sn_record_child_killed *killed = sn_writer_reserve(writer, sizeof(*killed), at_ns);

	*killed = (struct sn_record_child_killed){
		{ SN_RECORD_CHILD_KILLED, 0, sizeof(*killed) }, pid, at_ns, signal, 0
	};
	sn_writer_commit(writer, sizeof(*killed));
}

static void write_account(struct sn_writer *writer, uint8_t type, int64_t at_ns, int64_t cpu_ns)
{
	struct sn_record_thread_account *account =
		sn_writer_reserve(writer, sizeof(*account), at_ns);

	*account = (struct sn_record_thread_account){
		.header = { .type = type, .size_bytes = sizeof(*account) },
		.thread_index = writer->thread_index,
		.time_ns = at_ns,
		.user_ns = cpu_ns,
		.cpu_ns = cpu_ns,
		.wait_cpu_ns = type == SN_RECORD_THREAD_END ? 40 : -1,
	};
	sn_writer_commit(writer, sizeof(*account));
}

/* The end is written to what another thread has left of its chunk, which began before the thread's own. */
TEST(the_latest_account_counts_wherever_it_lies)
{
	struct written w = file_begin(7);
	struct sn_writer b = thread_begin(&w, 0), a = thread_begin(&w, 1);
	const struct sn_thread *thread;
	struct sn_experiment *e;

	sn_writer_release(&b);
	write_account(&a, SN_RECORD_THREAD_ACCOUNT, T0 + 1000000, 600000);
	a.chunk = NULL;
	write_account(&a, SN_RECORD_THREAD_END, T0 + 1500000, 900000);
	CHECK_INT(a.chunk->index, 0);
	e = decoded(w.file.base, w.length);
	thread = &e->threads.items[1];
	CHECK_INT(thread->account.user_ns, 900000);
	CHECK_INT(thread->account.wait_cpu_ns, 40);
	CHECK_INT(thread->end_ns - thread->start_ns, 1500000 - 1);
	sn_experiment_free(e);
	free(w.file.base);
}

/* Of two images of process 8 the last one begun by then was killed; process 9 is no child of 7. */
TEST(who_waited_knows_the_signal)
{
	struct sn_decoder decoder = { .experiment = sn_experiment_new("x") };
	const int32_t pids[] = { 7, 8, 8, 8, 9 }, parents[] = { 1, 7, 7, 7, 1 };
	const int32_t starts_ns[] = { 0, 10, 20, 60, 10 };
	const struct sn_process *p;

	for (size_t i = 0; i < 5; i++) {
		struct written w = file_begin(pids[i]);
		struct sn_data_header *h = (void *)w.file.base;
		struct sn_writer writer = thread_begin(&w, 0);

		h->parent_pid = parents[i];
		h->start_ns = h->process_start_ns = T0 + starts_ns[i];
		h->start_realtime_ns = h->start_ns + 5000;
		if (!i) {
			write_killed(&writer, 8, 11, T0 + 50);
			write_killed(&writer, 9, 6, T0 + 50);
			write_killed(&writer, 10, 6, T0 + 50);
			write_killed(&writer, 8, 1 << 20, T0 + 50);
		}
		sn_decode_data(&decoder, w.file.base, w.length, "data");
		free(w.file.base);
	}
	sn_decoder_finish(&decoder);
	p = decoder.experiment->processes.items;
	REQUIRE(decoder.experiment->processes.count == 5);
	CHECK(!p[0].exit_signal && !p[1].exit_signal && !p[3].exit_signal && !p[4].exit_signal);
	CHECK_INT(p[2].exit_signal, 11);
	CHECK_INT(p[2].exit_status, 139);
	sn_experiment_free(decoder.experiment);
}

/* Packets of older versions end before the bytes read and written. */
TEST(packets_of_all_versions_are_read)
{
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0);
	struct sn_record_packet *packet = sn_writer_reserve(&a, SN_PACKET_BYTES_LEAST, T0 + 10);
	const struct sn_packet *p;
	struct sn_experiment *e;

	memset(packet, 0, SN_PACKET_BYTES_LEAST);
	packet->header =
		(struct sn_record_header){ SN_RECORD_PACKET, 0, (uint16_t)SN_PACKET_BYTES_LEAST };
	packet->time_ns = T0 + 10;
	packet->user_ns = 5;
	sn_writer_commit(&a, SN_PACKET_BYTES_LEAST);
	packet = sn_writer_reserve(&a, sizeof(*packet) + 8, T0 + 20);
	*packet = (struct sn_record_packet){ .header = { SN_RECORD_PACKET, SN_PACKET_LABEL,
							 sizeof(*packet) + 8 },
					     .label_bytes = 5,
					     .time_ns = T0 + 20,
					     .io_read_bytes = 77,
					     .pressure_io_ns = -1 };
	memcpy(packet->label, "solve\0\0", 8);
	sn_writer_commit(&a, sizeof(*packet) + 8);
	packet = sn_writer_reserve(&a, sizeof(*packet), T0 + 30);
	*packet = (struct sn_record_packet){ .header = { SN_RECORD_PACKET, 99, sizeof(*packet) },
					     .label_bytes = 400, /* damaged */
					     .time_ns = T0 + 30 };
	sn_writer_commit(&a, sizeof(*packet));
	e = decoded(w.file.base, w.length);
	REQUIRE(e->packets.count == 3);
	p = e->packets.items;
	CHECK(p[0].kind == SN_PACKET_PERIODIC && p[0].user_ns == 5 && p[0].io_read_bytes == -1 &&
	      p[0].pressure_cpu_ns == -1 && !p[0].label);
	CHECK(p[1].kind == SN_PACKET_LABEL && p[1].io_read_bytes == 77 &&
	      p[1].pressure_io_ns == -1);
	CHECK_STRING(p[1].label, "solve");
	CHECK(p[2].kind == SN_PACKET_PERIODIC && !p[2].label);
	CHECK(!e->is_windowed);
	sn_experiment_free(e);
	free(w.file.base);
}

/* Variants of older versions end before the clock of the core, or before how many came to a call. */
TEST(variants_of_all_versions_are_read)
{
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0);
	const uint32_t sizes[] = { SN_VARIANT_BYTES_LEAST, SN_VARIANT_BYTES_CLOCK,
				   sizeof(struct sn_record_variant) };
	struct sn_experiment *e;

	for (size_t i = 0; i < 3; i++) {
		struct sn_record_variant whole = {
			.timings = { .header = { SN_RECORD_VARIANT, 0, (uint16_t)sizes[i] },
				     .timed = 3 + i },
			.variant = SN_VARIANT_DL1,
			.clock_cycles = 20,
			.clock_count = 4,
			.called = 9,
		};

		memcpy(sn_writer_reserve(&a, sizes[i], T0 + 10), &whole, sizes[i]);
		sn_writer_commit(&a, sizes[i]);
	}
	e = decoded(w.file.base, w.length);
	REQUIRE(e->variants.count == 3);
	for (size_t i = 0; i < 3; i++)
		CHECK(e->variants.items[i].timings.timed == 3 + i &&
		      e->variants.items[i].clock_count == (i ? 4u : 0) &&
		      e->variants.items[i].called == (i == 2 ? 9u : 0));
	CHECK_INT(e->processes.items[0].losses[SN_LOSS_DAMAGED], 0);
	sn_experiment_free(e);
	free(w.file.base);
}

TEST(a_variant_that_ran_behind_another_one_is_warm)
{
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0);
	const uint32_t codes[] = { SN_VARIANT_FP, SN_VARIANT_FP | SN_VARIANT_WARM,
				   SN_VARIANT_CODES | SN_VARIANT_WARM };
	struct sn_experiment *e;

	for (size_t i = 0; i < 3; i++) {
		struct sn_record_variant *record = sn_writer_reserve(&a, sizeof(*record), T0 + 10);

		*record = (struct sn_record_variant){
			.timings = { .header = { SN_RECORD_VARIANT, 0, sizeof(*record) } },
			.variant = codes[i],
		};
		sn_writer_commit(&a, sizeof(*record));
	}
	e = decoded(w.file.base, w.length);
	REQUIRE(e->variants.count == 2);
	for (size_t i = 0; i < 2; i++)
		CHECK(e->variants.items[i].variant == SN_VARIANT_FP &&
		      e->variants.items[i].is_warm == (i == 1));
	sn_experiment_free(e);
	free(w.file.base);
}

/* A sum lacks what an open instance will add to it. */
TEST(iterations_follow_from_the_sum)
{
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0);
	const uint64_t frame[] = { 0x10100 };
	const struct sn_loop_instances *i;
	const struct sn_loop_bucket *b;
	struct sn_experiment *e;

	write_map(&a, 0x10000, "/lib/m.so", T0);
	write_stack(&a, 2, 0, SN_STACK_COMPLETE, frame, 1);
	write_instances(&a, 0, 10, 1234);
	write_instances(&a, -8, 10, (uint64_t)-80);
	write_instances(&a, 8, 9, 160 - 800);
	write_instances(&a, 8, 7, 160);
	write_instances_apart(&a, 8, 7, 160);
	write_instances_apart(&a, 0, 7 | SN_INSTANCES_OPEN, 160);
	write_bucket(&a, 1);
	write_bucket(&a, SN_BUCKET_SAMPLES + 1); /* damaged */
	e = decoded(w.file.base, w.length);
	REQUIRE(e->instances.count == 6);
	i = e->instances.items;
	CHECK(i[0].has_iterations && i[0].iterations == 1234 && !i[0].open);
	CHECK(i[1].has_iterations && i[1].iterations == 10);
	CHECK(i[2].has_iterations && i[2].iterations == 20 && i[2].open == 1);
	CHECK(!i[3].has_iterations && i[3].open == 3 && i[3].instances == 10);
	CHECK(i[2].lacks_open && !i[0].lacks_open);
	CHECK(i[4].has_iterations && i[4].iterations == 20 && i[4].open == 3 && i[4].lacks_open);
	CHECK(i[5].has_iterations && i[5].iterations == 160 && i[5].open == 3 && i[5].lacks_open);
	CHECK_INT(e->stacks.items[i[0].stack].frames[0].link_addr, 0x500);
	REQUIRE(e->buckets.count == 1);
	b = e->buckets.items;
	CHECK_INT(b->exponent, 2);
	REQUIRE(b->timing_count == 1);
	CHECK(b->timings[0].number == 3 && b->timings[0].cycles == 50 &&
	      b->timings[0].iterations == 10);
	sn_experiment_free(e);
	free(w.file.base);
}

TEST(what_was_written_is_read)
{
	struct written w = file_whole();
	struct sn_experiment *e = decoded(w.file.base, w.length);
	const struct sn_stack *stack;
	uint64_t cpu_ns = 0;

	REQUIRE(e->processes.count == 1 && e->threads.count == 2 && e->modules.count == 1);
	CHECK_INT(e->samples.count, 3001);
	REQUIRE(e->registers.count == 1);
	CHECK_INT(e->registers.items[0].thread, 1);
	CHECK_INT(e->registers.items[0].values[15], 42);
	CHECK_INT(e->stacks.items[e->registers.items[0].stack].depth, 1);
	CHECK_INT(e->processes.items[0].exit_status, 3);
	CHECK_STRING(e->processes.items[0].arguments, "app 'a b'");
	CHECK_STRING(e->processes.items[0].clock_mechanism, "perf-signal");
	CHECK_STRING(e->modules.items[0].build_id, "ab01");
	CHECK_STRING(e->modules.items[0].name, "m.so");
	CHECK_INT(e->threads.items[1].tid, 101);
	stack = &e->stacks.items[e->samples.items[0].stack];
	REQUIRE(stack->depth == 3);
	CHECK_INT(stack->flags, SN_STACK_COMPLETE);
	CHECK_INT(stack->frames[0].link_addr, 0x420);
	CHECK_INT(stack->frames[2].link_addr, 0x500);
	for (size_t i = 0; i < e->samples.count; i++)
		cpu_ns += e->samples.items[i].cpu_ns;
	CHECK_INT(cpu_ns, 1500 * 3000 + 6000000000);
	CHECK_INT(e->samples.items[1].time_ns, T0 + 5000 + 2000);
	REQUIRE(e->waits.count == 1);
	CHECK_INT(e->waits.items[0].duration_ns, 777);
	CHECK_INT(e->waits.items[0].kind, SN_WAIT_IO);
	REQUIRE(e->tallies.count == 1);
	CHECK_STRING(e->tallies.items[0].name, "what is counted");
	CHECK_INT(e->tallies.items[0].thread, 1);
	CHECK_INT(e->tallies.items[0].count, 5);
	CHECK_INT(e->tallies.items[0].value, 4000);
	CHECK_INT(e->stacks.items[e->tallies.items[0].stack].frames[0].link_addr, 0x500);
	CHECK(!e->is_salvaged);
	sn_experiment_free(e);
	free(w.file.base);
}

TEST(several_files_follow_one_another)
{
	struct written w = file_whole();
	size_t used = sn_data_used_bytes(w.file.base, w.length);
	uint8_t *both = sn_alloc(2 * used);
	struct sn_experiment *e;

	CHECK(used < w.length);
	memcpy(both, w.file.base, used);
	memcpy(both + used, w.file.base, used);
	e = decoded(both, 2 * used);
	CHECK_INT(e->processes.count, 2);
	CHECK_INT(e->threads.count, 4);
	CHECK_INT(e->modules.count, 1);
	CHECK_INT(e->samples.count, 6002);
	sn_experiment_free(e);
	free(both);
	free(w.file.base);
}

TEST(a_file_cut_anywhere_gives_what_is_left_of_it)
{
	struct written w = file_whole();
	size_t used = sn_data_used_bytes(w.file.base, w.length), most = 0;

	for (size_t length = 0; length < used; length += length % 4096 == 0 ? 1 : 4095) {
		uint8_t *cut =
			malloc(length + !length); /* exact, so that ASan sees every overrun */
		struct sn_experiment *e;

		REQUIRE(cut);
		memcpy(cut, w.file.base, length);
		e = decoded(cut, length);
		CHECK(!length || e->is_salvaged);
		CHECK(e->samples.count >= most);
		most = e->samples.count;
		sn_experiment_free(e);
		free(cut);
	}
	CHECK(most > 2000);
	free(w.file.base);
}

TEST(any_bit_of_the_headers_may_be_wrong)
{
	struct written w = file_of(20);
	size_t used = sn_data_used_bytes(w.file.base, w.length);
	uint8_t *copy = sn_alloc(used);

	/* the file header's fields, and the first 600 bytes of the first chunk */
	for (size_t bit = 0; bit < (4096 + 600) * 8; bit++) {
		if (bit / 8 >= 400 && bit / 8 < 4096)
			continue;
		memcpy(copy, w.file.base, used);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		sn_experiment_free(decoded(copy, used));
	}
	CHECK(true);
	free(copy);
	free(w.file.base);
}

/* A file of two chunks has no room for four million threads, and their memory is not taken. */
TEST(a_number_of_a_thread_that_cannot_be_is_damage)
{
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0), far = thread_begin(&w, 1u << 22);
	struct sn_experiment *e;

	sn_writer_sample(&a, T0 + 1000, 1000, 0, 0, 0);
	sn_writer_sample(&far, T0 + 1000, 1000, 0, 0, 0);
	e = decoded(w.file.base, w.length);
	CHECK_INT(e->threads.count, 1);
	CHECK_INT(e->samples.count, 1);
	CHECK(e->is_salvaged);
	sn_experiment_free(e);
	free(w.file.base);
}

/* Writes the corpus of the fuzz target: SONDE_CORPUS=FOLDER test_experiment_decode writes_a_corpus
 */
TEST(writes_a_corpus)
{
	const char *folder = getenv("SONDE_CORPUS");
	struct written w = file_whole();
	char path[4096];
	FILE *out;

	if (!folder)
		SKIP("SONDE_CORPUS is not set");
	snprintf(path, sizeof(path), "%s/two-threads", folder);
	out = fopen(path, "w");
	REQUIRE(out);
	/* the header and two chunks are enough to begin with */
	fwrite(w.file.base, 1, sn_data_file_bytes(2), out);
	fclose(out);
}

/* A precise load that missed, and a counter in turn with others; then what damage may bring. */
TEST(counts_of_counters)
{
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_decoder decoder = { .experiment = e };
	struct written w = file_begin(7);
	struct sn_writer a = thread_begin(&w, 0);
	const uint64_t pcs[] = { 0x10020, 0x10100 };
	struct sn_record_counter *counter;

	write_map(&a, 0x10000, "/bin/app", T0);
	write_stack(&a, 1, 0, SN_STACK_COMPLETE, pcs, 2);
	counter = sn_writer_reserve(&a, sizeof(*counter), T0);
	*counter = (struct sn_record_counter){ .header = { SN_RECORD_COUNTER, 0, sizeof(*counter) },
					       .index = 2,
					       .period = 1000,
					       .name = "dcm" };
	sn_writer_commit(&a, sizeof(*counter));
	for (uint16_t i = 0; i < 4; i++) {
		uint16_t bytes = i == 1 ? SN_COUNT_BYTES_LEAST : sizeof(struct sn_record_count);
		struct sn_record_count *count = sn_writer_reserve(&a, bytes, T0 + i);
		struct sn_record_count whole = {
			.header = { SN_RECORD_COUNT, SN_COUNT_ADDRESS | SN_COUNT_EXACT, bytes },
			.stack = 1,
			.time_ns = T0 + i,
			.count = i == 3 ? UINT64_MAX : 1000,
			.counter = i == 2 ? 5 : 2,
			.counted_share = i == 1 ? 65535 / 2 : 65535,
			.pc = 0x10018,
			.address = 0x602040,
			.weight = 312
		};

		memcpy(count, &whole, bytes);
		sn_writer_commit(&a, bytes);
	}
	sn_decode_data(&decoder, w.file.base, w.length, "x");
	sn_decoder_finish(&decoder);
	CHECK_INT(e->events.count, 1);
	CHECK_STRING(e->events.items[0].name, "dcm");
	CHECK_INT(e->event_counts.count,
		  2); /* a counter that was never told of, and a count beyond all */
	CHECK_INT(e->event_counts.items[0].address, 0x602040);
	CHECK_INT(e->event_counts.items[0].weight, 312);
	CHECK(e->event_counts.items[0].count == 1000 && !e->event_counts.items[0].is_scaled);
	CHECK_INT(e->stacks.items[e->event_counts.items[0].stack].depth, 2);
	CHECK_INT(e->stacks.items[e->event_counts.items[0].stack].frames[0].link_addr,
		  0x10018 - 0xfc00);
	CHECK_INT(e->event_counts.items[1].flags, 0);
	CHECK(e->event_counts.items[1].is_scaled && e->event_counts.items[1].count > 1990 &&
	      e->event_counts.items[1].count < 2010);
	CHECK_INT(e->stacks.items[e->event_counts.items[1].stack].frames[0].link_addr,
		  0x10020 - 0xfc00);
	sn_experiment_free(e);
	free(w.file.base);
}
