"""Each property that comes with sonde: one table where it is proven, one where not, one where it is not measurable;
the command's words for what is wrong; files that were damaged."""
import json
import os
import random
import re

from sonde_test import HERE, Test

SHIPPED = os.path.join(HERE, '..', '..', 'data', 'properties')

# property: (kind of region, rows that prove it, the severity, rows that do not). A row: metric[.level] keys = value, of
# a region r, data d, threads t0 .. t3 of process p0 (or t0 of p0 and p1 for properties of MPI); the phase takes 1 s.
THREADS = {
    'HotRegion': ('loop', ['own r t0 = .4', 'own r t1 = .4'], .2, ['own r t0 = 0']),
    'NotRunning': ('', ['off_cpu t0 = .5', 'off_cpu t1 = .3', 'off_cpu t2 = 0', 'off_cpu t3 = 0', 'explained_wait t0 = .2',
                        'explained_wait t1 = 0', 'explained_wait t2 = 0', 'explained_wait t3 = 0'], .15,
                   [f'{m} t{t} = .5' for m in ('off_cpu', 'explained_wait') for t in range(4)]),
    'Oversubscribed': ('', [f'run_delay t{t} = .{t}' for t in range(4)], .15, [f'run_delay t{t} = 0' for t in range(4)]),
    # of 0.6 s without a CPU the program's own threads made a third
    'CpusTakenByOthers': ('', [f'{m} t{t} = {v}' for t in range(4) for m, v in (('run_delay', t / 10), ('run_delay_own', t / 30))], .1,
                          [f'{m} t{t} = {t / 10}' for t in range(4) for m in ('run_delay', 'run_delay_own')]),
    # 0.4 s of each thread are unexplained, of which devices can have taken 0.3 s
    'MajorFaults': ('', ['major_faults = 100', 'device_wait = .3'] + [f'{m} t{t} = {v}' for m, v in (('off_cpu', .5), ('explained_wait', 0),
                         ('run_delay', .1)) for t in range(4)], .3,
                    ['major_faults = 1', 'device_wait = .3'] + [f'{m} t{t} = .5' for m in ('off_cpu', 'explained_wait', 'run_delay')
                                            for t in range(4)]),
    'MinorFaultStorm': ('loop', ['faults r t0 = .8', 'minor_faults = 5000'], .2, ['faults r t0 = .8', 'minor_faults = 10']),
    'StallCycles': ('loop', ['stalled r t0 = .4', 'cpu r t0 = 1'], .1, ['stalled r t0 = 0', 'cpu r t0 = 1']),
    'NotVectorised': ('loop', ['own r t0 = .8', 'vector_gain r = 4', 'vector_passes r = 4', 'trips_divisor r = 16', 'iterations r t0 = 1600',
                               'instances r t0 = 100'], .15, ['own r t0 = .8', 'vector_gain r = 1.1']),
    'LongLatencyOps': ('loop', ['own r t0 = .8', 'slow_operations r = .9', 'slow_cost r = .5'], .1,
                       ['own r t0 = .8', 'slow_operations r = .1', 'slow_cost r = .5']),
    'MemoryBoundByDecan': ('loop', ['own r t0 = .8', 'time_memory r = .95', 'time_original r = 1', 'time_arithmetic r = .25'],
                           .15, ['own r t0 = .8', 'time_memory r = .3', 'time_original r = 1', 'time_arithmetic r = 1']),
    'StrideWaste': ('loop', ['bytes_used r d t0 = 1', 'bytes_moved r d t0 = 4', 'misses.L3 r d t0 = 8', 'penalty.L3 = .1'], .075,
                    ['bytes_used r d t0 = 4', 'bytes_moved r d t0 = 4', 'misses.L3 r d t0 = 8', 'penalty.L3 = .1']),
    'PointerChasing': ('loop', ['chained_misses r d t0 = 6', 'misses.L3 r d t0 = 8', 'penalty.L3 = .1'], .075,
                       ['chained_misses r d t0 = 2', 'misses.L3 r d t0 = 8', 'penalty.L3 = .1']),
    'ConflictMisses': ('loop', ['conflict_misses r d t0 = 4', 'misses.L2 r d t0 = 8', 'penalty.L2 = .1'], .05,
                       ['conflict_misses r d t0 = 1', 'misses.L2 r d t0 = 8', 'penalty.L2 = .1']),
    'FalseSharing': ('loop', ['lines_shared_falsely r d t0 = 2', 'shared_at_once d = .5', 'penalty.L3 = .1'], .05, ['lines_shared_falsely r d t0 = 0']),
    'TrueSharing': ('loop', ['lines_shared r d t0 = 2', 'shared_at_once d = .5', 'penalty.L3 = .1'], .05, ['lines_shared r d t0 = 0']),
    'DTLBMiss': ('loop', ['misses.TLB r d t0 = 2', 'refs r d t0 = 100', 'penalty.TLB = .1'], .05,
                 ['misses.TLB r d t0 = 0', 'refs r d t0 = 100', 'penalty.TLB = .1']),
    'NUMARemote': ('loop', ['remote_misses r d t0 = 4', 'misses.L3 r d t0 = 8', 'remote_penalty = .1'], .05,
                   ['remote_misses r d t0 = 1', 'misses.L3 r d t0 = 8', 'remote_penalty = .1']),
    'BandwidthBound': ('loop', ['bytes_moved r d t0 = 8', 'time r = 1', 'bandwidth_peak = 10'], .5,
                       ['bytes_moved r d t0 = 5', 'time r = 1', 'bandwidth_peak = 10']),
    'UnbalLC2DMissRate': ('loop', ['misses.L2 r t0 = 2000'] + [f'misses.L2 r t{t} = 0' for t in (1, 2, 3)] +
                          [f'refs r t{t} = 4000' for t in range(4)] + ['penalty.L2 = .001'], .1875,
                          [f'misses.L2 r t{t} = 2000' for t in range(4)] + [f'refs r t{t} = 4000' for t in range(4)] +
                          ['penalty.L2 = .001']),
    'LC2DMissRateInSomeThread': ('loop', ['misses.L2 r t0 = 400', 'refs r t0 = 4000', 'penalty.L2 = .001'] +
                                 [f'{m} r t{t} = 0' for m in ('misses.L2', 'refs') for t in (1, 2, 3)], .05,
                                 ['misses.L2 r t0 = 4', 'refs r t0 = 4000'] +
                                 [f'{m} r t{t} = 0' for m in ('misses.L2', 'refs') for t in (1, 2, 3)]),
    'OmpOverhead': ('parallel', ['parallel_wait r t0 = .4'] + [f'body r t{t} = .5' for t in range(4)], .1,
                    ['parallel_wait r t0 = 0'] + [f'body r t{t} = .5' for t in range(4)]),
    'InsufficientParallelism': ('function', ['serial r t0 = .4', 'serial r t1 = 0', 'serial r t2 = 0', 'serial r t3 = 0', 'team = 4'], .3,
                                ['serial r t0 = 0', 'serial r t1 = 0', 'serial r t2 = 0', 'serial r t3 = 0', 'team = 4']),
    'SmallParallelRegion': ('parallel', ['time r = .4', 'region_calls r = 100', 'fork_join r = .06', 'body r t0 = .1', 'end_wait r t0 = .16'], .1,
                            ['time r = .4', 'region_calls r = 100', 'fork_join r = .001', 'body r t0 = .1', 'end_wait r t0 = .16']),
    'ImbalanceInParallelRegion': ('parallel', ['body r t0 = .9'] + [f'body r t{t} = .1' for t in (1, 2, 3)], .6,
                                  [f'body r t{t} = .5' for t in range(4)]),
    'ImbalanceInParallelLoop': ('loop', ['loop_body r t0 = .9'] + [f'loop_body r t{t} = .1' for t in (1, 2, 3)] +
                                [f'iterations r t{t} = 100' for t in range(4)], .6,
                                [f'loop_body r t{t} = .5' for t in range(4)]),
    'ImbalanceAtBarrier': ('loop', ['barrier_wait r t0 = .4'] + [f'barrier_wait r t{t} = 0' for t in (1, 2, 3)], .1,
                           ['barrier_wait r t0 = 0']),
    'ImbalanceInSections': ('parallel', ['sections_body r t0 = .4', 'end_wait r t1 = 1.2', 'team = 4'] + [f'sections_body r t{t} = 0' for t in (1, 2, 3)], .3,
                            [f'sections_body r t{t} = 0' for t in range(4)]),
    'SingleSerial': ('parallel', ['single_body r t0 = .4', 'team = 4', 'barrier_wait r t1 = 1', 'end_wait r t2 = .3'], .3, ['single_body r t0 = 0']),
    'OrderedSerial': ('loop', ['ordered_wait r t0 = .4'], .1, ['ordered_wait r t0 = 0']),
    'CriticalContention': ('loop', ['critical_wait r t0 = .4'], .1, ['critical_wait r t0 = 0']),
    'AtomicFrequent': ('loop', ['atomics r t0 = 1e6', 'atomic_time r t0 = .4'] + [f'atomics r t{t} = 0' for t in (1, 2, 3)], .1,
                       ['atomic_time r t0 = .4'] + [f'atomics r t{t} = 7' for t in range(4)]),
    'TaskTooFine': ('parallel', ['task_overhead r t0 = .4', 'task_body r t0 = .4', 'tasks r t0 = 9'], .1,
                    ['task_overhead r t0 = .01', 'task_body r t0 = .4', 'tasks r t0 = 9']),
    'TaskStarvation': ('parallel', ['task_wait r t0 = .4'], .1, ['task_wait r t0 = 0']),
    'OmpLockContention': ('parallel', ['omp_lock_wait r t0 = .4'], .1, ['omp_lock_wait r t0 = 0']),
    'IOBlocked': ('function', ['io_wait r t0 = .4'], .1, ['io_wait r t0 = 0']),
    'SmallIO': ('function', ['io_wait r t0 = .3', 'io_cpu r t0 = .1', 'io_bytes r t0 = 1000', 'io_calls r t0 = 1000'], .1,
                ['io_wait r t0 = .3', 'io_cpu r t0 = .1', 'io_bytes r t0 = 4095000', 'io_calls r t0 = 1000']),
    'LockContention': ('function', ['lock_wait r t0 = .4'], .1, ['lock_wait r t0 = 0']),
    'ContendedLock': ('function', ['lock_wait r t0 = .4', 'lock_wait_of r lm t0 = .4'] + [f'held_up t{t} = .{t}' for t in range(4)], .1,
                      ['lock_wait r t0 = .4', 'lock_wait_of r lm t0 = 0']),
    'CondWait': ('function', ['condition_wait r t0 = .4'], .1, ['condition_wait r t0 = 0']),
    'SemWait': ('function', ['semaphore_wait r t0 = .4'], .1, ['semaphore_wait r t0 = 0']),
    'JoinWait': ('function', ['join_wait r t0 = .4'], .1, ['join_wait r t0 = 0']),
    'SpinWait': ('function', ['spin r t0 = .4'], .1, ['spin r t0 = 0']),
    'HeapChurn': ('function', ['heap_calls r t0 = 1e6', 'heap_time r t0 = .4'], .1, ['heap_calls r t0 = 10']),
    'HeapLeak': ('function', ['heap_growth r = 100', 'memory_size = 1e6'], .36, ['heap_growth r = 0']),
    'HeapArenaContention': ('function', ['heap_wait r t0 = .4'], .1, ['heap_wait r t0 = 0']),
}
for k in (1, 2, 3):
    for of, keys in (('', 'r'), ('Data', 'r d')):
        THREADS[f'LC{k}{of}MissRate'] = (
            'loop', [f'misses.L{k} {keys} t0 = 4', f'refs {keys} t0 = 40', f'penalty.L{k} = .1'], .05,
            [f'misses.L{k} {keys} t0 = 1', f'refs {keys} t0 = 40', f'penalty.L{k} = .1'])
        rest = [f'{m} {keys} t{t} = 0' for m in (f'misses.L{k}', 'refs') for t in (1, 2, 3)]
        THREADS[f'LC{k}MissesInThread{"OfData" if of else ""}'] = (
            'loop', [f'misses.L{k} {keys} t0 = 400', f'refs {keys} t0 = 4000', f'penalty.L{k} = .001'] + rest, .05,
            [f'misses.L{k} {keys} t0 = 1', f'refs {keys} t0 = 4000', f'penalty.L{k} = .001'] + rest)


