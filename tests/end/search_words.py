"""The words of `sonde search` and what it says of them: mistakes are told before anything is run, with what was meant."""
import json
import os
import shutil

from sonde_test import HERE, Test

BUILD = os.path.dirname(os.path.abspath(os.environ.get('SONDE') or os.path.join(HERE, '../../build/sonde')))
BEATS_AT = os.path.join(BUILD, 'src/runtime/heartbeat')

APP = r'''
#include <stdio.h>
#include <stdlib.h>
double __attribute__((noinline)) diffuse(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += i * 1e-9 + s * 1e-12;
	return s;
}
int main(int argc, char **argv)
{
	double s = 0;
	for (int t = 0; t < (argc > 1 ? atoi(argv[1]) : 40); t++)
		s += diffuse(1000000);
	printf("%g\n", s);
	return 0;
}
'''
BEATS = r'''
#include <sonde/heartbeat.h>
int main(void)
{
	sonde_heartbeat *id = sonde_heartbeat_register("timestep", 0);

	for (int t = 0; t < 10; t++) {
		sonde_heartbeat_begin(id);
		sonde_heartbeat_end(id);
	}
	return 0;
}
'''
THREADS = r'''
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
std::atomic<double> sum;
struct Work {
	int rounds;
	void operator()(int t, std::vector<double> &out) const
	{
		double s = 0;
		for (int i = 0; i < rounds; i++)
			s += i * 1e-9 + s * 1e-12;
		out[t] = s;
	}
};
int main()
{
	std::vector<std::thread> all;
	std::vector<double> out(2);
	for (int t = 0; t < 2; t++)
		all.emplace_back(Work{100000000}, t, std::ref(out));
	for (auto &one : all)
		one.join();
	std::printf("%g\n", out[0]);
}
'''


def refused(t, words, sentence, name, code=2):
    """One sentence, the exit status, and nothing announced before."""
    done = t.run('search', *words)
    t.check(done.returncode == code and sentence in done.stderr and 'start 1' not in done.stderr and len(done.stderr.splitlines()) == 1 and
            not done.stdout, name, done.returncode, done.stdout, done.stderr)


def meant(t, app, beats):
    """Every name that is typed has a neighbour, where one is near."""
    for phase, near in (('difuse', 'diffuse'), ('Diffuse', 'diffuse'), ('mian', 'main'), ('aap.c:7', 'app.c:7')):
        refused(t, ['--phase', phase, app], f"no heartbeat, function or line of that name; did you mean '{near}'?", f'--phase {phase} is {near}')
    refused(t, ['--phase', 'crystal', app], "no heartbeat, function or line of that name, nor have its libraries", 'what is like nothing is not guessed')
    refused(t, ['--phase', 'timestpe', beats], "did you mean 'timestep'?", 'a heartbeat')
    refused(t, ['--strategy', 'tmie', app], "did you mean 'time'?", 'a strategy')
    refused(t, ['--strategy', 'data', '--start', 'LC3MissesInThraed', app], "did you mean 'LC3MissesInThread'?", 'a property, and the nearest one')
    refused(t, ['--agents', 'shs', '--phase', 'diffuse', app], "did you mean 'ssh'?", 'a kind of agents')
    refused(t, ['--phaes', 'diffuse', app], "has no option '--phaes'; did you mean '--phase'?", 'an option')
    refused(t, ['--suspend', 'breif', '--phase', 'diffuse', app], 'one of brief|always|never', 'the choices of --suspend are told')
    refused(t, ['--suspend', 'never', app], '--suspend needs --phase', 'without a phase nothing is stopped')


def before_a_start(t, app):
    os.mkdir('there')
    refused(t, ['-o', 'there', app], "'there' exists already and is no experiment", 'a folder that is there', 125)
    refused(t, ['./nowhere'], 'nowhere', 'a program that is not there', 127)
    refused(t, ['there/../there'], 'there', 'a program that is a folder', 126)
    refused(t, ['--launch', 'no-such-launcher -n 2', app], 'no-such-launcher', 'a launcher that is not there', 127)
    done = t.run('search', '--restarts', '0', '-o', 'first', app)
    t.check(done.returncode == 0 and 'start 1 of 1 at most' in done.stderr, 'else it is announced', done.stderr)
    refused(t, ['-o', 'first', app], "'first' exists already; experiments are never overwritten", 'an experiment that is there', 125)


