/* Events from the bytes of a piece, which may be those of a damaged file. */
#include "mpi/parts.h"

void sn_mpi_reader_open(struct sn_mpi_reader *reader, const struct sn_trace_item *item)
{
	*reader = (struct sn_mpi_reader){ .next = (const uint8_t *)(item->piece + 1),
					  .end = (const uint8_t *)item->piece + item->bytes,
					  .tsc = item->piece->base_tsc };
}

static bool number_read(struct sn_mpi_reader *reader, uint64_t *out)
{
	if (sn_trace_number(&reader->next, reader->end, out))
		return true;
	reader->is_damaged = true;
	reader->next = reader->end;
	return false;
}

static bool values_read(struct sn_mpi_reader *reader, struct sn_mpi_record *out, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!number_read(reader, &out->values[i]))
			return false;
	return true;
}

static bool call_read(struct sn_mpi_reader *reader, struct sn_mpi_record *out)
{
	uint64_t function, begin, ticks, path = reader->path, error = 0;

	if (!number_read(reader, &function) || !number_read(reader, &begin) ||
	    !number_read(reader, &ticks))
		return false;
	if (!(out->flags & SN_MPI_SAME_PATH) && !number_read(reader, &path))
		return false;
	if (out->flags & SN_MPI_FAILED && !number_read(reader, &error))
		return false;
	out->function = (uint32_t)function;
	out->path = reader->path = (uint32_t)path;
	out->error = (uint32_t)error;
	out->begin_tsc = reader->tsc + (uint64_t)sn_trace_unzigzag(begin);
	out->end_tsc = reader->tsc = out->begin_tsc + ticks;
	return true;
}

static bool comm_read(struct sn_mpi_reader *reader, struct sn_mpi_record *out)
{
	uint64_t value;

	if (!values_read(reader, out, 5) || !number_read(reader, &out->run_count))
		return false;
	out->runs = reader->next;
	for (uint64_t i = 0; i < out->run_count; i++)
		for (int k = 0; k < 3; k++)
			if (!number_read(reader, &value))
				return false;
	out->runs_end = reader->next;
	return true;
}

static bool time_read(struct sn_mpi_reader *reader, struct sn_mpi_record *out)
{
	if (!values_read(reader, out, 2))
		return false;
	reader->tsc += out->values[0];
	return true;
}

bool sn_mpi_reader_next(struct sn_mpi_reader *reader, struct sn_mpi_record *out)
{
	static const uint8_t value_counts[SN_MPI_EVENTS] = {
		[SN_MPI_SEND] = 4,     [SN_MPI_RECV] = 4,      [SN_MPI_MATCHED] = 3,
		[SN_MPI_DONE] = 3,     [SN_MPI_PROBE] = 4,     [SN_MPI_COLLECTIVE] = 4,
		[SN_MPI_TRANSFER] = 2, [SN_MPI_COMM_FREE] = 1, [SN_MPI_WORLD] = 4,
	};
	uint64_t difference;
	bool is_read;

	out->kind = SN_MPI_NONE;
	if (reader->next >= reader->end)
		return false;
	uint8_t kind = *reader->next & SN_MPI_KIND_MASK;
	out->flags = *reader->next++ & (uint8_t)~SN_MPI_KIND_MASK;
	out->has_handle = false;
	if (kind == SN_MPI_NONE || kind >= SN_MPI_EVENTS) {
		reader->is_damaged = true;
		reader->next = reader->end;
		return false;
	}
	if (kind == SN_MPI_CALL)
		is_read = call_read(reader, out);
	else if (kind == SN_MPI_COMM)
		is_read = comm_read(reader, out);
	else if (kind == SN_MPI_TIME)
		is_read = time_read(reader, out);
	else
		is_read = values_read(reader, out, value_counts[kind]);
	if (!is_read)
		return false;
	if (kind != SN_MPI_CALL && kind != SN_MPI_COMM && out->flags & SN_MPI_HAS_HANDLE) {
		if (!number_read(reader, &difference))
			return false;
		out->has_handle = true;
		out->handle = reader->handle += (uint64_t)sn_trace_unzigzag(difference);
	}
	out->kind = kind;
	return true;
}

struct sn_trace_instant sn_mpi_last_instant(const struct sn_trace_item *item)
{
	const struct sn_trace_piece *piece = item->piece;
	struct sn_trace_instant last = { piece->base_tsc, piece->base_ns };
	struct sn_mpi_reader reader;
	struct sn_mpi_record record;

	if (piece->kind != SN_TRACE_MPI)
		return last;
	sn_mpi_reader_open(&reader, item);
	while (sn_mpi_reader_next(&reader, &record))
		if (record.kind == SN_MPI_TIME)
			last = (struct sn_trace_instant){
				reader.tsc, (int64_t)((uint64_t)piece->base_ns + record.values[1])
			};
	return last;
}
