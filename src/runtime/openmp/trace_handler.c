/* Regions, teams and waits, and their entries. */
#include "runtime/openmp/trace.h"

#include "runtime/openmp/ompt.h"

struct sn_openmp_trace sn_openmp_trace;

static struct sn_openmp_worker *worker_of(const struct sn_thread *thread)
{
	return sn_thread_scratch(thread, &sn_openmp_trace_collector);
}

/* ---- entries ---- */

static inline bool is_same(const struct sn_openmp_entry *a, const struct sn_openmp_entry *b)
{
	return a->type == b->type && a->construct == b->construct && a->is_nested == b->is_nested &&
	       a->region == b->region && a->pc == b->pc && a->thread == b->thread &&
	       (a->type != SN_OPENMP_REGION || a->path == b->path);
}

static struct sn_openmp_entry *find(struct sn_entry_stream *stream,
				    const struct sn_openmp_entry *entry, uint16_t **place)
{
	uint64_t key = entry->pc ^ (uint64_t)entry->region << 40 ^ (uint64_t)entry->type << 32 ^
		       (uint64_t)entry->construct << 34 ^
		       (entry->type == SN_OPENMP_REGION ? (uint64_t)entry->path << 20 : 0);
	uint16_t *first =
		&stream->index[((key * 0x9e3779b97f4a7c15ULL >> 40) % SN_ENTRY_INDEX) & ~1u];

	*place = first;
	if (!stream->writer.piece)
		return NULL;
	for (unsigned way = 0; way < 2; way++) {
		struct sn_openmp_entry *there = sn_entry_at(stream, first[way]);
		if (first[way] && is_same(there, entry))
			return there;
		if (!first[way])
			*place = &first[way];
	}
	return NULL;
}

/* A construct whose call was the last of the region's body returns to us or to the library: it is told by its
 * region then. A task is told by its code, which is no caller. */
static uint32_t path_of_construct(struct sn_thread *self, struct sn_openmp_worker *worker,
				  const struct sn_openmp_entry *entry)
{
	uint32_t path = 0;

	if (!entry->pc || sn_is_own_code(entry->pc) || sn_ompt_is_in_library(entry->pc))
		return entry->region;
	if (entry->construct != SN_OPENMP_TASK)
		path = sn_path_walk(self, &worker->entries.paths, entry->pc);
	return path ? path : sn_path_below(self, 0, entry->pc);
}

/* Adds the entry to the one of its key, which may be new: then it learns its call path. */
static void add(struct sn_thread *self, struct sn_openmp_worker *worker,
		const struct sn_openmp_entry *more)
{
	struct sn_entry_stream *stream = sn_entries_hold(self, &worker->entries, SN_TRACE_OPENMP,
							 __builtin_frame_address(0));
	struct sn_openmp_entry *entry;
	uint16_t *place;

	if (!stream)
		return;
	uint64_t begin_tsc = sn_entries_measure(stream, SN_TRACE_MEASURED);
	entry = find(stream, more, &place);
	if (__builtin_expect(!entry, 0)) {
		struct sn_openmp_entry fresh = *more;
		if (fresh.type == SN_OPENMP_CONSTRUCT)
			fresh.path = path_of_construct(self, worker, &fresh);
		entry = sn_entries_append(stream, SN_TRACE_OPENMP, self, &fresh);
		if (entry)
			*place = sn_entry_number(stream, entry);
	} else {
		sn_entry_add(&entry->count, more->count);
		sn_entry_add(&entry->ticks, more->ticks);
		sn_entry_add(&entry->work, more->work);
		sn_entry_add(&entry->wait, more->wait);
		if (entry->type == SN_OPENMP_REGION)
			sn_entry_add(&entry->largest, more->largest);
		else if (more->largest > entry->largest)
			entry->largest = more->largest;
	}
	if (stream->writer.piece && __builtin_ia32_rdtsc() - stream->time_tsc > 1u << 22)
		sn_entries_put_time(stream);
	sn_entries_measured(SN_TRACE_OPENMP, begin_tsc,
			    sn_trace_stands_for(stream->unmeasured, SN_TRACE_MEASURED));
	sn_entries_let_go(stream);
}

