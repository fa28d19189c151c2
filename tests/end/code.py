"""Code as it is met in the wild: stacks made by hand, code mapped twice, symbols without a size, kernels
without call-frame information."""
import json
import os
import subprocess

from sonde_test import Test

t = Test()
WORK = '''
__attribute__((noinline)) unsigned long work(unsigned long n)
{
	unsigned long s = 1;

	for (unsigned long i = 0; i < n; i++)
		s = s * 31 + (i ^ s >> 7);
	return s;
}
'''


def notes(experiment):
    return ' '.join(w if isinstance(w, str) else json.dumps(w) for w in t.show('summary', experiment=experiment)['warnings'])


# ---- a stack that ends in its first function is whole: here one as Go makes them ----
GOROUTINE = WORK + r'''
#include <stdio.h>
#include <stdlib.h>
unsigned long result;
static void *back[2];
/* what a goroutine "returns" to: the planted address is the byte after the first, behind no call */
__asm__(".globl goexit\n.type goexit, @function\ngoexit:\n nop\n ud2\n.size goexit, . - goexit\n");
extern char goexit[];

__attribute__((noinline)) void middle(void)
{
	result += work(120000000);
	__asm__ volatile("");
}

void first(void)
{
	for (int i = 0; i < 4; i++)
		middle();
	__builtin_longjmp(back, 1);
}

int main(void)
{
	char *stack = aligned_alloc(4096, 1 << 18), *top = stack + (1 << 18) - 8;

	*(char **)(top - 8) = goexit + 1;
	if (!__builtin_setjmp(back))
		__asm__ volatile("mov %0, %%rsp\n xor %%ebp, %%ebp\n jmp first" : : "r"(top - 8) : "memory");
	printf("%lu\n", result);
	return 0;
}
'''
app = t.compile(GOROUTINE, '-O1', '-fno-omit-frame-pointer', '-fno-asynchronous-unwind-tables',
                '-fno-optimize-sibling-calls', output='./goroutine')
done = t.run('record', '-o', 'goroutine.x', app)
t.check(done.returncode == 0 and done.stdout.strip().isdigit(), 'a stack made by hand: the program runs', done)
rows = t.show('samples', '--all', experiment='goroutine.x')['rows']
on_it = [r for r in rows if r['function'] == 'work']
t.check(len(on_it) > 20 and all(r['complete'] for r in on_it), 'its stacks end in their first function: they are whole',
        [r for r in on_it if not r['complete']][:3], len(on_it))
tree = t.show('tree', '--all', experiment='goroutine.x')['rows']
names = [r['name'] for r in tree if r['kind'] == 'function' and r['inclusive_share'] > .5]
t.equal(names, ['first', 'middle', 'work'], 'all its callers are there')
t.check('cut off' not in notes('goroutine.x'), 'and nobody says that they are cut off', notes('goroutine.x'))

# ---- options of C's compilers are no advice for other languages ----
LOOP = 'double f(const double *a, long n) { double s = 0; for (long i = 0; i < n; i++) s += a[i]; return s; }\n'
open('loop.c', 'w').write(LOOP)
for producer in (None, 'Go cmd/compile go1.19.8; regabi', 'clang LLVM (rustc version 1.63.0)'):
    subprocess.run(['gcc', '-O2', '-g', '-fno-tree-vectorize', '-S', 'loop.c', '-o', 'loop.s'], check=True)
    text = open('loop.s').read()
    if producer:
        at = text.index('"GNU C')
        text = text[:at] + f'"{producer}"' + text[text.index('\n', at):]
    open('loop.s', 'w').write(text)
    subprocess.run(['gcc', '-c', 'loop.s', '-o', 'loop.o'], check=True)
    page = t.run('cqa', 'loop.o', '--arch', 'zen5', '--loop', 'loop.c:1', '--format', 'json')
    advice = json.loads(page.stdout)['details'][0]['advice']
    said = ' '.join(a['sentence'] for a in advice)
    has_options = any(word in said for word in ('-ffast-math', '-march', '-O3', '#pragma', 'restrict'))
    t.equal(has_options, producer is None, f'{producer or "C"}: options of C are named to C alone')
    t.check(any(a['subject'] == 'vectorize' and a['sentence'].endswith('.') for a in advice), f'{producer or "C"}: the advice itself stands', said)

