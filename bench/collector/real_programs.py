"""Real programs beside perf: shares, verdict, the time after the end, added CPU time beside what is printed.

    python3 bench/collector/real_programs.py BUILD_FOLDER [--pairs N] [--only 'NAME;..'] [--keep FOLDER]

Shares: perf (cpu-clock, each 1.23 ms of CPU time, out of step with the kernel's tick) and sonde look at the same run; perf's share is of the samples that are not in
sonde's own process. A row agrees if perf's share, with its own binomial error (2 sigma), meets sonde's 95 %
interval. Added CPU: wait4's CPU time of all processes, plain and recorded in turns; median of the ratios of
neighbouring runs, with quartiles. After the end: elapsed time of the command less that of the experiment (loading,
launching and writing). Programs that are not installed are named and left out. A Markdown table comes out."""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('build')
options.add_argument('--pairs', type=int, default=10)
options.add_argument('--only', default='', help="names in the table below, with ';' between")
options.add_argument('--keep', help='folder for the experiments; a temporary one unless said')
options = options.parse_args()
sonde = os.path.join(os.path.abspath(options.build), 'sonde')
folder = os.path.abspath(options.keep) if options.keep else tempfile.mkdtemp(prefix='real-')
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', GMX_MAXBACKUP='-1')


def write(name, text):
    with open(name, 'w') as out:
        out.write(text)
    return name


