/* Compressed symbol tables (.gnu_debugdata) through liblzma, where sonde was built with it. */
#include "code/xz.h"

#ifdef SN_HAS_LZMA
#include <lzma.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Symbol tables of the largest programs are a few dozen megabytes; beyond this it is an attack. */
enum { UNPACKED_BYTES_MAX = 256 << 20, XZ_MEMORY_MAX = 128 << 20 };

bool sn_can_unpack_xz(void)
{
	return true;
}

bool sn_unpack_xz(const uint8_t *bytes, size_t length, struct sn_file_view *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = 1 << 20;
	uint8_t *unpacked = NULL;
	lzma_ret ret;

	if (lzma_stream_decoder(&stream, XZ_MEMORY_MAX, 0) != LZMA_OK)
		return false;
	stream.next_in = bytes;
	stream.avail_in = length;
	do {
		if (stream.avail_out == 0) {
			if (unpacked)
				capacity *= 2;
			if (capacity > UNPACKED_BYTES_MAX)
				break;
			unpacked = sn_realloc_array(unpacked, capacity, 1);
			stream.next_out = unpacked + stream.total_out;
			stream.avail_out = capacity - stream.total_out;
		}
		ret = lzma_code(&stream, LZMA_FINISH);
	} while (ret == LZMA_OK);
	lzma_end(&stream);
	if (capacity > UNPACKED_BYTES_MAX || ret != LZMA_STREAM_END) {
		free(unpacked);
		return false;
	}
	*out = (struct sn_file_view){ unpacked, stream.total_out, false };
	return true;
}
#else
bool sn_can_unpack_xz(void)
{
	return false;
}

bool sn_unpack_xz(const uint8_t *bytes, size_t length, struct sn_file_view *out)
{
	(void)bytes, (void)length, (void)out;
	return false;
}
#endif
