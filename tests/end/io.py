"""The trace of input and output: calls and bytes equal those of programs that count for themselves, and the kernel's
account."""
import os
import sys

from sonde_test import Test

t = Test()
OPERATIONS = ['read', 'write', 'pread', 'pwrite', 'writev', 'send', 'recv', 'fread', 'fwrite', 'fgetc', 'fputc', 'fgets',
              'fputs', 'fprintf']
chosen = sys.argv[1:]


def told(output):
    """What the program counted, of all its processes: calls and bytes; failed is opens of a file that is not there."""
    sums = {}
    for line in output.splitlines():
        name, calls, moved = line.split()
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + int(calls), before[1] + int(moved))
    return sums


def seen(experiment):
    """The same of the files that the program made, and the whole object."""
    io = t.show('io', experiment, '--all')
    sums = dict.fromkeys(OPERATIONS, (0, 0))
    for row in io['rows']:
        is_ours = '/data.' in row['file'] or '/stream.' in row['file'] or row['file'].startswith('socket:')
        if is_ours and row['operation'] in sums:
            before = sums[row['operation']]
            sums[row['operation']] = (before[0] + row['calls'], before[1] + row['bytes'])
    sums['failed'] = (sum(row['errors'] for row in io['rows'] if row['file'] == '/no/such/file'), 0)
    return sums, io


def is_sound(io, name):
    t.equal(sum(row['calls'] for row in io['rows']), io['calls'], f'{name}: rows of calls sum to the whole')
    t.check(abs(sum(row['time_s'] for row in io['rows']) - io['time_s']) < 1e-6, f'{name}: so does time')
    t.check(all(row['errors'] <= row['calls'] for row in io['rows']), f'{name}: no more errors than calls')


def random_programs():
    program = t.compile('io.c', '-O2', '-g', '-pthread')
    for seed in range(1, 21):
        threads, forks = seed % 4, seed % 3
        folder = os.path.join(t.folder, f'files{seed}')
        os.mkdir(folder)
        words = [program, seed, threads, 1500, forks, folder] + ([], ['kill'], ['exit'], [], [])[seed % 5]
        how = ['--collect', 'all'] if seed % 7 == 6 else ['--io']
        run = t.run('record', '-q', *how, '-o', f'e{seed}', *words)
        name = f'seed {seed}, {threads} threads, {forks} forks'
        t.equal((run.returncode, run.stderr), ({'kill': 137, 'exit': 7}.get(words[-1], 0), ''),
                f'{name}: status and standard error are the program\'s')
        counts, io = seen(f'e{seed}')
        t.equal(counts, told(run.stdout), f'{name}: calls and bytes are exact')
        t.equal(io['lost'], {'io': 0}, f'{name}: nothing is lost')
        is_sound(io, name)


KNOWN = '''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noipa)) static void small_writes(int fd)
{
	for (int i = 0; i < 5000; i++)
		if (write(fd, "0123456789", 10) != 10)
			abort();
}
__attribute__((noipa)) static void at_random(int fd)
{
	char byte;
	for (int i = 0; i < 100; i++)
		if (pread(fd, &byte, 1, i * 7919 % 50000) != 1)
			abort();
}
__attribute__((noipa)) static void in_turn(int fd)
{
	char bytes[500];
	lseek(fd, 0, SEEK_SET);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
}
int main(void)
{
	int fd = open("known.data", O_RDWR | O_CREAT | O_TRUNC, 0600), other;
	FILE *stream = fopen("known.text", "w");
	char path[50];
	small_writes(fd);
	at_random(fd);
	in_turn(fd);
	fprintf(stream, "left %d in the buffer\\n", close(-1) + 8);
	other = dup2(fd, 57);
	if (write(other, "abc", 3) != 3)
		abort();
	close(other);
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "many.%d", i % 2000);
		other = open(path, O_WRONLY | O_CREAT, 0600);
		if (write(other, path, 4) != 4)
			abort();
		close(other);
	}
	for (int i = 3; i < 1024; i++)
		if (i != fileno(stream))
			close(i);
	return 5;
}
'''


