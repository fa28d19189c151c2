/* libdeflate is loaded when something is to be unpacked: few commands unpack anything, and nothing is lost
 * where it is not installed. */
#include "code/inflate.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

/* As libdeflate.h has them; they are the same in all versions that are named libdeflate.so.0. */
struct functions {
	void *(*alloc)(void);
	int (*decompress)(void *unpacker, const void *bytes, size_t length, void *out, size_t room,
			  size_t *got);
	void (*release)(void *unpacker);
};

static void *function(void *library, const char *name, bool *is_whole)
{
	void *found = dlsym(library, name);

	*is_whole &= found != NULL;
	return found;
}

/* The library stays. */
static bool load(struct functions *out)
{
	void *library = dlopen("libdeflate.so.0", RTLD_NOW | RTLD_LOCAL);
	bool is_whole = library != NULL;
	void *found[3] = { 0 };

	if (!is_whole)
		return false;
	found[0] = function(library, "libdeflate_alloc_decompressor", &is_whole);
	found[1] = function(library, "libdeflate_zlib_decompress", &is_whole);
	found[2] = function(library, "libdeflate_free_decompressor", &is_whole);
	memcpy(&out->alloc, &found[0], sizeof(void *));
	memcpy(&out->decompress, &found[1], sizeof(void *));
	memcpy(&out->release, &found[2], sizeof(void *));
	return is_whole;
}

bool sn_inflate_zlib(const uint8_t *bytes, size_t length, uint8_t *out, size_t room)
{
	uLongf got = room;

	return uncompress(out, &got, bytes, length) == Z_OK && got == room;
}

bool sn_inflate(const uint8_t *bytes, size_t length, uint8_t *out, size_t room)
{
	struct functions deflate;
	void *unpacker = load(&deflate) ? deflate.alloc() : NULL;
	size_t got = 0;
	bool is_whole;

	if (!unpacker)
		return sn_inflate_zlib(bytes, length, out, room);
	is_whole = !deflate.decompress(unpacker, bytes, length, out, room, &got) && got == room;
	deflate.release(unpacker);
	return is_whole;
}

bool sn_inflate_first_zlib(const uint8_t *bytes, size_t length, uint8_t *out, size_t wanted)
{
	z_stream stream = { .next_in = (uint8_t *)(uintptr_t)bytes,
			    .avail_in = (uInt)length,
			    .next_out = out,
			    .avail_out = (uInt)wanted };
	bool is_had;

	if (length > UINT_MAX || wanted > UINT_MAX || inflateInit(&stream) != Z_OK)
		return false;
	while (stream.avail_out && inflate(&stream, Z_SYNC_FLUSH) == Z_OK)
		;
	is_had = !stream.avail_out;
	inflateEnd(&stream);
	return is_had;
}

/* Whether it was written to well behind what is wanted: libdeflate unpacks forwards, and copies at most some 40
 * bytes beyond where it is. Its interface does not say what it leaves where the room does not do. */
static bool has_passed(const uint8_t *slack, uint8_t mark)
{
	for (size_t i = SN_INFLATE_SLACK / 2; i < SN_INFLATE_SLACK; i++)
		if (slack[i] != mark)
			return true;
	return false;
}

bool sn_inflate_first(const uint8_t *bytes, size_t length, uint8_t *out, size_t wanted)
{
	enum { NO_ROOM = 3, MARK = 0xa5 }; /* LIBDEFLATE_INSUFFICIENT_SPACE */
	struct functions deflate;
	void *unpacker = load(&deflate) ? deflate.alloc() : NULL;
	size_t got = 0;
	int result;

	if (!unpacker)
		return sn_inflate_first_zlib(bytes, length, out, wanted);
	memset(out + wanted, MARK, SN_INFLATE_SLACK);
	result = deflate.decompress(unpacker, bytes, length, out, wanted + SN_INFLATE_SLACK, &got);
	deflate.release(unpacker);
	return result == NO_ROOM && has_passed(out + wanted, MARK);
}
