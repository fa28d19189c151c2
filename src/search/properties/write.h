/**
 * Verdicts as JSON: schema sonde.verdicts/1 (docs/manual/search.md).
 */
#ifndef SN_SEARCH_PROPERTIES_WRITE_H
#define SN_SEARCH_PROPERTIES_WRITE_H

#include "base/json.h"
#include "search/properties/evaluate.h"

/** Evaluates the properties in force of the user's files (or all, if there are none) in all their
 *  contexts and writes a row for each. Claims above 1 are warned of, once a property. */
void sn_verdicts_write(const struct sn_library *library, struct sn_tables *tables, FILE *out);

/** A member's id; NULL for SN_ALL. */
const char *sn_member_id(const struct sn_tables *tables, enum sn_key key, uint32_t index);
/** A value that evidence has, by its type. */
void sn_prop_value_write(const struct sn_tables *tables, struct sn_prop_type type,
			 struct sn_prop_value value, struct sn_json *json);

#endif
