/*
 * Source lines and inlined subroutines from DWARF, through libdw. Units are found by their ranges;
 * each is read once for all functions asked for together. Whatever libdw returns is checked:
 * offsets grow, depths and counts are bounded, so that damaged DWARF ends in fewer lines.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "code/bodies.h"
#include "code/demangle.h"
#include "code/image_parts.h"
#include "code/line_table.h"
#include "code/units.h"

enum { DEPTH_MAX = 200, DIES_MAX = 1 << 28, ORIGINS_MAX = 8 };

struct line_reader {
	Dwarf *dwarf;
	struct units units;
	struct sn_map files;   /* pointer of libdw -> interned */
	struct sn_map origins; /* DIE pointer of an abstract subroutine -> index + 1 in `callees` */
	SN_VEC(struct sn_inline) callees; /* name and declaration of abstract subroutines */
	struct sn_body_writers writers;
};

void sn_line_reader_free(struct line_reader *reader)
{
	if (!reader)
		return;
	sn_units_free(&reader->units);
	sn_vec_free(&reader->callees);
	sn_vec_free(&reader->writers.items);
	sn_map_free(&reader->files);
	sn_map_free(&reader->origins);
	free(reader);
}

/* ---- strings ---- */

/* Takes "/./", "//" and "x/../" out of a path, by its text. */
static void tidy_path(char *path)
{
	char *out = path;

	for (const char *at = path; *at;) {
		if (at[0] == '/' && at[1] == '/') {
			at++;
		} else if (at[0] == '/' && at[1] == '.' && (at[2] == '/' || !at[2])) {
			at += 2;
		} else if (out > path && at[0] == '/' && at[1] == '.' && at[2] == '.' &&
			   (at[3] == '/' || !at[3])) {
			char *slash = out;

			while (slash > path && slash[-1] != '/')
				slash--;
			if (slash == path || !strncmp(slash, "..", (size_t)(out - slash))) {
				*out++ = *at++; /* nothing to take back */
			} else {
				out = slash - 1;
				at += 3;
			}
		} else {
			*out++ = *at++;
		}
	}
	*out = 0;
}

/* A file as named by a unit whose compiler ran in `folder` (may be NULL). */
static const char *file_of(struct sn_structure *structure, const char *path, const char *folder)
{
	struct sn_text whole = { 0 };
	uint64_t *slot;

	if (!path || !*path || !strcmp(path, "???"))
		return NULL;
	slot = sn_map_put(&structure->lines->files, (uintptr_t)path, NULL);
	if (*slot)
		return (const char *)(uintptr_t)*slot;
	if (*path != '/' && folder && *folder == '/')
		sn_text_addf(&whole, "%s/", folder);
	sn_text_add(&whole, path);
	tidy_path(whole.chars);
	*slot = (uintptr_t)sn_structure_string(structure, whole.chars);
	sn_text_free(&whole);
	return (const char *)(uintptr_t)*slot;
}

/* ---- the units ---- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Stubs of the linker have no lines. */
static bool has_source(const struct sn_structure *structure, uint32_t function)
{
	return structure->functions[function].kind != SN_FUNCTION_PLT;
}

/* For these functions, as far as the image can be read in part. */
static struct line_reader *reader_open(struct sn_structure *structure, const uint32_t *functions,
				       size_t count)
{
	struct line_reader *reader = sn_alloc_zeroed(1, sizeof(*reader));
	SN_VEC(uint64_t) addrs = { 0 };

	for (size_t i = 0; i < count; i++)
		if (has_source(structure, functions[i]))
			sn_vec_push(&addrs, structure->functions[functions[i]].link_addr);
	if (addrs.count)
		qsort(addrs.items, addrs.count, sizeof(*addrs.items), by_number);
	reader->dwarf = sn_image_dwarf_around(structure->image, addrs.items, addrs.count);
	sn_units_read(structure->image, &reader->units);
	sn_vec_free(&addrs);
	return reader;
}

/* Whether any entry of a unit may refer to an entry of another: by its abbreviations. */
static bool refers_to_others(struct line_reader *reader, const struct unit *unit)
{
	Dwarf_Off at = 0;
	Dwarf_Die die;

	if (!dwarf_offdie(reader->dwarf, unit->offset, &die))
		return true;
	for (;;) {
		size_t length;
		unsigned name, form;
		Dwarf_Off offset;
		Dwarf_Abbrev *abbrev = dwarf_getabbrev(&die, at, &length);

		if (!abbrev || abbrev == DWARF_END_ABBREV)
			return !abbrev;
		/* elfutils 0.188 counts values of DW_FORM_implicit_const as attributes: without dwarf_getattrcnt */
		for (size_t i = 0; dwarf_getabbrevattr(abbrev, i, &name, &form, &offset) == 0; i++)
			if (form == DW_FORM_ref_addr)
				return true;
		at += length;
	}
}

