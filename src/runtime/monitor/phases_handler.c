/*
 * Executions of the phase. One thread's count: the first that begins one, until it ends. It takes over
 * what the agent wants, switches the sources, and is the one that is stopped.
 */
#include <errno.h>
#include <linux/futex.h>

#include "runtime/core/breakpoints.h"
#include "runtime/monitor/monitor.h"
#include "wire/trace.h"

struct sn_monitor_here sn_monitor_here;

bool sn_monitor_has_agent(int64_t now_ns)
{
	const struct sn_monitor_agent *agent = sn_monitor_here.agent;
	int64_t beat_ns = agent ? atomic_load_explicit(&agent->beat_ns, memory_order_acquire) : 0;

	return beat_ns && now_ns - beat_ns < SN_MONITOR_DEAD_NS;
}

/* ---- sources ---- */

static struct sn_monitor_table *table_in_force(void)
{
	struct sn_monitor *m = sn_monitor_here.segment;

	return &m->tables[atomic_load(&m->taken) & 1];
}

static bool wants(const struct sn_monitor_table *table, enum sn_monitor_source source)
{
	uint32_t count = table->request_count;

	for (uint32_t i = 0; i < count && i < SN_MONITOR_REQUESTS_MAX; i++)
		if (table->requests[i].source == source &&
		    table->requests[i].answer == SN_MONITOR_ACCEPTED)
			return true;
	return false;
}

/* What an agent can switch, of what is traced. */
static const struct {
	enum sn_monitor_source source;
	enum sn_trace_kind kind;
} traces[] = {
	{ SN_MONITOR_IO, SN_TRACE_IO },
	{ SN_MONITOR_LOCKS, SN_TRACE_SYNC },
	{ SN_MONITOR_HEAP, SN_TRACE_HEAP },
};
enum { TRACES = sizeof traces / sizeof *traces };

/* NULL: none. */
void sn_monitor_traces_keep(const struct sn_monitor_table *table)
{
	uint32_t off = 0;

	for (unsigned i = 0; i < TRACES; i++)
		if (!table || !wants(table, traces[i].source))
			off |= 1u << traces[i].kind;
	atomic_store_explicit(&sn_state->traces_off, off, memory_order_relaxed);
}

static bool is_traced(uint32_t source)
{
	return (source == SN_MONITOR_IO && sn_config.settings.io) ||
	       (source == SN_MONITOR_LOCKS && sn_config.settings.sync) ||
	       (source == SN_MONITOR_HEAP && sn_config.settings.heap);
}

/* The others resume by themselves, as soon as they compute. */
static void threads_resume(struct sn_thread *self)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];

		if (thread && thread != self && atomic_load(&thread->is_live) == 1 &&
		    !atomic_load(&thread->is_awaited))
			sn_collect_call_in(thread);
	}
	sn_collect_resume(self);
}

static void sources_begin(struct sn_thread *self, uint32_t execution, int64_t now_ns)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	struct sn_monitor_table *table = table_in_force();
	int64_t begin_ns = sn_now_ns();

	sn_monitor_here.is_on = true;
	atomic_fetch_add(&sn_state->windows, 1);
	if (wants(table, SN_MONITOR_ACCOUNTS))
		sn_monitor_accounts(self, table, atomic_load(&m->taken), 0);
	atomic_store_explicit(&table->begun, execution, memory_order_relaxed);
	atomic_store_explicit(&table->begun_ns, now_ns, memory_order_relaxed);
	sn_monitor_traces_keep(table);
	if (table->period_times <= SN_MONITOR_PERIOD_TIMES_MAX)
		atomic_store_explicit(&sn_state->period_times, table->period_times,
				      memory_order_relaxed);
	if (wants(table, SN_MONITOR_SAMPLES)) {
		atomic_fetch_and(&sn_header()->is_paused, ~(uint32_t)SN_PAUSED_BY_LAUNCHER);
		threads_resume(self);
	}
	sn_count_overhead(begin_ns);
}

