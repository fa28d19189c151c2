/*
 * The result for people: what is lost, severest first, each with its search path as the Periscope
 * paper prints them; then where time goes, and what was not measurable.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "search/engine/parts.h"

enum { LOCATORS_SHOWN = 10 };

/* The paper's words for kinds of regions. */
static const char *kind_word(const struct sn_member *region)
{
	static const char *const words[][2] = { { "program", "USER_REGION" },
						{ "function", "SUB_REGION" },
						{ "loop", "LOOP_REGION" },
						{ "parallel", "PARALLEL_REGION" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (region->kind && !strcmp(region->kind, words[i][0]))
			return words[i][1];
	return "REGION";
}

/* "calc2( SUB_REGION, swim.f, 315 )"; loops have no name. */
static void region_print(const struct sn_member *region, struct sn_text *out)
{
	bool is_program = region->kind && !strcmp(region->kind, "program");

	if (is_program)
		sn_text_add(out, "Application Phase");
	else if (!region->kind || strcmp(region->kind, "loop") != 0 || !region->file)
		sn_member_add_shown(region, out);
	sn_text_addf(out, "( %s", kind_word(region));
	if (is_program && region->name)
		sn_text_addf(out, ", %s", region->name);
	if (region->file)
		sn_text_addf(out, ", %s", sn_base_name(region->file));
	if (region->file && region->line_first)
		sn_text_addf(out, ", %u", region->line_first);
	sn_text_add(out, " )");
}

/* Of which lanes the numbers along a path are, where the row's are not of the same. */
static const char *whose_path(const struct sn_finding *f)
{
	size_t all = f->recorded->tables->members[SN_KEY_PROCESS].count, own = 0;

	for (size_t i = 0; i < f->members.count; i++)
		own += !i || f->members.items[i].process != f->members.items[i - 1].process;
	return own == all ? "" : f->recorded->has_ranks ? " of all ranks" : " of all processes";
}

/* What a region takes itself is no part of what those around it do, so these have no number there. */
static void path_print(const struct sn_search *s, const struct sn_finding *f, FILE *out)
{
	size_t count = 0;
	uint32_t *path =
		f->what.region == SN_ALL ? NULL : sn_search_path(s, f->what.region, &count);
	bool is_exclusive = sn_search_is_exclusive(sn_finding_property(s, f));
	const char *whose = whose_path(f);
	struct sn_text line = { 0 };

	for (size_t i = 0; i < count; i++) {
		double severity = sn_search_severity_at(s, f->what.property, path[i], f->what.data);

		sn_text_clear(&line);
		sn_text_add_repeated(&line, ' ', 10 + i);
		region_print(&s->recorded->tables->members[SN_KEY_REGION].items[path[i]], &line);
		if (!isnan(severity) && (!is_exclusive || i + 1 == count)) {
			sn_text_addf(&line, " %.3f%s", severity, whose);
			whose = ""; /* the others are of the same */
		}
		fprintf(out, "%s\n", line.chars);
	}
	if (f->what.data != SN_ALL) {
		const struct sn_member *data =
			&s->recorded->tables->members[SN_KEY_DATA].items[f->what.data];

		fprintf(out, "%*s%s( DATA_STRUCTURE, %s, %u ) %.3f\n", (int)(10 + count), "",
			data->name ? data->name : data->id,
			data->file ? sn_base_name(data->file) : "?", data->line_first, f->severity);
	}
	sn_text_free(&line);
	free(path);
}

static const double unsure_most = 0.5;

/* Of what is not at all sure: between what it lies. */
static void interval_print(const struct sn_search *s, const struct sn_finding *f, FILE *out)
{
	if (f->confidence < unsure_most)
		fprintf(out, "          between %.3f and %.3f%s\n", sn_finding_low(f),
			sn_finding_high(s, f),
			sn_finding_may_be_nothing(f) ? ": it may as well be nothing" : "");
}

/* What the processes of a row run, where they are no ranks of one program: " (redis-server, redis-benchmark)". */
static void programs_add(const struct sn_finding *f, struct sn_text *out)
{
	const struct sn_recorded *r = f->recorded;
	const struct sn_experiment *e = r->profile && !r->has_ranks ? r->profile->experiment : NULL;
	struct sn_interner names = { 0 };

	for (size_t p = 0; e && p < e->processes.count; p++)
		for (size_t i = 0; i < f->members.count && e->processes.items[p].program; i++)
			if (f->members.items[i].process == r->process_members[p])
				sn_intern_string(&names,
						 sn_base_name(e->processes.items[p].program));
	for (uint32_t n = 0; n < names.strings.count; n++) {
		const char *name = sn_interned_chars(&names, n);

		sn_text_add(out, n ? ", " : " (");
		sn_text_add_printable(out, name, strlen(name));
	}
	sn_text_add(out, names.strings.count ? ")" : "");
	sn_interner_free(&names);
}

static void finding_print(const struct sn_search *s, const struct sn_finding *f, FILE *out)
{
	const struct sn_property *property = sn_finding_property(s, f);
	struct sn_text set = { 0 };
	uint32_t *processes = calloc(f->members.count + 1, sizeof(*processes));

	for (size_t i = 0; processes && i < f->members.count; i++)
		processes[i] = f->members.items[i].process;
	if (processes && f->recorded->tables->members[SN_KEY_PROCESS].count > 1)
		sn_search_set_print(f->recorded->tables->members[SN_KEY_PROCESS].items, processes,
				    f->members.count, &set);
	if (set.chars)
		programs_add(f, &set);
	fprintf(out, "  %.3f   %s%s   confidence %.2f%s%s\n", f->severity,
		s->options.severity == SN_SEVERITY_RATE && !sn_search_is_locator(property)
			? sn_finding_unit(s, f) == SN_SEVERITY_RATE ? "rate   " : "lost   "
			: "",
		property->name, f->confidence,
		set.chars ? s->recorded->has_ranks ? "   ranks " : "   processes " : "",
		set.chars ? set.chars : "");
	sn_text_clear(&set);
	interval_print(s, f, out);
	if (sn_finding_explain(s, f, &set) && set.chars)
		fprintf(out, "          %s\n", set.chars);
	if (property->hint)
		fprintf(out, "          hint: %s\n", property->hint);
	path_print(s, f, out);
	fputc('\n', out);
	free(processes);
	sn_text_free(&set);
}

enum section { LOST, MACHINE, LATE, TIME, MEMORY };

static enum section section_of(const struct sn_property *property)
{
	return sn_search_is_of_machine(property)	   ? MACHINE
	       : !sn_search_is_locator(property)	   ? LOST
	       : !strcmp(property->name, "LateRankRegion") ? LATE
	       : sn_search_is_exclusive(property)	   ? TIME
							   : MEMORY;
}

static const char *const headings[] = {
	[MACHINE] = "What other work on the machine took, which is no fault of the program",
	[LATE] =
		"Where late ranks work longer than the others, as a share of the time of their lanes",
	[MEMORY] = "Where memory grows, as a share of the machine's in an hour"
};

/* Whether a finding has a row in a section. */
static bool has_row(const struct sn_search *s, const struct sn_finding *f, enum section section)
{
	/* where the time goes is told also of what is told above to lose some of it */
	return !f->is_left_out && (!f->refined || section == TIME) &&
	       section_of(sn_finding_property(s, f)) == section;
}

/* Severest first; what may as well be nothing comes last. */
static size_t findings_print(const struct sn_search *s, enum section section, size_t most,
			     FILE *out)
{
	size_t count = 0;

	for (int unsure = 0; unsure < 2; unsure++)
		for (size_t i = 0; i < s->findings.count; i++) {
			const struct sn_finding *f = &s->findings.items[i];

			if (!has_row(s, f, section) || sn_finding_may_be_nothing(f) != unsure)
				continue;
			if (!count++ && headings[section])
				fprintf(out, "%s\n\n", headings[section]);
			if (count <= most)
				finding_print(s, f, out);
		}
	return count;
}

/* Properties that miss the same stand together, above what they miss. */
static void missing_print(const struct sn_search *s, FILE *out)
{
	struct sn_missing_groups groups;
	struct sn_text text = { 0 };

	if (s->not_measurable.count)
		fprintf(out, "Not measurable here: %zu propert%s\n", s->not_measurable.count,
			s->not_measurable.count == 1 ? "y" : "ies");
	sn_missing_groups_make(s, &groups);
	for (uint32_t g = 0; g < groups.reasons.strings.count; g++) {
		sn_text_clear(&text);
		sn_missing_names_add(s, &groups, g, 0, &text);
		fprintf(out, "  %s\n     %s\n", text.chars, sn_interned_chars(&groups.reasons, g));
	}
	sn_missing_groups_free(&groups);
	sn_text_free(&text);
}

/* The errors themselves stand on standard error. */
static void bad_files_print(const struct sn_search *s, FILE *out)
{
	for (size_t i = 0; i < s->library->files.count; i++) {
		const struct sn_prop_file *file = s->library->files.items[i];

		if (file->diags.errors)
			fprintf(out,
				"Left out: %s has %zu error%s, so none of its properties was asked "
				"('sonde properties check %s')\n",
				file->name, (size_t)file->diags.errors,
				file->diags.errors == 1 ? "" : "s", file->name);
	}
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* What a search without findings has looked at. */
struct looked_at {
	uint8_t *properties, *regions, *data; /* was any candidate of it? */
	uint8_t *unmeasurable;		      /* properties */
	size_t below;			    /* candidates that hold, with less than the threshold */
	const struct sn_candidate *largest; /* of those; NULL: none */
	bool is_told;			    /* others are told below, or by what refines them */
};

static size_t marked(const uint8_t *marks, size_t count)
{
	size_t all = 0;

	for (size_t i = 0; i < count; i++)
		all += marks[i];
	return all;
}

static bool has_finding(const struct sn_search *s, const struct sonde_strategy_candidate *what)
{
	for (size_t i = 0; i < s->findings.count; i++)
		if (!memcmp(&s->findings.items[i].what, what, sizeof(*what)))
			return true;
	return false;
}

static void candidates_see(const struct sn_search *s, struct looked_at *at)
{
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct sn_candidate *c = &s->candidates.items[i];

		if (!c->step)
			continue; /* none has evaluated it */
		at->properties[c->what.property] = 1;
		if (c->what.region != SN_ALL)
			at->regions[c->what.region] = 1;
		if (c->what.data != SN_ALL)
			at->data[c->what.data] = 1;
		if (isnan(c->severity) ||
		    sn_search_is_locator(s->library->properties.items[c->what.property]) ||
		    sn_search_is_of_machine(s->library->properties.items[c->what.property]))
			continue;
		if (has_finding(s, &c->what)) {
			at->is_told = true;
			continue;
		}
		at->below++;
		if (!at->largest || c->severity > at->largest->severity)
			at->largest = c;
	}
	for (size_t i = 0; i < s->not_measurable.count; i++)
		at->unmeasurable[s->not_measurable.items[i].property] = 1;
}

static void looked_at_write(const struct sn_search *s, const struct looked_at *at,
			    struct sn_text *out)
{
	const sn_member_vec *members = s->recorded->tables->members;
	size_t properties = marked(at->properties, s->library->properties.count);
	size_t regions = members[SN_KEY_REGION].count, data = members[SN_KEY_DATA].count;
	size_t unmeasurable = marked(at->unmeasurable, s->library->properties.count);

	sn_text_addf(out, "  looked at: %zu %s in %zu of %zu regions", properties,
		     properties == 1 ? "property" : "properties", marked(at->regions, regions),
		     regions);
	if (data)
		sn_text_addf(out, " and %zu of %zu data structures", marked(at->data, data), data);
	else
		sn_text_add(out, "; no data structure was seen");
	if (unmeasurable == properties)
		sn_text_addf(
			out,
			"; nothing of it was measurable (why, see below), so strategy %s ends here%s\n",
			s->strategy->name,
			strcmp(s->strategy->name, "time") != 0
				? "; --strategy time begins with what samples tell"
				: "");
	else if (at->largest)
		sn_text_addf(out, "; %zu of it hold%s with less, most %s with %.3f\n", at->below,
			     at->below == 1 ? "s" : "",
			     s->library->properties.items[at->largest->what.property]->name,
			     at->largest->severity);
	else
		sn_text_add(out, at->is_told ? "\n" : "; nothing of it holds\n");
}

/* Why a search had no candidate at all. */
static void unasked_write(const struct sn_search *s, struct sn_text *out)
{
	const struct sn_property *start = s->host.start == SONDE_STRATEGY_NONE
						  ? NULL
						  : s->library->properties.items[s->host.start];
	const struct sn_prop_context *region =
		start ? sn_property_parameter(start, SN_KEY_REGION) : NULL;

	sn_text_addf(out, "  strategy %s found nothing that could be asked", s->strategy->name);
	if (start && sn_property_parameter(start, SN_KEY_DATA))
		sn_text_addf(out, ": %s is of data structures, and none is known", start->name);
	else if (region && region->kinds.count)
		sn_text_addf(out, ": %s is of regions of the kind '%s', and none is above %.3f",
			     start->name, region->kinds.items[0], s->options.threshold);
	sn_text_add(out, "\n");
}

static void nothing_print(const struct sn_search *s, FILE *out)
{
	const sn_member_vec *members = s->recorded->tables->members;
	struct looked_at at = {
		.properties = sn_alloc_zeroed(s->library->properties.count + 1, 1),
		.regions = sn_alloc_zeroed(members[SN_KEY_REGION].count + 1, 1),
		.data = sn_alloc_zeroed(members[SN_KEY_DATA].count + 1, 1),
		.unmeasurable = sn_alloc_zeroed(s->library->properties.count + 1, 1),
	};
	struct sn_text text = { 0 };

	candidates_see(s, &at);
	if (marked(at.properties, s->library->properties.count))
		looked_at_write(s, &at, &text);
	else
		unasked_write(s, &text);
	fprintf(out, "  nothing above %.3f\n%s\n", s->options.threshold,
		text.chars ? text.chars : "");
	sn_text_free(&text);
	free(at.properties);
	free(at.regions);
	free(at.data);
	free(at.unmeasurable);
}

static void asleep_print(const struct sn_search *s, FILE *out)
{
	struct sn_text site = { 0 };
	double share = sn_search_asleep(s, &site);

	if (share > s->options.threshold)
		fprintf(out,
			"  %.3f   asleep, as the program asks for%s%s: no loss by itself ('sonde show waits')\n\n",
			share, site.length ? ", longest in " : "", site.chars ? site.chars : "");
	sn_text_free(&site);
}

/* Whether any property of a section was asked: of what was not, nothing is said. */
static bool was_asked(const struct sn_search *s, enum section section)
{
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct sn_candidate *c = &s->candidates.items[i];

		/* hosts tell of no step, but of what holds */
		if ((c->step || !isnan(c->severity)) &&
		    section_of(s->library->properties.items[c->what.property]) == section)
			return true;
	}
	return false;
}

static void times_print(const struct sn_search *s, FILE *out)
{
	if (!was_asked(s, TIME))
		return;
	fputs("Where the time goes\n\n", out);
	if (!findings_print(s, TIME, LOCATORS_SHOWN, out))
		fprintf(out, "  no region above %.3f\n\n", s->options.threshold);
	asleep_print(s, out);
}

/* Exit statuses above are of signals, by the shell's rule. */
enum { SIGNALLED = 128 };

/* Those of a place that is passed often are far shorter than a millisecond. */
static void executions_print(const struct sn_search *s, FILE *out)
{
	struct sn_text mean = { 0 };

	if (s->phase.mean_s < 0.001)
		sn_text_add_duration(&mean, s->phase.mean_s);
	else
		sn_text_addf(&mean, "%.3f s", s->phase.mean_s);
	fprintf(out, "%u execution%s of %s on the average, %.3f s together", s->phase.executions,
		plural(s->phase.executions), mean.chars, s->phase.executions * s->phase.mean_s);
	sn_text_free(&mean);
}

void sn_search_write_text(const struct sn_search *s, FILE *out)
{
	const struct sn_tables *t = s->recorded->tables;
	size_t lanes = (size_t)sn_search_lanes(t);
	struct sn_text left_out = { 0 };
	uint32_t candidates = 0;
	/* of a start that failed there are no values here */
	int status = s->failed && s->recorded->profile
			     ? s->recorded->profile->experiment->exit_status
			     : s->exit_status;

	for (size_t i = 0; i < s->steps.count; i++)
		candidates += s->steps.items[i].candidates;
	fprintf(out, "Search of %s, strategy %s: %zu step%s, %u candidate%s; ",
		sn_search_experiment_name(s), s->strategy->name, s->steps.count,
		plural(s->steps.count), candidates, plural(candidates));
	/* seconds in sentences are those of all executions together */
	if (!strcmp(s->options.mode, "phases"))
		executions_print(s, out);
	else
		fprintf(out, "phase of %.3f s", s->phase.mean_s);
	fprintf(out, ", %zu lane%s\n\n", lanes, plural(lanes));
	sn_search_left_out_print(s, &left_out);
	if (left_out.chars)
		fprintf(out,
			"Left out: rank%s %s passed no execution that was measured, so all below is of the "
			"other ranks\n\n",
			strpbrk(left_out.chars, "-,") ? "s" : "", left_out.chars);
	sn_text_free(&left_out);
	if (status > SIGNALLED)
		fprintf(out,
			"The program ended with status %d, as by signal %d (%s): all this is of its run "
			"until then\n\n",
			status, status - SIGNALLED, strsignal(status - SIGNALLED));
	else if (status > 0)
		fprintf(out, "The program ended with status %d\n\n", status);
	if (s->failed)
		fputs("A further start of the program failed: its values are left out\n\n", out);
	fprintf(out,
		s->options.severity == SN_SEVERITY_RATE
			? "By rate, as each property defines it; what has none is time lost, as a share "
			  "of all lanes%s\n\n"
			: "Time lost, as a share of all lanes%s\n\n",
		s->recorded && s->recorded->tables->members[SN_KEY_PROCESS].count > 1
			? " of the processes that a row names"
			: "");
	if (!findings_print(s, LOST, SIZE_MAX, out))
		nothing_print(s, out);
	findings_print(s, MACHINE, SIZE_MAX, out);
	findings_print(s, LATE, LOCATORS_SHOWN, out);
	times_print(s, out);
	findings_print(s, MEMORY, LOCATORS_SHOWN, out);
	missing_print(s, out);
	bad_files_print(s, out);
}
