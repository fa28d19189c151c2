/* A loop by thread: how evenly the threads share its exclusive time. */
#include "views/loop_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

struct thread_time {
	uint32_t thread;
	uint64_t cpu_ns;
};

static int thread_times_compare(const void *left, const void *right)
{
	const struct thread_time *x = left, *y = right;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns > y->cpu_ns ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Exclusive time in the loop by thread, most first. */
static struct thread_time *thread_times(const struct sn_loop_page *page, size_t *count)
{
	const struct sn_experiment *e = page->profile->experiment;
	struct thread_time *times = sn_alloc_zeroed(e->threads.count + 1, sizeof(*times));

	for (uint32_t t = 0; t < e->threads.count; t++)
		times[t].thread = t;
	for (size_t i = 0; i < e->samples.count; i++) {
		const struct sn_sample *sample = &e->samples.items[i];

		if (sn_profile_has_sample(page->profile, sample) &&
		    sample->stack < page->program->stack_count &&
		    sn_program_leaf(page->program, sample->stack)->loop == page->number)
			times[sample->thread].cpu_ns += sample->cpu_ns;
	}
	qsort(times, e->threads.count, sizeof(*times), thread_times_compare);
	*count = 0;
	while (*count < e->threads.count && times[*count].cpu_ns)
		++*count;
	return times;
}

static void put_threads(const struct sn_loop_page *page, FILE *out)
{
	const struct sn_spread *spread = &page->metrics->spread;
	struct thread_time *times;
	size_t count;

	if (isnan(spread->deviation))
		return;
	times = thread_times(page, &count);
	fprintf(out, "\nthreads: %zu spend time in it, deviation %.2f of the mean\n", count,
		spread->deviation);
	for (size_t i = 0; i < count && i < 5; i++) {
		const struct sn_thread *t =
			&page->profile->experiment->threads.items[times[i].thread];

		fprintf(out, "  %10.3f s  process %u thread %d", (double)times[i].cpu_ns / 1e9,
			t->process, t->tid);
		sn_loop_put_name(out, "  ", t->name ? t->name : "");
		fputc('\n', out);
	}
	if (count > 5)
		fprintf(out, "  ... least %.3f s\n", (double)times[count - 1].cpu_ns / 1e9);
	free(times);
}

static void write_threads(const struct sn_loop_page *page, struct sn_json *json)
{
	size_t count;
	struct thread_time *times = thread_times(page, &count);

	sn_json_member_double(json, "thread_deviation", page->metrics->spread.deviation);
	sn_json_key(json, "threads");
	sn_json_array(json);
	for (size_t i = 0; i < count; i++) {
		const struct sn_thread *t =
			&page->profile->experiment->threads.items[times[i].thread];

		sn_json_object(json);
		sn_json_member_uint(json, "process", t->process);
		sn_json_member_int(json, "thread", t->tid);
		sn_json_member_double(json, "exclusive_cpu_s", (double)times[i].cpu_ns / 1e9);
		sn_json_close(json);
	}
	sn_json_close(json);
	free(times);
}

const struct sn_loop_part sn_loop_threads = { .put = put_threads, .write = write_threads };
