"""The page of a campaign: its figures are those of sonde scalability and campaign status, cells open their loop, all of it is
there without scripts, nothing from the network, hostile names, narrow windows, both themes; a campaign without a run that is done."""
import html
import json
import os
import re

import browser
from sonde_test import Test

t = Test()
app = t.compile('scaling.c', '-O2', '-g', '-fopenmp', output='./scaling')
with open('fails', 'w') as out:
    out.write('#!/bin/sh\necho "no <script>alert(1)</script> today" >&2\nexit 3\n')
os.chmod('fails', 0o755)
with open('plan.ini', 'w') as out:
    out.write(f'[campaign]\nrepeat = 2\n[default]\nprogram = {app}\narguments = 30000000\n'
              '[configuration "one"]\nthreads = 1\n[configuration "two"]\nthreads = 2\n'
              '[configuration "three"]\nthreads = 3\n'
              f'[configuration "<b>x</b> & =cmd"]\nprogram = {os.path.abspath("fails")}\n')
t.run('campaign', 'run', 'plan.ini', '-o', 'c', timeout=300)
made = t.run('report', 'c')
t.check(made.returncode == 0 and made.stdout.startswith('c/report.html'), 'the page lies in the campaign', made.stdout, made.stderr)
page = open('c/report.html').read()
told = json.loads(t.run('scalability', 'c', '--format', 'json').stdout)
runs = json.loads(t.run('campaign', 'status', 'c', '--format', 'json').stdout)['runs']

markup = re.sub(r'<(script|style).*?</\1>', '', page, flags=re.S)
t.check('<b>x</b>' not in markup and '&lt;b&gt;x&lt;/b&gt;' in markup and '<script' not in markup, 'names and last words are escaped')
t.equal(re.findall(r'(?:src|href)\s*=\s*"(?!#|runs/)|@import|url\(', markup), [], 'it loads nothing')
plain = html.unescape(re.sub(r'<[^>]+>', ' ', markup))
t.check(all(r['reason'] in plain for r in runs if r['reason']) and any(r['state'] == 'failed' for r in runs),
        'it says why runs failed', [r['reason'] for r in runs])
sections = {s: len(re.findall(f'<section class="panel detail" id="{s}-', page)) for s in ('loop', 'function')}
t.equal(sections, {s: len({(r['function'], r['name']) for r in told['rows'] if r['kind'] == s}) for s in ('loop', 'function')},
        'each loop and function of sonde scalability is there')
app_rows = [r for r in told['rows'] if r['kind'] == 'application']
t.check(all(f"{r['efficiency']:.2f} [{r['efficiency_low']:.2f}, {r['efficiency_high']:.2f}]" in plain for r in app_rows
            if r['efficiency_low'] is not None), 'with the application\'s efficiencies and intervals', app_rows)
t.check(all((f['reason'] or f['model']) in plain for f in told['fits'] if f['kind'] == 'application'), 'and its law, or why there is none')
t.check('page of a run' not in page and 'sonde show loop' in plain, 'a loop has the command that shows it in a run')
first = next(r for r in runs if r['state'] == 'done')['experiment']
for r in runs:
    if r['state'] == 'done':
        t.run('report', 'c/' + r['experiment'])
t.run('report', 'c')
t.check(f'href="{first}/report.html#/loop/' in open('c/report.html').read(), 'or a link to the page of that run, once there is one')

t.run('archive', 'c', '-o', 'c.sonde')
made = t.run('report', 'c.sonde', '-o', 'archive.html')
other = open('archive.html').read()
t.check(made.returncode == 0 and '/sonde-scratch.' not in other and len(other) > 0.8 * len(page), 'the page of an archive names no scratch')
for words, why in ((['--format', 'json'], 'scalability'), (['--thread', '1'], '--thread')):
    done = t.run('report', 'c', *words)
    t.check(done.returncode == 2 and why in done.stderr, f'report {words[0]} of a campaign is refused', done.stderr)

