"""Exports read by programs that are not ours, imports compared with perf's own report, and the page's
numbers with those of `sonde show`."""
import collections
import csv
import io
import json
import os
import re
import shutil

from report_contents import contents
from sonde_test import Test

PROGRAM = """
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static double grid[400][400];
__attribute__((noinline, noclone)) static double sweep(int n)
{
	double sum = 0;
	for (int i = 1; i < n - 1; i++)
		for (int j = 1; j < n - 1; j++)
			sum += grid[i][j] = 0.25 * (grid[i-1][j] + grid[i+1][j] + grid[i][j-1] + grid[i][j+1]);
	return sum;
}
__attribute__((noinline, noclone)) static double waves(int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += sin(i * 0.001) + grid[i % 400][1];
	return sum;
}
__attribute__((noinline, noclone)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline, noclone)) static void *work(void *arg)
{
	double *sum = arg;
	for (int k = 0; k < 700; k++)
		*sum += sweep(400);
	for (int k = 0; k < 60; k++)
		*sum += waves(60000);
	return NULL;
}
int main(void)
{
	double a = 0, b = 0;
	pthread_t other;
	for (int i = 0; i < 400; i++)
		grid[0][i] = i;
	pthread_create(&other, NULL, work, &a);
	work(&b);
	pthread_join(other, NULL);
	int f = fib(33);
	usleep(20000);
	return printf("%g %d\\n", a + b, f) < 0;
}
"""

# What is needed of pprof's published schema (field numbers and types are facts of the format).
PPROF = """syntax = "proto3";
message ValueType { int64 type = 1; int64 unit = 2; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4;
  int64 filename = 5; int64 build_id = 6; bool has_functions = 7; bool has_filenames = 8;
  bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Line { uint64 function_id = 1; int64 line = 2; int64 column = 3; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3;
  repeated Location location = 4; repeated Function function = 5; repeated string string_table = 6;
  int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9; int64 duration_nanos = 10;
  ValueType period_type = 11; int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14; }
"""


def exclusive(t, experiment=None):
    rows = t.show('functions', '--all', experiment=experiment)['rows']
    sums = collections.Counter()
    for row in rows:
        sums[row['function']] += row['exclusive_cpu_s']
    return sums


def close(t, got, want, what):
    """Two tables of seconds by name, equal but for the rounding of the format (1 us a row)."""
    names = set(got) | set(want)
    off = {n: (got.get(n, 0), want.get(n, 0)) for n in names if abs(got.get(n, 0) - want.get(n, 0)) > 2e-4}
    t.check(not off, what, off)


def check_folded(t, want):
    done = t.run('export', '--to', 'folded', '-o', '-')
    sums = collections.Counter()
    bad = [line for line in done.stdout.splitlines() if not re.fullmatch(r'[^;]+(;[^;]+)* \d+', line)]
    t.check(not bad and done.returncode == 0, 'folded: every line is frames and a number', *bad[:3], done.stderr)
    for line in done.stdout.splitlines():
        path, weight = line.rsplit(' ', 1)
        sums[path.split(';')[-1]] += int(weight) / 1e6
    close(t, sums, want, 'folded: leaves have the exclusive times of show functions')
    if shutil.which('flamegraph.pl'):
        drawn = t.command('flamegraph.pl', input=done.stdout, stdin=None)
        t.check('<svg' in drawn.stdout and 'sweep' in drawn.stdout, 'folded: flamegraph.pl draws it')


def check_speedscope(t, want):
    done = t.run('export', '--to', 'speedscope', '-o', 'out.json')
    t.equal(done.returncode, 0, 'speedscope: written')
    data = json.load(open('out.json'))
    frames, sums = data['shared']['frames'], collections.Counter()
    whole = True
    for profile in data['profiles']:
        whole &= profile['type'] == 'sampled' and len(profile['samples']) == len(profile['weights'])
        whole &= profile['endValue'] - profile['startValue'] == sum(profile['weights'])
        for stack, weight in zip(profile['samples'], profile['weights']):
            whole &= all(0 <= f < len(frames) for f in stack)
            sums[frames[stack[-1]]['name']] += weight / 1e9
    t.check(whole, 'speedscope: samples, weights and frames agree')
    t.equal(len(data['profiles']), 2, 'speedscope: a profile for each thread')
    # time left at a thread's exit goes to its last stack here, and is spread over all by the profile
    whole = sum(want.values())
    off = {n: (sums[n], s) for n, s in want.items() if abs(sums[n] - s) > 0.01 * whole}
    t.check(not off and abs(sum(sums.values()) - whole) < 1e-6, 'speedscope: leaves have the exclusive times', off)
    schema = os.environ.get('SPEEDSCOPE_SCHEMA')
    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    if schema and jsonschema:
        jsonschema.validate(data, json.load(open(schema)))
        t.check(True, 'speedscope: valid by its own schema')
    else:
        t.skip('speedscope: valid by its own schema', 'SPEEDSCOPE_SCHEMA or python3-jsonschema is not here')


