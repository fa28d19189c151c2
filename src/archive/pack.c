/* Members go into one zstd frame with a checksum, by one thread, at one level. */
#include "archive/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "experiment/tar.h"

enum { LEVEL = 9 };

struct sn_pack {
	struct sn_file_writer writer;
	ZSTD_CCtx *stream;
	char *out;
	size_t out_bytes;
	size_t files;
	uint64_t bytes;
};

static void feed(struct sn_pack *pack, const void *bytes, size_t length, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = { bytes, length, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { pack->out, pack->out_bytes, 0 };

		left = ZSTD_compressStream2(pack->stream, &out, &in, how);
		if (ZSTD_isError(left)) /* with room for its output it fails only without memory */
			sn_out_of_memory(length);
		fwrite(pack->out, 1, out.pos, pack->writer.out);
	} while (in.pos < in.size || (how == ZSTD_e_end && left));
}

static void zeros(struct sn_pack *pack, size_t count)
{
	static const char block[2 * SN_TAR_BLOCK];

	feed(pack, block, count, ZSTD_e_continue);
}

static void header(struct sn_pack *pack, const char *name, uint64_t size, bool is_folder)
{
	struct sn_text text = { 0 };

	sn_tar_add_header(&text, name, size, is_folder);
	feed(pack, text.chars, text.length, ZSTD_e_continue);
	sn_text_free(&text);
}

sn_status sn_pack_open(const char *path, struct sn_pack **out, struct sn_error *err)
{
	struct sn_pack *pack = sn_alloc_zeroed(1, sizeof(*pack));
	sn_status status = sn_file_writer_open(&pack->writer, path, err);

	if (status != SN_OK) {
		free(pack);
		return status;
	}
	pack->stream = ZSTD_createCCtx();
	if (!pack->stream)
		sn_out_of_memory(sizeof(*pack));
	ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(pack->stream, ZSTD_c_checksumFlag, 1);
	pack->out_bytes = ZSTD_CStreamOutSize();
	pack->out = sn_alloc(pack->out_bytes);
	*out = pack;
	return SN_OK;
}

void sn_pack_folder(struct sn_pack *pack, const char *name)
{
	header(pack, name, 0, true);
}

void sn_pack_file(struct sn_pack *pack, const char *name, const void *bytes, size_t length)
{
	header(pack, name, length, false);
	if (length)
		feed(pack, bytes, length, ZSTD_e_continue);
	zeros(pack, sn_tar_padding(length));
	pack->files++;
	pack->bytes += length;
}

static void pack_free(struct sn_pack *pack)
{
	ZSTD_freeCCtx(pack->stream);
	free(pack->out);
	free(pack);
}

sn_status sn_pack_commit(struct sn_pack *pack, struct sn_error *err)
{
	sn_status status;

	zeros(pack, (size_t)2 * SN_TAR_BLOCK);
	feed(pack, NULL, 0, ZSTD_e_end);
	status = sn_file_writer_commit(&pack->writer, err);
	pack_free(pack);
	return status;
}

void sn_pack_abandon(struct sn_pack *pack)
{
	sn_file_writer_abandon(&pack->writer);
	pack_free(pack);
}

void sn_pack_count(const struct sn_pack *pack, size_t *files, uint64_t *bytes)
{
	*files = pack->files;
	*bytes = pack->bytes;
}
