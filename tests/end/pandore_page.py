"""The page of communication graphs and lattices, in a browser: the same numbers as sonde comm under every view,
nothing from the network, keyboard, both themes, hostile names, and what remains without scripts."""
import json
import os
import re

import browser
from sonde_test import HERE, Test

t = Test()
programs = os.path.join(HERE, '../../docs/manual/programs')
LAYOUTS = {'rows': 'block(N/P,N)', 'columns': 'block(N,N/P)', 'blocks': 'block(N/2,N/2)'}


def write(name, text):
    with open(name, 'w') as out:
        out.write(text)


def page_of(*words):
    run = t.command(t.sonde, 'comm', *words, '--format', 'html')
    write('page.html', run.stdout)
    return run


def table_script(at):
    return f'''JSON.stringify([...document.querySelectorAll('.graphs ~ div table')[{at}].tBodies[0].rows]
        .map((row) => [...row.cells].map((cell) => cell.textContent)))'''


def rows_of(page, at=0):
    """kind, from, to, messages, bytes of the arcs' table"""
    rows = json.loads(page.evaluate(table_script(at)))
    return sorted((r[0], r[1], r[2], int(r[3].replace(',', '')), int(r[4].replace(',', ''))) for r in rows)


def told(*words):
    rows = json.loads(t.command(t.sonde, 'comm', *words, '--format', 'json').stdout)['rows']
    return sorted((r['kind'], r['source'], r['target'], r['messages'], r['bytes']) for r in rows)


def make_runs():
    figure1 = open(os.path.join(programs, 'fig1.pnd')).read()
    for name, layout in LAYOUTS.items():
        write(name + '.pnd', figure1.replace('block(N/P,N) map', layout + ' map'))
        t.command(t.sonde, 'pandore', 'compile', name + '.pnd', '-I', programs, '--scheme', 'naive', '--profile',
                  '-o', name)
        t.command('./' + name)
    t.command(t.sonde, 'pandore', 'compile', os.path.join(programs, 'product.pnd'), '--scheme', 'naive', '--trace',
              '-o', 'product')
    t.command('./product')


def check_static():
    run = page_of('rows.profile.json', 'columns.profile.json', 'blocks.profile.json')
    t.check(run.returncode == 0 and '<svg' in run.stdout and 'messages: 128 on 6 arcs' in run.stdout,
            'without scripts the drawing of sonde comm is there', run.stderr)
    bad = t.command(t.sonde, 'comm', 'rows.profile.json', '--zone', 'nowhere', '--format', 'html')
    t.check(bad.returncode == 2 and not bad.stdout and 'nowhere' in bad.stderr, 'an unknown zone makes no page')
    links = re.findall(r'(?:src|href)\s*=|@import|url\((?!#)', re.sub(r'<script.*?</script>', '', run.stdout, flags=re.S))
    t.equal(links, [], 'nothing is named that would be loaded')


def click(page, label, text):
    page.evaluate(f'''[...document.querySelectorAll('[aria-label="{label}"] button')]
        .find((b) => b.textContent === '{text}').click()''')


def pick(page, field, value):
    page.evaluate(f'''{{ const list = [...document.querySelectorAll('label.field')]
        .find((f) => f.textContent.startsWith('{field}')).querySelector('select');
        list.value = '{value}'; list.dispatchEvent(new Event('change')); }}''')


def tick(page, legend, name):
    page.evaluate(f'''[...document.querySelectorAll('fieldset')].find((f) => f.querySelector('legend').textContent === '{legend}')
        .querySelectorAll('label').forEach((l) => {{ if (l.textContent === '{name}') l.querySelector('input').click(); }})''')


def open_page(chromium, name='page.html'):
    page = chromium.open()
    page.size(1200, 900)
    page.open('file://' + os.path.abspath(name))
    t.check(page.wait("document.readyState === 'complete' && document.querySelector('table') !== null"), 'the page opens',
            page.errors)
    return page


