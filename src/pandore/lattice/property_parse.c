/* The condition's text as a list of nodes, children before parents. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pandore/lattice/property_parts.h"

enum { DEPTH_MOST = 100 };

struct parser {
	const char *text, *next;
	struct sn_property *property;
	struct sn_error *err;
	sn_status status;
	int depth;
};

static uint32_t condition_parse(struct parser *p);

static uint32_t refuse(struct parser *p, const char *wanted)
{
	if (p->status == SN_OK)
		p->status = sn_error_set(p->err, SN_ERR_USAGE,
					 "condition '%s': %s is missing at character %zu", p->text,
					 wanted, (size_t)(p->next - p->text) + 1);
	return 0;
}

static void blanks_skip(struct parser *p)
{
	while (isspace((unsigned char)*p->next))
		p->next++;
}

static bool take(struct parser *p, const char *word)
{
	size_t length = strlen(word);

	blanks_skip(p);
	if (strncmp(p->next, word, length) != 0)
		return false;
	if (isalpha((unsigned char)word[0]) &&
	    (isalnum((unsigned char)p->next[length]) || p->next[length] == '_'))
		return false;
	p->next += length;
	return true;
}

static uint32_t node_add(struct parser *p, struct sn_property_node node)
{
	sn_vec_push(&p->property->nodes, node);
	return (uint32_t)p->property->nodes.count - 1;
}

static uint32_t state_parse(struct parser *p)
{
	struct sn_property_node node = { .kind = SN_PROPERTY_IN };
	const char *end;
	unsigned long process;

	if (!take(p, "("))
		return refuse(p, "'('");
	blanks_skip(p);
	p->next += *p->next == 'p' || *p->next == 'P';
	if (!isdigit((unsigned char)*p->next))
		return refuse(p, "a process (p0, p1, ..)");
	process = strtoul(p->next, (char **)&p->next, 10);
	node.process = process > UINT32_MAX ? UINT32_MAX : (uint32_t)process;
	if (!take(p, ","))
		return refuse(p, "','");
	if (!take(p, "\""))
		return refuse(p, "a label in quotes");
	end = strchr(p->next, '"');
	if (!end)
		return refuse(p, "the closing quote");
	node.label = sn_arena_strndup(&p->property->arena, p->next, (size_t)(end - p->next));
	p->next = end + 1;
	if (!take(p, ")"))
		return refuse(p, "')'");
	return node_add(p, node);
}

static uint32_t factor_parse(struct parser *p)
{
	uint32_t inner;

	if (p->status != SN_OK || ++p->depth > DEPTH_MOST)
		return refuse(p, "an end: it is nested too deep, and one");
	if (take(p, "not") || take(p, "!")) {
		inner = factor_parse(p);
		inner = node_add(
			p, (struct sn_property_node){ .kind = SN_PROPERTY_NOT, .left = inner });
	} else if (take(p, "(")) {
		inner = condition_parse(p);
		if (!take(p, ")"))
			refuse(p, "')'");
	} else if (take(p, "in")) {
		inner = state_parse(p);
	} else {
		inner = refuse(p, "in(PROCESS, \"LABEL\")");
	}
	p->depth--;
	return inner;
}

static uint32_t term_parse(struct parser *p)
{
	uint32_t left = factor_parse(p);

	while (p->status == SN_OK && (take(p, "and") || take(p, "&&"))) {
		uint32_t right = factor_parse(p);

		left = node_add(p, (struct sn_property_node){
					   .kind = SN_PROPERTY_AND, .left = left, .right = right });
	}
	return left;
}

static uint32_t condition_parse(struct parser *p)
{
	uint32_t left = term_parse(p);

	while (p->status == SN_OK && (take(p, "or") || take(p, "||"))) {
		uint32_t right = term_parse(p);

		left = node_add(p, (struct sn_property_node){
					   .kind = SN_PROPERTY_OR, .left = left, .right = right });
	}
	return left;
}

sn_status sn_property_parse(const char *text, struct sn_property **out, struct sn_error *err)
{
	struct sn_property *property = sn_alloc_zeroed(1, sizeof(*property));
	struct parser p = { .text = text, .next = text, .property = property, .err = err };

	property->root = condition_parse(&p);
	blanks_skip(&p);
	if (p.status == SN_OK && *p.next)
		refuse(&p, "'and', 'or' or the end");
	if (p.status != SN_OK) {
		sn_property_free(property);
		return p.status;
	}
	*out = property;
	return SN_OK;
}

void sn_property_free(struct sn_property *property)
{
	if (!property)
		return;
	sn_vec_free(&property->nodes);
	sn_arena_free(&property->arena);
	free(property);
}

const char *sn_property_label(const struct sn_property *property, size_t n)
{
	for (size_t i = 0; i < property->nodes.count; i++)
		if (property->nodes.items[i].label && n-- == 0)
			return property->nodes.items[i].label;
	return NULL;
}
