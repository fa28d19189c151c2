/*
 * Reads the tables of a machine (data/machines) and its corrections on top of them, and finds the
 * row of an instruction form, or the nearest row if there is none.
 */
#include "machine/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text.h"
#include "machine/bandwidth.h"
#include "machine/core_profile.h"
#include "machine/cores/cores.h"

struct field {
	const char *chars;
	size_t length;
};

static bool field_is(struct field field, const char *word)
{
	return field.length == strlen(word) && memcmp(field.chars, word, field.length) == 0;
}

static struct field take_field(const char **next, const char *end, char separator)
{
	struct field out = { *next, 0 };
	const char *stop = memchr(*next, separator, (size_t)(end - *next));

	out.length = (size_t)((stop ? stop : end) - *next);
	*next = stop ? stop + 1 : end;
	return out;
}

/* Numbers of the tables: digits with an optional fraction. */
static bool field_number(struct field field, float *out)
{
	double value = 0, unit = 1;
	bool after_point = false;

	if (!field.length || field.length > 16)
		return false;
	for (size_t i = 0; i < field.length; i++) {
		char c = field.chars[i];

		if (c == '.' && !after_point) {
			after_point = true;
		} else if (c >= '0' && c <= '9') {
			value = value * 10 + (c - '0');
			unit = after_point ? unit * 10 : unit;
		} else {
			return false;
		}
	}
	*out = (float)(value / unit);
	return true;
}

static uint32_t unit_mask(const struct sn_machine *machine, struct field name)
{
	for (unsigned i = 0; i < machine->unit_count; i++)
		if (field_is(name, machine->unit_names[i]))
			return 1u << i;
	return 0;
}

static bool parse_set(const struct sn_machine *machine, struct field text, struct sn_unit_set *out)
{
	const char *next = text.chars, *end = text.chars + text.length;
	struct field units = take_field(&next, end, ':');
	const char *unit_next = units.chars, *unit_end = units.chars + units.length;

	out->units = 0;
	while (unit_next < unit_end) {
		uint32_t bit = unit_mask(machine, take_field(&unit_next, unit_end, '+'));

		if (!bit)
			return false;
		out->units |= bit;
	}
	return field_number((struct field){ next, (size_t)(end - next) }, &out->count) &&
	       out->units;
}

static bool parse_sets(const struct sn_machine *machine, struct field text, struct sn_row *row)
{
	const char *next = text.chars, *end = text.chars + text.length;

	if (field_is(text, "="))
		return true;
	row->set_count = 0;
	if (field_is(text, "-"))
		return true;
	while (next < end) {
		struct field set = take_field(&next, end, ' ');

		if (row->set_count == SN_ROW_SETS_MAX ||
		    !parse_set(machine, set, &row->sets[row->set_count]))
			return false;
		row->set_count++;
	}
	return true;
}

static bool parse_numbers(struct field fields[6], struct sn_row *row)
{
	float *const numbers[] = { &row->uops, &row->latency, &row->divider_cycles };

	for (unsigned i = 0; i < 3; i++)
		if (!field_is(fields[i + 1], "=") && !field_number(fields[i + 1], numbers[i]))
			return false;
	if (!field_is(fields[4], "=")) {
		row->loads = fields[4].length && memchr(fields[4].chars, 'L', fields[4].length);
		row->stores = fields[4].length && memchr(fields[4].chars, 'S', fields[4].length);
	}
	return true;
}

static void put_row(struct sn_machine *machine, const struct sn_row *row)
{
	bool is_new;
	uint64_t *index = sn_map_put(&machine->by_form, row->form, &is_new);

	if (!is_new) {
		machine->rows.items[*index - 1] = *row;
		return;
	}
	sn_vec_push(&machine->rows, *row);
	*index = machine->rows.count;
	index = sn_map_put(&machine->by_mnemonic, sn_form_mnemonic(row->form), &is_new);
	if (is_new)
		*index = machine->rows.count;
}

