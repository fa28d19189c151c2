#include <math.h>
#include <string.h>

#include "../made_mpi.h"
#include "harness/tap.h"
#include "mpi/lattice/order.h"

static char path[] = "/tmp/sonde-unit-order.XXXXXX";
static struct made_run run;
static struct sn_time_account
	account; /* of rank 0's thread, which is there if it has elapsed time */
static int64_t
	sampled_ns; /* CPU time of each of its samples, at 300, 600, 1300, 1600 ... 8600; 0: none */

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

struct ordered {
	struct sn_experiment *e;
	struct sn_program *program;
	struct sn_mpi *mpi;
	struct sn_mpi_points points;
	struct sn_mpi_order order;
	sn_status status;
};

/* `label` is told by rank 0 at 305; `observe` may be NULL. */
static struct ordered order_run(const char *observe, const char *label)
{
	static const struct sn_resolver resolver = { .resolve = resolve_nothing };
	struct ordered o = { 0 };
	struct sn_error err;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	close(mkstemp(path));
	o.e = made_experiment(&run, path);
	if (label)
		sn_vec_push(&o.e->packets, (struct sn_packet){ .time_ns = 305,
							       .kind = SN_PACKET_LABEL,
							       .label = label });
	if (account.elapsed_ns)
		sn_vec_push(&o.e->threads, (struct sn_thread){ .account = account });
	for (int64_t k = 0; sampled_ns && k < 16; k++)
		sn_vec_push(&o.e->samples,
			    (struct sn_sample){ .time_ns = 1000 * (k / 2) + 300 * (1 + k % 2),
						.stack = SN_NONE,
						.cpu_ns = (uint64_t)sampled_ns });
	o.program = sn_program_new(o.e, &resolver);
	tap_check(sn_mpi_read(o.e, &o.mpi, &err) == SN_OK, __FILE__, __LINE__, "reading");
	if (observe)
		tap_check(sn_mpi_points_add(&o.points, observe, &err) == SN_OK, __FILE__, __LINE__,
			  observe);
	o.status = sn_mpi_order_make(o.program, o.mpi, &o.points, &o.order, &err);
	unlink(path);
	return o;
}

static void ordered_free(struct ordered *o)
{
	sn_mpi_order_free(&o->order);
	sn_mpi_points_free(&o->points);
	sn_mpi_free(o->mpi);
	sn_program_free(o->program);
	sn_experiment_free(o->e);
}

/* Points of q in the past of point `done` of p. */
static uint32_t past(const struct ordered *o, uint32_t p, uint32_t done, uint32_t q)
{
	return sn_lattice_past(&o->order.execution->observed, p, done)[q];
}

TEST(a_message_comes_before_its_receive)
{
	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 110, 1, 7, 8);
	made_send(&run.ranks[0], 120, 130, 1, 7, 8);
	made_receive(&run.ranks[1], 50, 140, 0, 7, 0, 7, 8);
	struct ordered o = order_run(NULL, NULL);
	REQUIRE(o.status == SN_OK);
	CHECK(o.order.execution->observed.counts[0] == 2);
	CHECK(o.order.execution->observed.counts[1] == 1);
	CHECK(past(&o, 1, 1, 0) == 1 && past(&o, 0, 2, 1) == 0);
	CHECK(o.order.wildcards == 0 && o.order.races.count == 0);
	ordered_free(&o);
}

TEST(a_barrier_waits_for_all_and_begins_before_none)
{
	made_begin(&run, 3);
	for (int r = 0; r < 3; r++) {
		made_send(&run.ranks[r], 100, 110, (r + 1) % 3, 1, 8);
		made_collective(&run.ranks[r], made_MPI_Barrier, 200, 300, -1, 0);
	}
	struct ordered o = order_run(NULL, NULL);
	REQUIRE(o.status == SN_OK);
	for (uint32_t p = 0; p < 3; p++)
		for (uint32_t q = 0; q < 3; q++) {
			CHECK(past(&o, p, 1, q) == (p == q));
			CHECK(past(&o, p, 2, q) == (p == q ? 2 : 1));
		}
	ordered_free(&o);
}

TEST(a_broadcast_orders_from_the_root_and_a_reduce_to_it)
{
	made_begin(&run, 3);
	for (int r = 0; r < 3; r++) {
		made_collective(&run.ranks[r], made_MPI_Reduce, 100, 150, 1, 8);
		made_collective(&run.ranks[r], made_MPI_Bcast, 200, 250, 2, 8);
	}
	struct ordered o = order_run("kind=collective", NULL);
	REQUIRE(o.status == SN_OK);
	CHECK(past(&o, 1, 1, 0) == 1 && past(&o, 1, 1, 2) == 1);
	CHECK(past(&o, 0, 1, 1) == 0 && past(&o, 2, 1, 1) == 0);
	CHECK(past(&o, 0, 2, 2) == 2 && past(&o, 0, 2, 1) == 0);
	CHECK(past(&o, 2, 2, 0) == 0);
	ordered_free(&o);
}

