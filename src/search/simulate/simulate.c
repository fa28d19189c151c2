/* The folder of a simulation: made, run in, and gone on with. */
#include "search/simulate/simulate.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "search/simulate/parts.h"

char *sn_simulation_file(const struct sn_simulation *simulation, const char *name)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%s/%s", simulation->path, name);
	return sn_text_take(&path);
}

static char *file_in(const char *folder, const char *name)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%s/%s", folder, name);
	return sn_text_take(&path);
}

static bool is_folder(const char *path)
{
	char *options = file_in(path, "simulate.json");
	bool is_there = !access(options, F_OK);

	free(options);
	return is_there;
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static bool is_interrupted(void)
{
	return interrupted;
}

static void signals_mind(void)
{
	const struct sigaction action = { .sa_handler = interrupt };
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };

	interrupted = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sigaction(all[i], &action, NULL);
}

/* ---- the folder ---- */

/* The next free name, unless one was given. */
static sn_status folder_make(const char *output, char **out, struct sn_error *err)
{
	struct sn_text path = { 0 };

	for (unsigned number = 1;; number++) {
		sn_text_clear(&path);
		if (output)
			sn_text_add(&path, output);
		else
			sn_text_addf(&path, "sonde.search.%u", number);
		if (!mkdir(path.chars, 0700)) {
			*out = realpath(path.chars, NULL);
			sn_text_free(&path);
			return *out ? SN_OK : sn_error_errno(err, "search: no folder");
		}
		if (output || errno != EEXIST)
			break;
	}
	sn_error_errno(err, "search: cannot make the folder '%s'", path.chars);
	sn_text_free(&path);
	return SN_ERR_IO;
}

static sn_status bytes_save(const char *path, const char *bytes, size_t length,
			    struct sn_error *err)
{
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	if (status != SN_OK)
		return status;
	fwrite(bytes, 1, length, writer.out);
	return sn_file_writer_commit(&writer, err);
}

/* The user's files of properties, by their order: the front after this one reads these. */
static sn_status properties_save(const struct sn_simulation *simulation, struct sn_error *err)
{
	const struct sn_library *library = simulation->library;
	char *folder = sn_simulation_file(simulation, "properties");
	sn_status status = SN_OK;

	if (library->files.count > library->shipped_files && mkdir(folder, 0700))
		status = sn_error_errno(err, "search: cannot make the folder '%s'", folder);

	for (size_t i = library->shipped_files; i < library->files.count && status == SN_OK; i++) {
		struct sn_text path = { 0 };

		sn_text_addf(&path, "%s/%06zu.prop", folder, i);
		status = bytes_save(path.chars, library->files.items[i]->chars,
				    library->files.items[i]->length, err);
		sn_text_free(&path);
	}
	free(folder);
	return status;
}

static sn_status options_save(const struct sn_simulation *simulation, struct sn_error *err)
{
	const struct sn_search_options *o = &simulation->search;
	char *path = sn_simulation_file(simulation, "simulate.json");
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);

	free(path);
	if (status == SN_OK) {
		struct sn_json json = { .out = writer.out };

		sn_json_object(&json);
		sn_json_member_string(&json, "schema", "sonde.simulate/1");
		sn_json_member_string(&json, "experiment", o->experiment);
		sn_json_member_string(&json, "program", o->program);
		sn_json_member_string(&json, "strategy", o->strategy);
		sn_json_member_string(&json, "start", o->start);
		sn_json_member_double(&json, "threshold", o->threshold);
		sn_json_member_string(&json, "severity", sn_severity_name(o->severity));
		sn_json_member_uint(&json, "steps", o->steps_most);
		sn_json_member_uint(&json, "fanout", simulation->fanout);
		sn_json_close(&json);
		sn_json_finish(&json);
		status = sn_file_writer_commit(&writer, err);
	}
	return status;
}

/* A path is the same one for whoever goes on from another folder. */
static char *strategy_of(const char *given)
{
	char *whole = given && strchr(given, '/') ? realpath(given, NULL) : NULL;

	return whole ? whole : given ? sn_strdup(given) : NULL;
}

