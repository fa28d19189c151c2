"""debian/ agrees with what is built: one version, every package described, every installed file in one package.

packages.py SOURCE BUILD        what can be told without building
packages.py SOURCE BUILD build  builds the packages from what is committed, and asks lintian"""
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
debian = os.path.join(source, 'debian')
number = 0


def check(holds, name, *facts):
    global number
    number += 1
    for fact in facts if not holds else ():
        print('#', str(fact)[:1000].replace('\n', '\n# '))
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")


def read(name):
    with open(os.path.join(debian, name), encoding='utf-8') as file:
        return file.read()


def stanzas(text):
    """Fields of each paragraph of a control file; raises where a line is no field."""
    for paragraph in re.split(r'\n\s*\n', text.strip()):
        fields, key = {}, None
        for line in paragraph.split('\n'):
            if line[:1] in ' \t':
                fields[key] += '\n' + line.strip()
            else:
                key, value = re.match(r'([A-Za-z-]+):\s*(.*)', line).groups()
                fields[key] = value
        yield fields


def introspect(what):
    """Of the build folder; None without meson."""
    run = subprocess.run(['meson', 'introspect', build, what], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None


def installed_files():
    """As packages have them: below /usr, libraries in the folder of their architecture."""
    prefix = next(o['value'] for o in introspect('--buildoptions') if o['name'] == 'prefix')
    libdir = next(o['value'] for o in introspect('--buildoptions') if o['name'] == 'libdir')
    for file, path in introspect('--installed').items():
        path = os.path.relpath(path, prefix)
        if path.startswith(libdir + '/'):
            path = 'lib/x86_64-linux-gnu' + path[len(libdir):]
        yield ('usr/' + path, os.path.basename(file))


def quick():
    source_fields, *packages = stanzas(read('control'))
    names = [p['Package'] for p in packages]
    check('sonde' in names and len(set(names)) == len(names), 'the packages', names)
    for package in packages:
        missing = {'Architecture', 'Depends', 'Description'} - package.keys()
        check(not missing, f"{package['Package']}: described", missing)
    version = re.match(r'sonde \(([^)-]+)[^)]*\) ', read('changelog')).group(1)
    check(version == introspect('--projectinfo')['version'], 'changelog and meson have one version', version)
    with open(os.path.join(source, 'CHANGELOG.md'), encoding='utf-8') as file:
        check(version in file.read(), 'so has CHANGELOG.md', version)
    missing = [w for w in ('meson', 'pkgconf', 'debhelper-compat') if w not in source_fields['Build-Depends']]
    check(not missing, 'what builds it is named', missing)

    patterns = {}  # (package, pattern) -> files
    for name in names:
        if os.path.exists(os.path.join(debian, name + '.install')):
            for line in read(name + '.install').splitlines():
                if line.split():
                    patterns[name, line.split()[0]] = []
        else:
            check(os.path.exists(os.path.join(debian, name + '.docs')), f'{name}: has files')
    unowned, twice = [], []
    for path, _ in installed_files():
        owners = [key for key in patterns if any(fnmatch.fnmatchcase(part, key[1]) for part in
                                                 [path] + ['/'.join(path.split('/')[:n]) for n in range(1, path.count('/') + 1)]
                                                 if part.count('/') == key[1].count('/'))]
        for key in owners:
            patterns[key].append(path)
        if not owners:
            unowned.append(path)
        if len({package for package, _ in owners}) > 1:
            twice.append((path, owners))
    check(unowned == [], 'every installed file is in a package', unowned)
    check(twice == [], 'and in one alone', twice)
    idle = [key for key, files in patterns.items() if not files]
    check(idle == [], 'every line of the lists has files', idle)
    absent = [line for name in names for end in ('.docs',) if os.path.exists(os.path.join(debian, name + end))
              for line in read(name + end).split() if not os.path.exists(os.path.join(source, line))]
    check(absent == [], 'documents are there', absent)


def whole():
    tools = ['git', 'dpkg-buildpackage', 'dh', 'lintian']
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing or not os.path.exists(os.path.join(source, '.git')):
        print(f"ok 1 - the packages build # SKIP {' and '.join(missing) or 'a repository'} missing")
        return
    with tempfile.TemporaryDirectory(prefix='sonde-packages-') as folder:
        tree = os.path.join(folder, 'sonde')
        os.mkdir(tree)
        subprocess.run(f'git -C "{source}" archive HEAD | tar -x -C "{tree}"', shell=True, check=True)
        run = subprocess.run(['dpkg-buildpackage', '-us', '-uc', '-b', '-d'], cwd=tree, capture_output=True, text=True,
                             env=dict(os.environ, DEB_BUILD_OPTIONS='nocheck'))
        debs = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith('.deb')]
        check(run.returncode == 0 and debs, 'the packages build', run.stdout[-600:], run.stderr[-600:])
        run = subprocess.run(['lintian', '--fail-on', 'error,warning', *debs], capture_output=True, text=True)
        check(run.returncode == 0, 'lintian finds no error and no warning', run.stdout, run.stderr)


if introspect('--projectinfo') is None:
    print('1..0 # SKIP meson is not there to tell what is installed')
else:
    whole() if sys.argv[3:] == ['build'] else quick()
    print(f'1..{number or 1}')
