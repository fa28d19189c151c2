/* Writes the elements of PTF's sir.xsd: program, functions, regions, arrays. */
#include "search/sir/sir.h"

#include <dwarf.h>
#include <string.h>

#include "base/text.h"
#include "search/sir/contents.h"

struct writing {
	struct sn_structure *structure;
	const struct sn_variables *variables;
	FILE *out;
	const struct sn_function *function;
	struct sn_sir_contents contents;
};

static void indent(struct writing *w, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		fputs("  ", w->out);
}

static void attribute(struct writing *w, const char *name, const char *value, size_t length)
{
	struct sn_text plain = { 0 }, text = { 0 };

	sn_text_add_bytes(&plain, value, length);
	sn_text_add_html(&text, plain.chars ? plain.chars : "");
	fprintf(w->out, " %s=\"%s\"", name, text.chars ? text.chars : "");
	sn_text_free(&plain);
	sn_text_free(&text);
}

static void text_attribute(struct writing *w, const char *name, const char *value)
{
	if (value)
		attribute(w, name, value, strlen(value));
}

/* ---- positions and arrays ---- */

static void position(struct writing *w, unsigned depth, const char *file, uint32_t first,
		     uint32_t last)
{
	indent(w, depth);
	fputs("<position", w->out);
	if (first)
		fprintf(w->out, " startLine=\"%u\" endLine=\"%u\"", first,
			last > first ? last : first);
	fputs("><file", w->out);
	text_attribute(w, "name", file ? file : "");
	fputs("/></position>\n", w->out);
}

/* PTF's names of types are Fortran's. */
static const char *array_type(const struct sn_variable *v)
{
	switch ((enum sn_variable_kind)v->kind) {
	case SN_VARIABLE_INTEGER:
		return "INTEGER";
	case SN_VARIABLE_REAL:
		return v->element_bytes > 4 ? "DOUBLE" : "REAL";
	case SN_VARIABLE_COMPLEX:
		return "COMPLEX";
	case SN_VARIABLE_LOGICAL:
		return "LOGICAL";
	case SN_VARIABLE_CHARACTER:
		return "CHARACTER";
	case SN_VARIABLE_POINTER:
	case SN_VARIABLE_STRUCTURE:
	case SN_VARIABLE_OTHER:
		break;
	}
	return "DERIVED";
}

static bool is_shown(const struct sn_variable *v)
{
	return v->rank > 0 || v->kind == SN_VARIABLE_STRUCTURE;
}

static void array(struct writing *w, unsigned depth, const struct sn_variable *v)
{
	if (!is_shown(v))
		return;
	indent(w, depth);
	fprintf(w->out, "<array type=\"%s\"", array_type(v));
	text_attribute(w, "name", v->name);
	if (v->element_count)
		fprintf(w->out, " nelts=\"%llu\"", (unsigned long long)v->element_count);
	if (v->size_bytes)
		fprintf(w->out, " bytes=\"%llu\"", (unsigned long long)v->size_bytes);
	fputs("/>\n", w->out);
}

static void touched_arrays(struct writing *w, unsigned depth, int32_t loop)
{
	for (size_t i = 0; i < w->contents.touches.count; i++) {
		const struct sn_sir_touch *touch = &w->contents.touches.items[i];
		const struct sn_variable *v = &w->variables->items.items[touch->variable];
		bool is_own = loop < 0 && v->function_link_addr == w->function->link_addr;

		if (touch->loop == loop && !is_own) /* its own stand with its locals */
			array(w, depth, v);
	}
}

/* ---- regions ---- */

static void calls(struct writing *w, unsigned depth, int32_t loop)
{
	for (size_t i = 0; i < w->contents.calls.count; i++) {
		const struct sn_sir_call *call = &w->contents.calls.items[i];

		if (call->loop != loop)
			continue;
		indent(w, depth);
		fprintf(w->out, "<codeRegion type=\"%s\"", call->type);
		attribute(w, "name", call->name, call->name_length);
		fputs(">\n", w->out);
		position(w, depth + 1, call->file, call->line, call->line);
		indent(w, depth);
		fputs("</codeRegion>\n", w->out);
	}
}

