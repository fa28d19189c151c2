/* How the units of a campaign were compiled: a row for each unit and way, with the configurations that have it so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "report/campaigns/campaign_parts.h"
#include "report/html/words.h"

/* Of one row: so many configurations are named. */
enum { NAMES_MOST = 4 };

/* What makes two rows of the table one: the first row that has it so. */
struct way {
	size_t first;
	double share_low, share_high; /* of the CPU time, over its configurations */
};

struct compiled {
	const struct sn_table *table;
	SN_VEC(struct way) ways;
	size_t *way_of; /* by row of the table */
};

static const struct sn_cell *cell_of(const struct sn_table *table, size_t row, const char *key)
{
	for (size_t c = 0; c < table->column_count; c++)
		if (!strcmp(table->columns[c].key, key))
			return &table->cells.items[row * table->column_count + c];
	return NULL;
}

static const char *text_of(const struct sn_table *table, size_t row, const char *key)
{
	const struct sn_cell *cell = cell_of(table, row, key);

	return cell && cell->is_known ? cell->text : "";
}

static bool is_compiled_alike(const struct sn_table *table, size_t a, size_t b)
{
	static const char *const keys[] = { "module", "unit_file", "compiler", "options",
					    "compiled_without" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(text_of(table, a, keys[i]), text_of(table, b, keys[i])) != 0)
			return false;
	return true;
}

static void compiled_read(struct compiled *c, const struct sn_table *table)
{
	*c = (struct compiled){ .table = table };
	c->way_of = sn_alloc_zeroed(table->row_count + 1, sizeof(*c->way_of));
	for (size_t row = 0; row < table->row_count; row++) {
		const struct sn_cell *cell = cell_of(table, row, "share");
		double share = cell && cell->is_known ? cell->real : NAN;
		size_t w = 0;

		while (w < c->ways.count && !is_compiled_alike(table, c->ways.items[w].first, row))
			w++;
		if (w == c->ways.count)
			sn_vec_push(&c->ways, ((struct way){ row, share, share }));
		c->way_of[row] = w;
		c->ways.items[w].share_low = fmin(c->ways.items[w].share_low, share);
		c->ways.items[w].share_high = fmax(c->ways.items[w].share_high, share);
	}
}

/* Words of an option are not broken at its hyphens. */
static void words_add(const char *text, struct sn_text *out)
{
	for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		struct sn_text word = { 0 };

		sn_text_add_bytes(&word, at, length);
		sn_text_add(out, at > text ? " <span class=\"word\">" : "<span class=\"word\">");
		sn_text_add_html(out, word.chars);
		sn_text_add(out, "</span>");
		sn_text_free(&word);
		at += length;
	}
}

/* What `key` has in each row of a way, with the name of the configuration before it if there are several; NULL: the names alone. */
static void lines_add(const struct compiled *c, size_t way, const char *key, struct sn_text *out)
{
	size_t count = 0, with = 0, said = 0;

	for (size_t row = 0; row < c->table->row_count; row++) {
		count += c->way_of[row] == way;
		with += c->way_of[row] == way && key && text_of(c->table, row, key)[0];
	}
	for (size_t row = 0; row < c->table->row_count; row++) {
		if (c->way_of[row] != way || (key && !text_of(c->table, row, key)[0]) ||
		    said++ >= NAMES_MOST)
			continue;
		sn_text_add(out, "<div>");
		if (!key || count > 1) {
			sn_text_add_html(out, text_of(c->table, row, "configuration"));
			sn_text_add(out, key ? ": " : "");
		}
		if (key)
			words_add(text_of(c->table, row, key), out);
		sn_text_add(out, "</div>");
	}
	if (said > NAMES_MOST)
		sn_text_addf(out, "<div class=\"dim\">and %zu more</div>",
			     (key ? with : count) - NAMES_MOST);
}