static sn_status scenario_save(const struct sn_simulation *simulation, struct sn_error *err)
{
	char *path = sn_simulation_file(simulation, "scenario.json");
	char *text = json_dumps(simulation->scenario->root, JSON_INDENT(1));
	sn_status status = bytes_save(path, text, strlen(text), err);

	free(text);
	free(path);
	return status;
}

static sn_status secrets_make(struct sn_simulation *simulation, struct sn_error *err)
{
	char *agents = sn_simulation_file(simulation, "agents");
	char *secret = sn_simulation_file(simulation, "search.secret");
	char *page = sn_simulation_file(simulation, "search.places");
	sn_status status = sn_link_secret_make(secret, simulation->secret, err);

	if (status == SN_OK && mkdir(agents, 0700))
		status = sn_error_errno(err, "search: cannot make the folder '%s'", agents);
	if (status == SN_OK)
		status = sn_places_open(page, simulation->scenario->hosts, simulation->fanout,
					&simulation->places, err);
	free(agents);
	free(secret);
	free(page);
	return status;
}

/* What only agents need goes with them. */
static void secrets_remove(const struct sn_simulation *simulation)
{
	static const char *const files[] = { "search.secret", "search.places" };
	char *agents = sn_simulation_file(simulation, "agents");
	DIR *folder = opendir(agents);

	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	rmdir(agents);
	free(agents);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *path = sn_simulation_file(simulation, files[i]);

		unlink(path);
		free(path);
	}
}

/* ---- checks before anything is started ---- */

static sn_status faults_check(const struct sn_scenario *s, uint32_t fanout, struct sn_error *err)
{
	uint32_t inners = sn_places_inners(s->hosts, fanout);

	for (size_t i = 0; i < s->faults.count; i++) {
		uint32_t agent = s->faults.items[i].agent;

		if (agent >= SN_LINK_INNER && agent != SN_LINK_FRONT &&
		    agent - SN_LINK_INNER >= inners)
			return sn_error_set(
				err, SN_ERR_FORMAT,
				"scenario: '%s': faults[%zu] names inner agent %u; with "
				"%u hosts and --fanout %u there are %u, from 0 to %u",
				s->name, i, agent - SN_LINK_INNER, s->hosts, fanout, inners,
				inners - 1);
	}
	return SN_OK;
}

static void options_take(struct sn_simulation *simulation, const struct sn_search_options *options)
{
	simulation->strategy = strategy_of(options->strategy);
	simulation->start = options->start ? sn_strdup(options->start) : NULL;
	simulation->search = *options;
	simulation->search.strategy = simulation->strategy;
	simulation->search.start = simulation->start;
	simulation->search.mode = "phases";
	simulation->search.is_simulated = true;
	simulation->search.program = simulation->scenario->name;
}

/* The first host's first phase is searched at once: a strategy that cannot do so stops no agents. */
static sn_status strategy_try(const struct sn_simulation *simulation, struct sn_error *err)
{
	struct sn_recorded *recorded =
		sn_scenario_of_host(simulation->scenario, simulation->library, 0, 1);
	struct sn_search *search = NULL;
	sn_status status = recorded ? sn_search_run(recorded, simulation->library,
						    &simulation->search, &search, err)
				    : SN_OK;

	sn_search_free(search);
	sn_recorded_free(recorded);
	return status;
}

/* ---- running ---- */

static void simulation_free(struct sn_simulation *simulation)
{
	if (!simulation)
		return;
	sn_places_close(simulation->places);
	sn_scenario_free(simulation->scenario);
	sn_library_free(simulation->library);
	free(simulation->strategy);
	free(simulation->start);
	free(simulation->experiment);
	free(simulation->path);
	explicit_bzero(simulation->secret, sizeof(simulation->secret));
	free(simulation);
}

/* To the end, whoever began it. What agents need stays where the front could not finish. */
static sn_status front_work(struct sn_simulated *out, bool is_first, bool is_quiet,
			    struct sn_error *err)
{
	struct sn_simulation *simulation = out->simulation;
	struct sn_progress progress;
	sn_status status;

