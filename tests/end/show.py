"""sonde show, explain, doctor, diff: the right numbers for work divided by construction."""
import csv
import fcntl
import io
import json
import re
import os
import pty
import shutil
import struct
import sys
import termios
import time

from report_contents import contents
from sonde_test import Test, sigma_of_share

t = Test()
shapes = t.compile('shapes.c', '-O1', '-g', '-fno-tree-vectorize', '-fno-unroll-loops')
run = t.run('record', '-o', 'run', shapes, '3000')
t.equal(run.returncode, 0, 'the program is recorded')

functions = t.show('functions', experiment='run')
rows = {row['function']: row for row in functions['rows']}
total = functions['sampled_cpu_s']
samples = sum(row['samples'] for row in rows.values())
t.check(samples > 500, 'enough samples to tell', samples)
t.within(sum(row['exclusive_cpu_s'] for row in functions['rows']), total, 1e-6,
         'exclusive times sum to sampled_cpu_s')
unit = max(t.show('compile', experiment='run')['rows'], key=lambda row: row['cpu_s'])
t.check(unit['module'] == 'shapes' and unit['unit_file'].endswith('shapes.c') and unit['compiler'].startswith('GNU C') and
        '-O1' in unit['options'].split() and unit['compiled_without'] == '-O2 or -O3, -march=native' and unit['share'] > 0.9,
        'how the hot unit was compiled', unit)
t.equal(list(functions['rows'][0]),
        ['function', 'module', 'file', 'line', 'exclusive_cpu_s', 'inclusive_cpu_s', 'exclusive_share',
         'inclusive_share', 'exclusive_share_low', 'exclusive_share_high', 'samples'],
        'functions has the keys of the contract')
t.check(all(row['exclusive_share_low'] <= row['exclusive_share'] <= row['exclusive_share_high']
            for row in functions['rows']), 'intervals hold their shares')

# the inlined kernel: a function of its own, two thirds of it by way of caller_one
calls = t.show('calls', 'kernel', experiment='run')['rows']
callers = {row['function']: row for row in calls if row['role'] == 'caller'}
of_kernel = [row for row in calls if row['role'] == 'function'][0]
share = callers['caller_one']['attributed_cpu_s'] / of_kernel['attributed_cpu_s']
t.within(share, 2 / 3, 4 * sigma_of_share(2 / 3, of_kernel['samples']) + 0.02,
         'two thirds of the inlined kernel come through caller_one')
t.within(sum(row['attributed_cpu_s'] for row in calls if row['role'] == 'caller'),
         of_kernel['attributed_cpu_s'], 1e-6, 'callers sum to the inclusive time')
t.equal(rows['kernel']['line'], 8, 'an inlined function has its declaration')

# half of nest runs below thirty frames of descend, which counts once
share = rows['descend']['inclusive_cpu_s'] / rows['nest']['inclusive_cpu_s']
t.within(share, 0.5, 4 * sigma_of_share(0.5, rows['nest']['samples']) + 0.02,
         'recursion counts once in inclusive time')
t.check(rows['main']['inclusive_share'] > 0.97, 'nearly all is below main', rows['main'])

loops = t.show('loops', experiment='run')['rows']
t.equal(list(loops[0])[:13],
        ['loop', 'label', 'function', 'module', 'file', 'line_first', 'line_last', 'depth', 'innermost',
         'exclusive_cpu_s', 'exclusive_share', 'inclusive_share', 'samples'],
        'loops has the keys of the contract')
inner = [row for row in loops if row['function'] == 'nest' and row['innermost']]
outer = [row for row in loops if row['function'] == 'nest' and not row['innermost']]
t.check(len(inner) == 1 and len(outer) == 1, 'the nest has two loops', loops)
t.equal((inner[0]['depth'], outer[0]['depth']), (2, 1), 'their depths')
t.check(inner[0]['exclusive_cpu_s'] > 20 * outer[0]['exclusive_cpu_s'], 'time is in the inner one')
t.within(outer[0]['inclusive_share'], rows['nest']['inclusive_share'], 0.01,
         'the outer one holds all of it')