static void unit_add(const struct sn_table *table, size_t row, struct sn_text *out)
{
	const char *unit = text_of(table, row, "unit_file");

	sn_text_add(out, "<td class=\"first\"><bdi>");
	sn_text_add_html(out, unit[0] ? unit : "[no unit is known]");
	sn_text_add(out, "</bdi> <span class=\"dim\">in <bdi>");
	sn_text_add_html(out, text_of(table, row, "module"));
	sn_text_add(out, "</bdi></span></td>");
}

/* What -march=native stands for is a hundred options of single instructions. */
static bool is_of_instructions(const char *option, size_t length)
{
	return (!strncmp(option, "-m", 2) && !memchr(option, '=', length)) ||
	       !strncmp(option, "--param", strlen("--param"));
}

/* Options as given to the compiler; what it added itself can be unfolded. */
static void options_add(const char *options, struct sn_text *out)
{
	struct sn_text shown = { 0 };
	size_t folded = 0;

	for (const char *at = options + strspn(options, " "); *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		if (is_of_instructions(at, length)) {
			folded++;
		} else {
			sn_text_add(&shown, shown.length ? " " : "");
			sn_text_add_bytes(&shown, at, length);
		}
		at += length;
	}
	sn_text_add(out, folded ? "<details><summary>" : "");
	words_add(shown.length ? shown.chars : "", out);
	if (folded) {
		sn_text_addf(out, " <span class=\"dim\">and %zu more</span></summary>", folded);
		sn_text_add_html(out, options);
		sn_text_add(out, "</details>");
	}
	sn_text_free(&shown);
}

static void way_add(const struct compiled *c, size_t w, struct sn_text *out)
{
	const struct way *way = &c->ways.items[w];
	const char *options = text_of(c->table, way->first, "options");
	const char *missing = text_of(c->table, way->first, "compiled_without");
	char low[64], high[64];

	sn_text_add(out, "<tr>");
	unit_add(c->table, way->first, out);
	sn_text_addf(out, "<td class=\"num\">%s", sn_words_percent(low, way->share_low));
	if (strcmp(low, sn_words_percent(high, way->share_high)) != 0)
		sn_text_addf(out, " to %s", high);
	sn_text_add(out, "</td><td class=\"wrap\">");
	words_add(missing[0] ? missing : "nothing", out);
	sn_text_add(out, "</td><td class=\"wrap\">");
	lines_add(c, w, "options_bring", out);
	sn_text_add(out, "</td><td>");
	lines_add(c, w, NULL, out);
	sn_text_add(out, "</td><td>");
	sn_text_add_html(out, text_of(c->table, way->first, "compiler"));
	sn_text_add(out, "</td><td class=\"mono wrap\">");
	if (options[0])
		options_add(options, out);
	else
		sn_text_add(out, "not recorded");
	sn_text_add(out, "</td></tr>\n");
}

void sn_campaign_add_compiled(const struct sn_campaign_page *page, struct sn_text *out)
{
	struct compiled c;

	if (!page->compile || !page->compile->row_count)
		return;
	compiled_read(&c, page->compile);
	sn_text_add(
		out,
		"<section class=\"panel\" id=\"compiled\"><h2>How it was compiled <span class=\"dim\">"
		"and what missing options would bring to the whole program</span></h2>\n");
	sn_campaign_add_head(
		out, "compiled",
		"unit|#of CPU|compiled without|they bring|configurations|compiler|options");
	for (size_t w = 0; w < c.ways.count; w++)
		way_add(&c, w, out);
	sn_text_add(out, "</tbody></table></div>\n<p class=\"dim\">");
	sn_text_add(out,
		    "Measured: by the configuration that has these options. Static: at most, by "
		    "the model of the processor, with data in the first cache. ");
	if (page->compile_left_out) {
		sn_text_add_html(out, page->compile_left_out);
		sn_text_add(out, ".");
	}
	sn_text_add(out, "</p></section>\n");
	sn_vec_free(&c.ways);
	free(c.way_of);
}
