/* Parses a filter into conditions and what joins them, and asks it of rows. */
#include "base/table_filter.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table_parts.h"
#include "base/text.h"
#include "base/vec.h"

enum { NESTED_MOST = 64 };

struct condition {
	size_t column;
	char operator; /* = ! ~ < > and their or-equal forms l g */
	char *text;
	double number;
	regex_t regex;
};

/* In the order of evaluation, each behind what it joins: its result takes the place of theirs. */
enum step { STEP_CONDITION, STEP_AND, STEP_OR };

struct sn_table_filter {
	SN_VEC(struct condition) conditions;
	SN_VEC(uint8_t) steps; /* enum step; the n-th STEP_CONDITION is condition n */
	bool *held;	       /* room for the result of each condition */
};

struct parser {
	const struct sn_table *table;
	struct sn_table_filter *filter;
	const char *at;
	unsigned depth;
	struct sn_error *err;
};

/* ---- units ---- */

enum measure { MEASURE_NONE, MEASURE_TIME, MEASURE_BYTES, MEASURE_SHARE };

static const struct {
	const char *name;
	enum measure measure;
	double factor; /* to seconds, bytes, parts of one */
} units[] = {
	{ "ns", MEASURE_TIME, 1e-9 },
	{ "us", MEASURE_TIME, 1e-6 },
	{ "ms", MEASURE_TIME, 1e-3 },
	{ "s", MEASURE_TIME, 1 },
	{ "min", MEASURE_TIME, 60 },
	{ "h", MEASURE_TIME, 3600 },
	{ "B", MEASURE_BYTES, 1 },
	{ "kB", MEASURE_BYTES, 1e3 },
	{ "MB", MEASURE_BYTES, 1e6 },
	{ "GB", MEASURE_BYTES, 1e9 },
	{ "TB", MEASURE_BYTES, 1e12 },
	{ "KiB", MEASURE_BYTES, 1024 },
	{ "MiB", MEASURE_BYTES, 1048576 },
	{ "GiB", MEASURE_BYTES, 1073741824 },
	{ "TiB", MEASURE_BYTES, 1099511627776 },
	{ "%", MEASURE_SHARE, 0.01 },
};

/* By the last word of its key, which is its unit; `scale` turns seconds into it. */
static enum measure measure_of(const struct sn_column *column, double *scale)
{
	*scale = 1;
	if (column->kind == SN_CELL_SHARE || sn_ends_with(column->key, "share"))
		return MEASURE_SHARE;
	if (sn_ends_with(column->key, "_ns")) {
		*scale = 1e9;
		return MEASURE_TIME;
	}
	if (column->kind == SN_CELL_SECONDS || column->kind == SN_CELL_DURATION ||
	    sn_ends_with(column->key, "_s"))
		return MEASURE_TIME;
	return sn_ends_with(column->key, "bytes") ? MEASURE_BYTES : MEASURE_NONE;
}

static sn_status unit_read(struct parser *p, const struct sn_column *column, const char *unit,
			   double *number)
{
	double scale;
	enum measure measure = measure_of(column, &scale);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(units[i].name, unit) != 0)
			continue;
		if (units[i].measure != measure)
			return sn_error_set(p->err, SN_ERR_USAGE,
					    "the column '%s' is not measured in %s", column->key,
					    unit);
		*number *= units[i].factor * scale;
		return SN_OK;
	}
	return sn_error_set(p->err, SN_ERR_USAGE,
			    "the filter has a number with '%s' behind it; units are ns us ms s min "
			    "h, B kB MB GB TB KiB MiB GiB TiB, and %%",
			    unit);
}

/* ---- conditions ---- */