summary = t.show('summary', experiment='run')
t.within(summary['loops_share'], sum(row['exclusive_share'] for row in loops), 1e-6,
         "the summary's share in loops is the sum of the loops")
t.check(summary['innermost_share'] > 0.9, 'nearly all is in innermost loops', summary)
t.check(summary['categories']['program'] > 0.9, "nearly all is the program's own code", summary)
t.within(sum(summary['categories'].values()), 1, 1e-6, 'categories sum to one')

# one loop, by each kind of name
by_rank = t.show('loop', '#1', experiment='run')
by_id = t.show('loop', loops[0]['loop'], experiment='run')
line = f"{loops[0]['file'].rsplit('/', 1)[-1]}:{inner[0]['line_first']}"
t.equal(by_rank['loop'], by_id['loop'], '#1 is the first row of loops')
t.equal(by_rank['schema'], 'sonde.loop/2', 'a loop is one object')
t.check(by_rank['asm'] and any(row['samples'] for row in by_rank['asm']), 'with machine code and heat')
t.check(any('cells' in (row['text'] or '') for row in by_rank['source']), 'with its source')
t.check(t.run('show', 'loop', line, 'run').returncode == 0, 'FILE:LINE names a loop')
nothing = t.run('show', 'loop', 'nowhere.c:1', 'run')
t.check(nothing.returncode != 0 and nothing.stderr.count('\n') == 1, 'a loop that is not there', nothing)

# filters come before aggregation
only = t.show('functions', '--function', 'descend', experiment='run')
t.within(only['sampled_cpu_s'], rows['descend']['inclusive_cpu_s'], 1e-5,  # what no sample stands for is spread anew
         '--function keeps what has it on its path')
t.equal(only['filter'], {'function': 'descend'}, 'the filter is in the answer')
first = t.show('functions', '--time', '0-0.3', experiment='run')['sampled_cpu_s']
rest = t.show('functions', '--time', '0.3-', experiment='run')['sampled_cpu_s']
t.within(first + rest, total, 0.02, 'a range and the rest sum to the whole')
t.check(0 < first < total, 'a range is a part', first, total)
t.equal(t.run('show', 'functions', '--time', '3-1', 'run').returncode, 2, 'a range that ends first')

# wall time: the sleep is there
if t.show('waits', experiment='run')['rows']:
    waits = t.show('waits', experiment='run')['rows']
    t.check(any(row['kind'] == 'sleep' and 0.15 < row['blocked_s'] < 2 for row in waits),
            'the sleep is among the waits', waits)

# every view in every format
views = ['summary', 'functions', 'loops', 'calls', 'tree', 'callers', 'lines', 'source', 'asm', 'threads',
         'processes', 'cpus', 'modules', 'categories', 'waits', 'system', 'env', 'samples']
VERSIONS = {'summary': 2, 'modules': 2, 'categories': 2, 'samples': 3}  # of the keys, where not the first
for view in views:
    text = t.run('show', view, 'run')
    data = t.run('show', view, 'run', '--format', 'json')
    good = text.returncode == 0 and text.stdout and data.returncode == 0
    answer = json.loads(data.stdout) if good else {}
    good = good and answer['schema'] == f'sonde.{view}/{VERSIONS.get(view, 1)}' and answer['experiment'] == 'run'
    if view != 'summary':
        table = t.run('show', view, 'run', '--format', 'csv')
        head, *body = csv.reader(io.StringIO(table.stdout))
        good = good and table.returncode == 0 and len(body) == len(answer['rows'])
        good = good and (not body or head == list(answer['rows'][0]))
        every = t.run('show', view, 'run', '--cols', 'all', '--format', 'json')
        good = good and every.returncode == 0
        if good and json.loads(every.stdout)['rows']:
            for key in json.loads(every.stdout)['rows'][0]:
                good = good and t.run('explain', key).returncode == 0
    t.check(good, f'{view} as text, CSV and JSON', text.stderr, data.stderr)