def known_program():
    program = t.compile(KNOWN, '-O2', '-g', output='./known')
    run = t.run('record', '-q', '--io', '-o', 'known.1', program)
    t.equal((run.returncode, run.stdout, run.stderr), (5, '', ''), 'known: output and status')
    io = t.show('io', 'known.1', '--all')
    rows = {(os.path.basename(row['file']), row['operation']): row for row in io['rows']}
    write = rows['known.data', 'write']
    t.equal((write['calls'], write['bytes'], write['errors']), (5001, 50003, 0), 'known: writes, also by a second descriptor')
    t.equal((write['small_share'], write['function']), (1, 'small_writes'), 'known: they are small, and where they are made')
    read = rows['known.data', 'read']
    t.equal((read['calls'], read['bytes']), (101, 50000), 'known: reads, with the one that finds the end')
    t.check(rows['known.data', 'pread']['sequential_share'] < 0.1 < read['sequential_share'],
            'known: which are in turn, and which are not')
    many = [row for row in io['rows'] if os.path.basename(row['file']).startswith('many.')]
    t.equal((len({row['file'] for row in many}), sum(row['calls'] for row in many if row['operation'] == 'open'),
             sum(row['bytes'] for row in many)), (2000, 10000, 40000), 'known: many files, each by its name')
    bad = sum(row['errors'] for row in io['rows'] if row['operation'] == 'close')
    t.check(bad > 900, 'known: closing what is not open is an error', bad)
    t.check(any('EBADF' in (row['error_kinds'] or '') for row in io['rows']), 'known: and its kind is told')
    t.equal(rows['known.text', 'fprintf']['bytes'], 21, 'known: what a stream holds until the end is written by fprintf')
    t.equal(io['unseen_write_bytes'], 0, 'known: the kernel has counted the same bytes as written')
    t.check(0 <= io['unseen_read_bytes'] < 20000, 'known: and as read, but for the loader', io['unseen_read_bytes'])
    is_sound(io, 'known')
    text = t.run('show', 'io', 'known.1', '--all').stdout  # which twenty take longest is the machine's affair
    t.check('known.data' in text and 'small_writes (' in text, 'known: the text names file and function', text)
    findings = [f for f in t.show('summary', 'known.1')['findings'] if f['kind'] == 'io_wait']
    t.check(findings and ' calls of ' in findings[0]['sentence'] and 'calls of input and output' in findings[0]['sentence'],
            'known: the first screen has the operation with most time', findings)
    t.run('record', '-q', '-o', 'none', program)
    shown = t.run('show', 'io', 'none')
    t.check('--io' in shown.stderr, 'without a trace the view says how to make one', shown.stderr)


MANY = '''
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char bytes[256];
/* every fourth call is of 200 bytes, the others of 20: which are met must not go by turns */
__attribute__((noipa)) static void large(int fd)
{
	if (pwrite(fd, bytes, 200, 0) != 200)
		abort();
}
__attribute__((noipa)) static void small(int fd)
{
	for (int i = 0; i < 3; i++)
		if (pwrite(fd, bytes, 20, 0) != 20)
			abort();
}
int main(int argc, char **argv)
{
	int fd = open("sampled.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < atoi(argv[1]); i++) {
		large(fd);
		small(fd);
	}
	return 0;
}
'''


def sampled():
    program = t.compile(MANY, '-O1', '-g', output='./sampled')
    t.run('record', '-q', '--io=sample', '-o', 'many', program, 250000)
    io = t.show('io', 'many', '--all')
    row = next(r for r in io['rows'] if r['operation'] == 'pwrite')
    t.check(256 <= row['met'] < 1000000 and io['met'] < io['calls'], 'sampled: of calls that come fast some are met', row)
    # what lies without 95 % has one run in 20: twice as far off, one in 10,000
    t.check(row['calls_low'] < row['calls'] < row['calls_high'] and abs(row['calls'] - 1e6) <= row['calls_high'] - row['calls_low'],
            'sampled: they stand for all 1,000,000, within the stated error', row)
    t.within(row['mean_bytes'], 65, 6.5, 'sampled: and for their sizes, which go by turns')
    t.equal(row['sequential_share'] < .01, True, 'sampled: where calls begin is known of those that were not met, too')
    t.check('estimates, from' in t.run('show', 'io', 'many').stdout, 'sampled: the text says that it is a sample')
    t.run('record', '-q', '--io=sample', '-o', 'few', program, 50)
    row = next(r for r in t.show('io', 'few', '--all')['rows'] if r['operation'] == 'pwrite')
    t.equal((row['calls'], row['met'], row['bytes'], row['calls_low'], row['calls_high']), (200, 200, 13000, 200, 200), 'sampled: few calls are all met')
    done = t.run('record', '--io=some', program, 1)
    t.check(done.returncode == 125 and '--io takes trace or sample' in done.stderr, 'sampled: another word is a mistake', done.stderr)


