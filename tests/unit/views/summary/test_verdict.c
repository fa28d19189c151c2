#include "views/summary/verdict.h"

#include <math.h>
#include <string.h>

#include "harness/tap.h"

/* Golden cases: figures of runs, and the verdict that an expert gives on each. */

static struct sn_arena arena;
static struct sn_answer answer;

/* A run of `threads` threads over ten seconds that are all computing in one loop unless changed. */
static struct sn_evidence run_of(size_t threads)
{
	return (struct sn_evidence){
		.elapsed_s = 10,
		.threads_s = 10 * (double)threads,
		.system_s = NAN,
		.overhead_share = 0.01,
		.samples = 10000,
		.threads = threads,
		.processes = 1,
		.cpus = 8,
	};
}

static void decide(const struct sn_evidence *e)
{
	sn_arena_free(&arena);
	sn_verdict_decide(e, &arena, &answer);
}

static void hot(struct sn_evidence_hot *to, const char *what, const char *caller, double seconds)
{
	to->top[to->top_count++] =
		(struct sn_evidence_place){ what, caller, NULL, 0, seconds, NULL, false };
	to->count++;
	to->seconds += seconds;
}

static void check(enum sn_verdict_kind kind, const char *words)
{
	CHECK_STRING(sn_verdict_kind_name(answer.kind), sn_verdict_kind_name(kind));
	tap_check(strstr(answer.sentence, words) != NULL, __FILE__, __LINE__, answer.sentence);
}

static const struct sn_finding *finding(enum sn_verdict_kind kind)
{
	for (size_t i = 0; i < answer.count; i++)
		if (answer.findings[i].kind == kind)
			return &answer.findings[i];
	return NULL;
}

TEST(compute_in_loops)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	hot(&e.loops, "solver.c:10-20", "solve", 6);
	hot(&e.loops, "solver.c:40", "norm", 3);
	e.hint = "Use wider vectors.";
	e.hint_is_of_first = true;
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS,
	      "Compute-bound in 2 loops: solver.c:10-20 in solve takes 60.6 %");
	CHECK_INT(answer.confidence, SN_TRUST_HIGH);
	CHECK_STRING(answer.findings[0].remedy, "Use wider vectors.");
	e.loops.top[0].what = "A::solve+0x1d"; /* without lines the label says it all */
	e.loops.top[0].caller = "A::solve(int)";
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "2 loops: A::solve+0x1d takes");
	CHECK(answer.findings[0].seconds == 9.9 && answer.findings[0].share == 0.99);
}

TEST(loops_that_wait_for_data)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 9.9;
	e.compute_s = 3;
	e.data_s = 6.9;
	e.data_pass_ns = 92;
	e.data_near_cycles = 4;
	e.data_spread_bytes = 256e6;
	hot(&e.data, "list.c:10", "walk", 6.9);
	decide(&e);
	check(SN_VERDICT_MEMORY, "Memory-bound in 1 loop: list.c:10 in walk takes 69.7 %");
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
	CHECK(strstr(answer.findings[0].sentence, "takes 92 ns, with data in L1 4 cycles"));
	/* advice on another loop stays there; that on a measured one that waits is the remedy */
	e.hint = "Bring the list nearer.";
	decide(&e);
	CHECK(strcmp(answer.findings[0].remedy, e.hint) != 0);
	e.hint_is_of_data = true;
	e.data_list_cycles = 396;
	decide(&e);
	CHECK_STRING(answer.findings[0].remedy, e.hint);
	CHECK(strstr(answer.findings[0].sentence, "an iteration takes 396 cycles (measured)"));
	e.hint = NULL;
	e.hint_is_of_data = false;
	e.data_list_cycles = 0;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "256 MB or more"));
	e.data_is_sure = true;
	decide(&e);
	CHECK_INT(answer.confidence, SN_TRUST_HIGH);
}

