"""sonde search --phase at any line of a program: it is a phase, or one sentence says why not and which line is one."""
import json
import os
import re
import shutil
import subprocess

from sonde_test import Test

# at -O2 round_of() is inlined into main, so is its loop; once() and what is before the loop are passed once
SOURCE = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define N 100000
static double a[N];
static double once(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += i * 1e-9;
	return s;
}
double round_of(double *x, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) /* the inner loop */
		s += x[i] * 1.0000001 + s * 1e-12;
	return s;
}
int main(int argc, char **argv)
{
	double s = once(100);
	int rounds = argc > 1 ? atoi(argv[1]) : 1500;
	if (argc > 2)
		abort();
	memset(a, 1, sizeof a);
	for (int t = 0; t < rounds; t++) { /* the loop */
		s += round_of(a, N);
		usleep(4000); /* a breakpoint follows what is passed 400 times a second */
		if (s < 0)
			s *= 2;
	}
	printf("%g\n", s);
	return 0;
}
'''
# the same small function in more copies than can be watched, in one executable line each
COPIES = ('#include <stdio.h>\n#include <unistd.h>\ndouble a[64];\n' +
          'static inline __attribute__((always_inline)) double many(int n)\n{\n\tdouble s = 0;\n\tfor (int i = 0; i < n; i++)\n'
          '\t\ts += a[i & 63] + s;\n\treturn s;\n}\n' +
          ''.join(f'double __attribute__((noinline)) f{i}(int n) {{ return many(n + {i}); }}\n' for i in range(6)) +
          'int main(void)\n{\n\tdouble s = 0;\n\tfor (int t = 0; t < 200; t++) {\n\t\tusleep(4000);\n\t\ts += ' +
          ' + '.join(f'f{i}(2000)' for i in range(6)) + ';\n\t}\n\tprintf("%g\\n", s);\n\treturn 0;\n}\n')
# what is cold lies before all other code of the function
COLD = r'''
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile double sink;
static double __attribute__((noinline)) burn(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += i / (1 + s);
	return s;
}
static inline void step(int failed)
{
	sink += burn(20000); /* in both copies */
	usleep(4000);
	if (failed)
		exit(3);
}
static void __attribute__((cold, noinline)) fail(void)
{
	step(1);
}
int main(int argc, char **argv)
{
	for (int t = 0; t < 800; t++) {
		if (__builtin_expect(argc > 9, 0))
			fail();
		step(0);
	}
	(void)argv;
	printf("%g\n", sink);
	return 0;
}
'''
# step() begins with a branch where it is inlined; a round sleeps 8 ms in either one, so load hardly matters
BRANCH = r'''
#include <stdio.h>
#include <time.h>
static volatile double sink;
static double now_s(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void pass(void) { struct timespec t = { 0, 8000000 }; nanosleep(&t, 0); }
static void __attribute__((noinline)) a(void) { pass(); for (int i = 0; i < 20000; i++) sink += i; }
static void __attribute__((noinline)) b(void) { pass(); for (int i = 0; i < 10000; i++) sink += i; }
static inline __attribute__((always_inline)) void step(int it) { if (it % 4 < 2) a(); else b(); }
int main(void)
{
	double begin_s = now_s();
	for (int it = 0; it < 200; it++)
		step(it);
	fprintf(stderr, "mean %.6f\n", (now_s() - begin_s) / 200);
	return 0;
}
'''
# a line with two branches, in any order of the code; a round sleeps 8 ms in either one
LINE = r'''
#include <stdio.h>
#include <time.h>
static volatile double sink;
static double now_s(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void pass(void) { struct timespec t = { 0, 8000000 }; nanosleep(&t, 0); }
static void __attribute__((noinline)) a(int k) { pass(); for (int i = 0; i < 20000; i++) sink += i + k; }
static void __attribute__((noinline)) b(int k) { pass(); for (int i = 0; i < 10000; i++) sink += i + k; }
int main(void)
{
	double begin_s = now_s();
	for (int k = 0; k < 200; k++)
		if (k & 1) a(k); else b(k);
	fprintf(stderr, "mean %.6f\\n", (now_s() - begin_s) / 200);
	return 0;
}
'''
# each run passes one branch only, as a rank does
RANK = r'''
program p
 implicit none
 integer :: t, r
 character(8) :: w
 real(8) :: s = 0
 call get_command_argument(1, w)
 read(w,*) r
 do t = 1, 400
  call step(r)
 end do
 if (s < 0) print *, s
contains
 subroutine step(r)
  integer, intent(in) :: r
  integer :: i
  if (r == 0) then
   do i = 1, 2000000
    s = s + sqrt(real(i,8))
   end do
  else
   do i = 1, 1000000
    s = s + log(real(i,8))
   end do
  end if
 end subroutine
end program
'''


def line_of(text, part):
    return next(i for i, line in enumerate(text.split('\n'), 1) if part in line)


def written(t, name, text):
    with open(os.path.join(t.folder, name), 'w') as out:
        out.write(text)
    return './' + name


def search(t, *words):
    done = t.run('search', '--format', 'json', *words)
    start = done.stdout.find('{"schema"')
    return json.loads(done.stdout[start:]) if start >= 0 else {}, done


def all_lines(t, level):
    """Each line of the program, from its first to its last."""
    app = t.compile(written(t, 'lines.c', SOURCE), '-O' + level, '-g', output='./lines' + level)
    wrong = []
    needs_code = not t.breakpoints_fire()  # at some lines there is no room for code
    for line in range(line_of(SOURCE, 'static double once'), line_of(SOURCE, 'return 0;') + 2):
        done = t.run('search', '--phase', f'lines.c:{line}', '--steps', '1', '--format', 'json', app, '200')
        sentence = '\n'.join(x for x in done.stderr.split('\n') if x.startswith('sonde: ') and f"'lines.c:{line}'" in x)
        if done.returncode == 2 and not re.search(r'the nearest line that can be a phase is lines\.c:\d+ \(in \w+\)', sentence):
            wrong.append((line, done.stderr))
        if done.returncode == 3 and not re.search(r'no execution of|too often to be watched|ended before an execution', sentence):
            wrong.append((line, done.stderr))
        if needs_code and done.returncode == 125 and 'no code can be put there, because ' in done.stderr:
            continue
        if done.returncode not in (0, 2, 3):
            wrong.append((line, done.returncode, done.stderr))
    t.check(not wrong, f'-O{level}: each line is a phase, or a sentence says why not', wrong)
    for part, what in (('/* the loop */', 'the loop'), ('s += round_of', 'what it does'), ('int rounds', 'what is passed once')):
        done = t.run('search', '--phase', f'lines.c:{line_of(SOURCE, part)}', '--steps', '1', app, '800')
        t.check(done.returncode == 0, f'-O{level}: {what} is a phase', done.returncode, done.stderr)
    found, done = search(t, '--phase', f'lines.c:{line_of(SOURCE, "/* the inner loop */")}', '--steps', '1', app, '400')
    if done.returncode == 3: # a breakpoint has it
        t.check('too often to be watched' in done.stderr and re.search(r'--phase (lines\.c:\d+|round_of)', done.stderr),
                f'-O{level}: of what is passed too often the outer loop is named', done.stderr)
    else:
        t.check(done.returncode == 0 and re.search(r'each is the \d+-th after the one before', done.stderr),
                f'-O{level}: of what is passed too often for each to be told every n-th is', done.returncode, done.stderr)
        phase = found.get('phase', {'executions': 0, 'mean_s': 0})
        t.check(phase['executions'] * phase['mean_s'] > .2, f'-O{level}: millions of short executions are measured, half a second of them', phase)
    for line in (3000, line_of(SOURCE, '#include <stdio.h>')):
        done = t.run('search', '--phase', f'lines.c:{line}', app)
        t.check(done.returncode == 2 and 'the nearest line that can be a phase is lines.c:' in done.stderr,
                f'-O{level}: a line without code is refused', done.stderr)
    return app


def inlined(t):
    app = './lines2'
    found, done = search(t, '--phase', 'round_of', '--steps', '1', app, '800')
    t.check(done.returncode == 0 and found['phase']['executions'] > 1, 'a function that is inlined where it is called', done.stderr)
    app = t.compile(written(t, 'copies.c', COPIES), '-O2', '-g', '-fno-ipa-icf', output='./copies')
    loop = line_of(COPIES, 'i < n')
    for words in (['many'], [f'copies.c:{loop}']):
        done = t.run('search', '--phase', *words, app)
        t.check(done.returncode == 2 and '4 can be watched' in done.stderr and '(f0' in done.stderr or 'no copy has an instruction' in done.stderr,
                f'{words[0]}: more copies than can be watched are named', done.returncode, done.stderr)
    done = t.run('search', '--phase', f'copies.c:{loop}', app)
    label = re.search(r'\((f0\+0x[0-9a-f]+)', done.stderr)
    done = t.run('search', '--phase', label.group(1) if label else 'f0+0x0', app)
    t.check(label and done.returncode in (0, 3) and 'means' not in done.stderr, 'one of them can be named so', done.stderr)
    cold = t.compile(written(t, 'cold.c', COLD), '-O2', '-g', output='./cold')
    found, done = search(t, '--phase', f'cold.c:{line_of(COLD, "in both copies")}', '--steps', '1', cold)
    t.check(done.returncode == 0 and found['phase']['executions'] > 1, 'the copy that is passed is watched beside a cold one', done.stderr)


def once(t, app):
    for phase in ('main', f'lines.c:{line_of(SOURCE, "int rounds")}'):
        found, done = search(t, '--phase', phase, '--threshold', '0', app, '300')
        t.check(done.returncode == 0 and found['phase']['executions'] == 1 and found['complete'],
                f'{phase}: what is passed once has the rows of its execution', done.stderr)
        t.check(f"'{phase}' was passed once" in done.stderr, 'which is said', done.stderr)
        hot = [r for r in found['properties'] if r['property'] == 'HotRegion']
        t.check(any(r['function'] in ('main', 'round_of') for r in hot), 'with what it spends its time in', hot[:2])
    found, done = search(t, '--phase', 'once', app, '20', 'abort')
    t.check(done.returncode == 3 and 'died' in done.stderr, 'a program that dies in it leaves a sentence', done.returncode, done.stderr)


def never(t):
    app = t.compile(written(t, 'never.c', '#include <unistd.h>\nvoid __attribute__((noinline)) no(void) { usleep(1); }\n'
                            'int main(int c, char **v)\n{\n\tif (c > 9)\n\t\tno();\n\tsleep(c > 1 ? 12 : 0);\n\t(void)v;\n\treturn 0;\n}\n'), '-O1', '-g',
                    output='./never')
    done = t.run('search', '--phase', 'no', app)
    t.check(done.returncode == 3 and re.search(r"no execution of 'no' ended: it was never reached in the \d+\.\d s that the program ran", done.stderr),
            'a phase that is never reached: what was waited for, and how long', done.returncode, done.stderr)
    done = t.run('search', '--phase', 'no', app, 'long')
    t.check(done.returncode == 3 and re.search(r"'no' has not been reached in 1\d s; the program runs on", done.stderr),
            'while the program runs, too', done.stderr)


def both_branches(t, what, source, phase):
    for compiler in filter(shutil.which, ('gcc', 'clang')):
        for level in '123':
            subprocess.run([compiler, '-O' + level, '-g', '-o', 'branch' + level, source], cwd=t.folder, check=True)
            found, done = search(t, '--phase', phase, '--steps', '1', './branch' + level)
            own_s = re.search(r'^mean ([\d.]+)', done.stderr, re.M)
            t.check(done.returncode == 0 and own_s and float(own_s.group(1)) / 1.5 < found['phase']['mean_s'] < 1.5 * float(own_s.group(1)),
                    f'{compiler} -O{level}: executions of both branches of {what} are seen', found.get('phase'), done.stderr)


def alternatives(t):
    """A line with branches, and an inlined function that begins with one: all executions are seen, each once."""
    both_branches(t, 'a line', written(t, 'line.c', LINE), f'line.c:{line_of(LINE, "if (k & 1)")}')
    both_branches(t, 'a function', written(t, 'branch.c', BRANCH), 'step')
    if not shutil.which('gfortran'):
        return
    source = written(t, 'rank.f90', RANK)
    for level in '123':
        subprocess.run(['gfortran', '-O' + level, '-g', '-o', 'rank' + level, source], cwd=t.folder, check=True)
        for rank in '01':
            found, done = search(t, '--phase', 'step', '--steps', '1', './rank' + level, rank)
            t.check(done.returncode == 0 and found['phase']['executions'] > 1, f'gfortran -O{level}: a run of branch {rank} passes executions',
                    found.get('phase'), done.stderr)


MODULE = '''
module solver_mod
contains
subroutine step(x)
  real(8) :: x
  integer :: i
  do i = 1, 4000000
    x = x*0.999d0 + i
  end do
end subroutine
end module
program main_p
  use solver_mod
  real(8) :: x = 0
  integer :: k
  do k = 1, 100
    call step(x)
  end do
  print *, x
end program
'''


def procedures(t):
    """A Fortran module's procedure has its name as tables print it, its symbol's, and its plain one, in any case; libc has a 'step', too."""
    if not shutil.which('gfortran'):
        t.skip('procedures of Fortran', 'no gfortran')
        return
    subprocess.run(['gfortran', '-O1', '-g', '-o', 'module', written(t, 'module.f90', MODULE)], cwd=t.folder, check=True)
    for name in ('step', 'STEP', 'solver_mod::step', '__solver_mod_MOD_step'):
        found, done = search(t, '--phase', name, '--steps', '1', './module')
        t.check(done.returncode == 0 and found['phase']['executions'] > 1, f'{name} is a phase', found.get('phase'), done.stderr)
        for command in ('structure', 'cqa'):
            done = t.run(command, '--function', name, '-f', 'json', './module')
            t.check(done.returncode == 0 and 'solver_mod::step' in done.stdout, f'{command} knows {name}', done.stdout[:500], done.stderr)
    for command in ('structure', 'cqa'):
        done = t.run(command, '--function', 'nowhere', './module')
        t.check(done.returncode and "no function 'nowhere'" in done.stderr, f'{command} says that there is no such function', done.returncode, done.stderr)


def main():
    t = Test()
    procedures(t)
    for level in '02':
        app = all_lines(t, level)
    inlined(t)
    alternatives(t)
    once(t, app)
    never(t)
    t.done()


main()
