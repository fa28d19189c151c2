/**
 * What 'sonde calibrate' found out about this host's cores: times of instruction forms, and whether
 * small loops are replayed from a buffer. Kept in the file of the memory profile; the model that
 * --arch native means is corrected by it.
 */
#ifndef SN_MACHINE_CORE_PROFILE_H
#define SN_MACHINE_CORE_PROFILE_H

#include <stdio.h>

#include "machine/machine.h"

struct sn_form_timing {
	sn_form form;
	double throughput_cycles; /* of independent instances */
	double latency_cycles;	  /* NaN: not measured */
};

struct sn_core_profile {
	SN_VEC(struct sn_form_timing) forms;
	enum { SN_LOOP_BUFFER_UNKNOWN, SN_LOOP_BUFFER_OFF, SN_LOOP_BUFFER_ON } loop_buffer;
	double probe_cycles; /* of the loop that tells a busy core from a free one; 0: unknown */
};

void sn_core_profile_free(struct sn_core_profile *profile);

/** True if the form is worth a measurement on each host: registers only, and it either holds the
 *  divider or takes three to thirty cycles. */
bool sn_core_profile_wants(const struct sn_row *row);

/** Lines "form<TAB>divsd x,x<TAB>4.000<TAB>13.000" ("-": not measured) "loop_buffer<TAB>off" and
 *  "probe<TAB>1.953".
 */
void sn_core_profile_print(const struct sn_core_profile *profile, FILE *out);

/** Lines of other kinds, damaged ones, and forms unknown to this version are passed over. False if
 *  the file cannot be read. */
bool sn_core_profile_read(const char *path, struct sn_core_profile *out);

/** Corrects rows by more than half a cycle: latencies that are off by a tenth (not of divisions,
 * whose time hangs on the numbers), divider times that are off by three tenths (they vary as much
 * with the load of the machine); and switches the loop buffer off where the probe says so. Returns
 * how many rows changed. */
size_t sn_core_profile_apply(const struct sn_core_profile *profile, struct sn_machine *machine);

#endif
