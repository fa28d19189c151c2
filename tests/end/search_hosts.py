"""sonde search --agents: an agent on each host of a program. The hosts are names that a launcher gives to copies of the program on
this machine; agents, links, spools and the journal are those of hosts. Nothing that befalls an agent hurts the program."""
import json
import os
import re
import signal
import struct
import subprocess
import time

from sonde_test import HERE, Test

# a step uses 3 ms of CPU time in heavy(), and 15 ms it waits in a read: on an idle machine too there is something to find; two processes go step by step together, as ranks do, until
# the file that the third argument names is there
SOURCE = r'''
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
static volatile double sink;
static int timer;
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static void __attribute__((noinline)) heavy(void)
{
	double end = cpu_s() + .003;
	while (cpu_s() < end)
		for (int i = 0; i < 2000; i++)
			sink += i;
}
void __attribute__((noinline)) step(void)
{
	struct itimerspec rest = { .it_value.tv_nsec = 15000000 };
	unsigned long over;
	heavy();
	if (timerfd_settime(timer, 0, &rest, NULL) || read(timer, &over, sizeof(over)) != sizeof(over))
		exit(1);
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, me = getenv("SONDE_NODE") && !strcmp(getenv("SONDE_NODE"), "beta");
	int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;
	_Atomic int *at = NULL;
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (fd >= 0 && !ftruncate(fd, 4096))
		at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 1; i <= n && (argc < 4 || access(argv[3], F_OK)); i++) {
		step();
		if (at)
			at[me] = i;
		while (at && at[!me] < i)
			usleep(500);
	}
	if (at)
		at[me] = n + 1;
	printf("done %d\n", n);
	return 5;
}
'''
# two hosts, a process on each; it ends as the last one does
LAUNCHER = '''#!/bin/sh
SONDE_NODE=alpha "$@" & first=$!
SONDE_NODE=beta "$@"; code=$?
wait $first; exit $code
'''
# the same, where a daemon starts them that is nobody's child here, as on other hosts
FAR = '''#!/bin/sh
words="$*"
for host in alpha beta; do echo "SONDE_NODE=$host $words > far.$host 2>&1; echo \\$? > far.$host.code &"; done > far.in
for host in alpha beta; do
	until [ -s far.$host.code ]; do sleep .05; done
	cat far.$host
	code=$(cat far.$host.code)
	rm far.$host.code
done
exit $code
'''
# seven hosts: by a fan-out of 2 three inner agents, one of which has another above it
SEVEN = '''#!/bin/sh
for host in h1 h2 h3 h4 h5 h6; do SONDE_NODE=$host "$@" & done
SONDE_NODE=h7 "$@"; code=$?
wait; exit $code
'''
# a shell of another host begins in another folder
STARTER = '''#!/bin/sh
echo "$1" >> asked; shift; cd /; exec "$@"
'''


def script(name, text):
    with open(name, 'w') as out:
        out.write(text)
    os.chmod(name, 0o755)
    return './' + name


