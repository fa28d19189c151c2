"""sonde report --format xlsx: every sheet as openpyxl reads it, against the JSON of the same report."""
import json
import os
import subprocess
import sys

from sonde_test import Test

READER = '''
import json, sys, openpyxl
book = openpyxl.load_workbook(sys.argv[1])
print(json.dumps({s.title: {"rows": [[c.value for c in r] for r in s.iter_rows()],
                            "formulas": sum(c.data_type == "f" for r in s.iter_rows() for c in r)} for s in book}))
'''
t = Test()


def reader():
    for python in (sys.executable, '/usr/bin/python3'):
        try:
            if subprocess.run([python, '-c', 'import openpyxl'], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


app = t.compile(r'''
#include <stdlib.h>
static volatile double sink;
__attribute__((noinline)) void hostile(long n) { double x = 1; for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9; sink = x; }
int main(void) { hostile(150000000); return 0; }
''', '-O1', output='./plain')
app = './app'
t.command('objcopy', '--redefine-sym', 'hostile==HYPERLINK(1)', './plain', app)
t.run('record', '-q', '-o', 'e', app, '=1+2', '</script>')
done = t.run('report', 'e', '--format', 'xlsx', '-o', 'e.xlsx')
python = reader()
if 'without libxlsxwriter' in done.stderr:
    t.check(done.returncode == 4, 'without the library it is said', done.stderr)
    t.done()
t.check(done.returncode == 0 and done.stderr == '', 'a workbook is written', done.stderr)
# the library comes with others that take half of a command's start: it is loaded where it is used
t.check('xlsxwriter' not in t.command('ldd', t.sonde).stdout, 'other commands do without the library')
soname = next((line.split('"')[1] for line in open('/usr/include/xlsxwriter.h') if ' LXW_SOVERSION ' in line), None) \
    if os.path.exists('/usr/include/xlsxwriter.h') else None
if soname:
    os.mkdir('broken')
    open(f'broken/libxlsxwriter.so.{soname}', 'w').close()
    done = t.run('report', 'e', '--format', 'xlsx', '-o', 'none.xlsx', env=dict(os.environ, LD_LIBRARY_PATH='broken'))
    t.check(done.returncode == 4 and done.stderr.count('\n') == 1 and f'libxlsxwriter{soname}' in done.stderr and
            not os.path.exists('none.xlsx'), 'one that cannot be loaded is told', done.stderr)
done = t.run('report', 'e', '--format', 'xlsx')
t.check(done.returncode == 2 and '-o' in done.stderr, 'which needs a name', done.stderr)
done = t.run('report', 'e', '--format', 'xlsx', '-o', '/dev/full/x')
t.check(done.returncode == 5 and done.stderr.count('\n') == 1, 'what cannot be written is one sentence', done.stderr)
if not python:
    t.skip('what openpyxl reads', 'there is no openpyxl')
    t.done()
book = json.loads(t.command(python, '-c', READER, 'e.xlsx').stdout)
report = json.loads(t.run('report', 'e', '--format', 'json', '-o', '-').stdout)
t.check({'Global', 'Functions', 'Loops', 'Threads', 'Categories', 'Provenance'} <= set(book), 'its sheets', list(book))
gains = book.get('WhatIf', {'rows': [[]]})['rows']
wanted = report['whatif']['variants']
t.check(len(gains) == len(wanted) + 1 and 'speedup_high' in gains[0] and
        all(a == b or abs(a - b) <= 1e-12 * abs(b) for row, want in zip(gains[1:], wanted) for a, b in
            ((value, want[key]) for key, value in zip(gains[0], row))), 'gains by variant are those of the JSON', gains, wanted)
t.equal(sum(s['formulas'] for s in book.values()), 0, 'no cell is a formula')
for name in ('functions', 'loops', 'threads', 'categories', 'compile'):
    rows = book[name.capitalize()]['rows']
    keys, wanted = rows[0], report[name]['rows']
    t.check(set(wanted[0]) <= set(keys), f'{name}: headers are keys', keys)
    bad = []
    first = next(k for k in ('loop', 'function', 'name', 'thread', 'category', 'module') if k in keys and k in wanted[0])
    by_first = {}
    for row in rows[1:]:
        by_first.setdefault(row[keys.index(first)], []).append(row)
    for w in wanted:
        found = [r for r in by_first.get(w[first], []) if all(
            r[keys.index(k)] == v or v in (None, '') and r[keys.index(k)] in (None, '') or
            isinstance(v, float) and r[keys.index(k)] is not None and abs(r[keys.index(k)] - v) <= 1e-12 * abs(v)
            for k, v in w.items())]
        bad += [] if found else [w]
    t.equal(bad, [], f'{name}: every row is that of the JSON')
for name in ('Functions', 'Modules', 'Loops'):
    rows = book[name]['rows']
    key = next(k for k in rows[0] if k.startswith('exclusive'))
    values = [r[rows[0].index(key)] for r in rows[1:]]
    t.equal(values, sorted(values, reverse=True), f'{name}: the hottest first, as on a terminal')
t.check(any('=HYPERLINK' in str(r[0]) for r in book['Functions']['rows']), 'a hostile name stays text')
t.check(['arguments', report['summary']['arguments']] in book['Provenance']['rows'], 'provenance', book['Provenance'])

# ---- a campaign ----
t.run('scale', '--threads', '1', '--dataset', 'a,b', '--repeat', '3', '-o', 'c', '--', app, '{dataset}', timeout=300)
done = t.run('report', 'c', '--format', 'xlsx', '-o', 'c.xlsx')
t.check(done.returncode == 0 and done.stderr == '', 'a campaign makes a workbook, too', done.stderr)
t.equal(t.run('report', 'c', '--format', 'xlsx').returncode, 2, 'which needs a name')
book = json.loads(t.command(python, '-c', READER, 'c.xlsx').stdout)
t.equal(list(book), ['Runs', 'Scalability', 'Laws', 'Compare', 'Compile', 'Provenance'], 'its sheets')


def dicts(sheet):
    keys = book[sheet]['rows'][0]
    return [dict(zip(keys, row)) for row in book[sheet]['rows'][1:]]


def same(cells, row):
    return all(v == cells[k] or isinstance(v, float) and cells[k] is not None and abs(v - cells[k]) <= 1e-12 * abs(v)
               for k, v in row.items())


for sheet, words in (('Runs', ['campaign', 'status']), ('Scalability', ['scalability'])):
    wanted = json.loads(t.run(*words, 'c', '--format', 'json').stdout)['rows' if sheet != 'Runs' else 'runs']
    got = dicts(sheet)
    t.check(len(got) == len(wanted) > 0 and all(same(g, w) for g, w in zip(got, wanted)), f'{sheet} is the JSON', got[:1], wanted[:1])
told = json.loads(t.run('diff', 'c', '--format', 'json').stdout)
wanted = [dict(cell, name=row['name'], kind=row['kind']) for row in told['rows'] for cell in row['cells']]
got = dicts('Compare')
t.check(len(got) == len(wanted) > 0 and all(same(g, w) for g, w in zip(got, wanted)), 'Compare is that of diff', got[:1], wanted[:1])
wanted = json.loads(t.run('show', 'compile', 'c', '--format', 'json').stdout)['rows']
got = dicts('Compile')
t.check(len(got) == len(wanted) > 0 and all(same(g, {k: v for k, v in w.items() if k != 'own_code'}) for g, w in zip(got, wanted)),
        'Compile is that of show compile', got[:1], wanted[:1])
fits = json.loads(t.run('scalability', 'c', '--format', 'json').stdout)['fits']
wanted = [(f['kind'], f['name'], f['reason']) for f in fits if f['model'] or f['kind'] == 'application']
rows = [(r['kind'], r['name'], r['reason']) for r in dicts('Laws')]
t.equal(rows[:len(wanted)], wanted, 'Laws are those of scalability, what has one first')
grouped = {}
for f in fits:
    if (f['kind'], f['name'], f['reason']) not in wanted:
        grouped.setdefault((f['kind'], f['reason'].split(':')[0]), []).append(f['name'])
t.equal([(kind, name) for kind, name, _ in rows[len(wanted):]],
        [(kind, names[0] if len(names) == 1 else f'{len(names)} {kind}s without a law') for (kind, _), names in grouped.items()],
        'what has none stands in a line for each reason')
facts = {r['key']: r['value'] for r in dicts('Provenance')}
t.check(facts['campaign'] == 'c' and facts['order'] == 'blocks' and 'Only runs of 1 worker' in facts['answer'], 'Provenance', facts)
t.equal(sum(s['formulas'] for s in book.values()), 0, 'no cell of it is a formula')
t.done()