/* ---- the end of a region, for those that waited for it ---- */

/* How long the thread waited for the last of its team, into an entry of the caller's stream. */
static void settle(struct sn_thread *self, struct sn_openmp_worker *worker,
		   const struct sn_thread *thread, struct sn_openmp_worker *of)
{
	struct sn_openmp_team *team = atomic_exchange(&of->pending, NULL);

	if (!team)
		return;
	uint64_t last = atomic_load_explicit(&team->last_end, memory_order_relaxed);
	struct sn_openmp_entry entry = {
		.type = SN_OPENMP_BODY,
		.region = team->region,
		.thread = thread == self ? 0 : thread->index + 1,
		.wait = last > of->pending_end ? last - of->pending_end : 0,
	};
	add(self, worker, &entry);
	atomic_fetch_sub_explicit(&team->pinned, 1, memory_order_release);
}

static void settle_own(struct sn_openmp_worker *worker)
{
	if (atomic_load_explicit(&worker->pending, memory_order_relaxed))
		settle(sn_self, worker, sn_self, worker);
}

/* ---- bodies ---- */

static void keep(const struct sn_openmp_worker *worker, struct sn_openmp_before *before)
{
	*before = (struct sn_openmp_before){ .team = worker->team,
					     .mark = worker->mark,
					     .work = worker->work,
					     .waited = worker->waited,
					     .block_pc = worker->block_pc,
					     .block_begin = worker->block_begin,
					     .block_construct = worker->block_construct,
					     .is_waiting = worker->is_waiting };
}

static void go_back(struct sn_openmp_worker *worker, const struct sn_openmp_before *before)
{
	worker->team = before->team;
	worker->mark = before->mark;
	worker->work = before->work;
	worker->waited = before->waited;
	worker->block_pc = before->block_pc;
	worker->block_begin = before->block_begin;
	worker->block_construct = before->block_construct;
	worker->is_waiting = before->is_waiting;
}

void sn_openmp_begin_body(const struct sn_region *region, struct sn_openmp_before *before)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();

	*before = (struct sn_openmp_before){ 0 };
	if (!worker)
		return;
	settle_own(worker);
	keep(worker, before);
	worker->team = region->team;
	worker->work = 0;
	worker->block_begin = 0;
	worker->is_waiting = false;
	struct sn_openmp_entry entry = { .type = SN_OPENMP_BODY,
					 .region = region->team->region,
					 .count = 1 };
	add(sn_self, worker, &entry);
	worker->mark = __builtin_ia32_rdtsc();
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(most, memory_order_relaxed);

	while (seen < value && !atomic_compare_exchange_weak(most, &seen, value))
		;
}

/* What the thread did for the team since it last told, up to `tsc`. */
static void tell_team(struct sn_openmp_worker *worker, struct sn_openmp_team *team, uint64_t more,
		      uint64_t tsc, uint64_t told_end)
{
	struct sn_openmp_entry entry = { .type = SN_OPENMP_BODY,
					 .region = team->region,
					 .work = more };
	uint64_t end = tsc - team->open_tsc;

	add(sn_self, worker, &entry);
	atomic_fetch_add_explicit(&team->sum_end, end - told_end, memory_order_relaxed);
	atomic_fetch_add_explicit(&team->work, more, memory_order_relaxed);
	worker->done += more;
	raise_to(&team->last_end, end);
	raise_to(&team->largest, worker->done);
	worker->pending_end = end;
	atomic_store_explicit(&worker->pending, team, memory_order_release);
}

void sn_openmp_end_body(struct sn_openmp_worker *worker, const struct sn_openmp_before *before)
{
	uint64_t tsc = __builtin_ia32_rdtsc();
	struct sn_openmp_team *team = worker->team;

	if (!worker->is_waiting)
		worker->work += tsc - worker->mark;
	sn_openmp_block_ends(worker);
	settle_own(worker); /* of a region within this one */
	worker->done = 0;
	atomic_fetch_add_explicit(&team->pinned, 1, memory_order_relaxed);
	tell_team(worker, team, worker->work, tsc, 0);
	go_back(worker, before);
	atomic_fetch_add_explicit(&team->ended, 1, memory_order_release);
}

