"""Programs that lose a known share of their time at known places: what `bench/search/planted.py` and tests search.

Two lanes (threads, or ranks) compute for the same CPU time in each round. A planted loss lets one of them compute for longer in a function
`late_K`, while the other one waits for it in a function `place_K`: by construction it waits for that time in each round, whatever the
machine. A program has none, one or two of them.

    program = plant(model, language, [(kind, share), ...], seed)      # source, and what is planted
    path = build(program, folder, compiler)
"""
import os
import subprocess

ROUNDS, WORK_S = 50, 0.016

# kind: (properties that may name it, its statement for the lane that is late, and for the one that waits), {k} is its number, {x} seconds
THREADS = {
    'lock': (('LockContention', 'ContendedLock'), 'pthread_mutex_lock(&mutex_{k}); meet(); late_{k}({x}); pthread_mutex_unlock(&mutex_{k});',
             'meet(); place_{k}(); pthread_mutex_unlock(&mutex_{k});', 'static pthread_mutex_t mutex_{k} = PTHREAD_MUTEX_INITIALIZER;',
             'pthread_mutex_lock(&mutex_{k});'),
    'condition': (('CondWait',), 'late_{k}({x}); pthread_mutex_lock(&mutex_{k}); turn_{k}++; pthread_cond_signal(&changed_{k}); pthread_mutex_unlock(&mutex_{k});',
                  'place_{k}();', 'static pthread_mutex_t mutex_{k} = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t changed_{k} = PTHREAD_COND_INITIALIZER; '
                  'static int turn_{k}, seen_{k};',
                  'pthread_mutex_lock(&mutex_{k}); while (turn_{k} == seen_{k}) pthread_cond_wait(&changed_{k}, &mutex_{k}); seen_{k}++; '
                  'pthread_mutex_unlock(&mutex_{k});'),
    'semaphore': (('SemWait',), 'late_{k}({x}); sem_post(&posted_{k});', 'place_{k}();', 'static sem_t posted_{k};', 'sem_wait(&posted_{k});'),
    'pipe': (('IOBlocked',), 'late_{k}({x}); if (write(ends_{k}[1], "x", 1) != 1) _exit(1);', 'place_{k}();', 'static int ends_{k}[2];',
             'char byte; if (read(ends_{k}[0], &byte, 1) != 1) _exit(1);'),
    'spin': (('SpinWait',), 'late_{k}({x}); turn_{k}++;', 'place_{k}();', 'static volatile int turn_{k}; static int seen_{k};',
             'while (turn_{k} == seen_{k}) __builtin_ia32_pause(); seen_{k}++;'),
}
OPENMP = {
    'region': (('ImbalanceInParallelRegion',), 'parallel', 'if (!thread) late_{k}({x});'),
    'loop': (('ImbalanceInParallelLoop', 'ImbalanceInParallelRegion'), 'loop', None),
    'barrier': (('ImbalanceAtBarrier',), 'parallel', 'if (!thread) late_{k}({x});\n#pragma omp barrier\n\t\tburn(0.0005);'),
    'critical': (('CriticalContention',), 'parallel', 'if (thread) burn(0.0003);\n#pragma omp critical(name_{k})\n\t\tif (!thread) late_{k}({x});'),
    'single': (('SingleSerial',), 'parallel', '#pragma omp single\n\t\tlate_{k}({x});'),
    'serial': (('InsufficientParallelism',), 'serial', None),
}
# who is late: rank 0, or the other one
MPI = {
    'barrier': (('WaitAtBarrier',), 0, 'MPI_Barrier(MPI_COMM_WORLD);'),
    'allreduce': (('WaitAtNxN',), 0, 'MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);'),
    'broadcast': (('LateBroadcast',), 0, 'MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
    'reduce': (('EarlyReduce',), 1, 'MPI_Reduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);'),
    'sender': (('LateSender',), 0, 'if (!rank) MPI_Send(&one, 1, MPI_DOUBLE, 1, {k}, MPI_COMM_WORLD); '
               'else MPI_Recv(&one, 1, MPI_DOUBLE, 0, {k}, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'),
    'receiver': (('LateReceiver',), 1, 'if (!rank) MPI_Ssend(&one, 1, MPI_DOUBLE, 1, {k}, MPI_COMM_WORLD); '
                 'else MPI_Recv(&one, 1, MPI_DOUBLE, 0, {k}, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'),
}
FORTRAN_MPI = {
    'barrier': 'call MPI_Barrier(MPI_COMM_WORLD, error)',
    'allreduce': 'call MPI_Allreduce(one, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)',
    'broadcast': 'call MPI_Bcast(one, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)',
    'reduce': 'call MPI_Reduce(one, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)',
    'sender': 'if (rank == 0) call MPI_Send(one, 1, MPI_DOUBLE_PRECISION, 1, {k}, MPI_COMM_WORLD, error)\n'
              '  if (rank == 1) call MPI_Recv(one, 1, MPI_DOUBLE_PRECISION, 0, {k}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)',
    'receiver': 'if (rank == 0) call MPI_Ssend(one, 1, MPI_DOUBLE_PRECISION, 1, {k}, MPI_COMM_WORLD, error)\n'
                '  if (rank == 1) call MPI_Recv(one, 1, MPI_DOUBLE_PRECISION, 0, {k}, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)',
}
KINDS = {'threads': THREADS, 'openmp': OPENMP, 'mpi': MPI}

BURN = r'''#define _GNU_SOURCE
#include <time.h>
static __thread volatile double burn_sink;
__attribute__((noinline)) void burn(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds;
	do {
		for (int i = 0; i < 3000; i++)
			burn_sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}
'''
KEPT = '__attribute__((noinline, noclone)) static void'


def extras(losses):
    """Seconds in a round for which the late lane computes, for shares of both lanes' time."""
    round_s = WORK_S / (1 - 2 * sum(share for _, share in losses))
    return [2 * share * round_s for _, share in losses]


def c_threads(losses, xs):
    lines, late, waits, setup = [], [], [], []
    for k, ((kind, _), x) in enumerate(zip(losses, xs)):
        _, of_late, of_waiting, declared, place = THREADS[kind]
        lines += [declared.replace('{k}', str(k)),
                  f'{KEPT} late_{k}(double s) {{ burn(s); sink++; }}', f'{KEPT} place_{k}(void) {{ {place} sink++; }}'.replace('{k}', str(k))]
        late.append(of_late.replace('{k}', str(k)).replace('{x}', f'{x:.6f}'))
        waits.append(of_waiting.replace('{k}', str(k)))
        setup += {'semaphore': [f'sem_init(&posted_{k}, 0, 0);'], 'pipe': [f'if (pipe(ends_{k})) return 1;']}.get(kind, [])
    body = '\n'.join(lines)
    return f'''{BURN}#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static __thread volatile int sink;
static pthread_barrier_t barrier;
static inline void meet(void) {{ pthread_barrier_wait(&barrier); }}
{body}
static void *other(void *unused)
{{
	for (int i = 0; i < {ROUNDS}; i++) {{
		burn({WORK_S});
		meet();
		{' '.join(waits)}
	}}
	return unused;
}}
int main(void)
{{
	pthread_t thread;
	pthread_barrier_init(&barrier, 0, 2);
	{' '.join(setup)}
	pthread_create(&thread, 0, other, 0);
	for (int i = 0; i < {ROUNDS}; i++) {{
		burn({WORK_S});
		meet();
		{' '.join(late)}
	}}
	pthread_join(thread, 0);
	return 0;
}}
'''


def c_openmp(losses, xs):
    functions, calls = [], []
    for k, ((kind, _), x) in enumerate(zip(losses, xs)):
        _, shape, statement = OPENMP[kind]
        functions.append(f'{KEPT} late_{k}(double s) {{ burn(s); sink++; }}')
        if shape == 'parallel':
            text = statement.replace('{k}', str(k)).replace('{x}', f'{x:.6f}')
            functions.append(f'{KEPT} place_{k}(void)\n{{\n#pragma omp parallel num_threads(2)\n\t{{\n\t\tint thread = omp_get_thread_num();\n\t\t(void)thread;\n\t\t{text}\n\t}}\n\tsink++;\n}}')
        elif shape == 'loop':
            functions.append(f'{KEPT} place_{k}(void)\n{{\n#pragma omp parallel for schedule(static, 1) num_threads(2)\n\tfor (int i = 0; i < 2; i++)\n\t\tlate_{k}(i ? 0.0005 : {x + .0005:.6f});\n\tsink++;\n}}')
        else:
            functions.append(f'{KEPT} place_{k}(void) {{ late_{k}({x:.6f}); sink++; }}')
        calls.append(f'place_{k}();')
    return f'''{BURN}#include <omp.h>
static __thread volatile int sink;
''' + '\n'.join(functions) + f'''
{KEPT} together(void)
{{
#pragma omp parallel num_threads(2)
	burn({WORK_S});
	sink++;
}}
int main(void)
{{
	for (int i = 0; i < {ROUNDS}; i++) {{
		together();
		{' '.join(calls)}
	}}
	return 0;
}}
'''


def c_mpi(losses, xs):
    functions, calls = [], []
    for k, ((kind, _), x) in enumerate(zip(losses, xs)):
        _, late, call = MPI[kind]
        functions += [f'{KEPT} late_{k}(double s) {{ burn(s); sink++; }}', f'{KEPT} place_{k}(void) {{ {call} sink++; }}'.replace('{k}', str(k))]
        calls.append(f'if (rank == {late}) late_{k}({x:.6f}); place_{k}();')
    return f'''{BURN}#include <mpi.h>
static volatile int sink;
static int rank;
static double one = 1, sum;
''' + '\n'.join(functions) + f'''
int main(int argc, char **argv)
{{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < {ROUNDS}; i++) {{
		burn({WORK_S});
		{' '.join(calls)}
	}}
	(void)sum;
	MPI_Finalize();
	return 0;
}}
'''


# burn() comes from a file of its own
FORTRAN_BURN = '''  interface
    subroutine burn(seconds) bind(c)
      use iso_c_binding
      real(c_double), value :: seconds
    end subroutine
  end interface
'''


def fortran_openmp(losses, xs):
    functions, calls = [], []
    for k, ((kind, _), x) in enumerate(zip(losses, xs)):
        x = f'{x:.6f}d0'
        late = f'subroutine late_{k}(s)\n  double precision, intent(in) :: s\n{FORTRAN_BURN}  call burn(s)\n  sink = sink + 1\nend subroutine'
        parallel = '  !$omp parallel num_threads(2)\n{}\n  !$omp end parallel\n'
        first = f'    if (omp_get_thread_num() == 0) call late_{k}({x})\n'
        body = {
            'region': parallel.format(first),
            'loop': f'  integer :: i\n  !$omp parallel do schedule(static, 1) num_threads(2)\n  do i = 0, 1\n    call late_{k}(merge({x}, 0.0005d0, i == 0))\n  end do\n  !$omp end parallel do\n',
            'barrier': parallel.format(first + '    !$omp barrier\n    call burn(0.0005d0)'),
            'critical': parallel.format(f'    if (omp_get_thread_num() == 1) call burn(0.0003d0)\n    !$omp critical (name_{k})\n{first}    !$omp end critical (name_{k})'),
            'single': parallel.format(f'    !$omp single\n    call late_{k}({x})\n    !$omp end single'),
            'serial': f'  call late_{k}({x})\n',
        }[kind]
        functions += [late, f'subroutine place_{k}\n{FORTRAN_BURN}{body}  sink = sink + 1\nend subroutine']
        calls.append(f'    call place_{k}')
    return ('module planted\n  use omp_lib\n  implicit none\n  integer, volatile :: sink = 0\ncontains\n' + '\n'.join(functions) +
            f'\nsubroutine together\n{FORTRAN_BURN}  !$omp parallel num_threads(2)\n  call burn({WORK_S}d0)\n  !$omp end parallel\n  sink = sink + 1\nend subroutine\nend module\n'
            'program main\n  use planted\n  implicit none\n  integer :: i\n' + f'  do i = 1, {ROUNDS}\n    call together\n' + '\n'.join(calls) + '\n  end do\nend program\n')


def fortran_mpi(losses, xs):
    functions, calls = [], []
    for k, ((kind, _), x) in enumerate(zip(losses, xs)):
        functions += [f'subroutine late_{k}(s)\n  double precision, intent(in) :: s\n{FORTRAN_BURN}  call burn(s)\n  sink = sink + 1\nend subroutine',
                      f'subroutine place_{k}\n  {FORTRAN_MPI[kind]}\n  sink = sink + 1\nend subroutine'.replace('{k}', str(k))]
        calls.append(f'    if (rank == {MPI[kind][1]}) call late_{k}({x:.6f}d0)\n    call place_{k}')
    return ('module planted\n  use mpi\n  implicit none\n  integer, volatile :: sink = 0\n  integer :: rank, error\n  double precision :: one = 1, total\ncontains\n' + '\n'.join(functions) +
            '\nend module\nprogram main\n  use planted\n  implicit none\n  integer :: i\n' + FORTRAN_BURN +
            '  call MPI_Init(error)\n  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)\n' +
            f'  do i = 1, {ROUNDS}\n    call burn({WORK_S}d0)\n' + '\n'.join(calls) + '\n  end do\n  call MPI_Finalize(error)\nend program\n')


SOURCES = {('threads', 'c'): c_threads, ('openmp', 'c'): c_openmp, ('mpi', 'c'): c_mpi, ('openmp', 'fortran'): fortran_openmp, ('mpi', 'fortran'): fortran_mpi}


def plant(model, language, losses):
    """{'source', 'model', 'language', 'losses': [{'kind', 'properties', 'place', 'lost_s'}]}; `losses` are kinds with their share of the two lanes' time in
    the rounds, 0.45 together at most. `lost_s` is what the lane that waits loses in the whole run."""
    xs = extras(losses)
    return {'source': SOURCES[model, language](losses, xs), 'model': model, 'language': language,
            'losses': [{'kind': kind, 'share': share, 'properties': KINDS[model][kind][0], 'place': f'place_{k}', 'late': f'late_{k}', 'lost_s': ROUNDS * x}
                       for k, ((kind, share), x) in enumerate(zip(losses, xs))]}


def build(program, folder, name, compiler):
    """Compiles a planted program; `compiler` is gcc, clang, gfortran, or MPI's wrapper of one. Its path."""
    source = os.path.join(folder, name + ('.c' if program['language'] == 'c' else '.f90'))
    with open(source, 'w') as out:
        out.write(program['source'])
    files = [source]
    if program['language'] == 'fortran':
        files.append(os.path.join(folder, name + '_burn.o'))
        with open(os.path.join(folder, name + '_burn.c'), 'w') as out:
            out.write(BURN)
        subprocess.run(['gcc', '-O1', '-g', '-c', files[1][:-1] + 'c', '-o', files[1]], check=True)
    path = os.path.join(folder, name)
    subprocess.run([compiler, '-O1', '-g', '-w', *files, '-o', path, '-pthread', *(['-fopenmp'] if program['model'] == 'openmp' else [])], check=True, cwd=folder)
    return path
