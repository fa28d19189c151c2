"""What the runtime finds in real programs, by the real command: its own share, threads that were there
before it."""
import os

from sonde_test import Test

t = Test()
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

# wrappers that count nothing: what samples find in them is overhead
t.run('record', '-o', 'free', build('locks', '-pthread'), 'free', 60000000)
own = [row for row in t.show('functions', experiment='free')['rows'] if row['function'] == 'sonde']
process = t.show('processes', experiment='free')['rows'][0]
share = process['overhead_share']  # of the time without it
t.check(share / (1 + share) * process['cpu_s'] > sum(row['exclusive_cpu_s'] for row in own), 'it is overhead', process, own)
summary = t.show('summary', experiment='free')
t.check(0 <= summary['overhead_share_low'] < summary['overhead_share'] < summary['overhead_share_high'], 'within its bounds', summary)
t.check(summary['own_cpu_s'] > 0, "and sonde's own process is beside it", summary['own_cpu_s'])

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
