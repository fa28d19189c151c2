/** sonde show whatif: what loops would bring the program. */
#ifndef SN_CLI_SHOW_WHATIF_H
#define SN_CLI_SHOW_WHATIF_H

#include "base/table.h"
#include "views/view.h"

struct sn_machine;

/** Writes the page or the table; input->subject is the variant, or NULL. */
sn_status sn_show_whatif(const struct sn_view_input *input, const struct sn_machine *machine,
			 struct sn_table_view *how, struct sn_error *err);

#endif
