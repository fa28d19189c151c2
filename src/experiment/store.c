/*
 * Makes, finds, lists and removes experiment folders. Ranks that start at the same moment all try
 * to make the folder: one succeeds, the others join it if their launch key is the same.
 */
#include "experiment/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "experiment/launch.h"
#include "experiment/unpack.h"

enum { KEY_WAIT_MS = 2000, NUMBER_MAX = 999999999 };

/* The number of an entry `sonde.NAME.N`, or -1. `name` NULL: any name. */
static long entry_number(const char *entry, const char *name)
{
	const char *dot = strrchr(entry, '.');
	char *end;
	long number;

	if (!sn_starts_with(entry, "sonde.") || !dot || dot < entry + 6 || !isdigit(dot[1]))
		return -1;
	if (name && ((size_t)(dot - entry) != 6 + strlen(name) ||
		     strncmp(entry + 6, name, strlen(name)) != 0))
		return -1;
	number = strtol(dot + 1, &end, 10);
	return *end || number < 0 || number > NUMBER_MAX ? -1 : number;
}

static long largest_number(const char *name)
{
	DIR *folder = opendir(".");
	struct dirent *entry;
	long largest = 0;

	while (folder && (entry = readdir(folder))) {
		long number = entry_number(entry->d_name, name);

		if (number > largest)
			largest = number;
	}
	if (folder)
		closedir(folder);
	return largest;
}

static void key_path(const char *folder, struct sn_text *path)
{
	sn_text_clear(path);
	sn_text_addf(path, "%s/launch-key", folder);
}

static bool has_key(const char *folder)
{
	struct sn_text key = { 0 };
	bool is_there;

	key_path(folder, &key);
	is_there = !access(key.chars, R_OK);
	sn_text_free(&key);
	return is_there;
}

static sn_status key_write(const char *folder, const char *key, struct sn_error *err)
{
	struct sn_file_writer writer;
	struct sn_text path = { 0 };
	sn_status status;

	key_path(folder, &path);
	status = sn_file_writer_open(&writer, path.chars, err);
	if (status == SN_OK) {
		fprintf(writer.out, "%s\n", key);
		status = sn_file_writer_commit(&writer, err);
	}
	sn_text_free(&path);
	return status;
}

/* Whether the folder belongs to the launch with this key. Its maker writes the key right after its
 * mkdir, so a folder without one is given a moment. */
