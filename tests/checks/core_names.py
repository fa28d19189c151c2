"""src/cqa models any core: what one core does is data in src/machine/cores, and asked for by a rule's name."""
import os
import re
import sys

root = sys.argv[1]
names = set()
for file in sorted(os.listdir(os.path.join(root, 'src/machine/cores'))):
    if not file.endswith('.c'):
        continue
    names.add(os.path.splitext(file)[0].replace('_', ' '))
    text = open(os.path.join(root, 'src/machine/cores', file)).read()
    names.update(re.findall(r'\.(?:name|alias) = "([^"]+)"', text))
    # of "Intel Skylake server": Skylake
    names.update(re.sub(r'^(Intel|AMD) | server$', '', title) for title in re.findall(r'\.title = "([^"]+)"', text))
names -= {'cores'}
assert len(names) >= 10, names
# blanks, dashes or nothing between a name's parts: "zen 5", "icelake", "Ice Lake"
parts = {re.sub(r'[ -]', '[ _-]?', re.sub(r'(?<=[a-z])(?=\d)', ' ', name.lower())) for name in names}
forbidden = re.compile(r'(?<![a-z0-9])(vendor|' + '|'.join(sorted(parts, key=len, reverse=True)) + r')(?![a-z])', re.I)

faults = []
for folder, _, files in os.walk(os.path.join(root, 'src/cqa')):
    for name in sorted(files):
        path = os.path.join(folder, name)
        for number, line in enumerate(open(path, errors='replace'), 1):
            found = forbidden.search(line)
            if found:
                faults.append(f"{os.path.relpath(path, root)}:{number}: '{found[0]}' belongs into src/machine/cores")
for fault in faults:
    print('#', fault)
print('not ok 1 - core names' if faults else f'ok 1 - src/cqa names none of {len(names)} cores')
print('1..1')
