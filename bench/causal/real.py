"""What sonde causal foretells of changes that can be made to real programs, beside what these changes bring.

    python3 bench/causal/real.py BUILD [--seconds S] [--pairs N] [CHANGE ...]

A change is an option of the program, of which some code is spared all or part of its time. Which code that is, profiles of both tell:
functions whose CPU time falls beyond what profiles of one program differ by, or one that is named, with all that it calls. Each is
tried by `sonde causal` at the share by which its own CPU time falls, and what they bring is added up, so that what is foretold is of
the same code as the change. How much CPU time falls in none of them stands beside it: a change is a fair question only where that is
little, or is waiting alone, since a virtual speed-up is of the code and of nothing else. Pairs of runs with and without the change,
half of them before the experiments and half behind, tell the truth: the elapsed time, of a server its client's. Nothing is written to
a disk. No program has more than two threads at work.
Needs Debian's xz-utils, zstd, x264, ffmpeg, lammps, sqlite3, libsqlite3-dev, redis-server and redis-tools, and two idle CPUs."""
import argparse
import collections
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from pairs import spread_of

MPIRUN = ('mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2')
# in slices main only waits for the two that encode
ENCODE = 'x264 --quiet --no-progress --threads 2 --sliced-threads --sync-lookahead 0 --preset veryfast -o /dev/null'
# quantization with a trellis, of which libx264 has no symbol: of Debian's 2:0.164.3095
TRELLIS = '<function at 0x4a180>'
SIX = ' '.join(['text'] * 6)  # half a second of zstd
FFMPEG = 'ffmpeg -v error -i film.y4m'
FFMPEG_OUT = '-c:v mpeg2video -threads 2 -f null -'
# reads ahead in one thread, and sorts what was read in another
SORT = 'sqlite3 -cmd "PRAGMA threads=1" -cmd "PRAGMA cache_size=-20000" names.db'
HEAVY, LIGHT = 'SELECT sum(length(a)) FROM names WHERE a NOT LIKE "%deadbeef%"', 'SELECT sum(length(a)) FROM names'  # all are taken
# a server with two threads, and a client that asks for 256 answers at once
REDIS = "sh redis.sh '--hash-max-listpack-entries {entries} --latency-tracking {tracking}' {requests} {field}"


class Change:
    def __init__(self, before, after, code=None, progress='end', is_rate=False):
        """`code`: with what it calls; None: functions whose time falls. `progress`: as of `sonde causal`. `is_rate`: the program
        prints how many requests a second there were."""
        self.before, self.after, self.code, self.progress, self.is_rate = before, after, code, progress, is_rate


def queries(first, second):
    return ' '.join(shlex.quote(word) for word in ('./sqlite', 'names.db', '60', first.replace('"', "'"), second.replace('"', "'")))


def lammps(name):
    return ' '.join((*MPIRUN, 'lmp', '-log', 'none', '-in', name + '.in'))


def redis(entries, tracking, requests, field=400):
    return REDIS.format(entries=entries, tracking=tracking, requests=requests, field=field)


