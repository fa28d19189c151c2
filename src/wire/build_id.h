/**
 * The build-id of an ELF file in its notes, as the linker wrote them. It reads memory of this
 * process only, and may run in a signal handler.
 */
#ifndef SN_WIRE_BUILD_ID_H
#define SN_WIRE_BUILD_ID_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/** The longest build-id that is recorded, in bytes. A longer one counts as none. */
enum { SN_BUILD_ID_MAX = 32 };

/** The first build-id of at most `most` bytes in `left` bytes of notes, and its length; NULL, with
 * the length left as it is, if there is none. */
static inline const uint8_t *sn_build_id_find(const uint8_t *at, uint64_t left, uint32_t most,
					      uint32_t *id_bytes)
{
	struct __attribute__((packed)) note {
		uint32_t name_bytes, description_bytes, type;
	};

	while (left >= sizeof(struct note)) {
		const struct note *note = (const void *)at;
		uint64_t name = (note->name_bytes + 3UL) & ~3UL;
		uint64_t head = sizeof(*note) + name;
		uint64_t size = head + ((note->description_bytes + 3UL) & ~3UL);

		if (head + note->description_bytes > left)
			return NULL;
		if (note->type == NT_GNU_BUILD_ID && note->name_bytes == 4 &&
		    at[sizeof(*note)] == 'G' && at[sizeof(*note) + 1] == 'N' &&
		    at[sizeof(*note) + 2] == 'U' && note->description_bytes <= most) {
			*id_bytes = note->description_bytes;
			return at + head;
		}
		if (size > left)
			return NULL;
		at += size;
		left -= size;
	}
	return NULL;
}

#endif
