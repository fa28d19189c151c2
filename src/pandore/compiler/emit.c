/* The generated program: descriptors, functions, phases, tables, the host's text. */
#include "pandore/compiler/emit.h"

#include <stdarg.h>
#include <string.h>

#include "pandore/compiler/data.h"
#include "pandore/compiler/outside.h"
#include "pandore/compiler/overwrite.h"

void sn_pnd_line(struct sn_pnd_emitter *em, const char *format, ...)
{
	va_list args;

	sn_text_add_repeated(em->out, '\t', (size_t)em->indent);
	va_start(args, format);
	sn_text_addv(em->out, format, args);
	va_end(args);
	sn_text_add_char(em->out, '\n');
}

static void add_c_string(struct sn_text *text, const char *chars)
{
	sn_text_add_char(text, '"');
	for (const unsigned char *c = (const unsigned char *)chars; *c; c++) {
		if (*c == '"' || *c == '\\')
			sn_text_addf(text, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f || *c == '?')
			sn_text_addf(text, "\\%03o", *c);
		else
			sn_text_add_char(text, (char)*c);
	}
	sn_text_add_char(text, '"');
}

static void mark(struct sn_pnd_emitter *em, int line, const char *file)
{
	sn_text_addf(em->out, "#line %d ", line);
	add_c_string(em->out, file);
	sn_text_add_char(em->out, '\n');
}

void sn_pnd_mark_line(struct sn_pnd_emitter *em, struct sn_pnd_pos pos)
{
	mark(em, pos.line, em->program->diags->files.items[pos.file].name);
}

