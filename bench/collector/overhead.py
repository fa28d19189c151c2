"""The printed overhead beside what programs really cost more.

    python3 bench/collector/overhead.py BUILD_FOLDER [--pairs N] [--only 'NAME;..'] [--attach]

A host that others share makes equal runs differ by 20 % and more. So each pair runs at the same time and on the same
CPU, plain and recorded: the kernel gives it to both in slices of milliseconds, and what the host does meets both alike. sonde and the
clients of servers run on the other CPUs. A launcher of our own inside the recording (`cputime`, below) takes the kernel's account of the
program and its children alone, so that sonde's own process is in neither. Added is the median over the pairs of the ratio of CPU
times, less 1, with a 95 % interval (the order statistics of a binomial); printed is the median of `overhead_share` with the
medians of its two bounds. A Markdown table comes out; its last column says whether the two agree within 30 %: `yes` and `no` where the
interval of what is added decides, else `not settled`.

--attach: servers are recorded by `--pid` for all of their load; the account is that of /proc/PID/task/*/schedstat around it."""
import argparse
import contextlib
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument('build')
options.add_argument('--pairs', type=int, default=15)
options.add_argument('--only', default='', help="names in the table below, with ';' between")
options.add_argument('--attach', action='store_true', help='servers: record by --pid')
options = options.parse_args()
sonde = os.path.join(os.path.abspath(options.build), 'sonde')
folder = tempfile.mkdtemp(prefix='overhead-')
os.chdir(folder)
measured = max(os.sched_getaffinity(0))  # the CPU of what is measured; all else keeps off it
os.sched_setaffinity(0, os.sched_getaffinity(0) - {measured})

# cputime CPU ACCOUNT GATE COMMAND..: writes ACCOUNT.ready, waits for GATE, runs COMMAND on that CPU, writes its CPU time
CPUTIME = r'''
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **words) {
    char ready[4096];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(words[1]), &set);
    snprintf(ready, sizeof ready, "%s.ready", words[2]);
    close(open(ready, O_CREAT | O_WRONLY, 0600));
    while (access(words[3], F_OK) != 0) usleep(1000);
    pid_t child = fork();
    if (child == 0) { sched_setaffinity(0, sizeof set, &set); execvp(words[4], words + 4); _exit(127); }
    struct rusage u;
    int status;
    if (n < 5 || wait4(child, &status, 0, &u) != child) return 126;
    FILE *f = fopen(words[2], "w");
    fprintf(f, "%.6f\n", u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec));
    return fclose(f) != 0;
}'''
KINDS = r'''
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long counter;
static void *waits(void *x) { pause(); return x; }
int main(int n, char **words) {
    const char *kind = words[1];
    long count = atol(words[2]);
    (void)n;
    pthread_t second;
    if (!strcmp(kind, "locks2")) pthread_create(&second, 0, waits, 0);
    if (!strcmp(kind, "add")) for (long i = 0; i < count; i++) counter += i;
    if (!strncmp(kind, "locks", 5)) for (long i = 0; i < count; i++) { pthread_mutex_lock(&lock); counter++; pthread_mutex_unlock(&lock); }
    if (!strcmp(kind, "reads")) {
        char to[16];
        int f = open("/dev/zero", O_RDONLY);
        for (long i = 0; i < count; i++) if (read(f, to, sizeof to) < 0) return 1;
    }
    if (!strcmp(kind, "heap")) for (long i = 0; i < count; i++) { char *p = malloc(64 + i % 512); p[0] = 1; counter += p[0]; free(p); }
    return 0;
}'''
SQL = ('create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<1000000) insert into t select '
       'x,x*7919%10007 from c; create index i on t(b); select count(*),sum(a) from t where b<5000 group by b%10; '
       'select count(*) from t x join t y on x.a=y.b;')


def build(name, text):
    with open(name + '.c', 'w') as out:
        out.write(text)
    subprocess.run(['gcc', '-O2', '-pthread', '-w', name + '.c', '-o', name], check=True)
    return os.path.join(folder, name)