def agents_of(folder, host, name='sonde-agent'):
    """Our processes of that search and host: no others are ever touched."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as words, open(f'/proc/{pid}/comm') as comm, open(f'/proc/{pid}/environ') as given:
                if os.path.abspath(folder) in words.read().split('\0') and comm.read().strip() == name and \
                        f'SONDE_NODE={host}' in given.read().split('\0'):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def started(t, folder, *words):
    return subprocess.Popen([t.sonde, 'search', '--format', 'json', '-o', folder, '--phase', 'step', *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ended(command):
    out, err = command.communicate(timeout=200)
    return (json.loads(out) if out else {}), err, command.returncode


def until(holds):
    for _ in range(3000):
        found = holds()
        if found:
            return found
        time.sleep(.01)
    raise RuntimeError('it has not come to pass')


def measured_hosts(folder):
    """How many hosts have a window in the journal (wire/link.h)."""
    try:
        with open(f'{folder}/search.journal', 'rb') as journal:
            data = journal.read()
    except OSError:
        return 0
    at, hosts = 0, set()
    while at + 48 <= len(data):
        kind, _, agent, _, length = struct.unpack_from('<6xHIIII', data, at)
        if kind == 5 and data[at + 48:at + 49] == b'\1':
            hosts.add(agent)
        at += 48 + length
    return len(hosts)


def measured(folder, hosts=1):
    return until(lambda: measured_hosts(folder) >= hosts)


def whole(t, app, launcher, starter):
    found, err, code = ended(started(t, 'whole', '--launch', launcher, '--agents', starter + ' {host}', '--steps', '3', '--threshold', '0', app, '300', 'together1'))
    t.check(code == 0 and found.get('mode') == 'phases' and found['exit_status'] == 5 and err.count('done 300\n') == 2,
            'a search with an agent on each host', code, err)
    with open('asked') as lines:
        t.equal(sorted(lines.read().split()), ['alpha', 'beta'], 'agents are started by the words of --agents, once for each host')
    t.equal(found.get('agents'), {'hosts': 2, 'joined': 2, 'lost': 0, 'restarted': 0, 'refused': 0}, 'all have joined')
    results = found['results']
    t.check(found['complete'] and results['lost'] == 0 and results['received'] >= 4, 'what they measured has come', results)
    t.check('sonde: alpha: step 1: ' in err or 'sonde: beta: step 1: ' in err, 'a host searches by itself, and says what it finds', err)
    t.equal({m for r in found['properties'] for m in r['processes'].replace('-', ',').split(',')}, {'0', '1'},
            'processes of both hosts are in one result')
    # those that had on what any step asked for
    t.check(sum(s['executions'] for s in found['steps']) >= found['phase']['executions'] > 0, 'executions are those of steps', found['steps'], found['phase'])
    left = [n for n in os.listdir('whole') if n.startswith('search.') or n.endswith(('.agent', '.monitor'))]
    t.equal(sorted(left), ['search.journal', 'search.tsv', 'search.words'], 'no secret, no spool and no address is left')
    t.check(t.show('functions', experiment='whole')['rows'], 'what is left is an experiment')
    rows = t.show('searched', experiment='whole')['rows']
    t.equal([r['property'] for r in rows if r['kind'] == 'lost'],
            [r['property'] for r in sorted(found['properties'], key=lambda r: (r['severity_low'] <= 0, r['property'] == 'CpusTakenByOthers'))
             if not r['refined'] and r['property'] not in ('HotRegion', 'LateRankRegion', 'HeapLeak')],
            'and what was found stays in it')
    t.check(t.run('report', 'whole', '-o', 'page.html').returncode == 0 and '"name":"searched","title":"Properties"' in open('page.html').read(),
            'for the page, too')


def traces(t, launcher):
    """Calls are traced on all hosts where a host's search asks for them, in its executions alone."""
    app = t.compile(os.path.join(HERE, 'programs', 'phase_calls.c'), '-O1', '-g', output='./calls')
    for what, name, source, each in (('io', 'SmallIO', 'io', 5000), ('heap', 'HeapChurn', 'heap', 120000)):
        found, err, code = ended(started(t, f'traces.{what}', '--launch', launcher, '--agents', 'local', '--budget', '1', '--threshold', '0.001', app, what, '900'))
        rows = [r for r in found.get('properties', ()) if r['property'] == name]
        length = found['phase']['mean_s'] * found['phase']['executions']
        made = {r['processes']: r['evidence']['per_second'] * length / found['phase']['executions'] / each for r in rows}
        t.check(code == 0 and rows and all(source in r['sources'] for r in rows), f'{what}: what a host asks for is traced', code, err, found.get('properties'))
        t.check(all(abs(n / (2 if len(p) > 1 else 1) - 1) < .1 for p, n in made.items()), f'{what}: each execution has its {each} calls, in both processes', made)
        t.check(not any(n['property'] == name for n in found['not_measurable']), f'{what}: it is measurable', found['not_measurable'])


