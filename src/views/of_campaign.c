/* Views of a campaign: rows of one run of each configuration, and what only several can say. */
#include "views/of_campaign.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "code/options.h"
#include "compare/compare.h"
#include "views/compile.h"
#include "views/parts.h"

enum { O_CONFIGURATION, O_EXPERIMENT, O_RUNS, OWN_COLUMNS };

static const struct sn_column own_columns[OWN_COLUMNS] = {
	{ "configuration", "configuration", SN_CELL_TEXT, 0 },
	{ "experiment", NULL, SN_CELL_TEXT, 0 },
	{ "runs", NULL, SN_CELL_INT, 0 },
};

/* A configuration that has runs; its rows in the table are [first, end). */
struct member {
	uint32_t configuration;
	const struct sn_campaign_attempt *shown; /* whose rows are in the table */
	size_t runs, first, end;
	SN_VEC(struct sn_compare_run) compared; /* all runs; read when first asked for */
};

struct sheet {
	const struct sn_view *view;
	const struct sn_analysis_options *options;
	struct sn_campaign *campaign;
	struct sn_column *columns; /* of the table's arena */
	struct sn_table table;
	SN_VEC(struct member) members;
	bool is_filtered;
};

/* ---- runs ---- */

/* How far a run's elapsed time is from the median of its siblings. */
static double distance(double median_s, const struct sn_campaign_attempt *a)
{
	return isnan(a->facts.elapsed_s) ? INFINITY : fabs(a->facts.elapsed_s - median_s);
}

static void member_add(struct sheet *s, uint32_t configuration)
{
	const struct sn_campaign_state *state = s->campaign->state;
	struct member member = { .configuration = configuration };
	double *elapsed_s = sn_alloc_zeroed(state->attempts.count + 1, sizeof(*elapsed_s));
	size_t known = 0;
	double median_s;

	for (size_t i = 0; i < state->attempts.count; i++) {
		const struct sn_campaign_attempt *a = &state->attempts.items[i];

		if (a->configuration != configuration || !sn_campaign_can_be_read(s->campaign, a))
			continue;
		member.runs++;
		if (!isnan(a->facts.elapsed_s))
			elapsed_s[known++] = a->facts.elapsed_s;
	}
	median_s = sn_median(elapsed_s, known);
	for (size_t i = 0; i < state->attempts.count; i++) {
		const struct sn_campaign_attempt *a = &state->attempts.items[i];

		if (a->configuration == configuration && sn_campaign_can_be_read(s->campaign, a) &&
		    (!member.shown || a->level > member.shown->level ||
		     (a->level == member.shown->level &&
		      distance(median_s, a) < distance(median_s, member.shown))))
			member.shown = a;
	}
	free(elapsed_s);
	if (member.shown)
		sn_vec_push(&s->members, member);
}

static const char *name_of(const struct sheet *s, const struct member *member)
{
	return sn_campaign_configuration_name(s->campaign, member->configuration);
}

/* ---- the table ---- */

static size_t column_of(const struct sn_table *table, const char *key)
{
	size_t column = 0;

	while (column < table->column_count && strcmp(table->columns[column].key, key) != 0)
		column++;
	return column;
}

static struct sn_cell *cell_at(const struct sn_table *table, size_t row, const char *key)
{
	size_t column = column_of(table, key);

	assert(column < table->column_count);
	return &table->cells.items[row * table->column_count + column];
}

static const char *text_at(const struct sn_table *table, size_t row, const char *key)
{
	const struct sn_cell *cell = cell_at(table, row, key);

	return cell->is_known ? cell->text : NULL;
}

static void row_copy(const struct sn_table *from, size_t row, struct sn_table *to)
{
	for (size_t c = 0; c < from->column_count; c++) {
		const struct sn_cell *cell = &from->cells.items[row * from->column_count + c];
		struct sn_cell *copy =
			&to->cells.items[(to->row_count - 1) * to->column_count + OWN_COLUMNS + c];

		*copy = *cell;
		if (cell->is_known && from->columns[c].kind == SN_CELL_TEXT)
			copy->text = sn_arena_strdup(&to->arena, cell->text);
	}
}

