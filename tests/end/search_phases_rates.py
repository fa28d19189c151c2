"""sonde search --phase at places that are passed too often, or faster and faster; and which line it names instead."""
import json
import os
import re
import subprocess

from sonde_test import Test

t = Test()
FAST = r'''
#include <time.h>
static volatile double sink;
static double now_s(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
void __attribute__((noinline)) inner(int n) { for (int i = 0; i < 500; i++) sink += i * n; }
void __attribute__((noinline)) lone(int n) { for (int i = 0; i < 500; i++) sink += i * n; }
int main(int count, char **words)
{
	double end_s = now_s() + 8;
	(void)words;
	if (count > 1)
		while (now_s() < end_s) /* passed once */
			lone(count);
	while (now_s() < end_s) { /* around */
		for (int k = 0; k < 20000; k++)
			inner(k);
	}
	return 0;
}
'''
IDLE = r'''
#include <time.h>
static volatile double sink;
static void rest(double s) { struct timespec t = { 0, s * 1e9 }; nanosleep(&t, 0); }
void __attribute__((noinline)) command(void) { for (int i = 0; i < 500; i++) sink += i; rest(.003); }
int main(void)
{
	for (int i = 0; i < 5; i++) {
		command();
		rest(.4);
	}
	for (int i = 0; i < 1500; i++)
		command();
	sink += 1;
	/* no code */

	for (int i = 0; i < 20; i++)
		rest(.001);
	return 0;
}
'''


def program(name, text):
    with open(os.path.join(t.folder, name + '.c'), 'w') as out:
        out.write(text)
    return t.compile('./' + name + '.c', '-O1', '-g', output='./' + name)


def line_of(text, part):
    return next(i for i, line in enumerate(text.split('\n'), 1) if part in line)


fast = program('fast', FAST)
run = subprocess.Popen([t.sonde, 'search', '--phase', 'inner', '--format', 'json', fast], cwd=t.folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
first = run.stderr.readline()
ran_on = run.poll() is None
out, rest = run.communicate()
t.check(re.search(r"'inner' is passed over 1000 times a second, so .* each is the \d+-th after the one before", first) and ran_on,
        'of what is passed too often for a signal each time every n-th arrival is a boundary, which is told while the program runs', first, rest)
start = out.find('{"schema"')
found = json.loads(out[start:]) if start >= 0 else {'phase': {'executions': 0, 'mean_s': 0}, 'properties': []}
t.check(run.returncode == 0 and found['phase']['executions'] > 1000 and any(r['function'] == 'inner' for r in found['properties']),
        'and it is measured', run.returncode, found['phase'], rest)
done = t.run('search', '--phase', 'lone', '--format', 'json', fast, 'lone')
t.check(done.returncode == 0 and 'is passed over 1000 times' in done.stderr, 'in a loop that is passed once, too', done.stderr)

idle = program('idle', IDLE)
done = t.run('search', '--phase', 'command', '--steps', '3', '--format', 'json', idle)
start = done.stdout.find('{"schema"')
found = json.loads(done.stdout[start:]) if start >= 0 else {}
steps = found.get('steps', [])
t.check(len(steps) > 1 and max(s['executions'] for s in steps) > 20, 'a step follows how fast executions come', steps, done.stderr)
t.check(re.search(r"measured are \d+ of the \d+ executions of 'command' .* of the [\d.]+ s that the program ran", done.stderr),
        'which share of the run was measured is said', done.stderr)
done = t.run('search', '--phase', f'idle.c:{line_of(IDLE, "/* no code */")}', idle)
t.check(f'the nearest line that can be a phase is idle.c:{line_of(IDLE, "i < 20")} ' in done.stderr,
        'of a header without code the loop is named, and not what is passed once', done.stderr)
t.done()
