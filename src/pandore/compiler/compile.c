/*
 * The compiler from beginning to end: tokens, tree, generated C, and on request the messages that
 * each phase will send.
 */
#include "pandore/compiler/compile.h"

#include <string.h>

#include "pandore/compiler/fission.h"
#include "pandore/compiler/predict.h"
#include "pandore/compiler/stays.h"

/* What the user says of parameters is as if all calls passed it. Returns a name that no phase has. */
static const char *take_given(const struct sn_pnd_program *program,
			      const struct sn_pnd_options *options)
{
	const char *unknown = NULL;

	for (size_t i = 0; i < options->given_count; i++) {
		const struct sn_pnd_given *given = &options->given[i];
		bool is_found = false;

		for (const struct sn_pnd_phase *ph = program->phases; ph; ph = ph->next)
			for (struct sn_pnd_var *v = ph->params; v; v = v->next) {
				if (v->rank || strcmp(v->spelled, given->name) ||
				    !sn_pnd_type_is_integer(v->type))
					continue;
				v->passed = SN_PASSED_CONSTANT;
				v->passed_value = given->value;
				is_found = true;
			}
		unknown = is_found ? unknown : given->name;
	}
	return unknown;
}

bool sn_pnd_compile(struct sn_pnd_diags *diags, const struct sn_pnd_options *options,
		    struct sn_pnd_result *out)
{
	struct sn_pnd_program program = { .arena = diags->arena, .diags = diags };
	struct sn_pnd_emitter em = {
		.program = &program, .options = options, .arena = diags->arena, .out = &out->code
	};
	bool ok;

	sn_pnd_lex(diags, &options->lex, &program.tokens);
	if (!diags->is_cut)
		sn_pnd_parse(&program);
	ok = !diags->errors;
	out->nodes = program.nodes ? program.nodes : options->nodes;
	for (const struct sn_pnd_phase *ph = program.phases; ph; ph = ph->next)
		sn_vec_push(&out->phases, ph->name);
	out->unknown_given = take_given(&program, options);
	if (ok) {
		sn_pnd_find_staying(&program);
		if (options->scheme == SN_PND_OPT)
			sn_pnd_split_loops(&program, options->reassoc, &em.nest_mark);
		sn_pnd_emit_program(&em);
	}
	if (ok && options->explain)
		sn_pnd_predict(&em, out);
	ok = ok && !diags->errors;
	sn_vec_free(&em.zones);
	sn_vec_free(&em.sites);
	sn_vec_free(&em.points);
	sn_pnd_program_free(&program);
	return ok;
}

void sn_pnd_result_free(struct sn_pnd_result *result)
{
	sn_text_free(&result->code);
	sn_text_free(&result->explain);
	sn_text_free(&result->messages);
	sn_vec_free(&result->phases);
	sn_vec_free(&result->remarks);
	sn_vec_free(&result->expected);
	sn_vec_free(&result->foretold);
	sn_vec_free(&result->unchecked);
}
