/*
 * The allocator's functions. What the program asks for goes to the next library in line, unchanged;
 * then it is noted. Allocators call their own functions from within each other (operator new calls
 * malloc, and may call itself): each allocation is noted once, as what the program called.
 */
#include "runtime/heap/heap.h"

#include "runtime/core/real.h"

/* Before our functions are resolved: what the look-up itself allocates. Never given back. */
static _Alignas(16) uint8_t early[32768];
static _Atomic uint32_t early_used;

static void *allocate_early(size_t bytes)
{
	uint32_t at;

	if (bytes > sizeof early)
		return NULL;
	at = atomic_fetch_add(&early_used, (uint32_t)(bytes + 15) & ~15u);
	return at + bytes <= sizeof early ? early + at : NULL;
}

static inline bool is_early(const void *block)
{
	return (uint64_t)(uintptr_t)block - (uint64_t)(uintptr_t)early < sizeof early;
}

/* False: we are within the look-up. */
static bool resolve(void)
{
	static __thread bool is_resolving __attribute__((tls_model("initial-exec")));

	if (is_resolving)
		return false;
	is_resolving = true;
	sn_heap_resolve();
	is_resolving = false;
	return sn_heap_real.c_alloc != NULL;
}

#define IS_READY() (__builtin_expect(sn_heap_real.c_alloc != NULL, 1) || resolve())
#define FRAME()	   ((const uint64_t *)__builtin_frame_address(0))

/* ---- calls within calls ---- */

enum {
	INNER_MOST = 16384
}; /* bytes of stack between an allocator's function and one that it calls */

/* Whether this function, by its frame, was called by the allocator from within another. One that the
 * allocator jumps to in place of a call returns to us. */
static inline bool is_inside(const struct sn_heap_nest *nest, const uint64_t *frame)
{
	uint64_t distance = (uint64_t)(uintptr_t)nest->outer_frame - (uint64_t)(uintptr_t)frame;

	return distance - 1 < INNER_MOST &&
	       (frame[1] - nest->inside_start < nest->inside_end - nest->inside_start ||
		sn_is_own_code(frame[1]));
}

/* The program calls an allocator's function that may call others of them. Gives what was before. */
static inline struct sn_heap_nest go_in(const uint64_t *frame, uint64_t bytes,
					enum sn_heap_event kind, bool is_new)
{
	struct sn_heap_nest *nest = &sn_heap_nest, before = *nest;

	if (is_inside(nest, frame))
		return before;
	nest->outer_frame = frame;
	nest->outer_bytes = bytes;
	nest->outer_kind = (uint8_t)kind;
	nest->inside_start = is_new ? sn_heap_real.new_start : sn_heap_real.c_start;
	nest->inside_end = is_new ? sn_heap_real.new_end : sn_heap_real.c_end;
	return before;
}

/* The call is over. Whether its block was noted by a call within it. */
static inline bool come_out(const struct sn_heap_nest *before, const void *block)
{
	struct sn_heap_nest *nest = &sn_heap_nest;
	bool is_noted = false;

	nest->outer_frame = before->outer_frame;
	nest->outer_bytes = before->outer_bytes;
	nest->outer_kind = before->outer_kind;
	nest->inside_start = before->inside_start;
	nest->inside_end = before->inside_end;
	for (uint32_t i = before->noted_count; i != nest->noted_count; i++)
		is_noted |= nest->noted[i % SN_HEAP_NOTED] == block;
	return is_noted;
}

/* An allocation has returned: noted as the program's call, which may be one further out. */
static inline __attribute__((always_inline)) void note(const uint64_t *frame, const void *block,
						       uint64_t bytes, enum sn_heap_event kind)
{
	struct sn_heap_nest *nest = &sn_heap_nest;

	if (__builtin_expect(nest->outer_frame != NULL, 0) && is_inside(nest, frame)) {
		frame = nest->outer_frame;
		bytes = nest->outer_bytes;
		kind = nest->outer_kind;
		if (!block)
			nest->outer_frame = NULL; /* it may throw past us */
	}
	if (block && sn_heap_is_on())
		sn_heap_note_allocation(frame, block, bytes, kind);
}

