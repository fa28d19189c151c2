/* Spools: batches are there whole or not at all, until the journal has them. */
#include "search/link/outbox.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "harness/tap.h"

static char *path_new(void)
{
	static char path[] = "/tmp/sonde-outbox.XXXXXX";
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? path : NULL;
}

static void batch_add(struct sn_outbox *o, size_t count)
{
	struct sn_text bodies[4] = { 0 };
	struct sn_error err;

	for (size_t i = 0; i < count; i++)
		sn_text_addf(&bodies[i], "body %zu", i);
	o->phase++;
	CHECK(sn_outbox_add(o, bodies, count, &err) == SN_OK);
	for (size_t i = 0; i < count; i++)
		sn_text_free(&bodies[i]);
}

TEST(what_the_journal_has_not_is_there_in_the_next_life)
{
	const char *path = path_new();
	struct sn_outbox o;
	struct sn_error err;

	REQUIRE(path && sn_outbox_open(path, 5, 1, &o, &err) == SN_OK);
	o.began_ns = 77;
	batch_add(&o, 3);
	batch_add(&o, 2);
	CHECK_INT((int64_t)sn_vec_last(&o.epochs).count, 5);
	sn_outbox_close(&o);
	REQUIRE(sn_outbox_open(path, 5, 2, &o, &err) == SN_OK);
	CHECK_INT(o.phase, 2);
	CHECK_INT(o.began_ns, 77);
	CHECK_INT((int64_t)o.unacked, 5);
	CHECK_INT((int64_t)sn_vec_last(&o.epochs).count, 0);
	batch_add(&o, 1);
	sn_outbox_ack(&o, 1, 5);
	CHECK_INT((int64_t)o.unacked, 1);
	sn_outbox_ack(&o, 1, 9); /* the first life made no more than five */
	CHECK_INT((int64_t)o.unacked, 1);
	sn_outbox_ack(&o, 2, 1);
	CHECK_INT((int64_t)o.frames.count, 0);
	sn_outbox_close(&o);
	REQUIRE(sn_outbox_open(path, 5, 3, &o, &err) == SN_OK);
	CHECK_INT((int64_t)o.unacked, 0);
	CHECK_INT(o.phase, 3);
	REQUIRE(o.epochs.count == 3);
	CHECK_INT((int64_t)o.epochs.items[0].count, 5);
	CHECK_INT((int64_t)o.epochs.items[1].count, 1);
	CHECK_INT((int64_t)o.epochs.items[2].count, 0);
	sn_outbox_close(&o);
	unlink(path);
}

/* At every byte at which a write can be cut: a whole number of batches, and a phase that fits. */
TEST(a_spool_that_is_cut_has_whole_batches)
{
	const char *path = path_new();
	struct sn_file_view view;
	struct sn_outbox o;
	struct sn_error err;

	REQUIRE(path && sn_outbox_open(path, 5, 1, &o, &err) == SN_OK);
	batch_add(&o, 3);
	batch_add(&o, 3);
	sn_outbox_close(&o);
	REQUIRE(sn_file_map(path, &view, &err) == SN_OK);
	for (size_t length = 0; length <= view.length; length++) {
		memset(&o, 0, sizeof(o));
		sn_outbox_read_memory(view.bytes, length, &o);
		CHECK_INT((int64_t)o.unacked, 3 * (int64_t)o.phase);
		if (o.phase)
			CHECK_INT((int64_t)o.epochs.items[0].count, 3 * (int64_t)o.phase);
		sn_outbox_close(&o);
	}
	sn_file_unmap(&view);
	unlink(path);
}

/* What cannot be written was never made: its numbers are given again. */
TEST(without_room_nothing_is_made)
{
	const char *path = path_new();
	struct sn_text body = { 0 };
	struct sn_outbox o;
	struct sn_error err;

	REQUIRE(path && sn_outbox_open(path, 5, 1, &o, &err) == SN_OK);
	sn_text_add(&body, "body");
	unlink(path);
	CHECK(sn_outbox_add(&o, &body, 1, &err) != SN_OK);
	CHECK_INT((int64_t)sn_vec_last(&o.epochs).count, 0);
	CHECK_INT((int64_t)o.unacked, 0);
	sn_text_free(&body);
	sn_outbox_close(&o);
}

/* A write that has room for a part of it only. */
TEST(behind_a_write_that_was_cut_results_stay)
{
	const char *path = path_new();
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };
	struct sn_text body = { 0 };
	struct sn_outbox o;
	struct stat facts;
	struct sn_error err;

	REQUIRE(path && sn_outbox_open(path, 5, 1, &o, &err) == SN_OK && !stat(path, &facts));
	signal(SIGXFSZ, SIG_IGN);
	sn_text_add(&body, "a body");
	limit.rlim_cur = (rlim_t)facts.st_size + 20;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(sn_outbox_add(&o, &body, 1, &err) != SN_OK);
	limit.rlim_cur = RLIM_INFINITY;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(sn_outbox_add(&o, &body, 1, &err) == SN_OK);
	sn_outbox_close(&o);
	REQUIRE(sn_outbox_open(path, 5, 2, &o, &err) == SN_OK);
	CHECK_INT((int64_t)o.unacked, 1);
	sn_outbox_close(&o);
	sn_text_free(&body);
	unlink(path);
}

/* A spool that cannot be written anew is used as it is. */
TEST(without_room_an_old_spool_goes_on)
{
	const char *path = path_new();
	struct rlimit limit = { .rlim_max = RLIM_INFINITY };
	struct sn_outbox o;
	struct sn_error err;

	REQUIRE(path && sn_outbox_open(path, 5, 1, &o, &err) == SN_OK);
	batch_add(&o, 3);
	sn_outbox_close(&o);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = 10;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(sn_outbox_open(path, 5, 2, &o, &err) == SN_OK);
	CHECK_INT((int64_t)o.unacked, 3);
	limit.rlim_cur = RLIM_INFINITY;
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &limit));
	batch_add(&o, 2);
	sn_outbox_close(&o);
	REQUIRE(sn_outbox_open(path, 5, 3, &o, &err) == SN_OK);
	CHECK_INT((int64_t)o.unacked, 5);
	sn_outbox_close(&o);
	unlink(path);
}
