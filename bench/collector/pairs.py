"""Whether one build of the runtime costs the target more than another: interleaved pairs.

    python3 bench/collector/pairs.py BUILD_BEFORE BUILD_AFTER [ROUNDS [KIND...]]

Prints, for each kind of event of costs.c, ns per event without the runtime, with each of the two, and
their difference: the median over the rounds of the difference within a pair, with the middle half."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

before, after = (os.path.join(os.path.abspath(b), 'src/runtime/libsonde-runtime.so') for b in sys.argv[1:3])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
# by name: the runtime's settings, and costs.c's kind
KINDS = {
    'read': ('period=0', 'read'),
    'read, nobody asks': ('period=0;wait=0', 'read'),
    'lock, one thread': ('period=0', 'lock'),
    'lock, two threads': ('period=0', 'shared'),
    'lock, held by itself': ('period=0', 'held'),
    'lock, held by another': ('period=0', 'timed'),
    'lock, wanted by two': ('period=0', 'wanted'),
    'turn, no samples': ('period=0', 'turn'),
    'turn, events and timers': ('period=1000700', 'turn'),
    '100 samples': ('period=1000000000;mechanism=2', 'sample'),
    'thread': ('period=1000700', 'thread'),
    '5 ms at 1 kHz': ('period=1000700', 'work'),
    '5 ms at 10 kHz': ('period=100000', 'work'),
}
chosen = sys.argv[4:] or list(KINDS)
folder = tempfile.mkdtemp(prefix='pairs-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
program = os.path.join(folder, 'costs')
subprocess.run(['gcc', '-O2', '-w', '-pthread', os.path.join(os.path.dirname(os.path.abspath(__file__)), 'costs.c'),
                '-o', program], check=True)


def cost(library, settings, kind):
    data = os.path.join(folder, 'data')
    shutil.rmtree(data, ignore_errors=True)
    os.mkdir(data)
    env = dict(os.environ)
    if library:
        env.update(LD_PRELOAD=library, SONDE_RUNTIME=f'{settings};dir={data}')
    return float(subprocess.run([program, kind], env=env, capture_output=True, text=True, check=True).stdout)


print(f"{'ns an event':26} {'plain':>12} {'before':>12} {'after':>12} {'difference':>12}  middle half")
for name in chosen:
    settings, kind = KINDS[name]
    rows = {None: [], before: [], after: []}
    for turn in range(rounds):
        order = [before, after] if turn % 2 else [after, before]
        for library in ([None] if kind != 'sample' else []) + order:
            rows[library].append(cost(library, settings, kind))
    differences = sorted(b - a for a, b in zip(rows[before], rows[after]))
    quarter = len(differences) // 4
    print(f'{name:26} {statistics.median(rows[None] or [0]):12.1f} {statistics.median(rows[before]):12.1f} '
          f'{statistics.median(rows[after]):12.1f} {statistics.median(differences):12.1f}  '
          f'{differences[quarter]:.1f} to {differences[-1 - quarter]:.1f}', flush=True)
shutil.rmtree(folder)
