"""Adds up the TAP results of build folders: prints every failure, then 'N passed, N failed, N skipped'."""
import json
import os
import re
import sys

TAIL = 30  # lines of what a test said last, if no check of it failed


def failures(output):
    """The checks that failed, each below the facts that it printed."""
    facts, found = [], []
    for line in output.splitlines():
        if line.startswith('#'):
            facts.append(line)
            continue
        if line.startswith('not ok'):
            found += facts + [line]
        facts = []
    return found


passed = failed = skipped = 0
for folder in sys.argv[1:]:
    log = os.path.join(folder, 'meson-logs', 'testlog.json')
    if not os.path.exists(log):
        print(f'{folder}: no test log')
        failed += 1
        continue
    for line in open(log):
        test = json.loads(line)
        output = test.get('stdout') or ''
        results = re.findall(r'^(ok|not ok)\b.*?(# SKIP.*)?$', output, re.M)
        bad = [r for r in results if r[0] == 'not ok']
        skipped += sum(1 for r in results if r[0] == 'ok' and r[1])
        passed += sum(1 for r in results if r[0] == 'ok' and not r[1])
        failed += len(bad)
        if not results and test['result'] == 'SKIP':
            skipped += 1
        elif test['result'] not in ('OK', 'SKIP') and not bad or not results and test['result'] != 'SKIP':
            failed += 1
            bad = True
        if bad:
            print(f"---- {folder}: {test['name']}: {test['result']}")
            print('\n'.join(failures(output) or output.splitlines()[-TAIL:]))
            print('\n'.join((test.get('stderr') or '').splitlines()[-TAIL:]))
print(f'{passed} passed, {failed} failed, {skipped} skipped')
sys.exit(1 if failed or not passed else 0)
