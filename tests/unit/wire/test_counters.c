/* Rings as the kernel writes them, made by construction: samples of page faults, of PEBS and of IBS. */
#include "wire/counters.h"
#include "harness/tap.h"

#include <string.h>

enum { RING = 4096 };

static uint8_t bytes[RING];

static uint64_t put(uint64_t head, uint16_t type, uint16_t misc, const uint64_t *words,
		    uint32_t count)
{
	struct perf_event_header header = { .type = type,
					    .misc = misc,
					    .size = (uint16_t)(8 + 8 * count) };
	uint8_t whole[8 + 8 * 40];

	memcpy(whole, &header, 8);
	memcpy(whole + 8, words, 8 * count);
	for (uint32_t i = 0; i < header.size; i++)
		bytes[(head + i) % RING] = whole[i];
	return head + header.size;
}

static struct sn_counter_ring ring_of(uint64_t type)
{
	return (struct sn_counter_ring){ .bytes = bytes, .size_bytes = RING, .sample_type = type };
}

TEST(settings_are_read_as_they_are_written)
{
	struct sn_counter_spec specs[SN_COUNTERS_MAX];

	CHECK_INT(sn_counters_parse(
			  "1:2:2:0:0:1:0:0:page-faults,4:1:1cd:3:0:f4243:0:2:MEM:LDLAT=3;x", specs),
		  2);
	CHECK_INT(specs[0].type, 1);
	CHECK_INT(specs[0].flags, SN_COUNTER_KERNEL);
	CHECK_STRING(specs[0].name, "page-faults");
	CHECK_INT(specs[1].config, 0x1cd);
	CHECK_INT(specs[1].period, 1000003);
	CHECK_INT(specs[1].precise, 2);
	CHECK_STRING(specs[1].name, "MEM:LDLAT=3");
	CHECK_INT(sn_counters_parse("", specs), 0);
	CHECK_INT(sn_counters_parse("1:2", specs), 0);
	CHECK_INT(sn_counters_parse("x:y", specs), 0);
}

TEST(a_fault_has_its_address_over_the_end_of_the_ring)
{
	struct sn_counter_ring ring = ring_of(SN_COUNTER_SAMPLE | PERF_SAMPLE_ADDR);
	const uint64_t words[] = { 0x401000, 77, 0x7f0000001000, 3, 12, 900, 800 };
	uint64_t tail = RING - 20,
		 head = put(tail, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, words, 7), lost = 0;
	struct sn_counter_sample sample;

	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 1);
	CHECK_INT(sample.pc, 0x401000);
	CHECK_INT(sample.time_ns, 77);
	CHECK_INT(sample.address, 0x7f0000001000);
	CHECK_INT(sample.cpu, 3);
	CHECK_INT(sample.value, 12);
	CHECK_INT(sample.enabled_ns, 900);
	CHECK_INT(sample.running_ns, 800);
	CHECK(!sample.is_exact && !sample.is_kernel);
	CHECK_INT(tail, head);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), -1);
}

/* A load that missed L3, as PEBS tells of it: exact, with its latency and where the line was. */
TEST(pebs_and_ibs_tell_where_data_were)
{
	struct sn_counter_ring ring = ring_of(SN_COUNTER_SAMPLE | SN_COUNTER_ADDRESS);
	const uint64_t ram = (uint64_t)PERF_MEM_OP_LOAD << PERF_MEM_OP_SHIFT |
			     (uint64_t)(PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM)
				     << PERF_MEM_LVL_SHIFT;
	const uint64_t l2 = (uint64_t)PERF_MEM_OP_LOAD << PERF_MEM_OP_SHIFT |
			    (uint64_t)(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2) << PERF_MEM_LVL_SHIFT;
	const uint64_t pebs[] = { 0x401234, 1, 0x602040, 0, 1000003, 10, 10, 312, ram };
	const uint64_t ibs[] = { 0x401238, 2, 0x602080, 1, 2000006, 20, 20, 17, l2 };
	const uint64_t throttle[] = { 1, 2, 3 }, none[] = { 5, 7, 9 };
	uint64_t tail = 0, lost = 0,
		 head = put(0, PERF_RECORD_SAMPLE,
			    PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, pebs, 9);
	struct sn_counter_sample sample;

	head = put(head, PERF_RECORD_THROTTLE, 0, throttle, 3);
	head = put(head, PERF_RECORD_LOST, 0, none, 2);
	head = put(head, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP,
		   ibs, 9);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 1);
	CHECK(sample.is_exact);
	CHECK_INT(sample.address, 0x602040);
	CHECK_INT(sample.weight, 312);
	CHECK_STRING(sn_counter_level(sample.data_source), "RAM");
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 0);
	CHECK_INT(lost, 0);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 0);
	CHECK_INT(lost, 7);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 1);
	CHECK(sample.is_kernel);
	CHECK_STRING(sn_counter_level(sample.data_source), "L2");
	CHECK_STRING(sn_counter_level(0), "");
	CHECK_INT(tail, head);
}

TEST(damage_ends_the_ring)
{
	struct sn_counter_ring ring = ring_of(SN_COUNTER_SAMPLE);
	const uint64_t words[40] = { 0 };
	struct sn_counter_sample sample;
	uint64_t tail = 0, lost = 0, head = put(0, PERF_RECORD_SAMPLE, 0, words, 2);

	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost),
		  0); /* too short for its type */
	CHECK_INT(tail, head);
	head = put(head, PERF_RECORD_SAMPLE, 0, words, 40); /* longer than we look at */
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 0);
	CHECK_INT(tail, head);
	memset(bytes, 0, sizeof(bytes)); /* no size */
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head + 64, &sample, &lost), -1);
	CHECK_INT(tail, head + 64);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, tail + 2 * RING, &sample, &lost), -1);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, tail + 4, &sample, &lost), -1);
	ring.sample_type |= PERF_SAMPLE_CALLCHAIN; /* which nobody asks for */
	head = put(tail, PERF_RECORD_SAMPLE, 0, words, 9);
	CHECK_INT(sn_counter_ring_next(&ring, &tail, head, &sample, &lost), 0);
}

TEST(lost_overflows_are_seen_by_the_counters_value)
{
	CHECK_INT(sn_counter_overflows(5, 4, 1), 1);
	CHECK_INT(sn_counter_overflows(450, 4, 1), 446);
	CHECK_INT(sn_counter_overflows(1000, 0, 1000), 1);
	CHECK_INT(sn_counter_overflows(1003, 0, 1000), 1); /* it skids */
	CHECK_INT(sn_counter_overflows(2990, 0, 1000), 3);
	CHECK_INT(sn_counter_overflows(100, 0, 1000), 1); /* a random first part */
	CHECK_INT(sn_counter_overflows(3, 9, 1000), 1);
}
