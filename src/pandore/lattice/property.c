/*
 * The condition is brought into terms: conjunctions of conditions on one process each. A term may hold iff the least cut
 * exists in which all its processes are in a state that fits (Garg and Waldecker, "Detection of weak unstable
 * predicates in distributed programs", 1994), and the condition iff a term may. Every run passes through a term of one
 * process that ever holds, and through one of several iff stretches of states that fit overlap in every run (the same,
 * "Detection of strong unstable predicates", 1996). Else the cuts where the condition does not hold are walked
 * through, level by level.
 */
#include "pandore/lattice/property.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "pandore/lattice/enumerate.h"
#include "pandore/lattice/property_parts.h"

enum { TERMS_MOST = 64 };

struct literal {
	uint32_t node; /* an IN */
	bool is_negated;
};

struct term {
	SN_VEC(struct literal) literals;
};

struct terms {
	SN_VEC(struct term) items;
	bool is_too_many;
};

struct judge {
	const struct sn_property *property;
	const struct sn_execution *execution;
	const struct sn_lattice_order *order;
	struct terms terms;
};

bool sn_property_names(const struct sn_property *property, uint32_t process)
{
	for (size_t i = 0; i < property->nodes.count; i++)
		if (property->nodes.items[i].kind == SN_PROPERTY_IN &&
		    property->nodes.items[i].process == process)
			return true;
	return false;
}

/* ---- states and cuts ---- */

static bool node_holds(const struct judge *j, const struct sn_property_node *node, uint32_t done)
{
	const char *label;

	if (done == 0)
		return false;
	label = sn_execution_observed(j->execution, node->process, done)->label;
	return label && !strcmp(label, node->label);
}

static bool holds(const struct judge *j, uint32_t number, const uint32_t *cut)
{
	const struct sn_property_node *node = &j->property->nodes.items[number];

	assert(cut);
	switch (node->kind) {
	case SN_PROPERTY_IN:
		return node_holds(j, node, cut[node->process]);
	case SN_PROPERTY_NOT:
		return !holds(j, node->left, cut);
	case SN_PROPERTY_AND:
		return holds(j, node->left, cut) && holds(j, node->right, cut);
	default:
		return holds(j, node->left, cut) || holds(j, node->right, cut);
	}
}

/* Whether the state of a process fits a term, which may say nothing of it. */
static bool state_fits(const struct judge *j, const struct term *term, uint32_t process,
		       uint32_t done)
{
	for (size_t i = 0; i < term->literals.count; i++) {
		const struct literal *literal = &term->literals.items[i];
		const struct sn_property_node *node = &j->property->nodes.items[literal->node];

		if (node->process == process && node_holds(j, node, done) == literal->is_negated)
			return false;
	}
	return true;
}

static bool names_process(const struct judge *j, const struct term *term, uint32_t process)
{
	for (size_t i = 0; i < term->literals.count; i++)
		if (j->property->nodes.items[term->literals.items[i].node].process == process)
			return true;
	return false;
}

/* ---- terms ---- */

static void terms_free(struct terms *terms)
{
	for (size_t i = 0; i < terms->items.count; i++)
		sn_vec_free(&terms->items.items[i].literals);
	sn_vec_free(&terms->items);
}

static void term_join(struct terms *out, const struct term *x, const struct term *y)
{
	struct term joined = { 0 };

	if (out->items.count == TERMS_MOST) {
		out->is_too_many = true;
		return;
	}
	for (size_t i = 0; i < x->literals.count; i++)
		sn_vec_push(&joined.literals, x->literals.items[i]);
	for (size_t i = 0; y && i < y->literals.count; i++)
		sn_vec_push(&joined.literals, y->literals.items[i]);
	sn_vec_push(&out->items, joined);
}

static struct terms terms_of(const struct sn_property *property, uint32_t number, bool is_negated)
{
	const struct sn_property_node *node = &property->nodes.items[number];
	struct terms out = { 0 }, left, right;