# ---- a symbol without a size ends where its own code does; what follows is another function's ----
ASM = r"""
	.text
	.p2align 4
	.globl kernel
kernel:				/* no type, no size: as assemblers other than gcc's write it */
	test %esi, %esi
	jz 3f
	jmp 2f
	.p2align 4
1:	imul $31, %rdi, %rdi
	xor %rsi, %rdi
2:	dec %rsi
	jnz 1b
	jmp 4f
	.quad 0x0606060606060606	/* a hole: no instructions */
3:	mov $1, %edi
4:	mov %rdi, %rax
	ret
	.p2align 4
hidden:				/* stripped below: code behind kernel that nothing names */
5:	imul $17, %rdi, %rdi
	dec %rsi
	jnz 5b
	mov %rdi, %rax
	ret
	.p2align 4
second:
	push %rbx
	mov %rdi, %rbx
6:	imul $7, %rbx, %rbx
	dec %rsi
	jnz 6b
	mov %rbx, %rax
	pop %rbx
	jmp hidden
	.p2align 4
	.globl sized
	.type sized, @function
sized:
7:	dec %rdi
	jnz 7b
	ret
	.size sized, . - sized
"""
open('kernel.s', 'w').write(ASM)
subprocess.run(['gcc', '-shared', '-nostdlib', '-s', '-o', 'libkernel.so', 'kernel.s'], check=True)
done = t.run('structure', './libkernel.so', '--format', 'json')
loops = [(r['function'], r['loop'].rsplit(':', 1)[1]) for r in json.loads(done.stdout)['rows']]
names = [name for name, _ in loops]
t.check(len(names) == 4 and names[0] == 'kernel' and names[3] == 'sized', 'a loop each', loops)
t.check(all(n.startswith('<code at 0x') and n.endswith(', after kernel>') for n in names[1:3]) and names[1] != names[2],
        'what nothing names is cut at its entries and marked', loops)

# ---- kernels that nothing describes: their callers are found by following their code to its return ----
KERNELS = r"""
	.text
	.globl plain, pushed, aligned, kept, last
	.type plain, @function
plain:	/* a leaf without a frame, the end of its loop is a jump */
1:	test %rdi, %rdi
	je 2f
	imul $31, %rax, %rax
	dec %rdi
	jmp 1b
2:	ret
	.size plain, . - plain
	.type pushed, @function
pushed:	/* rbp is no frame pointer */
	push %rbp
	push %r12
	sub $24, %rsp
	mov %rdi, %rbp
	mov %rbp, 8(%rsp)
1:	imul $31, %r12, %r12
	dec %rbp
	jnz 1b
	add $24, %rsp
	pop %r12
	pop %rbp
	ret
	.size pushed, . - pushed
	.type aligned, @function
aligned:	/* the caller's stack pointer is kept in the frame, as assemblers of codecs do */
	push %rbx
	mov %rsp, %rax
	sub $64, %rsp
	and $-64, %rsp
	mov %rax, 32(%rsp)
	xor %eax, %eax
	mov %rdi, %rbx
1:	imul $31, %rax, %rax
	dec %rbx
	jnz 1b
	mov 32(%rsp), %rsp
	pop %rbx
	ret
	.size aligned, . - aligned
	.type kept, @function
kept:	/* two kernels with a convention of their own: rcx survives the call */
	mov %rsp, %rcx
	sub $64, %rsp
	and $-64, %rsp
	call inner
	mov %rcx, %rsp
	ret
inner:
1:	dec %rdi
	jnz 1b
	ret
	.size kept, . - kept
	.type last, @function
last:	/* what it calls last returns for it */
	push %rbx
	mov %rdi, %rbx
1:	dec %rbx
	jnz 1b
	mov %rdi, %rax
	pop %rbx
	lea plain(%rip), %rcx
	jmp *%rcx
	.size last, . - last
	.section .note.GNU-stack, "", @progbits
"""
open('kernels.s', 'w').write(KERNELS)
CALLERS = ''.join(f'long {k}(long n); __attribute__((noinline)) long by_{k}(long n) {{ volatile long s = n; return {k}(n) + s; }}\n'
                  for k in ('plain', 'pushed', 'aligned', 'kept', 'last'))
