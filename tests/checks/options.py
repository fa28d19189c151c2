"""Every command and option of the one table is in help, in the man page and in the completions."""
import re
import subprocess
import sys

sonde = sys.argv[1]
number = 0


def run(*args):
    return subprocess.run([sonde, *args], capture_output=True, text=True, check=True).stdout


def check(holds, name):
    global number
    number += 1
    print(f"{'ok' if holds else 'not ok'} {number} - {name}")


commands = re.findall(r'^  (\S+(?: \S+)?)  +\S', run('help').split('\n\n', 1)[1], re.M)
check(len(commands) >= 3, 'help lists the commands')
shells = {shell: run('completion', shell) for shell in ('bash', 'zsh', 'fish')}
for command in commands:
    words = command.split()
    help_text, man = run(*words, '-h'), run('help', '--man', *words).replace('\\-', '-')
    options = re.findall(r'--([a-z0-9-]+)', help_text.split('\n\n')[2] if help_text.count('\n\n') > 1 else '')
    missing = [o for o in options if f'--{o}' not in man]
    for shell, script in shells.items():
        missing += [f'{shell}:{o}' for o in options
                    if (f'-l {o}' if shell == 'fish' else f'--{o}') not in script]
    missing += [shell for shell, script in shells.items() if words[0] not in script]
    if missing:
        print('# missing:', *missing)
    check(not missing, f'{command}: help, man page and completions agree')
print(f'1..{number}')
