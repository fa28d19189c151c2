"""Pandore: the paper's Figure 1 and 4, the matrix product's lattices, every diagnostic, and bad days.

pandore.py SONDE
"""
import collections
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sonde = os.path.abspath(sys.argv[1])
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'pandore')
number = 0
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                  OMPI_MCA_rmaps_base_oversubscribe='1')


def check(holds, name, *notes):
    global number
    number += 1
    for note in [] if holds else notes:
        print('#', str(note).replace('\n', '\n# '))
    print(f"{'ok' if holds else 'not ok'} {number} - {name}", flush=True)


def skip(name, why):
    global number
    number += 1
    print(f'ok {number} - {name} # SKIP {why}', flush=True)


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=100, **more)


def write(name, text):
    with open(name, 'w') as out:
        out.write(text)


def compile_run(source, name, *options, launch=()):
    write(name + '.pnd', source)
    made = run(sonde, 'pandore', 'compile', name + '.pnd', '-o', name, *options)
    if made.returncode:
        return made
    return run(*launch, './' + name)


# ---- Figure 1 under three distributions ----
figure1 = open(os.path.join(here, 'fig1.pnd')).read()
layouts = {'rows': 'block(N/P,N) map regular(0,1)', 'columns': 'block(N,N/P) map regular(0,1)',
           'blocks': 'block(N/2,N/2) map regular(0,1)'}


def figure1_with(layout):
    return figure1.replace('block(N/P,N) map regular(0,1)', layouts[layout])


def sequential(source):
    text = re.sub(r' by block\([^)]*\) map \w+\([^)]*\)| mode \w+', '', source)
    return text.replace('dist myphase', 'void myphase').replace('float A[N][N], float V', 'float A[N][N], V')


def arcs(profile, *options):
    rows = json.loads(run(sonde, 'comm', profile, '--format', 'json', *options).stdout)['rows']
    return {(r['source'], r['target']): r['messages'] for r in rows}


def matrix_figures():
    write('s.c', sequential(figure1))
    subprocess.run(['gcc', '-w', '-O2', '-ffp-contract=off', '-I', here, 's.c', '-o', 's', '-lm'], check=True)
    want = run('./s').stdout
    parts = range(4)
    figure4 = {
        'rows': {(f'A{i}', f'A{j}'): 128 for i in parts for j in parts if abs(i - j) == 1},
        'columns': {(f'A{i}', f'V{j}'): 1024 for i in parts for j in parts if i != j},
        'blocks': {('A1', 'V0'): 2048, ('A0', 'V1'): 2048, ('A3', 'V2'): 2048, ('A2', 'V3'): 2048,
                   ('A0', 'A2'): 64, ('A2', 'A0'): 64, ('A1', 'A3'): 64, ('A3', 'A1'): 64}}
    zone1 = {'rows': 0, 'columns': 12, 'blocks': 4}
    for layout in layouts:
        for scheme in ('naive', 'opt'):
            ran = compile_run(figure1_with(layout), layout, '--profile', '--scheme', scheme, '-I', here)
            check(ran.stdout == want, f'Figure 1, {layout}, {scheme}: bit-identical', ran.stderr[:500])
            if scheme == 'naive':
                got = arcs(layout + '.profile.json')
                check(got == figure4[layout], f'Figure 4, {layout}: messages of each arc', got)
            else:
                got = sum(arcs(layout + '.profile.json', '--zone', 'zone1').values())
                check(got == zone1[layout], f'{layout}, opt: {zone1[layout]} messages in zone 1', got)
    ran = compile_run(figure1, 'seven', '-D', 'P=7', '-I', here, '--profile')
    nodes = json.load(open('seven.profile.json'))['nodes'] if ran.returncode == 0 else None
    check(ran.stdout == want and nodes == 7, '-D P=7 overrides the #define', ran.stderr[:300])
    check('overrides no' not in ran.stderr, 'no warning of a -D that overrides one', ran.stderr[:300])
    ran = run(sonde, 'pandore', 'compile', 'seven.pnd', '-I', here, '-D', 'Q=3', '-D', 'P=3', '--emit-c', 'q.c')
    check(ran.returncode == 0 and ran.stderr == 'warning: -D Q overrides no #define\n',
          'a -D that overrides nothing is said', ran.stderr)
    for strip in ('0', '-3'):
        ran = run(sonde, 'pandore', 'compile', 'seven.pnd', '-I', here, '--strip', strip, '--emit-c', 'q.c')
        check(ran.returncode == 2 and '--strip is 1 to' in ran.stderr, f'--strip {strip} is refused', ran.stderr)
    return want


def several(names, svg):
    alone = [json.loads(run(sonde, 'comm', name, '-f', 'json').stdout) for name in names]
    together = json.loads(run(sonde, 'comm', *names, '-f', 'json').stdout)
    check('rows' in alone[0] and together['schema'] == 'sonde.comm/1' and
          [{'schema': 'sonde.comm/1', **one} for one in together['programs']] == alone,
          'json of several: one object with the programs', together)
    lines = run(sonde, 'comm', *names, '-f', 'csv').stdout.splitlines()
    check(lines[0].startswith('program,kind,source,') and sum('kind' in line for line in lines) == 1 and
          [line.split(',')[0] for line in lines[1:]] == [one['program'] for one in alone for _ in one['rows']],
          'csv of several: one header, the program first', lines[:3])
    check(run(sonde, 'comm', names[0], '-f', 'csv').stdout.startswith('kind,source,'), 'csv of one: no program')
    twice = run(sonde, 'comm', names[0], './' + names[0], '-f', 'csv').stdout.splitlines()
    check({line.split(',')[0] for line in twice[1:]} == {names[0], './' + names[0]}, 'two runs of one program: files')
    text = run(sonde, 'comm', names[1], '--table', 'phases').stdout
    check(re.search(r'\d (s|ms|µs|ns)\b', text) and ' 0.0000' not in text, 'times have a unit', text)
    wide = set(re.findall(r'stroke-width="([0-9.]+)"', svg))
    counts = sorted({a['messages'] for one in alone for a in one['rows']})
    want = {f'{0.6 + 3.4 * n / counts[-1]:.2f}' for n in counts}
    check(len(counts) > 1 and want <= wide, 'svg: one scale for all graphs', counts, wide)
    wide = {(int(n), w) for n, w in re.findall(r'label="(\d+)", penwidth=([0-9.]+)',
                                               run(sonde, 'comm', *names, '-f', 'dot').stdout)}
    check(wide == {(n, f'{0.5 + 3.5 * n / counts[-1]:.2f}') for n in counts}, 'dot: one scale for all graphs', counts, wide)
    rows = json.loads(run(sonde, 'comm', *names, '--table', 'programs', '-f', 'json').stdout)['rows']
    check([(r['program'], r['messages'], r['bytes']) for r in rows] ==
          [(one['program'], sum(a['messages'] for a in one['rows']), sum(a['bytes'] for a in one['rows'])) for one in alone]
          and all(0 < r['longest_node_s'] <= r['run_s'] and r['longest_node_s'] <= r['work_s'] <= 4 * r['longest_node_s'] and
                  abs(r['busy_nodes'] - r['work_s'] / r['run_s']) < 1e-6 for r in rows),
          'programs side by side: a row each', rows)


def pictures():
    names = [f'{layout}.profile.json' for layout in layouts]
    svg = run(sonde, 'comm', *names, '--format', 'svg').stdout
    dot = run(sonde, 'comm', names[0], '--format', 'dot').stdout
    import xml.dom.minidom
    texts = [t.firstChild.data for t in xml.dom.minidom.parseString(svg).getElementsByTagName('text')]
    check(all(t in texts for t in ('A0', 'V3', 'A3')), 'svg: boxes of all partitions', texts)
    labels = [(float(x), float(y), 6 * len(chars)) for x, y, chars in
              re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)" font-size="10"[^>]*>([^<]*)<', svg)]
    over = [(a, b) for a, b in itertools.combinations(labels, 2) if abs(a[1] - b[1]) < 10.9 and abs(a[0] - b[0]) < (a[2] + b[2]) / 2 - .1]
    check(labels and not over, 'svg: no label is printed over another', over)
    check(dot.startswith('digraph') and '"A0" -> "A1"' in dot, 'dot: arcs by name', dot[:300])
    by_node = arcs(names[1], '--by', 'node')
    check(by_node == {(f'node {i}', f'node {j}'): 1 for i in range(4) for j in range(4) if i != j},
          'views: added up by node', by_node)
    check(arcs(names[1], '--by', 'variable') == {('A', 'V'): 12}, 'views: added up by variable')
    check(len(arcs(names[1], '--nodes', '0,1')) == 2, 'views: two nodes only')
    csv = run(sonde, 'comm', names[0], '--table', 'zones', '--format', 'csv').stdout
    check(csv.startswith('phase,zone,node,executions,time_s,wait_s,assignments'), 'zones as csv', csv[:200])
    counts = [int(line.split(',')[6]) for line in csv.split('\n')[1:] if ',zone2,' in line]
    check(counts == [3968, 4096, 4096, 3968], 'assignments of each node in zone 2', counts)
    bad = run(sonde, 'comm', names[0], '--zone', 'nowhere')
    check(bad.returncode == 2 and 'nowhere' in bad.stderr, 'an unknown zone is said', bad.stderr)
    bad = run(sonde, 'comm', *names, '-V', 'A,Z')
    check(bad.returncode == 2 and "'Z'" in bad.stderr and not bad.stdout, 'an unknown variable is said', bad.stderr)
    good = run(sonde, 'comm', *names, '-V', 'A,V')
    check(good.returncode == 0, 'a variable without messages in one of the profiles is none', good.stderr)
    several(names, svg)
    write('bad.json', '{"schema":"sonde.pandore-profile/1","nodes":99999999}')
    bad = run(sonde, 'comm', 'bad.json')
    check(bad.returncode == 5 and bad.stderr.count('\n') == 1, 'a damaged profile is one sentence', bad.stderr)


# ---- the matrix product's lattices (design page, table 3.2) ----
PRODUCT = '''
#define N 4
#define P 4
double A[N][N], B[N][N], C[N][N];
dist product(double A[N][N] %s mode IN, double B[N][N] %s mode IN, double C[N][N] %s mode INOUT)
{
	int i, j, k;
	for (%s = 0; %s < N; %s++)
		for (%s = 0; %s < N; %s++)
			for (%s = 0; %s < N; %s++)
				C[i][j] = C[i][j] + A[i][k] * B[k][j];
}
int main(void) { product(A, B, C); return 0; }
'''
ROWS, COLUMNS = 'by block(N/P, N) map regular(0,1)', 'by block(N, N/P) map regular(0,1)'
BLOCKS = 'by block(N/2, N/2) map regular(0,1)'
TABLE = [('ijk', ROWS, '', ROWS, 0, 83521, 314432), ('ijk', COLUMNS, COLUMNS, COLUMNS, 48, 301, 648),
         ('ijk', BLOCKS, BLOCKS, BLOCKS, 64, 177, 288), ('ijk', ROWS, ROWS, ROWS, 48, 145, 240),
         ('ijk', ROWS, COLUMNS, ROWS, 48, 577, 1344), ('kij', ROWS, ROWS, ROWS, 48, 6049, 20160),
         ('kij', COLUMNS, COLUMNS, COLUMNS, 48, 4889, 15760), ('kij', BLOCKS, BLOCKS, BLOCKS, 64, 2773, 8808),
         ('kij', ROWS, COLUMNS, ROWS, 48, 301, 648)]


def lattices():
    for order, a, b, c, messages, cuts, arcs_wanted in TABLE:
        source = PRODUCT % (a, b, c, *[v for v in order for _ in range(3)])
        name = f'matrix product {order}, A {a[3:16] or "replicated"}, B {b[3:16] or "replicated"}'
        ran = compile_run(source, 'mm', '--scheme', 'naive', '--trace', '--profile')
        sent = sum(arcs('mm.profile.json').values()) if ran.returncode == 0 else ran.stderr
        lattice = run(sonde, 'lattice', 'mm.trace.jsonl', '--format', 'json')
        got = json.loads(lattice.stdout) if lattice.returncode == 0 else {}
        check((sent, got.get('cuts'), got.get('arcs')) == (messages, str(cuts), str(arcs_wanted)),
              f'{name}: {messages} messages, {cuts} cuts, {arcs_wanted} arcs',
              sent, got.get('cuts'), got.get('arcs'), lattice.stderr)


