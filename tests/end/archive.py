"""sonde archive: the file is read as the folder is; the same file each time; nothing that was to be left out;
hostile files; no scratch left behind, however a command ends."""
import fcntl
import io
import json
import os
import re
import signal
import subprocess
import tarfile
import time

from sonde_test import Test

t = Test()
PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define KEPT __attribute__((noinline, noclone, noipa))
KEPT double private_words_of_source(const double *a, long n, long m)
{
	double s = 0; /* a comment nobody may see */
	for (long j = 0; j < m; j++)
		for (long i = 0; i < n; i++)
			s += a[i] / (s + 2);
	return s;
}
int main(int argc, char **argv)
{
	static double a[300];
	for (int i = 0; i < 300; i++) a[i] = i;
	if (argc > 2 && !strcmp(argv[2], "fail")) {
		fprintf(stderr, "cannot do %s\n", argv[1]);
		return 3;
	}
	printf("%g\n", private_words_of_source(a, 300, 60000));
	return 0;
}
'''
app = t.compile(PROGRAM, '-O2', '-g', output='./app')
scratch = os.path.join(t.folder, 'scratch')
os.mkdir(scratch)
env = dict(os.environ, TMPDIR=scratch, QUITE_PRIVATE='value-of-a-variable')


def sonde(*words, **more):
    return t.run(*words, env=env, **more)


def contents(path):
    """Everything in an archive, names too, as bytes; and the names."""
    raw = subprocess.run(['zstd', '-dcq', path], capture_output=True, check=True).stdout
    names = tarfile.open(fileobj=io.BytesIO(raw)).getnames()
    for name in names:  # extracts are compressed once more
        if name.endswith('.extract'):
            packed = tarfile.open(fileobj=io.BytesIO(raw)).extractfile(name).read()[40:]
            raw += subprocess.run(['zstd', '-dcq'], input=packed, capture_output=True, check=True).stdout
    return raw, names


sonde('record', '-q', '-o', 'sonde.app.1', app, 'secret-argument')
made = sonde('archive', 'sonde.app.1', '-o', 'a.sonde')
t.check(made.returncode == 0 and made.stdout.startswith('a.sonde ('), 'an archive is made', made.stdout, made.stderr)
sonde('report', 'sonde.app.1')
os.utime('sonde.app.1/launch-key', (1, 1))
sonde('archive', 'sonde.app.1/', '-o', 'b.sonde')
t.check(open('a.sonde', 'rb').read() == open('b.sonde', 'rb').read(),
        'the same experiment makes the same file, whatever pages and times it has')

same = True
for words in (['show', 'functions'], ['show', 'loops'], ['show', 'summary'], ['show', 'lines'], ['show', 'loop', '#1'],
              ['report', '--format', 'json', '-o', '-']):
    form = [] if words[0] == 'report' else ['--format', 'json']
    folder, archive = (sonde(*words, x, *form) for x in ('sonde.app.1', 'a.sonde'))
    told = archive.stdout.replace('a.sonde', 'sonde.app.1')
    same &= t.check(folder.returncode == archive.returncode == 0 and folder.stdout == told and len(told) > 200,
                    ' '.join(words) + ': equal from folder and archive', folder.stdout[:300], archive.stdout[:300],
                    folder.stderr, archive.stderr)
sonde('report', 'sonde.app.1', '-o', 'folder.html')
page = sonde('report', 'a.sonde')
t.check(page.stdout.startswith('a.report.html'), 'the page of an archive lies beside it', page.stdout, page.stderr)
t.check(open('folder.html').read().replace('sonde.app.1', '') ==
        open('a.report.html').read().replace('a.sonde', '').replace('sonde.app.1', ''), 'and is that of the folder')
diff = json.loads(sonde('diff', 'a.sonde', 'sonde.app.1', '--format', 'json').stdout)
t.check(diff['rows'] and all(r['difference_s'] in (0, None) for r in diff['rows']), 'diff: no difference between both')
t.equal(os.listdir(scratch), [], 'no scratch is left')

# ---- what is left out ----
raw, _ = contents('a.sonde')
kept = [b'secret-argument', b'value-of-a-variable', b'a comment nobody may see']
t.check(all(word in raw for word in kept), 'all is there unless asked')
for what, gone in (('arguments', kept[0]), ('environment', kept[1]), ('source', kept[2])):
    sonde('archive', 'a.sonde', '-o', 'less.sonde', '--redact', what)
    raw, _ = contents('less.sonde')
    t.check(gone not in raw and sum(word in raw for word in kept) == 2, f'--redact {what} leaves out that and no more')
    shown = sonde('show', 'loops', 'less.sonde', '--format', 'json')
    t.check(json.loads(shown.stdout)['rows'][0]['function'] == 'private_words_of_source' and not shown.stderr,
            f'and the loops are there, without a warning ({what})', shown.stderr)
t.equal(sonde('archive', 'a.sonde', '--redact', 'sauce').returncode, 2, '--redact of an unknown word is wrong usage')

# ---- a campaign, with a run that was added by hand and one that failed ----
with open('plan.ini', 'w') as out:
    out.write(f'[campaign]\nrepeat = 2\n[default]\nprogram = {app}\nenvironment.MORE = value-of-a-variable\nenvironment.MY_TOKEN = a-secret-value\n'
              '[configuration "one"]\narguments = secret-argument\n[configuration "two"]\narguments = secret-argument2 fail\n')
ran = sonde('campaign', 'run', 'plan.ini', '-o', 'camp')
added = sonde('campaign', 'add', 'camp', 'sonde.app.1', '--configuration', 'one')
t.check(added.returncode == 0, 'an experiment is added', added.stderr, ran.stderr)
t.equal(sonde('archive', 'camp').returncode, 0, 'a campaign makes an archive')
raw, _ = contents('camp.sonde')
t.check(b'a-secret-value' not in raw and b'value-of-a-variable' in raw, 'what looks like a secret in its plan is not in it')
folder, archive = (sonde('campaign', 'status', x, '--format', 'json').stdout for x in ('camp', 'camp.sonde'))
here, there = json.loads(folder), json.loads(archive)
for x in (here, there):
    x.pop('campaign', None)
    for r in x['runs']:
        r['experiment'] = r['experiment'] and os.path.basename(r['experiment']).replace('added1.', '')
t.check(here == there and len(here['runs']) >= 5, 'campaign status is equal from folder and archive', folder, archive)
folder, archive = (sonde('scalability', x, '--format', 'json') for x in ('camp', 'camp.sonde'))
t.check(folder.stdout == archive.stdout and json.loads(folder.stdout)['rows'], 'scalability is', folder.stderr, archive.stderr)
run = next(r['experiment'] for r in json.loads(sonde('campaign', 'status', 'camp', '--format', 'json').stdout)['runs'] if r['experiment'])
folder, archive = (sonde('show', 'functions', f'{x}/{run}', '--format', 'csv') for x in ('camp', 'camp.sonde'))
t.check(folder.stdout == archive.stdout and archive.returncode == 0, 'a run is shown from within the archive', archive.stderr)
done = sonde('show', 'functions', 'camp.sonde')
t.check("is a campaign" in done.stderr and "'camp.sonde/runs/" in done.stderr, 'the archive of a campaign says which run to ask for', done.stderr)
done = sonde('scalability', app)
t.check(done.returncode == 5 and 'neither a campaign' in done.stderr, 'a file that is no archive', done.stderr)
with open('camp/lock', 'r+') as lock: # as the process that runs it has it
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    lock.write('4242\n')
    lock.flush()
    done = sonde('archive', 'camp', '-o', 'running.sonde')
t.check(done.returncode == 2 and 'process 4242 runs the campaign' in done.stderr and not os.path.exists('running.sonde'),
        'a campaign that is running is refused, in a sentence', done.returncode, done.stderr)
for words in (['campaign', 'resume', 'camp.sonde'], ['campaign', 'cancel', 'camp.sonde'],
              ['campaign', 'add', 'camp.sonde', 'sonde.app.1'], ['list', '--remove', 'a.sonde']):
    done = sonde(*words)
    t.check(done.returncode == 2 and 'only read' in done.stderr, ' '.join(words) + ': an archive is not changed',
            done.returncode, done.stderr)
done = sonde('archive', 'camp', '-o', 'less.sonde', '--redact', 'arguments,environment')
raw, names = contents('less.sonde')
t.check(not re.search(b'secret-argument|value-of-a-variable', raw), 'nothing private is in a campaign without it', done.stderr,
        [raw[m.start() - 80:m.end() + 40] for m in re.finditer(b'secret-argument|value-of-a-variable', raw)][:3])
less = json.loads(sonde('campaign', 'status', 'less.sonde', '--format', 'json').stdout)
t.equal([(r['configuration'], r['state']) for r in less['runs']], [(r['configuration'], r['state']) for r in here['runs']],
        'and its runs are the same')

# ---- nothing of an archive is called by its scratch; one is never written to ----
for words in (['campaign', 'status', 'camp.sonde'], ['scalability', 'camp.sonde'], ['show', 'scalability', 'camp.sonde']):
    done = sonde(*words)
    t.check(done.stdout.startswith('camp.sonde: ') and scratch not in done.stdout + done.stderr,
            ' '.join(words) + ' calls the archive by its name', done.stdout[:200], done.stderr)
before = open('a.sonde', 'rb').read()
done = sonde('causal', '--from', 'a.sonde', '--', app, 'secret-argument')
t.check(done.returncode == 125 and 'only read' in done.stderr and open('a.sonde', 'rb').read() == before,
        'causal --from an archive is refused', done.returncode, done.stderr)

# ---- an experiment that was added, and then moved away ----
sonde('record', '-q', '-o', 'sonde.app.2', app, 'x')
sonde('campaign', 'add', 'camp', 'sonde.app.2', '--configuration', 'one')
os.rename('sonde.app.2', 'elsewhere')
runs = json.loads(sonde('campaign', 'status', 'camp', '--format', 'json').stdout)['runs']
t.equal([r['reason'] for r in runs if r['experiment'] and r['experiment'].endswith('sonde.app.2')],
        ['its experiment is not there any more'], 'campaign status tells of an experiment that is gone')
done = sonde('archive', 'camp', '-o', 'gone.sonde')
t.check(done.returncode == 0 and "sonde.app.2' of 'one' is not there any more" in done.stderr,
        'and so does its archive', done.stderr)
done = sonde('diff', '--self', 'camp')
t.check(done.returncode == 3 and 'is left out' in done.stderr and 'six runs' in done.stderr, 'diff, too', done.stderr)
folder, archive = (sonde('scalability', x, '--format', 'json') for x in ('camp', 'gone.sonde'))
t.check(folder.stdout == archive.stdout and 'is left out' in folder.stderr and 'is left out' in archive.stderr and
        json.loads(folder.stdout)['rows'][0]['repeats'] == 3, 'the others still have their figures', folder.stderr, archive.stderr)

# ---- files that are no archives of ours ----
whole = open('a.sonde', 'rb').read()


def refused(name, data, *words):
    with open(name, 'wb') as out:
        out.write(data)
    for command in (['show', 'functions', name], ['report', name], ['campaign', 'status', name]):
        done = sonde(*command)
        t.check(done.returncode == 5 and len(done.stderr.splitlines()) == 1 and all(w in done.stderr for w in words),
                f'{name}: sonde {command[0]} says so in a sentence', done.returncode, done.stderr)


def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as made:
        for name, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, '/etc/passwd'
            made.addfile(info, io.BytesIO(b''))
    return subprocess.run(['zstd', '-q'], input=out.getvalue(), capture_output=True, check=True).stdout


refused('cut.sonde', whole[:len(whole) // 2], 'cut short')
refused('damaged.sonde', whole[:len(whole) // 2] + b'\0\0\0\0' + whole[len(whole) // 2 + 4:], 'damaged')
refused('link.sonde', tar(('sonde.x.1/launch-key', tarfile.SYMTYPE)), 'launch-key', 'is a link')
refused('out.sonde', tar(('sonde.x.1/../../outside', tarfile.REGTYPE)), 'outside')
refused('other.sonde', tar(('sonde.x.1/notes', tarfile.REGTYPE)), 'neither an experiment nor a campaign')
t.check(not os.path.exists(os.path.join(t.folder, 'outside')) and not os.listdir(scratch), 'and nothing is left of them')
with tarfile.open('by-hand.tar', 'w') as made:  # what a user's own tar makes of a folder
    made.add('sonde.app.1')
subprocess.run(['zstd', '-q', 'by-hand.tar', '-o', 'by-hand.sonde'], check=True)
t.equal(sonde('show', 'functions', 'by-hand.sonde', '--format', 'json').stdout,
        sonde('show', 'functions', 'sonde.app.1', '--format', 'json').stdout, 'an archive by tar and zstd is one, too')

# ---- the ends of a command: its reader waits, so it cannot end by itself ----
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    child = subprocess.Popen([t.sonde, 'show', 'samples', 'a.sonde', '--all', '--format', 'json'], env=env, stdout=writer,
                             stderr=subprocess.DEVNULL)
    os.close(writer)
    os.read(reader, 1)  # it has begun to print
    was_there = len(os.listdir(scratch))
    child.send_signal(number)
    child.wait()
    os.close(reader)
    until = time.monotonic() + 60
    while os.listdir(scratch) and time.monotonic() < until:
        time.sleep(0.05)
    t.check(not os.listdir(scratch) and (was_there == 1 or child.returncode == 0), f'no scratch after signal {number.name}',
            was_there, child.returncode)
# at the very moment that it makes its folder, with its whole group, as timeout(1) does
left = 0
for _ in range(20):
    child = subprocess.Popen([t.sonde, 'report', 'a.sonde', '-o', 'ended.html'], env=env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    while not os.listdir(scratch) and child.poll() is None:
        pass
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGTERM)
    child.wait()
    until = time.monotonic() + 30
    while os.listdir(scratch) and time.monotonic() < until:
        time.sleep(0.005)
    left += len(os.listdir(scratch))
    if left:
        break
t.equal(left, 0, 'no scratch after SIGTERM to a whole group at its first moment')
t.done()
