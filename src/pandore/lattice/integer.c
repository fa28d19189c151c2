/*
 * Arithmetic on arrays of fixed-width integers. Numbers of one and two words have loops of their
 * own, which compilers vectorize; longer ones go word by word.
 */
#include "pandore/lattice/integer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

typedef unsigned __int128 wide;

static wide wide_of(const uint64_t *number)
{
	return (wide)number[1] << 64 | number[0];
}

static void wide_to(uint64_t *number, wide value)
{
	number[0] = (uint64_t)value;
	number[1] = (uint64_t)(value >> 64);
}

static inline __attribute__((always_inline)) void add_one(uint64_t *to, const uint64_t *from,
							  unsigned limbs)
{
	uint64_t carry = 0;

	for (unsigned i = 0; i < limbs; i++) {
		wide sum = (wide)to[i] + from[i] + carry;

		to[i] = (uint64_t)sum;
		carry = (uint64_t)(sum >> 64);
	}
}

static inline __attribute__((always_inline)) void subtract_one(uint64_t *to, const uint64_t *from,
							       unsigned limbs)
{
	uint64_t borrow = 0;

	for (unsigned i = 0; i < limbs; i++) {
		wide difference = (wide)to[i] - from[i] - borrow;

		to[i] = (uint64_t)difference;
		borrow = (uint64_t)(difference >> 64) & 1;
	}
}

void sn_limbs_add(uint64_t *restrict to, const uint64_t *restrict from, size_t count,
		  unsigned limbs)
{
	if (limbs == 1)
		for (size_t i = 0; i < count; i++)
			to[i] += from[i];
	else if (limbs == 2)
		for (size_t i = 0; i < 2 * count; i += 2)
			wide_to(to + i, wide_of(to + i) + wide_of(from + i));
	else if (limbs == 3)
		for (size_t i = 0; i < count; i++)
			add_one(to + i * 3, from + i * 3, 3);
	else if (limbs == 4)
		for (size_t i = 0; i < count; i++)
			add_one(to + i * 4, from + i * 4, 4);
	else
		for (size_t i = 0; i < count; i++)
			add_one(to + i * limbs, from + i * limbs, limbs);
}

void sn_limbs_subtract(uint64_t *restrict to, const uint64_t *restrict from, size_t count,
		       unsigned limbs)
{
	if (limbs == 1)
		for (size_t i = 0; i < count; i++)
			to[i] -= from[i];
	else if (limbs == 2)
		for (size_t i = 0; i < 2 * count; i += 2)
			wide_to(to + i, wide_of(to + i) - wide_of(from + i));
	else if (limbs == 3)
		for (size_t i = 0; i < count; i++)
			subtract_one(to + i * 3, from + i * 3, 3);
	else if (limbs == 4)
		for (size_t i = 0; i < count; i++)
			subtract_one(to + i * 4, from + i * 4, 4);
	else
		for (size_t i = 0; i < count; i++)
			subtract_one(to + i * limbs, from + i * limbs, limbs);
}

void sn_limbs_add_times(uint64_t *restrict to, const uint64_t *restrict from, uint32_t by,
			size_t count, unsigned limbs)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t carry = 0;

		for (unsigned l = 0; l < limbs; l++) {
			wide sum = (wide)from[i * limbs + l] * by + to[i * limbs + l] + carry;

			to[i * limbs + l] = (uint64_t)sum;
			carry = (uint64_t)(sum >> 64);
		}
	}
}

static void add_running_any(uint64_t *to, const uint64_t *steps, size_t count, unsigned limbs)
{
	uint64_t *sum = sn_alloc_zeroed(limbs, sizeof(uint64_t));

	for (size_t i = 0; i < count; i++) {
		add_one(sum, steps + i * limbs, limbs);
		add_one(to + i * limbs, sum, limbs);
	}
	free(sum);
}

void sn_limbs_add_running(uint64_t *restrict to, const uint64_t *restrict steps, size_t count,
			  unsigned limbs)
{
	if (limbs == 1) {
		uint64_t sum = 0;

		for (size_t i = 0; i < count; i++)
			to[i] += sum += steps[i];
	} else if (limbs == 2) {
		wide sum = 0;

		for (size_t i = 0; i < 2 * count; i += 2) {
			sum += wide_of(steps + i);
			wide_to(to + i, wide_of(to + i) + sum);
		}
	} else {
		add_running_any(to, steps, count, limbs);
	}
}

void sn_limbs_widen(uint64_t *to, unsigned to_limbs, const uint64_t *from, unsigned from_limbs,
		    size_t count)
{
	unsigned common = to_limbs < from_limbs ? to_limbs : from_limbs;

	memset(to, 0, count * to_limbs * sizeof(uint64_t));
	for (size_t i = 0; i < count; i++)
		memcpy(to + i * to_limbs, from + i * from_limbs, common * sizeof(uint64_t));
}

bool sn_limbs_is_zero(const uint64_t *number, unsigned limbs)
{
	for (unsigned i = 0; i < limbs; i++)
		if (number[i])
			return false;
	return true;
}

/* number = return value * 2^(64 * *shift), from the three highest words. */
static double leading(const uint64_t *number, unsigned limbs, int *shift)
{
	double value;

	while (limbs > 1 && !number[limbs - 1])
		limbs--;
	value = (double)number[limbs - 1];
	*shift = (int)limbs - 1;
	for (unsigned i = 1; i < 3 && i < limbs; i++) {
		value = value * 0x1p64 + (double)number[limbs - 1 - i];
		--*shift;
	}
	return value;
}

double sn_limbs_double(const uint64_t *number, unsigned limbs)
{
	int shift;
	double value = leading(number, limbs, &shift);

	return ldexp(value, 64 * shift);
}

double sn_limbs_log10(const uint64_t *number, unsigned limbs)
{
	int shift;
	double value = leading(number, limbs, &shift);

	return log10(value) + 64 * shift * log10(2);
}

double sn_limbs_ratio(const uint64_t *a, const uint64_t *b, unsigned limbs)
{
	int shift_a, shift_b;
	double value_a = leading(a, limbs, &shift_a), value_b = leading(b, limbs, &shift_b);

	return ldexp(value_a / value_b, 64 * (shift_a - shift_b));
}

/* Divides in place, returns the rest. */
static uint64_t divide(uint64_t *number, unsigned limbs, uint64_t by)
{
	uint64_t rest = 0;

	for (unsigned i = limbs; i-- > 0;) {
		wide part = (wide)rest << 64 | number[i];

		number[i] = (uint64_t)(part / by);
		rest = (uint64_t)(part % by);
	}
	return rest;
}

void sn_limbs_add_decimal(struct sn_text *text, const uint64_t *number, unsigned limbs)
{
	static const uint64_t CHUNK = 10000000000000000000u; /* 19 digits in a word */
	uint64_t *rest, *chunks;
	size_t count = 0;

	if (limbs == 1) {
		sn_text_addf(text, "%llu", (unsigned long long)*number);
		return;
	}
	rest = sn_alloc_zeroed(limbs, sizeof(uint64_t));
	chunks = sn_alloc_zeroed(2 * (size_t)limbs + 1, sizeof(uint64_t));
	memcpy(rest, number, limbs * sizeof(uint64_t));
	do {
		chunks[count++] = divide(rest, limbs, CHUNK);
	} while (!sn_limbs_is_zero(rest, limbs));
	sn_text_addf(text, "%llu", (unsigned long long)chunks[--count]);
	while (count)
		sn_text_addf(text, "%019llu", (unsigned long long)chunks[--count]);
	free(rest);
	free(chunks);
}
