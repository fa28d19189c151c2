/**
 * SHA-256 (FIPS 180-4): content names that nobody can make collide.
 */
#ifndef SN_BASE_SHA256_H
#define SN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sn_sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[64];
};

void sn_sha256_begin(struct sn_sha256 *hash);
void sn_sha256_add(struct sn_sha256 *hash, const void *bytes, size_t length);
void sn_sha256_end(struct sn_sha256 *hash, uint8_t digest[32]);

#endif
