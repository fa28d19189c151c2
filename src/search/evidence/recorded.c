/*
 * Cuts a recorded run into regions. Threads that hardly worked are helpers and are left out, but
 * not those of an OpenMP team; so are processes that only started others (mpirun, a shell).
 */
#include "search/evidence/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "profile/wait.h"
#include "search/evidence/recorded_parts.h"

/* ---- time by thread and stack ---- */

struct stack_time {
	uint64_t cpu_ns, system_ns, samples;
};

static void cells_flush(struct sn_recorded *r, uint32_t thread, struct stack_time *of_stack,
			uint32_t *touched, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct stack_time *t = &of_stack[touched[i]];
		struct sn_recorded_cell cell = { thread, touched[i], t->cpu_ns, t->system_ns,
						 t->samples };

		sn_vec_push(&r->cells, cell);
		of_stack[touched[i]] = (struct stack_time){ 0 };
	}
}

/* Samples are sorted by thread. */
static void cells_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint32_t stacks = r->profile->program->stack_count + 1, thread = SN_NONE;
	struct stack_time *of_stack = sn_alloc_zeroed(stacks, sizeof(*of_stack));
	uint32_t *touched = sn_alloc_zeroed(stacks, sizeof(*touched));
	size_t count = 0;

	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];
		uint32_t stack = sample->stack < stacks - 1 ? sample->stack : stacks - 1;
		struct stack_time *t = &of_stack[stack];

		if (sample->thread != thread) {
			cells_flush(r, thread, of_stack, touched, count);
			count = 0;
			thread = sample->thread;
		}
		if (!sn_profile_has_sample(r->profile, sample))
			continue;
		if (!t->cpu_ns && !t->samples)
			touched[count++] = stack;
		t->cpu_ns += sample->cpu_ns;
		t->system_ns += sample->flags & SN_SAMPLE_SYSTEM ? sample->cpu_ns : 0;
		t->samples += !(sample->flags & SN_SAMPLE_REMAINDER);
		if (!t->cpu_ns && !t->samples)
			count--; /* a remainder of nothing */
	}
	cells_flush(r, thread, of_stack, touched, count);
	free(of_stack);
	free(touched);
}

/* ---- scope ---- */

static bool is_openmp(const struct sn_recorded *r, const struct sn_recorded_cell *cell)
{
	const struct sn_stack_facts *facts = &r->stacks[cell->stack];

	return facts->parallel != SN_ALL || (facts->activity >= SN_ACTIVITY_OMP_BARRIER &&
					     facts->activity <= SN_ACTIVITY_OMP_IDLE);
}

static uint64_t process_ns(const struct sn_recorded *r, uint32_t process)
{
	return r->profile->processes[process].cpu_ns;
}

/* Ranks, where there are any; else all that used a hundredth of the busiest one's CPU time. */
static bool is_in_scope(const struct sn_recorded *r, uint32_t process, uint64_t most)
{
	const struct sn_process *p = &r->profile->experiment->processes.items[process];

	if (r->has_ranks)
		return p->rank >= 0 && process_ns(r, process) * 1000 >= most;
	return process_ns(r, process) * 100 >= most;
}

static void thread_add(struct sn_recorded *r, uint32_t thread, uint32_t process_member)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_thread *t = &e->threads.items[thread];
	const struct sn_member *process = &r->tables->members[SN_KEY_PROCESS].items[process_member];
	char id[32];
	struct sn_member member = { .id = id, .parent = process_member, .bytes = NAN };

	/* images that follow each other by exec have one first thread */
	for (uint32_t k = 0; k < thread && t->tid == e->processes.items[t->process].pid; k++)
		if (r->thread_members[k] != SN_ALL && e->threads.items[k].tid == t->tid &&
		    r->tables->members[SN_KEY_THREAD].items[r->thread_members[k]].parent ==
			    process_member) {
			r->thread_members[thread] = r->thread_members[k];
			return;
		}
	snprintf(id, sizeof(id), "%d", t->tid);
	/* in another run of the program the first thread may be a lane, and here none */
	member.place = 1;
	if (t->tid != e->processes.items[t->process].pid)
		member.place +=
			1 + process->thread_count -
			(process->thread_count &&
			 r->tables->members[SN_KEY_THREAD].items[process->first_thread].place == 1);
	r->thread_members[thread] = sn_tables_add_member(r->tables, SN_KEY_THREAD, &member);
}