	if (node->kind == SN_PROPERTY_IN) {
		struct term term = { 0 };

		sn_vec_push(&term.literals, (struct literal){ number, is_negated });
		sn_vec_push(&out.items, term);
		return out;
	}
	if (node->kind == SN_PROPERTY_NOT)
		return terms_of(property, node->left, !is_negated);
	left = terms_of(property, node->left, is_negated);
	right = terms_of(property, node->right, is_negated);
	out.is_too_many = left.is_too_many || right.is_too_many;
	if ((node->kind == SN_PROPERTY_OR) != is_negated) {
		for (size_t i = 0; i < left.items.count; i++)
			term_join(&out, &left.items.items[i], NULL);
		for (size_t i = 0; i < right.items.count; i++)
			term_join(&out, &right.items.items[i], NULL);
	} else {
		for (size_t i = 0; i < left.items.count; i++)
			for (size_t k = 0; k < right.items.count; k++)
				term_join(&out, &left.items.items[i], &right.items.items[k]);
	}
	terms_free(&left);
	terms_free(&right);
	return out;
}

/* ---- possibly ---- */

/* Raises the cut until it is consistent and all states fit. False: there is no such cut. */
static bool least_cut(const struct judge *j, const struct term *term, uint32_t *cut)
{
	uint32_t processes = j->order->process_count;
	bool has_changed = true;

	memset(cut, 0, processes * sizeof(*cut));
	while (has_changed) {
		has_changed = false;
		for (uint32_t p = 0; p < processes; p++) {
			const uint32_t *past;
			uint32_t before = cut[p];

			while (!state_fits(j, term, p, cut[p]))
				if (++cut[p] > j->order->counts[p])
					return false;
			has_changed |= cut[p] != before;
			past = sn_lattice_past(j->order, p, cut[p]);
			for (uint32_t q = 0; q < processes; q++)
				if (past[q] > cut[q]) {
					cut[q] = past[q];
					has_changed = true;
				}
		}
	}
	return true;
}

/* ---- definitely ---- */

/* Events first .. last of a process leave it in states that fit; first 0: from the beginning. */
struct stretch {
	uint32_t first, last;
};

static bool next_stretch(const struct judge *j, const struct term *term, uint32_t process,
			 uint32_t from, struct stretch *out)
{
	uint32_t count = j->order->counts[process];

	while (from <= count && !state_fits(j, term, process, from))
		from++;
	if (from > count)
		return false;
	out->first = out->last = from;
	while (out->last < count && state_fits(j, term, process, out->last + 1))
		out->last++;
	return true;
}

/* Whether p has begun its stretch in every run before q ends its own. */
static bool begins_before_end(const struct judge *j, uint32_t p, const struct stretch *x,
			      uint32_t q, const struct stretch *y)
{
	if (x->first == 0 || y->last == j->order->counts[q])
		return true;
	return sn_lattice_past(j->order, q, y->last + 1)[p] >= x->first;
}

/* The stretches of all processes that the term names must overlap; one that ends before another begins is over. */
static bool overlaps(const struct judge *j, const struct term *term, struct stretch *stretches)
{
	uint32_t processes = j->order->process_count;
	bool has_changed = true;

	for (uint32_t p = 0; p < processes; p++)
		if (names_process(j, term, p) && !next_stretch(j, term, p, 0, &stretches[p]))
			return false;
	while (has_changed) {
		has_changed = false;
		for (uint32_t p = 0; p < processes; p++)
			for (uint32_t q = 0; q < processes; q++) {
				if (p == q || !names_process(j, term, p) ||
				    !names_process(j, term, q) ||
				    begins_before_end(j, p, &stretches[p], q, &stretches[q]))
					continue;
				if (!next_stretch(j, term, q, stretches[q].last + 1, &stretches[q]))
					return false;
				has_changed = true;
			}
	}
	return true;
}

/* A level's cuts that a run can reach without the condition having held. */
struct level {
	SN_VEC(uint32_t) cuts; /* process_count numbers each */
};

static bool is_in_level(const struct level *level, struct sn_map *seen, const uint32_t *cut,
			size_t width)
{
	uint64_t key = sn_hash_bytes(cut, width * sizeof(*cut));
	bool is_new;

	for (;; key++) {
		uint64_t *place = sn_map_put(seen, key, &is_new);

		if (is_new) {
			*place = level->cuts.count;
			return false;
		}
		if (!memcmp(level->cuts.items + *place, cut, width * sizeof(*cut)))
			return true;
	}
}

