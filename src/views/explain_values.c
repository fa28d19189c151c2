/* Values that columns have and modules that are no files: `sonde explain` knows each. */
#include "views/explain.h"

const struct sn_explanation sn_explained_values[] = {
	/* ---- what stands in place of a module or a function ---- */
	{ "[jit]", "module",
	  "Code that the program made at run time (Java, node, other just-in-time compilers), in "
	  "memory that belongs to no file. A list of its names (/tmp/perf-PID.map) gives its "
	  "functions; loops and lines of it are not known.",
	  "[unknown] module" },
	{ "[vdso]", "module",
	  "The kernel's own little library in every process: clock_gettime and gettimeofday "
	  "without a system call.",
	  "module" },
	{ "[kernel]", "module",
	  "The kernel. Time in it is told with the function that made the system call; 'sonde show "
	  "system' splits it by call.",
	  "exclusive_system_s" },
	{ "[program]", "module",
	  "In 'diff': the program itself, whose file may be called otherwise on either side.",
	  "module" },
	{ "sonde", "text",
	  "As a function or module class: sonde's own work inside the program, as [sonde]. As kind "
	  "of system time: what measuring asks the kernel for.",
	  "[sonde] overhead_share" },
	/* ---- what bounds a loop (whatif/evidence.h) ---- */
	{ "memory_bound", "verdict",
	  "Of a loop: it waits for data from beyond first-level cache; DL1 was measured.",
	  "dl1_speedup verdict" },
	{ "l1_bound", "verdict",
	  "Of a loop: its loads and stores bound it, and DL1 does not show that it waits for data from "
	  "farther away.",
	  "ls_cycles verdict" },
	{ "compute_bound", "verdict",
	  "Of a loop: its arithmetic takes as long as all of it (FP or ARITH was measured).",
	  "fp_cycles verdict" },
	{ "balanced", "verdict",
	  "Of a loop: its loads and stores alone take as long as its arithmetic alone, and as the loop.",
	  "ls_cycles fp_cycles verdict" },
	{ "chained", "verdict",
	  "Of a loop: neither its loads and stores nor its arithmetic alone explain its time, as they wait "
	  "for each other.",
	  "ls_cycles fp_cycles verdict" },
	{ "front_end_bound", "verdict",
	  "Of a loop: as many instructions that do nothing take as long (FES was measured).",
	  "fes_cycles verdict" },
	{ "not_memory_bound", "verdict",
	  "Of a loop: data in first-level cache would not help, and no more was measured.",
	  "dl1_speedup verdict" },
	{ "estimated", "verdict",
	  "Of a loop: nothing was measured that tells what bounds it; the static model's word for data in "
	  "first-level cache.",
	  "full_vector_program_speedup verdict" },
	/* ---- kinds of the verdict and of findings ---- */
	{ "compute_loops", "verdict",
	  "The threads compute, and loops that are hot hold half of it or more: their code is what "
	  "to look at.",
	  "verdict compute_flat" },
	{ "compute_flat", "verdict",
	  "The threads compute, spread over many functions, none of whose loops holds much; or the "
	  "time goes to loading libraries, or to lock calls that nobody waits for.",
	  "verdict compute_loops" },
	{ "lock_wait", "verdict",
	  "Threads wait for each other: locks, barriers, conditions, semaphores.", "verdict lock" },
	{ "io_wait", "verdict",
	  "Threads wait for input and output, or for events (poll, select, epoll).", "verdict io" },
	{ "child_wait", "verdict", "A process waits for a child to end.", "verdict child" },
	{ "mpi_wait", "verdict", "A rank waits for other ranks, blocked or spinning.",
	  "verdict mpi" },
	{ "openmp_wait", "verdict",
	  "Threads of OpenMP wait in parallel regions, blocked or spinning: at barriers, for others, "
	  "for tasks, or to be woken; told where OpenMP was traced.",
	  "verdict imbalance gain_s" },
	{ "waiting_for_cpu", "verdict",
	  "Threads want to run while others have the CPUs: other programs, or the program's own "
	  "threads and processes.",
	  "verdict wait_cpu_s oversubscribed" },
	{ "unknown_code", "verdict",
	  "CPU time in code without names: neither a symbol nor unwind information covers it.",
	  "verdict [unknown]" },
	{ "too_short", "verdict",
	  "Too few samples to say anything: the program ran too briefly, or was hardly seen.",
	  "verdict samples" },
	{ "causal", "verdict",
	  "Of a finding: what a faster piece of code would bring, or that it would bring nothing, measured by "
	  "causal experiments ('sonde causal'). Its seconds are the effect's share of the threads' time.",
	  "verdict slope" },
	{ "high", "confidence",
	  "Of the verdict: far from every threshold, and on many samples. As a heading: the upper "
	  "end of the 95 % interval.",
	  "confidence exclusive_share_high" },
	{ "medium", "confidence",
	  "Of the verdict: near a threshold, or on fewer samples than a sure answer needs.",
	  "confidence" },
	{ "low", "confidence",
	  "Of the verdict: on few samples, or on figures that contradict each other. As a heading: "
	  "the lower end of the 95 % interval.",
	  "confidence exclusive_share_low" },
	{ "sentence", "text", "Of the verdict or a finding: what it is, with its evidence.",
	  "verdict findings" },
	{ "remedy", "text", "Of a finding: what to do about it.", "findings" },
	{ "program_modules", "share",
	  "In the summary: the program's category by program and library, shares of CPU time.",
	  "program" },
	/* ---- grades of advice ---- */
	{ "gain", "advice", "The static model shows that it pays.", "potential hint expert" },
	{ "potential", "advice", "May pay: the model gives what it would be at best.", "gain" },
	{ "hint", "advice", "Worth a look; the model has no figure for it.", "gain" },
	{ "expert", "advice", "For those who know the processor.", "gain" },
	/* ---- kinds of waits ---- */
	{ "lock", "wait", "In a call for a mutex or a read-write lock.", "kind blocked_s" },
	{ "condition", "wait",
	  "In a call that waits for another thread: condition variable, semaphore, barrier.",
	  "kind blocked_s" },
	{ "join", "wait", "In pthread_join and its kin: waiting for a thread to end.",
	  "kind blocked_s" },
	{ "poll", "wait", "In poll, select or epoll_wait: waiting for events.", "kind blocked_s" },
	{ "sleep", "wait",
	  "In a call that sleeps for a time (nanosleep, usleep, pause). As a verdict: most of the "
	  "threads' time goes so.",
	  "kind blocked_s" },
	{ "child", "wait", "In wait, waitpid and their like: waiting for a child process.",
	  "kind child_wait" },
	/* ---- kinds of system time ---- */
	{ "fault", "system time",
	  "In the kernel without a system call: a page fault, seldom an interrupt.", "call" },
	{ "unseen", "system time", "Time in the kernel that no sample stands for.", "call" },
	{ "unknown", "system time",
	  "In the kernel, but the machine code that went there is not at hand.", "call" },
	/* ---- classes of modules ---- */
	{ "library", "class", "A library of no kind that has a class of its own.", "class" },
	{ "libc", "class", "The C library, and the parts that belong to it.", "class" },
	{ "loader", "class", "The dynamic linker, which loads libraries and looks symbols up.",
	  "class" },
	{ "allocator", "class", "A library that allocates memory in place of the C library.",
	  "class memory" },
	{ "kernel", "class",
	  "The kernel's own code in the process, as [vdso]. As a column: whether the sample was in "
	  "the kernel.",
	  "[kernel]" },
	/* ---- what a loop of the code is of its source loop ---- */
	{ "main", "role", "The loop that does most of the work of its source loop.", "role" },
	{ "peel", "role", "Passes before the main loop, until data are aligned.", "role" },
	{ "tail", "role", "Passes that are left after the main loop.", "role" },
	{ "version", "role",
	  "Another form of the loop, chosen at run time: for data that overlap, or by a condition "
	  "that was taken out of the loop.",
	  "role" },
	{ "callee", "role", "In 'show calls': a function that the one asked for calls.", "role" },
	/* ---- quality ---- */
	{ "good", "quality", "On 100 observations or more (● or +).", "quality" },
	{ "fair", "quality", "On 20 observations or more (◐ or ~).", "quality" },
	{ "poor", "quality", "On fewer than 20 observations (○ or ?).", "quality" },
	/* ---- clocks ---- */
	{ "timers", "clock",
	  "'perf-signal, then timers': threads that wait very often changed over from perf events "
	  "to CPU timers, which cost less there and come at the kernel's tick.",
	  "clock_mechanism thread-timer" },
	{ "itimer-prof", "clock",
	  "A clock: one timer for the CPU time of the whole process, where nothing better is had.",
	  "clock_mechanism" },
	{ "off", "clock", "No samples were taken, as asked by '--clock off'.", "clock_mechanism" },
	/* ---- verdicts of 'diff' ---- */
	{ "same", "diff", "No difference beyond noise.", "verdict" },
	{ "slower", "diff", "Side B takes more, beyond noise.", "verdict p_value" },
	{ "faster", "diff", "Side B takes less, beyond noise.", "verdict p_value" },
	{ "small", "diff", "Below the share of time that is tested.", "verdict" },
	{ "repeat", "diff", "Too few runs on a side to tell noise from change.", "verdict" },
	{ "total", "diff", "The whole run, in place of a function or a loop.", "kind" },
	{ "[not placed]", "states",
	  "In 'show states': waiting of threads that have no gap between samples to put it in.",
	  "wait_cpu_s" },
	/* ---- kinds of sample packets ---- */
	{ "place", "searched", "Of the last search: a property that says where time is spent.",
	  "property" },
	{ "unmeasured", "searched",
	  "Of the last search: a property that no source of the run can measure; the explanation says "
	  "what would help.",
	  "property" },
	{ "periodic", "packet", "A sample packet of each second (record --packets).", "kind" },
	{ "start", "packet", "The sample packet of a program's begin.", "kind" },
	{ "end", "packet", "The sample packet of a program's end.", "kind" },
	{ "signal", "packet", "A sample packet that a signal asked for (record --packet-signal).",
	  "kind" },
	{ "pause", "packet",
	  "The sample packet at which measuring paused: what follows until 'resume' is not sampled.",
	  "kind resume" },
	{ "resume", "packet", "The sample packet at which measuring went on.", "kind pause" },
	{ "fork", "packet", "The sample packet before a fork.", "kind" },
	/* ---- rows of 'show env', kinds and types of phases ---- */
	{ "run", "text", "In 'show env': a fact of the launch or of the machine.", "kind" },
	{ "variable", "text", "In 'show env': a variable of the environment.", "kind" },
	{ "body", "site",
	  "Of a phase's site: instrument the function's or loop's whole body, one beat a call.",
	  "site" },
	{ "part", "site",
	  "In 'phases', of what the main loop calls: it is called again and again. As a heading: "
	  "its function.",
	  "cyclic" },
	{ "stage", "site",
	  "In 'phases', of what the main loop's function calls: once or twice, and the run stays in "
	  "it.",
	  "cyclic" },
	{ "cyclic", "site",
	  "In 'phases': what the main loop goes through in each pass, and so too quick for phases "
	  "of their own.",
	  "part stage" },
	{ "site", "site",
	  "In 'phases': a function or loop that marks a phase, active in it and little elsewhere; "
	  "where a heartbeat belongs. Of the heap: where a block was asked for, the innermost line "
	  "on the call path that is not of the C or C++ library.",
	  "phase heartbeat" },
	{ "phase", "site",
	  "In 'phases': intervals of the run in which the program does alike, as found by "
	  "clustering (docs/method/phases.md).",
	  "site" },
	{ "heartbeat", "site",
	  "In 'phases': the number of the heartbeat that would mark the phase; one site may mark "
	  "several.",
	  "site" },
	{ "phase_share", "share",
	  "In 'phases': intervals of the phase in which the site is active.", "site app_share" },
	{ "app_share", "share",
	  "In 'phases': intervals of the whole run in which the site is active.",
	  "site phase_share" },
	{ "type", "text",
	  "In 'phases': how to instrument the site: body (once a call) or loop (once a pass).",
	  "body loop" },
	{ "loop_label", "text", "In 'phases': the loop of the site, as in 'show loops'.", "loop" },
	{ "beats_per_s", "count",
	  "In 'phases': how often the heartbeat would beat, each process for itself. '>=' is a lower "
	  "bound, '~' an estimate from the code and its samples.",
	  "heartbeat" },
	{ "owner", "text", "In 'phases': the function that has the main loop.", "cyclic" },
	{ "calls", "count", "In 'phases': how often the part was called; '>=' from samples.",
	  "part" },
};
const size_t sn_explained_value_count = sizeof(sn_explained_values) / sizeof(*sn_explained_values);
