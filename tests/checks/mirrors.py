"""tests/unit mirrors src: tests/unit/X/test_y.c tests src/X/y.c, and each folder X of src has unit tests.

What cannot be so is in these two lists, with its reason. docs/decisions/0039 has the rule.
"""
import os
import sys

# Folders without unit tests.
WITHOUT_TESTS = {
    'cli': 'commands: options in, files and text out; tests/end runs each as users do',
    'machine/cores': 'data: tests/unit/machine/test_cores.c holds every core to the rules',
    'pandore/page': 'one page, whose parts have their tests; tests/end/pandore_page.py reads it',
    'pandore/profiler': 'tests/end/pandore.py compares its tables with what the program counted',
    'report/campaigns': 'one page, all markup; tests/end/campaign_page.py reads it',
    'report/json': 'writes the model, which has its tests; tests/end/report_contents.py reads it back',
    'report/text': 'writes the model, which has its tests; tests/end/report_contents.py reads it back',
    'search/strategies': 'shared objects of their own; tests/end/search.py searches with each',
}
# What runs inside the target has no unit tests: tests/hostile and tests/end run it in programs.
INSIDE_THE_TARGET = 'runtime/'
# Tests that are named after what they test, where that is no file of C.
WITHOUT_SOURCE = {
    'experiment/accesses': 'accesses.h',
    'machine/cores': 'all of src/machine/cores, by the rules that hold for every core',
    'unwind/shapes': 'the unwinder on frames of many compilers',
    'unwind/single_step': 'the unwinder at every instruction',
    'wire/build_id': 'build_id.h',
    'wire/counters': 'counters.h',
    'wire/settings': 'settings.h',
    'wire/writer': 'writer.h',
}

root = sys.argv[1]


def files(folder, prefix):
    """X/y for each X/PREFIXy.c under `folder`."""
    found = set()
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            if name.startswith(prefix) and name.endswith('.c'):
                found.add(os.path.relpath(os.path.join(path, name[len(prefix):-2]), os.path.join(root, folder)))
    return found


sources, tests = files('src', ''), files('tests/unit', 'test_')
rooms, tested = {os.path.dirname(s) for s in sources}, {os.path.dirname(t) for t in tests & sources}
faults = [f'src/{room} has no unit test, and mirrors.py does not say why' for room in rooms - tested - set(WITHOUT_TESTS)
          if not room.startswith(INSIDE_THE_TARGET)]
faults += [f'mirrors.py: src/{room} has unit tests, or is gone' for room in WITHOUT_TESTS if room in tested or room not in rooms]
faults += [f'tests/unit/{os.path.dirname(t)}/test_{os.path.basename(t)}.c: there is no src/{t}.c'
           for t in tests - sources - set(WITHOUT_SOURCE)]
faults += [f'mirrors.py: there is no test of {t}' for t in set(WITHOUT_SOURCE) - tests]
for fault in sorted(faults):
    print('#', fault)
print('not ok' if faults else 'ok', f'1 - {len(tests)} unit tests have their source, {len(tested)} folders have unit tests')
print('1..1')