# The program of Figure 2: x and y on the first node, z on the second.
FIGURE2 = '''
#define P 2
int X[2], Y[2], Z[2];
dist figure2(int x[2] by block(2) map regular(0), int y[2] by block(2) map regular(0),
	     int z[2] by block(1) map regular(0))
{
	int i, j, k;
	i = 0; j = 0; k = 1;
	z[k] = y[j] + 1;
	x[i] = 5;
	y[j] = x[i] + 3 * z[k];
	z[k] = z[k] - 3;
}
int main(void) { figure2(X, Y, Z); return 0; }
'''


def papers():
    """Points are where a node executes an assignment: Figure 2 (b) has 8 cuts. Figure 4's order comes out of modelled waiting,
    with assignments that all take the same time."""
    ran = compile_run(FIGURE2, 'figure2', '--scheme', 'naive', '--trace')
    got = json.loads(run(sonde, 'lattice', 'figure2.trace.jsonl', '--format', 'json').stdout) if not ran.returncode else {}
    check((got.get('cuts'), got.get('arcs'), got.get('events'), got.get('levels')) == ('8', '10', 4, list('12221')),
          'Figure 2 (b): 8 cuts, 10 arcs', ran.stderr, got.get('cuts'), got.get('levels'))
    asked = compile_run(FIGURE2.replace('	i = 0;', '#pragma pandore observe "i"\n	i = 0;'), 'asked', '--scheme', 'naive', '--trace')
    got = json.loads(run(sonde, 'lattice', 'asked.trace.jsonl', '--format', 'json').stdout) if not asked.returncode else {}
    check((got.get('events'), got.get('cuts')) == (2, '4'), 'what is replicated is a point when asked for', asked.stderr, got)
    names = []
    for layout in layouts:
        ran = compile_run(figure1_with(layout).replace('#define N 128', '#define N 32'), layout + '4', '--scheme', 'naive',
                          '--trace', '-I', here)
        lines = open(layout + '4.trace.jsonl').read().splitlines() if not ran.returncode else []
        events = [json.loads(line) for line in lines[1:]]
        names.append(layout + '4.jsonl')
        write(names[-1], '\n'.join(lines[:1] + [json.dumps({**e, 'duration_s': int(e['observed'])}) for e in events]))
    table = json.loads(run(sonde, 'lattice', *names, '--format', 'json').stdout)['rows']
    waits, ends = [row['modelled_wait_s'] for row in table], [row['critical_path_s'] for row in table]
    check(waits[0] < waits[2] < waits[1] and ends[0] < ends[2] < ends[1],
          "Figure 4's order: rows wait least, then blocks, then columns", waits, ends)
    check(2 * waits[0] < waits[2] and 2 * waits[2] < waits[1], 'each less than half of the next', waits)


