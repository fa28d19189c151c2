/*
 * Findings to rows: nested causes count once. What a more special property, or the same property in
 * the regions inside, explains to four fifths is refined. Regions that explain less are left out; of a
 * general property that more special ones explain less of, the rest stays a row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

/* The share of a finding's loss that what is below it must have to explain it (search.md's place
 * axis: "the smallest region with 80 % of the loss"). */
static const double explains = 0.8;

struct settling {
	struct sn_search *s;
	struct sn_nesting *nesting;
	uint8_t *has_causes; /* by finding: more special ones have made it refined */
	uint8_t *has_twin;   /* by finding: another one has the same loss */
};

static double share_inside(const struct settling *x, const struct sn_finding *inner,
			   const struct sn_finding *outer)
{
	return sn_nesting_share(x->nesting, sn_finding_property(x->s, inner), outer->what.region,
				inner->what.region);
}

static double loss_of(const struct sn_finding *f)
{
	return f->severity * (double)f->members.count;
}

/* Whether a property refines another, directly or by what it refines. */
static bool is_kind_of(const struct sn_search *s, const struct sn_property *property,
		       const struct sn_property *ancestor, int depth)
{
	if (depth > 16)
		return false;
	for (size_t i = 0; i < s->library->properties.count; i++) {
		const struct sn_property *parent = s->library->properties.items[i];

		if (sn_property_refines(property, parent) &&
		    (parent == ancestor || is_kind_of(s, parent, ancestor, depth + 1)))
			return true;
	}
	return false;
}

static bool is_same_inside(const struct settling *x, const struct sn_finding *inner,
			   const struct sn_finding *outer)
{
	return inner != outer && inner->what.property == outer->what.property &&
	       inner->what.data == outer->what.data && inner->what.region != outer->what.region &&
	       share_inside(x, inner, outer) > 0;
}

/* Whether a finding's loss has that of an inner one in it. Values of some sources are of the innermost region alone: what a
 * caller has of them is its own. */
static bool holds(const struct settling *x, const struct sn_finding *f,
		  const struct sn_finding *inner)
{
	return loss_of(f) >= explains * loss_of(inner) * share_inside(x, inner, f);
}

/* The same property directly inside: no other finding of it that has its loss lies between. */
static bool is_next_inside(const struct settling *x, const struct sn_finding *inner,
			   const struct sn_finding *outer)
{
	if (inner->is_left_out || !is_same_inside(x, inner, outer))
		return false;
	for (size_t i = 0; i < x->s->findings.count; i++) {
		const struct sn_finding *f = &x->s->findings.items[i];

		if (!f->is_left_out && is_same_inside(x, inner, f) && is_same_inside(x, f, outer) &&
		    holds(x, f, inner))
			return false;
	}
	return true;
}

/* All that lies inside a finding which explains it better goes; true: there was such. */
static bool inside_leave_out(const struct settling *x, const struct sn_finding *outer)
{
	bool has_left = false;

	for (size_t i = 0; i < x->s->findings.count; i++) {
		struct sn_finding *f = &x->s->findings.items[i];

		if (f->is_left_out || !is_same_inside(x, f, outer))
			continue;
		f->is_left_out = true;
		f->refined = false;
		has_left = true;
	}
	return has_left;
}

/* True: something inside was left out. */
static bool place_settle(const struct settling *x, struct sn_finding *outer)
{
	double inside = 0;
	bool has_inside = false;

	for (size_t k = 0; k < x->s->findings.count; k++) {
		const struct sn_finding *inner = &x->s->findings.items[k];

		if (!is_next_inside(x, inner, outer))
			continue;
		inside += loss_of(inner) * share_inside(x, inner, outer);
		has_inside = true;
	}
	/* rates of places do not add up: the inner ones say more */
	outer->refined = has_inside && (sn_finding_unit(x->s, outer) == SN_SEVERITY_RATE ||
					inside >= explains * loss_of(outer));
	return has_inside && !outer->refined && inside_leave_out(x, outer);
}

/* Functions of the C library say what is waited in, not where: their callers in the program do. */
static bool is_of_c_library(const struct sn_finding *f)
{
	const struct sn_recorded *r = f->recorded;
	const struct sn_program *program = r->profile ? r->profile->program : NULL;
	uint32_t function = SN_NONE, module;
	enum sn_module_class class;

	if (program && f->what.region < r->tables->members[SN_KEY_REGION].count)
		function = r->region_functions[f->what.region];
	if (function == SN_NONE)
		return false;
	module = program->functions.items[function].module;
	class = program->module_classes[module == SN_NONE ? program->experiment->modules.count
							  : module];
	return class == SN_MODULE_CLASS_LIBC || class == SN_MODULE_CLASS_LOADER ||
	       class == SN_MODULE_CLASS_ALLOCATOR;
}

