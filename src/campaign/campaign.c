/* Campaign folders: made, found, opened, locked. */
#include "campaign/campaign.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/progress.h"
#include "campaign/jobs.h"
#include "campaign/judge.h"
#include "campaign/values.h"
#include "experiment/campaign_mark.h"
#include "experiment/store.h"
#include "experiment/unpack.h"

/* ---- folders ---- */

static bool has_state(const char *folder)
{
	struct sn_text state = { 0 };
	bool is_there;

	sn_text_addf(&state, "%s/state.jsonl", folder);
	is_there = !access(state.chars, R_OK);
	sn_text_free(&state);
	return is_there;
}

bool sn_is_campaign(const char *path)
{
	const char *folder = path;

	return has_state(path) ||
	       (sn_is_archive(path) && sn_archive_open(path, &folder, NULL) == SN_OK &&
		has_state(folder));
}

/* The number of `sonde.NAME.campaign.N`, or -1. */
static long folder_number(const char *entry)
{
	const char *dot = strrchr(entry, '.');
	char *end;
	long number;

	if (!dot || !isdigit((unsigned char)dot[1]) || !sn_starts_with(entry, "sonde.") ||
	    dot - entry < 9 || strncmp(dot - 9, ".campaign", 9) != 0)
		return -1;
	number = strtol(dot + 1, &end, 10);
	return *end || number < 0 || number > 999999999 ? -1 : number;
}

static sn_status folder_make(const char *wanted, const char *name, struct sn_text *out,
			     struct sn_error *err)
{
	char *word = sn_store_word(name);

	for (long number = 1;; number++) {
		sn_text_clear(out);
		if (wanted)
			sn_text_add(out, wanted);
		else
			sn_text_addf(out, "sonde.%s.campaign.%ld", word, number);
		if (!mkdir(out->chars, 0777)) {
			free(word);
			return SN_OK;
		}
		if (errno != EEXIST || wanted)
			break;
	}
	free(word);
	if (errno == EEXIST)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' exists already; choose another name with -o, or go on with "
			"it: sonde campaign resume %s",
			out->chars, out->chars);
	return sn_error_errno(err, "cannot create the campaign's folder '%s'", out->chars);
}

/* By the time of its state file, then the name. */
static sn_status newest(struct sn_text *out, struct sn_error *err)
{
	DIR *stream = opendir(".");
	struct dirent *entry;
	struct timespec best = { 0 };

	while (stream && (entry = readdir(stream))) {
		struct sn_text path = { 0 };
		struct stat st;

		sn_text_addf(&path, "%s/plan.ini", entry->d_name);
		if (folder_number(entry->d_name) >= 0 && sn_is_campaign(entry->d_name) &&
		    !stat(path.chars, &st) &&
		    (st.st_mtim.tv_sec > best.tv_sec ||
		     (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec >= best.tv_nsec))) {
			best = st.st_mtim;
			sn_text_clear(out);
			sn_text_add(out, entry->d_name);
		}
		sn_text_free(&path);
	}
	if (stream)
		closedir(stream);
	if (out->length)
		return SN_OK;
	return sn_error_set(
		err, SN_ERR_NOT_FOUND,
		"there is no campaign in this folder; begin one: sonde campaign run PLAN, "
		"or sonde scale --threads 1,2,4 -- ./app");
}

