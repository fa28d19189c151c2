/* What a recorded start shows to repeat, of runs whose truth is known (profile/fixture.h). */
#include "search/online/found.h"

#include "harness/tap.h"
#include "profile/fixture.h"

enum { MS = 1000 }; /* of microseconds */

/* The rank calls leaf so often; between two calls it waits for the other one, if it comes first. */
static void rank(struct fixture *f, uint32_t thread, uint32_t process, unsigned rounds, bool waits)
{
	uint32_t leaf = fixture_stack(f, process, 2, APP, LEAF, APP, MAIN_OUTER);
	uint32_t wait = fixture_stack(f, process, 2, LIBMPI, MPI_SENDRECV, APP, MAIN_OUTER);

	for (unsigned i = 0; i < rounds; i++) {
		fixture_samples(f, thread, leaf, waits ? 300 : 400, 1 * MS);
		if (waits)
			fixture_samples(f, thread, wait, 100, 1 * MS);
	}
}

static sn_status found_in(unsigned rounds, struct sn_found_phase *found, struct sn_error *err)
{
	struct sn_analysis analysis = { 0 };
	struct fixture f;
	sn_status status;
	uint32_t other;

	fixture_begin(&f);
	fixture_add_mpi(&f);
	other = fixture_add_process(&f, 200);
	f.experiment->processes.items[0].rank = 0;
	f.experiment->processes.items[other].rank = 1;
	rank(&f, 0, 0, rounds, true);
	rank(&f, fixture_add_thread(&f, other, 200, "app"), other, rounds, false);
	fixture_profile(&f, NULL);
	analysis.profile = f.profile;
	analysis.experiment = f.experiment;
	analysis.structures = sn_structures_new(f.experiment);
	status = sn_found_phase_of(&analysis, found, err);
	sn_structures_free(analysis.structures);
	fixture_end(&f);
	return status;
}

/* Of the rank that comes last samples see one long call. What the other one repeats ten times is enough. */
TEST(what_one_of_the_ranks_repeats_is_found)
{
	struct sn_found_phase found;
	struct sn_error err;

	REQUIRE(found_in(12, &found, &err) == SN_OK);
	CHECK(found.passed >= 12);
	sn_found_phase_free(&found);
}

TEST(a_few_rounds_are_no_cycle)
{
	struct sn_found_phase found;
	struct sn_error err;

	CHECK(found_in(5, &found, &err) == SN_ERR_NO_DATA);
	sn_found_phase_free(&found);
}
