/*
 * The library from start to end: its clock, its thread that writes an interval's rows,
 * registration of heartbeats, and what happens at fork and at exit.
 */
#include "runtime/heartbeat/parts.h"

#include <cpuid.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

struct beat_globals beat_globals = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.drain_lock = PTHREAD_MUTEX_INITIALIZER,
};

void *beat_alloc(size_t bytes)
{
	static char *next, *end;
	size_t rounded = (bytes + 63) & ~(size_t)63;
	size_t piece_bytes = rounded > 262144 ? rounded : 262144;
	char *memory;

	if (rounded > (size_t)(end - next)) {
		memory = mmap(NULL, piece_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			return NULL;
		if (rounded == piece_bytes) /* a piece of its own; the shared one stays in use */
			return memory;
		next = memory;
		end = memory + piece_bytes;
	}
	memory = next;
	next += rounded;
	return memory;
}

uint64_t beat_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* CPUID 8000_0007H, EDX bit 8 (Intel SDM, volume 3B, section 18.17.1): the TSC never stops. */
static bool has_invariant_tsc(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Calibrates ticks against CLOCK_MONOTONIC (about 2 ms); mode BEAT_NO_TSC where the TSC may stop. */
static void start_clock(void)
{
	struct beat_globals *g = &beat_globals;
	uint64_t ns, ticks;

	if (!has_invariant_tsc()) {
		g->mode |= BEAT_NO_TSC;
		g->multiplier = UINT64_C(1) << 32;
		g->base_ns = g->base_ticks = beat_clock_ns();
		return;
	}
	g->base_ns = beat_clock_ns();
	g->base_ticks = sonde_heartbeat_ticks();
	do {
		ns = beat_clock_ns() - g->base_ns;
		ticks = sonde_heartbeat_ticks() - g->base_ticks;
	} while (ns < 2000000);
	g->multiplier = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

/* Writing must neither be interrupted nor kill: SIGXFSZ and SIGPIPE that it raised are taken away.
 */
struct quiet {
	sigset_t before;
	int cancel;
};

static void quiet_begin(struct quiet *quiet)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &quiet->before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
	pthread_mutex_lock(&beat_globals.drain_lock);
}

static void quiet_end(struct quiet *quiet)
{
	struct timespec none = { 0 };
	sigset_t raised;

	pthread_mutex_unlock(&beat_globals.drain_lock);
	sigemptyset(&raised);
	sigaddset(&raised, SIGXFSZ);
	while (sigtimedwait(&raised, NULL, &none) > 0)
		;
	pthread_setcancelstate(quiet->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

static void drain_now(bool is_last)
{
	struct quiet quiet;

	quiet_begin(&quiet);
	beat_drain();
	if (is_last)
		beat_publishers_stop();
	quiet_end(&quiet);
}

/* Sleeps to the next multiple of the interval; false when it is time to stop. */
static bool sleep_until(uint64_t ns)
{
	struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000) };
	bool goes_on;

	pthread_mutex_lock(&beat_globals.lock);
	while (!beat_globals.must_stop && beat_clock_ns() < ns)
		pthread_cond_timedwait(&beat_globals.wake, &beat_globals.lock, &until);
	goes_on = !beat_globals.must_stop;
	pthread_mutex_unlock(&beat_globals.lock);
	return goes_on;
}

static void *drain_main(void *unused)
{
	uint64_t interval_ns = beat_globals.settings.interval_ns;
	uint64_t begin_ns = beat_globals.begin_ns;

	(void)unused;
	pthread_setname_np(pthread_self(), "sonde-heartbeat");
	beat_publishers_load();
	for (;;) {
		uint64_t passed = (beat_clock_ns() - begin_ns) / interval_ns;

		if (!sleep_until(begin_ns + (passed + 1) * interval_ns))
			return NULL;
		drain_now(false);
	}
}

/* With all signals blocked: they are the application's. */
static bool start_thread(pthread_t *out)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	bool is_made;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 262144);
	is_made = pthread_create(out, &attributes, drain_main, NULL) == 0;
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_made;
}

/* Without its thread (a limit was reached) the library writes at flush and at the end only. */
void beat_start(void)
{
	struct beat_globals *g = &beat_globals;

	pthread_mutex_lock(&g->lock);
	if (g->is_ready && !g->is_started && !(g->mode & (BEAT_FINALIZED | BEAT_OFF))) {
		g->begin_ns = g->stamp_ns = beat_clock_ns();
		/* from here on a flush may drain, also before the thread runs */
		__atomic_store_n(&g->is_started, true, __ATOMIC_RELEASE);
		g->has_thread = start_thread(&g->drain);
	}
	pthread_mutex_unlock(&g->lock);
}

static void fork_prepare(void)
{
	beat_publishers_await();
	pthread_mutex_lock(&beat_globals.drain_lock);
	pthread_mutex_lock(&beat_globals.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&beat_globals.lock);
	pthread_mutex_unlock(&beat_globals.drain_lock);
}