/* ---- malloc and its kin ---- */

#define NAME(name) __asm__(name)
void *plain_malloc(size_t bytes) NAME("malloc");
void plain_free(void *block) NAME("free");
void *plain_calloc(size_t count, size_t bytes) NAME("calloc");
void *plain_realloc(void *block, size_t bytes) NAME("realloc");
void *plain_reallocarray(void *block, size_t count, size_t bytes) NAME("reallocarray");
void *plain_memalign(size_t alignment, size_t bytes) NAME("memalign");
void *plain_aligned_alloc(size_t alignment, size_t bytes) NAME("aligned_alloc");
int plain_posix_memalign(void **out, size_t alignment, size_t bytes) NAME("posix_memalign");
void *plain_valloc(size_t bytes) NAME("valloc");
void *plain_pvalloc(size_t bytes) NAME("pvalloc");

SN_EXPORT void *plain_malloc(size_t bytes)
{
	const uint64_t *frame = FRAME();

	if (!IS_READY())
		return allocate_early(bytes);
	void *block = sn_heap_real.c_alloc(bytes);
	note(frame, block, bytes, SN_HEAP_ALLOC);
	return block;
}

SN_EXPORT void plain_free(void *block)
{
	const uint64_t *frame = FRAME();
	struct sn_heap_nest *nest = &sn_heap_nest;

	if (!block || __builtin_expect(is_early(block), 0) || !IS_READY())
		return;
	if (nest->skipped_free == block)
		nest->skipped_free = NULL;
	else if (sn_heap_is_on())
		sn_heap_note_release(frame, block);
	sn_heap_real.c_release(block);
}

#define ALLOCATE(kind, bytes, call)                                                                \
	const uint64_t *frame = FRAME();                                                           \
	if (!IS_READY())                                                                           \
		return NULL;                                                                       \
	struct sn_heap_nest before = go_in(frame, bytes, kind, false);                             \
	void *block = call;                                                                        \
	if (!come_out(&before, block))                                                             \
		note(frame, block, bytes, kind);                                                   \
	return block

SN_EXPORT void *plain_calloc(size_t count, size_t bytes)
{
	if (!IS_READY()) /* it is zero, as nothing was given back */
		return allocate_early(count * bytes);
	ALLOCATE(SN_HEAP_ALLOC, count * bytes, sn_heap_real.c_zeroed(count, bytes));
}

SN_EXPORT void *plain_memalign(size_t alignment, size_t bytes)
{
	ALLOCATE(SN_HEAP_ALLOC, bytes, sn_heap_real.c_memalign(alignment, bytes));
}

SN_EXPORT void *plain_aligned_alloc(size_t alignment, size_t bytes)
{
	ALLOCATE(SN_HEAP_ALLOC, bytes, sn_heap_real.c_aligned(alignment, bytes));
}

SN_EXPORT void *plain_valloc(size_t bytes)
{
	ALLOCATE(SN_HEAP_ALLOC, bytes, sn_heap_real.c_valloc(bytes));
}

SN_EXPORT void *plain_pvalloc(size_t bytes)
{
	ALLOCATE(SN_HEAP_ALLOC, bytes, sn_heap_real.c_pvalloc(bytes));
}

SN_EXPORT int plain_posix_memalign(void **out, size_t alignment, size_t bytes)
{
	const uint64_t *frame = FRAME();

	if (!IS_READY())
		return 12; /* ENOMEM */
	struct sn_heap_nest before = go_in(frame, bytes, SN_HEAP_ALLOC, false);
	int result = sn_heap_real.c_posix(out, alignment, bytes);
	const void *block = result == 0 ? *out : NULL;
	if (!come_out(&before, block))
		note(frame, block, bytes, SN_HEAP_ALLOC);
	return result;
}

/* One that is our own: it moves out. */
static void *resize_early(const void *block, size_t bytes)
{
	size_t left = (size_t)(early + sizeof early - (const uint8_t *)block);
	void *to = plain_malloc(bytes);

	if (to)
		memcpy(to, block, bytes < left ? bytes : left);
	return to;
}

