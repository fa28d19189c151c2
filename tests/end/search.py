"""sonde search on recorded runs: planted causes are found where they are, strategies are plug-ins, words for faults."""
import json
import os
import re
import xml.etree.ElementTree

import browser
from sonde_test import HERE, Test

INCLUDE = os.path.join(HERE, '..', '..', 'include')
CRASHES = r'''
#include <sonde/strategy.h>
#include <stdlib.h>
#include <string.h>
static volatile int *nowhere;
static int deeper(int n) { volatile char room[4096]; memset((char *)room, n, sizeof room); return n < 0 ? 0 : deeper(n + 1) + room[9]; }
static void crash_first(void) { *nowhere = 1; }
static void crash_refine(void) { *nowhere = deeper(0); }
static void crash_end(void) { abort(); }
static int is(const char *where) { return !strcmp(where, "%s"); }
static void first(const struct sonde_strategy_host *host, void *state)
{
	struct sonde_strategy_candidate hot = { host->property(host->search, "HotRegion"), host->root, SONDE_STRATEGY_NONE };
	if (is("first"))
		crash_first();
	host->propose(host->search, &hot);
}
static void refine(const struct sonde_strategy_host *host, void *state, const struct sonde_strategy_finding *proven, uint32_t count)
{
	if (is("refine"))
		crash_refine();
}
static void end(void *state)
{
	if (is("end"))
		crash_end();
}
SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = { SONDE_STRATEGY_ABI, "crash", "crashes", 0, first, refine, end };
'''
TOP = {'schema', 'experiment', 'program', 'exit_status', 'strategy', 'mode', 'severity_unit', 'phase', 'steps', 'properties', 'not_measurable',
       'agents', 'results', 'complete'}
ROW = set('property severity severity_unit severity_low severity_high confidence condition region_kind region function file line_first '
          'line_last data data_file data_line processes threads members severity_min severity_max classes evidence sources '
          'step path refined'.split())

RANKS = r'''
#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static volatile double sink;
static volatile int *arrived; /* of rank 0, by the round */
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void compute(double s)
{
	double end = cpu_s() + s;
	while (cpu_s() < end)
		for (int i = 0; i < 1000; i++)
			sink += i;
}
static void __attribute__((noinline)) exchange(void)
{
	double a = sink, b = 0;
	MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	sink = b * 1e-300;
}
int main(int argc, char **argv)
{
	int rank, file = open("arrived", O_RDWR | O_CREAT, 0600);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (ftruncate(file, sizeof(*arrived)))
		return 1;
	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	for (int i = 1; i <= 20; i++) {
		compute(rank == 1 ? 0.06 : 0.03);
		if (rank == 0)
			*arrived = i;
		/* rank 0 waits 5 ms at least, however its CPU is shared */
		while (rank == 1 && *arrived < i)
			usleep(500);
		if (rank == 1)
			usleep(5000);
		exchange();
	}
	MPI_Finalize();
	return 0;
}
'''

READER = r'''
#include <unistd.h>
static int __attribute__((noinline)) wait_for_input(int fd)
{
	char byte;
	return (int)read(fd, &byte, 1);
}
int main(void)
{
	int ends[2];
	volatile double sink = 0;
	if (pipe(ends))
		return 1;
	if (!fork()) {
		usleep(500000);
		return (int)write(ends[1], "x", 1) - 1;
	}
	wait_for_input(ends[0]);
	for (int i = 0; i < 100000000; i++)
		sink += i;
	return 0;
}
'''

# one loop that divides and one that multiplies, on the same data
DIVIDES = r'''
#include <time.h>
static double a[1000], b[1000];
static void __attribute__((noinline)) divide(void)
{
	for (int i = 0; i < 1000; i++)
		a[i] = b[i] / a[i];
}
static void __attribute__((noinline)) multiply(void)
{
	for (int i = 0; i < 1000; i++)
		b[i] = b[i] * 1.0000001;
}
int main(void)
{
	struct timespec t;
	for (int i = 0; i < 1000; i++)
		a[i] = b[i] = 1 + i;
	do
		for (int i = 0; i < 1000; i++) {
			divide();
			multiply();
			multiply();
		}
	while (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) && t.tv_sec == 0 && t.tv_nsec < 400000000);
	return 0;
}
'''