def check_views(chromium):
    page = open_page(chromium)
    names = [name + '.profile.json' for name in LAYOUTS]
    for at, name in enumerate(names):
        t.equal(rows_of(page, at), told(name), f'{name}: the table has the arcs of sonde comm')
        drawn = page.evaluate(f"document.querySelectorAll('.graphs figure')[{at}].querySelectorAll('.arc').length")
        t.equal(drawn, len(told(name)), f'{name}: every arc is drawn')
    click(page, 'Added up by', 'node')
    t.equal(rows_of(page, 1), told(names[1], '--by', 'node'), 'added up by node')
    click(page, 'Drawn as', 'matrix')
    t.equal(page.evaluate("document.querySelectorAll('.graphs figure')[1].querySelectorAll('.cell').length"), 12,
            'a cell for each arc of the matrix')
    click(page, 'Added up by', 'variable')
    t.equal(rows_of(page, 1), told(names[1], '--by', 'variable'), 'added up by variable')
    click(page, 'Added up by', 'partition')
    click(page, 'Drawn as', 'graph')
    pick(page, 'Zone', 'zone2')
    t.equal([rows_of(page, at) for at in (0, 2)], [told(names[at], '--zone', 'zone2') for at in (0, 2)],
            'one zone only')
    pick(page, 'Zone', '')
    tick(page, 'Nodes', '3')
    t.equal(rows_of(page), told(names[0], '--nodes', '0,1,2'), 'three nodes only')
    tick(page, 'Variables', 'V')
    t.equal(rows_of(page, 2), told(names[2], '--nodes', '0,1,2', '--variables', 'A'), 'and one variable')
    tick(page, 'Nodes', '3')
    tick(page, 'Variables', 'V')
    zones = t.command(t.sonde, 'comm', names[0], '--table', 'zones', '--format', 'json')
    wanted = [str(r['assignments']) for r in json.loads(zones.stdout)['rows']]
    seen = page.evaluate('''[...[...document.querySelectorAll('table')].find((t) => t.caption.textContent === 'zones')
        .tBodies[0].rows].map((r) => r.cells[6].textContent.replace(',', ''))''')
    t.equal(seen, wanted, 'zones: the assignments of each node')
    return page


def check_keyboard(page):
    page.evaluate("document.querySelector('.graphs ~ div tbody tr').focus()")
    page.key('ArrowDown')
    page.key('Enter')
    said = page.evaluate("document.querySelector('.said').textContent")
    t.check(said.startswith('A1 → A0: 128 messages, 512 bytes'), 'arrow and Enter choose an arc', said)
    t.equal(page.evaluate("document.querySelectorAll('.arc.chosen').length"), 1, 'the chosen arc is marked in the graph')
    page.evaluate("document.querySelector('.arc').focus()")
    page.key('Enter')
    t.check(page.evaluate("document.querySelector('tr.chosen') !== null"), 'and an arc chosen in the graph in the table')
    page.evaluate("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'messages').click()")
    t.equal(page.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')"), 'descending',
            'a table says how it is sorted')
    named = page.evaluate('''[...document.querySelectorAll('svg, button, input, select')].filter((e) =>
        !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length''')
    t.equal(named, 0, 'everything to look at or to press has a name')


def check_looks(page):
    for scheme in ('light', 'dark'):
        page.media(scheme)
        page.open('file://' + os.path.abspath('page.html'))
        page.wait("document.readyState === 'complete' && document.querySelector('table') !== null")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        dark = sum(map(int, re.findall(r'\d+', background)[:3])) < 200
        t.check(dark == (scheme == 'dark') and len(page.screenshot()) > 20000, f'{scheme} as the system asks', background)
    page.size(420, 900)
    t.check(page.evaluate('document.documentElement.scrollWidth <= 420'), 'fits a narrow screen',
            page.evaluate('document.documentElement.scrollWidth'))
    t.equal((page.errors, [r for r in page.requests if not r.startswith('file:')]), ([], []),
            'no error, and nothing asked of a network')


HOSTILE = '</script><img src=x onerror="document.title=1">'


def check_hostile(chromium):
    profile = json.load(open('rows.profile.json'))
    profile.update(program=HOSTILE, phases=[HOSTILE], zones=[{'zone': HOSTILE, 'phase': 0}] * 2)
    for row in profile['traffic']:
        row['source'] = row['target'] = HOSTILE
    write('hostile.profile.json', json.dumps(profile))
    page_of('hostile.profile.json')
    page = open_page(chromium)
    t.check(page.evaluate("document.images.length === 0 && document.title !== '1'") and len(rows_of(page)) == 6,
            'hostile names are text', page.errors)
    profile.update(traffic=[])
    write('silent.profile.json', json.dumps(profile))
    page_of('silent.profile.json')
    page = open_page(chromium)
    t.check(page.evaluate("document.querySelector('.graphs').textContent.includes('No messages.')") and not page.errors,
            'a run without messages is said', page.errors)


