/** One small profile, written in a format: what the tests of the exporters share. */
#ifndef SN_TESTS_EXCHANGE_EXPORTED_H
#define SN_TESTS_EXCHANGE_EXPORTED_H

#include <stdlib.h>

#include "exchange/export.h"
#include "harness/tap.h"
#include "profile/fixture.h"

/**
 * A program of one thread: two observations in the kernel inlined into main's loops, one in leaf,
 * which main calls, three of 2 ms in malloc below leaf, and a wait of 5 ms in write.
 */
static inline void exported_begin(struct fixture *f)
{
	fixture_begin(f);
	fixture_samples(f, 0, fixture_stack(f, 0, 1, APP, MAIN_KERNEL_LOOP), 2, 1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 2, APP, LEAF_MAIN_LOOP, APP, MAIN_OUTER), 1,
			1000);
	fixture_samples(f, 0, fixture_stack(f, 0, 3, LIBC, MALLOC, APP, LEAF, APP, MAIN_OUTER), 3,
			2000);
	fixture_wait(f, 0, fixture_stack(f, 0, 2, LIBC, WRITE, APP, MAIN), 20000, 5000, SN_WAIT_IO);
	fixture_profile(f, NULL);
}

/** What the format's writer writes of a profile; the caller frees it. */
static inline char *exported(const struct fixture *f, const char *format,
			     const struct sn_export_options *options, size_t *length)
{
	const struct sn_export_format *how = sn_export_find(format);
	struct sn_error err = { 0 };
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, length);

	REQUIRE(how && out);
	CHECK_INT(how->write(f->profile, options, out, &err), SN_OK);
	fclose(out);
	return bytes;
}

static inline void check_exported(const char *format, const struct sn_export_options *options,
				  const char *want)
{
	struct fixture f;
	size_t length;
	char *got;

	exported_begin(&f);
	got = exported(&f, format, options, &length);
	CHECK_STRING(got, want);
	free(got);
	fixture_end(&f);
}

#endif
