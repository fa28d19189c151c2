/**
 * A property as text of the language again: parsed, it is the same property.
 */
#ifndef SN_SEARCH_PROPERTIES_PRINT_H
#define SN_SEARCH_PROPERTIES_PRINT_H

#include "base/text.h"
#include "search/properties/syntax.h"

void sn_property_print(const struct sn_property *property, struct sn_text *out);
void sn_metric_print(const struct sn_metric *metric, struct sn_text *out);
void sn_param_print(const struct sn_param *param, struct sn_text *out);
/** The declarations of a whole file. */
void sn_prop_file_print(const struct sn_prop_file *file, struct sn_text *out);

#endif