/* What the samples of a thread met, bits. */
enum { MET_OPENMP = 1, MET_PROGRAM = 2 };

static uint8_t cell_meets(const struct sn_recorded *r, const struct sn_recorded_cell *cell)
{
	if (is_openmp(r, cell))
		return MET_OPENMP;
	return cell->stack < r->profile->program->stack_count &&
			       r->stacks[cell->stack].activity != SN_ACTIVITY_RUNTIME
		       ? MET_PROGRAM
		       : 0;
}

/* Of a first thread that only waits for others: what it works, of the busiest thread of its process, and how much
 * of its life it is blocked, at the least. Beginning a program takes a thread some milliseconds. */
static const double starter_work_most = 0.05, starter_blocked_least = 0.5;

/* Whether a wait of the program says that its thread has nothing to do: for the end of another one, for a time, for
 * events. At a barrier it waits for the others' work, however little it had to do. */
static bool is_idling(const struct sn_recorded *r, const struct sn_wait *wait)
{
	const struct sn_program *program = r->profile->program;
	uint32_t called;

	if (wait->stack >= program->stack_count ||
	    r->stacks[wait->stack].activity != SN_ACTIVITY_WORK)
		return false;
	if (wait->kind != SN_WAIT_CONDITION)
		return wait->kind != SN_WAIT_LOCK && wait->kind != SN_WAIT_IO;
	called = sn_call_site_of(program, wait->stack).function;
	return !strstr(program->functions.items[called].name, "barrier");
}

/* A first thread that starts the others, and then waits until they are done. */
static bool only_starts(const struct sn_recorded *r, uint32_t thread, uint64_t busiest_ns)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_thread *t = &e->threads.items[thread];
	int64_t from = t->start_ns > r->profile->from_ns ? t->start_ns : r->profile->from_ns;
	int64_t to = t->end_ns < r->profile->to_ns ? t->end_ns : r->profile->to_ns;
	double idle_ns = 0;
	bool has_waits = false;

	if ((double)r->profile->threads[thread].cpu_ns >= starter_work_most * (double)busiest_ns)
		return false;
	for (size_t i = 0; i < e->waits.count; i++) {
		if (e->waits.items[i].thread != thread)
			continue;
		has_waits = true;
		if (is_idling(r, &e->waits.items[i]))
			idle_ns += (double)sn_profile_wait_ns(r->profile, &e->waits.items[i]);
	}
	/* a wait that began before the executions that were measured, and ended after them, is nowhere; one at a barrier
	 * ends in each of them */
	if (!has_waits && t->account.blocked_ns > 0)
		return (double)t->account.blocked_ns >
		       starter_blocked_least * (double)t->account.elapsed_ns;
	return idle_ns > starter_blocked_least * (double)(to - from);
}

/* The first thread of a process is one, but where it only waits for others that are. */
static bool is_lane(const struct sn_recorded *r, uint32_t thread, uint8_t met, uint64_t busiest_ns)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_thread *t = &e->threads.items[thread];

	if (met & MET_OPENMP)
		return true;
	if (t->tid == e->processes.items[t->process].pid)
		return !only_starts(r, thread, busiest_ns);
	return r->profile->is_at_work[thread] && met & MET_PROGRAM;
}

/* The CPU time of the busiest thread of a process that would be a lane, the first one apart. */
static uint64_t busiest_of(const struct sn_recorded *r, uint32_t process, const uint8_t *met)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint64_t most = 0;

	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process == process && r->profile->thread_passes[t] &&
		    e->threads.items[t].tid != e->processes.items[process].pid &&
		    is_lane(r, t, met[t], 0) && r->profile->threads[t].cpu_ns > most)
			most = r->profile->threads[t].cpu_ns;
	return most;
}

