"""The same jobs in Pandore C and by hand in C and MPI: the same results, and the ratio of their times.

run.py SONDE [TURNS] [NODES,..] [PROGRAM,..]

Turns alternate between the two. Of each pair the ratio is taken, and its median is printed: the machine may be loaded.
"""
import os
import statistics
import subprocess
import sys
import tempfile

sonde, turns = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 7
nodes = sys.argv[3].split(',') if len(sys.argv) > 3 else ['2', '4']
here = os.path.dirname(os.path.abspath(__file__))
programs = sys.argv[4].split(',') if len(sys.argv) > 4 else ['move', 'jacobi', 'relax', 'product', 'gauss', 'floyd', 'fft', 'redblack', 'cg', 'mg']
mpi = os.environ.get('MPI', 'openmpi')
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_rmaps_base_oversubscribe='1')


def timed(name, p):
    said = subprocess.run([f'mpirun.{mpi}', '-np', p, './' + name], capture_output=True, text=True, check=True).stdout.split()
    return said[0], float(said[1])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    print(f'{"program":10} {"nodes":>5} {"sonde s":>9} {"hand s":>9} {"ratio":>6}')
    for name in programs:
        source = os.path.join(here, name)
        subprocess.run([f'mpicc.{mpi}', '-O2', '-ffp-contract=off', '-w', source + '.c', '-o', 'hand', '-lm'], check=True)
        for p in nodes:
            subprocess.run([sonde, 'pandore', 'compile', source + '.pnd', '-D', 'P=' + p, '--backend', 'mpi', '--cc', f'mpicc.{mpi}',
                            '--host-inside', '-o', 'ours'], check=True)
            ours, hand = [], []
            for _ in range(turns):
                (ours_sum, a), (hand_sum, b) = timed('ours', p), timed('hand', p)
                assert ours_sum == hand_sum, (name, ours_sum, hand_sum)
                ours.append(a)
                hand.append(b)
            ratio = statistics.median(a / b for a, b in zip(ours, hand))
            print(f'{name:10} {p:>5} {statistics.median(ours):9.4f} {statistics.median(hand):9.4f} {ratio:6.2f}', flush=True)
