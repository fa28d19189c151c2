"""The report page in a browser: no error, no request, hostile names, budgets, filters, the table.

Pages come from tests/report/make_page.c, whose truth is known.
"""
import json
import os
import re

import browser
from report_contents import contents
from sonde_test import HERE, Test

ROOT = os.path.abspath(os.path.join(HERE, '../..'))
VIEWS = ('summary', 'categories', 'functions', 'loop', 'callers', 'flame', 'source', 'timeline', 'expert',
         'threads', 'system', 'provenance')
ABSENT = ('phases', 'comm', 'lattice', 'compare')
MAKE_PAGE = os.environ.get('MAKE_PAGE') or os.path.join(ROOT, 'build/tests/report/make_page')


def look(t, page, path, view, what):
    """Opens a view and says whether it came up clean."""
    page.evaluate(f"location.hash = '#/{view}'") if page.evaluate('location.href').startswith('file://' + path) \
        else page.open(f'file://{path}#/{view}')
    name = view.split('/')[0].split('?')[0]
    ready = page.wait(f"document.body && document.body.dataset.ready === '{name}'", 30)
    return t.check(ready and not page.errors, what, *page.errors, 'ready' if ready else 'never ready')


# What is cut off without a sign of it: an ellipsis (what it hides is said where the mouse rests), or a
# shadow where a box can be scrolled.
CUT = r"""(() => {
    const out = [], words = (e) => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    for (const e of document.querySelectorAll('#app *')) {
        const box = e.getBoundingClientRect(), style = getComputedStyle(e), name = e.className || e.tagName;
        if (!box.width || !box.height || e.closest('svg, .visually-hidden, select') || !e.textContent.trim())
            continue;
        const wide = e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0;
        if (wide && /hidden|clip/.test(style.overflowX)) {
            if (style.textOverflow !== 'ellipsis')
                out.push(['cut', name, e.textContent.slice(0, 60)]);
            e.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
            if (!e.title && !e.querySelector('[title]') && !e.closest('[title]'))
                out.push(['not said', name, e.textContent.slice(0, 60)]);
        }
        if (wide && /auto|scroll/.test(style.overflowX) && !style.backgroundImage.includes('gradient'))
            out.push(['scrolls without a sign', name, e.scrollWidth, e.clientWidth]);
        let holder = e.parentElement;
        while (holder && getComputedStyle(holder).overflowX === 'visible')
            holder = holder.parentElement;
        if (words(e) && box.right > innerWidth + 1 && (!holder || holder === document.body))
            out.push(['outside', name, e.textContent.slice(0, 60)]);
    }
    return out;
})()"""


def check_small(t, chromium):
    path = t.folder + '/small.html'
    page = chromium.open()
    for width, height, scheme in ((1440, 900, 'light'), (1440, 900, 'dark'), (800, 1000, 'light'),
                                  (800, 1000, 'dark')):
        page.size(width, height)
        page.media(scheme)
        page.open('about:blank')
        sizes, cut = [], []
        for view in VIEWS:
            look(t, page, path, view, f'{view} at {width} pixels, {scheme}') if width == 1440 else \
                page.open(f'file://{path}#/{view}') or page.wait(f"document.body.dataset.ready === '{view}'")
            sizes.append(len(page.screenshot()))
            cut += [[view, *what] for what in page.evaluate(CUT)]
        t.equal(cut[:5], [], f'nothing is cut without a sign: {width} pixels, {scheme}')
        wide = page.evaluate('document.documentElement.scrollWidth')
        t.check(min(sizes) > 12000 and wide <= width and not page.errors,
                f'screenshots have content and fit the width: {width} pixels, {scheme}', sizes, wide, page.errors)
    page.size(1440, 900)
    for view in ABSENT:
        page.evaluate(f"location.hash = '#/{view}'")
        t.check(page.wait("document.querySelector('.empty code')?.textContent.startsWith('sonde ')"),
                f'{view} names the command that would fill it')
    outside = [url for url in page.requests if not url.startswith(('file://' + path, 'about:', 'data:'))]
    t.equal(outside, [], 'nothing is asked of the network')
    blocked = page.evaluate("fetch('https://example.org/').then(() => 'went out', () => 'blocked')")
    t.equal(blocked, 'blocked', 'and the policy would not allow it')
    page.errors.clear()
    return page, path


def check_listed(t, page, path):
    """A table of `sonde show`, of which the page knows no more than its view says."""
    look(t, page, path, 'system', 'a table of sonde show')
    titles = page.evaluate("[...document.querySelectorAll('.grid .titles button')].map(b => b.textContent)")
    cells = page.evaluate("[...document.querySelectorAll('.grid .row')].map(r => [...r.children].map(c => c.textContent))")
    t.equal(titles[:4], ['Share', 'System s', 'Samples', 'What'], 'its columns are those of the text, in their order')
    t.check(len(cells) == 1 and cells[0][0].endswith('25.0 %') and cells[0][1:3] == ['', '1,234'] and cells[0][3].startswith('<img '),
            'shares, unknown figures, counts and hostile names', cells)
    t.check(page.evaluate("document.title") != 'pwned' and not page.evaluate("!!document.querySelector('.grid img')"), 'a name is no markup')
    foot = page.evaluate("[...document.querySelectorAll('.foot')].map(f => f.textContent)")
    t.equal(foot[:2], ['one row in all', 'and <b>a second line</b>'], 'below it stand the lines that sonde show has there')
    page.evaluate("location.hash = '#/system?q=nothing'")
    t.check(page.wait("document.querySelectorAll('.grid .row').length === 0"), 'the search leaves out rows')