static void spaces_skip(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

/* Length of the word that joins conditions, with the blanks before and behind it; 0: there is none. */
static size_t joint_at(const char *at, bool *is_or)
{
	const char *word = at;
	size_t length;

	while (isspace((unsigned char)*word))
		word++;
	*is_or = !strncmp(word, "or", 2);
	length = *is_or ? 2 : !strncmp(word, "and", 3) ? 3 : 0;
	if (!length || (!isspace((unsigned char)word[length]) && word[length] != '('))
		return 0;
	word += length;
	while (isspace((unsigned char)*word))
		word++;
	return (size_t)(word - at);
}

/* Whether a condition stands there: else "a and b" is a text. */
static bool is_condition(const char *at)
{
	size_t length = strcspn(at, "=!<>~,");

	return *at == '(' || (length && at[length] && at[length] != ',');
}

static bool ends_here(const char *at)
{
	bool is_or;
	size_t joint = isspace((unsigned char)*at) ? joint_at(at, &is_or) : 0;

	return !*at || *at == ',' || (joint && is_condition(at + joint));
}

/* A text in quotes, if that is all of the value. */
static char *quoted_read(struct parser *p)
{
	const char *end = *p->at == '\'' || *p->at == '"' ? strchr(p->at + 1, *p->at) : NULL;
	const char *behind = end ? end + 1 : NULL;
	char *text;

	while (behind && *behind == ' ' && !ends_here(behind))
		behind++;
	if (!behind || (!ends_here(behind) && *behind != ')'))
		return NULL;
	text = sn_strndup(p->at + 1, (size_t)(end - p->at - 1));
	p->at = behind;
	return text;
}

/* Up to what ends a value; blanks around it are left out. */
static char *value_read(struct parser *p)
{
	const char *begin, *end;
	char *quoted;
	int open = 0;

	spaces_skip(p);
	quoted = quoted_read(p);
	if (quoted)
		return quoted;
	for (begin = p->at; !ends_here(p->at); p->at++) {
		if (*p->at == '\\' && p->at[1])
			p->at++;
		else if (*p->at == '(')
			open++;
		else if (*p->at == ')' && --open < 0 && p->depth)
			break;
	}
	for (end = p->at; end > begin && isspace((unsigned char)end[-1]);)
		end--;
	return sn_strndup(begin, (size_t)(end - begin));
}

static sn_status text_set(struct parser *p, struct condition *c, const char *key)
{
	if (!strchr("=!~", c->operator))
		return sn_error_set(p->err, SN_ERR_USAGE,
				    "the column '%s' is text: filter it by =, != or ~", key);
	if (c->operator== '~' && regcomp(&c->regex, c->text, REG_EXTENDED | REG_NOSUB)) {
		c->operator= '='; /* there is nothing to free */
		return sn_error_set(p->err, SN_ERR_USAGE,
				    "the filter's regular expression '%s' does not parse", c->text);
	}
	return SN_OK;
}

static sn_status number_set(struct parser *p, struct condition *c, const struct sn_column *column)
{
	char *end;

	if (column->kind == SN_CELL_BOOL && (!strcmp(c->text, "true") || !strcmp(c->text, "false")))
		c->number = *c->text == 't', end = c->text + strlen(c->text);
	else
		c->number = strtod(c->text, &end);
	if (end == c->text || c->operator== '~')
		return sn_error_set(
			p->err, SN_ERR_USAGE,
			"the column '%s' is a number, which the filter does not compare "
			"with '%s'",
			column->key, c->text);
	while (*end == ' ')
		end++;
	return *end ? unit_read(p, column, end, &c->number) : SN_OK;
}

static char operator_read(struct parser *p)
{
	char operator= * p->at++;

	if (*p->at != '=')
		return operator;
	p->at++;
	return operator== '<' ? 'l' : operator== '>' ? 'g' : operator;
}

static sn_status condition_read(struct parser *p)
{
	size_t length = strcspn(p->at, "=!<>~,"), key_length = length;
	const struct sn_column *column;
	struct condition c = { 0 };
	sn_status status;

	if (!length || !p->at[length] || p->at[length] == ',')
		return sn_error_set(
			p->err, SN_ERR_USAGE,
			"the filter '%.*s' has no operator; write KEY=VALUE, KEY!=VALUE, "
			"KEY~REGEX, KEY<NUMBER, KEY>=NUMBER, joined by 'and' and 'or'",
			(int)length, p->at);
	while (key_length && isspace((unsigned char)p->at[key_length - 1]))
		key_length--;
	status = sn_table_column_find(p->table, p->at, key_length, &c.column, p->err);
	if (status != SN_OK)
		return status;
	column = &p->table->columns[c.column];
	p->at += length;
	c.operator= operator_read(p);
	c.text = value_read(p);
	status = sn_cell_kind_is_text(column->kind) ? text_set(p, &c, column->key)
						    : number_set(p, &c, column);
	sn_vec_push(&p->filter->conditions, c);
	sn_vec_push(&p->filter->steps, STEP_CONDITION);
	return status;
}

/* ---- what joins them ---- */

static sn_status either_read(struct parser *p);

static sn_status term_read(struct parser *p)
{
	sn_status status;

	spaces_skip(p);
	if (*p->at != '(')
		return condition_read(p);
	if (++p->depth > NESTED_MOST)
		return sn_error_set(p->err, SN_ERR_USAGE, "the filter is nested too deeply");
	p->at++;
	status = either_read(p);
	if (status != SN_OK)
		return status;
	spaces_skip(p);
	if (*p->at != ')')
		return sn_error_set(p->err, SN_ERR_USAGE, "the filter has no ')' before '%s'",
				    p->at);
	p->at++;
	p->depth--;
	return SN_OK;
}

/* Whether this joint is next; moves behind it. A comma is an "and". */
static bool joint_read(struct parser *p, bool wants_or)
{
	bool is_or = false;
	size_t length;

	spaces_skip(p);
	length = *p->at == ',' ? 1 : joint_at(p->at, &is_or);
	if (!length || is_or != wants_or)
		return false;
	p->at += length;
	spaces_skip(p);
	return true;
}

static sn_status both_read(struct parser *p)
{
	sn_status status = term_read(p);

	while (status == SN_OK && joint_read(p, false) && *p->at) {
		status = term_read(p);
		sn_vec_push(&p->filter->steps, STEP_AND);
	}
	return status;
}

static sn_status either_read(struct parser *p)
{
	sn_status status = both_read(p);

	while (status == SN_OK && joint_read(p, true)) {
		status = both_read(p);
		sn_vec_push(&p->filter->steps, STEP_OR);
	}
	return status;
}

sn_status sn_table_filter_new(const struct sn_table *table, const char *text,
			      struct sn_table_filter **out, struct sn_error *err)
{
	struct sn_table_filter *filter = sn_alloc_zeroed(1, sizeof(*filter));
	struct parser p = { .table = table, .filter = filter, .at = text, .err = err };
	sn_status status = SN_OK;

	spaces_skip(&p);
	if (*p.at)
		status = either_read(&p);
	spaces_skip(&p);
	if (status == SN_OK && *p.at)
		status = sn_error_set(err, SN_ERR_USAGE, "the filter goes on with '%s' at its end",
				      p.at);
	filter->held = sn_alloc_zeroed(filter->conditions.count + 1, sizeof(*filter->held));
	if (status == SN_OK)
		*out = filter;
	else
		sn_table_filter_free(filter);
	return status;
}

void sn_table_filter_free(struct sn_table_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->conditions.count; i++) {
		struct condition *c = &filter->conditions.items[i];

		if (c->operator== '~')
			regfree(&c->regex);
		free(c->text);
	}
	sn_vec_free(&filter->conditions);
	sn_vec_free(&filter->steps);
	free(filter->held);
	free(filter);
}

