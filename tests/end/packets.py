"""Sample packets, and the functions of sonde/control.h: figures between labels are those that the program made."""
import os
import signal
import subprocess
import time

from sonde_test import Test

t = Test()
INCLUDE = '-I' + os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'include')
SOURCE = r'''
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sonde/control.h>
__attribute__((noinline)) static void burn(int parts)
{
	for (volatile long i = 0; i < parts * 10000000L; i++)
		;
}
__attribute__((noinline)) static void hidden(void) { burn(20); }
__attribute__((noinline)) static void seen(void) { burn(20); }
__attribute__((noinline)) static void afterwards(void) { burn(20); }
int main(void)
{
	static char bytes[1 << 20];
	int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
	char *pages = (char *)mmap(0, 300 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(pages, 300 << 12, MADV_NOHUGEPAGE);
	memset(bytes, 1, sizeof(bytes));
	sonde_sample("begin");
	if (write(null, bytes, 123457) + read(zero, bytes, 54321) < 0)
		return 1;
	sonde_sample("input-output");
	for (int i = 0; i < 300; i++)
		pages[i << 12] = 1;
	sonde_sample("touched");
	sonde_pause();
	sonde_pause();
	hidden();
	sonde_resume();
	seen();
	sonde_sample("a label that is longer than any label may be: "
		"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
		"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789");
	sonde_sample(0);
	sonde_terminate();
	afterwards();
	puts("done");
	return 7;
}
'''


def packets(experiment, *options):
    return t.show('packets', experiment, '--all', *options)['rows']


def functions(experiment, *options):
    return {row['function']: row for row in t.show('functions', experiment, '--all', *options)['rows']}


def labelled():
    for name, options, compiler in [('pie', ['-O1', '-fPIE', '-pie'], 'gcc'), ('fixed', ['-O2', '-no-pie'], 'gcc'),
                                    ('lto', ['-O2', '-flto'], 'gcc'), ('cxx', ['-O2', '-x', 'c++'], 'g++'),
                                    ('gc', ['-O1', '-ffunction-sections', '-Wl,--gc-sections'], 'gcc')]:
        program = t.compile(SOURCE, *options, INCLUDE, output='./' + name, compiler=compiler)
        plain = t.command(program)
        run = t.run('record', '-q', '--packets', '0.05', '-o', 'e-' + name, program)
        t.equal((run.returncode, run.stdout, run.stderr), (7, plain.stdout, ''), f'{name}: output and status are the program\'s')
        rows = packets('e-' + name)
        kinds = [row['kind'] for row in rows if row['kind'] != 'periodic']
        t.equal(kinds, ['start', 'label', 'label', 'label', 'pause', 'resume', 'label', 'label', 'pause', 'end'],
                f'{name}: packets in order, a second pause is none')
        labels = [row['label'] for row in rows if row['kind'] == 'label']
        t.equal((labels[:3], labels[4], len(labels[3])), (['begin', 'input-output', 'touched'], '', 255),
                f'{name}: labels, a long one cut')
        t.check(all(row['label'] is None for row in rows if row['kind'] != 'label'), f'{name}: no other has one')
    rows = packets('e-pie')
    at = {row['label']: i for i, row in enumerate(rows) if row['label'] is not None}

    def between(first, last, key):
        return sum(row[key] or 0 for row in rows[at[first] + 1:at[last] + 1])
    t.equal((between('begin', 'input-output', 'io_write_bytes'), between('begin', 'input-output', 'io_read_bytes')),
            (123457, 54321), 'bytes read and written between two labels are exact')
    t.check(300 <= between('input-output', 'touched', 'minor_faults') < 400, 'so are page faults, but for a few of ours',
            between('input-output', 'touched', 'minor_faults'))
    total = t.show('processes', 'e-pie')['rows'][0]
    for key in ('user_s', 'system_s'):
        last = max(i for i, row in enumerate(rows) if row['kind'] == 'end')
        t.check(sum(row[key] or 0 for row in rows[:last + 1]) <= total[key] + 0.02, f'{key} of the packets sums to no more than the process\'s')
    t.check(any(row['kind'] == 'periodic' for row in rows), 'packets come as often as asked for')
    paused = [row for row in rows if row['kind'] in ('pause', 'resume')][:2]
    t.check(paused[0]['t_s'] < paused[1]['t_s'], 'pause and resume have their times')


