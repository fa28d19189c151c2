#include "machine/roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"
#include "machine/roof_kernels.h"

enum { BYTES = 64 * 1024 };

TEST(the_best_rate_on_which_windows_of_two_rounds_agree)
{
	struct sn_roof roof = { .kind = SN_ROOF_READ, .threads = 1 };
	/* 140 stands alone; 104, 102 and 101 are of two rounds */
	const double rates[] = { 104, 50, 140, 102, 101, 60 };
	const size_t counts[] = { 2, 2, 2 };

	sn_roof_settle(&roof, rates, counts, 3, NULL);
	CHECK(roof.state == SN_ROOF_MEASURED);
	CHECK(roof.value == 104);
	CHECK(roof.low == 50);
	CHECK(roof.high == 140);
}

TEST(windows_of_one_round_are_not_enough)
{
	struct sn_roof roof = { .kind = SN_ROOF_READ, .threads = 1 },
		       older = { SN_ROOF_READ, 0, 1, 120, 110, 130, SN_ROOF_MEASURED };
	const double rates[] = { 104, 103, 102, 50, 30 };
	const size_t counts[] = { 3, 2 };

	sn_roof_settle(&roof, rates, counts, 2, NULL);
	CHECK(roof.state == SN_ROOF_UNCERTAIN);
	CHECK(roof.value == 104);
	sn_roof_settle(&roof, rates, counts, 2, &older);
	CHECK(roof.state == SN_ROOF_KEPT);
	CHECK(roof.value == 120 && roof.low == 110 && roof.high == 130);
}

TEST(without_a_window_there_is_no_roof)
{
	struct sn_roof roof = { .kind = SN_ROOF_READ, .threads = 1 };
	const size_t counts[] = { 0, 0 };
	const double none = 0;

	sn_roof_settle(&roof, &none, counts, 2, NULL);
	CHECK(isnan(roof.value));
}

static void file_of(const char *text, char path[64])
{
	FILE *out;

	strcpy(path, "/tmp/sonde-roofs-XXXXXX");
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	out = fdopen(fd, "w");
	REQUIRE(out != NULL);
	fputs(text, out);
	fclose(out);
}

TEST(a_file_comes_back_as_it_was_written)
{
	struct sn_roofs roofs = { .host = "A Processor @ 3 GHz", .date = "2026-05-31" }, back;
	struct sn_error err;
	char path[64];

	sn_vec_push(&roofs.items,
		    ((struct sn_roof){ SN_ROOF_TRIAD, 3, 2, 2e10, 1e10, 3e10, SN_ROOF_KEPT }));
	sn_vec_push(&roofs.items, ((struct sn_roof){ SN_ROOF_FMA_SINGLE, SN_ROOF_NO_LEVEL, 1, 9e10,
						     8e10, 9e10, SN_ROOF_MEASURED }));
	file_of("", path);
	CHECK_INT(sn_roofs_write(&roofs, path, &err), SN_OK);
	CHECK_INT(sn_roofs_read(path, &back, &err), SN_OK);
	CHECK_STRING(back.host, "A Processor @ 3 GHz");
	CHECK_STRING(back.date, "2026-05-31");
	CHECK_INT(back.items.count, 2);
	CHECK(sn_roofs_find(&back, SN_ROOF_TRIAD, 3, 2)->value == 2e10);
	CHECK(sn_roofs_find(&back, SN_ROOF_TRIAD, 3, 2)->state == SN_ROOF_KEPT);
	CHECK(!sn_roofs_find(&back, SN_ROOF_TRIAD, 3, 1));
	CHECK_INT(sn_roofs_threads(&back), 2);
	sn_roofs_free(&back);
	sn_roofs_free(&roofs);
	unlink(path);
}

/* 5.7 G for one thread beside 21.8 G for two, as was once measured: a loop of sums alone stood in for that of both. */
TEST(one_thread_does_what_each_of_many_does)
{
	struct sn_roofs roofs = { 0 };
	const struct sn_roof *one;

	sn_vec_push(&roofs.items, ((struct sn_roof){ SN_ROOF_SCALAR_DOUBLE, SN_ROOF_NO_LEVEL, 1,
						     5.7e9, 5.4e9, 5.7e9, SN_ROOF_MEASURED }));
	sn_vec_push(&roofs.items, ((struct sn_roof){ SN_ROOF_SCALAR_DOUBLE, SN_ROOF_NO_LEVEL, 2,
						     21.8e9, 19e9, 21.8e9, SN_ROOF_MEASURED }));
	sn_vec_push(&roofs.items,
		    ((struct sn_roof){ SN_ROOF_READ, 3, 1, 2e10, 1e10, 2e10, SN_ROOF_MEASURED }));
	sn_vec_push(&roofs.items,
		    ((struct sn_roof){ SN_ROOF_READ, 3, 2, 8e10, 1e10, 8e10, SN_ROOF_MEASURED }));
	sn_roofs_reconcile(&roofs);
	one = &roofs.items.items[0];
	CHECK_REAL(one->value, 10.9e9, 1);
	CHECK_REAL(one->low, 5.4e9, 0);
	CHECK_REAL(one->high, 10.9e9, 1);
	CHECK_INT(one->state, SN_ROOF_UNCERTAIN);
	/* sets of memory differ in size */
	CHECK_REAL(roofs.items.items[2].value, 2e10, 0);
	sn_roofs_free(&roofs);
}

