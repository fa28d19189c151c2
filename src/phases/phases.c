/*
 * The whole analysis in order: intervals, vectors, clusters, boundaries, sites, cycles, names.
 * Phases that nothing tells apart are joined here.
 */
#include "phases/phases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "phases/boundaries.h"

const char *sn_phase_method_name(enum sn_phase_method method)
{
	static const char *const names[] = { "silhouette", "elbow", "fixed" };

	return names[method];
}

const char *sn_sites_method_name(enum sn_sites_method method)
{
	return method == SN_SITES_PAPER ? "paper" : "contrast";
}

const char *sn_site_type_name(enum sn_site_type type)
{
	return type == SN_SITE_LOOP ? "loop" : "body";
}

const char *sn_cycle_kind_name(enum sn_cycle_kind kind)
{
	static const char *const names[] = { "part", "stage", "loop" };

	return names[kind];
}

static const double mark_ratio = 1.6, /* more active inside than in another phase, for a site to
					 tell the two apart: a cycle out of step with the intervals
					 gives up to 1.5 */
	minor_share = 0.25, /* of a phase's intervals, for a site to be what the phase is */
	below_share = 0.9;  /* of a site's time, to lie in a part of the main loop */
enum {
	VISITS_FACTOR = 4, /* calls of a part for each visit of a phase, at most, for the phase to
			      be a moment of the round: intervals miss some */
	FOUNDED_PART = 50, /* a phase has at least one in so many intervals of a process: what
			      fewer do is chance */
	SINGLE_ROWS = 20,  /* and two, where there are so many */
};

struct builder {
	struct sn_phases *phases;
	uint32_t *labels; /* by matrix row */
	size_t rows;
	uint32_t count; /* labels in use */
};

/* ---- numbers in the order of time ---- */

struct appearance {
	uint32_t label, number, process;
};

