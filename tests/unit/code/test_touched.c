/* Which addresses the code around a sample uses, by the sample's registers. */
#include "code/touched.h"

#include "assembled.h"

ASSEMBLED("touched_triad", "xor %eax, %eax\n"
			   "1: movsd (%rsi,%rax), %xmm0\n" /* 5 bytes each */
			   "addsd 8(%rdx,%rax), %xmm0\n"
			   "movsd %xmm0, (%rdi,%rax)\n"
			   "add $8, %rax\n"
			   "sub $1, %ecx\n"
			   "jne 1b\n"
			   "ret");
ASSEMBLED("touched_chase", "1: mov (%rdi), %rdi\n"
			   "dec %rsi\n"
			   "jne 1b\n"
			   "ret");
/* a stack slot, a constant place, thread-local data, what a load gives, a vector of indices */
ASSEMBLED("touched_others", "1: mov 8(%rsp), %r8\n"
			    "add touched_place(%rip), %r8\n"
			    "mov %fs:16, %r9\n"
			    "lea 64(%r8), %r10\n"
			    "mov (%rdi), %r11\n"
			    "mov (%r11), %r11\n"
			    "vpgatherdd %ymm2, (%rdi,%ymm1,4), %ymm0\n"
			    "test %r9, %r9\n"
			    "je 2f\n"
			    "add $4, %rdi\n" /* not in each pass */
			    "2: lea -3(%rbx), %rbx\n"
			    "test %rbx, %rbx\n"
			    "jne 1b\n"
			    "ret\n"
			    "touched_place: .quad 0");

static struct sn_touching *loop_of(const char *name, struct assembled *a)
{
	*a = assembled_open(name);
	REQUIRE(a->function->loop_count == 1);
	return sn_touching_new(a->structure, a->function, &a->function->loops[0]);
}

TEST(operands_behind_and_before_a_sample_are_known)
{
	const uint64_t registers[16] = {
		[0] = 80, [2] = 0x20000, [4] = 0x7ff0000000, [6] = 0x10000, [7] = 0x30000
	};
	struct sn_touched touched[16];
	struct assembled a;
	struct sn_touching *code = loop_of("touched_triad", &a);
	uint64_t header = a.function->loops[0].header_link_addr;
	uint32_t hidden, met[3] = { 0 };

	CHECK_INT(sn_touching_operands(code, &hidden), 3);
	CHECK_INT(hidden, 0);
	REQUIRE(sn_touched_find(code, header, registers, touched, 16, met) == 3);
	CHECK_INT(touched[0].address, 0x10000 + 80);
	CHECK_INT(touched[1].address, 0x20000 + 88);
	CHECK_INT(touched[2].address, 0x30000 + 80);
	CHECK(met[0] == 1 && met[1] == 1 && met[2] == 1);
	/* before the addition: the store is still to come, both loads have just been */
	REQUIRE(sn_touched_find(code, header + 11, registers, touched, 16, NULL) == 3);
	CHECK_INT(touched[0].operand, 2);
	CHECK_INT(touched[1].operand, 1);
	CHECK_INT(touched[2].operand, 0);
	/* at the jump the counter has moved, and so have all addresses */
	CHECK_INT(sn_touched_find(code, header, registers, touched, 2, NULL), 2);
	CHECK_INT(sn_touched_find(code, header + 1, registers, touched, 16, NULL), 0);
	sn_touching_free(code);
	assembled_close(&a);
}

TEST(a_loop_on_the_stack_is_left_out)
{
	const uint64_t registers[16] = {
		[2] = 0x20000, [4] = 0x7ff0000000, [6] = 0x7ff0000100, [7] = 0x7ff0001000
	};
	struct sn_touched touched[16];
	struct assembled a;
	struct sn_touching *code = loop_of("touched_triad", &a);

	REQUIRE(sn_touched_find(code, a.function->loops[0].header_link_addr, registers, touched, 16,
				NULL) == 1);
	CHECK_INT(touched[0].operand, 1);
	sn_touching_free(code);
	assembled_close(&a);
}

TEST(counters_move_by_their_step)
{
	struct sn_counter counters[16];
	struct assembled a;
	struct sn_touching *code = loop_of("touched_triad", &a);

	REQUIRE(sn_touching_counters(code, counters) == 2);
	CHECK(counters[0].number == 0 && counters[0].step == 8);
	CHECK(counters[1].number == 1 && counters[1].step == -1);
	CHECK_INT(sn_touching_jumps(code), 0);
	sn_touching_free(code);
	assembled_close(&a);
	code = loop_of("touched_chase", &a);
	REQUIRE(sn_touching_counters(code, counters) == 1);
	CHECK(counters[0].number == 6 && counters[0].step == -1);
	sn_touching_free(code);
	assembled_close(&a);
}

TEST(what_cannot_be_known_is_counted_or_left_out)
{
	const uint64_t registers[16] = { [4] = 0x7ff0000000, [7] = 0x40000 };
	struct sn_counter counters[16];
	struct sn_touched touched[16];
	struct assembled a;
	struct sn_touching *code = loop_of("touched_others", &a);
	uint32_t hidden, met[2] = { 0 };

	CHECK_INT(sn_touching_operands(code, &hidden), 2);
	CHECK_INT(hidden, 1);
	REQUIRE(sn_touched_find(code, a.function->loops[0].header_link_addr, registers, touched, 16,
				met) == 1);
	CHECK_INT(touched[0].address, 0x40000);
	CHECK(met[0] == 1 && met[1] == 1);
	REQUIRE(sn_touching_counters(code, counters) == 1);
	CHECK(counters[0].number == 3 && counters[0].step == -3);
	CHECK_INT(sn_touching_jumps(code), 1);
	CHECK(!sn_touching_calls(code));
	sn_touching_free(code);
	assembled_close(&a);
}