CHANGES = {
    'xz: no SHA-256': Change('xz -1 -T2 --block-size=1MiB -kc --check=sha256 text', 'xz -1 -T2 --block-size=1MiB -kc --check=none text'),
    'xz: no CRC64': Change('xz -0 -T2 --block-size=1MiB -kc --check=crc64 text', 'xz -0 -T2 --block-size=1MiB -kc --check=none text'),
    'xz -d | sha512sum: no SHA-256': Change("sh -c 'xz -dc sha256.xz | sha512sum'", "sh -c 'xz -dc none.xz | sha512sum'"),
    'zstd: no checksum': Change(f'zstd -q -1 -T1 -B1M -c --check {SIX}', f'zstd -q -1 -T1 -B1M -c --no-check {SIX}'),
    'x264: no trellis': Change(ENCODE + ' --trellis 1 film.y4m', ENCODE + ' film.y4m', TRELLIS),
    'ffmpeg: no denoising': Change(f'{FFMPEG} -vf hqdn3d {FFMPEG_OUT}', f'{FFMPEG} {FFMPEG_OUT}'),
    'x264: a shorter search': Change(*(f'{ENCODE} --me esa --merange {most} film.y4m' for most in (8, 4))),
    'ffmpeg: sharpening by fewer pixels': Change(*(f'{FFMPEG} -vf unsharp={pixels} {FFMPEG_OUT}' for pixels in ('13:13:1:13:13:1', '5:5:1:5:5:1'))),
    'ffmpeg: no sharpening': Change(f'{FFMPEG} -vf unsharp {FFMPEG_OUT}', f'{FFMPEG} {FFMPEG_OUT}'),
    'sqlite3: sort by bytes': Change(*(f'{SORT} "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY a COLLATE {order}) AS r FROM names)"' for order in ('NOCASE', 'BINARY'))),
    'sqlite: no LIKE in the longer query': Change(queries(HEAVY, LIGHT), queries(LIGHT, LIGHT), progress='round_is_over'),
    'sqlite: a LIKE that fails at once': Change(queries(HEAVY, LIGHT), queries(HEAVY.replace('%', ''), LIGHT), progress='round_is_over'),
    'sqlite: no sum in the shorter query': Change(queries(HEAVY, LIGHT), queries(HEAVY, 'SELECT count(a) FROM names'), progress='round_is_over'),
    'redis: no lists for hashes': Change(redis(1000, 'yes', 400000), redis(1, 'yes', 400000), 'lpFind', 'hgetCommand', True),
    'redis: a field nearer to the begin': Change(redis(1000, 'yes', 400000), redis(1000, 'yes', 400000, 100), 'lpFind', 'hgetCommand', True),
    'redis: no histograms of latency': Change(redis(1, 'yes', 3000000), redis(1, 'no', 3000000), 'hdr_record_values', 'hgetCommand', True),
    'lammps: no dump': Change(lammps('dump'), lammps('plain'), 'LAMMPS_NS::Output::write(long)'),
    'lammps: neighbours anew seldom': Change(lammps('often'), lammps('plain'), 'LAMMPS_NS::Neighbor::build(int)'),
}
LAMMPS = '''units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every {every} check no
fix 1 all nve
{dump}
run 150
'''
SERVE = """redis-server --port 7399 --io-threads 2 --io-threads-do-reads yes --save '' --logfile '' $1 > /dev/null &
until redis-cli -p 7399 ping > /dev/null 2>&1; do sleep 0.02; done
for i in $(seq 1 500); do echo "HSET h field:$i value:$i"; done | redis-cli -p 7399 > /dev/null
redis-benchmark -p 7399 -c 16 -P 256 -n $2 HGET h field:$3 | tr '\\r' '\\n' | grep summary
redis-cli -p 7399 shutdown nosave
wait
"""
NAMES = """PRAGMA journal_mode=OFF;
CREATE TABLE names(a TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500000)
INSERT INTO names SELECT 'All of them begin so ' || hex(randomblob(12)) FROM c;"""
PROFILES = 5  # by chance all of one program's are above all of the other's for one function in 252
FALLS = 0.3  # of the largest fall: code whose time falls by less is not tried apart
CODES_MOST = 2
LEAST = 0.05  # a speed-up below is tried as this

options = argparse.ArgumentParser()
options.add_argument('build')
options.add_argument('changes', nargs='*', default=list(CHANGES))
options.add_argument('--seconds', type=float, default=60, help='for experiments with each program')
options.add_argument('--pairs', type=int, default=15)
options = options.parse_intermixed_args()
sonde = os.path.join(os.path.abspath(options.build), 'sonde')
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(tempfile.mkdtemp(prefix='causal-real.'))


def quietly(command, **more):
    return subprocess.run(command, shell=isinstance(command, str), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          check=True, **more)


