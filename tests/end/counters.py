"""Counters that overflow: software events are counted where they happen, as often as the kernel counts them."""
import os
import re
import subprocess
import time

from sonde_test import Test

t = Test()

FAULTS = '''
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) static void touch(char *area, int pages)
{
	for (int i = 0; i < pages; i++)
		area[i * 4096L] = 1;
}
__attribute__((noipa)) static void touch_in_thread(char *area, int pages)
{
	for (int i = 0; i < pages; i++)
		area[i * 4096L] = 1;
}
__attribute__((noipa)) static void touch_in_child(char *area, int pages)
{
	for (int i = 0; i < pages; i++)
		area[i * 4096L] = 1;
}
__attribute__((noipa)) static void fill(char *area, int pages)
{
	int zero = open("/dev/zero", O_RDONLY);
	if (read(zero, area, pages * 4096L) != pages * 4096L)
		abort();
	close(zero);
}
static char *pages(int count)
{
	char *area = mmap(NULL, count * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(area, count * 4096L, MADV_NOHUGEPAGE);
	return area;
}
static void *work(void *none)
{
	touch_in_thread(pages(300), 300);
	return none;
}
static char table[200 * 4096] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc > 1) {
		touch_in_child(pages(50), 50);
		return 4;
	}
	touch(pages(1000), 1000);
	touch(table, 200);
	fill(pages(400), 400);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	if (!fork()) {
		touch_in_child(pages(77), 77);
		execl(argv[0], argv[0], "again", NULL);
	}
	wait(NULL);
	if (write(1, "ok\\n", 3) != 3)
		abort();
	return 3;
}
'''


def rows_of(table, event):
    return {row['function']: row for row in table['rows'] if row['event'] == event}


def faults():
    program = t.compile(FAULTS, '-O1', '-g', '-pthread', output='./touches')
    run = t.run('record', '-q', '-e', 'page-faults:1', '-o', 'faulting', program)
    t.equal((run.returncode, run.stdout, run.stderr), (3, 'ok\n', ''), 'status and output are the program\'s')
    table = t.show('counters', 'faulting', '--all')
    rows = rows_of(table, 'page-faults')
    t.equal(rows['touch']['exclusive'], 1200, '1,000 of 1,000 page faults, and 200 of 200, where they happened')
    t.equal(rows['touch_in_thread']['exclusive'], 300, 'those of a thread')
    t.equal(rows['touch_in_child']['exclusive'], 127, 'those of a child by fork, and of the program that it becomes')
    t.equal(rows['main']['samples'] < 20, True, 'main has hardly any of its own')
    event = table['events'][0]
    seen = sum(row['exclusive'] for row in rows.values())
    t.equal((event['event'], event['period'], event['scaled'], event['sampled']), ('page-faults', 1, False, seen),
            'functions sum to what was sampled')
    if os.geteuid() == 0:
        t.equal(rows['fill']['inclusive'] >= 400, True, 'faults within a system call are the caller\'s')
        t.check(seen <= event['kernel_count'] <= seen + 1500, 'the kernel counted as many, and those of the loader', event)
    metric = t.show('functions', 'faulting', '--metric', 'page-faults', '--all')
    t.equal({row['function']: row['exclusive'] for row in metric['rows']},
            {name: row['exclusive'] for name, row in rows.items()}, '--metric in functions tells the same')
    t.equal((metric['event'], metric['sampled_events']), ('page-faults', seen), 'with the event and its sum')
    for view in ('loops', 'lines', 'modules', 'tree', 'callers'):
        some = t.show(view, 'faulting', '--metric', 'page-faults', '--all')
        t.check(some['rows'] and all(row['inclusive' if view != 'loops' else 'exclusive'] is not None for row in some['rows'])
                and not any('exclusive_cpu_s' in row for row in some['rows']), f'{view} counts it, too', some['rows'][:1])
    summary = t.run('show', 'summary', 'faulting').stdout
    t.check(f'page-faults: {seen} sampled, one in 1' in summary, 'the summary says it', summary)


