"""What a search takes from the program that it measures, on one host.

    python3 bench/search/one_host.py [PAIRS [KILLS]]

`stepping.c` (two threads, steps of some 20 ms, a lock held five calls below the step), plain and under `sonde search --phase step` in turns:

- a step's CPU and wall time while the agent is attached and measures nothing more, against the plain run's beside it;
- what a step of the search takes (`overhead_share`), and how long the program was stopped at most (the longest step against the median);
- how many steps and candidates lead to the planted cause;
- after `kill -9` of the agent's two processes: the longest time without a step; of its worker alone: when the guardian has started another one."""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sonde = os.path.abspath(os.environ.get('SONDE', 'build/sonde'))
here = os.path.dirname(os.path.abspath(__file__))
pairs, kills = (int(word) for word in (sys.argv[1:] + ['6', '20'][len(sys.argv) - 1:]))
STEPS, MEASURED_S, KILLED_STEPS = 1200, 12, 250


def ends_and_cpu_of(path):
    """When steps ended, and the CPU time of one (None: the program has not ended)."""
    if not os.path.exists(path):
        return [], None
    with open(path) as steps:
        words = [line.split() for line in steps.read().split('\n')[:-1]]
    return [float(w[0]) for w in words if len(w) == 1], next((float(w[1]) for w in words if len(w) == 2), None)


def plain():
    subprocess.run(['./stepping', str(STEPS), 'plain.steps'], check=True)
    return ends_and_cpu_of('plain.steps')


def searched(name):
    done = subprocess.run([sonde, 'search', '-q', '--phase', 'step', '--restarts', '0', '--format', 'json', '-o', name, './stepping', str(STEPS),
                           name + '.steps'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), *ends_and_cpu_of(name + '.steps')


def step_s(ends, first_s):
    """Of the steps after a time, their mean."""
    late = [e for e in ends if e >= first_s]
    return (late[-1] - late[0]) / (len(late) - 1)


def agents_of(folder, whose='sonde-'):
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as words, open(f'/proc/{pid}/comm') as name:
                text = words.read()
                if name.read().startswith(whose) and folder in text:
                    found.append(int(pid))
        except OSError:
            pass
    return found


def has_measured(spool):
    try:
        with open(spool, encoding='latin-1') as lines:
            return 'measured' in lines.read()
    except OSError:
        return False


def search_begun(name):
    """Whose agent has measured something."""
    command = subprocess.Popen([sonde, 'search', '-q', '--phase', 'step', '--restarts', '0', '-o', name, './stepping', str(KILLED_STEPS),
                                name + '.steps'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while command.poll() is None and not has_measured(os.path.join(name, 'search.spool')):
        time.sleep(.01)
    return command


def killed(name):
    """Seconds without a step after both processes of the agent were killed."""
    command = search_begun(name)
    before = len(ends_and_cpu_of(name + '.steps')[0])
    for pid in agents_of(name):
        os.kill(pid, signal.SIGKILL)
    command.wait()
    ends, _ = ends_and_cpu_of(name + '.steps')
    return len(ends), max(b - a for a, b in zip(ends[before - 1:], ends[before:])) if len(ends) > before + 1 else None


def restarted(name):
    """Seconds until another worker was there after the first one was killed."""
    command = search_begun(name)
    workers = agents_of(name, 'sonde-agent')
    begin = time.monotonic()
    os.kill(workers[0], signal.SIGKILL)
    while command.poll() is None and not set(agents_of(name, 'sonde-agent')) - set(workers):
        pass
    took_s = time.monotonic() - begin
    command.wait()
    return took_s


def spread(values):
    return f'{statistics.median(values):+.4f} [{min(values):+.4f} to {max(values):+.4f}]'


def main():
    os.chdir(tempfile.mkdtemp(prefix='sonde-bench-'))
    subprocess.run(['gcc', '-O1', '-g', '-fno-optimize-sibling-calls', os.path.join(here, 'stepping.c'), '-o', 'stepping', '-pthread'], check=True)
    wall, cpu, shares, longest = [], [], [], []
    for i in range(pairs):
        ends, plain_cpu_s = plain()
        found, measured, cpu_s = searched(f'run{i}')
        wall.append(step_s(measured, MEASURED_S) / step_s(ends, MEASURED_S) - 1)
        cpu.append(cpu_s / plain_cpu_s - 1)
        shares += [step['overhead_share'] for step in found['steps'] if step['executions']]
        for of in (ends, measured):
            lengths = [b - a for a, b in zip(of, of[1:])]
            longest.append(max(lengths) - statistics.median(lengths))
    if pairs:
        print(f'{pairs} pairs, load {os.getloadavg()[0]:.0f}; the last search: {len(found["steps"])} steps, '
              f'{sum(s["candidates"] for s in found["steps"])} candidates, {sum(s["proven"] for s in found["steps"])} proven, '
              f'{sum(s["executions"] for s in found["steps"])} of {STEPS} executions measured')
        for row in found['properties']:
            if row['property'] == 'LockContention' and row['function'] == 'held':
                print(f'  the planted cause, {len(row["path"])} places deep, in step {row["step"]}: {row["severity"]:.3f}')
        print(f'  attached, after {MEASURED_S} s: a step takes {spread(wall)} more; CPU time of the whole run {spread(cpu)} more')
        print(f'  a step of the search took {statistics.median(shares):.4f}, at most {max(shares):.4f}')
        print(f'  the longest step beyond the median, s: plain {max(longest[::2]):.4f}, searched {max(longest[1::2]):.4f}')
    gaps = [killed(f'killed{i}') for i in range(kills)]
    print(f'  agent killed {kills} times: {sum(count == KILLED_STEPS for count, _ in gaps)} runs went to their end, longest time without a step '
          f'{max(gap for _, gap in gaps if gap):.3f} s ({sum(gap is None for _, gap in gaps)} had ended)')
    print(f'  worker killed: another one is there after {max(restarted(f"again{i}") for i in range(5)):.3f} s at most (of 5)')


main()
