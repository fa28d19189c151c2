"""What tracing OpenMP costs an event: plain, recorded, and recorded with --openmp, in turns, by libgomp and libomp.

    python3 bench/collector/openmp.py SONDE [ROUNDS]

Prints ns an event: medians over the rounds, and the median of the differences to plain within a round."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sonde = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
here = os.path.dirname(os.path.abspath(__file__))
folder = tempfile.mkdtemp(prefix='openmp-')
HOW = {'plain': [], 'recorded': ['record', '-q', '--clock', 'off'], 'traced': ['record', '-q', '--clock', 'off', '--openmp']}
print(f"{'ns an event':20} {'plain':>9} {'recorded':>9} {'traced':>9} {'+ recorded':>11} {'+ traced':>9}")
for compiler in ('gcc', 'clang'):
    program = os.path.join(folder, compiler)
    if subprocess.run([compiler, '-O2', '-fopenmp', os.path.join(here, 'openmp.c'), '-o', program], capture_output=True).returncode:
        print(f'{compiler}: cannot build for OpenMP')
        continue
    for kind in ('region1', 'region2', 'critical', 'lock', 'barrier', 'task'):
        took = {how: [] for how in HOW}
        for turn in range(rounds):
            for how in list(HOW) if turn % 2 else reversed(HOW):
                words = [sonde, *HOW[how], '-o', os.path.join(folder, f'e{compiler}{kind}{how}{turn}')] if HOW[how] else []
                out = subprocess.run([*words, program, kind], capture_output=True, text=True, check=True, cwd=folder)
                took[how].append(float(out.stdout))
        more = {how: statistics.median(x - p for x, p in zip(took[how], took['plain'])) for how in HOW}
        print(f"{compiler + ' ' + kind:20} " + ' '.join(f'{statistics.median(took[how]):9.1f}' for how in HOW) +
              f"{more['recorded']:12.1f} {more['traced']:9.1f}", flush=True)
shutil.rmtree(folder)
