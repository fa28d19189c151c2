"""sonde phases: programs whose phases we know; output formats; little and bad data."""
import csv
import io
import json
import os
import re
import struct
import sys
import xml.dom.minidom

from sonde_test import HERE, Test

sys.path.insert(0, os.path.join(HERE, '../../bench/phases'))
from generate import Program  # noqa: E402
from score import score, time_zero_ns, truth_of  # noqa: E402

t = Test()


def record(name, program):
    # one file name for all: runs of one program are compared by the names of its sites
    path = os.path.join(t.folder, f'{name}.source', 'phased.c')
    os.mkdir(os.path.dirname(path))
    with open(path, 'w') as out:
        out.write(program.source)
    app = t.compile(path, '-O2', '-g', '-lm', output=f'./{name}.app')
    return t.run('record', '-o', name, app, f'{name}.truth')


def json_of(*words):
    done = t.run(*words, '--format', 'json')
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f'sonde {" ".join(words)}: {done.returncode}, {len(done.stdout)} bytes: {done.stderr}')
    return json.loads(done.stdout)


def phases_of(name, *options):
    return json_of('phases', name, *options)


# ---- five phases, two of them loops of one function, one that reads and writes, one that waits ----
program = Program(7, kinds=['shared', 'loop', 'loop', 'io', 'wait'], seconds=4.5)
run = record('five', program)
t.equal(run.returncode, 0, 'the program is recorded')
found = phases_of('five', '--interval', '0.1')
truth = truth_of('five.truth', time_zero_ns('five'), found['intervals'])
ari, right, wanted = score(found, truth, program.sites)
t.check(ari >= 0.85, 'the intervals are grouped as the program was written', ari, found['intervals'])
t.check(right >= wanted - 1, 'the planted function and loop is the site', right, wanted, found['phases'])
t.equal((found['schema'], found['experiment'], found['interval_s'], found['method']),
        ('sonde.phases/1', 'five', 0.1, 'silhouette'), 'json says what it is')
t.equal([row['k'] for row in found['clustering']], list(range(1, 9)), 'every k is told')
t.check(found['clustering'][0]['silhouette'] is None, 'the silhouette of one cluster is unknown')
t.check(all(a['inertia'] >= b['inertia'] for a, b in zip(found['clustering'], found['clustering'][1:])),
        'inertia falls with k', found['clustering'])
t.check(abs(sum(p['share'] for p in found['phases']) - 1) < 1e-9, 'shares add up to 1')
first = [row['phase'] for row in found['intervals'] if row['phase'] is not None]
t.equal(sorted(set(first), key=first.index), list(range(len(found['phases']))), 'ids are by first appearance')
t.equal([p['interval_count'] for p in found['phases']], [first.count(p) for p in range(len(found['phases']))],
        'interval counts are those of the ribbon')
t.check(all(b['t0_s'] == a['t1_s'] for a, b in zip(found['intervals'], found['intervals'][1:])),
        'intervals follow each other on one grid')
t.equal({s['type'] for p in found['phases'] for s in p['sites']} - {'body', 'loop'}, set(), 'sites are body or loop')
t.equal(t.run('phases', 'five', '-i', '0.1', '-f', 'json').stdout, t.run('phases', 'five', '-i', '0.1', '-f', 'json').stdout,
        'the same experiment gives the same bytes')
t.equal(t.run('show', 'phases', 'five', '--format', 'json').stdout, t.run('phases', 'five', '--format', 'json').stdout,
        'show phases is phases --format json')
rows = list(csv.DictReader(io.StringIO(t.run('phases', 'five', '--format', 'csv', '-i', '0.1').stdout)))
t.check({'phase', 'heartbeat', 'function', 'phase_share', 'app_share', 'type', 'loop_label'} <= set(rows[0]),
        'csv has the columns of the paper, and more', rows[0])
ribbon = list(csv.DictReader(io.StringIO(t.run('phases', 'five', '--intervals', '-f', 'csv', '-i', '0.1').stdout)))
t.equal([r['phase'] for r in ribbon], ['' if r['phase'] is None else str(r['phase']) for r in found['intervals']],
        'the ribbon as csv is that of json')
text = t.run('phases', 'five', '-i', '0.1').stdout
t.check('Phase ID' in text and 'silhouette' in text and 'inertia' in text and 'calls: estimated' in text,
        'text has the table, every k, and where the calls come from', text)
