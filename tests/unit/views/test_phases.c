#include "views/phases.h"

#include <stdlib.h>
#include <string.h>

#include "harness/tap.h"
#include "profile/fixture.h"

/* main > fib for 0.8 s, main > leaf's loop for 0.8 s, fib again for 0.4 s. */
static struct sn_phases *two_phases(struct fixture *f)
{
	uint32_t fib, leaf;
	struct sn_phases *phases = NULL;
	struct sn_error err;

	fixture_begin(f);
	fib = fixture_stack(f, 0, 2, APP, FIB, APP, MAIN);
	leaf = fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN);
	fixture_samples(f, 0, fib, 800, 1000);
	fixture_samples(f, 0, leaf, 800, 1000);
	fixture_samples(f, 0, fib, 400, 1000);
	fixture_profile(f, NULL);
	REQUIRE(sn_phases_new(f->profile, NULL, &phases, &err) == SN_OK);
	return phases;
}

static char *shown(const struct sn_phases *phases, bool by_interval, enum sn_format format)
{
	struct sn_table_view how = { .format = format, .width = 160 };
	struct sn_error err;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	CHECK_INT(sn_phases_show(phases, by_interval, &how, out, &err), SN_OK);
	fclose(out);
	return text;
}

static size_t lines_of(const char *text)
{
	size_t count = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		count++;
	return count;
}

TEST(text_has_the_sites_and_what_they_rest_on)
{
	struct fixture f;
	struct sn_phases *phases = two_phases(&f);
	char *text = shown(phases, false, SN_FORMAT_TEXT);

	CHECK(strstr(text, "2 phases in 21 intervals of 0.1 s (chosen by itself)") == text);
	CHECK(strstr(text, "fib") != NULL);
	CHECK(strstr(text, "leaf") != NULL);
	CHECK(strstr(text, "chose k = 2") != NULL);
	CHECK(strstr(text, "at least so many, for calls that follow each other at once") != NULL);
	free(text);
	sn_phases_free(phases);
	fixture_end(&f);
}

TEST(an_interval_is_a_row)
{
	struct fixture f;
	struct sn_phases *phases = two_phases(&f);
	char *text = shown(phases, true, SN_FORMAT_CSV);

	CHECK_INT(lines_of(text), 1 + phases->intervals->row_count);
	CHECK(strstr(text, "process,rank,t0_s,t1_s,phase,name,") == text);
	free(text);
	sn_phases_free(phases);
	fixture_end(&f);
}

TEST(a_run_beside_itself_is_alike_in_all)
{
	struct fixture f;
	struct sn_phases *phases = two_phases(&f);
	struct sn_table_view how = { .format = SN_FORMAT_CSV, .columns = "name,ratio,likeness" };
	struct sn_error err;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	CHECK_INT(sn_phases_show_pairs(phases, phases, &how, out, &err), SN_OK);
	fclose(out);
	CHECK_STRING(text, "name,ratio,likeness\nfib,1,1\nleaf,1,1\n");
	free(text);
	sn_phases_free(phases);
	fixture_end(&f);
}
