#include "harness/tap.h"
#include "made_mpi.h"
#include "mpi/mpi.h"

static char path[] = "/tmp/sonde-unit-mpi.XXXXXX";
static struct made_run run;

static struct sn_mpi *read_run(void)
{
	struct sn_experiment *e;
	struct sn_mpi *mpi = NULL;
	struct sn_error err;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	e = made_experiment(&run, path);
	tap_check(sn_mpi_read(e, &mpi, &err) == SN_OK, __FILE__, __LINE__, "reading");
	unlink(path);
	sn_experiment_free(e);
	return mpi;
}

/* The event of a rank that began then. */
static const struct sn_mpi_event *event_at(const struct sn_mpi *mpi, uint32_t process, int64_t t0)
{
	static const struct sn_mpi_event none;

	for (size_t i = 0; i < mpi->events.count; i++)
		if (mpi->events.items[i].process == process && mpi->events.items[i].t0_ns == t0)
			return &mpi->events.items[i];
	return &none;
}

TEST(a_late_sender_and_a_wildcard)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, SN_MPI_ANY, SN_MPI_ANY, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	mpi = read_run();
	CHECK(mpi->is_traced && mpi->rank_count == 2 && mpi->damaged == 0);
	REQUIRE(mpi->messages.count == 1);
	const struct sn_mpi_message *m = &mpi->messages.items[0];
	CHECK(m->from == 0 && m->to == 1 && m->tag == 7 && m->bytes == 80 && m->comm == 0 &&
	      m->state == SN_MPI_RECEIVED);
	CHECK(event_at(mpi, 1, 100)->wait == SN_MPI_LATE_SENDER);
	CHECK(event_at(mpi, 1, 100)->wait_ns == 500);
	CHECK(event_at(mpi, 1, 100)->bytes_in == 80 && event_at(mpi, 0, 600)->bytes_out == 80);
	CHECK(event_at(mpi, 0, 600)->wait == SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
}

TEST(a_late_receiver)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 920, 1, 0, 500);
	made_receive(&run.ranks[1], 900, 950, 0, 0, 0, 0, 500);
	mpi = read_run();
	CHECK(event_at(mpi, 0, 100)->wait == SN_MPI_LATE_RECEIVER);
	CHECK(event_at(mpi, 0, 100)->wait_ns == 800);
	sn_mpi_free(mpi);
}

/* Rank 1 waits for rank 0, while rank 2's message, which it receives next, is there. */
TEST(the_wrong_order)
{
	struct sn_mpi *mpi;

	made_begin(&run, 3);
	made_send(&run.ranks[2], 50, 60, 1, 0, 8);
	made_send(&run.ranks[0], 700, 710, 1, 0, 8);
	made_receive(&run.ranks[1], 100, 720, 0, 0, 0, 0, 8);
	made_receive(&run.ranks[1], 730, 740, 2, 0, 2, 0, 8);
	mpi = read_run();
	CHECK(event_at(mpi, 1, 100)->wait == SN_MPI_WRONG_ORDER);
	CHECK(event_at(mpi, 1, 100)->wait_ns == 600);
	CHECK(event_at(mpi, 1, 730)->wait == SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
}

static void made_probe(struct made_rank *made, uint64_t t0, uint64_t t1, int from, int tag)
{
	made_call(made, made_MPI_Probe, t0, t1);
	made_put(made, SN_MPI_PROBE, 4, made_signed(from), made_signed(tag), 0UL, 8UL);
}

/* It waits for the first message that nobody has asked for; a second probe of it waits for nobody. */
TEST(a_probe_waits_for_what_it_finds)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_send(&run.ranks[0], 50, 60, 1, 7, 8);
	made_send(&run.ranks[0], 600, 610, 1, 7, 8);
	made_send(&run.ranks[0], 900, 910, 1, 9, 8);
	made_receive(&run.ranks[1], 100, 110, 0, 7, 0, 7, 8);
	made_probe(&run.ranks[1], 200, 620, 0, 7);
	made_probe(&run.ranks[1], 630, 640, 0, 7);
	made_receive(&run.ranks[1], 650, 660, 0, 7, 0, 7, 8);
	made_probe(&run.ranks[1], 700, 920, 0, 9);
	mpi = read_run();
	CHECK_INT(mpi->probes.count, 3);
	CHECK_INT(event_at(mpi, 1, 200)->wait, SN_MPI_LATE_SENDER);
	CHECK_INT(event_at(mpi, 1, 200)->wait_ns, 400);
	CHECK_INT(event_at(mpi, 1, 630)->wait, SN_MPI_WAIT_NONE);
	CHECK_INT(event_at(mpi, 1, 700)->wait, SN_MPI_LATE_SENDER);
	CHECK_INT(event_at(mpi, 1, 700)->wait_ns, 200);
	sn_mpi_free(mpi);
}

