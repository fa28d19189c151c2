/* What hosts have measured, evaluated as what one agent has. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "search/online/hosts_parts.h"
#include "search/online/traced.h"

uint32_t sn_hosts_step_lacks(const struct sn_hosts *h, uint32_t step)
{
	uint32_t least = 0;

	for (size_t i = 0; i < h->windows.count; i++) {
		const struct host_window *w = &h->windows.items[i];
		uint32_t lacking;

		if (w->step != step || !w->window.executions)
			continue;
		lacking = sn_executions_lacking(&w->window);
		if (!lacking)
			return 0;
		least = !least || lacking < least ? lacking : least;
	}
	return least;
}

/* Whether a host has a window of a step, with these traces at least and more than these executions. */
static bool has_better(const struct sn_hosts *h, const struct host_window *than, uint32_t step)
{
	for (size_t i = 0; i < h->windows.count; i++) {
		const struct host_window *w = &h->windows.items[i];

		if (w->step == step && w->node == than->node &&
		    w->window.executions > than->window.executions &&
		    (w->window.traces & than->window.traces) == than->window.traces)
			return true;
	}
	return false;
}

/* What was too short everywhere was measured again in the step after it, with more executions, as an agent does by itself. */
static bool is_replaced(const struct sn_hosts *h, uint32_t step)
{
	if (!sn_hosts_step_lacks(h, step))
		return false;
	for (size_t i = 0; i < h->windows.count; i++)
		if (h->windows.items[i].step == step && h->windows.items[i].window.executions &&
		    !has_better(h, &h->windows.items[i], step + 1))
			return false;
	return true;
}

static bool told_next(struct sn_executions *s, sn_windows *out)
{
	struct sn_hosts *h = s->context;

	while (!out->count && h->evaluated++ < h->step) {
		const bool is_waived = is_replaced(h, h->evaluated);

		for (size_t i = 0; i < h->windows.count && !is_waived; i++) {
			struct host_window *w = &h->windows.items[i];

			if (w->step != h->evaluated || !w->window.executions)
				continue;
			sn_vec_push(out, w->window); /* it is the taker's now */
			w->window = (struct sn_mri_window){ 0 };
		}
	}
	return out->count > 0;
}

static int windows_compare(const void *left, const void *right)
{
	const struct host_window *a = left, *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* Hosts that were to take part and have not come; each is added to `names`. */
static uint32_t absent(const struct sn_hosts *h, struct sn_text *names)
{
	uint32_t count = 0;

	for (size_t i = 0; i < h->awaited.count; i++)
		if (!sn_hosts_has_come(h, h->awaited.items[i]))
			sn_text_addf(names, "%s%s", count++ ? ", " : "", h->awaited.items[i]);
	return count;
}

static void absent_say(const struct sn_hosts *h)
{
	struct sn_text names = { 0 }, shown = { 0 };
	uint32_t count = absent(h, &names);

	sn_text_add_printable(&shown, names.chars ? names.chars : "", names.length);
	if (count && !h->options->is_quiet)
		sn_warn("of '%s' %u host%s took no part: %s", h->options->hosts, count,
			count == 1 ? "" : "s", shown.chars);
	sn_text_free(&names);
	sn_text_free(&shown);
}

static void counts_fill(const struct sn_hosts *h, struct sn_search *search)
{
	struct sn_text names = { 0 };

	search->agents.hosts = (uint32_t)h->nodes.count + absent(h, &names);
	sn_text_free(&names);
	for (size_t i = 0; i < h->nodes.count; i++) {
		search->agents.joined += h->nodes.items[i].is_joined;
		search->agents.lost += h->nodes.items[i].is_joined && !h->nodes.items[i].has_ended;
		search->agents.refused += h->nodes.items[i].refused;
	}
	search->agents.restarted = h->restarted;
	search->agents.refused +=
		(uint32_t)((h->link ? sn_link_refused(h->link) : 0) + sn_map_sum(&h->refused));
	search->results = (struct sn_search_results){ .received = h->journal.received,
						      .repeated = h->journal.repeated,
						      .lost = sn_journal_gaps(&h->journal) };
	search->is_partial = h->is_full || search->agents.lost || search->results.lost ||
			     search->agents.joined < search->agents.hosts;
	search->exit_status = h->exit_code;
}

static sn_status nothing_measured(const struct sn_hosts *h, struct sn_error *err)
{
	const char *name = h->phase.name.chars;
	uint32_t most = 0;
	size_t joined = 0;
	bool is_found = false, is_deaf = false;

	for (size_t i = 0; i < h->nodes.count; i++) {
		joined += h->nodes.items[i].is_joined;
		is_found |= h->nodes.items[i].is_found;
		is_deaf |= h->nodes.items[i].is_deaf;
		if (h->nodes.items[i].executions > most)
			most = h->nodes.items[i].executions;
	}
	if (!h->nodes.count)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "search: no host took part: the launcher started nothing");
	if (!joined)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: of %zu hosts no agent has joined, so nothing was measured",
			h->nodes.count);
	if (!is_found)
		return sn_error_set(
			err, SN_ERR_NO_DATA,
			"search: no process could watch for '%s': neither could code be put there, nor "
			"a hardware breakpoint be had",
			name);
	if (is_deaf) {
		struct sn_text why = { 0 };

		sn_phase_often_add(&h->phase, &why);
		sn_error_set(err, SN_ERR_NO_DATA, "search: %s", why.chars);
		sn_text_free(&why);
		return SN_ERR_NO_DATA;
	}
	return sn_error_set(err, SN_ERR_NO_DATA,
			    "search: no execution of '%s' could be measured; %u had passed in all: "
			    "let the program run longer, or leave --phase away",
			    name, most);
}

sn_status sn_hosts_result(struct sn_hosts *h, struct sn_online *out, struct sn_error *err)
{
	struct sn_executions *s;
	sn_status status;

	absent_say(h);
	if (!h->windows.count)
		return nothing_measured(h, err);
	qsort(h->windows.items, h->windows.count, sizeof(*h->windows.items), windows_compare);
	s = sn_alloc_zeroed(1, sizeof(*s));
	*s = (struct sn_executions){ .options = h->options,
				     .phase = &h->phase,
				     .experiment_path = h->path,
				     .next = told_next,
				     .available = sn_traced_switched(),
				     .context = h };
	out->phases = s;
	status = sn_executions_search(s, &out->search, err);
	if (status == SN_OK) {
		counts_fill(h, out->search);
		if (out->search->is_partial && !h->options->is_quiet)
			sn_warn("not all agents have told all; the result is of what "
				"is there");
	}
	return status;
}