def several():
    """Of two events at the same instants no overflow is lost, though one signal stands for both."""
    program = t.compile(FAULTS, '-O1', '-g', '-pthread', output='./touches')
    run = t.run('record', '-q', '-e', 'page-faults:1,minor-faults:1,task-clock:1000000', '-o', 'several', program)
    t.equal((run.returncode, run.stderr), (3, ''), 'several events at once')
    table = t.show('counters', 'several', '--all')
    for event in ('page-faults', 'minor-faults'):
        t.equal(rows_of(table, event)['touch']['exclusive'], 1200, f'{event}: all of them')
    clock = rows_of(table, 'task-clock')
    t.check(all(abs(row['exclusive_s'] - row['exclusive'] / 1e9) < 1e-9 for row in clock.values()),
            'a clock\'s counts are times')


SWITCHES = '''
#include <errno.h>
#include <stdio.h>
#include <time.h>
__attribute__((noipa)) static int sleeps(int count)
{
	int failed = 0;
	for (int i = 0; i < count; i++) {
		struct timespec time = { 0, 50000 };
		failed += nanosleep(&time, NULL) != 0;
	}
	return failed;
}
int main(void) { printf("%d\\n", sleeps(300)); return 0; }
'''


def switches():
    if os.geteuid() != 0:
        t.skip('context switches', 'the kernel shows them to root')
        return
    program = t.compile(SWITCHES, '-O1', '-g', output='./sleeper')
    run = t.run('record', '-q', '--clock', 'off', '-e', 'cs:1', '-o', 'switches', program)
    t.equal((run.returncode, run.stdout, run.stderr), (0, '0\n', ''), 'no sleep is interrupted')
    row = rows_of(t.show('counters', 'switches', '--all'), 'cs')['sleeps']
    t.check(300 <= row['inclusive'], 'each sleep is a context switch of its caller', row)


def data():
    program = t.compile(FAULTS, '-O1', '-g', '-pthread', output='./touches')
    run = t.run('record', '-q', '-e', '+page-faults:1', '-o', 'data', program)
    t.equal((run.returncode, run.stderr), (3, ''), 'with data addresses')
    rows = t.show('dataspace', 'data', '--all')['rows']
    table = [row for row in rows if row['object'] == 'table']
    t.equal([(row['kind'], row['count'], row['object_module'], row['function']) for row in table],
            [('variable', 200, 'touches', 'touch')], 'the 200 pages of a table are the table\'s, met by touch')
    t.check(abs(sum(row['share'] for row in rows) - 1) < 1e-6, 'shares of data sum to 1')
    t.equal([row['count'] for row in rows if row['kind'] == 'memory' and row['object'].startswith('memory of touch (')],
            [1000], 'the 1,000 mapped pages are memory of the line that met them')
    rows = t.show('memory', 'data', '--all')['rows']
    mine = [int(row['page'], 16) for row in rows if row['function'] == 'touch' and row['count'] == 1]
    t.check(len(set(mine)) == len(mine) and len(mine) >= 1190, 'each page of 1,200 is a row with its address', len(mine))


BLOCKS = """
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static __attribute__((noinline)) char *make_table(void) { return malloc(8 << 20); }
static __attribute__((noinline)) char *make_list(void) { return malloc(1000 * 4096); }
static __attribute__((noinline)) void touch(char *p, long n) { for (long i = 0; i < n; i += 4096) p[i] = 1; }
int main(void)
{
	long mapped = (8 << 20) + 4096; /* as much as malloc maps for the table, so most likely at one place */
	char *area, *table, *list;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	area = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	touch(area, 8 << 20);
	munmap(area, mapped);
	usleep(100000); /* more than clocks differ by */
	table = make_table();
	touch(table, 8 << 20);
	free(table);
	list = make_list();
	touch(list, 1000 * 4096);
	return list[4096] - 1;
}
"""


def blocks_met(folder, perturb):
    """Rows of blocks by the function that allocated them; main holds them. The C library fills a block within malloc, or leaves it as it is."""
    run = t.run('record', '-q', '--heap', '-e', '+page-faults:1', '-o', folder, './blocks', env=os.environ | {'MALLOC_PERTURB_': perturb})
    t.equal((run.returncode, run.stderr), (0, ''), f'{folder}: the program runs as ever')
    rows = t.show('dataspace', folder, '--all')['rows']
    mapped = sum(r['count'] for r in rows if r['object'].startswith('memory of touch ('))
    t.check(2048 <= mapped <= 2052, f'{folder}: what lay there before the first block is not of the block', mapped)
    return {name: [r for r in rows if r['object'].startswith(f'{holder} ({name}, ')] for holder, name in (('table', 'make_table'), ('list', 'make_list'))}