static void made_exchange(struct made_rank *made, uint64_t t0, uint64_t t1, int with)
{
	made_call(made, made_MPI_Sendrecv, t0, t1);
	made_put(made, SN_MPI_SEND, 4, made_signed(with), made_signed(3), 0UL, 40UL);
	made_put(made, SN_MPI_RECV, 4, made_signed(with), made_signed(3), 0UL, 1000UL);
	made_put(made, SN_MPI_DONE, 3, made_signed(with), made_signed(3), 40UL);
}

/* Of a call that sends and receives the sending may have been over long before: its partner's message came late. */
TEST(an_exchange_waits_for_the_late_sender)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_exchange(&run.ranks[0], 600, 615, 1);
	made_exchange(&run.ranks[1], 100, 620, 0);
	mpi = read_run();
	CHECK_INT(event_at(mpi, 1, 100)->wait, SN_MPI_LATE_SENDER);
	CHECK_INT(event_at(mpi, 1, 100)->wait_ns, 500);
	CHECK_INT(event_at(mpi, 0, 600)->wait, SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
}

TEST(ranks_meet_as_they_end)
{
	struct sn_mpi *mpi;

	made_begin(&run, 3);
	for (int r = 0; r < 3; r++)
		made_call(&run.ranks[r], made_MPI_Finalize, 100 + 200 * (uint64_t)r, 520);
	mpi = read_run();
	CHECK_INT(mpi->endings.count, 3);
	CHECK_INT(event_at(mpi, 0, 100)->wait, SN_MPI_WAIT_AT_BARRIER);
	CHECK_INT(event_at(mpi, 0, 100)->wait_ns, 400);
	CHECK_INT(event_at(mpi, 1, 300)->wait_ns, 200);
	CHECK_INT(event_at(mpi, 2, 500)->wait, SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
	/* one left before the last one came */
	made_begin(&run, 3);
	for (int r = 0; r < 3; r++)
		made_call(&run.ranks[r], made_MPI_Finalize, 100 + 200 * (uint64_t)r, r ? 520 : 450);
	mpi = read_run();
	CHECK_INT(mpi->endings.count, 0);
	CHECK_INT(event_at(mpi, 0, 100)->wait, SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
}

TEST(messages_of_one_kind_keep_their_order)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 110, 1, 1, 10);
	made_send(&run.ranks[0], 120, 130, 1, 2, 20);
	made_send(&run.ranks[0], 140, 150, 1, 1, 30);
	made_receive(&run.ranks[1], 200, 210, 0, 2, 0, 2, 20);
	made_receive(&run.ranks[1], 220, 230, 0, SN_MPI_ANY, 0, 1, 10);
	mpi = read_run();
	REQUIRE(mpi->messages.count == 3);
	CHECK(mpi->events.items[mpi->messages.items[0].received].t0_ns == 220);
	CHECK(mpi->events.items[mpi->messages.items[1].received].t0_ns == 200);
	CHECK(mpi->messages.items[2].state == SN_MPI_UNRECEIVED &&
	      mpi->messages.items[2].bytes == 30);
	sn_mpi_free(mpi);
}

/* Requests complete in another order than they began; a handle comes again. */
TEST(requests_and_a_handle_that_is_used_again)
{
	struct made_rank *one = &run.ranks[1];
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 110, 1, 1, 10);
	made_send(&run.ranks[0], 120, 130, 1, 2, 20);
	made_send(&run.ranks[0], 140, 150, 1, 3, 30);
	made_call(one, made_MPI_Irecv, 20, 22);
	made_put_handle(one, SN_MPI_RECV, 0x5000, 4, made_signed(0), made_signed(1), 0UL, 100UL);
	made_call(one, made_MPI_Irecv, 24, 26);
	made_put_handle(one, SN_MPI_RECV, 0x6000, 4, made_signed(0), made_signed(2), 0UL, 100UL);
	made_call(one, made_MPI_Wait, 160, 165);
	made_put_handle(one, SN_MPI_DONE, 0x6000, 3, made_signed(0), made_signed(2), 20UL);
	made_call(one, made_MPI_Irecv, 170, 172);
	made_put_handle(one, SN_MPI_RECV, 0x6000, 4, made_signed(0), made_signed(3), 0UL, 100UL);
	made_call(one, made_MPI_Waitall, 180, 190);
	made_put_handle(one, SN_MPI_DONE, 0x5000, 3, made_signed(0), made_signed(1), 10UL);
	made_put_handle(one, SN_MPI_DONE, 0x6000, 3, made_signed(0), made_signed(3), 30UL);
	mpi = read_run();
	REQUIRE(mpi->messages.count == 3);
	for (int i = 0; i < 3; i++)
		CHECK(mpi->messages.items[i].state == SN_MPI_RECEIVED);
	CHECK(mpi->events.items[mpi->messages.items[1].received].t0_ns == 160);
	CHECK(mpi->events.items[mpi->messages.items[2].posted].t0_ns == 170);
	CHECK(event_at(mpi, 1, 180)->bytes_in == 40 && event_at(mpi, 1, 180)->messages == 2);
	sn_mpi_free(mpi);
}