def found_phase(t, app, launcher, agents, folder):
    """What the first start shows to repeat is measured by agents in the second one."""
    found, err, code = ended(subprocess.Popen([t.sonde, 'search', '--format', 'json', '-o', folder, '--phase', 'auto', '--launch', launcher, '--agents', agents, '--steps', '2',
                                               '--threshold', '0', app, '250'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    t.check(code == 0 and found.get('mode') == 'phases' and found['agents']['joined'] == 2 and found['complete'] and found['exit_status'] == 5,
            '--phase auto with an agent on each host', code, found.get('mode'), found.get('agents'), err)
    name = found['phase']['name'] or ''
    t.check(name in ('step', 'heavy') or 'program' in name, 'the phase is what repeats', name)
    t.check(err.count('done 250\n') == 2 and found['experiment'] != folder, 'the output is that of the second start, which is the experiment', err, found['experiment'])


# eight steps come slowly, then many at once, as with a reader of commands
RAMP = r'''
#include <time.h>
static volatile double sink;
static void rest(double s) { struct timespec t = { 0, s * 1e9 }; nanosleep(&t, 0); }
void __attribute__((noinline)) command(void) { for (int i = 0; i < 500; i++) sink += i; rest(.003); }
int main(void)
{
	for (int i = 0; i < 8; i++) {
		command();
		rest(.4);
	}
	for (int i = 0; i < 1500; i++)
		command();
	return 0;
}
'''
# a jump leads into the first bytes of hot(), so no code can be put there, and a breakpoint watches it
OFTEN = r'''
#include <time.h>
void hot(int n);
__asm__(".globl hot\n.type hot, @function\nhot:\n\tnop\n1:\tdecl %edi\n\tjnz 1b\n\tret\n.size hot, .-hot\n");
static double now_s(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(void)
{
	double end_s = now_s() + 4;
	while (now_s() < end_s)
		for (int i = 0; i < 100; i++)
			hot(1000);
	return 0;
}
'''


def paces(t, launcher):
    """Executions that come faster than those before, and such as come too fast to be watched."""
    for name, text in (('ramp', RAMP), ('often', OFTEN)):
        t.compile(text, '-O1', '-g', output='./' + name)
    found, err, code = ended(started(t, 'ramp.run', '--launch', launcher, '--agents', 'local', '--phase', 'command', '--steps', '3', './ramp'))
    t.check(code == 0 and found['complete'] and max(s['executions'] for s in found['steps']) > 20, 'a step follows how fast executions come', err, found.get('steps'))
    if not t.breakpoints_fire():
        t.skip('a phase that is passed too often to be watched', 'breakpoints are never hit')
        return
    run = started(t, 'often.run', '--launch', launcher, '--agents', 'local', '--phase', 'hot', './often')
    first = run.stderr.readline()
    ran_on = run.poll() is None
    out, rest = run.communicate(timeout=200)
    t.check(re.match(r'sonde: (alpha|beta): .*too often to be watched', first) and ran_on, 'a host whose phase is passed too often says so while the program runs',
            first, rest)
    t.check(run.returncode == 3 and re.search("sonde: search: 'hot' is passed .* too often to be watched", rest), 'and so does the end', rest)


def elsewhere(t, app, launcher):
    """Without agents: nothing of the program is recorded, which is no answer on the program."""
    done = t.run('search', '--launch', launcher, app, '50')
    t.check(done.returncode == 3 and f"nothing was measured of '{app}'" in done.stderr and 'Time lost' not in done.stderr,
            'a launcher that starts the program elsewhere: it is told', done.returncode, done.stderr)


def agents_die(t, app, launcher):
    """The one is started again, the other is frozen, comes back, and is then killed with its guardian."""
    command = started(t, 'dies', '--launch', launcher, '--agents', 'local', '--steps', '2', app, '20000', 'together2', 'stop2')
    measured('dies')
    os.kill(until(lambda: agents_of('dies', 'alpha'))[0], signal.SIGKILL)
    frozen = until(lambda: agents_of('dies', 'beta'))[0]
    os.kill(frozen, signal.SIGSTOP)
    time.sleep(2.6)
    os.kill(frozen, signal.SIGCONT)
    time.sleep(.8)
    for pid in agents_of('dies', 'beta', 'sonde-guardian') + [frozen]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: agents_of('dies', 'alpha'))  # again
    open('stop2', 'w').close()
    found, err, code = ended(command)
    t.check(code == 0 and err.count('done 20000\n') == 2, 'agents are killed and frozen: the program runs on', code, err)
    t.check('the agent of alpha died and was started again' in err and found['agents']['restarted'] == 1, 'the one is started again', err)
    t.check('nothing was heard of the agent of beta' in err and 'the agent of beta is heard again' in err,
            'silence is told, and its end', err)
    t.check(not found['complete'] and found['agents']['lost'] == 1 and 'not all agents have told all' in err,
            'one that is lost for good is counted: what was measured is the result', err, found.get('agents'))


def inner_agents(t, app):
    """One of them is killed and another frozen: who was below them finds another way, and nothing is lost."""
    with open('hosts', 'w') as out:
        out.write('# seven, and one that is not there\n' + ''.join(f'h{k}.site.org slots=1\n' for k in range(1, 8)) + 'nobody:4\n')
    command = started(t, 'tree', '--launch', script('seven', SEVEN), '--agents', 'local', '--fanout', '2', '--hosts', 'hosts', '--steps', '3', '--threshold', '0', app, '20000',
                      '/dev/null', 'stop5')
    measured('tree', 7)
    hosts = [f'h{k}' for k in range(1, 8)]
    inners = until(lambda: (found := [p for h in hosts for p in agents_of('tree', h, 'sonde-inner')]) and len(found) == 4 and found)
    t.equal(sorted(n for n in os.listdir('tree/search.nodes') if n.startswith('inner.')), ['inner.0', 'inner.1', 'inner.16384', 'inner.2'],
            'seven hosts and a fan-out of 2 make three inner agents, and one above the third')
    os.kill(inners[0], signal.SIGKILL)
    os.kill(inners[1], signal.SIGSTOP)
    time.sleep(3)
    t.check(os.path.exists('tree/search.journal'), 'the search goes on')
    os.kill(inners[1], signal.SIGCONT)
    open('stop5', 'w').close()
    found, err, code = ended(command)
    t.check(code == 0 and err.count('done 20000\n') == 7, 'inner agents are killed and frozen: the program runs on', code, err)
    t.check('7 hosts took part: 2 talked to the front, the others to 4 inner agents' in err, 'how hosts are arranged is told', err)
    t.equal({k: found['agents'][k] for k in ('hosts', 'joined', 'lost', 'restarted')}, {'hosts': 8, 'joined': 7, 'lost': 0, 'restarted': 1},
            'nobody is lost with them')
    t.check("sonde: of 'hosts' 1 host took no part: nobody\n" in err and not found['complete'], 'a host that was to come and did not is named', err)
    results = found['results']
    t.check(results['lost'] == 0 and results['received'] >= 7 * len(found['steps']), 'and nothing', results)
    there = set()
    for part in {part for r in found['properties'] for part in r['processes'].split(',')}:
        first, _, last = part.partition('-')
        there.update(range(int(first), int(last or first) + 1))
    # on a busy machine a host may have no execution in a step: then it has nothing to tell
    told = set(re.findall(r'sonde: (h\d): step', err))
    t.check(told and len(there) >= len(told), 'processes of all hosts that told something are in the result', there, told, found['steps'])
    until(lambda: not [p for h in hosts for name in ('sonde-inner', 'sonde-agent') for p in agents_of('tree', h, name)])
    t.equal(sorted(n for n in os.listdir('tree') if n.startswith('search.')), ['search.journal', 'search.tsv', 'search.words'], 'no address of an inner agent is left')


class Networks:
    """A network namespace for each host, all of them on one bridge; `there` is false where that cannot be had."""

    def __init__(self, count):
        self.tag = f's{os.getpid() % 100000}'
        net = f'10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}'
        self.names = [f'{self.tag}n{k}' for k in range(1, count + 1)]
        self.there = self.ip('link', 'add', self.tag, 'type', 'bridge') and self.ip('addr', 'add', f'{net}.1/24', 'dev', self.tag) and \
            self.ip('link', 'set', self.tag, 'up')
        for k, name in enumerate(self.names):
            self.there = self.there and self.ip('netns', 'add', name) and self.ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'e0', 'netns', name) and \
                self.ip('link', 'set', name, 'master', self.tag, 'up') and self.ip('-n', name, 'addr', 'add', f'{net}.{k + 2}/24', 'dev', 'e0') and \
                self.ip('-n', name, 'link', 'set', 'e0', 'up') and self.ip('-n', name, 'link', 'set', 'lo', 'up')

    @staticmethod
    def ip(*words):
        try:
            return subprocess.run(['ip', *words], capture_output=True).returncode == 0
        except OSError:
            return False

    def close(self):
        for name in self.names:
            self.ip('netns', 'del', name)
            self.ip('link', 'del', name)
        self.ip('link', 'del', self.tag)


def networks(t, app):
    """Hosts with addresses of their own; the link of one of them is cut for some seconds."""
    net = Networks(4)
    try:
        if not net.there:
            t.skip('hosts with networks of their own', 'no network namespace can be made')
            return
        launcher = script('spread', '#!/bin/sh\n' + ''.join(f'SONDE_NODE=n{k + 1} ip netns exec {name} "$@" &\n' for k, name in enumerate(net.names)) + 'wait\n')
        command = started(t, 'net', '--launch', launcher, '--agents', 'auto', '--fanout', '2', '--steps', '3', '--threshold', '0', app, '20000', '/dev/null', 'stop6')
        measured('net', 4)
        cut = os.readlink('net/search.nodes/number.2')  # it has the inner agent of the fourth, too
        net.ip('link', 'set', net.names[int(cut[1:]) - 1], 'down')
        time.sleep(4)
        net.ip('link', 'set', net.names[int(cut[1:]) - 1], 'up')
        time.sleep(3)
        open('stop6', 'w').close()
        found, err, code = ended(command)
        t.check(code == 0 and err.count('done 20000\n') == 4 and '4 hosts took part: 2 talked to the front, the others to 1 inner agent\n' in err,
                'hosts on networks of their own', code, err)
        t.check(f'nothing was heard of the agent of {cut}' in err and f'the agent of {cut} is heard again' in err, 'a link that is cut is told, and its end', err)
        t.check(found['complete'] and found['agents']['joined'] == 4 and found['agents']['lost'] == 0 and found['results']['lost'] == 0,
                'and nothing is lost', found['agents'], found['results'])
    finally:
        net.close()


def front_is_killed(t, app, launcher):
    """Nobody finds the secret afterwards; the program runs to its end, and what was measured has a result."""
    command = started(t, 'killed', '--launch', launcher, '--agents', 'local', '--steps', '1', '--threshold', '0', app, '20000', 'together4', 'stop4')
    measured('killed', 2)
    t.equal(os.stat('killed/search.secret').st_mode & 0o777, 0o600, 'the secret is the user\'s alone')
    done = t.run('search', '--resume', 'killed')
    t.check(done.returncode == 2 and 'another command is at work' in done.stderr, 'a search whose front is there is not gone on with', done.stderr)
    command.kill()
    command.wait()
    until(lambda: not os.path.exists('killed/search.secret') and not os.path.exists('killed/search.front'))
    early = t.run('search', '--resume', 'killed', '--format', 'json')
    t.check(early.returncode == 0 and not json.loads(early.stdout)['complete'] and 'still runs' in early.stderr, 'while the program runs its result is a part',
            early.returncode, early.stderr)
    open('stop4', 'w').close()
    err = command.communicate(timeout=100)[1]
    t.check(err.count('done 20000\n') == 2, 'a command that is killed leaves no secret, and its program runs on', err)
    until(lambda: not agents_of('killed', 'alpha') and not agents_of('killed', 'beta'))
    for turn in ('whole', 'again'):
        found, _, code = ended(subprocess.Popen([t.sonde, 'search', '--resume', 'killed', '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        t.check(code == 0 and found['complete'] and found['agents']['joined'] == 2 and found['exit_status'] is None and found['results']['lost'] == 0,
                f'when agents have ended its result is {turn}', found.get('agents'), found.get('results'))
        t.check({'0-1'} & {r['processes'] for r in found['properties']}, 'of both hosts', found['properties'][:2])
    t.equal(sorted(n for n in os.listdir('killed') if n.startswith('search.')), ['search.journal', 'search.tsv', 'search.words'], 'and nothing of agents is left')


def disk_is_full(t, app, launcher):
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', 'small'], stderr=subprocess.DEVNULL).returncode:
        t.skip('a full disk', 'no file system can be mounted')
        return
    try:
        command = started(t, 'small/run', '--launch', launcher, '--agents', 'local', '--steps', '2', app, '20000', 'together3', 'stop3')
        until(lambda: all(os.path.exists(f'small/run/search.nodes/spool.{k}') for k in (0, 1)))
        filler = os.open('small/filler', os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, bytes(4096))
        except OSError:
            os.close(filler)
        time.sleep(2)
        os.unlink('small/filler')
        time.sleep(1)
        open('stop3', 'w').close()
        found, err, code = ended(command)
        t.check(err.count('done 20000\n') == 2 and 'No space left' in err, 'a full disk is a sentence, and the program runs on', code, err)
    finally:
        subprocess.run(['umount', '-l', 'small'], check=False)


def bad_words(t, app):
    for words, code, sentence in (
            (['--agents', 'auto', app], 2, 'needs --phase'),
            (['--agents', 'auto', '--fanout', '1', '--phase', 'step', app], 2, '--fanout takes a number from 2 to 1024'),
            (['--hosts', 'hosts', '--phase', 'step', app], 2, '--hosts is for a search with an agent on each host'),
            (['--hosts', '/nowhere', '--agents', 'local', '--phase', 'step', app], 5, '/nowhere'),
            (['--hosts', '/dev/null', '--agents', 'local', '--phase', 'step', app], 2, 'names no host'),
            (['--fanout', '4', '--phase', 'step', app], 2, '--fanout is for a search with an agent on each host'),
            (['--agents', 'a | b', '--phase', 'step', app], 2, 'launcher'),
            (['--agents', 'loca', '--phase', 'step', app], 2, "did you mean 'local'?"),
            (['--agents', './nowhere {host}', '--phase', 'step', app], 2, "cannot run './nowhere'"),
            (['--join', '/nowhere', '--phase', 'step', app], 2, '--agents'),
            (['--agents', 'auto', '--phase', 'stap', app], 2, 'no heartbeat, function or line'),
            (['--agents', 'auto', '--phase', 'step', '@0'], 2, 'program that is run'),
            (['--agents', 'auto', '--join', '/nowhere', '--phase', 'step', app], 125, 'nowhere'),
            (['--agents', 'local', '--launch', './nobody', '--phase', 'step', app], 3, 'no host took part')):
        done = t.run('search', *words)
        t.check(done.returncode == code and sentence in done.stderr, f'search {" ".join(words[:4])}: a sentence and {code}',
                done.returncode, done.stderr)


def main():
    t = Test()
    app = t.compile(SOURCE, '-O1', '-g')
    launcher, starter = script('two', LAUNCHER), script('starter', STARTER)
    bad_words(t, app)
    if 'libzmq' in t.run('search', '--agents', 'local', '--phase', 'step', app, '1').stderr:
        t.skip('agents', 'libzmq is not there')
        t.done()
    whole(t, app, launcher, starter)
    traces(t, launcher)
    paces(t, launcher)
    found_phase(t, app, launcher, 'local', 'found')
    os.mkfifo('far.in')
    daemon = subprocess.Popen(['sh', '-c', 'while :; do while read -r line; do eval "{ ${line%&}; } &"; done < far.in; done'])
    found_phase(t, app, script('far', FAR), starter + ' {host}', 'far.found')
    elsewhere(t, app, './far')
    daemon.kill()
    agents_die(t, app, launcher)
    inner_agents(t, app)
    networks(t, app)
    front_is_killed(t, app, launcher)
    disk_is_full(t, app, launcher)
    t.done()


main()