PLUG_IN = r'''
#include <sonde/strategy.h>
static void first(const struct sonde_strategy_host *host, void *state)
{
	struct sonde_strategy_candidate hot = { host->property(host->search, "HotRegion"), host->root, SONDE_STRATEGY_NONE };
	(void)state;
	host->propose(host->search, &hot);
}
static void refine(const struct sonde_strategy_host *host, void *state, const struct sonde_strategy_finding *proven,
		   uint32_t count)
{
	uint32_t below[16], n = host->calls(host->search, host->root, below, 16);
	(void)state; (void)proven; (void)count;
	for (uint32_t i = 0; i < n && i < 16; i++) {
		struct sonde_strategy_candidate hot = { host->property(host->search, "HotRegion"), below[i],
							SONDE_STRATEGY_NONE };
		host->propose(host->search, &hot);
	}
}
SONDE_STRATEGY_EXPORT const struct sonde_strategy sonde_strategy = { ABI, "mine", "a test", 0, first, refine, 0 };
'''


def search(t, *words):
    done = t.run('search', '--format', 'json', *words)
    return json.loads(done.stdout) if done.stdout else {}, done


def rows(found, name, region=None):
    return [r for r in found['properties'] if r['property'] == name and
            (region is None or any(region in (p['name'] or '') for p in r['path']))]


def team(t):
    app = t.compile('team.c', '-O2', '-g', '-fopenmp')
    t.run('record', '-o', 'team.run', app)
    found, done = search(t, '-e', 'team.run', '--threshold', '0')
    t.check(done.returncode == 0 and set(found) == TOP, 'the result has the keys of its contract', done.stderr, set(found) ^ TOP)
    t.check(found['properties'] and all(set(r) == ROW for r in found['properties']), 'so have its rows')
    severities = [r['severity'] for r in found['properties']]
    t.equal(severities, sorted(severities, reverse=True), 'severest first')
    t.check(found['mode'] == 'experiment' and found['complete'] and found['results']['lost'] == 0, 'nothing is lost')
    unbalanced = rows(found, 'ImbalanceInParallelRegion', 'parallel region of unbalanced')
    row = unbalanced[0] if unbalanced else {'evidence': {}, 'path': []}
    # thread 0 works 0.8 s, thread 1 0.2 s; both are sampled each millisecond: 5 sigma of coin tosses
    t.within(row['evidence'].get('most_over_mean'), 1.6, .15, 'the planted imbalance: most over mean')
    t.within(row['evidence'].get('seconds'), .6, .16, 'the planted imbalance: seconds lost')
    t.within(row.get('severity'), row['evidence'].get('seconds', 9) / (2 * found['phase']['mean_s']), 1e-9,
             'a severity is lane-seconds lost over phase times lanes')
    names = [p['name'] for p in row['path']]
    t.check(names[-1:] == ['parallel region of unbalanced'] and 'main' in names and 'unbalanced' in names,
            'the search path leads to it', names)
    t.check(row.get('file', '').endswith('team.c') and row.get('processes') == '0', 'with its place', row)
    overhead = rows(found, 'OmpOverhead', 'parallel region of unbalanced')
    t.check(not overhead or overhead[0]['refined'], 'what is more special refines it', overhead[:1])
    alike = rows(found, 'ImbalanceInParallelRegion', 'parallel region of balanced')
    t.check(not alike or alike[0]['evidence']['seconds'] < .1, 'no imbalance where there is none', alike[:1])
    critical = rows(found, 'CriticalContention', 'contended')
    t.check(bool(critical), 'contention for a critical section is told by the call', [r['property'] for r in found['properties']])
    alone = rows(found, 'InsufficientParallelism')
    t.check(alone and .1 < alone[0]['evidence']['seconds'] < .4, 'one thread alone for 0.2 s', alone[:1])
    inner = [r for r in alone if not r['refined']]
    t.check(inner and all((r['file'] or '').endswith('team.c') and r['line_first'] for r in inner), 'with its place in the program', inner[:2])
    missing = {m['property']: m for m in found['not_measurable']}
    t.check('LC3MissRate' in missing and 'misses(L3)' in missing['LC3MissRate']['needs'] and
            'caches' in missing['LC3MissRate']['reason'], 'what cannot be measured names what it needs', list(missing))
    return found