static bool key_matches(const char *folder, const char *key)
{
	struct sn_text path = { 0 };
	struct sn_file_view view;
	bool matches = false;

	key_path(folder, &path);
	for (int waited_ms = 0; waited_ms < KEY_WAIT_MS; waited_ms += 5) {
		if (sn_file_map(path.chars, &view, NULL) == SN_OK) {
			matches = view.length == strlen(key) + 1 &&
				  !memcmp(view.bytes, key, view.length - 1);
			sn_file_unmap(&view);
			break;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	sn_text_free(&path);
	return matches;
}

/* Anything that could break a path or a shell line becomes '_'. */
char *sn_store_word(const char *program)
{
	char *word = sn_strdup(sn_base_name(program));

	for (char *c = word; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-+", *c))
			*c = '_';
	if (strlen(word) > 100)
		word[100] = '\0';
	return word;
}

static sn_status create_or_join(const char *folder, const char *key, bool *is_joined,
				struct sn_error *err)
{
	*is_joined = false;
	if (!mkdir(folder, 0777))
		return key_write(folder, key, err);
	if (errno != EEXIST)
		return sn_error_errno(
			err, "cannot create the experiment folder '%s' (-o names one)", folder);
	*is_joined = key_matches(folder, key);
	return *is_joined ? SN_OK : SN_ERR_USAGE;
}

static sn_status refuse_existing(const char *path, struct sn_error *err)
{
	if (!has_key(path))
		return sn_error_set(err, SN_ERR_USAGE,
				    "'%s' exists already and is no experiment; choose another name",
				    path);
	return sn_error_set(
		err, SN_ERR_USAGE,
		"'%s' exists already; experiments are never overwritten: choose another "
		"name or remove it (sonde list --remove %s)",
		path, path);
}

sn_status sn_store_check(const char *wanted, const char *key, struct sn_error *err)
{
	if (!wanted || access(wanted, F_OK) || key_matches(wanted, key))
		return SN_OK;
	return refuse_existing(wanted, err);
}

sn_status sn_store_create(const char *wanted, const char *program, const char *key,
			  struct sn_text *path, bool *is_joined, struct sn_error *err)
{
	sn_status status;
	char *word;

	if (wanted) {
		status = create_or_join(wanted, key, is_joined, err);
		if (status == SN_OK)
			sn_text_add(path, wanted);
		return status == SN_ERR_USAGE ? refuse_existing(wanted, err) : status;
	}
	word = sn_store_word(program);
	for (long number = largest_number(word);; number++) {
		sn_text_clear(path);
		sn_text_addf(path, "sonde.%s.%ld", word, number);
		/* the newest there may be that of our own launch */
		if (number > 0 && !access(path->chars, F_OK) && key_matches(path->chars, key)) {
			*is_joined = true;
			status = SN_OK;
			break;
		}
		sn_text_clear(path);
		sn_text_addf(path, "sonde.%s.%ld", word, number + 1);
		status = create_or_join(path->chars, key, is_joined, err);
		if (status != SN_ERR_USAGE)
			break;
	}
	free(word);
	if (status != SN_OK)
		sn_text_clear(path);
	return status;
}

void sn_store_next(const char *program, struct sn_text *path)
{
	char *word = sn_store_word(program);

	sn_text_addf(path, "sonde.%s.%ld", word, largest_number(word) + 1);
	free(word);
}

bool sn_store_is_experiment(const char *path)
{
	const char *folder;

	if (has_key(path))
		return true;
	return sn_is_archive(path) &&
	       (sn_archive_open(path, &folder, NULL) != SN_OK || has_key(folder));
}

static uint64_t walk_bytes;

static int walk_add(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)path;
	(void)at;
	if (kind == FTW_F)
		walk_bytes += (uint64_t)st->st_blocks * 512;
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct sn_store_entry *x = a, *y = b;

	if (x->modified_ns != y->modified_ns)
		return x->modified_ns < y->modified_ns ? 1 : -1;
	return -strverscmp(x->path, y->path);
}

static int64_t made_ns(const char *folder)
{
	struct sn_text path = { 0 };
	struct stat st;
	int64_t at = 0;

	key_path(folder, &path);
	if (!stat(path.chars, &st))
		at = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	sn_text_free(&path);
	return at;
}

/* Like sn_store_list, without the sizes. */
static sn_status list_by_time(const char *folder, struct sn_store_list *list, struct sn_error *err)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;

	*list = (struct sn_store_list){ 0 };
	if (!stream)
		return sn_error_errno(err, "cannot read the folder '%s'", folder);
	while ((entry = readdir(stream))) {
		struct sn_store_entry found = { 0 };
		struct sn_text path = { 0 };

		if (!strcmp(folder, "."))
			sn_text_add(&path, entry->d_name);
		else
			sn_text_addf(&path, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || !has_key(path.chars)) {
			sn_text_free(&path);
			continue;
		}
		found.modified_ns = made_ns(path.chars);
		found.path = sn_text_take(&path);
		sn_vec_push(&list->entries, found);
	}
	closedir(stream);
	if (list->entries.count)
		qsort(list->entries.items, list->entries.count, sizeof(*list->entries.items),
		      newest_first);
	return SN_OK;
}

sn_status sn_store_list(const char *folder, struct sn_store_list *list, struct sn_error *err)
{
	sn_status status = list_by_time(folder ? folder : ".", list, err);

	for (size_t i = 0; i < list->entries.count; i++) {
		struct sn_store_entry *entry = &list->entries.items[i];

		walk_bytes = 0;
		entry->is_pruned = nftw(entry->path, walk_add, 16, FTW_PHYS) != 0;
		entry->size_bytes = walk_bytes;
	}
	return status;
}

void sn_store_list_free(struct sn_store_list *list)
{
	for (size_t i = 0; i < list->entries.count; i++)
		free(list->entries.items[i].path);
	sn_vec_free(&list->entries);
}

static bool is_campaign(const char *folder)
{
	struct sn_text path = { 0 };
	struct stat st;
	bool is_one;

	sn_text_addf(&path, "%s/state.jsonl", folder);
	is_one = !stat(path.chars, &st) && S_ISREG(st.st_mode);
	sn_text_free(&path);
	return is_one;
}

static bool has_launch_key(const char *folder)
{
	struct sn_text path = { 0 };
	struct stat st;
	bool has;

	sn_text_addf(&path, "%s/launch-key", folder);
	has = !stat(path.chars, &st);
	sn_text_free(&path);
	return has;
}

/* The first of a campaign's own runs by name; nothing is added if there is none. */
static void run_find(const char *campaign, struct sn_text *out)
{
	struct sn_text folder = { 0 }, path = { 0 };
	struct dirent *entry;
	DIR *stream;

	sn_text_addf(&folder, "%s/runs", campaign);
	stream = opendir(folder.chars);
	while (stream && (entry = readdir(stream))) {
		sn_text_clear(&path);
		sn_text_addf(&path, "%s/%s", folder.chars, entry->d_name);
		if ((out->length && strcmp(path.chars, out->chars) >= 0) ||
		    !has_launch_key(path.chars))
			continue;
		sn_text_clear(out);
		sn_text_add(out, path.chars);
	}
	if (stream)
		closedir(stream);
	sn_text_free(&folder);
	sn_text_free(&path);
}

static sn_status no_experiment_but_campaign(const char *name, const char *folder,
					    struct sn_error *err)
{
	struct sn_text run = { 0 };
	sn_status status;

	run_find(folder, &run);
	if (run.length)
		status = sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is a campaign, not an experiment: give the same command one of its "
			"runs, such as '%s%s' ('sonde campaign status %s' lists them)",
			name, name, run.chars + strlen(folder), name);
	else
		status = sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is a campaign, not an experiment: give one of its runs, which 'sonde "
			"campaign status %s' lists",
			name, name);
	sn_text_free(&run);
	return status;
}

