#include "wire/settings.h"
#include "harness/tap.h"

TEST(every_key_is_read)
{
	struct sn_settings settings;

	CHECK(sn_settings_parse(
		"period=10007000;wait=0;chunks=12;pause=10;paused=1;mechanism=2;"
		"depth=99;packets=250000000;openmp=0;plans=1;every=7;follow=regex;regex=^/usr=?;new=x;dir=/a b/c;d=e",
		&settings));
	CHECK_INT(settings.period_ns, 10007000);
	CHECK_INT(settings.wait_min_ns, 0);
	CHECK_INT(settings.chunks_max, 12);
	CHECK_INT(settings.pause_signal, 10);
	CHECK_INT(settings.is_paused, 1);
	CHECK_INT(settings.mechanism_first, 2);
	CHECK_INT(settings.stack_max_frames, 99);
	CHECK_INT(settings.packets_ns, 250000000);
	CHECK_INT(settings.is_openmp_off, 1);
	CHECK_INT(settings.planned_loops, 1);
	CHECK_INT(settings.every, 7);
	CHECK_INT(settings.follow, SN_FOLLOW_REGEX);
	CHECK_STRING(settings.pattern, "^/usr=?");
	CHECK_STRING(settings.dir, "/a b/c;d=e");
}

TEST(defaults_and_no_dir)
{
	struct sn_settings settings;

	CHECK(!sn_settings_parse("", &settings));
	CHECK(!sn_settings_parse("garbage", &settings));
	CHECK(!sn_settings_parse("period=0;;=;dir=", &settings));
	CHECK_INT(settings.period_ns, 0);
	CHECK(sn_settings_parse("dir=/tmp", &settings));
	CHECK_INT(settings.period_ns, 1000700);
	CHECK_INT(settings.packets_ns, 1000000000);
	CHECK_INT(settings.follow, SN_FOLLOW_ALL);
}
