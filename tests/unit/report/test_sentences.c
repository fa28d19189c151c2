#include "harness/tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "report/build.h"

/** A run of 10 s of CPU time: `system_ns` of it in the kernel by its account, and of the samples
 * `libs_ns` in the category "system", `libs_system_ns` of that in the kernel. */
static char *sentences_of(int64_t system_ns, uint64_t libs_ns, uint64_t libs_system_ns)
{
	struct sn_report report = { .cpu_ns = 10000000000,
				    .user_ns = 10000000000 - system_ns,
				    .system_ns = system_ns,
				    .thread_elapsed_ns = -1,
				    .wait_cpu_ns = -1,
				    .blocked_ns = -1,
				    .sampled_ns = 10000000000,
				    .sample_count = 10000 };
	struct sn_profile *profile = sn_alloc_zeroed(1, sizeof(*profile));
	struct sn_text out = { 0 };

	if (system_ns < 0)
		report.user_ns = -1;
	profile->categories[SN_CATEGORY_OS].exclusive.cpu_ns = libs_ns;
	profile->categories[SN_CATEGORY_OS].exclusive.system_ns = libs_system_ns;
	sn_report_add_sentences(&report, profile);
	for (size_t i = 0; i < report.sentences.count; i++)
		sn_text_addf(&out, "%s\n", report.sentences.items[i].words);
	sn_vec_free(&report.sentences);
	sn_arena_free(&report.arena);
	free(profile);
	return out.chars ? out.chars : strdup("");
}

/* The kernel's share is that of its own account, whatever the category says. */
TEST(the_kernels_share_is_that_of_its_account)
{
	char *words = sentences_of(4700000000, 2000000000, 2000000000);

	CHECK(strstr(words, "47.0 % of CPU time is spent in the kernel."));
	CHECK(!strstr(words, "20.0 %")); /* of that, the category adds nothing */
	free(words);
	words = sentences_of(460000000, 6970000000, 400000000);
	CHECK(!strstr(words, "in the kernel."));
	CHECK(strstr(words, "69.7 % of CPU time is spent in the parts of libc and the kernel"));
	free(words);
	words = sentences_of(3000000000, 4500000000, 2500000000);
	CHECK(strstr(words, "30.0 % of CPU time is spent in the kernel."));
	CHECK(strstr(words, "45.0 % of CPU time is spent in the parts of libc and the kernel"));
	free(words);
}

TEST(small_and_unknown_shares_are_not_told)
{
	char *words = sentences_of(990000000, 990000000, 0);

	CHECK(!strstr(words, "kernel"));
	free(words);
	words = sentences_of(-1, 0, 0);
	CHECK(!strstr(words, "kernel"));
	free(words);
}
