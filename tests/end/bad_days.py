"""Bad days with the launcher in place: what the target prints and how it ends is the same, what is
recorded is true, and what cannot be measured is refused before it runs."""
import os
import shutil
import struct
import subprocess
import time

from sonde_test import Test

t = Test()
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../hostile')
NOBODY = 65534
number = 0


def build(name, *flags, output=None):
    return t.compile(os.path.join(HOSTILE, name + '.c'), '-O2', '-w', *flags, output=output)


def record(words, before=(), **more):
    """Under sonde record; gives the run and the experiment's name."""
    global number
    number += 1
    name = f'day{number}'
    return t.command(*before, t.sonde, 'record', '-o', name, '--', *words, **more), name


def same(words, what, before=(), inside=(), **more):
    """Output and status as without sonde (what the launcher says comes after); gives the summary."""
    plain = t.command(*before, *inside, *words, **more)
    run, name = record([*inside, *words], before, **more)
    t.check((plain.stdout, plain.returncode) == (run.stdout, run.returncode) and run.stderr.startswith(plain.stderr),
            f'{what}: the same output and status', plain, run)
    return t.show('summary', experiment=name)


def accounted(summary, what, low=0.9, high=1.1):
    share = summary['sampled_cpu_s'] / summary['cpu_s']
    t.check(low <= share <= high and summary['samples'] > 0, f'{what}: the CPU time is accounted for', share, summary)


split = build('split', '-fno-optimize-sibling-calls')

bend = os.path.abspath(build('bend', '-shared', '-fPIC', '-ldl', output='./bend.so'))
summary = same([split, '150000'], 'clocks bent by a preload', inside=['env', f'LD_PRELOAD={bend}'])
accounted(summary, 'clocks bent by a preload')
t.check(summary['elapsed_s'] < 60, 'clocks bent by a preload: ours are not', summary['elapsed_s'])

started = time.monotonic()
summary = same([split, '150000'], 'the launcher under bent clocks', before=['env', f'LD_PRELOAD={bend}'])
t.check(summary['elapsed_s'] <= time.monotonic() - started, 'the launcher under bent clocks: elapsed is not bent', summary['elapsed_s'])
t.check(summary['overhead_share'] < 0.15, 'the launcher under bent clocks: nor is the overhead', summary['overhead_share'])

nofallocate = build('nofallocate')
if t.command(nofallocate, 'true').returncode == 0:
    summary = same([split, '300000'], 'no fallocate', before=[nofallocate])
    accounted(summary, 'no fallocate')
    # a signal may meet our own code on any machine; for lack of room none is lost
    lost = [w for w in summary['warnings'] if ' lost: ' in w and not w.endswith('a signal inside our own code')]
    t.equal(lost, [], 'no fallocate: nothing is lost for lack of room')
else:
    t.skip('no fallocate', 'seccomp is refused here')

summary = same([build('flood')], 'a flood of real-time signals')
accounted(summary, 'a flood of real-time signals')

summary = same([build('rawaction')], 'children that take back what all signals do, by the system call')
accounted(summary, 'children that take back what all signals do', 0.85)

starved = build('starved', '-pthread')
nomalloc = os.path.abspath(build('nomalloc', '-shared', '-fPIC', '-ldl', output='./nomalloc.so'))
summary = same([starved], 'a malloc that fails', inside=['env', f'LD_PRELOAD={nomalloc}'])
accounted(summary, 'a malloc that fails')

summary = same([build('storm'), '150'], 'a storm of forks')
t.check(summary['processes'] == 301, 'a storm of forks: each process is there', summary['processes'])

summary = same([split, '100000'], '16 descriptors', before=['sh', '-c', 'ulimit -n 16; exec "$@"', 'sh'])
accounted(summary, '16 descriptors')

splitting = t.command('gcc', '-O1', '-fsplit-stack', '-fno-optimize-sibling-calls', os.path.join(HOSTILE, 'split.c'), '-w', '-o', 'grown')
if splitting.returncode == 0 and t.command('./grown', '1').returncode == 7:
    summary = same(['./grown', '150000'], 'split stacks')
    accounted(summary, 'split stacks')
else:
    t.skip('split stacks', 'the compiler cannot make them here')

