#include "experiment/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/launch.h"
#include "harness/tap.h"

static void enter_new_folder(void)
{
	char folder[] = "/tmp/sonde-test-XXXXXX";

	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

static char *created(const char *wanted, const char *program, const char *key)
{
	struct sn_text path = { 0 };
	struct sn_error err;
	bool is_joined;

	if (sn_store_create(wanted, program, key, &path, &is_joined, &err) != SN_OK)
		return strdup(err.sentence);
	return sn_text_take(&path);
}

TEST(experiments_are_numbered_and_never_reused)
{
	enter_new_folder();
	CHECK_STRING(created(NULL, "/usr/bin/app", "a"), "sonde.app.1");
	CHECK_STRING(created(NULL, "./app", "b"), "sonde.app.2");
	CHECK_STRING(created(NULL, "other;x", "c"), "sonde.other_x.1");
	CHECK_STRING(
		created("sonde.app.1", "app", "d"),
		"'sonde.app.1' exists already; experiments are never overwritten: choose another "
		"name or remove it (sonde list --remove sonde.app.1)");
	CHECK(!mkdir("sonde.app.7", 0777));
	CHECK_STRING(created(NULL, "app", "e"), "sonde.app.8");
}

TEST(records_of_one_launch_share_a_folder)
{
	enter_new_folder();
	CHECK_STRING(created(NULL, "app", "job-1"), "sonde.app.1");
	CHECK_STRING(created(NULL, "app", "job-1"), "sonde.app.1");
	CHECK_STRING(created("given", "app", "job-1"), "given");
	CHECK_STRING(created("given", "app", "job-1"), "given");
}

TEST(names_by_age_resolve)
{
	struct sn_text path = { 0 };
	struct sn_error err;

	enter_new_folder();
	CHECK_INT(sn_store_resolve(NULL, &path, &err), SN_ERR_NOT_FOUND);
	created(NULL, "a", "1");
	usleep(10000);
	created(NULL, "b", "2");
	CHECK_INT(sn_store_resolve(NULL, &path, &err), SN_OK);
	CHECK_STRING(path.chars, "sonde.b.1");
	sn_text_clear(&path);
	CHECK_INT(sn_store_resolve("@-1", &path, &err), SN_OK);
	CHECK_STRING(path.chars, "sonde.a.1");
	CHECK_INT(sn_store_resolve("@-2", &path, &err), SN_ERR_NOT_FOUND);
	CHECK_INT(sn_store_resolve("@x", &path, &err), SN_ERR_USAGE);
	CHECK_INT(sn_store_resolve("/tmp", &path, &err), SN_ERR_FORMAT);
	CHECK_INT(sn_store_remove("sonde.a.1", &err), SN_OK);
	CHECK(access("sonde.a.1", F_OK) != 0);
}

TEST(what_hosts_of_a_killed_search_shared_goes_with_it)
{
	struct sn_error err;

	enter_new_folder();
	created(NULL, "a", "1");
	REQUIRE(!mkdir("outside", 0700) && !close(open("outside/kept", O_CREAT | O_WRONLY, 0600)));
	REQUIRE(!mkdir("sonde.a.1/search.nodes", 0700) &&
		!mkdir("sonde.a.1/search.nodes/alpha", 0700));
	REQUIRE(!symlink("../../../outside", "sonde.a.1/search.nodes/alpha/7"));
	REQUIRE(!close(open("sonde.a.1/search.nodes/spool.0", O_CREAT | O_WRONLY, 0600)));
	CHECK_INT(sn_store_remove("sonde.a.1", &err), SN_OK);
	CHECK(access("sonde.a.1", F_OK) != 0 && !access("outside/kept", F_OK));
}

TEST(live_data_in_the_experiment_go_with_it_once_their_launcher_is_gone)
{
	char *here, *live;
	struct sn_launch launch = { .version = "0.1.0",
				    .program = "./a",
				    .arguments = "",
				    .host = "h",
				    .cpu_model = "",
				    .kernel = "",
				    .folder = "/",
				    .clock = "hi",
				    .rank = -1 };
	struct sn_error err;

	enter_new_folder();
	created(NULL, "a", "1");
	here = realpath("sonde.a.1", NULL);
	REQUIRE(here && asprintf(&live, "%s/live.h.5", here) > 0);
	REQUIRE(!mkdir(live, 0700));
	REQUIRE(!symlink("/nowhere", "sonde.a.1/live.h.5/libsonde-runtime.so"));
	REQUIRE(!close(open("sonde.a.1/live.h.5/h.6.1.live", O_CREAT | O_WRONLY, 0600)));
	launch.live_folder = live;
	REQUIRE(sn_launch_write(&launch, "sonde.a.1", &err) == SN_OK);
	CHECK_INT(sn_store_remove("sonde.a.1", &err), SN_OK);
	CHECK(access("sonde.a.1", F_OK) != 0);
	free(here);
	free(live);
}

TEST(only_what_sonde_wrote_is_removed)
{
	struct sn_error err;
	FILE *out;

	enter_new_folder();
	created(NULL, "a", "1");
	out = fopen("sonde.a.1/mine.txt", "w");
	REQUIRE(out);
	fclose(out);
	CHECK_INT(sn_store_remove("sonde.a.1", &err), SN_ERR_IO);
	CHECK(!access("sonde.a.1/mine.txt", F_OK));
}

TEST(a_launch_file_reads_back)
{
	struct sn_launch launch = { .version = "0.1.0",
				    .program = "./a\"b",
				    .arguments = "x",
				    .host = "h",
				    .cpu_model = "",
				    .kernel = "",
				    .folder = "/",
				    .clock = "hi",
				    .pid = 5,
				    .rank = -1,
				    .target_pid = 6,
				    .exit_status = 3,
				    .exit_signal = 9,
				    .has_ended = true,
				    .tree_user_ns = 1,
				    .rate_hz = 1000 };
	struct sn_launch read;
	struct sn_error err;

	enter_new_folder();
	sn_vec_push(&launch.warnings, "careful");
	sn_vec_push(&launch.environment, (struct sn_launch_variable){ "A", "***" });
	CHECK_INT(sn_launch_write(&launch, ".", &err), SN_OK);
	CHECK_INT(sn_launch_read("launch.h.5.json", &read, &err), SN_OK);
	CHECK_STRING(read.program, "./a\"b");
	CHECK(read.label == NULL && read.has_ended);
	CHECK_INT(read.target_pid, 6);
	CHECK_INT(read.exit_status, 3);
	CHECK_INT(read.exit_signal, 9);
	CHECK_STRING(read.warnings.items[0], "careful");
	CHECK_STRING(read.environment.items[0].value, "***");
	sn_launch_free(&read);
	CHECK_INT(sn_launch_read("absent", &read, &err), SN_ERR_FORMAT);
}
