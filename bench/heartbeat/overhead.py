"""What heartbeats cost at the sites that `sonde phases` finds.

    python3 bench/heartbeat/overhead.py BUILD_FOLDER [--programs N] [--seed S] [--rounds R]

Programs: stages.c, and N random ones (bench/phases/generate.py) whose loops do a fixed amount of work. Each is
recorded, `sonde phases` names its sites, and the heartbeats are put there. Figures for each program, of its
CPU time (user and system, of all its threads, from wait4):

count      beats that were counted, times the time of a pair in a loop, over the CPU time without heartbeats
amplified  every begin is preceded by 100 more pairs in place; what these cost, divided by 100. So an effect of
           0.1 % is measured as one of 10 %, caches and branches being those of the program
limited    the same with SONDE_HEARTBEAT_COST=1 and intervals of 0.1 s, timed and only counted beats apart
A/B        with heartbeats against without, which is what is asked for, with the noise of the machine

The last two are medians of interleaved rounds with the interval that holds the median with 95 % confidence (order
statistics).
"""
import argparse
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '../phases'))
from generate import Program  # noqa: E402

MORE, RATE = 100, 20000  # pairs more in place; iterations of a loop for each second of a schedule
COUNTED_NS = 7.7  # a pair of which the beat is only counted
KINDS = ['compute', 'shared', 'loop', 'recursion', 'inlined', 'cycle', 'chain']
MACROS = '''
#include "sonde/heartbeat.h"
#ifdef WITHOUT
#define BEGIN(h) (void)0
#define END(h) (void)0
#else
static sonde_heartbeat *beats[16];
#define BEGIN(h) do { for (int more = 0; more < MORE; more++) { sonde_heartbeat_begin(beats[h]); \\
	sonde_heartbeat_end(beats[h]); } sonde_heartbeat_begin(beats[h]); } while (0)
#define END(h) sonde_heartbeat_end(beats[h])
static void beats_make(void) __attribute__((constructor));
static void beats_make(void) { for (int i = 0; i < 16; i++) beats[i] = sonde_heartbeat_by_id(i); }
#endif
static inline int begin(int h) { BEGIN(h); return h; }
static inline void end_of(int *h) { (void)h; END(*h); }
#define BODY(h) __attribute__((cleanup(end_of), unused)) int beat_of_body = begin(h);
'''


def fixed_work(source):
    """The same lines, but loops count instead of looking at the clock."""
    lines = source.split('\n')
    for i, line in enumerate(lines):
        step = 1000 if any(re.search(r'void cycle\d', before) for before in lines[max(0, i - 2):i]) else 1
        line = line.replace('while (now() < end) {', f'for (double left = end; left > 0; left -= {step}) {{')
        line = line.replace('now() + schedule[s].seconds', f'schedule[s].seconds * {RATE}')
        lines[i] = re.sub(r'\(now\(\) \+ (\d+e-3)\)', rf'(\1 * {RATE})', line)
    return '\n'.join(lines)


def insert_body(lines, name, beat):
    at = next(i for i, line in enumerate(lines) if re.match(rf'\S.*\b{name}\(', line) and lines[i + 1].startswith('{'))
    lines[at + 1] = '{ ' + f'BODY({beat})' + lines[at + 1][1:]


def insert_loop(lines, first, beat):
    """`first` is the loop's first line, or that of its body."""
    at = next(i for i in (first - 1, first - 2, first) if re.match(r'\s*(for|while) \(', lines[i]))
    indent = re.match(r'\s*', lines[at]).group()
    if not lines[at].endswith('{'):
        lines[at] += ' {'
        lines[at + 1] = f'{indent}BEGIN({beat}); {lines[at + 1].strip()} END({beat}); }}'
        return
    end = next(i for i in range(at + 1, len(lines)) if re.match(indent + r'\}', lines[i]))
    lines[at] += f' BEGIN({beat});'
    lines[end] = f'{indent}END({beat}); {lines[end].strip()}'


def insert(source, sites):
    lines = source.split('\n')
    for beat, site in enumerate(sites):
        if site['type'] == 'body':
            insert_body(lines, site['function'], beat)
        else:
            insert_loop(lines, int(site['loop_label'].rsplit(':', 1)[1].split('-')[0]), beat)
    return MACROS + '\n'.join(lines)


