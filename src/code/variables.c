/*
 * Walks the debug information entries of every unit. Nothing in DWARF is trusted: depths, the
 * number of entries and chains of types are bounded.
 */
#include "code/variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/text.h"
#include "code/dwarf_entry.h"
#include "code/image.h"

enum { DEPTH_MAX = 200, TYPE_DEPTH_MAX = 40, DIES_MAX = 1 << 28 };

/* Where the walk is. */
struct scope {
	const char *container;
	const char *function;
	uint64_t function_link_addr;
	bool is_module, is_common;
};

struct reader {
	struct sn_variables *out;
	size_t dies;
	bool is_fortran; /* the unit: lower bounds are 1 unless said */
};

/* ---- types ---- */

struct type_facts {
	enum sn_variable_kind kind;
	uint64_t bytes, element_bytes, element_count;
	uint32_t rank;
	uint64_t extents[SN_VARIABLE_RANK_MAX];
};

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type);
}

/* A constant; what is a location or a reference was not known when it was compiled. Of plain data
 * the sign is not said: bounds and sizes have none. */
static bool number_of(Dwarf_Die *die, unsigned name, int64_t *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword number;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attribute))
		return false;
	if (dwarf_whatform(&attribute) == DW_FORM_sdata ||
	    dwarf_whatform(&attribute) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attribute, &number) != 0)
			return false;
		*out = number;
		return true;
	}
	if (dwarf_whatform(&attribute) == DW_FORM_exprloc ||
	    dwarf_formudata(&attribute, &word) != 0 || word > INT64_MAX)
		return false;
	*out = (int64_t)word;
	return true;
}

static enum sn_variable_kind base_kind(Dwarf_Die *type)
{
	int64_t encoding = 0;

	if (!number_of(type, DW_AT_encoding, &encoding))
		return SN_VARIABLE_OTHER;
	switch (encoding) {
	case DW_ATE_float:
	case DW_ATE_decimal_float:
		return SN_VARIABLE_REAL;
	case DW_ATE_complex_float:
		return SN_VARIABLE_COMPLEX;
	case DW_ATE_boolean:
		return SN_VARIABLE_LOGICAL;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return SN_VARIABLE_CHARACTER;
	case DW_ATE_signed:
	case DW_ATE_unsigned:
		return SN_VARIABLE_INTEGER;
	default:
		return SN_VARIABLE_OTHER;
	}
}

/* An extent: DW_AT_count, or the bounds; 0 if either is not constant. */
static uint64_t extent_of(const struct reader *r, Dwarf_Die *range)
{
	int64_t count, low = r->is_fortran ? 1 : 0, high;

	if (number_of(range, DW_AT_count, &count))
		return count > 0 ? (uint64_t)count : 0;
	if (dwarf_hasattr(range, DW_AT_lower_bound) && !number_of(range, DW_AT_lower_bound, &low))
		return 0;
	if (!number_of(range, DW_AT_upper_bound, &high) || high < low)
		return 0;
	return (uint64_t)high - (uint64_t)low + 1;
}

static void dimensions_read(const struct reader *r, Dwarf_Die *array, struct type_facts *facts)
{
	Dwarf_Die child;

	if (dwarf_child(array, &child) != 0)
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_subrange_type && facts->rank < SN_VARIABLE_RANK_MAX)
			facts->extents[facts->rank++] = extent_of(r, &child);
	} while (sn_dwarf_next_entry(&child));
}

static void type_read(const struct reader *r, Dwarf_Die *type, struct type_facts *facts, int depth);

static void array_read(const struct reader *r, Dwarf_Die *type, struct type_facts *facts, int depth)
{
	struct type_facts element = { .kind = SN_VARIABLE_OTHER };
	Dwarf_Die of;
	uint64_t count = 1;

	dimensions_read(r, type, facts);
	if (type_of(type, &of))
		type_read(r, &of, &element, depth + 1);
	for (uint32_t i = 0; i < element.rank && facts->rank < SN_VARIABLE_RANK_MAX; i++)
		facts->extents[facts->rank++] = element.extents[i];
	for (uint32_t i = 0; i < facts->rank; i++)
		if (__builtin_mul_overflow(count, facts->extents[i], &count))
			count = 0;
	facts->kind = element.kind;
	facts->element_bytes = element.element_bytes;
	facts->element_count = count;
	if (__builtin_mul_overflow(count, facts->element_bytes, &facts->bytes))
		facts->bytes = 0;
}

