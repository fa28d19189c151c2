# Control flow by hand; tests/end/structure.py says what must be found.
	.text
	.globl self_loop, nested, two_latches, irreducible, overlapping, table_in_text, stops, scattered, unbounded

	.type self_loop, @function
self_loop:
	endbr64
	mov %edi, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size self_loop, . - self_loop

	.type nested, @function
nested:
	xor %eax, %eax
1:	xor %ecx, %ecx
2:	xor %edx, %edx
3:	inc %edx
	cmp %edi, %edx
	jb 3b
	inc %ecx
	cmp %edi, %ecx
	jb 2b
	inc %eax
	cmp %edi, %eax
	jb 1b
	ret
	.size nested, . - nested

# one header, two jumps back: one loop
	.type two_latches, @function
two_latches:
	xor %eax, %eax
1:	inc %eax
	test $1, %al
	jz 1b
	cmp %edi, %eax
	jb 1b
	ret
	.size two_latches, . - two_latches

# entered at its head and in its middle
	.type irreducible, @function
irreducible:
	test %edi, %edi
	js 2f
1:	dec %edi
	nop
2:	dec %edi
	jnz 1b
	ret
	.size irreducible, . - irreducible

# a jump over a prefix: two decodings of the same bytes
	.type overlapping, @function
overlapping:
	mov %edi, %ecx
1:	cmpl $0, (%rsi)
	je 2f + 1
2:	lock decl (%rsi)
	dec %ecx
	jnz 1b
	ret
	.size overlapping, . - overlapping

# the table stands in the middle of the code; the loop goes through all cases
	.type table_in_text, @function
table_in_text:
	xor %eax, %eax
1:	movzbl (%rdi), %ecx
	inc %rdi
	cmp $3, %ecx
	ja 9f
	lea 5f(%rip), %rdx
	movslq (%rdx,%rcx,4), %rcx
	add %rdx, %rcx
	notrack jmp *%rcx
	.p2align 2
5:	.long 6f - 5b, 7f - 5b, 8f - 5b, 6f - 5b
6:	add $1, %eax
	jmp 1b
7:	add $10, %eax
	jmp 1b
8:	add $100, %eax
	jmp 1b
9:	ret
	.size table_in_text, . - table_in_text

# what looks like a way back to the loop is behind a call that does not come back
	.type stops, @function
stops:
	sub $8, %rsp
1:	dec %edi
	jz 2f
	add $8, %rsp
	ret
2:	call dies
	jmp 1b
	.size stops, . - stops

	.type dies, @function
dies:
	mov $60, %eax
	syscall
	ud2
	.size dies, . - dies

# part of the loop is in a cold section
	.type scattered, @function
scattered:
	mov %edi, %ecx
1:	cmpl $0, (%rsi)
	jz 2f
3:	dec %ecx
	jnz 1b
	ret
	.size scattered, . - scattered
	.section .text.unlikely, "ax", @progbits
	.type scattered.cold, @function
scattered.cold:
2:	incl (%rsi)
	jmp 3b
	.size scattered.cold, . - scattered.cold
	.text

# a computed goto whose index nobody compares with anything
	.type unbounded, @function
unbounded:
	mov (%rdi), %eax
	jmp *dispatch(,%rax,8)
op_add:	add $1, %edx
	add $4, %rdi
	mov (%rdi), %eax
	jmp *dispatch(,%rax,8)
op_sub:	sub $1, %edx
	add $4, %rdi
	mov (%rdi), %eax
	jmp *dispatch(,%rax,8)
op_end:	mov %edx, %eax
	ret
	.size unbounded, . - unbounded

	.section .rodata
	.p2align 3
	.type dispatch, @object
dispatch: .quad op_add, op_sub, op_end
	.size dispatch, . - dispatch
	.quad self_loop

	.text
	.globl main
	.type main, @function
main:
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