def parse_decoded(text):
    """protoc's text form as nested lists of (key, value)."""
    root, open_ = [], []
    at = root
    for line in text.splitlines():
        line = line.strip()
        if line.endswith('{'):
            new = []
            at.append((line[:-1].strip(), new))
            open_.append(at)
            at = new
        elif line == '}':
            at = open_.pop()
        elif line:
            key, value = line.split(': ', 1)
            at.append((key, value))
    return root


def check_pprof(t, want):
    done = t.run('export', '--to', 'pprof', '-o', 'out.pb.gz')
    t.equal(done.returncode, 0, 'pprof: written')
    if not t.has('protoc', 'gzip'):
        t.skip('pprof: decoded by protoc', 'protoc is not installed')
        return
    open('profile.proto', 'w').write(PPROF)
    text = t.command('sh', '-c', 'gzip -dc out.pb.gz | protoc --decode=Profile profile.proto')
    t.check(text.returncode == 0 and not re.search(r'^\s*\d+:', text.stdout, re.M),
            'pprof: protoc decodes it and meets no unknown field', text.stderr)
    root = parse_decoded(text.stdout)
    strings = [json.loads(v) if '\\' not in v else v[1:-1] for k, v in root if k == 'string_table']
    t.check(strings[0] == '', 'pprof: the first string is empty')
    functions = {dict(v)['id']: strings[int(dict(v)['name'])] for k, v in root if k == 'function'}
    locations = {}
    for key, value in root:
        if key == 'location':
            lines = [dict(v) for k, v in value if k == 'line']
            locations[dict((k, v) for k, v in value if k != 'line')['id']] = functions[lines[0]['function_id']]
    sums = collections.Counter()
    for key, value in root:
        if key == 'sample':
            ids = [v for k, v in value if k == 'location_id']
            values = [int(v) for k, v in value if k == 'value']
            sums[locations[ids[0]]] += values[1] / 1e9
    close(t, sums, want, 'pprof: leaves have the exclusive times')


def check_callgrind(t, want):
    done = t.run('export', '--to', 'callgrind', '-o', 'callgrind.out.1')
    t.equal(done.returncode, 0, 'callgrind: written')
    if not t.has('callgrind_annotate'):
        t.skip('callgrind: read by callgrind_annotate', 'valgrind is not installed')
        return
    read = t.command('callgrind_annotate', '--threshold=100', '--auto=no', '--inclusive=no', 'callgrind.out.1')
    t.check(read.returncode == 0 and not read.stderr.strip(), 'callgrind: callgrind_annotate reads it', read.stderr)
    sums = collections.Counter()
    for line in read.stdout.splitlines():
        row = re.match(r'\s*([\d,]+) \(\s*[\d.]+%\)\s+[\d,]+ \(\s*[\d.]+%\)\s+\S*?:(.*?)(?: \[.*\])?$', line) or \
            re.match(r'\s*([\d,]+) \(\s*[\d.]+%\)\s+0\s+\S*?:(.*?)(?: \[.*\])?$', line)
        if row:
            sums[row[2]] += int(row[1].replace(',', '')) / 1e6
    big = {name: s for name, s in want.items() if s > 0.01}
    off = {n: (sums.get(n), s) for n, s in big.items() if abs(sums.get(n, 0) - s) > 1e-3}
    t.check(not off, 'callgrind: its table has the exclusive times', off, read.stdout)
    inclusive = t.command('callgrind_annotate', '--threshold=100', '--auto=no', '--inclusive=yes', 'callgrind.out.1')
    main = re.search(r'\(\s*([\d.]+)%\).*:main\b', inclusive.stdout)
    row = next(r for r in t.show('functions', '--all')['rows'] if r['function'] == 'main')
    t.within(float(main[1]) / 100 if main else None, row['inclusive_share'], 0.002, 'callgrind: main with what it calls')