static void end_body(const struct sn_region *region, const struct sn_openmp_before *before)
{
	struct sn_thread *self = sn_self;

	if (!self || !sn_is_active())
		return;
	struct sn_openmp_worker *worker = worker_of(self);
	if (worker->team == region->team)
		sn_openmp_end_body(worker, before);
}

/* ---- regions ---- */

/* A region's body, below the call that opened it. */
static uint32_t path_of_region(struct sn_thread *self, struct sn_openmp_worker *worker, uint64_t pc,
			       uint64_t body)
{
	uint32_t at = (uint32_t)(pc ^ body >> 4 ^ body >> 10) & (SN_OPENMP_PLACES - 1);

	if (worker->places[at].pc != pc || worker->places[at].body != body) {
		uint32_t path = sn_path_walk(self, &worker->entries.paths, pc);
		worker->places[at].path = body ? sn_path_below(self, path, body + 1) : path;
		worker->places[at].pc = pc;
		worker->places[at].body = body;
	}
	return worker->places[at].path;
}

static struct sn_openmp_team *take_team(struct sn_openmp_worker *worker)
{
	for (uint32_t i = 0; i < SN_OPENMP_TEAMS; i++) {
		struct sn_openmp_team *team =
			&worker->teams[worker->next_team++ & (SN_OPENMP_TEAMS - 1)];
		if (!atomic_load_explicit(&team->pinned, memory_order_acquire) &&
		    !atomic_load_explicit(&team->is_open, memory_order_relaxed))
			return team;
	}
	return NULL;
}

static void open_region(struct sn_region *region, uint64_t pc, uint64_t body)
{
	struct sn_openmp_worker *worker = sn_openmp_worker();
	struct sn_openmp_team *team = worker ? take_team(worker) : NULL;

	if (!team) {
		if (worker)
			sn_trace_lose(SN_TRACE_OPENMP);
		return;
	}
	if (!body)
		body = worker->microtask;
	worker->microtask = 0;
	team->region = path_of_region(sn_self, worker, pc, body);
	team->pc = pc;
	team->is_nested = worker->team != NULL;
	team->ended = 0;
	team->last_end = team->sum_end = team->work = team->largest = 0;
	team->is_open = 1;
	team->open_tsc = __builtin_ia32_rdtsc();
	if (atomic_fetch_add(&sn_openmp_trace.open_regions, 1) == 0)
		sn_openmp_trace.span_tsc = team->open_tsc;
	region->team = team;
}

static void close_span(struct sn_openmp_worker *worker, uint64_t tsc)
{
	uint64_t since = sn_openmp_trace.span_tsc;

	if (atomic_fetch_sub(&sn_openmp_trace.open_regions, 1) != 1)
		return;
	struct sn_openmp_entry entry = { .type = SN_OPENMP_SPAN,
					 .count = 1,
					 .ticks = tsc > since ? tsc - since : 0 };
	add(sn_self, worker, &entry);
}

static void close_region(struct sn_region *region)
{
	uint64_t tsc = __builtin_ia32_rdtsc();
	struct sn_openmp_team *team = region->team;
	struct sn_thread *self = sn_self;

	region->team = NULL;
	if (!self || !sn_is_active())
		return;
	struct sn_openmp_worker *worker = worker_of(self);
	uint32_t threads = atomic_load_explicit(&team->ended, memory_order_acquire);
	uint64_t wait = threads * team->last_end - team->sum_end;
	struct sn_openmp_entry entry = {
		.type = SN_OPENMP_REGION,
		.is_nested = team->is_nested,
		.region = team->region,
		.path = threads,
		.count = 1,
		.ticks = tsc - team->open_tsc,
		.work = team->work,
		.largest = team->largest,
		.wait = threads && wait < 1ULL << 63 ? wait : 0,
		.pc = team->pc,
	};
	add(self, worker, &entry);
	atomic_store_explicit(&team->is_open, 0, memory_order_release);
	settle_own(worker);
	close_span(worker, tsc);
}