def beside_other_work(t):
    """Nothing is a team's fault that other programs make of it: what ends wait for threads without a CPU, and starts of teams."""
    region = ['body r t0 = .5', 'body r t1 = .5', 'body_cpu r t0 = .1', 'body_cpu r t1 = .1', 'team = 2', 'time r = .9', 'region_calls r = 400',
              'parallel_wait r t0 = .4', 'end_wait r t0 = .4', 'fork_join r = .05', 'own r t0 = .1']
    for delay, start, wanted in ((.4, .0001, set()), (0, .05, {'OmpOverhead', 'ImbalanceInParallelRegion', 'SmallParallelRegion'})):
        rows = region + [f'body_delay r t0 = {delay}', 'body_delay r t1 = 0', f'fork_join_own r = {start}']
        names = ('OmpOverhead', 'ImbalanceInParallelRegion', 'SmallParallelRegion')
        found = {n for n in names if judge(t, n, 'parallel', rows, [{'process': 0, 'threads': [0, 1]}])[0]['state'] == 'proven'}
        t.equal(found, wanted, f'a balanced team that lacks a CPU for {delay} s')


def all_in_table(t):
    """docs/method/properties.md has a row for each, and none for others; `list` has them all."""
    shipped = set()
    for name in os.listdir(SHIPPED):
        shipped |= set(re.findall(r'^property (\w+)', open(os.path.join(SHIPPED, name)).read(), re.M))
    table = open(os.path.join(HERE, '..', '..', 'docs', 'method', 'properties.md')).read()
    t.equal(sorted(re.findall(r'^\| `(\w+)` \|', table, re.M)), sorted(shipped), 'the table of properties has each once')
    for test in set(re.findall(r'`(search_\w+)`', table)):
        t.check(os.path.exists(os.path.join(HERE, test + '.py')), f'{test} is there')
    t.equal(len(t.run('properties', 'list').stdout.splitlines()) - 1, len(shipped), 'the list has them all')


