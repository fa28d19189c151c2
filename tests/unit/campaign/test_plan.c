#include "campaign/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/values.h"
#include "harness/tap.h"

static struct sn_campaign_plan *read_plan(const char *text)
{
	struct sn_campaign_plan *plan = NULL;
	struct sn_error err = { 0 };

	sn_campaign_plan_read(text, strlen(text), "plan", "/here", &plan, &err);
	CHECK_STRING(err.sentence, "");
	REQUIRE(plan != NULL);
	return plan;
}

static const char *refusal(const char *text)
{
	static struct sn_error err;
	struct sn_campaign_plan *plan = NULL;

	CHECK_INT(sn_campaign_plan_read(text, strlen(text), "plan", "/here", &plan, &err),
		  SN_ERR_FORMAT);
	CHECK(plan == NULL);
	return err.sentence;
}

TEST(a_sweep_multiplies_configurations)
{
	struct sn_campaign_plan *plan =
		read_plan("# comment\n"
			  "[campaign]\nrepeat = 3\ntimeout = 5m\n"
			  "launcher = mpirun --oversubscribe -n {ranks} {command}\n"
			  "[default]\nprogram = ./app\narguments = -n 5 {dataset}\n"
			  "environment.A = x\n"
			  "[configuration \"gcc -O3\"]\nenvironment.A = y\n"
			  "[configuration clang]\n; comment\n"
			  "[sweep]\nthreads = 1, 2 4\nranks = 1 2\n"
			  "dataset = \"a b\"\n");

	CHECK_INT(plan->repeat, 3);
	CHECK_REAL(plan->timeout_s, 300, 0);
	REQUIRE(plan->configurations.count == 12);
	CHECK_STRING(plan->configurations.items[0].name, "gcc -O3 threads=1 ranks=1 dataset=a b");
	CHECK_STRING(plan->configurations.items[5].name, "gcc -O3 threads=4 ranks=2 dataset=a b");
	CHECK_STRING(plan->configurations.items[0].program, "/here/./app");
	CHECK_STRING(plan->configurations.items[0].directory, "/here");
	CHECK_STRING(plan->configurations.items[0].environment.items[0].value, "y");
	CHECK_STRING(plan->configurations.items[11].environment.items[0].value, "x");
	CHECK_INT(plan->configurations.items[5].threads, 4);
	CHECK_INT(plan->configurations.items[5].ranks, 2);
	CHECK_STRING(plan->name, "app");
	sn_campaign_plan_free(plan);
}

TEST(faults_name_the_line_and_the_nearest_key)
{
	CHECK_STRING(refusal("[campaign]\nrepaet = 3\n"),
		     "plan:2: there is no key 'repaet'; did you mean 'repeat'?");
	CHECK_STRING(refusal("[default]\nprogramm = a\n"),
		     "plan:2: there is no key 'programm'; did you mean 'program'?");
	CHECK_STRING(refusal("[sweeep]\n"),
		     "plan:1: there is no section 'sweeep'; did you mean 'sweep'?");
	CHECK_STRING(refusal("[default]\nrepeat = 3\n"),
		     "plan:2: 'repeat' is said of the whole campaign: write it under [campaign]");
	CHECK_STRING(refusal("[campaign]\nprogram = 3\n"),
		     "plan:2: 'program' is said of configurations: write it under [default]");
	CHECK_STRING(refusal("program = 3\n"), "plan:1: 'program' stands before the first section; "
					       "begin with [campaign] or [default]");
	CHECK_STRING(refusal("[default]\nprogram=a\nprogram=b\n"),
		     "plan:3: 'program' is set already, at line 2");
	CHECK_STRING(refusal(""), "plan: the configuration 'default' has no program: set program "
				  "under [default]");
	CHECK_STRING(refusal("[default]\nprogram=a\nranks=2\n"),
		     "plan:3: 2 ranks need a launcher: set launcher = mpirun under [campaign]");
	CHECK_STRING(refusal("[default]\nprogram=a\nthreads=0\n"),
		     "plan:3: threads takes a whole number from 1 to 65536, not '0'");
	CHECK_STRING(refusal("[default]\nprogram=a\narguments='b\n"),
		     "plan:3: arguments: a quote (') does not end");
	CHECK_STRING(refusal("[campaign]\ntimeout=5x\n[default]\nprogram=a\n"),
		     "plan:2: timeout: a duration is written 90, 30s, 5m, 2h or 1d, not '5x'");
	CHECK_STRING(
		refusal("[campaign]\nlauncher=foo\n[default]\nprogram=a\n"),
		"plan:2: launcher is local, mpirun, srun, sbatch with its options, or a command with {command} in it, not "
		"'foo'");
	CHECK_STRING(
		refusal("[default]\nprogram=a\n[configuration x]\nthreads=2\n[sweep]\nthreads=1\n"),
		"plan:4: 'threads' is set here and swept over at line 6: one of both");
}

