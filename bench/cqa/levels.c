/* Loops that go through memory in other ways than one element after the other, over data of a size
 * for L1, L2, L3 and RAM: strides, random order, lists, non-temporal stores, prefetches. Prints:
 * kernel, level, core cycles an element. Each element of the source is one pass of the loop (-O2
 * -fno-tree-vectorize). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>

/* What a kernel works on: a set of doubles, and a random permutation of their numbers. */
struct set {
	double *data;
	uint32_t *order;
	long count; /* doubles */
	long rows;  /* of run-time length */
	long shift; /* doubles: each walk over the set begins a line later */
	uint64_t state;
	void *at[2]; /* where lists are */
	double sum;
};

#define KERNEL __attribute__((noinline, noclone)) void
#define SUM_AT_STRIDE(name, stride)                                                                \
	KERNEL name(struct set *s, long from, long n)                                              \
	{                                                                                          \
		const double *b = s->data + s->shift + from * (stride);                            \
		double sum = 0;                                                                    \
		for (long i = 0; i < n; i++)                                                       \
			sum += b[i * (stride)];                                                    \
		s->sum += sum;                                                                     \
	}
SUM_AT_STRIDE(s_1, 1)
SUM_AT_STRIDE(s_2, 2)
SUM_AT_STRIDE(s_4, 4)
SUM_AT_STRIDE(s_8, 8)
SUM_AT_STRIDE(s_16, 16)
SUM_AT_STRIDE(s_40, 40)
SUM_AT_STRIDE(s_264, 264)
SUM_AT_STRIDE(s_512, 512)
SUM_AT_STRIDE(s_row, s->rows)
KERNEL w_4(struct set *s, long from, long n)
{
	double *b = s->data + s->shift + from * 4;
	for (long i = 0; i < n; i++)
		b[i * 4] = 1.5;
}
KERNEL w_8(struct set *s, long from, long n)
{
	double *b = s->data + s->shift + from * 8;
	for (long i = 0; i < n; i++)
		b[i * 8] = 1.5;
}
KERNEL u_16(struct set *s, long from, long n)
{
	double *b = s->data + s->shift + from * 16;
	for (long i = 0; i < n; i++)
		b[i * 16] += 1.5;
}
KERNEL r_sum(struct set *s, long from, long n)
{
	const uint32_t *order = s->order + from;
	const double *b = s->data;
	double sum = 0;
	for (long i = 0; i < n; i++)
		sum += b[order[i]];
	s->sum += sum;
}
KERNEL r_twice(struct set *s, long from, long n)
{
	const uint32_t *order = s->order;
	const double *b = s->data;
	double sum = 0;
	for (long i = from; i < from + n; i++)
		sum += b[order[order[i]]];
	s->sum += sum;
}
KERNEL r_store(struct set *s, long from, long n)
{
	const uint32_t *order = s->order + from;
	double *b = s->data;
	for (long i = 0; i < n; i++)
		b[order[i]] = 1.5;
}
KERNEL r_update(struct set *s, long from, long n)
{
	const uint32_t *order = s->order + from;
	double *b = s->data;
	for (long i = 0; i < n; i++)
		b[order[i]] += 1.5;
}
/* a table looked up by a hash: no index is loaded */
KERNEL r_hash(struct set *s, long from, long n)
{
	uint64_t mask = 1024, state = s->state;
	const double *b = s->data;
	double sum = 0;
	(void)from;
	while (mask * 2 <= (uint64_t)s->count)
		mask *= 2;
	mask--;
	for (long i = 0; i < n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += b[state >> 33 & mask];
	}
	s->sum += sum;
	s->state = state;
}
#define STEP x = x * x * .25 + .5;
#define WORK STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
/* so much work a pass that the window holds few */
KERNEL r_work(struct set *s, long from, long n)
{
	const uint32_t *order = s->order + from;
	const double *b = s->data;
	double sum = 0;
	for (long i = 0; i < n; i++) {
		double x = b[order[i]];
		WORK sum += x;
	}
	s->sum += sum;
}
KERNEL r_prefetch(struct set *s, long from, long n)
{
	const uint32_t *order = s->order + from;
	const double *b = s->data;
	double sum = 0;
	for (long i = 0; i < n; i++) {
		double x = b[order[i]];
		__builtin_prefetch(&b[order[i + 32]]);
		WORK sum += x;
	}
	s->sum += sum;
}
struct node {
	struct node *next;
	double value[7];
};
KERNEL l_list(struct set *s, long from, long n)
{
	const struct node *p = s->at[0];
	(void)from;
	for (long i = 0; i < n; i++)
		p = p->next;
	s->at[0] = (void *)p;
}
KERNEL l_sum(struct set *s, long from, long n)
{
	const struct node *p = s->at[0];
	double sum = 0;
	(void)from;
	for (long i = 0; i < n; i++) {
		sum += p->value[0] * p->value[3];
		p = p->next;
	}
	s->at[0] = (void *)p;
	s->sum += sum;
}
KERNEL l_two(struct set *s, long from, long n)
{
	const struct node *p = s->at[0], *q = s->at[1];
	double sum = 0;
	(void)from;
	for (long i = 0; i < n; i++) {
		sum += p->value[0] * q->value[0];
		p = p->next;
		q = q->next;
	}
	s->at[0] = (void *)p;
	s->at[1] = (void *)q;
	s->sum += sum;
}
/* a list of numbers instead of pointers */
KERNEL l_index(struct set *s, long from, long n)
{
	const struct node *b = (const struct node *)s->data;
	uint64_t at = s->state;
	(void)from;
	for (long i = 0; i < n; i++)
		at = ((const uint64_t *)&b[at])[7];
	s->state = at;
}
KERNEL n_fill(struct set *s, long from, long n)
{
	double *b = s->data + s->shift + from * 2;
	for (long i = 0; i < n; i++)
		_mm_stream_pd(b + 2 * i, _mm_set1_pd(1.5));
}
KERNEL n_copy(struct set *s, long from, long n)
{
	const double *b = s->data + s->shift + from * 2;
	double *a = s->data + s->count / 2 + s->shift + from * 2;
	for (long i = 0; i < n; i++)
		_mm_stream_pd(a + 2 * i, _mm_load_pd(b + 2 * i));
}
/* the first half of the set plainly into its second half, with prefetches ahead */
KERNEL f_copy(struct set *s, long from, long n)
{
	const double *b = s->data + s->shift + from * 2;
	double *a = s->data + s->count / 2 + s->shift + from * 2;
	for (long i = 0; i < n; i++) {
		_mm_prefetch((const char *)(b + 2 * i + 128), _MM_HINT_T0);
		_mm_store_pd(a + 2 * i, _mm_load_pd(b + 2 * i));
	}
}

