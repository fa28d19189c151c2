/* Names of code, as users write them. */
#include "causal/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"
#include "base/text.h"
#include "code/names.h"
#include "causal/log.h"
#include "code/demangle.h"

enum { TOP_UNLESS_SAID = 5 };

/* ---- choices ---- */

static sn_status parse_count(const char *word, const char *count, size_t *out, struct sn_error *err)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(count, &end, 10);
	if (*count < '0' || *count > '9' || *end || errno || !value ||
	    value > SN_CAUSAL_CANDIDATES_MAX)
		return sn_error_set(
			err, SN_ERR_USAGE,
			"--target: behind '%.*s' goes how many of the hottest to try, a whole "
			"number from 1 to %d, and not '%s'",
			(int)(count - word), word, SN_CAUSAL_CANDIDATES_MAX, count);
	*out = value;
	return SN_OK;
}

/* Signs of a name that are no brackets: "operator<", "operator->", "operator()" ... */
static size_t operator_length(const char *at)
{
	size_t length = strlen("operator");

	if (strncmp(at, "operator", length) != 0)
		return 0;
	if (!strncmp(at + length, "()", 2) || !strncmp(at + length, ",", 1))
		return length + (at[length] == ',' ? 1 : 2);
	return length + strspn(at + length, "<>-=");
}

char *sn_causal_next_word(char **next)
{
	char *word = *next;
	int depth = 0;

	for (char *at = word; at && *at; at++) {
		size_t length = operator_length(at);

		if (length) {
			at += length - 1;
			continue;
		}
		depth += strchr("(<[{", *at) != NULL;
		depth -= depth && strchr(")>]}", *at);
		if (*at == ',' && !depth) {
			*at = '\0';
			*next = at + 1;
			return word;
		}
	}
	*next = NULL;
	return word;
}

sn_status sn_causal_choice_parse(const char *word, struct sn_causal_choice *out,
				 struct sn_error *err)
{
	static const struct {
		const char *word;
		enum sn_causal_choice_kind kind;
	} lists[] = { { "loops", SN_CAUSAL_CHOICE_LOOPS },
		      { "functions", SN_CAUSAL_CHOICE_FUNCTIONS },
		      { "lines", SN_CAUSAL_CHOICE_LINES },
		      { "regions", SN_CAUSAL_CHOICE_REGIONS } };

	*out = (struct sn_causal_choice){ SN_CAUSAL_CHOICE_NAME, word, TOP_UNLESS_SAID };
	if (sn_starts_with(word, "lock:")) {
		out->kind = SN_CAUSAL_CHOICE_LOCK;
		out->name = word + strlen("lock:");
		if (!*out->name)
			return sn_error_set(err, SN_ERR_USAGE,
					    "--target: behind 'lock:' goes the name of the "
					    "variable that the lock lies in");
		return SN_OK;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		size_t length = strlen(lists[i].word);

		if (strncmp(word, lists[i].word, length) != 0 ||
		    (word[length] && (word[length] != ':' || word[length + 1] == ':')))
			continue;
		out->kind = lists[i].kind;
		return word[length] ? parse_count(word, word + length + 1, &out->count, err)
				    : SN_OK;
	}
	return SN_OK;
}

/* ---- functions and lines ---- */

static bool is_clone_suffix(const char *at)
{
	return sn_starts_with(at, ".constprop.") || sn_starts_with(at, ".isra.") ||
	       sn_starts_with(at, ".part.");
}

enum sn_causal_match sn_causal_function_match(const char *own, const char *linkage,
					      const char *name)
{
	size_t length = strlen(name);

	if (!strcmp(own, name) || (linkage && !strcmp(linkage, name)))
		return SN_CAUSAL_MATCH;
	if (sn_name_match_of(own, linkage, name) == SN_NAME_PLAIN)
		return SN_CAUSAL_CLONE;
	if (!length || strncmp(own, name, length) != 0)
		return SN_CAUSAL_NO_MATCH;
	return own[length] == '('	       ? SN_CAUSAL_MATCH
	       : is_clone_suffix(own + length) ? SN_CAUSAL_CLONE
					       : SN_CAUSAL_NO_MATCH;
}

