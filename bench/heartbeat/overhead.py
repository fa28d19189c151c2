"""What heartbeats cost at the sites that `sonde phases` finds: overhead.py SONDE LIBRARY [ROUNDS [PAIRS]].

stages.c is built with and without heartbeats; CPU times of interleaved runs, median of the ratios of neighbours.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sonde, library = map(os.path.abspath, sys.argv[1:3])
rounds = sys.argv[3] if len(sys.argv) > 3 else '60000'
pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 15
os.chdir(tempfile.mkdtemp())
common = ['gcc', '-O2', '-g', '-I', here + '/../../include', here + '/stages.c', '-lm']
subprocess.run(common + ['-DSONDE_HEARTBEAT_DISABLE', '-o', 'without'], check=True)
subprocess.run(common + ['-o', 'with', library, '-Wl,-rpath,' + os.path.dirname(library), '-lpthread'], check=True)
subprocess.run([sonde, 'record', './without', rounds], check=True, capture_output=True)
print(subprocess.run([sonde, 'phases'], capture_output=True, text=True).stdout)
environment = dict(os.environ, SONDE_HEARTBEAT_DIR='beats', LD_LIBRARY_PATH=os.path.dirname(library))


def seconds(name):
    return float(subprocess.run(['./' + name, rounds], env=environment, capture_output=True, text=True).stdout)


times = [(seconds('without'), seconds('with')) for _ in range(pairs)]
ratios = sorted(b / a for a, b in times)
print(f'without {statistics.median(a for a, b in times):.4f} s, with {statistics.median(b for a, b in times):.4f} s, '
      f'{3 * int(rounds):,} pairs: {100 * (statistics.median(ratios) - 1):+.2f} % '
      f'(quartiles {100 * (ratios[pairs // 4] - 1):+.2f} to {100 * (ratios[3 * pairs // 4] - 1):+.2f} %)')