def blocks():
    """With --heap, memory has the site that allocated it: of a block that was released, and of one that was not."""
    t.compile(BLOCKS, '-O1', '-g', output='./blocks')
    for folder, perturb, who in (('blocks.e', '0', {'make_table': 'touch', 'make_list': 'touch'}),
                                 ('filled.e', '254', {'make_table': 'make_table', 'make_list': 'make_list'})):
        rows = blocks_met(folder, perturb)
        heap = {name: sum(r['count'] for r in rows[name]) for name in rows}
        # the first page of a block has malloc's own word before it, so malloc may have met it
        t.check(2040 <= heap['make_table'] <= 2049 and 990 <= heap['make_list'] <= 1002, f'{folder}: pages are those of the blocks', heap)
        t.check(all(r['function'] == who[name] for name in rows for r in rows[name] if r['count'] > 10), f'{folder}: met by touch, or by malloc', rows)
    pages = t.show('memory', 'blocks.e', '--all')['rows']
    lines = t.show('memory', 'blocks.e', '--by', 'line', '--all')['rows']
    t.check(all(int(r['page'], 16) % 4096 == 0 for r in pages) and any(int(r['page'], 16) % 4096 for r in lines)
            and all(int(r['page'], 16) % 64 == 0 for r in lines), '--by line has cache lines')
    t.equal(sum(r['count'] for r in lines), sum(r['count'] for r in pages), 'of the same events')
    t.check(any(r['kind'] == 'heap' for r in pages), 'pages have their blocks, too')
    run = t.run('show', 'memory', 'blocks.e', '--by', 'word')
    t.check(run.returncode == 2 and 'page or line' in run.stderr, '--by takes page or line', run.stderr)


def collect_faults():
    program = t.compile(FAULTS, '-O1', '-g', '-pthread', output='./touches')
    run = t.run('record', '-q', '--collect', 'faults', '-o', 'both_kinds', program)
    t.equal((run.returncode, run.stderr), (3, ''), '--collect faults')
    table = t.show('counters', 'both_kinds', '--all')
    t.equal([e['event'] for e in table['events']], ['minor-faults', 'major-faults'], 'samples page faults of both kinds')
    touch = [r for r in table['rows'] if r['function'] == 'touch' and r['event'] == 'minor-faults']
    t.check(touch and 900 <= touch[0]['exclusive'] <= 1500, 'by function', *table['rows'])
    t.check(any(r['object'].startswith('memory of touch (') for r in t.show('dataspace', 'both_kinds', '--all')['rows']), 'with data addresses')
    run = t.run('record', '--collect', 'faults,heap', '--pid', os.getpid())
    t.check(run.returncode == 125 and '--collect traces a program from its start' in run.stderr, 'traces need a start', run.stderr)
    run = t.run('record', '-q', '--collect', 'faults', '--duration', '0.05', '--pid', os.getpid(), '-o', 'outside_faults')
    t.equal((run.returncode, run.stderr), (0, ''), 'page faults do not')
    run = t.run('record', '-q', '--collect', 'faults', '-e', '+minor-faults:1', '-o', 'both.e', program)
    events = {e['event']: e['period'] for e in t.show('counters', 'both.e', '--all')['events']}
    t.equal((run.returncode, events), (3, {'minor-faults': 1, 'major-faults': 1}), '-e says more of one of them')
    faults = {r['function']: r for r in t.show('faults', 'both.e', '--all')['rows']}
    counted = {r['function']: r['exclusive'] for r in t.show('counters', 'both.e', '--all')['rows'] if r['event'] == 'minor-faults'}
    t.check(faults['touch']['minor_faults'] >= 1200, 'show faults has them by function', faults)
    t.equal({name: r['minor_faults'] for name, r in faults.items()}, counted, 'as show counters has')
    t.check(abs(sum(r['minor_faults_share'] for r in faults.values()) - 1) < 1e-9, 'shares sum to the whole', faults)
    states = {r['function']: r for r in t.show('states', 'both.e', '--all')['rows']}
    t.equal([states[name]['minor_faults'] for name in ('touch', 'touch_in_thread')], [counted[name] for name in ('touch', 'touch_in_thread')],
            'show states has them, too')
    t.run('record', '-q', '-o', 'no_faults', program)
    t.check(all(r['minor_faults'] is None and r['major_faults'] is None for r in t.show('states', 'no_faults', '--all')['rows']),
            'where they were not sampled they are not known')
    t.equal(t.run('show', 'faults', 'no_faults').returncode, 3, 'and show faults says so')
    statistics = t.show('statistics', 'both.e')['rows']
    packets = t.show('packets', 'both.e', '--all')['rows']
    sums = {}
    for packet in packets:
        sums[packet['process']] = sums.get(packet['process'], 0) + (packet['minor_faults'] or 0)
    t.equal(statistics[0]['minor_faults'], sums[0], 'figures of show statistics are the sums of the packets')
    t.equal(sum(r['minor_faults'] for r in statistics), sum(sums.values()), 'a process has one row, whatever it becomes by exec')
    t.check(sum(sums.values()) >= counted['touch'], 'the kernel has counted no fewer than were sampled', sums, counted)


