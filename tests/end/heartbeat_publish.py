"""Publishers of libsonde-heartbeat: OpenMetrics by file and by socket, LDMS against a stand-in."""
import glob
import json
import os
import re
import signal
import socket
import subprocess
import time

from sonde_test import HERE, PROGRAMS, Test

t = Test()
LIBRARY = os.environ['HEARTBEAT_LIBRARY']
INCLUDE = os.environ['HEARTBEAT_INCLUDE']
LINK = [LIBRARY, '-Wl,-rpath,' + os.path.dirname(LIBRARY), '-lpthread']
app = os.path.abspath(t.compile('beats.c', '-O2', '-I', INCLUDE, *LINK))
number = 0


def start(*words, publish='openmetrics', interval='0.1', **settings):
    """The program with a folder of its own for rows (rows) and for the text files (prom)."""
    global number
    number += 1
    where = os.path.abspath(f'run{number}')
    os.makedirs(where + '/prom')
    environment = dict(os.environ, SONDE_HEARTBEAT_DIR=where + '/rows', SONDE_HEARTBEAT_INTERVAL=interval,
                       SONDE_HEARTBEAT_PUBLISH=publish, SONDE_HEARTBEAT_OPENMETRICS_DIR=where + '/prom')
    environment.update({k: v for k, v in settings.items() if v is not None})
    environment = {k: v for k, v in environment.items() if settings.get(k, '') is not None}
    return where, subprocess.Popen([app, *map(str, words)], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)


def rows(where):
    return [r for path in glob.glob(where + '/rows/*.jsonl') for r in map(json.loads, open(path))
            if 'heartbeat' in r]


def wait_for(holds, seconds=10):
    until = time.time() + seconds
    while time.time() < until:
        value = holds()
        if value:
            return value
        time.sleep(0.02)
    return None


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)')


def parse(text, is_new):
    """A strict reader: families in one piece, TYPE first, histograms cumulative, no timestamps."""
    values, families, family, kind = {}, [], None, None
    lines = text.split('\n')
    assert lines.pop() == '', 'the last line ends'
    if is_new:
        assert lines.pop() == '# EOF'
    for line in lines:
        if line.startswith('# TYPE '):
            family, kind = line.split()[2:]
            assert family not in families, family
            families.append(family)
        elif line.startswith('#'):
            assert line.split()[2] == family, line
            assert line.split()[1] in (('HELP', 'UNIT') if is_new else ('HELP',)), line
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            suffixes = {'counter': ['_total'] if is_new else [''], 'gauge': [''],
                        'histogram': ['_bucket', '_sum', '_count']}[kind]
            assert name in [family + s for s in suffixes], line
            labels = dict((k, re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], v))
                          for k, v in re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels))
            key = (name[len('sonde_heartbeat_'):], labels.get('heartbeat'), labels.get('le'))
            assert (key, labels['pid']) not in values, line
            values[key] = float(value)
    for (name, beat, le), value in values.items():
        if name == 'duration_seconds_count':
            buckets = [(float(k[2]), v) for k, v in values.items()
                       if k[0] == 'duration_seconds_bucket' and k[1] == beat]
            assert buckets == sorted(buckets) and [b[1] for b in buckets] == sorted(b[1] for b in buckets)
            assert buckets[-1] == (float('inf'), value), buckets
    return values


# --- the text file
where, run = start('threads', 100000, 8, SONDE_HEARTBEAT_OPENMETRICS_KEEP='1')
run.wait()
paths = glob.glob(where + '/prom/*')
t.equal([os.path.basename(p) for p in paths] + [o for o in os.listdir(where + '/prom') if o[0] == '.'],
        [f'sonde_heartbeat.{run.pid}.prom'], 'one text file, nothing beside it')
values = parse(open(paths[0]).read(), False)
t.equal(values['beats_total', 'work', None], 800000, 'the text file counts every beat of 8 threads')
t.within(values['duration_seconds_sum', 'work', None], sum(r['sum_ns'] for r in rows(where)) / 1e9, 1e-8,
         'and has the sum of the rows')
where, run = start('threads', 1000, 2)
run.wait()
t.equal(os.listdir(where + '/prom'), [], 'a process that ended leaves no text file')

where, run = start('forever', 100, interval='0.005')
faults, seen, path = [], set(), f'{where}/prom/sonde_heartbeat.{run.pid}.prom'
wait_for(lambda: os.path.exists(path))
until = time.time() + 1.5
while time.time() < until:
    try:
        seen.add(parse(open(path).read(), False)['beats_total', 'work', None])
    except (AssertionError, AttributeError, KeyError) as fault:
        faults.append(repr(fault))
run.kill()
run.wait()
t.check(not faults and len(seen) > 20, 'never half a text file, over many writings', faults[:3], len(seen))

