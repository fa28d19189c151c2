/**
 * A plan: which loops of one module run as copies, and the bytes of these copies (docs/format/plan.md).
 *
 *   [header][loops][patches][relocations][map][tables][code]      little-endian, x86-64 only
 *
 * The launcher decodes and encodes; the runtime only maps the code within 2 GB of the module, adds
 * what depends on where it lies, and writes the patches. A plan belongs to the file with its
 * build-id, and is named plan.BUILDID in the launch's data folder.
 *
 * The code counts: stubs on the edges of a loop find the thread's places by a thread-local pointer, and in there by the
 * loop's index where its record is: its distance from a record in the thread's words. So zero is that one (SN_PLAN_WORD_NONE),
 * whose counts are nobody's and whose turn is always due: then the first call makes one, unless nothing is
 * measured. What needs more than one register finds the record by the slot table (zero: nothing is measured), and
 * its slot in there (zero: there is none yet). Every thunk of the header calls a function of the
 * runtime: it gets the record, or the loop's index, in rcx and a value in rdx, and gives one in rcx.
 *
 * A loop may have variants: further copies of it. Those that run in its place (LS, FP, ARITH, DL1,
 * FES) are begun by SN_PLAN_CALL_RUN with the registers as the loop has them, and jump to
 * SN_PLAN_CALL_EXIT; where the loop calls a function they jump to SN_PLAN_CALL_AT_CALL instead. ORIG and PF are the execution
 * itself, and leave as the loop does. Where it calls a function they tell SN_PLAN_CALL_UNTIME: the call is made, and returns
 * into the copy that counts.
 *
 * So does a copy that records: it writes the words of wire/accesses.h to where the thread's word says,
 * and calls SN_PLAN_CALL_FULL when as many arrivals at headers as the thread's units have come.
 *
 * A plan of points has no loops. Its code counts arrivals (SN_PLAN_WORD_VISITS); or, where it has tables, it tells of them: it
 * calls FULL with the index of the patch in rcx.
 *
 * A plan of counts has no loops: each entry is some blocks of a function, whose code adds 1 to the block's
 * executions in the thread's record (SN_PLAN_SLOT, made by FIRST) each time.
 *
 * A plan of heartbeats has no loops: each entry is a heartbeat, whose name the tables have. Its code calls
 * BEGIN, END and NEXT (an end, then a begin) with the heartbeat's index in rcx and in rdx a stack pointer
 * that is the same at the begin and at the end of a beat. FIRST is called with an index where an exception is about
 * to leave the function: its newest beat ends. FULL is called where an exception is caught: beats of all
 * heartbeats that began below the stack pointer in rdx end. They give nothing. The thread has no words there.
 */
#ifndef SN_WIRE_PLAN_H
#define SN_WIRE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "wire/instances.h"
#include "wire/variants.h"

#define SN_PLAN_MAGIC 0x4e414c50444e4f53ULL /* "SONDPLAN" */

enum {
	SN_PLAN_VERSION = 8,
	SN_PLAN_ID_MAX = 64,	  /* room for a build-id; more than SN_BUILD_ID_MAX */
	SN_PLAN_EXPECTED_MAX = 8, /* bytes of a patch */
	SN_PLAN_LOOPS_MAX = 4096,
	SN_PLAN_CODE_MAX = 64 << 20,
	SN_PLAN_UNIT_WORDS_MAX = 8192,
	SN_PLAN_BUCKETS = 32, /* by cycles an iteration, SN_RECORD_BUCKET */
};

/** What some loops of a plan have besides copies that count. */
enum sn_plan_kind {
	SN_PLAN_HAS_VARIANTS = 1,
	SN_PLAN_HAS_RECORDERS = 2,
	SN_PLAN_HAS_POINT =
		4, /* no loops: patches lead to code that counts arrivals, or tells of them */
};

/** What the thunks call, in the order of the header's `calls`. Heartbeats call it without thunks, with rdi and rsi in place of rcx
 *  and rdx: docs/format/plan.md. */
enum sn_plan_call {
	SN_PLAN_CALL_FIRST, /* rcx: index of the loop; gives the record, or 0 */
	SN_PLAN_CALL_BEGIN, /* rcx: the record; rdx: the stack pointer in the loop; rax: the induction
			       variable, of a record with a step; gives the code of the variant that is to run in the loop's place, or 0 */
	SN_PLAN_CALL_END,   /* likewise; gives nothing */
	SN_PLAN_CALL_NEXT, /* after BEGIN: gives the code that the loop goes on with, or 0 */
	SN_PLAN_CALL_FULL, /* rcx: the record; there may be no room for what comes next. Gives 0: the
			       loop goes on in the copy that records nothing */
	SN_PLAN_CALL_UNTIME, /* rcx: the record; the instance goes on in the copy that counts. Gives
				nothing */
	/* not by a thunk, as they are about all registers */
	SN_PLAN_CALL_RUN,  /* called; rcx: code; rdx: the stack pointer in the loop; SN_PLAN_SAVED
			      bytes below its red zone are the loop's rax, rcx, rdx */
	SN_PLAN_CALL_EXIT, /* jumped to by a variant that has ended */
	SN_PLAN_CALL_AT_CALL, /* jumped to by a variant that has come to a call: it is over */
	SN_PLAN_CALLS,
};

