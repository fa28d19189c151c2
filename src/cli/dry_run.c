/* record --dry-run: what would be measured, by what, and at what cost. Nothing is run. */
#include "cli/dry_run.h"

#include <stdio.h>

#include "base/text.h"
#include "record/cost.h"
#include "record/target.h"
#include "wire/settings.h"

enum { HANDLER_NS = 3000 }; /* docs/method/sampling.md: a handler with its walk */

static void cost_put(uint64_t signal_ns, double samples_per_s, FILE *out)
{
	double share = (double)(signal_ns + HANDLER_NS) * 1e-9 * samples_per_s;

	if (signal_ns)
		fprintf(out, ", about %.2g %% of CPU time here", 100 * share);
}

static void clock_put(const struct sn_record_options *o, uint64_t signal_ns, FILE *out)
{
	if (o->rate_hz <= 0) {
		fputs("clock: off\n", out);
		return;
	}
	fprintf(out, "clock: %.6g samples a second of CPU time of each thread, by perf events%s",
		o->rate_hz, o->is_rate_auto ? " for its first 0.25 s, then what costs 0.5 %" : "");
	if (!o->is_rate_auto)
		cost_put(signal_ns, o->rate_hz, out);
	fputs(signal_ns
		      ? "\n"
		      : "; perf events are refused here: CPU timers, once a kernel tick at most\n",
	      out);
}

static void counters_put(const struct sn_record_options *o, uint64_t signal_ns, FILE *out)
{
	for (uint32_t i = 0; i < o->counters.count; i++) {
		const struct sn_counter_spec *spec = &o->counters.specs[i];

		fprintf(out, "event %s: a sample in %llu%s%s; a sample costs about %.2g us\n",
			spec->name, (unsigned long long)spec->period,
			spec->flags & SN_COUNTER_ADDRESSES ? ", with data addresses" : "",
			spec->flags & SN_COUNTER_KERNEL ? ", in the kernel, too"
							: ", in the program's own code",
			(double)(signal_ns + HANDLER_NS) / 1e3);
	}
	if (o->without_counters)
		fputs("events: none (--fallback clock)\n", out);
}

static void traces_put(const struct sn_record_options *o, FILE *out)
{
	const struct {
		bool is_asked;
		const char *words;
	} traces[] = {
		{ o->heap == SN_HEAP_TRACE,
		  "heap: every allocation with its call path; 0.05 to 0.3 us a call" },
		{ o->heap == SN_HEAP_AGGREGATE,
		  "heap: sums of allocations by call path; 0.05 to 0.3 us a call" },
		{ o->heap == SN_HEAP_SAMPLE,
		  "heap: a sample of allocations with their call paths; 0.01 us a call" },
		{ o->has_sync,
		  "sync: locks by object and site; 0.015 us a free one, 0.3 us one that waits" },
		{ o->has_io && !o->io_is_sampled, "io: input and output by file; 0.1 us a call" },
		{ o->has_io && o->io_is_sampled,
		  "io: input and output by file, some of calls that come fast; 0.01 us a call" },
		{ o->mpi, "mpi: calls of MPI and messages; 0.4 us a call" },
		{ o->has_openmp, "openmp: regions and constructs; about 1 us a region and thread" },
	};

	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++)
		if (traces[i].is_asked)
			fprintf(out, "%s\n", traces[i].words);
}

int sn_cli_dry_run(const struct sn_record_options *o, FILE *out)
{
	uint64_t signal_ns = o->rate_hz > 0 || o->counters.count ? sn_cost_of_signal() : 0;
	struct sn_target target = { 0 };
	struct sn_error err;

	if (o->kernel) {
		fprintf(out,
			"kernel: %.6g samples a second of each CPU that is not idle, with the kernel's callers, "
			"by task; user code: %s\nprogram: %s, not measured itself\nnothing was run (--dry-run)\n",
			o->rate_hz, o->kernel_with_user ? "one row of each task" : "left out",
			o->pid ? "none" : o->arguments[0]);
		return SN_EXIT_OK;
	}
	if (!o->pid && sn_target_find(o->arguments[0], &target, &err) != SN_OK) {
		sn_error_print(&err);
		return target.exit_code ? target.exit_code : SN_EXIT_NOT_MEASURED;
	}
	if (o->pid)
		fprintf(out, "process: %d, from outside\n", (int)o->pid);
	else
		fprintf(out, "program: %s%s\n", target.path,
			target.kind == SN_TARGET_STATIC
				? " (static: sampled from outside, without waits)"
			: target.kind == SN_TARGET_SETUID ? " (setuid: it would be refused)"
			: target.kind == SN_TARGET_FOREIGN
				? " (not x86-64 code: it would be refused)"
				: "");
	clock_put(o, signal_ns, out);
	fputs("waits: calls that block for 50 us or more, with their call path\n", out);
	counters_put(o, signal_ns, out);
	traces_put(o, out);
	fprintf(out, "packets: what each process has used, every %g s\n", o->packets_s);
	fprintf(out, "children: --follow %s\n", o->follow);
	fprintf(out, "nothing was run (--dry-run)\n");
	return SN_EXIT_OK;
}
