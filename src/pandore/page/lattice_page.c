/* The lattices' part of the page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "pandore/lattice/compare.h"
#include "pandore/lattice/draw.h"
#include "pandore/lattice/instant.h"
#include "pandore/lattice/integer.h"
#include "pandore/lattice/places.h"
#include "pandore/page/page.h"

enum { COLUMNS_MAX = 1000, SEGMENTS_MAX = 300, PLACES_MAX = 12, RACES_DRAWN = 5 };

static void add_tile(struct sn_text *html, const char *name, const char *value)
{
	sn_text_addf(html, "<div><dt>%s</dt><dd>", name);
	sn_text_add_html(html, value);
	sn_text_add(html, "</dd></div>\n");
}

static void add_count(struct sn_text *html, const char *name, uint64_t count)
{
	struct sn_text digits = { 0 };

	sn_text_add_count(&digits, count);
	add_tile(html, name, digits.chars);
	sn_text_free(&digits);
}

static void add_limbs(struct sn_text *html, const char *name, const uint64_t *number,
		      unsigned limbs)
{
	struct sn_text digits = { 0 };

	if (limbs == 1)
		sn_text_add_count(&digits, number[0]);
	else
		sn_limbs_add_decimal(&digits, number, limbs);
	add_tile(html, name, digits.chars);
	sn_text_free(&digits);
}

static void add_real(struct sn_text *html, const char *name, double value)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%.4g", value);
	add_tile(html, name, isnan(value) ? "unknown" : digits);
}

static void add_seconds(struct sn_text *html, const char *name, double value)
{
	static const char *const units[] = { "s", "ms", "µs", "ns" };
	char digits[32];
	int unit = 0;

	while (value < 1 && unit < 3) {
		value *= 1000;
		unit++;
	}
	snprintf(digits, sizeof(digits), "%.4g %s", value, units[unit]);
	add_tile(html, name, digits);
}

static void add_tiles(struct sn_text *html, const struct sn_lattice_answer *answer)
{
	const struct sn_lattice_profile *profile = &answer->profile;
	double measured_s = sn_lattice_answer_measured_wait_s(answer);

	sn_text_add(html, "<dl class=\"tiles\">\n");
	add_real(html, "events per step", sn_lattice_answer_per_step(answer));
	add_real(html, "possible next, by level", sn_lattice_mean_of_levels(profile));
	if (sn_lattice_answer_is_exact(answer)) {
		const struct sn_lattice_window *whole = &profile->windows.items[0];

		add_limbs(html, "cuts", whole->counts.cuts, whole->counts.limbs);
		add_limbs(html, "arcs", whole->counts.arcs, whole->counts.limbs);
		add_real(html, "mean over cuts", sn_lattice_window_mean(whole));
	} else {
		add_tile(html, "cuts", "not counted whole");
		add_count(html, "windows", profile->windows.count);
	}
	add_count(html, "processes", profile->process_count);
	add_count(html, "events", profile->event_count);
	add_count(html, "longest chain", answer->depth);
	add_count(html, "synchronisations", profile->synchronisation_count);
	if (answer->schedule.critical_s > 0) {
		add_seconds(html, "work", answer->schedule.work_s);
		add_seconds(html, "critical path", answer->schedule.critical_s);
		add_real(html, "potential parallelism",
			 answer->schedule.work_s / answer->schedule.critical_s);
		add_seconds(html, "waiting by the order alone", answer->schedule.wait_s);
		if (!isnan(measured_s))
			add_seconds(html, "waiting, measured", measured_s);
		if (!isnan(answer->schedule.elapsed_s)) {
			add_seconds(html, "first to last event", answer->schedule.elapsed_s);
			add_real(html, "realised parallelism",
				 answer->schedule.work_s / answer->schedule.elapsed_s);
		}
	}
	sn_text_add(html, "</dl>\n");
}

static void add_notices(struct sn_text *html, const struct sn_lattice_answer *answer)
{
	if (answer->fault) {
		sn_text_add(html, "<p class=\"notice\">The trace is faulty; this is the part that "
				  "holds together. ");
		sn_text_add_html(html, answer->fault);
		sn_text_add(html, "</p>\n");
	}
	if (answer->run.cpu_count) {
		sn_text_add(html, "<p class=\"notice\">");
		sn_lattice_add_crowding(answer, html);
		sn_text_add(html, ".</p>\n");
	}
	if (answer->profile.stopped_by)
		sn_text_addf(html,
			     "<p class=\"notice\">The budget of %s was not enough to count the "
			     "whole lattice: these are windows, each exact in itself.</p>\n",
			     answer->profile.stopped_by);
}

/* Text of several lines, escaped line by line. */
static void write_lines(const char *chars, const char *attributes, FILE *out)
{
	struct sn_text html = { 0 };

	for (const char *line = chars; *line;) {
		size_t length = strcspn(line, "\n");
		char *copy = sn_alloc_zeroed(length + 1, 1);

		memcpy(copy, line, length);
		sn_text_add_html(&html, copy);
		sn_text_add(&html, "\n");
		free(copy);
		line += length + (line[length] == '\n');
	}
	fprintf(out, "<pre%s>%s</pre>\n", attributes, html.chars ? html.chars : "");
	sn_text_free(&html);
}

