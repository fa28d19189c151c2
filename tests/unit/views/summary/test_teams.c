/* More threads in OpenMP regions than there are CPUs, beside other programs. */
#include "views/summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"

/* Ten seconds of a thread: so many of work, a quarter of that spinning at barriers, waiting for one of
 * the two CPUs, and asleep in the OpenMP runtime for the rest. */
static void fill(struct fixture *f, uint32_t thread, double work_s, double wait_s)
{
	struct sn_time_account *a;
	unsigned ten_ms = (unsigned)(work_s * 100);

	fixture_samples(f, thread, fixture_stack(f, 0, 1, APP, LEAF_MAIN_LOOP), ten_ms * 3 / 4,
			10000);
	fixture_samples(f, thread, fixture_stack(f, 0, 2, LIBGOMP, BARRIER_SPIN, APP, MAIN),
			ten_ms / 4, 10000);
	a = &f->experiment->threads.items[thread].account;
	a->wait_cpu_ns = (int64_t)(wait_s * 1e9);
	a->blocked_ns = a->elapsed_ns - a->user_ns - a->system_ns - a->wait_cpu_ns;
}

static const struct sn_finding *finding(const struct sn_summary *s, enum sn_verdict_kind kind)
{
	for (size_t i = 0; i < s->verdict.count; i++)
		if (s->verdict.findings[i].kind == kind)
			return &s->verdict.findings[i];
	return NULL;
}

static struct sn_summary *summary_of(struct fixture *f, const double *work_s, const double *wait_s,
				     uint32_t threads)
{
	fixture_begin(f);
	for (uint32_t t = 0; t < threads; t++)
		fill(f, t ? fixture_add_thread(f, 0, 100 + (int32_t)t, "") : 0, work_s[t],
		     wait_s[t]);
	fixture_profile(f, NULL);
	return sn_summary_new(f->profile, NULL, NULL);
}

/* Never do more than two of them want a CPU at once: three sleep for the one that has none. */
TEST(a_busy_neighbour_does_not_hide_too_many_threads)
{
	static const double work_s[] = { 1.6, 1.6, 1.6, 1.6 }, wait_s[] = { 3.4, 3.4, 3.4, 3.4 };
	struct fixture f;
	struct sn_summary *s = summary_of(&f, work_s, wait_s, 4);
	const struct sn_finding *own = finding(s, SN_VERDICT_OVERSUBSCRIBED);

	CHECK_STRING(sn_verdict_kind_name(s->verdict.kind), "oversubscribed");
	REQUIRE(own != NULL);
	/* half of their waiting is theirs, as two of the four are too many: 17 % */
	CHECK(strstr(own->sentence, "4 threads on 2 CPUs wait for one 17.0 %") != NULL);
	CHECK(strstr(own->remedy, "no more threads than CPUs") != NULL);
	CHECK_INT(own->confidence, SN_TRUST_HIGH);
	/* the other half is the neighbour's */
	REQUIRE(finding(s, SN_VERDICT_WAITING_FOR_CPU) != NULL);
	CHECK_REAL(finding(s, SN_VERDICT_WAITING_FOR_CPU)->seconds, 6.8, 1e-6);
	sn_summary_free(s);
	fixture_end(&f);
}

/* Three on two, and the neighbour has more of it: sure is only that both are so. */
TEST(a_neighbour_that_has_more_of_it_makes_it_less_sure)
{
	static const double work_s[] = { 1.6, 1.6, 1.6 }, wait_s[] = { 4.4, 4.4, 4.4 };
	struct fixture f;
	struct sn_summary *s = summary_of(&f, work_s, wait_s, 3);

	REQUIRE(finding(s, SN_VERDICT_OVERSUBSCRIBED) != NULL);
	CHECK_INT(finding(s, SN_VERDICT_OVERSUBSCRIBED)->confidence, SN_TRUST_MEDIUM);
	sn_summary_free(s);
	fixture_end(&f);
}

TEST(as_many_threads_as_cpus_are_not_too_many)
{
	static const double work_s[] = { 1.6, 1.6 }, wait_s[] = { 6.4, 6.4 };
	struct fixture f;
	struct sn_summary *s = summary_of(&f, work_s, wait_s, 2);
	char *page = NULL;
	size_t length;
	FILE *out = open_memstream(&page, &length);

	CHECK(!finding(s, SN_VERDICT_OVERSUBSCRIBED));
	REQUIRE(finding(s, SN_VERDICT_WAITING_FOR_CPU) != NULL);
	CHECK_REAL(finding(s, SN_VERDICT_WAITING_FOR_CPU)->seconds, 12.8, 1e-6);
	/* the line has two causes, and one confidence for both */
	sn_summary_print(s, out, true, 100);
	fclose(out);
	CHECK(strstr(page, "Otherwise") != NULL);
	CHECK(strstr(page, "in both: ") != NULL); /* wherever the line breaks */
	free(page);
	sn_summary_free(s);
	fixture_end(&f);
}

/* One thread works, three sleep between short regions: what it waits for is not their doing. */
TEST(threads_that_hardly_share_the_work_are_not_too_many)
{
	static const double work_s[] = { 4, 0.2, 0.2, 0.2 }, wait_s[] = { 5, 0, 0, 0 };
	struct fixture f;
	struct sn_summary *s = summary_of(&f, work_s, wait_s, 4);

	CHECK(!finding(s, SN_VERDICT_OVERSUBSCRIBED));
	REQUIRE(finding(s, SN_VERDICT_WAITING_FOR_CPU) != NULL);
	CHECK_REAL(finding(s, SN_VERDICT_WAITING_FOR_CPU)->seconds, 5, 1e-6);
	sn_summary_free(s);
	fixture_end(&f);
}
