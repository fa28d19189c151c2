"""What every end-to-end test needs: TAP lines, programs compiled, sonde run, its tables read.

    from sonde_test import Test
    t = Test()                       # a fresh folder, removed at the end; SONDE from the environment
    app = t.compile('kernel.c', '-O2')
    run = t.run('record', app)       # CompletedProcess, text
    rows = t.show('functions')['rows']
    t.check(run.returncode == 0, 'the exit status is the target\'s')
    t.within(share, 2 / 3, 4 * sigma, 'two thirds of the time is in f')
    t.done()
"""
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, 'programs')


class Test:
    def __init__(self):
        self.sonde = os.environ.get('SONDE') or os.path.join(HERE, '../../build/sonde')
        self.sonde = os.path.abspath(self.sonde)
        self.number = 0
        self.cost = 0
        self.folder = tempfile.mkdtemp(prefix='sonde-end-')
        os.environ['XDG_CACHE_HOME'] = os.path.join(self.folder, 'cache')
        os.environ['XDG_CONFIG_HOME'] = os.path.join(self.folder, 'config')  # no machine of the user's
        # the static model is that of one machine, whichever the test runs on
        os.environ.setdefault('SONDE_NATIVE_ARCH', 'cascadelake')
        os.chdir(self.folder)

    def check(self, holds, name, *facts):
        """One TAP line; facts are printed when it does not hold."""
        self.number += 1
        if not holds:
            for fact in facts:
                for line in str(fact).splitlines() or ['']:
                    print('#', line[:500])
        print(f"{'ok' if holds else 'not ok'} {self.number} - {name}", flush=True)
        if 'CHECK_COSTS' in os.environ:  # CPU seconds since the check before
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            now = sum(u.ru_utime + u.ru_stime for u in used)
            with open(os.environ['CHECK_COSTS'], 'a') as out:
                out.write(f'{now - self.cost:.2f}\t{os.path.basename(sys.argv[0])}\t{name}\n')
            self.cost = now
        return bool(holds)

    def equal(self, got, want, name):
        return self.check(got == want, name, f'got  {got!r}', f'want {want!r}')

    def within(self, got, want, tolerance, name):
        holds = got is not None and abs(got - want) <= tolerance
        return self.check(holds, name, f'got {got}, want {want} +- {tolerance}')

    def skip(self, name, reason):
        self.number += 1
        print(f'ok {self.number} - {name} # SKIP {reason}', flush=True)

    def breakpoints_fire(self):
        """Some virtual machines let hardware breakpoints be set, and never hit them."""
        rows = json.loads(self.run('doctor', '--format', 'json').stdout)['rows']
        return all(row['state'] == 'ok' for row in rows if row['check'] == 'breakpoints')

    def has(self, *programs):
        return all(shutil.which(p) for p in programs)

    def command(self, *words, timeout=120, **more):
        """Runs a command; output captured as text unless told otherwise."""
        more.setdefault('stdin', subprocess.DEVNULL)
        if not {'stdout', 'stderr', 'capture_output'} & set(more):
            more['capture_output'] = True
        more.setdefault('text', True)
        return subprocess.run([str(w) for w in words], timeout=timeout, **more)

    def run(self, *words, **more):
        """sonde WORDS..."""
        return self.command(self.sonde, *words, **more)

    def seen_on_a_terminal(self, *words):
        """What sonde WORDS... writes to standard error, which is a terminal: bytes."""
        master, slave = os.openpty()
        command = subprocess.Popen([self.sonde, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        seen = b''
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        command.wait()
        os.close(master)
        return seen

    def compile(self, source, *flags, compiler='gcc', output=None):
        """Compiles a program of tests/end/programs (or a path, or C text with a newline in it)."""
        if '\n' in source:
            path = os.path.join(self.folder, f'program{len(os.listdir(self.folder))}.c')
            with open(path, 'w') as out:
                out.write(source)
        else:
            path = source if '/' in source else os.path.join(PROGRAMS, source)
        output = output or './' + os.path.splitext(os.path.basename(path))[0]
        done = self.command(compiler, path, '-o', output, *flags)
        if done.returncode:
            raise SystemExit(f'cannot compile {source}: {done.stderr}')
        return output

    def show(self, view, *words, experiment=None):
        """The JSON of `sonde show VIEW`, of the newest experiment unless one is named; also of one without data (3)."""
        done = self.run('show', view, *([experiment] if experiment else []), '--format', 'json', *words)
        if done.returncode not in (0, 3) or not done.stdout:
            raise RuntimeError(f'sonde show {view}: {done.returncode}: {done.stderr}')
        return json.loads(done.stdout)

    def done(self):
        print(f'1..{self.number}')
        os.chdir('/')
        shutil.rmtree(self.folder, ignore_errors=True)
        sys.exit(0)


def sigma_of_share(share, samples):
    """Standard deviation of a share seen in so many independent samples."""
    return math.sqrt(max(share * (1 - share), 1e-9) / max(samples, 1))
