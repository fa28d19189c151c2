"""sonde search --phase: an agent measures executions of the phase while the program runs, and never hurts it."""
import json
import os
import re
import signal
import subprocess
import time

from sonde_test import HERE, Test

BUILD = os.path.dirname(os.path.abspath(os.environ.get('SONDE') or os.path.join(HERE, '../../build/sonde')))
BEATS = os.path.join(BUILD, 'src/runtime/heartbeat')

# a step uses 12 ms of its thread's CPU time, 8 of them in heavy(); before the steps 0.3 s in prologue()
COMMON = r'''
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static __thread volatile double sink;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void __attribute__((noinline)) burn(double s)
{
	double end = cpu_s() + s;
	while (cpu_s() < end)
		for (int i = 0; i < 2000; i++)
			sink += i;
}
static void __attribute__((noinline)) heavy(void) { burn(.008); sink++; }
static void __attribute__((noinline)) light(void) { burn(.004); sink++; }
static void __attribute__((noinline)) prologue(void) { burn(.3); sink++; }
void __attribute__((noinline)) step(void)
{
	heavy();
	light();
	usleep(3000);
}
void __attribute__((noinline)) never(void) { sink = 1; }
void __attribute__((noinline)) often(void) { sink++; }
'''
STEPS = COMMON + r'''
static volatile sig_atomic_t traps;
static void trapped(int number) { traps += number == SIGTRAP; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	const char *how = argc > 2 ? argv[2] : "";
	if (!strcmp(how, "traps"))
		signal(SIGTRAP, trapped);
	if (!strcmp(how, "fork") && !fork()) {
		for (int i = 0; i < n; i++)
			step();
		_exit(0);
	}
	prologue();
	if (argc > 99)
		never();
	for (int i = 0; i < n; i++) { /* the loop */
		step();
		if (!strcmp(how, "traps"))
			raise(SIGTRAP);
		if (!strcmp(how, "often"))
			for (int k = 0; k < 2000; k++)
				often();
		if (!strcmp(how, "exec") && i == n / 2) {
			char left[16];
			snprintf(left, sizeof(left), "%d", n - i - 1);
			execl("/proc/self/exe", argv[0], left, (char *)NULL);
		}
		if (!strcmp(how, "crash") && i == n / 2)
			abort();
	}
	if (!strcmp(how, "fork"))
		wait(NULL);
	printf("done %d, %d traps\n", n, (int)traps);
	return 5;
}
'''
BEATING = COMMON + r'''
#include <sonde/heartbeat.h>
static pthread_barrier_t barrier;
static int steps;
static void *other(void *unused)
{
	for (int i = 0; i < steps; i++) {
		pthread_barrier_wait(&barrier);
		burn(.003);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	sonde_heartbeat *beat = sonde_heartbeat_register("iteration", 0);
	steps = argc > 1 ? atoi(argv[1]) : 100;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, other, NULL);
	prologue();
	for (int i = 0; i < steps; i++) {
		sonde_heartbeat_begin(beat);
		pthread_barrier_wait(&barrier);
		burn(.009);
		pthread_barrier_wait(&barrier);
		sonde_heartbeat_end(beat);
	}
	pthread_join(thread, NULL);
	puts("beaten");
	return 0;
}
'''


JOINS = r'''
#include <pthread.h>
static volatile double sink;
static void __attribute__((noinline)) work(void) { for (long i = 0; i < 8000000; i++) sink += 1; }
void __attribute__((noinline)) step(void) { work(); sink += 1; }
static void *first(void *unused) { for (int i = 0; i < 120; i++) step(); return unused; }
static void *second(void *unused) { for (int i = 0; i < 120; i++) work(); return unused; }
int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
'''