again = t.run('show', 'functions', 'run', '--format', 'json').stdout
t.equal(again, t.run('show', 'functions', 'run', '--format', 'json').stdout, 'the same report twice')

# wall time has its columns in CSV and JSON; threads and processes tell where time went, in all formats
for view, keys in (('tree', ('inclusive_wall_s', 'exclusive_wall_s', 'inclusive_wall_share')),
                   ('callers', ('inclusive_wall_s',)), ('calls', ('attributed_wall_s',)),
                   ('loops', ('exclusive_wall_s',)), ('lines', ('exclusive_wall_s',))):
    row = t.show(view, '--wall', experiment='run')['rows'][0]
    t.check(all(row.get(key) is not None for key in keys), f'{view} --wall has the columns of wall time', row)
account = ('share', 'elapsed_s', 'user_s', 'system_s', 'wait_cpu_s', 'blocked_s')
thread = t.show('threads', experiment='run')['rows'][0]
process = t.show('processes', experiment='run')['rows'][0]
t.check(all(thread.get(key) is not None for key in account), 'threads have the whole account', thread)
t.check(process['blocked_s'] is not None, 'a process was blocked as long as its threads', process)
t.within(process['blocked_s'] or 0, thread['blocked_s'] or 0, 1e-6, 'as long as its one thread')

# reading /dev/zero is CPU time: the waits of a thread are no longer than it was blocked
zero = 'import time\nf = open("/dev/zero", "rb", 0)\nb = bytearray(60000000)\n' \
       'for i in range(30): f.readinto(b)\ntime.sleep(0.3)'
t.run('record', '-o', 'zero', sys.executable, '-c', zero)
thread = t.show('threads', experiment='zero')['rows'][0]
waits = t.show('waits', experiment='zero')['rows']
spent = sum(row['blocked_s'] for row in waits)
t.check(thread['blocked_s'] is not None and spent <= thread['blocked_s'] + 1e-6,
        'waits are no longer than the thread was blocked', thread, waits)
slept = sum(row['blocked_s'] for row in waits if row['kind'] == 'sleep')
t.check(slept > 0.9 * min(0.3, thread['blocked_s'] or 0) or not waits,
        'and a sleep keeps most of its length', thread, waits)

# one thread, however many programs it runs by exec
self = 'import os, sys\nn = int(sys.argv[1])\nif n: os.execv(sys.executable, [sys.executable, sys.argv[2], ' \
       'str(n - 1), sys.argv[2]])\n'
open('again.py', 'w').write(self)
t.run('record', '-o', 'again', sys.executable, 'again.py', '3', 'again.py')
summary = t.show('summary', experiment='again')
t.equal((summary['threads'], summary['processes'], summary['images']), (1, 1, 4), 'one thread runs four programs')
t.run('report', 'again', '-o', 'again.html')
shown, kernel = contents('again.html')[1]('view-system'), t.show('system', experiment='again')['rows']
t.equal((shown['call'], shown['samples']), ([r['call'] for r in kernel], [r['samples'] for r in kernel]), 'show system is a view of the page')
toc = contents(t.folder + '/again.html')[0]
t.equal((toc['thread_count'], toc['process_count']), (1, 1), 'on the page, too')
page = t.run('show', 'summary', 'again').stdout
t.check('not running' not in page and 'blocked' in page, 'the moments before an exec do not hide its waiting', page)
share = lambda key: f"{100 * toc[key] / toc['thread_elapsed_ns']:.1f}"
kinds = ('user code', 'thread_user_ns'), ('system', 'thread_system_ns'), ('waiting for CPU', 'wait_cpu_ns'), ('blocked', 'blocked_ns')
t.equal([re.search(rf'^   {name} .*? ([0-9.]+) %', page, re.M)[1] for name, _ in kinds], [share(key) for _, key in kinds],
        'page and text explain elapsed time by the same figures')