static sn_status file_write(const char *folder, const char *name, const char *bytes, size_t length,
			    struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	sn_text_addf(&path, "%s/%s", folder, name);
	status = sn_file_writer_open(&writer, path.chars, err);
	sn_text_free(&path);
	if (status != SN_OK)
		return status;
	fwrite(bytes, 1, length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

static const char *fresh_id(struct sn_arena *arena)
{
	uint64_t words[2];

	if (getrandom(words, sizeof(words), 0) != sizeof(words)) {
		words[0] = (uint64_t)sn_clock_ns(CLOCK_REALTIME);
		words[1] = (uint64_t)getpid();
	}
	return sn_arena_printf(arena, "%016llx%016llx", (unsigned long long)words[0],
			       (unsigned long long)words[1]);
}

static sn_status header_write(const struct sn_campaign_begin *begin,
			      const struct sn_campaign_plan *plan, const char *folder,
			      struct sn_error *err)
{
	struct sn_campaign_state header = { .plan_name = begin->plan_name,
					    .plan_folder = begin->plan_folder,
					    .seed = begin->seed,
					    .configurations = (uint32_t)plan->configurations.count,
					    .repeat = plan->repeat,
					    .retry = begin->retry < 0 ? plan->retry
								      : (uint32_t)begin->retry };
	struct sn_campaign_log log;
	sn_status status = sn_campaign_log_open(folder, &log, err);

	if (status != SN_OK)
		return status;
	header.id = fresh_id(&header.arena);
	status = sn_campaign_log_header(&log, &header, err);
	sn_campaign_log_close(&log);
	sn_arena_free(&header.arena);
	return status;
}

sn_status sn_campaign_create(const struct sn_campaign_begin *begin, struct sn_campaign **out,
			     struct sn_error *err)
{
	struct sn_campaign_plan *plan = NULL;
	struct sn_text folder = { 0 }, runs = { 0 }, template = { 0 };
	sn_status status = sn_campaign_plan_read(begin->plan_bytes, begin->plan_length,
						 begin->plan_name, begin->plan_folder, &plan, err);

	if (status == SN_OK && plan->jobs.template)
		status = sn_job_template_try(plan, &template, err);
	if (status == SN_OK)
		status = folder_make(begin->output, plan->name, &folder, err);
	if (status == SN_OK) {
		sn_text_addf(&runs, "%s/runs", folder.chars);
		if (mkdir(runs.chars, 0777))
			status = sn_error_errno(err, "cannot create '%s'", runs.chars);
	}
	if (status == SN_OK)
		status = file_write(folder.chars, "plan.ini", begin->plan_bytes, begin->plan_length,
				    err);
	if (status == SN_OK && plan->jobs.template)
		status = file_write(folder.chars, "template", template.chars ? template.chars : "",
				    template.length, err);
	if (status == SN_OK)
		status = header_write(begin, plan, folder.chars, err);
	if (status == SN_OK)
		status = sn_campaign_open(folder.chars, out, err);
	sn_campaign_plan_free(plan);
	sn_text_free(&folder);
	sn_text_free(&runs);
	sn_text_free(&template);
	return status;
}

static sn_status plan_open(struct sn_campaign *c, struct sn_error *err)
{
	struct sn_text path = { 0 };
	struct sn_file_view view;
	sn_status status;

	sn_text_addf(&path, "%s/plan.ini", c->path);
	status = sn_file_map(path.chars, &view, err);
	if (status == SN_OK) {
		status = sn_campaign_plan_read((const char *)view.bytes, view.length, path.chars,
					       c->state->plan_folder, &c->plan, err);
		sn_file_unmap(&view);
	}
	sn_text_free(&path);
	if (status == SN_OK && (c->plan->configurations.count != c->state->configurations ||
				c->plan->repeat != c->state->repeat))
		status = sn_error_set(
			err, SN_ERR_FORMAT,
			"the plan in '%s' is not the one that the campaign began with "
			"(%zu configurations, %u repeats; it began with %u and %u): begin "
			"another campaign",
			c->path, c->plan->configurations.count, c->plan->repeat,
			c->state->configurations, c->state->repeat);
	return status;
}

sn_status sn_campaign_open(const char *name, struct sn_campaign **out, struct sn_error *err)
{
	struct sn_campaign *c = sn_alloc_zeroed(1, sizeof(*c));
	struct sn_text path = { 0 };
	sn_status status = SN_OK;

	struct stat st;

	if (name && sn_is_archive(name))
		status = sn_archive_open(name, &name, err);
	else if (name && !stat(name, &st) && !S_ISDIR(st.st_mode))
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "'%s' is neither a campaign's folder nor an archive of one",
				      name);
	if (name)
		sn_text_add(&path, name);
	else
		status = newest(&path, err);
	while (path.length > 1 && path.chars[path.length - 1] == '/')
		path.chars[--path.length] = '\0';
	if (status == SN_OK)
		status = sn_campaign_state_read(path.chars, &c->state, err);
	c->path = sn_text_take(&path);
	if (status == SN_OK)
		status = plan_open(c, err);
	if (status == SN_OK) {
		sn_campaign_judge(c->state);
		*out = c;
		c = NULL;
	}
	sn_campaign_free(c);
	return status;
}

void sn_campaign_free(struct sn_campaign *campaign)
{
	if (!campaign)
		return;
	sn_campaign_plan_free(campaign->plan);
	sn_campaign_state_free(campaign->state);
	free(campaign->path);
	free(campaign);
}

const char *sn_campaign_given_path(const struct sn_campaign *campaign)
{
	const char *archive = sn_archive_of(campaign->path);

	return archive ? archive : campaign->path;
}

/* ---- what it has ---- */

uint32_t sn_campaign_configuration_count(const struct sn_campaign *c)
{
	return c->state->configurations + (uint32_t)c->state->added.count;
}

const char *sn_campaign_configuration_name(const struct sn_campaign *c, uint32_t number)
{
	return number < c->state->configurations
		       ? c->plan->configurations.items[number].name
		       : c->state->added.items[number - c->state->configurations].name;
}

void sn_campaign_configuration_size(const struct sn_campaign *c, uint32_t number, uint32_t *ranks,
				    uint32_t *threads)
{
	const struct sn_campaign_added *added;

	if (number < c->state->configurations) {
		*ranks = c->plan->configurations.items[number].ranks;
		*threads = c->plan->configurations.items[number].threads;
		return;
	}
	added = &c->state->added.items[number - c->state->configurations];
	*ranks = added->ranks;
	*threads = added->threads;
}

void sn_campaign_experiment_path(const struct sn_campaign *campaign,
				 const struct sn_campaign_attempt *attempt, struct sn_text *out)
{
	if (attempt->experiment[0] != '/')
		sn_text_addf(out, "%s/", campaign->path);
	sn_text_add(out, attempt->experiment);
}

bool sn_campaign_has_experiment(const struct sn_campaign *campaign,
				const struct sn_campaign_attempt *attempt)
{
	struct sn_text path = { 0 };
	bool is_there;

	if (!attempt->experiment)
		return false;
	sn_campaign_experiment_path(campaign, attempt, &path);
	is_there = sn_store_is_experiment(path.chars);
	sn_text_free(&path);
	return is_there;
}

bool sn_campaign_can_be_read(const struct sn_campaign *campaign,
			     const struct sn_campaign_attempt *attempt)
{
	if (attempt->state != SN_RUN_DONE || !attempt->experiment)
		return false;
	if (sn_campaign_has_experiment(campaign, attempt))
		return true;
	sn_warn("a run of '%s' is left out: its experiment '%s' is not there any more",
		sn_campaign_configuration_name(campaign, attempt->configuration),
		attempt->experiment);
	return false;
}

static void series_key(const struct sn_campaign_configuration *c, struct sn_text *key)
{
	const char *const texts[] = { c->program, c->arguments, c->directory, c->dataset,
				      c->build };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		sn_text_addf(key, "%s\n", texts[i]);
	for (size_t i = 0; i < c->environment.count; i++)
		sn_text_addf(key, "%s=%s\n", c->environment.items[i].name,
			     c->environment.items[i].value);
}

/* "gcc threads=4" without what tells workers. */
static const char *series_name(struct sn_arena *arena, const char *name)
{
	static const char *const sizes[] = { "threads=", "ranks=", "nodes=", "ranks_per_node=",
					     "pin=" };
	struct sn_text out = { 0 };
	const char *kept;

	while (*name) {
		size_t length = strcspn(name, " ");
		bool is_size = false;

		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			is_size |= sn_starts_with(name, sizes[i]);
		if (!is_size && length) {
			sn_text_add(&out, out.length ? " " : "");
			sn_text_add_bytes(&out, name, length);
		}
		name += length + (name[length] == ' ');
	}
	kept = sn_arena_strdup(arena, out.length ? out.chars : "all");
	sn_text_free(&out);
	return kept;
}

void sn_campaign_series(const struct sn_campaign *c, const char **out)
{
	struct sn_interner keys = { 0 };
	SN_VEC(const char *) names = { 0 };

	for (uint32_t i = 0; i < sn_campaign_configuration_count(c); i++) {
		struct sn_text key = { 0 };
		uint32_t number = 0;

		if (i < c->state->configurations) {
			series_key(&c->plan->configurations.items[i], &key);
			number = sn_intern(&keys, key.chars, key.length);
		} else if (c->state->added.items[i - c->state->configurations].program) {
			sn_text_addf(&key, "added\n%s\n",
				     c->state->added.items[i - c->state->configurations].program);
			number = sn_intern(&keys, key.chars, key.length);
		}
		if (number == names.count) {
			const char *name =
				series_name(&c->state->arena, sn_campaign_configuration_name(c, i));

			for (size_t k = 0; k < names.count; k++)
				if (!strcmp(names.items[k], name))
					name = sn_arena_printf(&c->state->arena, "%s (%u)", name,
							       number + 1);
			sn_vec_push(&names, name);
		}
		assert(names.items && number < names.count);
		out[i] = names.items[number];
		sn_text_free(&key);
	}
	sn_vec_free(&names);
	sn_interner_free(&keys);
}

/* All that a build depends on, with what is filled in but for the folder itself. */
static void build_key(const struct sn_campaign_configuration *c, struct sn_text *key)
{
	struct sn_campaign_fill fill = { c, "" };

	sn_text_addf(key, "%s\n", c->directory);
	sn_campaign_fill(c->build, &fill, key, NULL);
}

void sn_campaign_builds(const struct sn_campaign_plan *plan, uint32_t *out)
{
	struct sn_interner keys = { 0 };
	SN_VEC(uint32_t) first = { 0 };

	for (uint32_t c = 0; c < plan->configurations.count; c++) {
		struct sn_text key = { 0 };
		uint32_t number;

		out[c] = SN_NO_BUILD;
		if (!*plan->configurations.items[c].build)
			continue;
		build_key(&plan->configurations.items[c], &key);
		number = sn_intern(&keys, key.chars, key.length);
		if (number == first.count)
			sn_vec_push(&first, c);
		assert(first.items && number < first.count);
		out[c] = first.items[number];
		sn_text_free(&key);
	}
	sn_vec_free(&first);
	sn_interner_free(&keys);
}

const struct sn_campaign_built *sn_campaign_built_find(const struct sn_campaign_state *state,
						       uint32_t build)
{
	for (size_t i = 0; i < state->builds.count; i++)
		if (state->builds.items[i].build == build)
			return &state->builds.items[i];
	return NULL;
}

/* ---- the lock ---- */

static int lock_open(const char *folder)
{
	struct sn_text path = { 0 };
	int fd;

	sn_text_addf(&path, "%s/lock", folder);
	fd = open(path.chars, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	sn_text_free(&path);
	return fd;
}

static pid_t holder_read(int fd)
{
	char text[32] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? (pid_t)atoi(text) : 0;
}

sn_status sn_campaign_lock(const char *folder, int *fd, struct sn_error *err)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	*fd = -1;
	if (sn_archive_refuse(folder, err) != SN_OK)
		return SN_ERR_USAGE;
	*fd = lock_open(folder);
	if (*fd < 0)
		return sn_error_errno(err, "cannot open the lock of the campaign '%s'", folder);
	if (flock(*fd, LOCK_EX | LOCK_NB)) {
		sn_error_set(
			err, SN_ERR_USAGE,
			"process %d runs the campaign '%s' already; 'sonde campaign status' shows "
			"it, 'sonde campaign cancel' stops it",
			(int)holder_read(*fd), folder);
		close(*fd);
		*fd = -1;
		return err->status;
	}
	/* for messages only: a full disk does no harm */
	if (!ftruncate(*fd, 0) && pwrite(*fd, text, (size_t)length, 0) < 0)
		errno = 0;
	return SN_OK;
}

pid_t sn_campaign_holder(const char *folder)
{
	int fd = lock_open(folder);
	pid_t holder = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB))
		holder = holder_read(fd);
	close(fd);
	return holder;
}
