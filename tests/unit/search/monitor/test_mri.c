/* The agent's side of segments: which are taken, what is asked, what comes back. The process's side is
 * played by the test. */
#include "search/monitor/mri.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/tap.h"

static char path[64];
static const struct sn_mri_boundary boundary = { .kind = SN_MONITOR_BOUNDARY_BEAT, .beat = "turn" };

static struct sn_mri *opened(void)
{
	struct sn_mri *mri = NULL;
	struct sn_error err;

	strcpy(path, "/tmp/sonde-mri.XXXXXX");
	if (!mkdtemp(path) || sn_mri_open(path, "host", &boundary, &mri, &err) != SN_OK)
		return NULL;
	return mri;
}

static void removed(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	CHECK_INT(system(command), 0);
}

/* A segment as the runtime makes it, of this process. */
static struct sn_monitor *segment(const char *name, mode_t mode, size_t bytes)
{
	char file[128];
	struct sn_monitor *m;
	int fd;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	fd = open(file, O_RDWR | O_CREAT | O_EXCL, mode);
	fchmod(fd, mode);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return NULL;
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bytes < sizeof(*m))
		return m;
	m->version = SN_MONITOR_VERSION;
	m->bytes = sizeof(*m);
	m->pid = getpid();
	m->magic = SN_MONITOR_MAGIC;
	m->state = SN_MONITOR_STARTING;
	return m;
}

TEST(a_new_process_is_told_the_boundary_and_let_go)
{
	struct sn_mri *mri = opened();
	struct sn_monitor *m;
	struct stat status;
	char file[128];
	bool is_found;

	REQUIRE(mri);
	snprintf(file, sizeof(file), "%s/host.agent", path);
	CHECK(!stat(file, &status) && (status.st_mode & 0777) == 0600);
	m = segment("host.1.0.monitor", 0600, sizeof(*m));
	CHECK(sn_mri_is_needed(mri));
	sn_mri_look(mri);
	CHECK_INT(mri->processes.count, 1);
	CHECK_INT(m->boundary, SN_MONITOR_BOUNDARY_BEAT);
	CHECK_STRING(m->beat, "turn");
	CHECK_INT(m->go, 1);
	CHECK_INT(sn_mri_ended(mri, &is_found), 0);
	CHECK(!is_found && mri->folders.items[0].agent->beat_ns > 0);
	sn_mri_look(mri);
	CHECK_INT(m->go, 1);
	sn_mri_close(mri);
	CHECK_INT(m->detach, 1);
	removed();
}

TEST(segments_of_others_and_damaged_ones_are_not_touched)
{
	struct sn_mri *mri = opened();
	struct sn_monitor *m;

	REQUIRE(mri);
	segment("open.monitor", 0644, sizeof(*m));
	segment("short.monitor", 0600, 4096);
	segment("long.monitor", 0600, sizeof(*m) + 1);
	m = segment("magic.monitor", 0600, sizeof(*m));
	m->magic++;
	m = segment("version.monitor", 0600, sizeof(*m));
	m->version++;
	m = segment("new.monitor", 0600, sizeof(*m));
	m->state = SN_MONITOR_NEW;
	CHECK(symlinkat("/etc/passwd", AT_FDCWD, "/dev/null/x") < 0);
	sn_mri_look(mri);
	CHECK_INT(mri->processes.count, 0);
	m->state = SN_MONITOR_STARTING; /* whole by now */
	sn_mri_look(mri);
	CHECK_INT(mri->processes.count, 1);
	sn_mri_close(mri);
	removed();
}

