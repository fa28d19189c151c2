/**
 * Exact unsigned integers of any size, in arrays.
 *
 * A number is `limbs` words of 64 bits, the least significant first; an array of `count` numbers is
 * count * limbs words. All numbers of a computation have one width, chosen from a bound on its
 * largest result, so arithmetic is modulo 2^(64 limbs) and differences that come out right in the
 * end may wrap on the way. One and two limbs have loops of their own.
 */
#ifndef SN_LATTICE_INTEGER_H
#define SN_LATTICE_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/** to[i] += from[i]. */
void sn_limbs_add(uint64_t *to, const uint64_t *from, size_t count, unsigned limbs);
/** to[i] -= from[i]. */
void sn_limbs_subtract(uint64_t *to, const uint64_t *from, size_t count, unsigned limbs);
/** to[i] += by * from[i]. */
void sn_limbs_add_times(uint64_t *to, const uint64_t *from, uint32_t by, size_t count,
			unsigned limbs);
/** to[i] += steps[0] + .. + steps[i]. */
void sn_limbs_add_running(uint64_t *to, const uint64_t *steps, size_t count, unsigned limbs);
/** Each number of `to` becomes the one of `from`; widens with zeros or drops high words. */
void sn_limbs_widen(uint64_t *to, unsigned to_limbs, const uint64_t *from, unsigned from_limbs,
		    size_t count);
bool sn_limbs_is_zero(const uint64_t *number, unsigned limbs);
/** The nearest double, more or less; infinity beyond its range. */
double sn_limbs_double(const uint64_t *number, unsigned limbs);
/** log10 of the number; -infinity for zero. Never overflows. */
double sn_limbs_log10(const uint64_t *number, unsigned limbs);
/** a / b as a double, also where both are beyond a double's range. */
double sn_limbs_ratio(const uint64_t *a, const uint64_t *b, unsigned limbs);
/** Adds the number in decimal. */
void sn_limbs_add_decimal(struct sn_text *text, const uint64_t *number, unsigned limbs);

#endif
