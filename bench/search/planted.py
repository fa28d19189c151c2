"""Planted losses, and what `sonde search` says of them: recall, precision, severities, sums of leaves, negative controls.

    python3 bench/search/planted.py [--seed N] [--only MODEL] [--json FILE]

Each program of `tests/planted/plant.py` (threads, OpenMP, MPI; C and Fortran; gcc and clang; Open MPI and MPICH; none, one or two losses of 0.05 to 0.4) is
searched once with default options. A loss counts as found where a row that nothing explains further has its property and its place, at half of the truth or more.
Truth is the time that the waiting lane waits by construction, over the phase that was measured. Threads must have CPUs: `chrt -r 20 python3 ...` where others
work on the machine."""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tests/planted'))
from plant import KINDS, SOURCES, build, plant  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument('--seed', type=int, default=1)
options.add_argument('--only', default='')
options.add_argument('--json')
options = options.parse_args()
sonde = os.path.abspath(os.environ.get('SONDE', 'build/sonde'))
NEGATIVE_MOST, FOUND_LEAST = .05, .1
LOCATORS = ('HotRegion', 'HeapLeak', 'LateRankRegion')


def compilers(model, language):
    if model == 'mpi':
        wrappers = ('mpicc.openmpi', 'mpicc.mpich') if language == 'c' else ('mpifort.openmpi', 'mpifort.mpich')
        return [w for w in wrappers if shutil.which(w)]
    return [c for c in (('gcc', 'clang') if language == 'c' else ('gfortran',)) if shutil.which(c)]


def launcher(compiler):
    if compiler.startswith('mpi'):
        return ['--launch', 'mpirun.openmpi --allow-run-as-root --oversubscribe -n 2' if 'openmpi' in compiler else 'mpiexec.hydra -n 2']
    return []


def programs(rng):
    """(model, language, compiler, losses): each kind with two compilers in turn, pairs, and one without a loss by compiler."""
    for model, language in SOURCES:
        if options.only not in model:
            continue
        for compiler in compilers(model, language):
            yield model, language, compiler, []
        kinds = list(KINDS[model])
        for i, kind in enumerate(kinds):
            which = compilers(model, language)
            for share in rng.sample((.05, .1, .2, .3, .4), 2):
                yield model, language, which[i % len(which)], [(kind, share)]
        for i in range(3):
            which = compilers(model, language)
            yield model, language, which[i % len(which)], [(kind, rng.choice((.1, .15, .2))) for kind in rng.sample(kinds, 2)]


def matches(row, loss):
    places = {word for p in row['path'] if p['name'] for word in re.findall(r'\w+', p['name'])}
    return row['property'] in loss['properties'] and (loss['place'] in places or loss['kind'] == 'serial')


def lanes_of(row):
    """Of the processes that a row names: each has one lane with MPI, and one process both otherwise."""
    return len(row['processes'].replace('-', ',').split(',')) if row['processes'] else 2


def main():
    os.chdir(tempfile.mkdtemp(prefix='sonde-planted.'))
    sums = {'planted': 0, 'found': 0, 'rows': 0, 'right': 0, 'near': 0, 'controls': 0, 'quiet': 0}
    errors, ratios, log = [], [], []
    for i, (model, language, compiler, losses) in enumerate(programs(random.Random(options.seed))):
        program = plant(model, language, losses)
        path = build(program, os.getcwd(), f'p{i}', compiler)
        done = subprocess.run([sonde, 'search', '-q', '--format', 'json', '-o', f'run{i}', *launcher(compiler), path], capture_output=True, text=True)
        if done.returncode:
            print(f'{model} {language} {compiler} {losses}: status {done.returncode}: {done.stderr[-300:]}')
            continue
        found = json.loads(done.stdout)
        rows = [r for r in found['properties'] if not r['refined'] and r['property'] not in LOCATORS]
        told = []
        for loss in program['losses']:
            truth = loss['lost_s'] / (2 * found['phase']['mean_s'])
            # a row of one rank is a share of that rank's time
            severity = sum(r['severity'] * (lanes_of(r) / 2 if model == 'mpi' else 1) for r in rows if matches(r, loss))
            told.append((loss['kind'], round(truth, 3), round(severity, 3)))
            ratios.append(severity / truth)
            if truth < FOUND_LEAST * .9:
                continue
            sums['planted'] += 1
            if severity >= truth / 2:
                sums['found'] += 1
                errors.append(abs(severity - truth))
                sums['near'] += abs(severity - truth) <= max(.02, .2 * truth)
        strange = [(r['property'], r['function'], round(r['severity'], 3)) for r in rows
                   if r['severity'] >= NEGATIVE_MOST and not any(matches(r, loss) for loss in program['losses'])]
        if losses:
            sums['rows'] += sum(r['severity'] >= NEGATIVE_MOST for r in rows)
            sums['right'] += sum(r['severity'] >= NEGATIVE_MOST for r in rows) - len(strange)
        else:
            sums['controls'] += 1
            sums['quiet'] += not strange
        log.append({'model': model, 'language': language, 'compiler': compiler, 'told': told, 'strange': strange, 'phase_s': found['phase']['mean_s'],
                    'not_measurable': [r['property'] for r in found['not_measurable']]})
        print(f'{i} {model} {language} {compiler}: {told}' + (f' BESIDE {strange}' if strange else ''), flush=True)
        shutil.rmtree(f'run{i}', ignore_errors=True)
    if options.json:
        with open(options.json, 'w') as out:
            json.dump(log, out)
    print(f"found {sums['found']} of {sums['planted']} of 0.1 or more; of rows of {NEGATIVE_MOST} or more {sums['right']} of {sums['rows']} are planted; "
          f"severities within 20 % or 0.02: {sums['near']} of {sums['found']}, median error {statistics.median(errors):.3f}; "
          f"controls without a row: {sums['quiet']} of {sums['controls']}")


main()
