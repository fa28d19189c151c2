/*
 * Walks what sonde wrote, in the order of names, so that the file depends on contents only. Runs of a
 * campaign that lie elsewhere (campaign add) move into it, and its state says where.
 */
#include "archive/archive.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/pack.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/vec.h"
#include "experiment/launch.h"
#include "experiment/store.h"

struct archiving {
	struct sn_pack *pack;
	const struct sn_archive_redaction *redaction;
	struct sn_error *err;
};

/* ---- folders ---- */

struct names {
	sn_strings items;
};

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct names names_of(const char *folder)
{
	struct names names = { 0 };
	DIR *stream = opendir(folder);
	struct dirent *entry;

	while (stream && (entry = readdir(stream)))
		if (entry->d_name[0] != '.')
			sn_vec_push(&names.items, sn_strdup(entry->d_name));
	if (stream)
		closedir(stream);
	if (names.items.count)
		qsort(names.items.items, names.items.count, sizeof(char *), by_bytes);
	return names;
}

static void names_free(struct names *names)
{
	sn_vec_free_owned(&names->items);
}

static sn_status file_add(struct archiving *a, const char *name, const char *path,
			  const char *inside)
{
	struct sn_file_view view;
	struct sn_text out = { 0 };
	sn_status status = sn_file_map(path, &view, a->err);

	if (status != SN_OK)
		return status;
	if (!sn_private_is_in(name, a->redaction)) {
		sn_pack_file(a->pack, inside, view.bytes, view.length);
	} else {
		status = sn_private_take_out(name, path, view.bytes, view.length, a->redaction,
					     &out, a->err);
		if (status == SN_OK)
			sn_pack_file(a->pack, inside, out.chars, out.length);
	}
	sn_text_free(&out);
	sn_file_unmap(&view);
	return status;
}

/* ---- experiments ---- */

/* Pages and reductions can be made again; live data and unfinished files are nobody's. */
static bool is_left_out(const char *name)
{
	return sn_ends_with(name, ".html") || sn_ends_with(name, ".live") ||
	       sn_ends_with(name, ".reduced") || sn_starts_with(name, "libsonde-runtime") ||
	       strstr(name, ".part.");
}

static sn_status launch_check(const char *path, const char *experiment, struct sn_error *err)
{
	struct sn_launch launch;
	sn_status status = SN_OK;

	if (sn_launch_read(path, &launch, NULL) != SN_OK)
		return SN_OK; /* damaged: as it is; readers say so */
	if (!launch.has_ended && launch.live_folder && !access(launch.live_folder, R_OK))
		status = sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' cannot be archived: its data still lie in '%s', as the run "
			"goes on or its recording command was killed",
			experiment, launch.live_folder);
	sn_launch_free(&launch);
	return status;
}

static sn_status folder_add(struct archiving *a, const char *path, const char *inside);

static sn_status entry_add(struct archiving *a, const char *folder, const char *name,
			   const char *inside)
{
	struct sn_text path = { 0 }, to = { 0 };
	sn_status status = SN_OK;
	struct stat st;

	sn_text_addf(&path, "%s/%s", folder, name);
	sn_text_addf(&to, "%s/%s", inside, name);
	if (lstat(path.chars, &st)) {
		status = sn_error_errno(a->err, "cannot read '%s'", path.chars);
	} else if (S_ISDIR(st.st_mode)) {
		if (!strcmp(name, "extracts") || sn_store_is_experiment(path.chars))
			status = folder_add(a, path.chars, to.chars);
	} else if (S_ISREG(st.st_mode) && sn_store_is_ours(name) && !is_left_out(name)) {
		if (sn_starts_with(name, "launch.") && sn_ends_with(name, ".json"))
			status = launch_check(path.chars, folder, a->err);
		if (status == SN_OK)
			status = file_add(a, name, path.chars, to.chars);
	}
	sn_text_free(&path);
	sn_text_free(&to);
	return status;
}

