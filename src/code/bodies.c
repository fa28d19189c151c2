/*
 * Names of the bodies that clang before 16 outlines from OpenMP constructs: ".omp_outlined._debug__.1" says nothing.
 * Later ones name them after the function that they are written in, "smooth.omp_outlined_debug__.1", and so do we.
 */
#include "code/bodies.h"

#include <dwarf.h>
#include <string.h>

static const char nameless[] = ".omp_outlined.";

bool sn_is_nameless_body(const char *name)
{
	return name && sn_starts_with(name, nameless);
}

/* ---- who wrote it ---- */

enum { DEPTH_MAX = 16 };

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return dwarf_diename(die);
}

/* A function with a body. Those that are only declared write nothing. */
static void function_add(struct sn_body_writers *writers, Dwarf_Die *die)
{
	struct sn_body_writer writer = { .name = name_of(die),
					 .file = dwarf_decl_file(die),
					 .plain = dwarf_diename(die) };
	int line;

	if (dwarf_hasattr(die, DW_AT_declaration) || !writer.name || !writer.plain ||
	    sn_is_nameless_body(writer.name) || dwarf_decl_line(die, &line) != 0 || line <= 0)
		return;
	writer.line = (uint32_t)line;
	sn_vec_push(&writers->items, writer);
}

/* Functions stand in the unit and in its namespaces: those of classes are only declared there. Siblings must lie
 * behind one another. */
static void functions_read(struct sn_body_writers *writers, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die, next;
	bool is_there = dwarf_child(parent, &die) == 0;

	while (is_there) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			function_add(writers, &die);
		else if (tag == DW_TAG_namespace && depth < DEPTH_MAX)
			functions_read(writers, &die, depth + 1);
		is_there = dwarf_siblingof(&die, &next) == 0 &&
			   dwarf_dieoffset(&next) > dwarf_dieoffset(&die);
		die = next;
	}
}

static bool is_same_file(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The functions of one file whose declarations are the last ones before a line. */
static const struct sn_body_writer *last_before(const struct sn_body_writers *writers,
						const char *file, uint32_t line, bool *is_sure)
{
	const struct sn_body_writer *best = NULL;

	*is_sure = true;
	for (size_t i = 0; i < writers->items.count; i++) {
		const struct sn_body_writer *writer = &writers->items.items[i];

		if (writer->line > line || !is_same_file(writer->file, file) ||
		    (best && writer->line < best->line))
			continue;
		if (best && writer->line == best->line) {
			*is_sure &= !strcmp(writer->name, best->name);
			continue;
		}
		best = writer;
		*is_sure = true;
	}
	return best;
}

bool sn_body_name(struct sn_body_writers *writers, Dwarf_Die *body, const char *name,
		  struct sn_text *out)
{
	const struct sn_body_writer *writer;
	bool is_sure;
	Dwarf_Die unit;
	int line;

	if (!sn_is_nameless_body(name) || dwarf_decl_line(body, &line) != 0 || line <= 0 ||
	    !dwarf_diecu(body, &unit, NULL, NULL))
		return false;
	if (writers->unit != unit.addr) {
		writers->unit = unit.addr;
		writers->items.count = 0;
		functions_read(writers, &unit, 0);
	}
	writer = last_before(writers, dwarf_decl_file(body), (uint32_t)line, &is_sure);
	if (!writer)
		return false;
	if (is_sure)
		sn_text_add(out, writer->name);
	else /* "f<int>" and "f<double>" are at the same line */
		sn_text_add_bytes(out, writer->plain, strcspn(writer->plain, "<"));
	sn_text_addf(out, ".omp_outlined%s", name + strlen(nameless));
	return true;
}
