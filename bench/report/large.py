#!/usr/bin/env python3
"""CPU time and peak memory of sonde's commands on large experiments, beside perf and gprofng.

    python3 bench/report/large.py BUILD [ROUNDS]

1. 1.3 million made samples of 300,000 stacks (bench_large_experiment): report, show summary, show functions.
2. Experiments of 64, 128 and 256 processes, each a copy of 20,000 samples of 5,000 stacks: show functions.
3. A program of deep random recursion, where nearly every sample has a stack of its own: recorded by all
   three tools at 10 kHz, then each tool's report, as ratios to perf's time for each sample.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

DEEP = r'''
#include <stdlib.h>
static unsigned long state = 88172645463325252ul;
static volatile unsigned long sink;
static unsigned random_next(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (unsigned)(state >> 11);
}
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define DECLARE(n) static void f##n(int depth);
#define NAME(n) f##n,
EACH(DECLARE)
static void (*const all[])(int) = { EACH(NAME) };
#define DEFINE(n) __attribute__((noinline)) static void f##n(int depth) \
	{ if (depth) all[random_next() & 15](depth - 1); else for (int i = 0; i < 3000; i++) sink += i; sink++; }
EACH(DEFINE)
int main(int count, char **words)
{
	for (long n = count > 1 ? atol(words[1]) : 1; n > 0; n--)
		all[random_next() & 15](22);
}
'''


def cpu(*words):
    """CPU seconds and peak memory in MB of one command, its children included."""
    pid = os.fork()
    if not pid:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1), os.dup2(null, 2)
        os.execvp(words[0], words)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f'{words}: failed ({status})')
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def best(rounds, *words):
    return min(cpu(*words) for _ in range(rounds))


def ranks(folder, count):
    """An experiment of so many processes: copies of one data file under other names."""
    out = f'{folder}/ranks.{count}'
    os.mkdir(out)
    shutil.copy(f'{folder}/small/launch-key', out)
    launch = json.load(open(f'{folder}/small/launch.bench.1.json'))
    for pid in range(1, count + 1):
        shutil.copy(f'{folder}/small/bench.1.data', f'{out}/bench.{pid}.data')
        json.dump(dict(launch, pid=pid), open(f'{out}/launch.bench.{pid}.json', 'w'))
    return out


def deep(folder, sonde, rounds):
    open(f'{folder}/deep.c', 'w').write(DEEP)
    subprocess.run(['gcc', '-O1', '-g', '-fno-omit-frame-pointer', '-o', f'{folder}/deep', f'{folder}/deep.c'],
                   check=True)
    run = [f'{folder}/deep', '700000']
    cpu(sonde, 'record', '--clock', '10000', '-o', f'{folder}/deep.sonde', *run)
    cpu('perf', 'record', '-F', '10000', '-g', '-o', f'{folder}/deep.perf', *run)
    samples = {'sonde': json.loads(subprocess.run(
        [sonde, 'show', 'summary', f'{folder}/deep.sonde', '--format', 'json'],
        capture_output=True, check=True).stdout)['samples']}
    samples['perf'] = subprocess.run(['perf', 'script', '-F', 'comm,event', '-G', '-i', f'{folder}/deep.perf'],
                                     capture_output=True, text=True).stdout.count('\n')
    rows = {('perf', 'perf report --stdio'): best(rounds, 'perf', 'report', '--stdio', '-i', f'{folder}/deep.perf'),
            ('sonde', 'show functions'): best(rounds, sonde, 'show', 'functions', f'{folder}/deep.sonde'),
            ('sonde', 'show tree'): best(rounds, sonde, 'show', 'tree', f'{folder}/deep.sonde'),
            ('sonde', 'report'): best(rounds, sonde, 'report', f'{folder}/deep.sonde')}
    if shutil.which('gprofng'):
        cpu('gprofng', 'collect', 'app', '-p', 'hi', '-O', f'{folder}/deep.er', *run)
        rows['gprofng', 'gprofng display text -functions'] = best(
            rounds, 'gprofng', 'display', 'text', '-functions', f'{folder}/deep.er')
    whole = rows['perf', 'perf report --stdio'][0] / samples['perf']
    for (tool, what), (seconds, mb) in rows.items():
        ratio = '' if tool == 'gprofng' else f', {seconds / samples[tool] / whole:.2f} of perf a sample'
        number = '' if tool == 'gprofng' else f' of {samples[tool]} samples'
        print(f'deep{number}: {what}: {seconds:.2f} s, {mb:.0f} MB{ratio}')


def main():
    build, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    sonde, make = f'{build}/sonde', f'{build}/bench/bench_large_experiment'
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        cpu(make, f'{folder}/large', sonde)
        for words in (['show', 'summary'], ['show', 'functions'], ['phases'], ['report']):
            print('1.3 million samples: %s: %.2f s, %.0f MB' %
                  (' '.join(words), *best(rounds, sonde, *words, f'{folder}/large')))
        cpu(make, f'{folder}/small', sonde, '20000', '5000')
        for count in (64, 128, 256):
            print('%d processes: show functions: %.2f s, %.0f MB' %
                  (count, *best(rounds, sonde, 'show', 'functions', ranks(folder, count))))
        deep(folder, sonde, rounds)


main()
