"""libsonde-heartbeat: every case of its contract, on programs whose beats are known."""
import csv
import glob
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

from sonde_test import PROGRAMS, Test

t = Test()
LIBRARY = os.environ['HEARTBEAT_LIBRARY']
INCLUDE = os.environ['HEARTBEAT_INCLUDE']
PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
KEYS = ['schema', 't_s', 'interval_s', 'thread', 'heartbeat', 'count', 'sum_ns', 'min_ns', 'max_ns',
        'open', 'open_ns', 'work', 'every', 'misuse', 'dropped', 'histogram']


def build(name, source, *words, compiler='gcc'):
    link = ['-L' + os.path.dirname(LIBRARY), '-Wl,-rpath,' + os.path.dirname(LIBRARY),
            LIBRARY, '-lpthread']
    done = subprocess.run([compiler, '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-I', INCLUDE, source,
                           '-o', name, *words, *link], capture_output=True, text=True)
    t.check(done.returncode == 0, f'{name} compiles without warnings', done.stderr)
    return os.path.abspath(name)


count = 0


def beats(*words, interval='1', wait=True, **more):
    """Runs the program with an empty folder of its own; the folder and the process."""
    global count
    count += 1
    folder = os.path.abspath(f'beats{count}')
    environment = dict(os.environ, SONDE_HEARTBEAT_DIR=folder, SONDE_HEARTBEAT_INTERVAL=interval,
                       **more.pop('env', {}))
    process = subprocess.Popen([app, *map(str, words)], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **more)
    if wait:
        process.words = process.communicate(timeout=300)
    return folder, process


def read(folder, pattern='*.jsonl'):
    """Headers and rows of all files; every line must be whole."""
    headers, rows = [], []
    for path in sorted(glob.glob(os.path.join(folder, pattern))):
        text = open(path, encoding='utf-8').read()
        assert text.endswith('\n'), path
        for line in text.splitlines():
            row = json.loads(line)
            (headers if 'header' in row['schema'] else rows).append(row)
    return headers, rows


def total(rows, key='count'):
    return sum(row[key] for row in rows)


def consistent(rows):
    return all(sum(r['histogram']) == r['count'] and
               (not r['count'] or r['min_ns'] * r['count'] <= r['sum_ns'] <= r['max_ns'] * r['count'])
               for r in rows if r['every'] == 1)


app = build('beats', os.path.join(PROGRAMS, 'beats.c'))

folder, run = beats('threads', PAIRS, 64, interval='0.1')
headers, rows = read(folder)
t.equal(total(rows), 64 * PAIRS, f'64 threads x {PAIRS} pairs: every beat is counted')
t.equal(len({r['thread'] for r in rows}), 64, '64 threads have rows')
t.check(consistent(rows), 'histogram, count, smallest, largest and sum of each row agree',
        [r for r in rows if not consistent([r])][:2])
t.check(all(list(r) == KEYS for r in rows), 'the keys are those of the contract', rows[:1])
mean = total(rows, 'sum_ns') / max(1, total(rows))
t.check(1 < mean < 5000, 'the mean of an empty beat is nanoseconds', mean)
t.check(run.returncode == 0 and run.words == ('done\n', ''), 'the program notices nothing', run.words)
h = headers[0]
t.equal((h['host'], h['pid'], h['program'], h['arguments'], h['interval_s'], h['rank'], h['job_id']),
        (socket.gethostname(), run.pid, 'beats', ['threads', str(PAIRS), '64'], 0.1, None, None),
        'line 1 says who ran')
t.within(h['start_realtime_ns'] / 1e9, time.time(), 60, 'the anchor is the time of day')

folder, run = beats('rounds', 1000, 50)
rows = read(folder)[1]
t.equal(total(rows), 100000, '100 short threads over 50 intervals: blocks are used again, counts exact')

folder, run = beats('threads', 10, 1, interval='3600')
rows = read(folder)[1]
t.equal((total(rows), len(rows)), (10, 1), 'a run shorter than an interval writes its part')