TEST(loops_that_compute_or_wait)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	hot(&e.loops, "solver.c:10", "solve", 6);
	hot(&e.loops, "norm.c:4", "norm", 3);
	e.unsettled_s = 0.8;
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "Compute-bound in 2 loops");
	CHECK_INT(answer.confidence, SN_TRUST_HIGH);
	e.unsettled_s = 4.4;
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "CPU-bound in 2 loops");
	check(SN_VERDICT_COMPUTE_LOOPS, "; of 49 % of their time samples cannot tell");
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
	e.unsettled_s = 4.6;
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "CPU-bound in 2 loops");
	CHECK(strstr(answer.sentence, "samples cannot tell") != NULL);
	CHECK(strstr(answer.findings[0].remedy, "fit the cache") != NULL);
	CHECK_INT(answer.confidence, SN_TRUST_LOW);
	memset(&e.loops, 0, sizeof(e.loops));
	hot(&e.functions, "parse", NULL, 6);
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "CPU-bound in 1 function, not in hot loops: parse");
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
}

TEST(compute_that_is_flat)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	e.functions.top[0] = (struct sn_evidence_place){ "parse", NULL, NULL, 0, 0.4, NULL, false };
	e.functions.top_count = 1;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat: the hottest function, parse, takes 4.0 %");
	e.functions.top[0].what = "<function at 0x4970>"; /* another library may have one there */
	e.functions.top[0].module = "libz.so.1";
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT,
	      "flat: the hottest function, <function at 0x4970> (libz.so.1), takes");
	/* a recursion without loops is no flat profile, but no loop either */
	hot(&e.functions, "fib", NULL, 9);
	e.functions.top[0] = e.functions.top[1];
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "in 1 function, not in hot loops: fib takes 90.9 %");
}

/* Advice on another loop than the one that the evidence begins with is no answer to that one. */
TEST(advice_on_another_loop_says_so)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	hot(&e.loops, "match.c:10", "longest", 5);
	hot(&e.loops, "crc.c:4", "crc", 1.2);
	e.loop_rank = 2;
	e.hint = "crc.c:4 (loop #3): Inline the call.";
	decide(&e);
	CHECK_STRING(
		answer.findings[0].remedy,
		"See what the hottest does and what bounds it: sonde show loop '#2'. More is promised of another: crc.c:4 (loop #3): Inline the call.");
}

/* Go: the hottest place is a loop, and a recursion has nearly as much. */
TEST(hot_loops_and_functions_together)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	hot(&e.loops, "m.go:5", "main.mm", 2.8);
	hot(&e.functions, "main.mm", NULL, 2.8);
	hot(&e.functions, "main.ins", NULL, 2.4);
	hot(&e.rests, "main.ins", NULL, 2.4);
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "Compute-bound in 1 loop: m.go:5 in main.mm takes 28.3 %");
	CHECK(strstr(answer.findings[0].sentence, "outside of them most in main.ins 24.2 %"));
	/* the recursion is hotter: functions are told, but that their loops are not hot is not */
	e.rests.seconds = e.rests.top[0].seconds = 3.2;
	e.functions.top[0].what = "main.ins";
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "Compute-bound in 2 functions: main.ins takes");
	CHECK(strstr(answer.findings[0].remedy, "in their loops") != NULL);
	CHECK(strstr(answer.findings[0].remedy, "fewer calls") == NULL);
}

/* Java with a list of names: there is no code to find loops in. */
TEST(functions_without_code_are_not_said_to_have_no_hot_loops)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	hot(&e.functions, "J.mm", NULL, 5);
	e.functions.top[0].has_no_code = true;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "Compute-bound in 1 function: J.mm takes 50.5 %");
	CHECK(strstr(answer.findings[0].sentence, "their loops are not known") != NULL);
	CHECK(strstr(answer.findings[0].remedy, "fewer calls") == NULL);
}

/* Allocators and code without names are other causes, and may stand above it in the table. */
TEST(the_hottest_that_computes_is_not_called_the_hottest)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	e.functions.top[0] = (struct sn_evidence_place){ "parse", NULL, NULL, 0, 0.4, NULL, false };
	e.functions.top_count = 1;
	e.functions_before = 1;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat: of functions that compute, parse takes most, 4.0 %");
	e.module.what = "libx264.so.164";
	e.module.seconds = 5.5;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat, most of it in libx264.so.164: of functions");
	CHECK(strstr(answer.findings[0].sentence, "by module most in libx264.so.164 55.6 %"));
	e.worker = e.module.what = "cc1plus";
	e.worker_s = 9;
	e.worker_processes = 1;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat (the child cc1plus): of functions");
}