cpp = t.compile('''
namespace abc { struct grid { volatile double sum; void run(long n); }; }
__attribute__((noinline)) void abc::grid::run(long n) { for (long i = 0; i < n; i++) sum = sum + i; }
int main() { abc::grid g{0}; g.run(100000000); return 0; }
''', '-O1', compiler='g++', output='./cpp')
t.run('scale', '--threads', '1', '--repeat', '1', '-o', 'cpp.c', '--', cpp)
t.run('report', 'cpp.c', '-o', 'cpp.html')
named = html.unescape(re.sub(r'<[^>]+>', ' ', open('cpp.html').read()))
t.check('abc::grid::run+0x' in named and 'abc::grid::run(long)' in named and not re.search(r'in\s+_ZN', named),
        'functions of C++ are named as people do', re.findall(r'.{30}grid.{30}', named)[:5])

with open('bad.ini', 'w') as out:
    out.write(f'[default]\nprogram = {os.path.abspath("fails")}\n')
t.run('campaign', 'run', 'bad.ini', '-o', 'bad')
made = t.run('report', 'bad', '-o', 'bad.html')
t.check(made.returncode == 0 and 'exit status 3' in open('bad.html').read() and 'notice' in open('bad.html').read(),
        'a campaign without a run that is done has a page that says why', made.stderr)


# ---- a configuration of which every run failed; intervals beyond the frame ----
with open('half.ini', 'w') as out:
    out.write(f'[campaign]\nrepeat = 2\n[default]\nprogram = {app}\narguments = 3000000\n'
              f'[configuration "one"]\nthreads = 1\n[configuration "two"]\nthreads = 2\nprogram = {os.path.abspath("fails")}\n')
t.run('campaign', 'run', 'half.ini', '-o', 'half')
t.run('report', 'half', '-o', 'half.html')
half = html.unescape(re.sub(r'<[^>]+>', ' ', open('half.html').read()))
t.check('as many workers' not in half and 'All runs that are done had 1 worker' in half and 'No run of ‘two’ is done: exit status 3' in half,
        'a configuration without a run that is done is told of, with the reason')
t.check(all(a in plain for a in told['answers']) and plain.index(told['answers'][0]) < plain.index('The application'),
        'the answer stands first', told['answers'])
tops = [float(y) for path in re.findall(r'class="error" d="([^"]*)"', page) for y in re.findall(r'V(-?[\d.]+)', path)]
t.check(tops and min(tops) >= 12, 'no interval is drawn beyond its frame', sorted(tops)[:3])

# ---- configurations that differ in another thing than workers are compared ----
with open('work.ini', 'w') as out:
    out.write(f'[campaign]\nrepeat = 4\n[default]\nprogram = {app}\nthreads = 1\n'
              '[configuration "<i>small</i>"]\narguments = 3000000\n[configuration "large"]\narguments = 30000000\n')
t.run('campaign', 'run', 'work.ini', '-o', 'work', timeout=300)
t.run('report', 'work', '-o', 'work.html')
work = open('work.html').read()
words = html.unescape(re.sub(r'<[^>]+>', ' ', re.sub(r'<(script|style).*?</\1>', '', work, flags=re.S)))
compared = json.loads(t.run('diff', 'work', '--format', 'json').stdout)
t.check('What differs' in words and 'What differs' not in plain, 'configurations of as many workers are compared on the page')
cells = [r['cells'][1] for r in compared['rows'] if r['kind'] == 'total']
t.check(len(cells) == 2 and all(f"× {c['ratio']:.2f} [{c['ratio_low']:.2f}, {c['ratio_high']:.2f}]" in words and
                                {'slower': '▲ slower'}.get(c['verdict'], c['verdict']) in words for c in cells),
        'with the ratios and verdicts of sonde diff', cells, re.findall(r'elapsed.{80}', words))
