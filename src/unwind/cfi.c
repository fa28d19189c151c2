/*
 * Finds the description of a function (its FDE) for a pc: by an index that was built here before,
 * else by the sorted table of .eh_frame_hdr. Both are binary searches; nothing reads .eh_frame from
 * its start where a signal handler waits.
 */
#include "unwind/cfi.h"

#include "unwind/dwarf.h"

struct pointer_bases {
	uint64_t pcrel; /* load address of the encoded field itself */
	uint64_t datarel;
};

/**
 * An encoded address (LSB "DWARF exception header encoding"). What needs a base that we do not have
 * (text, function) or a second read (indirect) fails: no toolchain writes it in these places.
 */
static uint64_t read_pointer(struct sn_unwind_bytes *cur, uint8_t encoding,
			     const struct pointer_bases *bases)
{
	uint64_t value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = sn_unwind_bytes_uint(cur, 8);
		break;
	case DW_EH_PE_udata2:
		value = sn_unwind_bytes_uint(cur, 2);
		break;
	case DW_EH_PE_udata4:
		value = sn_unwind_bytes_uint(cur, 4);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)sn_unwind_bytes_int(cur, 2);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)sn_unwind_bytes_int(cur, 4);
		break;
	case DW_EH_PE_uleb128:
		value = sn_unwind_bytes_uleb(cur);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)sn_unwind_bytes_sleb(cur);
		break;
	default:
		cur->failed = true;
		return 0;
	}
	if (encoding & DW_EH_PE_indirect)
		cur->failed = true;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + bases->pcrel;
	case DW_EH_PE_datarel:
		return value + bases->datarel;
	default:
		cur->failed = true;
		return 0;
	}
}

/** Bytes that an encoded pointer takes if that is fixed, else 0. */
static unsigned pointer_width(uint8_t encoding)
{
	static const uint8_t width[16] = { 8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8, 0, 0, 0 };

	return width[encoding & 0x0f];
}

static uint64_t address_of(const struct sn_unwind_window *window, const struct sn_unwind_bytes *cur)
{
	return window->start + (uint64_t)(cur->next - window->bytes);
}

uint64_t sn_unwind_address_read(const struct sn_unwind_module *module, struct sn_unwind_bytes *cur,
				uint8_t encoding)
{
	struct pointer_bases bases = { address_of(&module->eh_frame, cur),
				       module->eh_frame_hdr.start };
	uint64_t addr = read_pointer(cur, encoding, &bases);

	if ((encoding & 0x70) == DW_EH_PE_absptr && (module->flags & SN_UNWIND_MODULE_UNRELOCATED))
		addr += module->load_bias;
	return addr;
}

/** The extent of one record: where it begins and ends, and its id field. */
struct record {
	uint64_t load_addr;
	uint64_t id_load_addr;
	uint64_t id; /* 0: a CIE; else the distance back from the id field to the FDE's CIE */
	struct sn_unwind_bytes body; /* after the id, to the record's end */
	bool is_terminator;
};

static bool read_record(const struct sn_unwind_module *module, uint64_t load_addr,
			struct record *record)
{
	struct sn_unwind_bytes cur = sn_unwind_bytes_at(&module->eh_frame, load_addr);
	uint64_t length = sn_unwind_bytes_uint(&cur, 4);

	record->load_addr = load_addr;
	record->is_terminator = !cur.failed && length == 0;
	if (length == 0xffffffff)
		length = sn_unwind_bytes_uint(&cur, 8);
	if (cur.failed || length > sn_unwind_bytes_left(&cur))
		return false;
	cur.end = cur.next + length;
	record->body = cur;
	if (record->is_terminator)
		return true;
	record->id_load_addr = address_of(&module->eh_frame, &cur);
	record->id = sn_unwind_bytes_uint(&record->body, 4); /* 4 bytes in the 64-bit form too */
	return true;
}

struct common {
	uint8_t fde_encoding;
	uint8_t lsda_encoding;
	bool has_augmentation_data;
};

