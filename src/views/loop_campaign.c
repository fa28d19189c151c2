/* Reads the runs of a campaign for one loop's sake. */
#include "views/loop_campaign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "campaign/scaling/words.h"
#include "compare/entry.h"

/* ---- the campaign ---- */

/* Its folder is around that of the experiment: sonde.NAME.campaign.N/RUN or further in. */
static char *folder_of(const char *experiment_path)
{
	enum { LEVELS = 3 };
	char *path = realpath(experiment_path, NULL);

	for (int level = 0; path && level < LEVELS; level++) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			break;
		*slash = 0;
		if (sn_is_campaign(path))
			return path;
	}
	free(path);
	return NULL;
}

/* Each configuration that has runs is a set. */
static void sets_fill(struct sn_loop_campaign *c)
{
	uint32_t count = sn_campaign_configuration_count(c->runs.campaign);

	c->set = SIZE_MAX;
	for (uint32_t number = 0; number < count; number++) {
		struct sn_compare_set set = {
			.name = c->runs.configurations[number].name,
			.runs = sn_alloc_zeroed(c->runs.member_count + 1, sizeof(*set.runs)),
		};

		for (size_t m = 0; m < c->runs.member_count; m++)
			if (c->runs.members[m].configuration == number)
				set.runs[set.count++] = c->runs.runs[m];
		if (!set.count) {
			free(set.runs);
			continue;
		}
		if (number == c->configuration)
			c->set = c->sets.count;
		sn_vec_push(&c->sets, set);
	}
	if (c->sets.count > 1 && c->set != SIZE_MAX)
		c->comparison = sn_compare_sets(c->sets.items, c->sets.count, 0, 0);
}

/* ---- loops ---- */

/* The key of the loop, whatever lines this build gives it. */
static void key_add(const struct sn_loop_campaign *c, const struct sn_compare_entry *entry,
		    struct sn_text *key)
{
	struct sn_compare_entry named = sn_ranges_entry(&c->ranges, entry);

	sn_compare_key_add(&named, key);
}

static const struct sn_loop_course *course_of(const struct sn_loop_campaign *c,
					      const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	key_add(c, entry, &key);
	number = sn_intern_find(&c->keys, key.chars, key.length);
	sn_text_free(&key);
	return number < c->courses.count ? &c->courses.items[number] : NULL;
}

/* The loop's course, which is new if it was not met before. */
static struct sn_loop_course *course_put(struct sn_loop_campaign *c,
					 const struct sn_compare_entry *entry)
{
	struct sn_text key = { 0 };
	uint32_t number;

	key_add(c, entry, &key);
	number = sn_intern(&c->keys, key.chars, key.length);
	sn_text_free(&key);
	if (number == c->courses.count)
		sn_vec_push(&c->courses, ((struct sn_loop_course){ 0 }));
	return &c->courses.items[number];
}

/* The rows of one loop stand together. */
static void courses_fill(struct sn_loop_campaign *c)
{
	const struct sn_scaling *scaling = c->runs.scaling;
	struct sn_loop_course *course;

	for (size_t s = 0; s < c->sets.count; s++)
		for (size_t r = 0; r < c->sets.items[s].count; r++)
			sn_ranges_add(&c->ranges, &c->sets.items[s].runs[r]);
	sn_ranges_join(&c->ranges);
	for (size_t i = 0, end; scaling && i < scaling->rows.count; i = end) {
		const struct sn_scaling_row *row = &scaling->rows.items[i];

		for (end = i + 1;
		     end < scaling->rows.count && scaling->rows.items[end].key == row->key; end++)
			;
		if (row->kind != SN_SCALING_LOOP)
			continue;
		course = course_put(c, row->entry);
		course->first = i;
		course->end = end;
	}
	for (size_t i = 0; c->comparison && i < c->comparison->rows.count; i++) {
		const struct sn_set_row *row = &c->comparison->rows.items[i];

		if (row->entry.kind != SN_COMPARE_LOOP)
			continue;
		course = course_put(c, &row->entry);
		if (!course->changed)
			course->changed = row;
	}
}