/* What nobody saw is no answer where something was seen. */
TEST(blocked_in_unseen_calls_leads_only_where_it_is_most)
{
	struct sn_evidence e = run_of(4);

	e.cpu_s = e.compute_s = 9;
	e.pauses_s[SN_PAUSE_UNTRACED] = 17;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "Compute-bound");
	e.wait_others_s = 20;
	decide(&e);
	check(SN_VERDICT_WAITING_FOR_CPU, "Otherwise: Compute-bound");
	e.wait_others_s = 0;
	e.pauses_s[SN_PAUSE_UNTRACED] = 19;
	decide(&e);
	check(SN_VERDICT_LOCK_WAIT, "Blocked in calls that were not traced");
}

/* The table of waits has all of a call's time. */
TEST(a_wait_that_counts_in_part_says_how_long_it_was)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 1;
	e.pauses_s[SN_PAUSE_POLL] = 5.9;
	e.pauses[SN_PAUSE_POLL] =
		(struct sn_evidence_place){ "epoll_wait", NULL, NULL, 0, 7.93, NULL, false };
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "epoll_wait, which blocked 7.93 s in all") !=
	      NULL);
	e.pauses_s[SN_PAUSE_POLL] = 7.93;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "in all") == NULL);
}

/* The kernel's share is that of its own account; where there is none, nothing is said of it. */
TEST(time_in_the_kernel_is_told)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 10;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "kernel") == NULL);
	e.system_s = 0.9;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "kernel") == NULL);
	e.system_s = 4.7;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "47.0 % of CPU time is in the kernel") != NULL);
}

/* 77 % waiting for a CPU and 74 % spinning are one cause. */
TEST(more_threads_than_cpus)
{
	struct sn_evidence e = run_of(8);

	e.cpus = 2;
	e.cpu_s = 20;
	e.compute_s = 5;
	e.spin_openmp_s = 15;
	e.wait_own_s = 60;
	decide(&e);
	check(SN_VERDICT_OVERSUBSCRIBED,
	      "8 threads on 2 CPUs wait for one 75.0 % of their time and spin 75.0 %");
	CHECK(answer.findings[0].seconds == 75);
	CHECK(strstr(answer.findings[0].remedy, "OMP_NUM_THREADS=2") != NULL);
	CHECK(!finding(SN_VERDICT_SPIN) && !finding(SN_VERDICT_WAITING_FOR_CPU));
	/* libgomp soon sleeps: then its threads are blocked for others that have no CPU */
	e.pauses_s[SN_PAUSE_OPENMP] = 30;
	e.wait_own_s = 30;
	decide(&e);
	check(SN_VERDICT_OVERSUBSCRIBED, "for each other at barriers 37.5 %");
	CHECK(!finding(SN_VERDICT_LOCK_WAIT));
	/* without a lack of CPUs it is the work that is not evenly spread */
	e.wait_own_s = 0;
	decide(&e);
	CHECK(finding(SN_VERDICT_LOCK_WAIT) && finding(SN_VERDICT_SPIN));
}

TEST(a_busy_neighbour)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 3;
	hot(&e.loops, "a.c:1", "f", 3);
	e.wait_others_s = 7;
	decide(&e);
	check(SN_VERDICT_WAITING_FOR_CPU, "other programs had them for 70.0 % of the time");
	check(SN_VERDICT_WAITING_FOR_CPU, "Otherwise: Compute-bound in 1 loop: a.c:1 in f");
	CHECK(answer.goes_on);
	CHECK(finding(SN_VERDICT_COMPUTE_LOOPS) != NULL);
}

