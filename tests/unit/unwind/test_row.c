#include "unwind/row.h"

#include "harness/tap.h"
#include "unit/unwind/made.h"

static struct made made;

/** Makes the image with this program and runs it to `offset` bytes into the function. */
static bool row_at(const uint8_t *program, size_t count, uint64_t offset, struct sn_unwind_row *row)
{
	struct sn_unwind_fde fde;

	made_image(&made, false, made_usual, sizeof(made_usual), program, count);
	REQUIRE(sn_unwind_fde_find(&made.module, MADE_START + offset, &fde) == SN_UNWIND_FOUND);
	return sn_unwind_row_of(&made.module, &fde, MADE_START + offset, row);
}

#define ROW_AT(offset, row, ...)                                                                   \
	row_at((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }),         \
	       (offset), (row))

static void check_cfa(const struct sn_unwind_row *row, unsigned reg, int32_t offset)
{
	CHECK_INT(row->cfa.kind, SN_UNWIND_RULE_AT_CFA);
	CHECK_INT(row->cfa.reg, reg);
	CHECK_INT(row->cfa.value, offset);
}

static void check_rule(const struct sn_unwind_row *row, unsigned reg, unsigned kind, int32_t value)
{
	CHECK_INT(row->regs[reg].kind, kind);
	CHECK_INT(row->regs[reg].value, value);
}

TEST(initial_rules_come_from_the_common_part)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(0, &row, 0));
	check_cfa(&row, SN_UNWIND_RSP, 8);
	check_rule(&row, SN_UNWIND_RIP, SN_UNWIND_RULE_AT_CFA, -8);
	CHECK_INT(row.regs[SN_UNWIND_RBX].kind, SN_UNWIND_RULE_UNSPECIFIED);
}

