/*
 * The exported names. A stub says which function it is and jumps to the one function that calls the
 * next library's with the same arguments: six registers and eight words of the stack. No function of MPI has
 * more. Words are passed on whatever they mean, so one stub is right for every library.
 *
 * While nothing is measured, a stub ends in a jump to the function itself.
 */
#include "runtime/mpi/mpi.h"

#define OFFSET(member) ((int)offsetof(struct sn_mpi_call, member))
enum {
	VECTORS_AT =
		320, /* xmm0 to xmm7: MPI_Pcontrol takes any arguments, MPI_Wtime gives a double */
	FRAME_BYTES = VECTORS_AT + 128,
};
_Static_assert(sizeof(struct sn_mpi_call) <= VECTORS_AT && VECTORS_AT % 16 == 0, "fits");
_Static_assert(OFFSET(stack) == 0 && OFFSET(registers) == 64 && OFFSET(frame) == 112 &&
		       OFFSET(result) == 120,
	       "as the code below has it");

/* clang-format off */
#define STUB(index, name)                                                                          \
	".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n"                   \
	"	movl $" #index ", %r11d\n	jmp call\n.size " #name ", .-" #name "\n"
#define STUBS(number, name, ...)                                                                   \
	STUB(2*number, name) STUB(2*number+1, P##name)

__asm__(
".text\n"
".type call, @function\n"
".p2align 4\n"
"call:\n"
"	.cfi_startproc\n"
"	cmpl $0, sn_mpi_is_on(%rip)\n"
"	jne 1f\n"
"	leaq sn_mpi_real(%rip), %r10\n"
"	movq (%r10,%r11,8), %r10\n"
"	testq %r10, %r10\n"
"	je 1f\n"
"	jmp *%r10\n"
"1:	pushq %rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset 6, -16\n"
"	movq %rsp, %rbp\n"
"	.cfi_def_cfa_register 6\n"
"	subq $448, %rsp\n"
"	movq %rdi, 64(%rsp)\n"
"	movq %rsi, 72(%rsp)\n"
"	movq %rdx, 80(%rsp)\n"
"	movq %rcx, 88(%rsp)\n"
"	movq %r8, 96(%rsp)\n"
"	movq %r9, 104(%rsp)\n"
"	movq %rbp, 112(%rsp)\n"
"	movups 16(%rbp), %xmm8\n"
"	movups 32(%rbp), %xmm9\n"
"	movups 48(%rbp), %xmm10\n"
"	movups 64(%rbp), %xmm11\n"
"	movaps %xmm8, (%rsp)\n"
"	movaps %xmm9, 16(%rsp)\n"
"	movaps %xmm10, 32(%rsp)\n"
"	movaps %xmm11, 48(%rsp)\n"
"	movaps %xmm0, 320(%rsp)\n"
"	movaps %xmm1, 336(%rsp)\n"
"	movaps %xmm2, 352(%rsp)\n"
"	movaps %xmm3, 368(%rsp)\n"
"	movaps %xmm4, 384(%rsp)\n"
"	movaps %xmm5, 400(%rsp)\n"
"	movaps %xmm6, 416(%rsp)\n"
"	movaps %xmm7, 432(%rsp)\n"
"	movq %rsp, %rdi\n"
"	movl %r11d, %esi\n"
"	call sn_mpi_enter\n"
"	movq %rax, %r11\n"
"	movq %rdx, %r10\n"
"	movaps 320(%rsp), %xmm0\n"
"	movaps 336(%rsp), %xmm1\n"
"	movaps 352(%rsp), %xmm2\n"
"	movaps 368(%rsp), %xmm3\n"
"	movaps 384(%rsp), %xmm4\n"
"	movaps 400(%rsp), %xmm5\n"
"	movaps 416(%rsp), %xmm6\n"
"	movaps 432(%rsp), %xmm7\n"
"	movq 64(%rsp), %rdi\n"
"	movq 72(%rsp), %rsi\n"
"	movq 80(%rsp), %rdx\n"
"	movq 88(%rsp), %rcx\n"
"	movq 96(%rsp), %r8\n"
"	movq 104(%rsp), %r9\n"
"	movl $8, %eax\n" /* as many vector registers as there may be */
"	testq %r10, %r10\n"
"	je 2f\n"
"	call *%r11\n"
"	movq %rax, 120(%rsp)\n"
"	movaps %xmm0, 320(%rsp)\n"
"	movq %rsp, %rdi\n"
"	call sn_mpi_leave\n"
"	movq 120(%rsp), %rax\n"
"	movaps 320(%rsp), %xmm0\n"
"	leave\n"
"	.cfi_remember_state\n"
"	.cfi_def_cfa 7, 8\n"
"	ret\n"
"	.cfi_restore_state\n"
"2:	leave\n"
"	.cfi_def_cfa 7, 8\n"
"	jmp *%r11\n"
"	.cfi_endproc\n"
".size call, .-call\n"
"	.cfi_startproc\n"
SN_MPI_FUNCTIONS(STUBS)
"	.cfi_endproc\n"
);
/* clang-format on */

_Static_assert(FRAME_BYTES == 448, "as the code above has it");