const struct sn_loop_course *sn_loop_campaign_find(const struct sn_loop_campaign *c,
						   const struct sn_program *program, uint32_t loop)
{
	struct sn_arena arena = { 0 };
	struct sn_compare_entry entry;
	const struct sn_loop_course *course;

	if (!c->path)
		return NULL;
	entry = sn_compare_loop(program, loop, &arena);
	course = course_of(c, &entry);
	sn_arena_free(&arena);
	return course;
}

static bool has_configuration(const struct sn_scaling_campaign *runs, const char *name,
			      uint32_t *number)
{
	for (*number = 0; *number < sn_campaign_configuration_count(runs->campaign); ++*number)
		if (!strcmp(runs->configurations[*number].name, name))
			return true;
	return false;
}

void sn_loop_campaign_open(const struct sn_experiment *experiment, struct sn_loop_campaign *out)
{
	struct sn_error err;
	char *path;

	*out = (struct sn_loop_campaign){ 0 };
	path = experiment->campaign ? folder_of(experiment->path) : NULL;
	if (!path)
		return;
	if (sn_scaling_campaign_open(path, NULL, false, true, &out->runs, &err) != SN_OK) {
		free(path);
		return;
	}
	if (strcmp(out->runs.campaign->state->id, experiment->campaign->campaign) != 0 ||
	    !has_configuration(&out->runs, experiment->campaign->configuration,
			       &out->configuration)) {
		sn_scaling_campaign_free(&out->runs);
		free(path);
		return;
	}
	out->path = path;
	sets_fill(out);
	courses_fill(out);
}

void sn_loop_campaign_close(struct sn_loop_campaign *c)
{
	sn_set_comparison_free(c->comparison);
	for (size_t s = 0; s < c->sets.count; s++)
		free(c->sets.items[s].runs);
	sn_vec_free(&c->sets);
	sn_vec_free(&c->courses);
	sn_ranges_free(&c->ranges);
	sn_interner_free(&c->keys);
	if (c->path)
		sn_scaling_campaign_free(&c->runs);
	free(c->path);
	*c = (struct sn_loop_campaign){ 0 };
}

/* ---- scaling ---- */

static const char *series_of(const struct sn_loop_campaign *c)
{
	return c->runs.configurations[c->configuration].series;
}

const struct sn_scaling_row *sn_loop_scaling_next(const struct sn_loop_campaign *c,
						  const struct sn_loop_course *course, size_t *at)
{
	while (course && course->first + *at < course->end) {
		const struct sn_scaling_row *row =
			&c->runs.scaling->rows.items[course->first + (*at)++];

		if (!strcmp(c->runs.configurations[row->configuration].series, series_of(c)))
			return row;
	}
	return NULL;
}

/* The law of the loop in the experiment's series. */
static const struct sn_fit *law_of(const struct sn_loop_campaign *c,
				   const struct sn_loop_course *course)
{
	const struct sn_scaling *scaling = c->runs.scaling;
	const struct sn_scaling_row *row = &scaling->rows.items[course->first];

	for (size_t i = 0; i < scaling->fits.count; i++) {
		const struct sn_scaling_fit *fit = &scaling->fits.items[i];

		if (fit->kind == SN_SCALING_LOOP && fit->key == row->key &&
		    !strcmp(fit->series, series_of(c)))
			return &fit->fit;
	}
	return NULL;
}

static void row_add(const struct sn_loop_campaign *c, const struct sn_scaling_row *row,
		    struct sn_text *out)
{
	sn_text_addf(out, "%sefficiency %.2f", out->length ? "; " : "", row->efficiency);
	if (!isnan(row->interval.low))
		sn_text_addf(out, " [%.2f-%.2f]", row->interval.low, row->interval.high);
	sn_text_addf(out, " with %.0f workers (%s)", row->workers,
		     c->runs.configurations[row->configuration].name);
	if (row->balance < 0.9 || row->work < 0.9) {
		sn_text_add(out, ": ");
		sn_scaling_add_reason(row, out);
	}
}

bool sn_loop_scaling_add(const struct sn_loop_campaign *c, const struct sn_loop_course *course,
			 struct sn_text *out)
{
	const struct sn_scaling_row *row, *reference = NULL;
	const struct sn_fit *law;
	struct sn_text text = { 0 };