def formats(t):
    text = t.run('search', '-e', 'team.run', '--threshold', '0').stdout
    t.check('parallel region of unbalanced( PARALLEL_REGION, team.c,' in text, 'the text has the paper\'s search paths', text)
    t.check("could ('sonde show loops --thread " in text, 'and how to see what a thread does alone', text)
    t.check(text == t.run('search', '-e', 'team.run', '--threshold', '0').stdout, 'twice the same')
    tree = xml.etree.ElementTree.fromstring(t.run('search', '-e', 'team.run', '--threshold', '0', '--format', 'xml').stdout)
    space = '{http://www.lrr.in.tum.de/Periscope}'
    found = [p for p in tree.findall(space + 'property') if p.find(space + 'name').text == 'ImbalanceInParallelRegion']
    t.check(found and found[0].find(space + 'context').get('FileName', '').endswith('team.c') and
            0 < float(found[0].find(space + 'severity').text) < 1, 'XML with PTF\'s elements')
    t.equal(t.run('search', '-e', 'team.run', '--threshold', '0', '--check', '0.0001').returncode, 1, 'a severity reaches --check')
    t.equal(t.run('search', '-e', 'team.run', '--check', '1').returncode, 0, 'none reaches --check 1')


def shown(t):
    by_view = json.loads(t.run('show', 'properties', 'team.run', '--format', 'json').stdout)
    found, _ = search(t, 'team.run')
    t.check(by_view['schema'] == 'sonde.search/1' and by_view['properties'] == found['properties'],
            'show properties is the same, by name or operand')


def blocks(text):
    """What the text says of each finding: its lines."""
    return [b.splitlines() for b in re.split(r'\n(?=  \d\.\d{3}   )|\n\n', text) if re.match(r'  \d\.\d{3}   [A-Z]', b)]


def lines_agree(t):
    """No line of the text contradicts another one, and what is missing for one reason is told once."""
    found, _ = search(t, '-e', 'team.run', '--threshold', '0.005')
    text = t.run('search', '-e', 'team.run', '--threshold', '0.005').stdout
    hot = [b for b in blocks(text) if ' HotRegion ' in b[0]]
    t.check(hot and all(not re.search(r' \) \d', line) for b in hot for line in b[1:-1]) and all(re.search(r' \) ' + b[0].split()[0] + '$', b[-1]) for b in hot),
            'what a region takes itself stands at that region alone, and is the row\'s', hot)
    names = [r['property'] for r in found['not_measurable']]
    told = re.findall(r'^  ((?:[A-Z]\w+(?: \(0 to [\d.]+\))?(?:, )?)+)\n     (.*)$', text.split('Not measurable here')[-1], re.M)
    t.check(names and sorted(re.sub(r' \(.*?\)', '', n) for words, _ in told for n in words.split(', ')) == sorted(names), 'all that is missing is named', told, names)
    t.equal(len({reason for _, reason in told}), len(told), 'and each reason once')
    page_rows = [r for r in t.show('searched', 'team.run')['rows'] if r['kind'] == 'unmeasured']
    others = [n for r in page_rows for n in r['explanation'].partition('. The same goes for ')[2].split(', ') if n]
    t.check(len(page_rows) == len(told) and sorted([r['property'] for r in page_rows] + [n.split()[0] for n in others]) == sorted(names), 'so has the page', page_rows)