static void loops(struct writing *w, unsigned depth, int32_t parent)
{
	for (uint32_t l = 0; l < w->function->loop_count; l++) {
		const struct sn_loop *loop = &w->function->loops[l];

		if (loop->parent != parent)
			continue;
		indent(w, depth);
		fputs("<codeRegion type=\"loop\"", w->out);
		text_attribute(w, "name", loop->label);
		text_attribute(w, "id", loop->id);
		fputs(">\n", w->out);
		position(w, depth + 1, loop->file, loop->line_first, loop->line_last);
		touched_arrays(w, depth + 1, (int32_t)l);
		loops(w, depth + 1, (int32_t)l);
		calls(w, depth + 1, (int32_t)l);
		indent(w, depth);
		fputs("</codeRegion>\n", w->out);
	}
}

/* ---- units ---- */

static bool is_fortran(const struct sn_function *function)
{
	switch (function->unit ? function->unit->language : 0) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
		return true;
	default:
		return false;
	}
}

static bool is_c_plus_plus(const struct sn_function *function)
{
	switch (function->unit ? function->unit->language : 0) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

/* What compilers make (the body of a parallel region) has no declaration: its own lines tell. */
static void lines_of(const struct sn_function *function, const char **file, uint32_t *first)
{
	*file = function->file;
	*first = function->line ? function->line : function->entry_line;
	for (uint32_t i = 0; i < function->line_count; i++) {
		const struct sn_line *line = &function->lines[i];

		if (function->line || line->inline_index >= 0 || !line->line)
			continue;
		*file = line->file;
		*first = !*first || line->line < *first ? line->line : *first;
	}
}

static uint32_t last_line(const struct sn_function *function)
{
	uint32_t last = function->line;

	for (uint32_t i = 0; i < function->line_count; i++)
		if (function->lines[i].inline_index < 0 && function->lines[i].line > last)
			last = function->lines[i].line;
	return last;
}

static void local_arrays(struct writing *w, unsigned depth)
{
	for (size_t i = 0; w->variables && i < w->variables->items.count; i++) {
		const struct sn_variable *v = &w->variables->items.items[i];

		if (v->function_link_addr && v->function_link_addr == w->function->link_addr)
			array(w, depth, v);
	}
}

static void function(struct writing *w, const struct sn_function *f)
{
	const char *file;
	uint32_t first;

	lines_of(f, &file, &first);
	w->function = f;
	sn_sir_contents_read(w->structure, f, w->variables, &w->contents);
	indent(w, 2);
	fprintf(w->out, "<unit type=\"%s\"", is_fortran(f) ? "subroutine" : "function");
	text_attribute(w, "name", f->name);
	text_attribute(w, "id", sn_function_id(w->structure, f));
	fputs(">\n", w->out);
	position(w, 3, file, first, last_line(f));
	local_arrays(w, 3);
	touched_arrays(w, 3, -1);
	loops(w, 3, -1);
	calls(w, 3, -1);
	indent(w, 2);
	fputs("</unit>\n", w->out);
	sn_sir_contents_free(&w->contents);
}

static void global_arrays(struct writing *w)
{
	for (size_t i = 0; w->variables && i < w->variables->addressed; i++)
		if (!w->variables->items.items[i].function)
			array(w, 2, &w->variables->items.items[i]);
}

/* Of code with debug information the functions that have it; else all that symbols name. */
static bool is_of_program(const struct sn_function *f, bool has_units)
{
	return f->kind == SN_FUNCTION_SYMBOL && (!has_units || f->unit);
}

void sn_sir_write(struct sn_structure *structure, const struct sn_variables *variables, FILE *out)
{
	struct writing w = { .structure = structure, .variables = variables, .out = out };
	const char *language = "c";
	bool has_units = false;

	for (size_t i = 0; i < sn_structure_function_count(structure); i++) {
		const struct sn_function *f = sn_structure_function(structure, i);

		has_units |= f->unit != NULL;
		language = is_fortran(f) ? "fortran" : is_c_plus_plus(f) ? "c++" : language;
	}
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<sir xmlns=\"http://www.lrr.in.tum.de/Periscope\" language=\"%s\">\n"
		"  <unit type=\"program\"",
		language);
	text_attribute(&w, "name", sn_base_name(sn_structure_path(structure)));
	text_attribute(&w, "id", sn_structure_id(structure));
	fputs(">\n", out);
	position(&w, 2, sn_structure_path(structure), 0, 0);
	global_arrays(&w);
	for (size_t i = 0; i < sn_structure_function_count(structure); i++)
		if (is_of_program(sn_structure_function(structure, i), has_units))
			function(&w, sn_structure_function(structure, i));
	fputs("  </unit>\n</sir>\n", out);
}
