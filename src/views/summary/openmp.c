/* What the verdict knows of OpenMP, where it was traced: the region whose threads wait most, why, and what to do. */
#include "openmp/openmp.h"
#include "trace/trace.h"
#include "views/summary/evidence_parts.h"

#include "base/text.h"

static const double imbalance_least = 0.1; /* the work is unevenly spread from here on */
static const double serial_least = 0.2;	   /* of the elapsed time, worth a word */

static double idle_ns(const struct sn_openmp_region *region)
{
	return sn_openmp_wait_ns(region) + sn_openmp_fork_join_ns(region);
}

static uint32_t most_waiting(const struct sn_openmp *openmp, double *total_ns)
{
	uint32_t most = SN_NONE;

	*total_ns = 0;
	for (uint32_t i = 0; i < openmp->regions.count; i++) {
		double wait = idle_ns(&openmp->regions.items[i]);

		*total_ns += wait;
		if (wait > 0 && (most == SN_NONE || wait > idle_ns(&openmp->regions.items[most])))
			most = i;
	}
	return most;
}

/* The construct of a class in the region at which threads wait longest; NULL: none. */
static const struct sn_openmp_place *worst_place(const struct sn_openmp *openmp, uint32_t region,
						 enum sn_openmp_class class)
{
	const struct sn_openmp_place *worst = NULL;

	for (size_t i = 0; i < openmp->places.count; i++) {
		const struct sn_openmp_place *place = &openmp->places.items[i];

		if (place->region == region && place->wait_ns > 0 &&
		    sn_openmp_construct_class(place->construct) == class &&
		    (!worst || place->wait_ns > worst->wait_ns))
			worst = place;
	}
	return worst;
}

static void add_place(const struct sn_program *program, const struct sn_openmp_place *place,
		      struct sn_text *text)
{
	sn_text_addf(text, "%s in ", sn_openmp_construct_name(place->construct));
	sn_openmp_add_name(program, place->site, place->function, text);
}

static void barrier_tell(const struct sn_program *program, const struct sn_openmp *openmp,
			 uint32_t index, struct sn_text *words, struct sn_text *remedy)
{
	const struct sn_openmp_region *region = &openmp->regions.items[index];
	const struct sn_openmp_place *place = worst_place(openmp, index, SN_OPENMP_AT_BARRIER);
	bool is_uneven = sn_openmp_imbalance(region) >= imbalance_least;

	sn_text_add(words, " at barriers");
	if (is_uneven)
		sn_text_addf(words, ", as the work is spread unevenly (imbalance %.0f %%)",
			     100 * sn_openmp_imbalance(region));
	if (!is_uneven && place) {
		sn_text_add(words, ", mostly at ");
		add_place(program, place, words);
	}
	sn_text_addf(words, "; perfect balance would save up to %.3g s of the %.3g s that it takes",
		     region->gain_ns / 1e9, region->time_ns / 1e9);
	sn_text_add(remedy, "Spread the work of ");
	sn_openmp_add_name(program, region->site, region->function, remedy);
	sn_text_add(remedy, is_uneven ? " evenly: schedule(dynamic) or schedule(guided) for its "
					"loops, tasks of equal size (sonde show openmp, teams)"
				      : " evenly between its barriers, or take barriers away: "
					"nowait, one barrier for several loops (sonde show "
					"constructs)");
}

static void others_tell(const struct sn_program *program, const struct sn_openmp *openmp,
			uint32_t index, struct sn_text *words, struct sn_text *remedy)
{
	const struct sn_openmp_place *place = worst_place(openmp, index, SN_OPENMP_FOR_OTHERS);

	sn_text_add(words, " one for another");
	if (!place)
		return;
	sn_text_add(words, ", mostly at ");
	add_place(program, place, words);
	sn_text_addf(words, ", which %llu times took %.3g s by turns",
		     (unsigned long long)place->count, place->inside_ns / 1e9);
	sn_text_add(remedy, "Do less in ");
	add_place(program, place, remedy);
	sn_text_add(remedy, ": a reduction, atomic updates, or a copy for each thread in place of "
			    "turns (sonde show constructs)");
}

/* Small regions, or threads that get no CPU when they are wanted. */
static void begin_tell(const struct sn_program *program, const struct sn_openmp_region *region,
		       struct sn_text *words, struct sn_text *remedy)
{
	sn_text_addf(words,
		     " to be woken and let go: it was opened %llu times for %.3g ms of work a "
		     "thread on average",
		     (unsigned long long)region->executions,
		     region->mean_ns / 1e6 / (double)region->executions);
	sn_text_add(remedy, "Open ");
	sn_openmp_add_name(program, region->site, region->function, remedy);
	sn_text_add(remedy, " less often for more work (one region around the loop that calls it), "
			    "with fewer threads, or not at all for small sizes: if(n > ...) (sonde "
			    "show openmp)");
}

static void region_tell(struct sn_summary *s, const struct sn_openmp *openmp, uint32_t index,
			double total_ns, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;
	const struct sn_openmp_region *region = &openmp->regions.items[index];
	struct sn_text words = { 0 }, remedy = { 0 };
	double serial = openmp->elapsed_ns - openmp->parallel_ns;

	sn_text_addf(&words, "%.0f %% of it in ", 100 * idle_ns(region) / total_ns);
	sn_openmp_add_name(program, region->site, region->function, &words);
	sn_text_addf(&words, ": its %u threads wait", region->threads);
	if (sn_openmp_fork_join_ns(region) >= sn_openmp_wait_ns(region)) {
		begin_tell(program, region, &words, &remedy);
	} else if (region->barrier_ns >= region->critical_ns &&
		   region->barrier_ns >= region->task_wait_ns) {
		barrier_tell(program, openmp, index, &words, &remedy);
	} else if (region->critical_ns >= region->task_wait_ns) {
		others_tell(program, openmp, index, &words, &remedy);
	} else {
		sn_text_add(&words, " for tasks");
		sn_text_add(&remedy, "Make more tasks than threads, and the longest of them first "
				     "(sonde show constructs)");
	}
	if (serial >= serial_least * openmp->elapsed_ns)
		sn_text_addf(&words, "; %.0f %% of the elapsed time no region was open",
			     100 * serial / openmp->elapsed_ns);
	out->openmp_words = sn_arena_strdup(&s->arena, words.chars);
	out->openmp_remedy = sn_arena_strdup(&s->arena, remedy.chars);
	sn_text_free(&words);
	sn_text_free(&remedy);
}

static void losses_tell(struct sn_summary *s, uint64_t lost)
{
	struct sn_text text = { 0 };

	if (!lost)
		return;
	sn_text_addf(
		&text,
		"%llu entries of the trace of OpenMP were lost, as the disk did not keep up or was "
		"full, or more regions were open than are followed: its sums are too low",
		(unsigned long long)lost);
	sn_summary_warn(s, text.chars);
	sn_text_free(&text);
}

void sn_evidence_find_openmp(struct sn_summary *s, struct sn_evidence *out)
{
	struct sn_openmp *openmp;
	struct sn_error err;
	double total_ns;
	uint32_t most;

	if (!sn_trace_has(s->profile->experiment, SN_TRACE_OPENMP))
		return;
	if (sn_openmp_read(s->profile->program, &openmp, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	most = most_waiting(openmp, &total_ns);
	if (most != SN_NONE) {
		out->openmp_wait_s = total_ns / 1e9;
		region_tell(s, openmp, most, total_ns, out);
	}
	losses_tell(s, openmp->lost);
	sn_openmp_free(openmp);
}