/* make -j8 on two CPUs: the queue of independent processes is not what to mend. */
TEST(many_jobs_are_not_oversubscribed)
{
	struct sn_evidence e = run_of(8);

	e.cpus = 2;
	e.cpu_s = e.compute_s = 20;
	e.wait_jobs_s = 60;
	e.worker = "cc1";
	e.worker_s = 19;
	e.worker_processes = 40;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat (40 processes of cc1)");
	/* nothing is lost by it: it comes last, though it has most seconds */
	CHECK(finding(SN_VERDICT_WAITING_FOR_CPU) == &answer.findings[answer.count - 1]);
	CHECK(answer.findings[0].kind == SN_VERDICT_COMPUTE_FLAT);
}

/* An encoder's pool on two CPUs: they are full, and no thread waits for another. */
TEST(a_queue_of_threads_is_no_verdict)
{
	struct sn_evidence e = run_of(8);

	e.cpus = 2;
	e.cpu_s = e.compute_s = 20;
	e.wait_own_s = 19;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "flat");
	CHECK(strstr(finding(SN_VERDICT_WAITING_FOR_CPU)->sentence,
		     "Its own 8 threads queue for 2 CPUs: 23.8 %") != NULL);
	/* one that is longer than the work is one */
	e.wait_own_s = 21;
	decide(&e);
	check(SN_VERDICT_OVERSUBSCRIBED, "8 threads on 2 CPUs");
	/* and so is one of threads that spin for each other */
	e.wait_own_s = 19;
	e.compute_s = 18;
	e.spin_openmp_s = 2;
	decide(&e);
	check(SN_VERDICT_OVERSUBSCRIBED, "spin 10.0 %");
}

/* Where MPI was traced, its events tell how long, for whom and where. */
TEST(ranks_that_wait_for_a_late_one)
{
	struct sn_evidence e = run_of(4);

	e.cpus = 4;
	e.cpu_s = 40;
	e.compute_s = 24;
	e.spin_mpi_s = 16;
	decide(&e);
	CHECK(finding(SN_VERDICT_MPI_WAIT) && finding(SN_VERDICT_MPI_WAIT)->seconds == 16);
	e.is_mpi_traced = true;
	e.mpi_wait_s = 15;
	e.mpi_words = "most for a late sender: rank 1 waits in MPI_Recv, for rank 0";
	e.mpi_remedy = "Rank 0 comes late";
	decide(&e);
	REQUIRE(finding(SN_VERDICT_MPI_WAIT) != NULL);
	CHECK(finding(SN_VERDICT_MPI_WAIT)->seconds == 15);
	CHECK(strstr(finding(SN_VERDICT_MPI_WAIT)->sentence, "rank 1 waits in MPI_Recv") != NULL);
	CHECK_STRING(finding(SN_VERDICT_MPI_WAIT)->remedy, "Rank 0 comes late");
}

TEST(spinning_on_free_cpus)
{
	struct sn_evidence e = run_of(4);

	e.cpu_s = 40;
	e.compute_s = 12;
	e.spin_openmp_s = 28;
	decide(&e);
	check(SN_VERDICT_SPIN,
	      "70.0 % of CPU time is threads waiting actively for others in OpenMP");
	CHECK(strstr(answer.findings[0].remedy, "Spread the work evenly"));
	/* balance does not help who waits for a turn */
	e.spin_turns_s = 20;
	e.turns_kind = "critical section";
	e.turns_place = "crit (cr.c:8)";
	decide(&e);
	check(SN_VERDICT_SPIN, "50.0 % for the critical section in crit (cr.c:8)");
	CHECK(strstr(answer.findings[0].remedy, "Do less in the critical section in crit"));
	CHECK(!strstr(answer.findings[0].remedy, "Spread the work evenly"));
	e.spin_turns_s = 10; /* most of it is at barriers */
	decide(&e);
	CHECK(strstr(answer.findings[0].remedy, "Do less in the critical section in crit"));
	CHECK(strstr(answer.findings[0].remedy, "Spread the work evenly"));
	e.spin_turns_s = 5; /* nearly all */
	decide(&e);
	CHECK(!strstr(answer.findings[0].sentence, "critical section"));
	e.spin_openmp_s = 0;
	e.spin_lock_s = 28;
	decide(&e);
	e.spin.what = "pthread_spin_lock";
	decide(&e);
	check(SN_VERDICT_SPIN, "for locks or flags in pthread_spin_lock");
}