class Bench:
    def __init__(self, build):
        self.sonde = os.path.join(build, 'sonde')
        self.library = os.path.join(build, 'src/runtime/heartbeat/libsonde-heartbeat.so')
        self.environment = dict(os.environ, SONDE_HEARTBEAT_DIR='beats')

    def compile(self, name, source, *options):
        with open(name + '.c', 'w') as out:
            out.write(source)
        subprocess.run(['gcc', '-O2', '-g', '-w', '-I', here + '/../../include', *options, name + '.c', '-o', name, '-lm',
                        self.library, '-Wl,-rpath,' + os.path.dirname(self.library), '-lpthread'], check=True)

    def sites(self, program):
        subprocess.run(['rm', '-rf', 'run'], check=True)
        subprocess.run([self.sonde, 'record', '-o', 'run', program], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        found = json.loads(subprocess.run([self.sonde, 'phases', 'run', '--interval', '0.1', '--format', 'json'],
                                          capture_output=True, check=True, text=True).stdout)
        by_number = {s['heartbeat']: s for p in found['phases'] for s in p['sites'] if not s['alternative']}
        return list(by_number.values())

    def cpu_s(self, program):
        process = subprocess.Popen([program], env=self.environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, program
        return usage.ru_utime + usage.ru_stime

    def beats(self, program, **settings):
        """Beats that were timed, and that were only counted."""
        subprocess.run(['rm', '-rf', 'beats'], check=True)
        subprocess.run([program], env=dict(self.environment, **settings), stdout=subprocess.DEVNULL, check=True)
        rows = [json.loads(line) for path in glob.glob('beats/*.jsonl') for line in open(path)]
        timed = sum(sum(row.get('histogram', [])) for row in rows)
        return timed, sum(row.get('count', 0) for row in rows) - timed

    def pair_ns(self):
        source = MACROS + '''#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(void) { for (int round = 0; round < 21; round++) { double from = now(); for (int i = 0; i < 500000; i++) { BEGIN(0); END(0); }
	printf("%f\\n", (now() - from) / 500000); } return 0; }'''
        self.compile('pair', source, '-DMORE=0')
        out = subprocess.run(['./pair'], env=self.environment, capture_output=True, text=True, check=True).stdout
        return statistics.median(map(float, out.split()))


def interval(values):
    """The median and the order statistics around it that hold it with 95 % confidence (binomial, 0.5)."""
    values, n = sorted(values), len(values)
    low = 0
    while sum(math.comb(n, k) for k in range(low + 1)) / 2 ** n <= 0.025:
        low += 1
    low = max(low - 1, 0)
    return statistics.median(values), values[low], values[n - 1 - low]


def percent(values):
    return '{:+.3f} % ({:+.3f} to {:+.3f})'.format(*(100 * x for x in interval(values)))


def measure(bench, name, source, sites, rounds, pair_ns):
    kinds = [('-DWITHOUT',), ('-DMORE=0',), (f'-DMORE={MORE}',)]
    for number, options in enumerate(kinds):
        bench.compile(f'app{number}', source, *options)
    beats, _ = bench.beats('./app1')
    timed, counted = bench.beats('./app1', SONDE_HEARTBEAT_COST='1', SONDE_HEARTBEAT_INTERVAL='0.1')
    times = []
    for turn in range(rounds):  # none of them always runs after the same other
        times.append([0.0] * 3)
        for number in [(turn + k) % 3 for k in range(3)][::1 if turn // 3 % 2 else -1]:
            times[-1][number] = bench.cpu_s(f'./app{number}')
    alone = statistics.median(row[0] for row in times)
    count = beats * pair_ns * 1e-9 / alone
    limited = (timed * pair_ns + counted * COUNTED_NS) * 1e-9 / alone
    amplified = [(many - one) / MORE / alone for _, one, many in times]
    print(f'{name:42} {sites} sites {alone:6.3f} s {beats / alone:9,.0f} beats/s  count {100 * count:.3f} %  limited {100 * limited:.3f} %  amplified '
          f'{percent(amplified)}  A/B {percent([one / none - 1 for none, one, _ in times])}', flush=True)
    return count, statistics.median(amplified), limited


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--programs', type=int, default=8)
    parser.add_argument('--seed', type=int, default=5000)
    parser.add_argument('--rounds', type=int, default=11)
    how = parser.parse_args()
    bench = Bench(os.path.abspath(how.build))
    os.chdir(tempfile.mkdtemp())
    pair_ns = bench.pair_ns()
    print(f'a pair takes {pair_ns:.1f} ns; all of these are of CPU time, of the median of {how.rounds} rounds')
    stages = open(here + '/stages.c').read()
    bench.compile('plain', stages, '-DSONDE_HEARTBEAT_DISABLE')
    sources = [('stages.c', stages)]
    for seed in range(how.seed, how.seed + how.programs):
        program = Program(seed, seconds=2.0)
        kinds = [kind if kind in KINDS else 'compute' for kind in program.kinds]
        sources.append((' '.join(kinds), fixed_work(Program(seed, kinds=kinds, seconds=2.0).source)))
    costs = []
    for name, source in sources:
        bench.compile('plain', source)
        sites = bench.sites('./plain')
        costs.append(measure(bench, name, insert(source, sites), len(sites), how.rounds, pair_ns))
    worst = [100 * max(column) for column in zip(*costs)]
    print('worst: count {:.3f} %, amplified {:.3f} %, limited {:.3f} %'.format(*worst))


if __name__ == '__main__':
    main()
