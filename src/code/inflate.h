/**
 * Unpacks what zlib packed, through libdeflate where it is installed: in less than half of zlib's time. Of this
 * folder only.
 */
#ifndef SN_CODE_INFLATE_H
#define SN_CODE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Unpacks a stream with zlib's header and checksum. False unless it is whole and gives `room` bytes. */
bool sn_inflate(const uint8_t *bytes, size_t length, uint8_t *out, size_t room);
/** The same by zlib alone. */
bool sn_inflate_zlib(const uint8_t *bytes, size_t length, uint8_t *out, size_t room);

/** Unpacks the first `wanted` bytes of a stream that holds at least SN_INFLATE_SLACK more; `out` has room for these,
 * too, and what is there afterwards means nothing. No checksum covers them. False: damaged, or it cannot be told. */
enum { SN_INFLATE_SLACK = 1024 };
bool sn_inflate_first(const uint8_t *bytes, size_t length, uint8_t *out, size_t wanted);
/** The same by zlib alone. */
bool sn_inflate_first_zlib(const uint8_t *bytes, size_t length, uint8_t *out, size_t wanted);

#endif
