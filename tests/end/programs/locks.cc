/* Takes locks of every kind at random, counts for itself, and prints what it counted. Arguments: seed,
 * threads, rounds, forks, and perhaps "kill": it ends itself by SIGKILL once all is printed. */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { MUTEX, TRIED, RECURSIVE, READ, WRITE, SPIN, SEMAPHORE, C11, ROBUST, KINDS };
static const char *const names[KINDS] = { "by_mutex", "by_trying", "by_recursive", "by_reading", "by_writing",
					  "by_spinning", "by_semaphore", "by_c11", "by_robust" };
enum { OBJECTS = 5 };
static pthread_mutex_t mutexes[OBJECTS], recursive, robust;
static pthread_rwlock_t rwlocks[OBJECTS];
static pthread_spinlock_t spin;
static sem_t semaphore;
static mtx_t c11;
static std::atomic<uint64_t> counted[KINDS];

#define SITE __attribute__((noipa)) static void
SITE by_mutex(unsigned at)
{
	pthread_mutex_lock(&mutexes[at % OBJECTS]);
	pthread_mutex_unlock(&mutexes[at % OBJECTS]);
	counted[MUTEX]++;
}
SITE by_trying(unsigned at)
{
	if (pthread_mutex_trylock(&mutexes[at % OBJECTS]) == 0) {
		counted[TRIED]++;
		pthread_mutex_unlock(&mutexes[at % OBJECTS]);
	}
}
SITE by_recursive(unsigned depth)
{
	unsigned times = depth % 3 + 1;
	for (unsigned i = 0; i < times; i++)
		pthread_mutex_lock(&recursive);
	for (unsigned i = 0; i < times; i++)
		pthread_mutex_unlock(&recursive);
	counted[RECURSIVE] += times;
}
SITE by_reading(unsigned at)
{
	pthread_rwlock_rdlock(&rwlocks[at % OBJECTS]);
	pthread_rwlock_unlock(&rwlocks[at % OBJECTS]);
	counted[READ]++;
}
SITE by_writing(unsigned at)
{
	pthread_rwlock_wrlock(&rwlocks[at % OBJECTS]);
	pthread_rwlock_unlock(&rwlocks[at % OBJECTS]);
	counted[WRITE]++;
}
SITE by_spinning(unsigned)
{
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	counted[SPIN]++;
}
SITE by_semaphore(unsigned)
{
	sem_wait(&semaphore);
	sem_post(&semaphore);
	counted[SEMAPHORE]++;
}
SITE by_c11(unsigned)
{
	mtx_lock(&c11);
	mtx_unlock(&c11);
	counted[C11]++;
}
SITE by_robust(unsigned)
{
	pthread_mutex_lock(&robust);
	pthread_mutex_unlock(&robust);
	counted[ROBUST]++;
}

static unsigned rounds, seed;

/* A signal's handler takes a lock of its own. */
static void handler(int)
{
	by_semaphore(0);
}

static void *work(void *number)
{
	static void (*const sites[KINDS])(unsigned) = { by_mutex,   by_trying,	  by_recursive, by_reading, by_writing,
							by_spinning, by_semaphore, by_c11,	by_robust };
	unsigned state = seed * 7919 + (unsigned)(uintptr_t)number * 104729 + 1;

	for (unsigned i = 0; i < rounds; i++) {
		state = state * 1103515245 + 12345;
		sites[(state >> 16) % KINDS](state >> 20);
		if (i % 500 == 250)
			raise(SIGUSR1);
		if (i % 1000 == 500) {
			void *library = dlopen("libm.so.6", RTLD_NOW);
			if (library)
				dlclose(library);
		}
	}
	return nullptr;
}

static void print()
{
	for (int i = 0; i < KINDS; i++)
		printf("%s %llu\n", names[i], (unsigned long long)counted[i].load());
	fflush(stdout);
}

int main(int, char **arguments)
{
	unsigned threads, forks;
	pthread_t made[64];
	pthread_mutexattr_t attributes;

	seed = (unsigned)atoi(arguments[1]);
	threads = (unsigned)atoi(arguments[2]);
	rounds = (unsigned)atoi(arguments[3]);
	forks = (unsigned)atoi(arguments[4]);
	for (int i = 0; i < OBJECTS; i++) {
		pthread_mutex_init(&mutexes[i], nullptr);
		pthread_rwlock_init(&rwlocks[i], nullptr);
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&robust, &attributes);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&semaphore, 0, 64);
	mtx_init(&c11, mtx_plain);
	signal(SIGUSR1, handler);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&made[i], nullptr, work, (void *)(uintptr_t)(i + 1));
	work(nullptr);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(made[i], nullptr);
	for (unsigned i = 0; i < forks; i++) {
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			for (int k = 0; k < KINDS; k++)
				counted[k] = 0;
			work((void *)(uintptr_t)(100 + i));
			print();
			_exit(0);
		}
		waitpid(child, nullptr, 0);
	}
	print();
	if (arguments[5] && !strcmp(arguments[5], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