/* The answer as text stands in for table and chart where scripts do not run. */
static void write_static(const struct sn_lattice_answer *answer, FILE *out)
{
	char *chars = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&chars, &length);

	if (!memory)
		return;
	sn_lattice_write_text(answer, 10, memory);
	fclose(memory);
	write_lines(chars, " class=\"only-static\"", out);
	free(chars);
}

static void write_instant(const struct sn_lattice_instant *instant, FILE *out)
{
	fputs("<div class=\"drawn\" tabindex=\"0\" role=\"group\" "
	      "aria-label=\"drawing of an instant\">\n",
	      out);
	sn_lattice_draw_instant(instant, out);
	fputs("</div>\n", out);
}

/* Receives that could have met another message, each at the instant at which both are on their way. */
static void write_races(const struct sn_lattice_answer *answer, FILE *out)
{
	const struct sn_lattice_run *run = &answer->run;
	unsigned drawn = 0;

	if (!run->wildcard_count)
		return;
	fprintf(out,
		"<h3>Receives from any source</h3>\n<p>%llu; other messages that they could have "
		"met: %zu%s</p>\n",
		(unsigned long long)run->wildcard_count, run->race_count,
		run->race_count ? ". Another run may take them in another order." : ".");
	for (size_t i = 0; i < run->race_count && drawn < RACES_DRAWN; i++) {
		struct sn_lattice_instant instant;

		if (sn_lattice_race_is_repeated(answer, i))
			continue;
		drawn++;
		sn_lattice_instant_of_race(answer->execution, &run->races[i],
					   "A receive that could have met another message",
					   &instant);
		write_instant(&instant, out);
		sn_lattice_instant_free(&instant);
	}
}

static void write_end(const struct sn_lattice_answer *answer, FILE *out)
{
	struct sn_lattice_instant instant;
	struct sn_text html = { 0 };

	if (!answer->run.ended_early)
		return;
	sn_text_add_html(&html, answer->run.ended_early);
	fprintf(out, "<h3>The end</h3>\n<p class=\"notice\">%s.</p>\n", html.chars);
	sn_lattice_instant_of_end(answer->execution, "The last call of each process", &instant);
	write_instant(&instant, out);
	sn_lattice_instant_free(&instant);
	sn_text_free(&html);
}

void sn_page_condition_body(const struct sn_page_condition *condition, FILE *out)
{
	struct sn_lattice_instant instant;
	char *chars = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&chars, &length);

	if (!memory)
		return;
	sn_property_write_text(condition->text, condition->execution, condition->answer, memory);
	fclose(memory);
	fputs("<section class=\"panel\"><h2>Condition</h2>\n", out);
	write_lines(chars, "", out);
	if (condition->answer->witness) {
		sn_lattice_instant_of_witness(condition->execution, condition->property,
					      condition->answer->witness, condition->text,
					      &instant);
		write_instant(&instant, out);
		sn_lattice_instant_free(&instant);
	}
	fputs("</section>\n", out);
	free(chars);
}

void sn_page_lattice_body(const struct sn_pandore_page *page, FILE *out)
{
	if (page->answer_count > 1)
		fputs("<section class=\"panel\" id=\"compared\" hidden><h2>Side by side</h2>"
		      "</section>\n",
		      out);
	for (size_t i = 0; i < page->answer_count; i++) {
		const struct sn_lattice_answer *answer = &page->answers[i];
		struct sn_text html = { 0 };

		sn_text_addf(&html, "<section class=\"panel\" id=\"lattice-%zu\"><h2>", i);
		sn_text_add_html(&html, answer->name ? answer->name : "lattice");
		sn_text_add(&html, "</h2>\n");
		add_notices(&html, answer);
		add_tiles(&html, answer);
		fputs(html.chars, out);
		sn_text_free(&html);
		fputs("<div class=\"drawn\" tabindex=\"0\" role=\"group\" "
		      "aria-label=\"drawing of the lattice\">\n",
		      out);
		sn_lattice_draw_svg(answer, 1, SN_DRAW_EXACT_CUTS, out);
		fputs("</div>\n", out);
		write_end(answer, out);
		write_races(answer, out);
		write_static(answer, out);
		fputs("</section>\n", out);
	}
}

