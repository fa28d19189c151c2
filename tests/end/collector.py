"""A collector that core knows by its struct alone (tests/collector): it is told of every call with its
arguments and its result, in each thread and in children, and its sums reach the data file."""
import os
import shutil
import subprocess

from datafile import read_folder
from sonde_test import Test

t = Test()
HERE = os.path.dirname(os.path.abspath(__file__))


def collected(name, settings='', words=()):
    """Runs tests/collector/NAME.c under the example; its data lie in ./data."""
    program = t.compile(os.path.join(HERE, '../collector', name + '.c'), '-O1', '-g', '-fno-inline', '-pthread', '-rdynamic')
    shutil.rmtree('data', ignore_errors=True)
    os.mkdir('data')
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LD_PRELOAD=os.environ['RUNTIME_LIBRARY'],
                                   SONDE_RUNTIME=f'{settings}dir={os.path.abspath("data")}'))


run = collected('reads')
t.equal((run.returncode, run.stdout), (0, 'done\n'), 'the program runs as ever')
parent, child = sorted(read_folder('data'), key=lambda d: d.start_ns)


def sums(data, name, thread):
    """Of the rows of one thread: calls and values, by the path that called."""
    return sorted((count, value) for who, what, stack, count, value in data.tallies if (who, what) == (thread, name))


t.equal(sums(parent, 'read asked', 0), [(5, 35), (10, 1000)], 'two paths of the main thread, by what they asked for')
t.equal(sums(parent, 'read got', 0), [(5, 0), (10, 1000)], 'and by what they got')
t.equal(sums(parent, 'read got', 1), [(3, 3)], 'the second thread has its own')
t.equal(sums(child, 'read got', 0), [(2, 100)], 'a child begins from nothing')
stacks = {stack for _, _, stack, _, _ in parent.tallies}
t.check(0 not in stacks and len(stacks) == 3, 'every path has its stack')
t.check(parent.samples and parent.ends, 'the other collectors are at work beside it')

for settings in ('', 'wait=0;'):
    run = collected('interrupted', settings)
    t.equal((run.returncode, run.stdout), (0, '0 in time\n'),
            f'a poll that our signals end goes on, and ends ({settings or "waits are recorded"})')

run = collected('breaks')
t.equal((run.returncode, run.stdout), (0, '2 traps, 0 steps\n'), "a program with a breakpoint has its own traps, and no others")
parent, child = sorted(read_folder('data'), key=lambda d: d.start_ns)
if any('no hardware breakpoint' in warning for warning in parent.warnings()) or not t.breakpoints_fire():
    t.skip('a place that is watched', 'this machine gives no hardware breakpoints')
else:
    t.equal(sums(parent, 'arrivals', 0) + sums(parent, 'arrivals', 1), [(1, 7), (1, 5)], 'each thread reached the place so often')
    t.equal(sums(child, 'arrivals', 0), [(1, 3)], 'a child has the breakpoint, too')
    run = collected('breaks', words=['20000'])
    t.equal((run.returncode, run.stdout), (0, '2 traps, 20000 steps\n'), 'a place that is reached too often is let alone')
    parent = min(read_folder('data'), key=lambda d: d.start_ns)
    t.check(any('over 400 times' in warning for warning in parent.warnings()), 'and that is said')
t.done()