/* Other threads close their events at their next sample. */
static void sources_end(struct sn_thread *self)
{
	if (sn_monitor_here.is_on && self)
		sn_collect_settle(self);
	if (sn_monitor_here.is_on)
		atomic_fetch_add(&sn_state->windows, 1);
	sn_monitor_here.is_on = false;
	sn_monitor_traces_keep(NULL);
	atomic_fetch_or(&sn_header()->is_paused, SN_PAUSED_BY_LAUNCHER);
	if (self && !sn_state->is_sealed)
		sn_collect_hold(self);
}

static void detach(struct sn_thread *self)
{
	sources_end(self);
	atomic_store_explicit(&sn_monitor_here.segment->state, SN_MONITOR_DETACHED,
			      memory_order_release);
}

static bool is_detached(void)
{
	return !sn_monitor_here.segment ||
	       atomic_load(&sn_monitor_here.segment->state) == SN_MONITOR_DETACHED;
}

/* Detaches where the agent wants it, or is dead. */
static bool look(struct sn_thread *self, int64_t now_ns)
{
	if (is_detached())
		return false;
	if (!atomic_load(&sn_monitor_here.segment->detach) && sn_monitor_has_agent(now_ns) &&
	    !sn_state->is_sealed)
		return true;
	detach(self);
	return false;
}

/* ---- the agent's tables ---- */

static void requests_answer(struct sn_monitor_table *table)
{
	for (uint32_t i = 0; i < table->request_count && i < SN_MONITOR_REQUESTS_MAX; i++) {
		uint32_t source = table->requests[i].source;

		table->requests[i].answer = source == SN_MONITOR_SAMPLES ||
							    source == SN_MONITOR_ACCOUNTS ||
							    is_traced(source)
						    ? SN_MONITOR_ACCEPTED
						    : SN_MONITOR_NO_SUCH_SOURCE;
	}
}

static void table_take(void)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	uint32_t wanted = atomic_load_explicit(&m->wanted, memory_order_acquire);

	if (wanted == atomic_load(&m->taken) || sn_monitor_here.is_on)
		return;
	requests_answer(&m->tables[wanted & 1]);
	atomic_store_explicit(&m->taken, wanted, memory_order_release);
}

static bool has_work(void)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	uint32_t taken = atomic_load(&m->taken);

	return taken && taken != atomic_load(&m->done);
}

/* ---- stops ---- */

/* A futex wait without the C library; whoever raises `go`, and time, end it. */
static void stop(int64_t most_ns)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	uint32_t go = atomic_load(&m->go);
	int64_t begin_ns = sn_now_ns(), now_ns = begin_ns;

	atomic_store_explicit(&m->state, SN_MONITOR_STOPPED, memory_order_release);
	while (atomic_load(&m->go) == go && now_ns - begin_ns < most_ns &&
	       sn_monitor_has_agent(now_ns)) {
		int64_t left_ns = most_ns - (now_ns - begin_ns);
		int64_t wake_ns = SN_MONITOR_WAKE_MS * 1000000LL;
		struct timespec time = { .tv_nsec = left_ns < wake_ns ? left_ns : wake_ns };

		SYS(futex, &m->go, FUTEX_WAIT, go, &time, NULL, 0);
		now_ns = sn_now_ns();
	}
	atomic_fetch_add(&m->stopped_ns, now_ns - begin_ns);
	atomic_store_explicit(&m->state, SN_MONITOR_RUNNING, memory_order_release);
}

/* ---- executions ---- */

/* Whether the caller is the thread whose executions count. */
static bool is_owner(const struct sn_thread *self)
{
	int32_t none = 0;

	if (atomic_load(&sn_monitor_here.owner) == self->tid ||
	    atomic_compare_exchange_strong(&sn_monitor_here.owner, &none, self->tid))
		return true;
	atomic_fetch_add(&sn_monitor_here.segment->elsewhere, 1);
	return false;
}

static void begin(struct sn_thread *self, int64_t now_ns)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	uint32_t next = atomic_load(&m->ended);

	if (!next) {
		if (!sn_monitor_here.is_inside)
			m->first_ns = now_ns;
		table_take();
	}
	sn_monitor_here.is_inside = true;
	if (has_work() && !sn_monitor_here.is_on && next >= table_in_force()->first &&
	    next <= table_in_force()->last)
		sources_begin(self, next, now_ns);
}