static bool can_follow(const struct judge *j, const uint32_t *cut, uint32_t process)
{
	const uint32_t *past;

	if (cut[process] == j->order->counts[process])
		return false;
	past = sn_lattice_past(j->order, process, cut[process] + 1);
	for (uint32_t q = 0; q < j->order->process_count; q++)
		if (q != process && past[q] > cut[q])
			return false;
	return true;
}

static void level_follow(const struct judge *j, const struct level *level, struct level *next)
{
	size_t width = j->order->process_count;
	uint32_t *cut = sn_alloc_zeroed(width + 1, sizeof(*cut));
	struct sn_map seen = { 0 };

	for (size_t at = 0; at < level->cuts.count; at += width)
		for (uint32_t p = 0; p < width; p++) {
			memcpy(cut, level->cuts.items + at, width * sizeof(*cut));
			if (!can_follow(j, cut, p))
				continue;
			cut[p]++;
			if (holds(j, j->property->root, cut) ||
			    is_in_level(next, &seen, cut, width))
				continue;
			for (size_t i = 0; i < width; i++)
				sn_vec_push(&next->cuts, cut[i]);
		}
	sn_map_free(&seen);
	free(cut);
}

static enum sn_truth walk_around(const struct judge *j, uint64_t cut_limit)
{
	size_t width = j->order->process_count;
	struct level level = { 0 };
	uint64_t visited = 0;

	for (size_t i = 0; i < width; i++)
		sn_vec_push(&level.cuts, 0);
	if (holds(j, j->property->root, level.cuts.items)) {
		sn_vec_free(&level.cuts);
		return SN_TRUTH_YES;
	}
	for (uint32_t k = 0; k < j->order->event_count && level.cuts.count; k++) {
		struct level next = { 0 };

		visited += level.cuts.count / width;
		if (visited > cut_limit) {
			sn_vec_free(&level.cuts);
			return SN_TRUTH_UNKNOWN;
		}
		level_follow(j, &level, &next);
		sn_vec_free(&level.cuts);
		level = next;
	}
	enum sn_truth truth = level.cuts.count ? SN_TRUTH_NO : SN_TRUTH_YES;
	sn_vec_free(&level.cuts);
	return truth;
}

static enum sn_truth definitely_of(const struct judge *j, uint64_t cut_limit)
{
	struct stretch *stretches =
		sn_alloc_zeroed(j->order->process_count + 1, sizeof(*stretches));
	bool is_sure = false;

	for (size_t i = 0; i < j->terms.items.count && !is_sure; i++)
		is_sure = overlaps(j, &j->terms.items.items[i], stretches);
	free(stretches);
	if (is_sure)
		return SN_TRUTH_YES;
	if (j->terms.items.count == 1 && !j->terms.is_too_many)
		return SN_TRUTH_NO;
	return walk_around(j, cut_limit);
}

/* ---- the answer ---- */

struct visit {
	const struct judge *judge;
	uint64_t left;
	uint32_t *witness;
};

static bool cut_visit(void *context, const uint32_t *cut, uint32_t level)
{
	struct visit *v = context;
	size_t bytes = v->judge->order->process_count * sizeof(*cut);

	(void)level;
	if (holds(v->judge, v->judge->property->root, cut)) {
		v->witness = sn_alloc_zeroed(v->judge->order->process_count + 1, sizeof(*cut));
		memcpy(v->witness, cut, bytes);
		return false;
	}
	return v->left-- > 0;
}

/* Where there are too many terms, cuts are visited one by one. */
static void visit_cuts(const struct judge *j, uint64_t cut_limit, struct sn_property_answer *out)
{
	struct visit visit = { .judge = j, .left = cut_limit };
	bool is_whole = sn_lattice_enumerate_cuts(j->order, cut_visit, &visit);

	out->witness = visit.witness;
	out->possibly = visit.witness ? SN_TRUTH_YES : is_whole ? SN_TRUTH_NO : SN_TRUTH_UNKNOWN;
}

static sn_status processes_check(const struct judge *j, struct sn_error *err)
{
	for (size_t i = 0; i < j->property->nodes.count; i++) {
		const struct sn_property_node *node = &j->property->nodes.items[i];

		if (node->kind == SN_PROPERTY_IN && node->process >= j->order->process_count)
			return sn_error_set(err, SN_ERR_USAGE,
					    "the condition names process %u; the execution has "
					    "processes 0 to %u",
					    node->process, j->order->process_count - 1);
	}
	return SN_OK;
}