folder, run = beats('long', 3.2)
rows = read(folder)[1]
t.equal([(r['count'], r['open']) for r in rows], [(0, 1), (0, 1), (0, 1), (1, 0)],
        'a beat of 3.2 s at 1 s: open in three intervals, counted once')
for row in rows[1:3]:
    t.within(row['open_ns'] / 1e9, row['interval_s'], 1e-3, 'open as long as the interval')
t.within(rows[-1]['sum_ns'] / 1e9, 3.2, 0.1, 'its whole duration at its end')
t.check(all(abs(b['t_s'] - a['t_s'] - b['interval_s']) < 1e-3 for a, b in zip(rows, rows[1:])),
        'intervals join', rows)

for depth in 3, 1000:
    folder, run = beats('nested', depth)
    rows = read(folder)[1]
    t.equal((total(rows), total(rows, 'misuse'), total(rows, 'dropped')), (depth, 0, 0),
            f'{depth} nested beats are all counted')

folder, run = beats('misuse')
rows = read(folder)[1]
t.equal((total(rows), total(rows, 'misuse'), run.returncode), (0, 4, 0),
        'end without begin, left open at thread exit, begin and end after finalize: 4 misuses')

folder, run = beats('fork', 100)
per_pid = {h['pid']: total(read(folder, f'*.{h["pid"]}.jsonl')[1]) for h in read(folder)[0]}
t.equal(sorted(per_pid.values()), [7, 101], 'a forked child counts its own, into its own file')
t.equal(total(read(folder)[1], 'misuse'), 0, 'the parent\'s open beat is no misuse of the child')

folder, run = beats('exec', 100)
headers, rows = read(folder)
t.equal((sorted(h['arguments'][0] for h in headers), total(rows), len({h['start_monotonic_ns'] for h in headers}),
         len(os.listdir(folder))), (['exec', 'threads'], 121, 2, 1),
        'exec: the new program has a header and counts of its own, the old one\'s rows stay')

# a plug-in that uses heartbeats, loaded, unloaded and loaded again by a program that knows nothing of them
with open('plugin.c', 'w') as out:
    out.write('''#include <pthread.h>
#include <sonde/heartbeat.h>
void work(void);
void work(void)
{
	sonde_heartbeat *beat = sonde_heartbeat_register("plugin", 0);
	for (int i = 0; i < 10; i++) {
		sonde_heartbeat_begin(beat);
		sonde_heartbeat_end(beat);
	}
}
''')
with open('host.c', 'w') as out:
    out.write('''#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *once(void *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*work)(void) = (void (*)(void))dlsym(plugin, "work");
	work();
	dlclose(plugin);
	usleep(30000);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[4];
	for (int i = 0; i < 3; i++)
		once(argv[argc - 1]);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, once, argv[argc - 1]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("done");
}
''')
beats_app = app
build('plugin.so', 'plugin.c', '-shared', '-fPIC')
done = subprocess.run(['gcc', 'host.c', '-o', 'host', '-lpthread', '-ldl'], capture_output=True, text=True)
app = os.path.abspath('host')
folder, run = beats(os.path.abspath('plugin.so'), interval='0.01')
t.equal((done.returncode, run.returncode, total(read(folder)[1]), total(read(folder)[1], 'misuse')), (0, 0, 70, 0),
        'dlclose of the user: its beats stay counted, also when it is loaded again')
app = beats_app

names = ['a "quote"', 'two\nlines', 'tab\t', 'é漢字🎉', '=1+1', 'comma, and; more', "'", '\x01\x7f', '',
         '\\', 'x' * 5000]
folder, run = beats('names', *names, 'bad \udcff utf-8', env={'SONDE_HEARTBEAT_FORMAT': 'jsonl,csv'})
rows = read(folder)[1]
t.equal(sorted(r['heartbeat'] for r in rows), sorted(names + ['bad \ufffd utf-8']),
        'hostile names in JSON')
text = open(glob.glob(folder + '/*.csv')[0], encoding='utf-8', newline='')
first = text.readline()
t.check(first.startswith('# {') and json.loads(first[2:])['pid'] == run.pid, 'CSV: line 1 is the header')
table = list(csv.DictReader(text))
t.equal(sorted(r['heartbeat'] for r in table),
        sorted("'" + n if n[:1] == '=' else n for n in names + ['bad \ufffd utf-8']),
        'hostile names in CSV, formulas disarmed')