def spool(path):
    """Windows of a spool: executions, CPU seconds by thread."""
    windows, agents = [], []
    with open(path) as lines:
        for words in map(str.split, lines):
            if words[:1] == ['window']:
                windows.append((int(words[3]), {}))
            elif words[:1] == ['thread']:
                windows[-1][1][int(words[2])] = int(words[4]) * 1e-9
            elif words[:1] == ['agent']:
                agents.append(int(words[1]))
    return windows, agents


def search(t, *words, **more):
    done = t.run('search', '--format', 'json', *words, **more)
    return (json.loads(done.stdout) if done.stdout else {}), done


def by_address(t, app):
    found, done = search(t, '-o', 'phased', '--phase', 'step', '--threshold', '0.001', app, '420')
    t.check(done.returncode == 0 and found['mode'] == 'phases' and found['exit_status'] == 5, 'a search of phases', done.stderr)
    # down to the loop that is hot it takes some nine steps of 33 executions; the run has 420
    told = re.search(r'^sonde: step [0-9]+: [0-9.]+ [A-Z][A-Za-z]+ in ', done.stderr, re.M)
    t.check('done 420, 0 traps\n' in done.stderr and told and told.start() < done.stderr.index('done 420'),
            'the program runs to its end, and findings are told meanwhile', done.stderr)
    phase = found['phase']
    t.check(phase['name'] == 'step' and phase['file'].endswith('.c') and phase['line'] > 0, 'the phase has its place', phase)
    t.equal(found['agents'], {'hosts': 1, 'joined': 1, 'lost': 0, 'restarted': 0, 'refused': 0}, 'one agent took part')
    t.equal(sum(s['executions'] for s in found['steps']), phase['executions'], 'executions are those of the steps')
    windows, _ = spool('phased/search.spool')
    with open('phased/search.spool') as lines:
        told = [int(line.split()[2].rstrip(':')) for line in lines if line.startswith('found step ')]
    # what all executions together prove is not told meanwhile, and steps on them have none of their own
    t.check(told == sorted(told) and {s['step'] for s in found['steps'] if s['proven'] and s['executions']} <= set(told),
            'the findings of each step are told, once', told)
    t.check(len(windows) >= 2, 'several steps were measured', windows)
    # An execution burns until the thread's CPU clock says 12 ms, the clock that the account reads: a window of n executions
    # has n times that at least, on any machine. One counted that was not measured shows, however many there are. Above it
    # is what a system call or an interrupt adds.
    each = [cpu / executions for executions, threads in windows for cpu in threads.values()]
    t.check(all(.01199 < x < .018 for x in each), 'each window holds whole executions and nothing else', each)
    names = {p['name'] for r in found['properties'] for p in r['path']}
    t.check('heavy' in names and 'prologue' not in names, 'what is not in the phase is in no result', names)
    hot = sum(r['evidence']['seconds'] / phase['executions'] for r in found['properties'] # of all steps together
              if r['property'] == 'HotRegion' and 'heavy' in [p['name'] for p in r['path']])
    # 8 ms an execution, of which the sampler sees .65 to 1.1: it begins some 2 ms late in each window
    t.check(.004 < hot < .0135, 'samples say what the phase does', hot)
    t.check(t.show('functions', experiment='phased')['rows'], 'an experiment is left')
    left = [n for n in os.listdir('phased') if n.endswith('.monitor') or n.endswith('.agent')]
    t.equal(left, [], 'without what the agent needed')
    t.equal(t.run('list', '--remove', 'phased', stdin=None, input='y\n').returncode, 0, 'and it can be removed')


def by_line(t, app, source):
    with open(source) as lines:
        line = next(i for i, text in enumerate(lines, 1) if '/* the loop */' in text)
    found, done = search(t, '--phase', f'{os.path.basename(source)}:{line}', '--steps', '2', '--suspend', 'never', app, '120')
    t.check(done.returncode == 0 and found.get('phase', {}).get('line') == line, 'a loop by its line', done.stderr)


