/* Makes a scenario's faults at their times, whatever becomes of the front. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/detach.h"
#include "search/simulate/parts.h"

enum { LOOK_NS = 2000000 };

/* A fault's begin, or its end. */
struct event {
	double at_s;
	const struct sn_fault *fault;
	bool is_end;
	size_t of; /* an end's: the event that began it */
	int32_t pid;
};

typedef SN_VEC(struct event) event_vec;

static int events_compare(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->at_s != b->at_s)
		return a->at_s < b->at_s ? -1 : 1;
	return (a->fault > b->fault) - (a->fault < b->fault);
}

static void events_list(const struct sn_scenario *s, event_vec *out)
{
	for (size_t i = 0; i < s->faults.count; i++) {
		const struct sn_fault *f = &s->faults.items[i];

		sn_vec_push(out, (struct event){ .at_s = f->at_s, .fault = f });
		if (f->kind == SN_FAULT_FREEZE && !isnan(f->for_s))
			sn_vec_push(out, (struct event){ .at_s = f->at_s + f->for_s,
							 .fault = f,
							 .is_end = true });
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), events_compare);
}

static void signal_send(int32_t pid, int signal)
{
	if (sn_process_is_ours(pid))
		kill(pid, signal);
}

static void event_make(struct sn_simulation *simulation, event_vec *events, struct event *e)
{
	struct sn_place *place = sn_place_of(simulation->places, e->fault->agent);

	e->pid = atomic_load(&place->pid);
	if (e->is_end) { /* the process that was stopped, not one after it */
		for (size_t i = 0; i < events->count; i++)
			if (events->items[i].fault == e->fault && !events->items[i].is_end)
				signal_send(events->items[i].pid, SIGCONT);
	} else if (e->fault->kind == SN_FAULT_CUT) {
		atomic_store(&place->cut_until_ns,
			     sn_agent_now_ns() + (int64_t)(e->fault->for_s * 1e9));
	} else {
		signal_send(e->pid, e->fault->kind == SN_FAULT_KILL ? SIGKILL : SIGSTOP);
	}
}

static void pause_look(void)
{
	const struct timespec time = { .tv_nsec = LOOK_NS };

	nanosleep(&time, NULL);
}

static bool is_over(const struct sn_simulation *simulation)
{
	return atomic_load(&simulation->places->is_over) || access(simulation->path, F_OK);
}

__attribute__((noreturn)) static void faults_run(struct sn_simulation *simulation)
{
	event_vec events = { 0 };

	setsid();
	sn_agent_signals();
	prctl(PR_SET_NAME, "sonde-faults");
	sn_detach_descriptors();
	events_list(simulation->scenario, &events);
	while (!atomic_load(&simulation->places->began_ns) && !is_over(simulation))
		pause_look();
	for (size_t i = 0; i < events.count; i++) {
		int64_t due_ns = atomic_load(&simulation->places->began_ns) +
				 (int64_t)(events.items[i].at_s * 1e9);

		while (sn_agent_now_ns() < due_ns && !is_over(simulation))
			pause_look();
		if (is_over(simulation))
			break;
		event_make(simulation, &events, &events.items[i]);
	}
	_exit(0);
}

sn_status sn_faults_start(struct sn_simulation *simulation, struct sn_error *err)
{
	pid_t pid;

	if (!simulation->scenario->faults.count)
		return SN_OK;
	pid = fork();
	if (pid < 0)
		return sn_error_errno(err, "search: nobody can make the scenario's faults");
	if (!pid)
		faults_run(simulation);
	return SN_OK;
}
