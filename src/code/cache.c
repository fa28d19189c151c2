/*
 * The cache of extracts: what was once read of a module is not read again. A module's file is one extract behind
 * another: what a run found missing is appended, for a new file in its place costs the kernel more than packing
 * what is new.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "code/extract.h"
#include "code/extract_format.h"
#include "code/image.h"

/* With so many extracts in it, a file is written anew as one. Each costs some 30 us to open. */
enum { PARTS_MOST = 16 };

/* Beyond this the files that were not used for longest go. */
static const uint64_t folder_bytes_most = UINT64_C(512) << 20;

struct addresses {
	uint64_t *items;
	size_t count, capacity;
};

struct sn_module_code {
	struct sn_text id, state, folder, file; /* `folder`, `file`: of the cache; empty: none */
	SN_VEC(struct sn_structure *)
	cached;			   /* the extracts in the cache's file; none: nothing of use */
	bool is_to_replace;	   /* the file: some of it is damaged or of another state */
	struct sn_structure *live; /* NULL: the cache has all that is wanted */
	struct sn_image *image;
	struct addresses wanted, missing; /* `missing`: that the cache does not know */
	uint8_t *is_missing;		  /* by function of `live` */
};

/* False if there is no place for a cache. */
static bool cache_folder(struct sn_text *folder)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (base && *base == '/')
		sn_text_addf(folder, "%s/sonde/extracts", base);
	else if (home && *home == '/')
		sn_text_addf(folder, "%s/.cache/sonde/extracts", home);
	return folder->length > 0;
}

