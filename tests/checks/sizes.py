"""Files of at most 800 lines, and functions that are short: their median and the longest tenth."""
import os
import re
import sys

FILE_MOST, MEDIAN_MOST, TENTH_MOST = 800, 15, 30

root = os.path.join(sys.argv[1], 'src')
long_files, lengths = [], []
for folder, _, names in os.walk(root):
    for name in names:
        if not name.endswith(('.c', '.h')):
            continue
        lines = open(os.path.join(folder, name)).read().split('\n')
        if len(lines) - 1 > FILE_MOST:
            long_files.append(f'{os.path.relpath(os.path.join(folder, name), root)}: {len(lines) - 1} lines')
        begin = None
        for number, line in enumerate(lines):
            # a function's braces, and no others but those of structures, stand in the first column
            if line == '{':
                begin = number
            elif line == '}' and begin is not None:
                first = begin
                while first and re.match(r'[\w\t ]', lines[first - 1]):
                    first -= 1
                lengths.append((number - first + 1, name, first + 1))
                begin = None
lengths.sort()
median, tenth, most = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10], lengths[-1]
for text in long_files:
    print('#', text)
print('not ok' if long_files else 'ok', f'1 - no file has more than {FILE_MOST} lines')
print('not ok' if median[0] > MEDIAN_MOST or tenth[0] > TENTH_MOST else 'ok',
      f'2 - {len(lengths)} functions: median {median[0]} lines, nine of ten at most {tenth[0]}, '
      f'the longest {most[0]} ({most[1]}:{most[2]})')
print('1..2')