def make_files():
    data = open(sys.executable, 'rb').read()
    for folder, _, names in os.walk('/usr/lib/x86_64-linux-gnu'):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if len(data) < 40_000_000 and os.path.isfile(path):
                data += open(path, 'rb').read(4_000_000)
    open('text', 'wb').write(data[:40_000_000])
    for check in ('sha256', 'none'):
        quietly(f'xz -0 -kc --check={check} text > {check}.xz')
    quietly('ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25:duration=16 -pix_fmt yuv420p film.y4m')
    for name, every, dump in (('plain', 20, ''), ('often', 1, ''), ('dump', 20, 'dump 1 all custom 1 /dev/null id x y z')):
        open(name + '.in', 'w').write(LAMMPS.format(every=every, dump=dump))
    open('redis.sh', 'w').write(SERVE)
    subprocess.run(['sqlite3', 'names.db', NAMES], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(['gcc', '-O2', '-g', os.path.join(here, 'sqlite.c'), '-o', 'sqlite', '-lsqlite3', '-pthread'], check=True)


def show(*words):
    return json.loads(subprocess.run([sonde, 'show', *words, '--format', 'json'], capture_output=True, check=True).stdout)


def seconds_by_function(commands, name):
    """For each command, CPU time of each function in each of some profiles: in itself, and with all that it calls. The commands' profiles
    are made in turn, since a machine is now faster, now slower."""
    found = [(collections.defaultdict(list), collections.defaultdict(list)) for _ in commands]
    for number in range(PROFILES):
        for which, command in enumerate(commands):
            experiment = f'{name}.{which}.{number}'
            quietly(f'{sonde} record -q -o {experiment} -- {command}')
            rows = collections.Counter(), collections.Counter()
            for row in show('functions', experiment)['rows']:
                rows[0][row['function']] += row['exclusive_cpu_s']
                rows[1][row['function']] += row['inclusive_cpu_s']
            for times, seconds in zip(found[which], rows):
                for function, time_s in seconds.items():
                    times[function] += [0] * (number - len(times[function])) + [time_s]
    for times in found:
        for kind in times:
            for each in kind.values():
                each += [0] * (PROFILES - len(each))
    return found


def mean(times):
    return sum(times) / PROFILES


def codes_of(number, change):
    """The changed code, each with the share of its CPU time that it is spared, and how much CPU time changes elsewhere, beside what it had."""
    (own, whole), (own_after, whole_after) = seconds_by_function((change.before, change.after), f'profile{number}')
    none = [0] * PROFILES
    if change.code:
        falls = {change.code: mean(whole[change.code]) - mean(whole_after.get(change.code, none))}
        had = {change.code: mean(whole[change.code])}
        if not had[change.code]:
            sys.exit(f'{change.before}: no profile has {change.code}')
    else:
        had = {name: mean(times) for name, times in own.items()}
        every = {name: had[name] - mean(own_after.get(name, none)) for name in own}
        # no profile of the one has as little as any of the other
        falls = {name: fall for name, fall in every.items() if fall > 0 and min(own[name]) > max(own_after.get(name, none))} or every
        largest = max(falls.values())
        falls = {name: falls[name] for name in sorted(falls, key=falls.get, reverse=True)[:CODES_MOST] if falls[name] >= FALLS * largest}
    total = sum(map(mean, own.values())) - sum(map(mean, own_after.values()))
    fall = sum(falls.values())
    return {name: min(1, max(0, fall / had[name])) for name, fall in falls.items()}, (total - fall) / sum(had[name] for name in falls)


def elapsed_s(command, is_rate):
    begin = time.monotonic()
    said = subprocess.run(command, shell=True, stdout=subprocess.PIPE if is_rate else subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
    return 1 / float(re.search(rb'([\d.]+) requests per second', said.stdout)[1]) if is_rate else time.monotonic() - begin


def ratios_of(change, count):
    ratios = []
    for pair in range(count):
        seconds = {}
        for command in (change.before, change.after) if pair % 2 else (change.after, change.before):
            seconds[command] = elapsed_s(command, change.is_rate)
        ratios.append(1 - seconds[change.after] / seconds[change.before])
    return ratios


def percent_of(speedup):
    return round(100 * max(speedup, LEAST))


def points_of(number, change, codes):
    """What was foretold of each code: its point at the speed-up, the answer's row; no point where nothing was told."""
    done = subprocess.run(f"{sonde} causal -q -o x{number} {' '.join('--target ' + shlex.quote(code) for code in codes)} {'--with-callees' if change.code else ''} --speedups "
            f"{','.join(map(str, sorted({percent_of(speedup) for speedup in codes.values()})))} --progress {change.progress} --max-time {options.seconds} -- {change.before}",
                          shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode or 'sonde:' in done.stderr:
        print(done.stderr, file=sys.stderr)
    answer = show('causal', f'x{number}')
    for row in answer['rows']:
        speedup = next(codes[code] for code in codes if code in (row['name'], row['function']))
        told = [point for point in row['points'] if point['effect_low'] is not None and round(100 * point['speedup']) == percent_of(speedup)]
        yield told[0] if told else None, row, speedup / (percent_of(speedup) / 100)


make_files()
hits = told = 0
print('| change | code | its CPU time falls by | CPU time elsewhere, of it | elapsed time, real | foretold | 95 % | experiments | verdict | in it |')
print('|---|---|---|---|---|---|---|---|---|---|')
for number, name in enumerate(options.changes):
    change = CHANGES[name]
    codes, elsewhere = codes_of(number, change)
    ratios = ratios_of(change, options.pairs // 2)
    points = list(points_of(number, change, codes))
    ratios += ratios_of(change, options.pairs - options.pairs // 2)
    real, spread = statistics.median(ratios), spread_of(sorted(ratios))
    begin = (f"| {name.replace(' |', ',')} | {', '.join(f'`{code}`' for code in codes)} | {', '.join(f'{speedup:.2f}' for speedup in codes.values())} | {elsewhere:+.2f} | "
             f"{real:.3f} +- {spread:.3f} |")
    if not all(point for point, _, _ in points) or len(points) < len(codes):
        print(f"{begin} - | - | 0 | {', '.join(row['verdict'] + ': ' + row['reason'] for _, row, _ in points)} | - |", flush=True)
        continue
    effect = sum(point['effect'] * part for point, _, part in points)
    low, high = (effect + sign * math.hypot(*((point[key] - point['effect']) * part for point, _, part in points)) for sign, key in ((-1, 'effect_low'), (1, 'effect_high')))
    is_in = low - spread <= real <= high + spread
    told, hits = told + 1, hits + is_in
    print(f"{begin} {effect:.3f} | {low:.3f} to {high:.3f} | {sum(point['experiments'] for point, _, _ in points)} | {', '.join(row['verdict'] for _, row, _ in points)} | "
          f"{'yes' if is_in else 'no'} |", flush=True)
print(f'\nforetold within the interval, the truth\'s own added: {hits} of {told} that were told, of {len(options.changes)} changes')