/* The row with the most of what the view is sorted by that is not taken yet. */
static size_t next_row(const struct sn_table *table, size_t column, const bool *is_taken)
{
	size_t best = SIZE_MAX;

	for (size_t row = 0; row < table->row_count; row++) {
		if (is_taken[row])
			continue;
		if (best == SIZE_MAX ||
		    (column < table->column_count &&
		     table->cells.items[row * table->column_count + column].real >
			     table->cells.items[best * table->column_count + column].real))
			best = row;
	}
	return best;
}

static void rows_add(struct sheet *s, const struct member *member, const struct sn_table *rows)
{
	size_t column = s->view->sort ? column_of(rows, s->view->sort) : rows->column_count;
	bool *is_taken = sn_alloc_zeroed(rows->row_count + 1, sizeof(*is_taken));

	for (size_t i = 0; i < rows->row_count; i++) {
		size_t row = next_row(rows, column, is_taken);

		is_taken[row] = true;
		sn_table_add_row(&s->table);
		sn_table_set_text(&s->table, O_CONFIGURATION, name_of(s, member));
		sn_table_set_text(&s->table, O_EXPERIMENT, member->shown->experiment);
		sn_table_set_int(&s->table, O_RUNS, (int64_t)member->runs);
		row_copy(rows, row, &s->table);
	}
	free(is_taken);
}

static sn_status run_open(const struct sheet *s, const struct sn_campaign_attempt *attempt,
			  struct sn_analysis **out, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status;

	sn_campaign_experiment_path(s->campaign, attempt, &path);
	status = sn_analysis_open(path.chars, s->options, out, err);
	sn_text_free(&path);
	return status;
}

static sn_status member_read(struct sheet *s, struct member *member, struct sn_error *err)
{
	struct sn_analysis *analysis;
	struct sn_view_input input = { 0 };
	struct sn_table rows;
	sn_status status = run_open(s, member->shown, &analysis, err);

	if (status != SN_OK)
		return status;
	s->is_filtered = analysis->profile->is_filtered;
	input.profile = analysis->profile;
	input.structures = analysis->structures;
	input.machine = sn_analysis_machine(analysis);
	if (member == s->members.items && input.machine->warning[0])
		sn_warn("%s", input.machine->warning);
	sn_table_init(&rows, s->view->columns, s->view->column_count);
	status = s->view->fill(&input, &rows, err);
	member->first = s->table.row_count;
	if (status == SN_OK)
		rows_add(s, member, &rows);
	member->end = s->table.row_count;
	sn_table_free(&rows);
	sn_analysis_free(analysis);
	return status;
}

static sn_status members_read(struct sheet *s, struct sn_error *err)
{
	struct sn_progress progress;
	sn_status status = SN_OK;

	sn_progress_begin(&progress, "reading runs", s->members.count);
	for (size_t m = 0; m < s->members.count && status == SN_OK; m++) {
		sn_progress_update(&progress, m);
		status = member_read(s, &s->members.items[m], err);
	}
	sn_progress_end(&progress);
	return status;
}

/* ---- times, over all runs ---- */

static void mean_set(struct sheet *s, const struct member *member, size_t row, bool is_elapsed)
{
	const struct sn_campaign_state *state = s->campaign->state;
	double *seconds = sn_alloc_zeroed(state->attempts.count + 1, sizeof(*seconds));
	size_t count = 0;
	double mean, half;

	for (size_t i = 0; i < state->attempts.count; i++) {
		const struct sn_campaign_attempt *a = &state->attempts.items[i];
		double value = is_elapsed ? a->facts.elapsed_s : a->facts.cpu_s;

		if (a->configuration == member->configuration && !isnan(value) &&
		    sn_campaign_can_be_read(s->campaign, a))
			seconds[count++] = value;
	}
	mean = sn_mean(seconds, count);
	half = count > 1 ? sn_student_t(0.05, (double)count - 1) * sn_deviation(seconds, count) /
				   sqrt((double)count)
			 : 0;
	if (count > 1) {
		cell_at(&s->table, row, "value")->real = mean;
		cell_at(&s->table, row, "low")->real = fmax(0, mean - half);
		cell_at(&s->table, row, "high")->real = mean + half;
	}
	free(seconds);
}

static void means_set(struct sheet *s)
{
	for (size_t m = 0; m < s->members.count && !s->is_filtered; m++)
		for (size_t row = s->members.items[m].first; row < s->members.items[m].end; row++) {
			const char *metric = text_at(&s->table, row, "metric");

			if (!strcmp(metric, "elapsed") || !strcmp(metric, "cpu"))
				mean_set(s, &s->members.items[m], row, metric[0] == 'e');
		}
}

