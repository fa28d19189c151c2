"""The Periscope paper's table of SWIM (Section 6) by a code of its shape (bench/search/shallow.f90): search paths, arrays and
miss rates of L3 with 9 MB, 12 ways and lines of 128 bytes; by time lost its main nests come first."""
import json
import os

from sonde_test import HERE, Test

SOURCE = os.path.join(HERE, '..', '..', 'bench', 'search', 'shallow.f90')
CACHES = 'L1=16k/4,L2=256k/8,L3=9m/12,line=128'
# the line's mark: function, rate of the region in the paper, rates of arrays
REGIONS = {
    'advance': ('calc2', .028, {}),
    'columns': ('calc2', .302, {'unew': .279, 'vnew': .281, 'pnew': .281}),
    'rows': ('calc2', .053, {}),
    'checks': ('shallow', .046, {'unew': .046, 'vnew': .046, 'pnew': .046}),
    'copies': ('calc3z', .043, {}),
}
NESTS = ('fluxes', 'advance', 'copies')


def marks():
    """Lines of the source by the word in the comment of their loop."""
    with open(SOURCE) as source:
        return {line.split('! ')[1].split()[0]: i + 1 for i, line in enumerate(source) if ' do ' in line and '! ' in line}


def is_near(rate, paper):
    return abs(rate - paper) <= .15 * paper


def searched(t, *words, experiment='x'):
    done = t.run('search', '--experiment', experiment, '--caches', CACHES, '--strategy', 'data', '--start', 'LC3MissesInThread',
                 '--format', 'json', *words)
    return json.loads(done.stdout)['properties']


def function_of(row):
    return (row['function'] or '').split('::')[-1]


def row_of(rows, line, data=None):
    return next((r for r in rows if r['region_kind'] == 'loop' and r['line_first'] == line and r['data'] == data), None)


def rates(t, lines):
    rows = searched(t, '--severity', 'rate')
    for mark, (function, paper, arrays) in REGIONS.items():
        row = row_of(rows, lines[mark])
        t.check(row and function_of(row) == function and is_near(row['severity'], paper), f'{mark}: {paper} in the paper', row)
        t.check(row and row['path'][0]['kind'] == 'program' and row['path'][-1]['line'] == lines[mark] and
                (function == 'shallow' or function in [p['name'].split('::')[-1] for p in row['path']]),
                f'{mark}: the path goes from the program by {function} to the loop', row)
        for name, rate in arrays.items():
            row = row_of(rows, lines[mark], name)
            t.check(row and is_near(row['severity'], rate) and row['data_line'] and not row['refined'],
                    f'{mark}: {name} {rate} in the paper', row)
    t.check({r['severity_unit'] for r in rows if r['property'].startswith('LC3')} == {'rate'}, 'severities are rates')
    text = t.run('search', '--experiment', 'x', '--caches', CACHES, '--strategy', 'data', '--start', 'LC3MissesInThread',
                 '--severity', 'rate').stdout
    t.check(f'( LOOP_REGION, shallow.f90, {lines["columns"]} ) 0.28' in text and 'vnew( DATA_STRUCTURE, shallow.f90, ' in text,
            'the text has them as the paper\'s search paths', text[:3000])


def lost(t, app, lines):
    # one cycle takes some milliseconds and may have no sample
    t.run('trace', '-q', '--clock', 'hi', '--loops', 'all', '--every', '1', '-o', 'many', '--', app, '4')
    rows = [r for r in searched(t, '--threshold', '0', experiment='many') if r['region_kind'] == 'loop']
    # a loop's own row goes where those of its arrays explain it
    worst = {mark: max([r['severity'] for r in rows if r['line_first'] == lines[mark] and not r['data']] +
                       [sum(r['severity'] for r in rows if r['line_first'] == lines[mark] and r['data'])])
             for mark in (*NESTS, 'columns', 'rows')}
    t.check(max(worst[n] for n in NESTS) > 10 * max(worst['columns'], worst['rows']), 'by time lost the main nests come first', worst,
            [(r['function'], r['line_first'], r['severity']) for r in rows[:8]])


def main():
    t = Test()
    if not t.has('gfortran'):
        t.skip('the table of SWIM', 'no gfortran')
        t.done()
        return
    app = t.compile(SOURCE, '-g', '-O1', '-fno-inline', compiler='gfortran', output='./shallow')
    plain = t.command(app)
    done = t.run('trace', '-q', '--loops', 'all', '--every', '1', '-o', 'x', '--', app)
    t.equal((done.returncode, done.stdout), (0, plain.stdout), 'the traced program computes the same')
    lines = marks()
    rates(t, lines)
    lost(t, app, lines)
    t.done()


main()
