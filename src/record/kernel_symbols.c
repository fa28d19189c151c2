/* Lines of /proc/kallsyms: functions only, sorted, each as long as to the next one. */
#include "record/kernel_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* The last of a module, and gaps between modules, are no part of a function. */
static const uint64_t size_most = 1 << 20;

static int symbols_compare(const void *a, const void *b)
{
	const struct sn_kernel_symbol *x = a, *y = b;

	if (x->load_addr != y->load_addr)
		return x->load_addr < y->load_addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static size_t word_length(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && *at != ' ' && *at != '\t')
		at++;
	return (size_t)(at - from);
}

static void line_take(const char *at, const char *end, struct sn_kernel_symbols *out)
{
	struct sn_kernel_symbol symbol = { 0 };
	size_t digits = word_length(at, end), length;
	char number[20];
	char *stop;

	if (!digits || digits >= sizeof(number) || (size_t)(end - at) < digits + 4)
		return;
	memcpy(number, at, digits);
	number[digits] = '\0';
	symbol.load_addr = strtoull(number, &stop, 16);
	at += digits + 1;
	if (*stop || !strchr("tTwW", *at) || at[1] != ' ')
		return;
	at += 2;
	length = word_length(at, end);
	if (!length)
		return;
	symbol.name = sn_arena_strndup(&out->arena, at, length);
	at += length;
	if (at < end && end - at > 3 && at[1] == '[' && end[-1] == ']' &&
	    strncmp(at + 2, "__builtin__", 11) != 0)
		symbol.module = sn_arena_strndup(&out->arena, at + 2, (size_t)(end - at - 3));
	sn_vec_push(&out->items, symbol);
}

static void sizes_set(struct sn_kernel_symbols *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->items.count; i++)
		if (!kept || out->items.items[i].load_addr != out->items.items[kept - 1].load_addr)
			out->items.items[kept++] = out->items.items[i];
	out->items.count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct sn_kernel_symbol *symbol = &out->items.items[i];

		symbol->size_bytes =
			i + 1 < kept ? symbol[1].load_addr - symbol->load_addr : size_most;
		if (symbol->size_bytes > size_most)
			symbol->size_bytes = size_most;
	}
}

sn_status sn_kernel_symbols_read_memory(const char *bytes, size_t length,
					struct sn_kernel_symbols *out, struct sn_error *err)
{
	const char *end = bytes + length;

	*out = (struct sn_kernel_symbols){ 0 };
	for (const char *at = bytes, *stop; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		line_take(at, stop, out);
	}
	if (out->items.count)
		qsort(out->items.items, out->items.count, sizeof(*out->items.items),
		      symbols_compare);
	sizes_set(out);
	if (out->items.count > 1 && out->items.items[out->items.count - 1].load_addr)
		return SN_OK;
	sn_kernel_symbols_free(out);
	return sn_error_set(err, SN_ERR_UNSUPPORTED,
			    "the kernel hides the addresses of its functions "
			    "(kernel.kptr_restrict): be root, and set it to 0 or 1");
}

sn_status sn_kernel_symbols_read(struct sn_kernel_symbols *out, struct sn_error *err)
{
	struct sn_file_view view;
	sn_status status;

	if (sn_file_map("/proc/kallsyms", &view, NULL) != SN_OK)
		return sn_error_set(err, SN_ERR_UNSUPPORTED,
				    "the kernel has no list of its functions (/proc/kallsyms, "
				    "CONFIG_KALLSYMS), so its profile would have no names");
	status = sn_kernel_symbols_read_memory((const char *)view.bytes, view.length, out, err);
	sn_file_unmap(&view);
	return status;
}

const struct sn_kernel_symbol *sn_kernel_symbol_at(const struct sn_kernel_symbols *symbols,
						   uint64_t load_addr)
{
	size_t low = 0, high = symbols->items.count;
	const struct sn_kernel_symbol *symbol;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items.items[middle].load_addr <= load_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	symbol = &symbols->items.items[low - 1];
	return load_addr - symbol->load_addr < symbol->size_bytes ? symbol : NULL;
}

void sn_kernel_symbols_free(struct sn_kernel_symbols *symbols)
{
	sn_vec_free(&symbols->items);
	sn_arena_free(&symbols->arena);
	*symbols = (struct sn_kernel_symbols){ 0 };
}
