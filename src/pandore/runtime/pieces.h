/**
 * What one message carries: boxes of elements of one or several arrays. A box that others hold
 * already, or that makes a larger box with one of them, is not sent twice.
 *
 * Sender and receiver add the same boxes in the same order, so they agree on the message.
 */
#ifndef PANDORE_PIECES_H
#define PANDORE_PIECES_H

#include <stddef.h>

#include "sections.h"

struct pd_piece {
	const void *storage; /* of the array; only its identity matters here */
	const struct pd_array *array;
	int site; /* the reference that asked first */
	struct pd_section section;
};

struct pd_pieces {
	struct pd_piece *items;
	size_t count, capacity;
};

/** Adds a section; returns the number of elements by which the message grows, -1 out of memory. */
long pd_pieces_add(struct pd_pieces *pieces, const void *storage, const struct pd_array *array,
		   int site, const struct pd_section *section);

#endif