static void end(struct sn_thread *self, uint32_t count, int64_t now_ns)
{
	struct sn_monitor *m = sn_monitor_here.segment;
	uint32_t ended = atomic_load(&m->ended) + count;

	atomic_store_explicit(&m->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&m->ended, ended, memory_order_release);
	sn_monitor_here.is_inside = false;
	if (has_work() && ended > table_in_force()->last) {
		struct sn_monitor_table *table = table_in_force();
		uint32_t number = atomic_load(&m->taken);

		if (sn_monitor_here.is_on) {
			sources_end(self);
			if (wants(table, SN_MONITOR_ACCOUNTS))
				sn_monitor_accounts(self, table, number, 1);
			table->ended = ended;
			table->ended_ns = now_ns;
		}
		atomic_store_explicit(&m->done, number, memory_order_release);
		if (table->stop_ns > 0)
			stop(table->stop_ns);
	}
	table_take();
}

void sn_monitor_begin(struct sn_thread *self, int64_t now_ns)
{
	if (look(self, now_ns) && is_owner(self))
		begin(self, now_ns);
}

void sn_monitor_end(struct sn_thread *self, uint32_t count, int64_t now_ns)
{
	if (look(self, now_ns) && is_owner(self) && sn_monitor_here.is_inside)
		end(self, count, now_ns);
}

/* The arrival ends the execution that the one before began. After a stop, the next one begins late. */
void sn_monitor_reached(struct sn_thread *self, unsigned which, uint32_t arrivals)
{
	int64_t now_ns = sn_now_ns();

	if (!look(self, now_ns))
		return;
	if (sn_breakpoint_is_deaf(which))
		atomic_store_explicit(&sn_monitor_here.segment->is_deaf, 1, memory_order_relaxed);
	if (!is_owner(self))
		return;
	atomic_store_explicit(&sn_monitor_here.segment->every, sn_breakpoint_every(which),
			      memory_order_relaxed);
	if (sn_monitor_here.is_inside)
		end(self, arrivals, now_ns);
	if (look(self, sn_now_ns()))
		begin(self, sn_now_ns());
}

/* ---- the collector ---- */

static void after_sample(struct sn_thread *self, uint64_t pc, int64_t cpu_ns)
{
	int64_t now_ns;

	(void)pc, (void)cpu_ns;
	if (!sn_monitor_here.segment || !sn_monitor_here.is_on)
		return;
	now_ns = sn_now_ns();
	if (now_ns < sn_monitor_here.next_look_ns)
		return;
	sn_monitor_here.next_look_ns = now_ns + SN_MONITOR_WAKE_MS * 1000000LL;
	look(self, now_ns);
}

static void thread_end(struct sn_thread *self, int64_t now_ns)
{
	int32_t tid = self->tid;

	(void)now_ns;
	if (!sn_monitor_here.segment)
		return;
	if (sn_monitor_here.is_on && wants(table_in_force(), SN_MONITOR_ACCOUNTS))
		sn_monitor_account_of(self, atomic_load(&sn_monitor_here.segment->taken), 1);
	atomic_compare_exchange_strong(&sn_monitor_here.owner, &tid, 0);
}

/* A phase that is passed once lasts until the image ends. What has passed before, and what comes behind the last
 * arrival of several, are not alike. */
static void image_end(struct sn_thread *self, int64_t now_ns)
{
	struct sn_monitor *m = sn_monitor_here.segment;

	if (is_detached() || atomic_load(&m->is_deaf))
		return;
	if (sn_monitor_here.is_inside && !atomic_load(&m->ended))
		end(self, 1, now_ns);
	if (!sn_monitor_here.is_inside && atomic_load(&m->ended) == 1)
		atomic_store_explicit(&m->is_only, 1, memory_order_relaxed);
}

static void seal(struct sn_thread *self)
{
	if (!is_detached())
		detach(self);
}

struct sn_collector sn_monitor_collector = {
	.name = "monitor",
	.install = sn_monitor_install,
	.seal = seal,
	.image_end = image_end,
	.thread_end = thread_end,
	.after_sample = after_sample,
};
