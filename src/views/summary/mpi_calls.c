/* What ranks wait for in calls of MPI, by stacks: starting and ending MPI, or other ranks. A call
 * waits actively (samples say how long) and asleep (traced waits do); both are one account here. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "views/summary/evidence_parts.h"

static bool starts_with_any(const char *name, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sn_starts_with(name, prefixes[i]))
			return true;
	return false;
}

/* "MPI_Init", "PMPI_Init_thread", "mpi_finalize_", "mpi_init_f08_"; not MPI_Initialized. */
static bool is_start(const char *name)
{
	static const char *const own[] = { "ompi_mpi_init", "ompi_mpi_finalize", "ompi_init_f",
					   "ompi_init_thread_f", "ompi_finalize_f" };
	static const char *const calls[] = { "mpi_init", "mpi_finalize" };
	char lower[24] = "";

	if (starts_with_any(name, own, sizeof(own) / sizeof(*own)))
		return true;
	name += *name == 'P' || *name == 'p';
	for (size_t i = 0; name[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (sn_starts_with(lower, calls[i])) {
			char next = lower[strlen(calls[i])];

			return !next || next == '_';
		}
	return false;
}

enum sn_mpi_call sn_mpi_call_of(const struct sn_program *program, uint32_t stack)
{
	/* Open MPI's Fortran calls and tail calls of MPI_Finalize leave only its own names */
	static const char *const calls[] = { "MPI_", "PMPI_", "mpi_", "pmpi_", "ompi_" };
	enum sn_mpi_call call = SN_MPI_CALL_NONE;

	if (stack >= program->stack_count || program->classes[stack].user != SN_CATEGORY_MPI)
		return SN_MPI_CALL_NONE;
	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		uint32_t f = program->places.items[program->frame_places[i]].function;
		const char *name = program->functions.items[f].linkage_name;

		if (is_start(name))
			return SN_MPI_CALL_START;
		if (starts_with_any(name, calls, sizeof(calls) / sizeof(*calls)))
			call = SN_MPI_CALL_RANKS;
	}
	return call;
}

/* ---- which call has most ---- */

/* Where a stack enters MPI; SN_NONE: nowhere. MPI loads its parts as it starts, so the loader may be within it: the
 * program's call is the outermost one. */
static struct sn_call_site entry_of(const struct sn_program *program, uint32_t stack)
{
	struct sn_call_site site = { SN_NONE, SN_NONE, SN_NONE };
	bool is_within = false;

	for (size_t i = program->first_frame[stack]; i < program->first_frame[stack + 1]; i++) {
		const struct sn_program_place *place =
			&program->places.items[program->frame_places[i]];
		bool is_mpi = place->module != SN_NONE &&
			      program->module_classes[place->module] == SN_MODULE_CLASS_MPI;

		if (is_mpi) {
			site = (struct sn_call_site){ place->function, SN_NONE, SN_NONE };
		} else if (is_within) {
			site.caller = place->function;
			site.line = place->line;
		}
		is_within = is_mpi;
	}
	return site;
}

static void place_fill(const struct sn_program *program, struct sn_call_site site, uint64_t ns,
		       struct sn_evidence_place *out)
{
	const struct sn_program_line *line =
		site.line == SN_NONE ? NULL : &program->lines.items[site.line];

	*out = (struct sn_evidence_place){
		.what = program->functions.items[site.function].name,
		.caller =
			site.caller == SN_NONE ? NULL : program->functions.items[site.caller].name,
		.seconds = (double)ns / 1e9,
	};
	if (line && line->line && line->file) {
		out->file = sn_base_name(line->file);
		out->line = line->line;
	}
}

/* The call with most of the time of all its stacks, and of its stacks the one with most. */
static void place_of_most(const struct sn_program *program, const uint64_t *stack_ns,
			  enum sn_mpi_call call, struct sn_evidence_place *out)
{
	uint64_t *sums = sn_alloc_zeroed(program->functions.count + 1, sizeof(*sums));
	uint32_t best = SN_NONE, of_best = SN_NONE;

	for (int is_second = 0; is_second < 2; is_second++)
		for (uint32_t stack = 0; stack < program->stack_count; stack++) {
			uint32_t f;

			if (!stack_ns[stack] || sn_mpi_call_of(program, stack) != call)
				continue;
			f = entry_of(program, stack).function;
			if (f == SN_NONE)
				continue;
			if (is_second) {
				if (f == best &&
				    (of_best == SN_NONE || stack_ns[stack] > stack_ns[of_best]))
					of_best = stack;
				continue;
			}
			sums[f] += stack_ns[stack];
			if (best == SN_NONE || sums[f] > sums[best])
				best = f;
		}
	if (of_best != SN_NONE)
		place_fill(program, entry_of(program, of_best), sums[best], out);
	free(sums);
}

/* ---- which rank waits ---- */

static double wait_of_rank(const double *by_process, const struct sn_experiment *e, bool most,
			   int32_t *rank)
{
	double found = NAN;

	for (size_t p = 0; p < e->processes.count; p++) {
		double seconds = by_process[p] / 1e9;

		if (e->processes.items[p].rank < 0)
			continue;
		if (isnan(found) || (most ? seconds > found : seconds < found)) {
			found = seconds;
			*rank = e->processes.items[p].rank;
		}
	}
	return found;
}

/* Samples and waits know who waits, not for whom. The rank that waits least is who the others wait for, mostly. */
static void ranks_tell(struct sn_summary *s, const double *by_process, struct sn_evidence *out)
{
	const struct sn_experiment *e = s->profile->experiment;
	int32_t most = -1, least = -1;
	double most_s = wait_of_rank(by_process, e, true, &most);
	double least_s = wait_of_rank(by_process, e, false, &least);

	/* where all wait alike it says nothing */
	if (!(most_s > 2 * least_s) || most == least)
		return;
	out->mpi_ranks =
		sn_arena_printf(&s->arena, "rank %d waits most (%.3g s), rank %d least (%.3g s)",
				most, most_s, least, least_s);
}

static void ranks_find(struct sn_summary *s, struct sn_evidence *out)
{
	const struct sn_profile *p = s->profile;
	const struct sn_experiment *e = p->experiment;
	double *by_process = sn_alloc_zeroed(e->processes.count + 1, sizeof(*by_process));

	for (size_t i = 0; i < e->waits.count; i++) {
		const struct sn_wait *wait = &e->waits.items[i];

		if (p->is_at_work[wait->thread] &&
		    sn_mpi_call_of(p->program, wait->stack) == SN_MPI_CALL_RANKS)
			by_process[e->threads.items[wait->thread].process] +=
				(double)sn_profile_wait_ns(p, wait);
	}
	for (uint32_t stack = 0; stack < p->program->stack_count; stack++)
		if (p->program->classes[stack].is_spin &&
		    sn_mpi_call_of(p->program, stack) == SN_MPI_CALL_RANKS)
			by_process[e->stacks.items[stack].process] +=
				(double)p->stacks[stack].cpu_ns;
	ranks_tell(s, by_process, out);
	free(by_process);
}

void sn_evidence_find_mpi_calls(struct sn_summary *s, struct sn_evidence *out)
{
	const struct sn_profile *p = s->profile;
	const struct sn_program *program = p->program;
	uint64_t *ns = sn_alloc_zeroed(program->stack_count + 1, sizeof(*ns));

	for (size_t i = 0; i < p->experiment->waits.count; i++) {
		const struct sn_wait *wait = &p->experiment->waits.items[i];

		if (p->is_at_work[wait->thread] && wait->stack < program->stack_count)
			ns[wait->stack] += sn_profile_wait_ns(p, wait);
	}
	place_of_most(program, ns, SN_MPI_CALL_RANKS, &out->pauses[SN_PAUSE_MPI]);
	place_of_most(program, ns, SN_MPI_CALL_START, &out->pauses[SN_PAUSE_MPI_START]);
	for (uint32_t stack = 0; stack < program->stack_count; stack++)
		if (program->classes[stack].is_spin)
			ns[stack] += p->stacks[stack].cpu_ns;
	place_of_most(program, ns, SN_MPI_CALL_RANKS, &out->mpi);
	free(ns);
	ranks_find(s, out);
}
