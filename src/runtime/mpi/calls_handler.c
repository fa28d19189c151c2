/* Before and after a call of MPI, and the collector. */
#include "runtime/mpi/mpi.h"

static struct sn_mpi_state off;
struct sn_mpi_state *sn_mpi_state = &off;
void *sn_mpi_real[2 * SN_MPI_FUNCTION_COUNT];
_Atomic uint32_t sn_mpi_is_on;

#define FUNCTION(number, name, arguments, comm, new_comm, meaning, form, is_large)                 \
	{ arguments, SN_MPI_MEANS_##meaning, SN_MPI_FORM_##form, is_large, comm, new_comm },
const struct sn_mpi_function sn_mpi_functions[SN_MPI_FUNCTION_COUNT] = { SN_MPI_FUNCTIONS(
	FUNCTION) };

enum { MEASURED_EVERY = 61 /* calls: a prime */ };

/* Whether the thread is within a call of MPI: the frame of the outer one lies further out. One that does
 * not has been left by longjmp or an exception. */
static bool is_inside(const struct sn_mpi_thread *mpi, const uint64_t *frame)
{
	return mpi->outer && frame < mpi->outer;
}

/* What a debugger would ask for: in which call the thread is. Plain stores; a reader looks only when the
 * process is gone, or for a glance. */
static void open_call(struct sn_thread *self, struct sn_mpi_thread *mpi, struct sn_mpi_call *call)
{
	struct sn_mpi_counts *counts = sn_mpi_counts_of(self, mpi);
	const struct sn_mpi_function *function = &sn_mpi_functions[call->function];
	bool has_peer = function->comm_at >= 2 && function->meaning >= SN_MPI_MEANS_SEND &&
			function->meaning <= SN_MPI_MEANS_RECV_INIT;

	if (!counts)
		return;
	counts->peer = has_peer ? (int32_t)*sn_mpi_argument(call, 3) : SN_MPI_NOBODY;
	counts->tag = has_peer ? (int32_t)*sn_mpi_argument(call, 4) : SN_MPI_NOBODY;
	counts->path = call->path;
	counts->begin_tsc = call->begin_tsc;
	counts->comm = 0;
	atomic_store_explicit(&counts->open, call->function + 1, memory_order_release);
}

static void close_call(const struct sn_mpi_thread *mpi)
{
	if (mpi->counts)
		atomic_store_explicit(&mpi->counts->open, 0, memory_order_release);
}

struct sn_mpi_entry sn_mpi_enter(struct sn_mpi_call *call, uint32_t index);
struct sn_mpi_entry sn_mpi_enter(struct sn_mpi_call *call, uint32_t index)
{
	struct sn_mpi_entry entry = { sn_mpi_real[index], 0 };
	struct sn_thread *self = sn_self_in_call();
	struct sn_mpi_thread *mpi;
	uint8_t meaning = sn_mpi_functions[index / 2].meaning;

	if (!entry.real)
		entry.real = sn_mpi_resolve(index);
	if (!entry.real) {
		entry.real = sn_mpi_absent(index);
		return entry;
	}
	/* messages are matched by their order: an agent's windows are cut out when they are read */
	if (!self || !sn_is_active() || !sn_mpi_is_on ||
	    (sn_is_paused() && !sn_config.settings.is_monitored))
		return entry;
	if (meaning == SN_MPI_MEANS_CONVERSION && index & 1)
		return entry;
	mpi = sn_mpi_of(self);
	if (is_inside(mpi, call->frame) || mpi->is_writing)
		return entry;
	if (!sn_mpi_library.kind && !sn_mpi_find_library())
		return entry;
	call->self = self;
	call->function = index / 2;
	call->is_local = meaning <= SN_MPI_MEANS_TYPE_FREE;
	mpi->outer = call->frame;
	entry.is_seen = 1;
	if (!call->is_local) {
		uint64_t begin = __builtin_ia32_rdtsc();
		mpi->is_writing = true;
		call->path = sn_path_take(self, &mpi->paths, call->frame);
		sn_mpi_prepare(call, mpi);
		mpi->is_writing = false;
		call->begin_tsc = begin;
		open_call(self, mpi, call);
		mpi->before_ticks = __builtin_ia32_rdtsc() - begin;
	}
	call->begin_tsc = __builtin_ia32_rdtsc();
	return entry;
}

static void count_local(struct sn_thread *self, struct sn_mpi_thread *mpi,
			const struct sn_mpi_call *call, uint64_t ticks)
{
	struct sn_mpi_counts *counts = sn_mpi_counts_of(self, mpi);

	if (!counts) {
		sn_trace_lose(SN_TRACE_MPI);
		return;
	}
	counts->functions[call->function].calls++;
	counts->functions[call->function].ticks += ticks;
	if (sn_mpi_functions[call->function].meaning == SN_MPI_MEANS_TYPE_FREE)
		atomic_fetch_add_explicit(&sn_mpi_state->type_generation, 1, memory_order_relaxed);
}

/* One call in many is measured, what came before it with it. */
static void count_cost(struct sn_mpi_thread *mpi, uint64_t end_tsc)
{
	if (sn_trace_measures(&mpi->stream.unmeasured, MEASURED_EVERY))
		sn_trace_count_cost(SN_TRACE_MPI,
				    mpi->before_ticks + __builtin_ia32_rdtsc() - end_tsc,
				    sn_trace_stands_for(mpi->stream.unmeasured, MEASURED_EVERY));
}

void sn_mpi_leave(struct sn_mpi_call *call);
void sn_mpi_leave(struct sn_mpi_call *call)
{
	uint64_t end_tsc = __builtin_ia32_rdtsc();
	struct sn_thread *self = call->self;
	struct sn_mpi_thread *mpi = sn_mpi_of(self);

	mpi->outer = NULL;
	if (!sn_is_active())
		return;
	if (call->is_local) {
		count_local(self, mpi, call, end_tsc - call->begin_tsc);
		return;
	}
	mpi->is_writing = true;
	close_call(mpi);
	sn_mpi_note(call, mpi, end_tsc);
	count_cost(mpi, end_tsc);
	mpi->is_writing = false;
}

/* ---- the collector ---- */

static void begin_thread(struct sn_thread *thread, enum sn_thread_origin origin)
{
	(void)origin;
	if (sn_mpi_is_on)
		memset(sn_mpi_of(thread), 0, offsetof(struct sn_mpi_thread, paths.frames));
}

static void end_thread(struct sn_thread *self, int64_t now_ns)
{
	struct sn_mpi_thread *mpi = sn_mpi_of(self);

	(void)now_ns;
	if (!sn_mpi_is_on || !sn_state->trace)
		return;
	mpi->counts = NULL;
	sn_trace_give_slot(&mpi->counts_writer);
	sn_trace_give_slot(&mpi->stream.writer);
}

struct sn_collector sn_mpi_collector = {
	.name = "mpi",
	.scratch_bytes = sizeof(struct sn_mpi_thread),
	.install = sn_mpi_install,
	.thread_begin = begin_thread,
	.thread_end = end_thread,
};