open('callers.c', 'w').write(CALLERS + '#include <stdio.h>\nint main(void) { const long n = 150000000; '
                             'printf("%d\\n", (by_plain(n) ^ by_pushed(n) ^ by_aligned(n) ^ by_kept(n) ^ by_last(n)) != 1); return 0; }\n')
subprocess.run(['gcc', '-O2', '-fomit-frame-pointer', 'callers.c', 'kernels.s', '-o', 'kernels'], check=True)
t.run('record', '-o', 'kernels.x', './kernels')
calls = {}
for kernel in ('plain', 'pushed', 'aligned', 'kept', 'last'):
    rows = t.show('samples', '--all', '--function', f'^{kernel}$', experiment='kernels.x')['rows']
    rows = [r for r in rows if r['function'] == kernel]
    calls[kernel] = (len(rows), sum(r['complete'] and r['scanned'] for r in rows))
    t.check(len(rows) > 5 and calls[kernel][0] == calls[kernel][1], f'{kernel}: every stack is whole, and marked as read from code', calls)
tree = t.show('tree', '--all', experiment='kernels.x')['rows']
above = {r['node']: r for r in tree}
for kernel in ('plain', 'pushed', 'aligned', 'kept', 'last'):
    callers = {above[r['parent']]['name'] for r in tree if r['name'] == kernel and r['inclusive_share'] > .02 and r['parent']}
    t.check(callers <= {f'by_{kernel}', 'by_last', 'kept'} and f'by_{kernel}' in callers, f'{kernel}: its caller is by_{kernel}', callers)

# ---- code that the program maps itself: a second copy of a file's, and code without a file ----
open('twice.c', 'w').write(WORK + '__attribute__((visibility("default"))) unsigned long twice(unsigned long n) { return work(n); }\n')
subprocess.run(['gcc', '-O1', '-shared', '-fPIC', '-fvisibility=hidden', '-o', 'libtwice.so', 'twice.c'], check=True)
MAPPER = r"""
#define _GNU_SOURCE
#include <elf.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char count_down[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };

int main(int argc, char **argv)
{
	int file = open("./libtwice.so", O_RDONLY);
	void *library = dlopen("./libtwice.so", RTLD_NOW);
	char *there = dlsym(library, "twice");
	unsigned char head[4096];
	Elf64_Ehdr *elf = (void *)head;
	Elf64_Phdr *phdr = (void *)(head + 64);
	Dl_info info;
	char *code, *made;
	unsigned long offset;

	if (read(file, head, sizeof head) < 512 || !dladdr(there, &info))
		return 1;
	offset = (unsigned long)(there - (char *)info.dli_fbase); /* the link address */
	for (int i = 0; i < elf->e_phnum; i++, phdr++)
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X)
			break;
	code = mmap(NULL, phdr->p_filesz, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)phdr->p_offset);
	close(file);
	printf("%lu\n", ((unsigned long (*)(unsigned long))(code + offset - phdr->p_vaddr))(200000000));
	made = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made, count_down, sizeof count_down);
	((void (*)(unsigned long))(void *)made)(400000000);
	if (argc > 1) {
		char path[64];
		FILE *list;
		snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
		list = fopen(path, "w");
		fprintf(list, "%lx 10 listed\n", (unsigned long)made);
		fclose(list);
		memcpy(made + 4096, count_down, sizeof count_down);
		((void (*)(unsigned long))(void *)(made + 4096))(400000000);
		puts(path);
	}
	return 0;
}
"""
app = t.compile(MAPPER, '-O1', output='./mapper')
t.run('record', '-o', 'mapper.x', app)
rows = {}
for r in t.show('functions', '--all', experiment='mapper.x')['rows']:
    rows[r['function'], r['module']] = rows.get((r['function'], r['module']), 0) + r['exclusive_share']
named = sum(share for (function, module), share in rows.items() if module == 'libtwice.so' and function != '[libtwice.so]')
t.check(named > .2 and rows.get(('[jit]', '[jit]'), 0) > .2 and ('[unknown]', '[unknown]') not in rows,
        'a second copy of a file has its names, code without a file is generated code', rows)
t.check('perf-PID.map' in notes('mapper.x'), 'and what would name it is said', notes('mapper.x'))
done = t.run('record', '-o', 'listed.x', app, '1')
said = notes('listed.x')
t.check('no list of names' in said and 'perf-PID.map' in said, 'a part that the list does not have is told', said)
os.unlink(done.stdout.split()[-1])

t.done()