TEST(a_list_with_a_comma_too_many_is_refused)
{
	static const char *const lists[] = { "1,,2", "1, ,2", ",1", "1, 2,", "''," };

	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		char plan[80], says[80];

		snprintf(plan, sizeof(plan), "[default]\nprogram=a\n[sweep]\nthreads=%s\n",
			 lists[i]);
		snprintf(says, sizeof(says),
			 "plan:4: the list '%s' of threads has a comma too many: write 1, 2, 4",
			 lists[i]);
		CHECK_STRING(refusal(plan), says);
	}
	sn_campaign_plan_free(
		read_plan("[default]\nprogram=a\n[sweep]\nenvironment.A='1,,2' \"3,\" ,4\n"));
}

TEST(cycles_and_unknown_placeholders_are_refused)
{
	CHECK_STRING(refusal("[default]\nprogram=a\ndataset={dataset}\n"),
		     "plan:3: dataset is filled in by itself");
	CHECK_STRING(
		refusal("[default]\nprogram=a\narguments={rank}\n"),
		"plan:3: arguments: there is nothing to fill in for {rank}; did you mean {ranks}?");
	CHECK_STRING(refusal("[default]\nprogram=a\narguments={dataset}\n"),
		     "plan:3: arguments: {dataset} has no value: set dataset");
	CHECK_STRING(
		refusal("[default]\nprogram=a\narguments={command}\n"),
		"plan:3: arguments: {command} has its place in 'launcher', as a word of its own");
	CHECK_STRING(
		refusal("[default]\nprogram=a\narguments={build}/x\n"),
		"plan:3: arguments: {build} is the folder that 'build' fills: there is no 'build'");
}

TEST(too_many_points_are_refused_at_once)
{
	CHECK_STRING(
		refusal("[campaign]\nrepeat=10\n[default]\nprogram=a\n[sweep]\n"
			"environment.A=0 1 2 3 4 5 6 7 8 9\nenvironment.B=0 1 2 3 4 5 6 7 8 9\n"
			"environment.C=0 1 2 3 4 5 6 7 8 9\nenvironment.D=0 1 2 3 4 5 6 7 8 9\n"
			"environment.E=0 1 2 3 4 5 6 7 8 9\n"),
		"plan: the plan has 1000000 runs (100000 configurations, 10 times); 100000 are "
		"the most: sweep over less");
}

TEST(what_stands_for_names_in_braces)
{
	struct sn_campaign_configuration c = { .ranks = 2, .threads = 0, .dataset = "a {ranks}" };
	struct sn_campaign_fill fill = { &c, "/b" };
	struct sn_text out = { 0 };

	CHECK_INT(sn_campaign_fill("{ranks} {threads} {dataset} {build}/x {{x} {\"y\"} {", &fill,
				   &out, NULL),
		  SN_OK);
	CHECK_STRING(out.chars, "2 1 a 2 /b/x {x} {\"y\"} {");
	sn_text_free(&out);
}

TEST(durations)
{
	double s = 0;

	CHECK(sn_campaign_duration_parse("90", &s, NULL) == SN_OK && s == 90);
	CHECK(sn_campaign_duration_parse("1.5h", &s, NULL) == SN_OK && s == 5400);
	CHECK(sn_campaign_duration_parse("2d", &s, NULL) == SN_OK && s == 172800);
	CHECK(sn_campaign_duration_parse("", &s, NULL) != SN_OK);
	CHECK(sn_campaign_duration_parse("-1", &s, NULL) != SN_OK);
	CHECK(sn_campaign_duration_parse("nan", &s, NULL) != SN_OK);
	CHECK(sn_campaign_duration_parse("0x10", &s, NULL) != SN_OK);
	CHECK(sn_campaign_duration_parse("5 m", &s, NULL) != SN_OK);
}