t.check('Least elapsed time: \'<i>small</i>\'' in words and words.index('Least elapsed') < words.index('What differs') and
        '<i>small' not in work, 'the fastest is the answer, and hostile names are text')
t.check('>efficiency</button>' in page and '>efficiency</button>' not in work and '>CPU time</button>' in work,
        'where each configuration is its own reference no cell says that its efficiency is 1')

# ---- two things of several numbers of threads: groups of columns, and each run ----
with open('groups.ini', 'w') as out:
    out.write(f'[campaign]\nrepeat = 2\n[default]\nprogram = {app}\n'
              '[configuration "<i>a</i>"]\narguments = 3000000\n[configuration "b"]\narguments = 6000000\n[sweep]\nthreads = 1, 2\n')
t.run('campaign', 'run', 'groups.ini', '-o', 'groups', timeout=300)
t.run('report', 'groups')
groups = open('groups/report.html').read()
told_groups = json.loads(t.run('scalability', 'groups', '--format', 'json').stdout)
heads = re.findall(r'<div class="scroll heat efficiencies"><table><thead>(.*?)</thead>', groups, flags=re.S)
t.equal([re.findall(r'colspan="(\d)">(.*?)</th>', head) for head in heads],
        [[('2', '&lt;i&gt;a&lt;/i&gt;: threads'), ('2', 'b: threads'), ('1', '1'), ('1', '2'), ('1', '1'), ('1', '2')]] * 2,
        'columns stand in groups')
heads = re.findall(r'<div class="scroll heat efficiencies"><table><thead>(.*?)</thead>', page, flags=re.S)
t.check(all('rowspan' not in head for head in heads), 'where there is one group it has no name', heads)
t.check('What differs' in groups and 'Least elapsed time' in groups, 'and all configurations are compared')
loop = next(r for r in told_groups['rows'] if r['kind'] == 'loop')
mine = [r for r in told_groups['rows'] if r['kind'] == 'loop' and (r['name'], r['function']) == (loop['name'], loop['function'])]
figures = dict(re.findall(r'<a href="#loop-0-(\d)"[^>]*>[^<]*</a><small data-f="([^"]*)">', groups))
t.check(len(figures) == 4 and all(len(f.split('|')) == 6 and len(f.split('|')[0].split(' · ')) == 2 for f in figures.values()),
        'a cell has the figures of each run', figures)


def mean_of(words):
    return sum(float(w) for w in words.split(' · ')) / 2


t.check(all(abs(mean_of(figures[str(k)].split('|')[3].replace(' %', '')) - 100 * r['share']) < 5 for k, r in enumerate(mine)),
        'which are its configuration\'s', mine, figures)
run_columns = {name: re.search(r'id="runs".*?<thead>(.*?)</thead>', text, flags=re.S).group(1) for name, text in (('page', page), ('groups', groups))}
t.check('reason' in run_columns['page'] and 'reason' not in run_columns['groups'] and 'attempt' not in run_columns['groups'],
        'a column that no run has a use for is left out', run_columns)
first_run = json.loads(t.run('campaign', 'status', 'groups', '--format', 'json').stdout)['runs'][0]['experiment']
t.run('report', 'groups/' + first_run)
t.run('report', 'groups')
t.check(f'<a href="{first_run}/report.html">{first_run}</a>' in open('groups/report.html').read(), 'a run links to its page, once there is one')


def wide(page):
    return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')


chromium = browser.find()
if not chromium:
    t.skip('the page in a browser', 'no chromium')
    t.done()