paper = phases_of('five', '--interval', '0.1', '--k', 'elbow', '--sites', 'paper')
t.equal((paper['method'], paper['sites_method']), ('elbow', 'paper'), 'the method of the paper')
t.equal(len(paper['phases']), paper['k_clusters'], 'which joins no phases')
t.equal(phases_of('five', '--k', '3', '-i', '0.1')['k_clusters'], 3, 'a number of clusters can be given')
t.equal(len(phases_of('five', '--time', '0-1', '-i', '0.1')['intervals']), 10, 'a part of the run')

# ---- one phase, of parts shorter than an interval ----
program = Program(8, kinds=['cycle'], seconds=2)
record('one', program)
found = phases_of('one', '--interval', '0.1')
t.equal(len(found['phases']), 1, 'one phase is one phase')
steps = {row['function']: row for row in found['cyclic']}
t.check(any(name.startswith('step0_') for name in steps), 'its parts are cyclic', found['cyclic'])
t.check(all(row['calls'] is None or row['mean_s'] > 0 for row in found['cyclic']), 'with time per call')
t.check(not any(row['calls_are_exact'] for row in found['cyclic']), 'calls seen by samples are a bound in json')
text = t.run('phases', 'one', '-i', '0.1').stdout
t.equal(sum(1 for row in found['cyclic'] if row['calls']), len(re.findall(r'>= [0-9]+ +<= [0-9.e-]+', text)),
        'and in text')

# ---- where a heartbeat would cost more than the work ----
tight = t.compile('''__attribute__((noinline)) unsigned step(unsigned x) { return x * 1664525u + 1013904223u; }
int main(void)
{
	unsigned x = 1;
	for (long i = 0; i < 400000000; i++)
		x = step(x);
	return x == 7;
}
''', '-O1', '-g', output='./tight.app')
t.run('record', '-o', 'tight', tight)
t.run('phases', 'tight', '-i', '0.1', '--k', '1', '--emit-heartbeats', 'tight.json')
beats = json.load(open('tight.json'))['heartbeats']
t.check(beats and all((b['function'], b['type']) == ('main', 'body') and b['every'] == 1 for b in beats),
        'no heartbeat in a loop of two nanoseconds', beats)
t.check(all(b['pace']['at_least_hz'] < 100 for b in beats), 'and the plan says how often it beats', beats)

# ---- the steps of a main loop, which are shorter than an interval, and what runs before it ----
stepping = t.compile('''#include <math.h>
#include <stdlib.h>
enum { N = 4096 };
static double a[N], b[N], c[N];
volatile double sink;
#define NOINLINE __attribute__((noinline))
NOINLINE double kernel(int i) { return a[i] / (1.0 + b[i & 255] * b[i & 255]); }
NOINLINE void scale(int n) { for (int r = 0; r < n; r++) for (int i = 0; i < N; i++) c[i] = c[i] * 0.5 + sqrt(a[i] * a[i] + 1); sink = c[1]; }
NOINLINE void forces(int n) { for (int r = 0; r < n; r++) for (int i = 0; i < N; i++) a[i] = a[i] * 0.5 + kernel((i * 7) & (N - 1)); sink = a[2]; }
NOINLINE void advance(int n) { for (int r = 0; r < n; r++) for (int i = 1; i < N; i++) b[i] = b[i - 1] * 0.25 + a[i]; sink = b[3]; }
NOINLINE void setup(int n) { for (int r = 0; r < n; r++) { for (int i = 0; i < N; i++) a[i] = sin(i + r); scale(4); } sink = a[4]; }
int main(void)
{
	setup(3000);
	for (int step = 0; step < 30; step++) {
		forces(800);
		scale(700);
		advance(600);
		sink = sink + 1;
	}
	return sink == 7;
}
''', '-O1', '-g', '-fno-ipa-sra', '-lm', output='./stepping.app')
t.run('record', '-o', 'stepping', stepping)
for interval in ('0.1', '0.5'):
    t.run('phases', 'stepping', '-i', interval, '--emit-heartbeats', 'stepping.json')
    beats = json.load(open('stepping.json'))['heartbeats']
    bodies = {b['function'] for b in beats if b['type'] == 'body'}
    t.check({'forces', 'scale', 'advance'} <= bodies, f'the steps are in the plan, intervals of {interval} s', beats)
    t.check(any(b['function'] == 'setup' for b in beats), 'and what runs before the main loop', beats)
    t.check('kernel' not in bodies and all((b['pace']['expected_cost'] or 0) <= 0.01 for b in beats),
            'none costs more than it may', beats)
    names = [b['name'] for b in beats]
    t.check(len(set(names)) == len(names) and all(0 < len(n) <= 48 for n in names), 'names are unique and short', names)