TEST(a_damaged_file_is_told_by_its_line)
{
	static const char *const damaged[] = {
		"roofs\t2\nhost\tx\nroof\tread\tL1\t1\t1\t1\t1\tmeasured\n",
		"roofs\t1\nroof\tread\tL1\t1\t1\t1\t1\tmeasured\n",
		"roofs\t1\nhost\tx\n",
		"roofs\t1\nhost\tx\nroof\tread\tL9\t1\t1\t1\t1\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tread\t-\t1\t1\t1\t1\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tfma_double\tL1\t1\t1\t1\t1\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t0\t1\t1\t1\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t1\t2\t3\t4\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t1\tnan\tnan\tnan\tmeasured\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t1\t1\t1\t1\tguessed\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t1\t1\t1\t1\tmeasured\textra\n",
		"roofs\t1\nhost\tx\nroof\tread\tL1\t1\t1\t1\t1\tmeasured\nroof\tread\tL1\t1\t1\t1\t1\tmeasured\n",
		"\177ELF",
	};

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		struct sn_roofs roofs;
		struct sn_error err;
		char path[64];

		file_of(damaged[i], path);
		CHECK_INT(sn_roofs_read(path, &roofs, &err), SN_ERR_FORMAT);
		CHECK(strstr(err.sentence, "line ") != NULL);
		sn_roofs_free(&roofs);
		unlink(path);
	}
}

TEST(cut_short_at_any_byte_it_reads_or_says_so)
{
	static const char whole[] = "roofs\t1\nhost\tx\ndate\t2026-05-31\n"
				    "roof\tread\tL1\t1\t2\t1\t3\tmeasured\n"
				    "roof\tscalar_double\t-\t1\t2\t1\t3\tkept\n";

	for (size_t length = 0; length < sizeof(whole); length++) {
		char text[sizeof(whole)] = "", path[64];
		struct sn_roofs roofs;
		struct sn_error err;

		memcpy(text, whole, length);
		file_of(text, path);
		sn_status status = sn_roofs_read(path, &roofs, &err);

		CHECK(status == SN_ERR_FORMAT || (status == SN_OK && roofs.items.count));
		sn_roofs_free(&roofs);
		unlink(path);
	}
}

/* The triad is a = b + 2 c on every element, and nothing beyond. */
TEST(the_triad_computes_what_it_says)
{
	static double a[1024 + 8] __attribute__((aligned(64))),
		b[1024] __attribute__((aligned(64))), c[1024] __attribute__((aligned(64)));
	bool is_right = true;

	for (int i = 0; i < 1024; i++) {
		b[i] = i;
		c[i] = 3 * i;
	}
	a[1024] = -1;
	sn_roof_triad((char *)a, (const char *)b, (const char *)c, 1024 * sizeof(double));
	for (int i = 0; i < 1024; i++)
		is_right = is_right && a[i] == 7 * i;
	CHECK(is_right);
	CHECK(a[1024] == -1);
}

/* Every loop that this processor has ends, and what it may not touch is left alone. */
TEST(loops_of_every_kind_run)
{
	static const double ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static char memory[BYTES] __attribute__((aligned(64)));
	double kept = 42;

	for (int k = SN_ROOF_SCALAR_DOUBLE; k < SN_ROOF_KINDS; k++) {
		struct sn_roof_loop loops[SN_ROOF_VARIANTS];

		sn_roof_loops_of((enum sn_roof_kind)k, loops);
		for (int v = 0; v < SN_ROOF_VARIANTS; v++) {
			if (!loops[v].run)
				continue;
			CHECK(loops[v].flops >= 12);
			loops[v].run(10, ones);
		}
	}
	sn_roof_read(memory, sizeof(memory));
	CHECK(kept == 42);
}

TEST(on_a_busy_machine_older_figures_stand)
{
	const struct sn_roof fresh[] = {
		{ SN_ROOF_READ, 3, 1, 2e10, 1e10, 2e10, SN_ROOF_MEASURED },
		{ SN_ROOF_READ, 3, 2, 8e10, 1e10, 8e10, SN_ROOF_MEASURED },
		{ SN_ROOF_READ, 2, 1, 9e10, 1e10, 9e10, SN_ROOF_MEASURED },
		{ SN_ROOF_READ, 2, 2, 9e10, 1e10, 9e10, SN_ROOF_UNCERTAIN },
	};
	struct sn_roofs roofs = { 0 }, older = { 0 };

	for (size_t i = 0; i < 4; i++)
		sn_vec_push(&roofs.items, fresh[i]);
	sn_roofs_of_busy_machine(&roofs, NULL);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(roofs.items.items[i].state, SN_ROOF_UNCERTAIN);
		roofs.items.items[i] = fresh[i];
	}
	for (size_t i = 0; i < 3; i++)
		sn_vec_push(&older.items, fresh[i]);
	older.items.items[0].value = 1.5e10; /* measured: it stands */
	older.items.items[1] =
		(struct sn_roof){ SN_ROOF_READ, 3, 2, 7e10, 1e10, 7e10, SN_ROOF_UNCERTAIN };
	older.items.items[2] =
		(struct sn_roof){ SN_ROOF_READ, 2, 1, 9.9e10, 1e10, 9.9e10, SN_ROOF_UNCERTAIN };
	sn_roofs_of_busy_machine(&roofs, &older);
	CHECK_REAL(roofs.items.items[0].value, 1.5e10, 0);
	CHECK_INT(roofs.items.items[0].state, SN_ROOF_KEPT);
	CHECK_REAL(roofs.items.items[1].value, 8e10, 0); /* the better of two that are uncertain */
	CHECK_INT(roofs.items.items[1].state, SN_ROOF_UNCERTAIN);
	CHECK_REAL(roofs.items.items[2].value, 9.9e10, 0);
	CHECK_INT(roofs.items.items[2].state, SN_ROOF_UNCERTAIN);
	CHECK_INT(roofs.items.items[3].state, SN_ROOF_UNCERTAIN);
	sn_roofs_free(&roofs);
	sn_roofs_free(&older);
}
