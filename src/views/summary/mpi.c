/* What the verdict knows of MPI, where it was traced: how long ranks waited for others, and where most. */
#include "mpi/sites.h"
#include "trace/trace.h"
#include "views/summary/evidence_parts.h"

#include "base/text.h"

/* "late_sender (mpi_waits.c:45)" */
static void add_site(struct sn_text *out, const struct sn_program *program, struct sn_mpi_site site)
{
	if (site.function == SN_NONE)
		return;
	sn_text_add(out, program->functions.items[site.function].name);
	if (site.line != SN_NONE && site.line < program->lines.count &&
	    program->lines.items[site.line].file)
		sn_text_addf(out, " (%s:%u)", sn_base_name(program->lines.items[site.line].file),
			     program->lines.items[site.line].line);
}

static const struct sn_mpi_wait_sum *largest(const struct sn_mpi_wait_sums *sums)
{
	const struct sn_mpi_wait_sum *best = NULL;

	for (size_t i = 0; i < sums->items.count; i++)
		if (!best || sums->items.items[i].wait_ns > best->wait_ns)
			best = &sums->items.items[i];
	return best;
}

static const char *kind_words(enum sn_mpi_wait kind)
{
	static const char *const words[SN_MPI_WAITS] = {
		[SN_MPI_LATE_SENDER] = "a late sender",
		[SN_MPI_LATE_RECEIVER] = "a late receiver",
		[SN_MPI_WRONG_ORDER] = "messages received in the wrong order",
		[SN_MPI_WAIT_AT_BARRIER] = "ranks that come late to a barrier",
		[SN_MPI_WAIT_AT_NXN] = "ranks that come late to an operation of all",
		[SN_MPI_EARLY_REDUCE] = "a root that comes early to a reduction",
		[SN_MPI_LATE_BROADCAST] = "a root that comes late to a broadcast",
	};

	return words[kind];
}

static void words_make(struct sn_summary *s, const struct sn_mpi *mpi,
		       const struct sn_mpi_wait_sum *most, struct sn_evidence *out)
{
	const struct sn_program *program = s->profile->program;
	struct sn_text text = { 0 };

	sn_text_addf(&text, "most for %s: rank %d waits in %s", kind_words(most->kind),
		     mpi->ranks[most->process], sn_mpi_function_name(most->function));
	if (most->site.function != SN_NONE) {
		sn_text_add(&text, ", called by ");
		add_site(&text, program, most->site);
	}
	if (most->for_process != SN_NONE)
		sn_text_addf(&text, ", for rank %d", mpi->ranks[most->for_process]);
	out->mpi_words = sn_arena_strdup(&s->arena, text.chars);
	sn_text_free(&text);
	if (most->for_process != SN_NONE) {
		sn_text_addf(&text, "Rank %d comes late", mpi->ranks[most->for_process]);
		if (most->for_site.function != SN_NONE) {
			sn_text_add(&text, " to its call in ");
			add_site(&text, program, most->for_site);
		}
		sn_text_add(&text, ": give it less to do before, or let the others work meanwhile "
				   "(sonde show waitstates)");
		out->mpi_remedy = sn_arena_strdup(&s->arena, text.chars);
		sn_text_free(&text);
	}
}

void sn_evidence_find_mpi(struct sn_summary *s, struct sn_evidence *out)
{
	struct sn_mpi_wait_sums sums;
	const struct sn_mpi_wait_sum *most;
	struct sn_mpi *mpi;
	struct sn_error err;

	if (!sn_trace_has(s->profile->experiment, SN_TRACE_MPI))
		return;
	if (sn_mpi_read(s->profile->experiment, &mpi, &err) != SN_OK) {
		sn_summary_warn(s, err.sentence);
		return;
	}
	sums = sn_mpi_wait_sums_of(s->profile->program, mpi);
	out->is_mpi_traced = true;
	for (size_t i = 0; i < sums.items.count; i++) {
		const struct sn_mpi_wait_sum *sum = &sums.items.items[i];
		double wait_s = (double)sum->wait_ns / 1e9;

		out->mpi_wait_s += wait_s;
		if (sn_mpi_function_meaning(sum->function) == SN_MPI_MEANS_FINALIZE)
			out->mpi_end_wait_s += wait_s;
	}
	most = largest(&sums);
	if (most)
		words_make(s, mpi, most, out);
	if (mpi->lost) {
		struct sn_text text = { 0 };

		sn_text_addf(
			&text,
			"%llu calls of MPI were lost, as the disk did not keep up or was full: "
			"counts are too low, and messages may lack an end",
			(unsigned long long)mpi->lost);
		sn_summary_warn(s, text.chars);
		sn_text_free(&text);
	}
	sn_vec_free(&sums.items);
	sn_mpi_free(mpi);
}