static void type_read(const struct reader *r, Dwarf_Die *type, struct type_facts *facts, int depth)
{
	Dwarf_Die of;
	int64_t bytes = 0;

	if (depth > TYPE_DEPTH_MAX)
		return;
	switch (dwarf_tag(type)) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		if (type_of(type, &of))
			type_read(r, &of, facts, depth + 1);
		return;
	case DW_TAG_array_type:
		array_read(r, type, facts, depth);
		return;
	case DW_TAG_base_type:
		facts->kind = base_kind(type);
		break;
	case DW_TAG_string_type:
		facts->kind = SN_VARIABLE_CHARACTER;
		break;
	case DW_TAG_enumeration_type:
		facts->kind = SN_VARIABLE_INTEGER;
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
		facts->kind = SN_VARIABLE_POINTER;
		bytes = 8;
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		facts->kind = SN_VARIABLE_STRUCTURE;
		break;
	default:
		break;
	}
	number_of(type, DW_AT_byte_size, &bytes);
	facts->bytes = facts->element_bytes = bytes > 0 ? (uint64_t)bytes : 0;
	facts->element_count = 1;
}

static void type_print(const struct reader *r, Dwarf_Die *type, struct sn_text *out, int depth)
{
	const char *name = dwarf_diename(type), *prefix = "";
	struct type_facts facts = { 0 };
	Dwarf_Die of;
	bool has_inner = type_of(type, &of);

	if (depth > TYPE_DEPTH_MAX) {
		sn_text_add(out, "...");
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		if (has_inner)
			type_print(r, &of, out, depth + 1);
		else
			sn_text_add(out, "void");
		if (dwarf_tag(type) == DW_TAG_pointer_type)
			sn_text_add(out, " *");
		else if (dwarf_tag(type) == DW_TAG_reference_type)
			sn_text_add(out, " &");
		return;
	case DW_TAG_array_type:
		if (has_inner)
			type_print(r, &of, out, depth + 1);
		dimensions_read(r, type, &facts);
		for (uint32_t i = 0; i < facts.rank; i++)
			if (facts.extents[i])
				sn_text_addf(out, "%s[%llu]", i ? "" : " ",
					     (unsigned long long)facts.extents[i]);
			else
				sn_text_addf(out, "%s[]", i ? "" : " ");
		return;
	case DW_TAG_subroutine_type:
		sn_text_add(out, "function");
		return;
	case DW_TAG_string_type:
		sn_text_add(out, "character");
		return;
	case DW_TAG_structure_type:
		prefix = r->is_fortran ? "type " : "struct ";
		break;
	case DW_TAG_union_type:
		prefix = "union ";
		break;
	case DW_TAG_enumeration_type:
		prefix = "enum ";
		break;
	default:
		break;
	}
	sn_text_addf(out, "%s%s", prefix, name ? name : "?");
}

/* ---- places ---- */

bool sn_dwarf_address_of(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Attribute attribute, addressed;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || !count)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*out = ops[0].number;
	} else if (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) {
		Dwarf_Addr addr;

		if (dwarf_getlocation_attr(&attribute, &ops[0], &addressed) != 0 ||
		    dwarf_formaddr(&addressed, &addr) != 0)
			return false;
		*out = addr;
	} else {
		return false;
	}
	if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
		*out += ops[1].number;
	else if (count != 1)
		return false;
	return *out != 0; /* what the linker dropped */
}

/* An offset in the block of each thread. */
static bool thread_offset_of(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) != 0 || count != 2 ||
	    (ops[1].atom != DW_OP_GNU_push_tls_address && ops[1].atom != DW_OP_form_tls_address))
		return false;
	if (ops[0].atom != DW_OP_addr && ops[0].atom != DW_OP_const8u &&
	    ops[0].atom != DW_OP_const4u)
		return false;
	*out = ops[0].number;
	return true;
}

static const char *copy(struct reader *r, const char *chars)
{
	return chars ? sn_arena_strdup(&r->out->arena, chars) : NULL;
}

/* ---- entries ---- */

static void place_set(struct reader *r, Dwarf_Die *die, struct sn_variable *v)
{
	int line = 0;

	v->file = copy(r, dwarf_decl_file(die));
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		v->line = (uint32_t)line;
	v->has_link_addr = sn_dwarf_address_of(die, &v->link_addr);
}