/** The letters of the augmentation string after 'z' (LSB, "CIE augmentation string format"). */
static bool read_augmentation(const struct sn_unwind_module *module, const uint8_t *letters,
			      struct sn_unwind_bytes *data, struct common *common,
			      struct sn_unwind_fde *fde)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			common->fde_encoding = (uint8_t)sn_unwind_bytes_uint(data, 1);
			break;
		case 'L':
			common->lsda_encoding = (uint8_t)sn_unwind_bytes_uint(data, 1);
			break;
		case 'P':
			encoding = (uint8_t)sn_unwind_bytes_uint(data, 1);
			/* The personality routine is not wanted, only stepped over. */
			sn_unwind_address_read(module, data,
					       encoding & (uint8_t)~DW_EH_PE_indirect);
			break;
		case 'S':
			fde->is_signal_frame = true;
			break;
		case 'B': /* AArch64 pointer authentication: nothing to do on x86 */
			break;
		default:
			return false; /* could hide an 'R' behind it */
		}
	}
	return !data->failed;
}

static bool read_common(const struct sn_unwind_module *module, uint64_t load_addr,
			struct common *common, struct sn_unwind_fde *fde)
{
	struct record record;
	struct sn_unwind_bytes *cur = &record.body, data;
	const uint8_t *letters;
	uint64_t version, data_length;

	if (!read_record(module, load_addr, &record) || record.is_terminator || record.id != 0)
		return false;
	version = sn_unwind_bytes_uint(cur, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = cur->next;
	for (uint64_t letter = 1; letter;)
		letter = sn_unwind_bytes_uint(cur, 1);
	if (cur->failed)
		return false;
	/* addresses are 8 bytes, there are no segments */
	if (version == 4 && sn_unwind_bytes_uint(cur, 2) != 8)
		return false;
	fde->code_align = sn_unwind_bytes_uleb(cur);
	fde->data_align = sn_unwind_bytes_sleb(cur);
	if ((version == 1 ? sn_unwind_bytes_uint(cur, 1) : sn_unwind_bytes_uleb(cur)) !=
	    SN_UNWIND_RIP)
		return false;
	common->fde_encoding = DW_EH_PE_absptr;
	common->lsda_encoding = DW_EH_PE_omit;
	common->has_augmentation_data = *letters == 'z';
	fde->is_signal_frame = false;
	if (common->has_augmentation_data) {
		data_length = sn_unwind_bytes_uleb(cur);
		data = *cur;
		if (!sn_unwind_bytes_skip(cur, data_length))
			return false;
		data.end = cur->next;
		if (!read_augmentation(module, letters + 1, &data, common, fde))
			return false;
	} else if (*letters) {
		return false;
	}
	fde->initial = *cur;
	return !cur->failed;
}

/** Where the exception tables of a function are, if that can be known without another read. */
static uint64_t read_lsda(const struct sn_unwind_module *module, struct sn_unwind_bytes data,
			  uint8_t encoding)
{
	struct sn_unwind_bytes raw = data;
	uint64_t load_addr;

	if (encoding == DW_EH_PE_omit || (encoding & DW_EH_PE_indirect))
		return 0;
	if (pointer_width(encoding) && sn_unwind_bytes_uint(&raw, pointer_width(encoding)) == 0)
		return 0; /* this function has none */
	load_addr = sn_unwind_address_read(module, &data, encoding);
	return data.failed ? 0 : load_addr;
}

/** Fills `fde` from a record that is known to be none of the common ones. */
static bool parse_fde(const struct sn_unwind_module *module, const struct record *record,
		      struct sn_unwind_fde *fde)
{
	struct sn_unwind_bytes cur = record->body, data;
	struct common common;
	uint64_t length, data_length;