found = phases_of('stepping')
t.check(not found['lengths'] or found['interval_s'] in [row['interval_s'] for row in found['lengths']],
        'of the lengths of intervals that were looked at one is chosen', found['lengths'])
# setup has a loop of its own, which may be seen as one, too
loops = [row for row in found['cyclic'] if row['kind'] == 'loop' and row['function'] == 'main']
t.check(len(loops) == 1 and loops[0]['calls'] >= 10, 'the main loop is a part, too', loops)
parts = [row for row in phases_of('stepping', '-i', '0.5')['cyclic'] if row['function'] == 'forces']
t.check(parts and parts[0]['heartbeat'] and parts[0]['kind'] == 'part' and parts[0]['heartbeat_name'] == 'forces',
        'parts have their heartbeats in json', parts)

# ---- OpenMP: regions have their functions' names and lines, the threads that spin hide nothing ----
regions = t.compile('''enum { N = 30000 };
static double a[N], b[N];
int main(void)
{
	for (int step = 0; step < 80; step++) {
#pragma omp parallel for
		for (int i = 1; i < N - 1; i++)
			for (int k = 1; k < 12; k++)
				b[i] = b[i] * 0.5 + a[i - 1] / (k + b[i] * b[i]);
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int k = 1; k < 9; k++)
				a[i] = a[i] * 0.25 + b[i] / (k + a[i] * a[i]);
		for (int r = 0; r < 5; r++)
			for (int i = 1; i < N; i++)
				a[i] += a[i - 1] * 0.5 / (1 + a[i] * a[i]);
	}
	return a[N / 2] == 7;
}
''', '-O1', '-g', '-fopenmp', output='./regions.app')
os.environ.update(OMP_NUM_THREADS='2', OMP_WAIT_POLICY='active')
# where others have a CPU, a thread that spins may have most of the samples: then another recording tells
for attempt in range(4):
    t.run('record', '-o', f'regions{attempt}', regions)
    t.run('phases', f'regions{attempt}', '-i', '0.5', '--emit-heartbeats', 'regions.json')
    beats = json.load(open('regions.json'))['heartbeats']
    lines = sorted(b['line'] for b in beats if '._omp_fn.' in b['linkage_name'])
    if len(lines) == 2:
        break
t.check(len(lines) == 2 and 6 <= lines[0] <= 9 and 10 <= lines[1] <= 13 and all(b['function'] == 'main' for b in beats),
        'regions are parts of the main loop, by name and line', beats)
t.equal(len({b['name'] for b in beats}), len(beats), 'each with a name of its own')

# ---- the page ----
t.equal(t.run('report', 'five', '-o', 'five.html').returncode, 0, 'a report with phases')
page = open('five.html').read()
section = page.split('id="phases">', 1)[1].split('</script>', 1)[0]
model = json.loads(section)
t.equal(model['schema'], 'sonde.page-phases/1', 'the page knows the phases')
t.equal(sum(model['ribbons'][0]['runs'][1::2]), len(phases_of('five')['intervals']), 'and the ribbon, in runs')

# ---- the plan, the picture, two runs ----
t.equal(t.run('phases', 'five', '-i', '0.1', '--emit-heartbeats', 'plan.json', '--svg', 'ribbon.svg').returncode, 0, 'files')
plan = json.load(open('plan.json'))
t.equal(plan['schema'], 'sonde.heartbeat-plan/1', 'a heartbeat plan')
several = [h for h in plan['heartbeats'] if h['function'] == 'several']
# a whole function may be the site, which has no loop
t.check(all(h['function_link_addr'] and (h['loop']['line_first'] if h['loop'] else h['type'] == 'body') for h in several),
        'with loops and addresses', plan)