	for (size_t at = 0; (row = sn_loop_scaling_next(c, course, &at));)
		if (row->configuration == row->reference)
			reference = row;
		else if (!isnan(row->efficiency))
			row_add(c, row, &text);
	if (text.length && reference) {
		sn_text_addf(out, "%s; against %.0f worker%s (%s)", text.chars, reference->workers,
			     reference->workers == 1 ? "" : "s",
			     c->runs.configurations[reference->configuration].name);
		law = law_of(c, course);
		if (law) {
			sn_text_add(out, law->model ? "; law: " : "; no law: ");
			sn_scaling_add_law(law, out);
		}
	}
	sn_text_free(&text);
	return out->length;
}

void sn_loop_scaling_write(const struct sn_loop_campaign *c, const struct sn_loop_course *course,
			   struct sn_json *json)
{
	const struct sn_scaling_row *row;
	const struct sn_fit *law = law_of(c, course);

	sn_json_key(json, "rows");
	sn_json_array(json);
	for (size_t at = 0; (row = sn_loop_scaling_next(c, course, &at));) {
		sn_json_object(json);
		sn_json_member_string(json, "configuration",
				      c->runs.configurations[row->configuration].name);
		sn_json_member_string(json, "reference",
				      c->runs.configurations[row->reference].name);
		sn_json_member_double(json, "workers", row->workers);
		sn_json_member_double(json, "speedup", row->speedup);
		sn_json_member_double(json, "ideal_speedup", row->ideal_speedup);
		sn_json_member_double(json, "efficiency", row->efficiency);
		sn_json_member_double(json, "efficiency_low", row->interval.low);
		sn_json_member_double(json, "efficiency_high", row->interval.high);
		sn_json_member_double(json, "work_efficiency", row->work);
		sn_json_member_double(json, "balance_efficiency", row->balance);
		sn_json_close(json);
	}
	sn_json_close(json);
	sn_json_key(json, "law");
	if (law) {
		sn_json_object(json);
		sn_scaling_write_law(law, json);
		sn_json_close(json);
	} else {
		sn_json_null(json);
	}
}

/* ---- change ---- */

static const struct sn_set_cell *change_of(const struct sn_loop_campaign *c,
					   const struct sn_loop_course *course)
{
	const struct sn_set_cell *cell;

	if (!course || !course->changed || c->set == c->comparison->reference)
		return NULL;
	cell = &course->changed->cells[c->set];
	return isnan(cell->ratio) ? NULL : cell;
}

/* The sets of runs that are compared. */
static const struct sn_compare_set *reference_set(const struct sn_loop_campaign *c)
{
	return &c->sets.items[c->comparison->reference];
}

bool sn_loop_change_add(const struct sn_loop_campaign *c, const struct sn_loop_course *course,
			struct sn_text *out)
{
	const struct sn_set_cell *cell = change_of(c, course);

	if (!cell)
		return false;
	sn_text_addf(out, "%.2f times the CPU time that it has in %s", cell->ratio,
		     reference_set(c)->name);
	if (!isnan(cell->ratio_low))
		sn_text_addf(out, " [%.2f-%.2f]", cell->ratio_low, cell->ratio_high);
	sn_text_addf(out, ", %zu runs against %zu: %s", c->sets.items[c->set].count,
		     reference_set(c)->count,
		     cell->verdict == SN_SET_UNTESTED ? "too few runs, or too small, for a verdict"
		     : cell->verdict == SN_SET_SAME   ? "no difference beyond noise"
		     : cell->verdict == SN_SET_DRIFT
			     ? "differs, but by no more than the machine did meanwhile"
			     : sn_set_verdict_name(cell->verdict));
	return true;
}

void sn_loop_change_write(const struct sn_loop_campaign *c, const struct sn_loop_course *course,
			  struct sn_json *json)
{
	const struct sn_set_cell *cell = change_of(c, course);

	sn_json_member_string(json, "set", c->sets.items[c->set].name);
	sn_json_member_string(json, "reference", reference_set(c)->name);
	sn_json_member_double(json, "ratio", cell->ratio);
	sn_json_member_double(json, "ratio_low", cell->ratio_low);
	sn_json_member_double(json, "ratio_high", cell->ratio_high);
	sn_json_member_double(json, "p_value", cell->p);
	sn_json_member_string(json, "verdict", sn_set_verdict_name(cell->verdict));
}
