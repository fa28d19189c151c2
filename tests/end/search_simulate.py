"""sonde search simulate: real agents over ZeroMQ. Whatever dies, is frozen or cut off: the properties are the same bytes,
no result is lost or counts twice, and strangers stay out."""
import ctypes
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

from sonde_test import Test

KEYS = {'schema', 'experiment', 'program', 'exit_status', 'strategy', 'mode', 'severity_unit', 'phase', 'steps', 'properties', 'not_measurable',
        'agents', 'results', 'complete'}


def scenario(name, hosts, phases, phase_s=0.3, faults=()):
    """Two processes of two threads on each host. Waiting for locks everywhere, more of it on host 1; input on half of them."""
    metrics = []

    def value(metric, region, share, **where):
        metrics.append({'metric': metric, 'region': region, 'value': share * phase_s, 'samples': 1000, 'source': 'samples', **where})

    for thread in (0, 1):
        value('cpu', 'main', 0.9, thread=thread)
        value('cpu', 'work', 0.6, thread=thread)
        value('own', 'work', 0.5, thread=thread)
        value('lock_wait', 'work', 0.2, thread=thread)
        value('lock_wait', 'main', 0.2, thread=thread)
    value('lock_wait', 'work', 0.3, thread=1, hosts='1', process=0)
    value('lock_wait', 'main', 0.3, thread=1, hosts='1', process=0)
    value('io_wait', 'main', 0.25, thread=0, hosts=f'0-{hosts // 2 - 1}', phases=f'0-{phases // 2 - 1}')
    with open(name, 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': hosts, 'phases': phases, 'phase_s': phase_s, 'faults': list(faults),
                   'processes': [{'process': p, 'threads': [0, 1]} for p in (0, 1)],
                   'regions': [{'region': 'main', 'kind': 'function', 'name': 'main', 'file': 'a.c', 'line': 1},
                               {'region': 'work', 'kind': 'function', 'name': 'work', 'file': 'a.c', 'line': 9, 'parent': 'main'}],
                   'metrics': metrics}, out)
    return name


def simulate(t, *words, timeout=300):
    done = t.run('search', 'simulate', '--format', 'json', '-q', *words, timeout=timeout)
    return json.loads(done.stdout) if done.stdout else {}, done


def properties_text(done):
    """The bytes of the list."""
    text = done.stdout
    return text[text.index('"properties":'):text.index(',"not_measurable":')] if '"not_measurable":' in text else None


def agents_left(folder):
    """Processes of ours that still work in a folder."""
    left = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as words, open(f'/proc/{pid}/comm') as name:
                if f'\0{folder}\0' in words.read() and name.read().startswith('sonde'):
                    left.append(int(pid))
        except OSError:
            pass
    return left


def all_end(folder):
    """Agents end with their front, those that were frozen once they go on: within seconds, also on a busy machine."""
    for _ in range(300):
        if not agents_left(folder):
            return True
        time.sleep(.1)
    return False