	signals_mind();
	atomic_store(&simulation->places->is_over,
		     0); /* a front that failed has ended its agents */
	status = sn_agents_start(simulation, is_interrupted, err);
	if (status == SN_OK && is_first)
		status = sn_faults_start(simulation, err);
	sn_progress_begin_timed(&progress, "agents search the phases",
				simulation->scenario->phases * simulation->scenario->phase_s);
	if (status == SN_OK)
		status = sn_front_run(out->front, is_interrupted, is_quiet, err);
	if (status == SN_OK && is_interrupted() && !is_quiet)
		sn_warn("search: interrupted; these are the results so far");
	if (status == SN_OK) {
		sn_front_end(out->front);
		status = sn_front_search(out->front, &out->search, err);
		sn_progress_end(&progress);
		if (status == SN_OK && out->search->is_partial && !is_interrupted() && !is_quiet)
			sn_warn("search: results of some agents have not come; the result is of "
				"what is there");
		secrets_remove(simulation);
	} else {
		sn_agents_end(simulation);
	}
	sn_progress_end(&progress);
	return status;
}

static void experiment_name(struct sn_simulation *simulation)
{
	simulation->experiment = sn_strdup(sn_base_name(simulation->path));
	simulation->search.experiment = simulation->experiment;
}

static sn_status folder_fill(struct sn_simulation *simulation, struct sn_error *err)
{
	sn_status status = scenario_save(simulation, err);

	if (status == SN_OK)
		status = properties_save(simulation, err);
	if (status == SN_OK)
		status = secrets_make(simulation, err);
	return status == SN_OK ? options_save(simulation, err) : status;
}

/* Nothing has begun: there is nothing to go on with. */
static void folder_remove(const struct sn_simulation *simulation)
{
	static const char *const files[] = { "scenario.json", "simulate.json" };

	secrets_remove(simulation);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char *path = sn_simulation_file(simulation, files[i]);

		unlink(path);
		free(path);
	}
	rmdir(simulation->path); /* stays if it has files of properties */
}

sn_status sn_simulate_run(const struct sn_simulate_options *options, struct sn_simulated *out,
			  struct sn_error *err)
{
	struct sn_simulation *simulation = sn_alloc_zeroed(1, sizeof(*simulation));
	sn_status status;

	*out = (struct sn_simulated){ .simulation = simulation };
	simulation->library = options->library;
	simulation->fanout = options->fanout;
	status = sn_scenario_read(options->scenario, options->library, &simulation->scenario, err);
	if (status == SN_OK)
		status = faults_check(simulation->scenario, options->fanout, err);
	if (status == SN_OK)
		status = sn_search_check(options->library, &options->search, err);
	if (status == SN_OK)
		status = sn_link_check(err);
	if (status != SN_OK)
		return status;
	options_take(simulation, &options->search);
	status = strategy_try(simulation, err);
	if (status != SN_OK)
		return status;
	status = folder_make(options->output, &simulation->path, err);
	if (status != SN_OK)
		return status;
	experiment_name(simulation);
	status = folder_fill(simulation, err);
	if (status == SN_OK)
		status = sn_front_open(simulation, &out->front, err);
	else
		folder_remove(simulation);
	return status == SN_OK ? front_work(out, true, options->is_quiet, err) : status;
}

/* ---- going on ---- */

static sn_status options_load(struct sn_simulation *simulation, struct sn_error *err)
{
	char *path = sn_simulation_file(simulation, "simulate.json");
	json_error_t fault;
	json_t *root = json_load_file(path, 0, &fault);
	long long fanout = json_integer_value(json_object_get(root, "fanout"));
	const char *severity = json_string_value(json_object_get(root, "severity"));
	const struct sn_search_options options = {
		.severity = severity && !strcmp(severity, sn_severity_name(SN_SEVERITY_RATE))
				    ? SN_SEVERITY_RATE
				    : SN_SEVERITY_LOST,
		.strategy = json_string_value(json_object_get(root, "strategy")),
		.start = json_string_value(json_object_get(root, "start")),
		.threshold = json_number_value(json_object_get(root, "threshold")),
		.steps_most = (uint32_t)json_integer_value(json_object_get(root, "steps")),
	};
	sn_status status = SN_OK;

	if (!root || fanout < 2 || fanout > SN_FANOUT_MOST)
		status = sn_error_set(
			err, SN_ERR_FORMAT,
			"search: '%s' is damaged, or no folder of 'sonde search simulate'", path);
	else {
		const char *program = json_string_value(json_object_get(root, "program"));

		free(simulation->scenario->name);
		simulation->scenario->name = sn_strdup(program ? program : "scenario");
		options_take(simulation, &options);
		simulation->fanout = (uint32_t)fanout;
	}
	json_decref(root);
	free(path);
	return status;
}