/* Whether a part of the units says of these functions what all of them would say. */
static bool part_is_enough(const struct sn_structure *structure, const uint32_t *functions,
			   size_t count)
{
	struct line_reader *reader = structure->lines;

	for (size_t i = 0; i < count; i++) {
		int64_t unit;

		if (!has_source(structure, functions[i]))
			continue;
		unit = sn_unit_at(&reader->units, structure->functions[functions[i]].link_addr);
		if (unit < 0 || refers_to_others(reader, &reader->units.all.items[unit]))
			return false;
	}
	return true;
}

/* All units instead of the first ones, of which each stays what it is. */
static void reader_widen(struct sn_structure *structure)
{
	struct line_reader *part = structure->lines, *whole;
	size_t same = 0;

	sn_image_dwarf_whole(structure->image);
	structure->lines = whole = reader_open(structure, NULL, 0);
	for (; same < part->units.all.count && same < whole->units.all.count; same++)
		if (whole->units.all.items[same].offset == part->units.all.items[same].offset)
			whole->units.all.items[same].about = part->units.all.items[same].about;
	sn_line_reader_free(part);
}

static const char *string_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static struct sn_unit *describe_unit(struct sn_structure *structure, Dwarf_Die *die)
{
	struct sn_unit *about = sn_arena_new(&structure->arena, struct sn_unit);
	int language = dwarf_srclang(die);

	about->name = sn_structure_string(structure, string_attribute(die, DW_AT_name));
	about->folder = sn_structure_string(structure, string_attribute(die, DW_AT_comp_dir));
	about->producer = sn_structure_string(structure, string_attribute(die, DW_AT_producer));
	about->language = (uint16_t)(language > 0 ? language : 0);
	sn_vec_push(&structure->units, about);
	return about;
}

/* ---- names and declarations ---- */

static bool is_fortran(uint16_t language)
{
	return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 ||
	       language == DW_LANG_Fortran95 || language == DW_LANG_Fortran03 ||
	       language == DW_LANG_Fortran08;
}

