/*
 * Opens an experiment folder: reads its launch files, decodes their data, then brings processes,
 * threads and times into one order that does not depend on how files were read.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "experiment/decode.h"
#include "experiment/experiment.h"
#include "experiment/launch.h"
#include "experiment/order.h"
#include "experiment/reduction.h"
#include "experiment/store.h"
#include "experiment/unpack.h"

struct launches {
	SN_VEC(struct sn_launch) items;
};

static int names_compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

struct names {
	sn_strings items;
};

/* Paths of the files of a folder that begin and end so, sorted, so that order never depends on it.
 */
static struct names files_like(const char *folder, const char *prefix, const char *suffix)
{
	struct names names = { 0 };
	DIR *stream = opendir(folder);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		struct sn_text path = { 0 };

		if (!sn_starts_with(entry->d_name, prefix) || !sn_ends_with(entry->d_name, suffix))
			continue;
		sn_text_addf(&path, "%s/%s", folder, entry->d_name);
		sn_vec_push(&names.items, sn_text_take(&path));
	}
	if (stream)
		closedir(stream);
	if (names.items.count)
		qsort(names.items.items, names.items.count, sizeof(char *), names_compare);
	return names;
}

static void names_free(struct names *names)
{
	sn_vec_free_owned(&names->items);
}

static void warn(struct sn_experiment *e, const char *sentence)
{
	sn_vec_push(&e->warnings, sn_arena_strdup(&e->arena, sentence));
}