/* An experiment, or its extracts; further runs that lie in it are experiments, too. */
static sn_status folder_add(struct archiving *a, const char *path, const char *inside)
{
	struct names names = names_of(path);
	sn_status status = SN_OK;

	sn_pack_folder(a->pack, inside);
	for (size_t i = 0; status == SN_OK && i < names.items.count; i++)
		status = entry_add(a, path, names.items.items[i], inside);
	names_free(&names);
	return status;
}

/* ---- campaigns ---- */

struct moved {
	SN_VEC(struct move {
		const char *from;
		char *to;
	})
	items;
};

static bool is_outside(const char *experiment)
{
	return experiment[0] == '/' || strstr(experiment, "..");
}

static const char *moved_to(const struct moved *moved, const char *from)
{
	for (size_t i = 0; i < moved->items.count; i++)
		if (!strcmp(moved->items.items[i].from, from))
			return moved->items.items[i].to;
	return NULL;
}

static struct moved moved_find(const struct sn_campaign *c)
{
	struct moved moved = { 0 };

	for (size_t i = 0; i < c->state->attempts.count; i++) {
		const char *from = c->state->attempts.items[i].experiment;
		struct sn_text to = { 0 };

		if (!from || !is_outside(from) || moved_to(&moved, from))
			continue;
		sn_text_addf(&to, "runs/added%zu.%s", moved.items.count + 1, sn_base_name(from));
		sn_vec_push(&moved.items, (struct move){ from, sn_text_take(&to) });
	}
	return moved;
}

static void moved_free(struct moved *moved)
{
	for (size_t i = 0; i < moved->items.count; i++)
		free(moved->items.items[i].to);
	sn_vec_free(&moved->items);
}

/* The last words of a program, behind the colon, may repeat its arguments. */
static void event_change(json_t *event, const struct moved *moved, bool without_words)
{
	const char *experiment = json_string_value(json_object_get(event, "experiment"));
	const char *reason = json_string_value(json_object_get(event, "reason"));
	const char *to = experiment ? moved_to(moved, experiment) : NULL;

	if (to)
		json_object_set_new(event, "experiment", json_string(to));
	if (without_words && reason && strchr(reason, ':'))
		json_object_set_new(event, "reason", json_stringn(reason, strcspn(reason, ":")));
}

/* As it is, unless something must change. Lines that cannot be read tell nothing, and go. */
static void state_text(const uint8_t *bytes, size_t length, const struct moved *moved,
		       bool without_words, struct sn_text *out)
{
	while (length) {
		const uint8_t *newline = memchr(bytes, '\n', length);
		size_t line = newline ? (size_t)(newline - bytes) : length;
		json_t *event = json_loadb((const char *)bytes, line, 0, NULL);
		char *text = NULL;

		if (json_is_object(event)) {
			event_change(event, moved, without_words);
			text = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER |
							 JSON_REAL_PRECISION(17));
		}
		if (text)
			sn_text_addf(out, "%s\n", text);
		free(text);
		json_decref(event);
		bytes += line + (newline != NULL);
		length -= line + (newline != NULL);
	}
}

static sn_status state_add(struct archiving *a, const struct sn_campaign *c,
			   const struct moved *moved, const char *inside)
{
	struct sn_text path = { 0 }, to = { 0 }, out = { 0 };
	struct sn_file_view view;
	sn_status status;

	sn_text_addf(&path, "%s/state.jsonl", c->path);
	sn_text_addf(&to, "%s/state.jsonl", inside);
	status = sn_file_map(path.chars, &view, a->err);
	if (status == SN_OK) {
		if (moved->items.count || a->redaction->arguments) {
			state_text(view.bytes, view.length, moved, a->redaction->arguments, &out);
			sn_pack_file(a->pack, to.chars, out.chars, out.length);
		} else {
			sn_pack_file(a->pack, to.chars, view.bytes, view.length);
		}
		sn_file_unmap(&view);
	}
	sn_text_free(&path);
	sn_text_free(&to);
	sn_text_free(&out);
	return status;
}

