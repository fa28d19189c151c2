/** Sample packets of this process (wire/data.h), and the functions of sonde/control.h. */
#ifndef SN_RUNTIME_CORE_PACKETS_H
#define SN_RUNTIME_CORE_PACKETS_H

#include <elf.h>

#include "runtime/core/runtime.h"

/** Writes a packet now. The caller holds the thread busy. `label` goes with SN_PACKET_LABEL, else it
 * is NULL. Some 10 us, as it reads /proc. */
void sn_packet_write(struct sn_thread *self, enum sn_packet_kind kind, const char *label,
		     int64_t now_ns);

/** Looks into the notes of a loaded module for pointers of sonde/control.h, and sets them. */
void sn_control_connect(const Elf64_Phdr *phdrs, uint32_t count, uint64_t load_bias);

#endif
