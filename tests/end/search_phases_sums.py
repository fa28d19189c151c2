"""sonde search --phase: what rows say adds up to what was lost in the executions that were measured, all steps together. The
programs time each execution's losses themselves, and the windows that the agent measured are in its spool."""
import json
import os

from sonde_test import HERE, Test

PROGRAMS = os.path.join(HERE, 'programs')
IO, LOCKS, HEAP = 3, 4, 5  # enum sn_monitor_source
# what the machine adds to a program's own losses, and what says where
NO_CAUSE = ('Oversubscribed', 'CpusTakenByOthers', 'NotRunning', 'HotRegion', 'SerialFraction')


def windows(name):
    """Of each window its begin, end, executions and what an agent had on, in bits."""
    with open(f'{name}/search.spool') as lines:
        all_windows = [list(map(int, line.split()[1:4] + line.split()[5:6])) for line in lines if line.startswith('window ')]
    return all_windows, [w for w in all_windows if w[3] & all_windows[-1][3] == all_windows[-1][3]]


def executions(text, spans):
    """Of those in the windows, the words that the program printed."""
    for words in map(str.split, text.splitlines()):
        if words[:1] == ['execution']:
            begin, end = (int(words[1]), int(words[2])) if '.' in words[3] else (int(words[3]), int(words[5]))
            if sum(max(0, min(end, b) - max(begin, a)) for a, b, *_ in spans) > (end - begin) / 2:
                yield words


def leaves(found):
    return [r for r in found['properties'] if not r['refined'] and r['property'] not in NO_CAUSE]


def told(found):
    return [(r['step'], r['property'], r['function'], round(r['severity'], 4), r['refined']) for r in found['properties']]


def whole(t, found, name, folder=None):
    """Rows of all steps are of the same executions: all that had on what any step asked for. Gives their windows, and how long they are."""
    every, spans = windows(folder or name)
    steps = {r['step'] for r in found['properties']}
    had = sum(s['executions'] for s in found['steps'])
    t.check(len(every) >= 3 and had == sum(w[2] for w in every) and len(steps) > 1, f'{name}: each step keeps its own executions', found['steps'], every)
    shares = [s['overhead_share'] for s in found['steps'] if s['executions']]
    t.check(all(0 < s <= 1 for s in shares) and len(set(shares)) == len(shares), f'{name}: each step has its own cost', found['steps'])
    length = sum(w[1] - w[0] for w in spans) / 1e9
    t.check(found['phase']['executions'] == sum(w[2] for w in spans) and
            abs(found['phase']['mean_s'] * found['phase']['executions'] - length) < 1e-6, f'{name}: rows are of all executions', found['phase'], spans)
    return spans, length


def threads(t):
    app = t.compile(os.path.join(PROGRAMS, 'phase_causes.c'), '-O2', '-g', '-fopenmp', '-pthread', output='./causes')
    os.environ['OMP_NUM_THREADS'] = '2'
    for attempt in range(3):
        name = f'threads.{attempt}'
        done = t.run('search', '--format', 'json', '--budget', '1', '-o', name, '--threshold', '0.02', '--phase', 'step', app, '400')
        found = json.loads(done.stdout)
        # what a team may have waited for a thread without a CPU is not its own (decision 0200): rows of its waits may lack as much
        lacked = max([r['severity'] for r in found['properties'] if r['property'] == 'NotRunning'], default=0)
        if lacked < .05:
            break
    spans, length = whole(t, found, 'threads', name)
    lanes_s = 2 * length
    lost = list(executions(done.stderr, spans))
    t.check(len(lost) == found['phase']['executions'], 'threads: the program knows the executions that were measured', len(lost), found['phase'])
    planted = [sum(float(words[k]) for words in lost) / lanes_s for k in (3, 4, 5)]
    ends = leaves(found)
    shares = [sum(r['severity'] for r in ends if r['property'] in names) for names in
              (('ImbalanceInParallelRegion', 'OmpOverhead', 'SmallParallelRegion'), ('LockContention', 'ContendedLock'), ('IOBlocked',))]
    for share, loss, of_others, cause in zip(shares, planted, (lacked, 0, 0), ('a late thread of a team', 'a lock', 'input')):
        t.check(.8 * loss - of_others <= share <= 1.1 * loss + .005, f'threads: waiting for {cause} costs what the program says', share, loss, of_others, told(found))
    all_ends = sum(r['severity'] for r in ends)
    t.check(.8 * sum(planted) - lacked <= all_ends <= 1.1 * sum(planted) + .01, 'threads: the rows add up to the loss', all_ends, planted, lacked, told(found))
    for name in ('IOBlocked', 'LockContention'):
        same = {round(r['severity'], 6) for r in found['properties'] if r['property'] == name}
        t.check(len(same) == 1, f'threads: {name} is the same on the whole way to its place, whichever step asked', told(found))


    locks = [r for r in ends if r['property'] == 'ContendedLock']
    t.check(locks and all('locks' in r['sources'] and r['evidence']['lock'] == 'mutex' for r in locks) and spans[-1][3] & 1 << LOCKS,
            'threads: the step that waits for a lock has locks traced, and it is named', told(found), spans)


