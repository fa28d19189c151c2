"""What steps of the constructed programs take more under sonde causal without delays, and under coz without delays.

    python3 bench/causal/overhead.py BUILD [--rounds N] [--steps N] [--no-coz] [PROGRAM ...]

Rounds in turn: the plain program, the same under `sonde causal` whose time for experiments is over at once, and under `coz run` with a
speed-up of 0. A step is timed by the program itself. The median of the ratios to the plain run beside, with half of its 95 % interval."""
import argparse
import os
import statistics
import subprocess
import tempfile

from pairs import spread_of

# program: (compiler's words, a part)
PROGRAMS = {'barrier': ((), 'heavy'), 'pipeline': ((), 'transform'), 'amdahl': ((), 'parallel'), 'lock': ((), 'inside'), 'producers': ((), 'consume'),
            'spin': ((), 'heavy'), 'slices': ((), 'slice'), 'pipe': ((), 'feed'), 'openmp': (('-fopenmp',), 'large')}

options = argparse.ArgumentParser()
options.add_argument('build')
options.add_argument('programs', nargs='*', default=list(PROGRAMS))
options.add_argument('--rounds', type=int, default=6)
options.add_argument('--steps', type=int, default=45)
options.add_argument('--no-coz', action='store_true')
options = options.parse_intermixed_args()
here, build = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(options.build)
sonde, library = os.path.join(build, 'sonde'), os.path.join(build, 'src/runtime/heartbeat')
os.chdir(tempfile.mkdtemp(prefix='causal-overhead.'))
os.environ.update(SONDE_HEARTBEAT_DIR='beats', SONDE_HEARTBEAT_FORMAT='none', OMP_NUM_THREADS='2')


def compile_program(name, path, *words):
    subprocess.run(['gcc', '-O2', '-gdwarf-3', '-gno-variable-location-views', '-fno-ipa-icf', *PROGRAMS[name][0], *words, '-I', os.path.join(here, '../../include'),
                    os.path.join(here, name + '.c'), '-o', path, '-L' + library, '-Wl,-rpath,' + library, '-lsonde-heartbeat', '-pthread', '-ldl'], check=True)


def step_s(*command):
    """None: the program was not run to its end."""
    done = subprocess.run([*command, str(options.steps)], capture_output=True, text=True)
    return float(done.stdout.split()[0]) if done.returncode == 0 and done.stdout else None


print('| program | a step, ms | under sonde | under coz |\n|---|---|---|---|')
for name in options.programs:
    compile_program(name, './' + name)
    if not options.no_coz:
        compile_program(name, f'./{name}.coz', '-DWITH_COZ')
    subprocess.run([sonde, 'record', '-q', '-o', 'x-' + name, '--', './' + name, '20'], stdout=subprocess.DEVNULL, check=True)
    plain, ratios = [], {'sonde': [], 'coz': []}
    for _ in range(options.rounds):
        plain.append(step_s('./' + name))
        under = {'sonde': step_s(sonde, 'causal', '-q', '--force', '--from', 'x-' + name, '--progress', 'step', '--target', PROGRAMS[name][1], '--runs', '1', '--max-time',
                                 '0.001', '--', './' + name)}
        if not options.no_coz and name != 'pipe':  # of two processes
            under['coz'] = step_s('coz', 'run', '--fixed-speedup', '0', '---', f'./{name}.coz')
        for which, seconds in under.items():
            if seconds:
                ratios[which].append(seconds / plain[-1] - 1)
    told = [f'{statistics.median(values):+.3f} +- {spread_of(sorted(values)):.3f}' if values else '-' for values in ratios.values()]
    print(f'| {name} | {1e3 * statistics.median(plain):.1f} | {told[0]} | {told[1]} |', flush=True)