def check_lattice(chromium):
    answer = json.loads(t.command(t.sonde, 'lattice', 'product.trace.jsonl', '--format', 'json', '--html', 'lattice.html').stdout)
    page = open_page(chromium, 'lattice.html')
    tiles = page.evaluate("[...document.querySelectorAll('.tiles dd')].slice(0, 4).map((d) => d.textContent)")
    means = [f"{answer[key]:.4g}" for key in ('events_per_step', 'mean_level_out_degree')]
    t.equal(tiles, [*means, answer['cuts'], answer['arcs']], 'events per step, mean over levels, cuts and arcs')
    t.equal(page.evaluate("[document.querySelectorAll('.levels .bar').length, document.querySelectorAll('tbody tr').length]"),
            [answer['events'], len(answer['segments'])], 'a bar a level, a row a bottleneck')
    page.evaluate("document.querySelectorAll('tbody tr')[1].focus()")
    page.key('Enter')
    t.equal(page.evaluate("document.querySelectorAll('.neck.chosen').length"), 1, 'a bottleneck is shown where it is')
    t.equal(page.errors, [], 'no error')
    write('cut.jsonl', ''.join(open('product.trace.jsonl').readlines()[:40]) + '{"process":0,"ind')
    run = t.command(t.sonde, 'lattice', 'cut.jsonl', 'product.trace.jsonl', '--html', 'two.html')
    page = open_page(chromium, 'two.html')
    t.check(run.returncode == 5 and page.evaluate("document.querySelector('.notice').textContent.includes('holds together')")
            and page.evaluate("document.querySelectorAll('#compared tbody tr').length") == 2 and not page.errors,
            'two side by side; a faulty trace says so', run.stderr, page.errors)


def check_both(chromium):
    t.command(t.sonde, 'pandore', 'compile', os.path.join(programs, 'product.pnd'), '--scheme', 'naive', '--profile',
              '--trace', '-o', 'product')
    t.command('./product')
    refused = t.command(t.sonde, 'comm', 'product.trace.jsonl', 'product.profile.json')
    alone = page_of('product.trace.jsonl')
    t.check(refused.returncode == alone.returncode == 2 and 'sonde lattice' in refused.stderr and not alone.stdout,
            'a trace is for a page, and beside a profile', refused.stderr, alone.stderr)
    page_of('rows.profile.json', 'product.trace.jsonl', 'product.profile.json')
    time_of = json.loads(t.command(t.sonde, 'lattice', 'product.trace.jsonl', '--format', 'json').stdout)['time']
    page = open_page(chromium)
    cells = json.loads(page.evaluate('''JSON.stringify([...document.querySelectorAll('caption')].find(
        (c) => c.textContent === 'programs side by side').closest('table').tBodies[0].innerText.split('\\n')
        .map((line) => line.split('\\t')))'''))
    measures = {cell[0]: cell[1:] for cell in cells}
    names = [p['program'] for p in json.loads(t.command(t.sonde, 'comm', 'rows.profile.json', 'product.profile.json', '--table', 'programs',
                                                        '-f', 'json').stdout)['rows']]
    t.check(len(names) == 2 and all(len(of) == 2 for of in measures.values()), 'programs side by side: a column each', cells)
    t.check([measures[m][0] for m in ('critical path', 'possible parallelism', 'realised')] == ['', '', ''] and
            abs(float(measures['possible parallelism'][1]) - time_of['potential_parallelism']) < 0.01 * time_of['potential_parallelism'] and
            measures['realised'][1] != '', 'critical path and parallelism stand beside the messages', cells, time_of)
    t.check(page.evaluate('''[...document.querySelectorAll('section')].map((s) => s.id).indexOf('lattice-0') ===
        document.querySelectorAll('section').length - 1''') and not page.errors, 'lattices come last', page.errors)


make_runs()
check_static()
if browser.find():
    with browser.Browser() as chromium:
        first = check_views(chromium)
        check_keyboard(first)
        check_looks(first)
        check_hostile(chromium)
        check_lattice(chromium)
        check_both(chromium)
else:
    t.skip('the page in a browser', 'chromium is not installed')
t.done()