def check_chrome(t):
    done = t.run('export', '--to', 'chrome', '--wall', '-o', 'trace.json')
    t.equal(done.returncode, 0, 'chrome: written')
    open_, bad, last = collections.Counter(), [], {}
    for event in json.load(open('trace.json'))['traceEvents']:
        key = (event['pid'], event['tid'])
        if event['ph'] in 'BE':
            if event['ts'] < last.get(key, 0):
                bad.append(event)
            last[key] = event['ts']
            open_[key] += 1 if event['ph'] == 'B' else -1
            if open_[key] < 0:
                bad.append(event)
    t.check(not bad and not any(open_.values()), 'chrome: frames begin and end in order', bad[:3], open_)
    t.equal(len(last), 2, 'chrome: both threads are there')


def check_page(t):
    """The same number in the page's data, in CSV and in JSON."""
    done = t.run('report')
    t.equal(done.returncode, 0, 'the page is written')
    experiment = next(n for n in os.listdir('.') if n.startswith('sonde.'))
    toc, chunk = contents(f'{experiment}/report.html')
    page = chunk('functions')
    rows = t.show('functions', '--all')['rows']
    text = t.run('show', 'functions', '--all', '--format', 'csv').stdout
    table = list(csv.DictReader(io.StringIO(text)))
    key = lambda name, s, n: (name, round(s, 9), n)
    in_page = sorted(key(n, ns / 1e9, s) for n, ns, s in zip(page['name'], page['exclusive_ns'], page['samples']))
    in_json = sorted(key(r['function'], r['exclusive_cpu_s'], r['samples']) for r in rows)
    in_csv = sorted(key(r['function'], float(r['exclusive_cpu_s']), int(r['samples'])) for r in table)
    blocked_only = [row for row in in_page if row not in in_json and row[1:] == (0.0, 0)]
    t.equal(sorted(set(in_page) - set(blocked_only)), sorted(set(in_json)), 'functions of the page are those of JSON')
    t.equal(in_csv, in_json, 'functions of CSV are those of JSON')
    loops = chunk('loops')
    want = sorted(key(r['loop'], r['exclusive_cpu_s'], r['samples']) for r in t.show('loops', '--all')['rows'])
    got = sorted(key(n, ns / 1e9, s) for n, ns, s in zip(loops['id'], loops['exclusive_ns'], loops['samples']))
    t.check(set(want) <= set(got), 'loops of JSON are in the page', set(want) - set(got))
    summary = t.show('summary')
    t.within(toc['sampled_ns'] / 1e9, summary['sampled_cpu_s'], 1e-9, 'sampled CPU time')
    for key in ('elapsed', 'cpu', 'user', 'system'):
        t.within(toc[key + '_ns'] / 1e9, summary[key + '_s'], 1e-8, f'{key} time of the page is that of the summary')
    t.equal([toc['lost'], toc['overhead_share'], toc['warnings']],
            [summary['lost'], summary['overhead_share'], summary['warnings']], 'losses, cost and warnings too')
    t.within(toc['loops_share'], summary['loops_share'], 1e-9, 'share of loops')
    t.equal(toc['samples'], summary['samples'], 'samples')
    t.within(sum(chunk('points')['cpu_ns']) / 1e9, summary['sampled_cpu_s'], 1e-6, 'points sum to the whole')
    records = chunk('records')
    t.within(sum(records['cpu_us']) / 1e6, summary['sampled_cpu_s'], 2e-3, 'records sum to the whole')
    nodes = chunk('nodes')
    before = all(p == 0xffffffff or p < i for i, p in enumerate(nodes['parent']))
    t.check(before, 'parents come before children')
    t.check(any('sweep' in w for w in chunk('sources')['text']), 'the source is in the page')
    t.check(len(chunk('instructions')['words']) > 20, 'the listing is in the page')
    all_ = json.loads(t.run('report', '--format', 'json', '-o', '-').stdout)
    t.equal(all_['schema'], 'sonde.report/2', 'the report as JSON')
    t.equal([r['function'] for r in all_['functions']['rows']][:3], [r['function'] for r in rows][:3],
            'its functions are those of show functions')
    text = t.run('report', '--format', 'text', '-o', '-').stdout
    t.check('sweep' in text and 'functions' in text, 'the report as text')
    size = os.path.getsize(f'{experiment}/report.html')
    t.check(size < 1.5e6, 'a typical page is under 1.5 MB', size)


