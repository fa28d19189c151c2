/* From a summary to the verdict's evidence: CPU time by what it is, places, names. Time off CPUs is
 * in evidence_time.c. */
#include "views/summary/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/text.h"
#include "profile/generated.h"
#include "profile/system_call.h"
#include "views/summary/evidence_parts.h"
#include "views/summary/verdict_parts.h"
#include "profile/turns.h"
#include "whatif/data_use.h"
#include "whatif/judged.h"

/* ---- CPU time ---- */

struct sorting {
	const struct sn_profile *profile;
	struct sn_structures *structures;
	const struct sn_machine *machine; /* or NULL */
	struct sn_evidence *out;
	uint64_t *memory_ns, *io_ns, *compute_ns, *spin_ns; /* by function */
	uint64_t *loop_ns;				    /* computing, by loop */
	uint64_t *hot_ns;				    /* in hot loops, by function */
	uint64_t *unknown_ns;				    /* by module */
	const struct sn_judged *judged;
	uint32_t hint_loop; /* that the hint is on, if it was judged; else SN_NONE */
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

/* Kernel time that no system call asked for: page faults. Where the machine code is not at hand it
 * is what the program itself stands in. */
static uint64_t fault_ns(const struct sorting *s, uint32_t stack, const struct sn_weight *weight)
{
	const struct sn_program *program = s->profile->program;
	const struct sn_class *class = &program->classes[stack];
	enum sn_system_kind kind;

	if (!weight->system_ns || class->system != SN_CATEGORY_OS)
		return 0;
	kind = sn_system_kind_of(program, s->structures, stack);
	return kind == SN_SYSTEM_FAULT ||
			       (kind == SN_SYSTEM_UNKNOWN && class->user == SN_CATEGORY_PROGRAM)
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
	enum sn_module_class module =
		program->module_classes[leaf->module == SN_NONE
						? s->profile->experiment->modules.count
						: leaf->module];
	uint64_t faults = fault_ns(s, stack, weight);
	double seconds = (double)(weight->cpu_ns - faults) / 1e9;

	if (module == SN_MODULE_CLASS_LOADER) { /* page faults of loading are loading, too */
		s->out->loading_s += (double)weight->cpu_ns / 1e9;
		return;
	}
	s->out->memory_s += (double)faults / 1e9;
	s->memory_ns[leaf->function] += faults;
	if (module == SN_MODULE_CLASS_SONDE)
		return; /* what measuring took is no time of the program */
	if (class->is_spin) {
		if (class->user != SN_CATEGORY_MPI && class->user != SN_CATEGORY_OPENMP)
			s->spin_ns[leaf->function] += weight->cpu_ns;
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
	} else if (is_unknown(program, stack)) { /* why it touches memory, nobody can tell either */
		s->out->memory_s -= (double)faults / 1e9;
		s->memory_ns[leaf->function] -= faults;
		s->out->unknown_s += (double)weight->cpu_ns / 1e9;
		s->unknown_ns[leaf->module] += weight->cpu_ns;
	} else {
		s->out->compute_s += seconds;
		s->compute_ns[leaf->function] += weight->cpu_ns - faults;
		if (leaf->loop != SN_NONE)
			s->loop_ns[leaf->loop] += weight->cpu_ns - faults;
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
	const struct sn_generated_maker *maker = sn_generated_maker_of(e);
	uint32_t best = 0;

	for (uint32_t m = 1; m < e->modules.count; m++)
		if (s->unknown_ns[m] > s->unknown_ns[best])
			best = m;
	if (!(s->out->unknown_s > 0) || best >= e->modules.count)
		return;
	s->out->unknown_module = e->modules.items[best].name;
	s->out->unknown_is_generated = e->modules.items[best].kind == SN_MODULE_JIT ||
				       e->modules.items[best].kind == SN_MODULE_UNKNOWN;
	if (maker)
		s->out->unknown_names_by = maker->names;
}

/* ---- hot places ---- */

/* Places come hottest first, or nearly so. */
static void hot_add(struct sn_evidence_hot *hot, struct sn_evidence_place place, double compute_s)
{
	size_t at = hot->top_count;

	while (at > 0 && hot->top[at - 1].seconds < place.seconds)
		at--;
	if (at < SN_EVIDENCE_TOP) {
		hot->top_count += hot->top_count < SN_EVIDENCE_TOP;
		memmove(&hot->top[at + 1], &hot->top[at],
			(hot->top_count - at - 1) * sizeof(*hot->top));
		hot->top[at] = place;
	}
	if (place.seconds < SN_HOT_SHARE * compute_s)
		return;
	hot->count++;
	hot->seconds += place.seconds;
}

/* Computing, for the most part: what copies or reads is another cause. Its figure is that of the
 * tables, whole. */
static bool is_computing(uint64_t computing_ns, const struct sn_weight *exclusive)
{
	return computing_ns * 2 > exclusive->cpu_ns;
}

/* A function does several things: one that computes as long as a hot one does is hot, too. */
static bool computes(const struct sorting *s, uint32_t function)
{
	return is_computing(s->compute_ns[function], &s->profile->functions[function].exclusive) ||
	       (double)s->compute_ns[function] / 1e9 >= SN_HOT_SHARE * s->out->compute_s;
}

/* A loop that waits for its data is no computing. */
static void take_data(struct sorting *s, uint32_t loop, const struct sn_data_use *use,
		      struct sn_evidence_place place)
{
	struct sn_evidence *out = s->out;
	uint32_t function = s->profile->program->loops.items[loop].function;

	if (!out->data.count) {
		out->data_pass_ns = use->pass_ns;
		out->data_near_cycles = use->near_cycles;
		out->data_spread_bytes = use->spread_bytes;
		out->data_is_sure = use->is_sure;
	}
	out->data_s += (double)s->loop_ns[loop] / 1e9;
	out->compute_s = fmax(0, out->compute_s - (double)s->loop_ns[loop] / 1e9);
	s->compute_ns[function] -= s->loop_ns[loop] < s->compute_ns[function]
					   ? s->loop_ns[loop]
					   : s->compute_ns[function];
	out->hint_is_of_data |= loop == s->hint_loop;
	if (out->data.top_count < SN_EVIDENCE_TOP)
		out->data.top[out->data.top_count++] = place;
	out->data.count++;
	out->data.seconds += place.seconds;
}

/* What was measured says that the loop waits for its data for more than half of its time, or that it does not. */
enum settled { NOT_SETTLED, SETTLED_DATA, SETTLED_ELSE };

static enum settled by_dl1(struct sorting *s, const struct sn_variant_figure *dl1)
{
	const double waits_least = 2;

	if (dl1->speedup_range.high < waits_least)
		return SETTLED_ELSE;
	if (dl1->speedup_range.low < waits_least)
		return NOT_SETTLED;
	if (!s->out->data.count)
		s->out->data_dl1 =
			(struct sn_evidence_measured){ dl1->speedup, dl1->speedup_range };
	return SETTLED_DATA;
}

static enum settled by_measurement(struct sorting *s, const struct sn_judged_loop *judged)
{
	const struct sn_loop_evidence *evidence = &judged->evidence;

	if (sn_variant_counts(&judged->variants, SN_VARIANT_DL1))
		return by_dl1(s, &judged->variants.figures[SN_VARIANT_DL1]);
	if (evidence->trust > SN_EVIDENCE_MEDIUM)
		return NOT_SETTLED;
	if (strcmp(evidence->kind, "memory_bound") != 0)
		return SETTLED_ELSE;
	if (!s->out->data.count)
		s->out->data_list_cycles = judged->variants.figures[SN_VARIANT_ORIG].cycles;
	return SETTLED_DATA;
}

/* Loads and stores take what it takes, with data in cache as they are: it does not compute. */
static void add_near(struct sn_evidence *out, const struct sn_judged_loop *judged, double seconds)
{
	const struct sn_variants *measured = &judged->variants;

	if (measured->class != SN_CLASS_DATA)
		return;
	out->near_s += seconds;
	if ((int)judged->evidence.trust > (int)out->near_trust)
		out->near_trust = judged->evidence.trust < SN_EVIDENCE_LOW
					  ? (enum sn_trust)judged->evidence.trust
					  : SN_TRUST_LOW;
	if (measured->has_latency && measured->is_latency_bound)
		out->near_latency_s += seconds;
}

static bool waits_for_data(struct sorting *s, uint32_t loop, struct sn_evidence_place place,
			   double compute_s)
{
	const struct sn_judged_loop *judged = sn_judged_of(s->judged, loop);
	enum settled settled;
	struct sn_data_use use;

	if (!s->structures || place.seconds < SN_HOT_SHARE * compute_s)
		return false;
	settled = judged ? by_measurement(s, judged) : NOT_SETTLED;
	if (settled == SETTLED_ELSE) {
		if (sn_variant_counts(&judged->variants, SN_VARIANT_DL1))
			add_near(s->out, judged, place.seconds);
		return false;
	}
	if (settled == SETTLED_DATA) {
		use = (struct sn_data_use){
			.is_sure = judged->evidence.trust == SN_EVIDENCE_HIGH,
			.near_cycles = judged->known.quality ? judged->known.quality->cycles : 0,
		};
		take_data(s, loop, &use, place);
		return true;
	}
	sn_data_use_of_loop(s->machine, s->profile, s->structures, loop, &use);
	if (use.reach == SN_DATA_UNSETTLED)
		s->out->unsettled_s += place.seconds;
	if (use.reach != SN_DATA_SLOW)
		return false;
	take_data(s, loop, &use, place);
	return true;
}

/* The module of a function that has an address for a name; else NULL. */
static const char *module_of_nameless(const struct sn_program *program, uint32_t function)
{
	const struct sn_program_function *f = &program->functions.items[function];

	return sn_name_is_address(f->name) ? sn_program_module_name(program, f->module) : NULL;
}

/* A hot loop; whether the hint is one on it, and it is the hottest. */
static void hot_loop_add(struct sorting *s, const struct sn_summary *summary,
			 const struct sn_summary_loop *row, struct sn_evidence_place place)
{
	const struct sn_program *program = s->profile->program;
	const struct sn_program_loop *loop = &program->loops.items[row->loop];
	size_t before = s->out->loops.count;

	hot_add(&s->out->loops, place, s->out->compute_s);
	if (s->out->loops.count == before)
		return;
	s->hot_ns[loop->function] += row->exclusive.cpu_ns;
	if (!before)
		s->out->loop_rank = row->rank;
	if (summary->hint &&
	    loop->source_loop == program->loops.items[summary->hint_loop].source_loop) {
		s->out->hint = summary->hint;
		s->out->hint_is_of_first = !before;
	}
}

static void hot_loops_find(struct sorting *s, const struct sn_summary *summary)
{
	const struct sn_program *program = s->profile->program;
	double compute_s = s->out->compute_s;

	for (size_t i = 0; i < summary->loop_count; i++) {
		const struct sn_summary_loop *row = &summary->loops[i];
		const struct sn_program_loop *loop = &program->loops.items[row->loop];

		struct sn_evidence_place place = {
			.what = loop->code->label,
			.caller = program->functions.items[loop->function].name,
			.module = module_of_nameless(program, loop->function),
			.seconds = (double)row->exclusive.cpu_ns / 1e9,
		};

		if (is_computing(s->loop_ns[row->loop], &s->profile->loops[row->loop].exclusive) &&
		    !waits_for_data(s, row->loop, place, compute_s))
			hot_loop_add(s, summary, row, place);
	}
}

static bool has_no_code(const struct sorting *s, uint32_t function)
{
	uint32_t module = s->profile->program->functions.items[function].module;

	return s->structures && module != SN_NONE && !sn_structures_of(s->structures, module);
}

/* What is no function of the program's ("[unknown]") is another cause, too. */
static void hot_functions_find(const struct sorting *s, const struct sn_summary *summary)
{
	const struct sn_program *program = s->profile->program;
	double compute_s = s->out->compute_s;

	for (size_t i = 0; i < summary->function_count; i++) {
		uint32_t f = summary->functions[i];
		uint64_t ns = s->profile->functions[f].exclusive.cpu_ns;
		struct sn_evidence_place place = { .what = program->functions.items[f].name,
						   .module = module_of_nameless(program, f),
						   .has_no_code = has_no_code(s, f),
						   .seconds = (double)ns / 1e9 };

		if (program->functions.items[f].name[0] == '[' || !computes(s, f)) {
			s->out->functions_before += !s->out->functions.top_count;
			continue;
		}
		hot_add(&s->out->functions, place, compute_s);
		place.seconds -= fmin(place.seconds, (double)s->hot_ns[f] / 1e9);
		if (place.seconds >= SN_HOT_SHARE * compute_s)
			hot_add(&s->out->rests, place, compute_s);
	}
}

/* The module that computes most, where another one computes, too. */
static void module_find(const struct sorting *s)
{
	const struct sn_program *program = s->profile->program;
	size_t count = s->profile->experiment->modules.count;
	uint64_t *ns = sn_alloc_zeroed(count + 1, sizeof(*ns)), sum = 0;
	uint32_t best = 0;

	for (uint32_t f = 0; f < program->functions.count; f++)
		if (program->functions.items[f].module < count)
			ns[program->functions.items[f].module] += s->compute_ns[f];
	for (uint32_t m = 0; m < count; m++) {
		sum += ns[m];
		best = ns[m] > ns[best] ? m : best;
	}
	if (count && ns[best] && ns[best] < sum)
		s->out->module = (struct sn_evidence_place){
			.what = sn_program_module_name(program, best),
			.seconds = (double)ns[best] / 1e9,
		};
	free(ns);
}

/* Where no loops are hot, functions are asked. */
static void functions_settle(struct sorting *s, const struct sn_summary *summary)
{
	s->out->unsettled_s = 0;
	for (size_t i = 0; s->structures && i < summary->function_count; i++) {
		uint32_t f = summary->functions[i];
		double seconds = (double)s->profile->functions[f].exclusive.cpu_ns / 1e9;
		struct sn_data_use use;

		if (seconds < SN_HOT_SHARE * s->out->compute_s || !computes(s, f))
			continue;
		sn_data_use_of_function(s->profile, s->structures, f, &use);
		if (use.reach == SN_DATA_UNSETTLED)
			s->out->unsettled_s += seconds;
	}
}

static void sorting_free(struct sorting *s)
{
	free(s->memory_ns);
	free(s->io_ns);
	free(s->compute_ns);
	free(s->spin_ns);
	free(s->loop_ns);
	free(s->hot_ns);
	free(s->unknown_ns);
}

static void cpu_time_sort(const struct sn_summary *summary, const struct sn_machine *machine,
			  const struct sn_judged *judged, uint32_t hint_loop,
			  struct sn_evidence *out)
{
	const struct sn_profile *profile = summary->profile;
	const struct sn_program *program = profile->program;
	size_t functions = program->functions.count + 1;
	struct sorting s = {
		.profile = profile,
		.structures = summary->structures,
		.machine = machine,
		.out = out,
		.judged = judged,
		.hint_loop = hint_loop,
		.memory_ns = sn_alloc_zeroed(functions, sizeof(uint64_t)),
		.io_ns = sn_alloc_zeroed(functions, sizeof(uint64_t)),
		.compute_ns = sn_alloc_zeroed(functions, sizeof(uint64_t)),
		.spin_ns = sn_alloc_zeroed(functions, sizeof(uint64_t)),
		.loop_ns = sn_alloc_zeroed(program->loops.count + 1, sizeof(uint64_t)),
		.hot_ns = sn_alloc_zeroed(functions, sizeof(uint64_t)),
		.unknown_ns =
			sn_alloc_zeroed(profile->experiment->modules.count + 1, sizeof(uint64_t)),
	};

	for (uint32_t stack = 0; stack <= program->stack_count; stack++)
		stack_sort(&s, stack, &profile->stacks[stack]);
	place_of_most(program, s.memory_ns, &out->memory);
	place_of_most(program, s.io_ns, &out->io);
	place_of_most(program, s.spin_ns, &out->spin);
	unknown_find(&s);
	hot_loops_find(&s, summary);
	hot_functions_find(&s, summary);
	module_find(&s);
	if (!sn_verdict_is_in_loops(out))
		functions_settle(&s, summary);
	sorting_free(&s);
}

static void turns_find(struct sn_summary *s, struct sn_evidence *out)
{
	struct sn_text place = { 0 };
	struct sn_turns turns;

	sn_turns_find(s->profile, s->structures, &turns);
	if (!turns.called)
		return;
	sn_turns_add_place(s->profile->program, &turns, &place);
	out->spin_turns_s = turns.seconds;
	out->turns_kind = sn_turns_kind(&turns);
	out->turns_place = sn_arena_strdup(&s->arena, place.chars);
	sn_text_free(&place);
}

/* ---- who works ---- */

static const char *program_name(const struct sn_process *process)
{
	return process->program ? sn_base_name(process->program) : "";
}

/* The program with most CPU time among processes that the first one started. */
static void worker_find(const struct sn_profile *p, struct sn_evidence *out)
{
	const struct sn_experiment *e = p->experiment;
	struct sn_interner names = { 0 };
	SN_VEC(struct sn_weight) sums = { 0 };
	uint64_t most = 0;
	size_t worker = SIZE_MAX; /* the name of the one chosen so far */

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
		worker = name;
	}
	if (worker < sums.count)
		out->worker_processes = sums.items[worker].waits;
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

void sn_evidence_find(struct sn_summary *s, const struct sn_machine *machine,
		      const struct sn_judged *judged, uint32_t hint_loop, struct sn_evidence *out)
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
	};
	cpu_time_sort(s, machine, judged, hint_loop, out);
	if (out->hint_is_of_data)
		out->hint = s->hint;
	turns_find(s, out);
	worker_find(s->profile, out);
	sn_evidence_find_mpi(s, out);
	sn_evidence_find_locks(s, out);
	sn_evidence_find_io(s, out);
	sn_evidence_find_openmp(s, out);
	sn_evidence_find_time(s, out);
}
