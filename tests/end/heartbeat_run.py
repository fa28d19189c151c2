"""sonde heartbeat run: as many beats as the same heartbeats in the source have, and a program that notices nothing."""
import glob
import json
import os
import re
import shutil
import subprocess
import time

from sonde_test import PROGRAMS, Test

t = Test()
LIBRARY = os.environ['HEARTBEAT_LIBRARY']
INCLUDE = os.environ['HEARTBEAT_INCLUDE']
SCHEMA = 'sonde.heartbeat-plan/1'


def build(name, source, *words, compiler='gcc'):
    done = subprocess.run([compiler, '-g', *words, '-I', INCLUDE, source, '-o', name, '-lpthread', LIBRARY,
                           '-Wl,-rpath,' + os.path.dirname(LIBRARY)], capture_output=True, text=True)
    if done.returncode:
        t.check(False, f'{name} compiles', done.stderr)
    return './' + name


CXX = {name: name + '(int)' for name in ('throws', 'passes', 'catches', 'leaves')}


def plan_of(name, source, without=()):
    """The plan that the source's LOOP(name) and BODY(name) stand for, as a file; loops by the lines that they cover."""
    lines = open(source).read().split('\n')
    beats, function = [], None
    for number, line in enumerate(lines):
        head = re.match(r'\w.*\b(\w+)\([^;]*\)$', line)
        function = head.group(1) if head else function
        for kind, beat in re.findall(r'\b(LOOP|BODY)\((\w+)\)', line):
            if line.startswith('#') or beat in without or beat == 'name':
                continue
            one = {'name': beat, 'type': kind.lower(), 'function': CXX.get(function, function)}
            if kind == 'LOOP':
                begin = next(i for i in range(number, 0, -1) if re.match(r'\s*(for|while|do)\b', lines[i]))
                end = re.match(r'\s*', lines[begin]).group() + '}'
                end = next(i for i in range(number, len(lines)) if lines[i].startswith(end))
                one['loop'] = {'file': os.path.basename(source), 'line_first': begin + 1, 'line_last': end + 1}
            beats.append(one)
    with open(name, 'w') as out:
        json.dump({'schema': SCHEMA, 'heartbeats': beats}, out)
    return name


count = 0


def run(app, *words, plan=None, prefix=(), **environment):
    """Runs it in a folder of beats of its own; the process and the beats by heartbeat."""
    global count
    count += 1
    folder = os.path.abspath(f'beats{count}')
    command = [*prefix, app, *words]
    if plan:
        command = [*prefix, t.sonde, 'heartbeat', 'run', '--plan', plan, '--', app, *words]
    done = subprocess.run(command, env=dict(os.environ, SONDE_HEARTBEAT_DIR=folder, **environment), capture_output=True,
                          text=True, timeout=100, stdin=subprocess.DEVNULL)
    sums = {}
    for path in glob.glob(folder + '/*.jsonl'):
        for line in open(path):
            row = json.loads(line)
            if 'heartbeat' in row:
                one = sums.setdefault(row['heartbeat'], [0, 0])
                one[0] += row['count']
                one[1] += row['misuse']
    return done, {name: one[0] for name, one in sums.items()}, sum(one[1] for one in sums.values())


def compare(app, source_app, plan, what, *words, misuse=0):
    plain = subprocess.run([app, *words], capture_output=True, text=True, timeout=100)
    want = run(source_app, *words)
    got = run(app, *words, plan=plan)
    t.equal(got[1], want[1], f'{what}: as many beats as in the source')
    t.equal((got[0].returncode, got[0].stdout, got[0].stderr), (plain.returncode, plain.stdout, plain.stderr),
            f'{what}: output and exit status are the program\'s')
    t.check(got[2] <= misuse, f'{what}: no misuse', got[2])


# ---- C and C++ ----
source = os.path.join(PROGRAMS, 'inserted.c')
plan = plan_of('plan.json', source)
for compiler, level, more in (('gcc', '-O0', []), ('gcc', '-O2', ['-fcf-protection']), ('clang', '-O0', []),
                              ('clang', '-O2', ['-fno-pie', '-no-pie'])):
    if not t.has(compiler):
        t.skip(compiler, 'it is not here')
        continue
    what = f'{compiler} {level} {" ".join(more)}'.strip()
    app = build(f'app{compiler}{level}', source, level, *more, compiler=compiler)
    source_app = build(f'source{compiler}{level}', source, level, *more, '-DSOURCE', compiler=compiler)
    for words in ([], ['threads'], ['signal'], ['fork']):
        compare(app, source_app, plan, f'{what} {" ".join(words)}', *words)