/* ---- what options bring ---- */

/* Whether the two differ in their program alone, as builds do. */
static bool are_builds(const struct sn_campaign *c, uint32_t one, uint32_t other)
{
	const struct sn_campaign_configuration *a, *b;

	if (one >= c->plan->configurations.count || other >= c->plan->configurations.count)
		return false;
	a = &c->plan->configurations.items[one];
	b = &c->plan->configurations.items[other];
	return !strcmp(a->arguments, b->arguments) && !strcmp(a->dataset, b->dataset) &&
	       !strcmp(a->pin, b->pin) && a->ranks == b->ranks && a->threads == b->threads &&
	       a->nodes == b->nodes && a->per_node == b->per_node &&
	       (strcmp(a->build, b->build) != 0 || strcmp(a->program, b->program) != 0);
}

/* Whether a list as "-O3, -march=native" has the option; NULL has none. */
static bool lists(const char *list, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = list; at && *at;) {
		size_t next = strcspn(at, ",");

		if (next == length && !strncmp(at, option, length))
			return true;
		at += next + strspn(at + next, ", ");
	}
	return false;
}

/* How many options of a list "-O3, -march=native" are not in another; SIZE_MAX if that has one that this has not. */
static size_t options_more(const char *lacks, const char *other_lacks)
{
	size_t more = 0;

	for (size_t i = 0; i < SN_MISSING_COUNT; i++) {
		const char *word = sn_missing_option_words[i];
		bool is_here = lists(lacks, word);
		bool is_there = lists(other_lacks, word);

		if (i == SN_MISSING_LINES)
			continue;
		if (is_there && !is_here)
			return SIZE_MAX;
		more += is_here && !is_there;
	}
	return more;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* The configuration that compiled the row's unit with most of the options that it lacks, by the same compiler; NULL. */
static struct member *with_options(struct sheet *s, const struct member *member, size_t row)
{
	const struct sn_table *t = &s->table;
	const char *lacks = text_at(t, row, "compiled_without");
	struct member *best = NULL;
	size_t most = 0;

	for (size_t m = 0; m < s->members.count && lacks; m++) {
		struct member *other = &s->members.items[m];

		if (!are_builds(s->campaign, member->configuration, other->configuration))
			continue;
		for (size_t r = other->first; r < other->end; r++) {
			size_t more;

			if (!is_same(text_at(t, row, "unit_file"), text_at(t, r, "unit_file")) ||
			    !is_same(text_at(t, row, "compiler"), text_at(t, r, "compiler")) ||
			    !text_at(t, r, "options"))
				continue;
			more = options_more(lacks, text_at(t, r, "compiled_without"));
			if (more != SIZE_MAX && more > most) {
				most = more;
				best = other;
			}
		}
	}
	return best;
}

static sn_status compared_read(struct sheet *s, struct member *member, struct sn_error *err)
{
	const struct sn_campaign_state *state = s->campaign->state;
	sn_status status = SN_OK;

	for (size_t i = 0; i < state->attempts.count && status == SN_OK && !member->compared.count;
	     i++)
		for (size_t k = i; k < state->attempts.count && status == SN_OK; k++) {
			const struct sn_campaign_attempt *a = &state->attempts.items[k];
			struct sn_compare_run run = { 0 };
			struct sn_analysis *analysis;

			if (a->configuration != member->configuration ||
			    !sn_campaign_can_be_read(s->campaign, a))
				continue;
			status = run_open(s, a, &analysis, err);
			if (status != SN_OK)
				continue;
			sn_compare_run_fill(&run, analysis->profile);
			sn_vec_push(&member->compared, run);
			sn_analysis_free(analysis);
		}
	return status;
}

/* Elapsed time without the options over that with them. */
static struct sn_compile_gain gain_between(const struct member *without, const struct member *with)
{
	struct sn_comparison *c = sn_compare(without->compared.items, without->compared.count,
					     with->compared.items, with->compared.count, NULL);
	struct sn_compile_gain gain = { NAN, NAN, NAN, "measured", NULL };

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct sn_compare_row *row = &c->rows.items[i];

		if (row->entry.kind != SN_COMPARE_TOTAL ||
		    strcmp(row->entry.function, "elapsed") != 0)
			continue;
		gain.value = row->base_s / (row->base_s + row->difference_s);
		gain.low = row->base_s / (row->base_s + row->difference_interval.high);
		/* beyond what the whole takes there is no upper bound */
		if (row->base_s + row->difference_interval.low > 0)
			gain.high = row->base_s / (row->base_s + row->difference_interval.low);
	}
	sn_comparison_free(c);
	return gain;
}

