"""clang-tidy, with the profile in .clang-tidy, has nothing to say about src/.

tidy.py ROOT BUILD       every file without following paths; the newest changed files with them
tidy.py ROOT BUILD all   every file with paths (clang's analyzer): minutes

What was clean is kept in BUILD/tidy by a hash of all that the answer depends on: the file, the
headers of ours that it includes, its command line, the profile and the version.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

VERSION = '14'  # Debian 12's, which the profile was written for; another finds other things
CHANGED_MOST = 24  # files with paths in ./check: about a minute on two cores
COMMITS = 5  # whose files count as changed
NOT_CLANGS = ('-fno-tree-loop-distribute-patterns',)  # options that only gcc knows
QUICK = '-clang-analyzer-*'

root, build = (os.path.abspath(p) for p in sys.argv[1:3])
is_all = sys.argv[3:] == ['all']
number = 0
texts = {}


def report(faults, name):
    global number
    number += 1
    for fault in faults:
        print('#', fault)
    print(f"{'not ok' if faults else 'ok'} {number} - {name}", flush=True)


def read(path):
    if path not in texts:
        texts[path] = open(path, 'rb').read()
    return texts[path]


def our_headers(path, seen):
    """The headers under src/ and include/ that a file includes, directly or not."""
    for name in re.findall(rb'^\s*#\s*include\s+[<"]([^">]+)[">]', read(path), re.M):
        for folder in (os.path.dirname(path), f'{root}/src', f'{root}/include'):
            header = os.path.normpath(os.path.join(folder, name.decode()))
            if header not in seen and os.path.isfile(header):
                seen.add(header)
                our_headers(header, seen)
                break
    return seen


def sources():
    """Path under ROOT: its command, as clang takes it. Written as a database for clang-tidy, too."""
    entries = {}
    for entry in json.load(open(f'{build}/compile_commands.json')):
        path = os.path.normpath(os.path.join(entry['directory'], entry['file']))
        name = os.path.relpath(path, root)
        if not name.startswith('src/') or not name.endswith('.c') or name in entries or not os.path.exists(path):
            continue
        words = [w for w in shlex.split(entry['command']) if w not in NOT_CLANGS and w != 'ccache']
        words[0] = 'clang'
        entries[name] = {'directory': entry['directory'], 'file': path, 'command': shlex.join(words)}
    os.makedirs(f'{build}/tidy', exist_ok=True)
    with open(f'{build}/tidy/compile_commands.json', 'w') as out:
        json.dump(list(entries.values()), out)
    return {name: entry['command'] for name, entry in entries.items()}


def key_of(name, command, checks):
    path = f'{root}/{name}'
    parts = [version.encode(), read(f'{root}/.clang-tidy'), checks.encode(), name.encode(),
             command.replace(root, '').encode(), read(path)]
    parts += [read(header) for header in sorted(our_headers(path, set()))]
    return hashlib.sha256(b'\0'.join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


def findings(name, command, checks):
    mark = f'{build}/tidy/{key_of(name, command, checks)}'
    if os.path.exists(mark):
        return []
    run = subprocess.run(['clang-tidy', '--quiet', '-p', f'{build}/tidy', f'--checks={checks}', f'{root}/{name}'],
                         capture_output=True, text=True, cwd=root)
    faults = [line.replace(f'{root}/', '') for line in run.stdout.splitlines() if re.search(r': (error|warning): ', line)]
    if run.returncode and not faults:
        faults = [f'{name}: clang-tidy ends with {run.returncode}: {(run.stderr.splitlines() or [""])[-1]}']
    if not faults:
        open(mark, 'w').close()
    return faults


def check(names, checks, title):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(lambda name: findings(name, commands[name], checks), names))
    report(dict.fromkeys(f for some in faults for f in some), title)


def git(*words):
    return subprocess.run(['git', '-C', root, *words], capture_output=True, text=True).stdout.split('\n')


def changed():
    """Files of ours that the working tree or the newest commits changed, a header by its .c file."""
    names = git('diff', '--name-only', 'HEAD') + git('ls-files', '--others', '--exclude-standard')
    names += git('log', f'-{COMMITS}', '--name-only', '--format=')
    names = [re.sub(r'\.h$', '.c', name) for name in names]
    return [name for name in dict.fromkeys(names) if name in commands]


tool = shutil.which('clang-tidy')
version = subprocess.run([tool, '--version'], capture_output=True, text=True).stdout if tool else ''
if not re.search(rf'version {VERSION}\.', version):
    print(f'ok 1 - clang-tidy # SKIP clang-tidy {VERSION} is not here\n1..1')
    sys.exit()
commands = sources()
check(commands, QUICK, f'clang-tidy has nothing to say about {len(commands)} files')
chosen = list(commands) if is_all else changed()[:CHANGED_MOST]
check(chosen, '', f'nor about the paths through {len(chosen)} of them')
print(f'1..{number}')
