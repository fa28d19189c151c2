/*
 * Reads the call-site tables of exception handling (the LSDA of each function). A landing pad is
 * entered by the unwinder, so no jump in the code leads to it: without this it would look
 * unreachable.
 */
#include "code/landing_pads.h"

#include "base/cursor.h"

enum { OMIT = 0xff, PADS_MAX = 1 << 20 };

/* A number of a DW_EH_PE format; call-site tables are neither relative nor indirect. */
static uint64_t encoded(struct sn_cursor *cur, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x01:
		return sn_cursor_uleb128(cur);
	case 0x02:
		return sn_cursor_u16(cur);
	case 0x03:
		return sn_cursor_u32(cur);
	case 0x00:
	case 0x04:
	case 0x0c:
		return sn_cursor_u64(cur);
	case 0x09:
		return (uint64_t)sn_cursor_sleb128(cur);
	case 0x0a:
		return (uint64_t)(int16_t)sn_cursor_u16(cur);
	case 0x0b:
		return (uint64_t)(int32_t)sn_cursor_u32(cur);
	default:
		sn_cursor_fail(cur);
		return 0;
	}
}

static void read_table(const struct sn_image *image, const struct sn_fde *fde,
		       struct sn_landing_pads *pads)
{
	size_t available;
	const uint8_t *bytes = sn_image_bytes(image, fde->lsda_link_addr, &available);
	struct sn_cursor cur = sn_cursor_over(bytes, available), table;
	uint64_t pads_base = fde->link_addr, length;
	uint8_t encoding = sn_cursor_u8(&cur); /* fails on no bytes */
	const uint8_t *begin;

	/* a landing-pad base of its own is relative, and no compiler here writes one */
	if (!bytes || encoding != OMIT)
		return;
	if (sn_cursor_u8(&cur) != OMIT)
		sn_cursor_uleb128(&cur);
	encoding = sn_cursor_u8(&cur);
	length = sn_cursor_uleb128(&cur);
	begin = length <= sn_cursor_left(&cur) ? sn_cursor_bytes(&cur, length) : NULL;
	if (!begin || cur.status != SN_OK)
		return;
	table = sn_cursor_over(begin, length);
	while (sn_cursor_left(&table) && pads->count < PADS_MAX) {
		uint64_t start = encoded(&table, encoding), size = encoded(&table, encoding);
		uint64_t pad = encoded(&table, encoding);
		struct sn_landing_pad found = { fde->link_addr + start,
						fde->link_addr + start + size, pads_base + pad };

		sn_cursor_uleb128(&table); /* action */
		if (table.status != SN_OK)
			return;
		if (pad && found.end_link_addr > found.first_link_addr)
			sn_vec_push(pads, found);
	}
}

void sn_landing_pads_read(const struct sn_image *image, const struct sn_range *ranges, size_t count,
			  struct sn_landing_pads *pads)
{
	for (size_t i = 0; i < count; i++) {
		struct sn_fdes fdes = { 0 };

		sn_image_fdes_between(image, ranges[i].first_link_addr, ranges[i].end_link_addr,
				      &fdes);
		for (size_t k = 0; k < fdes.count; k++)
			if (fdes.items[k].lsda_link_addr)
				read_table(image, &fdes.items[k], pads);
		sn_vec_free(&fdes);
	}
}
