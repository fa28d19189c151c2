/**
 * Counters that overflow (record -e): how the launcher describes them to the runtime, how the kernel
 * tells of an overflow in a ring, and what the data file keeps of it.
 *
 * A thread has an event for each counter. At an overflow the kernel writes a sample into the event's
 * ring and sends a signal; the runtime takes the stack and empties the ring. What a sample of the kernel
 * holds follows from its attr.sample_type: SN_COUNTER_SAMPLE, with addresses SN_COUNTER_ADDRESS too.
 */
#ifndef SN_WIRE_COUNTERS_H
#define SN_WIRE_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SN_COUNTERS_MAX = 8,
	SN_COUNTER_NAME_BYTES = 64,
	SN_COUNTER_TEXT_BYTES = 1280, /* of all, in the settings */
	SN_COUNTER_RING_BYTES = 8 * 4096,
	SN_COUNTER_RECORD_MOST = 256, /* of one record in the ring; longer ones are skipped */
};

/** What is asked of a counter; bits. The numbers are stored, so none may be renumbered. */
enum sn_counter_flags {
	SN_COUNTER_ADDRESSES = 1, /* +EVENT: data addresses, too */
	SN_COUNTER_KERNEL = 2,	  /* what happens in the kernel counts, too */
	SN_COUNTER_CYCLES = 4,	  /* of a clock of `hz`: counts are times */
};

struct sn_counter_spec {
	uint32_t type; /* as in struct perf_event_attr */
	uint32_t flags;
	uint64_t config, config1, config2;
	uint64_t period;
	uint64_t hz;	  /* with SN_COUNTER_CYCLES */
	uint32_t precise; /* attr.precise_ip */
	uint32_t reserved;
	char name[SN_COUNTER_NAME_BYTES];
};

/* ---- in the settings: "type:flags:config:config1:config2:period:hz:precise:name,..." ---- */

static inline const char *sn_counter_hex(const char *text, uint64_t *out)
{
	uint64_t value = 0;

	for (;; text++) {
		unsigned digit = *text >= '0' && *text <= '9'	? (unsigned)(*text - '0')
				 : *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a' + 10)
								: 16;
		if (digit == 16)
			break;
		value = value << 4 | digit;
	}
	*out = value;
	return text;
}

/** Reads the counters; what cannot be read ends the list. Gives how many there are. */
static inline uint32_t sn_counters_parse(const char *text, struct sn_counter_spec *specs)
{
	uint32_t count = 0;

	while (*text != '\0' && *text != ';' && count < SN_COUNTERS_MAX) {
		uint64_t numbers[8];
		struct sn_counter_spec *spec = &specs[count];
		size_t length = 0;

		for (unsigned i = 0; i < 8; i++) {
			text = sn_counter_hex(text, &numbers[i]);
			if (*text++ != ':')
				return count;
		}
		*spec = (struct sn_counter_spec){ .type = (uint32_t)numbers[0],
						  .flags = (uint32_t)numbers[1],
						  .config = numbers[2],
						  .config1 = numbers[3],
						  .config2 = numbers[4],
						  .period = numbers[5] ? numbers[5] : 1,
						  .hz = numbers[6],
						  .precise = (uint32_t)numbers[7] & 3 };
		for (; *text != '\0' && *text != ',' && *text != ';'; text++)
			if (length + 1 < sizeof spec->name)
				spec->name[length++] = *text;
		count++;
		if (*text == ',')
			text++;
	}
	return count;
}

/* ---- the event ---- */

#define SN_COUNTER_SAMPLE  (PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ)
#define SN_COUNTER_ADDRESS (PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

/** What a sample of it holds. Of page faults the address is always there: some are the runtime's own. */
static inline uint64_t sn_counter_sample_type(const struct sn_counter_spec *spec)
{
	uint64_t type = SN_COUNTER_SAMPLE;

	if (spec->flags & SN_COUNTER_ADDRESSES)
		type |= SN_COUNTER_ADDRESS;
	if (spec->type == PERF_TYPE_SOFTWARE && (spec->config == PERF_COUNT_SW_PAGE_FAULTS ||
						 spec->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						 spec->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ))
		type |= PERF_SAMPLE_ADDR;
	return type;
}

/** `period` 0: it only counts. The launcher tries what the runtime opens. */
static inline struct perf_event_attr sn_counter_attr(const struct sn_counter_spec *spec,
						     uint64_t period)
{
	struct perf_event_attr attr = { 0 };

	attr.type = spec->type;
	attr.size = sizeof attr;
	attr.config = spec->config;
	attr.config1 = spec->config1;
	attr.config2 = spec->config2;
	attr.disabled = 1;
	attr.exclude_kernel = (spec->flags & SN_COUNTER_KERNEL) == 0;
	attr.exclude_hv = 1;
	if (!period)
		return attr;
	attr.sample_period = period;
	attr.precise_ip = spec->precise & 3;
	attr.sample_type = sn_counter_sample_type(spec);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	return attr;
}

/* ---- rings ---- */

/** A sample as the kernel wrote it; what its sample_type leaves out is 0. */
struct sn_counter_sample {
	uint64_t pc, time_ns, address, period, value, enabled_ns, running_ns, weight, data_source;
	uint32_t cpu;
	bool is_exact;	/* pc is that of the instruction itself */
	bool is_kernel; /* it was in the kernel */
};

