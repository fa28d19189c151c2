/* Rings of counters, and their settings: whatever the bytes are, reading ends and stays within them. */
#include "wire/counters.h"

#include <stdlib.h>
#include <string.h>

static void ring_read(const uint8_t *bytes, size_t length)
{
	uint8_t memory[1024] = { 0 };
	struct sn_counter_ring ring = { .bytes = memory, .size_bytes = sizeof(memory) };
	struct sn_counter_sample sample;
	uint64_t tail, head, lost = 0, before;

	if (length < 16)
		return;
	memcpy(&ring.sample_type, bytes, 8);
	memcpy(&tail, bytes + 8, 8);
	ring.sample_type &= 0xffffff;
	head = tail + (length - 16);
	for (size_t i = 16; i < length && i < 16 + sizeof(memory); i++)
		memory[(tail + i - 16) % sizeof(memory)] = bytes[i];
	while (tail != head) {
		before = tail;
		if (sn_counter_ring_next(&ring, &tail, head, &sample, &lost) < 0 && tail != head)
			abort();
		if (tail - before > head - before || tail == before)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_counter_spec specs[SN_COUNTERS_MAX];
	char *text = malloc(length + 1);

	if (!text)
		abort();
	memcpy(text, bytes, length);
	text[length] = '\0';
	if (sn_counters_parse(text, specs) > SN_COUNTERS_MAX)
		abort();
	free(text);
	ring_read(bytes, length);
	return 0;
}
