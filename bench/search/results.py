"""How long 10^6 results of agents take to the page, and what memory the front takes.

    python3 bench/search/results.py [HOSTS [PHASES [PHASE_S]]]

`sonde search simulate` with so many node agents, as real processes of this machine; in each phase each of them sends 513 results. Prints
what the command took beyond its phases, and what a front takes that begins anew from the journal alone (`--resume`)."""
import json
import os
import subprocess
import sys
import tempfile
import time

sonde = os.path.abspath(os.environ.get('SONDE', 'build/sonde'))
hosts, phases, phase_s = (float(word) for word in (sys.argv[1:] + ['64', '31', '3'][len(sys.argv) - 1:]))
REGIONS, THREADS = 600, (0, 1)


def scenario(path):
    regions = [{'region': 'main', 'kind': 'function', 'name': 'main'}]
    metrics = [{'metric': 'cpu', 'region': 'main', 'thread': t, 'value': .9 * phase_s, 'samples': 1000, 'source': 'samples'} for t in THREADS]
    for r in range(REGIONS):
        regions.append({'region': f'r{r}', 'kind': 'function', 'name': f'r{r}', 'parent': 'main'})
        for t in THREADS:
            for metric, share in (('own', .9), ('cpu', .9), ('lock_wait', .05 * (1 + r % 7))):
                metrics.append({'metric': metric, 'region': f'r{r}', 'thread': t, 'value': share * phase_s / REGIONS, 'samples': 1000, 'source': 'samples'})
    with open(path, 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': int(hosts), 'phases': int(phases), 'phase_s': phase_s,
                   'processes': [{'process': p, 'threads': list(THREADS)} for p in (0, 1)], 'regions': regions, 'metrics': metrics}, out)


def run(*words):
    """Its result, seconds and the largest memory of one process, in MB."""
    begin = time.monotonic()
    process = subprocess.Popen([sonde, 'search', *words, '--format', 'json'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return json.loads(out), time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    folder = os.path.join(tempfile.mkdtemp(prefix='sonde-bench-'), 'run')
    scenario(folder + '.json')
    found, took_s, front_mb = run('simulate', '-q', '--threshold', '0', '--strategy', 'property', '-o', folder, folder + '.json')
    print(f"{int(hosts)} hosts, {found['results']}, load {os.getloadavg()[0]:.0f}")
    print(f'  {took_s - phases * phase_s:.1f} s beyond the phases; front {front_mb:.0f} MB')
    again, took_s, front_mb = run('--resume', folder)
    print(f"  from the journal alone {took_s:.1f} s, {front_mb:.0f} MB, {'the same' if again['properties'] == found['properties'] else 'OTHER'} properties")


main()