TEST(locks)
{
	struct sn_evidence e = run_of(4);

	e.cpu_s = e.compute_s = 10;
	e.pauses_s[SN_PAUSE_LOCK] = 29;
	e.pauses[SN_PAUSE_LOCK] = (struct sn_evidence_place){
		"pthread_mutex_lock", "push", "queue.c", 7, 29, NULL, false
	};
	decide(&e);
	check(SN_VERDICT_LOCK_WAIT, "in pthread_mutex_lock, called by push (queue.c:7)");
}

TEST(io_that_waits_and_io_that_works)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 1;
	e.compute_s = 0.5;
	e.io_cpu_s = 0.5;
	e.pauses_s[SN_PAUSE_IO] = 9;
	e.pauses[SN_PAUSE_IO] =
		(struct sn_evidence_place){ "fsync", "save", NULL, 0, 9, NULL, false };
	decide(&e);
	check(SN_VERDICT_IO_WAIT, "Waiting for I/O: 90.0 % of the time in fsync, called by save");
	e.pauses_s[SN_PAUSE_IO] = 0;
	e.pauses_s[SN_PAUSE_POLL] = 1;
	e.cpu_s = 9;
	e.compute_s = 2;
	e.io_cpu_s = 7;
	e.io.what = "write";
	decide(&e);
	check(SN_VERDICT_IO_WAIT, "Busy with I/O: 77.8 % of CPU time");
	e.pauses_s[SN_PAUSE_POLL] = 9;
	e.cpu_s = e.compute_s = 0.1;
	e.io_cpu_s = 0;
	e.samples = 100;
	decide(&e);
	check(SN_VERDICT_IO_WAIT, "Waiting for input or events: 90.0 %");
}

TEST(a_child_that_works_and_one_that_nobody_saw)
{
	struct sn_evidence e = run_of(2);

	e.cpu_s = e.compute_s = 9.8;
	hot(&e.loops, "a.c:1", "f", 9.8);
	e.worker = "burn";
	e.worker_s = 9.8;
	e.worker_processes = 1;
	e.child_s = 9.8;
	decide(&e);
	check(SN_VERDICT_COMPUTE_LOOPS, "in 1 loop (the child burn): a.c:1");
	CHECK(finding(SN_VERDICT_CHILD_WAIT) && finding(SN_VERDICT_CHILD_WAIT)->seconds == 9.8);
	e = run_of(1);
	e.cpu_s = e.compute_s = 0.01;
	e.samples = 10;
	e.pauses_s[SN_PAUSE_CHILD] = 9.9;
	decide(&e);
	check(SN_VERDICT_CHILD_WAIT, "Waiting for a child that was not measured: 99.0 %");
}

TEST(ranks)
{
	struct sn_evidence e = run_of(4);

	e.cpu_s = 40;
	e.compute_s = 15;
	e.spin_mpi_s = 25;
	decide(&e);
	check(SN_VERDICT_MPI_WAIT, "Waiting for other ranks: 62.5 %");
}

TEST(sleeping)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 0.001;
	e.samples = 1;
	e.pauses_s[SN_PAUSE_SLEEP] = 9.9;
	decide(&e);
	check(SN_VERDICT_SLEEP, "Sleeping: 99.0 % of the time");
	CHECK_INT(answer.confidence, SN_TRUST_HIGH); /* the kernel's account, not samples */
}

TEST(memory)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 10;
	e.compute_s = 3;
	e.memory_s = 7;
	e.memory.what = "_int_malloc";
	decide(&e);
	check(SN_VERDICT_MEMORY, "70.0 % of CPU time");
	CHECK(strstr(answer.findings[0].sentence, "most of it in _int_malloc") != NULL);
}

/* 216 libraries and half a second of work: loading is told apart from it. */
TEST(a_run_that_mostly_starts)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 10;
	e.compute_s = 3;
	e.loading_s = 7;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "loading the program and its libraries takes 70.0 %");
	CHECK(strstr(answer.findings[1].sentence, "30.0 %") != NULL);
}

