/* Segments of the processes of this host, found and mapped, and the tables in them. */
#include "search/monitor/mri.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/text.h"

/* ---- the agent's page ---- */

static void *map_checked(int fd, size_t bytes)
{
	struct stat status;
	void *at;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != getuid() ||
	    (status.st_mode & 0777) != 0600 || status.st_size != (off_t)bytes)
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static sn_status agent_page(struct sn_mri *mri, struct sn_mri_folder *f, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;
	int fd;

	sn_text_addf(&path, "%s/%s.agent", f->path, mri->host);
	fd = open(path.chars, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && posix_fallocate(fd, 0, sizeof(*f->agent))) {
		unlink(path.chars);
		close(fd);
		fd = -1;
	} else if (fd < 0 && errno == EEXIST) {
		fd = open(path.chars, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd >= 0)
		f->agent = map_checked(fd, sizeof(*f->agent));
	if (!f->agent)
		status = sn_error_errno(
			err, "search: cannot make '%s' (another user's, or no room)", path.chars);
	if (fd >= 0)
		close(fd);
	sn_text_free(&path);
	return status;
}

static void beat(struct sn_mri *mri)
{
	int64_t now_ns = sn_clock_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < mri->folders.count; i++)
		atomic_store_explicit(&mri->folders.items[i].agent->beat_ns, now_ns,
				      memory_order_release);
}

sn_status sn_mri_add(struct sn_mri *mri, const char *live_folder, struct sn_error *err)
{
	struct sn_mri_folder folder = { 0 };
	sn_status status;

	for (size_t i = 0; i < mri->folders.count; i++)
		if (!strcmp(mri->folders.items[i].path, live_folder))
			return SN_OK;
	folder.path = sn_strdup(live_folder);
	status = agent_page(mri, &folder, err);
	if (!folder.agent) {
		free(folder.path);
		return status;
	}
	folder.agent->version = SN_MONITOR_VERSION;
	folder.agent->pid = (int32_t)getpid();
	folder.agent->magic = SN_MONITOR_MAGIC;
	sn_vec_push(&mri->folders, folder);
	beat(mri);
	return SN_OK;
}

static void folders_free(struct sn_mri *mri)
{
	for (size_t i = 0; i < mri->folders.count; i++) {
		munmap(mri->folders.items[i].agent, sizeof(struct sn_monitor_agent));
		free(mri->folders.items[i].path);
	}
	sn_vec_free(&mri->folders);
}

sn_status sn_mri_open(const char *live_folder, const char *host,
		      const struct sn_mri_boundary *boundary, struct sn_mri **out,
		      struct sn_error *err)
{
	struct sn_mri *mri = sn_alloc_zeroed(1, sizeof(*mri));
	sn_status status = SN_OK;

	mri->host = sn_strdup(host);
	mri->boundary = *boundary;
	if (live_folder)
		status = sn_mri_add(mri, live_folder, err);
	if (status != SN_OK) {
		free(mri->host);
		free(mri);
		return status;
	}
	*out = mri;
	return SN_OK;
}

/* ---- processes ---- */

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1 << 20, NULL, NULL, 0);
}

static void table_write(const struct sn_mri *mri, struct sn_mri_process *p, uint32_t number,
			uint32_t first, uint32_t executions, int64_t stop_ns)
{
	const uint32_t sources = 1u << SN_MONITOR_SAMPLES | 1u << SN_MONITOR_ACCOUNTS | mri->traces;
	struct sn_monitor_table *table = &p->m->tables[number & 1];

	table->first = first;
	table->last = first + executions - 1;
	table->request_count = 0;
	for (uint32_t i = 0; i < 32 && table->request_count < SN_MONITOR_REQUESTS_MAX; i++) {
		if (!(sources & 1u << i))
			continue;
		table->requests[table->request_count].source = i;
		table->requests[table->request_count++].answer = SN_MONITOR_UNANSWERED;
	}
	table->period_times = mri->period_times;
	table->stop_ns = stop_ns;
	table->begun_ns = table->ended_ns = 0;
	table->begun = table->ended = 0;
	atomic_store_explicit(&p->m->wanted, number, memory_order_release);
}

static void let_go(const struct sn_mri *mri, struct sn_mri_process *p)
{
	struct sn_monitor *m = p->m;

	if (p->has_let_go)
		return;
	p->has_let_go = true;
	if (atomic_load_explicit(&m->state, memory_order_acquire) > SN_MONITOR_STARTING)
		return; /* another agent did so, before it died */
	m->boundary = mri->boundary.kind;
	memcpy(m->link_addrs, mri->boundary.link_addrs, sizeof(m->link_addrs));
	snprintf(m->beat, sizeof(m->beat), "%s", mri->boundary.beat ? mri->boundary.beat : "");
	snprintf(m->module, sizeof(m->module), "%s",
		 mri->boundary.module ? mri->boundary.module : "");
	if (mri->first_number) /* it may come to the phase at once */
		table_write(mri, p, mri->first_number, 0, 1, 0);
	atomic_fetch_add(&m->go, 1);
	futex_wake(&m->go);
}

