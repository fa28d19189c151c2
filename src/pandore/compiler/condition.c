/* The conditions of #if: integer expressions, by precedence climbing. */
#include "pandore/compiler/scan.h"

struct condition_reader {
	const struct sn_pnd_token *tokens;
	size_t count, at;
	int depth;
	bool failed;
};

static uint32_t reader_punct(const struct condition_reader *r)
{
	return r->at < r->count && r->tokens[r->at].kind == SN_TOK_PUNCT ? r->tokens[r->at].punct
									 : 0;
}

static int64_t read_binary(struct condition_reader *r, int lowest);

static int64_t read_unary(struct condition_reader *r)
{
	uint32_t punct = reader_punct(r);
	int64_t value = 0;

	if (r->at >= r->count || r->depth > 100) {
		r->failed = true;
		return 0;
	}
	r->depth++;
	if (punct == '!' || punct == '-' || punct == '+' || punct == '~') {
		r->at++;
		value = read_unary(r);
		value = punct == '!'   ? !value
			: punct == '-' ? (int64_t)(0 - (uint64_t)value)
			: punct == '~' ? ~value
				       : value;
	} else if (punct == '(') {
		r->at++;
		value = read_binary(r, 0);
		r->failed |= reader_punct(r) != ')';
		r->at++;
	} else if (r->tokens[r->at].kind == SN_TOK_INT || r->tokens[r->at].kind == SN_TOK_CHAR) {
		r->failed |= !sn_pnd_integer_value(&r->tokens[r->at++], &value);
	} else if (r->tokens[r->at].kind == SN_TOK_IDENT) {
		r->at++; /* an unknown name is 0 (C11 6.10.1) */
	} else {
		r->failed = true;
	}
	r->depth--;
	return value;
}

static int condition_level(uint32_t punct)
{
	switch (punct) {
	case SN_PUNCT2('|', '|'):
		return 1;
	case SN_PUNCT2('&', '&'):
		return 2;
	case SN_PUNCT2('=', '='):
	case SN_PUNCT2('!', '='):
		return 3;
	case '<':
	case '>':
	case SN_PUNCT2('<', '='):
	case SN_PUNCT2('>', '='):
		return 4;
	case '+':
	case '-':
		return 5;
	case '*':
	case '/':
	case '%':
		return 6;
	default:
		return 0;
	}
}

static int64_t apply(struct condition_reader *r, uint32_t punct, int64_t a, int64_t b)
{
	switch (punct) {
	case SN_PUNCT2('|', '|'):
		return a || b;
	case SN_PUNCT2('&', '&'):
		return a && b;
	case SN_PUNCT2('=', '='):
		return a == b;
	case SN_PUNCT2('!', '='):
		return a != b;
	case '<':
		return a < b;
	case '>':
		return a > b;
	case SN_PUNCT2('<', '='):
		return a <= b;
	case SN_PUNCT2('>', '='):
		return a >= b;
	case '+':
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case '-':
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case '*':
		return (int64_t)((uint64_t)a * (uint64_t)b);
	default:
		if (b == 0 || (b == -1 && a == INT64_MIN)) {
			r->failed = true;
			return 0;
		}
		return punct == '/' ? a / b : a % b;
	}
}

static int64_t read_binary(struct condition_reader *r, int lowest)
{
	int64_t left = read_unary(r);

	for (;;) {
		uint32_t punct = reader_punct(r);
		int level = condition_level(punct);

		if (!level || level <= lowest || r->failed)
			return left;
		r->at++;
		left = apply(r, punct, left, read_binary(r, level));
	}
}

bool sn_pnd_condition_value(const struct sn_pnd_token *tokens, size_t count, int64_t *out)
{
	struct condition_reader reader = { .tokens = tokens, .count = count };

	*out = read_binary(&reader, 0);
	return !reader.failed && reader.at == count;
}