with browser.Browser() as chrome:
    shown = chrome.open('file://' + os.path.abspath('c/report.html'))
    shown.wait("document.body.dataset.ready === 'campaign'")
    visible = "[...document.querySelectorAll('.detail')].filter((e) => !e.hidden).map((e) => e.id).join()"
    t.equal(shown.evaluate(visible), '', 'no loop is open at first')
    shown.evaluate("document.querySelector('.heat td.num a').click()")
    shown.wait("document.querySelector('.detail tr.chosen')")
    t.equal(shown.evaluate(visible), 'loop-0', 'a cell opens its loop')
    t.equal(shown.evaluate("document.querySelector('.detail tr.chosen').cells[0].textContent"), app_rows[0]['configuration'],
            'at its configuration')
    shown.evaluate("document.querySelectorAll('.switch button')[5].click()")
    rows = [r for r in told['rows'] if r['kind'] == 'loop'][:1]
    t.equal(shown.evaluate("document.querySelector('.heat td.num a').textContent"), f"{rows[0]['balance_efficiency']:.2f}",
            'other figures in the cells')
    shown.key('Escape')
    shown.wait(visible + " === ''")
    for width in (600, 800, 1400):
        for scheme in ('light', 'dark'):
            shown.size(width, 900)
            shown.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
            shown.evaluate("location.hash = '#loop-0'")
            t.check(wide(shown) <= 0, f'nothing is wider than the window ({width}, {scheme})', wide(shown))
    shown.size(600, 900)
    gaps = ("(() => { const rows = {}; for (const e of document.querySelectorAll('.tiles > div')) { const r = e.getBoundingClientRect();"
            " rows[r.top] = Math.max(rows[r.top] || 0, r.right); } const all = document.querySelector('.tiles').getBoundingClientRect();"
            " return Math.max(...Object.values(rows).map((right) => all.right - right)); })()")
    t.check(shown.evaluate(gaps) <= 3, 'each row of the title strip is full', shown.evaluate(gaps))
    grouped = chrome.open('file://' + os.path.abspath('groups/report.html'))
    grouped.wait("document.body.dataset.ready === 'campaign'")
    small = "[...document.querySelectorAll('.heat small')].filter((e) => e.getClientRects().length).length"
    t.equal(grouped.evaluate(small), 0, 'runs are folded at first')
    grouped.evaluate("document.querySelector('.each').click()")
    t.check(grouped.evaluate(small) >= 4, 'a button shows them', grouped.evaluate(small))
    grouped.evaluate("document.querySelectorAll('.switch button')[3].click()")
    t.equal(grouped.evaluate("document.querySelector('.heat small').textContent"), figures['0'].split('|')[3], 'with the figure that is chosen')
    table = "document.querySelector('.efficiencies')"
    for width in (800, 1400):
        grouped.size(width, 900)
        t.check(wide(grouped) <= 0 and grouped.evaluate(f'{table}.scrollWidth - {table}.clientWidth') <= 0, f'four columns have room ({width})')
    t.equal(grouped.errors, [], 'and no errors')
    of_run = chrome.open('file://' + os.path.abspath(f'c/{first}/report.html') + '#/loop/' + rows[0]['loop'])
    of_run.wait("document.body.dataset.ready === 'loop'")
    panel = "[...document.querySelectorAll('.panel')].find((e) => e.querySelector('h2')?.textContent.startsWith('Scaling'))"
    t.equal(of_run.evaluate(f"[...{panel}.querySelectorAll('tbody tr')].map((e) => [0, 3].map((k) => e.cells[k].textContent))"),
            [[r['configuration'], f"{r['efficiency']:.2f}"] for r in told['rows'] if r['kind'] == 'loop' and r['name'] == rows[0]['name'] and r['function'] == rows[0]['function']],
            'the page of a run shows how its loop scales')
    t.check(of_run.evaluate(f"{panel}.querySelector('canvas').getBoundingClientRect().width") > 200, 'with a curve')
    for width in (800, 1400):
        of_run.size(width, 900)
        t.check(wide(of_run) <= 0, f'and is not wider than the window ({width})', wide(of_run))
    t.equal((of_run.errors, shown.errors, [r for r in shown.requests if not r.startswith('file:')]), ([], [], []), 'no errors, and no requests')
t.done()