static bool is_known(const struct sn_mri *mri, const char *name)
{
	for (size_t i = 0; i < mri->processes.count; i++)
		if (!strcmp(mri->processes.items[i].name, name))
			return true;
	return false;
}

/* One whose header is not whole yet is looked at again. */
static void process_add(struct sn_mri *mri, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct sn_monitor *m = fd >= 0 ? map_checked(fd, sizeof(*m)) : NULL;
	struct sn_mri_process p = { .m = m };

	if (fd >= 0)
		close(fd);
	if (!m)
		return;
	if (m->magic != SN_MONITOR_MAGIC || m->version != SN_MONITOR_VERSION ||
	    m->bytes != sizeof(*m) || atomic_load(&m->state) == SN_MONITOR_NEW) {
		munmap(m, sizeof(*m));
		return;
	}
	p.name = sn_strdup(name);
	p.pid = m->pid;
	if (atomic_load(&m->wanted) > mri->number) /* by an agent that died */
		mri->number = atomic_load(&m->wanted);
	sn_vec_push(&mri->processes, p);
}

static void processes_find(struct sn_mri *mri, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (sn_ends_with(entry->d_name, ".monitor") && !is_known(mri, entry->d_name))
			process_add(mri, dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}

/* Another image of the process has another segment. */
static bool has_gone(const struct sn_mri *mri, const struct sn_mri_process *p)
{
	if (p->pid <= 0 || (kill(p->pid, 0) && errno == ESRCH))
		return true;
	for (size_t i = 0; i < mri->processes.count; i++)
		if (mri->processes.items[i].pid == p->pid &&
		    mri->processes.items[i].m->sequence > p->m->sequence)
			return true;
	return false;
}

/* When the latest execution ended, as if nothing had been stopped. */
static int64_t last_ns(const struct sn_monitor *m)
{
	return atomic_load(&m->last_ns) - atomic_load(&m->stopped_ns);
}

/* How fast executions come may change, so what counts is what came lately. */
static void marks_set(struct sn_mri_process *p)
{
	enum { APART_NS = 250000000 };
	const uint32_t ended = atomic_load_explicit(&p->m->ended, memory_order_acquire);
	const int64_t now_ns = last_ns(p->m);

	if (!p->marks[1].last_ns)
		p->marks[0].last_ns = p->marks[1].last_ns = atomic_load(&p->m->first_ns);
	if (!p->marks[1].last_ns || ended <= p->marks[1].ended ||
	    now_ns - p->marks[1].last_ns < APART_NS)
		return;
	p->marks[0] = p->marks[1];
	p->marks[1].ended = ended;
	p->marks[1].last_ns = now_ns;
}

void sn_mri_look(struct sn_mri *mri)
{
	beat(mri);
	for (size_t i = 0; i < mri->folders.count; i++)
		processes_find(mri, mri->folders.items[i].path);
	for (size_t i = 0; i < mri->processes.count; i++) {
		struct sn_mri_process *p = &mri->processes.items[i];

		p->has_gone = p->has_gone || has_gone(mri, p);
		if (!p->has_gone)
			let_go(mri, p);
		marks_set(p);
	}
}

static bool is_running(const struct sn_mri_process *p)
{
	uint32_t state = atomic_load_explicit(&p->m->state, memory_order_acquire);

	return !p->has_gone && (state == SN_MONITOR_RUNNING || state == SN_MONITOR_STOPPED);
}

uint32_t sn_mri_ended(const struct sn_mri *mri, bool *is_found)
{
	uint32_t most = 0;

	*is_found = false;
	for (size_t i = 0; i < mri->processes.count; i++) {
		const struct sn_monitor *m = mri->processes.items[i].m;
		uint32_t ended = atomic_load(&m->ended);

		*is_found |= m->is_found != 0;
		most = ended > most ? ended : most;
	}
	return most;
}

bool sn_mri_is_reached(const struct sn_mri *mri)
{
	for (size_t i = 0; i < mri->processes.count; i++)
		if (atomic_load(&mri->processes.items[i].m->first_ns))
			return true;
	return false;
}

uint32_t sn_mri_every(const struct sn_mri *mri)
{
	uint32_t most = 1;

	for (size_t i = 0; i < mri->processes.count; i++) {
		uint32_t every = atomic_load(&mri->processes.items[i].m->every);

		most = every > most ? every : most;
	}
	return most;
}

bool sn_mri_is_deaf(const struct sn_mri *mri)
{
	for (size_t i = 0; i < mri->processes.count; i++)
		if (atomic_load(&mri->processes.items[i].m->is_deaf))
			return true;
	return false;
}

double sn_mri_mean_s(const struct sn_mri *mri)
{
	double mean_s = 0;
	uint32_t most = 0;

	for (size_t i = 0; i < mri->processes.count; i++) {
		const struct sn_mri_process *p = &mri->processes.items[i];
		uint32_t ended = atomic_load_explicit(&p->m->ended, memory_order_acquire);
		int64_t from_ns =
			p->marks[0].last_ns ? p->marks[0].last_ns : atomic_load(&p->m->first_ns);
		double span_s = ((double)last_ns(p->m) - (double)from_ns) / 1e9; /* of any value */

		if (ended <= most || ended <= p->marks[0].ended || !(span_s > 0))
			continue;
		most = ended;
		mean_s = span_s / (ended - p->marks[0].ended);
	}
	return mean_s;
}

bool sn_mri_is_needed(const struct sn_mri *mri)
{
	for (size_t i = 0; i < mri->processes.count; i++)
		if (!mri->processes.items[i].has_gone)
			return true;
	return !mri->processes.count;
}

/* ---- measuring ---- */

/* What has not been taken over is no longer wanted. A first execution may go on meanwhile: its table is the other one. */
static bool can_take(const struct sn_mri *mri, const struct sn_mri_process *p, bool has_to_pass)
{
	bool passes = atomic_load(&p->m->ended) || atomic_load(&p->m->first_ns);
	uint32_t taken = atomic_load(&p->m->taken);

	return is_running(p) &&
	       (taken == atomic_load(&p->m->done) ||
		(taken == mri->first_number && (taken & 1) != (mri->number & 1))) &&
	       (passes || !has_to_pass);
}

static bool tables_write(struct sn_mri *mri, bool has_to_pass, uint32_t first, uint32_t executions,
			 int64_t stop_ns)
{
	size_t count = 0;

	mri->number++;
	for (size_t i = 0; i < mri->processes.count; i++) {
		struct sn_mri_process *p = &mri->processes.items[i];

		p->takes_part = false;
		if (!can_take(mri, p, has_to_pass))
			continue;
		table_write(mri, p, mri->number, first, executions, stop_ns);
		p->takes_part = true;
		count++;
	}
	return count > 0;
}

bool sn_mri_measure_from(struct sn_mri *mri, uint32_t first, uint32_t executions, int64_t stop_ns)
{
	return tables_write(mri, true, first, executions, stop_ns);
}

/* A process that is in the middle of an execution takes part from the next but one on, so that several
 * begin with the same. One that has never passed the phase takes part if none has. */
bool sn_mri_measure(struct sn_mri *mri, uint32_t executions, int64_t stop_ns)
{
	uint32_t most = 0;
	size_t running = 0;

	for (size_t i = 0; i < mri->processes.count; i++) {
		uint32_t ended = atomic_load(&mri->processes.items[i].m->ended);

		if (!is_running(&mri->processes.items[i]))
			continue;
		running++;
		most = ended > most ? ended : most;
	}
	return tables_write(mri, most > 0, most ? most + (running > 1 ? 2 : 1) : 0, executions,
			    stop_ns);
}

void sn_mri_measure_first(struct sn_mri *mri)
{
	if (!mri->first_number)
		mri->first_number = ++mri->number;
	for (size_t i = 0; i < mri->processes.count; i++) {
		struct sn_mri_process *p = &mri->processes.items[i];

		if (is_running(p) && !atomic_load(&p->m->wanted))
			table_write(mri, p, mri->first_number, 0, 1, 0);
	}
}

bool sn_mri_is_measured(const struct sn_mri *mri)
{
	bool has_done = false, is_open = false;

	for (size_t i = 0; i < mri->processes.count; i++) {
		const struct sn_mri_process *p = &mri->processes.items[i];
		bool is_done =
			atomic_load_explicit(&p->m->done, memory_order_acquire) == mri->number;

		if (!p->takes_part)
			continue;
		has_done |= is_done;
		/* one that does not pass the phase, while others did, is not waited for */
		is_open |= !is_done && is_running(p) && atomic_load(&p->m->first_ns);
	}
	if (has_done)
		return !is_open;
	for (size_t i = 0; i < mri->processes.count; i++)
		if (mri->processes.items[i].takes_part && is_running(&mri->processes.items[i]))
			return false;
	return true;
}

static void slabs_fetch(const struct sn_mri_process *p, uint32_t number, struct sn_mri_window *out)
{
	for (uint32_t i = 0; i < SN_MONITOR_THREADS_MAX; i++) {
		const struct sn_monitor_slab *s = &p->m->slabs[i];
		struct sn_mri_thread thread = { .pid = p->pid, .tid = s->tid };

		if (s->generation != number || !s->tid)
			continue;
		thread.elapsed_ns = s->time_ns[1] - s->time_ns[0];
		thread.cpu_ns =
			s->cpu_ns[1] < 0 || s->cpu_ns[0] < 0 ? -1 : s->cpu_ns[1] - s->cpu_ns[0];
		thread.wait_cpu_ns = s->wait_cpu_ns[1] < 0 || s->wait_cpu_ns[0] < 0
					     ? -1
					     : s->wait_cpu_ns[1] - s->wait_cpu_ns[0];
		if (thread.elapsed_ns > 0)
			sn_vec_push(&out->threads, thread);
	}
}

/* As many as the sources were on for. The process may have ended one more than it had when it was asked. */
static uint32_t executions_of(const struct sn_monitor_table *table)
{
	uint32_t begun = table->begun, ended = table->ended;

	return ended > begun && begun >= table->first ? ended - begun : 0;
}

static uint32_t accepted_of(const struct sn_monitor_table *table)
{
	uint32_t accepted = 0, count = table->request_count;

	for (uint32_t i = 0; i < count && i < SN_MONITOR_REQUESTS_MAX; i++)
		if (table->requests[i].answer == SN_MONITOR_ACCEPTED &&
		    table->requests[i].source < 32)
			accepted |= 1u << table->requests[i].source;
	return accepted;
}

/* What a process has measured of a table; nothing if it has not. */
static void window_add(const struct sn_mri_process *p, uint32_t number, struct sn_mri_window *out)
{
	const struct sn_monitor_table *table = &p->m->tables[number & 1];
	int64_t from_ns = table->begun_ns, to_ns = table->ended_ns;
	uint32_t executions = executions_of(table);

	if (atomic_load(&p->m->done) != number || from_ns <= 0 || to_ns <= from_ns || !executions)
		return;
	out->processes++;
	out->traces &= accepted_of(table);
	if (table->overhead_ns[1] > table->overhead_ns[0])
		out->overhead_ns += table->overhead_ns[1] - table->overhead_ns[0];
	if (table->traced_ns[1] > table->traced_ns[0])
		out->traced_ns += table->traced_ns[1] - table->traced_ns[0];
	out->from_ns = from_ns < out->from_ns ? from_ns : out->from_ns;
	out->to_ns = to_ns > out->to_ns ? to_ns : out->to_ns;
	out->executions = executions > out->executions ? executions : out->executions;
	slabs_fetch(p, number, out);
	sn_vec_push(&out->faults,
		    (struct sn_mri_faults){ p->pid, table->minor_faults[1] - table->minor_faults[0],
					    table->major_faults[1] - table->major_faults[0] });
}

bool sn_mri_fetch(const struct sn_mri *mri, struct sn_mri_window *out)
{
	*out = (struct sn_mri_window){ .from_ns = INT64_MAX, .traces = mri->traces };
	for (size_t i = 0; i < mri->processes.count; i++)
		if (mri->processes.items[i].takes_part)
			window_add(&mri->processes.items[i], mri->number, out);
	if (!out->processes)
		sn_mri_window_free(out);
	return out->processes > 0;
}

bool sn_mri_fetch_only(const struct sn_mri *mri, struct sn_mri_window *out)
{
	*out = (struct sn_mri_window){ .from_ns = INT64_MAX };
	for (size_t i = 0; mri->first_number && i < mri->processes.count; i++)
		if (atomic_load(&mri->processes.items[i].m->is_only))
			window_add(&mri->processes.items[i], mri->first_number, out);
	if (!out->processes)
		sn_mri_window_free(out);
	return out->processes > 0;
}

void sn_mri_window_free(struct sn_mri_window *window)
{
	sn_vec_free(&window->threads);
	sn_vec_free(&window->faults);
	free(window->host);
	window->host = NULL;
}

void sn_mri_go(struct sn_mri *mri)
{
	for (size_t i = 0; i < mri->processes.count; i++) {
		atomic_fetch_add(&mri->processes.items[i].m->go, 1);
		futex_wake(&mri->processes.items[i].m->go);
	}
}

void sn_mri_close(struct sn_mri *mri)
{
	if (!mri)
		return;
	for (size_t i = 0; i < mri->processes.count; i++)
		atomic_store(&mri->processes.items[i].m->detach, 1);
	for (size_t i = 0; i < mri->folders.count; i++)
		atomic_store(&mri->folders.items[i].agent->beat_ns, 0);
	sn_mri_go(mri);
	for (size_t i = 0; i < mri->processes.count; i++) {
		munmap(mri->processes.items[i].m, sizeof(struct sn_monitor));
		free(mri->processes.items[i].name);
	}
	sn_vec_free(&mri->processes);
	folders_free(mri);
	free(mri->host);
	free(mri);
}
