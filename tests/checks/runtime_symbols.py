"""What the runtime asks of libc and what it gives to the target: nothing beyond the lists."""
import re
import subprocess
import sys

# The prefix of names that the parts share, and what the exports begin with ('' for the runtime, whose
# exports are the wrappers that its sources mark).
own_prefix, export_prefix = sys.argv[1:3]
allowed_path, library, archive, sources = sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6:]
allowed, part = {'handlers': set(), 'set-up': set()}, None
for line in open(allowed_path):
    line = line.strip()
    if line.startswith('['):
        part = line[1:-1]
    elif line and not line.startswith('#'):
        allowed[part].add(line)


def names(*words):
    lines = subprocess.run(['nm', *words], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split('@')[0] for line in lines if line and not line.endswith(':')}


number = 0


def check(extra, name):
    global number
    number += 1
    for symbol in sorted(extra):
        print('#', symbol)
    print(f"{'not ok' if extra else 'ok'} {number} - {name}")


undefined = names('--undefined-only', archive)
defined = names('--defined-only', archive)
own = {n for n in undefined if n.startswith(own_prefix)}
check(undefined - defined - own - allowed['handlers'], 'handlers call nothing but what is allowed')
everything = names('-D', '--undefined-only', library)
check(everything - allowed['handlers'] - allowed['set-up'], 'set-up calls nothing but what is allowed')
wrappers = set()
for source in sources:
    text = open(source).read()
    wrappers |= set(re.findall(r'^SN_EXPORT[^;{]*?\b(\w+)\(', text, re.M))
    wrappers |= set(re.findall(r'^(?:CALL\(\w+, \w+,\s*|LOOP_WITH\w*\(|(?:NEW|DELETE)\(\d+, |\tX\(\w+, |(?:OPEN|MOVE|TRANSFER|GET|PUT|LINE|SCAN|SCAN_LIST|PRINT|PRINT_LIST)\()(\w+)', text, re.M))
    wrappers |= set(re.findall(r'^(?:BARRIER|BARRIER_BOOL|TAKES|GIVES|TASKS_END|TASKLOOP)\((\w+),', text, re.M))
    wrappers |= set(re.findall(r'^(?:FUNCTION|TRIES)\(\s*\w+(?: \*)?, (\w+),', text, re.M))
    wrappers |= set(re.findall(r'^STUB\(\d, (\w+)\)', text, re.M))
    wrappers |= {p + n for n in re.findall(r'^\s*X\(\d+, (\w+),', text, re.M) for p in ('', 'P')}
wrappers = {w.replace('plain_', '') for w in wrappers}
exports = {n for n in names('-D', '--defined-only', library) if not (export_prefix and n.startswith(export_prefix))}
check(exports - wrappers, 'nothing is exported but what is meant to be')
print(f'1..{number}')
