/* Shares the time of samples and waits among bins of equal length, a row for each thread. */
#include "profile/timeline.h"

#include <stdlib.h>

#include "base/alloc.h"

struct builder {
	const struct sn_profile *profile;
	struct sn_timeline *timeline;
	uint32_t *row_of_thread;
	uint64_t *cpu_ns, *wait_ns; /* of the row in work */
	int64_t bin_ns;
};

static uint32_t category_of(const struct sn_profile *profile, const struct sn_sample *sample)
{
	const struct sn_program *program = profile->program;
	uint32_t stack =
		sample->stack < program->stack_count ? sample->stack : program->stack_count;

	return sample->flags & SN_SAMPLE_SYSTEM ? program->classes[stack].system
						: program->classes[stack].user;
}

static uint32_t bin_at(const struct builder *b, int64_t time_ns)
{
	int64_t bin = (time_ns - b->timeline->from_ns) / b->bin_ns;

	return bin < 0			       ? 0
	       : bin >= b->timeline->bin_count ? b->timeline->bin_count - 1
					       : (uint32_t)bin;
}

/* Adds the time [from, to) to cells `stride` apart, one a bin. */
static void span_add(const struct builder *b, uint64_t *cells, uint32_t stride, int64_t from,
		     int64_t to)
{
	int64_t start = b->timeline->from_ns;

	for (uint32_t bin = bin_at(b, from); from < to; bin++) {
		int64_t end = start + (int64_t)(bin + 1) * b->bin_ns;

		if (end > to || bin + 1 == b->timeline->bin_count)
			end = to;
		cells[(size_t)bin * stride] += (uint64_t)(end - from);
		from = end;
	}
}

static void row_flush(struct builder *b, uint32_t row)
{
	struct sn_timeline *t = b->timeline;
	size_t cells = (size_t)t->bin_count * t->class_count;

	for (size_t i = 0; i < cells; i++) {
		t->cpu_us[row * cells + i] = (uint32_t)((b->cpu_ns[i] + 500) / 1000);
		b->cpu_ns[i] = 0;
	}
	for (size_t i = 0; i < t->bin_count; i++) {
		t->wait_us[(size_t)row * t->bin_count + i] =
			(uint32_t)((b->wait_ns[i] + 500) / 1000);
		b->wait_ns[i] = 0;
	}
}

static void rows_find(struct builder *b)
{
	const struct sn_experiment *e = b->profile->experiment;
	struct sn_timeline *t = b->timeline;

	b->row_of_thread = sn_alloc_zeroed(e->threads.count + 1, sizeof(uint32_t));
	t->threads = sn_alloc_zeroed(e->threads.count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < e->threads.count; i++) {
		const struct sn_weight *weight = &b->profile->threads[i];

		b->row_of_thread[i] = SN_NONE;
		if (weight->cpu_ns || weight->wait_ns || weight->samples) {
			b->row_of_thread[i] = t->row_count;
			t->threads[t->row_count++] = i;
		}
	}
}

static void range_find(struct builder *b)
{
	const struct sn_profile *profile = b->profile;
	const struct sn_experiment *e = profile->experiment;
	struct sn_timeline *t = b->timeline;
	int64_t end = e->elapsed_ns;

	for (size_t i = 0; i < e->processes.count; i++)
		if (e->processes.items[i].end_ns > end)
			end = e->processes.items[i].end_ns;
	for (size_t i = 0; i < e->samples.count; i++)
		if (e->samples.items[i].time_ns >= end)
			end = e->samples.items[i].time_ns + 1;
	t->from_ns = profile->from_ns > 0 ? profile->from_ns : 0;
	t->to_ns = profile->to_ns < end ? profile->to_ns : end;
	if (t->to_ns <= t->from_ns)
		t->to_ns = t->from_ns + 1;
	b->bin_ns = (t->to_ns - t->from_ns + t->bin_count - 1) / t->bin_count;
}

static void samples_add(struct builder *b, uint32_t row, size_t *at,
			uint32_t (*class_of)(void *, const struct sn_sample *), void *context)
{
	const struct sn_experiment *e = b->profile->experiment;
	struct sn_timeline *t = b->timeline;
	uint32_t thread = t->threads[row];

	while (*at < e->samples.count && e->samples.items[*at].thread < thread)
		++*at;
	for (; *at < e->samples.count && e->samples.items[*at].thread == thread; ++*at) {
		const struct sn_sample *sample = &e->samples.items[*at];
		uint32_t class;
		int64_t from;

		if (!sn_profile_has_sample(b->profile, sample))
			continue;
		class = class_of ? class_of(context, sample) : category_of(b->profile, sample);
		if (__builtin_sub_overflow(sample->time_ns, (int64_t)sample->cpu_ns, &from) ||
		    from < t->from_ns)
			from = t->from_ns;
		if (class < t->class_count)
			span_add(b, b->cpu_ns + class, t->class_count, from, sample->time_ns);
		if (!(sample->flags & SN_SAMPLE_REMAINDER))
			t->samples[(size_t)row * t->bin_count + bin_at(b, sample->time_ns)]++;
	}
}

static void waits_add(struct builder *b, uint32_t row, size_t *at)
{
	const struct sn_experiment *e = b->profile->experiment;
	uint32_t thread = b->timeline->threads[row];

	while (*at < e->waits.count && e->waits.items[*at].thread < thread)
		++*at;
	for (; *at < e->waits.count && e->waits.items[*at].thread == thread; ++*at) {
		const struct sn_wait *wait = &e->waits.items[*at];
		uint64_t ns = sn_profile_wait_ns(b->profile, wait);
		int64_t from =
			wait->time_ns > b->timeline->from_ns ? wait->time_ns : b->timeline->from_ns;

		span_add(b, b->wait_ns, 1, from, from + (int64_t)ns);
	}
}

struct sn_timeline *
sn_timeline_new(const struct sn_profile *profile, uint32_t bin_count, uint32_t class_count,
		uint32_t (*class_of)(void *context, const struct sn_sample *sample), void *context)
{
	struct sn_timeline *t = sn_alloc_zeroed(1, sizeof(*t));
	struct builder b = { .profile = profile, .timeline = t };
	size_t bins, sample = 0, wait = 0;

	t->bin_count = bin_count ? bin_count : 1;
	t->class_count = class_of ? class_count : SN_CATEGORIES;
	rows_find(&b);
	range_find(&b);
	bins = (size_t)t->row_count * t->bin_count;
	t->cpu_us = sn_alloc_zeroed(bins * t->class_count + 1, sizeof(uint32_t));
	t->wait_us = sn_alloc_zeroed(bins + 1, sizeof(uint32_t));
	t->samples = sn_alloc_zeroed(bins + 1, sizeof(uint32_t));
	b.cpu_ns = sn_alloc_zeroed((size_t)t->bin_count * t->class_count + 1, sizeof(uint64_t));
	b.wait_ns = sn_alloc_zeroed(t->bin_count + 1, sizeof(uint64_t));
	for (uint32_t row = 0; row < t->row_count; row++) {
		samples_add(&b, row, &sample, class_of, context);
		waits_add(&b, row, &wait);
		row_flush(&b, row);
	}
	free(b.row_of_thread);
	free(b.cpu_ns);
	free(b.wait_ns);
	return t;
}

void sn_timeline_free(struct sn_timeline *timeline)
{
	if (!timeline)
		return;
	free(timeline->threads);
	free(timeline->cpu_us);
	free(timeline->wait_us);
	free(timeline->samples);
	free(timeline);
}