struct change {
	int64_t at_ns;
	int by;
};

/* An end before a begin at the same time. */
static int changes_compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->by - y->by;
}

/* Threads that follow each other share a lane: as many as there were at one time, at most. */
static uint32_t lanes_count(const struct sn_recorded *r, uint32_t process)
{
	const struct sn_experiment *e = r->profile->experiment;
	SN_VEC(struct change) changes = { 0 };
	int now = 0, most = 0;

	for (uint32_t t = 0; t < e->threads.count; t++) {
		const struct sn_thread *thread = &e->threads.items[t];

		if (thread->process != process || r->thread_members[t] == SN_ALL)
			continue;
		sn_vec_push(&changes, (struct change){ thread->start_ns, 1 });
		sn_vec_push(&changes, (struct change){ thread->end_ns, -1 });
	}
	if (changes.count)
		qsort(changes.items, changes.count, sizeof(*changes.items), changes_compare);
	for (size_t i = 0; i < changes.count; i++) {
		now += changes.items[i].by;
		most = now > most ? now : most;
	}
	sn_vec_free(&changes);
	return most > 0 ? (uint32_t)most : 0;
}

/* Images that follow each other by exec. */
static bool is_same_process(const struct sn_process *a, const struct sn_process *b)
{
	return a->pid == b->pid && a->sequence != b->sequence &&
	       !strcmp(a->host ? a->host : "", b->host ? b->host : "");
}

/* The threads of an image of a process; images share its lanes. */
static void image_add(struct sn_recorded *r, uint32_t process, uint32_t index, const uint8_t *met)
{
	const struct sn_experiment *e = r->profile->experiment;
	struct sn_member *member = &r->tables->members[SN_KEY_PROCESS].items[index];
	uint64_t busiest_ns = busiest_of(r, process, met);
	uint32_t team = 0, lanes;

	r->process_members[process] = index;
	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].process == process && r->profile->thread_passes[t] &&
		    is_lane(r, t, met[t], busiest_ns)) {
			thread_add(r, t, index);
			team += met[t] & MET_OPENMP;
		}
	if (team > r->teams[index])
		r->teams[index] = team;
	lanes = lanes_count(r, process);
	if (lanes > member->lanes)
		member->lanes = lanes;
}

static void process_add(struct sn_recorded *r, uint32_t process, uint64_t most, const uint8_t *met)
{
	const struct sn_experiment *e = r->profile->experiment;
	const struct sn_process *p = &e->processes.items[process];
	char id[32];
	struct sn_member member = { .id = id, .parent = SN_ALL, .bytes = NAN };
	uint32_t index;

	if (r->process_members[process] != SN_ALL)
		return; /* a later image of one that is there */
	snprintf(id, sizeof(id), "%d", r->has_ranks ? p->rank : (int)process);
	member.name = id;
	index = sn_tables_add_member(r->tables, SN_KEY_PROCESS, &member);
	image_add(r, process, index, met);
	for (uint32_t k = process + 1; k < e->processes.count; k++)
		if (is_same_process(&e->processes.items[k], p) && is_in_scope(r, k, most))
			image_add(r, k, index, met);
}

/* The longest of the processes, from the first of its images to the last: the phase is the whole run. */
static double phase_seconds(const struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	int64_t longest = 0;

	for (size_t i = 0; i < e->processes.count; i++) {
		const struct sn_process *p = &e->processes.items[i];
		int64_t from =
			p->start_ns > r->profile->from_ns ? p->start_ns : r->profile->from_ns;
		int64_t end_ns = p->end_ns, to;

		for (size_t k = 0; k < e->processes.count; k++)
			if (r->process_members[k] == r->process_members[i] &&
			    e->processes.items[k].end_ns > end_ns)
				end_ns = e->processes.items[k].end_ns;
		to = end_ns < r->profile->to_ns ? end_ns : r->profile->to_ns;
		if (r->process_members[i] != SN_ALL && to - from > longest)
			longest = to - from;
	}
	return longest > 0 ? (double)longest / 1e9 : NAN;
}