def waits(metric):
    """What one rank spends beyond the other."""
    return ('function', [f'{metric} r p0 t0 = .5', f'{metric} r p1 t0 = .1', 'ranks = 2'], .4,
            [f'{metric} r p0 t0 = .1', f'{metric} r p1 t0 = .1', 'ranks = 2'])


def simple(metric):
    return ('function', [f'{metric} r p0 t0 = .4', 'ranks = 2'], .4, [f'{metric} r p0 t0 = 0', 'ranks = 2'])


def exact(metric):
    """What was waited, all of it: samples see less of a rank that polls without a CPU."""
    inside = ['mpi_time r p0 t0 = .4', 'mpi_point r p0 t0 = .3', 'mpi_poll r p0 t0 = .1']
    return ('function', [f'{metric} r p0 t0 = .6', 'wait_of_peer r p0 q1 = .6'] + inside, .6, [f'{metric} r p0 t0 = 0'] + inside)


RANKS = {
    'MPIExcessive': simple('mpi_time'), 'LateReceiver': exact('late_receiver'),
    'LateSender': exact('late_sender'), 'EarlyScan': exact('early_scan'), 'PollingWait': simple('mpi_poll'), 'WaitAtBarrier': waits('mpi_barrier'),
    'WaitAtNxN': waits('mpi_nxn'), 'EarlyReduce': waits('mpi_reduce'), 'LateBroadcast': waits('mpi_broadcast'),
    'BarrierCompletion': ('function', ['barrier_completion r p0 t0 = .3', 'nxn_completion r p0 t0 = .3', 'mpi_barrier r p0 t0 = .3',
                                       'mpi_nxn r p0 t0 = .1'], .4,
                          ['barrier_completion r p0 t0 = 0', 'nxn_completion r p0 t0 = 0', 'mpi_barrier r p0 t0 = .3', 'mpi_nxn r p0 t0 = .1']),
    'ManySmallMessages': ('function', ['small_messages r p0 t0 = 5000', 'message_bytes r p0 t0 = 5000', 'messages r p0 t0 = 5000',
                                       'small_message_time r p0 t0 = .4'], .4, ['small_messages r p0 t0 = 5']),
    'LargeMessages': ('function', ['large_message_bytes r p0 t0 = 40', 'large_message_time r p0 t0 = .8', 'network_peak = 100'],
                      .4, ['large_message_bytes r p0 t0 = 80', 'large_message_time r p0 t0 = .8', 'network_peak = 100']),
    'EagerLimitDependent': ('function', ['eager_messages r p0 t0 = 5', 'messages r p0 t0 = 10', 'late_receiver r p0 t0 = .8'], .4,
                            ['eager_messages r p0 t0 = 1', 'messages r p0 t0 = 10', 'late_receiver r p0 t0 = .8']),
    'OverloadedMaster': ('function', ['wait_of_peer r p0 q1 = .4', 'ranks = 3'], .4, ['wait_of_peer r p0 q1 = .4', 'ranks = 2']),
    'MPILoadImbalance': ('', ['cpu p0 t0 = .6', 'mpi_time p0 t0 = .4', 'cpu p1 t0 = .7', 'mpi_time p1 t0 = .1', 'ranks = 2'], .4,
                         ['cpu p0 t0 = .6', 'mpi_time p0 t0 = .4', 'cpu p1 t0 = .6', 'mpi_time p1 t0 = .4', 'ranks = 2']),
    'LateRankRegion': ('function', ['own r p0 t0 = .2', 'own r p1 t0 = .1', 'mpi_time p0 t0 = 0', 'mpi_time p1 t0 = .1', 'ranks = 2'], .1,
                       ['own r p0 t0 = .1', 'own r p1 t0 = .1', 'mpi_time p0 t0 = 0', 'mpi_time p1 t0 = .1', 'ranks = 2']),
    'TransferBound': ('function', [f'{m} r {p} t0 = .1' for m in ('mpi_nxn', 'mpi_reduce', 'mpi_broadcast', 'mpi_barrier')
                                   for p in ('p0', 'p1')] + ['mpi_time r p0 t0 = .4', 'ranks = 2'], .4,
                      [f'{m} r {p} t0 = 0' for m in ('mpi_nxn', 'mpi_reduce', 'mpi_broadcast', 'mpi_barrier')
                       for p in ('p0', 'p1')] + ['ranks = 2']),
}


