/**
 * The properties that are in force: those that come with sonde and the user's files.
 *
 * A file with errors is not in force; the others are. A user's property takes the place of one of
 * the same name that comes with sonde.
 */
#ifndef SN_SEARCH_PROPERTIES_LIBRARY_H
#define SN_SEARCH_PROPERTIES_LIBRARY_H

#include <stdio.h>

#include "base/error.h"
#include "search/database/tables.h"
#include "search/properties/syntax.h"

struct sn_library {
	SN_VEC(struct sn_prop_file *) files;	 /* owned; those that come with sonde first */
	SN_VEC(struct sn_property *) properties; /* in force, in the order of files */
	size_t shipped_files;
};

/** With the files that come with sonde, which have no errors. */
struct sn_library *sn_library_new(void);
void sn_library_free(struct sn_library *library);

/** Adds a file, or every *.prop of a folder by name. SN_ERR_IO and the like if it cannot be read;
 *  errors in it are no failure (sn_library_print_errors). */
sn_status sn_library_add(struct sn_library *library, const char *path, struct sn_error *err);
/** Adds a text as a file of this name. */
void sn_library_add_memory(struct sn_library *library, const char *name, const char *chars,
			   size_t length);
/** Checks what was added, refinements between files too, and puts it in force. Once, after the
 *  last file. */
void sn_library_settle(struct sn_library *library);

/** Prints the errors of the user's files; how many there are. */
size_t sn_library_print_errors(struct sn_library *library, FILE *out);

/** The same with warnings; how many errors there are. */
size_t sn_library_print_all(struct sn_library *library, FILE *out);

/** The metric of this name as the user's files in force declare it, else as sonde does; NULL: none. */
const struct sn_metric *sn_library_metric(const struct sn_library *library, const char *name);
/** A metric in force of nearly this name; NULL: none. */
const char *sn_library_metric_near(const struct sn_library *library, const char *name);
/** Prints one line for each metric of the tables that no file in force declares: its values are asked for by
 *  nothing. `name` is the tables' file. Returns how many. */
size_t sn_library_print_unknown(const struct sn_library *library, const struct sn_tables *tables,
				const char *name, FILE *out);

/** The property in force of this name; NULL: none. */
const struct sn_property *sn_library_find(const struct sn_library *library, const char *name);
/** Whether `property` refines `parent` directly, by its own clause or by the parent's `next`. */
bool sn_property_refines(const struct sn_property *property, const struct sn_property *parent);
/** The parameter of a property that takes members of this kind; NULL: it takes none. */
const struct sn_prop_context *sn_property_parameter(const struct sn_property *property,
						    enum sn_key kind);

#endif
