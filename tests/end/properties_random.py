"""Random properties on random tables against an evaluator of our own: properties_random.py [RUNS [SEED]].

Each run writes a file of 100 properties and a table, lets `sonde properties eval` judge them, and compares every
verdict. The evaluator here walks its own trees; it shares nothing with sonde but docs/manual/search.md.
"""
import json
import math
import os
import random
import sys

from sonde_test import Test

KEYS = ['region', 'data', 'process', 'thread']
UNITS = {'s': (1, 0, 0), 'B': (0, 1, 0), 'samples': (0, 0, 1), 'count': (0, 0, 0), '1': (0, 0, 0), 'B/s': (-1, 1, 0)}
PLAIN = (0, 0, 0)
LEVELS = ['L1', 'L2', 'L3', 'TLB']


# ---- tables ----

class Tables:
    def __init__(self, rng, metrics):
        self.phase = rng.choice([1.0, 2.5, 0.125])
        self.processes = [(str(p), [str(10 * p + t) for t in range(rng.randint(0, 3))])
                          for p in range(rng.randint(1, 3))]
        self.regions = []
        for r in range(rng.randint(1, 5)):
            self.regions.append({'region': f'r{r}', 'kind': rng.choice(['loop', 'function', 'parallel']),
                                 'name': f'name{r}', 'file': 'a.c', 'line': rng.choice([0, 7, 20 + r]),
                                 'parent': rng.choice([None] + [q['region'] for q in self.regions])})
        self.data = [{'data': f'd{d}', 'name': f'array{d}', **({'bytes': 64 * d} if rng.random() < .7 else {})}
                     for d in range(rng.randint(0, 3))]
        self.rows = []
        columns = [(m, level) for m in metrics for level in ([None] + LEVELS[:2] if m.get('levels') else [None])]
        for metric, level in columns:
            self.fill(rng, metric, level)
        for level in LEVELS:
            if rng.random() < .7:
                self.rows.append({'metric': 'penalty', 'level': level, 'value': rng.choice([1e-9, 0.5])})
        for region in self.regions:
            if rng.random() < .7:
                self.rows.append({'metric': 'time', 'region': region['region'], 'value': rng.random()})

    def fill(self, rng, metric, level):
        holes, detail = rng.choice([0, .1, .4]), rng.choice([0, 0, .3])
        for process, threads in self.processes:
            for region in [r['region'] for r in self.regions] if 'region' in metric['keys'] else [None]:
                for data in [d['data'] for d in self.data] if 'data' in metric['keys'] else [None]:
                    for thread in threads if 'thread' in metric['keys'] else [None]:
                        if rng.random() < holes:
                            continue
                        row = {'metric': metric['name'], 'level': level, 'region': region, 'data': data,
                               'process': process, 'thread': thread, 'source': rng.choice(['x', 'x', 'y'])}
                        for key in KEYS:
                            if rng.random() < detail / 4:
                                row[key] = None
                        row['value'] = rng.choice([0, 1, 2.5, -1, rng.random(), rng.uniform(0, 1e4)])
                        if rng.random() < .5:
                            row['samples'] = rng.randint(0, 400)
                        if rng.random() < .5:
                            row['error'] = rng.random()
                        self.rows.append({k: v for k, v in row.items() if v is not None})

    def json(self):
        return {'schema': 'sonde.tables/1', 'phase_s': self.phase,
                'processes': [{'process': p, 'threads': t} for p, t in self.processes],
                'regions': self.regions, 'data': self.data, 'metrics': self.rows}

    def merged(self):
        """Rows with equal keys as one; of threads without a process one for each process that has it."""
        found = {}
        for row in self.rows:
            for process in ([p for p, threads in self.processes if row['thread'] in threads and
                             row.get('process', p) == p] if 'thread' in row else [row.get('process')]):
                key = (row['metric'], row.get('level'), row.get('region'), row.get('data'), process, row.get('thread'))
                new = {'value': row['value'], 'samples': row.get('samples'), 'error': row.get('error'),
                       'source': row.get('source', '')}
                old = found.get(key)
                if old is None:
                    found[key] = new
                elif old['source'] != new['source']:
                    if new['error'] is not None and (old['error'] is None or new['error'] < old['error']):
                        found[key] = new
                else:
                    old['value'] += new['value']
                    if new['samples'] is not None:
                        old['samples'] = (old['samples'] or 0) + new['samples']
                    if new['error'] is not None or old['error'] is not None:
                        old['error'] = math.hypot(old['error'] or 0, new['error'] or 0)
        columns = {}
        for key, row in found.items():
            columns.setdefault(key[:2], []).append((key[2:], row))
        return columns