def fronts():
    program = t.compile(SWITCHES, '-O1', output='./refused')
    names = t.run('list', 'counters')
    t.check(names.returncode == 0 and 'Aliased HW counters available for profiling:' in names.stdout
            and "page-faults,101 (`Page Faults'; events)" in names.stdout, 'sonde list counters', names.stdout[:500])
    t.equal(t.run('collect', '-h').stdout, names.stdout, 'collect -h alone tells the same')
    table = t.run('list', 'counters', '--format', 'csv').stdout
    t.check('cycles,alias,31599989,CPU Cycles' in table, 'as a table, too')
    run = t.run('collect', '-p', 'hi', '-h', 'task-clock,1000003', '-s', 'on', '-H', 'on', '-i', 'on', '-S', '1', '-l', 'USR1',
                '-y', 'USR2,r', '-F', 'all', '-t', '1m', '-O', 'collected', '-C', 'a label', '-a', 'off', '-j', 'off', program)
    t.equal((run.returncode, run.stdout), (0, '0\n'), 'collect takes the options of the Collector')
    t.check(t.show('io', 'collected')['rows'] is not None and abs(t.show('summary', 'collected')['asked_hz'] - 999.3) < 1, 'and does them')
    run = t.run('collect', '-O', 'collected', program)
    t.equal(run.returncode, 0, '-O replaces an experiment')
    run = t.run('collect', '-n', '-h', 'page-faults', program)
    t.check(run.returncode == 0 and 'event page-faults: a sample in 101' in run.stdout and 'nothing was run' in run.stdout,
            'collect -n and record --dry-run say what would be measured', run.stdout, run.stderr)
    for words, said in ((['-j', 'on'], 'Java'), (['-c', 'static'], 'sonde structure'), (['-r', 'race'], 'races'), (['-p', 'fast'], '-p takes'),
                        (['-t', '5-2'], '-t takes'), (['-h', '1000,dcm'], 'names no counter'), (['-F', 'some'], '-F takes')):
        run = t.run('collect', *words, program)
        t.check(run.returncode == 125 and said in run.stderr and run.stdout == '', f'collect {" ".join(words)} is refused', run.stderr)
    run = t.run('collect', '-p', 'hi')
    t.check(run.returncode == 125 and 'sonde collect PROGRAM' in run.stderr, 'collect without a program names itself', run.stderr)


OUTSIDE = '''
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static char *pages(int count)
{
	char *area = mmap(NULL, count * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(area, count * 4096L, MADV_NOHUGEPAGE);
	return area;
}
static char table[100 * 4096] __attribute__((aligned(4096)));
#define TOUCH(name) \\
	__attribute__((noipa)) static void name(char *area, int count) { for (int i = 0; i < count; i++) area[i * 4096L] = 1; }
TOUCH(touch)
TOUCH(touch_table)
TOUCH(touch_in_thread)
static void *work(void *none)
{
	for (int i = 0; i < 100; i++) { /* it is seen a moment after it began */
		touch_in_thread(pages(10), 10);
		usleep(5000);
	}
	return none;
}
int main(int count, char **words)
{
	pthread_t thread;
	char c;
	if (write(1, "ready\\n", 6) != 6 || (count > 1 && read(0, &c, 1) != 1))
		return 1;
	touch(pages(200), 200);
	touch_table(table, 100);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return 6;
}
'''