static sn_status gains_set(struct sheet *s, struct sn_error *err)
{
	sn_status status = SN_OK;

	for (size_t m = 0; m < s->members.count && status == SN_OK; m++) {
		struct member *member = &s->members.items[m], *known = NULL;
		struct sn_compile_gain gain = { 0 };

		for (size_t row = member->first; row < member->end && status == SN_OK; row++) {
			struct member *with = with_options(s, member, row);

			if (!with)
				continue;
			if (with != known) {
				status = compared_read(s, member, err);
				if (status == SN_OK)
					status = compared_read(s, with, err);
				if (status != SN_OK)
					break;
				gain = gain_between(member, with);
				gain.from = name_of(s, with);
				known = with;
			}
			if (!isnan(gain.value))
				sn_compile_set_gain(&s->table, row, OWN_COLUMNS, &gain);
		}
	}
	return status;
}

/* ---- text ---- */

static void figure_add(const struct sn_table *t, size_t row, struct sn_text *out)
{
	const struct sn_cell *value = cell_at(t, row, "value"), *low = cell_at(t, row, "low"),
			     *high = cell_at(t, row, "high");
	bool is_ratio = is_same(text_at(t, row, "unit"), "ratio");
	double most = high->is_known ? high->real : value->is_known ? value->real : 0;
	int decimals = most >= 100 ? 0 : is_ratio ? 2 : 3;

	if (value->is_known)
		sn_text_addf(out, "%.*f", decimals, value->real);
	if (!low->is_known || !high->is_known || low->real >= high->real)
		return;
	if (value->is_known)
		sn_text_addf(out, " [%.*f-%.*f]", decimals, low->real, decimals, high->real);
	else
		sn_text_addf(out, "%.*f-%.*f", decimals, low->real, decimals, high->real);
}

/* A row a metric, a column a configuration. All configurations have the same metrics in the same order. */
static sn_status turned_put(const struct sheet *s, struct sn_table_view *how, FILE *out,
			    struct sn_error *err)
{
	size_t count = s->members.count;
	struct sn_column *columns = sn_alloc_zeroed(count + 2, sizeof(*columns));
	struct sn_table_view view = { .width = how->width, .top = how->top, .may_leave_out = true };
	struct sn_table turned;
	sn_status status;

	columns[0] = (struct sn_column){ "metric", "metric", SN_CELL_TEXT, 0 };
	columns[1] = (struct sn_column){ "unit", "unit", SN_CELL_TEXT, 0 };
	for (size_t m = 0; m < count; m++) {
		const char *name = name_of(s, &s->members.items[m]);

		columns[2 + m] = (struct sn_column){ name, name, SN_CELL_TEXT, 0 };
	}
	sn_table_init(&turned, columns, count + 2);
	for (size_t row = s->members.items[0].first; row < s->members.items[0].end; row++) {
		sn_table_add_row(&turned);
		sn_table_set_text(&turned, 0, text_at(&s->table, row, "metric"));
		sn_table_set_text(&turned, 1, text_at(&s->table, row, "unit"));
		for (size_t m = 0; m < count; m++) {
			size_t at = s->members.items[m].first + row - s->members.items[0].first;
			struct sn_text text = { 0 };

			figure_add(&s->table, at, &text);
			sn_table_set_text(&turned, 2 + m, text.chars);
			sn_text_free(&text);
		}
	}
	status = sn_table_write(&turned, &view, out, NULL, NULL, err);
	sn_table_free(&turned);
	free(columns);
	return status;
}

/* The first configuration's sentences stand for those of all, which mostly are the same. */
static void reasons_put(const struct sheet *s, FILE *out)
{
	const struct member *first = &s->members.items[0];
	struct sn_table rows;

	sn_table_init(&rows, s->view->columns, s->view->column_count);
	for (size_t row = first->first; row < first->end; row++) {
		sn_table_add_row(&rows);
		for (size_t c = 0; c < rows.column_count; c++)
			rows.cells.items[(rows.row_count - 1) * rows.column_count + c] =
				s->table.cells.items[row * s->table.column_count + OWN_COLUMNS + c];
	}
	fprintf(out, "Of %s:\n", name_of(s, first));
	s->view->put_below(&rows, out);
	sn_table_free(&rows);
}

