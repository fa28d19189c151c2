"""What sonde causal foretells of changes that can be made to real programs, beside what these changes bring.

    python3 bench/causal/real.py BUILD [--seconds S] [--pairs N] [CHANGE ...]

A change is an option of the program, of which one piece of code is spared all or part of its time. Which code that is, two profiles
tell: the function whose CPU time falls most from the one to the other (or, of a change below many functions, one that is named, with
all that it calls); and by which share its time falls, at which the answer of `sonde causal` is read off between its points. Then
pairs of runs with and without the change tell the truth. Needs Debian's xz-utils, zstd, x264, ffmpeg and lammps, and two idle CPUs."""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from pairs import spread_of

MPIRUN = ('mpirun', '--allow-run-as-root', '--oversubscribe', '-n', '2')
ENCODE = ('x264', '--quiet', '--no-progress', '--threads', '2', '--preset', 'veryfast', '-o', '/dev/null')
FFMPEG = ('ffmpeg', '-v', 'error', '-i', 'film.y4m')
# change: (what runs before, what after it, code; None: the function whose time falls most)
CHANGES = {
    'xz: no SHA-256': ('xz -1 -T2 --block-size=1MiB -kc --check=sha256 text', 'xz -1 -T2 --block-size=1MiB -kc --check=none text', None),
    'xz: no CRC64': ('xz -0 -T2 --block-size=1MiB -kc --check=crc64 text', 'xz -0 -T2 --block-size=1MiB -kc --check=none text', None),
    'xz -d | sha512sum: no SHA-256': ("sh -c 'xz -dc sha256.xz | sha512sum'", "sh -c 'xz -dc none.xz | sha512sum'", None),
    'zstd: no checksum': ('zstd -q -1 -T2 -B1M -c --check text', 'zstd -q -1 -T2 -B1M -c --no-check text', None),
    'x264: no SSIM': (' '.join((*ENCODE, '--ssim', 'film.y4m')), ' '.join((*ENCODE, 'film.y4m')), None),
    'x264: no PSNR': (' '.join((*ENCODE, '--psnr', 'film.y4m')), ' '.join((*ENCODE, 'film.y4m')), None),
    'ffmpeg: no denoising': (' '.join((*FFMPEG, '-vf', 'hqdn3d', '-c:v', 'mpeg2video', '-threads', '2', '-f', 'null', '-')),
                             ' '.join((*FFMPEG, '-c:v', 'mpeg2video', '-threads', '2', '-f', 'null', '-')), None),
    'ffmpeg: no sharpening': (' '.join((*FFMPEG, '-vf', 'unsharp', '-c:v', 'mpeg2video', '-threads', '2', '-f', 'null', '-')),
                              ' '.join((*FFMPEG, '-c:v', 'mpeg2video', '-threads', '2', '-f', 'null', '-')), None),
    'lammps: no dump': (' '.join((*MPIRUN, 'lmp', '-log', 'none', '-in', 'dump.in')), ' '.join((*MPIRUN, 'lmp', '-log', 'none', '-in', 'plain.in')),
                        'LAMMPS_NS::Output::write(long)'),
    'lammps: neighbours anew seldom': (' '.join((*MPIRUN, 'lmp', '-log', 'none', '-in', 'often.in')),
                                       ' '.join((*MPIRUN, 'lmp', '-log', 'none', '-in', 'plain.in')), 'LAMMPS_NS::Neighbor::build(int)'),
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
SPEEDUPS = (0.25, 0.5, 0.75, 1)
PROFILES = 3

options = argparse.ArgumentParser()
options.add_argument('build')
options.add_argument('changes', nargs='*', default=list(CHANGES))
options.add_argument('--seconds', type=float, default=60, help='for experiments with each program')
options.add_argument('--pairs', type=int, default=15)
options = options.parse_intermixed_args()
sonde = os.path.join(os.path.abspath(options.build), 'sonde')
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
    quietly('ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25:duration=8 -pix_fmt yuv420p film.y4m')
    for name, every, dump in (('plain', 20, ''), ('often', 1, ''), ('dump', 20, 'dump 1 all custom 1 dump.out id x y z')):
        open(name + '.in', 'w').write(LAMMPS.format(every=every, dump=dump))


def show(*words):
    return json.loads(subprocess.run([sonde, 'show', *words, '--format', 'json'], capture_output=True, check=True).stdout)


def seconds_by_function(command, name):
    """Mean CPU time of each function: in itself, and with all that it calls."""
    own, whole = collections.Counter(), collections.Counter()
    for number in range(PROFILES):
        quietly(f'{sonde} record -q -o {name}{number} -- {command}')
        for row in show('functions', f'{name}{number}')['rows']:
            own[row['function']] += row['exclusive_cpu_s'] / PROFILES
            whole[row['function']] += row['inclusive_cpu_s'] / PROFILES
    return own, whole


def code_of(number, before, after, named):
    """The changed code, by which share of its CPU time it is spared, and how much CPU time changes elsewhere, beside what it had."""
    (own, whole), (own_after, whole_after) = seconds_by_function(before, f'before{number}.'), seconds_by_function(after, f'after{number}.')
    code = named or max(own, key=lambda name: own[name] - own_after[name])
    had, has = (whole[code], whole_after[code]) if named else (own[code], own_after[code])
    fall = sum(own.values()) - sum(own_after.values())
    return code, 1 - has / had, (fall - (had - has)) / had


def elapsed_s(command):
    begin = time.monotonic()
    quietly(command)
    return time.monotonic() - begin


def truth_of(before, after):
    ratios = []
    for pair in range(options.pairs):
        seconds = {}
        for command in (before, after) if pair % 2 else (after, before):
            seconds[command] = elapsed_s(command)
        ratios.append(1 - seconds[after] / seconds[before])
    return statistics.median(ratios), spread_of(sorted(ratios))


def read_off(points, speedup, key):
    """Between the answer's points, and none without a speed-up."""
    at, value = 0.0, 0.0
    for point in points:
        if point['speedup'] >= speedup:
            return value + (point[key] - value) * (speedup - at) / (point['speedup'] - at)
        at, value = point['speedup'], point[key]
    return value


make_files()
hits = told = 0
print('| change | code | its CPU time falls by | CPU time elsewhere, of it | elapsed time, real | foretold | 95 % | experiments | verdict | in it |')
print('|---|---|---|---|---|---|---|---|---|---|')
for number, change in enumerate(options.changes):
    before, after, named = CHANGES[change]
    code, speedup, elsewhere = code_of(number, before, after, named)
    real, spread = truth_of(before, after)
    quietly(f"{sonde} causal -q -o x{number} --target '{code}' {'--with-callees' if named else ''} --speedups "
            f"{','.join(str(round(100 * s)) for s in SPEEDUPS)} --progress end --max-time {options.seconds} -- {before}")
    row = show('causal', f'x{number}')['rows'][0]
    points = [point for point in row['points'] if point['effect_low'] is not None]
    begin = f'| {change} | `{code}` | {speedup:.2f} | {elsewhere:+.2f} | {real:.3f} +- {spread:.3f} |'
    if not points:
        print(f"{begin} - | - | 0 | {row['verdict']}: {row['reason']} | - |", flush=True)
        continue
    effect, low, high = (read_off(points, speedup, key) for key in ('effect', 'effect_low', 'effect_high'))
    is_in = low - spread <= real <= high + spread
    told, hits = told + 1, hits + is_in
    print(f"{begin} {effect:.3f} | {low:.3f} to {high:.3f} | {sum(p['experiments'] for p in points)} | {row['verdict']} | {'yes' if is_in else 'no'} |",
          flush=True)
print(f'\nforetold within the interval, the truth\'s own added: {hits} of {told} that were told, of {len(options.changes)} changes')