/* doubles: that an element walks over; 0: n elements are all there are, in a random order */
#define ENTRY(f, doubles, share)                                                                   \
	{                                                                                          \
#f, f, doubles, share                                                              \
	}
static const struct {
	const char *name;
	void (*run)(struct set *, long, long);
	long doubles, share; /* of the set: 1 or half */
} kernels[] = {
	ENTRY(s_1, 1, 1),     ENTRY(s_2, 2, 1),	    ENTRY(s_4, 4, 1),	     ENTRY(s_8, 8, 1),
	ENTRY(s_16, 16, 1),   ENTRY(s_40, 40, 1),   ENTRY(s_264, 264, 1),    ENTRY(s_512, 512, 1),
	ENTRY(s_row, 264, 1), ENTRY(w_4, 4, 1),	    ENTRY(w_8, 8, 1),	     ENTRY(u_16, 16, 1),
	ENTRY(r_sum, 1, 1),   ENTRY(r_twice, 1, 1), ENTRY(r_store, 1, 1),    ENTRY(r_update, 1, 1),
	ENTRY(r_hash, 1, 1),  ENTRY(r_work, 1, 1),  ENTRY(r_prefetch, 1, 1), ENTRY(l_list, 8, 1),
	ENTRY(l_sum, 8, 1),   ENTRY(l_two, 8, 1),   ENTRY(l_index, 8, 1),    ENTRY(n_fill, 2, 1),
	ENTRY(n_copy, 2, 2),  ENTRY(f_copy, 2, 2),
};

