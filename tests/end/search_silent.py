"""What no region of a run has a value of is asked once, and not at each region."""
import json

from sonde_test import Test

REGIONS = 24
# functions that call each other, one below the other, each with as much time of its own
CHAIN = '''
#include <stdio.h>
#include <stdlib.h>
static volatile double sink;
''' + ''.join(f'''
void __attribute__((noinline)) f{i}(int n) {{ for (int i = 0; i < n; i++) sink += i * .5; {f"f{i + 1}(n);" if i + 1 < REGIONS else ""} sink += 1; }}
''' for i in reversed(range(REGIONS))) + '''
int main(int argc, char **argv)
{
	for (int t = 0; t < 300; t++)
		f0(argc > 1 ? atoi(argv[1]) : 100000);
	return 0;
}
'''


def main():
    t = Test()
    app = t.compile(CHAIN, '-O1', '-g', output='./chain')
    t.run('record', '-o', 'chain.run', app)
    done = t.run('search', '-e', 'chain.run', '--threshold', '0.01', '--format', 'json')
    found = json.loads(done.stdout)
    candidates, proven = (sum(step[of] for step in found['steps']) for of in ('candidates', 'proven'))
    # a function and its loop: some 16 candidates for each where all is asked, and 6 without what this program has nothing of
    t.check(proven > REGIONS / 2 and candidates <= 10 * 2 * REGIONS, 'what no region has a value of is not asked of each', candidates, proven)
    t.done()


main()