const char *sn_pnd_text_of(struct sn_pnd_emitter *em, const struct sn_pnd_expr *expr)
{
	struct sn_text text = { 0 };
	const char *kept;

	sn_pnd_print_expr(&text, expr);
	kept = sn_arena_strdup(em->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

struct sn_pnd_expr *sn_pnd_raw(struct sn_pnd_emitter *em, enum sn_pnd_type type, const char *text)
{
	struct sn_pnd_expr *e = sn_arena_new(em->arena, struct sn_pnd_expr);

	e->kind = SN_E_REAL;
	e->type = type;
	e->text = text;
	return e;
}

int sn_pnd_add_site(struct sn_pnd_emitter *em, struct sn_pnd_pos pos, int zone, bool is_broadcast,
		    const char *source, const char *target)
{
	struct sn_pnd_site site = {
		pos.line, em->phase->index, zone, is_broadcast, source, target
	};

	sn_vec_push(&em->sites, site);
	return (int)em->sites.count - 1;
}

void sn_pnd_add_point(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s, const char *label,
		      bool is_observed)
{
	em->points.items[s->id] =
		(struct sn_pnd_point){ s->pos.line, em->phase->index, s->zone, is_observed, label };
}

void sn_pnd_add_assignment(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s)
{
	sn_pnd_add_point(em, s, sn_pnd_text_of(em, s->lhs),
			 !em->program->has_observe && s->lhs->var->is_distributed);
}

const char *sn_pnd_owner_text(struct sn_pnd_emitter *em, const struct sn_pnd_expr *element)
{
	struct sn_text text = { 0 };
	const char *kept;

	sn_text_addf(&text, "pd_own_%s_%s(", em->phase->name, element->var->name);
	for (int d = 0; d < element->arg_count; d++) {
		sn_text_add(&text, d ? ", " : "");
		sn_pnd_print_expr(&text, element->args[d]);
	}
	sn_text_add(&text, ")");
	kept = sn_arena_strdup(em->arena, text.chars);
	sn_text_free(&text);
	return kept;
}

const char *sn_pnd_extent_text(struct sn_pnd_emitter *em, const struct sn_pnd_var *var, int d)
{
	return var->late_extent[d] ? sn_arena_printf(em->arena, "(long)(%s)",
						     sn_pnd_text_of(em, var->late_extent[d]))
				   : sn_arena_printf(em->arena, "%lld", (long long)var->extent[d]);
}

void sn_pnd_doubt(struct sn_pnd_emitter *em, struct sn_pnd_pos pos, const struct sn_pnd_expr *e,
		  const char *what, const char *guard)
{
	if (!sn_pnd_reads_data(e))
		return;
	if (guard)
		sn_pnd_line(em, "if (%s)", guard);
	sn_pnd_line(em, "%sPD_DOUBT(%d, \"%s\");", guard ? "\t" : "", pos.line, what);
}

void sn_pnd_doubt_owner(struct sn_pnd_emitter *em, const struct sn_pnd_expr *element,
			const char *guard)
{
	for (int d = 0; d < element->arg_count; d++)
		if (element->var->grid[d] > 1 && sn_pnd_reads_data(element->args[d])) {
			sn_pnd_doubt(em, element->pos, element->args[d], "a subscript", guard);
			return;
		}
}

const char *sn_pnd_compute_text(const struct sn_pnd_stmt *assign)
{
	const struct sn_pnd_var *var = assign->lhs->var;

	return var->is_distributed || var->is_data ? "PD_COMPUTE " : "";
}

const char *sn_pnd_assign_text(struct sn_pnd_emitter *em, const struct sn_pnd_stmt *s,
			       const struct sn_pnd_expr *lhs, const struct sn_pnd_expr *rhs)
{
	char op[4] = { (char)(s->punct & 255), (char)(s->punct >> 8 & 255),
		       (char)(s->punct >> 16 & 255), 0 };

	if (!rhs)
		return sn_arena_printf(em->arena, "%s%s", sn_pnd_text_of(em, lhs), op);
	return sn_arena_printf(em->arena, "%s %s %s", sn_pnd_text_of(em, lhs), op,
			       sn_pnd_text_of(em, rhs));
}

/* ---- arrays ---- */

static void emit_list(struct sn_pnd_emitter *em, const char *name, const int64_t *values, int count)
{
	sn_text_addf(em->out, " .%s = {", name);
	for (int i = 0; i < count; i++)
		sn_text_addf(em->out, "%s%lld", i ? ", " : " ", (long long)values[i]);
	sn_text_add(em->out, " },");
}

/* Sizes that are known late are set by pd_lay_out_PHASE. */
static void emit_array(struct sn_pnd_emitter *em, const struct sn_pnd_var *v)
{
	static const char *const modes[] = { "PD_IN", "PD_OUT", "PD_INOUT" };
	int64_t order[SN_PND_RANK_MAX];

	sn_text_addf(em->out, "static %sstruct pd_array pd_array_%s_%s = {\n\t.name = \"%s\",",
		     sn_pnd_is_late(em->program, v) ? "" : "const ", em->phase->name, v->name,
		     v->name);
	sn_text_addf(em->out, " .element_bytes = %lld, .rank = %d, .mode = %s,",
		     (long long)sn_pnd_type_bytes(v->type), v->rank, modes[v->mode]);
	emit_list(em, "extent", v->extent, v->rank);
	if (sn_pnd_is_overwritten(em->phase, v))
		sn_text_add(em->out, " .is_overwritten = 1,");
	if (v->is_distributed) {
		for (int d = 0; d < v->rank; d++)
			order[d] = v->order[d];
		sn_text_addf(em->out,
			     "\n\t.is_distributed = 1, .is_wrapped = %d, .block_count = %lld, "
			     ".per_node = %lld,",
			     v->is_wrapped, (long long)v->block_count,
			     (long long)v->blocks_per_node);
		emit_list(em, "block", v->block, v->rank);
		emit_list(em, "grid", v->grid, v->rank);
		emit_list(em, "order", order, v->rank);
	}
	sn_text_add(em->out, "\n};\n");
}

/* Computes the layouts of a phase's arrays from its scalars. */
static void emit_lay_out(struct sn_pnd_emitter *em)
{
	const char *phase = em->phase->name;

	sn_pnd_line(em, "static void pd_lay_out_%s(const union pd_scalar *pd_scalars)\n{", phase);
	sn_pnd_line(em, "\t(void)pd_scalars;");
	for (const struct sn_pnd_var *v = em->phase->params; v; v = v->next)
		if (!v->rank)
			sn_pnd_line(em, "\tconst %s %s = (%s)pd_scalars[%d].%s; (void)%s;",
				    sn_pnd_type_name(v->type), v->name, sn_pnd_type_name(v->type),
				    v->index, v->type >= SN_T_FLOAT ? "real" : "integer", v->name);
	for (const struct sn_pnd_var *v = em->phase->params; v; v = v->next) {
		if (!v->rank || !sn_pnd_is_late(em->program, v))
			continue;
		for (int d = 0; d < v->rank; d++) {
			sn_pnd_line(em, "\tpd_array_%s_%s.extent[%d] = %s;", phase, v->name, d,
				    sn_pnd_extent_text(em, v, d));
			if (v->late_block[d])
				sn_pnd_line(em, "\tpd_array_%s_%s.block[%d] = (long)(%s);", phase,
					    v->name, d, sn_pnd_text_of(em, v->late_block[d]));
			else if (v->is_distributed)
				sn_pnd_line(em, "\tpd_array_%s_%s.block[%d] = %lld;", phase,
					    v->name, d, (long long)v->block[d]);
		}
		sn_pnd_line(em, "\tpd_lay_out(\"%s\", &pd_array_%s_%s);", phase, phase, v->name);
	}
	sn_pnd_line(em, "}");
}

/* A size of the layout: a number, or where the run has it. */
static const char *size_text(struct sn_pnd_emitter *em, const struct sn_pnd_var *v,
			     const char *member, int d, int64_t size)
{
	if (d >= 0 ? v->late_extent[d] || v->late_block[d] : sn_pnd_is_late(em->program, v))
		return d >= 0 ? sn_arena_printf(em->arena, "pd_array_%s_%s.%s[%d]", em->phase->name,
						v->name, member, d)
			      : sn_arena_printf(em->arena, "pd_array_%s_%s.%s", em->phase->name,
						v->name, member);
	return sn_arena_printf(em->arena, "%lld", (long long)size);
}

/* The number of the block that holds an element, then its node. */
static void emit_owner(struct sn_pnd_emitter *em, const struct sn_pnd_var *v)
{
	struct sn_text params = { 0 }, block = { 0 };

	for (int d = 0; d < v->rank; d++)
		sn_text_addf(&params, "%slong i%d", d ? ", " : "", d);
	for (int k = 0; k < v->rank; k++) {
		int d = v->order[k];

		if (v->grid[d] == 1)
			continue;
		if (block.length) {
			struct sn_text inner = { 0 };

			sn_text_addf(&inner, "(%s) * %s + i%d / %s", block.chars,
				     size_text(em, v, "grid", d, v->grid[d]), d,
				     size_text(em, v, "block", d, v->block[d]));
			sn_text_free(&block);
			block = inner;
		} else {
			sn_text_addf(&block, "i%d / %s", d,
				     size_text(em, v, "block", d, v->block[d]));
		}
	}
	sn_pnd_line(em, "static inline int pd_own_%s_%s(%s)", em->phase->name, v->name,
		    params.chars);
	sn_pnd_line(em, "{");
	for (int d = 0; d < v->rank; d++)
		if (v->grid[d] == 1)
			sn_pnd_line(em, "\t(void)i%d;", d);
	if (!block.length)
		sn_pnd_line(em, "\treturn 0;");
	else if (v->is_wrapped)
		sn_pnd_line(em, "\treturn (int)((%s) %% PD_NODES);", block.chars);
	else
		sn_pnd_line(em, "\treturn (int)((%s) / %s);", block.chars,
			    size_text(em, v, "per_node", -1, v->blocks_per_node));
	sn_pnd_line(em, "}");
	sn_text_free(&params);
	sn_text_free(&block);
}

/* "float (*restrict A)[128]" or "float *restrict V" */
static void add_pointer(struct sn_pnd_emitter *em, struct sn_text *text, const struct sn_pnd_var *v)
{
	sn_text_addf(text, "%s ", sn_pnd_type_name(v->type));
	sn_text_addf(text, v->rank > 1 ? "(*restrict %s)" : "*restrict %s", v->name);
	for (int d = 1; d < v->rank; d++)
		sn_text_addf(text, "[%s]", sn_pnd_extent_text(em, v, d));
}

/* The body has the arrays as restrict parameters: what C compilers trust most. */
static void emit_body_head(struct sn_pnd_emitter *em)
{
	struct sn_text params = { 0 };

	for (const struct sn_pnd_var *v = em->phase->params; v; v = v->next) {
		sn_text_add(&params, ", ");
		if (v->rank)
			add_pointer(em, &params, v);
		else
			sn_text_addf(&params, "const %s %s", sn_pnd_type_name(v->type), v->name);
	}
	sn_pnd_line(em, "\nstatic __attribute__((noinline)) void pd_body_%s(const int pd_me%s)",
		    em->phase->name, params.chars ? params.chars : "");
	sn_text_free(&params);
}

static void emit_run(struct sn_pnd_emitter *em)
{
	sn_pnd_line(em,
		    "\nstatic void pd_run_%s(void *const *pd_storage, "
		    "const union pd_scalar *pd_scalars)",
		    em->phase->name);
	sn_pnd_line(em, "{");
	sn_pnd_line(em, "\t(void)pd_storage;\n\t(void)pd_scalars;\n\tpd_body_%s(pd_node()",
		    em->phase->name);
	for (const struct sn_pnd_var *v = em->phase->params; v; v = v->next) {
		if (v->rank)
			sn_pnd_line(em, "\t\t, pd_storage[%d]", v->index);
		else
			sn_pnd_line(em, "\t\t, (%s)pd_scalars[%d].%s", sn_pnd_type_name(v->type),
				    v->index, v->type >= SN_T_FLOAT ? "real" : "integer");
	}
	sn_pnd_line(em, "\t);\n}");
}

static void emit_phase(struct sn_pnd_emitter *em, const struct sn_pnd_phase *phase)
{
	struct sn_text body = { 0 }, tables = { 0 }, *whole = em->out;

	em->phase = phase;
	em->temp_count = 0;
	sn_pnd_find_data(phase);
	for (const struct sn_pnd_var *v = phase->params; v; v = v->next) {
		if (v->rank)
			emit_array(em, v);
		if (v->is_distributed)
			emit_owner(em, v);
	}
	if (sn_pnd_has_late(em->program, phase))
		emit_lay_out(em);
	em->out = &body;
	em->tables = &tables;
	emit_body_head(em);
	sn_pnd_line(em, "{");
	em->indent++;
	sn_pnd_line(em, "(void)pd_me;");
	for (const struct sn_pnd_var *v = phase->params; v; v = v->next)
		sn_pnd_line(em, "(void)%s;", v->name);
	if (em->is_checking)
		sn_pnd_emit_checks(em, phase->body);
	else
		sn_pnd_emit_stmt(em, phase->body);
	em->indent--;
	sn_pnd_line(em, "}");
	mark(em, 1, "(generated)");
	emit_run(em);
	em->out = whole;
	sn_text_add_bytes(em->out, tables.chars ? tables.chars : "", tables.length);
	sn_text_add_bytes(em->out, body.chars, body.length);
	sn_text_free(&body);
	sn_text_free(&tables);
}

/* What the host calls: whole arrays, scalars by value. A macro sees the argument's type. */
static void emit_host_stub(struct sn_pnd_emitter *em, const struct sn_pnd_phase *phase)
{
	struct sn_text params = { 0 }, arrays = { 0 }, scalars = { 0 }, names = { 0 },
		       values = { 0 }, rows = { 0 };

	for (const struct sn_pnd_var *v = phase->params; v; v = v->next) {
		if (v->rank) {
			sn_text_addf(&params, "%svoid *%s, size_t pd_row_%d", v->index ? ", " : "",
				     v->name, v->index);
			sn_text_addf(&names, "%s%s", v->index ? ", " : "", v->name);
			sn_text_addf(&values, "%sPD_HOST_ARRAY_%s(%s, %s), sizeof(*(%s))",
				     v->index ? ", " : "",
				     v->rank > 2   ? "3"
				     : v->rank > 1 ? "2"
						   : "1",
				     sn_pnd_type_name(v->type), v->name, v->name);
			sn_text_addf(&rows, "pd_row_%d, ", v->index);
		} else {
			sn_text_addf(&params, "%s%s %s", v->index ? ", " : "",
				     sn_pnd_type_name(v->type), v->name);
			sn_text_addf(&names, "%s%s", v->index ? ", " : "", v->name);
			sn_text_addf(&values, "%s%s", v->index ? ", " : "", v->name);
			sn_text_add(&rows, "0, ");
		}
		sn_text_addf(&arrays, "%s, ", v->rank ? v->name : "0");
		if (v->rank)
			sn_text_add(&scalars, "{ 0 }, ");
		else
			sn_text_addf(&scalars, "{ .%s = %s }, ",
				     v->type >= SN_T_FLOAT ? "real" : "integer", v->name);
	}
	sn_pnd_line(em, "\nstatic __attribute__((unused)) void pd_host_%s(%s)", phase->name,
		    params.length ? params.chars : "void");
	sn_pnd_line(em, "{");
	sn_pnd_line(em, "\tvoid *const pd_arrays[] = { %s0 };", arrays.chars ? arrays.chars : "");
	sn_pnd_line(em, "\tconst union pd_scalar pd_scalars[] = { %s{ 0 } };",
		    scalars.chars ? scalars.chars : "");
	sn_pnd_line(em, "\tconst size_t pd_rows[] = { %s0 };", rows.chars ? rows.chars : "");
	sn_pnd_line(em, "\n\tpd_call(%d, pd_arrays, pd_scalars, pd_rows);", phase->index);
	sn_pnd_line(em, "}");
	sn_pnd_line(em, "#define %s(%s) pd_host_%s(%s)", phase->name,
		    names.chars ? names.chars : "", phase->name, values.chars ? values.chars : "");
	sn_text_free(&names);
	sn_text_free(&values);
	sn_text_free(&rows);
	sn_text_free(&params);
	sn_text_free(&arrays);
	sn_text_free(&scalars);
}

/* ---- functions ---- */

static void emit_function_head(struct sn_pnd_emitter *em, const struct sn_pnd_function *f,
			       const char *ending)
{
	struct sn_text params = { 0 };

	for (const struct sn_pnd_var *v = f->params; v; v = v->next)
		sn_text_addf(&params, "%s%s %s", v->index ? ", " : "", sn_pnd_type_name(v->type),
			     v->name);
	sn_pnd_line(em, "%s %s %s(%s)%s", f->body ? "static __attribute__((unused))" : "extern",
		    sn_pnd_type_name(f->type), f->name, params.length ? params.chars : "void",
		    ending);
	sn_text_free(&params);
}

/* A constant array, which functions and phases may read. */
static bool is_table(const struct sn_pnd_var *v)
{
	return v->is_const && v->rank;
}

static void emit_global(struct sn_pnd_emitter *em, const struct sn_pnd_var *v)
{
	sn_text_addf(em->out, "static __attribute__((unused)) %s%s %s", is_table(v) ? "const " : "",
		     sn_pnd_type_name(v->type), v->name);
	for (int d = 0; d < v->rank; d++)
		sn_text_addf(em->out, "[%lld]", (long long)v->extent[d]);
	if (v->init) {
		sn_text_add(em->out, " = ");
		sn_pnd_print_expr(em->out, v->init);
	} else if (v->init_list) {
		sn_text_add(em->out, " = {");
		for (const struct sn_pnd_expr *e = v->init_list; e; e = e->next) {
			sn_text_add(em->out, e == v->init_list ? " " : ", ");
			sn_pnd_print_expr(em->out, e);
		}
		sn_text_add(em->out, " }");
	}
	sn_text_add(em->out, ";\n");
}

static void emit_functions(struct sn_pnd_emitter *em)
{
	const struct sn_pnd_function *f;

	for (size_t i = 0; i < em->program->math_used.count; i++) {
		const struct sn_pnd_math *m = sn_pnd_math_find(em->program->math_used.items[i]);
		const char *type = sn_pnd_type_name(m->type);

		sn_pnd_line(em, m->arity == 1 ? "%s %s(%s);" : "%s %s(%s, %s);", type, m->name,
			    type, type);
	}
	for (const struct sn_pnd_var *v = em->program->globals; v; v = v->next)
		if (is_table(v))
			emit_global(em, v);
	for (f = em->program->functions; f; f = f->next)
		if (!f->is_opaque)
			emit_function_head(em, f, ";");
	for (f = em->program->functions; f; f = f->next) {
		if (!f->body)
			continue;
		emit_function_head(em, f, "");
		sn_pnd_emit_plain(em, f->body);
	}
	mark(em, 1, "(generated)");
}

/* ---- tables ---- */

static void emit_tables(struct sn_pnd_emitter *em)
{
	sn_pnd_line(em, "\nstatic const struct pd_site pd_sites[] = {");
	for (size_t i = 0; i < em->sites.count; i++) {
		const struct sn_pnd_site *s = &em->sites.items[i];

		sn_pnd_line(em, "\t{ %d, %d, %d, %d, \"%s\", \"%s\" },", s->line, s->phase, s->zone,
			    s->is_broadcast, s->source, s->target);
	}
	sn_pnd_line(em, "\t{ 0 }\n};\nstatic const struct pd_point pd_points[] = {");
	for (size_t i = 0; i < em->points.count; i++) {
		const struct sn_pnd_point *p = &em->points.items[i];
		struct sn_text label = { 0 };

		add_c_string(&label, p->label ? p->label : "");
		sn_pnd_line(em, "\t{ %d, %d, %d, %d, %s },", p->line, p->phase, p->zone,
			    p->is_observed, label.chars);
		sn_text_free(&label);
	}
	sn_pnd_line(em, "\t{ 0 }\n};\nstatic const struct pd_zone pd_zones[] = {");
	for (size_t i = 0; i < em->program->zones.count; i++)
		sn_pnd_line(em, "\t{ \"%s\", %d },", em->program->zones.items[i].name,
			    em->program->zones.items[i].phase);
	sn_pnd_line(em, "\t{ 0 }\n};");
}

static void emit_phase_table(struct sn_pnd_emitter *em)
{
	const struct sn_pnd_phase *ph;

	for (ph = em->program->phases; ph; ph = ph->next) {
		sn_pnd_line(em, "static const struct pd_array *const pd_arrays_%s[] = {", ph->name);
		for (const struct sn_pnd_var *v = ph->params; v; v = v->next) {
			if (v->rank)
				sn_pnd_line(em, "\t&pd_array_%s_%s,", ph->name, v->name);
			else
				sn_pnd_line(em, "\t0,");
		}
		sn_pnd_line(em, "\t0\n};");
	}
	for (ph = em->program->phases; ph && em->is_counting; ph = ph->next) {
		sn_pnd_line(em, "static const union pd_scalar pd_given_%s[] = {", ph->name);
		for (const struct sn_pnd_var *v = ph->params; v; v = v->next)
			sn_pnd_line(em, "\t{ .integer = %lldL },",
				    v->passed == SN_PASSED_CONSTANT ? (long long)v->passed_value
								    : 0);
		sn_pnd_line(em, "\t{ 0 }\n};");
	}
	sn_pnd_line(em, "static const struct pd_phase pd_phases[] = {");
	for (ph = em->program->phases; ph; ph = ph->next)
		sn_pnd_line(em, "\t{ \"%s\", %d, pd_arrays_%s, pd_run_%s, %s%s, %s%s },", ph->name,
			    ph->param_count, ph->name, ph->name,
			    sn_pnd_has_late(em->program, ph) ? "pd_lay_out_" : "0",
			    sn_pnd_has_late(em->program, ph) ? ph->name : "",
			    em->is_counting ? "pd_given_" : "0", em->is_counting ? ph->name : "");
	sn_pnd_line(em, "\t{ 0 }\n};");
}

static int phase_count(const struct sn_pnd_program *program)
{
	int count = 0;

	for (const struct sn_pnd_phase *ph = program->phases; ph; ph = ph->next)
		count++;
	return count;
}

static void emit_main(struct sn_pnd_emitter *em)
{
	const struct sn_pnd_options *o = em->options;
	struct sn_text name = { 0 }, source = { 0 };

	add_c_string(&name, o->program_name ? o->program_name : "a.out");
	add_c_string(&source, em->program->diags->files.items[0].name);
	sn_pnd_line(em, "\nstatic const struct pd_program pd_program = {");
	sn_pnd_line(em, "\t.name = %s, .source = %s, .scheme = \"%s\",", name.chars, source.chars,
		    o->scheme == SN_PND_OPT ? "opt" : "naive");
	sn_pnd_line(em, "\t.nodes = %d, .host_inside = %d,", em->program->nodes, o->host_inside);
	sn_pnd_line(em,
		    "\t.phase_count = %d, .site_count = %zu, .point_count = %zu, .zone_count = "
		    "%zu,",
		    phase_count(em->program), em->sites.count, em->points.count,
		    em->program->zones.count);
	sn_pnd_line(em, "\t.phases = pd_phases, .sites = pd_sites, .points = pd_points, .zones = "
			"pd_zones,");
	sn_pnd_line(em, "\t.has_profile = PD_PROFILED, .has_trace = PD_TRACED,");
	sn_pnd_line(em, "\t.is_counting = PD_COUNTED, .is_checking = %d\n};", em->is_checking);
	sn_pnd_line(em, "\nstatic int pd_host_main();");
	sn_pnd_line(em, "static int pd_host(int argc, char **argv)\n{");
	if (em->program->main_takes_arguments)
		sn_pnd_line(em, "\treturn pd_host_main(argc, argv);");
	else
		sn_pnd_line(em, "\t(void)argc;\n\t(void)argv;\n\treturn pd_host_main();");
	sn_pnd_line(em, "}\n\nint main(int argc, char **argv)\n{");
	sn_pnd_line(em, "\treturn pd_main(&pd_program, argc, argv, pd_host);\n}\n");
	sn_text_free(&name);
	sn_text_free(&source);
}

/* ---- the host's text ---- */

static const struct sn_pnd_token *token_at(const struct sn_pnd_program *program, size_t i)
{
	return &program->tokens.items.items[i];
}

/* The user's bytes from one token to the end of another, but for arrays that may be on the nodes. */
static void emit_raw(struct sn_pnd_emitter *em, size_t first, size_t last)
{
	const struct sn_pnd_token *a = token_at(em->program, first),
				  *b = token_at(em->program, last);
	const struct sn_pnd_file *file = &em->program->diags->files.items[a->pos.file];

	size_t at = a->offset;

	if (a->pos.file != b->pos.file || a->offset > b->offset)
		return;
	for (size_t i = 0, k = 0; em->program->looks.count || em->program->ahead.count;) {
		const struct sn_pnd_look *look =
			i < em->program->looks.count ? &em->program->looks.items[i] : NULL;
		const struct sn_pnd_ahead *ahead =
			k / 2 < em->program->ahead.count ? &em->program->ahead.items[k / 2] : NULL;
		size_t edge = !ahead ? SIZE_MAX : k % 2 ? ahead->last : ahead->first;
		const struct sn_pnd_token *t;

		if (look && look->token < edge) {
			i++;
			t = token_at(em->program, look->token);
			if (look->token < first || look->token > last)
				continue;
			sn_text_add_bytes(em->out, file->chars + at, t->offset - at);
			sn_text_addf(em->out, "((__typeof__(&%s[0]))%s(%s))", t->text,
				     look->is_argument ? "pd_stay" : "pd_look", t->text);
			at = t->offset + t->length;
		} else if (ahead) {
			size_t end = token_at(em->program, edge)->offset + k % 2;

			k++;
			if (edge < first || edge > last)
				continue;
			sn_text_add_bytes(em->out, file->chars + at, end - at);
			sn_text_add(em->out, k % 2 ? "pd_ahead_begin(); " : " pd_ahead_end();");
			at = end;
		} else {
			break;
		}
	}
	sn_text_add_bytes(em->out, file->chars + at, b->offset + b->length - at);
}

static void emit_host_main(struct sn_pnd_emitter *em, const struct sn_pnd_host_item *item)
{
	size_t name = item->first_token;

	while (strcmp(token_at(em->program, name)->text, "main"))
		name++;
	sn_text_add(em->out, "static int pd_host_main\n");
	sn_pnd_mark_line(em, token_at(em->program, name + 1)->pos);
	emit_raw(em, name + 1, item->last_token - 1);
	/* main() that ends without a return returns 0 (C11 5.1.2.2.3) */
	sn_text_add(em->out, "\nreturn 0;\n}\n");
}

static bool is_inside_host_text(const struct sn_pnd_program *program, size_t token_index)
{
	for (size_t i = 0; i < program->host.count; i++) {
		const struct sn_pnd_host_item *item = &program->host.items[i];

		if (item->kind != SN_HOST_GLOBAL && token_index > item->first_token &&
		    token_index <= item->last_token)
			return true;
	}
	return false;
}

static void emit_directives(struct sn_pnd_emitter *em, size_t *next, size_t before)
{
	const struct sn_pnd_program *program = em->program;

	for (; *next < program->tokens.directives.count; ++*next) {
		const struct sn_pnd_directive *d = &program->tokens.directives.items[*next];

		if (d->token_index > before)
			return;
		if (is_inside_host_text(program, d->token_index))
			continue;
		sn_pnd_mark_line(em, d->pos);
		sn_text_addf(em->out, "%s\n", d->text);
	}
}

static void emit_host(struct sn_pnd_emitter *em)
{
	size_t directive = 0;

	sn_text_add(em->out, "/* ---- the host ---- */\n");
	for (size_t i = 0; i < em->program->host.count; i++) {
		const struct sn_pnd_host_item *item = &em->program->host.items[i];

		emit_directives(em, &directive, item->first_token);
		switch (item->kind) {
		case SN_HOST_GLOBAL:
			if (!is_table(item->global))
				emit_global(em, item->global);
			break;
		case SN_HOST_FUNCTION:
		case SN_HOST_TEXT:
			sn_pnd_mark_line(em, token_at(em->program, item->first_token)->pos);
			emit_raw(em, item->first_token, item->last_token);
			sn_text_add(em->out, "\n");
			break;
		case SN_HOST_MAIN:
			emit_host_main(em, item);
			break;
		}
	}
}

void sn_pnd_emit_program(struct sn_pnd_emitter *em)
{
	const struct sn_pnd_phase *ph;

	sn_pnd_line(em, "/* Written by sonde pandore compile. */");
	if (em->program->nodes)
		sn_pnd_line(em, "#define PD_NODES %d", em->program->nodes);
	else
		sn_pnd_line(em, "#define PD_NODES pd_nodes");
	if (em->is_counting)
		sn_pnd_line(em, "#define PD_COUNT");
	if (em->options->profile || em->is_counting)
		sn_pnd_line(em, "#define PD_PROFILE");
	if (em->options->trace && !em->is_counting)
		sn_pnd_line(em, "#define PD_TRACE");
	sn_pnd_line(em, "#include <pandore.h>\n");
	for (int i = 0; i < em->program->assign_count; i++)
		sn_vec_push(&em->points, (struct sn_pnd_point){ .phase = -1 });
	emit_functions(em);
	for (ph = em->program->phases; ph; ph = ph->next)
		emit_phase(em, ph);
	emit_tables(em);
	emit_phase_table(em);
	for (ph = em->program->phases; ph; ph = ph->next)
		emit_host_stub(em, ph);
	emit_main(em);
	emit_host(em);
}