/* Where the same is told of a caller. */
static void library_leave_out(const struct settling *x)
{
	for (size_t i = 0; i < x->s->findings.count; i++) {
		struct sn_finding *f = &x->s->findings.items[i];

		if (sn_search_is_exclusive(sn_finding_property(x->s, f)) || !is_of_c_library(f))
			continue;
		for (size_t k = 0; k < x->s->findings.count && !f->is_left_out; k++)
			f->is_left_out = is_same_inside(x, f, &x->s->findings.items[k]) &&
					 !is_of_c_library(&x->s->findings.items[k]);
	}
}

/* Places, from the outermost on: down as long as the regions inside have four fifths. What several regions share is left out
 * by any of them that it does not explain, and then explains none of the others either: so they are asked again. Regions with
 * exclusive times are not nested in this sense. */
static void places_settle(const struct settling *x)
{
	bool has_left = true;

	while (has_left) {
		has_left = false;
		for (size_t i = 0; i < x->s->findings.count; i++) {
			struct sn_finding *outer = &x->s->findings.items[i];

			if (!outer->is_left_out &&
			    !sn_search_is_exclusive(sn_finding_property(x->s, outer)))
				has_left |= place_settle(x, outer);
		}
	}
}

/* Left out, as a row of the same property around it tells its loss, too. */
static bool is_told_around(const struct settling *x, const struct sn_finding *f)
{
	bool is_told = false;

	if (!f->is_left_out || is_of_c_library(f))
		return false;
	for (size_t i = 0; i < x->s->findings.count && !is_told; i++)
		is_told = !x->s->findings.items[i].is_left_out &&
			  is_same_inside(x, f, &x->s->findings.items[i]);
	return is_told;
}

static void causes_settle(const struct settling *x)
{
	struct sn_search *s = x->s;

	for (size_t i = 0; i < s->findings.count; i++) {
		struct sn_finding *general = &s->findings.items[i];
		const struct sn_property *property = sn_finding_property(s, general);

		for (size_t k = 0; k < s->findings.count && !general->refined; k++) {
			const struct sn_finding *special = &s->findings.items[k];

			if (special != general && share_inside(x, special, general) > 0 &&
			    is_kind_of(s, sn_finding_property(s, special), property, 0) &&
			    (!special->is_left_out || is_of_c_library(special) ||
			     is_told_around(x, special))) {
				general->refined = true;
				x->has_causes[i] = 1;
			}
		}
	}
}

/* ---- a loss that is told in two ways ---- */

static bool is_leaf(const struct sn_finding *f)
{
	return !f->refined && !f->is_left_out;
}

static bool is_same_place(const struct sn_finding *a, const struct sn_finding *b)
{
	return a->what.region == b->what.region && a->what.data == b->what.data;
}

static bool asks_no_more(const struct sn_property *a, const struct sn_property *b)
{
	for (size_t i = 0; i < a->requests.count; i++) {
		const struct sn_prop_request *r = &a->requests.items[i];
		bool is_there = false;

		for (size_t k = 0; k < b->requests.count && !is_there; k++) {
			const struct sn_prop_request *other = &b->requests.items[k];

			is_there =
				r->metric == other->metric &&
				!strcmp(r->level ? r->level : "", other->level ? other->level : "");
		}
		if (!is_there)
			return false;
	}
	return true;
}

/* Two properties that look at the same metrics and come to the same loss: that of the region, and that of its worst thread,
 * which is said of the region, too. Of a property and what refines it the more special one is told (causes_settle). */
static bool is_same_loss(const struct sn_search *s, const struct sn_finding *a,
			 const struct sn_finding *b)
{
	const struct sn_property *p = sn_finding_property(s, a), *q = sn_finding_property(s, b);

	return a != b && sn_finding_unit(s, a) != SN_SEVERITY_RATE && is_same_place(a, b) &&
	       p != q && !is_kind_of(s, p, q, 0) && !is_kind_of(s, q, p, 0) && loss_of(a) > 0 &&
	       fabs(loss_of(a) - loss_of(b)) <= 1e-9 * loss_of(a) && asks_no_more(p, q) &&
	       asks_no_more(q, p);
}

/* It counts once, and not at all where one of them is explained further. */
static void same_losses_settle(struct sn_search *s)
{
	for (size_t i = 0; i < s->findings.count; i++) {
		struct sn_finding *a = &s->findings.items[i];
		bool is_told = a->refined;

		for (size_t k = 0; k < s->findings.count && !a->is_left_out; k++) {
			struct sn_finding *b = &s->findings.items[k];

			if (b->is_left_out || !is_same_loss(s, a, b))
				continue;
			if (b->refined && (k > i || !a->refined))
				is_told = true;
			else if (k > i)
				b->refined = true;
		}
		a->refined = is_told;
	}
}