sn_status sn_property_judge(const struct sn_property *property,
			    const struct sn_execution *execution, uint64_t cut_limit,
			    struct sn_property_answer *out, struct sn_error *err)
{
	struct judge j = { .property = property,
			   .execution = execution,
			   .order = &execution->observed };
	sn_status status = processes_check(&j, err);
	uint32_t *cut;

	if (status != SN_OK)
		return status;
	j.terms = terms_of(property, property->root, false);
	cut = sn_alloc_zeroed(j.order->process_count + 1, sizeof(*cut));
	*out = (struct sn_property_answer){ .possibly = SN_TRUTH_NO };
	for (size_t i = 0; i < j.terms.items.count && !out->witness; i++)
		if (least_cut(&j, &j.terms.items.items[i], cut)) {
			out->possibly = SN_TRUTH_YES;
			out->witness = cut;
		}
	if (!out->witness)
		free(cut);
	if (out->possibly == SN_TRUTH_NO && j.terms.is_too_many)
		visit_cuts(&j, cut_limit, out);
	out->definitely = out->possibly == SN_TRUTH_NO ? SN_TRUTH_NO : definitely_of(&j, cut_limit);
	terms_free(&j.terms);
	return SN_OK;
}

void sn_property_answer_free(struct sn_property_answer *answer)
{
	free(answer->witness);
	answer->witness = NULL;
}

/* ---- written ---- */

static void write_truth(struct sn_json *json, const char *key, enum sn_truth truth)
{
	sn_json_key(json, key);
	if (truth == SN_TRUTH_UNKNOWN)
		sn_json_null(json);
	else
		sn_json_bool(json, truth == SN_TRUTH_YES);
}

void sn_property_write_json(const char *text, const struct sn_execution *execution,
			    const struct sn_property_answer *answer, FILE *out)
{
	struct sn_json json = { .out = out };

	sn_json_object(&json);
	sn_json_member_string(&json, "schema", "sonde.lattice-property/1");
	sn_json_member_string(&json, "condition", text);
	write_truth(&json, "possibly", answer->possibly);
	write_truth(&json, "definitely", answer->definitely);
	sn_json_member_bool(&json, "exact",
			    answer->possibly != SN_TRUTH_UNKNOWN &&
				    answer->definitely != SN_TRUTH_UNKNOWN);
	sn_json_key(&json, "witness");
	if (answer->witness) {
		sn_json_array(&json);
		for (uint32_t p = 0; p < execution->process_count; p++) {
			if (answer->witness[p])
				sn_json_uint(&json,
					     sn_execution_observed(execution, p, answer->witness[p])
						     ->index);
			else
				sn_json_null(&json);
		}
		sn_json_close(&json);
	} else {
		sn_json_null(&json);
	}
	sn_json_close(&json);
	sn_json_finish(&json);
}

static const char *truth_word(enum sn_truth truth)
{
	return truth == SN_TRUTH_YES ? "yes" : truth == SN_TRUTH_NO ? "no" : "not known";
}

void sn_property_write_text(const char *text, const struct sn_execution *execution,
			    const struct sn_property_answer *answer, FILE *out)
{
	struct sn_text line = { 0 };

	sn_text_add(&line, "condition ");
	sn_text_add_printable(&line, text, strlen(text));
	sn_text_addf(&line, "\n  possibly    %s\n  definitely  %s%s\n",
		     truth_word(answer->possibly), truth_word(answer->definitely),
		     answer->definitely == SN_TRUTH_UNKNOWN
			     ? ": over a million cuts would have to be visited"
			     : "");
	for (uint32_t p = 0; answer->witness && p < execution->process_count; p++) {
		const struct sn_execution_event *event;

		sn_text_addf(&line, "  %s  process %u ", p ? "              " : "it holds after",
			     p);
		if (!answer->witness[p]) {
			sn_text_add(&line, "has done nothing\n");
			continue;
		}
		event = sn_execution_observed(execution, p, answer->witness[p]);
		sn_text_addf(&line, "event %u ", event->index);
		if (event->label)
			sn_text_add_printable(&line, event->label, strlen(event->label));
		if (event->file && event->line)
			sn_text_addf(&line, " (%s:%u)", event->file, event->line);
		sn_text_add(&line, "\n");
	}
	fputs(line.chars, out);
	sn_text_free(&line);
}
