/**
 * Compressed symbol tables of stripped programs (.gnu_debugdata: an ELF file in an xz stream).
 */
#ifndef SN_CODE_XZ_H
#define SN_CODE_XZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"

/** False if sonde was built without liblzma: then nothing is ever unpacked. */
bool sn_can_unpack_xz(void);

/** A whole xz stream into memory that sn_file_unmap() frees. False, and `*out` untouched, if it is
 * damaged or larger than 256 MB unpacked, or if sn_can_unpack_xz() is false. */
bool sn_unpack_xz(const uint8_t *bytes, size_t length, struct sn_file_view *out);

#endif