source = os.path.join(PROGRAMS, 'inserted.cpp')
plan = plan_of('planpp.json', source)
for compiler, level in (('g++', '-O0'), ('g++', '-O2'), ('clang++', '-O2')):
    if t.has(compiler):
        app = build(f'app{compiler}{level}', source, level, compiler=compiler)
        source_app = build(f'source{compiler}{level}', source, level, '-DSOURCE', compiler=compiler)
        compare(app, source_app, plan, f'{compiler} {level}: exceptions')

# ---- what leaves frames behind, and ends ----
os.environ['TMPDIR'] = os.path.abspath('temporary')
os.mkdir('temporary')
source = os.path.join(PROGRAMS, 'inserted.c')
app, source_app = './appgcc-O2', './sourcegcc-O2'
done, beats, misuse = run(app, 'jumps', plan='plan.json')
plain = subprocess.run([app, 'jumps'], capture_output=True, text=True)
t.equal((done.stdout, done.returncode, misuse), (plain.stdout, 3, 0), 'longjmp out of four frames: the program goes on')
t.equal(beats['jumps'], 4 * 49, 'their beats are counted when the next begins')
compare(app, source_app, 'plan.json', 'recursion of 20,000 frames', 'deep')
for word in '_exit', 'kill':
    plain = subprocess.run([app, word], capture_output=True, text=True)
    done = run(app, word, plan='plan.json')[0]
    t.equal((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, ''), f'{word}: the end is the program\'s')

# ---- settings of the library ----
done, beats, _ = run(app, plan='plan.json', SONDE_HEARTBEAT_COST='0.01', SONDE_HEARTBEAT_INTERVAL='0.001')
t.equal(beats, run(source_app)[1], 'with SONDE_HEARTBEAT_COST all beats are counted')
done, beats, _ = run(app, plan='plan.json', SONDE_HEARTBEAT_ENABLE='0')
t.equal((beats, done.returncode), ({}, 3), 'SONDE_HEARTBEAT_ENABLE=0 counts none')
every = json.load(open('plan.json'))
for beat in every['heartbeats']:
    beat['every'] = 4
json.dump(every, open('every.json', 'w'))
t.equal(run(app, plan='every.json')[1], run(source_app)[1], 'a plan that times one in four: all are counted')

# ---- sites that are not there ----
done, beats, _ = run(app, plan='missing.json')
t.equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (125, '', 1), 'no plan: one sentence, nothing runs')
for text, what in ('{"schema":', 'not JSON'), ('{"schema":"sonde.functions/1"}', 'another schema'), \
        ('{"schema":"%s","heartbeats":[{"name":"a","type":"body"}]}' % SCHEMA, 'a heartbeat without a function'), \
        ('{"schema":"%s","heartbeats":[{"name":"a","type":"loop","function":"f"}]}' % SCHEMA, 'a loop without lines'), \
        ('{"schema":"%s","heartbeats":[{"name":"","type":"body","function":"f"}]}' % SCHEMA, 'a heartbeat without a name'):
    open('bad.json', 'w').write(text)
    done, beats, _ = run(app, plan='bad.json')
    t.check(done.returncode == 125 and not done.stdout and len(done.stderr.splitlines()) == 1 and 'bad.json' in done.stderr,
            f'{what}: one sentence, nothing runs', done)
for value in -3, 1.5, '4', 1 << 32:
    json.dump({'schema': SCHEMA, 'heartbeats': [{'name': 'a', 'type': 'body', 'function': 'main', 'every': value}]}, open('bad.json', 'w'))
    done, beats, _ = run(app, plan='bad.json')
    t.check(done.returncode == 125 and not done.stdout and len(done.stderr.splitlines()) == 1 and '"every"' in done.stderr,
            f'every {value!r}: one sentence, nothing runs', done)