TEST(a_wildcard_that_could_have_met_another_is_found)
{
	made_begin(&run, 3);
	made_send(&run.ranks[1], 100, 110, 0, 7, 8);
	made_send(&run.ranks[2], 100, 110, 0, 7, 8);
	made_receive(&run.ranks[0], 50, 120, SN_MPI_ANY, 7, 1, 7, 8);
	made_receive(&run.ranks[0], 130, 140, SN_MPI_ANY, 7, 2, 7, 8);
	struct ordered o = order_run(NULL, NULL);
	REQUIRE(o.status == SN_OK && o.order.races.count == 1);
	CHECK(o.order.wildcards == 2);
	const struct sn_execution_event *events = o.order.execution->events;
	CHECK(events[o.order.races.items[0].receive].process == 0);
	CHECK(events[o.order.races.items[0].sent].process == 1);
	CHECK(events[o.order.races.items[0].other].process == 2);
	ordered_free(&o);
}

TEST(one_that_was_sent_because_of_the_receive_is_no_race)
{
	made_begin(&run, 3);
	made_send(&run.ranks[1], 100, 110, 0, 7, 8);
	made_receive(&run.ranks[0], 50, 120, SN_MPI_ANY, 7, 1, 7, 8);
	made_send(&run.ranks[0], 130, 140, 2, 9, 8);
	made_receive(&run.ranks[2], 50, 150, 0, 9, 0, 9, 8);
	made_send(&run.ranks[2], 160, 170, 0, 7, 8);
	made_receive(&run.ranks[0], 160, 180, SN_MPI_ANY, 7, 2, 7, 8);
	struct ordered o = order_run(NULL, NULL);
	REQUIRE(o.status == SN_OK);
	CHECK(o.order.wildcards == 2 && o.order.races.count == 0);
	ordered_free(&o);
}

TEST(labels_are_points_when_asked_for)
{
	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 110, 1, 7, 8);
	made_send(&run.ranks[0], 300, 310, 1, 8, 8);
	made_receive(&run.ranks[1], 50, 320, 0, 8, 0, 8, 8);
	struct ordered o = order_run("label=*", "here");
	REQUIRE(o.status == SN_OK);
	CHECK(o.order.execution->observed.counts[0] == 1);
	CHECK(o.order.execution->observed.counts[1] == 0);
	CHECK(!strcmp(sn_execution_observed(o.order.execution, 0, 1)->label, "here"));
	ordered_free(&o);
	made_begin(&run, 2);
	made_send(&run.ranks[0], 100, 110, 1, 7, 8);
	made_send(&run.ranks[0], 400, 410, 1, 8, 8);
	o = order_run("zone=here", "here");
	REQUIRE(o.status == SN_OK);
	CHECK(o.order.execution->observed.counts[0] == 1);
	ordered_free(&o);
}

TEST(one_slow_time_of_many_is_no_slow_rank)
{
	made_begin(&run, 2);
	for (uint64_t i = 0; i < 8; i++)
		made_send(&run.ranks[0], 1000 * (i + 1) + (i == 7 ? 400000 : 0),
			  1000 * (i + 1) + 10 + (i == 7 ? 400000 : 0), 1, 7, 8);
	struct ordered o = order_run(NULL, NULL);
	REQUIRE(o.status == SN_OK && o.order.execution->observed.counts[0] == 8);
	CHECK(sn_execution_observed(o.order.execution, 0, 8)->duration_s < 2e-6);
	ordered_free(&o);
}

/* Of rank 0, which sends every 1000 ns and needs 10 ns to send. */
static double seconds_of_a_point(void)
{
	made_begin(&run, 2);
	for (uint64_t i = 0; i < 8; i++)
		made_send(&run.ranks[0], 1000 * (i + 1), 1000 * (i + 1) + 10, 1, 7, 8);
	struct ordered o = order_run(NULL, NULL);
	double seconds = sn_execution_observed(o.order.execution, 0, 5)->duration_s;
	ordered_free(&o);
	return seconds;
}

TEST(waiting_for_a_cpu_is_no_work)
{
	CHECK(fabs(seconds_of_a_point() - 1000e-9) < 1e-12);
	account = (struct sn_time_account){ .elapsed_ns = 10000, .wait_cpu_ns = 7500 };
	CHECK(fabs(seconds_of_a_point() - 250e-9) < 1e-12); /* of 990 and of 10 */
	sampled_ns = 50; /* so 100 before each send; no sample lies in a send itself */
	CHECK(fabs(seconds_of_a_point() - 102.5e-9) < 1e-12);
	account.wait_cpu_ns = -1;
	sampled_ns = 0;
	CHECK(fabs(seconds_of_a_point() - 1000e-9) < 1e-12);
	account = (struct sn_time_account){ 0 };
}

TEST(what_is_wrong_in_points_is_said)
{
	static const char *const wrong[] = { "zone", "zone=",  "place=x",    "line=x",
					     "line", "line=0", "kind=sends", "kind=send,x" };
	struct sn_mpi_points points = { 0 };
	struct sn_error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(sn_mpi_points_add(&points, wrong[i], &err) == SN_ERR_USAGE);
	CHECK(sn_mpi_points_add(&points, "line=a.c:7", &err) == SN_OK);
	sn_mpi_points_free(&points);
}

TEST(an_experiment_without_mpi_is_refused)
{
	static const struct sn_resolver resolver = { .resolve = resolve_nothing };
	struct sn_experiment *e = sn_experiment_new("x");
	struct sn_program *program = sn_program_new(e, &resolver);
	struct sn_mpi mpi = { 0 };
	struct sn_mpi_points points = { 0 };
	struct sn_mpi_order order;
	struct sn_error err;

	CHECK(sn_mpi_order_make(program, &mpi, &points, &order, &err) == SN_ERR_NO_DATA);
	CHECK(strstr(err.sentence, "--mpi"));
	sn_program_free(program);
	sn_experiment_free(e);
}
