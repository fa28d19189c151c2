/* Starts that earlier searches of a run have left, by the labels that they were given. */
#include "search/online/further.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "experiment/companions.h"
#include "experiment/launch.h"
#include "experiment/store.h"
#include "search/online/copies.h"
#include "search/online/parts.h"

static const char of_a_search[] = " for the search of ";

struct further {
	struct sn_recorded *recorded;
	struct sn_analysis *analysis;
	const struct sn_analysis_options *options;
	double budget;
	bool is_quiet;
	uint32_t looked_at, joined; /* bits of sources */
};

struct sn_recorded *sn_further_values_read(const struct sn_recorded *to, struct sn_analysis *other,
					   const struct sn_source *source)
{
	struct sn_recorded *recorded =
		sn_recorded_new(other->profile, other->structures, sn_analysis_machine(other));

	recorded->caches = to->caches;
	recorded->times = to;
	recorded->share_of_run = to->part ? to->part->share_of_run : 0;
	source->collect(recorded);
	return recorded;
}

void sn_further_values_join(struct sn_recorded *to, struct sn_analysis *other,
			    const struct sn_source *source)
{
	struct sn_recorded *recorded = sn_further_values_read(to, other, source);

	sn_recorded_join(to, recorded, source);
	sn_recorded_free(recorded);
}

static void start_join(struct further *f, const char *path, uint32_t source)
{
	const struct sn_source *s = sn_sources[source];
	struct sn_analysis *other = NULL;
	struct sn_error err;
	double took;

	f->looked_at |= 1u << source;
	if (sn_tables_has_source(f->recorded->tables, s->name))
		return;
	if (sn_analysis_open(path, f->options, &other, &err) != SN_OK) {
		sn_error_print(&err);
		return;
	}
	if (sn_online_start_failed(other->experiment, f->analysis->experiment, s->name,
				   f->is_quiet)) {
		sn_analysis_free(other);
		return;
	}
	took = fmax(0, sn_online_overhead(other) - sn_online_overhead(f->analysis));
	/* what copies of loops count does not change with what it costs */
	if (took > sn_source_cost_most(s, f->budget) && !sn_copies_are_asked(s->option)) {
		if (!f->is_quiet)
			sn_online_refusal_tell(s->name, path, took, f->budget);
	} else {
		if (!f->is_quiet)
			fprintf(stderr, "sonde: values of %s are those of '%s'\n", s->name, path);
		sn_further_values_join(f->recorded, other, s);
		f->joined |= 1u << source;
	}
	sn_analysis_free(other);
}

/* ---- which they are ---- */

static bool is_launch_file(const char *name)
{
	return sn_starts_with(name, "launch.") && sn_ends_with(name, ".json");
}

/* Reads the launch of an experiment; false: there is none. */
static bool launch_of(const char *path, struct sn_launch *out)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	struct sn_error err;
	bool is_read = false;

	while (folder && !is_read && (entry = readdir(folder)) != NULL) {
		struct sn_text file = { 0 };

		if (!is_launch_file(entry->d_name))
			continue;
		sn_text_addf(&file, "%s/%s", path, entry->d_name);
		is_read = sn_launch_read(file.chars, out, &err) == SN_OK;
		sn_text_free(&file);
	}
	if (folder)
		closedir(folder);
	return is_read;
}

/* The source that a start was made for, if it was for a search of this run; SN_NONE: another one. */
static uint32_t source_of(const struct further *f, const struct sn_launch *launch)
{
	const struct sn_experiment *e = f->analysis->experiment;
	const char *at = launch->label ? strstr(launch->label, of_a_search) : NULL;

	if (!at || strcmp(sn_base_name(at + sizeof(of_a_search) - 1), sn_base_name(e->path)) ||
	    launch->started_realtime_ns < e->started_realtime_ns)
		return SN_NONE;
	for (uint32_t i = 0; sn_sources[i]; i++)
		if (sn_sources[i]->option &&
		    strlen(sn_sources[i]->name) == (size_t)(at - launch->label) &&
		    !strncmp(launch->label, sn_sources[i]->name, (size_t)(at - launch->label)))
			return i;
	return SN_NONE;
}

static void entry_see(struct further *f, const char *path)
{
	struct sn_launch launch = { 0 };
	uint32_t source = SN_NONE;

	if (!launch_of(path, &launch))
		return;
	source = source_of(f, &launch);
	sn_launch_free(&launch);
	if (source != SN_NONE && !(f->looked_at & 1u << source))
		start_join(f, path, source);
}

/* The newest come first. */
static void folder_see(struct further *f, const char *folder)
{
	struct sn_store_list list = { 0 };
	struct sn_error err;

	if (sn_store_list(folder, &list, &err) == SN_OK)
		for (size_t i = 0; i < list.entries.count; i++)
			entry_see(f, list.entries.items[i].path);
	sn_store_list_free(&list);
}

/* A recording of accesses in the run's own folder. */
static void companion_see(struct further *f)
{
	const char *path = f->analysis->experiment->path;
	struct sn_text inner = { 0 };

	if (sn_companion_exists(path, SN_COMPANION_ACCESSES)) {
		sn_text_addf(&inner, "%s/%s", path, sn_companion_names[SN_COMPANION_ACCESSES]);
		for (uint32_t i = 0; sn_sources[i]; i++)
			if (!strcmp(sn_sources[i]->name, "caches") && !(f->looked_at & 1u << i))
				start_join(f, inner.chars, i);
	}
	sn_text_free(&inner);
}

uint32_t sn_further_join(struct sn_recorded *recorded, struct sn_analysis *analysis,
			 const struct sn_analysis_options *options, double budget, bool is_quiet)
{
	struct further f = { recorded, analysis, options, budget, is_quiet, 0, 0 };
	const char *path = analysis->experiment->path, *slash = strrchr(path, '/');
	char *beside =
		slash ? sn_strndup(path, (size_t)(slash - path) + (slash == path)) : sn_strdup(".");
	struct sn_launch launch = { 0 };

	folder_see(&f, beside);
	if (launch_of(path, &launch)) {
		if (launch.folder)
			folder_see(&f, launch.folder);
		sn_launch_free(&launch);
	}
	companion_see(&f);
	free(beside);
	return f.joined;
}