static sn_status plan_add(struct archiving *a, const struct sn_campaign *c, const char *inside)
{
	struct sn_text path = { 0 }, to = { 0 }, out = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/plan.ini", c->path);
	sn_text_addf(&to, "%s/plan.ini", inside);
	if (a->redaction->environment || a->redaction->arguments) {
		status = sn_private_plan(c, a->redaction, &out, a->err);
		if (status == SN_OK)
			sn_pack_file(a->pack, to.chars, out.chars, out.length);
	} else {
		struct sn_file_view view;

		status = sn_file_map(path.chars, &view, a->err);
		if (status == SN_OK) {
			sn_text_add_bytes(&out, (const char *)view.bytes, view.length);
			sn_file_unmap(&view);
			if (out.length)
				sn_private_plan_mask(out.chars);
			sn_pack_file(a->pack, to.chars, out.chars, out.length);
		}
	}
	sn_text_free(&path);
	sn_text_free(&to);
	sn_text_free(&out);
	return status;
}

static sn_status run_add(struct archiving *a, const struct sn_campaign *c,
			 const struct moved *moved, const struct sn_campaign_attempt *attempt,
			 const char *inside)
{
	const char *to = moved_to(moved, attempt->experiment);
	struct sn_text from = { 0 }, name = { 0 };
	sn_status status = SN_OK;

	sn_campaign_experiment_path(c, attempt, &from);
	sn_text_addf(&name, "%s/%s", inside, to ? to : attempt->experiment);
	if (sn_campaign_has_experiment(c, attempt))
		status = folder_add(a, from.chars, name.chars);
	else if (attempt->state == SN_RUN_DONE || attempt->state == SN_RUN_SUSPICIOUS)
		sn_warn("the experiment '%s' of '%s' is not there any more: the archive has the "
			"run's line and nothing else of it",
			from.chars, sn_campaign_configuration_name(c, attempt->configuration));
	sn_text_free(&from);
	sn_text_free(&name);
	return status;
}

static sn_status campaign_add(struct archiving *a, const struct sn_campaign *c, const char *inside)
{
	struct moved moved = moved_find(c);
	struct sn_text runs = { 0 };
	sn_status status;

	sn_pack_folder(a->pack, inside);
	status = plan_add(a, c, inside);
	if (status == SN_OK)
		status = state_add(a, c, &moved, inside);
	sn_text_addf(&runs, "%s/runs", inside);
	if (status == SN_OK)
		sn_pack_folder(a->pack, runs.chars);
	for (size_t i = 0; status == SN_OK && i < c->state->attempts.count; i++)
		if (c->state->attempts.items[i].experiment)
			status = run_add(a, c, &moved, &c->state->attempts.items[i], inside);
	moved_free(&moved);
	sn_text_free(&runs);
	return status;
}

static sn_status campaign_open(const char *folder, struct sn_campaign **out, struct sn_error *err)
{
	sn_status status = sn_campaign_open(folder, out, err);
	pid_t holder;

	if (status != SN_OK)
		return status;
	holder = sn_campaign_holder((*out)->path);
	if (!holder)
		return SN_OK;
	sn_campaign_free(*out);
	*out = NULL; /* the caller frees what it holds */
	return sn_error_set(err, SN_ERR_USAGE,
			    "process %d runs the campaign '%s': archive it when that has ended",
			    (int)holder, folder);
}

/* ---- the file ---- */

sn_status sn_archive_write(const char *folder, const char *path,
			   const struct sn_archive_redaction *redaction,
			   struct sn_archive_result *result, struct sn_error *err)
{
	struct archiving a = { .redaction = redaction, .err = err };
	struct sn_campaign *campaign = NULL;
	char *whole = realpath(folder, NULL);
	const char *name = sn_base_name(whole ? whole : folder);
	sn_status status = SN_OK;

	if (sn_is_campaign(folder))
		status = campaign_open(folder, &campaign, err);
	if (status == SN_OK)
		status = sn_pack_open(path, &a.pack, err);
	if (status == SN_OK) {
		status = campaign ? campaign_add(&a, campaign, name) : folder_add(&a, folder, name);
		sn_pack_count(a.pack, &result->files, &result->bytes);
		if (status == SN_OK)
			status = sn_pack_commit(a.pack, err);
		else
			sn_pack_abandon(a.pack);
	}
	sn_campaign_free(campaign);
	free(whole);
	return status;
}
