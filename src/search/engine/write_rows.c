/*
 * The result as lines of words, which stay in the experiment (search.tsv): `sonde show searched` and the page read
 * them. Tabs separate; the first line names the version.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "search/engine/parts.h"

/* No line of ours is broken by what stands in a name. */
static void word_put(const char *chars, FILE *out)
{
	struct sn_text text = { 0 };

	if (chars)
		sn_text_add_printable(&text, chars, strlen(chars));
	fprintf(out, "\t%s", text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void number_put(double value, FILE *out)
{
	if (isnan(value))
		fputs("\t", out);
	else
		fprintf(out, "\t%.9g", value);
}

/* "0-2: 0.12; 3: 0.40": who, and the mean of a class. */
static void classes_add(const struct sn_finding *f, struct sn_text *out)
{
	size_t count = f->members.count, firsts[SN_CLASSES_MAX], classes;
	struct sn_finding_member *sorted = sn_search_members_sorted(f);
	double *severities = sn_alloc_zeroed(count + 1, sizeof(*severities));
	uint32_t *indices = sn_alloc_zeroed(count + 1, sizeof(*indices));

	for (size_t i = 0; i < count; i++)
		severities[i] = sorted[i].severity;
	classes = sn_search_classes(severities, count, firsts);
	for (size_t c = 0; c < classes; c++) {
		size_t end = c + 1 < classes ? firsts[c + 1] : count;
		double sum = 0;

		for (size_t i = firsts[c]; i < end; i++) {
			indices[i - firsts[c]] = sorted[i].process;
			sum += sorted[i].severity;
		}
		sn_text_add(out, c ? "; " : "");
		sn_search_set_print(f->recorded->tables->members[SN_KEY_PROCESS].items, indices,
				    end - firsts[c], out);
		sn_text_addf(out, ": %.3f", sum / (double)(end - firsts[c]));
	}
	free(indices);
	free(severities);
	free(sorted);
}

static void path_add(const struct sn_search *s, const struct sn_finding *f, struct sn_text *out)
{
	size_t count = 0;
	uint32_t *path =
		f->what.region == SN_ALL ? NULL : sn_search_path(s, f->what.region, &count);

	for (size_t i = 0; i < count; i++) {
		const struct sn_member *r =
			&s->recorded->tables->members[SN_KEY_REGION].items[path[i]];

		sn_text_add(out, i ? " > " : " Path: ");
		sn_member_add_shown(r, out);
	}
	free(path);
	if (count)
		sn_text_add_char(out, '.');
}

static void sentence_add(const struct sn_search *s, const struct sn_finding *f, struct sn_text *out)
{
	const struct sn_property *property = sn_finding_property(s, f);

	if (sn_finding_explain(s, f, out))
		sn_text_add_char(out, '.');
	if (property->hint)
		sn_text_addf(out, " What to do: %s.", property->hint);
	path_add(s, f, out);
}

static void row_put(const struct sn_search *s, const struct sn_finding *f, const char *kind,
		    FILE *out)
{
	const struct sn_member *region = sn_finding_region(s, f);
	struct sn_text text[4] = { 0 };

	sn_search_who_print(f, SN_KEY_PROCESS, &text[0]);
	sn_search_who_print(f, SN_KEY_THREAD, &text[1]);
	if (f->recorded->tables->members[SN_KEY_PROCESS].count > 1)
		classes_add(f, &text[2]);
	sentence_add(s, f, &text[3]);
	fputs(kind, out);
	word_put(sn_finding_property(s, f)->name, out);
	number_put(f->severity, out);
	number_put(sn_finding_low(f), out);
	number_put(sn_finding_high(s, f), out);
	number_put(f->confidence, out);
	word_put(region ? region->name ? region->name : region->id : NULL, out);
	word_put(region ? region->file : NULL, out);
	number_put(region && region->line_first ? (double)region->line_first : NAN, out);
	word_put(text[0].chars, out);
	word_put(text[1].chars, out);
	word_put(text[2].chars, out);
	number_put(f->step, out);
	word_put(text[3].chars, out);
	fputc('\n', out);
	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		sn_text_free(&text[i]);
}

/* In the text's order: what the program loses, what other work takes, where time is spent. */
enum part { LOST, MACHINE, PLACES, PARTS };

static enum part part_of(const struct sn_property *property)
{
	return sn_search_is_locator(property)	   ? PLACES
	       : sn_search_is_of_machine(property) ? MACHINE
						   : LOST;
}

/* Severest first; what may as well be nothing comes last. */
static void findings_put(const struct sn_search *s, enum part part, FILE *out)
{
	for (int unsure = 0; unsure < 2; unsure++)
		for (size_t i = 0; i < s->findings.count; i++) {
			const struct sn_finding *f = &s->findings.items[i];
			const struct sn_property *property = sn_finding_property(s, f);

			if (f->is_left_out || (f->refined && !sn_search_is_exclusive(property)) ||
			    part_of(property) != part || sn_finding_may_be_nothing(f) != unsure)
				continue;
			row_put(s, f,
				part == PLACES ? "place" : sn_severity_name(sn_finding_unit(s, f)),
				out);
		}
}

/* In the sentence of what is not measurable for the reason that others are not. */
static const char same_of[] = ". The same goes for ";

static void missing_sentence_add(const struct sn_search *s, const struct sn_missing_groups *groups,
				 uint32_t group, const struct sn_not_measurable *first,
				 struct sn_text *out)
{
	struct sn_text others = { 0 };

	sn_text_add(out, sn_interned_chars(&groups->reasons, group));
	if (first->severity_at_most > 0)
		sn_text_addf(out, ": the loss is 0 to %.3f", first->severity_at_most);
	if (sn_missing_names_add(s, groups, group, 1, &others) > 1)
		sn_text_addf(out, "%s%s", same_of, others.chars);
	sn_text_free(&others);
}

/* One line for each reason: the first property has it, its sentence names the others. */
static void missing_put(const struct sn_search *s, FILE *out)
{
	struct sn_missing_groups groups;
	uint32_t told = 0;

	sn_missing_groups_make(s, &groups);
	for (size_t i = 0; i < s->not_measurable.count; i++) {
		const struct sn_not_measurable *missing = &s->not_measurable.items[i];
		struct sn_text text = { 0 };

		if (groups.group_of[i] != told)
			continue; /* reasons have numbers in the order in which they come */
		missing_sentence_add(s, &groups, told++, missing, &text);
		fputs("unmeasured", out);
		word_put(s->library->properties.items[missing->property]->name, out);
		fputs("\t\t\t\t\t\t\t\t\t\t\t", out);
		word_put(text.chars, out);
		fputc('\n', out);
		sn_text_free(&text);
	}
	sn_missing_groups_free(&groups);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void bad_files_put(const struct sn_search *s, FILE *out)
{
	for (size_t i = 0; i < s->library->files.count; i++) {
		const struct sn_prop_file *file = s->library->files.items[i];
		struct sn_text text = { 0 };

		if (!file->diags.errors)
			continue;
		sn_text_addf(&text, "%zu error%s in this file: none of its properties was asked",
			     (size_t)file->diags.errors, plural((size_t)file->diags.errors));
		fputs("unmeasured", out);
		word_put(file->name, out);
		fputs("\t\t\t\t\t\t\t\t\t\t\t", out);
		word_put(text.chars, out);
		fputc('\n', out);
		sn_text_free(&text);
	}
}

/* Of a step's sentence where the program was run for it. */
static const char of_the_phase[] = " of the phase";

/* A step that measured something with those after it that did not. */
static struct sn_search_step steps_join(const struct sn_search *s, size_t first, size_t *end)
{
	struct sn_search_step joined = s->steps.items[first];

	for (*end = first + 1; *end < s->steps.count && !s->steps.items[*end].executions; ++*end) {
		const struct sn_search_step *step = &s->steps.items[*end];

		joined.candidates += step->candidates;
		joined.proven += step->proven;
		joined.not_measurable += step->not_measurable;
		joined.elapsed_s += step->elapsed_s;
	}
	return joined;
}

static void step_put(const struct sn_search *s, size_t first, size_t end,
		     const struct sn_search_step *step, FILE *out)
{
	/* else it was evaluated on what was there */
	const bool has_run = step->executions && strcmp(s->options.mode, "experiment") != 0;
	struct sn_text text = { 0 };

	if (end > first + 1)
		sn_text_addf(&text,
			     "with steps %zu to %zu, which measured nothing anew: ", first + 2,
			     end);
	sn_text_addf(&text, "%u candidate%s, %u proven, %u not measurable; ", step->candidates,
		     plural(step->candidates), step->proven, step->not_measurable);
	if (has_run)
		sn_text_addf(&text, "%u execution%s%s; in all ", step->executions,
			     plural(step->executions), of_the_phase);
	else
		sn_text_add(&text, "evaluated in ");
	sn_text_add_duration(&text, step->elapsed_s);
	if (has_run)
		sn_text_addf(&text, ", of which measuring took %.1f %%",
			     100 * step->overhead_share);
	else if (step->executions > 1)
		sn_text_addf(&text, " on %u executions%s", step->executions, of_the_phase);
	fputs("step\t\t\t\t\t\t\t\t\t\t\t", out);
	number_put((double)(first + 1), out);
	word_put(text.chars, out);
	fputc('\n', out);
	sn_text_free(&text);
}

static void steps_put(const struct sn_search *s, FILE *out)
{
	size_t end;

	for (size_t first = 0; first < s->steps.count; first = end) {
		const struct sn_search_step step = steps_join(s, first, &end);

		step_put(s, first, end, &step, out);
	}
}

void sn_search_write_rows(const struct sn_search *s, FILE *out)
{
	fputs("sonde.searched/1\n", out);
	for (int part = LOST; part < PARTS; part++)
		findings_put(s, (enum part)part, out);
	missing_put(s, out);
	bad_files_put(s, out);
	steps_put(s, out);
}

/* How many properties a line tells of. */
static size_t properties_of(const char *line)
{
	const char *others = strstr(line, same_of);
	size_t count = others ? 2 : 1;

	while (others && (others = strstr(others + 1, ", ")) != NULL)
		count++;
	return count;
}

size_t sn_search_rows_unmeasured(FILE *in)
{
	char *line = NULL;
	size_t room = 0, unmeasured = 0;
	bool has_run = false;

	while (getline(&line, &room, in) > 0) {
		if (!strncmp(line, "unmeasured\t", strlen("unmeasured\t")))
			unmeasured += properties_of(line);
		has_run |= !strncmp(line, "step\t", strlen("step\t")) && strstr(line, of_the_phase);
	}
	free(line);
	return has_run ? unmeasured : SIZE_MAX;
}
