"""How fast agents join, how long a word to all takes and what an agent takes of memory.

    python3 bench/search/agents.py [HOSTS [FANOUT]]

Runs `sonde search simulate` with so many node agents, as real processes of this machine. PSS counts a page that n processes share
as 1/n for each, so it is what one agent more would take."""
import json
import os
import subprocess
import sys
import tempfile
import time

sonde = os.path.abspath(os.environ.get('SONDE', 'build/sonde'))
hosts, fanout = int(sys.argv[1] if len(sys.argv) > 1 else 256), int(sys.argv[2] if len(sys.argv) > 2 else 32)
PHASES, PHASE_S = 3, 20.0


def pss_kb(pid):
    try:
        with open(f'/proc/{pid}/smaps_rollup') as facts:
            return next(int(line.split()[1]) for line in facts if line.startswith('Pss:'))
    except (OSError, StopIteration):
        return 0


def processes(folder):
    """By name: guardians, nodes, inner agents."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as words, open(f'/proc/{pid}/comm') as name:
                if f'\0{folder}\0' in words.read():
                    found.setdefault(name.read().split()[0], []).append(int(pid))
        except OSError:
            pass
    return found


def main():
    folder = os.path.join(tempfile.mkdtemp(prefix='sonde-bench-'), 'run')
    scenario = folder + '.json'
    metrics = [{'metric': m, 'region': r, 'thread': t, 'value': v * PHASE_S, 'samples': 1000, 'source': 'samples'}
               for t in (0, 1) for m, r, v in (('cpu', 'main', .9), ('own', 'work', .5), ('lock_wait', 'work', .2))]
    with open(scenario, 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': hosts, 'phases': PHASES, 'phase_s': PHASE_S,
                   'processes': [{'process': 0, 'threads': [0, 1]}],
                   'regions': [{'region': 'main', 'kind': 'function', 'name': 'main'},
                               {'region': 'work', 'kind': 'function', 'name': 'work', 'parent': 'main'}], 'metrics': metrics}, out)
    begin = time.time()
    search = subprocess.Popen([sonde, 'search', 'simulate', '--format', 'json', '--fanout', str(fanout), '-o', folder, scenario],
                              stdout=subprocess.PIPE, text=True)
    time.sleep(PHASE_S)
    found = processes(folder)
    kinds = {name: [pss_kb(pid) for pid in pids] for name, pids in found.items()}
    loads = os.getloadavg()[0]
    out, _ = search.communicate()
    result = json.loads(out)
    nodes = kinds.get('sonde-node', [])
    guardians = kinds.get('sonde-guardian', [])
    print(f'{hosts} hosts, fan-out {fanout}, load {loads:.0f}')
    print(f'  whole command {time.time() - begin:.1f} s, of which phases {PHASES * PHASE_S:.0f} s')
    print(f"  {result['agents']} {result['results']} complete {result['complete']}")
    print(f'  a node agent {sum(nodes) / max(1, len(nodes)):.0f} kB, its guardian {sum(guardians) / max(1, len(guardians)):.0f} kB')
    print(f"  front {pss_kb(search.pid) or max(kinds.get('sonde', [0]))} kB")


main()