static void scope_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	uint8_t *met = sn_alloc_zeroed(e->threads.count + 1, 1);
	uint64_t most = 0;

	for (uint32_t p = 0; p < e->processes.count; p++) {
		r->has_ranks |= e->processes.items[p].rank >= 0;
		most = process_ns(r, p) > most ? process_ns(r, p) : most;
	}
	for (size_t i = 0; i < r->cells.count; i++)
		met[r->cells.items[i].thread] |= cell_meets(r, &r->cells.items[i]);
	for (uint32_t p = 0; p < e->processes.count; p++)
		if (is_in_scope(r, p, most))
			process_add(r, p, most, met);
	r->tables->phase_s = r->part ? r->part->phase_s : phase_seconds(r);
	free(met);
}

static void cells_keep_scope(struct sn_recorded *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->cells.count; i++)
		if (r->thread_members[r->cells.items[i].thread] != SN_ALL)
			r->cells.items[kept++] = r->cells.items[i];
	r->cells.count = kept;
}

/* ---- who is below whom ---- */

struct edge_sums {
	struct sn_recorded *r;
	struct sn_map of_pair;
};

static void edges_add(struct edge_sums *s, uint32_t stack, uint64_t ns)
{
	struct sn_recorded *r = s->r;
	const struct sn_stack_facts *facts = &r->stacks[stack];

	for (uint32_t i = 0; i < facts->count; i++) {
		uint32_t to = r->stack_regions.items[facts->first + i], from;
		uint64_t *place;
		bool is_new;

		r->region_ns[to] += ns;
		if (!i)
			continue;
		from = r->stack_regions.items[facts->first + i - 1];
		place = sn_map_put(&s->of_pair, (uint64_t)from << 32 | to, &is_new);
		if (is_new) {
			*place = r->edges.count;
			sn_vec_push(&r->edges, (struct sn_region_edge){ from, to, 0 });
		}
		r->edges.items[*place].ns += ns;
	}
}

static int edges_compare(const void *left, const void *right)
{
	const struct sn_region_edge *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static void edges_find(struct sn_recorded *r)
{
	const struct sn_experiment *e = r->profile->experiment;
	size_t regions = r->tables->members[SN_KEY_REGION].count;
	struct edge_sums sums = { .r = r };

	r->region_ns = sn_alloc_zeroed(regions, sizeof(*r->region_ns));
	r->stack_times =
		sn_alloc_zeroed(r->profile->program->stack_count + 1, sizeof(*r->stack_times));
	r->main_parents = sn_alloc(regions * sizeof(uint32_t));
	memset(r->main_parents, 0xff, regions * sizeof(uint32_t));
	for (size_t i = 0; i < r->cells.count; i++) {
		edges_add(&sums, r->cells.items[i].stack, r->cells.items[i].cpu_ns);
		r->stack_times[r->cells.items[i].stack].cpu_ns += r->cells.items[i].cpu_ns;
	}
	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];
		uint32_t stacks = r->profile->program->stack_count;
		uint32_t stack = wait->stack < stacks ? wait->stack : stacks;
		uint64_t ns = sn_profile_wait_ns(r->profile, wait);

		if (r->thread_members[wait->thread] == SN_ALL)
			continue;
		edges_add(&sums, stack, ns);
		r->stack_times[stack].blocked_ns += ns;
	}
	/* loops that ran as copies are there, too, where no sample met them */
	for (size_t i = 0; i < e->instances.count; i++)
		if (e->instances.items[i].stack != SN_NONE &&
		    r->thread_members[e->instances.items[i].thread] != SN_ALL)
			edges_add(&sums, e->instances.items[i].stack, 0);
	if (r->edges.count)
		qsort(r->edges.items, r->edges.count, sizeof(*r->edges.items), edges_compare);
	for (size_t i = 0; i < r->edges.count; i++)
		if (r->main_parents[r->edges.items[i].to] == SN_ALL)
			r->main_parents[r->edges.items[i].to] = r->edges.items[i].from;
	sn_map_free(&sums.of_pair);
}