some = [{'name': 'main', 'type': 'body', 'function': 'main'},
        {'name': 'nearly', 'type': 'body', 'function': 'severall'},
        {'name': 'nowhere', 'type': 'loop', 'function': 'main', 'loop': {'line_first': 9000}},
        {'name': 'gone', 'type': 'body', 'function': 'f', 'module': '/nowhere/libgone.so'},
        {'name': 'again', 'type': 'body', 'function': 'main'}]
json.dump({'schema': SCHEMA, 'heartbeats': some}, open('some.json', 'w'))
done, beats, _ = run(app, plan='some.json')
t.equal((done.returncode, beats), (3, {'main': 1}), 'what is there beats')
lines = done.stderr.splitlines()
t.check(len(lines) == 4 and "did you mean 'several'?" in lines[0] and all('is left out, because' in x for x in lines) and
        len({x.split("'")[1] for x in lines}) == 4, 'each of the others is said with its reason', lines)
json.dump({'schema': SCHEMA, 'heartbeats': some[1:2]}, open('none.json', 'w'))
done, beats, _ = run(app, plan='none.json')
t.check(done.returncode == 3 and done.stdout and not beats and 'runs as it is' in done.stderr, 'none is there: it runs as it is', done)
done = t.run('heartbeat', 'run', '--plan', 'plan.json', '--', './absent')
t.equal((done.returncode, len(done.stderr.splitlines())), (127, 1), 'no program: 127')
if not subprocess.run(['gcc', '-static', '-g', '-x', 'c', '-', '-o', 'static'], input='int main(void) { return 0; }', text=True).returncode:
    done = run('./static', plan='plan.json')[0]
    t.equal((done.returncode, len(done.stderr.splitlines())), (125, 1), 'a static program cannot have any: one sentence')

# ---- of another build ----
rows = json.loads(t.run('structure', '-l', 'loops', '-f', 'json', '-a', app).stdout)['rows']
build_id = rows[0]['loop'].split(':')[0]
other = json.load(open('plan.json'))
for beat in other['heartbeats']:
    beat.update(build_id=build_id, module='/elsewhere/appgcc-O0', function_link_addr='0x1180')
json.dump(other, open('other.json', 'w'))
done, beats, _ = run('./appgcc-O0', plan='other.json')
t.equal(beats, run('./sourcegcc-O0')[1], 'another build: places are found by function and lines')
t.check('is another build' in done.stderr and len(done.stderr.splitlines()) == 1, 'and that is said', done.stderr)

# ---- addresses that are not the function's; another program's plan ----
rows = json.loads(t.run('structure', '-l', 'functions', '-f', 'json', '-a', app).stdout)['rows']
addresses = {r['function']: r['link_addr'] for r in rows}
for address, what in (addresses['_start'], 'of another function'), (addresses['main'] + 1, 'within it'):
    json.dump({'schema': SCHEMA, 'heartbeats': [{'name': 'main', 'type': 'body', 'function': 'main', 'build_id': build_id,
                                                 'function_link_addr': hex(address)}]}, open('address.json', 'w'))
    done, beats, _ = run(app, plan='address.json')
    t.equal((beats, done.returncode), ({'main': 1}, 3), f'an address {what}: the function beats that has the name')
    t.check(f"'main' does not begin at {address:#x}" in done.stderr and len(done.stderr.splitlines()) == 1, 'and that is said', done.stderr)
json.dump({'schema': SCHEMA, 'heartbeats': [{'name': 'main', 'type': 'body', 'function': 'main', 'build_id': build_id, 'module': os.path.abspath(app),
                                             'function_link_addr': hex(addresses['main'])}]}, open('address.json', 'w'))
done, beats, _ = run(app, plan='address.json')
t.equal((beats, done.stderr), ({'main': 1}, ''), 'of the right address nothing is said')
done, beats, _ = run('./appgcc-O0', plan='address.json')
t.check(done.returncode == 3 and not beats and 'of other programs' in done.stderr and len(done.stderr.splitlines()) == 1,
        'a plan of another program alone: that is said', done.stderr)

