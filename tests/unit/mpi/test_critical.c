#include "harness/tap.h"
#include "made_mpi.h"
#include "mpi/critical.h"

static char path[] = "/tmp/sonde-unit-mpi.XXXXXX";
static struct made_run run;

static struct sn_critical path_of_run(int64_t end_of_rank_0)
{
	struct sn_critical critical;
	struct sn_experiment *e;
	struct sn_mpi *mpi = NULL;
	struct sn_error err;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	e = made_experiment(&run, path);
	e->processes.items[0].end_ns = end_of_rank_0;
	tap_check(sn_mpi_read(e, &mpi, &err) == SN_OK, __FILE__, __LINE__, "reading");
	critical = sn_critical_of(e, mpi);
	unlink(path);
	sn_mpi_free(mpi);
	sn_experiment_free(e);
	return critical;
}

/* From the end to 0, without a gap. */
static bool is_whole(const struct sn_critical *critical)
{
	int64_t at = 2000000;

	for (size_t i = 0; i < critical->pieces.count; i++) {
		const struct sn_critical_piece *piece = &critical->pieces.items[i];

		if (piece->t1_ns != at || piece->t0_ns >= piece->t1_ns)
			return false;
		at = piece->t0_ns;
	}
	return at == 0;
}

static int64_t time_of(const struct sn_critical *critical, uint32_t process,
		       enum sn_critical_kind kind)
{
	int64_t sum = 0;

	for (size_t i = 0; i < critical->pieces.count; i++) {
		const struct sn_critical_piece *piece = &critical->pieces.items[i];

		if (piece->process == process && piece->kind == kind)
			sum += piece->t1_ns - piece->t0_ns;
	}
	return sum;
}

/* Rank 1 waits for rank 0 until 600: what it did before is not on the path. */
TEST(the_path_goes_over_to_the_late_sender)
{
	struct sn_critical critical;

	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, 0, 7, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	critical = path_of_run(1000);
	CHECK(is_whole(&critical));
	/* MPI_Init took rank 0 10 ns; of the receive 20 are left */
	CHECK_INT(time_of(&critical, 0, SN_CRITICAL_MPI), 10);
	CHECK_INT(time_of(&critical, 0, SN_CRITICAL_COMPUTE), 590);
	CHECK_INT(time_of(&critical, 1, SN_CRITICAL_MPI), 20);
	CHECK_INT(time_of(&critical, 1, SN_CRITICAL_COMPUTE), 2000000 - 620);
	sn_vec_free(&critical.pieces);
}

/* To and fro: rank 0 sends late, then waits for the answer of rank 1, and ends last. */
TEST(the_path_goes_to_and_fro)
{
	struct sn_critical critical;

	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, 0, 7, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	made_send(&run.ranks[1], 900, 910, 0, 8, 80);
	made_receive(&run.ranks[0], 650, 920, 1, 8, 1, 8, 80);
	critical = path_of_run(2000000);
	CHECK(is_whole(&critical));
	CHECK_INT(time_of(&critical, 1, SN_CRITICAL_COMPUTE), 280);
	CHECK_INT(time_of(&critical, 1, SN_CRITICAL_MPI), 20);
	CHECK_INT(time_of(&critical, 0, SN_CRITICAL_MPI), 30);
	sn_vec_free(&critical.pieces);
}

TEST(no_rank_no_path)
{
	struct sn_critical critical;

	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_mpi *mpi = NULL;
	struct sn_error err;
	CHECK(sn_mpi_read(e, &mpi, &err) == SN_OK);
	critical = sn_critical_of(e, mpi);
	CHECK(critical.pieces.count == 0);
	sn_mpi_free(mpi);
	sn_experiment_free(e);
}