def calls(t):
    """Calls are traced where a step asks for them, in its executions alone: each has as many as the program makes there."""
    app = t.compile(os.path.join(PROGRAMS, 'phase_calls.c'), '-O1', '-g', output='./calls')
    for what, bit, name, each in (('heap', HEAP, 'HeapChurn', 120000), ('io', IO, 'SmallIO', 5000)):
        done = t.run('search', '--format', 'json', '--budget', '1', '-o', what, '--threshold', '0.001', '--phase', 'step', app, what, '700')
        found = json.loads(done.stdout)
        _, spans = windows(what)
        rows = [r for r in found['properties'] if r['property'] == name]
        length = found['phase']['mean_s'] * found['phase']['executions']
        made = {round(r['evidence']['per_second'] * length / found['phase']['executions'], 6) for r in rows}
        t.check(spans[-1][3] == 1 << bit and made == {each}, f'{what}: an execution has its {each} calls', made, spans, told(found), done.stderr)
        t.check(not any(n['property'] == name for n in found['not_measurable']), f'{what}: it is measurable', found['not_measurable'])
    done = t.run('search', '--format', 'json', '--budget', '0', '--threshold', '0.001', '--phase', 'step', app, 'heap', '500')
    found = json.loads(done.stdout)
    t.check(done.stderr.count('samples took') == 1, 'samples that take more than the budget are taken less often, which is told', done.stderr)
    t.check('values of heap are refused' in done.stderr and 'HeapChurn' in [n['property'] for n in found['not_measurable']] and
            not any('heap' in r['sources'] for r in found['properties']), 'what took more than the budget is refused, and named', done.stderr)
    reasons = [n['reason'] for n in found['not_measurable'] if "'caches', which" in n['reason'] or "'variants', which" in n['reason']]
    t.check(reasons and all('needs a start of its own (--restarts 1)' in reason for reason in reasons), 'what copies of loops measure takes a start of its own, which is said',
            found['not_measurable'])


def ranks(t):
    if not t.has('mpicc', 'mpirun'):
        t.skip('ranks', 'no MPI')
        return
    app = t.compile(os.path.join(PROGRAMS, 'phase_ranks.c'), '-O2', '-g', compiler='mpicc', output='./ranks')
    launches = ['mpirun --allow-run-as-root --oversubscribe -n 2', 'mpirun -n 2']
    for attempt in range(5):
        name = f'ranks.{attempt}'
        done = t.run('search', '--format', 'json', '--budget', '1', '-o', name, '--threshold', '0.02', '--phase', 'step', '--launch', launches[0],
                     app, '400')
        if done.returncode:
            launches.reverse()
            continue
        found = json.loads(done.stdout)
        # ranks that wait for CPUs rather than for each other say nothing of barriers
        if sum(r['severity'] for r in found['properties'] if r['property'] in ('Oversubscribed', 'CpusTakenByOthers')) < .25:
            break
    t.check(done.returncode == 0, 'ranks: they are measured', done.stderr)
    spans, length = whole(t, found, name)
    lanes_s = 2 * length
    came = {}
    for words in executions(done.stderr, spans):
        came.setdefault(int(words[2]), []).append(int(words[4]))
    lost = sum(abs(both[0] - both[1]) for both in came.values() if len(both) == 2) / 1e9 / lanes_s
    ends = leaves(found)
    waits = [r for r in ends if r['property'] == 'WaitAtBarrier']
    t.check(len(waits) == 1 and 'mpi' in waits[0]['sources'] and waits[0]['processes'] == '0-1', 'ranks: each waits at the barrier', told(found))
    all_ends = sum(r['severity'] for r in ends)
    # a rank that polls without a CPU waits all the same (decision 0173)
    t.check(.8 * lost <= all_ends <= 1.1 * lost + .01, 'ranks: the rows add up to the loss', all_ends, lost, told(found))


def main():
    t = Test()
    threads(t)
    calls(t)
    ranks(t)
    t.done()


main()