static bool is_miss(const struct sn_structure *structure, uint64_t link_addr)
{
	size_t low = 0, high = structure->misses.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (structure->misses.items[middle] < link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < structure->misses.count && structure->misses.items[low] == link_addr;
}

/* What this sonde makes of a module; another build of it may see more or other loops. */
static void add_own_state(struct sn_text *state)
{
	struct stat own;

	if (!stat("/proc/self/exe", &own))
		sn_text_addf(state, " by %lld %lld.%09ld", (long long)own.st_size,
			     (long long)own.st_mtim.tv_sec, own.st_mtim.tv_nsec);
}

static bool is_of(const struct sn_structure *cached, const struct sn_module_code *code)
{
	return !strcmp(cached->id, code->id.chars) && cached->debug_state &&
	       !strcmp(cached->debug_state, code->state.chars);
}

static void read_cached(struct sn_module_code *code)
{
	struct sn_file_view file;
	size_t length;

	if (sn_file_map(code->file.chars, &file, NULL) != SN_OK)
		return;
	for (size_t at = 0; at < file.length && !code->is_to_replace; at += length) {
		struct sn_structure *cached = NULL;

		length = sn_extract_length(file.bytes + at, file.length - at);
		if (length &&
		    sn_extract_read_memory(file.bytes + at, length, code->file.chars, &cached,
					   NULL) == SN_OK &&
		    is_of(cached, code)) {
			sn_vec_push(&code->cached, cached);
		} else {
			sn_structure_free(cached);
			code->is_to_replace = true;
		}
	}
	code->is_to_replace |= code->cached.count >= PARTS_MOST;
	sn_file_unmap(&file);
	if (code->cached.count)
		utimensat(AT_FDCWD, code->file.chars, NULL, 0); /* used just now */
}

static bool is_known(const struct sn_module_code *code, uint64_t link_addr)
{
	for (size_t i = 0; i < code->cached.count; i++) {
		const struct sn_structure *cached = code->cached.items[i];

		if (sn_structure_find(cached, link_addr) >= 0 || is_miss(cached, link_addr))
			return true;
	}
	return false;
}

static void close_live(struct sn_module_code *code)
{
	free(code->is_missing);
	sn_structure_free(code->live);
	sn_image_free(code->image);
	code->is_missing = NULL;
	code->live = NULL;
	code->image = NULL;
}

/* Reads what the cache lacks: what stands around it, or the whole file. */
static sn_status open_live(struct sn_module_code *code, const char *path,
			   const struct sn_image_options *options, bool on_demand,
			   struct sn_error *err)
{
	struct sn_image_options own = options ? *options : (struct sn_image_options){ 0 };
	sn_status status;

	own.on_demand = on_demand;
	own.unpacked_folder = code->folder.length ? code->folder.chars : NULL;
	own.keeps_nothing = !code->cached.count;
	status = sn_image_open(path, &own, &code->image, err);
	if (status == SN_OK)
		status = sn_structure_open(code->image, &code->live, err);
	if (status != SN_OK)
		return status;
	code->is_missing = sn_alloc_zeroed(code->live->function_count + 1, 1);
	sn_extract_want(code->live, code->missing.items, code->missing.count, code->is_missing);
	if (!sn_structure_is_full(code->live))
		return SN_OK;
	close_live(code);
	return open_live(code, path, options, false, err);
}

sn_status sn_module_code_open(const char *path, const struct sn_image_options *options,
			      const uint64_t *link_addrs, size_t count, struct sn_module_code **out,
			      struct sn_error *err)
{
	struct sn_module_code *code = sn_alloc_zeroed(1, sizeof(*code));
	sn_status status = sn_image_identify(path, options, &code->id, &code->state, err);

	add_own_state(&code->state);
	if (status == SN_OK && cache_folder(&code->folder)) {
		sn_text_addf(&code->file, "%s/%s.extract", code->folder.chars, code->id.chars);
		read_cached(code);
	}
	for (size_t i = 0; i < count; i++) {
		sn_vec_push(&code->wanted, link_addrs[i]);
		if (!is_known(code, link_addrs[i]))
			sn_vec_push(&code->missing, link_addrs[i]);
	}
	for (size_t i = 0; i < code->cached.count; i++)
		code->cached.items[i]->path = sn_structure_string(code->cached.items[i], path);
	if (status == SN_OK && (code->missing.count || !code->cached.count))
		status = open_live(code, path, options, true, err);
	if (status == SN_OK)
		*out = code;
	else
		sn_module_code_free(code);
	return status;
}

void sn_module_code_free(struct sn_module_code *code)
{
	if (!code)
		return;
	close_live(code);
	for (size_t i = 0; i < code->cached.count; i++)
		sn_structure_free(code->cached.items[i]);
	sn_vec_free(&code->cached);
	sn_text_free(&code->id);
	sn_text_free(&code->state);
	sn_text_free(&code->folder);
	sn_text_free(&code->file);
	sn_vec_free(&code->wanted);
	sn_vec_free(&code->missing);
	free(code);
}

const char *sn_module_code_id(const struct sn_module_code *code)
{
	return code->id.chars;
}

bool sn_module_code_has_build_id(const struct sn_module_code *code)
{
	return code->id.chars[0] != 'h'; /* sn_image_id */
}

static void add_cached(struct sn_extract_functions *to, const struct sn_module_code *code)
{
	for (size_t i = 0; i < code->cached.count; i++) {
		struct sn_structure *cached = code->cached.items[i];
		uint8_t *is_wanted = sn_alloc_zeroed(cached->function_count + 1, 1);

		sn_extract_want(cached, code->wanted.items, code->wanted.count, is_wanted);
		sn_extract_add(to, cached, is_wanted);
		free(is_wanted);
	}
}

static void add_live(struct sn_extract_functions *to, const struct sn_module_code *code)
{
	if (code->live)
		sn_extract_add(to, code->live, code->is_missing);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Addresses in no function, of now and if asked for of the cache: sorted, each once. */
static struct addresses all_misses(const struct sn_module_code *code, bool with_cached)
{
	struct addresses all = { 0 };
	size_t kept = 0;

	for (size_t c = 0; with_cached && c < code->cached.count; c++)
		for (size_t i = 0; i < code->cached.items[c]->misses.count; i++)
			sn_vec_push(&all, code->cached.items[c]->misses.items[i]);
	for (size_t i = 0; code->live && i < code->missing.count; i++)
		if (sn_structure_find(code->live, code->missing.items[i]) < 0)
			sn_vec_push(&all, code->missing.items[i]);
	if (all.count)
		qsort(all.items, all.count, sizeof(*all.items), by_value);
	for (size_t i = 0; i < all.count; i++)
		if (!kept || all.items[kept - 1] != all.items[i])
			all.items[kept++] = all.items[i];
	all.count = kept;
	return all;
}

/* What the cache had not, and if asked for what it had. */
static void pack_all(struct sn_module_code *code, bool with_cached, struct sn_text *bytes)
{
	struct sn_extract_functions functions = { 0 };
	struct addresses misses = all_misses(code, with_cached);

	for (size_t i = 0; with_cached && i < code->cached.count; i++)
		sn_extract_add_all(&functions, code->cached.items[i]);
	add_live(&functions, code);
	sn_extract_settle(&functions);
	sn_extract_pack(code->live ? code->live : code->cached.items[0], &functions, NULL,
			code->state.chars, misses.items, misses.count, bytes);
	sn_vec_free(&functions);
	sn_vec_free(&misses);
}

struct cache_file {
	int64_t used_ns;
	uint64_t bytes;
	char *name;
};

static int by_use(const void *a, const void *b)
{
	const struct cache_file *x = a, *y = b;

	return x->used_ns < y->used_ns ? 1 : x->used_ns > y->used_ns ? -1 : 0;
}

/* The files used last stay. Once in a process: a look at some hundred files takes milliseconds, and what one command
 * adds is little. */
static void cache_trim(const char *folder)
{
	static atomic_flag is_done = ATOMIC_FLAG_INIT;
	SN_VEC(struct cache_file) files = { 0 };
	uint64_t bytes = 0;
	DIR *names;

	if (atomic_flag_test_and_set(&is_done))
		return;
	names = opendir(folder);
	for (struct dirent *entry; names && (entry = readdir(names));) {
		struct stat st;

		if (entry->d_name[0] == '.' || fstatat(dirfd(names), entry->d_name, &st, 0) ||
		    !S_ISREG(st.st_mode))
			continue;
		sn_vec_push(&files,
			    (struct cache_file){ (int64_t)st.st_mtim.tv_sec * 1000000000 +
							 st.st_mtim.tv_nsec,
						 (uint64_t)st.st_size, sn_strdup(entry->d_name) });
	}
	if (files.count)
		qsort(files.items, files.count, sizeof(*files.items), by_use);
	for (size_t i = 0; i < files.count; i++) {
		bytes += files.items[i].bytes;
		if (bytes > folder_bytes_most)
			unlinkat(dirfd(names), files.items[i].name, 0);
		free(files.items[i].name);
	}
	sn_vec_free(&files);
	if (names)
		closedir(names);
}

/* Failing to write is no failure. */
static void cache_replace(const struct sn_module_code *code, const struct sn_text *bytes)
{
	struct sn_file_writer writer;

	if (!code->file.length || sn_make_folders(code->folder.chars, NULL) != SN_OK ||
	    sn_file_writer_open(&writer, code->file.chars, NULL) != SN_OK)
		return;
	fwrite(bytes->chars, 1, bytes->length, writer.out);
	if (sn_file_writer_commit(&writer, NULL) == SN_OK)
		cache_trim(code->folder.chars);
}

/* In one call: others may append, too, or put another file in its place, from which then is read again. What is cut
 * short by a full disk is damage, and the next who has something to add replaces the file. */
static void cache_append(const struct sn_module_code *code, const struct sn_text *bytes)
{
	int fd = open(code->file.chars, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return;
	do
		written = write(fd, bytes->chars, bytes->length);
	while (written < 0 && errno == EINTR);
	close(fd);
	cache_trim(code->folder.chars);
}

static void cache_add(struct sn_module_code *code)
{
	bool is_appended = code->cached.count && !code->is_to_replace;
	struct sn_text bytes = { 0 };

	pack_all(code, !is_appended, &bytes);
	if (is_appended)
		cache_append(code, &bytes);
	else
		cache_replace(code, &bytes);
	sn_text_free(&bytes);
}

sn_status sn_module_code_write(struct sn_module_code *code,
			       const struct sn_extract_options *options, const char *path,
			       struct sn_error *err)
{
	struct sn_extract_functions functions = { 0 };
	sn_status status;

	add_cached(&functions, code);
	add_live(&functions, code);
	sn_extract_settle(&functions);
	status = sn_extract_save(code->live ? code->live : code->cached.items[0], &functions,
				 options, path, err);
	sn_vec_free(&functions);
	if (code->live && code->file.length)
		cache_add(code);
	return status;
}

sn_status sn_structure_open_cached(const char *path, const struct sn_image_options *options,
				   const uint64_t *link_addrs, size_t count,
				   struct sn_structure **out, struct sn_error *err)
{
	struct sn_module_code *code;
	struct sn_text bytes = { 0 };
	sn_status status = sn_module_code_open(path, options, link_addrs, count, &code, err);

	if (status != SN_OK)
		return status;
	if (!code->live && code->cached.count == 1) {
		*out = code->cached.items[0];
		code->cached.count = 0;
	} else {
		pack_all(code, true, &bytes);
		cache_replace(code, &bytes);
		status = sn_extract_read_memory(bytes.chars, bytes.length, path, out, err);
		sn_text_free(&bytes);
	}
	sn_module_code_free(code);
	return status;
}