def word_of_both(t, app):
    """A word that is the program's on the PATH, and the folder of an earlier search of it."""
    os.mkdir('bin')
    shutil.copy(app, 'bin/diffusion')
    os.environ['PATH'] = os.path.abspath('bin') + ':' + os.environ['PATH']
    done = t.run('search', '--restarts', '0', '-o', 'diffusion', 'diffusion', '40')
    t.check(done.returncode == 0 and os.path.exists('diffusion/launch-key'), 'a program is searched into a folder of its name', done.stderr)
    refused(t, ['-o', 'diffusion', 'diffusion', '40'], "'diffusion' exists already; experiments are never overwritten",
            'the second time the word is the program again', 125)
    done = t.run('search', '--restarts', '0', '-o', 'other', 'diffusion', '-7')
    t.check(done.returncode == 0 and os.path.exists('other/launch-key') and 'no option' not in done.stderr, 'and its words are its own', done.stderr)
    done = t.run('search', 'diffusion', '--format', 'json')
    t.check(done.returncode == 0 and json.loads(done.stdout)['experiment'] == 'diffusion' and 'a recorded run here, which is searched, and a program' in done.stderr,
            'without such an option it is the recorded run, which is said', done.stderr)
    done = t.run('search', 'other', '--restarts', '0')
    t.check(done.returncode == 2 and '--restarts is for a program that is run' in done.stderr, 'a recorded run is not run', done.stderr)


def not_resumed(t, app):
    """Exit status 5 of what is no search, and 3 of one that has nothing to go on with."""
    refused(t, ['--resume', 'nowhere'], "there is no folder 'nowhere' of a search", 'a folder that is not there', 5)
    refused(t, ['--resume', 'there'], "'there' is no folder of 'sonde search simulate', nor of a search with --phase,", 'a folder of something else', 5)
    t.run('record', '-o', 'recorded', app)
    refused(t, ['--resume', 'recorded'], "'recorded' is of no search", 'a recording', 5)
    refused(t, ['--resume', 'first'], "'sonde search -e first' searches", 'a search without --phase', 3)
    open('first/search.words', 'w').write('--pha')
    refused(t, ['--resume', 'first'], 'search.words\' is damaged', 'one whose words are damaged', 5)
    os.mkdir('sim')
    for name in ('simulate.json', 'scenario.json'):
        open('sim/' + name, 'w').write('{')
    refused(t, ['--resume', 'sim'], 'sim/scenario.json', 'a simulation that is damaged', 5)


def long_names(t):
    with open('threads.cpp', 'w') as out:
        out.write(THREADS)
    app = t.compile('./threads.cpp', '-O1', '-g', '-pthread', compiler='g++')
    done = t.run('search', '--restarts', '0', '--threshold', '0', '-o', 'threads.run', app)
    t.check('std::thread::_State_impl<' in done.stderr and '_M_run' in done.stderr and 'std::tuple<' not in done.stderr,
            'names of C++ are shortened in the text', max(done.stderr.splitlines(), key=len, default=''))
    found = json.loads(t.run('search', '-e', 'threads.run', '--threshold', '0', '--format', 'json').stdout)
    whole = [p['name'] for r in found['properties'] for p in r['path'] if p['name'] and '_State_impl' in p['name']]
    t.check(whole and all('std::tuple<' in name for name in whole), 'and whole in JSON', whole[:1])
    paths = [r['explanation'] for r in t.show('searched', experiment='threads.run')['rows'] if '_State_impl' in (r["explanation"] or '')]
    t.check(paths and not any('std::tuple<' in text for text in paths), 'nor does the page have them in sentences', paths[:1])


def main():
    t = Test()
    with open('app.c', 'w') as out:
        out.write(APP)
    with open('beats.c', 'w') as out:
        out.write(BEATS)
    app = t.compile('./app.c', '-O1', '-g')
    beats = t.compile('./beats.c', '-O1', '-g', '-I' + os.path.join(HERE, '../../include'), '-L' + BEATS_AT, '-lsonde-heartbeat', '-Wl,-rpath,' + BEATS_AT)
    meant(t, app, beats)
    before_a_start(t, app)
    word_of_both(t, app)
    not_resumed(t, app)
    long_names(t)
    t.done()


main()
