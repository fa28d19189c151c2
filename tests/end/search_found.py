"""sonde search --phase auto: the first start shows what repeats; executions of that are measured in the next one."""
import json
import os

from sonde_test import Test

# each round uses 15 ms of CPU time in heavy() and 8 in light(), and sleeps 5 ms
PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile double sink;
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
void __attribute__((noinline)) heavy(void) { burn(.015); sink++; }
void __attribute__((noinline)) light(void) { burn(.008); sink++; }
int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, c, sum = 0;
	FILE *file = argc > 2 ? fopen(argv[2], "a+") : NULL;
	while ((c = getchar()) != EOF)
		sum += c;
	if (file) { /* only the first start has rounds */
		fputc('x', file);
		fflush(file);
		if (ftell(file) > 1)
			rounds = 3;
		fclose(file);
	}
	burn(.3);
	for (int i = 0; i < rounds; i++) {
		heavy();
		light();
		usleep(5000);
	}
	printf("%d rounds, read %d\n", rounds, sum);
	return 6;
}
'''


def search(t, *words, **more):
    done = t.run('search', '--format', 'json', '--phase', 'auto', *words, **more)
    return (json.loads(done.stdout) if done.stdout else {}), done


def found_and_measured(t, app, source):
    found, done = search(t, '-o', 'base', app, '110', stdin=None, input='abc')
    t.check(done.returncode == 0 and found['mode'] == 'phases' and found['exit_status'] == 6, 'the phase is found', done.stderr)
    phase = found['phase']
    loop = '%s:%d' % (os.path.basename(source), 1 + PROGRAM[:PROGRAM.index('i < rounds')].count('\n'))
    t.check(phase['name'] in ('heavy', 'light', loop), 'it is a part of the main loop, or the loop', phase, loop)
    t.check(phase['file'].endswith('.c') and phase['line'] > 0, 'with its place', phase)
    t.equal(sum(s['executions'] for s in found['steps']), phase['executions'], 'executions are those of the steps')
    # a sleep and a CPU clock, both at least so long: a round from any place in it to the same place
    t.check(phase['mean_s'] >= .028, 'an execution is a whole round, wherever it begins', phase)
    t.check(done.stderr.count('110 rounds, read 294\n') == 1, 'both starts read the same; one output is shown', done.stderr)
    t.check(found['experiment'] != 'base' and found['experiment'] in done.stderr and t.show('functions', experiment='base')['rows'],
            'the first start has left an experiment of its own', found['experiment'], done.stderr)
    t.check(found['agents']['joined'] == 1 and found['complete'], 'one agent took part', found['agents'])
    done = t.run('search', '--format', 'json', '--steps', '1', '--phase', phase['name'], app, '60')
    named = json.loads(done.stdout)['phase'] if done.stdout else {}
    t.equal([named.get('name'), named.get('line')], [phase['name'], phase['line']], 'by its name the same place can be asked for')


def whole_program(t, app):
    found, done = search(t, app, '0')
    t.check(done.returncode == 0 and found['mode'] == 'restart' and found['exit_status'] == 6 and 'whole program is the phase' in done.stderr,
            'nothing repeats: the whole program is the phase, and that is said', done.stderr)
    found, done = search(t, '--restarts', '0', app, '110')
    t.check(found['mode'] == 'restart' and found['phase']['executions'] == 1 and 'as many starts' in done.stderr,
            '--restarts 0 is kept', done.stderr)
    found, done = search(t, '--restarts', '1', app, '110', os.path.join(t.folder, 'starts'))
    t.check(done.returncode == 0 and found['mode'] == 'restart' and 'an execution' in done.stderr and 'whole program' in done.stderr
            and 'start 2 wrote something else' in done.stderr, 'a start that takes another path: the first one answers', done.stderr)


def words(t, app):
    for arguments, code, sentence in ((['./nothing'], 127, 'nothing'), (['--strategy', 'nosuch', app], 2, 'nosuch'),
                                      (['@0'], 2, 'program that is run')):
        done = t.run('search', '--phase', 'auto', *arguments)
        t.check(done.returncode == code and sentence in done.stderr and not done.stdout,
                f'search --phase auto {" ".join(arguments)}: a sentence and {code}', done.returncode, done.stderr)


def main():
    t = Test()
    source = os.path.join(t.folder, 'rounds.c')
    with open(source, 'w') as out:
        out.write(PROGRAM)
    app = t.compile(source, '-O1', '-g')
    found_and_measured(t, app, source)
    whole_program(t, app)
    words(t, app)
    t.done()


main()
