"""CPU time of sampling from outside, beside perf record --call-graph dwarf, on a static program.

    python3 bench/outside.py [SONDE]         about 40 s

Counts the CPU time of the program and of the sampler together, against the program alone: medians of
interleaved runs, at 35 and 200 frames without frame pointers. Prints the size of what is stored, too.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = r'''
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) static unsigned deep(unsigned depth)
{
	volatile char room[60];
	unsigned got;
	room[depth % 60] = 1;
	if (!depth)
		for (unsigned i = 0; i < 3000000000u; i++)
			sink = sink * 3 + i;
	got = depth ? deep(depth - 1) : sink;
	return got + room[depth % 60];
}
int main(int argc, char **argv)
{
	return deep(argc > 1 ? (unsigned)atoi(argv[1]) : 0) & 0;
}
'''
ROUNDS = 3


def cpu_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size_bytes(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


sonde = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else 'build/sonde')
os.chdir(tempfile.mkdtemp(prefix='bench-outside-'))
with open('deep.c', 'w') as out:
    out.write(SOURCE)
subprocess.run(['gcc', '-O1', '-fomit-frame-pointer', '-static', 'deep.c', '-o', 'deep'], check=True)
for depth in ('35', '200'):
    peers = {'plain': [], 'sonde': []}
    if shutil.which('perf'):
        peers['perf'] = []
    for i in range(ROUNDS):
        peers['plain'].append(cpu_s(['./deep', depth]))
        peers['sonde'].append(cpu_s([sonde, 'record', '-o', f'e{depth}.{i}', './deep', depth]))
        if 'perf' in peers:
            peers['perf'].append(cpu_s(['perf', 'record', '-F', '1000', '--call-graph', 'dwarf,32768', '-o', 'perf.data',
                                        './deep', depth]))
    plain = statistics.median(peers['plain'])
    sizes = {'sonde': size_bytes(f'e{depth}.0'), 'perf': size_bytes('perf.data') if 'perf' in peers else 0}
    for name, times in peers.items():
        if name != 'plain':
            print(f'{depth:>4} frames  {name:6} +{100 * (statistics.median(times) / plain - 1):5.1f} % CPU'
                  f'  {sizes[name] / 1000:9.0f} kB  ({plain:.2f} s plain)')
shutil.rmtree(os.getcwd())
