"""What the runtime finds in real programs, by the real command: its own share, threads that were there
before it."""
import os
import resource

import datafile
from sonde_test import Test

t = Test()
REENTRY = 4  # enum sn_loss (src/wire/kinds.h)
HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../hostile')


def build(name, *flags):
    return t.compile(os.path.join(HOSTILE, name + '.c'), '-O2', '-g', *flags)


# samples in our own code: a row of its own with the callers kept, and overhead
run = t.run('record', '-o', 'own', build('alone', '-pthread'))
t.equal(run.returncode, 0, 'a barrier of one is recorded')
rows = {row['function']: row for row in t.show('functions', experiment='own')['rows']}
own = rows.get('sonde')
t.check(own and own['samples'] > 0 and own['module'] == '[sonde]', 'our wrapper is a row of its own', own, list(rows))
callers = [row for row in t.show('calls', 'sonde', experiment='own')['rows'] if row['role'] == 'caller']
t.check(max(callers, key=lambda row: row['attributed_cpu_s'])['function'] == 'turn', 'which the loop has called', callers)
t.check(rows['turn']['inclusive_cpu_s'] > own['exclusive_cpu_s'], 'and holds')
kinds = {row['module']: row['class'] for row in t.show('modules', experiment='own')['rows']}
t.equal(kinds['[sonde]'], 'sonde', 'its class is its own')

# a signal inside a wrapper of ours waits for its end: of some 20 to 40 that fall there none is lost. What may be
# lost still (as the process begins and ends) is told in JSON, and on the page from one in a thousand samples on.
t.run('record', '-o', 'deep', build('deep_waits', '-fno-optimize-sibling-calls'), 4000)
summary = t.show('summary', experiment='deep')
t.check(summary['lost'] <= 2 + summary['samples'] // 1000, 'signals in our own code are kept', summary['lost'], summary['warnings'])
rows = t.show('calls', 'sonde', experiment='deep')['rows']
t.check('descend' in ' '.join(row['function'] for row in rows if row['role'] == 'caller'), "with the caller's stack", rows)
data = [os.path.join('deep', name) for name in os.listdir('deep') if name.endswith('.data')]
for lost in (1, 100):
    with open(data[0], 'r+b') as f:
        f.seek(datafile.HEADER_LOST_AT + 8 * REENTRY)
        f.write(lost.to_bytes(8, 'little'))
    summary = t.show('summary', experiment='deep')
    t.equal((summary['lost'], sum('own code' in words for words in summary['warnings'])), (lost, 1), f'{lost} lost are told')
    page = t.run('show', 'summary', 'deep').stdout
    t.check(('lost: a signal inside our own code' in ' '.join(page.split())) == (lost == 100), f'{lost} lost: a note or none', page)

# wrappers that count nothing: what samples find in them is overhead
locks = build('locks', '-pthread')
t.run('record', '-o', 'free', locks, 'free', 60000000)
own = [row for row in t.show('functions', experiment='free')['rows'] if row['function'] == 'sonde']
process = t.show('processes', experiment='free')['rows'][0]
share = process['overhead_share']  # of the time without it
t.check(share / (1 + share) * process['cpu_s'] > sum(row['exclusive_cpu_s'] for row in own), 'it is overhead', process, own)
# the same for system calls by number that need no care
NUMBERED = '#include <sys/syscall.h>\n#include <unistd.h>\nint main(void) { for (long i = 0; i < 6000000; i++) syscall(SYS_getppid); return 0; }\n'
t.run('record', '-o', 'numbered', t.compile(NUMBERED, '-O2', output='./by_number'))
own = [row for row in t.show('functions', '--all', experiment='numbered')['rows'] if row['function'] == 'sonde']
process = t.show('processes', experiment='numbered')['rows'][0]
share = process['overhead_share']
t.check(share / (1 + share) * process['cpu_s'] > sum(row['exclusive_cpu_s'] for row in own), "so is our wrapper of syscall()", process, own)
summary = t.show('summary', experiment='free')
t.check(0 <= summary['overhead_share_low'] < summary['overhead_share'] < summary['overhead_share_high'], 'within its bounds', summary)
t.check(summary['own_cpu_s'] > 0, "and sonde's own process is beside it", summary['own_cpu_s'])
# all of it: what the command and its children used, less what the program did; its own last moments are not in it
before = resource.getrusage(resource.RUSAGE_CHILDREN)
t.run('record', '-q', '-o', 'whole', locks, 'free', 1000000)
after = resource.getrusage(resource.RUSAGE_CHILDREN)
used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
summary = t.show('summary', experiment='whole')
t.within(summary['own_cpu_s'] / (used - summary['cpu_s']), 0.9, 0.15,
         f'own CPU time is what the command used beside the program: {summary["own_cpu_s"]} of {used} - {summary["cpu_s"]}')

# system time: what it was for, and who asked
run = t.run('record', '-o', 'kernel', build('system'))
rows = t.show('system', experiment='kernel')['rows']
total = t.show('functions', '--cols', 'all', experiment='kernel')['rows']
t.within(sum(row['system_s'] for row in rows), sum(row['exclusive_system_s'] for row in total), 1e-6,
         'system calls and page faults add up to system time')
seen = {(row['kind'], row['call'], row['caller']): row for row in rows}
for kind, call, number, caller in (('call', 'read', 0, 'reader'), ('call', 'pread64', 17, 'by_number'),
                                   ('fault', '[page fault]', None, 'toucher')):
    row = seen.get((kind, call, caller))
    t.check(row and row['number'] == number and row['samples'] > 0 and row['line'], f'{call} in {caller}', row, list(seen))
known = sum(row['system_s'] for row in rows if row['kind'] != 'unknown')
t.check(known > 0.9 * sum(row['system_s'] for row in rows), 'what is not known is little', rows)
t.done()