def by_label(t, app, source):
    """Without lines a loop is its function and an offset."""
    bare = os.path.abspath('bare')
    t.command('strip', '--strip-debug', '-o', bare, app)
    with open(source) as lines:
        line = next(i for i, text in enumerate(lines, 1) if '/* the loop */' in text)
    loops = [json.loads(t.run('structure', '-l', 'loops', '-f', 'json', path).stdout)['rows'] for path in (app, bare)]
    loop = next(r['loop'] for r in loops[0] if r['line_first'] == line)
    label = next(r['label'] for r in loops[1] if r['loop'] == loop)
    found, done = search(t, '--phase', label, '--steps', '1', bare, '120')
    t.check('+0x' in label and found.get('phase', {}).get('name') == label and found['phase']['executions'] > 0, 'a loop by its label', label, found.get('phase'), done.stderr)


def main_joins(t):
    """A first thread that waits for its workers' end does so before, in and after the executions: it is no lane."""
    app = t.compile(JOINS, '-O1', '-g', '-pthread', output='./joins')
    found, done = search(t, '--phase', 'step', '--threshold', '0', app)
    severity = {}
    for row in found.get('properties', ()):
        severity[row['property']] = severity.get(row['property'], 0) + row['severity'] * (row['function'] in (None, 'work', 'step') or row['property'] != 'HotRegion')
    t.check(sum(severity.get(p, 0) for p in ('HotRegion', 'Oversubscribed', 'CpusTakenByOthers')) > .8,
            'two threads that always work, or want a CPU, are all there is', severity, found.get('properties'), done.stderr)


def in_a_library(t):
    library = t.compile(COMMON, '-O1', '-g', '-shared', '-fPIC', '-pthread', output='./libsteps.so')
    app = t.compile('void step(void);\nint main(void) { for (int i = 0; i < 60; i++) step(); return 0; }\n', '-O1', library,
                    '-Wl,-rpath,' + os.path.abspath('.'), output='./uses')
    found, done = search(t, '--phase', 'step', '--steps', '1', app)
    t.check(done.returncode == 0 and found.get('phase', {}).get('executions', 0) > 0, 'a function of a library', done.stderr)


def by_heartbeat(t):
    path = os.path.join(t.folder, 'beating.c')
    with open(path, 'w') as out:
        out.write(BEATING)
    app = t.compile(path, '-O1', '-g', '-pthread', '-I' + os.path.join(HERE, '../../include'), '-L' + BEATS, '-lsonde-heartbeat',
                    '-Wl,-rpath,' + BEATS)
    found, done = search(t, '-o', 'beaten', '--phase', 'iteration', '--steps', '3', app, '200')
    t.check(done.returncode == 0 and 'beaten\n' in done.stderr, 'a phase that is a heartbeat', done.stderr)
    windows, _ = spool('beaten/search.spool')
    pairs = [sorted(threads.values(), reverse=True)[:2] + [executions] for executions, threads in windows]
    t.check(pairs and all(.0085 < a / n < .015 and .0025 < b / n < .008 for a, b, n in pairs),
            'both threads are accounted for: 9 and 3 ms an execution', pairs)
    found, done = search(t, '--phase', 'burn', '--steps', '1', app, '100')
    t.check(done.returncode == 0 and found['phase']['line'], 'a function of a program that has heartbeats', found.get('phase'), done.stderr)
    rows = t.show('threads', experiment='beaten')['rows']
    t.check(sorted(r['samples'] > 0 for r in rows)[-2:] == [True, True], 'and both are sampled while it is measured', rows)


