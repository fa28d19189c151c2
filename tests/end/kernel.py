"""record --kernel: the kernel's functions on all CPUs, by task, with their callers; and the sentences of its refusals."""
import os
import shutil
import subprocess

from sonde_test import Test

t = Test()


def refused(words, sentence, name, **more):
    run = t.command(*words, **more)
    t.check(run.returncode == 125 and sentence in run.stderr and run.stderr.count('\n') == 1, name, run.returncode, run.stderr)


READER = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static char bytes[1 << 20];
int main(void)
{
	struct rusage used;
	int fd = open("/dev/zero", O_RDONLY);
	do {
		for (int i = 0; i < 200; i++)
			if (read(fd, bytes, sizeof bytes) < 0)
				return 1;
		getrusage(RUSAGE_SELF, &used);
	} while (used.ru_stime.tv_sec < 1);
	printf("%d %ld.%06ld\\n", getpid(), used.ru_stime.tv_sec, used.ru_stime.tv_usec);
	return 3;
}
"""


def sums(rows, key, value='samples'):
    out = {}
    for row in rows:
        out[row[key]] = out.get(row[key], 0) + row[value]
    return out


def profile():
    program = t.compile(READER, '-O1', output='./reader')
    run = t.run('record', '--kernel', '-o', 'load', program)
    t.equal(run.returncode, 3, 'the exit status is the program\'s')
    pid, system_s = run.stdout.split()
    rows = t.show('functions', '--all', experiment='load')['rows']
    t.check(all(r['module'].startswith('[') for r in rows), 'all functions are the kernel\'s', *rows[:3])
    inclusive = {r['function']: r['inclusive_cpu_s'] for r in rows}
    threads = {r['thread']: r for r in t.show('threads', '--all', experiment='load')['rows']}
    own = threads.get(int(pid))
    if not t.check(own is not None, 'the program is one of the tasks', threads):
        return
    t.check(own['name'] == 'reader' and own['system_s'] == own['cpu_s'], 'with its name, all of its time in the kernel', own)
    # a host that takes the CPU away takes samples, too
    t.within(own['cpu_s'], float(system_s), 0.5 * float(system_s), 'its time is about what the kernel counts')
    t.check(inclusive.get('vfs_read', 0) >= 0.8 * own['cpu_s'] - 0.1, 'most of it below vfs_read', inclusive.get('vfs_read'), own)
    path = [r['function'] for r in t.show('calls', 'vfs_read', experiment='load')['rows']]
    t.check('ksys_read' in path, 'with its callers', path)
    t.check(any(r['function'] == 'vfs_read' for r in t.show('tree', '--all', experiment='load')['rows']), 'in the tree, too')
    t.equal(t.show('summary', experiment='load')['user_s'], 0, 'no user time')
    t.check('idle time is left out' in t.run('show', 'summary', 'load').stdout, 'the summary says what is measured')
    names = open('load/kernel.symbols').read().splitlines()
    t.check(0 < len(names) < 5000 and any(line.endswith(' vfs_read') for line in names), 'names that were met are kept', len(names))
    # the names travel with the experiment
    shutil.copytree('load', 'copy')
    t.equal(t.show('functions', '--all', experiment='copy')['rows'], rows, 'a copy shows the same')
    t.run('archive', 'load', '-o', 'load.sonde')
    t.equal(t.show('functions', '--all', experiment='load.sonde')['rows'], rows, 'so does an archive')
    t.equal(t.run('list', '--remove', 'copy').returncode, 0, 'removed')
    t.check(not os.path.exists('copy'), 'nothing stays')


def all_tasks():
    busy = t.compile('int main(void) { for (volatile long i = 0; i < 100000000000; i++) ; return 0; }\n', '-O1', output='./busy')
    child = subprocess.Popen([busy])
    run = t.run('record', '-q', '--kernel', '--pid', 'ALL', '--duration', '0.7', '-o', 'all')
    child.kill()
    child.wait()
    t.equal((run.returncode, run.stderr), (0, ''), 'without a program it lasts as long as --duration says')
    rows = {r['function']: r for r in t.show('functions', '--all', experiment='all')['rows']}
    t.check(rows.get('[user]', {}).get('exclusive_cpu_s', 0) > 0, 'user code is a row', list(rows)[:5])
    mine = [r for r in t.show('threads', '--all', experiment='all')['rows'] if r['thread'] == child.pid]
    t.check(mine and mine[0]['user_s'] > 0 and mine[0]['name'] == 'busy', 'of the task that was there before', mine)


def usage():
    refused([t.sonde, 'record', '--kernel', '--heap', 'true'], '--heap is of a program', '--kernel and --heap')
    refused([t.sonde, 'record', '--kernel', '--pid', '1'], 'not process', '--kernel and a process')
    refused([t.sonde, 'record', '--pid', 'ALL'], 'goes with --kernel', '--pid ALL alone')
    refused([t.sonde, 'record', '--kernel', '--clock', 'off', 'true'], 'leaves nothing', '--kernel without a clock')
    refused([t.sonde, 'record', '--kernel', 'true'], 'leave the launcher away', '--kernel as a rank', env=dict(os.environ, PMI_RANK='0'))
    run = t.run('record', '--kernel', '--dry-run', 'true')
    t.check(run.returncode == 0 and 'kernel: 1000 samples' in run.stdout, '--dry-run says what it would be', run.stdout)


def rights():
    """Without the right to look at all CPUs."""
    name = 'without rights'
    if os.geteuid() == 0 and not t.has('setpriv'):
        t.skip(name, 'there is no setpriv to give them up')
        return
    as_nobody = ['setpriv', '--reuid', '65534', '--clear-groups', '--bounding-set', '-all', '--inh-caps', '-all'] \
        if os.geteuid() == 0 else []
    level = open('/proc/sys/kernel/perf_event_paranoid').read().strip()
    if int(level) < 1:
        t.skip(name, 'everybody may look at all CPUs here')
        return
    os.makedirs('nobodys')
    os.chmod('nobodys', 0o777)
    os.chmod('.', 0o755)
    run = t.command(*as_nobody, t.sonde, 'record', '--kernel', '-o', 'nobodys/e', 'true', env=dict(os.environ, HOME='/'))
    t.check(run.returncode == 125 and f'kernel.perf_event_paranoid is {level}' in run.stderr and run.stderr.count('\n') == 1,
            f'{name}: one sentence says what is lacking', run.returncode, run.stderr)
    t.equal(os.listdir('nobodys'), [], f'{name}: nothing is left')


usage()
rights()
run = t.run('record', '-q', '--kernel', '-o', 'try', 'true')
if run.returncode == 125:
    t.check(run.stderr.count('\n') == 1, 'where it cannot be had one sentence says why', run.stderr)
    t.skip('the profile', run.stderr.strip())
else:
    profile()
    all_tasks()
t.done()
