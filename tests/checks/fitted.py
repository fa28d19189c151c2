"""src/cqa holds no fitted number: what was measured of a core is data in src/machine/cores. What is left says what it is.

A number with a fraction, and a constant with a name, must have one of the words below in a comment on its line
or right above. A number that was fitted has no such word. The check cannot know whether the word is true, nor
does it see whole numbers without a name.
"""
import os
import re
import sys

KINDS = {
    'chosen': 'by judgement; another value near it would do as well',
    'rounding': 'of figures that are the same but for their last digits, or are printed alike',
    'room': 'of an array, or a limit of effort',
    'by definition': 'of the architecture, of a format, or of a formula whose source is named',
}
kind = re.compile('|'.join(KINDS), re.I)
measured = re.compile(r'\b\d+ (such |random )?loops\b|of the corpus|\bfitted\b|tuning half')
fraction = re.compile(r'(?<![\w.])(\d+\.\d*|\.\d+|\d+(?:\.\d*)?e[-+]?\d+)[FfLl]?(?![\w.])')
# numbers of things, bits and limits of arrays say by their names what they are
limit = re.compile(r'(SN_(RES|ISA|ELEMENT)_\w+|\w+_(MAX|MOST|COUNTED|ROOM|NONE)) = ')
named = re.compile(r'#define\s+\w+\s+\(?-?\d[\w.]*\)?\s*(/\*|$)|(?:^\s*|[{,]\s*)[A-Z][A-Z0-9_]+ = -?(\d+)\b(?! <<)')


def parts_of(text):
    """(code, comment) of each line; strings are blanked."""
    lines, code, comment, state, i = [], '', '', 'code', 0
    while i < len(text):
        two = text[i:i + 2]
        if text[i] == '\n':
            lines.append((code, comment))
            code = comment = ''
            state = 'code' if state == 'line' else state
        elif state == 'code' and two in ('/*', '//'):
            state, i = ('block' if two == '/*' else 'line'), i + 1
        elif state == 'block' and two == '*/':
            state, i = 'code', i + 1
            comment += ' '
        elif state in ('block', 'line'):
            comment += text[i]
        elif text[i] in '"\'':
            end = i + 1
            while end < len(text) and text[end] != text[i]:
                end += 2 if text[end] == '\\' else 1
            code, i = code + '""', end
        else:
            code += text[i]
        i += 1
    return lines


def is_plain(number):
    """A whole number, a half, or a tolerance."""
    value = float(number.rstrip('FfLl'))
    return value == int(value) or value == .5 or value <= .005


def said_of(lines, at):
    """Comments on the line and the statement's other lines, and those that end right above them."""
    said, n = lines[at][1], at
    while n and lines[n][0].strip() and not lines[n - 1][0].rstrip().endswith((';', '}')) and lines[n - 1][0].strip():
        n -= 1
        said += ' ' + lines[n][1]
    while n and not lines[n - 1][0].strip() and lines[n - 1][1]:
        n -= 1
        said += ' ' + lines[n][1]
    return said


def faults_of(path, text):
    lines = parts_of(text)
    for at, (code, comment) in enumerate(lines):
        numbers = [n for n in fraction.findall(code) if not is_plain(n)]
        constant = named.search(limit.sub('', code))
        if (numbers or constant) and not kind.search(said_of(lines, at)):
            yield f"{path}:{at + 1}: {numbers[0] if numbers else code.strip()}: say what it is ({', '.join(KINDS)})"
        if measured.search(comment):
            yield f"{path}:{at + 1}: '{measured.search(comment)[0]}': what was measured of a core is data in machine/cores"


def self_test():
    for text, count in (('#define A 3\n', 1), ('#define A 3 /* (chosen) */\n', 0), ('x = 0.3 * y;\n', 1), ('x = 0.5 + 2.0;\n', 0),
                        ('enum { A = 4 }; /* (room) */\n', 0), ('enum { A, B };\n', 0), ('/* on 12 loops */\n', 1),
                        ('/* (chosen) */\n#define B .9\n', 0), ('f("%7.25f");\n', 0)):
        assert len(list(faults_of('x', text))) == count, text


self_test()
root = sys.argv[1]
faults = []
for folder, _, files in os.walk(os.path.join(root, 'src/cqa')):
    for name in sorted(files):
        if name.endswith(('.c', '.h')):
            path = os.path.join(folder, name)
            faults += faults_of(os.path.relpath(path, root), open(path).read())
for fault in faults:
    print('#', fault)
print('not ok 1 - fitted numbers' if faults else 'ok 1 - every constant of src/cqa says what it is')
print('1..1')