def bits(number):
    return bin(number).count('1')


def lookup(columns, column, keys, adds):
    """The rows at these keys (by index of KEYS; None: left out), or None."""
    named = sum(1 << k for k in range(4) if keys[k] is not None)
    may_lack = named & 4 if adds else named
    for lacks in sorted((m for m in range(16) if m & ~may_lack == 0), key=lambda m: (bits(m), -m)):
        wanted = [None if lacks >> k & 1 else keys[k] for k in range(4)]
        groups = {}
        for row_keys, row in columns.get(column, []):
            if any(named >> k & 1 and row_keys[k] != wanted[k] for k in range(4)):
                continue
            extra = sum(1 << k for k in range(4) if not named >> k & 1 and row_keys[k] is not None)
            groups.setdefault(extra, []).append(row)
        if groups:
            return groups[min(groups, key=lambda m: (bits(m), m))]
    return None


# ---- properties: made with their types ----

class Maker:
    def __init__(self, rng, metrics, params):
        self.rng, self.metrics, self.params = rng, metrics, params
        self.names, self.lets, self.nested, self.count = [], [], 0, 0

    def fresh(self, prefix):
        self.count += 1
        return f'{prefix}{self.count}'

    def members(self, kind):
        return [name for name, k in self.names if k == kind]

    def metric(self, unit):
        """A use of a metric with this unit, or None."""
        fits = [m for m in self.metrics if m['unit'] == unit]
        if not fits:
            return None
        metric, keys = self.rng.choice(fits), {}
        for key in KEYS:
            names = self.members(key)
            if (key in metric['keys'] or key == 'process') and names and \
                    (not metric['adds'] and key in metric['keys'] or self.rng.random() < .6):
                keys[key] = self.rng.choice(names)
        if not metric['adds'] and any(k in metric['keys'] and k not in keys for k in KEYS):
            return None
        level = self.rng.choice(LEVELS[:2] + [None]) if metric.get('levels') else None
        return ('metric', metric['name'], level, keys)

    def leaf(self, unit):
        choices = ['number', 'metric', 'metric', 'let']
        if unit == PLAIN:
            choices += ['lanes', 'param', 'line', 'threads', 'confidence', 'count']
        if unit == (1, 0, 0):
            choices += ['phase', 'time', 'penalty']
        if unit == (0, 1, 0):
            choices += ['bytes']
        kind, pick = self.rng.choice(choices), self.rng.choice
        if kind == 'metric':
            return self.metric(unit) or self.number(unit)
        if kind == 'let':
            fits = [name for name, u in self.lets if u == unit]
            return ('let', pick(fits)) if fits else self.number(unit)
        if kind == 'lanes':
            return ('lanes',)
        if kind == 'phase':
            return ('phase',)
        if kind == 'penalty':
            return ('penalty', pick(LEVELS))
        if kind == 'param':
            return ('param', pick(sorted(self.params)))
        if kind == 'confidence':
            return ('confidence', pick(self.metrics)['name'])
        for name, of in (('line', 'region'), ('threads', 'process'), ('bytes', 'data'), ('time', 'region')):
            if kind == name and self.members(of):
                return (name, pick(self.members(of)))
        return self.number(unit)

    def number(self, unit):
        texts = [t for t, u in UNITS.items() if u == unit and t != '1']
        value = self.rng.choice([0, 1, 2, 0.5, 1000, round(self.rng.random(), 3), 1e-5, 3e2])
        if texts:
            return ('number', value, self.rng.choice(texts))
        if unit == PLAIN:
            return ('number', value, None)
        # of any other unit: by division and multiplication
        result = ('number', value, None)
        for power, atom in zip(unit, ('s', 'B', 'samples')):
            for _ in range(abs(power)):
                result = ('op', '*' if power > 0 else '/', result, ('number', self.rng.choice([1, 2]), atom))
        return result

    def expr(self, unit, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < .2:
            return self.leaf(unit)
        kind = rng.choice(['+', '-', '*', '/', 'neg', 'if', 'least', 'greatest', 'abs', 'agg', 'agg', 'sqrt'])
        if kind in '+-':
            return ('op', kind, self.expr(unit, depth - 1), self.expr(unit, depth - 1))
        if kind in '*/':
            other = rng.choice([PLAIN, PLAIN, (1, 0, 0), (0, 1, 0)])
            sign = 1 if kind == '/' else -1
            first = tuple(a + sign * b for a, b in zip(unit, other))
            return ('op', kind, self.expr(first, depth - 1), self.expr(other, depth - 1))
        if kind == 'neg':
            return ('neg', self.expr(unit, depth - 1))
        if kind == 'if':
            return ('if', self.truth(depth - 1), self.expr(unit, depth - 1), self.expr(unit, depth - 1))
        if kind in ('least', 'greatest'):
            return (kind, [self.expr(unit, depth - 1) for _ in range(rng.randint(1, 3))])
        if kind == 'abs':
            return ('abs', self.expr(unit, depth - 1))
        if kind == 'sqrt':
            return ('sqrt', self.expr(tuple(2 * u for u in unit), depth - 1))
        return self.aggregate(unit, depth)

    def aggregate(self, unit, depth):
        if self.nested == 3:
            return self.leaf(unit)
        op = self.rng.choice(['sum', 'max', 'min', 'mean', 'stddev'] + (['count', 'countif'] if unit == PLAIN else []))
        the_set, of, kind = self.set()
        name = self.fresh('v')
        self.nested += 1
        self.names.append((name, kind))
        body = self.truth(depth - 1) if op == 'countif' else self.expr(unit, depth - 1)
        given = self.truth(depth - 2) if self.rng.random() < .4 else None
        self.names.pop()
        self.nested -= 1
        return ('agg', op, body, name, the_set, of, given)

    def set(self):
        choices = [('threads', None, 'thread'), ('processes', None, 'process'), ('phases', None, 'phase')]
        choices += [('threads', p, 'thread') for p in self.members('process')]
        choices += [('subregions', r, 'region') for r in self.members('region')]
        choices += [('data', r, 'data') for r in self.members('region')]
        return self.rng.choice(choices)

    def truth(self, depth):
        rng = self.rng
        kind = rng.choice(['cmp', 'cmp', 'cmp', 'and', 'or', 'not', 'exists', 'same'] if depth > 0 else ['cmp'])
        if kind in ('and', 'or'):
            return ('op', kind, self.truth(depth - 1), self.truth(depth - 1))
        if kind == 'not':
            return ('not', self.truth(depth - 1))
        if kind == 'exists':
            names = [n for n, _ in self.lets] + [m['name'] for m in self.metrics]
            return ('exists', rng.choice(names))
        if kind == 'same':
            pairs = [(a, b) for a, k in self.names for b, j in self.names if k == j and k != 'phase']
            if pairs:
                return ('op', rng.choice(['==', '!=']), *[('name', n) for n in rng.choice(pairs)])
        unit = rng.choice(list(UNITS.values()))
        return ('op', rng.choice(['<', '<=', '>', '>=', '==', '!=']), self.expr(unit, depth - 1),
                self.expr(unit, depth - 1))

    def property(self, number):
        rng, p = self.rng, {'name': f'P{number}', 'contexts': []}
        self.names, self.lets = [], []
        for kind in rng.sample(KEYS, rng.randint(0, 3)):
            name, kinds = self.fresh('c'), rng.sample(['loop', 'function', 'parallel'], rng.choice([0, 0, 1, 2])) \
                if kind == 'region' else []
            p['contexts'].append((name, kind, kinds))
            self.names.append((name, kind))
        p['lets'] = []
        for _ in range(rng.randint(0, 3)):
            unit, name = rng.choice(list(UNITS.values())), self.fresh('x')
            p['lets'].append((name, self.expr(unit, 3)))
            self.lets.append((name, unit))
        p['when'] = self.truth(2) if rng.random() < .3 else None
        p['conditions'] = [(self.fresh('k') if i or rng.random() < .5 else None, self.truth(3))
                           for i in range(rng.randint(1, 3))]
        named = [name for name, _ in p['conditions'] if name]
        for clause in ('confidence', 'severity'):
            p[clause] = {n: self.expr(PLAIN, 2) for n in rng.sample(named, rng.randint(1, len(named)))} \
                if named and rng.random() < .4 else self.expr(PLAIN, 3)
        p['rate'] = None
        if rng.random() < .4:
            p['rate'] = {n: self.expr(PLAIN, 2) for n in rng.sample(named, rng.randint(1, len(named)))} \
                if named and rng.random() < .4 else self.expr(PLAIN, 3)
        p['evidence'] = [(self.fresh('e'), self.expr(rng.choice(list(UNITS.values())), 2))
                         for _ in range(rng.randint(0, 2))]
        return p


# ---- printing ----

BINDING = {'or': 1, 'and': 2, 'not': 3, '<': 4, '<=': 4, '>': 4, '>=': 4, '==': 4, '!=': 4, '+': 5, '-': 5, '*': 6,
           '/': 6}


def show(e, least=0):
    kind = e[0]
    if kind == 'op':
        own = BINDING[e[1]]
        text = f'{show(e[2], 5 if own == 4 else own)} {e[1]} {show(e[3], own + 1)}'
    elif kind == 'not':
        own, text = 3, f'not {show(e[1], 4)}'
    elif kind == 'neg':
        own, text = 7, f'-{show(e[1], 7)}'
    elif kind == 'if':
        own, text = 0, f'if {show(e[1])} then {show(e[2])} else {show(e[3])}'
    else:
        own, text = 9, show_tight(e)
    return f'({text})' if own < least else text


def show_tight(e):
    kind = e[0]
    if kind == 'number':
        return f'{e[1]!r}{" " + e[2] if e[2] else ""}'
    if kind in ('let', 'param', 'name'):
        return e[1]
    if kind == 'metric':
        args = ([e[2]] if e[2] else []) + list(e[3].values())
        return f'{e[1]}({", ".join(args) or "*"})'
    if kind in ('least', 'greatest'):
        return f'{kind}({", ".join(show(a) for a in e[1])})'
    if kind in ('abs', 'sqrt'):
        return f'{kind}({show(e[1])})'
    if kind == 'agg':
        _, op, body, name, the_set, of, given = e
        return (f'{"count" if op == "countif" else op}({show(body)} over {name} in {the_set}{f"({of})" if of else ""}'
                f'{f" with {show(given)}" if given else ""})')
    if kind in ('exists', 'confidence', 'penalty', 'time'):
        return f'{kind}({e[1]})'
    if kind in ('line', 'threads', 'bytes'):
        return f'{e[1]}.{kind}'
    return {'phase': 'time(phase)', 'lanes': 'lanes'}[kind]


def show_guarded(g):
    return f'max({", ".join(f"{n} -> {show(e)}" for n, e in g.items())})' if isinstance(g, dict) else show(g)


def show_property(p, rng):
    contexts = ', '.join(f'{n}: {k}{f"({chr(124).join(kinds)})" if kinds else ""}' for n, k, kinds in p['contexts'])
    clauses = [f'let {n} = {show(e)};' for n, e in p['lets']]
    rest = [f'condition {" or ".join((f"{n}: " if n else "") + show(e) for n, e in p["conditions"])};',
            f'confidence {show_guarded(p["confidence"])};', f'severity {show_guarded(p["severity"])};']
    rest += [f'when {show(p["when"])};'] if p['when'] else []
    rest += [f'rate {show_guarded(p["rate"])};'] if p['rate'] else []
    rest += [f'evidence {n} = {show(e)};' for n, e in p['evidence']]
    rng.shuffle(rest)
    return f'property {p["name"]}({contexts}) {{ {" ".join(clauses + rest)} }}\n'


# ---- evaluating ----

def finite(x):
    return x if x is not None and math.isfinite(x) else None


class Evaluator:
    def __init__(self, tables, metrics, params):
        self.t, self.params = tables, params
        self.columns = tables.merged()
        self.metrics = {m['name']: m for m in metrics}
        self.names_with_values = {c[0] for c in self.columns}
        self.process_of = {}
        self.touched = {}
        for (_, rows) in self.columns.items():
            for keys, _ in rows:
                if keys[0] is not None and keys[1] is not None:
                    self.touched.setdefault(keys[0], set()).add(keys[1])

    def find(self, column, keys, adds):
        rows = lookup(self.columns, column, keys, adds)
        return None if rows is None or not adds and len(rows) > 1 else rows

    def value(self, e, env):
        rows = self.value_rows(e, env)
        if rows is None:
            return None
        total = 0.0
        for row in rows:
            total += row['value']
        return finite(total)

    def value_rows(self, e, env):
        _, name, level, used = e
        metric, keys = self.metrics[name], [None] * 4
        for key, var in used.items():
            keys[KEYS.index(key)] = env[var][1] if key == 'thread' else env[var]
        if 'thread' in used:
            keys[2] = env[used['thread']][0]
        elif keys[2] is None and 'process' not in metric['keys']:
            keys[2] = env['']
        return self.find((name, level), keys, metric['adds'])

    def members(self, the_set, of, env):
        if the_set == 'threads':
            process = env[of] if of else env['']
            return [(process, t) for t in dict(self.t.processes)[process]]
        if the_set == 'processes':
            return [p for p, _ in self.t.processes]
        if the_set == 'phases':
            return [0]
        if the_set == 'subregions':
            return [r['region'] for r in self.t.regions if r['parent'] == env[of]]
        return [d['data'] for d in self.t.data if d['data'] in self.touched.get(env[of], ())]

    def aggregate(self, e, env):
        _, op, body, name, the_set, of, given = e
        got, inner = [], dict(env)
        for member in self.members(the_set, of, env):
            inner[name] = member
            keep = self.ev(given, inner) if given else True
            if keep is False:
                continue
            value = self.ev(body, inner)
            if keep is None or value is None:
                return None
            got.append(value)
        if op == 'count':
            return float(len(got))
        if op == 'countif':
            return float(sum(got))
        total = 0.0
        for value in got:
            total += value
        if op == 'sum':
            return finite(total)
        if not got:
            return None
        if op in ('max', 'min'):
            return {'max': max, 'min': min}[op](got)
        mean = total / len(got)
        if op == 'mean':
            return finite(mean)
        squares = 0.0
        for value in got:
            squares += (value - mean) * (value - mean)
        return finite(math.sqrt(squares / len(got)))

    def confidence(self, name, env):
        metric, worst, levels = self.metrics[name], 1.0, env['levels'].get(name, [None])
        for level in levels:
            keys = [None, None, env[''], None]
            for n, k, _ in env['contexts']:
                if k in metric['keys'] or k == 'process':
                    keys[KEYS.index(k)] = env[n][1] if k == 'thread' else env[n]
            rows = lookup(self.columns, (name, level), keys, True)
            if rows is None:
                return None
            value, squares, samples = 0.0, 0.0, 0.0
            for row in rows:
                value += row['value']
                squares += (row['error'] or 0) ** 2
                samples += row['samples'] or 0
            if squares > 0:
                relative = math.sqrt(squares) / abs(value) if value else math.inf
            else:
                relative = 1.96 / math.sqrt(samples) if samples > 0 else 0
            worst = min(worst, 1 - min(1, relative))
        return worst

    def ev(self, e, env):
        kind = e[0]
        if kind == 'number':
            return float(e[1])
        if kind in ('let', 'name'):
            return env[e[1]]
        if kind == 'param':
            return float(self.params[e[1]])
        if kind == 'metric':
            return self.value(e, env)
        if kind == 'op':
            return self.operator(e, env)
        if kind == 'not':
            value = self.ev(e[1], env)
            return None if value is None else not value
        if kind == 'neg':
            value = self.ev(e[1], env)
            return None if value is None else -value
        if kind == 'if':
            given = self.ev(e[1], env)
            return None if given is None else self.ev(e[2] if given else e[3], env)
        if kind in ('least', 'greatest'):
            values = [self.ev(a, env) for a in e[1]]
            return None if None in values else (min if kind == 'least' else max)(values)
        if kind in ('abs', 'sqrt'):
            value = self.ev(e[1], env)
            if value is None or kind == 'sqrt' and value < 0:
                return None
            return abs(value) if kind == 'abs' else math.sqrt(value)
        if kind == 'agg':
            return self.aggregate(e, env)
        return self.special(e, env)

    def special(self, e, env):
        kind = e[0]
        if kind == 'exists':
            return env[e[1]] is not None if e[1] in env else e[1] in self.names_with_values
        if kind == 'confidence':
            return self.confidence(e[1], env)
        if kind == 'phase':
            return self.t.phase
        if kind == 'lanes':
            return float(max(1, len(dict(self.t.processes)[env['']])))
        if kind == 'line':
            return float(next(r['line'] for r in self.t.regions if r['region'] == env[e[1]])) or None
        if kind == 'threads':
            return float(len(dict(self.t.processes)[env[e[1]]]))
        if kind == 'bytes':
            return next(d.get('bytes') for d in self.t.data if d['data'] == env[e[1]])
        column, keys = (('penalty', e[1]), [None, None, env[''], None]) if kind == 'penalty' else \
            (('time', None), [env[e[1]], None, env[''], None])
        rows = self.find(column, keys, False)
        return None if rows is None else rows[0]['value']

    def operator(self, e, env):
        op = e[1]
        a, b = self.ev(e[2], env), self.ev(e[3], env)
        if op == 'and':
            return False if a is False or b is False else None if a is None or b is None else True
        if op == 'or':
            return True if a is True or b is True else None if a is None or b is None else False
        if a is None or b is None:
            return None
        try:
            return {'+': lambda: finite(a + b), '-': lambda: finite(a - b), '*': lambda: finite(a * b),
                    '/': lambda: finite(a / b) if b else None, '<': lambda: a < b, '<=': lambda: a <= b,
                    '>': lambda: a > b, '>=': lambda: a >= b, '==': lambda: a == b, '!=': lambda: a != b}[op]()
        except OverflowError:
            return None

    def guarded(self, g, held, env):
        if not isinstance(g, dict):
            return self.ev(g, env)
        values = [self.ev(e, env) for n, e in g.items() if n in held]
        return None if None in values or not values else max(values)

    def judge(self, p, env):
        env['contexts'], env['levels'] = p['contexts'], {}
        note_levels(p, env['levels'])
        for name, e in p['lets']:
            env[name] = self.ev(e, env)
        clamp = lambda x: None if x is None else max(0, min(1, x))
        row = {'severity': None, 'rate': None, 'confidence': None, 'condition': None}
        given = self.ev(p['when'], env) if p['when'] else True
        values = [(n, self.ev(e, env)) for n, e in p['conditions']]
        held = [n for n, v in values if v is True]
        if given is None or given and not held and any(v is None for _, v in values):
            row['state'] = 'not_measurable'
        elif given is False or not held:
            row['state'] = 'not_proven'
        else:
            severity = self.guarded(p['severity'], held, env)
            if severity is None:
                row['state'] = 'not_measurable'
            else:
                row.update(state='proven', condition=held[0], severity=clamp(severity),
                           rate=self.guarded(p['rate'], held, env) if p['rate'] else None,
                           confidence=clamp(self.guarded(p['confidence'], held, env)))
        row['evidence'] = {n: self.ev(e, env) for n, e in p['evidence']}
        return row

    def contexts(self, p):
        def level(kinds, env):
            if not kinds:
                yield env
                return
            kind = kinds[0]
            parameter = next((c for c in p['contexts'] if c[1] == kind), None)
            if kind == 'process':
                members = [q for q, _ in self.t.processes]
            elif parameter is None:
                yield from level(kinds[1:], env)
                return
            else:
                members = {'region': [r['region'] for r in self.t.regions
                                      if not parameter[2] or r['kind'] in parameter[2]],
                           'data': [d['data'] for d in self.t.data],
                           'thread': [(env.get(''), t) for t in dict(self.t.processes)[env['']]] if '' in env else []}[kind]
            for member in members:
                new = dict(env)
                if kind == 'process':
                    new[''] = member
                if parameter:
                    new[parameter[0]] = member
                yield from level(kinds[1:], new)
        yield from level(['process', 'region', 'data', 'thread'], {})


def note_levels(p, levels):
    def walk(e):
        if isinstance(e, dict):
            for x in e.values():
                walk(x)
        elif isinstance(e, (list, tuple)):
            if e and e[0] == 'metric' and len(e) == 4 and isinstance(e[3], dict):
                if e[2] not in levels.setdefault(e[1], []):
                    levels[e[1]].append(e[2])
                return
            for x in e:
                walk(x)
    for part in ('lets', 'when', 'conditions', 'confidence', 'severity', 'rate', 'evidence'):
        walk(p[part])


# ---- comparing ----

def close(a, b):
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None or isinstance(a, str):
        return a == b
    return abs(a - b) <= 1e-9 * max(1e-300, abs(a), abs(b))


def same(got, want):
    return (got['state'] == want['state'] and got['condition'] == want['condition'] and
            close(got['severity'], want['severity']) and close(got['rate'], want['rate']) and close(got['confidence'], want['confidence']) and
            (got['state'] == 'not_measurable' or not got['needs']) and
            got['evidence'].keys() == want['evidence'].keys() and
            all(close(got['evidence'][k], want['evidence'][k]) for k in want['evidence']))


def one_run(t, seed):
    rng = random.Random(seed)
    metrics = [{'name': f'm{i}', 'keys': rng.sample(KEYS, rng.randint(0, 4)),
                'text': (u := rng.choice(sorted(UNITS))), 'unit': UNITS[u], 'adds': rng.random() < .7,
                'levels': rng.random() < .3} for i in range(8)]
    params = {'q1': 0.5, 'q2': -3}
    tables, maker = Tables(rng, metrics), Maker(rng, metrics, params)
    properties = [maker.property(n) for n in range(100)]
    with open('random.prop', 'w') as out:
        for m in metrics:
            keys = ', '.join(f'{k[0]}: {k}' for k in m['keys'])
            out.write(f'metric {m["name"]}{f"({keys})" if keys else ""}: {m["text"]}{" adds" if m["adds"] else ""};\n')
        out.write('param q1 = 0.5 range 0 .. 1;\nparam q2 = -3; // a comment\n')
        for p in properties:
            out.write(show_property(p, rng))
    with open('random.json', 'w') as out:
        json.dump(tables.json(), out)
    done = t.run('properties', 'eval', '--properties', 'random.prop', '--tables', 'random.json')
    if done.returncode:
        return [f'seed {seed}: exit {done.returncode}: {done.stderr[:300]}'], 0
    evaluator = Evaluator(tables, metrics + [{'name': 'time', 'keys': ['region'], 'adds': False}], params)
    wanted = []
    for p in properties:
        for env in evaluator.contexts(p):
            by_kind = {k: env[n][1] if k == 'thread' else env[n] for n, k, _ in p['contexts']}
            wanted.append(dict(evaluator.judge(p, env), property=p['name'], process=env[''],
                               **{k: by_kind.get(k) for k in ('region', 'data', 'thread')}))
    rows = json.loads(done.stdout)['rows']
    faults = [] if len(rows) == len(wanted) else [f'seed {seed}: {len(rows)} rows, {len(wanted)} wanted']
    for got, want in zip(rows, wanted):
        if any(got[k] != want[k] for k in ('property', 'process', 'region', 'data', 'thread')) or not same(got, want):
            p = next(p for p in properties if p['name'] == want['property'])
            faults.append(f'seed {seed}: got {got}\n want {want}\n {show_property(p, random.Random(0))}')
    return faults, len(rows)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    t, faults, rows = Test(), [], 0
    for seed in range(first, first + runs):
        found, count = one_run(t, seed)
        faults += found
        rows += count
    t.check(not faults, f'{100 * runs} random properties, {rows} verdicts: no difference', *faults[:3])
    t.check(rows > 200 * runs, 'the properties had contexts')
    t.done()


main()
