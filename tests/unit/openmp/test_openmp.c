#include "openmp/openmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/tap.h"

static char path[] = "/tmp/sonde-unit-openmp.XXXXXX";

/* A piece of one thread; a tick is a nanosecond. */
struct made {
	struct sn_trace_piece piece;
	struct sn_openmp_entry entries[16];
	size_t count;
};

static void made_begin(struct made *made, uint32_t thread, uint32_t tid)
{
	struct sn_entry_time time = {
		.type = SN_ENTRY_TIME, .tsc = 1000000, .ns = 1000000, .tid = tid
	};

	memset(made, 0, sizeof(*made));
	made->piece = (struct sn_trace_piece){ .magic = SN_TRACE_PIECE_MAGIC,
					       .pid = 7,
					       .number = thread,
					       .thread_index = thread,
					       .kind = SN_TRACE_OPENMP };
	memcpy(&made->entries[0], &time, sizeof(time));
	made->count = 1;
}

static void made_add(struct made *made, struct sn_openmp_entry entry)
{
	made->entries[made->count++] = entry;
	made->piece.committed_bytes =
		(uint32_t)(sizeof(made->piece) + made->count * sizeof(*made->entries));
}

static bool resolve_nothing(void *context, uint32_t process, uint32_t module, uint64_t link_addr,
			    struct sn_resolved *out)
{
	(void)context, (void)process, (void)module, (void)link_addr, (void)out;
	return false;
}

static struct sn_openmp *openmp_of(const struct made *made, size_t count)
{
	const struct sn_resolver resolver = { NULL, NULL, resolve_nothing };
	struct sn_experiment *e = sn_experiment_new("x");
	FILE *out = fdopen(mkstemp(path), "w");
	struct sn_program *program;
	struct sn_openmp *openmp = NULL;
	struct sn_error err;

	for (size_t i = 0; i < count; i++) {
		fwrite(&made[i].piece, 1, sizeof(made[i].piece), out);
		fwrite(made[i].entries, sizeof(*made[i].entries), made[i].count, out);
	}
	fclose(out);
	sn_vec_push(&e->processes, (struct sn_process){ .pid = 7, .host = "h", .end_ns = 900000 });
	sn_vec_push(&e->traces, (struct sn_trace_file){ path, "h" });
	program = sn_program_new(e, &resolver);
	tap_check(sn_openmp_read(program, &openmp, &err) == SN_OK, __FILE__, __LINE__, "reading");
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	sn_program_free(program);
	sn_experiment_free(e);
	return openmp;
}

static struct sn_openmp_entry region(uint32_t threads, uint64_t count, uint64_t ticks,
				     uint64_t work, uint64_t largest, uint64_t wait)
{
	return (struct sn_openmp_entry){ .type = SN_OPENMP_REGION,
					 .region = 5,
					 .path = threads,
					 .count = count,
					 .ticks = ticks,
					 .work = work,
					 .largest = largest,
					 .wait = wait };
}