def undisturbed(t, hosts, fanout, phases):
    found, done = simulate(t, scenario('calm.json', hosts, phases), '--fanout', fanout, '-o', f'calm{hosts}')
    t.check(done.returncode == 0 and set(found) == KEYS, f'{hosts} hosts: the result has the keys of its contract', done.stderr,
            set(found) ^ KEYS)
    t.equal(found.get('agents'), {'hosts': hosts, 'joined': hosts, 'lost': 0, 'restarted': 0, 'refused': 0}, 'all have joined')
    rows = {(r['property'], r['region']): r for r in found['properties']}
    locks, reads = rows.get(('LockContention', 'work')), rows.get(('IOBlocked', 'main'))
    if t.check(locks and reads, 'what was planted is found', sorted(rows)):
        processes = 2 * hosts
        t.within(locks['severity'], (0.2 * (processes - 1) + 0.35) / processes, 1e-9, 'its severity is the loss over all lanes')
        t.equal([(c['processes'], c['count']) for c in locks['classes']], [(f'0-1,3-{processes - 1}', processes - 1), ('2', 1)],
                'the process that waits longer is a class of its own')
        t.within(reads['severity'], 0.25 / 2 / 2, 1e-9, 'what half of the phases have is half')
        t.equal(reads['processes'], f'0-{hosts - 1}', 'and is of half of the hosts')
    reasons = [m['reason'] for m in found['not_measurable']]
    t.check(reasons and all(r.endswith(' has no value in the scenario') for r in reasons),
            'what a scenario does not tell is not to be had by measuring', reasons)
    t.equal({m['needs'][0] == m['reason'].split(' has no')[0] for m in found['not_measurable']}, {True}, 'and is named')
    r = found['results']
    t.check(r['received'] > hosts * phases and r['lost'] == 0 and found['complete'], 'every result has come', r)
    t.equal(sorted(os.listdir(f'calm{hosts}')), ['scenario.json', 'search.journal', 'simulate.json'],
            'no secret and no spool is left')
    t.check(all_end(f'calm{hosts}'), 'no process is left', agents_left(f'calm{hosts}'))
    rate, _ = simulate(t, '--severity', 'rate', '--fanout', fanout, '-o', f'rate{hosts}', 'calm.json')
    resumed = t.run('search', '--resume', f'rate{hosts}', '--format', 'json')
    goes_on = json.loads(resumed.stdout) if resumed.stdout else {}
    t.equal([f.get('severity_unit') for f in (found, rate, goes_on)], ['lost', 'rate', 'rate'],
            '--severity holds in a simulated search, and where another front goes on')
    t.equal(goes_on.get('properties'), rate.get('properties'), 'which comes to the same rows')
    again = t.run('search', '--resume', f'calm{hosts}', '--format', 'json')
    t.equal(properties_text(again), properties_text(done), 'its folder gives the same result again')
    return found, properties_text(done)


def left_over(t):
    """A general property keeps what a more special one leaves over; sums are those of all processes."""
    per_process = {'cpu': .3, 'off_cpu': .62, 'explained_wait': .02, 'run_delay': .12}
    metrics = [{'metric': m, 'value': v, 'process': p, 'thread': 0, 'samples': 1000, 'source': 'samples', **({'region': 'main'} if m == 'cpu' else {})}
               for m, v in per_process.items() for p in (0, 1)]
    # of the last host's the special one explains more than four fifths
    metrics += [{'metric': 'run_delay', 'value': .4, 'process': 1, 'thread': 0, 'samples': 1000, 'source': 'samples', 'hosts': '2'}]
    with open('over.json', 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': 3, 'phases': 2, 'phase_s': 1, 'faults': [],
                   'processes': [{'process': p, 'threads': [0]} for p in (0, 1)],
                   'regions': [{'region': 'main', 'kind': 'function', 'name': 'main', 'file': 'a.c', 'line': 1}], 'metrics': metrics}, out)
    found, done = simulate(t, 'over.json', '-o', 'over', '--threshold', '.01')
    rows = {r['property']: r for r in found.get('properties', [])}
    told = {p: (round(rows[p]['severity'], 9), rows[p]['refined'], rows[p]['processes']) for p in ('NotRunning', 'Oversubscribed') if p in rows}
    t.equal(told, {'NotRunning': (.48, False, '0-4'), 'Oversubscribed': (round((.12 * 5 + .52) / 6, 9), False, '0-5')},
            'what a special property leaves over of a general one is a row')
    if len(told) == 2:
        for r in (rows['NotRunning'], rows['Oversubscribed']):
            t.within(r['evidence']['seconds'], r['severity'] * r['members'] * 2, 1e-9, f'{r["property"]}: seconds are of all processes and phases')
        text = t.run('search', '--resume', 'over').stdout
        t.check('beside what rows of more special properties say (of all 5 processes together)' in text and '4.80 s' in text, 'and the text says so', text)