def build(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lammps():
    write('lj.in', 'units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 16 0 16 0 16\n'
          'create_box 1 box\ncreate_atoms 1 box\nmass 1 1.0\nvelocity all create 1.44 87287\n'
          'pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\nfix 1 all nve\nrun 250\n')
    return ['mpirun', '--oversubscribe', '-n', '2', 'lmp', '-in', 'lj.in', '-log', 'none']


def gromacs():
    write('topol.top', '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n[ molecules ]\n')
    write('run.mdp', 'integrator = md\nnsteps = 400\ndt = 0.001\ncoulombtype = PME\ncutoff-scheme = Verlet\n'
          'gen_vel = yes\n')
    build('gmx', 'solvate', '-cs', 'spc216.gro', '-box', '3', '3', '3', '-p', 'topol.top', '-o', 'conf.gro')
    build('gmx', 'grompp', '-f', 'run.mdp', '-c', 'conf.gro', '-p', 'topol.top', '-o', 'run.tpr', '-maxwarn', '9')
    return ['gmx', 'mdrun', '-s', 'run.tpr', '-ntmpi', '1', '-ntomp', '2', '-nb', 'cpu']


def cxx():
    write('big.cc', '#include <map>\n#include <regex>\n#include <iostream>\nint main() { std::map<std::string, int> m;'
          ' std::regex r("a+b"); for (int i = 0; i < 9; i++) m["x"] = std::regex_match("aab", r); std::cout << m.size(); }\n')
    return ['g++', '-O2', '-c', 'big.cc', '-o', 'big.o']


def make():
    write('big.cc', open('big.cc').read() if os.path.exists('big.cc') else '') or cxx()
    cxx()
    write('Makefile', 'all: ' + ' '.join(f'o{i}.o' for i in range(6)) + '\no%.o: big.cc\n\tg++ -O1 -c big.cc -o $@\n')
    return ['make', '-B', '-s', '-j4']


def java():
    write('Main.java', 'import java.util.*;\npublic class Main { public static void main(String[] a) { long t = 0;'
          ' for (int k = 0; k < 12; k++) { Map<String,Integer> m = new HashMap<>(); List<String> l = new ArrayList<>();'
          ' for (int i = 0; i < 300000; i++) l.add("k" + (i * 31 % 9973)); Collections.sort(l);'
          ' for (String s : l) m.merge(s, 1, Integer::sum); t += m.size(); } System.out.println(t); } }\n')
    build('javac', 'Main.java')
    return ['java', '-XX:+UnlockDiagnosticVMOptions', '-XX:+DumpPerfMapAtExit', '-cp', '.', 'Main']


def go():
    write('m.go', 'package main\nimport ("fmt"; "sync")\nfunc work(n int) int { s := 0; m := map[int]int{}; for i := 0; i < n;'
          ' i++ { m[i%1000] += i; s += m[(i*7)%1000] }; return s }\nfunc main() { var wg sync.WaitGroup; for i := 0; i < 2;'
          ' i++ { wg.Add(1); go func() { defer wg.Done(); fmt.Println(work(30000000)) }() }; wg.Wait() }\n')
    build('go', 'build', '-o', 'gom', 'm.go')
    return ['./gom']


def rust():
    write('m.rs', 'use std::collections::BTreeMap;\nfn main() { let mut m = BTreeMap::new(); let mut x: u64 = 1;'
          ' for _ in 0..4_000_000 { x = x.wrapping_mul(6364136223846793005).wrapping_add(1); *m.entry(x >> 46).or_insert(0u64) += x & 7; }'
          ' println!("{}", m.values().sum::<u64>()); }\n')
    build('rustc', '-O', '-g', '-o', 'rustm', 'm.rs')
    return ['./rustm']


def fortran():
    write('omp.f90', 'program p\n integer, parameter :: n = 1500\n real(8), allocatable :: a(:,:), b(:,:)\n integer :: i, j, k\n'
          ' allocate(a(n,n), b(n,n)); a = 1; b = 0\n do k = 1, 300\n !$omp parallel do private(i)\n do j = 2, n - 1\n'
          ' do i = 2, n - 1\n b(i,j) = 0.25d0 * (a(i-1,j) + a(i+1,j) + a(i,j-1) + a(i,j+1))\n end do\n end do\n'
          ' !$omp parallel do private(i)\n do j = 1, n\n do i = 1, n\n a(i,j) = b(i,j) + 1d-3\n end do\n end do\n end do\n'
          ' print *, sum(a)\nend program\n')
    build('gfortran', '-O2', '-g', '-fopenmp', 'omp.f90', '-o', 'ompf')
    return ['env', 'OMP_NUM_THREADS=2', './ompf']


def x264():
    build('ffmpeg', '-y', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=duration=6:size=640x360:rate=25', '-pix_fmt', 'yuv420p',
          'in.y4m')
    return ['x264', '--quiet', '--preset', 'medium', '-o', '/dev/null', 'in.y4m']


def node():
    write('s.js', 'let a = []; for (let k = 0; k < 40; k++) { a = Array.from({length: 200000}, (_, i) => Math.sin(i * k)); a.sort();'
          ' a = a.map(x => x * 2).filter(x => x > 0); } console.log(a.length)\n')
    return ['node', 's.js']


def numpy():
    write('np.py', 'import numpy as np\na = np.random.rand(1500, 1500)\nfor i in range(25): a = a @ a; a /= a.max()\nprint(a.sum() > 0)\n')
    return ['/usr/bin/python3', 'np.py']


sql = ('create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<2000000) insert into t select '
       'x,x*7919%10007 from c; create index i on t(b); select count(*),sum(a) from t where b<5000 group by b%10; '
       'select count(*) from t x join t y on x.a=y.b;')
source = 'testsrc=duration=15:size=640x480:rate=25'


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    """A server under a fixed load, ended by a signal: redis or nginx."""
    def __init__(self, name):
        self.name, self.port = name, free_port()
        if name == 'nginx':
            write('index.html', 'x' * 4000)
            write('nginx.conf', f'worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.err;'
                  f' events {{ worker_connections 64; }} http {{ access_log {folder}/access.log; root {folder};'
                  f' client_body_temp_path {folder}/nginx-body; proxy_temp_path {folder}/nginx-proxy;'
                  f' fastcgi_temp_path {folder}/nginx-fastcgi; uwsgi_temp_path {folder}/nginx-uwsgi; scgi_temp_path {folder}/nginx-scgi;'
                  f' keepalive_requests 10000000; server {{ listen 127.0.0.1:{self.port}; }} }}\n')
            os.chmod(folder, 0o755)

    def command(self):
        if self.name == 'nginx':
            return ['nginx', '-p', folder, '-c', folder + '/nginx.conf']
        return ['redis-server', '--port', str(self.port), '--bind', '127.0.0.1', '--save', '', '--daemonize', 'no']

    def load(self):
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self.port), 1):
                break
            time.sleep(0.05)
        if self.name == 'redis':
            subprocess.run(['redis-benchmark', '-p', str(self.port), '-q', '-n', '150000', '-t', 'set,get,lpush', '-c', '20'],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            subprocess.run(['redis-cli', '-p', str(self.port), 'shutdown', 'nosave'], stdout=subprocess.DEVNULL, check=False)
            return
        threads = [threading.Thread(target=self.ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        with open('nginx.pid') as pid:
            os.kill(int(pid.read()), signal.SIGTERM)

    def ask(self):
        want = b'GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n' * 20
        with socket.create_connection(('127.0.0.1', self.port), 10) as s:
            for _ in range(600):
                s.sendall(want)
                left = 20 * 4000
                while left > 0:
                    left -= len(s.recv(1 << 20))


r_script = ('set.seed(1); n <- 300000; d <- data.frame(g = sample(letters, n, TRUE), x = rnorm(n)); for (i in 1:4) aggregate(x ~ g, d, mean); '
            'm <- matrix(rnorm(490000), 700); for (i in 1:3) solve(m); s <- 0; for (i in 1:1500000) s <- s + sqrt(i)')
programs = {
    'redis': ('redis-server', lambda: Server('redis')),
    'nginx': ('nginx', lambda: Server('nginx')),
    'sqlite3': ('sqlite3', lambda: ['sqlite3', ':memory:', sql]),
    'LAMMPS, 2 ranks': ('lmp', lammps),
    'gromacs, 2 threads': ('gmx', gromacs),
    'ffmpeg': ('ffmpeg', lambda: ['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', source, '-c:v', 'libx264', '-f', 'null', '-']),
    'x264': ('x264', x264),
    'octave': ('octave-cli', lambda: ['octave-cli', '--no-history', '--eval',
                                      'a = rand(1200); for i = 1:25, a = a * a; a = a / max(a(:)); end; x = 0; for i = 1:400000, x = x + sqrt(i); end']),
    'numpy': ('python3', numpy),
    'node': ('node', node),
    'R': ('Rscript', lambda: ['Rscript', '-e', r_script]),
    'java': ('javac', java),
    'g++': ('g++', cxx),
    'make -j4': ('make', make),
    'Go': ('go', go),
    'Rust': ('rustc', rust),
    'gfortran OpenMP': ('gfortran', fortran),
}


def run(words, server=None):
    """(CPU s of all processes, elapsed s, exit status)"""
    begin = time.monotonic()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if server:
        server.load()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, status


def command_of(job):
    return (job.command(), job) if isinstance(job, Server) else (job, None)


def shares_of_perf(data):
    """{symbol: (share, samples)} without sonde's own process."""
    out = subprocess.run(['perf', 'report', '-i', data, '--no-children', '--stdio', '-q', '-F', 'sample,comm,dso,symbol', '-w', '0,0,0,0',
                          '-t', ';'], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    counts = {}
    for line in out.splitlines():
        parts = [p.strip() for p in line.split(';')]
        if len(parts) < 4 or not parts[0].isdigit() or parts[1] == 'sonde':
            continue
        is_kernel = parts[3].startswith('[k]')
        name = 'kernel' if is_kernel else re.sub(r'^\[.\] ', '', parts[3])
        counts[name] = counts.get(name, 0) + int(parts[0])
    total = sum(counts.values())
    return {name: (n / total, n) for name, n in counts.items()}, total


def stem(name):
    name = re.sub(r'\(.*|<.*|\.(isra|part|constprop|cold|lto_priv)\.\d+.*', '', name).split('@')[0].strip()
    return re.sub('^_+', '', name).replace('memmove_', 'memcpy_')  # names of one address


def show(*words):
    return json.loads(subprocess.run([sonde, 'show', '--format', 'json', *words], capture_output=True, text=True).stdout)


def user_shares(experiment):
    """{stem: (share, low, high)} of user time, rows of one stem summed; an interval is as wide in parts as CPU time's."""
    rows = show('--cols', 'all', '--all', 'functions', experiment)['rows']
    user = [max(0, r['exclusive_cpu_s'] - (r['exclusive_system_s'] or 0)) for r in rows]
    total, sums = sum(user) or 1, {}
    for row, seconds in zip(rows, user):
        share, cpu = seconds / total, row['exclusive_share'] or 1
        span = [share, share * (row['exclusive_share_low'] or 0) / cpu, share * (row['exclusive_share_high'] or 0) / cpu]
        for name in {stem(row['function']), stem(row['linkage_name'] or '')} - {''}:
            sums[name] = [x + y for x, y in zip(sums.get(name, [0, 0, 0]), span)]
    return sums


def compare(name, job):
    """One run that perf and sonde look at: rows of (symbol, perf's share of user time, ours, low, high, agrees)."""
    command, server = command_of(job)
    experiment = os.path.join(folder, re.sub(r'\W+', '_', name))
    shutil.rmtree(experiment, ignore_errors=True)
    run(['perf', 'record', '-q', '-c', '1234567', '-e', 'cpu-clock', '-o', 'perf.data', '--', sonde, 'record', '-q', '-o', experiment,
         '--', *command], server)
    theirs, _ = shares_of_perf('perf.data')
    total = sum(n for f, (_, n) in theirs.items() if f != 'kernel') or 1
    sums, merged, rows = user_shares(experiment), {}, []
    for f, (_, n) in theirs.items():
        if f != 'kernel' and not f.startswith('0x'):  # perf has no name for those
            merged[stem(f)] = merged.get(stem(f), 0) + n
    for f, n in sorted(merged.items(), key=lambda i: -i[1])[:5]:
        share, (mine, low, high) = n / total, sums.get(f, (None, 0, 0))
        own = 2 * (share * (1 - share) / total) ** 0.5
        rows.append((f, share, mine, low, high, mine is not None and low - own <= share <= high + own))
    return experiment, rows


def cost(job):
    """Ratios of CPU time recorded to plain, time after the end and printed overheads, in pairs that take turns."""
    ratios, after, printed = [], [], []
    for turn in range(options.pairs):
        seconds = {}
        for how in ('plain', 'recorded') if turn % 2 else ('recorded', 'plain'):
            command, server = command_of(job() if isinstance(job(), Server) else job())
            shutil.rmtree('cost', ignore_errors=True)
            seconds[how], elapsed, _ = run(([sonde, 'record', '-q', '-o', 'cost', '--'] if how == 'recorded' else []) + command, server)
            if how == 'recorded':
                summary = show('summary', 'cost')
                after.append(elapsed - summary['elapsed_s'])
                printed.append(summary['overhead_share'] or 0)
        ratios.append(seconds['recorded'] / seconds['plain'] - 1)
    return ratios, after, printed


def percent(x):
    return '-' if x is None else f'{100 * x:.1f}'


print('| program | perf and sonde, % of user time [95 %] | verdict | after the end, s | added CPU, % [quartiles] | printed, % |')
print('|---|---|---|---|---|---|')
agreed = asked = 0
for name, (needs, make_job) in programs.items():
    if options.only and name not in options.only.split(';'):
        continue
    if not shutil.which(needs):
        print(f'{name}: {needs} is not installed', file=sys.stderr)
        continue
    try:
        job = make_job()
    except subprocess.CalledProcessError as error:
        print(f'{name}: cannot be prepared: {error}', file=sys.stderr)
        continue
    experiment, rows = compare(name, job)
    agreed += sum(r[5] for r in rows)
    asked += len(rows)
    shares = '; '.join(f'`{f[:40]}` {percent(p)}: {percent(m)} [{percent(lo)}-{percent(hi)}]{"" if ok else " **no**"}'
                       for f, p, m, lo, hi, ok in rows)
    verdict = show('summary', experiment)['verdict']
    spread = after = printed = '-'
    if options.pairs:
        is_server = isinstance(job, Server)
        ratios, ends, prints = cost((lambda: Server(job.name)) if is_server else (lambda: job))
        quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        spread = f'{percent(quarters[1])} [{percent(quarters[0])}, {percent(quarters[2])}]'
        after, printed = f'{statistics.median(ends):.2f}', percent(statistics.median(prints))
    print(f'| {name} | {shares} | {verdict["kind"]}: {verdict["sentence"]} | {after} | {spread} | {printed} |', flush=True)
print(f'\n{agreed} of {asked} shares agree.')
if not options.keep:
    shutil.rmtree(folder)
