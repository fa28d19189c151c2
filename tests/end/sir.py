"""sonde structure --format sir: functions, loops, calls, constructs and arrays of compiled programs, as XML."""
import json
import os
import xml.etree.ElementTree

from sonde_test import Test

SPACE = '{http://www.lrr.in.tum.de/Periscope}'
REGIONS = set('''userRegion call loop vect forall io parallelRegion parallelLoop parallelSections parallelSection parallelSingle
parallelWorkshare parallelMaster parallelCriticalSection parallelAtomic parallelBarrier parallelOrdered workshare
workshareSections workshareLoop parallelTask taskWait'''.split())
ARRAYS = {'INTEGER', 'REAL', 'CHARACTER', 'LOGICAL', 'COMPLEX', 'DOUBLE', 'DERIVED'}

C = '''#include <stdio.h>
#include <string.h>
struct node { int key; double value[3]; };
double grid[64][32];
struct node pool[10];
double __attribute__((noinline)) sum(int n)
{
	double s = 0, local[16];
	memset(local, n, sizeof(local));
	for (int i = 0; i < n; i++)
		for (int j = 0; j < 32; j++)
			s += grid[i][j] * local[j & 15];
	return s + pool[n & 7].value[1];
}
int main(int argc, char **argv)
{
	(void)argv;
#pragma omp parallel
	{
#pragma omp critical
		grid[argc][0] += 1;
#pragma omp barrier
		grid[argc][1] += 1;
	}
	printf("%g\\n", sum(argc));
	return 0;
}
'''

FORTRAN = '''subroutine calc2(n)
  implicit none
  integer :: n, i, j
  real(8) :: u(513,513), v(513,513), p(513,513), unew(513,513)
  common /cons/ u, v, p, unew
  do j = 1, n
    do i = 1, n
      unew(i+1,j) = u(i+1,j) + p(i,j) * v(i+1,j+1)
    end do
  end do
end subroutine
program swim
  implicit none
  integer :: k
  do k = 1, 10
    call calc2(500)
  end do
end program
'''


def read(t, app):
    done = t.run('structure', '--format', 'sir', app)
    return xml.etree.ElementTree.fromstring(done.stdout), done


def is_valid(element):
    """The order and the values that PTF's schema asks for; `bytes` is ours."""
    tags = [child.tag.replace(SPACE, '') for child in element]
    if element.tag == SPACE + 'codeRegion':
        good = element.get('type') in REGIONS and tags[:1] == ['position']
    elif element.tag == SPACE + 'array':
        good = element.get('type') in ARRAYS and set(element.keys()) <= {'type', 'name', 'nelts', 'bytes'}
    elif element.tag == SPACE + 'unit':
        good = element.get('type') in ('program', 'function', 'subroutine') and tags[:1] == ['position']
    else:
        good = True
    order = ['position', 'file', 'array', 'unit', 'codeRegion']
    return good and tags == sorted(tags, key=order.index) and all(is_valid(child) for child in element)


def unit(root, name):
    return next((u for u in root.iter(SPACE + 'unit') if u.get('name') == name), None)


def arrays(element):
    return {a.get('name'): (a.get('type'), a.get('nelts'), a.get('bytes')) for a in element.findall(SPACE + 'array')}


def c_program(t):
    for compiler, flags in (('gcc', ['-fopenmp']), ('clang', [])):
        if not t.has(compiler):
            t.skip(compiler, 'not there')
            continue
        with open('program.c', 'w') as out:
            out.write(C)
        t.command(compiler, '-g', '-O1', '-fno-inline', *flags, 'program.c', '-o', f'./c-{compiler}')
        root, done = read(t, f'./c-{compiler}')
        t.check(root.tag == SPACE + 'sir' and root.get('language') == 'c' and is_valid(root), f'{compiler}: as PTF has it',
                done.stdout[:2000])
        program = root.find(SPACE + 'unit')
        t.equal(arrays(program).get('grid'), ('DOUBLE', '2048', '16384'), f'{compiler}: a global array')
        t.equal(arrays(program).get('pool'), ('DERIVED', '10', '320'), f'{compiler}: an array of structures')
        sum_unit = unit(root, 'sum')
        t.equal(arrays(sum_unit).get('local'), ('DOUBLE', '16', '128'), f'{compiler}: a local array')
        ids = {r['loop'] for r in json.loads(t.run('structure', '--format', 'json', f'./c-{compiler}').stdout)['rows']}
        loops = [r for r in sum_unit.iter(SPACE + 'codeRegion') if r.get('type') == 'loop']
        t.check(len(loops) == 2 and all(r.get('id') in ids and r.get('id').startswith(sum_unit.get('id') + ':') for r in loops),
                f'{compiler}: loops have the ids of sonde structure', [r.get('id') for r in loops])
        t.check(loops and 'grid' in arrays(loops[0]), f'{compiler}: a loop names what it touches')
        calls = {r.get('name'): r.get('type') for r in sum_unit.iter(SPACE + 'codeRegion')}
        main_calls = {r.get('name'): r for r in unit(root, 'main').iter(SPACE + 'codeRegion')}
        t.check(main_calls.get('sum') is not None and main_calls['sum'].find(SPACE + 'position').get('startLine') == '25',
                f'{compiler}: a call with its line', list(main_calls))
        if compiler == 'gcc':
            types = {r.get('type') for r in root.iter(SPACE + 'codeRegion')}
            t.check({'parallelRegion', 'parallelCriticalSection', 'parallelBarrier', 'io'} <= types,
                    'gcc: constructs of OpenMP', types, calls)


def fortran_program(t):
    if not t.has('gfortran'):
        t.skip('Fortran', 'no gfortran')
        return
    with open('swim.f90', 'w') as out:
        out.write(FORTRAN)
    t.command('gfortran', '-g', '-O2', 'swim.f90', '-o', './swim')
    root, done = read(t, './swim')
    t.check(root.get('language') == 'fortran' and is_valid(root), 'gfortran: as PTF has it', done.stdout[:2000])
    size = ('DOUBLE', '263169', '2105352')
    t.equal(arrays(root.find(SPACE + 'unit')), {n: size for n in ('u', 'v', 'p', 'unew')}, 'the members of a COMMON block')
    loops = [r for r in unit(root, 'calc2').iter(SPACE + 'codeRegion') if r.get('type') == 'loop']
    t.check(len(loops) == 2 and all({'u', 'v', 'p', 'unew'} <= set(arrays(r)) for r in loops),
            'a nest of loops touches all four', [arrays(r) for r in loops])
    t.check(loops[0].find(SPACE + 'position').get('startLine') == '6', 'with its lines')


def without_debug(t):
    t.command('gcc', '-O1', 'program.c', '-o', './plain')
    root, done = read(t, './plain')
    t.check(done.returncode == 0 and is_valid(root) and unit(root, 'main') is not None and 'compile with -g' in done.stderr,
            'without debug information: functions and loops, and a word', done.stderr)


def main():
    t = Test()
    c_program(t)
    fortran_program(t)
    without_debug(t)
    t.done()


main()
