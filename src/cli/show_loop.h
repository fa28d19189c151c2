/** sonde show loop: everything about one loop on a page. */
#ifndef SN_CLI_SHOW_LOOP_H
#define SN_CLI_SHOW_LOOP_H

#include <stdio.h>

#include "base/table.h"
#include "views/view.h"

struct sn_machine;

/** Writes the loop named by input->subject as text or as one JSON object "sonde.loop/1", with what
 *  the static model of `machine` says of it (NULL: there is none of this processor). */
sn_status sn_show_loop(const struct sn_view_input *input, const struct sn_machine *machine,
		       const struct sn_table_view *how, FILE *out, struct sn_error *err);

#endif
