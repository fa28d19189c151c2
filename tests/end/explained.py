"""`sonde explain` knows every heading, every word in brackets, every mark and every value of a kind that any view
prints of real runs."""
import json
import os
import re

from sonde_test import Test

t = Test()
t.compile('''
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
volatile double sum;
static void compute(long n)
{
	for (long i = 0; i < n; i++)
		sum += 1e-9 * (double)i;
}
static void generated(void)
{
	static const unsigned char code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	unsigned char *room = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(room, code, sizeof(code));
	((void (*)(int))room)(200000000);
}
static void *thread(void *is_other)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&mutex);
		usleep(20000);
		pthread_mutex_unlock(&mutex);
	}
	compute(40000000);
	pthread_barrier_wait(&barrier);
	if (is_other) /* whoever joins it waits */
		usleep(100000);
	return NULL;
}
int main(void)
{
	pthread_t other;
	struct timespec now;
	int file = open("/dev/zero", O_RDONLY);
	char *bytes = malloc(1 << 24);
	pthread_barrier_init(&barrier, 0, 2);
	pthread_create(&other, 0, thread, &other);
	compute(20000000);
	generated();
	for (int i = 0; i < 3000000; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < 20; i++)
		if (read(file, bytes, 1 << 24) < 0)
			return 1;
	thread(0);
	pthread_join(other, 0);
	if (!fork())
		execlp("sleep", "sleep", "0.1", (char *)0);
	wait(0);
	return 0;
}
''', '-O1', '-g', '-w', '-pthread', output='./many.app')
t.run('record', '-o', 'many', './many.app')
t.run('record', '-o', 'outside', '-C', '200', 'sh', '-c', 'for i in 1 2 3; do cat /proc/self/maps >/dev/null; done')

views = [v for v in re.findall(r'^  ([a-z]+) ', t.run('help', 'show').stdout.split('\nViews:')[1], re.M) if v not in ('comm', 'env')]
VALUES = {'kind', 'class', 'role', 'category', 'quality', 'mark', 'confidence', 'clock_mechanism', 'verdict', 'type'}
words = {}


def note(word, where):
    if word and word.strip():
        words.setdefault(word.strip(), where)


def note_values(value, key, where):
    if isinstance(value, dict):
        for name, member in value.items():
            note_values(member, name, where)
    elif isinstance(value, list):
        for member in value:
            note_values(member, key, where)
    elif isinstance(value, str):
        if key in VALUES:
            note(value, where)
        elif re.fullmatch(r'\[[a-z ]+\]', value):
            note(value, where)


for experiment in ('many', 'outside'):
    for view in views:
        asked = ['show', view] + (['#1'] if view == 'loop' else []) + [experiment]
        more = [] if view in ('summary', 'loop', 'phases', 'source', 'asm', 'whatif') else ['--cols', 'all']
        for locale in ('C', 'C.UTF-8'):
            text = t.run(*asked, *more, env=dict(os.environ, LC_ALL=locale)).stdout
            brackets = {'asm': r'(?!)', 'loop': r'^ +(\[[a-z ]+\]) '}  # where brackets are operands, too
            for word in re.findall(brackets.get(view, r'\[[a-z][a-z ]*\]'), text, re.M):
                note(word, view)
            for mark in re.findall(r'^ *(?:\d+ )?([●◐○])', text, re.M):
                note(mark, view)
            if view not in ('summary', 'loop', 'whatif') and text:
                heads = [line for line in text.splitlines() if line.strip()]
                heads = heads[:1] if view != 'phases' else [line for line in heads if re.match(r'(Phase ID|Owner)', line)]
                for head in heads:
                    for word in re.split(r'  +', head.strip()):
                        if view != 'calls' or '/' not in word:
                            note(word, view)
        out = t.run(*asked, '--format', 'json').stdout
        if out.startswith('{'):
            data = json.loads(out)
            for row in data.get('rows', []):
                for key in row:
                    note(key, view)
            if view == 'summary':
                for key in data:
                    if key not in ('schema', 'experiment'):
                        note(key, view)
                for finding in data['findings']:
                    for key in finding:
                        note(key, view)
            note_values(data, '', view)
t.check(len(words) > 150, 'the runs have many words', len(words))
t.check({'[jit]', 'join', '●'} <= words.keys(), 'and those that were missed once', sorted(words))
unknown = [(word, where) for word, where in sorted(words.items()) if t.run('explain', word).returncode]
t.equal(unknown, [], 'explain knows them all')
for word in ('[jit] [vdso] [kernel] condition join sonde ● ◐ ○ timers high compute_loops child_wait too_short').split():
    t.check(t.run('explain', word).stdout.count('\n') > 1, f'explain {word}')
t.done()
