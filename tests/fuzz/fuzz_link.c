/* Frames of agents: as a message, as a spool. */
#include "search/link/outbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct sn_cursor cur = sn_cursor_over(bytes, length);
	struct sn_outbox outbox = { 0 };
	struct sn_link_frame frame;

	while (sn_link_frame_read(&cur, &frame) == SN_OK || sn_link_frame_seek(&cur)) {
	}
	sn_outbox_read_memory(bytes, length, &outbox);
	sn_outbox_close(&outbox);
	return 0;
}