/* A loop of lock and unlock that one thread runs. */
TEST(locks_that_nobody_waits_for)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 10;
	e.compute_s = 4;
	e.lock_cpu_s = 6;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "taking and leaving locks takes 60.0 % of CPU time");
	CHECK(!finding(SN_VERDICT_LOCK_WAIT));
	e.pauses_s[SN_PAUSE_LOCK] = 1;
	decide(&e);
	check(SN_VERDICT_LOCK_WAIT, "Waiting for locks");
}

/* All of the program's own work is too little to be named. */
TEST(no_function_to_name)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 10;
	e.compute_s = 10;
	decide(&e);
	CHECK(strstr(answer.findings[0].sentence, "most in") == NULL);
}

TEST(code_without_names)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = 10;
	e.compute_s = 1;
	e.unknown_s = 9;
	e.unknown_is_generated = true;
	decide(&e);
	check(SN_VERDICT_UNKNOWN_CODE, "90.0 % of CPU time is in code that nothing names");
	CHECK_STRING(answer.findings[0].remedy, "Let the program write /tmp/perf-PID.map");
	e.unknown_names_by = "node --perf-basic-prof";
	decide(&e);
	CHECK_STRING(answer.findings[0].remedy,
		     "Let the program write /tmp/perf-PID.map: node --perf-basic-prof");
}

TEST(not_seen_enough)
{
	struct sn_evidence e = run_of(1);

	e.threads_s = e.elapsed_s = 0.004;
	e.cpu_s = e.compute_s = 0.003;
	e.samples = 3;
	decide(&e);
	check(SN_VERDICT_TOO_SHORT, "3 samples in 0.003 s");
	CHECK_INT(answer.count, 1);
	memset(&e, 0, sizeof(e)); /* nothing at all */
	decide(&e);
	check(SN_VERDICT_TOO_SHORT, "0 samples");
}

/* The threads' own work is told, not that the main thread waits for them. */
TEST(waiting_for_own_threads_is_no_finding)
{
	struct sn_evidence e = run_of(5);

	e.cpu_s = e.compute_s = 4;
	e.join_s = 10;
	e.pauses_s[SN_PAUSE_LOCK] = 3;
	decide(&e);
	check(SN_VERDICT_COMPUTE_FLAT, "Compute-bound");
	CHECK_INT(answer.count, 2);
}

TEST(at_most_six_findings_by_seconds)
{
	struct sn_evidence e = run_of(10);

	e.cpu_s = 50;
	e.compute_s = e.memory_s = e.io_cpu_s = e.unknown_s = 10;
	e.spin_openmp_s = 10;
	for (int i = 0; i < SN_PAUSES; i++)
		e.pauses_s[i] = 3 + i;
	e.wait_others_s = 1.9; /* below 2 % of the time: no cause */
	decide(&e);
	CHECK_INT(answer.count, 6);
	for (size_t i = 1; i < answer.count; i++)
		CHECK(answer.findings[i - 1].seconds >= answer.findings[i].seconds);
	CHECK(!finding(SN_VERDICT_WAITING_FOR_CPU));
}

TEST(confidence_falls_with_few_samples_and_near_rivals)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9.9;
	e.samples = 50;
	decide(&e);
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
	e.samples = 5000;
	e.compute_s = 5;
	e.memory_s = 4.9;
	decide(&e);
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
	e.memory_s = 0;
	e.compute_s = 9.9;
	e.is_cut = true;
	decide(&e);
	CHECK_INT(answer.confidence, SN_TRUST_MEDIUM);
	e.is_cut = false;
	decide(&e);
	CHECK_INT(answer.confidence, SN_TRUST_HIGH);
}