# a filter that nothing passes is told of; columns go by heading, too; a heading is explained
late = t.run('show', 'functions', '--time', '99-', 'run')
t.check(late.returncode == 3 and late.stderr.count('\n') == 1 and '99.000 s' in late.stderr,
        'a range behind the end of the run: one sentence', late)
by_heading = t.run('show', 'loops', 'run', '--cols', 'thr dev,excl,loop', '--format', 'csv').stdout
t.equal(by_heading.split('\n')[0], 'thread_deviation,exclusive_share,loop', '--cols takes headings')
t.check('deviation' in t.run('explain', 'thr', 'dev').stdout and 'ready to run' in t.run('explain', 'no CPU').stdout,
        'headings are explained')

for word in ('l1_cycles', 'bottleneck', 'vector_share', 'ram_cycles', 'clean_program_speedup', 'no_dependence_rank', 'fp_vector_cumulative_speedup', 'reliable', 'coverage_share_low',
             'doubts', 'all so far'):
    t.check(t.run('explain', word).returncode == 0, f'{word} of whatif is explained')

# machine code names what it calls through the linkage table
calls = t.compile("""#include <stdlib.h>
#include <string.h>
volatile char sink;
__attribute__((noinline)) void work(int i) { char *p = malloc(i); memset(p, i, i); sink = p[i / 2]; free(p); }
int main(void) { for (int i = 0; i < 4000000; i++) work(64 + (i & 63)); }
""", '-O1', '-g', '-fno-builtin', output='./calls')
t.run('record', '-o', 'plt', calls)
code = t.run('show', 'asm', 'work', 'plt').stdout
t.check(all(f'call <{name}@plt>' in code for name in ('malloc', 'memset', 'free')), 'calls of stubs are named', code)

# threads that mostly sleep are left out of wall time, with a word, and come when asked for
threads = t.compile("""#include <poll.h>
#include <pthread.h>
#include <time.h>
static void *progress(void *p) { poll(0, 0, 2200); return p; }
int main(void) {
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, progress, 0);
	while (clock() < 1500000) ;
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
""", '-O1', '-g', '-pthread', output='./threads')
t.run('record', '-o', 'idle', threads)
tree = t.run('show', 'tree', '--wall', 'idle')
t.check('3 idle threads are left out' in tree.stdout and 'poll' not in tree.stdout,
        'idle threads are left out of wall time', tree.stdout)
helpers = [row['thread'] for row in t.show('threads', '--all', experiment='idle')['rows'] if row['cpu_s'] < 0.1]
tree = t.run('show', 'tree', '--wall', '--thread', helpers[0], 'idle').stdout
t.check('poll' in tree and 'left out' not in tree, '--thread brings one', tree)

# mistakes get one sentence
for words, code in ((['show', 'nothing', 'run'], 2), (['show', 'functions', 'no-such-run'], 5),
                    (['show', 'functions', 'run', '--cols', 'nothing'], 2),
                    (['show', 'functions', 'run', 'run'], 2), (['explain', 'nothing-like-it'], 2),
                    (['diff', 'run'], 2)):
    got = t.run(*words)
    t.check(got.returncode == code and got.stderr.count('\n') == 1 and not got.stdout,
            ' '.join(words) + ': one sentence', got)

