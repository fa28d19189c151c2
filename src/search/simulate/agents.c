/* Agents are daemons of two processes each: a guardian, and what it guards and starts again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/detach.h"
#include "search/link/inner.h"
#include "search/simulate/parts.h"

/* An agent that dies at once again and again is given up. */
enum { QUICK_MOST = 10, PAUSE_NS = 20000000 };
#define QUICK_NS 1000000000LL
/* What is killed is gone at once, unless the machine is very busy. */
enum { ENDING_NS = 2000000 };
#define ENDING_MOST_NS 5000000000LL

/* ---- the way up, by the page ---- */

static uint32_t parent_of(void *context, uint32_t agent)
{
	const struct sn_simulation *simulation = context;

	return sn_places_parent(simulation->places, agent);
}

static bool address_of(void *context, uint32_t agent, char out[SN_LINK_ADDRESS])
{
	const struct sn_simulation *simulation = context;

	return sn_place_address(sn_place_of(simulation->places, agent), out);
}

static bool is_over(void *context)
{
	const struct sn_simulation *simulation = context;

	return access(simulation->path, F_OK) || atomic_load(&simulation->places->is_over);
}

bool sn_place_is_cut(void *place)
{
	return sn_agent_now_ns() < atomic_load(&((struct sn_place *)place)->cut_until_ns);
}

struct sn_uplink_above sn_simulation_above(struct sn_simulation *simulation, uint32_t agent)
{
	return (struct sn_uplink_above){ .parent = parent_of,
					 .address = address_of,
					 .is_over = is_over,
					 .is_cut = sn_place_is_cut,
					 .context = simulation,
					 .cut_context = sn_place_of(simulation->places, agent) };
}

/* ---- agents ---- */

static sn_status inner_listens(void *context, uint32_t agent, const char address[SN_LINK_ADDRESS],
			       struct sn_error *err)
{
	struct sn_simulation *simulation = context;

	(void)err;
	sn_place_address_set(sn_place_of(simulation->places, agent), address);
	return SN_OK;
}

static int inner_run(struct sn_simulation *simulation, uint32_t agent, uint32_t epoch)
{
	const struct sn_uplink_above above = sn_simulation_above(simulation, agent);
	const struct sn_inner_options options = { .above = &above,
						  .secret = simulation->secret,
						  .agent = agent,
						  .epoch = epoch,
						  .address = "tcp://127.0.0.1:*",
						  .listens = inner_listens,
						  .context = simulation };

	return sn_inner_run(&options);
}

static int agent_run(struct sn_simulation *simulation, uint32_t agent, uint32_t epoch)
{
	char name[32], title[40];

	snprintf(title, sizeof(title), "sonde-%s", sn_agent_name(agent, name));
	prctl(PR_SET_NAME, title);
	return agent >= SN_LINK_INNER ? inner_run(simulation, agent, epoch)
				      : sn_node_run(simulation, agent, epoch);
}

static void pause_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/* One life of an agent; true if it is to have another one. */
static bool agent_guard(struct sn_simulation *simulation, uint32_t agent, struct sn_place *place)
{
	uint32_t epoch = atomic_fetch_add(&place->epoch, 1) + 1;
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		/* told before it is asked whether all is over: who ends all finds it, or it ends by itself */
		atomic_store(&place->pid, getpid());
		_exit(atomic_load(&simulation->places->is_over)
			      ? 0
			      : agent_run(simulation, agent, epoch));
	}
	if (pid < 0)
		return true;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) && !atomic_load(&simulation->places->is_over) &&
	       !access(simulation->path, F_OK);
}

void sn_agent_signals(void)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sigaction(all[i], &usual, NULL);
}

__attribute__((noreturn)) static void guardian_run(struct sn_simulation *simulation, uint32_t agent)
{
	struct sn_place *place = sn_place_of(simulation->places, agent);
	int quick = 0;

	setsid();
	sn_agent_signals();
	prctl(PR_SET_NAME, "sonde-guardian");
	sn_detach_descriptors();
	for (;;) {
		int64_t begun_ns = sn_agent_now_ns();

		if (!agent_guard(simulation, agent, place))
			break;
		quick = sn_agent_now_ns() - begun_ns < QUICK_NS ? quick + 1 : 0;
		if (quick == QUICK_MOST)
			break;
		pause_ns(PAUSE_NS);
	}
	_exit(0);
}

sn_status sn_agents_start(struct sn_simulation *simulation, bool (*is_interrupted)(void),
			  struct sn_error *err)
{
	struct sn_places *places = simulation->places;

	for (uint32_t i = 1; i < sn_places_count(places) && !is_interrupted(); i++) {
		struct sn_place *place = &places->places[i];
		pid_t pid;

		if (sn_process_is_ours(atomic_load(&place->guardian)) ||
		    sn_process_is_ours(atomic_load(&place->pid)))
			continue;
		pid = fork();
		if (!pid)
			guardian_run(simulation, sn_places_agent(places, i));
		if (pid < 0)
			return sn_error_errno(err,
					      "search: %u of %u agents were started, and no more "
					      "processes can be",
					      i - 1, sn_places_count(places) - 1);
		atomic_store(&place->guardian, pid);
	}
	return SN_OK;
}

bool sn_agents_are_gone(struct sn_simulation *simulation)
{
	struct sn_places *places = simulation->places;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	for (uint32_t i = 1; i < sn_places_count(places); i++)
		if (sn_process_is_ours(atomic_load(&places->places[i].guardian)) ||
		    sn_process_is_ours(atomic_load(&places->places[i].pid)))
			return false;
	return true;
}

static void process_kill(int32_t pid)
{
	if (sn_process_is_ours(pid))
		kill(pid, SIGKILL);
}

void sn_agents_end(struct sn_simulation *simulation)
{
	struct sn_places *places = simulation->places;
	int64_t last_ns = sn_agent_now_ns() + ENDING_MOST_NS;

	atomic_store(&places->is_over, 1);
	for (;;) {
		for (uint32_t i = 1; i < sn_places_count(places); i++)
			process_kill(atomic_load(&places->places[i].guardian));
		for (uint32_t i = 1; i < sn_places_count(places); i++)
			process_kill(atomic_load(&places->places[i].pid));
		if (sn_agents_are_gone(simulation) || sn_agent_now_ns() > last_ns)
			return;
		pause_ns(ENDING_NS);
	}
}
