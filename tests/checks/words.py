"""No marks of unfinished work and no path of one machine in what git tracks."""
import os
import re
import subprocess
import sys

root = sys.argv[1]
if not os.path.exists(os.path.join(root, '.git')):
    print('ok 1 - words # SKIP not a git checkout\n1..1')
    sys.exit()
files = subprocess.run(['git', '-C', root, 'ls-files'], capture_output=True, text=True,
                       check=True).stdout.splitlines()
marks = re.compile(r'\b(TO' r'DO|FIX' r'ME|XX' r'X|HA' r'CK)\b|/wo' r'rk/|/tmp/bash_' r'jobs')
faults = []
for name in files:
    path = os.path.join(root, name)
    if name.startswith('tests/fuzz/corpus/'):
        found = re.search(rb'/(wo' rb'rk|home|root|t' rb'mp)/[\w/.-]+', open(path, 'rb').read())
        if found:
            faults.append(f'{name}: {found[0].decode()}')
        continue
    if name.startswith('web/') or name.endswith(('.tsv', '.svg', '.png')):
        continue
    try:
        text = open(path, encoding='utf-8').read()
    except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
        continue
    for number, line in enumerate(text.splitlines(), 1):
        if marks.search(line):
            faults.append(f'{name}:{number}: {line.strip()[:80]}')
for fault in faults:
    print('#', fault)
print('not ok 1 - words' if faults else 'ok 1 - no marks of unfinished work, no path of one machine')
print('1..1')