static const struct sn_openmp_tracer tracer = {
	.open = open_region,
	.close = close_region,
	.begin = sn_openmp_begin_body,
	.end = end_body,
	.implicit_task = sn_ompt_trace_implicit_task,
	.ask = sn_ompt_trace_ask,
};

/* ---- constructs ---- */

void sn_openmp_wait_begins(struct sn_openmp_worker *worker)
{
	uint64_t tsc = __builtin_ia32_rdtsc();

	if (!worker->is_waiting && worker->team)
		worker->work += tsc - worker->mark;
	worker->waited = 0;
	worker->is_waiting = true;
	worker->mark = tsc;
}

static void count(struct sn_openmp_worker *worker, enum sn_openmp_construct construct, uint64_t pc,
		  uint64_t times, uint64_t ticks, uint64_t wait)
{
	struct sn_openmp_entry entry = {
		.type = SN_OPENMP_CONSTRUCT,
		.construct = (uint8_t)construct,
		.region = worker->team ? worker->team->region : 0,
		.count = times,
		.ticks = ticks,
		.largest = wait,
		.wait = wait,
		.pc = pc,
	};

	add(sn_self, worker, &entry);
}

void sn_openmp_wait_ends(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
			 uint64_t pc)
{
	uint64_t tsc = __builtin_ia32_rdtsc();

	if (!worker->is_waiting)
		return;
	worker->is_waiting = false;
	count(worker, construct, pc, 1, 0, worker->waited + (tsc - worker->mark));
	worker->mark = tsc;
}

void sn_openmp_met(struct sn_openmp_worker *worker, enum sn_openmp_construct construct, uint64_t pc)
{
	count(worker, construct, pc, 1, 0, 0);
}

void sn_openmp_block_begins(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
			    uint64_t pc)
{
	sn_openmp_block_ends(worker);
	count(worker, construct, pc, 1, 0, 0);
	worker->block_pc = pc;
	worker->block_construct = (uint8_t)construct;
	worker->block_begin = __builtin_ia32_rdtsc();
}

void sn_openmp_block_ends(struct sn_openmp_worker *worker)
{
	uint64_t begin = worker->block_begin;

	worker->block_begin = 0;
	if (begin)
		count(worker, (enum sn_openmp_construct)worker->block_construct, worker->block_pc,
		      0, __builtin_ia32_rdtsc() - begin, 0);
}

void sn_openmp_hold(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
		    const void *object, uint64_t pc)
{
	if (worker->held_count < SN_OPENMP_HELD)
		worker->held[worker->held_count++] =
			(struct sn_openmp_held){ object, pc, __builtin_ia32_rdtsc(),
						 (uint8_t)construct };
}

void sn_openmp_release(struct sn_openmp_worker *worker, enum sn_openmp_construct construct,
		       const void *object)
{
	for (uint32_t i = worker->held_count; i-- > 0;) {
		struct sn_openmp_held held = worker->held[i];
		if (held.object != object || held.construct != construct)
			continue;
		for (; i + 1 < worker->held_count; i++)
			worker->held[i] = worker->held[i + 1];
		worker->held_count--;
		count(worker, construct, held.pc, 0, __builtin_ia32_rdtsc() - held.begin_tsc, 0);
		return;
	}
}

void sn_openmp_task_begins(struct sn_openmp_worker *worker, struct sn_openmp_before *before)
{
	uint64_t tsc = __builtin_ia32_rdtsc();

	keep(worker, before);
	before->begin = tsc;
	before->joined = atomic_exchange(&worker->pending, NULL);
	if (before->joined) {
		worker->joined_end = worker->pending_end;
		worker->team = before->joined;
		worker->work = 0;
	} else if (worker->is_waiting) {
		before->waited += tsc - worker->mark;
	} else {
		return; /* its work is work */
	}
	worker->is_waiting = false;
	worker->mark = tsc;
}