/* What refines a finding by its data, and what by something else (its threads), are two ways to cut one loss: the one that has
 * more of it stands. */
static void axes_settle(struct sn_search *s)
{
	for (size_t i = 0; i < s->findings.count; i++) {
		const struct sn_finding *general = &s->findings.items[i];
		double losses[2] = { 0 };

		if (general->what.data != SN_ALL ||
		    sn_search_is_exclusive(sn_finding_property(s, general)))
			continue;
		for (int pass = 0; pass < 2; pass++)
			for (size_t k = 0; k < s->findings.count; k++) {
				struct sn_finding *f = &s->findings.items[k];
				bool is_of_data = f->what.data != SN_ALL;

				if (!is_leaf(f) || sn_finding_unit(s, f) == SN_SEVERITY_RATE ||
				    f->what.region != general->what.region ||
				    !is_kind_of(s, sn_finding_property(s, f),
						sn_finding_property(s, general), 0))
					continue;
				if (!pass)
					losses[is_of_data] += loss_of(f);
				else if (losses[is_of_data] > 0 && losses[!is_of_data] > 0 &&
					 is_of_data == (losses[0] > losses[1]))
					f->refined = true;
			}
	}
}

/* ---- what more special properties leave over ---- */

enum { HIERARCHY_MOST = 16 };

/* What a property's loss is a part of: the first that it refines and that is a loss. The others look at the same time in
 * another way, and nothing is left over of them. */
static const struct sn_property *whole_of(const struct sn_search *s,
					  const struct sn_property *property)
{
	for (size_t i = 0; i < property->refines.count; i++) {
		const struct sn_property *general =
			sn_library_find(s->library, property->refines.items[i].name);

		if (general && !sn_search_is_locator(general))
			return general;
	}
	return NULL;
}

static int depth_of(const struct sn_search *s, const struct sn_property *property)
{
	int depth = 0;

	while (depth < HIERARCHY_MOST && (property = whole_of(s, property)) != NULL)
		depth++;
	return depth;
}

static bool is_part_of(const struct sn_search *s, const struct sn_property *property,
		       const struct sn_property *general)
{
	for (int i = 0; i < HIERARCHY_MOST && property; i++) {
		property = whole_of(s, property);
		if (property == general)
			return true;
	}
	return false;
}

/* Whether a row tells a part of a general finding's loss: as a more special one, or in the place of one with the same loss. */
static bool tells_part(const struct settling *x, const struct sn_finding *f,
		       const struct sn_finding *general)
{
	const struct sn_search *s = x->s;
	const struct sn_property *property = sn_finding_property(s, general);

	if (is_kind_of(s, sn_finding_property(s, f), property, 0))
		return true;
	for (size_t i = 0; x->has_twin[f - s->findings.items] && i < s->findings.count; i++) {
		const struct sn_finding *twin = &s->findings.items[i];

		if (is_same_loss(s, f, twin) &&
		    is_kind_of(s, sn_finding_property(s, twin), property, 0))
			return true;
	}
	return false;
}

/* Of one member of a general finding: what others tell of its loss, and the half width of their intervals, squared. */
struct told {
	double severity, error_squares;
};

static void told_add(struct told *told, const struct sn_finding *general,
		     const struct sn_finding *f, double share)
{
	for (size_t m = 0; m < general->members.count; m++)
		for (size_t i = 0; i < f->members.count; i++) {
			const struct sn_finding_member *of = &general->members.items[m];
			const struct sn_finding_member *part = &f->members.items[i];
			double severity = part->severity * share;
			double error = (1 - part->confidence) * severity;

			if (part->process != of->process ||
			    (of->thread != SN_ALL && part->thread != of->thread))
				continue;
			told[m].severity += severity;
			told[m].error_squares += error * error;
		}
}

/* Whether another finding of the same property is around it, and inside the general one: that counts. */
static bool has_outer_inside(const struct settling *x, const struct sn_finding *f,
			     const struct sn_finding *general)
{
	bool has_outer = false;

	for (size_t i = 0; i < x->s->findings.count && !has_outer; i++) {
		const struct sn_finding *outer = &x->s->findings.items[i];

		has_outer = is_same_inside(x, f, outer) && share_inside(x, outer, general) > 0;
	}
	return has_outer;
}

/* False: rows of rates, which do not add up, or none of which is a part of the general loss. */
static bool told_find(const struct settling *x, const struct sn_finding *general, struct told *told)
{
	const struct sn_search *s = x->s;
	bool has_part = false, has_rate = false;

	for (size_t i = 0; i < s->findings.count && !has_rate; i++) {
		const struct sn_finding *f = &s->findings.items[i];
		double share;

		if (f == general || (!is_leaf(f) && !f->is_left_out))
			continue;
		share = share_inside(x, f, general);
		if (!(share > 0) || !tells_part(x, f, general))
			continue;
		/* a row around both has a part of the general loss */
		if (f->is_left_out && (!is_told_around(x, f) || has_outer_inside(x, f, general)))
			continue;
		has_rate = sn_finding_unit(s, f) == SN_SEVERITY_RATE;
		has_part |=
			is_part_of(s, sn_finding_property(s, f), sn_finding_property(s, general));
		told_add(told, general, f, share);
	}
	return has_part && !has_rate;
}

