"""Writes the man pages that sonde prints of itself into a folder: man.py SONDE FOLDER."""
import os
import re
import subprocess
import sys

sonde, folder = sys.argv[1:3]
os.makedirs(folder, exist_ok=True)


def run(*args):
    return subprocess.run([sonde, *args], capture_output=True, text=True, check=True).stdout


def write(name, text):
    with open(os.path.join(folder, name), 'w') as out:
        out.write(text)


write('sonde.1', run('help', '--man'))
for command in re.findall(r'^  (\S+(?: \S+)?)  +\S', run('help').split('\n\n', 1)[1], re.M):
    words = command.split()
    write('-'.join(['sonde'] + words) + '.1', run('help', '--man', *words))