def row(text):
    left, value = text.split(' = ')
    metric, *keys = left.split()
    result = {'metric': metric.split('.')[0], 'value': float(value), 'process': '0'}
    if '.' in metric:
        result['level'] = metric.split('.')[1]
    for key in keys:
        result.update({'r': {'region': 'r'}, 'd': {'data': 'd'}, 't': {'thread': key[1:]}, 'p': {'process': key[1:]},
                       'q': {'peer': key[1:]}, 'l': {'lock': key[1:]}}[key[0]])
    return result


def judge(t, name, kind, rows, processes):
    tables = {'schema': 'sonde.tables/1', 'phase_s': 1, 'data': [{'data': 'd', 'name': 'd'}], 'locks': [{'lock': 'm'}], 'processes': processes,
              'regions': [{'region': 'r', 'name': 'r', 'kind': kind}], 'metrics': [row(r) for r in rows]}
    with open('t.json', 'w') as out:
        json.dump(tables, out)
    done = t.run('properties', 'eval', '--tables', 't.json')
    found = [r for r in json.loads(done.stdout)['rows'] if r['property'] == name]
    return found[0], done


def counted_iterations(t):
    """What is left over of each time that a loop is entered is no work for vectors."""
    code = ['own r t0 = .8', 'vector_gain r = 4', 'vector_passes r = 4']
    processes = [{'process': 0, 'threads': [0, 1, 2, 3]}]
    for trips, divisor, gain in ((None, None, 4), (3, 1, 1), (10, 1, 10 / (8.5 / 4 + 1.5)), (10, 2, 10 / (8.5 / 4 + 1.5)), (12, 4, 4)):
        rows = code + ([f'iterations r t0 = {trips * 50}', 'instances r t0 = 50', f'trips_divisor r = {divisor}'] if trips else [])
        got, _ = judge(t, 'NotVectorised', 'loop', rows, processes)
        t.check((got['state'] == 'not_proven') if gain == 1 else got['state'] == 'proven' and abs(got['severity'] - .2 * (1 - 1 / gain)) < 1e-9,
                f'NotVectorised: {trips} iterations', got)


