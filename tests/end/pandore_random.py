"""Random programs under six distributions: bit-identical to sequential C, and the profiler agrees with
what the transport sent and with what --explain foretold.

pandore_random.py SONDE FIRST COUNT [NODES,..] [SCHEME,..] [BACKEND,..]
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pandore'))
import generate

sonde, first, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
nodes = [int(p) for p in (sys.argv[4] if len(sys.argv) > 4 else '1,2,3,4,7').split(',')]
schemes = (sys.argv[5] if len(sys.argv) > 5 else 'naive,opt').split(',')
backends = (sys.argv[6] if len(sys.argv) > 6 else 'local').split(',')
mpirun = {'local': None, 'openmpi': 'mpirun.openmpi', 'mpich': 'mpirun.mpich'}
number = 0
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                  OMPI_MCA_rmaps_base_oversubscribe='1', OMPI_MCA_btl_vader_single_copy_mechanism='none')


def report(holds, name, *notes):
    global number
    number += 1
    for note in [] if holds else notes:
        print('#', str(note).replace('\n', '\n# '))
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, **more)


def traffic(profile):
    pairs = collections.Counter()
    for row in json.load(open(profile))['traffic']:
        pairs[row['from'], row['to'], 'messages'] += row['messages']
        pairs[row['from'], row['to'], 'bytes'] += row['bytes']
    return pairs


def counted(path):
    pairs = collections.Counter()
    for line in open(path) if os.path.exists(path) else []:
        a, b, messages, size = map(int, line.split())
        pairs[a, b, 'messages'] += messages
        pairs[a, b, 'bytes'] += size
    return pairs


def calls_of(phase, source):
    """Each call stands in a loop of its own: "step < COUNT" is the last before it."""
    counts, begin = 0, 0
    while (at := source.find(phase + '(N,', begin)) >= 0:
        counts += int(re.findall(r'step < (\d+)', source[:at])[-1])
        begin = at + 1
    return counts


def foretold(text, source):
    """Arcs of --explain, or None where it says that they depend on data."""
    if 'depend' in text or not text:
        return None
    pairs = collections.Counter()
    for phase in text.split('in one call of ')[1:]:
        calls = calls_of(phase.split()[0].rstrip(':'), source)
        for a, b, messages, size in re.findall(r'node (\d+) -> node (\d+): (\d+) messages?, (\d+) bytes?', phase):
            pairs[int(a), int(b), 'messages'] += int(messages) * calls
            pairs[int(a), int(b), 'bytes'] += int(size) * calls
    return pairs


def one(folder, prog, p, scheme, backend, want):
    name = f"program {prog['seed']}, {p} nodes, {scheme}, {backend}"
    source, exe = os.path.join(folder, 'a.pnd'), os.path.join(folder, 'a')
    counts, profile = os.path.join(folder, 'counts'), os.path.join(folder, 'profile')
    for old in (counts, profile, exe):
        if os.path.exists(old):
            os.unlink(old)
    open(source, 'w').write(generate.pandore(prog, p))
    words = [sonde, 'pandore', 'compile', source, '-o', exe, '--scheme', scheme, '--profile', '--explain',
             '--strip', str(1 + prog['seed'] % 5)]
    if prog['late']:
        words += ['--nodes', str(p)]
    if backend != 'local':
        words += ['--backend', 'mpi', '--cc', f'mpicc.{backend}']
    made = run(words + ['--', '-O1', '-w'])
    if made.returncode:
        report(False, name + ': compiles', made.stdout + made.stderr)
        return
    launch = [exe] + (['--nodes', str(p)] if prog['late'] else []) if backend == 'local' else [mpirun[backend], '-np', str(p + 1), exe]
    try:
        ran = run(launch, env=dict(os.environ, PANDORE_COUNTS=counts, SONDE_PANDORE_PROFILE=profile))
    except subprocess.TimeoutExpired:
        report(False, name + ': ends', 'it ran for more than two minutes')
        return
    report(ran.returncode == 0 and ran.stdout == want, name + ': bit-identical', ran.stderr, ran.stdout, want)
    if ran.returncode == 0:
        seen, sent, told = traffic(profile), counted(counts), foretold(made.stdout, open(source).read())
        report(seen == sent and (told is None or told == seen) and 'ended with signal' not in made.stdout, name + ': foretold = profiled = counted',
               f'profiled {sorted(seen.items())}', f'counted {sorted(sent.items())}',
               f'foretold {told and sorted(told.items())}')
    if os.environ.get('KEEP'):
        shutil.copytree(folder, os.environ['KEEP'], dirs_exist_ok=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            prog = generate.program(seed)
            c = os.path.join(folder, 's.c')
            open(c, 'w').write(generate.sequential(prog))
            run(['gcc', '-std=gnu11', '-w', '-O1', '-ffp-contract=off', c, '-o', c[:-2], '-lm'], check=True)
            want = run([c[:-2]], check=True).stdout
            for backend in backends:
                if mpirun[backend] and not shutil.which(mpirun[backend]):
                    global number
                    number += 1
                    print(f'ok {number} - program {seed} # SKIP {mpirun[backend]} is not installed')
                    continue
                for p in nodes:
                    for scheme in schemes:
                        one(folder, prog, p, scheme, backend, want)
    print(f'1..{number}')


main()