def filtered():
    all_functions = functions('e-pie')
    t.check(all_functions['seen']['inclusive_share'] > 0.5, 'what is measured is there', all_functions)
    for name in ('hidden', 'afterwards'):
        samples = all_functions.get(name, {'samples': 0})['samples']
        t.equal(samples, 0, f'{name}: what is paused or after the end is not sampled')
    t.check('only a part of the run was measured' in t.run('show', 'summary', 'e-pie').stdout, 'the summary says so')
    cut = functions('e-pie', '--time', '@touched-')
    t.check(cut['seen']['inclusive_share'] > 0.9, 'a range that begins at a label', cut)
    nothing = functions('e-pie', '--time', '-@begin')
    t.check('seen' not in nothing or not nothing['seen']['samples'], 'a range that ends at a label', nothing)
    rows = packets('e-pie', '--time', '@input-output-@touched')
    t.equal([row['label'] for row in rows if row['kind'] == 'label'], ['input-output'], 'labels with dashes; the end is not in the range')
    whole = next(row for row in packets('e-pie') if row['label'] == 'input-output')
    t.equal(rows[0], whole, 'a packet has the same figures in a range')
    for words, sentence in [(['@nothing-'], "no sample packet with the label 'nothing'"),
                            (['@touched-@begin'], "no sample packet with the label 'begin' after the range's begin"),
                            (['2-1'], 'ends before it begins'), (['x-y'], '@LABEL-@LABEL')]:
        run = t.run('show', 'functions', 'e-pie', '--time', *words)
        t.check(run.returncode in (2, 5) and sentence in run.stderr, f'--time {words[0]} is refused', run)


def signals():
    program = t.compile('''
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	puts("up");
	fflush(stdout);
	for (int i = 0; i < 3000 && access("stop", F_OK); i++) {
		for (volatile long k = 0; k < 1000000; k++)
			;
		usleep(1000);
	}
	return 0;
}
''', '-O1', output='./waits')

    def start(*options):
        if os.path.exists('stop'):
            os.unlink('stop')
        process = subprocess.Popen([t.sonde, 'record', '-q', *options, program], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        return process

    def stop(process):
        open('stop', 'w').close()
        return process.wait()

    process = start('--pause-signal', 'USR2', '--packet-signal', 'USR1', '-o', 'signals')
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1, signal.SIGUSR2):
        time.sleep(0.4)
        process.send_signal(number)
    time.sleep(0.4)
    t.equal(stop(process), 0, 'signals to the command are its own')
    kinds = [row['kind'] for row in packets('signals')]
    t.equal([kind for kind in kinds if kind not in ('periodic', 'end')], ['start', 'signal', 'resume', 'signal', 'pause'],
            'packets at signals; the measurement begins paused')
    process = start('--pause-signal', 'USR2,r', '-o', 'runs')
    time.sleep(0.3)
    t.equal(stop(process), 0, 'with ,r')
    t.check(t.show('functions', 'runs')['rows'], 'with ,r the measurement begins at once')
    for words, sentence in [(['--pause-signal', 'USR2,x'], 'SIGNAL or SIGNAL,r'), (['--packet-signal', 'XYZ'], "no signal 'XYZ'"),
                            (['--pause-signal', 'USR1', '--packet-signal', 'USR1'], 'choose two'), (['--packets', '0'], '0.01')]:
        run = t.run('record', *words, 'true')
        t.check(run.returncode == 125 and sentence in run.stderr, ' '.join(words) + ' is refused', run)


def forked():
    program = t.compile(r'''
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/control.h>
int main(void)
{
	sonde_sample("parent");
	sonde_pause();
	if (!fork()) {
		sonde_sample("child");
		sonde_resume();
		_exit(0);
	}
	wait(0);
	return 0;
}
''', '-O1', INCLUDE, output='./forks')
    t.equal(t.run('record', '-q', '-o', 'forks.e', program).returncode, 0, 'a program that forks')
    rows = packets('forks.e')
    kinds = {p: [row['kind'] for row in rows if row['process'] == p and row['kind'] != 'periodic'] for p in (0, 1)}
    t.equal(kinds, {0: ['start', 'label', 'pause', 'fork', 'end'], 1: ['start', 'label', 'resume', 'end']},
            'a packet before the fork; the child begins paused as its parent was, and resumes')
    t.check(all(row['user_s'] < 1 for row in rows), 'a child counts from its own begin', rows)


def fortran():
    source = os.path.join(INCLUDE[2:], 'sonde', 'sonde_control.f90')
    with open('labels.f90', 'w') as out:
        out.write('''program labels
  use sonde_control
  call sonde_sample("from Fortran")
  call sonde_pause()
  call sonde_resume()
  print *, "done"
end program
''')
    built = t.command('gfortran', '-O1', source, 'labels.f90', '-o', 'labels')
    t.check(not built.returncode, 'the Fortran module needs no library', built)
    plain = t.command('./labels')
    run = t.run('record', '-q', '-o', 'fortran', './labels')
    t.equal((run.returncode, run.stdout), (0, plain.stdout), 'a Fortran program runs the same with and without')
    t.equal([(row['kind'], row['label']) for row in packets('fortran') if row['kind'] != 'periodic'],
            [('start', None), ('label', 'from Fortran'), ('pause', None), ('resume', None), ('end', None)], 'its packets')


for part in (labelled, filtered, signals, forked, fortran):
    part()
t.done()