def shipped(t):
    """All of them, with a state of each kind."""
    listed = {r['property']: r for r in json.loads(t.run('properties', 'list', '--format', 'json').stdout)['rows']}
    cases = [(n, c, [{'process': 0, 'threads': [0, 1, 2, 3]}]) for n, c in THREADS.items()]
    cases += [(n, c, [{'process': p, 'threads': [0]} for p in (0, 1)]) for n, c in RANKS.items()]
    t.equal(sorted(n for n, _, _ in cases), sorted(listed), f'each of {len(listed)} properties has its tables')
    for name, (kind, proving, severity, refuting), processes in cases:
        faults = []
        got, done = judge(t, name, kind, proving, processes)
        if got['state'] != 'proven' or abs(got['severity'] - severity) > 1e-9 or done.stderr:
            faults.append(f'proven with {severity}: {got} {done.stderr}')
        if None in got['evidence'].values() and name not in ('WaitAtBarrier', 'WaitAtNxN'):
            faults.append(f'evidence is unknown: {got}')
        if refuting:
            got, _ = judge(t, name, kind, refuting, processes)
            if got['state'] != 'not_proven' or got['needs']:
                faults.append(f'not proven: {got}')
        got, _ = judge(t, name, kind, [], processes)
        if got['state'] != 'not_measurable' or not got['needs']:
            faults.append(f'not measurable: {got}')
        t.check(not faults, f'{name}: proven, not proven, not measurable', *faults)


def in_turn(t):
    """Of two ranks that wait for each other in turn both have the same time in collective calls; that is no transfer."""
    ranks = [{'process': p, 'threads': [0]} for p in (0, 1)]
    spent = [f'{m} r {p} t0 = {.1 if m == "mpi_barrier" else 0}' for m in ('mpi_nxn', 'mpi_reduce', 'mpi_broadcast', 'mpi_barrier')
             for p in ('p0', 'p1')] + [f'mpi_time r {p} t0 = .1' for p in ('p0', 'p1')] + ['ranks = 2']
    for waited in (.1, .06):
        traced = [f'{m} r {p} t0 = {waited if m == "wait_barrier" else 0}'
                  for m in ('wait_nxn', 'wait_reduce', 'wait_broadcast', 'wait_barrier') for p in ('p0', 'p1')]
        got, _ = judge(t, 'TransferBound', 'function', spent + traced, ranks)
        t.check((got['state'] == 'proven') == (waited < .1) and (waited == .1 or abs(got['severity'] - .04) < 1e-9),
                f'of .1 in barriers, {waited} of them traced waits, the rest is transfer', got)
        got, _ = judge(t, 'BarrierCompletion', 'function', spent + traced + ['barrier_completion r p0 t0 = .1', 'nxn_completion r p0 t0 = 0'], ranks)
        t.check((got['state'] == 'proven') == (waited < .1) and (waited == .1 or abs(got['severity'] - .04) < 1e-9),
                f'and what is left of them is at most that', got)


