"""Every name that is visible outside its file has a user there: callers.py ROOT BUILD

A name that only its own file uses is static; one that nobody uses goes. A name of src/ that only tests
or benchmarks use is part of an interface that is tested by itself: it stands in a header with a
comment (/** ... */) above it or above its group. What is exported from a library (visibility) and
what generated programs call is used by those whom we do not know.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

root, build = (os.path.abspath(p) for p in sys.argv[1:3])
defined, used = {}, collections.defaultdict(set)


def objects():
    """Object file: its source, relative to ROOT."""
    found = {}
    for entry in json.load(open(f'{build}/compile_commands.json')):
        source = os.path.relpath(os.path.join(entry['directory'], entry['file']), root)
        path = os.path.join(entry['directory'], entry['output'])
        if os.path.exists(path):
            found[path] = source
    return found


def is_ours(source):
    return source.startswith('src/')


sources = objects()
listing = subprocess.run(['readelf', '-sW', *sources], capture_output=True, text=True).stdout
path = None
for line in listing.splitlines():
    if line.startswith('File: '):
        path = line[6:]
    parts = line.split()
    if len(parts) != 8 or parts[4] not in ('GLOBAL', 'WEAK'):
        continue
    _, _, _, _, _, visibility, section, name = parts
    if section == 'UND':
        used[name].add(sources[path])
    elif is_ours(sources[path]) and visibility == 'HIDDEN':
        defined[name] = sources[path]

# what is called from outside: by the C library, and by what `sonde pandore compile` makes
outside = {'main'} | set(re.findall(r'\bpd_\w+', open(f'{root}/src/pandore/runtime/pandore.h').read()))
headers = '\n'.join(open(name).read() for name in glob.glob(f'{root}/src/**/*.h', recursive=True))


def has_comment(name):
    """Whether the lines above its declaration, back to a blank one, hold a comment for readers."""
    at = re.search(rf'^(?![\s/*#])[^\n]*\b{name}\b[\[(;]', headers, re.M)
    return at and re.search(r'/\*\*(?:(?!\n\n).)*\Z', headers[:at.start()], re.S)


unused = [f'{source}: nobody but this file uses {name}' for name, source in sorted(defined.items())
          if not used[name] - {source} and name not in outside]
bare = [f'{source}: only tests use {name}, which no comment explains' for name, source in sorted(defined.items())
        if used[name] - {source} and not any(is_ours(u) for u in used[name]) and not has_comment(name)]
for number, (faults, title) in enumerate([(unused, f'{len(defined)} names of src have a user outside their file'),
                                          (bare, 'those that only tests use are explained')], 1):
    for fault in faults:
        print('#', fault)
    print('not ok' if faults else 'ok', number, '-', title)
print('1..2')