/* False if the line is malformed. A form that this Zydis does not know is passed over. */
static bool parse_line(struct sn_machine *machine, struct field line)
{
	const char *next = line.chars, *end = line.chars + line.length;
	struct field fields[6];
	struct sn_row row = { 0 };
	const struct sn_row *old;
	sn_form form;

	for (unsigned i = 0; i < 6; i++)
		fields[i] = take_field(&next, end, '\t');
	if (!sn_form_parse(fields[0].chars, fields[0].length, &form))
		return fields[5].length > 0;
	old = sn_machine_row_exact(machine, form);
	if (old)
		row = *old;
	row.form = form;
	if (!parse_numbers(fields, &row) || !parse_sets(machine, fields[5], &row))
		return false;
	put_row(machine, &row);
	return true;
}

static void parse_units(struct sn_machine *machine, struct field line)
{
	const char *next = line.chars, *end = line.chars + line.length;

	machine->unit_count = 0;
	while (next < end && machine->unit_count < SN_UNITS_MAX) {
		struct field name = take_field(&next, end, ' ');

		machine->unit_names[machine->unit_count++] = sn_strndup(name.chars, name.length);
	}
}

sn_status sn_machine_overlay(struct sn_machine *machine, const char *text, size_t length,
			     const char *source, struct sn_error *err)
{
	static const char units_word[] = "!units\t";
	const char *next = text, *end = text + length;

	for (unsigned number = 1; next < end; number++) {
		struct field line = take_field(&next, end, '\n');

		if (!line.length || line.chars[0] == '#')
			continue;
		if (line.length > sizeof(units_word) &&
		    memcmp(line.chars, units_word, sizeof(units_word) - 1) == 0) {
			line.chars += sizeof(units_word) - 1;
			line.length -= sizeof(units_word) - 1;
			parse_units(machine, line);
		} else if (!parse_line(machine, line)) {
			return sn_error_set(err, SN_ERR_FORMAT,
					    "machine table '%s': line %u is not a row: %.*s",
					    source, number,
					    (int)(line.length < 80 ? line.length : 80), line.chars);
		}
	}
	return SN_OK;
}

static uint32_t units_of_form(const struct sn_machine *machine, const char *form_text, unsigned set)
{
	const struct sn_row *row;
	sn_form form;

	if (!sn_form_parse(form_text, strlen(form_text), &form))
		return 0;
	row = sn_machine_row_exact(machine, form);
	return row && row->set_count > set ? row->sets[set].units : 0;
}

static uint32_t units_named(const struct sn_machine *machine, const char *const *names)
{
	uint32_t out = 0;

	for (; *names; names++)
		out |= unit_mask(machine, (struct field){ *names, strlen(*names) });
	return out;
}

/* The units with a role, recognised by what plain instructions use. */
static void find_roles(struct sn_machine *machine)
{
	const char *const taken[] = { machine->rules.taken_branch_unit, NULL };

	machine->load_units = units_of_form(machine, "mov r64,m64", 0);
	machine->vector_load_units = units_of_form(machine, "movups x,m128", 0);
	machine->alu_units = units_of_form(machine, "add r64,r64", 0);
	machine->vector_units = units_of_form(machine, "pand x,x", 0);
	machine->branch_units = units_of_form(machine, "jz i", 0);
	machine->taken_branch_units = machine->branch_units;
	if (taken[0])
		machine->taken_branch_units = units_named(machine, taken);
	for (unsigned set = 0; set < 2; set++) {
		uint32_t units = units_of_form(machine, "mov m64,r64", set);

		if (!units)
			continue;
		if (units & machine->load_units ||
		    units == units_named(machine, (const char *const[]){ "p7", "p8", NULL }))
			machine->store_address_units = units;
		else
			machine->store_data_units = units;
	}
}