static int appearances_compare(const void *left, const void *right)
{
	const struct appearance *x = left, *y = right;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Labels become phases by first appearance, in time and then by process; those that label nothing
 * vanish. */
static void labels_order(struct builder *b, uint32_t label_count)
{
	const struct sn_phases *p = b->phases;
	struct appearance *first = sn_alloc_zeroed(label_count + 1, sizeof(*first));
	uint32_t *phase_of = sn_alloc_zeroed(label_count + 1, sizeof(uint32_t));

	for (uint32_t l = 0; l < label_count; l++)
		first[l] = (struct appearance){ l, UINT32_MAX, UINT32_MAX };
	for (size_t r = 0; r < b->rows; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[p->vectors->rows[r]];
		struct appearance here = { b->labels[r], row->number, row->process };

		if (appearances_compare(&here, &first[b->labels[r]]) < 0)
			first[b->labels[r]] = here;
	}
	qsort(first, label_count, sizeof(*first), appearances_compare);
	for (b->count = 0; b->count < label_count && first[b->count].process != UINT32_MAX;
	     b->count++)
		phase_of[first[b->count].label] = b->count;
	for (size_t r = 0; r < b->rows; r++)
		b->labels[r] = phase_of[b->labels[r]];
	free(first);
	free(phase_of);
}

/* ---- sites, and phases that have the same ---- */

static void phases_clear(struct sn_phases *phases)
{
	for (size_t i = 0; i < phases->phases.count; i++) {
		sn_vec_free(&phases->phases.items[i].sites);
		sn_vec_free(&phases->phases.items[i].profile);
	}
	phases->phases.count = 0;
}

/* ---- phases that are moments of a round of the main loop ---- */

static uint64_t phase_visits(const struct builder *b, uint32_t label)
{
	const struct sn_phases *p = b->phases;
	uint64_t visits = 0;

	for (size_t r = 0; r < b->rows; r++) {
		const struct sn_interval_row *rows = p->intervals->rows.items;
		bool is_first = !r || rows[p->vectors->rows[r - 1]].process !=
					      rows[p->vectors->rows[r]].process;

		visits += b->labels[r] == label && (is_first || b->labels[r - 1] != label);
	}
	return visits;
}

/* Fraction of an entity's time, in the rows of a label, that is below a function. */
static double share_below(const struct builder *b, uint32_t label, uint32_t entity,
			  uint32_t function)
{
	const struct sn_phases *p = b->phases;
	const struct sn_phase_paths *paths = p->paths;
	double all = 0, below = 0;

	for (size_t r = 0; r < b->rows; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[p->vectors->rows[r]];

		for (size_t i = row[0].first_cell; b->labels[r] == label && i < row[1].first_cell;
		     i++) {
			const struct sn_interval_cell *cell = &p->intervals->cells.items[i];
			bool is_below = false;

			for (size_t k = paths->first[cell->stack];
			     k < paths->first[cell->stack + 1]; k++) {
				is_below |= paths->entities.items[k] == function;
				if (paths->entities.items[k] != entity)
					continue;
				all += (double)sn_interval_cell_ns(cell);
				below += is_below ? (double)sn_interval_cell_ns(cell) : 0;
			}
		}
	}
	return all > 0 ? below / all : 0;
}

/* The part of a main loop in which a site lies, if the phase comes again about as often as the part
 * is called. Then the site is a moment of the iteration, and the part is the step that people know. */
static const struct sn_phase_cycle *part_around(const struct builder *b, uint32_t label,
						const struct sn_phase_site *site)
{
	const struct sn_phases *p = b->phases;
	uint64_t visits = phase_visits(b, label);

	for (size_t i = 0; i < p->cycles.count; i++) {
		const struct sn_phase_cycle *cycle = &p->cycles.items[i];

		if (cycle->kind == SN_CYCLE_PART && cycle->site.heartbeat &&
		    cycle->calls >= SN_PHASES_ROUNDS_MIN &&
		    visits * VISITS_FACTOR >= cycle->calls && cycle->function != site->entity &&
		    share_below(b, label, site->entity, cycle->function) >= below_share)
			return cycle;
	}
	return NULL;
}

static void sites_lift_to_parts(const struct builder *b, uint32_t label, struct sn_phase *phase)
{
	size_t kept = 0;

	for (size_t s = 0; s < phase->sites.count; s++) {
		struct sn_phase_site site = phase->sites.items[s];
		const struct sn_phase_cycle *part = part_around(b, label, &site);
		bool is_known = false;

		if (part) {
			site.function = site.entity = site.mark = part->function;
			site.loop = SN_NONE;
			site.type = SN_SITE_BODY;
			site.pace = part->site.pace;
		}
		for (size_t k = 0; k < kept && part; k++)
			if (phase->sites.items[k].entity == site.entity) {
				is_known = true;
				phase->sites.items[k].phase_share +=
					site.is_alternative ? 0 : site.phase_share;
				phase->sites.items[k].app_share +=
					site.is_alternative ? 0 : site.app_share;
			}
		if (!is_known)
			phase->sites.items[kept++] = site;
	}
	phase->sites.count = kept;
}

static void sites_find(struct builder *b)
{
	struct sn_phases *p = b->phases;

	phases_clear(p);
	for (uint32_t l = 0; l < b->count; l++) {
		struct sn_phase phase = { .number = l };

		if (p->options.sites == SN_SITES_PAPER)
			sn_sites_paper(p, b->labels, l, &phase);
		else
			sn_sites_contrast(p, b->labels, l, &phase);
		if (p->options.sites == SN_SITES_CONTRAST)
			sites_lift_to_parts(b, l, &phase);
		sn_vec_push(&p->phases, phase);
	}
}

static bool loop_encloses(const struct sn_program *program, uint32_t outer, uint32_t inner)
{
	for (; inner != SN_NONE; inner = program->loops.items[inner].parent)
		if (program->loops.items[inner].source_loop ==
		    program->loops.items[outer].source_loop)
			return true;
	return false;
}

bool sn_sites_are_equal(const struct sn_phase_paths *paths, const struct sn_phase_site *x,
			const struct sn_phase_site *y)
{
	uint32_t outer = x->mark, inner = y->mark;

	if (outer == inner)
		return true;
	if (sn_entity_function(paths, outer) != sn_entity_function(paths, inner))
		return false;
	if (!sn_entity_is_loop(paths, outer) || !sn_entity_is_loop(paths, inner))
		return true;
	outer = paths->loop_of[outer - paths->function_count];
	inner = paths->loop_of[inner - paths->function_count];
	return loop_encloses(paths->program, outer, inner) ||
	       loop_encloses(paths->program, inner, outer);
}

/* What few of a phase's intervals need is not what the phase is. */
static bool site_is_minor(const struct sn_phase_site *site)
{
	return site->is_alternative || site->phase_share < minor_share;
}

static bool has_site(const struct sn_phase_paths *paths, const struct sn_phase *phase,
		     const struct sn_phase_site *site)
{
	for (size_t i = 0; i < phase->sites.count; i++)
		if (!site_is_minor(&phase->sites.items[i]) &&
		    sn_sites_are_equal(paths, &phase->sites.items[i], site))
			return true;
	return false;
}

static bool has_sites_of(const struct sn_phase_paths *paths, const struct sn_phase *phase,
			 const struct sn_phase *other)
{
	size_t count = 0;

	for (size_t i = 0; i < other->sites.count; i++) {
		if (site_is_minor(&other->sites.items[i]))
			continue;
		if (!has_site(paths, phase, &other->sites.items[i]))
			return false;
		count++;
	}
	return count > 0;
}

static bool phases_are_equal(const struct sn_phase_paths *paths, const struct sn_phase *x,
			     const struct sn_phase *y)
{
	return has_sites_of(paths, x, y) && has_sites_of(paths, y, x);
}

/* Mean fraction of time of an entity in the rows of a phase. */
static double phase_mean(const struct builder *b, uint32_t phase, uint32_t entity)
{
	const struct sn_sparse *inclusive = &b->phases->activity->inclusive;
	double sum = 0, rows = 0;

	for (size_t r = 0; r < b->rows; r++) {
		if (b->labels[r] != phase)
			continue;
		rows++;
		for (size_t i = inclusive->first[r]; i < inclusive->first[r + 1]; i++)
			if (inclusive->columns[i] == entity)
				sum += (double)inclusive->values[i];
	}
	return rows > 0 ? sum / rows : 0;
}

/* Whether no site of `x` is much more active in it than in `y`. */
static bool sites_mark_little(const struct builder *b, uint32_t x, uint32_t y)
{
	const struct sn_phase *phase = &b->phases->phases.items[x];

	for (size_t i = 0; i < phase->sites.count; i++) {
		uint32_t entity = phase->sites.items[i].mark;

		if (!phase->sites.items[i].is_alternative &&
		    phase_mean(b, x, entity) >= mark_ratio * phase_mean(b, y, entity))
			return false;
	}
	return true;
}

/* Joins the first two phases that nothing tells apart; false if there are none. Intervals of a
 * cycle hold now two rounds of one part and one of the other, now the other way round. Such phases
 * have sites of their own, but each site is as active in the other phase. */
static bool phases_merge(struct builder *b)
{
	const struct sn_phase *phases = b->phases->phases.items;
	const struct sn_phase_paths *paths = b->phases->paths;

	for (uint32_t x = 0; x < b->count; x++)
		for (uint32_t y = x + 1; y < b->count; y++) {
			if (!phases_are_equal(paths, &phases[x], &phases[y]) &&
			    !(sites_mark_little(b, x, y) && sites_mark_little(b, y, x)))
				continue;
			for (size_t r = 0; r < b->rows; r++)
				if (b->labels[r] == y)
					b->labels[r] = x;
			labels_order(b, b->count);
			return true;
		}
	return false;
}

/* ---- what is told of a phase ---- */

static int parts_compare(const void *left, const void *right)
{
	const struct sn_phase_part *x = left, *y = right;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static void profile_find(struct builder *b, struct sn_phase *phase, double *ns)
{
	const struct sn_phases *p = b->phases;
	double total = 0;

	memset(ns, 0, p->paths->function_count * sizeof(double));
	for (size_t r = 0; r < b->rows; r++) {
		const struct sn_interval_row *row = &p->intervals->rows.items[p->vectors->rows[r]];

		if (b->labels[r] != phase->number)
			continue;
		phase->interval_count++;
		phase->user_ns += row->user_ns;
		phase->system_ns += row->system_ns;
		phase->blocked_ns += row->blocked_ns;
		for (size_t i = row[0].first_cell; i < row[1].first_cell; i++) {
			const struct sn_interval_cell *cell = &p->intervals->cells.items[i];

			ns[p->paths->function[cell->stack]] += (double)sn_interval_cell_ns(cell);
		}
	}
	phase->share = (double)phase->interval_count / (double)b->rows;
	total = (double)(phase->user_ns + phase->system_ns + phase->blocked_ns);
	for (uint32_t f = 0; f < p->paths->function_count; f++)
		if (ns[f] > 0)
			sn_vec_push(&phase->profile,
				    (struct sn_phase_part){ f, total > 0 ? ns[f] / total : 0 });
	if (phase->profile.count)
		qsort(phase->profile.items, phase->profile.count, sizeof(*phase->profile.items),
		      parts_compare);
}

/* Where no cheaper place was found. */
static void costs_warn(struct sn_phases *p, const struct sn_phase *phase)
{
	for (size_t s = 0; s < phase->sites.count; s++) {
		const struct sn_phase_site *site = &phase->sites.items[s];
		uint32_t every = sn_pace_every(&site->pace);

		if (every > 1 && !site->is_alternative)
			sn_vec_push(&p->warnings,
				    sn_arena_printf(&p->arena,
						    "a heartbeat at site %u would take about %.2g "
						    "%% of its phase's CPU time: time one beat in "
						    "%u (sonde_heartbeat_every), for about %.2g %%",
						    site->heartbeat, 100 * site->pace.expected_cost,
						    every, 100 * sn_pace_cost(&site->pace, every)));
	}
}

static void warnings_find(struct sn_phases *p)
{
	const struct sn_intervals *in = p->intervals;

	if (in->is_short)
		sn_vec_push(&p->warnings,
			    sn_arena_printf(&p->arena,
					    "even intervals of %g s have a median of %.0f samples "
					    "only, not %d: record with a higher rate, or longer",
					    (double)in->interval_ns / 1e9, in->median_samples,
					    SN_PHASES_SAMPLES_MIN));
	else if (isnan(in->median_samples))
		sn_vec_push(&p->warnings, "the program waits throughout: no interval in which it "
					  "mostly computes");
	if (p->vectors->matrix.row_count < 10)
		sn_vec_push(&p->warnings,
			    sn_arena_printf(&p->arena,
					    "only %zu interval%s: too few to tell phases from "
					    "chance; record longer, or shorten --interval",
					    p->vectors->matrix.row_count,
					    p->vectors->matrix.row_count == 1 ? "" : "s"));
	for (size_t i = 0; i < p->phases.count; i++)
		costs_warn(p, &p->phases.items[i]);
}

static void phases_finish(struct builder *b)
{
	struct sn_phases *p = b->phases;
	double *ns = sn_alloc_zeroed((size_t)p->paths->function_count + 1, sizeof(double));

	for (size_t i = 0; i < p->phases.count; i++)
		profile_find(b, &p->phases.items[i], ns);
	free(ns);
	p->phase_of = sn_alloc_zeroed(p->intervals->row_count + 1, sizeof(uint32_t));
	memset(p->phase_of, 0xff, (p->intervals->row_count + 1) * sizeof(uint32_t));
	for (size_t r = 0; r < b->rows; r++)
		p->phase_of[p->vectors->rows[r]] = b->labels[r];
}

/* Labels that are a phase: clean intervals have it, and it is more than a fiftieth of what some
 * process does. */
static void labels_found(const struct builder *b, bool *is_founded)
{
	const struct sn_phases *p = b->phases;
	const struct sn_interval_row *rows = p->intervals->rows.items;

	for (size_t r = 0, end; r < b->rows; r = end) {
		size_t clean[SN_KMEANS_MAX] = { 0 };

		for (end = r; end < b->rows && rows[p->vectors->rows[end]].process ==
						       rows[p->vectors->rows[r]].process;
		     end++)
			clean[b->labels[end]] += p->vectors->is_clean[end];
		for (size_t l = 0; l < SN_KMEANS_MAX; l++)
			is_founded[l] |= clean[l] >= (end - r < SINGLE_ROWS ? 1 : 2) &&
					 clean[l] * FOUNDED_PART >= end - r;
	}
}

/* The other intervals (cut short, hardly seen, the odd one) go with the interval before, else with
 * the one after. */
static void unfounded_dissolve(struct builder *b)
{
	bool is_founded[SN_KMEANS_MAX] = { false };

	labels_found(b, is_founded);
	for (size_t r = 1; r < b->rows; r++)
		if (!is_founded[b->labels[r]])
			b->labels[r] = b->labels[r - 1];
	for (size_t r = b->rows - 1; r-- > 0;)
		if (!is_founded[b->labels[r]])
			b->labels[r] = b->labels[r + 1];
}

static void phases_find(struct sn_phases *p)
{
	struct builder b = { .phases = p, .rows = p->vectors->matrix.row_count };

	b.labels = sn_alloc_zeroed(b.rows + 1, sizeof(uint32_t));
	memcpy(b.labels, p->choice->labels, b.rows * sizeof(uint32_t));
	sn_boundaries_refine(p->intervals, p->vectors, p->choice, b.labels);
	unfounded_dissolve(&b);
	labels_order(&b, p->choice->k);
	sites_find(&b);
	while (p->options.sites == SN_SITES_CONTRAST && phases_merge(&b))
		sites_find(&b);
	phases_finish(&b);
	free(b.labels);
}

sn_status sn_phases_new_at(const struct sn_profile *profile,
			   const struct sn_phases_options *options, const struct sn_phases *like,
			   struct sn_phases **out, struct sn_error *err)
{
	struct sn_phases *p = sn_alloc_zeroed(1, sizeof(*p));
	sn_status status;

	if (options)
		p->options = *options;
	p->profile = profile;
	p->paths = like ? sn_phase_paths_share(like->paths)
			: sn_phase_paths_new(profile->program, p->options.sites == SN_SITES_PAPER);
	status = sn_intervals_new(profile, p->paths, p->options.interval_ns, &p->intervals, err);
	if (status != SN_OK) {
		sn_phases_free(p);
		return status;
	}
	p->beats = like ? sn_phase_beats_share(like->beats)
			: sn_phase_beats_new(profile, p->paths,
					     p->intervals->is_auto ? sn_interval_lengths_ns[0]
								   : p->intervals->interval_ns);
	sn_phases_name_functions(p);
	p->vectors = sn_phase_vectors_new(p->intervals, p->paths);
	p->activity = sn_phase_activity_new(p->intervals, p->vectors, p->paths, p->beats);
	/* of a share of 0.07 or 0.93; waits are measured, not sampled */
	p->options.choose.noise =
		p->intervals->median_samples > 0 ? 0.25 / sqrt(p->intervals->median_samples) : 0.05;
	p->choice = sn_choose(&p->vectors->matrix, p->vectors->is_clean, &p->options.choose);
	sn_phases_find_parts(p);
	phases_find(p);
	sn_phases_find_cycles(p);
	sn_phases_name_sites(p);
	warnings_find(p);
	*out = p;
	return SN_OK;
}

void sn_phases_free(struct sn_phases *phases)
{
	if (!phases)
		return;
	phases_clear(phases);
	sn_vec_free(&phases->phases);
	sn_vec_free(&phases->cycles);
	sn_vec_free(&phases->warnings);
	sn_vec_free(&phases->lengths);
	free(phases->phase_of);
	free(phases->functions);
	sn_choice_free(phases->choice);
	sn_phase_activity_free(phases->activity);
	sn_phase_vectors_free(phases->vectors);
	sn_phase_beats_free(phases->beats);
	sn_phase_paths_free(phases->paths);
	sn_intervals_free(phases->intervals);
	sn_arena_free(&phases->arena);
	free(phases);
}
