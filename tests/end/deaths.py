"""Programs that a signal ends: the exit status is theirs, and terminal, JSON and page say which signal ended which
process and when."""
import os
import signal

from sonde_test import Test

t = Test()
SOURCE = '''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double sum;
int main(int count, char **words)
{
	int number = atoi(words[1]);
	for (long i = 0; i < 30000000; i++)
		sum = sum * 0.999 + 1;
	if (count > 2) { /* in three children, each reaped in another way, the last without a look at its status */
		int status;
		for (int i = 0; i < 3; i++) {
			pid_t child = fork();
			siginfo_t info;
			if (!child) {
				signal(number, SIG_DFL);
				raise(number);
			}
			if (i == 0)
				waitpid(child, &status, 0);
			else if (i == 1)
				waitid(P_PID, (id_t)child, &info, WEXITED);
			else
				wait(NULL);
		}
		return 128 + number;
	}
	if (number == SIGSEGV)
		*(volatile int *)8 = 1;
	if (number == SIGABRT)
		abort();
	raise(number);
	return 0;
}
'''
app = t.compile(SOURCE, '-O1', '-w', output='./ends')
static = t.compile(SOURCE, '-O1', '-w', '-static', output='./ends-static')


def summary_of(words, name):
    run = t.run('record', '-o', name, '--', *words)
    return run, t.show('summary', experiment=name), t.run('show', 'summary', name).stdout


for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGXFSZ, signal.SIGTERM):
    name = number.name
    run, summary, text = summary_of([app, int(number)], name)
    t.equal(run.returncode, 128 + number, f'{name}: the exit status is the contract\'s')
    t.check(name in run.stderr, f'{name}: record says it, as a shell would', run.stderr)
    told = summary['warnings'][0] if summary['warnings'] else ''
    t.check(told.startswith('ends (process ') and f'was ended by {name} (' in told and
            told.endswith(' s after the start of the run'), f'{name}: JSON names signal, process and time', summary['warnings'])
    t.check(f' Died: {told.split(" (")[0]}' in text and name in text, f'{name}: so does the text', text)
    rows = t.show('processes', experiment=name)['rows']
    t.equal([(row['exit_status'], row['exit_signal']) for row in rows], [(128 + number, name)], f'{name}: so does show processes')
t.run('report', 'SIGSEGV', '-o', 'page.html')
with open('page.html', encoding='utf-8') as page:
    t.check('was ended by SIGSEGV' in page.read(), 'the page says it')

run, summary, text = summary_of(['sh', '-c', f'{app} 0; exit 139'], 'shell')
t.check(run.returncode == 139 and 'ended by' not in text + run.stderr and not any('ended by' in w for w in summary['warnings']),
        'an exit status above 128 alone is no signal', run, text)

run, summary, text = summary_of([app, int(signal.SIGKILL), 'child'], 'children')
t.check(run.returncode == 137 and summary['warnings'][0].startswith('3 processes of ends were ended by SIGKILL') and
        'SIGKILL' not in run.stderr, 'children that are killed are told of, however their parent waits', run.stderr, summary['warnings'])

run, summary, text = summary_of([static, int(signal.SIGSEGV)], 'static')
t.check(run.returncode == 139 and 'was ended by SIGSEGV' in (summary['warnings'] or [''])[0], 'a static program', run, summary)

run = t.command('sh', '-c', f'ulimit -c 0; {t.sonde} {app} 11')
t.check(run.returncode == 139 and run.stderr.count('SIGSEGV') == 1, 'sonde ./app says it once', run.stderr)
t.done()
