/* What agents of a program's hosts tell is read as it was written, and nothing that is cut short is. */
#include "search/online/nodes.h"

#include <string.h>

#include "base/alloc.h"
#include "harness/tap.h"

static void window_fill(struct sn_mri_window *w)
{
	*w = (struct sn_mri_window){ .from_ns = 100,
				     .to_ns = 900,
				     .executions = 4,
				     .processes = 1,
				     .overhead_ns = 55,
				     .traces = 24 };
	w->host = sn_strdup("alpha");
	sn_vec_push(&w->threads, (struct sn_mri_thread){ 7, 8, 800, 700, -1 });
	sn_vec_push(&w->faults, (struct sn_mri_faults){ 7, 20, 1 });
}

TEST(a_window_is_read_as_it_was_written)
{
	struct sn_mri_window w;
	struct sn_text body = { 0 };
	struct sn_told told;

	window_fill(&w);
	sn_told_window(3, &w, &body);
	REQUIRE(sn_told_read((const uint8_t *)body.chars, body.length, &told));
	CHECK_INT(told.kind, SN_TOLD_WINDOW);
	CHECK_INT(told.step, 3);
	CHECK_STRING(told.window.host, "alpha");
	CHECK(told.window.from_ns == 100 && told.window.to_ns == 900 &&
	      told.window.executions == 4 && told.window.overhead_ns == 55 &&
	      told.window.traces == 24);
	REQUIRE(told.window.threads.count == 1 && told.window.faults.count == 1);
	CHECK(told.window.threads.items[0].tid == 8 &&
	      told.window.threads.items[0].wait_cpu_ns == -1);
	CHECK(told.window.faults.items[0].minor == 20);
	sn_told_free(&told);
	for (size_t length = 0; length < body.length; length++) {
		CHECK(!sn_told_read((const uint8_t *)body.chars, length, &told));
		sn_told_free(&told);
	}
	sn_mri_window_free(&w);
	sn_text_free(&body);
}

TEST(an_end_counts_itself)
{
	const struct sn_told end = {
		.is_found = true, .is_deaf = true, .executions = 9, .mean_s = .5
	};
	struct sn_outbox outbox = { 0 };
	struct sn_text body = { 0 };
	struct sn_told told;

	sn_vec_push(&outbox.epochs, (struct sn_outbox_epoch){ 1, 2 });
	sn_vec_push(&outbox.epochs, (struct sn_outbox_epoch){ 2, 5 });
	sn_told_end(&end, &outbox, &body);
	REQUIRE(sn_told_read((const uint8_t *)body.chars, body.length, &told));
	CHECK(told.kind == SN_TOLD_END && told.is_found && told.is_deaf && told.executions == 9);
	REQUIRE(told.epochs.count == 2);
	CHECK(told.epochs.items[0].count == 2 && told.epochs.items[1].count == 6);
	sn_told_free(&told);
	/* an older agent says less */
	REQUIRE(sn_told_read((const uint8_t *)body.chars, body.length - 4, &told));
	CHECK(told.is_found && !told.is_deaf && told.epochs.count == 2);
	sn_told_free(&told);
	sn_vec_free(&outbox.epochs);
	sn_text_free(&body);
}
