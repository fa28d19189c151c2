#include "unwind/expression.h"

#include "harness/tap.h"
#include "unit/unwind/made.h"

static struct made made;

static enum sn_unwind_end run(const uint8_t *bytes, size_t count, uint64_t *result)
{
	struct sn_unwind_frame frame = made_frame(MADE_START);
	struct sn_unwind_rule rule = { .kind = SN_UNWIND_RULE_IS_RESULT,
				       .length = (uint16_t)count };
	const uint64_t first = 1000;

	made_image(&made, false, made_usual, sizeof(made_usual), made_usual, 0);
	rule.value = (int32_t)made.length;
	made_bytes(&made, bytes, count);
	made.module.eh_frame.end = MADE_FRAMES + made.length;
	return sn_unwind_expression_run(&made.target, &made.module, &rule, &frame.regs, &first,
					result);
}

#define RUN(result, ...)                                                                           \
	run((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), (result))

/** The expression's value, with the CFA 1000 on the stack at first. */
#define CHECK_VALUE(want, ...)                                                                     \
	do {                                                                                       \
		uint64_t value_ = 0;                                                               \
		CHECK_INT(RUN(&value_, __VA_ARGS__), SN_UNWIND_GOES_ON);                           \
		CHECK_INT(value_, want);                                                           \
	} while (0)

#define CHECK_END(want, ...)                                                                       \
	do {                                                                                       \
		uint64_t value_ = 0;                                                               \
		CHECK_INT(RUN(&value_, __VA_ARGS__), want);                                        \
	} while (0)

TEST(constants)
{
	CHECK_VALUE(0, 0x30);
	CHECK_VALUE(31, 0x4f);
	CHECK_VALUE(200, 0x08, 200);
	CHECK_VALUE(-56, 0x09, 200);
	CHECK_VALUE(0x8001, 0x0a, 1, 0x80);
	CHECK_VALUE(-0x7fff, 0x0b, 1, 0x80);
	CHECK_VALUE(0x80000001, 0x0c, 1, 0, 0, 0x80);
	CHECK_VALUE(-0x7fffffff, 0x0d, 1, 0, 0, 0x80);
	CHECK_VALUE(0x0102030405060708, 0x0e, 8, 7, 6, 5, 4, 3, 2, 1);
	CHECK_VALUE(-2, 0x0f, 254, 255, 255, 255, 255, 255, 255, 255);
	CHECK_VALUE(624485, 0x10, 0xe5, 0x8e, 0x26);
	CHECK_VALUE(-127, 0x11, 0x81, 0x7f);
	CHECK_VALUE(0x401000, 0x03, 0, 0x10, 0x40, 0, 0, 0, 0, 0);
}

TEST(moving_values)
{
	CHECK_VALUE(2000, 0x12, 0x22);		/* dup; plus */
	CHECK_VALUE(1000, 0x31, 0x13);		/* lit1; drop */
	CHECK_VALUE(1000, 0x31, 0x14);		/* over */
	CHECK_VALUE(1000, 0x31, 0x32, 0x15, 2); /* pick */
	CHECK_VALUE(999, 0x31, 0x1c);		/* minus */
	CHECK_VALUE(-999, 0x31, 0x16, 0x1c);	/* swap; minus */
	/* 1 2 3 becomes 3 1 2 */
	CHECK_VALUE(2, 0x31, 0x32, 0x33, 0x17);
	CHECK_VALUE(1, 0x31, 0x32, 0x33, 0x17, 0x13);
	CHECK_VALUE(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13);
}