const char *sn_causal_unscoped(const char *own, size_t *length)
{
	const char *begin = own, *at = own;
	int depth = 0;

	for (; *at && (*at != '(' || depth || sn_starts_with(at, "(anonymous namespace)")); at++) {
		depth += *at == '<' || *at == '(';
		depth -= depth && (*at == '>' || *at == ')');
		if (!depth && at[0] == ':' && at[1] == ':')
			begin = at + 2;
	}
	*length = (size_t)(at - begin);
	return begin;
}

bool sn_causal_is_rank(const char *name)
{
	return name[0] == '#' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
}

bool sn_causal_looks_like_line(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && colon != name && colon[1] >= '0' && colon[1] <= '9';
}

/* FILE of FILE:LINE is how this path ends. */
static bool is_file(const char *file, const char *name, size_t length)
{
	size_t own = strlen(file);

	return own >= length && !strncmp(file + own - length, name, length);
}

bool sn_causal_is_line(const char *file, uint32_t line, const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && file && strtoul(colon + 1, NULL, 10) == line &&
	       is_file(file, name, (size_t)(colon - name));
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static void see_line(const struct sn_line *line, const char *name, const char *file_name,
		     struct sn_causal_line_search *search)
{
	size_t length = strlen(file_name);
	uint32_t wanted = (uint32_t)strtoul(name + length + 1, NULL, 10);

	if (!line->file || !line->line)
		return;
	if (!is_file(line->file, name, length)) {
		if (sn_spelling_is_nearer(file_name, sn_base_name(line->file),
					  search->nearest_file))
			search->nearest_file = sn_base_name(line->file);
		return;
	}
	if (!search->nearest_line ||
	    distance(line->line, wanted) < distance(search->nearest_line, wanted))
		search->nearest_line = line->line;
	if (line->line == wanted &&
	    (!search->lowest_link_addr || line->link_addr < search->lowest_link_addr))
		search->lowest_link_addr = line->link_addr;
}

void sn_causal_line_find(struct sn_structure *structure, const char *name,
			 struct sn_causal_line_search *search)
{
	char *file_name = strndup(name, (size_t)(strrchr(name, ':') - name));

	sn_structure_prepare_all(structure, SN_PREPARE_LINES);
	for (size_t f = 0; file_name && f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);

		for (uint32_t i = 0; i < function->line_count; i++)
			see_line(&function->lines[i], name, file_name, search);
	}
	free(file_name);
}

uint64_t sn_causal_place_find(struct sn_structure *structure, const char *name)
{
	struct sn_causal_line_search search = { 0 };
	enum sn_causal_match best = SN_CAUSAL_NO_MATCH;
	uint64_t found = 0;

	for (size_t f = 0; f < sn_structure_function_count(structure); f++) {
		const struct sn_function *function = sn_structure_function(structure, f);
		enum sn_causal_match match =
			sn_causal_function_match(function->name, function->linkage_name, name);

		if (match > best) {
			best = match;
			found = function->link_addr;
		}
	}
	if (found)
		return found;
	if (sn_causal_looks_like_line(name))
		sn_causal_line_find(structure, name, &search);
	return search.lowest_link_addr;
}

bool sn_causal_is_variable(const struct sn_symbol *symbol, const char *name)
{
	struct sn_text plain = { 0 };
	bool is_same = symbol->name && symbol->size_bytes && !strcmp(symbol->name, name);

	if (!is_same && symbol->name && symbol->size_bytes && sn_demangle(symbol->name, &plain))
		is_same = !strcmp(plain.chars, name);
	sn_text_free(&plain);
	return is_same;
}