t.equal((list(table[0]), {len(r['histogram'].split(';')) for r in table}), (KEYS, {32}),
        'CSV has the keys of JSON')

folder, run = beats('many', 3000)
t.equal(total(read(folder)[1]), 3000, '3000 heartbeats by number')

folder, run = beats('every', 1000)
rows = read(folder)[1]
t.equal((total(rows), sum(map(lambda r: sum(r['histogram']), rows)), {r['every'] for r in rows},
         total(rows, 'work')), (1000, 100, {10}, 42), '1 in 10: all counted, a tenth timed; work adds up')

folder, run = beats('disable', 50)
rows = read(folder)[1]
t.equal((total(rows), total(rows, 'misuse')), (2, 0), 'disabled beats are nothing, in any nesting')
folder, run = beats('threads', 100, 2, env={'SONDE_HEARTBEAT_ENABLE': '0'})
t.check(not os.path.exists(folder), 'SONDE_HEARTBEAT_ENABLE=0 writes nothing')

folder, run = beats('forever', 100, interval='0.01', wait=False)
time.sleep(1.5)
run.send_signal(signal.SIGKILL)
run.wait()
rows = read(folder)[1]
t.check(len(rows) > 20, 'after SIGKILL all that stands is whole lines', len(rows))

limit = 6000
folder, run = beats('rounds', 100, 40, preexec_fn=lambda: resource.setrlimit(
    resource.RLIMIT_FSIZE, (limit, limit)))
rows = read(folder)[1]
t.check(run.returncode == 0 and run.words == ('done\n', ''),
        'a file that may not grow: the program notices nothing', run.returncode, run.words)
t.check(0 < total(rows) < 8000, 'what fitted is whole', total(rows))

if os.path.ismount('/sys') and os.geteuid() == 0:
    os.mkdir('small')
    mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'none', 'small'],
                             capture_output=True).returncode == 0
else:
    mounted = False
if mounted:
    try:
        filler = os.path.abspath('small/filler')
        with open(filler, 'wb') as out:
            out.write(b'x' * 12288)
        where = os.path.abspath('small')
        run = subprocess.Popen([app, 'forever', '100'], stdout=subprocess.PIPE, env=dict(
            os.environ, SONDE_HEARTBEAT_DIR=where, SONDE_HEARTBEAT_INTERVAL='0.02'))
        time.sleep(1)
        os.unlink(filler)
        time.sleep(0.3)
        alive = run.poll() is None
        run.kill()
        run.wait()
        rows = read(where)[1]
        t.check(alive and total(rows, 'dropped') > 0, 'a full disk: lost beats are told as dropped')
    finally:
        subprocess.run(['umount', 'small'])
else:
    t.skip('a full disk: lost beats are told as dropped', 'cannot mount a small tmpfs')

folder, run = beats('rounds', 10, 300, env={'SONDE_HEARTBEAT_MAX_SIZE': '64k'})
size = sum(os.path.getsize(p) for p in glob.glob(folder + '/*'))
headers = read(folder)[0]
t.check(size <= 65536 and len(headers) == 2 and headers[0]['part'] != headers[1]['part'],
        'SONDE_HEARTBEAT_MAX_SIZE: two files, within the limit, each with a header', size, headers)

job = {'SONDE_HEARTBEAT_JOBWIDE': '1', 'SLURM_JOB_ID': '4711', 'SONDE_HEARTBEAT_DIR': 'job'}
ranks = [subprocess.Popen([app, 'threads', '1000', '4'], stdout=subprocess.DEVNULL, env=dict(
    os.environ, **job, SLURM_PROCID=str(rank), SLURM_NTASKS='8')) for rank in range(8)]
for process in ranks:
    process.wait()
