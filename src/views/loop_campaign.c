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
}

void sn_loop_campaign_close(struct sn_loop_campaign *c)
{
	sn_set_comparison_free(c->comparison);
	for (size_t s = 0; s < c->sets.count; s++)
		free(c->sets.items[s].runs);
	sn_vec_free(&c->sets);
	if (c->path)
		sn_scaling_campaign_free(&c->runs);
	free(c->path);
	*c = (struct sn_loop_campaign){ 0 };
}

/* What is equal for one source loop in all runs. The caller frees. */
static char *key_of(const struct sn_program *program, uint32_t loop)
{
	struct sn_arena arena = { 0 };
	struct sn_compare_entry entry = sn_compare_loop(program, loop, &arena);
	struct sn_text key = { 0 };

	sn_compare_key_add(&entry, &key);
	sn_arena_free(&arena);
	return sn_text_take(&key);
}

static bool has_key(const struct sn_compare_entry *entry, const char *key)
{
	struct sn_text own = { 0 };
	bool is_equal;

	if (!entry || entry->kind != SN_COMPARE_LOOP)
		return false;
	sn_compare_key_add(entry, &own);
	is_equal = !strcmp(own.chars, key);
	sn_text_free(&own);
	return is_equal;
}

/* ---- scaling ---- */

/* The next row of the loop in the experiment's series; NULL: no more. Begin with `*at` 0. */
static const struct sn_scaling_row *row_next(const struct sn_loop_campaign *c, const char *key,
					     size_t *at)
{
	const struct sn_scaling *scaling = c->path ? c->runs.scaling : NULL;
	const char *series = c->path ? c->runs.configurations[c->configuration].series : NULL;

	while (scaling && *at < scaling->rows.count) {
		const struct sn_scaling_row *row = &scaling->rows.items[(*at)++];

		if (row->kind == SN_SCALING_LOOP &&
		    !strcmp(c->runs.configurations[row->configuration].series, series) &&
		    has_key(row->entry, key))
			return row;
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

bool sn_loop_scaling_add(const struct sn_loop_campaign *c, const struct sn_program *program,
			 uint32_t loop, struct sn_text *out)
{
	char *key = key_of(program, loop);
	const struct sn_scaling_row *row, *reference = NULL;
	struct sn_text text = { 0 };

	for (size_t at = 0; (row = row_next(c, key, &at));)
		if (row->configuration == row->reference)
			reference = row;
		else if (!isnan(row->efficiency))
			row_add(c, row, &text);
	if (text.length && reference)
		sn_text_addf(out, "%s; against %.0f worker%s (%s)", text.chars, reference->workers,
			     reference->workers == 1 ? "" : "s",
			     c->runs.configurations[reference->configuration].name);
	sn_text_free(&text);
	free(key);
	return out->length;
}

void sn_loop_scaling_write(const struct sn_loop_campaign *c, const struct sn_program *program,
			   uint32_t loop, struct sn_json *json)
{
	char *key = key_of(program, loop);
	const struct sn_scaling_row *row;

	sn_json_key(json, "rows");
	sn_json_array(json);
	for (size_t at = 0; (row = row_next(c, key, &at));) {
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
	free(key);
}

/* ---- change ---- */

static const struct sn_set_cell *change_of(const struct sn_loop_campaign *c,
					   const struct sn_program *program, uint32_t loop)
{
	const struct sn_set_cell *found = NULL;
	char *key;

	if (!c->comparison || c->set == c->comparison->reference)
		return NULL;
	key = key_of(program, loop);
	for (size_t i = 0; i < c->comparison->rows.count && !found; i++) {
		const struct sn_set_row *row = &c->comparison->rows.items[i];

		if (has_key(&row->entry, key) && !isnan(row->cells[c->set].ratio))
			found = &row->cells[c->set];
	}
	free(key);
	return found;
}

/* The sets of runs that are compared. */
static const struct sn_compare_set *reference_set(const struct sn_loop_campaign *c)
{
	return &c->sets.items[c->comparison->reference];
}

bool sn_loop_change_add(const struct sn_loop_campaign *c, const struct sn_program *program,
			uint32_t loop, struct sn_text *out)
{
	const struct sn_set_cell *cell = change_of(c, program, loop);

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

void sn_loop_change_write(const struct sn_loop_campaign *c, const struct sn_program *program,
			  uint32_t loop, struct sn_json *json)
{
	const struct sn_set_cell *cell = change_of(c, program, loop);

	sn_json_member_string(json, "set", c->sets.items[c->set].name);
	sn_json_member_string(json, "reference", reference_set(c)->name);
	sn_json_member_double(json, "ratio", cell->ratio);
	sn_json_member_double(json, "ratio_low", cell->ratio_low);
	sn_json_member_double(json, "ratio_high", cell->ratio_high);
	sn_json_member_double(json, "p_value", cell->p);
	sn_json_member_string(json, "verdict", sn_set_verdict_name(cell->verdict));
}