/* A campaign keeps what a run wrote beside its experiment: NAME.out, NAME.err. */
static bool is_output_of_run(const char *name)
{
	static const char *const ends[] = { ".out", ".err" };
	size_t length = strlen(name);
	struct sn_text run = { 0 };
	bool is_one = false;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (length <= end || strcmp(name + length - end, ends[i]) != 0)
			continue;
		sn_text_addf(&run, "%.*s", (int)(length - end), name);
		is_one = has_launch_key(run.chars);
	}
	sn_text_free(&run);
	return is_one;
}

/* `folder` is what `name` stands for: itself, or where an archive was unpacked. */
static sn_status no_experiment(const char *name, const char *folder, struct sn_error *err)
{
	if (is_campaign(folder))
		return no_experiment_but_campaign(name, folder, err);
	if (is_output_of_run(name))
		return sn_error_set(
			err, SN_ERR_FORMAT,
			"'%s' is what a run wrote, not its experiment: leave out '.out' and '.err', "
			"as 'runs/*/' does",
			name);
	return sn_error_set(
		err, SN_ERR_FORMAT,
		"'%s' is not an experiment: it has no launch-key; give the folder that 'sonde "
		"record' made",
		name);
}

/* The first campaign in this folder; nothing is added if there is none. */
static void campaign_find(struct sn_text *out)
{
	DIR *stream = opendir(".");
	struct dirent *entry;

	while (stream && !out->length && (entry = readdir(stream)))
		if (strstr(entry->d_name, ".campaign.") && is_campaign(entry->d_name))
			sn_text_add(out, entry->d_name);
	if (stream)
		closedir(stream);
}

