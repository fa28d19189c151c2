/* Words that tables and sentences print and that are no column: `sonde explain` knows them all. */
#include "views/explain.h"

const struct sn_explanation sn_explained_words[] = {
	{ "waiting", "idea",
	  "A thread waits while it has nothing to run: for a lock, data, a child or time to pass "
	  "(blocked), or for a processor that others have (waiting for CPU). Waiting that burns "
	  "CPU is spin.",
	  "blocked_s wait_cpu_s spin" },
	{ "late", "idea",
	  "A sample is late when its signal was held back, by a blocked signal mask or in the "
	  "handler of a fault: its time is right, but its place is where the program went on.",
	  "samples" },
	{ "cut off", "idea",
	  "A stack is cut off when its outer frames could not be found: code without unwind "
	  "tables, generated code, or a damaged stack. Exclusive times are right; inclusive times "
	  "of the missing callers are too low.",
	  "complete inclusive" },
	{ "in loops", "share",
	  "Share of CPU time whose leaf address lies in a loop of the program or its libraries.",
	  "loops_share innermost_share" },
	{ "[unknown]", "idea",
	  "Code of no file that is known: made at run time (Java, node, other just-in-time "
	  "compilers) or unmapped since. /tmp/perf-PID.map gives such code names: node "
	  "--perf-basic-prof, java -XX:+DumpPerfMapAtExit (JDK 17).",
	  "module" },
	{ "[no stack]", "idea",
	  "CPU time that no sample stands for: what threads used before their first sample and "
	  "after their last.",
	  "no_stack" },
	{ "[none]", "idea", "The module of what lies in none: time without a stack.", "no_stack" },
	{ "[sonde]", "idea",
	  "sonde's own work inside the program. It is counted in the overhead, not in the "
	  "program's functions.",
	  "overhead_share" },
	{ "after NAME", "idea",
	  "Code behind the end of NAME that has no symbol of its own: NAME is a symbol without a "
	  "size, and its control flow does not reach so far.",
	  "function" },
	{ "perf-signal", "idea",
	  "A clock: each thread's CPU time, by a perf event that signals the thread itself.",
	  "clock_mechanism" },
	{ "perf-ring", "idea",
	  "A clock: perf events read from outside, for programs that cannot load sonde's library "
	  "(static ones, --pid). Blocking calls are not seen.",
	  "clock_mechanism" },
	{ "thread-timer", "idea",
	  "A clock: each thread's CPU-time timer, where perf events are refused. Its rate is the "
	  "kernel's tick, 100 to 1,000 Hz.",
	  "clock_mechanism rate_hz" },
	{ "oversubscribed", "idea",
	  "More threads want to run than there are processors: they wait for a CPU, and those that "
	  "spin for them burn what they would need.",
	  "wait_cpu_s spin" },
	{ "confidence", "text",
	  "How sure the verdict is: by how far the evidence lies from the threshold and by how "
	  "many samples there are (docs/method/verdict.md).",
	  "verdict" },
	{ "drift", "text",
	  "In 'diff': the machine changed while the runs were made, so a difference cannot be told "
	  "from it. Record both sides in turn.",
	  "verdict" },
	{ "in RAM", "ratio",
	  "In 'show whatif': the program's speed-up if all data of its loops came from RAM. Samples do "
	  "not tell where they come from, so the interval goes from here to 'in L1'.",
	  "full_vector_program_speedup" },
	{ "in L1", "ratio",
	  "In 'show whatif': the program's speed-up if all data of its loops are in first-level cache.",
	  "full_vector_program_speedup" },
	{ "no doubt", "ratio",
	  "In 'show whatif': the program's speed-up, data in L1, by those loops alone that have no "
	  "doubts. Never more than 'in L1'.",
	  "doubts reliable" },
	{ "after the best", "ratio",
	  "In 'show whatif': the program's speed-up, data in L1, if only the 1, 2, 5 or 10 loops that "
	  "bring most were so.",
	  "full_vector_cumulative_speedup" },
	{ "program 95 %", "ratio",
	  "In 'show whatif': the interval of the program's speed-up, from all data in RAM to all in L1, "
	  "with the error of shares and model.",
	  "full_vector_program_speedup" },
	{ "_start", "idea",
	  "The first instructions of a program, before main. In ld-linux.so it is the dynamic linker "
	  "at work: it loads libraries and binds their symbols, before the program begins.",
	  "function" },
	{ "thr", "count", "Threads that spent CPU time there.", "threads" },
	{ "dev", "ratio",
	  "How unevenly the threads share the time: standard deviation over mean; 0 is even.",
	  "thread_deviation" },
};
const size_t sn_explained_word_count = sizeof(sn_explained_words) / sizeof(*sn_explained_words);