def started(t, *words):
    """A search in the background, as a group of its own, and its agents once it has measured something."""
    command = subprocess.Popen([t.sonde, 'search', '--format', 'json', '-o', 'hurt', *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(1000):
        if os.path.exists('hurt/search.spool'):
            windows, agents = spool('hurt/search.spool')
            if windows and len(agents) >= 2:
                return command, agents
        time.sleep(.02)
    raise RuntimeError('the agent has measured nothing')


def ended(command):
    out, err = command.communicate(timeout=100)
    subprocess.run(['rm', '-rf', 'hurt'])
    return (json.loads(out) if out else {}), err, command.returncode


def agents_die(t, app):
    for suspend in ('brief', 'always'):
        command, agents = started(t, '--suspend', suspend, '--phase', 'step', app, '220')
        for pid in agents:
            os.kill(pid, signal.SIGKILL)
        found, err, code = ended(command)
        t.check(code == 0 and 'done 220' in err and found['exit_status'] == 5 and not found['complete'] and found['agents']['lost'] == 1,
                f'suspend {suspend}: guardian and worker killed: the program runs on, what was measured is told', code, err)
    command, agents = started(t, '--suspend', 'always', '--phase', 'step', app, '200')
    for pid in agents:
        os.kill(pid, signal.SIGSTOP)
    found, err, code = ended(command)
    for pid in agents:
        os.kill(pid, signal.SIGKILL)
    t.check(code == 0 and 'done 200' in err and not found['complete'], 'frozen agents do not stop the program', code, err)
    command, agents = started(t, '--phase', 'step', app, '220')
    os.kill(agents[-1], signal.SIGKILL)
    found, err, code = ended(command)
    t.check(code == 0 and found['complete'] and found['agents']['restarted'] == 1 and found['agents']['lost'] == 0,
            'a worker that is killed is started again, and goes on', code, err, found.get('agents'))


def runs(pid):
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def interrupts(t, app):
    for times in (1, 2):
        command, agents = started(t, '--phase', 'step', app, '3000')
        for i in range(times):
            try:
                os.killpg(command.pid, signal.SIGINT)
            except ProcessLookupError:  # the first one was enough
                break
            time.sleep(.05)
        found, err, code = ended(command)
        t.check(code == 0 and found['exit_status'] == 130 and 'done' not in err and found['phase']['executions'] > 0,
                f'Ctrl-C {times}: the program ends, what was measured is told', code, err)
        for _ in range(500):  # they have said that they have ended, and are about to
            if not any(runs(pid) for pid in agents):
                break
            time.sleep(.02)
        t.check(not any(runs(pid) for pid in agents), 'and no agent is left', agents)


def two_at_once(t, app):
    commands = [subprocess.Popen([t.sonde, 'search', '--format', 'json', '-o', f'both{i}', '--phase', 'step', '--steps', '2', app,
                                  '120'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(2)]
    for i, command in enumerate(commands):
        out, err = command.communicate(timeout=100)
        found = json.loads(out) if out else {}
        _, agents = spool(f'both{i}/search.spool')
        t.check(command.returncode == 0 and found['complete'] and found['exit_status'] == 5 and 'done 120' in err
                and len(agents) == 2, 'two searches on a host: each has its own agent', command.returncode, err, agents)


def bad_days(t, app):
    found, done = search(t, '--phase', 'step', '--steps', '2', app, '80', 'traps')
    t.check(found.get('exit_status') == 5 and 'done 80, 80 traps' in done.stderr, 'a program that uses SIGTRAP keeps its own', done.stderr)
    found, done = search(t, '--phase', 'step', '--steps', '2', app, '80', 'fork')
    t.check(found.get('exit_status') == 5 and found['agents']['joined'] == 1, 'a program that forks', done.stderr)
    found, done = search(t, '--phase', 'step', '--steps', '2', app, '80', 'exec')
    t.check(found.get('exit_status') == 5 and 'done 39, 0 traps' in done.stderr and found['complete'],
            'a program that executes another', done.stderr)
    found, done = search(t, '--phase', 'step', '--steps', '1', app, '160', 'crash')
    t.check(done.returncode == 0 and found['exit_status'] == 134, 'a program that crashes: what was measured is told', done.stderr)
    t.check('the program died of signal 6 (Aborted)' in done.stderr and found['complete'] is False, 'as is that it died', found['complete'], done.stderr)
    found, done = search(t, '--phase', 'often', app, '20', 'often')
    t.check('done 20' in done.stderr and done.returncode in (0, 3), 'a phase of nanoseconds does not stop the program', done.stderr)
    for words, code, sentence in (
            (['--phase', 'never', app, '3'], 3, 'no execution'),
            (['--phase', 'step', app, '2'], 3, 'ended before'),
            (['--phase', 'stap', app], 2, 'no heartbeat, function or line'),
            (['--phase', 'nosuch.c:4', app], 2, 'no heartbeat, function or line'),
            (['--phase', 'step', '--suspend', 'perhaps', app], 2, 'brief'),
            (['--phase', 'step', './nothing'], 127, 'nothing'),
            (['--phase', 'step', '@0'], 2, 'program that is run')):
        done = t.run('search', *words)
        t.check(done.returncode == code and sentence in done.stderr, f'search {" ".join(words)}: a sentence and {code}',
                done.returncode, done.stderr)
    static = t.compile(COMMON + 'int main(void) { for (int i = 0; i < 9; i++) step(); return 0; }\n', '-O1', '-static', '-pthread',
                       output='./static')
    done = t.run('search', '--phase', 'step', static)
    t.check(done.returncode == 125 and 'static' in done.stderr, 'a static program is refused', done.returncode, done.stderr)


def resumed(t, app):
    """What a search of one host has left gives its result again, also where its front was killed."""
    whole, done = search(t, '--phase', 'step', '--threshold', '0', '-o', 'left.run', app, '300')
    again = json.loads(t.run('search', '--resume', 'left.run', '--format', 'json').stdout or '{}')
    t.check(whole['properties'] and again.get('properties') == whole['properties'] and again['phase'] == whole['phase'],
            'a search that has ended gives the same rows again', done.stderr)
    front = subprocess.Popen([t.sonde, 'search', '--phase', 'step', '-o', 'killed.run', app, '400'], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    while 'measured' not in (open('killed.run/search.spool').read() if os.path.exists('killed.run/search.spool') else '') and front.poll() is None:
        time.sleep(.02)
    front.kill()
    front.wait()
    done = t.run('search', '--resume', 'killed.run', '--format', 'json')
    again = json.loads(done.stdout or '{}')
    t.check(done.returncode == 0 and again.get('steps') and again['exit_status'] is None, 'so does one whose front was killed', done.stderr)
    front = subprocess.Popen([t.sonde, 'search', '--phase', 'step', '-o', 'goes_on.run', app, '100000'], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    while 'measured' not in (open('goes_on.run/search.spool').read() if os.path.exists('goes_on.run/search.spool') else '') and front.poll() is None:
        time.sleep(.02)
    front.kill()
    front.wait()
    done = t.run('search', '--resume', 'goes_on.run', '--format', 'json')
    os.killpg(front.pid, signal.SIGKILL)
    again = json.loads(done.stdout or '{}')
    t.check('measures on' in done.stderr and 'lost' not in done.stderr and again['agents']['lost'] == 0 and not again['complete'],
            'while the program runs its agent is not lost, and the result not complete', done.stderr, again.get('agents'))
    t.run('search', '--restarts', '0', '-o', 'plain.run', app, '5')
    done = t.run('search', '--resume', 'plain.run')
    t.check(done.returncode == 3 and "'sonde search -e plain.run' searches" in done.stderr, 'without --phase a sentence says what does it', done.stderr)


def main():
    t = Test()
    source = os.path.join(t.folder, 'steps.c')
    with open(source, 'w') as out:
        out.write(STEPS)
    app = t.compile(source, '-O1', '-g', '-pthread')
    by_address(t, app)
    by_line(t, app, source)
    by_label(t, app, source)
    main_joins(t)
    in_a_library(t)
    by_heartbeat(t)
    agents_die(t, app)
    interrupts(t, app)
    two_at_once(t, app)
    bad_days(t, app)
    resumed(t, app)
    t.done()


main()