def check_filters(t, page, path):
    """A time range chosen by dragging holds for every view, and its sums are those of the records."""
    toc, chunk = contents(path)
    page.open('about:blank')
    look(t, page, path, 'timeline', 'timeline before the drag')
    box = page.evaluate("(() => { const r = document.querySelector('.canvas canvas').getBoundingClientRect();"
                        " return [r.left, r.top, r.width]; })()")
    page.drag(box[0] + 400, box[1] + 60, box[0] + 700, box[1] + 60)
    t.check(page.wait("/t=[0-9.]+-[0-9.]+/.test(location.hash)"), 'a drag sets the time range',
            page.evaluate('location.hash'))
    first, last = map(float, re.search(r't=([\d.]+)-([\d.]+)', page.evaluate('location.hash')).groups())
    records, unit = chunk('records'), toc['time_unit_ns'] / 1e9
    inside = [i for i, at in enumerate(records['time']) if first / unit <= at < last / unit]
    cpu = sum(records['cpu_us'][i] for i in inside) / 1e6
    page.evaluate("location.hash = location.hash.replace('timeline', 'functions')")
    page.wait("document.body.dataset.ready === 'functions'")
    kept = page.evaluate("document.querySelector('.kept').textContent")
    got = float(re.match(r'([\d.]+) s', kept)[1])
    t.within(got, cpu, 0.006 * cpu, 'the CPU time kept is that of the records in the range')
    point_of = chunk('points')
    places, functions = chunk('places'), chunk('functions')
    sums = {}
    for i in inside:
        f = places['function'][point_of['place'][records['point'][i]]]
        sums[f] = sums.get(f, 0) + records['samples'][i]
    want = sorted(sums.values(), reverse=True)
    shown = page.evaluate("[...document.querySelectorAll('.grid .row')].map(r => r.children[4].textContent)")
    got = [int(s.replace(',', '')) for s in shown]
    t.equal(sorted(got, reverse=True)[:len(want)], want, 'samples by function in the range, as an own sum has them')
    page.evaluate("location.hash = '#/threads?th=2'")
    page.wait("document.body.dataset.ready === 'threads'")
    t.check('13.' in page.evaluate("document.querySelector('.kept').textContent"), 'one thread of eight is an eighth',
            page.evaluate("document.querySelector('.kept').textContent"))
    page.evaluate("location.hash = '#/functions?q=/^__sin/'")
    page.wait("document.querySelectorAll('.grid .row').length === 1")
    t.equal(page.evaluate("document.querySelectorAll('.grid .row').length"), 1, 'a search by regular expression')
    page.evaluate("location.hash = '#/functions?q=/(/'")
    page.wait("document.querySelector('#search.bad')")
    t.check(page.evaluate("!!document.querySelector('#search.bad')") and not page.errors,
            'a broken expression is marked, not fatal', page.errors)