	if (!read_common(module, record->id_load_addr - record->id, &common, fde))
		return false;
	fde->fde_load_addr = record->load_addr;
	fde->pointer_encoding = common.fde_encoding;
	fde->start_load_addr = sn_unwind_address_read(module, &cur, common.fde_encoding);
	length = read_pointer(&cur, common.fde_encoding & 0x0f, NULL);
	if (cur.failed || __builtin_add_overflow(fde->start_load_addr, length, &fde->end_load_addr))
		return false;
	fde->lsda_load_addr = 0;
	if (common.has_augmentation_data) {
		data_length = sn_unwind_bytes_uleb(&cur);
		data = cur;
		if (!sn_unwind_bytes_skip(&cur, data_length))
			return false;
		data.end = cur.next;
		fde->lsda_load_addr = read_lsda(module, data, common.lsda_encoding);
	}
	fde->program = cur;
	return !cur.failed;
}

static enum sn_unwind_found fde_at(const struct sn_unwind_module *module, uint64_t fde_load_addr,
				   uint64_t load_addr, struct sn_unwind_fde *fde)
{
	struct record record;

	if (!read_record(module, fde_load_addr, &record) || record.is_terminator ||
	    record.id == 0 || !parse_fde(module, &record, fde))
		return SN_UNWIND_CORRUPT;
	if (load_addr - fde->start_load_addr >= fde->end_load_addr - fde->start_load_addr)
		return SN_UNWIND_NOT_FOUND;
	return SN_UNWIND_FOUND;
}

/** The sorted table behind .eh_frame_hdr. */
struct search_table {
	uint64_t start_load_addr;
	uint64_t count;
	uint8_t encoding;
	unsigned width; /* bytes of one of the two addresses of an entry */
};

static bool read_header(const struct sn_unwind_module *module, struct search_table *table)
{
	const struct sn_unwind_window *hdr = &module->eh_frame_hdr;
	struct sn_unwind_bytes cur = sn_unwind_bytes_at(hdr, hdr->start);
	struct pointer_bases bases = { hdr->start, hdr->start };
	uint8_t version = (uint8_t)sn_unwind_bytes_uint(&cur, 1);
	uint8_t frame_encoding = (uint8_t)sn_unwind_bytes_uint(&cur, 1);
	uint8_t count_encoding = (uint8_t)sn_unwind_bytes_uint(&cur, 1);

	table->encoding = (uint8_t)sn_unwind_bytes_uint(&cur, 1);
	table->width = pointer_width(table->encoding);
	if (cur.failed || version != 1 || count_encoding == DW_EH_PE_omit ||
	    table->encoding == DW_EH_PE_omit || !table->width)
		return false;
	if (frame_encoding != DW_EH_PE_omit)
		read_pointer(&cur, frame_encoding & 0x0f, &bases);
	table->count = read_pointer(&cur, count_encoding & 0x0f, &bases);
	table->start_load_addr = address_of(hdr, &cur);
	return !cur.failed && table->count > 0 &&
	       table->count <= sn_unwind_bytes_left(&cur) / (2 * table->width);
}

bool sn_unwind_header_is_usable(const struct sn_unwind_module *module)
{
	struct search_table table;

	return read_header(module, &table) && module->eh_frame.end > module->eh_frame.start;
}

/** Address number `which` (0 the function's, 1 its record's) of an entry of the table. */
static uint64_t table_address(const struct sn_unwind_module *module,
			      const struct search_table *table, uint64_t index, unsigned which)
{
	uint64_t at = table->start_load_addr + (2 * index + which) * table->width;
	struct sn_unwind_bytes cur = sn_unwind_bytes_at(&module->eh_frame_hdr, at);
	struct pointer_bases bases = { at, module->eh_frame_hdr.start };

	return read_pointer(&cur, table->encoding, &bases);
}

/** The usual table: pairs of 32-bit offsets from the header. */
static uint64_t search_datarel_sdata4(const struct sn_unwind_module *module,
				      const struct search_table *table, uint64_t load_addr)
{
	const uint8_t *entries = sn_unwind_window_at(&module->eh_frame_hdr, table->start_load_addr);
	int64_t wanted = (int64_t)(load_addr - module->eh_frame_hdr.start);
	uint64_t low = 0, count = table->count;

	while (count > 1) {
		uint64_t half = count / 2;
		int32_t start;

		__builtin_memcpy(&start, entries + 8 * (low + half), 4);
		low = start <= wanted ? low + half : low;
		count -= half;
	}
	return low;
}

static uint64_t search_any(const struct sn_unwind_module *module, const struct search_table *table,
			   uint64_t load_addr)
{
	uint64_t low = 0, count = table->count;

	while (count > 1) {
		uint64_t half = count / 2;

		if (table_address(module, table, low + half, 0) <= load_addr)
			low += half;
		count -= half;
	}
	return low;
}

static uint64_t search_index(const struct sn_unwind_module *module, uint64_t load_addr)
{
	uint64_t low = 0, count = module->index_count, wanted = load_addr - module->load_start;

	while (count > 1) {
		uint64_t half = count / 2;

		if (module->index[low + half].start_offset <= wanted)
			low += half;
		count -= half;
	}
	return low;
}

enum sn_unwind_found sn_unwind_fde_find(const struct sn_unwind_module *module, uint64_t load_addr,
					struct sn_unwind_fde *fde)
{
	struct search_table table;
	uint64_t i;