/* From an inlined or concrete subroutine to the DIE that declares it. */
static bool origin_of(Dwarf_Die *die, Dwarf_Die *origin)
{
	Dwarf_Attribute attribute;

	*origin = *die;
	for (int i = 0; i < ORIGINS_MAX; i++) {
		Dwarf_Die next;

		if (!dwarf_attr(origin, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(origin, DW_AT_specification, &attribute))
			return i > 0;
		if (!dwarf_formref_die(&attribute, &next))
			return i > 0;
		*origin = next;
	}
	return true;
}

static const char *subroutine_name(struct sn_structure *structure, const char *linkage,
				   const char *plain)
{
	struct sn_text text = { 0 };
	const char *name;

	if (linkage && sn_demangle(linkage, &text))
		plain = text.chars;
	else if (!plain)
		plain = linkage ? linkage : "<unnamed>";
	name = sn_structure_string(structure, plain);
	sn_text_free(&text);
	return name;
}

static const char *linkage_name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* libdw's dwarf_decl_file takes file 0 for none, which it is before DWARF 5 only. */
static const char *declaring_file(struct sn_structure *structure, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Half version;
	Dwarf_Word number;
	size_t count;
	Dwarf_Die unit;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
	    dwarf_formudata(&attribute, &number) != 0 ||
	    !dwarf_cu_die(attribute.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    (number == 0 && version < 5) || dwarf_getsrcfiles(&unit, &files, &count) != 0 ||
	    number >= count)
		return NULL;
	return file_of(structure, dwarf_filesrc(files, number, NULL, NULL),
		       string_attribute(&unit, DW_AT_comp_dir));
}

/* A body of an OpenMP construct that has no name of its own has that of who wrote it in it. */
static const char *body_name(struct sn_structure *structure, const char *name, Dwarf_Die *die)
{
	struct sn_text text = { 0 };
	const char *whole = name;

	if (sn_body_name(&structure->lines->writers, die, name, &text))
		whole = sn_structure_string(structure, text.chars);
	sn_text_free(&text);
	return whole;
}

/* Name and declaration of an abstract subroutine, read once. */
static struct sn_inline callee_of(struct sn_structure *structure, Dwarf_Die *die)
{
	struct line_reader *reader = structure->lines;
	struct sn_inline callee = { .parent = -1 };
	Dwarf_Die origin;
	const char *linkage, *plain = dwarf_diename(die);
	uint64_t *slot;
	int line;

	origin_of(die, &origin);
	slot = sn_map_put(&reader->origins, (uintptr_t)origin.addr, NULL);
	if (*slot)
		return reader->callees.items[*slot - 1];
	*slot = reader->callees.count + 1;
	linkage = linkage_name_of(die);
	if (sn_is_nameless_body(linkage ? linkage : plain))
		plain = linkage = body_name(structure, linkage ? linkage : plain, die);
	callee.linkage_name = sn_structure_string(structure, linkage);
	callee.name = subroutine_name(structure, linkage, plain);
	callee.file = declaring_file(structure, die);
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		callee.line = (uint32_t)line;
	sn_vec_push(&reader->callees, callee);
	return callee;
}

/* ---- inlined subroutines of the functions asked for ---- */

/* A subroutine whose ranges lie in several functions: a cold part that could not be joined to its
 * parent. */
struct other_part {
	Dwarf_Die die;
	struct sn_gathered_lines *to;
};

struct unit_pass {
	struct sn_structure *structure;
	struct sn_gathered_lines *wanted; /* sorted by function */
	size_t wanted_count;
	Dwarf_Files *files;
	size_t file_count;
	Dwarf_Half version;
	struct sn_unit *about;
	size_t budget; /* DIEs that may still be looked at */
	SN_VEC(struct other_part) other_parts;
	bool is_other_part; /* in the second walk, of one of these */
};

static struct sn_gathered_lines *wanted_at(struct unit_pass *pass, uint64_t link_addr)
{
	int64_t function = sn_structure_find_known(pass->structure, link_addr);
	size_t low = 0, high = pass->wanted_count;

	if (function < 0)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pass->wanted[middle].function < (uint32_t)function)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pass->wanted_count && pass->wanted[low].function == (uint32_t)function
		       ? &pass->wanted[low]
		       : NULL;
}

static uint32_t number_attribute(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

static int32_t add_inline(struct unit_pass *pass, struct sn_gathered_lines *to, Dwarf_Die *die,
			  int32_t parent)
{
	struct sn_inline inlined = callee_of(pass->structure, die);
	uint32_t file = number_attribute(die, DW_AT_call_file);
	Dwarf_Addr base, first, end;
	ptrdiff_t at = 0;
	bool has_range = false;

	while ((at = dwarf_ranges(die, at, &base, &first, &end)) > 0) {
		struct sn_inline_range range = { { first, end }, (uint32_t)to->inlines.count };

		if (end <= first || to->ranges.count > (1u << 24))
			continue;
		sn_vec_push(&to->ranges, range);
		has_range = true;
	}
	if (!has_range)
		return parent; /* nothing of it is left; its children may be, elsewhere */
	inlined.parent = parent;
	if (pass->files && file < pass->file_count && (file || pass->version >= 5))
		inlined.call_file =
			file_of(pass->structure, dwarf_filesrc(pass->files, file, NULL, NULL),
				pass->about->folder);
	inlined.call_line = number_attribute(die, DW_AT_call_line);
	inlined.call_column = (uint16_t)number_attribute(die, DW_AT_call_column);
	sn_vec_push(&to->inlines, inlined);
	return (int32_t)to->inlines.count - 1;
}

/* A concrete subroutine: which wanted function is it? */
static struct sn_gathered_lines *begin_subprogram(struct unit_pass *pass, Dwarf_Die *die)
{
	Dwarf_Addr base, first, end, entry;
	struct sn_gathered_lines *found = NULL;
	struct sn_function *function;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &first, &end)) > 0) {
		struct sn_gathered_lines *here =
			first && end > first ? wanted_at(pass, first) : NULL;
		struct other_part other = { *die, here };

		if (!found)
			found = here;
		else if (here && here != found &&
			 (!pass->other_parts.count || sn_vec_last(&pass->other_parts).to != here))
			sn_vec_push(&pass->other_parts, other);
	}
	if (!found || found->has_declaration)
		return found;
	function = &pass->structure->functions[found->function];
	if (dwarf_entrypc(die, &entry) != 0 || entry == function->link_addr) {
		struct sn_inline self = callee_of(pass->structure, die);
		const char *plain = dwarf_diename(die);

		found->has_declaration = true;
		function->file = self.file;
		function->line = self.line;
		if (function->kind == SN_FUNCTION_FDE || function->kind == SN_FUNCTION_GAP) {
			function->name = self.name;
			if (self.linkage_name)
				function->linkage_name = self.linkage_name;
		} else if (sn_is_nameless_body(function->linkage_name)) {
			function->linkage_name =
				body_name(pass->structure, function->linkage_name, die);
			function->name = subroutine_name(pass->structure, function->linkage_name,
							 function->linkage_name);
		} else if (plain && pass->about && is_fortran(pass->about->language) &&
			   !strstr(function->linkage_name, "_MOD_")) {
			/* main program and external procedures: without underscores */
			function->name = sn_structure_string(pass->structure, plain);
		}
	}
	return found;
}