def no_cpu(t):
    """Ranks that had a CPU for half of their collective calls: waits are told whole, transfers in that half, and all add up."""
    ranks = [{'process': p, 'threads': [0]} for p in (0, 1)]
    both = ('p0', 'p1')
    spent = {'mpi_barrier': .2, 'mpi_nxn': 0, 'mpi_reduce': 0, 'mpi_broadcast': 0, 'mpi_time': .2, 'barrier_elapsed': .4, 'nxn_elapsed': 0,
             'reduce_elapsed': 0, 'broadcast_elapsed': 0, 'wait_barrier': .3, 'wait_nxn': 0, 'wait_reduce': 0, 'wait_broadcast': 0,
             'barrier_completion': .1, 'nxn_completion': 0, 'mpi_wait_delay': .15}
    rows = [f'{m} r {p} t0 = {v}' for m, v in spent.items() for p in both] + ['ranks = 2']
    rows += [f'{m} {p} t0 = {v}' for m, v in (('mpi_wait_delay', .15), ('run_delay', .2), ('off_cpu', .25), ('explained_wait', 0)) for p in both]
    names = {'WaitAtBarrier': .3, 'TransferBound': .05, 'BarrierCompletion': .05, 'MPIExcessive': .35, 'Oversubscribed': .05, 'NotRunning': .1}
    got = {name: judge(t, name, 'function', rows, ranks)[0] for name in names}
    for name, severity in names.items():
        t.within(got[name]['severity'], severity, 1e-9, f'{name}: of waits all of the time, of the rest as much as samples saw of the calls')
    # by samples alone: all time without a CPU in MPI is that of its calls
    rows = [f'{m} r {p} t0 = {v}' for m, each in (('mpi_time', (.4, .1)), ('mpi_barrier', (.2, .1)), ('mpi_delay', (.4, 0)), ('mpi_poll', (.1, 0)))
            for p, v in zip(both, each)] + ['mpi_delay p0 t0 = .4', 'run_delay p0 t0 = .45', 'run_delay p1 t0 = 0', 'ranks = 2']
    for name, severity in {'MPIExcessive': .8, 'WaitAtBarrier': .2, 'PollingWait': .2, 'Oversubscribed': .05}.items():
        t.within(judge(t, name, 'function', rows, ranks)[0]['severity'], severity, 1e-9, f'{name}: by samples, stretched')
    t.equal(got['TransferBound']['confidence'], got['MPIExcessive']['confidence'], 'the confidence of a metric is known where no value of it is asked for')
    # samples saw rank 0 less at the barrier, and a trace of another start that it is the one that waits
    for m, name in (('barrier', 'WaitAtBarrier'), ('nxn', 'WaitAtNxN')):
        rows = [f'{what} r {p} t0 = {v}' for what, each in ((f'mpi_{m}', (.3, .4)), (f'wait_{m}', (.3, .1)), ('mpi_wait_delay', (0, 0)))
                for p, v in zip(both, each)] + ['ranks = 2']
        t.equal(judge(t, name, 'function', rows, ranks)[0]['evidence']['late_rank'], '1', f'{name}: the rank that waits is not the late one')


def refinements(t):
    rows = json.loads(t.run('properties', 'list', '--format', 'json').stdout)['rows']
    names = {r['property'] for r in rows}
    t.check(all(p in names for r in rows for p in r['refines'].split()), 'what is refined is there')
    text = t.run('properties', 'explain', 'LateSender').stdout
    t.check('metric mpi_time(r: region, t: thread): s' in text and 'param instant = 1e-09 s;' in text, 'explain has what the property asks for', text)
    text = t.run('properties', 'explain', 'ImbalanceInParallelRegion').stdout
    t.check('severity' in text and 'metric body' in text and 'refined by: ImbalanceInParallelLoop' in text,
            'explain prints a property, its metrics and what refines it', text)


