#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"
#include "trace/trace.h"

static char path[] = "/tmp/sonde-unit-trace.XXXXXX";

static struct sn_trace_piece piece_of(enum sn_trace_kind kind, uint64_t number, int32_t pid,
				      uint64_t tsc, int64_t ns)
{
	return (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
					.committed_bytes = sizeof(struct sn_trace_piece),
					.number = number,
					.pid = pid,
					.kind = kind,
					.base_ns = ns,
					.base_tsc = tsc };
}

static struct sn_trace_account account_of(int32_t pid, uint32_t kinds, uint64_t lost)
{
	struct sn_trace_account account = { .piece = piece_of(SN_TRACE_ACCOUNT, UINT64_MAX, pid, 0,
							      0) };

	account.piece.committed_bytes = sizeof(account);
	account.piece.thread_index = kinds;
	account.lost[SN_TRACE_HEAP] = lost;
	account.ticks[SN_TRACE_HEAP] = 500;
	return account;
}

/* An experiment of the processes 7 and 8, whose trace has these bytes. */
static struct sn_experiment *experiment_of(const void *bytes, size_t length)
{
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	out = fdopen(mkstemp(path), "w");
	fwrite(bytes, 1, length, out);
	fclose(out);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h" });
	sn_vec_push(&e->processes,
		    (struct sn_process){ .pid = 8, .host = "h", .clock_offset_ns = -1000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	return e;
}

/* These pieces tell no time of their own. */
static struct sn_trace_instant last_of(const struct sn_trace_item *item)
{
	return (struct sn_trace_instant){ item->piece->base_tsc, item->piece->base_ns };
}

static sn_status open_kind(struct sn_trace_pieces *pieces, const struct sn_experiment *e,
			   enum sn_trace_kind kind)
{
	struct sn_error err;
	sn_status status = sn_trace_pieces_open(pieces, e, kind, last_of, &err);

	unlink(path);
	return status;
}

TEST(pieces_of_one_kind_in_the_order_of_time)
{
	struct {
		struct sn_trace_piece pieces[5];
		struct sn_trace_account account;
	} file = { .pieces = { piece_of(SN_TRACE_HEAP, 2, 7, 3000, 2000),
			       piece_of(SN_TRACE_MPI, 1, 7, 2000, 1500),
			       piece_of(SN_TRACE_HEAP, 0, 7, 1000, 1000),
			       piece_of(SN_TRACE_HEAP, 2, 7, 3000, 2000), /* copied twice */
			       piece_of(SN_TRACE_HEAP, 0, 9, 1000, 1000) /* of no process */ },
		   .account = account_of(7, 1u << SN_TRACE_HEAP, 3) };
	struct sn_experiment *e = experiment_of(&file, sizeof(file));
	struct sn_trace_pieces pieces;

	CHECK(open_kind(&pieces, e, SN_TRACE_HEAP) == SN_OK);
	CHECK(pieces.items.count == 2);
	CHECK(pieces.items.items[0].piece->number == 0 && pieces.items.items[1].piece->number == 2);
	CHECK(pieces.is_traced && pieces.lost == 3 && pieces.damaged == 1);
	/* from its first piece to its last, 2000 ticks were 1000 ns */
	CHECK(sn_trace_time_ns(&pieces.clocks[0], 2000) == 1500);
	CHECK(sn_trace_overhead_ns(&pieces, 0) == 250);
	sn_trace_pieces_close(&pieces);
	sn_experiment_free(e);
}

TEST(a_kind_that_nobody_traced)
{
	struct sn_trace_account account = account_of(7, 1u << SN_TRACE_HEAP, 0);
	struct sn_experiment *e = experiment_of(&account, sizeof(account));
	struct sn_trace_pieces pieces;

	CHECK(open_kind(&pieces, e, SN_TRACE_MPI) == SN_OK && !pieces.is_traced);
	sn_trace_pieces_close(&pieces);
	sn_experiment_free(e);
	e = experiment_of(&account, sizeof(account));
	CHECK(open_kind(&pieces, e, SN_TRACE_HEAP) == SN_OK && pieces.is_traced);
	sn_trace_pieces_close(&pieces);
	sn_experiment_free(e);
}

TEST(a_file_that_ends_within_a_piece)
{
	struct sn_trace_piece file[] = { piece_of(SN_TRACE_HEAP, 0, 8, 1000, 5000),
					 piece_of(SN_TRACE_HEAP, 1, 8, 2000, 6000) };
	struct sn_experiment *e = experiment_of(file, sizeof(file) - 1);
	struct sn_trace_pieces pieces;

	CHECK(open_kind(&pieces, e, SN_TRACE_HEAP) == SN_OK);
	CHECK(pieces.items.count == 1 && pieces.damaged == 1);
	/* the experiment's time */
	CHECK(sn_trace_time_ns(&pieces.clocks[1], 1000) == 4000);
	sn_trace_pieces_close(&pieces);
	sn_experiment_free(e);
}

TEST(numbers_as_they_are_put)
{
	static const uint64_t values[] = { 0, 127, 128, 300, UINT64_MAX };
	uint8_t bytes[64], *end = bytes;
	const uint8_t *next = bytes;
	uint64_t value;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		end = sn_trace_put(end, values[i]);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		CHECK(sn_trace_number(&next, end, &value) && value == values[i]);
	CHECK(!sn_trace_number(&next, end, &value));
	CHECK(sn_trace_unzigzag(sn_trace_zigzag(-5)) == -5 &&
	      sn_trace_unzigzag(sn_trace_zigzag(INT64_MIN)) == INT64_MIN);
}