drawn = xml.dom.minidom.parse('ribbon.svg')
t.check(len(drawn.getElementsByTagName('rect')) > 5, 'the picture is XML with a ribbon')
pairs = json_of('phases', 'five', '--against', 'five', '-i', '0.1')['rows']
t.check(all(row['a_phase'] == row['b_phase'] and row['ratio'] == 1 for row in pairs), 'a run against itself', pairs)
record('again', Program(7, kinds=['shared', 'loop', 'loop', 'io', 'wait'], seconds=3))
pairs = json_of('phases', 'five', '--against', 'again', '-i', '0.1')['rows']
names = [p['name'] for p in phases_of('again', '--interval', '0.1')['phases']]
matched = [row for row in pairs if row['a_phase'] is not None and row['b_phase'] is not None]
t.check(len(matched) >= 4 and sum(names[row['b_phase']] == row['name'] for row in matched) >= 4,
        'phases of another run have the same names', pairs, names)

# ---- gmon.out snapshots: the paper's own data, exact calls ----
profiled = t.compile('''#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
volatile unsigned long sink;
__attribute__((noinline)) void short_work(void) { for (int i = 0; i < 200000; i++) sink += (unsigned)i; }
__attribute__((noinline)) void long_work(void)
{
	for (unsigned i = 0; i < 400000000u; i++)
		sink ^= i;
}
int main(void) { for (int i = 0; i < 1000; i++) short_work(); long_work(); return 0; }
''', '-O1', '-g', '-pg', output='./gprofiled')
t.run('--version')
t.equal(t.command(profiled).returncode, 0, 'a program with -pg runs')
whole = bytearray(open('gmon.out', 'rb').read())
low, high, bins, rate = struct.unpack_from('<QQii', whole, 21)
counts = struct.unpack_from(f'<{bins}H', whole, 61)
symbols = {name: int(addr, 16) for addr, kind, name in
           (line.split() for line in t.command('nm', profiled).stdout.splitlines() if len(line.split()) == 3)}