def words(t):
    done = t.run('properties', 'explain', 'HotRegoin')
    t.check(done.returncode == 2 and "did you mean 'HotRegion'?" in done.stderr, 'an unknown name has a neighbour',
            done.stderr)
    done = t.run('properties', 'eval', '--tables', 'nowhere.json')
    t.check(done.returncode == 5 and 'nowhere.json' in done.stderr, 'tables that are not there', done.stderr)
    done = t.run('properties', 'check', 'nowhere.prop')
    t.check(done.returncode == 5 and 'nowhere.prop' in done.stderr, 'a file that is not there', done.stderr)
    with open('big.prop', 'w') as out:
        out.write('property Big(r: region) { condition own(r) > 0 s; confidence 1; severity 3; }')
    with open('bad.prop', 'w') as out:
        out.write('property Bad(r: region) { condition own(r) > 0; confidence 1; severity 1; }')
    done = t.run('properties', 'check', 'big.prop')
    t.check(done.returncode == 0 and done.stdout == 'big.prop: 1 property, no errors, 2 warnings\n' and
            'big.prop:1:62: warning: the confidence is 1 whatever was measured' in done.stderr and
            'big.prop:1:74: warning: a severity is a share from 0 to 1, and this is always 3' in done.stderr and '^' in done.stderr,
            'what is legal and hardly meant is a warning', done.stdout, done.stderr)
    with open('sure.prop', 'w') as out:
        out.write('metric mine(r: region): s adds needs sampels;\n'
                  'property Sure(r: region) { condition mine(r) > 0 s; confidence 5; severity 0.5; }')
    done = t.run('properties', 'check', 'sure.prop')
    t.check(done.returncode == 5 and "sure.prop:1:38: error: there is no source 'sampels'; did you mean 'samples'?" in done.stderr and
            'sure.prop:2:64: warning: a confidence is a share from 0 to 1, and this is always 5' in done.stderr,
            'sources are checked at load, and confidences that are none', done.stderr)
    done = t.run('properties', 'check', 'nowhere.prop', 'big.prop', 'bad.prop')
    t.check(done.returncode == 5 and 'nowhere.prop' in done.stderr and 'bad.prop:1:44' in done.stderr and 'big.prop: 1 property' in done.stdout,
            'a file that is not there leaves the others to be checked', done.stdout, done.stderr)
    with open('words.prop', 'w') as out:
        out.write('property Words(r: regin) { condition own(r) > 1 ms; confidence confidense(own); severity own(r) / (time(phase) * lanez); }\n'
                  'property More(r: region) { condition own(r) > 1.5us && sum(own(r) over t in threadz) > 2 MB; confidence 1; severity 1; }\n'
                  'property Last(r: region) { condition own(r) > 1 S and samples(r) > 5 smples; confidence 1; severity 1 / lanez; }\n')
    said = t.run('properties', 'check', 'words.prop').stderr
    for sentence in ("not 'regin'; did you mean 'region'?", "'ms' is no unit; 1 ms is written 0.001 s",
                     "there is no metric 'confidense'; did you mean 'confidence'?", "there is no 'lanez'; did you mean 'lanes'?",
                     "'us' is no unit; 1.5 us is written 1.5e-06 s", "'&' means nothing here; write 'and'",
                     "there is no set 'threadz'; did you mean 'threads'?", "'S' is no unit; did you mean 's'?",
                     "'smples' is no unit; did you mean 'samples'?"):
        t.check(sentence in said, 'an error says what was meant: ' + sentence, said)
    with open('t.json', 'w') as out:
        json.dump({'schema': 'sonde.tables/1', 'phase_s': 1, 'regions': [{'region': 1}],
                   'metrics': [{'metric': 'own', 'region': 1, 'value': 1}]}, out)
    done = t.run('properties', 'eval', '-P', 'big.prop', '-P', 'bad.prop', '--tables', 't.json')
    rows = json.loads(done.stdout)['rows']
    t.check(done.returncode == 5 and 'bad.prop:1:44: error: s and a plain number cannot be compared' in done.stderr and
            [r['property'] for r in rows] == ['Big'], 'a bad file disables only itself', done.stderr, rows)
    t.check(rows[0]['severity'] == 1 and "'Big' claims a severity of 3" in done.stderr, 'a severity above 1 is a warning')


def rates(t):
    """A loop that one of n threads runs alone has imbalance n - 1, exactly."""
    for threads in (2, 3, 7, 16, 64):
        with open('one.json', 'w') as out:
            json.dump({'schema': 'sonde.tables/1', 'phase_s': 1, 'processes': [{'process': 0, 'threads': list(range(threads))}],
                       'regions': [{'region': 'r', 'kind': 'parallel'}, {'region': 'l', 'kind': 'loop'}],
                       'metrics': [{'metric': m, 'region': r, 'thread': n, 'value': .3 if n == 1 else 0}
                                   for n in range(threads) for m, r in (('body', 'r'), ('loop_body', 'l'))]}, out)
        got = {r['property']: r['rate'] for r in json.loads(t.run('properties', 'eval', '--tables', 'one.json').stdout)['rows']
               if r['state'] == 'proven'}
        t.equal([got.get('ImbalanceInParallelRegion'), got.get('ImbalanceInParallelLoop')], [threads - 1] * 2,
                f'one of {threads} threads works: the imbalance is {threads - 1}')


