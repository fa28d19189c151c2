"""What copies of loops call leaves the loop's vector registers alone: it uses none, and calls nobody who might.

    counts_registers.py ARCHIVE FUNCTIONS ALLOWED    # functions that must be there; names that it may ask for; with commas
"""
import re
import subprocess
import sys


def lines(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


code = lines('objdump', '-d', '--no-show-raw-insn', sys.argv[1])
faults = re.findall(r'^.*%[xyz]mm.*$|^.*%st\b.*$', code, re.M)
asked = {line.split()[-1] for line in lines('nm', '-u', sys.argv[1]).splitlines() if line.strip() and not line.endswith(':')}
own = {line.split()[-1] for line in lines('nm', '--defined-only', sys.argv[1]).splitlines() if len(line.split()) == 3}
wanted, allowed = (set(words.split(',')) for words in sys.argv[2:4])
faults += sorted(asked - own - allowed - {'_GLOBAL_OFFSET_TABLE_'})
faults += sorted(wanted - set(re.findall(r'^[0-9a-f]+ <(\w+)>:', code, re.M)))
for fault in faults[:10]:
    print('#', fault.strip())
print(f"{'ok' if not faults else 'not ok'} 1 - it uses no vector register and calls nothing else")
print('1..1')
