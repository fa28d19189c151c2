/*
 * Reads plans: sections and keys line by line, then the configurations, multiplied by the sweep. Every
 * fault is one sentence with its line; a key that nobody knows gets the nearest one that is known.
 */
#include "campaign/plan_reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/words.h"
#include "campaign/values.h"

/* ---- what a plan may say ---- */

/* Keys of a configuration. */
enum {
	K_PROGRAM,
	K_ARGUMENTS,
	K_DIRECTORY,
	K_DATASET,
	K_BUILD,
	K_RANKS,
	K_THREADS,
	K_NODES,
	K_PER_NODE,
	K_PIN,
	KEYS,
};

static const char *const key_names[KEYS] = { "program",	       "arguments", "directory", "dataset",
					     "build",	       "ranks",	    "threads",	 "nodes",
					     "ranks_per_node", "pin" };

static const char *const section_names[] = { "campaign", "default", "configuration", "sweep" };
enum { S_CAMPAIGN, S_DEFAULT, S_CONFIGURATION, S_SWEEP, SECTIONS, S_NONE = SECTIONS };

/* "threads takes ...": keys are called as their options are. */
static bool names_option(const char *sentence)
{
	size_t length = strcspn(sentence, " :");

	for (int i = 0; i < KEYS + C_KEYS; i++) {
		const char *name = i < KEYS ? key_names[i] : sn_plan_campaign_names[i - KEYS];

		if (strlen(name) == length && !memcmp(name, sentence, length))
			return true;
	}
	return false;
}

sn_status sn_plan_fault(struct sn_plan_reader *r, int line, const char *format, ...)
{
	struct sn_text text = { 0 };
	sn_status status;
	bool is_option;
	va_list args;

	va_start(args, format);
	sn_text_addv(&text, format, args);
	va_end(args);
	is_option = !strcmp(r->file, SN_PLAN_OF_OPTIONS) && names_option(text.chars);
	/* an option has a dash where its key has none */
	for (char *c = text.chars; is_option && *c && *c != ' '; c++)
		*c = *c == '_' ? '-' : *c;
	if (!strcmp(r->file, SN_PLAN_OF_OPTIONS))
		status = sn_error_set(r->err, SN_ERR_USAGE, "%s%s", is_option ? "--" : "",
				      text.chars);
	else
		status = line ? sn_error_set(r->err, SN_ERR_FORMAT, "%s:%d: %s", r->file, line,
					     text.chars)
			      : sn_error_set(r->err, SN_ERR_FORMAT, "%s: %s", r->file, text.chars);
	sn_text_free(&text);
	return status;
}

static sn_status unknown(struct sn_plan_reader *r, const char *what, const char *name,
			 const char *const *names, int count)
{
	const char *near = sn_plan_nearest(names, count, name);
	struct sn_text all = { 0 };
	sn_status status;

	for (int i = 0; i < count; i++)
		sn_text_addf(&all, "%s%s", i ? " " : "", names[i]);
	status = near ? sn_plan_fault(r, r->line, "there is no %s '%s'; did you mean '%s'?", what,
				      name, near)
		      : sn_plan_fault(r, r->line, "there is no %s '%s'; known are: %s", what, name,
				      all.chars);
	sn_text_free(&all);
	return status;
}

/* ---- lines ---- */

