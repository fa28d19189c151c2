/*
 * What LLVM's compiler calls to open a region. OMPT tells where that call returns to, which is somewhere else
 * if it was its function's last; the body's code tells which region it is. The stub notes it, and jumps to
 * the library's function with all its arguments.
 */
/* clang-format off */
#define STUB(which, name)                                                                          \
	".globl " #name "\n.type " #name ", @function\n.p2align 4\n" #name ":\n"                   \
	"	movl $" #which ", %r11d\n	jmp open_region_stub\n.size " #name ", .-" #name "\n"

__asm__(
".text\n"
".type open_region_stub, @function\n"
".p2align 4\n"
"open_region_stub:\n"
"	.cfi_startproc\n"
"	pushq %rbp\n"
"	.cfi_def_cfa_offset 16\n"
"	.cfi_offset 6, -16\n"
"	movq %rsp, %rbp\n"
"	.cfi_def_cfa_register 6\n"
"	subq $192, %rsp\n"
"	movq %rax, (%rsp)\n"
"	movq %rdi, 8(%rsp)\n"
"	movq %rsi, 16(%rsp)\n"
"	movq %rdx, 24(%rsp)\n"
"	movq %rcx, 32(%rsp)\n"
"	movq %r8, 40(%rsp)\n"
"	movq %r9, 48(%rsp)\n"
"	movaps %xmm0, 64(%rsp)\n"
"	movaps %xmm1, 80(%rsp)\n"
"	movaps %xmm2, 96(%rsp)\n"
"	movaps %xmm3, 112(%rsp)\n"
"	movaps %xmm4, 128(%rsp)\n"
"	movaps %xmm5, 144(%rsp)\n"
"	movaps %xmm6, 160(%rsp)\n"
"	movaps %xmm7, 176(%rsp)\n"
"	movq %rdx, %rdi\n"
"	movl %r11d, %esi\n"
"	call sn_kmpc_opens\n"
"	movq %rax, %r11\n"
"	movaps 64(%rsp), %xmm0\n"
"	movaps 80(%rsp), %xmm1\n"
"	movaps 96(%rsp), %xmm2\n"
"	movaps 112(%rsp), %xmm3\n"
"	movaps 128(%rsp), %xmm4\n"
"	movaps 144(%rsp), %xmm5\n"
"	movaps 160(%rsp), %xmm6\n"
"	movaps 176(%rsp), %xmm7\n"
"	movq (%rsp), %rax\n"
"	movq 8(%rsp), %rdi\n"
"	movq 16(%rsp), %rsi\n"
"	movq 24(%rsp), %rdx\n"
"	movq 32(%rsp), %rcx\n"
"	movq 40(%rsp), %r8\n"
"	movq 48(%rsp), %r9\n"
"	leave\n"
"	.cfi_def_cfa 7, 8\n"
"	testq %r11, %r11\n"
"	je 1f\n"
"	jmp *%r11\n"
"1:	ret\n"
"	.cfi_endproc\n"
".size open_region_stub, .-open_region_stub\n"
STUB(0, __kmpc_fork_call)
STUB(1, __kmpc_fork_call_if)
);
