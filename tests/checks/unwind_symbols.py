"""The unwinder runs in signal handlers: it may call nothing. unwind_symbols.py LIBRARY"""
import subprocess
import sys

out = subprocess.run(['nm', '-A', '--undefined-only', sys.argv[1]], capture_output=True, text=True,
                     check=True).stdout
names = {line.split()[-1] for line in out.splitlines() if line.strip()}
foreign = sorted(n for n in names if not n.startswith('sn_unwind_'))
for name in foreign:
    print(f'# {name} is called')
print('1..2')
print(('not ' if foreign else '') + 'ok 1 - the unwinder for the target calls nothing but itself')

code = subprocess.run(['objdump', '-d', '--no-show-raw-insn', sys.argv[1]], capture_output=True,
                      text=True, check=True).stdout
vector = [line for line in code.splitlines() if '%xmm' in line or '%ymm' in line or '%st(' in line]
print(f'# {code.count(chr(10))} lines of code, {len(vector)} with vector registers')
print(('not ' if vector or 'sn_unwind_walk' not in code else '') +
      'ok 2 - and touches no vector or floating-point register')
