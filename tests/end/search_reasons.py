"""What a search says of what it has not found: only what was asked, and why something was not measurable, as it is in this case."""
import csv
import io
import json
import os
import re
import subprocess

from sonde_test import Test

WORK = r'''
#include <stdlib.h>
static volatile double kept;
void __attribute__((noinline)) step(void) { for (int i = 0; i < 1000000; i++) kept = kept * .5 + i; }
int main(int count, char **words)
{
	int rounds = count > 1 ? atoi(words[1]) : 300;
	for (int i = 0; i < rounds; i++)
		step();
	return 0;
}
'''
# runs itself again by exec
AGAIN = r'''
#include <time.h>
#include <unistd.h>
static volatile double kept;
static double cpu_s(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void __attribute__((noinline)) work(double s) { for (double end = cpu_s() + s; cpu_s() < end;) for (int i = 0; i < 1000; i++) kept = kept * .5 + i; }
static void __attribute__((noinline)) before(void) { work(0.8); }
static void __attribute__((noinline)) after(void) { work(1.2); }
int main(int count, char **words)
{
	if (count < 2) {
		before();
		execl(words[0], words[0], "again", (char *)0);
	}
	after();
	return 0;
}
'''
t = Test()


def reasons(*arguments):
    done = t.run('search', '--format', 'json', *arguments, timeout=300)
    return {m['property']: m['reason'] for m in json.loads(done.stdout)['not_measurable']} if done.stdout.startswith('{') else done.stderr


def taken(app):
    """Another program on the same CPU: time without one is refined into what took it, and stands there alone."""
    cpu = str(min(os.sched_getaffinity(0)))
    other = subprocess.Popen(['taskset', '-c', cpu, app, '1000000'])
    done = t.run('search', '-q', '--restarts', '0', '-o', 'taken', '--launch', 'taskset -c ' + cpu, app)
    other.kill()
    other.wait()
    t.check('CpusTakenByOthers' in done.stderr, 'what others took is told', done.stderr)
    looked = re.search(r'nothing above 0\.050\n(.*)', done.stderr)
    t.check(looked and 'looked at: ' in looked[1] and 'NotRunning' not in looked[1],
            'what is refined is not told to be below the threshold', looked and looked[1])


def unasked(app):
    t.run('record', '-o', 'plain', app)
    for strategy in ('property', 'data'):
        text = t.run('search', '-e', 'plain', '--strategy', strategy, '--start', 'ContendedLock').stdout
        t.check('nothing above' in text and 'Where the time goes' not in text and 'no region' not in text,
                f'{strategy}: nothing is said of where the time goes, as none has asked', text)
    text = t.run('search', '-e', 'plain').stdout
    t.check('Where the time goes' in text and 'HotRegion' in text, 'where it is asked it is told', text)
    text = t.run('search', '-e', 'plain', '--threshold', '1').stdout
    t.check('Where the time goes\n\n  no region above 1.000' in text, 'and where none is above the threshold that is said', text)


def why(app):
    found = reasons('-e', 'plain')
    t.equal(found['StallCycles'], "stalled comes from 'counters', which needs a run that was recorded with -e cycles,stalled-cycles-backend",
            'of a recorded run: how to record it')
    t.check(not any('--phase' in r or '--restarts' in r or 'filter' in r for r in found.values()), 'and nothing of other ways to run it', found)
    found = reasons('-e', 'plain', '--time', '0-0.2')
    t.check('tells nothing of a run that is filtered by time' in found['NotRunning'], 'with a filter: that is why', found['NotRunning'])
    found = reasons('--phase', 'step', '-o', 'phase', app, '3000')
    t.check('tells this of whole runs, and not of executions of a phase' in found['HeapLeak'] and '2 s' not in found['HeapLeak'],
            'of a phase: what is known of whole runs only', found['HeapLeak'])
    t.check('needs a start of its own (--restarts 1)' in found['StallCycles'], 'and what needs a start', found['StallCycles'])
    t.check(not any('--agents' in r or 'filter' in r for r in found.values()), 'and nothing of agents', found)


def as_csv():
    """Every table can be had as CSV, and this one is a search's."""
    done = t.run('show', 'properties', '-f', 'csv', 'plain')
    got = list(csv.DictReader(io.StringIO(done.stdout)))
    kept = list(csv.DictReader(io.StringIO(t.run('show', 'searched', '-f', 'csv', 'plain').stdout)))
    t.check(done.returncode == 0 and got and len(got) == len(kept) and got[0].keys() == kept[0].keys(), 'properties as CSV', done.stderr, done.stdout[:300])
    t.equal([(r['kind'], r['property'], r['region']) for r in got], [(r['kind'], r['property'], r['region']) for r in kept], 'they are the rows of show searched')


def images(app):
    """Programs that follow each other by exec in one process: one lane, and the phase is all of it."""
    found = json.loads(t.run('search', '--restarts', '0', '--format', 'json', '-o', 'images', app).stdout)
    text = t.run('search', '-e', 'images').stdout
    t.check(re.search(r', 1 lane\n', text), 'they share a lane', text[:200])
    t.check(found['phase']['mean_s'] > 1.98, 'the phase lasts from the begin of the first to the end of the last', found['phase'])
    t.run('search', '-q', '--restarts', '0', '--launch', 'env A=b', app)
    t.check(os.path.isdir('sonde.again.1') and not os.path.exists('sonde.env.1'), 'a run behind a launcher is named after the program', os.listdir('.'))


app = os.path.abspath(t.compile(WORK, '-O1', '-g', output='./work'))
taken(app)
unasked(app)
why(app)
as_csv()
images(os.path.abspath(t.compile(AGAIN, '-O0', '-g', output='./again')))
t.done()