names = ['a "quote"', 'two\nlines', 'back\\slash', 'é漢字', '', 'bad \udcff utf-8', 'comma,}']
where, run = start('names', *names, SONDE_HEARTBEAT_OPENMETRICS_KEEP='1')
run.wait()
values = parse(open(glob.glob(where + '/prom/*.prom')[0], encoding='utf-8').read(), False)
t.equal(sorted(k[1] for k in values if k[0] == 'beats_total'),
        sorted(n.replace('\udcff', '?') for n in names), 'hostile names as labels')

where, run = start('long', 1.2)
open_now = wait_for(lambda: [parse(open(p).read(), False)['open', 'work', None]
                             for p in glob.glob(where + '/prom/*.prom')] == [1])
run.wait()
t.check(open_now, 'an open beat is a gauge')

where, run = start('fork', 100, SONDE_HEARTBEAT_OPENMETRICS_KEEP='1')
run.wait()
counts = sorted(parse(open(p).read(), False)['beats_total', 'work', None]
                for p in glob.glob(where + '/prom/*.prom'))
t.equal(counts, [7, 101], 'a forked child has a text file of its own')

# --- bad settings: one sentence, and the rows are written
for publish, settings in (('nope', {}), ('/dev/null', {}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_DIR': None}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_DIR': '/dev/null/x'}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_LISTEN': '0.0.0.0:9400'}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_LISTEN': '127.0.0.1:99999'}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_LISTEN': 'unix:' + 'x' * 200}),
                          ('openmetrics', {'SONDE_HEARTBEAT_OPENMETRICS_LISTEN': 'unix:/dev/null/s'})):
    where, run = start('long', 0.2, publish=publish, **settings)
    out, errors = run.communicate()
    t.check(run.returncode == 0 and out == 'done\n' and len(errors.splitlines()) == 1 and
            errors.startswith('sonde-heartbeat: publisher ') and sum(r['count'] for r in rows(where)) == 1,
            f'{publish} {settings}: one sentence, and the rows are there', errors, rows(where))

# --- the socket


def ask(address, request=b'GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n'):
    family = socket.AF_UNIX if isinstance(address, str) else \
        socket.AF_INET6 if address[0] == '::1' else socket.AF_INET
    with socket.socket(family) as s:
        s.settimeout(5)
        reply = b''
        try:
            s.connect(address)
            s.sendall(request)
            while chunk := s.recv(65536):
                reply += chunk
        except OSError:  # not there yet, or not within 5 s
            return None
    head, _, body = reply.decode().partition('\r\n\r\n')
    return head, body


where, run = start('forever', 100, SONDE_HEARTBEAT_OPENMETRICS_DIR=None,
                   SONDE_HEARTBEAT_OPENMETRICS_LISTEN='unix:' + os.path.abspath('s.%p.%r'))
path = os.path.abspath(f's.{run.pid}.0')
head, body = wait_for(lambda: ask(path)) or ('', '')
first = parse(body, True)
t.check(head.startswith('HTTP/1.1 200') and 'application/openmetrics-text; version=1.0.0' in head,
        'a scrape on a unix socket answers in OpenMetrics 1.0', head)
time.sleep(0.4)
later = parse(ask(path)[1], True)
t.check(later['beats_total', 'work', None] > first.get(('beats_total', 'work', None), 0), 'counters grow')
head, body = ask(path, b'GET / HTTP/1.0\r\n\r\n')
t.check('version=0.0.4' in head and parse(body, False), 'and in the older format for others', head)
t.equal([ask(path, r)[0].split()[1] for r in (b'POST /metrics HTTP/1.1\r\n\r\n', b'GET /x HTTP/1.1\r\n\r\n',
                                              b'HEAD /metrics HTTP/1.1\r\n\r\n')],
        ['405', '404', '200'], 'other requests are refused')
for rubbish in b'', b'\0' * 9000, b'GET', b'GET /metrics\n\n', b'\r\n\r\n':
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        try:
            s.sendall(rubbish)
        except OSError:
            pass
slow = socket.socket(socket.AF_UNIX)
slow.connect(path)
before = sum(r['count'] for r in rows(where))
reply = wait_for(lambda: ask(path), 6)
t.check(reply and reply[0].startswith('HTTP/1.1 200'), 'rubbish and a client that says nothing do not block others')
t.check(sum(r['count'] for r in rows(where)) > before, 'nor the rows')
slow.close()
run.send_signal(signal.SIGKILL)
run.wait()
left = os.path.exists(path)
os.rename(path, 'stale')
where, run = start('forever', 100, SONDE_HEARTBEAT_OPENMETRICS_DIR=None,
                   SONDE_HEARTBEAT_OPENMETRICS_LISTEN='unix:' + os.path.abspath('stale'))
t.check(left and wait_for(lambda: ask(os.path.abspath('stale'))), 'the socket of a killed process is taken over')
run.kill()
run.wait()
where, run = start('long', 0.5, SONDE_HEARTBEAT_OPENMETRICS_LISTEN='unix:' + os.path.abspath('gone'))
there = wait_for(lambda: os.path.exists('gone'))
run.wait()
t.check(there and not os.path.exists('gone'), 'the socket is removed at the end')