def snapshot(name, ticks, calls):
    """A snapshot as glibc writes it: ticks per function, calls per function."""
    body = bytearray(b'gmon' + struct.pack('<i', 1) + bytes(12))
    mine = [0] * bins
    for function, n in ticks.items():
        mine[(symbols[function] + 8 - low) * bins // (high - low)] += n
    body += b'\0' + struct.pack('<QQii', low, high, bins, rate) + whole[45:61] + struct.pack(f'<{bins}H', *mine)
    for function, n in calls.items():
        body += b'\1' + struct.pack('<QQi', symbols['main'] + 4, symbols[function] + 5, n)
    open(name, 'wb').write(body)
    return name


t.check(rate == 100 and sum(counts) > 0, 'glibc writes the layout that is expected', rate, sum(counts))
shots = []
for i in range(12):
    shots.append(snapshot(f'gmon.out.{i}', {'short_work': 100 * min(i + 1, 6), 'long_work': 100 * max(0, i - 5)},
                          {'short_work': 7 * min(i + 1, 6), 'long_work': int(i >= 6)}))
done = t.run('import', 'gmon', '--program', profiled, '-o', 'gmon', *shots)
t.equal(done.returncode, 0, 'snapshots are imported')
found = phases_of('gmon', '--interval', '1', '--sites', 'paper', '--k', '2')
t.equal(found['calls_source'], 'exact entry counts', 'with exact calls')
t.equal([(p['interval_count'], p['sites'][0]['function'], p['sites'][0]['type']) for p in found['phases']],
        [(6, 'short_work', 'body'), (6, 'long_work', 'body')], 'and Algorithm 1 runs on them')
t.check(t.run('import', 'gmon', '--program', profiled, 'gmon.out').returncode == 0, 'a real gmon.out is imported')
other = t.run('import', 'gmon', '--program', '/bin/ls', '-o', 'other', *shots)
t.check(other.returncode == 5 and '/bin/ls' in other.stderr and other.stderr.count('\n') == 1,
        'snapshots of another program are refused', other.returncode, other.stderr)
broken = {'reversed': shots[::-1], 'cut': ['cut.out'], 'text': ['five.source/phased.c']}
open('cut.out', 'wb').write(whole[:len(whole) // 2])
for why, files in broken.items():
    done = t.run('import', 'gmon', '--program', profiled, '-o', 'broken', *files)
    t.check(done.returncode == 5 and done.stderr.count('\n') == 1, f'bad snapshots ({why}): one sentence', done.returncode,
            done.stderr)

# ---- snapshots as the manual says how to take them ----
inlining = t.compile('''volatile unsigned long sink;
static inline __attribute__((always_inline)) void mix(unsigned i) { sink ^= i; }
__attribute__((noinline)) void short_work(void) { for (int i = 0; i < 200000; i++) sink += (unsigned)i; }
__attribute__((noinline)) void long_work(void) { for (unsigned i = 0; i < 2100000000u; i++) mix(i); }
int main(void) { for (int i = 0; i < 1000; i++) short_work(); long_work(); return 0; }
''', '-O1', '-g', '-pg', output='./inlining.app')
preload = t.compile(os.path.join(HERE, '../../examples/gmon_snapshots.c'), '-shared', '-fPIC', '-lpthread', output='./snapshots.so')
os.mkdir('shots')
done = t.command('env', '-C', 'shots', f'LD_PRELOAD={os.path.abspath(preload)}', 'GMON_SNAPSHOT_S=0.1', os.path.abspath(inlining))
shots = [f'shots/gmon.out.{n}' for n in range(1, 10000) if os.path.exists(f'shots/gmon.out.{n}')]
t.check(done.returncode == 0 and len(shots) > 2, 'snapshots are taken', done.returncode, shots)
done = t.run('import', 'gmon', '--program', inlining, '--interval', '0.1', '-o', 'taken', *shots)
t.check(done.returncode == 0, 'and imported', done.stderr, shots)
found = phases_of('taken', '--interval', '0.1', '--sites', 'paper', '--k', '2')
functions = {s['function'] for p in found['phases'] for s in p['sites']}
t.check(functions and functions <= {'short_work', 'long_work', 'main'}, 'sites are symbols, not what was inlined into them',
        found['phases'])

# ---- a rank that the program itself puts into the environment, as MPI_Init does without a launcher ----
alone = t.compile('''#include <stdlib.h>
volatile unsigned sink;
__attribute__((noinline)) void work(void) { for (unsigned i = 0; i < 300000000; i++) sink += i; }
int main(void) { setenv("OMPI_COMM_WORLD_RANK", "0", 1); work(); return system("true"); }
''', '-O1', '-g', output='./alone.app')
t.run('record', '-o', 'alone', alone)
for options in ((), ('-p', '0')):
    t.check(any(part['function'] == 'work' for p in phases_of('alone', *options)['phases'] for part in p['profile']),
            'the program is analysed, not the command that inherits its rank', options)

# ---- little and bad data ----
done = t.run('phases', 'five', '--interval', '0')
t.check(done.returncode == 2 and '--interval' in done.stderr, 'an interval of 0 is refused', done.stderr)
done = t.run('phases', 'five', '--interval', '0.001', '--time', '0-0.5')
t.equal(done.returncode, 0, 'very short intervals are only short')
done = t.run('phases', 'five', '--k', '0')
t.check(done.returncode == 2 and '--k' in done.stderr, 'k = 0 is refused', done.stderr)
for option, value in (('--seed', '-1'), ('--k-max', '99'), ('--restarts', '0')):
    done = t.run('phases', 'five', f'{option}={value}')
    t.check(done.returncode == 2 and option in done.stderr and value in done.stderr, f'{option} {value} is refused',
            done.stderr)
done = t.run('phases', 'nowhere')
t.check(done.returncode == 5 and 'nowhere' in done.stderr and done.stderr.count('\n') == 1, 'no such experiment', done.stderr)
sleeper = t.compile('#include <unistd.h>\nint main(void) { sleep(1); return 0; }\n', '-O1', '-g', output='./sleeper.app')
t.run('record', '-o', 'sleeper', sleeper)
done = t.run('phases', 'sleeper', '-f', 'json')
t.check(done.returncode == 0 and len(json.loads(done.stdout)['phases']) == 1, 'one thread that sleeps: one phase',
        done.stdout, done.stderr)
nothing = t.compile('int\nmain(void) { return 0; }\n', '-O1', '-g', output='./nothing.app')
t.run('record', '-o', 'nothing', nothing)
done = t.run('phases', 'nothing')
t.check(done.returncode in (0, 3) and done.stderr.count('\n') <= 1, 'a run of no time: one sentence', done.returncode, done.stderr)
t.done()
