/*
 * Reads the options that choose a part of an experiment (time, threads, processes, modules,
 * functions) and where its sources lie.
 */
#include "cli/analysis_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* One end of a range of time: seconds, or @LABEL. An empty text leaves the end open. The label
 * becomes the caller's; NULL: none. */
static sn_status bound_parse(const char *text, size_t length, int64_t *out_ns, char **out_label)
{
	char *word = sn_strndup(text, length), *stop;
	sn_status status = SN_OK;
	double seconds;

	*out_ns = 0;
	*out_label = NULL;
	if (length > 1 && word[0] == '@') {
		*out_label = sn_strdup(word + 1);
	} else if (length) {
		seconds = strtod(word, &stop);
		if (*stop || stop == word || !(seconds >= 0) || seconds > 9e9)
			status = SN_ERR_USAGE;
		else
			*out_ns = (int64_t)llround(seconds * 1e9);
	}
	free(word);
	return status;
}

/* Both ends as the dash at `dash` divides them. A label may hold dashes, too. */
static sn_status bounds_parse(const char *text, const char *dash, struct sn_analysis_arguments *out)
{
	struct sn_filter *filter = &out->filter;
	sn_status status =
		bound_parse(text, (size_t)(dash - text), &filter->from_ns, &out->from_label);

	if (status == SN_OK)
		status = bound_parse(dash + 1, strlen(dash + 1), &filter->to_ns, &out->to_label);
	if (status == SN_OK)
		return SN_OK;
	free(out->from_label);
	out->from_label = NULL;
	return status;
}

static sn_status time_read(const char *text, struct sn_analysis_arguments *out,
			   struct sn_error *err)
{
	struct sn_filter *filter = &out->filter;
	sn_status status = SN_ERR_USAGE;
	const char *dash = text;

	while (status != SN_OK && (dash = strchr(dash, '-'))) {
		status = bounds_parse(text, dash, out);
		dash++;
	}
	if (status != SN_OK)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--time takes a range such as 1.5-3, 2- or -5 (seconds) or "
				    "@LABEL-@LABEL (sample packets), not '%s'",
				    text);
	filter->from_label = out->from_label;
	filter->to_label = out->to_label;
	if (*dash && !out->from_label && !out->to_label && filter->to_ns <= filter->from_ns)
		return sn_error_set(err, SN_ERR_USAGE, "--time '%s' ends before it begins", text);
	return SN_OK;
}

static sn_status number_next(const char *option, const char **at, long *out, struct sn_error *err)
{
	char *end;

	errno = 0;
	*out = strtol(*at, &end, 10);
	if (end == *at || (*end && *end != ',') || errno || *out < 0 || *out > INT32_MAX)
		return sn_error_set(err, SN_ERR_USAGE,
				    "--%s takes numbers joined by commas, not '%s'", option, *at);
	*at = end + (*end == ',');
	return SN_OK;
}

static sn_status lists_read(const struct sn_args *args, struct sn_analysis_arguments *out,
			    struct sn_error *err)
{
	const char *at = sn_args_value(args, "process");
	sn_status status = SN_OK;
	long number;

	while (at && *at && (status = number_next("process", &at, &number, err)) == SN_OK)
		sn_vec_push(&out->processes, (uint32_t)number);
	if (status != SN_OK)
		return status;
	at = sn_args_value(args, "thread");
	while (at && *at && (status = number_next("thread", &at, &number, err)) == SN_OK)
		sn_vec_push(&out->tids, (int32_t)number);
	return status;
}

static void source_maps_read(const struct sn_args *args, struct sn_analysis_arguments *out)
{
	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->command->options[args->given[i].option].name, "source-map"))
			sn_vec_push(&out->source_maps, args->given[i].value);
	sn_vec_push(&out->source_maps, NULL);
}

sn_status sn_analysis_arguments_read(const struct sn_args *args, struct sn_analysis_arguments *out,
				     struct sn_error *err)
{
	const char *time = sn_args_value(args, "time");
	sn_status status = SN_OK;

	memset(out, 0, sizeof(*out));
	if (time)
		status = time_read(time, out, err);
	if (status == SN_OK)
		status = lists_read(args, out, err);
	if (status != SN_OK) {
		sn_analysis_arguments_free(out);
		return status;
	}
	source_maps_read(args, out);
	out->filter.processes = out->processes.items;
	out->filter.process_count = out->processes.count;
	out->filter.tids = out->tids.items;
	out->filter.tid_count = out->tids.count;
	out->filter.module = sn_args_value(args, "module");
	out->filter.function = sn_args_value(args, "function");
	out->options.filter = &out->filter;
	out->options.source_maps = out->source_maps.items;
	return SN_OK;
}

void sn_analysis_arguments_free(struct sn_analysis_arguments *arguments)
{
	sn_vec_free(&arguments->processes);
	sn_vec_free(&arguments->tids);
	sn_vec_free(&arguments->source_maps);
	free(arguments->from_label);
	free(arguments->to_label);
}

sn_status sn_cli_analysis_open(const char *name, const struct sn_analysis_options *options,
			       struct sn_analysis **out, struct sn_error *err)
{
	sn_status status = sn_analysis_open(name, options, out, err);

	for (uint32_t m = 0; status == SN_OK && m < (*out)->experiment->modules.count; m++)
		if (sn_structures_damage((*out)->structures, m))
			sn_warn("%s", sn_structures_damage((*out)->structures, m));
	return status;
}
