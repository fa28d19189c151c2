"""clang-tidy, with the profile in .clang-tidy, has nothing to say about src/.

tidy.py ROOT BUILD       files that the newest commits changed, or a header of theirs; the newest with paths
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
CHANGED_MOST = 12  # files with paths in ./check: half a minute of CPU time
COMMITS = 20  # whose files count as changed
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


def run_tidy(names, checks):
    return subprocess.run(['clang-tidy', '--quiet', '-p', f'{build}/tidy', f'--checks={checks}',
                           *(f'{root}/{name}' for name in names)], capture_output=True, text=True, cwd=root)


def findings(names, checks):
    """Of files that are looked at together, as half of the time goes into starting; one by one if there are any."""
    marks = {name: f'{build}/tidy/{key_of(name, commands[name], checks)}' for name in names}
    names = [name for name in names if not os.path.exists(marks[name])]
    if not names:
        return []
    run = run_tidy(names, checks)
    faults = [line.replace(f'{root}/', '') for line in run.stdout.splitlines() if re.search(r': (error|warning): ', line)]
    if not faults and not run.returncode:
        for name in names:
            open(marks[name], 'w').close()
        return []
    if len(names) > 1:
        return [fault for name in names for fault in findings([name], checks)]
    return faults or [f'{names[0]}: clang-tidy ends with {run.returncode}: {(run.stderr.splitlines() or [""])[-1]}']


def check(names, checks, title):
    together = 8 if checks == QUICK else 1
    groups = [names[at:at + together] for at in range(0, len(names), together)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = list(pool.map(lambda group: findings(group, checks), groups))
    report(dict.fromkeys(f for some in faults for f in some), title)


def git(*words):
    return subprocess.run(['git', '-C', root, *words], capture_output=True, text=True).stdout.split('\n')


def changed(commits):
    """What the working tree or the newest commits changed, newest first; None where git cannot tell."""
    if not git('rev-parse', '--verify', '--quiet', f'HEAD~{commits}')[0]:
        return None
    names = git('diff', '--name-only', 'HEAD') + git('ls-files', '--others', '--exclude-standard')
    return list(dict.fromkeys(names + git('log', f'-{commits}', '--name-only', '--format=')))


def with_headers(names):
    """A header stands for its .c file."""
    return [name for name in dict.fromkeys(re.sub(r'\.h$', '.c', name) for name in names) if name in commands]


tool = shutil.which('clang-tidy')
version = subprocess.run([tool, '--version'], capture_output=True, text=True).stdout if tool else ''
if not re.search(rf'version {VERSION}\.', version):
    print(f'ok 1 - clang-tidy # SKIP clang-tidy {VERSION} is not here\n1..1')
    sys.exit()
commands = sources()
recent = None if is_all else changed(COMMITS)
if recent is not None and '.clang-tidy' in recent:
    recent = None
if recent is None:
    check(list(commands), QUICK, f'clang-tidy has nothing to say about {len(commands)} files')
else:
    names = with_headers(recent)
    check(names, QUICK, f'clang-tidy has nothing to say about {len(names)} of {len(commands)} files')
chosen = list(commands) if is_all else with_headers(recent or [])[:CHANGED_MOST]
check(chosen, '', f'nor about the paths through {len(chosen)} of them')
print(f'1..{number}')
