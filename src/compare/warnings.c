/* Warnings on sets of runs that are hard to compare, as sentences. */
#include "compare/warnings.h"

#include <string.h>

#include "base/text.h"

/* Of the CPU time: below it, the programs are two. */
static const double IN_COMMON = 0.5;

static void warn_of_repeats(struct sn_comparison *c, const struct sn_compare_run *a,
			    const struct sn_compare_run *b)
{
	size_t count = c->a_count + c->b_count;

	for (size_t i = 1; i < count; i++) {
		const struct sn_compare_run *run = i < c->a_count ? &a[i] : &b[i - c->a_count];

		for (size_t k = 0; k < i; k++) {
			const struct sn_compare_run *other =
				k < c->a_count ? &a[k] : &b[k - c->a_count];
			bool is_across = k < c->a_count && i >= c->a_count;

			if (!run->path || !other->path || strcmp(run->path, other->path))
				continue;
			sn_vec_push(
				&c->warnings,
				sn_arena_printf(
					&c->arena,
					is_across ? "%s is on both sides: what is the same "
						    "cannot differ"
						  : "%s is given twice on one side, and counts as "
						    "two runs",
					run->name));
			break;
		}
	}
}

static const char *program_name(const struct sn_compare_run *run)
{
	return run->program ? sn_base_name(run->program) : "";
}

/* Time of a side, and that of it in functions that the other has, too. */
struct common {
	double all, common;
};

static void common_add(struct common *side, double cpu_s, bool is_common)
{
	side->all += cpu_s;
	side->common += is_common ? cpu_s : 0;
}

static bool is_little(const struct common *side)
{
	return side->common < IN_COMMON * side->all;
}

/* Of the program itself, where it has some of the time: another compiler brings another runtime library, in which most of
 * the time may be spun. */
static void warn_of_programs(struct sn_comparison *c, const struct sn_compare_run *a,
			     const struct sn_compare_run *b, const char *a_name, const char *b_name)
{
	static const double SOME = 0.01;
	struct common all_a = { 0 }, all_b = { 0 }, own_a = { 0 }, own_b = { 0 };

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_row *row = &c->rows.items[i];
		bool is_common = row->a_runs && row->b_runs;

		if (row->entry.kind != SN_COMPARE_FUNCTION)
			continue;
		common_add(&all_a, row->a_cpu_s, is_common);
		common_add(&all_b, row->b_cpu_s, is_common);
		if (row->entry.module[0])
			continue;
		common_add(&own_a, row->a_cpu_s, is_common);
		common_add(&own_b, row->b_cpu_s, is_common);
	}
	if (own_a.all > SOME * all_a.all && own_b.all > SOME * all_b.all) {
		all_a = own_a;
		all_b = own_b;
	}
	if (all_a.all > 0 && all_b.all > 0 && (is_little(&all_a) || is_little(&all_b)))
		sn_vec_push(
			&c->warnings,
			sn_arena_printf(
				&c->arena,
				"two different programs? %s ran %s, %s %s; functions that both have "
				"take %.0f %% of the CPU time of %s and %.0f %% of that of %s",
				a_name, program_name(&a[0]), b_name, program_name(&b[0]),
				100 * all_a.common / all_a.all, a_name,
				100 * all_b.common / all_b.all, b_name));
}

typedef const char *(*fact_of)(const struct sn_compare_run *run);

static const char *version_of(const struct sn_compare_run *run)
{
	return run->version;
}

static const char *processor_of(const struct sn_compare_run *run)
{
	return run->cpu_model;
}

/* Of what ought to be one for all runs, the first two that differ. */
static void warn_of_two(struct sn_comparison *c, const struct sn_compare_run *a,
			const struct sn_compare_run *b, fact_of fact, const char *how,
			const char *meaning)
{
	const char *first = NULL;

	for (size_t i = 0; i < c->a_count + c->b_count; i++) {
		const char *now = fact(i < c->a_count ? &a[i] : &b[i - c->a_count]);

		if (!now || !*now)
			continue;
		if (!first)
			first = now;
		if (!strcmp(first, now))
			continue;
		sn_vec_push(&c->warnings,
			    sn_arena_printf(&c->arena, "runs were recorded %s (%s and %s): %s", how,
					    first, now, meaning));
		return;
	}
}

void sn_compare_warn(struct sn_comparison *c, const struct sn_compare_run *a,
		     const struct sn_compare_run *b, const struct sn_compare_options *options)
{
	warn_of_repeats(c, a, b);
	warn_of_programs(c, a, b, options && options->a_name ? options->a_name : "A",
			 options && options->b_name ? options->b_name : "B");
	warn_of_two(c, a, b, version_of, "by different versions of sonde",
		    "what differs may be how it measures");
	warn_of_two(c, a, b, processor_of, "on different processors", "what differs may be they");
}