headers, rows = read('job')
t.equal((len(os.listdir('job')), len(headers), sorted(r['rank'] for r in rows), total(rows),
         {r['threads'] for r in rows}, {h['job_id'] for h in headers}, {h['ranks'] for h in headers}),
        (1, 8, list(range(8)), 32000, {4}, {'4711'}, {8}),
        'jobwide: one file a node, a row per rank')
job.update(SONDE_HEARTBEAT_FORMAT='csv', SONDE_HEARTBEAT_DIR='jobcsv', SLURM_JOB_ID='4/7')
for rank in range(2):
    subprocess.run([app, 'threads', '10', '2'], stdout=subprocess.DEVNULL, env=dict(os.environ, **job, SLURM_PROCID=str(rank)))
lines = [line for line in csv.reader(open(glob.glob('jobcsv/*')[0], newline='')) if line[0] == 'sonde.heartbeat/1']
t.equal([(line[5], line[17], line[18]) for line in lines], [('20', '0', '2'), ('20', '1', '2')],
        'jobwide CSV: rows tell pid, rank and threads')

with open('scope.cc', 'w') as out:
    out.write('''#include "sonde/heartbeat.h"
int main() { sonde_heartbeat *b = sonde_heartbeat_register("scope", 0);
for (int i = 0; i < 5; i++) { sonde::heartbeat_scope beat(b); } }''')
header = 'int main(void) { sonde_heartbeat_begin(sonde_heartbeat_register("x", 0)); }\n'
faults = []
for compiler, suffix, standards in (('gcc', 'c', 'c99 c17'), ('clang', 'c', 'c99 c17'), ('g++', 'cc', 'c++11 c++20'),
                                    ('clang++', 'cc', 'c++11 c++20')):
    with open('only.' + suffix, 'w') as out:
        out.write('#include <sonde/heartbeat.h>\n#include <sonde/heartbeat_publisher.h>\n' + header.replace(
            'void', '' if suffix == 'cc' else 'void'))
    for standard in standards.split() if t.has(compiler) else []:
        for macro in [], ['-DSONDE_HEARTBEAT_DISABLE']:
            done = subprocess.run([compiler, '-std=' + standard, '-pedantic-errors', '-Wall', '-Wextra', '-Wshadow',
                                   '-Wconversion', *(['-Wold-style-cast'] if suffix == 'cc' else []), '-Werror', '-I',
                                   INCLUDE, *macro, '-c', 'only.' + suffix, '-o', 'only.o'], capture_output=True, text=True)
            if done.returncode:
                faults.append((compiler, standard, macro, done.stderr))
t.check(not faults, 'the headers are plain C99 and C++11, without warnings', *faults[:2])
if t.has('g++'):
    app = build('scope', 'scope.cc', compiler='g++')
    t.equal(total(read(beats()[0])[1]), 5, 'C++: a beat as long as its scope')
if t.has('gfortran'):
    with open('fortran.f90', 'w') as out:
        out.write('''program main
  use sonde_heartbeat
  type(c_ptr) :: b
  integer :: i
  b = heartbeat_register("fortran")
  do i = 1, 6
    call heartbeat_begin(b)
    call heartbeat_end(b)
  end do
end program''')
    app = build('fortran', os.path.join(INCLUDE, 'sonde/sonde_heartbeat.f90'), 'fortran.f90',
                compiler='gfortran')
    rows = read(beats()[0])[1]
    t.equal((total(rows), rows[0]['heartbeat']), (6, 'fortran'), 'Fortran: the module')
done = subprocess.run(['gcc', '-DSONDE_HEARTBEAT_DISABLE', '-O2', '-Wall', '-Wextra',
                       '-Werror', '-I', INCLUDE, os.path.join(PROGRAMS, 'beats.c'), '-o', 'without'],
                      capture_output=True, text=True)
symbols = subprocess.run(['nm', 'without'], capture_output=True, text=True).stdout
t.check(done.returncode == 0 and 'sonde_heartbeat' not in symbols,
        'SONDE_HEARTBEAT_DISABLE: no library, no symbol', done.stderr)