static sn_status load(const struct sn_core *core, struct sn_machine *machine, struct sn_error *err)
{
	sn_status status = SN_OK;

	machine->name = core->name;
	machine->title = core->title;
	machine->rules = core->rules;
	for (unsigned i = 0; i < SN_CORE_TEXTS_MAX && core->texts[i] && !status; i++) {
		const struct sn_core_text *text = sn_core_text_find(core->texts[i]);

		assert(text); /* the build embeds every table that is named */
		status = sn_machine_overlay(machine, text->chars, (size_t)(text->end - text->chars),
					    core->texts[i], err);
	}
	if (!status)
		find_roles(machine);
	return status;
}

static const char *machine_names(void)
{
	static struct sn_text names;

	if (!names.length)
		for (unsigned i = 0; sn_cores[i]; i++)
			sn_text_addf(&names, "%s%s", i ? ", " : "", sn_cores[i]->name);
	return names.chars;
}

/* The profile is of the machine that it names; another's is left alone. */
static void correct_by_profile(struct sn_machine *machine)
{
	struct sn_memory_profile memory;
	struct sn_core_profile core = { 0 };
	char *path = sn_memory_profile_path();

	if (sn_memory_profile_of(machine->name, &memory) && sn_core_profile_read(path, &core))
		sn_core_profile_apply(&core, machine);
	sn_core_profile_free(&core);
	free(path);
}

enum { MACHINES_MAX = 32 };

static bool is_named(const struct sn_core *core, const char *name)
{
	return strcasecmp(name, core->name) == 0 ||
	       (core->alias && strcasecmp(name, core->alias) == 0);
}

sn_status sn_machine_find(const char *name, const struct sn_machine **out, struct sn_error *err)
{
	static struct sn_machine machines[MACHINES_MAX], natives[MACHINES_MAX];
	struct sn_machine *found = machines;

	if (strcasecmp(name, "native") == 0) {
		found = natives;
		name = sn_machine_native_name();
		if (!name)
			return sn_error_set(
				err, SN_ERR_UNSUPPORTED,
				"cqa: there is no model of this processor; give one with "
				"--arch: %s",
				machine_names());
	}
	for (unsigned i = 0; sn_cores[i]; i++) {
		sn_status status = SN_OK;

		if (!is_named(sn_cores[i], name))
			continue;
		assert(i < MACHINES_MAX);
		if (!found[i].name) {
			status = load(sn_cores[i], &found[i], err);
			if (!status && found == natives)
				correct_by_profile(&found[i]);
		}
		if (!status)
			*out = &found[i];
		return status;
	}
	return sn_error_set(err, SN_ERR_USAGE,
			    "cqa: no machine is called '%s'; known are native, %s", name,
			    machine_names());
}

const struct sn_row *sn_machine_row_exact(const struct sn_machine *machine, sn_form form)
{
	uint64_t *index = sn_map_get(&machine->by_form, form);

	return index ? &machine->rows.items[*index - 1] : NULL;
}

/* A broadcast loads an element and spreads it on the way: in the tables it is the full-width load.
 */
static sn_form widen_broadcast(sn_form form)
{
	enum sn_form_kind widest = SN_KIND_M128;

	for (unsigned i = 0; i < SN_FORM_OPERANDS_MAX; i++)
		if (sn_form_operand(form, i) == SN_KIND_Y && widest < SN_KIND_M256)
			widest = SN_KIND_M256;
		else if (sn_form_operand(form, i) == SN_KIND_Z)
			widest = SN_KIND_M512;
	for (unsigned i = 0; i < SN_FORM_OPERANDS_MAX; i++) {
		enum sn_form_kind kind = sn_form_operand(form, i);

		if (kind >= SN_KIND_B16 && kind <= SN_KIND_B64)
			form = sn_form_with_operand(form, i, widest);
	}
	return form;
}

static unsigned kind_distance(enum sn_form_kind a, enum sn_form_kind b)
{
	unsigned wide_a = sn_kind_bytes(a), wide_b = sn_kind_bytes(b), steps = 0;

	if (a == b)
		return 0;
	if (sn_kind_is_memory(a) != sn_kind_is_memory(b) || a == SN_KIND_NONE || b == SN_KIND_NONE)
		return 16;
	for (; wide_a > wide_b && wide_a; wide_a /= 2)
		steps++;
	for (; wide_b > wide_a && wide_b; wide_b /= 2)
		steps++;
	return 1 + steps;
}

