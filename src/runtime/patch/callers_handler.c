/*
 * By which call path an instance began. The copy has the loop's vector registers in use, so they are kept
 * while the stack is looked at; what is called here may use them.
 */
#include "runtime/patch/patch.h"

#include "runtime/core/pages.h"
#include "runtime/core/trace.h"

/* sn_patch_begin_by_path: as SN_PLAN_CALL_BEGIN, with the registers that functions keep as the loop has them.
 * sn_caller_path: in rdi a context, in rsi the registers; gives the path. */
__asm__(".pushsection .text\n"
	".globl sn_patch_begin_by_path, sn_caller_path\n"
	".hidden sn_patch_begin_by_path, sn_caller_path\n"
	".type sn_patch_begin_by_path, @function\n"
	"sn_patch_begin_by_path:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %r15\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %r14\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %r13\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rdx, %rcx\n"
	"	mov %rsp, %rdx\n"
	"	call sn_patch_begin_from\n"
	"	add $48, %rsp\n"
	"	.cfi_adjust_cfa_offset -48\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sn_patch_begin_by_path, . - sn_patch_begin_by_path\n"
	".type sn_caller_path, @function\n"
	"sn_caller_path:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	push %rbx\n"
	"	.cfi_offset rbx, -24\n"
	"	push %r12\n"
	"	.cfi_offset r12, -32\n"
	"	mov %rdi, %rbx\n"
	"	mov 0(%rbx), %eax\n"
	"	mov 4(%rbx), %edx\n"
	"	xsave64 64(%rbx)\n"
	"	and $-64, %rsp\n"
	"	call caller_path_outside\n"
	"	mov %eax, %r12d\n"
	"	mov 0(%rbx), %eax\n"
	"	mov 4(%rbx), %edx\n"
	"	xrstor64 64(%rbx)\n"
	"	mov %r12d, %eax\n"
	"	lea -16(%rbp), %rsp\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sn_caller_path, . - sn_caller_path\n"
	".popsection\n");

/* Named by the assembly above. */
static __attribute__((used, noinline)) uint32_t
caller_path_outside(struct sn_caller_context *context, const struct sn_caller_registers *at)
{
	struct sn_unwind_regs regs = { 0 };

	regs.value[SN_UNWIND_RIP] = at->pc;
	regs.value[SN_UNWIND_RSP] = at->stack_pointer;
	regs.value[SN_UNWIND_RBX] = at->kept[0];
	regs.value[SN_UNWIND_RBP] = at->kept[1];
	regs.value[SN_UNWIND_R12] = at->kept[2];
	regs.value[SN_UNWIND_R13] = at->kept[3];
	regs.value[SN_UNWIND_R14] = at->kept[4];
	regs.value[SN_UNWIND_R15] = at->kept[5];
	regs.valid = SN_UNWIND_ALL_VALID;
	return sn_path_take_at(sn_self, &context->paths, &regs);
}
