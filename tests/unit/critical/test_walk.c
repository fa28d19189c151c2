#include "critical/critical.h"
#include "harness/tap.h"
#include "mpi/made_mpi.h"

static char path[] = "/tmp/sonde-unit-mpi.XXXXXX";
static struct made_run run;

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

static const struct sn_resolver resolver = { NULL, NULL, resolve_nothing };

static struct sn_critical *path_of_run(int64_t end_of_rank_0)
{
	struct sn_critical *critical;
	struct sn_program *program;
	struct sn_experiment *e;
	struct sn_mpi *mpi = NULL;
	struct sn_error err;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	e = made_experiment(&run, path);
	e->processes.items[0].end_ns = end_of_rank_0;
	tap_check(sn_mpi_read(e, &mpi, &err) == SN_OK, __FILE__, __LINE__, "reading");
	program = sn_program_new(e, &resolver);
	critical = sn_critical_of(program, mpi, NULL);
	/* what has no function is nothing that could be faster */
	CHECK_INT(sn_critical_halved_ns(critical, SN_CRITICAL_COMPUTE, 12345), e->elapsed_ns);
	unlink(path);
	sn_program_free(program);
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
	struct sn_critical *critical;

	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, 0, 7, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	critical = path_of_run(1000);
	CHECK(is_whole(critical));
	/* MPI_Init took rank 0 10 ns; of the receive 20 are left */
	CHECK_INT(time_of(critical, 0, SN_CRITICAL_MPI), 10);
	CHECK_INT(time_of(critical, 0, SN_CRITICAL_COMPUTE), 590);
	CHECK_INT(time_of(critical, 1, SN_CRITICAL_MPI), 20);
	CHECK_INT(time_of(critical, 1, SN_CRITICAL_COMPUTE), 2000000 - 620);
	sn_critical_free(critical);
}

/* To and fro: rank 0 sends late, then waits for the answer of rank 1, and ends last. */
TEST(the_path_goes_to_and_fro)
{
	struct sn_critical *critical;

	made_begin(&run, 2);
	made_receive(&run.ranks[1], 100, 620, 0, 7, 0, 7, 80);
	made_send(&run.ranks[0], 600, 610, 1, 7, 80);
	made_send(&run.ranks[1], 900, 910, 0, 8, 80);
	made_receive(&run.ranks[0], 650, 920, 1, 8, 1, 8, 80);
	critical = path_of_run(2000000);
	CHECK(is_whole(critical));
	CHECK_INT(time_of(critical, 1, SN_CRITICAL_COMPUTE), 280);
	CHECK_INT(time_of(critical, 1, SN_CRITICAL_MPI), 20);
	CHECK_INT(time_of(critical, 0, SN_CRITICAL_MPI), 30);
	sn_critical_free(critical);
}

TEST(no_rank_no_path)
{
	struct sn_critical *critical;
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_program *program = sn_program_new(e, &resolver);
	struct sn_mpi *mpi = NULL;
	struct sn_error err;

	CHECK(sn_mpi_read(e, &mpi, &err) == SN_OK);
	critical = sn_critical_of(program, mpi, NULL);
	CHECK(critical->pieces.count == 0);
	CHECK_INT(sn_critical_halved_ns(critical, SN_CRITICAL_COMPUTE, 0), -1);
	sn_critical_free(critical);
	sn_program_free(program);
	sn_mpi_free(mpi);
	sn_experiment_free(e);
}
