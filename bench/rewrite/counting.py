"""What counting instances costs: CPU time of all processes, by that of the plain run, in interleaved turns.

    counting.py SONDE [TURNS] [NAME...]

`sampled` is the same command with --keep-text: all but the counting.
"""
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {'nest': ['./nest', '3000'], 'gzip6': ['gzip', '-6', '-c', 'text'], 'gzip9': ['gzip', '-9', '-c', 'text'],
            'xz6': ['xz', '-6', '-T1', '-c', 'short']}


def write_text(bytes_wanted):
    """Lines of words, the same each time; xz has the first 3 MB."""
    draw = random.Random(1)
    words = [''.join(draw.choice('etaoinshrdlucmfwypvbgkjqxz'[:draw.choice([6, 12, 20, 26])]) for _ in range(draw.randint(2, 11)))
             for _ in range(20000)]
    with open('text', 'w') as out:
        while out.tell() < bytes_wanted:
            out.write(' '.join(words[min(int(draw.paretovariate(.6)) - 1, 19999)] for _ in range(draw.randint(1, 20))) + '\n')
    with open('text') as whole, open('short', 'w') as out:
        out.write(whole.read(3000000))


def cpu_of(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    sonde = os.path.abspath(sys.argv[1])
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    os.chdir(tempfile.mkdtemp())
    subprocess.run(['gcc', '-O2', '-g', os.path.join(HERE, 'nest.c'), '-o', 'nest'], check=True)
    write_text(40000000)
    for name in sys.argv[3:] or PROGRAMS:
        plain = PROGRAMS[name]
        subprocess.run([sonde, 'record', '--quiet', '-o', 'first', '--', *plain], stdout=subprocess.DEVNULL, check=True)
        vprof = [sonde, 'vprof', '--from', 'first', '-o', 'run']
        took = {'plain': [], 'sampled': [], 'counted': []}
        for _ in range(turns):
            for mode, words in (('plain', []), ('sampled', [*vprof, '--keep-text', '--']), ('counted', [*vprof, '--'])):
                shutil.rmtree('run', ignore_errors=True)
                took[mode].append(cpu_of(words + plain))
        for mode, times in took.items():
            ratios = sorted(a / b for a, b in zip(times, took['plain']))
            print(f'{name} {mode}: {statistics.median(times):.2f} s, {statistics.median(ratios):.3f} '
                  f'({ratios[0]:.3f} to {ratios[-1]:.3f})', flush=True)
        shutil.rmtree('first')


main()