cputime, kinds = build('cputime', CPUTIME), build('kinds', KINDS)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    """redis or nginx under a fixed load of requests, many at a time or one at a time."""
    def __init__(self, name, load):
        self.name, self.port, self.words = name, free_port(), load
        if name == 'nginx':
            with open('index.html', 'w') as out:
                out.write('x' * 4000)
            os.makedirs('temporary', exist_ok=True)
            kept = ' '.join(f'{k}_temp_path {folder}/temporary/{k};' for k in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
            with open(f'nginx{self.port}.conf', 'w') as out:
                out.write(f'worker_processes 1; daemon off; pid {folder}/nginx{self.port}.pid; error_log {folder}/nginx.err; events {{ worker_connections '
                          f'64; }} http {{ access_log off; root {folder}; {kept} keepalive_requests 10000000; server {{ listen '
                          f'127.0.0.1:{self.port}; }} }}\n')
            os.chmod(folder, 0o755)

    def command(self):
        if self.name == 'nginx':
            return ['nginx', '-p', folder, '-c', f'{folder}/nginx{self.port}.conf']
        return ['redis-server', '--port', str(self.port), '--bind', '127.0.0.1', '--save', '', '--daemonize', 'no']

    def wait(self):
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self.port), 1):
                return
            time.sleep(0.02)
        sys.exit(f'{self.name} does not answer')

    def load(self):
        return subprocess.Popen([w.replace('PORT', str(self.port)) for w in self.words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.name == 'redis':
            subprocess.run(['redis-cli', '-p', str(self.port), 'shutdown', 'nosave'], stdout=subprocess.DEVNULL, check=False)
        else:
            with open(f'nginx{self.port}.pid') as pid:
                os.kill(int(pid.read()), signal.SIGTERM)


def bench(requests, clients, pipeline):
    return ['redis-benchmark', '-p', 'PORT', '-q', '-n', str(requests), '-t', 'set,get', '-c', str(clients), '-P', str(pipeline)]


redis = shutil.which('redis-server') and shutil.which('redis-benchmark')
nginx = shutil.which('nginx') and shutil.which('ab')
# name: (command or server, options of record)
programs = {
    'arithmetic': ([kinds, 'add', '2000000000'], []),
    'lock, add, unlock': ([kinds, 'locks', '100000000'], []),
    'the same, with a second thread that waits': ([kinds, 'locks2', '60000000'], []),
    'a loop of read(16)': ([kinds, 'reads', '6000000'], []),
    'sqlite3': (shutil.which('sqlite3') and ['sqlite3', ':memory:', SQL], []),
    'redis, 20 clients': (redis and (lambda: Server('redis', bench(60000, 20, 1))), []),
    'redis, 16 requests at a time': (redis and (lambda: Server('redis', bench(1000000, 20, 16))), []),
    'nginx, ab -k': (nginx and (lambda: Server('nginx', ['ab', '-q', '-k', '-n', '60000', '-c', '8', 'http://127.0.0.1:PORT/index.html'])), []),
    'malloc and free, --heap': ([kinds, 'heap', '20000000'], ['--heap']),
    'the lock with a second thread, --sync': ([kinds, 'locks2', '20000000'], ['--sync']),
    'a loop of read(16), --io': ([kinds, 'reads', '2500000'], ['--io']),
}


def show(experiment):
    return json.loads(subprocess.run([sonde, 'show', '--format', 'json', 'summary', experiment], capture_output=True, text=True).stdout)


def cpu_of(pid):
    """CPU seconds of a process and of its children that live, by schedstat's nanoseconds."""
    total, pids = 0, [pid]
    while pids:
        each = pids.pop()
        for task in os.listdir(f'/proc/{each}/task'):
            with open(f'/proc/{each}/task/{task}/schedstat') as f:
                total += int(f.read().split()[0])
            with open(f'/proc/{each}/task/{task}/children') as f:
                pids += [int(p) for p in f.read().split()]
    return total / 1e9


def remove(*names):
    for name in names:
        with contextlib.suppress(OSError):
            os.remove(name)


def pair_of(job, words):
    """CPU seconds plain, CPU seconds recorded, and the recording's summary, of two runs side by side."""
    shutil.rmtree('experiment', ignore_errors=True)
    record = [sonde, 'record', '-q', '-o', 'experiment', *words]
    servers = [job(), job()] if callable(job) else []
    if servers and options.attach:
        return attached(servers, record)
    remove('gate', 'plain', 'recorded', 'plain.ready', 'recorded.ready')
    commands = [s.command() for s in servers] or [job, job]
    processes = [subprocess.Popen([*prefix, cputime, str(measured), account, 'gate', *command], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for account, prefix, command in zip(('plain', 'recorded'), ([], [*record, '--']), commands)]
    while not (os.path.exists('plain.ready') and os.path.exists('recorded.ready')):
        time.sleep(0.001)
    with open('gate', 'w'):
        pass
    serve(servers)
    for process in processes:
        process.wait()
    accounts = []
    for name in ('plain', 'recorded'):
        with open(name) as f:
            accounts.append(float(f.read()))
    return *accounts, show('experiment')


def serve(servers):
    for server in servers:
        server.wait()
    for client in [server.load() for server in servers]:
        client.wait()
    for server in servers:
        server.stop()


def attached(servers, record):
    processes = [subprocess.Popen(['taskset', '-c', str(measured), *s.command()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for s in servers]
    pids = [p.pid for p in processes]
    for server in servers:
        server.wait()
    if servers[0].name == 'nginx':
        for i, pid in enumerate(pids):
            with open(f'/proc/{pid}/task/{pid}/children') as f:
                pids[i] = int(f.read().split()[0])
    watcher = subprocess.Popen([*record, '--pid', str(pids[1])], stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    before = [cpu_of(p) for p in pids]
    for client in [server.load() for server in servers]:
        client.wait()
    after = [cpu_of(p) for p in pids]
    watcher.send_signal(signal.SIGINT)
    watcher.wait()
    for server, process in zip(servers, processes):
        server.stop()
        process.wait()
    return after[0] - before[0], after[1] - before[1], show('experiment')


def median_interval(values):
    """Median with the order statistics that hold the true one with 95 % (or as near as so few values come)."""
    values, n = sorted(values), len(values)
    k = 0
    while sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n < 0.025:
        k += 1
    return statistics.median(values), values[max(0, k - 1)], values[n - 1 - max(0, k - 1)]


print(f'{options.pairs} pairs; load {os.getloadavg()[0]:.1f}')
print('| program | plain, s | added, % [95 %] | printed, % [bounds] | within 30 % |')
print('| --- | --- | --- | --- | --- |', flush=True)
for name, (job, words) in programs.items():
    if (options.only and name not in options.only.split(';')) or (options.attach and not callable(job)):
        continue
    if not job:
        print(f'{name}: a program is not installed', file=sys.stderr)
        continue
    plain, ratios, printed, lows, highs = [], [], [], [], []
    for _ in range(options.pairs):
        alone, recorded, summary = pair_of(job, words)
        plain.append(alone)
        ratios.append(100 * (recorded / alone - 1))
        for to, key in ((printed, 'overhead_share'), (lows, 'overhead_share_low'), (highs, 'overhead_share_high')):
            to.append(100 * (summary[key] or 0))
    added, low, high = median_interval(ratios)
    said = statistics.median(printed)
    fits = 'yes' if 0.7 * high <= said <= 1.3 * low else 'no' if said < 0.7 * low or said > 1.3 * high else 'not settled'
    print(f'| {name} | {statistics.median(plain):.2f} | {added:.1f} [{low:.1f}, {high:.1f}] | {said:.1f} [{statistics.median(lows):.1f}, '
          f'{statistics.median(highs):.1f}] | {fits} |', flush=True)
shutil.rmtree(folder, ignore_errors=True)