static sn_status too_few(const char *name, size_t count, struct sn_error *err)
{
	struct sn_text campaign = { 0 };

	if (!count)
		campaign_find(&campaign);
	if (campaign.length)
		sn_error_set(
			err, SN_ERR_NOT_FOUND,
			"there is no experiment in this folder, but a campaign; name it ('%s') or one "
			"of its runs ('sonde campaign status' lists them)",
			campaign.chars);
	else
		sn_error_set(err, SN_ERR_NOT_FOUND,
			     "there %s %zu experiment%s in this folder, so '%s' names none; "
			     "make one with: sonde record ./PROGRAM",
			     count == 1 ? "is" : "are", count, count == 1 ? "" : "s", name);
	sn_text_free(&campaign);
	return SN_ERR_NOT_FOUND;
}

sn_status sn_store_resolve(const char *name, struct sn_text *path, struct sn_error *err)
{
	struct sn_store_list list;
	const char *folder;
	sn_status status;
	char *end;
	long back;

	if (!name)
		name = "@0";
	if (name[0] != '@') {
		struct stat st;

		if (stat(name, &st)) {
			if (errno == ENOTDIR && sn_archive_open_within(name, path, &status, err))
				return status != SN_OK || has_key(path->chars)
					       ? status
					       : no_experiment(name, path->chars, err);
			return sn_error_errno(err, "cannot open the experiment '%s'", name);
		}
		folder = name;
		if (sn_is_archive(name) && sn_archive_open(name, &folder, err) != SN_OK)
			return err ? err->status : SN_ERR_FORMAT;
		if (!has_key(folder))
			return no_experiment(name, folder, err);
		sn_text_add(path, folder);
		return SN_OK;
	}
	back = -strtol(name + 1, &end, 10);
	if (!name[1] || *end || back < 0)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"'%s' names no experiment; @0 is the newest, @-1 the one before", name);
	status = list_by_time(".", &list, err);
	if (status == SN_OK && (size_t)back >= list.entries.count)
		status = too_few(name, list.entries.count, err);
	else if (status == SN_OK)
		sn_text_add(path, list.entries.items[back].path);
	sn_store_list_free(&list);
	return status;
}

/* Every name that a part of sonde writes into an experiment by itself. A part that writes one more
 * adds it here, or the experiment cannot be removed. */
static const char *const our_names[] = {
	"launch-key",	  /* sn_store_create */
	"launch.*.json",  /* sn_launch_write */
	"*.data",	  /* record, import */
	"*.trace",	  /* record of what it traced */
	"*.reduced",	  /* reduce: sums of a node's ranks */
	"kernel.symbols", /* record --kernel: names of the functions that were met */
	"roofs.tsv",	  /* record: what the machine can do */
	"untouched.tsv",  /* decan: what loops took before they ran as copies */
	"*.monitor",	  /* the runtime, under an agent */
	"*.agent",	  /* search's agent */
	"search.spool",	  /* search's agent: the executions that its steps measured */
	"search.tsv",	  /* search: what it found */
	"search.journal", /* search's front: the same of all hosts */
	"search.words",	  /* what the front was told */
	"search.secret",  /* while agents are there */
	"search.front",
	"*.live",	       /* the runtime, and record for what it measures from outside */
	"libsonde-runtime.so", /* record's link beside live files */
	"libsonde-runtime-*.so",
	"causal.tsv", /* causal */
	"gmon.calls", /* import of gprof's snapshots */
	"*.extract",  /* record */
	"perf-*.map", /* record keeps what just-in-time compilers wrote */
	"jit-*.dump",
	"campaign.json", /* a campaign, of its runs */
	"report.html",	 /* report, run */
	"compare.html",	 /* diff, report of two */
	"*.part.*",	 /* sn_file_writer_open, before its commit */
};

bool sn_store_is_ours(const char *name)
{
	for (size_t i = 0; i < sizeof(our_names) / sizeof(*our_names); i++)
		if (!fnmatch(our_names[i], name, 0))
			return true;
	return false;
}

