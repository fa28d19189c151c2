/**
 * The frames that agents of a search send each other, and that spools and journals are made of.
 *
 * A message is one frame or several, one behind the other: whoever passes frames on packs them and never
 * changes them. A frame is a head of SN_LINK_HEAD bytes and a body. All numbers are little-endian:
 *
 *	u32 magic   u16 version   u16 type   u32 flags   u32 agent   u32 epoch   u32 body bytes
 *	u64 number   u64 ack   u32 crc32c   u32 zero
 *
 * The CRC is of the head, with 0 in its own place, and the body.
 *
 * Versions: a peer of version N understands N - 1 and N + 1. A body may end earlier than its reader knows
 * it (what lacks is 0) or later (the rest is left alone), so fields are only ever added at the end. A type
 * that the reader does not know is an error, unless the frame is marked optional.
 */
#ifndef SN_WIRE_LINK_H
#define SN_WIRE_LINK_H

#include <stdint.h>

#define SN_LINK_MAGIC 0x32434153u /* "SAC2" */

enum {
	SN_LINK_VERSION = 1,
	SN_LINK_HEAD = 48,
	SN_LINK_BODY_MOST = 1 << 20,	/* of a frame */
	SN_LINK_MESSAGE_MOST = 4 << 20, /* frames that are packed */
	SN_LINK_OPTIONAL = 1,		/* flags: who does not know the type leaves it out */
};

enum sn_link_type {
	SN_LINK_HELLO =
		1,	 /* up: u16 lowest version, u16 highest, u32 pid; number: results so far */
	SN_LINK_WELCOME, /* down: u16 version, u64 ns since the phases began (all ones: not yet) */
	SN_LINK_REJECT,	 /* down: u16 lowest version, u16 highest, then a sentence */
	SN_LINK_BEAT,	/* a hop up: u32 count, u32 agents that live below. A hop down: u64 ns since
			    * the front was heard */
	SN_LINK_RESULT, /* up: a result (search/simulate/result.h), the number-th of its epoch */
	SN_LINK_ACK,	/* down: the journal has all of `epoch` up to `ack` */
	SN_LINK_BEGIN,	/* down, to all: u64 ns since the phases began */
	SN_LINK_BEGUN,	/* up: the answer */
	SN_LINK_END, /* down, to all: the search is over. u32 1: for those that measure; who passes
			    * words on stays until 0 comes */
	SN_LINK_STATE, /* in a spool: what its agent has come to */
	SN_LINK_NOTE,  /* up, and in a journal: u64 strangers refused, u64 results repeated, by
			    * this agent in this epoch so far */
	SN_LINK_MEASURE, /* down, to all: u32 step, u32 first execution, u32 executions, u64 ns that its end
			    * may stop a process */
	SN_LINK_AT, /* up: u32 executions that have ended, f64 seconds of one, u32 step answered, u32
			    * whether another is wanted, u32 whether a process watches the phase, string name */
	SN_LINK_SAY, /* up: string name, string sentence for whoever watches */
};

/** An agent's number: node agents from 0, the front, inner agents from here. */
#define SN_LINK_INNER 0x40000000u
#define SN_LINK_FRONT 0x80000000u

#endif