static uint8_t scope_of(Dwarf_Die *die, const struct scope *scope, const struct sn_variable *v)
{
	Dwarf_Attribute attribute;
	bool is_external = false;

	if (scope->is_common)
		return SN_VARIABLE_COMMON;
	if (dwarf_tag(die) == DW_TAG_formal_parameter)
		return SN_VARIABLE_PARAMETER;
	if (scope->function)
		return v->has_link_addr ? SN_VARIABLE_STATIC : SN_VARIABLE_LOCAL;
	if (scope->is_module)
		return SN_VARIABLE_MODULE;
	if (dwarf_attr_integrate(die, DW_AT_external, &attribute))
		dwarf_formflag(&attribute, &is_external);
	return is_external ? SN_VARIABLE_GLOBAL : SN_VARIABLE_STATIC;
}

static void variable_add(struct reader *r, Dwarf_Die *die, const struct scope *scope)
{
	struct sn_variable v = { .name = dwarf_diename(die),
				 .container = scope->container,
				 .function = scope->is_common ? NULL : scope->function,
				 .function_link_addr =
					 scope->is_common ? 0 : scope->function_link_addr };
	struct type_facts facts = { .kind = SN_VARIABLE_OTHER };
	struct sn_text text = { 0 };
	Dwarf_Die type;

	if (!v.name || dwarf_hasattr(die, DW_AT_declaration) || !type_of(die, &type))
		return;
	type_read(r, &type, &facts, 0);
	type_print(r, &type, &text, 0);
	v.name = copy(r, v.name);
	v.type = copy(r, text.chars ? text.chars : "?");
	sn_text_free(&text);
	v.kind = (uint8_t)facts.kind;
	v.size_bytes = facts.bytes;
	v.element_bytes = facts.element_bytes;
	v.element_count = facts.element_count;
	v.rank = facts.rank;
	memcpy(v.extents, facts.extents, sizeof(v.extents));
	place_set(r, die, &v);
	if (!v.has_link_addr && thread_offset_of(die, &v.link_addr)) {
		v.has_link_addr = true;
		v.scope = scope_of(die, scope, &v);
		sn_vec_push(&r->out->thread_locals, v);
		return;
	}
	v.scope = scope_of(die, scope, &v);
	/* a member of no block and of no function that has no place anywhere */
	if (!v.has_link_addr && !scope->function)
		return;
	sn_vec_push(&r->out->items, v);
}

static void walk(struct reader *r, Dwarf_Die *parent, const struct scope *outer, int depth);

static void function_walk(struct reader *r, Dwarf_Die *die, const struct scope *outer, int depth)
{
	struct scope scope = *outer;
	Dwarf_Addr entry = 0;

	scope.function = copy(r, dwarf_diename(die));
	if (!scope.function)
		return;
	scope.is_module = scope.is_common = false;
	scope.function_link_addr = dwarf_entrypc(die, &entry) == 0 ? entry : 0;
	walk(r, die, &scope, depth + 1);
}

static void entry_walk(struct reader *r, Dwarf_Die *die, const struct scope *outer, int depth)
{
	struct scope scope = *outer;

	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
		variable_add(r, die, outer);
		return;
	case DW_TAG_subprogram:
		function_walk(r, die, outer, depth);
		return;
	case DW_TAG_lexical_block:
		walk(r, die, outer, depth + 1);
		return;
	case DW_TAG_common_block:
		scope.container = copy(r, dwarf_diename(die));
		scope.is_common = true;
		walk(r, die, &scope, depth + 1);
		return;
	case DW_TAG_module:
		scope.container = copy(r, dwarf_diename(die));
		scope.is_module = true;
		walk(r, die, &scope, depth + 1);
		return;
	case DW_TAG_namespace:
	case DW_TAG_structure_type: /* members that are functions */
	case DW_TAG_class_type:
		scope.container = copy(r, dwarf_diename(die));
		walk(r, die, &scope, depth + 1);
		return;
	default:
		return;
	}
}

static void walk(struct reader *r, Dwarf_Die *parent, const struct scope *outer, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (++r->dies > DIES_MAX)
			return;
		entry_walk(r, &die, outer, depth);
	} while (sn_dwarf_next_entry(&die));
}

static void unit_walk(struct reader *r, Dwarf_Die *unit)
{
	const struct scope none = { 0 };

	switch (dwarf_srclang(unit)) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
		r->is_fortran = true;
		break;
	default:
		r->is_fortran = false;
	}
	walk(r, unit, &none, 0);
}