static void wake_init(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&beat_globals.wake, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void fork_child(void)
{
	struct beat_globals *g = &beat_globals;

	g->forked_from = g->pid;
	g->pid = (uint64_t)getpid();
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_init(&g->drain_lock, NULL);
	wake_init();
	beat_publishers_forked();
	g->is_started = g->has_thread = g->must_stop = false;
	g->process_ns = g->stamp_ns = beat_clock_ns();
	beat_files_forget();
	beat_threads_forked();
}

__attribute__((constructor)) static void note_start(void)
{
	beat_globals.process_ns = beat_globals.stamp_ns = beat_clock_ns();
}

PUBLIC int sonde_heartbeat_init(const struct sonde_heartbeat_config *config)
{
	struct beat_globals *g = &beat_globals;
	int result;

	pthread_mutex_lock(&g->lock);
	if (!g->is_ready) {
		wake_init();
		pthread_key_create(&g->key, beat_thread_exit);
		pthread_atfork(fork_prepare, fork_parent, fork_child);
		g->pid = (uint64_t)getpid();
		beat_settings_read(config);
		beat_identity_read();
		start_clock();
		if (!g->settings.is_enabled)
			g->mode |= BEAT_OFF;
		else
			beat_files_check();
		g->is_ready = true;
	}
	result = g->mode & BEAT_FINALIZED ? -1 : 0;
	pthread_mutex_unlock(&g->lock);
	return result;
}

static struct beat *find(const char *name, size_t length)
{
	for (struct beat *beat = beat_globals.beats; beat; beat = beat->next)
		if (beat->name_length == length && !memcmp(beat->name, name, length))
			return beat;
	return NULL;
}

static struct beat *make(const char *name, size_t length)
{
	struct beat *beat = beat_alloc(sizeof(*beat));
	char *copy = beat_alloc(length + 1);

	if (!beat || !copy)
		return NULL;
	memcpy(copy, name, length);
	beat->name = copy;
	beat->name_length = length;
	beat->every = beat->asked_every = 1;
	beat->fast.index = beat_globals.beat_count++;
	beat->fast.mode = beat_globals.mode;
	if (sonde_monitor_watches && sonde_monitor_beat && sonde_monitor_watches(copy))
		beat->fast.mode |= BEAT_WATCHED;
	beat->next = beat_globals.beats;
	__atomic_store_n(&beat_globals.beats, beat, __ATOMIC_RELEASE);
	return beat;
}

PUBLIC sonde_heartbeat *sonde_heartbeat_register(const char *name, unsigned flags)
{
	size_t length = name ? strlen(name) : 0;
	struct beat *beat;

	(void)flags;
	sonde_heartbeat_init(NULL);
	pthread_mutex_lock(&beat_globals.lock);
	beat = find(name ? name : "", length);
	if (!beat)
		beat = make(name ? name : "", length);
	pthread_mutex_unlock(&beat_globals.lock);
	return beat ? &beat->fast : NULL;
}

PUBLIC sonde_heartbeat *sonde_heartbeat_by_id(uint32_t id)
{
	char digits[11];
	char *first = digits + sizeof(digits) - 1;

	*first = 0;
	do
		*--first = (char)('0' + id % 10);
	while (id /= 10);
	return sonde_heartbeat_register(first, 0);
}

static void set_mode(struct beat *beat, uint32_t bit, bool is_set)
{
	uint32_t mode = is_set ? beat->fast.mode | bit : beat->fast.mode & ~bit;

	__atomic_store_n(&beat->fast.mode, mode, __ATOMIC_RELAXED);
}

static void set_mode_of_all(uint32_t bit, bool is_set)
{
	uint32_t mode = is_set ? beat_globals.mode | bit : beat_globals.mode & ~bit;

	__atomic_store_n(&beat_globals.mode, mode, __ATOMIC_RELAXED);
	for (struct beat *beat = beat_globals.beats; beat; beat = beat->next)
		set_mode(beat, bit, is_set);
}

void beat_set_every(struct beat *beat, uint32_t n)
{
	__atomic_store_n(&beat->every, n, __ATOMIC_RELAXED);
	set_mode(beat, BEAT_SAMPLED, n > 1);
}

PUBLIC void sonde_heartbeat_every(sonde_heartbeat *heartbeat, uint32_t n)
{
	struct beat *beat = (struct beat *)heartbeat;

	if (!heartbeat)
		return;
	pthread_mutex_lock(&beat_globals.lock);
	beat->asked_every = n ? n : 1;
	beat_set_every(beat, beat->asked_every);
	pthread_mutex_unlock(&beat_globals.lock);
}

PUBLIC void sonde_heartbeat_enable(int enabled)
{
	bool must_start;

	sonde_heartbeat_init(NULL);
	pthread_mutex_lock(&beat_globals.lock);
	set_mode_of_all(BEAT_OFF, !enabled);
	must_start = enabled && beat_globals.threads;
	pthread_mutex_unlock(&beat_globals.lock);
	if (must_start)
		beat_start();
}

PUBLIC void sonde_heartbeat_flush(void)
{
	if (!__atomic_load_n(&beat_globals.is_started, __ATOMIC_ACQUIRE))
		return;
	beat_publishers_await();
	drain_now(false);
}

PUBLIC void sonde_heartbeat_finalize(void)
{
	struct beat_globals *g = &beat_globals;
	bool must_join;

	pthread_mutex_lock(&g->lock);
	set_mode_of_all(BEAT_FINALIZED, true);
	must_join = g->has_thread;
	g->has_thread = false;
	g->must_stop = true;
	if (must_join)
		pthread_cond_broadcast(&g->wake);
	pthread_mutex_unlock(&g->lock);
	if (must_join)
		pthread_join(g->drain, NULL);
	if (__atomic_load_n(&g->is_started, __ATOMIC_ACQUIRE))
		drain_now(true);
}

/* Also after an explicit finalize: misuse since then is told. */
__attribute__((destructor)) static void finish(void)
{
	sonde_heartbeat_finalize();
}