TEST(a_row_holds_from_its_location_on)
{
	struct sn_unwind_row row;

	/* push rbp; mov rsp, rbp; ...; leave */
	for (unsigned offset = 0; offset < 256; offset += 255) {
		REQUIRE(ROW_AT(offset, &row, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
		check_cfa(&row, offset ? SN_UNWIND_RBP : SN_UNWIND_RSP, offset ? 16 : 8);
	}
	REQUIRE(ROW_AT(1, &row, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	check_cfa(&row, SN_UNWIND_RSP, 16);
	check_rule(&row, SN_UNWIND_RBP, SN_UNWIND_RULE_AT_CFA, -16);
	REQUIRE(ROW_AT(3, &row, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	check_cfa(&row, SN_UNWIND_RSP, 16);
	REQUIRE(ROW_AT(4, &row, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	check_cfa(&row, SN_UNWIND_RBP, 16);
}

TEST(locations_advance_by_every_width)
{
	struct sn_unwind_row row;

	for (unsigned past = 0; past < 2; past++) {
		REQUIRE(ROW_AT(0x7f + past, &row, 0x02, 0x80, 0x0e, 16));
		check_cfa(&row, SN_UNWIND_RSP, past ? 16 : 8);
		REQUIRE(ROW_AT(0x7f + past, &row, 0x03, 0x80, 0, 0x0e, 16));
		check_cfa(&row, SN_UNWIND_RSP, past ? 16 : 8);
		REQUIRE(ROW_AT(0x7f + past, &row, 0x04, 0x80, 0, 0, 0, 0x0e, 16));
		check_cfa(&row, SN_UNWIND_RSP, past ? 16 : 8);
		REQUIRE(ROW_AT(0x7f + past, &row, 0x1d, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16));
		check_cfa(&row, SN_UNWIND_RSP, past ? 16 : 8);
	}
	/* Beyond 2^64 is beyond everything. */
	REQUIRE(ROW_AT(255, &row, 0x1d, 255, 255, 255, 255, 255, 255, 255, 255, 0x0e, 16));
	check_cfa(&row, SN_UNWIND_RSP, 8);
}

TEST(set_loc_reads_the_encoding_of_the_function)
{
	struct sn_unwind_row row;
	uint8_t program[] = { 0x01, 0, 0, 0, 0, 0x0e, 24 };
	/* pcrel from the operand: 18 bytes into a record that follows a CIE of 28 */
	int32_t distance = (int32_t)(MADE_START + 0x20 - (MADE_FRAMES + 28 + 18));

	memcpy(program + 1, &distance, 4);
	REQUIRE(row_at(program, sizeof(program), 0x1f, &row));
	check_cfa(&row, SN_UNWIND_RSP, 8);
	REQUIRE(row_at(program, sizeof(program), 0x20, &row));
	check_cfa(&row, SN_UNWIND_RSP, 24);
}

TEST(the_cfa_is_defined_in_every_form)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(0, &row, 0x0c, 10, 0)); /* def_cfa r10, 0 */
	check_cfa(&row, SN_UNWIND_R10, 0);
	REQUIRE(ROW_AT(0, &row, 0x12, 6, 0x7e)); /* def_cfa_sf rbp, -2 * -8 */
	check_cfa(&row, SN_UNWIND_RBP, 16);
	REQUIRE(ROW_AT(0, &row, 0x13, 0x7c)); /* def_cfa_offset_sf -4 * -8 */
	check_cfa(&row, SN_UNWIND_RSP, 32);
	REQUIRE(ROW_AT(0, &row, 0x0d, 3, 0x0e, 0x80, 0x02)); /* register, then a long offset */
	check_cfa(&row, SN_UNWIND_RBX, 256);
	REQUIRE(ROW_AT(0, &row, 0x0f, 3, 0x76, 0x78, 0x06)); /* breg6 -8; deref */
	CHECK_INT(row.cfa.kind, SN_UNWIND_RULE_IS_RESULT);
	CHECK_INT(row.cfa.length, 3);
	CHECK_INT(made.frames[row.cfa.value], 0x76);
	/* An offset alone cannot follow an expression; a register brings the last offset back. */
	CHECK(!ROW_AT(0, &row, 0x0f, 1, 0x30, 0x0e, 8));
	REQUIRE(ROW_AT(0, &row, 0x0e, 56, 0x0f, 1, 0x30, 0x0d, 7));
	check_cfa(&row, SN_UNWIND_RSP, 56);
	CHECK(!ROW_AT(0, &row, 0x0c, 17, 8));
}

TEST(registers_are_saved_in_every_form)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(0, &row, 0x83, 3));
	check_rule(&row, SN_UNWIND_RBX, SN_UNWIND_RULE_AT_CFA, -24);
	REQUIRE(ROW_AT(0, &row, 0x05, 12, 4));
	check_rule(&row, SN_UNWIND_R12, SN_UNWIND_RULE_AT_CFA, -32);
	REQUIRE(ROW_AT(0, &row, 0x11, 13, 0x7f));
	check_rule(&row, SN_UNWIND_R13, SN_UNWIND_RULE_AT_CFA, 8);
	REQUIRE(ROW_AT(0, &row, 0x2f, 13, 2));
	check_rule(&row, SN_UNWIND_R13, SN_UNWIND_RULE_AT_CFA, 16);
	REQUIRE(ROW_AT(0, &row, 0x14, 14, 2));
	check_rule(&row, SN_UNWIND_R14, SN_UNWIND_RULE_IS_CFA, -16);
	REQUIRE(ROW_AT(0, &row, 0x15, 7, 0x7d));
	check_rule(&row, SN_UNWIND_RSP, SN_UNWIND_RULE_IS_CFA, 24);
	REQUIRE(ROW_AT(0, &row, 0x09, 15, 9));
	check_rule(&row, SN_UNWIND_R15, SN_UNWIND_RULE_REGISTER, 9);
	REQUIRE(ROW_AT(0, &row, 0x07, 16));
	check_rule(&row, SN_UNWIND_RIP, SN_UNWIND_RULE_UNDEFINED, 0);
	REQUIRE(ROW_AT(0, &row, 0x08, 16));
	check_rule(&row, SN_UNWIND_RIP, SN_UNWIND_RULE_SAME, 0);
	REQUIRE(ROW_AT(0, &row, 0x10, 6, 2, 0x76, 0));
	CHECK_INT(row.regs[SN_UNWIND_RBP].kind, SN_UNWIND_RULE_AT_RESULT);
	CHECK_INT(row.regs[SN_UNWIND_RBP].length, 2);
	REQUIRE(ROW_AT(0, &row, 0x16, 6, 2, 0x77, 8));
	CHECK_INT(row.regs[SN_UNWIND_RBP].kind, SN_UNWIND_RULE_IS_RESULT);
	/* Vector registers are of no use here, and no error. */
	REQUIRE(ROW_AT(0, &row, 0x91, 3, 0x05, 32, 3, 0x10, 20, 1, 0x30, 0xd1, 0x83, 3));
	check_rule(&row, SN_UNWIND_RBX, SN_UNWIND_RULE_AT_CFA, -24);
}

TEST(rules_are_restored)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(2, &row, 0x07, 16, 0x83, 2, 0x41, 0xd0, 0x06, 3));
	check_rule(&row, SN_UNWIND_RIP, SN_UNWIND_RULE_AT_CFA, -8);
	CHECK_INT(row.regs[SN_UNWIND_RBX].kind, SN_UNWIND_RULE_UNSPECIFIED);
}

TEST(states_are_remembered_with_their_cfa)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(3, &row, 0x0e, 64, 0x83, 2, 0x0a, 0x41, 0x0e, 8, 0xc3, 0x41, 0x0b));
	check_cfa(&row, SN_UNWIND_RSP, 64);
	check_rule(&row, SN_UNWIND_RBX, SN_UNWIND_RULE_AT_CFA, -16);
	CHECK(!ROW_AT(0, &row, 0x0b)); /* nothing was remembered */
	REQUIRE(ROW_AT(0, &row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
	CHECK(!ROW_AT(0, &row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a));
}

TEST(sizes_of_arguments_are_stepped_over)
{
	struct sn_unwind_row row;

	REQUIRE(ROW_AT(0, &row, 0x2e, 0x80, 0x01, 0x0e, 32));
	check_cfa(&row, SN_UNWIND_RSP, 32);
}

TEST(corrupt_programs_are_refused)
{
	struct sn_unwind_row row;

	CHECK(!ROW_AT(0, &row, 0x17));	     /* no such operation */
	CHECK(!ROW_AT(0, &row, 0x2d));	     /* of another processor */
	CHECK(!ROW_AT(0, &row, 0x0f, 0x7f)); /* an expression longer than the record */
	CHECK(!ROW_AT(0, &row, 0x0e, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255));
	CHECK(!ROW_AT(0, &row, 0x83, 255, 255, 255, 255, 15)); /* a distance beyond 2 GB */
}

TEST(a_program_without_end_is_refused)
{
	static uint8_t frames[100000];
	struct sn_unwind_row row;
	struct sn_unwind_fde fde;
	const uint8_t nothing[] = { 0 };

	made_image(&made, false, made_usual, sizeof(made_usual), nothing, 1);
	REQUIRE(sn_unwind_fde_find(&made.module, MADE_START, &fde) == SN_UNWIND_FOUND);
	fde.program = (struct sn_unwind_bytes){ frames, frames + sizeof(frames), false };
	CHECK(!sn_unwind_row_of(&made.module, &fde, MADE_START, &row));
	fde.program.end = frames + 10000;
	CHECK(sn_unwind_row_of(&made.module, &fde, MADE_START, &row));
}
