"""Every #include "..." under src/ must be allowed by src/LAYERS, and every folder must stand there."""
import os
import re
import sys

root = os.path.join(sys.argv[1], 'src')
allowed = {}
for line in open(os.path.join(root, 'LAYERS')):
    line = line.split('#')[0].strip()
    if line:
        folder, _, others = line.partition(':')
        allowed[folder] = set(others.split())


def layer_of(path):
    """The longest folder named in LAYERS that holds this path (relative to src/), or the file itself."""
    parts = path.split('/')
    for n in range(len(parts), 0, -1):
        if '/'.join(parts[:n]) in allowed:
            return '/'.join(parts[:n])
    return None


faults = []
for folder, _, names in os.walk(root):
    for name in sorted(names):
        if not name.endswith(('.c', '.h', '.S')):
            continue
        path = os.path.relpath(os.path.join(folder, name), root)
        mine = layer_of(path)
        if mine is None:
            faults.append(f'{path}: its folder is not in src/LAYERS')
            continue
        for number, text in enumerate(open(os.path.join(root, path), errors='replace'), 1):
            included = re.match(r'\s*#\s*include\s+"([^"]+)"', text)
            if not included or '/' not in included[1]:
                continue
            if not os.path.exists(os.path.join(root, included[1])):
                continue  # a system or generated header in quotes
            theirs = layer_of(included[1])
            if theirs != mine and theirs not in allowed[mine]:
                faults.append(f'{path}:{number}: {mine} may not include {included[1]}')


def circle_from(folder, way):
    """The folders of a circle that can be reached from here, or None. A file's own line is no way on."""
    if folder in way:
        return way[way.index(folder):] + [folder]
    for other in sorted(allowed.get(folder, ())):
        found = circle_from(other, way + [folder])
        if found:
            return found
    return None


for folder in allowed:
    circle = circle_from(folder, [])
    if circle:
        faults.append('a circle: ' + ' -> '.join(circle))
        break
for fault in faults:
    print('#', fault)
print('not ok 1 - layers' if faults else 'ok 1 - layers')
print('1..1')