/** The thread's words that copies read: offsets from SN_PLAN_THREAD. */
enum sn_plan_thread_word {
	SN_PLAN_WORD_TABLE = 0,	    /* the slot table */
	SN_PLAN_WORD_CONTEXT = 8,   /* memory of the thread's variants */
	SN_PLAN_WORD_TARGET = 16,   /* where the loop goes on */
	SN_PLAN_WORD_RAX = 24,	    /* rax as a variant begins with */
	SN_PLAN_WORD_ARRIVALS = 32, /* at the header, in copies that count nothing else */
	SN_PLAN_WORD_RECORD = 40,   /* where a copy that records writes next */
	SN_PLAN_WORD_UNITS = 48,    /* arrivals at headers for which there is room */
	SN_PLAN_WORD_SAVED = 56,    /* two registers of the loop */
	SN_PLAN_WORD_VISITS = 72,   /* of the plan's point */
	/* of an instance in ORIG or PF of a loop with `clean_step`: the register where it was entered, and where it was left;
	 * 1: there the step of the iteration that began last was not made yet */
	SN_PLAN_WORD_ENTERED = 80,
	SN_PLAN_WORD_LEFT = 88,
	SN_PLAN_WORD_AHEAD = 96,
	SN_PLAN_WORD_PLACES = 104, /* never zero */
	SN_PLAN_WORD_NONE = 112,   /* a struct sn_record_instances */
};

/** Memory of a thread's variants, from SN_PLAN_WORD_CONTEXT on: what DL1 reads and writes instead of
 * the program's data. Some lines are read and others are written, so that no load waits for a
 * store (src/rewrite/variant.c). The page of values has SN_PLAN_VALUE all over, a sound number as an integer, a float or a
 * double; then a page of zeros; then one of what does not move with the loop. */
enum {
	SN_PLAN_VALUES = 8192,
	SN_PLAN_ZEROS = 12288,
	SN_PLAN_CELLS = 16384,
	SN_PLAN_CONTEXT_END = 20480,
	SN_PLAN_LINES_READ = 48,
	SN_PLAN_LINES = 64,
	SN_PLAN_CELLS_MAX = 48,
	/* behind the cells: by general register a line with an address of itself */
	SN_PLAN_LISTS = SN_PLAN_CELLS + 64 * SN_PLAN_CELLS_MAX,
};
#define SN_PLAN_VALUE 0x3ff3c0ca428c59fbULL

struct sn_plan_header {
	uint64_t magic;
	uint32_t version, header_bytes;
	uint64_t file_bytes;
	uint64_t hash; /* sn_plan_hash of all bytes behind the header */
	uint8_t id[SN_PLAN_ID_MAX];
	uint32_t id_bytes;
	uint32_t loop_count, patch_count, relocation_count, map_count, table_bytes, code_bytes;
	uint32_t calls[SN_PLAN_CALLS]; /* in the code: 8 bytes each, for the address to call */
};

/** How the iterations of a loop are counted. */
enum sn_plan_counting {
	SN_PLAN_COUNT_ARRIVALS, /* each arrival at the header adds 1 */
	/* entry takes a register from the sum and exit adds it: steps of `step_bytes` */
	SN_PLAN_COUNT_INDUCTION,
	SN_PLAN_COUNT_BEATS, /* it is no loop but a heartbeat */
	/* it is no loop but blocks of a function: its table has a struct sn_plan_block for each */
	SN_PLAN_COUNT_BLOCKS,
};