def with_phases(path, to):
    """The page with phases as docs/format/page-phases.md has them: two in turn, every ten intervals of 0.1 s."""
    toc, _ = contents(path)
    intervals = int(toc['elapsed_ns'] / 1e8) + 1
    runs = [x for i in range(0, intervals, 10) for x in (i // 10 % 2, min(10, intervals - i))]
    site = {'heartbeat': 1, 'function': 0, 'loop': 0, 'name': 'f', 'label': 'a.c:1-2', 'type': 'loop', 'phase_share': 1, 'app_share': 0.5}
    phase = lambda k, name: {'phase': k, 'name': name, 'share': 0.5, 'interval_count': 7, 'cpu_ns': 1e9, 'system_ns': 0, 'blocked_ns': 0,
                             'sites': [site], 'profile': [[0, 0.7], [None, 0.3]]}
    phases = {'schema': 'sonde.page-phases/1', 'interval_ns': 100000000, 'method': 'silhouette', 'k_clusters': 2,
              'sites_method': 'contrast', 'calls': 'estimated', 'warnings': [],
              'clustering': [{'k': 1, 'inertia': 9, 'silhouette': None}, {'k': 2, 'inertia': 1, 'silhouette': 0.9}],
              'phases': [phase(0, 'solve'), phase(1, '</script><script>document.title="pwned"</script>')],
              'ribbons': [{'process': 0, 'first': 0, 'runs': runs}],
              'cyclic': [{'owner': 0, 'owner_name': 'main', 'function': None, 'name': 'step', 'calls': None, 'share': 0.9, 'mean_ns': None}]}
    text = open(path, encoding='utf-8').read()
    mark = '<script type="application/json" id="toc">'
    words = json.dumps(phases).replace('<', '\\u003c')
    open(to, 'w', encoding='utf-8').write(
        text.replace(mark, f'<script type="application/json" id="phases">{words}</script>\n{mark}'))


def check_phases(t, chromium):
    """The phases view; a click on a phase filters every view, and the sums are those of its intervals."""
    path = t.folder + '/phases.html'
    with_phases(t.folder + '/small.html', path)
    page = chromium.open()
    page.size(1440, 900)
    look(t, page, path, 'phases', 'phases come up')
    box = page.evaluate("(() => { const r = document.querySelector('.canvas canvas').getBoundingClientRect();"
                        " return [r.left, r.top, r.width]; })()")
    page.drag(box[0] + 160, box[1] + 30, box[0] + 160, box[1] + 30)
    t.check(page.wait("/ph=0/.test(location.hash)"), 'a click on the ribbon keeps its phase', page.evaluate('location.hash'))
    page.wait("document.querySelector('button.link')")
    page.evaluate("[...document.querySelectorAll('button.link')].find(b => /pwned/.test(b.textContent)).click()")
    t.check(page.wait("/ph=1/.test(location.hash)"), 'a click on the other phase keeps that one')
    page.evaluate("location.hash = location.hash.replace('phases', 'functions')")
    page.wait("document.body.dataset.ready === 'functions'")
    toc, chunk = contents(path)
    records, unit = chunk('records'), toc['time_unit_ns']
    cpu = sum(c for c, at in zip(records['cpu_us'], records['time']) if int(at * unit // 1e8) // 10 % 2 == 1) / 1e6
    got = float(re.match(r'([\d.]+) s', page.evaluate("document.querySelector('.kept').textContent"))[1])
    t.within(got, cpu, 0.006 * cpu, 'the CPU time kept is that of the records in the phase')
    for view in ('categories', 'loop', 'timeline', 'flame', 'summary'):
        look(t, page, path, view + '?ph=1', f'{view} of one phase')
    t.check(page.evaluate('document.title') != 'pwned', 'no name of a phase became markup', page.evaluate('document.title'))
    page.key('Escape')
    t.check(page.wait("!location.hash.includes('ph=')"), 'Escape removes the phase')


def check_keys(t, page, path):
    page.open('about:blank')
    look(t, page, path, 'summary', 'summary for keys')
    for second, view in (('f', 'functions'), ('t', 'timeline'), ('g', 'flame'), ('p', 'provenance'), ('s', 'summary')):
        page.key('g')
        page.key(second)
        t.check(page.wait(f"document.body.dataset.ready === '{view}'"), f'g {second} goes to {view}')
    page.key(']')
    t.check(page.wait("location.hash.startsWith('#/loop/')"), '] opens the hottest loop')
    before = page.evaluate('location.hash')
    page.key(']')
    t.check(page.wait(f'location.hash !== {json.dumps(before)}'), '] again the next one')
    page.key('?')
    t.check(page.wait("document.querySelector('[role=dialog]')"), '? shows the keys')
    page.key('Escape')
    t.check(page.wait("!document.querySelector('[role=dialog]')"), 'Escape closes them')
    page.key('/')
    t.equal(page.evaluate('document.activeElement.id'), 'search', '/ goes to the search')
    page.evaluate("document.activeElement.blur(); location.hash = '#/timeline'")
    page.wait("document.body.dataset.ready === 'timeline'")
    page.key('t')
    t.equal(page.evaluate('document.activeElement.id'), 'time', 't goes to the time range')
    for key in '2-3':
        page.key(key)
    page.key('Enter')
    t.check(page.wait("/[?&]t=2-3(&|$)/.test(location.hash)"), 'a range is typed', page.evaluate('location.hash'))
    page.key('Escape')
    page.evaluate("document.activeElement.blur(); location.hash = '#/functions?th=1'")
    page.wait("document.body.dataset.ready === 'functions' && document.querySelector('.row')")
    page.key('j')
    page.key('j')
    t.equal(page.evaluate("document.querySelector('[aria-selected=true]')?.getAttribute('aria-rowindex')"), '3',
            'j goes down the table')
    page.key('Enter')
    t.check(page.wait("location.hash.startsWith('#/source/')"), 'Enter opens the row')
    t.check('th=1' in page.evaluate('location.hash'), 'the filter goes along')
    page.evaluate("location.hash = '#/functions?th=1'")
    page.wait("document.body.dataset.ready === 'functions'")
    page.key('Escape')
    t.check(page.wait("!location.hash.includes('th=')"), 'Escape removes the filter')


def check_static(t, page, path):
    """Readable without JavaScript, and what prints."""
    page.call('Emulation.setScriptExecutionDisabled', value=True)
    page.open('file://' + path)
    page.wait("document.readyState === 'complete'")
    text = page.evaluate("document.getElementById('static').innerText")
    t.check('jacobi.c:43-48' in text and 'Hottest functions' in text and '14.2 s' in text,
            'the summary stands without JavaScript', text[:300])
    page.call('Emulation.setScriptExecutionDisabled', value=False)
    page.open('about:blank')
    page.open(f'file://{path}#/flame')
    page.wait("document.body.dataset.ready === 'flame'")
    pages = len(re.findall(rb'/Type\s*/Page\b', page.pdf()))
    t.check(1 <= pages <= 2, 'it prints on two pages', f'{pages} pages')


def check_flame(t, page, path):
    """A frame has the colour of the category with most time, where another has the largest single point."""
    first, last = 2.5, 3.3
    toc, chunk = contents(path)
    records, points, unit = chunk('records'), chunk('points'), toc['time_unit_ns'] / 1e9
    by_point, by_category = {}, {}
    for point, at, cpu in zip(records['point'], records['time'], records['cpu_us']):
        if first <= at * unit < last:
            category = points['category'][point]
            by_point[point] = by_point.get(point, 0) + cpu
            by_category[category] = by_category.get(category, 0) + cpu
    want = max(by_category, key=by_category.get)
    t.check(points['category'][max(by_point, key=by_point.get)] != want, 'the two differ here', by_point, by_category)
    page.open('about:blank')
    look(t, page, path, f'flame?t={first}-{last}', 'a flame graph of a range')
    page.evaluate("document.querySelector('.canvas').focus()")
    page.key('ArrowDown')
    zoomed = page.evaluate("location.hash")
    page.open('about:blank')
    page.open(f'file://{path}{zoomed}')
    page.wait("document.body.dataset.ready === 'flame'")
    t.check('root=' in zoomed and 'zoomed to' in page.evaluate("document.querySelector('section.fill').innerText"),
            'the zoom of the flame graph is in the address', zoomed)
    look(t, page, path, f'flame?t={first}-{last}', 'a flame graph of a range, from the roots')
    got = page.evaluate("""(() => {
        const canvas = document.querySelector('.canvas canvas'), scale = canvas.width / canvas.clientWidth;
        const at = (c, x, y) => [...c.getContext('2d').getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3);
        const seen = at(canvas, canvas.clientWidth - 40, 19 * 1.5); // main, right of its name
        const pot = document.createElement('canvas');
        const far = (name) => {
            const c = pot.getContext('2d');
            c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--c-' + name).trim();
            c.fillRect(0, 0, 300, 150);
            return [...c.getImageData(1, 1, 1, 1).data].slice(0, 3).reduce((s, v, i) => s + (v - seen[i]) ** 2, 0);
        };
        return %s.reduce((best, name) => far(name) < far(best) ? name : best);
    })()""" % json.dumps(toc['categories']))
    t.equal(got, toc['categories'][want], 'a frame has the colour of the category that brings most')


def check_wheel(t, page, path):
    """With ctrl the wheel zooms the timeline and the flame graph; alone it scrolls the page."""
    box = "(() => { const r = document.querySelector('.canvas canvas').getBoundingClientRect(); return [r.left + r.width * .6, r.top + 60]; })()"
    page.call('Page.bringToFront') # a tab in the background draws no frames, and the wheel waits for one
    page.size(1440, 500)
    for view, mark in (('timeline', 'z='), ('flame', 'root=*')):
        page.open('about:blank')
        look(t, page, path, view, f'{view} before the wheel')
        page.evaluate("document.querySelector('.canvas').scrollIntoView({ block: 'center' })")
        x, y = page.evaluate(box)
        page.wheel(x, y, -300, ctrl=True)
        t.check(page.wait(f"location.hash.includes('{mark}')", 5), f'{view}: the wheel with ctrl zooms, and the zoom is in the address',
                page.evaluate('location.hash'))
        page.evaluate("document.querySelector('.canvas').focus()")
        page.key('0')
        t.check(page.wait(f"!location.hash.includes('{mark}')", 5), f'{view}: the key 0 shows all', page.evaluate('location.hash'))
        for key in '+-':
            page.key(key)
        page.evaluate("document.querySelector('main').scrollTop = 0; window.wheels = []; window.addEventListener('wheel', e => wheels.push(e.defaultPrevented))")
        page.wheel(*page.evaluate(box), 120)
        t.check(page.wait('wheels.length > 0', 5) and page.evaluate('wheels') == [False], f'{view}: the wheel alone is left to the page',
                page.evaluate('wheels'))
    page.size(1440, 900)


def check_timeline(t, page, path):
    """Waiting for a CPU, and the call path under the pointer."""
    page.open('about:blank')
    look(t, page, path, 'timeline', 'timeline for its states')
    t.check('waiting for a CPU' in page.evaluate("document.querySelector('.foot').textContent"), 'waiting for a CPU is a state of its own')
    x, y, width = page.evaluate("(() => { const r = document.querySelector('.canvas canvas').getBoundingClientRect(); return [r.left, r.top, r.width]; })()")
    seen = ''
    for part in (0.3, 0.35, 0.4, 0.45, 0.5):
        page.point(x + width * part, y + 40)
        if page.wait("/from main/.test(document.querySelector('.tip')?.textContent)", 2):
            seen = page.evaluate("document.querySelector('.tip').textContent")
            break
    t.check('from main' in seen, 'the call path under the pointer is shown', page.evaluate("document.querySelector('.tip')?.textContent"))
    page.evaluate("location.hash = '#/timeline?as=table'")
    t.check(page.wait("[...document.querySelectorAll('.titles button')].some(b => b.textContent === 'No CPU')"), 'and its time in the table')
    toc, chunk = contents(path)
    threads = chunk('threads')
    shown = page.evaluate("(() => { const k = [...document.querySelectorAll('.titles button')].findIndex(b => b.textContent === 'No CPU');"
                          " return [...document.querySelectorAll('.grid .row')].map(r => parseFloat(r.children[k].textContent) || 0); })()")
    scale = [v if v < 20 else v / 1000 for v in shown]
    sums = [v / 1e9 for v in threads['wait_cpu_ns']]  # the first threads were off their CPUs for less
    t.check(len(scale) == len(sums) and all(a < b + 0.01 for a, b in zip(scale, sums)) and all(abs(a - b) < 0.01 for a, b in zip(scale[3:8], sums[3:8])),
            "which is the kernel's sum for the thread", shown, sums)


def check_idle(t, page, path):
    """Threads that only slept are left out of blocked time as on Global, and that is said."""
    toc, chunk = contents(path)
    threads, waits = chunk('threads'), chunk('waits')
    unit = toc['time_unit_ns'] / 1e9
    idle = sum(d * unit for d, w in zip(waits['duration'], waits['thread']) if threads['helper'][w])
    busy = sum(d * unit for d, w in zip(waits['duration'], waits['thread']) if not threads['helper'][w])
    look(t, page, path, 'flame?time=wall', 'flame graph of CPU and blocked time')
    head = page.evaluate("document.querySelector('.head .dim').textContent")
    t.check(f'without {idle:.1f} s of 1 thread that only slept' in head, 'an idle thread is left out, with a word', head)
    got = re.search(r'([\d.]+) s in all', head)
    t.within(float(got[1]), toc['sampled_ns'] / 1e9 + busy, 0.5, 'and the rest is CPU time and the waits of the others')


def check_modules(t, page, path):
    """Coloured by module, the legend names the modules that are seen, hottest first."""
    toc, chunk = contents(path)
    modules = chunk('modules')
    order = [name for _, name in sorted(zip(modules['cpu_ns'], modules['name']), reverse=True)]
    page.open('about:blank')
    look(t, page, path, 'flame?by=module', 'flame graph by module')
    shown = page.evaluate("[...document.querySelectorAll('.foot .swatch + .name')].map(e => e.textContent)")
    t.check(len(shown) > 1 and shown == [name for name in order if name in shown], 'a legend names the modules', shown, order)


def check_hottest(t, page, path):
    """The source opens at the line that takes most."""
    for view in ('source/f0', 'loop'):
        page.open('about:blank')
        look(t, page, path, view, f'{view} for its hottest line')
        state = """(() => {
            const rows = [...document.querySelectorAll('[aria-label=Source] .row')], share = (r) => parseFloat(r.children[0].textContent) || 0;
            const at = rows.find(r => r.getAttribute('aria-selected') === 'true'), pane = document.querySelector('[aria-label=Source]').getBoundingClientRect();
            const box = at?.getBoundingClientRect();
            return [at && share(at), Math.max(...rows.map(share)), !!at && box.top >= pane.top && box.bottom <= pane.bottom];
        })()"""
        page.wait(f'{state}[2]', 5)  # the row is drawn, then scrolled to
        got = page.evaluate(state)
        t.check(got[0] and got[0] == got[1] and got[2], f'{view}: the hottest line is chosen and in view', got)


def check_units(t):
    """What needs no browser: contrasts, names in less room, waits for a CPU."""
    if not t.has('node'):
        t.skip('units of the page', 'node is not here')
        return
    done = t.command('node', os.path.join(ROOT, 'tests/web/units.mjs'), os.path.join(ROOT, 'web'))
    for line in done.stdout.splitlines():
        if re.match(r'(not )?ok ', line):
            t.check(line.startswith('ok'), 'unit: ' + line.split(' - ', 1)[1], done.stdout[-500:] if not line.startswith('ok') else '')
    t.check(done.returncode == 0 and '1..' in done.stdout, 'units of the page ran to their end', done.stderr)


def check_hostile(t, chromium):
    path = t.folder + '/hostile.html'
    page = chromium.open()
    page.size(800, 1000)
    for view in VIEWS:
        look(t, page, path, view, f'hostile names in {view}')
        t.check('pwned' not in (page.evaluate('document.title') or '').replace("document.title='pwned'", ''),
                f'no name became markup in {view}', page.evaluate('document.title'))
        t.equal(page.evaluate(CUT)[:3], [], f'hostile names are not cut without a sign in {view}')
    text = open(path, encoding='utf-8', errors='surrogateescape').read()
    t.equal(text.count('<script>'), 1, 'one script of ours in the file and no other')
    page.evaluate("location.hash = '#/functions'")
    page.wait("document.body.dataset.ready === 'functions'")
    seen = page.evaluate("[...document.querySelectorAll('.row .name')].map(e => e.textContent)")
    t.check("</script><script>document.title='pwned'</script>" in seen, 'the name is shown as it is', seen[:3])
    t.check(not any(c in ''.join(seen) for c in '\u202e\u202c\x1b\x01\n'), 'what hides or turns text is spelled out')
    t.check(any('\\u202e' in name for name in seen), 'the turning mark is visible')


def check_empty(t, chromium):
    path = t.folder + '/empty.html'
    page = chromium.open()
    for view in VIEWS + ABSENT:
        name = view
        if view in VIEWS:
            look(t, page, path, view, f'empty experiment: {name}')
    t.equal(page.errors, [], 'an empty experiment has no errors')


def check_real(t, chromium):
    """The page of a recorded program: what it could gain, the experts' columns, the bounds of a loop."""
    path = t.folder + '/real.html'
    program = t.compile('shapes.c', '-O1', '-g', '-fno-tree-vectorize', '-fno-unroll-loops')
    t.run('record', '-o', 'real', program, '1500')
    t.check(t.run('report', 'real', '-o', path).returncode == 0, 'the page of a recorded program')
    toc, chunk = contents(path)
    page = chromium.open()
    page.size(1440, 1000)
    for view in VIEWS:
        look(t, page, path, view, f'a recorded program: {view}')
    check_columns(t, page, path)
    if not toc['whatif']:
        t.skip('what it could gain', 'there is no model of this CPU')
        return
    page.evaluate("location.hash = '#/summary'")
    page.wait("document.body.dataset.ready === 'summary'")
    shown = page.evaluate("[...document.querySelectorAll('button.link')].map(b => [1, 3].map(k => b.closest('tr').children[k].textContent))")
    times = lambda x: f'{x:.2f}×' if x >= 1.005 else '1×'
    def gain(low, high):
        return times(high) if high < 1.005 or f'{low:.2f}' == f'{high:.2f}' else f'{low:.2f}–{high:.2f}×'
    t.equal(shown, [[gain(v['speedup_low'], v['speedup_high']), times(v['speedup'])] for v in toc['whatif']['variants']],
            'the speed-up of the program by each variant, as an interval and with data in L1')
    variants = [v['variant'] for v in toc['whatif']['variants']]
    best = max(range(len(variants)), key=lambda i: toc['whatif']['variants'][i]['loops'])
    page.evaluate(f"document.querySelectorAll('button.link')[{best}].click()")
    page.wait(f"document.querySelectorAll('button.link')[{best}].getAttribute('aria-pressed') === 'true'")
    gain = toc['whatif']['variants'][best]['speedup']
    said = page.evaluate("[...document.querySelectorAll('canvas')].map(c => c.getAttribute('aria-label')).find(s => s?.startsWith('Cumulative'))")
    t.check(gain < 1.006 or said.endswith(f'80 % of the gain is {1 + 0.8 * (gain - 1):.3f}'),
            'the line of 80 % is drawn where the table counts it: of the speed-up beyond 1', said, gain)
    steps, loops = chunk('whatif'), chunk('loops')
    first = [loop for loop, v in zip(steps['loop'], steps['variant']) if v == best][0]
    x, y = page.evaluate("(() => { const e = document.querySelector('.chart canvas'); e.scrollIntoView({ block: 'center' });"
                         " const r = e.getBoundingClientRect(); const count = "
                         f"Math.max(...[0, 1, 2, {best}].map(v => [{','.join(map(str, steps['variant']))}].filter(x => x === v).length));"
                         " return [r.left + 60 + (r.width - 68) / (count + Math.max(0.3, (count + 1) * 0.02)), r.top + 60]; })()")
    page.drag(x + 2, y, x + 2, y)
    t.check(page.wait(f"location.hash.startsWith('#/loop/{loops['id'][first].replace(':', '%3A')}')"),
            'a click on the first step opens the loop that saves most', page.evaluate('location.hash'), loops['id'][first])
    page.wait("document.body.dataset.ready === 'loop'")
    t.check(page.evaluate("[...document.querySelectorAll('.tag')].some(e => e.textContent === 'bottleneck')"), 'its bounds, with the bottleneck')
    paths, model = chunk('paths'), chunk('model')
    hot = paths['loop_number'].index(first)
    own = [k for k in range(len(model['loop_number'])) if (model['loop_number'][k], model['path'][k]) == (first, 0)]
    bounds = ('ports', 'divider', 'issue', 'front_end', 'latency')
    # what is not the instructions' is what full schedulers add to one bound
    beyond = [b for b in bounds if abs(sum(model['part_' + b][k] for k in own) - paths[b][hot]) > 0.01]
    t.check(own and len(beyond) <= 1, 'what instructions add to the bounds sums to them', beyond)
    shown = "[...document.querySelectorAll('.bar.part span')].map(e => parseFloat(e.textContent))"
    for bound in ('issue', paths['bottleneck'][hot]):
        page.evaluate(f"[...document.querySelectorAll('table.small button.link')].find(b => b.textContent === "
                      f"{{ issue: 'issue width', ports: 'execution units', divider: 'divider', front_end: 'front end', "
                      f"latency: 'dependence between iterations' }}['{bound}']).click()")
        want = [round(model['part_' + bound][k], 2) for k in own
                if model['part_' + bound][k] >= 0.0005 or (bound == 'latency' and model['chain'][k])]
        page.wait(f"JSON.stringify({shown}) === '{json.dumps(want, separators=(',', ':'))}'", 5)
        got = page.evaluate(shown)
        t.check(len(got) == len(want) > 0 and all(abs(a - b) < 0.011 for a, b in zip(got, want)),
                f'a click on the bound {bound} marks its instructions with what they add', got, want)
    experts = chunk('experts')
    page.evaluate("location.hash = '#/expert?cols=coverage_share,l1_cycles&sort=l1_cycles'")
    page.wait("document.body.dataset.ready === 'expert' && document.querySelectorAll('.titles button').length === 3")
    cycles = page.evaluate("[...document.querySelectorAll('.grid .row')].map(r => parseFloat(r.children[2].textContent.replace(',', '')))")
    want = sorted((c for c in experts['l1_cycles'] if c == c), reverse=True)
    t.check(len(cycles) > 0 and all(abs(a - b) <= 0.5 + b / 100 for a, b in zip(cycles, want)), 'columns of choice, ordered by one', cycles, want)
    t.equal(page.errors, [], 'a recorded program has no errors')


def check_columns(t, page, path):
    """What a view has of rows that the page makes is there by its own heading, in whatever order is asked for."""
    toc, chunk = contents(path)
    columns = {c['key']: c for c in toc['row_columns']['loops']}
    loops, more = chunk('loops'), chunk('loops-columns')
    own = set(columns) - set(more) - {'loop'}
    t.check(all('kind' in columns[key] for key in more) and not any('kind' in columns[key] for key in own),
            'the table of contents says which columns are in the chunk', sorted(more), sorted(own))
    shown = json.loads(t.command(t.sonde, 'show', '--format', 'json', '--all', '--runtime-loops', '--cols', 'loop,instruction_count,role',
                               'loops', 'real').stdout)['rows']
    t.equal({id: (int(n), role) for id, n, role in zip(loops['id'], more['instruction_count'], more['role'])},
            {r['loop']: (r['instruction_count'], r['role']) for r in shown}, 'a loop has its figures of sonde show')
    page.evaluate("location.hash = '#/functions?rows=loops&cols=excl,role,instruction_count&sort=instruction_count'")
    page.wait("document.body.dataset.ready === 'functions' && document.querySelectorAll('.titles button').length === 4", 5)
    titles = page.evaluate("[...document.querySelectorAll('.titles button')].map(b => [b.textContent.replace(/[ ▲▼]+$/, ''), b.title])")
    want = [[columns[key]['title'], columns[key]['help']] for key in ('exclusive_cpu_s', 'role', 'instruction_count')]
    lower = lambda rows: sorted([title.lower(), meaning] for title, meaning in rows)
    t.equal(lower(titles[1:]), lower(want), 'headings and their meanings are the view\'s')
    got = page.evaluate("[...document.querySelectorAll('.grid .row')].map(r => parseInt(r.querySelectorAll('.num')[1].textContent.replaceAll(',', '')))")
    t.equal(got, sorted(got, reverse=True), 'loops in the order of a column of the view')
    t.check(len(got) > 0 and got[0] == max(more['instruction_count']), 'the largest first', got[:3])


def check_compare(t, chromium):
    """A page that compares: verdicts, only what is beyond noise at first, hostile names, swapped sides."""
    path = t.folder + '/compare.html'
    made = t.command(os.path.join(os.path.dirname(MAKE_PAGE), 'make_compare'), path)
    t.check(made.returncode == 0, 'a page that compares is made', made.stderr)
    page = chromium.open()
    for scheme, width in (('light', 1440), ('dark', 1440), ('light', 390)):
        page.size(width, 900)
        page.media(scheme)
        page.open('about:blank')
        for view in ('compare', 'flame', 'provenance'):
            look(t, page, path, view, f'two runs: {view}, {scheme}, {width} pixels')
        t.check(page.evaluate('document.documentElement.scrollWidth') <= width, f'it fits {width} pixels')
    page.size(1440, 900)
    cells = lambda: page.evaluate("[...document.querySelectorAll('.grid .row')].map(r => [...r.children].map(c => c.textContent))")
    page.evaluate("location.hash = '#/compare'")
    page.wait("document.body.dataset.ready === 'compare' && document.querySelector('.grid .row')")
    rows = {row[0]: row for row in cells()}
    t.equal({name: row[1] for name, row in rows.items()}, {'solve': '▲ slower', 'only_in_bonly in B': '▲ slower', 'only_in_aonly in A': '▼ faster'},
            'what changed is listed, with its verdict, and nothing else')
    t.check(rows['solve'][4].startswith('+') and rows['only_in_aonly in A'][4].startswith('−'), 'signs of differences', rows)
    page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'Show all').click()")
    t.check(page.wait("document.querySelectorAll('.grid .row').length === 8"), 'all rows when asked for', len(cells()))
    seen = page.evaluate("[...document.querySelectorAll('.row .name')].map(e => e.textContent)")
    t.check("</script><script>document.title='pwned'</script>" in seen and 'turn\\u202eround' in seen, 'names as they are', seen)
    t.equal(page.evaluate('document.title'), 'Compare · sonde', 'no name became markup')
    page.evaluate("[...document.querySelectorAll('button')].find(b => b.textContent === 'Swap A and B').click()")
    page.wait("location.hash.includes('swap=1')")
    page.wait("[...document.querySelectorAll('.grid .row')].some(r => r.children[0].textContent === 'solve' && /faster/.test(r.children[1].textContent))")
    t.equal({row[0]: row[1] for row in cells()}.get('solve'), '▼ faster', 'swapped, slower is faster')
    page.evaluate("location.hash = '#/compare?rows=loops'")
    t.check(page.wait("document.querySelector('.grid .row')?.textContent.startsWith('jacobi.c:4-9')"), 'loops too')
    text = open(path, encoding='utf-8', errors='surrogateescape').read()
    t.check(text.count('<script>') == 1 and 'What changed most' in text, 'one script, and a summary without it')
    t.equal(page.errors, [], 'a page that compares has no errors')


def check_big(t, chromium):
    """100,000 rows, a million samples: budgets. Load of the machine is in them, so they are generous
    twice over; the figures of a quiet one are in bench/RESULTS.md."""
    path = t.folder + '/big.html'
    t.check(os.path.getsize(path) <= 10e6, '100,000 rows and 1,000,000 samples fit 10 MB', os.path.getsize(path))
    page = chromium.open()
    page.size(1440, 900)
    page.open(f'file://{path}#/functions')
    ready = page.wait("document.body && document.body.dataset.ready === 'functions' && document.querySelector('.row')", 60)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    usable = page.evaluate("performance.now()")
    print(f'# first paint {paint:.0f} ms, table usable after {usable:.0f} ms')
    t.check(ready and paint < 1000, 'first paint within a second', paint)
    t.check(ready and usable < 6000, 'the table is usable within six seconds', usable)
    check_table(t, page)
    script = """(async () => {
        const start = performance.now();
        location.hash = '#/functions?t=10-20';
        while (!document.querySelector('.kept')) await new Promise(r => setTimeout(r, 5));
        const first = performance.now() - start, again = performance.now();
        location.hash = '#/functions?t=20-30';
        await new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)));
        return [first, performance.now() - again];
    })()"""
    first, again = page.evaluate(script)
    print(f'# time filter over a million samples: {first:.0f} ms with unpacking, {again:.0f} ms after')
    t.check(again < 2000, 'another time range over a million samples within two seconds', again)
    t.equal(page.errors, [], 'a big page has no errors')


def check_table(t, page):
    """After any sequence of scrolling, filtering and sorting a row is in view if there is one."""
    script = """(async () => {
        let seed = 12345;
        const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
        const settle = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
        const grid = () => document.querySelector('.grid');
        const bad = [];
        for (let i = 0; i < 40; i++) {
            const kind = random(4);
            if (kind === 0)
                grid().scrollTop = random(2500000);
            else if (kind === 1)
                location.hash = '#/functions?q=' + ['', 'ns1', 'method_ff', 'main', 'zzz', '/9[0-3]$/'][random(6)];
            else if (kind === 2)
                document.querySelectorAll('.titles button')[random(5)].click();
            else
                grid().scrollTop = grid().scrollHeight;
            await new Promise(r => setTimeout(r, 0));
            await settle(); await settle();
            const box = grid().getBoundingClientRect(), count = +grid().getAttribute('aria-rowcount') - 1;
            const inView = [...grid().querySelectorAll('.row')].filter((row) => {
                const r = row.getBoundingClientRect();
                return r.bottom > box.top + 28 && r.top < box.bottom;
            }).length;
            if ((count > 0) !== (inView > 0))
                bad.push([i, kind, count, inView, grid().scrollTop, location.hash]);
            if (document.querySelectorAll('.row').length > 120)
                bad.push(['too many rows exist', document.querySelectorAll('.row').length]);
        }
        return bad;
    })()"""
    t.equal(page.evaluate(script), [], 'a row is in view whenever there is one, and few rows exist')


def check_bundle(t):
    """The committed page is what its sources give."""
    web = os.path.join(ROOT, 'web')
    if not t.has('node') or not os.path.isdir(os.path.join(web, 'node_modules', 'esbuild')):
        t.skip('the committed page is built from its sources', 'node or its packages are not here: cd web; npm ci')
        return
    out = t.folder + '/rebuilt.html'
    done = t.command('node', os.path.join(web, 'build.mjs'), out)
    same = done.returncode == 0 and open(out, 'rb').read() == open(os.path.join(web, 'dist/report.html'), 'rb').read()
    t.check(same, 'the committed page is built from its sources', done.stdout, done.stderr)


def check_inflate(t):
    """The fall-back for browsers without DecompressionStream reads what zlib writes."""
    if not t.has('node'):
        t.skip('the fall-back inflates', 'node is not here')
        return
    script = f"""
import {{ gunzip }} from 'file://{ROOT}/web/src/inflate.js';
import {{ gzipSync, constants }} from 'node:zlib';
let seed = 7;
const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
for (const size of [0, 1, 10, 1000, 70000])
    for (const level of [0, 1, 6, 9])
        for (const strategy of [constants.Z_DEFAULT_STRATEGY, constants.Z_FIXED, constants.Z_HUFFMAN_ONLY]) {{
            const bytes = Buffer.alloc(size);
            for (let i = 0; i < size; i++)
                bytes[i] = i % 7 ? i >> 5 : random(256);
            const out = gunzip(new Uint8Array(gzipSync(bytes, {{ level, strategy }})), size);
            if (Buffer.compare(Buffer.from(out), bytes))
                throw new Error(`size ${{size}} level ${{level}}`);
        }}
console.log('same');
"""
    done = t.command('node', '--input-type=module', '-e', script)
    t.equal(done.stdout.strip(), 'same', 'the fall-back inflates what zlib deflates')


def check_nameless(t, chromium):
    """A program without symbols: beside its hottest loop stands the module that it is in."""
    program = t.compile('''
    volatile double sum;
    int main(void) { for (long i = 0; i < 100000000; i++) sum = sum + i; return 0; }
    ''', '-O1', '-s', output='./nameless')
    t.run('record', '-o', 'nameless.x', program)
    t.run('report', 'nameless.x', '-o', 'nameless.html')
    page = chromium.open()
    look(t, page, t.folder + '/nameless.html', 'summary', 'a program without symbols')
    beside = page.evaluate("""[...document.querySelectorAll('a[href*="/loop/"]')].find(a => a.textContent.includes('0x'))?.closest('td').textContent""")
    t.check(beside and beside.strip().endswith('nameless'), 'the hottest loops say in which module an address is', beside)


def main():
    t = Test()
    check_bundle(t)
    check_inflate(t)
    check_units(t)
    for kind in ('small', 'empty', 'hostile', 'big', 'many'):
        done = t.command(MAKE_PAGE, kind, f'{t.folder}/{kind}.html')
        t.equal(done.returncode, 0, f'a page is made: {kind}')
    if not browser.find():
        t.skip('the page in a browser', 'chromium is not installed')
        t.done()
    with browser.Browser() as chromium:
        page, path = check_small(t, chromium)
        check_listed(t, page, path)
        check_filters(t, page, path)
        check_keys(t, page, path)
        check_phases(t, chromium)
        check_wheel(t, page, path)
        check_timeline(t, page, path)
        check_idle(t, page, path)
        check_modules(t, page, path)
        check_hottest(t, page, path)
        check_flame(t, page, path)
        check_static(t, page, path)
        check_hostile(t, chromium)
        check_empty(t, chromium)
        check_compare(t, chromium)
        check_real(t, chromium)
        check_nameless(t, chromium)
        check_big(t, chromium)
        many = chromium.open()
        for view in ('timeline', 'threads', 'categories'):
            look(t, many, t.folder + '/many.html', view, f'5,000 threads: {view}')
    t.done()


main()
