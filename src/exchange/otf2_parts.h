/** What the files of the OTF2 writer share. */
#ifndef SN_EXCHANGE_OTF2_PARTS_H
#define SN_EXCHANGE_OTF2_PARTS_H

#include "base/map.h"
#include "exchange/frames.h"
#include "exchange/otf2_library.h"
#include "mpi/mpi.h"

/** Something that is written at the begin or the end of an MPI call, in this order. */
enum sn_otf2_deed_kind {
	SN_OTF2_COLLECTIVE_BEGIN,
	SN_OTF2_COLLECTIVE_REQUEST,
	SN_OTF2_RECEIVE_REQUEST,
	SN_OTF2_SEND,
	SN_OTF2_ISEND,
	SN_OTF2_AT_END,
	SN_OTF2_SEND_COMPLETE = SN_OTF2_AT_END,
	SN_OTF2_RECEIVE,
	SN_OTF2_IRECEIVE,
	SN_OTF2_COLLECTIVE_END,
	SN_OTF2_COLLECTIVE_COMPLETE,
};

struct sn_otf2_deed {
	uint32_t event, index; /* of sn_mpi.events; of its messages or parts */
	uint32_t kind;	       /* enum sn_otf2_deed_kind */
};

struct sn_otf2_trace {
	const struct sn_otf2 *otf2;
	OTF2_Archive *archive;
	const struct sn_profile *profile;
	const struct sn_export_options *options;
	const struct sn_mpi *mpi;
	int64_t bias_ns; /* what is added to times, so that none is negative */
	uint64_t last_ns;
	uint32_t *regions; /* by frame, then by MPI function: reference + 1; 0: not met */
	SN_VEC(uint32_t) region_frames; /* by reference: that number */
	uint64_t *event_counts;		/* by thread */
	uint32_t world_count;
	uint32_t *comm_worlds;		   /* by communicator */
	uint32_t *comm_references;	   /* by communicator */
	struct sn_map comm_ranks;	   /* communicator and world rank -> rank in it + 1 */
	SN_VEC(struct sn_otf2_deed) deeds; /* by event, then kind */
	char problem[256];		   /* what libotf2 complained of first */
};

/** The reference of the region of a frame or of an MPI function (sn_frame_count + function). */
OTF2_RegionRef sn_otf2_region(struct sn_otf2_trace *trace, uint32_t frame);

/** otf2_events.c: writes the events of all threads. */
sn_status sn_otf2_events_write(struct sn_otf2_trace *trace, struct sn_error *err);
/** Communicators' references, and the deeds of all calls that pass the filter. */
void sn_otf2_deeds_gather(struct sn_otf2_trace *trace);
/** SN_ERR_IO with what libotf2 complained of. */
sn_status sn_otf2_failed(const struct sn_otf2_trace *trace, OTF2_ErrorCode code,
			 struct sn_error *err);

/** otf2_definitions.c: writes what events refer to. */
sn_status sn_otf2_definitions_write(struct sn_otf2_trace *trace, struct sn_error *err);

#endif
