/**
 * What a microarchitecture does with an instruction: micro-operations, units, latency, and the
 * rules that no table holds (widths, fusion, idioms, stack engine, memory latencies).
 *
 * The tables are data/machines/NAME.tsv, derived from LLVM's scheduling models, then an overlay of
 * measured or published corrections (NAME.overlay.tsv, or that of the family). They are embedded in
 * the program and parsed on first use; a machine lives until the program ends. Not thread-safe on
 * first use.
 */
#ifndef SN_MACHINE_MACHINE_H
#define SN_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "machine/form.h"
#include "machine/rules.h"

enum { SN_ROW_SETS_MAX = 8, SN_UNITS_MAX = 32 };

/** `count` micro-operations, each executed by any one of `units` (a bit mask). */
struct sn_unit_set {
	uint32_t units;
	float count;
};

struct sn_row {
	sn_form form;
	float uops;	      /* before micro-fusion, as the table says */
	float latency;	      /* from the last operand to the result, memory form: load included */
	float divider_cycles; /* that the unpipelined divider is held */
	bool loads, stores;
	uint8_t set_count;
	struct sn_unit_set sets[SN_ROW_SETS_MAX];
};

struct sn_machine {
	const char *name; /* as in --arch */
	const char *title;
	struct sn_rules rules;
	const char *unit_names[SN_UNITS_MAX];
	unsigned unit_count;
	uint32_t load_units, vector_load_units, store_address_units, store_data_units, alu_units,
		vector_units, branch_units, taken_branch_units;
	SN_VEC(struct sn_row) rows;
	struct sn_map by_form;	   /* form -> index + 1 */
	struct sn_map by_mnemonic; /* mnemonic -> index + 1 of its first row */
};

/** `name` as in --arch, in either case, or as compilers' -march has it (znver4); "native" asks
 * CPUID, and takes what 'sonde calibrate' wrote into account. SN_ERR_USAGE for an unknown name,
 * SN_ERR_UNSUPPORTED if the machine we stand on has no model (the sentence names it). */
sn_status sn_machine_find(const char *name, const struct sn_machine **out, struct sn_error *err);

/** The name of the model that fits this processor by CPUID, or NULL. */
const char *sn_machine_processor_name(void);
/** What --arch native means: this processor's model, unless SONDE_NATIVE_ARCH in the environment
 * stands in for it. That is a name as in --arch, where the program will run on other machines than
 * this one, or "none" for a processor without a model. The name may be unknown: sn_machine_find
 * says so. */
const char *sn_machine_native_name(void);
/** The first processor's name in /proc/cpuinfo; "" if it has none. */
void sn_machine_host_model(char *out, size_t room);

/** The row of a form. A form that the table lacks gets the nearest one (other mask, broadcast,
 *  width; then any of the mnemonic; then a plain one-cycle operation) and `*is_estimated`. */
const struct sn_row *sn_machine_row(const struct sn_machine *machine, sn_form form,
				    bool *is_estimated);

/** The exact row or NULL. */
const struct sn_row *sn_machine_row_exact(const struct sn_machine *machine, sn_form form);

/** Adds or replaces rows from overlay text (same format as the tables; "=" keeps a field). */
sn_status sn_machine_overlay(struct sn_machine *machine, const char *text, size_t length,
			     const char *source, struct sn_error *err);

/** "0+1+5" style text of a unit mask, by the machine's names; `buffer` of at least 256. */
const char *sn_units_print(const struct sn_machine *machine, uint32_t units, char *buffer);
/** The same with rows of three and more as one: "alu0-5+store0+store1". */
const char *sn_units_print_short(const struct sn_machine *machine, uint32_t units, char *buffer);

#endif