void sn_openmp_task_ends(struct sn_openmp_worker *worker, const struct sn_openmp_before *before,
			 uint64_t pc)
{
	uint64_t tsc = __builtin_ia32_rdtsc();

	count(worker, SN_OPENMP_TASK, pc, 1, tsc - before->begin, 0);
	if (!before->joined && !before->is_waiting)
		return;
	if (worker->team && !worker->is_waiting)
		worker->work += tsc - worker->mark;
	if (before->joined) {
		settle_own(worker); /* of a region within the task */
		tell_team(worker, before->joined, worker->work, tsc, worker->joined_end);
		go_back(worker, before);
		return;
	}
	worker->is_waiting = true;
	worker->waited = before->waited;
	worker->mark = __builtin_ia32_rdtsc();
}

/* ---- the collector ---- */

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	struct sn_openmp_worker *worker = worker_of(thread);

	if (!sn_config.settings.openmp)
		return;
	if (origin == SN_THREAD_MAIN) { /* nobody else is there that could ask for an end */
		memset(worker->teams, 0, sizeof worker->teams);
		worker->next_team = 0;
	}
	sn_entries_clear(&worker->team, &worker->entries);
}

static void end_thread(struct sn_thread *self, int64_t now_ns)
{
	struct sn_openmp_worker *worker = worker_of(self);

	(void)now_ns;
	if (!sn_openmp_trace.is_on || !sn_state->trace)
		return;
	settle_own(worker);
	sn_entries_end_thread(&worker->entries);
}

/* A region that has ended has its waits, although threads that sleep in the library have not asked yet. */
static void settle_ended(struct sn_thread *self, struct sn_thread *thread)
{
	struct sn_openmp_worker *worker = worker_of(thread);
	struct sn_openmp_team *team = atomic_load_explicit(&worker->pending, memory_order_acquire);

	if (team && !atomic_load_explicit(&team->is_open, memory_order_acquire))
		settle(self, worker_of(self), thread, worker);
}

static void settle_all(struct sn_thread *self)
{
	uint32_t count = atomic_load(&sn_state->next_block);

	if (!sn_openmp_trace.is_on || !sn_state->trace)
		return;
	for (uint32_t i = 0; i < count && i < SN_BLOCKS_MAX; i++) {
		struct sn_thread *thread = sn_state->blocks[i];

		if (thread && atomic_load(&thread->is_live) == 1)
			settle_ended(self, thread);
	}
}

/* What is left when the image ends: bodies that go on, and waits nobody came back from. */
static void account(struct sn_thread *thread, struct sn_writer *writer, int64_t now_ns,
		    bool is_ending)
{
	struct sn_thread *self = sn_self;

	(void)writer, (void)now_ns;
	if (!sn_openmp_trace.is_on || !sn_state->trace || !self)
		return;
	if (!is_ending)
		settle_ended(self, thread);
	if (thread == self)
		sn_entries_account(thread, &worker_of(thread)->entries);
}

static bool install(enum sn_data_origin origin)
{
	sn_openmp_trace = (struct sn_openmp_trace){ 0 };
	sn_openmp_tracer = NULL;
	if (!sn_config.settings.openmp)
		return true;
	if (!sn_paths_open() || !sn_trace_open(origin, SN_TRACE_OPENMP)) {
		sn_warn("there was no room for a trace: OpenMP was not traced");
		return true;
	}
	sn_openmp_tracer = &tracer;
	atomic_store_explicit(&sn_openmp_trace.is_on, 1, memory_order_release);
	return true;
}

struct sn_collector sn_openmp_trace_collector = {
	.name = "openmp-trace",
	.scratch_bytes = sizeof(struct sn_openmp_worker),
	.install = install,
	.thread_begin = begin_thread,
	.settle = settle_all,
	.thread_end = end_thread,
	.account = account,
};
