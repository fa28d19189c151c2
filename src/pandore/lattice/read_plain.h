/**
 * Events as programs write them, a line each: numbers, short plain strings, lists of numbers. Reading them without making a
 * tree of the JSON is several times faster; whatever is not plain is left to the JSON reader, faults above all.
 */
#ifndef SN_LATTICE_READ_PLAIN_H
#define SN_LATTICE_READ_PLAIN_H

#include "pandore/lattice/execution.h"

enum { SN_PLAIN_CHARS_MAX = 256, SN_PLAIN_LIST_MAX = 256 };

/** One event; `event` points into it. */
struct sn_plain_event {
	struct sn_lattice_event event;
	char label[SN_PLAIN_CHARS_MAX], file[SN_PLAIN_CHARS_MAX];
	struct sn_lattice_ref after[SN_PLAIN_LIST_MAX];
	uint32_t clock[SN_PLAIN_LIST_MAX];
};

/** Whether the line is a plain event. False says nothing about it: it may be right, or wrong. */
bool sn_plain_event_read(const char *line, size_t length, struct sn_plain_event *out);

#endif
