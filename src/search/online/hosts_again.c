/*
 * A search of several hosts whose front was killed: what its journal has and what is left in the spools of its agents
 * gives the result that it would have printed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "search/online/hosts_parts.h"

/* ---- what is left ---- */

static void nodes_find(struct sn_hosts *h)
{
	char name[SN_NODE_NAME];

	while (sn_node_of_number(h->path, (uint32_t)h->nodes.count, name)) {
		struct host_node n = { .epoch = 1 };

		memcpy(n.name, name, sizeof(name));
		sn_vec_push(&h->nodes, n);
	}
}

static void frame_see(const struct sn_link_frame *frame, void *context)
{
	struct sn_hosts *h = context;

	if (frame->type != SN_LINK_RESULT || frame->agent >= SN_NODES_MOST)
		return;
	while (h->nodes.count <= frame->agent) { /* their folder has gone */
		struct host_node n = { .epoch = 1 };

		snprintf(n.name, sizeof(n.name), "host %zu", h->nodes.count);
		sn_vec_push(&h->nodes, n);
	}
	sn_hosts_result_take(h, frame);
}

static void spool_read(struct sn_hosts *h, uint32_t number)
{
	struct sn_text path = { 0 };
	struct sn_outbox spool = { 0 };
	struct sn_file_view view;
	struct sn_error err;

	sn_text_addf(&path, "%s/search.nodes/spool.%u", h->path, number);
	if (!access(path.chars, F_OK) && sn_file_map(path.chars, &view, &err) == SN_OK) {
		sn_outbox_read_memory(view.bytes, view.length, &spool);
		sn_file_unmap(&view);
	}
	for (size_t i = 0; i < spool.frames.count; i++) {
		const struct sn_outbox_frame *f = &spool.frames.items[i];
		struct sn_cursor cur = sn_cursor_over(spool.bytes.chars + f->at, f->length);
		struct sn_link_frame frame;

		if (sn_link_frame_read(&cur, &frame) == SN_OK && frame.agent == number &&
		    sn_journal_take(&h->journal, &frame))
			frame_see(&frame, h);
	}
	sn_outbox_close(&spool);
	sn_text_free(&path);
}

static sn_status all_read(struct sn_hosts *h, struct sn_error *err)
{
	char *path = sn_nodes_file(h->path, "search.journal");
	sn_status status = sn_journal_open(path, &h->journal, frame_see, h, err);

	free(path);
	h->has_journal = status == SN_OK;
	for (uint32_t i = 0; status == SN_OK && i < h->nodes.count; i++)
		spool_read(h, i);
	if (status == SN_OK && h->journal.waiting.length)
		status = sn_journal_sync(&h->journal, err);
	for (size_t i = 0; i < h->windows.count; i++)
		if (h->windows.items[i].step > h->step)
			h->step = h->windows.items[i].step;
	return status;
}

static bool have_all_ended(const struct sn_hosts *h)
{
	for (size_t i = 0; i < h->nodes.count; i++)
		if (!h->nodes.items[i].has_ended)
			return false;
	return true;
}

/* A host of which nothing came, and one that has told its end: its agent was there. */
static void who_was_there(struct sn_hosts *h)
{
	for (size_t i = 0; i < h->nodes.count; i++) {
		struct host_node *n = &h->nodes.items[i];

		n->is_joined |= n->has_ended;
		h->restarted += n->epoch - 1;
	}
	for (size_t i = 0; i < h->windows.count; i++)
		h->nodes.items[h->windows.items[i].node].is_joined = true;
}

sn_status sn_hosts_again(const struct sn_online_options *options, const char *folder,
			 struct sn_online *out, struct sn_error *err)
{
	struct sn_hosts *h = sn_alloc_zeroed(1, sizeof(*h));
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .exit_code = SN_EXIT_USAGE, .hosts = h };
	h->own = *options;
	h->options = &h->own;
	h->exit_code = -1; /* nobody has waited for the program */
	h->path = sn_strdup(folder);
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &h->phase, err);
	nodes_find(h);
	if (status == SN_OK)
		status = all_read(h, err);
	if (status != SN_OK)
		return status;
	who_was_there(h);
	sn_text_add(&out->path, h->path);
	status = sn_hosts_result(h, out, err);
	if (have_all_ended(h))
		sn_nodes_remove(h->path);
	else if (!options->is_quiet)
		sn_warn("where the program still runs, agents have told no end; they do so some "
			"seconds after it, and this command then has the rest");
	return status;
}
