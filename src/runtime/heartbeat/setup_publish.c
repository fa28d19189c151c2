/*
 * Loads publishers, which are plug-ins, and hands them every row. A publisher that cannot start is
 * told once and left out.
 */
#include "runtime/heartbeat/parts.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sonde/heartbeat_publisher.h"

/* Publishers are loaded when the drain starts, by its thread: what dlopen() costs, and whatever the
 * plug-ins' constructors do, does not delay a beat. No lock is held meanwhile: the application may
 * be in a dlopen() of its own, whose constructors flush or fork. */

enum { PUBLISHERS_MAX = 8 };

struct publisher {
	const struct sonde_heartbeat_publisher *plugin;
	const char *name; /* in the settings */
	bool is_started;
};

static struct publisher publishers[PUBLISHERS_MAX];
static unsigned publisher_count;
static bool are_loaded, are_started;

static void complain(const char *name, const char *why)
{
	struct beat_text line = { 0 };

	beat_text_string(&line, "sonde-heartbeat: publisher ");
	beat_text_json(&line, name, strlen(name));
	beat_text_string(&line, ": ");
	beat_text_string(&line, why);
	beat_text_string(&line, "; the files are written all the same\n");
	if (line.length)
		(void)!write(STDERR_FILENO, line.chars, line.length);
	free(line.chars);
}

/* Beside this library, as installed (sonde/NAME.so) and as built (publishers/NAME.so). */
static void *open_named(const char *name)
{
	static const char *const folders[] = { "/sonde/sonde-heartbeat-",
					       "/publishers/sonde-heartbeat-" };
	void *handle = NULL;
	Dl_info here;

	if (strchr(name, '/'))
		return dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!dladdr((void *)(uintptr_t)&sonde_heartbeat_init, &here) ||
	    !strrchr(here.dli_fname, '/'))
		return NULL;
	for (unsigned i = 0; i < 2 && !handle; i++) {
		struct beat_text path = { 0 };

		beat_text_add(&path, here.dli_fname,
			      (size_t)(strrchr(here.dli_fname, '/') - here.dli_fname));
		beat_text_string(&path, folders[i]);
		beat_text_string(&path, name);
		beat_text_add(&path, ".so", 4);
		if (!path.is_short && access(path.chars, F_OK) == 0)
			handle = dlopen(path.chars, RTLD_NOW | RTLD_LOCAL);
		free(path.chars);
	}
	return handle;
}

static void load(const char *name)
{
	const struct sonde_heartbeat_publisher *plugin;
	void *handle;
	const char *why;

	dlerror();
	handle = open_named(name);
	if (!handle) {
		why = dlerror();
		complain(name, why ? why
				   : "there is no such plug-in (openmetrics; ldms where sonde was "
				     "built with it; or a path)");
		return;
	}
	plugin = dlsym(handle, "sonde_heartbeat_publisher");
	if (!plugin || plugin->version != SONDE_HEARTBEAT_PUBLISHER_VERSION)
		complain(name, "is not a publisher of this version");
	else if (!plugin->forked && beat_globals.forked_from)
		return; /* as if the parent had loaded it already */
	else if (publisher_count == PUBLISHERS_MAX)
		complain(name, "is one too many (8 at most)");
	else
		publishers[publisher_count++] =
			(struct publisher){ .plugin = plugin, .name = name };
	/* the library stays loaded to the end: its threads may run in it */
}

void beat_publishers_load(void)
{
	static char list[sizeof(beat_globals.settings.publish)];
	char *rest = list, *word;

	if (are_loaded)
		return;
	memcpy(list, beat_globals.settings.publish, sizeof(list));
	while ((word = strsep(&rest, ",")))
		if (*word)
			load(word);
	__atomic_store_n(&are_loaded, true, __ATOMIC_RELEASE);
}

/* Not for ever: the caller may stand in a constructor of a dlopen() that ours waits for. */
void beat_publishers_await(void)
{
	static bool has_waited;
	struct timespec pause = { .tv_nsec = 1000000 };

	if (has_waited || !beat_globals.settings.publish[0] || !beat_globals.has_thread)
		return;
	for (int i = 0; i < 1000 && !__atomic_load_n(&are_loaded, __ATOMIC_ACQUIRE); i++)
		nanosleep(&pause, NULL);
	has_waited = true;
}

static void start(struct publisher *publisher)
{
	const struct beat_identity *me = &beat_globals.identity;
	const char *slash = strrchr(me->path, '/');
	struct sonde_heartbeat_process process = {
		.host = me->host,
		.program = slash ? slash + 1 : me->path,
		.job_id = me->job_id[0] ? me->job_id : NULL,
		.pid = (uint64_t)getpid(),
		.rank = me->rank,
		.ranks = me->ranks,
		.interval_ns = beat_globals.settings.interval_ns,
	};
	const char *why = publisher->plugin->start(&process);

	publisher->is_started = !why;
	if (why)
		complain(publisher->name, why);
}

void beat_publishers_start(void)
{
	if (are_started || !__atomic_load_n(&are_loaded, __ATOMIC_ACQUIRE))
		return;
	are_started = true;
	for (unsigned i = 0; i < publisher_count; i++)
		start(&publishers[i]);
}

void beat_publishers_add(const struct beat_row *from)
{
	struct sonde_heartbeat_row row = { .name = from->beat->name,
					   .name_length = from->beat->name_length,
					   .index = from->beat->fast.index,
					   .every = from->beat->every,
					   .thread = from->thread,
					   .threads = from->threads,
					   .count = from->count,
					   .sum_ns = from->sum_ns,
					   .min_ns = from->min_ns,
					   .max_ns = from->max_ns,
					   .open = from->open,
					   .open_ns = from->open_ns,
					   .work = from->work,
					   .misuse = from->misuse,
					   /* rows that a file has lost were published before */
					   .dropped = from->dropped - from->lost };

	if (!are_started)
		return;
	for (unsigned i = 0; i < SONDE_HEARTBEAT_BUCKETS; i++)
		row.timed += row.histogram[i] = from->histogram[i];
	for (unsigned i = 0; i < publisher_count; i++)
		if (publishers[i].is_started)
			publishers[i].plugin->row(&row);
}

void beat_publishers_interval(uint64_t interval_ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (unsigned i = 0; are_started && i < publisher_count; i++)
		if (publishers[i].is_started)
			publishers[i].plugin->interval((uint64_t)now.tv_sec * 1000000000 +
							       (uint64_t)now.tv_nsec,
						       interval_ns);
}

void beat_publishers_stop(void)
{
	for (unsigned i = 0; are_started && i < publisher_count; i++)
		if (publishers[i].is_started) {
			publishers[i].is_started = false;
			publishers[i].plugin->stop();
		}
}

void beat_publishers_forked(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; are_loaded && i < publisher_count; i++)
		if (publishers[i].plugin->forked) {
			if (publishers[i].is_started)
				publishers[i].plugin->forked();
			publishers[i].is_started = false;
			publishers[kept++] = publishers[i];
		}
	/* where even waiting did not help, the lock of dlopen() may be held for ever in this child
	 */
	publisher_count = kept;
	are_loaded = are_loaded || beat_globals.has_thread;
	are_started = false;
}
