/**
 * An image made by hand: one function at 0x401000 to 0x401100 with the call-frame program of a
 * test, in memory that lies elsewhere than its load addresses (as offline).
 */
#ifndef SN_TESTS_UNIT_UNWIND_MADE_H
#define SN_TESTS_UNIT_UNWIND_MADE_H

#include <string.h>

#include "unwind/unwind.h"

#define MADE_START  UINT64_C(0x401000)
#define MADE_END    UINT64_C(0x401100)
#define MADE_FRAMES UINT64_C(0x500000)
#define MADE_HEADER UINT64_C(0x4ff000)
#define MADE_STACK  UINT64_C(0x7ff000)

struct made {
	uint8_t frames[2048], header[64], text[256];
	uint64_t stack[64];
	size_t length;
	struct sn_unwind_module module;
	struct sn_unwind_window stack_window;
	struct sn_unwind_target target;
};

static inline void made_put(struct made *made, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		made->frames[made->length++] = (uint8_t)(value >> (8 * i));
}

static inline void made_bytes(struct made *made, const void *bytes, size_t count)
{
	memcpy(made->frames + made->length, bytes, count);
	made->length += count;
}

/** Pads the record that began at `start` with no-operations and writes its length. */
static inline void made_close(struct made *made, size_t start)
{
	uint32_t length;

	while ((made->length - start) % 8 != 4)
		made->frames[made->length++] = 0;
	length = (uint32_t)(made->length - start - 4);
	memcpy(made->frames + start, &length, 4);
}

/** CFA = rsp + 8, return address at CFA - 8: what every CIE of a compiler says. */
static const uint8_t made_usual[] = { 0x0c, 7, 8, 0x90, 1 };

/** A CIE with augmentation "zR" or "zRS" and alignment factors 1 and -8. */
static inline void made_common(struct made *made, bool is_signal, const uint8_t *program,
			       size_t count)
{
	made_put(made, 0, 4);
	made_put(made, 0, 4);
	made_put(made, 1, 1);
	made_bytes(made, is_signal ? "zRS" : "zR", is_signal ? 4 : 3);
	made_bytes(made, "\x01\x78\x10\x01\x1b", 5);
	made_bytes(made, program, count);
	made_close(made, 0);
}

static inline void made_function(struct made *made, const uint8_t *program, size_t count)
{
	size_t start = made->length;

	made_put(made, 0, 4);
	made_put(made, made->length, 4); /* the CIE stands at offset 0 */
	made_put(made, MADE_START - (MADE_FRAMES + made->length), 4);
	made_put(made, MADE_END - MADE_START, 4);
	made_put(made, 0, 1);
	made_bytes(made, program, count);
	made_close(made, start);
}

/** A search table with the one function, and the windows around it all. */
static inline void made_finish(struct made *made, size_t function_offset)
{
	int32_t words[5] = { 0x3b031b01, (int32_t)(MADE_FRAMES - MADE_HEADER - 4), 1,
			     (int32_t)(MADE_START - MADE_HEADER),
			     (int32_t)(MADE_FRAMES + function_offset - MADE_HEADER) };

	memcpy(made->header, words, sizeof(words));
	made->module = (struct sn_unwind_module){
		.load_start = 0x400000,
		.load_end = 0x600000,
		.text = { MADE_START, MADE_END, made->text },
		.eh_frame_hdr = { MADE_HEADER, MADE_HEADER + sizeof(words), made->header },
		.eh_frame = { MADE_FRAMES, MADE_FRAMES + made->length, made->frames },
	};
	made->stack_window = (struct sn_unwind_window){ MADE_STACK, MADE_STACK + 512,
							(const uint8_t *)made->stack };
	for (unsigned i = 0; i < 64; i++)
		made->stack[i] = 0x1000 + i;
	made->target = (struct sn_unwind_target){ .modules = &made->module,
						  .module_count = 1,
						  .generation = 1,
						  .stacks = &made->stack_window,
						  .stack_count = 1 };
}

static inline void made_image(struct made *made, bool is_signal, const uint8_t *common,
			      size_t common_count, const uint8_t *program, size_t count)
{
	size_t function_offset;

	memset(made, 0, sizeof(*made));
	made_common(made, is_signal, common, common_count);
	function_offset = made->length;
	made_function(made, program, count);
	made_finish(made, function_offset);
}

/** Registers of a frame at `pc` whose stack pointer is 16 words into the stack. */
static inline struct sn_unwind_frame made_frame(uint64_t pc)
{
	struct sn_unwind_frame frame = { .is_exact = true };

	for (unsigned i = 0; i < SN_UNWIND_REG_COUNT; i++)
		frame.regs.value[i] = 0xa0 + i;
	frame.regs.value[SN_UNWIND_RSP] = MADE_STACK + 128;
	frame.regs.value[SN_UNWIND_RBP] = MADE_STACK + 160;
	frame.regs.value[SN_UNWIND_RIP] = pc;
	frame.regs.valid = SN_UNWIND_ALL_VALID;
	return frame;
}

#endif
