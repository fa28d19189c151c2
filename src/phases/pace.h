/**
 * How often control passes a place of the program, as far as samples and code show it. That is what
 * a heartbeat there would count, and it decides what the heartbeat would cost.
 *
 * *At least*: an iteration of a loop runs each call site and each inner loop directly in it at most
 * once, in one piece. So where the observations of a thread come back to one of them after another
 * one, a further iteration has begun; a function begins where it was not on the path before.
 *
 * *Expected* and *at most*: every iteration executes at least the instructions of the shortest way
 * from the loop's header back to it, without inner loops and callees. (Every call executes those of
 * the shortest way from entry to return.) The samples in that code, over the time that these
 * instructions take, is a number of iterations. With the shortest possible time of an instruction
 * and the upper 95 % limit of a Poisson count it is a bound. With a usual time it is right within a
 * small factor; it is given where there are four samples and a round takes 26 us at most.
 * docs/method/phases.md has the constants.
 */
#ifndef SN_PHASES_PACE_H
#define SN_PHASES_PACE_H

#include "base/json.h"
#include "base/text.h"
#include "phases/activity.h"

struct sn_phases;
struct sn_function;
struct sn_loop;

/** Beats per second of one process in the phase; NaN: not known. */
struct sn_pace {
	double at_least_hz, expected_hz, at_most_hz;
	double expected_cost, most_cost; /* of a begin/end pair: fraction of the phase's CPU time */
};

/** Costs of a heartbeat (bench/RESULTS.md): a begin/end pair with histogram, and a beat that is
 * only counted. Then the share of CPU time that a site may cost. */
#define SN_PACE_PAIR_NS	 26.0
#define SN_PACE_COUNT_NS 7.7
#define SN_PACE_COST_MAX 0.01

/** The samples and code that paces are computed from, for the rows with one label. */
struct sn_pace_scope {
	const struct sn_phases *phases;
	double seconds, cpu_ns, samples;
	double *own;	  /* by entity: samples in its own code */
	uint64_t *beats;  /* by entity: iterations or calls that were seen to begin */
	uint32_t *caller; /* by function: entity whose code calls it, with most samples below */
	uint32_t *callee; /* by entity: function that its own code calls, with most samples below */
};
void sn_pace_scope_init(struct sn_pace_scope *scope, const struct sn_phases *phases,
			const uint32_t *labels, uint32_t label);
void sn_pace_scope_free(struct sn_pace_scope *scope);

/** The pace of an entity (paths.h). */
struct sn_pace sn_pace_of(const struct sn_pace_scope *scope, uint32_t entity);

/** The cost of a beat in every round of the loop that a function is called in; NaN: not known. For
 *  functions that have hardly a sample themselves. */
double sn_pace_cost_around(const struct sn_pace_scope *scope, uint32_t function);

/** One in how many beats should be timed, so that they cost no more than they may: a power of two;
 * 1 where it is not known that fewer are needed. */
uint32_t sn_pace_every(const struct sn_pace *pace);
double sn_pace_cost(const struct sn_pace *pace, uint32_t every);

/** Adds a pace for people: ">= 21", "~ 4300", or "-" where nothing is known. */
void sn_pace_text(const struct sn_pace *pace, struct sn_text *out);
/** "pace":{"at_least_hz":..,"expected_hz":..,"at_most_hz":..,"expected_cost":..,"most_cost":..},
 *  null where not known. */
void sn_pace_write(const struct sn_pace *pace, struct sn_json *json);

/** The number of instructions on the shortest way through a loop's own code and back to its header.
 * With `loop` NULL: from the function's entry to a return, outside of loops. If `via` is not 0, the
 * way leads through the block at that address. 0: there is none that is known. */
uint32_t sn_shortest_round(const struct sn_function *function, const struct sn_loop *loop,
			   uint64_t via);

#endif
