/*
 * The segment of an image, and its start: stopped in the constructor until the agent has told the
 * phase's boundary. A forked child keeps the boundary, and does not stop.
 */
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/breakpoints.h"
#include "runtime/monitor/monitor.h"

static bool is_mapped(long at)
{
	return !(at < 0 && at > -4096);
}

/* The agent's page, which must be the user's alone. */
static void agent_find(void)
{
	char path[SN_SETTINGS_PATH_MAX + SN_DATA_HOST_MAX + 16];
	struct stat status;
	long fd, at;

	if (sn_monitor_here.agent)
		return;
	snprintf(path, sizeof path, "%s/%s.agent", sn_config.settings.dir, sn_config.host);
	fd = SYS(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	if (SYS(newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 &&
	    status.st_uid == (uid_t)SYS(getuid) && (status.st_mode & 0777) == 0600 &&
	    status.st_size >= (off_t)sizeof *sn_monitor_here.agent) {
		at = SYS(mmap, NULL, sizeof *sn_monitor_here.agent, PROT_READ, MAP_SHARED, fd, 0);
		if (is_mapped(at))
			sn_monitor_here.agent = (const struct sn_monitor_agent *)at;
	}
	SYS(close, fd);
	if (sn_monitor_here.agent && (sn_monitor_here.agent->magic != SN_MONITOR_MAGIC ||
				      sn_monitor_here.agent->version != SN_MONITOR_VERSION))
		sn_monitor_here.agent = NULL;
}

static bool segment_make(void)
{
	char path[SN_SETTINGS_PATH_MAX + SN_DATA_HOST_MAX + 64];
	struct sn_monitor *m;
	long fd, at = -1;

	if (sn_file_bytes_allowed() < sizeof *m)
		return false;
	snprintf(path, sizeof path, "%s/%s.%ld.%u.monitor", sn_config.settings.dir, sn_config.host,
		 SYS(getpid), sn_header()->sequence);
	fd = SYS(openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	if (SYS(fallocate, fd, 0, 0, sizeof *m) == 0) /* a hole would be a SIGBUS later */
		at = SYS(mmap, NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	SYS(close, fd);
	if (!is_mapped(at)) {
		SYS(unlink, path);
		return false;
	}
	SYS(madvise, at, sizeof *m, MADV_DONTFORK);
	m = (struct sn_monitor *)at;
	m->version = SN_MONITOR_VERSION;
	m->bytes = sizeof *m;
	m->pid = (int32_t)SYS(getpid);
	m->sequence = sn_header()->sequence;
	m->magic = SN_MONITOR_MAGIC;
	sn_monitor_here.segment = m;
	return true;
}

/* The agent looks every few milliseconds; one that is dead is not waited for. */
static void wait_for_agent(struct sn_monitor *m)
{
	const struct timespec moment = { .tv_nsec = SN_MONITOR_WAKE_MS * 1000000L };
	int64_t begin_ns = sn_now_ns();

	atomic_store_explicit(&m->state, SN_MONITOR_STARTING, memory_order_release);
	while (!atomic_load(&m->go) && sn_monitor_has_agent(sn_now_ns()) &&
	       sn_now_ns() - begin_ns < SN_MONITOR_DEAD_NS)
		SYS(futex, &m->go, FUTEX_WAIT, 0, &moment, NULL, 0);
}

struct module_search {
	struct stat wanted;
	uint64_t bias;
	bool is_found;
};

static int module_see(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module_search *search = context;
	const char *path =
		info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct stat status;

	(void)size;
	if (SYS(newfstatat, AT_FDCWD, path, &status, 0) != 0 ||
	    status.st_ino != search->wanted.st_ino || status.st_dev != search->wanted.st_dev)
		return 0;
	search->bias = info->dlpi_addr;
	search->is_found = true;
	return 1;
}

static void boundary_take(struct sn_monitor *m)
{
	struct module_search search = { .is_found = false };
	char module[sizeof m->module];

	memcpy(module, m->module, sizeof module);
	module[sizeof module - 1] = '\0';
	switch (m->boundary) {
	case SN_MONITOR_BOUNDARY_BEAT:
		memcpy(sn_monitor_here.beat, m->beat, sizeof sn_monitor_here.beat);
		sn_monitor_here.beat[sizeof sn_monitor_here.beat - 1] = '\0';
		m->is_found = 1;
		break;
	case SN_MONITOR_BOUNDARY_ADDRESS:
		if (SYS(newfstatat, AT_FDCWD, module, &search.wanted, 0) == 0)
			dl_iterate_phdr(module_see, &search);
		if (!search.is_found)
			break;
		for (int i = 0; i < SN_MONITOR_PLACES_MAX && m->link_addrs[i]; i++)
			if (sn_breakpoint_set(search.bias + m->link_addrs[i], sn_monitor_reached) >=
			    0)
				sn_monitor_here.has_breakpoint = true;
		m->is_found = sn_monitor_here.has_breakpoint;
		break;
	default:
		break;
	}
}

bool sn_monitor_install(enum sn_data_origin origin)
{
	struct sn_monitor *m;

	sn_monitor_here.segment = NULL;
	sn_monitor_here.owner = 0;
	sn_monitor_here.is_inside = sn_monitor_here.is_on = false;
	if (!sn_config.settings.is_monitored)
		return true;
	sn_monitor_traces_keep(NULL);
	agent_find();
	if (!segment_make()) /* it runs on, with its sources off */
		return true;
	m = sn_monitor_here.segment;
	if (origin == SN_DATA_ORIGIN_EXEC) {
		wait_for_agent(m);
		boundary_take(m);
	} else {
		m->is_found = sn_monitor_here.beat[0] || sn_monitor_here.has_breakpoint;
	}
	atomic_store_explicit(&m->state,
			      m->is_found && sn_monitor_has_agent(sn_now_ns())
				      ? SN_MONITOR_RUNNING
				      : SN_MONITOR_DETACHED,
			      memory_order_release);
	return true;
}