/* ---- rows ---- */

static bool number_holds(const struct condition *c, double number)
{
	switch (c->operator) {
	case '=':
		return number == c->number;
	case '!':
		return number != c->number;
	case '<':
		return number < c->number;
	case '>':
		return number > c->number;
	case 'l':
		return number <= c->number;
	default:
		return number >= c->number;
	}
}

static bool condition_holds(const struct sn_table *table, const struct condition *c, size_t row)
{
	const struct sn_column *column = &table->columns[c->column];
	const struct sn_cell *cell = sn_table_cell(table, row, c->column);

	if (sn_cell_kind_is_text(column->kind)) {
		const char *text = cell->is_known ? cell->text : "";

		if (c->operator== '~')
			return !regexec(&c->regex, text, 0, NULL, 0);
		return (strcmp(text, c->text) == 0) == (c->operator== '=');
	}
	return number_holds(c, sn_table_cell_number(column, cell));
}

bool sn_table_filter_passes(const struct sn_table_filter *filter, const struct sn_table *table,
			    size_t row)
{
	size_t next = 0, count = 0;

	for (size_t i = 0; i < filter->steps.count; i++) {
		bool last;

		if (filter->steps.items[i] == STEP_CONDITION) {
			filter->held[count++] =
				condition_holds(table, &filter->conditions.items[next++], row);
			continue;
		}
		last = filter->held[--count];
		if (filter->steps.items[i] == STEP_AND)
			filter->held[count - 1] &= last;
		else
			filter->held[count - 1] |= last;
	}
	return !count || filter->held[0];
}
