/* What hosts of a search run: recordings that take part in it, and their agents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/detach.h"
#include "base/file.h"
#include "search/online/nodes.h"
#include "search/online/parts.h"
#include "search/online/traced.h"

/* A launcher may have to start the agent. */
static const double page_wait_s = 20;

struct joining {
	const struct sn_online_options *options;
	struct sn_agent_options agent;
	struct sn_phase phase;
	char name[SN_NODE_NAME], host[256];
	bool starts_agents;
	bool has_agents; /* else a recording alone */
};

static void prepared(void *context, const char *live_folder, const char *experiment_path)
{
	struct joining *j = context;
	bool is_first = false;
	struct sn_error err;
	sn_status status = sn_node_enter(experiment_path, j->name, live_folder, &is_first, &err);

	if (status == SN_OK && is_first && j->starts_agents)
		status = sn_agent_start(&j->agent, &err);
	if (status == SN_OK)
		status = sn_agent_wait(live_folder, j->host, page_wait_s, &err);
	if (status != SN_OK)
		sn_error_print(&err);
}

static int program_run(struct joining *j, const char *folder)
{
	struct sn_record_options record = j->options->record;
	struct sn_record_result result = { 0 };
	struct sn_text key = { 0 };
	char *path = sn_nodes_file(folder, "launch-key");
	struct sn_file_view view;
	struct sn_error err;
	sn_status status = sn_file_map(path, &view, &err);

	free(path);
	if (status == SN_OK) {
		if (view.length)
			sn_text_add_bytes(&key, (const char *)view.bytes, view.length - 1);
		sn_file_unmap(&view);
		record.output = folder;
		record.key = key.chars;
		if (j->has_agents) {
			record.is_monitored = true;
			(void)sn_phase_plan(&j->phase);
			sn_phase_watch(&j->phase, &record);
			sn_traced_add(j->options->program, &record);
			sn_traced_add_switched(&record, j->options->budget);
			record.prepared = prepared;
			record.context = j;
		}
		result.exit_code = SN_EXIT_NOT_MEASURED;
		status = sn_record_run(&record, &result, &err);
	}
	if (status == SN_OK)
		sn_record_extracts(result.experiment_path.chars, &record);
	else
		sn_error_print(&err);
	sn_text_free(&result.experiment_path);
	sn_text_free(&key);
	return status == SN_OK || result.exit_code ? result.exit_code : SN_EXIT_NOT_MEASURED;
}

int sn_online_join(const struct sn_online_options *options, const char *folder)
{
	struct joining j = { .options = options };
	const bool is_agent = options->agents && !strcmp(options->agents, "alone");
	const bool is_recording = options->agents && !strcmp(options->agents, SN_JOIN_RECORD);
	struct sn_error err;
	int code = SN_EXIT_OK;
	bool is_local;

	sn_node_name(j.name);
	gethostname(j.host, 64); /* as the runtime has it */
	is_local = options->agents && !strcmp(options->agents, "local");
	j.starts_agents = is_local || (options->agents && !strcmp(options->agents, "auto"));
	j.agent = (struct sn_agent_options){ .online = options,
					     .phase = &j.phase,
					     .experiment_path = folder,
					     .host = j.host,
					     .node_name = j.name,
					     .is_local = is_local };
	j.has_agents = !is_recording;
	if (!is_recording &&
	    sn_phase_find(options->program, options->phase, &j.phase, &err) != SN_OK)
		code = sn_error_print(&err);
	else if (is_agent)
		sn_agent_guard(&j.agent);
	else
		code = program_run(&j, folder);
	sn_phase_free(&j.phase);
	return code;
}