static sn_status folder_load(struct sn_simulation *simulation, struct sn_error *err)
{
	char *properties = sn_simulation_file(simulation, "properties");
	char *scenario = sn_simulation_file(simulation, "scenario.json");
	sn_status status = SN_OK;

	if (!access(properties, F_OK))
		status = sn_library_add(simulation->library, properties, err);

	if (status == SN_OK) {
		sn_library_settle(simulation->library);
		status =
			sn_scenario_read(scenario, simulation->library, &simulation->scenario, err);
	}
	free(properties);
	free(scenario);
	return status == SN_OK ? options_load(simulation, err) : status;
}

/* The page of a simulation that has ended is made anew, for a front that only reads. */
static sn_status secrets_load(struct sn_simulation *simulation, bool *has_ended,
			      struct sn_error *err)
{
	char *secret = sn_simulation_file(simulation, "search.secret");
	char *page = sn_simulation_file(simulation, "search.places");
	char *journal = sn_simulation_file(simulation, "search.journal");
	sn_status status;

	*has_ended = access(secret, F_OK) != 0;
	if (*has_ended && access(journal, F_OK))
		status = sn_error_set(err, SN_ERR_NOT_FOUND,
				      "search: '%s' is not there: nothing is left of this search",
				      journal);
	else if (!*has_ended) {
		status = sn_link_secret_read(secret, simulation->secret, err);
		if (status == SN_OK)
			status = sn_places_open(page, 0, 0, &simulation->places, err);
	} else {
		status = sn_places_open(page, simulation->scenario->hosts, simulation->fanout,
					&simulation->places, err);
		unlink(page);
	}
	if (status == SN_OK && simulation->places->nodes != simulation->scenario->hosts)
		status = sn_error_set(err, SN_ERR_FORMAT,
				      "search: '%s' is not of this scenario; its folder is damaged",
				      page);
	free(journal);
	free(secret);
	free(page);
	return status;
}

sn_status sn_simulate_resume(const char *path, bool is_quiet, struct sn_simulated *out,
			     struct sn_error *err)
{
	struct sn_simulation *simulation = sn_alloc_zeroed(1, sizeof(*simulation));
	bool has_ended = false;
	sn_status status;

	*out = (struct sn_simulated){ .simulation = simulation };
	simulation->path = realpath(path, NULL);
	if (!simulation->path || !is_folder(simulation->path))
		return sn_error_set(
			err, SN_ERR_NOT_FOUND,
			simulation->path
				? "search: '%s' is no folder of 'sonde search simulate', nor of a search with "
				  "--phase, that could be gone on with"
				: "search: there is no folder '%s' of a search that could be gone on with",
			path);
	simulation->library = sn_library_new();
	status = folder_load(simulation, err);
	if (status == SN_OK)
		status = sn_link_check(err);
	if (status == SN_OK)
		status = secrets_load(simulation, &has_ended, err);
	if (status != SN_OK)
		return status;
	experiment_name(simulation);
	status = sn_front_open(simulation, &out->front, err);
	if (status == SN_OK && !has_ended)
		return front_work(out, false, is_quiet, err);
	if (status == SN_OK)
		status = sn_front_search(out->front, &out->search, err);
	if (status == SN_OK && out->search->is_partial)
		sn_warn("search: the journal in '%s' lacks results, and the agents that had them have "
			"ended; the result is of what is there",
			path);
	return status;
}

void sn_simulated_free(struct sn_simulated *out)
{
	struct sn_recorded *recorded = out->search ? out->search->recorded : NULL;

	sn_search_free(out->search);
	sn_recorded_free(recorded);
	sn_front_free(out->front);
	simulation_free(out->simulation);
	*out = (struct sn_simulated){ 0 };
}
