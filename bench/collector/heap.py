"""What an event of the heap costs: the modes of sonde record --heap beside heaptrack and gprofng, in one run.

    python3 bench/collector/heap.py BUILD [ROUNDS [PROGRAM...]]

CPU time of all processes (target, recorder), less that of the plain program, over the number of mallocs and frees: ns an
event, the median of the rounds, whose order alternates. Then bytes an event on disk, by mode, and the time to a table of ten million
events. gprofng runs a thirtieth of the storm's rounds, as it takes so long."""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

sonde = os.path.join(os.path.abspath(sys.argv[1]), 'sonde')
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
chosen = sys.argv[3:]
folder = tempfile.mkdtemp(prefix='heap-')
os.chdir(folder)

STORM = '''
#include <stdlib.h>
#include <stdio.h>
#include <pthread.h>
static long rounds;
static int depth;
static __attribute__((noipa)) void storm(void)
{
	for (long i = 0; i < rounds; i++) {
		void *volatile a = malloc(40), *volatile b = malloc(300);
		free(a);
		free(b);
	}
}
static __attribute__((noipa)) void down(int left) { if (left) down(left - 1); else storm(); __asm__ volatile(""); }
static __attribute__((noipa)) void *leaf(int n) { void *p = malloc(n + 16); __asm__ volatile(""); return p; }
static __attribute__((noipa)) void *tree(unsigned path, int left)
{
	void *p;
	if (!left) return leaf((int)path & 127);
	if (path & 1) { p = tree(path >> 1, left - 1); __asm__ volatile(""); return p; }
	p = tree(path >> 1, left - 1); __asm__ volatile("nop"); return p;
}
static __attribute__((noipa)) void paths(void)
{
	unsigned state = 1;
	for (long i = 0; i < 2 * rounds; i++) {
		state = state * 1664525u + 1013904223u;
		free(tree(state >> 16, 8));
	}
}
static void *thread(void *unused) { down(depth); return unused; }
int main(int count, char **words)
{
	pthread_t other;
	rounds = atol(words[1]);
	depth = atoi(words[2]);
	if (count > 3 && words[3][0] == 'p') paths();
	else if (count > 3) { pthread_create(&other, NULL, thread, NULL); down(depth); pthread_join(other, NULL); }
	else down(depth);
	return 0;
}
'''
with open('storm.c', 'w') as out:
    out.write(STORM)
subprocess.run(['gcc', '-O2', '-g', '-w', '-pthread', 'storm.c', '-o', 'storm'], check=True)
# events, the words of the program, the share of them for slow tools
PROGRAMS = {
    'storm, 2 frames': (4000000, ['./storm', '1000000', '0']),
    'storm, 30 frames': (4000000, ['./storm', '1000000', '30']),
    'storm, two threads': (8000000, ['./storm', '1000000', '0', 'threads']),
    'storm, 256 paths': (4000000, ['./storm', '1000000', '0', 'paths']),
}


def cpu_of(words, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)  # heaptrack may end by SIGPIPE
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sonde_words(words, mode='trace'):
    name = 'e' if mode == 'trace' else mode
    shutil.rmtree(name, ignore_errors=True)
    return [sonde, 'record', '-q', f'--heap={mode}', '--clock', 'off', '-o', name, *words]


def heaptrack_words(words):
    return ['heaptrack', '-o', os.path.join(folder, 'h'), *words]


def gprofng_words(words):
    shutil.rmtree('g.er', ignore_errors=True)
    return ['gprofng', 'collect', 'app', '-p', 'off', '-H', 'on', '-O', 'g.er', words[0], str(int(words[1]) // 30), *words[2:]]


TOOLS = {'plain': (lambda words: words, 1), 'sonde': (sonde_words, 1),
         'aggregate': (lambda words: sonde_words(words, 'aggregate'), 1),
         'sample': (lambda words: sonde_words(words, 'sample'), 1), 'heaptrack': (heaptrack_words, 1),
         'gprofng': (gprofng_words, 30)}
tools = [tool for tool in TOOLS if tool in ('plain', 'sonde', 'aggregate', 'sample') or shutil.which(tool)]


def size_of(experiment):
    return sum(os.path.getsize(os.path.join(experiment, name)) for name in os.listdir(experiment) if '.trace' in name)


print(f"{'ns an event':20}" + ''.join(f'{tool:>12}' for tool in tools) + f"{'heaptrack/sonde':>18}{'bytes an event':>16}{'of aggregate':>16}{'of sample':>16}")
for name, (events, words) in PROGRAMS.items():
    if chosen and not any(word in name for word in chosen):
        continue
    times = {tool: [] for tool in tools}
    for turn in range(rounds):
        for tool in tools if turn % 2 else reversed(tools):
            make, part = TOOLS[tool]
            if tool == 'gprofng' and turn:
                continue
            plain = cpu_of([words[0], str(int(words[1]) // part), *words[2:]]) if part > 1 else None
            used = cpu_of(make(words))
            times[tool].append((used - plain) * part if part > 1 else used)
    plain = statistics.median(times['plain'])
    cost = {tool: (statistics.median(times[tool]) - (plain if TOOLS[tool][1] == 1 and tool != 'plain' else 0)) / events * 1e9
            for tool in tools}
    ratio = cost['heaptrack'] / cost['sonde'] if 'heaptrack' in cost else float('nan')
    print(f'{name:20}' + ''.join(f'{cost[tool]:12.1f}' for tool in tools) +
          f'{ratio:18.1f}' + ''.join(f'{size_of(e) / events:16.4f}' for e in ('e', 'aggregate', 'sample')), flush=True)

words = ['./storm', '2500000', '0']
subprocess.run(sonde_words(words), check=True, stdout=subprocess.DEVNULL)
ours = statistics.median(cpu_of([sonde, 'show', 'heap', 'e']) for _ in range(3))
print(f'ten million events to a table: sonde {ours:.2f} s', end='')
if 'heaptrack' in tools:
    for file in os.listdir('.'):
        if file.startswith('h.'):
            os.remove(file)
    subprocess.run(heaptrack_words(words), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    file = [file for file in os.listdir('.') if file.startswith('h.')][0]
    theirs = statistics.median(cpu_of(['heaptrack_print', file]) for _ in range(3))
    print(f', heaptrack_print {theirs:.2f} s', end='')
print()
shutil.rmtree(folder)