/* A release of the old block, at the time of the call, and an allocation, both after it has succeeded.
 * `bytes` 0 releases. */
static inline __attribute__((always_inline)) void *resize(const uint64_t *frame, void *old,
							  size_t count, size_t bytes, bool is_array)
{
	struct sn_heap_nest *nest = &sn_heap_nest;
	struct sn_heap_release release;
	bool is_noting = old && sn_heap_is_on();
	size_t all = count * bytes;
	bool is_release = old && (!count || !bytes);
	struct sn_heap_nest before = go_in(frame, all, SN_HEAP_ALLOC, false);

	nest->skipped_free = old;
	if (is_noting)
		sn_heap_release_begin(old, &release);
	void *block = is_array ? sn_heap_real.c_resize_array(old, count, bytes)
			       : sn_heap_real.c_resize(old, bytes);
	nest->skipped_free = before.skipped_free;
	bool is_noted = come_out(&before, block);
	if (is_noting && sn_heap_is_on())
		sn_heap_release_end(frame, old, &release, block || is_release);
	if (!is_noted)
		note(frame, block, all, SN_HEAP_ALLOC);
	return block;
}

SN_EXPORT void *plain_realloc(void *old, size_t bytes)
{
	if (!IS_READY())
		return old ? NULL : allocate_early(bytes);
	if (__builtin_expect(is_early(old), 0))
		return resize_early(old, bytes);
	return resize(FRAME(), old, 1, bytes, false);
}

SN_EXPORT void *plain_reallocarray(void *old, size_t count, size_t bytes)
{
	if (!IS_READY() || is_early(old))
		return NULL;
	return resize(FRAME(), old, count, bytes, true);
}

/* ---- operator new and delete ---- */

static void *make_new(const uint64_t *frame, unsigned which, const char *name, size_t bytes,
		      size_t b, size_t c)
{
	void *(*real)(size_t, size_t, size_t);

	if (!IS_READY())
		return allocate_early(bytes);
	if (!sn_heap_real.news[which])
		sn_heap_real.news[which] = (__typeof__(real))sn_heap_find_later(name, frame[1]);
	real = sn_heap_real.news[which];
	if (!real)
		return plain_malloc(bytes);
	struct sn_heap_nest before = go_in(frame, bytes, SN_HEAP_NEW, true);
	void *block = real(bytes, b, c);
	if (!come_out(&before, block))
		note(frame, block, bytes, SN_HEAP_NEW);
	return block;
}

static void make_delete(const uint64_t *frame, unsigned which, const char *name, void *block,
			size_t b, size_t c)
{
	struct sn_heap_nest *nest = &sn_heap_nest;
	const void *skipped = nest->skipped_free;
	void (*real)(void *, size_t, size_t);

	if (!block || is_early(block) || !IS_READY())
		return;
	if (!sn_heap_real.deletes[which])
		sn_heap_real.deletes[which] = (__typeof__(real))sn_heap_find_later(name, frame[1]);
	real = sn_heap_real.deletes[which];
	if (!real) {
		plain_free(block);
		return;
	}
	/* of delete within delete the outer one has noted it */
	if (skipped != block && sn_heap_is_on())
		sn_heap_note_release(frame, block);
	nest->skipped_free = block;
	real(block, b, c);
	nest->skipped_free = skipped == block ? NULL : skipped;
}

#define NEW(which, name)                                                                           \
	void *plain_##name(size_t bytes, size_t b, size_t c) NAME(#name);                          \
	SN_EXPORT void *plain_##name(size_t bytes, size_t b, size_t c)                             \
	{                                                                                          \
		return make_new(FRAME(), which, #name, bytes, b, c);                               \
	}
#define DELETE(which, name)                                                                        \
	void plain_##name(void *block, size_t b, size_t c) NAME(#name);                            \
	SN_EXPORT void plain_##name(void *block, size_t b, size_t c)                               \
	{                                                                                          \
		make_delete(FRAME(), which, #name, block, b, c);                                   \
	}
#include "runtime/heap/operators.h"