/* Two processes measure the same executions, and one that never passes the phase is not waited for. */
TEST(the_same_executions_of_all_processes)
{
	struct sn_mri *mri = opened();
	struct sn_mri_window window;
	struct sn_monitor *m[3];

	REQUIRE(mri);
	for (int i = 0; i < 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "host.%d.0.monitor", i);
		m[i] = segment(name, 0600, sizeof(**m));
	}
	sn_mri_look(mri);
	for (int i = 0; i < 3; i++)
		m[i]->state = SN_MONITOR_RUNNING;
	m[0]->ended = 5;
	m[0]->first_ns = 1000;
	m[0]->last_ns = 1000 + 5000000;
	m[1]->ended = 4;
	m[1]->first_ns = 1000;
	CHECK_REAL(sn_mri_mean_s(mri), 0.001, 1e-12);
	/* what came lately counts, without stops */
	m[0]->last_ns = 1000 + 2000000000;
	sn_mri_look(mri);
	m[0]->ended = 105;
	m[0]->last_ns = 1000 + 2400000000;
	sn_mri_look(mri);
	m[0]->ended = 205;
	m[0]->last_ns = 1000 + 3100000000;
	m[0]->stopped_ns = 300000000;
	CHECK_REAL(sn_mri_mean_s(mri), 0.004, 1e-9);
	m[0]->ended = 5;
	mri->traces = 1u << SN_MONITOR_IO | 1u << SN_MONITOR_LOCKS;
	mri->period_times = 2;
	CHECK(sn_mri_measure(mri, 10, 99));
	for (int i = 0; i < 2; i++) {
		const struct sn_monitor_table *table = &m[i]->tables[m[i]->wanted & 1];

		CHECK_INT(m[i]->wanted, 1);
		CHECK(table->first == 7 && table->last == 16 && table->stop_ns == 99);
		CHECK_INT(table->requests[0].source, SN_MONITOR_SAMPLES);
		CHECK(table->request_count == 4 && table->requests[3].source == SN_MONITOR_LOCKS &&
		      table->period_times == 2);
	}
	CHECK_INT(m[2]->wanted, 0);
	CHECK(!sn_mri_is_measured(mri));
	for (int i = 0; i < 2; i++) {
		struct sn_monitor_table *table = &m[i]->tables[1];

		/* the second one took the table over when execution 7 had begun */
		table->begun = 7 + (uint32_t)i;
		table->ended = 17;
		table->begun_ns = 2000 + i;
		table->ended_ns = 9000 + i;
		table->minor_faults[1] = 5;
		table->overhead_ns[0] = 100;
		table->overhead_ns[1] = 140;
		table->traced_ns[1] = 3;
		for (uint32_t k = 0; k < table->request_count; k++) /* the first one has no locks */
			table->requests[k].answer =
				!i && k == 3 ? SN_MONITOR_NO_SUCH_SOURCE : SN_MONITOR_ACCEPTED;
		m[i]->slabs[3] = (struct sn_monitor_slab){ .tid = 77,
							   .generation = 1,
							   .time_ns = { 10, 110 },
							   .cpu_ns = { 5, 65 },
							   .wait_cpu_ns = { -1, 9 } };
		m[i]->taken = 1;
		m[i]->done = 1;
		CHECK_INT(sn_mri_is_measured(mri), i);
	}
	REQUIRE(sn_mri_fetch(mri, &window));
	CHECK(window.from_ns == 2000 && window.to_ns == 9001 && window.executions == 10 &&
	      window.processes == 2);
	CHECK(window.traces == 1u << SN_MONITOR_IO && window.overhead_ns == 80 &&
	      window.traced_ns == 6);
	REQUIRE(window.threads.count == 2 && window.faults.count == 2);
	m[0]->done = 0; /* of the second one alone it is what its sources were on for */
	sn_mri_window_free(&window);
	REQUIRE(sn_mri_fetch(mri, &window));
	CHECK_INT(window.executions, 9);
	m[0]->done = 1;
	sn_mri_window_free(&window);
	REQUIRE(sn_mri_fetch(mri, &window));
	REQUIRE(window.threads.count == 2 && window.faults.count == 2);
	CHECK(window.threads.items[0].cpu_ns == 60 && window.threads.items[0].wait_cpu_ns == -1);
	CHECK_INT(window.faults.items[0].minor, 5);
	sn_mri_window_free(&window);
	/* the next step has the other table; a process that still measures is left alone */
	m[1]->taken = 2;
	m[1]->done = 1;
	CHECK(sn_mri_measure(mri, 1, 0));
	CHECK(m[0]->wanted == 2 && m[1]->wanted == 1);
	sn_mri_close(mri);
	removed();
}

TEST(a_second_agent_goes_on_with_the_numbers_of_the_first)
{
	struct sn_mri *mri = opened(), *again = NULL;
	struct sn_monitor *m = segment("host.1.0.monitor", 0600, sizeof(*m));
	struct sn_error err;

	REQUIRE(mri);
	sn_mri_look(mri);
	m->state = SN_MONITOR_RUNNING;
	CHECK(sn_mri_measure(mri, 1, 0) && sn_mri_measure(mri, 1, 0));
	CHECK_INT(m->wanted, 2);
	REQUIRE(sn_mri_open(path, "host", &boundary, &again, &err) == SN_OK);
	sn_mri_look(again);
	CHECK_INT(m->go, 1);
	CHECK(sn_mri_measure(again, 1, 0));
	CHECK_INT(m->wanted, 3);
	sn_mri_close(again);
	sn_mri_close(mri);
	removed();
}

/* What is passed once is measured from the first instruction on, and counts where nothing follows. */
TEST(the_first_execution_of_all_that_start)
{
	struct sn_mri *mri = opened();
	struct sn_mri_window window;
	struct sn_monitor *m[2];
	struct sn_monitor_table *table;

	REQUIRE(mri);
	sn_mri_measure_first(mri);
	m[0] = segment("host.1.0.monitor", 0600, sizeof(*m[0]));
	sn_mri_look(mri);
	table = &m[0]->tables[m[0]->wanted & 1];
	CHECK(m[0]->go == 1 && m[0]->wanted && table->first == 0 && table->last == 0);
	CHECK(!sn_mri_fetch_only(mri, &window));
	m[1] = segment("host.1.1.monitor", 0600, sizeof(*m[1])); /* a child: it does not stop */
	m[1]->state = SN_MONITOR_RUNNING;
	sn_mri_look(mri);
	CHECK_INT(m[1]->wanted, 0);
	sn_mri_measure_first(mri);
	CHECK_INT(m[1]->wanted, m[0]->wanted);
	/* the first one passes the phase until its end, the other one never does */
	m[0]->state = SN_MONITOR_RUNNING;
	m[0]->first_ns = 5;
	m[0]->taken = m[0]->wanted;
	table->begun_ns = 5;
	CHECK(sn_mri_is_reached(mri) && !sn_mri_fetch_only(mri, &window));
	m[0]->ended = 1;
	CHECK(sn_mri_measure(mri, 3, 0)); /* the agent may ask for more just then */
	CHECK(m[0]->wanted != m[0]->taken && table->begun_ns == 5);
	table->ended = 1;
	table->ended_ns = 9;
	m[0]->done = m[0]->taken;
	CHECK(!sn_mri_fetch_only(mri, &window));
	m[0]->is_only = 1;
	REQUIRE(sn_mri_fetch_only(mri, &window));
	CHECK(window.from_ns == 5 && window.to_ns == 9 && window.executions == 1 &&
	      window.processes == 1);
	sn_mri_window_free(&window);
	sn_mri_close(mri);
	removed();
}
