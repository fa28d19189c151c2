/* Expressions as trees: printing, comparing, and what math.h offers to phases. */
#include "pandore/compiler/ast.h"

#include <string.h>

#define MATH_1(name)                                                                               \
	{ #name, 1, SN_T_DOUBLE },                                                                 \
	{                                                                                          \
#name "f", 1, SN_T_FLOAT                                                           \
	}
#define MATH_2(name)                                                                               \
	{ #name, 2, SN_T_DOUBLE },                                                                 \
	{                                                                                          \
#name "f", 2, SN_T_FLOAT                                                           \
	}

static const struct sn_pnd_math math[] = {
	MATH_1(sqrt),
	MATH_1(fabs),
	MATH_1(sin),
	MATH_1(cos),
	MATH_1(tan),
	MATH_1(asin),
	MATH_1(acos),
	MATH_1(atan),
	MATH_1(exp),
	MATH_1(exp2),
	MATH_1(log),
	MATH_1(log2),
	MATH_1(log10),
	MATH_1(floor),
	MATH_1(ceil),
	MATH_1(round),
	MATH_1(trunc),
	MATH_1(sinh),
	MATH_1(cosh),
	MATH_1(tanh),
	MATH_1(cbrt),
	MATH_2(pow),
	MATH_2(fmod),
	MATH_2(atan2),
	MATH_2(fmin),
	MATH_2(fmax),
	MATH_2(hypot),
	{ "abs", 1, SN_T_INT },
	{ "labs", 1, SN_T_LONG },
	{ "llabs", 1, SN_T_LLONG },
};

const struct sn_pnd_math *sn_pnd_math_find(const char *name)
{
	for (size_t i = 0; i < sizeof(math) / sizeof(*math); i++)
		if (!strcmp(math[i].name, name))
			return &math[i];
	return NULL;
}

bool sn_pnd_needs_integers(uint32_t punct)
{
	return punct == '%' || punct == '&' || punct == '|' || punct == '^' ||
	       punct == SN_PUNCT2('<', '<') || punct == SN_PUNCT2('>', '>');
}

uint32_t sn_pnd_compound_operator(uint32_t punct)
{
	int bits = punct >> 16 ? 16 : 8;
	uint32_t op = punct & ((1u << bits) - 1);

	if (punct >> bits != '=' ||
	    (bits == 16 ? !sn_pnd_needs_integers(op) : !strchr("+-*/%&|^", (int)op)))
		return 0;
	return op;
}

int sn_pnd_binary_level(uint32_t punct)
{
	switch (punct) {
	case SN_PUNCT2('|', '|'):
		return 2;
	case SN_PUNCT2('&', '&'):
		return 3;
	case '|':
		return 4;
	case '^':
		return 5;
	case '&':
		return 6;
	case SN_PUNCT2('=', '='):
	case SN_PUNCT2('!', '='):
		return 7;
	case '<':
	case '>':
	case SN_PUNCT2('<', '='):
	case SN_PUNCT2('>', '='):
		return 8;
	case SN_PUNCT2('<', '<'):
	case SN_PUNCT2('>', '>'):
		return 9;
	case '+':
	case '-':
		return 10;
	case '*':
	case '/':
	case '%':
		return 11;
	default:
		return 0;
	}
}

static int level_of(const struct sn_pnd_expr *e)
{
	switch (e->kind) {
	case SN_E_COND:
		return 1;
	case SN_E_BINARY:
		return sn_pnd_binary_level(e->punct);
	case SN_E_UNARY:
	case SN_E_CAST:
		return 12;
	default:
		return 13;
	}
}

static void print_level(struct sn_text *text, const struct sn_pnd_expr *e, int lowest);

static void print_punct(struct sn_text *text, uint32_t punct)
{
	for (; punct; punct >>= 8)
		sn_text_add_char(text, (char)(punct & 255));
}

static void print_args(struct sn_text *text, const struct sn_pnd_expr *e)
{
	sn_text_addf(text, "%s(", e->text);
	for (int i = 0; i < e->arg_count; i++) {
		sn_text_add(text, i ? ", " : "");
		print_level(text, e->args[i], 1);
	}
	sn_text_add(text, ")");
}

static void print_bare(struct sn_text *text, const struct sn_pnd_expr *e)
{
	int level = level_of(e);

	switch (e->kind) {
	case SN_E_INT:
	case SN_E_REAL:
	case SN_E_VAR:
		sn_text_add(text, e->text);
		break;
	case SN_E_INDEX:
		sn_text_add(text, e->text);
		for (int i = 0; i < e->arg_count; i++) {
			sn_text_add(text, "[");
			print_level(text, e->args[i], 1);
			sn_text_add(text, "]");
		}
		break;
	case SN_E_UNARY:
		print_punct(text, e->punct);
		/* - -x must not become --x */
		if (e->a->kind == SN_E_UNARY && e->a->punct == e->punct)
			sn_text_add(text, " ");
		print_level(text, e->a, 12);
		break;
	case SN_E_CAST:
		sn_text_addf(text, "(%s)", sn_pnd_type_name(e->type));
		print_level(text, e->a, 12);
		break;
	case SN_E_BINARY:
		print_level(text, e->a, level);
		sn_text_add(text, " ");
		print_punct(text, e->punct);
		sn_text_add(text, " ");
		print_level(text, e->b, level + 1);
		break;
	case SN_E_COND:
		print_level(text, e->a, 2);
		sn_text_add(text, " ? ");
		print_level(text, e->b, 1);
		sn_text_add(text, " : ");
		print_level(text, e->c, 1);
		break;
	case SN_E_CALL:
		print_args(text, e);
		break;
	}
}

static void print_level(struct sn_text *text, const struct sn_pnd_expr *e, int lowest)
{
	bool parens = level_of(e) < lowest;

	sn_text_add(text, parens ? "(" : "");
	print_bare(text, e);
	sn_text_add(text, parens ? ")" : "");
}

void sn_pnd_print_expr(struct sn_text *text, const struct sn_pnd_expr *e)
{
	print_level(text, e, 1);
}

bool sn_pnd_same_expr(const struct sn_pnd_expr *a, const struct sn_pnd_expr *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->type != b->type || a->punct != b->punct || a->var != b->var ||
	    a->arg_count != b->arg_count)
		return false;
	if (a->text && b->text && strcmp(a->text, b->text))
		return false;
	for (int i = 0; i < a->arg_count; i++)
		if (!sn_pnd_same_expr(a->args[i], b->args[i]))
			return false;
	return sn_pnd_same_expr(a->a, b->a) && sn_pnd_same_expr(a->b, b->b) &&
	       sn_pnd_same_expr(a->c, b->c);
}

bool sn_pnd_same_size(int64_t a, const struct sn_pnd_expr *late_a, int64_t b,
		      const struct sn_pnd_expr *late_b)
{
	return late_a || late_b ? sn_pnd_same_expr(late_a, late_b) : a == b;
}

bool sn_pnd_is_late(const struct sn_pnd_program *program, const struct sn_pnd_var *var)
{
	bool is_late = var->is_distributed && !program->nodes;

	for (int d = 0; d < var->rank; d++)
		is_late |= var->late_extent[d] || var->late_block[d];
	return is_late;
}

bool sn_pnd_has_late(const struct sn_pnd_program *program, const struct sn_pnd_phase *phase)
{
	for (const struct sn_pnd_var *v = phase->params; v; v = v->next)
		if (sn_pnd_is_late(program, v))
			return true;
	return !program->nodes || phase->has_late_sizes;
}

int sn_pnd_count_reads(const struct sn_pnd_expr *e, const struct sn_pnd_var *var)
{
	int count;

	if (!e)
		return 0;
	count = (e->kind == SN_E_VAR || e->kind == SN_E_INDEX) && e->var == var;
	for (int i = 0; i < e->arg_count; i++)
		count += sn_pnd_count_reads(e->args[i], var);
	return count + sn_pnd_count_reads(e->a, var) + sn_pnd_count_reads(e->b, var) +
	       sn_pnd_count_reads(e->c, var);
}
