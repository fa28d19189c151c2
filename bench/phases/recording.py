"""What recording for phases costs at 100 Hz and at 1 kHz.

    python3 bench/phases/recording.py BUILD_FOLDER [ROUNDS]

At these rates a run costs tenths of a percent, which runs differ by anyway. So a program that computes for half a
second is run plain, with the collector but without a sample, and at 4 kHz, in turns; CPU time (user and system, wait4)
over samples and switches gives what each costs, and so what any rate does:

start    collector without a sample, less its switches
switch   a context switch with the collector's perf events, from runs that give up the CPU 5,000 times
sample   the runs at 4 kHz less those without samples, over their number of samples

Intervals hold the median with 95 % confidence (order statistics).
"""
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '../heartbeat'))
from overhead import interval  # noqa: E402

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
os.chdir(tempfile.mkdtemp())
with open('app.c', 'w') as out:
    out.write('''#include <sched.h>
#include <stdlib.h>
#include <time.h>
static double a[4096];
volatile double sink;
static void work(int rounds) { for (int r = 0; r < rounds; r++) for (int i = 1; i < 4096; i++) a[i] = a[i - 1] * 0.5 + a[i]; }
int main(int argc, char **argv)
{
	struct timespec moment = { 0, 1 };
	for (int i = 0; i < atoi(argv[1]); i++) { work(60); if (argv[2][0] == 's' && i % 2) nanosleep(&moment, NULL); }
	sink = a[4095];
	return 0;
}
''')
subprocess.run(['gcc', '-O2', '-g', 'app.c', '-o', 'app'], check=True)


def run(settings, how):
    env = dict(os.environ)
    if settings:
        shutil.rmtree('data', ignore_errors=True)
        os.mkdir('data')
        env.update(LD_PRELOAD=os.path.join(build, 'src/runtime/libsonde-runtime.so'), SONDE_RUNTIME=settings + ';dir=data')
    process = subprocess.Popen(['./app', '1000', how], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw


kinds = {'plain': (None, 'c'), 'none': ('period=100000000000', 'c'), 'fast': ('period=250170', 'c'),
         'plain switching': (None, 's'), 'none switching': ('period=100000000000', 's')}
names = list(kinds)
rows = {name: [] for name in names}
for turn in range(rounds):
    for k in range(len(names)):
        name = names[(turn + k) % len(names)]
        rows[name].append(run(*kinds[name]))
plain = interval([s for s, _ in rows['plain']])[0]
switch = [(n[0] - p[0] - (f[0] - q[0])) / max(n[1] - f[1], 1) for n, p, f, q in
          zip(rows['none switching'], rows['plain switching'], rows['none'], rows['plain'])]
per_switch = interval(switch)
start = interval([n - p - ns * per_switch[0] for (n, ns), (p, _) in zip(rows['none'], rows['plain'])])
sample = interval([(f - n) / (f * 1e9 / 250170) for (f, _), (n, _) in zip(rows['fast'], rows['none'])])
print('a run of {:.3f} s of CPU time; {} rounds'.format(plain, rounds))
print('start  {:6.2f} ms ({:.2f} to {:.2f})'.format(*(1e3 * x for x in start)))
print('switch {:6.2f} us ({:.2f} to {:.2f})'.format(*(1e6 * x for x in per_switch)))
print('sample {:6.2f} us ({:.2f} to {:.2f})'.format(*(1e6 * x for x in sample)))
for rate in 100, 1000:
    print('{} Hz, a run of 10 s without switches: {:.2f} % ({:.2f} to {:.2f})'.format(
        rate, *(100 * (rate * s + max(start[0], 0) / 10) for s in sample)))
