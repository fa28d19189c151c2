/*
 * The front of a search with an agent on each host. The launcher of the program starts recordings, the first on a
 * host starts (or a launcher of agents is asked for) its agent. The front says which executions all measure, takes
 * windows into its journal, and evaluates the whole experiment at the end, as a search with one agent does.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "experiment/store.h"
#include "search/link/uplink.h"
#include "search/online/hosts_parts.h"
#include "search/online/tree.h"

enum { WAIT_MS = 10, DRAIN_MOST = 1000 };
/* How long a word to all hosts may take, at first; for as long executions pass that are not measured. Twice as long
 * after each step that came too late somewhere. */
static const double lead_first_s = 0.2, lead_most_s = 3;
static const double silence_s = 2; /* then it is said */
static const double join_s = 10;   /* the first step begins without those that have not joined */
static const double late_s =
	10; /* a step is over without those that are so much later than the first */
static const double end_s = 10; /* agents that have not ended by then are lost */
static const double launcher_end_s = 3;
static const double scan_s = 0.1, again_s = 0.5;

/* ---- signals: the program has them too, and the front waits for it ---- */

static volatile sig_atomic_t signal_passed; /* one that was sent to this process alone */

static void signal_come(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0)
		signal_passed = number;
}

static void signals_mind(void)
{
	struct sigaction action = { .sa_sigaction = signal_come,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sigaction(all[i], &action, NULL);
}

/* ---- words to hosts ---- */

/* To SN_LINK_FRONT: to all, also to those that only pass words on. */
static void frame_send(struct sn_hosts *h, uint16_t type, uint32_t agent, uint32_t epoch,
		       uint64_t ack, const struct sn_text *body)
{
	const struct sn_link_frame frame = { .type = type,
					     .agent = agent,
					     .epoch = epoch,
					     .ack = ack,
					     .body = (const uint8_t *)body->chars,
					     .length = (uint32_t)body->length };

	sn_downlink_queue(&h->down, &frame, sn_agent_now_ns());
}

/* What came again is acknowledged again: the word before may have been lost. */
static void acks_send(struct sn_hosts *h)
{
	const struct sn_text none = { 0 };

	for (uint32_t i = 0; i < h->nodes.count; i++) {
		struct host_node *n = &h->nodes.items[i];

		for (uint32_t epoch = 1; n->is_to_be_told && epoch <= n->epoch; epoch++) {
			uint64_t through = sn_journal_through(&h->journal, i, epoch);

			if (through)
				frame_send(h, SN_LINK_ACK, i, epoch, through, &none);
		}
		n->is_to_be_told = false;
	}
}

/* ---- words from hosts ---- */

static void window_keep(struct sn_hosts *h, uint32_t node, struct sn_told *told)
{
	sn_vec_push(&h->windows, (struct host_window){ told->step, node, told->window });
	told->window = (struct sn_mri_window){ 0 };
}

void sn_hosts_result_take(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct host_node *n = &h->nodes.items[frame->agent];
	struct sn_told told;

	if (sn_told_read(frame->body, frame->length, &told)) {
		if (told.kind == SN_TOLD_WINDOW)
			window_keep(h, frame->agent, &told);
		h->is_late |= told.kind == SN_TOLD_NONE && told.step == h->step && !n->is_deaf;
		if (told.kind != SN_TOLD_END && told.step > n->answered)
			n->answered = told.step;
		if (told.kind == SN_TOLD_END) {
			n->has_ended = true;
			n->is_found |= told.is_found;
			n->is_deaf |= told.is_deaf;
			n->refused = told.refused;
			n->executions = told.executions;
		}
		for (size_t i = 0; i < told.epochs.count; i++)
			sn_journal_expect(&h->journal, frame->agent, told.epochs.items[i].epoch,
					  told.epochs.items[i].count);
	}
	sn_told_free(&told);
}

static void welcome(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct sn_text body = { 0 };

	sn_body_u16(&body, SN_LINK_VERSION);
	sn_body_u64(&body, 0);
	frame_send(h, SN_LINK_WELCOME, frame->agent, frame->epoch, 0, &body);
	sn_text_free(&body);
}

static void hello_take(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct host_node *n = &h->nodes.items[frame->agent];

	if (n->is_joined && frame->epoch > n->epoch) {
		h->restarted += frame->epoch - n->epoch;
		if (!h->options->is_quiet)
			sn_warn("the agent of %s died and was started again", n->name);
	} else if (!n->is_joined && frame->epoch > 1) {
		h->restarted += frame->epoch - 1;
	}
	n->is_joined = true;
	if (frame->epoch > n->epoch)
		n->epoch = frame->epoch;
	n->is_to_be_told = true;
	welcome(h, frame);
}

static void inner_hello_take(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	uint64_t *epoch = sn_map_put(&h->inners, frame->agent, NULL);

	if (frame->epoch > *epoch) {
		h->restarted += frame->epoch - (*epoch ? (uint32_t)*epoch : 1);
		*epoch = frame->epoch;
	}
	welcome(h, frame);
}

/* Strangers at an inner agent, in one of its lives. */
static void note_take(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	uint64_t refused = sn_cursor_u64(&cur);
	uint64_t *kept = sn_map_put(&h->refused, (uint64_t)frame->agent << 32 | frame->epoch, NULL);

	if (refused > *kept)
		*kept = refused;
}

static void at_take(struct host_node *n, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	uint32_t ended = sn_cursor_u32(&cur);
	double mean_s = sn_body_read_double(&cur);
	uint32_t answered = sn_cursor_u32(&cur), wants = sn_cursor_u32(&cur);

	n->ended = ended;
	n->mean_s = mean_s >= 0 && mean_s < 1e9 ? mean_s : 0;
	if (answered > n->answered)
		n->answered = answered;
	n->wants = wants != 0;
	n->is_found |= sn_cursor_u32(&cur) != 0;
	sn_body_read_string(&cur); /* its name */
	n->traces = sn_cursor_u32(&cur);
	n->is_deaf |= sn_cursor_u32(&cur) != 0;
}

static void say_take(const struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct sn_cursor cur = sn_cursor_over(frame->body, frame->length);
	const char *name = sn_body_read_string(&cur), *sentence = sn_body_read_string(&cur);
	struct sn_text text = { 0 };

	if (!name || !sentence || h->options->is_quiet)
		return;
	sn_text_add_printable(&text, sentence, strlen(sentence));
	sn_warn("%s: %s", h->nodes.items[frame->agent].name, text.chars);
	sn_text_free(&text);
}

static void node_frame_take(struct sn_hosts *h, const struct sn_link_frame *frame)
{
	struct host_node *n = &h->nodes.items[frame->agent];

	if (frame->epoch < n->epoch && frame->type != SN_LINK_RESULT)
		return;
	n->heard_ns = sn_agent_now_ns();
	if (n->is_silent && !h->options->is_quiet)
		sn_warn("the agent of %s is heard again", n->name);
	n->is_silent = false;
	if (frame->type == SN_LINK_HELLO)
		hello_take(h, frame);
	else if (frame->type == SN_LINK_AT)
		at_take(n, frame);
	else if (frame->type == SN_LINK_SAY)
		say_take(h, frame);
	else if (frame->type == SN_LINK_RESULT && !h->is_full) {
		n->is_to_be_told = true;
		if (sn_journal_take(&h->journal, frame))
			sn_hosts_result_take(h, frame);
	}
}

/* An agent's own words tell that it is there; those that pass them on may name it for longer. */
static void frame_take(struct sn_hosts *h, size_t peer, const struct sn_link_frame *frame)
{
	if (frame->type == SN_LINK_BEAT) {
		sn_downlink_beat(&h->down, peer, frame, 0);
	} else {
		sn_downlink_route(&h->down, frame->agent, peer);
		if (frame->agent < h->nodes.count)
			node_frame_take(h, frame);
		else if (frame->agent >= SN_LINK_INNER && frame->type == SN_LINK_HELLO)
			inner_hello_take(h, frame);
		else if (frame->agent >= SN_LINK_INNER && frame->type == SN_LINK_NOTE)
			note_take(h, frame);
	}
}

static void messages_take(struct sn_hosts *h)
{
	struct sn_link_message message;
	int timeout_ms = WAIT_MS;

	for (int i = 0; i < DRAIN_MOST && sn_link_receive(h->link, timeout_ms, &message); i++) {
		struct sn_cursor cur = sn_cursor_over(message.bytes, message.length);
		size_t peer = sn_downlink_heard(&h->down, &message.peer, sn_agent_now_ns());
		struct sn_link_frame frame;

		while (sn_cursor_left(&cur) && sn_link_frame_read(&cur, &frame) == SN_OK)
			frame_take(h, peer, &frame);
		timeout_ms = 0;
	}
}

/* Acknowledged is what is on disk; without room the search is over, and the program runs on. */
static void journal_sync(struct sn_hosts *h)
{
	struct sn_error err;

	if (h->is_full)
		return;
	if (!h->journal.waiting.length || sn_journal_sync(&h->journal, &err) == SN_OK) {
		acks_send(h);
		return;
	}
	h->is_full = true;
	sn_warn("%s; the program runs on unmeasured, and the result is of what was measured before",
		err.sentence);
}

/* Hosts that recordings have entered since. */
static void nodes_scan(struct sn_hosts *h)
{
	char name[SN_NODE_NAME];

	if (sn_now_s() - h->scanned_s < scan_s)
		return;
	h->scanned_s = sn_now_s();
	while (sn_node_of_number(h->path, (uint32_t)h->nodes.count, name)) {
		struct host_node n = { .heard_ns = sn_agent_now_ns() };

		memcpy(n.name, name, sizeof(name));
		sn_vec_push(&h->nodes, n);
		h->entered_s = sn_now_s();
		if (sn_hosts_has_launcher(h))
			sn_hosts_agent_launch(h, name);
	}
}

/* ---- steps ---- */

static bool takes_part(const struct host_node *n)
{
	return n->is_joined && !n->is_silent && !n->has_ended && !n->is_deaf;
}

static double mean_of(const struct sn_hosts *h)
{
	double mean_s = 0;

	for (size_t i = 0; i < h->nodes.count; i++)
		mean_s = fmax(mean_s, h->nodes.items[i].mean_s);
	return mean_s;
}

bool sn_hosts_has_come(const struct sn_hosts *h, const char *name)
{
	for (size_t i = 0; i < h->nodes.count; i++)
		if (sn_host_is(h->nodes.items[i].name, name))
			return true;
	return false;
}

static bool have_all_joined(const struct sn_hosts *h)
{
	for (size_t i = 0; i < h->awaited.count; i++)
		if (!sn_hosts_has_come(h, h->awaited.items[i]))
			return false;
	for (size_t i = 0; i < h->nodes.count; i++)
		if (!h->nodes.items[i].is_joined)
			return false;
	return h->nodes.count > 0;
}

static bool is_wanted(const struct sn_hosts *h)
{
	bool wants = false, passes = false;

	for (size_t i = 0; i < h->nodes.count; i++) {
		const struct host_node *n = &h->nodes.items[i];

		wants |= takes_part(n) && n->wants;
		passes |= takes_part(n) && n->ended > 0;
	}
	return wants && passes;
}

/* Half a second of executions, from one on that none has begun by when all have been told. Those of the step before may have
 * come faster than the mean was. */
static void step_begin(struct sn_hosts *h)
{
	const uint32_t lacking = sn_hosts_step_lacks(h, h->step);
	double mean_s = mean_of(h);
	uint32_t most = 0;

	for (size_t i = 0; i < h->nodes.count; i++)
		if (takes_part(&h->nodes.items[i]) && h->nodes.items[i].ended > most)
			most = h->nodes.items[i].ended;
	if (h->is_late)
		h->lead_s = fmin(2 * h->lead_s, lead_most_s);
	h->is_late = false;
	h->step++;
	h->executions = sn_executions_wanted(mean_s);
	if (h->executions < lacking)
		h->executions = lacking;
	/* on all hosts alike: what one has seen is to be compared */
	h->traces = 0;
	for (size_t i = 0; i < h->nodes.count; i++)
		h->traces |= takes_part(&h->nodes.items[i]) ? h->nodes.items[i].traces : 0;
	/* how far they are was told up to a beat ago */
	h->first = most + 2 + (mean_s > 0 ? (uint32_t)fmin(1e9, ceil(h->lead_s / mean_s)) : 0);
	h->is_step_open = true;
	h->asked_s = sn_now_s();
	h->sent_s = h->answered_s = 0;
}

static void step_send(struct sn_hosts *h)
{
	struct sn_text body = { 0 };

	if (!h->is_step_open || sn_now_s() - h->sent_s < again_s)
		return;
	h->sent_s = sn_now_s();
	sn_body_u32(&body, h->step);
	sn_body_u32(&body, h->first);
	sn_body_u32(&body, h->executions);
	sn_body_u64(&body, (uint64_t)sn_suspend_ns(h->options->suspend));
	sn_body_u32(&body, h->traces); /* an older agent does not look for it */
	frame_send(h, SN_LINK_MEASURE, SN_LINK_FRONT, 0, 0, &body);
	sn_text_free(&body);
}

/* All that are heard have answered; those that are far behind the first are not waited for. */
static bool is_answered(struct sn_hosts *h)
{
	bool is_open = false, has_answer = false;

	for (size_t i = 0; i < h->nodes.count; i++) {
		const struct host_node *n = &h->nodes.items[i];

		has_answer |= n->answered >= h->step;
		is_open |= takes_part(n) && n->answered < h->step;
	}
	if (has_answer && h->answered_s <= 0)
		h->answered_s = sn_now_s();
	return !is_open || (has_answer && sn_now_s() - h->answered_s > late_s);
}

static bool is_time_over(const struct sn_hosts *h)
{
	return h->options->max_time_s > 0 && sn_now_s() - h->began_s > h->options->max_time_s;
}

static void steps_go(struct sn_hosts *h)
{
	if (h->is_full)
		return;
	if (h->is_step_open && is_answered(h))
		h->is_step_open = false;
	if (!h->is_step_open && is_wanted(h) && !is_time_over(h) &&
	    (have_all_joined(h) || sn_now_s() - h->entered_s > join_s))
		step_begin(h);
	step_send(h);
}

/* ---- who is there ---- */

static void silence_look(struct sn_hosts *h)
{
	int64_t now_ns = sn_agent_now_ns();

	for (size_t i = 0; i < h->nodes.count; i++) {
		struct host_node *n = &h->nodes.items[i];
		double since_s = (double)(now_ns - n->heard_ns) / 1e9;

		if (!n->is_joined || n->is_silent || n->has_ended || since_s < silence_s)
			continue;
		n->is_silent = true;
		if (!h->options->is_quiet)
			sn_warn("nothing was heard of the agent of %s for %.1f s: it is dead, "
				"frozen or cut off; the program runs on, and the search without it",
				n->name, since_s);
	}
}

static void children_look(struct sn_hosts *h)
{
	int status;

	if (signal_passed && h->child > 0) {
		kill(h->child, signal_passed);
		signal_passed = 0;
	}
	for (size_t i = 0; i < h->launchers.count; i++)
		if (h->launchers.items[i] > 0 &&
		    waitpid(h->launchers.items[i], &status, WNOHANG) == h->launchers.items[i])
			h->launchers.items[i] = 0;
	if (!h->has_child_ended && waitpid(h->child, &status, WNOHANG) == h->child) {
		h->has_child_ended = true;
		h->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
}

static void turn(struct sn_hosts *h)
{
	messages_take(h);
	journal_sync(h);
	sn_downlink_flush(&h->down, h->link);
	nodes_scan(h);
	silence_look(h);
	children_look(h);
}

static bool have_all_ended(const struct sn_hosts *h)
{
	for (size_t i = 0; i < h->nodes.count; i++)
		if (h->nodes.items[i].is_joined && !h->nodes.items[i].has_ended)
			return false;
	return !sn_journal_gaps(&h->journal); /* what went by a dead agent comes again */
}

static void tree_say(const struct sn_hosts *h)
{
	size_t direct = 0;

	for (uint32_t i = 0; i < h->nodes.count; i++)
		direct += sn_tree_parent(h->options->fanout, i) == SN_LINK_FRONT;
	if (h->inners.count && !h->options->is_quiet)
		sn_warn("%zu hosts took part: %zu talked to the front, the others to %zu inner "
			"agent%s",
			h->nodes.count, direct, h->inners.count, h->inners.count == 1 ? "" : "s");
}

/* Whoever passes words on stays until all have told what they have. */
static void end_send(struct sn_hosts *h, bool is_for_all)
{
	struct sn_text body = { 0 };

	sn_body_u32(&body, !is_for_all);
	frame_send(h, SN_LINK_END, SN_LINK_FRONT, 0, 0, &body);
	sn_text_free(&body);
}

static bool has_launchers(const struct sn_hosts *h)
{
	for (size_t i = 0; i < h->launchers.count; i++)
		if (h->launchers.items[i] > 0)
			return true;
	return false;
}

/* Agents that were told to end do so, and with them what started them; a launcher that is killed complains. */
static void launchers_end(struct sn_hosts *h)
{
	double begin_s = sn_now_s();

	while (has_launchers(h) && sn_now_s() - begin_s < launcher_end_s)
		turn(h);
	for (size_t i = 0; i < h->launchers.count; i++)
		if (h->launchers.items[i] > 0)
			kill(h->launchers.items[i], SIGTERM);
}

/* The program has ended: agents tell what they have yet. Those that are silent are waited for a little. */
static void agents_end(struct sn_hosts *h)
{
	double begin_s = sn_now_s(), sent_s = 0;

	while (!have_all_ended(h) && sn_now_s() - begin_s < end_s && !h->is_full) {
		if (sn_now_s() - sent_s > again_s / 5) {
			sent_s = sn_now_s();
			end_send(h, false);
		}
		turn(h);
	}
	tree_say(h);
	end_send(h, true);
	sn_downlink_flush(&h->down, h->link);
	launchers_end(h);
}

static sn_status folder_make(struct sn_hosts *h, struct sn_error *err)
{
	struct sn_text path = { 0 }, key = { 0 };
	bool is_joined;
	char *secret, *nodes, *journal;
	sn_status status;

	sn_text_addf(&key, "search:%d.%lld", (int)getpid(), (long long)sn_agent_now_ns());
	status = sn_store_create(h->options->record.output, h->options->program, key.chars, &path,
				 &is_joined, err);
	sn_text_free(&key);
	if (status == SN_OK)
		h->path = realpath(path.chars, NULL);
	sn_text_free(&path);
	if (status != SN_OK || !h->path)
		return status != SN_OK ? status : sn_error_errno(err, "search: no folder");
	secret = sn_nodes_file(h->path, "search.secret");
	nodes = sn_nodes_file(h->path, "search.nodes");
	journal = sn_nodes_file(h->path, "search.journal");
	sn_nodes_sweeper_start(h->path, &h->sweeper);
	status = sn_link_secret_make(secret, h->secret, err);
	if (status == SN_OK && mkdir(nodes, 0700))
		status = sn_error_errno(err, "search: cannot make the folder '%s'", nodes);
	if (status == SN_OK)
		status = sn_journal_open(journal, &h->journal, NULL, NULL, err);
	h->has_journal = status == SN_OK;
	if (status == SN_OK)
		status = sn_online_words_write(h->path, h->options, err);
	free(secret);
	free(nodes);
	free(journal);
	return status;
}

static sn_status link_open(struct sn_hosts *h, struct sn_error *err)
{
	const bool is_local = !strcmp(h->options->agents, "local");
	char address[SN_LINK_ADDRESS] = "tcp://0.0.0.0:*";
	sn_status status;

	if (is_local)
		snprintf(address, sizeof(address), "tcp://127.0.0.1:*");
	status = sn_link_open(h->secret, NULL, NULL, &h->link, err);
	if (status == SN_OK)
		status = sn_link_listen(h->link, address, err);
	return status == SN_OK
		       ? sn_agent_address_write(h->path, SN_LINK_FRONT, address, is_local, err)
		       : status;
}

/* ---- all ---- */

static void run(struct sn_hosts *h)
{
	struct sn_progress progress;
	struct sn_text words = { 0 };

	sn_online_phases_begin(&progress, &words, &h->phase);
	h->began_s = sn_now_s();
	h->lead_s = lead_first_s;
	while (!h->has_child_ended) {
		turn(h);
		steps_go(h);
	}
	agents_end(h);
	sn_progress_end(&progress);
	sn_text_free(&words);
}

sn_status sn_online_hosts(const struct sn_online_options *options, struct sn_online *out,
			  struct sn_error *err)
{
	struct sn_hosts *h = sn_alloc_zeroed(1, sizeof(*h));
	sn_status status = sn_search_check(options->library, &options->search, err);

	*out = (struct sn_online){ .exit_code = SN_EXIT_USAGE, .hosts = h };
	h->own = *options;
	h->options = &h->own;
	if (status == SN_OK)
		status = sn_phase_find(options->program, options->phase, &h->phase, err);
	if (status != SN_OK && h->phase.exit_code)
		out->exit_code = h->phase.exit_code;
	if (status == SN_OK && options->hosts)
		status = sn_host_list_read(options->hosts, &h->awaited, err);
	if (status == SN_OK)
		status = sn_link_check(err);
	if (status != SN_OK)
		return status;
	out->exit_code = SN_EXIT_NOT_MEASURED;
	if (options->phase_restarts && !options->is_quiet)
		sn_warn("with --agents no start follows in which hot loops run as copies, or "
			"the processor counts (--restarts): 'sonde trace --launcher COMMAND -- "
			"PROGRAM' and 'sonde search -e' of that run tell of caches");
	status = folder_make(h, err);
	if (status == SN_OK)
		status = link_open(h, err);
	signals_mind();
	if (status == SN_OK)
		status = sn_hosts_program_start(h, err);
	if (status == SN_OK) {
		run(h);
		out->exit_code = h->exit_code;
		out->has_run = true;
		sn_online_death_tell(options, h->exit_code);
		status = sn_hosts_result(h, out, err);
		sn_text_add(&out->path, h->path);
	}
	if (h->path) {
		sn_nodes_remove(h->path);
		sn_nodes_sweeper_end(&h->sweeper);
	}
	return status;
}

void sn_hosts_free(struct sn_hosts *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->windows.count; i++)
		sn_mri_window_free(&h->windows.items[i].window);
	sn_vec_free(&h->windows);
	sn_vec_free(&h->nodes);
	sn_vec_free_owned(&h->awaited);
	sn_vec_free(&h->launchers);
	sn_downlink_free(&h->down);
	sn_map_free(&h->inners);
	sn_map_free(&h->refused);
	sn_link_close(h->link);
	if (h->has_journal)
		sn_journal_close(&h->journal);
	sn_phase_free(&h->phase);
	explicit_bzero(h->secret, sizeof(h->secret));
	free(h->path);
	free(h);
}