def limited(kilobytes, *words, **more):
    return t.command('bash', '-c', f'ulimit -f {kilobytes}; exec "$@"', 'bash', *words, **more)


writes = ['sh', '-c', 'head -c 4000000 /dev/zero >large; echo $?']
plain, run = limited(2048, *writes), limited(2048, t.sonde, 'record', '-o', 'large.x', *writes)
t.check(plain.stdout == run.stdout == '153\n', 'a limit on file sizes: it ends the program as without sonde', plain, run)
run = limited(8, t.sonde, 'record', '-o', 'limit.8', 'sh', '-c', 'echo ran')
t.check(run.returncode == 125 and run.stdout == '' and 'limit on file sizes is 8 kB' in run.stderr and 'ulimit -f' in run.stderr and
        not os.path.exists('limit.8'), 'a limit on file sizes without room for data: 125, and nothing runs', run)
run = limited(64, t.sonde, 'record', '-o', 'limit.64', split, '30000')
warnings = t.show('summary', experiment='limit.64')['warnings']
t.check(run.returncode == 7 and any('limit on file sizes is 64 kB' in w for w in warnings), 'a limit with little room is named', run, warnings)
run = limited(64, t.sonde, 'report', 'limit.64')
t.check(run.returncode == 5 and 'limit on file sizes is 64 kB' in run.stderr and 'ulimit -f' in run.stderr and
        not os.path.exists('limit.64/report.html'), 'a page beyond the limit: one sentence', run)
with open('/dev/full', 'w') as full:
    run = t.command(t.sonde, 'show', 'functions', 'limit.64', stdout=full, stderr=subprocess.PIPE)
t.check(run.returncode == 5 and 'No space left' in run.stderr and 'free some space' in run.stderr, 'a full disk: one sentence', run)

open('thirty-two', 'wb').write(b'\x7fELF\x01\x01\x01' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, 0, 0, 0, 0, 52, 32, 0, 40, 0, 0))
os.chmod('thirty-two', 0o755)
run, name = record(['./thirty-two'])
t.check(run.returncode == 125 and '32-bit' in run.stderr and not os.path.exists(name),
        'a 32-bit program is refused before it runs', run)

if os.getuid() == 0:
    folder = os.path.join(t.folder, 'nobody')
    os.mkdir(folder)
    os.chown(folder, NOBODY, NOBODY)
    os.chmod(t.folder, 0o755)
    shutil.copy(split, os.path.join(folder, 'split'))
    as_nobody = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder,
                     env=dict(os.environ, XDG_CACHE_HOME=folder, HOME=folder, TMPDIR=folder))
    if t.command('test', '-x', t.sonde, **as_nobody).returncode == 0:
        plain = t.command('./split', '150000', **as_nobody)
        run = t.command(t.sonde, 'record', '-o', 'mine', './split', '150000', **as_nobody)
        t.check((plain.stdout, plain.returncode) == (run.stdout, run.returncode), 'uid 65534: the same', plain, run)
        accounted(t.show('summary', experiment=os.path.join(folder, 'mine')), 'uid 65534')
        os.mkdir(os.path.join(folder, 'locked'), 0o755)
        run = t.command(t.sonde, 'record', '-o', 'locked/x', 'sh', '-c', 'echo ran', **as_nobody)
        t.check(run.returncode == 125 and run.stdout == '', 'a folder that cannot be written: 125, and nothing runs', run)
        shutil.copy('/bin/true', os.path.join(folder, 'raised'))
        os.chmod(os.path.join(folder, 'raised'), 0o4755)
        run = t.command(t.sonde, 'record', '-o', 'raised.x', './raised', **as_nobody)
        t.check(run.returncode == 125 and 'setuid' in run.stderr, 'a setuid program is refused', run)
        run = t.command(t.sonde, 'record', '-o', 'child.x', 'sh', '-c', './raised; echo $?', **as_nobody)
        warnings = t.show('summary', experiment=os.path.join(folder, 'child.x'))['warnings']
        t.check(run.stdout == '0\n' and any('setuid' in w for w in warnings), 'a setuid child runs, unmeasured, and that is said',
                run, warnings)
    else:
        t.skip('uid 65534', 'the build folder is not readable for it')
else:
    t.skip('uid 65534', 'only root can become another')
t.done()
