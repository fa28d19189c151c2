#include "code/busy_wait.h"

#include "harness/tap.h"

#define WAITS(...)                                                                                 \
	sn_bytes_busy_wait((const uint8_t[]){ __VA_ARGS__ },                                       \
			   sizeof((const uint8_t[]){ __VA_ARGS__ }))

TEST(looking_at_a_flag_is_waiting)
{
	CHECK(WAITS(0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa));	/* mov eax,[rdi]; test; je */
	CHECK(WAITS(0x80, 0x3f, 0x00, 0x74, 0xfb));		/* cmp byte [rdi],0; je */
	CHECK(WAITS(0x8b, 0x07, 0x83, 0xe0, 0x01, 0x74, 0xf9)); /* mov; and eax,1; je */
}

TEST(trying_for_a_lock_is_waiting)
{
	/* mov eax,1; xchg [rdi],eax; test eax,eax; jne */
	CHECK(WAITS(0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf5));
	/* xor eax,eax; lock cmpxchg [rdi],ecx; jne */
	CHECK(WAITS(0x31, 0xc0, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf8));
}

TEST(a_pause_is_waiting_also_with_a_counter)
{
	/* pause; dec ecx; jne */
	CHECK(WAITS(0xf3, 0x90, 0xff, 0xc9, 0x75, 0xfa));
}

TEST(work_is_no_waiting)
{
	CHECK(!WAITS(0x03, 0x07, 0x48, 0x83, 0xc7, 0x04, 0x75,
		     0xf8)); /* add eax,[rdi]; add rdi,4 */
	CHECK(!WAITS(0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8)); /* mov rdi,[rdi]: a list */
	CHECK(!WAITS(0xff, 0x07, 0xeb, 0xfc));			       /* inc dword [rdi] */
	CHECK(!WAITS(0xff, 0xc9, 0x75, 0xfc));			       /* dec ecx: no memory */
	CHECK(!WAITS(0x8b, 0x07, 0x89, 0x06, 0x85, 0xc0, 0x75, 0xf8)); /* stores what it sees */
	/* cmp byte [rdi],0; je over; call f: somebody else's work */
	CHECK(!WAITS(0x80, 0x3f, 0x00, 0xe8, 0, 0, 0, 0, 0x74, 0xf6));
	CHECK(!WAITS(0x06)); /* no instruction in long mode */
}
