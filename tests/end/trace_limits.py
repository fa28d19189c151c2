"""Where a trace ends, where its copies lie, and whose experiment it takes: what goes wrong is said, the rest goes on."""
import json
import os
import re

from sonde_test import Test

t = Test()
MB = 1e6

# ---- room for copies: of few loops and of many, so that each gap between the libraries is the one that just holds them
LOOPS, WIDE, ROUNDS, CHOSEN = 150, 6, 3000, (2, 4, 8, 16, 32, 64, 150)
body = ''.join(f'__attribute__((noinline, noclone)) long walk{i}(long *a, long n) {{ long s = {i};\n'
               f'for (long k = 0; k < n; k++) {{ if (a[k] & 1) {{'
               + ''.join(f's += a[(k * {2 * i + 3} + s + {j}) & 63] ^ a[(s >> {j + 1}) & 63];' for j in range(WIDE))
               + 'a[s & 63] += k; } else a[k & 63] ^= s; }\n'
               f'return s; }}\n' for i in range(LOOPS))
library = t.compile(body + 'long all(long *a, long n) { long s = 0;' + ''.join(f's += walk{i}(a, n);' for i in range(LOOPS)) + 'return s; }',
                    '-g', '-O1', '-shared', '-fPIC', output='./libcrowded.so')
user = t.compile('#include <stdio.h>\nlong all(long *, long);\nint main(void) { static long a[64]; long s = 0; for (int i = 0; i < 64; i++) a[i] = i * 7;\n'
                 'for (int r = 0; r < 3000; r++) s += all(a, 64); printf("%ld\\n", s); return 5; }',
                 '-g', '-O1', '-L.', '-lcrowded', '-Wl,-rpath,' + os.getcwd(), output='./user')
plain = t.command(user)
t.run('record', '--quiet', '-o', 'first', '--', user)
for count in CHOSEN:
    name = f'near{count}'
    run = t.run('trace', '--from', 'first', '--loops', f'top:{count}' if count < LOOPS else 'all', '--every', '500', '-o', name, '--', user)
    t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), f'{count} loops of a library: output and exit status are the same')
    planned = int(re.search(r'(\d+) loops are traced', run.stderr)[1])
    table = t.run('show', 'instances', name, '--all', '--format', 'json')
    rows = json.loads(table.stdout)['rows'] if table.stdout else []
    counted = {r['function'] for r in rows if r['function'].startswith('walk') and r['bucket'] == 'all' and r['instances'] == ROUNDS}
    t.equal(len(counted), min(planned, LOOPS), f'and the copies of all {planned} have room')

# ---- the limit
PROGRAM = r'''
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int x[4096];
__attribute__((noinline, noclone, noipa)) long gather(const long *from, long n)
{ long s = 0; for (long i = 0; i < n; i++) s += from[x[i]]; return s; }
int main(int argc, char **argv)
{
	static long table[4096];
	long s = 0, rounds = atol(argv[1]);
	char line[4096];
	for (int i = 0; i < 4096; i++) x[i] = (i * 2654435761u) >> 20;
	for (long r = 0; r < rounds; r++) s += gather(table, 4096);
	if (argc > 2) { /* where our data lie */
		FILE *maps = fopen("/proc/self/maps", "r"), *out = fopen(argv[2], "w");
		while (fgets(line, sizeof(line), maps)) if (strstr(line, ".live")) fputs(strchr(line, '/'), out);
		fclose(out);
	}
	printf("%ld\n", s);
	return 3;
}
'''
app = t.compile(PROGRAM, '-g', '-O1', output='./app')
# 2 words an iteration: 64 kB an instance, 200 MB in all
plain = t.command(app, str(ROUNDS))
run = t.run('trace', '--loops', 'all', '--every', '1', '--max-size', '16', '-o', 'limited', '--', app, str(ROUNDS), 'where')
t.equal((run.returncode, run.stdout), (plain.returncode, plain.stdout), 'a limit: output and exit status are the same')
t.check('space for data was used up' in run.stderr and '--max-size' in run.stderr, 'that it was reached is told at the end', run.stderr)
bytes_written = sum(os.path.getsize(os.path.join('limited', f)) for f in os.listdir('limited') if f.endswith('.data'))
t.check(2 * MB < bytes_written <= 16 * MB, 'data are used, and end below it', bytes_written)
windows = [r for r in t.show('windows', '--all', experiment='limited')['rows'] if r['function'] == 'gather']
whole = sorted(r['instance'] for r in windows if not r['is_cut'])
t.equal(whole, list(range(len(whole))), 'windows are whole from the first on')
t.check(len(whole) > 20 and len(windows) - len(whole) <= 1, 'one at most is cut: after the limit none begins', len(whole), len(windows))
t.check(all(r['accesses'] == 2 * 4096 for r in windows if not r['is_cut']), 'each has its accesses', windows[:2])
counted = [r['instances'] for r in t.show('instances', '--all', experiment='limited')['rows'] if r['function'] == 'gather' and r['bucket'] == 'all']
t.equal(counted, [ROUNDS], 'instances are counted to the end')
summary = t.show('summary', experiment='limited')
t.check(any('--max-size' in w and 'accesses' in w for w in summary['warnings']) and not any('samples are lost' in w for w in summary['warnings']),
        'the summary says what is missing, and of samples nothing', summary['warnings'])
where = open('where').read().split('\n')
t.check(where[0] and os.path.realpath(where[0]).startswith(os.path.realpath('limited') + '/'), 'data lie on disk, in the experiment, while it runs', where)
t.check(not [f for f in os.listdir('limited') if f.startswith('live')], 'and their folder goes')

run = t.run('trace', '--loops', 'all', '--every', '1', '--max-size', '0', '--quiet', '-o', 'unlimited', '--', app, '200')
windows = [r for r in t.show('windows', '--all', experiment='unlimited')['rows'] if r['function'] == 'gather']
t.equal([(r['instance'], r['is_cut']) for r in windows], [(i, False) for i in range(200)], '--max-size 0 is no limit')

# ---- whose experiment
bad = t.run('trace', '--from', 'first', '-o', 'none', '--', app, '20')
t.check(bad.returncode == 125 and "'first' is of user, and not of app" in bad.stderr and bad.stdout == '', 'another program is refused',
        bad.returncode, bad.stderr)
t.check(not os.path.exists('none'), 'and nothing was run')
good = t.run('trace', '--quiet', '--from', 'limited', '--loops', 'all', '-o', 'by-env', '--', 'env', app, '20')
t.check(good.returncode == 3 and t.show('windows', experiment='by-env')['rows'], 'a launcher that names the program is let through', good.stderr)
t.compile(PROGRAM.replace('2654435761u', '2654435769u') + '\nint more;', '-g', '-O1', output='./app')
bad = t.run('vprof', '--from', 'limited', '-o', 'none', '--', app, '20')
t.check(bad.returncode == 125 and 'is another build' in bad.stderr, 'another build is, too, by vprof as well', bad.returncode, bad.stderr)

# ---- too short
short = t.compile('int main(void) { return 0; }\n', output='./short')
os.mkdir('empty')
bad = t.run('trace', '--', os.path.abspath(short), cwd='empty')
t.check(bad.returncode == 125 and 'no sample of the first run' in bad.stderr, 'a program without samples is told so', bad.returncode, bad.stderr)
t.equal(os.listdir('empty'), [], 'and leaves no experiment behind')
t.done()