struct level {
	Dwarf_Die die;
	struct sn_gathered_lines
		*to;	/* function whose insides these are, NULL: none that is wanted */
	int32_t parent; /* inline index */
};

static bool has_children_of_interest(int tag, uint16_t language)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_compile_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_variant_part:
		/* Rust defines methods inside of types, C and C++ only declare them there */
		return language == DW_LANG_Rust;
	default:
		return false;
	}
}

/* Enters a DIE: what its children belong to. False: they are of no interest. */
static bool enter(struct unit_pass *pass, struct level *level)
{
	int tag = dwarf_tag(&level->die);

	if (!has_children_of_interest(tag, pass->about ? pass->about->language : 0))
		return false;
	if (tag == DW_TAG_subprogram && pass->is_other_part)
		return false;
	if (tag == DW_TAG_subprogram) {
		level->to = begin_subprogram(pass, &level->die);
		level->parent = -1;
	} else if (tag == DW_TAG_inlined_subroutine) {
		if (!level->to)
			return false;
		level->parent = add_inline(pass, level->to, &level->die, level->parent);
	} else if (tag == DW_TAG_lexical_block && !level->to) {
		return true; /* local functions may lie within */
	}
	return true;
}

/* Walks all DIEs below one, without recursion. Siblings must lie behind one another. */
static void walk_dies(struct unit_pass *pass, Dwarf_Die *root, struct sn_gathered_lines *to)
{
	struct level *stack = sn_alloc_zeroed(DEPTH_MAX, sizeof(*stack));
	size_t depth = 0;
	Dwarf_Die child;

	if (dwarf_child(root, &child) == 0) {
		stack[0] = (struct level){ child, to, -1 };
		depth = 1;
	}
	while (depth && pass->budget--) {
		struct level *level = &stack[depth - 1], inside = *level;
		Dwarf_Off offset = dwarf_dieoffset(&level->die);

		if (depth < DEPTH_MAX && enter(pass, &inside) &&
		    dwarf_child(&inside.die, &child) == 0 && dwarf_dieoffset(&child) > offset) {
			inside.die = child;
			stack[depth++] = inside;
			continue;
		}
		while (depth) { /* on to the next sibling, of this or of an outer level */
			level = &stack[depth - 1];
			offset = dwarf_dieoffset(&level->die);
			if (dwarf_siblingof(&level->die, &child) == 0 &&
			    dwarf_dieoffset(&child) > offset) {
				level->die = child;
				break;
			}
			depth--;
		}
	}
	free(stack);
}

/* ---- lines ---- */

