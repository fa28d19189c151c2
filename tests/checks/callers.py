"""Every name that is visible outside its file has a user there: callers.py ROOT BUILD

A name that only its own file uses is static; one that nobody uses goes, and so does one that only
tests or benchmarks use. A part of a file may be tested by itself: then its file uses the name, and a
header has a comment (/** ... */) above it or above its group. FOR_TESTS says what else is kept, and
why. What is exported from a library (visibility) and what generated programs call is used by those
whom we do not know.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

# Names that only tests, fuzz targets or benchmarks use, and why they are kept.
FOR_TESTS = {
    'sn_bytes_busy_wait': 'what waits, on bytes alone: the product asks the same of loops of images',
    'sn_extract_write': 'the steps of an extract in one: tests and the fuzz corpus need no recorded run',
    'sn_history_open_memory': 'the fuzz target has bytes and no file',
    'sn_jit_bad_count': 'that damaged lines are left out cannot be seen otherwise',
    'sn_jit_symbols': 'the fuzz target asks for each of them',
    'sn_lattice_out_degree': 'the definition that counted degrees are held against',
    'sn_lattice_graph_pending': 'that nothing waits at the end cannot be seen otherwise',
    'sn_limbs_double': 'known values of large numbers; the product prints digits',
    'sn_prop_file_print': 'what is printed is parsed again, of whole files',
    'sn_unwind_cache_hits': 'that the cache is used cannot be seen otherwise',
}
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


def own_file_uses(name):
    text = re.sub(r'/\*.*?\*/', '', open(os.path.join(root, defined[name])).read(), flags=re.S)
    return len(re.findall(rf'\b{name}\b', text)) > 1


unused = [f'{source}: nobody but this file uses {name}' for name, source in sorted(defined.items())
          if not used[name] - {source} and name not in outside]
by_tests = [name for name, source in sorted(defined.items())
            if used[name] - {source} and name not in outside and not any(is_ours(u) for u in used[name])]
idle = [f'{defined[name]}: only tests use {name}' for name in by_tests
        if name not in FOR_TESTS and not own_file_uses(name)]
idle += [f'FOR_TESTS: {name} is no name that only tests use' for name in FOR_TESTS
         if name not in by_tests or own_file_uses(name)]
bare = [f'{defined[name]}: only tests use {name} besides, which no comment explains' for name in by_tests
        if not has_comment(name)]
for number, (faults, title) in enumerate([(unused, f'{len(defined)} names of src have a user outside their file'),
                                          (idle, 'none is there for tests alone, but what is kept for a reason'),
                                          (bare, 'those that only tests use besides are explained')], 1):
    for fault in faults:
        print('#', fault)
    print('not ok' if faults else 'ok', number, '-', title)
print('1..3')
