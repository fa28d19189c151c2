/**
 * What 'sonde calibrate' measured of this host's cores: times of instruction forms, and whether
 * small loops are replayed from a buffer. It is kept in the file of the memory profile. The model
 * that --arch native means is corrected by it.
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

/** Whether the form is measured on each host: it has registers only, and either holds the divider
 * or takes three to thirty cycles. */
bool sn_core_profile_wants(const struct sn_row *row);

/** Lines "form<TAB>divsd x,x<TAB>4.000<TAB>13.000" ("-": not measured) "loop_buffer<TAB>off" and
 *  "probe<TAB>1.953".
 */
void sn_core_profile_print(const struct sn_core_profile *profile, FILE *out);

/** Reads a profile. Lines of other kinds, damaged lines, and forms unknown to this version are
 * skipped. False if the file cannot be read. */
bool sn_core_profile_read(const char *path, struct sn_core_profile *out);

/** Corrects a machine by a profile, and returns how many rows changed. Only differences of more
 * than half a cycle count: latencies that are off by a tenth (not of divisions, whose time depends
 * on the numbers), and divider times that are off by three tenths (they vary as much with the load
 * of the machine). The loop buffer is switched off where the probe says so. */
size_t sn_core_profile_apply(const struct sn_core_profile *profile, struct sn_machine *machine);

#endif