TEST(who_waits_in_collective_operations)
{
	struct sn_mpi *mpi;

	made_begin(&run, 3);
	for (uint32_t r = 0; r < 3; r++) {
		struct made_rank *made = &run.ranks[r];
		uint64_t late = 100UL * (r + 1); /* rank 2 comes last */

		made_collective(made, made_MPI_Barrier, 1000 + late, 1310, -1, 0);
		made_collective(made, made_MPI_Allreduce, 2000 + late, 2310, -1, 8);
		made_collective(made, made_MPI_Reduce, 3000 + late, r ? 3010 + late : 3310, 0, 8);
		made_collective(made, made_MPI_Bcast, 4000 + late, r == 2 ? 4305 : 4310, 2, 8);
	}
	mpi = read_run();
	CHECK(mpi->operations.count == 4 && mpi->operations.items[0].is_whole);
	CHECK(event_at(mpi, 0, 1100)->wait == SN_MPI_WAIT_AT_BARRIER);
	CHECK(event_at(mpi, 0, 1100)->wait_ns == 200 && event_at(mpi, 1, 1200)->wait_ns == 100);
	CHECK(event_at(mpi, 2, 1300)->wait == SN_MPI_WAIT_NONE);
	CHECK(event_at(mpi, 1, 2200)->wait == SN_MPI_WAIT_AT_NXN);
	CHECK(event_at(mpi, 0, 3100)->wait == SN_MPI_EARLY_REDUCE);
	CHECK(event_at(mpi, 0, 3100)->wait_ns == 200);
	CHECK(event_at(mpi, 1, 3200)->wait == SN_MPI_WAIT_NONE);
	CHECK(event_at(mpi, 0, 4100)->wait == SN_MPI_LATE_BROADCAST);
	CHECK(event_at(mpi, 0, 4100)->wait_ns == 200);
	CHECK(event_at(mpi, 2, 4300)->wait == SN_MPI_WAIT_NONE);
	sn_mpi_free(mpi);
}

/* Its ranks number a communicator each in its own way, and ranks in it are not those of the world. */
TEST(a_communicator_that_is_turned_round)
{
	struct sn_mpi *mpi;

	made_begin(&run, 2);
	for (uint32_t r = 0; r < 2; r++) {
		made_call(&run.ranks[r], made_MPI_Comm_split, 50, 60);
		made_put(&run.ranks[r], SN_MPI_COMM, 9, 5UL + r, 1UL, made_signed(1 - r), 2UL, 0UL,
			 1UL, made_signed(1), made_signed(-1), 2UL);
	}
	made_call(&run.ranks[0], made_MPI_Send, 100, 110);
	made_put(&run.ranks[0], SN_MPI_SEND, 4, made_signed(0), made_signed(9), 5UL, 64UL);
	made_call(&run.ranks[1], made_MPI_Recv, 100, 120);
	made_put(&run.ranks[1], SN_MPI_RECV, 4, made_signed(1), made_signed(9), 6UL, 64UL);
	made_put(&run.ranks[1], SN_MPI_DONE, 3, made_signed(1), made_signed(9), 64UL);
	mpi = read_run();
	CHECK(mpi->comms.count == 2);
	REQUIRE(mpi->messages.count == 1);
	CHECK(mpi->messages.items[0].state == SN_MPI_RECEIVED && mpi->messages.items[0].from == 0 &&
	      mpi->messages.items[0].to == 1 && mpi->messages.items[0].comm == 1);
	sn_mpi_free(mpi);
}

/* Events that end anywhere and go on with others: what was whole before them is there. */
TEST(traces_that_are_cut)
{
	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, SN_MPI_ANY, SN_MPI_ANY, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	uint32_t whole = run.ranks[1].piece.committed_bytes;
	for (uint32_t bytes = sizeof(struct sn_trace_piece); bytes < whole; bytes++) {
		struct made_run all = run;
		struct sn_mpi *mpi;

		run.ranks[1].end = run.ranks[1].bytes + bytes;
		mpi = read_run();
		bool is_there = false;
		for (size_t i = 0; i < mpi->messages.count; i++)
			is_there |= mpi->messages.items[i].sent != SN_NONE &&
				    mpi->messages.items[i].tag == 7;
		CHECK(is_there);
		sn_mpi_free(mpi);
		run = all;
		for (uint32_t r = 0; r < 2; r++)
			run.ranks[r].end = run.ranks[r].bytes + run.ranks[r].piece.committed_bytes;
	}
}