with socket.socket() as taken:
    taken.bind(('127.0.0.1', 0))
    taken.listen()
    port = taken.getsockname()[1]
    last = min(port + 20, 65535)
    where, run = start('forever', 100, SONDE_HEARTBEAT_OPENMETRICS_LISTEN=f'127.0.0.1:{port}-{last}')
    reply = wait_for(lambda: next(filter(None, (ask(('127.0.0.1', p)) for p in range(port + 1, last + 1))), None))
    t.check(reply and parse(reply[1], True), 'a port of a range on loopback, past one that is taken')
    listening = [open(f'/proc/{run.pid}/net/{name}').read() for name in ('tcp', 'tcp6')]
    run.kill()
    run.wait()
where, run = start('long', 0.3)
inodes = {os.readlink(f) for f in glob.glob(f'/proc/{run.pid}/fd/*') if os.path.islink(f)}
t.check(not any('socket' in i for i in inodes), 'no socket unless asked for', inodes)
run.wait()

# --- LDMS
standin = os.path.join(HERE, 'ldms_standin')
source = os.path.join(HERE, '../../src')
for words in (['-shared', '-fPIC', '-I', standin, standin + '/standin.c', '-o', 'libldms.so', '-lpthread'],
              ['-shared', '-fPIC', '-fvisibility=hidden', '-D_GNU_SOURCE', '-I', standin, '-I', source, '-I',
               INCLUDE, *(f'{source}/runtime/heartbeat/{f}.c' for f in
                          ('publishers/ldms', 'publishers/sums', 'setup_text')),
               '-o', 'ldms.so', '-L.', '-lldms', '-Wl,-rpath,' + os.getcwd()]):
    done = t.command('gcc', '-O2', '-Wall', '-Wextra', '-Werror', *words)
    t.check(done.returncode == 0, f'{words[-1] if "ldms.so" not in words else "the LDMS publisher"} compiles',
            done.stderr)


def ldms(mode, *words, **more):
    path = os.path.abspath(f'out.{mode}')
    where, run = start(*words, publish=os.path.abspath('ldms.so'), STANDIN_OUT=path, STANDIN_MODE=mode,
                       **more)
    errors = run.communicate()[1]
    lines = open(path).read().splitlines()
    messages = [json.loads(line.split(' ', 1)[1]) for line in lines if line.split(' ', 1)[1][:1] == '{']
    return run, errors, lines, messages, rows(where)


run, errors, lines, messages, written = ldms('ok', 'rounds', 1000, 5, SLURM_JOB_ID='77', SLURM_PROCID='3',
                                             SONDE_HEARTBEAT_LDMS_PORT='10444', interval='60')
t.equal((run.returncode, errors, lines[:2], lines[-1].strip()), (0, '', ['sock none', 'localhost 10444'], 'close'),
        'LDMS: connects once, closes at the end')
t.check(sum(m['count'] for m in messages) == 10000 and
        abs(sum(m['time'] for m in messages) - sum(r['sum_ns'] for r in written) / 1e9) < 1e-8,
        'LDMS: messages have the beats and the time of the rows', messages[:1], len(messages))
m = messages[0]
t.equal((m['job_id'], m['ProducerName'], m['rank'], m['region'], m['program'], m['pid'], m['threads']),
        ('77', socket.gethostname(), 3, 'work', 'beats', run.pid, 2), 'LDMS: the keys that stores know')
t.within(m['timestamp'], time.time(), 60, 'LDMS: time of day')
run, errors, lines, messages, written = ldms('slow', 'rounds', 1000, 5, interval='60')
t.equal(sum(m['count'] for m in messages), sum(r['count'] for r in written),
        'LDMS: what was beaten before the connection was made is sent, too')
run, errors, lines, messages, written = ldms('quota', 'rounds', 1000, 6, interval='60')
t.check(len(messages) == 3 and [m['dropped_messages'] for m in messages] == [1, 2, 3] and
        sum(r['count'] for r in written) == 12000, 'LDMS: without send quota messages are dropped and counted',
        messages, len(written))
run, errors, lines, messages, written = ldms('absent', 'rounds', 1000, 5, interval='60')
t.check(run.returncode == 0 and not messages and errors == '' and sum(r['count'] for r in written) == 10000,
        'LDMS: no daemon there: the program notices nothing', lines, errors)
run, errors, lines, messages, written = ldms('drop', 'rounds', 1000, 6, interval='60')
t.check(len(messages) == 2 and 'put rail_ref' in lines, 'LDMS: a lost connection is let go', lines)
run, errors, lines, messages, written = ldms('ok2', 'fork', 100)
t.check({m['pid'] for m in messages} == {run.pid}, 'LDMS: a forked child does not publish', messages)
t.done()
