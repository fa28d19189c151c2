// Allocates at random and counts what it does, by function: heap SEED THREADS STEPS FORKS
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { MALLOC, CALLOC, REALLOC, ALIGNED, POSIX, STRDUP, NEW, NEW_ARRAY, NEW_ALIGNED, NEW_NOTHROW, SITES };
static const char *const names[SITES] = { "by_malloc", "by_calloc", "by_realloc", "by_aligned", "by_posix", "by_strdup",
	"by_new", "by_new_array", "by_new_aligned", "by_new_nothrow" };
static std::atomic<long> allocations[SITES], bytes[SITES], frees[SITES];

struct alignas(128) Wide {
	char chars[128];
};
struct Block {
	void *at;
	size_t size;
	int site;
	bool is_inherited;
};
static void *(*volatile dup_function)(const char *) = (void *(*)(const char *))strdup;

#define SITE __attribute__((noipa)) static void *
SITE by_malloc(size_t n) { void *p = malloc(n); asm volatile(""); return p; }
SITE by_calloc(size_t n) { void *p = calloc(n, 3); asm volatile(""); return p; }
SITE by_realloc(void *old, size_t n) { void *p = realloc(old, n); asm volatile(""); return p; }
SITE by_aligned(size_t n) { void *p = aligned_alloc(64, n); asm volatile(""); return p; }
SITE by_posix(size_t n) { void *p; if (posix_memalign(&p, 256, n)) abort(); asm volatile(""); return p; }
SITE by_strdup(const char *s) { void *p = dup_function(s); asm volatile(""); return p; }
SITE by_new(size_t n) { void *p = operator new(n); asm volatile(""); return p; }
SITE by_new_array(size_t n) { void *p = operator new[](n); asm volatile(""); return p; }
SITE by_new_aligned() { void *p = new Wide; asm volatile(""); return p; }
SITE by_new_nothrow(size_t n) { void *p = operator new(n, std::nothrow); asm volatile(""); return p; }

struct Random {
	unsigned long state;
	unsigned long operator()(unsigned long most)
	{
		state = state * 6364136223846793005UL + 1442695040888963407UL;
		return (state >> 33) % most;
	}
};

static Block make(Random &random)
{
	size_t n = random(8) ? random(500) : random(100000);
	Block b = { nullptr, n, (int)random(SITES), false };
	char text[300];

	switch (b.site) {
	case MALLOC: b.at = by_malloc(n); break;
	case CALLOC: b.at = by_calloc(n); b.size = 3 * n; break;
	case REALLOC: b.at = by_realloc(nullptr, b.size = n + 1); break;
	case ALIGNED: b.at = by_aligned(b.size = (n + 63) / 64 * 64); break;
	case POSIX: b.at = by_posix(n); break;
	case STRDUP:
		n = random(sizeof text - 1);
		memset(text, 'x', n);
		text[n] = 0;
		b.at = by_strdup(text);
		b.size = n + 1;
		break;
	case NEW: b.at = by_new(n); break;
	case NEW_ARRAY: b.at = by_new_array(n); break;
	case NEW_ALIGNED: b.at = by_new_aligned(); b.size = sizeof(Wide); break;
	case NEW_NOTHROW: b.at = by_new_nothrow(n); break;
	}
	allocations[b.site]++;
	bytes[b.site] += (long)b.size;
	return b;
}

static void count_free(const Block &b)
{
	if (!b.is_inherited)
		frees[b.site]++;
}

static void drop(const Block &b)
{
	count_free(b);
	switch (b.site) {
	case NEW: operator delete(b.at); break;
	case NEW_ARRAY: operator delete[](b.at); break;
	case NEW_ALIGNED: delete (Wide *)b.at; break;
	case NEW_NOTHROW: operator delete(b.at, std::nothrow); break;
	default: free(b.at);
	}
}

static void steps(Random &random, long count, std::vector<Block> &blocks)
{
	blocks.reserve(4096);
	for (long i = 0; i < count; i++) {
		unsigned long what = random(100);
		size_t which = blocks.empty() ? 0 : random(blocks.size());
		if (blocks.empty() || (what < 50 && blocks.size() < 4096)) {
			blocks.push_back(make(random));
		} else if (what < 60 && blocks[which].site <= STRDUP) {
			Block &b = blocks[which];
			size_t n = random(3000) + 1;
			count_free(b);
			b = { by_realloc(b.at, n), n, REALLOC, false };
			allocations[REALLOC]++;
			bytes[REALLOC] += (long)n;
		} else {
			drop(blocks[which]);
			blocks[which] = blocks.back();
			blocks.pop_back();
		}
	}
}

static void tell()
{
	for (int s = 0; s < SITES; s++)
		dprintf(1, "%s %ld %ld %ld\n", names[s], allocations[s].load(), bytes[s].load(), frees[s].load());
}

// What the child does counts as the child's; what it inherits is not its own.
static void in_child(unsigned long seed, long count, std::vector<Block> blocks)
{
	Random random = { seed };
	for (int s = 0; s < SITES; s++)
		allocations[s] = bytes[s] = frees[s] = 0;
	for (Block &b : blocks)
		b.is_inherited = true;
	steps(random, count, blocks);
	tell();
	if (seed % 2)
		_exit(0);
	exit(0);
}

int main(int, char **argv)
{
	unsigned long seed = strtoul(argv[1], nullptr, 10);
	long threads = atol(argv[2]), count = atol(argv[3]), forks = atol(argv[4]);
	std::vector<std::thread> running;
	std::vector<Block> blocks;
	Random random = { seed };

	for (long t = 0; t < threads; t++)
		running.emplace_back([=] {
			Random own = { seed * 1000 + (unsigned long)t };
			std::vector<Block> own_blocks;
			steps(own, count, own_blocks);
			for (size_t i = 0; i < own_blocks.size() / 2; i++)
				drop(own_blocks[i]);
		});
	steps(random, count, blocks);
	for (long f = 0; f < forks; f++)
		if (fork() == 0)
			in_child(seed * 77 + (unsigned long)f, count, blocks);
	while (wait(nullptr) > 0)
		;
	for (std::thread &t : running)
		t.join();
	tell();
	if (argv[5])
		kill(getpid(), SIGKILL);
}