static char *trimmed(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

static struct sn_plan_section *section_named(struct sn_plan_reader *r, const char *name)
{
	for (size_t i = 0; i < r->configurations.count; i++)
		if (!strcmp(r->configurations.items[i].name, name))
			return &r->configurations.items[i];
	return NULL;
}

static sn_status configuration_begin(struct sn_plan_reader *r, const char *rest)
{
	struct sn_plan_section fresh = { .line = r->line };
	struct sn_words words = { 0 };
	struct sn_error inner;
	sn_status status = sn_words_split(rest, "", &r->plan->arena, &words, &inner);

	if (status != SN_OK)
		status = sn_plan_fault(r, r->line, "%s", inner.sentence);
	else if (words.items.count != 1 || !words.items.items[0][0])
		status = sn_plan_fault(r, r->line,
				       "a configuration has one name: [configuration \"NAME\"]");
	else if (section_named(r, words.items.items[0]))
		status = sn_plan_fault(
			r, r->line, "the configuration '%s' is there already, at line %d",
			words.items.items[0], section_named(r, words.items.items[0])->line);
	if (status == SN_OK) {
		fresh.name = words.items.items[0];
		sn_vec_push(&r->configurations, fresh);
	}
	sn_vec_free(&words.items);
	return status;
}

/* "[configuration "a"]": the section that the next lines are of. */
static sn_status section_read(struct sn_plan_reader *r, char *line, int *section)
{
	char *end = strrchr(line, ']'), *name = line + 1, *rest;

	if (!end || end[1])
		return sn_plan_fault(r, r->line, "a section ends with ']': '%s'", line);
	*end = '\0';
	name = trimmed(name);
	rest = name + strcspn(name, " \t\"'");
	if (*rest) {
		char *copy = sn_arena_strdup(&r->plan->arena, rest);

		*rest = '\0';
		rest = copy;
	}
	*section = sn_plan_index_of(section_names, SECTIONS, name);
	if (*section < 0)
		return unknown(r, "section", name, section_names, SECTIONS);
	if (*section == S_CONFIGURATION)
		return configuration_begin(r, rest);
	return *rest ? sn_plan_fault(r, r->line, "[%s] has no name", name) : SN_OK;
}

static bool is_variable_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static sn_status setting_add(struct sn_plan_reader *r, struct sn_plan_section *section,
			     const char *key, const char *value)
{
	struct sn_plan_setting fresh = { .key = sn_plan_index_of(key_names, KEYS, key),
					 .value = sn_arena_strdup(&r->plan->arena, value),
					 .line = r->line };

	if (sn_starts_with(key, "environment.")) {
		fresh.name = sn_arena_strdup(&r->plan->arena, key + strlen("environment."));
		if (!is_variable_name(fresh.name))
			return sn_plan_fault(
				r, r->line,
				"'%s' is no name of a variable: letters, digits and '_'",
				fresh.name);
	} else if (fresh.key < 0) {
		if (sn_plan_index_of(sn_plan_campaign_names, C_KEYS, key) >= 0)
			return sn_plan_fault(r, r->line,
					     "'%s' is said of the whole campaign: write it under "
					     "[campaign]",
					     key);
		return unknown(r, "key", key, key_names, KEYS);
	}
	for (size_t i = 0; i < section->settings.count; i++) {
		const struct sn_plan_setting *old = &section->settings.items[i];

		if (fresh.name ? old->name && !strcmp(old->name, fresh.name)
			       : !old->name && old->key == fresh.key)
			return sn_plan_fault(r, r->line, "'%s' is set already, at line %d", key,
					     old->line);
	}
	sn_vec_push(&section->settings, fresh);
	return SN_OK;
}

static sn_status campaign_set(struct sn_plan_reader *r, const char *key, const char *value)
{
	int index = sn_plan_index_of(sn_plan_campaign_names, C_KEYS, key);

	if (index < 0 &&
	    (sn_plan_index_of(key_names, KEYS, key) >= 0 || sn_starts_with(key, "environment.")))
		return sn_plan_fault(r, r->line,
				     "'%s' is said of configurations: write it under [default]",
				     key);
	if (index < 0)
		return unknown(r, "key", key, sn_plan_campaign_names, C_KEYS);
	if (r->campaign[index])
		return sn_plan_fault(r, r->line, "'%s' is set already, at line %d", key,
				     r->campaign_lines[index]);
	r->campaign[index] = sn_arena_strdup(&r->plan->arena, value);
	r->campaign_lines[index] = r->line;
	return SN_OK;
}

static sn_status key_read(struct sn_plan_reader *r, char *line, int section)
{
	char *equals = strchr(line, '='), *key, *value;

	if (!equals)
		return sn_plan_fault(r, r->line, "neither '[SECTION]' nor 'KEY = VALUE': '%s'",
				     line);
	*equals = '\0';
	key = trimmed(line);
	value = trimmed(equals + 1);
	switch (section) {
	case S_CAMPAIGN:
		return campaign_set(r, key, value);
	case S_DEFAULT:
		return setting_add(r, &r->in_default, key, value);
	case S_CONFIGURATION:
		return setting_add(r, &sn_vec_last(&r->configurations), key, value);
	case S_SWEEP:
		return setting_add(r, &r->sweep, key, value);
	default:
		return sn_plan_fault(r, r->line,
				     "'%s' stands before the first section; begin with "
				     "[campaign] or [default]",
				     key);
	}
}

static sn_status lines_read(struct sn_plan_reader *r, const char *bytes, size_t length)
{
	int section = S_NONE;
	sn_status status = SN_OK;

	for (const char *at = bytes, *end = bytes + length; status == SN_OK && at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((newline ? newline : end) - at);
		char *copy = sn_strndup(at, size), *line = trimmed(copy);

		r->line++;
		if (strlen(copy) != size && memchr(at, '\0', size))
			status = sn_plan_fault(r, r->line, "a byte 0: this is no text");
		else if (*line == '[')
			status = section_read(r, line, &section);
		else if (*line && *line != '#' && *line != ';')
			status = key_read(r, line, section);
		free(copy);
		at += size + (newline != NULL);
	}
	return status;
}

/* ---- configurations ---- */

static const struct sn_plan_setting *setting_of(const struct sn_plan_section *section, int key)
{
	for (size_t i = 0; i < section->settings.count; i++)
		if (!section->settings.items[i].name && section->settings.items[i].key == key)
			return &section->settings.items[i];
	return NULL;
}

/* What all sources together say of a point: settings of later calls win. */
struct point {
	const struct sn_plan_setting *keys[KEYS];
	SN_VEC(const struct sn_plan_setting *) environment;
};

static void point_set(struct point *point, const struct sn_plan_setting *setting)
{
	if (!setting->name) {
		point->keys[setting->key] = setting;
		return;
	}
	for (size_t i = 0; i < point->environment.count; i++)
		if (!strcmp(point->environment.items[i]->name, setting->name)) {
			point->environment.items[i] = setting;
			return;
		}
	sn_vec_push(&point->environment, setting);
}

static const char *value_of(const struct point *point, int key)
{
	return point->keys[key] ? point->keys[key]->value : "";
}

static sn_status whole_of(struct sn_plan_reader *r, const struct point *point, int key,
			  uint32_t *out)
{
	*out = 0;
	if (!point->keys[key] || !*point->keys[key]->value)
		return SN_OK;
	return sn_plan_whole(r, point->keys[key]->line, key_names[key], point->keys[key]->value, 1,
			     65536, out);
}

/* A data set beside the plan is found from another working directory, too. */
static const char *dataset_of(struct sn_plan_reader *r, const struct point *point)
{
	const char *dataset = value_of(point, K_DATASET), *path;

	if (!*dataset || !*value_of(point, K_DIRECTORY))
		return dataset;
	path = sn_plan_below(r, r->folder, dataset);
	return access(path, F_OK) ? dataset : path;
}

/* Fills everything once, so that what is wrong is told before the first run. */
static sn_status point_try(struct sn_plan_reader *r, const struct point *point,
			   const struct sn_campaign_configuration *c)
{
	static const int filled[] = { K_DATASET, K_PROGRAM, K_ARGUMENTS, K_BUILD, K_PIN };
	struct sn_campaign_fill fill = { c, *c->build ? "build" : NULL };
	struct sn_words words = { 0 };
	struct sn_text text = { 0 };
	struct sn_error inner;
	sn_status status = SN_OK;

	for (size_t i = 0; status == SN_OK && i < sizeof(filled) / sizeof(*filled); i++) {
		const char *value = value_of(point, filled[i]);

		if (filled[i] == K_DATASET && strstr(value, "{dataset}"))
			return sn_plan_fault(r, point->keys[K_DATASET]->line,
					     "dataset is filled in by itself");
		sn_text_clear(&text);
		status = sn_campaign_fill(value, &fill, &text, &inner);
		if (status == SN_OK)
			status = sn_words_split(value, "", &r->plan->arena, &words, &inner);
		if (status != SN_OK)
			status = sn_plan_fault(r, point->keys[filled[i]]->line, "%s: %s",
					       key_names[filled[i]], inner.sentence);
	}
	for (size_t i = 0; status == SN_OK && i < point->environment.count; i++) {
		const struct sn_plan_setting *variable = point->environment.items[i];

		sn_text_clear(&text);
		if (sn_campaign_fill(variable->value, &fill, &text, &inner) != SN_OK)
			status = sn_plan_fault(r, variable->line, "environment.%s: %s",
					       variable->name, inner.sentence);
	}
	sn_vec_free(&words.items);
	sn_text_free(&text);
	return status;
}

static void environment_set(struct sn_plan_reader *r, const struct point *point,
			    struct sn_campaign_configuration *c)
{
	struct sn_campaign_variable *variables = sn_arena_array(
		&r->plan->arena, struct sn_campaign_variable, point->environment.count + 1);

	for (size_t i = 0; i < point->environment.count; i++)
		variables[i] = (struct sn_campaign_variable){ point->environment.items[i]->name,
							      point->environment.items[i]->value };
	c->environment.items = variables;
	c->environment.count = point->environment.count;
}

static sn_status needs_launcher(struct sn_plan_reader *r, const struct point *point, uint32_t ranks)
{
	if (ranks > 1 && !strcmp(r->plan->launcher, "local"))
		return sn_plan_fault(
			r, point->keys[K_RANKS]->line,
			"%u ranks need a launcher: set launcher = mpirun under [campaign]", ranks);
	return SN_OK;
}

static sn_status point_add(struct sn_plan_reader *r, const struct point *point, const char *name)
{
	struct sn_campaign_configuration c = { .name = name,
					       .program = value_of(point, K_PROGRAM),
					       .arguments = value_of(point, K_ARGUMENTS),
					       .build = value_of(point, K_BUILD),
					       .pin = value_of(point, K_PIN) };
	sn_status status;

	if (!*c.program)
		return sn_plan_fault(
			r, 0, "the configuration '%s' has no program: set program under [default]",
			name);
	c.directory = sn_plan_below(r, r->folder, value_of(point, K_DIRECTORY));
	c.dataset = dataset_of(r, point);
	if (strchr(c.program, '/') && c.program[0] != '{')
		c.program = sn_plan_below(r, r->folder, c.program);
	status = whole_of(r, point, K_RANKS, &c.ranks);
	if (status == SN_OK)
		status = whole_of(r, point, K_THREADS, &c.threads);
	if (status == SN_OK)
		status = whole_of(r, point, K_NODES, &c.nodes);
	if (status == SN_OK)
		status = whole_of(r, point, K_PER_NODE, &c.per_node);
	if (status == SN_OK)
		status = needs_launcher(r, point, c.ranks);
	if (status == SN_OK)
		status = point_try(r, point, &c);
	environment_set(r, point, &c);
	if (status == SN_OK)
		sn_vec_push(&r->plan->configurations, c);
	return status;
}

/* The values of one swept key, each as a setting of its own. */
struct dimension {
	const char *name;
	struct sn_plan_setting *values;
	size_t count;
};

/* Whether a list has a comma too many: "1,,2", ",1", "1,". What stands in quotes is a value. */
static bool has_gap(const char *list)
{
	bool is_after_comma = true;
	char quote = 0;

	for (; *list; list++) {
		bool is_comma = *list == ',' && !quote;

		if (is_comma && is_after_comma)
			return true;
		if (quote ? *list == quote : *list == '\'' || *list == '"')
			quote = quote ? 0 : *list;
		if (is_comma || (*list != ' ' && *list != '\t'))
			is_after_comma = is_comma;
	}
	return is_after_comma;
}

static sn_status dimension_read(struct sn_plan_reader *r, const struct sn_plan_setting *setting,
				struct dimension *out)
{
	struct sn_words words = { 0 };
	struct sn_error inner;
	sn_status status = sn_words_split(setting->value, ",", &r->plan->arena, &words, &inner);

	if (status != SN_OK)
		status = sn_plan_fault(r, setting->line, "%s", inner.sentence);
	else if (!words.items.count)
		status = sn_plan_fault(r, setting->line, "a sweep needs values: 1, 2, 4");
	else if (has_gap(setting->value))
		status = sn_plan_fault(
			r, setting->line, "the list '%s' of %s has a comma too many: write 1, 2, 4",
			setting->value, setting->name ? setting->name : key_names[setting->key]);
	out->name = setting->name ? setting->name : key_names[setting->key];
	out->count = words.items.count;
	out->values =
		sn_arena_array(&r->plan->arena, struct sn_plan_setting, words.items.count + 1);
	for (size_t i = 0; i < words.items.count; i++) {
		out->values[i] = *setting;
		out->values[i].value = words.items.items[i];
		for (size_t k = 0; status == SN_OK && k < i && words.items.count < 1000; k++)
			if (!strcmp(words.items.items[k], words.items.items[i]))
				status = sn_plan_fault(r, setting->line, "'%s' is swept over twice",
						       words.items.items[i]);
	}
	sn_vec_free(&words.items);
	return status;
}

static sn_status swept_check(struct sn_plan_reader *r, const struct sn_plan_section *configuration)
{
	for (size_t i = 0; configuration && i < configuration->settings.count; i++)
		for (size_t k = 0; k < r->sweep.settings.count; k++) {
			const struct sn_plan_setting *own = &configuration->settings.items[i];
			const struct sn_plan_setting *swept = &r->sweep.settings.items[k];

			if (own->name && swept->name
				    ? !strcmp(own->name, swept->name)
				    : !own->name && !swept->name && own->key == swept->key)
				return sn_plan_fault(
					r, own->line,
					"'%s' is set here and swept over at line %d: one of both",
					own->name ? own->name : key_names[own->key], swept->line);
		}
	return SN_OK;
}

/* "NAME threads=4 ranks=2" */
static const char *point_name(struct sn_plan_reader *r, const struct sn_plan_section *configuration,
			      const struct dimension *dimensions, size_t count, size_t number)
{
	struct sn_text name = { 0 };
	const char *kept;

	if (configuration)
		sn_text_add(&name, configuration->name);
	for (size_t d = 0; d < count; d++) {
		const struct dimension *dimension = &dimensions[d];

		sn_text_addf(&name, "%s%s=%s", name.length ? " " : "", dimension->name,
			     dimension->values[number % dimension->count].value);
		number /= dimension->count;
	}
	kept = sn_arena_strdup(&r->plan->arena, name.length ? name.chars : "default");
	sn_text_free(&name);
	return kept;
}

static sn_status configuration_multiply(struct sn_plan_reader *r,
					const struct sn_plan_section *configuration,
					const struct dimension *dimensions, size_t dimension_count,
					size_t points)
{
	sn_status status = swept_check(r, configuration);

	for (size_t n = 0; status == SN_OK && n < points; n++) {
		struct point point = { 0 };
		size_t rest = n;

		for (size_t i = 0; i < r->in_default.settings.count; i++)
			point_set(&point, &r->in_default.settings.items[i]);
		for (size_t i = 0; configuration && i < configuration->settings.count; i++)
			point_set(&point, &configuration->settings.items[i]);
		for (size_t d = 0; d < dimension_count; d++) {
			point_set(&point, &dimensions[d].values[rest % dimensions[d].count]);
			rest /= dimensions[d].count;
		}
		status = point_add(r, &point,
				   point_name(r, configuration, dimensions, dimension_count, n));
		sn_vec_free(&point.environment);
	}
	return status;
}

static sn_status configurations_make(struct sn_plan_reader *r)
{
	size_t count = r->sweep.settings.count, points = 1;
	size_t sections = r->configurations.count ? r->configurations.count : 1;
	struct dimension *dimensions = sn_arena_array(&r->plan->arena, struct dimension, count + 1);
	sn_status status = SN_OK;

	for (size_t d = 0; status == SN_OK && d < count; d++) {
		status = dimension_read(r, &r->sweep.settings.items[d], &dimensions[d]);
		if (status == SN_OK && __builtin_mul_overflow(points, dimensions[d].count, &points))
			points = SIZE_MAX / 2;
		points = points > SIZE_MAX / 4 ? SIZE_MAX / 4 : points;
	}
	if (status == SN_OK &&
	    (double)points * (double)sections * r->plan->repeat > SN_CAMPAIGN_RUNS_MAX)
		status = sn_plan_fault(
			r, 0,
			"the plan has %.0f runs (%zu configurations, %u times); %d are the most: "
			"sweep over less",
			(double)points * (double)sections * r->plan->repeat, points * sections,
			r->plan->repeat, SN_CAMPAIGN_RUNS_MAX);
	for (size_t i = 0; status == SN_OK && i < sections; i++)
		status = configuration_multiply(
			r, r->configurations.count ? &r->configurations.items[i] : NULL, dimensions,
			count, points);
	return status;
}

static void name_set(struct sn_plan_reader *r)
{
	const struct sn_plan_setting *program = setting_of(&r->in_default, K_PROGRAM);
	const char *name = r->campaign[C_NAME] && *r->campaign[C_NAME]
				   ? r->campaign[C_NAME]
				   : r->plan->configurations.items[0].program;

	if (!r->campaign[C_NAME] && program && *program->value)
		name = program->value;
	r->plan->name = sn_arena_strdup(&r->plan->arena, sn_base_name(name));
}

static void reader_free(struct sn_plan_reader *r)
{
	sn_vec_free(&r->in_default.settings);
	sn_vec_free(&r->sweep.settings);
	for (size_t i = 0; i < r->configurations.count; i++)
		sn_vec_free(&r->configurations.items[i].settings);
	sn_vec_free(&r->configurations);
}

sn_status sn_campaign_plan_read(const char *bytes, size_t length, const char *name,
				const char *folder, struct sn_campaign_plan **out,
				struct sn_error *err)
{
	struct sn_campaign_plan *plan = sn_alloc_zeroed(1, sizeof(*plan));
	struct sn_plan_reader r = { .file = name, .plan = plan, .err = err };
	sn_status status;

	plan->level = plan->repeat = 1;
	r.folder = sn_arena_strdup(&plan->arena, folder);
	status = lines_read(&r, bytes, length);
	if (status == SN_OK)
		status = sn_plan_campaign_values(&r);
	if (status == SN_OK)
		status = configurations_make(&r);
	if (status == SN_OK) {
		name_set(&r);
		*out = plan;
		plan = NULL;
	}
	reader_free(&r);
	sn_campaign_plan_free(plan);
	return status;
}

void sn_campaign_plan_free(struct sn_campaign_plan *plan)
{
	if (!plan)
		return;
	sn_vec_free(&plan->configurations);
	sn_arena_free(&plan->arena);
	free(plan);
}