TEST(a_deadlock_is_the_verdict_however_short_it_was)
{
	struct sn_evidence e = run_of(1);

	e.cpu_s = e.compute_s = 9;
	e.deadlock_words = "Deadlock: a, b";
	e.deadlock_s = 0.5;
	e.samples = 3;
	e.overhead_share = 0.5;
	decide(&e);
	check(SN_VERDICT_LOCK_WAIT, "Deadlock: a, b");
	CHECK_INT(answer.confidence, SN_TRUST_HIGH);
	CHECK_STRING(answer.findings[0].sentence, "Deadlock: a, b");
	CHECK_INT(answer.findings[1].kind, SN_VERDICT_COMPUTE_FLAT);
}

TEST(traced_locks_and_files_are_named)
{
	struct sn_evidence e = run_of(2);

	e.cpu_s = e.io_cpu_s = 10;
	e.pauses_s[SN_PAUSE_LOCK] = 9;
	e.lock_words = "80 % of it for m: f waits";
	e.lock_remedy = "Hold m for less";
	e.io_traced_s = 8;
	e.io_words = "70 % are in 9 calls of write on x";
	e.io_remedy = "Move more";
	decide(&e);
	tap_check(strstr(finding(SN_VERDICT_LOCK_WAIT)->sentence, "80 % of it for m: f waits") !=
			  NULL,
		  __FILE__, __LINE__, finding(SN_VERDICT_LOCK_WAIT)->sentence);
	CHECK_STRING(finding(SN_VERDICT_LOCK_WAIT)->remedy, "Hold m for less");
	tap_check(strstr(finding(SN_VERDICT_IO_WAIT)->sentence, "of 8 s in calls") != NULL,
		  __FILE__, __LINE__, finding(SN_VERDICT_IO_WAIT)->sentence);
	CHECK_STRING(finding(SN_VERDICT_IO_WAIT)->remedy, "Move more");
}

/* CPU time, waits for I/O and for events, none of which is a finding by itself. */
TEST(io_that_is_a_finding_only_together_has_a_beginning)
{
	struct sn_evidence e = run_of(2);

	e.cpu_s = 19;
	e.compute_s = 18.7;
	e.io_cpu_s = 0.3; /* each of the three is less than a fiftieth */
	e.pauses_s[SN_PAUSE_IO] = e.pauses_s[SN_PAUSE_POLL] = 0.3;
	e.io_traced_s = 0.26;
	e.io_words = "70 % are in 9 calls of write on x";
	decide(&e);
	CHECK(finding(SN_VERDICT_IO_WAIT) != NULL);
	tap_check(strncmp(finding(SN_VERDICT_IO_WAIT)->sentence, "I/O: ", 5) == 0 &&
			  strstr(finding(SN_VERDICT_IO_WAIT)->sentence, "; of 0.26 s in calls"),
		  __FILE__, __LINE__, finding(SN_VERDICT_IO_WAIT)->sentence);
}

TEST(a_finding_that_is_added_has_its_place_by_seconds)
{
	struct sn_answer some = { .count = 0 };
	const double seconds[] = { 3, 0, 5, 4, 1, 2, 6, 7, 8 };
	const double ordered[SN_FINDINGS_MAX] = { 8, 7, 6, 5, 4, 3, 2, 1 }; /* 0 has no room */

	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
		sn_verdict_add(&some, &(struct sn_finding){ .kind = SN_VERDICT_CAUSAL,
							    .seconds = seconds[i] });
	CHECK_INT(some.count, SN_FINDINGS_MAX);
	for (size_t i = 0; i < some.count; i++)
		CHECK(some.findings[i].seconds == ordered[i]);
	sn_verdict_add(&some, &(struct sn_finding){ .seconds = 0.5 });
	CHECK(some.count == SN_FINDINGS_MAX && some.findings[SN_FINDINGS_MAX - 1].seconds == 1);
}

TEST(every_kind_has_a_name_a_view_and_a_command)
{
	for (int k = 0; k < SN_VERDICT_KINDS; k++) {
		CHECK(sn_verdict_kind_name((enum sn_verdict_kind)k)[0]);
		CHECK(sn_verdict_view((enum sn_verdict_kind)k)[0] == '#');
		CHECK(!strncmp(sn_verdict_command((enum sn_verdict_kind)k), "sonde ", 6));
	}
}
