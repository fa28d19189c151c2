/* A page that is mapped by all; every number in it is small and written by one. */
#include "search/simulate/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x73656361506e53ULL /* "SnPaces" */

enum { NODES_MOST = 1 << 20, LEVELS_MOST = 20 };

static uint32_t up(uint32_t count, uint32_t fanout)
{
	return (count + fanout - 1) / fanout;
}

uint32_t sn_places_inners(uint32_t nodes, uint32_t fanout)
{
	uint32_t level = up(nodes, fanout), all = level;

	while (level > fanout) {
		level = up(level, fanout);
		all += level;
	}
	return all;
}

uint32_t sn_places_parent(const struct sn_places *p, uint32_t agent)
{
	uint32_t first = 0, level = up(p->nodes, p->fanout), number = agent - SN_LINK_INNER;

	if (agent < SN_LINK_INNER)
		return SN_LINK_INNER + agent / p->fanout;
	while (number >= first + level) {
		first += level;
		level = up(level, p->fanout);
	}
	if (level <= p->fanout)
		return SN_LINK_FRONT;
	return SN_LINK_INNER + first + level + (number - first) / p->fanout;
}

uint32_t sn_places_count(const struct sn_places *p)
{
	return 1 + p->inners + p->nodes;
}

struct sn_place *sn_place_of(struct sn_places *p, uint32_t agent)
{
	if (agent == SN_LINK_FRONT)
		return &p->places[0];
	if (agent < p->nodes)
		return &p->places[1 + p->inners + agent];
	if (agent >= SN_LINK_INNER && agent - SN_LINK_INNER < p->inners)
		return &p->places[1 + agent - SN_LINK_INNER];
	return NULL;
}

uint32_t sn_places_agent(const struct sn_places *p, uint32_t index)
{
	return !index		    ? SN_LINK_FRONT
	       : index <= p->inners ? SN_LINK_INNER + index - 1
				    : index - 1 - p->inners;
}

const char *sn_agent_name(uint32_t agent, char out[32])
{
	if (agent == SN_LINK_FRONT)
		snprintf(out, 32, "front");
	else if (agent >= SN_LINK_INNER)
		snprintf(out, 32, "inner %u", agent - SN_LINK_INNER);
	else
		snprintf(out, 32, "node %u", agent);
	return out;
}

/* ---- addresses ---- */

void sn_place_address_set(struct sn_place *place, const char address[SN_LINK_ADDRESS])
{
	uint32_t version = atomic_load(&place->version);

	version += version & 1; /* whoever wrote before was killed at it */
	atomic_store(&place->version, version + 1);
	memcpy(place->address, address, SN_LINK_ADDRESS);
	atomic_store(&place->version, version + 2);
}

bool sn_place_address(struct sn_place *place, char out[SN_LINK_ADDRESS])
{
	uint32_t version = atomic_load(&place->version);

	if (!version || version & 1)
		return false;
	memcpy(out, place->address, SN_LINK_ADDRESS);
	out[SN_LINK_ADDRESS - 1] = '\0';
	return atomic_load(&place->version) == version;
}

/* ---- the page ---- */

static size_t bytes_of(uint32_t nodes, uint32_t inners)
{
	return sizeof(struct sn_places) + (1 + (size_t)nodes + inners) * sizeof(struct sn_place);
}

static sn_status map(int fd, const char *path, size_t bytes, struct sn_places **out,
		     struct sn_error *err)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return sn_error_errno(err, "search: cannot map '%s'", path);
	*out = mapped;
	return SN_OK;
}

static bool is_whole(const struct sn_places *p, size_t bytes)
{
	return bytes >= sizeof(*p) && p->magic == MAGIC && p->nodes && p->nodes <= NODES_MOST &&
	       p->fanout > 1 && p->inners == sn_places_inners(p->nodes, p->fanout) &&
	       bytes == bytes_of(p->nodes, p->inners);
}

static sn_status page_make(int fd, const char *path, uint32_t nodes, uint32_t fanout,
			   struct sn_places **out, struct sn_error *err)
{
	const size_t bytes = bytes_of(nodes, sn_places_inners(nodes, fanout));
	sn_status status;

	/* a hole would be a SIGBUS once the disk is full */
	errno = posix_fallocate(fd, 0, (off_t)bytes);
	if (errno) {
		status = sn_error_errno(err, "search: cannot write '%s'", path);
		unlink(path);
		return status;
	}
	status = map(fd, path, bytes, out, err);
	if (status != SN_OK)
		return status;
	(*out)->nodes = nodes;
	(*out)->fanout = fanout;
	(*out)->inners = sn_places_inners(nodes, fanout);
	(*out)->magic = MAGIC;
	return SN_OK;
}

static sn_status page_open(int fd, const char *path, struct sn_places **out, struct sn_error *err)
{
	struct stat facts;
	sn_status status;

	if (fstat(fd, &facts) || facts.st_uid != geteuid() || facts.st_mode & 077 ||
	    facts.st_size < (off_t)sizeof(**out))
		return sn_error_set(err, SN_ERR_FORMAT, "search: '%s' is not a page of yours alone",
				    path);
	status = map(fd, path, (size_t)facts.st_size, out, err);
	if (status != SN_OK || is_whole(*out, (size_t)facts.st_size))
		return status;
	munmap(*out, (size_t)facts.st_size);
	return sn_error_set(err, SN_ERR_FORMAT, "search: '%s' is damaged", path);
}

sn_status sn_places_open(const char *path, uint32_t nodes, uint32_t fanout, struct sn_places **out,
			 struct sn_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (nodes ? O_CREAT | O_EXCL : 0), 0600);
	sn_status status;

	if (fd < 0)
		return sn_error_errno(err, "search: cannot open '%s'", path);
	status = nodes ? page_make(fd, path, nodes, fanout, out, err)
		       : page_open(fd, path, out, err);
	close(fd);
	return status;
}

void sn_places_close(struct sn_places *p)
{
	if (p)
		munmap(p, bytes_of(p->nodes, p->inners));
}

/* ---- processes ---- */

static bool same_link(const char *path, char out[256])
{
	ssize_t length = readlink(path, out, 255);

	out[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

bool sn_process_is_ours(int32_t pid)
{
	char path[64], theirs[256], ours[256];
	struct stat facts;

	if (pid <= 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &facts) || facts.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return same_link(path, theirs) && same_link("/proc/self/exe", ours) &&
	       !strcmp(theirs, ours);
}