# what was cut short anywhere is shown as far as it goes, and nothing crashes
import glob, os, shutil
data = glob.glob('run/*.data')[0]
size = os.path.getsize(data)
good, words = True, ''
for part in (0, 1, 100, 4096, 5000, size // 7, size // 2, size - 1000, size - 1):
    shutil.rmtree('cut', ignore_errors=True)
    shutil.copytree('run', 'cut')
    os.truncate('cut/' + os.path.basename(data), min(part, size))
    for view in ('summary', 'functions', 'tree', 'waits', 'samples'):
        got = t.run('show', view, 'cut')
        if got.returncode not in (0, 3, 5) or (got.returncode and got.stderr.count('\n') != 1):
            good, words = False, f'{part} {view}: {got.returncode} {got.stderr}'
t.check(good, 'an experiment cut short is shown as far as it goes', words)

t.equal(t.run('show', 'functions', 'run', '--time', '1-0').returncode, 2, 'a range that ends at 0')

# a program shorter than the clock's period: no part of its time is more than all of it (what measuring costs is no part of it)
t.run('record', '-o', 'short', '/bin/true')
page = t.run('show', 'summary', 'short').stdout
parts = re.sub(r'overhead (over )?[0-9.]+ %', '', page)
t.check(page and all(float(share) <= 100 for share in re.findall(r'([0-9.]+) %', parts)),
        'no share of a short program is above 100 %', page)

# a thread goes on through exec: what its earlier image used is not counted twice
burn = 'import os, time\nwhile time.process_time() < 0.3: pass\nos.execv("/bin/true", ["true"])'
t.run('record', '-o', 'exec', sys.executable, '-c', burn)
threads = t.show('threads', '--cols', 'process,user_s,system_s', '--all', experiment='exec')['rows']
used = {row['process']: row['user_s'] + row['system_s'] for row in threads}
t.check(len(used) == 2 and used[0] > 0.25 and used[1] < 0.1, 'each image has its own CPU time', used)

# a killed program says nothing of its waiting: that is not taken for blocking, nor for other processes
burn = 'import os, time\nwhile time.process_time() < 1.5: pass\nos.kill(os.getpid(), 9)'
t.equal(t.run('record', '-o', 'killed', sys.executable, '-c', burn).returncode, 137, 'it was killed')
page = t.run('show', 'summary', 'killed').stdout
blocked = re.search(r'blocked .* ([0-9.]+) %', page)
t.check('not running' in page if not blocked else float(blocked.group(1)) < 5,
        'a killed program that burned CPU time was not blocked', page)
t.check('processes that were not measured' not in page, 'and nothing else ran', page)
t.equal(t.show('processes', experiment='killed')['rows'][0]['exit_status'], 137, 'its exit says the signal')

doctor = t.run('doctor', shapes, '--format', 'json')
t.equal(doctor.returncode, 0, 'doctor')
checks = {row['check']: row for row in json.loads(doctor.stdout)['rows']}
t.equal(checks['program-lines']['state'], 'ok', 'doctor sees the line tables')
t.check(all(row['remedy'] for row in checks.values() if row['state'] != 'ok'), 'a remedy for each fault')

# one run each: no verdict; four each: a verdict, and a stated rate
one = t.run('diff', 'run', 'run', '--format', 'json')
answer = json.loads(one.stdout)
t.check(one.returncode == 0 and answer['false_alarm_rate'] is None and
        all(row['verdict'] in ('repeat', 'small') for row in answer['rows']), 'one run each: repeat')
t.check(answer['verdict'] == 'repeat' and len(answer['warnings']) == 1 and 'on both sides' in answer['warnings'][0],
        'an experiment on both sides is told', answer['warnings'])
for number in range(8):
    t.run('record', '-o', f'r{number}', shapes, '400' if number < 4 else '1600')
changed = t.run('diff', 'r0', 'r1', 'r2', 'r3', ':', 'r4', 'r5', 'r6', 'r7', '--format', 'json')
answer = json.loads(changed.stdout)
verdicts = {row['name']: row['verdict'] for row in answer['rows'] if row['kind'] == 'function'}
t.check(changed.returncode == 1 and verdicts.get('nest') == 'slower', 'a fourfold change is found',
        verdicts)
t.equal(answer['false_alarm_rate'], 0.05, 'the rate of false alarms is stated')
t.equal(answer['verdict'], 'different', 'and the verdict of the whole')
launch = json.load(open(glob.glob(t.folder + '/r0/launch.*.json')[0]))
t.check(0 <= launch['others_share'] <= 1, 'record knows what part of the machine others had', launch['others_share'])

t.run('record', '-o', 'other', '/bin/sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done')

# gcc makes work.constprop.0 of a function whose argument is known, unless told not to
CLONES = '''
#include <stdlib.h>
#include <stdio.h>
static __attribute__((noinline)) double work(int passes, int kind)
{
	double sum = 0;
	for (int i = 1; i < passes; i++)
		sum += kind ? 1.0 / i : 2.0 * i;
	return sum;
}
int main(int argc, char **argv) { return argc > 2 || !printf("%g", work(atoi(argv[1]), 1)); }
'''
for name, *flags in (('clone',), ('plain', '-fno-ipa-cp')):
    t.run('record', '-o', f'work-{name}', t.compile(CLONES, '-O2', '-g', *flags, output=f'./{name}'), '30000000')
one = json.loads(t.run('diff', 'work-clone', 'work-plain', '--format', 'json').stdout)
rows = [row for row in one['rows'] if row['kind'] == 'function' and row['function'].startswith('work')]
t.check([(row['function'], row['a_runs'], row['b_runs']) for row in rows] == [('work', 1, 1)] and not one['warnings'],
        'a function and its copy by the compiler are one', rows, one['warnings'])
two = json.loads(t.run('diff', 'r0', 'other', '--format', 'json').stdout)
t.check(any('two different programs' in text for text in two['warnings']), 'two different programs are told', two['warnings'])

# the same as a page: equal numbers, and call paths whose roots have the mean CPU time of each side
page = t.run('diff', '--format', 'html', 'r0', 'r1', 'r2', 'r3', ':', 'r4', 'r5', 'r6', 'r7', '-o', 'compare.html')
t.check(page.returncode == 1 and page.stdout.startswith('compare.html ('), 'a page that compares', page.stdout, page.stderr)
toc, chunk = contents(t.folder + '/compare.html')
changes, paths = chunk('changes'), chunk('call_paths')
t.equal(changes['name'], [row['name'] for row in answer['rows']], 'its rows are those of the table')
t.equal([round(x, 9) for x in changes['a_s']], [round(row['a_cpu_s'], 9) for row in answer['rows']], 'and so are its times')
t.equal(toc['compare']['findings'], answer['findings'], 'and its findings')
totals = {row['name']: row for row in answer['rows'] if row['kind'] == 'total'}
none = 4294967295
for key, column in (('a_cpu_s', 'a_ns'), ('b_cpu_s', 'b_ns')):
    roots = sum(ns for ns, parent in zip(paths[column], paths['parent']) if parent == none) / 1e9
    t.within(roots, totals['CPU'][key], 0.002 * totals['CPU'][key], f'roots of the call paths add up: {column}')
inside = [0] * len(paths['parent'])
for ns, parent in zip(paths['b_ns'], paths['parent']):
    if parent != none:
        inside[parent] += ns
t.check(all(i <= ns + 1e3 for i, ns in zip(inside, paths['b_ns'])), 'callees take no more than their callers')
t.check(all(p == none or p < i for i, p in enumerate(paths['parent'])), 'parents come first')
t.check('compare.html (' in t.run('report', 'r0', 'r1').stdout, 'sonde report of two writes it too')
t.equal(t.run('diff', 'r0', 'r1', '-o', 'x').returncode, 2, '-o is for the page')

# without the program its extract names everything; one flipped byte in that, and every command says so
shutil.copytree('run', 'damaged')
paths = [os.path.join('damaged/extracts', name) for name in os.listdir('damaged/extracts')]
for path in paths:
    with open(path, 'r+b') as extract:
        extract.seek(-1, os.SEEK_END)
        last = extract.read(1)[0]
        extract.seek(-1, os.SEEK_END)
        extract.write(bytes([last ^ 1]))
commands = [('show', 'loops'), ('show', 'functions'), ('show', 'summary'), ('show', 'threads', '--format', 'json'), ('report', '--format', 'text'), ('phases',),
            ('export', '--to', 'folded', '-o', 'damaged.folded')]
os.rename(shapes, 'away')
for words in commands:
    t.check('extract' not in t.run(*words, 'run').stderr, f'{" ".join(words)}: no word of extracts that are whole')
    told = t.run(*words, 'damaged').stderr
    t.check(all(f"the extract '{path}' is damaged" in told for path in paths) and 'record the program again' in told and 'no names here' in told,
            f'{" ".join(words)}: which extracts are damaged, and what is missing for it', told)
t.check(any(row['function'] == 'kernel' for row in t.show('functions', experiment='run')['rows']), 'the extract names the functions of a program that is gone')
os.rename('away', shapes)
told = t.run('show', 'functions', 'damaged')
t.check('kernel' in told.stdout and 'are read from' in told.stderr, 'the file of the run stands in for its extract', told)


def on_terminal(width, *words, **changes):
    """What a command prints on a terminal of so many columns."""
    pid, terminal = pty.fork()
    if pid == 0:
        environment = {'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', 'PAGER': '', **changes}
        os.environ.pop('NO_COLOR', None)
        os.environ.update(environment)
        time.sleep(0.2)  # until it has its width
        os.execv(t.sonde, [t.sonde, *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 40, width, 0, 0))
    text = b''
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(pid, 0)
    return text.decode().replace('\r\n', '\n')


# colours where a terminal takes them, and only there
shown = on_terminal(100, 'show', 'summary', 'run')
plain = re.sub(r'\x1b\[[0-9]*m', '', shown)
t.check('\x1b[1m Verdict: ' in shown and '\x1b[36m' in shown and shown.count('\x1b[0m') > 5, 'a terminal has headings and bars set off', shown[:600])
t.equal(on_terminal(100, 'show', 'summary', 'run', NO_COLOR='1'), plain, 'NO_COLOR: the same without')
t.equal(on_terminal(100, 'show', 'summary', 'run', TERM='dumb'), plain, 'a dumb terminal, too')
t.check('\x1b' not in t.run('show', 'summary', 'run').stdout + t.run('show', 'functions', 'run').stdout, 'a pipe, too')
t.check(on_terminal(100, 'show', 'functions', 'run').startswith('\x1b[1m'), 'tables have their heading set off')
t.check('\x1b[1m' in t.run('show', 'functions', 'run', env=dict(os.environ, SONDE_COLOR='always')).stdout, 'SONDE_COLOR=always: a pipe has them')
lines = on_terminal(80, 'show', 'loops', 'run', NO_COLOR='1').rstrip('\n').split('\n')
t.check(max(map(len, lines)) <= 80 and lines[-1].startswith('no room for: ') and 'depth' in lines[-1], 'figures that a terminal has no room for are left out, and named', lines[-2:])
t.check('no room' not in on_terminal(200, 'show', 'loops', 'run') + on_terminal(60, 'show', 'loops', 'run', '--cols', 'loop,depth,samples,exclusive_cpu_s'), 'not where there is room, or they were asked for')
t.check('depth' in t.run('show', 'loops', 'run', env=dict(os.environ, COLUMNS='80')).stdout.split('\n')[0], 'and not in a pipe')
for width in (80, 160):
    lines = re.sub(r'\x1b\[[0-9]*m', '', on_terminal(width, 'show', 'summary', 'run')).split('\n')
    t.check(max(map(len, lines)) <= width, f'the summary keeps within {width} columns', max(lines, key=len))
    t.check(any(len(line) > width * 0.9 for line in lines), f'and uses them: {width}', max(map(len, lines)))
for words in (('show', 'threads', '-h'), ('record', '-q', '--help'), ('diff', 'a', 'b', '-h'), ('campaign', 'status', 'here', '--help')):
    done = t.run(*words)
    t.check(done.returncode == 0 and done.stdout.startswith('usage: sonde ' + words[0]), ' '.join(words) + ': help, wherever it is asked for', done)
t.done()