TEST(arithmetic)
{
	CHECK_VALUE(5, 0x09, 251, 0x19); /* abs */
	CHECK_VALUE(1000 & 24, 0x48, 0x1a);
	CHECK_VALUE(-333, 0x09, 253, 0x1b); /* div is signed */
	CHECK_VALUE(1, 0x33, 0x1d);	    /* mod */
	CHECK_VALUE(3000, 0x33, 0x1e);
	CHECK_VALUE(-1000, 0x1f);
	CHECK_VALUE(~INT64_C(1000), 0x20);
	CHECK_VALUE(1000 | 3, 0x33, 0x21);
	CHECK_VALUE(1005, 0x35, 0x22);
	CHECK_VALUE(1200, 0x23, 0xc8, 0x01);
	CHECK_VALUE(8000, 0x33, 0x24);
	CHECK_VALUE(125, 0x33, 0x25);
	CHECK_VALUE(-1, 0x09, 128, 0x4f, 0x26);
	CHECK_VALUE(1000 ^ 3, 0x33, 0x27);
	CHECK_VALUE(0, 0x08, 64, 0x24);
	CHECK_VALUE(0, 0x08, 200, 0x25);
	CHECK_VALUE(-1, 0x09, 128, 0x08, 200, 0x26);
	CHECK_VALUE(INT64_MIN, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 255, 0x1b);
}

TEST(comparisons_are_signed)
{
	for (int order = -1; order <= 1; order++) {
		uint8_t b = (uint8_t)(0 - order);

		CHECK_VALUE(order == 0, 0x30, 0x09, b, 0x29);
		CHECK_VALUE(order >= 0, 0x30, 0x09, b, 0x2a);
		CHECK_VALUE(order > 0, 0x30, 0x09, b, 0x2b);
		CHECK_VALUE(order <= 0, 0x30, 0x09, b, 0x2c);
		CHECK_VALUE(order < 0, 0x30, 0x09, b, 0x2d);
		CHECK_VALUE(order != 0, 0x30, 0x09, b, 0x2e);
	}
}

TEST(branches)
{
	CHECK_VALUE(5, 0x2f, 1, 0, 0x31, 0x35);		/* skip over lit1 */
	CHECK_VALUE(7, 0x31, 0x28, 1, 0, 0x31, 0x37);	/* taken */
	CHECK_VALUE(8, 0x30, 0x28, 0, 0, 0x38);		/* not taken */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x2f, 0xfd, 0xff); /* for ever */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x2f, 0xf0, 0xff); /* before the beginning */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x2f, 1, 0);	/* behind the end */
}

TEST(registers_and_memory)
{
	CHECK_VALUE(MADE_STACK + 136, 0x77, 8);
	CHECK_VALUE(MADE_STACK + 128 - 64, 0x77, 0x40);
	CHECK_VALUE(MADE_START, 0x80, 0);	 /* the pc */
	CHECK_VALUE(0xac + 2, 0x92, 12, 2);	 /* bregx r12 */
	CHECK_VALUE(0x1000 + 16, 0x77, 0, 0x06); /* the word at rsp */
	CHECK_VALUE(0x10, 0x77, 0, 0x94, 1);
	CHECK_VALUE(0x1010, 0x77, 0, 0x94, 4);
	CHECK_END(SN_UNWIND_BAD_CFI, 0x77, 0, 0x94, 9);
	CHECK_END(SN_UNWIND_UNREADABLE, 0x31, 0x06);		 /* address 1 */
	CHECK_END(SN_UNWIND_UNREADABLE, 0x77, 0xf9, 0x02, 0x06); /* the last word, one byte off */
	CHECK_VALUE(0x1000 + 63, 0x77, 0xf8, 0x02, 0x06);
	CHECK_END(SN_UNWIND_UNREADABLE, 0x8f, 0); /* no such register */
}

TEST(what_cannot_be_is_refused)
{
	CHECK_END(SN_UNWIND_BAD_CFI, 0x13, 0x13); /* below the bottom */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x13);	  /* nothing left */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x30, 0x1b); /* division by zero */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x30, 0x1d);
	CHECK_END(SN_UNWIND_BAD_CFI, 0x15, 1); /* pick from an empty place */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x9c);    /* DW_OP_call_frame_cfa: not in rules */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x0e, 1); /* cut short */
	CHECK_END(SN_UNWIND_BAD_CFI, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30,
		  0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30,
		  0x30, 0x30); /* too deep */
}
