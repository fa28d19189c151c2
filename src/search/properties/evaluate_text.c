/* A property's texts, with the values of its last evaluation in place of their names. */
#include <string.h>

#include "search/properties/evaluate_parts.h"

/* A let, evidence or parameter of the property in work. */
static struct sn_prop_value named_value(struct sn_evaluator *ev, const char *name, size_t length,
					struct sn_prop_type *type)
{
	const struct sn_property *p = ev->property;

	for (size_t i = 0; i < p->contexts.count; i++)
		if (strlen(p->contexts.items[i].name) == length &&
		    !memcmp(p->contexts.items[i].name, name, length)) {
			*type = (struct sn_prop_type){ .kind = SN_TYPE_MEMBER,
						       .member = p->contexts.items[i].kind };
			return ev->slots[i];
		}
	for (size_t i = 0; i < p->lets.count; i++)
		if (strlen(p->lets.items[i].name) == length &&
		    !memcmp(p->lets.items[i].name, name, length)) {
			*type = p->lets.items[i].expr->type;
			return ev->slots[p->lets.items[i].slot];
		}
	for (size_t i = 0; i < p->evidence.count; i++)
		if (strlen(p->evidence.items[i].name) == length &&
		    !memcmp(p->evidence.items[i].name, name, length)) {
			*type = p->evidence.items[i].expr->type;
			return ev->evidence[i];
		}
	*type = (struct sn_prop_type){ .kind = SN_TYPE_WRONG };
	return unknown;
}

/* What stays open stands between these, which are in no name. */
enum { OPEN = 1, CLOSE = 2 };

static const struct sn_prop_named *sum_named(const struct sn_property *p, const char *name,
					     size_t length, size_t *index)
{
	for (size_t i = 0; i < p->evidence.count; i++)
		if (p->evidence.items[i].adds && strlen(p->evidence.items[i].name) == length &&
		    !memcmp(p->evidence.items[i].name, name, length)) {
			*index = i;
			return &p->evidence.items[i];
		}
	return NULL;
}

/* The next name in braces, "{name}" or "{name:format}". */
struct braced {
	const char *open, *close, *format; /* format NULL: none */
	size_t name_length;
};

/* What stands before it is added to `out`, and `*text` moves behind it. False: there is none, and all was added. */
static bool braced_next(const char **text, char open, char close, struct braced *out_name,
			struct sn_text *out)
{
	const char *begin = strchr(*text, open), *end = begin ? strchr(begin, close) : NULL;
	const char *colon;

	if (!end) {
		sn_text_add(out, *text);
		return false;
	}
	sn_text_add_bytes(out, *text, (size_t)(begin - *text));
	colon = memchr(begin, ':', (size_t)(end - begin));
	*out_name = (struct braced){ begin, end, colon ? colon + 1 : NULL,
				     (size_t)((colon ? colon : end) - begin - 1) };
	*text = end + 1;
	return true;
}

void sn_prop_text_open(struct sn_evaluator *ev, const char *text, struct sn_text *out)
{
	struct braced name;

	while (braced_next(&text, '{', '}', &name, out)) {
		struct sn_prop_type type;
		struct sn_prop_value value;
		size_t index;

		if (sum_named(ev->property, name.open + 1, name.name_length, &index)) {
			sn_text_add_char(out, OPEN);
			sn_text_add_bytes(out, name.open + 1, (size_t)(name.close - name.open - 1));
			sn_text_add_char(out, CLOSE);
		} else {
			value = named_value(ev, name.open + 1, name.name_length, &type);
			sn_prop_value_print(ev->tables, type, value, name.format, out);
		}
	}
}

void sn_prop_text_close(const struct sn_tables *tables, const struct sn_property *property,
			const struct sn_prop_value *evidence, const char *text, struct sn_text *out)
{
	struct braced name;

	while (braced_next(&text, OPEN, CLOSE, &name, out)) {
		size_t index;
		const struct sn_prop_named *sum =
			sum_named(property, name.open + 1, name.name_length, &index);

		if (sum)
			sn_prop_value_print(tables, sum->expr->type, evidence[index], name.format,
					    out);
	}
}
