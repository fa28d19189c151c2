/*
 * Reads and writes what was measured of instruction forms, and corrects a model by it. A form's
 * figure holds for its relatives as well, such as the same operation with a memory operand.
 */
#include "machine/core_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const loop_buffer_words[] = { "unknown", "off", "on" };

void sn_core_profile_free(struct sn_core_profile *profile)
{
	sn_vec_free(&profile->forms);
}

bool sn_core_profile_wants(const struct sn_row *row)
{
	enum sn_form_kind target = sn_form_operand(row->form, 0);

	if (row->loads || row->stores || sn_form_mask_mode(row->form) != SN_MASK_NONE ||
	    target < SN_KIND_R32 || target > SN_KIND_Z)
		return false;
	return row->divider_cycles > 0 || (row->latency >= 3 && row->latency < 30);
}

void sn_core_profile_print(const struct sn_core_profile *profile, FILE *out)
{
	fprintf(out, "loop_buffer\t%s\n", loop_buffer_words[profile->loop_buffer]);
	if (profile->probe_cycles > 0)
		fprintf(out, "probe\t%.4f\n", profile->probe_cycles);
	for (size_t i = 0; i < profile->forms.count; i++) {
		const struct sn_form_timing *timing = &profile->forms.items[i];
		char text[SN_FORM_TEXT_MAX];

		fprintf(out, "form\t%s\t%.3f\t", sn_form_print(timing->form, text),
			timing->throughput_cycles);
		if (isnan(timing->latency_cycles))
			fputs("-\n", out);
		else
			fprintf(out, "%.3f\n", timing->latency_cycles);
	}
}

static void read_form(const char *text, struct sn_core_profile *out)
{
	struct sn_form_timing timing = { .latency_cycles = NAN };
	size_t length = strcspn(text, "\t");
	char *end;

	if (!text[length] || !sn_form_parse(text, length, &timing.form))
		return;
	timing.throughput_cycles = strtod(text + length + 1, &end);
	if (end == text + length + 1 || !(timing.throughput_cycles > 0) ||
	    timing.throughput_cycles > 10000)
		return;
	if (*end == '\t' && end[1] != '-') {
		const char *start = end + 1;

		timing.latency_cycles = strtod(start, &end);
		if (end == start || !(timing.latency_cycles >= 0) || timing.latency_cycles > 10000)
			return;
	}
	sn_vec_push(&out->forms, timing);
}

bool sn_core_profile_read(const char *path, struct sn_core_profile *out)
{
	FILE *in = fopen(path, "re");
	char line[256];
	double probe;

	memset(out, 0, sizeof(*out));
	if (!in)
		return false;
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "form\t", 5) == 0)
			read_form(line + 5, out);
		if (sscanf(line, "probe\t%lf", &probe) == 1 && probe > 0 && probe < 100)
			out->probe_cycles = probe;
		for (unsigned i = 1; i < 3; i++)
			if (strncmp(line, "loop_buffer\t", 12) == 0 &&
			    strcmp(line + 12, loop_buffer_words[i]) == 0)
				out->loop_buffer = i;
	}
	fclose(in);
	return true;
}

static bool differs(double measured, double known, double share)
{
	return fabs(measured - known) > 0.5 && fabs(measured - known) > share * known;
}

/* The forms that do the same to operands in memory. */
static void correct_relatives(struct sn_machine *machine, const struct sn_row *row, float divider)
{
	for (size_t i = 0; i < machine->rows.count; i++) {
		struct sn_row *other = &machine->rows.items[i];

		if (sn_form_mnemonic(other->form) == sn_form_mnemonic(row->form) &&
		    sn_form_operand(other->form, 0) == sn_form_operand(row->form, 0) &&
		    other->divider_cycles > 0)
			other->divider_cycles = divider;
	}
}

static bool correct(struct sn_machine *machine, const struct sn_form_timing *timing)
{
	uint64_t *index = sn_map_get(&machine->by_form, timing->form);
	struct sn_row *row = index ? &machine->rows.items[*index - 1] : NULL;
	bool changed = false;

	if (!row || !sn_core_profile_wants(row))
		return false;
	/* what a division takes depends on its numbers, and the measured ones are zeros */
	if (!isnan(timing->latency_cycles) && row->divider_cycles <= 0 &&
	    differs(timing->latency_cycles, (double)row->latency, 0.1)) {
		row->latency = (float)timing->latency_cycles;
		changed = true;
	}
	if (row->divider_cycles > 0 &&
	    differs(timing->throughput_cycles, (double)row->divider_cycles, 0.3)) {
		correct_relatives(machine, row, (float)timing->throughput_cycles);
		changed = true;
	}
	return changed;
}

size_t sn_core_profile_apply(const struct sn_core_profile *profile, struct sn_machine *machine)
{
	size_t changed = 0;

	for (size_t i = 0; i < profile->forms.count; i++)
		changed += correct(machine, &profile->forms.items[i]);
	if (profile->loop_buffer == SN_LOOP_BUFFER_OFF)
		machine->rules.loop_buffer_uops = 0;
	return changed;
}