def page(t):
    """Where a page is 800 pixels wide its sentences can be read, and times have units."""
    search(t, '-e', 'team.run')
    steps = [r['explanation'] for r in t.show('searched', 'team.run')['rows'] if r['kind'] == 'step']
    t.check(steps and all(re.search(r'; evaluated in [0-9.]+ (s|ms|µs|ns)$', s) for s in steps), 'a step says what it evaluated, and how long that took', steps[:2])
    t.equal(t.run('report', 'team.run', '-o', 'page.html').returncode, 0, 'the run has a page')
    if not browser.find():
        t.skip('properties on a narrow page', 'no browser')
        return
    with browser.Browser() as chromium:
        shown_page = chromium.open(f'file://{t.folder}/page.html#/searched')
        shown_page.size(800, 1000)
        shown_page.wait("document.body && document.body.dataset.ready === 'searched'", 30)
        wide = shown_page.evaluate("[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)")
        t.equal(wide, [0], 'properties stand on a narrow page whole')


def rates(t):
    """With --severity rate a property has its own ratio, and every output says so."""
    lost, _ = search(t, '-e', 'team.run', '--threshold', '0')
    found, done = search(t, '-e', 'team.run', '--threshold', '0', '--severity', 'rate')
    row = (rows(found, 'ImbalanceInParallelRegion', 'parallel region of unbalanced') or [{'evidence': {}}])[0]
    t.check(row.get('severity_unit') == found['severity_unit'] == 'rate' and
            abs(row['severity'] - (row['evidence']['most_over_mean'] - 1)) < 1e-9, 'an imbalance is its own ratio', done.stderr, row)
    hot = rows(found, 'HotRegion')
    t.check(hot and all(r['severity_unit'] == 'lost' for r in hot) and lost['severity_unit'] == 'lost' and
            all(r['severity_unit'] == 'lost' for r in lost['properties']), 'what states no rate stays what it is', hot[:1])
    text = t.run('search', '-e', 'team.run', '--threshold', '0', '--severity', 'rate').stdout
    t.check(re.search(r'By rate, as each property defines it.*rate   ImbalanceInParallelRegion', text, re.S) and 'lost   ' in text and
            'rate ' not in t.run('search', '-e', 'team.run', '--threshold', '0').stdout, 'the text says which is which', text)
    kinds = {r['property']: r['kind'] for r in t.show('searched', 'team.run')['rows']}
    t.check(kinds.get('ImbalanceInParallelRegion') == 'lost', 'what was searched last is kept', kinds)
    t.run('search', '-e', 'team.run', '--threshold', '0', '--severity', 'rate')
    kinds = {r['property']: r['kind'] for r in t.show('searched', 'team.run')['rows']}
    t.check(kinds.get('ImbalanceInParallelRegion') == 'rate' and kinds.get('HotRegion') == 'place', 'so do the rows that the page has', kinds)
    tree = xml.etree.ElementTree.fromstring(t.run('search', '-e', 'team.run', '--threshold', '0', '--severity', 'rate', '--format', 'xml').stdout)
    space = '{http://www.lrr.in.tum.de/Periscope}'
    units = {p.find(space + 'name').text: p.find(f'{space}addInfo/{space}severity_unit').text for p in tree.findall(space + 'property')}
    t.check(units.get('ImbalanceInParallelRegion') == 'rate' and units.get('HotRegion') == 'lost', 'so does XML', units)
    t.equal(t.run('search', '-e', 'team.run', '--severity', 'ratio').returncode, 2, 'there is no third one')
    search(t, '-e', 'team.run')


def own_property(t):
    with open('own.prop', 'w') as out:
        out.write('property Busy(r: region) { condition cpu(r) > 0 s; confidence confidence(cpu);\n'
                  '  severity cpu(r) / (time(phase) * lanes); evidence seconds = cpu(r); explain "{seconds:.2f} s"; }\n')
    found, done = search(t, '-e', 'team.run', '-P', 'own.prop', '--threshold', '0')
    t.check(rows(found, 'Busy') and not done.stderr, 'a property of one\'s own is searched', done.stderr)
    t.check(all(0 <= r['confidence'] < 1 for r in rows(found, 'Busy') + rows(found, 'HotRegion')), 'nothing that samples tell is certain',
            [(r['region'], r['confidence']) for r in found['properties']])
    with open('many.prop', 'w') as out:
        out.write('property Many(r: region) { condition cpu(r) > 0 s; confidence 1; severity 0.5; evidence many = 1234567 * sqrt(1);\n'
                  '  evidence few = 0 - 12 * sqrt(1); explain "{many:.0f} of {few:.0f}"; }\n'
                  'property Doubtful(r: region) { condition cpu(r) > 0 s; confidence 0; severity 0.9; explain "doubt"; }\n')
    text = t.run('search', '-e', 'team.run', '-P', 'many.prop', '--threshold', '0').stdout
    t.check('1,234,567 of -12' in text, 'counts have their thousands set apart', text)
    t.check(0 < text.find('0.500   Many') < text.find('0.900   Doubtful') and 'between 0.000 and 1.000: it may as well be nothing' in text,
            'what may be nothing stands last, and says so', text)
    shown = [r['property'] for r in t.show('searched', 'team.run')['rows'] if r['kind'] == 'lost']
    t.check('Doubtful' in shown and 'Many' in shown and shown.index('Many') < shown.index('Doubtful'), 'on the page, too', shown)