struct sn_plan_loop {
	uint64_t header_link_addr; /* of a heartbeat of a function: its entry */
	int64_t step;		   /* of a heartbeat: one beat in so many is timed */
	uint32_t counting;	   /* enum sn_plan_counting */
	/* bits of variants (1 << enum sn_decan_variant) that may fault or go on for ever, should what the
	 * loop stores tell it where to go on */
	uint32_t guarded;
	uint32_t code[SN_VARIANT_CODES]; /* where variants begin; 0: there is none */
	uint32_t recorder;		 /* where the copy that records begins; 0: there is none */
	uint32_t unit_words; /* it writes at most so many words from one header to the next */
	uint32_t table,
		table_bytes;   /* of wire/accesses.h, or a heartbeat's name: offset in the tables */
	uint32_t holds_others; /* 1: loops within it are counted, too */
	/* 1: an instance counts beside the record, to which its exit adds all that there was */
	uint32_t is_apart, reserved;
	/* of a loop whose arrivals are counted: what a register moves by an iteration as long as no function is called, so that ORIG
	 * and PF count nothing; 0: they do */
	int64_t clean_step;
};

/** A basic block that is counted, as in struct sn_record_blocks. */
struct sn_plan_block {
	int32_t offset; /* from the entry's header_link_addr */
	uint32_t instructions;
};

/** Bytes of the module that are written over. */
struct sn_plan_patch {
	uint64_t link_addr;
	uint8_t expected[SN_PLAN_EXPECTED_MAX]; /* what stands there now */
	uint32_t length;			/* 5: a jump to the code; 2: one to `target` */
	uint32_t target; /* offset in the code, or (2 bytes) displacement, signed */
};

enum sn_plan_relocation_kind {
	SN_PLAN_PC,	/* of the module: bias + addend - address of the field */
	SN_PLAN_THREAD, /* offset from the thread's pointer of a word; addend: enum
			   sn_plan_thread_word */
	SN_PLAN_SLOT,	/* offset of the loop's slot in that table; addend: the loop's index */
	SN_PLAN_INDEX,	/* the loop's index in the process; addend: in this plan */
	SN_PLAN_PLACE,	/* offset of the loop's place in the thread's places; addend: as of SLOT */
	SN_PLAN_RELOCATION_KINDS,
};

/** A field of 32 bits in the code. */
struct sn_plan_relocation {
	uint32_t offset, kind;
	int64_t addend;
};

enum sn_plan_map_flags {
	/* in a thunk: `below` counts up to its return address, which tells the rest */
	SN_PLAN_MAP_THUNK = 1,
	SN_PLAN_MAP_VARIANT = 2, /* in a variant that runs in the loop's place */
};

/** One instruction of the code: which of the module it stands for. Sorted by offset; it ends where
 *  the next begins. */
struct sn_plan_map {
	uint32_t offset;
	uint16_t below; /* so many bytes lies the stack pointer below where it is there */
	uint16_t flags;
	uint64_t link_addr; /* 0: padding */
};

/** A loop in a thread's slot table. */
struct sn_plan_slot {
	uint64_t record; /* address of a struct sn_record_instances, 0: none yet */
	uint64_t buckets[SN_PLAN_BUCKETS]; /* of a struct sn_record_timed */
	uint64_t caller; /* of a struct sn_record_caller: of the instance that is timed, or 0 */
	uint64_t caller_entries; /* instances that call paths stand for, so far */
	uint32_t caller_wait;	 /* timed instances until a call path is looked for */
	uint32_t random;
	uint32_t looks; /* for call paths, so far */
	/* an instance further in than the timed one, by a handler or recursion: as open_sum, open_stack_pointer (0: none) and
	 * caller of that */
	uint64_t inner_sum, inner_stack_pointer, inner_caller;
};

_Static_assert(sizeof(struct sn_plan_header) == 160, "no padding in a plan");
_Static_assert(sizeof(struct sn_plan_loop) == 96, "no padding in a plan");
_Static_assert(sizeof(struct sn_plan_patch) == 24, "no padding in a plan");
_Static_assert(sizeof(struct sn_plan_map) == 16, "no padding in a plan");

