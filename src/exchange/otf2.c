/*
 * OTF2 ("Open Trace Format 2", version 3, of Score-P): the trace that Vampir, Scalasca and their kin read. A
 * location is a thread, a location group a process. docs/manual/exchange.md says what is kept.
 */
#include "exchange/export.h"
#include "exchange/frames.h"

#ifdef SN_HAVE_OTF2

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exchange/otf2_parts.h"

static OTF2_FlushType pre_flush(void *context, OTF2_FileType type, OTF2_LocationRef location,
				void *caller, bool is_final)
{
	(void)context, (void)type, (void)location, (void)caller, (void)is_final;
	return OTF2_FLUSH;
}

/* libotf2 prints what it dislikes unless somebody listens. */
__attribute__((format(printf, 6, 0))) static OTF2_ErrorCode
complaint(void *context, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
	  const char *format, va_list arguments)
{
	struct sn_otf2_trace *t = context;

	int number = errno;
	size_t length;

	(void)file, (void)line, (void)function;
	if (t->problem[0])
		return code;
	vsnprintf(t->problem, sizeof(t->problem), format, arguments);
	length = strlen(t->problem);
	if (number && length + 3 < sizeof(t->problem))
		snprintf(t->problem + length, sizeof(t->problem) - length, ": %s",
			 strerrordesc_np(number));
	return code;
}

sn_status sn_otf2_failed(const struct sn_otf2_trace *t, OTF2_ErrorCode code, struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_IO,
			    "cannot write the OTF2 trace: libotf2 says '%s' (error %d)",
			    t->problem[0] ? t->problem : "no reason", (int)code);
}

OTF2_RegionRef sn_otf2_region(struct sn_otf2_trace *t, uint32_t frame)
{
	if (!t->regions[frame]) {
		sn_vec_push(&t->region_frames, frame);
		t->regions[frame] = (uint32_t)t->region_frames.count;
	}
	return t->regions[frame] - 1;
}

static OTF2_ErrorCode properties_write(const struct sn_otf2_trace *t)
{
	const struct sn_experiment *e = t->profile->experiment;
	char text[32];
	OTF2_ErrorCode code = t->otf2->Archive_SetCreator(t->archive, "sonde");

	if (code == OTF2_SUCCESS && e->host)
		code = t->otf2->Archive_SetMachineName(t->archive, e->host);
	if (code == OTF2_SUCCESS && e->arguments)
		code = t->otf2->Archive_SetDescription(t->archive, e->arguments);
	if (t->mpi->host_count > 1 && !t->mpi->is_aligned)
		snprintf(text, sizeof(text), "unknown");
	else
		snprintf(text, sizeof(text), "%" PRIi64,
			 e->clock_error_ns > t->mpi->clock_error_ns ? e->clock_error_ns
								    : t->mpi->clock_error_ns);
	if (code == OTF2_SUCCESS)
		code = t->otf2->Archive_SetProperty(t->archive, "SONDE::CLOCK_ERROR_NS", text,
						    true);
	snprintf(text, sizeof(text), "%" PRIu64, t->mpi->lost);
	if (code == OTF2_SUCCESS)
		code = t->otf2->Archive_SetProperty(t->archive, "SONDE::MPI_EVENTS_LOST", text,
						    true);
	return code;
}

static sn_status archive_fill(struct sn_otf2_trace *t, struct sn_error *err)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = pre_flush };
	OTF2_ErrorCode code =
		t->otf2->Archive_SetFlushCallbacks(t->archive, (OTF2_FlushCallbacks *)&flush, NULL);
	sn_status status;

	if (code == OTF2_SUCCESS)
		code = t->otf2->Archive_SetSerialCollectiveCallbacks(t->archive);
	if (code == OTF2_SUCCESS)
		code = properties_write(t);
	if (code != OTF2_SUCCESS)
		return sn_otf2_failed(t, code, err);
	sn_otf2_deeds_gather(t);
	status = sn_otf2_events_write(t, err);
	return status == SN_OK ? sn_otf2_definitions_write(t, err) : status;
}

static void trace_free(struct sn_otf2_trace *t)
{
	free(t->regions);
	free(t->event_counts);
	free(t->comm_worlds);
	free(t->comm_references);
	sn_map_free(&t->comm_ranks);
	sn_vec_free(&t->region_frames);
	sn_vec_free(&t->deeds);
}

static sn_status trace_write(struct sn_otf2_trace *t, const char *folder, struct sn_error *err)
{
	const struct sn_experiment *e = t->profile->experiment;
	OTF2_ErrorCode code;
	sn_status status;

	errno = 0;
	t->otf2->Error_RegisterCallback(complaint, t);
	t->archive = t->otf2->Archive_Open(
		folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
		OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!t->archive)
		return sn_otf2_failed(t, OTF2_ERROR_INVALID, err);
	t->regions = sn_alloc_zeroed(sn_frame_count(t->profile->program) + SN_MPI_FUNCTION_COUNT,
				     sizeof(*t->regions));
	t->event_counts = sn_alloc_zeroed(e->threads.count + 1, sizeof(*t->event_counts));
	for (size_t p = 0; p < e->processes.count; p++)
		if (-t->mpi->shifts_ns[p] > t->bias_ns)
			t->bias_ns = -t->mpi->shifts_ns[p];
	status = archive_fill(t, err);
	code = t->otf2->Archive_Close(t->archive);
	return status == SN_OK && code != OTF2_SUCCESS ? sn_otf2_failed(t, code, err) : status;
}

sn_status sn_export_otf2_check(struct sn_error *err)
{
	return sn_otf2_library(err) ? SN_OK : SN_ERR_UNSUPPORTED;
}

sn_status sn_export_otf2(const struct sn_profile *profile, const struct sn_export_options *options,
			 const char *folder, struct sn_error *err)
{
	struct sn_otf2_trace t = { .otf2 = sn_otf2_library(err),
				   .profile = profile,
				   .options = options };
	struct sn_mpi *mpi = NULL;
	sn_status status;

	if (!t.otf2)
		return SN_ERR_UNSUPPORTED;
	status = sn_mpi_read(profile->experiment, &mpi, err);
	if (status != SN_OK)
		return status;
	t.mpi = mpi;
	status = trace_write(&t, folder, err);
	trace_free(&t);
	sn_mpi_free(mpi);
	return status;
}

#else

sn_status sn_export_otf2_check(struct sn_error *err)
{
	return sn_error_set(err, SN_ERR_UNSUPPORTED,
			    "this sonde was built without libotf2, so it does not write --to otf2; "
			    "chrome is a timeline, too");
}

sn_status sn_export_otf2(const struct sn_profile *profile, const struct sn_export_options *options,
			 const char *folder, struct sn_error *err)
{
	(void)profile, (void)options, (void)folder;
	return sn_export_otf2_check(err);
}

#endif