def bad_files(t):
    """A file with errors disables only itself, and the result says so."""
    with open('bad.prop', 'w') as out:
        out.write('property Bad(r: region) { condition ownn(r) > 0 s; confidence 1; severity 0.5; }\n')
    found, done = search(t, '-e', 'team.run', '-P', 'own.prop', '-P', 'bad.prop', '--threshold', '0')
    t.check(done.returncode == 0 and "bad.prop:1:37: error: there is no metric 'ownn'; did you mean 'own'?" in done.stderr, 'the error is printed', done.stderr)
    t.check(rows(found, 'Busy') and set(found) == TOP | {'bad_files'} and found['bad_files'] == [{'file': 'bad.prop', 'errors': 1}],
            'the others are searched, and the result names the bad one', found.get('bad_files'))
    text = t.run('search', '-e', 'team.run', '-P', 'bad.prop').stdout
    t.check('Left out: bad.prop has 1 error, so none of its properties was asked' in text, 'so does the text', text)
    t.check([r for r in t.show('searched', 'team.run')['rows'] if r['kind'] == 'unmeasured' and r['property'] == 'bad.prop'], 'and the page')
    t.equal(t.run('properties', 'check', 'bad.prop').returncode, 5, 'to check it is an error')
    search(t, '-e', 'team.run')