/* Two threads for 1,000 ns: one works 900, the other 300 and waits 600 at the end. */
TEST(a_region_is_work_waiting_and_the_rest)
{
	struct made made[2];
	struct sn_openmp *openmp;

	made_begin(&made[0], 0, 70);
	made_add(&made[0], region(2, 1, 1000, 1200, 900, 600));
	made_add(&made[0], (struct sn_openmp_entry){
				   .type = SN_OPENMP_BODY, .region = 5, .count = 1, .work = 900 });
	made_add(&made[0],
		 (struct sn_openmp_entry){ .type = SN_OPENMP_SPAN, .count = 1, .ticks = 1000 });
	made_begin(&made[1], 1, 71);
	made_add(&made[1], (struct sn_openmp_entry){
				   .type = SN_OPENMP_BODY, .region = 5, .count = 1, .work = 300 });
	/* on its behalf, by the thread that ended the process */
	made_add(&made[0], (struct sn_openmp_entry){
				   .type = SN_OPENMP_BODY, .region = 5, .thread = 2, .wait = 600 });
	openmp = openmp_of(made, 2);
	CHECK(openmp->is_traced);
	CHECK_INT(openmp->damaged, 0);
	CHECK_INT(openmp->regions.count, 1);
	CHECK_INT(openmp->regions.items[0].executions, 1);
	CHECK_INT(openmp->regions.items[0].threads, 2);
	CHECK_INT(openmp->regions.items[0].time_ns, 1000);
	CHECK_INT(openmp->regions.items[0].team_ns, 2000);
	CHECK_INT(openmp->regions.items[0].work_ns, 1200);
	CHECK_INT(openmp->regions.items[0].barrier_ns, 600);
	CHECK_INT(openmp->regions.items[0].gain_ns, 300);
	CHECK(sn_openmp_imbalance(&openmp->regions.items[0]) > 0.3332 &&
	      sn_openmp_imbalance(&openmp->regions.items[0]) < 0.3334);
	CHECK_INT(openmp->members.count, 2);
	CHECK_INT(openmp->members.items[0].tid, 70);
	CHECK_INT(openmp->members.items[1].tid, 71);
	CHECK_INT(openmp->members.items[1].barrier_ns, 600);
	CHECK_INT(openmp->parallel_ns, 1000);
	CHECK_INT(openmp->elapsed_ns, 900000);
	sn_openmp_free(openmp);
}

TEST(constructs_are_waiting_of_their_kind)
{
	struct made made;
	struct sn_openmp *openmp;

	made_begin(&made, 0, 70);
	made_add(&made, region(2, 4, 1000, 100, 60, 0));
	made_add(&made, (struct sn_openmp_entry){ .type = SN_OPENMP_CONSTRUCT,
						  .construct = SN_OPENMP_BARRIER,
						  .region = 5,
						  .count = 4,
						  .wait = 80,
						  .largest = 50 });
	made_add(&made, (struct sn_openmp_entry){ .type = SN_OPENMP_CONSTRUCT,
						  .construct = SN_OPENMP_CRITICAL,
						  .region = 5,
						  .count = 4,
						  .ticks = 11,
						  .wait = 30 });
	made_add(&made, (struct sn_openmp_entry){ .type = SN_OPENMP_CONSTRUCT,
						  .construct = SN_OPENMP_TASKWAIT,
						  .count = 1,
						  .wait = 7 });
	made_add(&made, (struct sn_openmp_entry){
				.type = SN_OPENMP_CONSTRUCT, .construct = 99, .count = 1 });
	made_add(&made, (struct sn_openmp_entry){ .type = 77 });
	openmp = openmp_of(&made, 1);
	CHECK_INT(openmp->damaged, 2);
	CHECK_INT(openmp->places.count, 3);
	CHECK_INT(openmp->places.items[0].longest_ns, 50);
	CHECK_INT(openmp->places.items[1].inside_ns, 11);
	CHECK(openmp->places.items[2].region == SN_NONE);
	CHECK_INT(openmp->regions.items[0].barrier_ns, 80);
	CHECK_INT(openmp->regions.items[0].critical_ns, 30);
	CHECK_INT(openmp->regions.items[0].task_wait_ns, 0);
	CHECK_INT(openmp->regions.items[0].gain_ns, 40);
	sn_openmp_free(openmp);
}

TEST(a_region_that_nobody_ended_is_none)
{
	struct made made;
	struct sn_openmp *openmp;

	made_begin(&made, 0, 70);
	made_add(&made, region(0, 1, 1000, 100, 60, 0));
	made_add(&made, region(1u << 30, 1, 1000, 100, 60, 0));
	openmp = openmp_of(&made, 1);
	CHECK_INT(openmp->regions.count, 0);
	CHECK_INT(openmp->damaged, 1);
	sn_openmp_free(openmp);
}