def left_over_around(t):
    """A special row of a function is a part of the general rows of what it calls, also where its own rows there are left out."""
    here = {'main': (.6, .12), 'a': (.3, .05), 'b': (.3, .04)}
    metrics = [{'metric': 'ranks', 'value': 2, 'source': 'samples'}]
    for region, (inside, polled) in here.items():
        for metric, value in (('cpu', .9 if region == 'main' else .4), ('mpi_time', inside), ('mpi_poll', polled)):
            metrics += [{'metric': metric, 'region': region, 'value': value, 'process': p, 'thread': 0, 'samples': 1e6, 'source': 'samples'} for p in (0, 1)]
    with open('around.json', 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': 1, 'phases': 1, 'phase_s': 1, 'faults': [],
                   'processes': [{'process': p, 'threads': [0]} for p in (0, 1)],
                   'regions': [{'region': r, 'kind': 'function', 'name': r, 'file': 'a.c', 'line': 1, **({} if r == 'main' else {'parent': 'main'})}
                               for r in here], 'metrics': metrics}, out)
    found, done = simulate(t, 'around.json', '-o', 'around', '--threshold', '.01')
    ends = sorted((r['property'], r['region'], round(r['severity'], 9)) for r in found.get('properties', []) if not r['refined'] and r['property'] != 'HotRegion')
    t.equal(ends, [('MPIExcessive', 'a', .25), ('MPIExcessive', 'b', .26), ('PollingWait', 'main', .12)], 'leaves at several places count each second once')


def lower_threshold(t):
    """A caller with a small loss of its own, proven where the threshold is low, does not stand for the place inside it."""
    metrics = [{'metric': m, 'region': r, 'thread': 0, 'value': v, 'samples': 1e6, 'source': 'samples'}
               for m, values in (('cpu', (.9, .9, .7)), ('lock_wait', (.2, .003, .2))) for r, v in zip(('all', 'main', 'chase'), values)]
    with open('lower.json', 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': 1, 'phases': 1, 'phase_s': 1, 'faults': [], 'processes': [{'process': 0, 'threads': [0]}],
                   'regions': [{'region': 'all', 'kind': 'program', 'name': 'all'},
                               {'region': 'main', 'kind': 'function', 'name': 'main', 'file': 'a.c', 'line': 1, 'parent': 'all'},
                               {'region': 'chase', 'kind': 'function', 'name': 'chase', 'file': 'a.c', 'line': 9, 'parent': 'main'}],
                   'metrics': metrics}, out)
    ends = []
    for threshold in ('.05', '.001'):
        found, _ = simulate(t, 'lower.json', '-o', f'lower{threshold}', '--threshold', threshold)
        ends.append([(r['region'], round(r['severity'], 9)) for r in found.get('properties', []) if r['property'] == 'LockContention' and not r['refined']])
    t.equal(ends, [[('chase', .2)]] * 2, 'a lower threshold loses no place')


def transfers(t):
    """Two ranks with a CPU for half of their barriers: waits, with and without a CPU, completions and what else is transfer add
    up to the time in MPI."""
    spent = {'mpi_time': .3, 'mpi_barrier': .2, 'mpi_broadcast': .1, 'barrier_elapsed': .4, 'broadcast_elapsed': .1, 'wait_barrier': .3,
             'mpi_wait_delay': .15, 'barrier_completion': .1, 'cpu': .9}
    nothing = ('mpi_nxn', 'mpi_reduce', 'nxn_elapsed', 'reduce_elapsed', 'wait_nxn', 'wait_reduce', 'wait_broadcast', 'nxn_completion')
    metrics = [{'metric': m, 'region': 'main', 'value': v, 'process': p, 'thread': 0, 'source': 'mpi'}
               for m, v in [*spent.items(), *((m, 0) for m in nothing)] for p in (0, 1)]
    with open('transfers.json', 'w') as out:
        json.dump({'schema': 'sonde.scenario/1', 'hosts': 1, 'phases': 1, 'phase_s': 1, 'faults': [],
                   'processes': [{'process': p, 'threads': [0]} for p in (0, 1)], 'regions': [{'region': 'main', 'kind': 'function', 'name': 'main'}],
                   'metrics': metrics + [{'metric': 'ranks', 'value': 2, 'source': 'mpi'}]}, out)
    found, done = simulate(t, 'transfers.json', '-o', 'transfers', '--threshold', '.01')
    rows = [r for r in found.get('properties', []) if not r['refined'] and r['property'] != 'HotRegion']
    t.equal(sorted((r['property'], round(r['severity'], 9)) for r in rows), [('BarrierCompletion', .05), ('TransferBound', .1), ('WaitAtBarrier', .3)],
            'waits and transfers in one unit')
    t.within(sum(r['severity'] for r in rows), .3 + .15, 1e-9, 'add up to the time in MPI, with and without a CPU')


