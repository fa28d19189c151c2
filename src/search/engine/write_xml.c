/* The result as XML, in the elements of PTF's psc_properties.xsd. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "search/engine/parts.h"

static void element(FILE *out, const char *indent, const char *name, const char *value)
{
	struct sn_text text = { 0 };

	sn_text_add_html(&text, value ? value : "");
	fprintf(out, "%s<%s>%s</%s>\n", indent, name, text.chars ? text.chars : "", name);
	sn_text_free(&text);
}

static void attribute(FILE *out, const char *name, const char *value)
{
	struct sn_text text = { 0 };

	sn_text_add_html(&text, value ? value : "");
	fprintf(out, " %s=\"%s\"", name, text.chars ? text.chars : "");
	sn_text_free(&text);
}

static void evidence_write(const struct sn_search *s, const struct sn_finding *f, FILE *out)
{
	const struct sn_property *property = sn_finding_property(s, f);

	fputs("    <addInfo>\n", out);
	for (size_t i = 0; i < property->evidence.count; i++) {
		struct sn_text value = { 0 };

		sn_prop_value_print_whole(f->recorded->tables,
					  property->evidence.items[i].expr->type, f->evidence[i],
					  &value);
		element(out, "      ", property->evidence.items[i].name, value.chars);
		sn_text_free(&value);
	}
	element(out, "      ", "severity_unit", sn_severity_name(sn_finding_unit(s, f)));
	fputs("    </addInfo>\n", out);
}

static void finding_write(const struct sn_search *s, size_t index, FILE *out)
{
	const struct sn_finding *f = &s->findings.items[index];
	const struct sn_tables *t = f->recorded->tables;
	const struct sn_member *region = sn_finding_region(s, f);

	fprintf(out, "  <property cluster=\"%s\" ID=\"%zu\">\n",
		f->members.count > 1 ? "true" : "false", index);
	element(out, "    ", "name", sn_finding_property(s, f)->name);
	fputs("    <context", out);
	attribute(out, "FileID", "0");
	attribute(out, "FileName", region ? region->file : NULL);
	fprintf(out, " RFL=\"%u\"", region ? region->line_first : 0);
	attribute(out, "Region", region ? region->name : "program");
	fputs(">\n", out);
	for (size_t i = 0; i < f->members.count; i++) {
		const struct sn_finding_member *m = &f->members.items[i];

		fputs("      <execObj", out);
		attribute(out, "process", t->members[SN_KEY_PROCESS].items[m->process].id);
		attribute(out, "thread",
			  m->thread == SN_ALL ? "0"
					      : t->members[SN_KEY_THREAD].items[m->thread].id);
		fputs("/>\n", out);
	}
	fprintf(out, "    </context>\n    <severity>%.6f</severity>\n", f->severity);
	fprintf(out, "    <confidence>%.6f</confidence>\n", f->confidence);
	evidence_write(s, f, out);
	fputs("  </property>\n", out);
}

/* Values that no recorded run is behind are of no date. */
static void started_write(const struct sn_search *s, FILE *out)
{
	time_t started;
	struct tm when;
	char text[32];

	if (!s->recorded->profile)
		return;
	started = (time_t)(s->recorded->profile->experiment->started_realtime_ns / 1000000000);
	gmtime_r(&started, &when);
	strftime(text, sizeof(text), "%Y-%m-%d", &when);
	element(out, "  ", "date", text);
	strftime(text, sizeof(text), "%H:%M:%S", &when);
	element(out, "  ", "time", text);
}

void sn_search_write_xml(const struct sn_search *s, FILE *out)
{
	const struct sn_tables *t = s->recorded->tables;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Experiment"
	      " xmlns=\"http://www.lrr.in.tum.de/Periscope\"\n"
	      "  xmlns:psc=\"http://www.lrr.in.tum.de/Periscope\">\n",
	      out);
	started_write(s, out);
	fprintf(out, "  <numProcs>%zu</numProcs>\n  <numThreads>%zu</numThreads>\n",
		t->members[SN_KEY_PROCESS].count, t->members[SN_KEY_THREAD].count);
	if (s->recorded->profile) {
		const struct sn_experiment *e = s->recorded->profile->experiment;

		element(out, "  ", "dir", sn_experiment_given_path(e));
		element(out, "  ", "rev", e->version);
	}
	for (size_t i = 0; i < s->findings.count; i++)
		if (!s->findings.items[i].is_left_out)
			finding_write(s, i, out);
	fputs("</Experiment>\n", out);
}