def strategies(t, reference):
    for name in ('time', 'property', 'data', 'mpi'):
        found, done = search(t, '-e', 'team.run', '--strategy', name, '--threshold', '0')
        t.check(done.returncode == 0 and found['strategy'] == name and found['steps'], f'strategy {name}', done.stderr)
        if name == 'property':
            t.check(rows(found, 'ImbalanceInParallelRegion', 'parallel region of unbalanced'), 'by properties it is found, too',
                    [r['property'] for r in found['properties']])
    with open('mine.c', 'w') as out:
        out.write(PLUG_IN)
    for output, abi in (('mine.so', 'SONDE_STRATEGY_ABI'), ('old.so', '99')):
        done = t.command('gcc', '-shared', '-fPIC', f'-DABI={abi}', '-Wall', '-Werror', '-I', INCLUDE, 'mine.c', '-o', output)
        t.equal(done.returncode, 0, f'{output} is built with the header alone')
    manual = open(os.path.join(HERE, '..', '..', 'docs', 'manual', 'search.md')).read()
    with open('manual.c', 'w') as out:
        out.write(manual.split('```c\n')[1].split('```')[0])
    done = t.command('gcc', '-shared', '-fPIC', '-Wall', '-Werror', '-I', INCLUDE, 'manual.c', '-o', 'manual.so')
    found, done = search(t, '-e', 'team.run', '--strategy', './manual.so', '--threshold', '0.01')
    t.check(done.returncode == 0 and len(found['steps']) > 1 and any(r['property'] == 'HotRegion' and r['path'][1:] for r in found['properties']),
            'the strategy of the manual finds what is hot', done.stderr, found.get('steps'))
    t.check(found['phase']['lanes'] == 2, 'a team of two has two lanes', found['phase'])
    shown = [r['property'] for r in t.show('searched', 'team.run')['rows'] if r['kind'] == 'lost']
    t.check('CpusTakenByOthers' not in shown[:-1], 'what other work takes comes behind what the program loses', shown)
    found, done = search(t, '-e', 'team.run', '--strategy', './mine.so', '--threshold', '0')
    t.check(done.returncode == 0 and found['strategy'] == 'mine' and len(found['steps']) == 2, 'a strategy from outside', done.stderr)
    done = t.run('search', '-e', 'team.run', '--strategy', './old.so')
    t.check(done.returncode == 4 and 'ABI 99' in done.stderr, 'another ABI is refused', done.stderr)
    done = t.run('search', '-e', 'team.run', '--strategy', 'tine')
    t.check(done.returncode == 2 and "did you mean 'time'?" in done.stderr, 'an unknown strategy', done.stderr)
    for where in ('first', 'refine', 'end'):
        with open('crash.c', 'w') as out:
            out.write(CRASHES % where)
        done = t.command('gcc', '-shared', '-fPIC', '-I', INCLUDE, 'crash.c', '-o', f'{where}.so')
        done = t.run('search', '-e', 'team.run', '--strategy', f'./{where}.so')
        t.check(done.returncode == 2 and f"'./{where}.so' crashed in its function '{where}' (SIG" in done.stderr and
                done.stderr.count('\n') == 1 and not done.stdout, f'a strategy that crashes in {where} is a sentence', done.returncode,
                done.stderr)
    for where, body in (('first', 'for (;;) ;'), ('refine', 'for (;;) host->share(host->search, host->root);')):
        with open('endless.c', 'w') as out:
            out.write((CRASHES % where).replace(f'crash_{where}();', body).replace('host->propose(host->search, &hot)', 'host->propose_roots(host->search, host->root)'))
        t.command('gcc', '-shared', '-fPIC', '-I', INCLUDE, 'endless.c', '-o', 'endless.so')
        done = t.run('search', '-e', 'team.run', '--strategy', './endless.so', '--threshold', '0.01', '--format', 'json', timeout=200)
        t.check(f"did not come back from its function '{where}'" in done.stderr and done.stderr.count('\n') == 1,
                f'a strategy that never ends in {where} is a sentence', done.returncode, done.stderr)
        if where == 'first':
            t.check(done.returncode == 2 and not done.stdout, 'without a step there is no result', done.returncode)
        else:
            found = json.loads(done.stdout)
            t.check(done.returncode == 0 and not found['complete'] and found['properties'],
                    'what the steps before have found is kept', found)
    with open('text.so', 'w') as out:
        out.write('no shared object')
    done = t.run('search', '-e', 'team.run', '--strategy', './text.so')
    t.check(done.returncode == 2 and 'text.so' in done.stderr and 'shared object' in done.stderr, 'nor what is no shared object',
            done.stderr)
    done = t.run('search', '-e', 'team.run', '--strategy', './nothing.so')
    t.check(done.returncode == 2 and 'nothing.so' in done.stderr, 'a file that is not there', done.stderr)
    done = t.run('search', '-e', 'team.run', '--strategy', 'data', '--start', 'LC3MissInThread')
    t.check(done.returncode == 2 and "did you mean 'LC3MissesInThread'?" in done.stderr, 'an unknown property', done.stderr)
    done = t.run('search', '@0', './team')
    t.check(done.returncode == 2 and './team' in done.stderr, 'an experiment and a program', done.stderr)


