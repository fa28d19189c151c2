"""What sonde causal foretells of a program, beside what the program does when that part is really shortened.

    python3 bench/causal/run.py BUILD [SECONDS]

Both are measured in the same run, shortened and whole runs in turn. Say with the figures what else the machine did: where threads
wait for CPUs effects come out too small (`chrt -f 1 python3 ...` gives them the CPUs)."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

here, build = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1])
seconds = sys.argv[2] if len(sys.argv) > 2 else '30'
library = os.path.join(build, 'src/runtime/heartbeat')
os.chdir(tempfile.mkdtemp())
os.environ['SONDE_HEARTBEAT_DIR'] = 'beats'
subprocess.run(['gcc', '-O2', '-g', '-fno-ipa-icf', '-I', os.path.join(here, '../../include'), os.path.join(here, 'barrier.c'), '-o', 'barrier',
                '-L' + library, '-Wl,-rpath,' + library, '-lsonde-heartbeat', '-pthread'], check=True)


def step_s(heavy=1.0, light=1.0):
    return float(subprocess.run(['./barrier', '40', str(heavy), str(light)], capture_output=True, text=True, check=True).stdout)


truth = {}
for name in ('heavy', 'light'):
    for speedup in (0.25, 0.5):
        pairs = [(step_s(), step_s(**{name: 1 - speedup})) for _ in range(3)]
        truth[name, speedup] = 1 - statistics.median(short / whole for whole, short in pairs)
subprocess.run([os.path.join(build, 'sonde'), 'causal', '-q', '-o', 'x', '--target', 'heavy,light', '--speedups', '25,50', '--max-time', seconds, '--',
                './barrier', '400'], stdout=subprocess.DEVNULL, check=True)
answer = json.loads(subprocess.run([os.path.join(build, 'sonde'), 'show', 'causal', 'x', '--format', 'json'], capture_output=True, check=True).stdout)
print('| part | speed-up | really shortened | foretold | 95 % | experiments |\n|---|---|---|---|---|---|')
for row in answer['rows']:
    for point in row['points']:
        real = truth.get((row['name'], point['speedup']))
        print(f"| {row['name']} | {point['speedup']:.2f} | {real:.3f} | {point['effect']:.3f} | {point['effect_low']:.3f} to {point['effect_high']:.3f} "
              f"| {point['experiments']} |")
print({key: answer[key] for key in ('observed_false_alarm_rate', 'delay_error_share', 'overhead_share', 'runs')})