# settings that cannot be used are told once and not half taken
app = os.path.abspath('beats')
for name, value in (('FORMAT', 'xml'), ('FORMAT', 'csv,xml'), ('JOBWIDE', 'yes'),
                    ('MAX_SIZE', '5x'), ('MAX_SIZE', '5kk'), ('MAX_SIZE', '99999999999999999999'), ('ENABLE', 'no')):
    folder, run = beats('threads', 10, 2, env={'SONDE_HEARTBEAT_' + name: value})
    lines = run.words[1].splitlines()
    t.check(run.returncode == 0 and len(lines) == 1 and name in lines[0] and value in lines[0] and
            total(read(folder)[1]) == 20 and not glob.glob(folder + '/*.csv'), f'{name}={value}: one sentence', lines)
for value in 'abc', '0', '-1':
    folder, run = beats('threads', 10, 2, interval=value)
    t.check(total(read(folder)[1]) == 20 and len(run.words[1].splitlines()) == 1 and 'INTERVAL' in run.words[1],
            f'INTERVAL={value}: one sentence', run.words)
run = subprocess.run([app, 'threads', '10', '2'], capture_output=True, text=True,
                     env=dict(os.environ, SONDE_HEARTBEAT_DIR='/proc/nowhere'))
t.check(run.returncode == 0 and len(run.stderr.splitlines()) == 1 and '/proc/nowhere' in run.stderr,
        'a folder that cannot be written: one sentence', run.stderr)
open('no-folder', 'w').close()
for where in 'no-folder', 'no-folder/below':
    stuck = subprocess.Popen([app, 'forever'], stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, SONDE_HEARTBEAT_DIR=where, SONDE_HEARTBEAT_INTERVAL='3600'))
    said = stuck.stderr.readline()
    stuck.kill()
    t.check(where in said and 'cannot be written' in said and not stuck.communicate()[1],
            f'{where}: told at the start, once, an hour before the first row', said)

folder, run = beats('threads', 3000000, 2, env={'SONDE_HEARTBEAT_COST': '1'}, interval='0.01')
rows = read(folder)[1]
factors = [row['every'] for row in rows]
t.check(total(rows) == 6000000 and factors[0] == 1 and max(factors) > 8, 'a limit of cost times fewer beats and counts all',
        total(rows), factors)
# the factor may change once between two rows that follow each other: the beats between were timed by one of both
pairs = [(a, b) for thread in {row['thread'] for row in rows}
         for a, b in itertools.pairwise(row for row in rows if row['thread'] == thread)
         if b['t_s'] - a['t_s'] < 1.5 * b['interval_s']]
t.check(all(sum(b['histogram']) <= b['count'] / min(a['every'], b['every']) + 2 for a, b in pairs),
        'and times few of them', pairs[:2])
folder, run = beats('threads', 10, 2, env={'SONDE_HEARTBEAT_COST': 'little'})
t.check(total(read(folder)[1]) == 20 and len(run.words[1].splitlines()) == 1 and 'COST' in run.words[1],
        'COST=little: one sentence', run.words)

# the same library and program under sanitizers: what they write must be right as well
source = os.path.join(os.path.dirname(INCLUDE), 'src')
parts = glob.glob(source + '/runtime/heartbeat/*.c')
for flags, name in (('-fsanitize=address,undefined', 'ASan and UBSan'), ('-fsanitize=thread', 'TSan')):
    made = [subprocess.run(['gcc', '-g', '-O1', '-D_GNU_SOURCE', flags, '-fno-sanitize-recover=all', '-I', INCLUDE,
                            *words], capture_output=True, text=True)
            for words in (['-fPIC', '-shared', '-ftls-model=initial-exec', '-I', source, *parts, '-o', 'libsane.so',
                           '-lpthread', '-ldl'],
                          [os.path.join(PROGRAMS, 'beats.c'), '-o', 'sane', './libsane.so', '-lpthread'])]
    if any(m.returncode for m in made):
        t.skip(f'{name}: nothing found', 'this compiler cannot link it')
        continue
    app = os.path.abspath('sane')
    folder, run = beats('threads', 1, 1)
    if run.returncode:
        t.skip(f'{name}: nothing found', 'it does not start here: ' + run.words[1][:100])
        continue
    faults = []
    for words, want in ((('threads', 5000, 8), 40000), (('rounds', 100, 10), 2000), (('nested', 1000), 1000),
                        (('long', 0.1), 1), (('misuse',), 0), (('fork', 100), 108), (('many', 200), 200),
                        (('every', 1000), 1000), (('disable', 50), 2), (('names', 'a', 'é', '"'), 3)):
        if words[0] == 'fork' and name == 'TSan':  # cannot follow threads of a forked child
            continue
        folder, run = beats(*words, interval='0.01', env={
            'ASAN_OPTIONS': 'detect_leaks=0', 'SONDE_HEARTBEAT_FORMAT': 'jsonl,csv'})
        got = total(read(folder)[1])
        if run.returncode or run.words != ('done\n', '') or got != want:
            faults.append((words, run.returncode, got, run.words[1][:2000]))
    t.check(not faults, f'{name}: nothing found', *faults[:2])