open('cloned.c', 'w').write('static int part(int n, int k) __attribute__((noinline));\n'
                            'int main(void)\n{\n\tint sum = 0;\n\tfor (int i = 0; i < 5; i++)\n\t\tsum += part(i, 3);\n'
                            '\treturn sum == 7;\n}\nstatic int part(int n, int k)\n{\n\tint sum = k;\n'
                            '\tfor (int i = 0; i < n; i++) {\n\t\t__asm__ volatile("" : "+r"(sum)::"memory");\n'
                            '\t\tsum += k * k;\n\t}\n\treturn sum;\n}\n')
subprocess.run(['gcc', '-O2', '-g', 'cloned.c', '-o', 'cloned'], check=True)
if 'part.constprop' in subprocess.run(['nm', 'cloned'], capture_output=True, text=True).stdout:
    json.dump({'schema': SCHEMA, 'heartbeats': [{'name': 'part', 'type': 'body', 'function': 'part'}]}, open('cloned.json', 'w'))
    t.equal(run('./cloned', plan='cloned.json')[1], {'part': 5}, 'a clone for a constant argument is the function')
else:
    t.skip('clones', 'this compiler makes none')

open('region.c', 'w').write('#include <stdio.h>\nint main(void)\n{\n\tdouble sum = 0;\n\tfor (int r = 0; r < 20; r++) {\n'
                            '#pragma omp parallel for reduction(+ : sum)\n\t\tfor (int i = 0; i < 1000; i++)\n'
                            '\t\t\tsum += i * 0.5;\n\t}\n\tprintf("%g\\n", sum);\n\treturn 0;\n}\n')
subprocess.run(['gcc', '-O2', '-g', '-fopenmp', 'region.c', '-o', 'region'], check=True)
json.dump({'schema': SCHEMA, 'heartbeats': [{'name': 'region', 'type': 'body', 'function': 'main',
                                             'linkage_name': 'main._omp_fn.0'}]}, open('region.json', 'w'))
done, beats, _ = run('./region', plan='region.json', OMP_NUM_THREADS='3')
t.equal((done.stdout, done.stderr, beats), ('4.995e+06\n', '', {'region': 60}), 'a parallel region, by its linkage name: three threads')
if t.has('gfortran'):
    open('nested.f90', 'w').write('program main\n  implicit none\n  integer :: i\n  real(8) :: s\n  s = 0\n  do i = 1, 50\n'
                                  '    call step(i, s)\n  end do\n  print *, s\ncontains\n  subroutine step(n, s)\n'
                                  '    integer, intent(in) :: n\n    real(8), intent(inout) :: s\n    integer :: j\n'
                                  '    do j = 1, n\n      s = s + sin(real(j, 8))\n      if (s > 1d10) exit\n    end do\n'
                                  '  end subroutine\nend program\n')
    subprocess.run(['gfortran', '-O2', '-g', '-fno-inline', 'nested.f90', '-o', 'nested'], check=True)
    json.dump({'schema': SCHEMA, 'heartbeats': [
        {'name': 'step', 'type': 'body', 'function': 'step'},
        {'name': 'do', 'type': 'loop', 'function': 'step', 'loop': {'line_first': 15, 'line_last': 18}}]}, open('nested.json', 'w'))
    plain = subprocess.run(['./nested'], capture_output=True, text=True)
    done, beats, _ = run('./nested', plan='nested.json')
    t.equal((done.stdout, done.stderr, beats), (plain.stdout, '', {'step': 50, 'do': 1275}), 'a subroutine of Fortran and its loop')

# ---- nothing written ----
done = subprocess.run([t.sonde, 'heartbeat', 'run', '--keep-text', '-p', 'plan.json', '--', app], env=dict(os.environ, SONDE_HEARTBEAT_DIR='kept'), capture_output=True, text=True, timeout=100)
plain = subprocess.run([app], capture_output=True, text=True)
t.check((done.returncode, done.stdout) == (plain.returncode, plain.stdout) and not os.path.exists('kept') and 'none of the' in done.stderr and len(done.stderr.splitlines()) == 1,
        'with --keep-text no heartbeat is inserted, and that is said', done.stderr)

# ---- several processes ----
json.dump({'schema': SCHEMA, 'heartbeats': [dict(b, module=os.path.abspath(app)) for b in json.load(open('plan.json'))['heartbeats']]},
          open('named.json', 'w'))
