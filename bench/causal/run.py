"""What sonde causal and coz foretell of constructed programs, beside what the same programs do when that part is really shortened.

    python3 bench/causal/run.py BUILD [--seconds S] [--passes N] [--pairs N] [--no-coz] [PROGRAM ...]

Of each program in turn: truth by interleaved pairs of whole and shortened runs, `sonde causal`, and `coz run` with its line and speed-up
fixed and its progress point added by hand. One line a point is added to a file of JSON, too (`--json FILE`), of which `--from-json` prints
the sums. Threads must have CPUs: `chrt -r 20 python3 ...` where others work on the machine."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from pairs import spread_of

MPIRUN = ('mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2')
# program: (compiler's words, what starts it, {part: whether it is on the critical path})
PROGRAMS = {
    'barrier': ((), (), {'heavy': True, 'light': False}),
    'pipeline': ((), (), {'read_in': False, 'transform': True, 'write_out': False}),
    'amdahl': ((), (), {'serial': True, 'parallel': True}),
    'lock': ((), (), {'inside': True, 'outside': False}),
    'turns': ((), (), {'inside': True, 'outside': False}),
    'producers': ((), (), {'produce': False, 'consume': True}),
    'spin': ((), (), {'heavy': True, 'light': False}),
    'spins': ((), (), {'heavy': True, 'light': False}),
    'slices': ((), (), {'slice': True, 'serial': True}),
    'pipe': ((), (), {'feed': True, 'eat': False}),  # --no-coz, which follows one process
    'openmp': (('-fopenmp',), (), {'large': True, 'small': False}),
    'ranks': ((), MPIRUN, {'heavy': True, 'light': False}),
    'below': (('-fopenmp',), (), {'exchange': True}),
    'ranks_below': (('-DRANKS',), MPIRUN, {'exchange': True}),
    'five': ((), (), {'assemble': True, 'factor': True, 'solve': True, 'filter': False, 'store': False}),
}
SHORTENED_BY = {'exchange': 'inside'}  # these are tried with what they call, of which this is shortened
UNLESS_SAID = [name for name in PROGRAMS if name != 'five']  # that one is for the time to an answer: --seconds 60 --pairs 1 --no-coz
SPEEDUPS = (0.25, 0.5)
# others of the same priority may take CPUs away: then it is measured again, whatever it is
ATTEMPTS = 3
DELAYS_OFF_MOST = 0.02
COZ_STEPS = 150  # of a run of coz with one line and speed-up; its experiments take 0.5 s

options = argparse.ArgumentParser()
options.add_argument('build')
options.add_argument('programs', nargs='*', default=UNLESS_SAID)
options.add_argument('--seconds', type=float, default=30, help='for experiments with each program')
options.add_argument('--passes', type=int, default=1)
options.add_argument('--pairs', type=int, default=10, help='of whole and shortened runs')
options.add_argument('--no-coz', action='store_true')
options.add_argument('--json', default='causal.json')
options.add_argument('--from-json', action='store_true', help='measure nothing')
options = options.parse_intermixed_args()
here, build, results = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(options.build), os.path.abspath(options.json)
sonde, library = os.path.join(build, 'sonde'), os.path.join(build, 'src/runtime/heartbeat')
os.chdir(tempfile.mkdtemp(prefix='causal-bench.'))
os.environ.update(SONDE_HEARTBEAT_DIR='beats', SONDE_HEARTBEAT_FORMAT='none', OMP_NUM_THREADS='2')


def source_of(name):
    return os.path.join(here, name.replace('ranks_', '') + '.c')


def compile_program(name, *words):
    compiler = 'mpicc' if PROGRAMS[name][1] else 'gcc'
    path = './' + name + ('.coz' if words else '')
    subprocess.run([compiler, '-O2', '-gdwarf-3', '-gno-variable-location-views', '-fno-ipa-icf', *PROGRAMS[name][0], *words, '-I', os.path.join(here, '../../include'),
                    source_of(name), '-o', path, '-L' + library, '-Wl,-rpath,' + library, '-lsonde-heartbeat', '-pthread', '-ldl'],
                   check=True)
    return path


def step_s(name, *words):
    for _ in range(ATTEMPTS):
        done = subprocess.run([*PROGRAMS[name][1], './' + name, '20', *words], capture_output=True, text=True, check=True)
        seconds, taken_away = done.stdout.split()
        if int(taken_away) < 10:
            break
    return float(seconds)


def truths_of(name, part):
    """By speed-up: median of the ratios of shortened runs to the whole ones beside them, and half of its interval. All steps of whole runs are kept
    in whole_s."""
    ratios = {speedup: [] for speedup in SPEEDUPS}
    for _ in range(options.pairs):
        whole_s.append(step_s(name))
        for speedup in SPEEDUPS:
            ratios[speedup].append(1 - step_s(name, f'{SHORTENED_BY.get(part, part)}={1 - speedup}') / whole_s[-1])
    return {speedup: (statistics.median(values), spread_of(sorted(values))) for speedup, values in ratios.items()}


def sonde_answer(name, number):
    parts = PROGRAMS[name][2]
    begin = time.monotonic()
    subprocess.run([sonde, 'causal', '-q', '-o', f'x-{name}-{number}', '--target', ','.join(parts),
                    *(['--with-callees'] if parts.keys() & SHORTENED_BY.keys() else []), '--speedups', '25,50', '--max-time',
                    str(options.seconds), '--', *PROGRAMS[name][1], './' + name, '200'], stdout=subprocess.DEVNULL, check=True)
    taken = time.monotonic() - begin
    shown = subprocess.run([sonde, 'show', 'causal', f'x-{name}-{number}', '--format', 'json'], capture_output=True, check=True)
    return json.loads(shown.stdout), taken


def line_of(name, part):
    for number, line in enumerate(open(os.path.join(here, name + '.c')), 1):
        if line.strip() == f'PART({part})':
            return number
    raise SystemExit(f'{name} has no part {part}')


def coz_step(name, part, speedup):
    """Seconds of a step in one run of coz, delays taken off; None: it made no experiment."""
    profile = f'{name}.coz.profile'
    if os.path.exists(profile):
        os.remove(profile)
    run = subprocess.run(['coz', 'run', '-s', '%', '--fixed-line', f'{os.path.join(here, name)}.c:{line_of(name, part)}',
                          '--fixed-speedup', str(round(100 * speedup)), '-o', profile, '---', './' + name + '.coz', str(COZ_STEPS)],
                         capture_output=True, text=True)
    seconds = visits = 0
    if run.returncode == 0 and os.path.exists(profile):
        for line in open(profile):
            found = re.match(r'experiment\t.*duration=(\d+)', line)
            if found:
                duration = int(found[1]) * 1e-9
            found = re.match(r'(?:throughput|progress)-point\tname=step\tdelta=(\d+)', line)
            if found:
                seconds, visits = seconds + duration, visits + int(found[1])
    return seconds / visits if visits else None


def coz_effects(name, part):
    """By speed-up; each against a run of the same line without delays."""
    whole = coz_step(name, part, 0)
    steps = {speedup: coz_step(name, part, speedup) for speedup in SPEEDUPS}
    return {speedup: 1 - step / whole for speedup, step in steps.items() if whole and step}


def number(value):
    return '-' if value is None else f'{value:.3f}'


points, facts = [], []
print('| program | part | speed-up | really shortened | sonde | 95 % | n | verdict | coz |\n|---|---|---|---|---|---|---|---|---|')
for turn in range(0 if options.from_json else options.passes):
    for name in options.programs:
        os.environ.pop('OMP_WAIT_POLICY', None)
        if name == 'below':  # its point is a thread that never sleeps
            os.environ['OMP_WAIT_POLICY'] = 'active'
        compile_program(name)
        has_coz = not options.no_coz and not PROGRAMS[name][1] and 'exchange' not in PROGRAMS[name][2]  # coz follows one process, and has no callees
        if has_coz:
            compile_program(name, '-DWITH_COZ')
        whole_s = []
        truth = {(part, s): found for part in PROGRAMS[name][2] for s, found in truths_of(name, part).items()}
        for attempt in range(ATTEMPTS):
            answer, taken = sonde_answer(name, f'{turn}-{attempt}')
            # None: no experiments were made, as others had the CPUs
            if answer['delay_error_share'] is not None and answer['delay_error_share'] < DELAYS_OFF_MOST:
                break
        if not any(row['points'] for row in answer['rows']):
            print(f"| {name} | no effect is told: {', '.join(str(row['reason']) for row in answer['rows'])} |")
            continue
        facts.append((name, answer['delay_error_share'], 1 - statistics.median(whole_s) * answer['progress']['rate_per_s'], answer['observed_false_alarm_rate'],
                      taken))
        for row in answer['rows']:
            foretold_by_coz = coz_effects(name, row['name']) if has_coz else {}
            for point in row['points']:
                real, spread = truth[row['name'], point['speedup']]
                coz = foretold_by_coz.get(point['speedup'])
                points.append({'program': name, 'part': row['name'], 'verdict': row['verdict'], 'cpu_share': row['cpu_share'], 'truth': real,
                               'truth_spread': spread, 'coz': coz, **point})
                print(f"| {name} | {row['name']} | {point['speedup']:.2f} | {real:.3f} | {point['effect']:.3f} | {number(point['effect_low'])} to "
                      f"{number(point['effect_high'])} | {point['experiments']} | {row['verdict']} | {number(coz)} |", flush=True)
                with open(results, 'a') as out:
                    out.write(json.dumps(points[-1]) + '\n')
if options.from_json:
    points = [json.loads(line) for line in open(results)]
errors = [abs(p['effect'] - p['truth']) for p in points]
print(f"\nwithin 0.03: {sum(e <= 0.03 for e in errors)} of {len(errors)}; median error {statistics.median(errors):.3f}, largest {max(errors):.3f}")
known = [p for p in points if p['effect_low'] is not None]
held = sum(abs(p['effect'] - p['truth']) <= ((p['effect_high'] - p['effect']) ** 2 + p['truth_spread'] ** 2) ** 0.5 for p in known)
print(f"in their interval: {sum(p['effect_low'] <= p['truth'] <= p['effect_high'] for p in known)} of {len(known)}; with the truth's own interval: {held}")
off_path = [p['verdict'] for p in points if p['speedup'] == SPEEDUPS[0] and not PROGRAMS[p['program']][2][p['part']]]
print(f"parts off the critical path said to help: {off_path.count('helps')} of {len(off_path)}")
coz = [p for p in points if p['coz'] is not None]
for whose in ('coz', 'effect') if coz else ():
    wrong = [abs(p[whose] - p['truth']) for p in coz]
    print(f"where coz answers, {'coz' if whose == 'coz' else 'sonde'}: within 0.03: {sum(e <= 0.03 for e in wrong)} of {len(wrong)}; median error "
          f"{statistics.median(wrong):.3f}, largest {max(wrong):.3f}")
for name, delay, overhead, alarm, taken in facts:
    print(f'{name}: delays off by {delay:.4f}, steps without delays slower by {overhead:.3f}, false alarms among baselines {alarm}, {taken:.0f} s')