# as installed: pkg-config, CMake, the Fortran module, moved as a whole
build_root = os.environ.get('BUILD_ROOT')
if build_root and t.has('meson', 'pkg-config'):
    done = t.command('meson', 'install', '-C', build_root, '--no-rebuild', '--quiet', '--destdir',
                     os.path.abspath('installed'))
    t.check(done.returncode == 0, 'meson install', done.stderr[-500:])
    os.rename('installed', 'moved')
    package = glob.glob('moved/**/sonde-heartbeat.pc', recursive=True)[0]
    flags = t.command('pkg-config', '--cflags', '--libs', 'sonde-heartbeat', env=dict(
        os.environ, PKG_CONFIG_PATH=os.path.dirname(package), PKG_CONFIG_SYSROOT_DIR=os.path.abspath('moved')))
    library = os.path.dirname(os.path.dirname(os.path.abspath(package)))
    done = t.command('gcc', '-O2', os.path.join(PROGRAMS, 'beats.c'), '-o', 'by-pkg-config', *flags.stdout.split(),
                     '-lpthread')
    app = os.path.abspath('by-pkg-config')
    os.mkdir('prom')
    folder, run = beats('threads', 10, 2, env={
        'LD_LIBRARY_PATH': library, 'SONDE_HEARTBEAT_PUBLISH': 'openmetrics', 'SONDE_HEARTBEAT_OPENMETRICS_KEEP': '1',
        'SONDE_HEARTBEAT_OPENMETRICS_DIR': os.path.abspath('prom')})
    t.equal((done.returncode, total(read(folder)[1]), len(os.listdir('prom'))), (0, 20, 1),
            'the pkg-config package builds a program, and the plug-in is found beside the library')
    if t.has('cmake'):
        os.mkdir('cm')
        with open('cm/CMakeLists.txt', 'w') as out:
            out.write('cmake_minimum_required(VERSION 3.13)\nproject(x C)\n'
                      'find_package(sonde-heartbeat 0.1 REQUIRED)\n'
                      f'add_executable(app {PROGRAMS}/beats.c)\n'
                      'target_link_libraries(app sonde::heartbeat pthread)\n')
        done = t.command('sh', '-c', f'cmake -G Ninja -S cm -B cm/b -DCMAKE_PREFIX_PATH={os.path.abspath("moved/usr/local")} '
                         '&& cmake --build cm/b')
        app = os.path.abspath('cm/b/app')
        count_now = total(read(beats('threads', 10, 2, env={'LD_LIBRARY_PATH': library})[0])[1]) \
            if done.returncode == 0 else None
        t.equal(count_now, 20, 'the CMake package builds a program')
        if count_now != 20:
            print('#', done.stderr[-500:].replace('\n', '\n# '))
    else:
        t.skip('the CMake package builds a program', 'cmake is not here')
else:
    t.skip('meson install', 'no build folder named')

exported = subprocess.run(['nm', '-D', '--defined-only', LIBRARY], capture_output=True, text=True).stdout
t.check(all(line.split()[-1].startswith('sonde_heartbeat_') for line in exported.splitlines()),
        'the library exports its own names only', exported)
t.done()
