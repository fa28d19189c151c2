"""Every folder of sources says what it is for in a README of at most 20 lines, every .c file in a
comment before its first line of code; files that a README names are there."""
import glob
import os
import re
import sys

LINES_MAX = 20
root = sys.argv[1]
source = os.path.join(root, 'src')


def missing_names(folder, text):
    """Names in backquotes that look like a file of ours and are none."""
    for name in re.findall(r'`([\w./*-]+\.(?:c|h|md|py|tsv|txt))`', text):
        places = [os.path.join(folder, '**'), source, root]
        if 'NAME' not in name and not name.startswith('_') and not any(
                glob.glob(os.path.join(place, name), recursive=True) for place in places):
            yield name


readme_faults, head_faults = [], []
for folder, _, names in os.walk(source):
    where = os.path.relpath(folder, root)
    path = os.path.join(folder, 'README.md')
    if os.path.exists(path):
        text = open(path, encoding='utf-8').read()
        if where != 'src' and text.count('\n') > LINES_MAX:
            readme_faults.append(f'{where}/README.md has more than {LINES_MAX} lines')
        readme_faults += [f'{where}/README.md: there is no {name}' for name in missing_names(folder, text)]
    elif where == 'src' or any(name.endswith(('.c', '.h')) for name in names):
        readme_faults.append(f'{where} has no README.md')
    for name in sorted(names):
        if name.endswith('.c'):
            head = open(os.path.join(folder, name), encoding='utf-8').read(1000).lstrip()
            if not re.match(r'/\*[\s*]*\S', head):
                head_faults.append(f'{where}/{name} does not begin with a comment on what it is for')

for number, (what, faults) in enumerate((('READMEs', readme_faults), ('head comments', head_faults)), 1):
    for fault in faults:
        print('#', fault)
    print(f'{"not ok" if faults else "ok"} {number} - {what}')
print('1..2')