/* ---- all ---- */

static int variables_compare(const void *left, const void *right)
{
	const struct sn_variable *a = left, *b = right;

	if (a->has_link_addr != b->has_link_addr)
		return a->has_link_addr ? -1 : 1;
	if (a->has_link_addr && a->link_addr != b->link_addr)
		return a->link_addr < b->link_addr ? -1 : 1;
	if (a->has_link_addr && a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (a->function_link_addr != b->function_link_addr)
		return a->function_link_addr < b->function_link_addr ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return strcmp(a->name, b->name);
}

static uint64_t local_key(const struct sn_variable *v)
{
	return sn_hash_u64(sn_hash_bytes(v->name, strlen(v->name)) ^
			   sn_hash_bytes(v->function, strlen(v->function)) ^ v->line);
}

static bool is_repeated(const struct sn_variable *v, const struct sn_variable *last)
{
	return last && v->has_link_addr && last->has_link_addr && v->link_addr == last->link_addr &&
	       v->size_bytes == last->size_bytes && !strcmp(v->name, last->name);
}

/* A variable of a COMMON block stands in every routine that uses it, one of a header in every unit,
 * a local of a function that is inlined somewhere in its abstract instance, too: once is enough. Of
 * two of one name at one address the larger stays, which comes first. */
static void repeats_drop(struct sn_variables *variables)
{
	struct sn_map concrete = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < variables->items.count; i++)
		if (variables->items.items[i].function &&
		    variables->items.items[i].function_link_addr)
			sn_map_put(&concrete, local_key(&variables->items.items[i]), NULL);
	for (size_t i = 0; i < variables->items.count; i++) {
		const struct sn_variable *v = &variables->items.items[i];

		if (is_repeated(v, kept ? &variables->items.items[kept - 1] : NULL) ||
		    (v->function && !v->function_link_addr && !v->has_link_addr &&
		     sn_map_get(&concrete, local_key(v))))
			continue;
		variables->items.items[kept++] = *v;
	}
	variables->items.count = kept;
	sn_map_free(&concrete);
}

sn_status sn_variables_read(struct sn_image *image, struct sn_variables **out, struct sn_error *err)
{
	Dwarf *dwarf = sn_image_dwarf(image);
	struct reader reader = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Off last = 0;
	Dwarf_Die die, sub;

	if (!dwarf)
		return sn_error_set(err, SN_ERR_NO_DATA,
				    "'%s' has no debug information: compile with -g",
				    sn_image_path(image));
	reader.out = sn_alloc_zeroed(1, sizeof(*reader.out));
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, &sub) == 0) {
		if (last && dwarf_dieoffset(&die) <= last)
			break; /* units go forward, or something is wrong */
		last = dwarf_dieoffset(&die);
		unit_walk(&reader, sub.cu ? &sub : &die);
	}
	if (reader.out->items.count)
		qsort(reader.out->items.items, reader.out->items.count,
		      sizeof(*reader.out->items.items), variables_compare);
	repeats_drop(reader.out);
	if (reader.out->thread_locals.count)
		qsort(reader.out->thread_locals.items, reader.out->thread_locals.count,
		      sizeof(*reader.out->thread_locals.items), variables_compare);
	while (reader.out->addressed < reader.out->items.count &&
	       reader.out->items.items[reader.out->addressed].has_link_addr)
		reader.out->addressed++;
	*out = reader.out;
	return SN_OK;
}

void sn_variables_free(struct sn_variables *variables)
{
	if (!variables)
		return;
	sn_vec_free(&variables->items);
	sn_vec_free(&variables->thread_locals);
	sn_arena_free(&variables->arena);
	free(variables);
}

static const struct sn_variable *find(const struct sn_variable *items, size_t count,
				      uint64_t link_addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	/* the last one that begins before it; of equal beginnings the largest comes first */
	for (size_t i = low, steps = 0; i-- > 0 && steps < 16; steps++) {
		const struct sn_variable *v = &items[i];

		if (link_addr - v->link_addr < v->size_bytes)
			return v;
	}
	return NULL;
}

const struct sn_variable *sn_variables_at(const struct sn_variables *variables, uint64_t link_addr)
{
	return find(variables->items.items, variables->addressed, link_addr);
}

const struct sn_variable *sn_variables_thread_local_at(const struct sn_variables *variables,
						       uint64_t offset)
{
	return find(variables->thread_locals.items, variables->thread_locals.count, offset);
}