static const struct sn_row *nearest_row(const struct sn_machine *machine, sn_form form)
{
	uint64_t *first = sn_map_get(&machine->by_mnemonic, sn_form_mnemonic(form));
	const struct sn_row *best = NULL;
	unsigned best_distance = 0;

	assert(machine->rows.items); /* every machine has a table */
	for (size_t i = first ? *first - 1 : machine->rows.count; i < machine->rows.count; i++) {
		const struct sn_row *row = &machine->rows.items[i];
		unsigned distance = 0;

		if (sn_form_mnemonic(row->form) != sn_form_mnemonic(form)) {
			if (best)
				break;
			continue;
		}
		for (unsigned k = 0; k < SN_FORM_OPERANDS_MAX; k++)
			distance += kind_distance(sn_form_operand(row->form, k),
						  sn_form_operand(form, k));
		if (!best || distance < best_distance) {
			best = row;
			best_distance = distance;
		}
	}
	return best;
}

const struct sn_row *sn_machine_row(const struct sn_machine *machine, sn_form form,
				    bool *is_estimated)
{
	static struct sn_row plain;
	const struct sn_row *row = sn_machine_row_exact(machine, form);

	*is_estimated = false;
	if (!row)
		row = sn_machine_row_exact(machine, widen_broadcast(form));
	if (!row)
		row = sn_machine_row_exact(machine, sn_form_without_mask(widen_broadcast(form)));
	if (row)
		return row;
	*is_estimated = true;
	row = nearest_row(machine, form);
	if (row)
		return row;
	plain.uops = plain.latency = 1;
	plain.set_count = 1;
	plain.sets[0].units = machine->alu_units ? machine->alu_units : 1;
	plain.sets[0].count = 1;
	return &plain;
}

const char *sn_units_print(const struct sn_machine *machine, uint32_t units, char *buffer)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (unsigned i = 0; i < machine->unit_count && used < 240; i++)
		if (units >> i & 1) {
			const char *name = machine->unit_names[i];
			size_t length = strlen(name);

			if (used)
				buffer[used++] = '+';
			memcpy(buffer + used, name, length < 12 ? length : 12);
			used += length < 12 ? length : 12;
			buffer[used] = '\0';
		}
	return buffer;
}

/* The unit after `unit` among `units` whose name is the same with the next number; -1: none. */
static int next_in_row(const struct sn_machine *machine, uint32_t units, unsigned unit)
{
	const char *name = machine->unit_names[unit];
	size_t letters = strcspn(name, "0123456789");
	unsigned long number = strtoul(name + letters, NULL, 10);

	for (unsigned i = unit + 1; i < machine->unit_count && name[letters]; i++) {
		const char *other = machine->unit_names[i];

		if (units >> i & 1 && strncmp(name, other, letters) == 0 &&
		    strspn(other + letters, "0123456789") &&
		    strtoul(other + letters, NULL, 10) == number + 1)
			return (int)i;
	}
	return -1;
}

const char *sn_units_print_short(const struct sn_machine *machine, uint32_t units, char *buffer)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (unsigned i = 0; i < machine->unit_count && used < 220; i++) {
		unsigned last = i, count = 1;

		if (!(units >> i & 1))
			continue;
		for (int next = next_in_row(machine, units, i); next >= 0;
		     next = next_in_row(machine, units, last)) {
			last = (unsigned)next;
			units &= ~(1U << last);
			count++;
		}
		used += (size_t)snprintf(buffer + used, 256 - used, "%s%.12s", used ? "+" : "",
					 machine->unit_names[i]);
		if (count > 1)
			used += (size_t)snprintf(
				buffer + used, 256 - used, "%s%s", count > 2 ? "-" : "+",
				machine->unit_names[last] +
					(count > 2
						 ? strcspn(machine->unit_names[last], "0123456789")
						 : 0));
	}
	return buffer;
}