/* What lies only where live data do: the page of causal experiments, plans of what is rewritten, and
 * whose data they are (record/live_folder.h). */
bool sn_store_is_live(const char *name)
{
	return sn_store_is_ours(name) || !strcmp(name, "causal") || sn_starts_with(name, "plan.") ||
	       !strcmp(name, "experiment");
}

static sn_status remove_in(const char *folder, bool (*is_chosen)(const char *),
			   struct sn_error *err)
{
	DIR *stream = opendir(folder);
	struct dirent *entry;
	sn_status status = SN_OK;

	if (!stream)
		return errno == ENOENT ? SN_OK : sn_error_errno(err, "cannot read '%s'", folder);
	while (status == SN_OK && (entry = readdir(stream)))
		if (is_chosen(entry->d_name) && unlinkat(dirfd(stream), entry->d_name, 0))
			status =
				sn_error_errno(err, "cannot remove '%s/%s'", folder, entry->d_name);
	closedir(stream);
	return status;
}

/* Where record may have put live data: a folder of memory, or one in the experiment itself. */
static bool is_live_folder(const char *folder, const char *experiment)
{
	const char *slash = folder ? strrchr(folder, '/') : NULL;
	char *real, *parent;
	bool is_inside;

	if (!slash || slash == folder)
		return false;
	if (sn_starts_with(slash, "/sonde-live."))
		return true;
	real = realpath(experiment, NULL);
	parent = sn_strndup(folder, (size_t)(slash - folder));
	is_inside = real && !strcmp(real, parent) && sn_starts_with(slash, "/live.");
	free(real);
	free(parent);
	return is_inside;
}

/* Removes the live data that a killed launcher left. The folder is named by a file that anybody may
 * have written, so only files go that look like ours and are ours. */
static void live_folder_remove(const struct sn_launch *launch, const char *experiment)
{
	const char *folder = launch->live_folder;
	struct stat st;

	if (!is_live_folder(folder, experiment) || lstat(folder, &st) || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() ||
	    (launch->pid > 0 && (!kill(launch->pid, 0) || errno == EPERM)))
		return;
	remove_in(folder, sn_store_is_live, NULL);
	rmdir(folder);
}

/* What hosts of a search shared, whose front was killed. */
static void nodes_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	sn_file_remove_folder(fd, "search.nodes");
	close(fd);
}

static void live_folders_remove(const char *path)
{
	DIR *stream = opendir(path);
	struct dirent *entry;

	while (stream && (entry = readdir(stream))) {
		struct sn_text file = { 0 };
		struct sn_launch launch;

		if (!sn_starts_with(entry->d_name, "launch.") ||
		    !sn_ends_with(entry->d_name, ".json"))
			continue;
		sn_text_addf(&file, "%s/%s", path, entry->d_name);
		if (sn_launch_read(file.chars, &launch, NULL) == SN_OK) {
			live_folder_remove(&launch, path);
			sn_launch_free(&launch);
		}
		sn_text_free(&file);
	}
	if (stream)
		closedir(stream);
}

sn_status sn_store_remove(const char *path, struct sn_error *err)
{
	struct sn_text extracts = { 0 };
	sn_status status;

	if (sn_archive_refuse(path, err) != SN_OK)
		return SN_ERR_USAGE;
	if (!has_key(path))
		return sn_error_set(err, SN_ERR_FORMAT,
				    "'%s' is not an experiment; nothing removed", path);
	live_folders_remove(path);
	nodes_remove(path);
	sn_text_addf(&extracts, "%s/extracts", path);
	status = remove_in(extracts.chars, sn_store_is_ours, err);
	if (status == SN_OK && rmdir(extracts.chars) && errno != ENOENT)
		status = sn_error_errno(err, "cannot remove '%s'", extracts.chars);
	if (status == SN_OK)
		status = remove_in(path, sn_store_is_ours, err);
	if (status == SN_OK && rmdir(path))
		status = sn_error_errno(
			err, "removed what sonde wrote in '%s', but not the folder itself", path);
	sn_text_free(&extracts);
	return status;
}