SPREAD = r'''
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
__attribute__((noipa)) static void put(int fd) { if (write(fd, "abcdefg", 7) != 7) abort(); }
int main(int argc, char **argv)
{
	char name[50], bytes[4000];
	int pair[2], fd;
	if (!strcmp(argv[1], "files"))
		for (int i = 0; i < 300; i++) {
			/* in memory, where opening takes no longer than writing */
			snprintf(name, sizeof(name), "/dev/shm/sonde-spread.%d.%d", (int)getpid(), i);
			fd = open(name, O_WRONLY | O_CREAT, 0600);
			for (int k = 0; k < 400; k++)
				put(fd);
			close(fd);
			unlink(name);
		}
	if (!strcmp(argv[1], "sockets")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
		for (int i = 0; i < 20000; i++)
			if (send(pair[0], bytes, 1000, 0) != 1000 || recv(pair[1], bytes, sizeof(bytes), 0) != 1000)
				abort();
	}
	if (!strcmp(argv[1], "killed")) {
		fd = open("/dev/null", O_WRONLY);
		for (int i = 0; i < 3000; i++) {
			put(fd);
			if (i % 1000 == 999)
				nanosleep(&(struct timespec){ 0, 120000000 }, NULL);
		}
		put(fd);
		raise(SIGKILL);
	}
	return 0;
}
'''


def totals():
    """Findings by the site that makes the calls, totals of all rows, and accounts that are known or not."""
    program = t.compile(SPREAD, '-O1', '-g', output='./spread')
    t.run('record', '-q', '--io', '-o', 'files', program, 'files')
    findings = [f for f in t.show('summary', 'files')['findings'] if f['kind'] == 'io_wait']
    t.check(findings and 'in 120000 calls of write of 7 bytes each on 300 files, by put (' in findings[0]['sentence'],
            'many files: calls by one site are summed', findings)
    t.check('or map the file' in findings[0]['remedy'], 'many files: what to do about it', findings)
    t.run('record', '-q', '--io', '-o', 'sockets', program, 'sockets')
    io = t.show('io', 'sockets', '--all')
    t.equal((io['read_bytes'], io['written_bytes']), (20000000, 20000000), 'sockets: totals sum the rows, sent and received bytes among them')
    t.check(0 <= io['unseen_read_bytes'] < 20000 and io['unseen_write_bytes'] == 0, 'sockets: the kernel has no account of these', io)
    findings = [f for f in t.show('summary', 'sockets')['findings'] if f['kind'] == 'io_wait']
    t.check(not findings or ('on a socket' in findings[0]['sentence'] and 'of 1,000 bytes each' in findings[0]['sentence']
                             and 'map the file' not in findings[0]['remedy']), 'sockets: are no files that could be mapped', findings)
    run = t.run('record', '-q', '--io', '-o', 'killed', program, 'killed')
    io = t.show('io', 'killed', '--all')
    t.equal((run.returncode, io['written_bytes']), (137, 21007), 'killed: no call is lost')
    t.equal((io['unseen_read_bytes'], io['unseen_write_bytes']), (None, None), 'killed: what the kernel has counted besides is not known')
    t.check("the kernel's account is not known" in t.run('show', 'io', 'killed').stdout, 'killed: and the text says so')


for check in (random_programs, known_program, sampled, totals):
    if not chosen or check.__name__ in chosen:
        check()
t.done()
