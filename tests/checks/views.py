"""A view is in src/views/all.c: help, man page, completions, explain and the manual know the same views and columns."""
import json
import os
import re
import subprocess
import sys

root, sonde = sys.argv[1:3]
number = 0


def run(*args):
    return subprocess.run([sonde, *args], capture_output=True, text=True, check=True).stdout


def check(holds, name, *found):
    global number
    number += 1
    if not holds:
        print('#', *found)
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")


def read(*path):
    return open(os.path.join(root, *path)).read()


def table_after(text, heading):
    """The rows of the first table behind a line, as lists of cells."""
    lines = text.split(heading, 1)[1].split('\n')
    begin = next(i for i, line in enumerate(lines) if line.startswith('|---'))
    rows = []
    for line in lines[begin + 1:]:
        if not line.startswith('|'):
            break
        rows.append([cell.strip() for cell in re.split(r'(?<!\\)\|', line)[1:-1]])
    return rows


def words(cell):
    return [word for quoted in re.findall(r'`([^`]*)`', cell) for word in quoted.split()]


views = re.findall(r'^\tX\((\w+)\)', read('src', 'views', 'all.c'), re.M)
check(len(views) > 20, 'the registry has views', views)

listed = re.findall(r'^  (\w+)', run('help', 'show').split('\nViews:\n')[1], re.M)
check(listed == views, 'help lists the views', listed)

man = run('help', '--man', 'show').replace('\\-', '-').split('.SH VIEWS\n')[1].split('\n.SH ')[0]
entries = [entry.split('\n') for entry in man.split('.TP\n')[1:]]
check([re.match(r'\\fB(\w+)', entry[0])[1] for entry in entries] == views, 'the man page lists the views', man)
columns = {view: line.rstrip('.').split()[1:] for view, entry in zip(views, entries)
           for line in entry[2:3] if line.startswith('Columns: ')}

bash, zsh, fish = (run('completion', shell) for shell in ('bash', 'zsh', 'fish'))
check(re.search(r'show:show\) words="([^"]*)"', bash)[1].split() == views, 'bash completes the views')
check(re.search(r'"show"\*\).*\{compadd ([^;]*);', zsh)[1].split() == views, 'zsh completes the views')
check(re.findall(r'__fish_seen_subcommand_from show\' -a (\w+)', fish) == views, 'fish completes the views')

keys = sorted({key for view in columns.values() for key in view})
explained = json.loads(run('explain', '--format', 'json', *keys))['rows']
check(len(explained) > 100 and all(row['text'] for row in explained), 'explain knows every column')

for word in ('summary', 'sumary'):
    wrong = subprocess.run([sonde, word], capture_output=True, text=True)
    check(wrong.returncode == 127 and "did you mean 'sonde show summary'?" in wrong.stderr,
          f"'{word}' alone is told from a program", wrong.stderr)

manual = read('docs', 'manual', 'views.md')
in_manual = [word for row in table_after(manual, '# Views') for word in words(row[0])]
check(sorted(in_manual) == sorted(views), 'the manual lists the views', set(in_manual) ^ set(views))
told = {}
for row in table_after(manual, '## Keys'):
    for view in words(row[0]):
        told[view] = words(row[1].split(';')[0]), words(row[2])
for view in columns:
    default, further = told.get(view, ([], []))
    check(sorted(default + further) == sorted(columns[view]), f'{view}: the manual lists its columns',
          set(default + further) ^ set(columns[view]))
    golden = os.path.join('tests', 'golden', 'views', view + '.csv')
    if os.path.exists(os.path.join(root, golden)):
        header = read(golden).split('\n')[0].split(',')
        if header[0].startswith('error'):  # of a program that is not at hand
            continue
        check(default == header, f'{view}: the manual lists what CSV has by default', header)
print(f'1..{number}')