done, beats, _ = run('sh', '-c', f'{app}; {app}; exit 7', plan='named.json')
want = {name: 2 * n for name, n in run(source_app)[1].items()}
t.equal((done.returncode, beats), (7, want), 'programs that a shell runs have the heartbeats')
if t.has('mpirun'):
    done = subprocess.run(['mpirun', '--oversubscribe', '-n', '2', t.sonde, 'heartbeat', 'run', '-p', 'plan.json', '--', app],
                          env=dict(os.environ, SONDE_HEARTBEAT_DIR='ranks', OMPI_ALLOW_RUN_AS_ROOT='1',
                                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1'), capture_output=True, text=True, timeout=100)
    sums = {}
    for path in glob.glob('ranks/*.jsonl'):
        for line in open(path):
            row = json.loads(line)
            if 'heartbeat' in row:
                sums[row['heartbeat']] = sums.get(row['heartbeat'], 0) + row['count']
    t.equal(sums, want, 'two ranks: twice as many')

# ---- libraries ----
for name in 'linked', 'opened':
    open(f'{name}.c', 'w').write(f'int {name}(int n)\n{{\n\tint sum = n;\n\tfor (int i = 0; i < n; i++) {{\n'
                                 '\t\t__asm__ volatile("" : "+r"(sum));\n\t\tsum += i;\n\t}\n\treturn sum + 1;\n}\n')
    subprocess.run(['gcc', '-O2', '-g', '-fPIC', '-shared', f'{name}.c', '-o', f'lib{name}.so'], check=True)
open('user.c', 'w').write('#include <dlfcn.h>\n#include <stdio.h>\nint linked(int);\nint main(void)\n{\n'
                          '\tint (*opened)(int);\n\tint sum = linked(10);\n\tfor (int i = 0; i < 3; i++) {\n'
                          '\t\tvoid *library = dlopen("./libopened.so", RTLD_NOW);\n'
                          '\t\t*(void **)&opened = dlsym(library, "opened");\n\t\tsum += opened(20);\n\t\tdlclose(library);\n\t}\n'
                          '\tprintf("%d\\n", sum);\n\treturn 0;\n}\n')
subprocess.run(['gcc', '-O2', '-g', 'user.c', '-o', 'user', './liblinked.so', '-ldl', '-Wl,-rpath,$ORIGIN'], check=True)
sites = [{'name': f'{name}-{kind}', 'type': kind, 'function': name, 'module': os.path.abspath(f'lib{name}.so'),
          'loop': {'line_first': 4, 'line_last': 7}} for name in ('linked', 'opened') for kind in ('body', 'loop')]
json.dump({'schema': SCHEMA, 'heartbeats': sites}, open('libraries.json', 'w'))
plain = subprocess.run(['./user'], capture_output=True, text=True)
done, beats, _ = run('./user', plan='libraries.json')
t.equal(beats, {'linked-body': 1, 'linked-loop': 10, 'opened-body': 3, 'opened-loop': 60},
        'libraries, also one that is opened three times')
t.equal((done.stdout, done.returncode, done.stderr), (plain.stdout, 0, ''), 'and the program notices nothing')

# ---- all functions and loops of a program ----
if t.has('gzip'):
    gzip = os.path.realpath(shutil.which('gzip'))
    tables = [json.loads(t.run('structure', '-l', kind, '-f', 'json', '-a', gzip).stdout or '{"rows":[]}')['rows']
              for kind in ('functions', 'loops')]
else:
    tables = [[], []]
if tables[1]:
    sites = [{'type': 'body', 'function': r['function'], 'function_link_addr': hex(r['link_addr'])}
             for r in tables[0] if r['kind'] in ('symbol', 'fde')]
    sites += [{'type': 'loop', 'function': r['function'], 'loop': {'header_link_addr': hex(r['header_link_addr'])}}
              for r in tables[1]]
    for i, site in enumerate(sites):
        site.update(name=str(i), module=gzip, build_id=tables[1][0]['loop'].split(':')[0])
    json.dump({'schema': SCHEMA, 'heartbeats': sites}, open('all.json', 'w'))
    with open('text', 'wb') as out:
        out.write(bytes(i * i // 7 % 251 for i in range(60000)) + open(source, 'rb').read())
    command = [gzip, '-c', '-n', 'text']
    plain = subprocess.run(command, capture_output=True)
    done = subprocess.run([t.sonde, 'heartbeat', 'run', '-p', 'all.json', '--', *command], capture_output=True,
                          env=dict(os.environ, SONDE_HEARTBEAT_DIR='all'))
    refused = [x for x in done.stderr.decode().splitlines() if 'is left out, because' in x]
    t.check(done.stdout == plain.stdout and done.returncode == 0 and len(refused) < len(sites) / 2,
            'gzip with a heartbeat in all its functions and loops', len(sites), len(refused), done.stderr[-500:])
    rows = [json.loads(x) for path in glob.glob('all/*.jsonl') for x in open(path)]
    t.check(sum(r.get('count', 0) for r in rows) > 10000 and not any(r.get('misuse') for r in rows), 'it beats', len(rows))

# ---- from a recorded run ----
open('stepping.c', 'w').write('static volatile double sink;\n__attribute__((noinline)) static void step(int n)\n{\n'
                              '\tfor (int i = 0; i < n; i++)\n\t\tsink = sink * 0.5 + i;\n}\n'
                              'int main(void)\n{\n\tfor (int i = 0; i < 300; i++)\n\t\tstep(1000000);\n\treturn 0;\n}\n')
subprocess.run(['gcc', '-O2', '-g', 'stepping.c', '-o', 'stepping'], check=True)
t.run('record', '-o', 'stepping.exp', '--', './stepping')
t.run('phases', 'stepping.exp', '-i', '0.1', '--emit-heartbeats', 'phases.json')
names = {b['name']: b for b in json.load(open('phases.json'))['heartbeats']}
done, beats, _ = run('./stepping', plan='phases.json')
t.check(beats and set(beats) <= set(names) and done.stderr == '' and
        all(n == 300 or names[b]['function'] == 'main' for b, n in beats.items()),
        'the plan of a recorded run beats under its names', beats, names, done.stderr)

# ---- recorded beside ----
open('short.c', 'w').write('static volatile unsigned sink;\n__attribute__((noinline)) static void step(unsigned n)\n{\n'
                           '\tfor (unsigned i = 0; i < n; i++)\n\t\tsink = sink * 31 + i;\n}\n'
                           'int main(void)\n{\n\tfor (unsigned i = 0; i < 3000000; i++) {\n\t\tsink = sink * 7 + i;\n\t\tstep(10);\n\t\tsink = sink * 5 + i;\n\t}\n\treturn 0;\n}\n')
subprocess.run(['gcc', '-O2', '-g', 'short.c', '-o', 'short'], check=True)
json.dump({'schema': SCHEMA, 'heartbeats': [
    {'name': 'step', 'type': 'body', 'function': 'step'},
    {'name': 'loop', 'type': 'loop', 'function': 'main', 'loop': {'line_first': 9, 'line_last': 13}}]}, open('short.json', 'w'))
done = subprocess.run([t.sonde, 'record', '-o', 'short.exp', '--', t.sonde, 'heartbeat', 'run', '-p', 'short.json', '--', './short'],
                      capture_output=True, text=True, env=dict(os.environ, SONDE_HEARTBEAT_DIR='short.beats'))
beats = {r['heartbeat']: 0 for path in glob.glob('short.beats/*.jsonl') for r in map(json.loads, open(path)) if 'heartbeat' in r}
t.equal(set(beats), {'step', 'loop'}, 'a run that is recorded as well beats')
nodes = {r['node']: r for r in t.show('tree', '-a', 'short.exp')['rows']}
OURS = {'step', 'insert_begin', 'insert_end', 'insert_next'}


def has_main(node):
    while node and node['function'] != 'main':
        node = nodes.get(node['parent'])
    return node is not None


cut = [n['name'] for n in nodes.values() if n['name'] == '[jit]' or n['function'] in OURS and not has_main(n)]
t.check(not cut and OURS & {n['function'] for n in nodes.values()}, 'no stack is cut in the copies, nor in what they call', cut, done.stderr)

for _ in range(100):  # whoever removes them comes a moment later
    if not os.listdir('temporary'):
        break
    time.sleep(0.1)
t.equal(os.listdir('temporary'), [], 'nothing is left in the folder of temporary files')

t.done()