/* The members that others explain to four fifths go, as do those below the threshold. */
static void remainder_take(const struct sn_search *s, struct sn_finding *general,
			   const struct told *told)
{
	double loss = 0, lanes = 0, confidence = 0, whole = 0;
	size_t kept = 0;

	for (size_t i = 0; i < general->members.count; i++) {
		struct sn_finding_member m = general->members.items[i];
		double own = sn_tables_lanes(general->recorded->tables, m.process);
		double error = hypot((1 - m.confidence) * m.severity, sqrt(told[i].error_squares));
		double left = m.severity - told[i].severity;

		whole += m.severity * own;
		if (!(left > s->options.threshold) || told[i].severity >= explains * m.severity)
			continue;
		m.severity = left;
		m.confidence = fmax(0, 1 - error / left);
		general->members.items[kept++] = m;
		loss += left * own;
		lanes += own;
		confidence += m.confidence * left * own;
	}
	if (!kept)
		return;
	general->members.count = kept;
	general->severity = loss / lanes;
	general->confidence = confidence / loss;
	general->remainder = loss / whole;
	sn_finding_evidence_scale(general, sn_finding_property(s, general), general->remainder);
	general->refined = false;
}

/* Whether another finding with the same loss has its remainder already. */
static bool is_told_by_twin(const struct settling *x, const struct sn_finding *general)
{
	const struct sn_search *s = x->s;
	bool is_told = false;

	for (size_t i = 0; i < s->findings.count && !is_told; i++)
		is_told = s->findings.items[i].remainder > 0 &&
			  is_same_place(&s->findings.items[i], general) &&
			  asks_no_more(sn_finding_property(s, &s->findings.items[i]),
				       sn_finding_property(s, general)) &&
			  asks_no_more(sn_finding_property(s, general),
				       sn_finding_property(s, &s->findings.items[i]));
	return is_told;
}

static void twins_find(const struct settling *x)
{
	const struct sn_search *s = x->s;

	for (size_t i = 0; i < s->findings.count; i++)
		for (size_t k = 0; k < s->findings.count && !x->has_twin[i]; k++)
			x->has_twin[i] =
				is_same_loss(s, &s->findings.items[i], &s->findings.items[k]);
}

/* What more special rows do not explain stays a row of the general property, from the most special ones on: leaves add up to
 * the loss. */
static void remainders_settle(const struct settling *x)
{
	struct sn_search *s = x->s;

	twins_find(x);
	for (int depth = HIERARCHY_MOST; depth >= 0; depth--)
		for (size_t i = 0; i < s->findings.count; i++) {
			struct sn_finding *general = &s->findings.items[i];
			const struct sn_property *property = sn_finding_property(s, general);
			struct told *told;

			if (!x->has_causes[i] || !general->refined || general->is_left_out ||
			    sn_search_is_locator(property) || depth_of(s, property) != depth ||
			    sn_finding_unit(s, general) == SN_SEVERITY_RATE ||
			    is_told_by_twin(x, general))
				continue;
			told = sn_alloc_zeroed(general->members.count + 1, sizeof(*told));
			if (told_find(x, general, told))
				remainder_take(s, general, told);
			free(told);
		}
}

static int findings_compare(const void *left, const void *right)
{
	const struct sn_finding *a = left, *b = right;

	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	if (a->what.property != b->what.property)
		return a->what.property < b->what.property ? -1 : 1;
	if (a->what.region != b->what.region)
		return a->what.region < b->what.region ? -1 : 1;
	return (a->what.data > b->what.data) - (a->what.data < b->what.data);
}

/* Outer regions come before inner ones: they were found in earlier steps. */
void sn_search_finish(struct sn_search *s)
{
	struct settling settling = { s, sn_nesting_new(s),
				     sn_alloc_zeroed(s->findings.count + 1, 1),
				     sn_alloc_zeroed(s->findings.count + 1, 1) };

	library_leave_out(&settling);
	places_settle(&settling);
	causes_settle(&settling);
	same_losses_settle(s);
	axes_settle(s);
	remainders_settle(&settling);
	sn_nesting_free(settling.nesting);
	free(settling.has_causes);
	free(settling.has_twin);
	if (s->findings.count)
		qsort(s->findings.items, s->findings.count, sizeof(*s->findings.items),
		      findings_compare);
}
