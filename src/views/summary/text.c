/* The summary as a page of text. Lines of tables are built in a buffer and cut to the width. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/text.h"
#include "profile/event_profile.h"
#include "views/summary/rate.h"
#include "views/summary/summary.h"
#include "views/summary/text_page.h"

static const char *dot(const struct sn_text_page *page)
{
	return page->is_utf8 ? " · " : ", ";
}

static const char *seconds_digits(char digits[32], double seconds)
{
	snprintf(digits, 32, seconds >= 100 ? "%.1f" : seconds >= 1 ? "%.2f" : "%.3f", seconds);
	return digits;
}

static void add_seconds(struct sn_text *line, double seconds)
{
	char digits[32];

	sn_text_addf(line, "%s%s", isnan(seconds) ? "?" : seconds_digits(digits, seconds),
		     isnan(seconds) ? "" : " s");
}

/* `share` of `columns` columns, in eighths where the terminal can show them. */
static void add_bar(const struct sn_text_page *page, struct sn_text *line, double share,
		    size_t columns)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	size_t steps = share > 0 ? (size_t)lround(share * (double)columns * 8) : 0, shown;
	size_t from = line->length;

	if (steps > columns * 8)
		steps = columns * 8;
	if (share > 0 && !steps)
		steps = 1;
	shown = steps / 8;
	if (!page->is_utf8) {
		shown = (steps + 4) / 8;
		sn_text_add_repeated(line, '#', shown);
	} else {
		for (size_t i = 0; i < shown; i++)
			sn_text_add(line, "█");
		sn_text_add(line, eighths[steps % 8]);
		shown += steps % 8 != 0;
	}
	sn_page_set_off(page, from, line->length, page->style->bar);
	sn_text_add_repeated(line, ' ', columns - shown);
}

/* ---- the head ---- */

static bool is_clock_off(const struct sn_summary *s)
{
	return s->clock_mechanism && !strcmp(s->clock_mechanism, "off");
}

/* Bounds where they round to something else. */
static void put_overhead(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;

	if (isnan(s->overhead_share))
		return;
	if (isnan(s->overhead_share_high))
		sn_text_addf(line, "%soverhead over %.0f %%", dot(page), 100 * s->overhead_share);
	else
		sn_text_addf(line, "%soverhead %.1f %%", dot(page), 100 * s->overhead_share);
	if (s->overhead_share_high - s->overhead_share > 0.002)
		sn_text_addf(line, " [%.1f-%.1f]", 100 * s->overhead_share_low,
			     100 * s->overhead_share_high);
	if (s->own_cpu_s >= 0.01) {
		sn_text_add(line, " and ");
		add_seconds(line, s->own_cpu_s);
		sn_text_add(line, " of sonde's own");
	}
}

