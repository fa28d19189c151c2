/*
 * Runs a variant in a loop's place: all registers are kept, the variant has them as the loop has, and
 * whatever it leaves in them is forgotten. It may end by a fault, at any instruction, and where the loop calls a function.
 *
 * The variant has the loop's own stack pointer. So what the stub has saved below the red zone may be
 * written over by the frame of a signal, and is kept in the context, too.
 */
#include "runtime/patch/patch.h"

/* In: rcx code, rdx the loop's stack pointer, below whose red zone lie its rax, rcx, rdx. Out: rax, rcx, rdx
 * and flags are lost. */
__asm__(".pushsection .text\n"
	".globl sn_variant_run, sn_variant_exit, sn_variant_at_call, sn_variant_abort\n"
	".hidden sn_variant_run, sn_variant_exit, sn_variant_at_call, sn_variant_abort\n"
	".type sn_variant_run, @function\n"
	"sn_variant_run:\n"
	"	endbr64\n"
	"	mov sn_patch_words@gottpoff(%rip), %rax\n"
	"	mov %fs:8(%rax), %rax\n"
	"	mov %rbx, 24(%rax)\n"
	"	mov %rbp, 40(%rax)\n"
	"	mov %rsi, 48(%rax)\n"
	"	mov %rdi, 56(%rax)\n"
	"	mov %r8, 64(%rax)\n"
	"	mov %r9, 72(%rax)\n"
	"	mov %r10, 80(%rax)\n"
	"	mov %r11, 88(%rax)\n"
	"	mov %r12, 96(%rax)\n"
	"	mov %r13, 104(%rax)\n"
	"	mov %r14, 112(%rax)\n"
	"	mov %r15, 120(%rax)\n"
	"	mov %rdx, 128(%rax)\n"
	"	mov %rsp, 136(%rax)\n"
	"	mov %rcx, 144(%rax)\n"
	"	mov %rax, %rbx\n"
	"	.irp at, 0, 8, 16, 24, 32, 40, 48, 56\n"
	"	mov -192+\\at(%rdx), %rcx\n"
	"	mov %rcx, 200+\\at(%rbx)\n"
	"	.endr\n"
	"	mov 152(%rbx), %eax\n"
	"	mov 156(%rbx), %edx\n"
	"	xsave64 1024(%rbx)\n"
	/* no exception of floating-point arithmetic */
	"	stmxcsr 192(%rbx)\n"
	"	orl $0x1f80, 192(%rbx)\n"
	"	andl $~0x3f, 192(%rbx)\n"
	"	ldmxcsr 192(%rbx)\n"
	"	mov 128(%rbx), %rdx\n"
	"	mov -136(%rdx), %rax\n"
	"	mov sn_patch_words@gottpoff(%rip), %rcx\n"
	"	mov %rax, %fs:24(%rcx)\n"
	/* the CPU's number is the limit of a segment of the kernel's; a virtual machine may lack rdtscp and rdpid */
	"	mov $0x7b, %ecx\n"
	"	lsl %ecx, %ecx\n"
	"	mov %ecx, 176(%rbx)\n"
	"	lfence\n"
	"	rdtsc\n"
	"	lfence\n"
	"	mov %eax, 160(%rbx)\n"
	"	mov %edx, 164(%rbx)\n"
	"	mov 144(%rbx), %rax\n"
	"	mov 128(%rbx), %rdx\n"
	"	mov %rdx, %rsp\n"
	"	mov -144(%rdx), %rcx\n"
	"	mov -152(%rdx), %rdx\n"
	"	mov 24(%rbx), %rbx\n"
	"	jmp *%rax\n"
	"sn_variant_at_call:\n"
	"	mov sn_patch_words@gottpoff(%rip), %rbx\n"
	"	mov %fs:8(%rbx), %rbx\n"
	"	movq $1, 264(%rbx)\n"
	"sn_variant_exit:\n"
	"	lfence\n"
	"	rdtsc\n"
	"	lfence\n"
	"	mov sn_patch_words@gottpoff(%rip), %rbx\n"
	"	mov %fs:8(%rbx), %rbx\n"
	"	mov %eax, 168(%rbx)\n"
	"	mov %edx, 172(%rbx)\n"
	"	mov $0x7b, %ecx\n"
	"	lsl %ecx, %ecx\n"
	"	mov %ecx, 184(%rbx)\n"
	"sn_variant_abort:\n"
	"	mov sn_patch_words@gottpoff(%rip), %rbx\n"
	"	mov %fs:8(%rbx), %rbx\n"
	"	mov 136(%rbx), %rsp\n"
	"	mov 128(%rbx), %rdx\n"
	"	.irp at, 0, 8, 16, 24, 32, 40, 48, 56\n"
	"	mov 200+\\at(%rbx), %rcx\n"
	"	mov %rcx, -192+\\at(%rdx)\n"
	"	.endr\n"
	"	mov 152(%rbx), %eax\n"
	"	mov 156(%rbx), %edx\n"
	"	xrstor64 1024(%rbx)\n"
	"	mov 40(%rbx), %rbp\n"
	"	mov 48(%rbx), %rsi\n"
	"	mov 56(%rbx), %rdi\n"
	"	mov 64(%rbx), %r8\n"
	"	mov 72(%rbx), %r9\n"
	"	mov 80(%rbx), %r10\n"
	"	mov 88(%rbx), %r11\n"
	"	mov 96(%rbx), %r12\n"
	"	mov 104(%rbx), %r13\n"
	"	mov 112(%rbx), %r14\n"
	"	mov 120(%rbx), %r15\n"
	"	mov 24(%rbx), %rbx\n"
	"	ret\n"
	"	.size sn_variant_run, . - sn_variant_run\n"
	/* what variants begin and end with, and nothing between */
	".type variant_null, @function\n"
	"variant_null:\n"
	"	mov sn_patch_words@gottpoff(%rip), %rax\n"
	"	mov %fs:24(%rax), %rax\n"
	"	jmp sn_variant_exit\n"
	"	.size variant_null, . - variant_null\n"
	/* as a stub calls it: below a red zone, with rax, rcx, rdx there */
	".type run_null, @function\n"
	"run_null:\n"
	"	mov %rsp, %rdx\n"
	"	lea -128(%rsp), %rsp\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	lea variant_null(%rip), %rcx\n"
	"	call sn_variant_run\n"
	"	add $152, %rsp\n"
	"	ret\n"
	"	.size run_null, . - run_null\n"
	".popsection\n");

extern void run_null(void) __attribute__((visibility("hidden")));

uint64_t sn_variant_run_null(struct sn_variant_context *context)
{
	uint64_t cycles;

	sn_patch_words.context = context;
	__asm__ volatile("sub $128, %%rsp\n\tcall run_null\n\tadd $128, %%rsp" ::
				 : "rax", "rcx", "rdx", "memory", "cc");
	cycles = context->end_tsc - context->begin_tsc;
	sn_patch_words.context = NULL;
	return cycles;
}