static inline uint64_t sn_plan_hash(const uint8_t *bytes, uint64_t count)
{
	uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (uint64_t i = 0; i < count; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

/** Where the parts lie. */
struct sn_plan {
	const struct sn_plan_header *header;
	const struct sn_plan_loop *loops;
	const struct sn_plan_patch *patches;
	const struct sn_plan_relocation *relocations;
	const struct sn_plan_map *map;
	const uint8_t *tables;
	const uint8_t *code;
};

static inline int sn_plan_parts_fit(const struct sn_plan *plan)
{
	const struct sn_plan_header *header = plan->header;

	for (uint32_t i = 0; i < header->loop_count; i++)
		for (uint32_t v = 0; v < SN_VARIANT_CODES; v++)
			if (plan->loops[i].code[v] >= header->code_bytes)
				return 0;
	for (uint32_t i = 0; i < header->loop_count; i++)
		if (plan->loops[i].recorder >= header->code_bytes ||
		    plan->loops[i].unit_words > SN_PLAN_UNIT_WORDS_MAX ||
		    plan->loops[i].table > header->table_bytes ||
		    header->table_bytes - plan->loops[i].table < plan->loops[i].table_bytes ||
		    (plan->loops[i].counting == SN_PLAN_COUNT_BLOCKS &&
		     plan->loops[i].table_bytes >
			     SN_RECORD_BLOCKS_MAX * sizeof(struct sn_plan_block)))
			return 0;
	for (uint32_t i = 0; i < header->patch_count; i++) {
		const struct sn_plan_patch *patch = &plan->patches[i];

		if (patch->length == 5 ? patch->target >= header->code_bytes : patch->length != 2)
			return 0;
	}
	for (uint32_t i = 0; i < header->relocation_count; i++) {
		const struct sn_plan_relocation *relocation = &plan->relocations[i];

		if (relocation->kind >= SN_PLAN_RELOCATION_KINDS ||
		    relocation->offset > header->code_bytes ||
		    header->code_bytes - relocation->offset < 4)
			return 0;
		if (relocation->kind >= SN_PLAN_SLOT &&
		    (uint64_t)relocation->addend >= header->loop_count)
			return 0;
	}
	for (uint32_t i = 0; i < header->map_count; i++)
		if (plan->map[i].offset >= header->code_bytes ||
		    (i && plan->map[i].offset <= plan->map[i - 1].offset))
			return 0;
	for (uint32_t i = 0; i < SN_PLAN_CALLS; i++)
		if (header->calls[i] > header->code_bytes ||
		    header->code_bytes - header->calls[i] < 8)
			return 0;
	return 1;
}

/** Takes a plan apart, `bytes` aligned to 8. 0: it is none, or damaged. */
static inline int sn_plan_read(const void *bytes, uint64_t count, struct sn_plan *plan)
{
	const struct sn_plan_header *header = bytes;
	uint64_t need = sizeof(*header);

	if (count < sizeof(*header) || header->magic != SN_PLAN_MAGIC ||
	    header->version != SN_PLAN_VERSION || header->header_bytes != sizeof(*header) ||
	    header->file_bytes != count || !header->id_bytes || header->id_bytes > SN_PLAN_ID_MAX ||
	    header->loop_count > SN_PLAN_LOOPS_MAX || !header->code_bytes ||
	    header->code_bytes > SN_PLAN_CODE_MAX || header->table_bytes % 8)
		return 0;
	plan->header = header;
	plan->loops = (const void *)((const uint8_t *)bytes + need);
	need += (uint64_t)header->loop_count * sizeof(*plan->loops);
	plan->patches = (const void *)((const uint8_t *)bytes + need);
	need += (uint64_t)header->patch_count * sizeof(*plan->patches);
	plan->relocations = (const void *)((const uint8_t *)bytes + need);
	need += (uint64_t)header->relocation_count * sizeof(*plan->relocations);
	plan->map = (const void *)((const uint8_t *)bytes + need);
	need += (uint64_t)header->map_count * sizeof(*plan->map);
	plan->tables = (const uint8_t *)bytes + need;
	need += header->table_bytes;
	plan->code = (const uint8_t *)bytes + need;
	if (need + header->code_bytes != count ||
	    header->hash !=
		    sn_plan_hash((const uint8_t *)bytes + sizeof(*header), count - sizeof(*header)))
		return 0;
	return sn_plan_parts_fit(plan);
}

/** The entry of the instruction at an offset of the code, or NULL. */
static inline const struct sn_plan_map *sn_plan_find(const struct sn_plan *plan, uint32_t offset)
{
	uint32_t low = 0, high = plan->header->map_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (plan->map[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &plan->map[low - 1] : NULL;
}

/**
 * Of a thread that is in a plan's code at `code`: makes the instruction and stack pointers what they would be in the module. The
 * registers are the program's in there, but for those that a call may change; so the frame is the original's. Elsewhere
 * both stay as they are. For handlers.
 */
static inline void sn_plan_translate(const struct sn_plan *plan, uint64_t code, uint64_t load_bias,
				     uint64_t *pc, uint64_t *stack_pointer)
{
	for (int step = 0; step < 2; step++) {
		const struct sn_plan_map *entry =
			*pc - code < plan->header->code_bytes
				? sn_plan_find(plan, (uint32_t)(*pc - code))
				: NULL;
		uint64_t above;

		if (!entry || !entry->link_addr)
			return;
		above = *stack_pointer + entry->below;
		if (!(entry->flags & SN_PLAN_MAP_THUNK)) {
			*pc = load_bias + entry->link_addr;
			*stack_pointer = above;
			return;
		}
		*pc = *(const uint64_t *)above;
		*stack_pointer = above + 8;
	}
}

#endif