static void put_head(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;
	const struct sn_experiment *e = s->profile->experiment;
	size_t name = strlen(e->name), room;
	struct sn_text one_line = { 0 };
	const char *command = e->arguments[0] ? e->arguments : e->program;

	room = page->width > name + 9 ? page->width - name - 9 : 20;
	sn_text_add(line, "sonde: ");
	sn_text_add(&one_line, command);
	for (char *c = one_line.chars; c && *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	sn_text_elide_command(&one_line, room);
	sn_page_add_cell(line, one_line.chars ? one_line.chars : "", room);
	sn_text_free(&one_line);
	sn_text_add(line, "  ");
	sn_text_add_printable(line, e->name, name);
	sn_page_put_line(page, line);
	add_seconds(line, s->elapsed_s);
	sn_text_addf(line, " elapsed%s", dot(page));
	if (s->processes > 1) {
		sn_text_add_count(line, s->processes);
		sn_text_add(line, " processes");
		if (s->images > s->processes) {
			sn_text_add(line, " (");
			sn_text_add_count(line, s->images);
			sn_text_add(line, " programs)");
		}
		sn_text_add(line, dot(page));
	}
	sn_text_add_count(line, s->threads);
	sn_text_addf(line, s->threads == 1 ? " thread%s" : " threads%s", dot(page));
	add_seconds(line, isnan(s->cpu_s) ? s->sampled_cpu_s : s->cpu_s);
	sn_text_add(line, " CPU");
	if (!isnan(s->user_s)) {
		sn_text_add(line, " (user ");
		add_seconds(line, s->user_s);
		sn_text_add(line, ", system ");
		add_seconds(line, s->system_s);
		sn_text_add_char(line, ')');
	}
	sn_page_put_facts(page, line);
	sn_text_add_count(line, s->samples);
	sn_text_addf(line, s->samples == 1 ? " sample%s" : " samples%s", dot(page));
	sn_text_add_count(line, s->lost);
	sn_text_add(line, " lost");
	if (is_clock_off(s))
		sn_text_addf(line, "%sclock off", dot(page));
	else if (s->clock_mechanism) {
		sn_text_add(line, dot(page));
		sn_summary_rate_text(s, line);
	}
	put_overhead(page, line);
	if (e->exit_status > 0)
		sn_text_addf(line, "%sexit status %d", dot(page), e->exit_status);
	if (s->profile->is_filtered)
		sn_text_addf(line, "%sfiltered", dot(page));
	sn_page_put_facts(page, line);
	for (size_t i = 0; i < s->death_count; i++) {
		sn_page_set_off(page, 0, strlen(" Died:"), page->style->poor);
		sn_page_put_wrapped(page, line, " Died: ", s->warnings.items[i]);
	}
}

/* ---- the verdict and what it rests on ---- */

static const char *trust_mark(const struct sn_text_page *page, enum sn_trust trust)
{
	static const enum sn_quality marks[] = { SN_QUALITY_GOOD, SN_QUALITY_FAIR,
						 SN_QUALITY_POOR };

	return sn_quality_mark(marks[trust], page->is_utf8);
}

static void put_finding(const struct sn_text_page *page, struct sn_text *line,
			const struct sn_finding *finding)
{
	const char *const styles[] = { page->style->good, page->style->fair, page->style->poor };
	struct sn_text first = { 0 };
	char digits[32];

	sn_page_set_off(page, 1, 1 + strlen(trust_mark(page, finding->confidence)),
			styles[finding->confidence]);
	sn_text_addf(&first, " %s %8s  ", trust_mark(page, finding->confidence),
		     seconds_digits(digits, finding->seconds));
	if (isnan(finding->share))
		sn_text_add(&first, "         ");
	else
		sn_text_addf(&first, "%5.1f %%  ", 100 * finding->share);
	sn_page_put_wrapped(page, line, first.chars, finding->sentence);
	sn_page_put_wrapped(page, line,
			    page->is_utf8 ? "                     → " : "                     > ",
			    finding->remedy);
	sn_text_free(&first);
}

static void put_verdict(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_answer *v = &page->summary->verdict;
	struct sn_text words = { 0 };

	sn_page_put_line(page, line);
	sn_text_addf(&words, "%s (confidence%s: %s)", v->sentence, v->goes_on ? " in both" : "",
		     sn_trust_name(v->confidence));
	sn_page_set_off(page, 0, strlen(" Verdict: ") + strcspn(v->sentence, ":."),
			page->style->strong);
	sn_page_put_wrapped(page, line, " Verdict: ", words.chars);
	sn_text_free(&words);
	sn_page_put_line(page, line);
	sn_text_add(line, "   seconds  of time  what is at stake, and what to do");
	sn_page_put_heading(page, line);
	for (size_t i = 0; i < v->count; i++)
		put_finding(page, line, &v->findings[i]);
}

/* ---- elapsed and categories, side by side ---- */

/* Bars shrink with the page; names and figures do not. */
static size_t bar_columns(const struct sn_text_page *page)
{
	return page->width >= 140 ? 30 : page->width >= 100 ? 18 : page->width >= 90 ? 12 : 7;
}

static size_t left_columns(const struct sn_text_page *page)
{
	return 30 + bar_columns(page);
}

static void add_left_row(const struct sn_text_page *page, struct sn_text *line, const char *name,
			 double seconds)
{
	const struct sn_summary *s = page->summary;
	double share = seconds / s->threads_elapsed_s;

	sn_text_add(line, "   ");
	sn_page_add_cell(line, name, 16);
	if (isnan(share)) {
		sn_page_add_cell(line, "not measured", left_columns(page) - 19);
		return;
	}
	add_bar(page, line, share, bar_columns(page));
	sn_text_addf(line, "%6.1f %%", 100 * share);
	sn_text_add_repeated(line, ' ', 3);
}

static int category_order(const void *left, const void *right, void *context)
{
	const double *shares = context;
	int x = *(const int *)left, y = *(const int *)right;

	if (shares[x] != shares[y])
		return shares[x] > shares[y] ? -1 : 1;
	return x - y;
}

/* Where the program is more than one file: what is whose, as far as there is room. */
static void add_modules(const struct sn_text_page *page, struct sn_text *line)
{
	enum { NAME_COLUMNS_LEAST = 12, FIGURE_COLUMNS = 6 };
	const struct sn_profile *p = page->summary->profile;
	uint32_t modules[2];
	size_t count = sn_program_modules(p, modules, 2);
	struct sn_text name = { 0 };

	for (size_t i = 0; count > 1 && i < count; i++) {
		double share = sn_share(p->program_ns[modules[i]], p->total.cpu_ns);
		size_t used = sn_utf8_columns(line->chars) + 2 + FIGURE_COLUMNS;

		if (share < 0.0005 || used + NAME_COLUMNS_LEAST > page->width)
			break;
		sn_text_clear(&name);
		sn_text_add(&name, sn_program_module_name(p->program, modules[i]));
		sn_text_elide(&name, page->width - used);
		sn_text_addf(line, "%s%s %.1f", i ? ", " : "  ", name.chars, 100 * share);
	}
	sn_text_free(&name);
}

static void add_right_row(const struct sn_text_page *page, struct sn_text *line, int category)
{
	const struct sn_summary *s = page->summary;
	double spin = sn_share(s->profile->spin_ns[category], s->profile->total.cpu_ns);

	sn_text_add(line, "  ");
	sn_page_add_cell(line, sn_category_name((enum sn_category)category), 9);
	add_bar(page, line, s->category_shares[category], bar_columns(page));
	sn_text_addf(line, "%6.1f %%", 100 * s->category_shares[category]);
	if (category == SN_CATEGORY_PROGRAM)
		add_modules(page, line);
	if (spin >= 0.0005)
		sn_text_addf(line, "  %.1f %% spin", 100 * spin);
}

struct bar {
	const char *name;
	double seconds;
};

enum { BARS_MAX = 6 };

/* What the threads' time went to. Waiting for own workers is none of being blocked: the workers'
 * time stands here, too. A killed thread leaves no account of its waiting: the sum of both is known
 * all the same. */
static size_t bars_of(const struct sn_summary *s, struct bar *bars)
{
	bool has_waiting = !isnan(s->threads_wait_cpu_s) || isnan(s->threads_off_cpu_s);
	double workers = has_waiting ? fmin(s->threads_workers_s, s->threads_blocked_s) : 0;
	double spin = fmin(s->threads_spin_s, s->threads_user_s);
	size_t count = 0;

	bars[count++] = (struct bar){ "user code", s->threads_user_s - (spin > 0 ? spin : 0) };
	if (spin >= 0.001 * s->threads_elapsed_s)
		bars[count++] = (struct bar){ "spinning", spin };
	bars[count++] = (struct bar){ "system", s->threads_system_s };
	if (!has_waiting) {
		bars[count++] = (struct bar){ "not running", s->threads_off_cpu_s };
		return count;
	}
	bars[count++] = (struct bar){ "waiting for CPU", s->threads_wait_cpu_s };
	if (workers >= 0.001 * s->threads_elapsed_s)
		bars[count++] = (struct bar){ "own workers", workers };
	bars[count++] =
		(struct bar){ "blocked", s->threads_blocked_s - (workers > 0 ? workers : 0) };
	return count;
}

static void put_shares(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;
	struct bar bars[BARS_MAX];
	size_t rows = bars_of(s, bars);
	bool has_left = !isnan(s->threads_elapsed_s) && s->threads_elapsed_s > 0;
	int order[SN_CATEGORIES];
	size_t shown = 0;

	for (int c = 0; c < SN_CATEGORIES; c++)
		order[c] = c;
	if (s->samples || s->sampled_cpu_s > 0) {
		qsort_r(order, SN_CATEGORIES, sizeof(int), category_order,
			(void *)s->category_shares);
		while (shown < SN_CATEGORIES && s->category_shares[order[shown]] >= 0.0005)
			shown++;
	}
	sn_page_put_line(page, line);
	if (has_left) {
		size_t at_work = s->threads - s->threads_idle;
		struct sn_text title = { 0 };

		if (at_work == 1)
			sn_text_add(&title, " Elapsed time of the thread");
		else
			sn_text_addf(&title, " Elapsed time of %zu threads", at_work);
		if (s->threads_idle)
			sn_text_addf(&title,
				     page->width < 100 ? " (%zu idle)" : " (%zu idle left out)",
				     s->threads_idle);
		sn_page_add_cell(line, title.chars, left_columns(page));
		sn_text_free(&title);
	}
	sn_text_add(line, shown ? " CPU time by kind of work" : "");
	sn_page_put_heading(page, line);
	for (size_t i = 0; i < (has_left ? rows : 0) || i < shown; i++) {
		if (has_left && i < rows)
			add_left_row(page, line, bars[i].name, bars[i].seconds);
		else if (has_left)
			sn_text_add_repeated(line, ' ', left_columns(page));
		if (i < shown)
			add_right_row(page, line, order[i]);
		sn_page_put_line(page, line);
	}
	if (!isnan(s->loops_share)) {
		sn_text_addf(line, "   %.1f %% of CPU time in loops, %.1f %% in innermost loops",
			     100 * s->loops_share, 100 * s->innermost_share);
		sn_page_put_line(page, line);
	}
}

/* ---- tables ---- */

static void add_share(const struct sn_text_page *page, struct sn_text *line, size_t rank,
		      uint64_t samples, double share, struct sn_interval interval, double seconds)
{
	char range[32], time[32];

	snprintf(range, sizeof(range), "%.1f-%.1f", 100 * interval.low, 100 * interval.high);
	snprintf(time, sizeof(time),
		 seconds >= 100 ? "%.1f"
		 : seconds >= 1 ? "%.2f"
				: "%.3f",
		 seconds);
	sn_text_addf(line, " %2zu %s %5.1f %%  %-11s %8s  ", rank,
		     sn_quality_mark(sn_quality_of(samples), page->is_utf8), 100 * share, range,
		     time);
}

enum { SHARE_COLUMNS = 36 };

/* One column of so many beyond the usual width, at most so many. */
static size_t wider(const struct sn_text_page *page, size_t of, size_t most)
{
	size_t more = page->width > 100 ? (page->width - 100) / of : 0;

	return more < most ? more : most;
}

/* Below this share of CPU time a row is no hot one; the first two are shown all the same. */
static bool is_worth_a_row(const struct sn_summary *s, size_t row, const struct sn_weight *weight)
{
	return row < 2 || sn_share(weight->cpu_ns, s->profile->total.cpu_ns) >= 0.005;
}

/* One of the names of a column, so that it differs from the others. */
static void add_name(struct sn_text *line, const char *const *names, size_t count, size_t i,
		     const char *suffix, size_t columns)
{
	struct sn_text name = { 0 };

	sn_text_add(&name, names[i]);
	sn_text_elide_among(&name, columns - strlen(suffix), names, count);
	sn_text_add(&name, suffix);
	sn_page_add_cell(line, name.chars, columns);
	sn_text_free(&name);
}

/* What tells where a loop is, beside its label: an address is in the label already. */
static const char *around(const struct sn_program *program, const struct sn_program_loop *loop)
{
	const struct sn_program_function *function = &program->functions.items[loop->function];

	return sn_name_is_address(function->name)
		       ? sn_program_module_name(program, function->module)
		       : function->name;
}

static void put_loops(const struct sn_text_page *page, struct sn_text *line, size_t rows)
{
	const struct sn_summary *s = page->summary;
	const struct sn_program *program = s->profile->program;
	size_t name = page->width >= 90 ? 26 + wider(page, 2, 40) : 18,
	       rest = page->width > SHARE_COLUMNS + name + 12
			      ? page->width - SHARE_COLUMNS - name - 12
			      : 16;

	const char *names[SN_SUMMARY_ROWS] = { 0 };

	if (!s->loop_count)
		return;
	for (size_t i = 0; i < s->loop_count; i++)
		names[i] = around(program, &program->loops.items[s->loops[i].loop]);
	sn_page_put_line(page, line);
	sn_text_addf(line, "  #   CPU     95 %%          seconds  %-*s  thr dev  in function",
		     (int)name, "hottest source loops");
	sn_page_put_heading(page, line);
	for (size_t i = 0; i < s->loop_count && i < rows; i++) {
		const struct sn_summary_loop *row = &s->loops[i];
		const struct sn_program_loop *loop = &program->loops.items[row->loop];
		char parts[32] = "";

		if (!is_worth_a_row(s, i, &row->exclusive))
			break;
		add_share(page, line, row->rank, row->exclusive.samples,
			  sn_share(row->exclusive.cpu_ns, s->profile->total.cpu_ns), row->share,
			  (double)row->exclusive.cpu_ns / 1e9);
		sn_page_add_cell(line, loop->code->label, name);
		if (isnan(row->deviation))
			sn_text_add(line, "        -  ");
		else
			sn_text_addf(line, "  %7.2f  ", row->deviation);
		if (row->parts > 1)
			snprintf(parts, sizeof(parts), " (%u parts)", row->parts);
		add_name(line, names, s->loop_count, i, parts, rest);
		sn_page_put_line(page, line);
	}
}

static void put_functions(const struct sn_text_page *page, struct sn_text *line, size_t rows)
{
	const struct sn_summary *s = page->summary;
	const struct sn_program *program = s->profile->program;
	const char *names[SN_SUMMARY_ROWS];
	size_t module = 16 + wider(page, 5, 16),
	       rest = page->width > SHARE_COLUMNS + module + 11
			      ? page->width - SHARE_COLUMNS - module - 11
			      : 16;

	if (!s->function_count)
		return;
	for (size_t i = 0; i < s->function_count; i++)
		names[i] = program->functions.items[s->functions[i]].name;
	sn_page_put_line(page, line);
	sn_text_addf(line, "  #   CPU     95 %%          seconds  %-*s  with callees  module",
		     (int)rest - 5, "hottest functions");
	sn_page_put_heading(page, line);
	for (size_t i = 0; i < s->function_count && i < rows; i++) {
		uint32_t f = s->functions[i];
		const struct sn_metrics *m = &s->profile->functions[f];

		if (!is_worth_a_row(s, i, &m->exclusive))
			break;
		add_share(page, line, i + 1, m->exclusive.samples,
			  sn_share(m->exclusive.cpu_ns, s->profile->total.cpu_ns),
			  m->exclusive_share, (double)m->exclusive.cpu_ns / 1e9);
		add_name(line, names, s->function_count, i, "", rest);
		sn_text_addf(line, "%6.1f %%  ",
			     100 * sn_share(m->inclusive.cpu_ns, s->profile->total.cpu_ns));
		sn_page_add_cell(
			line, sn_program_module_name(program, program->functions.items[f].module),
			module);
		sn_page_put_line(page, line);
	}
}

/* The path of a wait's main stack, from the call up, functions only. */
static void add_path(struct sn_text *text, const struct sn_program *program, uint32_t stack)
{
	struct sn_step_vec steps = { 0 };
	size_t shown = 0;

	sn_program_stack_steps(program, stack, &steps);
	for (size_t i = steps.count; i-- > 0 && shown < 8;) {
		if (steps.items[i].kind != SN_STEP_FUNCTION)
			continue;
		sn_text_addf(text, "%s%s", shown ? " < " : "",
			     program->functions.items[steps.items[i].index].name);
		shown++;
	}
	sn_vec_free(&steps);
}

static void put_waits(const struct sn_text_page *page, struct sn_text *line, size_t rows)
{
	const struct sn_summary *s = page->summary;
	const struct sn_program *program = s->profile->program;

	if (!s->waits.items.count || !rows)
		return;
	sn_page_put_line(page, line);
	sn_text_add(line, "  #  blocked s    waits  kind       what waits, and who called it");
	sn_page_put_heading(page, line);
	for (size_t i = 0; i < s->waits.items.count && i < rows; i++) {
		const struct sn_wait_group *g = &s->waits.items.items[i];
		struct sn_text path = { 0 }, at = { 0 };
		size_t room;

		sn_text_addf(line, " %2zu %10.3f %8llu  %-9s  ", i + 1, (double)g->blocked_ns / 1e9,
			     (unsigned long long)g->waits,
			     sn_wait_kind_name((enum sn_wait_kind)g->kind));
		add_path(&path, program, g->stack);
		if (g->line != SN_NONE && program->lines.items[g->line].line)
			sn_text_addf(&at, "  %s:%u",
				     sn_base_name(program->lines.items[g->line].file),
				     program->lines.items[g->line].line);
		room = page->width > 36 + at.length ? page->width - 36 - at.length : 20;
		if (path.length < room)
			room = path.length;
		sn_page_add_cell(line, path.chars ? path.chars : "", room);
		sn_text_add(line, at.chars ? at.chars : "");
		sn_text_free(&at);
		sn_text_free(&path);
		sn_page_put_line(page, line);
	}
}

/* ---- compile options ---- */

static void put_compile(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;

	for (size_t i = 0; i < s->compile_count && i < 3; i++) {
		const struct sn_compile_facts *f = &s->compile[i];
		struct sn_text missing = { 0 };

		sn_compile_missing(f, &missing);
		if (missing.length) {
			sn_text_add(line, " ");
			sn_text_add(line, sn_program_module_name(s->profile->program, f->module));
			if (f->compiler[0])
				sn_text_addf(line, ", by %s", f->compiler);
			sn_text_addf(line, ", compiled without (%% of its time): %s",
				     missing.chars);
			sn_page_put_facts(page, line);
		}
		sn_text_free(&missing);
	}
}

/* ---- the foot ---- */

static void put_events(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_experiment *e = page->summary->profile->experiment;

	for (uint32_t i = 0; i < e->events.count; i++) {
		struct sn_text words = { 0 };

		sn_event_add_words(e, i, &words);
		if (i + 1 == e->events.count)
			sn_text_add(&words, " (sonde show counters)");
		sn_page_put_wrapped(page, line, i ? "         " : " Events: ", words.chars);
		sn_text_free(&words);
	}
}

static void put_notes(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;
	enum { NOTES_MAX = 6 };

	size_t told = 0, count = s->warnings.count - s->minor_count - s->death_count;

	for (size_t i = s->death_count; i < s->warnings.count && told < NOTES_MAX; i++)
		if (!sn_summary_is_minor(s, i))
			sn_page_put_wrapped(page, line,
					    told++ ? "       " : " Note: ", s->warnings.items[i]);
	if (count > told) {
		sn_text_addf(line, "       and %zu more: sonde show summary --format json",
			     count - told);
		sn_page_put_line(page, line);
	}
}

/* Waiting for own workers aside: these are looked at themselves. */
static bool is_mostly_blocked(const struct sn_summary *s)
{
	double blocked_s = isnan(s->threads_blocked_s) ? (double)s->profile->total.wait_ns / 1e9
						       : s->threads_blocked_s;

	return blocked_s - s->threads_workers_s > 0.5 * s->threads_elapsed_s;
}

/* Commands joined by dots, as many as fit. */
static void add_commands(const struct sn_text_page *page, struct sn_text *line,
			 const char *const *commands)
{
	for (const char *const *c = commands; *c; c++) {
		if (c > commands && line->length + strlen(*c) + 4 > page->width)
			return;
		sn_text_addf(line, "%s%s", c > commands ? dot(page) : "", *c);
	}
}

/* What shows the findings, in their order; then the views that always help. */
static size_t commands_of(const struct sn_summary *s, const char **commands, size_t limit)
{
	static const char *const always[] = { "sonde show functions", "sonde show tree",
					      "sonde explain WORD" };
	enum { ALWAYS = sizeof(always) / sizeof(*always) };
	size_t count = 0;

	for (size_t i = 0; i < s->verdict.count + ALWAYS && count < limit; i++) {
		const char *command = i < s->verdict.count
					      ? sn_verdict_command(s->verdict.findings[i].kind)
					      : always[i - s->verdict.count];
		/* sampled from outside there are no waits to show */
		bool is_new = s->waits.items.count || strcmp(command, "sonde show waits") != 0;

		for (size_t k = 0; k < count; k++)
			is_new &= strcmp(commands[k], command) != 0;
		if (is_new)
			commands[count++] = command;
	}
	return count;
}

static void put_next(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;
	const char *commands[5] = { NULL };

	sn_text_add(line, " Next: ");
	if (s->samples)
		commands_of(s, commands, 4);
	else
		commands[0] = s->waits.items.count ? "sonde show waits"
			      : is_clock_off(s)	   ? "sonde show threads"
						   : "sonde doctor";
	add_commands(page, line, commands);
	sn_page_put_line(page, line);
}

static void put_nothing(const struct sn_text_page *page, struct sn_text *line)
{
	const struct sn_summary *s = page->summary;

	sn_page_put_line(page, line);
	if (is_clock_off(s))
		sn_text_add(line, " No samples: the clock was off, as asked.");
	else if (s->cpu_s > 0.05)
		sn_text_addf(line, " No sample is left of %.3f s of CPU time; the notes say why.",
			     s->cpu_s);
	else if (s->sampled_cpu_s > 0)
		sn_text_addf(line,
			     " No sample was taken: %.1f ms of CPU time is less than the clock's "
			     "period.",
			     1000 * s->sampled_cpu_s);
	else
		sn_text_add(line,
			    " No sample was taken: the program used no CPU time to speak of.");
	sn_page_put_line(page, line);
}

void sn_summary_print(const struct sn_summary *s, FILE *out, bool is_utf8, unsigned width)
{
	struct sn_text_spans spans = { 0 };
	struct sn_text_page page = {
		s, out, is_utf8, width ? width : 100, sn_terminal_style(out), &spans
	};
	struct sn_text line = { 0 };
	bool is_blocked = is_mostly_blocked(s), is_short = s->verdict.count <= 3;
	/* findings name where it waits; the table is for programs that hardly do else */
	size_t waits = is_blocked ? 4 : 0,
	       loops = is_blocked ? 3
		       : is_short ? 8
				  : 5,
	       functions = is_blocked ? 4
			   : is_short ? 8
				      : 6;

	if (page.width < 80) /* a terminal that wraps loses nothing, a cut number is lost */
		page.width = 80;
	put_head(&page, &line);
	put_verdict(&page, &line);
	put_waits(&page, &line, waits);
	if (!s->samples)
		put_nothing(&page, &line);
	put_loops(&page, &line, loops);
	put_functions(&page, &line, functions);
	put_shares(&page, &line);
	sn_page_put_line(&page, &line);
	put_compile(&page, &line);
	if (s->causal_words && !s->causal_finding_count)
		sn_page_put_wrapped(&page, &line, " If it were faster: ", s->causal_words);
	if (s->heap_words)
		sn_page_put_wrapped(&page, &line, " Heap: ", s->heap_words);
	put_events(&page, &line);
	put_notes(&page, &line);
	put_next(&page, &line);
	sn_text_free(&line);
}