/* Those of a host together: names of files with dots in a host's name may come mixed. */
static int launches_compare(const void *a, const void *b)
{
	const struct sn_launch *x = a, *y = b;
	int order = strverscmp(x->host, y->host);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static void launches_read(struct sn_experiment *e, const char *prefix, struct launches *launches)
{
	struct names names = files_like(e->path, prefix, ".json");

	for (size_t i = 0; i < names.items.count; i++) {
		struct sn_launch launch;
		struct sn_error err;

		if (sn_launch_read(names.items.items[i], &launch, &err) == SN_OK) {
			sn_vec_push(&launches->items, launch);
		} else {
			e->is_salvaged = true;
			e->damaged_launch = sn_arena_strdup(&e->arena, err.sentence);
			warn(e, err.sentence);
		}
	}
	names_free(&names);
	if (launches->items.count)
		qsort(launches->items.items, launches->items.count, sizeof(*launches->items.items),
		      launches_compare);
}

static const char *copied(struct sn_experiment *e, const char *chars)
{
	return chars ? sn_arena_strdup(&e->arena, chars) : NULL;
}

/* The launch of rank 0, or of the smallest pid, speaks for the experiment. */
static const struct sn_launch *leading(const struct launches *launches)
{
	const struct sn_launch *best = NULL;

	for (size_t i = 0; i < launches->items.count; i++) {
		const struct sn_launch *l = &launches->items.items[i];

		if (!best || l->rank < best->rank ||
		    (l->rank == best->rank && l->started_realtime_ns < best->started_realtime_ns))
			best = l;
	}
	return best;
}

static void facts_take(struct sn_experiment *e, const struct launches *launches)
{
	const struct sn_launch *lead = leading(launches);

	e->version = copied(e, lead->version);
	e->program = copied(e, lead->program);
	e->arguments = copied(e, lead->arguments);
	e->label = copied(e, lead->label);
	e->host = copied(e, lead->host);
	e->cpu_model = copied(e, lead->cpu_model);
	e->kernel = copied(e, lead->kernel);
	e->boot = copied(e, lead->boot);
	e->started_monotonic_ns = lead->started_monotonic_ns;
	e->memory_bytes = lead->memory_bytes;
	e->exit_status = lead->exit_status;
	e->exit_signal = lead->exit_signal;
	for (size_t i = 0; i < lead->environment.count; i++) {
		struct sn_environment_variable variable = {
			copied(e, lead->environment.items[i].name),
			copied(e, lead->environment.items[i].value)
		};

		sn_vec_push(&e->environment, variable);
	}
	e->others_share = launches->items.count == 1 ? lead->others_share : -1;
	e->tree_user_ns = e->tree_system_ns = e->elapsed_ns = e->own_cpu_ns = 0;
	for (size_t i = 0; i < launches->items.count; i++) {
		const struct sn_launch *l = &launches->items.items[i];

		for (size_t w = 0; w < l->warnings.count; w++)
			warn(e, l->warnings.items[w]);
		e->processes_not_measured += l->processes_not_measured;
		e->is_windowed |= l->is_windowed;
		if (l->elapsed_ns > e->elapsed_ns)
			e->elapsed_ns = l->elapsed_ns;
		if (l->tree_user_ns >= 0 && e->tree_user_ns >= 0) {
			e->tree_user_ns += l->tree_user_ns;
			e->tree_system_ns += l->tree_system_ns;
		} else {
			e->tree_user_ns = e->tree_system_ns = -1;
		}
		e->own_cpu_ns =
			l->own_cpu_ns < 0 || e->own_cpu_ns < 0 ? -1 : e->own_cpu_ns + l->own_cpu_ns;
		if (l->exit_status > 0 && e->exit_status == 0)
			e->exit_status = l->exit_status;
		if (l->exit_signal && !e->exit_signal)
			e->exit_signal = l->exit_signal;
		if (!l->has_ended) {
			e->is_salvaged = true;
			e->exit_status = -1;
		}
	}
}

static void file_decode(struct sn_decoder *decoder, const char *path)
{
	struct sn_file_view view;
	struct sn_error err;

	if (sn_file_map(path, &view, &err) != SN_OK) {
		decoder->experiment->is_salvaged = true;
		warn(decoder->experiment, err.sentence);
		return;
	}
	sn_decode_data(decoder, view.bytes, view.length, path);
	sn_file_unmap(&view);
}

/* What was taken to the experiment, and what still lies live: the command was killed, or runs. */
static void traces_find(struct sn_experiment *e, const struct sn_launch *launch)
{
	struct sn_trace_file file = { sn_arena_printf(&e->arena, "%s/%s.%d.trace", e->path,
						      launch->host, launch->pid),
				      sn_arena_strdup(&e->arena, launch->host) };
	struct names live = { 0 };

	if (!access(file.path, F_OK))
		sn_vec_push(&e->traces, file);
	if (launch->live_folder)
		live = files_like(launch->live_folder, "", ".trace");
	for (size_t i = 0; i < live.items.count; i++) {
		file.path = sn_arena_strdup(&e->arena, live.items.items[i]);
		sn_vec_push(&e->traces, file);
	}
	names_free(&live);
}

static bool process_lives(int32_t pid)
{
	return pid > 0 && (!kill(pid, 0) || errno == EPERM);
}

/* All data files of one launch: those merged into the experiment, else those still lying live. */
static void launch_decode(struct sn_decoder *decoder, const struct sn_launch *launch)
{
	struct sn_experiment *e = decoder->experiment;
	struct sn_text path = { 0 };
	struct names live = { 0 };

	if (launch->exit_signal > 0)
		sn_vec_push(&decoder->killed,
			    (struct sn_process_killed){ launch->target_pid, -1, launch->exit_signal,
							INT64_MAX, copied(e, launch->host) });
	decoder->has_clock_offset = launch->started_monotonic_ns != 0;
	decoder->clock_offset_ns = (int64_t)((uint64_t)launch->started_realtime_ns -
					     (uint64_t)launch->started_monotonic_ns);
	sn_text_addf(&path, "%s/%s.%d.data", e->path, launch->host, launch->pid);
	if (!access(path.chars, F_OK))
		file_decode(decoder, path.chars);
	else if (launch->live_folder)
		live = files_like(launch->live_folder, "", ".live");
	if (!launch->has_ended && live.items.count)
		warn(e, process_lives(launch->pid)
				? "the target is still running: this is what it has recorded so far"
				: "the recording command was killed; everything the target had "
				  "written by then is here");
	for (size_t i = 0; i < live.items.count; i++)
		file_decode(decoder, live.items.items[i]);
	names_free(&live);
	sn_text_free(&path);
	traces_find(e, launch);
}

/* ---- origin of time ---- */

static void times_from_start(struct sn_experiment *e)
{
	int64_t start_ns = INT64_MAX;
	bool launchers_ended = e->elapsed_ns > 0;

	for (size_t i = 0; i < e->processes.count; i++)
		if (e->processes.items[i].start_ns < start_ns)
			start_ns = e->processes.items[i].start_ns;
	if (start_ns == INT64_MAX)
		return;
	e->started_realtime_ns = start_ns;
	for (size_t i = 0; i < e->processes.count; i++) {
		e->processes.items[i].start_ns -= start_ns;
		e->processes.items[i].clock_offset_ns -= start_ns;
		e->processes.items[i].started_by_ns -= start_ns;
		e->processes.items[i].end_ns -= start_ns;
		/* a launcher that was killed left no account: then the run lasted until the last
		 * sign */
		if (!launchers_ended && e->processes.items[i].end_ns > e->elapsed_ns)
			e->elapsed_ns = e->processes.items[i].end_ns;
	}
	for (size_t i = 0; i < e->threads.count; i++) {
		e->threads.items[i].start_ns -= start_ns;
		e->threads.items[i].end_ns -= start_ns;
	}
	for (size_t i = 0; i < e->mappings.count; i++) {
		e->mappings.items[i].map_ns -= start_ns;
		if (e->mappings.items[i].unmap_ns != INT64_MAX)
			e->mappings.items[i].unmap_ns -= start_ns;
	}
	for (size_t i = 0; i < e->samples.count; i++)
		e->samples.items[i].time_ns -= start_ns;
	for (size_t i = 0; i < e->waits.count; i++)
		e->waits.items[i].time_ns -= start_ns;
	for (size_t i = 0; i < e->windows.count; i++) {
		e->windows.items[i].begin_ns -= start_ns;
		e->windows.items[i].end_ns -= start_ns;
	}
	for (size_t i = 0; i < e->packets.count; i++)
		e->packets.items[i].time_ns -= start_ns;
	for (size_t i = 0; i < e->event_counts.count; i++)
		e->event_counts.items[i].time_ns -= start_ns;
}

/* Chunks of many threads come mixed, but each thread's in order: one stable pass by thread sorts
 * ten million samples in the time of a copy. */
static void samples_distribute(struct sn_experiment *e)
{
	size_t n = e->samples.count;
	size_t *first = sn_alloc_zeroed(e->threads.count + 1, sizeof(*first));
	struct sn_sample *sorted;

	for (size_t i = 0; i < n; i++)
		first[e->samples.items[i].thread + 1]++;
	for (size_t t = 0; t < e->threads.count; t++)
		first[t + 1] += first[t];
	sorted = sn_realloc_array(NULL, n, sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[first[e->samples.items[i].thread]++] = e->samples.items[i];
	free(e->samples.items);
	e->samples.items = sorted;
	e->samples.capacity = n;
	free(first);
}

static void extracts_find(struct sn_experiment *e)
{
	for (size_t i = 0; i < e->modules.count; i++) {
		struct sn_module *module = &e->modules.items[i];
		char *path = sn_arena_printf(&e->arena, "%s/extracts/%s.extract", e->path,
					     module->build_id);

		if (module->build_id[0] && !access(path, R_OK))
			module->extract_path = path;
	}
}

/* What the kernel counted beside, of all launches. An event that overflowed nowhere has its total, too. */
static void events_take(struct sn_experiment *e, const struct launches *launches)
{
	for (size_t v = 0; v < e->events.count; v++) {
		struct sn_event *event = &e->events.items[v];

		event->kernel_count = launches->items.count ? 0 : -1;
		for (size_t i = 0; i < launches->items.count; i++) {
			const struct sn_launch *l = &launches->items.items[i];
			int64_t count = -1;

			for (size_t k = 0; k < l->events.count; k++)
				if (!strcmp(l->events.items[k].name, event->name))
					count = l->events.items[k].count;
			if (count < 0 || event->kernel_count < 0 ||
			    __builtin_add_overflow(event->kernel_count, count,
						   &event->kernel_count))
				event->kernel_count = -1;
		}
	}
}

/* ---- nodes ---- */

/* The end of the launches of one host: they come sorted by it. */
static size_t host_end(const struct launches *launches, size_t at)
{
	size_t end = at;

	while (end < launches->items.count &&
	       !strcmp(launches->items.items[end].host, launches->items.items[at].host))
		end++;
	return end;
}

static void node_data_find(const struct sn_experiment *e, const struct launches *launches,
			   size_t first, size_t end, struct sn_node *node)
{
	node->host = launches->items.items[first].host;
	for (size_t i = first; i < end; i++) {
		const struct sn_launch *launch = &launches->items.items[i];
		struct sn_reduced_data data = { .pid = launch->pid };
		struct sn_text path = { 0 };
		struct stat facts;

		sn_text_addf(&path, "%s/%s.%d.data", e->path, launch->host, launch->pid);
		if (!stat(path.chars, &facts))
			data.bytes = (uint64_t)facts.st_size;
		sn_text_free(&path);
		sn_vec_push(&node->data, data);
	}
}

static bool host_has_ended(const struct launches *launches, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (!launches->items.items[i].has_ended)
			return false;
	return true;
}

/* The sums of a node, if it was reduced since its data were written. */
static bool sums_take(struct sn_decoder *decoder, const struct launches *launches, size_t first,
		      size_t end)
{
	struct sn_experiment *e = decoder->experiment;
	struct sn_node node = { 0 };
	struct sn_text path = { 0 };
	struct sn_file_view view;
	bool is_taken = false;

	sn_text_addf(&path, "%s/%s.reduced", e->path, launches->items.items[first].host);
	if (!access(path.chars, R_OK) && host_has_ended(launches, first, end) &&
	    sn_file_map(path.chars, &view, NULL) == SN_OK) {
		node_data_find(e, launches, first, end, &node);
		is_taken = sn_reduction_read(view.bytes, view.length, &node, decoder);
		sn_file_unmap(&view);
	}
	sn_vec_free(&node.data);
	sn_text_free(&path);
	return is_taken;
}

static void all_decode(struct sn_decoder *decoder, const struct launches *launches,
		       bool sums_suffice)
{
	for (size_t i = 0, end; i < launches->items.count; i = end) {
		end = host_end(launches, i);
		if (sums_suffice && sums_take(decoder, launches, i, end))
			continue;
		for (size_t l = i; l < end; l++)
			launch_decode(decoder, &launches->items.items[l]);
	}
}

static void put_in_order(struct sn_experiment *e)
{
	sn_processes_order(e);
	times_from_start(e);
	samples_distribute(e);
	sn_experiment_sort(e);
}

static void experiment_read(struct sn_experiment *e, const struct launches *launches,
			    bool sums_suffice)
{
	struct sn_decoder decoder = { .experiment = e };

	all_decode(&decoder, launches, sums_suffice);
	sn_decoder_finish(&decoder);
	if (!e->processes.count)
		warn(e, "no process was measured: there are no data in this experiment");
	put_in_order(e);
	events_take(e, launches);
	extracts_find(e);
	e->campaign = sn_campaign_mark_read(e->path, &e->arena);
}

static void launches_free(struct launches *launches)
{
	for (size_t i = 0; i < launches->items.count; i++)
		sn_launch_free(&launches->items.items[i]);
	sn_vec_free(&launches->items);
}

sn_status sn_nodes_find(const char *path, sn_strings *hosts, struct sn_error *err)
{
	struct sn_experiment *e = sn_experiment_new(path);
	struct launches launches = { 0 };
	sn_status status = SN_OK;

	launches_read(e, "launch.", &launches);
	if (!launches.items.count)
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "'%s' cannot be read: it has no readable launch file", path);
	else if (!host_has_ended(&launches, 0, launches.items.count))
		status = sn_error_set(
			err, SN_ERR_NO_DATA,
			"'%s' has a part that still runs, or whose recording was killed: "
			"it cannot be reduced",
			path);
	for (size_t i = 0; status == SN_OK && i < launches.items.count; i = host_end(&launches, i))
		sn_vec_push(hosts, sn_strdup(launches.items.items[i].host));
	launches_free(&launches);
	sn_experiment_free(e);
	return status;
}

/* The launches of a host, all behind each other; the rest may be of a host whose name begins so. */
static size_t host_launches_read(struct sn_experiment *e, const char *host,
				 struct launches *launches, size_t *first)
{
	struct sn_text prefix = { 0 };

	sn_text_addf(&prefix, "launch.%s.", host);
	launches_read(e, prefix.chars, launches);
	sn_text_free(&prefix);
	for (*first = 0; *first < launches->items.count; (*first)++)
		if (!strcmp(launches->items.items[*first].host, host))
			break;
	return host_end(launches, *first);
}

bool sn_node_has_ended(const char *path, const char *host)
{
	struct sn_experiment *e = sn_experiment_new(path);
	struct launches launches = { 0 };
	size_t first, end = host_launches_read(e, host, &launches, &first);
	bool has_ended = end > first && host_has_ended(&launches, first, end);

	launches_free(&launches);
	sn_experiment_free(e);
	return has_ended;
}

sn_status sn_node_read(const char *path, const char *host, struct sn_node *out,
		       struct sn_error *err)
{
	struct sn_experiment *e = sn_experiment_new(path);
	struct sn_decoder decoder = { .experiment = e };
	struct launches launches = { 0 };
	size_t first, end = host_launches_read(e, host, &launches, &first);

	if (first == end) {
		launches_free(&launches);
		sn_experiment_free(e);
		return sn_error_set(err, SN_ERR_NOT_FOUND, "'%s' has no launch on host '%s'", path,
				    host);
	}
	e->warnings.count = 0; /* of launch files: they are read again with the reduction */
	*out = (struct sn_node){ .experiment = e };
	node_data_find(e, &launches, first, end, out);
	out->host = sn_arena_strdup(&e->arena, host);
	for (size_t i = first; i < end; i++)
		launch_decode(&decoder, &launches.items.items[i]);
	for (size_t i = 0; i < decoder.warnings.count; i++)
		sn_vec_push(&out->warnings, decoder.warnings.items[i]);
	decoder.warnings.count = 0;
	sn_decoder_finish(&decoder);
	put_in_order(e);
	launches_free(&launches);
	return SN_OK;
}

void sn_node_free(struct sn_node *node)
{
	sn_vec_free(&node->data);
	sn_vec_free(&node->warnings);
	sn_experiment_free(node->experiment);
	*node = (struct sn_node){ 0 };
}

/* ---- an experiment ---- */

static sn_status experiment_open(const char *name, bool sums_suffice, struct sn_experiment **out,
				 struct sn_error *err)
{
	struct launches launches = { 0 };
	struct sn_text path = { 0 };
	struct sn_experiment *e;
	sn_status status = sn_store_resolve(name, &path, err);

	if (status != SN_OK)
		return status;
	while (path.length > 1 && path.chars[path.length - 1] == '/')
		path.chars[--path.length] = '\0';
	e = sn_experiment_new(path.chars);
	e->name = sn_arena_strdup(&e->arena, sn_base_name(e->path));
	sn_text_free(&path);
	launches_read(e, "launch.", &launches);
	if (launches.items.count) {
		facts_take(e, &launches);
		experiment_read(e, &launches, sums_suffice);
		*out = e;
	} else {
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "'%s' cannot be read: it has no readable launch file; the "
				      "recording did not start or the folder is damaged",
				      e->path);
		sn_experiment_free(e);
	}
	launches_free(&launches);
	return status;
}

sn_status sn_experiment_open(const char *name, struct sn_experiment **out, struct sn_error *err)
{
	return experiment_open(name, false, out, err);
}

sn_status sn_experiment_open_sums(const char *name, struct sn_experiment **out,
				  struct sn_error *err)
{
	return experiment_open(name, true, out, err);
}

const char *sn_experiment_given_path(const struct sn_experiment *experiment)
{
	const char *archive = sn_archive_of(experiment->path);

	return archive ? archive : experiment->path;
}