def damaged(t):
    """A mark that means nothing, put before any word of a file, is reported at its place."""
    rng, faults, places = random.Random(1), [], []
    os.mkdir('damaged')
    for n in range(200):
        name = rng.choice(sorted(os.listdir(SHIPPED)))
        lines = open(os.path.join(SHIPPED, name)).read().split('\n')
        line = rng.choice([i for i, text in enumerate(lines) if text.strip() and not text.startswith('//')])
        bare = re.sub(r'"[^"]*"|//.*', lambda m: ' ' * len(m[0]), lines[line])
        starts = [m.start() for m in re.finditer(r'\w+', bare)]
        if not starts:
            continue
        column = rng.choice(starts)
        lines[line] = lines[line][:column] + '@ ' + lines[line][column:]
        with open(f'damaged/{n:03}.prop', 'w') as out:
            out.write('\n'.join(lines))
        places.append(f'damaged/{n:03}.prop:{line + 1}:{column + 1}: error: \'@\' means nothing here')
    done = t.run('properties', 'check', 'damaged')
    faults = [p for p in places if p not in done.stderr]
    t.check(done.returncode == 5 and not faults, f'{len(places)} damaged files: each error at its place', *faults[:5])
    texts = [open(os.path.join(SHIPPED, name), 'rb').read() for name in sorted(os.listdir(SHIPPED))]
    codes = set()
    for n in range(60):
        text = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, 20)):
            at = rng.randrange(len(text))
            cut = rng.choice([b'', bytes([rng.randrange(256)]), b'(', b')', b'}', b';', b'"', b'max', b'or a:'])
            text[at:at + rng.choice([0, 1, 1, 9])] = cut
        with open('mutant.prop', 'wb') as out:
            out.write(text)
        codes.add(t.run('properties', 'check', 'mutant.prop', text=False).returncode)
    t.check(codes <= {0, 5}, 'mutants are refused or accepted, nothing else', codes)


def major_faults(t):
    """They take no more time than the host's devices, or so many faults, can have taken; where that is not known, none."""
    def judged(**more):
        tables = {'schema': 'sonde.tables/1', 'phase_s': 1, 'processes': [{'process': 0, 'threads': [0, 1]}],
                  'metrics': [{'metric': 'major_faults', 'value': more.pop('faults', 1000)}] +
                  [{'metric': m, 'thread': i, 'process': 0, 'value': v} for m, v in (('off_cpu', .8), ('explained_wait', 0), ('run_delay', 0)) for i in (0, 1)] +
                  [{'metric': m, 'value': v} for m, v in more.items()]}
        with open('faults.json', 'w') as out:
            json.dump(tables, out)
        rows = json.loads(t.run('properties', 'eval', '--tables', 'faults.json').stdout)['rows']
        return next(r for r in rows if r['property'] == 'MajorFaults')
    t.equal(judged()['state'], 'not_measurable', 'page faults from a device: without what devices took not measurable')
    t.equal(judged()['needs'], ['device_wait'], 'which it says')
    t.within(judged(device_wait=2)['severity'], .8, 1e-9, 'all that is unexplained, where devices can have taken it')
    t.within(judged(device_wait=.1)['severity'], .1, 1e-9, 'no more than devices took')
    t.within(judged(device_wait=2, faults=20)['severity'], .2, 1e-9, 'and no more than 20 ms a fault')


def by_intervals(t):
    """A loop is bound by memory where it is faster without its accesses by a tenth, and beyond the interval."""
    def state(arithmetic, error):
        tables = {'schema': 'sonde.tables/1', 'phase_s': 1, 'regions': [{'region': 'l', 'kind': 'loop'}],
                  'metrics': [{'metric': m, 'region': 'l', 'value': v, 'error': e} for m, v, e in
                              (('own', .9, 0), ('time_original', 1, error), ('time_memory', 1, error), ('time_arithmetic', arithmetic, error))]}
        with open('variants.json', 'w') as out:
            json.dump(tables, out)
        rows = json.loads(t.run('properties', 'eval', '--tables', 'variants.json').stdout)['rows']
        return next(r['state'] for r in rows if r['property'] == 'MemoryBoundByDecan')
    t.equal([state(.5, .05), state(.93, 0), state(.85, .2)], ['proven', 'not_proven', 'not_proven'], 'variants that differ by noise prove nothing')


def unknown_metrics(t):
    """A metric that nobody declares is told, and the rest is evaluated."""
    tables = {'schema': 'sonde.tables/1', 'phase_s': 1, 'regions': [{'region': 'f', 'kind': 'loop'}],
              'metrics': [{'metric': 'own', 'region': 'f', 'value': .4}, {'metric': 'missses', 'level': 'L2', 'region': 'f', 'value': 1},
                          {'metric': 'missses', 'level': 'L3', 'region': 'f', 'value': 1}, {'metric': 'misses', 'level': 'L1', 'region': 'f', 'value': 1}]}
    with open('misspelt.json', 'w') as out:
        json.dump(tables, out)
    done = t.run('properties', 'eval', '--tables', 'misspelt.json')
    t.equal(done.stderr, "sonde: properties: 'misspelt.json': there is no metric 'missses', so its values are left out; did you mean 'misses'?\n",
            'a misspelt metric is told, once')
    t.check(done.returncode == 0 and any(r['state'] == 'proven' and r['property'] == 'HotRegion' for r in json.loads(done.stdout)['rows']),
            'and what is known is evaluated')


def main():
    t = Test()
    by_intervals(t)
    unknown_metrics(t)
    major_faults(t)
    shipped(t)
    counted_iterations(t)
    in_turn(t)
    no_cpu(t)
    beside_other_work(t)
    refinements(t)
    words(t)
    rates(t)
    damaged(t)
    all_in_table(t)
    t.done()


main()