def misspelt(t):
    name = scenario('misspelt.json', 2, 2)
    with open(name) as given:
        root = json.load(given)
    root['metrics'] += [{'metric': 'lock_wiat', 'region': 'work', 'value': .1, 'process': p, 'source': 'samples'} for p in (0, 1)]
    with open(name, 'w') as out:
        json.dump(root, out)
    _, done = simulate(t, name, '-o', 'misspelt')
    said = f"sonde: scenario: 'misspelt.json': metrics[{len(root['metrics']) - 2}]: there is no metric 'lock_wiat'; did you mean 'lock_wait'?"
    t.equal((done.returncode, done.stdout, done.stderr.splitlines()), (5, '', [said]), 'a metric that nothing declares is refused')
    t.check(not os.path.exists('misspelt'), 'and nothing is started')


def agents_fail(t, hosts, fanout, phases, calm, calm_text):
    inner = -(-hosts // fanout)
    faults = [{'at_s': 0.4, 'kind': 'kill', 'agent': 'node 0'}, {'at_s': 0.45, 'kind': 'kill', 'agent': f'node {hosts - 1}'},
              {'at_s': 0.5, 'kind': 'kill', 'agent': 'inner 0'},
              {'at_s': 0.7, 'kind': 'cut', 'agent': f'node {hosts // 2}', 'for_s': 1.0},
              {'at_s': 0.8, 'kind': 'freeze', 'agent': f'inner {inner - 1}', 'for_s': 1.8},
              {'at_s': 0.9, 'kind': 'freeze', 'agent': 'node 1', 'for_s': 0.7},
              {'at_s': 1.0, 'kind': 'cut', 'agent': 'front', 'for_s': 0.8},
              {'at_s': 1.1, 'kind': 'kill', 'agent': 'node 0'}]
    found, done = simulate(t, scenario('faults.json', hosts, phases, faults=faults), '--fanout', fanout, '-o', f'faults{hosts}')
    t.equal(properties_text(done), calm_text, f'{hosts} hosts: with agents killed, frozen and cut off the properties are the same')
    results, agents = found.get('results', {}), found.get('agents', {})
    t.check(results.get('lost') == 0 and results['received'] >= calm['results']['received'] and found['complete'],
            'no result is lost', found.get('results'), done.stderr)
    t.check(2 <= agents.get('restarted') <= 4 and agents['lost'] == 0 and agents['joined'] == hosts,
            'who was killed was started again', agents)
    t.check(all_end(f'faults{hosts}'), 'no process is left', agents_left(f'faults{hosts}'))


def front_dies(t, hosts, fanout, phases, calm, calm_text, times):
    for at_s in times:
        folder = f'front{at_s}'
        faults = [{'at_s': at_s, 'kind': 'kill', 'agent': 'front'}, {'at_s': at_s + 0.1, 'kind': 'kill', 'agent': 'inner 1'},
                  {'at_s': at_s + 0.2, 'kind': 'kill', 'agent': 'node 2'}]
        name = scenario('dies.json', hosts, phases, faults=faults)
        done = t.run('search', 'simulate', '--format', 'json', '--fanout', fanout, '-o', folder, name)
        t.equal((done.returncode, done.stdout), (-signal.SIGKILL, ''), f'the command dies with the front at {at_s} s')
        t.equal(os.stat(f'{folder}/search.secret').st_mode & 0o777, 0o600, 'the secret is the user\'s alone')
        time.sleep(0.5)
        done = t.run('search', '--resume', folder, '--format', 'json')
        found = json.loads(done.stdout) if done.stdout else {'results': {}}
        t.equal(properties_text(done), calm_text, 'another front comes to the same properties')
        t.check(found['results'].get('lost') == 0 and found['complete'] and
                found['results']['received'] >= calm['results']['received'], 'nothing is lost', found['results'], done.stderr)
        t.check(all_end(folder), 'no process is left')


def ports_of(folder):
    """Where agents of a folder listen: of each listening socket in /proc/net/tcp the owner's words are looked at."""
    inodes = {}
    for line in open('/proc/net/tcp').read().splitlines()[1:]:
        fields = line.split()
        if fields[3] == '0A':
            inodes[f'socket:[{fields[9]}]'] = int(fields[1].split(':')[1], 16)
    ports = set()
    for pid in agents_left(folder):
        try:
            for fd in os.listdir(f'/proc/{pid}/fd'):
                port = inodes.get(os.readlink(f'/proc/{pid}/fd/{fd}'))
                if port:
                    ports.add(port)
        except OSError:
            pass
    return ports


def plain_peer(port):
    """A greeting of ZMTP 3.0 without security, as any program with ZeroMQ makes it."""
    with socket.create_connection(('127.0.0.1', port), timeout=20) as peer:
        peer.sendall(b'\xff' + bytes(8) + b'\x7f\x03\x00' + b'NULL'.ljust(20, b'\0') + bytes(32))
        peer.sendall(b'\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER')
        got = b''
        try:
            while True:
                more = peer.recv(4096)
                if not more:
                    return got
                got += more
        except OSError:
            return got


def wrong_key(zmq, port):
    """A peer with CURVE that does not know the search's keys. Returns what it hears within a second."""
    context = zmq.zmq_ctx_new()
    peer = zmq.zmq_socket(context, 5)
    public, secret = ctypes.create_string_buffer(41), ctypes.create_string_buffer(41)
    zmq.zmq_curve_keypair(public, secret)
    for option, value in ((50, public.value), (48, public.value), (49, secret.value)):
        zmq.zmq_setsockopt(peer, option, value + b'\0', 41)
    for option, value in ((17, 0), (27, 1000)):
        zmq.zmq_setsockopt(peer, option, ctypes.byref(ctypes.c_int(value)), 4)
    zmq.zmq_connect(peer, f'tcp://127.0.0.1:{port}'.encode())
    zmq.zmq_send(peer, b'hello', 5, 1)
    heard = zmq.zmq_recv(peer, ctypes.create_string_buffer(100), 100, 0)
    zmq.zmq_close(peer)
    zmq.zmq_ctx_term(context)
    return heard


def strangers(t):
    zmq = ctypes.CDLL('libzmq.so.5')
    zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
    zmq.zmq_socket.argtypes = [ctypes.c_void_p, ctypes.c_int]
    zmq.zmq_setsockopt.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    zmq.zmq_connect.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    zmq.zmq_send.argtypes = zmq.zmq_recv.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    zmq.zmq_close.argtypes = zmq.zmq_ctx_term.argtypes = [ctypes.c_void_p]
    name = scenario('visited.json', 4, 10, phase_s=0.6)
    search = subprocess.Popen([t.sonde, 'search', 'simulate', '--format', 'json', '--fanout', '2', '-o', 'visited', name],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ports, end = set(), time.time() + 60
    while len(ports) < 3 and time.time() < end:
        time.sleep(0.1)
        ports = ports_of('visited')
    t.equal(len(ports), 3, 'the front and two inner agents listen, and nobody else')
    for port in ports:
        t.check(b'WELCOME' not in plain_peer(port), 'a peer without CURVE is let go')
        t.equal(wrong_key(zmq, port), -1, 'a peer with another key hears nothing')
    out, errors = search.communicate(timeout=200)
    found = json.loads(out)
    t.check(found['agents']['refused'] >= 2 * len(ports), 'strangers are counted', found['agents'], errors)
    t.check(found['complete'] and found['results']['lost'] == 0 and found['agents']['joined'] == 4, 'and change nothing')


def words(t):
    for text, code, sentence in (('{}', 5, '"schema" is not "sonde.scenario/1"'), ('[', 5, 'no JSON')):
        with open('bad.json', 'w') as out:
            out.write(text)
        done = t.run('search', 'simulate', 'bad.json')
        t.check(done.returncode == code and sentence in done.stderr and done.stderr.count('\n') == 1, f'{text} is refused in words',
                done.returncode, done.stderr)
    name = scenario('calm.json', 4, 2, faults=[{'at_s': 1, 'kind': 'kill', 'agent': 'inner 9'}])
    done = t.run('search', 'simulate', name)
    t.check(done.returncode == 5 and 'inner agent 9' in done.stderr, 'an agent that is not there cannot fail', done.stderr)
    done = t.run('search', '--resume', '.')
    t.check(done.returncode != 0 and "is no folder of 'sonde search simulate'" in done.stderr, 'not every folder can be gone on with')
    for option, sentence in ((['--strategy', 'tiem'], "did you mean 'time'"), (['--fanout', '1'], 'from 2 to'),
                             (['--start', 'HotReg'], 'there is no property')):
        done = t.run('search', 'simulate', *option, scenario('calm.json', 4, 2))
        t.check(done.returncode == 2 and sentence in done.stderr, f'{option[0]}: said before anybody starts', done.stderr)
    t.check(not [n for n in os.listdir('.') if n.startswith('sonde.search')], 'what is refused leaves nothing')


def damaged(t, calm_text):
    """A search that has ended: nobody has what its journal lost."""
    shutil.copytree('calm8', 'cut')
    os.truncate('cut/search.journal', os.path.getsize('cut/search.journal') * 2 // 3)
    done = t.run('search', '--resume', 'cut', '--format', 'json')
    found = json.loads(done.stdout)
    t.check(done.returncode == 0 and not found['complete'] and found['properties'] and 'lacks results' in done.stderr,
            'a journal that was cut short: what is there, and a sentence', done.stderr)
    shutil.copytree('calm8', 'worn')
    with open('worn/search.journal', 'r+b') as out:
        out.seek(3000)
        out.write(random.Random(1).randbytes(500))
    done = t.run('search', '--resume', 'worn', '--format', 'json')
    t.check(done.returncode == 0 and not json.loads(done.stdout)['complete'] and 'are damaged' in done.stderr, 'damage in it is said',
            done.stderr)
    shutil.copytree('calm8', 'gone')
    os.unlink('gone/search.journal')
    done = t.run('search', '--resume', 'gone', '--format', 'json')
    t.check(done.returncode != 0 and 'is not there' in done.stderr and not done.stdout, 'without one there is no result', done.stderr)
    with open('worn/simulate.json', 'w') as out:
        out.write('{')
    done = t.run('search', '--resume', 'worn')
    t.check(done.returncode == 5 and 'is damaged' in done.stderr, 'options that are damaged', done.stderr)


def full_disk(t, calm_text):
    """The file system has room for nothing, for hardly a result, or for a third of the journal; with more room another front goes on."""
    os.mkdir('small')
    mount = ['mount', '-t', 'tmpfs', '-o']
    for size, is_begun in (('8k', False), ('24k', True), ('72k', True)):
        if subprocess.run(mount + [f'size={size}', 'none', 'small'], stderr=subprocess.DEVNULL).returncode:
            t.skip('a full disk', 'no file system can be mounted')
            return
        try:
            done = t.run('search', 'simulate', '-q', '--format', 'json', '--fanout', '4', '-o', 'small/run', scenario('calm.json', 8, 8))
            t.check(done.returncode == 5 and 'No space left' in done.stderr and not done.stdout, f'{size}: a full disk is a sentence, and no result',
                    done.returncode, done.stderr)
            t.check(all_end('small/run'), f'{size}: no process is left')
            subprocess.run(mount + ['remount,size=8m', 'none', 'small'], check=True)
            if not is_begun:
                t.check(not os.path.exists('small/run'), f'{size}: what has not begun leaves no folder')
                continue
            done = t.run('search', '--resume', 'small/run', '--format', 'json')
            t.equal(properties_text(done), calm_text, f'{size}: with more room another front comes to the same properties')
        finally:
            subprocess.run(['umount', '-l', 'small'], check=True)


def on_a_terminal(t):
    """Agents that search for some seconds do so in no silence."""
    seen = t.seen_on_a_terminal('search', 'simulate', '--format', 'json', '-o', 'told', scenario('told.json', 2, 8))
    t.check(b'agents search the phases: ' in seen and b'agents search the phases' in seen[seen.index(b'the phases begin'):],
            'a terminal is told what goes on', seen)


def interrupted(t):
    name = scenario('long.json', 4, 1000)
    search = subprocess.Popen([t.sonde, 'search', 'simulate', '--format', 'json', '-q', '-o', 'long', name], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    end = time.time() + 60
    while time.time() < end and not (os.path.exists('long/search.journal') and os.path.getsize('long/search.journal') > 20000):
        time.sleep(0.1)
    search.send_signal(signal.SIGINT)
    out, errors = search.communicate(timeout=60)
    found = json.loads(out)
    t.check(not found['complete'] and found['properties'] and found['results']['lost'] == 0, 'Ctrl-C gives the results so far', errors)
    t.check(all_end('long'), 'and ends all agents')
    search = subprocess.Popen([t.sonde, 'search', 'simulate', '--format', 'json', '-q', '-o', 'early', scenario('early.json', 200, 9)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.time() + 60
    while time.time() < end and not (os.path.isdir('early/agents') and os.listdir('early/agents')):
        time.sleep(0.002)
    search.send_signal(signal.SIGINT)
    out, errors = search.communicate(timeout=60)
    t.check(search.returncode == 0 and out and not json.loads(out)['complete'], 'Ctrl-C while agents are started', search.returncode,
            errors)
    t.check(all_end('early'), 'ends those that are there', agents_left('early'))


def many(t, seeds):
    """Random faults: kills of anybody, the front too, and cuts."""
    hosts, fanout, phases = 64, 8, 40
    calm, calm_text = undisturbed(t, hosts, fanout, phases)
    for seed in range(seeds):
        chance = random.Random(seed)
        faults = []
        for at in range(1, 11):
            agent = chance.choice([f'node {chance.randrange(hosts)}', f'inner {chance.randrange(hosts // fanout)}', 'front'])
            kind = chance.choice(['kill', 'kill', 'cut', 'freeze'])
            faults.append({'at_s': at + chance.random(), 'kind': kind, 'agent': agent, 'for_s': 2 + chance.random()})
        folder = f'seed{seed}'
        done = t.run('search', 'simulate', '--format', 'json', '-q', '--fanout', fanout, '-o', folder,
                     scenario('chance.json', hosts, phases, faults=faults), timeout=600)
        while done.returncode == -signal.SIGKILL:
            done = t.run('search', '--resume', folder, '--format', 'json', timeout=600)
        found = json.loads(done.stdout) if done.stdout else {'results': {}}
        t.check(properties_text(done) == calm_text and found['results'].get('lost') == 0 and found['complete'],
                f'seed {seed}: the same properties, nothing lost', faults, found['results'], done.stderr)


def main():
    t = Test()
    try:
        ctypes.CDLL('libzmq.so.5')
    except OSError:
        t.skip('agents', 'no ZeroMQ')
        t.done()
    if len(sys.argv) > 1:
        many(t, int(sys.argv[1]))
        t.done()
    words(t)
    left_over(t)
    left_over_around(t)
    lower_threshold(t)
    transfers(t)
    misspelt(t)
    calm, calm_text = undisturbed(t, 8, 4, 8)
    agents_fail(t, 8, 4, 8, calm, calm_text)
    front_dies(t, 8, 4, 8, calm, calm_text, (0.2, 1.5))
    damaged(t, calm_text)
    full_disk(t, calm_text)
    on_a_terminal(t)
    calm, calm_text = undisturbed(t, 64, 16, 6)
    agents_fail(t, 64, 16, 6, calm, calm_text)
    strangers(t)
    interrupted(t)
    t.done()


main()