/* ---- data ---- */

static double mean_of(const struct sn_lattice_profile *profile, uint32_t first, uint32_t last)
{
	double sum = 0;
	uint32_t known = 0;

	for (uint32_t k = first; k < last; k++)
		if (!isnan(profile->level_mean[k])) {
			sum += profile->level_mean[k];
			known++;
		}
	return known ? sum / known : NAN;
}

static void write_levels(struct sn_json *json, const struct sn_lattice_profile *profile)
{
	uint64_t levels = profile->event_count;
	uint64_t columns = levels < COLUMNS_MAX ? levels : COLUMNS_MAX;

	sn_json_key(json, "mean");
	sn_json_array(json);
	for (uint64_t c = 0; c < columns; c++) {
		double mean = mean_of(profile, (uint32_t)(c * levels / columns),
				      (uint32_t)((c + 1) * levels / columns));

		sn_json_double(json, isnan(mean) ? mean : round(mean * 1e4) / 1e4);
	}
	sn_json_close(json);
	sn_json_key(json, "whole");
	sn_json_array(json);
	for (uint64_t c = 0; c < columns; c++) {
		uint32_t k = (uint32_t)(c * levels / columns);
		bool is_whole = true;

		for (; k < (c + 1) * levels / columns; k++)
			is_whole = is_whole && profile->level_is_whole[k];
		sn_json_int(json, is_whole);
	}
	sn_json_close(json);
}

static void write_places(struct sn_json *json, const char *key,
			 const struct sn_lattice_answer *answer, const struct sn_segment *segment,
			 enum sn_segment_list list)
{
	struct sn_text lines = { 0 };

	sn_segment_add_places(&lines, answer->execution, segment, list, "", PLACES_MAX);
	sn_json_key(json, key);
	sn_json_array(json);
	for (char *line = lines.chars, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n'); /* every line has one */
		*end = 0;
		sn_json_string(json, line);
	}
	sn_json_close(json);
	sn_text_free(&lines);
}

static void write_segment(struct sn_json *json, const struct sn_lattice_answer *answer, size_t i)
{
	const struct sn_segment *segment = &answer->segments.items.items[i];

	sn_json_object(json);
	sn_json_member_uint(json, "number", i + 1);
	sn_json_member_uint(json, "first", segment->level_first);
	sn_json_member_uint(json, "last", segment->level_last);
	sn_json_member_double(json, "mean", segment->mean_out_degree);
	sn_json_member_double(json, "lost_s", segment->time_lost_s);
	sn_json_member_double(json, "busy", segment->mean_busy);
	write_places(json, "acts", answer, segment, SN_SEGMENT_ACTS);
	write_places(json, "waits", answer, segment, SN_SEGMENT_WAITS);
	sn_json_close(json);
}

static void write_answer(struct sn_json *json, const struct sn_lattice_answer *answer, size_t i)
{
	size_t count = answer->segments.items.count;
	char id[32];

	snprintf(id, sizeof(id), "lattice-%zu", i);
	sn_json_object(json);
	sn_json_member_string(json, "id", id);
	sn_json_member_uint(json, "events", answer->profile.event_count);
	sn_json_member_uint(json, "active", answer->profile.active_count);
	write_levels(json, &answer->profile);
	sn_json_member_uint(json, "segmentCount", count);
	sn_json_key(json, "segments");
	sn_json_array(json);
	for (size_t s = 0; s < count && s < SEGMENTS_MAX; s++)
		write_segment(json, answer, s);
	sn_json_close(json);
	sn_json_close(json);
}

/* The rows of 'sonde lattice A B --format json'. */
static void write_comparison(const struct sn_pandore_page *page, FILE *out)
{
	struct sn_table_view view = { .schema = "sonde.lattice-comparison/1",
				      .format = SN_FORMAT_JSON };
	struct sn_table table;
	struct sn_error err;

	sn_lattice_compare(page->answers, page->answer_count, &table);
	fputs("<script type=\"application/json\" id=\"comparison\">", out);
	sn_table_write(&table, &view, out, NULL, NULL, &err); /* no column is named: cannot fail */
	fputs("</script>\n", out);
	sn_table_free(&table);
}

void sn_page_lattice_data(const struct sn_pandore_page *page, FILE *out)
{
	struct sn_json json = { .out = out };

	fputs("<script type=\"application/json\" id=\"lattices\">", out);
	sn_json_array(&json);
	for (size_t i = 0; i < page->answer_count; i++)
		write_answer(&json, &page->answers[i], i);
	sn_json_close(&json);
	fputs("</script>\n", out);
	if (page->answer_count > 1 || page->profile_count)
		write_comparison(page, out);
}