static sn_status table_put(struct sheet *s, struct sn_table_view *how, FILE *out,
			   struct sn_error *err)
{
	bool is_plain = how->format == SN_FORMAT_TEXT && !how->columns && !how->filter;
	bool is_turned = s->view->put_below && is_plain && !how->sort;
	struct sn_text columns = { 0 }, schema = { 0 }, left_out = { 0 };
	sn_status status;

	sn_text_addf(&schema, "sonde.campaign-%s/1", s->view->name);
	sn_text_addf(&columns, "configuration,%s", s->view->text_columns);
	how->schema = schema.chars;
	how->experiment = sn_base_name(s->campaign->path);
	how->may_leave_out = !how->columns;
	how->whole_column = "configuration,options_bring";
	if (!how->columns && how->format == SN_FORMAT_TEXT)
		how->columns = columns.chars;
	else if (how->columns && !strcmp(how->columns, "all"))
		how->columns = NULL;
	if (how->format == SN_FORMAT_TEXT)
		fprintf(out,
			"%s: one run of each configuration ('--format json' names it); elapsed and cpu are means over "
			"all of its runs\n",
			sn_campaign_given_path(s->campaign));
	if (s->view->tidy && is_plain && how->top)
		s->view->tidy(&s->table, OWN_COLUMNS, &left_out);
	status = is_turned ? turned_put(s, how, out, err)
			   : sn_table_write(&s->table, how, out, NULL, NULL, err);
	if (status == SN_OK && left_out.length)
		fprintf(out, "%s\n", left_out.chars);
	sn_text_free(&left_out);
	if (status == SN_OK && is_turned)
		reasons_put(s, out);
	how->columns = how->schema = NULL;
	sn_text_free(&columns);
	sn_text_free(&schema);
	return status;
}

static void sheet_free(struct sheet *s)
{
	for (size_t m = 0; m < s->members.count; m++) {
		for (size_t r = 0; r < s->members.items[m].compared.count; r++)
			sn_compare_run_free(&s->members.items[m].compared.items[r]);
		sn_vec_free(&s->members.items[m].compared);
	}
	sn_vec_free(&s->members);
	sn_table_free(&s->table);
	sn_campaign_free(s->campaign);
}

/* Reads the runs; what it has opened is freed by sheet_free, also where it fails. */
static sn_status sheet_read(struct sheet *s, const char *campaign, struct sn_error *err)
{
	const struct sn_view *view = s->view;
	sn_status status = sn_campaign_open(campaign, &s->campaign, err);

	if (status != SN_OK)
		return status;
	sn_table_init(&s->table, NULL, OWN_COLUMNS + view->column_count);
	s->columns = sn_arena_array(&s->table.arena, struct sn_column, s->table.column_count);
	memcpy(s->columns, own_columns, sizeof(own_columns));
	memcpy(s->columns + OWN_COLUMNS, view->columns, view->column_count * sizeof(*s->columns));
	s->table.columns = s->columns;
	for (uint32_t c = 0; c < sn_campaign_configuration_count(s->campaign); c++)
		member_add(s, c);
	if (!s->members.count)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "no run of '%s' is done: 'sonde campaign status %s' says why",
				    campaign, campaign);
	status = members_read(s, err);
	if (status == SN_OK && !strcmp(view->name, "global"))
		means_set(s);
	if (status == SN_OK && !strcmp(view->name, "compile"))
		status = gains_set(s, err);
	return status;
}

sn_status sn_view_show_campaign(const struct sn_view *view, const char *campaign,
				const struct sn_analysis_options *options,
				struct sn_table_view *how, FILE *out, struct sn_error *err)
{
	struct sheet s = { .view = view, .options = options };
	sn_status status = sheet_read(&s, campaign, err);

	if (status == SN_OK)
		status = table_put(&s, how, out, err);
	sheet_free(&s);
	return status;
}

sn_status sn_view_of_campaign(const struct sn_view *view, const char *campaign,
			      struct sn_table *out, size_t *first, struct sn_error *err)
{
	struct sheet s = { .view = view };
	sn_status status = sheet_read(&s, campaign, err);

	if (status == SN_OK) {
		*out = s.table;
		*first = OWN_COLUMNS;
		s.table = (struct sn_table){ 0 };
	}
	sheet_free(&s);
	return status;
}