def outside():
    """Events of a process that runs already, and of a static program: as many as there are, with their call paths."""
    for name, flags in (('--pid', []), ('static', ['-static'])):
        program = t.compile(OUTSIDE, '-O1', '-g', '-pthread', *flags, output=f'./outside{len(flags)}')
        folder = f'outside{len(flags)}.1'
        if flags:
            run = t.run('record', '-q', '-e', '+page-faults:1', '-o', folder, program)
            t.equal((run.returncode, run.stdout, run.stderr), (6, 'ready\n', ''), 'a static program runs as ever')
        else:
            target = subprocess.Popen([program, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            target.stdout.readline()
            recorder = subprocess.Popen([t.sonde, 'record', '-q', '-e', '+page-faults:1', '--pid', str(target.pid), '-o', folder],
                                        stderr=subprocess.PIPE)
            deadline = time.time() + 60
            while time.time() < deadline and len(os.listdir(f'/proc/{recorder.pid}/fd')) < 8:
                time.sleep(0.01)
            time.sleep(0.3)
            target.communicate(b'x')
            said = recorder.communicate()[1]
            t.equal((target.returncode, recorder.returncode, said), (6, 0, b''), '--pid: the process runs as ever')
        counters = t.show('counters', folder)
        rows = rows_of(counters, 'page-faults')
        for function, count in (('touch', 200), ('touch_table', 100)):
            seen = rows.get(function, {'exclusive': 0})['exclusive']
            t.check(count <= seen <= count + 2, f'{name}: page faults in {function}', seen, count)
        seen = rows.get('touch_in_thread', {'exclusive': 0})['exclusive']
        t.check(0 < seen <= 1002, f'{name}: and in a thread that began later', seen)
        t.check(rows['main']['inclusive'] >= 300, f'{name}: with their callers', rows['main'])
        data = {row['object']: row['count'] for row in t.show('dataspace', folder)['rows']}
        t.check(100 <= data.get('table', 0) <= 102, f'{name}: data addresses', data)
        functions = [r['function'] for r in t.show('functions', folder, '--metric', 'page-faults')['rows'][:3]]
        t.check('touch' in functions, f'{name}: code views have the event', functions)


def refusals():
    program = t.compile(SWITCHES, '-O1', output='./refused')
    for words, said in ((['-e', 'pagefaults'], "did you mean 'page-faults'"), (['-e', 'page-faults:0'], 'no'),
                        (['-e', '+task-clock'], 'has no data addresses'), (['-e', 'task-clock:10'], 'shorter than its interrupt'),
                        (['-e', 'page-faults,page-faults'], 'twice'), (['-e', ''], 'is no event'),
                        (['--fallback', 'clock'], 'there is none')):
        run = t.run('record', *words, program)
        t.check(run.returncode == 125 and said in run.stderr and run.stdout == '' and run.stderr.count('\n') == 1,
                f'{" ".join(words)} is refused before the program starts', run.returncode, run.stderr)
    run = t.run('record', '-e', 'cycles', '-o', 'cycles', program)
    if run.returncode == 0:
        t.equal(run.stdout, '0\n', 'this machine has cycles')
    else:
        t.check(run.returncode == 125 and run.stdout == '' and re.search(r'cycles cannot be had here: \w', run.stderr),
                'cycles cannot be had: 125 before the program starts, with the reason', run.stderr)
        run = t.run('record', '-q', '-e', 'cycles', '--fallback', 'clock', '-o', 'fallback', program)
        t.equal((run.returncode, run.stdout), (0, '0\n'), '--fallback clock runs it')
        t.check('cycles cannot be had' in run.stderr and '--fallback clock' in run.stderr, 'aloud', run.stderr)
        t.check(any('--fallback clock' in w for w in t.show('summary', 'fallback')['warnings']), 'and in the summary')
    run = t.run('show', 'functions', 'switches' if os.geteuid() == 0 else 'faults', '--metric', 'loads')
    t.check(run.returncode != 0 and "has no event 'loads'" in run.stderr, '--metric knows what there is', run.stderr)


faults()
outside()
several()
switches()
data()
blocks()
collect_faults()
fronts()
refusals()
t.done()
