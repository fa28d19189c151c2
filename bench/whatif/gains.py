"""Do the gains that `sonde show whatif` predicts come true when the program is compiled for vectors?

    gains.py SONDE [REPEATS]

Each program is recorded as compiled without vectors; `full_vector` says what it would gain. Then it is compiled
with -O3 -march=native -ffast-math and recorded again. Printed: the program's predicted speed-up (data in L1, and no
faster than RAM), the measured one by CPU time, and the same for every loop by the time of its function. CPU times
are the lowest of the repeats."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCALAR = ['-g', '-O2', '-fno-tree-vectorize', '-fno-math-errno']
VECTOR = ['-g', '-O3', '-march=native', '-mprefer-vector-width=512', '-ffast-math']
PROGRAMS = {'kernels.c': ('gcc', ['-lm']), 'blas.f90': ('gfortran', ['-fno-inline', '-fno-frontend-optimize'])}


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f'{" ".join(words)}: {done.stderr}')
    return done.stdout


def times(sonde, program, repeats):
    """Lowest CPU seconds of the program and of each function, and the last experiment."""
    whole, functions = 1e9, {}
    for _ in range(repeats):
        run(sonde, 'record', '-q', program)
        rows = json.loads(run(sonde, 'show', 'functions', '--format', 'json', '--all'))['rows']
        own = [r for r in rows if r['module'] == os.path.basename(program)]
        whole = min(whole, sum(r['exclusive_cpu_s'] for r in own))
        for r in own:
            functions[r['function']] = min(functions.get(r['function'], 1e9), r['exclusive_cpu_s'])
    return whole, functions


def main():
    sonde, repeats = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    os.chdir(tempfile.mkdtemp(prefix='sonde-gains-'))
    for source, (compiler, more) in PROGRAMS.items():
        name = source.split('.')[0]
        for kind, flags in (('scalar', SCALAR), ('vector', VECTOR)):
            run(compiler, *flags, os.path.join(HERE, source), '-o', f'{name}-{kind}', *more)
        vector, vector_functions = times(sonde, f'./{name}-vector', repeats)
        scalar, scalar_functions = times(sonde, f'./{name}-scalar', repeats)
        whatif = json.loads(run(sonde, 'show', 'whatif', '--format', 'json'))
        full = whatif['variants'][2]
        print(f"{source}: predicted {full['speedup']:.2f} (no doubt {full['reliable_speedup']:.2f}, from RAM "
              f"{full['ram_speedup']:.2f}), measured {scalar / vector:.2f}; {full['loops_for_80_percent']} of "
              f"{full['loops']} loops bring 80 %")
        close = total = 0
        for row in sorted(whatif['rows'], key=lambda r: -r['coverage_share']):
            function = row['function']
            if row['coverage_share'] < .005 or function not in vector_functions or not row['full_vector_speedup']:
                continue
            measured = scalar_functions[function] / max(vector_functions[function], 1e-6)
            total += 1
            close += abs(row['full_vector_speedup'] / measured - 1) <= .25
            print(f"  {function:10} {100 * row['coverage_share']:5.1f} %  predicted {row['full_vector_speedup']:6.2f}  "
                  f"measured {measured:6.2f}  {row['doubts'] or ''}")
        print(f'  {close} of {total} loops within 25 %')


main()
