/* Values of plans: names that are known or nearly so, durations, and what stands for names in braces. */
#include "campaign/values.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

int sn_plan_index_of(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

const char *sn_plan_nearest(const char *const *names, int count, const char *name)
{
	const char *best = NULL;

	for (int i = 0; i < count; i++)
		if (sn_spelling_is_nearer(name, names[i], best))
			best = names[i];
	return best;
}

sn_status sn_campaign_duration_parse(const char *text, double *seconds, struct sn_error *err)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	double value = strtod(text, &end), unit = *end ? 0 : 1;

	for (size_t i = 0; *end && i < sizeof(units) / sizeof(*units); i++)
		if (*end == units[i].letter && !end[1])
			unit = units[i].seconds;
	if (end == text || !(value > 0) || !(value * unit > 0 && value * unit < 1e9) ||
	    strpbrk(text, "xXpP"))
		return sn_error_set(err, SN_ERR_USAGE,
				    "a duration is written 90, 30s, 5m, 2h or 1d, not '%s'", text);
	*seconds = value * unit;
	return SN_OK;
}

/* ---- placeholders ---- */

static sn_status number_add(uint32_t value, const char *name, struct sn_text *out,
			    struct sn_error *err)
{
	if (!value)
		return sn_error_set(err, SN_ERR_USAGE, "{%s} has no value: set %s", name, name);
	sn_text_addf(out, "%u", value);
	return SN_OK;
}

static sn_status placeholder_add(void *context, const char *name, struct sn_text *out,
				 struct sn_error *err)
{
	static const char *const names[] = { "ranks",	"threads", "nodes",  "ranks_per_node",
					     "dataset", "build",   "command" };
	const struct sn_campaign_fill *fill = context;
	const struct sn_campaign_configuration *c = fill->configuration;
	const char *near;

	switch (sn_plan_index_of(names, 7, name)) {
	case 0:
		return number_add(c->ranks ? c->ranks : 1, name, out, err);
	case 1:
		return number_add(c->threads ? c->threads : 1, name, out, err);
	case 2:
		return number_add(c->nodes, name, out, err);
	case 3:
		return number_add(c->per_node, name, out, err);
	case 4:
		if (!c->dataset || !*c->dataset)
			return sn_error_set(err, SN_ERR_USAGE,
					    "{dataset} has no value: set dataset");
		return sn_campaign_fill(c->dataset, fill, out, err);
	case 5:
		if (!fill->build_folder)
			return sn_error_set(err, SN_ERR_USAGE,
					    "{build} is the folder that 'build' "
					    "fills: there is no 'build'");
		sn_text_add(out, fill->build_folder);
		return SN_OK;
	case 6:
		return sn_error_set(err, SN_ERR_USAGE,
				    "{command} has its place in 'launcher', as a "
				    "word of its own");
	default:
		near = sn_plan_nearest(names, 6, name);
		return sn_error_set(err, SN_ERR_USAGE, "there is nothing to fill in for {%s}%s%s%s",
				    name, near ? "; did you mean {" : "", near ? near : "",
				    near ? "}?" : " ('{{' stands for a brace)");
	}
}

/* The length of a name in braces that begins at `at`, with the braces; 0: there is none. */
static size_t placeholder_length(const char *at)
{
	size_t length = 1;

	while (islower((unsigned char)at[length]) || at[length] == '_')
		length++;
	return *at == '{' && length > 1 && at[length] == '}' ? length + 1 : 0;
}

sn_status sn_fill(const char *text, bool is_shell, sn_fill_value value, void *context,
		  struct sn_text *out, struct sn_error *err)
{
	sn_text_add(out, "");
	for (const char *at = text; *at;) {
		bool is_variable = is_shell && at[0] == '$' && at[1] == '{';
		size_t length = is_variable ? 0 : placeholder_length(at);
		char name[64] = "";
		sn_status status;

		if (is_variable)
			sn_text_add_char(out, *at++);
		else if (at[0] == '{' && at[1] == '{')
			at++;
		if (!length || is_variable) {
			sn_text_add_char(out, *at++);
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)length - 2, at + 1);
		status = value(context, name, out, err);
		if (status != SN_OK)
			return status;
		at += length;
	}
	return SN_OK;
}

sn_status sn_campaign_fill(const char *text, const struct sn_campaign_fill *fill,
			   struct sn_text *out, struct sn_error *err)
{
	struct sn_campaign_fill copy = *fill;

	return sn_fill(text, false, placeholder_add, &copy, out, err);
}