static double cycles_per_tick(void)
{
	double best = 1e9;
	for (int r = 0; r < 5; r++) {
		unsigned long v = 1;
		_mm_lfence();
		uint64_t s = __rdtsc();
		for (int i = 0; i < 200; i++)
			__asm__ volatile(".rept 64\n\tadd %0,%0\n\t.endr" : "+r"(v));
		_mm_lfence();
		double t = (double)(__rdtsc() - s) / (200 * 64.0);
		best = t < best ? t : best;
	}
	return 1 / best;
}

static uint64_t random_state = 1;
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void shuffle(uint32_t *order, long count)
{
	for (long i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (long i = count - 1; i > 0; i--) {
		long k = (long)(next_random() % (uint64_t)i);
		uint32_t kept = order[i];

		order[i] = order[k];
		order[k] = kept;
	}
}

/* Nodes in a random ring; the number of the next stands last in each. */
static void link_nodes(struct set *s)
{
	long count = s->count / 8;
	struct node *nodes = (struct node *)s->data;
	uint32_t *order = malloc((size_t)count * sizeof(*order));

	shuffle(order, count);
	for (long i = 0; i < count; i++) {
		uint32_t next = order[(i + 1) % count];

		nodes[order[i]].next = &nodes[next];
		((uint64_t *)&nodes[order[i]])[7] = next;
	}
	s->at[0] = nodes;
	s->at[1] = &nodes[order[count / 2]];
	s->state = 0;
	free(order);
}

enum { ROUNDS = 300, PIECE = 4000 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double cycles_of(unsigned k, struct set *s)
{
	static double cycles[ROUNDS];
	long total = s->count / kernels[k].doubles / kernels[k].share, at = 0;
	long piece = total < PIECE ? total : PIECE;
	double per_tick = 1;

	if (s->count < 10000000) /* what stays in a cache is there before it counts */
		for (int twice = 0; twice < 2; twice++)
			for (long i = 0; i + piece <= total; i += piece)
				kernels[k].run(s, i, piece);
	for (unsigned r = 0; r < ROUNDS; r++) {
		long times = piece < 500 ? 500 / piece : 1;

		if (r % 20 == 0)
			per_tick = cycles_per_tick();
		_mm_lfence();
		uint64_t start = __rdtsc();
		for (long i = 0; i < times; i++)
			kernels[k].run(s, at, piece);
		_mm_lfence();
		cycles[r] = (double)(__rdtsc() - start) * per_tick / (double)(times * piece);
		at += piece;
		if (at + piece > total) {
			at = 0;
			s->shift =
				(s->shift + 8) % (kernels[k].doubles > 8 ? kernels[k].doubles : 8);
		}
	}
	s->shift = 0;
	qsort(cycles, ROUNDS, sizeof(*cycles), by_value);
	return cycles[ROUNDS / 10];
}

int main(void)
{
	static const struct {
		const char *name;
		long count;
	} levels[] = { { "L1", 2048 }, { "L2", 65536 }, { "L3", 262144 }, { "RAM", 25165824 } };

	for (unsigned l = 0; l < 4; l++) {
		struct set s = { .count = levels[l].count, .rows = 264 };
		size_t bytes = (size_t)s.count * 8;

		s.data = aligned_alloc(4096, bytes + 8192); /* room for the shift */
		s.order = aligned_alloc(4096, bytes / 2 + 4096);
		for (long i = 0; i < s.count; i++)
			s.data[i] = 1.5;
		shuffle(s.order, s.count);
		for (long i = 0; i < 64; i++)
			s.order[s.count + i] = s.order[i];
		for (unsigned k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
			if (kernels[k].name[0] == 'l')
				link_nodes(&s);
			printf("%s\t%s\t%.3f\n", kernels[k].name, levels[l].name, cycles_of(k, &s));
			fflush(stdout);
			for (long i = 0; i < s.count && kernels[k].name[0] == 'l'; i++)
				s.data[i] = 1.5;
		}
		free(s.data);
		free(s.order);
	}
	return 0;
}
