"""Programs that do nasty things, with the runtime and without: what they print and how they end must
be the same, and what was recorded must be true. The data files are read by a decoder of our own."""
import ctypes
import mmap
import os
import resource
import shutil
import struct
import subprocess
import sys
import threading
import time

from datafile import ABORTED, EXECED, EXITED, LATE, REMAINDER, RUNNING, SYSTEM, read_folder
from sonde_test import Test

t = Test()
LIBRARY = os.path.abspath(os.environ.get('SONDE_RUNTIME_SO') or
                          os.path.join(os.path.dirname(t.sonde), 'src/runtime/libsonde-runtime.so'))
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../hostile')
CHUNK, HEADER = 8192, 4096
COOKIE = 0x736f6e6465000000 # of our events' signals


class Feeder(threading.Thread):
    """Does what the launcher does for growing files."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.maps, self.stop = folder, {}, False

    def run(self):
        while not self.stop:
            for name in os.listdir(self.folder):
                self.feed(os.path.join(self.folder, name))
            time.sleep(0.004)

    def feed(self, path):
        if path not in self.maps:
            fd = os.open(path, os.O_RDWR)
            if os.fstat(fd).st_size < HEADER:
                os.close(fd)
                return
            self.maps[path] = fd, mmap.mmap(fd, HEADER)
        fd, page = self.maps[path]
        following, backed = struct.unpack_from('<II', page, 24)
        if backed and following + 512 > backed:
            os.posix_fallocate(fd, 0, HEADER + (following + 1024) * CHUNK)
            struct.pack_into('<I', page, 28, following + 1024)


def environment(settings, folder, **more):
    return dict(os.environ, LD_PRELOAD=LIBRARY, SONDE_RUNTIME=f'{settings};dir={folder}', **more)


def measure(words, settings='', feed=True, **more):
    """Runs under the runtime. Gives the process and the data files."""
    folder = os.path.join(t.folder, f'data{t.number}.{time.monotonic_ns()}')
    os.mkdir(folder)
    feeder = Feeder(folder)
    if feed:
        feeder.start()
    env = environment(settings, folder, **more.pop('add', {}))
    run = subprocess.run([str(w) for w in words], env=env, capture_output=True, timeout=100,
                         stdin=subprocess.DEVNULL, **more)
    feeder.stop = True
    return run, read_folder(folder)


plain_runs = {}  # by their words, as long as no program is built anew


def same(words, name, settings='', **more):
    """Output and status with and without; gives the data files."""
    key = str((words, sorted(more.get('add', {}).items())))
    if key not in plain_runs:
        plain_runs[key] = subprocess.run([str(w) for w in words], capture_output=True, timeout=100,
                                         stdin=subprocess.DEVNULL, env=dict(os.environ, **more.get('add', {})))
    plain = plain_runs[key]
    run, data = measure(words, settings, **more)
    t.check((plain.stdout, plain.stderr, plain.returncode) == (run.stdout, run.stderr, run.returncode),
            f'{name}: the same output and status', plain, run)
    t.check(not any(d.damaged for d in data), f'{name}: no damaged record')
    return data


def perf_is_refused():
    """Whether the kernel refuses a task-clock event here (a container's filter, perf_event_paranoid 3)."""
    attr = struct.pack('<IIQQQQQ', 1, 112, 1, 1000000, 0, 0, 1 << 5 | 1 << 6) + bytes(64)
    fd = ctypes.CDLL(None, use_errno=True).syscall(298, attr, 0, -1, -1, 8)
    if fd >= 0:
        os.close(fd)
    return fd < 0


def build(name, *flags):
    plain_runs.clear()
    return t.compile(os.path.join(HOSTILE, name + '.c'), '-O2', *flags)


def cpu_s(data):
    return sum(d.cpu_ns() for d in data) / 1e9


def kernel_s(data):
    return sum(d.end_user_ns + d.end_system_ns - d.start_user_ns - d.start_system_ns for d in data) / 1e9


def accounted(data, name, low=0.95, high=1.05):
    share = cpu_s(data) / kernel_s(data)
    t.check(low <= share <= high, f'{name}: the CPU time is accounted for', f'{share:.3f} of {kernel_s(data):.3f} s')


def complete(data, name, least=0.999):
    stacks = [d.frames(s[3])[1] for d in data for s in d.samples if s[3]]
    share = sum(f & 1 for f in stacks) / max(1, len(stacks))
    t.check(stacks and share >= least, f'{name}: stacks are complete', f'{share:.4f} of {len(stacks)}')


def split():
    app = build('split', '-fno-optimize-sibling-calls')
    data = same([app, 300000], 'split')
    t.equal(len(data), 1, 'split: one data file')
    d = data[0]
    t.equal((d.state, d.exit_code), (EXITED, 7), 'split: the end is known')
    if perf_is_refused():
        t.skip('split: by perf signals', 'perf events are refused here')
    else:
        t.equal(d.mechanism, 1, 'split: by perf signals')
    accounted(data, 'split')
    complete(data, 'split')
    symbols = subprocess.run(['nm', app], capture_output=True, text=True).stdout.split('\n')
    at = {w[2]: int(w[0], 16) for w in map(str.split, symbols) if len(w) == 3}
    bias = next(m[2] for m in d.maps if m[6] & 1)
    inside = {}
    for _, _, cpu_ns, stack, _, _ in d.samples:
        if stack:
            pc = d.frames(stack)[0][0] - bias
            name = max((a, n) for n, a in at.items() if a <= pc)[1]
            inside[name] = inside.get(name, 0) + cpu_ns
    share = inside['leaf_a'] / (inside['leaf_a'] + inside['leaf_b'])
    n = len(d.samples)
    t.within(share, 2 / 3, 4 * (2 / 9 / n) ** 0.5, 'split: two thirds of the time are in leaf_a')
    depths = sorted(len(d.frames(s[3])[0]) for s in d.samples if s[3])
    t.check(depths[len(depths) // 2] == depths[-1] >= 34, 'split: thirty calls deep', depths[::50])


def threads():
    app = build('threads', '-pthread')
    data = same([app, 2000, 0.45, 2], '2000 threads')
    d = data[0]
    t.equal((d.threads_started, len(d.ends)), (2001, 2001), '2000 threads: each has its account')
    # of each some 30 us lie before our code in it, and behind its last account: 5 % on a virtual machine
    accounted(data, '2000 threads')
    seen = sum(1 for s in d.samples if s[3] and not s[4] & REMAINDER)
    t.check(180 < seen < 1300, '2000 threads of 0.45 ms: hundreds are seen at work', seen)
    t.check(any('many threads' in w for w in d.warnings()), '2000 threads: the change of mechanism is said')
    data = same([app, 5000, 0.01, 5000], '5000 threads')
    t.equal(data[0].threads_started, 5001, '5000 threads at one time')
    t.check(data[0].lost[0] > 0 or len(data[0].ends) == 5001, '5000 threads: each has its account, or the loss is counted',
            data[0].lost, len(data[0].ends))


def forks():
    app = build('forks', '-w')
    data = same([app], 'forks')
    programs = [os.path.basename(d.program) for d in data]
    t.check(programs.count('forks') >= 14, 'forks: every image has its file', programs)
    t.equal(programs.count('sh'), 3, 'forks: the shells of system, popen and wordexp')
    t.check(all(d.state in (EXITED, EXECED) for d in data), 'forks: every image ended')
    t.check(any(d.sequence == 1 for d in data), 'forks: exec in the same process makes a new file')
    accounted(data, 'forks', 0.9, 1.1)
    for follow, expect in (('none', {'forks'}), ('fork', {'forks'}), ('exec', {'forks', 'sh'}),
                           ('regex;regex=/(dash|bash)$', {'forks', 'sh'}), ('regex;regex=/sh$', {'forks', 'sh'})):
        data = same([app], f'follow={follow}', f'follow={follow}')
        t.equal({os.path.basename(d.program) for d in data}, expect, f'follow={follow}: programs')
        origins = [d.origin for d in data]
        if follow == 'none':
            t.equal(origins, [0], 'follow=none: one file')
        if follow == 'fork':
            t.equal(sum(o == 0 for o in origins), 1, 'follow=fork: no new program')


def shell():
    script = 'i=0; while [ $i -lt 20 ]; do x=$(echo $i | sed s/1/2/); /bin/true; i=$((i+1)); done; echo $x'
    data = same(['sh', '-c', script], 'a shell script')
    followers = [d for d in data if d.follows_exec]
    t.check(len(followers) == 20 and len(data) == 101, 'a shell script: 81 processes, 20 of them exec once more',
            len(data), len(followers))
    without = sum(s[2] for d in data for s in d.samples if not s[3])
    t.check(without < 0.4 * 1e9 * cpu_s(data), 'a shell script: most of the time has a stack', without / 1e9, cpu_s(data))


def env():
    plain = subprocess.run(['env'], capture_output=True, env=dict(os.environ, LAST='1')).stdout
    folder = os.path.join(t.folder, 'env')
    os.mkdir(folder)
    run = subprocess.run(['env'], capture_output=True,
                         env=dict(os.environ, LAST='1', LD_PRELOAD=LIBRARY, SONDE_RUNTIME=f'dir={folder}'))
    t.equal(run.stdout, plain, 'env: prints what it prints without')
    with_theirs = dict(os.environ, LD_PRELOAD='/lib/x86_64-linux-gnu/libm.so.6', Z='1')
    plain = subprocess.run(['env'], capture_output=True, env=with_theirs).stdout
    with_ours = dict(with_theirs, LD_PRELOAD=LIBRARY + ':' + with_theirs['LD_PRELOAD'],
                     SONDE_RUNTIME=f'dir={folder}')
    run = subprocess.run(['env'], capture_output=True, env=with_ours)
    t.equal(run.stdout, plain, "env: the user's own LD_PRELOAD stays, in its place")


def signals():
    data = same([build('signals', '-pthread')], 'signals')
    same(['./signals', 'trap'], 'signals: a breakpoint at the end')
    same(['./signals'], 'signals, without a clock', 'period=0')
    accounted(data, 'signals', 0.9, 1.1)
    t.check(sum(1 for s in data[0].samples if s[3]) > 150, 'signals: sampled although all are blocked', len(data[0].samples))


def stacks():
    data = same([build('stacks', '-pthread', '-fno-optimize-sibling-calls')], 'stacks')
    d = data[0]
    accounted(data, 'stacks')
    depths = [len(d.frames(s[3])[0]) for s in d.samples if s[3]]
    flags = [d.frames(s[3])[1] for s in d.samples if s[3]]
    deep = [f & 1 for n, f in zip(depths, flags) if 150 <= n <= 400]
    whole = sum(205 <= n <= 215 and f & 1 for n, f in zip(depths, flags))
    t.check(whole > 150 and sum(deep) >= 0.99 * len(deep), 'stacks: 203 frames, complete', whole, len(deep), sum(deep))
    t.check(sum(f & 2 for f in flags) > 50 and max(depths) == 4096, 'stacks: 20000 frames are cut at the limit, and say so',
            max(depths))
    t.check(d.lost[3] > 0, 'stacks: a thread on a stack too small for signals is counted', d.lost)
    data = same([build('tight')], 'stacks, one as large as a frame')
    accounted(data, 'stacks, one as large as a frame')
    t.check(sum(1 for s in data[0].samples if s[3]) > 60 and not data[0].lost[3], 'stacks: sampled on one as large as a frame',
            len(data[0].samples), data[0].lost)


def sampled_well(d, computed_s, name):
    """Samples, of which each period is drawn, are as many as they have to be but for a chance of 1 in 10^6 (of 0.1 s there are
    100 +- 11), and they stand for the time that the program computed."""
    t.check(len(d.samples) > 450 * computed_s, f'{name}: there are samples', len(d.samples), d.cpu_ns())
    t.check(d.cpu_ns() > 0.9e9 * computed_s, f'{name}: they stand for what was computed', len(d.samples), d.cpu_ns())


def ends():
    app = build('ends', '-pthread')
    for how, state in (('kill', RUNNING), ('abort', None), ('segv', None), ('_exit', EXITED), ('quick', EXITED),
                       ('raw', EXITED), ('close', EXITED), ('thread', EXITED), ('fds', EXITED), ('', EXITED)):
        data = same([app] + ([how] if how else []), f'ends {how or "return"}')
        t.equal(len(data), 1, f'ends {how}: one process')
        sampled_well(data[0], 0.1, f'ends {how}')
        if state is not None:
            t.equal(data[0].state, state, f'ends {how}: the end is marked')
    full = [app, 'fds']
    plain = subprocess.run(['sh', '-c', 'ulimit -n 16; exec "$@"', 'sh', *full], capture_output=True)
    folder = os.path.join(t.folder, 'small')
    os.mkdir(folder)
    run = subprocess.run(['sh', '-c', f'ulimit -n 16; LD_PRELOAD={LIBRARY} SONDE_RUNTIME="dir={folder}" exec "$@"',
                          'sh', *full], capture_output=True)
    t.equal((run.stdout, run.returncode), (plain.stdout, plain.returncode), '16 descriptors are enough')
    sampled_well(read_folder(folder)[0], 0.1, '16 descriptors')


def plugins():
    app = build('plugins', '-pthread', '-ldl')
    t.compile(os.path.join(HOSTILE, 'plugin.c'), '-O2', '-shared', '-fPIC', output='./plugin.so')
    data = same([app, './plugin.so'], 'plugins')
    d = data[0]
    maps = [m for m in d.maps if m[3].endswith('plugin.so')]
    t.check(len(maps) >= 40 and len(d.unmaps) >= 40, 'plugins: each loading and unloading is known', len(maps), len(d.unmaps))
    t.check(all(m[4] for m in maps), 'plugins: build-ids')
    inside = [s for s in d.samples if s[3] and any(m[0] <= d.frames(s[3])[0][0] < m[1] for m in maps)]
    t.check(len(inside) > 120, 'plugins: samples lie in unloaded modules', len(inside))
    complete([d], 'plugins', 0.99)
    # a child that unloads what its parent had loaded before the fork
    data = same([app, './plugin.so', 'fork'], 'plugins and a fork')
    t.equal(len(data), 2, 'plugins and a fork: both are measured')
    complete(data, 'plugins and a fork', 0.99)


# Both compute for 0.1 s before they give something up and for more than 0.3 s after.
def sandbox(repeats=1):
    app = build('sandbox')
    for words in (['1'], ['0'], ['1', 'syscall'], ['0', 'syscall']):
        data = same([app] + words, f'sandbox {words}')
        d = data[0]
        t.check(any('seccomp' in w for w in d.warnings()), f'sandbox {words}: it is said', d.warnings())
        if words[0] == '1':
            t.check(len(d.samples) > 250, f'sandbox {words}: samples', len(d.samples))
        else:
            sampled_well(d, 0.1, f'sandbox {words}: up to there')
            t.check(d.cpu_ns() < 0.2e9, f'sandbox {words}: and no farther', d.cpu_ns())


    # without a clock each sample stands for the part of the periods that is its own
    for words in (['1', 'prctl'], ['1', 'prctl', 'in a child']):
        for _ in range(repeats):
            before, stolen = resource.getrusage(resource.RUSAGE_CHILDREN), steal_s()
            data = measure([app] + words)[1]
            after, stolen = resource.getrusage(resource.RUSAGE_CHILDREN), steal_s() - stolen
            truth = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            t.check(0.9 * (truth - stolen) < cpu_s(data) < 1.1 * truth, f'sandbox {words}: its CPU time', cpu_s(data),
                    truth, stolen)


def steal_s():
    """What the machine's host took of all CPUs: time that no timer of ours sees pass."""
    with open('/proc/stat', encoding='ascii') as stat:
        return int(stat.readline().split()[8]) / os.sysconf('SC_CLK_TCK')


def stray():
    app = build('stray')
    calm = same([app], 'no stray')[0]
    t.check(not any('3 times' in w for w in calm.warnings()), 'no stray: no flood is said', calm.warnings())
    run, data = measure([app, COOKIE])
    d = data[0]
    t.equal((run.stdout, run.returncode), (b'done\n', 0), 'stray: the program does not notice')
    is_said = any('3 times' in w for w in d.warnings())
    t.check(len(d.samples) < (1.5 if is_said else 3) * 1000 * kernel_s([d]) + 64, 'stray: no more samples than that',
            len(d.samples), kernel_s([d]))
    accounted([d], 'stray')
    if not is_said:
        t.skip('stray: a flood is said', 'events do not signal by themselves here, or the kernel held them back')


def counter():
    build('counter')
    for how in ('strict', 'syscall', 'seccomp', 'counter'):
        d = same(['./counter', how], f'counter {how}')[0]
        t.check(any('time-stamp' in w for w in d.warnings()), f'counter {how}: it is said', d.warnings())
        sampled_well(d, 0.1, f'counter {how}: up to there')
        t.check(d.cpu_ns() < 0.2e9 and not d.end_ns, f'counter {how}: and no farther', d.cpu_ns(), d.end_ns)


def short():
    build('short', '-pthread')
    for count in (300, 2000):
        d = same(['./short', count], f'{count} short threads')[0]
        t.equal(d.raw_clone_threads, 0, f'{count} short threads: all were seen to be made')
        t.equal(d.lost[0], 0, f'{count} short threads: there is room for all of them')
        met = {s[0] for s in d.samples if s[3]}
        without = sum(s[2] for s in d.samples if s[0] not in met) / d.cpu_ns()
        t.check(without < 0.02, f'{count} short threads: each has a stack', without)
        sleeps = [w for w in d.waits if w[1] == 4 and w[3] > 150e6]
        t.check(len(sleeps) > 0.99 * count, f'{count} short threads: their sleeps are seen', len(sleeps))

    t.run('record', '-o', 'e-short', './short', 300)
    rows = {r['function'].split('.')[0]: r for r in t.show('functions', experiment='e-short')['rows']}
    start, below = rows['short_life'], rows['burn']
    # each computes for 0.35 ms; what else a machine spends on making 300 threads, in main, is its own affair
    computed_s, total_s = 300 * 0.35e-3, start['inclusive_cpu_s'] / start['inclusive_share']
    t.check(start['inclusive_cpu_s'] > 0.95 * computed_s, 'short threads: their time is below their start routine', start)
    t.check(below['exclusive_share_low'] <= computed_s / total_s <= below['exclusive_share_high'],
            'short threads: the interval holds what was computed', below, total_s)
    t.check(below['exclusive_share_high'] - below['exclusive_share_low'] > 0.4 * start['inclusive_share'],
            'short threads: the intervals tell that it is not known where below', start, below)


def onstack():
    app = build('onstack', '-no-pie', '-fno-optimize-sibling-calls')
    d = same([app], 'handlers on an alternate stack')[0]
    names = [w.split() for w in subprocess.run(['nm', app], capture_output=True, text=True).stdout.split('\n')]
    at = sorted((int(w[0], 16), w[2]) for w in names if len(w) == 3 and w[1] in 'tT')
    paths = [(s[2], {max((e for e in at if e[0] <= pc), default=(0, ''))[1] for pc in d.frames(s[3])[0] if pc < 1 << 32})
             for s in d.samples if s[3] and not s[4] & REMAINDER]
    share = {f: sum(c for c, p in paths if f in p) / sum(c for c, p in paths) for f in ('heavy_part', 'light_part', 'main')}
    heavy = 60 * 8 / (60 * 10 + 5 * 20 + 1)
    t.within(share['heavy_part'], heavy, 0.06, 'on an alternate stack: the handler has its share')
    t.check(share['main'] > 0.95, 'on an alternate stack: the stack goes on in what was interrupted', share)
    late = sum(s[2] for s in d.samples if s[4] & LATE) / d.cpu_ns()
    t.check(late < 0.2, 'on an alternate stack: samples do not wait for its end', late)


def regions():
    def stitched(app, name, compiler):
        data = same([app], name, add={'OMP_WAIT_POLICY': 'passive'})
        d = data[0]
        names = subprocess.run(['nm', app], capture_output=True, text=True).stdout.split('\n')
        at = {w[2]: int(w[0], 16) for w in map(str.split, names) if len(w) == 3}
        bias = next(m[2] for m in d.maps if m[6] & 1)
        main = next(m for m in d.maps if m[6] & 1)
        def inside(pc, function):
            start = at[function]
            return 0 <= pc - bias - start < 200
        workers = [s for s in d.samples if s[3] and s[0] != 0]
        in_app = [s for s in workers if main[0] <= d.frames(s[3])[0][0] < main[1]
                  or any(main[0] <= pc < main[1] for pc in d.frames(s[3])[0])]
        good = [s for s in in_app if any(inside(pc, 'region_creator') or inside(pc, 'loop_creator') for pc in d.frames(s[3])[0])
                and d.frames(s[3])[1] & 33 == 33]
        t.check(len(in_app) > 300 and len(good) >= 0.98 * len(in_app), f"{name}: workers' stacks go on in their creator",
                len(in_app), len(good))
        accounted(data, name)
    stitched(build('region', '-fopenmp'), 'OpenMP by gcc', 'gcc')
    if t.has('clang') and subprocess.run(['clang', '-fopenmp', '-x', 'c', '-', '-o', '/dev/null'], input=b'int main(void){return 0;}',
                                         capture_output=True).returncode == 0:
        app = t.compile(os.path.join(HOSTILE, 'region.c'), '-O2', '-fopenmp', compiler='clang', output='./region-clang')
        stitched(app, 'OpenMP by clang', 'clang')
    else:
        t.skip('OpenMP by clang', 'no libomp')


def kernel():
    data = same([build('kernel')], 'kernel')
    d = data[0]
    user, system = d.cpu_ns(SYSTEM, 0), d.cpu_ns(SYSTEM, SYSTEM)
    their_user, their_system = d.end_user_ns - d.start_user_ns, d.end_system_ns - d.start_system_ns
    t.within(user / their_user, 1, 0.02, "kernel: user time is the kernel's")
    t.within(system / their_system, 1, 0.02, "kernel: system time is the kernel's")
    seen = sum(s[2] for s in d.samples if s[4] & SYSTEM and s[3])
    t.check(seen > 0.8 * system, 'kernel: system time has stacks', seen / system)


# Page faults leave no trace in the registers of a tick. Arithmetic in registers has none.
def turns():
    t.run('record', '--follow', 'none', '-o', 'e-turns', build('turns'))
    rows = t.show('system', experiment='e-turns')['rows']
    faults = sum(r['share'] for r in rows if r['function'] == 'touch')
    t.equal([r for r in rows if r['function'] == 'compute' and r['samples']], [], 'turns: arithmetic in registers has no system time')
    t.check(faults > 0.3, 'turns: the system time is that of page faults', rows)


def limits():
    app = build('split', '-fno-optimize-sibling-calls')
    def shell(script, name, folder, expect_data=True):
        plain = subprocess.run([app, '100000'], capture_output=True)
        run = subprocess.run(['sh', '-c', f'{script}; LD_PRELOAD={LIBRARY} SONDE_RUNTIME="dir={folder}" exec {app} 100000'],
                             capture_output=True)
        t.equal((run.stdout, run.stderr, run.returncode), (plain.stdout, plain.stderr, plain.returncode), f'{name}: the same')
        return read_folder(folder) if expect_data else []
    folder = os.path.join(t.folder, 'limited')
    os.mkdir(folder)
    data = shell('ulimit -f 400', 'RLIMIT_FSIZE', folder)
    t.check(data and data[0].chunks_backed * 8192 <= 400 * 1024, 'RLIMIT_FSIZE is kept')
    folder = os.path.join(t.folder, 'none')
    shell(':', 'no folder', folder, False)
    shell('ulimit -v 200000', 'little address space', os.path.join(t.folder, 'limited'))
    if os.getuid() == 0 and subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'x', '/mnt'], capture_output=True).returncode == 0:
        data = shell(':', 'full disk', '/mnt')
        t.check(data and data[0].chunks_backed <= 15, 'full disk: takes what there is', [d.chunks_backed for d in data])
        subprocess.run(['umount', '-l', '/mnt'])
    else:
        t.skip('full disk', 'cannot mount here')
    few, data = measure([app, 600000], 'chunks=2', feed=False)
    t.check(data[0].lost[0] > 0, '--max-size: what does not fit is counted', data[0].lost)


def fallback():
    app = build('split', '-fno-optimize-sibling-calls')
    data = same([app, 500000], 'by timers', 'mechanism=2')
    t.equal(data[0].mechanism, 2, 'thread-timer is named')
    t.check(data[0].warnings(), 'thread-timer is said')
    accounted(data, 'by timers')
    data = same([app, 500000], 'slow clock', 'period=10007000')
    accounted(data, 'slow clock')
    t.check(20 < len(data[0].samples) < 300, 'slow clock: about a hundred a second', len(data[0].samples))
    data = same([app, 1000], 'no clock', 'period=0')
    t.equal(data[0].samples, [], 'no clock: no samples')


# The kernel's tick cannot come while threads are switched, so calls that block are measured by themselves. The
# program's own clock says what its parts are. 5 sigma, and 0.03 for what the clocks cost.
def blocks():
    if len(os.sched_getaffinity(0)) < 2:
        t.skip('blocks: calls that block have their share', 'it takes two CPUs')
        return
    run = t.run('record', '--follow', 'none', '-o', 'e-blocks', build('blocks'))
    rows = {r['function']: r for r in t.show('functions', experiment='e-blocks')['rows']}
    summary = t.show('summary', experiment='e-blocks')
    for function, truth in zip(('read', 'write', 'compute'), map(float, run.stdout.split())):
        row = rows.get(function, {'exclusive_share': 0, 'exclusive_share_low': 0, 'exclusive_share_high': 0})
        half = (row['exclusive_share_high'] - row['exclusive_share_low']) / 2
        t.within(row['exclusive_share'], truth, 0.03 + 5 / 1.96 * half, f'blocks: {function} has its share')
    if perf_is_refused():
        return
    t.equal(summary['clock_mechanism'], 'perf-signal+thread-timer', 'blocks: it switches so often that timers sample it')
    calls = {(r['call'], r['function']) for r in t.show('system', experiment='e-blocks')['rows'] if r['share'] > .05}
    t.check({('read', 'read'), ('write', 'write')} <= calls, 'blocks: their system time is that of their calls', calls)
    rate = summary['samples'] / summary['sampled_cpu_s']
    t.check(abs(summary['rate_hz'] - rate) < 1, 'blocks: and in JSON', summary['rate_hz'], rate)
    asked = t.show('processes', experiment='e-blocks')['rows'][0]['asked_hz']
    says = f': {rate:.0f} of {asked:g} Hz' if abs(rate - asked) > 0.15 * asked else f' at {asked:g} Hz'
    t.check(f'perf-signal, then timers{says}' in t.run('show', 'summary', 'e-blocks').stdout,
            'blocks: the rate that is printed is the true one', rate)


# Code between short calls, of which a tick of the kernel meets what the switches of threads leave. The program tells
# what is true by the time-stamp counter. 5 sigma, and 0.02 for what lies between the counter's readings.
def shortcalls(cases=((100, 1, 2), (3000, 2, 1))):
    program = build('shortcalls')
    for work, cpus, seconds in cases:
        name = f'shortcalls: {work} multiplications between calls' + (', answered from another CPU' if cpus > 1 else '')
        if len(os.sched_getaffinity(0)) < cpus:
            t.skip(name, 'it takes two CPUs')
            continue
        out = f'e-shortcalls-{work}'
        truth, used_s = map(float, t.run('record', '--follow', 'none', '-o', out, program, work, seconds, cpus).stdout.split())
        row = next((r for r in t.show('functions', experiment=out)['rows'] if r['function'] == 'compute'), None)
        thread = t.show('threads', experiment=out)['rows'][0]
        if not row:
            t.check(False, name, 'compute has no row')
            continue
        half = (row['exclusive_share_high'] - row['exclusive_share_low']) / 2
        share = row['exclusive_cpu_s'] / used_s
        t.within(share, truth, 0.02 + 5 / 1.96 * half, name)
        t.within(t.show('summary', experiment=out)['sampled_cpu_s'], thread['cpu_s'], 0.03 * thread['cpu_s'],
                 name + ': samples sum to the CPU time')


# What has far fewer samples than its time should give is named.
def muted():
    if perf_is_refused():
        t.skip('muted: missing samples are named', "perf events are refused here: the kernel's tick has no rate of its own")
        return
    t.run('record', '-o', 'e-muted', build('muted'))
    warnings = t.show('summary', experiment='e-muted')['warnings']
    t.check(any('(muted) has' in w and 'of the samples' in w for w in warnings), 'muted: missing samples are named', warnings)
    t.run('record', '-o', 'e-heard', build('split'), '300000')
    warnings = t.show('summary', experiment='e-heard')['warnings']
    t.check(not any('of the samples that' in w for w in warnings), 'muted: where none are missing nobody is', warnings)


def rawthread():
    data = same([build('rawthread')], 'raw clone')
    t.equal(data[0].raw_clone_threads, 1, 'raw clone: the thread that we do not know is counted')


def locks():
    app = build('locks', '-pthread')
    for mode, name in (('threads', 'locks'), ('past', 'locks, a thread made past us'), ('shared', 'locks between processes')):
        data = same([app, mode], name)
        long = [w for d in data for w in d.waits if w[1] == 0 and w[3] >= 50e6]
        t.check(len(long) == 4, f'{name}: each wait for one is there', long)


def early():
    """Threads that a library's constructor makes: before ours, if the library asks to be the first."""
    for flag, name in (('-Wl,-z,initfirst', 'threads before us'), ('-O2', 'threads of constructors')):
        t.compile(os.path.join(HOSTILE, 'early.c'), '-O1', '-shared', '-fPIC', '-pthread', flag, output='./libearly.so')
        app = build('early', '-DMAIN', './libearly.so')
        for settings, clock in (('', ''), ('mechanism=2', ', by timers')):
            data = same([app], name + clock, settings)
            t.check(len(data) == 2, f'{name}{clock}: and a child of one of them', data)
            d = max(data, key=lambda data: len(data.starts))
            accounted(data, name + clock)
            # one that blocks all signals is met where a call of it passes by us
            seen = {s[0]: 0 for s in d.samples}
            for s in d.samples:
                seen[s[0]] += s[2] * (not s[4] & REMAINDER)
            t.check(len(d.starts) == 8 and sum(ns > 20e6 for ns in seen.values()) == 8,
                    f'{name}{clock}: eight threads are sampled', d.starts, seen)
            t.equal(len({e[0] for e in d.ends}), 8, f'{name}{clock}: their ends are known')
            t.equal(d.raw_clone_threads, 0, f'{name}{clock}: none is unknown')
            complete(data, name + clock)


def handlers():
    counter = t.compile(os.path.join(HOSTILE, 'countmalloc.c'), '-O2', '-shared', '-fPIC', output='./countmalloc.so')
    app = build('allocs', '-pthread')
    folder = os.path.join(t.folder, 'handlers')
    os.mkdir(folder)
    def counts(*words, period=100000):
        path = os.path.join(t.folder, 'count')
        env = dict(os.environ, LD_PRELOAD=f'{LIBRARY}:{os.path.abspath(counter)}', COUNT_MALLOC=path,
                   SONDE_RUNTIME=f'period={period};dir={folder}')
        subprocess.run([app, *words], env=env, stdout=subprocess.DEVNULL, check=True)
        with open(path) as f:
            inside, outside = map(int, f.read().split())
        os.remove(path)
        return inside, outside
    inside, outside = counts()
    handled = read_folder(folder)[-1].handler_count
    t.check(inside == 0 and outside > 10000 and handled > 3000, 'handlers allocate nothing, over thousands of them',
            inside, outside, handled)
    t.check(counts('blocked')[0] >= 2, 'and the counter would have seen it')


def lockstep(repeats=24, turns_us=(1000.7,)):
    if perf_is_refused():
        t.skip('programs in step with the clock', "perf events are refused here: the kernel's tick cannot be varied")
        return
    app = build('lockstep')
    for turn_us in turns_us:
        covered, errors = 0, []  # of the share, in half widths of its interval
        for _ in range(repeats):
            shutil.rmtree('lockstep.run', ignore_errors=True)
            truth = float(t.run('record', '-o', 'lockstep.run', app, str(turn_us), '0.2').stdout)
            rows = {row['function']: row for row in t.show('functions', experiment='lockstep.run')['rows']}
            first, both = rows['first'], sum(rows[f]['exclusive_cpu_s'] for f in ('first', 'second') if f in rows)
            share = first['exclusive_cpu_s'] / both
            low, high = (first[f'exclusive_share_{end}'] * share / first['exclusive_share'] for end in ('low', 'high'))
            covered += low <= truth <= high
            errors.append((share - truth) / (high - low) * 2)
        # Beside a load of 20 the intervals hold the share in 92 to 97 % of the runs (docs/method/uncertainty.md). If it
        # were 85 %, 15 of 24 would fail once in 1.7 million. A clock of one fixed period holds it in 30 to 40 % of the
        # first two. The suite `long` has all three.
        t.check(covered >= 10 / 24 * repeats, f'in step with {turn_us} us: of {repeats} intervals enough hold the share',
                covered, errors)
        if repeats >= 100:
            t.check(covered >= 0.88 * repeats, f'in step with {turn_us} us: the intervals hold the share', covered)


def neighbours(repeats=2):
    """Six others on two CPUs: whatever we do in a handler must not move the ends of time slices."""
    if len(os.sched_getaffinity(0)) < 2 or perf_is_refused():
        t.skip('two threads at a barrier beside others', 'this needs two CPUs' if len(os.sched_getaffinity(0)) < 2 else 'perf events are refused here')
        return
    app, two = build('barrier', '-pthread'), sorted(os.sched_getaffinity(0))[:2]
    others = [subprocess.Popen([sys.executable, '-c', 'while True: pass'], preexec_fn=lambda: os.sched_setaffinity(0, two)) for _ in range(6)]
    try:
        runs = [measure([app], preexec_fn=lambda: os.sched_setaffinity(0, two)) for _ in range(repeats)]
    finally:
        for other in others:
            other.kill()
            other.wait()
    symbols = [w.split() for w in subprocess.run(['nm', app], capture_output=True, text=True).stdout.split('\n')]
    at = sorted((int(w[0], 16), w[2]) for w in symbols if len(w) == 3)
    error = count = 0
    for run, data in runs:
        d = data[0]
        bias = next(m[2] for m in d.maps if m[6] & 1)
        taken = {'first': 0, 'second': 0}
        for _, _, cpu_ns, stack, _, _ in d.samples:
            pc = d.frames(stack)[0][0] - bias if stack else 0
            name = max((e for e in at if e[0] <= pc), default=(0, ''))[1]
            if name in taken:
                taken[name] += cpu_ns
                count += 1
        error += (taken['first'] / sum(taken.values()) - float(run.stdout)) / repeats
    # Three samples of one slice count as one: 5 sigma. It was -0.04 to -0.12 when the handler read the thread's
    # CPU clock, which ends a slice that is used up.
    p = sum(float(run.stdout) for run, _ in runs) / repeats
    t.check(abs(error) < 5 * (p * (1 - p) / (count / 3)) ** 0.5, 'two threads at a barrier beside others: the share of their work',
            error, p, count)


TESTS = [handlers, split, threads, forks, shell, env, signals, stacks, ends, plugins, sandbox, stray, counter, short, onstack, regions, kernel, turns,
         limits, fallback, blocks, shortcalls, muted, rawthread, early, locks, lockstep, neighbours]
if sys.argv[1:2] == ['coverage']:  # takes minutes
    lockstep(int(sys.argv[2]), (1000.7, 1000, 4000))
    t.done()
if sys.argv[1:2] == ['long']:  # what takes many runs, as often as it was when it was found
    lockstep(24, (1000.7, 1000, 4000))
    neighbours(5)
    sandbox(3)
    shortcalls(((100, 1, 2), (300, 1, 4), (1000, 1, 2), (3000, 2, 1)))
    t.done()
for test in TESTS:
    if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
        test()
t.done()