/* ---- all ---- */

struct sn_recorded *sn_recorded_new(const struct sn_profile *profile,
				    struct sn_structures *structures,
				    const struct sn_machine_choice *machine)
{
	return sn_recorded_of_part(profile, structures, machine, NULL, NULL);
}

struct sn_recorded *sn_recorded_of_part(const struct sn_profile *profile,
					struct sn_structures *structures,
					const struct sn_machine_choice *machine,
					const struct sn_part *part,
					const struct sn_recorded *before)
{
	struct sn_recorded *r = sn_alloc_zeroed(1, sizeof(*r));
	size_t processes = profile->experiment->processes.count;
	size_t threads = profile->experiment->threads.count;

	r->part = part;
	r->profile = profile;
	r->structures = structures;
	r->machine = machine;
	r->tables = sn_tables_new();
	r->process_members = sn_alloc((processes + 1) * sizeof(uint32_t));
	r->thread_members = sn_alloc((threads + 1) * sizeof(uint32_t));
	memset(r->process_members, 0xff, (processes + 1) * sizeof(uint32_t));
	memset(r->thread_members, 0xff, (threads + 1) * sizeof(uint32_t));
	r->teams = sn_alloc_zeroed(processes + 1, sizeof(*r->teams));
	sn_recorded_find_regions(r, before);
	cells_find(r);
	scope_find(r);
	cells_keep_scope(r);
	edges_find(r);
	for (uint32_t i = 0; before && i < before->tables->members[SN_KEY_REGION].count; i++)
		if (r->main_parents[i] == SN_ALL) /* not met in this part */
			r->main_parents[i] = before->main_parents[i];
	return r;
}

void sn_recorded_free(struct sn_recorded *r)
{
	if (!r)
		return;
	sn_tables_free(r->tables);
	sn_vec_free(&r->stack_regions);
	sn_vec_free(&r->cells);
	sn_vec_free(&r->edges);
	free(r->process_members);
	free(r->thread_members);
	free(r->stacks);
	free(r->main_parents);
	free(r->region_functions);
	free(r->region_loops);
	free(r->region_ns);
	free(r->stack_times);
	free(r->teams);
	free(r);
}

uint32_t sn_recorded_loop_region(const struct sn_recorded *r, uint32_t loop)
{
	const struct sn_program *program = r->profile->program;
	size_t regions = r->tables->members[SN_KEY_REGION].count;

	for (uint32_t g = 0; g < regions; g++)
		if (r->region_loops[g] != SN_NONE &&
		    program->loops.items[r->region_loops[g]].source_loop ==
			    program->loops.items[loop].source_loop)
			return g;
	return SN_ALL;
}

bool sn_recorded_is_process(const struct sn_process *process, int32_t pid, const char *host)
{
	return process->pid == pid && (!host || !strcmp(process->host, host));
}

uint32_t sn_recorded_part_thread(const struct sn_recorded *r, const struct sn_part_thread *account)
{
	const struct sn_experiment *e = r->profile->experiment;

	for (uint32_t t = 0; t < e->threads.count; t++)
		if (e->threads.items[t].tid == account->tid && r->thread_members[t] != SN_ALL &&
		    sn_recorded_is_process(&e->processes.items[e->threads.items[t].process],
					   account->pid, account->host))
			return t;
	return SN_NONE;
}

void sn_recorded_add(struct sn_recorded *r, uint32_t column, uint32_t source, uint32_t region,
		     uint32_t thread, double seconds, double samples, double error_s)
{
	struct sn_value value = { .column = column,
				  .value = seconds,
				  .samples = samples,
				  .error = error_s,
				  .source = source };

	for (int k = 0; k < SN_KEYS; k++)
		value.keys[k] = SN_ALL;
	value.keys[SN_KEY_REGION] = region;
	value.keys[SN_KEY_THREAD] = r->thread_members[thread];
	value.keys[SN_KEY_PROCESS] =
		r->tables->members[SN_KEY_THREAD].items[value.keys[SN_KEY_THREAD]].parent;
	sn_tables_add(r->tables, &value);
}