/** Bytes of a ring; size_bytes is a power of two. */
struct sn_counter_ring {
	const uint8_t *bytes;
	uint64_t size_bytes;
	uint64_t sample_type; /* of the event */
};

static inline void sn_counter_ring_copy(const struct sn_counter_ring *ring, uint64_t at, void *out,
					uint32_t bytes)
{
	uint8_t *to = out;

	for (uint32_t i = 0; i < bytes; i++)
		to[i] = ring->bytes[(at + i) & (ring->size_bytes - 1)];
}

/** Reads a sample's words, which are in the order that perf_event_open(2) says. False: they are too few
 *  for the type, or it has what nobody asked for. */
static inline bool sn_counter_sample_read(const uint64_t *words, uint32_t count,
					  uint64_t sample_type, struct sn_counter_sample *out)
{
	struct {
		uint64_t bit;
		uint64_t *word;
	} const parts[] = {
		{ PERF_SAMPLE_IDENTIFIER, NULL },
		{ PERF_SAMPLE_IP, &out->pc },
		{ PERF_SAMPLE_TID, NULL },
		{ PERF_SAMPLE_TIME, &out->time_ns },
		{ PERF_SAMPLE_ADDR, &out->address },
		{ PERF_SAMPLE_ID, NULL },
		{ PERF_SAMPLE_STREAM_ID, NULL },
		{ PERF_SAMPLE_CPU, NULL },
		{ PERF_SAMPLE_PERIOD, &out->period },
		{ PERF_SAMPLE_READ, NULL },
		{ PERF_SAMPLE_WEIGHT, &out->weight },
		{ PERF_SAMPLE_DATA_SRC, &out->data_source },
	};
	uint64_t known = 0;
	uint32_t at = 0;

	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		known |= parts[i].bit;
		if (!(sample_type & parts[i].bit))
			continue;
		if (at + (parts[i].bit == PERF_SAMPLE_READ ? 3 : 1) > count)
			return false;
		if (parts[i].bit == PERF_SAMPLE_READ) {
			out->value = words[at++];
			out->enabled_ns = words[at++];
			out->running_ns = words[at++];
			continue;
		}
		if (parts[i].bit == PERF_SAMPLE_CPU)
			out->cpu = (uint32_t)words[at];
		if (parts[i].word)
			*parts[i].word = words[at];
		at++;
	}
	return (sample_type & ~known) == 0;
}

/** Reads the record at *tail and moves on, up to head. 1: a sample; 0: another record, whose number of
 *  lost samples is added to *lost; -1: the ring is empty, or damaged: *tail is at its head. */
static inline int sn_counter_ring_next(const struct sn_counter_ring *ring, uint64_t *tail,
				       uint64_t head, struct sn_counter_sample *out, uint64_t *lost)
{
	union {
		uint64_t words[SN_COUNTER_RECORD_MOST / 8];
		struct perf_event_header header;
	} record;
	uint64_t left = head - *tail;
	uint32_t bytes;

	if (left < sizeof record.header || left > ring->size_bytes) {
		*tail = head;
		return -1;
	}
	sn_counter_ring_copy(ring, *tail, &record, sizeof record.header);
	bytes = record.header.size;
	if (bytes < sizeof record.header || bytes % 8 || bytes > left) {
		*tail = head;
		return -1;
	}
	if (bytes <= sizeof record)
		sn_counter_ring_copy(ring, *tail, &record, bytes);
	*tail += bytes;
	if (bytes > sizeof record)
		return 0;
	if (record.header.type == PERF_RECORD_LOST && bytes >= 24)
		*lost += record.words[2];
	if (record.header.type != PERF_RECORD_SAMPLE)
		return 0;
	*out = (struct sn_counter_sample){ 0 };
	out->is_exact = (record.header.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
	out->is_kernel =
		(record.header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	return sn_counter_sample_read(record.words + 1, bytes / 8 - 1, ring->sample_type, out);
}

/** Overflows that a sample stands for: those since the one before it, of which some may have been lost.
 *  `last` is the counter's value at that one. */
static inline uint64_t sn_counter_overflows(uint64_t value, uint64_t last, uint64_t period)
{
	uint64_t more = value > last ? value - last : 0;
	uint64_t count = more / period + (more % period > period / 2);

	return count ? count : 1;
}

/* ---- PERF_SAMPLE_DATA_SRC ---- */

/** Where the memory system found what an instruction asked for; "" where it does not say. */
static inline const char *sn_counter_level(uint64_t data_source)
{
	uint64_t level = data_source >> PERF_MEM_LVL_SHIFT;

	return level & PERF_MEM_LVL_L1					 ? "L1"
	       : level & PERF_MEM_LVL_LFB				 ? "fill buffer"
	       : level & PERF_MEM_LVL_L2				 ? "L2"
	       : level & PERF_MEM_LVL_L3				 ? "L3"
	       : level & PERF_MEM_LVL_LOC_RAM				 ? "RAM"
	       : level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2) ? "remote RAM"
	       : level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2) ? "remote cache"
	       : level & (PERF_MEM_LVL_IO | PERF_MEM_LVL_UNC)		 ? "uncached"
									 : "";
}

#endif