def ranks(t):
    if not t.has('mpicc', 'mpirun'):
        t.skip('ranks', 'no MPI')
        return
    app = t.compile(RANKS, '-O2', '-g', compiler='mpicc', output='./ranks')
    started = [['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2'], ['mpirun', '-n', '2']]
    for words in started:
        done = t.run('record', '-o', 'ranked.run', *words, app)
        if done.returncode == 0:
            break
        t.command('rm', '-rf', 'ranked.run')
    found, done = search(t, '-e', 'ranked.run', '--threshold', '0.0005')
    waits = rows(found, 'WaitAtNxN', 'exchange')
    # who waits for whom beyond the planted 0.1 s is the machine's affair when ranks share CPUs with others
    t.check(waits and waits[0]['evidence']['seconds'] > .02 and waits[0]['file'].endswith('.c'), 'waits in the Allreduce',
            [(r['property'], r['processes'], r['evidence']) for r in found['properties']])
    general = rows(found, 'MPILoadImbalance')
    t.check(general and general[0]['processes'] == '0', 'rank 0 has less to do', general[:1])
    # 1.2 s against 0.6 s of CPU time: 5 sigma of coin tosses, of which there were rate_hz a second
    t.within(general[0]['evidence']['seconds'] if general else None, .6, 5 * (1.8 / t.show('summary', 'ranked.run')['rate_hz']) ** .5,
             'by the planted 0.6 s')
    t.check(found['phase']['name'] == 'ranks' and found['program'].endswith('/ranks'), 'the program is that of the ranks', found['phase'], found['program'])
    text = t.run('search', '-e', 'ranked.run', '--threshold', '0').stdout
    lanes = 2 * found['phase']['mean_s']
    t.check(all(abs(r['evidence']['seconds'] - r['severity'] * lanes) < 1e-6 for r in rows(found, 'MPIExcessive', 'exchange')
                if r['processes'] == '0-1'), 'seconds of several ranks are those of all, as is the severity',
            [(r['severity'], r['evidence']) for r in found['properties'] if r['processes'] == '0-1'])
    first_numbers = [(b[0], next(line for line in b[1:] if re.search(r' \) \d', line))) for b in blocks(text) if any(re.search(r' \) \d', line) for line in b[1:])]
    t.check(any(first.endswith('ranks 0') for first, _ in first_numbers) and
            all(line.endswith(' of all ranks') != first.endswith('ranks 0-1') for first, line in first_numbers),
            'numbers along a path that are not of the row\'s ranks say so', first_numbers)
    several = [r for r in found['properties'] if r['processes'] == '0-1' and not r['refined']]
    t.check(not several or re.search(r' \((sums are of all 2, the rest is of rank [01], the severest|of all 2 ranks together)\)', text), 'what is said of several ranks says whose numbers it has', text)


def blocked(t):
    app = t.compile(READER, '-O1', '-g', output='./reader')
    t.run('record', '-o', 'read.run', app)
    found, _ = search(t, '-e', 'read.run', '--threshold', '0.01')
    waits = [r for r in rows(found, 'IOBlocked', 'wait_for_input') if not r['refined']]
    t.check(waits and .45 < waits[0]['evidence']['seconds'], 'blocked for 0.5 s in a read', found['properties'][:2])
    t.check(waits and 'waits' in waits[0]['sources'] and 0 < waits[0]['confidence'] < 1,
            'which was timed, as sure as the clock is', waits[:1])


def several_programs(t):
    """Of processes that run several programs a row says which one it is about."""
    app = t.compile(READER, '-O1', '-g', output='./reader')
    t.run('record', '-q', '-o', 'several.run', '--', 'sh', '-c', f'{app} & {app}; wait')
    text = t.run('search', '-e', 'several.run', '--threshold', '.01').stdout
    t.check(re.search(r'processes [\d,-]+ \(reader\)$', text, re.M), 'the program of a process is named', text)


def divisions(t):
    app = t.compile(DIVIDES, '-O1', '-g', output='./divides')
    t.run('record', '-o', 'divides.run', app)
    found, _ = search(t, '-e', 'divides.run', '--arch', 'zen4', '--threshold', '0.0005')
    slow = rows(found, 'LongLatencyOps')
    t.check(slow and all(r['function'] == 'divide' for r in slow) and slow[0]['evidence']['share_of_cycles'] > .5,
            'a loop that divides is told from one that multiplies', [(r['property'], r['function'], r['evidence']) for r in
                                                                     found['properties']])
    t.check(all(r['refined'] for r in rows(found, 'NotVectorised') if r['function'] == 'divide'), 'its loss counts once')


def main():
    t = Test()
    reference = team(t)
    formats(t)
    shown(t)
    lines_agree(t)
    page(t)
    rates(t)
    own_property(t)
    bad_files(t)
    strategies(t, reference)
    ranks(t)
    blocked(t)
    several_programs(t)
    divisions(t)
    t.done()


main()