static size_t first_line_from(Dwarf_Lines *lines, size_t count, uint64_t link_addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr addr = 0;

		dwarf_lineaddr(dwarf_onesrcline(lines, middle), &addr);
		if (addr < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_line(struct sn_gathered_lines *to, struct sn_line line)
{
	/* several rows for one address: the last counts */
	if (to->lines.count && sn_vec_last(&to->lines).link_addr == line.link_addr)
		to->lines.count--;
	sn_vec_push(&to->lines, line);
}

static void gather_lines(struct unit_pass *pass, struct sn_gathered_lines *to,
			 struct sn_range range, Dwarf_Lines *lines, size_t count)
{
	struct sn_function *function = &pass->structure->functions[to->function];
	size_t at = first_line_from(lines, count, range.first_link_addr);
	struct sn_line unknown = { .link_addr = range.first_link_addr, .inline_index = -1 };

	add_line(to, unknown);
	if (at)
		at--; /* the row in force at the first byte */
	for (; at < count; at++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, at);
		struct sn_line line = { .inline_index = -1 };
		Dwarf_Addr addr;
		bool ends = false;
		int number = 0, column = 0;

		if (!row || dwarf_lineaddr(row, &addr) != 0 || addr >= range.end_link_addr)
			break;
		dwarf_lineendsequence(row, &ends);
		line.link_addr = addr < range.first_link_addr ? range.first_link_addr : addr;
		if (!ends && dwarf_lineno(row, &number) == 0 && number > 0) {
			line.file = file_of(pass->structure, dwarf_linesrc(row, NULL, NULL),
					    pass->about->folder);
			line.line = line.file ? (uint32_t)number : 0;
			if (addr == function->link_addr && !function->entry_line &&
			    line.file == function->file)
				function->entry_line = line.line;
			if (dwarf_linecol(row, &column) == 0 && column > 0 && column <= UINT16_MAX)
				line.column = (uint16_t)column;
		}
		add_line(to, line);
	}
}

/* ---- one unit ---- */

static void read_unit(struct unit_pass *pass, struct unit *unit)
{
	struct line_reader *reader = pass->structure->lines;
	Dwarf_Die die, split, *insides = &die;
	Dwarf_Lines *lines = NULL;
	size_t line_count = 0;
	Dwarf_Half version;
	uint8_t type;

	if (!dwarf_offdie(reader->dwarf, unit->offset, &die))
		return;
	if (unit->is_skeleton &&
	    dwarf_cu_info(die.cu, &version, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
	    split.addr)
		insides = &split;
	if (!unit->about)
		unit->about = describe_unit(pass->structure, insides);
	pass->about = unit->about;
	if (dwarf_getsrcfiles(insides, &pass->files, &pass->file_count) != 0)
		pass->files = NULL;
	if (dwarf_getsrclines(&die, &lines, &line_count) != 0)
		line_count = 0;
	walk_dies(pass, insides, NULL);
	pass->is_other_part = true;
	for (size_t i = 0; i < pass->other_parts.count; i++)
		walk_dies(pass, &pass->other_parts.items[i].die, pass->other_parts.items[i].to);
	sn_vec_free(&pass->other_parts);
	for (size_t i = 0; i < pass->wanted_count; i++) {
		struct sn_gathered_lines *to = &pass->wanted[i];
		const struct sn_function *function = &pass->structure->functions[to->function];
		struct sn_range *ranges = sn_alloc_zeroed(function->range_count, sizeof(*ranges));

		memcpy(ranges, function->ranges, function->range_count * sizeof(*ranges));
		qsort(ranges, function->range_count, sizeof(*ranges), sn_ranges_by_address);
		for (uint32_t r = 0; r < function->range_count && line_count; r++)
			gather_lines(pass, to, ranges[r], lines, line_count);
		free(ranges);
		to->unit = unit->about;
	}
}

struct request {
	uint32_t unit, function;
};

static int by_unit(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void read_requests(struct sn_structure *structure, const struct request *requests,
			  size_t count)
{
	struct unit_pass pass = { .structure = structure,
				  .wanted = sn_alloc_zeroed(count, sizeof(*pass.wanted)),
				  .wanted_count = count,
				  .budget = DIES_MAX };

	for (size_t i = 0; i < count; i++)
		pass.wanted[i].function = requests[i].function;
	read_unit(&pass, &structure->lines->units.all.items[requests[0].unit]);
	for (size_t i = 0; i < count; i++) {
		sn_gathered_lines_finish(structure, &pass.wanted[i]);
		sn_gathered_lines_free(&pass.wanted[i]);
	}
	free(pass.wanted);
}

void sn_lines_prepare(struct sn_structure *structure, const uint32_t *functions, size_t count)
{
	struct request *requests = sn_alloc_zeroed(count, sizeof(*requests));
	size_t wanted = 0;

	if (!structure->lines)
		structure->lines = reader_open(structure, functions, count);
	if (structure->image->has_dwarf_part && !part_is_enough(structure, functions, count))
		reader_widen(structure);
	for (size_t i = 0; i < count; i++) {
		struct sn_function *function = &structure->functions[functions[i]];
		int64_t unit = sn_unit_at(&structure->lines->units, function->link_addr);

		function->has_lines = true;
		if (unit >= 0)
			requests[wanted++] = (struct request){ (uint32_t)unit, functions[i] };
	}
	if (wanted)
		qsort(requests, wanted, sizeof(*requests), by_unit);
	for (size_t first = 0, i = 1; i <= wanted; i++) {
		if (i < wanted && requests[i].unit == requests[first].unit)
			continue;
		read_requests(structure, requests + first, i - first);
		first = i;
	}
	free(requests);
}