def live():
    """sonde lattice --follow beside the program that writes the trace."""
    source = SLOW.replace('#define P 3', '#define P 3\n#include <unistd.h>').replace('2000000000', '150000000')
    write('live.pnd', source)
    made = run(sonde, 'pandore', 'compile', 'live.pnd', '-o', 'live', '--trace', '--scheme', 'naive')
    with subprocess.Popen([sonde, 'lattice', '--follow', 'live.jsonl', '--every', '0.1'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as watch:
        ran = run('./live', env=dict(os.environ, SONDE_PANDORE_LIVE='live.jsonl'))
        out, err = watch.communicate(timeout=60)
    events = [int(n) for n in re.findall(r's  processes 3  events (\d+)', out)]
    check(made.returncode == ran.returncode == watch.returncode == 0 and len(set(events)) >= 3 and events[-1] == 5,
          'a lattice grows while the program runs', made.stderr, ran.stderr, out, err)
    whole = run(sonde, 'lattice', 'live.trace.jsonl', '--format', 'json')
    followed = run(sonde, 'lattice', 'live.jsonl', '--format', 'json')
    keys = ('cuts', 'arcs', 'levels', 'events')
    check([json.loads(whole.stdout)[k] for k in keys] == [json.loads(followed.stdout)[k] for k in keys],
          'the live trace is the trace', whole.stderr, followed.stderr)
    ran = run('./live', env=dict(os.environ, SONDE_PANDORE_LIVE='/nowhere/live'))
    check(ran.returncode == 0 and ran.stderr.count('\n') == 1 and '/nowhere/live' in ran.stderr,
          'a live trace that cannot be written costs a sentence, not the run', ran.stderr)


DIES = '''#define P 2
#include <signal.h>
double f(double x) __attribute__((const));
double f(double x) { if (x > 5) raise(SIGKILL); return x + 1; }
double A[8];
dist chain(double A[8] by block(4) map regular(0)) { int i; for (i = 1; i < 8; i++) A[i] = f(A[i-1]); }
int main(void) { chain(A); return 0; }
'''


def live_until_death():
    ran = compile_run(DIES, 'dies', '--scheme', 'naive', '--trace', launch=('env', 'SONDE_PANDORE_LIVE=dies.jsonl'))
    lattice = run(sonde, 'lattice', 'dies.jsonl', '--format', 'json')
    got = json.loads(lattice.stdout) if lattice.stdout else {}
    check(ran.returncode and (got.get('events'), got.get('cuts')) == (6, '7'),
          'a node that dies leaves the live trace up to then', ran.stderr, got.get('events'), lattice.stderr)


ENDS = '''#define P 2
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
double f(double x, int s) __attribute__((const));
double f(double x, int s) { if (x > 5 && s) { kill(getppid(), s); sleep(50); } return x + 1; }
double A[8];
dist chain(double A[8] by block(4) map regular(0), int s) { int i; for (i = 1; i < 8; i++) A[i] = f(A[i-1], s); }
static void leave(int s) { exit(s); }
int main(int argc, char **argv)
{
	int s = atoi(argv[1]);
	if (s == 50) _exit(s);
	if (s == 10) signal(s, leave);
	chain(A, s);
	return argc;
}
'''


def measured_until_death():
    """Profile and trace of a run that ends in a phase, however it ends."""
    write('ends.pnd', ENDS)
    made = run(sonde, 'pandore', 'compile', 'ends.pnd', '-o', 'ends', '--scheme', 'naive', '--trace', '--profile')
    endings = {'SIGTERM': 15, 'SIGINT': 2, 'SIGKILL': 9, 'SIGSEGV': 11, 'exit() in a handler': 10}
    for name, number in endings.items():
        for path in ('ends.profile.json', 'ends.trace.jsonl'):
            if os.path.exists(path):
                os.unlink(path)
        ran = run('./ends', str(number))
        messages = run(sonde, 'comm', 'ends.profile.json', '--format', 'json')
        messages = sum(r['messages'] for r in json.loads(messages.stdout)['rows']) if messages.stdout else None
        lattice = run(sonde, 'lattice', 'ends.trace.jsonl', '--format', 'json')
        got = json.loads(lattice.stdout) if lattice.stdout else {}
        check(ran.returncode == (10 if number == 10 else -number) and messages == 1
              and (got.get('events'), got.get('cuts')) == (6, '7') and ran.stderr.count('\n') == 1,
              f'a run that ends by {name} leaves profile and trace up to then', made.stderr, ran.returncode,
              ran.stderr, messages, lattice.stderr)
    os.unlink('ends.profile.json')
    ran = run('./ends', '50')
    check(ran.returncode == 50 and run(sonde, 'comm', 'ends.profile.json').returncode == 0,
          'so does one that ends by _exit()', ran.returncode, ran.stderr)


# ---- broadcasts ----
TRACE_OF = '''
#define P 4
float A[8][8], R[1];
dist diagonal(float A[8][8] by block(2,8) map regular(0,1) mode IN, float R[1] mode OUT)
{
	int i;
	float s;
	s = 0;
	for (i = 0; i < 8; i++)
		s = s + A[i][i];
	R[0] = s;
}
int main(void) { diagonal(A, R); return 0; }
'''


def broadcasts():
    compile_run(TRACE_OF, 'diag', '--scheme', 'naive', '--profile')
    rows = json.loads(run(sonde, 'comm', 'diag.profile.json', '-f', 'json').stdout)['rows']
    got = [(r['kind'], r['source'], r['target'], r['broadcasts'], r['messages'], r['bytes']) for r in rows]
    check(got == [('broadcast', f'A{k}', 's', 2, 6, 24) for k in range(4)],
          'broadcasts: two of 4 bytes for each (s, Ak), six sends each', got)


SUM = '''
#include <stdio.h>
#define P 4
double V[64], R[2];
dist sums(double V[64] by block(16) map regular(0) mode IN, double R[2] mode OUT)
{
	int i;
	double s, t;
	s = 1;
	t = 0;
	for (i = 0; i < 64; i++) {
		s = s + V[i];
		t += V[i] * V[i];
	}
	R[0] = s;
	R[1] = t;
}
int main(void)
{
	int i;
	for (i = 0; i < 64; i++)
		V[i] = i;
	sums(V, R);
	printf("%.17g %.17g\\n", R[0], R[1]);
	return 0;
}
'''


def reassociation():
    """Whole numbers add up to the same in any order; a number for each node moves instead of the array."""
    sent = {}
    for options in ((), ('--reassoc',), ('--reassoc', '--scheme', 'naive')):
        ran = compile_run(SUM, 'sum', '--profile', *options)
        rows = json.load(open('sum.profile.json'))['traffic'] if ran.returncode == 0 else []
        sent[options] = sum(row['bytes'] for row in rows)
        check(ran.stdout == '2017 85344\n', f'a sum, {" ".join(options) or "in order"}', ran.stdout, ran.stderr)
        told = run(sonde, 'pandore', 'compile', 'sum.pnd', '--explain', *options).stdout
        check(f'with {sent[options]} bytes' in told, f'{" ".join(options) or "in order"}: foretold', told, sent[options])
    check(sent[()] == 2 * 8 * (3 + 3), 'in order: each sum goes from owner to owner, and from the last one to all', sent)
    check(sent[('--reassoc',)] < sent[('--reassoc', '--scheme', 'naive')], '--reassoc moves less than the array', sent)


WAYS = '''
#define P 3
dist ph(double A[12] by block(2) map wrapped(0), double B[12] by block(4) map regular(0), int K[12] mode IN, int n)
{
	int i;
	double s;
	s = 0;
	for (i = 1; i < 12; i++)
		A[i] = B[K[i]] + A[i - 1];
	for (i = 0; i < 12; i++)
		s += B[i];
	if (B[3] > n)
		A[0] = B[2];
	for (i = 0; i < 12; i++)
		i = i + A[i];
}
int main(void) { return 0; }
'''
TOLD = {
    'opt': ['phase ph on 3 nodes, optimised scheme', 'A (12 double, INOUT): 6 blocks of 2, block b on node b % 3',
            'K (12 int, IN): replicated', 'for (i = 1; i < 12; i++): one node after the other runs the i for which it owns A[i]',
            'A[i - 1] goes to where it is needed, a section before each node\'s turn',
            'B[K[i]] goes to where it is needed, in one section before line 8, found by running the subscripts first',
            'for (i = 0; i < 12; i++): one node after the other runs the i for which it owns B[i], with the values that the one before sends it', 'if (B[3] > n): every node decides it; before',
            'A[0] = B[2]: the owner of A[0] executes it; before, the owner of B[2] sends it there',
            'naive: a loop counter is written inside its loop'],
    'naive': ['naive scheme', 'A[i] = B[K[i]] + A[i - 1]: the owner of A[i] executes it; before, the owner of B[K[i]] and of '
              'A[i - 1] sends it there', 's += B[i]: every node executes it; before, the owner of B[i] sends it to all'],
}


HEAT = '''
#define N 16
#define P 4
#define STEPS 3
double U[N][N], W[N][N];
dist heat(double U[N][N] by block(N/P,N) map regular(0,1), double W[N][N] by block(N/P,N) map regular(0,1), int steps,
          double alpha)
{
	int t, i, j;
	for (t = 0; t < steps; t++) {
		for (i = 1; i < N-1; i++)
			for (j = 1; j < N-1; j++)
				W[i][j] = U[i][j] + alpha * (U[i-1][j] + U[i+1][j] + U[i][j-1] + U[i][j+1] - 4*U[i][j]);
		for (i = 1; i < N-1; i++)
			for (j = 1; j < N-1; j++)
				U[i][j] = W[i][j];
	}
}
int main(int argc, char **argv) { %s return 0; }
'''


def arguments():
    """What every call passes to a phase is known to --explain."""
    for calls, steps in (('heat(U, W, 2 * STEPS, 0.2);', 6), ('heat(U, W, 1, 0.5); heat(U, W, 1, 1.0 / argc);', 1)):
        for scheme in ('opt', 'naive'):
            ran = compile_run(HEAT % calls, 'heat', '--profile', '--scheme', scheme)
            sent = sum(arcs('heat.profile.json').values()) if ran.returncode == 0 else ran.stderr
            told = run(sonde, 'pandore', 'compile', 'heat.pnd', '--explain', '--scheme', scheme).stdout
            found = re.search(r'of heat with steps = (\d+):[^$]*in all (\d+) messages', told)
            check(found and int(found[1]) == steps and int(found[2]) * calls.count('heat') == sent,
                  f'{calls} {scheme}: foretold', sent, told)
    for calls in ('heat(U, W, argc, 0.2);', 'heat(U, W, 1, 0.2); heat(U, W, 2, 0.2);', ''):
        write('heat.pnd', HEAT % calls)
        told = run(sonde, 'pandore', 'compile', 'heat.pnd', '--explain').stdout
        check('one call of heat:\n  they depend on data: a loop\'s bound at line 10' in told, f"{calls or 'no call'}: unknown", told)


def explained():
    write('ways.pnd', WAYS)
    for scheme, wanted in TOLD.items():
        told = run(sonde, 'pandore', 'compile', 'ways.pnd', '--explain', '--scheme', scheme).stdout
        check(not [w for w in wanted if w not in told], f'--explain, {scheme}: each statement',
              [w for w in wanted if w not in told], told)
    told = run(sonde, 'pandore', 'compile', os.path.join(here, 'fig1.pnd'), '--explain').stdout
    check('on node 0: 0-31, node 1: 32-63, node 2: 64-95, node 3: 96-127' in told and 'no message for V[i], A[i][j]' in told
          and 'a pipeline: strips of 32 j' in told, '--explain: Figure 1', told)


# ---- remarks: each nest of this program but the last but one has one; NEEDED is counted by hand ----
REMARKED = '''#define N 16
#define P 4
double A[N][N], B[N][N], V[N], W[N]; int K[N];
dist ph(double A[N][N] by block(N/P,N) map regular(0,1), double B[N][N] by block(N,N/P) map regular(0,1),
        double V[N] by block(N/P) map regular(0), double W[N] by block(1) map wrapped(0), int K[N] by block(N/P) map regular(0))
{
  int i, j, k; double s; double t[N];
  s = 0;
  for (i = 0; i < N; i++)
    s += V[i];
  for (i = 0; i < N; i++)
    t[i] = i;
  for (i = 0; i < N; i++) {
    V[i] = 1;
    W[i] = 2;
  }
  for (i = 0; i < N; i++)
    V[K[i]] = i;
  for (j = 0; j < N; j++)
    A[0][j] = j;
  for (i = 1; i < N; i++)
    V[i] = V[i-1] + 1;
  for (i = 0; i < N; i++)
    for (j = 0; j <= i; j++)
      for (k = 0; k <= j; k++)
        B[k][i] = B[k][i] + A[j][k];
  for (i = 0; i < N; i++) {
    j = 0;
    while (j < 3) { V[i] = j; j++; }
  }
  for (i = 0; i < N-1; i++)
    s = s * 0.5 + V[(int)s];
  for (i = 0; i < N; i++)
    A[i][i] = B[i][i];
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      for (k = 0; k < N; k++)
        if (i + j + k == 20) V[i] = A[j][k];
  for (i = 0; i < N; i++) {
    K[i] = i * 3 % N;
    V[i] = W[K[i] % N];
  }
}
int main(void) { ph(A,B,V,W,K); return 0; }
'''
NEEDED = 8 * sum(sum(range(1, 4 * node + 1)) for node in range(4))  # A[j][k], j <= i, k <= j, of other nodes' rows
REMARKS = [(9, 'serial', 's keeps its order (--reassoc'), (12, 'undivided', 'every node keeps t (a distribution'),
           (13, 'undivided', 'V[i] (line 14) and W[i] (line 15) in it have different owners'),
           (17, 'undivided', 'the subscript K[i] of V is no sum'), (19, 'undivided', 'one node runs all of this loop'),
           (21, 'serial', 'V[i - 1] (line 22)'), (26, 'surplus', f'{NEEDED} are needed'), (29, 'naive', 'a while or do loop'),
           (32, 'undivided', 'every node keeps s'), (39, 'undivided', 'every node must know the subscript K[i] (line 41)'),
           (41, 'elementwise', 'K[i] moves element by element')]


def remarks():
    write('remarked.pnd', REMARKED)
    told = json.loads(run(sonde, 'pandore', 'compile', 'remarked.pnd', '--explain', '--format', 'json').stdout)
    rows = told['rows']
    check(told['schema'] == 'sonde.pandore-explain/1' and
          [(r['line'], r['kind']) for r in rows] == [r[:2] for r in REMARKS] and
          not [r for r, want in zip(rows, REMARKS) if want[2] not in r['reason']], '--explain: a remark a nest', rows)
    check([(r['line'], r['needed_bytes']) for r in rows if r['needed_bytes'] is not None] == [(26, NEEDED)],
          '--explain: what is needed is counted', rows)
    said = run(sonde, 'pandore', 'compile', 'remarked.pnd', '--explain').stderr
    check([int(n) for n in re.findall(r'^remarked.pnd:(\d+):\d+: remark: R\d: ', said, re.M)] == [r[0] for r in REMARKS],
          '--explain: the remarks as text', said)
    ran = run(sonde, 'pandore', 'compile', 'remarked.pnd', '--format', 'json')
    check(ran.returncode == 2 and '--format is of --explain' in ran.stderr, '--format without --explain', ran.stderr)
    told = json.loads(run(sonde, 'pandore', 'compile', os.path.join(here, 'fig1.pnd'), '--explain', '-f', 'json').stdout)
    run(sonde, 'pandore', 'compile', os.path.join(here, 'fig1.pnd'), '--profile', '-o', 'fig1')
    run('./fig1')
    wanted = [(r['line'], r['source'], r['from'], r['to'], r['messages'], r['bytes'])
              for r in json.load(open('fig1.profile.json'))['traffic']]
    got = [(m['line'], m['source'], m['from'], m['to'], m['messages'], m['bytes']) for m in told['phases'][0]['messages']]
    check(told['rows'] == [] and sorted(got) == sorted(wanted), '--explain as JSON: messages of Figure 1', got, wanted)


# ---- diagnostics: (name, source, [(line, column, code)]) ----
HEAD = '#define N 8\n#define P 2\nfloat A[N], B[N];\n'
TAIL = '\nint main(void) { ph(A, B); return 0; }\n'
A4 = 'float A[N] by block(4) map regular(0)'
CASES = {
    'P01': (HEAD + 'dist ph(float A[N] by block(N*0.5) map regular(0), float B[N]) { }' + TAIL, 4, 29),
    'P02': (HEAD + 'dist ph(float A[N] by block(0) map regular(0), float B[N]) { }' + TAIL, 4, 29),
    'P03': (HEAD + 'dist ph(float A[N] by block(4,2) map regular(0), float B[N]) { }' + TAIL, 4, 28),
    'P04': (HEAD + 'dist ph(float A[N] by block(4) map regular(1), float B[N]) { }' + TAIL, 4, 44),
    'P05': (HEAD + 'dist ph(float A[N] by block(4) map cyclic(0), float B[N]) { }' + TAIL, 4, 36),
    'P06': (HEAD + f'dist ph({A4} mode IN, float B[N])\n{{\n\tA[1] = 2;\n}}' + TAIL, 6, 2),
    'P07': (HEAD + f'dist ph({A4}, float B[N]) {{ }}\nint main(void)\n{{\n\tph(A, A);\n}}\n', 7, 8),
    'P08': (HEAD + f'dist ph({A4}, float B[N])\n{{\n\tB[0] = *A;\n}}' + TAIL, 6, 9),
    'P09': (HEAD + f'dist ph({A4}, float B[N])\n{{\n\tB[0] = rand();\n}}' + TAIL, 6, 9),
    'P10': (HEAD + f'dist q(float x) {{ }}\ndist ph({A4}, float B[N])\n{{\n\tB[0] = q(1);\n}}' + TAIL, 7, 9),
    'P11': (HEAD + f'dist ph({A4}, float B[N])\n{{\n\tint i;\n\tfor (i = 0; i < 4; i++)\n\t\ti = i + 1;\n}}' + TAIL, 8, 3),
    'P12': (HEAD + f'dist ph({A4}, float B[N])\n{{\n\tB[0] = y;\n}}' + TAIL, 6, 9),
    'P13': (HEAD + f'float f(float x) {{ return x; }}\ndist ph({A4}, float B[N])\n{{\n\tB[0] = f(A);\n}}' + TAIL, 7, 11),
    'P14': (HEAD + f'dist ph({A4} mode OUT, float B[N])\n{{\n\tB[0] = A[1];\n}}' + TAIL, 6, 9),
    'P15': (HEAD + 'dist ph(float A[N] by block(8) map regular(0), float B[N]) { }' + TAIL, 4, 15),
    'P16': (HEAD + f'dist ph({A4}, float B[N])\n{{\n\tB[0] = A[8];\n}}' + TAIL, 6, 11),
}
WARNINGS = ('P11', 'P14', 'P15')


LINE = HEAD + 'dist ph(%s)\n{ int i, count; %s }\n' + TAIL
BOTH = A4 + ', float B[N]'
MANY = [
    ('every name of a line that is not declared', LINE % (BOTH, 'A[1] = x + y; B[2] = x + z;'),
     ['5:24 P12 x', '5:28 P12 y', '5:42 P12 z']),
    ('a fault in a parameter does not hide the next one',
     LINE % ('float A[N] by blok(4) map cyclic(0) mode INUOT, float B[N] mode BOTH', 'A[1] = x;'),
     ['4:23 P05 blok', '4:35 P05 cyclic', '4:50 P05 INUOT', '4:73 P05 BOTH', '5:24 P12 x']),
    ('syntax in two statements of a line', LINE % (BOTH, 'A[1] = ; B[0] = 1 +; for (i = 0; i < 8 i++) A[i] = 1;'),
     ['5:24 P00 ;', '5:36 P00 ;', "5:56 P00 ;"]),
    ('a name nearly right', LINE % (BOTH, 'cuont = 1;'), ['5:17 P12 cuont']),
    ('dist misspelt', HEAD + f'dsit ph({BOTH}) {{ A[1] = x; }}' + TAIL, ['4:1 P00 dist', '4:69 P12 x']),
    ('dist misspelt, nothing distributed', HEAD + 'Dist ph(float A[N], float B[N]) { }' + TAIL, ['4:1 P00 dist']),
    ('dist left out', HEAD + f'ph({BOTH}) {{ }}' + TAIL, ['4:1 P00 dist']),
    ('void in the place of dist', HEAD + f'void ph({BOTH}) {{ }}' + TAIL, ['4:1 P00 dist']),
    ('a phase that is nowhere', HEAD + f'dist phase({BOTH}) {{ }}' + TAIL.replace('ph(A', 'phace(A'), ['5:18 P12 phace']),
    ('functions that are nowhere', HEAD + f'void put(float *);\ndist ph({BOTH}) {{ }}' + TAIL.replace('ph(A', 'put(A); set(B); ph(A'),
     ['6:18 P12 put', '6:26 P12 set']),
]


# What beginners write: (source, [line:column code], words of the sentence that say what to write instead)
BEGIN = HEAD + f'dist ph({BOTH})\n{{\n\tint i, j;\n'
WRONG = {
    'a brace left out': (HEAD + f'dist ph({BOTH})\n{{\n\tint i;\n\tfor (i = 0; i < N; i++) {{\n\t\tA[i] = 1;\n}}' + TAIL,
                         ['5:1 P00'], "this '{' has no '}': on line 10 something new begins"),
    'a comment without end': (BEGIN + '\tA[0] = 1; /* oops\n}' + TAIL, ['7:12 P00'], 'close it with */'),
    'switch': (BEGIN + '\tswitch (i) { case 1: A[0] = 1; break; }\n}' + TAIL, ['7:2 P08'], 'use if and else'),
    'goto': (BEGIN + '\tgoto out;\nout:\n\tA[0] = 1;\n}' + TAIL, ['7:2 P08'], 'use loops and conditions'),
    'a label': (BEGIN + 'again:\n\tA[0] = 1;\n}' + TAIL, ['7:1 P08'], 'use loops and conditions'),
    'a phase that calls itself': (BEGIN + '\tph(A, B);\n}' + TAIL, ['7:2 P10'], "phases are called by the host's functions"),
    'functions that call each other': (HEAD + 'float g(float x);\nfloat f(float x) { return g(x - 1); }\n'
                                       f'float g(float x) {{ return x < 1 ? 1 : f(x); }}\ndist ph({BOTH}) {{ A[0] = f(3); }}' + TAIL,
                                       ['7:69 P09'], 'declare it __attribute__((const))'),
    'one array twice': (HEAD + f'dist ph({BOTH}) {{ }}\nint main(void) {{ ph(A, A); return 0; }}\n', ['5:24 P07'], "'A' is passed twice"),
    'a pointer': (BEGIN + '\tfloat *p;\n}' + TAIL, ['7:8 P08'], 'declare an array'),
    'a type of the host': (HEAD + f'typedef double real;\ndist ph({BOTH}) {{ real x; }}' + TAIL, ['5:62 P08'], 'write double'),
    'a cast to a type of the host': (HEAD + f'typedef double real;\ndist ph({BOTH}) {{ A[0] = (real)1; }}' + TAIL, ['5:70 P08'], 'write double'),
    'a header\'s type': (HEAD + f'size_t n;\ndist ph({BOTH}) {{ size_t x; }}' + TAIL, ['5:62 P08'], 'write unsigned long'),
    'a structure of the host': (HEAD + f'struct {{ int a; }} s;\ndist ph({BOTH}) {{ A[0] = s.a; }}' + TAIL, ['5:70 P08'], 'use arrays'),
    'a pointer of the host': (HEAD + f'float *p = B;\ndist ph({BOTH}) {{ A[0] = p[1]; }}' + TAIL, ['5:69 P12'], 'pass what is needed of it as a parameter'),
    'a pointer as a parameter': (HEAD + 'dist ph(float *A, float B[N]) { B[0] = 1; }' + TAIL, ['4:15 P08'], 'declare an array'),
    'an address': (BEGIN + '\tj = *(&i);\n}' + TAIL, ['7:6 P08'], 'use subscripts'),
    'a structure': (BEGIN + '\tstruct { int a; } s;\n\tA[0] = 1;\n}' + TAIL, ['7:2 P08'], 'use arrays'),
    'a static variable': (BEGIN + '\tstatic int c;\n\tA[0] = c;\n}' + TAIL, ['7:2 P08'], 'make it a parameter'),
    'block sizes of another rank': (HEAD + 'dist ph(float A[N] by block(4,4) map regular(0), float B[N]) { }' + TAIL,
                                    ['4:28 P03'], 'has 1 dimension, but 2 block sizes'),
    'a mapping of another rank': (HEAD + 'dist ph(float A[N] by block(4) map regular(0,1), float B[N]) { }' + TAIL,
                                  ['4:46 P04'], 'write (0)'),
    'no mapping': (HEAD + 'dist ph(float A[N] by block(4), float B[N]) { }' + TAIL, ['4:31 P00'], 'write by block(...) map regular(...)'),
    'a mapping alone': (HEAD + 'dist ph(float A[N] map regular(0), float B[N]) { }' + TAIL, ['4:20 P00'], 'by block(...) map regular(...)'),
    'a block size that overflows': (HEAD + 'dist ph(float A[N] by block(2147483647 + 1) map regular(0), float B[N]) { }' + TAIL,
                                    ['4:29 P01'], 'write one of its numbers as a long'),
    'an extent that overflows': (HEAD + f'dist ph(float A[N * 1000000000], float B[N]) {{ A[0] = 1; }}' + TAIL,
                                 ['4:17 P12'], 'write one of its numbers as a long'),
    'a real block size': (HEAD + 'dist ph(float A[N] by block(N * 0.5) map regular(0), float B[N]) { }' + TAIL,
                          ['4:29 P01'], 'such as N / 2'),
    'a block size that divides by zero': (HEAD + 'dist ph(float A[N] by block(N / 0) map regular(0), float B[N]) { }' + TAIL,
                                          ['4:29 P01'], 'it divides by zero'),
    'a size that comes later': (HEAD + 'dist ph(float A[n] by block(4) map regular(0), int n) { }\nint main(void) { ph(A, 8); return 0; }\n',
                                ['4:17 P12'], 'earlier integer parameters'),
    'output': (BEGIN + '\tprintf("%g", A[0]);\n}' + TAIL, ['7:2 P08'], 'a call is no statement'),
    'memory': (BEGIN + '\tA[0] = malloc(8);\n}' + TAIL, ['7:9 P09'], 'call it in the host'),
    'a variable of the host': (HEAD + f'int count;\ndist ph({BOTH}) {{ count = 1; }}' + TAIL, ['5:62 P12'], 'pass it to the phase as a parameter'),
    'two counters in a loop': (BEGIN + '\tfor (i = 0, j = 0; i < N; i++)\n\t\tA[i] = j;\n}' + TAIL, ['7:12 P00'], 'a loop has one counter'),
    'an assignment in another one': (BEGIN + '\ti = j = 0;\n}' + TAIL, ['7:8 P00'], 'a statement of its own'),
    'an assignment as a condition': (BEGIN + '\tif (i = 1)\n\t\tA[0] = 1;\n}' + TAIL, ['7:8 P00'], 'compares with =='),
    'a whole array': (BEGIN + '\tA = B;\n}' + TAIL, ['7:2 P12'], 'needs 1 subscript here; loops'),
    'a comma between subscripts': (BEGIN + '\tA[1,2] = 1;\n}' + TAIL, ['7:5 P00'], 'A[i][j]'),
    '++ in an expression': (BEGIN + '\tA[i++] = 1;\n}' + TAIL, ['7:5 P00'], '++ and -- are statements'),
    'a value of a phase': (BEGIN + '\treturn 1;\n}' + TAIL, ['7:2 P08'], 'its results are its OUT parameters'),
    'a semicolon left out': (BEGIN + '\tA[0] = 1\n\tA[1] = 2;\n}' + TAIL, ['8:2 P00'], "expected ';' after the assignment"),
    'a subscript out of bounds': (BEGIN + '\tA[8] = 1;\n}' + TAIL, ['7:4 P16'], 'out of bounds: 0 to 7'),
    'too few arguments': (HEAD + f'dist ph({BOTH}) {{ }}\nint main(void) {{ ph(A); return 0; }}\n', ['5:18 P07'], 'takes 2 arguments, not 1'),
}


def wrong():
    """One finding for one mistake: its place, its code, and what to write."""
    for name, (source, wanted, words) in WRONG.items():
        write('wrong.pnd', source)
        ran = run(sonde, 'pandore', 'compile', 'wrong.pnd', '-o', 'wrong')
        got = [f'{line}:{column} {code}' for line, column, code in re.findall(r'^wrong.pnd:(\d+):(\d+): error: (P\d\d): ', ran.stderr, re.M)]
        check(ran.returncode == 5 and got == wanted and words in ran.stderr, f'wrong: {name}', got, wanted, ran.stderr)


def diagnostics():
    for code, (source, line, column) in CASES.items():
        write('bad.pnd', source)
        ran = run(sonde, 'pandore', 'compile', 'bad.pnd', '-o', 'bad')
        kind = 'warning' if code in WARNINGS else 'error'
        wanted = f'bad.pnd:{line}:{column}: {kind}: {code}: '
        lines = ran.stderr.split('\n')
        caret = len(lines) > 2 and lines[2].endswith('^') and lines[1].strip() != ''
        check(lines[0].startswith(wanted) and caret and ran.returncode == (0 if kind == 'warning' else 5),
              f'{code} at {line}:{column}', wanted, ran.returncode, ran.stderr)
    bodies = '\tA[9] = 1;\n\tB[0] = z;\n\tB[1] = &B;\n\tgoto end;\n\tB[0] = 1 +;\n'
    write('many.pnd', HEAD + f'dist ph({A4}, float B[N])\n{{\n{bodies}}}' + TAIL)
    ran = run(sonde, 'pandore', 'compile', 'many.pnd')
    codes = re.findall(r'many.pnd:(\d+):\d+: error: (P\d\d)', ran.stderr)
    check(codes == [('6', 'P16'), ('7', 'P12'), ('8', 'P08'), ('9', 'P08'), ('10', 'P00')],
          'all errors of a file in one go', ran.stderr)
    for value in ('0', 'abc', '-3', '5000'):
        ran = run(sonde, 'pandore', 'compile', os.path.join(here, 'fig1.pnd'), '-D', 'P=' + value, '-o', 'none')
        check(ran.returncode == 5 and ran.stderr.count('error') == 1 and ran.stderr.startswith('-D:1:1: error: P00: P, '),
              f'P={value}: one error', ran.stderr)
    for output in ('/nowhere/x', '.'):
        ran = run(sonde, 'pandore', 'compile', os.path.join(here, 'fig1.pnd'), '-o', output)
        check(ran.returncode in (2, 5) and ran.stderr.count('\n') == 1 and f"'{output}'" in ran.stderr,
              f'-o {output}: one sentence', ran.returncode, ran.stderr)
    for name, source, wanted in MANY:
        write('line.pnd', source)
        ran = run(sonde, 'pandore', 'compile', 'line.pnd', '-o', 'line')
        got = [f'{line}:{column} {code} {name}' for line, column, code, name in
               re.findall(r"^line.pnd:(\d+):(\d+): error: (P\d\d): [^'\n]*'([^']*)'", ran.stderr, re.M)]
        check(got == wanted and ran.returncode == 5 and ran.stderr.count('error') == len(wanted), name, got, ran.stderr)


# ---- what only the host has ----
OWN = r'''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define P 2
#define N 8
struct point { double x, y; };
struct point origin = { 1, 2 }, *near;
typedef double real;
typedef struct { int a; union { int b; double c; } u; } thing;
typedef enum { RED, GREEN = 5 } colour;
enum shade { DARK, LIGHT } shade = LIGHT;
enum shade other;
union both { int i; float f; } both;
extern int errno_of_mine;
int errno_of_mine = 4;
volatile int stop;
size_t count = 3;
FILE *out;
long double precise = 1.5L;
double A[N], *where = A;
double M[2][2] = { { 1, 2 }, { 3, 4 } };
int table[] = { 1, 2, 3 };
char text[] = "host";
const char *const names[] = { "a", "b" };
static void (*callback)(int);
int sized = sizeof(double) * 2;
struct point moved(struct point p, real by);
struct point moved(struct point p, real by) { p.x += by; return p; }
typedef int (*compare)(const void *, const void *);
colour c = GREEN;
real B[N];
static void called(int x) { stop = x; }
dist ph(double A[N] by block(4) map regular(0), double B[N] by block(4) map regular(0))
{
	for (int i = 0; i < N; i++)
		A[i] = B[i] * 2 + GREEN + LIGHT;
}
int main(void)
{
	out = stdout;
	callback = called;
	callback(9);
	for (count = 0; count < N; count++) B[count] = count;
	ph(A, B);
	origin = moved(origin, 3);
	near = &origin;
	fprintf(out, "%g %g %g %s %s %d %d %g %d %zu\n", where[7], near->x, M[1][1], text, names[1], table[2], stop, (double)precise, sized, sizeof(thing));
	return c == GREEN ? 0 : 1;
}
'''


def hosts_own():
    """File scope is C: what no phase uses is passed on."""
    for scheme in ('naive', 'opt'):
        ran = compile_run(OWN, 'own', '--scheme', scheme)
        check((ran.returncode, ran.stdout) == (0, '20 4 4 host b 3 9 1.5 16 16\n'),
              f'{scheme}: types, pointers and data of the host stand at file scope', ran.returncode, ran.stdout, ran.stderr)
    ran = compile_run(OWN.replace('x, y; };', 'x, y; }'), 'own')
    check(ran.returncode == 5 and 'own.pnd:7:' in ran.stderr and 'no main()' not in ran.stderr,
          'a semicolon that a structure lacks is told by the C compiler', ran.stderr)


# ---- bad days ----
CRASH = '''
#include <stdio.h>
#define P 4
int A[8], B[8];
dist ph(int A[8] by block(2) map regular(0), int B[8] by block(2) map regular(0))
{
	int i;
	for (i = 0; i < 8; i++)
		A[i] = 10 / (B[i] - 5);
	for (i = 0; i < 7; i++)
		B[i] = A[i + 1];
}
int main(void)
{
	int i;
	for (i = 0; i < 8; i++)
		B[i] = i;
	ph(A, B);
	puts("never");
	return 0;
}
'''
BOUNDS = '''
#define P 2
double A[8];
dist ph(double A[8] by block(4) map regular(0), int n)
{
	int i;
	for (i = 0; i < n; i++)
		A[i] = 1;
}
int main(void) { ph(A, 20); return 0; }
'''


SLOW = '''
#include <stdio.h>
#define P 3
double A[6];
double slow(double x)
{
	int i;
	for (i = 0; i < 2000000000; i++)
		x = x * 0.5 + 1;
	return x;
}
dist ph(double A[6] by block(2) map regular(0))
{
	int i;
	for (i = 1; i < 6; i++)
		A[i] = slow(A[i - 1]);
}
int main(void) { puts("ready"); fflush(stdout); ph(A); return 0; }
'''


def processes(name):
    """Pids of the program's processes, children last; a guard of the MPI back end has a child."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat') as stat:
                comm, rest = stat.read().split(') ', 1)
            if comm.endswith('(' + name) and not rest.startswith('Z'):
                found[int(pid)] = int(rest.split()[1])
        except OSError:
            pass
    return found


def death(label, *options, launch=()):
    """A node that fails, and one that is killed by SIGKILL, which nobody can catch."""
    ran = compile_run(CRASH, 'crash', *options, launch=launch)
    said = [line for line in ran.stderr.split('\n') if line.startswith('sonde: ')]
    check(ran.returncode and 'never' not in ran.stdout and len(said) == 1 and 'node 2' in said[0]
          and 'signal 8' in said[0] and (launch or ran.stderr.count('\n') == 1),
          f'{label}: a dead node ends the run with one sentence that names it', ran.returncode, ran.stderr)
    write('slow.pnd', SLOW)
    made = run(sonde, 'pandore', 'compile', 'slow.pnd', '-o', 'slow', *options)
    own_host = '--host-inside' not in options
    launch = [{'5': '4', '4': '3'}.get(word, word) for word in launch]
    with subprocess.Popen([*launch, './slow'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as started:
        started.stdout.readline()
        leaves, deadline = [], time.time() + 30
        while len(leaves) < 3 + own_host and time.time() < deadline:
            time.sleep(0.05)
            found = processes('slow')
            leaves = sorted(set(found) - set(found.values())) + ([started.pid] if not launch else [])
        node = leaves[len(leaves) - 2 if not launch else -1]
        os.kill(node, signal.SIGKILL)
        try:
            stderr = started.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            started.kill()
            stderr = 'it ran on\n' + started.communicate()[1]
    said = [line for line in stderr.split('\n') if line.startswith('sonde: ')]
    check(started.returncode and len(said) == 1 and f'(pid {node}) died by signal 9' in said[0]
          and re.search(r'node \d|the host', said[0]), f'{label}: a node killed by SIGKILL is named, too',
          made.stderr, leaves, node, stderr)
    deadline = time.time() + 10
    while processes('slow') and time.time() < deadline:
        time.sleep(0.05)
    check(not processes('slow'), f'{label}: nothing is left running', processes('slow'))


def bad_days():
    death('local')
    death('local, host inside', '--host-inside')
    ran = compile_run(CRASH.replace('- 5', '- 1'), 'inside', '--host-inside')
    check(ran.returncode == -signal.SIGFPE and ran.stderr.count('\n') == 1 and 'node 0' in ran.stderr,
          'a host that is node 0 names itself', ran.returncode, ran.stderr)
    ran = run('./crash', env=dict(os.environ, PANDORE_NODES='3'))
    check(ran.returncode and ran.stderr.count('\n') == 1 and 'compiled for 4' in ran.stderr,
          'another number of nodes is refused with one sentence', ran.stderr)
    ran = compile_run(BOUNDS, 'bounds', '--check')
    check(ran.returncode and 'bounds.pnd:8: node' in ran.stderr and ran.stderr.count('\n') == 1,
          '--check names the source line of a subscript out of bounds', ran.stderr)
    ran = run(sonde, 'pandore', 'compile', 'nothing.pnd')
    check(ran.returncode == 5 and ran.stderr.count('\n') == 1, 'no such source', ran.stderr)
    ran = compile_run('#define P 2\nint x;\nint main(void) { return undeclared; }\n', 'host')
    check(ran.returncode == 5 and 'host.pnd:3' in ran.stderr, "an error of main() names the user's line", ran.stderr)


def measured_until_death_with(name):
    """The same with MPI, whose launcher ends what is left as it likes: a keeper may be the last to end."""
    write('ends.pnd', ENDS.replace('getppid()', 'getpid()'))
    made = run(sonde, 'pandore', 'compile', 'ends.pnd', '-o', 'ends', '--scheme', 'naive', '--trace', '--profile', '--backend', 'mpi', '--cc',
               'mpicc.' + name)
    for path in ('ends.profile.json', 'ends.trace.jsonl'):
        if os.path.exists(path):
            os.unlink(path)
    ran = run('mpirun.' + name, '-np', '3', './ends', '9')
    for _ in range(300):
        messages = run(sonde, 'comm', 'ends.profile.json', '--format', 'json')
        lattice = run(sonde, 'lattice', 'ends.trace.jsonl', '--format', 'json')
        if messages.stdout and lattice.stdout:
            break
        time.sleep(0.1)
    messages = sum(r['messages'] for r in json.loads(messages.stdout)['rows']) if messages.stdout else messages.stderr
    got = json.loads(lattice.stdout) if lattice.stdout else {}
    check(ran.returncode and messages == 1 and (got.get('events'), got.get('cuts')) == (6, '7'),
          f'{name}: a run whose node is killed leaves profile and trace up to then', made.stderr, ran.stderr[:1000], messages, got.get('events'), lattice.stderr)


def mpi(want):
    for name in ('openmpi', 'mpich'):
        if not shutil.which('mpicc.' + name) or not shutil.which('mpirun.' + name):
            skip(f'Figure 1 with {name}', f'{name} is not installed')
            continue
        for more, count in (((), 5), (('--host-inside',), 4)):
            ran = compile_run(figure1, 'fig_mpi', '-I', here, '--backend', 'mpi', '--cc', 'mpicc.' + name, *more,
                              '--profile', launch=('mpirun.' + name, '-np', str(count)))
            check(ran.stdout == want, f'Figure 1 with {name} {" ".join(more)}: bit-identical', ran.stderr[:1000])
            death(' '.join((name,) + more), '--backend', 'mpi', '--cc', 'mpicc.' + name, *more,
                  launch=('mpirun.' + name, '-np', str(count)))
        measured_until_death_with(name)
        ran = run('mpirun.' + name, '-np', '3', './fig_mpi')
        check(ran.returncode and ran.stderr.count('sonde: pandore: this program was compiled for 4') == 1,
              f'{name}: another number of processes is refused', ran.stderr)
    ran = compile_run(figure1, 'inside', '-I', here, '--host-inside')
    check(ran.stdout == want, 'Figure 1 with the host inside node 0', ran.stderr[:500])


TWICE = '''#define P 4
#include <stdio.h>
double A[8], B[8];
dist p(double A[8] by block(2) map regular(0) mode INOUT)
{ int i; for (i = 0; i < 8; i++) A[i] = A[i] + 1.0; }
dist q(double A[8] by block(2) map regular(0) mode IN)
{ int i; double s[8]; for (i = 0; i < 8; i++) s[i] = A[i]; }
int main(void) { %s printf("%%g %%g\\n", A[0], A[7]); return 0; }
'''


def several_calls():
    """The host's collection orders the calls: three boxes of 3^4 cuts that share their corners."""
    for calls, options, want in (
            ('p(A); A[0] = A[7]; p(A); p(A);', (), (241, 2)),
            ('p(A); A[0] = A[7]; p(A); p(A);', ('--host-inside',), (241, 2)),
            ('p(A);', (), (81, 0))):
        ran = compile_run(TWICE % calls, 'twice', '--scheme', 'naive', '--trace', *options)
        out = run(sonde, 'lattice', 'twice.trace.jsonl', '--format', 'json')
        text = run(sonde, 'lattice', 'twice.trace.jsonl').stdout
        numbers = [int(n.replace(',', '')) for n in re.findall(r'\d[\d,]*', text)]
        check(ran.returncode == 0 and want[0] in numbers and 2401 not in numbers,
              f'{calls} {" ".join(options)}: {want[0]} cuts', ran.stderr, out.stderr, text)
        first = [json.loads(line)['after'] for line in open('twice.trace.jsonl').readlines()[1:]]
        check(sum(map(bool, first)) == 4 * want[1], 'each node waits once for each earlier call', first)


STAYS = '''#define P 3
#include <stdio.h>
#include <string.h>
double A[9][4], B[9][4];
dist rows(double A[9][4] by block(3,4) map regular(0,1), double B[9][4] by block(3,4) map regular(0,1) mode OUT, int k)
{ int i, j; for (i = 0; i < 9; i++) for (j = k; j < 4; j++) { A[i][j] += 1.0; B[i][j] = A[8 - i][j]; } }
dist columns(double A[9][4] by block(9,1) map wrapped(0,1), double B[9][4] mode IN)
{ int i, j; for (i = 0; i < 9; i++) for (j = 0; j < 4; j++) A[i][j] += B[i][j]; }
double sum(double X[9][4]) { int i; double s = 0; for (i = 0; i < 36; i++) s = s * 0.5 + X[i / 4][i % 4]; return s; }
double *keep(double X[9][4]) { return X[0]; }
void show(void) { printf("%.17g ", A[3][1]); }
double *recall(double *x) { static double *last; if (x) last = x; return last; }
unsigned long hash(const void *bytes, unsigned long n)
{ const unsigned char *c = bytes; unsigned long h = 7; while (n--) h = h * 31 + *c++; return h; }
unsigned long hash_words(void *bytes, unsigned long n)
{ unsigned long h = 7, i; unsigned long *w = (unsigned long *)bytes; for (i = 0; i < n / sizeof(*w); i++) h = h * 31 + w[i]; return h; }
void remember(void *x, int n) { double *p = x; recall(p + n); }
void remember_cast(void *x, int n) { double *p = (double *)x, *q = p; recall(q); n--; }
void point(double (*x)[4]) { recall(*x); }
void change(void *x, int n) { double *p = x; while (n--) *p++ += n; }
#define CORNER A[8][3]
int main(void)
{
	int t, i;
	double L[9][4], *kept;
	for (i = 0; i < 36; i++) L[i / 4][i % 4] = A[i / 4][i % 4] = i, B[i / 4][i % 4] = -i;
	for (t = 0; t < 3; t++) rows(A, B, t);
	LOOK_HERE
	for (i = 0; i < 36; i++) printf("%.17g %.17g %.17g\\n", A[i / 4][i % 4], B[i / 4][i % 4], L[i / 4][i % 4]);
	return 0;
}
'''
LOOKS = ['', 'show();', 'printf("%g ", sum(A)); rows(A, L, 0); printf("%g ", sum(L));', 'columns(A, B); rows(A, B, 1);',
         'rows(L, A, 0); rows(A, L, 0); columns(L, A);', 'B[0][0] = A[1][1]; rows(A, B, 0); A[2][2]--; rows(B, A, 3);',
         'kept = A[1]; rows(A, B, 0); printf("%g ", kept[2]); kept[2] = 7; rows(A, B, 2);',
         'kept = keep(A); rows(A, B, 0); printf("%g ", *kept);', 'CORNER = 9; rows(A, B, 0); printf("%g ", CORNER);',
         'memset(A, 0, sizeof(A)); rows(A, B, 2); memcpy(L, A, sizeof L); columns(L, A);',
         'printf("%lx ", hash(A, sizeof A)); rows(A, B, 0); printf("%lx %lx ", hash(A, sizeof A), hash_words(B, sizeof B));',
         'remember(A, 3); rows(A, B, 0); printf("%g ", *recall(0)); *recall(0) = 7; rows(A, B, 2);',
         'remember_cast(A, 3); rows(A, B, 0); printf("%g ", *recall(0)); *recall(0) = 7; rows(A, B, 2);',
         'point(A); rows(A, B, 0); printf("%g ", recall(0)[5]); recall(0)[5] = 7; rows(A, B, 2);',
         'change(A, 36); rows(A, B, 1); change(B, 20); rows(A, B, 2);',
         '{ double A[9][4] = { { 1 } }; rows(A, B, 1); printf("%g ", A[8][3]); }',
         'for (t = 0; t < 70; t++) { rows(A, B, 0); columns(A, B); }', 'for (t = 0; A[0][0] < 9; t++) { rows(A, B, 0); }',
         'for (t = 0; t < 2; t++) { double M[9][4] = { { t } }; rows(M, B, 0); printf("%g ", M[0][0]); }']


GAUSS = '''#define N 24
#define P 4
#include <stdio.h>
double A[N][N], B[N];
dist gauss(double A[N][N] by block(1,N) map wrapped(0,1), double B[N] by block(1) map wrapped(0))
{ int i, j, k; double f;
  for (k = 0; k < N - 1; k++) for (i = k + 1; i < N; i++) {
    f = A[i][k] / A[k][k];
    for (j = k + 1; j < N; j++) A[i][j] -= f * A[k][j];
    B[i] -= f * B[k]; } }
int main(void)
{ int i, j;
  for (i = 0; i < N; i++) { B[i] = i; for (j = 0; j < N; j++) A[i][j] = i == j ? N : 1.0 / (1 + i + 2 * j); }
  gauss(A, B);
  for (i = 0; i < N; i++) printf("%.17g %.17g\\n", A[i][N - 1], B[i]);
  return 0; }
'''
FLOYD = '''#define N 12
#define P 4
#include <stdio.h>
double D[N][N];
dist floyd(double D[N][N] by block(N/P,N) map regular(0,1))
{ int i, j, k;
  for (k = 0; k < N; k++) for (i = 0; i < N; i++) for (j = 0; j < N; j++)
    if (D[i][k] + D[k][j] < D[i][j]) D[i][j] = D[i][k] + D[k][j]; }
int main(void)
{ int i, j;
  for (i = 0; i < N; i++) for (j = 0; j < N; j++) D[i][j] = i == j ? 0 : 1 + (i * 7 + j * 5) % 11;
  floyd(D);
  for (i = 0; i < N; i++) printf("%.17g %.17g\\n", D[i][0], D[i][N - 1]);
  return 0; }
'''
# the finer grid's elements 2 i and 2 i + 1 lie where the coarser one's i does: only the neighbours' borders move
GRIDS = '''#define N 32
#define H 16
#define P 4
#include <stdio.h>
double U[N], C[H];
dist grids(double U[N] by block(N/P) map regular(0), double C[H] by block(H/P) map regular(0))
{ int i;
  for (i = 1; i < H - 1; i++) C[i] = U[2*i-1] + 2 * U[2*i] + U[2*i+1];
  for (i = 1; i < H - 1; i++) { U[2*i] += C[i]; U[2*i+1] += 0.5 * (C[i] + C[i+1]); } }
int main(void)
{ int i;
  for (i = 0; i < N; i++) U[i] = i * i % 7;
  grids(U, C);
  for (i = 0; i < N; i++) printf("%.17g %.17g\\n", U[i], C[i / 2]);
  return 0; }
'''


def divided():
    """Each step's row goes to each other node once, in one message: pivot row and right-hand side for Gauss as long as the node
    has rows below, the k-th row for Floyd and Warshall. The owners' assignments are those of the sequential program."""
    below = lambda k: len({i % 4 for i in range(k + 1, 24)} - {k % 4})
    for name, source, messages, size in (
            ('gauss', GAUSS, sum(below(k) for k in range(23)), sum(below(k) * 8 * (24 - k + 1) for k in range(23))),
            ('floyd', FLOYD, 12 * 3, 12 * 3 * 12 * 8), ('grids', GRIDS, 3 + 3, (3 + 3) * 8)):
        text = re.sub(r' by block\([^)]*\) map \w+\([^)]*\)', '', source)
        write('div.c', re.sub(r'^dist ', 'void ', text, flags=re.M))
        subprocess.run(['gcc', '-w', '-ffp-contract=off', 'div.c', '-o', 'div_c'], check=True)
        ran = compile_run(source, 'div', '--profile')
        rows = json.load(open('div.profile.json'))['traffic']
        told = run(sonde, 'pandore', 'compile', 'div.pnd', '--explain').stdout
        got = sum(r['messages'] for r in rows), sum(r['bytes'] for r in rows)
        check(ran.stdout == run('./div_c').stdout and got == (messages, size) and f'in all {messages} messages with {size} bytes' in told,
              f'{name}: divided, {messages} messages with {size} bytes, foretold', ran.stderr, got, (messages, size), told[-80:])


# the same of arrays from malloc: flat, and by rows
ALLOCATED = '''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
double *kept;
void keep(double *p) { kept = p; }
double sum(const double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s = s * 0.5 + p[i]; return s; }
void drop(void *p) { free(p); }
dist step(int n, double A[n][n] by block((n+P-1)/P,n) map regular(0,1) mode IN, double B[n][n] by block((n+P-1)/P,n) map regular(0,1))
{ for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) B[i][j] = 0.25 * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]); }
int main(void)
{
	int n = 9;
	double *A = (double *)malloc(sizeof(double) * n * n), (*B)[n] = calloc(n, sizeof(*B));
	if (!A || B == NULL)
		return 1;
	for (int i = 0; i < n * n; i++) { A[i] = i * 7 % 11; B[i / n][i % n] = A[i]; }
	for (int t = 0; t < 4; t++) {
		step(n, A, B);
		LOOK_HERE
		step(n, B, A);
	}
	printf("%a %a %a\\n", sum(A, n * n), B[3][4], A[30]);
	drop(B);
	free(A);
	return 0;
}
'''
ALLOCATED_LOOKS = (('', True), ('A[40] = 3; B[4][4] += A[40];', True), ('memset(B, 0, n * 8);', True), ('printf("%a\\n", sum(&B[2][1], 3));', False),
                   ('keep(A); kept[40] = t;', False), ('double *q = A; q[40] += 1;', False), ('*A = t; *(A + 40) = t;', False),
                   ('double *q = (double *)B; q[40] += 1;', False))


def allocated():
    """Arrays from malloc stay on the nodes, too, where nobody else knows the address."""
    for looks, stays in ALLOCATED_LOOKS:
        source = ALLOCATED.replace('LOOK_HERE', looks)
        text = re.sub(r' by block\([^)]*\)[^)]*\) map \w+\([^)]*\)| by block\(.*?,n\) map \w+\([^)]*\)| mode \w+', '', source)
        write('stays.c', re.sub(r'^dist ', 'void ', text, flags=re.M))
        subprocess.run(['gcc', '-w', '-ffp-contract=off', 'stays.c', '-o', 'stays_c'], check=True)
        want = run('./stays_c').stdout
        write('stays.pnd', source)
        made = run(sonde, 'pandore', 'compile', 'stays.pnd', '-o', 'stays')
        ran = run('./stays', '--nodes', '3')
        run(sonde, 'pandore', 'compile', 'stays.pnd', '--emit-c', 'stays.c')
        text = open('stays.c').read()
        check(ran.stdout == want and want, f'arrays of malloc: {looks or "not looked at"}', made.stderr, ran.stderr, ran.stdout, want)
        check(('pd_stay(A)' in text and 'pd_stay(B)' in text) == stays, f'arrays of malloc: {looks or "not looked at"} lets both stay: {stays}')


def staying():
    """Arrays that stay on the nodes: the host sees what it would see, however it looks."""
    for looks in LOOKS:
        source = STAYS.replace('LOOK_HERE', looks)
        text = re.sub(r' by block\([^)]*\) map \w+\([^)]*\)| mode \w+', '', source)
        write('stays.c', re.sub(r'^dist ', 'void ', text, flags=re.M))
        subprocess.run(['gcc', '-w', '-ffp-contract=off', 'stays.c', '-o', 'stays_c'], check=True)
        want = run('./stays_c').stdout
        for options in ((), ('--host-inside',)):
            ran = compile_run(source, 'stays', *options)
            check(ran.stdout == want and want, f'arrays that stay {" ".join(options)}: {looks or "not looked at"}',
                  ran.stderr, ran.stdout, want)
    write('stays.pnd', STAYS.replace('LOOK_HERE', 'rows(A, B, 0);'))
    run(sonde, 'pandore', 'compile', 'stays.pnd', '--emit-c', 'stays.c')
    text = open('stays.c').read()
    check(text.count('pd_stay(A)') == text.count('pd_stay(B)') == 2, 'both arrays may stay')
    for looks, stays in (('hash(A, sizeof A); change(A, 3);', True), ('remember(A, 3);', False),
                         ('remember_cast(A, 3);', False), ('point(A);', False)):
        write('stays.pnd', STAYS.replace('LOOK_HERE', looks))
        run(sonde, 'pandore', 'compile', 'stays.pnd', '--emit-c', 'stays.c')
        check(('pd_stay(A)' in open('stays.c').read()) == stays, f'{looks} lets A stay: {stays}')


SLEEPS = '''#define P 2
#include <stdio.h>
#include <unistd.h>
double slow(double x) __attribute__((const));
double slow(double x) { usleep(50000); return x + 1; }
double A[4];
dist apart(double A[4] by block(2) map regular(0)) { int i; for (i = 0; i < 4; i++) A[i] = slow(A[i]); }
dist chain(double A[4] by block(2) map regular(0)) { int i; for (i = 1; i < 4; i++) A[i] = slow(A[i-1]); }
int main(void) { %s return 0; }
'''


def realised(calls, where, holds, *options, launch=(), error_s=2e-4):
    """Start times on one clock: what of the parallelism was used. The work is sleep; how much longer it takes under load
    changes the figures, but not what must hold of them."""
    ran = compile_run(SLEEPS % calls, 'sleeps', '--scheme', 'naive', '--trace', *options, launch=launch)
    answer = run(sonde, 'lattice', 'sleeps.trace.jsonl', '--format', 'json').stdout if not ran.returncode else ''
    got = json.loads(answer)['time'] if answer else {}
    events = [json.loads(line) for line in open('sleeps.trace.jsonl').readlines()[1:]] if answer else []
    end = {(e['process'], e['index']): e['start_s'] + e.get('duration_s', 0) for e in events}
    late = [(e, q, i) for e in events for q, i in [*e['after'], [e['process'], e['index'] - 1]]
            if end.get((q, i), 0) > e['start_s'] + (error_s if q != e['process'] else 2e-7)]
    check(events and not late and 0 < min(end.values()) < max(end.values()) < 60,
          f'{calls} {where}: every event begins after all that it follows', ran.stderr, late, end)
    took = max(end.values()) - min(e['start_s'] for e in events) if events else 0
    work = sum(e.get('duration_s', 0) for e in events)
    check(events and abs(got['elapsed_s'] - took) < 1e-9 and abs(got['realised_parallelism'] - work / took) < 1e-6 and
          got['realised_parallelism'] < got['potential_parallelism'] * 1.02 and holds(got),
          f'{calls} {where}: work over the time from the first event to the last', ran.stderr, got, took, work)


def several_clocks():
    calls = 'apart(A); usleep(200000); apart(A);'
    paused = lambda time: time['elapsed_s'] > time['critical_path_s'] + 0.19  # by the host
    realised('apart(A);', 'local', lambda time: time['potential_parallelism'] > 1.1)
    realised('chain(A);', 'local', lambda time: abs(time['potential_parallelism'] - 1) < 0.02)
    realised(calls, 'local', paused)
    for name in ('openmpi', 'mpich'):
        inside = ('--backend', 'mpi', '--cc', 'mpicc.' + name, '--host-inside')
        elsewhere = ('unshare', '-T', '--monotonic', '1000')
        if not shutil.which('mpicc.' + name) or not shutil.which('mpirun.' + name):
            skip(f'start times with {name}', f'{name} is not installed')
        elif run(*elsewhere, 'true').returncode:
            skip(f'start times with {name}', 'this user can make no time namespace')
        else:
            realised(calls, f'{name}, clocks 1000 s apart', paused, *inside, error_s=0.02, launch=(
                'mpirun.' + name, '-np', '1', './sleeps', ':', '-np', '1', *elsewhere))


HOST = '''#define P 2
#include <stdio.h>
%s
dist p(double A[8] by block(4) map regular(0) mode OUT)
{ int i; for (i = 1; i < 8; i += 2) A[i] = 5.0 * i; }
%s
int main(void) { double X[8]%s; %s return 0; }
%s
'''


def sizes():
    source = open(os.path.join(here, 'sizes.pnd')).read()
    text = re.sub(r' by block\((?:[^()]|\([^()]*\))*\) map \w+\([^)]*\)| mode \w+', '', source)
    write('late.c', re.sub(r'^dist', 'void', text, flags=re.M))
    subprocess.run(['gcc', '-w', '-O1', '-ffp-contract=off', 'late.c', '-o', 'late_c', '-lm'], check=True)
    want = run('./late_c', '5').stdout
    for scheme in ('naive', 'opt'):
        compile_run(source, 'late', '--scheme', scheme)
        for nodes in ('1', '3', '7'):
            ran = run('./late', '--nodes', nodes, '5')
            check(ran.stdout == want, f'sizes at run time, {scheme}, {nodes} nodes: bit-identical', ran.stderr)
    ran = run('./late', '5', env=dict(os.environ, PANDORE_NODES='2'))
    check(ran.stdout == want, 'PANDORE_NODES is the number of nodes', ran.stderr)
    ran = run('./late', '--nodes', '0')
    check(ran.returncode == 1 and '--nodes is 1 to 1024' in ran.stderr, 'no number of nodes is one sentence', ran.stderr)
    ran = run(sonde, 'pandore', 'compile', 'late.pnd', '-e')
    check(ran.returncode == 0 and 'the run decides the number of nodes; --nodes gives one' in ran.stdout,
          '--explain says what the run decides', ran.stdout)
    ran = run(sonde, 'pandore', 'compile', 'late.pnd', '-e', '-n', '3')
    check(ran.returncode == 0 and 'sizes that the run decides (--with NAME=VALUE gives them) at line 3' in ran.stdout,
          '--explain says which sizes', ran.stdout)
    check('PD_NODES' not in ran.stdout, '--explain names nothing of the generated program', ran.stdout)
    told = json.loads(run(sonde, 'pandore', 'compile', 'late.pnd', '-e', '-n', '3', '-f', 'json').stdout)
    check(told['nodes'] == 3, '--explain as JSON: the number it counted with', told['nodes'])
    text = re.sub(r'(?s)static void step.*', '', source).replace('A[K[j]][j]', 'A[n - 1 - i][j]')
    write('late.pnd', text + '''int main(int argc, char **argv)
{
	int n = atoi(argv[1]), m = atoi(argv[2]), K[m];
	double *A = calloc(n * m, 8), *b = calloc(n, 8);
	zero(n, b);
	sweep(n, m, A, b, K);
	return extra(argc);
}
'''.replace('int main', 'int extra(int);\nint main'))
    write('extra.c', 'int extra(int a) { return a - a; }\n')
    run(sonde, 'pandore', 'compile', 'late.pnd', 'extra.c', '--profile', '-o', 'late')
    for nodes, n, m in (('3', '20', '9'), ('4', '31', '5')):
        run('./late', '--nodes', nodes, n, m)
        wanted = profiled('late')
        for words in (['predict'], ['compile', '-e']):  # neither needs the host's other file
            told = json.loads(run(sonde, 'pandore', *words, 'late.pnd', '-n', nodes, '-w', 'n=' + n, '-w', 'm=' + m,
                                  '-f', 'json').stdout)
            rows = told['rows'] if words == ['predict'] else [m for p in told['phases'] for m in p['messages']]
            got = added_up(rows)
            check(wanted and got == wanted, f'{words[0]}: n = {n} on {nodes} nodes foretold = profiled', got, wanted)
    write('late.pnd', source)
    if shutil.which('mpicc') and shutil.which('mpirun'):
        compiled = run(sonde, 'pandore', 'compile', 'late.pnd', '-b', 'mpi', '-o', 'late_mpi')
        ran = run('mpirun', '-np', '4', './late_mpi', '5')
        check(ran.stdout == want, 'mpirun -np is the number of nodes and the host', compiled.stderr, ran.stderr)
    wrong = source.replace('sweep(n, m, B, b, K)', 'sweep(n, m - 1, B, b, K)')
    compile_run(wrong, 'rows')
    ran = run('./rows', '--nodes', '2')
    check(ran.returncode == 1 and 'has rows of' in ran.stderr, 'rows of another size are one sentence', ran.stderr)
    wrong = source.replace('zero(n, b);', 'double *a = A[0]; sweep(n, m, A, a, K);')
    compile_run(wrong, 'overlap')
    ran = run('./overlap', '--nodes', '2')
    check(ran.returncode == 1 and 'overlap' in ran.stderr, 'arrays that overlap are one sentence', ran.stderr)


def profiled(name):
    return added_up(json.load(open(name + '.profile.json'))['traffic'])


def added_up(rows):
    """Messages and bytes by line, array and pair of nodes."""
    sums = collections.defaultdict(lambda: (0, 0))
    for r in rows:
        key = r['line'], r['source'], r['from'], r['to']
        sums[key] = sums[key][0] + r['messages'], sums[key][1] + r['bytes']
    return sorted(sums.items())


PREDICTED = '''#define P 2
double A[8], B[8];
int extra(void);
int far(int n) __attribute__((const));
dist gone(double A[8] by block(4) map regular(0), int n)
{ int i, k; k = 100 / n; for (i = 0; i < k; i++) A[i] = A[7 - i]; }
dist data(double A[8] by block(4) map regular(0))
{ int i; for (i = 0; i < 8; i++) if (A[i] > 1) break; }
dist slow(double A[8] by block(4) map regular(0))
{ int i, k; k = 1; for (i = 0; i < 2000000000; i++) k = (k * 3) & 1023; while (k > 0) k = k / 2; A[0] = A[7]; }
dist foreign(double A[8] by block(4) map regular(0))
{ int k; for (k = 0; k < far(2); k++) A[0] = A[7]; }
dist fine(double A[8] by block(4) map regular(0), double B[8] by block(4) map regular(0))
{ int i, t; for (t = 0; t < 3; t++) { if (t == 1) for (i = 0; i < 8; i++) B[i] = A[7 - i]; if (t != 1) A[t] += A[7]; } }
int main(void) { gone(A, 0); return extra(); }
'''


def prediction():
    """Phases that cannot be counted say why, and the others are counted all the same."""
    write('told.pnd', PREDICTED)
    ran = run(sonde, 'pandore', 'predict', 'told.pnd', '--scheme', 'naive', '--max-seconds', '1', '-f', 'json')
    told = json.loads(ran.stdout) if ran.returncode == 0 else {'unknown': [], 'rows': []}
    reasons = {u['phase']: (u['line'], u['reason']) for u in told['unknown']}
    check(set(reasons) == {'gone', 'data', 'slow', 'foreign'} and reasons['data'] == (8, 'a condition') and
          'signal 8' in reasons['gone'][1] and 'more than 1 s of CPU time' in reasons['slow'][1] and
          'signal 11' in reasons['foreign'][1], 'predict: why messages are not known', reasons, ran.stderr)
    check([(r['phase'], r['target'], r['from'], r['to'], r['messages'], r['bytes']) for r in told['rows']] ==
          [('fine', 'A', 1, 0, 2, 16), ('fine', 'B', 0, 1, 4, 32), ('fine', 'B', 1, 0, 4, 32)], 'predict: the other phase is counted', told['rows'])
    ran = run(sonde, 'pandore', 'predict', 'told.pnd', '--with', 'm=3')
    check(ran.returncode == 2 and "no phase has an integer parameter 'm'" in ran.stderr, 'predict: --with an unknown name', ran.stderr)
    write('told.pnd', PREDICTED.replace('return extra()', 'return x'))
    ran = run(sonde, 'pandore', 'predict', 'told.pnd')
    check(ran.returncode == 5 and 'told.pnd:15:' in ran.stderr, 'predict: an error of main() names the user\'s line', ran.stderr)


OUTSIDE = r"""
#define N 64
#define P 4
double A[N], B[N];
int K[N];
dist fine(double A[N] by block(16) map regular(0), double B[N] by block(16) map regular(0), int K[N] mode IN)
{
	int i, s, L[8];
	for (i = 0; i < 8; i++) L[i] = (i * 3) % 8;
	for (i = 0; i < N; i++)
		B[i] = (i > 0 ? A[i - 1] : 0) + (i + 1 < N && A[i + 1] > 0) + (i + 1 >= N || A[i + 1] > 0);
	for (i = 0; i < N; i++)
		if (A[i] > 0) { for (s = 0; s < 2; s++) B[i + s] = 3; }
	for (i = 0; i < N; i++) {
		if (i == N - 1) continue;
		if (i % 2 == 1 || i > 60) B[i + 1] = B[K[i]];
	}
	i = 0;
	while (i < N) { B[i] = L[L[i % 8]]; i++; }
	for (s = 0; ; s++) { if (s == 2) break; B[62 + s] = 1; }
	for (i = 0; i < 99; i++) { if (B[i] > 0) break; }
}
dist bad(double A[N] by block(16) map regular(0), int m)
{
	int i, L[4];
	for (i = 0; i < N; i++) {
		A[i] = A[(i + 1) % N] + (i > 5 ? A[i - 7] : 0);
		if (i < 6) L[i % 5] = i;
	}
	do { A[m] = 1; } while (A[0] > 3);
	if (A[0] > 0) return;
	A[m + 1] = 2;
}
int main(void) { fine(A, B, K); bad(A, 1); return 0; }
"""
OUTSIDE_BAD = {(27, -1, 'A', 63), (28, 4, 'L', 3)}


def outside():
    """Subscripts that leave their arrays are found without data, where it is sure that they are reached."""
    write('outside.pnd', OUTSIDE)
    pattern = r"^outside.pnd:(\d+):\d+: error: P16: subscript (-?\d+) of '(\w)' is out of bounds: 0 to (\d+)$"
    for given, wanted in [('63', OUTSIDE_BAD), ('64', OUTSIDE_BAD | {(30, 64, 'A', 63)})]:
        for words in (['predict'], ['compile', '-e', '-o', 'outside']):
            ran = run(sonde, 'pandore', *words, 'outside.pnd', '--with', 'm=' + given)
            got = {(int(line), int(value), array, int(last)) for line, value, array, last in re.findall(pattern, ran.stderr, re.M)}
            check((ran.returncode, got) == (5, wanted) and ran.stderr.count('error') == len(wanted),
                  f'{words[0]}: subscripts out of bounds, m={given}', got, ran.stderr)
    write('outside.pnd', OUTSIDE.replace('A[i - 7]', 'A[i - 6]').replace('L[i % 5]', 'L[i % 4]'))
    ran = run(sonde, 'pandore', 'predict', 'outside.pnd', '--with', 'm=63', '--scheme', 'naive')
    check(ran.returncode == 0 and 'in one call of bad' in ran.stdout and not ran.stderr, 'predict: no subscript is out of bounds', ran.stderr)
    write('outside.pnd', OUTSIDE[:OUTSIDE.index('dist fine')] +
          'dist long_one(double A[N] by block(16) map regular(0))\n{ int i, t; for (t = 0; t < 1000000000; t++) for (i = 0; i < N; i++) A[i] = t + A[(i + t) % N]; }\n'
          'int main(void) { long_one(A); return 0; }\n')
    ran = run(sonde, 'pandore', 'predict', 'outside.pnd', '--max-seconds', '1', '-f', 'json')
    check(ran.returncode == 0 and 'CPU time' in ran.stdout, 'predict: what takes too long is said', ran.stdout, ran.stderr)


KEPT = r"""#include <stdio.h>
#define N 40
#define P 3
double A[N], B[N];
int K[N];
dist gather(double A[N] by block(5) map wrapped(0) mode IN, double B[N] by block(14) map regular(0), int K[N] mode IN, int s)
{
	int i, t;
	for (t = 0; t < 4; t++) {
		for (i = 0; i < N; i++)
			B[i] += A[K[i]] + A[K[(i + s) % N]];
		for (i = 0; i < N - t; i++)
			B[i] = B[i] * 0.5 + A[K[i + t]];
	}
}
dist turn(int K[N])
{
	int i;
	for (i = 0; i < N; i++)
		K[i] = (K[i] * 3 + 1) % N;
}
dist here(double A[N] by block(5) map wrapped(0), int K[N], double B[N] by block(14) map regular(0))
{
	int i;
	for (i = 0; i < N; i++)
		K[i] = (K[i] + i) % N;
	for (i = 0; i < N; i++)
		B[i] += A[K[i]];
	for (i = 0; i < N; i++)
		A[i] = B[i];
}
int main(void)
{
	int i, n;
	for (i = 0; i < N; i++) {
		A[i] = i * 1.25;
		K[i] = i * 7 % N;
	}
	for (n = 0; n < 6; n++) {
		gather(A, B, K, n / 2);
		if (n == 1)
			K[3] = 39;
		if (n == 3)
			turn(K);
		if (n == 4)
			here(A, K, B);
	}
	for (i = 0; i < N; i++)
		printf("%.17g %d\n", B[i], K[i]);
	return 0;
}
"""


LISTED_TARGET = '''
#define N 6
#define P 2
#include <stdio.h>
int C[N][N], K[N];
dist ph(int C[N][N] by block(3, N) map regular(0,1), int K[N] by block(3) map regular(0))
{
	int j;
	int idx[N];
	for (j = 0; j < N; j++)
		idx[j] = j * 3 % N;
	for (j = 0; j < 4; j++)
		C[K[j] % N][1] = K[idx[j] % N] + 1;
}
int main(void)
{
	for (int i = 0; i < N; i++) K[i] = i * 5 % N;
	ph(C, K);
	for (int i = 0; i < N; i++) printf("%d ", C[i][1]);
	return 0;
}
'''


def kept_lists():
    """Lists of indirect subscripts are kept while nothing changes what they depend on."""
    text = re.sub(r' by block\([^)]*\) map \w+\([^)]*\)| mode \w+', '', KEPT)
    ran = compile_run(LISTED_TARGET, 'listed')
    check(ran.stdout == '1 0 0 4 1 4 ', 'who needs an element may depend on what moves at the same place', ran.stdout, ran.stderr)
    write('kept_c.c', re.sub(r'^dist ', 'void ', text, flags=re.M))
    subprocess.run(['gcc', '-w', '-ffp-contract=off', 'kept_c.c', '-o', 'kept_c'], check=True)
    want = run('./kept_c').stdout
    for options in (('--scheme', 'naive'), (), ('-D', 'P=5', '--profile'), ('--host-inside',)):
        ran = compile_run(KEPT, 'kept', *options)
        check(ran.stdout == want and want, f'index arrays changed by host, phase and scalar {" ".join(options)}', ran.stderr, ran.stdout, want)
    run(sonde, 'pandore', 'compile', 'kept.pnd', '--emit-c', 'kept.c')
    text = open('kept.c').read()
    check((text.count('pd_inspect_again('), text.count('pd_inspect_begin(')) == (3, 1),
          'lists are kept where the phase does not change the index array', text)


def hosts():
    ran = compile_run(HOST % ('', '', '', 'p(X);', ''), 'first')
    check(ran.returncode == 0, 'the first declaration of main()', ran.stderr)
    ran = compile_run(HOST % ('', '', '', 'int k; k = (int)X[2]; double s = k, t = X[3]; p(X); s = t;', ''), 'cast')
    check(ran.returncode == 0, 'elements in casts and initial values declare nothing', ran.stderr)
    ran = compile_run(HOST % ('', '', ', *q = X', 'p(q);', ''), 'pointer')
    check(ran.returncode == 0, 'a pointer to elements of the right type', ran.stderr)
    ran = compile_run(HOST % ('', '', '; float *q = 0', 'p(q);', ''), 'pointer')
    check(ran.returncode == 5, 'a pointer of another type is refused by the C compiler', ran.stderr)
    ran = compile_run(HOST % ('void h(double *);', '', '', 'X[1] = 7; p(X); h(X); if (X[3] != 15 || X[1] != 6) return 9;',
                              'void h(double *x) { p(x); x[1] += 1; }'), 'inner')
    check(ran.returncode == 0, 'phases are called from any function, which sees their results', ran.stderr)
    sizes()
    ran = compile_run(HOST % ('', '', '[2]', 'p(X);', ''), 'rank')
    check(ran.returncode == 5 and 'P07' in ran.stderr, 'P07: another shape', ran.stderr)
    both = 'void show(void) { printf("shown\\n"); }'
    for before, middle, after in (('void show(void);', '', both), ('void show(void);', both, ''),
                                  ('static void show(void); void show(void);', 'static ' + both, 'void show(void);')):
        ran = compile_run(HOST % (before, middle, '', 'show();', after), 'show')
        check(ran.stdout == 'shown\n', 'a prototype and a definition', before, ran.stderr)
    ran = compile_run(HOST % (both, both, '', 'show();', ''), 'show2')
    check(ran.returncode == 5 and 'P12' in ran.stderr, 'P12: two definitions', ran.stderr)
    ran = compile_run(HOST % ('double f(double);', 'double f(double x) { return x < 1 ? 1 : x * f(x - 1); }', '',
                              'printf("%g\\n", f(3));', ''), 'pure')
    check(ran.stdout == '6\n', 'a prototype of a function in Pandore C', ran.stderr)
    for options in ((), ('--host-inside',), ('--scheme', 'naive')):
        ran = compile_run(HOST % ('', '', '', 'for (int r = 0; r < 2; r++) { for (int i = 0; i < 8; i++) X[i] = -i - r; '
                                  'p(X); for (int i = 0; i < 8; i++) printf("%g ", X[i]); }', ''), 'out', *options)
        check(ran.stdout == '0 5 -2 15 -4 25 -6 35 -1 5 -3 15 -5 25 -7 35 ',
              'OUT: what the phase leaves out keeps its value', ran.stdout, ran.stderr)


OUTS = '''
#define N 8
#define P 2
#include <stdio.h>
double A[N][N], B[N], R[1];
dist ph(double A[N][N] by block(N/P,N) map regular(0,1) mode OUT, double B[N] by block(2) map wrapped(0) mode OUT, int n,
        double R[1] mode OUT)
{ int i, j, r;
%s
}
int main(void)
{
	int i, j;
	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++)
			B[i] = A[i][j] = 100 * i + j;
	for (j = 0; j < 2; j++) {
		ph(A, B, 3, R);
		printf("%%g\\n", R[0] += .5);
		for (i = 0; i < N; i++)
			printf("%%g %%g %%g\\n", A[i][i], A[7 - i][i], B[i] += .25);
	}
	return 0;
}
'''
ALL_OF_A = 'for (j = 0; j < N; j++) for (i = 0; i <= N-1; i += 1) A[i][j] = i * 10 + j + n;'
OUT_BODIES = [  # what is surely written whole before anything of it is read
    ('AB', ALL_OF_A + ' for (i = 0; i < N; i++) { B[i] = 1; } B[3] += A[3][0];'),
    ('A', ALL_OF_A + ' for (i = 0; i < N; i++) { B[i] = 1; B[i] += A[i][0]; }'),
    ('A', 'for (r = 0; r < 2; r++) { for (i = 0; i < 3; i++) B[i] = r; ' + ALL_OF_A + ' }'),
    ('A', '#pragma pandore zone z\n{ i = 0; ' + ALL_OF_A + ' } for (i = 0; i < N; i += 2) B[i] = 1;'),
    ('B', 'for (i = 0; i < N; i++) B[i] = n; for (i = 0; i < N; i++) A[i][i] = B[i];'),
    ('B', 'for (i = 0; i < N; i++) B[i] = A[i][0]; ' + ALL_OF_A),
    ('R', 'R[0] = B[2]; R[0] = R[0] + 1;'),
    ('', 'for (i = 1; i < N; i++) B[i] = n; for (i = 0; i < n; i++) A[i][0] = 2;'),
    ('', 'if (n > 2) ' + ALL_OF_A + ' for (i = 0; i < N; i++) if (i > 2) B[i] = 2;'),
    ('', 'for (r = 0; r < n; r++) ' + ALL_OF_A + ' for (i = 0; i < N; i++) B[i] = B[7 - i] + 1;'),
    ('', 'for (i = 0; i < N; i++) B[7 - i] = i; for (r = 4; r < 4; r++) ' + ALL_OF_A),
    ('', 'i = 0; while (i < N) { B[i] = i; i = i + 1; } for (i = 0; i < N; i++) for (j = i; j < N; j++) A[i][j] = 1;'),
    ('', 'for (i = 0; i < N; i++) { B[i] = i; i = i + 1; } A[0][0] = 5;'),
]


def overwritten():
    """OUT arrays that a phase surely writes whole are not brought to the nodes; results are the same."""
    for whole, body in OUT_BODIES:
        source = OUTS % body
        text = re.sub(r' by block\([^)]*\) map \w+\([^)]*\)| mode OUT|#pragma.*', '', source).replace('dist ph', 'void ph')
        write('outs.c', text)
        subprocess.run(['gcc', '-w', 'outs.c', '-o', 'outs_c'], check=True)
        want, got = run('./outs_c').stdout, []
        for options in ((), ('--scheme', 'naive'), ('--host-inside',)):
            got.append(compile_run(source, 'outs', *options).stdout)
        run(sonde, 'pandore', 'compile', 'outs.pnd', '--emit-c', 'outs_p.c')
        names = ''.join(re.findall(r'\.name = "(\w)",[^;]*?\.is_overwritten = 1', open('outs_p.c').read()))
        check(got == [want] * 3 and want and names == whole, f'OUT, {whole or "nothing"} written whole: {body[:60]!r}',
              names, want, *got)


TYPES = '''#include <stdio.h>
#define N 16
#define P 4
unsigned char host = 200; long unsigned int limit = 0xfffffffffffffffful;
unsigned long A[N]; short unsigned B[N]; signed char C[N]; _Bool D[N]; long long E[N]; char unsigned F[N]; int R[N];
unsigned long twice(unsigned long a) { return a * 2; }
dist ph(unsigned long A[N] by block(N/P) map regular(0), unsigned short B[N] by block(9223372036854775807) map regular(0),
        signed char C[N] by block(0xffffffffffffffff) map regular(0), _Bool D[N] by block(3) map wrapped(0),
        long int long E[N] by block(4) map regular(0), unsigned char F[N] by block(4) map regular(0),
        int R[N] by block(4) map regular(0), int y, unsigned char k, _Bool yes)
{ int i; int s; long unsigned w; unsigned char c; signed short h; char d; int long z;
  s = 0; c = 255; c++; w = 0; w -= 1; h = 40000; d = 128; z = 4294967296 * y;
  for (i = z; i < N; i++) { A[i] = twice(w - i); B[i] = 65536 - i; C[i] = 255 - i; D[i] = i & 4; E[i] = w + i; F[i] = 128 + i; }
  for (i = (k > 2 ? 0 : 1); i <= (N-1 & 15); i++) R[i] = F[15 - i] + c + yes + h + d;
  for (i = 0; i < N; i++) s += F[i];
  R[0] = s + k;
}
int main(void) { int i;
  ph(A, B, C, D, E, F, R, 1, 300, 7);
  for (i = 0; i < N; i++) printf("%lu %u %d %d %lld %d %d\\n", A[i], B[i], C[i], D[i], E[i], F[i], R[i]);
  printf("%d %lu\\n", host, limit); return 0; }
'''


def types():
    """Every integer type is C's own, in phases, functions and globals of the host; so are conversions."""
    text = re.sub(r' by block\([^)]*\) map \w+\(0\)', '', TYPES.replace('N/P', 'N')).replace('dist ph', 'void ph')
    write('types.c', text)
    subprocess.run(['gcc', '-w', 'types.c', '-o', 'types_c'], check=True)
    want = run('./types_c').stdout
    for options in (('--scheme', 'opt'), ('--scheme', 'naive'), ('--check',)):
        ran = compile_run(TYPES, 'types', '--profile', *options)
        check(ran.stdout == want and want, f'types of C, {" ".join(options)}: as C', ran.stdout, want, ran.stderr)
        sent = sum(row['messages'] for row in json.load(open('types.profile.json'))['traffic'])
        told = run(sonde, 'pandore', 'compile', 'types.pnd', '--explain', *options).stdout
        found = re.search(r'depend on data', told), re.search(r'in all (\d+) message', told)
        check(not found[0] and found[1] and int(found[1][1]) == sent, f'types of C, {" ".join(options)}: foretold',
              sent, told)
    check('B (16 unsigned short, INOUT): 1 block of 16' in told, 'a block size near 2^63 is the whole dimension', told)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        want = matrix_figures()
        pictures()
        lattices()
        papers()
        several_calls()
        divided()
        staying()
        allocated()
        several_clocks()
        hosts()
        kept_lists()
        overwritten()
        types()
        live()
        live_until_death()
        measured_until_death()
        broadcasts()
        reassociation()
        explained()
        prediction()
        outside()
        remarks()
        arguments()
        diagnostics()
        wrong()
        hosts_own()
        bad_days()
        mpi(want)
        os.chdir('/')
    print(f'1..{number}')


main()