	if (module->index) {
		if (module->index_count == 0)
			return SN_UNWIND_NOT_FOUND;
		i = search_index(module, load_addr);
		return fde_at(module, module->eh_frame.start + module->index[i].fde_offset,
			      load_addr, fde);
	}
	if (module->eh_frame.end == module->eh_frame.start || !read_header(module, &table))
		return SN_UNWIND_NOT_FOUND;
	if (table.encoding == (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		i = search_datarel_sdata4(module, &table, load_addr);
	else
		i = search_any(module, &table, load_addr);
	if (table_address(module, &table, i, 0) > load_addr)
		return SN_UNWIND_NOT_FOUND;
	return fde_at(module, table_address(module, &table, i, 1), load_addr, fde);
}

bool sn_unwind_fde_next(struct sn_unwind_fde_iterator *iterator, struct sn_unwind_fde *fde)
{
	const struct sn_unwind_module *module = iterator->module;
	const struct sn_unwind_window *frames = &module->eh_frame;
	struct record record;

	while (iterator->next_offset < frames->end - frames->start) {
		if (!read_record(module, frames->start + iterator->next_offset, &record)) {
			iterator->corrupt_count++;
			break;
		}
		if (record.is_terminator && !(module->flags & SN_UNWIND_MODULE_EXACT_EH_FRAME))
			break;
		iterator->next_offset = (uint64_t)(record.body.end - frames->bytes);
		if (record.is_terminator || (!record.body.failed && record.id == 0))
			continue;
		if (!record.body.failed && parse_fde(module, &record, fde))
			return true;
		iterator->corrupt_count++;
	}
	iterator->next_offset = frames->end - frames->start;
	return false;
}

/** Whether a function can stand in an index: it has code, and 32 bits reach it. */
static bool is_indexable(const struct sn_unwind_module *module, const struct sn_unwind_fde *fde)
{
	return fde->end_load_addr > fde->start_load_addr &&
	       fde->start_load_addr >= module->load_start &&
	       fde->start_load_addr - module->load_start <= UINT32_MAX &&
	       fde->fde_load_addr - module->eh_frame.start <= UINT32_MAX;
}

uint32_t sn_unwind_index_size(const struct sn_unwind_module *module)
{
	struct sn_unwind_fde_iterator iterator = { .module = module };
	struct sn_unwind_fde fde;
	uint32_t count = 0;

	while (count < UINT32_MAX && sn_unwind_fde_next(&iterator, &fde))
		count += is_indexable(module, &fde);
	return count;
}

static void sift_down(struct sn_unwind_index_entry *entries, uint64_t root, uint64_t count)
{
	struct sn_unwind_index_entry moved = entries[root];
	uint64_t child;

	while ((child = 2 * root + 1) < count) {
		if (child + 1 < count &&
		    entries[child].start_offset < entries[child + 1].start_offset)
			child++;
		if (entries[child].start_offset <= moved.start_offset)
			break;
		entries[root] = entries[child];
		root = child;
	}
	entries[root] = moved;
}

/** Heap sort: in place, never quadratic, and no library behind it. */
static void sort_entries(struct sn_unwind_index_entry *entries, uint64_t count)
{
	for (uint64_t root = count / 2; root-- > 0;)
		sift_down(entries, root, count);
	for (uint64_t end = count; end-- > 1;) {
		struct sn_unwind_index_entry largest = entries[0];

		entries[0] = entries[end];
		entries[end] = largest;
		sift_down(entries, 0, end);
	}
}

uint32_t sn_unwind_index_build(struct sn_unwind_module *module,
			       struct sn_unwind_index_entry *entries, uint32_t capacity)
{
	struct sn_unwind_fde_iterator iterator = { .module = module };
	struct sn_unwind_fde fde;
	uint32_t count = 0;

	while (count < capacity && sn_unwind_fde_next(&iterator, &fde)) {
		if (!is_indexable(module, &fde))
			continue;
		entries[count].start_offset = (uint32_t)(fde.start_load_addr - module->load_start);
		entries[count++].fde_offset =
			(uint32_t)(fde.fde_load_addr - module->eh_frame.start);
	}
	sort_entries(entries, count);
	module->index = entries;
	module->index_count = count;
	return count;
}
