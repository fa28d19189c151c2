/* From a summary to the verdict's evidence: CPU time by what it is, places, names. Time off CPUs is
 * in evidence_time.c. */
#include "profile/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "profile/evidence_parts.h"
#include "profile/view.h"

/* ---- CPU time ---- */

struct sorting {
	const struct sn_profile *profile;
	struct sn_evidence *out;
	uint64_t *memory_ns, *io_ns; /* by function */
	uint64_t *unknown_ns;	     /* by module */
};

/* Waiting for a lock with the C library's help. */
static bool is_locking(const char *name)
{
	static const char *const words[] = { "pthread_mutex", "pthread_rwlock", "pthread_cond",
					     "lll_", "futex" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

/* Kernel time where the program itself stands, not at a system call: page faults. */
static uint64_t fault_ns(const struct sn_program *program, uint32_t stack,
			 const struct sn_weight *weight)
{
	const struct sn_class *class = &program->classes[stack];
	const char *name =
		program->functions.items[sn_program_leaf(program, stack)->function].linkage_name;

	return class->user == SN_CATEGORY_PROGRAM && class->system == SN_CATEGORY_OS &&
			       !strstr(name, "yscall") && !strstr(name, "futex")
		       ? weight->system_ns
		       : 0;
}

/* Addresses that no module has a name for; a function that only its FDE tells is a function. */
static bool is_unknown(const struct sn_program *program, uint32_t stack)
{
	const struct sn_program_function *f =
		&program->functions.items[sn_program_leaf(program, stack)->function];

	return stack < program->stack_count && f->module != SN_NONE && f->name[0] == '[';
}

static void spin_sort(struct sn_evidence *out, uint8_t category, double seconds)
{
	if (category == SN_CATEGORY_MPI)
		out->spin_mpi_s += seconds;
	else if (category == SN_CATEGORY_OPENMP)
		out->spin_openmp_s += seconds;
	else
		out->spin_lock_s += seconds;
}

static void stack_sort(struct sorting *s, uint32_t stack, const struct sn_weight *weight)
{
	const struct sn_program *program = s->profile->program;
	const struct sn_class *class = &program->classes[stack];
	const struct sn_program_place *leaf = sn_program_leaf(program, stack);
	uint64_t faults = fault_ns(program, stack, weight);
	double seconds = (double)(weight->cpu_ns - faults) / 1e9;

	s->out->memory_s += (double)faults / 1e9;
	s->memory_ns[leaf->function] += faults;
	if (class->is_spin) {
		spin_sort(s->out, class->user, seconds);
	} else if (class->user == SN_CATEGORY_MEMORY) {
		s->out->memory_s += seconds;
		s->memory_ns[leaf->function] += weight->cpu_ns;
	} else if (class->user == SN_CATEGORY_IO) {
		s->out->io_cpu_s += seconds;
		s->io_ns[leaf->function] += weight->cpu_ns;
	} else if (class->user == SN_CATEGORY_OS &&
		   is_locking(program->functions.items[leaf->function].linkage_name)) {
		s->out->lock_cpu_s += seconds;
	} else if (is_unknown(program, stack)) {
		s->out->unknown_s += seconds;
		s->unknown_ns[leaf->module] += weight->cpu_ns;
	} else {
		s->out->compute_s += seconds;
	}
}

static void place_of_most(const struct sn_program *program, const uint64_t *ns,
			  struct sn_evidence_place *out)
{
	uint32_t best = SN_NONE;

	for (uint32_t f = 0; f < program->functions.count; f++)
		if (ns[f] && (best == SN_NONE || ns[f] > ns[best]))
			best = f;
	if (best == SN_NONE)
		return;
	out->what = program->functions.items[best].name;
	out->seconds = (double)ns[best] / 1e9;
}

static void unknown_find(const struct sorting *s)
{
	const struct sn_experiment *e = s->profile->experiment;
	uint32_t best = 0;

	for (uint32_t m = 1; m < e->modules.count; m++)
		if (s->unknown_ns[m] > s->unknown_ns[best])
			best = m;
	if (!(s->out->unknown_s > 0) || best >= e->modules.count)
		return;
	s->out->unknown_module = e->modules.items[best].name;
	s->out->unknown_is_generated = e->modules.items[best].kind == SN_MODULE_JIT ||
				       e->modules.items[best].kind == SN_MODULE_UNKNOWN;
}

static void cpu_time_sort(const struct sn_profile *profile, struct sn_evidence *out)
{
	const struct sn_program *program = profile->program;
	struct sorting s = { profile, out, NULL, NULL, NULL };

	s.memory_ns = sn_alloc_zeroed(program->functions.count + 1, sizeof(uint64_t));
	s.io_ns = sn_alloc_zeroed(program->functions.count + 1, sizeof(uint64_t));
	s.unknown_ns = sn_alloc_zeroed(profile->experiment->modules.count + 1, sizeof(uint64_t));
	for (uint32_t stack = 0; stack <= program->stack_count; stack++)
		stack_sort(&s, stack, &profile->stacks[stack]);
	place_of_most(program, s.memory_ns, &out->memory);
	place_of_most(program, s.io_ns, &out->io);
	unknown_find(&s);
	free(s.memory_ns);
	free(s.io_ns);
	free(s.unknown_ns);
}

/* ---- hot places ---- */

static void hot_add(struct sn_evidence_hot *hot, struct sn_evidence_place place, double compute_s)
{
	if (hot->top_count < SN_EVIDENCE_TOP)
		hot->top[hot->top_count++] = place;
	if (place.seconds < SN_HOT_SHARE * compute_s)
		return;
	hot->count++;
	hot->seconds += place.seconds;
}

static void hot_find(const struct sn_summary *s, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;

	for (size_t i = 0; i < s->loop_count; i++) {
		const struct sn_program_loop *loop = &program->loops.items[s->loops[i].loop];

		hot_add(&out->loops,
			(struct sn_evidence_place){
				.what = loop->label,
				.caller = program->functions.items[loop->function].name,
				.seconds = (double)s->loops[i].exclusive.cpu_ns / 1e9 },
			out->compute_s);
	}
	for (size_t i = 0; i < s->function_count; i++)
		if (program->functions.items[s->functions[i]].name[0] != '[') /* unknown code */
			hot_add(&out->functions,
				(struct sn_evidence_place){
					.what = program->functions.items[s->functions[i]].name,
					.seconds = (double)s->profile->functions[s->functions[i]]
							   .exclusive.cpu_ns /
						   1e9 },
				out->compute_s);
}

/* ---- who works ---- */

static const char *program_name(const struct sn_process *process)
{
	return process->program ? sn_file_base_name(process->program) : "";
}

/* The program with most CPU time among processes that the first one started. */
static void worker_find(const struct sn_profile *p, struct sn_evidence *out)
{
	const struct sn_experiment *e = p->experiment;
	struct sn_interner names = { 0 };
	SN_VEC(struct sn_weight) sums = { 0 };
	uint64_t most = 0;

	for (size_t i = 1; i < e->processes.count; i++) {
		const struct sn_process *process = &e->processes.items[i];
		uint32_t name;

		if (process->pid == e->processes.items[0].pid || process->rank >= 0)
			continue;
		name = sn_intern_string(&names, program_name(process));
		while (sums.count <= name)
			sn_vec_push(&sums, (struct sn_weight){ 0 });
		sums.items[name].cpu_ns += p->processes[i].cpu_ns;
		sums.items[name].waits += !process->follows_exec;
		if (sums.items[name].cpu_ns <= most)
			continue;
		most = sums.items[name].cpu_ns;
		out->worker = program_name(process);
		out->worker_s = (double)most / 1e9;
		out->worker_processes = name;
	}
	if (out->worker)
		out->worker_processes = sums.items[out->worker_processes].waits;
	sn_vec_free(&sums);
	sn_interner_free(&names);
}

/* The busiest thread over the mean of those that work at all, within a process or a set of ranks.
 */
static double busiest_ratio(const struct sn_summary *s)
{
	const struct sn_profile *p = s->profile;
	uint64_t most = 0, sum = 0;
	size_t working = 0;

	if (s->processes > 1 && p->experiment->processes.items[0].rank < 0)
		return 0;
	for (size_t t = 0; t < p->experiment->threads.count; t++) {
		uint64_t ns = p->threads[t].cpu_ns;

		if (ns * 100 < p->total.cpu_ns)
			continue;
		working++;
		sum += ns;
		most = ns > most ? ns : most;
	}
	return working > 1 ? (double)most * (double)working / (double)sum : 0;
}

void sn_evidence_find(struct sn_summary *s, struct sn_evidence *out)
{
	*out = (struct sn_evidence){
		.elapsed_s = s->elapsed_s,
		.threads_s = s->threads_elapsed_s,
		.cpu_s = s->sampled_cpu_s,
		.system_s = s->system_s,
		.samples = s->samples,
		.threads = s->threads - s->threads_idle,
		.processes = s->processes,
		.overhead_share = s->overhead_share,
		.is_cut = !s->profile->is_filtered &&
			  fabs(s->sampled_cpu_s - s->cpu_s) > 0.1 * s->cpu_s,
		.busiest_ratio = busiest_ratio(s),
		.hint = s->hint,
	};
	cpu_time_sort(s->profile, out);
	hot_find(s, out);
	worker_find(s->profile, out);
	sn_evidence_find_time(s, out);
}