def perf_table(t, path):
    """perf's own shares by symbol, inlined functions in their callers'."""
    done = t.command('perf', 'report', '-i', path, '--stdio', '--no-children', '-g', 'none', '--percent-limit', '0.2')
    return {row[2]: float(row[1]) for row in re.finditer(r'^\s*([\d.]+)%.*\[\.\] (.*?)\s*$', done.stdout, re.M)}


def check_import(t, app):
    for kind, flags in (('frame pointers', ['-g']), ('DWARF', ['--call-graph', 'dwarf,8192'])):
        made = t.command('perf', 'record', '-q', '-F', '499', '-e', 'cpu-clock:u', *flags, '-o', 'perf.data', app) \
            if t.has('perf') else None
        if not made or made.returncode:
            t.skip(f'import with {kind}', 'perf cannot record here')
            continue
        folder = 'import.' + kind.split()[0]
        done = t.run('import', 'perf.data', '-o', folder)
        t.equal(done.returncode, 0, f'import with {kind}')
        want = perf_table(t, 'perf.data')
        # sonde tells inlined functions apart: sum by the concrete ones that perf names
        rows = t.show('functions', '--all', experiment=folder)['rows']
        share = {}
        for row in rows:
            share[row['function']] = share.get(row['function'], 0) + 100 * row['exclusive_share']
        names = [n for n in ('sweep', 'waves', 'fib') if n in want]  # waves may be below perf's limit
        off = {n: (share.get(n), want[n]) for n in names if abs(share.get(n, 0) - want[n]) > 0.35}
        t.check({'sweep', 'fib'} <= set(names) and not off, f'{kind}: shares are those of perf report', off, want)
        inclusive = {row['function']: row['inclusive_share'] for row in rows}
        # without a frame of its own, a leaf hides its caller from a chain of frame pointers
        callers = ('work', 'main') if kind == 'DWARF' else ('start_thread', 'main')
        t.check(all(inclusive.get(name, 0) > 0.3 for name in callers),
                f'{kind}: callers have their callees\' time', inclusive)
        threads = t.show('threads', experiment=folder)['rows']
        t.equal(len(threads), 2, f'{kind}: both threads')
        page = t.run('report', folder)
        t.equal(page.returncode, 0, f'{kind}: a page of it')
        if kind == 'DWARF':
            calls = t.run('export', '--to', 'folded', '-o', '-', folder).stdout
            whole = sum(int(line.rsplit(' ', 1)[1]) for line in calls.splitlines()
                        if line.startswith(('_start', '__clone3', 'clone3', 'start_thread')))
            total = sum(int(line.rsplit(' ', 1)[1]) for line in calls.splitlines())
            t.check(whole > 0.98 * total, 'DWARF: stacks reach the start', whole, total)


def check_bad_input(t):
    for name, content, words in (('empty', b'', 'perf.data'), ('text', b'hello world\n' * 20, 'no perf.data'),
                                 ('pipe', b'PERFILE2' + (16).to_bytes(8, 'little'), 'pipe')):
        open(name, 'wb').write(content)
        done = t.run('import', name)
        t.check(done.returncode in (4, 5) and words in done.stderr and done.stderr.count('\n') == 1,
                f'import of a bad file says one sentence: {name}', done.returncode, done.stderr)
    for words in (['export'], ['export', '--to', 'nothing'], ['report', '--format', 'pdf'], ['report', 'a', 'b', 'c']):
        done = t.run(*words)
        t.equal(done.returncode, 2, f'usage: {" ".join(words)}')
    done = t.run('report', '-o', '/proc/nowhere/x.html')
    t.check(done.returncode == 5 and 'nowhere' in done.stderr, 'a folder that is not there', done.stderr)


def main():
    t = Test()
    app = t.compile(PROGRAM, '-g', '-O2', '-fno-omit-frame-pointer', '-pthread', '-lm', output='./app')
    done = t.run('record', app)
    t.equal(done.returncode, 0, 'recorded')
    want = exclusive(t)
    check_folded(t, want)
    check_speedscope(t, want)
    check_pprof(t, want)
    check_callgrind(t, want)
    check_chrome(t)
    check_page(t)
    check_bad_input(t)
    check_import(t, app)
    t.done()


main()
