#!/usr/bin/env python3
"""The scripts at the root say what they do, and refuse what they do not know.

scripts.py FOLDER: nothing is built; a script that began its work would write beside itself.
"""
import os
import subprocess
import sys
import tempfile
import shutil

root = sys.argv[1]
count, failed = 0, 0


def check(fine, name, detail=''):
    global count, failed
    count += 1
    failed += not fine
    print(f"{'ok' if fine else 'not ok'} {count} - {name}")
    if not fine:
        print(f'# {detail}')


def run(script, *words):
    """A copy in a folder of its own, without the tools that it would need to begin."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(os.path.join(root, script), folder)
        result = subprocess.run([copy, *words], capture_output=True, text=True, timeout=60)
        return result.returncode, result.stdout, result.stderr, os.listdir(folder)


for script in 'check', 'quickstart':
    code, out, err, left = run(script, '--help')
    check(code == 0 and out.startswith('Installs') and f'./{script}' in out and not err and left == [script],
          f'{script} --help prints its head comment', (code, out, err, left))
    check('set -' not in out and '#' not in out, f'{script} --help prints nothing else', out)
    code, out, err, left = run(script, '--unknown')
    check(code == 2 and not out and '--unknown' in err and err.count('\n') == 1 and left == [script],
          f'{script} refuses an option that it does not know', (code, out, err, left))
print(f'1..{count}')
sys.exit(failed > 0)
